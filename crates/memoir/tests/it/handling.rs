//! `memoir protect`, `unprotect` and `discard`, what is bounded and marked, and what is said after a trial
//! with a tiny memory.

use crate::bench::Bench;

#[test]
fn spec_3_10_a_memory_is_protected_and_discarded_by_its_number() {
    let bench = Bench::new();
    bench.ok(&["agent", "create", "wren"]);
    bench.ok(&["remember", "wren", "I like rain."]);
    assert!(
        bench
            .ok(&["protect", "wren", "1"])
            .starts_with("protected #1")
    );
    let protected = bench.json(&["ledger", "wren", "--protected"]);
    assert_eq!(protected["items"][0]["constitutional"], true);
    let others = bench.json(&["ledger", "wren", "--protected=false"]);
    assert_eq!(others["items"].as_array().unwrap().len(), 0);
    let refused = bench.run(&["discard", "wren", "1"]);
    assert_eq!(refused.code, Some(1));
    bench.ok(&["unprotect", "wren", "1"]);
    bench.ok(&["discard", "wren", "1"]);
    assert!(!bench.ok(&["context", "wren"]).contains("rain"));
    bench.ok(&["restore", "wren", "1"]);
    let actions = "memory_protected,memory_unprotected,memory_discarded";
    let done = bench.ok(&[
        "audit", "list", "wren", "--action", actions, "--memory", "1", "--json",
    ]);
    assert_eq!(done.lines().count(), 3);
}

#[test]
fn spec_2_2_a_setting_shows_its_default_and_a_placeholder_is_warned_of() {
    let bench = Bench::new();
    bench.ok(&[
        "agent",
        "create",
        "wren",
        "--refinement-schedule",
        "Thu 3:30",
    ]);
    let shown = bench.ok(&["agent", "show", "wren"]);
    for told in [
        "Thu 03:30",
        "8000 (default)",
        "all of them (default)",
        "You are wren. (default)",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    assert!(shown.contains("never: it has no core memories"), "{shown}");
    let set = bench.run(&["agent", "set", "wren", "system_prompt", "You are %{name}."]);
    assert_eq!(set.code, Some(0));
    assert!(
        set.stderr
            .contains("warning: system_prompt: `%{name}` is a placeholder"),
        "{}",
        set.stderr
    );
}

#[test]
fn spec_2_3_a_faded_entry_is_marked() {
    let bench = Bench::new();
    bench.ok(&["agent", "create", "wren"]);
    bench.ok(&[
        "remember",
        "wren",
        "Long ago.",
        "--kind",
        "journal",
        "--at",
        "2020-01-01",
    ]);
    let ledger = bench.ok(&["ledger", "wren"]);
    assert!(ledger.contains("faded"), "{ledger}");
    assert_eq!(
        bench.json(&["ledger", "wren", "--faded=false"])["items"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
}
