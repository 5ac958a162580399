//! Moving in from other programs, and out again.

use memoir_testkit::Step;
use serde_json::{Value, json};

use crate::bench::Bench;

/// A list as mem0 gives it: one is expired, one junk, one there twice.
fn mem0() -> Value {
    json!({"results": [
        {"id": "8a1f", "memory": "Prefers tea to coffee.", "hash": "0c5", "created_at": "2026-03-01T03:00:00-07:00",
         "updated_at": null, "user_id": "kai", "metadata": {"category": "food"}},
        {"id": "8a20", "memory": "Parks in bay four this week.", "created_at": "2026-01-05T08:00:00",
         "expiration_date": "2026-01-09", "user_id": "kai", "categories": ["car", "work"]},
        {"id": "8a21", "memory": " ", "user_id": "kai"},
        {"id": "8a22", "memory": "Prefers tea to coffee.", "created_at": "2026-03-02T03:00:00Z", "user_id": "kai"},
        {"id": "8a23", "memory": "", "text": "Lives in Lisbon.", "created_at": 1772359200000_i64, "user_id": "kai"},
    ]})
}

#[test]
fn a_list_of_mem0_moves_in_with_its_history_and_a_second_time_adds_nothing() {
    let bench = Bench::with_agent();
    let file = bench.write("mem0.json", mem0().to_string());
    let told = bench.json(&["import", "wren", &file, "--dry-run"]);
    assert_eq!(told["format"], "mem0");
    assert_eq!((&told["imported"], &told["kept"]), (&json!(0), &json!(2)));
    assert_eq!(bench.texts(), Vec::<String>::new());

    let told = bench.json(&["import", "wren", &file]);
    for (name, count) in [
        ("imported", 3),
        ("read", 5),
        ("kept", 2),
        ("discarded", 1),
        ("doubles", 1),
        ("known", 0),
    ] {
        assert_eq!(told[name], count, "{name}: {told}");
    }
    assert_eq!(told["junk"], json!({"empty": 1}));
    assert_eq!(
        bench.texts(),
        ["Prefers tea to coffee.", "Lives in Lisbon."]
    );
    let all = bench.json(&["ledger", "wren", "--all"]);
    let of = |text: &str| {
        let mut items = all["items"].as_array().unwrap().iter();
        items
            .find(|memory| memory["content"] == text)
            .unwrap()
            .clone()
    };
    let tea = of("Prefers tea to coffee.");
    assert_eq!(tea["origin"], "import");
    assert_eq!(tea["sources"], json!(["mem0:8a1f"]));
    assert_eq!(tea["tags"], json!(["food", "user:kai"]));
    assert_eq!(tea["created_at"], "2026-03-01T10:00:00Z");
    assert_eq!(of("Lives in Lisbon.")["created_at"], "2026-03-01T10:00:00Z");
    // It is shown on its last day still.
    let parked = of("Parks in bay four this week.");
    assert_eq!(parked["discarded_at"], "2026-01-10T00:00:00Z");
    assert_eq!(parked["created_at"], "2026-01-05T08:00:00Z");

    let before = bench.ok(&["audit", "list", "wren"]);
    let again = bench.json(&["import", "wren", &file]);
    assert_eq!(
        (&again["imported"], &again["known"]),
        (&json!(0), &json!(4))
    );
    assert_eq!(bench.ok(&["audit", "list", "wren"]), before);
    assert_eq!(bench.json(&["audit", "verify", "wren"])["valid"], true);
}

#[test]
fn spec_2_4_an_import_is_one_record_and_is_undone_to_the_byte() {
    let bench = Bench::with_agent();
    bench.remember(&["I am Wren.", "I keep bees."]);
    let before = bench.ok(&["export", "wren"]);
    let context = bench.ok(&["context", "wren"]);
    let file = bench.write("mem0.json", mem0().to_string());
    bench.ok(&["import", "wren", &file]);
    let records = bench.ok(&[
        "audit",
        "list",
        "wren",
        "--action",
        "memories_imported",
        "--json",
    ]);
    let [record] = records.lines().collect::<Vec<_>>()[..] else {
        panic!("{records}")
    };
    let record: Value = serde_json::from_str(record).unwrap();
    assert_eq!(record["data"]["memories"], 2);
    assert_eq!(record["data"]["format"], "mem0");
    assert_ne!(bench.ok(&["export", "wren"]), before);

    let told = bench.ok(&["import", "wren", "--undo", "--dry-run"]);
    assert!(told.contains("2 memories would be discarded"), "{told}");
    let told = bench.ok(&["import", "wren", "--undo"]);
    assert!(told.contains("2 memories discarded"), "{told}");
    assert_eq!(bench.ok(&["export", "wren"]), before);
    assert_eq!(bench.ok(&["context", "wren"]), context);
    assert_eq!(bench.json(&["audit", "verify", "wren"])["valid"], true);
    let refused = bench.refused(&["import", "wren", "--undo"]);
    assert!(refused.contains("no import"), "{refused}");
    // What was taken back can come again.
    let again = bench.json(&["import", "wren", &file]);
    assert_eq!(
        (&again["imported"], &again["known"]),
        (&json!(3), &json!(0))
    );
}

