//! `memoir sweep`: all due sessions of the account.

use memoir_app::{SessionView, sessions::RefineOptions};
use memoir_domain::session::{State, Trigger};
use serde_json::json;

use crate::{
    cli::Global,
    commands::refine::{Ran, drive},
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    show::{self, thousands},
    terminal::{self, safe},
    watch::Watcher,
};

/// Run every session that is due
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) async fn run(global: &Global, Arguments {}: Arguments) -> Outcome {
    let installation = Installation::open_for_sessions(global).await?;
    let due = installation.account.due_agents().await?;
    if due.is_empty() && !global.json {
        terminal::note("no agent is due");
    }
    let mut ending = Ending::Done;
    for (agent, trigger) in due {
        let options = RefineOptions {
            trigger: Some(trigger),
            ..RefineOptions::default()
        };
        // One agent whose session cannot be run does not keep the others from theirs.
        let eyes = installation.eyes(&agent).await?;
        match drive(&agent, &options, &mut Watcher::new(global.json, eyes)).await {
            Ok(Ran::Driven(driven)) => {
                let session = driven.session.seen_by(eyes);
                tell(global, &session, trigger)?;
                let fine = matches!(session.state, State::Completed | State::Declined);
                if session.end_reason == Some("cancelled") {
                    return Ok(Ending::Interrupted);
                }
                if !fine {
                    ending = Ending::Refused;
                }
            }
            Ok(Ran::NotDue) => {}
            Ok(Ran::Interrupted) => return Ok(Ending::Interrupted),
            Err(Failure::Told(told)) => {
                terminal::note(&format!("{}: {told}", safe(agent.name())));
                if global.json {
                    terminal::json(&json!({"event": "not_run", "agent": agent.name()}))?;
                }
                ending = Ending::Refused;
            }
            Err(closed) => return Err(closed),
        }
    }
    Ok(ending)
}

fn tell(global: &Global, session: &SessionView, trigger: Trigger) -> Result<(), Failure> {
    if global.json {
        return terminal::json(session);
    }
    let style = show::session::state_style(session.state);
    let mut line = format!(
        "{}: {style}{}{style:#}",
        safe(&session.agent),
        session.state.as_str()
    );
    if let (State::Failed | State::Abandoned, Some(reason)) = (session.state, &session.reason) {
        line.push_str(&format!(": {}", safe(reason.expose())));
    }
    if let (Some(before), Some(after)) = (session.pre_session_tokens, session.post_session_tokens) {
        line.push_str(&format!(
            ": {}, {} → {} tokens",
            session.stats,
            thousands(before),
            thousands(after)
        ));
    }
    let due = match trigger {
        Trigger::Weekly => "weekly",
        Trigger::Budget => "budget",
        Trigger::Request => "request",
    };
    terminal::print(&format!("{line} ({due}, session {})", session.id))
}
