//! `memoir apply`: applies the result of a rehearsal.

use crate::{
    commands::refine, failure::Outcome, installation::Installation, options::Global, output, show,
    terminal,
};

/// Apply a completed rehearsal, in one step
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The rehearsal's session
    session: String,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, id) = installation.session(&arguments.session, None).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let sessions = agent.sessions();
    let mut applied = sessions.apply_rehearsal(id, &installation.author()).await?;
    // The response is without text; the viewer may be the owner. It is applied, whether it can be read or not.
    if let Ok(session) = lens.session(applied.session.id).await {
        applied.session = session;
    }
    if global.json {
        output::json(&applied)?;
        return refine::ending(&applied.session);
    }
    output::print(&show::session::outcome(&applied.session))?;
    for edit in &applied.not_applied {
        let (tool, numbers, code) = (&edit.tool, show::numbers(&edit.numbers), &edit.code);
        terminal::note(&format!("not applied: {tool} {numbers} ({code})"));
    }
    refine::ending(&applied.session)
}
