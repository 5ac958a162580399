//! Reflection: the agent names journal entries of the last week that are to stay in its prompt
//! (SPEC 2.5).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    PrivateText, Timestamp,
    agent::Agent,
    answer::{self, Unreadable},
    audit::{Action, Actor, Facts, RecordBody},
    context::is_recent,
    draft::{Decision, Draft},
    knife::read_number,
    ledger,
    memory::{Kind, Memory, Number, tokens},
    prompt::{Prompt, identity},
};

const RULES: &str = include_str!("rules.md");
pub(crate) const DEFAULT_STYLE: &str = include_str!("style.md");
const CLOSING: &str = include_str!("closing.md");

/// The name of the answer's form.
pub const ANSWER: &str = "promotions";

/// What the agent is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflectionQuestion {
    /// The whole text.
    pub prompt: Prompt,
    /// The journal entries that it may name.
    pub entries: BTreeSet<Number>,
    /// Entries left out for want of room; they are the newest, and are in the list on another day.
    pub left_out: usize,
}

/// The question over `memories`, the kept ones in any order, within `budget` tokens; `None` where no
/// journal entry is of the last week.
pub fn ask<'a>(
    agent: &Agent,
    memories: impl IntoIterator<Item = &'a Memory>,
    budget: u64,
    now: Timestamp,
) -> Option<ReflectionQuestion> {
    let immutable = agent.settings.immutable_tag_set();
    let memories: Vec<&Memory> = memories.into_iter().collect();
    let mut journal: Vec<&Memory> = memories
        .iter()
        .copied()
        .filter(|memory| is_candidate(memory, now))
        .collect();
    journal.sort_by_key(|memory| (memory.created_at, memory.number));
    if journal.is_empty() {
        return None;
    }
    let core = memories.into_iter().filter(|memory| memory.is_kept_core());
    // Half for core: what is to be chosen from must not be crowded out by what is there already.
    let core = ledger::build(core.collect(), &immutable, None, budget / 2);
    let mut used = tokens(core.text.expose());
    let mut rows = String::new();
    let mut entries = BTreeSet::new();
    for memory in &journal {
        let row = ledger::row(memory, &immutable);
        used += tokens(&row) + 1;
        // At least one, however long: an entry larger than the room would keep all later ones out for a
        // week.
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

fn is_candidate(memory: &Memory, now: Timestamp) -> bool {
    memory.is_to_be_reflected_on() && memory.is_kept() && is_recent(memory, now)
}

fn prompt(agent: &Agent, core: &str, journal: &str, left_out: usize) -> Prompt {
    const COLUMNS: &str = ledger::COLUMNS;
    let style = agent.settings.memory_reflection_prompt.as_ref();
    let style = style.map_or(DEFAULT_STYLE, PrivateText::expose);
    let note = match left_out {
        0 => String::new(),
        1 => "(1 newer entry is not listed.)\n".to_owned(),
        more => format!("({more} newer entries are not listed.)\n"),
    };
    Prompt {
        system: format!(
            "{}\n\n{}\n\n## What you want to keep\n\n{}",
            identity(agent),
            RULES.trim(),
            style.trim()
        )
        .into(),
        user: format!(
            "## Your core memories, oldest first\n\n{COLUMNS}\n\n{core}\n## Your journal of the last week, oldest first\n\n{COLUMNS}\n\n{journal}{note}\n{}",
            CLOSING.trim()
        )
        .into(),
    }
}

/// JSON schema of the answer.
pub fn answer_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"promote": {"type": "array", "items": {"type": "integer"}}},
        "required": ["promote"],
        "additionalProperties": false,
    })
}

/// The entries that an answer names, each once, in order.
///
/// # Errors
/// It cannot be read, or names something that was not in the list.
pub fn read(answer: &str, entries: &BTreeSet<Number>) -> Result<BTreeSet<Number>, Unreadable> {
    #[derive(Deserialize)]
    struct Promoted {
        promote: Vec<Value>,
    }
    let answer: Promoted = answer::read(answer, "promote")?;
    let mut promoted = BTreeSet::new();
    for value in &answer.promote {
        let number = read_number(value).ok_or_else(|| {
            Unreadable::new(
                "wrong_form",
                "`promote` must be a list of numbers such as 17",
            )
        })?;
        // Not passed over: a model that names what it was not shown has not read the list.
        if !entries.contains(&number) {
            return Err(Unreadable::new(
                "unknown_entry",
                format!(
                    "{number} is not in the list of journal entries; name only entries that are"
                ),
            ));
        }
        promoted.insert(number);
    }
    Ok(promoted)
}

