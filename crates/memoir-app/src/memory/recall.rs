//! Recall, and the indexes of words that this process keeps between calls (SPEC 2.8, 5.3).
//!
//! Each agent that is searched has an index of its own ([`RecallIndex`]) in memory, for one version of the agent; a
//! process begins with the stored one where that fits (`stored_index.rs`).
//! The commits of this process update it. After a write by another process, the version read with the found memories
//! differs, and the index is rebuilt from the opened texts. So no result comes from an outdated index, and a warm query
//! costs one look-up.
//!
//! All indexes together stay under [`crate::core::settings::RecallSettings::index_bytes`]: the least recently used one is wiped first.
//! The last used one stays even if it alone is larger, since the next recall would rebuild it with as much memory; the
//! log names the setting. Recall under an agent's grant uses a temporary index of what the grant shows: word
//! frequencies of other memories would reveal their contents.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use memoir_domain::{
    AgentScope, PrivateText, Timestamp,
    audit::Change,
    draft::Decision,
    memory::{Memory, Number, by_number},
    recall::{
        self, FoundAs, RecallIndex, RecallMatch, RecallPlace, RecallQuery, ReplacedMark,
        SemanticStatus,
    },
};
use memoir_model::EmbeddingModel;
use memoir_store::{AgentQuery, Selection};
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::{
    core::{
        AfterCommit, AgentHandle, CONFLICT, CommitListener, Loaded, Result, again,
        opened::MemoryList,
        parallel::{ConcurrencyLimit, run_blocking},
    },
    memory::{
        Memories, VectorUpkeep, memories::memory_query, stored_index, vectors::QuestionVector,
    },
    metrics::{IndexBuild, Metrics},
    shown::{ShownMemory, schemas},
};

/// The note beside a found memory that was replaced: "until DATE, now #9" (SPEC 2.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Replaced)]
pub struct ShownReplaced {
    /// The origin date of the memory that replaced it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Timestamp,
    /// The number of the core memory with the current state.
    #[schema(value_type = Option<u64>)]
    pub now: Number,
}

impl From<ReplacedMark> for ShownReplaced {
    fn from(mark: ReplacedMark) -> Self {
        let ReplacedMark { until, now } = mark;
        Self { until, now }
    }
}

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
    pub terms: Vec<ShownTerm>,
}

/// A part of a query by which a memory was found.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = MatchedTerm)]
pub struct ShownTerm {
    /// As the question has it, folded.
    #[schema(value_type = String)]
    pub term: PrivateText,
    /// How it is in the memory.
    #[schema(value_type = schemas::FoundAs)]
    pub found: FoundAs,
    /// Its share of the score.
    pub weight: f32,
}

