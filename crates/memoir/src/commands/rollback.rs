//! `memoir rollback`: undoes a session.

use memoir_app::{AgentHandle, Error, RecordFilter};
use memoir_domain::session::{State, Stats};

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output,
    show::{self, thousands},
    terminal::{self, safe},
};

/// Undo a session's changes
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The session
    session: String,
    /// Undo later changes of the same memories too
    #[arg(long)]
    cascade: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, id) = installation.session(&arguments.session, None).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let before = agent.views().show().await?.counts.core_tokens;
    let (sessions, author) = (agent.sessions(), installation.author());
    let session = match sessions.roll_back(id, arguments.cascade, &author).await {
        Err(error @ Error::NotUndoable { .. }) => {
            return Err(Failure::from(error).with_hint(undoable(&agent).await));
        }
        undone => undone?,
    };
    // It is undone, whether the rest can be read or not.
    if global.json {
        return output::json(&lens.session(id).await.unwrap_or(session));
    }
    let last = RecordFilter {
        last: Some(1),
        ..RecordFilter::default()
    };
    let name = safe(agent.name());
    let is_bare = session.stats == Stats::default();
    let mut text = match is_bare {
        true => format!("nothing was undone for `{name}`: session {id} made no edits"),
        false => format!("undone for `{name}`: {}", session.stats),
    };
    if let Ok(after) = agent.views().show().await {
        let (before, after) = (thousands(before), thousands(after.counts.core_tokens));
        text.push_str(&format!(" ({before} → {after} tokens)"));
    }
    text.push('\n');
    if let Ok(records) = lens.records(&last).await {
        text.push_str(&show::records::timeline(&records));
    }
    output::print(&text)?;
    if is_bare && let Some(other) = undoable(&agent).await {
        terminal::note(&other);
    }
    Ok(())
}

/// The last session whose edits can be undone. No text is read for it, which a grant would count as shown.
async fn undoable(agent: &AgentHandle) -> Option<String> {
    let sessions = agent.views().session_page(None, 200).await.ok()?;
    let last = sessions.iter().find(|session| {
        let is_undone = session.undone_at.is_some() || session.state == State::RolledBack;
        session.stats != Stats::default() && !session.rehearsal && !is_undone
    })?;
    let id = last.id;
    Some(format!(
        "`memoir rollback {id}` undoes the last session with edits"
    ))
}
