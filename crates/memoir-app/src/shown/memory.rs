//! Memories as they are shown, by number, by pages, and found by a search.

use std::ops::Deref;

use memoir_domain::{
    PrivateText, Timestamp,
    access::{AccessScope, ShownAmount},
    audit::Actor,
    context::journal_since,
    memory::{Kind, Memory, Number, Tags},
    recall::{RECALL_LIMIT, RecallMatch, RecallPlace, RecallQuery},
    wording::Origin,
};
use memoir_store::{Faded, MemoryPage, Selection};
use serde::Serialize;
use utoipa::ToSchema;

use super::{AgentLens, ShowsWords, Sight, Viewer, schema, schemas};
use crate::{
    AgentHandle, Error, Result, codec,
    memories::{check_length, memory_query},
    recall::{RecallPage, ShownMatch, found_among},
    spans,
};

/// A memory without its words: what anybody may see who may see the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemoryFacts {
    /// Its number within the agent, from 1.
    #[schema(value_type = u64)]
    pub number: Number,
    /// Its kind.
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind,
    /// Its size: characters / 4, rounded up.
    pub tokens: u64,
    /// Whether no session can delete or merge it.
    pub constitutional: bool,
    /// The weakest of the doors through which what it stands for came.
    #[schema(value_type = schemas::Origin)]
    pub origin: Origin,
    /// How many wordings it stands for.
    pub wordings: u64,
    /// The origin date.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it was changed last.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// When a journal entry leaves the prompt, or has left it; null for a core memory.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    pub fades_at: Option<Timestamp>,
    /// When it was discarded; null for a kept one.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    pub discarded_at: Option<Timestamp>,
    /// When its words were taken out for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub shredded_at: Option<Timestamp>,
}

/// The words of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct MemoryWords {
    /// Its text.
    #[schema(value_type = Option<String>)]
    pub content: PrivateText,
    /// Its tags.
    #[schema(value_type = Option<Vec<String>>)]
    pub tags: Tags,
    /// Where it came from, in the words of whoever saved what it stands for.
    #[schema(value_type = Option<Vec<String>>)]
    pub sources: Vec<PrivateText>,
}

/// A memory. `content`, `tags` and `sources` are for the agent itself, and for an administrator under an access
/// that the agent has granted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownMemory {
    /// What is no word.
    #[serde(flatten)]
    pub facts: MemoryFacts,
    /// `None` for whoever may not read them.
    #[serde(flatten)]
    pub words: Option<MemoryWords>,
    /// By what it was found; `None` where nobody asks for it.
    #[serde(flatten)]
    pub explanation: Option<Explanation>,
}

/// By what a memory was found.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Explanation {
    /// By what it was found, where `explain` asks for it.
    #[serde(rename = "match")]
    #[schema(value_type = Option<ShownMatch>)]
    pub found: ShownMatch,
}

impl From<&Memory> for MemoryFacts {
    fn from(memory: &Memory) -> Self {
        Self {
            number: memory.number,
            kind: memory.kind,
            tokens: memory.tokens(),
            constitutional: memory.is_constitutional(),
            origin: memory.origin(),
            wordings: memory.wordings.len() as u64,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            fades_at: memory.fades_at(),
            discarded_at: memory.discarded_at,
            shredded_at: memory.shredded_at,
        }
    }
}

impl From<MemoryFacts> for ShownMemory {
    fn from(facts: MemoryFacts) -> Self {
        Self {
            facts,
            words: None,
            explanation: None,
        }
    }
}

impl ShownMemory {
    pub(crate) fn with_words(memory: Memory) -> Self {
        Self {
            facts: (&memory).into(),
            words: Some(MemoryWords {
                sources: memory.sources().into_iter().cloned().collect(),
                content: memory.content,
                tags: memory.tags,
            }),
            explanation: None,
        }
    }

    /// With what it was found by.
    #[must_use]
    pub fn explained(mut self, found: RecallMatch) -> Self {
        let found = found.into();
        self.explanation = Some(Explanation { found });
        self
    }

    fn seen(memory: Memory, sight: Sight) -> Self {
        if sight.covers(|scope| scope.shows_memory(&memory)) {
            Self::with_words(memory)
        } else {
            MemoryFacts::from(&memory).into()
        }
    }

