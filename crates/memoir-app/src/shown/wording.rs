//! The wordings that memories stand for, and what sessions let go of them (SPEC 1, 3.12, 3.14).

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
};

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    access::{AccessScope, ShownAmount},
    audit::LostWords,
    memory::Number,
    wording::{LetGo, Origin, Wording, WordingId},
};
use memoir_store::{AgentQuery, Selection};
use memoir_vault::AgentKey;
use serde::Serialize;
use utoipa::ToSchema;

use super::{AgentLens, ShowsWords, Sight, schema, schemas, words};
use crate::{AgentHandle, Error, Result, codec, memories::memory_query, opened::MemoryList};

/// Which wordings, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordingQuery {
    /// All that this memory stands for, or stood for when it was discarded; `None`: all of which sessions let
    /// something go, of kept memories and of those that sessions deleted.
    pub of: Option<Number>,
    /// Those behind this one; `None` begins with the first.
    pub after: Option<WordingId>,
    /// At most so many.
    pub limit: u32,
}

impl WordingQuery {
    /// All of which sessions let something go.
    pub const LET_GO: Self = Self {
        of: None,
        after: None,
        limit: u32::MAX,
    };

    fn agent_query(&self) -> AgentQuery {
        memory_query(match self.of {
            Some(number) => Selection::Numbers(vec![number]),
            None => Selection::Core,
        })
    }

    /// Each once, though two memories may count it.
    fn select(&self, memories: &MemoryList) -> Result<Vec<Wording>> {
        if let (Some(number), None) = (self.of, memories.first()) {
            return Err(Error::NoMemory(number));
        }
        let all: Vec<&Wording> = match self.of {
            Some(_) => memories.iter().flat_map(|one| &one.wordings).collect(),
            None => {
                let counted = memories.iter().flat_map(|one| one.counted_wordings());
                counted.filter(|one| !one.let_go.is_empty()).collect()
            }
        };
        let all: BTreeMap<WordingId, &Wording> =
            all.into_iter().map(|one| (one.id(), one)).collect();
        let behind = all.into_iter();
        let behind = behind.filter(|(id, _)| self.after.is_none_or(|after| *id > after));
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        Ok(behind.take(limit).map(|(_, one)| one.clone()).collect())
    }
}

/// A wording that a memory stands for, without its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct WordingFacts {
    /// Which one it is, for the next page.
    #[serde(skip)]
    pub id: WordingId,
    /// The memory that it was given to: `restore` brings it back by this number.
    #[schema(value_type = u64)]
    pub number: Number,
    /// Through which door it came.
    #[schema(value_type = schemas::Origin)]
    pub origin: Origin,
    /// The origin date.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// The words of a wording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct WordingWords {
    /// The text as its author gave it; left out where it was shredded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub content: Option<PrivateText>,
    /// Where it came from, in the words of whoever saved it; left out where they said nothing of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub source: Option<PrivateText>,
}

/// A wording that a memory stands for, with its words for whoever may read them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownWording {
    /// What is no word.
    #[serde(flatten)]
    pub facts: WordingFacts,
    /// `None` for whoever may not read them.
    #[serde(flatten)]
    pub words: Option<WordingWords>,
    /// What sessions let go of it, oldest first; empty where all of it is said.
    pub let_go: Vec<ShownLetGo>,
}

/// That one edit of a session let go of something of a wording, without the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LetGoFacts {
    /// The session.
    #[schema(value_type = String, format = Uuid)]
    pub session_id: SessionId,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// How many words count as lost: all of a sentence whose meaning may have changed.
    pub lost_words: u64,
    /// Whether the memory that stood for it was deleted, and nothing carries it.
    pub deleted: bool,
}

/// The words that an edit let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LetGoWords {
    /// The words, in the author's own form.
    #[schema(value_type = Option<Vec<String>>)]
    pub words: Vec<PrivateText>,
}

/// What one edit of a session let go of a wording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownLetGo {
    /// What is no word.
    #[serde(flatten)]
    pub facts: LetGoFacts,
    /// `None` for whoever may not read them.
    #[serde(flatten)]
    pub words: Option<LetGoWords>,
}

/// Describes the field of [`ShownWording`] that is neither of its parts.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes a field, and is never made")]
struct LetGoField {
    /// What sessions let go of it, oldest first; empty where all of it is said.
    let_go: Vec<ShownLetGo>,
}

schema::one_object!(
    ShownWording,
    "Wording",
    [WordingFacts, WordingWords, LetGoField],
    "A wording that a memory stands for. `content`, `source` and the words let go are for the agent itself, and for\n\
     an administrator under an access to all that the agent has granted."
);

schema::one_object!(
    ShownLetGo,
    "LetGo",
    [LetGoFacts, LetGoWords],
    "What one edit of a session let go of a wording."
);

