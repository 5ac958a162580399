//! Hostile input: sizes, numbers at the ends of their range, letters that change under folding, and
//! words that must not be printed.

use std::time::{Duration, Instant};

use memoir_domain::{
    PrivateText, Timestamp,
    agent::Threshold,
    agent::{Field, fold_name},
    audit::{Actor, Facts},
    breaker::Gauge,
    duplicates::{self, Candidate},
    ledger,
    memories::AllMemories,
    memory::{Number, Tags, Tally},
    session::Mode,
    text::fold,
    tools::{Refusal, ToolRequest, ToolResult},
};
use proptest::prelude::*;
use serde_json::json;
use unicode_normalization::UnicodeNormalization;

use crate::world::{BALLAST, World, core, padding};

/// Generous for an unoptimised build on a busy machine; the quadratic ways take far longer.
const LIMIT: Duration = Duration::from_secs(5);

#[track_caller]
fn check_quick(what: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let took = start.elapsed();
    assert!(took < LIMIT, "{what} took {took:?}");
}

#[test]
fn spec_2_1_a_flood_of_tags_is_refused_quickly() {
    let tags: Vec<String> = (0..200_000).map(|tag| tag.to_string()).collect();
    check_quick("parsing", || {
        let error = Tags::parse(tags.iter().map(String::as_str)).unwrap_err();
        assert!(error.problem.contains("200000"));
    });
}

#[test]
fn spec_3_4_a_flood_of_duplicates_is_joined_quickly() {
    let memories: Vec<_> = (0..4_000u64)
        .map(|number| {
            let tags: Vec<String> = (0..16).map(|tag| format!("{number} {tag}")).collect();
            let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
            core("tea", "2026-01-01", &tags).into_memory(
                Number(number + 1),
                number + 1,
                Timestamp::MIN,
            )
        })
        .collect();
    let candidates: Vec<Candidate<'_>> = memories
        .iter()
        .map(|memory| Candidate {
            memory,
            digest: [0; 32],
            exact: [0; 32],
            is_relative: false,
        })
        .collect();
    check_quick("planning", || {
        let plan = duplicates::plan(&candidates, &["voice".to_owned()].into());
        assert_eq!(plan[0].discarded.len(), 3_999);
        assert_eq!(plan[0].survivor.tags.iter().len(), 64_000);
    });
}

#[test]
fn spec_3_14_an_edit_among_many_copies_is_decided_quickly() {
    let long = padding(2_000);
    let memories: Vec<_> = (1..=4_000)
        .map(|number| {
            core(&long, "2026-01-01", &[]).into_memory(Number(number), number, Timestamp::MIN)
        })
        .collect();
    let all = AllMemories::of(&memories);
    let leaving = (2..=11).map(Number).collect();
    check_quick("the age rule", || {
        assert_eq!(all.age_rows(&leaving).rows.len(), 3_990);
    });
}

#[test]
fn spec_3_8_numbers_near_the_end_of_their_range_are_not_found() {
    let mut world = World::session(&["tea", "wool"]);
    for id in [json!(i64::MAX), json!("9223372036854775807")] {
        assert_eq!(
            world.call("delete_memory", json!({"ids": [id]}))["code"],
            "not_found"
        );
    }
    for id in [
        json!(i64::MAX as u64 + 1),
        json!(u64::MAX),
        json!("18446744073709551616"),
        json!("+1"),
        json!("١٧"),
        json!("１"),
        json!("##1"),
        json!("0x1"),
        json!(-0.0),
        json!(1e300),
    ] {
        assert_eq!(
            world.call("delete_memory", json!({"id": id}))["code"],
            "invalid_argument"
        );
    }
}

#[test]
fn spec_3_13_the_measures_do_not_overflow() {
    let ends = [0, 1, i64::MAX as u64, u64::MAX];
    for pre in ends {
        for now in ends {
            for removed in ends {
                for threshold in [f64::MIN_POSITIVE, 0.75, 1.0] {
                    let reading = Gauge {
                        pre_session_tokens: pre,
                        core_tokens: now,
                        removed_tokens: removed,
                        threshold: Threshold::new(threshold).unwrap(),
                    };
                    let _ = (
                        reading.trip(),
                        reading.removable_tokens(),
                        reading.least_allowed(),
                    );
                }
            }
        }
    }
}

#[test]
fn times_stay_within_their_range() {
    for time in [Timestamp::MIN, Timestamp::MAX] {
        for by in [i64::MIN, -1, 0, 1, i64::MAX] {
            for moved in [time.plus_days(by), time.plus_seconds(by)] {
                assert!((Timestamp::MIN..=Timestamp::MAX).contains(&moved));
            }
        }
        assert_eq!(time.to_string().parse(), Ok(time));
        assert_eq!(
            serde_json::from_value::<Timestamp>(json!(time)).unwrap(),
            time
        );
        assert_eq!(time.date().len(), 10);
    }
    assert_eq!(Timestamp::from_microseconds(i64::MAX), None);
    assert!(Timestamp::MIN.seconds_since(Timestamp::MAX) < 0);
    assert_eq!(
        Timestamp::parse_until("9999-12-30").unwrap(),
        Timestamp::MAX,
        "the end of the last day is kept within the range"
    );
}

