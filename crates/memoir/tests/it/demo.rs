//! The demonstration.

use crate::installation::{Installation, Ran, names_in};

#[test]
fn the_demo_ends_with_the_state_and_leaves_nothing_behind() {
    let installation = Installation::new();
    installation.write(".config/memoir/config.toml", "this is no configuration");
    let ran = installation.run(&["demo", "--full", "--database", "untouched.db"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout.lines().last(), Some("completed"));
    assert_eq!(names_in(&installation.path("tmp")), Vec::<String>::new());
    assert!(!installation.path("untouched.db").exists() && !installation.path(".local").exists());
    for told in [
        "`wren` before its session",
        "What was edited, and why",
        "`wren` after its session",
        "The journal entry about it",
        "The audit records of the session",
        "Is the audit as it was written?\n\nvalid   wren: ",
        " records, head ",
    ] {
        ran.prints(told);
    }
    ran.reports("agreed");
    ran.reports("edit 1 ");
}

#[test]
fn the_demo_needs_neither_the_users_keys_nor_a_home_to_write_to() {
    let installation = Installation::new();
    let mut demo = installation.command("demo");
    demo.env("MEMOIR_MASTER_KEY", "no key at all");
    let told = Ran::of(demo.env("HOME", "/nonexistent")).ok("demo");
    assert_eq!(told.lines().last(), Some("completed"));
}

#[test]
fn the_demo_as_json_is_one_document() {
    let installation = Installation::new();
    let shown = installation.json(&["demo"]);
    assert_eq!(shown["session"]["state"], "completed");
    assert!(shown["before"].as_array().unwrap().len() > 50);
    assert!(shown["records"].as_array().unwrap().len() > 5);
    assert_eq!(shown["journal"]["kind"], "journal");
    let verification = &shown["verification"];
    let last = shown["records"].as_array().unwrap().last().unwrap();
    assert_eq!(verification["valid"], true);
    assert_eq!(verification["records"], last["seq"]);
    assert_eq!(verification["head"], last["hash"]);
}

#[test]
fn spec_3_12_the_demo_shows_in_25_lines_what_is_undone_archived_and_replaced() {
    let installation = Installation::new();
    let ran = installation.run(&["demo"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.lines().count() <= 25, "{}", ran.stdout);
    let widest = ran.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 100, "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().last(), Some("completed"));
    assert_eq!(names_in(&installation.path("tmp")), Vec::<String>::new());
    // The hash of the chain's head differs each time.
    let (_, hash) = ran.stdout.split_once(", head ").unwrap();
    let hash = hash.split_whitespace().next().unwrap();
    insta::assert_snapshot!(ran.stdout.replace(hash, "HEAD"));
    let shown = ran.stdout.replace(hash, "…");
    let page = include_str!("../../../../docs/concepts.md");
    assert!(page.contains(&shown), "concepts.md is to have:\n{shown}");
}
