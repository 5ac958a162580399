//! One memory: its text, its numbers, and what may be put into it (SPEC 1, 2.1, 2.3).

use std::{
    borrow::Borrow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use crate::{
    PrivateText, Timestamp,
    audit::ActorKind,
    text::fold,
    wording::{self, Origin, SavedBy, Wording, WordingId},
};

/// Most characters of a memory's content after trimming (SPEC 2.1).
pub const CONTENT_LIMIT: usize = 10_000;
/// Most tags that a memory can be saved with (SPEC 2.1). A survivor of duplicates may carry more (SPEC 3.4).
pub const TAGS_LIMIT: usize = 16;
/// Most characters of one tag (SPEC 2.1).
pub const TAG_LIMIT: usize = 50;
/// Most characters of a memory's source (SPEC 2.4).
pub const SOURCE_LIMIT: usize = 200;
/// The source of the journal entries that Memoir itself writes.
const OWN_SOURCE: &str = "memoir";
/// Days after its origin date at which a journal entry leaves the prompt (SPEC 1).
pub const JOURNAL_DAYS: i64 = 7;

/// When a memory of that kind and origin date leaves the prompt; `None` for a core memory.
pub fn fades_at(kind: Kind, created_at: Timestamp) -> Option<Timestamp> {
    (kind == Kind::Journal).then(|| created_at.plus_days(JOURNAL_DAYS))
}

/// `ceil(characters / 4)`, characters being Unicode scalar values (SPEC 1).
pub fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// The number of a memory within its agent, from 1. Never used again, even after discarding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(pub u64);

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "#{}", self.0)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

wire_names! {
    /// How long a memory stays in the prompt.
    #[derive(PartialOrd, Ord)]
    pub enum Kind {
        /// Permanent, always in the agent's prompt.
        Core = "core",
        /// In the prompt for a week after its origin date; kept for ever.
        Journal = "journal",
    }
}

impl std::str::FromStr for Kind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::from_name(text).ok_or_else(|| Invalid::new("kind", "must be `core` or `journal`"))
    }
}

/// Something given from outside that breaks a limit. Names the field, the limit and the size given,
/// never the words.
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
        return Err(Invalid::new(
            field,
            format!("is empty; give 1 to {limit} characters"),
        ));
    }
    let length = text.chars().count();
    if length > limit {
        return Err(Invalid::too_long(field, length, limit));
    }
    if let Some((at, found)) = first_control(text) {
        // The character is shown by its number: printed as it is, it would act on a terminal.
        return Err(Invalid::new(
            field,
            format!(
                "has the control character U+{:04X} at character {}; only newlines and tabs are allowed",
                found as u32,
                at + 1
            ),
        ));
    }
    Ok(PrivateText::new(text))
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
        let mut parsed = Vec::new();
        for tag in raw {
            let tag = parse_text("tags", tag, TAG_LIMIT)?;
            if !is_single_line(tag.expose()) {
                return Err(Invalid::new(
                    "tags",
                    "a tag must be a single line without tabs",
                ));
            }
            parsed.push(tag);
        }
        // Before they are counted: what is given twice is one.
        let tags = Self::distinct(parsed);
        if tags.0.len() > TAGS_LIMIT {
            return Err(Invalid::new(
                "tags",
                format!(
                    "has {} tags, and the limit is {TAGS_LIMIT}; leave some out",
                    tags.0.len()
                ),
            ));
        }
        Ok(tags)
    }

    /// All tags of all, in this order.
    pub fn union<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::distinct(all.into_iter().flat_map(|tags| tags.0.iter().cloned()))
    }

    fn distinct(tags: impl IntoIterator<Item = PrivateText>) -> Self {
        let mut seen = BTreeSet::new();
        Self(
            tags.into_iter()
                .filter(|tag| seen.insert(tag.clone()))
                .collect(),
        )
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
    /// How long it stays in the prompt.
    pub kind: Kind,
    /// Its text, trimmed.
    pub content: PrivateText,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Where it came from, in the words of whoever saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PrivateText>,
    /// The door that it was saved by; the origin of a core memory follows from its wordings, see
    /// [`Memory::origin`].
    pub door: SavedBy,
    /// The wordings that it stands for, the oldest first; none of a journal entry. Those of a discarded
    /// memory are what it stood for, and stands for again where it is brought back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wordings: Vec<Wording>,
    /// The record that tells of its text when it was made constitutional; `None` means that it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected_seq: Option<u64>,
    /// The origin date: when what it tells happened or was first noted.
    pub created_at: Timestamp,
    /// When its text, tags, date or flag last changed.
    pub updated_at: Timestamp,
    /// When it was discarded; `None` means that it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded_at: Option<Timestamp>,
    /// When its words were taken out for good (SPEC 4.4). It has none since, is discarded, and nothing
    /// gives it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shredded_at: Option<Timestamp>,
}

