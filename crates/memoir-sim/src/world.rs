//! A simulated installation and its time.

mod erasing;
mod keys;
mod moving;
mod nodes;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use memoir_app::{Error, OwnAgent, RecordFilter, ShredWish, sessions::RefineOptions};
use memoir_domain::{
    AgentId, SessionId,
    access::{AccessKindName, AccessState},
    agent::{Field, LossGuard},
    audit::ActorKind,
    session::State,
};
use memoir_model::Model;
use memoir_testkit::{
    Dice, Floor, ModelScript, SeededRandom, SetModel, TestClock, Turn, account, administrator,
    query,
};
use parking_lot::Mutex;
use serde_json::json;

use self::nodes::{Node, Storage};
use crate::{
    Options, Report, Violation,
    beside::{Beside, Meeting},
    foreign::undo_import,
    interrupted::{Interrupted, Meanwhile},
    plan::{Plan, one_of_its_texts},
    player::Player,
    process::{ATTEMPTS, Fault, Moment},
    resident::{Resident, own},
    session::{Failure, OwnSession, check_ages, check_breaker, gone, mode},
    transcript::{Identifiers, administrators_view, compared},
    view::{Between, View, check_marks, ensure},
};

/// The agents: two of one account, and one of another that has the name of one of them.
const RESIDENTS: [(&str, &str); 3] = [("one", "wren"), ("one", "finch"), ("two", "wren")];

/// What distinguishes the numbers of moves from those of the steps.
const MOVING: u64 = 0x4D4F_5645;

/// The same of meetings.
const MEETING: u64 = 0x4D45_4554;

/// The same of cuts between a process and the store.
const CUTTING: u64 = 0x4355_5453;

/// What became of a step.
enum Outcome {
    Done,
    /// With that code.
    Refused(&'static str),
    /// Its process was killed.
    Killed,
}

/// A simulated installation.
pub(crate) struct World {
    options: Options,
    storage: Storage,
    clock: Arc<TestClock>,
    model: SetModel,
    random: Arc<SeededRandom>,
    /// The processes, all of them alive.
    nodes: Vec<Node>,
    /// The place of the one that serves agents and administrators now.
    here: usize,
    residents: Vec<Resident>,
    /// How many agents there were, the erased ones included.
    lives: usize,
    /// The erased agents, with their accounts.
    erased: Vec<(&'static str, AgentId)>,
    identifiers: Mutex<Identifiers>,
    pub(crate) report: Report,
}

#[expect(
    clippy::unwrap_used,
    reason = "an installation that cannot be made ends the run"
)]
impl World {
    /// With its agents and their first memories.
    pub(crate) async fn begin(options: Options) -> Self {
        let mut world = Self {
            storage: Storage::new(options.store).await,
            clock: Arc::default(),
            model: SetModel::default(),
            random: Arc::new(SeededRandom::new(options.seed)),
            nodes: Vec::new(),
            here: 0,
            residents: Vec::new(),
            lives: 0,
            erased: Vec::new(),
            identifiers: Mutex::default(),
            report: Report::default(),
            options,
        };
        // The beginning is without faults.
        let first = world.process(None);
        world.nodes.push(first);
        let mut dice = Dice::of_step(world.options.seed, u64::MAX - 2);
        for (place, named) in RESIDENTS.into_iter().enumerate() {
            let guard = any_guard(&mut dice);
            let made = world.make_agent(named, guard).await;
            let resident = world.resident(named, made.unwrap()).await;
            world.residents.push(resident.unwrap());
            for _ in 0..dice.roll(8) + 6 {
                world.clock.advance(Duration::from_secs(3_600));
                let resident = &world.residents[place];
                let saved = one_of_its_texts(resident, world.options.lexicon, &mut dice);
                let text = saved.content.expose().to_owned();
                let actor = resident.actor();
                let saved = resident.agent.memories().save(&[saved], &actor).await;
                saved.unwrap();
                let view = View::of(&resident.agent).await.unwrap();
                let resolved = world.residents[place].reconcile(view, Between::Saving, &[text]);
                resolved.unwrap();
            }
        }
        world.start(dice.roll(2) + 2).await.unwrap();
        world
    }

