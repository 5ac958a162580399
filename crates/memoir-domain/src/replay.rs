//! An agent as its records alone tell it, for comparing it with what is stored (SPEC 4.2).
//!
//! A log of any length is followed in the room of what it tells of: of each memory a mark
//! ([`MemoryMark`]), of each wording another one, of each session what was counted. Texts are not kept: where
//! a memory no longer says a wording in its own words, whoever compares reads that wording's record again, and
//! the mark tells that it is the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use memoir_details::{Reading, unsaid};
use serde_json::Value;

use crate::{
    AccessRequestId, SessionId, Timestamp,
    access::AccessRequest,
    agent::{self, Agent, Field, LostByDay, Settings},
    audit::{Action, Change, Record, STARTED_BY, SettingChange},
    in_force::RecordsInForce,
    mark::{MemoryMark, WordsMark},
    memory::{Memory, Number, Tally},
    session::{Session, State, Stats},
    wording::{Wording, WordingId, WordingTexts},
};

/// The first thing that does not fit. Says what by table, number and field, never in an agent's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ReplayMisfit {
    /// The record that does not fit, or the last one that touched what does not; `None` where there is
    /// none.
    pub seq: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for ReplayMisfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seq {
            Some(seq) => write!(formatter, "record {seq}: {}", self.problem),
            None => formatter.write_str(&self.problem),
        }
    }
}

impl ReplayMisfit {
    fn at(seq: impl Into<Option<u64>>, problem: impl Into<String>) -> Self {
        Self {
            seq: seq.into(),
            problem: problem.into(),
        }
    }
}

/// The one that the log comes to first; what no record touched comes last.
fn first(misfits: impl IntoIterator<Item = ReplayMisfit>) -> Result<(), ReplayMisfit> {
    let mut first = None;
    for misfit in misfits {
        keep_first(&mut first, misfit);
    }
    first.map_or(Ok(()), Err)
}

fn keep_first(kept: &mut Option<ReplayMisfit>, misfit: ReplayMisfit) {
    // What has no place comes last: a record that is wrong explains more than a count that is.
    let place = |misfit: &ReplayMisfit| misfit.seq.unwrap_or(u64::MAX);
    if kept
        .as_ref()
        .is_none_or(|kept| place(&misfit) < place(kept))
    {
        *kept = Some(misfit);
    }
}

/// An agent rebuilt from its records, from the first one on.
#[derive(Debug, Clone)]
pub struct Replay {
    name: String,
    settings: Settings,
    /// The memories from number 1 on, which have no gaps.
    memories: Vec<KnownMemory>,
    tally: Tally,
    lost_words: LostByDay,
    sessions: BTreeMap<SessionId, SessionRecords>,
    /// Each with the place of the last record of it.
    access: BTreeMap<AccessRequestId, (AccessRequest, u64)>,
    in_force: RecordsInForce,
    next_number: Number,
    next_seq: u64,
    erased_at: Option<Timestamp>,
    wordings: BTreeMap<WordingId, KnownWording>,
    last_set: BTreeMap<&'static str, u64>,
}

/// What is known of a memory.
#[derive(Debug, Clone, Copy)]
struct KnownMemory {
    state: MemoryMark,
    /// The last record that changed it.
    touched: u64,
}

/// What is known of a wording.
#[derive(Debug, Clone, Copy, Default)]
struct KnownWording {
    /// Its text, from the record in which it stands; `None` before that, and where none holds it.
    text: Option<WordsMark>,
    /// How many memories count it as one that they stand for.
    counted: u32,
}

/// How much of what was ever given to kept core memories is still said (SPEC 3.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Carried {
    /// Wordings that kept core memories stand for, and those that sessions let go by deleting.
    pub wordings: u64,
    /// Those of which everything is still said.
    pub carried: u64,
    /// Those of which sessions let something go.
    pub let_go: u64,
}

