//! `memoir cancel`: ends a running session.

use memoir_app::{Error, SessionFacts, ShownSession};

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, show,
};

/// Cancel a running session; its edits stay
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The session
    session: String,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, id) = installation.session(&arguments.session, None).await?;
    let author = installation.author();
    let session = match agent.sessions().cancel(id, &author).await {
        // The session had ended before, so the message names its end.
        Err(Error::SessionLost(_)) => return Err(ended(&agent.views().session(id).await?)),
        cancelled => ShownSession::from(cancelled?),
    };
    output::show(global.json, &session, || show::session::outcome(&session))
}

fn ended(session: &SessionFacts) -> Failure {
    let (id, agent, state) = (session.id, &session.agent, session.state.label());
    Failure::new(format!(
        "session {id} of `{agent}` cannot be cancelled: it has ended as `{state}`"
    ))
    .hint(format!("`memoir session {id}` shows its outcome"))
}
