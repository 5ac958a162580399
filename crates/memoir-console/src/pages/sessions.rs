//! `/agents/{agent}/sessions` and `/sessions/{session}`

use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
};
use maud::{Markup, html};
use memoir_app::{AgentFacts, Error, SessionFacts};
use memoir_domain::{
    SessionId,
    session::{Driver, EDIT_CAP, State as SessionState, Stats},
    session_entry,
};
use serde::Deserialize;

use super::{Tab, agent_page, agent_path, refine, rehearsal, timeline};
use crate::{
    Console,
    answer::{PageFailure, PageResult, see_other},
    assets::PageScript,
    browser::{self, AgentInPath, Visitor},
    form::{self, PageQuery},
    parts, words,
};

const AT_ONCE: u32 = 50;

#[derive(Deserialize)]
pub(crate) struct SessionListQuery {
    /// The last session of the page before: its time in microseconds and its identifier.
    at: Option<i64>,
    session: Option<String>,
    /// The place of the first record of the page behind.
    before: Option<u64>,
}

pub(crate) async fn list(
    visitor: Visitor,
    PageQuery(query): PageQuery<SessionListQuery>,
    agent: AgentInPath,
) -> PageResult {
    let before = form::place(query.at, query.session.as_deref())?;
    let mut sessions = agent.views().session_page(before, AT_ONCE + 1).await?;
    let path = format!("{}/sessions", agent_path(agent.scope().agent));
    let next = form::cut(&mut sessions, AT_ONCE as usize).map(|last| {
        let at = last.started_at.microseconds().to_string();
        form::address(&path, &[("at", &at), ("session", &last.id.to_string())])
    });
    let content = html! {
        (table(&sessions, "Sessions, the newest first"))
        (parts::older(before.is_some().then_some(path.as_str()), next.as_deref()))
    };
    Ok(agent_page(&visitor, &agent, Tab::Sessions, "Sessions of {}").show(content))
}

/// Sessions as a table; a sentence where there are none.
pub(super) fn table(sessions: &[SessionFacts], caption: &str) -> Markup {
    let names = [
        "Begun", "Outcome", "Why", "Edits", "Archived", "Before", "After",
    ];
    let rows = html! { @for session in sessions { (row(session)) } };
    html! {
        @if sessions.is_empty() { p.empty { "There were no sessions yet." } }
        @else { (parts::table(caption, &names, &[3, 4, 5, 6], rows)) }
    }
}

fn row(session: &SessionFacts) -> Markup {
    html! {
        tr role="row" {
            th role="rowheader" scope="row" data-label="Begun" {
                a href={ "/sessions/" (session.id) } { (parts::time(session.started_at)) }
            }
            td role="cell" data-label="Outcome" { span { (parts::state(session)) } }
            td role="cell" data-label="Why" { (session.trigger.label()) }
            td.figure role="cell" data-label="Edits" { (session.edits) }
            td.figure role="cell" data-label="Archived" { (words::number(u64::from(session.archived))) }
            td.figure role="cell" data-label="Before" { (tokens(session.pre_session_tokens)) }
            td.figure role="cell" data-label="After" { (tokens(session.post_session_tokens)) }
        }
    }
}

fn tokens(count: Option<u64>) -> Markup {
    html! {
        @match count { Some(count) => (words::number(count)), None => span.none { "–" } }
    }
}

pub(crate) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    Path(session): Path<String>,
    PageQuery(query): PageQuery<SessionListQuery>,
) -> PageResult {
    let (agent, id) = visitor.account.session_agent(&session).await?;
    let live = agent.sessions().live_session(id).await?;
    let records = timeline::TimelinePage::load(&agent, id, query.before).await?;
    let view = agent.views().show().await?;
    let session = &live.session;
    // Only the page with the latest records is kept up to date, since new records do not appear on earlier ones.
    let follows = session.state.is_running() && records.is_latest();
    let content = html! {
        div #session data-events=[follows.then(|| format!("/sessions/{id}/events"))] {
            div.headline {
                // `live.js` moves the focus here when the focused button disappears.
                h2 #heading tabindex="-1" { "Session of " (parts::time(session.started_at)) }
                div.now {
                    // `live.js` brings each element that has `data-part` up to date.
                    div data-part="following" { @if follows { (following(id)) } }
                    p data-part="state" { (parts::state(session)) }
                }
            }
            div.standing data-part="standing" { (timeline::status(&live)) }
            div data-part="facts" { (outcome(&console, session)) }
            div data-part="actions" { (actions(&visitor, &view, session)) }
            div data-part="rehearsal" { (rehearsal::section(&visitor, &agent, session).await?) }
            p.hidden role="status" data-read-out {}
            (records.show(&agent, &live))
        }
    };
    let state = words::capital(session.state.label());
    let title = format!("{state} · Session of {{}}");
    Ok(agent_page(&visitor, &agent, Tab::Sessions, &title)
        .scripts(&[PageScript::Live])
        .show(content))
}

/// Says whether the page follows the session.
fn following(id: SessionId) -> Markup {
    html! {
        p.hint.scripted data-following { "This page follows the session." }
        noscript { p.hint { "This page does not update. " a href={ "/sessions/" (id) } { "Reload" } } }
    }
}

