//! Access requests to an agent, its decisions, and the end of its grants (SPEC 5.2, 5.5, 4.4). Reading under a grant is
//! in `shown/`.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use memoir_domain::{
    AccessRequestId, PrivateText, Timestamp,
    access::{
        self, AccessDraft, AccessKind, AccessRefusal, AccessRequest, AccessState, Moment,
        PURPOSE_LIMIT, REASON_LIMIT, RequestOver,
    },
    audit::{Action, Actor, ActorKind},
    draft::Decision,
    memory::{Invalid, parse_text},
    session::Usage,
};
use memoir_model::EmbedderPlace;
use memoir_store::{AgentQuery, OpenAccess, RecordFilter, Selection};
use parking_lot::Mutex;

use crate::{
    core::{Account, AgentHandle, CONFLICT, Error, Loaded, Memoir, Result, again, codec, replies},
    people::Grants,
    shown::{AccessRequestFacts, ShownAccessRequest},
};

/// What this process knows of the grants in use.
#[derive(Debug, Default)]
pub(crate) struct GrantsInUse {
    /// How long each may still be used by the monotonic clock, and how far the log was read for it.
    timed: Mutex<HashMap<AccessRequestId, GrantInUse>>,
    /// Those that last until they are revoked, as far as [`Memoir::expire_access`] has found them.
    standing: Mutex<HashSet<AccessRequestId>>,
}

#[derive(Debug, Clone, Copy)]
struct GrantInUse {
    /// By the monotonic clock.
    deadline: Duration,
    /// The first record of the log that was not read.
    next_seq: u64,
    /// The latest time of those that were.
    latest: Timestamp,
}

impl GrantsInUse {
    fn get(&self, id: AccessRequestId) -> Option<GrantInUse> {
        self.timed.lock().get(&id).copied()
    }

    /// Merges a reading with those of other tasks of this process. A deadline never moves back.
    fn note(&self, id: AccessRequestId, seen: GrantInUse) -> GrantInUse {
        let mut grants_in_use = self.timed.lock();
        let known = grants_in_use.entry(id).or_insert(seen);
        *known = GrantInUse {
            // Otherwise setting the clock back would gain time at the next read.
            deadline: known.deadline.min(seen.deadline),
            next_seq: known.next_seq.max(seen.next_seq),
            latest: known.latest.max(seen.latest),
        };
        *known
    }
}

