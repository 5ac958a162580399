//! SPEC 3.8: the order of the checks, and every refusal.

use memoir_domain::{
    agent::Field,
    knife::{KnifeRequest, Tool},
    session::Mode,
    wording::Origin,
};
use serde_json::{Value, json};

use crate::world::{World, core};

/// #1 carries a detail, #2 none, #3 is a journal entry, #4 constitutional, #5 constitutional and
/// immutable, #6 immutable with a detail.
const TEXTS: &[&str] = &[
    "the shed code is 4711",
    "the kettle sings before it boils",
    "~walked to the harbour",
    "!i keep every promise that i make",
    "!@i hum when the rain falls on the roof",
    "@the bell rang 7 times",
];

fn full(world: &mut World) {
    world.open(Mode::Full);
}

fn dedup_only(world: &mut World) {
    world.open(Mode::DedupOnly);
}

fn at_the_cap(world: &mut World) {
    for session in &mut world.sessions {
        session.edits = 10;
    }
}

fn limiting(world: &mut World) {
    world.set(Field::LossGuard, "limit");
}

fn refusing(world: &mut World) {
    world.set(Field::LossGuard, "refuse");
}

#[track_caller]
fn check(prepare: &[fn(&mut World)], tool: &str, arguments: Value, code: &str) -> String {
    let mut world = World::with(TEXTS);
    for step in prepare {
        step(&mut world);
    }
    let before = (
        world.memories.clone(),
        world.log.clone(),
        world.sessions.clone(),
    );
    let result = world.call(tool, arguments);
    assert_eq!(result["code"], code, "{result}");
    assert_eq!(result["type"], "error");
    assert_eq!(
        (world.memories, world.log, world.sessions),
        before,
        "nothing changes"
    );
    result["error"].as_str().unwrap().to_owned()
}

#[test]
fn spec_3_8_checks_come_in_order() {
    let long = "x".repeat(10_001);
    // Each call breaks the rule named and the one that comes after it.
    let none: &[fn(&mut World)] = &[];
    check(none, "drop_table", json!({}), "session_over");
    check(&[dedup_only], "drop_table", json!(5), "unknown_tool");
    check(
        &[dedup_only, at_the_cap],
        "update_memory",
        json!({"id": 2}),
        "mode",
    );
    check(
        &[full, at_the_cap],
        "delete_memory",
        json!({"id": "x"}),
        "edit_cap",
    );
    check(
        &[full, at_the_cap],
        "consolidate_memories",
        json!(null),
        "edit_cap",
    );
    check(
        &[full],
        "update_memory",
        json!({"id": 99, "content": " "}),
        "invalid_argument",
    );
    check(
        &[full],
        "update_memory",
        json!({"id": 99, "content": long}),
        "too_long",
    );
    check(
        &[full],
        "consolidate_memories",
        json!({"ids": [3, 99], "content": "x"}),
        "not_found",
    );
    check(
        &[full],
        "consolidate_memories",
        json!({"ids": [4, 3], "content": "x"}),
        "not_core",
    );
    check(&[full], "delete_memory", json!({"id": 5}), "constitutional");
    check(
        &[full],
        "update_memory",
        json!({"id": 5, "content": "no"}),
        "constitutional",
    );
    check(
        &[full],
        "consolidate_memories",
        json!({"ids": [6, 4], "content": "x"}),
        "constitutional",
    );
    check(
        &[refusing, full],
        "delete_memory",
        json!({"id": 6}),
        "immutable",
    );
    check(
        &[refusing, full],
        "update_memory",
        json!({"id": 6, "content": "x"}),
        "immutable",
    );
    for (call, code) in [
        // Adds, guts and loses at once: what is said first is said.
        (
            ("update_memory", json!({"id": 2, "content": "the pot"})),
            "words_added",
        ),
        (
            ("update_memory", json!({"id": 2, "content": "the kettle"})),
            "wording_gutted",
        ),
        (("delete_memory", json!({"id": 1})), "loss_limit"),
    ] {
        check(&[refusing, full], call.0, call.1, code);
    }
    check(
        &[limiting, full],
        "delete_memory",
        json!({"id": 1}),
        "words_lost",
    );
}

