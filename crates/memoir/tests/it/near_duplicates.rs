//! Near duplicates in the prompt of a session, and figures that show no text.

use crate::installation::Installation;

#[test]
fn spec_5_5_in_a_closed_installation_figures_are_for_all_and_show_no_text() {
    let installation = Installation::with_agent();
    installation.remember(&[
        "Kanarienvogel am Fenster im Mai",
        "Kanarienvogel am Fenster im Juni",
    ]);
    installation.write(".config/memoir/config.toml", "closed = true\n");
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
    installation.remember(&[
        "Evan plans a session with Sam",
        "Sam plans a session with Evan",
    ]);
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
