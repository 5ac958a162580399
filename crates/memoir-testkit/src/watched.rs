//! A store in front of another one, whose commits a test watches, disturbs or falsifies.

use std::sync::Arc;

use async_trait::async_trait;
use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, TokenId, UserId,
    memory::Number, session::State,
};
use memoir_store::{
    Access, AccessRow, AccountRow, AgentQuery, AgentRow, ArchiveLink, AuditRow, Commit, Commits,
    CountAndTokens, Deliveries, DeliveryRow, Document, DueQuery, Error, Finding, Fleet, FleetLoad,
    FleetPage, FleetRecord, FleetSlice, LeafRow, LogsOf, MemoryPage, MemoryRow, MessageRow,
    OpenAccess, ReceiverDigest, RecordFilter, RecordOrder, RecordPlace, ReplyRow, Result,
    SessionRow, Snapshot, Store, StoredUsage, SummaryRow, TokenRow, TranscriptRow, Transcripts,
    UserRow, VectorRow, Vectors, WaitingSession, WordIndexRow, WordIndexes,
};

/// What happens around each commit.
#[async_trait]
pub trait StoreWatch: Send + Sync {
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

    /// Before the usage of an agent, or of an account, is counted.
    fn counting(&self, _agent: Option<AgentId>) {}

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

#[async_trait]
impl Fleet for WatchedStore {
    async fn create_account(&self, account: &AccountRow) -> Result<()> {
        self.inner.create_account(account).await
    }
    async fn usage(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        since: Timestamp,
    ) -> Result<StoredUsage> {
        self.watch.counting(agent);
        self.inner.usage(account, agent, since).await
    }
    async fn waiting_messages(&self, account: AccountId) -> Result<CountAndTokens> {
        self.inner.waiting_messages(account).await
    }
    async fn accounts(&self) -> Result<Vec<AccountRow>> {
        self.inner.accounts().await
    }
    async fn account_named(&self, name: &str) -> Result<Option<AccountRow>> {
        self.inner.account_named(name).await
    }
    async fn agents(&self, account: AccountId) -> Result<Vec<AgentRow>> {
        self.inner.agents(account).await
    }
    async fn agent_named(&self, account: AccountId, name: &str) -> Result<Option<AgentRow>> {
        self.inner.agent_named(account, name).await
    }
    async fn session_owner(
        &self,
        account: AccountId,
        session: SessionId,
    ) -> Result<Option<AgentScope>> {
        self.inner.session_owner(account, session).await
    }
    async fn access_owner(
        &self,
        account: AccountId,
        request: AccessRequestId,
    ) -> Result<Option<AgentScope>> {
        self.inner.access_owner(account, request).await
    }
    async fn open_access(&self) -> Result<Vec<OpenAccess>> {
        self.inner.open_access().await
    }
    async fn load(&self) -> Result<FleetLoad> {
        self.inner.load().await
    }
    async fn lapsed_sessions(&self, now: Timestamp) -> Result<Vec<(AgentScope, SessionId)>> {
        self.inner.lapsed_sessions(now).await
    }
    async fn agent_page(
        &self,
        account: AccountId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<AgentRow>> {
        self.inner.agent_page(account, after, limit).await
    }
    async fn fleet_records(
        &self,
        account: AccountId,
        filter: &RecordFilter,
        order: RecordOrder,
        after: Option<RecordPlace>,
        limit: u32,
    ) -> Result<Vec<FleetRecord>> {
        self.inner
            .fleet_records(account, filter, order, after, limit)
            .await
    }
    async fn last_states(
        &self,
        account: AccountId,
        agents: &[AgentId],
    ) -> Result<Vec<(AgentId, State)>> {
        self.inner.last_states(account, agents).await
    }
    async fn waiting_sessions(&self, limit: u32) -> Result<Vec<WaitingSession>> {
        self.inner.waiting_sessions(limit).await
    }
    async fn due_agents(&self, wanted: &DueQuery) -> Result<Vec<AgentScope>> {
        self.inner.due_agents(wanted).await
    }
    async fn scopes(&self) -> Result<Vec<AgentScope>> {
        self.inner.scopes().await
    }
    async fn erased(&self) -> Result<Vec<AgentScope>> {
        self.inner.erased().await
    }
    async fn check_form(&self) -> Result<Vec<Finding>> {
        self.inner.check_form().await
    }
    async fn finish(&self) -> Result<bool> {
        self.inner.finish().await
    }
    async fn leaves(&self, from: u64) -> Result<Vec<LeafRow>> {
        self.inner.leaves(from).await
    }
    async fn fleet_page(&self, account: AccountId, page: &FleetPage) -> Result<FleetSlice> {
        self.inner.fleet_page(account, page).await
    }
    async fn append_leaves(&self, recorded_at: Timestamp, of: LogsOf) -> Result<u64> {
        self.inner.append_leaves(recorded_at, of).await
    }
    async fn check(&self) -> Result<Vec<Finding>> {
        self.inner.check().await
    }
}

#[async_trait]
impl Access for WatchedStore {
    async fn put_token(&self, token: &TokenRow) -> Result<()> {
        self.inner.put_token(token).await
    }
    async fn token(&self, digest: &[u8; 32]) -> Result<Option<TokenRow>> {
        self.inner.token(digest).await
    }
    async fn bearer(&self, digest: &[u8; 32]) -> Result<Option<(TokenRow, Option<String>)>> {
        self.inner.bearer(digest).await
    }
    async fn tokens(&self, account: AccountId) -> Result<Vec<TokenRow>> {
        self.inner.tokens(account).await
    }
    async fn agent_tokens(&self, scope: AgentScope) -> Result<Vec<TokenRow>> {
        self.inner.agent_tokens(scope).await
    }
    async fn note_uses(&self, uses: &[(TokenId, Timestamp)]) -> Result<()> {
        self.inner.note_uses(uses).await
    }
    async fn create_user(&self, user: &UserRow, notice: Option<Commit>) -> Result<()> {
        self.inner.create_user(user, notice).await
    }
    async fn create_first_user(&self, user: &UserRow, notice: Option<Commit>) -> Result<bool> {
        self.inner.create_first_user(user, notice).await
    }
    async fn put_user(&self, user: &UserRow, notice: Option<Commit>) -> Result<bool> {
        self.inner.put_user(user, notice).await
    }
    async fn users(&self, account: AccountId) -> Result<Vec<UserRow>> {
        self.inner.users(account).await
    }
    async fn user_named(&self, account: AccountId, folded_name: &str) -> Result<Option<UserRow>> {
        self.inner.user_named(account, folded_name).await
    }
    async fn user(&self, account: AccountId, id: UserId) -> Result<Option<UserRow>> {
        self.inner.user(account, id).await
    }
    async fn has_users(&self) -> Result<bool> {
        self.inner.has_users().await
    }
    async fn check_ready(&self) -> Result<()> {
        self.inner.check_ready().await
    }
    async fn begin_reply(&self, reply: &ReplyRow) -> Result<Option<ReplyRow>> {
        self.inner.begin_reply(reply).await
    }
    async fn end_reply(
        &self,
        account: AccountId,
        key_digest: &[u8; 32],
        came_at: Option<Timestamp>,
        expected: Option<&str>,
        answer: Document,
    ) -> Result<bool> {
        let ended = self
            .inner
            .end_reply(account, key_digest, came_at, expected, answer);
        ended.await
    }
    async fn forget_replies(&self, before: Timestamp) -> Result<()> {
        self.inner.forget_replies(before).await
    }
}

#[async_trait]
impl Deliveries for WatchedStore {
    async fn register_receivers(
        &self,
        receivers: &[ReceiverDigest],
        now: Timestamp,
        forget_before: Timestamp,
        reopen: bool,
    ) -> Result<()> {
        self.inner
            .register_receivers(receivers, now, forget_before, reopen)
            .await
    }
    async fn claim_deliveries(
        &self,
        receiver: &ReceiverDigest,
        now: Timestamp,
        times: (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<DeliveryRow>> {
        self.inner
            .claim_deliveries(receiver, now, times, limit)
            .await
    }
    async fn resolve_delivery(
        &self,
        receiver: &ReceiverDigest,
        delivery: &DeliveryRow,
        again_at: Option<Timestamp>,
    ) -> Result<bool> {
        self.inner
            .resolve_delivery(receiver, delivery, again_at)
            .await
    }
    async fn close_receiver(&self, receiver: &ReceiverDigest, now: Timestamp) -> Result<()> {
        self.inner.close_receiver(receiver, now).await
    }
}

#[async_trait]
impl Transcripts for WatchedStore {
    async fn known_messages(
        &self,
        scope: AgentScope,
        digests: &[[u8; 32]],
    ) -> Result<Vec<[u8; 32]>> {
        self.inner.known_messages(scope, digests).await
    }
    async fn hurry_messages(&self, scope: AgentScope, due_at: Timestamp) -> Result<()> {
        self.inner.hurry_messages(scope, due_at).await
    }
    async fn pending_messages(&self, scope: AgentScope, tokens: u64) -> Result<Vec<MessageRow>> {
        self.inner.pending_messages(scope, tokens).await
    }
    async fn transcript(&self, scope: AgentScope) -> Result<TranscriptRow> {
        self.inner.transcript(scope).await
    }
    async fn claim_transcript(
        &self,
        scope: AgentScope,
        now: Option<Timestamp>,
        until: Timestamp,
    ) -> Result<Option<u64>> {
        self.inner.claim_transcript(scope, now, until).await
    }
    async fn extend_transcript(
        &self,
        scope: AgentScope,
        claim: u64,
        until: Timestamp,
    ) -> Result<bool> {
        self.inner.extend_transcript(scope, claim, until).await
    }
    async fn resolve_transcript(
        &self,
        scope: AgentScope,
        claim: u64,
        due_at: Timestamp,
        failures: u32,
    ) -> Result<()> {
        self.inner
            .resolve_transcript(scope, claim, due_at, failures)
            .await
    }
    async fn forget_words(&self, now: Timestamp) -> Result<()> {
        self.inner.forget_words(now).await
    }
    async fn due_transcripts(
        &self,
        account: Option<AccountId>,
        now: Timestamp,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        self.inner.due_transcripts(account, now, per_account).await
    }
    async fn due_reflections(
        &self,
        account: Option<AccountId>,
        slot: Timestamp,
        per_account: u32,
    ) -> Result<Vec<AgentScope>> {
        self.inner.due_reflections(account, slot, per_account).await
    }
}

#[async_trait]
impl Vectors for WatchedStore {
    async fn vectors(
        &self,
        scope: AgentScope,
        model: &str,
        of: Option<&[Number]>,
    ) -> Result<Vec<VectorRow>> {
        self.inner.vectors(scope, model, of).await
    }
    async fn vector_models(&self, scope: AgentScope) -> Result<Vec<(String, u64)>> {
        self.inner.vector_models(scope).await
    }
    async fn without_vector(
        &self,
        scope: AgentScope,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<MemoryRow>> {
        self.inner.without_vector(scope, model, after, limit).await
    }
    async fn keep_vectors(&self, scope: AgentScope, vectors: Vec<VectorRow>) -> Result<u64> {
        self.inner.keep_vectors(scope, vectors).await
    }
    async fn forget_vectors(&self, scope: AgentScope, except: Option<&str>) -> Result<()> {
        self.inner.forget_vectors(scope, except).await
    }
}

#[async_trait]
impl WordIndexes for WatchedStore {
    async fn word_index(&self, scope: AgentScope, limit: Option<u32>) -> Result<Vec<WordIndexRow>> {
        self.inner.word_index(scope, limit).await
    }
    async fn keep_word_index(
        &self,
        scope: AgentScope,
        expected_version: u64,
        parts: Vec<WordIndexRow>,
    ) -> Result<bool> {
        self.inner
            .keep_word_index(scope, expected_version, parts)
            .await
    }
    async fn forget_word_indexes(&self) -> Result<()> {
        self.inner.forget_word_indexes().await
    }
}

#[async_trait]
impl Store for WatchedStore {
    async fn memory_page(&self, scope: AgentScope, page: &MemoryPage) -> Result<Vec<MemoryRow>> {
        self.inner.memory_page(scope, page).await
    }
    async fn session_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<SessionRow>> {
        self.inner.session_page(scope, before, limit).await
    }

    async fn snapshot(&self, scope: AgentScope, wanted: &AgentQuery) -> Result<Option<Snapshot>> {
        self.inner.snapshot(scope, wanted).await
    }
    async fn memories(&self, scope: AgentScope, numbers: &[Number]) -> Result<Vec<MemoryRow>> {
        self.inner.memories(scope, numbers).await
    }
    async fn archive_links(
        &self,
        scope: AgentScope,
        numbers: &[Number],
    ) -> Result<Vec<ArchiveLink>> {
        self.inner.archive_links(scope, numbers).await
    }
    async fn records(&self, scope: AgentScope, filter: &RecordFilter) -> Result<Vec<AuditRow>> {
        self.inner.records(scope, filter).await
    }
    async fn summaries(
        &self,
        scope: AgentScope,
        after: u64,
        limit: u32,
    ) -> Result<Vec<SummaryRow>> {
        self.inner.summaries(scope, after, limit).await
    }
    async fn keep_summaries(
        &self,
        scope: AgentScope,
        expected_version: u64,
        summaries: Vec<SummaryRow>,
    ) -> Result<bool> {
        let kept = self
            .inner
            .keep_summaries(scope, expected_version, summaries);
        kept.await
    }
    async fn access_request(
        &self,
        scope: AgentScope,
        id: AccessRequestId,
    ) -> Result<Option<AccessRow>> {
        self.inner.access_request(scope, id).await
    }
    async fn access_page(
        &self,
        scope: AgentScope,
        before: Option<(Timestamp, AccessRequestId)>,
        limit: u32,
    ) -> Result<Vec<AccessRow>> {
        self.inner.access_page(scope, before, limit).await
    }
    async fn open_requests(&self, scope: AgentScope) -> Result<Vec<AccessRow>> {
        self.inner.open_requests(scope).await
    }
    async fn records_at(&self, scope: AgentScope, seqs: &[u64]) -> Result<Vec<AuditRow>> {
        self.inner.records_at(scope, seqs).await
    }
    async fn renew_lease(
        &self,
        scope: AgentScope,
        session: SessionId,
        holder: u64,
        until: Timestamp,
    ) -> Result<bool> {
        self.inner.renew_lease(scope, session, holder, until).await
    }
    /// Decisions that are written together are not watched one by one.
    async fn commit_all(&self, commits: Commits) -> Result<()> {
        self.watch.alive().await;
        self.inner.commit_all(commits).await
    }
    async fn commit(&self, mut commit: Commit) -> Result<()> {
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