#[test]
fn spec_2_4_an_import_whose_memories_were_merged_with_others_is_not_undone_in_part() {
    let bench = Bench::with_agent();
    bench.remember(&[
        "Prefers tea to coffee",
        "Walks to the harbour every morning before the others are awake.",
        "Has a brother in Porto who builds boats of cedar wood.",
    ]);
    let others = bench.core().len();
    let file = bench.write("mem0.json", mem0().to_string());
    bench.ok(&["import", "wren", &file]);
    let merge = json!({"ids": [1, 4], "content": "Prefers tea to coffee."});
    let _server = bench.scripted([
        Step::text("YES"),
        Step::call("consolidate_memories", merge),
        Step::call("complete_refinement", json!({"summary": "One double."})),
    ]);
    bench.ok(&["refine", "wren", "--model", "lab:small"]);
    let before = bench.ok(&["export", "wren"]);
    let refused = bench.refused(&["import", "wren", "--undo"]);
    assert!(
        refused.contains("stand in the way") && refused.contains("memoir rollback"),
        "{refused}"
    );
    assert_eq!(bench.ok(&["export", "wren"]), before);
    // Nor does a session's work make it new.
    let again = bench.json(&["import", "wren", &file]);
    assert_eq!(again["imported"], 0, "{again}");
    bench.ok(&["rollback", &bench.last_session()]);
    bench.ok(&["import", "wren", "--undo"]);
    assert_eq!(bench.core().len(), others);
}

#[test]
fn a_file_that_is_cut_off_is_imported_in_part_only_where_that_is_asked_for() {
    let bench = Bench::with_agent();
    let whole = mem0().to_string();
    let file = bench.write("mem0.json", &whole[..whole.len() - 90]);
    let ran = bench.run(&["import", "wren", &file]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("nothing was imported"), "{ran:?}");
    assert_eq!(bench.texts(), Vec::<String>::new());
    let told = bench.json(&["import", "wren", &file, "--skip-bad"]);
    assert_eq!(
        (&told["complete"], &told["kept"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(bench.texts(), ["Prefers tea to coffee."]);
}

#[test]
fn a_list_comes_from_stdin_too_and_lines_of_json_are_undone_as_well() {
    let bench = Bench::with_agent();
    let ran = bench.run_with_input(&["import", "wren", "-"], &mem0().to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("looks like mem0: results[].memory"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("imported 3 memories"), "{ran:?}");
    let lines = "{\"content\": \"One line.\"}\n{\"content\": \"Another line.\"}\n";
    let ran = bench.run_with_input(&["import", "wren", "-"], lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(bench.texts().len(), 4);
    bench.ok(&["import", "wren", "--undo"]);
    assert_eq!(bench.texts().len(), 2);
    bench.ok(&["import", "wren", "--undo"]);
    assert_eq!(bench.texts(), Vec::<String>::new());
}

#[test]
fn only_what_is_live_comes_where_that_is_asked_for() {
    let bench = Bench::with_agent();
    let file = bench.write("mem0.json", mem0().to_string());
    let told = bench.json(&[
        "import",
        "wren",
        &file,
        "--live-only",
        "--kind",
        "journal",
        "--tag",
        "old",
    ]);
    assert_eq!(
        (&told["discarded"], &told["gone_left_out"]),
        (&json!(0), &json!(1))
    );
    let ledger = bench.json(&["ledger", "wren", "--all"]);
    for memory in ledger["items"].as_array().unwrap() {
        assert_eq!(memory["kind"], "journal");
        assert_eq!(memory["tags"][0], "old");
    }
}
