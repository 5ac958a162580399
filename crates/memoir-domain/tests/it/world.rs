//! An agent with its memories, sessions and log. [`World::apply`] writes a decision as a store does, and checks what
//! must be true of every decision.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    AgentId, SessionId, Timestamp,
    agent::{Agent, Field},
    audit::{Action, Actor, ActorKind, CORE_TOKENS, Change, Facts, Record},
    draft::{Decision, Draft},
    ledger::LedgerRoom,
    lifecycle::{self, OpenedSession, Start, StartRefusal},
    manage::{self, ChangeRefusal, Saved, Saving},
    memories::AllMemories,
    memory::{Kind, Memory, NewMemory, Number, Tags, Tally},
    origin::{Origin, SavedBy},
    replace::{Replacing, WEEK_DAYS},
    replay::{Originals, Replay},
    rewind::{self, RewindForecast},
    rollback::{self, Obstacle},
    session::{Driver, Lease, Mode, Session, Trigger},
    shred,
    summary::{LogPast, LogSummary},
    text::Digester,
    tools::{self, CallOutcome, ToolRequest, View},
};
use serde_json::{Value, json};

/// The size of the first memory of [`World::session`], which keeps the age rule and the breaker still.
pub(crate) const BALLAST: u64 = 1_200;

pub(crate) struct World {
    pub(crate) agent: Agent,
    pub(crate) memories: BTreeMap<Number, Memory>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) log: Vec<Record>,
    pub(crate) now: Timestamp,
    /// All memories as they were after each decision, with its time.
    pub(crate) past: Vec<(Timestamp, BTreeMap<Number, Memory>)>,
    pub(crate) ledger_budget: u64,
    pub(crate) near_duplicates: bool,
    /// All memories as they were built once, with every change since followed.
    followed: AllMemories,
}

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn admin() -> Actor {
    Actor::administrator("root")
}

pub(crate) fn wren() -> Actor {
    Actor::agent("wren")
}

/// A core memory of the agent. `created_at` is a date such as `2026-01-05`.
pub(crate) fn core(content: &str, created_at: &str, tags: &[&str]) -> NewMemory {
    NewMemory {
        tags: Tags::parse(tags.iter().copied()).unwrap(),
        created_at: Some(time(created_at)),
        ..NewMemory::new(Kind::Core, content.into(), SavedBy::of(ActorKind::Agent))
    }
}

/// That memory, of another origin.
pub(crate) fn of_origin(origin: Origin, mut memory: NewMemory) -> NewMemory {
    memory.saved_by.origin = origin;
    memory
}

/// A text of that many tokens.
pub(crate) fn padding(tokens: u64) -> String {
    "calm".repeat(tokens as usize)
}

pub(crate) fn digester() -> Digester {
    Digester::new(&[9; 32])
}

/// What a call changes and returns, to be compared.
fn shown(outcome: &CallOutcome) -> Value {
    match outcome {
        CallOutcome::Answer(result) => json!([result]),
        CallOutcome::Commit(decision, result) => json!([result, decision.changes]),
        other => json!(format!("{other:?}")),
    }
}

/// A change as its record holds it: that of shredding has no text, not even the one that was there.
fn as_recorded(change: &Change, shredded: &BTreeSet<Number>) -> Change {
    match change.before() {
        Some(before) if shredded.contains(&before.number) => {
            Change::between(before.without_text(), &change.after()).unwrap()
        }
        _ => change.clone(),
    }
}

impl World {
    /// An agent without memories, with the default settings.
    pub(crate) fn new() -> Self {
        Self::of(&[])
    }

    /// An agent with that loss guard.
    pub(crate) fn under(guard: &str) -> Self {
        Self::of(&[(Field::LossGuard, Some(guard))])
    }

