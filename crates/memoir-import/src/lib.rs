//! Reads memories in the formats of other programs.
//!
//! This crate owns the conversion of a file, a folder or an archive to [`ImportedMemory`]s, one after the other. It
//! never holds more than one entry of a list, or one page of a folder. It knows nothing of agents, of models or of
//! stores.
//!
//! **Every entry is accounted for.** Each is returned, as one [`ImportedMemory`] or as several parts of one, or counted
//! in the [`ImportReport`] with the reason, and with its position where it could not be parsed.
//! [`ImportFormat::cannot_carry`] lists the contents that a format does not transfer.
//!
//! **All input may be hostile.** JSON is scanned by counting brackets, without recursion, and only needed fields are
//! decoded (`memoir_transcripts::raw`). Archives are inflated up to a limit, and nothing is ever unpacked to a path
//! that they name. Symbolic links are not followed; databases are opened read-only. [`ImportLimits`] bounds sizes and
//! counts.
//!
//! Each reader has a file of its own; `recognise.rs` selects the reader, and `out.rs` cleans the results of all.

mod chatgpt;
mod claude;
mod copied;
mod date;
mod files;
mod folder;
mod frontmatter;
mod git;
mod inventory;
mod json;
mod langgraph;
mod letta;
mod listed;
mod markdown;
mod mcp_memory;
mod mem0;
mod out;
mod outline;
mod recognise;
mod report;
mod split;
mod sqlite;
mod tags;
mod zip;

use std::{fmt, io, ops::ControlFlow, path::PathBuf};

use memoir_domain::{PrivateText, Timestamp, memory::Kind, origin::Origin, wire_names};
use memoir_transcripts::FilePosition;

pub use files::{conversations, is_archive};
pub use memoir_domain::import::{DeletionReason, ForeignGone};
pub use recognise::may_be_memories;
pub use report::{DateProblem, ImportReport, Notice};

use crate::{files::Files, out::Out};

wire_names! {
    /// A format of memories.
    pub enum ImportFormat {
        /// mem0: its lists, the payloads of its vector store, its `history.db`, the page that its plugin exports.
        Mem0 = "mem0",
        /// Claude: the export of claude.ai, Claude Code's memory folder, the memory tool's directory.
        Claude = "claude",
        /// The reference memory server of the Model Context Protocol: `memory.jsonl`.
        McpMemory = "mcp-memory",
        /// Letta: an agent file, its archival passages, or the tree of its MemFS.
        Letta = "letta",
        /// Folders of Markdown: basic-memory, Obsidian, the Open Knowledge Format, agents' workspaces.
        Markdown = "markdown",
        /// ChatGPT's export, whose conversations hold its saved memories.
        ChatGpt = "chatgpt",
        /// A store of LangGraph: rows as JSON, or its SQLite database.
        LangGraph = "langgraph",
        /// JSON of any other program: lists of objects with a text. Never recognised, only offered.
        Json = "json",
    }
}

impl ImportFormat {
    /// Contents that such a file does not have, or that have no place in a memory.
    pub fn cannot_carry(self) -> &'static [&'static str] {
        match self {
            Self::Mem0 => &[
                "vectors, links between entities and scores",
                "metadata other than categories and tags",
                "what a list does not hold: mem0 gives 20 rows (100 in older versions) unless asked for more",
            ],
            Self::Claude => &[
                "dates of single facts: Claude writes a page, not entries",
                "which project a conversation belongs to",
                "instructions (`CLAUDE.md`, prompts and documents of projects), which are no memories",
            ],
            Self::McpMemory => &[
                "dates and identifiers, of which the file has none",
                "the graph: entities and relations come as sentences",
            ],
            Self::Letta => &[
                "archival passages, which are in no agent file: fetch `GET /v1/agents/{id}/archival-memory` and import it as a second file",
                "messages, tools and their secrets",
                "dates of blocks, of which version 2 has none",
            ],
            Self::Markdown => &[
                "links and embedded files, which come as they are written",
                "fields of the frontmatter other than title, tags and dates",
            ],
            Self::ChatGpt => &[
                "the list of saved memories itself, which is in no export: they are read from the conversations",
                "deletions since the last conversation with the list: deleted memories may return",
            ],
            Self::LangGraph => &[
                "vectors",
                "namespaces as such: they come as tags",
                "fields of a value other than its text",
            ],
            Self::Json => &[
                "fields other than a text, a title, tags, a date and an identifier under their usual names",
            ],
        }
    }
}

