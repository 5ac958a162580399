//! Returning an agent's memories to a point in time (SPEC 4.3).
//!
//! Records hold memories before the change and the difference, so that any state can be built again. A rewind returns
//! every memory to its earlier state, discards newer ones, and adds nothing: the active memories are exactly those of
//! that moment, and the reports on acts since. Settings stay. Shredded memories stay shredded, whatever is undone.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    agent::Agent,
    change::{
        draft::{Decision, Draft},
        manage::{self, ChangeRefusal},
    },
    history::summary::{LogPast, MemoryGlance},
    ids::SessionId,
    log::{
        audit::{Action, Actor, CORE_TOKENS, Change, Facts, Record, TO_SEQ},
        effective::{EffectEvent, EffectKind, EffectiveRecords},
    },
    memory::{Kind, Memory, Number, Tally},
    session::{Session, rollback},
    time::Timestamp,
};

/// The target of a rewind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindPlan {
    /// The requested time.
    pub to: Timestamp,
    /// The last record that stays effective; 0 where there was none yet.
    pub to_seq: u64,
    memories: BTreeMap<Number, Memory>,
}

/// The core size after a record; `None` where it changed no memory.
pub fn core_tokens_after(record: &Record) -> Option<u64> {
    match record.action {
        // What an erased agent had is on its last record; that changes no memory.
        Action::AgentErased => None,
        _ => record.facts.count_of(CORE_TOKENS),
    }
}

/// The result of a rewind or an undo, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RewindPreview {
    /// Memories that become different in any way.
    pub changed: u64,
    /// Discarded memories that become active.
    pub returning: u64,
    /// Active memories that are discarded.
    pub discarded: u64,
    /// Active memories that get another text.
    pub reworded: u64,
    /// Active core memories that become archival, with the same text.
    pub archived: u64,
    /// Active archival memories that become core, with the same text.
    pub promoted: u64,
    /// The core size before, in tokens.
    pub core_tokens_before: u64,
    /// The core size afterwards, in tokens.
    pub core_tokens_after: u64,
}

impl RewindPreview {
    /// Counts `changes`, at most one of each memory; new memories are left out. `before` and `after` are the tallies
    /// before and after all of them.
    pub fn of(before: &Tally, after: &Tally, changes: &[Change]) -> Self {
        let mut preview = Self {
            core_tokens_before: before.core_tokens,
            core_tokens_after: after.core_tokens,
            ..Self::default()
        };
        for change in changes {
            let after = change.after();
            let Some(before) = change.before() else {
                continue;
            };
            let active_kind = |memory: &Memory| memory.is_active().then(|| memory.kind());
            let is_same_text = before.content == after.content;
            preview.count(active_kind(before), active_kind(&after), is_same_text);
        }
        preview
    }

    /// Counts a changed memory by its kind before and after; `None` of a discarded one.
    fn count(&mut self, before: Option<Kind>, after: Option<Kind>, is_same_text: bool) {
        self.changed += 1;
        match (before, after) {
            (None, Some(_)) => self.returning += 1,
            (Some(_), None) => self.discarded += 1,
            (Some(_), Some(_)) if !is_same_text => self.reworded += 1,
            (Some(Kind::Core), Some(Kind::Archival)) => self.archived += 1,
            (Some(Kind::Archival), Some(Kind::Core)) => self.promoted += 1,
            _ => {}
        }
    }
}

/// The expected result of a rewind, for memories and sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RewindForecast {
    /// The result for the memories.
    pub changes: RewindPreview,
    /// Sessions that would be undone.
    pub sessions_undone: u64,
    /// Undone sessions whose edits would be effective again.
    pub sessions_reinstated: u64,
}

impl RewindForecast {
    /// Whether nothing would change.
    pub fn is_nothing(&self) -> bool {
        self.changes.changed + self.sessions_undone + self.sessions_reinstated == 0
    }
}

/// Finds the point to return to in `log`, the agent's whole log, oldest first: that after the last record
/// written at `to` or earlier.
pub fn plan_rewind(log: &[Record], to: Timestamp) -> RewindPlan {
    // From the end: where a clock was set back, an earlier record may be dated later.
    let last = log.iter().rfind(|record| record.recorded_at <= to);
    RewindPlan {
        to,
        ..plan_rewind_after(log, last)
    }
}

/// As [`plan_rewind`], to the point after the record at `seq`: times can run backwards where a clock was set back,
/// places in the log cannot.
pub fn plan_rewind_to_record(log: &[Record], seq: u64) -> RewindPlan {
    plan_rewind_after(log, log.iter().rfind(|record| record.seq <= seq))
}

