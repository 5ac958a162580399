//! Recall: the matches among an agent's memories, by words and by meaning (SPEC 2.8).
//!
//! The index of a version of the agent is kept between calls (`indexes.rs`). The version read with the found memories
//! proves it: where they differ, another process wrote, and the index is rebuilt from the opened texts. So no result
//! comes from an outdated index, and a warm query costs one look-up.
//!
//! Recall under an agent's grant uses a temporary index of what the grant shows: word frequencies of other memories
//! would reveal their contents.

use std::{sync::Arc, time::Instant};

use memoir_domain::{
    memory::{Memory, Number, by_number},
    recall::{
        self, MatchedTerm, RecallIndex, RecallMatch, RecallPlace, RecallQuery, SemanticStatus,
        Vector,
    },
    view,
};
use memoir_model::EmbeddingModel;
use memoir_store::{AgentQuery, Selection};
use memoir_vault::AgentKey;
use parking_lot::RwLock;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{
        AgentHandle, CONFLICT, Error, Loaded, Result, again, load_room, opened::MemoryList,
        parallel::drop_in_background,
    },
    memory::{
        Memories, VectorUpkeep,
        indexes::{Indexed, Indexes, read},
        vectors::QuestionVector,
    },
    metrics::Metrics,
    shown::{ShownMemory, schemas},
};

view! {
    /// Why a memory was found, where `explain` requests it.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    #[schema(as = Match)]
    pub struct ShownMatch from found: RecallMatch;
    /// Its rank among all found ones, from 1.
    pub rank: usize = found.rank,
    /// The sum of the weights; 0 for a query without words.
    pub score: f32 = found.score,
    /// The older memory that it seems to correct, and therefore comes before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub corrects: Option<Number> = found.corrects,
    /// Whether it was found by stop words alone ("is", "the"), as was the memory that it corrects; left out where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_stop_words: bool = found.by_stop_words,
    /// Its rank by meaning, from 1; left out where it was not found by meaning, or no embedding model was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<usize> = found.near,
    /// The matching parts of the query, the weightiest first; empty where only a memory that it corrects was found.
    #[schema(value_type = Vec<schemas::MatchedTerm>)]
    pub terms: Vec<MatchedTerm> = found.terms,
}

/// The found memories, and whether meaning was used.
#[derive(Debug)]
pub struct RecallPage {
    /// The memories, the best match first.
    pub found: Vec<(RecallMatch, ShownMemory)>,
    /// Whether meaning was used too; `None` where no embedding server is configured, or the query has no meaning.
    pub meaning: Option<SemanticStatus>,
}

pub(crate) type Recalled = Vec<(RecallMatch, Memory)>;

/// Vectors that are read at a time: of 384 dimensions, half a megabyte sealed and as much opened.
const VECTORS: usize = 1_024;

/// The vectors that a caller needs in an index.
#[derive(Clone, Copy)]
pub(super) struct WantedVectors<'a> {
    pub(super) model: &'a EmbeddingModel,
    /// What they are compared with; `None` where there is no question.
    pub(super) question: Option<&'a Vector>,
}

