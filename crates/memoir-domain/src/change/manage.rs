//! Changes to an agent outside of its sessions: creation, settings, saving and restoring memories, and erasure (SPEC
//! 2.2, 2.4, 4.3, 5.4).

use std::collections::BTreeMap;

use crate::{
    agent::{self, Agent, Field, MessageCounts, Settings},
    change::{
        draft::{Decision, Draft},
        replace::{Replacements, Replacing},
    },
    ids::{AgentId, SessionId, TokenId},
    log::audit::{Action, Actor, Change, Facts, RecordBody, SettingChange},
    memory::{
        ArchivedBy, Invalid, Kind, Memory, NewMemory, Number, ReportKind, Tally,
        origin::{ActorKind, SavedBy},
    },
    text::private::{PrivateJson, PrivateText},
    time::Timestamp,
};

/// One setting and its new value as text; `None` returns to the default.
pub type Assignment<'a> = (Field, Option<&'a str>);

/// Assignments of values that a form or a request holds.
pub fn borrowed(held: &[(Field, Option<String>)]) -> Vec<Assignment<'_>> {
    held.iter()
        .map(|(field, value)| (*field, value.as_deref()))
        .collect()
}

/// Creates an agent. Its settings are its first record.
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
    // The name first, and as a setting like others, so that the first record includes it.
    let mut all = vec![(Field::Name, Some(name))];
    all.extend_from_slice(assignments);
    let (agent, mut changes) = assign(blank(id, now), &all, actor)?;
    changes.retain(|(_, change)| change.is_different());
    let mut draft = Draft::for_agent(agent, now);
    record_settings(&mut draft, actor, changes);
    Ok(draft.finish())
}

pub(crate) fn blank(id: AgentId, now: Timestamp) -> Agent {
    Agent {
        id,
        name: String::new(),
        settings: Settings::default(),
        created_at: now,
        tally: Tally::default(),
        messages: MessageCounts::default(),
        immutable: None,
        last_context: None,
        reports: BTreeMap::new(),
        nothing_to_refine_seq: None,
        next_number: Number(1),
        next_seq: 1,
        settings_seq: None,
        last_refinement_at: None,
        last_attempt: None,
        last_reflection_at: None,
        unreflected_since: None,
        ledger_position: None,
        erased_at: None,
    }
}

/// Changes settings. An act of an administrator or the owner is recorded even without a difference, and then takes
/// precedence over an undo of earlier changes (SPEC 4.3). `None` where the agent sets the present value, and where
/// nothing is to be set. A change of the model, of a prompt or of a memory guard by another actor is reported to the
/// agent (SPEC 3.14, 5.5).
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
    // The agent's return to the default, and its own undo, pass here as well.
    let wanted = agent.settings.effective_loss_guard();
    if actor.kind == ActorKind::Agent && wanted < guard {
        let problem = format!(
            "cannot be made laxer by the agent itself: it is `{guard}`, from which on only a stricter one can be \
             chosen (`off`, `archive`, `refuse`); an administrator can loosen it"
        );
        return Err(Invalid::new(Field::LossGuard.as_str(), problem));
    }
    // A prompt by the agent counts as changed even without a difference: the number of journal entries must reveal
    // nothing to an administrator (SPEC 5.1).
    let is_unseen = |field: &Field| is_unseen(&agent, *field, actor);
    let notes: Vec<String> = changes
        .iter()
        .filter(|(field, change)| change.is_different() || is_unseen(field))
        .filter_map(|(field, change)| note_of_change(*field, change))
        .collect();
    let notes = notes.join(", ");
    // The author is recorded: text by the agent is shown only with its consent (SPEC 5.1).
    for (field, _) in changes.iter().filter(|(field, _)| field.is_text()) {
        let authored = &mut agent.settings.authored;
        if actor.kind == ActorKind::Agent {
            authored.insert(field.as_str().to_owned());
        } else {
            authored.remove(field.as_str());
        }
    }
    let mut draft = Draft::for_agent(agent, now);
    record_settings(&mut draft, actor, changes);
    if actor.kind != ActorKind::Agent && !notes.is_empty() {
        let who = role_of(actor);
        let entry = format!("{who} changed these settings of mine: {notes}.");
        report(&mut draft, ReportKind::Settings, entry);
    }
    Ok(Some(draft.finish()))
}

