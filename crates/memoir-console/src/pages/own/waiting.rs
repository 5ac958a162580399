//! `/memory/{agent}/waiting`: what waits for an answer or for a model: conversations, access requests and rehearsals.

use axum::{extract::Path, http::StatusCode};
use maud::{Markup, html};
use memoir_app::{Error, OwnAgent, ShownAccessRequest, ShownSession, sessions::RehearsalFacts};
use memoir_domain::{PrivateText, access::AccessState, audit::Actor, session::State};

use super::{
    super::{
        access::what,
        connect_agent::in_shell,
        reading::{rehearsed, said},
    },
    OwnTab, agent_page, agent_path,
};
use crate::{
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::{OwnAgentInPath, Owner},
    field::{LabelledField, with_code},
    form::SentForm,
    parts, words,
};

/// Requests, and sessions, among which waiting ones are searched.
const LATEST: u32 = 50;

pub(crate) async fn show(owner: Owner, agent: OwnAgentInPath) -> PageResult {
    page(&owner, &agent, &SentForm::default()).await
}

/// The page, with the input of a request's form and its faults.
async fn page(owner: &Owner, agent: &OwnAgent, form: &SentForm) -> PageResult {
    let path = format!("{}/waiting", agent_path(agent.scope().agent));
    let content = html! {
        (form.faults.summary())
        section aria-labelledby="conversations" {
            h2 #conversations { "Conversations to be read" }
            (conversations(agent).await?)
        }
        section aria-labelledby="requests" {
            h2 #requests { "Access requests" }
            (requests(owner, agent, &path, form).await?)
        }
        section aria-labelledby="rehearsals" {
            h2 #rehearsals { "Rehearsals" }
            (rehearsals(owner, agent, &path).await?)
        }
    };
    Ok(agent_page(agent, OwnTab::Waiting, "What waits for {}").show(content))
}

async fn conversations(agent: &OwnAgent) -> Result<Markup, PageFailure> {
    let transcript = agent.life().transcript().await?;
    Ok(html! {
        @if transcript.pending + transcript.failed == 0 {
            p.empty { "No conversation waits to be read." }
        } @else {
            p { (words::counted(transcript.pending, "message waits", "messages wait")) " to be read"
                @if let Some(at) = transcript.due_at { ", from " (parts::time(at)) " on" }
                "."
                @if transcript.failed > 0 {
                    " " (words::counted(transcript.failed, "message", "messages")) " could not be read."
                } }
            p { "A running service reads them when they are due. To have them read now:" }
            pre tabindex="0" { "memoir absorb " (in_shell(agent.name())) }
        }
    })
}

async fn requests(
    owner: &Owner,
    agent: &OwnAgent,
    path: &str,
    form: &SentForm,
) -> Result<Markup, PageFailure> {
    let mut requests = agent.lens().access_requests(None, LATEST).await?;
    let is_cut = requests.len() == LATEST as usize;
    requests.retain(|request| matches!(request.state, AccessState::Asked | AccessState::Granted));
    Ok(html! {
        @if requests.is_empty() { p.empty { "No request waits, and no access is granted." } }
        @for request in &requests { (access_request(owner, request, path, form)) }
        @if is_cut { p.hint { "Only the " (LATEST) " latest requests are looked through." } }
    })
}

fn access_request(
    owner: &Owner,
    request: &ShownAccessRequest,
    path: &str,
    form: &SentForm,
) -> Markup {
    let id = request.id;
    let (action, reason) = (format!("{path}/access/{id}"), format!("reason-{id}"));
    html! {
        article.record aria-labelledby={ "request-" (id) } {
            header {
                h3 id={ "request-" (id) } { (parts::named(&request.asked_by.name)) " asks: " (what(request)) }
                span.of { (parts::time(request.requested_at)) }
            }
            (said(request.purpose.expose()))
            @if request.state == AccessState::Asked {
                form.stack method="post" action=(action) {
                    (parts::form_token(owner))
                    (LabelledField::new(&reason, "Reason, for the administrator").faults(&form.faults)
                        .hint(html! { "At most 300 characters, not in the words of a memory. Blank is allowed." })
                        // In a single line, Enter would press the first button.
                        .area(form.field(&reason), 2))
                    div.buttons {
                        button.quiet type="submit" name="answer" value="yes" { "Allow it" }
                        button.quiet type="submit" name="answer" value="no" { "Refuse it" }
                    }
                }
                p.of { "It waits until " (parts::time(request.expires_at)) ". Your answer is given in the agent’s name." }
            } @else {
                p { "Access is granted"
                    @if !request.is_standing() { " until " (parts::time(request.expires_at)) } "." }
                form.inline method="post" action=(action) {
                    (parts::form_token(owner))
                    button.quiet type="submit" name="answer" value="revoke" { "Revoke it" }
                }
            }
        }
    }
}

