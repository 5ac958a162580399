//! Recognises the format of a file by its first bytes.

use crate::{
    Error, TranscriptFormat,
    kind::{is_no_text, kind_of},
    raw::{first_keys, first_keys_of_elements, skip_space},
    transcript::FileLayout,
};

/// The format of a file that begins with `head`, unless it is given, and where its pieces are.
pub(crate) fn recognise(
    head: &[u8],
    format: Option<TranscriptFormat>,
) -> Result<(TranscriptFormat, FileLayout), Error> {
    use TranscriptFormat::{
        ChatGpt, Claude, ClaudeCode, Codex, Copilot, Gemini, GeminiTakeout, Messages, Text,
    };
    let begin = Begin::read(head);
    let format = match format {
        Some(format) => format,
        // First, since any other file would be recognised as plain text below.
        None if is_no_text(head) => return Err(Error::Unrecognised(kind_of(head))),
        None => begin
            .format()
            .ok_or_else(|| Error::Unrecognised(kind_of(head)))?,
    };
    let layout = match (format, begin) {
        (Text, _) => FileLayout::Text,
        (ChatGpt | Claude | GeminiTakeout | Messages, Begin::Array(_)) => FileLayout::Array,
        (Messages, Begin::Object(keys)) if keys.contains(&b"messages".as_slice()) => {
            FileLayout::Object
        }
        // An empty file of a given format is empty; it is not of another format.
        (ChatGpt | Claude | GeminiTakeout, Begin::Object(_) | Begin::Nothing) => FileLayout::Value,
        (Messages, _) => FileLayout::Line,
        (
            ClaudeCode | Codex | Copilot | Gemini,
            Begin::Object(_) | Begin::Nothing | Begin::Other,
        ) => FileLayout::Line,
        _ => return Err(Error::OtherForm(format)),
    };
    Ok((format, layout))
}

/// The format of the conversation that begins like this, where its fields show it.
pub fn form_of(head: &[u8]) -> Option<TranscriptFormat> {
    Begin::read(head)
        .format()
        .filter(|format| *format != TranscriptFormat::Text)
}

enum Begin<'a> {
    Nothing,
    /// An object, with its first keys.
    Object(Vec<&'a [u8]>),
    /// A possible array, with the first keys of its objects; `None` where there is none.
    Array(Option<Vec<&'a [u8]>>),
    Other,
}

impl<'a> Begin<'a> {
    fn read(head: &'a [u8]) -> Self {
        let head = skip_space(head);
        match head {
            [] => Self::Nothing,
            // Plain text may begin with a bracket: the byte behind it decides.
            [b'{', rest @ ..] if matches!(skip_space(rest).first(), None | Some(b'"' | b'}')) => {
                Self::Object(first_keys(head))
            }
            [b'[', rest @ ..] if skip_space(rest).first() == Some(&b']') => {
                Self::Array(Some(Vec::new()))
            }
            [b'[', ..] => Self::Array(first_keys_of_elements(head)),
            _ => Self::Other,
        }
    }

    fn format(&self) -> Option<TranscriptFormat> {
        let (keys, is_array) = match self {
            // `[2026-03-01 10:00] Ann: …` begins like an array, and holds no object.
            Self::Nothing | Self::Other | Self::Array(None) => return Some(TranscriptFormat::Text),
            // An empty export: it holds nothing in any format.
            Self::Array(Some(keys)) if keys.is_empty() => return Some(TranscriptFormat::Messages),
            Self::Array(Some(keys)) => (keys, true),
            Self::Object(keys) => (keys, false),
        };
        // From the fields of one program alone to common ones; the first match counts.
        let has = |names: &[&str]| names.iter().any(|name| keys.contains(&name.as_bytes()));
        if has(&["mapping", "current_node"]) {
            Some(TranscriptFormat::ChatGpt)
        } else if has(&["chat_messages"]) {
            Some(TranscriptFormat::Claude)
        } else if has(&["header"]) && has(&["title"]) && has(&["products"]) {
            Some(TranscriptFormat::GeminiTakeout)
        } else if !is_array && has(&["payload"]) {
            Some(TranscriptFormat::Codex)
        } else if !is_array && has(&["projectHash"]) && !has(&["messages"]) {
            Some(TranscriptFormat::Gemini)
        } else if !is_array
            && has(&["type"])
            && has(&["data"])
            && !has(&["parentUuid", "sessionId"])
        {
            Some(TranscriptFormat::Copilot)
        } else if !is_array && has(&["type", "parentUuid", "sessionId"]) {
            Some(TranscriptFormat::ClaudeCode)
        } else if has(&["speaker", "text"])
            || has(&["role"]) && has(&["content"])
            || !is_array && has(&["messages"])
        {
            Some(TranscriptFormat::Messages)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FileLayout::{Array, Line, Object, Value},
        TranscriptFormat::*,
        *,
    };

    const TEXT: FileLayout = FileLayout::Text;

    /// The beginnings of each program's files are among the fixtures.
    #[test]
    fn formats_are_recognised_by_their_first_keys() {
        for (format, layout, head) in [
            (Text, TEXT, ""),
            (Text, TEXT, "Ann: hello"),
            (Text, TEXT, "[2026-03-01 10:00] Ann: hello"),
            (Text, TEXT, "{ so it went }"),
            (Text, TEXT, "[1, 2] Ann: hello"),
            (Messages, Array, " [\n]"),
            (Messages, Array, r#"[{"id": "1", "at": null, "speaker": "#),
            (
                Messages,
                Array,
                r#"[{"role": "user", "content": "Hello."}]"#,
            ),
            (Messages, Object, r#"{"messages": [{"id""#),
            (
                Messages,
                Line,
                r#"{"role": "user", "content": [{"type": "text""#,
            ),
            (ChatGpt, Value, r#"{"mapping": {}}"#),
            (Claude, Array, r#"[null, {"a": 1}, {"chat_messages": [], "#),
            (
                ClaudeCode,
                Line,
                r#"{"parentUuid":null,"message":{"content":"{\"mapping\":1}"#,
            ),
            (
                ClaudeCode,
                Line,
                r#"{"parentUuid":"a","type":"progress","data":{"#,
            ),
        ] {
            let found = recognise(head.as_bytes(), None);
            assert_eq!(found, Ok((format, layout)), "{head}");
        }
        for head in [
            r#"{"content": "Likes tea.", "tags": []}"#,
            "{}",
            r#"[{"a": 1}]"#,
            r#"{"conversations": []}"#,
        ] {
            assert!(recognise(head.as_bytes(), None).is_err(), "{head}");
        }
    }

    #[test]
    fn a_form_that_is_given_is_held_to() {
        for (head, format, layout) in [
            ("[{}]", Text, Some(TEXT)),
            ("[{}]", Claude, Some(Array)),
            (" [", Claude, Some(Array)),
            ("{", ChatGpt, Some(Value)),
            ("hello", Claude, None),
            ("[]", ClaudeCode, None),
            ("half a line", ClaudeCode, Some(Line)),
        ] {
            let expected = layout.map(|layout| (format, layout));
            let found = recognise(head.as_bytes(), Some(format));
            assert_eq!(found, expected.ok_or(Error::OtherForm(format)), "{head}");
        }
    }
}
