//! One memory: its text, its place, its size, its origin, its duplicates, and the limits of what can be saved (SPEC 1,
//! 2.1, 2.3). Changes of memories and their records are not here, but in `change` and `log`.

pub mod duplicates;
pub mod mark;
pub mod near_duplicates;
pub mod origin;

use std::{
    borrow::Borrow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::{
    memory::origin::{ActorKind, Origin, SavedBy, Side},
    text::{fold, private::PrivateText},
    time::Timestamp,
};

/// Most characters of a memory's content after trimming (SPEC 2.1).
pub const CONTENT_LIMIT: usize = 10_000;
/// Most tags that a memory can be saved with (SPEC 2.1). A survivor of duplicates may carry more (SPEC 3.4).
pub const TAGS_LIMIT: usize = 16;
/// Most characters of one tag (SPEC 2.1).
pub const TAG_LIMIT: usize = 50;
/// Most characters of a memory's source (SPEC 2.4).
pub const SOURCE_LIMIT: usize = 200;
/// Days after its origin date at which a journal entry leaves the prompt (SPEC 1).
pub const JOURNAL_DAYS: i64 = 7;

/// `ceil(characters / 4)`, characters being Unicode scalar values (SPEC 1).
pub fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// The number of a memory within its agent, from 1. Never used again, even after discarding.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    derive_more::Display,
    derive_more::Debug,
)]
#[debug("{self}")]
#[display("#{}", self.0)]
#[serde(transparent)]
pub struct Number(pub u64);

wire_names! {
    /// Where a memory is shown and found.
    #[derive(PartialOrd, Ord)]
    pub enum Kind {
        /// Permanent, in the agent's prompt.
        Core = "core",
        /// In the prompt for a week after its origin date; never erased.
        Journal = "journal",
        /// Never in the prompt, found by recall, never erased.
        Archival = "archival",
    }
}

/// The core memory at the end of the chain of memories that took a memory's place (SPEC 1); `None` where there is none.
/// `place` gives an active memory's kind, and the memory above it. At most `links` are followed, since stored links that
/// are wrong may form a circle.
pub fn core_above(
    mut under: Option<Number>,
    links: usize,
    place: impl Fn(Number) -> Option<(Kind, Option<Number>)>,
) -> Option<Number> {
    for _ in 0..links {
        let number = under?;
        match place(number)? {
            (Kind::Core, _) => return Some(number),
            (_, next) => under = next,
        }
    }
    None
}

impl std::str::FromStr for Kind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::from_name(text)
            .ok_or_else(|| Invalid::new("kind", "must be `core`, `journal` or `archival`"))
    }
}

wire_names! {
    /// What made a memory archival.
    pub enum ArchivedBy {
        Saved = "saved",
        /// An edit of a refinement session.
        Session = "session",
        Replaced = "replaced",
        /// A duplicate cleanup that ignores case.
        Duplicate = "duplicate",
    }
}

wire_names! {
    /// What a journal entry by Memoir reports. It is the entry's source.
    #[derive(PartialOrd, Ord)]
    pub enum ReportKind {
        /// A refinement session.
        Session = "memoir: session",
        /// A change of the agent's settings by an administrator or the owner.
        Settings = "memoir: settings",
        /// An edit of a memory by the owner.
        Edit = "memoir: edit",
        /// A memory that is no longer constitutional.
        Protection = "memoir: protection",
        /// A program, a token or a person that was given access.
        Access = "memoir: access",
    }
}

/// What is known of an archival memory beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// The memory that took its place; `None` where there is none. It may be discarded by now: then it reads as
    /// none (SPEC 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<Number>,
    /// When it became archival.
    pub at: Timestamp,
    /// What made it archival.
    pub by: ArchivedBy,
}

/// The kind of a memory with what belongs to it. It is one property: it changes and returns together (SPEC 3.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the prompt.
    Core,
    /// In the journal.
    Journal,
    /// In the archive.
    Archival(Archived),
}

impl Place {
    /// Its kind.
    pub fn kind(self) -> Kind {
        match self {
            Self::Core => Kind::Core,
            Self::Journal => Kind::Journal,
            Self::Archival(_) => Kind::Archival,
        }
    }

