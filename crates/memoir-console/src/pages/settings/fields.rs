//! An agent's settings as the fields of a form, and their input as new values.

use maud::{Markup, html};
use memoir_app::{AgentFacts, Error, Memoir};
use memoir_domain::{
    agent::{
        DEFAULT_CONTEXT_JOURNAL_TOKENS, DEFAULT_CORE_TOKEN_BUDGET, DEFAULT_IMMUTABLE_TAGS,
        DuplicateMatch, Field, LossGuard, PROMPT_LIMIT, ReasoningEffort, SYSTEM_PROMPT_LIMIT,
        Threshold, token_limits,
    },
    session::Mode,
};
use serde_json::Value;

use super::setting_value;
use crate::{
    field::{Faults, LabelledField},
    form::SentForm,
    words,
};

/// The list of models that the browser suggests.
pub(in crate::pages) const MODELS: &str = "models";

pub(super) const PROMPTS: [Field; 4] = [
    Field::SystemPrompt,
    Field::ReflectionPrompt,
    Field::MemoryReflectionPrompt,
    Field::RefinementPrompt,
];

pub(in crate::pages) fn label(field: Field) -> &'static str {
    match field {
        Field::Name => "Name",
        Field::Model => "Model",
        Field::SystemPrompt => "System prompt",
        Field::ReflectionPrompt => "Reflection prompt",
        Field::MemoryReflectionPrompt => "Memory reflection prompt",
        Field::RefinementPrompt => "Refinement prompt",
        Field::RefinementThreshold => "Refinement threshold",
        Field::CoreTokenBudget => "Core token budget",
        Field::RefinementTriggerTokens => "Refinement trigger",
        Field::ImmutableTags => "Immutable tags",
        Field::DuplicateMatch => "Duplicate match",
        Field::LossGuard => "Loss guard",
        Field::NearDuplicates => "Near duplicates",
        Field::RefinementSchedule => "Refinement schedule",
        Field::RefinementMode => "Mode of scheduled sessions",
        Field::ContextJournalTokens => "Journal in the context",
        Field::ContextCoreTokens => "Core in the context",
        Field::ReasoningEffort => "Reasoning effort",
        Field::AnswerTokens => "Tokens of a response",
        Field::Paused => "Paused",
        Field::Active => "In service",
    }
}

/// The purpose of a setting, and its limits. The limits of a number of tokens follow it.
fn purpose(field: Field) -> &'static str {
    match field {
        Field::Name => "1 to 100 characters, unique in the account regardless of case.",
        Field::Model => "With its provider, such as ",
        Field::SystemPrompt => "Who the agent is.",
        Field::ReflectionPrompt => "What to extract from conversations.",
        Field::MemoryReflectionPrompt => "What to promote from the journal to core.",
        Field::RefinementPrompt => "Its own style of refining.",
        Field::RefinementThreshold => {
            "The share of the core size that a session must leave: over 0, up to 1. A stricter one applies \
             immediately, a laxer one from the next session on."
        }
        Field::CoreTokenBudget => "The core size to stay within",
        Field::RefinementTriggerTokens => "The core size over which it is due",
        Field::ImmutableTags => {
            "A memory with one of them is excluded from all edits. Up to 16, separated by commas, each of 1 to 50 \
             characters; [] for none."
        }
        Field::DuplicateMatch => "When two core memories are the same text.",
        Field::LossGuard => {
            "What may leave the prompt by an edit of a session. With archive, it goes to the archive word for word, \
             within limits. With refuse, only duplicates leave. With off, the core size alone decides, and memories are \
             discarded instead of archived."
        }
        Field::NearDuplicates => {
            "Whether a session’s prompt lists pairs of memories that look alike, ten at most."
        }
        Field::RefinementSchedule => {
            "When the schedule starts its sessions: weekly (the installation's slot), off, or a slot of its own \
             such as Thu 03:30."
        }
        Field::RefinementMode => "Which tools the sessions have that the schedule starts.",
        Field::ContextJournalTokens => {
            "The most that the journal of the last week takes of its prompt, which shows the newest entries"
        }
        Field::ContextCoreTokens => {
            "The most that core memories take of its prompt; what does not fit is left out of the context alone, \
             constitutional memories never"
        }
        Field::ReasoningEffort => "How much its model is to think, where its provider supports it.",
        Field::AnswerTokens => "The most that one response of its model takes",
        Field::Paused => {
            "The schedule skips it: no session, no reflection, no absorption. A session can still be started from its page."
        }
        Field::Active => "Otherwise no session of it can be started at all.",
    }
}

