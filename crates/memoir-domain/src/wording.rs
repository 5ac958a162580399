//! Wordings: the texts as their authors gave them, and who stands for them (SPEC 1, 2.4, 3.12).
//!
//! A kept core memory stands for wordings, however often it is rewritten or merged. Their texts stand in
//! the log alone, each in the record at [`Wording::seq`]; here is only what is known of them.
//!
//! A wording names the record in the log at which its text stands, its language, origin and size, and what
//! was let go of it. Merging hands wordings over, deleting hands them to the memory that says all of them,
//! undoing gives them back. Restoring a wording by its number (`manage::restore_wording`) rewrites the memory
//! that stands for it alone; where that one stands for others too, whose sentences its text says, a new
//! memory takes the wording over, so that no text need be judged.

use std::{collections::BTreeMap, str::FromStr};

use memoir_details::{Language, Reading};
use serde::{Deserialize, Serialize};

use crate::{
    PrivateText, SessionId, Timestamp,
    audit::{ActorKind, Record},
    mark::WordsMark,
    memory::{Invalid, Memory, Number},
};

wire_names! {
    /// Through which door a text came in: stamped by the door, never by the text (SPEC 2.4).
    #[derive(PartialOrd, Ord, Default)]
    pub enum Origin {
        /// The agent saved it.
        #[default]
        Agent = "agent",
        /// Somebody who runs the agent saved it.
        Administrator = "administrator",
        /// It was absorbed from a conversation.
        Conversation = "conversation",
        /// It was taken over from another memory.
        Import = "import",
        /// It quotes a page, a file, a tool's output or another person.
        External = "external",
    }
}

impl Origin {
    /// How weak it is, from 0: agent and administrator are equally strong.
    pub fn weakness(self) -> u8 {
        match self {
            Self::Agent | Self::Administrator => 0,
            Self::Conversation => 1,
            Self::Import => 2,
            Self::External => 3,
        }
    }

    /// What is saved through this door by somebody who asks for another origin; `None` asks for none.
    ///
    /// # Errors
    /// One that is not weaker.
    pub fn lowered_to(self, requested: Option<Self>) -> Result<Self, Invalid> {
        match requested {
            None => Ok(self),
            // Not merely "not stronger": agent and administrator are as strong as each other, and one must not
            // pass for the other.
            Some(requested) if requested == self || requested.weakness() > self.weakness() => {
                Ok(requested)
            }
            Some(requested) => Err(Invalid::new(
                "origin",
                format!(
                    "cannot be `{requested}`: what is saved here is of origin `{self}`, which can be lowered and not raised; leave it out, or give a weaker one such as `external`"
                ),
            )),
        }
    }
}

impl FromStr for Origin {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::from_name(text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("origin", format!("is no origin; the origins are {known}"))
        })
    }
}

/// Which wording: of this memory, as it stands in this record of the agent's log. Ordered by age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WordingId {
    /// The record's place in the log.
    pub seq: u64,
    /// The memory that it was given to.
    pub number: Number,
}

/// A text as its author gave it, without its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// The memory that it was given to.
    pub number: Number,
    /// The record of the agent's log in which its text stands.
    pub seq: u64,
    /// Its origin date.
    pub created_at: Timestamp,
    /// The language that it was read in when it was recorded; `None` where that was not sure, and then no
    /// word of it is free.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "language")]
    pub language: Option<Language>,
    /// Through which door it came, or a weaker origin that whoever saved it named.
    pub origin: Origin,
    /// Who added it, whatever its origin says (SPEC 3.4).
    pub added_by: ActorKind,
    /// Where it came from, in the words of whoever saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PrivateText>,
    /// Of its text, so that whoever still says it word for word is known without reading the log.
    pub text_mark: WordsMark,
    /// Its words, but for the free ones.
    pub words: u64,
    /// Whether it has a word of relative time, such as "yesterday": its meaning depends on its date.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
    /// What sessions let go of it, oldest first; each at most once a record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub let_go: Vec<LetGo>,
}

/// What a session let go of one wording (SPEC 3.14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetGo {
    /// The session.
    pub session: SessionId,
    /// The record of the edit.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// How many words.
    pub words: u64,
    /// Of how many sentences.
    pub sentences: u64,
    /// The words in the author's own form; empty where it was deleted, since that let all of them go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<PrivateText>,
    /// Whether the memory that stood for it was deleted, and nothing carries it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
}

impl Wording {
    /// The wording that `content` is, recorded at `seq`.
    pub(crate) fn of(
        content: &PrivateText,
        given: WordingId,
        door: SavedBy,
        memory: &Memory,
    ) -> Self {
        let reading = Reading::of(content.expose());
        Self {
            number: given.number,
            seq: given.seq,
            created_at: memory.created_at,
            // Decided once and kept with it (SPEC 3.12): read in another language, other words of it would be
            // free.
            language: reading.language(),
            origin: door.origin,
            added_by: door.added_by,
            source: memory.source.clone(),
            text_mark: WordsMark::of_text(content.expose()),
            words: u64::from(reading.words()),
            relative: reading.has_relative_time(),
            let_go: Vec::new(),
        }
    }

    /// Which one it is.
    pub fn id(&self) -> WordingId {
        WordingId {
            seq: self.seq,
            number: self.number,
        }
    }