/// A memory that several look at: its words stand in memory once, and are wiped when the last of these lets go of it.
pub type SharedMemory = Arc<Zeroizing<Memory>>;

impl Zeroize for Memory {
    /// Takes its words away and overwrites them where they were, but for its tags.
    fn zeroize(&mut self) {
        self.content.zeroize();
        self.source.zeroize();
        for wording in &mut self.wordings {
            wording.source.zeroize();
            for lost in &mut wording.let_go {
                lost.lost.zeroize();
            }
        }
    }
}

impl Memory {
    /// Its size in tokens (SPEC 1).
    pub fn tokens(&self) -> u64 {
        tokens(self.content.expose())
    }

    /// Whether no session can delete or merge it.
    pub fn is_constitutional(&self) -> bool {
        self.protected_seq.is_some()
    }

    /// Whether it is not discarded.
    pub fn is_kept(&self) -> bool {
        self.discarded_at.is_none()
    }

    /// Whether it counts towards the mass.
    pub fn is_kept_core(&self) -> bool {
        self.kind == Kind::Core && self.is_kept()
    }

    /// The same memory without its words; whether it is constitutional stays.
    #[must_use]
    pub fn without_words(&self) -> Self {
        Self {
            content: PrivateText::default(),
            tags: Tags::default(),
            source: None,
            // Those of others stand in records of others.
            wordings: self
                .wordings
                .iter()
                .filter(|wording| wording.number != self.number)
                .cloned()
                .collect(),
            ..self.clone()
        }
    }

    /// The weakest origin of the wordings that it stands for (SPEC 2.4), and of those that it was merged from:
    /// where one of these was given back since, its words still stand in the text.
    pub fn origin(&self) -> Origin {
        let origins = self.wordings.iter().map(|wording| wording.origin);
        // There is always at least one origin: that of the door.
        origins.chain([self.door.origin]).max().unwrap_or_default()
    }

    /// Its origin where that is weaker than the agent's own word, and is shown beside its text (SPEC 2.4).
    pub fn weak_origin(&self) -> Option<Origin> {
        Some(self.origin()).filter(|origin| origin.weakness() > 0)
    }

    /// Where it came from, in the words of whoever saved it: the sources of all wordings, each once.
    pub fn sources(&self) -> Vec<&PrivateText> {
        let mut sources: Vec<&PrivateText> = Vec::new();
        let all = self
            .wordings
            .iter()
            .filter_map(|wording| wording.source.as_ref());
        for source in all.chain(&self.source) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        sources
    }

    /// The wordings that count: all of a kept core memory, and of a discarded one those that a session
    /// let go by deleting it.
    pub fn counted_wordings(&self) -> impl Iterator<Item = &Wording> {
        let all = self.wordings.iter();
        all.filter(|wording| self.counts(wording))
    }

    /// This memory, for several to look at.
    pub fn into_shared(self) -> SharedMemory {
        Arc::new(Zeroizing::new(self))
    }