/// Corrects, on the record, times that a clock dated ahead of `now` before it was set back: the agent's own times and
/// the dates of its journal entries, among `memories`. `None` where no time is ahead. Existing records stay unchanged.
pub fn correct_times(
    mut agent: Agent,
    memories: Vec<Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Option<Decision> {
    let mut corrected = 0_u64;
    let mut correct = |at: &mut Timestamp| {
        if !at.is_plausible_at(now) {
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
    let mut draft = Draft::for_agent(agent, now);
    let mut changes = Vec::new();
    for memory in memories {
        let is_ahead = memory.kind() == Kind::Journal && !memory.created_at.is_plausible_at(now);
        // No record may follow a shredding: verifying would refuse a change.
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
    draft.record(actor, Action::TimesCorrected, None, facts, changes);
    Some(draft.finish())
}

/// The report to the agent of a change of a setting by another actor; `None` where there is none. It names prompts and
/// the model; for memory guards it gives the old and the new value (SPEC 3.14, 5.5).
fn note_of_change(field: Field, change: &SettingChange) -> Option<String> {
    const GUARDS: [Field; 5] = [
        Field::CoreTokenBudget,
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
        let (before, after) = (shown(&change.before), shown(&change.after));
        format!("{name} (from {before} to {after})")
    })
}

/// The actor's role as the agent's journal names it: never by name.
fn role_of(actor: &Actor) -> &'static str {
    match actor.kind {
        ActorKind::Owner => "The owner of this machine",
        ActorKind::Administrator => "An administrator",
        ActorKind::Agent => "I",
        ActorKind::System => "Memoir",
    }
}

type Changed = Vec<(Field, SettingChange)>;

/// Whether the field is a prompt that the agent has authored and `actor` cannot read (SPEC 5.1).
pub(crate) fn is_unseen(agent: &Agent, field: Field, actor: &Actor) -> bool {
    actor.kind == ActorKind::Administrator
        && field.is_text()
        && agent.settings.authored.contains(field.as_str())
}

/// Sets them, and returns the set values: by the agent only the different ones, by an actor in charge all (SPEC 4.3).
fn assign(
    mut agent: Agent,
    assignments: &[Assignment<'_>],
    actor: &Actor,
) -> Result<(Agent, Changed), Invalid> {
    let is_recorded = |field: Field| {
        actor.kind.is_in_charge() && assignments.iter().any(|(set, _)| *set == field)
    };
    // The old values are kept whole: a later assignment of the list may set the same field again.
    let before = (agent.name.clone(), agent.settings.clone());
    for &(field, value) in assignments {
        agent::set_field(&mut agent.name, &mut agent.settings, field, value)?;
    }
    let changes = Field::ALL
        .into_iter()
        .filter_map(|field| {
            let old = agent::field_value(&before.0, &before.1, field);
            let new = agent::field_value(&agent.name, &agent.settings, field);
            (old != new || is_recorded(field)).then(|| {
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
    draft.record(actor, Action::AgentConfigured, None, facts, body);
}

/// A memory to save, and the memories to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saving {
    /// The memory.
    pub memory: NewMemory,
    /// The core memories that it replaces (SPEC 2.4).
    pub replaces: Vec<Number>,
}

impl From<NewMemory> for Saving {
    fn from(memory: NewMemory) -> Self {
        Self {
            memory,
            replaces: Vec::new(),
        }
    }
}

/// A saved memory, and the outcome of its replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Its number.
    pub number: Number,
    /// The outcome for the others.
    pub replacements: Replacements,
}

/// Saves memories, all of them or none, in their order. Each is a record of its own, and so is each replaced memory.
/// `replacing` is needed where one of them replaces others.
pub fn save(
    agent: Agent,
    memories: Vec<Saving>,
    replacing: &mut Replacing,
    actor: &Actor,
    now: Timestamp,
) -> (Decision, Vec<Saved>) {
    let mut draft = Draft::for_agent(agent, now);
    let save_each = |saving| save_replacing(&mut draft, saving, replacing, actor);
    let saved = memories.into_iter().map(save_each).collect();
    (draft.finish(), saved)
}

pub(crate) fn save_replacing(
    draft: &mut Draft,
    saving: Saving,
    replacing: &mut Replacing,
    actor: &Actor,
) -> Saved {
    let created = save_one(draft, saving.memory, actor);
    let new = created.after();
    let replacements = match saving.replaces.is_empty() {
        true => Replacements::default(),
        false => replacing.replace(draft, &new, &saving.replaces, actor),
    };
    // Later ones of the same batch may replace it in turn.
    replacing.memories.follow(&[created]);
    Saved {
        number: new.number,
        replacements,
    }
}

/// Saves a report of Memoir's to the agent.
pub(crate) fn report(draft: &mut Draft, kind: ReportKind, entry: String) {
    save_one(draft, NewMemory::report(kind, entry), &Actor::system());
}

pub(crate) fn save_one(draft: &mut Draft, memory: NewMemory, actor: &Actor) -> Change {
    let (number, created) = draft.create(memory);
    draft.record_of(actor, Action::MemorySaved, number, vec![created.clone()]);
    created
}

/// Why an agent or a memory cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ChangeRefusal {
    #[error(
        "a refinement session is running: {0}. Wait until it is over, cancel it, or roll it back"
    )]
    SessionRunning(SessionId),
    #[error("{0} was shredded: its words are gone for good, and nothing can be done with it")]
    Shredded(Number),
    #[error(
        "{0} is constitutional and cannot be discarded or edited. Take the protection away first"
    )]
    Constitutional(Number),
    #[error(
        "{0} is constitutional: its words go only where an administrator and the agent both wish it. An administrator asks for it, and the agent says yes"
    )]
    ConstitutionalWish(Number),
    #[error("{0} is not a core memory. An archival memory is brought back with `promote` first")]
    NotCore(Number),
    #[error("{0} is not in the archive, so there is nothing to promote")]
    NotArchival(Number),
    #[error("{0} is {1}")]
    NotApplicable(Number, &'static str),
    #[error("{0} is discarded. Restore it first")]
    Discarded(Number),
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
            Self::NotArchival(_) => "not_archival",
            Self::NotApplicable(..) => "not_applicable",
            Self::Discarded(_) => "discarded",
            Self::Erased => "erased",
        }
    }
}

