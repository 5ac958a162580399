//! Reads memories in the forms in which other programs keep them.
//!
//! This crate owns the way from a file, a folder or an archive to [`ImportedMemory`]s, one after the other: at no
//! time does it hold more than one entry of a list, or one page of a folder. It does not own what becomes of
//! them: it knows nothing of agents, of models or of stores.
//!
//! **Nothing is lost in silence.** Every entry is either given, as one [`ImportedMemory`] or as several parts of
//! one, or counted in the [`ImportReport`] with the reason, and with its place where it could not be understood.
//! What a form cannot carry at all is said by [`ImportFormat::cannot_carry`].
//!
//! **Whatever is read may be hostile.** JSON is looked at by counting brackets, without recursion, and only
//! what is needed is decoded (`memoir_transcripts::raw`); archives are inflated up to a limit, and nothing is
//! ever unpacked to a path that they name; symbolic links are not followed; databases are opened for reading
//! alone. Sizes and counts are held to [`ImportLimits`].
//!
//! Each reader has a file of its own; `recognise.rs` tells them apart, `out.rs` is where all of them give what
//! they found, and cleans it.

mod chatgpt;
mod claude;
mod date;
mod files;
mod folder;
mod frontmatter;
mod git;
mod inventory;
mod json;
mod langgraph;
mod letta;
mod markdown;
mod mcp_memory;
mod mem0;
mod out;
mod recognise;
mod report;
mod split;
mod sqlite;
mod tags;
mod zip;

use std::{fmt, io, ops::ControlFlow, path::PathBuf, str::FromStr};

use memoir_domain::{PrivateText, Timestamp, memory::Kind, wire_names};
use memoir_transcripts::FilePosition;

pub use report::{ImportReport, Notice};

use crate::{files::Files, out::Out};

wire_names! {
    /// A form in which memories are kept.
    pub enum ImportFormat {
        /// mem0: its lists, the payloads of its vector store, its `history.db`.
        Mem0 = "mem0",
        /// Claude: the export of claude.ai, Claude Code's memory folder, the memory tool's directory.
        Claude = "claude",
        /// The reference memory server of the Model Context Protocol: `memory.jsonl`.
        McpMemory = "mcp-memory",
        /// Letta: an agent file, its archival passages, or the tree of its MemFS.
        Letta = "letta",
        /// Folders of Markdown: basic-memory, Obsidian, the Open Knowledge Format, agents' workspaces.
        Markdown = "markdown",
        /// ChatGPT's export, whose conversations hold what it was told to remember.
        ChatGpt = "chatgpt",
        /// A store of LangGraph: rows as JSON, or its SQLite database.
        LangGraph = "langgraph",
    }
}

impl ImportFormat {
    /// What is not in such a file, or has no place in a memory, and so does not come along.
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
                "what was deleted there since the last conversation that shows it, and may come back",
            ],
            Self::LangGraph => &[
                "vectors",
                "namespaces as such: they come as tags",
                "fields of a value other than its text",
            ],
        }
    }
}

/// A name that no [`ImportFormat`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a form of memories: expected `mem0`, `claude`, `mcp-memory`, `letta`, `markdown`, `chatgpt` or `langgraph`"
)]
pub struct UnknownImportFormat;

impl FromStr for ImportFormat {
    type Err = UnknownImportFormat;

    fn from_str(name: &str) -> Result<Self, UnknownImportFormat> {
        Self::from_name(name).ok_or(UnknownImportFormat)
    }
}

/// How much is held, and how much is looked at. What is over a limit is reported and passed over.
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
            // One entry lies in memory whole, and once more as its decoded text.
            entry_bytes: 16 << 20,
            // As many as a memory may have (`memory::CONTENT_LIMIT`): the use case would refuse a longer one.
            memory_characters: 10_000,
            page_characters: 1_500,
            files: 200_000,
            depth: 32,
            // Deflate gives up to about 1000 bytes for one, texts as people write them far fewer: more than 200
            // is made to harm.
            inflated_bytes: 64 << 30,
            inflation: 200,
        }
    }
}

/// What the reading depends on beside the file.
#[derive(Debug, Clone, Copy)]
pub struct ImportOptions {
    /// The present: what expires later than this has not expired yet.
    pub now: Timestamp,
    /// Whether pages that are instructions, such as `CLAUDE.md` and `SOUL.md`, come as memories too.
    pub instructions: bool,
    /// How much is held.
    pub limits: ImportLimits,
}

/// What is read.
pub enum Input {
    /// A file or a folder.
    Path(PathBuf),
    /// Standard input, or another stream that is read once.
    Stream(Box<dyn io::Read + Send>),
}

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Path(_) => "Path",
            Self::Stream(_) => "Stream",
        })
    }
}