    /// Of an archival memory; `None` of others.
    pub fn archived(self) -> Option<Archived> {
        match self {
            Self::Archival(archived) => Some(archived),
            Self::Core | Self::Journal => None,
        }
    }
}

/// Something given from outside that breaks a limit. Names the field, the limit and the size given, never the words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// The field at fault, by its wire name.
    pub field: &'static str,
    /// What is wrong, the limit, and what to do.
    pub problem: String,
    /// Whether the only fault is the length.
    pub too_long: bool,
}

impl Invalid {
    /// A fault other than length.
    pub fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self {
            field,
            problem: problem.into(),
            too_long: false,
        }
    }

    /// Checks that a range of times does not end before it begins. `None` is an open end.
    ///
    /// # Errors
    /// `since` is later than `until`.
    pub fn check_range(since: Option<Timestamp>, until: Option<Timestamp>) -> Result<(), Self> {
        match (since, until) {
            (Some(since), Some(until)) if since > until => {
                let problem = "is later than `until`; exchange the two";
                Err(Self::new("since", problem))
            }
            _ => Ok(()),
        }
    }

    /// `given` characters where `limit` are allowed.
    pub fn too_long(field: &'static str, given: usize, limit: usize) -> Self {
        Self {
            field,
            problem: format!(
                "is {given} characters long, and the limit is {limit}; shorten it or split it up"
            ),
            too_long: true,
        }
    }
}

/// Trims `raw` and checks it against a limit in characters and against control characters.
///
/// # Errors
/// Empty after trimming, longer than `limit`, or with a control character other than newline and tab
/// (a carriage return counts only where no newline follows).
pub fn parse_text(field: &'static str, raw: &str, limit: usize) -> Result<PrivateText, Invalid> {
    // Trimmed before it is measured: the limit is of what is kept.
    let text = raw.trim();
    if text.is_empty() {
        let problem = format!("is empty; give 1 to {limit} characters");
        return Err(Invalid::new(field, problem));
    }
    let length = text.chars().count();
    if length > limit {
        return Err(Invalid::too_long(field, length, limit));
    }
    if let Some((at, found)) = first_control(text) {
        // The character is shown by its number: printed as it is, it would act on a terminal.
        let (found, at) = (found as u32, at + 1);
        let problem = format!(
            "has the control character U+{found:04X} at character {at}; only newlines and tabs are allowed"
        );
        return Err(Invalid::new(field, problem));
    }
    Ok(PrivateText::new(text))
}

/// The content of a memory, of 1 to [`CONTENT_LIMIT`] characters (SPEC 2.1). A byte order mark at its ends is trimmed as
/// white space is: it belongs to the file from which a client took the text.
///
/// # Errors
/// As for [`parse_text`].
pub fn parse_content(raw: &str) -> Result<PrivateText, Invalid> {
    let is_no_text = |end: char| end.is_whitespace() || end == '\u{feff}';
    parse_text("content", raw.trim_matches(is_no_text), CONTENT_LIMIT)
}

fn first_control(text: &str) -> Option<(usize, char)> {
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, character)) = characters.next() {
        // A carriage return by itself would overwrite the line before it on a terminal.
        let before_newline = characters.peek().is_some_and(|(_, next)| *next == '\n');
        let allowed = matches!(character, '\n' | '\t') || (character == '\r' && before_newline);
        if character.is_control() && !allowed {
            return Some((at, character));
        }
    }
    None
}

/// Whether `text` has no tab and no line break of any script.
pub(crate) fn is_single_line(text: &str) -> bool {
    !text
        .chars()
        // These two are no control characters by their class, and yet break a line.
        .any(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}'))
}

/// The tags of a memory: distinct, in the order given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tags(Vec<PrivateText>);

