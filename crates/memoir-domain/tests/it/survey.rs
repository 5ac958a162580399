//! That a memory which says all of another one is found in whichever way it is looked for (SPEC 3.12).

use std::collections::BTreeSet;

use memoir_details::{Reading, unsaid_words};
use memoir_domain::{
    Timestamp,
    audit::{ActorKind, Change},
    memory::{Kind, Memory, Number, Tags},
    survey::{SoughtMemory, Survey},
    wording::SavedBy,
};
use proptest::prelude::*;

fn memory(number: u64, content: &str) -> Memory {
    Memory {
        number: Number(number),
        kind: Kind::Core,
        content: content.into(),
        tags: Tags::default(),
        source: None,
        door: SavedBy::of(ActorKind::Agent),
        wordings: Vec::new(),
        protected_seq: None,
        created_at: Timestamp::MAX,
        updated_at: Timestamp::MAX,
        discarded_at: None,
        shredded_at: None,
    }
}

/// Sentences that share most of their words, so that some say others whole.
fn text() -> impl Strategy<Value = String> {
    let subject = prop::sample::select(vec!["Marta", "The bookbinder", "Cannot she, who", "Änne"]);
    let verb = prop::sample::select(vec![
        "sold",
        "did not sell",
        "MENDED",
        "twenty-one times sold",
    ]);
    let object = prop::sample::select(vec![
        "43 sheets",
        "1,450 sheets",
        "l'amie",
        "blue paper",
        "ﬁne paper",
    ]);
    let sentence = (subject, verb, object).prop_map(|(a, b, c)| format!("{a} {b} {c}."));
    prop::collection::vec(sentence, 1..4).prop_map(|all| all.join(" "))
}

fn survey(memories: &[Memory]) -> Survey {
    Survey::of(memories.iter().cloned().map(Memory::into_shared))
}

proptest! {
    #[test]
    fn spec_3_12_a_carrier_is_found_by_its_text_as_by_its_words(texts in prop::collection::vec(text(), 2..20), changed in text()) {
        let memories: Vec<Memory> = (1..).zip(&texts).map(|(number, text)| memory(number, text)).collect();
        let (mut looked_through, mut filed) = (survey(&memories), survey(&memories));
        let mut present = memories;
        for _ in 0..2 {
            for own in &present {
                let reading = Reading::of(own.content.expose());
                let sought = SoughtMemory {
                    memory: own,
                    wordings: &[&reading],
                    present: &reading,
                    immutable_tags: &BTreeSet::new(),
                };
                // Whoever asks which one says most has all of them filed.
                let nearest = filed.nearest(&sought).filter(|nearest| nearest.unsaid.is_empty());
                let carrier = looked_through.carrier(&sought);
                prop_assert_eq!(carrier.is_some(), nearest.is_some());
                prop_assert_eq!(carrier.map(|one| one.number), filed.carrier(&sought).map(|one| one.number));
                if let Some(carrier) = carrier {
                    prop_assert_ne!(carrier.number, own.number);
                    prop_assert_eq!(unsaid_words(&[&reading], &Reading::of(carrier.content.expose())), 0);
                }
            }
            // Once more where one of them became another one.
            let after = memory(1, &changed);
            let changes: Vec<Change> = Change::between(present[0].clone(), &after).into_iter().collect();
            looked_through.follow(&changes);
            filed.follow(&changes);
            present[0] = after;
            prop_assert_eq!(filed.bytes(), looked_through.bytes());
        }
    }
}

/// The number of the memory that carries the first of these, as either way of looking finds it. So many have letters
/// that may stand for others that texts alone do not tell them apart.
fn carrier_of_first(memories: &[Memory], is_filed: bool) -> Option<Number> {
    let survey = survey(memories);
    let reading = Reading::of(memories[0].content.expose());
    let sought = SoughtMemory {
        memory: &memories[0],
        wordings: &[&reading],
        present: &reading,
        immutable_tags: &BTreeSet::new(),
    };
    match is_filed {
        true => {
            let nearest = survey.nearest(&sought)?;
            nearest.unsaid.is_empty().then_some(nearest.number)
        }
        false => survey.carrier(&sought).map(|one| one.number),
    }
}

#[test]
fn spec_3_12_a_carrier_is_found_behind_many_whose_letters_have_other_shapes() {
    const SAYS_ALL: &str = "Marta closed. The bookbinder sold 43 sheets of blue paper.";
    for (count, letters) in [
        (20, "Weiß"),
        (60, "Weiß"),
        (200, "ﬁne"),
        (60, "Schön"),
        (60, "fine"),
    ] {
        let other = |number| {
            let text = format!("{letters} paper number {number} was sold by the bookbinder.");
            let mut memory = memory(number, &text);
            // Of another day: what may be merged with what depends on it.
            memory.created_at =
                Timestamp::from_microseconds(number as i64 * 86_400_000_000).unwrap();
            memory
        };
        let first = memory(1, "The bookbinder sold 43 sheets of blue paper.");
        let mut memories: Vec<Memory> = std::iter::once(first)
            .chain((2..count).map(other))
            .collect();
        assert_eq!(
            carrier_of_first(&memories, false),
            None,
            "{count} {letters}"
        );
        memories.push(memory(count, SAYS_ALL));
        for is_filed in [false, true] {
            let found = carrier_of_first(&memories, is_filed);
            assert_eq!(found, Some(Number(count)), "{count} {letters}");
        }
    }
}