/// Limits of the reading. Entries over a limit are reported and skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLimits {
    /// Most bytes of one entry of a list, one line, one page or one conversation.
    pub entry_bytes: usize,
    /// Most characters of one memory; longer texts are split.
    pub memory_characters: usize,
    /// Characters up to which a page is one memory; longer ones are split at headings and paragraphs.
    pub page_characters: usize,
    /// Most files of a folder or an archive.
    pub files: usize,
    /// Folders within folders.
    pub depth: usize,
    /// Most bytes that an archive may inflate to, whatever its size.
    pub inflated_bytes: u64,
    /// How many times its size an archive may inflate to, from 64 MiB on.
    pub inflation: u64,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self {
            // One entry is held whole, and once more as its decoded text.
            entry_bytes: 16 << 20,
            // The limit of a memory (`memory::CONTENT_LIMIT`): the use case would refuse a longer one.
            memory_characters: 10_000,
            page_characters: 1_500,
            files: 200_000,
            depth: 32,
            // Deflate inflates up to about 1000 times, natural texts far less: more than 200 times is an attack.
            inflated_bytes: 64 << 30,
            inflation: 200,
        }
    }
}

/// The options of the reading.
#[derive(Debug, Clone, Copy)]
pub struct ImportOptions {
    /// The present: a later time of expiry is not reached yet.
    pub now: Timestamp,
    /// Whether pages that are instructions, such as `CLAUDE.md` and `SOUL.md`, are imported as memories too.
    pub instructions: bool,
    /// The limits of the reading.
    pub limits: ImportLimits,
}

/// The input.
#[derive(derive_more::Debug)]
pub enum Input {
    /// A file or a folder.
    #[debug("Path")]
    Path(PathBuf),
    /// Standard input, or another stream that is read once.
    #[debug("Stream")]
    Stream(Box<dyn io::Read + Send>),
}

/// A position in the input. `Display` prints numbers only; the file's name may be private.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryPosition {
    /// The file within the folder or the archive; `None` where there is one file only.
    pub file: Option<PrivateText>,
    /// The line, from 1; `None` where lines are not counted.
    pub line: Option<u64>,
    /// The byte, from 0; `None` where bytes are not counted.
    pub byte: Option<u64>,
}

impl EntryPosition {
    /// The position of a part of the entry here, so many bytes behind its beginning.
    pub(crate) fn of_part(&self, at: usize) -> Self {
        Self {
            file: self.file.clone(),
            // An entry may span lines, which are not counted for a part of it.
            line: self.line.filter(|_| at == 0),
            byte: self.byte.map(|byte| byte + at as u64),
        }
    }

    /// That position in the file here.
    pub(crate) fn at(&self, position: &FilePosition) -> Self {
        Self {
            file: self.file.clone(),
            line: Some(position.line),
            byte: Some(position.byte),
        }
    }
}

impl fmt::Display for EntryPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.byte) {
            (Some(line), Some(byte)) => write!(formatter, "line {line}, byte {byte}"),
            (Some(line), None) => write!(formatter, "line {line}"),
            (None, Some(byte)) => write!(formatter, "byte {byte}"),
            (None, None) => formatter.write_str("the whole file"),
        }
    }
}

