//! Session files of Codex CLI (`rollout-*.jsonl`): JSON lines. The visible messages are in the events `user_message`
//! and `agent_message`, in later versions in `item_completed` with such an item. Everything else was sent to the model
//! or written for the program.
//!
//! The file has no identifiers of messages. Time, speaker and text identify a message, so that a partial reading gives
//! the same identifiers, and two messages of one millisecond differ.

use crate::{
    NoMessageReason,
    gather::{FoundMessage, identifier_of, needed, optional, string, time},
    raw::Raw,
};

pub(crate) fn read(line: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let [kind, at, payload] = line.fields(["type", "timestamp", "payload"])?;
    match string(kind, "type")?.as_str() {
        "event_msg" => {}
        // The model's input repeats the events, with the program's additions.
        "response_item" => return Err(NoMessageReason::System),
        _ => return Err(NoMessageReason::Bookkeeping),
    }
    let payload = needed(payload, "payload")?;
    let [kind, message, item] = payload.fields(["type", "message", "item"])?;
    let (speaker, text, left_out) = match string(kind, "type")?.as_str() {
        "user_message" => ("user", string(message, "message")?, 0),
        "agent_message" => ("assistant", string(message, "message")?, 0),
        "agent_reasoning" | "agent_reasoning_raw_content" => return Err(NoMessageReason::Thinking),
        "item_completed" => completed(needed(item, "item")?)?,
        _ => return Err(NoMessageReason::Bookkeeping),
    };
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(NoMessageReason::Empty);
    }
    Ok(FoundMessage {
        id: identifier_of(&optional(at), speaker, &text),
        at: time(at),
        speaker: speaker.to_owned(),
        text,
        left_out,
    })
}

/// The speaker of an item, its text, and the number of its other parts.
fn completed(item: Raw<'_>) -> Result<(&'static str, String, u32), NoMessageReason> {
    let [kind, content] = item.fields(["type", "content"])?;
    let speaker = match string(kind, "type")?.as_str() {
        "UserMessage" => "user",
        "AgentMessage" => "assistant",
        "Reasoning" => return Err(NoMessageReason::Thinking),
        _ => return Err(NoMessageReason::Tool),
    };
    let (mut texts, mut left_out) = (Vec::new(), 0);
    for piece in needed(content, "content")?.elements()? {
        let [kind, text] = piece?.fields(["type", "text"])?;
        match optional(kind).eq_ignore_ascii_case("text") {
            true => texts.push(string(text, "text")?),
            false => left_out += 1,
        }
    }
    Ok((speaker, texts.join("\n"), left_out))
}