    /// An agent that has nothing yet.
    async fn make_agent(
        &self,
        (account_name, name): (&str, &str),
        guard: &str,
    ) -> Result<OwnAgent, Error> {
        let account = account(&self.node().memoir, account_name).await;
        let settings = [
            (Field::LossGuard, Some(guard)),
            (Field::Model, Some("scripted:model")),
            (Field::CoreTokenBudget, Some("1000")),
            (Field::RefinementThreshold, Some("0.6")),
            (Field::NearDuplicates, Some("false")),
        ];
        let administrator = administrator();
        account
            .create_agent(name, &settings, &administrator)
            .await?;
        own(&account.agent(name).await?)
    }

    /// What is known from outside of an agent that was made last.
    async fn resident(
        &mut self,
        (account, name): (&'static str, &'static str),
        agent: OwnAgent,
    ) -> Result<Resident, Error> {
        let place = self.lives;
        self.lives += 1;
        let handles = self.reach(account, agent.scope().agent).await?;
        let is_compared = self.options.notes_administrators;
        Resident::new((place, account, name), (agent, handles), is_compared).await
    }
}

/// The loss guard that an agent begins with.
fn any_guard(dice: &mut Dice) -> &'static str {
    if dice.roll(5) == 0 { "off" } else { "archive" }
}

impl World {
    /// Does every step, and checks the whole at the end.
    pub(crate) async fn live(&mut self) -> Result<(), Violation> {
        for step in 0..self.options.steps {
            let only = self.options.only.as_ref();
            if only.is_none_or(|only| only.contains(&step)) {
                // On the heap: a run under `shrink` is deep in the stack of a test.
                let done = Box::pin(self.step(step)).await;
                done.map_err(|violation| Violation { step, ..violation })?;
                self.report.steps += 1;
            }
        }
        let step = self.options.steps.saturating_sub(1);
        let ended = Box::pin(self.end()).await;
        ended.map_err(|violation| Violation { step, ..violation })
    }

    async fn step(&mut self, step: u64) -> Result<(), Violation> {
        let mut dice = Dice::of_step(self.options.seed, step);
        self.clock.advance(Duration::from_secs(dice.roll(240) + 1));
        if dice.roll(12) == 0 {
            return self.time_passes(&mut dice).await;
        }
        if dice.roll(30) == 0 {
            // The others go on.
            let killed = self.any_node(&mut dice);
            self.go_to(killed);
            self.restart().await?;
        }
        if dice.roll(25) == 0 {
            let rotating = self.any_node(&mut dice);
            self.go_to(rotating);
            self.rotate_keys()?;
        }
        // From numbers of its own, so that the other steps are the same on every store.
        let mut moving = Dice::of_step(self.options.seed ^ MOVING, step);
        if moving.roll(25) == 0 {
            Box::pin(self.move_keys(&mut moving)).await?;
        }
        let who = dice.roll(self.residents.len() as u64) as usize;
        let (acting, reading) = (self.any_node(&mut dice), self.any_node(&mut dice));
        self.go_to(acting);
        let mut plan = self.plan(who, &mut dice).await?;
        *self.report.acts.entry(plan.name()).or_default() += 1;
        if dice.roll(9) == 0 {
            let commits = dice.roll(6);
            self.node().process.arm(commits, Fault::any(&mut dice));
        }
        self.cut(step);
        let mut meeting = Dice::of_step(self.options.seed ^ MEETING, step);
        let meeting = self.meeting(who, &plan, &mut meeting);
        let mut before = self.residents[who].view.clone();
        // Of a session that began under a stricter guard that one counts; it is checked at each of its edits.
        let is_off = plan.is_session() && before.guard == LossGuard::Off;
        let outcome = Box::pin(self.carry_out(who, &mut plan, meeting.is_none())).await?;
        if self.node().process.disarm() {
            *self.report.acts.entry("cut off").or_default() += 1;
        }
        let is_killed = matches!(outcome, Outcome::Killed);
        match outcome {
            Outcome::Killed => self.restart().await?,
            Outcome::Refused(code) => *self.report.refused.entry(code).or_default() += 1,
            Outcome::Done => {}
        }
        // What one process did is there for each of the others.
        self.go_to(reading);
        self.report.read_elsewhere += u64::from(reading != acting);
        if matches!(plan, Plan::Erase(_)) && self.is_erased(who, is_killed).await? {
            return self.replace_erased(who, &mut dice).await;
        }
        if let Some(meeting) = meeting
            && let Some((act, after)) =
                meeting.reconcile(&mut self.residents[who], (&plan, is_off))?
        {
            *self.report.acts.entry(act).or_default() += 1;
            // What a saving replaces is judged together with what the other one replaced.
            if !matches!(plan, Plan::Save(..)) {
                before = after;
            }
        }
        Box::pin(self.reconcile(who, (&plan, is_off), &before)).await?;
        let moment = self.node().memoir.now();
        if dice.roll(4) == 0 {
            self.residents[who].moments.push(moment);
        }
        // Nothing of it crossed to another agent.
        let other = (who + 1 + step as usize % 2) % self.residents.len();
        if other != who {
            let view = View::of(&self.residents[other].agent).await?;
            self.residents[other].reconcile(view, Between::Nothing, &[])?;
        }
        Ok(())
    }

