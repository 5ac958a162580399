//! The statistics of a memory, as numbers, and as a chart in a file.

use memoir_testkit::{TestedObject, TestedText};
use serde_json::json;

use crate::installation::{Installation, script};

const CANARY: &str = "Kanarienvogel";

/// Ten memories of ten tokens over as many days, a session that deletes one, one that the breaker undoes, and a
/// discarding.
fn with_a_past() -> Installation {
    // Its first record is the beginning of the chart.
    let installation = Installation::with_agent_of_its_own();
    let words = "attic bread cello dunes ember fable grove heron inlet juice";
    let words: Vec<&str> = words.split(' ').collect();
    let text = |day: usize| format!("{CANARY} {:<20}{:>6}", words[day], words[9 - day]);
    installation.import((0..10).map(text));
    let delete = |id: u64| ("delete_memory", json!({"id": id}));
    let server = installation.scripted(script(&[delete(1)]));
    installation.ok(&["refine", "wren", "--model", "lab:small"]);
    drop(server);
    let server = installation.scripted(script(&[delete(2), delete(3), delete(4)]));
    installation.run(&["refine", "wren", "--model", "lab:small"]);
    drop(server);
    installation
}

#[test]
fn spec_5_1_the_figures_are_shown_without_text() {
    let installation = with_a_past();
    let told = installation.json(&["stats", "wren"]);
    assert_eq!(told["core_tokens"], 90);
    assert_eq!(
        told["causes"],
        json!({
            "saved": {"records": 10, "tokens_added": 100, "tokens_removed": 0},
            "refined": {"records": 4, "tokens_added": 0, "tokens_removed": 40},
            "taken_back": {"records": 1, "tokens_added": 30, "tokens_removed": 0},
        })
    );
    assert_eq!(
        told["sessions"]["ends"],
        json!({"abandoned": 0, "completed": 1, "declined": 0, "failed": 0, "rolled_back": 1})
    );
    // Under the loss guard `off` a deleted memory is discarded, and not counted.
    told.has(json!({"originals": {"total": 9, "in_prompt": 9, "archived": 0}}));
    let quarter = &told["originals_by_quarter"][0];
    quarter.has(json!({"saved": 9, "in_prompt": 9}));
    let points = told["history"]["points"].as_array().unwrap();
    assert_eq!(points.last().unwrap()["core_tokens"], 90);
    assert!(!told.to_string().contains(CANARY));
    let text = installation.ok(&["stats", "wren"]);
    for part in [
        "edited in sessions",
        "-40",
        "rolled back or undone",
        "+30",
        "9 originals: 9 in the prompt, 0 in the archive",
    ] {
        text.tells(part);
    }
    assert!(!text.contains(CANARY));
}

#[test]
fn the_numbers_are_printed_in_columns() {
    let installation = with_a_past();
    let text = installation.ok(&["stats", "wren"]);
    let numbers = text.split_once("Core size ").unwrap().1;
    let (_, numbers) = numbers.split_once('\n').unwrap();
    let told = installation.json(&["stats", "wren"]);
    let quarter = told["originals_by_quarter"][0]["quarter"].as_str().unwrap();
    let numbers = numbers.replace(quarter, "YEAR-Qn");
    insta::assert_snapshot!("numbers_at_80_columns", numbers);
}

#[test]
fn spec_5_1_a_picture_in_a_file_has_its_axes_and_no_word() {
    let installation = with_a_past();
    let file = |name: &str| installation.path(name).to_str().unwrap().to_owned();
    let ran = installation.run(&["stats", "wren", "--json", "--plot", &file("mass.svg")]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("mass.svg"));
    let svg = std::fs::read_to_string(installation.path("mass.svg")).unwrap();
    for label in [
        "<svg ",
        "core memory, tokens",
        "date, UTC",
        "completed session",
        "rolled back, undone or rewound",
        "class=\"mark ",
    ] {
        svg.tells(label);
    }
    // A pointer over a mark shows what happened, in numbers.
    svg.tells("\nSession completed, 100 → 90 tokens, 1 edit");
    svg.tells("\nSession rolled back, 90 → 90 tokens");
    svg.omits(CANARY);
    svg.omits("wren");
    // It is replaced on request alone.
    installation.write("mass.svg", "mine");
    let plot = file("mass.svg");
    let again = ["stats", "wren", "--plot", plot.as_str()];
    installation
        .refused(&again)
        .tells("`--force` to replace it");
    assert_eq!(
        std::fs::read(installation.path("mass.svg")).unwrap(),
        b"mine"
    );
    installation.ok(&[&again[..], &["--force"]].concat());
    assert!(
        std::fs::read_to_string(installation.path("mass.svg"))
            .unwrap()
            .contains("<svg")
    );
    for name in ["mass.png", "mass"] {
        let ran = installation.run(&["stats", "wren", "--plot", &file(name)]);
        assert_eq!(ran.code, Some(1));
        ran.reports("ends in `.svg`");
        assert!(!installation.path(name).exists());
    }
}

#[test]
fn an_agent_without_a_past_and_a_time_without_records_can_be_shown() {
    let installation = Installation::with_agent();
    let none = installation.ok("stats wren");
    none.tells("0 originals: 0 in the prompt, 0 in the archive");
    installation.remember(&["Tea at 5"]);
    let told = installation.json("stats wren --since 2020-01-01 --until 2020-02-01");
    assert_eq!(told["causes"], json!({}));
    assert_eq!(told["history"]["points"][400]["core_tokens"], 0);
    let ran = installation.run("stats wren --since 2020-02-01 --until 2020-01-01");
    assert_eq!(ran.code, Some(1));
}
