//! Messages in the contract's format: `{"id"?, "at"?, "speaker", "text"}`, and those that models take:
//! `{"role", "content"}`.

use memoir_domain::Timestamp;

use crate::{
    NoMessageReason,
    claude_code::content_of,
    gather::{self, FoundMessage, string},
    raw::Raw,
};

/// Reads one message. Identifiers may be numbers.
pub(crate) fn read(raw: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let [id, at, speaker, text, role] = raw.fields(["id", "at", "speaker", "text", "role"])?;
    // `null` is none; another value that is no identifier is a mistake, which is reported.
    let id = id.filter(|id| !id.is_null());
    let id = id
        .map(|id| id.id().ok_or(NoMessageReason::InvalidField("id")))
        .transpose()?;
    let at = at.filter(|at| !at.is_null());
    let at = at.map(time).transpose()?;
    if let (None, None, Some(role)) = (speaker, text, role) {
        return of_model(raw, role, id, at);
    }
    Ok(FoundMessage {
        id,
        at,
        speaker: string(speaker, "speaker")?,
        text: string(text, "text")?,
        left_out: 0,
    })
}

fn time(at: Raw<'_>) -> Result<Timestamp, NoMessageReason> {
    let text = string(Some(at), "at")?;
    text.parse()
        .map_err(|_| NoMessageReason::InvalidField("at"))
}

/// A message as models take it: a text, or a list of blocks.
fn of_model(
    raw: Raw<'_>,
    role: Raw<'_>,
    id: Option<String>,
    at: Option<Timestamp>,
) -> Result<FoundMessage, NoMessageReason> {
    let names = ["content", "tool_calls", "timestamp", "created_at"];
    let [content, calls, timestamp, created] = raw.fields(names)?;
    let role = string(Some(role), "role")?;
    match role.as_str() {
        "tool" | "function" => return Err(NoMessageReason::Tool),
        "system" | "developer" => return Err(NoMessageReason::System),
        _ => {}
    }
    // A turn of calls alone has no text.
    let is_null = content.is_none_or(Raw::is_null);
    if is_null && calls.is_some_and(|calls| !calls.is_null()) {
        return Err(NoMessageReason::Tool);
    }
    let blocks = content_of(content, "content")?;
    if blocks.text.is_empty() {
        return Err(blocks.other.unwrap_or(NoMessageReason::Empty));
    }
    Ok(FoundMessage {
        id,
        at: at.or_else(|| gather::time(timestamp).or(gather::time(created))),
        speaker: role,
        text: blocks.text,
        left_out: blocks.left_out,
    })
}
