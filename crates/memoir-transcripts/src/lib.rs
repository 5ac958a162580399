//! Reads conversations for absorption (SPEC 2.6), in the formats of other programs.
//!
//! This crate owns the conversion of a file into [`TranscriptMessage`]s, as a stream. It holds at most one conversation
//! of an export, or one message of a single conversation, and 16 bytes for each returned message; of Gemini's activity,
//! whose newest entries come first, it holds the texts. It knows nothing of agents, memories, models or stores.
//!
//! **Every message is accounted for.** It is either returned once, as [`Item::Message`], or reported with its position
//! and the reason, as [`Item::Skipped`]. A broken part does not affect the parts beside it. Where a file cannot be read
//! on, the earlier messages were returned, and [`TranscriptReader::read`] ends with an [`Error`] with the position.
//!
//! **A message** is a text that a person and an assistant exchanged. Tool calls and results, hidden input of a model,
//! and a model's thinking are reported and left out: long data that no participant wrote.
//!
//! **Branches.** Where a prompt was edited or a response regenerated, the format keeps both. Only the continued branch
//! is returned; the others are reported as [`NoMessageReason::OtherBranch`]. A retracted text, such as a mistyped
//! birthday, must not become a memory.
//!
//! No error and no position holds text of the file, except identifiers, which are private too.
//!
//! **Parsing.** Values of JSON are found by counting brackets (`raw.rs`), without recursion, and only needed fields are
//! decoded: depth costs nothing, and a broken value does not affect others. Top-level arrays are read element by
//! element (`source.rs`). Trees of messages are walked in `tree.rs`, each node a fixed number of times, whatever their
//! links are. Readers of similar files can use [`raw`] and [`source`].

mod chatgpt;
mod claude;
mod claude_code;
mod codex;
mod copilot;
mod gather;
mod gemini;
mod gemini_takeout;
mod kind;
mod messages;
mod packed;
pub mod raw;
mod recognise;
mod report;
pub mod source;
mod text;
mod transcript;
mod tree;

use std::{fmt, io};

use memoir_domain::{PrivateText, Timestamp, wire_names};

pub use gather::{clean, since_1970};
pub use kind::kind_of;
pub use packed::{ByteStream, unpacked};
pub use recognise::form_of;
pub use report::TranscriptReport;
pub use transcript::TranscriptReader;

wire_names! {
    /// A format of conversations.
    #[non_exhaustive]
    pub enum TranscriptFormat {
        /// `{"messages": [{"id", "at", "speaker", "text"}]}`, an array of such messages, or JSON lines of them. `id`
        /// and `at` may be missing. Messages as models take them (`{"role", "content"}`) are read too.
        Messages = "messages",
        /// Plain text. A line such as `Ann: hello` or `[2026-03-01 10:00] Ann: hello` begins a message, and the lines
        /// below belong to it; without such a line, each paragraph is a message.
        Text = "text",
        /// `conversations.json` of ChatGPT's export, or one conversation of it.
        ChatGpt = "chatgpt",
        /// `conversations.json` of Claude's export, or one conversation of it.
        Claude = "claude",
        /// A session file of Claude Code (`*.jsonl`).
        ClaudeCode = "claude-code",
        /// A session file of Codex CLI (`rollout-*.jsonl`).
        Codex = "codex",
        /// A session file of GitHub Copilot CLI (`events.jsonl`).
        Copilot = "copilot",
        /// A session file of Gemini CLI (`session-*.jsonl`).
        Gemini = "gemini",
        /// Gemini's activity in an export of Google Takeout (`My Activity.json`).
        GeminiTakeout = "gemini-takeout",
    }
}

/// Limits of the parts held in memory. A larger part is reported with its position and skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptLimits {
    /// Most bytes of one conversation of an export, or of one line of JSON lines.
    pub conversation_bytes: usize,
    /// Most bytes of one message's text. The default is ten times the chunk of a model (SPEC 2.6), for ASCII text; no
    /// model can read more.
    pub message_bytes: usize,
}

impl Default for TranscriptLimits {
    fn default() -> Self {
        Self {
            // A conversation is held whole, since its order follows from links that may be at its end.
            conversation_bytes: 64 << 20,
            message_bytes: 4_000_000,
        }
    }
}

