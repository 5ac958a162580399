//! Lists near duplicates, and their differences.

use memoir_app::ShownMemory;
use memoir_domain::near_duplicates::{DEFAULT_PAIRS, NearDuplicates};
use serde::Serialize;

use crate::{
    failure::{Ending, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{self, thousands},
    terminal,
};

/// List near duplicates: pairs of similar core memories, with their differences
///
/// Two memories that differ in one name, number, date or "not" are two memories. The list is for reading: no session
/// and no command merges anything because of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
    /// At most so many pairs, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PAIRS as u64, value_parser = parse::whole_number::<u64>(1..=1000))]
    limit: u64,
}

/// A list as every interface returns it, and the number of omitted pairs.
#[derive(Serialize)]
struct ListedNearDuplicates<'f> {
    #[serde(flatten)]
    found: &'f NearDuplicates<ShownMemory>,
    next_cursor: Option<String>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let agent = installation.own(&agent).await?;
    // This cannot fail: the arguments accept 1,000 at most.
    let limit = usize::try_from(arguments.limit).unwrap_or(DEFAULT_PAIRS);
    let found = agent.near_duplicates(limit).await?;
    if global.json {
        return output::document(&ListedNearDuplicates {
            found: &found,
            next_cursor: None,
        });
    }
    if found.items.is_empty() {
        terminal::note("there are no near duplicates");
        return Ok(Ending::Done);
    }
    output::print(&show::near_duplicates::list(&found.items))?;
    if let Some(rest) = rest(&found) {
        terminal::note(&rest);
    }
    Ok(Ending::Done)
}

/// The number of omitted pairs.
fn rest(found: &NearDuplicates<ShownMemory>) -> Option<String> {
    let more = thousands(found.more);
    match (found.more, found.is_complete) {
        (0, true) => None,
        (1, true) => Some("1 more pair is not listed".to_owned()),
        (_, true) => Some(format!("{more} more pairs are not listed")),
        (_, false) => Some(format!(
            "more than {more} further pairs are not listed: too many memories look alike to compare them all"
        )),
    }
}
