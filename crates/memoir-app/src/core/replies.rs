//! Requests with an idempotency key: their changes and their responses (SPEC 6.2).
//!
//! A request's row is entered before it is executed. Its decision writes a mark into that row, in the same transaction.
//! Only an attempt that knows the previous document can write the next one. So of several attempts with one key, on any
//! nodes, one makes the change. An attempt that ends before its decision is written leaves a row without a document,
//! and the next one makes the change. One that ends after it leaves the mark, which names the change. A response may
//! hold an agent's text: it is kept sealed. A request that changed nothing leaves no row: it takes no room, and
//! executing it again is harmless.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use memoir_domain::{
    AccountId, AgentId, AgentScope, SessionId, Timestamp, audit::Action, memory::Number,
    text::Digester,
};
use memoir_store::{Commit, ReplyMark, ReplyRow};
use memoir_vault::{AgentKey, seal::SealedRow};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::core::{
    Error, Memoir, Result,
    codec::document::{self, digest},
};

/// How long responses are kept.
// Longer than a client retries; the responses hold text and are not kept without need.
const KEPT_DAYS: i64 = 2;

/// A request with an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyKey {
    /// The tenant.
    pub account: AccountId,
    /// The agent that makes the request; `None` for an administrator.
    pub agent: Option<AgentId>,
    /// The digest of the caller's token and the key.
    pub key_digest: [u8; 32],
    /// The digest of the request. It is stored keyed only: a request holds text, and a plain digest of a short one
    /// could be guessed from the database.
    pub request_digest: [u8; 32],
}

/// The state of a request with a key.
#[derive(Debug)]
pub enum KeptReply {
    /// It changed nothing yet: it is to be executed, as this attempt.
    New(RequestAttempt),
    /// The key was used for another request.
    OtherRequest,
    /// It made its change, and its response is not stored.
    Done {
        /// Its changes.
        done: RequestOutcome,
        /// For a request that can be executed again without harm.
        attempt: RequestAttempt,
    },
    /// Its stored response.
    Response {
        /// The status.
        status: u16,
        /// The body.
        body: Vec<u8>,
    },
}

/// The changes of a request: names and numbers, without text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOutcome {
    /// The agent that it changed; in an account's own log, the account's identifier.
    pub agent: AgentId,
    /// The place of its last record; `None` where it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The memories that it saved, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<Number>,
    /// The session that it began or changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
}

impl RequestOutcome {
    fn of(commit: &Commit) -> Self {
        let saved = commit.records.iter();
        let saved = saved.filter(|record| record.action == Action::MemorySaved);
        Self {
            agent: commit.agent.scope.agent,
            seq: commit.records.last().map(|record| record.seq),
            saved: saved.filter_map(|record| record.memory).collect(),
            session: commit.sessions.first().map(|session| session.id),
        }
    }

    /// Adds the changes of a later decision of the same request.
    fn followed_by(mut self, next: Self) -> Self {
        self.saved.extend(next.saved);
        Self {
            agent: next.agent,
            seq: next.seq.or(self.seq),
            saved: self.saved,
            session: next.session.or(self.session),
        }
    }
}

tokio::task_local! {
    /// The attempt of this task.
    static CURRENT: Option<RequestAttempt>;
}

/// One attempt at executing a request with a key. Clones share it.
#[derive(Debug, Clone)]
pub struct RequestAttempt(Arc<Attempt>);

#[derive(Debug)]
struct Attempt {
    written: Mutex<WrittenReply>,
    account: AccountId,
    key_digest: [u8; 32],
    /// Keyed.
    request_digest: [u8; 32],
    /// Distinguishes it from every other attempt.
    id: [u8; 16],
    came_at: Timestamp,
}

/// The row of a request as its attempt last read or wrote it.
#[derive(Debug, Clone, Default)]
struct WrittenReply {
    /// The open part of its document.
    open: Option<String>,
    done: Option<RequestOutcome>,
    /// Both, as after the current decision. A request makes one after the other.
    next: Option<(String, RequestOutcome)>,
}

impl RequestAttempt {
    /// Runs `work`, whose decisions are those of the request.
    pub fn execute<T>(&self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        CURRENT.scope(Some(self.clone()), work)
    }

    /// Whether a decision of the request was written.
    pub fn has_changed(&self) -> bool {
        self.0.written.lock().done.is_some()
    }

