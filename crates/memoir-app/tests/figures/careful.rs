//! The cost of the rules for a careful model: recorded calls of a model that had read only the prompts, repeated. They
//! are in `tests/data/careful-calls.json`, for each agent the calls of each session in their order.
//!
//! `CAREFUL=prompt` prints the prompt of the session after those of the file.

use std::{collections::BTreeMap, fs, path::PathBuf};

use memoir_domain::{agent::Field, session::Mode};
use serde_json::{Value, json};

use crate::{
    agents::{Data, Figure, WEEK},
    installation::person,
};

const BUDGET: u64 = 5_000;
const EDITS: [&str; 3] = ["consolidate_memories", "update_memory", "delete_memory"];

/// The results of all calls.
#[derive(Default)]
pub struct Played {
    pub sessions: usize,
    pub edits: u32,
    pub refused: BTreeMap<String, u32>,
}

impl Played {
    pub fn refusals(&self) -> u32 {
        self.refused.values().sum()
    }
}

fn file() -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/careful-calls.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn sessions_of(file: &Value, data: Data) -> Vec<Vec<Value>> {
    let agents = file.as_array().unwrap().iter();
    let agent = agents.filter(|agent| agent["agent"] == data.as_str());
    let sessions = agent.flat_map(|agent| agent["sessions"].as_array().unwrap());
    sessions
        .map(|calls| calls.as_array().unwrap().clone())
        .collect()
}

async fn play(data: Data, sessions: Vec<Vec<Value>>, played: &mut Played) {
    let figure = Figure::begin(data, data.lines(), "archive", BUDGET).await;
    let agent = &figure.wren.agent;
    // A model reads the pairs of similar memories.
    let pairs = [(Field::NearDuplicates, None)];
    agent.settings().configure(&pairs, &person()).await.unwrap();
    for calls in &sessions {
        figure.wren.clock.advance(WEEK);
        let (session, _) = agent.open_own(Mode::Full).await.unwrap();
        let complete = json!({"tool": "complete_refinement", "arguments": {"summary": "Done."}});
        // If the calls end without it, the session is over as well.
        for call in calls.iter().chain([&complete]) {
            let tool = call["tool"].as_str().unwrap();
            let result = agent
                .call_tool(session.id, tool, Some(&call["arguments"]))
                .await;
            let result = serde_json::to_value(result.unwrap()).unwrap();
            let code = result["code"].as_str().unwrap_or_default();
            match result["type"].as_str().unwrap() {
                "error" if code == "session_over" && call == &complete => {}
                "error" => {
                    println!("{}: {tool} {} {result}", data.as_str(), call["arguments"]);
                    *played.refused.entry(code.to_owned()).or_default() += 1;
                }
                "refinement_rolled_back" => panic!("{}: {result}", data.as_str()),
                _ => played.edits += u32::from(EDITS.contains(&tool)),
            }
        }
        played.sessions += 1;
    }
    let verified = agent.log().verify().await.unwrap();
    assert!(verified.valid, "{:?}", verified.first_bad);
    assert_eq!(verified.originals.unwrap().lost, 0);
    println!("{}: {} tokens", data.as_str(), figure.core_tokens().await);
    if std::env::var("CAREFUL").is_ok_and(|value| value == "prompt") {
        let (_, opened) = agent.open_own(Mode::Full).await.unwrap();
        println!("{}\n{}", data.as_str(), opened.prompt.text().expose());
    }
}

/// Plays all calls of the file.
pub async fn played() -> Played {
    let file = file();
    let mut played = Played::default();
    for data in [Data::Companion, Data::Coder, Data::Steward] {
        play(data, sessions_of(&file, data), &mut played).await;
    }
    played
}

#[tokio::test]
async fn spec_3_14_a_careful_model_is_refused_at_most_every_second_edit() {
    let played = played().await;
    let (edits, refusals) = (played.edits, played.refusals());
    println!(
        "{} sessions, {edits} edits, {refusals} refusals: {:?}",
        played.sessions, played.refused
    );
    assert!(edits > 0 && 2 * refusals <= edits, "{refusals} of {edits}");
}
