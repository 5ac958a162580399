//! The probes of recall (SPEC 2.8).

use memoir_domain::{
    memory::{ArchivedBy, Memory},
    recall::{PROBES, RecallIndex, probes},
};

use crate::world::test_memory;

fn asked(texts: &[&str]) -> Vec<(u64, String)> {
    let memories: Vec<Memory> = (1..)
        .zip(texts)
        .map(|(number, text)| test_memory(number, text))
        .collect();
    let index = RecallIndex::of(&memories);
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    probes(&memories, &index)
        .into_iter()
        .map(|probe| (probe.number.0, squeezed(probe.question.expose())))
        .collect()
}

#[test]
fn spec_2_8_a_probe_is_a_sentence_without_its_rarest_word() {
    let asked = asked(&[
        "Mia broke the blue cup. She was sorry!",
        "Mia broke the tall vase",
        "She was \"sorry\" for the blue tulips",
        "Mia sings",
        "我们去年冬天坐火车去了北京。",
        "我们喜欢喝茶和吃面条",
    ]);
    let expected = [
        (1, "Mia broke the blue"),
        (1, "She was"),
        (2, "Mia broke the vase"),
        (3, "She was sorry for the blue"),
        (5, "我们 冬天坐火车去了北京"),
    ];
    for (number, question) in expected {
        let expected = (number, question.to_owned());
        assert!(asked.contains(&expected), "{number}: {question}: {asked:?}");
    }
    assert!(asked.iter().all(|(number, _)| *number != 4), "too short");
}

#[test]
fn spec_2_8_at_most_fifty_probes_come_evenly_of_all_memories() {
    let texts: Vec<String> = (0..120)
        .map(|place| format!("the lamp number {place} is lit"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let numbers = asked(&texts).into_iter().map(|(number, _)| number);
    let numbers: Vec<u64> = numbers.collect();
    assert_eq!(numbers.len(), PROBES);
    assert_eq!((numbers[0], numbers[1], numbers[49]), (1, 3, 118));
    assert_eq!(asked(&texts[..50]).len(), 50);
    assert_eq!(asked(&[]), []);
}

#[test]
fn spec_2_8_no_probe_is_made_of_a_summary_or_outside_of_the_prompt() {
    let text = "the lamp in the hall is lit";
    let summary = Memory {
        is_summary: true,
        ..test_memory(1, text)
    };
    let archived = test_memory(2, text).archived(None, ArchivedBy::Session, summary.created_at);
    let memories = [summary, archived];
    assert_eq!(probes(&memories, &RecallIndex::of(&memories)), []);
}