    /// In one step of forty the process that acts is cut off from the store for some calls, most often early.
    fn cut(&self, step: u64) {
        let mut dice = Dice::of_step(self.options.seed ^ CUTTING, step);
        // Not in a comparison for administrators: how many calls a step makes depends on whether texts are equal.
        if self.options.notes_administrators || dice.roll(40) > 0 {
            return;
        }
        let most = [4, 40][dice.roll(2) as usize];
        let calls = dice.roll(most);
        self.node().process.arm(calls, Fault::cut(&mut dice));
    }

    /// Does a step, and repeats it where it is refused as `busy`, as while the store cannot be reached. Then one decision
    /// has changed nothing, and what consists of several goes on from where it was (SPEC 6.2). `is_alone` says that no
    /// other process acts for the same agent meanwhile.
    async fn carry_out(
        &mut self,
        who: usize,
        plan: &mut Plan,
        is_alone: bool,
    ) -> Result<Outcome, Violation> {
        let process = self.node().process.clone();
        for _ in 0..ATTEMPTS {
            let performed = tokio::select! {
                biased;
                () = process.ended() => return Ok(Outcome::Killed),
                // On the heap: the states of all use cases are larger than the stack of a test has room for.
                performed = Box::pin(self.perform(who, plan)) => performed,
            };
            match performed {
                Ok(()) => return Ok(Outcome::Done),
                Err(Failure::Broken(violation)) => return Err(violation),
                Err(Failure::Refused("busy")) => {}
                Err(Failure::Refused(code)) => return Ok(Outcome::Refused(code)),
            }
            if is_alone && plan.is_one_decision() {
                self.residents[who].check_unchanged().await?;
            }
        }
        Ok(Outcome::Refused("busy"))
    }

    /// Sometimes another process acts for the same agent between the decision of that step and its commit, or between
    /// that and its response.
    fn meeting(&self, who: usize, plan: &Plan, dice: &mut Dice) -> Option<Meeting> {
        if dice.roll(4) > 0 {
            return None;
        }
        let resident = &self.residents[who];
        let beside = Beside::any(resident, plan, self.options.lexicon, dice)?;
        let moment = match dice.roll(5) {
            0 => Moment::BeforeResponse,
            _ => Moment::BeforeCommit,
        };
        let meeting = Meeting::new(beside, moment);
        let act = meeting.act(resident.elsewhere.clone());
        self.node().process.interrupt(moment, act);
        Some(meeting)
    }

    async fn plan(&self, who: usize, dice: &mut Dice) -> Result<Plan, Violation> {
        let resident = &self.residents[who];
        let page = resident.agent.views().session_page(None, 30).await?;
        let of = |rehearsal: bool| -> Vec<SessionId> {
            page.iter()
                .filter(|session| session.rehearsal == rehearsal && !session.state.is_running())
                .map(|session| session.id)
                .collect()
        };
        let sessions = (of(false), of(true));
        let sessions = (sessions.0.as_slice(), sessions.1.as_slice());
        let plan = Plan::any(resident, self.options.lexicon, sessions, dice);
        // An import reads while it writes, and the store in memory has one connection for both.
        Ok(match plan {
            Plan::Import(..) if self.options.store == crate::StoreKind::Memory => Plan::Look,
            plan => plan,
        })
    }

