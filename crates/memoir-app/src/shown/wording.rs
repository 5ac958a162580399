//! The wordings that memories stand for, and what sessions let go of them (SPEC 1, 3.12, 3.14).

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    access::{AccessScope, ShownAmount},
    audit::LostWords,
    memory::Number,
    wording::{Origin, Wording, WordingId},
};
use memoir_store::{AgentQuery, Selection};
use memoir_vault::AgentKey;
use serde::Serialize;
use utoipa::ToSchema;

use super::{AgentLens, ShowsWords, Sight, schemas, words};
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

    fn wanted(&self) -> AgentQuery {
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

/// A wording that a memory stands for. `content`, `source` and the words let go are for the agent itself, and for
/// an administrator under an access to all that the agent has granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Wording)]
pub struct ShownWording {
    /// Which one it is, for the next page.
    #[serde(skip)]
    pub id: WordingId,
    /// The memory that it was given to: `restore` brings it back by this number.
    #[schema(value_type = u64)]
    pub number: Number,
    /// The text as its author gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub content: Option<PrivateText>,
    /// Through which door it came.
    #[schema(value_type = schemas::Origin)]
    pub origin: Origin,
    /// Where it came from, in the words of whoever saved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub source: Option<PrivateText>,
    /// The origin date.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// What sessions let go of it, oldest first; empty where all of it is said.
    pub let_go: Vec<ShownLetGo>,
}

/// What one edit of a session let go of a wording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LetGo)]
pub struct ShownLetGo {
    /// The session.
    #[schema(value_type = String, format = Uuid)]
    pub session_id: SessionId,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The words, in the author's own form.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub words: Option<Vec<PrivateText>>,
    /// How many words count as lost: all of a sentence whose meaning may have changed.
    pub lost_words: u64,
    /// Whether the memory that stood for it was deleted, and nothing carries it.
    pub deleted: bool,
}

impl ShownWording {
    fn without_words(wording: &Wording) -> Self {
        let let_go = wording.let_go.iter().map(|let_go| ShownLetGo {
            session_id: let_go.session,
            at: let_go.at,
            words: None,
            lost_words: let_go.words,
            deleted: let_go.deleted,
        });
        Self {
            id: wording.id(),
            number: wording.number,
            content: None,
            origin: wording.origin,
            source: None,
            created_at: wording.created_at,
            let_go: let_go.collect(),
        }
    }
}

impl ShowsWords for ShownWording {
    fn words_shown(&self) -> ShownAmount {
        let own = self.content.iter().chain(&self.source);
        let lost = self.let_go.iter().filter_map(|lost| lost.words.as_ref());
        ShownAmount {
            memories: u64::from(self.content.is_some()),
            ..words(own.chain(lost.flatten()))
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
        let wanted = &query.wanted();
        self.look(wanted, covers_all, |mut look| async move {
            let loaded = look.load(wanted).await?;
            let selected = query.select(&loaded.memories)?;
            if look.sight == Sight::NoWords {
                let seen = selected.iter().map(ShownWording::without_words);
                return Ok(seen.collect());
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
        let view = |wording: Wording| {
            let mut view = ShownWording::without_words(&wording);
            for (shown, let_go) in view.let_go.iter_mut().zip(&wording.let_go) {
                // What a delete let go is all of it, and stands in its record alone.
                let in_record = lost.iter().filter(|(seq, lost)| {
                    let_go.deleted && *seq == let_go.seq && is_of(lost, &wording)
                });
                let in_record = in_record.flat_map(|(_, lost)| &lost.words);
                shown.words = Some(let_go.lost.iter().chain(in_record).cloned().collect());
            }
            ShownWording {
                content: texts.get(&wording.id()).cloned(),
                source: wording.source,
                ..view
            }
        };
        Ok(all.into_iter().map(view).collect())
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
