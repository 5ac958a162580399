//! The index of an agent's words and vectors between processes: one sealed document (SPEC 5.3).
//!
//! It is of one version of the agent, and bound to the head of its log. A process that reads it compares that head with
//! the log, and applies the memories that later records changed. Where it does not fit (it does not open, is not of this
//! agent or version of Memoir, the log has no such head, or too much was written since), the index is built from the
//! texts as without it; one that does not open is deleted. No error of it reaches a caller.
//!
//! It is written by processes for which no call waits, at a version that the store compares again: shredding moves the
//! version on and deletes the document in one transaction, so that none outlasts its words. Deleting vectors deletes it
//! too; which vectors the agent allows is read after that version.

use std::{collections::HashMap, sync::Arc, time::Duration};

use memoir_domain::{AgentScope, memory::Number, recall::RecallIndex, text::wiped::Wiped};
use memoir_store::{AgentQuery, RecordFilter, Selection, WordIndexRow};
use parking_lot::RwLock;

use crate::{
    core::{
        Error, Loaded, Memoir, Result, again,
        codec::{self, IndexVersion, Sealer},
        parallel::{drop_in_background, run_blocking},
    },
    memory::{
        Memories,
        indexes::{Indexed, Indexes, read},
        recall::WantedVectors,
    },
    metrics::Metrics,
};

/// Records or vectors after the document from which on it is written anew, at most.
// The difference costs about a tenth of a millisecond for each of them at every process's first recall.
const BEHIND: u64 = 128;
/// Records after the document from which on it is not used: a share of the memories, and the least and the most.
// To apply one costs about as much as to index sixteen memories.
const SHARE: u64 = 16;
const LEAST: u64 = 16;
const MOST: u64 = 4_096;
const ATTEMPTS: usize = 3;
/// How often a process writes the document of one agent, if it has changed and was quiet since the last look.
const EVERY: Duration = Duration::from_secs(60);

/// The outcome of an attempt to store an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexStoring {
    /// Other processes find it.
    Stored,
    /// The stored one is not outdated, or others wrote at each attempt.
    Left,
    /// It is larger than the memory for all indexes.
    TooLarge,
}

struct IndexBytes {
    version: u64,
    vectors: usize,
    bytes: Wiped<u8>,
}

