//! Session files of Gemini CLI (`session-*.jsonl`): JSON lines, of which those of the types `user` and `gemini` hold a
//! message. A message is written again after its tool calls, under the same identifier. A hook's additions are in the
//! prompt, between marks.
//!
//! A return to an earlier prompt is a line of its own behind the messages: all messages are read.

use crate::{
    NoMessageReason,
    gather::{FoundMessage, needed, optional, string, time},
    raw::Raw,
};

/// The marks around a hook's text.
const HOOK: (&str, &str) = ("<hook_context>", "</hook_context>");
/// The program's first message to the model, in the user's name.
const FIRST: &str = "<session_context>";

pub(crate) fn read(line: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let [kind, id, at, content] = line.fields(["type", "id", "timestamp", "content"])?;
    let speaker = match optional(kind).as_str() {
        "user" => "user",
        "gemini" => "assistant",
        // The session's own data, and its changes.
        "" => return Err(NoMessageReason::Bookkeeping),
        _ => return Err(NoMessageReason::System),
    };
    let content = needed(content, "content")?;
    let (text, left_out) = match content.is_array() {
        true => parts(content)?,
        false => (string(Some(content), "content")?, 0),
    };
    if text.starts_with(FIRST) {
        return Err(NoMessageReason::System);
    }
    Ok(FoundMessage {
        id: id.and_then(Raw::id),
        at: time(at),
        speaker: speaker.to_owned(),
        text: without_hooks(&text),
        left_out,
    })
}

/// The texts, and the number of other parts.
fn parts(content: Raw<'_>) -> Result<(String, u32), NoMessageReason> {
    let (mut texts, mut left_out, mut answers) = (Vec::new(), 0, 0);
    for part in content.elements()? {
        let [text, thought, answer] = part?.fields(["text", "thought", "functionResponse"])?;
        match text {
            Some(text) if !thought.is_some_and(Raw::is_true) => {
                texts.push(string(Some(text), "text")?);
            }
            _ => left_out += 1,
        }
        answers += u32::from(answer.is_some());
    }
    // A tool's result is in the user's name.
    match texts.is_empty() && answers > 0 {
        true => Err(NoMessageReason::Tool),
        false => Ok((texts.join("\n"), left_out)),
    }
}

fn without_hooks(text: &str) -> String {
    let (begin, end) = HOOK;
    let mut said = String::new();
    let mut rest = text;
    while let Some((before, hooks)) = rest.split_once(begin) {
        said.push_str(before);
        // Without an end the hook's text is unlimited: text that may be a program's is left out.
        rest = hooks.split_once(end).map_or("", |(_, after)| after);
    }
    said + rest
}
