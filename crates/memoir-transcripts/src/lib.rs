//! Reads conversations for absorption (SPEC 2.6), in the forms in which other programs write them.
//!
//! This crate owns the reading of a file into [`TranscriptMessage`]s, as a stream: at no time does it hold more than
//! one conversation of a file that has several, or one message of a file that has one, and 16 bytes for each
//! message that was given. It does not own what becomes of the messages: it knows nothing of agents,
//! memories, models or stores.
//!
//! **Nothing is lost in silence.** Every message of a file is either given once, as [`Item::Message`], or
//! reported with its place and the reason, as [`Item::Skipped`]. What is broken costs what is broken, not
//! what stands beside it; where a file cannot be read on, what came before was given, and the last thing
//! that [`TranscriptReader`] gives is an [`Error`] with the place.
//!
//! **What counts as a message** is what a person and an assistant said to each other. What tools were
//! called with and what they answered, what was put before a model without being shown, and a model's
//! thinking are reported and left out: long data, and nobody's words.
//!
//! **Branches.** Where a prompt was edited or an answer made anew, the form keeps both. Only the branch
//! that the conversation went on with is given; the others are reported as [`NoMessageReason::OtherBranch`]. What a
//! person took back, a birthday that was mistyped for instance, must not become a memory.
//!
//! No error and no place holds words of the file, but for identifiers, which are private too.
//!
//! **How it reads.** Values of JSON are found by counting brackets (`raw.rs`), without recursion, and only
//! the fields that are needed are decoded: depth costs nothing, and what is broken takes down nothing beside
//! it. Top-level arrays come element by element (`source.rs`). Trees of messages are walked in `tree.rs`,
//! each node a fixed number of times, whatever their links say. [`raw`] and [`source`] are for whoever reads
//! other files of the kind in the same way.

mod chatgpt;
mod chunks;
mod claude;
mod claude_code;
mod codex;
mod copilot;
mod gather;
mod gemini;
mod kind;
mod messages;
pub mod raw;
mod recognise;
mod report;
pub mod source;
mod text;
mod transcript;
mod tree;

use std::{fmt, io, str::FromStr};

use memoir_domain::{PrivateText, Timestamp, wire_names};

pub use chunks::{Chunks, chunks};
pub use gather::clean;
pub use kind::{kind_of, may_be_lines};
pub use recognise::form_of;
pub use report::TranscriptReport;
pub use transcript::TranscriptReader;

wire_names! {
    /// A form in which conversations are written.
    #[non_exhaustive]
    pub enum TranscriptFormat {
        /// `{"messages": [{"id", "at", "speaker", "text"}]}`, an array of such messages, or JSON lines of them.
        /// `id` and `at` may be missing.
        Messages = "messages",
        /// Plain text. A line such as `Ann: hello` or `[2026-03-01 10:00] Ann: hello` begins a message, and the lines
        /// below belong to it; where there is none, each paragraph is a message.
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
    }
}

/// A name that no [`TranscriptFormat`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a form of transcript: expected `messages`, `text`, `chatgpt`, `claude`, `claude-code`, `codex`, `copilot` or `gemini`"
)]
pub struct UnknownTranscriptFormat;

impl FromStr for TranscriptFormat {
    type Err = UnknownTranscriptFormat;

    fn from_str(name: &str) -> Result<Self, UnknownTranscriptFormat> {
        Self::from_name(name).ok_or(UnknownTranscriptFormat)
    }
}

/// How much is held at once. What is larger is reported with its place and passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptLimits {
    /// Most bytes of one conversation of an export, or of one line of JSON lines.
    pub conversation_bytes: usize,
    /// Most bytes of one message's text. The default is ten times the chunk that a model reads at once
    /// (SPEC 2.6), if all its characters are ASCII; a model that gets more than this cannot read it.
    pub message_bytes: usize,
}

impl Default for TranscriptLimits {
    fn default() -> Self {
        Self {
            // A conversation is held whole, since its order shows only at its end: who answers whom.
            conversation_bytes: 64 << 20,
            message_bytes: 4 << 20,
        }
    }
}

