//! An agent as its records alone tell it, for comparing it with what is stored (SPEC 4.2).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use memoir_details::{Reading, unsaid};
use serde_json::Value;

use crate::{
    AccessRequestId, SessionId, Timestamp,
    access::AccessRequest,
    agent::{self, Agent, Field, Settings},
    audit::{Action, Change, Record, SettingChange},
    memory::{Memory, Number},
    session::{Session, State, Stats},
    standing::RecordsInForce,
    wording::{Wording, WordingId, WordingTexts},
};

/// The first thing that does not fit. Says what by table, number and field, never in an agent's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Misfit {
    /// The record that does not fit, or the last one that touched what does not; `None` where there is
    /// none.
    pub seq: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seq {
            Some(seq) => write!(formatter, "record {seq}: {}", self.problem),
            None => formatter.write_str(&self.problem),
        }
    }
}

impl Misfit {
    fn at(seq: impl Into<Option<u64>>, problem: impl Into<String>) -> Self {
        Self {
            seq: seq.into(),
            problem: problem.into(),
        }
    }
}

/// The one that the log comes to first; what no record touched comes last.
fn first(misfits: impl IntoIterator<Item = Misfit>) -> Result<(), Misfit> {
    let place = |misfit: &Misfit| misfit.seq.unwrap_or(u64::MAX);
    misfits.into_iter().min_by_key(place).map_or(Ok(()), Err)
}

