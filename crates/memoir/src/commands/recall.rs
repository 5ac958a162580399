//! `memoir recall`: finds memories by words, dates, kind, tag and origin.

use memoir_app::Error;
use memoir_domain::{
    PrivateText, Timestamp,
    memory::Kind,
    recall::{Query, RECALL_LIMIT},
    wording::Origin,
};

use crate::{
    cli::Global,
    commands::parse,
    failure::{Ending, Outcome},
    installation::Installation,
    show::{self, List},
    terminal,
};

/// Find kept memories, best match first
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// Words, and phrases in double quotes; left out, everything is found, newest first
    #[arg(allow_hyphen_values = true, default_value = "")]
    query: PrivateText,
    /// The earliest origin date
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    since: Option<Timestamp>,
    /// The latest origin date; a date alone means the whole day
    #[arg(long, value_name = "TIME", value_parser = parse::until)]
    until: Option<Timestamp>,
    /// `core` or `journal`
    #[arg(long, value_name = "KIND", value_parser = parse::kind)]
    kind: Option<Kind>,
    /// A tag, whatever the case
    #[arg(long, value_name = "TAG")]
    tag: Option<PrivateText>,
    /// `agent`, `administrator`, `conversation`, `import` or `external`
    #[arg(long, value_name = "ORIGIN", value_parser = parse::origin)]
    origin: Option<Origin>,
    /// At most so many, 1 to 200
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=RECALL_LIMIT as u64))]
    limit: u64,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let query = Query {
        text: arguments.query,
        since: arguments.since,
        until: arguments.until,
        kind: arguments.kind,
        tag: arguments.tag,
        origin: arguments.origin,
        limit: usize::try_from(arguments.limit).unwrap_or(RECALL_LIMIT),
    };
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let lens = agent.seen_by(installation.viewer(&agent).await?);
    let found = match lens.recall(&query).await {
        Err(Error::NoAccess(_)) => return installation.refuse(&agent),
        found => found?,
    };
    if global.json {
        terminal::json(&List::whole(found))?;
    } else if found.is_empty() {
        terminal::note("nothing found");
    } else {
        terminal::print(&show::memories::list(&found, installation.memoir.now()))?;
    }
    Ok(Ending::Done)
}
