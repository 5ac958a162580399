//! What happens to an agent outside of its sessions: it is made, set, given memories, gets single
//! memories back, and is erased (SPEC 2.2, 2.4, 4.3, 5.4).

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    AgentId, PrivateJson, PrivateText, SessionId, Timestamp, TokenId,
    agent::{self, Agent, Field, LostByDay, Settings},
    audit::{Action, Actor, ActorKind, Change, Facts, RecordBody, SettingChange},
    draft::{Decision, Draft},
    memory::{Invalid, Kind, Memory, NewMemory, Number, Tally},
    wording::{SavedBy, Wording},
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
    // The name first, and as a setting like others, so that the first record tells of it too.
    let mut all = vec![(Field::Name, Some(name))];
    all.extend_from_slice(assignments);
    let (agent, changes) = assign(blank(id, now), &all, actor)?;
    let mut draft = Draft::new(agent, None, now);
    record_settings(&mut draft, actor, changes);
    Ok(draft.finish())
}

/// An agent of which nothing is known yet.
pub(crate) fn blank(id: AgentId, now: Timestamp) -> Agent {
    Agent {
        id,
        name: String::new(),
        settings: Settings::default(),
        created_at: now,
        tally: Tally::default(),
        lost_words: LostByDay::default(),
        next_number: Number(1),
        next_seq: 1,
        last_refinement_at: None,
        last_attempt: None,
        last_reflection_at: None,
        unreflected_since: None,
        ledger_position: None,
        erased_at: None,
    }
}

