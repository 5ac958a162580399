//! Responses to requests that were not carried out: RFC 9457 problem documents with stable codes. None of them contains
//! an agent's text.

use std::num::NonZeroU32;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use memoir_app::{Error, FaultId, RequestOutcome};
use memoir_domain::{
    lifecycle::{NothingToRefine, StartRefusal},
    manage::ChangeRefusal,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{errors, requests::ProblemCode, schemas};

/// A problem document.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// A reference to the page about the code.
    #[serde(rename = "type")]
    #[schema(rename = "type", value_type = String, example = "/docs/errors/session_open")]
    kind: Box<str>,
    /// The status in words.
    #[schema(value_type = String, example = "Conflict")]
    title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599, example = 409)]
    status: u16,
    /// A stable code for programs.
    #[schema(value_type = schemas::Code)]
    code: &'static str,
    /// The fault, the limit, and what to do.
    #[schema(
        value_type = String,
        example = "a session is running already: 01a02b3c-0000-7000-8000-000000000000"
    )]
    detail: Box<str>,
    /// What to do about it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    hint: Option<Box<str>>,
    /// Names this one failure, where it is the service's own: its log has details under this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uri", example = "urn:uuid:9f1c2b34-8a17-4c0e-9d4e-2f6a1b7c3d58")]
    instance: Option<Box<FaultId>>,
    /// The session in question: the one that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid)]
    session_id: Option<Box<memoir_domain::SessionId>>,
    /// The changes that conflict with an undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<schemas::Obstacle>>)]
    obstacles: Option<Box<[memoir_domain::rollback::Obstacle]>>,
    /// Seconds to wait before another attempt.
    #[serde(skip)]
    retry_after: Option<NonZeroU32>,
}

impl Problem {
    /// A problem of that code, with the status that the code comes with.
    pub(crate) fn new(code: &'static str, detail: impl Into<String>) -> Self {
        let status = errors::status(code);
        Self {
            kind: format!("/docs/errors/{code}").into(),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            code,
            detail: detail.into().into(),
            hint: None,
            instance: None,
            session_id: None,
            obstacles: None,
            retry_after: None,
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into());
        self
    }

    /// An unexpected failure; the log has it under the name in the response.
    pub(crate) fn broken(what: &'static str) -> Self {
        Self {
            instance: Some(Box::new(FaultId::of_panic(what))),
            ..Self::new("internal", "the service could not carry this out")
        }
    }

    #[must_use]
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = NonZeroU32::new(seconds);
        self
    }

    /// Its status, its message (with the name in the log), and what to do, for interfaces with another format.
    pub(crate) fn into_parts(self) -> (StatusCode, String, Option<String>) {
        let status = StatusCode::from_u16(self.status);
        (
            status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            match self.instance {
                Some(instance) => format!("{} ({instance})", self.detail),
                None => self.detail.into(),
            },
            self.hint.map(String::from),
        )
    }

    /// A request that was executed before, and whose response is gone.
    pub(crate) fn of_done(done: &RequestOutcome) -> Self {
        let record = match done.seq {
            Some(seq) => format!("record {seq} of the log of {} shows its change", done.agent),
            None => format!("it changed {}", done.agent),
        };
        Self {
            session_id: done.session.map(Box::new),
            ..Self::new(
                "idempotency_done",
                format!(
                    "a request with this key was executed ({record}), and its response is not kept"
                ),
            )
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new("invalid_argument", detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new("forbidden", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new("not_found", detail)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(
            "unauthorized",
            "the request has no valid token",
        )
        .hint(
            "send `Authorization: Bearer TOKEN`; `POST /v1/sign-in` makes one for an administrator, \
             `POST /v1/agents/{agent}/tokens` one for an agent",
        )
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        // A database that was opened, and does not answer now, may answer the next request.
        let code = match error.is_unreachable() {
            true => "busy",
            false => error.code(),
        };
        let status = errors::status(code);
        let hint = match error {
            Error::BeyondAgent { .. } => Some("an administrator can undo it"),
            // The hints of the pages are for another case of the same code.
            Error::RefusedLately { .. }
            | Error::Change(ChangeRefusal::NotApplicable(..))
            | Error::Start(StartRefusal::NothingToRefine(
                NothingToRefine::AllProtected | NothingToRefine::NoDuplicates,
            )) => None,
            _ => errors::page(code).and_then(|page| page.hint),
        };
        let fault = FaultId::of(&error);
        let mut problem = Self::new(code, error.public_message());
        if let Some(seconds) = error.retry_after() {
            problem = problem.retry_after(seconds);
        } else if status == StatusCode::SERVICE_UNAVAILABLE {
            // All of these may pass by themselves.
            problem.retry_after = Some(NonZeroU32::MIN);
        }
        problem.hint = hint.map(Box::from);
        problem.instance = fault.map(Box::new);
        match error {
            Error::Start(StartRefusal::SessionOpen(id))
            | Error::Change(ChangeRefusal::SessionRunning(id)) => {
                problem.session_id = Some(Box::new(id));
            }
            Error::InTheWay { session, obstacles } | Error::BeyondAgent { session, obstacles } => {
                problem.session_id = Some(Box::new(session));
                problem.obstacles = Some(obstacles.into());
            }
            _ => {}
        }
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // A problem holds only texts and numbers, so serialising it cannot fail.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        response.extensions_mut().insert(ProblemCode(self.code));
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::UNAUTHORIZED {
            // HTTP requires this header with this status (RFC 9110, 15.5.2).
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.get().into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use memoir_store::Error as Stored;

    use super::*;

    #[test]
    fn spec_6_2_a_database_that_does_not_answer_passes_and_its_place_is_not_told() {
        let problem = Problem::from(Error::Store(Stored::Unreachable {
            location: "postgres://db.example/memoir".to_owned(),
            problem: "it does not answer".to_owned(),
        }));
        assert_eq!((problem.status, problem.code), (503, "busy"));
        assert_eq!(problem.retry_after, Some(NonZeroU32::MIN));
        assert!(!problem.detail.contains("db.example"), "{}", problem.detail);
        assert!(problem.instance.is_some(), "the log has its place");
    }

    #[test]
    fn passing_and_lasting_failures_have_different_codes() {
        let busy = memoir_vault::Error::Busy;
        let full = memoir_vault::Error::Full;
        for (error, status, code, retry_after) in [
            (Error::Store(Stored::Busy), 503, "busy", Some("1")),
            (Error::Keys(busy), 503, "busy", Some("1")),
            (Error::Contended, 503, "contended", Some("1")),
            (
                Error::KeyRemains {
                    name: "wren".to_owned(),
                    why: Box::new(Error::Keys(memoir_vault::Error::Busy)),
                },
                503,
                "key_remains",
                Some("1"),
            ),
            (Error::Store(Stored::Full), 507, "disk_full", None),
            (Error::Keys(full), 507, "disk_full", None),
            (Error::Store(Stored::ReadOnly), 503, "read_only", Some("1")),
            (Error::Store(Stored::Closed), 500, "internal", None),
        ] {
            let message = error.to_string();
            let problem = Problem::from(error);
            assert_eq!(problem.code, code);
            let is_shown = *problem.detail == *message;
            assert_eq!(is_shown, status != 500, "{}", problem.detail);
            let response = problem.into_response();
            assert_eq!(response.status(), status);
            let header = response.headers().get(header::RETRY_AFTER);
            let header = header.map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(header.as_deref(), retry_after, "{code}");
        }
    }
}
