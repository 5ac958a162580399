//! `memoir rollback`: undoes a session.

use memoir_app::RecordFilter;

use crate::{
    failure::{Ending, Outcome},
    installation::Installation,
    options::Global,
    output,
    show::{self, thousands},
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
    let (agent, id) = installation.session(&arguments.session).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let before = agent.views().show().await?.counts.core_tokens;
    let session = agent
        .sessions()
        .roll_back(id, arguments.cascade, &installation.author())
        .await?;
    // It is undone, whether the rest can be read or not.
    if global.json {
        return output::document(&lens.session(id).await.unwrap_or(session));
    }
    let last = RecordFilter {
        last: Some(1),
        ..RecordFilter::default()
    };
    let mut text = format!("undone: {}", session.stats);
    if let Ok(after) = agent.views().show().await {
        let (before, after) = (thousands(before), thousands(after.counts.core_tokens));
        text.push_str(&format!(" ({before} → {after} tokens)"));
    }
    text.push('\n');
    if let Ok(records) = lens.records(&last).await {
        text.push_str(&show::records::timeline(&records));
    }
    output::print(&text)?;
    Ok(Ending::Done)
}