    /// An agent with these settings.
    pub(crate) fn of(settings: &[(Field, Option<&str>)]) -> Self {
        let now = time("2026-03-01T12:00:00Z");
        let id = AgentId::from_bytes([7; 16]);
        let decision = manage::create_agent(id, "wren", settings, &admin(), now).unwrap();
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
            ledger_budget: 100_000,
            near_duplicates: false,
            followed: AllMemories::default(),
        };
        world.apply(decision);
        world
    }

    /// Core memories numbered from 1, one a day from 1 January 2026 on. A text that begins with `!` is
    /// constitutional, one with `@` has the immutable tag `voice`, one with `~` is a journal entry, one with `^` is
    /// archival.
    pub(crate) fn with(texts: &[&str]) -> Self {
        Self::new().saving(texts)
    }

    /// As [`World::with`], for this agent.
    pub(crate) fn saving(mut self, texts: &[&str]) -> Self {
        let first = time("2026-01-01");
        let from = self.memories.len() as i64;
        for (day, text) in (from..).zip(texts) {
            let content = text.trim_start_matches(['!', '@', '~', '^']);
            let flags = &text[..text.len() - content.len()];
            let tags: &[&str] = if flags.contains('@') { &["voice"] } else { &[] };
            let kind = match flags {
                flags if flags.contains('~') => Kind::Journal,
                flags if flags.contains('^') => Kind::Archival,
                _ => Kind::Core,
            };
            self.save(NewMemory {
                kind,
                constitutional: flags.contains('!'),
                created_at: Some(first.plus_days(day)),
                ..core(content, "2026-01-01", tags)
            });
        }
        self
    }

    /// An open session within the budget, over a memory of [`BALLAST`] tokens and then `texts` from number 2 on: each
    /// of these can leave.
    pub(crate) fn session(texts: &[&str]) -> Self {
        Self::ballasted(Self::new(), texts)
    }

    /// As [`World::session`], over a budget of 1,000 tokens: summaries can be written.
    pub(crate) fn over(texts: &[&str]) -> Self {
        Self::ballasted(Self::of(&[(Field::CoreTokenBudget, Some("1000"))]), texts)
    }

    /// As [`World::session`], under the guard `off`.
    pub(crate) fn off(texts: &[&str]) -> Self {
        Self::ballasted(Self::under("off"), texts)
    }

    fn ballasted(world: Self, texts: &[&str]) -> Self {
        let mut world = world.saving(&[&padding(BALLAST)]).saving(texts);
        world.open(Mode::Full);
        world
    }

    pub(crate) fn tick(&mut self) {
        self.now = self.now.plus_seconds(60);
    }

    pub(crate) fn all(&self) -> AllMemories {
        AllMemories::of(self.memories.values())
    }

    pub(crate) fn set(&mut self, field: Field, value: &str) {
        self.set_as(field, value, &admin());
    }

    pub(crate) fn set_as(&mut self, field: Field, value: &str, actor: &Actor) {
        let agent = self.agent.clone();
        let changed = manage::configure(agent, &[(field, Some(value))], actor, self.now);
        if let Some(decision) = changed.unwrap() {
            self.apply(decision);
        }
    }

    pub(crate) fn save(&mut self, memory: NewMemory) -> Number {
        self.save_replacing(memory, &[]).number
    }

    /// Saves a memory in place of others.
    pub(crate) fn save_replacing(&mut self, memory: NewMemory, replaces: &[u64]) -> Saved {
        let actor = match memory.saved_by.added_by {
            ActorKind::Administrator => admin(),
            _ => wren(),
        };
        let mut replacing = self.replacing();
        let saving = Saving {
            memory,
            replaces: replaces.iter().copied().map(Number).collect(),
        };
        let (decision, mut saved) = manage::save(
            self.agent.clone(),
            vec![saving],
            &mut replacing,
            &actor,
            self.now,
        );
        self.apply(decision);
        saved.remove(0)
    }

    pub(crate) fn replacing(&self) -> Replacing {
        let since = self.now.plus_days(-WEEK_DAYS);
        let is_counted = |record: &&Record| {
            record.action == Action::MemoryReplaced && record.recorded_at > since
        };
        Replacing::new(
            self.all(),
            self.log.iter().filter(is_counted).count() as u32,
        )
    }

    /// A change by an administrator, outside of any session, that no rule makes.
    pub(crate) fn alter(&mut self, number: u64, action: Action, change: impl FnOnce(&mut Memory)) {
        let draft = Draft::for_agent(self.agent.clone(), self.now);
        self.alter_in(draft, number, action, change);
    }

    /// As [`World::alter`], in that draft.
    pub(crate) fn alter_in(
        &mut self,
        mut draft: Draft,
        number: u64,
        action: Action,
        change: impl FnOnce(&mut Memory),
    ) {
        let before = self.memory(number).clone();
        let mut after = before.clone();
        change(&mut after);
        let changes = draft.alter(before, &after).into_iter();
        let changes = changes.collect::<Vec<_>>();
        draft.record(
            &admin(),
            action,
            Some(Number(number)),
            Facts::default(),
            changes,
        );
        self.apply(draft.finish());
    }

    /// Applies what an administrator does to one memory, where it changes anything.
    #[track_caller]
    fn take(&mut self, decision: Result<Option<Decision>, ChangeRefusal>) {
        if let Some(decision) = decision.unwrap() {
            self.apply(decision);
        }
    }

    pub(crate) fn discard(&mut self, number: u64) {
        let all = self.all();
        let memory = self.memory(number);
        let bare = all.summary_left_bare(memory);
        let agent = self.agent.clone();
        self.take(manage::discard(agent, memory, bare, &admin(), self.now));
    }

    pub(crate) fn protect(&mut self, number: u64) {
        let (agent, memory) = (self.agent.clone(), self.memory(number));
        self.take(manage::protect(agent, memory, &admin(), self.now));
    }

    pub(crate) fn unprotect(&mut self, number: u64) {
        let (agent, memory) = (self.agent.clone(), self.memory(number));
        self.take(manage::unprotect(agent, memory, &admin(), self.now));
    }

    pub(crate) fn restore(&mut self, number: u64) {
        let (agent, memory) = (self.agent.clone(), self.memory(number));
        self.take(manage::restore(agent, memory, &admin(), self.now));
    }

    pub(crate) fn promote(&mut self, number: u64) -> Result<(), ChangeRefusal> {
        let all = self.all();
        let memory = self.memory(number);
        let bare = all.summary_left_bare(memory);
        let decision = manage::promote(self.agent.clone(), memory, bare, &wren(), self.now)?;
        self.apply(decision);
        Ok(())
    }

    pub(crate) fn start(&self, mode: Mode) -> Start {
        let mut id = [0; 16];
        id[15] = self.sessions.len() as u8 + 1;
        Start {
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
            started_by: Actor::administrator("Petra"),
        }
    }

    pub(crate) fn begin(&mut self, mode: Mode) -> Result<(), StartRefusal> {
        let running = self
            .sessions
            .iter()
            .find(|session| session.state.is_running())
            .map(|session| session.id);
        let nothing = lifecycle::nothing_to_refine(&self.agent, mode, &self.all(), &digester());
        let (agent, start) = (self.agent.clone(), self.start(mode));
        let decision = lifecycle::begin(agent, running, start, nothing, self.now)?;
        self.apply(decision);
        Ok(())
    }

    pub(crate) fn open(&mut self, mode: Mode) -> OpenedSession {
        self.tick();
        self.begin(mode).unwrap();
        self.open_begun()
    }

    /// Opens the session that was begun last.
    pub(crate) fn open_begun(&mut self) -> OpenedSession {
        self.open_agreed(None)
    }

    /// As [`World::open_begun`], where this is the agent when it was asked.
    pub(crate) fn open_agreed(&mut self, agreed: Option<&Agent>) -> OpenedSession {
        let opening = lifecycle::open(
            self.agent.clone(),
            self.last_session().clone(),
            self.all(),
            &digester(),
            self.room(),
            agreed,
            self.now,
        );
        self.apply(opening.decision);
        assert!(
            opening.memories.core().eq(self.all().core()),
            "the memories after the cleanup"
        );
        opening.opened
    }

    pub(crate) fn room(&self) -> LedgerRoom {
        LedgerRoom {
            tokens: self.ledger_budget,
            near_duplicates: self.near_duplicates,
            leaves_out_administrators: false,
        }
    }

    pub(crate) fn last_session(&self) -> &Session {
        self.sessions.last().unwrap()
    }

    pub(crate) fn memory(&self, number: u64) -> &Memory {
        &self.memories[&Number(number)]
    }

    pub(crate) fn text(&self, number: u64) -> &str {
        self.memory(number).content.expose()
    }

    /// The active memories of a kind, by number.
    pub(crate) fn active(&self, kind: Kind) -> Vec<(u64, &str)> {
        self.memories
            .values()
            .filter(|memory| memory.is_active() && memory.kind() == kind)
            .map(|memory| (memory.number.0, memory.content.expose()))
            .collect()
    }

    pub(crate) fn core_numbers(&self) -> Vec<u64> {
        let core = self.active(Kind::Core);
        core.into_iter().map(|(number, _)| number).collect()
    }

    /// The active archival memories, each with the memory that it is under.
    pub(crate) fn archive(&self) -> Vec<(u64, Option<u64>)> {
        let all = self.all();
        let archival = self
            .memories
            .values()
            .filter(|memory| memory.is_active_archival());
        archival
            .map(|memory| (memory.number.0, all.read_under(memory).map(|under| under.0)))
            .collect()
    }

    /// The text of the newest journal entry.
    pub(crate) fn last_entry(&self) -> &str {
        self.active(Kind::Journal).pop().unwrap().1
    }

    pub(crate) fn last_record(&self) -> &Record {
        self.log.last().unwrap()
    }

    /// What the records from that place in the log on say was done.
    pub(crate) fn actions_from(&self, place: usize) -> Vec<Action> {
        let records = self.log[place..].iter();
        records.map(|record| record.action).collect()
    }

    /// Checks that these memories are exactly as they were.
    #[track_caller]
    pub(crate) fn check_has(&self, before: &BTreeMap<Number, Memory>) {
        for (number, memory) in before {
            let now = &self.memories[number];
            assert_eq!(now, memory, "every property of {number}");
        }
    }

    /// Calls a tool of the last session.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.tick();
        let request = ToolRequest::read(tool, Some(&arguments));
        let decide = |memories: &AllMemories| {
            let view = View {
                agent: &self.agent,
                system_prompt: self.agent.settings.system_prompt.as_ref(),
                session: self.sessions.last(),
                memories,
            };
            tools::decide(view, &request, &wren(), self.now)
        };
        let outcome = decide(&self.all());
        assert_eq!(
            shown(&decide(&self.followed)),
            shown(&outcome),
            "memories that were followed decide as those that are built anew"
        );
        let result = match outcome {
            CallOutcome::Answer(result) => result,
            CallOutcome::Search(search) => tools::search(&self.all(), &search, u64::MAX),
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
        self.call("delete_memory", json!({"ids": [number]}))
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

    /// The number of the summary that the session writes over these memories.
    #[track_caller]
    pub(crate) fn summarise(&mut self, numbers: &[u64], content: &str) -> u64 {
        let result = match numbers {
            [number] => self.update(*number, content),
            _ => self.consolidate(numbers, content),
        };
        assert_eq!(result["is_summary"], true, "{result}");
        result["number"].as_u64().unwrap()
    }

    pub(crate) fn complete(&mut self) -> Value {
        self.call("complete_refinement", json!({"summary": "Done."}))
    }

    /// The last session's records with the confirmations since, and the memories that a rollback of it needs.
    fn history(&self) -> (Vec<Record>, BTreeMap<Number, Memory>) {
        let id = self.last_session().id;
        let is_needed =
            |record: &&Record| record.session == Some(id) || rollback::is_confirmation(record);
        let history: Vec<Record> = self.log.iter().filter(is_needed).cloned().collect();
        let memories = self.memories_of(&history);
        (history, memories)
    }

    /// The memories that the records touch, and those under them.
    fn memories_of<'a>(
        &self,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> BTreeMap<Number, Memory> {
        let touched = rollback::touched(records);
        let is_needed = |memory: &Memory| {
            touched.contains(&memory.number)
                || memory.under().is_some_and(|under| touched.contains(&under))
        };
        self.memories
            .iter()
            .filter(|(_, memory)| is_needed(memory))
            .map(|(number, memory)| (*number, memory.clone()))
            .collect()
    }

    pub(crate) fn roll_back(&mut self) {
        self.tick();
        let (history, memories) = self.history();
        let decision = rollback::roll_back_running(
            self.agent.clone(),
            self.last_session().clone(),
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
        let decision = decision.unwrap();
        let Some(decision) = decision else {
            panic!("an act of an administrator is on the record");
        };
        if decision.changes.is_empty() && decision.sessions.is_empty() {
            assert_eq!(preview.changed, 0);
            assert!(foreseen.is_nothing());
            assert_eq!(decision.records.len(), 1);
            self.apply(decision);
            return false;
        }
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

    /// What a rewind to after that record would do, by summaries of a few records each.
    fn foresee(&self, to_seq: u64) -> RewindForecast {
        let past = |until: u64, records: usize| {
            let log: Vec<&Record> = self.log.iter().filter(|it| it.seq <= until).collect();
            let (mut past, mut last) = (LogPast::default(), None);
            for stretch in log.chunks(records) {
                let mut summary = LogSummary::after(last.as_ref());
                stretch.iter().for_each(|record| summary.add(record));
                let stored = LogSummary::from_bytes(&summary.to_bytes()).unwrap();
                assert_eq!(stored, summary);
                past.add(&stored);
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

    /// Shreds that memory.
    pub(crate) fn shred(&mut self, number: u64) -> Result<(), ChangeRefusal> {
        self.shred_together(&[number])
    }

    /// Shreds memories in one decision, as requested for the first one.
    pub(crate) fn shred_together(&mut self, numbers: &[u64]) -> Result<(), ChangeRefusal> {
        self.tick();
        // A constitutional one is shredded where both an administrator and the agent request it.
        let actor = match self.memory(numbers[0]).is_constitutional() {
            true => admin(),
            false => wren(),
        };
        let numbers: Vec<Number> = numbers.iter().copied().map(Number).collect();
        let decision = shred::shred(
            self.agent.clone(),
            &self.sessions,
            shred::ShredTargets {
                numbers: &numbers,
                memories: self.all(),
                rehearsals: &BTreeSet::new(),
            },
            &self.log,
            &"it should not be there".into(),
            &actor,
            self.now,
        )?;
        self.apply(decision);
        Ok(())
    }

    /// Checks that the log alone leads to what is stored (SPEC 4.2), and counts the originals.
    #[track_caller]
    pub(crate) fn check_replay(&self) -> Originals {
        let replay = Replay::of(&self.log).unwrap();
        let memories: Vec<Memory> = self.memories.values().cloned().collect();
        assert_eq!(replay.check_agent(&self.agent), Ok(()));
        assert_eq!(replay.check_sessions(&self.sessions), Ok(()));
        let originals = replay.check_memories(&memories).unwrap();
        assert_eq!(originals.lost, 0);
        originals
    }

    /// Writes a decision, and checks that its counts, its log and its changes agree (SPEC 4.1).
    #[track_caller]
    pub(crate) fn apply(&mut self, decision: Decision) {
        let recorded: Vec<Change> = decision
            .records
            .iter()
            .flat_map(|record| record.body.changes.clone())
            .collect();
        let is_shredding = |record: &&Record| record.action == Action::MemoryShredded;
        let shreddings = decision.records.iter().filter(is_shredding);
        let shredded = shreddings.filter_map(|record| record.memory).collect();
        let changes = decision
            .changes
            .iter()
            .map(|change| as_recorded(change, &shredded));
        assert!(
            recorded.into_iter().eq(changes),
            "every change is in the log"
        );
        self.check_core_tokens(&decision);
        for change in &decision.changes {
            let before = self.memories.get(&change.number());
            assert_eq!(
                before,
                change.before(),
                "a change begins with what is there"
            );
            self.memories.insert(change.number(), change.after());
        }
        self.followed.follow(&decision.changes);
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

    /// Every record that changes memories has the core size after it.
    fn check_core_tokens(&self, decision: &Decision) {
        let of = |memory: &Memory| match memory.is_active_core() {
            true => memory.tokens(),
            false => 0,
        };
        let mut size = self.agent.tally.core_tokens;
        // A record may leave out the texts of its changes.
        let mut changes = decision.changes.iter();
        for record in &decision.records {
            for change in changes.by_ref().take(record.body.changes.len()) {
                size = size + of(&change.after()) - change.before().map_or(0, of);
            }
            if !record.body.changes.is_empty() {
                let recorded = record.facts.count_of(CORE_TOKENS);
                assert_eq!(recorded, Some(size), "{}", record.seq);
            }
        }
    }

    /// The memories as the log alone has them.
    pub(crate) fn replayed(&self) -> BTreeMap<Number, Memory> {
        let changes = self.log.iter().flat_map(|record| &record.body.changes);
        changes
            .map(|change| (change.number(), change.after()))
            .collect()
    }
}

/// An active core memory, recorded by record `number`, with an origin date `number` seconds after 1970.
pub(crate) fn test_memory(number: u64, content: &str) -> Memory {
    let from = Timestamp::from_microseconds(0).unwrap();
    let at = from.plus_seconds(number as i64);
    let memory = NewMemory::new(Kind::Core, content.into(), SavedBy::of(ActorKind::Agent));
    memory.into_memory(Number(number), number, at)
}
