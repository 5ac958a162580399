//! An agent rebuilt from its records alone, for comparison with the stored one (SPEC 4.2).
//!
//! Memory use depends on the memories and sessions, not on the log: a digest of the state of each memory
//! ([`MemoryMark`]), and the counts of each session. No text is kept. Each record that changes the text of an original
//! must leave the same text (SPEC 1), and the stored memories are compared with their last states. So every original is
//! found word for word, or named (SPEC 3.12).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use memoir_text::same_text_key;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    access::AccessRequest,
    agent::{self, Agent, Field, LossGuard, Settings},
    ids::{AccessRequestId, SessionId},
    log::{
        audit::{Action, Actor, Change, GUARD, MEMBERS, Record, STARTED_BY, SettingChange},
        effective::EffectiveRecords,
    },
    memory::{
        Memory, Number, Tally,
        mark::{MemoryMark, TextMark},
    },
    session::{Session, Stats},
    text::{counted, thousands},
    time::Timestamp,
};

/// The first mismatch. Names it by table, number and field, never by an agent's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", seq.map(|seq| format!("record {seq}: ")).unwrap_or_default())]
pub struct ReplayMismatch {
    /// The mismatching record, or the last one that touched the mismatching row; `None` where there is none.
    pub seq: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl ReplayMismatch {
    fn at(seq: impl Into<Option<u64>>, problem: impl Into<String>) -> Self {
        Self {
            seq: seq.into(),
            problem: problem.into(),
        }
    }
}

/// The earliest one by the log; those without a record come last.
fn first(mismatches: impl IntoIterator<Item = ReplayMismatch>) -> Result<(), ReplayMismatch> {
    let mut first = None;
    let mismatches = mismatches.into_iter();
    mismatches.for_each(|mismatch| keep_first(&mut first, mismatch));
    first.map_or(Ok(()), Err)
}

fn keep_first(kept: &mut Option<ReplayMismatch>, mismatch: ReplayMismatch) {
    // Those without a place come last: a wrong record explains more than a wrong count.
    let place = |mismatch: &ReplayMismatch| mismatch.seq.unwrap_or(u64::MAX);
    let is_before = |kept: &ReplayMismatch| place(&mismatch) < place(kept);
    if kept.as_ref().is_none_or(is_before) {
        *kept = Some(mismatch);
    }
}

/// An agent rebuilt from its records, from the first one on. By default, the state before them.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    name: String,
    settings: Settings,
    /// The memories from number 1 on, which have no gaps.
    memories: Vec<KnownMemory>,
    tally: Tally,
    /// What sessions under `off` removed of each memory.
    removed_off: BTreeMap<Number, RemovedOff>,
    sessions: BTreeMap<SessionId, SessionRecords>,
    /// Each with the place of the last record of it.
    access: BTreeMap<AccessRequestId, (AccessRequest, u64)>,
    effective_records: EffectiveRecords,
    last_seq: u64,
    erased_at: Option<Timestamp>,
    last_set: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone)]
struct KnownMemory {
    state: MemoryMark,
    /// The last record that changed it.
    touched: u64,
    /// Whether an act outside of sessions discarded it; not the duplicate cleanup, whose copies no count includes.
    is_taken: bool,
}

/// What sessions under `off` removed of one memory, without rolled back or restored parts.
#[derive(Debug, Clone, Default)]
struct RemovedOff {
    /// It was discarded, and still is.
    is_discarded: bool,
    /// The texts that it had since the first rewrite, each with the number of rewrites before it. An undo or a rewind
    /// can return to any of them.
    texts: Vec<(TextMark, u64)>,
    /// The number of rewrites before the present one.
    rewritten: u64,
}

impl RemovedOff {
    fn rewrite(&mut self, before: &Memory, after: &Memory) {
        if self.texts.is_empty() {
            self.texts.push((text_mark(before), 0));
        }
        self.rewritten += 1;
        self.texts.push((text_mark(after), self.rewritten));
    }

