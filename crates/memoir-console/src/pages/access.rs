//! `/agents/{agent}/access`: access requests to the agent, and the forms to make them (SPEC 5.2, 5.5, 4.4).

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use maud::{Markup, html};
use memoir_app::{
    AccessRequestFacts, AgentEmbedding, AgentHandle, EmbedderPlace, Error, SessionFacts,
    ShownAccessRequest,
};
use memoir_domain::{
    AccessRequestId, SessionId,
    access::{
        self, AccessDraft, AccessKind, AccessRefusal, AccessScope, AccessState, MINUTES_LIMIT,
        PURPOSE_LIMIT,
    },
    labels,
    memory::{Invalid, Number},
};
use serde::Deserialize;

use super::{Tab, agent_page, agent_path, memories::number_of};
use crate::{
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::{AgentInPath, Visitor},
    field::LabelledField,
    form::{self, PageQuery, SentForm},
    parts, words,
};

const AT_ONCE: u32 = 25;
/// The latest sessions that can be chosen.
const LATEST: u32 = 20;
const USUAL_MINUTES: &str = "15";

/// The fields of the forms, to which faults are assigned, and their labels.
const PURPOSE: (&str, &str) = ("purpose", "Purpose");
const SCOPE: (&str, &str) = ("scope", "To see");
const MINUTES: (&str, &str) = ("minutes", "Minutes");
const EXPIRES_AT: (&str, &str) = ("expires_at", "The token ends");
/// Whether the derived summaries and reports are to be shredded too.
const DERIVED: &str = "derived";
/// The beginning of the title of a page with faults.
const NOT_ASKED: &str = "Not asked: ";

#[derive(Default, Deserialize)]
pub(crate) struct AccessPageQuery {
    /// The requested scope: selected in advance, where a link from a hidden text leads here.
    scope: Option<String>,
    /// The last request of the page before: its time in microseconds and its identifier.
    at: Option<i64>,
    request: Option<String>,
}

/// The request of a form: read access, a token, sending text to the embeddings server, or the shredding of a memory.
#[derive(Clone, Copy)]
pub(crate) enum AccessWish {
    Look,
    Token,
    Embeddings,
    Shredding(Number),
}

impl<S: Sync> FromRequestParts<S> for AccessWish {
    type Rejection = PageFailure;

    /// By the address of the form.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageFailure> {
        let mut segments = parts.uri.path().rsplit('/');
        Ok(match segments.next() {
            Some("token") => Self::Token,
            Some("embeddings") => Self::Embeddings,
            Some("shred") => Self::Shredding(number_of(segments.next().unwrap_or_default())?),
            _ => Self::Look,
        })
    }
}

/// The content of a form, and its faults.
#[derive(Default)]
struct AccessForm(SentForm);

impl AccessForm {
    /// The request to the agent; `None` where a field has a fault, which is added. The purpose is checked also where the
    /// kind has a fault, so that all faults are reported together.
    fn draft(&mut self, kind: Option<AccessKind>) -> Option<AccessDraft> {
        let purpose = access::parse_purpose(&self.0.field(PURPOSE.0).into());
        let purpose = purpose.map_err(|invalid| self.fault(&invalid)).ok();
        let draft = AccessDraft {
            kind: kind?,
            purpose: purpose?,
        };
        draft.check().map_err(|invalid| self.fault(&invalid)).ok()
    }

    fn look(&mut self) -> Option<AccessKind> {
        let scope = self.0.field(SCOPE.0).parse().ok();
        let minutes = self.0.field(MINUTES.0).trim().parse().ok();
        if scope.is_none() {
            let problem = "is not among those to choose from";
            self.0.faults.add(SCOPE.0, SCOPE.1, problem);
        }
        if minutes.is_none() {
            let problem = format!("must be a whole number, 1 to {MINUTES_LIMIT}");
            self.0.faults.add(MINUTES.0, MINUTES.1, &problem);
        }
        let (scope, minutes) = scope.zip(minutes)?;
        Some(AccessKind::Read { scope, minutes })
    }

    fn token(&mut self) -> Option<AccessKind> {
        let given = Some(self.0.field(EXPIRES_AT.0).trim()).filter(|given| !given.is_empty());
        let expires_at = given.and_then(words::read_time);
        if given.is_some() && expires_at.is_none() {
            let problem = "must be a day and a time, such as 2026-03-04 12:00";
            self.0.faults.add(EXPIRES_AT.0, EXPIRES_AT.1, problem);
            return None;
        }
        Some(AccessKind::Token { expires_at })
    }

