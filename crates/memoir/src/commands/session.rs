//! `memoir session`: one session's outcome and timeline.

use memoir_app::{
    RecordFilter,
    sessions::{Live, LiveEvent, SeenUpTo},
};
use serde_json::json;

use crate::{
    failure::{Ending, Outcome},
    installation::Installation,
    options::Global,
    output, show,
};

/// Show a session's outcome, and its audit records as a timeline
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The session
    session: String,
    /// The texts before and after too
    #[arg(long)]
    text: bool,
    /// Watch it until it ends, whatever its driver
    #[arg(long, conflicts_with = "text")]
    follow: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, id) = installation.session(&arguments.session, None).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let own = match arguments.text {
        true => Some(installation.own(&agent).await?),
        false => None,
    };
    if arguments.follow {
        return follow(global, lens.watch(id, SeenUpTo::default())).await;
    }
    let session = lens.session(id).await?;
    if global.json {
        return output::document(&session);
    }
    let records = lens.records(&RecordFilter::of_session(id)).await?;
    let mut text = show::session::outcome(&session);
    if !records.is_empty() {
        text.push('\n');
        text.push_str(&show::records::timeline(&records));
    }
    if let Some(own) = own {
        text.push('\n');
        text.push_str(&show::records::with_texts(
            &records,
            &own.lens().memories(true).await?,
        ));
        if let Some(changes) = &session.words.changes {
            text.push_str(&show::session::rehearsed(changes));
        }
    }
    output::print(&text)?;
    Ok(Ending::Done)
}

/// Shows the progress of a session: a line for each record and for each change of its state, and its outcome at the
/// end.
async fn follow(global: &Global, mut live: Live) -> Outcome {
    while !live.has_ended() {
        for (event, _) in live.look().await? {
            if global.json {
                output::json(&match &event {
                    LiveEvent::Record(record) => json!({"event": "record", "data": record}),
                    LiveEvent::Session(session) => json!({"event": "session", "data": session}),
                    LiveEvent::Ended(session) => json!({"event": "ended", "data": session}),
                })?;
            } else {
                output::print(&match &event {
                    LiveEvent::Record(record) => show::records::happened(&record.record),
                    LiveEvent::Session(session) => show::session::status_line(session),
                    LiveEvent::Ended(session) => {
                        format!("\n{}", show::session::outcome(&session.session))
                    }
                })?;
            }
        }
        if !live.has_ended() {
            live.changed().await;
        }
    }
    Ok(Ending::Done)
}
