//! `/memory/{agent}/session/{session}`: what a session reported, and undoing it.

use axum::{extract::Path, http::StatusCode};
use maud::html;
use memoir_app::{Error, OwnAgent};
use memoir_domain::SessionId;

use super::{
    super::{
        reading::said,
        undo::{self, previewed},
    },
    OwnTab, agent_page, agent_path,
};
use crate::{
    answer::{PageResult, page_of, see_other},
    browser::{OwnAgentInPath, Owner},
    field::with_code,
    form::SentForm,
    parts, words,
};

pub(crate) async fn show(
    owner: Owner,
    Path((_, session)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let id = agent.settings().own_session_id(&session).await?;
    page(&owner, &agent, id, None).await
}

async fn page(owner: &Owner, agent: &OwnAgent, id: SessionId, problem: Option<&str>) -> PageResult {
    let session = agent.lens().session(id).await?;
    let preview = agent.sessions().preview_roll_back(id, &owner.actor()).await;
    let path = agent_path(agent.scope().agent);
    let content = html! {
        @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
        h2 { "Session of " (parts::time(session.started_at)) }
        p { (parts::state(&session)) " " (session.stats) }
        @if let Some(summary) = &session.words.summary { h3 { "Report" } (said(summary.expose())) }
        @if let Some(reason) = &session.words.reason { h3 { "Reason" } (said(reason.expose())) }
        h2 { "Undoing it" }
        @match &preview {
            Ok(preview) => {
                p { "Every memory that it changed becomes what it was before. " (undo::BOUNDS) }
                (previewed(owner, &format!("{path}/session"), id, preview))
            },
            Err(error) => p { (with_code(&words::message(error))) },
        }
        p { a href={ (path) "/week" } { "Back to this week" } }
    };
    // Only that nothing can be undone is a state of the session.
    if let Err(error) = preview
        && !matches!(error, Error::NotUndoable { .. })
    {
        return Err(error.into());
    }
    Ok(agent_page(agent, OwnTab::Week, "A session of {}").show(content))
}

pub(crate) async fn roll_back(
    owner: Owner,
    form: SentForm,
    Path((_, session)): Path<(String, String)>,
    agent: OwnAgentInPath,
) -> PageResult {
    let id = agent.settings().own_session_id(&session).await?;
    match undo::carry_out(&agent, id, &form, &owner.actor()).await? {
        None => {
            let path = agent_path(agent.scope().agent);
            Ok(see_other(&format!("{path}/session/{id}?done=rolled-back")))
        }
        Some(problem) => {
            let shown = page(&owner, &agent, id, Some(problem)).await?;
            Ok(page_of(StatusCode::CONFLICT, shown))
        }
    }
}