    /// The attempt of this task, if it is of that account.
    pub(crate) fn current(account: AccountId) -> Option<Self> {
        let current = CURRENT.try_with(Clone::clone).ok().flatten();
        current.filter(|attempt| attempt.0.account == account)
    }

    /// The mark that is written with a decision of the request.
    pub(crate) fn mark(&self, commit: &Commit) -> Result<Box<ReplyMark>> {
        let mut written = self.0.written.lock();
        let next = RequestOutcome::of(commit);
        let done = match written.done.clone() {
            Some(done) => done.followed_by(next),
            None => next,
        };
        let kept = self.kept(None, Some(done.clone()));
        // Nothing of it is private, and so nothing is sealed: an intruder who changes the row can remove it as well.
        let document = document::unsealed(ONLY_VERSION, &kept)?;
        written.next = Some((document.open.clone(), done));
        Ok(Box::new(ReplyMark {
            key_digest: self.0.key_digest,
            expected: written.open.clone(),
            document,
        }))
    }

    /// The decision with the last mark is written.
    pub(crate) fn note_written(&self) {
        let mut written = self.0.written.lock();
        if let Some((open, done)) = written.next.take() {
            (written.open, written.done) = (Some(open), Some(done));
        }
    }

    fn kept(&self, status: Option<u16>, done: Option<RequestOutcome>) -> KeptResponse {
        KeptResponse {
            status,
            key_digest: self.0.key_digest,
            request_digest: self.0.request_digest,
            attempt: HEXLOWER.encode(&self.0.id),
            done,
        }
    }
}

/// Runs `work` outside of the request: its decisions are not the request's purpose, and the request is executed again
/// if nothing else resulted.
pub(crate) fn for_no_request<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    CURRENT.scope(None, work)
}

/// `work` as a part of the request of this task, on whichever task it runs.
pub(crate) fn for_this_request<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    CURRENT.scope(CURRENT.try_with(Clone::clone).ok().flatten(), work)
}

impl Memoir {
    /// Enters a request that is about to be executed, and returns its state.
    ///
    /// # Errors
    /// The store fails.
    pub async fn begin_reply(&self, key: &ReplyKey) -> Result<KeptReply> {
        self.keys.check_there()?;
        let sealing = self.reply_key(key).await?;
        let request_digest = Digester::new(sealing.digest_key()).request(&key.request_digest);
        let row = ReplyRow {
            account: key.account,
            key_digest: key.key_digest,
            request_digest,
            recorded_at: self.now(),
            answer: None,
        };
        let found = self.store.begin_reply(&row).await?;
        let found = found.unwrap_or_else(|| row.clone());
        if found.request_digest != request_digest {
            return Ok(KeptReply::OtherRequest);
        }
        let mut id = [0; 16];
        self.random.fill(&mut id)?;
        let attempt = |written| {
            RequestAttempt(Arc::new(Attempt {
                account: key.account,
                key_digest: key.key_digest,
                request_digest,
                id,
                came_at: found.recorded_at,
                written: Mutex::new(written),
            }))
        };
        let Some(document) = &found.answer else {
            return Ok(KeptReply::New(attempt(WrittenReply::default())));
        };
        let kept: KeptResponse = document::read(row_of(key), &document.open)?;
        if let (Some(status), false) = (kept.status, document.sealed.0.is_empty()) {
            let body = document::open_private(&sealing, row_of(key), document)?;
            // The row is found by columns that are not sealed; the sealed part names the request again.
            let asked = (row.key_digest, request_digest);
            let answered = (kept.key_digest, kept.request_digest);
            document::check_columns(row_of(key), document.version, &asked, &answered)?;
            return Ok(KeptReply::Response {
                status,
                body: body.to_vec(),
            });
        }
        let written = WrittenReply {
            open: Some(document.open.clone()),
            done: kept.done.clone(),
            next: None,
        };
        Ok(match kept.done {
            // A late attempt of another request can write its mark into a row that was dropped and entered again.
            Some(_) if kept.request_digest != request_digest => KeptReply::OtherRequest,
            Some(done) => KeptReply::Done {
                done,
                attempt: attempt(written),
            },
            // It changed nothing, and its response is gone.
            None => KeptReply::New(attempt(written)),
        })
    }