impl Grants<'_> {
    /// Requests access from the agent. The agent itself responds, by [`Grants::answer_access`].
    ///
    /// # Errors
    /// The purpose or the minutes break a limit; the session or the memory is none of the agent's; the caller is no
    /// administrator; too many requests wait; the store fails.
    pub async fn request_access(
        self,
        draft: &AccessDraft,
        actor: &Actor,
    ) -> Result<AccessRequestFacts> {
        let draft = draft.check()?;
        // Those that have expired wait no longer.
        for row in self.memoir.store.open_requests(self.scope).await? {
            self.end_if_over(row.id).await?;
        }
        let id = self.memoir.ids().draw(AccessRequestId::from_bytes)?;
        let query = query_for(draft.kind);
        again(|| async {
            let loaded = self.load(&query).await?;
            check_object(draft.kind, &loaded, self.memoir.now())?;
            let earlier = self.earlier_requests(&loaded).await?;
            let now = self.memoir.now();
            let base = loaded.base.clone();
            let decision = access::request(loaded.agent, id, &draft, &earlier, actor, now)?;
            let request = self.write_access(&base, decision).await?;
            Ok(AccessRequestFacts::new(&self.name, request))
        })
        .await
    }

    /// Requests the agent's consent to send its text to the configured server of embeddings, which is named before the
    /// purpose.
    ///
    /// # Errors
    /// As for [`Grants::request_access`]; none is configured, or it is on this machine.
    pub async fn request_embeddings(
        self,
        purpose: &PrivateText,
        actor: &Actor,
    ) -> Result<AccessRequestFacts> {
        let Some(embedder) = self.memoir.embedder()? else {
            let problem = "cannot be asked for: set `[recall] embeddings` first";
            return Err(Invalid::new("embeddings", problem).into());
        };
        let EmbedderPlace::Elsewhere(address) = embedder.place() else {
            let problem = match embedder.place() {
                EmbedderPlace::ThisProcess => {
                    "need not be asked for: no text leaves Memoir's own process"
                }
                EmbedderPlace::ThisMachine(_) | EmbedderPlace::Elsewhere(_) => {
                    "need not be asked for: the server is on this machine"
                }
            };
            return Err(Invalid::new("embeddings", problem).into());
        };
        let model = embedder.name().as_str();
        let introduction = format!("They go to `{model}` at {address}. ");
        let recipient = access::recipient(model, address);
        let kind = AccessKind::Embeddings { recipient };
        self.request_introduced(kind, &introduction, purpose, actor)
            .await
    }

    /// As [`Grants::request_access`], with an introduction of Memoir's before the administrator's purpose, which so
    /// cannot imitate it.
    pub(super) async fn request_introduced(
        self,
        kind: AccessKind,
        introduction: &str,
        purpose: &PrivateText,
        actor: &Actor,
    ) -> Result<AccessRequestFacts> {
        let room = PURPOSE_LIMIT.saturating_sub(introduction.chars().count());
        let purpose = parse_text("purpose", purpose.expose(), room)?;
        let purpose = format!("{introduction}{}", purpose.expose()).into();
        let draft = AccessDraft { kind, purpose };
        self.request_access(&draft, actor).await
    }

    /// The requests to the agent: all open ones, and all that it decided.
    async fn earlier_requests(self, loaded: &Loaded) -> Result<Vec<AccessRequest>> {
        const AT_ONCE: u32 = 100;
        let (store, key) = (&self.memoir.store, loaded.base.key());
        let mut earlier: Vec<AccessRequest> = Vec::new();
        let mut before = None;
        // All of them: with any limit, a refusal could be hidden by making and revoking that many other requests.
        loop {
            let rows = store.access_page(self.scope, before, AT_ONCE).await?;
            let Some(last) = rows.last() else {
                return Ok(earlier);
            };
            before = Some((last.columns.requested_at, last.id));
            for row in &rows {
                let request = codec::access_request(key, row)?;
                if request.state.is_open() || request.answered_at.is_some() {
                    earlier.push(request);
                }
            }
        }
    }

    /// The requests that wait for the agent's decision and its unexpired grants, oldest first, without its text.
    ///
    /// # Errors
    /// The store fails.
    pub async fn open_access(self) -> Result<Vec<AccessRequestFacts>> {
        let rows = self.memoir.store.open_requests(self.scope).await?;
        let mut facts = Vec::with_capacity(rows.len());
        for row in rows {
            let request = self.request_now(row.id).await?;
            if request.state.is_open() {
                facts.push(AccessRequestFacts::new(&self.name, request));
            }
        }
        Ok(facts)
    }

    /// How long a grant can still be used, by the stricter clock; zero for a request that is not granted.
    pub fn access_time_left(self, request: &AccessRequestFacts) -> Duration {
        if request.state != AccessState::Granted {
            return Duration::ZERO;
        }
        let left = request.expires_at.since(self.memoir.now());
        let watch = self.memoir.state::<GrantsInUse>().get(request.id);
        watch.map_or(left, |watch| {
            let counted = watch.deadline.saturating_sub(self.memoir.clock.monotonic());
            counted.min(left)
        })
    }

    /// Who revoked a request, according to its record; `None` where it was not revoked.
    ///
    /// # Errors
    /// The store fails.
    pub async fn access_revoked_by(self, request: &AccessRequestFacts) -> Result<Option<Actor>> {
        if request.state != AccessState::Revoked {
            return Ok(None);
        }
        let filter = RecordFilter {
            since: request.ended_at,
            until: request.ended_at,
            ..RecordFilter::of_actions([Action::AccessRevoked])
        };
        for row in self.memoir.store.records(self.scope, &filter).await? {
            let record = codec::record(None, row)?;
            if AccessRequest::named_by(&record) == Some(request.id) {
                return Ok(Some(record.actor));
            }
        }
        Ok(None)
    }

    /// Writes the agent's decision. A shredding that it agrees to is carried out in the same step. Repeating the same
    /// decision changes nothing.
    ///
    /// # Errors
    /// The agent has no such request; `actor` is not the agent; it was decided otherwise, revoked, or waits no longer;
    /// the reason breaks its limit; a shredding cannot be carried out now.
    pub async fn answer_access(
        self,
        id: AccessRequestId,
        is_granted: bool,
        reason: Option<PrivateText>,
        actor: &Actor,
    ) -> Result<ShownAccessRequest> {
        let usage = Usage::default();
        self.answer_access_for(id, is_granted, reason, usage, actor)
            .await
    }

    /// As [`Grants::answer_access`], with the usage of the agent's model. A refusal ends all waiting requests for
    /// as much.
    pub(crate) async fn answer_access_for(
        self,
        id: AccessRequestId,
        is_granted: bool,
        reason: Option<PrivateText>,
        usage: Usage,
        actor: &Actor,
    ) -> Result<ShownAccessRequest> {
        let reason = reason
            .map(|reason| parse_text("reason", reason.expose(), REASON_LIMIT))
            .transpose()?;
        // Only for the agent itself: for any other caller, who is refused below, this would be a way to guess.
        if let Some(reason) = reason.as_ref().filter(|_| actor.kind == ActorKind::Agent)
            && self.repeats_memory(reason).await?
        {
            let problem = "has a whole sentence of a memory, and administrators read it; give it in other words, or \
                leave it out";
            return Err(Invalid::new("reason", problem).into());
        }
        let request = self.end_if_over(id).await?;
        let mut shredded = None;
        let request = if let (AccessKind::Shred { number, derived }, AccessState::Asked, true) =
            (request.kind, request.state, is_granted)
        {
            let consent = Consent {
                request: id,
                reason,
                usage,
                actor: actor.clone(),
            };
            let memories = self.memories();
            let (shred, request) = memories.shred_as_asked(number, derived, consent).await?;
            shredded = Some(shred);
            request
        } else {
            self.decide_access(id, |loaded, request, now| {
                let answer = access::AgentAnswer {
                    is_granted,
                    reason: reason.as_ref(),
                    usage,
                };
                Ok(access::answer(loaded.agent, request, answer, actor, now)?)
            })
            .await?
        };
        // After the refusal is written: if the process dies or the store fails in between, the others go on waiting, and
        // are decided separately. An error would say that nothing was decided.
        if !is_granted && let Err(error) = self.end_alike(request.kind).await {
            tracing::warn!(agent = %self.scope.agent, %error, "requests for as much as a refused one go on waiting");
        }
        // Only the agent can decide, so `actor` is the agent and may read its own text.
        let mut shown = ShownAccessRequest::with_words(&self.name, request);
        if let Some(shredded) = shredded {
            shown.words.summaries = Some(shredded.summaries);
            shown.words.transcript = shredded.transcript;
        }
        Ok(shown)
    }

    /// Whether a reason repeats a sentence of a memory, discarded ones included.
    pub(crate) async fn repeats_memory(self, reason: &PrivateText) -> Result<bool> {
        let loaded = self.load_memories(Selection::All).await?;
        Ok(access::repeats_a_sentence(reason, &loaded.memories))
    }

    /// Revokes a request, decided or not: the agent can, and any administrator. One that has ended stays as it is, and
    /// the act of an administrator is on the record. With
    /// the consent to send text to a server of embeddings, its vectors are deleted.
    ///
    /// # Errors
    /// The agent has no such request; its purpose has been carried out; the store fails.
    pub async fn revoke_access(
        self,
        id: AccessRequestId,
        actor: &Actor,
    ) -> Result<AccessRequestFacts> {
        let revoked = self.decide_access(id, |loaded, request, now| {
            Ok(access::revoke(loaded.agent, request, actor, now)?)
        });
        let request = revoked.await?;
        if matches!(request.kind, AccessKind::Embeddings { .. }) {
            let forget = || self.memories().forget_vectors_not_allowed(true);
            let mut forgotten = forget().await;
            if forgotten.as_ref().is_err_and(Error::is_passing) {
                tokio::time::sleep(Duration::from_millis(500)).await;
                forgotten = forget().await;
            }
            // The revocation is written, and an error would say that it is not. The vectors are not used, and a
            // repetition deletes them.
            if let Err(error) = forgotten {
                tracing::error!(agent = %self.scope.agent, %error, "vectors were not deleted after a revocation");
            }
        }
        Ok(AccessRequestFacts::new(&self.name, request))
    }

    /// The request of that identifier, which is one of the agent's.
    ///
    /// # Errors
    /// [`Error::NoAccessRequest`], for a request of another agent too.
    pub async fn own_access_id(self, request: &str) -> Result<AccessRequestId> {
        let unknown = || Error::NoAccessRequest(request.to_owned());
        let id = request.trim().parse().map_err(|_| unknown())?;
        let store = &self.memoir.store;
        let row = store.access_request(self.scope, id).await?;
        row.map(|row| row.id).ok_or_else(unknown)
    }

    /// Decides about a request that has not ended, or had ended before, and returns it after that. A decision of `None`
    /// writes nothing. Nothing is read after the commit: an error means that nothing was decided (SPEC 6.2).
    async fn decide_access(
        self,
        id: AccessRequestId,
        decide: impl Fn(Loaded, &AccessRequest, Timestamp) -> Result<Option<Decision>>,
    ) -> Result<AccessRequest> {
        again(|| async {
            let (loaded, request, now) = self.load_access(id, &AgentQuery::default()).await?;
            let base = loaded.base.clone();
            match decide(loaded, &request, now)? {
                None => Ok(request),
                // Only the record of an act that changes nothing.
                Some(decision) if decision.access.is_empty() => {
                    self.commit(&base, decision).await?;
                    Ok(request)
                }
                Some(decision) => self.write_access(&base, decision).await,
            }
        })
        .await
    }

    /// The agent, and a request of it that has not expired, or that had already ended.
    ///
    /// # Errors
    /// A conflict, where another process changed something meanwhile, or it had to be ended.
    pub(crate) async fn load_access(
        self,
        id: AccessRequestId,
        query: &AgentQuery,
    ) -> Result<(Loaded, AccessRequest, Timestamp)> {
        let loaded = self.load(query).await?;
        // After the agent: a later change of a request makes a decision on this one a conflict.
        let row = self.memoir.store.access_request(self.scope, id).await?;
        let row = row.ok_or_else(|| Error::NoAccessRequest(id.to_string()))?;
        let request = codec::access_request(loaded.base.key(), &row)?;
        // Ending it is a decision of its own, which increased the version: the loaded state is outdated either way.
        let now = self.live(&loaded, &request).await?.ok_or(CONFLICT)?;
        Ok((loaded, request, now))
    }

    /// The time, where the request has not expired; it is ended otherwise.
    pub(crate) async fn live(
        self,
        loaded: &Loaded,
        request: &AccessRequest,
    ) -> Result<Option<Timestamp>> {
        // On the heap, as the write below: every look under a grant would have room for their states on its stack.
        let moment = match Box::pin(self.time_known(loaded, request)).await {
            Err(Error::Store(memoir_store::Error::Conflict)) => return Ok(None),
            moment => moment?,
        };
        let Some(why) = request.over(&moment) else {
            return Ok(Some(moment.now));
        };
        // A process that was faster has done it, or decides it anew.
        if let Some(decision) = access::expire(loaded.agent.clone(), request, why, moment.now) {
            // The request that finds it has another purpose, and is executed again where it does not come to that.
            let written = self.write_access(&loaded.base, decision);
            Box::pin(replies::for_no_request(written)).await?;
        }
        Ok(None)
    }

    /// The known time. For a grant the log since then is read, as far as this process has not read it: it must show
    /// that the grant is still valid.
    async fn time_known(self, loaded: &Loaded, request: &AccessRequest) -> Result<Moment> {
        let now = self.memoir.now();
        let Some(answered_seq) = request
            .answered_seq
            .filter(|_| request.state == AccessState::Granted)
        else {
            return Ok(Moment {
                now,
                latest: None,
                has_run_out: false,
            });
        };
        let grants_in_use = &self.memoir.state::<GrantsInUse>();
        let known = grants_in_use.get(request.id);
        // Records that this process has read need not be read again for every page: the log only grows, and
        // verification detects changed records.
        let first = known.map_or(answered_seq, |watch| watch.next_seq);
        let mut latest = known.map_or(Timestamp::MIN, |watch| watch.latest);
        let _room = self.log().room_from(first).await?;
        for row in self.log().log_from(first, loaded).await? {
            let record = codec::record(Some(loaded.base.key()), row)?;
            latest = latest.max(record.recorded_at);
            let is_own = AccessRequest::named_by(&record) == Some(request.id);
            let is_grant = is_own && record.action == Action::AccessGranted;
            let is_end =
                is_own && matches!(record.action, Action::AccessRevoked | Action::AccessExpired);
            // The log is chained and the request's row is not: a row that was put back from before its revocation opens
            // by its seal, and is detected here.
            if is_end || (record.seq == answered_seq) != is_grant {
                return Err(Error::Inconsistent(format!(
                    "table `access_requests`, row {}: record {} contradicts it: the row was put back",
                    request.id, record.seq
                )));
            }
        }
        // By the latest time in the log since the grant, where that is later than the clock: a clock that was set back
        // does not lengthen a grant (SPEC 5.2).
        let left = request.expires_at.since(latest.max(now));
        let monotonic = self.memoir.clock.monotonic();
        let seen = GrantInUse {
            deadline: monotonic + left,
            next_seq: loaded.agent.next_seq,
            latest,
        };
        let watch = grants_in_use.note(request.id, seen);
        Ok(Moment {
            now,
            latest: Some(watch.latest),
            has_run_out: monotonic >= watch.deadline,
        })
    }

    async fn write_access(self, base: &codec::Base, decision: Decision) -> Result<AccessRequest> {
        let request = decision.access.first().cloned();
        let request = request.ok_or_else(|| {
            Error::Inconsistent("an access request was changed without a record".to_owned())
        })?;
        let next_seq = decision.agent.next_seq;
        self.commit(base, decision).await?;
        // After the commit: a grant that was not written must not be counted down.
        self.count_down(&request, next_seq);
        Ok(request)
    }

    /// From the moment of the grant on, the monotonic clock counts along.
    fn count_down(self, request: &AccessRequest, next_seq: u64) {
        let grants_in_use = &self.memoir.state::<GrantsInUse>();
        if request.state != AccessState::Granted {
            grants_in_use.timed.lock().remove(&request.id);
        } else if let Some(at) = request.answered_at
            && grants_in_use.get(request.id).is_none()
        {
            let left = request.expires_at.since(at);
            let seen = GrantInUse {
                deadline: self.memoir.clock.monotonic() + left,
                next_seq,
                latest: at,
            };
            grants_in_use.note(request.id, seen);
        }
    }

    /// The agent's grant for `actor` to make one more token, or with `client` to connect that program, and the decision
    /// that uses it up. The inner value is `None` without a grant that has not expired; the outer one after a
    /// concurrent change: then retry.
    pub(crate) async fn token_leave(
        self,
        loaded: &Loaded,
        client: Option<u64>,
        actor: &Actor,
    ) -> Result<Option<Option<TokenLeave>>> {
        for row in self.memoir.store.open_requests(self.scope).await? {
            let request = codec::access_request(loaded.base.key(), &row)?;
            let expires_at = match (request.kind, client) {
                (AccessKind::Token { expires_at }, None) => expires_at,
                (AccessKind::Connection { client }, Some(recipient)) if client == recipient => None,
                _ => continue,
            };
            // A grant is for the administrator who requested it: another one cannot use it up, nor a later user of that
            // name.
            if request.state != AccessState::Granted || request.asked_by != *actor {
                continue;
            }
            let since = self.memoir.user_since(self.scope.account, actor).await?;
            if request.requested_at < since {
                continue;
            }
            let Some(now) = self.live(loaded, &request).await? else {
                return Ok(None);
            };
            let decision = access::use_up(loaded.agent.clone(), &request, actor, now)?;
            return Ok(Some(Some(TokenLeave {
                expires_at,
                decision,
            })));
        }
        Ok(Some(None))
    }

    /// The request, which is ended where it has expired.
    pub(crate) async fn end_if_over(self, id: AccessRequestId) -> Result<AccessRequest> {
        let query = AgentQuery::default();
        let (_, request, _) = again(|| self.load_access(id, &query)).await?;
        Ok(request)
    }

    /// The request as it is now, without waiting for another process: an end that cannot be recorded now is shown all
    /// the same, and the next writer records it.
    pub(crate) async fn request_now(self, id: AccessRequestId) -> Result<AccessRequest> {
        match memoir_store::without_waiting(self.end_if_over(id)).await {
            // Only an end writes anything here.
            Err(Error::Store(memoir_store::Error::Busy)) => {}
            request => return request,
        }
        let loaded = self.load(&AgentQuery::default()).await?;
        let row = self.memoir.store.access_request(self.scope, id).await?;
        let row = row.ok_or_else(|| Error::NoAccessRequest(id.to_string()))?;
        let mut request = codec::access_request(loaded.base.key(), &row)?;
        if request.state.is_open() {
            request.state = AccessState::Expired;
            request.ended_at = Some(self.memoir.now());
        }
        Ok(request)
    }

    /// Ends the waiting requests for as much as one that the agent refused.
    async fn end_alike(self, refused: AccessKind) -> Result<()> {
        for row in self.memoir.store.open_requests(self.scope).await? {
            self.decide_access(row.id, |loaded, request, now| {
                let is_alike =
                    request.state == AccessState::Asked && request.kind.asks_again_for(refused);
                Ok(is_alike
                    .then(|| access::expire(loaded.agent, request, RequestOver::Refused, now))
                    .flatten())
            })
            .await?;
        }
        Ok(())
    }
}