/// A position in a file. `Display` prints numbers only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePosition {
    /// The byte at which it begins, from 0.
    pub byte: u64,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The conversation in an export of several, from 1; `None` in a file that is one conversation.
    pub conversation: Option<u64>,
    /// The file's identifier of it (a node's, a message's); `None` where there is none.
    pub id: Option<PrivateText>,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(conversation) = self.conversation {
            write!(formatter, "conversation {conversation}, ")?;
        }
        write!(formatter, "line {}, byte {}", self.line, self.byte)
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptMessage {
    /// The same on every reading of the file, also when it has grown, and unique in it. It is the file's own
    /// identifier, or its digest where that is over 200 bytes or holds control characters. Without one it is a digest
    /// of the message and its position, which two files may share.
    pub id: PrivateText,
    /// The time of the message; `None` where the file has none.
    pub at: Option<Timestamp>,
    /// The speaker: `user` or `assistant` in exports; empty where plain text names none.
    pub speaker: PrivateText,
    /// The text: trimmed, not empty, line breaks as `\n`, and no other control character but the tab (others are
    /// replaced by U+FFFD).
    pub text: PrivateText,
    /// The number of its parts without spoken text, which are left out: pictures, files, tool calls, thinking.
    pub left_out: u32,
    /// Its position.
    pub place: FilePosition,
}

/// An item of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A message.
    Message(TranscriptMessage),
    /// A part that is no message to absorb.
    Skipped {
        /// Its position.
        place: FilePosition,
        /// The reason.
        reason: NoMessageReason,
    },
}

/// Why a part of a file is no message.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub enum NoMessageReason {
    /// It has no text of a speaker: pictures or files only, or an unknown kind of content.
    #[display("no text")]
    NotText,
    /// Its text is empty or blank.
    #[display("empty")]
    Empty,
    /// The input or the result of a tool.
    #[display("calls and results of tools")]
    Tool,
    /// A text of the program to the model or the user.
    #[display("system messages")]
    System,
    /// It was never shown in the conversation.
    #[display("never shown in the conversation")]
    Hidden,
    /// The model's thinking, or a summary of it.
    #[display("thinking")]
    Thinking,
    /// It is a conversation whose program was told not to remember it.
    #[display("conversations that are not to be remembered")]
    NotToRemember,
    /// It is on a branch that the conversation did not continue.
    #[display("on a branch that was left")]
    OtherBranch,
    /// It is not connected to the conversation: a parent is missing, or it is its own ancestor.
    #[display("not connected with the conversation")]
    Detached,
    /// A message between a model and its helpers, not with the user.
    #[display("between a model and its helpers")]
    Sidechain,
    /// A node of a tree that holds no message.
    #[display("nodes without a message")]
    NoMessage,
    /// A line that the program wrote for itself, such as a snapshot of files or a title.
    #[display("the program's own notes")]
    Bookkeeping,
    /// A message with this identifier and text was returned already.
    #[display("read already")]
    DuplicateId,
    /// It is larger than [`TranscriptLimits`] allows.
    #[display("too large")]
    TooLarge,
    /// It is not the expected JSON.
    #[display("malformed")]
    Malformed,
    /// The field of this name is missing.
    #[display("`{_0}` is missing")]
    MissingField(&'static str),
    /// The field of this name has a value that cannot be read.
    #[display("`{_0}` cannot be read")]
    InvalidField(&'static str),
}

impl NoMessageReason {
    /// Whether it may lose a spoken text, so that each is reported to the user: the file is broken, or a limit was
    /// reached. The others are left out by design.
    pub(crate) fn is_loss(self) -> bool {
        matches!(
            self,
            Self::Detached
                | Self::TooLarge
                | Self::Malformed
                | Self::MissingField(_)
                | Self::InvalidField(_)
        )
    }
}

/// Why a file cannot be read on. No variant holds text of the file.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    /// The format was not given and cannot be recognised.
    #[error("unknown format of transcripts; it is {0}")]
    Unrecognised(&'static str),
    #[error("the file is not UTF-8 but UTF-16")]
    Utf16,
    #[error("the file is a ZIP archive: unpack it and give the `conversations.json` in it")]
    Packed,
    #[error("the file is not in the format `{0}`")]
    OtherForm(TranscriptFormat),
    #[error("the file ends in the middle ({0})")]
    Truncated(FilePosition),
    /// The text is no JSON, and the parts behind it cannot be separated.
    #[error("the file is broken ({0})")]
    Broken(FilePosition),
    #[error("reading failed: {kind} ({place})")]
    Read {
        kind: io::ErrorKind,
        place: FilePosition,
    },
}
