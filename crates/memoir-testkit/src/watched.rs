//! A store in front of another one, whose calls a test watches, disturbs or falsifies.

use std::sync::Arc;

use async_trait::async_trait;
use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, TokenId, UserId,
    memory::Number, session::State,
};
use memoir_store::{
    Access, AccessRow, AccountRow, AgentQuery, AgentRow, ArchiveLink, AuditRow, Commit, Commits,
    CountAndTokens, Deliveries, DeliveryRow, Document, DueQuery, DueWork, Error, Finding, Fleet,
    FleetLoad, FleetPage, FleetRecord, FleetSlice, LeafRow, MemoryPage, MemoryRow, MessageRow,
    OpenAccess, Portable, Reach, ReceiverDigest, RecordFilter, RecordOrder, RecordPlace, ReplyRow,
    Result, SessionRow, Snapshot, Store, StoredUsage, SummaryRow, TokenRow, TranscriptRow,
    Transcripts, UserRow, VectorRow, Vectors, WaitingSession, WordIndexRow,
};
use parking_lot::Mutex;

/// What happens around each call, and each commit.
#[async_trait]
pub trait StoreWatch: Send + Sync {
    /// Before each call, commits included: may refuse it, as where the store cannot be reached. Renewals of leases are
    /// left out, since their number depends on the real clock.
    fn reach(&self) -> Result<()> {
        Ok(())
    }

    /// Before a lease is renewed: may refuse it.
    fn renew(&self) -> Result<()> {
        Ok(())
    }

    /// Before it: may alter it, refuse it, or never return, as where the process ends.
    async fn begin(&self, _commit: &mut Commit) -> Result<()> {
        self.alive().await;
        Ok(())
    }

    /// Whether the answer to it is lost once it is written.
    fn is_answer_lost(&self) -> bool {
        false
    }

    /// After it was written, before its answer.
    async fn written(&self) -> Result<()> {
        Ok(())
    }

    /// Before decisions that are written together: may refuse them, or never return.
    async fn begin_together(&self) -> Result<()> {
        self.alive().await;
        Ok(())
    }

    /// Whether the answer to them is lost, and then whether they are written; `None` where it is not lost.
    fn loses_together(&self) -> Option<bool> {
        None
    }

    /// After they were written.
    async fn written_together(&self) -> Result<()> {
        Ok(())
    }

    /// Before the usage of an agent, or of an account, is counted.
    fn counting(&self, _agent: Option<AgentId>) {}

    /// Before all accounts are read.
    fn listing_accounts(&self) {}

    /// Returns while the process lives.
    async fn alive(&self) {}
}

/// A store that passes everything on.
pub struct WatchedStore {
    inner: Arc<dyn Store>,
    watch: Arc<dyn StoreWatch>,
}

impl WatchedStore {
    /// In front of `inner`.
    pub fn new(inner: Arc<dyn Store>, watch: Arc<dyn StoreWatch>) -> Self {
        Self { inner, watch }
    }
}

/// The methods of a trait that pass everything on, and after them those that do more.
macro_rules! pass_on {
    ($trait:ident { $(fn $name:ident($($value:ident: $kind:ty),*) -> $answer:ty;)* } $($own:tt)*) => {
        #[async_trait]
        impl $trait for WatchedStore {
            $(async fn $name(&self, $($value: $kind),*) -> $answer {
                self.watch.reach()?;
                self.inner.$name($($value),*).await
            })*
            $($own)*
        }
    };
}