    /// Whether that wording of it counts.
    pub(crate) fn counts(&self, wording: &Wording) -> bool {
        self.is_kept_core() || self.kind == Kind::Core && wording.is_deleted()
    }

    /// Whether an administrator added any of the wordings that it stands for (SPEC 3.4).
    pub fn is_added_by_administrator(&self) -> bool {
        let mut all = self.wordings.iter();
        all.any(|wording| wording.added_by == ActorKind::Administrator)
    }

    /// Whether it is a journal entry that somebody else than Memoir itself wrote (SPEC 2.5).
    pub fn is_to_be_reflected_on(&self) -> bool {
        // By the door that it came in by: any text may be given as a source, that of Memoir's own entries too.
        self.kind == Kind::Journal && self.door != SavedBy::of(ActorKind::System)
    }

    /// When a journal entry leaves the prompt; `None` for a core memory.
    pub fn fades_at(&self) -> Option<Timestamp> {
        fades_at(self.kind, self.created_at)
    }
}

/// A memory given from outside and checked, not yet numbered (SPEC 2.1, 2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// How long it stays in the prompt.
    pub kind: Kind,
    /// Its text, trimmed.
    pub content: PrivateText,
    /// Its tags.
    pub tags: Tags,
    /// Where it came from.
    pub source: Option<PrivateText>,
    /// The origin date; `None` means now.
    pub created_at: Option<Timestamp>,
    /// Whether to make it constitutional: an administrator may, an agent may not (SPEC 2.4).
    pub constitutional: bool,
    /// The door that it comes in by.
    pub door: SavedBy,
    /// The wordings that it stands for where it is merged from others; `None`: its own text is its wording.
    pub wordings: Option<Vec<Wording>>,
}

/// Memories by their numbers.
pub fn by_number<M: Borrow<Memory>>(memories: impl IntoIterator<Item = M>) -> BTreeMap<Number, M> {
    let numbered = memories
        .into_iter()
        .map(|memory| (memory.borrow().number, memory));
    numbered.collect()
}

impl Memory {
    /// Makes its present text a wording of its own, recorded at `seq`; a journal entry has none.
    pub(crate) fn give_wording(&mut self, seq: u64, door: SavedBy) {
        if self.kind == Kind::Core {
            let given = WordingId {
                seq,
                number: self.number,
            };
            let own = Wording::of(&self.content, given, door, self);
            self.wordings = wording::union(self.wordings.iter().chain([&own]));
        }
    }
}

impl NewMemory {
    /// A journal entry of Memoir's own, dated now.
    pub fn journal(content: impl Into<PrivateText>) -> Self {
        Self {
            kind: Kind::Journal,
            content: content.into(),
            tags: Tags::default(),
            source: Some(OWN_SOURCE.into()),
            created_at: None,
            constitutional: false,
            door: SavedBy::of(ActorKind::System),
            wordings: None,
        }
    }

    /// That a journal entry is not dated ahead of `now`, so that it would not fade for as long.
    ///
    /// # Errors
    /// It is dated more than a day ahead.
    pub fn check_date(&self, now: Timestamp) -> Result<(), Invalid> {
        self.created_at
            .map_or(Ok(()), |at| check_date(self.kind, at, now))
    }

    /// Gives it a number and dates. `seq` is the place of the record that is to tell of it.
    pub fn into_memory(self, number: Number, seq: u64, now: Timestamp) -> Memory {
        let mut memory = Memory {
            number,
            kind: self.kind,
            content: self.content,
            tags: self.tags,
            source: self.source,
            door: self.door,
            wordings: Vec::new(),
            protected_seq: self.constitutional.then_some(seq),
            created_at: self.created_at.unwrap_or(now),
            updated_at: now,
            discarded_at: None,
            shredded_at: None,
        };
        match self.wordings {
            Some(wordings) => memory.wordings = wordings,
            // After the rest is set: the wording takes source and date from the memory.
            None => memory.give_wording(seq, self.door),
        }
        memory
    }
}

