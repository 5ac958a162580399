//! The schedule (SPEC 3.1, 3.3): months of a clock that is moved by hand, with times for each agent computed on paper,
//! and the handling of agents that cannot be asked.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::{civil, tz::TimeZone};
use memoir_app::{
    Account, AgentFacts, AgentHandle, Clock, Error, Handling, InstallationSettings, Memoir,
    MemoryInput, Models,
    sessions::{RefineOptions, Scheduled, Scheduler},
};
use memoir_domain::{
    Timestamp,
    agent::{Field, LossGuard},
    lifecycle::{NothingToRefine, StartRefusal},
    memory::Number,
    schedule::{SkipReason, WeeklySlot},
    session::{FailureClass, Mode, State},
};
use memoir_model::{ConnectError, Model, ModelName, Providers};
use memoir_testkit::{
    ModelScript, TestClock, TestInstallation, Turn, input, intrude, journal, tagged,
};

use crate::installation::{
    TestAgent, agent_of, assert_ended, complete, configure_by, enqueue, handle_by, lens,
    new_folder, person, save_by, settings,
};

/// The interval of the schedule.
const STEP: Duration = Duration::from_secs(30 * 60);

/// A model for each agent, by the agent's name: those of agents whose name begins with `no` decline, those with
/// `broken` fail, all others consent and complete. Records who was asked when.
struct Voices {
    clock: Arc<TestClock>,
    asked: Arc<Mutex<Vec<(String, Timestamp)>>>,
}

impl Models for Voices {
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        let (clock, asked) = (self.clock.clone(), self.asked.clone());
        let agent = name.model().to_owned();
        let turn = Turn::respond(move |request| {
            if !request.tools.is_empty() {
                return complete();
            }
            asked.lock().unwrap().push((agent.clone(), clock.now()));
            if agent.starts_with("broken") {
                return Turn::Error(memoir_model::ModelError::BadAnswer {
                    what: "broken".to_owned(),
                    retryable: false,
                    hint: None,
                });
            }
            let declines = agent.starts_with("no");
            Turn::text(if declines { "No, let me be." } else { "YES" })
        });
        Ok(Arc::new(ModelScript::always(turn).with_name(name.clone())))
    }
}

struct Month {
    memoir: Memoir,
    account: Account,
    clock: Arc<TestClock>,
    asked: Arc<Mutex<Vec<(String, Timestamp)>>>,
    /// Of two processes on the same database.
    schedulers: [Scheduler; 2],
    texts: u64,
}

impl Month {
    /// With a slot on Sundays at 02:30 in Berlin, which is an hour that changes of clocks touch.
    async fn begin(start: &str) -> Self {
        let slot = WeeklySlot {
            weekday: civil::Weekday::Sunday,
            time: civil::time(2, 30, 0, 0),
            time_zone: TimeZone::get("Europe/Berlin").unwrap(),
        };
        Self::with(
            start,
            InstallationSettings {
                weekly_slot: slot,
                ..settings()
            },
        )
        .await
    }

    async fn with(start: &str, settings: InstallationSettings) -> Self {
        let clock = Arc::new(TestClock::standing_at(start));
        let asked: Arc<Mutex<Vec<_>>> = Arc::default();
        let voices = Voices {
            clock: clock.clone(),
            asked: asked.clone(),
        };
        let memoir = TestInstallation::in_memory()
            .with_clock(clock.clone())
            .with_models(Arc::new(voices))
            .with_settings(settings)
            .memoir;
        Self {
            account: memoir.account("default").await.unwrap(),
            schedulers: [0; 2].map(|_| Scheduler::new(memoir.clone(), 4)),
            memoir,
            clock,
            asked,
            texts: 0,
        }
    }

    /// An agent with a memory of so many tokens, 0 for none.
    async fn agent(&mut self, name: &str, tokens: u64) -> AgentHandle {
        let model = format!("voices:{name}");
        let model = [(Field::Model, Some(model.as_str()))];
        self.account
            .create_agent(name, &model, &person())
            .await
            .unwrap();
        self.remember(name, tokens).await;
        self.account.agent(name).await.unwrap()
    }

