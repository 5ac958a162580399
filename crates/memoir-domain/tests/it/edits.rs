//! SPEC 3.9 to 3.12: consolidate, update, delete and protect, the cap and the detail guard.

use memoir_domain::{
    agent::Field,
    audit::Action,
    memory::{Kind, Tags},
    session::{Mode, Stats},
};
use serde_json::{Value, json};

use crate::world::{World, core, time};

/// Padding that keeps the breaker still.
fn ballast() -> String {
    "calm ".repeat(800)
}

/// A session over `texts`, the last of which is padding.
fn session(texts: &[&str]) -> World {
    let ballast = ballast();
    let mut all = texts.to_vec();
    all.push(ballast.trim());
    World::in_session(&all)
}

#[test]
fn spec_3_9_merged_memories_become_one_with_the_earliest_date_and_all_tags() {
    let mut world = World::new();
    world.save(core("tea at dawn", "2026-01-05", &["tea", "x"]));
    world.save(core("tea at sunrise", "2026-01-02", &["x", "dawn"]));
    world.save(core("tea early", "2026-01-09", &[]));
    world.save(core(ballast().trim(), "2026-01-01", &[]));
    world.open(Mode::Full);
    let mass = world.agent.tally.core_tokens;
    let result = world.consolidate(&[1, 3, 2], "  tea at dawn, early  ");
    assert_eq!(
        result,
        json!({"type": "consolidated", "merged_count": 3, "number": 5, "content": "tea at dawn, early"})
    );
    let merged = world.memory(5);
    assert_eq!(merged.created_at, time("2026-01-02"));
    assert_eq!(merged.updated_at, world.now);
    assert_eq!(merged.tags, Tags::parse(["tea", "x", "dawn"]).unwrap());
    assert!(merged.is_kept_core() && !merged.is_constitutional());
    for member in 1..=3 {
        assert_eq!(world.memory(member).discarded_at, Some(world.now));
    }
    let session = world.session();
    assert_eq!(
        session.stats,
        Stats {
            consolidated: 3,
            ..Stats::default()
        }
    );
    assert_eq!((session.edits, session.removed_tokens), (1, 3 + 4 + 3 - 5));
    assert_eq!(world.agent.tally.core_tokens, mass - 5);
    let record = world.last_record();
    assert_eq!(record.action, Action::MemoryRefinementConsolidate);
    assert_eq!(record.memory.unwrap().0, 5);
    assert_eq!(record.body.changes.len(), 4);
}

#[test]
fn spec_3_9_any_member_at_fault_refuses_the_whole_call_and_is_named() {
    let mut world = session(&["tea", "~walk", "!vow", "@hum", "gone"]);
    world.discard(5);
    let before = world.memories.clone();
    for (ids, code, named) in [
        (json!([1, 5, 99, 1_000]), "not_found", "#5, #99, #1000"),
        (json!([1, 2]), "not_core", "#2"),
        (json!([1, 3]), "constitutional", "#3"),
        (json!([1, 4]), "immutable", "#4"),
    ] {
        let result = world.call("consolidate_memories", json!({"ids": ids, "content": "x"}));
        assert_eq!(result["code"], code);
        let error = result["error"].as_str().unwrap();
        assert!(error.contains(named) && !error.contains("#1 "), "{error}");
    }
    assert_eq!(world.memories, before);
    assert_eq!(world.session().edits, 0);
}

#[test]
fn spec_3_10_an_update_rewrites_in_place_and_a_delete_discards() {
    let mut world = session(&["tea tastes best at dawn", "wool"]);
    let before = world.memory(1).clone();
    let result = world.update(1, "tea is best at dawn");
    assert_eq!(
        result,
        json!({"type": "updated", "number": 1, "content": "tea is best at dawn"})
    );
    let after = world.memory(1);
    assert_eq!(after.content.expose(), "tea is best at dawn");
    assert_eq!(
        (after.created_at, after.updated_at),
        (before.created_at, world.now)
    );
    assert_eq!(world.delete(2), json!({"type": "deleted", "number": 2}));
    assert_eq!(world.memory(2).discarded_at, Some(world.now));
    assert_eq!(
        world.memory(2).content.expose(),
        "wool",
        "the text is kept for ever"
    );
    let session = world.session();
    assert_eq!(
        session.stats,
        Stats {
            updated: 1,
            deleted: 1,
            ..Stats::default()
        }
    );
    assert_eq!((session.edits, session.removed_tokens), (2, 1 + 1));
}

const VOW: &str = "i will always and with a glad heart keep every promise made to you";