    /// On the answer to a change, for whoever made it.
    pub(crate) fn answered(memory: Memory, actor: &Actor) -> Self {
        Self::seen(memory, Sight::of_answer(actor))
    }

    /// Its text; empty for whoever may not read it.
    pub fn content(&self) -> &str {
        let words = self.words.as_ref();
        words.map_or("", |words| words.content.expose())
    }

    /// Where it came from; nothing for whoever may not read it.
    pub fn sources(&self) -> &[PrivateText] {
        self.words.as_ref().map_or(&[], |words| &words.sources)
    }

    /// Its tags; none for whoever may not read them.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(|words| words.tags.iter())
    }
}

impl Deref for ShownMemory {
    type Target = MemoryFacts;

    fn deref(&self) -> &MemoryFacts {
        &self.facts
    }
}

schema::one_object!(
    ShownMemory,
    "Memory",
    [MemoryFacts, MemoryWords, Explanation],
    "A memory. `content`, `tags` and `sources` are for the agent itself, and for an administrator under an access\n\
     that the agent has granted."
);

impl ShowsWords for ShownMemory {
    fn words_shown(&self) -> ShownAmount {
        let is_shown = self.words.is_some();
        ShownAmount {
            memories: u64::from(is_shown),
            tokens: if is_shown { self.tokens } else { 0 },
        }
    }
}

impl AgentHandle {
    /// One memory, discarded or not, without its words.
    ///
    /// # Errors
    /// There is none of that number; the store fails.
    pub async fn memory(&self, number: Number) -> Result<MemoryFacts> {
        Ok((&self.read_memory(number).await?).into())
    }

    async fn read_memory(&self, number: Number) -> Result<Memory> {
        let rows = self.memoir.store.memories(self.scope, &[number]).await?;
        match (rows.into_iter().next(), self.present_key().await?) {
            (Some(row), Some(key)) => codec::memory(&key, &row),
            // Perhaps the agent is gone.
            _ => {
                self.check_present().await?;
                Err(Error::NoMemory(number))
            }
        }
    }

    /// What has left the prompt by now, or what has not.
    pub fn faded(&self, is_faded: bool) -> Faded {
        Faded {
            until: journal_since(self.memoir.now()),
            is_faded,
        }
    }

    /// One page of memories, by number, without their words.
    ///
    /// # Errors
    /// The store fails.
    pub async fn memory_page(&self, page: &MemoryPage) -> Result<Vec<MemoryFacts>> {
        let key = self.check_present().await?;
        let rows = self.memoir.store.memory_page(self.scope, page).await?;
        crate::parallel::map(rows, |row| Ok((&codec::memory(&key, &row)?).into()))
            .into_iter()
            .collect()
    }
}

fn covers_memories(scope: AccessScope) -> bool {
    matches!(scope, AccessScope::Core | AccessScope::All)
}

fn kept_or_all(with_discarded: bool) -> Selection {
    if with_discarded {
        Selection::All
    } else {
        Selection::Kept
    }
}