/// Where in a file something stands. `Display` prints numbers only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePosition {
    /// The byte at which it begins, from 0.
    pub byte: u64,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The conversation in an export of several, from 1; `None` in a file that is one conversation.
    pub conversation: Option<u64>,
    /// The identifier that the file gives it (a node's, a message's); `None` where there is none.
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
    /// The same whenever the same file is read again, also when it has grown, and no other's in this file. It
    /// is the file's own where it has one, or its digest where that is over 200 bytes or holds control
    /// characters; else a digest of the message and its position, which two files may share.
    pub id: PrivateText,
    /// The identifier of the conversation; `None` where the file tells none.
    pub conversation: Option<PrivateText>,
    /// When it was said; `None` where the file does not tell.
    pub at: Option<Timestamp>,
    /// Who said it: `user` or `assistant` in exports; empty where plain text does not tell.
    pub speaker: PrivateText,
    /// What was said: trimmed, not empty, line breaks as `\n`, and no other control character but the tab
    /// (others are replaced by U+FFFD).
    pub text: PrivateText,
    /// How many parts of it are no text that was said, and left out: pictures, files, calls of tools,
    /// thinking.
    pub left_out: u32,
    /// Where it stands.
    pub place: FilePosition,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A message.
    Message(TranscriptMessage),
    /// Something that is no message to absorb.
    Skipped {
        /// Where it stands.
        place: FilePosition,
        /// Why.
        reason: NoMessageReason,
    },
}

/// Why something of a file is not given as a message.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoMessageReason {
    /// It has no text that somebody said: pictures or files only, or a kind of content that is not known.
    NotText,
    /// Its text is empty or blank.
    Empty,
    /// What a tool was called with, or what it answered.
    Tool,
    /// What the program told the model or the user.
    System,
    /// It was never shown in the conversation.
    Hidden,
    /// The model's thinking, or a summary of it.
    Thinking,
    /// It stands on a branch that the conversation did not go on with.
    OtherBranch,
    /// It does not hang together with the conversation: a parent is missing, or it is its own ancestor.
    Detached,
    /// It was said between a model and its helpers, not with the user.
    Sidechain,
    /// A node of a tree that holds no message.
    NoMessage,
    /// A line that the program wrote for itself, such as a snapshot of files or a title.
    Bookkeeping,
    /// A message with this identifier was given already.
    DuplicateId,
    /// It is larger than [`TranscriptLimits`] allows.
    TooLarge,
    /// It is not the JSON that should stand there.
    Malformed,
    /// The field of this name is missing.
    MissingField(&'static str),
    /// The field of this name has a value that cannot be read.
    InvalidField(&'static str),
}

impl NoMessageReason {
    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotText => "not_text",
            Self::Empty => "empty",
            Self::Tool => "tool",
            Self::System => "system",
            Self::Hidden => "hidden",
            Self::Thinking => "thinking",
            Self::OtherBranch => "other_branch",
            Self::Detached => "detached",
            Self::Sidechain => "sidechain",
            Self::NoMessage => "no_message",
            Self::Bookkeeping => "bookkeeping",
            Self::DuplicateId => "duplicate_id",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::MissingField(_) => "missing_field",
            Self::InvalidField(_) => "invalid_field",
        }
    }

    /// Whether something that may have been said is lost by it, so that the user should hear of each:
    /// the file is broken, or a limit was reached. The others are left out by design.
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

impl fmt::Display for NoMessageReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::NotText => "no text",
            Self::Empty => "empty",
            Self::Tool => "calls and results of tools",
            Self::System => "system messages",
            Self::Hidden => "never shown in the conversation",
            Self::Thinking => "thinking",
            Self::OtherBranch => "on a branch that was left",
            Self::Detached => "not connected with the conversation",
            Self::Sidechain => "between a model and its helpers",
            Self::NoMessage => "nodes without a message",
            Self::Bookkeeping => "the program's own notes",
            Self::DuplicateId => "read already",
            Self::TooLarge => "too large",
            Self::Malformed => "malformed",
            Self::MissingField(name) => return write!(formatter, "`{name}` is missing"),
            Self::InvalidField(name) => return write!(formatter, "`{name}` cannot be read"),
        };
        formatter.write_str(words)
    }
}

/// Why a file cannot be read on. None holds words of the file.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The form was not given and cannot be told.
    #[error("not a form of transcript that is known; it is {0}")]
    Unrecognised(&'static str),
    /// The file is UTF-16.
    #[error("the file is not UTF-8 but UTF-16")]
    Utf16,
    /// The file is a ZIP archive, as exports arrive.
    #[error("the file is a ZIP archive: unpack it and give the `conversations.json` in it")]
    Packed,
    /// The file does not have the form that was named.
    #[error("the file is not in the form `{0}`")]
    OtherForm(TranscriptFormat),
    /// The file ends before it is complete.
    #[error("the file ends in the middle ({0})")]
    Truncated(FilePosition),
    /// What stands there is no JSON, and nothing behind it can be told apart.
    #[error("the file is broken ({0})")]
    Broken(FilePosition),
    /// Reading failed.
    #[error("reading failed: {kind} ({place})")]
    Read {
        /// What the system said.
        kind: io::ErrorKind,
        /// How far it was read.
        place: FilePosition,
    },
}
