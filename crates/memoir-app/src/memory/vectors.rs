//! Vectors of memories, by which recall finds memories close in meaning to a query (SPEC 2.8, 6.4).
//!
//! Off unless [`crate::core::settings::RecallSettings::embeddings`] names a model. They are made after the save, in the background
//! ([`Memoir::keep_making_vectors`]) or immediately ([`Memories::make_vectors`]). They are made in batches, with as
//! many attempts as a session's calls get. Each is sealed with the agent's key for one version of one memory and one
//! model. They are kept beside the memories, and rewriting a memory's row deletes them. Recall sends the query once,
//! with a short timeout; without a vector it finds by words alone and says so.
//!
//! A model on this machine is used without consent. An agent's text is sent elsewhere only with the agent's consent,
//! until that is revoked. Vectors of a model that is no longer allowed are deleted: immediately on revocation, and at
//! the next run after another address was set.
//!
//! A model is its name and its prefix of every text ([`EmbeddingModel`]). After another one was named, the old vectors
//! serve as long as they cover more memories; they are deleted once the new ones are complete. A process deletes those of
//! an agent at most once a day: while processes have different models, each makes anew what another one has deleted. A
//! response of another length is a new model under the old name: all vectors of the agent are made anew, and until then
//! words find alone.

use std::{collections::HashMap, sync::Arc, time::Duration};

use memoir_domain::{
    AgentScope, PrivateText,
    access::{self, AccessKind, AccessState},
    draft::Decision,
    memory::{Memory, Number},
    recall::{RecallQuery, SemanticStatus, Vector},
};
use memoir_model::{
    Embedder, EmbedderPlace, EmbeddingModel, Embeddings, ModelError, ModelName, Outage,
};
use memoir_store::{AgentQuery, VectorRow};
use memoir_vault::AgentKey;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;

use crate::{
    core::{AfterCommit, AgentHandle, CommitListener, Error, Memoir, Result, codec, parallel},
    memory::{Memories, indexes::Indexes},
};

/// Texts of one request.
// Enough that a request's own cost hardly counts, and so few that a refused text is soon isolated.
const BATCH: u32 = 32;
/// How long the background waits after a save for more of them: each batch is a request and a commit, and the saves
/// of a busy agent are not to wait for one of each.
const GATHER: Duration = Duration::from_millis(100);
/// How long no query is sent to a server after it did not respond.
// Otherwise each recall would wait for `question_time`, as long as the server is down.
const REST: Duration = Duration::from_secs(30);
/// How long the background task waits after a server failed, and how often it searches for missing vectors.
const LATER: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// How long a process leaves another model's vectors of an agent that it has deleted before.
const DELETES_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a text that is too long is halved: some six hundred characters of the longest memory remain.
const HALVINGS: u32 = 4;

/// The work of this process, and the state of the server.
#[derive(Default)]
pub(crate) struct VectorUpkeep {
    /// Agents that may lack vectors, each with the number behind which they are missing: a save then needs few reads of
    /// a large agent.
    waiting: Mutex<HashMap<AgentScope, u64>>,
    notify: Notify,
    /// When this process last deleted other models' vectors of an agent, by the monotonic clock.
    deleted_at: Mutex<HashMap<AgentScope, Duration>>,
    /// Until when no question is sent, by the monotonic clock.
    rests_until: Mutex<Option<Duration>>,
}

impl CommitListener for VectorUpkeep {
    fn prepare(
        self: Arc<Self>,
        _agent: &AgentHandle,
        decision: &mut Decision,
    ) -> Option<AfterCommit> {
        let changed = decision.changes.iter().map(|change| change.number().0);
        // A new consent is effective immediately, and for all memories of the agent.
        let after = match decision.access.is_empty() {
            true => changed.min()?.saturating_sub(1),
            false => 0,
        };
        Some(Box::new(move |committed| {
            self.enqueue(committed.scope, after);
        }))
    }

    fn wrote_together(&self, agent: &AgentHandle) {
        // From the first on: earlier memories may have been restored.
        self.enqueue(agent.scope, 0);
    }

    fn forget_agent(&self, scope: AgentScope) {
        self.deleted_at.lock().remove(&scope);
    }
}

