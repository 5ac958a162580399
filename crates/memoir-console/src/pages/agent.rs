//! `/agents/{agent}`: the state of one agent, and the acts on it.

use axum::{extract::State, http::HeaderMap};
use maud::{Markup, html};
use memoir_app::{AgentFacts, AgentHandle, ContextShare, OriginalsView, SessionFacts};
use memoir_domain::{
    Timestamp,
    agent::{Field, Threshold},
    session::Health,
};
use serde_json::Value;

use super::{
    Tab, access, agent_page, agent_path, connect_agent, core_size, refine, sessions::table,
};
use crate::{
    Console,
    answer::{PageResult, see_other},
    assets::PageScript,
    browser::{AgentInPath, Visitor},
    form::SentForm,
    parts, words,
};

/// The latest sessions that are shown.
const LATEST: u32 = 5;

pub(crate) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    headers: HeaderMap,
    agent: AgentInPath,
) -> PageResult {
    let form = SentForm::default();
    page(&console, &visitor, &headers, &agent, &form).await
}

/// The page, with the input of its form and the faults.
pub(super) async fn page(
    console: &Console,
    visitor: &Visitor,
    headers: &HeaderMap,
    agent: &AgentHandle,
    form: &SentForm,
) -> PageResult {
    let view = agent.views().show().await?;
    let latest = agent.views().session_page(None, LATEST).await?;
    let open = access::open(agent).await?;
    let archive = agent.log().originals().await?;
    let share = agent.memories().context_share().await?;
    let connect = match connect_agent::is_empty(&view.counts) {
        true => Some(connect_agent::section(console, visitor, headers, (agent, &view)).await?),
        false => None,
    };
    let now = console.memoir().now();
    let core_size = core_size::section(agent, now).await;
    let scripts: &'static [PageScript] = match &connect {
        Some(_) => &[PageScript::Light],
        None => &[],
    };
    let content = html! {
        (form.faults.summary())
        (sentence(&view, latest.first(), now))
        @if let Some(connect) = connect { (connect) }
        (status(&view, now))
        (open)
        (core_size)
        (originals(&archive))
        (context(&share))
        (refine::section(console, visitor, &view, &latest, form))
        section aria-labelledby="latest" {
            h2 #latest { "Latest sessions" }
            (table(&latest, "The latest sessions"))
        }
    };
    Ok(agent_page(visitor, agent, Tab::Overview, "{}")
        .scripts(scripts)
        .show(content))
}

/// How the agent is, and what comes next, in one sentence.
fn sentence(view: &AgentFacts, last: Option<&SessionFacts>, now: Timestamp) -> Markup {
    let failure = last.and_then(|session| session.failure);
    let refused = last.map_or(0, |session| session.refused_calls);
    let how = words::capital(&view.health_words(failure, refused));
    html! {
        p { span.troubled[view.health != Health::InOrder] { (how) } ". Next session: "
            (next(view, now)) "." }
    }
}

fn status(view: &AgentFacts, now: Timestamp) -> Markup {
    let tally = &view.counts;
    let budget = view.effective_core_token_budget;
    html! {
        section aria-labelledby="standing" {
            h2.hidden #standing { "State" }
            div.mass {
                p.figures { strong { (words::number(tally.core_tokens)) }
                    " of " (words::number(budget)) " tokens"
                    span.of { " · " (words::percent(tally.core_tokens, budget)) "\u{a0}% of the budget" } }
                (parts::bar(tally.core_tokens, budget))
            }
            dl.facts {
                (parts::pair("Core memories", html! { (words::number(tally.core_count)) }))
                (parts::pair("Summaries", html! {
                    (words::number(tally.summary_count)) (tokens_beside(tally.summary_count, tally.summary_tokens))
                }))
                (parts::pair("Archive", html! {
                    (words::counted(tally.archival_count, "memory", "memories"))
                    (tokens_beside(tally.archival_count, tally.archival_tokens))
                    @if tally.replaced_count > 0 {
                        span.of { " · " (words::number(tally.replaced_count)) " replaced" }
                    }
                }))
                (parts::pair("Loss guard", html! { (view.effective_loss_guard.label()) }))
                (parts::pair("Journal entries", html! {
                    (words::number(tally.journal_count)) (tokens_beside(tally.journal_count, tally.journal_tokens))
                }))
                (parts::pair("Constitutional", html! { (words::number(tally.constitutional_count)) }))
                (parts::pair("Discarded", html! { (words::number(tally.discarded_count)) }))
                (parts::pair("Last refined", parts::time_or(view.last_refinement_at, "never")))
                (parts::pair("Next session", next(view, now)))
                (parts::pair("Made", parts::time(view.created_at)))
                (parts::wide("Breaker", breaker(view)))
            }
        }
    }
}

