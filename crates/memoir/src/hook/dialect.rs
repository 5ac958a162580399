//! The programs, and the response format of each: a row each.

use clap::ValueEnum;
use memoir_transcripts::TranscriptFormat;
use serde_json::json;

use super::{
    length::{TextLimit, TextUnit},
    payload::Payload,
    state::AgentKey,
};
use crate::failure::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookEvent {
    /// A session begins, goes on, or goes on after its conversation was summed up
    SessionStart,
    /// The user has typed a prompt
    UserPrompt,
    /// The model has answered
    Stop,
    /// The conversation is about to be summed up
    PreCompact,
    /// The session ends
    SessionEnd,
}

impl HookEvent {
    /// Whether its response contains text.
    pub(super) fn is_answered(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPrompt)
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A program that runs agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code
    ClaudeCode,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    Gemini,
    /// Cursor
    Cursor,
    /// GitHub Copilot CLI
    Copilot,
    /// Visual Studio Code
    Vscode,
    /// Goose
    Goose,
    /// OpenCode, through the plugin that `memoir setup` installs
    Opencode,
    /// Kimi CLI
    Kimi,
    /// Qwen Code
    Qwen,
    /// CodeBuddy
    Codebuddy,
    /// Antigravity
    Antigravity,
    /// Qoder
    Qoder,
    /// Kiro
    Kiro,
}

/// How a program receives text for its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookOutput {
    /// `{"hookSpecificOutput": {"hookEventName": NAME, "additionalContext": TEXT}}`.
    Specific(&'static str),
    /// `{FIELD: TEXT}`.
    Field(&'static str),
    Text,
    /// It reads no response, but this file in its folder of settings.
    File,
    /// It receives no text.
    Nothing,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Dialect {
    start: HookOutput,
    prompt: HookOutput,
    /// The format of its transcripts; `None` where Memoir reads none of them.
    pub(super) transcript: Option<TranscriptFormat>,
    /// The most that the program accepts as one response.
    pub(super) limit: TextLimit,
}

/// Claude Code puts more than this into a file, and shows its model the beginning. It counts as JavaScript does; so do
/// the other programs that are written in it, as far as they have a limit.
const UTF16: TextLimit = TextLimit {
    most: 10_000,
    unit: TextUnit::Utf16,
};
/// Codex does the same beyond 2,500 tokens, and counts four bytes as one. Of Copilot CLI no limit is documented: the
/// smaller one is safe.
const BYTES: TextLimit = TextLimit {
    most: 10_000,
    unit: TextUnit::Bytes,
};

const CLAUDE: Dialect = Dialect {
    start: HookOutput::Specific("SessionStart"),
    prompt: HookOutput::Specific("UserPromptSubmit"),
    transcript: Some(TranscriptFormat::ClaudeCode),
    limit: UTF16,
};

/// It adds no text to a prompt.
const CURSOR: Dialect = Dialect {
    start: HookOutput::Field("additional_context"),
    prompt: HookOutput::Nothing,
    transcript: None,
    limit: UTF16,
};

impl Client {
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::ClaudeCode
            | Self::Kimi
            | Self::Codebuddy
            | Self::Antigravity
            | Self::Qoder
            | Self::Kiro => CLAUDE,
            Self::Codex => Dialect {
                transcript: Some(TranscriptFormat::Codex),
                limit: BYTES,
                ..CLAUDE
            },
            // Its session files are not those of Claude Code.
            Self::Qwen => Dialect {
                transcript: None,
                ..CLAUDE
            },
            Self::Gemini => Dialect {
                prompt: HookOutput::Specific("BeforeAgent"),
                transcript: Some(TranscriptFormat::Gemini),
                ..CLAUDE
            },
            Self::Cursor => CURSOR,
            Self::Vscode => Dialect {
                start: HookOutput::Specific("SessionStart"),
                ..CURSOR
            },
            Self::Goose => Dialect {
                start: HookOutput::File,
                ..CURSOR
            },
            Self::Copilot => Dialect {
                start: HookOutput::Field("additionalContext"),
                prompt: HookOutput::Field("additionalContext"),
                transcript: Some(TranscriptFormat::Copilot),
                limit: BYTES,
            },
            Self::Opencode => Dialect {
                start: HookOutput::Text,
                prompt: HookOutput::Text,
                transcript: Some(TranscriptFormat::Messages),
                limit: UTF16,
            },
        }
    }

    /// The dialect of the program that sent the event: Visual Studio Code reads the hooks of Claude Code too, and it
    /// and Copilot CLI each other's.
    pub(super) fn dialect_of(self, payload: &Payload) -> Dialect {
        match (self, payload.host) {
            (Self::ClaudeCode | Self::Vscode | Self::Copilot, Some(host)) => host.dialect(),
            _ => self.dialect(),
        }
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl Dialect {
    /// Whether the program accepts text for the event.
    pub(super) fn takes(self, event: HookEvent) -> bool {
        self.answer_for(event) != HookOutput::Nothing
    }

    /// Whether the text for the event remains until it is overwritten.
    pub(super) fn is_kept(self, event: HookEvent) -> bool {
        self.answer_for(event) == HookOutput::File
    }

    fn answer_for(self, event: HookEvent) -> HookOutput {
        match event {
            HookEvent::SessionStart => self.start,
            HookEvent::UserPrompt => self.prompt,
            HookEvent::Stop | HookEvent::PreCompact | HookEvent::SessionEnd => HookOutput::Nothing,
        }
    }

    /// The text to print; `None` where it goes to a file or is not shown. `reader` identifies the session's agent.
    ///
    /// # Errors
    /// The file that the program reads cannot be written.
    pub(super) fn answer(
        self,
        event: HookEvent,
        payload: &Payload,
        reader: &AgentKey,
        text: &str,
    ) -> Result<Option<String>, Failure> {
        Ok(match self.answer_for(event) {
            HookOutput::Specific(name) => {
                // A program that reads another's hooks uses its own event names.
                let name = payload.event.as_deref().unwrap_or(name);
                let answer = json!({"hookEventName": name, "additionalContext": text});
                Some(json!({"hookSpecificOutput": answer}).to_string())
            }
            HookOutput::Field(field) => Some(json!({field: text}).to_string()),
            HookOutput::Text => Some(text.to_owned()),
            HookOutput::File => {
                super::text::write_hints(reader, text)?;
                None
            }
            HookOutput::Nothing => None,
        })
    }
}
