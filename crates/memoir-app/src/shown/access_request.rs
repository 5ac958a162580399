//! Requests for access as they are shown, one and by pages (SPEC 5.2).

use std::ops::Deref;

use memoir_domain::{
    AccessRequestId, PrivateText, SessionId, Timestamp,
    access::{
        AccessKind, AccessKindName, AccessRequest, AccessScope, AccessScopeName, AccessState,
    },
    audit::Actor,
    memory::Number,
};
use memoir_store::AgentQuery;
use serde::Serialize;
use utoipa::ToSchema;

use super::{AgentLens, Viewer, schema, schemas};
use crate::{Result, codec};

/// A request for access without words of the agent's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccessRequestFacts {
    /// Its identifier.
    #[schema(value_type = String, format = Uuid)]
    pub id: AccessRequestId,
    /// The agent's name.
    pub agent: String,
    /// `read`: to look for a while; `token`: to make one more token of the agent; `connection`: to connect a program,
    /// which the purpose names; `shred`: to have a memory shredded; `embeddings`: to send its words to a server of
    /// embeddings, until that is taken back.
    #[schema(value_type = schemas::AccessKind)]
    pub kind: AccessKindName,
    /// What may be seen; null where it is not to look.
    #[schema(required, value_type = Option<schemas::AccessScope>)]
    pub scope: Option<AccessScopeName>,
    /// The session, where its changes are what may be seen.
    #[schema(required, value_type = Option<String>, format = Uuid)]
    pub session_id: Option<SessionId>,
    /// For how many minutes from the answer on; null where it is not to look.
    #[schema(required)]
    pub minutes: Option<u32>,
    /// The memory to be shredded.
    #[schema(required, value_type = Option<u64>)]
    pub memory: Option<Number>,
    /// When a token that is asked for ends.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    pub token_expires_at: Option<Timestamp>,
    /// Why, in the words of whoever asks.
    #[schema(value_type = String)]
    pub purpose: PrivateText,
    /// Who asks, and alone can use what is granted.
    #[schema(value_type = schemas::Actor)]
    pub asked_by: Actor,
    /// Where it stands.
    #[schema(value_type = schemas::AccessState)]
    pub state: AccessState,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub requested_at: Timestamp,
    /// Until when it waits for its answer; once granted, until when it can be used.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// When it was answered; null where it was not.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    pub answered_at: Option<Timestamp>,
    /// When it was over, however that came.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// How often words were read under it.
    pub reads: u64,
    /// How many memories these reads showed in all, each read counted by itself.
    pub memories_read: u64,
    /// How many tokens they showed.
    pub tokens_read: u64,
}

/// What the agent said to a request for access, and what only the agent is told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccessRequestWords {
    /// What the agent said to it: for the agent, and for whoever asked.
    #[schema(required, value_type = Option<String>)]
    pub reason: Option<PrivateText>,
    /// Kept memories that still say a sentence of what was shredded: only in the answer to the agent's yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<u64>>)]
    pub still_said_by: Option<Vec<Number>>,
}

/// A request for access, with what the agent said to it for whoever may read that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownAccessRequest {
    /// What is no word of the agent's.
    #[serde(flatten)]
    pub facts: AccessRequestFacts,
    /// Empty for whoever may not read them.
    #[serde(flatten)]
    pub words: AccessRequestWords,
}

schema::one_object!(
    ShownAccessRequest,
    "AccessRequest",
    [AccessRequestFacts, AccessRequestWords],
    "A request to an agent to let somebody in, and what became of it. `reason` is for the agent itself, and for\n\
     whoever asked."
);

impl AccessRequestFacts {
    pub(crate) fn new(agent: &str, request: AccessRequest) -> Self {
        let scope = request.kind.scope();
        let (mut minutes, mut memory, mut token_expires_at) = (None, None, None);
        match request.kind {
            AccessKind::Read { minutes: asked, .. } => minutes = Some(asked),
            AccessKind::Token { expires_at } => token_expires_at = expires_at,
            AccessKind::Shred { number } => memory = Some(number),
            AccessKind::Connection { .. } | AccessKind::Embeddings { .. } => {}
        }
        Self {
            id: request.id,
            agent: agent.to_owned(),
            kind: request.kind.name(),
            scope: scope.map(AccessScope::name),
            session_id: scope.and_then(AccessScope::session),
            minutes,
            memory,
            token_expires_at,
            purpose: request.purpose,
            asked_by: request.asked_by,
            state: request.state,
            requested_at: request.requested_at,
            expires_at: request.expires_at,
            answered_at: request.answered_at,
            ended_at: request.ended_at,
            reads: request.reads,
            memories_read: request.memories_read,
            tokens_read: request.tokens_read,
        }
    }

    /// Whether it is granted until somebody takes it back: its `expires_at` lies a hundred years ahead.
    pub fn is_standing(&self) -> bool {
        self.kind.is_standing(self.state)
    }
}

impl From<AccessRequestFacts> for ShownAccessRequest {
    fn from(facts: AccessRequestFacts) -> Self {
        Self {
            facts,
            words: AccessRequestWords::default(),
        }
    }
}

impl ShownAccessRequest {
    pub(crate) fn with_words(agent: &str, mut request: AccessRequest) -> Self {
        let words = AccessRequestWords {
            reason: request.reason.take(),
            still_said_by: None,
        };
        let facts = AccessRequestFacts::new(agent, request);
        Self { facts, words }
    }
}

impl Deref for ShownAccessRequest {
    type Target = AccessRequestFacts;

    fn deref(&self) -> &AccessRequestFacts {
        &self.facts
    }
}

impl AgentLens<'_> {
    /// The agent's requests made before that one, newest first; those whose time is over are ended first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn access_requests(
        &self,
        before: Option<(Timestamp, AccessRequestId)>,
        limit: u32,
    ) -> Result<Vec<ShownAccessRequest>> {
        let agent = self.agent;
        agent.end_overdue().await?;
        let loaded = agent.load(&AgentQuery::default()).await?;
        let store = &agent.memoir.store;
        let rows = store.access_page(agent.scope, before, limit).await?;
        let seen = |row| Ok(self.seen_request(codec::access_request(loaded.base.key(), row)?));
        rows.iter().map(seen).collect()
    }

    /// One request; ended first where its time is over.
    ///
    /// # Errors
    /// The agent has none of that identifier; the store fails.
    pub async fn access_request(&self, id: AccessRequestId) -> Result<ShownAccessRequest> {
        Ok(self.seen_request(self.agent.end_if_over(id).await?))
    }

    /// Not by a grant: who may read what was said to a request does not depend on whether it was granted.
    fn seen_request(&self, request: AccessRequest) -> ShownAccessRequest {
        let name = &self.agent.name;
        match &self.viewer {
            Viewer::Administrator(who)
                if !who.has_asked(&request.asked_by, request.requested_at) =>
            {
                AccessRequestFacts::new(name, request).into()
            }
            _ => ShownAccessRequest::with_words(name, request),
        }
    }
}