impl VectorUpkeep {
    /// Enqueues the agent: memories behind that number were written, or may be sent to a server now.
    pub(crate) fn enqueue(&self, scope: AgentScope, after: u64) {
        let mut waiting = self.waiting.lock();
        let known = waiting.entry(scope).or_insert(after);
        // The earliest, so that nothing between the two is skipped.
        *known = after.min(*known);
        drop(waiting);
        // A notification without a waiter is kept for the next one, so that none is missed while the background works.
        self.notify.notify_one();
    }

    /// Takes all that wait. Agents that are enqueued meanwhile wait for the next time.
    pub(crate) fn take(&self) -> HashMap<AgentScope, u64> {
        std::mem::take(&mut *self.waiting.lock())
    }

    /// Whether this process has not deleted other models' vectors of the agent for long enough.
    fn may_delete(&self, scope: AgentScope, now: Duration) -> bool {
        let mut deleted_at = self.deleted_at.lock();
        deleted_at.retain(|_, at| now.saturating_sub(*at) < DELETES_EVERY);
        !deleted_at.contains_key(&scope)
    }

    fn rest(&self, until: Option<Duration>) {
        *self.rests_until.lock() = until;
    }
}

/// The result of making an agent's vectors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct VectorsMade {
    /// Memories that got one.
    pub made: u64,
    /// Memories that the server refuses even when shortened.
    pub refused: u64,
    /// Why other memories have none; `None` where all have one.
    pub problem: Option<String>,
}

/// What makes vectors of an agent's text, whether or not it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEmbedding {
    /// The model that is configured.
    pub model: ModelName,
    /// Where the text goes. Only elsewhere is the agent's consent needed.
    pub place: EmbedderPlace,
    /// Whether the agent's text is sent there.
    pub is_allowed: bool,
}

/// The progress of making an agent's vectors. Texts are read again for each attempt, so that a memory that was shredded
/// or discarded meanwhile is not sent.
#[derive(Default)]
struct BatchProgress {
    /// The last memory that is done.
    after: u64,
    /// The last memory that is sent in a request of its own, since a text of its batch was refused.
    alone: u64,
    /// The memory whose text is halved, and how often.
    halved: Option<(Number, u32)>,
    /// Attempts that failed one after the other.
    failures: u32,
    /// The waits since a memory was done.
    waited: Duration,
    /// Whether the server has made any vector, so that a failure is due to the text.
    has_answered: bool,
}

impl BatchProgress {
    /// The most texts of the next request.
    fn most(&self) -> u32 {
        if self.after < self.alone { 1 } else { BATCH }
    }

    /// How often the text of a memory is halved.
    fn halvings(&self, number: Number) -> u32 {
        let halved = self.halved.filter(|(halved, _)| *halved == number);
        halved.map_or(0, |(_, times)| times)
    }

    /// The part of a memory's text that is sent.
    fn shortened(&self, memory: Memory) -> PrivateText {
        match self.halvings(memory.number) {
            0 => memory.content,
            times => half_of(&memory.content, times, |text, most| {
                text.chars().take(most).collect()
            }),
        }
    }

    /// Sends each of so many texts by itself, or half of a single one; `false` where a shorter one is useless.
    fn takes_less(&mut self, texts: usize, last: Number) -> bool {
        if texts > 1 {
            self.alone = last.0;
            return true;
        }
        let times = self.halvings(last) + 1;
        self.halved = Some((last, times));
        times <= HALVINGS
    }

    fn go_behind(&mut self, last: Number) {
        self.after = last.0;
        self.failures = 0;
        self.waited = Duration::ZERO;
    }
}

/// A text halved so many times; `part` gives so many of its characters.
fn half_of(text: &PrivateText, times: u32, part: impl Fn(&str, usize) -> String) -> PrivateText {
    part(text.expose(), text.chars() >> times).into()
}

/// Whether the text may be too long for the model: some servers then report an internal error.
fn is_too_long(error: &ModelError) -> bool {
    let failed = Outage::Status(500);
    let has_failed = matches!(error, ModelError::Unavailable { outage, .. } if *outage == failed);
    error.is_about_request() || has_failed
}

/// The form of a recall's query.
pub(crate) enum QuestionVector {
    /// Words only; with the reason where an embedding server is configured.
    InWords(Option<SemanticStatus>),
    Made(EmbeddingModel, Vector),
}