/// Where something stands. `Display` prints numbers only; the file's name may hold somebody's words.
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
    /// Where a part of the entry here stands, so many bytes behind its beginning.
    pub(crate) fn of_part(&self, at: usize) -> Self {
        Self {
            file: self.file.clone(),
            // An entry may go on over lines, which nobody counts for a part of it.
            line: self.line.filter(|_| at == 0),
            byte: self.byte.map(|byte| byte + at as u64),
        }
    }
}

impl From<&FilePosition> for EntryPosition {
    fn from(position: &FilePosition) -> Self {
        Self {
            file: None,
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
    /// Its text: trimmed, at least three characters, at most [`ImportLimits::memory_characters`], with no control
    /// character but line feed and tab (others are replaced by U+FFFD).
    pub content: PrivateText,
    /// What the form says of how long it matters; `None` where it says nothing.
    pub kind: Option<Kind>,
    /// Its tags: trimmed, each once, at most 16 of at most 50 characters.
    pub tags: Vec<PrivateText>,
    /// Where it comes from: the form's name and its identifier there, at most 200 characters.
    pub source: PrivateText,
    /// When it was made; `None` where the file does not tell.
    pub created_at: Option<Timestamp>,
    /// Whether the other program kept it from being changed.
    pub constitutional: bool,
    /// The memory that it was, where Memoir wrote the page; `None` for all others.
    pub page_of: Option<PageOf>,
    /// Whether it is of what is offered as a system prompt ([`ImportReport::system_prompt`]).
    pub is_persona: bool,
    /// Why the other program does not hold it for true any more; `None` where it does.
    pub gone: Option<ImportedGone>,
}

/// A memory that Memoir wrote as a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOf {
    /// The agent's name.
    pub agent: String,
    /// The memory's number.
    pub number: u64,
}

/// That a memory is kept for its history only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedGone {
    /// Why.
    pub why: WhyGone,
    /// Since when; `None` where the file does not tell.
    pub at: Option<Timestamp>,
}

wire_names! {
    /// Why a memory is gone.
    #[derive(PartialOrd, Ord)]
    pub enum WhyGone {
        /// It was deleted.
        Deleted = "deleted",
        /// Its time was over.
        Expired = "expired",
        /// It turned out to be wrong, or to hold no longer.
        Invalidated = "invalidated",
        /// Another one took its place.
        Superseded = "superseded",
    }
}

/// Why something of a file is not given as a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoMemoryReason {
    /// Its text is empty or blank.
    Empty,
    /// Its text has fewer than three characters.
    Short,
    /// Its text is JSON and nothing else.
    BareJson,
    /// A list of other pages.
    Index,
    /// It tells an agent what to do, and is no memory.
    Instruction,
    /// A page to copy from.
    Template,
    /// The program's own, which can be made again.
    Derived,
    /// A secret.
    Secret,
    /// What was said in a conversation.
    Message,
    /// A file of another kind.
    OtherFile,
    /// A symbolic link, which is not followed.
    Link,
    /// A name that leads out of the archive.
    OutsidePath,
    /// It is larger than [`ImportLimits`] allows.
    TooLarge,
    /// There are more than [`ImportLimits`] allows.
    TooMany,
    /// It is not UTF-8.
    NotUtf8,
    /// It is not the JSON, or the row, that should stand there.
    Malformed,
    /// It ends in the middle.
    Truncated,
    /// It is of a kind that is not known.
    UnknownKind,
    /// The system could not read it.
    Unreadable,
    /// The field of this name is missing.
    MissingField(&'static str),
    /// The field of this name has a value that cannot be read.
    InvalidField(&'static str),
}

/// What a [`NoMemoryReason`] says of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMemoryClass {
    /// Nothing that is worth remembering.
    Junk,
    /// Left out by design.
    LeftOut,
    /// Something that may have been a memory.
    NotUnderstood,
}

impl NoMemoryReason {
    /// What it says of the entry.
    pub fn class(self) -> NoMemoryClass {
        match self {
            Self::Empty | Self::Short | Self::BareJson => NoMemoryClass::Junk,
            Self::Index
            | Self::Instruction
            | Self::Template
            | Self::Derived
            | Self::Secret
            | Self::Message
            | Self::OtherFile => NoMemoryClass::LeftOut,
            _ => NoMemoryClass::NotUnderstood,
        }
    }

    /// A stable name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Short => "short",
            Self::BareJson => "bare_json",
            Self::Index => "index",
            Self::Instruction => "instruction",
            Self::Template => "template",
            Self::Derived => "derived",
            Self::Secret => "secret",
            Self::Message => "message",
            Self::OtherFile => "other_file",
            Self::Link => "link",
            Self::OutsidePath => "outside_path",
            Self::TooLarge => "too_large",
            Self::TooMany => "too_many",
            Self::NotUtf8 => "not_utf8",
            Self::Malformed => "malformed",
            Self::Truncated => "truncated",
            Self::UnknownKind => "unknown_kind",
            Self::Unreadable => "unreadable",
            Self::MissingField(_) => "missing_field",
            Self::InvalidField(_) => "invalid_field",
        }
    }
}