/// The tokens of some memories, where there are any.
fn tokens_beside(count: u64, tokens: u64) -> Markup {
    html! { @if count > 0 { span.of { " · " (words::number(tokens)) " tokens" } } }
}

/// The share of the core memories that the context shows, by the calendar quarter in which they were recorded.
fn context(share: &ContextShare) -> Markup {
    html! {
        section aria-labelledby="context" {
            h2 #context { "Context" }
            @if share.core_memories == 0 { p { "There are no core memories to show." } }
            @else {
                p { "The context shows " (words::number(share.shown)) " of "
                    (words::counted(share.core_memories, "core memory", "core memories"))
                    @if let Some(tokens) = share.max_tokens { " within " (words::number(tokens)) " tokens" } "." }
            }
            @if !share.by_quarter.is_empty() {
                (parts::table("Core memories by the calendar quarter (UTC) in which they were recorded",
                    &["Quarter (UTC)", "Core memories", "In the context"], &[1, 2], html! {
                    @for quarter in share.by_quarter.iter().rev() {
                        tr role="row" {
                            th role="rowheader" scope="row" data-label="Quarter (UTC)" { (quarter.quarter) }
                            td.figure role="cell" data-label="Core memories" { (words::number(quarter.core_memories)) }
                            td.figure role="cell" data-label="In the context" { (words::number(quarter.shown)) }
                        }
                    }
                }))
            }
        }
    }
}

/// Where the originals are, by the calendar quarter in which they were saved.
pub(super) fn originals(view: &OriginalsView) -> Markup {
    let counts = &view.originals;
    html! {
        section aria-labelledby="originals" {
            h2 #originals { "Originals" }
            p { (words::counted(counts.total, "original", "originals")) ": " (counts.places()) "." }
            @if !view.originals_by_quarter.is_empty() {
                (parts::table("Originals by the calendar quarter (UTC) in which they were saved",
                    &["Quarter (UTC)", "Saved", "In the prompt", "In the archive"], &[1, 2, 3], html! {
                    @for quarter in view.originals_by_quarter.iter().rev() {
                        tr role="row" {
                            th role="rowheader" scope="row" data-label="Quarter (UTC)" { (quarter.quarter) }
                            td.figure role="cell" data-label="Saved" { (words::number(quarter.saved)) }
                            td.figure role="cell" data-label="In the prompt" { (words::number(quarter.in_prompt)) }
                            td.figure role="cell" data-label="In the archive" { (words::number(quarter.archived)) }
                        }
                    }
                }))
            }
        }
    }
}

/// When the schedule asks the agent next, or why it never does.
pub(super) fn next(view: &AgentFacts, now: Timestamp) -> Markup {
    html! {
        // First: an agent can be due that the schedule does not ask.
        @if let Some(reason) = view.next_refinement_reason {
            span.none { "never, since " (reason.label()) }
        } @else if let Some(due) = view.refinement_due {
            span.badge.running { "due (" (due.reason.label()) ")" }
        } @else if let Some(at) = view.next_refinement_at {
            (parts::relative(at, now))
        } @else {
            span.none { "not scheduled" }
        }
    }
}

/// The loss at which a session that begins now is undone.
fn breaker(view: &AgentFacts) -> Markup {
    let size = view.counts.core_tokens;
    // The view holds a bare number, which was checked when it was set, so the default is never used.
    let threshold = Threshold::new(view.effective_refinement_threshold);
    let least = threshold.unwrap_or(Threshold::DEFAULT).least_of(size);
    html! {
        @if size == 0 { span.none { "no core memories, so a session has nothing to lose" } }
        @else { "A session that leaves fewer than " (words::number(least)) " of " (words::number(size))
            " tokens is undone." }
    }
}

/// A setting as set; `None` for a prompt that the agent itself has set.
pub(super) fn value(view: &AgentFacts, field: Field) -> Option<&Value> {
    view.settings.expose().get(field.as_str())
}

pub(crate) async fn pause(visitor: Visitor, agent: AgentInPath) -> PageResult {
    set_paused(&visitor, &agent, true).await
}

pub(crate) async fn resume(visitor: Visitor, agent: AgentInPath) -> PageResult {
    set_paused(&visitor, &agent, false).await
}

async fn set_paused(visitor: &Visitor, agent: &AgentHandle, paused: bool) -> PageResult {
    let (value, done) = match paused {
        true => ("true", "paused"),
        false => ("false", "resumed"),
    };
    let assignments = [(Field::Paused, Some(value))];
    let settings = agent.settings();
    settings.configure(&assignments, &visitor.actor()).await?;
    let path = agent_path(agent.scope().agent);
    Ok(see_other(&format!("{path}?done={done}")))
}