pass_on! {
    Portable {
        fn account_named(name: &str) -> Result<Option<AccountRow>>;
        fn agents(account: AccountId) -> Result<Vec<AgentRow>>;
        fn session_owner(account: AccountId, session: SessionId) -> Result<Option<AgentScope>>;
        fn access_owner(account: AccountId, request: AccessRequestId) -> Result<Option<AgentScope>>;
        fn open_access() -> Result<Vec<OpenAccess>>;
        fn lapsed_sessions(now: Timestamp) -> Result<Vec<(AgentScope, SessionId)>>;
        fn agent_page(account: AccountId, after: Option<&str>, limit: u32) -> Result<Vec<AgentRow>>;
        fn scopes() -> Result<Vec<AgentScope>>;
        fn leaves(from: u64) -> Result<Vec<LeafRow>>;
        fn leaves_of(agent: AgentId) -> Result<Vec<LeafRow>>;
        fn bearer(digest: &[u8; 32]) -> Result<Option<(TokenRow, Option<String>)>>;
        fn token(digest: &[u8; 32]) -> Result<Option<TokenRow>>;
        fn tokens(account: AccountId) -> Result<Vec<TokenRow>>;
        fn agent_tokens(scope: AgentScope) -> Result<Vec<TokenRow>>;
        fn users(account: AccountId) -> Result<Vec<UserRow>>;
        fn user_named(account: AccountId, folded_name: &str) -> Result<Option<UserRow>>;
        fn user(account: AccountId, id: UserId) -> Result<Option<UserRow>>;
        fn has_users() -> Result<bool>;
        fn begin_reply(reply: &ReplyRow) -> Result<Option<ReplyRow>>;
        fn end_reply(
            account: AccountId,
            key_digest: &[u8; 32],
            came_at: Option<Timestamp>,
            expected: Option<&str>,
            answer: Document
        ) -> Result<bool>;
        fn drop_reply(
            account: AccountId,
            key_digest: &[u8; 32],
            expected: Option<&str>
        ) -> Result<bool>;
        fn access_request(scope: AgentScope, id: AccessRequestId) -> Result<Option<AccessRow>>;
        fn access_page(
            scope: AgentScope, before: Option<(Timestamp, AccessRequestId)>, limit: u32
        ) -> Result<Vec<AccessRow>>;
        fn hurry_messages(scope: AgentScope, due_at: Timestamp) -> Result<()>;
        fn extend_transcript(scope: AgentScope, claim: u64, until: Timestamp) -> Result<bool>;
        fn claim_transcript(
            scope: AgentScope, now: Option<Timestamp>, until: Timestamp
        ) -> Result<Option<u64>>;
        fn resolve_transcript(
            scope: AgentScope, claim: u64, due_at: Timestamp, failures: u32
        ) -> Result<()>;
        fn vector_models(scope: AgentScope) -> Result<Vec<(String, u64)>>;
        fn without_vector(
            scope: AgentScope, model: &str, after: u64, limit: u32
        ) -> Result<Vec<MemoryRow>>;
        fn word_index(scope: AgentScope, limit: Option<u32>) -> Result<Vec<WordIndexRow>>;
        fn keep_word_index(
            scope: AgentScope, expected_version: u64, parts: Vec<WordIndexRow>
        ) -> Result<bool>;
        fn summaries(scope: AgentScope, after: u64, limit: u32) -> Result<Vec<SummaryRow>>;
        fn keep_summaries(
            scope: AgentScope, expected_version: u64, summaries: Vec<SummaryRow>
        ) -> Result<bool>;
        fn forget_vectors(scope: AgentScope, except: Option<&str>) -> Result<()>;
        fn register_receivers(
            receivers: &[ReceiverDigest], now: Timestamp, forget_before: Timestamp, reopen: bool
        ) -> Result<()>;
        fn close_receiver(receiver: &ReceiverDigest, now: Timestamp) -> Result<()>;
        fn resolve_delivery(
            receiver: &ReceiverDigest, delivery: &DeliveryRow, again_at: Option<Timestamp>
        ) -> Result<bool>;
    }

    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        self.watch.reach()?;
        self.watch.listing_accounts();
        self.inner.accounts().await
    }

    async fn renew_lease(
        &self,
        scope: AgentScope,
        session: SessionId,
        holder: u64,
        until: Timestamp,
    ) -> Result<bool> {
        self.watch.renew()?;
        self.inner.renew_lease(scope, session, holder, until).await
    }
}

pass_on! {
    Fleet {
        fn create_account(account: &AccountRow) -> Result<()>;
        fn waiting_messages(account: AccountId) -> Result<CountAndTokens>;
        fn agent_named(account: AccountId, name: &str) -> Result<Option<AgentRow>>;
        fn load() -> Result<FleetLoad>;
        fn fleet_records(
            account: AccountId,
            filter: &RecordFilter,
            order: RecordOrder,
            after: Option<RecordPlace>,
            limit: u32
        ) -> Result<Vec<FleetRecord>>;
        fn last_states(account: AccountId, agents: &[AgentId]) -> Result<Vec<(AgentId, State)>>;
        fn waiting_sessions(limit: u32) -> Result<Vec<WaitingSession>>;
        fn due_agents(wanted: &DueQuery) -> Result<Vec<AgentScope>>;
        fn erased() -> Result<Vec<AgentScope>>;
        fn check_form() -> Result<Vec<Finding>>;
        fn forget_word_indexes() -> Result<()>;
        fn finish() -> Result<bool>;
        fn fleet_page(account: AccountId, page: &FleetPage) -> Result<FleetSlice>;
        fn append_leaves(recorded_at: Timestamp, of: Reach) -> Result<u64>;
        fn check() -> Result<Vec<Finding>>;
    }

    async fn usage(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        since: Timestamp,
    ) -> Result<StoredUsage> {
        self.watch.reach()?;
        self.watch.counting(agent);
        self.inner.usage(account, agent, since).await
    }
}