/// Checks that the agent is not erased and has no session running.
///
/// # Errors
/// It is, or has one.
pub fn check_idle(agent: &Agent, running: Option<SessionId>) -> Result<(), ChangeRefusal> {
    check_present(agent)?;
    running.map_or(Ok(()), |id| Err(ChangeRefusal::SessionRunning(id)))
}

pub(crate) fn check_present(agent: &Agent) -> Result<(), ChangeRefusal> {
    if agent.erased_at.is_some() {
        return Err(ChangeRefusal::Erased);
    }
    Ok(())
}

/// Restores one discarded memory where it was. An act of an administrator is a record even where the memory is active,
/// and takes precedence then over every later undo of earlier changes (SPEC 4.3); `None` where the agent restores what
/// is active.
///
/// # Errors
/// It was shredded, it is a summary, or the agent was erased.
pub fn restore(
    agent: Agent,
    memory: &Memory,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_readable(memory)?;
    if memory.is_summary {
        let why = match memory.is_active() {
            true => "a summary: it is active, and no summary is restored",
            false => "a summary: undo the session or the change that discarded it",
        };
        return Err(ChangeRefusal::NotApplicable(memory.number, why));
    }
    let action = Action::MemoryRestored;
    if memory.is_active() {
        return Ok(confirm(agent, memory, action, actor, now));
    }
    let after = Memory {
        discarded_at: None,
        ..memory.clone()
    };
    Ok(alter_one(agent, memory, &after, action, actor, now))
}

/// Discards one memory. An act of an administrator is a record even where the memory is discarded already, and takes
/// precedence then over every undo of what discarded it before (SPEC 4.3); `None` where the agent discards what is
/// discarded. `bare_summary` is the summary that loses its last source by it, and is discarded too (SPEC 2.4).
///
/// # Errors
/// It is constitutional or was shredded, an administrator discards a report of Memoir's, or the agent was erased.
pub fn discard(
    agent: Agent,
    memory: &Memory,
    bare_summary: Option<&Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_readable(memory)?;
    if actor.kind == ActorKind::Administrator && memory.is_written_by_memoir() {
        let why = "a report to the agent, which no administrator discards";
        return Err(ChangeRefusal::NotApplicable(memory.number, why));
    }
    let action = Action::MemoryDiscarded;
    if let Some(discarded_at) = memory.discarded_at {
        if !actor.kind.is_in_charge() {
            return Ok(None);
        }
        // A later time than before, so that every undo detects the repeated discarding.
        let discarded = memory.discarded(now.max(discarded_at.plus_microseconds(1)));
        return Ok(alter_one(agent, memory, &discarded, action, actor, now));
    }
    if memory.is_constitutional() {
        return Err(ChangeRefusal::Constitutional(memory.number));
    }
    let mut draft = Draft::for_agent(agent, now);
    let both = std::iter::once(memory).chain(bare_summary);
    let changes: Vec<_> = both.filter_map(|memory| draft.discard(memory)).collect();
    draft.record_of(actor, action, memory.number, changes);
    Ok(Some(draft.finish()))
}