impl AgentLens<'_> {
    /// One memory, discarded or not.
    ///
    /// # Errors
    /// There is none of that number; the store fails.
    pub async fn memory(&self, number: Number) -> Result<ShownMemory> {
        if self.viewer == Viewer::Agent {
            // The agent's row is not needed for one memory of its own.
            return Ok(ShownMemory::with_words(
                self.agent.read_memory(number).await?,
            ));
        }
        let agent_query = &memory_query(Selection::Numbers(vec![number]));
        self.look(agent_query, covers_memories, |mut look| async move {
            let memory = look.load(agent_query).await?.memories.copies().next();
            let memory = memory.ok_or(Error::NoMemory(number))?;
            Ok(ShownMemory::seen(memory, look.sight))
        })
        .await
    }

    /// One page of memories, by number.
    ///
    /// # Errors
    /// The store fails.
    pub async fn memory_page(&self, page: &MemoryPage) -> Result<Vec<ShownMemory>> {
        let agent_query = &memory_query(Selection::Page(page.clone()));
        self.look(agent_query, covers_memories, |mut look| async move {
            let loaded = look.load(agent_query).await?;
            let seen = loaded
                .memories
                .copies()
                .map(|memory| ShownMemory::seen(memory, look.sight));
            let mut seen: Vec<_> = seen.collect();
            seen.sort_by_key(|memory| memory.facts.number);
            Ok(seen)
        })
        .await
    }

    /// The kept memories, or all of them, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn memories(&self, with_discarded: bool) -> Result<Vec<ShownMemory>> {
        let agent_query = &memory_query(kept_or_all(with_discarded));
        self.look(agent_query, covers_memories, |mut look| async move {
            let loaded = look.load(agent_query).await?;
            let seen = loaded
                .memories
                .copies()
                .map(|memory| ShownMemory::seen(memory, look.sight));
            Ok(seen.collect::<Vec<_>>())
        })
        .await
    }

    /// Finds kept memories, best match first, among those that the viewer may read.
    ///
    /// # Errors
    /// As [`AgentLens::recall_page`].
    pub async fn recall(&self, query: &RecallQuery) -> Result<Vec<ShownMemory>> {
        let query = RecallQuery {
            limit: query.limit.min(RECALL_LIMIT),
            ..query.clone()
        };
        let found = self.recall_page(&query, None, false).await?.found;
        Ok(found.into_iter().map(|(_, memory)| memory).collect())
    }

    /// The best few for a prompt of an agent's client, for whoever puts them beside it: none that is worth little
    /// beside the best one. A prompt may be of any length.
    ///
    /// # Errors
    /// As [`AgentLens::recall_page`].
    pub async fn recall_for_prompt(
        &self,
        prompt: &PrivateText,
        limit: usize,
    ) -> Result<Vec<ShownMemory>> {
        let query = RecallQuery::of_prompt(prompt.expose(), limit.min(RECALL_LIMIT));
        if query.text.expose().trim().is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.recall_page(&query, None, false).await?.found;
        let best = found.iter().map(|(found, _)| found);
        // The best by words need not come first: a correction, or what is near in meaning, may stand before
        // it.
        let best = best.max_by(|one, other| one.score.total_cmp(&other.score));
        if let Some(best) = best.cloned() {
            found.retain(|(found, _)| found.is_worth_telling(&best));
        }
        Ok(found.into_iter().map(|(_, memory)| memory).collect())
    }

    /// One page of what is found among the memories that the viewer may read, best match first: from behind a
    /// place on, as many as the query says; discarded memories too where wanted. By meaning too for the agent itself,
    /// where a model of embeddings is configured; under a grant, and among discarded memories, by words alone.
    ///
    /// # Errors
    /// [`Error::NoAccess`] where the viewer may read none: to search is to read. The query is too long; the
    /// store fails.
    pub async fn recall_page(
        &self,
        query: &RecallQuery,
        after: Option<RecallPlace>,
        with_discarded: bool,
    ) -> Result<RecallPage> {
        let mut meaning = None;
        let found = async {
            check_length(query)?;
            if self.viewer == Viewer::Agent && !with_discarded {
                let (found, by_meaning) = self.agent.found(query, after).await?;
                meaning = by_meaning;
                let seen = |(found, memory)| (found, ShownMemory::with_words(memory));
                return Ok(found.into_iter().map(seen).collect());
            }
            let agent_query = &memory_query(kept_or_all(with_discarded));
            self.look(agent_query, covers_memories, |mut look| async move {
                if look.sight == Sight::NoWords {
                    return Err(Error::NoAccess(look.agent.name.clone()));
                }
                let mut memories = look.load(agent_query).await?.memories;
                memories.retain(|memory| look.sight.covers(|scope| scope.shows_memory(memory)));
                // Ranked among what is shown alone: what is rare among the others would tell of them.
                let found = found_among(&memories, query, after).into_iter();
                let seen = |(found, memory)| (found, ShownMemory::seen(memory, look.sight));
                Ok(found.map(seen).collect::<Vec<_>>())
            })
            .await
        };
        let span = spans::memory(self.agent.scope, "search_memory");
        let found = spans::of_memories(span, found).await?;
        Ok(RecallPage { found, meaning })
    }
}
