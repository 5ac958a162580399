//! The views of an agent, and their viewers (SPEC 5.1, 5.2, 5.5).
//!
//! Each noun has two types. The first holds numbers, codes, names and times, and no field that could hold the agent's
//! text ([`MemoryFacts`]). An [`AgentHandle`] itself returns this type, so that a caller without a right to text has
//! nothing to strip. The second holds the text ([`MemoryWords`]). Every interface prints both together, as [`Shown`]:
//! the facts, and the text where there is a right to it. It comes only from an [`AgentLens`], that is, with a named viewer; or as the response to a change.
//! That one shows text to the agent and to the owner of the machine and never to an administrator, since responses are
//! stored and forwarded. The agent's private data under no grant, such as its context and its sessions' prompts, comes
//! from the [`OwnAgent`] of its lens.
//!
//! A memory is shown with its [`ArchiveLinks`]: the memories under it, and the one above it.
//!
//! An administrator reads text under an access grant (SPEC 5.2). There is one loop for that, [`AgentLens::look`]: it
//! reads the grant anew, builds the view, commits the record of it, and returns it only then. The log of a grant is
//! read from its beginning: a row of a grant that was restored after its end shows nothing, and this is reported.

mod access_request;
mod agent;
mod links;
mod memory;
mod record;
mod schema;
pub mod schemas;
mod session;
pub(crate) mod views;

use std::sync::Arc;

use memoir_domain::{
    AccessRequestId, PrivateText, Timestamp,
    access::{self, AccessRequest, AccessScope, AccessState, ShownAmount},
    audit::{Actor, ActorKind},
    memory::{Memory, Number, tokens},
    recall::RecallMatch,
};
use memoir_store::{AccessRow, AgentQuery, Snapshot};
use memoir_vault::AgentKey;
use serde::Serialize;

pub use access_request::{AccessRequestFacts, AccessRequestWords, ShownAccessRequest};
pub use agent::{AgentFacts, AgentWords, MemoryCounts, OriginalCounts, ShownAgent};
pub use links::ArchiveLinks;
pub use memory::{MemoryFacts, MemoryWords, ShownMemory};
pub use record::{RecordFacts, RecordWords, ShownRecord};
pub use session::{SessionFacts, SessionWords, ShownSession};

use crate::{
    core::{
        AgentHandle, CONFLICT, Condition, Error, Loaded, Result, again, agent_part, codec,
        load_room::HeldRoom,
    },
    people::access::SignedInUser,
};

/// A noun as every interface prints it: as one object with the fields of both parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, derive_more::Deref)]
pub struct Shown<Facts, Words> {
    /// The part without text of the agent.
    #[deref]
    #[serde(flatten)]
    pub facts: Facts,
    /// The text within the rights of the viewer.
    #[serde(flatten)]
    pub words: Words,
}

impl<Facts, Words: Default> From<Facts> for Shown<Facts, Words> {
    fn from(facts: Facts) -> Self {
        let words = Words::default();
        Self { facts, words }
    }
}

/// The viewer of an agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Viewer {
    /// The agent itself, and in an open installation its owner: everything, with text.
    Agent,
    /// An administrator: text only where an access grant to this very one covers it.
    Administrator(Administrator),
}

/// An administrator as a viewer.
#[derive(Debug, Clone, PartialEq)]
pub struct Administrator {
    actor: Actor,
    /// Earlier requests were made by another user of the same name.
    since: Timestamp,
    /// The only applicable grant; `None` for any.
    only: Option<AccessRequestId>,
}

impl Viewer {
    /// That administrator.
    pub fn administrator(actor: Actor) -> Self {
        Self::Administrator(Administrator {
            actor,
            since: Timestamp::MIN,
            only: None,
        })
    }

    /// With that grant alone, whatever others this administrator has.
    #[must_use]
    pub fn under(mut self, grant: AccessRequestId) -> Self {
        if let Self::Administrator(administrator) = &mut self {
            administrator.only = Some(grant);
        }
        self
    }
}