proptest! {
    #[test]
    fn nothing_that_is_read_can_panic(text in ".{0,60}", date in "[-+0-9TZ: .W]{0,24}") {
        for text in [&text, &date] {
            let _ = (text.parse::<Timestamp>(), Timestamp::parse_until(text));
            let _ = ledger::parse_rows(text);
            let _ = memoir_domain::prompt::is_consent(text);
            for field in Field::ALL {
                let mut name = String::new();
                let _ = memoir_domain::agent::set_field(&mut name, &mut Default::default(), field, Some(text));
            }
        }
    }

    #[test]
    fn spec_3_8_folding_makes_every_case_of_a_text_equal(text in any::<String>()) {
        // The upper case of a mark that is a letter must not stand before other marks.
        let text: String = text.nfd().collect();
        let folded = fold(&text);
        prop_assert_eq!(&fold(&text.to_uppercase()), &folded);
        prop_assert_eq!(&fold(&text.to_lowercase()), &folded);
        prop_assert_eq!(&fold(&folded), &folded);
    }

    #[test]
    fn spec_4_1_times_read_back_as_they_were_written(microseconds in -62_135_596_800_000_000i64..=253_402_207_200_000_000) {
        let time = Timestamp::from_microseconds(microseconds).unwrap();
        prop_assert_eq!(time.to_string().parse(), Ok(time));
    }
}

#[test]
fn spec_3_8_folding_makes_every_case_of_a_letter_equal() {
    for letter in (0..=0x10_FFFF).filter_map(char::from_u32) {
        let letter = letter.to_string();
        let folded = fold(&letter);
        for case in [letter.to_uppercase(), letter.to_lowercase(), folded.clone()] {
            assert_eq!(fold(&case), folded, "{letter:?}");
        }
    }
}

#[test]
fn spec_2_2_immutable_tags_and_names_are_equal_whatever_the_case_and_form() {
    let tagged = |set: &str, tag: &str| {
        let mut world = World::new();
        world.set(Field::ImmutableTags, set);
        let tags = Tags::parse([tag]).unwrap();
        tags.contains_any(&world.agent.settings.immutable_tag_set())
    };
    for (set, tag) in [
        ("voice", "VOICE"),
        ("café", "CAFE\u{301}"),
        ("cafe\u{301}", "café"),
        ("ΦΩΣ", "φως"),
        ("Straße", "STRASSE"),
    ] {
        assert!(tagged(set, tag), "{set} {tag}");
        assert_eq!(fold_name(set), fold_name(tag));
    }
    assert!(!tagged("voice", "voices"));
    assert!(!tagged("[]", "voice"));
}

#[test]
fn spec_5_1_nothing_prints_a_memorys_text() {
    const SECRET: &str = "zebrafinch";
    let mut world = World::new();
    world.save(core(SECRET, "2026-01-01", &[SECRET]));
    world.save(core(
        &format!("{SECRET}, {SECRET}"),
        "2026-01-01",
        &[SECRET],
    ));
    world.save(core(&padding(BALLAST), "2026-01-01", &[]));
    world.set(Field::CoreTokenBudget, "1000");
    world.set(Field::SystemPrompt, SECRET);
    world.set(Field::RefinementPrompt, SECRET);
    let opened = world.open(Mode::Full);
    let refusals = [
        Refusal::Unsupported(vec![SECRET.into()]),
        ToolRequest::read(SECRET, None).call.unwrap_err(),
        ToolRequest::read("delete_memory", Some(&json!({"id": SECRET})))
            .call
            .unwrap_err(),
        ToolRequest::read("delete_memory", Some(&json!({SECRET: 1})))
            .call
            .unwrap_err(),
        ToolRequest::read("search_memories", Some(&json!({"since": SECRET})))
            .call
            .unwrap_err(),
    ];
    let requests = [
        ToolRequest::read("update_memory", Some(&json!({"id": 1, "content": SECRET}))),
        ToolRequest::read("search_memories", Some(&json!({"query": SECRET}))),
        ToolRequest::read("complete_refinement", Some(&json!({"summary": SECRET}))),
    ];
    let mut printed = format!("{opened:?} {refusals:?} {requests:?}");
    printed.extend(refusals.iter().map(|refusal| format!(" {refusal}")));
    let results: Vec<ToolResult> = refusals.into_iter().map(ToolResult::from).collect();
    let rows = ledger::parse_rows(opened.prompt.user.expose());
    assert!(!rows.is_empty());
    assert_eq!(
        world.update(2, &format!("{SECRET}, {SECRET}!"))["type"],
        "updated"
    );
    assert_eq!(world.summarise(&[1, 2], &SECRET[1..]), 7);
    world.call("complete_refinement", json!({"summary": SECRET}));
    printed += &format!(
        "{results:?} {rows:?} {:?} {:?}",
        world.memories, world.sessions
    );
    printed += &format!("{:?} {:?}", world.log, world.agent);
    let query = memoir_domain::recall::RecallQuery {
        text: SECRET.into(),
        tag: Some(SECRET.into()),
        ..Default::default()
    };
    printed += &format!("{query:?} {:?}", PrivateText::from(SECRET));
    assert!(!printed.contains(&SECRET[1..]));
    for record in &world.log {
        let facts = serde_json::to_string(record.facts.as_map()).unwrap();
        assert!(!facts.contains(&SECRET[1..]));
    }
    // A line that only looks like a row gives nothing away either.
    let forged = format!("#1 | {SECRET} | 1 tokens | - | tags [] | \"x\"");
    assert_eq!(ledger::parse_rows(&forged), []);
}

#[test]
fn spec_4_1_a_count_keeps_its_name_and_value() {
    let facts = Facts::default()
        .count("edits", u64::MAX)
        .places("taken_back", [1, 2]);
    assert_eq!(
        serde_json::to_value(&facts).unwrap(),
        json!({"edits": u64::MAX, "taken_back": [1, 2]})
    );
    let _ = Actor::system();
    let mut tally = Tally::default();
    let memory = core("tea", "2026-01-01", &[]).into_memory(Number(1), 1, Timestamp::MIN);
    tally.add(&memory);
    tally.remove(&memory);
    tally.remove(&memory);
    assert_eq!(tally, Tally::default(), "counts do not wrap around");
}