/// Changes settings. `None` where nothing becomes different. A change of the model, of a prompt or of what
/// guards its memory, by somebody else than the agent, is told to it (SPEC 3.14, 5.5).
///
/// # Errors
/// A value that is not of its setting's form or is over its limit; a laxer loss guard by the agent itself.
pub fn configure(
    agent: Agent,
    assignments: &[Assignment<'_>],
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, Invalid> {
    let guard = agent.settings.effective_loss_guard();
    let (mut agent, changes) = assign(agent, assignments, actor)?;
    if changes.is_empty() {
        return Ok(None);
    }
    // Its own return to the default, and its own undoing, come by here as well.
    let wanted = agent.settings.effective_loss_guard();
    if actor.kind == ActorKind::Agent && wanted < guard {
        return Err(Invalid::new(
            Field::LossGuard.as_str(),
            format!(
                "cannot be made laxer by the agent itself: it is `{}`, from which on only a stricter one can be \
                 chosen (`off`, `limit`, `refuse`); an administrator can loosen it",
                guard.as_str()
            ),
        ));
    }
    // Who wrote a text is noted: what the agent wrote is shown to nobody without its consent (SPEC 5.1).
    for (field, _) in changes.iter().filter(|(field, _)| field.is_text()) {
        let authored = &mut agent.settings.authored;
        if actor.kind == ActorKind::Agent {
            authored.insert(field.as_str().to_owned());
        } else {
            authored.remove(field.as_str());
        }
    }
    let notes: Vec<String> = changes
        .iter()
        .filter_map(|(field, change)| note_of_change(*field, change))
        .collect();
    let notes = notes.join(", ");
    let mut draft = Draft::new(agent, None, now);
    record_settings(&mut draft, actor, changes);
    if actor.kind != ActorKind::Agent && !notes.is_empty() {
        let entry = format!(
            "{} changed these settings of mine: {notes}.",
            somebody(actor)
        );
        save_one(&mut draft, NewMemory::journal(entry), &Actor::system());
    }
    Ok(Some(draft.finish()))
}

/// Sets right, on the record, what a clock that has been put back since dated ahead of `now`: the agent's own times
/// and the dates of its journal entries, among `memories`. `None` where nothing lies ahead. What records say stays
/// as it was written.
pub fn correct_times(
    mut agent: Agent,
    memories: Vec<Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Option<Decision> {
    let mut corrected = 0_u64;
    let mut correct = |at: &mut Timestamp| {
        if !at.is_believed_at(now) {
            *at = now;
            corrected += 1;
        }
    };
    correct(&mut agent.created_at);
    if let Some(attempt) = &mut agent.last_attempt {
        correct(&mut attempt.at);
        if let Some(at) = &mut attempt.retry_at {
            correct(at);
        }
    }
    let times = [
        &mut agent.last_refinement_at,
        &mut agent.last_reflection_at,
        &mut agent.unreflected_since,
    ];
    times.into_iter().flatten().for_each(correct);
    let mut draft = Draft::new(agent, None, now);
    let mut changes = Vec::new();
    for memory in memories {
        let is_ahead = memory.kind == Kind::Journal && !memory.created_at.is_believed_at(now);
        // Nothing can follow a shredding on the record: verifying would refuse a change.
        if memory.shredded_at.is_some() || !is_ahead {
            continue;
        }
        let after = Memory {
            created_at: now,
            updated_at: now,
            ..memory.clone()
        };
        changes.extend(draft.alter(memory, &after));
    }
    if corrected == 0 && changes.is_empty() {
        return None;
    }
    let facts = Facts::default()
        .count("times", corrected)
        .count("memories", changes.len() as u64);
    let body = RecordBody {
        changes,
        ..RecordBody::default()
    };
    draft.record(actor.clone(), Action::TimesCorrected, None, facts, body);
    Some(draft.finish())
}

/// How the agent is told that somebody else changed a setting; `None` where it is not. Prompts and the model are
/// named; of what guards its memory it is told what it was and what it is (SPEC 3.14, 5.5).
fn note_of_change(field: Field, change: &SettingChange) -> Option<String> {
    const GUARDS: [Field; 4] = [
        Field::RefinementThreshold,
        Field::ImmutableTags,
        Field::DuplicateMatch,
        Field::LossGuard,
    ];
    let name = field.as_str();
    if field.is_text() || field == Field::Model {
        return Some(name.to_owned());
    }
    let shown = |value: &PrivateJson| match value.expose() {
        serde_json::Value::Null => "the default".to_owned(),
        other => other.to_string(),
    };
    GUARDS.contains(&field).then(|| {
        format!(
            "{name} (from {} to {})",
            shown(&change.before),
            shown(&change.after)
        )
    })
}

/// Who did something to the agent, as its journal tells it: never by name.
fn somebody(actor: &Actor) -> &'static str {
    match actor.kind {
        ActorKind::Owner => "The owner of this machine",
        ActorKind::Administrator => "An administrator",
        ActorKind::Agent => "I",
        ActorKind::System => "Memoir",
    }
}

type Changed = Vec<(Field, SettingChange)>;

/// Sets them, and gives what became different. A prompt that the agent has authored and an administrator sets counts as
/// set, whether it is another one or not: nothing tells whether it is the one that was there (SPEC 5.1).
fn assign(
    mut agent: Agent,
    assignments: &[Assignment<'_>],
    actor: &Actor,
) -> Result<(Agent, Changed), Invalid> {
    let is_unseen = |field: Field| {
        actor.kind == ActorKind::Administrator
            && field.is_text()
            && agent.settings.authored.contains(field.as_str())
            && assignments.iter().any(|(set, _)| *set == field)
    };
    let unseen: Vec<Field> = Field::ALL
        .into_iter()
        .filter(|field| is_unseen(*field))
        .collect();
    // The old ones are kept whole: a later assignment of the list may set the same field again.
    let before = (agent.name.clone(), agent.settings.clone());
    for &(field, value) in assignments {
        agent::set_field(&mut agent.name, &mut agent.settings, field, value)?;
    }
    let changes = Field::ALL
        .into_iter()
        .filter_map(|field| {
            let old = agent::field_value(&before.0, &before.1, field);
            let new = agent::field_value(&agent.name, &agent.settings, field);
            (old != new || unseen.contains(&field)).then(|| {
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
    let body = RecordBody {
        settings,
        ..RecordBody::default()
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

pub(crate) fn save_one(draft: &mut Draft, memory: NewMemory, actor: &Actor) {
    let (number, created) = draft.create(memory);
    let body = RecordBody {
        changes: vec![created],
        ..RecordBody::default()
    };
    draft.record(
        actor.clone(),
        Action::MemorySaved,
        Some(number),
        Facts::default(),
        body,
    );
}

/// Why an agent or a memory cannot be changed in this way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    /// A session is running, and what it does could not be told apart from this.
    #[error(
        "a refinement session is running: {0}. Wait until it is over, cancel it, or roll it back"
    )]
    SessionRunning(SessionId),
    /// The memory's words are gone for good.
    #[error("{0} was shredded: its words are gone for good, and nothing can be done with it")]
    Shredded(Number),
    /// The memory is constitutional.
    #[error(
        "{0} is constitutional and cannot be discarded or edited. Take the protection away first"
    )]
    Constitutional(Number),
    /// The memory is constitutional, and the agent alone wishes its words gone.
    #[error(
        "{0} is constitutional: its words go only where an administrator and the agent both wish it. An administrator asks for it, and the agent says yes"
    )]
    ConstitutionalWish(Number),
    /// The memory is a journal entry.
    #[error("{0} is a journal entry, which tells what was. Core memories alone are edited")]
    NotCore(Number),
    /// The memory is discarded.
    #[error("{0} is discarded. Restore it first")]
    Discarded(Number),
    /// The agent was erased.
    #[error("the agent was erased, and nothing of it can be read or changed")]
    Erased,
}

impl ChangeRefusal {
    /// The wire code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SessionRunning(_) => "session_open",
            Self::Shredded(_) => "shredded",
            Self::Constitutional(_) | Self::ConstitutionalWish(_) => "constitutional",
            Self::NotCore(_) => "not_core",
            Self::Discarded(_) => "discarded",
            Self::Erased => "erased",
        }
    }
}

