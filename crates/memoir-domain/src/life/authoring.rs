//! An agent that sets its own prompts (SPEC 2.7), and the question before it loses one by mistake.
//!
//! A model that is asked to change a prompt may pass on the request itself ("make it shorter"), or a stub of the old
//! text. Where a value was set before, such a text is refused with the reason; the same text within the hour confirms
//! it. Only the record keeps the question.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::{
    agent::{self, Agent, Field, Settings},
    change::{
        draft::{Decision, Draft},
        manage,
    },
    life::{absorption, reflection},
    log::audit::{Action, Actor, Facts, Record, RecordBody, SettingChange},
    memory::{Invalid, origin::ActorKind},
    session::prompt,
    text::private::{PrivateJson, PrivateText},
    time::Timestamp,
};

/// For how many seconds the same text confirms a question.
pub const CONFIRM_SECONDS: i64 = 60 * 60;
/// A new prompt shorter than this part of the old one is questioned.
const SHORTER_TIMES: usize = 4;
/// A command to change a prompt names its object within this many first words.
const COMMAND_WORDS: usize = 12;

/// Why a new prompt is questioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// It is under a quarter of the old one's length.
    #[error(
        "the new text has {given} characters, under a quarter of the {before} that it replaces"
    )]
    MuchShorter {
        /// Characters of the effective value.
        before: usize,
        /// Characters of the new one.
        given: usize,
    },
    /// It is a request to change the prompt, not a prompt.
    #[error("the new text reads like a command to change the prompt, not like a prompt")]
    Command,
}

impl Doubt {
    /// Its code.
    pub fn code(self) -> &'static str {
        match self {
            Self::MuchShorter { .. } => "much_shorter",
            Self::Command => "command",
        }
    }
}

/// The outcome of a setting by the agent itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Authored {
    /// The value is the effective one.
    Unchanged,
    /// It is set.
    Set(Box<Decision>),
    /// It is not set; the question is on the record.
    Questioned(Doubt, Box<Decision>),
}

/// The text of a new value, for [`author`]; `None` for null, which returns to the default. A share may be a number, as it
/// is shown, so that a read value can be sent back.
///
/// # Errors
/// It is of another type.
pub fn given_text(field: Field, value: &Value) -> Result<Option<Cow<'_, str>>, Invalid> {
    let problem = "must be a text, or null for the default";
    Ok(match value {
        Value::Null => None,
        Value::String(text) => Some(text.into()),
        Value::Number(share) if field == Field::RefinementThreshold => {
            Some(share.to_string().into())
        }
        _ => return Err(Invalid::new("value", problem)),
    })
}

/// Sets one of the agent's own settings. `questions` are the records of recent questions.
///
/// # Errors
/// A value that is not of its setting's form or is over its limit.
pub fn author(
    agent: Agent,
    field: Field,
    value: Option<&str>,
    questions: &[Record],
    now: Timestamp,
) -> Result<Authored, Invalid> {
    let actor = Actor::agent(agent.name.clone());
    // The question is written on the unchanged agent, so that only the record's body holds the new value.
    let before = agent.clone();
    let Some(decision) = manage::configure(agent, &[(field, value)], &actor, now)? else {
        return Ok(Authored::Unchanged);
    };
    let given = set_prompt(&decision.agent.settings, field);
    let doubt = match (set_prompt(&before.settings, field), &given) {
        (Some(old), Some(new)) => doubt(&old, new),
        _ => None,
    };
    match (doubt, given) {
        (Some(doubt), Some(given)) if !is_confirmed(questions, field, &given, now) => {
            let decision = question(before, field, given, doubt, actor, now);
            Ok(Authored::Questioned(doubt, Box::new(decision)))
        }
        _ => Ok(Authored::Set(Box::new(decision))),
    }
}

fn set_prompt(settings: &Settings, field: Field) -> Option<PrivateText> {
    let text = agent::field_text("", settings, field);
    text.filter(|_| field.is_text()).map(PrivateText::from)
}