/// What the records tell of one session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionRecords {
    /// The edits that count towards the cap.
    pub edits: u32,
    /// What they took away together, in tokens.
    pub removed_tokens: u64,
    /// Words that they let go.
    pub lost_words: u64,
    /// The edits and protections by kind.
    pub stats: Stats,
    /// How it ended; `None` while it runs.
    pub end: Option<SessionEnd>,
    /// Since when it is undone.
    pub undone_at: Option<Timestamp>,
    /// Its last record.
    pub last_seq: u64,
    /// Who began it, as its first record tells.
    pub started_by: Option<Value>,
    changes_memories: bool,
}

/// What the record of a session's end tells.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEnd {
    /// The record's place in the log.
    pub seq: u64,
    /// Which end it was.
    pub action: Action,
    /// When it ended.
    pub recorded_at: Timestamp,
    /// What it did, as a JSON object.
    pub stats: Option<Box<str>>,
}

impl Default for Replay {
    fn default() -> Self {
        Self::new()
    }
}

impl Replay {
    /// Before the first record.
    pub fn new() -> Self {
        Self {
            name: String::new(),
            settings: Settings::default(),
            memories: Vec::new(),
            tally: Tally::default(),
            lost_words: LostByDay::default(),
            sessions: BTreeMap::new(),
            access: BTreeMap::new(),
            in_force: RecordsInForce::default(),
            next_number: Number(1),
            next_seq: 1,
            erased_at: None,
            wordings: BTreeMap::new(),
            last_set: BTreeMap::new(),
        }
    }