impl Tags {
    /// Trims and checks tags given from outside; repeated ones count once.
    ///
    /// # Errors
    /// More than [`TAGS_LIMIT`], or one that is empty, too long, or has a control character.
    pub fn parse<'a>(raw: impl IntoIterator<Item = &'a str>) -> Result<Self, Invalid> {
        let (mut tags, mut seen) = (Vec::new(), BTreeSet::new());
        for raw in raw {
            let tag = parse_text("tags", raw, TAG_LIMIT)?;
            if !is_single_line(tag.expose()) {
                let problem = "a tag must be a single line without tabs";
                return Err(Invalid::new("tags", problem));
            }
            // What is given twice is one. Those over the limit are counted and not kept.
            if seen.insert(raw.trim()) && seen.len() <= TAGS_LIMIT {
                tags.push(tag);
            }
        }
        if seen.len() > TAGS_LIMIT {
            let given = seen.len();
            let problem =
                format!("has {given} tags, and the limit is {TAGS_LIMIT}; leave some out");
            return Err(Invalid::new("tags", problem));
        }
        Ok(Self(tags))
    }

    /// All tags of all, in this order.
    pub fn union<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut seen = BTreeSet::new();
        let all = all.into_iter().flat_map(|tags| &tags.0);
        Self(all.filter(|tag| seen.insert(*tag)).cloned().collect())
    }

    /// The words of each tag.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(PrivateText::expose)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of `wanted`, which are folded, is among the tags, whatever the case.
    pub fn contains_any(&self, wanted: &BTreeSet<String>) -> bool {
        !wanted.is_empty() && self.iter().any(|tag| wanted.contains(&fold(tag)))
    }
}

/// One memory of one agent, in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Its number within the agent.
    pub number: Number,
    /// Where it is: in the prompt, the journal or the archive.
    pub place: Place,
    /// Its text, trimmed.
    pub content: PrivateText,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// A free-text reference to where its text came from; `None` of a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PrivateText>,
    /// The role that saved it, and its origin. Of a summary: the weakest origin of its sources.
    pub saved_by: SavedBy,
    /// Whether a session wrote its text in place of others (SPEC 3.9).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_summary: bool,
    /// The record that made it constitutional; `None` where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected_seq: Option<u64>,
    /// The record that first made it core: its place in the order of ages (SPEC 3.14). `None` of a summary, and of
    /// a memory that was never core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_seq: Option<u64>,
    /// When it was saved.
    pub recorded_at: Timestamp,
    /// The origin date: the time from which its content dates.
    pub created_at: Timestamp,
    /// When its text, tags, date or flag last changed.
    pub updated_at: Timestamp,
    /// When it was discarded; `None` while it is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded_at: Option<Timestamp>,
    /// When its text was shredded (SPEC 4.4); `None` where it was not. A shredded memory has no text, is
    /// discarded, and never returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shredded_at: Option<Timestamp>,
}

/// A memory with several readers. Its text is in memory once, and is wiped when the last reader drops it.
pub type SharedMemory = Arc<Zeroizing<Memory>>;

impl Zeroize for Memory {
    /// Overwrites its text and its source where they are, but not its tags.
    fn zeroize(&mut self) {
        self.content.zeroize();
        self.source.zeroize();
    }
}

impl Memory {
    /// Its size in tokens (SPEC 1).
    pub fn tokens(&self) -> u64 {
        tokens(self.content.expose())
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.place.kind()
    }

    /// The memory that took its place; `None` where there is none, or where it is not archival. That memory may
    /// be discarded by now.
    pub fn under(&self) -> Option<Number> {
        self.place.archived()?.under
    }

    /// Whether no session can delete, consolidate or archive it.
    pub fn is_constitutional(&self) -> bool {
        self.protected_seq.is_some()
    }

    /// Whether it is not discarded.
    pub fn is_active(&self) -> bool {
        self.discarded_at.is_none()
    }

    /// Whether it counts towards the core size.
    pub fn is_active_core(&self) -> bool {
        self.kind() == Kind::Core && self.is_active()
    }

    /// Whether it is in the archive.
    pub fn is_active_archival(&self) -> bool {
        self.kind() == Kind::Archival && self.is_active()
    }

    /// Whether its text is an original: a text as its author saved it (SPEC 1). What a session wrote is none, and
    /// journal entries are counted once they are core or archival.
    pub fn is_original(&self) -> bool {
        !self.is_summary && self.kind() != Kind::Journal
    }

