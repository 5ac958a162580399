//! `memoir session`: one session's outcome and timeline.

use memoir_app::RecordFilter;

use crate::{failure::Outcome, installation::Installation, options::Global, output, show};

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
    let installation = Installation::existing(global).await?;
    let (agent, id) = installation.session(&arguments.session, None).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let own = match arguments.text {
        true => Some(installation.own(&agent).await?),
        false => None,
    };
    let session = lens.session(id).await?;
    if global.json {
        return output::json(&session);
    }
    let records = lens.records(&RecordFilter::of_session(id)).await?;
    let mut text = show::session::outcome(&session);
    if !records.is_empty() {
        text.push('\n');
        text.push_str(&show::records::timeline(&records));
    }
    if let Some(own) = own {
        text.push('\n');
        let memories = own.lens().memories(true).await?;
        text.push_str(&show::records::with_texts(&records, &memories));
        if let Some(changes) = &session.words.changes {
            text.push_str(&show::session::rehearsed(changes));
        }
    }
    output::print(&text)
}