#[test]
fn spec_3_8_a_refusal_tells_what_to_do_instead() {
    let none: &[fn(&mut World)] = &[];
    for (prepare, tool, arguments, code, parts) in [
        (
            none,
            "delete_memory",
            json!({"id": 1}),
            "session_over",
            &["over", "Stop"][..],
        ),
        (
            &[full],
            "drop_table",
            json!({}),
            "unknown_tool",
            &[
                "search_memories, consolidate_memories, update_memory, delete_memory, protect_memory, complete_refinement",
            ],
        ),
        (
            &[dedup_only],
            "consolidate_memories",
            json!({"ids": [1, 2], "content": "x"}),
            "mode",
            &["search_memories, delete_memory, protect_memory, complete_refinement"],
        ),
        (
            &[full, at_the_cap],
            "delete_memory",
            json!({"id": 1}),
            "edit_cap",
            &["10", "complete_refinement"],
        ),
        (
            &[full],
            "delete_memory",
            json!({"id": "x"}),
            "invalid_argument",
            &["id must be", "try again"],
        ),
        (
            &[full],
            "delete_memory",
            json!({"id": 99}),
            "not_found",
            &["#99", "search_memories"],
        ),
        (
            &[full],
            "delete_memory",
            json!({"id": 3}),
            "not_core",
            &["#3", "Leave it"],
        ),
        (
            &[full],
            "protect_memory",
            json!({"id": 3}),
            "not_core",
            &["#3"],
        ),
        (
            &[full],
            "delete_memory",
            json!({"id": 4}),
            "constitutional",
            &["#4", "Leave it"],
        ),
        (
            &[full],
            "delete_memory",
            json!({"id": 6}),
            "immutable",
            &["#6", "Leave it"],
        ),
        (
            &[refusing, full],
            "delete_memory",
            json!({"id": 1}),
            "loss_limit",
            &["4711", "Keep these words"],
        ),
    ] {
        let error = check(prepare, tool, arguments, code);
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[test]
fn spec_3_8_the_session_must_be_open() {
    let mut world = World::with(TEXTS);
    world.begin(Mode::Full);
    for tool in Tool::ALL {
        let result = world.call(tool.as_str(), json!({"id": 1}));
        assert_eq!(
            result["code"], "session_over",
            "the consent is still asked for"
        );
    }
    let mut world = World::in_session(TEXTS);
    world.complete();
    let before = world.memories.clone();
    for tool in Tool::ALL {
        assert_eq!(
            world.call(tool.as_str(), json!({"id": 1}))["code"],
            "session_over"
        );
    }
    assert_eq!(world.memories, before);
}

#[test]
fn spec_3_8_discarded_memories_are_not_found() {
    let mut world = World::in_session(TEXTS);
    world.discard(2);
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 2})),
        ("protect_memory", json!({"id": 2})),
        ("update_memory", json!({"id": 2, "content": "x"})),
        (
            "consolidate_memories",
            json!({"ids": [1, 2], "content": "x"}),
        ),
    ] {
        assert_eq!(world.call(tool, arguments)["code"], "not_found");
    }
}

#[test]
fn spec_3_8_search_is_a_piece_of_text_whatever_the_case_over_kept_core_memories() {
    let mut world = World::in_session(&[
        "Die STRASSE am Fluss",
        "die straße",
        "~straße",
        "100% wool",
        "1000 sheep",
        "straße, discarded",
    ]);
    world.discard(6);
    let mut numbers = |arguments: Value| -> Vec<u64> {
        let result = world.call("search_memories", arguments);
        let results = result["results"].as_array().unwrap();
        assert_eq!(result["count"], results.len());
        results
            .iter()
            .map(|hit| hit["number"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(numbers(json!({"query": "Straße"})), [1, 2]);
    assert_eq!(numbers(json!({"query": "100%"})), [4]);
    assert_eq!(numbers(json!({"query": "silk"})), Vec::<u64>::new());
    assert_eq!(
        numbers(json!({"since": "2026-01-02", "until": "2026-01-04"})),
        [2, 4]
    );
    assert_eq!(numbers(json!({"query": null, "until": "2026-01-01"})), [1]);
}

#[test]
fn spec_2_4_search_tells_an_origin_that_is_weaker_than_the_agents_own() {
    let mut world = World::new();
    world.save(core("I like wool.", "2026-01-01", &[]));
    let mut quoted = core("Wool is banned.", "2026-01-02", &[]);
    quoted.door.origin = Origin::External;
    world.save(quoted);
    world.open(Mode::Full);
    let found = world.call("search_memories", json!({"query": "wool"}));
    assert_eq!(found["results"][0].get("origin"), None);
    assert_eq!(found["results"][1]["origin"], "external");
}

#[test]
fn spec_3_8_a_call_names_a_bounded_number_of_memories() {
    let ids: Vec<u64> = (1..=1_001).collect();
    let request = KnifeRequest::read(
        "consolidate_memories",
        Some(&json!({"ids": ids, "content": "x"})),
    );
    let refusal = request.call.clone().unwrap_err();
    assert_eq!(refusal.code(), "invalid_argument");
    assert!(refusal.to_string().contains("1001") && refusal.to_string().contains("1000"));
    assert_eq!(request.numbers(), []);
}

#[test]
fn spec_3_8_every_tools_schema_names_what_it_takes() {
    for tool in Tool::ALL {
        let schema = tool.parameters();
        let properties = schema["properties"].as_object().unwrap();
        let required = schema["required"].as_array().unwrap();
        let is_property = |name: &Value| properties.contains_key(name.as_str().unwrap());
        assert!(required.iter().all(is_property));
        // What the schema names, and nothing else, is known to the reader.
        let arguments: Value = properties
            .keys()
            .map(|name| (name.clone(), json!({})))
            .collect();
        let refusal = KnifeRequest::read(tool.as_str(), Some(&arguments))
            .call
            .unwrap_err();
        assert!(!refusal.to_string().contains("another name"), "{refusal}");
    }
}