    /// Of a whole log, oldest first.
    ///
    /// # Errors
    /// The first record that does not fit.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, ReplayMisfit> {
        let mut replay = Self::new();
        for record in records {
            replay.apply(record)?;
        }
        Ok(replay)
    }

    /// Adds the next record. After an error nothing can be said of the agent any more.
    ///
    /// # Errors
    /// It does not fit the ones before it.
    pub fn apply(&mut self, record: &Record) -> Result<(), ReplayMisfit> {
        if record.seq != self.next_seq {
            let problem = format!("is where record {} is expected", self.next_seq);
            return Err(ReplayMisfit::at(record.seq, problem));
        }
        // Before the changes: a record of an erased agent must not become a part of the state.
        self.apply_erasure(record)?;
        for change in &record.body.changes {
            self.apply_change(record.seq, change)?;
        }
        // After all changes of the record: what one memory gives up, another takes over further on in it.
        self.check_handed_on(record)?;
        for setting in &record.body.settings {
            self.apply_setting(record.seq, setting)?;
        }
        self.apply_session(record)?;
        self.apply_access(record)?;
        self.in_force.apply(record);
        self.next_seq += 1;
        Ok(())
    }

    fn apply_erasure(&mut self, record: &Record) -> Result<(), ReplayMisfit> {
        let is_erasure = record.action == Action::AgentErased;
        let has_effect =
            is_erasure || !record.body.changes.is_empty() || !record.body.settings.is_empty();
        if self.erased_at.is_some() && has_effect {
            return Err(ReplayMisfit::at(
                record.seq,
                "changes an agent that was erased before",
            ));
        }
        if is_erasure {
            self.erased_at = Some(record.recorded_at);
        }
        Ok(())
    }

    fn known(&self, number: Number) -> Option<&KnownMemory> {
        // Numbers begin with 1, so that the list has each at one place less and needs no map.
        let index = usize::try_from(number.0).ok()?.checked_sub(1)?;
        self.memories.get(index)
    }

    fn apply_change(&mut self, seq: u64, change: &Change) -> Result<(), ReplayMisfit> {
        let number = change.number();
        let misfit = |problem: String| Err(ReplayMisfit::at(seq, problem));
        match (change.before(), self.known(number)) {
            (None, _) if number != self.next_number => {
                return misfit(format!(
                    "makes memory {number} where {} is next",
                    self.next_number
                ));
            }
            (None, _) => self.next_number = Number(number.0 + 1),
            (Some(_), None) => {
                return misfit(format!("changes memory {number}, which was never made"));
            }
            (Some(_), Some(known)) if known.state.is_shredded() => {
                return misfit(format!(
                    "changes memory {number}, which was shredded before"
                ));
            }
            (Some(before), Some(known)) => {
                let mark = MemoryMark::of(before);
                // Marks of both are compared: whoever changed one record's before or after would
                // have to change the one before or after it, too.
                if mark != known.state {
                    return misfit(format!(
                        "changes memory {number} from a state that it was not in ({})",
                        mark.differing(&known.state).join(", ")
                    ));
                }
            }
        }
        let after = change.after();
        let is_own = |wording: &&Wording| wording.seq == seq && wording.number == number;
        if let Some(own) = after.wordings.iter().find(is_own) {
            let text = WordsMark::of_text(after.content.expose());
            // The counts in a wording decide what may still be lost, and its mark what an edit is measured by;
            // both are worked out anew here, since the record could claim any. What words were that were
            // taken out since, nobody can tell any more.
            if after.shredded_at.is_none() && !after.content.is_empty() {
                let words = Reading::in_language(after.content.expose(), own.language).words();
                if own.words != u64::from(words) {
                    return misfit(format!("counts other words of memory {number} than it has"));
                }
                if own.text_mark != text {
                    return misfit(format!("marks another text of memory {number} than it has"));
                }
            }
            self.wordings.entry(own.id()).or_default().text = Some(text);
        }
        self.count(change.before(), &after);
        let known = KnownMemory {
            state: MemoryMark::of(&after),
            touched: seq,
        };
        // The next one, or one of those that are there: both were made sure of.
        match usize::try_from(number.0 - 1).ok() {
            Some(index) if index < self.memories.len() => self.memories[index] = known,
            _ => self.memories.push(known),
        }
        Ok(())
    }

    fn count(&mut self, before: Option<&Memory>, after: &Memory) {
        for (memory, is_before) in before
            .map(|before| (before, true))
            .into_iter()
            .chain([(after, false)])
        {
            for wording in memory.counted_wordings() {
                let known = self.wordings.entry(wording.id()).or_default();
                known.counted = match is_before {
                    // A record that was tampered with may take away what was never there.
                    true => known.counted.saturating_sub(1),
                    false => known.counted.saturating_add(1),
                };
            }
        }
        if let Some(before) = before {
            self.tally.remove(before);
            self.lost_words.remove(before);
        }
        self.tally.add(after);
        self.lost_words.add(after);
    }

    /// No session, nor the clean-up before it, lets a wording fall unnoticed: whatever its edits replace is
    /// stood for afterwards, by a kept memory or by one that is marked as let go (SPEC 3.12, 3.14).
    fn check_handed_on(&self, record: &Record) -> Result<(), ReplayMisfit> {
        if !record.action.is_capped_edit() && record.action != Action::MemoryDeduplicated {
            return Ok(());
        }
        let before = record.body.changes.iter().filter_map(Change::before);
        let mut stood_for = before
            .filter(|memory| memory.is_kept_core())
            .flat_map(|memory| memory.wordings.iter().map(Wording::id));
        let is_dropped =
            |id: &WordingId| self.wordings.get(id).is_none_or(|known| known.counted == 0);
        match stood_for.find(is_dropped) {
            None => Ok(()),
            Some(id) => Err(ReplayMisfit::at(
                record.seq,
                format!("drops what memory {} stood for", id.number),
            )),
        }
    }

    fn apply_setting(&mut self, seq: u64, change: &SettingChange) -> Result<(), ReplayMisfit> {
        // The name may be anything in a record that was tampered with, and is not repeated.
        let field: Field = change.field.parse().map_err(|_| {
            ReplayMisfit::at(seq, "changes something that is no setting of an agent")
        })?;
        let before = agent::field_value(&self.name, &self.settings, field);
        if before != *change.before.expose() {
            let problem = format!(
                "changes the setting `{}` from a value that it did not have",
                field.as_str()
            );
            return Err(ReplayMisfit::at(seq, problem));
        }
        let after = change.after.expose();
        agent::set_field_value(&mut self.name, &mut self.settings, field, after)
            .map_err(|error| ReplayMisfit::at(seq, error.to_string()))?;
        self.last_set.insert(field.as_str(), seq);
        Ok(())
    }

    fn apply_session(&mut self, record: &Record) -> Result<(), ReplayMisfit> {
        let is_edit = record.action.is_session_edit();
        let Some(id) = record.session else {
            return if is_edit || record.action.is_session_end() {
                Err(ReplayMisfit::at(record.seq, "belongs to no session"))
            } else {
                Ok(())
            };
        };
        let session = self.sessions.entry(id).or_default();
        // What this rule is there for: merges that came in after a session's rollback.
        if session.end.is_some() && (is_edit || record.action.is_session_end()) {
            let problem = format!("belongs to session {id}, which was over before");
            return Err(ReplayMisfit::at(record.seq, problem));
        }
        session.add(record);
        Ok(())
    }

    fn apply_access(&mut self, record: &Record) -> Result<(), ReplayMisfit> {
        let misfit = |problem: &str| Err(ReplayMisfit::at(record.seq, problem));
        match record.action {
            // Who was let in elsewhere is not let in here, and the requests stay behind.
            Action::AgentImported => self.access.clear(),
            Action::AccessRequested => {
                let Some(request) = AccessRequest::begun_by(record) else {
                    return misfit("does not say what is asked for");
                };
                let taken = self.access.insert(request.id, (request, record.seq));
                if taken.is_some() {
                    return misfit("asks under an identifier that was taken");
                }
            }
            action if action.is_of_access() => {
                let begun = AccessRequest::named_by(record).and_then(|id| self.access.get_mut(&id));
                let Some((request, last_seq)) = begun else {
                    return misfit("is of a request for access that was never made");
                };
                // A copy, since a record that does not follow must leave what was known before as it is.
                match request.clone().follow(record) {
                    Some(after) => *request = after,
                    None => return misfit("does not follow what became of its request before"),
                }
                *last_seq = record.seq;
            }
            _ => {}
        }
        Ok(())
    }

    /// What the records tell of a session; `None` where none is of it.
    pub fn session(&self, id: SessionId) -> Option<SessionRecords> {
        let mut records = self.sessions.get(&id)?.clone();
        records.undone_at = self.in_force.undone().get(&id).copied();
        Some(records)
    }

    fn text_mark(&self, wording: WordingId) -> Option<WordsMark> {
        self.wordings.get(&wording)?.text
    }

    /// Which records are in force.
    pub fn in_force(&self) -> &RecordsInForce {
        &self.in_force
    }

    /// The place that the next record is to have.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Compares what the records tell with the agent as it is stored: name, settings, counts, next
    /// numbers and erasure.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn check_agent(&self, agent: &Agent) -> Result<(), ReplayMisfit> {
        let settings = Field::ALL
            .into_iter()
            .filter(|field| {
                agent::field_value(&self.name, &self.settings, *field)
                    != agent::field_value(&agent.name, &agent.settings, *field)
            })
            .map(|field| {
                let name = field.as_str();
                let seq = self.last_set.get(name).copied();
                ReplayMisfit::at(seq, format!("table `agents`: `{name}` is not as recorded"))
            });
        first(settings)?;
        // Before the counts: a record that is missing at the end explains why they differ.
        self.check_end(agent)?;
        let differing = agent.differing_counts(&self.tally, &self.lost_words);
        if differing.is_empty() {
            return Ok(());
        }
        let problem = format!(
            "table `agents`: {} differ from a recount of the records",
            differing.join(", ")
        );
        Err(ReplayMisfit::at(None, problem))
    }

    /// Whether the log ends where the agent says that it does.
    fn check_end(&self, agent: &Agent) -> Result<(), ReplayMisfit> {
        if agent.next_seq > self.next_seq {
            let problem = format!(
                "is missing: table `agents` says that the log ends with record {}",
                agent.next_seq - 1
            );
            return Err(ReplayMisfit::at(self.next_seq, problem));
        }
        if agent.next_seq < self.next_seq {
            let problem = "is too many: table `agents` says that the log ends before it";
            return Err(ReplayMisfit::at(agent.next_seq, problem));
        }
        if agent.next_number != self.next_number {
            let problem = format!(
                "table `agents`: the next memory is {} by its row and {} by the records",
                agent.next_number, self.next_number
            );
            return Err(ReplayMisfit::at(None, problem));
        }
        if agent.erased_at != self.erased_at {
            let problem = "table `agents`: `erased_at` is not as recorded";
            return Err(ReplayMisfit::at(None, problem));
        }
        Ok(())
    }

    /// Compares what the records tell with all memories as they are stored, and proves that they say what
    /// they stand for. `texts` holds the texts of all their wordings.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn check_memories(
        &self,
        memories: &[Memory],
        texts: &WordingTexts,
    ) -> Result<Carried, ReplayMisfit> {
        let mut by_number: Vec<&Memory> = memories.iter().collect();
        by_number.sort_by_key(|memory| memory.number);
        let mut comparison = MemoryComparison::default();
        for memory in by_number {
            comparison.add(self, memory, texts);
        }
        comparison.finish(self).map_err(|misfits| misfits.0)
    }

    fn misfit_of(&self, number: Number, problem: &str) -> ReplayMisfit {
        let seq = self.known(number).map(|known| known.touched);
        ReplayMisfit::at(seq, format!("table `memories`, row {number}: {problem}"))
    }

    /// Compares what the records tell with all sessions as they are stored.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn check_sessions(&self, sessions: &[Session]) -> Result<(), ReplayMisfit> {
        let mut comparison = SessionComparison::default();
        for session in sessions {
            comparison.add(self, session);
        }
        comparison.finish(self)
    }

    /// Compares what the records tell with all requests for access as they are stored.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn check_access(&self, requests: &[AccessRequest]) -> Result<(), ReplayMisfit> {
        let stored: BTreeSet<AccessRequestId> = requests.iter().map(|request| request.id).collect();
        let misfit = |id: AccessRequestId, seq: Option<u64>, problem: &str| {
            ReplayMisfit::at(seq, format!("table `access_requests`, row {id}: {problem}"))
        };
        let missing = self
            .access
            .iter()
            .filter(|(id, _)| !stored.contains(id))
            .map(|(id, (_, seq))| misfit(*id, Some(*seq), "is missing"));
        let different = requests.iter().filter_map(|request| {
            let Some((recorded, seq)) = self.access.get(&request.id) else {
                return Some(misfit(request.id, None, "is in no record"));
            };
            let fields = recorded.differing(request);
            let problem = format!("{} not as recorded", fields.join(", "));
            (!fields.is_empty()).then(|| misfit(request.id, Some(*seq), &problem))
        });
        first(missing.chain(different))
    }
}

