//! `memoir agent history` and `memoir agent undo`: earlier values of an agent's own settings.

use memoir_domain::{agent::Field, authoring::RecordedSetting, memory::Invalid};
use serde_json::{Value, json};

use super::show;
use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output,
    show::{joined, moment},
    terminal::{self, DIM, safe},
};

/// A setting that the agent may set itself
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its name or identifier
    #[arg(value_name = "NAME")]
    agent: String,
    /// The setting: `name`, a prompt, `refinement_threshold` or `loss_guard`
    field: String,
}

impl Arguments {
    fn field(&self) -> Result<Field, Failure> {
        let field: Field = self.field.parse()?;
        if field.is_own() {
            return Ok(field);
        }
        let own = Field::ALL.into_iter().filter(|field| field.is_own());
        let own = joined(own, ", ");
        let problem = format!("must be one that agents set themselves: {own}");
        Err(Invalid::new("field", problem).into())
    }
}

pub(crate) async fn list(global: &Global, arguments: Arguments) -> Outcome {
    let field = arguments.field()?;
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    let agent = installation.own(&agent).await?;
    let versions = agent.setting_history(field).await?;
    if global.json {
        output::json(&json!({"field": field.as_str(), "items": versions}))?;
    } else if versions.is_empty() {
        terminal::note(&format!("{} was never set", field.as_str()));
    } else {
        let lines = versions.iter().map(|version| line(field, version));
        output::print(&joined(lines, "\n"))?;
    }
    Ok(())
}

fn line(field: Field, version: &RecordedSetting) -> String {
    let value = match version.value.expose() {
        // The user requests a prompt's history to read it.
        Value::String(text) => safe(text).into_owned(),
        other => show::value(field, other),
    };
    let at = moment(version.at);
    let actor = safe(&version.actor.name);
    format!("{DIM}{at}  {actor}{DIM:#}  {value}")
}

/// Restores a setting's value before its last change. The output does not show the value.
pub(crate) async fn undo(global: &Global, arguments: Arguments) -> Outcome {
    let field = arguments.field()?;
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    let actor = installation.owner_or_actor(&agent).await?;
    let is_undone = agent.settings().undo_setting(field, &actor).await?;
    if global.json {
        let done: Value = json!({"field": field.as_str(), "undone": is_undone});
        output::json(&done)?;
    } else if is_undone {
        let field = field.as_str();
        output::print(&format!(
            "{field} has its value from before its last change; the same command undoes that"
        ))?;
    } else {
        terminal::note(&format!("{} was never changed", field.as_str()));
    }
    Ok(())
}
