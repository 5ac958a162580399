//! What happens to an agent outside of its sessions: it is made, set, given memories, and gets single
//! memories back (SPEC 2.2, 2.4, 4.3).

use crate::{
    AgentId, PrivateJson, Timestamp,
    agent::{self, Agent, Field, Settings},
    audit::{Action, Actor, ActorKind, Body, Facts, SettingChange},
    draft::{Decision, Draft},
    memory::{Invalid, Memory, NewMemory, Number, Tally},
};

/// One setting and its new value as text; `None` returns to the default.
pub type Assignment<'a> = (Field, Option<&'a str>);

/// Makes an agent. Its settings are its first record.
///
/// # Errors
/// A value that is not of its setting's form or is over its limit.
pub fn create_agent(
    id: AgentId,
    name: &str,
    assignments: &[Assignment<'_>],
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, Invalid> {
    let blank = Agent {
        id,
        name: String::new(),
        settings: Settings::default(),
        created_at: now,
        tally: Tally::default(),
        next_number: Number(1),
        next_seq: 1,
        last_refinement_at: None,
        last_attempt: None,
        ledger_position: None,
    };
    let mut all = vec![(Field::Name, Some(name))];
    all.extend_from_slice(assignments);
    let (agent, changes) = assign(blank, &all)?;
    let mut draft = Draft::new(agent, None, now);
    record_settings(&mut draft, actor, changes);
    Ok(draft.finish())
}

/// Changes settings. `None` where nothing becomes different. A change of the model or of a prompt by
/// somebody else than the agent is told to it (SPEC 5.5).
///
/// # Errors
/// A value that is not of its setting's form or is over its limit.
pub fn configure(
    agent: Agent,
    assignments: &[Assignment<'_>],
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, Invalid> {
    let (agent, changes) = assign(agent, assignments)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let told: Vec<&str> = changes
        .iter()
        .filter(|(field, _)| field.is_text() || *field == Field::Model)
        .map(|(field, _)| field.as_str())
        .collect();
    let told = told.join(", ");
    let mut draft = Draft::new(agent, None, now);
    record_settings(&mut draft, actor, changes);
    if actor.kind != ActorKind::Agent && !told.is_empty() {
        let entry = format!("An administrator changed these settings of mine: {told}.");
        save_one(&mut draft, NewMemory::journal(entry), &Actor::system());
    }
    Ok(Some(draft.finish()))
}

type Changed = Vec<(Field, SettingChange)>;

fn assign(mut agent: Agent, assignments: &[Assignment<'_>]) -> Result<(Agent, Changed), Invalid> {
    let before = (agent.name.clone(), agent.settings.clone());
    for &(field, value) in assignments {
        agent::set_field(&mut agent.name, &mut agent.settings, field, value)?;
    }
    let changes = Field::ALL
        .into_iter()
        .filter_map(|field| {
            let old = agent::field_value(&before.0, &before.1, field);
            let new = agent::field_value(&agent.name, &agent.settings, field);
            (old != new).then(|| {
                let change = SettingChange {
                    field: field.as_str().to_owned(),
                    before: PrivateJson::new(old),
                    after: PrivateJson::new(new),
                };
                (field, change)
            })
        })
        .collect();
    Ok((agent, changes))
}

fn record_settings(draft: &mut Draft, actor: &Actor, changes: Changed) {
    let facts = Facts::default().codes("fields", changes.iter().map(|(field, _)| field.as_str()));
    let settings = changes.into_iter().map(|(_, change)| change).collect();
    let body = Body {
        settings,
        ..Body::default()
    };
    draft.record(actor.clone(), Action::AgentConfigured, None, facts, body);
}

/// Saves memories, all of them or none. Each is a record of its own.
pub fn save(agent: Agent, memories: Vec<NewMemory>, actor: &Actor, now: Timestamp) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    for memory in memories {
        save_one(&mut draft, memory, actor);
    }
    draft.finish()
}

fn save_one(draft: &mut Draft, memory: NewMemory, actor: &Actor) {
    let (number, created) = draft.create(memory);
    let body = Body {
        changes: vec![created],
        ..Body::default()
    };
    draft.record(
        actor.clone(),
        Action::MemorySaved,
        Some(number),
        Facts::default(),
        body,
    );
}

/// Gives one discarded memory back; `None` where it is kept.
pub fn restore(agent: Agent, memory: &Memory, actor: &Actor, now: Timestamp) -> Option<Decision> {
    let after = Memory {
        discarded_at: None,
        ..memory.clone()
    };
    let mut draft = Draft::new(agent, None, now);
    let change = draft.alter(memory.clone(), &after)?;
    let body = Body {
        changes: vec![change],
        ..Body::default()
    };
    draft.record(
        actor.clone(),
        Action::MemoryRestored,
        Some(memory.number),
        Facts::default(),
        body,
    );
    Some(draft.finish())
}