fn query_for(kind: AccessKind) -> AgentQuery {
    match kind {
        AccessKind::Shred { number, .. } => {
            AgentQuery::of_memories(Selection::Numbers(vec![number]))
        }
        AccessKind::Read { scope, .. } => AgentQuery {
            session: scope.session(),
            ..AgentQuery::default()
        },
        AccessKind::Token { .. }
        | AccessKind::Connection { .. }
        | AccessKind::Embeddings { .. } => AgentQuery::default(),
    }
}

fn check_object(kind: AccessKind, loaded: &Loaded, now: Timestamp) -> Result<()> {
    match kind {
        AccessKind::Shred { number, .. } => {
            let memory = loaded.memories.first().ok_or(Error::NoMemory(number))?;
            if memory.shredded_at.is_some() {
                return Err(memoir_domain::manage::ChangeRefusal::Shredded(number).into());
            }
        }
        AccessKind::Read { scope, .. } => {
            if let Some(id) = scope.session()
                && loaded.session.is_none()
            {
                return Err(Error::NoSession(id.to_string()));
            }
        }
        AccessKind::Token { expires_at } => {
            if expires_at.is_some_and(|at| at <= now) {
                let problem = "is in the past; give a later time, or none";
                return Err(Invalid::new("expires_at", problem).into());
            }
        }
        AccessKind::Connection { .. } | AccessKind::Embeddings { .. } => {}
    }
    Ok(())
}