fn plan_rewind_after(log: &[Record], last: Option<&Record>) -> RewindPlan {
    let to_seq = last.map_or(0, |record| record.seq);
    let records = log.iter().take_while(|record| record.seq <= to_seq);
    let changes = records.flat_map(|record| &record.body.changes);
    let mut changed: BTreeMap<Number, &Change> = BTreeMap::new();
    changed.extend(changes.map(|change| (change.number(), change)));
    let memories = changed.into_iter();
    RewindPlan {
        to: last.map_or(Timestamp::MIN, |record| record.recorded_at),
        to_seq,
        memories: memories
            .map(|(number, change)| (number, change.after()))
            .collect(),
    }
}

/// The expected result of the rewind. `memories` holds all memories of the agent.
pub fn preview(
    agent: &Agent,
    memories: &BTreeMap<Number, Memory>,
    plan: &RewindPlan,
    now: Timestamp,
) -> RewindPreview {
    let mut draft = Draft::for_agent(agent.clone(), now);
    let changes = rollback::restore(&mut draft, memories, &targets(memories, plan, now));
    RewindPreview::of(&agent.tally, &draft.agent().tally, &changes)
}

/// All memories in their target state: as they were then, and discarded where they did not exist. A summary whose
/// sources were all shredded since is discarded (SPEC 2.4).
fn targets(
    memories: &BTreeMap<Number, Memory>,
    plan: &RewindPlan,
    now: Timestamp,
) -> BTreeMap<Number, Memory> {
    let target = |memory: &Memory| match plan.memories.get(&memory.number) {
        _ if memory.stays_on_rewind() => memory.clone(),
        // Also for a memory that was shredded since: `restore` skips it.
        Some(then) => then.clone(),
        None => Memory {
            // Discarded, not removed: its number stays assigned, and a rewind forward finds it.
            discarded_at: memory.discarded_at.or(Some(now)),
            ..memory.clone()
        },
    };
    let mut targets: BTreeMap<Number, Memory> = memories
        .iter()
        .map(|(number, memory)| (*number, target(memory)))
        .collect();
    for number in rollback::bare_summaries(memories, &targets) {
        if let Some(memory) = memories.get(&number) {
            let at = memory.discarded_at.unwrap_or(now);
            targets.insert(number, memory.discarded(at));
        }
    }
    targets
}