/// The values of a setting with choices, each with its words.
fn values(field: Field) -> Vec<(&'static str, &'static str)> {
    match field {
        Field::DuplicateMatch => {
            let words = |one: DuplicateMatch| (one.as_str(), one.label());
            DuplicateMatch::ALL.map(words).to_vec()
        }
        Field::LossGuard => {
            let words = |one: LossGuard| (one.as_str(), one.label());
            LossGuard::ALL.map(words).to_vec()
        }
        // In the words of the setting's values.
        Field::NearDuplicates => vec![("true", "yes"), ("false", "no")],
        Field::RefinementMode => Mode::ALL.map(|one| (one.as_str(), one.label())).to_vec(),
        Field::ReasoningEffort => {
            let words = |one: ReasoningEffort| (one.as_str(), one.label());
            ReasoningEffort::ALL.map(words).to_vec()
        }
        _ => Vec::new(),
    }
}

fn choices(field: Field) -> Vec<(&'static str, String)> {
    let values = values(field).into_iter();
    let values = values.map(|(value, said)| (value, words::capital(said)));
    // `reasoning_effort` is the only choice without a default of Memoir's.
    let default = constant_default(field).unwrap_or("left to the provider");
    [("", format!("Default: {default}"))]
        .into_iter()
        .chain(values)
        .collect()
}

/// A choice in words, by the wire names of the setting and of the value.
pub(super) fn choice(name: &str, value: &str) -> Option<&'static str> {
    let mut values = values(name.parse().ok()?).into_iter();
    values.find_map(|(known, words)| (known == value).then_some(words))
}

/// The default of a setting with choices, where Memoir has one.
fn constant_default(field: Field) -> Option<&'static str> {
    match field {
        Field::DuplicateMatch => Some(DuplicateMatch::default().label()),
        Field::LossGuard => Some(LossGuard::default().label()),
        Field::NearDuplicates => Some(yes_or_no(true)),
        Field::RefinementMode => Some(Mode::default().label()),
        _ => None,
    }
}

pub(super) fn yes_or_no(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

fn default(memoir: &Memoir, field: Field) -> Option<String> {
    Some(match field {
        Field::Model => match &memoir.settings().default_model {
            Some(model) => model.to_string(),
            None => "none".to_owned(),
        },
        Field::RefinementThreshold => Threshold::DEFAULT.to_string(),
        Field::CoreTokenBudget => words::number(DEFAULT_CORE_TOKEN_BUDGET),
        Field::RefinementTriggerTokens => "the budget".to_owned(),
        Field::ImmutableTags => DEFAULT_IMMUTABLE_TAGS.join(", "),
        Field::RefinementSchedule => format!("weekly, {}", memoir.schedule().weekly),
        Field::ContextJournalTokens => words::number(DEFAULT_CONTEXT_JOURNAL_TOKENS),
        Field::ContextCoreTokens => "all of them".to_owned(),
        Field::ReasoningEffort => "left to the provider".to_owned(),
        Field::AnswerTokens => words::number(memoir.settings().limits.answer_tokens.into()),
        _ => constant_default(field)?.to_owned(),
    })
}

/// The effective value of a setting that has a default.
fn effective(around: &Around<'_>, field: Field) -> Option<String> {
    // No prompt is shown: it may be the agent's own text (SPEC 5.1).
    if field.is_text() {
        return None;
    }
    // There is an effective value of each setting, or the set one counts.
    let facts = around.facts.as_ref()?;
    let set = facts.get(field.as_str());
    let value = match field {
        // The default names the slot.
        Field::RefinementSchedule => set,
        _ => facts.get(format!("effective_{}", field.as_str())).or(set),
    };
    match value? {
        Value::Null => default(around.memoir, field),
        // JSON writes the share of all as `1.0`.
        Value::Number(share) if field == Field::RefinementThreshold => {
            Some(share.as_f64()?.to_string())
        }
        value => Some(setting_value(field.as_str(), value)),
    }
}

/// A setting as written in its field; blank for the default. No prompt is ever written.
pub(super) fn written(view: &AgentFacts, field: Field) -> String {
    if field == Field::Name {
        return view.name.clone();
    }
    match view.settings.expose().get(field.as_str()) {
        // A choice with a default of its own, unlike the boxes.
        Some(Value::Bool(is_set)) if field == Field::NearDuplicates => is_set.to_string(),
        Some(Value::Bool(is_set)) => if *is_set { "yes" } else { "" }.to_owned(),
        // A value of another version of Memoir, which pauses the agent.
        Some(_) if field == Field::Paused => "yes".to_owned(),
        // A prompt may be the agent's own text, which no browser of an administrator gets (SPEC 5.1).
        Some(Value::String(text)) if !field.is_text() => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        // A blank field means the default, so an empty list of tags is written `[]`.
        Some(Value::Array(tags)) if tags.is_empty() => "[]".to_owned(),
        Some(Value::Array(tags)) => joined(tags),
        _ => String::new(),
    }
}

/// A list of texts with commas; as JSON where it would otherwise be read as other texts.
pub(super) fn joined(list: &[Value]) -> String {
    let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    let joined = texts.join(", ");
    match joined.starts_with('[') || texts.iter().any(|text| text.contains(',')) {
        true => Value::from(texts).to_string(),
        false => joined,
    }
}

/// The data beside the fields, by form.
pub(in crate::pages) struct Around<'a> {
    pub(in crate::pages) memoir: &'a Memoir,
    pub(in crate::pages) faults: &'a Faults,
    /// The agent's facts, by the names that programs read; `None` where it is not created yet.
    pub(in crate::pages) facts: Option<Value>,
}