impl WantedVectors<'_> {
    fn fit(self, dimensions: usize) -> bool {
        let is_it = |question: &Vector| question.dimensions() == dimensions;
        self.question.is_none_or(is_it)
    }

    /// Whether the index's vectors can be compared with the question's, if it has any.
    fn fit_in(self, index: &RecallIndex) -> bool {
        let own = index.vector_dimensions();
        own.is_none_or(|dimensions| self.fit(dimensions))
    }

    /// Wipes the vectors of any other model. The memories without a vector, by their numbers, and whether those of the
    /// others fit.
    fn begin_in(self, indexed: &RwLock<Indexed>) -> (Vec<(Number, u32)>, bool) {
        let mut writing = indexed.write();
        writing.index.begin_vectors(&self.model.to_string());
        let mut lacking = writing.index.without_vector();
        lacking.sort_unstable();
        (lacking, self.fit_in(&writing.index))
    }

    /// Puts those of a page of memories, as [`WantedVectors::begin_in`] returned them, with room for so many that are to
    /// come. Whether all fit.
    fn put_in(
        self,
        index: &mut RecallIndex,
        page: &[(Number, u32)],
        made: &[(Number, Vector)],
        expected: usize,
    ) -> Result<bool> {
        self.status_in(index)?;
        if let Some((_, first)) = made.first() {
            index.expect_vectors(expected.max(made.len()), first.dimensions());
        }
        // From the store as it is now: an index of another version is dropped before it is used.
        for (number, vector) in made {
            // A memory that was written since then has another slot: this vector may be of its earlier text.
            if let Ok(at) = page.binary_search_by_key(number, |(number, _)| *number) {
                index.put_vector(page[at], vector);
            }
        }
        let all_fit = made.iter().all(|(_, vector)| self.fit(vector.dimensions()));
        Ok(all_fit && self.fit_in(index))
    }

    /// Whether all memories have one.
    fn status_in(self, index: &RecallIndex) -> Result<SemanticStatus> {
        // Another caller has begun with those of another model: between the two there is no angle.
        if index.vector_model() != self.model.to_string() {
            return Err(CONFLICT);
        }
        Ok(match index.vectors() == index.memories() {
            true => SemanticStatus::Merged,
            false => SemanticStatus::Partial,
        })
    }
}