    /// After a step: the memory, the sessions that ended in it, and the session that the agent drives. `is_off` says
    /// whether a session may have had the guard `off`.
    async fn reconcile(
        &mut self,
        who: usize,
        (plan, is_off): (&Plan, bool),
        before: &View,
    ) -> Result<(), Violation> {
        let ended = self.newly_ended(who).await?;
        let undone = ended.iter().any(|(_, state)| *state == State::RolledBack);
        let resident = &mut self.residents[who];
        resident.is_calm &= !plan.unsettles() && !is_off;
        resident.was_off |= is_off;
        if matches!(plan, Plan::Access(_)) {
            let open = resident.agent.grants().open_access().await?;
            resident.is_asked = !open.is_empty();
        }
        let view = View::of(&resident.agent).await?;
        // The agent may have consented to a shredding.
        resident.is_calm &= view.counts.shredded_count == before.counts.shredded_count;
        if matches!(plan, Plan::Import(..)) {
            resident.check_imported(&view)?;
        }
        resident.has_undone_import |= matches!(plan, Plan::UndoImport(_));
        let texts = plan.texts();
        if matches!(plan, Plan::Save(..)) {
            resident.check_saved_once(&view, &texts)?;
        }
        resident.reconcile(view, plan.between(undone, is_off), &texts)?;
        if let Plan::Configure(_, _, actor) = plan
            && *actor == resident.actor()
        {
            let is_laxer = resident.view.guard < before.guard;
            ensure!(!is_laxer, "2.7", "the agent made its guard laxer");
        }
        if !matches!(plan, Plan::Own(..) | Plan::Look)
            && let Some(session) = &mut resident.session
        {
            session.is_disturbed = true;
        }
        if ended
            .iter()
            .any(|(id, _)| resident.session.as_ref().map(|session| session.id) == Some(*id))
        {
            resident.session = None;
        }
        let gone = gone(before, &resident.view);
        let floor = match plan {
            Plan::Save(..) | Plan::Absorb(..) | Plan::Reflect(..) => Some(Floor::Replacing),
            // Its guard and its budget may have changed since the calls that it repeats, or while it was asked.
            Plan::Refine { .. } | Plan::Apply(_)
                if before.counts.core_tokens > before.budget.min(resident.view.budget) =>
            {
                Some(Floor::Over)
            }
            Plan::Refine { .. } | Plan::Apply(_) => Some(Floor::Within),
            _ => None,
        };
        if floor == Some(Floor::Replacing) && !gone.is_empty() {
            let act = match plan {
                Plan::Absorb(..) => "replace by absorption",
                Plan::Reflect(..) => "replace by reflection",
                _ => "replace",
            };
            *self.report.acts.entry(act).or_default() += 1;
        }
        if let Some(floor) = floor.filter(|_| !undone)
            && let Err(Failure::Broken(violation)) = check_ages(resident, &gone, floor).await
        {
            return Err(violation);
        }
        if let (Plan::Refine { .. }, [(id, State::RolledBack)]) = (plan, ended.as_slice()) {
            // What is repeated after a cut may begin another session.
            let newest = resident.agent.views().session_page(None, 1).await?;
            if newest.first().map(|session| session.id) == Some(*id)
                && resident.view.check_return_since(before)?
            {
                let acts = &mut self.report.acts;
                *acts.entry("driven session undone to the byte").or_default() += 1;
            }
        }
        for (id, _) in ended {
            self.check_end(who, id).await?;
        }
        Ok(())
    }

    /// The sessions of an agent that ended since the last time.
    async fn newly_ended(&mut self, who: usize) -> Result<Vec<(SessionId, State)>, Violation> {
        let resident = &mut self.residents[who];
        let mut page = resident.agent.views().session_page(None, 1_000).await?;
        page.retain(|one| !one.state.is_running() && resident.ended.insert(one.id));
        Ok(page.iter().map(|one| (one.id, one.state)).collect())
    }