/// Whether the agent is there and has no session running.
pub(crate) fn check_idle(agent: &Agent, running: Option<SessionId>) -> Result<(), ChangeRefusal> {
    check_present(agent)?;
    running.map_or(Ok(()), |id| Err(ChangeRefusal::SessionRunning(id)))
}

pub(crate) fn check_present(agent: &Agent) -> Result<(), ChangeRefusal> {
    if agent.erased_at.is_some() {
        return Err(ChangeRefusal::Erased);
    }
    Ok(())
}

/// Gives one discarded memory back, with what it stood for; `None` where it is kept. `others` are memories
/// that count wordings: whichever of them took its own over, kept or deleted by a session since, gives them
/// back.
///
/// # Errors
/// It was shredded, or the agent was erased.
pub fn restore<'a>(
    agent: Agent,
    memory: &Memory,
    others: impl IntoIterator<Item = &'a Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_readable(memory)?;
    if memory.is_kept() {
        return Ok(None);
    }
    let mut after = Memory {
        discarded_at: None,
        ..memory.clone()
    };
    for wording in &mut after.wordings {
        // What the deletion let go is said again.
        wording.let_go.retain(|lost| !lost.deleted);
    }
    let mut draft = Draft::new(agent, None, now);
    let mut changes: Vec<Change> = draft.alter(memory.clone(), &after).into_iter().collect();
    // A wording is stood for by one kept memory: whoever took it over gives it up as it comes back.
    let returning: Vec<_> = after.wordings.iter().map(Wording::id).collect();
    let is_counted = |other: &&Memory| other.counted_wordings().next().is_some();
    let others = others
        .into_iter()
        .filter(|other| other.number != memory.number);
    for holder in others.filter(is_counted) {
        let mut without = holder.clone();
        without
            .wordings
            .retain(|wording| !returning.contains(&wording.id()));
        changes.extend(draft.alter(holder.clone(), &without));
    }
    let action = Action::MemoryRestored;
    record_changes(&mut draft, memory.number, changes, action, actor);
    Ok(Some(draft.finish()))
}

