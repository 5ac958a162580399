//! Access requests as they are shown, one and by pages (SPEC 5.2).

use memoir_domain::{
    AccessRequestId, PrivateText, SessionId, Timestamp,
    access::{
        AccessKind, AccessKindName, AccessRequest, AccessScope, AccessScopeName, AccessState,
    },
    audit::Actor,
    memory::Number,
    view,
};
use memoir_store::AgentQuery;
use serde::Serialize;
use utoipa::ToSchema;

use super::{AgentLens, Shown, Viewer, schema, schemas};
use crate::{
    core::{Result, codec},
    memory::shred::StoredTranscript,
};

view! {
    /// An access request without text of the agent.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct AccessRequestFacts from agent: &str, request: AccessRequest;
    /// Its identifier.
    #[schema(value_type = String, format = Uuid)]
    pub id: AccessRequestId = request.id,
    /// The agent's name.
    pub agent: String = agent.to_owned(),
    /// `read`: to read for a limited time; `token`: to create one more token of the agent; `connection`: to connect a
    /// program, which the purpose names; `shred`: to have a memory shredded; `embeddings`: to send its text to a server
    /// of embeddings, until that is revoked.
    #[schema(value_type = schemas::AccessKind)]
    pub kind: AccessKindName = request.kind.name(),
    /// The readable scope; null for a request that is not to read.
    #[schema(required, value_type = Option<schemas::AccessScope>)]
    pub scope: Option<AccessScopeName> = request.kind.scope().map(AccessScope::name),
    /// The session whose changes are to be read.
    #[schema(required, value_type = Option<String>, format = Uuid)]
    pub session_id: Option<SessionId> = request.kind.scope().and_then(AccessScope::session),
    /// The minutes from the response on; null for a request that is not to read.
    #[schema(required)]
    pub minutes: Option<u32> = match request.kind {
        AccessKind::Read { minutes, .. } => Some(minutes),
        _ => None,
    },
    /// The memory to be shredded.
    #[schema(required, value_type = Option<u64>)]
    pub memory: Option<Number> = match request.kind {
        AccessKind::Shred { number, .. } => Some(number),
        _ => None,
    },
    /// Whether the summaries and reports that depend on the memory are to be shredded with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool = matches!(request.kind, AccessKind::Shred { derived: true, .. }),
    /// The expiry of the requested token.
    #[schema(required)]
    pub token_expires_at: Option<Timestamp> = match request.kind {
        AccessKind::Token { expires_at } => expires_at,
        _ => None,
    },
    /// The purpose, in the words of the administrator who requests it.
    #[schema(value_type = String)]
    pub purpose: PrivateText = request.purpose,
    /// The administrator who requests it, and alone can use what is granted.
    #[schema(value_type = schemas::Actor)]
    pub asked_by: Actor = request.asked_by,
    /// Its state.
    #[schema(value_type = schemas::AccessState)]
    pub state: AccessState = request.state,
    /// When it was made.
    pub requested_at: Timestamp = request.requested_at,
    /// How long it waits for its response; once granted, how long it can be used.
    pub expires_at: Timestamp = request.expires_at,
    /// When it was answered; null where it was not.
    #[schema(required)]
    pub answered_at: Option<Timestamp> = request.answered_at,
    /// When it ended, for any reason.
    #[schema(required)]
    pub ended_at: Option<Timestamp> = request.ended_at,
    /// How often text was read under it.
    pub reads: u64 = request.reads,
    /// How many memories these reads showed in all, each read counted by itself.
    pub memories_read: u64 = request.memories_read,
    /// How many tokens they showed.
    pub tokens_read: u64 = request.tokens_read,
}

/// The agent's response to an access request, and what only the agent is shown of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccessRequestWords {
    /// The reason that the agent gave: for the agent, and for the administrator who made the request.
    #[schema(required, value_type = Option<String>)]
    pub reason: Option<PrivateText>,
    /// Summaries that were written over the shredded text, and copies of it: only in the response to the agent's
    /// consent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<u64>>)]
    pub summaries: Option<Vec<Number>>,
    /// Conversations with stored text, which may hold the shredded text: only in the response to the agent's consent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<StoredTranscript>,
}

/// An access request. Its words are empty for a viewer that may not read the agent's response.
pub type ShownAccessRequest = Shown<AccessRequestFacts, AccessRequestWords>;

schema::one_object!(
    ShownAccessRequest,
    "AccessRequest",
    [AccessRequestFacts, AccessRequestWords],
    "An access request, and its outcome. `reason` is for the agent itself, and for the administrator who made the\n\
     request."
);

impl AccessRequestFacts {
    /// Whether it is granted until it is revoked: its `expires_at` lies a hundred years ahead.
    pub fn is_standing(&self) -> bool {
        self.kind.is_standing(self.state)
    }
}

impl ShownAccessRequest {
    pub(crate) fn with_words(agent: &str, mut request: AccessRequest) -> Self {
        let words = AccessRequestWords {
            reason: request.reason.take(),
            ..AccessRequestWords::default()
        };
        let facts = AccessRequestFacts::new(agent, request);
        Self { facts, words }
    }
}

impl AgentLens<'_> {
    /// The agent's requests made before that one, newest first. Expired ones are ended first, or shown as ended where
    /// another process has the database locked.
    ///
    /// # Errors
    /// The store fails.
    pub async fn access_requests(
        &self,
        before: Option<(Timestamp, AccessRequestId)>,
        limit: u32,
    ) -> Result<Vec<ShownAccessRequest>> {
        let agent = self.agent;
        let loaded = agent.load(&AgentQuery::default()).await?;
        let store = &agent.memoir.store;
        let rows = store.access_page(agent.scope, before, limit).await?;
        let mut seen = Vec::with_capacity(rows.len());
        for row in &rows {
            let request = codec::access_request(loaded.base.key(), row)?;
            let request = match request.state.is_open() {
                true => agent.grants().request_now(row.id).await?,
                false => request,
            };
            seen.push(self.seen_request(request));
        }
        Ok(seen)
    }

    /// One request, as in [`AgentLens::access_requests`].
    ///
    /// # Errors
    /// The agent has none of that identifier; the store fails.
    pub async fn access_request(&self, id: AccessRequestId) -> Result<ShownAccessRequest> {
        Ok(self.seen_request(self.agent.grants().request_now(id).await?))
    }

    /// Not by a grant: who may read the response to a request does not depend on whether it was granted.
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
