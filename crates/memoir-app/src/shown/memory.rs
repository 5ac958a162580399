//! Memories as they are shown, by number, by pages, and found by a search.

use memoir_domain::{
    PrivateText, Timestamp,
    access::{AccessScope, ShownAmount},
    audit::Actor,
    context::journal_since,
    memory::{Kind, Memory, Number, Tags},
    origin::Origin,
    recall::{
        QUESTION_LIMIT, RECALL_LIMIT, RecallMatch, RecallPlace, RecallQuery, ReplacedMark,
        is_literal,
    },
    view,
};
use memoir_store::{AgentQuery, Expiry, MemoryPage, Selection};
use serde::Serialize;
use utoipa::ToSchema;

use super::{AccessLevel, AgentLens, ArchiveLinks, Shown, ShowsWords, Viewer, schema, schemas};
use crate::{
    core::{Error, Result, codec, spans},
    memory::{
        memories::check_query,
        recall::{RecallPage, ShownMatch, found_among},
    },
    shown::Views,
};

view! {
    /// A memory without its text: numbers, dates, flags and codes only.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct MemoryFacts from memory: &Memory, links: &ArchiveLinks;
    /// Its number within the agent, from 1.
    #[schema(value_type = u64)]
    pub number: Number = memory.number,
    /// Its kind.
    #[schema(value_type = schemas::Kind)]
    pub kind: Kind = memory.kind(),
    /// Its size: characters / 4, rounded up.
    pub tokens: u64 = memory.tokens(),
    /// Whether no session can delete, consolidate or archive it.
    pub constitutional: bool = memory.is_constitutional(),
    /// Whether a session wrote its text in place of others.
    pub is_summary: bool = memory.is_summary,
    /// Whether it is a report of Memoir's to the agent, which no administrator discards; not shown.
    #[serde(skip)]
    #[schema(ignore)]
    pub is_report: bool = memory.is_written_by_memoir(),
    /// The archival memories directly under it. They stay archival where it is discarded.
    #[schema(value_type = Vec<u64>)]
    pub sources: Vec<Number> = links.sources(memory.number),
    /// The memory that took its place; null where there is none, or where that one is discarded or shredded.
    #[schema(required, value_type = Option<u64>)]
    pub under: Option<Number> = links.read_under(memory),
    /// Its origin; of a summary, the weakest origin of its sources.
    #[schema(value_type = schemas::Origin)]
    pub origin: Origin = memory.origin(),
    /// The origin date.
    pub created_at: Timestamp = memory.created_at,
    /// When it was changed last.
    pub updated_at: Timestamp = memory.updated_at,
    /// When a journal entry expires from the prompt, or has expired; null for other kinds.
    #[schema(required)]
    pub fades_at: Option<Timestamp> = memory.fades_at(),
    /// When it became archival; null for other kinds.
    #[schema(required)]
    pub archived_at: Option<Timestamp> = memory.place.archived().map(|archived| archived.at),
    /// When it was discarded; null for an active one.
    #[schema(required)]
    pub discarded_at: Option<Timestamp> = memory.discarded_at,
    /// When its text was shredded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shredded_at: Option<Timestamp> = memory.shredded_at,
}

/// The text of a memory, and what recall says of it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MemoryWords {
    /// Its text.
    #[schema(value_type = Option<String>)]
    pub content: PrivateText,
    /// Its tags.
    #[schema(value_type = Option<Vec<String>>)]
    pub tags: Tags,
    /// A free-text reference to where its text came from; left out where there is none, as of every summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub source: Option<PrivateText>,
    /// The note that it was replaced; only from recall.
    #[serde(flatten)]
    #[schema(ignore)]
    pub replaced: Option<ReplacedMark>,
    /// Why it was found, where `explain` requests it.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub explanation: Option<ShownMatch>,
}

/// A memory. It has no words for a viewer that may not read them.
pub type ShownMemory = Shown<MemoryFacts, Option<MemoryWords>>;

impl ShownMemory {
    pub(crate) fn with_words(memory: Memory, links: &ArchiveLinks) -> Self {
        Self {
            facts: MemoryFacts::new(&memory, links),
            words: Some(MemoryWords {
                content: memory.content,
                tags: memory.tags,
                source: memory.source,
                replaced: None,
                explanation: None,
            }),
        }
    }

    /// With the mark of a memory that was replaced (SPEC 2.8).
    fn marked(mut self, found: &RecallMatch) -> Self {
        if let Some(words) = &mut self.words {
            words.replaced = found.replaced;
        }
        self
    }

    /// With the reason why it was found, where that `is_wanted`.
    #[must_use]
    pub fn explained(mut self, found: RecallMatch, is_wanted: bool) -> Self {
        if is_wanted && let Some(words) = &mut self.words {
            words.explanation = Some(ShownMatch::new(found));
        }
        self
    }