/// Updates a constitutional memory.
#[track_caller]
fn check_tightening(protected: &str, written: &str, expected: Result<(), &[&str]>) {
    let mut world = session(&[&format!("!{protected}")]);
    // The detail guard has no say here.
    world.set(Field::DetailGuard, "off");
    let result = world.update(1, written);
    match expected {
        Ok(()) => {
            assert_eq!(result["type"], "updated", "{result}");
            assert_eq!(world.text(1), written);
        }
        Err(parts) => {
            assert_eq!(result["code"], "constitutional", "{result}");
            let error = result["error"].as_str().unwrap();
            assert!(error.contains("#1 is constitutional"), "{error}");
            for part in parts {
                assert!(error.contains(part), "{error} lacks {part}");
            }
            assert_eq!(world.text(1), protected);
        }
    }
    assert!(world.memory(1).is_constitutional());
}

#[test]
fn spec_3_10_a_constitutional_memory_can_only_be_tightened() {
    check_tightening(VOW, VOW, Ok(()));
    check_tightening(
        VOW,
        "I will, always and with a glad heart, keep every promise.",
        Ok(()),
    );
    check_tightening(
        VOW,
        "i will keep every promise",
        Err(&["three quarters", "\"heart\"", "\"glad\""]),
    );
    check_tightening(
        VOW,
        "you to made promise every keep heart glad a with and always will i",
        Err(&["in their order"]),
    );
    check_tightening(
        VOW,
        &format!("{VOW} and then some more"),
        Err(&["more words"]),
    );
    check_tightening(
        "i call the harbour office at 07:30 on every single working day",
        "i call the harbour office on every single working day",
        Err(&["07:30"]),
    );
    check_tightening(
        "i do not ever share what was told to me in confidence",
        "i do ever share what was told to me in confidence",
        Err(&["not"]),
    );
    check_tightening(
        "we meet by the old harbour wall when the long evenings begin again",
        "we meet by the old harbour wall when the 17 evenings begin again",
        Err(&["not in it", "\"17\""]),
    );
}

#[test]
fn spec_3_10_a_text_without_letters_is_protected_too() {
    check_tightening("❤️ 🌊 ❤️ 🌊", "💀", Err(&["three quarters"]));
    check_tightening(":-)", ":-(", Err(&["constitutional"]));
    check_tightening(":-)", ":-)", Ok(()));
}

#[test]
fn spec_3_10_repeated_tightenings_are_measured_against_the_wording_protected() {
    let words = [
        "calm", "river", "under", "green", "trees", "moves", "slowly", "past",
    ];
    let text = |left_out: &[&str]| {
        let left = words.iter().filter(|word| !left_out.contains(word));
        left.copied().collect::<Vec<_>>().join(" ")
    };
    let mut world = session(&[&format!("!{}", text(&[]))]);
    assert_eq!(world.update(1, &text(&["calm"]))["type"], "updated");
    assert_eq!(world.update(1, &text(&["calm", "past"]))["type"], "updated");
    // One word more is less than a quarter of what stands now, but not of what was protected.
    let result = world.update(1, &text(&["calm", "past", "green"]));
    assert_eq!(result["code"], "constitutional");
    // A word that was tightened away may come back.
    assert_eq!(world.update(1, &text(&["past"]))["type"], "updated");
    // Protecting it again does not lower the mark, nor does another session.
    world.call("protect_memory", json!({"id": 1}));
    assert_eq!(
        world.memory(1).protected_wording.as_ref().unwrap().expose(),
        text(&[])
    );
    world.complete();
    world.open(Mode::Full);
    assert_eq!(
        world.update(1, &text(&["calm", "past", "green"]))["code"],
        "constitutional"
    );
}

#[test]
fn spec_3_10_protecting_sets_the_flag_once() {
    let mut world = session(&["tea", "@hum"]);
    for number in [1, 2] {
        let result = world.call("protect_memory", json!({"id": number}));
        assert_eq!(result, json!({"type": "protected", "number": number}));
        assert_eq!(world.last_record().action, Action::MemoryRefinementProtect);
    }
    assert_eq!(world.memory(1).protected_wording, Some("tea".into()));
    let (log, memory) = (world.log.len(), world.memory(1).clone());
    assert_eq!(
        world.call("protect_memory", json!({"id": "#1"})),
        json!({"type": "protected", "number": 1})
    );
    assert_eq!((world.log.len(), world.memory(1)), (log, &memory));
    assert_eq!(world.session().stats.protected, 2);
    assert_eq!(world.session().edits, 0);
    assert_eq!(world.delete(1)["code"], "constitutional");
}

