//! Recall: the matches among an agent's memories, by words and by meaning (SPEC 2.8).
//!
//! The index of a version of the agent is kept between calls (`indexes.rs`). The version read with the found memories
//! proves it: where they differ, another process wrote, and the index is rebuilt from the opened texts. So no result
//! comes from an outdated index, and a warm query costs one look-up.
//!
//! Recall under an agent's grant uses a temporary index of what the grant shows: word frequencies of other memories
//! would reveal their contents.

use std::{collections::HashMap, sync::Arc, time::Instant};

use memoir_domain::{
    memory::{Memory, Number, by_number},
    recall::{
        self, MatchedTerm, RecallIndex, RecallMatch, RecallPlace, RecallQuery, SemanticStatus,
    },
};
use memoir_model::EmbeddingModel;
use memoir_store::{AgentQuery, Selection};
use parking_lot::RwLock;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{
        AgentHandle, CONFLICT, Loaded, Result, again, opened::MemoryList,
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

/// Why a memory was found, where `explain` requests it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Match)]
pub struct ShownMatch {
    /// Its rank among all found ones, from 1.
    pub rank: usize,
    /// The sum of the weights; 0 for a query without words.
    pub score: f32,
    /// The older memory that it seems to correct, and therefore comes before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub corrects: Option<Number>,
    /// Whether it was found by stop words alone ("is", "the"), as was the memory that it corrects; left out where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_stop_words: bool,
    /// Its rank by meaning, from 1; left out where it was not found by meaning, or no embedding model was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<usize>,
    /// The matching parts of the query, the weightiest first; empty where only a memory that it corrects was found.
    #[schema(value_type = Vec<schemas::MatchedTerm>)]
    pub terms: Vec<MatchedTerm>,
}

impl From<RecallMatch> for ShownMatch {
    fn from(found: RecallMatch) -> Self {
        Self {
            rank: found.rank,
            score: found.score,
            corrects: found.corrects,
            by_stop_words: found.by_stop_words,
            near: found.near,
            terms: found.terms,
        }
    }
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
        let found = again(|| async {
            let indexed = self.indexed().await?;
            let (near, meaning) = match &question_vector {
                QuestionVector::Made(model, vector) => {
                    let taken = self.take_vectors_in(&indexed, model, Some(vector.dimensions()));
                    (Some(vector), Some(taken.await?))
                }
                QuestionVector::InWords(meaning) => (None, *meaning),
            };
            // The version is read under the same lock as the matches: a concurrent commit may update the index at any
            // moment.
            let (version, found) = read(&indexed, |indexed| {
                let found = indexed.index.search_near(query, near, after);
                (indexed.version, found)
            });
            // One that is evicted while the memories are loaded is not to stay for that.
            drop(indexed);
            let numbers = found.iter().map(|found| found.number).collect();
            let loaded = passing.load_memories(Selection::Numbers(numbers));
            match loaded.await {
                // The memories are loaded for their text anyway, with the version: this proves that the index was
                // current, at no further cost.
                Ok(loaded) if loaded.base.memories_version() == Some(version) => {
                    let mut found = with_memories(found, &loaded.memories);
                    // A match rests on the index; what is shown is the memory's own state.
                    found.retain(|(_, memory)| memory.is_active());
                    Ok((found, meaning))
                }
                Ok(_) => {
                    // Another process wrote.
                    indexes.forget_version(self.scope, version);
                    Err(CONFLICT)
                }
                Err(error) => {
                    // The agent may be gone; then nothing of it stays.
                    indexes.forget(self.scope);
                    Err(error)
                }
            }
        })
        .await?;
        self.memoir.state::<Metrics>().recalled(started.elapsed());
        Ok(found)
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

    /// Adds the model's vectors of memories without one to the index. Those with another length than the question's,
    /// where there is a question, are of another model under the same name: they are deleted, to be made again.
    pub(super) async fn take_vectors_in(
        self,
        indexed: &RwLock<Indexed>,
        model: &EmbeddingModel,
        dimensions: Option<usize>,
    ) -> Result<SemanticStatus> {
        let is_of_the_question = |own: usize| dimensions.is_none_or(|asked| asked == own);
        let name = model.to_string();
        let (lacking, has_none) = {
            let mut indexed = indexed.write();
            indexed.index.begin_vectors(&name);
            let lacking = indexed.index.without_vector();
            let has_none = lacking.len() == indexed.index.memories();
            (lacking, has_none)
        };
        let is_of_one_length = read(indexed, |indexed| {
            let own = indexed.index.vector_dimensions();
            own.is_none_or(is_of_the_question)
        });
        if lacking.is_empty() && is_of_one_length {
            return Ok(SemanticStatus::Merged);
        }
        // Without a list where all are missing: in a new index that is every memory, and the store reads them in one
        // run.
        let numbers: Vec<Number> = lacking.iter().map(|(number, _)| *number).collect();
        let made = self.vectors_of(model, (!has_none).then_some(&numbers));
        let made = made.await?;
        let slots: HashMap<Number, u32> = lacking.into_iter().collect();
        let (is_of_one_length, is_whole) = {
            let mut indexed = indexed.write();
            // Another caller has begun with those of another model: between the two there is no angle.
            if indexed.index.vector_model() != name {
                return Err(CONFLICT);
            }
            // Added from the store as it is now: an index of another version is dropped before it is used.
            let mut is_of_one_length = true;
            if let Some((_, first)) = made.first() {
                indexed.index.expect_vectors(made.len(), first.dimensions());
            }
            for (number, one) in &made {
                // A memory that was written since then has another slot: this one may be of its earlier text.
                if let Some(slot) = slots.get(number) {
                    indexed.index.put_vector((*number, *slot), one);
                }
                is_of_one_length &= is_of_the_question(one.dimensions());
            }
            let own = indexed.index.vector_dimensions();
            is_of_one_length &= own.is_none_or(is_of_the_question);
            if !is_of_one_length {
                indexed.index.forget_vectors();
            }
            (is_of_one_length, indexed.index.without_vector().is_empty())
        };
        // After the lock is released, since measuring takes the list's.
        self.memoir.state::<Indexes>().measure(self.scope);
        if !is_of_one_length {
            self.memoir.store.forget_vectors(self.scope, None).await?;
            self.memoir.state::<VectorUpkeep>().enqueue(self.scope, 0);
        }
        Ok(match is_whole {
            true => SemanticStatus::Merged,
            false => SemanticStatus::Partial,
        })
    }

    /// Reads or builds the agent's index, so that the next recall of this process does not wait for it. Writes nothing.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn open_index(self) -> Result<()> {
        again(|| self.indexed()).await.map(drop)
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

    pub(super) async fn indexed(self) -> Result<Arc<RwLock<Indexed>>> {
        self.indexed_by(true).await?.ok_or(CONFLICT)
    }

    /// The agent's index, of some version; `None` where it would have to be built of many texts, and `builds` is false.
    pub(super) async fn indexed_by(self, builds: bool) -> Result<Option<Arc<RwLock<Indexed>>>> {
        if let Some(indexed) = self.memoir.state::<Indexes>().get(self.scope) {
            return Ok(Some(indexed));
        }
        let indexes = self.memoir.state::<Indexes>();
        let _turn = indexes.builders.take(self.scope).await?;
        // Another caller may have built it meanwhile.
        if let Some(indexed) = indexes.get(self.scope) {
            return Ok(Some(indexed));
        }
        let building = indexes.begin(self.scope);
        // At the same time: of a large agent each takes milliseconds.
        let stored = self.memoir.store.word_index(self.scope, None);
        let query = AgentQuery::default();
        let (stored, loaded) = tokio::join!(stored, self.load(&query));
        let loaded = loaded?;
        let (index, is_stored) = match self.stored_index(&loaded, stored).await {
            Some((index, is_stored)) => (index, is_stored),
            None if builds || !self.is_index_stored(&loaded) => {
                (self.built_index(&loaded).await?, false)
            }
            None => return Ok(None),
        };
        // An agent that was read has a version.
        let version = loaded.base.memories_version().unwrap_or_default();
        let stored_vectors = index.stored_vectors();
        let indexed = building.finish(version, index)?;
        {
            let mut indexed = indexed.write();
            indexed.is_stored = is_stored || !self.is_index_stored(&loaded);
            indexed.stored_vectors = stored_vectors;
        }
        Ok(Some(indexed))
    }

    async fn built_index(self, loaded: &Loaded) -> Result<RecallIndex> {
        let started = Instant::now();
        let index = RecallIndex::default();
        let index = self.fold_active(loaded.base.key(), index, RecallIndex::put);
        let index = index.await?;
        let metrics = self.memoir.state::<Metrics>();
        metrics.index_built(index.memories(), started.elapsed());
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
        RecallIndex::of(memories).search(query, after)
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
