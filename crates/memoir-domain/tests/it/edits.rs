//! SPEC 3.9 to 3.12: consolidate, update, delete and protect, and the cap. What may be lost is tested in `carried`.

use memoir_domain::{
    audit::Action,
    memory::{Kind, Tags},
    session::{Mode, Stats},
};
use serde_json::json;

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

#[test]
fn spec_3_10_protecting_sets_the_flag_once() {
    let mut world = session(&["tea", "@hum"]);
    for number in [1, 2] {
        let result = world.call("protect_memory", json!({"id": number}));
        assert_eq!(result, json!({"type": "protected", "number": number}));
        assert_eq!(world.last_record().action, Action::MemoryRefinementProtect);
    }
    assert_eq!(
        world.memory(1).protected_seq,
        Some(world.log.len() as u64 - 1)
    );
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

#[test]
fn spec_3_17_a_dedup_only_session_searches_deletes_protects_and_completes() {
    let ballast = ballast();
    let mut world = World::with(&[
        "tea",
        "She keeps wool.",
        "She keeps wool. She keeps yarn.",
        ballast.trim(),
    ]);
    world.open(Mode::DedupOnly);
    // Nobody else says it.
    assert_eq!(world.delete(3)["code"], "mode");
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
    assert_eq!(world.kept(Kind::Core).len(), 3);
}
