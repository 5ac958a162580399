//! `/access/{request}`: one access request, the agent's answer, and its state (SPEC 5.2).

use axum::{
    Json,
    extract::Path,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use memoir_app::{AgentHandle, ShownAccessRequest};
use memoir_domain::{
    access::{AccessKindName, AccessState},
    audit::ActorKind,
};
use serde::Serialize;

use super::{
    Tab,
    access::{answering, badge, path_of, status_label, what},
    agent_page, agent_path,
};
use crate::{
    answer::{PageFailure, PageResult, see_other},
    assets::PageScript,
    browser::Visitor,
    parts, words,
};

pub(super) struct ShownRequest {
    pub(super) visitor: Visitor,
    pub(super) agent: AgentHandle,
    pub(super) request: ShownAccessRequest,
}

impl ShownRequest {
    pub(super) async fn find(visitor: Visitor, request: &str) -> Result<Self, PageFailure> {
        let (agent, id) = visitor.account.access_agent(request).await?;
        // The request is read as this visitor, since the agent's reason is shown only to the requester.
        let lens = agent.views().seen_by(visitor.viewer());
        let request = lens.access_request(id).await?;
        Ok(Self {
            visitor,
            agent,
            request,
        })
    }

    pub(super) async fn look_again(&mut self) -> Result<(), PageFailure> {
        let lens = self.agent.views().seen_by(self.visitor.viewer());
        self.request = lens.access_request(self.request.id).await?;
        Ok(())
    }

    /// Whether the visitor is the requester.
    pub(super) fn is_own(&self) -> bool {
        self.visitor.has_asked(&self.request)
    }

    pub(super) fn is_granted(&self) -> bool {
        self.request.state == AccessState::Granted
    }

    /// Whole seconds for which it can still be used.
    pub(super) fn seconds_left(&self) -> u64 {
        let left = self.agent.grants().access_time_left(&self.request);
        left.as_secs()
    }

    pub(super) fn path(&self) -> String {
        path_of(self.request.id)
    }

    pub(super) fn reading_path(&self) -> String {
        match self.request.session_id {
            Some(session) => format!("{}/sessions/{session}", self.path()),
            None => format!("{}/memories", self.path()),
        }
    }

    /// Its state, in a sentence without the agent's text.
    async fn status_sentence(&self) -> Result<String, PageFailure> {
        let name = self.agent.name();
        Ok(match self.request.state {
            AccessState::Asked => format!("{name} has not answered yet."),
            AccessState::Granted => format!("{name} consented."),
            AccessState::Refused => format!("{name} refused."),
            AccessState::Done => "It is done.".to_owned(),
            AccessState::Revoked => format!("{} revoked it.", self.revoked_by().await?),
            AccessState::Expired if self.request.answered_at.is_none() => {
                format!("{name} did not answer in time, which is a refusal.")
            }
            AccessState::Expired => "Its time is over.".to_owned(),
        })
    }

    async fn revoked_by(&self) -> Result<String, PageFailure> {
        let grants = self.agent.grants();
        let by = grants.access_revoked_by(&self.request).await?;
        Ok(match by {
            Some(actor) if actor == self.visitor.actor() => "You".to_owned(),
            Some(actor) if actor.kind == ActorKind::Agent => self.agent.name().to_owned(),
            Some(actor) => words::shortened(&actor.name),
            None => "An unknown user".to_owned(),
        })
    }
}

pub(crate) async fn show(visitor: Visitor, Path(request): Path<String>) -> PageResult {
    let shown_request = ShownRequest::find(visitor, &request).await?;
    let request = &shown_request.request;
    let content = html! {
        section #standing aria-labelledby="request" data-standing=(request.state.as_str())
            data-state={ (shown_request.path()) "/state" } {
            div.headline {
                h2 #request { "Asked " (parts::time(request.requested_at)) }
                p { (badge(request)) }
            }
            p role="status" { strong { (shown_request.status_sentence().await?) } }
            @if request.state == AccessState::Asked {
                p { (answering(&shown_request.agent).await?) }
            }
            (actions(&shown_request))
            (facts(&shown_request))
        }
        h3 { "Purpose" }
        div.said dir="auto" { (request.purpose.expose()) }
        (reason(&shown_request))
        p { a href={ (agent_path(shown_request.agent.scope().agent)) "/access" } { "All requests to " (shown_request.agent.name()) } }
    };
    let title = format!("Access to {{}}: {}", status_label(request).1);
    let (visitor, agent) = (&shown_request.visitor, &shown_request.agent);
    let shown = agent_page(visitor, agent, Tab::Access, &title)
        .scripts(&[PageScript::Access])
        .show(content);
    // So that the page shows the end without scripts. A second after the end, so that the reloaded page finds it over.
    let ends = shown_request.is_granted() && !request.is_standing();
    let seconds = ends.then(|| shown_request.seconds_left() + 1);
    Ok(refreshing(shown, seconds, &shown_request.path()))
}

/// The response, after which a browser loads another page by itself, after so many seconds.
pub(crate) fn refreshing(mut answer: Response, seconds: Option<u64>, path: &str) -> Response {
    let Some(seconds) = seconds else {
        return answer;
    };
    // The paths of this host are valid in every header.
    if let Ok(value) = HeaderValue::try_from(format!("{seconds}; url={path}")) {
        answer.headers_mut().insert(header::REFRESH, value);
    }
    answer
}

fn actions(shown_request: &ShownRequest) -> Markup {
    let request = &shown_request.request;
    let (path, is_own) = (shown_request.path(), shown_request.is_own());
    let tokens = format!("{}/tokens", agent_path(shown_request.agent.scope().agent));
    let (text, name) = match (request.state, is_own) {
        (AccessState::Asked, true) => ("Withdraw", "Withdraw the request"),
        // Only a request with a scope allows reading.
        (AccessState::Granted, true) if request.scope.is_some() => ("Stop looking", "Stop looking"),
        _ => ("Revoke", "Revoke the request"),
    };
    html! {
        @if request.state.is_open() {
            div.buttons {
                @if shown_request.is_granted() && is_own {
                    @if request.scope.is_some() { a.button.main href=(shown_request.reading_path()) { "Read" } }
                    @if request.kind == AccessKindName::Connection {
                        p { "Go back to the page on which you asked, or begin again at the program, and connect it." }
                    }
                    @if request.kind == AccessKindName::Token {
                        (parts::button(&shown_request.visitor, &tokens, "Make the token", "Make the token", "main"))
                    }
                }
                (parts::button(&shown_request.visitor, &format!("{path}/revoke"), text, name, ""))
            }
        }
    }
}

fn facts(shown_request: &ShownRequest) -> Markup {
    let request = &shown_request.request;
    let is_open = request.state.is_open();
    html! {
        dl.facts {
            (parts::pair("Who asks", html! { (parts::named(&request.asked_by.name)) @if shown_request.is_own() { " (you)" } }))
            (parts::pair("What", html! {
                @match request.session_id {
                    Some(session) => a href={ "/sessions/" (session) } { (what(request)) },
                    None => (what(request)),
                }
            }))
            @if request.kind == AccessKindName::Token {
                (parts::pair("The token ends", parts::time_or(request.token_expires_at, "never")))
            }
            (parts::pair("Answered", parts::time_or(request.answered_at, "not yet")))
            @if request.is_standing() {
                (parts::pair("Closes", html! { "when it is revoked" }))
            } @else if is_open {
                @let end = if shown_request.is_granted() { "Closes" } else { "Waits until" };
                (parts::pair(end, parts::second(request.expires_at)))
            } @else {
                (parts::pair("Ended", parts::time_or(request.ended_at, "–")))
            }
            @if request.scope.is_some() {
                (parts::pair("Read", html! {
                    (words::counted(request.reads, "read", "reads")) ", "
                    (words::counted(request.memories_read, "memory", "memories")) ", "
                    (words::counted(request.tokens_read, "token", "tokens"))
                }))
            }
        }
    }
}

fn reason(shown_request: &ShownRequest) -> Markup {
    let request = &shown_request.request;
    html! {
        @if request.answered_at.is_some() {
            h3 { "The agent’s answer" }
            @match &request.words.reason {
                Some(reason) => div.said dir="auto" { (reason.expose()) },
                None if shown_request.is_own() => p.none { "It gave no reason." },
                None => p.none { "That is for the administrator who asked." },
            }
        }
    }
}

/// The state of a request, for the script of an open page.
#[derive(Serialize)]
struct RequestStatus {
    state: AccessState,
    /// For how long the visitor can still read under it.
    seconds_left: u64,
    /// The same in a sentence.
    stated: String,
}

pub(crate) async fn state(visitor: Visitor, Path(request): Path<String>) -> PageResult {
    let shown_request = ShownRequest::find(visitor, &request).await?;
    let status = RequestStatus {
        state: shown_request.request.state,
        seconds_left: shown_request.seconds_left(),
        stated: shown_request.status_sentence().await?,
    };
    Ok(Json(status).into_response())
}

pub(crate) async fn revoke(visitor: Visitor, Path(request): Path<String>) -> PageResult {
    let (agent, id) = visitor.account.access_agent(&request).await?;
    agent.grants().revoke_access(id, &visitor.actor()).await?;
    Ok(see_other(&format!("{}?done=taken-back", path_of(id))))
}