fn doubt(before: &PrivateText, given: &PrivateText) -> Option<Doubt> {
    if is_command(given.expose()) {
        return Some(Doubt::Command);
    }
    let (before, given) = (before.chars(), given.chars());
    (given * SHORTER_TIMES < before).then_some(Doubt::MuchShorter { before, given })
}

fn question(
    agent: Agent,
    field: Field,
    given: PrivateText,
    doubt: Doubt,
    actor: Actor,
    now: Timestamp,
) -> Decision {
    let facts = Facts::default()
        .code("field", field.as_str())
        .code("doubt", doubt.code());
    let body = RecordBody::of_reason(Some(given));
    let mut draft = Draft::for_agent(agent, now);
    draft.record(&actor, Action::AgentConfigureQuestioned, None, facts, body);
    draft.finish()
}

/// Whether the agent was questioned about exactly this text within the hour.
fn is_confirmed(questions: &[Record], field: Field, given: &PrivateText, now: Timestamp) -> bool {
    questions.iter().any(|record| {
        let age = now.seconds_since(record.recorded_at);
        record.action == Action::AgentConfigureQuestioned
            // From 0: a question dated ahead by a clock that was set back since would confirm for longer than an hour.
            && (0..CONFIRM_SECONDS).contains(&age)
            && record.facts.code_of("field") == Some(field.as_str())
            && record.body.reason.as_ref() == Some(given)
    })
}

/// Whether a text is a command to change a prompt, by its first words: a verb of changing with the prompt as its
/// object. Some real prompts begin so too; repeating them confirms them.
fn is_command(text: &str) -> bool {
    const POLITE: &str = "please can could would you kindly now ok okay just i want to bitte";
    const VERBS: &str = "change update set replace rewrite modify edit shorten extend add append remove delete insert make \
        adjust improve simplify tweak revise overwrite reset clear put turn switch expand fix ändere ersetze \
        setze aktualisiere kürze lösche modifie remplace ajoute supprime cambia modifica reemplaza elimina \
        actualiza acorta";
    const TARGETS: &str = "prompt prompts instruction instructions config configuration setting settings anweisung anweisungen \
        instrucciones consignes";
    /// Short enough that "it" can only be the prompt.
    const SHORT: usize = 80;
    let is_of = |words: &str, word: &str| words.split(' ').any(|one| one == word);
    if names_a_field(text) {
        return true;
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
        .skip_while(|word| is_of(POLITE, word))
        .take(COMMAND_WORDS)
        .collect();
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let is_target = |word: &&str| is_of(TARGETS, word) || word.ends_with("_prompt");
    let is_it = rest.first() == Some(&"it") && text.chars().count() <= SHORT;
    is_of(VERBS, first) && (rest.iter().any(is_target) || is_it)
}

/// Whether a text is the call of a tool, or an assignment, with the prompt inside it.
fn names_a_field(text: &str) -> bool {
    let start = text.trim_start_matches(|character: char| "{(\"'`* \n\t".contains(character));
    let start = start.to_lowercase();
    let assigns = |name: &str| {
        let rest = start
            .strip_prefix(name)
            .map(|rest| rest.trim_start_matches(['"', '\'', '`', '*', ' ']));
        rest.is_some_and(|rest| rest.starts_with([':', '=']))
    };
    start.starts_with("update_config")
        || Field::ALL
            .into_iter()
            .filter(|field| field.is_text())
            .any(|field| assigns(field.as_str()) || assigns(&field.as_str().replace('_', " ")))
        || (text.trim_start().starts_with('{') && (assigns("field") || assigns("value")))
}

/// The default of a prompt that is not set; `None` for a setting that is no prompt.
pub fn default_prompt(name: &str, field: Field) -> Option<String> {
    let text = match field {
        Field::SystemPrompt => return Some(prompt::nameplate(name)),
        Field::ReflectionPrompt => absorption::DEFAULT_STYLE,
        Field::MemoryReflectionPrompt => reflection::DEFAULT_STYLE,
        Field::RefinementPrompt => prompt::DEFAULT_STYLE,
        _ => return None,
    };
    Some(text.trim().to_owned())
}

/// One recorded value of a setting.
// Serialized as it is: the names of the fields are part of the API.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedSetting {
    /// The place in the log of the record that set it.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The actor.
    pub actor: Actor,
    /// The value; null for the default.
    pub value: PrivateJson,
    /// The value before; not shown with this one.
    #[serde(skip)]
    pub before: PrivateJson,
}