    /// Returns to an earlier text; `None` where it never had that text.
    fn return_to(&mut self, after: &Memory) -> Option<()> {
        let mark = text_mark(after);
        let same = self.texts.iter().filter(|(text, _)| *text == mark);
        self.rewritten = same.map(|(_, rewritten)| *rewritten).min()?;
        Some(())
    }

    fn count(&self) -> u64 {
        u64::from(self.is_discarded) + self.rewritten
    }
}

/// Where the originals are (SPEC 3.12). The total is the sum of the next four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Originals {
    /// All that count.
    pub total: u64,
    /// Those that are active core memories.
    pub in_prompt: u64,
    /// Those that are active archival memories.
    pub archived: u64,
    /// Those that sessions under the guard `off` discarded or rewrote.
    pub removed_off: u64,
    /// Those that are missing, or not word for word as recorded.
    pub lost: u64,
    /// Those that an act outside of sessions discarded, which the total leaves out.
    #[serde(skip)]
    pub discarded: u64,
}

impl fmt::Display for Originals {
    /// As in `1,234 originals: 1,050 in the prompt, 184 in the archive, 0 lost`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {} in the prompt, {} in the archive, ",
            counted(self.total, "original", "originals"),
            thousands(self.in_prompt),
            thousands(self.archived),
        )?;
        if self.removed_off > 0 {
            let removed = thousands(self.removed_off);
            write!(formatter, "{removed} removed under `off`, ")?;
        }
        write!(formatter, "{} lost", thousands(self.lost))
    }
}

/// The content of the records of one session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionRecords {
    /// The edits that count towards the cap.
    pub edits: u32,
    /// The sum of their removals, in tokens.
    pub removed_tokens: u64,
    /// Memories that they moved to the archive.
    pub archived: u32,
    /// Of these, those that came under a summary.
    pub archived_under_summaries: u32,
    /// Summaries that they wrote.
    pub summaries: u32,
    /// The edits and protections by kind.
    pub stats: Stats,
    /// How it ended; `None` while it runs.
    pub end: Option<SessionEnd>,
    /// Since when it is undone.
    pub undone_at: Option<Timestamp>,
    /// Its last record.
    pub last_seq: u64,
    /// The actor that began it, from its first record.
    pub started_by: Option<Value>,
    changes_memories: bool,
}

/// The content of the record of a session's end.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEnd {
    /// The record's place in the log.
    pub seq: u64,
    /// Which end it was.
    pub action: Action,
    /// When it ended.
    pub recorded_at: Timestamp,
    /// Its edits by kind, as a JSON object.
    pub stats: Option<Box<str>>,
}