impl From<RecallMatch> for ShownMatch {
    fn from(found: RecallMatch) -> Self {
        let shown = |term: recall::MatchedTerm| ShownTerm {
            term: term.term,
            found: term.found,
            weight: term.weight,
        };
        Self {
            rank: found.rank,
            score: found.score,
            corrects: found.corrects,
            by_stop_words: found.by_stop_words,
            near: found.near,
            terms: found.terms.into_iter().map(shown).collect(),
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

/// An index, and its version of the agent.
struct Indexed {
    version: u64,
    index: RecallIndex,
    /// How many vectors there were as it was last stored.
    stored_vectors: usize,
    /// Whether other processes find it stored, or nearly as it is; or it is too small to be stored.
    is_stored: bool,
}

/// An index in the form to be stored.
pub(super) struct IndexBytes {
    pub(super) version: u64,
    /// How many vectors there were as it was last stored.
    pub(super) stored_vectors: usize,
    /// How many there are now.
    pub(super) vectors: usize,
    pub(super) bytes: Zeroizing<Vec<u8>>,
}

/// An index that is kept.
struct KeptIndex {
    indexed: Arc<RwLock<Indexed>>,
    bytes: usize,
    /// When it was used, counted in uses.
    used: u64,
    /// Whether the log reports that it alone exceeds the limit.
    is_logged: bool,
}

/// A commit of this process.
struct FollowedCommit {
    from: Option<u64>,
    to: u64,
    changes: Vec<Change>,
}

/// The commits on an agent since its memories are being read for an index.
type MissedCommits = Vec<FollowedCommit>;

/// Most changes that are kept while an index is built; after more, it is built anew.
const MISSED_CHANGES: usize = 4_096;

#[derive(Default)]
struct KeptIndexes {
    entries: HashMap<AgentScope, KeptIndex>,
    /// Indexes that are being built; `None` where too much was written meanwhile.
    building: HashMap<AgentScope, Option<MissedCommits>>,
    uses: u64,
    /// Agents whose index was evicted, [`GAVE_WAY`] of them at most: rebuilding one counts as a wrong eviction.
    gave_way: HashSet<AgentScope>,
}

// Thirty-two bytes each; beyond the limit, some rebuilds are not counted.
const GAVE_WAY: usize = 10_000;

/// Indexes that are built at a time, each of another agent.
const BUILDERS: usize = 2;

/// The indexes of this process.
pub(crate) struct Indexes {
    kept: Mutex<KeptIndexes>,
    /// The turns to build one.
    builders: ConcurrencyLimit,
    /// The most that all of them take, in bytes.
    most: usize,
    /// Whether there is any: most processes never recall, and their commits need no further check.
    any: AtomicBool,
    metrics: Arc<Metrics>,
}

impl Indexes {
    pub(crate) fn new(most: usize, metrics: Arc<Metrics>) -> Self {
        Self {
            kept: Mutex::default(),
            builders: ConcurrencyLimit::new(BUILDERS),
            most,
            any: AtomicBool::new(false),
            metrics,
        }
    }

    /// The agent's index, which becomes the most recently used one.
    fn get(&self, scope: AgentScope) -> Option<Arc<RwLock<Indexed>>> {
        let mut kept = self.kept.lock();
        kept.uses += 1;
        let uses = kept.uses;
        let entry = kept.entries.get_mut(&scope)?;
        entry.used = uses;
        Some(entry.indexed.clone())
    }

    fn put(&self, scope: AgentScope, indexed: &Arc<RwLock<Indexed>>) {
        // Before the list is locked: measuring may wait for a writer of the index.
        let bytes = read(indexed, |indexed| indexed.index.bytes());
        let mut kept = self.kept.lock();
        kept.uses += 1;
        let entry = KeptIndex {
            indexed: indexed.clone(),
            bytes,
            used: kept.uses,
            is_logged: false,
        };
        kept.entries.insert(scope, entry);
        if kept.gave_way.remove(&scope) {
            self.metrics.index_built_again();
        }
        self.make_room(&mut kept);
    }

    /// Evicts the least recently used ones until the rest fits, or only the most recently used one is left.
    fn make_room(&self, kept: &mut KeptIndexes) {
        while kept.bytes() > self.most && kept.entries.len() > 1 {
            let oldest = kept.entries.iter().min_by_key(|(_, entry)| entry.used);
            let Some(scope) = oldest.map(|(scope, _)| *scope) else {
                break;
            };
            kept.entries.remove(&scope);
            if kept.gave_way.len() < GAVE_WAY {
                kept.gave_way.insert(scope);
            }
            self.metrics.index_left();
        }
        for (scope, entry) in &mut kept.entries {
            if entry.bytes > self.most && !entry.is_logged {
                entry.is_logged = true;
                tracing::warn!(
                    agent = %scope.agent,
                    takes_mb = entry.bytes.div_ceil(1 << 20),
                    index_mb = self.most >> 20,
                    "an agent's index for recall is larger than all of them may be: it is kept while no other is used; \
                     set `[recall] index_mb` to more than it takes"
                );
            }
        }
        self.metrics.indexes_are(kept.entries.len(), kept.bytes());
    }

    /// Notes how large the agent's has become.
    fn measure(&self, scope: AgentScope) {
        let mut kept = self.kept.lock();
        if let Some(entry) = kept.entries.get_mut(&scope) {
            entry.bytes = read(&entry.indexed, |indexed| indexed.index.bytes());
            self.make_room(&mut kept);
        }
    }

    /// Wipes the agent's.
    pub(crate) fn forget(&self, scope: AgentScope) {
        let mut kept = self.kept.lock();
        // An erased agent's identifier must not stay either.
        kept.gave_way.remove(&scope);
        if let Some(missed) = kept.building.get_mut(&scope) {
            *missed = None;
        }
        if kept.entries.remove(&scope).is_some() {
            self.make_room(&mut kept);
        }
    }

    /// Wipes the agent's index if it is still of that version.
    pub(super) fn forget_version(&self, scope: AgentScope, version: u64) {
        let mut kept = self.kept.lock();
        let is_it = |entry: &KeptIndex| read(&entry.indexed, |indexed| indexed.version == version);
        if kept.entries.get(&scope).is_some_and(is_it) {
            kept.entries.remove(&scope);
            self.make_room(&mut kept);
        }
    }

    /// The versions of the agents whose indexes are kept.
    pub(super) fn versions(&self) -> HashMap<AgentScope, u64> {
        let kept = self.kept.lock();
        let versions = kept.entries.iter();
        let version = |entry: &KeptIndex| read(&entry.indexed, |indexed| indexed.version);
        versions
            .map(|(scope, entry)| (*scope, version(entry)))
            .collect()
    }

    /// Whether the agent has one, or will have.
    pub(crate) fn has(&self, scope: AgentScope) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let kept = self.kept.lock();
        kept.entries.contains_key(&scope) || kept.building.contains_key(&scope)
    }

    /// Begins to keep what this process commits on the agent, until the index is built.
    fn begin(&self, scope: AgentScope) -> IndexBuilding<'_> {
        self.any.store(true, Ordering::Release);
        self.kept.lock().building.insert(scope, Some(Vec::new()));
        IndexBuilding {
            indexes: self,
            scope,
        }
    }

    /// Updates the agent's index with changes that this process wrote on one version of the agent, and which made
    /// another one.
    pub(crate) fn follow(&self, scope: AgentScope, from: Option<u64>, to: u64, changes: &[Change]) {
        let mut kept = self.kept.lock();
        if let Some(missed) = kept.building.get_mut(&scope) {
            let changed = missed.iter().flatten().map(|commit| commit.changes.len());
            match changed.sum::<usize>() + changes.len() > MISSED_CHANGES {
                true => *missed = None,
                false => missed.iter_mut().for_each(|missed| {
                    missed.push(FollowedCommit {
                        from,
                        to,
                        changes: changes.to_vec(),
                    });
                }),
            }
        }
        let Some(entry) = kept.entries.get_mut(&scope) else {
            return;
        };
        // The list's lock before an index's, here as everywhere: the other order could wait for itself.
        let mut indexed = entry.indexed.write();
        // An index of another version than the decision's has missed something, and is dropped.
        let follows = Some(indexed.version) == from && indexed.index.follow(changes);
        indexed.version = to;
        let bytes = indexed.index.bytes();
        drop(indexed);
        entry.bytes = bytes;
        if !follows {
            kept.entries.remove(&scope);
        }
        self.make_room(&mut kept);
    }
}

/// An index that is being built. Dropping it ends the keeping of what is committed.
struct IndexBuilding<'a> {
    indexes: &'a Indexes,
    scope: AgentScope,
}