pub(crate) async fn answer(
    owner: Owner,
    mut form: SentForm,
    Path((_, request)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let grants = agent.grants();
    let id = grants.own_access_id(&request).await?;
    let field = format!("reason-{id}");
    let reason = form.field(&field).trim();
    let reason = (!reason.is_empty()).then(|| PrivateText::from(reason));
    // The owner of an open installation answers in the agent's name, as on the command line (SPEC 5.5).
    let me = Actor::agent(agent.name());
    let answer = |is_granted| grants.answer_access(id, is_granted, reason, &me);
    let done = match form.field("answer") {
        "yes" => answer(true).await.map(|_| "granted"),
        "no" => answer(false).await.map(|_| "refused"),
        "revoke" => {
            grants.revoke_access(id, &owner.actor()).await?;
            Ok("taken-back")
        }
        _ => {
            return Err(PageFailure::invalid(
                "The form does not say what to answer.",
            ));
        }
    };
    let done = match done {
        Ok(done) => done,
        // The request has ended, and its form with it.
        Err(error @ Error::Access(_)) => return Err(error.into()),
        Err(error) => {
            let status = form
                .faults
                .add_error((&field, "Reason"), "Not answered", error)?;
            let shown = page(&owner, &agent, &form).await?;
            return Ok(page_of(status, shown));
        }
    };
    let path = agent_path(agent.scope().agent);
    Ok(see_other(&format!("{path}/waiting?done={done}")))
}

async fn rehearsals(owner: &Owner, agent: &OwnAgent, path: &str) -> Result<Markup, PageFailure> {
    let latest = agent.views().session_page(None, LATEST).await?;
    let is_cut = latest.len() == LATEST as usize;
    let actor = owner.actor();
    let mut waiting = Vec::new();
    for session in latest {
        if !session.rehearsal || session.state != State::Completed {
            continue;
        }
        let facts = agent.sessions().rehearsal_facts(session.id, &actor);
        if let Some(facts) = facts.await?.filter(|facts| facts.applied_by.is_none()) {
            waiting.push((agent.lens().session(session.id).await?, facts));
        }
    }
    // One without changes has nothing to apply.
    waiting.retain(|(_, facts)| !facts.changes.is_empty());
    Ok(html! {
        @if waiting.is_empty() { p.empty { "No rehearsal waits to be applied." } }
        @for (session, facts) in &waiting { (rehearsal(owner, session, facts, path)) }
        @if is_cut { p.hint { "Only the " (LATEST) " latest sessions are looked through." } }
    })
}

fn rehearsal(owner: &Owner, session: &ShownSession, facts: &RehearsalFacts, path: &str) -> Markup {
    let id = session.id;
    let changes = session.words.changes.as_deref().unwrap_or_default();
    html! {
        article.record aria-labelledby={ "rehearsal-" (id) } {
            header {
                h3 id={ "rehearsal-" (id) } { "Rehearsal of " (parts::time(session.started_at)) }
                span.of { (session.stats) }
            }
            @if let Some(summary) = &session.words.summary { (said(summary.expose())) }
            details {
                summary { (words::counted(changes.len() as u64, "memory", "memories")) " would change" }
                @for change in changes { div.source { (rehearsed(change)) } }
            }
            @match &facts.outcome {
                Ok(size) => {
                    p { "The core size would go from " (words::number(size.core_tokens_before)) " to "
                        (words::number(size.core_tokens_after)) " tokens." }
                    form.inline method="post" action={ (path) "/rehearsals/" (id) } {
                        (parts::form_token(owner))
                        // The application applies only what this page shows.
                        input type="hidden" name="newest" value=(facts.newest_seq);
                        button.quiet type="submit" { "Apply it" }
                    }
                },
                Err(error) => p.problem { (with_code(&words::message(error))) },
            }
        }
    }
}

pub(crate) async fn apply(
    owner: Owner,
    form: SentForm,
    Path((_, session)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let id = agent.settings().own_session_id(&session).await?;
    let newest = form.newest()?;
    let seen = agent.as_seen(newest);
    let applied = seen.sessions().apply_rehearsal(id, &owner.actor()).await;
    if matches!(applied, Err(Error::Changed)) {
        return Err(PageFailure::new(
            StatusCode::CONFLICT,
            "Nothing was changed: the agent changed since the page was shown. Load it again to see what applying the \
             rehearsal would do now.",
        ));
    }
    let path = agent_path(agent.scope().agent);
    Ok(see_other(&format!(
        "{path}/session/{}?done=applied",
        applied?.session.id
    )))
}
