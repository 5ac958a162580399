//! SPEC 3.9 to 3.11, 3.14 and 3.17: what consolidate, update, delete and protect do, and the cap.

use memoir_domain::{
    agent::Field,
    audit::{Action, ActorKind},
    memory::{ArchivedBy, Kind, NewMemory},
    origin::{Origin, SavedBy},
    session::{Mode, Stats},
};
use serde_json::json;

use crate::world::{BALLAST, World, core, of_origin, padding};

#[test]
fn spec_3_9_a_summary_takes_the_place_of_its_sources_which_stay_word_for_word() {
    let mut world = World::over(&[
        "Ada keeps bees behind the mill.",
        "Ada sells her honey on Fridays.",
    ]);
    let before = world.memories.clone();
    let result = world.consolidate(&[3, 2], "  Ada has bees and sells honey.  ");
    assert_eq!(
        result,
        json!({
            "type": "consolidated", "merged_count": 2, "number": 4, "content": "Ada has bees and sells honey.",
            "is_summary": true, "archived": [3, 2], "edits_left": 9, "core_tokens": BALLAST + 8, "budget": 1_000,
            "removable_tokens": BALLAST + 8 - 912,
        })
    );
    let summary = world.memory(4).clone();
    assert!(summary.is_summary && summary.is_active_core() && !summary.is_original());
    assert_eq!((summary.core_seq, &summary.source), (None, &None));
    for (number, memory) in &before {
        let now = &world.memories[number];
        assert_eq!((&now.content, &now.tags), (&memory.content, &memory.tags));
    }
    for source in [2, 3] {
        let archived = world.memory(source).place.archived().unwrap();
        assert_eq!(
            (archived.under, archived.at),
            (Some(summary.number), world.now)
        );
        assert_eq!(archived.by, ArchivedBy::Session);
    }
    let session = world.last_session();
    let stats = Stats {
        consolidated: 2,
        ..Stats::default()
    };
    assert_eq!(
        (session.stats, session.edits, session.removed_tokens),
        (stats, 1, 8)
    );
    let counts = (
        session.archived,
        session.archived_under_summaries,
        session.summaries,
    );
    assert_eq!(counts, (2, 2, 1));
    let record = world.last_record();
    assert_eq!(record.action, Action::MemoryRefinementConsolidate);
    assert_eq!(record.memory, Some(summary.number));
    assert_eq!(record.body.changes.len(), 3);
    assert_eq!(record.facts.as_map()["archived"], json!([3, 2]));
    world.check_replay();
}

#[test]
fn spec_3_9_any_member_at_fault_refuses_the_whole_call_and_is_named() {
    let mut world = World::over(&["tea", "~walk", "!vow", "@hum", "gone", "^seeds"]);
    world.discard(6);
    let before = world.memories.clone();
    for (ids, code, named) in [
        (json!([2, 6, 99, 1_000]), "not_found", "#6, #99, #1000"),
        (json!([2, 3, 7]), "not_core", "#3, #7"),
        (json!([2, 4]), "constitutional", "#4"),
        (json!([2, 5]), "immutable", "#5"),
    ] {
        let result = world.call("consolidate_memories", json!({"ids": ids, "content": "x"}));
        assert_eq!(result["code"], code);
        let error = result["error"].as_str().unwrap();
        assert!(error.contains(named) && !error.contains("#2"), "{error}");
    }
    assert_eq!(world.memories, before);
    assert_eq!(world.last_session().edits, 0);
}

#[test]
fn spec_3_9_the_member_that_stays_takes_all_tags_beyond_the_limit_of_saving() {
    let tags =
        |from: u64| -> Vec<String> { (from..from + 16).map(|tag| tag.to_string()).collect() };
    let mut world = World::new().saving(&[&padding(BALLAST)]);
    for (text, from) in [
        ("The gate is green.", 0),
        ("The gate was painted green.", 10),
    ] {
        let tags = tags(from);
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        world.save(core(text, "2026-01-02", &tags));
    }
    world.open(Mode::Full);
    let before = world.memory(2).clone();
    let result = world.consolidate(&[3, 2], "The  gate is green");
    assert_eq!(
        (&result["number"], &result["is_summary"]),
        (&json!(2), &json!(false))
    );
    let stays = world.memory(2);
    assert_eq!(stays.tags.iter().len(), 26);
    assert_eq!(stays.content, before.content, "it stays as it is");
    assert_eq!(
        (stays.created_at, stays.core_seq),
        (before.created_at, before.core_seq)
    );
    assert_eq!(world.archive(), [(3, Some(2))]);
}

