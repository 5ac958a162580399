//! `memoir project`: the agent of each project, for programs that are set up with `--per-project`.

use std::path::PathBuf;

use serde_json::json;

use crate::{
    database,
    failure::{Failure, Outcome},
    hook::project::{self, Project},
    installation::Installation,
    options::Global,
    output,
    show::TextTable,
    terminal::{self, safe},
};

/// The agents of projects, for programs that are set up with `--per-project`
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Adopt(AdoptArguments),
}

/// List the projects and their agents, and the agents whose folder is missing
#[derive(Debug, clap::Args)]
pub(crate) struct ListArguments {
    /// The service, where it keeps the memory
    #[arg(long, value_name = "URL", env = "MEMOIR_URL", hide_env_values = true)]
    url: Option<String>,
}

/// Give a project the agent whose folder is missing: after it was moved or renamed
///
/// No memory is changed. The previous agent of the project keeps its own, and has no project then.
#[derive(Debug, clap::Args)]
pub(crate) struct AdoptArguments {
    /// The agent
    agent: String,
    /// The project's folder [default: the one that this command is called in]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The prefix of the names of the projects' agents, where the agent is not one of a project yet
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// The service, where it keeps the memory
    #[arg(long, value_name = "URL", env = "MEMOIR_URL", hide_env_values = true)]
    url: Option<String>,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list(global, &arguments),
        Command::Adopt(arguments) => adopt(global, arguments).await,
    }
}

fn list(global: &Global, arguments: &ListArguments) -> Outcome {
    let mut entries = project::entries(&database::place_or(global, arguments.url.as_deref())?)?;
    entries.sort_by(|one, other| one.folder.cmp(&other.folder));
    if global.json {
        let items = entries.iter().map(
            |entry| json!({"folder": entry.folder, "agent": entry.agent, "gone": entry.is_gone()}),
        );
        return output::json(&json!({"items": items.collect::<Vec<_>>()}));
    }
    if entries.is_empty() {
        terminal::note(
            "no project has an agent yet; `memoir setup PROGRAM --per-project` gives each one at its first session",
        );
        return Ok(());
    }
    let mut table = TextTable::new(["agent", "folder", "is"]);
    for entry in entries {
        let is = if entry.is_gone() { "gone" } else { "there" };
        table.row([
            safe(&entry.agent).into_owned(),
            safe(&entry.folder.display().to_string()).into_owned(),
            is.to_owned(),
        ]);
    }
    output::print(&table.to_string())
}

async fn adopt(global: &Global, arguments: AdoptArguments) -> Outcome {
    let url = arguments.url.as_deref();
    let place = database::place_or(global, url)?;
    let mut agent = arguments.agent;
    let mut id = None;
    if url.is_none() {
        let installation = Installation::existing(global).await?;
        let found = installation.agent(&agent).await?;
        found.name().clone_into(&mut agent);
        id = Some(found.scope().agent);
    }
    let folder = match arguments.folder {
        Some(folder) => folder,
        None => std::env::current_dir()
            .map_err(|error| Failure::new(format!("this folder is not known: {error}")))?,
    };
    let entries = project::entries(&place)?;
    let earlier = entries.into_iter().find(|entry| entry.agent == agent);
    let prefix = arguments.prefix.or(earlier.map(|entry| entry.prefix));
    let project = Project::of(&folder, prefix.as_deref().unwrap_or_default());
    let before = project.known(&place)?.map(|entry| entry.agent);
    project::adopt(&project, &place, &agent, id)?;
    let root = project.root.display().to_string();
    if global.json {
        return output::json(&json!({"folder": root, "agent": agent, "before": before}));
    }
    output::print(&format!(
        "`{}` is the agent of `{}` from its next session on\n",
        safe(&agent),
        safe(&root)
    ))?;
    if let Some(before) = before.filter(|before| *before != agent) {
        terminal::note(&format!(
            "`{}`, its previous agent, keeps its memory: `memoir ledger {}` shows it",
            safe(&before),
            terminal::word(&before)
        ));
    }
    Ok(())
}
