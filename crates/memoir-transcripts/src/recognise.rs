//! Recognises the format of a file by its first bytes.

use crate::{
    Error, FilePosition, TranscriptFormat,
    kind::{is_no_text, kind_of},
    raw::{first_keys, first_keys_of_elements, skip_space},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileLayout {
    /// Plain text.
    Text,
    /// One value of JSON a line.
    Lines,
    /// One array of pieces.
    Array,
    /// An object with one array of pieces, under `messages`.
    Object,
    /// Each value of JSON is a piece.
    Values,
}

/// The layout of a file that begins with `head`, and its format unless it is given.
pub(crate) fn recognise(
    head: &[u8],
    format: Option<TranscriptFormat>,
) -> Result<(TranscriptFormat, FileLayout), Error> {
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
        (TranscriptFormat::Text, _) => FileLayout::Text,
        (
            TranscriptFormat::ChatGpt | TranscriptFormat::Claude | TranscriptFormat::Messages,
            Begin::Array(_),
        ) => FileLayout::Array,
        (TranscriptFormat::Messages, Begin::Object(keys))
            if keys.contains(&b"messages".as_slice()) =>
        {
            FileLayout::Object
        }
        (
            TranscriptFormat::ChatGpt | TranscriptFormat::Claude,
            // An empty file of a given format is empty; it is not of another format.
            Begin::Object(_) | Begin::Nothing,
        ) => FileLayout::Values,
        (TranscriptFormat::Messages, _) => FileLayout::Lines,
        (
            TranscriptFormat::ClaudeCode
            | TranscriptFormat::Codex
            | TranscriptFormat::Copilot
            | TranscriptFormat::Gemini,
            Begin::Object(_) | Begin::Nothing | Begin::Other,
        ) => FileLayout::Lines,
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

impl FilePosition {
    /// The same position, in the conversation of this number.
    pub(crate) fn within(self, conversation: u64) -> Self {
        Self {
            conversation: Some(conversation),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FileLayout::{Array, Lines, Object, Values},
        TranscriptFormat::*,
        *,
    };

    #[test]
    fn formats_are_recognised_by_their_first_keys() {
        for (format, layout, heads) in [
            (
                Text,
                FileLayout::Text,
                &[
                    "",
                    "Ann: hello",
                    "[2026-03-01 10:00] Ann: hello",
                    "{ so it went }",
                    "[1, 2] Ann: hello",
                ][..],
            ),
            (
                Messages,
                Array,
                &[
                    " [\n]",
                    r#"[{"id": "1", "at": null, "speaker": "#,
                    r#"[{"role": "user", "content": "Hello."}]"#,
                ],
            ),
            (Messages, Object, &[r#"{"messages": [{"id""#]),
            (
                Messages,
                Lines,
                &[
                    r#"{"speaker": "Ann", "text": "hi"}"#,
                    r#"{"role": "user", "content": [{"type": "text""#,
                ],
            ),
            (ChatGpt, Array, &[r#"[{"title": "a", "mapping": {"x": "#]),
            (ChatGpt, Values, &[r#"{"mapping": {}}"#]),
            (
                Claude,
                Array,
                &[
                    r#"[{"uuid": "a", "chat_messages": ["#,
                    r#"[null, {"a": 1}, {"chat_messages": [], "#,
                ],
            ),
            (
                ClaudeCode,
                Lines,
                &[
                    r#"{"type":"summary","summary":"x"}"#,
                    r#"{"parentUuid":null,"message":{"content":"{\"mapping\":1}"#,
                    r#"{"parentUuid":"a","type":"progress","data":{"#,
                ],
            ),
            (
                Codex,
                Lines,
                &[r#"{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"#],
            ),
            (
                Copilot,
                Lines,
                &[r#"{"type":"session.start","data":{"sessionId":"#],
            ),
            (Gemini, Lines, &[r#"{"sessionId":"a","projectHash":"b","#]),
        ] {
            for head in heads {
                let found = recognise(head.as_bytes(), None);
                assert_eq!(found, Ok((format, layout)), "{head}");
            }
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
            ("[{}]", Text, Some(FileLayout::Text)),
            ("[{}]", Claude, Some(Array)),
            (" [", Claude, Some(Array)),
            ("{", ChatGpt, Some(Values)),
            ("hello", Claude, None),
            ("[]", ClaudeCode, None),
            ("half a line", ClaudeCode, Some(Lines)),
        ] {
            let expected = layout.map(|layout| (format, layout));
            let found = recognise(head.as_bytes(), Some(format));
            assert_eq!(found, expected.ok_or(Error::OtherForm(format)), "{head}");
        }
    }
}