    /// Whether a session or a replacement made it archival, and it was not brought back since (SPEC 3.14).
    pub fn has_left_prompt(&self) -> bool {
        let by = self.place.archived().map(|archived| archived.by);
        matches!(by, Some(ArchivedBy::Session | ArchivedBy::Replaced))
    }

    /// The same memory without its text, tags and source; whether it is constitutional stays.
    #[must_use]
    pub fn without_text(&self) -> Self {
        Self {
            content: PrivateText::default(),
            tags: Tags::default(),
            source: None,
            ..self.clone()
        }
    }

    /// The same memory in the archive, `under` the one that took its place.
    #[must_use]
    pub fn archived(&self, under: Option<Number>, by: ArchivedBy, at: Timestamp) -> Self {
        Self {
            place: Place::Archival(Archived { under, at, by }),
            ..self.clone()
        }
    }

    /// The same archival memory under another one.
    #[must_use]
    pub fn moved_under(&self, under: Option<Number>) -> Self {
        let place = match self.place {
            Place::Archival(archived) => Place::Archival(Archived { under, ..archived }),
            other => other,
        };
        Self {
            place,
            ..self.clone()
        }
    }

    /// The same memory in the prompt. `seq` is the place of the record that makes it core.
    #[must_use]
    pub fn promoted(&self, seq: u64) -> Self {
        Self {
            place: Place::Core,
            core_seq: self.core_seq.or((!self.is_summary).then_some(seq)),
            ..self.clone()
        }
    }

    /// The same memory, discarded at `now`.
    #[must_use]
    pub fn discarded(&self, now: Timestamp) -> Self {
        Self {
            discarded_at: Some(now),
            ..self.clone()
        }
    }

    /// Its origin (SPEC 2.4).
    pub fn origin(&self) -> Origin {
        self.saved_by.origin
    }

    /// Its origin where that is weaker than `agent`; it is shown outside of the text (SPEC 2.4).
    pub fn weak_origin(&self) -> Option<Origin> {
        Some(self.origin()).filter(|origin| origin.weakness() > 0)
    }

    /// The side of its text (SPEC 3.4).
    pub fn side(&self) -> Side {
        self.saved_by.side()
    }

    /// This memory, for several readers.
    pub fn into_shared(self) -> SharedMemory {
        Arc::new(Zeroizing::new(self))
    }

    /// Whether it is a journal entry that Memoir did not write (SPEC 2.5).
    pub fn is_to_be_reflected_on(&self) -> bool {
        // By the role: a client may give any text as a source, that of Memoir's own entries too.
        self.kind() == Kind::Journal && !self.is_written_by_memoir()
    }

    /// Whether Memoir itself wrote it: a report on a session, a setting or an access.
    pub fn is_written_by_memoir(&self) -> bool {
        self.saved_by == SavedBy::of(ActorKind::System)
    }

    /// Whether it is an active report on an act that is no part of a session. A rewind leaves these: it undoes neither
    /// settings nor access, and must not hide them from the agent (SPEC 5.2, 5.5).
    pub fn stays_on_rewind(&self) -> bool {
        let kind = self.report_kind().filter(|_| self.is_active());
        kind.is_some_and(|kind| kind != ReportKind::Session)
    }

    /// What it reports; `None` where Memoir did not write it.
    pub fn report_kind(&self) -> Option<ReportKind> {
        let source = self.source.as_ref().filter(|_| self.is_written_by_memoir());
        ReportKind::from_name(source?.expose())
    }

    /// When a journal entry expires from the prompt; `None` of other kinds.
    pub fn fades_at(&self) -> Option<Timestamp> {
        let expires = self.created_at.plus_days(JOURNAL_DAYS);
        (self.kind() == Kind::Journal).then_some(expires)
    }
}

