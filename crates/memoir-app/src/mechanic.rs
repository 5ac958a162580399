//! An administrator's eyes, with the words that the agent lets them see (SPEC 5.2). Every look that shows
//! words is on the agent's record before they are handed out.
//!
//! Each look of a [`Mechanic`] reads the grant anew, commits the record of what is about to be shown, and
//! only then hands out words; without a grant it answers as for any administrator. It is a type of its own
//! and no third kind of [`Eyes`], so that nothing can be read through it without being recorded first.
//!
//! What the log says of a grant is read since its beginning: a row of a grant that was put back after its end
//! shows nothing, and says so.

use std::collections::BTreeSet;

use memoir_domain::{
    AccessRequestId, PrivateText, SessionId, Timestamp,
    access::{self, AccessKind, AccessRequest, AccessScope, AccessState, Shown},
    audit::{Actor, Body},
    memory::{Memory, Number, tokens},
    recall::{self, Query, RecallRank},
    session::Session,
};
use memoir_store::{AgentQuery, MemoryPage, RecordFilter, Selection};
use serde::Serialize;

use crate::{
    AccessRequestView, AgentHandle, AgentView, BlindMemoryView, Error, Eyes, Loaded, MemoryView,
    RecordQuery, RecordView, Result, SessionView, SignedIn, audit,
    codec::{self, Beside},
    memories::{check_length, wanted},
    sessions::SessionDetail,
};

/// A memory as an administrator sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SeenMemory {
    /// With its words: the agent lets them be seen.
    Words(MemoryView),
    /// Without.
    Blind(BlindMemoryView),
}

impl SeenMemory {
    fn of(memory: Memory, scope: AccessScope) -> Self {
        if scope.shows_memory(&memory) {
            Self::Words(memory.into())
        } else {
            Self::Blind((&memory).into())
        }
    }

    fn shown(&self) -> Shown {
        match self {
            Self::Words(memory) => shown_memory(memory),
            Self::Blind(_) => Shown::default(),
        }
    }
}

/// An administrator who looks at an agent: words come where a grant of the agent to this administrator
/// covers them, and is judged anew at each look; everything else comes without words.
#[derive(Clone)]
pub struct Mechanic {
    pub(crate) agent: AgentHandle,
    actor: Actor,
    /// The only grant that counts; `None` for any.
    only: Option<AccessRequestId>,
    /// What was asked before then was asked by somebody else of the same name.
    since: Timestamp,
}

/// A grant that is not over, and the agent as it was at that moment.
pub(crate) struct Entered {
    pub(crate) loaded: Loaded,
    request: AccessRequest,
    scope: AccessScope,
    now: Timestamp,
}

impl AgentHandle {
    /// The agent as that administrator may see it.
    pub fn mechanic(&self, actor: &Actor) -> Mechanic {
        Mechanic {
            agent: self.clone(),
            actor: actor.clone(),
            only: None,
            since: Timestamp::MIN,
        }
    }
}

impl SignedIn {
    /// The agent as this administrator may see it.
    pub fn mechanic(&self, agent: &AgentHandle) -> Mechanic {
        Mechanic {
            since: self.user.created_at,
            ..agent.mechanic(&self.actor())
        }
    }

    /// Whether this administrator asked. Somebody who had the name before, and was removed, is somebody else.
    pub fn has_asked(&self, request: &AccessRequestView) -> bool {
        request.asked_by == self.actor() && request.requested_at >= self.user.created_at
    }

    /// The request as this administrator may see it.
    #[must_use]
    pub fn sees(&self, request: AccessRequestView) -> AccessRequestView {
        if self.has_asked(&request) {
            return request;
        }
        AccessRequestView {
            reason: None,
            ..request
        }
    }
}

impl Mechanic {
    /// By that grant alone, whatever else the agent lets this administrator see.
    #[must_use]
    pub fn under(self, grant: AccessRequestId) -> Self {
        Self {
            only: Some(grant),
            ..self
        }
    }

    /// The grants under which words can be seen now, those of the widest scope last; those whose time is
    /// over are ended.
    ///
    /// # Errors
    /// The store fails.
    pub async fn grants(&self) -> Result<Vec<AccessRequestView>> {
        let agent = &self.agent;
        let mut views = Vec::new();
        for row in self.granted(|_| true).await? {
            let view = agent
                .access_request(row.id, Eyes::Administrator, &self.actor)
                .await?;
            views.extend((view.state == AccessState::Granted).then_some(view));
        }
        Ok(views)
    }