/// Returns an archival memory to the prompt (SPEC 2.4). `bare_summary` is the summary that loses its last source by it,
/// and is discarded in the same step.
///
/// # Errors
/// It is discarded, shredded or not archival, or the agent was erased.
pub fn promote(
    agent: Agent,
    memory: &Memory,
    bare_summary: Option<&Memory>,
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, ChangeRefusal> {
    check_present(&agent)?;
    check_active(memory)?;
    if memory.kind() != Kind::Archival {
        return Err(ChangeRefusal::NotArchival(memory.number));
    }
    let mut draft = Draft::for_agent(agent, now);
    let promoted = memory.promoted(draft.agent().next_seq);
    let mut changes: Vec<Change> = draft.alter(memory.clone(), &promoted).into_iter().collect();
    changes.extend(bare_summary.and_then(|summary| draft.discard(summary)));
    let facts = Facts::default()
        .code(PROMOTED_FROM, Kind::Archival.as_str())
        .count("tokens", memory.tokens());
    let action = Action::MemoryPromoted;
    draft.record(actor, action, Some(memory.number), facts, changes);
    Ok(draft.finish())
}

/// The fact of a `memory_promoted` record: the kind that the memory had.
pub(crate) const PROMOTED_FROM: &str = "from";

/// Whether a memory can be edited outside of sessions.
///
/// # Errors
/// As for [`edit`].
pub fn check_edit(
    agent: &Agent,
    running: Option<SessionId>,
    memory: &Memory,
) -> Result<(), ChangeRefusal> {
    check_idle(agent, running)?;
    check_active_core(memory)?;
    if memory.is_constitutional() {
        return Err(ChangeRefusal::Constitutional(memory.number));
    }
    Ok(())
}

/// Edits a core memory, by the owner of an open installation: a new original that replaces it, without the
/// conditions of replacing (SPEC 3.12, 2.4). `sources` are those of the memory where it is a summary. Where the text is
/// the same, the decision is only the record of the act (SPEC 4.3). The agent is notified of another text. The origin is
/// no stronger than before.
///
/// # Errors
/// A session is running; it is no core memory, constitutional, discarded or was shredded; the agent was erased.
pub fn edit(
    agent: Agent,
    running: Option<SessionId>,
    memory: &Memory,
    content: &PrivateText,
    sources: &[Memory],
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_edit(&agent, running, memory)?;
    if memory.content == *content {
        return Ok(confirm(agent, memory, Action::MemoryEdited, actor, now));
    }
    let mut draft = Draft::for_agent(agent, now);
    let saved_by = SavedBy::of(actor.kind);
    let (number, created) = draft.create(NewMemory {
        tags: memory.tags.clone(),
        source: memory.source.clone(),
        created_at: Some(memory.created_at),
        ..NewMemory::new(
            Kind::Core,
            content.clone(),
            SavedBy {
                // Otherwise an edit by the owner would strengthen a text of another source.
                origin: memory.weak_origin().unwrap_or(saved_by.origin),
                ..saved_by
            },
        )
    });
    let mut changes = vec![created];
    if memory.is_summary {
        changes.extend(draft.discard(memory));
        let moved = sources
            .iter()
            .filter_map(|source| draft.alter(source.clone(), &source.moved_under(Some(number))));
        changes.extend(moved);
    } else {
        let archived = memory.archived(Some(number), ArchivedBy::Replaced, now);
        changes.extend(draft.alter(memory.clone(), &archived));
    }
    let facts = Facts::default().count("edited", memory.number.0);
    draft.record(actor, Action::MemoryEdited, Some(number), facts, changes);
    let entry = format!(
        "{} edited my memory {}: its new text is {number}, and the text before is in my archive.",
        role_of(actor),
        memory.number
    );
    report(&mut draft, ReportKind::Edit, entry);
    Ok(Some(draft.finish()))
}

/// Makes an active core memory constitutional. An act of an administrator is a record even where it is constitutional
/// already, and takes precedence then over every undo of what made it so before (SPEC 4.3); `None` where the agent
/// protects what is protected.
///
/// # Errors
/// It is not core, is a summary, is discarded or was shredded, or the agent was erased.
pub fn protect(
    agent: Agent,
    memory: &Memory,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_active_core(memory)?;
    if memory.is_summary {
        let why = "a summary: no summary becomes constitutional. Promote and protect its sources";
        return Err(ChangeRefusal::NotApplicable(memory.number, why));
    }
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

/// Takes the constitutional flag from an active memory. An act of an administrator is a record even where it has none
/// (SPEC 4.3); `None` where the agent takes it from one that has none.
///
/// # Errors
/// It is discarded or was shredded, it is not core, it is a summary, or the agent was erased.
pub fn unprotect(
    agent: Agent,
    memory: &Memory,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    check_present(&agent)?;
    check_active_core(memory)?;
    let action = Action::MemoryUnprotected;
    if !memory.is_constitutional() {
        if memory.is_summary {
            let why = "a summary: no summary is constitutional";
            return Err(ChangeRefusal::NotApplicable(memory.number, why));
        }
        return Ok(confirm(agent, memory, action, actor, now));
    }
    let after = Memory {
        protected_seq: None,
        updated_at: now,
        ..memory.clone()
    };
    let mut draft = Draft::for_agent(agent, now);
    let Some(change) = draft.alter(memory.clone(), &after) else {
        return Ok(None);
    };
    draft.record_of(actor, action, memory.number, vec![change]);
    if actor.kind != ActorKind::Agent {
        let entry = format!(
            "{} removed the protection of my memory {}: sessions can delete, consolidate and archive it now. \
             I can protect it again in a session.",
            role_of(actor),
            memory.number
        );
        report(&mut draft, ReportKind::Protection, entry);
    }
    Ok(Some(draft.finish()))
}

pub(crate) fn check_readable(memory: &Memory) -> Result<(), ChangeRefusal> {
    if memory.shredded_at.is_some() {
        return Err(ChangeRefusal::Shredded(memory.number));
    }
    Ok(())
}

fn check_active(memory: &Memory) -> Result<(), ChangeRefusal> {
    check_readable(memory)?;
    if !memory.is_active() {
        return Err(ChangeRefusal::Discarded(memory.number));
    }
    Ok(())
}

fn check_active_core(memory: &Memory) -> Result<(), ChangeRefusal> {
    check_active(memory)?;
    if memory.kind() != Kind::Core {
        return Err(ChangeRefusal::NotCore(memory.number));
    }
    Ok(())
}

/// The record of an act of an administrator or the owner that changes nothing; `None` for every other actor.
fn confirm(
    agent: Agent,
    memory: &Memory,
    action: Action,
    actor: &Actor,
    now: Timestamp,
) -> Option<Decision> {
    let mut draft = Draft::for_agent(agent, now);
    draft.record_of(actor, action, memory.number, Vec::new());
    actor.kind.is_in_charge().then(|| draft.finish())
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
    let mut draft = Draft::for_agent(agent, now);
    let change = draft.alter(memory.clone(), after)?;
    draft.record_of(actor, action, memory.number, vec![change]);
    Some(draft.finish())
}

/// Marks the agent as erased. Its memories and records stay; the caller destroys their key (SPEC 5.4). Nothing restores
/// the agent.
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
    // Counted in the open, since sealed data cannot be opened afterwards.
    let facts = Facts::default()
        .count("core_tokens", tally.core_tokens)
        .count("core_count", tally.core_count)
        .count("journal_count", tally.journal_count)
        .count("archival_count", tally.archival_count)
        .count("constitutional_count", tally.constitutional_count)
        .count("discarded_count", tally.discarded_count)
        .count("shredded_count", tally.shredded_count)
        .count("records", agent.next_seq - 1);
    let action = Action::AgentErased;
    Ok(Decision::of_record(agent, actor, action, facts, now))
}

/// Records that a token of the agent was created, or revoked.
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
    Decision::of_record(agent, actor, action, facts, now)
}