impl Memories<'_> {
    /// The vector of a query, by the model whose vectors are used for this agent: the configured one, unless `serving`
    /// names another.
    pub(crate) async fn question_vector(
        self,
        query: &RecallQuery,
        serving: Option<EmbeddingModel>,
    ) -> Result<QuestionVector> {
        let memoir = &self.memoir;
        let Some(configured) = memoir.settings.recall.embedding_model() else {
            return Ok(QuestionVector::InWords(None));
        };
        if query.text.expose().trim().is_empty() {
            return Ok(QuestionVector::InWords(None));
        }
        let (mut embedder, mut otherwise) = (None, SemanticStatus::Unavailable);
        // The model whose vectors are used comes first. If it is unreachable, or the agent does not allow it, the
        // configured one is used.
        for model in serving.into_iter().chain([configured]) {
            let Ok(found) = memoir.models.embedder(&model.name) else {
                continue;
            };
            if self.lets_embed(found.as_ref()).await? {
                embedder = Some((model, found));
                break;
            }
            otherwise = SemanticStatus::NotAllowed;
        }
        let (Some((model, embedder)), now) = (embedder, memoir.clock.monotonic()) else {
            return Ok(QuestionVector::InWords(Some(otherwise)));
        };
        let unavailable = QuestionVector::InWords(Some(SemanticStatus::Unavailable));
        let rests_until = *memoir.state::<VectorUpkeep>().rests_until.lock();
        if rests_until.is_some_and(|until| now < until) {
            return Ok(unavailable);
        }
        let time = memoir.settings.recall.question_time;
        let asking = async {
            let (characters, mut halvings) = (query.text.chars(), 0);
            loop {
                // Of a query that is too long, the end is sent, which mostly holds the request.
                let text = half_of(&query.text, halvings, |text, most| {
                    text.chars().skip(characters - most).collect()
                });
                match embedder.embed(model.question(), &[text]).await {
                    Err(error) if halvings < HALVINGS && is_too_long(&error) => halvings += 1,
                    answer => return answer,
                }
            }
        };
        let answer = tokio::time::timeout(time, asking).await;
        match answer {
            Ok(Ok(Embeddings { vectors, .. })) => {
                memoir.state::<VectorUpkeep>().rest(None);
                let vector = vectors.into_iter().next();
                Ok(vector.map_or(unavailable, |vector| QuestionVector::Made(model, vector)))
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "no vector was made of a question");
                // A refusal of one query does not imply one of the next.
                if error.is_retryable() {
                    memoir.state::<VectorUpkeep>().rest(Some(now + REST));
                }
                Ok(unavailable)
            }
            Err(_) => {
                tracing::warn!("no vector of a question came in time");
                memoir.state::<VectorUpkeep>().rest(Some(now + REST));
                Ok(unavailable)
            }
        }
    }

    /// Whether the agent's text may be sent to an embedding server (SPEC 6.4).
    pub(crate) async fn lets_embed(self, embedder: &dyn Embedder) -> Result<bool> {
        let EmbedderPlace::Elsewhere(address) = embedder.place() else {
            return Ok(true);
        };
        let recipient = access::recipient(embedder.name().as_str(), address);
        let loaded = self.load(&AgentQuery::default()).await?;
        for row in self.memoir.store.open_requests(self.scope).await? {
            let request = codec::access_request(loaded.base.key(), &row)?;
            let is_it = request.kind == (AccessKind::Embeddings { recipient });
            if is_it && request.state == AccessState::Granted {
                // Read again for each request, by the log and not by the row alone: after a revocation nothing is sent.
                return Ok(self.grants().live(&loaded, &request).await?.is_some());
            }
        }
        Ok(false)
    }

    /// Whether recall in this agent's memories uses meaning too; `None` where no embedding server is configured, or its
    /// provider cannot be used.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn embedding(self) -> Result<Option<AgentEmbedding>> {
        let Ok(Some(embedder)) = self.memoir.embedder() else {
            return Ok(None);
        };
        Ok(Some(AgentEmbedding {
            model: embedder.name().clone(),
            place: embedder.place().clone(),
            is_allowed: self.lets_embed(embedder.as_ref()).await?,
        }))
    }

    /// The model whose vectors are used: the configured one, or an earlier one that has more. `None` for the former.
    pub(crate) async fn serving_model(self) -> Result<Option<EmbeddingModel>> {
        let Some(configured) = self.memoir.settings.recall.embedding_model() else {
            return Ok(None);
        };
        let configured = configured.to_string();
        let models = self.memoir.store.vector_models(self.scope).await?;
        let own = models.iter().find(|(model, _)| *model == configured);
        let own = own.map_or(0, |(_, count)| *count);
        let most = models.iter().max_by_key(|(_, count)| *count);
        let other = most.filter(|(_, count)| *count > own);
        Ok(other.and_then(|(model, _)| model.parse().ok()))
    }

    /// The vectors that the model of that name made of these memories, opened with the agent's key.
    pub(super) async fn vectors_of(
        self,
        key: &AgentKey,
        model: &str,
        numbers: &[Number],
    ) -> Result<Vec<(Number, Vector)>> {
        let rows = self.memoir.store.vectors(self.scope, model, numbers);
        let (rows, key) = (rows.await?, key.clone());
        let open = move |row: VectorRow| Ok((row.number, codec::vector(&key, &row)?));
        let opened = parallel::run_blocking(move || parallel::map(rows, open)).await?;
        opened.into_iter().collect()
    }

    /// Deletes, from the disk and from this process, the vectors of models that the agent's text may not be sent to.
    /// After a revocation (`is_over`), models without a configured provider count as such. Kept are those of the
    /// configured model, or else of the model with the most.
    pub(crate) async fn forget_vectors_not_allowed(self, is_over: bool) -> Result<()> {
        let memoir = &self.memoir;
        let (mut may_stay, mut must_go) = (Vec::new(), false);
        for (model, count) in memoir.store.vector_models(self.scope).await? {
            let made: Option<EmbeddingModel> = model.parse().ok();
            let embedder = made.and_then(|made| memoir.models.embedder(&made.name).ok());
            match embedder {
                Some(embedder) if self.lets_embed(embedder.as_ref()).await? => {
                    may_stay.push((model, count));
                }
                Some(_) => must_go = true,
                None => must_go |= is_over,
            }
        }
        // The index holds vectors too; it is rebuilt from the remaining ones.
        if is_over || must_go {
            memoir.state::<Indexes>().forget(self.scope);
        }
        if must_go {
            let configured = memoir.settings.recall.embedding_model();
            let configured = configured.map(|model| model.to_string());
            let is_configured = |model: &str| configured.as_deref() == Some(model);
            let stays = may_stay
                .iter()
                .max_by_key(|(model, count)| (is_configured(model), *count));
            let stays = stays.map(|(model, _)| model.as_str());
            memoir.store.forget_vectors(self.scope, stays).await?;
        }
        Ok(())
    }

    /// Makes a vector of every kept memory without one of the configured model, and deletes those of other models once
    /// all have one; at most once a day for each agent. Nothing is sent without the agent's consent.
    ///
    /// # Errors
    /// The agent is gone; the store fails. A server that fails is no error.
    pub async fn make_vectors(self) -> Result<VectorsMade> {
        self.make_vectors_within(Duration::MAX, &|_| {}).await
    }

    /// As [`Memories::make_vectors`], while a person waits: no longer than `patience` for any memory. `waiting` is called
    /// before each wait, with its length.
    ///
    /// # Errors
    /// As there.
    pub async fn make_vectors_within(
        self,
        patience: Duration,
        waiting: &(dyn Fn(Duration) + Sync),
    ) -> Result<VectorsMade> {
        let made = self.make_vectors_behind(0, patience, waiting).await?;
        let model = self.memoir.settings.recall.embedding_model();
        if let (Some(model), None) = (model, &made.problem) {
            self.forget_other_models(&model.to_string(), made.refused)
                .await?;
        }
        Ok(made)
    }

    /// Deletes the vectors of all models but this one, if it has made all but those of so many refused texts.
    async fn forget_other_models(self, model: &str, refused: u64) -> Result<()> {
        let (store, scope) = (&self.memoir.store, self.scope);
        let models = store.vector_models(scope).await?;
        let upkeep = self.memoir.state::<VectorUpkeep>();
        let now = self.memoir.clock.monotonic();
        // Checked first: a save must not wait for a deletion of nothing.
        if models.iter().all(|(other, _)| other == model) || !upkeep.may_delete(scope, now) {
            return Ok(());
        }
        // A process with another model may have deleted some of this one meanwhile.
        let (mut lacking, mut after) = (0, 0);
        loop {
            let rows = store.without_vector(scope, model, after, BATCH).await?;
            let Some(last) = rows.last() else {
                break;
            };
            (lacking, after) = (lacking + rows.len() as u64, last.number.0);
            if lacking > refused {
                return Ok(());
            }
        }
        store.forget_vectors(scope, Some(model)).await?;
        upkeep.deleted_at.lock().insert(scope, now);
        Ok(())
    }

    /// As [`Memories::make_vectors_within`], for memories behind that number only; those of other models stay.
    async fn make_vectors_behind(
        self,
        after: u64,
        patience: Duration,
        waiting: &(dyn Fn(Duration) + Sync),
    ) -> Result<VectorsMade> {
        let memoir = &self.memoir;
        let mut made = VectorsMade::default();
        let Some(model) = memoir.settings.recall.embedding_model() else {
            made.problem = Some("no model of embeddings is configured".to_owned());
            return Ok(made);
        };
        let name = model.to_string();
        let embedder = match memoir.models.embedder(&model.name) {
            Ok(embedder) => embedder,
            Err(error) => {
                made.problem = Some(error.to_string());
                return Ok(made);
            }
        };
        let limits = memoir.settings.limits;
        let mut progress = BatchProgress {
            after,
            ..BatchProgress::default()
        };
        let mut is_last = false;
        loop {
            // At each request, and after the last: consent may have been revoked, and the one before kept too late.
            if !self.lets_embed(embedder.as_ref()).await? {
                self.forget_vectors_not_allowed(false).await?;
                let problem = "the agent has not consented to sending its text there";
                made.problem = Some(problem.to_owned());
                return Ok(made);
            }
            if is_last {
                return Ok(made);
            }
            let store = &memoir.store;
            let most = progress.most();
            let rows = store.without_vector(self.scope, &name, progress.after, most);
            let rows = rows.await?;
            let Some(last) = rows.last() else {
                return Ok(made);
            };
            let last = last.number;
            // Later saves are enqueued and collected.
            let ends = rows.len() < most as usize;
            let key = self.load(&AgentQuery::default()).await?.base.key().clone();
            let mut texts = Vec::with_capacity(rows.len());
            let versions: Vec<_> = rows.iter().map(|row| (row.number, row.version)).collect();
            for row in rows {
                texts.push(progress.shortened(codec::memory(&key, &row)?));
            }
            let count = texts.len();
            let error = match embed_memories(&embedder, &model, texts).await {
                Ok(Embeddings { vectors, .. }) => {
                    let sealer = memoir.sealer(&key);
                    let made_of = versions.into_iter().zip(&vectors);
                    let sealed = made_of.map(|((number, version), vector)| {
                        codec::vector_row(&sealer, number, version, &name, vector)
                    });
                    let sealed: Result<Vec<VectorRow>> = sealed.collect();
                    // Only for rows of that version: a memory may have been edited, discarded or shredded meanwhile.
                    made.made += store.keep_vectors(self.scope, sealed?).await?;
                    progress.has_answered = true;
                    progress.go_behind(last);
                    is_last = ends;
                    continue;
                }
                Err(error) => error,
            };
            progress.failures += 1;
            // Retries come first: a transient failure does not depend on the text. Only after the last attempt may the
            // text be the cause.
            if let Some(wait) = limits.wait_after(progress.failures, &error) {
                progress.waited = progress.waited.saturating_add(wait);
                if progress.waited > patience {
                    made.problem = Some(format!("{error}; try again later"));
                    return Ok(made);
                }
                waiting(wait);
                tokio::time::sleep(wait).await;
            } else if is_too_long(&error) && progress.takes_less(count, last) {
                progress.failures = 0;
            } else if error.is_about_request() || is_too_long(&error) && progress.has_answered {
                // Skipped for this time only: another model, or the edited text, may be accepted.
                made.refused += 1;
                progress.go_behind(last);
                is_last = ends;
            } else {
                made.problem = Some(error.to_string());
                return Ok(made);
            }
        }
    }
}