    /// One memory, discarded or not.
    ///
    /// # Errors
    /// There is none of that number; the store fails.
    pub async fn memory(&self, number: Number) -> Result<SeenMemory> {
        let wanted = wanted(Selection::Numbers(vec![number]));
        for _ in 0..crate::ATTEMPTS {
            let Some(entered) = self.enter(&wanted, shows_memories).await? else {
                let memory = self.agent.blind_memory(number).await?;
                return Ok(SeenMemory::Blind(memory));
            };
            let memory = entered.loaded.memories.first().cloned();
            let seen = SeenMemory::of(memory.ok_or(Error::NoMemory(number))?, entered.scope());
            if self.note(entered, seen.shown()).await? {
                return Ok(seen);
            }
        }
        Err(Error::Contended)
    }

    /// One page of memories, by number.
    ///
    /// # Errors
    /// The store fails.
    pub async fn memory_page(&self, page: &MemoryPage) -> Result<Vec<SeenMemory>> {
        for _ in 0..crate::ATTEMPTS {
            let Some(entered) = self.enter(&AgentQuery::default(), shows_memories).await? else {
                let page = self.agent.blind_memory_page(page).await?;
                return Ok(page.into_iter().map(SeenMemory::Blind).collect());
            };
            let store = &self.agent.memoir.store;
            let rows = store.memory_page(self.agent.scope, page).await?;
            let (key, scope) = (entered.loaded.base.key().clone(), entered.scope());
            let seen: Vec<SeenMemory> = rows
                .into_iter()
                .map(|row| Ok(SeenMemory::of(codec::memory(&key, row)?, scope)))
                .collect::<Result<_>>()?;
            if self
                .note(entered, total(seen.iter().map(SeenMemory::shown)))
                .await?
            {
                return Ok(seen);
            }
        }
        Err(Error::Contended)
    }

    /// As [`AgentHandle::recall_page`], in the memories that the agent lets be seen.
    ///
    /// # Errors
    /// [`Error::NoAccess`] where it lets none; the query is too long; the store fails.
    pub async fn recall_page(
        &self,
        query: &Query,
        after: Option<RecallRank>,
        with_discarded: bool,
    ) -> Result<Vec<(RecallRank, MemoryView)>> {
        check_length(query)?;
        let wanted = wanted(if with_discarded {
            Selection::All
        } else {
            Selection::Kept
        });
        for _ in 0..crate::ATTEMPTS {
            let entered = self.enter(&wanted, shows_memories).await?;
            let mut entered = entered.ok_or_else(|| Error::NoAccess(self.agent.name.clone()))?;
            let scope = entered.scope();
            let mut memories = std::mem::take(&mut entered.loaded.memories);
            memories.retain(|memory| scope.shows_memory(memory));
            let found: Vec<(RecallRank, MemoryView)> =
                recall::recall_page(&memories, query, after, with_discarded)
                    .into_iter()
                    .map(|(place, memory)| (place, memory.clone().into()))
                    .collect();
            let shown = total(found.iter().map(|(_, memory)| shown_memory(memory)));
            // What is not found tells something, too.
            if self.write(entered, shown).await? {
                return Ok(found);
            }
        }
        Err(Error::Contended)
    }

    /// One page of the log, oldest first: from the record at `from_seq` on.
    ///
    /// # Errors
    /// The store fails.
    pub async fn record_page(
        &self,
        query: &RecordQuery,
        from_seq: u64,
        limit: u32,
    ) -> Result<Vec<RecordView>> {
        let filter = RecordFilter {
            from_seq,
            session: query.session,
            actions: query.actions.clone(),
            memory: query.memory,
            actor: query.actor,
            actor_name: query.actor_name.clone(),
            until: query.until,
            since: query.since,
            first: Some(limit),
            ..RecordFilter::default()
        };
        self.records(&filter).await
    }