#[test]
fn spec_3_10_an_update_makes_a_new_number_and_the_old_one_names_it() {
    let mut world = World::session(&["Tea tastes best at dawn.", "wool"]);
    let result = world.update(2, "Tea at dawn.");
    assert_eq!(
        (&result["number"], &result["archived"]),
        (&json!(4), &json!([2]))
    );
    assert_eq!(world.memory(4).created_at, world.memory(2).created_at);
    let again = world.update(2, "Tea.");
    assert_eq!(again["code"], "not_core");
    assert!(again["error"].as_str().unwrap().contains("#4"), "{again}");
    let session = world.last_session();
    assert_eq!(
        (session.stats.updated, session.edits, session.summaries),
        (1, 1, 1)
    );
}

#[test]
fn spec_3_10_a_constitutional_text_changes_in_form_only() {
    let mut world = World::session(&["!I said \"never\"."]);
    assert_eq!(world.update(2, "I said never.")["code"], "constitutional");
    let result = world.update(2, "I said “never”!");
    assert_eq!(
        (&result["type"], &result["number"]),
        (&json!("updated"), &json!(2))
    );
    assert_eq!(result["archived"], json!([]));
    assert_eq!(world.text(2), "I said “never”!");
    assert!(world.memory(2).is_constitutional());
    assert_eq!(world.last_session().edits, 1);
}

#[test]
fn spec_3_10_a_change_in_form_pads_no_text() {
    let mut world = World::session(&["Ada keeps bees", "Bo reads"]);
    for padded in [
        format!("Ada{}keeps bees", " ".repeat(400)),
        format!("Ada keeps bees{}.", "\n".repeat(9)),
    ] {
        let refused = world.update(2, &padded);
        assert_eq!(refused["code"], "not_shorter", "{refused}");
    }
    // A full stop is no padding, also where it begins a token.
    for text in ["Ada keeps bees.", "Ada keeps bees!"] {
        assert_eq!(world.update(2, text)["type"], "updated");
    }
    assert_eq!(world.update(3, "Bo reads.")["type"], "updated");
    assert_eq!(world.text(3), "Bo reads.");
}

#[test]
fn spec_3_10_a_delete_puts_each_memory_under_what_makes_it_free_or_replaces_it() {
    let mut world = World::session(&["The tide is high.", "The TIDE is high.", "wool", "linen"]);
    let result = world.call("delete_memory", json!({"ids": [3, 4]}));
    assert_eq!(
        (&result["under"], &result["archived"]),
        (&json!(2), &json!([3, 4]))
    );
    assert_eq!(world.archive(), [(3, Some(2)), (4, None)]);
    let result = world.call("delete_memory", json!({"ids": [5], "replaced_by": 2}));
    assert_eq!(result["under"], 2);
    assert_eq!(world.archive(), [(3, Some(2)), (4, None), (5, Some(2))]);
}

#[test]
fn spec_3_8_what_replaces_is_checked_together_with_what_is_deleted() {
    let mut world = World::over(&["tea", "~walk", "wool", "linen"]);
    let mut code = |ids: &[u64], replaced_by: u64| {
        let arguments = json!({"ids": ids, "replaced_by": replaced_by});
        world.call("delete_memory", arguments)["code"].clone()
    };
    // An unknown number comes before one that is not core, whichever names it.
    assert_eq!(code(&[3], 99), "not_found");
    assert_eq!(code(&[99], 3), "not_found");
    assert_eq!(code(&[2], 3), "not_core");
    let summary = world.summarise(&[4, 5], "yarns");
    let arguments = json!({"ids": [2], "replaced_by": summary});
    assert_eq!(
        world.call("delete_memory", arguments)["code"],
        "invalid_argument"
    );
}

#[test]
fn spec_3_10_protecting_sets_the_flag_once() {
    let mut world = World::session(&["tea", "@hum"]);
    for number in [2, 3] {
        let result = world.call("protect_memory", json!({"id": number}));
        assert_eq!(result, json!({"type": "protected", "number": number}));
        assert_eq!(world.last_record().action, Action::MemoryRefinementProtect);
    }
    let (log, memory) = (world.log.len(), world.memory(2).clone());
    assert_eq!(memory.protected_seq, Some(log as u64 - 1));
    let again = world.call("protect_memory", json!({"id": "#2"}));
    assert_eq!(again, json!({"type": "protected", "number": 2}));
    assert_eq!((world.log.len(), world.memory(2)), (log, &memory));
    let session = world.last_session();
    assert_eq!((session.stats.protected, session.edits), (2, 0));
    assert_eq!(world.delete(2)["code"], "constitutional");
}