    async fn set(&self, name: &str, field: Field, value: &str) {
        let agent = self.account.agent(name).await.unwrap();
        let assignments = [(field, Some(value))];
        configure_by(&agent, &assignments, &person()).await;
    }

    /// Saves core memories of so many tokens together, all different. There are ten of them, so that a session could
    /// remove one, and the agent is asked.
    async fn remember(&mut self, name: &str, tokens: u64) {
        let each = tokens / 10;
        for part in 0..10 {
            let rest = if part == 0 { tokens % 10 } else { 0 };
            self.remember_one(name, each + rest).await;
        }
    }

    async fn remember_one(&mut self, name: &str, tokens: u64) {
        if tokens == 0 {
            return;
        }
        self.texts += 1;
        let width = usize::try_from(tokens * 4).unwrap();
        let content = format!("{:x<width$}", self.texts);
        let content = content.chars().take(width).collect::<String>();
        let input = input(&content);
        let agent = self.account.agent(name).await.unwrap();
        agent.memories().save(&[input], &person()).await.unwrap();
    }

    /// Runs the schedule every half hour up to that time, and each queued session immediately.
    async fn until(&mut self, time: &str) {
        let time: Timestamp = time.parse().unwrap();
        while self.clock.now() < time {
            self.clock.advance(STEP);
            self.look().await;
        }
        assert_eq!(self.clock.now(), time);
    }

    async fn look(&mut self) {
        loop {
            let mut queued = 0;
            for scheduler in &mut self.schedulers {
                queued += scheduler.queue_due().await.unwrap().queued;
            }
            if queued == 0 {
                return;
            }
            self.work().await;
        }
    }

    async fn work(&self) {
        for waiting in self.memoir.waiting_sessions(u32::MAX).await.unwrap() {
            let taken = self.memoir.acquire(waiting.scope, waiting.id);
            if let Some(taken) = taken.await.unwrap() {
                // On the heap: the futures of a whole session are large without optimisation.
                Box::pin(taken.drive(&mut |_| {})).await.unwrap();
            }
        }
    }

    /// Nothing runs up to that time.
    fn down_until(&mut self, time: &str) {
        let time: Timestamp = time.parse().unwrap();
        let seconds = time.seconds_since(self.clock.now());
        self.clock
            .advance(Duration::from_secs(u64::try_from(seconds).unwrap()));
        self.schedulers = [0; 2].map(|_| Scheduler::new(self.memoir.clone(), 4));
    }

    async fn shown(&self, name: &str) -> AgentFacts {
        let agent = self.account.agent(name).await.unwrap();
        agent.views().show().await.unwrap()
    }

    /// When the agent was asked, why, and how it ended. Agents are asked only in sessions.
    async fn of(&self, name: &str) -> Vec<String> {
        let agent = self.account.agent(name).await.unwrap();
        let mut sessions = lens(&agent).session_page(None, 1_000).await.unwrap();
        sessions.reverse();
        let asked = self.asked.lock().unwrap().clone();
        let asked = asked.into_iter().filter(|(agent, _)| agent == name);
        let times: Vec<Timestamp> = asked.map(|(_, at)| at).collect();
        let begun: Vec<Timestamp> = sessions.iter().map(|session| session.started_at).collect();
        assert_eq!(times, begun, "{name}");
        let told = |session: &memoir_app::ShownSession| {
            let at = session.started_at.to_string();
            let why = serde_json::to_value(session.trigger).unwrap();
            let (why, how) = (why.as_str().unwrap().to_owned(), session.state.as_str());
            format!(
                "{} {why} {how}",
                &at["2026-".len()..at.len() - ":00Z".len()]
            )
        };
        sessions.iter().map(told).collect()
    }