/// Gives back the wording that was given to a kept memory, of which sessions let words go; `None` where they
/// let nothing of it go. `text` is the wording's.
///
/// A memory that stands for nothing else says its wording again, under its own number; where it is
/// constitutional it is so at that wording from now on. The text of one that stands for others too stays, since it says these: a new memory says
/// the wording, and takes it over.
///
/// # Errors
/// It was shredded, or the agent was erased.
pub fn restore_wording(
    agent: Agent,
    memory: &Memory,
    text: &PrivateText,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_readable(memory)?;
    let (own, others): (Vec<Wording>, Vec<Wording>) = memory
        .wordings
        .iter()
        .cloned()
        .partition(|wording| wording.number == memory.number);
    let Some(own) = own.into_iter().find(|own| !own.let_go.is_empty()) else {
        return Ok(None);
    };
    // The text of the wording comes back word for word, so nothing of it is let go any more.
    let own = Wording {
        let_go: Vec::new(),
        ..own
    };
    let mut draft = Draft::new(agent, None, now);
    let (number, changes) = if others.is_empty() {
        let after = Memory {
            content: text.clone(),
            wordings: vec![own],
            // Whoever brings it back has the last word on what it is protected at.
            protected_seq: memory.protected_seq.map(|_| draft.agent.next_seq),
            updated_at: now,
            ..memory.clone()
        };
        let change = draft.alter(memory.clone(), &after);
        (memory.number, change.into_iter().collect())
    } else {
        let (number, created) = draft.create(NewMemory {
            kind: memory.kind,
            content: text.clone(),
            tags: memory.tags.clone(),
            source: own.source.clone(),
            created_at: Some(own.created_at),
            // What was protected is the text that stays; to protect this one as well is for somebody to decide.
            constitutional: false,
            door: SavedBy {
                origin: own.origin,
                added_by: own.added_by,
            },
            wordings: Some(vec![own]),
        });
        let without = Memory {
            wordings: others,
            ..memory.clone()
        };
        let given = draft.alter(memory.clone(), &without);
        (number, std::iter::once(created).chain(given).collect())
    };
    let action = Action::MemoryRestored;
    record_changes(&mut draft, number, changes, action, actor);
    Ok(Some(draft.finish()))
}

/// Discards one memory; `None` where it is discarded already. What it took over from others in sessions
/// goes back to them, and they are kept again: whoever discards it decides of its own words alone
/// (SPEC 3.12). `others` holds the memories that its wordings were given to, by number.
///
/// # Errors
/// It is constitutional or was shredded, or the agent was erased.
pub fn discard(
    agent: Agent,
    memory: &Memory,
    others: &BTreeMap<Number, Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_readable(memory)?;
    if !memory.is_kept() {
        return Ok(None);
    }
    if memory.is_constitutional() {
        return Err(ChangeRefusal::Constitutional(memory.number));
    }
    let mut draft = Draft::new(agent, None, now);
    let after = Memory {
        discarded_at: Some(now),
        ..memory.clone()
    };
    let mut changes: Vec<Change> = draft.alter(memory.clone(), &after).into_iter().collect();
    changes.extend(give_back(&mut draft, memory, others));
    let action = Action::MemoryDiscarded;
    record_changes(&mut draft, memory.number, changes, action, actor);
    Ok(Some(draft.finish()))
}