/// That a journal entry is not dated ahead of `now`, so that it would not fade for as long.
///
/// # Errors
/// It is dated more than a day ahead.
pub(crate) fn check_date(kind: Kind, at: Timestamp, now: Timestamp) -> Result<(), Invalid> {
    // A core memory does not fade, so it may have any date.
    if kind == Kind::Journal && !at.is_believed_at(now) {
        return Err(Invalid::new(
            "created_at",
            format!(
                "of a journal entry must not lie more than a day ahead, and is {at}; leave it out for now ({now})"
            ),
        ));
    }
    Ok(())
}

/// What is counted of an agent's memories without reading them (SPEC 1, 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The mass: tokens of the kept core memories.
    pub core_tokens: u64,
    /// Kept core memories.
    pub core_count: u64,
    /// Kept journal entries, faded ones included.
    pub journal_count: u64,
    /// Kept constitutional memories.
    pub constitutional_count: u64,
    /// Discarded memories of either kind, without the shredded ones.
    pub discarded_count: u64,
    /// Shredded memories of either kind. Kept, discarded and shredded ones come to all that were saved.
    pub shredded_count: u64,
    /// Wordings that kept core memories stand for, and those that sessions let go by deleting (SPEC 3.14).
    pub wording_count: u64,
    /// Those of them of which a session let something go.
    pub let_go_count: u64,
    /// The words of all of them, but for the free ones.
    pub words: u64,
    /// Those of them that sessions let go.
    pub lost_words: u64,
    /// Tokens of the kept journal entries, faded ones included.
    #[serde(default)]
    pub journal_tokens: u64,
}

impl Tally {
    /// Counts one memory in.
    pub fn add(&mut self, memory: &Memory) {
        self.count(memory, |value, by| *value += by);
    }

    /// Counts one memory out. The counts must hold it.
    pub fn remove(&mut self, memory: &Memory) {
        // Stored counts may have been tampered with; verifying names that, and no decision is to end in a panic
        // for it.
        self.count(memory, |value, by| *value = value.saturating_sub(by));
    }