/// A grant of the agent to make one more token of it.
pub(crate) struct TokenLeave {
    /// The latest expiry of the token; `None` for never.
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) decision: Decision,
}

#[derive(Debug, Clone)]
pub(crate) struct Consent {
    pub(crate) request: AccessRequestId,
    pub(crate) reason: Option<PrivateText>,
    pub(crate) usage: Usage,
    pub(crate) actor: Actor,
}

impl Account {
    /// Revokes a removed user's requests to the account's agents: the next user of that name is another person. One
    /// that cannot be revoked keeps none of the others.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) async fn end_access_of(&self, gone: &Actor) -> Result<()> {
        let mut ended = Ok(());
        for open in self.memoir.store.open_access().await? {
            if open.scope.account == self.id {
                ended = ended.and(self.end_if_of(open, gone).await);
            }
        }
        ended
    }

    async fn end_if_of(&self, open: OpenAccess, gone: &Actor) -> Result<()> {
        let store = &self.memoir.store;
        let row = store.access_request(open.scope, open.id).await?;
        let request = row.as_ref().map(codec::listed_access_request).transpose()?;
        if request.is_some_and(|request| request.asked_by == *gone) {
            let agent = self.memoir.handle(open.scope);
            let grants = agent.grants();
            grants.revoke_access(open.id, &Actor::system()).await?;
        }
        Ok(())
    }

    /// The agent that a request is made to.
    ///
    /// # Errors
    /// [`Error::NoAccessRequest`], for a request of another account too.
    pub async fn access_agent(&self, request: &str) -> Result<(AgentHandle, AccessRequestId)> {
        let unknown = || Error::NoAccessRequest(request.to_owned());
        let id = request.trim().parse().map_err(|_| unknown())?;
        let scope = self.memoir.store.access_owner(self.id, id).await?;
        let agent = self.memoir.found(scope.ok_or_else(unknown)?).await?;
        Ok((agent.ok_or_else(unknown)?, id))
    }
}

