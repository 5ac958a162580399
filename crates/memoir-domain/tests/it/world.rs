//! An agent with its memories, sessions and log. [`World::apply`] writes a decision as a store does,
//! and holds what must be true of every decision.

use std::collections::BTreeMap;

use memoir_domain::{
    AgentId, SessionId, Timestamp,
    agent::{Agent, Field, LossGuard},
    audit::{Action, Actor, ActorKind, CORE_TOKENS, Change, Facts, Record, RecordBody},
    draft::{Decision, Draft},
    knife::{self, CallOutcome, KnifeCall, KnifeRequest, ToolResult, View},
    ledger::LedgerRoom,
    lifecycle::{self, SessionOpening, Start},
    loss::LossLimits,
    manage::{self, ChangeRefusal},
    memory::{Kind, Memory, NewMemory, Number, Tags, Tally},
    replay::{Carried, Replay},
    rewind::{self, RewindForecast},
    rollback::{self, Obstacle},
    session::{Driver, Lease, Mode, Session, Trigger},
    shred,
    summary::{LogPast, LogSummary},
    survey::Survey,
    text::Digester,
    wording::{self, SavedBy, Wording, WordingTexts},
};
use serde_json::{Value, json};

pub(crate) struct World {
    pub(crate) agent: Agent,
    pub(crate) memories: BTreeMap<Number, Memory>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) log: Vec<Record>,
    pub(crate) now: Timestamp,
    /// All memories as they stood after each decision, with its time.
    pub(crate) past: Vec<(Timestamp, BTreeMap<Number, Memory>)>,
    /// How often edits of a memory were refused.
    pub(crate) refusals: BTreeMap<Number, u32>,
    pub(crate) limits: LossLimits,
    pub(crate) ledger_budget: u64,
    pub(crate) near_doubles: bool,
    /// A look at all memories that was taken at the first call which needed one, and has followed all decisions
    /// since; `None` before that.
    survey: Option<Survey>,
}

/// What a call is answered and what it changes, to be compared.
fn told(outcome: &CallOutcome) -> Value {
    match outcome {
        CallOutcome::Answer(result) => json!([result]),
        CallOutcome::Commit(decision, result) => json!([result, decision.changes]),
        other => json!(format!("{other:?}")),
    }
}

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A change as its record holds it: that of shredding has no words, not even those that were there, and
/// other memories are told of without the words of its wordings.
fn as_recorded(change: &Change, shredded: Option<Number>) -> Change {
    let after = change.after();
    match (change.before(), shredded) {
        (Some(before), Some(number)) if number == after.number => {
            Change::between(before.without_words(), &after).unwrap()
        }
        (_, Some(number)) => change.without_wordings_of(number),
        _ => change.clone(),
    }
}

pub(crate) fn admin() -> Actor {
    Actor::administrator("root")
}

/// A core memory. `created_at` is a date such as `2026-01-05`.
pub(crate) fn core(content: &str, created_at: &str, tags: &[&str]) -> NewMemory {
    NewMemory {
        kind: Kind::Core,
        content: content.into(),
        tags: Tags::parse(tags.iter().copied()).unwrap(),
        source: None,
        created_at: Some(time(created_at)),
        constitutional: false,
        door: SavedBy::of(ActorKind::Agent),
        wordings: None,
    }
}

impl World {
    /// An agent of which edits may let anything go: what most rules are tested by.
    pub(crate) fn new() -> Self {
        Self::under("off")
    }

    /// An agent with that loss guard.
    pub(crate) fn under(guard: &str) -> Self {
        let now = time("2026-03-01T12:00:00Z");
        let settings = [(Field::LossGuard, Some(guard))];
        let id = AgentId::from_bytes([7; 16]);
        let decision = manage::create_agent(id, "wren", &settings, &admin(), now).unwrap();
        let mut world = Self {
            agent: Agent {
                next_seq: 1,
                ..decision.agent.clone()
            },
            memories: BTreeMap::new(),
            sessions: Vec::new(),
            log: Vec::new(),
            now,
            past: Vec::new(),
            refusals: BTreeMap::new(),
            limits: LossLimits::default(),
            ledger_budget: 100_000,
            near_doubles: false,
            survey: None,
        };
        world.apply(decision);
        world
    }

