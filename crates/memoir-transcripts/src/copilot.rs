//! Session files of GitHub Copilot CLI (`events.jsonl`): JSON lines, of which the events `user.message` and
//! `assistant.message` hold what was said. What is put beside a prompt stands in another field than what was typed.

use crate::{
    NoMessageReason,
    gather::{FoundMessage, optional, string, time},
    raw::Raw,
};

/// One line: what was said.
pub(crate) fn read(line: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let [kind, id, at, data, helper] =
        line.fields(["type", "id", "timestamp", "data", "agentId"])?;
    let kind = string(kind, "type")?;
    let speaker = match kind.as_str() {
        "user.message" => "user",
        "assistant.message" => "assistant",
        "assistant.reasoning" => return Err(NoMessageReason::Thinking),
        kind if kind.starts_with("tool.") => return Err(NoMessageReason::Tool),
        kind if kind.starts_with("system.") => return Err(NoMessageReason::System),
        _ => return Err(NoMessageReason::Bookkeeping),
    };
    let data = data.ok_or(NoMessageReason::MissingField("data"))?;
    let [content, source, call] = data.fields(["content", "source", "parentToolCallId"])?;
    if !optional(helper).is_empty() || !optional(call).is_empty() {
        return Err(NoMessageReason::Sidechain);
    }
    // Programs put prompts into the user's place, too, and say so here.
    if !matches!(optional(source).as_str(), "" | "user") {
        return Err(NoMessageReason::Hidden);
    }
    Ok(FoundMessage {
        id: id.and_then(Raw::id),
        at: time(at),
        speaker: speaker.to_owned(),
        text: string(content, "content")?,
        left_out: 0,
    })
}
