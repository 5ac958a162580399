//! The sample agent that is shipped with the program.

use memoir_app::{Account, AgentHandle, Memoir, MemoryInput};
use memoir_domain::{PrivateText, Timestamp, agent::Field, audit::Actor, memory::Kind};
use serde::Deserialize;

use crate::failure::Failure;

const NAME: &str = "wren";
const SYSTEM_PROMPT: &str = include_str!("../../../demo/system-prompt.md");
const MEMORIES: &str = include_str!("../../../demo/memories.jsonl");
/// Needs no network.
const MODEL: &str = "builtin:careful";
const SECONDS_PER_DAY: f64 = 86_400.0;

/// A line of the sample: as one of `memoir import`, with its age in the place of its date.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleLine {
    content: PrivateText,
    kind: Kind,
    #[serde(default)]
    tags: Vec<PrivateText>,
    days_ago: f64,
    #[serde(default)]
    constitutional: bool,
}

impl SampleLine {
    fn input(self, now: Timestamp) -> MemoryInput {
        MemoryInput {
            content: self.content,
            kind: Some(self.kind),
            tags: self.tags,
            created_at: Some(now.plus_seconds(-(self.days_ago * SECONDS_PER_DAY) as i64)),
            constitutional: self.constitutional,
            ..MemoryInput::default()
        }
    }
}

/// Creates the agent with its memories.
pub(super) async fn make(memoir: &Memoir, account: &Account) -> Result<AgentHandle, Failure> {
    let settings = [
        (Field::SystemPrompt, Some(SYSTEM_PROMPT)),
        (Field::Model, Some(MODEL)),
    ];
    account
        .create_agent(NAME, &settings, &Actor::owner())
        .await?;
    let agent = account.agent(NAME).await?;
    agent
        .memories()
        .save(&inputs(memoir.now())?, &Actor::owner())
        .await?;
    Ok(agent)
}

fn inputs(now: Timestamp) -> Result<Vec<MemoryInput>, Failure> {
    MEMORIES
        .lines()
        .map(|line| {
            serde_json::from_str::<SampleLine>(line)
                .map(|line| line.input(now))
                .map_err(|error| Failure::new(format!("the sample agent cannot be read: {error}")))
        })
        .collect()
}