    /// Core memories numbered from 1, one a day from 1 January 2026 on. A text that begins with `!` is
    /// constitutional, one with `@` has the immutable tag `voice`, one with `~` is a journal entry.
    pub(crate) fn with(texts: &[&str]) -> Self {
        Self::new().saving(texts)
    }

    /// As [`World::with`], for this agent.
    pub(crate) fn saving(self, texts: &[&str]) -> Self {
        let mut world = self;
        let first = time("2026-01-01");
        let memories = (0..).zip(texts).map(|(day, text)| {
            let content = text.trim_start_matches(['!', '@', '~']);
            let flags = &text[..text.len() - content.len()];
            let tags: &[&str] = if flags.contains('@') { &["voice"] } else { &[] };
            NewMemory {
                kind: if flags.contains('~') {
                    Kind::Journal
                } else {
                    Kind::Core
                },
                constitutional: flags.contains('!'),
                created_at: Some(first.plus_days(day)),
                ..core(content, "2026-01-01", tags)
            }
        });
        let decision = manage::save(world.agent.clone(), memories.collect(), &admin(), world.now);
        world.apply(decision);
        world
    }

    /// The same with a session open.
    pub(crate) fn in_session(texts: &[&str]) -> Self {
        let mut world = Self::with(texts);
        world.open(Mode::Full);
        world
    }

    pub(crate) fn tick(&mut self) {
        self.now = self.now.plus_seconds(60);
    }

    pub(crate) fn set(&mut self, field: Field, value: &str) {
        let agent = self.agent.clone();
        let changed = manage::configure(agent, &[(field, Some(value))], &admin(), self.now);
        if let Some(decision) = changed.unwrap() {
            self.apply(decision);
        }
    }

    pub(crate) fn save(&mut self, memory: NewMemory) -> Number {
        let number = self.agent.next_number;
        let actor = Actor::agent("wren");
        let decision = manage::save(self.agent.clone(), vec![memory], &actor, self.now);
        self.apply(decision);
        number
    }

    /// A change by an administrator, outside of any session.
    pub(crate) fn alter(&mut self, number: u64, action: Action, change: impl FnOnce(&mut Memory)) {
        let before = self.memory(number).clone();
        let mut after = before.clone();
        change(&mut after);
        let mut draft = Draft::new(self.agent.clone(), None, self.now);
        let changes = draft.alter(before, &after).into_iter().collect();
        let body = RecordBody {
            changes,
            ..RecordBody::default()
        };
        draft.record(
            admin(),
            action,
            Some(Number(number)),
            Facts::default(),
            body,
        );
        self.apply(draft.finish());
    }

    pub(crate) fn discard(&mut self, number: u64) {
        let memory = self.memory(number).clone();
        let decision = manage::discard(
            self.agent.clone(),
            &memory,
            &self.memories,
            &admin(),
            self.now,
        )
        .unwrap();
        self.apply(decision.unwrap());
    }

    pub(crate) fn protect(&mut self, number: u64) {
        let memory = self.memory(number).clone();
        let decision = manage::protect(self.agent.clone(), &memory, &admin(), self.now).unwrap();
        self.apply(decision.unwrap());
    }

    pub(crate) fn unprotect(&mut self, number: u64) {
        let memory = self.memory(number).clone();
        let decision = manage::unprotect(self.agent.clone(), &memory, &admin(), self.now).unwrap();
        self.apply(decision.unwrap());
    }

    pub(crate) fn restore(&mut self, number: u64) {
        let memory = self.memory(number).clone();
        let agent = self.agent.clone();
        let decision = if memory.is_kept() {
            let texts = wording::texts_in(&self.log);
            let mut own = memory.wordings.iter().map(Wording::id);
            let own = own.find(|id| id.number == memory.number).unwrap();
            manage::restore_wording(agent, &memory, &texts[&own], &admin(), self.now)
        } else {
            let others: Vec<Memory> = self.memories.values().cloned().collect();
            manage::restore(agent, &memory, &others, &admin(), self.now)
        };
        self.apply(decision.unwrap().unwrap());
    }