/// The values of a setting, oldest first, from the agent's records.
pub fn versions(records: &[Record], field: Field) -> Vec<RecordedSetting> {
    let changes = records.iter().flat_map(|record| {
        let of_field = move |change: &&SettingChange| change.field == field.as_str();
        let changes = record.body.settings.iter().filter(of_field);
        changes.map(move |change| RecordedSetting {
            seq: record.seq,
            at: record.recorded_at,
            actor: record.actor.clone(),
            value: change.after.clone(),
            before: change.before.clone(),
        })
    });
    changes.collect()
}

/// Returns a setting to its value before the last change; `None` where it never changed since the agent was created, or
/// that value is effective. A second call undoes the first. A prompt by the agent stays hidden from administrators,
/// whichever actor restores it (SPEC 5.1).
///
/// # Errors
/// The earlier value is no longer allowed.
pub fn revert(
    agent: Agent,
    field: Field,
    versions: &[RecordedSetting],
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, Invalid> {
    /// The place of the record of the agent's creation.
    const MADE: u64 = 1;
    let Some(place) = versions.iter().rposition(|version| version.seq > MADE) else {
        return Ok(None);
    };
    let before = &versions[place].before;
    // An actor that restored it in between is not its author.
    let is_own = versions[..place]
        .iter()
        .any(|version| version.value == *before && version.actor.kind == ActorKind::Agent);
    let mut old = agent.clone();
    // By way of settings: the log holds a value as JSON, `configure` takes it as text and applies the present limits.
    agent::set_field_value(&mut old.name, &mut old.settings, field, before.expose())?;
    let value = agent::field_text(&old.name, &old.settings, field);
    let is_effective = agent::field_value(&agent.name, &agent.settings, field)
        == agent::field_value(&old.name, &old.settings, field);
    if is_effective && !manage::is_unseen(&agent, field, actor) {
        return Ok(None);
    }
    let Some(mut decision) = manage::configure(agent, &[(field, value.as_deref())], actor, now)?
    else {
        return Ok(None);
    };
    if field.is_text() && value.is_some() && is_own {
        let authored = &mut decision.agent.settings.authored;
        // `configure` treats the actor as the author.
        authored.insert(field.as_str().to_owned());
    }
    Ok(Some(decision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_2_7_a_command_to_change_a_prompt_is_distinguished_from_a_prompt() {
        for command in [
            "Make the system prompt shorter and friendlier.",
            "Please update my prompt to mention the garden",
            "Could you rewrite your instructions so that you sound warmer?",
            "make it shorter",
            "Add a line about Mira to the system prompt.",
            "system_prompt: You are Wren.",
            "{\"field\": \"system_prompt\", \"value\": \"You are Wren.\"}",
            "update_config(field='system_prompt', value='You are Wren.')",
            "**System prompt** = You are Wren.",
            "Bitte ändere den Prompt so, dass er kürzer ist.",
            "Set refinement_prompt to something stricter",
        ] {
            assert!(is_command(command), "{command}");
        }
        for prompt in [
            "You are Wren, who keeps the garden and loves rain.",
            "Make people feel welcome. Answer in their language.",
            "Keep what will matter in a year.",
            "Update your memory only with what was said.",
            "Look for promises, dates and names. Add nothing of your own.",
            "I want to remember who was kind to me.",
            "Change is what I am interested in: note whatever became different since the last conversation.",
            "",
            "…",
        ] {
            assert!(!is_command(prompt), "{prompt}");
        }
    }
}