impl Memories<'_> {
    /// Begins to use the stored index, where it fits. Whether other processes need a newer one
    /// ([`Memories::store_index`]): then the next recall may have to build it.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn is_stored_index_outdated(self) -> Result<bool> {
        let Some((indexed, _)) = again(|| self.indexed_by(false, None)).await? else {
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
    async fn has_new_vectors(self, stored: usize, loaded: &Loaded) -> Result<bool> {
        let is_without = self.memoir.settings.recall.embedding_model().is_none();
        if is_without || !self.is_index_stored(loaded) {
            return Ok(false);
        }
        let models = self.memoir.store.vector_models(self.scope).await?;
        let made = models.iter().map(|(_, count)| *count).max().unwrap_or(0);
        Ok(made.saturating_sub(stored as u64) >= difference(loaded))
    }

    /// The agent's index in the form to be stored. Its vectors are those of a model that the agent's texts may be sent
    /// to; they are left out where the whole would be larger than the memory for all indexes.
    async fn index_bytes(self, indexed: Arc<RwLock<Indexed>>) -> Result<IndexBytes> {
        let allowed = again(|| self.add_allowed_vectors(&indexed)).await?;
        let most = self.memoir.settings.recall.index_bytes;
        run_blocking(move || {
            read(&indexed, |indexed| {
                let index = &indexed.index;
                // Another caller may have begun with those of another model since then.
                let is_allowed = allowed.is_some_and(|model| model == index.vector_model());
                let whole = is_allowed.then(|| index.to_bytes(true));
                let whole = whole.filter(|whole| whole.len() <= most);
                IndexBytes {
                    version: indexed.version,
                    vectors: index.vectors(),
                    bytes: whole.unwrap_or_else(|| index.to_bytes(false)),
                }
            })
        })
        .await
    }

    /// Adds the vectors that recall uses to the index, and names their model; `None` where it uses none, or the agent no
    /// longer allows them.
    async fn add_allowed_vectors(self, indexed: &RwLock<Indexed>) -> Result<Option<String>> {
        let configured = self.memoir.settings.recall.embedding_model();
        let Some(model) = self.serving().await?.or(configured) else {
            return Ok(None);
        };
        let Ok(embedder) = self.memoir.models.embedder(&model.name) else {
            return Ok(None);
        };
        if !self.lets_embed(embedder.as_ref()).await? {
            return Ok(None);
        }
        let wanted = WantedVectors {
            model: &model,
            question: None,
        };
        self.take_vectors_in(indexed, wanted, None).await?;
        Ok(Some(model.to_string()))
    }

    fn note_stored(self, vectors: usize) {
        if let Some(indexed) = self.memoir.state::<Indexes>().get(self.scope) {
            let mut indexed = indexed.write();
            indexed.is_stored = true;
            indexed.stored_vectors = vectors;
        }
    }

    /// Stores the index for other processes, in place of the stored one, where that is outdated.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn store_index(self) -> Result<IndexStoring> {
        for _ in 0..ATTEMPTS {
            // Before the agent's consent to its vectors is read: where that is revoked later, the store refuses.
            let loaded = self.load(&AgentQuery::default()).await?;
            // Reading the stored one may find that it does not open: then it is deleted, and missing below.
            let indexed = again(|| self.indexed(None)).await?;
            let stored_vectors = read(&indexed, |indexed| indexed.stored_vectors);
            if !self.needs_storing(&loaded, stored_vectors).await? {
                return Ok(IndexStoring::Left);
            }
            let index = self.index_bytes(indexed).await?;
            let version = index.version;
            if loaded.base.memories_version() != Some(version) {
                self.memoir
                    .state::<Indexes>()
                    .forget_version(self.scope, version);
                continue;
            }
            if index.bytes.len() > self.memoir.settings.recall.index_bytes {
                return Ok(IndexStoring::TooLarge);
            }
            let vectors = index.vectors;
            let of = IndexVersion {
                version,
                last_seq: loaded.newest_seq(),
                hash: loaded.base.head(),
            };
            let (key, random) = (loaded.base.key().clone(), self.memoir.random.clone());
            let parts = run_blocking(move || {
                let random = random.as_ref();
                codec::word_index_rows(&Sealer { key: &key, random }, of, &index.bytes)
            });
            let parts = parts.await??;
            let row_version = loaded.base.version().unwrap_or_default();
            let store = &self.memoir.store;
            if store
                .keep_word_index(self.scope, row_version, parts)
                .await?
            {
                self.note_stored(vectors);
                return Ok(IndexStoring::Stored);
            }
        }
        Ok(IndexStoring::Left)
    }

    async fn needs_storing(self, loaded: &Loaded, stored_vectors: usize) -> Result<bool> {
        let first = self.memoir.store.word_index(self.scope, Some(1)).await?;
        let is_current = first
            .first()
            .is_some_and(|row| !is_outdated(IndexVersion::of(row), loaded));
        Ok(self.is_index_stored(loaded)
            && (!is_current || self.has_new_vectors(stored_vectors, loaded).await?))
    }

    pub(super) fn is_index_stored(self, loaded: &Loaded) -> bool {
        active(loaded) >= self.memoir.settings.recall.stored_from
    }

    /// The stored index of these parts, with the changes up to the agent as it was loaded, and whether these are few;
    /// `None` where none fits. The parts may have been read before or after the agent.
    pub(super) async fn stored_index(
        self,
        loaded: &Loaded,
        parts: memoir_store::Result<Vec<WordIndexRow>>,
    ) -> Option<(RecallIndex, bool)> {
        if !self.is_index_stored(loaded) {
            return None;
        }
        let outcomes = &self.memoir.state::<Metrics>().table.stored_indexes;
        match self.read_stored_index(loaded, parts).await {
            Ok(Some(index)) => {
                outcomes.with_label_values(&["read"]).inc();
                Some(index)
            }
            Ok(None) => {
                outcomes.with_label_values(&["outdated"]).inc();
                None
            }
            Err(error) => {
                outcomes.with_label_values(&["unreadable"]).inc();
                tracing::warn!(agent = %self.scope.agent, %error, "the stored index is built anew");
                // Otherwise each process would read it in vain. One that cannot write leaves it, and so does one whose
                // store failed: the index may be good.
                let is_bad = matches!(
                    error,
                    Error::Sealed(_)
                        | Error::Inconsistent(_)
                        | Error::Store(memoir_store::Error::Inconsistent { .. })
                );
                if let Some(version) = loaded.base.version().filter(|_| is_bad) {
                    let store = &self.memoir.store;
                    let deleting = store.keep_word_index(self.scope, version, Vec::new());
                    let _ = memoir_store::without_waiting(deleting).await;
                }
                None
            }
        }
    }

    /// As [`Memories::stored_index`]. It is an error where it is not as this version of Memoir wrote it.
    async fn read_stored_index(
        self,
        loaded: &Loaded,
        parts: memoir_store::Result<Vec<WordIndexRow>>,
    ) -> Result<Option<(RecallIndex, bool)>> {
        let rows = parts?;
        let Some(of) = rows.first().map(IndexVersion::of) else {
            return Ok(None);
        };
        // Another process has written since the agent was loaded.
        if Some(of.version) > loaded.base.memories_version() {
            return Ok(None);
        }
        if behind(of, loaded) > most_behind(loaded) {
            return Ok(None);
        }
        let key = loaded.base.key().clone();
        let index = run_blocking(move || {
            let bytes = codec::word_index(&key, rows)?;
            let index = RecallIndex::from_bytes(&bytes);
            // Megabytes, which are wiped beside what follows.
            drop_in_background(bytes);
            index.ok_or_else(|| {
                Error::Inconsistent("table `word_indexes`: its form is another one".to_owned())
            })
        });
        let mut index = index.await??;
        let Some(changed) = self.changed_since(of, loaded).await? else {
            return Ok(None);
        };
        if !changed.is_empty() {
            let query = AgentQuery::of_memories(Selection::Numbers(changed.clone()));
            let memories = self.load(&query).await?.memories;
            for number in changed {
                let memory = memories.iter().find(|memory| memory.number == number);
                match memory.filter(|memory| memory.is_active()) {
                    Some(memory) => index.put(memory),
                    // What comes from a shredded text is in shared tables too, so that the index is built anew.
                    None if memory.is_some_and(|memory| memory.shredded_at.is_some()) => {
                        return Ok(None);
                    }
                    None => index.take(number),
                }
            }
        }
        let fits = index.memories() as u64 == active(loaded) && index.is_compact();
        Ok(fits.then_some((index, !is_outdated(of, loaded))))
    }

    /// The memories that records after the head of the log at that version changed, each once; `None` where the records
    /// cannot be read as one log, since others write meanwhile. An error where the log does not have that head.
    async fn changed_since(self, of: IndexVersion, loaded: &Loaded) -> Result<Option<Vec<Number>>> {
        let forged = || {
            Error::Inconsistent(format!(
                "table `word_indexes`: record {} has another hash",
                of.last_seq
            ))
        };
        if of.last_seq >= loaded.newest_seq() {
            return match of.hash == loaded.base.head() {
                true => Ok(Some(Vec::new())),
                false => Err(forged()),
            };
        }
        let filter = RecordFilter {
            before_seq: Some(loaded.agent.next_seq),
            ..RecordFilter::from_record(of.last_seq)
        };
        let _room = self.room_for_records(&filter).await?;
        let mut records = self.memoir.store.records(self.scope, &filter).await?;
        let is_in_place =
            |(at, seq): (usize, u64)| records.get(at).is_some_and(|row| row.seq == seq);
        let is_whole = (of.last_seq..loaded.agent.next_seq)
            .enumerate()
            .all(is_in_place);
        let head = records.last().map(|row| row.hash);
        if !is_whole || head != Some(loaded.base.head()) {
            return Ok(None);
        }
        if records.remove(0).hash != of.hash {
            return Err(forged());
        }
        let key = loaded.base.key().clone();
        let changed = run_blocking(move || {
            let mut changed = Vec::new();
            for row in records {
                let record = codec::record(Some(&key), row)?;
                changed.extend(record.body.changes.iter().map(|change| change.number()));
            }
            changed.sort_unstable();
            changed.dedup();
            Ok::<_, Error>(changed)
        });
        let changed = changed.await??;
        let is_few = changed.len() as u64 <= most_behind(loaded);
        Ok(is_few.then_some(changed))
    }
}