    /// Every count with its name.
    pub(crate) fn counts(&self) -> [(&'static str, u64); Self::COUNTS] {
        [
            ("core_tokens", self.core_tokens),
            ("core_count", self.core_count),
            ("journal_count", self.journal_count),
            ("constitutional_count", self.constitutional_count),
            ("discarded_count", self.discarded_count),
            ("shredded_count", self.shredded_count),
            ("wording_count", self.wording_count),
            ("let_go_count", self.let_go_count),
            ("words", self.words),
            ("lost_words", self.lost_words),
            ("journal_tokens", self.journal_tokens),
        ]
    }

    /// How many counts there are.
    pub(crate) const COUNTS: usize = 11;

    /// Every count, in an order that stays.
    pub(crate) fn each(&self) -> [u64; Self::COUNTS] {
        self.counts().map(|(_, count)| count)
    }

    /// What [`Tally::each`] gave.
    pub(crate) fn of_each(counts: [u64; Self::COUNTS]) -> Self {
        let [
            core_tokens,
            core_count,
            journal_count,
            constitutional_count,
            discarded_count,
            shredded_count,
            wording_count,
            let_go_count,
            words,
            lost_words,
            journal_tokens,
        ] = counts;
        Self {
            core_tokens,
            core_count,
            journal_count,
            constitutional_count,
            discarded_count,
            shredded_count,
            wording_count,
            let_go_count,
            words,
            lost_words,
            journal_tokens,
        }
    }

    /// Wordings of which everything is still said.
    pub fn carried_count(&self) -> u64 {
        // As in `remove`: stored counts may have been tampered with.
        self.wording_count.saturating_sub(self.let_go_count)
    }

    fn count(&mut self, memory: &Memory, mut change: impl FnMut(&mut u64, u64)) {
        // Before the early returns: a memory that a session deleted is discarded, and its wordings count
        // all the same.
        for wording in memory.counted_wordings() {
            change(&mut self.wording_count, 1);
            change(
                &mut self.let_go_count,
                u64::from(!wording.let_go.is_empty()),
            );
            change(&mut self.words, wording.words);
            change(&mut self.lost_words, wording.lost_words());
        }
        if memory.shredded_at.is_some() {
            change(&mut self.shredded_count, 1);
            return;
        }
        if !memory.is_kept() {
            change(&mut self.discarded_count, 1);
            return;
        }
        match memory.kind {
            Kind::Core => {
                change(&mut self.core_count, 1);
                change(&mut self.core_tokens, memory.tokens());
            }
            Kind::Journal => {
                change(&mut self.journal_count, 1);
                change(&mut self.journal_tokens, memory.tokens());
            }
        }
        if memory.is_constitutional() {
            change(&mut self.constitutional_count, 1);
        }
    }
}

/// A kept core memory whose origin date is `number` seconds after 1970.
#[cfg(test)]
pub(crate) fn test_memory(number: u64, content: &str) -> Memory {
    let at = Timestamp::from_microseconds(0)
        .unwrap()
        .plus_seconds(number as i64);
    Memory {
        number: Number(number),
        kind: Kind::Core,
        content: content.into(),
        tags: Tags::default(),
        source: None,
        door: SavedBy::of(ActorKind::Agent),
        wordings: Vec::new(),
        protected_seq: None,
        created_at: at,
        updated_at: at,
        discarded_at: None,
        shredded_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_1_tokens_are_a_quarter_of_the_characters_rounded_up() {
        for (text, expected) in [
            ("", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("日本語です", 2),
        ] {
            assert_eq!(tokens(text), expected);
        }
    }

    #[test]
    fn spec_2_1_content_is_trimmed_and_limited() {
        let parse = |text: &str| parse_text("content", text, CONTENT_LIMIT);
        assert_eq!(parse("  a\r\n\tb \n").unwrap().expose(), "a\r\n\tb");
        assert_eq!(parse(&"é".repeat(10_000)).unwrap().chars(), 10_000);
        let error = parse(&"é".repeat(10_001)).unwrap_err();
        assert!(
            error.too_long && error.problem.contains("10001") && error.problem.contains("10000")
        );
        for (text, part) in [
            (" \n ", "is empty"),
            ("a\0b", "U+0000 at character 2"),
            ("a\rb", "U+000D"),
            ("ab\u{1b}[31m", "U+001B at character 3"),
            ("a\u{85}b", "U+0085"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.problem.contains(part), "{error}");
        }
    }

    #[test]
    fn spec_2_1_tags_are_limited_and_distinct() {
        let tags = Tags::parse([" voice ", "voice", "a"]).unwrap();
        assert_eq!(tags.iter().collect::<Vec<_>>(), ["voice", "a"]);
        assert!(Tags::parse(["x".repeat(50).as_str()]).is_ok());
        assert!(Tags::parse(["x".repeat(51).as_str()]).unwrap_err().too_long);
        assert!(Tags::parse(["a\nb"]).is_err());
        assert!(Tags::parse([""]).is_err());
        let many: Vec<String> = (0..17).map(|n| n.to_string()).collect();
        let error = Tags::parse(many.iter().map(String::as_str)).unwrap_err();
        assert!(error.problem.contains("17") && error.problem.contains("16"));
    }

    #[test]
    fn spec_3_13_immutable_tags_are_found_whatever_the_case() {
        let wanted = BTreeSet::from(["voice".to_owned()]);
        assert!(Tags::parse(["Voice"]).unwrap().contains_any(&wanted));
        assert!(!Tags::parse(["voices"]).unwrap().contains_any(&wanted));
    }
}
