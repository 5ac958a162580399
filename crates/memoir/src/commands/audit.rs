//! `memoir audit`: what was done, by whom, to what.

use memoir_app::RecordQuery;
use memoir_domain::{Timestamp, audit::Action};

use crate::{
    cli::Global,
    commands::parse,
    failure::{Ending, Outcome},
    installation::Installation,
    show, terminal,
};

/// What was done, by whom, to what
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
}

/// List an agent's audit records, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct ListArguments {
    /// The agent
    agent: String,
    /// Those of one session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Those of one action, such as `memory_saved`
    #[arg(long, value_name = "ACTION", value_parser = parse::action)]
    action: Option<Action>,
    /// Those written at this time or after
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    since: Option<Timestamp>,
    /// The last N of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    last: Option<u32>,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    let Command::List(arguments) = command;
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let session = match &arguments.session {
        Some(text) => {
            let (_, id) = installation.session(text).await?;
            // A session of another agent has no records here, and saying so beats an empty list.
            agent.session(id).await?;
            Some(id)
        }
        None => None,
    };
    let query = RecordQuery {
        session,
        action: arguments.action,
        since: arguments.since,
        last: arguments.last,
    };
    let records = agent.records(&query).await?;
    if global.json {
        terminal::json_lines(&records)?;
    } else if records.is_empty() {
        terminal::note("there is no such record");
    } else {
        terminal::print(&show::records::list(&records))?;
    }
    Ok(Ending::Done)
}