    #[track_caller]
    fn none_else_asked(&self, names: &[&str]) {
        let asked = self.asked.lock().unwrap();
        let asked: BTreeSet<&str> = asked.iter().map(|(agent, _)| agent.as_str()).collect();
        assert_eq!(asked, names.iter().copied().collect());
    }
}

#[tokio::test]
async fn spec_3_1_each_agent_is_asked_as_often_as_it_should_be_over_a_month() {
    let mut month = Month::begin("2026-09-30T12:00:00Z").await;
    for (name, tokens) in [
        ("steady", 50),
        ("no-thanks", 50),
        ("broken", 50),
        ("paused", 50),
        ("empty", 0),
        ("retired", 50),
        ("by-hand", 50),
        ("growing", 900),
        ("no-growing", 1_200),
    ] {
        month.agent(name, tokens).await;
    }
    for name in ["growing", "no-growing"] {
        month
            .set(name, Field::RefinementTriggerTokens, "1000")
            .await;
    }
    month.set("paused", Field::Paused, "true").await;
    month.set("retired", Field::Active, "false").await;
    let entry = journal("A day.");
    let empty = month.account.agent("empty").await.unwrap();
    empty.memories().save(&[entry], &person()).await.unwrap();

    // `no-growing` is over its trigger from the start, and was never asked: immediately, at 12:30.
    month.until("2026-09-30T18:00:00Z").await;
    // From 1200 to 1300 tokens: asked again, but not within 24 hours.
    month.remember("no-growing", 100).await;
    // The first slot: Sunday 4 October, 02:30 in Berlin, which is two hours ahead.
    month.until("2026-10-04T06:00:00Z").await;
    // From 1300 to 1400 tokens, 24 hours after the slot.
    month.remember("no-growing", 100).await;
    month.until("2026-10-06T09:00:00Z").await;
    // From 900 to 1100 tokens, and last asked more than a day ago: at 09:30.
    month.remember("growing", 200).await;
    month.until("2026-10-06T12:00:00Z").await;
    // 4.9 % more are not enough; a token more makes it 5 %, and then the day has to pass: 7 October.
    month.remember("growing", 54).await;
    month.until("2026-10-08T06:00:00Z").await;
    assert_eq!(
        month.of("growing").await.last().unwrap(),
        "10-06T09:30 budget completed"
    );
    month.remember("growing", 1).await;
    month.until("2026-10-09T20:00:00Z").await;

    // Down for two slots, those of 11 and 18 October. Meanwhile one agent grows, and another is started
    // by hand after the second slot.
    month.down_until("2026-10-12T12:00:00Z");
    month.remember("growing", 300).await;
    month.down_until("2026-10-18T10:00:00Z");
    let by_hand = month.account.agent("by-hand").await.unwrap();
    let options = RefineOptions::default();
    lens(&by_hand).refine(&options, &mut |_| {}).await.unwrap();
    month.down_until("2026-10-19T07:30:00Z");
    month.until("2026-10-20T12:00:00Z").await;

    // A new agent has missed no slot; one whose pause ends has.
    month.agent("late", 50).await;
    month.until("2026-10-21T12:00:00Z").await;
    month.set("paused", Field::Paused, "false").await;
    // On Sunday 25 October there are two 02:30 in Berlin. Then it is one hour ahead.
    month.until("2026-11-04T12:00:00Z").await;

    let weekly = |how: &str| {
        ["10-04T00:30", "10-19T08:00", "10-25T00:30", "11-01T01:30"]
            .map(|at| format!("{at} weekly {how}"))
    };
    assert_eq!(month.of("steady").await, weekly("completed"));
    assert_eq!(month.of("no-thanks").await, weekly("declined"));
    // Tried again after 1, 4 and 12 hours each time (SPEC 3.16).
    let broken = [
        ("10-04", ["00:30", "01:30", "05:30", "17:30"]),
        ("10-19", ["08:00", "09:00", "13:00", "10-20T01:00"]),
        ("10-25", ["00:30", "01:30", "05:30", "17:30"]),
        ("11-01", ["01:30", "02:30", "06:30", "18:30"]),
    ];
    let broken: Vec<String> = broken
        .into_iter()
        .flat_map(|(day, times)| times.map(|time| (day, time)))
        .map(|(day, time)| match time.contains('T') {
            true => format!("{time} weekly failed"),
            false => format!("{day}T{time} weekly failed"),
        })
        .collect();
    assert_eq!(month.of("broken").await, broken);
    assert_eq!(
        month.of("paused").await,
        [
            "10-21T12:30 weekly completed",
            "10-25T00:30 weekly completed",
            "11-01T01:30 weekly completed",
        ]
    );
    assert_eq!(
        month.of("late").await,
        [
            "10-25T00:30 weekly completed",
            "11-01T01:30 weekly completed",
        ]
    );
    assert_eq!(
        month.of("by-hand").await,
        [
            "10-04T00:30 weekly completed",
            "10-18T10:00 request completed",
            "10-25T00:30 weekly completed",
            "11-01T01:30 weekly completed",
        ]
    );
    assert_eq!(
        month.of("growing").await,
        [
            "10-04T00:30 weekly completed",
            "10-06T09:30 budget completed",
            "10-08T06:30 budget completed",
            "10-19T08:00 budget completed",
            "10-25T00:30 weekly completed",
            "11-01T01:30 weekly completed",
        ]
    );
    assert_eq!(
        month.of("no-growing").await,
        [
            "09-30T12:30 budget declined",
            "10-01T12:30 budget declined",
            "10-04T00:30 weekly declined",
            "10-05T00:30 budget declined",
            "10-19T08:00 weekly declined",
            "10-25T00:30 weekly declined",
            "11-01T01:30 weekly declined",
        ]
    );
    month.none_else_asked(&[
        "steady",
        "no-thanks",
        "broken",
        "paused",
        "late",
        "by-hand",
        "growing",
        "no-growing",
    ]);
}