    /// What must hold of a session that is over, and of the log with it.
    async fn check_end(&mut self, who: usize, id: SessionId) -> Result<(), Violation> {
        let resident = &self.residents[who];
        let session = resident.agent.views().session(id).await?;
        let ends = self.report.sessions.entry(session.state.as_str());
        *ends.or_default() += 1;
        self.report.off += u64::from(session.loss_guard == Some(LossGuard::Off));
        ensure!(session.edits <= 10, "3.11", "{} edits", session.edits);
        ensure!(session.ended_at.is_some(), "3.16", "an end without a time");
        let lens = resident.agent.lens();
        let filter = RecordFilter::of_session(id);
        let records = lens.records(&filter).await?;
        let ends = records.iter().filter(|one| one.action.is_session_end());
        let ends = ends.count();
        ensure!(ends == 1, "3.16", "a session has {ends} ends");
        if let (State::Completed, false, Some(before), Some(after), Some(share)) = (
            session.state,
            session.rehearsal,
            session.pre_session_tokens,
            session.post_session_tokens,
            session.threshold,
        ) {
            check_breaker((before, share), after, session.removed_tokens)?;
        }
        let verified = resident.agent.log().verify().await?;
        let problem = verified.mismatches.first().map(|one| &one.problem);
        ensure!(verified.valid, "4.2", "{problem:?}");
        let counted = verified.originals.unwrap_or_default();
        let shown = resident.view.counts.originals;
        let expected = (
            shown.total + counted.removed_off,
            shown.in_prompt,
            shown.archived,
        );
        ensure!(
            counted.lost == 0
                && (resident.was_off || counted.removed_off == 0)
                && (counted.total, counted.in_prompt, counted.archived) == expected,
            "3.12",
            "{counted}, and the counts are {shown:?}"
        );
        self.note_administrators(who).await
    }

    /// What an administrator gets: no text, and the same for texts of the same shape.
    async fn note_administrators(&mut self, who: usize) -> Result<(), Violation> {
        if !self.options.notes_administrators {
            return Ok(());
        }
        let resident = &self.residents[who];
        let open = resident.agent.grants().open_access().await?;
        let is_readable = open
            .iter()
            .any(|one| (one.kind, one.state) == (AccessKindName::Read, AccessState::Granted));
        if !is_readable {
            let account = self.node().memoir.account(resident.account).await?;
            let view = administrators_view(&account, &resident.agent).await?;
            let marks = BTreeSet::from([self.options.lexicon.mark(resident.place)]);
            check_marks([view.to_string()], &marks)
                .map_err(|_| Violation::new("5.1", "an administrator gets a text of the agent"))?;
            let identifiers = self.identifiers.get_mut();
            let text = compared(view, identifiers);
            self.report.administrators.push(text);
        }
        // A grant that ends where it is looked at is an entry of the agent's journal.
        let resident = &mut self.residents[who];
        let view = View::of(&resident.agent).await?;
        resident.reconcile(view, Between::Nothing, &[])
    }

    /// Time passes or jumps, and what it ends is ended.
    async fn time_passes(&mut self, dice: &mut Dice) -> Result<(), Violation> {
        *self.report.acts.entry("clock").or_default() += 1;
        let (acting, reading) = (self.any_node(dice), self.any_node(dice));
        let hours = |hours: u64| Duration::from_secs(3_600 * hours);
        match dice.roll(6) {
            0 => self.clock.advance(hours(1)),
            1 => self.clock.advance(hours(24 * (dice.roll(9) + 1))),
            2 => self.clock.put_back(hours(dice.roll(3) + 1)),
            3 => self.clock.put_forward(hours(dice.roll(30) + 1)),
            4 => self.clock.set_back(Duration::ZERO),
            _ => self.clock.advance(hours(7 * 24)),
        }
        self.go_to(acting);
        let memoir = &self.node().memoir;
        memoir.close_lapsed_sessions().await?;
        memoir.expire_access().await?;
        memoir.forget_words().await?;
        self.go_to(reading);
        for who in 0..self.residents.len() {
            let before = self.residents[who].view.clone();
            self.reconcile(who, (&Plan::Cancel, false), &before).await?;
        }
        Ok(())
    }

    /// Every node reads the texts of every agent as they are, and none of an erased one.
    async fn check_on_each_node(&mut self) -> Result<(), Violation> {
        for node in 0..self.nodes.len() {
            self.go_to(node);
            for resident in &mut self.residents {
                let view = View::of(&resident.agent).await?;
                resident.reconcile(view, Between::Nothing, &[])?;
            }
            self.check_erased().await?;
        }
        Ok(())
    }

