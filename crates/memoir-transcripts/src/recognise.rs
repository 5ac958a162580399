//! Recognises the format of a file by its first bytes.

use crate::{
    Error, FilePosition, TranscriptFormat,
    kind::{is_no_text, kind_of},
    raw::{first_keys, first_keys_of_elements, skip_space},
};

/// The layout of the pieces in a file.
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
///
/// # Errors
/// The format cannot be recognised, or the file cannot be in the given format.
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

/// The beginning of a file.
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
    use super::*;

    #[test]
    fn formats_are_recognised_by_their_first_keys() {
        for (head, expected) in [
            ("", Some((TranscriptFormat::Text, FileLayout::Text))),
            (
                "Ann: hello",
                Some((TranscriptFormat::Text, FileLayout::Text)),
            ),
            (
                "[2026-03-01 10:00] Ann: hello",
                Some((TranscriptFormat::Text, FileLayout::Text)),
            ),
            (
                "{ so it went }",
                Some((TranscriptFormat::Text, FileLayout::Text)),
            ),
            (
                " [\n]",
                Some((TranscriptFormat::Messages, FileLayout::Array)),
            ),
            (
                r#"{"messages": [{"id""#,
                Some((TranscriptFormat::Messages, FileLayout::Object)),
            ),
            (
                r#"[{"id": "1", "at": null, "speaker": "#,
                Some((TranscriptFormat::Messages, FileLayout::Array)),
            ),
            (
                r#"{"speaker": "Ann", "text": "hi"}"#,
                Some((TranscriptFormat::Messages, FileLayout::Lines)),
            ),
            (
                r#"[{"title": "a", "mapping": {"x": "#,
                Some((TranscriptFormat::ChatGpt, FileLayout::Array)),
            ),
            (
                r#"{"mapping": {}}"#,
                Some((TranscriptFormat::ChatGpt, FileLayout::Values)),
            ),
            (
                r#"[{"uuid": "a", "chat_messages": ["#,
                Some((TranscriptFormat::Claude, FileLayout::Array)),
            ),
            (
                r#"{"type":"summary","summary":"x"}"#,
                Some((TranscriptFormat::ClaudeCode, FileLayout::Lines)),
            ),
            (
                r#"{"parentUuid":null,"message":{"content":"{\"mapping\":1}"#,
                Some((TranscriptFormat::ClaudeCode, FileLayout::Lines)),
            ),
            (
                r#"{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"#,
                Some((TranscriptFormat::Codex, FileLayout::Lines)),
            ),
            (
                r#"{"type":"session.start","data":{"sessionId":"#,
                Some((TranscriptFormat::Copilot, FileLayout::Lines)),
            ),
            (
                r#"{"parentUuid":"a","type":"progress","data":{"#,
                Some((TranscriptFormat::ClaudeCode, FileLayout::Lines)),
            ),
            (
                r#"{"sessionId":"a","projectHash":"b","#,
                Some((TranscriptFormat::Gemini, FileLayout::Lines)),
            ),
            (
                "[1, 2] Ann: hello",
                Some((TranscriptFormat::Text, FileLayout::Text)),
            ),
            (
                r#"[null, {"a": 1}, {"chat_messages": [], "#,
                Some((TranscriptFormat::Claude, FileLayout::Array)),
            ),
            (
                r#"[{"role": "user", "content": "Hello."}]"#,
                Some((TranscriptFormat::Messages, FileLayout::Array)),
            ),
            (
                r#"{"role": "user", "content": [{"type": "text""#,
                Some((TranscriptFormat::Messages, FileLayout::Lines)),
            ),
            (r#"{"content": "Likes tea.", "tags": []}"#, None),
            ("{}", None),
            (r#"[{"a": 1}]"#, None),
            (r#"{"conversations": []}"#, None),
        ] {
            assert_eq!(recognise(head.as_bytes(), None).ok(), expected, "{head}");
        }
    }

    #[test]
    fn a_form_that_is_given_is_held_to() {
        let layout =
            |head: &str, format| recognise(head.as_bytes(), Some(format)).map(|(_, layout)| layout);
        assert_eq!(layout("[{}]", TranscriptFormat::Text), Ok(FileLayout::Text));
        assert_eq!(
            layout("[{}]", TranscriptFormat::Claude),
            Ok(FileLayout::Array)
        );
        assert_eq!(
            layout(" [", TranscriptFormat::Claude),
            Ok(FileLayout::Array)
        );
        assert_eq!(
            layout("{", TranscriptFormat::ChatGpt),
            Ok(FileLayout::Values)
        );
        assert_eq!(
            layout("hello", TranscriptFormat::Claude),
            Err(Error::OtherForm(TranscriptFormat::Claude))
        );
        assert_eq!(
            layout("[]", TranscriptFormat::ClaudeCode),
            Err(Error::OtherForm(TranscriptFormat::ClaudeCode))
        );
        assert_eq!(
            layout("half a line", TranscriptFormat::ClaudeCode),
            Ok(FileLayout::Lines)
        );
    }
}