    /// Words of it that sessions let go.
    pub fn lost_words(&self) -> u64 {
        self.let_go.iter().map(|lost| lost.words).sum()
    }

    /// Words of it that are still said.
    pub fn said_words(&self) -> u64 {
        self.words.saturating_sub(self.lost_words())
    }

    /// Whether the memory that stood for it was deleted by a session, and nothing carries it.
    pub fn is_deleted(&self) -> bool {
        self.let_go.iter().any(|lost| lost.deleted)
    }
}

/// Who saves something, and what origin it is stamped with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedBy {
    /// The origin.
    pub origin: Origin,
    /// In what role somebody adds it.
    pub added_by: ActorKind,
}

impl SavedBy {
    /// The one that `kind` comes in by; what Memoir itself writes is the agent's.
    pub fn of(kind: ActorKind) -> Self {
        let origin = match kind {
            ActorKind::Agent | ActorKind::System => Origin::Agent,
            ActorKind::Administrator | ActorKind::Owner => Origin::Administrator,
        };
        Self {
            origin,
            added_by: kind,
        }
    }
}

/// Puts the wordings of several memories together, each once, the oldest first.
pub(crate) fn union<'a>(all: impl IntoIterator<Item = &'a Wording>) -> Vec<Wording> {
    // Two memories may both hold one wording, a kept one and a discarded one that it came from: it is
    // one all the same.
    let by_id: BTreeMap<WordingId, &Wording> = all
        .into_iter()
        .map(|wording| (wording.id(), wording))
        .collect();
    by_id.into_values().cloned().collect()
}

/// Takes a change of what a memory stands for back from `current`: wordings that it brought go, those
/// that it took away return, and so with what it let go. What others changed since stays.
pub(crate) fn take_back(current: &mut Vec<Wording>, set: &[Wording], before: &[Wording]) {
    let find = |list: &[Wording], id| list.iter().find(|wording| wording.id() == id).cloned();
    // In three steps: what the change brought goes, what it took away returns, and of what stayed only
    // the losses are set back.
    current.retain(|wording| {
        find(set, wording.id()).is_none() || find(before, wording.id()).is_some()
    });
    for wording in before {
        if find(set, wording.id()).is_none() && find(current, wording.id()).is_none() {
            current.push(wording.clone());
        }
    }
    for wording in current.iter_mut() {
        let (Some(set), Some(before)) = (find(set, wording.id()), find(before, wording.id()))
        else {
            continue;
        };
        wording
            .let_go
            .retain(|lost| !set.let_go.contains(lost) || before.let_go.contains(lost));
        let returning = before
            .let_go
            .iter()
            .filter(|lost| !set.let_go.contains(lost));
        let missing: Vec<LetGo> = returning
            .filter(|lost| !wording.let_go.contains(lost))
            .cloned()
            .collect();
        wording.let_go.extend(missing);
        wording.let_go.sort_by_key(|lost| lost.seq);
    }
    // In the order in which they are kept, so that a state that was taken back equals the one before it.
    current.sort_by_key(Wording::id);
}

/// The text of a wording, or that of a memory when it was made constitutional, from the record in which
/// it stands; `None` where the record does not tell of the memory.
pub fn text_in(record: &Record, number: Number) -> Option<PrivateText> {
    let mut changes = record.body.changes.iter();
    let change = changes.find(|change| change.number() == number)?;
    Some(change.content().clone())
}

/// The texts of wordings, and of memories when they were made constitutional, that stand in these
/// records.
pub fn texts_in(records: &[Record]) -> WordingTexts {
    let mut texts = WordingTexts::new();
    for record in records {
        for after in record.body.changes.iter().map(crate::audit::Change::after) {
            // Only what this record is the place of: others that it names stand in records of their own.
            let own = |id: &WordingId| id.seq == record.seq && id.number == after.number;
            for id in places(&after).filter(own) {
                texts.insert(id, after.content.clone());
            }
        }
    }
    texts
}

/// The texts that a decision measures by, each from the log.
pub type WordingTexts = BTreeMap<WordingId, PrivateText>;

/// The places in the log of all texts that must be read to measure an edit of `memory`: those of the
/// wordings that it stands for, and of its text when it was made constitutional.
pub fn places(memory: &Memory) -> impl Iterator<Item = WordingId> {
    let protected = memory.protected_seq.map(|seq| WordingId {
        seq,
        number: memory.number,
    });
    memory.wordings.iter().map(Wording::id).chain(protected)
}

/// The texts of those wordings that the memory still says word for word: its own text is theirs, and need not be read
/// from the log. That of a memory which no session has changed is among them.
pub fn texts_said_by(memory: &Memory) -> WordingTexts {
    let own = WordsMark::of_text(memory.content.expose());
    let said = memory
        .wordings
        .iter()
        .filter(|wording| wording.text_mark == own);
    said.map(|wording| (wording.id(), memory.content.clone()))
        .collect()
}

mod language {
    //! A language by its ISO 639 code.

    use memoir_details::Language;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        language: &Option<Language>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        language.map(Language::code).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Language>, D::Error> {
        let code: Option<String> = Option::deserialize(deserializer)?;
        code.map(|code| {
            Language::from_code(&code).ok_or_else(|| D::Error::custom("no language that is read"))
        })
        .transpose()
    }
}