#[tokio::test]
async fn spec_3_1_a_slot_that_the_change_of_clocks_skips_comes_after_the_gap() {
    let mut month = Month::begin("2026-03-20T12:00:00Z").await;
    month.agent("steady", 50).await;
    // On Sunday 29 March there is no 02:30 in Berlin: at 01:00 in UTC it is 03:00 there.
    month.until("2026-04-06T12:00:00Z").await;
    assert_eq!(
        month.of("steady").await,
        [
            "03-22T01:30 weekly completed",
            "03-29T01:30 weekly completed",
            "04-05T00:30 weekly completed",
        ]
    );
}

/// A month with agents that are due since Monday.
async fn due_month(agents: u64) -> Month {
    let mut month = Month::with("2026-03-04T12:00:00Z", settings()).await;
    for number in 0..agents {
        month.agent(&format!("agent-{number:02}"), 50).await;
    }
    month.down_until("2026-03-09T12:00:00Z");
    month
}

#[tokio::test]
async fn spec_3_1_due_agents_of_an_account_do_not_fill_the_queue() {
    let month = due_month(20).await;
    let mut scheduler = Scheduler::new(month.memoir.clone(), 3);
    let waiting = async || month.memoir.waiting_sessions(100).await.unwrap().len();
    let full = Scheduled {
        queued: 3,
        is_more: true,
    };
    assert_eq!(scheduler.queue_due().await.unwrap(), full);
    let none = Scheduled { queued: 0, ..full };
    assert_eq!(scheduler.queue_due().await.unwrap(), none);
    assert_eq!(waiting().await, 3);
    // A second process adds none to them.
    let mut other = Scheduler::new(month.memoir.clone(), 3);
    assert_eq!(other.queue_due().await.unwrap(), none);
    let mut sessions = 3;
    while waiting().await > 0 {
        month.work().await;
        sessions += scheduler.queue_due().await.unwrap().queued;
    }
    assert_eq!(sessions, 20);
    assert_eq!(month.asked.lock().unwrap().len(), 20);
    let done = Scheduled::default();
    assert_eq!(scheduler.queue_due().await.unwrap(), done);
}