    fn seen(memory: Memory, links: &ArchiveLinks, access_level: AccessLevel) -> Self {
        if access_level.covers(|scope| scope.shows_memory(&memory)) {
            Self::with_words(memory, links)
        } else {
            MemoryFacts::new(&memory, links).into()
        }
    }

    /// In the response to a change, for the actor who made it.
    pub(crate) fn answered(memory: Memory, links: &ArchiveLinks, actor: &Actor) -> Self {
        Self::seen(memory, links, AccessLevel::of_answer(actor))
    }

    /// Its text; empty for a viewer that may not read it.
    pub fn content(&self) -> &str {
        let words = self.words.as_ref();
        words.map_or("", |words| words.content.expose())
    }

    /// Where its text came from; `None` for a viewer that may not read it, or where there is no reference.
    pub fn source(&self) -> Option<&PrivateText> {
        self.words.as_ref()?.source.as_ref()
    }

    /// The note that it was replaced, where recall found it so.
    pub fn replaced(&self) -> Option<&ReplacedMark> {
        self.words.as_ref()?.replaced.as_ref()
    }

    /// Why recall found it; `None` where that was not requested.
    pub fn explanation(&self) -> Option<&ShownMatch> {
        self.words.as_ref()?.explanation.as_ref()
    }

    /// Its tags; none for a viewer that may not read them.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(|words| words.tags.iter())
    }
}

schema::one_object!(
    ShownMemory,
    "Memory",
    [MemoryFacts, MemoryWords, schemas::Replaced],
    "A memory. `content`, `tags` and `source` are for the agent itself, and for an administrator under an access\n\
     grant."
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

impl Views<'_> {
    /// One memory, discarded or not, without its text.
    ///
    /// # Errors
    /// There is none of that number; the store fails.
    pub async fn memory(self, number: Number) -> Result<MemoryFacts> {
        let memory = self.read_memory(number).await?;
        let links = self.links_of(std::iter::once(&memory)).await?;
        Ok(MemoryFacts::new(&memory, &links))
    }

    async fn read_memory(self, number: Number) -> Result<Memory> {
        let rows = self.memoir.store.memories(self.scope, &[number]).await?;
        match (rows.into_iter().next(), self.present_key().await?) {
            (Some(row), Some(key)) => codec::memory(&key, &row),
            // The agent may be gone, or the memory was removed outside Memoir.
            _ => {
                self.load(&AgentQuery::default()).await?;
                Err(Error::NoMemory(number))
            }
        }
    }

    /// Journal entries that have expired from the prompt by now, or all other memories.
    pub fn expired(self, is_expired: bool) -> Expiry {
        Expiry {
            until: journal_since(self.memoir.now()),
            is_expired,
        }
    }

    /// One page of memories, by number, without their text.
    ///
    /// # Errors
    /// A memory was removed outside Memoir, on this page or on another one; the store fails.
    pub async fn memory_page(self, page: &MemoryPage) -> Result<Vec<MemoryFacts>> {
        let loaded = self.load(&AgentQuery::default()).await?;
        let key = loaded.base.key();
        let (rows, _room) = self.rows_with_room(page).await?;
        let memories = crate::core::parallel::map(rows, |row| codec::memory(key, &row))
            .into_iter()
            .collect::<Result<Vec<Memory>>>()?;
        let links = self.links_of(memories.iter()).await?;
        let facts = memories
            .iter()
            .map(|memory| MemoryFacts::new(memory, &links));
        Ok(facts.collect())
    }
}

fn covers_memories(scope: AccessScope) -> bool {
    matches!(scope, AccessScope::Core | AccessScope::All)
}

