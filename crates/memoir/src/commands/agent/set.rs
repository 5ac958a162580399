//! `memoir agent set`, `pause` and `resume`

use std::path::PathBuf;

use clap::Args as _;
use memoir_app::ShownAgent;
use memoir_domain::{PrivateText, agent::Field, memory::Invalid};
use serde_json::Value;

use super::{PROMPT_BYTES, create, show};
use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::wrap,
    spelling::closest,
    terminal::{self, BOLD},
};

/// Change one setting of an agent, or list all of them
///
/// Without a setting it lists them, with their values and defaults. Unknown placeholders in a prompt are reported.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("new").args(["value", "file", "default"]))]
pub(crate) struct Arguments {
    /// Its name or identifier
    #[arg(value_name = "NAME")]
    agent: String,
    /// The setting, one of those below
    #[arg(value_name = "SETTING", requires = "new")]
    field: Option<String>,
    /// The new value; `null` returns to the default
    #[arg(allow_hyphen_values = true, value_parser = parse::text())]
    value: Option<PrivateText>,
    /// Read the value from a file; `-` reads stdin
    #[arg(long, value_name = "FILE", requires = "field", conflicts_with_all = ["value", "default"])]
    file: Option<PathBuf>,
    /// Return to the default
    #[arg(long, requires = "field", conflicts_with = "value")]
    default: bool,
}

/// What a setting sets, its limits and its default: the help of the option of `memoir agent create`.
fn meaning(field: Field) -> String {
    let other = match field {
        Field::Name => "Its name, 1 to 100 characters, unique in the account",
        Field::Paused => {
            "Whether the schedule leaves it out, as `memoir agent pause` does: `true` or `false` [default: false]"
        }
        Field::Active => {
            "Whether it is in service; without it no session begins: `true` or `false` [default: true]"
        }
        _ => "",
    };
    let name = field.as_str().replace('_', "-");
    let create = create::Arguments::augment_args(clap::Command::new("create"));
    let mut options = create.get_arguments();
    let option = options.find(|option| {
        let long = option.get_long().unwrap_or_default();
        long.strip_suffix("-file").unwrap_or(long) == name
    });
    let help = option.and_then(|option| option.get_help());
    help.map_or_else(|| other.to_owned(), ToString::to_string)
        .replace("A file with its", "Its")
        .replace("A file with the", "The")
        .replace("; `-` reads stdin", "")
}

/// Adds all settings to the page of help of `agent set`. Only where help is printed: it takes the options of
/// `agent create` for each of them.
pub(crate) fn with_settings(command: clap::Command) -> clap::Command {
    let mut text = String::from("Settings:\n");
    for field in Field::ALL {
        text.push_str(&described(field.as_str(), &meaning(field)));
    }
    command.mut_subcommand("agent", |agent| {
        agent.mut_subcommand("set", |set| set.after_help(text))
    })
}

/// A line, and below it what it means.
fn described(line: &str, meaning: &str) -> String {
    let below = wrap(meaning, 72).join("\n      ");
    format!("  {line}\n      {below}\n")
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let Some(field) = &arguments.field else {
        return list(global, &arguments.agent).await;
    };
    let field: Field = field.parse().map_err(|invalid: Invalid| {
        let names = Field::ALL.into_iter().map(Field::as_str);
        Failure::from(invalid).with_closest(closest(field, names))
    })?;
    let value = match &arguments.file {
        Some(path) => Some(parse::prompt_file(path, PROMPT_BYTES)?),
        None => arguments.value.filter(|value| value.expose() != "null"),
    };
    let value = value.as_ref().map(PrivateText::expose);
    let view = assign(global, &arguments.agent, field, value).await?;
    output::show(global.json, &view, || {
        // The agent's name is no part of its settings.
        let name = Value::String(view.name.clone());
        let set = match field {
            Field::Name => &name,
            field => view.setting(field).unwrap_or(&Value::Null),
        };
        format!("{} is {}", field.as_str(), show::value(field, set))
    })?;
    warn(&view);
    Ok(())
}

async fn list(global: &Global, agent: &str) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(agent)).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let view = lens.show().await?;
    output::show(global.json, &view, || {
        let lines = Field::ALL.into_iter().map(|field| {
            let value = match field {
                Field::Name => terminal::safe(&view.name).into_owned(),
                field => show::setting(&view, field),
            };
            let line = format!("{BOLD}{}{BOLD:#} {value}", field.as_str());
            described(&line, &meaning(field))
        });
        lines.collect()
    })
}

/// Prints the warnings about prompts that were just set.
pub(super) fn warn(agent: &ShownAgent) {
    for warning in &agent.words.warnings {
        terminal::note(&format!("warning: {}", terminal::safe(warning.expose())));
    }
}

/// Takes the agent off the schedule, or puts it back.
pub(crate) async fn pause(global: &Global, agent: &str, paused: bool) -> Outcome {
    let value = if paused { "true" } else { "false" };
    let view = assign(global, agent, Field::Paused, Some(value)).await?;
    let state = if paused { "paused" } else { "on the schedule" };
    output::show(global.json, &view, || {
        format!("`{}` is {state}", terminal::safe(&view.name))
    })
}

async fn assign(
    global: &Global,
    agent: &str,
    field: Field,
    value: Option<&str>,
) -> Result<ShownAgent, Failure> {
    let (installation, agent) = Installation::of_agent(global, Some(agent)).await?;
    let author = installation.author();
    let settings = agent.settings();
    Ok(settings.configure(&[(field, value)], &author).await?)
}