#[test]
fn spec_3_10_constitutional_memories_take_half_of_the_smaller_budget_at_most() {
    let mut world = World::of(&[(Field::CoreTokenBudget, Some("1500"))]);
    for (tokens, end) in [(500, ""), (1, "?"), (1, "")] {
        world.save(core(&(padding(tokens) + end), "2026-01-01", &[]));
    }
    world.open(Mode::Full);
    world.set(Field::CoreTokenBudget, "1004");
    let mut protect = |number: u64| world.call("protect_memory", json!({"id": number}));
    assert_eq!(protect(1)["type"], "protected");
    assert_eq!(protect(2)["type"], "protected");
    assert_eq!(protect(3)["code"], "constitutional");
    // An administrator is not bound.
    world.protect(3);
    assert!(world.memory(3).is_constitutional());
}

#[test]
fn spec_2_4_a_session_protects_texts_of_the_agent_and_of_administrators_only() {
    let mut world = World::new();
    for origin in Origin::ALL {
        let added_by = match origin {
            Origin::Administrator => ActorKind::Administrator,
            _ => ActorKind::Agent,
        };
        world.save(NewMemory {
            saved_by: SavedBy { origin, added_by },
            ..core(origin.as_str(), "2026-01-01", &[])
        });
    }
    world.open(Mode::Full);
    let codes: Vec<_> = (1..=5)
        .map(|id| world.call("protect_memory", json!({"id": id}))["code"].clone())
        .collect();
    let refused = json!("constitutional");
    assert_eq!(
        codes,
        [
            json!(null),
            json!(null),
            refused.clone(),
            refused.clone(),
            refused
        ]
    );
}

#[test]
fn spec_3_11_ten_edits_succeed_and_nothing_else_counts() {
    let texts: Vec<String> = (b'a'..=b'z')
        .map(|letter| char::from(letter).to_string())
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut world = World::session(&texts);
    for edit in 1..=10u64 {
        world.call("search_memories", json!({"query": "x"}));
        world.call("protect_memory", json!({"id": 26}));
        assert_eq!(world.delete(99)["code"], "not_found");
        assert_eq!(world.update(26, "something else")["code"], "constitutional");
        let result = match edit % 3 {
            0 => world.delete(edit + 1),
            1 => world.update(edit + 1, "B"),
            _ => world.consolidate(&[edit + 1, edit + 12], texts[edit as usize - 1]),
        };
        assert!(result["code"].is_null(), "{result}");
        assert_eq!(u64::from(world.last_session().edits), edit);
        assert_eq!(result["edits_left"], 10 - edit);
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
        world.call("protect_memory", json!({"id": 25}))["type"],
        "protected"
    );
    assert_eq!(world.complete()["type"], "refinement_complete");
}

#[test]
fn spec_3_17_a_dedup_only_session_deletes_what_is_free_and_nothing_else() {
    let texts = [
        "She keeps wool.",
        "tea",
        "she keeps WOOL",
        "tea and wool",
        &padding(100),
    ];
    let mut world = World::with(&texts);
    world.open(Mode::DedupOnly);
    for (result, part) in [
        (world.delete(4), "#4"),
        (world.delete(1), "#1"),
        (world.update(2, "x"), "update_memory"),
        (world.consolidate(&[1, 3], "x"), "consolidate_memories"),
    ] {
        assert_eq!(result["code"], "mode");
        assert!(result["error"].as_str().unwrap().contains(part), "{result}");
    }
    assert_eq!(
        world.call("search_memories", json!({"query": "tea"}))["count"],
        2
    );
    assert_eq!(
        world.call("protect_memory", json!({"id": 2}))["type"],
        "protected"
    );
    let result = world.delete(3);
    assert_eq!(result["under"], 1, "{result}");
    assert_eq!(world.complete()["type"], "refinement_complete");
    assert_eq!(
        (world.core_numbers(), world.archive()),
        (vec![1, 2, 4, 5], vec![(3, Some(1))])
    );
}

