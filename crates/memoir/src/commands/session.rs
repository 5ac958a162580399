//! `memoir session`: one session's outcome and timeline.

use memoir_app::{Eyes, RecordQuery, sessions::SessionDetail};

use crate::{
    cli::Global,
    failure::{Ending, Outcome},
    installation::Installation,
    show, terminal,
};

/// Show a session's outcome, and its audit records as a timeline
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The session
    session: String,
    /// The texts before and after too
    #[arg(long)]
    text: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open_for_sessions(global).await?;
    let (agent, id) = installation.session(&arguments.session).await?;
    let eyes = installation.eyes(&agent).await?;
    if arguments.text {
        installation.for_its_own_eyes(&agent).await?;
    }
    let detail = match eyes {
        Eyes::Agent => agent.session(id).await?,
        Eyes::Administrator => SessionDetail {
            session: agent.blind_session(id).await?.seen_by(eyes),
            changes: None,
        },
    };
    if global.json {
        terminal::json(&detail)?;
        return Ok(Ending::Done);
    }
    let query = RecordQuery {
        session: Some(id),
        ..RecordQuery::default()
    };
    let records = agent.records_seen_by(eyes, &query).await?;
    let mut text = show::session::outcome(&detail.session);
    if !records.is_empty() {
        text.push('\n');
        text.push_str(&show::records::timeline(&records));
    }
    if arguments.text {
        text.push('\n');
        text.push_str(&show::records::with_texts(
            &records,
            &agent.memories(true).await?,
        ));
        if let Some(changes) = &detail.changes {
            text.push_str(&show::session::rehearsed(changes));
        }
    }
    terminal::print(&text)?;
    Ok(Ending::Done)
}
