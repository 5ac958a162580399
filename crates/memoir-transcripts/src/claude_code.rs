//! Session files of Claude Code: JSON lines. Those of the types `user` and `assistant` hold a message, and those of the
//! type `attachment` may hold text that the user typed while the assistant worked.
//!
//! Each line is a message of its own, also where several lines are parts of one response (they have one `message.id`,
//! each its own `uuid`). All branches are returned, in their written order. Parallel tool calls, summaries and
//! concurrent programs break links or create branches, so that a path would lose messages. Messages between the
//! assistant and its helpers (`isSidechain`) are reported, and so are the program's own.

use crate::{
    NoMessageReason,
    claude::Blocks,
    gather::{FoundMessage, needed, optional, string, time},
    raw::Raw,
};

/// The beginnings of user lines that the user did not write: commands and their output, notices of tasks and of other
/// sessions, and the user's interruption.
const NOT_SAID: [(&str, NoMessageReason); 12] = [
    ("<command-name>", NoMessageReason::Tool),
    ("<command-message>", NoMessageReason::Tool),
    ("<local-command-", NoMessageReason::Tool),
    ("<bash-input>", NoMessageReason::Tool),
    ("<bash-stdout>", NoMessageReason::Tool),
    ("<bash-stderr>", NoMessageReason::Tool),
    ("<task-notification>", NoMessageReason::Tool),
    ("<cross-session-message", NoMessageReason::Sidechain),
    ("<teammate-message", NoMessageReason::Sidechain),
    (
        "Another Claude session sent a message:",
        NoMessageReason::Sidechain,
    ),
    ("<system-reminder>", NoMessageReason::System),
    ("[Request interrupted by user", NoMessageReason::System),
];

pub(crate) fn read(line: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let fields = ["type", "uuid", "timestamp", "message", "attachment"];
    let [kind, id, at, message, attachment] = line.fields(fields)?;
    let kind = string(kind, "type")?;
    let blocks = match kind.as_str() {
        "user" | "assistant" => {
            shown(line)?;
            let [content, model] = needed(message, "message")?.fields(["content", "model"])?;
            // The program writes these itself, in the assistant's name.
            if optional(model) == "<synthetic>" {
                return Err(NoMessageReason::System);
            }
            content_of(content, "content")?
        }
        "attachment" => {
            shown(line)?;
            queued(attachment)?
        }
        "system" => return Err(NoMessageReason::System),
        _ => return Err(NoMessageReason::Bookkeeping),
    };
    if blocks.text.is_empty() {
        return Err(blocks.other.unwrap_or(NoMessageReason::Empty));
    }
    // An attachment was typed by the user.
    let is_users = kind != "assistant";
    let not_said = NOT_SAID
        .iter()
        // Only at the beginning: a user may quote such marks.
        .find(|(begin, _)| is_users && blocks.text.starts_with(begin));
    if let Some((_, reason)) = not_said {
        return Err(*reason);
    }
    Ok(FoundMessage {
        id: id.and_then(Raw::id),
        at: time(at),
        speaker: if is_users { "user" } else { "assistant" }.to_owned(),
        text: blocks.text,
        left_out: blocks.left_out,
    })
}

/// What a line with these flags was, where the user and the assistant did not see it. The first one that is set counts.
const FLAGS: [(&str, NoMessageReason); 5] = [
    ("isSidechain", NoMessageReason::Sidechain),
    ("isCompactSummary", NoMessageReason::Bookkeeping),
    ("isMeta", NoMessageReason::Hidden),
    ("isVisibleInTranscriptOnly", NoMessageReason::Hidden),
    ("isApiErrorMessage", NoMessageReason::System),
];

/// Whether the line was visible to the user and the assistant.
fn shown(line: Raw<'_>) -> Result<(), NoMessageReason> {
    let flags = line.fields(FLAGS.map(|(name, _)| name))?;
    let mut flags = FLAGS.iter().zip(flags);
    let set = flags.find(|(_, flag)| flag.is_some_and(Raw::is_true));
    set.map_or(Ok(()), |((_, reason), _)| Err(*reason))
}

/// The content of a message: a text, or a list of blocks.
pub(crate) fn content_of(
    content: Option<Raw<'_>>,
    name: &'static str,
) -> Result<Blocks, NoMessageReason> {
    match content {
        Some(list) if list.is_array() => Blocks::read(list),
        _ => Ok(Blocks {
            text: string(content, name)?.trim().to_owned(),
            ..Blocks::default()
        }),
    }
}

/// Text that the user typed while the assistant worked.
fn queued(attachment: Option<Raw<'_>>) -> Result<Blocks, NoMessageReason> {
    let attachment = needed(attachment, "attachment")?;
    let [kind, mode, prompt] = attachment.fields(["type", "commandMode", "prompt"])?;
    let mode = optional(mode);
    if optional(kind) != "queued_command" || !(mode.is_empty() || mode == "prompt") {
        return Err(NoMessageReason::Bookkeeping);
    }
    content_of(prompt, "prompt")
}