impl IndexBuilding<'_> {
    /// The index, which was built from pages read since the agent was at `version`, with what this process has committed
    /// meanwhile. A page may already contain a commit: following it again changes nothing.
    ///
    /// # Errors
    /// [`CONFLICT`]: too much was written meanwhile, text was shredded, or another process wrote in between.
    fn finish(&self, mut version: u64, mut index: RecallIndex) -> Result<Arc<RwLock<Indexed>>> {
        loop {
            let missed = {
                let mut kept = self.indexes.kept.lock();
                let missed = kept.building.get_mut(&self.scope);
                let missed = missed.and_then(Option::as_mut).ok_or(CONFLICT)?;
                std::mem::take(missed)
            };
            if missed.is_empty() {
                break;
            }
            for commit in missed {
                // A commit before the agent was read is in the pages.
                if commit.to <= version {
                    continue;
                }
                if commit.from != Some(version) || !index.follow(&commit.changes) {
                    return Err(CONFLICT);
                }
                version = commit.to;
            }
        }
        let indexed = Arc::new(RwLock::new(Indexed {
            version,
            index,
            stored_vectors: 0,
            is_stored: false,
        }));
        self.indexes.put(self.scope, &indexed);
        Ok(indexed)
    }
}

impl Drop for IndexBuilding<'_> {
    fn drop(&mut self) {
        self.indexes.kept.lock().building.remove(&self.scope);
    }
}

