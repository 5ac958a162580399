//! The text for a model: the context with pending notices, and the memories for one prompt.

use std::fmt::Write;

use memoir_domain::{context::NOTE, quote::quote};

use super::reached::{HookContext, HookMemory, Waiting};
use crate::{failure::Failure, show::counted};

/// How many memories are considered for a prompt.
pub(super) const CONSIDERED: usize = 30;
/// How many of them are shown at most.
const SHOWN: usize = 5;
/// Most characters of all that are shown for one prompt.
const SHOWN_CHARACTERS: u64 = 3_000;

/// The notice at a session's start where the memory cannot be read because it was modified outside Memoir.
pub(super) const TAMPERED: &str = "Memoir: your long-term memory cannot be read. Its database was modified outside \
    Memoir, and memories may be missing. This is not an empty memory. Inform the person who runs you: `memoir audit \
    verify --all` names what does not fit, and a backup may have it.";

/// The context, and a line for each pending item of the agent.
pub(super) fn start(context: &HookContext, waiting: &Waiting) -> String {
    let mut text = context.text.expose().trim_end().to_owned();
    let lines = waiting_lines(context, waiting);
    if !lines.is_empty() {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("## Waiting for you in Memoir\n");
        for line in lines {
            let _ = write!(text, "\n- {line}");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The notice to a session whose memory is closed.
pub(super) fn closed(problem: &str) -> String {
    format!("Memoir gives this session no memory: {problem}. Inform the user.\n")
}

fn waiting_lines(context: &HookContext, waiting: &Waiting) -> Vec<String> {
    let mut lines = Vec::new();
    if waiting.requests > 0 {
        let requests = counted(waiting.requests, "request", "requests");
        lines.push(format!(
            "{requests} for access to your memory: `view_config` or `get_context` shows who asks and why, and \
             `answer_access_request` answers. You are free to say no."
        ));
    }
    if let Some(session) = &waiting.rehearsal {
        lines.push(format!(
            "The refinement session {session} was a rehearsal, and nothing of it is done: `memoir session {session}` \
             shows what it came to, and `memoir apply {session}` does it."
        ));
    }
    if context.refinement_due.is_some() {
        lines.push(
            "A refinement session is due: `open_refinement` opens it, when there is time for it. Finishing with no \
             edits is a good outcome."
                .to_owned(),
        );
    }
    for agent in &waiting.offered {
        lines.push(format!(
            "This project is new here, and the folder of the agent `{agent}` is gone. If it is this one, moved or \
             renamed, `memoir project adopt {agent}` in this folder takes its memory over. Ask the user first."
        ));
    }
    if waiting.messages > 0 {
        let messages = counted(waiting.messages, "message waits", "messages wait");
        lines.push(format!(
            "{messages} of earlier sessions, and no model is configured that would read: `read_messages` shows them \
             to you, and takes what is worth keeping. Read them when there is time for it."
        ));
    }
    lines
}

/// The best memories that fit.
pub(super) fn choose(found: impl Iterator<Item = HookMemory>) -> Vec<HookMemory> {
    let mut room = SHOWN_CHARACTERS;
    found
        // A memory that does not fit is omitted, and a shorter one after it may still fit.
        .filter(|memory| {
            let length = memory.content.chars() as u64;
            let fits = length <= room;
            room -= if fits { length } else { 0 };
            fits
        })
        .take(SHOWN)
        .collect()
}

/// Each on a line of its own, quoted, so that none can imitate another (SPEC 3.6).
pub(super) fn prompt(memories: &[HookMemory]) -> String {
    let mut text = format!("From your memory, since it may bear on this prompt. {NOTE}\n");
    for memory in memories {
        let origin = match memory.origin.as_str() {
            "agent" => String::new(),
            origin => format!(", origin {origin}"),
        };
        let summary = if memory.is_summary { ", summary" } else { "" };
        let replaced = match (memory.until, memory.now) {
            (Some(until), Some(now)) => format!(", until {}, now #{now}", until.date()),
            _ => String::new(),
        };
        let _ = write!(
            text,
            "\n- #{} ({} of {}{origin}{summary}{replaced}): {}",
            memory.number,
            memory.kind,
            memory.created_at.date(),
            quote(memory.content.expose())
        );
    }
    text.push('\n');
    text
}

/// The file that Goose reads for its model.
const HINTS: &str = "goose/.goosehints";
// These comments of Markdown, which are not rendered, mark the part that belongs to Memoir.
const BEGIN: &str = "<!-- memoir: begin -->";
const END: &str = "<!-- memoir: end -->";

/// Writes the text into the file that Goose reads when a session begins, replacing the previous one; an empty text
/// removes it.
///
/// # Errors
/// The file cannot be read or written.
pub(super) fn write_hints(text: &str) -> Result<(), Failure> {
    use etcetera::BaseStrategy;
    let directories = etcetera::choose_base_strategy().map_err(|error| {
        Failure::new(format!("the configuration directory is not known: {error}"))
    })?;
    let path = directories.config_dir().join(HINTS);
    let problem = |error| Failure::file("write", &path, &error);
    let before = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.map_err(problem)?,
    };
    let mut after = without_hints(&before);
    if !text.is_empty() {
        if !after.is_empty() && !after.ends_with('\n') {
            after.push('\n');
        }
        let _ = write!(after, "{BEGIN}\n{text}{END}\n");
    }
    if after == before {
        return Ok(());
    }
    crate::private_file::write(&path, after.as_bytes()).map_err(problem)
}

/// The file's text without Memoir's part.
pub(crate) fn without_hints(text: &str) -> String {
    let part = text.find(BEGIN).and_then(|begin| {
        // The last mark: a memory may contain such a mark, and the text after it would remain in the file.
        let end = begin + text[begin..].rfind(END)? + END.len();
        Some((begin, end))
    });
    match part {
        Some((begin, end)) => {
            let rest = &text[end..];
            format!(
                "{}{}",
                &text[..begin],
                rest.strip_prefix('\n').unwrap_or(rest)
            )
        }
        None => text.to_owned(),
    }
}