pass_on! {
    Access {
        fn put_token(token: &TokenRow) -> Result<()>;
        fn note_uses(uses: &[(TokenId, Timestamp)]) -> Result<()>;
        fn create_user(
            user: &UserRow, only_first: bool, notice: Option<Commit>
        ) -> Result<bool>;
        fn put_user(user: &UserRow, notice: Option<Commit>) -> Result<bool>;
        fn check_ready() -> Result<()>;
        fn forget_replies(before: Timestamp) -> Result<()>;
    }
}

pass_on! {
    Deliveries {
        fn claim_deliveries(
            receiver: &ReceiverDigest, now: Timestamp, times: (Timestamp, Timestamp), limit: u32
        ) -> Result<Vec<DeliveryRow>>;
    }
}

pass_on! {
    Transcripts {
        fn known_messages(scope: AgentScope, digests: &[[u8; 32]]) -> Result<Vec<[u8; 32]>>;
        fn pending_messages(scope: AgentScope, tokens: u64) -> Result<Vec<MessageRow>>;
        fn transcript(scope: AgentScope) -> Result<TranscriptRow>;
        fn forget_words(now: Timestamp) -> Result<()>;
        fn due_work(
            work: DueWork, account: Option<AccountId>, per_account: u32
        ) -> Result<Vec<AgentScope>>;
    }
}

pass_on! {
    Vectors {
        fn vectors(scope: AgentScope, model: &str, of: &[Number]) -> Result<Vec<VectorRow>>;
        fn keep_vectors(scope: AgentScope, vectors: Vec<VectorRow>) -> Result<u64>;
    }
}

pass_on! {
    Store {
        fn memory_page(scope: AgentScope, page: &MemoryPage) -> Result<Vec<MemoryRow>>;
        fn session_page(
            scope: AgentScope, before: Option<(Timestamp, SessionId)>, limit: u32
        ) -> Result<Vec<SessionRow>>;
        fn session_sizes(
            scope: AgentScope, before: Option<(Timestamp, SessionId)>, limit: u32
        ) -> Result<Vec<u64>>;
        fn snapshot(scope: AgentScope, wanted: &AgentQuery) -> Result<Option<Snapshot>>;
        fn memories(scope: AgentScope, numbers: &[Number]) -> Result<Vec<MemoryRow>>;
        fn archive_links(scope: AgentScope, numbers: &[Number]) -> Result<Vec<ArchiveLink>>;
        fn records(scope: AgentScope, filter: &RecordFilter) -> Result<Vec<AuditRow>>;
        fn record_sizes(scope: AgentScope, filter: &RecordFilter) -> Result<Vec<u64>>;
        fn open_requests(scope: AgentScope) -> Result<Vec<AccessRow>>;
        fn records_at(scope: AgentScope, seqs: &[u64]) -> Result<Vec<AuditRow>>;
    }

    /// Decisions that are written together are not watched one by one.
    async fn commit_all(&self, commits: Commits) -> Result<()> {
        self.watch.reach()?;
        self.watch.begin_together().await?;
        let Some(is_written) = self.watch.loses_together() else {
            self.inner.commit_all(commits).await?;
            return self.watch.written_together().await;
        };
        let last: Arc<Mutex<Option<Commit>>> = Arc::default();
        let noted = Arc::clone(&last);
        let commits = Commits::new(std::iter::from_fn(move || {
            let next = commits.next()?;
            if let Some(commit) = &next {
                *noted.lock() = Some(commit.clone());
            }
            // A list without its end is not written.
            (is_written || next.is_some()).then_some(next)
        }));
        let written = self.inner.commit_all(commits).await;
        let last = last.lock().take();
        match (written, last) {
            (Ok(()) | Err(Error::Unfinished), Some(last)) => {
                Err(Error::OutcomeUnknown(Box::new(last)))
            }
            (written, _) => written,
        }
    }

    async fn commit(&self, mut commit: Commit) -> Result<()> {
        self.watch.reach()?;
        self.watch.begin(&mut commit).await?;
        let answer = self.watch.is_answer_lost().then(|| commit.clone());
        self.inner.commit(commit).await?;
        self.watch.written().await?;
        match answer {
            Some(same) => Err(Error::OutcomeUnknown(Box::new(same))),
            None => Ok(()),
        }
    }
}