impl Administrator {
    fn of(visitor: &SignedInUser) -> Self {
        Self {
            actor: visitor.actor(),
            since: visitor.user.created_at,
            only: None,
        }
    }

    /// Whether this administrator made a request at that time.
    pub(crate) fn has_asked(&self, asked_by: &Actor, at: Timestamp) -> bool {
        *asked_by == self.actor && at >= self.since
    }
}

impl SignedInUser {
    /// This administrator, as a viewer of agents.
    pub fn viewer(&self) -> Viewer {
        Viewer::Administrator(Administrator::of(self))
    }

    /// Whether this administrator made the request. A removed user of the same name is another user.
    pub fn has_asked(&self, request: &AccessRequestFacts) -> bool {
        Administrator::of(self).has_asked(&request.asked_by, request.requested_at)
    }
}

/// An agent for a viewer: the only way to views with text. It is made by [`Views::seen_by`] alone, and its viewer does
/// not change (SPEC 5.1):
///
/// ```compile_fail,E0451
/// use memoir_app::{AgentHandle, AgentLens, Viewer};
///
/// fn made(agent: &AgentHandle) -> AgentLens<'_> {
///     AgentLens { agent, viewer: Viewer::Agent }
/// }
/// ```
///
/// ```compile_fail,E0616
/// fn turned(lens: &mut memoir_app::AgentLens<'_>) {
///     lens.viewer = memoir_app::Viewer::Agent;
/// }
/// ```
#[derive(Clone)]
pub struct AgentLens<'a> {
    pub(crate) agent: &'a AgentHandle,
    pub(crate) viewer: Viewer,
}

/// An agent for itself, or for the owner of its open installation: the only way to data that no grant covers, and to
/// the session tools. [`AgentLens::as_agent`] alone gives it (SPEC 5.1):
///
/// ```compile_fail,E0423
/// fn made(agent: memoir_app::AgentHandle) -> memoir_app::OwnAgent {
///     memoir_app::OwnAgent(agent)
/// }
/// ```
#[derive(Clone, derive_more::Deref)]
pub struct OwnAgent(AgentHandle);

impl OwnAgent {
    /// The agent for itself as the viewer.
    pub fn lens(&self) -> AgentLens<'_> {
        self.views().seen_by(Viewer::Agent)
    }

    /// The same agent for a program that starts: its reads do not count the rows of all its memories, which takes time
    /// for each. The core memories of a context are counted and compared all the same (SPEC 3.12). That another row was
    /// removed is noticed by the next read that counts.
    #[must_use]
    pub fn uncounted(self) -> Self {
        Self(self.0.uncounted())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessLevel {
    Words,
    /// The text that a grant of that scope covers.
    Under(AccessScope),
    NoWords,
}

impl AccessLevel {
    /// Those of the actor of a change, in the response to it.
    pub(crate) fn of_answer(actor: &Actor) -> Self {
        match actor.kind {
            ActorKind::Agent | ActorKind::Owner => Self::Words,
            ActorKind::Administrator | ActorKind::System => Self::NoWords,
        }
    }

    fn covers(self, covers: impl FnOnce(AccessScope) -> bool) -> bool {
        match self {
            Self::Words => true,
            Self::Under(scope) => covers(scope),
            Self::NoWords => false,
        }
    }
}

/// One read, with the viewer's current rights.
struct ViewersLook<'a> {
    agent: &'a AgentHandle,
    access_level: AccessLevel,
    /// The data requested when the read began, as found with the grants.
    found: Option<StoredAgent>,
}

/// The result of one read of the store.
enum StoredAgent {
    /// Without a grant it may not be needed, and need not be consistent.
    Sealed(Box<Snapshot>, Option<HeldRoom>),
    Opened(Box<Loaded>),
}