#[tokio::test]
async fn spec_3_1_an_agent_without_a_model_is_not_asked_and_delays_no_other() {
    let mut month = due_month(0).await;
    let at_first = month.clock.now();
    for name in ["bare-1", "bare-2", "bare-3"] {
        month.agent(name, 50).await;
        let agent = month.account.agent(name).await.unwrap();
        let none = [(Field::Model, None)];
        agent.settings().configure(&none, &person()).await.unwrap();
    }
    month.agent("spoken", 50).await;
    month.clock.advance(Duration::from_secs(8 * 86_400));
    let records = async |name: &str| {
        let agent = month.account.agent(name).await.unwrap();
        let query = memoir_app::RecordFilter::default();
        lens(&agent).records(&query).await.unwrap().len()
    };
    let before = records("bare-1").await;
    // One place only: agents that cannot be asked come first.
    let mut scheduler = Scheduler::new(month.memoir.clone(), 1);
    let mut queued = 0;
    for _ in 0..5 {
        queued += scheduler.queue_due().await.unwrap().queued;
    }
    assert_eq!(queued, 1);
    month.work().await;
    month.none_else_asked(&["spoken"]);
    assert_eq!(records("bare-1").await, before);
    assert_eq!(scheduler.queue_due().await.unwrap().queued, 0);
    // With a model it is asked at the next read.
    month.set("bare-2", Field::Model, "voices:bare-2").await;
    month.clock.advance(Duration::from_secs(601));
    let mut queued = 0;
    for _ in 0..5 {
        queued += scheduler.queue_due().await.unwrap().queued;
    }
    assert_eq!(queued, 1);
    month.work().await;
    month.none_else_asked(&["spoken", "bare-2"]);
    assert!(at_first < month.clock.now());
}

/// So many that one of them could be archived: the agent is asked.
fn four_memories() -> [MemoryInput; 4] {
    ["A memory.", "A matter.", "A manner.", "A mirror."].map(input)
}