fn active_or_all(with_discarded: bool) -> Selection {
    if with_discarded {
        Selection::All
    } else {
        Selection::Active
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
            let agent = self.agent.views();
            let memory = agent.read_memory(number).await?;
            let links = agent.links_of(std::iter::once(&memory)).await?;
            return Ok(ShownMemory::with_words(memory, &links));
        }
        let agent_query = &AgentQuery::of_memories(Selection::Numbers(vec![number]));
        self.look(agent_query, covers_memories, |mut look| async move {
            let memory = look.load(agent_query).await?.memories.copies().next();
            let memory = memory.ok_or(Error::NoMemory(number))?;
            let agent = look.agent.views();
            let links = agent.links_of(std::iter::once(&memory)).await?;
            Ok(ShownMemory::seen(memory, &links, look.access_level))
        })
        .await
    }

    /// One page of the memories that are wanted, by number, and whether others follow it.
    ///
    /// # Errors
    /// The store fails.
    pub async fn memory_page(
        &self,
        page: &MemoryPage,
        is_wanted: impl Fn(&MemoryFacts) -> bool + Sync,
    ) -> Result<(Vec<ShownMemory>, bool)> {
        let (most, is_wanted) = (page.limit as usize, &is_wanted);
        let first = &MemoryPage {
            limit: page.limit.saturating_add(1),
            ..page.clone()
        };
        let agent_query = AgentQuery::of_memories(Selection::Page(first.clone()));
        self.look(&agent_query, covers_memories, |mut look| async move {
            let (mut page, mut found) = (first.clone(), Vec::new());
            // The store does not know origins, for instance, which are sealed: rows are read until the page is full.
            loop {
                let query = AgentQuery::of_memories(Selection::Page(page.clone()));
                let memories = look.load(&query).await?.memories;
                let links = look.agent.views().links_of(memories.iter()).await?;
                let seen = memories
                    .copies()
                    .map(|memory| ShownMemory::seen(memory, &links, look.access_level));
                let mut seen: Vec<ShownMemory> = seen.collect();
                seen.sort_by_key(|memory| memory.facts.number);
                let is_last = seen.len() < page.limit as usize;
                page.after = seen.last().map_or(page.after, |last| last.facts.number.0);
                found.extend(seen.into_iter().filter(|memory| is_wanted(&memory.facts)));
                if is_last || found.len() > most {
                    break;
                }
            }
            let has_more = found.len() > most;
            found.truncate(most);
            Ok((found, has_more))
        })
        .await
    }

    /// The active memories, or all of them, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn memories(&self, with_discarded: bool) -> Result<Vec<ShownMemory>> {
        let agent_query = &AgentQuery::of_memories(active_or_all(with_discarded));
        self.look(agent_query, covers_memories, |mut look| async move {
            let memories = look.load(agent_query).await?.memories;
            let links = ArchiveLinks::among(&memories);
            let seen = memories
                .copies()
                .map(|memory| ShownMemory::seen(memory, &links, look.access_level));
            Ok(seen.collect::<Vec<_>>())
        })
        .await
    }

    /// Finds active memories, best match first, among those that the viewer may read.
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

    /// The best few for a prompt of an agent's client, which places them beside it; matches far below the best one are
    /// left out. A prompt may be of any length.
    ///
    /// # Errors
    /// As [`AgentLens::recall_page`].
    pub async fn recall_for_prompt(
        &self,
        prompt: &PrivateText,
        limit: usize,
    ) -> Result<Vec<ShownMemory>> {
        let limit = limit.min(RECALL_LIMIT);
        let query = RecallQuery::of_prompt(prompt.expose(), QUESTION_LIMIT, limit);
        let text = query.text.expose();
        let has_words = text.contains(char::is_alphanumeric);
        // Marks alone ("?") would be searched for in all texts, and what has them has no score.
        if text.trim().is_empty() || !has_words && is_literal(text) {
            return Ok(Vec::new());
        }
        let mut found = self.recall_page(&query, None, false).await?.found;
        let best = found.iter().map(|(found, _)| found);
        // The best by words need not come first: a correction, or a match by meaning, may precede it.
        let best = best.max_by(|one, other| one.score.total_cmp(&other.score));
        if let Some(best) = best.cloned() {
            found.retain(|(found, _)| found.is_worth_showing(&best));
        }
        Ok(found.into_iter().map(|(_, memory)| memory).collect())
    }

    /// One page of matches among the memories that the viewer may read, best match first: from behind a place on, as
    /// many as the query requests; discarded memories too where requested. Meaning is used for the agent itself, where
    /// an embedding model is configured; under a grant, and among discarded memories, words alone.
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
            check_query(query)?;
            if self.viewer == Viewer::Agent && !with_discarded {
                let (found, by_meaning) = self.agent.memories().found(query, after).await?;
                meaning = by_meaning;
                let memories = found.iter().map(|(_, memory)| memory);
                let links = self.agent.views().links_of(memories).await?;
                let seen = |(found, memory): (RecallMatch, Memory)| {
                    let shown = ShownMemory::with_words(memory, &links).marked(&found);
                    (found, shown)
                };
                return Ok(found.into_iter().map(seen).collect());
            }
            let agent_query = &AgentQuery::of_memories(active_or_all(with_discarded));
            self.look(agent_query, covers_memories, |mut look| async move {
                if look.access_level == AccessLevel::NoWords {
                    return Err(Error::NoAccess(look.agent.name.clone()));
                }
                let mut memories = look.load(agent_query).await?.memories;
                let links = ArchiveLinks::among(&memories);
                memories
                    .retain(|memory| look.access_level.covers(|scope| scope.shows_memory(memory)));
                // Ranked among the readable memories only: word frequencies of the others would reveal contents.
                let found = found_among(&memories, query, after).into_iter();
                let seen = |(found, memory): (RecallMatch, Memory)| {
                    let shown = ShownMemory::seen(memory, &links, look.access_level).marked(&found);
                    (found, shown)
                };
                Ok(found.map(seen).collect::<Vec<_>>())
            })
            .await
        };
        let span = spans::memory(self.agent.scope, "search_memory");
        let found = spans::of_memories(span, found).await?;
        Ok(RecallPage { found, meaning })
    }
}