/// Memories as they are stored, held against the records one after the other.
#[derive(Debug, Default)]
pub struct MemoryComparison {
    /// The highest number that has come.
    last: u64,
    differing: Option<ReplayMisfit>,
    unsaid: Option<ReplayMisfit>,
    carried: Carried,
}

impl MemoryComparison {
    /// The wordings whose texts are to be at hand when the memory is added: those that it does not say in
    /// its own words.
    pub fn texts_needed(replay: &Replay, memory: &Memory) -> Vec<WordingId> {
        // Only what is kept says anything; a discarded one stands for nothing that could be missing.
        if !memory.is_kept_core() {
            return Vec::new();
        }
        let own = WordsMark::of_text(memory.content.expose());
        let ids = memory.wordings.iter().map(Wording::id);
        let is_other = |id: &WordingId| replay.text_mark(*id) != Some(own);
        ids.filter(is_other).collect()
    }

    /// Adds the next memory; they come by number. `texts` holds the texts that it needs, and may hold
    /// others.
    pub fn add(&mut self, replay: &Replay, memory: &Memory, texts: &WordingTexts) {
        self.pass_over(replay, memory.number);
        for wording in memory.counted_wordings() {
            self.carried.wordings += 1;
            self.carried.let_go += u64::from(!wording.let_go.is_empty());
        }
        let mut differs = |problem: &str| {
            keep_first(
                &mut self.differing,
                replay.misfit_of(memory.number, problem),
            );
        };
        if memory.number.0 <= self.last {
            // The one before is compared already; a second row of the number is the fault, whatever it says.
            return differs("is there twice");
        }
        self.last = memory.number.0;
        let Some(known) = replay.known(memory.number) else {
            return differs("is in no record");
        };
        let fields = known.state.differing(&MemoryMark::of(memory));
        if !fields.is_empty() {
            differs(&format!("{} not as recorded", fields.join(", ")));
        } else if memory.is_kept_core() && !says_all(replay, memory, texts) {
            let problem = "says less than it stands for";
            keep_first(&mut self.unsaid, replay.misfit_of(memory.number, problem));
        }
    }