/// An agent under `archive` whose core memories are all protected from edits, and one under `refuse` without
/// duplicates: neither is asked, however large it is.
#[tokio::test]
async fn spec_3_5_the_schedule_does_not_ask_an_agent_with_nothing_to_refine() {
    let mut month = Month::with("2026-03-04T12:00:00Z", settings()).await;
    month.agent("steady", 50).await;
    month.agent("vowed", 50).await;
    month.agent("sung", 0).await;
    month.agent("strict", 50).await;
    month.set("strict", Field::LossGuard, "refuse").await;
    month.set("strict", Field::CoreTokenBudget, "1000").await;
    month.remember("strict", 1_500).await;
    let vowed = month.account.agent("vowed").await.unwrap();
    for number in 1..=10 {
        handle_by(&vowed, Number(number), Handling::Protect, &person()).await;
    }
    let sung = month.account.agent("sung").await.unwrap();
    let tagged = tagged("A song, note for note.", &["Audio"]);
    sung.memories().save(&[tagged], &person()).await.unwrap();
    let silent = ["vowed", "sung", "strict"];
    let records = async |month: &Month, name: &str| {
        let agent = month.account.agent(name).await.unwrap();
        let query = memoir_app::RecordFilter::default();
        let lens = lens(&agent);
        (
            lens.records(&query).await.unwrap().len(),
            lens.session_page(None, 10).await.unwrap().len(),
        )
    };
    let mut before = Vec::new();
    for name in silent {
        before.push(records(&month, name).await);
    }
    month.until("2026-03-17T12:00:00Z").await;
    month.none_else_asked(&["steady"]);
    // Nor does the doctor count them as due, or their places in the queue as taken.
    let found = month.memoir.examine(&month.account).await.unwrap();
    let schedule = found.iter().find(|one| one.area == "schedule").unwrap();
    assert!(
        schedule.finding.starts_with("nothing is due"),
        "{}",
        schedule.finding
    );
    for (name, (count, sessions)) in silent.into_iter().zip(before) {
        assert_eq!(records(&month, name).await, (count, sessions), "{name}");
        assert_eq!(sessions, 0);
        // The agent's view has the reason, and the core size alone decides whether it needs a session (SPEC 3.1).
        let shown = month.shown(name).await;
        assert_eq!(
            shown.next_refinement_reason,
            Some(SkipReason::NothingToRefine),
            "{name}"
        );
        assert_eq!(
            (shown.next_refinement_at, shown.refinement_due),
            (None, None)
        );
        assert_eq!(shown.needs_refinement, name == "strict");
    }
    // Once there is an edit to make, it is asked at the next slot.
    for name in silent {
        month.remember_one(name, 50).await;
    }
    let strict = month.account.agent("strict").await.unwrap();
    let copy = input(lens(&strict).memory(Number(1)).await.unwrap().content());
    strict.memories().save(&[copy], &person()).await.unwrap();
    for name in silent {
        let shown = month.shown(name).await;
        assert_eq!(shown.next_refinement_reason, None, "{name}");
    }
    month.until("2026-03-24T12:00:00Z").await;
    // A slot had passed since the last attempt, so they were asked as soon as there was an edit to make.
    for name in ["vowed", "sung"] {
        assert_eq!(
            month.of(name).await,
            [
                "03-17T12:30 weekly completed",
                "03-23T04:00 weekly completed"
            ]
        );
    }
    // Its duplicate was joined, and there was nothing to refine again.
    assert_eq!(month.of("strict").await.len(), 1);
}

/// The default model is a setting of the installation: no record of the agent shows that it changed.
#[tokio::test]
async fn spec_3_1_what_one_default_model_could_not_refine_is_judged_again_under_another() {
    let under = |model: &str| InstallationSettings {
        default_model: Some(model.parse().unwrap()),
        ..settings()
    };
    let queue = async |memoir: &Memoir| {
        let mut scheduler = Scheduler::new(memoir.clone(), 4);
        scheduler.queue_due().await.unwrap().queued
    };
    let clock = Arc::new(TestClock::standing_at("2026-03-01T12:00:00Z"));
    let careful = TestInstallation::in_memory()
        .with_clock(clock.clone())
        .with_settings(under("builtin:careful"));
    let account = careful.memoir.account("default").await.unwrap();
    account.create_agent("ann", &[], &person()).await.unwrap();
    let ann = account.agent("ann").await.unwrap();
    save_by(&ann, &four_memories(), &person()).await;
    clock.advance(Duration::from_secs(8 * 86_400));
    assert_eq!(queue(&careful.memoir).await, 0, "it has no duplicates");
    let scripted = careful.with_settings(under("scripted:model"));
    assert_eq!(queue(&scripted.memoir).await, 0, "that was an attempt");
    clock.advance(Duration::from_secs(7 * 86_400));
    assert_eq!(queue(&scripted.memoir).await, 1);
}

/// "Next session 18:03" of an agent that the schedule never asks is false.
#[tokio::test]
async fn spec_3_1_the_schedule_of_an_installation_is_off_for_every_agent() {
    let off = InstallationSettings {
        schedule: false,
        ..settings()
    };
    let mut month = Month::with("2026-03-01T12:00:00Z", off).await;
    let agent = month.agent("ann", 50).await;
    let next = async || {
        let shown = agent.views().show().await.unwrap();
        (shown.next_refinement_at, shown.next_refinement_reason)
    };
    assert_eq!(next().await, (None, Some(SkipReason::ScheduleOff)));
    month.set("ann", Field::Paused, "true").await;
    assert_eq!(next().await, (None, Some(SkipReason::Paused)));
}

