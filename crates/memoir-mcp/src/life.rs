//! The tools for what happens between sessions: conversations to read, and the journal (SPEC 2.5, 2.6).

use memoir_app::{AgentHandle, HandedMessage, Result};
use memoir_domain::{PrivateText, Timestamp, memory::Invalid};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{arguments::Arguments, tools::shown};

/// Most messages of one call.
const MESSAGES_LIMIT: usize = 10_000;

/// One message as it is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    id: PrivateText,
    at: Option<Timestamp>,
    speaker: PrivateText,
    text: PrivateText,
}

/// The JSON schema of `messages`.
pub(crate) fn messages_schema() -> Value {
    let plain = json!({"type": "string"});
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"id": plain, "at": plain, "speaker": plain, "text": plain},
            "required": ["id", "speaker", "text"],
        },
    })
}

/// Takes messages to be read.
pub(crate) async fn absorb(agent: &AgentHandle, arguments: &Value) -> Result<Value> {
    let given = Arguments::of(arguments, &["messages", "now"])?;
    let now = given.flag("now")?;
    let Some(Value::Array(items)) = arguments.get("messages") else {
        return Err(Invalid::new("messages", "must be a list of messages").into());
    };
    if items.len() > MESSAGES_LIMIT {
        let problem = format!(
            "has {}, and the limit is {MESSAGES_LIMIT}; hand them over in parts",
            items.len()
        );
        return Err(Invalid::new("messages", problem).into());
    }
    let messages = items.iter().enumerate().map(|(place, item)| {
        let message = Message::deserialize(item).map_err(|_| {
            // Not what the parser says: it may quote what was said.
            let problem = format!(
                "has one, number {}, that is not of the form of a message",
                place + 1
            );
            Invalid::new("messages", problem)
        })?;
        Ok(HandedMessage {
            id: message.id,
            at: message.at,
            speaker: message.speaker,
            text: message.text,
        })
    });
    let messages = messages.collect::<Result<Vec<_>, Invalid>>()?;
    let handed = agent.hand_over(messages, now).await?;
    Ok(json!({"type": "transcript_received", "received": handed.received, "known": handed.known}))
}

/// Lets the agent's model look at its journal.
pub(crate) async fn reflect(agent: &AgentHandle, arguments: &Value) -> Result<Value> {
    Arguments::of(arguments, &[])?;
    let mut answer = shown(&agent.reflect().await?)?;
    answer["type"] = "reflected".into();
    Ok(answer)
}
