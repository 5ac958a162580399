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
    if global.json {
        return output::document(&lens.session(id).await?);
    }
    let after = agent.views().show().await?.counts.core_tokens;
    let last = RecordFilter {
        last: Some(1),
        ..RecordFilter::default()
    };
    let mut text = format!(
        "undone: {} ({} → {} tokens)\n",
        session.stats,
        thousands(before),
        thousands(after)
    );
    text.push_str(&show::records::timeline(&lens.records(&last).await?));
    output::print(&text)?;
    Ok(Ending::Done)
}
