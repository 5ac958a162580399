//! Returning an agent's memories to a point in time (SPEC 4.3).

use std::collections::BTreeMap;

use crate::{
    Timestamp,
    agent::Agent,
    audit::{Action, Actor, Body, Change, Facts, Record, TO_SEQ},
    draft::{Decision, Draft},
    manage::{self, ChangeRefusal},
    memory::{Memory, Number},
    rollback,
    session::Session,
    standing::Standing,
};

/// Where a rewind goes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindPlan {
    /// The time asked for.
    pub to: Timestamp,
    /// The last record that stays in force as it was; 0 where there was none yet.
    pub to_seq: u64,
    /// The memories as they were then.
    memories: BTreeMap<Number, Memory>,
}

/// What a rewind comes to, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RewindPreview {
    /// Memories that become different in any way.
    pub changed: u64,
    /// Discarded memories that are kept again.
    pub returning: u64,
    /// Kept memories that are discarded.
    pub discarded: u64,
    /// Memories that are kept and get another wording.
    pub reworded: u64,
    /// The mass before, in tokens.
    pub core_tokens_before: u64,
    /// The mass afterwards, in tokens.
    pub core_tokens_after: u64,
}

/// Finds the point to return to in `log`, the agent's whole log, oldest first: that after the last record
/// written at `to` or earlier.
pub fn plan_rewind(log: &[Record], to: Timestamp) -> RewindPlan {
    let to_seq = log
        .iter()
        .rfind(|record| record.recorded_at <= to)
        .map_or(0, |record| record.seq);
    RewindPlan {
        to,
        to_seq,
        memories: memories_after(log, to_seq),
    }
}

/// As [`plan_rewind`], to the point after the record at `seq`: times can run backwards where a clock was
/// put back, places in the log cannot.
pub fn plan_rewind_to_record(log: &[Record], seq: u64) -> RewindPlan {
    let last = log.iter().rfind(|record| record.seq <= seq);
    let to_seq = last.map_or(0, |record| record.seq);
    RewindPlan {
        to: last.map_or(Timestamp::MIN, |record| record.recorded_at),
        to_seq,
        memories: memories_after(log, to_seq),
    }
}

/// The memories after the record at `to_seq`.
fn memories_after(log: &[Record], to_seq: u64) -> BTreeMap<Number, Memory> {
    let mut last: BTreeMap<Number, &Change> = BTreeMap::new();
    for record in log.iter().take_while(|record| record.seq <= to_seq) {
        last.extend(
            record
                .body
                .changes
                .iter()
                .map(|change| (change.number(), change)),
        );
    }
    last.into_iter()
        .map(|(number, change)| (number, change.after()))
        .collect()
}

/// What the rewind would come to. `memories` holds all memories of the agent.
pub fn preview(
    agent: &Agent,
    memories: &BTreeMap<Number, Memory>,
    plan: &RewindPlan,
    now: Timestamp,
) -> RewindPreview {
    let mut draft = Draft::new(agent.clone(), None, now);
    let changes = rollback::restore(&mut draft, memories, &targets(memories, plan, now));
    measure(agent, &draft, &changes)
}

fn measure(before: &Agent, draft: &Draft, changes: &[Change]) -> RewindPreview {
    let mut preview = RewindPreview {
        changed: changes.len() as u64,
        core_tokens_before: before.tally.core_tokens,
        core_tokens_after: draft.agent.tally.core_tokens,
        ..RewindPreview::default()
    };
    for change in changes {
        let after = change.after();
        let Some(before) = change.before() else {
            continue;
        };
        match (before.is_kept(), after.is_kept()) {
            (false, true) => preview.returning += 1,
            (true, false) => preview.discarded += 1,
            (true, true) if before.content != after.content => preview.reworded += 1,
            _ => {}
        }
    }
    preview
}

/// All memories as they are to be: as they were then, and discarded where they did not exist.
fn targets(
    memories: &BTreeMap<Number, Memory>,
    plan: &RewindPlan,
    now: Timestamp,
) -> BTreeMap<Number, Memory> {
    let target = |memory: &Memory| match plan.memories.get(&memory.number) {
        Some(then) => then.clone(),
        None => Memory {
            discarded_at: memory.discarded_at.or(Some(now)),
            ..memory.clone()
        },
    };
    memories
        .iter()
        .map(|(number, memory)| (*number, target(memory)))
        .collect()
}

/// Returns every memory to exactly what it was at the point planned; `None` where nothing would become
/// different. Memories that did not exist then are discarded; shredded ones stay so (SPEC 4.4). No
/// journal entry is added, so that the kept memories are exactly those of that time. Settings and prompts
/// stay as they are: they are the agent's own or an administrator's to set, and each can be set back by
/// itself.
///
/// A session that ended since is undone where none of its edits is left in force, and one whose undo is
/// taken back is not undone any more. A rewind is itself undone by rewinding to before it.
///
/// `sessions` holds all sessions of the agent, `log` its whole log, oldest first, and `memories` all its
/// memories.
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
    let running = sessions.iter().find(|session| session.state.is_running());
    manage::check_idle(&agent, running.map(|session| session.id))?;
    let before = agent.clone();
    let mut draft = Draft::new(agent, None, now);
    let changes = rollback::restore(&mut draft, memories, &targets(memories, plan, now));
    let measured = measure(&before, &draft, &changes);
    draft.record(
        actor.clone(),
        Action::AgentRewound,
        None,
        facts(plan, &measured),
        Body {
            changes,
            ..Body::default()
        },
    );
    draft.other_sessions = sessions_changed(sessions, log, draft.records());
    let is_idle = draft.changes().is_empty() && draft.other_sessions.is_empty();
    Ok((!is_idle).then(|| draft.finish()))
}

fn facts(plan: &RewindPlan, measured: &RewindPreview) -> Facts {
    Facts::default()
        .count(TO_SEQ, plan.to_seq)
        .time("to", plan.to)
        .count("memories", measured.changed)
        .count("returning", measured.returning)
        .count("discarded", measured.discarded)
        .count("reworded", measured.reworded)
        .count("core_tokens_before", measured.core_tokens_before)
        .count("core_tokens_after", measured.core_tokens_after)
}

/// The sessions that are undone, or not undone any more, once `drafted` ends `log`.
fn sessions_changed(sessions: Vec<Session>, log: &[Record], drafted: &[Record]) -> Vec<Session> {
    let mut standing = Standing::of(log);
    let before = standing.undone().clone();
    drafted.iter().for_each(|record| standing.apply(record));
    sessions
        .into_iter()
        .filter(|session| !session.rehearsal)
        .filter(|session| before.get(&session.id) != standing.undone().get(&session.id))
        .map(|session| Session {
            undone_at: standing.undone().get(&session.id).copied(),
            ..session
        })
        .collect()
}
