//! `/agents/{agent}`: how one agent stands, and what can be done about it.

use axum::{
    Extension,
    extract::{Path, RawQuery, State},
};
use maud::{Markup, html};
use memoir_app::{AgentFacts, AgentHandle};
use memoir_domain::{
    agent::{Field, Threshold},
    breaker::Gauge,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Tab, access, agent_head, agent_path, mass, refine, sessions::table};
use crate::{
    Console,
    answer::{PageResult, see_other},
    assets::PageScript,
    browser::Visitor,
    form,
    parts::{self, ConsoleSection, SignedInPage},
    words,
};

/// The latest sessions that are shown.
const LATEST: u32 = 5;

#[derive(Deserialize)]
pub(crate) struct AgentPageQuery {
    done: Option<String>,
}

pub(crate) async fn show(
    State(console): State<Console>,
    Extension(visitor): Extension<Visitor>,
    Path(agent): Path<String>,
    RawQuery(raw_query): RawQuery,
) -> PageResult {
    let query: AgentPageQuery = form::query(raw_query.as_deref())?;
    let agent = visitor.account.agent(&agent).await?;
    let draft = refine::RefineForm::default();
    page(&console, &visitor, &agent, query.done.as_deref(), &draft).await
}

/// The page, with what was typed into its form and what was wrong with it.
pub(super) async fn page(
    console: &Console,
    visitor: &Visitor,
    agent: &AgentHandle,
    done: Option<&str>,
    draft: &refine::RefineForm,
) -> PageResult {
    let view = agent.show().await?;
    let latest = agent.session_page(None, LATEST).await?;
    let open = access::open(agent).await?;
    let content = html! {
        (agent_head(agent, Tab::Overview))
        (draft.faults.summary())
        (status(&view))
        (open)
        (mass::section(agent))
        (refine::section(console, visitor, &view, &latest, draft))
        section aria-labelledby="latest" {
            h2 #latest { "Latest sessions" }
            (table(&latest, "The latest sessions"))
        }
        section aria-labelledby="settings" {
            h2 #settings { "Settings" }
            (settings(console, &view))
        }
    };
    Ok(
        SignedInPage::new(visitor, agent.name(), ConsoleSection::Fleet)
            .done(done)
            .scripts(&[PageScript::Plot])
            .show(content),
    )
}

fn status(view: &AgentFacts) -> Markup {
    let tally = &view.counts;
    let budget = view.effective_core_token_budget;
    html! {
        section aria-labelledby="standing" {
            h2.hidden #standing { "How it stands" }
            div.mass {
                p.figures { strong { (words::number(tally.core_tokens)) }
                    " of " (words::number(budget)) " tokens"
                    span.of { " · " (words::percent(tally.core_tokens, budget)) " % of the budget" } }
                (parts::bar(tally.core_tokens, budget))
            }
            dl.facts {
                (parts::pair("Core memories", html! { (words::number(tally.core_count)) }))
                (parts::pair("Journal entries", html! {
                    (words::number(tally.journal_count))
                    @if tally.journal_count > 0 {
                        span.of { " · " (words::number(tally.journal_tokens)) " tokens" }
                    }
                }))
                (parts::pair("Constitutional", html! { (words::number(tally.constitutional_count)) }))
                (parts::pair("Discarded", html! { (words::number(tally.discarded_count)) }))
                (parts::pair("Breaker", html! { (breaker(view)) }))
                (parts::pair("Kept", html! {
                    (parts::kept(&view.kept)) " of all words that were ever said; "
                    (words::counted(view.kept.lost_words, "word", "words")) " let go, "
                    (words::number(view.kept.lost_words_year)) " of them in the last 365 days"
                }))
                (parts::pair("Last refined", parts::time_or(view.last_refinement_at, "never")))
                (parts::pair("Next session", next(view)))
                (parts::pair("Made", parts::time(view.created_at)))
            }
        }
    }
}

fn next(view: &AgentFacts) -> Markup {
    match view.next_refinement_reason {
        Some(reason) => html! { span.none { "never: " (reason.explanation()) } },
        None => parts::time_or(view.next_refinement_at, "not scheduled"),
    }
}

/// From what loss on a session that begins now is undone, in the words that the agent gets too.
fn breaker(view: &AgentFacts) -> String {
    let threshold = Threshold::new(view.effective_refinement_threshold);
    let gauge = Gauge {
        pre_session_tokens: view.counts.core_tokens,
        core_tokens: view.counts.core_tokens,
        removed_tokens: 0,
        // The view holds a bare number, which was checked when it was set, so the default is never used.
        threshold: threshold.unwrap_or(Threshold::DEFAULT),
    };
    format!("{} in one session", gauge.allowance())
}

/// A setting as set; `None` for a prompt that the agent itself has set.
pub(super) fn value(view: &AgentFacts, field: Field) -> Option<&Value> {
    view.settings.expose().get(field.as_str())
}

/// What most people look for among the settings.
fn settings(console: &Console, view: &AgentFacts) -> Markup {
    let schedule = console.memoir().schedule();
    html! {
        dl.facts {
            (parts::pair("Model", html! {
                @match &view.effective_model { Some(model) => code { (model) }, None => span.none { "none" } }
            }))
            (parts::pair("Core token budget", html! { (words::number(view.effective_core_token_budget)) }))
            (parts::pair("Due from", html! {
                (words::number(view.effective_refinement_trigger_tokens)) " tokens on"
            }))
            (parts::pair("Weekly slot", html! {
                (schedule.weekly)
                @if let Some(zone) = &schedule.time_zone { span.of { " · " (zone) } }
                @if !schedule.enabled { span.of { " · the schedule is switched off" } }
            }))
        }
        p { a href={ (agent_path(view.id)) "/settings" } { "All settings and tokens" } }
    }
}

pub(crate) async fn pause(
    Extension(visitor): Extension<Visitor>,
    Path(agent): Path<String>,
) -> PageResult {
    set_paused(&visitor, &agent, true).await
}

pub(crate) async fn resume(
    Extension(visitor): Extension<Visitor>,
    Path(agent): Path<String>,
) -> PageResult {
    set_paused(&visitor, &agent, false).await
}

async fn set_paused(visitor: &Visitor, agent: &str, paused: bool) -> PageResult {
    let agent: AgentHandle = visitor.account.agent(agent).await?;
    let (value, done) = match paused {
        true => ("true", "paused"),
        false => ("false", "resumed"),
    };
    let assignments = [(Field::Paused, Some(value))];
    agent.configure(&assignments, &visitor.actor()).await?;
    let path = agent_path(agent.scope().agent);
    Ok(see_other(&format!("{path}?done={done}")))
}