/// An agent rebuilt from its records, from the first one on.
#[derive(Debug, Clone)]
pub struct Replay {
    name: String,
    settings: Settings,
    memories: BTreeMap<Number, Memory>,
    sessions: BTreeMap<SessionId, SessionRecords>,
    /// Each with the place of the last record of it.
    access: BTreeMap<AccessRequestId, (AccessRequest, u64)>,
    standing: RecordsInForce,
    next_number: Number,
    next_seq: u64,
    erased_at: Option<Timestamp>,
    /// The texts of wordings, from the records in which they stand.
    texts: WordingTexts,
    last_touched: BTreeMap<Number, u64>,
    last_set: BTreeMap<&'static str, u64>,
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
    pub stats: Option<Value>,
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
            memories: BTreeMap::new(),
            sessions: BTreeMap::new(),
            access: BTreeMap::new(),
            standing: RecordsInForce::default(),
            next_number: Number(1),
            next_seq: 1,
            erased_at: None,
            texts: WordingTexts::new(),
            last_touched: BTreeMap::new(),
            last_set: BTreeMap::new(),
        }
    }

    /// Of a whole log, oldest first.
    ///
    /// # Errors
    /// The first record that does not fit.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, Misfit> {
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
    pub fn apply(&mut self, record: &Record) -> Result<(), Misfit> {
        if record.seq != self.next_seq {
            let problem = format!("is where record {} is expected", self.next_seq);
            return Err(Misfit::at(record.seq, problem));
        }
        self.apply_erasure(record)?;
        let kept_before = self.kept_before(record);
        for change in &record.body.changes {
            self.apply_change(record.seq, change)?;
        }
        self.check_handed_on(record, &kept_before)?;
        for setting in &record.body.settings {
            self.apply_setting(record.seq, setting)?;
        }
        self.apply_session(record)?;
        self.apply_access(record)?;
        self.standing.apply(record);
        self.next_seq += 1;
        Ok(())
    }

    fn apply_erasure(&mut self, record: &Record) -> Result<(), Misfit> {
        let is_erasure = record.action == Action::AgentErased;
        let has_effect =
            is_erasure || !record.body.changes.is_empty() || !record.body.settings.is_empty();
        if self.erased_at.is_some() && has_effect {
            return Err(Misfit::at(
                record.seq,
                "changes an agent that was erased before",
            ));
        }
        if is_erasure {
            self.erased_at = Some(record.recorded_at);
        }
        Ok(())
    }

    fn apply_change(&mut self, seq: u64, change: &Change) -> Result<(), Misfit> {
        let number = change.number();
        let misfit = |problem: String| Err(Misfit::at(seq, problem));
        match (change.before(), self.memories.get(&number)) {
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
            (Some(_), Some(state)) if state.shredded_at.is_some() => {
                return misfit(format!(
                    "changes memory {number}, which was shredded before"
                ));
            }
            (Some(before), Some(state)) if before != state => {
                return misfit(format!(
                    "changes memory {number} from a state that it was not in ({})",
                    differing(before, state).join(", ")
                ));
            }
            _ => {}
        }
        let after = change.after();
        let is_own = |wording: &&Wording| wording.seq == seq && wording.number == number;
        if let Some(own) = after.wordings.iter().find(is_own) {
            let words = Reading::in_language(after.content.expose(), own.language).words();
            if own.words != u64::from(words)
                && after.shredded_at.is_none()
                && !after.content.is_empty()
            {
                return misfit(format!("counts other words of memory {number} than it has"));
            }
            self.texts.insert(own.id(), after.content.clone());
        }
        self.memories.insert(number, after);
        self.last_touched.insert(number, seq);
        Ok(())
    }

    /// What the kept core memories that a session, or the clean-up before it, changes stood for.
    fn kept_before(&self, record: &Record) -> Vec<WordingId> {
        let is_handing_on =
            record.action.is_capped_edit() || record.action == Action::MemoryDeduplicated;
        let changed = record.body.changes.iter().filter(|_| is_handing_on);
        changed
            .filter_map(|change| self.memories.get(&change.number()))
            .filter(|memory| memory.is_kept_core())
            .flat_map(|memory| memory.wordings.iter().map(Wording::id))
            .collect()
    }

    /// No session lets a wording fall unnoticed: whatever its edits replace is stood for afterwards, by a
    /// kept memory or by one that is marked as let go (SPEC 3.12, 3.14).
    fn check_handed_on(&self, record: &Record, before: &[WordingId]) -> Result<(), Misfit> {
        let changed = record.body.changes.iter();
        let stood_for: BTreeSet<WordingId> = changed
            .filter_map(|change| self.memories.get(&change.number()))
            .flat_map(Memory::counted_wordings)
            .map(Wording::id)
            .collect();
        // Two memories stand for one wording where a rollback brought back what a discarding had given back
        // already: the other one is then not among those that changed.
        let is_elsewhere = |id: &WordingId| {
            let mut all = self.memories.values().flat_map(Memory::counted_wordings);
            all.any(|wording| wording.id() == *id)
        };
        let is_dropped = |id: &&WordingId| !stood_for.contains(id) && !is_elsewhere(id);
        match before.iter().find(is_dropped) {
            None => Ok(()),
            Some(id) => Err(Misfit::at(
                record.seq,
                format!("drops what memory {} stood for", id.number),
            )),
        }
    }

    /// Proves that every sentence of every wording is said by the kept memory that stands for it, but for
    /// what is marked as let go (SPEC 3.14).
    ///
    /// # Errors
    /// A memory that says less than it stands for.
    pub fn carried(&self) -> Result<Carried, Misfit> {
        let mut carried = Carried::default();
        let mut misfits = Vec::new();
        for memory in self.memories.values() {
            let wordings: Vec<&Wording> = memory.counted_wordings().collect();
            carried.wordings += wordings.len() as u64;
            carried.let_go += wordings.iter().filter(|one| !one.let_go.is_empty()).count() as u64;
            if memory.is_kept_core() && !self.says_all(memory) {
                misfits.push(self.misfit_of(memory.number, "says less than it stands for"));
            }
        }
        first(misfits)?;
        carried.carried = carried.wordings - carried.let_go;
        Ok(carried)
    }

    fn says_all(&self, memory: &Memory) -> bool {
        let mut present = None;
        memory.wordings.iter().all(|wording| {
            let Some(text) = self.texts.get(&wording.id()) else {
                return false;
            };
            if text == &memory.content {
                return true;
            }
            let present = present.get_or_insert_with(|| Reading::of(memory.content.expose()));
            let read = Reading::in_language(text.expose(), wording.language);
            let unsaid = unsaid(&[&read], present);
            let missing: u64 = unsaid.iter().map(|loss| u64::from(loss.words)).sum();
            missing <= wording.lost_words()
        })
    }

    fn apply_setting(&mut self, seq: u64, change: &SettingChange) -> Result<(), Misfit> {
        // The name may be anything in a record that was tampered with, and is not repeated.
        let field: Field = change
            .field
            .parse()
            .map_err(|_| Misfit::at(seq, "changes something that is no setting of an agent"))?;
        let before = agent::field_value(&self.name, &self.settings, field);
        if before != *change.before.expose() {
            let problem = format!(
                "changes the setting `{}` from a value that it did not have",
                field.as_str()
            );
            return Err(Misfit::at(seq, problem));
        }
        let after = change.after.expose();
        agent::set_field_value(&mut self.name, &mut self.settings, field, after)
            .map_err(|error| Misfit::at(seq, error.to_string()))?;
        self.last_set.insert(field.as_str(), seq);
        Ok(())
    }

    fn apply_session(&mut self, record: &Record) -> Result<(), Misfit> {
        let is_edit = record.action.is_session_edit();
        let Some(id) = record.session else {
            return if is_edit || record.action.is_session_end() {
                Err(Misfit::at(record.seq, "belongs to no session"))
            } else {
                Ok(())
            };
        };
        let session = self.sessions.entry(id).or_default();
        if session.end.is_some() && (is_edit || record.action.is_session_end()) {
            let problem = format!("belongs to session {id}, which was over before");
            return Err(Misfit::at(record.seq, problem));
        }
        session.add(record);
        Ok(())
    }

    fn apply_access(&mut self, record: &Record) -> Result<(), Misfit> {
        let misfit = |problem: &str| Err(Misfit::at(record.seq, problem));
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

    /// The memories as the records tell them.
    pub fn memories(&self) -> &BTreeMap<Number, Memory> {
        &self.memories
    }

    /// The memories as the records tell them, by value.
    pub fn into_memories(self) -> BTreeMap<Number, Memory> {
        self.memories
    }

    /// What the records tell of a session; `None` where none is of it.
    pub fn session(&self, id: SessionId) -> Option<SessionRecords> {
        let mut records = self.sessions.get(&id)?.clone();
        records.undone_at = self.standing.undone().get(&id).copied();
        Some(records)
    }

    /// Which records are in force.
    pub fn standing(&self) -> &RecordsInForce {
        &self.standing
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
    pub fn check_agent(&self, agent: &Agent) -> Result<(), Misfit> {
        let settings = Field::ALL
            .into_iter()
            .filter(|field| {
                agent::field_value(&self.name, &self.settings, *field)
                    != agent::field_value(&agent.name, &agent.settings, *field)
            })
            .map(|field| {
                let name = field.as_str();
                let seq = self.last_set.get(name).copied();
                Misfit::at(seq, format!("table `agents`: `{name}` is not as recorded"))
            });
        first(settings)?;
        self.check_end(agent)?;
        let differing = agent.miscounted(self.memories.values());
        if differing.is_empty() {
            return Ok(());
        }
        let problem = format!(
            "table `agents`: {} differ from a recount of the records",
            differing.join(", ")
        );
        Err(Misfit::at(None, problem))
    }

    /// Whether the log ends where the agent says that it does.
    fn check_end(&self, agent: &Agent) -> Result<(), Misfit> {
        if agent.next_seq > self.next_seq {
            let problem = format!(
                "is missing: table `agents` says that the log ends with record {}",
                agent.next_seq - 1
            );
            return Err(Misfit::at(self.next_seq, problem));
        }
        if agent.next_seq < self.next_seq {
            let problem = "is too many: table `agents` says that the log ends before it";
            return Err(Misfit::at(agent.next_seq, problem));
        }
        if agent.next_number != self.next_number {
            let problem = format!(
                "table `agents`: the next memory is {} by its row and {} by the records",
                agent.next_number, self.next_number
            );
            return Err(Misfit::at(None, problem));
        }
        if agent.erased_at != self.erased_at {
            let problem = "table `agents`: `erased_at` is not as recorded";
            return Err(Misfit::at(None, problem));
        }
        Ok(())
    }

    /// Compares what the records tell with all memories as they are stored.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn check_memories(&self, memories: &[Memory]) -> Result<(), Misfit> {
        let stored: BTreeSet<Number> = memories.iter().map(|memory| memory.number).collect();
        let missing = self
            .memories
            .keys()
            .filter(|number| !stored.contains(number))
            .map(|number| self.misfit_of(*number, "is missing"));
        let different = memories.iter().filter_map(|memory| {
            let problem = match self.memories.get(&memory.number) {
                None => "is in no record".to_owned(),
                Some(state) if state == memory => return None,
                Some(state) => format!("{} not as recorded", differing(memory, state).join(", ")),
            };
            Some(self.misfit_of(memory.number, &problem))
        });
        first(missing.chain(different))
    }

    fn misfit_of(&self, number: Number, problem: &str) -> Misfit {
        let seq = self.last_touched.get(&number).copied();
        Misfit::at(seq, format!("table `memories`, row {number}: {problem}"))
    }

    /// Compares what the records tell with all sessions as they are stored. Of a rehearsal there is at
    /// most the record of its end, since it changes nothing.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn check_sessions(&self, sessions: &[Session]) -> Result<(), Misfit> {
        let stored: BTreeSet<SessionId> = sessions.iter().map(|session| session.id).collect();
        let missing = self
            .sessions
            .iter()
            .filter(|(id, _)| !stored.contains(id))
            .map(|(id, records)| misfit_of_session(*id, records.last_seq, "is missing"));
        let different = sessions.iter().filter_map(|session| {
            let records = self.session(session.id);
            let last_seq = records.as_ref().map(|records| records.last_seq);
            let problem = session_problem(session, &records.unwrap_or_default())?;
            Some(misfit_of_session(session.id, last_seq, problem))
        });
        first(missing.chain(different))
    }

    /// Compares what the records tell with all requests for access as they are stored.
    ///
    /// # Errors
    /// What differs; of several, what the log comes to first.
    pub fn check_access(&self, requests: &[AccessRequest]) -> Result<(), Misfit> {
        let stored: BTreeSet<AccessRequestId> = requests.iter().map(|request| request.id).collect();
        let misfit = |id: AccessRequestId, seq: Option<u64>, problem: &str| {
            Misfit::at(seq, format!("table `access_requests`, row {id}: {problem}"))
        };
        let missing = self
            .access
            .iter()
            .filter(|(id, _)| !stored.contains(id))
            .map(|(id, (_, seq))| misfit(*id, Some(*seq), "is missing"));
        let different = requests.iter().filter_map(|request| {
            let Some((told, seq)) = self.access.get(&request.id) else {
                return Some(misfit(request.id, None, "is in no record"));
            };
            let fields = told.differing(request);
            let problem = format!("{} not as recorded", fields.join(", "));
            (!fields.is_empty()).then(|| misfit(request.id, Some(*seq), &problem))
        });
        first(missing.chain(different))
    }
}