/// Gives what a memory took over from others in sessions back to them: they are kept again.
fn give_back(draft: &mut Draft, memory: &Memory, others: &BTreeMap<Number, Memory>) -> Vec<Change> {
    let mut changes = Vec::new();
    let givers: BTreeSet<Number> = memory
        .wordings
        .iter()
        .map(|wording| wording.number)
        .collect();
    for other in givers.iter().filter_map(|number| others.get(number)) {
        // An exact double says no words of its own: it goes along.
        // By the text and not by a digest: both are open here.
        let is_double = other.content == memory.content;
        if other.number == memory.number
            || other.is_kept()
            || is_double
            || check_readable(other).is_err()
        {
            continue;
        }
        let mut returned = Memory {
            discarded_at: None,
            ..other.clone()
        };
        // Only its own wording comes back with it: the wordings that it had taken over are with this memory as well,
        // and go back to the memories that they came from.
        returned
            .wordings
            .retain(|wording| wording.number == other.number);
        // It gave its own wording up to another memory before it was discarded, and has nothing of its own
        // to come back for.
        if returned.wordings.is_empty() {
            continue;
        }
        changes.extend(draft.alter(other.clone(), &returned));
    }
    changes
}

/// Whether a memory can be given another text outside of sessions.
///
/// # Errors
/// As for [`edit`].
pub fn check_edit(
    agent: &Agent,
    running: Option<SessionId>,
    memory: &Memory,
) -> Result<(), ChangeRefusal> {
    check_idle(agent, running)?;
    check_kept(memory)?;
    if memory.kind != Kind::Core {
        return Err(ChangeRefusal::NotCore(memory.number));
    }
    if memory.is_constitutional() {
        return Err(ChangeRefusal::Constitutional(memory.number));
    }
    Ok(())
}

/// Gives a kept core memory another text, by the owner of a personal installation: a new wording of theirs, in the
/// place of the one that it had; `None` where it is the text that it has. What it took over from others in sessions
/// goes back to them, as where it is discarded. The agent is told. The text's origin is no stronger than that of the
/// one before (SPEC 2.4, 3.12).
///
/// # Errors
/// A session is running; it is no core memory, constitutional, discarded or was shredded; the agent was erased.
pub fn edit(
    agent: Agent,
    running: Option<SessionId>,
    memory: &Memory,
    content: &PrivateText,
    others: &BTreeMap<Number, Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_edit(&agent, running, memory)?;
    if memory.content == *content {
        return Ok(None);
    }
    let mut draft = Draft::new(agent, None, now);
    let door = SavedBy::of(actor.kind);
    let door = SavedBy {
        // Otherwise an edit by the owner would raise what somebody else had said.
        origin: memory.weak_origin().unwrap_or(door.origin),
        ..door
    };
    let mut after = Memory {
        content: content.clone(),
        wordings: Vec::new(),
        updated_at: now,
        ..memory.clone()
    };
    // The record that is drafted next holds the text, and the wording names that record.
    after.give_wording(draft.agent.next_seq, door);
    let mut changes: Vec<Change> = draft.alter(memory.clone(), &after).into_iter().collect();
    changes.extend(give_back(&mut draft, memory, others));
    record_changes(
        &mut draft,
        memory.number,
        changes,
        Action::MemoryEdited,
        actor,
    );
    let entry = format!(
        "{} gave my memory {} another text.",
        somebody(actor),
        memory.number
    );
    save_one(&mut draft, NewMemory::journal(entry), &Actor::system());
    Ok(Some(draft.finish()))
}

/// Makes a kept memory constitutional, at the text that it has. The word of somebody who runs the agent is a
/// record even where it is constitutional already, and stands then against every undo of whatever made it so
/// before (SPEC 4.3); `None` where the agent protects what is protected.
///
/// # Errors
/// It is discarded or was shredded, or the agent was erased.
pub fn protect(
    agent: Agent,
    memory: &Memory,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_kept(memory)?;
    if memory.is_constitutional() && actor.kind == ActorKind::Agent {
        return Ok(None);
    }
    let after = Memory {
        protected_seq: Some(agent.next_seq),
        updated_at: now,
        ..memory.clone()
    };
    let action = Action::MemoryProtected;
    Ok(alter_one(agent, memory, &after, action, actor, now))
}

