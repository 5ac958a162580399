//! Session files of GitHub Copilot CLI (`events.jsonl`): JSON lines. The events `user.message` and `assistant.message`
//! hold the messages. Additions to a prompt are in another field than its typed text.

use crate::{
    NoMessageReason,
    gather::{FoundMessage, needed, optional, string, time},
    raw::Raw,
};

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
    let names = ["content", "source", "parentToolCallId"];
    let [content, source, call] = needed(data, "data")?.fields(names)?;
    if !optional(helper).is_empty() || !optional(call).is_empty() {
        return Err(NoMessageReason::Sidechain);
    }
    // Programs write prompts in the user's name, too, and mark them here.
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