#[tokio::test]
async fn spec_3_16_a_session_of_the_schedule_without_its_models_key_fails_on_the_record() {
    let clock = Arc::new(TestClock::standing_at("2026-03-01T12:00:00Z"));
    let keyless = Providers::with_environment(BTreeMap::new(), |_| None).unwrap();
    let memoir = TestInstallation::in_memory()
        .with_clock(clock.clone())
        .with_models(Arc::new(keyless))
        .memoir;
    let account = memoir.account("default").await.unwrap();
    let model = [(Field::Model, Some("openai:gpt-5"))];
    account
        .create_agent("ann", &model, &person())
        .await
        .unwrap();
    let agent = account.agent("ann").await.unwrap();
    let input = input("One");
    agent.memories().save(&[input], &person()).await.unwrap();
    clock.advance(Duration::from_secs(8 * 86_400));
    let mut scheduler = Scheduler::new(memoir.clone(), 4);
    assert_eq!(scheduler.queue_due().await.unwrap().queued, 1);
    let id = memoir.waiting_sessions(1).await.unwrap()[0].id;
    assert!(memoir.acquire(agent.scope(), id).await.unwrap().is_none());
    let session = agent.views().session(id).await.unwrap();
    assert_eq!(
        (session.state, session.failure),
        (State::Failed, Some(FailureClass::KeyRefused))
    );
    // A user who asks for one is told at once.
    let refused = agent.sessions().enqueue(&RefineOptions::default()).await;
    assert!(matches!(refused, Err(Error::Connect(_))), "{refused:?}");
    let next = agent.views().show().await.unwrap().next_refinement_at;
    assert_eq!(
        next,
        Some(clock.now().plus_seconds(60 * 60)),
        "it is retried"
    );
}

#[tokio::test]
async fn spec_3_5_a_start_with_nothing_to_refine_is_refused_with_the_reason() {
    let cases = [
        (
            LossGuard::Archive,
            Mode::Full,
            false,
            NothingToRefine::NoCoreMemories,
        ),
        (
            LossGuard::Archive,
            Mode::Full,
            true,
            NothingToRefine::AllProtected,
        ),
        (
            LossGuard::Refuse,
            Mode::Full,
            false,
            NothingToRefine::NoDuplicates,
        ),
        (
            LossGuard::Archive,
            Mode::DedupOnly,
            false,
            NothingToRefine::NoDuplicates,
        ),
        (
            LossGuard::Off,
            Mode::DedupOnly,
            false,
            NothingToRefine::NoDuplicates,
        ),
    ];
    for (guard, mode, is_protected, expected) in cases {
        let wren = TestAgent::new(&[]).await;
        let guard = [(Field::LossGuard, Some(guard.as_str()))];
        wren.configure(&guard).await;
        if expected != NothingToRefine::NoCoreMemories {
            for text in ["Tea in the morning.", "Rain in the evening."] {
                let number = Number(wren.remember(text).await);
                if is_protected {
                    wren.handle(number, Handling::Protect).await;
                }
            }
        }
        let options = RefineOptions {
            mode,
            ..RefineOptions::default()
        };
        let log = wren.actions().await;
        let script = wren.script([Turn::text("YES"), complete()]);
        for refused in [
            wren.agent.open_own(mode).await.err(),
            wren.agent.rehearse_own(mode).await.err(),
            wren.agent.sessions().enqueue(&options).await.err(),
            wren.seen().refine(&options, &mut |_| {}).await.err(),
        ] {
            let refused = refused.unwrap();
            assert_eq!(refused.code(), "nothing_to_refine");
            let Error::Start(StartRefusal::NothingToRefine(reason)) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(reason, expected);
        }
        assert_eq!(script.requests().len(), 0, "no model is asked");
        assert_eq!(wren.actions().await, log);
        assert!(wren.seen().session_page(None, 9).await.unwrap().is_empty());
        // Under `off`, a full session may rewrite what is constitutional in form and everything else in any words.
        if mode == Mode::DedupOnly {
            // A duplicate is something to do.
            wren.remember("Tea in the morning.").await;
            wren.agent.open_own(mode).await.unwrap();
        }
    }
}

