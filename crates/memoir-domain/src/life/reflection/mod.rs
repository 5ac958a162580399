//! Reflection: the agent names journal entries of the last week that are to stay in its prompt (SPEC 2.5).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    agent::{Agent, context::is_recent_at, fill_placeholders, has_placeholder},
    change::{
        draft::{Decision, Draft},
        manage::PROMOTED_FROM,
        replace::{NAMED_LIMIT, Replacements, Replacing},
    },
    log::audit::{Action, Actor, Facts},
    memory::{Kind, Memory, Number, tokens},
    session::{
        ledger,
        prompt::{Prompt, identity},
        tools::{read_number, read_numbers},
    },
    text::{
        answer::{self, Unreadable},
        private::PrivateText,
    },
    time::Timestamp,
};

const RULES: &str = include_str!("rules.md");
pub(crate) const DEFAULT_STYLE: &str = include_str!("style.md");
const CLOSING: &str = include_str!("closing.md");

/// The name of the response format.
pub const ANSWER: &str = "promotions";

/// The prompt of a reflection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflectionQuestion {
    /// The whole text.
    pub prompt: Prompt,
    /// The journal entries that it may name.
    pub entries: std::collections::BTreeSet<Number>,
    /// Entries omitted for want of room; they are the newest, and are listed on another day.
    pub left_out: usize,
}

/// The prompt over `memories`, the active ones in any order, within `budget` tokens; `None` where no journal entry is
/// of the last week.
pub fn ask<'a>(
    agent: &Agent,
    memories: impl IntoIterator<Item = &'a Memory>,
    budget: u64,
    now: Timestamp,
) -> Option<ReflectionQuestion> {
    let immutable = agent.settings.immutable_tag_set();
    let memories: Vec<&Memory> = memories.into_iter().collect();
    let is_candidate = |memory: &&Memory| {
        let is_active = memory.is_to_be_reflected_on() && memory.is_active();
        is_active && is_recent_at(memory.created_at, now)
    };
    let mut journal: Vec<&Memory> = memories.iter().copied().filter(is_candidate).collect();
    journal.sort_by_key(|memory| (memory.created_at, memory.number));
    if journal.is_empty() {
        return None;
    }
    let core = memories.into_iter();
    let core = core.filter(|memory| memory.is_active_core()).collect();
    // Half for core: the choices must not be displaced by existing memories.
    let core = ledger::build(core, &immutable, &Default::default(), None, budget / 2);
    let mut used = tokens(core.text.expose());
    let mut rows = String::new();
    let mut entries = std::collections::BTreeSet::new();
    for memory in &journal {
        let row = ledger::row(memory, &immutable, false);
        used += tokens(&row) + 1;
        // At least one, however long: an entry larger than the room would block all later ones for a week.
        if used > budget && !entries.is_empty() {
            break;
        }
        rows.push_str(&row);
        rows.push('\n');
        entries.insert(memory.number);
    }
    let left_out = journal.len() - entries.len();
    Some(ReflectionQuestion {
        prompt: prompt(agent, core.text.expose(), &rows, left_out),
        entries,
        left_out,
    })
}

fn prompt(agent: &Agent, core: &str, journal: &str, left_out: usize) -> Prompt {
    const COLUMNS: &str = ledger::COLUMNS;
    let note = match left_out {
        0 => String::new(),
        1 => "(1 newer entry is not listed.)\n".to_owned(),
        more => format!("({more} newer entries are not listed.)\n"),
    };
    let journal = format!("{journal}{note}");
    let identity = identity(agent);
    let own = agent.settings.memory_reflection_prompt.as_ref();
    let own = own.map(PrivateText::expose);
    let style = own.map_or_else(
        || DEFAULT_STYLE.to_owned(),
        |own| {
            let values = [
                ("system_prompt", identity.as_str()),
                ("core_memories", core),
                ("journal", &journal),
            ];
            fill_placeholders(own, &values)
        },
    );
    // A list that the agent's own prompt contains is not repeated: the room is for one copy.
    let section = |name: &str, heading: &str, list: &str| match own {
        Some(own) if has_placeholder(own, name) => String::new(),
        _ => format!("## {heading}\n\n{COLUMNS}\n\n{list}\n"),
    };
    let core = section("core_memories", "Your core memories, oldest first", core);
    let journal = section(
        "journal",
        "Your journal of the last week, oldest first",
        &journal,
    );
    Prompt {
        system: format!(
            "{identity}\n\n{}\n\n## What you want to keep\n\n{}",
            RULES.trim(),
            style.trim()
        )
        .into(),
        user: format!("{core}{journal}{}", CLOSING.trim()).into(),
    }
}

/// JSON schema of the response.
pub fn answer_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"promote": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "number": {"type": "integer"},
                "replaces": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["number", "replaces"],
            "additionalProperties": false,
        }}},
        "required": ["promote"],
        "additionalProperties": false,
    })
}

/// The entries that a response names, each once, by number, with the core memories that each replaces.
pub type Promotions = BTreeMap<Number, Vec<Number>>;

