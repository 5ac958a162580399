//! The event that a program sends: the same few facts under the names that programs give them.

use std::path::{Path, PathBuf};

use memoir_domain::{PrivateText, mend};
use serde_json::{Value, json};

use super::Client;

/// The variable that GitHub Copilot CLI sets for its hooks.
const COPILOT: &str = "COPILOT_CLI";
/// The name of the project's root in the event that a hook passes on.
const PROJECT: &str = "memoir_project";

/// The facts of an event. Empty or invalid input leaves all of them unknown.
#[derive(Debug, Default)]
pub(super) struct Payload {
    /// Whether the input is neither empty nor JSON.
    pub(super) is_invalid: bool,
    pub(super) session: Option<String>,
    pub(super) transcript: Option<PathBuf>,
    pub(super) has_messages: bool,
    /// The folder that the session works in now: it follows the commands of the model.
    pub(super) folder: Option<PathBuf>,
    /// The root of the project whose agent a hook has chosen for the process that it starts.
    pub(super) project: Option<PathBuf>,
    /// The program's own name of the event.
    pub(super) event: Option<String>,
    /// Why a session starts: `startup`, `resume`, `clear`, `compact`, or a program's own word.
    pub(super) source: Option<String>,
    pub(super) prompt: Option<PrivateText>,
    /// The sending program, where the format identifies it.
    pub(super) host: Option<Client>,
}

impl Payload {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let input = mend::json(bytes);
        let read = serde_json::from_str::<Value>(&input);
        let is_invalid = read.is_err() && !input.trim().is_empty();
        let payload = read.unwrap_or_default();
        let text = |names: &[&str]| {
            let mut found = names.iter().filter_map(|name| payload[*name].as_str());
            // An empty name of a program does not hide a filled one.
            found.find(|text| !text.is_empty()).map(str::to_owned)
        };
        let event = text(&["hook_event_name", "hookEventName"]);
        let is_camel_case = payload["sessionId"].is_string();
        let host = match is_camel_case && event.is_some() {
            true => Some(Client::Vscode),
            // A program that is started in its shell has the variable too, and sends no time.
            false => std::env::var_os(COPILOT)
                .filter(|_| !payload["timestamp"].is_null())
                .map(|_| Client::Copilot),
        };
        // Some programs send workspace roots instead of `cwd`.
        let roots = payload["workspace_roots"][0].as_str().map(str::to_owned);
        Self {
            is_invalid,
            session: text(&["session_id", "sessionId", "conversation_id"]),
            transcript: text(&["transcript_path", "transcriptPath"]).map(PathBuf::from),
            has_messages: payload["messages"].is_array(),
            folder: text(&["cwd"]).or(roots).map(PathBuf::from),
            project: text(&[PROJECT]).map(PathBuf::from),
            event,
            source: text(&["source"]),
            prompt: text(&["prompt", "user_prompt", "userPrompt"]).map(PrivateText::from),
            host,
        }
    }

    /// The event for the process that passes messages on, with the first of these names.
    pub(super) fn to_hand_over(&self) -> String {
        json!({
            "session_id": self.session,
            "transcript_path": self.transcript,
            "cwd": self.folder,
            // A path that is not UTF-8 has no project's agent, since the map of projects cannot hold it.
            PROJECT: self.project.as_deref().and_then(Path::to_str),
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use memoir_testkit::Corpus;
    use proptest::prelude::*;

    use super::*;

    static CORPUS: LazyLock<Corpus> =
        LazyLock::new(|| Corpus::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/hooks")));

    #[test]
    fn spec_2_1_an_event_behind_a_byte_order_mark_or_with_half_an_emoji_is_read() {
        for bytes in [
            &b"\xEF\xBB\xBF{\"session_id\": \"s\", \"prompt\": \"Where are they?\"}"[..],
            b"{\"session_id\": \"s\", \"prompt\": \"Where are they \\ud83d?\"}",
            b"{\"session_id\": \"s\", \"prompt\": \"Where are they \xE9?\"}",
        ] {
            let read = Payload::read(bytes);
            assert_eq!(read.session.as_deref(), Some("s"));
            assert!(read.prompt.unwrap().expose().starts_with("Where are they"));
        }
    }

    proptest! {
        /// What is passed to the process that hands messages over says the same.
        #[test]
        fn any_input_of_a_hook_is_read(seed: u64) {
            let read = Payload::read(&CORPUS.changed(seed));
            let passed = Payload::read(read.to_hand_over().as_bytes());
            prop_assert_eq!(read.session, passed.session);
            prop_assert_eq!(read.transcript, passed.transcript);
            prop_assert_eq!(read.folder, passed.folder);
            prop_assert_eq!(read.project, passed.project);
        }
    }
}