    /// The records of that filter, oldest first.
    async fn records(&self, filter: &RecordFilter) -> Result<Vec<RecordView>> {
        let covers = |scope: AccessScope| match filter.session {
            Some(_) => scope.shows_session(filter.session),
            None => scope == AccessScope::All || scope.session().is_some(),
        };
        for _ in 0..crate::ATTEMPTS {
            let Some(entered) = self.enter(&AgentQuery::default(), covers).await? else {
                let eyes = Eyes::Administrator;
                return self.agent.record_views(filter, eyes).await;
            };
            let store = &self.agent.memoir.store;
            let rows = store.records(self.agent.scope, filter).await?;
            let (key, scope) = (entered.loaded.base.key().clone(), entered.scope());
            let mut views = Vec::with_capacity(rows.len());
            let mut shown = Shown::default();
            for row in rows {
                let is_shown = scope.shows_session(row.session);
                let hashes = audit::hashes(self.agent.scope, &row);
                let mut record = codec::record(is_shown.then_some(&key), row)?;
                if !scope.shows_prompts() {
                    record.body.settings.clear();
                }
                shown = shown.and(shown_body(&record.body));
                views.push(audit::view(&self.agent.name, record, hashes.0, hashes.1));
            }
            if self.note(entered, shown).await? {
                return Ok(views);
            }
        }
        Err(Error::Contended)
    }

    /// One session, with what it came to where it was a rehearsal and the agent lets that be seen.
    ///
    /// # Errors
    /// The agent has none of that identifier; the store fails.
    pub async fn session(&self, id: SessionId) -> Result<SessionDetail> {
        let wanted = AgentQuery {
            session: Some(id),
            ..AgentQuery::default()
        };
        for _ in 0..crate::ATTEMPTS {
            let entered = self
                .enter(&wanted, |scope| scope.shows_session(Some(id)))
                .await?;
            let Some(mut entered) = entered else {
                let session = self.agent.blind_session(id).await?;
                return Ok(SessionDetail {
                    session: session.seen_by(Eyes::Administrator),
                    changes: None,
                });
            };
            let found = entered.loaded.session.take();
            let (session, rehearsal) = found.ok_or_else(|| Error::NoSession(id.to_string()))?;
            let changes = rehearsal.map(|rehearsal| rehearsal.memories());
            let shown = shown_session(&session).and(shown_changes(changes.as_deref())?);
            let detail = SessionDetail {
                session: SessionView::new(&self.agent.name, session),
                changes,
            };
            if self.note(entered, shown).await? {
                return Ok(detail);
            }
        }
        Err(Error::Contended)
    }

    /// One page of sessions, newest first: those begun before that one.
    ///
    /// # Errors
    /// The store fails.
    pub async fn session_page(
        &self,
        before: Option<(Timestamp, SessionId)>,
        limit: u32,
    ) -> Result<Vec<SessionView>> {
        for _ in 0..crate::ATTEMPTS {
            let shows_some = |scope: AccessScope| scope != AccessScope::Core;
            let Some(entered) = self.enter(&AgentQuery::default(), shows_some).await? else {
                let eyes = Eyes::Administrator;
                let page = self.agent.session_page(before, limit, eyes).await?;
                return Ok(page.into_iter().map(|view| view.seen_by(eyes)).collect());
            };
            let store = &self.agent.memoir.store;
            let rows = store.session_page(self.agent.scope, before, limit).await?;
            let (key, scope) = (entered.loaded.base.key().clone(), entered.scope());
            let mut views = Vec::with_capacity(rows.len());
            let mut shown = Shown::default();
            for row in rows {
                let is_shown = scope.shows_session(Some(row.id));
                let (session, _) = codec::session(is_shown.then_some(&key), row)?;
                shown = shown.and(shown_session(&session));
                let view = SessionView::new(&self.agent.name, session);
                views.push(if is_shown {
                    view
                } else {
                    view.seen_by(Eyes::Administrator)
                });
            }
            if self.note(entered, shown).await? {
                return Ok(views);
            }
        }
        Err(Error::Contended)
    }