/// The field of a setting that is no prompt.
pub(in crate::pages) fn plain(
    around: &Around<'_>,
    field: Field,
    value: &str,
    set_by: Option<Markup>,
) -> Markup {
    let labelled = LabelledField::new(field.as_str(), label(field))
        .hint(hint(around, field, set_by))
        .faults(around.faults);
    match field {
        Field::Paused | Field::Active => labelled.tick(value == "yes"),
        Field::DuplicateMatch
        | Field::LossGuard
        | Field::NearDuplicates
        | Field::RefinementMode
        | Field::ReasoningEffort => labelled.choice(value, &choices(field)),
        Field::Model => labelled.suggested(value, MODELS),
        Field::RefinementThreshold => labelled.number(value, "decimal"),
        _ if field.is_tokens() => labelled.number(value, "numeric"),
        _ => labelled.text(value),
    }
}

/// The limits of a setting; below them its state, and the actor that set it.
fn hint(around: &Around<'_>, field: Field, set_by: Option<Markup>) -> Markup {
    let stands = stands(around, field);
    html! {
        (purpose(field))
        @if field.is_tokens() { ": " (token_limits(field)) " tokens." }
        @if field == Field::Model {
            code { "ollama:qwen3:8b" } ". Providers: " (around.memoir.providers().join(", ")) "."
        }
        span.stands {
            @if let Some(stands) = &stands { (stands) }
            @if stands.is_some() && set_by.is_some() { " · " }
            @if let Some(set_by) = set_by { (set_by) }
        }
    }
}

/// The default of a setting that has one, and the effective value.
fn stands(around: &Around<'_>, field: Field) -> Option<String> {
    let default = default(around.memoir, field)?;
    Some(match effective(around, field) {
        Some(value) if value == default => format!("Default and effective: {value}"),
        Some(value) => format!("Default: {default} · Effective: {value}"),
        None => format!("Default: {default}"),
    })
}

pub(in crate::pages) fn models(memoir: &Memoir) -> Markup {
    html! {
        datalist id=(MODELS) { @for name in memoir.named_models() { option value=(name) {} } }
    }
}

pub(in crate::pages) fn prompt(around: &Around<'_>, field: Field, value: &str) -> Markup {
    let (most, rows) = match field {
        Field::SystemPrompt => (SYSTEM_PROMPT_LIMIT, 8),
        _ => (PROMPT_LIMIT, 4),
    };
    let most = words::number(most as u64);
    let keeps = match around.facts {
        Some(_) => " Blank leaves it as it is.",
        None => "",
    };
    let text = if around.facts.is_some() {
        format!("New {}", label(field).to_lowercase())
    } else {
        label(field).to_owned()
    };
    LabelledField::new(field.as_str(), &text)
        .hint(html! { (purpose(field)) " Up to " (most) " characters." (keeps) })
        .faults(around.faults)
        .area(value, rows)
}

/// The name of the box that clears a prompt.
pub(super) fn reset(field: Field) -> String {
    format!("default_{}", field.as_str())
}

/// The name of the hidden field with the shown value of a setting.
pub(super) fn shown(field: Field) -> String {
    format!("shown_{}", field.as_str())
}

/// The input for a setting that is no prompt, as the application takes it: a blank is the default, but for the name.
pub(in crate::pages) fn typed(form: &SentForm, field: Field) -> Option<String> {
    let text = form.field(field.as_str());
    match field {
        // Browsers send nothing for an unticked box, which here means no and not the default.
        Field::Paused | Field::Active => Some(form.is_ticked(field.as_str()).to_string()),
        Field::Name => Some(text.to_owned()),
        _ if text.trim().is_empty() => None,
        _ => Some(text.to_owned()),
    }
}

/// Adds the faults of the new values by themselves.
pub(in crate::pages) fn check(assignments: &[(Field, Option<String>)], faults: &mut Faults) {
    for (field, value) in assignments {
        for invalid in memoir_app::check_settings(&[(*field, value.as_deref())]) {
            faults.add(field.as_str(), label(*field), &invalid.problem);
        }
    }
}

/// Adds the fault of a setting that the application refuses; every other error is returned.
pub(in crate::pages) fn refused(error: Error, faults: &mut Faults) -> Result<(), Error> {
    let name_taken = "Another agent of the account has this name already.";
    let (name, problem) = match &error {
        Error::NameTaken(_) => ("name", name_taken.to_owned()),
        Error::Invalid(invalid) => (invalid.field, invalid.problem.clone()),
        _ => return Err(error),
    };
    let field: Field = name.parse().map_err(|_| error)?;
    faults.add(name, label(field), &problem);
    Ok(())
}
