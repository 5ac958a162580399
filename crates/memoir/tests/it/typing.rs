//! What a person need not type: the only agent, whole identifiers, names without a slip.

use serde_json::Value;

use crate::bench::{Bench, Ran, names_in};

#[test]
fn the_only_agent_and_the_one_of_the_environment_need_not_be_named() {
    let bench = Bench::with_agent();
    bench.remember(&["Ines keeps bees."]);
    assert!(bench.ok(&["context"]).contains("Ines keeps bees."));
    bench.ok(&["agent", "create", "robin"]);
    let refused = bench.refused(&["context"]);
    assert!(
        refused.contains("several agents, and none is named"),
        "{refused}"
    );
    let ran = Ran::of(bench.command(&["context"]).env("MEMOIR_AGENT", "wren"));
    assert!(ran.stdout.contains("Ines keeps bees."), "{ran:?}");
}

#[test]
fn a_session_is_named_by_its_beginning_or_as_the_last_one() {
    let bench = Bench::with_agent();
    bench.remember(&["Ines keeps bees.", "ines keeps bees"]);
    bench.ok(&["refine", "wren", "--rehearse"]);
    let id = bench.last_session();
    for named in [&id[..13], "last", "LAST", id.as_str()] {
        assert_eq!(
            bench.json(&["session", named])["id"],
            id.as_str(),
            "{named}"
        );
    }
    for wrong in [&id[..3], "ffff"] {
        let refused = bench.refused(&["session", wrong]);
        assert!(refused.contains("hint: "), "{refused}");
    }
}

#[test]
fn a_name_with_a_slip_is_told_the_one_that_was_meant() {
    let bench = Bench::with_agent();
    assert!(
        bench
            .refused(&["context", "wern"])
            .contains("hint: did you mean `wren`?")
    );
    assert!(
        bench
            .refused(&["context", "quite different"])
            .contains("hint: `memoir agent list`")
    );
}

#[test]
fn a_failure_is_json_for_a_program_with_the_code_of_the_service() {
    let bench = Bench::with_agent();
    let ran = bench.run(&["discard", "wren", "7", "--json"]);
    assert_eq!(ran.code, Some(1));
    let told: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&told["type"], &told["code"]),
        (&"error".into(), &"not_found".into()),
        "{told}"
    );
    assert!(
        told["hint"].is_string() && ran.stdout.is_empty() && ran.stderr.starts_with("error: "),
        "{ran:?}"
    );
}

#[test]
fn shells_complete_and_the_manual_has_a_page_for_each_command() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            bench.ok(&["completions", shell]).contains("rollback"),
            "{shell}"
        );
    }
    bench.ok(&["man", bench.path("tmp").to_str().unwrap()]);
    let pages = names_in(&bench.path("tmp"));
    for page in ["memoir.1", "memoir-remember.1", "memoir-hook.1"] {
        assert!(pages.contains(&page.to_owned()), "{page}: {pages:?}");
    }
    assert!(bench.ok(&["help", "remember"]).contains("Save one memory"));
}