impl Replay {
    /// From a whole log, oldest first.
    ///
    /// # Errors
    /// The first mismatching record.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, ReplayMismatch> {
        let mut replay = Self::default();
        for record in records {
            replay.apply(record)?;
        }
        Ok(replay)
    }

    /// Adds the next record. After an error the state is undefined.
    ///
    /// # Errors
    /// It does not fit the previous ones.
    pub fn apply(&mut self, record: &Record) -> Result<(), ReplayMismatch> {
        let next = self.last_seq + 1;
        if record.seq != next {
            let problem = format!("is where record {next} is expected");
            return Err(ReplayMismatch::at(record.seq, problem));
        }
        // Before the changes: a record of an erased agent must not become a part of the state.
        self.apply_erasure(record)?;
        for change in &record.body.changes {
            self.apply_change(record, change)?;
        }
        for setting in &record.body.settings {
            self.apply_setting(record.seq, setting)?;
        }
        self.apply_session(record)?;
        self.apply_access(record)?;
        self.effective_records.apply(record);
        self.last_seq = record.seq;
        Ok(())
    }

    fn apply_erasure(&mut self, record: &Record) -> Result<(), ReplayMismatch> {
        let is_erasure = record.action == Action::AgentErased;
        let has_effect =
            is_erasure || !record.body.changes.is_empty() || !record.body.settings.is_empty();
        if self.erased_at.is_some() && has_effect {
            let problem = "changes an agent that was erased before";
            return Err(ReplayMismatch::at(record.seq, problem));
        }
        if is_erasure {
            self.erased_at = Some(record.recorded_at);
        }
        Ok(())
    }

    fn next_number(&self) -> Number {
        Number(self.memories.len() as u64 + 1)
    }

    fn known(&self, number: Number) -> Option<&KnownMemory> {
        // Numbers begin with 1, so that the list has each at one place less and needs no map.
        let index = usize::try_from(number.0).ok()?.checked_sub(1)?;
        self.memories.get(index)
    }

    fn apply_change(&mut self, record: &Record, change: &Change) -> Result<(), ReplayMismatch> {
        let (seq, number) = (record.seq, change.number());
        let mismatch = |problem: String| Err(ReplayMismatch::at(seq, problem));
        match (change.before(), self.known(number)) {
            (None, _) if number != self.next_number() => {
                let next = self.next_number();
                return mismatch(format!("makes memory {number} where {next} is next"));
            }
            (None, _) => {}
            (Some(_), None) => {
                return mismatch(format!("changes memory {number}, which was never made"));
            }
            (Some(_), Some(known)) if known.state.shredded_at.is_some() => {
                let problem = format!("changes memory {number}, which was shredded before");
                return mismatch(problem);
            }
            (Some(before), Some(known)) => {
                let mark = MemoryMark::new(before);
                // The digests of both are compared: a change of one record's before or after would need a change of its
                // neighbour too.
                if mark != known.state {
                    return mismatch(format!(
                        "changes memory {number} from a state that it was not in ({})",
                        mark.differing(&known.state).join(", ")
                    ));
                }
            }
        }
        let after = change.after();
        if let Some(before) = change.before() {
            self.check_original(record, before, &after)?;
            self.tally.remove(before);
        }
        self.tally.add(&after);
        let is_taken = match change.before().filter(|before| !before.is_active()) {
            Some(_) => self.known(number).is_some_and(|known| known.is_taken),
            None => matches!(
                record.action,
                Action::MemoryDiscarded | Action::AgentRewound | Action::ImportUndone
            ),
        };
        let known = KnownMemory {
            state: MemoryMark::new(&after),
            touched: seq,
            is_taken,
        };
        // The next one, or an existing one: both were checked.
        match usize::try_from(number.0 - 1).ok() {
            Some(index) if index < self.memories.len() => self.memories[index] = known,
            _ => self.memories.push(known),
        }
        Ok(())
    }

    /// No session removes an original, and nothing changes its text but shredding: after the record, an active original
    /// has the same text, in the prompt or in the archive (SPEC 3.12).
    fn check_original(
        &mut self,
        record: &Record,
        before: &Memory,
        after: &Memory,
    ) -> Result<(), ReplayMismatch> {
        // A summary that a session rewrote under `off` is an original until that is undone (SPEC 3.14, 3.19).
        if record.action.undoes() && (before.is_summary || after.is_summary) {
            if let Some(removed) = self.removed_off.get_mut(&before.number) {
                removed.is_discarded = false;
                if after.is_summary || removed.return_to(after).is_none() {
                    removed.rewritten = 0;
                }
            }
            return Ok(());
        }
        if !before.is_original() || after.shredded_at.is_some() {
            return Ok(());
        }
        let mismatch = |problem: &str| {
            let problem = format!("{problem} memory {}", before.number);
            Err(ReplayMismatch::at(record.seq, problem))
        };
        let is_edit = record.action.is_session_edit();
        let is_off = is_edit
            && record.facts.code_of(GUARD) == Some(LossGuard::Off.as_str())
            // The record's claim is compared with the setting at the time.
            && self.settings.effective_loss_guard() == LossGuard::Off;
        let is_same = before.content == after.content
            || same_text_key(before.content.expose()) == same_text_key(after.content.expose());
        if is_off {
            let removed = self.removed_off.entry(before.number).or_default();
            if before.is_active() && !after.is_active() {
                removed.is_discarded = true;
            }
            if !is_same {
                removed.rewrite(before, after);
            }
            return Ok(());
        }
        if let Some(removed) = self.removed_off.get_mut(&before.number) {
            removed.is_discarded &= !after.is_active();
            if !is_same && removed.return_to(after).is_none() {
                return mismatch("changes the text of");
            }
        } else if !is_same {
            return mismatch("changes the text of");
        }
        let loses = is_edit || record.action == Action::MemoryReplaced;
        if loses && before.is_active() && !after.is_active() {
            return mismatch("takes away");
        }
        Ok(())
    }

    fn apply_setting(&mut self, seq: u64, change: &SettingChange) -> Result<(), ReplayMismatch> {
        // The name may be anything in a record that was tampered with, and is not repeated.
        let field: Field = change.field.parse().map_err(|_| {
            ReplayMismatch::at(seq, "changes something that is no setting of an agent")
        })?;
        let before = agent::field_value(&self.name, &self.settings, field);
        if before != *change.before.expose() {
            let problem = format!(
                "changes the setting `{}` from a value that it did not have",
                field.as_str()
            );
            return Err(ReplayMismatch::at(seq, problem));
        }
        let after = change.after.expose();
        agent::set_field_value(&mut self.name, &mut self.settings, field, after)
            .map_err(|error| ReplayMismatch::at(seq, error.to_string()))?;
        self.last_set.insert(field.as_str(), seq);
        Ok(())
    }

    fn apply_session(&mut self, record: &Record) -> Result<(), ReplayMismatch> {
        let belongs = record.action.is_session_edit() || record.action.is_session_end();
        let Some(id) = record.session else {
            return match belongs {
                true => Err(ReplayMismatch::at(record.seq, "belongs to no session")),
                false => Ok(()),
            };
        };
        let session = self.sessions.entry(id).or_default();
        // The case behind this rule: merges that came in after a session's rollback.
        if session.end.is_some() && belongs {
            let problem = format!("belongs to session {id}, which was over before");
            return Err(ReplayMismatch::at(record.seq, problem));
        }
        session.add(record);
        Ok(())
    }

    fn apply_access(&mut self, record: &Record) -> Result<(), ReplayMismatch> {
        let mismatch = |problem: &str| Err(ReplayMismatch::at(record.seq, problem));
        match record.action {
            // Grants of another installation are not valid here, and requests are not imported.
            Action::AgentImported => self.access.clear(),
            Action::AccessRequested => {
                let Some(request) = AccessRequest::begun_by(record) else {
                    return mismatch("does not say what is asked for");
                };
                let taken = self.access.insert(request.id, (request, record.seq));
                if taken.is_some() {
                    return mismatch("asks under an identifier that was taken");
                }
            }
            action if action.is_of_access() => {
                let begun = AccessRequest::named_by(record).and_then(|id| self.access.get_mut(&id));
                let Some((request, last_seq)) = begun else {
                    return mismatch("is of a request for access that was never made");
                };
                // A copy, since a record that does not follow must leave the earlier state unchanged.
                match request.clone().follow(record) {
                    Some(after) => *request = after,
                    None => return mismatch("does not follow what became of its request before"),
                }
                *last_seq = record.seq;
            }
            _ => {}
        }
        Ok(())
    }

    /// The content of a session's records; `None` where there are none.
    pub fn session(&self, id: SessionId) -> Option<SessionRecords> {
        let mut records = self.sessions.get(&id)?.clone();
        records.undone_at = self.effective_records.undone().get(&id).copied();
        Some(records)
    }

    /// Which records are effective.
    pub fn effective_records(&self) -> &EffectiveRecords {
        &self.effective_records
    }

    /// Compares the records with the stored agent: name, settings, counts, next numbers and erasure.
    ///
    /// # Errors
    /// The difference; of several, the earliest by the log.
    pub fn check_agent(&self, agent: &Agent) -> Result<(), ReplayMismatch> {
        let differs = |field: &Field| {
            agent::field_value(&self.name, &self.settings, *field)
                != agent::field_value(&agent.name, &agent.settings, *field)
        };
        let settings = Field::ALL.into_iter().filter(differs).map(|field| {
            let name = field.as_str();
            let seq = self.last_set.get(name).copied();
            ReplayMismatch::at(seq, format!("table `agents`: `{name}` is not as recorded"))
        });
        first(settings)?;
        // Before the counts: a record that is missing at the end explains why they differ.
        self.check_end(agent)?;
        let differing = agent.differing_counts(&self.tally);
        if differing.is_empty() {
            return Ok(());
        }
        let problem = format!(
            "table `agents`: {} differ from a recount of the records",
            differing.join(", ")
        );
        Err(ReplayMismatch::at(None, problem))
    }

    /// Whether the log ends where the agent says that it does.
    fn check_end(&self, agent: &Agent) -> Result<(), ReplayMismatch> {
        let (next_seq, next_number) = (self.last_seq + 1, self.next_number());
        let (seq, problem) = if agent.next_seq > next_seq {
            let last = agent.next_seq - 1;
            let problem =
                format!("is missing: table `agents` says that the log ends with record {last}");
            (Some(next_seq), problem)
        } else if agent.next_seq < next_seq {
            let problem = "is too many: table `agents` says that the log ends before it";
            (Some(agent.next_seq), problem.to_owned())
        } else if agent.next_number != next_number {
            let stored = agent.next_number;
            let problem =
                format!("the next memory is {stored} by its row and {next_number} by the records");
            (None, format!("table `agents`: {problem}"))
        } else if agent.erased_at != self.erased_at {
            let problem = "table `agents`: `erased_at` is not as recorded";
            (None, problem.to_owned())
        } else {
            return Ok(());
        };
        Err(ReplayMismatch::at(seq, problem))
    }

    /// Compares the records with all stored memories, and counts the originals.
    ///
    /// # Errors
    /// The difference; of several, the earliest by the log.
    pub fn check_memories(&self, memories: &[Memory]) -> Result<Originals, ReplayMismatch> {
        let mut by_number: Vec<&Memory> = memories.iter().collect();
        by_number.sort_by_key(|memory| memory.number);
        let mut comparison = MemoryComparison::default();
        for memory in by_number {
            comparison.add(self, memory);
        }
        let (originals, differing) = comparison.finish(self);
        differing.map_or(Ok(originals), Err)
    }

    fn mismatch_of(&self, number: Number, problem: &str) -> ReplayMismatch {
        let seq = self.known(number).map(|known| known.touched);
        ReplayMismatch::at(seq, format!("table `memories`, row {number}: {problem}"))
    }

    /// Compares the records with all stored sessions.
    ///
    /// # Errors
    /// The difference; of several, the earliest by the log.
    pub fn check_sessions(&self, sessions: &[Session]) -> Result<(), ReplayMismatch> {
        let mut comparison = SessionComparison::default();
        for session in sessions {
            comparison.add(self, session);
        }
        comparison.finish(self)
    }

    /// Compares the records with all stored access requests.
    ///
    /// # Errors
    /// The difference; of several, the earliest by the log.
    pub fn check_access(&self, requests: &[AccessRequest]) -> Result<(), ReplayMismatch> {
        let stored: BTreeSet<AccessRequestId> = requests.iter().map(|request| request.id).collect();
        let mismatch = |id: AccessRequestId, seq: Option<u64>, problem: &str| {
            ReplayMismatch::at(seq, format!("table `access_requests`, row {id}: {problem}"))
        };
        let missing = self.access.iter().filter(|(id, _)| !stored.contains(id));
        let missing = missing.map(|(id, (_, seq))| mismatch(*id, Some(*seq), "is missing"));
        let different = requests.iter().filter_map(|request| {
            let Some((recorded, seq)) = self.access.get(&request.id) else {
                return Some(mismatch(request.id, None, "is in no record"));
            };
            let fields = recorded.differing(request);
            let problem = format!("{} not as recorded", fields.join(", "));
            (!fields.is_empty()).then(|| mismatch(request.id, Some(*seq), &problem))
        });
        first(missing.chain(different))
    }
}