#[tokio::test]
async fn spec_3_1_one_whose_row_was_changed_is_skipped_and_delays_no_other() {
    let folder = new_folder();
    let names = ["wren", "kite", "robin"];
    let wren = TestAgent::of(&folder.open()).await;
    for name in &names {
        let agent = agent_of(&wren.memoir, name).await;
        save_by(&agent, &four_memories(), &person()).await;
    }
    folder.clock.advance(Duration::from_secs(7 * 86_400));
    // Tampered to look due for longer; and one with an unreadable row.
    intrude(&folder.database(), |connection| {
        let sql = "UPDATE agents SET weekly_after = 0 WHERE name = ?1";
        connection.execute(sql, ["wren"]).unwrap();
        let sql = "UPDATE agents SET open = 'damaged', weekly_after = 1 WHERE name = ?1";
        connection.execute(sql, ["kite"]).unwrap();
    });
    let mut scheduler = Scheduler::new(wren.memoir.clone(), 1);
    let mut queued = 0;
    for _ in 0..4 {
        queued += scheduler.queue_due().await.unwrap().queued;
    }
    assert_eq!(queued, 1);
    let waiting = wren.memoir.waiting_sessions(9).await.unwrap();
    let robin = agent_of(&wren.memoir, "robin").await;
    assert_eq!(waiting[0].scope, robin.scope());
}

#[tokio::test]
async fn spec_3_2_of_many_schedulers_at_once_exactly_one_begins_a_session() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.save(&four_memories()).await;
    folder.clock.advance(Duration::from_secs(7 * 86_400));
    let schedulers: Vec<_> = (0..8)
        .map(|_| {
            let memoir = folder.open().memoir;
            tokio::spawn(async move {
                let scheduled = Scheduler::new(memoir, 4).queue_due().await.unwrap();
                scheduled.queued
            })
        })
        .collect();
    let mut queued = 0;
    for scheduler in schedulers {
        queued += scheduler.await.unwrap();
    }
    assert_eq!(queued, 1);
    assert_eq!(wren.seen().session_page(None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn spec_3_1_one_that_is_paused_while_it_waits_is_not_asked() {
    let mut month = due_month(2).await;
    month.schedulers[0].queue_due().await.unwrap();
    month.set("agent-01", Field::Paused, "true").await;
    month.work().await;
    month.none_else_asked(&["agent-00"]);
    let agent = month.account.agent("agent-01").await.unwrap();
    let session = lens(&agent).session_page(None, 1).await.unwrap().remove(0);
    assert_ended(&session, State::Abandoned, "cancelled");
    // An administrator's request is effective, paused or not.
    enqueue(&agent, &RefineOptions::default()).await;
    month.work().await;
    month.none_else_asked(&["agent-00", "agent-01"]);
}

#[tokio::test]
async fn what_has_been_due_for_more_than_a_day_is_told() {
    let month = due_month(2).await;
    let told = async || {
        let found = month.memoir.examine(&month.account).await.unwrap();
        let schedule = found.into_iter().filter(|found| found.area == "schedule");
        schedule.map(|found| found.finding).collect::<Vec<_>>()
    };
    let due = "2 of 2 agents due for a session";
    assert_eq!(told().await, [due]);
    month.clock.advance(Duration::from_secs(86_400));
    let overdue = "2 agents have been due for more than a day";
    assert_eq!(told().await, [due, overdue]);
    // An agent whose session waits for a worker is not due.
    let mut scheduler = Scheduler::new(month.memoir.clone(), 4);
    scheduler.queue_due().await.unwrap();
    let none =
        "nothing is due; agents are asked every Monday 04:00 UTC, and reflect daily at 03:00";
    assert_eq!(told().await, [none]);
}