impl ViewersLook<'_> {
    /// The data requested when the read began.
    async fn load(&mut self, query: &AgentQuery) -> Result<Loaded> {
        match self.found.take() {
            Some(StoredAgent::Opened(loaded)) => Ok(*loaded),
            Some(StoredAgent::Sealed(snapshot, room)) => self.agent.read(*snapshot, room).await,
            None => self.agent.load(query).await,
        }
    }

    async fn key(&self) -> Result<AgentKey> {
        match &self.found {
            Some(StoredAgent::Opened(loaded)) => Ok(loaded.base.key().clone()),
            Some(StoredAgent::Sealed(snapshot, _)) => self.agent.key_of(&snapshot.agent).await,
            None => {
                let snapshot = self.agent.snapshot(&AgentQuery::default()).await?;
                self.agent.key_of(&snapshot.agent).await
            }
        }
    }
}

/// A view that may hold text of the agent.
trait ShowsWords {
    /// How much of the agent's text it shows; zero where it shows none.
    fn words_shown(&self) -> ShownAmount;

    /// Whether it reveals something by showing nothing, too.
    fn tells_by_nothing(&self) -> bool {
        false
    }
}

impl<T: ShowsWords> ShowsWords for Vec<T> {
    fn words_shown(&self) -> ShownAmount {
        total(self.iter().map(T::words_shown))
    }
}

/// A page, and whether others follow it.
impl<T: ShowsWords> ShowsWords for (T, bool) {
    fn words_shown(&self) -> ShownAmount {
        self.0.words_shown()
    }
}

impl ShowsWords for Vec<(RecallMatch, ShownMemory)> {
    fn words_shown(&self) -> ShownAmount {
        total(self.iter().map(|(_, memory)| memory.words_shown()))
    }

    fn tells_by_nothing(&self) -> bool {
        true
    }
}

fn total(shown: impl Iterator<Item = ShownAmount>) -> ShownAmount {
    shown.fold(ShownAmount::default(), ShownAmount::and)
}

/// Text that is no memory.
fn words<'t>(words: impl IntoIterator<Item = &'t PrivateText>) -> ShownAmount {
    ShownAmount {
        memories: 0,
        tokens: words.into_iter().map(|text| tokens(text.expose())).sum(),
    }
}

/// An unexpired grant, and the agent at that moment.
struct EffectiveGrant {
    loaded: Loaded,
    request: AccessRequest,
    scope: AccessScope,
    now: Timestamp,
}

impl<'a> Views<'a> {
    /// The same agent for a caller that changes it only in the expected state: otherwise everything done with this
    /// handle is [`Error::Changed`]. The condition reads the agent as an administrator without a grant does.
    #[must_use]
    pub fn where_agent(
        self,
        is_expected: impl Fn(&AgentFacts) -> bool + Send + Sync + 'static,
    ) -> AgentHandle {
        self.under(Some(Condition::Agent(Arc::new(move |memoir, agent| {
            // No condition is on an agent's sessions.
            is_expected(&memoir.agent_facts(agent, None))
        }))))
    }

    /// As [`Views::where_agent`], for one memory: reading it is [`Error::Changed`] where it is not as expected.
    #[must_use]
    pub fn where_memory(
        self,
        number: Number,
        is_expected: impl Fn(&MemoryFacts) -> bool + Send + Sync + 'static,
    ) -> AgentHandle {
        let condition = move |memory: &Memory, links| {
            is_expected(&MemoryFacts::new(memory, &ArchiveLinks::of_rows(links)))
        };
        self.under(Some(Condition::Memory(number, Arc::new(condition))))
    }

    /// The agent for that viewer.
    pub fn seen_by(self, viewer: Viewer) -> AgentLens<'a> {
        AgentLens {
            agent: self.0,
            viewer,
        }
    }
}