/// Stored memories, compared with the records one by one.
#[derive(Debug, Default)]
pub struct MemoryComparison {
    /// The highest number so far.
    last: u64,
    differing: Option<ReplayMismatch>,
    originals: Originals,
}

impl MemoryComparison {
    /// Adds the next memory; they come by number.
    pub fn add(&mut self, replay: &Replay, memory: &Memory) {
        self.pass_over(replay, memory.number);
        let mut differs = |problem: &str| {
            let mismatch = replay.mismatch_of(memory.number, problem);
            keep_first(&mut self.differing, mismatch);
        };
        if memory.number.0 <= self.last {
            // The previous row is compared already; a second row of the number is the fault, whatever it holds.
            return differs("exists twice");
        }
        self.last = memory.number.0;
        let Some(known) = replay.known(memory.number) else {
            return differs("is in no record");
        };
        let fields = known.state.differing(&MemoryMark::new(memory));
        if !fields.is_empty() {
            differs(&format!("{} not as recorded", fields.join(", ")));
        }
        self.count(&known.state, fields.is_empty());
        let can_return = !known.state.is_active() && known.state.shredded_at.is_none();
        let is_discarded = known.is_taken && known.state.is_original() && can_return;
        self.originals.discarded += u64::from(is_discarded);
    }