fn outcome(console: &Console, session: &SessionFacts) -> Markup {
    let driver = match session.driver {
        Driver::Agent => "the agent itself",
        Driver::Model => "Memoir, with the agent’s model",
    };
    html! {
        dl.facts {
            // These grow while the session runs: `console.css` reserves two lines for the first four, and three for the edits.
            (parts::pair("Outcome", html! { (measured(session)) }))
            (parts::pair("Edits", html! { (session.edits) " of " (EDIT_CAP)
                @if session.stats != Stats::default() { ": " (session.stats) } }))
            // The usage of an agent that drives itself is unknown.
            @if session.driver == Driver::Model {
                (parts::pair("Used", html! {
                    (words::counted(session.usage.calls, "call", "calls")) ", "
                    (words::number(session.usage.input_tokens)) " tokens in, "
                    (words::number(session.usage.output_tokens)) " out"
                    @if let Some(cost) = cost(console, session) { ", at a cost of " (cost) }
                }))
            }
            (parts::pair("Core size", html! {
                @match (session.pre_session_tokens, session.post_session_tokens) {
                    (Some(before), Some(after)) => { (words::number(before)) " → " (words::number(after)) " tokens" },
                    (Some(before), None) => { (words::number(before)) " tokens at its start" },
                    (None, _) => span.none { "–" },
                }
            }))
            (parts::pair("Breaker line", html! {
                @match session.threshold { None => span.none { "–" },
                    Some(threshold) => { (words::share(threshold)) " of the size at its start" } }
            }))
            (parts::pair("Archived", html! { (words::counted(session.archived.into(), "memory", "memories")) }))
            (parts::pair("Summaries", html! { (words::number(session.summaries.into())) }))
            (parts::pair("Loss guard", html! {
                @match session.loss_guard { Some(guard) => (guard.label()), None => span.none { "–" } }
            }))
            (parts::pair("Refused calls", html! { (words::number(u64::from(session.refused_calls))) }))
            (parts::pair("Removed", html! { (words::number(session.removed_tokens)) " tokens" }))
            (parts::pair("Tools", html! { (session.mode.label()) }))
            (parts::pair("Driven by", html! { (driver) }))
            @if let Some(model) = &session.model {
                (parts::pair("Model", html! { code { (model) } }))
            }
            (parts::pair("Begun", html! {
                (parts::time(session.started_at)) ", " (session.trigger.label())
                @if let Some(actor) = &session.started_by { ", by " (parts::named(&actor.name)) }
            }))
            (parts::pair("Ended", parts::time_or(session.ended_at, "not yet")))
            @if let Some(at) = session.undone_at { (parts::pair("Undone", parts::time(at))) }
            // A line of its own, from the beginning, so that later content moves nothing.
            (parts::wide("Why it ended", html! {
                @match session.why_ended() { Some(why) => (why), None => span.none { "–" } }
            }))
        }
    }
}

/// The result of a session: `31 memories archived under 2 summaries, 4 alone; 8,012 → 6,120 tokens`.
fn measured(session: &SessionFacts) -> String {
    let (stats, under) = (session.stats, session.archived_under_summaries);
    let what = session_entry::outcome(stats, session.archived, under, session.summaries);
    match (session.pre_session_tokens, session.post_session_tokens) {
        (Some(before), Some(after)) => {
            let (before, after) = (words::number(before), words::number(after));
            format!("{what}; {before} → {after} tokens")
        }
        _ => what,
    }
}

/// Its cost, where the configuration has the model's price.
fn cost(console: &Console, session: &SessionFacts) -> Option<String> {
    let model = session.model.as_deref()?;
    let mut prices = console.memoir().settings().prices.iter();
    let (_, price) = prices.find(|(name, _)| name.to_string() == model)?;
    Some(format!("{:.4}", price.cost(&session.usage)))
}

fn actions(visitor: &Visitor, view: &AgentFacts, session: &SessionFacts) -> Markup {
    let path = format!("/sessions/{}", session.id);
    let agent = agent_path(view.id);
    let is_running = session.state.is_running();
    let may_be_undone = !session.rehearsal
        // While it runs the buttons stay as they are, so that none loses the focus.
        && (is_running || session.edits > 0)
        && session.undone_at.is_none()
        && !matches!(
            session.state,
            SessionState::RolledBack | SessionState::Declined
        );
    html! {
        div.buttons {
            @if is_running {
                (parts::button(visitor, &format!("{path}/cancel"), "Cancel", "Cancel the session", ""))
            }
            @if session.state == SessionState::Failed { (refine::again(visitor, view, session)) }
            @if may_be_undone { a.button href={ (path) "/roll-back" } { "Roll back…" } }
            @if !is_running {
                a.button href={ (agent) "/time?before=" (session.id) } {
                    "See the time before it"
                }
            }
            a.button href={ (agent) "/access?scope=session:" (session.id) } {
                "Ask to see what it did…"
            }
        }
    }
}

/// The events of the session, live. No other site may read them.
pub(crate) async fn events(
    State(console): State<Console>,
    visitor: Visitor,
    Path(session): Path<String>,
    head: Parts,
) -> PageResult {
    // A stream is requested by `GET`, which carries no form's token.
    browser::check_site(&head.headers)?;
    let (agent, id) = visitor.account.session_agent(&session).await?;
    Ok(console.watch(&head, visitor.0, &agent, id).await)
}

pub(crate) async fn cancel(visitor: Visitor, Path(session): Path<String>) -> PageResult {
    let (agent, id) = visitor.account.session_agent(&session).await?;
    match agent.sessions().cancel(id, &visitor.actor()).await {
        // It ended between the page and the click: no fault of the service.
        Err(Error::SessionLost(_)) => Err(PageFailure::new(
            StatusCode::CONFLICT,
            "The session is over already.",
        )),
        done => {
            done?;
            Ok(see_other(&format!("/sessions/{id}?done=cancelled")))
        }
    }
}