/// One memory of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedMemory {
    /// Its text: trimmed, at least three characters (one where it is a part of a longer text, or of a page of Memoir's),
    /// at most [`ImportLimits::memory_characters`], with no control character but line feed and tab (others are
    /// replaced by U+FFFD).
    pub content: PrivateText,
    /// The kind that the format implies; `None` where it implies none.
    pub kind: Option<Kind>,
    /// Its tags: trimmed, each once, at most 16 of at most 50 characters.
    pub tags: Vec<PrivateText>,
    /// Its source: the format's name and its identifier there, at most 200 characters.
    pub source: PrivateText,
    /// The time of its creation; `None` where the file has none.
    pub created_at: Option<Timestamp>,
    /// The origin that a page of Memoir's own names; `None` where it names none, or none that is weaker than `import`
    /// (SPEC 2.4).
    pub origin: Option<Origin>,
    /// Whether the other program protected it from changes.
    pub constitutional: bool,
    /// The memory of a page that Memoir wrote; `None` for all others.
    pub page_of: Option<PageOf>,
    /// Whether it is part of the offered system prompt ([`ImportReport::system_prompt`]).
    pub is_persona: bool,
    /// Why the memory is obsolete in the other program; `None` where it is current.
    pub gone: Option<ForeignGone>,
    /// The position of its entry.
    pub place: EntryPosition,
}

/// A memory that Memoir wrote as a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOf {
    /// The agent's name.
    pub agent: String,
    /// The memory's number.
    pub number: u64,
}

/// Defines the reasons: each with its name for programs, its class, and its words for people.
macro_rules! reasons {
    ($($(#[$of_variant:meta])* $variant:ident $(($field:ty))? = $code:literal, $class:ident, $words:literal;)+) => {
        /// Why a part of the input is no memory.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum NoMemoryReason {
            $($(#[$of_variant])* #[doc = concat!("Shown as: ", $words, ".")] $variant $(($field))?,)+
        }

        impl NoMemoryReason {
            /// A stable name for programs.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)+
                }
            }

            /// The class of the reason.
            pub fn class(self) -> NoMemoryClass {
                match self {
                    $(Self::$variant { .. } => NoMemoryClass::$class,)+
                }
            }

            /// Behind the name of the field, where there is one.
            fn words(self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $words,)+
                }
            }
        }
    };
}

reasons! {
    Empty = "empty", Junk, "empty";
    Short = "short", Junk, "fewer than three characters";
    BareJson = "bare_json", Junk, "JSON and nothing else";
    Index = "index", LeftOut, "an index of other pages";
    Instruction = "instruction", LeftOut, "instructions, not memories";
    Template = "template", LeftOut, "templates";
    Derived = "derived", LeftOut, "the program's own, which can be generated again";
    Secret = "secret", LeftOut, "secrets";
    Message = "message", LeftOut, "messages of conversations";
    OtherFile = "other_file", LeftOut, "a file of another kind";
    Link = "link", NotUnderstood, "a symbolic link, which is not followed";
    OutsidePath = "outside_path", NotUnderstood, "a name that leads out of the archive";
    /// It is larger than [`ImportLimits`] allows.
    TooLarge = "too_large", NotUnderstood, "too large";
    /// There are more than [`ImportLimits`] allows.
    TooMany = "too_many", NotUnderstood, "more than are read";
    NotText = "not_text", NotUnderstood, "no text, or of a name that is not UTF-8";
    /// It is not the expected JSON or row.
    Malformed = "malformed", NotUnderstood, "malformed";
    Truncated = "truncated", NotUnderstood, "cut off";
    UnknownKind = "unknown_kind", NotUnderstood, "of a kind that is not known";
    Unreadable = "unreadable", NotUnderstood, "the system cannot read it";
    MissingField(&'static str) = "missing_field", NotUnderstood, "is missing";
    InvalidField(&'static str) = "invalid_field", NotUnderstood, "cannot be read";
}

impl fmt::Display for NoMemoryReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::MissingField(name) | Self::InvalidField(name) = self {
            write!(formatter, "`{name}` ")?;
        }
        formatter.write_str(self.words())
    }
}

