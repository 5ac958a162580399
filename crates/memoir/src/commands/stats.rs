//! `memoir stats`: the statistics of an agent's memory, in numbers, and as a chart in a file.

use std::{fs, path::PathBuf};

use memoir_console::core_size_picture;
use memoir_domain::Timestamp;

use crate::{
    commands::export::check_is_new,
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse, show, terminal,
};

/// Columns without a terminal.
const COLUMNS: u16 = 80;
/// Points of the curve: about one for every second pixel of the picture.
const POINTS: usize = 400;

/// Show the statistics of an agent's memory: core size over time, what changed it, sessions, originals
///
/// Numbers and dates only: no text of the agent is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
    /// The beginning [default: its first record]
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    since: Option<Timestamp>,
    /// The end; a date alone means the whole day [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse::until)]
    until: Option<Timestamp>,
    /// Draw the core size over time into this file, which ends in `.svg`
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Replace the file where it exists
    #[arg(long, requires = "plot")]
    force: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    // The name is checked before anything is opened, since an unknown ending is a mistake of the user.
    if let Some(path) = &arguments.plot {
        let ending = path.extension();
        if !ending.is_some_and(|ending| ending.eq_ignore_ascii_case("svg")) {
            let problem = format!("`{}` names no format of a chart", path.display());
            return Err(Failure::new(problem).hint("give a name that ends in `.svg`"));
        }
        check_is_new(path, arguments.force)?;
    }
    let (_, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let log = agent.log();
    let stats = log.stats(arguments.since, arguments.until, POINTS).await?;
    if let Some(path) = &arguments.plot {
        let picture = core_size_picture(&stats.history, stats.effective_core_token_budget);
        fs::write(path, picture)
            .map_err(|error| Failure::file("write the picture", path, &error))?;
        terminal::note(&format!("wrote `{}`", path.display()));
    }
    let width = usize::from(terminal::width().unwrap_or(COLUMNS));
    output::show(global.json, &stats, || show::stats::numbers(&stats, width))
}
