//! Near duplicates, listed and not changed.

use memoir_testkit::TestedObject;
use serde_json::json;

use crate::installation::Installation;

const MEMORIES: [&str; 7] = [
    "Evan plans a session with Sam",
    "Sam plans a session with Evan",
    "Ticket TKT-100 is closed",
    "Ticket TKT-1000 is closed",
    "Folio the cat sleeps under the press",
    "Tea is served at five in the afternoon",
    "Tea is served at five in the afternoon",
];

#[test]
fn pairs_are_listed_with_differences_and_not_changed() {
    let installation = Installation::with_agent();
    installation.remember(&MEMORIES);
    let before = installation.ok(&["ledger", "wren", "--json"]);
    insta::assert_snapshot!(installation.ok(&["doubles", "wren"]), @"
    #6 and #7  duplicates, which the next session joins
        #6  Tea is served at five in the afternoon
        #7  Tea is served at five in the afternoon

    #1 and #2  100% of their words
        #1  Evan plans a session with Sam
        #2  Sam plans a session with Evan
        Evan | Sam
        Sam | Evan

    #3 and #4  100% of their words
        #3  Ticket TKT-100 is closed
        #4  Ticket TKT-1000 is closed
        TKT-100 | TKT-1000
    ");
    let ran = installation.run(&["doubles", "wren", "--limit", "1"]);
    assert_eq!(ran.stderr, "2 more pairs are not listed\n");
    assert_eq!(ran.stdout.lines().count(), 3);
    let told = installation.json(&["doubles", "wren", "--limit", "2"]);
    let pair = &told["items"][1];
    pair["left"].has(json!({"number": 1}));
    pair["right"].has(json!({"content": MEMORIES[1]}));
    assert_eq!(pair["exact"], false);
    assert_eq!(
        pair["differences"],
        json!([{"left": "Evan", "right": "Sam"}, {"left": "Sam", "right": "Evan"}])
    );
    told.has(json!({"more": 1, "is_complete": true, "next_cursor": null}));
    assert_eq!(installation.ok(&["ledger", "wren", "--json"]), before);
}

#[test]
fn no_pairs_are_reported() {
    let installation = Installation::with_agent();
    installation.remember(&MEMORIES[4..6]);
    let ran = installation.run(&["doubles", "wren"]);
    assert_eq!(ran.stderr, "there are no near duplicates\n");
    assert_eq!(ran.ok("doubles"), "");
}

#[test]
fn spec_5_5_in_a_closed_installation_pairs_are_for_the_agent_and_figures_for_all() {
    let installation = Installation::with_agent();
    installation.remember(&[
        "Kanarienvogel am Fenster im Mai",
        "Kanarienvogel am Fenster im Juni",
    ]);
    installation.write(".config/memoir/config.toml", "closed = true\n");
    let ran = installation.run(&["doubles", "wren"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.is_empty() && ran.stderr.contains("this installation is closed"));
    assert!(!ran.stderr.contains("Kanarienvogel"));
    let picture = installation.path("mass.svg");
    let plot = picture.to_str().unwrap();
    let told = installation.ok(&["stats", "wren", "--plot", plot]);
    let json = installation.ok(&["stats", "wren", "--json"]);
    for text in [told, json, std::fs::read_to_string(&picture).unwrap()] {
        assert!(!text.is_empty() && !text.contains("Kanarienvogel"));
    }
}

#[test]
fn spec_2_2_the_prompt_of_a_session_lists_pairs_unless_the_agent_is_set_otherwise() {
    let installation = Installation::with_agent();
    installation.remember(&MEMORIES[..2]);
    let prompt = || {
        let server = installation.scripted(crate::installation::script(&[]));
        installation.ok(&["refine", "wren", "--model", "lab:small"]);
        let sent = server.received();
        sent.iter()
            .map(|request| request.body.to_string())
            .collect::<String>()
    };
    let pair = "#1 and #2 differ in: ";
    assert!(prompt().contains(pair));
    installation.ok(&["agent", "set", "wren", "near_duplicates", "false"]);
    assert!(!prompt().contains(pair));
}