impl<'a> AgentLens<'a> {
    /// The agent that is viewed.
    pub fn handle(&self) -> &'a AgentHandle {
        self.agent
    }

    /// The agent for itself.
    ///
    /// # Errors
    /// [`Error::AgentOnly`] for an administrator, whatever the agent has granted.
    pub fn as_agent(&self) -> Result<OwnAgent> {
        match self.viewer {
            Viewer::Agent => Ok(OwnAgent(self.agent.clone())),
            Viewer::Administrator(_) => Err(Error::AgentOnly),
        }
    }

    /// The only loop by which text is shown under a grant. `see` builds the view within the viewer's rights; its text
    /// is recorded before it is returned. If the agent changed meanwhile everything is repeated, with the grant.
    ///
    /// `covers` returns whether the scope of a grant shows something of it; without such a grant there is no text, and
    /// nothing is recorded.
    async fn look<T: ShowsWords, F: Future<Output = Result<T>>>(
        &self,
        query: &AgentQuery,
        covers: impl Fn(AccessScope) -> bool,
        see: impl Fn(ViewersLook<'a>) -> F,
    ) -> Result<T> {
        let look = |access_level, found| ViewersLook {
            agent: self.agent,
            access_level,
            found,
        };
        let Viewer::Administrator(who) = &self.viewer else {
            return see(look(AccessLevel::Words, None)).await;
        };
        again(|| async {
            let views = self.agent.views();
            let entered = match Box::pin(views.enter(who, query, &covers)).await? {
                Ok(entered) => entered,
                Err(found) => return see(look(AccessLevel::NoWords, found)).await,
            };
            let EffectiveGrant {
                loaded,
                request,
                scope,
                now,
            } = entered;
            let (base, agent) = (loaded.base.clone(), loaded.agent.clone());
            let seen = see(look(
                AccessLevel::Under(scope),
                Some(StoredAgent::Opened(Box::new(loaded))),
            ))
            .await?;
            let shown = seen.words_shown();
            // Written on the version at which the grant was read: if it was revoked meanwhile this is a conflict, and
            // nothing of the view is returned.
            if shown != ShownAmount::default() || seen.tells_by_nothing() {
                let decision = access::read(agent, &request, shown, &who.actor, now)?;
                self.agent.commit(&base, decision).await?;
            }
            Ok(seen)
        })
        .await
    }
}

impl Views<'_> {
    /// Enters under a grant that covers the read, found together with its data: a revocation is effective immediately.
    /// Otherwise returns the data, where the agent exists. [`CONFLICT`] means that the grant is to be sought again.
    async fn enter(
        self,
        who: &Administrator,
        query: &AgentQuery,
        covers: impl Fn(AccessScope) -> bool,
    ) -> Result<Result<EffectiveGrant, Option<StoredAgent>>> {
        let query = AgentQuery {
            open_requests: true,
            ..query.clone()
        };
        let room = self.room_for(&query).await?;
        let Some(snapshot) = self.memoir.store.snapshot(self.scope, &query).await? else {
            return Ok(Err(None));
        };
        if let Some(counts) = snapshot.row_counts {
            self.memoir.room.note(self.scope, counts);
        }
        let Some((scope, row)) = granted(&snapshot.open_requests, who, covers)? else {
            return Ok(Err(Some(StoredAgent::Sealed(Box::new(snapshot), room))));
        };
        let row = row.clone();
        let loaded = self.read(snapshot, room).await?;
        let request = codec::access_request(loaded.base.key(), &row)?;
        // This ends an expired one; the next round may find another one that covers it.
        let live = self.grants().live(&loaded, &request).await?;
        let now = live.ok_or(CONFLICT)?;
        Ok(Ok(EffectiveGrant {
            loaded,
            request,
            scope,
            now,
        }))
    }
}

/// The widest usable grant to that administrator, by its row.
fn granted<'row>(
    rows: &'row [AccessRow],
    who: &Administrator,
    covers: impl Fn(AccessScope) -> bool,
) -> Result<Option<(AccessScope, &'row AccessRow)>> {
    let mut granted = Vec::new();
    for row in rows {
        let request = codec::listed_access_request(row)?;
        let is_usable = request.state == AccessState::Granted
            && who.has_asked(&request.asked_by, request.requested_at)
            && who.only.is_none_or(|only| request.id == only);
        let scope = request.kind.scope().filter(|scope| covers(*scope));
        granted.extend(scope.filter(|_| is_usable).map(|scope| (scope, row)));
    }
    // The widest, so that less is left out; it is the one that is recorded.
    let granted = granted.into_iter();
    Ok(granted.min_by_key(|(scope, _)| *scope != AccessScope::All))
}

agent_part! {
    /// What one agent is shown as, to each viewer.
    Views, views
}