impl Memories<'_> {
    /// A page of matches among the active memories, by the cached index.
    pub(crate) async fn found(
        self,
        query: &RecallQuery,
        after: Option<RecallPlace>,
    ) -> Result<(Recalled, Option<SemanticStatus>)> {
        if recall::is_literal(query.text.expose()) {
            let loaded = self.load_memories(Selection::Active).await?;
            let found = recall::literal_matches(&loaded.memories, query, after);
            return Ok((with_memories(found, &loaded.memories), None));
        }
        // The embedding server is called before the index is read: it may be slow, and the result must show the
        // memories as they are at its end.
        let question_vector = self.question_vector(query, self.serving().await?).await?;
        // The server's time is in the metrics of the models, so the clock starts after it.
        let started = Instant::now();
        let indexes = self.memoir.state::<Indexes>();
        let passing = AgentHandle {
            keeps_opened: false,
            ..(*self).clone()
        };
        let (wanted, in_words) = match &question_vector {
            QuestionVector::Made(model, question) => {
                let question = Some(question);
                (Some(WantedVectors { model, question }), None)
            }
            QuestionVector::InWords(meaning) => (None, *meaning),
        };
        let has_literal_phrase = recall::has_literal_phrase(query.text.expose());
        let found = again(|| async {
            // Before the index is read: no two loads at a time.
            let narrowed = match has_literal_phrase {
                true => {
                    let loaded = self.load_memories(Selection::Active).await?;
                    let narrowed = query.with_phrases(&loaded.memories);
                    Some((narrowed, loaded.base.memories_version()))
                }
                false => None,
            };
            let query = narrowed.as_ref().map_or(query, |(narrowed, _)| narrowed);
            let indexed = self.indexed(wanted).await?;
            // The version is read under the same lock as the matches: a concurrent commit may update the index.
            let (version, meaning, found) = read(&indexed, |indexed| {
                let index = &indexed.index;
                let meaning = wanted.map(|wanted| wanted.status_in(index)).transpose()?;
                let near = wanted.and_then(|wanted| wanted.question);
                let found = index.search_near(query, near, after);
                Ok::<_, Error>((indexed.version, meaning.or(in_words), found))
            })?;
            // One that is evicted while the memories are loaded is not to stay for that.
            drop(indexed);
            let numbers = found.iter().map(|found| found.number).collect();
            let loaded = passing.load_memories(Selection::Numbers(numbers)).await?;
            // The memories are loaded for their text anyway, with the version: this proves that the index was current, at
            // no further cost.
            if loaded.base.memories_version() != Some(version) {
                // Another process wrote.
                indexes.forget_version(self.scope, version);
                return Err(CONFLICT);
            }
            if narrowed.is_some_and(|(_, of)| of != Some(version)) {
                return Err(CONFLICT);
            }
            let mut found = with_memories(found, &loaded.memories);
            // A match rests on the index; what is shown is the memory's own state.
            found.retain(|(_, memory)| memory.is_active());
            Ok((found, meaning))
        })
        .await;
        match found {
            Ok(_) => {
                let table = &self.memoir.state::<Metrics>().table;
                let seconds = started.elapsed().as_secs_f64();
                table.recall_seconds.observe(seconds);
            }
            // These say nothing of the agent, whose index another caller may be building.
            Err(Error::NoRoom | Error::Contended) => {}
            // The agent may be gone; then nothing of it stays.
            Err(_) => indexes.forget(self.scope),
        }
        found
    }

    /// The model whose vectors are used; `None` for the configured one.
    pub(super) async fn serving(self) -> Result<Option<EmbeddingModel>> {
        let Some(configured) = self.memoir.settings.recall.embedding_model() else {
            return Ok(None);
        };
        // If all have one of the configured model, no other is used, and the store is not read.
        let is_complete = |indexed: &Indexed| {
            let index = &indexed.index;
            index.vector_model() == configured.to_string() && index.without_vector().is_empty()
        };
        let indexed = self.memoir.state::<Indexes>().get(self.scope);
        match indexed.is_some_and(|indexed| read(&indexed, is_complete)) {
            true => Ok(None),
            false => self.serving_model().await,
        }
    }

    /// Adds the wanted vectors of memories without one to the index, page by page: many at a turn to build an index, which
    /// a caller with the agent's `key` has. Where some have another length than the question's, they are of another model
    /// under the same name: all are deleted, to be made again.
    ///
    /// # Errors
    /// [`CONFLICT`]: another caller began with the vectors of another model. The agent is gone; the store fails.
    pub(super) async fn take_vectors_in(
        self,
        indexed: &RwLock<Indexed>,
        wanted: WantedVectors<'_>,
        key: Option<&AgentKey>,
    ) -> Result<()> {
        let (indexes, name) = (self.memoir.state::<Indexes>(), wanted.model.to_string());
        let (mut lacking, mut fit) = wanted.begin_in(indexed);
        let (mut expected, mut turn) = (0, None);
        if lacking.len() > VECTORS {
            let models = self.memoir.store.vector_models(self.scope).await?;
            let made = models.iter().find(|(model, _)| *model == name);
            let made = made.map_or(0, |(_, count)| *count as usize);
            let still = |lacking: usize| {
                let own = read(indexed, |indexed| indexed.index.vectors());
                made.saturating_sub(own).min(lacking)
            };
            expected = still(lacking.len());
            // While they are made, a question is not to wait for pages with few of them.
            let are_few = key.is_none() && expected * 16 < lacking.len();
            if (expected == 0 || are_few) && fit {
                return Ok(());
            }
            if key.is_none() {
                turn = Some(indexes.builders.take(self.scope).await?);
                // Another caller may have added them meanwhile.
                (lacking, fit) = wanted.begin_in(indexed);
                expected = still(lacking.len());
            }
        }
        if lacking.is_empty() && fit {
            return Ok(());
        }
        let key = match key {
            Some(key) => key.clone(),
            None => self.load(&AgentQuery::default()).await?.base.key().clone(),
        };
        for page in lacking.chunks(VECTORS) {
            if !fit {
                break;
            }
            let numbers: Vec<Number> = page.iter().map(|(number, _)| *number).collect();
            let made = self.vectors_of(&key, &name, &numbers).await?;
            fit = wanted.put_in(&mut indexed.write().index, page, &made, expected)?;
            expected = expected.saturating_sub(made.len());
            // After the index is unlocked, since measuring takes the list's lock.
            indexes.measure(self.scope);
        }
        drop(turn);
        if !fit {
            indexed.write().index.forget_vectors();
            indexes.measure(self.scope);
            self.memoir.store.forget_vectors(self.scope, None).await?;
            self.memoir.state::<VectorUpkeep>().enqueue(self.scope, 0);
        }
        Ok(())
    }

    /// Reads or builds the agent's index, so that the next recall of this process does not wait for it. Writes nothing.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn open_index(self) -> Result<()> {
        again(|| self.indexed(None)).await.map(drop)
    }

    /// Wipes the agent's index beside the caller, for a process that recalls no more.
    pub fn drop_index(self) {
        let indexes = self.memoir.state::<Indexes>();
        // One that is being made stays: without it, its maker would begin again.
        if let Some(index) = indexes.get(self.scope) {
            indexes.forget(self.scope);
            drop_in_background(index);
        }
    }

    /// The agent's index, of some version, with the wanted vectors.
    pub(super) async fn indexed(
        self,
        wanted: Option<WantedVectors<'_>>,
    ) -> Result<Arc<RwLock<Indexed>>> {
        // The futures are large, and a request's own is on the stack.
        let built = Box::pin(self.indexed_by(true, wanted)).await?;
        let (indexed, is_new) = built.ok_or(CONFLICT)?;
        if let Some(wanted) = wanted.filter(|_| !is_new) {
            Box::pin(self.take_vectors_in(&indexed, wanted, None)).await?;
        }
        Ok(indexed)
    }

    /// The agent's index, of some version, and whether it is new: then it has the wanted vectors. `None` where it would
    /// have to be built of many texts, and `builds` is false.
    pub(super) async fn indexed_by(
        self,
        builds: bool,
        wanted: Option<WantedVectors<'_>>,
    ) -> Result<Option<(Arc<RwLock<Indexed>>, bool)>> {
        let indexes = self.memoir.state::<Indexes>();
        if let Some(indexed) = indexes.get(self.scope) {
            return Ok(Some((indexed, false)));
        }
        let _turn = indexes.builders.take(self.scope).await?;
        // Another caller may have built it meanwhile.
        if let Some(indexed) = indexes.get(self.scope) {
            return Ok(Some((indexed, false)));
        }
        let building = indexes.begin(self.scope);
        let reserve = || {
            let counts = self.memoir.room.counts(self.scope);
            if let Some(counts) = counts.filter(|_| builds) {
                // About: memories of two sentences take a fourth of their load, and with vectors of 384 dimensions half.
                let part = if wanted.is_some() { 2 } else { 4 };
                building.reserve(load_room::bytes(counts.active()) / part);
            }
        };
        // Before the stored one is in memory, where this process knows the agent's size; else once it is read.
        reserve();
        // At the same time: of a large agent each takes milliseconds.
        let stored = self.memoir.store.word_index(self.scope, None);
        let query = AgentQuery::default();
        let (stored, loaded) = tokio::join!(stored, self.load(&query));
        let loaded = loaded?;
        reserve();
        let (index, is_stored) = match self.stored_index(&loaded, stored).await {
            Some((index, is_stored)) => (index, is_stored),
            None if builds || !self.is_index_stored(&loaded) => {
                (self.built_index(&loaded).await?, false)
            }
            None => return Ok(None),
        };
        // An agent that was read has a version.
        let version = loaded.base.memories_version().unwrap_or_default();
        let indexed = Arc::new(RwLock::new(Indexed {
            version,
            stored_vectors: index.stored_vectors(),
            is_stored: is_stored || !self.is_index_stored(&loaded),
            index,
        }));
        // At this turn: another caller that had the index and waited for them would hold it even if it was evicted.
        if let Some(wanted) = wanted {
            let key = loaded.base.key();
            Box::pin(self.take_vectors_in(&indexed, wanted, Some(key))).await?;
        }
        building.finish(&indexed)?;
        Ok(Some((indexed, true)))
    }

    async fn built_index(self, loaded: &Loaded) -> Result<RecallIndex> {
        let started = Instant::now();
        let index = RecallIndex::default();
        let index = self.fold_active(loaded.base.key(), index, RecallIndex::put);
        let index = index.await?;
        let table = &self.memoir.state::<Metrics>().table;
        let seconds = started.elapsed().as_secs_f64();
        table.index_build_seconds.observe(seconds);
        table.indexed_memories.inc_by(index.memories() as u64);
        Ok(index)
    }
}