/// The vectors of some memories. Where this process computes them, requests come first.
async fn embed_memories(
    embedder: &Arc<dyn Embedder>,
    model: &EmbeddingModel,
    texts: Vec<PrivateText>,
) -> std::result::Result<Embeddings, ModelError> {
    if *embedder.place() != EmbedderPlace::ThisProcess {
        return embedder.embed(model.memories(), &texts).await;
    }
    let (embedder, model) = (embedder.clone(), model.clone());
    let computed = async move { embedder.embed(model.memories(), &texts).await };
    parallel::run_long(computed).await
}

impl Memoir {
    /// Makes vectors of what this process saves, and from time to time of what others left undone, until dropped.
    /// Returns immediately where no model of embeddings is configured.
    pub async fn keep_making_vectors(&self) {
        if self.settings.recall.embeddings.is_none() {
            return;
        }
        loop {
            if let Err(error) = self.look_for_lacking().await {
                tracing::error!(%error, "agents without vectors were not searched for");
            }
            let look_again = tokio::time::sleep(LOOK_EVERY);
            tokio::pin!(look_again);
            loop {
                for (scope, after) in self.state::<VectorUpkeep>().take() {
                    self.make_for(scope, after).await;
                }
                tokio::select! {
                    () = self.state::<VectorUpkeep>().notify.notified() => tokio::time::sleep(GATHER).await,
                    () = &mut look_again => break,
                }
            }
        }
    }