#[test]
fn spec_3_14_under_off_the_core_size_alone_decides() {
    let mut world = World::off(&["tea at dawn", "wool", "!vow", "@hum", "linen"]);
    let result = world.update(2, "Tea at 4711, and much more than that.");
    assert_eq!(
        (&result["number"], &result["is_summary"]),
        (&json!(2), &json!(false))
    );
    let result = world.consolidate(&[2, 3], "Something else.");
    assert_eq!(
        (&result["number"], &result["archived"]),
        (&json!(7), &json!([]))
    );
    assert_eq!(
        world.call("delete_memory", json!({"ids": [6], "replaced_by": 7}))["under"],
        json!(null)
    );
    assert!(
        [2, 3, 6]
            .iter()
            .all(|number| !world.memory(*number).is_active())
    );
    assert!(world.archive().is_empty() && !world.memory(7).is_summary);
    for (number, code) in [(4, "constitutional"), (5, "immutable"), (99, "not_found")] {
        assert_eq!(world.delete(number)["code"], code);
    }
    assert_eq!(world.consolidate(&[1, 1], "x")["code"], "invalid_argument");
    assert_eq!(world.delete(1)["type"], "refinement_rolled_back");
    assert_eq!(
        (world.text(2), world.core_numbers()),
        ("tea at dawn", vec![1, 2, 3, 4, 5, 6])
    );
    world.check_replay();
}

#[test]
fn spec_3_14_what_was_written_under_off_is_an_original_of_its_record_and_of_the_weakest_origin() {
    let mut world = World::under("off").saving(&[&padding(BALLAST), "wool"]);
    let imported = core("linen", "2026-01-01", &[]);
    world.save(of_origin(Origin::Import, imported));
    world.open(Mode::Full);
    world.update(2, "yarn");
    let rewritten = world.last_record().seq;
    world.consolidate(&[2, 3], "yarn, linen");
    let merged = world.memory(4).clone();
    assert_eq!(
        (merged.core_seq, merged.origin()),
        (Some(rewritten + 1), Origin::Import)
    );
    assert!(merged.is_original());
    world.complete();
    let originals = world.check_replay();
    assert_eq!(
        (
            originals.in_prompt,
            originals.archived,
            originals.removed_off
        ),
        (2, 0, 3)
    );
    assert_eq!(
        originals.to_string(),
        "5 originals: 2 in the prompt, 0 in the archive, 3 removed under `off`, 0 lost"
    );
    // What an undo brings back was not removed.
    assert_eq!(world.undo(0, false), Ok(()));
    let originals = world.check_replay();
    assert_eq!((originals.in_prompt, originals.removed_off), (3, 0));
}

#[test]
fn spec_3_14_the_floor_counts_only_where_more_than_free_memories_can_leave() {
    for (guard, mode, removable) in [
        ("archive", Mode::Full, 301),
        ("archive", Mode::DedupOnly, 600),
        ("refuse", Mode::Full, 600),
    ] {
        let settings = [
            (Field::LossGuard, Some(guard)),
            (Field::CoreTokenBudget, Some("1000")),
            (Field::RefinementThreshold, Some("0.5")),
        ];
        let mut world = World::of(&settings).saving(&[&padding(BALLAST), "tea", "TEA"]);
        world.open(mode);
        let result = world.delete(3);
        assert_eq!(
            (&result["core_tokens"], &result["removable_tokens"]),
            (&json!(1_201), &json!(removable)),
            "{guard} {mode:?}"
        );
    }
}

#[test]
fn spec_3_14_a_session_is_bound_by_the_stricter_guard_of_its_start_and_now() {
    let mut world = World::session(&["tea", "wool"]);
    world.set(Field::LossGuard, "off");
    assert_eq!(
        world.delete(2)["archived"],
        json!([2]),
        "a laxer guard counts from the next session on"
    );
    world.set(Field::LossGuard, "refuse");
    assert_eq!(world.delete(3)["code"], "guard");
    assert_eq!(world.active(Kind::Core).len(), 2);
}

#[test]
fn spec_3_14_a_tag_that_stops_being_immutable_in_a_session_still_binds_it() {
    let mut world = World::session(&["@hum", "tea"]);
    world.set(Field::ImmutableTags, "[]");
    assert_eq!(world.delete(2)["code"], "immutable");
    let lace = world.save(core("lace", "2026-01-01", &["tender"]));
    world.set(Field::ImmutableTags, "tender");
    assert_eq!(world.delete(lace.0)["code"], "immutable");
    assert_eq!(world.delete(3)["type"], "deleted");
}
