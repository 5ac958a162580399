//! `/sessions/{session}/roll-back`: the conflicts first, then the undo.

use axum::{extract::Path, http::StatusCode};
use maud::{Markup, html};
use memoir_app::{AgentHandle, Error, sessions::RollBackPreview};
use memoir_domain::{SessionId, audit::Actor, rollback::Obstacle};

use super::{Tab, agent_page};
use crate::{
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::Visitor,
    form::SentForm,
    parts::{self, HasFormToken},
    words,
};

pub(crate) async fn preview(visitor: Visitor, Path(session): Path<String>) -> PageResult {
    let (agent, id) = visitor.account.session_agent(&session).await?;
    page(&visitor, &agent, id, None).await
}

/// What a rollback leaves as it is.
pub(super) const BOUNDS: &str = "Duplicates that were joined before its first edit stay joined. \
    Rolling back is on the record, and can be undone itself.";

/// The outcome of rolling back, the later changes that conflict, and the form. `sessions` is the path below which the
/// pages of sessions are, each with its own `/roll-back`.
pub(super) fn previewed(
    visitor: &impl HasFormToken,
    sessions: &str,
    id: SessionId,
    preview: &RollBackPreview,
) -> Markup {
    html! {
        dl.facts { (parts::become_different(&preview.changes)) }
        @if preview.obstacles.is_empty() {
            p { "No later change conflicts with it." }
        } @else {
            p { "This is the outcome with the later changes undone too." }
            (in_the_way(&preview.obstacles, sessions))
        }
        (form(visitor, &format!("{sessions}/{id}"), preview))
    }
}

async fn page(
    visitor: &Visitor,
    agent: &AgentHandle,
    id: SessionId,
    problem: Option<&str>,
) -> PageResult {
    let sessions = agent.sessions();
    let preview = sessions.preview_roll_back(id, &visitor.actor()).await?;
    let session = agent.views().session(id).await?;
    let content = html! {
        @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
        h2 { "Roll back the session of " (parts::time(session.started_at)) }
        p { "Every memory that it changed becomes what it was before. What it did: "
            (session.stats) ". " (BOUNDS) }
        (previewed(visitor, "/sessions", id, &preview))
    };
    Ok(agent_page(visitor, agent, Tab::Sessions, "Roll back a session of {}").show(content))
}

fn in_the_way(obstacles: &[Obstacle], sessions: &str) -> Markup {
    html! {
        p.problem { (words::counted(obstacles.len() as u64, "later change", "later changes"))
            " of the same memories " (if obstacles.len() == 1 { "conflicts" } else { "conflict" }) " with it:" }
        (parts::table("Later changes of the same memories",
            &["Record", "When", "What", "Session", "Memories"], &[0], html! {
            @for obstacle in obstacles {
                tr role="row" {
                    th role="rowheader" scope="row" class="figure" data-label="Record" { (obstacle.seq) }
                    td role="cell" data-label="When" { (parts::time(obstacle.recorded_at)) }
                    td.what role="cell" data-label="What" { (obstacle.action.label()) }
                    td role="cell" data-label="Session" {
                        @match obstacle.session_id {
                            Some(id) => a href={ (sessions) "/" (id) } { "Show it" },
                            None => span.none { "none" },
                        }
                    }
                    td role="cell" data-label="Memories" {
                        span { @for number in &obstacle.memories { "#" (number.0) " " } }
                    }
                }
            }
        }))
    }
}

fn form(visitor: &impl HasFormToken, session: &str, preview: &RollBackPreview) -> Markup {
    html! {
        form.row method="post" action={ (session) "/roll-back" } {
            (parts::form_token(visitor))
            @if !preview.obstacles.is_empty() {
                input type="hidden" name="newest" value=(preview.newest_seq);
                div.check {
                    input #cascade name="cascade" type="checkbox" value="yes" required;
                    label for="cascade" { "Undo these later changes too" }
                }
            }
            button.danger type="submit" { "Roll back" }
            a href=(session) { "Leave it as it is" }
        }
    }
}

pub(crate) async fn roll_back(
    visitor: Visitor,
    form: SentForm,
    Path(session): Path<String>,
) -> PageResult {
    let (agent, id) = visitor.account.session_agent(&session).await?;
    match carry_out(&agent, id, &form, &visitor.actor()).await? {
        None => Ok(see_other(&format!("/sessions/{id}?done=rolled-back"))),
        Some(problem) => {
            let shown = page(&visitor, &agent, id, Some(problem)).await?;
            Ok(page_of(StatusCode::CONFLICT, shown))
        }
    }
}

/// Rolls back as the form of [`previewed`] says; else why nothing was changed.
pub(super) async fn carry_out(
    agent: &AgentHandle,
    id: SessionId,
    form: &SentForm,
    actor: &Actor,
) -> Result<Option<&'static str>, PageFailure> {
    let done = match form.is_ticked("cascade") {
        // Bound to what was shown only with later changes too: without them, any conflict refuses it.
        false => agent.sessions().roll_back(id, false, actor).await,
        true => {
            let agent = agent.as_seen(form.newest()?);
            agent.sessions().roll_back(id, true, actor).await
        }
    };
    match done {
        Err(Error::InTheWay { .. }) => Ok(Some(
            "Nothing was changed: later changes of the same memories conflict with it.",
        )),
        Err(Error::Changed) => Ok(Some(
            "Nothing was changed: the agent changed since this page was shown. This is what rolling back would do now.",
        )),
        done => {
            done?;
            Ok(None)
        }
    }
}