impl CommitListener for Indexes {
    fn prepare(
        self: Arc<Self>,
        agent: &AgentHandle,
        decision: &mut Decision,
    ) -> Option<AfterCommit> {
        // Changes hold text: they are copied only for an existing index.
        let changes = self.has(agent.scope).then(|| decision.changes.clone())?;
        Some(Box::new(move |committed| {
            if let Some(version) = committed.next.memories_version() {
                let from = committed.from.memories_version();
                self.follow(committed.scope, from, version, &changes);
            }
        }))
    }
}

impl KeptIndexes {
    fn bytes(&self) -> usize {
        self.entries.values().map(|entry| entry.bytes).sum()
    }
}

fn read<T>(indexed: &RwLock<Indexed>, look: impl FnOnce(&Indexed) -> T) -> T {
    look(&indexed.read())
}

/// The matches, with the memories.
pub(crate) type Recalled = Vec<(RecallMatch, Memory)>;

impl Memories<'_> {
    /// A page of matches among the active memories, by the cached index.
    pub(crate) async fn found(
        self,
        query: &RecallQuery,
        after: Option<RecallPlace>,
    ) -> Result<(Recalled, Option<SemanticStatus>)> {
        if recall::is_literal(query.text.expose()) {
            let loaded = self.load(&memory_query(Selection::Active)).await?;
            let found = recall::literal_matches(&loaded.memories, query, after);
            return Ok((with_memories(found, &loaded.memories), None));
        }
        // The embedding server is called before the index is read: it may be slow, and the result must show the
        // memories as they are at its end.
        let question_vector = self.question_vector(query, self.serving().await?).await?;
        // The server's time is in the metrics of the models, so the clock starts after it.
        let started = Instant::now();
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
            let numbers = found.iter().map(|found| found.number).collect();
            let loaded = self.load(&memory_query(Selection::Numbers(numbers))).await;
            match loaded {
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
                    self.memoir
                        .state::<Indexes>()
                        .forget_version(self.scope, version);
                    Err(CONFLICT)
                }
                Err(error) => {
                    // The agent may be gone; then nothing of it stays.
                    self.memoir.state::<Indexes>().forget(self.scope);
                    Err(error)
                }
            }
        })
        .await?;
        self.memoir.state::<Metrics>().recalled(started.elapsed());
        Ok(found)
    }

    /// The model whose vectors are used; `None` for the configured one.
    async fn serving(self) -> Result<Option<EmbeddingModel>> {
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
    async fn take_vectors_in(
        self,
        indexed: &RwLock<Indexed>,
        model: &EmbeddingModel,
        dimensions: Option<usize>,
    ) -> Result<SemanticStatus> {
        let is_of_the_question = |own: usize| dimensions.is_none_or(|asked| asked == own);
        let (lacking, has_none) = {
            let mut indexed = indexed.write();
            indexed.index.begin_vectors(&model.to_string());
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
        let made = self.vectors_of(model, (!has_none).then_some(&lacking));
        let made = made.await?;
        let (is_of_one_length, is_whole) = {
            let mut indexed = indexed.write();
            // Added from the store as it is now: an index of another version is dropped before it is used.
            let mut is_of_one_length = true;
            if let Some((_, first)) = made.first() {
                indexed.index.expect_vectors(made.len(), first.dimensions());
            }
            for (number, one) in &made {
                indexed.index.put_vector(*number, one);
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

    /// The agent's index, of some version.
    async fn indexed(self) -> Result<Arc<RwLock<Indexed>>> {
        self.indexed_by(true).await?.ok_or(CONFLICT)
    }

    /// The agent's index, of some version; `None` where it would have to be built of many texts, and `builds` is false.
    async fn indexed_by(self, builds: bool) -> Result<Option<Arc<RwLock<Indexed>>>> {
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
        let loaded = self.load(&AgentQuery::default()).await?;
        let (index, is_stored) = match self.stored_index(&loaded).await {
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

    /// An index of the agent's texts.
    async fn built_index(self, loaded: &Loaded) -> Result<RecallIndex> {
        let started = Instant::now();
        let index = RecallIndex::default();
        let index = self.fold_active(loaded.base.key(), index, RecallIndex::put);
        let index = index.await?;
        self.memoir.state::<Metrics>().index_built(&IndexBuild {
            memories: index.memories(),
            time: started.elapsed(),
        });
        Ok(index)
    }

    /// Begins to use the stored index, where it fits. Whether other processes need a newer one
    /// ([`Memories::store_index`]): then the next recall may have to build it.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn is_stored_index_outdated(self) -> Result<bool> {
        let Some(indexed) = again(|| self.indexed_by(false)).await? else {
            return Ok(true);
        };
        let (is_stored, vectors) = read(&indexed, |indexed| {
            (indexed.is_stored, indexed.stored_vectors)
        });
        if !is_stored || self.memoir.settings.recall.embedding_model().is_none() {
            return Ok(!is_stored);
        }
        let loaded = self.load(&AgentQuery::default()).await?;
        self.has_new_vectors(vectors, &loaded).await
    }

    /// Whether so many vectors were made since `stored` of them were stored with the index that it is stored again.
    pub(super) async fn has_new_vectors(self, stored: usize, loaded: &Loaded) -> Result<bool> {
        let is_without = self.memoir.settings.recall.embedding_model().is_none();
        if is_without || !self.is_index_stored(loaded) {
            return Ok(false);
        }
        let models = self.memoir.store.vector_models(self.scope).await?;
        let made = models.iter().map(|(_, count)| *count).max().unwrap_or(0);
        Ok(made.saturating_sub(stored as u64) >= stored_index::difference(loaded))
    }

    /// The agent's index in the form to be stored. Its vectors are those of a model that the agent's texts may be sent
    /// to; they are left out where the whole would be larger than the memory for all indexes.
    pub(super) async fn index_bytes(self) -> Result<IndexBytes> {
        let indexed = again(|| self.indexed()).await?;
        let has_vectors = self.add_allowed_vectors(&indexed).await?;
        let most = self.memoir.settings.recall.index_bytes;
        run_blocking(move || {
            read(&indexed, |indexed| {
                let index = &indexed.index;
                let whole = has_vectors.then(|| index.to_bytes(true));
                let whole = whole.filter(|whole| whole.len() <= most);
                IndexBytes {
                    version: indexed.version,
                    stored_vectors: indexed.stored_vectors,
                    vectors: index.vectors(),
                    bytes: whole.unwrap_or_else(|| index.to_bytes(false)),
                }
            })
        })
        .await
    }

    /// Adds the vectors that recall uses to the index; `false` where it uses none, or the agent no longer allows them.
    async fn add_allowed_vectors(self, indexed: &RwLock<Indexed>) -> Result<bool> {
        let configured = self.memoir.settings.recall.embedding_model();
        let Some(model) = self.serving().await?.or(configured) else {
            return Ok(false);
        };
        let Ok(embedder) = self.memoir.models.embedder(&model.name) else {
            return Ok(false);
        };
        let is_allowed = self.lets_embed(embedder.as_ref()).await?;
        if is_allowed {
            self.take_vectors_in(indexed, &model, None).await?;
        }
        Ok(is_allowed)
    }

    /// Notes that the agent's index was stored as it had so many vectors.
    pub(super) fn note_stored(self, vectors: usize) {
        if let Some(indexed) = self.memoir.state::<Indexes>().get(self.scope) {
            let mut indexed = indexed.write();
            indexed.is_stored = true;
            indexed.stored_vectors = vectors;
        }
    }
}

/// Matches among memories, with a temporary index.
pub(crate) fn found_among(
    memories: &MemoryList,
    query: &RecallQuery,
    after: Option<RecallPlace>,
) -> Recalled {
    let found = if recall::is_literal(query.text.expose()) {
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
