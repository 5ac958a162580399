//! Session files of Gemini CLI (`session-*.jsonl`): JSON lines, of which those of the types `user` and `gemini` hold
//! a message. A message is written again when its tools have answered, under the identifier that it had. What hooks
//! put beside a prompt stands in the prompt, between marks.
//!
//! Going back to an earlier prompt is a line of its own behind what was said: all that was said is read.

use crate::{
    NoMessageReason,
    gather::{FoundMessage, optional, string, time},
    raw::Raw,
};

/// What stands around the words of a hook.
const HOOK: (&str, &str) = ("<hook_context>", "</hook_context>");
/// What the program tells the model first, in the user's name.
const FIRST: &str = "<session_context>";

/// One line: what was said.
pub(crate) fn read(line: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let [kind, id, at, content] = line.fields(["type", "id", "timestamp", "content"])?;
    let speaker = match optional(kind).as_str() {
        "user" => "user",
        "gemini" => "assistant",
        // Of the session, and what changes of it.
        "" => return Err(NoMessageReason::Bookkeeping),
        _ => return Err(NoMessageReason::System),
    };
    let content = content.ok_or(NoMessageReason::MissingField("content"))?;
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

/// The texts, and how many parts are none.
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
    // What a tool answered comes in the user's name.
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
        // Without an end nothing tells the hook's words from the user's: what may be a program's is left out.
        rest = hooks.split_once(end).map_or("", |(_, after)| after);
    }
    said + rest
}
