//! Session files of Codex CLI (`rollout-*.jsonl`): JSON lines, of which the events `user_message` and
//! `agent_message` hold what the user and the assistant saw of each other. Everything else was sent to the model or
//! written for the program.
//!
//! The file gives messages no identifiers. One is known by when it was said and who said it, so that it is the same
//! from wherever in the file it is read.

use crate::{
    Reason,
    gather::{Said, optional, string, time},
    raw::Raw,
};

/// One line: what was said.
pub(crate) fn read(line: Raw<'_>) -> Result<Said, Reason> {
    let [kind, at, payload] = line.fields(["type", "timestamp", "payload"])?;
    match string(kind, "type")?.as_str() {
        "event_msg" => {}
        "response_item" => return Err(Reason::System),
        _ => return Err(Reason::Bookkeeping),
    }
    let payload = payload.ok_or(Reason::MissingField("payload"))?;
    let [kind, message] = payload.fields(["type", "message"])?;
    let speaker = match string(kind, "type")?.as_str() {
        "user_message" => "user",
        "agent_message" => "assistant",
        "agent_reasoning" | "agent_reasoning_raw_content" => return Err(Reason::Thinking),
        _ => return Err(Reason::Bookkeeping),
    };
    let text = string(message, "message")?.trim().to_owned();
    if text.is_empty() {
        return Err(Reason::Empty);
    }
    let written_at = optional(at);
    Ok(Said {
        id: (!written_at.is_empty()).then(|| format!("{written_at} {speaker}")),
        at: time(at),
        speaker: speaker.to_owned(),
        text,
        left_out: 0,
    })
}