/// Matches among memories, with a temporary index where there is a question.
pub(crate) fn found_among(
    memories: &MemoryList,
    query: &RecallQuery,
    after: Option<RecallPlace>,
) -> Recalled {
    let text = query.text.expose();
    let found = if text.trim().is_empty() || recall::is_literal(text) {
        recall::literal_matches(memories, query, after)
    } else {
        RecallIndex::of(memories).search(&query.with_phrases(memories), after)
    };
    with_memories(found, memories)
}

fn with_memories(found: Vec<RecallMatch>, memories: &MemoryList) -> Recalled {
    let memories = by_number(memories);
    let found = found.into_iter();
    found
        .filter_map(|found| {
            let memory = *memories.get(&found.number)?;
            Some((found, memory.clone()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use memoir_domain::audit::Actor;

    use super::*;
    use crate::{
        memory::import,
        tests::{memoir, scope},
    };

    fn model(name: &str) -> EmbeddingModel {
        name.parse().unwrap()
    }

    #[test]
    fn spec_2_8_vectors_of_two_models_are_never_in_one_index() {
        let (model, other) = (model("lab:small"), model("lab:large"));
        let [wanted, others] = [&model, &other].map(|model| WantedVectors {
            model,
            question: None,
        });
        let made = [(Number(1), Vector::of(&[1.0, 2.0]).unwrap())];
        let mut index = RecallIndex::default();
        index.begin_vectors(&model.to_string());
        assert!(wanted.put_in(&mut index, &[], &made, 1).unwrap());
        let mixed = others.put_in(&mut index, &[], &made, 1).unwrap_err();
        assert!(matches!(mixed, Error::Store(memoir_store::Error::Conflict)));
        // Nor is a question compared with another model's.
        assert!(wanted.status_in(&index).is_ok() && others.status_in(&index).is_err());
    }

    #[tokio::test]
    async fn spec_2_8_a_question_waits_for_no_turn_while_no_vector_is_made() {
        let memoir = memoir();
        let account = memoir.account("default").await.unwrap();
        let actor = Actor::administrator("test");
        account.create_agent("wren", &[], &actor).await.unwrap();
        let agent = account.agent("wren").await.unwrap();
        let lines = (0..=VECTORS).map(|at| format!("{{\"content\": \"Note {at}\"}}\n"));
        let lines = import::read(lines.collect::<String>().as_bytes(), None, memoir.now());
        let memories = agent.memories();
        let imported = memories.import(lines, false, &actor, Arc::default()).await;
        assert_eq!(imported.unwrap().imported, VECTORS + 1);
        let (model, question) = (model("lab:small"), Vector::of(&[1.0, 2.0]).unwrap());
        let wanted = WantedVectors {
            model: &model,
            question: Some(&question),
        };
        let indexed = memories.indexed(None).await.unwrap();
        let builders = &memoir.state::<Indexes>().builders;
        let _one = builders.take(scope(1)).await.unwrap();
        let _other = builders.take(scope(2)).await.unwrap();
        let taken = memories.take_vectors_in(&indexed, wanted, None);
        let taken = tokio::time::timeout(Duration::from_secs(60), taken).await;
        taken.expect("waits for a turn").unwrap();
        let status = read(&indexed, |indexed| wanted.status_in(&indexed.index));
        assert_eq!(status.unwrap(), SemanticStatus::Partial);
    }
}
