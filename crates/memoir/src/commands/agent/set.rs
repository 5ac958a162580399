//! `memoir agent set`, `pause` and `resume`

use std::path::PathBuf;

use memoir_app::ShownAgent;
use memoir_domain::{PrivateText, agent::Field};
use serde_json::Value;

use super::{PROMPT_BYTES, show};
use crate::{
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    spelling::closest,
    terminal,
};

/// Change one setting of an agent
///
/// `loss_guard` is `archive` (memories that leave the prompt in a session go to the archive, within limits), `refuse`
/// (only duplicates leave) or `off` (the core size alone decides). `near_duplicates` is `true` or `false`. Unknown
/// placeholders in a prompt are reported.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its name or identifier
    #[arg(value_name = "NAME")]
    agent: String,
    /// The setting, such as `model`, `system_prompt`, `refinement_threshold` or `core_token_budget`
    field: String,
    /// The new value; `null` returns to the default
    #[arg(allow_hyphen_values = true, required_unless_present_any = ["file", "default"], value_parser = parse::text())]
    value: Option<PrivateText>,
    /// Read the value from a file; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["value", "default"])]
    file: Option<PathBuf>,
    /// Return to the default
    #[arg(long, conflicts_with = "value")]
    default: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let field: Field = arguments.field.parse().map_err(|invalid| {
        let failure = Failure::from(memoir_app::Error::from(invalid));
        let names = Field::ALL.into_iter().map(Field::as_str);
        match closest(&arguments.field, names) {
            Some(close) => failure.hint(format!("did you mean `{close}`?")),
            None => failure,
        }
    })?;
    let value = match &arguments.file {
        Some(path) => Some(parse::prompt_file(path, PROMPT_BYTES)?),
        None => arguments.value.filter(|value| value.expose() != "null"),
    };
    let value = value.as_ref().map(PrivateText::expose);
    let view = assign(global, &arguments.agent, field, value).await?;
    if global.json {
        output::json(&view)?;
    } else {
        // The agent's name is no part of its settings.
        let name = Value::String(view.name.clone());
        let set = match field {
            Field::Name => &name,
            field => view.setting(field).unwrap_or(&Value::Null),
        };
        output::print(&format!(
            "{} is {}",
            field.as_str(),
            show::value(field, set)
        ))?;
    }
    warn(&view);
    Ok(Ending::Done)
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
    if global.json {
        output::json(&view)?;
    } else {
        let state = if paused { "paused" } else { "on the schedule" };
        output::print(&format!("`{}` is {state}", terminal::safe(&view.name)))?;
    }
    Ok(Ending::Done)
}

async fn assign(
    global: &Global,
    agent: &str,
    field: Field,
    value: Option<&str>,
) -> Result<ShownAgent, Failure> {
    let installation = Installation::existing(global).await?;
    let agent = installation.agent(agent).await?;
    let author = installation.author();
    Ok(agent
        .settings()
        .configure(&[(field, value)], &author)
        .await?)
}