/// The class of a [`NoMemoryReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMemoryClass {
    /// It is not worth remembering.
    Junk,
    /// It is omitted by design.
    LeftOut,
    /// It may have been a memory.
    NotUnderstood,
}

/// Why the input cannot be read. No variant holds text of it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    /// The format was not given and cannot be recognised.
    #[error("unknown format of memories; it is {0}")]
    Unrecognised(&'static str),
    /// It is JSON of no known format, with objects that have a text: [`ImportFormat::Json`] reads them.
    #[error("unknown format of memories, but JSON with objects that have a text")]
    Offered,
    #[error("no memories, but a conversation in the format `{0}`")]
    Conversation(memoir_transcripts::TranscriptFormat),
    #[error("the file is not UTF-8 but UTF-16")]
    Utf16,
    #[error("it holds nothing in the format `{0}`")]
    OtherForm(ImportFormat),
    /// The archive is of an unsupported kind, or not whole.
    #[error("the archive cannot be read: {0}")]
    Archive(&'static str),
    #[error("the database cannot be read: {0}")]
    Database(&'static str),
    #[error("reading failed: {0}")]
    Read(io::ErrorKind),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Read(error.kind())
    }
}

/// A recognised format, and its sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The format.
    pub format: ImportFormat,
    /// The sign of the format, such as `results[].memory, hash`; names of fields and files only.
    pub by: String,
    /// The agent whose memories Memoir wrote as these pages; `None` for all other inputs.
    pub pages_of: Option<String>,
}

/// An input of a known format.
#[derive(Debug)]
pub struct Import {
    files: Files,
    recognised: Recognised,
}

impl Import {
    /// Opens the input, and recognises its format unless it is given.
    ///
    /// # Errors
    /// The input cannot be read, or its format cannot be recognised.
    pub fn open(
        input: Input,
        format: Option<ImportFormat>,
        limits: &ImportLimits,
    ) -> Result<Self, Error> {
        let mut files = Files::open(input, limits)?;
        let recognised = match format {
            Some(format) => recognise::known(format, "it was given by `--format`"),
            None => recognise::recognise(&mut files, limits)?,
        };
        Ok(Self { files, recognised })
    }

    /// The format, and its sign.
    pub fn recognised(&self) -> &Recognised {
        &self.recognised
    }

    /// Reads all of it, and passes each memory to `give`, which can stop the reading.
    ///
    /// Memories before an unreadable place were passed on; the report names that place.
    ///
    /// # Errors
    /// The input cannot be read at all.
    pub fn read(
        self,
        options: &ImportOptions,
        give: &mut dyn FnMut(ImportedMemory) -> ControlFlow<()>,
    ) -> Result<ImportReport, Error> {
        // Before a reader begins: a stopped reading has a report too.
        let Self { files, recognised } = self;
        let mut out = Out::new(recognised.format, *options, give);
        files.report_passed(&mut out);
        let read = match recognised.format {
            ImportFormat::Mem0 => mem0::read(files, &mut out),
            ImportFormat::Claude => claude::read(files, &mut out),
            ImportFormat::McpMemory => mcp_memory::read(files, &mut out),
            ImportFormat::Letta => letta::read(files, &mut out),
            ImportFormat::Markdown => markdown::read(files, &mut out),
            ImportFormat::ChatGpt => chatgpt::read(files, &mut out),
            ImportFormat::LangGraph => langgraph::read(files, &mut out),
            ImportFormat::Json => listed::read(files, &mut out),
        };
        match read {
            // A stopped reading has a report, which is not an error.
            Ok(()) | Err(Halt::Stopped) => Ok(out.finish()),
            Err(Halt::Failed(error)) => Err(error),
        }
    }
}

/// Why a reader stops.
#[derive(Debug, derive_more::From)]
pub(crate) enum Halt {
    /// The receiver of the memories stopped it.
    Stopped,
    #[from(Error, io::Error)]
    Failed(Error),
}

pub(crate) type ReadResult = Result<(), Halt>;