    fn fault(&mut self, invalid: &Invalid) {
        let fields = [PURPOSE, SCOPE, MINUTES, EXPIRES_AT];
        let found = fields.iter().find(|(id, _)| *id == invalid.field);
        // A fault of a value without a field is shown at the purpose, a field that every form has.
        let (id, label) = found.unwrap_or(&PURPOSE);
        self.0.faults.add(id, label, &invalid.problem);
    }

    /// Makes the request; `None` where a field has a fault, which is added.
    async fn send(
        &mut self,
        wish: AccessWish,
        agent: &AgentHandle,
        visitor: &Visitor,
    ) -> Result<Option<AccessRequestFacts>, PageFailure> {
        let (actor, grants) = (visitor.actor(), agent.grants());
        let kind = match wish {
            AccessWish::Embeddings => {
                let purpose = self.0.field(PURPOSE.0).into();
                return self.sent(grants.request_embeddings(&purpose, &actor).await);
            }
            AccessWish::Look => self.look(),
            AccessWish::Token => self.token(),
            AccessWish::Shredding(number) => Some(AccessKind::Shred {
                number,
                derived: self.0.is_ticked(DERIVED),
            }),
        };
        match self.draft(kind) {
            Some(draft) => self.sent(grants.request_access(&draft, &actor).await),
            None => Ok(None),
        }
    }