/// Takes the constitutional flag from a kept memory; `None` where it has none.
///
/// # Errors
/// It is discarded or was shredded, or the agent was erased.
pub fn unprotect(
    agent: Agent,
    memory: &Memory,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_kept(memory)?;
    if !memory.is_constitutional() {
        return Ok(None);
    }
    let after = Memory {
        protected_seq: None,
        updated_at: now,
        ..memory.clone()
    };
    let mut draft = Draft::new(agent, None, now);
    let Some(change) = draft.alter(memory.clone(), &after) else {
        return Ok(None);
    };
    record_changes(
        &mut draft,
        memory.number,
        vec![change],
        Action::MemoryUnprotected,
        actor,
    );
    if actor.kind != ActorKind::Agent {
        let entry = format!(
            "{} took the protection from my memory {}: sessions can delete and merge it now. Protecting \
             it again in a session is mine to do.",
            somebody(actor),
            memory.number
        );
        save_one(&mut draft, NewMemory::journal(entry), &Actor::system());
    }
    Ok(Some(draft.finish()))
}

pub(crate) fn check_readable(memory: &Memory) -> Result<(), ChangeRefusal> {
    if memory.shredded_at.is_some() {
        return Err(ChangeRefusal::Shredded(memory.number));
    }
    Ok(())
}

fn check_kept(memory: &Memory) -> Result<(), ChangeRefusal> {
    check_readable(memory)?;
    if !memory.is_kept() {
        return Err(ChangeRefusal::Discarded(memory.number));
    }
    Ok(())
}

/// One record of one change; `None` where there is no change.
fn alter_one(
    agent: Agent,
    memory: &Memory,
    after: &Memory,
    action: Action,
    actor: &Actor,
    now: Timestamp,
) -> Option<Decision> {
    let mut draft = Draft::new(agent, None, now);
    let change = draft.alter(memory.clone(), after)?;
    record_changes(&mut draft, memory.number, vec![change], action, actor);
    Some(draft.finish())
}

fn record_changes(
    draft: &mut Draft,
    number: Number,
    changes: Vec<Change>,
    action: Action,
    actor: &Actor,
) {
    let body = RecordBody {
        changes,
        ..RecordBody::default()
    };
    draft.record(actor.clone(), action, Some(number), Facts::default(), body);
}

/// Marks the agent as erased. Its memories and records stay as they are: whoever carries this out
/// destroys the key that they are sealed with (SPEC 5.4). Nothing gives the agent back.
///
/// # Errors
/// A session is running, or it was erased before.
pub fn erase(
    mut agent: Agent,
    running: Option<SessionId>,
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, ChangeRefusal> {
    check_idle(&agent, running)?;
    agent.erased_at = Some(now);
    let tally = agent.tally;
    // Counted in the open, since nothing sealed can be opened afterwards.
    let facts = Facts::default()
        .count("core_tokens", tally.core_tokens)
        .count("core_count", tally.core_count)
        .count("journal_count", tally.journal_count)
        .count("constitutional_count", tally.constitutional_count)
        .count("discarded_count", tally.discarded_count)
        .count("shredded_count", tally.shredded_count)
        .count("records", agent.next_seq - 1);
    let mut draft = Draft::new(agent, None, now);
    draft.record(
        actor.clone(),
        Action::AgentErased,
        None,
        facts,
        RecordBody::default(),
    );
    Ok(draft.finish())
}

/// Puts on the record that a token of the agent was made, or revoked.
pub fn token(
    agent: Agent,
    created: bool,
    id: TokenId,
    expires_at: Option<Timestamp>,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let action = if created {
        Action::TokenCreated
    } else {
        Action::TokenRevoked
    };
    let mut facts = Facts::default().token(id);
    if let Some(at) = expires_at {
        facts = facts.time("expires_at", at);
    }
    let mut draft = Draft::new(agent, None, now);
    draft.record(actor.clone(), action, None, facts, RecordBody::default());
    draft.finish()
}
