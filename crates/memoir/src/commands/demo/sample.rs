//! The sample agent that is shipped with the program.

use memoir_app::{Account, AgentHandle, Memoir, MemoryInput};
use memoir_domain::{Timestamp, agent::Field, audit::Actor};
use serde_json::{Map, Value};

use crate::failure::Failure;

const NAME: &str = "wren";
const SYSTEM_PROMPT: &str = include_str!("../../../demo/system-prompt.md");
const MEMORIES: &str = include_str!("../../../demo/memories.jsonl");
/// Needs no network.
const MODEL: &str = "builtin:careful";
const SECONDS_PER_DAY: f64 = 86_400.0;

/// A line of the sample: as one of `memoir import`, with its age in days in the place of its date.
fn input(line: &str, now: Timestamp) -> serde_json::Result<MemoryInput> {
    let mut line: Map<String, Value> = serde_json::from_str(line)?;
    let days_ago = line.remove("days_ago").and_then(|days| days.as_f64());
    let seconds = (days_ago.unwrap_or_default() * SECONDS_PER_DAY) as i64;
    let memory: MemoryInput = serde_json::from_value(Value::Object(line))?;
    Ok(MemoryInput {
        created_at: Some(now.plus_seconds(-seconds)),
        ..memory
    })
}

pub(super) async fn make(memoir: &Memoir, account: &Account) -> Result<AgentHandle, Failure> {
    let settings = [
        (Field::SystemPrompt, Some(SYSTEM_PROMPT)),
        (Field::Model, Some(MODEL)),
    ];
    let owner = Actor::owner();
    account.create_agent(NAME, &settings, &owner).await?;
    let agent = account.agent(NAME).await?;
    let now = memoir.now();
    let inputs: serde_json::Result<Vec<_>> =
        MEMORIES.lines().map(|line| input(line, now)).collect();
    let inputs = inputs
        .map_err(|error| Failure::new(format!("the sample agent cannot be read: {error}")))?;
    agent.memories().save(&inputs, &owner).await?;
    Ok(agent)
}
