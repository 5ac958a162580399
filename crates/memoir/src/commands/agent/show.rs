//! `memoir agent show`

use std::fmt::Write;

use memoir_app::ShownAgent;
use memoir_domain::agent::Field;
use serde_json::Value;

use super::list::next;
use crate::{
    failure::Outcome,
    installation::Installation,
    options::Global,
    output,
    show::{counted, joined, thousands, when},
    terminal::{BOLD, DIM, safe},
};

pub(crate) async fn run(global: &Global, agent: &str) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(agent)).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let agent = lens.show().await?;
    output::show(global.json, &agent, || describe(&agent))
}

fn describe(agent: &ShownAgent) -> String {
    let (name, id) = (safe(&agent.name), agent.id);
    let mut text = format!("{BOLD}{name}{BOLD:#} {DIM}{id}{DIM:#}\n\n");
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {DIM}{name:<26}{DIM:#} {value}");
    };
    let tally = &agent.counts;
    line("health", agent.health.label());
    let core = format!(
        "{}, {} of {} tokens, {} constitutional",
        thousands(tally.core_count),
        thousands(tally.core_tokens),
        thousands(agent.effective_core_token_budget),
        thousands(tally.constitutional_count)
    );
    line("core memories", &core);
    let size = |count, tokens| format!("{}, {} tokens", thousands(count), thousands(tokens));
    let journal = size(tally.journal_count, tally.journal_tokens);
    line("journal entries", &journal);
    let archival = size(tally.archival_count, tally.archival_tokens);
    let replaced = thousands(tally.replaced_count);
    let archival = format!("{archival}; {replaced} of them replaced");
    line("archival memories", &archival);
    let summaries = size(tally.summary_count, tally.summary_tokens);
    line("summaries", &summaries);
    line("originals", &tally.originals.places());
    line("discarded", &thousands(tally.discarded_count));
    line("created", &when(agent.created_at));
    let refined = agent.last_refinement_at.map(when);
    line("last refined", refined.as_deref().unwrap_or("never"));
    line("next session", &next(agent));
    // The first line shows the name already.
    for field in Field::ALL.into_iter().filter(|field| *field != Field::Name) {
        line(field.as_str(), &setting(agent, field));
    }
    text
}

/// A setting's value, or the default where it is unset.
pub(super) fn setting(agent: &ShownAgent, field: Field) -> String {
    let set = agent.setting(field).unwrap_or(&Value::Null);
    if !set.is_null() {
        return value(field, set);
    }
    let default = match field {
        Field::ContextCoreTokens => Some("all of them".to_owned()),
        Field::ReasoningEffort => Some("left to the provider".to_owned()),
        // A default prompt is no text of an agent, and is shown unchanged.
        field if field.is_text() => agent.default_prompt(field),
        field => effective(agent, field),
    };
    match default {
        Some(default) => format!("{} {DIM}(default){DIM:#}", safe(&default)),
        None => format!("{DIM}not set{DIM:#}"),
    }
}

/// The effective value of a setting; `None` where there is none.
fn effective(agent: &ShownAgent, field: Field) -> Option<String> {
    let facts = serde_json::to_value(&agent.facts).ok()?;
    let effective = facts.get(format!("effective_{}", field.as_str()))?;
    (!effective.is_null()).then(|| value(field, effective))
}

/// A setting's value for people; of a prompt only the size.
pub(super) fn value(field: Field, value: &Value) -> String {
    match value {
        Value::Null => "the default".to_owned(),
        Value::String(words) if field.is_text() => {
            counted(words.chars().count() as u64, "character", "characters")
        }
        Value::String(text) => safe(text).into_owned(),
        Value::Array(items) => {
            let items = items.iter().filter_map(Value::as_str);
            safe(&joined(items, ", ")).into_owned()
        }
        other => other.to_string(),
    }
}
