//! `memoir sweep`: all due work of the account: absorptions, reflections, sessions.

use memoir_app::{AgentHandle, Job, JobOutcome, ShownSession, sessions::RefineOptions};
use memoir_domain::{
    lifecycle::NothingToRefine,
    session::{State, Trigger},
};
use serde_json::json;

use crate::{
    commands::refine::{Ran, drive},
    failure::{Failure, Outcome},
    installation::Installation,
    interrupt,
    options::Global,
    output,
    show::{self, counted, thousands},
    terminal::{self, safe},
    watch::ProgressPrinter,
};

/// Run every session that is due, after the due reflections and absorptions
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) async fn run(global: &Global, Arguments {}: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let jobs = installation.account.due_jobs().await?;
    let is_idle = jobs.is_empty();
    let mut is_refused = false;
    for (agent, job) in jobs {
        match live(global, &agent, job).await {
            Err(Failure::Refused) => is_refused = true,
            lived => lived?,
        }
    }
    // Sessions come after the jobs, since memories that a job saved may make an agent due.
    let due = installation.account.due_agents().await?;
    if due.is_empty() && is_idle && !global.json {
        terminal::note("no agent is due");
    }
    for (agent, trigger) in due {
        let options = RefineOptions {
            trigger,
            ..RefineOptions::default()
        };
        // A failed session of one agent does not stop those of the others.
        let lens = agent.views().seen_by(installation.viewer(&agent).await?);
        let mut watcher = ProgressPrinter::new(global.json);
        match drive(&lens, &options, &mut watcher, &installation.author()).await {
            Ok(Ran::Driven(session)) => {
                report(global, &session, trigger)?;
                if !matches!(session.state, State::Completed | State::Declined) {
                    is_refused = true;
                }
            }
            // Ctrl-C during a sweep ends the whole sweep and not only this session.
            Ok(Ran::Cancelled(session)) => {
                report(global, &session, trigger)?;
                return Err(Failure::Interrupted);
            }
            Ok(Ran::NotDue) => {}
            Ok(Ran::NothingToRefine(reason)) => {
                terminal::note(&format!("{}: not asked: {reason}", safe(agent.name())));
                if global.json {
                    let output = json!({
                        "event": "not_asked", "agent": agent.name(), "code": NothingToRefine::CODE,
                        "reason": reason.to_string(),
                    });
                    output::json(&output)?;
                }
            }
            Err(Failure::Shown(failure)) => {
                terminal::note(&format!("{}: {failure}", safe(agent.name())));
                if global.json {
                    output::json(&json!({"event": "not_run", "agent": agent.name()}))?;
                }
                is_refused = true;
            }
            Err(closed) => return Err(closed),
        }
    }
    Failure::refused_unless(!is_refused)
}

/// Runs one due job, and prints its outcome.
async fn live(global: &Global, agent: &AgentHandle, job: Job) -> Outcome {
    let name = safe(agent.name());
    let lived = agent.life().do_due(job, interrupt::listening().await).await;
    let (event, summary, failure, is_interrupted) = match lived {
        Ok(None) => return Ok(()),
        Ok(Some(JobOutcome::Reflected(reflected))) => {
            let considered = counted(reflected.considered as u64, "entry", "entries");
            let promoted = reflected.promoted.len();
            let summary = format!("reflected on {considered}, promoted {promoted}");
            let event =
                json!({"event": "reflected", "agent": agent.name(), "reflection": reflected});
            (event, summary, reflected.failure, reflected.is_interrupted)
        }
        Ok(Some(JobOutcome::Absorbed(absorbed))) => {
            let messages = counted(absorbed.messages, "message", "messages");
            let saved = counted(absorbed.saved, "memory", "memories");
            let summary = format!("read {messages}, saved {saved}");
            let event = json!({"event": "absorbed", "agent": agent.name(), "absorbed": absorbed});
            (event, summary, absorbed.failure, absorbed.is_interrupted)
        }
        // A failure of one agent does not stop the others.
        Err(error) => {
            terminal::note(&format!("{name}: {error}"));
            if global.json {
                output::json(&json!({"event": "not_run", "agent": agent.name()}))?;
            }
            return Err(Failure::Refused);
        }
    };
    if global.json {
        output::json(&event)?;
    } else {
        let why = failure.as_ref().map(|why| format!(": {why}"));
        output::print(&format!("{name}: {summary}{}", why.unwrap_or_default()))?;
    }
    match is_interrupted {
        true => Err(Failure::Interrupted),
        false => Failure::refused_unless(failure.is_none()),
    }
}

fn report(global: &Global, session: &ShownSession, trigger: Trigger) -> Result<(), Failure> {
    if global.json {
        return output::json(session);
    }
    let style = show::session::state_style(session.state);
    let (agent, state) = (safe(&session.agent), session.state.label());
    let mut line = format!("{agent}: {style}{state}{style:#}");
    if let (State::Failed | State::Abandoned, Some(reason)) = (session.state, &session.words.reason)
    {
        line.push_str(&format!(": {}", safe(reason.expose())));
    }
    if let (Some(before), Some(after)) = (session.pre_session_tokens, session.post_session_tokens) {
        let (before, after) = (thousands(before), thousands(after));
        line.push_str(&format!(": {}, {before} → {after} tokens", session.stats));
    }
    output::print(&format!("{line} ({trigger}, session {})", session.id))
}
