//! Responses to repeated requests with an idempotency key whose change was made and whose response is not stored. The
//! node ended before it responded, shredding removed the response, it showed a secret, or it had the prompt of an opened
//! session. They are rebuilt from the present data, and show no more than the first response did.

use axum::{
    RequestExt,
    extract::{MatchedPath, RawPathParams, Request},
    http::{Method, StatusCode},
    response::{IntoResponse, Response},
};
use memoir_app::RequestOutcome;

use super::{agents, memories, own, sessions};
use crate::{
    Problem,
    caller::Caller,
    extract::{self, Path},
};

pub(crate) struct RepeatedRequest {
    method: Method,
    /// As it is described: with `{agent}` for an agent.
    route: String,
    /// The last parameter in its path, decoded.
    last: String,
}

impl RepeatedRequest {
    pub(crate) async fn of(request: &mut Request) -> Self {
        let parameters = request.extract_parts::<RawPathParams>().await.ok();
        let last = parameters.iter().flatten().last();
        let route = request.extensions().get::<MatchedPath>();
        Self {
            method: request.method().clone(),
            route: route
                .map(|route| route.as_str().to_owned())
                .unwrap_or_default(),
            last: last.map(|(_, value)| value.to_owned()).unwrap_or_default(),
        }
    }

    /// Whether executing it once more changes nothing, but finishes half-done work: an erased agent whose key still
    /// exists.
    pub(crate) fn is_harmless(&self) -> bool {
        match self.method {
            Method::DELETE => self.route == "/v1/agents/{agent}",
            // Messages that are there already are known then.
            Method::POST => self.route == "/v1/agents/{agent}/transcripts",
            _ => false,
        }
    }

    /// The response.
    ///
    /// # Errors
    /// `idempotency_done` where it cannot be rebuilt: it held a secret, or the result of a tool, or the prompt of a
    /// session that is over, for instance. The errors of reading the changed data.
    pub(crate) async fn response(
        &self,
        caller: &Caller,
        done: &RequestOutcome,
    ) -> Result<Response, Problem> {
        let route = self.route.strip_prefix("/v1").unwrap_or_default();
        let (route, agent) = (route.trim_end_matches('/'), done.agent.to_string());
        match (self.method.as_str(), route, done.session) {
            ("POST", "/agents/{agent}/memories", _) if !done.saved.is_empty() => {
                memories::saved_before(caller, &agent, &done.saved, false).await
            }
            ("POST", "/agents/{agent}/memories/batch", _) => {
                memories::saved_before(caller, &agent, &done.saved, true).await
            }
            (
                _,
                "/agents/{agent}/memories/{number}/protection"
                | "/agents/{agent}/memories/{number}/restore"
                | "/agents/{agent}/memories/{number}/discard"
                | "/agents/{agent}/memories/{number}/promote",
                _,
            ) => memories::handled_before(caller, &agent, extract::number(&self.last)?).await,
            ("POST", "/agents", _) => {
                let shown = agents::shown_before(caller, &agent).await?;
                Ok((StatusCode::CREATED, shown).into_response())
            }
            ("PATCH", "/agents/{agent}", _) => agents::shown_before(caller, &agent).await,
            ("PUT", "/agents/{agent}/self/{field}", _)
            | ("POST", "/agents/{agent}/self/{field}/undo", _) => {
                own::show(caller.clone(), Path((agent, self.last.clone()))).await
            }
            ("POST", "/agents/{agent}/sessions", Some(session)) => {
                let opened = sessions::opened_before(caller, &agent, session).await?;
                opened.ok_or_else(|| Problem::of_done(done))
            }
            ("POST", "/sessions/{id}/rollback" | "/sessions/{id}/cancel", Some(session)) => {
                let session = caller.reach_session(&session.to_string()).await?;
                let facts = session.0.agent.views().session(session.1).await?;
                Ok(axum::Json(facts).into_response())
            }
            _ => Err(Problem::of_done(done)),
        }
    }
}