impl SessionRecords {
    fn add(&mut self, record: &Record) {
        self.last_seq = record.seq;
        let changes = &record.body.changes;
        let is_edit = record.action.is_session_edit();
        self.changes_memories |= is_edit || record.action == Action::MemoryDeduplicated;
        if record.action.is_session_end() {
            self.end = Some(SessionEnd {
                seq: record.seq,
                action: record.action,
                recorded_at: record.recorded_at,
                stats: record.facts.as_map().get("stats").cloned(),
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

fn misfit_of_session(id: SessionId, seq: impl Into<Option<u64>>, problem: &str) -> Misfit {
    Misfit::at(seq, format!("table `sessions`, row {id}: {problem}"))
}

/// The first thing in which a session differs from its records.
fn session_problem(session: &Session, records: &SessionRecords) -> Option<&'static str> {
    if session.rehearsal {
        return rehearsal_problem(session, records);
    }
    let stats = serde_json::to_value(session.stats).ok();
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

/// The fields in which two memories differ, by name.
fn differing(one: &Memory, other: &Memory) -> Vec<&'static str> {
    let fields = [
        ("number", one.number != other.number),
        ("kind", one.kind != other.kind),
        ("content", one.content != other.content),
        ("tags", one.tags != other.tags),
        ("source", one.source != other.source),
        ("door", one.door != other.door),
        ("wordings", one.wordings != other.wordings),
        ("protected_seq", one.protected_seq != other.protected_seq),
        ("created_at", one.created_at != other.created_at),
        ("updated_at", one.updated_at != other.updated_at),
        ("discarded_at", one.discarded_at != other.discarded_at),
        ("shredded_at", one.shredded_at != other.shredded_at),
    ];
    let different = fields.into_iter().filter(|(_, differs)| *differs);
    different.map(|(name, _)| name).collect()
}
