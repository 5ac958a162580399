//! `/agents/{agent}`: how one agent stands, its settings, and what can be done about it.

use axum::{
    Extension,
    extract::{Path, RawQuery, State},
};
use maud::{Markup, html};
use memoir_app::{AgentHandle, AgentView, ErosionView, Eyes, SessionView, sessions::RefineOptions};
use memoir_domain::{
    agent::{Field, Threshold},
    breaker::Gauge,
    session::Mode,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Tab, agent_head, agent_path, sessions::table};
use crate::{
    Console,
    answer::{Answer, Failure, see_other},
    browser::Visitor,
    form::{self, Form},
    parts::{self, Place, Sheet},
    words,
};

/// The latest sessions that are shown.
const LATEST: u32 = 5;

#[derive(Deserialize)]
pub(crate) struct Wanted {
    done: Option<String>,
}

pub(crate) async fn show(
    Extension(visitor): Extension<Visitor>,
    Path(agent): Path<String>,
    RawQuery(query): RawQuery,
) -> Answer {
    let wanted: Wanted = form::query(query.as_deref())?;
    let agent = visitor.account.agent(&agent).await?;
    let view = agent.show_to_administrator().await?;
    let erosion = agent.erosion().await?;
    let latest = agent
        .session_page(None, LATEST, Eyes::Administrator)
        .await?;
    let content = html! {
        (agent_head(&agent, Tab::Overview))
        (standing(&view, &erosion))
        section aria-labelledby="actions" {
            h2 #actions { "Refining" }
            (actions(&visitor, &view))
        }
        section aria-labelledby="latest" {
            h2 #latest { "Latest sessions" }
            (table(&latest, "The latest sessions"))
        }
        section aria-labelledby="settings" {
            h2 #settings { "Settings" }
            (settings(&view))
        }
    };
    Ok(Sheet::new(&visitor, agent.name(), Place::Fleet)
        .done(wanted.done.as_deref())
        .show(content))
}

fn standing(view: &AgentView, erosion: &ErosionView) -> Markup {
    let tally = &view.tally;
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
                (parts::pair("Journal entries", html! { (words::number(tally.journal_count)) }))
                (parts::pair("Constitutional", html! { (words::number(tally.constitutional_count)) }))
                (parts::pair("Discarded", html! { (words::number(tally.discarded_count)) }))
                (parts::pair("To the breaker", html! {
                    (words::number(to_the_breaker(view))) " tokens in one session"
                }))
                (parts::pair("To the erosion floor", html! {
                    (words::number(erosion.removable_tokens)) " tokens; "
                    (words::share(erosion.ratio)) " is left of " (erosion.days) " days, the floor is "
                    (words::share(erosion.floor))
                }))
                (parts::pair("Last refined", parts::time_or(view.last_refinement_at, "never")))
                (parts::pair("Next session", parts::time_or(view.next_refinement_at, "not scheduled")))
                (parts::pair("Made", parts::time(view.created_at)))
            }
        }
    }
}

/// What a session that begins now could remove.
fn to_the_breaker(view: &AgentView) -> u64 {
    let threshold = Threshold::new(view.effective_refinement_threshold);
    let gauge = Gauge {
        pre_session_tokens: view.tally.core_tokens,
        core_tokens: view.tally.core_tokens,
        removed_tokens: 0,
        threshold: threshold.unwrap_or(Threshold::DEFAULT),
    };
    gauge.removable_tokens()
}

fn actions(visitor: &Visitor, view: &AgentView) -> Markup {
    let path = agent_path(view.id);
    let is_paused = value(view, Field::Paused) == Some(&Value::Bool(true));
    html! {
        form.row method="post" action={ (path) "/refine" } {
            (parts::form_token(visitor))
            div.field {
                label for="mode" { "How" }
                select #mode name="mode" {
                    option value="full" selected { "All six tools" }
                    option value="dedup_only" { "Duplicates only" }
                }
            }
            div.check {
                input #rehearsal name="rehearsal" type="checkbox" value="yes";
                label for="rehearsal" { "Rehearse on a copy" }
            }
            button.main type="submit" { "Refine now" }
        }
        p.hint {
            "The agent is asked first and may say no. "
            @match &view.effective_model {
                Some(model) => { "Its model is " code { (model) } "." },
                None => "It has no model, so no session can be begun from here.",
            }
        }
        @if is_paused {
            div.told-by { span { "The schedule leaves it alone." } " "
                (parts::button(visitor, &format!("{path}/resume"), "Resume", "Resume the schedule", "")) }
        } @else {
            div.told-by { span { "The schedule asks it when it is due." } " "
                (parts::button(visitor, &format!("{path}/pause"), "Pause", "Pause the schedule", "")) }
        }
    }
}