    /// The request that was made; `None` where it was not, for a reason that the form shows.
    fn sent(
        &mut self,
        requested: memoir_app::Result<AccessRequestFacts>,
    ) -> Result<Option<AccessRequestFacts>, PageFailure> {
        match requested {
            Ok(request) => Ok(Some(request)),
            Err(Error::Invalid(invalid)) => {
                self.fault(&invalid);
                Ok(None)
            }
            Err(
                // Failures that only need waiting keep the typed text; all others have a page of their own.
                error @ (Error::Access(
                    AccessRefusal::TooManyWaiting | AccessRefusal::RefusedBefore { .. },
                )
                | Error::Change(_)),
            ) => {
                self.0
                    .faults
                    .add(PURPOSE.0, "Not asked", &words::message(&error));
                Ok(None)
            }
            Err(Error::NoSession(_)) => {
                self.0
                    .faults
                    .add(SCOPE.0, SCOPE.1, "There is no such session of this agent.");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) async fn show(
    visitor: Visitor,
    PageQuery(query): PageQuery<AccessPageQuery>,
    agent: AgentInPath,
) -> PageResult {
    let scope = query.scope.as_deref().unwrap_or("core");
    let fields = [(SCOPE.0, scope), (MINUTES.0, USUAL_MINUTES)];
    let draft = AccessForm(SentForm::filled(&fields));
    tab(&visitor, &agent, &query, &draft).await
}

/// The page of a form apart from that for read access.
pub(crate) async fn blank(visitor: Visitor, agent: AgentInPath, wish: AccessWish) -> PageResult {
    form_page(wish, &visitor, &agent, &AccessForm::default()).await
}

/// Makes the request of the form, or shows the form again with its faults.
pub(crate) async fn ask(
    visitor: Visitor,
    form: SentForm,
    agent: AgentInPath,
    wish: AccessWish,
) -> PageResult {
    let mut draft = AccessForm(form);
    if let Some(request) = draft.send(wish, &agent, &visitor).await? {
        return Ok(see_other(&format!("{}?done=asked", path_of(request.id))));
    }
    let shown = form_page(wish, &visitor, &agent, &draft).await?;
    Ok(page_of(StatusCode::BAD_REQUEST, shown))
}

async fn form_page(
    wish: AccessWish,
    visitor: &Visitor,
    agent: &AgentHandle,
    draft: &AccessForm,
) -> PageResult {
    match wish {
        AccessWish::Look => tab(visitor, agent, &AccessPageQuery::default(), draft).await,
        AccessWish::Token => token_page(visitor, agent, draft).await,
        AccessWish::Embeddings => embeddings_page(visitor, agent, draft).await,
        AccessWish::Shredding(number) => shred_page(visitor, agent, number, draft).await,
    }
}

pub(super) fn path_of(request: AccessRequestId) -> String {
    format!("/access/{request}")
}

async fn tab(
    visitor: &Visitor,
    agent: &AgentHandle,
    query: &AccessPageQuery,
    draft: &AccessForm,
) -> PageResult {
    let before = form::place(query.at, query.request.as_deref())?;
    let lens = agent.views().seen_by(visitor.viewer());
    let mut requests = lens.access_requests(before, AT_ONCE + 1).await?;
    let path = tab_path(agent);
    let next = form::cut(&mut requests, AT_ONCE as usize).map(|last| {
        let at = last.requested_at.microseconds().to_string();
        form::address(&path, &[("at", &at), ("request", &last.id.to_string())])
    });
    let content = html! {
        (draft.0.faults.summary())
        @if before.is_none() {
            section aria-labelledby="ask" {
                h2 #ask { "Request access" }
                p { "You see none of this agent’s text. It can grant you access for a while, for a purpose that you state. "
                    (answering(agent).await?) }
                (look_form(visitor, agent, draft).await?)
                p { a href={ (path) "/token" } { "Ask for a token instead…" } }
            }
            @if let Some(embedding) = agent.memories().embedding().await? {
                section aria-labelledby="meaning" {
                    h2 #meaning { "Recall by meaning" }
                    p { (sent_to(&embedding)) }
                    @if !embedding.is_allowed {
                        p { a href={ (path) "/embeddings" } { "Ask whether they may be sent there…" } }
                    }
                }
            }
        }
        section aria-labelledby="requests" {
            h2 #requests { "Access requests" }
            @if requests.is_empty() { p.empty { "There are no access requests yet." } }
            @else { (table(agent, &requests)) }
            (parts::older(before.is_some().then_some(path.as_str()), next.as_deref()))
        }
    };
    let title = draft.0.faults.title(NOT_ASKED, "Access to {}");
    Ok(agent_page(visitor, agent, Tab::Access, &title).show(content))
}

/// The live grants and the waiting requests; empty without any.
pub(super) async fn open(agent: &AgentHandle) -> Result<Markup, PageFailure> {
    let open = agent.grants().open_access().await?;
    let link = |request: &AccessRequestFacts| {
        html! { a href=(path_of(request.id)) { (what(request)) } }
    };
    Ok(html! {
        @if !open.is_empty() {
            section aria-labelledby="access" {
                h2 #access { "Access" }
                ul.plain {
                    @for request in &open {
                        li { (badge(request)) " " (parts::named(&request.asked_by.name)) ": " (link(request)) ", "
                            @match request.state {
                                AccessState::Granted if request.is_standing() => { "until it is revoked" }
                                // Every other grant ends within the hour, so the time of day is enough.
                                AccessState::Granted => {
                                    "closes at " time datetime=(request.expires_at) { (words::time_of_day(request.expires_at)) }
                                }
                                _ => { "since " (parts::time(request.requested_at)) }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn tab_path(agent: &AgentHandle) -> String {
    format!("{}/access", agent_path(agent.scope().agent))
}

pub(super) async fn answering(agent: &AgentHandle) -> Result<Markup, PageFailure> {
    let model = agent.grants().answering_model().await?;
    Ok(html! {
        @match model {
            Some(model) => { "Its model, " code { (model) } ", is asked within seconds; its own client may \
                answer, too. " }
            None => { "It has no model (" code { "builtin:careful" } " understands no purposes): its own client \
                answers, over REST or MCP, or " code { "memoir access answer" }
                " with the agent’s token in " code { "MEMOIR_TOKEN" } " does. " }
        }
        "No answer is a refusal. A request waits for seven days."
    })
}

async fn look_form(
    visitor: &Visitor,
    agent: &AgentHandle,
    draft: &AccessForm,
) -> Result<Markup, PageFailure> {
    let sessions = agent.views().session_page(None, LATEST).await?;
    let scope = draft.0.field(SCOPE.0);
    let scopes = scopes(scope, &sessions);
    Ok(html! {
        form.stack.asking method="post" action=(tab_path(agent)) {
            (parts::form_token(visitor))
            (purpose(draft))
            div.row {
                (LabelledField::new(SCOPE.0, SCOPE.1).faults(&draft.0.faults).choice(scope, &scopes))
                (LabelledField::new(MINUTES.0, MINUTES.1).faults(&draft.0.faults).number(draft.0.field(MINUTES.0), "numeric"))
            }
            div.buttons { button.main type="submit" { "Ask the agent" } }
        }
    })
}

fn purpose(draft: &AccessForm) -> Markup {
    LabelledField::new(PURPOSE.0, PURPOSE.1)
        .hint(html! { "The agent reads this, and decides by it. Up to " (words::number(PURPOSE_LIMIT as u64)) " characters." })
        .faults(&draft.0.faults)
        .area(draft.0.field(PURPOSE.0), 3)
}

/// The scopes to choose from, by wire name; the chosen session is included, however old it is.
fn scopes(chosen: &str, sessions: &[SessionFacts]) -> Vec<(String, String)> {
    let name = |id: SessionId| AccessScope::Session(id).to_string();
    let mut scopes = vec![
        ("core".to_owned(), "The active core memories".to_owned()),
        (
            "all".to_owned(),
            "Everything: all memories, records, sessions and prompts".to_owned(),
        ),
    ];
    for session in sessions {
        let rehearsal = if session.rehearsal { ", rehearsal" } else { "" };
        let text = format!(
            "What the session of {} did ({}{rehearsal})",
            words::minute(session.started_at),
            session.state.label(),
        );
        scopes.push((name(session.id), text));
    }
    let older = chosen.parse().ok().and_then(AccessScope::session);
    let older = older.map(name);
    if let Some(older) = older
        && !scopes.iter().any(|(name, _)| *name == older)
    {
        scopes.push((older, "What an older session did".to_owned()));
    }
    scopes
}

/// Whether the agent's text is sent to the configured embeddings server.
fn sent_to(embedding: &AgentEmbedding) -> Markup {
    let (address, is_local) = match &embedding.place {
        EmbedderPlace::ThisProcess => {
            return html! {
                "It is on, and needs no consent: " code { (embedding.model.as_str()) } " runs in Memoir’s own process, \
                which no text leaves."
            };
        }
        EmbedderPlace::ThisMachine(address) => (address, true),
        EmbedderPlace::Elsewhere(address) => (address, false),
    };
    html! {
        @match (is_local, embedding.is_allowed) {
            (true, _) => "It is on: the texts of its memories, and its queries, go to ",
            (false, true) => "It is on, with the agent’s consent: the texts of its memories, and its queries, go to ",
            (false, false) => "It is off until the agent consents: the texts of its memories, and its queries, \
                would go to ",
        }
        code { (embedding.model.as_str()) } " at " code { (address) }
        @if is_local { ", on this machine" }
        "."
    }
}

async fn embeddings_page(visitor: &Visitor, agent: &AgentHandle, draft: &AccessForm) -> PageResult {
    let path = tab_path(agent);
    let embedding = agent.memories().embedding().await?;
    let content = html! {
        (draft.0.faults.summary())
        h2 { "Ask for recall by meaning" }
        @match embedding {
            Some(embedding) => { p { (sent_to(&embedding)) } }
            None => { p { "No model of embeddings is installed or configured: " code { "memoir embeddings install" } " puts the \
                built-in one in place, and " code { "[recall] embeddings" } " names a server’s." } }
        }
        p { "With its consent the agent’s memories are found by their meaning too, until it or an administrator revokes it. " (answering(agent).await?) }
        form.stack.asking method="post" action={ (path) "/embeddings" } {
            (parts::form_token(visitor))
            (purpose(draft))
            div.row {
                button.main type="submit" { "Ask the agent" }
                a href=(path) { "Leave it as it is" }
            }
        }
    };
    let title = draft
        .0
        .faults
        .title(NOT_ASKED, "Ask {} for recall by meaning");
    Ok(agent_page(visitor, agent, Tab::Access, &title).show(content))
}

async fn token_page(visitor: &Visitor, agent: &AgentHandle, draft: &AccessForm) -> PageResult {
    let path = tab_path(agent);
    let content = html! {
        (draft.0.faults.summary())
        h2 { "Ask for a token" }
        p { "For when the agent’s own is lost. A holder of it can do all that the agent can. With its consent, you \
            can make one token within an hour. " (answering(agent).await?) }
        form.stack.asking method="post" action={ (path) "/token" } {
            (parts::form_token(visitor))
            (purpose(draft))
            (LabelledField::new(EXPIRES_AT.0, EXPIRES_AT.1)
                .hint(html! { "In " (words::zone_name()) "; blank for never." })
                .faults(&draft.0.faults)
                .moment(draft.0.field(EXPIRES_AT.0)))
            div.row {
                button.main type="submit" { "Ask for a token" }
                a href=(path) { "Leave it as it is" }
            }
        }
    };
    let title = draft.0.faults.title(NOT_ASKED, "Ask {} for a token");
    Ok(agent_page(visitor, agent, Tab::Access, &title).show(content))
}

fn table(agent: &AgentHandle, requests: &[ShownAccessRequest]) -> Markup {
    let names = ["Asked", "Who", "What", "Purpose", "State", "Left", "Reads"];
    let rows = html! { @for request in requests { (row(agent, request)) } };
    parts::table("Requests for access, the newest first", &names, &[6], rows)
}

fn row(agent: &AgentHandle, request: &AccessRequestFacts) -> Markup {
    html! {
        tr role="row" {
            th role="rowheader" scope="row" data-label="Asked" {
                a href=(path_of(request.id)) { (parts::time(request.requested_at)) }
            }
            td role="cell" data-label="Who" { (parts::named(&request.asked_by.name)) }
            td role="cell" data-label="What" { span { (what(request)) } }
            // A purpose is in any language, so the browser finds its direction by its first letter.
            td role="cell" data-label="Purpose" { div.said.cut dir="auto" { (request.purpose.expose()) } }
            td role="cell" data-label="State" { (badge(request)) }
            td role="cell" data-label="Left" { (left(agent, request)) }
            td.figure role="cell" data-label="Reads" {
                // Only requests with a scope allow reading.
                @if request.scope.is_some() { (words::number(request.reads)) } @else { span.none { "–" } }
            }
        }
    }
}

fn left(agent: &AgentHandle, request: &AccessRequestFacts) -> Markup {
    html! {
        @match request.state {
            AccessState::Granted if request.is_standing() => "until it is revoked",
            // The clock with less time left counts, so that setting one back extends nothing (SPEC 5.2).
            AccessState::Granted => (words::clock(agent.grants().access_time_left(request))),
            AccessState::Asked => span { "until " (parts::time(request.expires_at)) },
            _ => span.none { "–" },
        }
    }
}

pub(super) fn what(request: &AccessRequestFacts) -> Markup {
    html! {
        (labels::access(request.kind, request.scope))
        @if let Some(number) = request.memory { " memory " (number) }
        @if request.derived { " and what rests on it" }
        @if let Some(minutes) = request.minutes {
            ", " (words::counted(minutes.into(), "minute", "minutes"))
        }
    }
}

/// The state of a request, in a word.
pub(super) fn badge(request: &AccessRequestFacts) -> Markup {
    let (class, text) = status_label(request);
    html! { span class=(class) { (text) } }
}

/// The class of a request's badge, and the word for its state.
pub(super) fn status_label(request: &AccessRequestFacts) -> (&'static str, &'static str) {
    let class = match request.state {
        AccessState::Asked => "badge running",
        AccessState::Granted => "badge good",
        AccessState::Refused => "badge bad",
        AccessState::Done | AccessState::Revoked | AccessState::Expired => "badge plain",
    };
    // An unanswered request and a grant whose time is over have the same state, `Expired`.
    let is_unanswered = request.state == AccessState::Expired && request.answered_at.is_none();
    match is_unanswered {
        true => (class, "no answer"),
        false => (class, request.state.label()),
    }
}

async fn shred_page(
    visitor: &Visitor,
    agent: &AgentHandle,
    number: Number,
    draft: &AccessForm,
) -> PageResult {
    let memory = agent.views().memory(number).await?;
    let path = format!("{}/memories", agent_path(agent.scope().agent));
    let content = html! {
        (draft.0.faults.summary())
        h2 { "Shred memory #" (number.0) }
        @if memory.shredded_at.is_some() {
            p { "It is shredded already." }
            p { a href=(path) { "Back to the memories" } }
        } @else {
            p { "Its text is removed permanently from everywhere: the memory, the records, the rehearsals. \
                The agent decides, and it cannot be undone. With its consent it is done immediately. "
                (answering(agent).await?) }
            form.stack.asking method="post" action={ (path) "/" (number.0) "/shred" } {
                (parts::form_token(visitor))
                (purpose(draft))
                p.hint { "Do not repeat the text itself: what you write stays on the record." }
                (parts::check(DERIVED, "Its copies, and the summaries and session reports that rest on it, too", draft.0.is_ticked(DERIVED)))
                div.row {
                    button.danger type="submit" { "Ask the agent to shred it" }
                    a href={ (path) "#memory-" (number.0) } { "Leave it as it is" }
                }
            }
        }
    };
    let title = draft.0.faults.title(NOT_ASKED, "Shred a memory of {}");
    Ok(agent_page(visitor, agent, Tab::Memories, &title).show(content))
}