    pub(crate) fn begin(&mut self, mode: Mode) {
        let mut id = [0; 16];
        id[15] = self.sessions.len() as u8 + 1;
        let start = Start {
            id: SessionId::from_bytes(id),
            mode,
            driver: Driver::Model,
            trigger: Trigger::Request,
            rehearsal: false,
            model: None,
            lease: Some(Lease {
                until: self.now.plus_seconds(90),
                holder: 1,
            }),
            started_by: memoir_domain::audit::Actor::administrator("Petra"),
        };
        let running = self
            .sessions
            .iter()
            .find(|session| session.state.is_running())
            .map(|session| session.id);
        let decision = lifecycle::begin(self.agent.clone(), running, start, self.now).unwrap();
        self.apply(decision);
    }

    pub(crate) fn open(&mut self, mode: Mode) -> SessionOpening {
        self.tick();
        self.begin(mode);
        let opened = lifecycle::open(
            self.agent.clone(),
            self.session().clone(),
            &self.memories.values().cloned().collect::<Vec<_>>(),
            &Digester::new(&[9; 32]),
            LedgerRoom {
                tokens: self.ledger_budget,
                near_doubles: self.near_doubles,
                leaves_out_administrators: false,
            },
            self.now,
        );
        self.apply(opened.decision.clone());
        opened
    }

    /// The last session.
    pub(crate) fn session(&self) -> &Session {
        self.sessions.last().unwrap()
    }

    pub(crate) fn memory(&self, number: u64) -> &Memory {
        &self.memories[&Number(number)]
    }

    pub(crate) fn text(&self, number: u64) -> &str {
        self.memory(number).content.expose()
    }

    /// The kept memories of a kind, by number.
    pub(crate) fn kept(&self, kind: Kind) -> Vec<(u64, &str)> {
        self.memories
            .values()
            .filter(|memory| memory.is_kept() && memory.kind == kind)
            .map(|memory| (memory.number.0, memory.content.expose()))
            .collect()
    }

    pub(crate) fn kept_core(&self) -> Vec<u64> {
        let kept = self.kept(Kind::Core);
        kept.into_iter().map(|(number, _)| number).collect()
    }

    pub(crate) fn last_record(&self) -> &Record {
        self.log.last().unwrap()
    }

