//! Beginning a session from an agent's page, and why none can be begun.

use std::{fmt::Display, str::FromStr};

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use maud::{Markup, html};
use memoir_app::{AgentFacts, SessionFacts, sessions::RefineOptions};
use memoir_domain::{
    agent::{Field, LossGuard},
    schedule::SkipReason,
    session::Mode,
};
use serde_json::Value;

use super::{
    agent, agent_path,
    settings::fields::{self, MODELS},
};
use crate::{
    Console,
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::{AgentInPath, Visitor},
    field::LabelledField,
    form::SentForm,
    parts, words,
};

/// Its anchor on the page, with a form or only the reason.
const PLACE: &str = "actions";
const MODE: &str = "mode";
const REHEARSAL: &str = "rehearsal";
const MODEL: &str = "model";

/// Why no session can be begun now. `latest` are the agent's sessions, newest first: one that runs is the newest.
fn hindrance(view: &AgentFacts, latest: &[SessionFacts]) -> Option<Markup> {
    let (counts, path) = (&view.counts, agent_path(view.id));
    let running = latest.iter().find(|session| session.ended_at.is_none());
    // In the order of `lifecycle::begin`, so that the page names the reason of the refusal.
    let reason = if agent::value(view, Field::Active) == Some(&Value::Bool(false)) {
        html! { "the agent is out of service, which its "
        a href={ (path) "/settings" } { "settings" } " say." }
    } else if let Some(session) = running {
        html! { "one is running already. "
        a href={ "/sessions/" (session.id) } { "Show the session that runs" } "." }
    } else if counts.core_count == 0 {
        html! { "the agent has no core memories, so there is nothing to refine." }
    } else if view.effective_loss_guard != LossGuard::Off
        // With the guard, constitutional memories are left alone (SPEC 3.5).
        && counts.constitutional_count == counts.core_count
    {
        html! { "all core memories of the agent are constitutional, so there is nothing to refine." }
    } else {
        return None;
    };
    Some(html! { p { "No session can be begun now: " (reason) } })
}

pub(super) fn section(
    console: &Console,
    visitor: &Visitor,
    view: &AgentFacts,
    latest: &[SessionFacts],
    form: &SentForm,
) -> Markup {
    html! {
        section aria-labelledby=(PLACE) {
            h2 id=(PLACE) { "Refining" }
            @match hindrance(view, latest) {
                Some(hindrance) => (hindrance),
                None => (begin(console, visitor, view, form)),
            }
            (schedule(console, visitor, view))
        }
    }
}

fn begin(console: &Console, visitor: &Visitor, view: &AgentFacts, form: &SentForm) -> Markup {
    let labelled = |id, label| LabelledField::new(id, label).faults(&form.faults);
    let modes = Mode::ALL.map(|mode| (mode.as_str(), words::capital(mode.label())));
    html! {
        form method="post" action={ (agent_path(view.id)) "/refine" } {
            (parts::form_token(visitor))
            (fields::models(console.memoir()))
            div.row {
                (labelled(MODE, "How").choice(form.field(MODE), &modes))
                (labelled(REHEARSAL, "Rehearse on a copy").tick(form.is_ticked(REHEARSAL)))
                button.main type="submit" { "Refine now" }
            }
            // The details are open where the agent has no model: a session then needs one that is named here.
            details open[!form.field(MODEL).is_empty() || view.effective_model.is_none()] {
                summary { "With another model, this once" }
                div.fields {
                    (labelled(MODEL, "Model")
                        .hint(html! { "Blank for the agent’s own. The record names the one that was taken." })
                        .suggested(form.field(MODEL), MODELS))
                }
            }
        }
        p.hint {
            "The agent is asked first and may say no. "
            @match &view.effective_model {
                Some(model) => { "Its model is " code { (model) } ". " },
                None => "It has no model of its own, and the installation has none for it: name one. ",
            }
            "A rehearsal changes nothing: its result can be applied afterwards."
        }
    }
}

/// Begins another session like this one, which failed. The agent's own model is taken, which may have been corrected
/// since; the session's where there is none.
pub(super) fn again(visitor: &Visitor, view: &AgentFacts, session: &SessionFacts) -> Markup {
    let model = session.model.as_deref();
    let model = model.filter(|_| view.effective_model.is_none());
    html! {
        form.inline method="post" action={ (agent_path(view.id)) "/refine" } {
            (parts::form_token(visitor))
            input type="hidden" name=(MODE) value=(session.mode.as_str());
            @if session.rehearsal { input type="hidden" name=(REHEARSAL) value="yes"; }
            @if let Some(model) = model { input type="hidden" name=(MODEL) value=(model); }
            button.main type="submit" { "Try again" }
        }
    }
}

/// Whether the schedule asks the agent, and pausing it.
fn schedule(console: &Console, visitor: &Visitor, view: &AgentFacts) -> Markup {
    let path = agent_path(view.id);
    let is_paused = agent::value(view, Field::Paused) == Some(&Value::Bool(true));
    html! {
        div.stated-by {
            span {
                @match view.next_refinement_reason {
                    None => "The schedule asks it when it is due.",
                    Some(SkipReason::Paused) => {
                        "It is paused: the schedule skips it. You can start a session all the same."
                    }
                    Some(SkipReason::ScheduleOff) if !console.memoir().schedule().enabled => {
                        "The schedule is off in this installation (" code { "enabled" } " in " code { "[schedule]" }
                        " of its configuration): it is asked only on request."
                    }
                    Some(SkipReason::ScheduleOff) => {
                        "Its schedule is off in its " a href={ (path) "/settings" } { "settings" }
                        ": it is asked only on request."
                    }
                    Some(reason) => { "The schedule never asks it: " (reason.label()) "." }
                }
            }
            @if is_paused {
                (parts::button(visitor, &format!("{path}/resume"), "Resume", "Resume the schedule", ""))
            } @else {
                (parts::button(visitor, &format!("{path}/pause"), "Pause", "Pause the schedule", ""))
            }
        }
    }
}

pub(crate) async fn refine(
    State(console): State<Console>,
    visitor: Visitor,
    mut form: SentForm,
    headers: HeaderMap,
    agent: AgentInPath,
) -> PageResult {
    let mode = Mode::from_name(form.field(MODE))
        .ok_or_else(|| PageFailure::invalid("There is no such way of refining."))?;
    let model = given(form.field(MODEL)).unwrap_or_else(|problem| {
        form.faults.add(MODEL, "Model", &problem);
        None
    });
    let mut status = StatusCode::CONFLICT;
    if form.faults.is_empty() {
        let options = RefineOptions {
            mode,
            model,
            rehearsal: form.is_ticked(REHEARSAL),
            started_by: Some(visitor.actor()),
            ..RefineOptions::default()
        };
        match agent.sessions().enqueue(&options).await {
            Ok(session) => {
                // Without this call the session would wait until a worker checks by itself.
                console.wake_workers();
                return Ok(see_other(&format!("/sessions/{}", session.id)));
            }
            Err(error) => {
                let failed = "No session was begun";
                status = form.faults.add_error((PLACE, failed), failed, error)?;
            }
        }
    }
    let shown = agent::page(&console, &visitor, &headers, &agent, &form).await?;
    Ok(page_of(status, shown))
}

/// Parses the input; `None` where it is blank.
fn given<T: FromStr<Err: Display>>(text: &str) -> Result<Option<T>, String> {
    let text = Some(text.trim()).filter(|text| !text.is_empty());
    let read = text.map(str::parse).transpose();
    read.map_err(|error: T::Err| error.to_string())
}