/// Returns every memory to exactly its state at the planned point. Where nothing would change, an act of an
/// administrator is a record all the same (SPEC 4.3), and one of the agent `None`. Memories that did not exist then are
/// discarded; shredded ones stay so (SPEC 4.4), and so do reports on acts ([`Memory::stays_on_rewind`]). No journal entry
/// is added. The record counts the constitutional memories that were discarded or lost their protection.
/// Settings and prompts stay: the agent or an administrator sets them, and each can be reverted by itself.
///
/// A session that ended since is undone where none of its edits is effective; one whose undo is reversed is not. A
/// rewind to before a rewind undoes it.
///
/// `sessions` holds all sessions of the agent, `log` its whole log, oldest first, and `memories` all its memories.
///
/// # Errors
/// A session is running, or the agent was erased.
pub fn rewind(
    agent: Agent,
    sessions: Vec<Session>,
    log: &[Record],
    memories: &BTreeMap<Number, Memory>,
    plan: &RewindPlan,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, ChangeRefusal> {
    // A running session is rolled back first: its ledger and counts would name memories that changed.
    let running = sessions.iter().find(|session| session.state.is_running());
    manage::check_idle(&agent, running.map(|session| session.id))?;
    let before = agent.tally;
    let mut draft = Draft::for_agent(agent, now);
    let changes = rollback::restore(&mut draft, memories, &targets(memories, plan, now));
    let measured = RewindPreview::of(&before, &draft.agent().tally, &changes);
    let mut facts = facts(plan, &measured);
    let unprotected = unprotected(memories, &changes);
    if unprotected > 0 {
        facts = facts.count("unprotected", unprotected);
    }
    draft.record(actor, Action::AgentRewound, None, facts, changes);
    let mut decision = draft.finish();
    decision.sessions = sessions_changed(sessions, log, &decision.records);
    let is_idle = decision.changes.is_empty() && decision.sessions.is_empty();
    Ok((!is_idle || actor.kind.is_in_charge()).then_some(decision))
}

/// The expected result of [`rewind`] to the end of `then`, if no session is running. `now` is the whole log, `then` a
/// part from its beginning, and `sessions` holds no rehearsals.
pub fn foresee(
    agent: &Agent,
    sessions: impl IntoIterator<Item = SessionId>,
    now: &LogPast,
    then: &LogPast,
    at: Timestamp,
) -> RewindForecast {
    let mut changes = RewindPreview {
        core_tokens_before: agent.tally.core_tokens,
        core_tokens_after: agent.tally.core_tokens,
        ..RewindPreview::default()
    };
    let is_shredded = |index: usize| {
        let present = now.memories.get(index).copied().flatten();
        present.is_some_and(|present| present.is_shredded)
    };
    let sources = then.memories.iter().enumerate();
    let summaries: BTreeSet<Number> = sources
        .filter(|(index, _)| !is_shredded(*index))
        .filter_map(|(_, then)| then.as_ref()?.source_of())
        .collect();
    for (index, present) in now.memories.iter().enumerate() {
        let Some(present) = present.filter(|it| !it.is_shredded && !it.stays_on_rewind) else {
            continue;
        };
        // `None` of a memory that did not exist then: it is discarded, and was not active anyway where nothing changes.
        let target = then.memories.get(index).copied().flatten();
        // A summary whose sources were all shredded since is discarded.
        let is_bare = |then: &MemoryGlance| {
            then.is_summary && then.is_active && !summaries.contains(&Number(index as u64 + 1))
        };
        let target = target.filter(|then| !is_bare(then));
        let size = target.map_or(0, |then| then.core_tokens());
        let is_same = target.map_or(!present.is_active, |then| then.state == present.state);
        if is_same {
            continue;
        }
        let is_same_text = target.is_some_and(|then| then.content == present.content);
        let target_kind = target.and_then(|then| then.kind());
        changes.count(present.kind(), target_kind, is_same_text);
        let without = changes
            .core_tokens_after
            .saturating_sub(present.core_tokens());
        changes.core_tokens_after = without + size;
    }
    let before = now.effective_records.undone();
    let mut effective = now.effective_records.clone();
    effective.apply_event(&EffectEvent {
        // The place of the rewind's record: preview and rewind share one reading of the log.
        seq: now.last_seq() + 1,
        session: None,
        kind: EffectKind::Rewound(at, then.last_seq()),
    });
    let after = effective.undone();
    let changed: Vec<SessionId> = sessions
        .into_iter()
        .filter(|session| before.get(session) != after.get(session))
        .collect();
    let undone = changed.iter().filter(|session| after.contains_key(session));
    let undone = undone.count() as u64;
    RewindForecast {
        changes,
        sessions_undone: undone,
        sessions_reinstated: changed.len() as u64 - undone,
    }
}

/// The number of active constitutional memories that the changes discard or unprotect.
fn unprotected(memories: &BTreeMap<Number, Memory>, changes: &[Change]) -> u64 {
    let is_held = |memory: &Memory| memory.is_active() && memory.is_constitutional();
    let lifted = changes.iter().filter(|change| {
        let was_held = memories.get(&change.number()).is_some_and(is_held);
        was_held && !is_held(&change.after())
    });
    lifted.count() as u64
}

fn facts(plan: &RewindPlan, measured: &RewindPreview) -> Facts {
    Facts::default()
        .count(TO_SEQ, plan.to_seq)
        .time("to", plan.to)
        .count("memories", measured.changed)
        .count("returning", measured.returning)
        .count("discarded", measured.discarded)
        .count("reworded", measured.reworded)
        .count("archived", measured.archived)
        .count("promoted", measured.promoted)
        .count("core_tokens_before", measured.core_tokens_before)
        .count("core_tokens_after", measured.core_tokens_after)
}

/// The sessions whose undone state changes once `drafted` ends `log`.
fn sessions_changed(sessions: Vec<Session>, log: &[Record], drafted: &[Record]) -> Vec<Session> {
    // From the whole log: which sessions are undone depends on all that came before.
    let mut effective = EffectiveRecords::of(log);
    let before = effective.undone().clone();
    drafted.iter().for_each(|record| effective.apply(record));
    sessions
        .into_iter()
        .filter(|session| !session.rehearsal)
        .filter(|session| before.get(&session.id) != effective.undone().get(&session.id))
        .map(|session| Session {
            undone_at: effective.undone().get(&session.id).copied(),
            ..session
        })
        .collect()
}