    /// Those that were to come before this number and did not are missing.
    fn pass_over(&mut self, replay: &Replay, to: Number) {
        let is_known = |number: &u64| replay.known(Number(*number)).is_some();
        for number in (self.last + 1..to.0).take_while(is_known) {
            let misfit = replay.misfit_of(Number(number), "is missing");
            keep_first(&mut self.differing, misfit);
        }
    }

    /// How much of what was ever said is still said, once all memories were added.
    ///
    /// # Errors
    /// What differs, and which memory says less than it stands for; of several, what the log comes to first.
    pub fn finish(
        mut self,
        replay: &Replay,
    ) -> Result<Carried, (ReplayMisfit, Option<ReplayMisfit>)> {
        // Ends with the last one that is known: behind it nothing is missing.
        self.pass_over(replay, Number(u64::MAX));
        match (self.differing, self.unsaid) {
            (Some(differing), unsaid) => Err((differing, unsaid)),
            (None, Some(unsaid)) => Err((unsaid, None)),
            (None, None) => Ok(Carried {
                // What was let go was counted among them.
                carried: self.carried.wordings - self.carried.let_go,
                ..self.carried
            }),
        }
    }
}

/// Whether every sentence of every wording is said by the kept memory that stands for it, but for what is
/// marked as let go (SPEC 3.14).
fn says_all(replay: &Replay, memory: &Memory, texts: &WordingTexts) -> bool {
    let own = WordsMark::of_text(memory.content.expose());
    let mut present = None;
    memory.wordings.iter().all(|wording| {
        let Some(mark) = replay.text_mark(wording.id()) else {
            return false;
        };
        if mark == own {
            return true;
        }
        let text = texts.get(&wording.id());
        // By the mark, since the text comes from a record that may have been changed since it was followed.
        let Some(text) = text.filter(|text| WordsMark::of_text(text.expose()) == mark) else {
            return false;
        };
        let present = present.get_or_insert_with(|| Reading::of(memory.content.expose()));
        let read = Reading::in_language(text.expose(), wording.language);
        let unsaid = unsaid(&[&read], present);
        let missing: u64 = unsaid.iter().map(|loss| u64::from(loss.words)).sum();
        // Counted and not named: what was let go is on the record by words, and less may be missing than
        // was let go.
        missing <= wording.lost_words()
    })
}

