//! SPEC 3.8: the order of the checks, what a refusal states, and the search of a session.

use memoir_domain::{
    agent::Field,
    memory::tokens,
    origin::Origin,
    session,
    tools::{
        self, MemorySearch,
        RefusalCode::{
            self, AgeLimit, Constitutional, EditCap, Guard, Immutable, InvalidArgument, Mode,
            NotCore, NotFound, NotShorter, SessionOver, SummaryLimit, TooLong, UnknownTool,
            WithinBudget,
        },
        SEARCH_LIMIT, Tool, ToolRequest,
    },
};
use serde_json::{Value, json};

use crate::world::{World, core, of_origin, padding};

/// #1 holds the age rule and the breaker, #2 and #3 can leave, #4 is a journal entry, #5 constitutional, #6
/// constitutional and immutable, #7 immutable, #8 external.
const TEXTS: &[&str] = &[
    "the kettle sings before it boils",
    "the shed is behind the mill",
    "~walked to the harbour",
    "!i keep every promise that i make",
    "!@i hum when the rain falls on the roof",
    "@the bell rang at noon",
];

type Prepare = fn(&mut World);

fn full(world: &mut World) {
    world.open(session::Mode::Full);
}

fn dedup_only(world: &mut World) {
    world.open(session::Mode::DedupOnly);
}

fn over(world: &mut World) {
    world.set(Field::CoreTokenBudget, "1000");
}

fn at_the_cap(world: &mut World) {
    for session in &mut world.sessions {
        session.edits = 10;
    }
}

fn refusing(world: &mut World) {
    world.set(Field::LossGuard, "refuse");
}

fn world() -> World {
    let mut world = World::with(&[&padding(1_010)]).saving(TEXTS);
    let quoted = core("the page praises kettles", "2026-01-20", &[]);
    world.save(of_origin(Origin::External, quoted));
    // Under `refuse` and for duplicates only, a session needs something to remove.
    world.save(core("THE KETTLE SINGS BEFORE IT BOILS", "2026-01-20", &[]));
    world
}