impl From<&LetGo> for LetGoFacts {
    fn from(let_go: &LetGo) -> Self {
        Self {
            session_id: let_go.session,
            at: let_go.at,
            lost_words: let_go.words,
            deleted: let_go.deleted,
        }
    }
}

impl From<LetGoFacts> for ShownLetGo {
    fn from(facts: LetGoFacts) -> Self {
        Self { facts, words: None }
    }
}

impl From<&Wording> for WordingFacts {
    fn from(wording: &Wording) -> Self {
        Self {
            id: wording.id(),
            number: wording.number,
            origin: wording.origin,
            created_at: wording.created_at,
        }
    }
}

impl From<&Wording> for ShownWording {
    fn from(wording: &Wording) -> Self {
        let let_go = wording.let_go.iter().map(LetGoFacts::from);
        Self {
            facts: wording.into(),
            words: None,
            let_go: let_go.map(ShownLetGo::from).collect(),
        }
    }
}

impl Deref for ShownWording {
    type Target = WordingFacts;

    fn deref(&self) -> &WordingFacts {
        &self.facts
    }
}

impl Deref for ShownLetGo {
    type Target = LetGoFacts;

    fn deref(&self) -> &LetGoFacts {
        &self.facts
    }
}

impl ShowsWords for ShownWording {
    fn words_shown(&self) -> ShownAmount {
        let content = self.words.as_ref().and_then(|words| words.content.as_ref());
        let source = self.words.as_ref().and_then(|words| words.source.as_ref());
        let lost = self.let_go.iter().filter_map(|lost| lost.words.as_ref());
        let lost = lost.flat_map(|lost| &lost.words);
        ShownAmount {
            memories: u64::from(content.is_some()),
            ..words(content.into_iter().chain(source).chain(lost))
        }
    }
}

impl AgentLens<'_> {
    /// Wordings; under a grant with words where the agent lets everything be seen: what was let go is no part of
    /// its kept core memories any more.
    ///
    /// # Errors
    /// There is no memory of that number; the store fails.
    pub async fn wordings(&self, query: &WordingQuery) -> Result<Vec<ShownWording>> {
        let covers_all = |scope| scope == AccessScope::All;
        let agent_query = &query.agent_query();
        self.look(agent_query, covers_all, |mut look| async move {
            let loaded = look.load(agent_query).await?;
            let selected = query.select(&loaded.memories)?;
            if look.sight == Sight::NoWords {
                return Ok(selected.iter().map(ShownWording::from).collect());
            }
            look.agent.with_words(loaded.base.key(), selected).await
        })
        .await
    }
}

impl AgentHandle {
    async fn with_words(&self, key: &AgentKey, all: Vec<Wording>) -> Result<Vec<ShownWording>> {
        let ids: BTreeSet<WordingId> = all.iter().map(Wording::id).collect();
        let texts = self.texts_at(key, &ids).await?;
        let lost = self.deleted_words(key, &all).await?;
        let shown = |wording: Wording| {
            let words_of = |let_go: &LetGo| {
                // What a delete let go is all of it, and stands in its record alone.
                let in_record = lost.iter().filter(|(seq, lost)| {
                    let_go.deleted && *seq == let_go.seq && is_of(lost, &wording)
                });
                let in_record = in_record.flat_map(|(_, lost)| &lost.words);
                LetGoWords {
                    words: let_go.lost.iter().chain(in_record).cloned().collect(),
                }
            };
            let let_go = wording.let_go.iter().map(|let_go| ShownLetGo {
                facts: let_go.into(),
                words: Some(words_of(let_go)),
            });
            ShownWording {
                facts: (&wording).into(),
                words: Some(WordingWords {
                    content: texts.get(&wording.id()).cloned(),
                    source: wording.source.clone(),
                }),
                let_go: let_go.collect(),
            }
        };
        Ok(all.into_iter().map(shown).collect())
    }

    /// What the records of deletes tell of these wordings, each with its place in the log.
    async fn deleted_words(
        &self,
        key: &AgentKey,
        wordings: &[Wording],
    ) -> Result<Vec<(u64, LostWords)>> {
        let deletes = wordings.iter().flat_map(|wording| &wording.let_go);
        let seqs: BTreeSet<u64> = deletes
            .filter(|let_go| let_go.deleted)
            .map(|let_go| let_go.seq)
            .collect();
        let seqs: Vec<u64> = seqs.into_iter().collect();
        let mut lost = Vec::new();
        for row in self.memoir.store.records_at(self.scope, &seqs).await? {
            let record = codec::record(Some(key), row)?;
            lost.extend(record.body.lost.into_iter().map(|lost| (record.seq, lost)));
        }
        Ok(lost)
    }
}

fn is_of(lost: &LostWords, wording: &Wording) -> bool {
    (lost.seq, lost.number) == (wording.seq, wording.number)
}