fn active(loaded: &Loaded) -> u64 {
    let tally = loaded.agent.tally;
    tally.core_count + tally.journal_count + tally.archival_count
}

fn behind(of: IndexVersion, loaded: &Loaded) -> u64 {
    // A log without the record that the index names does not have its hash either, which is compared.
    loaded.newest_seq().saturating_sub(of.last_seq)
}

fn most_behind(loaded: &Loaded) -> u64 {
    (active(loaded) / SHARE).clamp(LEAST, MOST)
}

fn is_outdated(of: IndexVersion, loaded: &Loaded) -> bool {
    behind(of, loaded) >= difference(loaded)
}

/// Records or vectors after the document from which on it is written anew.
fn difference(loaded: &Loaded) -> u64 {
    BEHIND.min(most_behind(loaded))
}

impl Memoir {
    /// Stores the indexes that this process has built, of agents without a commit since the last look, until dropped.
    pub(crate) async fn keep_indexes_stored(&self) {
        let mut seen: HashMap<AgentScope, u64> = HashMap::new();
        loop {
            tokio::time::sleep(EVERY).await;
            let versions = self.state::<Indexes>().versions();
            for (scope, version) in &versions {
                if seen.get(scope) != Some(version) {
                    continue;
                }
                let handle = self.handle(*scope);
                let storing = async { handle.memories().store_index().await };
                match storing.await {
                    // One that was erased meanwhile has none.
                    Ok(_) | Err(Error::Erased { .. } | Error::NoAgent(_)) => {}
                    Err(error) => {
                        tracing::warn!(agent = %scope.agent, %error, "an index was not stored");
                    }
                }
            }
            seen = versions;
        }
    }
}