    /// Counts a memory by its recorded state. An original whose row differs is lost.
    fn count(&mut self, state: &MemoryMark, is_as_recorded: bool) {
        let in_prompt = state.is_original() && state.is_active_core();
        let count = match (in_prompt, state.is_active_archival()) {
            (false, false) => return,
            _ if !is_as_recorded => &mut self.originals.lost,
            (true, _) => &mut self.originals.in_prompt,
            (false, true) => &mut self.originals.archived,
        };
        *count += 1;
    }

    /// Counts those missing before this number.
    fn pass_over(&mut self, replay: &Replay, to: Number) {
        for number in self.last + 1..to.0 {
            let Some(known) = replay.known(Number(number)) else {
                break;
            };
            let mismatch = replay.mismatch_of(Number(number), "is missing");
            keep_first(&mut self.differing, mismatch);
            self.count(&known.state, false);
        }
    }

    /// The places of the originals and the difference, once all memories were added; of several differences, the
    /// earliest by the log.
    pub fn finish(mut self, replay: &Replay) -> (Originals, Option<ReplayMismatch>) {
        // Ends with the last known one: nothing is missing after it.
        self.pass_over(replay, Number(u64::MAX));
        let mut originals = self.originals;
        originals.removed_off = replay.removed_off.values().map(RemovedOff::count).sum();
        originals.total =
            originals.in_prompt + originals.archived + originals.removed_off + originals.lost;
        (originals, self.differing)
    }
}