    /// The whole installation, once all is over.
    async fn end(&mut self) -> Result<(), Violation> {
        self.clock.advance(Duration::from_secs(30 * 86_400));
        self.node().memoir.close_lapsed_sessions().await?;
        for who in 0..self.residents.len() {
            let before = self.residents[who].view.clone();
            self.reconcile(who, (&Plan::Cancel, false), &before).await?;
            let views = self.residents[who].agent.views();
            let page = views.session_page(None, 1_000).await?;
            for session in page {
                ensure!(!session.state.is_running(), "3.2", "a session stayed open");
                let is_known = self.residents[who].ended.contains(&session.id);
                ensure!(is_known, "3.16", "a session ended unnoticed");
            }
        }
        self.check_on_each_node().await?;
        let verified = self.node().memoir.verify_all().await?;
        let bad = verified.iter().filter(|one| !one.valid).count();
        ensure!(bad == 0, "4.2", "{bad} logs do not fit");
        let erased = verified.iter().filter(|one| one.erased_at.is_some());
        let erased = erased.count();
        ensure!(
            erased == self.erased.len(),
            "5.4",
            "{erased} agents are erased by their logs"
        );
        if let Some(folder) = &self.options.export {
            self.export(folder).await?;
        }
        let findings = self.storage.open().0.check().await;
        let findings = findings.map_err(Error::from)?;
        ensure!(findings.is_empty(), "6.1", "{findings:?}");
        Ok(())
    }

    async fn export(&self, folder: &Path) -> Result<(), Violation> {
        for resident in &self.residents {
            let mut file = Vec::new();
            let mut log = resident.agent.export_log().await?;
            while let Some(piece) = log.next().await? {
                file.extend_from_slice(&piece);
            }
            let (account, name) = (resident.account, resident.name);
            let path = folder.join(format!("{}-{account}-{name}.jsonl", self.options.seed));
            let is_written = std::fs::write(&path, file).is_ok();
            let path = path.display();
            ensure!(is_written, "4.2", "{path} cannot be written");
        }
        Ok(())
    }

    /// A session that the agent drives: opened, resumed, or continued.
    async fn own(
        &mut self,
        who: usize,
        player: Box<Player>,
        is_dedup_only: bool,
    ) -> Result<(), Failure> {
        let resident = &mut self.residents[who];
        let mut session = match resident.session.take() {
            Some(session) => session,
            None => {
                let agent = resident.agent.clone();
                let taken_up = agent.take_up_own().await?;
                let is_taken_up = taken_up.is_some();
                let opened = match taken_up {
                    Some(opened) => opened,
                    None => agent.open_own(mode(is_dedup_only)).await?,
                };
                let view = View::of(&resident.elsewhere).await?;
                let between = Between::Session {
                    undone: false,
                    is_off: false,
                };
                resident.reconcile(view, between, &[])?;
                OwnSession::new(opened, *player, &resident.view, is_taken_up)
            }
        };
        let made = session.go_on(resident).await;
        resident.session = Some(session);
        self.report.edits += made?;
        Ok(())
    }

