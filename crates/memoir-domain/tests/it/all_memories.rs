//! What the memories of an agent say of each other: copies, chains and the rows of the age rule (SPEC 1, 3.14).

use std::collections::BTreeSet;

use memoir_domain::{
    age_rule::AgeState,
    audit::{ActorKind, Change},
    memories::AllMemories,
    memory::{ArchivedBy, Memory, Number},
    origin::{Origin, SavedBy},
};

use crate::world::test_memory;

fn none() -> BTreeSet<Number> {
    BTreeSet::new()
}

#[test]
fn spec_3_14_a_copy_is_free_beside_an_earlier_one_of_its_side_that_stays() {
    let first = test_memory(1, "The gulls fly LOW.");
    let copy = test_memory(2, "the gulls  fly low");
    let mut guess = test_memory(3, "The gulls fly low.");
    guess.saved_by = SavedBy::of(ActorKind::Administrator);
    let mut page = test_memory(4, "The gulls fly “high”.");
    page.saved_by.origin = Origin::External;
    let said = test_memory(5, "the gulls fly \"high\"!");
    let all = AllMemories::of([&first, &copy, &guess, &page, &said]);
    let cover = |memory: &Memory, leaving: &BTreeSet<Number>| {
        all.cover(memory, leaving).map(|memory| memory.number.0)
    };
    assert_eq!(cover(&copy, &none()), Some(1));
    assert_eq!(cover(&copy, &BTreeSet::from([Number(1), Number(2)])), None);
    assert_eq!(cover(&first, &none()), None, "the later one does not count");
    assert_eq!(cover(&guess, &none()), None, "of another side");
    assert_eq!(cover(&said, &none()), None, "of a weaker origin");
    let free = all.free().map(|memory| memory.number.0);
    assert_eq!(free.collect::<Vec<_>>(), [2]);
    let rows = all.age_rows(&BTreeSet::from([Number(2)]));
    assert_eq!(
        rows.numbers.iter().map(|one| one.0).collect::<Vec<_>>(),
        [1, 3, 4, 5]
    );
}

#[test]
fn spec_3_14_a_free_one_counts_as_gone_once_the_other_leaves() {
    let first = test_memory(1, "Tea.");
    let at = first.created_at;
    let copy = test_memory(2, "TEA.").archived(Some(Number(1)), ArchivedBy::Session, at);
    let mut all = AllMemories::of([&first, &copy]);
    assert_eq!(all.age_rows(&none()).numbers, [Number(1)]);
    let leaving = BTreeSet::from([Number(1)]);
    assert_eq!(all.age_rows(&leaving).numbers, [Number(1), Number(2)]);
    let gone = first.archived(None, ArchivedBy::Session, at);
    all.follow(Change::between(first.clone(), &gone).as_slice());
    let rows = all.age_rows(&none()).rows;
    let states: Vec<AgeState> = rows.iter().map(|row| row.state).collect();
    assert_eq!(states, [AgeState::Gone, AgeState::Gone]);
    // What was brought back does not count as gone, and what a cleanup archived does not either.
    all.follow(Change::between(gone, &first).as_slice());
    let joined = test_memory(2, "TEA.").archived(Some(Number(1)), ArchivedBy::Duplicate, at);
    all.follow(Change::between(copy, &joined).as_slice());
    assert_eq!(all.age_rows(&leaving).numbers, [Number(1)]);
}

#[test]
fn spec_1_what_is_shown_is_the_core_memory_at_the_end_of_the_chain() {
    let at = test_memory(1, "x").created_at;
    let archived = |number: u64, under: Option<u64>| {
        test_memory(number, "x").archived(under.map(Number), ArchivedBy::Replaced, at)
    };
    let (old, older) = (archived(2, Some(3)), archived(1, Some(2)));
    let lost = archived(4, Some(5)).discarded(at);
    let all = AllMemories::of([
        &older,
        &old,
        &test_memory(3, "now"),
        &lost,
        &archived(6, Some(4)),
    ]);
    let now = |memory: &Memory| all.now_at(memory).map(|memory| memory.number.0);
    assert_eq!((now(&older), now(&old)), (Some(3), Some(3)));
    assert_eq!(
        now(&archived(6, Some(4))),
        None,
        "what took its place is discarded"
    );
    let circle = AllMemories::of([&archived(1, Some(2)), &archived(2, Some(1))]);
    assert!(circle.now_at(&archived(1, Some(2))).is_none());
}