/// A digest that is equal for the same text (SPEC 1).
fn text_mark(memory: &Memory) -> TextMark {
    TextMark::of_text(&same_text_key(memory.content.expose()))
}

/// Stored sessions, compared with the records one by one. A rehearsal has at most the record of its end, since it
/// changes nothing.
#[derive(Debug, Default)]
pub struct SessionComparison {
    seen: BTreeSet<SessionId>,
    differing: Option<ReplayMismatch>,
}

impl SessionComparison {
    /// Adds a session.
    pub fn add(&mut self, replay: &Replay, session: &Session) {
        self.seen.insert(session.id);
        let records = replay.session(session.id);
        let last_seq = records.as_ref().map(|records| records.last_seq);
        if let Some(problem) = session_problem(session, &records.unwrap_or_default()) {
            let mismatch = mismatch_of_session(session.id, last_seq, problem);
            keep_first(&mut self.differing, mismatch);
        }
    }

    /// Ends, once all sessions were added.
    ///
    /// # Errors
    /// The difference; of several, the earliest by the log.
    pub fn finish(mut self, replay: &Replay) -> Result<(), ReplayMismatch> {
        for (id, records) in &replay.sessions {
            if !self.seen.contains(id) {
                let mismatch = mismatch_of_session(*id, records.last_seq, "is missing");
                keep_first(&mut self.differing, mismatch);
            }
        }
        self.differing.map_or(Ok(()), Err)
    }
}