/// A memory given from outside and checked, not yet numbered (SPEC 2.1, 2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// Its kind.
    pub kind: Kind,
    /// Its text, trimmed.
    pub content: PrivateText,
    /// Its tags.
    pub tags: Tags,
    /// A free-text reference; `None` where the client gives none.
    pub source: Option<PrivateText>,
    /// The origin date; `None` means now.
    pub created_at: Option<Timestamp>,
    /// Whether to make it constitutional: an administrator may, an agent may not (SPEC 2.4).
    pub constitutional: bool,
    /// The role that saves it, and its origin.
    pub saved_by: SavedBy,
    /// Whether a session wrote it in place of others.
    pub is_summary: bool,
    /// Of an archival memory; `None` means saved as archival now, under none.
    pub archived: Option<Archived>,
}

/// Memories by their numbers.
pub fn by_number<M: Borrow<Memory>>(memories: impl IntoIterator<Item = M>) -> BTreeMap<Number, M> {
    let numbered = memories
        .into_iter()
        .map(|memory| (memory.borrow().number, memory));
    numbered.collect()
}

impl NewMemory {
    /// A report of Memoir's own in the journal, dated now.
    pub fn report(kind: ReportKind, content: impl Into<PrivateText>) -> Self {
        let saved_by = SavedBy::of(ActorKind::System);
        Self {
            source: Some(kind.as_str().into()),
            ..Self::new(Kind::Journal, content.into(), saved_by)
        }
    }

    /// One without tags, source and date.
    pub fn new(kind: Kind, content: PrivateText, saved_by: SavedBy) -> Self {
        Self {
            kind,
            content,
            tags: Tags::default(),
            source: None,
            created_at: None,
            constitutional: false,
            saved_by,
            is_summary: false,
            archived: None,
        }
    }

    /// Checks that a journal entry is not dated ahead of `now`: it would stay in the prompt for that much longer.
    ///
    /// # Errors
    /// It is dated more than a day ahead.
    pub fn check_date(&self, now: Timestamp) -> Result<(), Invalid> {
        self.created_at
            .map_or(Ok(()), |at| check_date(self.kind, at, now))
    }

    /// Gives it a number and dates. `seq` is the place of the record that saves it.
    pub fn into_memory(self, number: Number, seq: u64, now: Timestamp) -> Memory {
        let place = match self.kind {
            Kind::Core => Place::Core,
            Kind::Journal => Place::Journal,
            Kind::Archival => Place::Archival(self.archived.unwrap_or(Archived {
                under: None,
                at: now,
                by: ArchivedBy::Saved,
            })),
        };
        Memory {
            number,
            place,
            content: self.content,
            tags: self.tags,
            source: self.source,
            saved_by: self.saved_by,
            is_summary: self.is_summary,
            // Only core memories are constitutional (SPEC 1).
            protected_seq: (self.constitutional && self.kind == Kind::Core).then_some(seq),
            core_seq: (self.kind == Kind::Core && !self.is_summary).then_some(seq),
            recorded_at: now,
            created_at: self.created_at.unwrap_or(now),
            updated_at: now,
            discarded_at: None,
            shredded_at: None,
        }
    }
}

/// Checks that a journal entry is not dated ahead of `now`: it would expire that much later.
pub(crate) fn check_date(kind: Kind, at: Timestamp, now: Timestamp) -> Result<(), Invalid> {
    // A core memory does not expire, so it may have any date.
    if kind == Kind::Journal && !at.is_plausible_at(now) {
        let problem = format!(
            "of a journal entry must not lie more than a day ahead, and is {at}; leave it out for now ({now})"
        );
        return Err(Invalid::new("created_at", problem));
    }
    Ok(())
}