/// Reads the entries that a response names.
///
/// # Errors
/// It cannot be read, names too many memories, or an entry that was not in the list.
pub fn read(
    answer: &str,
    entries: &std::collections::BTreeSet<Number>,
) -> Result<Promotions, Unreadable> {
    /// A number alone, or with the numbers that it replaces.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Promoted {
        Replacing {
            number: Value,
            /// Null for none.
            #[serde(default)]
            replaces: Value,
        },
        Alone(Value),
    }
    #[derive(Deserialize)]
    struct Answer {
        promote: Vec<Promoted>,
    }
    let answer: Answer = answer::read(answer, &["promote"])?;
    let wrong = || {
        Unreadable::new(
            "wrong_form",
            "`promote` must be a list of numbers such as 17, each alone or as {\"number\": 17, \"replaces\": [3]}",
        )
    };
    let number_of = |value: &Value| read_number(value).ok_or_else(wrong);
    let mut promotions = Promotions::new();
    for promoted in &answer.promote {
        let (number, replaces) = match promoted {
            Promoted::Alone(number) => (number_of(number)?, Vec::new()),
            Promoted::Replacing { number, replaces } => (
                number_of(number)?,
                read_numbers(replaces).ok_or_else(wrong)?,
            ),
        };
        // An error: a model that names entries outside of the list has not read it.
        if !entries.contains(&number) {
            return Err(Unreadable::new(
                "unknown_entry",
                format!(
                    "{number} is not in the list of journal entries; name only entries that are"
                ),
            ));
        }
        promotions.entry(number).or_default().extend(replaces);
    }
    let named = promotions.values().map(Vec::len).sum();
    Unreadable::check_count("numbers in `replaces`", named, NAMED_LIMIT)?;
    Ok(promotions)
}

/// Records that a reflection begins, so that no other one does. It is retried on the next day where it does not end.
pub fn begin(mut agent: Agent, now: Timestamp) -> Decision {
    agent.last_reflection_at = Some(now);
    Draft::for_agent(agent, now).finish()
}

/// Records that a reflection was interrupted without a result, so that it is due as before; `None` where another one
/// has begun since.
pub fn put_off(mut agent: Agent, seen: &ReflectionSeen, now: Timestamp) -> Option<Decision> {
    if agent.last_reflection_at != Some(seen.at) {
        return None;
    }
    agent.last_reflection_at = seen.last_at;
    Some(Draft::for_agent(agent, now).finish())
}

/// Records that there is nothing to reflect on: the new entries are discarded or expired.
pub fn pass(mut agent: Agent, now: Timestamp) -> Decision {
    agent.last_reflection_at = Some(now);
    agent.unreflected_since = None;
    Draft::for_agent(agent, now).finish()
}

/// Makes entries core memories, replaces the memories that they name, and records it; also the outcome of all
/// replacements. `replacing` has the entries' present states: those that are not active journal entries are skipped.
/// `seen` says which entries the model was shown: later ones wait for the next reflection.
pub fn promote(
    mut agent: Agent,
    promotions: &Promotions,
    replacing: &mut Replacing,
    seen: &ReflectionSeen,
    now: Timestamp,
) -> (Decision, Replacements) {
    let actor = Actor::agent(agent.name.clone());
    let waited = agent
        .unreflected_since
        .is_some_and(|since| since <= seen.at);
    // Where some did not fit, the rest waits for the next day as if nothing had been shown.
    if waited && !seen.is_partial {
        // Entries saved while the model was running are shown tomorrow.
        let is_newer = agent.next_number > seen.next_number;
        agent.unreflected_since = is_newer.then_some(now);
    }
    let mut draft = Draft::for_agent(agent, now);
    let mut promoted = 0_u64;
    let mut done = Replacements::default();
    for (number, replaces) in promotions {
        let entry = replacing.memories.active(*number);
        let Some(before) = entry.filter(|entry| entry.kind() == Kind::Journal).cloned() else {
            continue;
        };
        let after = Memory {
            updated_at: now,
            ..before.promoted(draft.agent().next_seq)
        };
        let Some(change) = replacing.memories.alter(&mut draft, &before, &after) else {
            continue;
        };
        promoted += 1;
        let facts = Facts::default()
            .code(PROMOTED_FROM, Kind::Journal.as_str())
            .count("tokens", before.tokens());
        let action = Action::MemoryPromoted;
        draft.record(&actor, action, Some(*number), facts, vec![change]);
        let replaced = replacing.replace(&mut draft, &after, replaces, &actor);
        done.replaced.extend(replaced.replaced);
        done.not_replaced.extend(replaced.not_replaced);
    }
    let facts = Facts::default()
        .count("promoted", promoted)
        .count("considered", seen.entries as u64)
        .count("replaced", done.replaced.len() as u64)
        .unreplaced(done.not_replaced.iter().copied());
    draft.record(&actor, Action::ReflectionCompleted, None, facts, Vec::new());
    (draft.finish(), done)
}

/// The input of a reflection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReflectionSeen {
    /// How many entries.
    pub entries: usize,
    /// Whether some were left out for want of room.
    pub is_partial: bool,
    /// When it was read.
    pub at: Timestamp,
    /// The next memory's number at that time.
    pub next_number: Number,
    /// When the previous one had begun; `None` where there was none.
    pub last_at: Option<Timestamp>,
}

/// Records that a reflection promoted nothing, and why.
pub fn fail(agent: Agent, why: &'static str, now: Timestamp) -> Decision {
    let facts = Facts::default().code("why", why);
    let action = Action::ReflectionFailed;
    Decision::of_record(agent, &Actor::system(), action, facts, now)
}