    /// The agent, with the prompts that it has set itself where it lets all be seen.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn show(&self) -> Result<AgentView> {
        for _ in 0..crate::ATTEMPTS {
            let entered = self
                .enter(&AgentQuery::default(), AccessScope::shows_prompts)
                .await?;
            let Some(entered) = entered else {
                return self.agent.show_to_administrator().await;
            };
            let settings = &entered.loaded.agent.settings;
            let authored = [
                &settings.system_prompt,
                &settings.reflection_prompt,
                &settings.memory_reflection_prompt,
                &settings.refinement_prompt,
            ];
            let shown = total(authored.into_iter().flatten().map(shown_words));
            let view = self.agent.memoir.agent_view(&entered.loaded.agent);
            if self.note(entered, shown).await? {
                return Ok(view);
            }
        }
        Err(Error::Contended)
    }

    /// The grants to this administrator whose rows say that they can be used, the widest first.
    async fn granted(&self, covers: impl Fn(AccessScope) -> bool) -> Result<Vec<AccessRequest>> {
        let store = &self.agent.memoir.store;
        let rows = store.open_requests(self.agent.scope).await?;
        let requests = rows.iter().map(codec::listed_access_request);
        let mut granted = requests.collect::<Result<Vec<_>>>()?;
        granted.retain(|request| {
            request.state == AccessState::Granted
                && request.asked_by == self.actor
                && self.only.is_none_or(|only| request.id == only)
                && request.requested_at >= self.since
                && request.kind.scope().is_some_and(&covers)
        });
        granted.sort_by_key(|request| request.kind.scope() != Some(AccessScope::All));
        Ok(granted)
    }

    /// Under a grant that covers what is to be looked at; `None` where there is none, or none any more.
    pub(crate) async fn enter(
        &self,
        wanted: &AgentQuery,
        covers: impl Fn(AccessScope) -> bool,
    ) -> Result<Option<Entered>> {
        for _ in 0..crate::ATTEMPTS {
            // Read anew each time: whoever revokes it counts at once.
            let Some(row) = self.granted(&covers).await?.into_iter().next() else {
                return Ok(None);
            };
            let (loaded, request, now) = match self.agent.load_access(row.id, wanted).await {
                Err(Error::Store(memoir_store::Error::Conflict)) => continue,
                found => found?,
            };
            let usable = request.state == AccessState::Granted && request.asked_by == self.actor;
            if usable && let AccessKind::Read { scope, .. } = request.kind {
                return Ok(Some(Entered {
                    loaded,
                    request,
                    scope,
                    now,
                }));
            }
        }
        Err(Error::Contended)
    }

    /// Puts on the record what is about to be shown; nothing where no word is. `false` where the agent
    /// changed since: then it must not be shown, and is to be looked at anew.
    pub(crate) async fn note(&self, entered: Entered, shown: Shown) -> Result<bool> {
        if shown == Shown::default() {
            return Ok(true);
        }
        self.write(entered, shown).await
    }

    async fn write(&self, entered: Entered, shown: Shown) -> Result<bool> {
        let Entered {
            loaded,
            request,
            now,
            ..
        } = entered;
        let decision = access::read(loaded.agent, &request, shown, &self.actor, now)?;
        match self
            .agent
            .commit(&loaded.base, decision, Beside::default())
            .await
        {
            Err(Error::Store(memoir_store::Error::Conflict)) => Ok(false),
            written => written.map(|_| true),
        }
    }
}

impl Entered {
    fn scope(&self) -> AccessScope {
        self.scope
    }
}

fn shows_memories(scope: AccessScope) -> bool {
    matches!(scope, AccessScope::Core | AccessScope::All)
}

fn total(shown: impl Iterator<Item = Shown>) -> Shown {
    shown.fold(Shown::default(), Shown::and)
}

/// Words that are no memory.
fn shown_words(words: &PrivateText) -> Shown {
    Shown {
        memories: 0,
        tokens: tokens(words.expose()),
    }
}

fn shown_memory(memory: &MemoryView) -> Shown {
    Shown {
        memories: 1,
        tokens: memory.tokens,
    }
}

fn shown_session(session: &Session) -> Shown {
    let words = [&session.summary, &session.reason];
    total(words.into_iter().flatten().map(shown_words))
}

/// The words that are shown of a rehearsal.
fn shown_changes(changes: Option<&[crate::sessions::RehearsedMemory]>) -> Result<Shown> {
    let Some(changes) = changes.filter(|changes| !changes.is_empty()) else {
        return Ok(Shown::default());
    };
    let json = serde_json::to_string(changes)
        .map_err(|_| Error::Inconsistent("a rehearsal cannot be written as JSON".to_owned()))?;
    Ok(Shown {
        memories: changes.len() as u64,
        tokens: tokens(&json),
    })
}

fn shown_body(body: &Body) -> Shown {
    let memories: BTreeSet<Number> = body.changes.iter().map(|change| change.number()).collect();
    let sides = body.changes.iter().map(|change| {
        let before = change.before().map_or(0, Memory::tokens);
        before + change.after().tokens()
    });
    let settings = body.settings.iter().flat_map(|change| {
        let sides = [&change.before, &change.after];
        sides.map(|value| value.expose().as_str().map_or(0, tokens))
    });
    let words = body
        .summary
        .iter()
        .chain(&body.reason)
        .chain(body.lost.iter().map(|lost| &lost.sentence));
    let words = words.map(|words| tokens(words.expose()));
    Shown {
        memories: memories.len() as u64,
        tokens: sides.chain(settings).chain(words).sum(),
    }
}