#[test]
fn spec_3_11_ten_edits_succeed_and_nothing_else_counts() {
    let texts: Vec<String> = (b'a'..=b'z')
        .map(|letter| char::from(letter).to_string())
        .collect();
    let mut world = session(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    for edit in 1..=10u64 {
        world.call("search_memories", json!({"query": "x"}));
        world.call("protect_memory", json!({"id": 26}));
        world.delete(99);
        world.update(26, "something else entirely");
        let result = match edit % 3 {
            0 => world.delete(edit),
            1 => world.update(edit, "b"),
            _ => world.consolidate(&[edit, edit + 10], "c"),
        };
        assert!(result["code"].is_null(), "{result}");
        assert_eq!(u64::from(world.session().edits), edit);
    }
    let before = world.memories.clone();
    for result in [
        world.delete(12),
        world.update(12, "x"),
        world.consolidate(&[12, 13], "x"),
    ] {
        assert_eq!(result["code"], "edit_cap");
        assert!(
            result["error"]
                .as_str()
                .unwrap()
                .contains("complete_refinement")
        );
    }
    assert_eq!(world.memories, before);
    assert_eq!(
        world.call("protect_memory", json!({"id": 13}))["type"],
        "protected"
    );
    assert_eq!(world.complete()["type"], "refinement_complete");
    assert_eq!(world.session().edits, 10);
}

fn guarded(guard: &str, texts: &[&str], call: (&str, Value)) -> (Value, World) {
    let mut world = session(texts);
    world.set(Field::DetailGuard, guard);
    (world.call(call.0, call.1), world)
}

#[test]
fn spec_3_12_lost_details_are_named_refused_or_passed_over() {
    let texts = [
        "the shed code is 4711",
        "the shed code is 4711, painted green",
    ];
    let calls = [
        (
            "update_memory",
            json!({"id": 1, "content": "the shed has a code"}),
        ),
        (
            "consolidate_memories",
            json!({"ids": [1, 2], "content": "the shed code is painted green"}),
        ),
    ];
    for call in calls {
        let (warned, world) = guarded("warn", &texts, call.clone());
        assert_eq!(warned["lost_details"], json!(["4711"]), "{warned}");
        assert_eq!(world.last_record().body.lost_details, ["4711".into()]);
        assert_eq!(world.last_record().facts.as_map()["lost_details"], 1);
        let (refused, world) = guarded("refuse", &texts, call.clone());
        assert_eq!(refused["code"], "details_lost");
        assert!(refused["error"].as_str().unwrap().contains("\"4711\""));
        assert_eq!(world.session().edits, 0);
        let (silent, world) = guarded("off", &texts, call);
        assert!(silent["code"].is_null() && silent["lost_details"].is_null());
        assert!(world.last_record().body.lost_details.is_empty());
    }
}

#[test]
fn spec_3_12_a_delete_loses_what_no_single_other_memory_carries() {
    let delete = ("delete_memory", json!({"id": 1}));
    for (others, lost) in [
        // Another memory carries all.
        (&["on 5 May the shed got its code 4711"][..], json!(null)),
        // Nobody carries anything.
        (&["tea"], json!(["4711"])),
        // A journal entry and a discarded memory do not count.
        (&["~the shed code is 4711"], json!(["4711"])),
    ] {
        let mut texts = vec!["the shed code is 4711"];
        texts.extend(others);
        let (result, _) = guarded("warn", &texts, delete.clone());
        assert_eq!(result["lost_details"], lost, "{others:?}");
        let (result, _) = guarded("refuse", &texts, delete.clone());
        assert_eq!(result["code"] == "details_lost", !lost.is_null());
    }
    // Two memories that carry half each do not carry the whole.
    let texts = ["gate 4711, shed 8822", "gate 4711", "shed 8822"];
    let (result, _) = guarded("refuse", &texts, delete);
    assert_eq!(result["code"], "details_lost");
}

#[test]
fn spec_3_17_a_dedup_only_session_searches_deletes_protects_and_completes() {
    let ballast = ballast();
    let mut world = World::with(&["tea", "wool", ballast.trim()]);
    world.open(Mode::DedupOnly);
    assert_eq!(world.update(1, "x")["code"], "mode");
    assert_eq!(world.consolidate(&[1, 2], "x")["code"], "mode");
    assert_eq!(
        world.call("search_memories", json!({"query": "tea"}))["count"],
        1
    );
    assert_eq!(
        world.call("protect_memory", json!({"id": 1}))["type"],
        "protected"
    );
    assert_eq!(world.delete(2)["type"], "deleted");
    assert_eq!(world.complete()["type"], "refinement_complete");
    assert_eq!(world.kept(Kind::Core).len(), 2);
}