/// Notes that a reflection begins, so that nobody else begins one. It is tried again on the next day where
/// it comes to no end.
pub fn begin(mut agent: Agent, now: Timestamp) -> Decision {
    agent.last_reflection_at = Some(now);
    Draft::new(agent, None, now).finish()
}

/// Notes that a reflection was interrupted before it came to anything, so that it is due as before; `None`
/// where another one has begun since.
pub fn put_off(mut agent: Agent, seen: &ReflectionSeen, now: Timestamp) -> Option<Decision> {
    if agent.last_reflection_at != Some(seen.at) {
        return None;
    }
    agent.last_reflection_at = seen.last_at;
    Some(Draft::new(agent, None, now).finish())
}

/// Notes that there is nothing to reflect on: what was new is gone, or has faded.
pub fn pass(mut agent: Agent, now: Timestamp) -> Decision {
    agent.last_reflection_at = Some(now);
    agent.unreflected_since = None;
    Draft::new(agent, None, now).finish()
}

/// Makes entries core memories, and says so on the record. `memories` are those that were named, as they
/// are now: ones that are no longer kept journal entries are passed over, since somebody changed them
/// while the model was thinking. `seen` tells which entries it saw: what came after them waits for the
/// next reflection.
pub fn promote<'a>(
    agent: Agent,
    memories: impl IntoIterator<Item = &'a Memory>,
    seen: &ReflectionSeen,
    now: Timestamp,
) -> Decision {
    let actor = Actor::agent(agent.name.clone());
    let mut draft = Draft::new(agent, None, now);
    if draft
        .agent
        .unreflected_since
        .is_some_and(|since| since <= seen.at)
        // Where some did not fit, the rest waits for the next day as if nothing had been seen.
        && !seen.is_partial
    {
        // Entries saved while the model was thinking are seen tomorrow.
        let is_newer = draft.agent.next_number > seen.next_number;
        draft.agent.unreflected_since = is_newer.then_some(now);
    }
    let mut promoted = 0_u64;
    for memory in memories {
        if memory.kind != Kind::Journal || !memory.is_kept() {
            continue;
        }
        let mut after = Memory {
            kind: Kind::Core,
            updated_at: now,
            ..memory.clone()
        };
        // It becomes core with this record, and what it says stands for itself from here on.
        after.give_wording(draft.agent.next_seq, memory.door);
        let Some(change) = draft.alter(memory.clone(), &after) else {
            continue;
        };
        promoted += 1;
        let facts = Facts::default().count("tokens", memory.tokens());
        let body = RecordBody {
            changes: vec![change],
            ..RecordBody::default()
        };
        let action = Action::MemoryPromoted;
        draft.record(actor.clone(), action, Some(memory.number), facts, body);
    }
    let facts = Facts::default()
        .count("promoted", promoted)
        .count("considered", seen.entries as u64);
    draft.record(
        actor,
        Action::ReflectionCompleted,
        None,
        facts,
        RecordBody::default(),
    );
    draft.finish()
}

/// What a reflection saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReflectionSeen {
    /// How many entries.
    pub entries: usize,
    /// Whether some were left out for want of room.
    pub is_partial: bool,
    /// When it looked.
    pub at: Timestamp,
    /// The number that the next memory was to get then.
    pub next_number: Number,
    /// When one had begun before; `None` where none had.
    pub last_at: Option<Timestamp>,
}

/// Puts on the record that a reflection promoted nothing, and why.
pub fn fail(agent: Agent, why: &'static str, now: Timestamp) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    let facts = Facts::default().code("why", why);
    draft.record(
        Actor::system(),
        Action::ReflectionFailed,
        None,
        facts,
        RecordBody::default(),
    );
    draft.finish()
}