impl SessionRecords {
    fn add(&mut self, record: &Record) {
        if self.last_seq == 0 {
            self.started_by = record.facts.as_map().get(STARTED_BY).cloned();
        }
        self.last_seq = record.seq;
        let is_edit = record.action.is_session_edit();
        self.changes_memories |= is_edit || record.action == Action::MemoryDeduplicated;
        if record.action.is_session_end() {
            self.end = Some(SessionEnd {
                seq: record.seq,
                action: record.action,
                recorded_at: record.recorded_at,
                stats: (record.facts.as_map().get("stats"))
                    .map(|stats| stats.to_string().into_boxed_str()),
            });
        }
        if record.action.is_capped_edit() {
            self.edits += 1;
            let removed = record.facts.count_of("tokens_removed").unwrap_or(0);
            self.removed_tokens = self.removed_tokens.saturating_add(removed);
            let archived = record.facts.places_of("archived").count() as u32;
            let summaries = record.facts.count_of("summaries").unwrap_or(0) as u32;
            self.archived += archived;
            self.summaries += summaries;
            if summaries > 0 {
                self.archived_under_summaries += archived;
            }
        }
        let members = record.facts.places_of(MEMBERS).count() as u32;
        match record.action {
            Action::MemoryRefinementConsolidate => self.stats.consolidated += members,
            Action::MemoryRefinementUpdate => self.stats.updated += members,
            Action::MemoryRefinementDelete => self.stats.deleted += members,
            Action::MemoryRefinementProtect => self.stats.protected += 1,
            _ => {}
        }
    }
}

fn mismatch_of_session(
    id: SessionId,
    seq: impl Into<Option<u64>>,
    problem: &str,
) -> ReplayMismatch {
    ReplayMismatch::at(seq, format!("table `sessions`, row {id}: {problem}"))
}

/// The first difference of a session from its records.
fn session_problem(session: &Session, records: &SessionRecords) -> Option<&'static str> {
    // Both are `None` of an actor whose role this version does not know.
    let recorded = records.started_by.as_ref();
    let recorded = recorded.and_then(|actor| Actor::deserialize(actor).ok());
    // Before its first record, only the seal protects it.
    if records.last_seq > 0 && session.started_by != recorded {
        return Some("`started_by` is not as recorded");
    }
    if session.rehearsal {
        if records.changes_memories {
            return Some("is a rehearsal, and its records change memories");
        }
        return end_problem(session, Some(records.end.as_ref()?));
    }
    let stats = serde_json::to_value(session.stats).ok();
    // Compared as text, as it is kept here: maps take more room, and a long log has many sessions.
    let stats = stats.map(|stats| stats.to_string().into_boxed_str());
    let stats_recorded = records.end.as_ref().map(|end| &end.stats);
    let is_moved_as_recorded = session.archived == records.archived
        && session.archived_under_summaries == records.archived_under_summaries
        && session.summaries == records.summaries;
    let problem = if session.edits != records.edits {
        "`edits` is not as recorded"
    } else if session.removed_tokens != records.removed_tokens {
        "`removed_tokens` is not as recorded"
    } else if !is_moved_as_recorded {
        "`archived` or `summaries` is not as recorded"
    } else if session.stats != records.stats {
        "`stats` is not as recorded edit by edit"
    } else if stats_recorded.is_some_and(|recorded| *recorded != stats) {
        "`stats` is not as recorded at its end"
    } else if session.undone_at != records.undone_at {
        "`undone_at` is not as recorded"
    } else {
        return end_problem(session, records.end.as_ref());
    };
    end_problem(session, records.end.as_ref()).or(Some(problem))
}

fn end_problem(session: &Session, end: Option<&SessionEnd>) -> Option<&'static str> {
    if end.map(|end| end.action) != session.state.end_action() {
        return Some("`state` is not as recorded");
    }
    (session.ended_at != end.map(|end| end.recorded_at)).then_some("`ended_at` is not as recorded")
}