    async fn make_for(&self, scope: AgentScope, after: u64) {
        let handle = self.handle(scope);
        let made = async {
            // An agent without consent does not delay others.
            match self.embedder()? {
                Some(embedder) if !handle.memories().lets_embed(embedder.as_ref()).await? => {
                    handle.memories().forget_vectors_not_allowed(false).await?;
                    Ok(VectorsMade::default())
                }
                _ if after == 0 => handle.memories().make_vectors().await,
                _ => {
                    let memories = handle.memories();
                    memories
                        .make_vectors_behind(after, Duration::MAX, &|_| {})
                        .await
                }
            }
        };
        match made.await {
            Ok(VectorsMade {
                problem: Some(problem),
                ..
            }) => {
                tracing::warn!(agent = %scope.agent, problem, "no vectors were made");
                // The agent is tried again with all others; the next one is unlikely to succeed immediately.
                tokio::time::sleep(LATER).await;
            }
            // One that was erased meanwhile has none.
            Ok(_) | Err(Error::Erased { .. }) => {}
            Err(error) => {
                tracing::error!(agent = %scope.agent, %error, "no vectors were made");
            }
        }
    }

    /// Enqueues all agents.
    async fn look_for_lacking(&self) -> Result<()> {
        for account in self.store.accounts().await? {
            let agents = self.store.agents(account.id).await?;
            let live = agents.iter().filter(|row| row.columns.erased_at.is_none());
            // 0 means all memories, and replaces any higher number that `enqueue` has noted.
            let mut waiting = self.state::<VectorUpkeep>().waiting.lock();
            waiting.extend(live.map(|row| (row.scope, 0)));
        }
        Ok(())
    }