    /// As [`World::call_whole`], without what every result of an edit tells of the session, and of an agent
    /// whose edits may let anything go without what they let go.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.call_whole(tool, arguments);
        let is_off = self.agent.settings.effective_loss_guard() == LossGuard::Off;
        if let Some(fields) = result.as_object_mut() {
            fields.remove("edits_left");
            fields.remove("removable_tokens");
            if is_off {
                fields.remove("lost");
            }
        }
        result
    }

    /// The texts that these memories stand for, from the log: those that a memory says itself are the same there.
    fn texts(&self, memories: &BTreeMap<Number, Memory>) -> WordingTexts {
        let ids = memories.values().flat_map(wording::places);
        let in_log = ids.map(|id| {
            let record = &self.log[id.seq as usize - 1];
            (id, wording::text_in(record, id.number).unwrap())
        });
        let texts: WordingTexts = in_log.collect();
        for (id, said) in memories.values().flat_map(wording::texts_said_by) {
            assert_eq!(texts.get(&id), Some(&said));
        }
        texts
    }

    /// A call of the last session's tool, with everything that it is to change changed.
    pub(crate) fn call_whole(&mut self, tool: &str, arguments: Value) -> Value {
        self.tick();
        let request = KnifeRequest::read(tool, Some(&arguments));
        let named: BTreeMap<Number, Memory> = request
            .numbers()
            .iter()
            .filter_map(|number| Some((*number, self.memories.get(number)?.clone())))
            .collect();
        let texts = self.texts(&named);
        let digester = Digester::new(&[9; 32]);
        let view = View {
            agent: &self.agent,
            session: self.sessions.last(),
            memories: &named,
            texts: &texts,
            survey: None,
            limits: self.limits,
            digester: &digester,
            refusals: &self.refusals,
            is_confirmed: false,
        };
        let actor = Actor::agent("wren");
        let mut outcome = knife::decide(view, &request, &actor, self.now);
        if matches!(outcome, CallOutcome::Survey) {
            let survey = Survey::of(self.memories.values().cloned().map(Memory::into_shared));
            let view = View {
                survey: Some(&survey),
                ..view
            };
            outcome = knife::decide(view, &request, &actor, self.now);
            if let Some(followed) = &self.survey {
                let view = View {
                    survey: Some(followed),
                    ..view
                };
                let on_followed = knife::decide(view, &request, &actor, self.now);
                assert_eq!(
                    told(&on_followed),
                    told(&outcome),
                    "a look that followed decides as a new one"
                );
                assert_eq!(followed.bytes(), survey.bytes(), "and keeps no more");
                assert!(
                    followed.wordings().eq(survey.wordings()),
                    "of the same ages"
                );
            }
            self.survey.get_or_insert(survey);
        }
        let result = match outcome {
            CallOutcome::Answer(result) => {
                if let ToolResult::Error { .. } = result {
                    for number in request.numbers() {
                        *self.refusals.entry(*number).or_default() += 1;
                    }
                }
                result
            }
            CallOutcome::Survey => unreachable!("it was given one"),
            CallOutcome::Search(KnifeCall::Search {
                query,
                since,
                until,
            }) => {
                let all: Vec<Memory> = self.memories.values().cloned().collect();
                knife::search(&all, query.as_ref(), since, until)
            }
            CallOutcome::Search(_) => unreachable!("only searches search"),
            CallOutcome::Commit(decision, result) => {
                self.apply(*decision);
                result
            }
            CallOutcome::Tripped(trip) => {
                let (history, memories) = self.history();
                let (decision, result) = trip.roll_back(&history, memories);
                self.apply(decision);
                result
            }
        };
        serde_json::to_value(result).unwrap()
    }

    pub(crate) fn delete(&mut self, number: u64) -> Value {
        self.call("delete_memory", json!({"id": number}))
    }

    pub(crate) fn update(&mut self, number: u64, content: &str) -> Value {
        self.call("update_memory", json!({"id": number, "content": content}))
    }

    pub(crate) fn consolidate(&mut self, numbers: &[u64], content: &str) -> Value {
        self.call(
            "consolidate_memories",
            json!({"ids": numbers, "content": content}),
        )
    }

    pub(crate) fn complete(&mut self) -> Value {
        self.call("complete_refinement", json!({"summary": "Done."}))
    }

    /// The last session's records, and every memory that they touch.
    fn history(&self) -> (Vec<Record>, BTreeMap<Number, Memory>) {
        let id = self.session().id;
        let history: Vec<Record> = self
            .log
            .iter()
            .filter(|record| record.session == Some(id))
            .cloned()
            .collect();
        let memories = self.memories_of(&history);
        (history, memories)
    }

    fn memories_of<'a>(
        &self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> BTreeMap<Number, Memory> {
        rollback::touched(records)
            .into_iter()
            .map(|number| (number, self.memories[&number].clone()))
            .collect()
    }

    pub(crate) fn roll_back(&mut self) {
        self.tick();
        let (history, memories) = self.history();
        let decision = rollback::roll_back_running(
            self.agent.clone(),
            self.session().clone(),
            &history,
            memories,
            &admin(),
            self.now,
        );
        self.apply(decision);
    }

    /// Undoes the session of that place, from 0.
    pub(crate) fn undo(&mut self, session: usize, cascade: bool) -> Result<(), Vec<Obstacle>> {
        self.tick();
        let asked = self.sessions[session].clone();
        let plan = rollback::plan_undo(asked.id, &self.log);
        if !plan.obstacles.is_empty() && !cascade {
            return Err(plan.obstacles);
        }
        let others = self
            .sessions
            .iter()
            .filter(|session| plan.sessions.contains(&session.id) && session.id != asked.id);
        let sessions: Vec<Session> = std::iter::once(&asked).chain(others).cloned().collect();
        let chosen = self
            .log
            .iter()
            .filter(|record| plan.records.contains(&record.seq));
        let memories = self.memories_of(chosen);
        let decision = rollback::undo(
            self.agent.clone(),
            sessions,
            &plan,
            &self.log,
            &memories,
            &admin(),
            self.now,
        );
        self.apply(decision);
        Ok(())
    }

    /// Returns the agent to that time; whether that changed anything.
    pub(crate) fn rewind(&mut self, to: Timestamp) -> bool {
        self.tick();
        let plan = rewind::plan_rewind(&self.log, to);
        let preview = rewind::preview(&self.agent, &self.memories, &plan, self.now);
        let foreseen = self.foresee(plan.to_seq);
        let decision = rewind::rewind(
            self.agent.clone(),
            self.sessions.clone(),
            &self.log,
            &self.memories,
            &plan,
            &admin(),
            self.now,
        );
        let Some(decision) = decision.unwrap() else {
            assert_eq!(preview.changed, 0);
            assert!(foreseen.is_nothing());
            return false;
        };
        let sessions = decision.sessions.iter();
        let undone = sessions.filter(|session| session.undone_at.is_some());
        let undone = undone.count() as u64;
        let reinstated = decision.sessions.len() as u64 - undone;
        assert_eq!(foreseen.changes, preview);
        assert_eq!(
            (foreseen.sessions_undone, foreseen.sessions_reinstated),
            (undone, reinstated)
        );
        assert_eq!(decision.changes.len() as u64, preview.changed);
        assert_eq!(
            (preview.core_tokens_before, preview.core_tokens_after),
            (
                self.agent.tally.core_tokens,
                decision.agent.tally.core_tokens
            )
        );
        self.apply(decision);
        true
    }

    /// What a rewind to after that record would come to, by summaries of a few records each.
    fn foresee(&self, to_seq: u64) -> RewindForecast {
        let past = |until: u64, records: usize| {
            let log: Vec<&Record> = self.log.iter().filter(|it| it.seq <= until).collect();
            let (mut past, mut last) = (LogPast::default(), None);
            for stretch in log.chunks(records) {
                let mut summary = LogSummary::after(last.as_ref());
                stretch.iter().for_each(|record| summary.add(record));
                let kept = LogSummary::from_bytes(&summary.to_bytes()).unwrap();
                assert_eq!(kept, summary);
                past.add(&kept);
                last = Some(summary);
            }
            past
        };
        let (now, then) = (past(u64::MAX, 3), past(to_seq, 5));
        assert_eq!(now.tally(), self.agent.tally);
        let sessions = self.sessions.iter().filter(|session| !session.rehearsal);
        let ids = sessions.map(|session| session.id);
        rewind::foresee(&self.agent, ids, &now, &then, self.now)
    }

    /// Takes the words of that memory out, for good.
    pub(crate) fn shred(&mut self, number: u64) -> Result<(), ChangeRefusal> {
        self.tick();
        let standing_for_it: Vec<Memory> = self
            .memories
            .values()
            .filter(|other| other.number.0 != number)
            .filter(|other| other.wordings.iter().any(|one| one.number.0 == number))
            .cloned()
            .collect();
        // The words of a constitutional one go where an administrator asked and the agent said yes.
        let actor = match self.memory(number).is_constitutional() {
            true => admin(),
            false => Actor::agent("wren"),
        };
        let decision = shred::shred(
            self.agent.clone(),
            &self.sessions,
            &shred::ShredTarget {
                memory: self.memory(number),
                standing_for_it: &standing_for_it,
            },
            &self.log,
            "it should not be there".into(),
            &actor,
            self.now,
        )?;
        self.apply(decision);
        Ok(())
    }

    /// Holds that the log alone tells what is stored (SPEC 4.2).
    pub(crate) fn check_replay(&self) -> Replay {
        let replay = Replay::of(&self.log).unwrap();
        let memories: Vec<Memory> = self.memories.values().cloned().collect();
        assert_eq!(replay.check_agent(&self.agent), Ok(()));
        let texts = wording::texts_in(&self.log);
        replay.check_memories(&memories, &texts).unwrap();
        assert_eq!(replay.check_sessions(&self.sessions), Ok(()));
        replay
    }

    /// How much of what was ever said is still said, by the log.
    pub(crate) fn carried(&self) -> Carried {
        let memories: Vec<Memory> = self.memories.values().cloned().collect();
        let texts = wording::texts_in(&self.log);
        let replay = Replay::of(&self.log).unwrap();
        replay.check_memories(&memories, &texts).unwrap()
    }

    /// Writes a decision, and holds that its counts, its log and its changes agree (SPEC 4.1).
    pub(crate) fn apply(&mut self, decision: Decision) {
        let recorded: Vec<Change> = decision
            .records
            .iter()
            .flat_map(|record| record.body.changes.clone())
            .collect();
        let is_shredding = |record: &&Record| record.action == Action::MemoryShredded;
        let shredding = decision.records.iter().find(is_shredding);
        let shredded = shredding.and_then(|record| record.memory);
        let changes = decision
            .changes
            .iter()
            .map(|change| as_recorded(change, shredded));
        assert!(
            recorded.into_iter().eq(changes),
            "every change is in the log"
        );
        self.check_masses(&decision);
        for change in &decision.changes {
            let before = self.memories.get(&change.number());
            assert_eq!(
                before,
                change.before(),
                "a change begins with what is there"
            );
            self.memories.insert(change.number(), change.after());
        }
        if let Some(survey) = &mut self.survey {
            survey.follow(&decision.changes);
        }
        for redaction in decision.redactions {
            self.log[redaction.seq as usize - 1].body = redaction.body;
        }
        for record in decision.records {
            assert_eq!(record.seq, self.log.len() as u64 + 1, "the log has no gaps");
            self.log.push(record);
        }
        for session in decision.sessions {
            match self.sessions.iter_mut().find(|own| own.id == session.id) {
                Some(own) => *own = session,
                None => self.sessions.push(session),
            }
        }
        self.agent = decision.agent;
        let mut tally = Tally::default();
        self.memories.values().for_each(|memory| tally.add(memory));
        assert_eq!(
            self.agent.tally, tally,
            "the counts are those of the memories"
        );
        assert_eq!(self.agent.next_seq, self.log.len() as u64 + 1);
        assert_eq!(self.agent.next_number.0, self.memories.len() as u64 + 1);
        self.past.push((self.now, self.memories.clone()));
    }

    /// Every record that changes memories says what the mass is after it.
    fn check_masses(&self, decision: &Decision) {
        let of = |memory: &Memory| {
            if memory.is_kept_core() {
                memory.tokens()
            } else {
                0
            }
        };
        let mut mass = self.agent.tally.core_tokens;
        // A record may leave out the words of its changes.
        let mut changes = decision.changes.iter();
        for record in &decision.records {
            for change in changes.by_ref().take(record.body.changes.len()) {
                mass = mass + of(&change.after()) - change.before().map_or(0, of);
            }
            let told = record.facts.count_of(CORE_TOKENS);
            let expected = (!record.body.changes.is_empty()).then_some(mass);
            assert_eq!(
                told.filter(|_| expected.is_some()),
                expected,
                "{}",
                record.seq
            );
        }
    }

    /// The memories as the log alone tells them.
    pub(crate) fn replayed(&self) -> BTreeMap<Number, Memory> {
        let changes = self.log.iter().flat_map(|record| &record.body.changes);
        changes
            .map(|change| (change.number(), change.after()))
            .collect()
    }
}