/// A setting as set; `None` for a prompt that the agent itself has set.
fn value(view: &AgentView, field: Field) -> Option<&Value> {
    view.settings.expose().get(field.as_str())
}

fn settings(view: &AgentView) -> Markup {
    html! {
        div.scroll {
            table.plain {
                caption.hidden { "Settings as set, and those in force" }
                thead { tr { th scope="col" { "Setting" } th scope="col" { "As set" } th scope="col" { "In force" } } }
                tbody {
                    @for field in Field::ALL.into_iter().filter(|field| *field != Field::Name) {
                        tr {
                            th scope="row" { (words::spaced(field.as_str())) }
                            td { (as_set(view, field)) }
                            td { (in_force(view, field)) }
                        }
                    }
                }
            }
        }
    }
}

fn as_set(view: &AgentView, field: Field) -> Markup {
    match value(view, field) {
        None => html! { "set by the agent" },
        Some(Value::Null) => html! { span.none { "default" } },
        // A prompt is shown by its length, whoever set it.
        Some(Value::String(text)) if field.is_text() => html! {
            "set, " (words::counted(text.chars().count() as u64, "character", "characters"))
        },
        Some(value) => html! { (told(value)) },
    }
}

fn in_force(view: &AgentView, field: Field) -> Markup {
    let number = |count: u64| html! { (words::number(count)) };
    match field {
        Field::Model => html! {
            @match &view.effective_model { Some(model) => (model), None => span.none { "none" } }
        },
        Field::RefinementThreshold => html! { (view.effective_refinement_threshold) },
        Field::CoreTokenBudget => number(view.effective_core_token_budget),
        Field::RefinementTriggerTokens => number(view.effective_refinement_trigger_tokens),
        Field::ImmutableTags => html! { (view.effective_immutable_tags.join(", ")) },
        Field::DuplicateMatch => code(&view.effective_duplicate_match),
        Field::DetailGuard => code(&view.effective_detail_guard),
        _ => as_set(view, field),
    }
}

fn code(value: &impl serde::Serialize) -> Markup {
    let value = serde_json::to_value(value).unwrap_or_default();
    html! { (told(&value)) }
}

/// A value of a setting that is no prompt.
fn told(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => words::spaced(text),
        Value::Number(number) => number
            .as_u64()
            .map_or_else(|| number.to_string(), words::number),
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            items.join(", ")
        }
        _ => String::new(),
    }
}

pub(crate) async fn refine(
    State(console): State<Console>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Form>,
    Path(agent): Path<String>,
) -> Answer {
    let agent = visitor.account.agent(&agent).await?;
    let mode = match form.field("mode") {
        "full" => Mode::Full,
        "dedup_only" => Mode::DedupOnly,
        _ => return Err(Failure::invalid("There is no such way of refining.")),
    };
    let options = RefineOptions {
        mode,
        rehearsal: form.is_ticked("rehearsal"),
        ..RefineOptions::default()
    };
    let session: SessionView = agent.enqueue(&options).await?;
    console.wake_workers();
    Ok(see_other(&format!("/sessions/{}?done=queued", session.id)))
}

pub(crate) async fn pause(
    Extension(visitor): Extension<Visitor>,
    Path(agent): Path<String>,
) -> Answer {
    set_paused(&visitor, &agent, true).await
}

pub(crate) async fn resume(
    Extension(visitor): Extension<Visitor>,
    Path(agent): Path<String>,
) -> Answer {
    set_paused(&visitor, &agent, false).await
}

async fn set_paused(visitor: &Visitor, agent: &str, paused: bool) -> Answer {
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