    async fn perform(&mut self, who: usize, plan: &mut Plan) -> Result<(), Failure> {
        if let Plan::Own(player, is_dedup_only) = plan {
            let is_dedup_only = *is_dedup_only;
            return match player.take() {
                Some(player) => self.own(who, player, is_dedup_only).await,
                None => Ok(()),
            };
        }
        let resident = &self.residents[who];
        let agent = &resident.agent;
        match plan {
            Plan::Save(inputs, actor) => {
                let saved = agent.memories().save(inputs, actor).await?;
                for (input, saved) in inputs.iter().zip(&saved) {
                    let lens = resident.elsewhere.lens();
                    let seen = lens.memory(saved.memory.number).await?;
                    let is_there = seen.content() == input.content.expose().trim();
                    ensure!(is_there, "6.2", "an acknowledged save is missing");
                }
            }
            Plan::Look => self.look(resident).await?,
            Plan::Handle(number, handling, actor) => {
                agent.memories().handle(*number, *handling, actor).await?;
            }
            Plan::Configure(field, value, actor) => {
                let set = [(*field, Some(*value))];
                agent.settings().configure(&set, actor).await?;
            }
            Plan::Undo(id, cascade, actor) => {
                agent.sessions().roll_back(*id, *cascade, actor).await?;
            }
            Plan::Apply(id) => {
                let actor = resident.actor();
                agent.sessions().apply_rehearsal(*id, &actor).await?;
            }
            Plan::Cancel => {
                let page = agent.views().session_page(None, 1).await?;
                let running = page.iter().find(|session| session.state.is_running());
                if let Some(session) = running {
                    let actor = administrator();
                    agent.sessions().cancel(session.id, &actor).await?;
                }
            }
            Plan::Rewind(at) => {
                agent.log().rewind(*at, &administrator()).await?;
            }
            Plan::Shred(number, derived) => {
                let wish = ShredWish {
                    derived: *derived,
                    ..ShredWish::of(*number, "a slip")
                };
                agent.memories().shred(wish, &resident.actor()).await?;
            }
            Plan::Absorb(messages, answer) => {
                let (life, messages) = (agent.life(), messages.clone());
                life.hand_over(messages, true, ActorKind::Agent).await?;
                self.model
                    .set(Arc::new(ModelScript::always(Turn::text(answer))));
                let life = agent.life();
                life.absorb(std::future::pending(), &mut |_| {}).await?;
            }
            Plan::Reflect(entry, replaced) => {
                let promoted = entry.map(|number| match *replaced {
                    Some(replaced) => json!({"number": number, "replaces": [replaced]}),
                    None => json!(number),
                });
                let answer = json!({"promote": promoted.iter().collect::<Vec<_>>()});
                let answer = ModelScript::always(Turn::text(&answer.to_string()));
                self.model.set(Arc::new(answer));
                agent.life().reflect().await?;
            }
            Plan::Access(asking) => {
                let act = asking.go_on(resident).await?;
                *self.report.acts.entry(act).or_default() += 1;
            }
            Plan::Import(file, actor) => file.import(resident, actor).await?,
            Plan::UndoImport(actor) => undo_import(resident, actor).await?,
            Plan::Erase(actor) => {
                agent.log().erase(actor).await?;
                let is_read = View::of(agent).await.is_ok();
                ensure!(!is_read, "5.4", "an erased agent is read");
            }
            Plan::Refine {
                player,
                dice,
                is_dedup_only,
                rehearsal,
                meanwhile,
            } => {
                if let Some(player) = player.take() {
                    let script = player.driven(dice.clone());
                    let elsewhere = &resident.elsewhere;
                    let model: Arc<dyn Model> = match meanwhile.clone() {
                        Some(meanwhile) => {
                            Arc::new(Interrupted::new(script, meanwhile, elsewhere.clone()))
                        }
                        None => Arc::new(script),
                    };
                    self.model.set(model);
                }
                let options = RefineOptions {
                    mode: mode(*is_dedup_only),
                    rehearsal: *rehearsal,
                    ..RefineOptions::default()
                };
                let refined = agent.lens().refine(&options, &mut |_| {}).await;
                if let Some((_, Meanwhile::Call(_, was_obeyed))) = meanwhile {
                    let is_refused = !was_obeyed.load(Ordering::Relaxed);
                    ensure!(
                        is_refused,
                        "3.18",
                        "a driven session has tools for its agent"
                    );
                }
                refined?;
            }
            Plan::Own(..) => {}
        }
        Ok(())
    }

    /// Context and recall hold no text of another agent, and no text is another one in them.
    async fn look(&self, resident: &Resident) -> Result<(), Failure> {
        let lexicon = self.options.lexicon;
        let own = lexicon.mark(resident.place);
        // Of the erased ones too.
        let marks = (0..self.lives).map(|place| lexicon.mark(place));
        let marks: BTreeSet<String> = marks.filter(|mark| *mark != own).collect();
        let context = resident.agent.context(Some(700)).await?;
        check_marks([context.text.expose().to_owned()], &marks)?;
        let query = query(&format!("{own} spoke about the meadow"), 20);
        let found = resident.agent.lens().recall(&query).await?;
        let found = found.iter().map(|one| one.content().to_owned());
        check_marks(found, &marks)?;
        Ok(())
    }
}