/// Sessions as they are stored, held against the records one after the other. Of a rehearsal there is at most
/// the record of its end, since it changes nothing.
#[derive(Debug, Default)]
pub struct SessionComparison {
    seen: BTreeSet<SessionId>,
    differing: Option<ReplayMisfit>,
}

impl SessionComparison {
    /// Adds a session.
    pub fn add(&mut self, replay: &Replay, session: &Session) {
        self.seen.insert(session.id);
        let records = replay.session(session.id);
        let last_seq = records.as_ref().map(|records| records.last_seq);
        if let Some(problem) = session_problem(session, &records.unwrap_or_default()) {
            let misfit = misfit_of_session(session.id, last_seq, problem);
            keep_first(&mut self.differing, misfit);
        }
    }

    /// Ends, once all sessions were added.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn finish(mut self, replay: &Replay) -> Result<(), ReplayMisfit> {
        for (id, records) in &replay.sessions {
            if !self.seen.contains(id) {
                let misfit = misfit_of_session(*id, records.last_seq, "is missing");
                keep_first(&mut self.differing, misfit);
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
        let changes = &record.body.changes;
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
            let lost = record.facts.count_of("lost_words").unwrap_or(0);
            self.lost_words = self.lost_words.saturating_add(lost);
        }
        match record.action {
            Action::MemoryRefinementConsolidate => {
                let merged = changes.iter().filter(|change| change.before().is_some());
                self.stats.consolidated += merged.count() as u32;
            }
            Action::MemoryRefinementUpdate => self.stats.updated += 1,
            Action::MemoryRefinementDelete => self.stats.deleted += 1,
            Action::MemoryRefinementProtect => self.stats.protected += 1,
            _ => {}
        }
    }
}