    /// Stores the response to a request; returns whether no other attempt was faster. A response is not stored if text
    /// was shredded or erased in the account since the request, since it may hold that text. A `wordless` response is
    /// stored in any case.
    ///
    /// # Errors
    /// The store fails.
    pub async fn end_reply(
        &self,
        key: &ReplyKey,
        attempt: &RequestAttempt,
        wordless: bool,
        response: (u16, &[u8]),
    ) -> Result<bool> {
        let sealing = self.reply_key(key).await?;
        let WrittenReply { open, done, .. } = attempt.0.written.lock().clone();
        let (status, body) = response;
        let kept = attempt.kept(Some(status), done);
        let sealer = self.sealer(&sealing);
        let document = sealer.document_of(row_of(key), ONLY_VERSION, &kept, body)?;
        let came_at = (!wordless).then_some(attempt.0.came_at);
        let (account, digest) = (key.account, &key.key_digest);
        let ended = self
            .store
            .end_reply(account, digest, came_at, open.as_deref(), document)
            .await?;
        if ended {
            return Ok(true);
        }
        // Not stored: its text must not be kept, and the row is as this attempt left it, or another attempt wrote it.
        Ok(match self.begin_reply(key).await? {
            KeptReply::New(now) | KeptReply::Done { attempt: now, .. } => {
                now.0.written.lock().open == open
            }
            KeptReply::Response { .. } | KeptReply::OtherRequest => false,
        })
    }

    /// Removes the row of a request that changed nothing, unless another attempt made its change. An attempt under way
    /// changes nothing without the row, and is to be repeated. Returns whether the request is as if it had not come.
    ///
    /// # Errors
    /// The store fails.
    pub async fn drop_reply(&self, key: &ReplyKey, attempt: &RequestAttempt) -> Result<bool> {
        if self.drop_row(key, attempt).await? {
            return Ok(true);
        }
        // Another attempt dropped it, because it changed nothing either, or wrote it with its change.
        let KeptReply::New(entered) = self.begin_reply(key).await? else {
            return Ok(false);
        };
        self.drop_row(key, &entered).await?;
        Ok(true)
    }

    /// Removes the row as this attempt knows it; returns whether it was so.
    async fn drop_row(&self, key: &ReplyKey, attempt: &RequestAttempt) -> Result<bool> {
        let open = attempt.0.written.lock().open.clone();
        let (account, digest) = (key.account, &key.key_digest);
        let dropped = self.store.drop_reply(account, digest, open.as_deref());
        Ok(dropped.await?)
    }

    /// Removes responses that are old enough that no client repeats their requests.
    ///
    /// # Errors
    /// The store fails.
    pub async fn forget_replies(&self) -> Result<()> {
        let before = self.now().plus_days(-KEPT_DAYS);
        Ok(self.store.forget_replies(before).await?)
    }

    /// The key for responses: an agent's own, so that they are erased with it.
    async fn reply_key(&self, key: &ReplyKey) -> Result<AgentKey> {
        let account = key.account;
        match key.agent {
            None => self.account_key(account).await,
            Some(agent) => {
                let own = self.keys.of(AgentScope { account, agent }).await?;
                own.ok_or_else(|| Error::NoKey(agent.to_string()))
            }
        }
    }

    /// The account's key, for data of no agent.
    pub(crate) async fn account_key(&self, account: AccountId) -> Result<AgentKey> {
        let scope = account_data(account);
        match self.keys.of(scope).await? {
            Some(key) => Ok(key),
            // At the first use: an account is made without one.
            None => self.keys.create(scope, self.now()).await,
        }
    }
}

/// Under which the key for the account's data of no agent is kept: an agent that does not exist.
pub(crate) fn account_data(account: AccountId) -> AgentScope {
    AgentScope {
        account,
        agent: AgentId::from_bytes([0; 16]),
    }
}

/// Rows are found by the open part of their documents, and not by a version.
const ONLY_VERSION: u64 = 1;

/// The open part of the row of a request. The body of its response is sealed as it is; nothing is sealed without one.
#[derive(Serialize, Deserialize)]
struct KeptResponse {
    /// `None` without a stored response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(with = "digest")]
    key_digest: [u8; 32],
    /// Keyed.
    #[serde(with = "digest")]
    request_digest: [u8; 32],
    /// The attempt that wrote it, so that no two of them write the same.
    attempt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    done: Option<RequestOutcome>,
}

fn row_of(key: &ReplyKey) -> SealedRow {
    let mut row = [0; 16];
    // A name for the seal; the document holds both digests in full, and they are compared.
    row.copy_from_slice(&key.key_digest[..16]);
    SealedRow::Reply(row)
}
