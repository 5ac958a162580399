//! What of the answers to questions is in front of a model, by `memoir recall --eval` on sets of this repository. The
//! table is in `docs/recall.md`; the test fails where the page has other figures. After an intended change:
//! `EVALUATED=overwrite cargo test -p memoir --test it evaluating`.

use std::{fs, path::PathBuf};

use memoir_testkit::compare_with_page;
use serde_json::{Value, json};

use crate::installation::Installation;

/// The agents whose memories and questions are in `memoir-app/tests/data`.
const AGENTS: [&str; 3] = ["companion", "coder", "steward"];

fn file(path: &str) -> String {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(crates.join(path)).unwrap()
}

/// The rows of an agent with these memories, and the number of the questions.
fn evaluated(memories: &str, questions: &str) -> (Vec<Value>, u64) {
    let installation = Installation::with_agent();
    let memories = installation.write("memories.jsonl", memories);
    let questions = installation.write("questions.jsonl", questions);
    installation.ok(&["import", "wren", &memories]);
    let sizes = ["--first", "5,10,15", "--tokens", "1000,2000,4000"];
    let arguments = [&["recall", "wren", "--eval", &questions], &sizes[..]].concat();
    let measured = installation.json(&arguments);
    let rows = measured["sizes"].as_array().unwrap().clone();
    (rows, measured["questions"].as_u64().unwrap())
}

/// The labelled set of `memoir-domain`, ten agents of five scripts as one.
fn labelled() -> (String, String) {
    let (mut memories, mut questions) = (String::new(), String::new());
    let (mut count, mut before) = (0, 0);
    for line in file("memoir-domain/tests/recall/labelled.txt").lines() {
        let question = line.split_once(": ").and_then(|(label, text)| {
            let number = label.strip_prefix("w ").or(label.strip_prefix("o "))?;
            Some((text, number.parse::<u64>().ok()?))
        });
        if line.starts_with("# ") {
            before = count;
        } else if let Some((text, number)) = question {
            let question = json!({"query": text, "numbers": [before + number]});
            questions.push_str(&format!("{question}\n"));
        } else {
            count += 1;
            let text = match line.split_once("> ") {
                Some((corrected, text)) if corrected.parse::<u64>().is_ok() => text,
                _ => line,
            };
            // Two a day, in months of 28 days.
            let (month, day) = (1 + count / 56, 1 + count / 2 % 28);
            let created_at = format!("2026-{month:02}-{day:02}T08:00:00Z");
            let memory = json!({"content": text, "created_at": created_at});
            memories.push_str(&format!("{memory}\n"));
        }
    }
    (memories, questions)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[test]
fn spec_2_8_what_is_in_front_of_the_model_is_measured_on_known_answers() {
    let (mut of_agents, mut count) = (Vec::new(), 0);
    for agent in AGENTS {
        let path = format!("memoir-app/tests/data/{agent}");
        let questions = file(&format!("{path}-questions.jsonl"));
        let (rows, questions) = evaluated(&file(&format!("{path}.jsonl")), &questions);
        count += questions;
        of_agents.push((rows, questions));
    }
    let (memories, questions) = labelled();
    let (of_labelled, labelled_count) = evaluated(&memories, &questions);
    let mut table = format!(
        "| | tokens | three agents, {count} questions | tokens | ten labelled agents as one, {labelled_count} questions |\n\
         |---|---|---|---|---|\n"
    );
    let mut in_front = Vec::new();
    for (at, row) in of_labelled.iter().enumerate() {
        let size = row["size"].as_u64();
        let name = match (row["place"].as_str().unwrap(), size) {
            ("recalled", Some(size)) => format!("among the first {size} recalled"),
            ("context", Some(size)) => format!("in a context of {size} tokens"),
            ("context", None) => "in the whole context".to_owned(),
            ("start", _) => "in the text of Claude Code's start".to_owned(),
            _ => "in that text, or beside the prompt".to_owned(),
        };
        let mean = |of: fn(&Value) -> f64| {
            let sum = of_agents
                .iter()
                .map(|(rows, questions)| of(&rows[at]) * *questions as f64);
            sum.sum::<f64>() / count as f64
        };
        let any = |row: &Value| row["any"].as_f64().unwrap();
        let tokens = |row: &Value| row["tokens"].as_f64().unwrap();
        table.push_str(&format!(
            "| {name} | {:.0} | {} | {:.0} | {} |\n",
            mean(tokens),
            percent(mean(any)),
            tokens(row),
            percent(any(row)),
        ));
        in_front.push((mean(any), mean(tokens)));
    }
    println!("{table}");
    compare_with_page("recall.md", "evaluated", &table, "EVALUATED");
    // The figure of the last row is the one that a session of Claude Code has.
    let (share, tokens) = in_front.last().unwrap();
    assert!(
        *share >= 0.9 && *tokens <= 2_500.0 + 400.0,
        "{share} in {tokens}"
    );
}