impl fmt::Display for NoMemoryReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Empty => "empty",
            Self::Short => "fewer than three characters",
            Self::BareJson => "JSON and nothing else",
            Self::Index => "an index of other pages",
            Self::Instruction => "instructions, not memories",
            Self::Template => "templates",
            Self::Derived => "the program's own, which can be made again",
            Self::Secret => "secrets",
            Self::Message => "messages of conversations",
            Self::OtherFile => "files of other kinds",
            Self::Link => "a symbolic link, which is not followed",
            Self::OutsidePath => "a name that leads out of the archive",
            Self::TooLarge => "too large",
            Self::TooMany => "more than are looked at",
            Self::NotUtf8 => "not UTF-8",
            Self::Malformed => "malformed",
            Self::Truncated => "cut off",
            Self::UnknownKind => "of a kind that is not known",
            Self::Unreadable => "the system cannot read it",
            Self::MissingField(name) => return write!(formatter, "`{name}` is missing"),
            Self::InvalidField(name) => return write!(formatter, "`{name}` cannot be read"),
        };
        formatter.write_str(words)
    }
}

/// Why something cannot be read. None holds words of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The form was not given and cannot be told.
    #[error("not a form of memories that is known; it is {0}")]
    Unrecognised(&'static str),
    /// It is a conversation in that form.
    #[error("no memories, but a conversation in the form `{0}`")]
    Conversation(memoir_transcripts::TranscriptFormat),
    /// The file is UTF-16.
    #[error("the file is not UTF-8 but UTF-16")]
    Utf16,
    /// There is nothing of that form in it.
    #[error("nothing in it is in the form `{0}`")]
    OtherForm(ImportFormat),
    /// The archive is of a kind that is not read, or not whole.
    #[error("the archive cannot be read: {0}")]
    Archive(&'static str),
    /// The database cannot be read.
    #[error("the database cannot be read: {0}")]
    Database(&'static str),
    /// The system could not read it.
    #[error("reading failed: {0}")]
    Read(io::ErrorKind),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Read(error.kind())
    }
}

/// Whether a file of that name that begins with `head` may be in one of the forms. Of the beginning, 256 KB
/// are enough.
pub fn may_be_memories(name: &str, head: &[u8]) -> bool {
    recognise::may_be(name, head)
}

/// A form, and by what it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The form.
    pub format: ImportFormat,
    /// By what it was told, such as `results[].memory, hash`; names of fields and files only.
    pub by: String,
    /// The agent whose memories Memoir wrote as these pages; `None` for all else.
    pub pages_of: Option<String>,
}

/// Something to read, of a form that is known.
#[derive(Debug)]
pub struct Import {
    files: Files,
    recognised: Recognised,
}

impl Import {
    /// Looks at what is to be read. Where the form is not given, it is told by what is there.
    ///
    /// # Errors
    /// It cannot be read, or its form cannot be told.
    pub fn open(
        input: Input,
        format: Option<ImportFormat>,
        limits: &ImportLimits,
    ) -> Result<Self, Error> {
        let mut files = Files::open(input, limits)?;
        let recognised = match format {
            Some(format) => Recognised {
                format,
                by: "it was said".to_owned(),
                pages_of: None,
            },
            None => recognise::recognise(&mut files, limits)?,
        };
        Ok(Self { files, recognised })
    }

    /// The form, and by what it was told.
    pub fn recognised(&self) -> &Recognised {
        &self.recognised
    }

    /// Reads all of it, and gives each memory to `give`, which can stop the reading.
    ///
    /// What came before something that cannot be read on was given; the report says where it ended.
    ///
    /// # Errors
    /// Nothing of it can be read.
    pub fn read(
        self,
        options: &ImportOptions,
        give: &mut dyn FnMut(ImportedMemory) -> ControlFlow<()>,
    ) -> Result<ImportReport, Error> {
        // Before a reader begins: one that is stopped half-way gives its report too.
        let Self { files, recognised } = self;
        let mut out = Out::new(recognised.format, *options, give);
        files.tell_passed(&mut out);
        let read = match recognised.format {
            ImportFormat::Mem0 => mem0::read(files, &mut out),
            ImportFormat::Claude => claude::read(files, &mut out),
            ImportFormat::McpMemory => mcp_memory::read(files, &mut out),
            ImportFormat::Letta => letta::read(files, &mut out),
            ImportFormat::Markdown => markdown::read(files, &mut out),
            ImportFormat::ChatGpt => chatgpt::read(files, &mut out),
            ImportFormat::LangGraph => langgraph::read(files, &mut out),
        };
        match read {
            // Whoever stops the reading wants to know of what came before: that is a report, not an error.
            Ok(()) | Err(Halt::Stopped) => Ok(out.finish()),
            Err(Halt::Failed(error)) => Err(error),
        }
    }
}

/// Why a reader does not go on.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Whoever takes the memories wants no more.
    Stopped,
    /// Nothing can be read.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// What a reader comes to.
pub(crate) type ReadResult = Result<(), Halt>;