    /// The configured embedding model, if its provider can be used; `None` where none is configured.
    ///
    /// # Errors
    /// Names the setting at fault.
    pub fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        let name = self.settings.recall.embeddings.as_ref();
        Ok(name.map(|name| self.models.embedder(name)).transpose()?)
    }
}

#[cfg(test)]
mod tests {
    use memoir_domain::audit::Actor;
    use memoir_store_sqlite::SqliteStore;

    use super::*;
    use crate::{
        core::settings::{InstallationSettings, RecallSettings},
        memory::import,
        tests::{memoir_on, scope},
    };

    #[test]
    fn spec_2_8_what_was_written_between_two_looks_is_looked_at_from_the_earliest_on() {
        let vectors = VectorUpkeep::default();
        for (agent, after) in [(1, 9), (2, 4), (1, 3), (1, 7)] {
            vectors.enqueue(scope(agent), after);
        }
        let waiting = HashMap::from([(scope(1), 3), (scope(2), 4)]);
        assert_eq!(vectors.take(), waiting);
        assert!(vectors.take().is_empty());
    }

    #[tokio::test]
    async fn spec_2_8_what_is_written_together_is_reported_to_the_making_of_vectors() {
        let recall = RecallSettings {
            embeddings: Some("lab:small".parse().unwrap()),
            ..RecallSettings::default()
        };
        let settings = InstallationSettings {
            recall,
            ..InstallationSettings::default()
        };
        let memoir = memoir_on(SqliteStore::in_memory().unwrap(), settings);
        let account = memoir.account("default").await.unwrap();
        let actor = Actor::administrator("test");
        account.create_agent("wren", &[], &actor).await.unwrap();
        let agent = account.agent("wren").await.unwrap();
        memoir.state::<VectorUpkeep>().take();
        let lines = import::read(br#"{"content": "Rosa keeps bees."}"#, None, memoir.now());
        let memories = agent.memories();
        let imported = memories.import(lines, false, &actor, Arc::default()).await;
        assert_eq!(imported.unwrap().imported, 1);
        assert!(
            memoir
                .state::<VectorUpkeep>()
                .take()
                .contains_key(&agent.scope())
        );
    }
}