/// A structure of counts, and the conversions that name each of them, in the order in which they are stored.
macro_rules! counts {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $count:ident: u64,)* }) => {
        $(#[$about])*
        pub struct $name { $($(#[$doc])* pub $count: u64,)* }

        impl $name {
            /// How many counts there are.
            pub(crate) const COUNTS: usize = [$(stringify!($count)),*].len();

            /// Every count with its name, in a fixed order.
            pub(crate) fn counts(&self) -> [(&'static str, u64); Self::COUNTS] {
                [$((stringify!($count), self.$count)),*]
            }

            /// Of these counts, in the same order.
            pub(crate) fn from_counts([$($count),*]: [u64; Self::COUNTS]) -> Self {
                Self { $($count),* }
            }
        }
    };
}

counts! {
    /// What is counted of an agent's memories without reading them (SPEC 1, 5.1).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct Tally {
        /// The core size: tokens of the active core memories.
        pub core_tokens: u64,
        /// Active core memories.
        pub core_count: u64,
        /// Active summaries; they are among the core memories.
        pub summary_count: u64,
        /// Tokens of the active summaries.
        pub summary_tokens: u64,
        /// Active constitutional memories; they are among the core memories.
        pub constitutional_count: u64,
        /// Tokens of the active constitutional memories.
        pub constitutional_tokens: u64,
        /// Active journal entries, expired ones included.
        pub journal_count: u64,
        /// Tokens of the active journal entries, expired ones included.
        pub journal_tokens: u64,
        /// Active archival memories.
        pub archival_count: u64,
        /// Tokens of the active archival memories.
        pub archival_tokens: u64,
        /// Active archival memories that a new memory replaced.
        pub replaced_count: u64,
        /// Discarded memories of any kind, without the shredded ones.
        pub discarded_count: u64,
        /// Shredded memories of any kind. Active, discarded and shredded ones add up to all that were saved.
        pub shredded_count: u64,
    }
}

impl Tally {
    /// Counts one memory in.
    pub fn add(&mut self, memory: &Memory) {
        self.count(memory, |value, by| *value += by);
    }

    /// Counts one memory out. The counts must include it.
    pub fn remove(&mut self, memory: &Memory) {
        // Stored counts may have been modified outside Memoir. Verifying names that; no decision is to panic
        // because of it.
        self.count(memory, |value, by| *value = value.saturating_sub(by));
    }

    /// Originals in the prompt (SPEC 3.12).
    pub fn originals_in_prompt(&self) -> u64 {
        self.core_count.saturating_sub(self.summary_count)
    }

    /// Originals in the prompt and in the archive.
    pub fn originals(&self) -> u64 {
        self.originals_in_prompt() + self.archival_count
    }

    /// Memories that have a text: active ones of every kind, and discarded ones.
    pub fn with_text(&self) -> u64 {
        self.core_count + self.journal_count + self.archival_count + self.discarded_count
    }

    fn count(&mut self, memory: &Memory, mut change: impl FnMut(&mut u64, u64)) {
        if memory.shredded_at.is_some() {
            change(&mut self.shredded_count, 1);
            return;
        }
        if !memory.is_active() {
            change(&mut self.discarded_count, 1);
            return;
        }
        let tokens = memory.tokens();
        match memory.place {
            Place::Core => {
                change(&mut self.core_count, 1);
                change(&mut self.core_tokens, tokens);
                if memory.is_summary {
                    change(&mut self.summary_count, 1);
                    change(&mut self.summary_tokens, tokens);
                }
                if memory.is_constitutional() {
                    change(&mut self.constitutional_count, 1);
                    change(&mut self.constitutional_tokens, tokens);
                }
            }
            Place::Journal => {
                change(&mut self.journal_count, 1);
                change(&mut self.journal_tokens, tokens);
            }
            Place::Archival(archived) => {
                change(&mut self.archival_count, 1);
                change(&mut self.archival_tokens, tokens);
                if archived.by == ArchivedBy::Replaced {
                    change(&mut self.replaced_count, 1);
                }
            }
        }
    }
}

/// An active core memory, recorded by record `number`, with an origin date `number` seconds after 1970.
#[cfg(test)]
pub(crate) fn test_memory(number: u64, content: &str) -> Memory {
    let from = Timestamp::from_microseconds(0).unwrap();
    let at = from.plus_seconds(number as i64);
    let memory = NewMemory::new(Kind::Core, content.into(), SavedBy::of(ActorKind::Agent));
    memory.into_memory(Number(number), number, at)
}

/// Such memories, numbered from 1 on.
#[cfg(test)]
pub(crate) fn test_memories(texts: &[impl AsRef<str>]) -> Vec<Memory> {
    let numbered = (1..).zip(texts);
    let memories = numbered.map(|(number, text)| test_memory(number, text.as_ref()));
    memories.collect()
}