impl Memoir {
    /// Ends the expired requests of all accounts, decided or not; returns their number. An agent whose requests cannot
    /// be ended is skipped and reported in the log of the process.
    ///
    /// # Errors
    /// The store fails.
    pub async fn expire_access(&self) -> Result<usize> {
        let open = self.store.open_access().await?;
        let present: HashSet<AccessRequestId> = open.iter().map(|open| open.id).collect();
        let standing = &self.state::<GrantsInUse>().standing;
        standing.lock().retain(|id| present.contains(id));
        let mut ended = 0;
        for open in open {
            match self.end_if_expired(&open).await {
                Ok(has_ended) => ended += usize::from(has_ended),
                Err(error) => {
                    tracing::error!(agent = %open.scope.agent, request = %open.id, %error, "an access request was not ended");
                }
            }
        }
        Ok(ended)
    }

    async fn end_if_expired(&self, open: &OpenAccess) -> Result<bool> {
        let standing = &self.state::<GrantsInUse>().standing;
        let is_asked = open.state == AccessState::Asked;
        let is_known = standing.lock().contains(&open.id);
        if is_known || is_asked && open.expires_at > self.now() {
            return Ok(false);
        }
        if !is_asked {
            // Without the log, which may have grown for years since a grant that lasts until it is revoked.
            let row = self.store.access_request(open.scope, open.id).await?;
            let request = row.as_ref().map(codec::listed_access_request).transpose()?;
            if request.is_some_and(|request| request.kind.name().is_standing(request.state)) {
                standing.lock().insert(open.id);
                return Ok(false);
            }
        }
        // The end of a grant depends on more than the clock.
        let agent = self.handle(open.scope);
        let request = agent.grants().end_if_over(open.id).await?;
        Ok(!request.state.is_open())
    }
}

impl From<AccessRefusal> for Error {
    fn from(refusal: AccessRefusal) -> Self {
        match refusal {
            AccessRefusal::Change(refusal) => refusal.into(),
            refusal => Self::Access(refusal),
        }
    }
}