/// A call of a tool, with its arguments.
type Call = (&'static str, Value);

fn delete(ids: &[u64]) -> Call {
    ("delete_memory", json!({"ids": ids}))
}

fn update(id: u64, content: &str) -> Call {
    ("update_memory", json!({"id": id, "content": content}))
}

fn merge(ids: &[u64], content: &str) -> Call {
    let arguments = json!({"ids": ids, "content": content});
    ("consolidate_memories", arguments)
}

#[track_caller]
fn check(prepare: &[Prepare], (tool, arguments): &Call, code: RefusalCode) -> String {
    let mut world = world();
    for step in prepare {
        step(&mut world);
    }
    let before = (
        world.memories.clone(),
        world.log.clone(),
        world.sessions.clone(),
    );
    let result = world.call(tool, arguments.clone());
    assert_eq!(result["code"], code.as_str(), "{result}");
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
    let longer = padding(20);
    // Each call breaks the rule named, and one that is checked later.
    let cases: &[(&[Prepare], Call, RefusalCode)] = &[
        (&[], ("drop_table", json!({})), SessionOver),
        (&[dedup_only], ("drop_table", json!(5)), UnknownTool),
        (
            &[dedup_only, at_the_cap],
            ("update_memory", json!({"id": 2})),
            Mode,
        ),
        (
            &[full, at_the_cap],
            ("delete_memory", json!({"ids": "x"})),
            EditCap,
        ),
        (
            &[full, at_the_cap],
            ("consolidate_memories", json!(null)),
            EditCap,
        ),
        (&[full], update(99, " "), InvalidArgument),
        (&[full], update(99, &padding(2_501)), TooLong),
        (&[full], merge(&[4, 99], "x"), NotFound),
        (&[full], merge(&[5, 4], "x"), NotCore),
        (&[full], delete(&[6]), Constitutional),
        (&[full], update(6, "no"), Constitutional),
        (&[full], merge(&[7, 5], "x"), Constitutional),
        (&[refusing, full], merge(&[7, 8], "x"), Immutable),
        (&[refusing, full], merge(&[2, 8], "x"), InvalidArgument),
        (&[refusing, full], merge(&[2, 3], "x"), Guard),
        (&[refusing, dedup_only], delete(&[2]), Mode),
        (&[full], merge(&[1, 2], &longer), WithinBudget),
        (&[over, full], delete(&[1]), WithinBudget),
        (&[over, full], merge(&[2, 3], &longer), NotShorter),
        (&[over, full], update(1, &padding(1_000)), SummaryLimit),
        (&[full], delete(&[1, 2, 3]), AgeLimit),
    ];
    for (prepare, call, code) in cases {
        check(prepare, call, *code);
    }
}

#[test]
fn spec_3_8_a_refusal_states_what_to_do_instead() {
    let all = "search_memories, consolidate_memories, update_memory, delete_memory, protect_memory, complete_refinement";
    let some = "search_memories, delete_memory, protect_memory, complete_refinement";
    let capped = ["10", "complete_refinement"];
    let unread = ["ids must be", "try again"];
    let budget = ["900", "complete_refinement"];
    let cases: &[(&[Prepare], Call, RefusalCode, &[&str])] = &[
        (&[], delete(&[2]), SessionOver, &["over", "Stop"]),
        (&[full], ("drop_table", json!({})), UnknownTool, &[all]),
        (&[dedup_only], ("update_memory", json!({})), Mode, &[some]),
        (&[dedup_only], delete(&[3]), Mode, &["#3", "Leave them"]),
        (&[full, at_the_cap], delete(&[2]), EditCap, &capped),
        (
            &[full],
            ("delete_memory", json!({"ids": "x"})),
            InvalidArgument,
            &unread,
        ),
        (
            &[full],
            delete(&[99]),
            NotFound,
            &["#99", "search_memories"],
        ),
        (
            &[full],
            ("protect_memory", json!({"id": 4})),
            NotCore,
            &["#4", "core"],
        ),
        (&[full], delete(&[5]), Constitutional, &["#5", "Leave it"]),
        (&[full], delete(&[7]), Immutable, &["#7", "Leave it"]),
        (
            &[refusing, full],
            delete(&[3]),
            Guard,
            &["#3", "Leave them"],
        ),
        (&[over, full], delete(&[1]), WithinBudget, &budget),
    ];
    for (prepare, call, code, parts) in cases {
        let error = check(prepare, call, *code);
        for part in *parts {
            assert!(error.contains(part), "{error} lacks {part}");
        }
    }
}

#[test]
fn spec_3_14_an_age_limit_names_the_members_at_fault() {
    let texts: Vec<String> = (b'a'..=b'h')
        .map(|letter| char::from(letter).to_string().repeat(40))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut world = World::of(&[(Field::RefinementThreshold, Some("0.5"))]).saving(&texts);
    world.open(session::Mode::Full);
    let result = world.call("delete_memory", json!({"ids": [1, 2, 7, 8]}));
    assert_eq!(
        (&result["code"], &result["members"]),
        (&json!("age_limit"), &json!([2, 7, 8]))
    );
    assert!(
        result["error"]
            .as_str()
            .unwrap()
            .contains("as old as #2, #7, #8 "),
        "{result}"
    );
    // The call that it names passes.
    let named = result["error"].as_str().unwrap();
    assert!(named.ends_with("delete_memory of #1 passes."), "{result}");
    let result = world.call("delete_memory", json!({"ids": [1]}));
    assert_eq!(result["type"], "deleted", "{result}");
}

#[test]
fn spec_3_8_no_refusal_advises_a_call_that_the_breaker_would_undo() {
    let texts = [
        ("ants", 100),
        ("bees", 100),
        ("cats", 100),
        ("calm", 1_200),
        ("wool", 800),
    ];
    let texts = texts.map(|(word, count)| word.repeat(count));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut world = World::of(&[(Field::CoreTokenBudget, Some("1000"))]).saving(&texts);
    world.open(session::Mode::Full);
    let result = world.call("delete_memory", json!({"ids": [1, 2, 3, 5]}));
    assert_eq!(
        (&result["code"], &result["members"]),
        (&json!("age_limit"), &json!([3]))
    );
    let error = result["error"].as_str().unwrap();
    assert!(!error.contains("passes"), "{error}");
    assert!(error.contains("does not mark `stays`"), "{error}");
    // By age they could leave.
    let result = world.call("delete_memory", json!({"ids": [1, 2, 5]}));
    assert_eq!(result["type"], "refinement_rolled_back", "{result}");
}

#[test]
fn spec_3_8_the_session_must_be_open() {
    let mut world = world();
    world.begin(session::Mode::Full).unwrap();
    for tool in Tool::ALL {
        let result = world.call(tool.as_str(), json!({"id": 2}));
        assert_eq!(result["code"], "session_over", "consent is still requested");
    }
    world.open_begun();
    world.complete();
    let before = world.memories.clone();
    for tool in Tool::ALL {
        let result = world.call(tool.as_str(), json!({"id": 2}));
        assert_eq!(result["code"], "session_over");
    }
    assert_eq!(world.memories, before);
}

#[test]
fn spec_3_8_search_finds_a_piece_of_text_whatever_the_case_in_core_and_archive() {
    let mut world = World::session(&[
        "Die STRASSE am Fluss",
        "die straße",
        "~straße",
        "100% wool",
        "1000 sheep",
        "straße, discarded",
        "^Straße im Archiv",
    ]);
    world.discard(7);
    let mut find = |arguments: Value| -> Vec<u64> {
        let result = world.call("search_memories", arguments);
        let results = result["results"].as_array().unwrap();
        assert_eq!(result["count"], results.len());
        let numbers = results.iter().map(|hit| hit["number"].as_u64().unwrap());
        numbers.collect()
    };
    assert_eq!(find(json!({"query": "Straße"})), [2, 3, 8]);
    assert_eq!(find(json!({"query": "100%"})), [5]);
    assert_eq!(find(json!({"query": "silk"})), Vec::<u64>::new());
    assert_eq!(
        find(json!({"since": "2026-01-02", "until": "2026-01-05"})),
        [2, 3, 5]
    );
    assert_eq!(find(json!({"query": null, "until": "2026-01-01"})), [1]);
}

#[test]
fn spec_3_8_search_marks_what_is_archival_a_summary_or_of_weak_origin() {
    let mut world = World::over(&["Ada keeps bees.", "Ada sells honey."]);
    let quoted = core("Bees are insects, a page says.", "2026-01-20", &[]);
    world.save(of_origin(Origin::External, quoted));
    let summary = world.summarise(&[2, 3], "Ada: bees.");
    let found = world.call("search_memories", json!({"query": "bees"}));
    let hits = found["results"].as_array().unwrap();
    let marks = hits.iter().map(|hit| {
        let marks =
            ["number", "kind", "under", "is_summary", "origin"].map(|name| hit[name].clone());
        json!(marks)
    });
    assert_eq!(
        marks.collect::<Vec<_>>(),
        [
            json!([2, "archival", summary, false, null]),
            json!([summary, "core", null, true, null]),
            json!([4, "core", null, false, "external"]),
        ]
    );
}

#[test]
fn spec_3_8_a_search_shows_the_first_and_counts_all() {
    let texts: Vec<String> = (0..SEARCH_LIMIT + 5).map(|n| format!("tea {n}")).collect();
    let mut world = World::session(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let found = world.call("search_memories", json!({"query": "tea"}));
    assert_eq!(found["results"].as_array().unwrap().len(), SEARCH_LIMIT);
    assert_eq!(found["count"], SEARCH_LIMIT + 5);
    assert!(
        found["note"]
            .as_str()
            .unwrap()
            .contains("Narrow the search")
    );
}

#[test]
fn spec_3_8_a_search_has_a_room_in_which_the_first_is_shown_in_any_case() {
    let texts: Vec<String> = (0..9)
        .map(|n| format!("tea {n} {}", "leaf ".repeat(80)))
        .collect();
    let world = World::session(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let search = MemorySearch {
        query: Some("tea".into()),
        since: None,
        until: None,
    };
    for (room, least, most) in [(0, 1, 1), (600, 2, 6), (u64::MAX, 9, 9)] {
        let found = tools::search(&world.all(), &search, room);
        let found = serde_json::to_value(found).unwrap();
        let hits = found["results"].as_array().unwrap();
        let sizes = hits.iter().map(|hit| tokens(&hit.to_string()));
        assert!(hits.len() == 1 || sizes.sum::<u64>() <= room);
        assert!((least..=most).contains(&hits.len()), "{}", hits.len());
        assert_eq!(
            (&found["count"], &hits[0]["number"]),
            (&json!(9), &json!(2))
        );
        let left_out = format!("Left out: the last {} of 9.", 9 - hits.len());
        match found["note"].as_str() {
            Some(note) => assert!(note.starts_with(&left_out), "{note}"),
            None => assert_eq!(hits.len(), 9),
        }
    }
}

#[test]
fn spec_3_8_every_tools_schema_names_what_it_takes() {
    let cases = Tool::ALL.map(|tool| [false, true].map(|is_off| (tool, is_off)));
    for (tool, is_off) in cases.into_iter().flatten() {
        let schema = tool.parameters(is_off);
        let properties = schema["properties"].as_object().unwrap();
        let required = schema["required"].as_array().unwrap();
        let is_property = |name: &Value| properties.contains_key(name.as_str().unwrap());
        assert!(required.iter().all(is_property));
        // The reader knows what the schema names.
        let arguments: Value = properties
            .keys()
            .map(|name| (name.clone(), json!({})))
            .collect();
        let refusal = ToolRequest::read(tool.as_str(), Some(&arguments))
            .call
            .unwrap_err();
        assert!(!refusal.to_string().contains("another name"), "{refusal}");
    }
}
