//! `memoir apply`: does for real what a rehearsal came to.

use crate::{
    cli::Global,
    commands::refine,
    failure::Outcome,
    installation::{Installation, administrator},
    show, terminal,
};

/// Apply a completed rehearsal, in one step
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The rehearsal's session
    session: String,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let (agent, id) = installation.session(&arguments.session).await?;
    let lens = agent.seen_by(installation.viewer(&agent).await?);
    let applied = agent.apply_rehearsal(id, &administrator()).await?;
    let session = lens.session(applied.id).await?;
    terminal::show(global.json, &session, || show::session::outcome(&session))?;
    refine::ending(&session)
}
