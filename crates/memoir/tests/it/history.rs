//! The history of memories, as a tree.

use memoir_testkit::{TestedObject, TestedText};
use serde_json::json;

use crate::installation::{Installation, MadeOnce, script};

/// The text with `TIME` for every moment, as in `2026-05-03 14:00:00Z`, and `DATE` for every other date.
fn without_times(text: &str) -> String {
    let mut text = text.to_owned();
    for (form, name) in [("0000-00-00 00:00:00Z", "TIME"), ("0000-00-00", "DATE")] {
        let has_form = |at: &usize| {
            let found = text.as_bytes()[*at..].iter().zip(form.bytes());
            found.len() == form.len() && {
                let mut found = found.map(|(byte, form)| match form {
                    b'0' => byte.is_ascii_digit(),
                    other => *byte == other,
                });
                found.all(|is_same| is_same)
            }
        };
        let places: Vec<usize> = (0..text.len()).filter(has_form).collect();
        for at in places.into_iter().rev() {
            text.replace_range(at..at + form.len(), name);
        }
    }
    text
}

fn with_a_past() -> Installation {
    static MADE: MadeOnce = MadeOnce::new();
    MADE.copy(made)
}

fn made() -> Installation {
    let installation = Installation::with_agent();
    installation.remember(&[
        "The kettle is in the kitchen.",
        "the kettle is in the kitchen",
        "Marta waxes her linen thread twice.\nThen she waits.",
        "Paper comes on Thursdays at the back gate.",
        "Paper comes on Thursdays at the back gate.",
        "Folio the cat sleeps under the press.",
    ]);
    let merged = json!({"ids": [1, 2], "content": "The kettle is in the kitchen."});
    let first = script(&[
        ("consolidate_memories", merged),
        ("protect_memory", json!({"id": 6})),
    ]);
    let shorter = "Marta waxes her thread twice.\nThen she waits.";
    let second = script(&[("update_memory", json!({"id": 3, "content": shorter}))]);
    let _server = installation.scripted([first, second].concat());
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    installation.ok(&["rollback", &installation.last_session()]);
    installation
}

#[test]
fn a_history_is_a_tree_of_merges_with_texts_and_what_was_undone() {
    let installation = with_a_past();
    let text = without_times(&installation.ok(&["history", "wren"]));
    insta::assert_snapshot!(text);
}

#[test]
fn the_history_of_one_memory_is_its_own_with_what_went_into_it() {
    let installation = with_a_past();
    let text = without_times(&installation.ok(&["history", "wren", "#7"]));
    insta::assert_snapshot!(text);
    let of_source = installation.ok(&["history", "wren", "1"]);
    assert!(of_source.starts_with("#1\n"), "{of_source}");
    of_source.tells("consolidated into #7");
    let missing = installation.refused(&["history", "wren", "99"]);
    missing.tells("there is no memory #99");
}

#[test]
fn a_history_in_json_is_one_document_by_number() {
    let installation = with_a_past();
    let history = installation.json(&["history", "wren"]);
    let merged = &history["memories"]["7"];
    assert_eq!(merged["parents"], json!([1, 2]));
    let reworded = &history["memories"]["3"]["events"][1];
    reworded.has(json!({"action": "memory_refinement_update", "in_force": false}));
    let one = installation.json(&["history", "wren", "7"]);
    let numbers: Vec<&String> = one["memories"].as_object().unwrap().keys().collect();
    assert_eq!(numbers, ["1", "2", "7"]);
}

#[test]
fn an_agent_without_memories_has_no_history_yet() {
    let installation = Installation::with_agent();
    let ran = installation.run(&["history", "wren"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(ran.stderr, "there is no memory yet\n");
}

#[test]
fn words_in_a_history_cannot_drive_the_terminal_or_pass_for_its_lines() {
    let installation = Installation::with_agent();
    installation.remember(&["first\n└─ #9\n\u{202e}drawn"]);
    let text = installation.ok(&["history", "wren"]);
    text.tells("  + first\n  + └─ #9\n  + \\u{202e}drawn\n");
}