fn misfit_of_session(id: SessionId, seq: impl Into<Option<u64>>, problem: &str) -> ReplayMisfit {
    ReplayMisfit::at(seq, format!("table `sessions`, row {id}: {problem}"))
}

/// The first thing in which a session differs from its records.
fn session_problem(session: &Session, records: &SessionRecords) -> Option<&'static str> {
    let started_by = session.started_by.as_ref();
    let started_by = started_by.and_then(|actor| serde_json::to_value(actor).ok());
    // Before its first record, only the seal holds it.
    if records.last_seq > 0 && started_by != records.started_by {
        return Some("`started_by` is not as recorded");
    }
    if session.rehearsal {
        return rehearsal_problem(session, records);
    }
    let stats = serde_json::to_value(session.stats).ok();
    // Compared as text, as it is kept here: maps take more room, and a long log has many sessions.
    let stats = stats.map(|stats| stats.to_string().into_boxed_str());
    let stats_recorded = records.end.as_ref().map(|end| &end.stats);
    let checks = [
        (session.edits == records.edits, "`edits` is not as recorded"),
        (
            session.removed_tokens == records.removed_tokens,
            "`removed_tokens` is not as recorded",
        ),
        (
            session.lost_words == records.lost_words,
            "`lost_words` is not as recorded",
        ),
        (
            session.stats == records.stats,
            "`stats` is not as recorded edit by edit",
        ),
        (
            stats_recorded.is_none_or(|recorded| *recorded == stats),
            "`stats` is not as recorded at its end",
        ),
        (
            session.undone_at == records.undone_at,
            "`undone_at` is not as recorded",
        ),
    ];
    let wrong = checks.into_iter().find(|(holds, _)| !holds);
    end_problem(session, records.end.as_ref()).or(wrong.map(|(_, problem)| problem))
}

fn rehearsal_problem(session: &Session, records: &SessionRecords) -> Option<&'static str> {
    if records.changes_memories {
        return Some("is a rehearsal, and its records change memories");
    }
    records
        .end
        .as_ref()
        .and_then(|end| end_problem(session, Some(end)))
}

fn end_problem(session: &Session, end: Option<&SessionEnd>) -> Option<&'static str> {
    let expected = match session.state {
        State::Queued | State::Asking | State::Open => None,
        State::Completed => Some(Action::MemoryRefinementComplete),
        State::RolledBack => Some(Action::MemoryRefinementRollback),
        State::Declined => Some(Action::MemoryRefinementDeclined),
        State::Abandoned => Some(Action::MemoryRefinementAbandoned),
        State::Failed => Some(Action::MemoryRefinementFailed),
    };
    if end.map(|end| end.action) != expected {
        return Some("`state` is not as recorded");
    }
    (session.ended_at != end.map(|end| end.recorded_at)).then_some("`ended_at` is not as recorded")
}
