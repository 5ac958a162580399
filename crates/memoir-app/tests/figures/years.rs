//! Three years of an agent that grows every week and refines itself once a week by the honest script: its core size,
//! and the share of new words in its prompt. Only the domain's decisions run: reading and writing between them has
//! tests of its own, and takes most of the time.

use std::{collections::BTreeMap, fmt::Write};

use memoir_domain::{
    AgentId, SessionId, Timestamp,
    agent::{Agent, Field},
    audit::{Actor, ActorKind},
    draft::Decision,
    ledger::LedgerRoom,
    lifecycle::{self, Start},
    manage::{self, Saving},
    memories::AllMemories,
    memory::{Kind, NewMemory, Number, Tags},
    origin::SavedBy,
    replace::Replacing,
    session::{Driver, Mode, Session, State, Trigger},
    text::Digester,
    tools::{self, CallOutcome, ToolRequest, ToolResult, View},
};
use memoir_testkit::Honest;
use serde_json::Value;

use crate::{agents::Line, honest::endless, page};

const BUDGET: &str = "5000";
const WEEKS: usize = 156;
/// From this week on each session ends within the budget.
const STEADY: usize = 12;
/// The weeks whose words are new.
const NEW: usize = 12;

/// An agent without a store.
struct Sim {
    agent: Agent,
    memories: AllMemories,
    now: Timestamp,
    honest: Honest,
    edits: u32,
}

impl Sim {
    fn new() -> Self {
        let now: Timestamp = "2026-01-05T04:00:00Z".parse().unwrap();
        let (id, settings) = (
            AgentId::from_bytes([1; 16]),
            [(Field::CoreTokenBudget, Some(BUDGET))],
        );
        let made = manage::create_agent(id, "wren", &settings, &Actor::owner(), now);
        Self {
            agent: made.unwrap().agent,
            memories: AllMemories::default(),
            now,
            honest: Honest::default(),
            edits: 0,
        }
    }

    fn apply(&mut self, decision: Decision) -> Option<Session> {
        self.memories.follow(&decision.changes);
        self.agent = decision.agent;
        decision.sessions.into_iter().next()
    }

    /// Saves as the agent, or of a weaker origin; the numbers.
    fn save(&mut self, lines: &[Line]) -> Vec<Number> {
        let savings = lines.iter().map(|line| {
            let own = SavedBy::of(ActorKind::Agent);
            let saved_by = SavedBy {
                origin: line.origin.unwrap_or(own.origin),
                ..own
            };
            Saving::from(NewMemory {
                tags: Tags::parse(line.tags.iter().map(String::as_str)).unwrap(),
                ..NewMemory::new(Kind::Core, line.content.as_str().into(), saved_by)
            })
        });
        let mut replacing = Replacing::new(AllMemories::default(), 0);
        let (agent, savings) = (self.agent.clone(), savings.collect());
        let actor = Actor::agent("wren");
        let (decision, saved) = manage::save(agent, savings, &mut replacing, &actor, self.now);
        self.apply(decision);
        saved.into_iter().map(|one| one.number).collect()
    }

    /// A session by the honest script.
    fn refine(&mut self, week: usize) {
        let actor = Actor::agent("wren");
        let mut id = [2; 16];
        id[..8].copy_from_slice(&(week as u64).to_le_bytes());
        let start = Start {
            id: SessionId::from_bytes(id),
            mode: Mode::Full,
            driver: Driver::Agent,
            trigger: Trigger::Request,
            rehearsal: false,
            model: None,
            lease: None,
            started_by: actor.clone(),
        };
        let begun = lifecycle::begin(self.agent.clone(), None, start, None, self.now).unwrap();
        let session = self.apply(begun).unwrap();
        let room = LedgerRoom {
            tokens: u64::MAX,
            near_duplicates: false,
            leaves_out_administrators: false,
        };
        let (agent, memories) = (self.agent.clone(), std::mem::take(&mut self.memories));
        let digester = Digester::new(&[3; 32]);
        let opened = lifecycle::open(agent, session, memories, &digester, room, None, self.now);
        self.honest.begin(opened.opened.prompt.user.expose());
        // They are in the state after the cleanup.
        (self.agent, self.memories) = (opened.decision.agent, opened.memories);
        let mut session = opened.decision.sessions.into_iter().next().unwrap();
        while session.state == State::Open {
            let (tool, arguments) = self.honest.call();
            let request = ToolRequest::read(tool, Some(&arguments));
            let view = View {
                agent: &self.agent,
                system_prompt: None,
                session: Some(&session),
                memories: &self.memories,
            };
            let result: ToolResult = match tools::decide(view, &request, &actor, self.now) {
                CallOutcome::Answer(result) => result,
                CallOutcome::Commit(decision, result) => {
                    session = self.apply(*decision).unwrap();
                    result
                }
                other => panic!("{other:?}"),
            };
            let result: Value = serde_json::from_str(result.for_model().expose()).unwrap();
            self.honest.learn(&result);
        }
        assert_eq!(session.state, State::Completed);
        self.edits += session.edits;
    }

    /// The tokens of these memories that are in the prompt, and of all of them.
    fn share<'a>(&self, of: impl Iterator<Item = &'a (Number, u64)>) -> (u64, u64) {
        of.fold((0, 0), |(part, all), (number, tokens)| {
            let memory = self.memories.get(*number);
            let own = if memory.is_some_and(|memory| memory.is_active_core()) {
                *tokens
            } else {
                0
            };
            (part + own, all + tokens)
        })
    }
}

struct Outcome {
    weekly: u64,
    sizes: Vec<u64>,
    /// Of the words of the last weeks those in the prompt, in thousandths, at each week's end of the third year.
    new: Vec<u64>,
    /// Of the words of the first weeks those in the prompt at the end.
    first: (u64, u64),
    archived: usize,
    edits: u32,
    refused: BTreeMap<String, u32>,
}

impl Outcome {
    fn average_new(&self) -> u64 {
        self.new.iter().sum::<u64>() / self.new.len() as u64
    }
}

fn live(weekly: u64) -> Outcome {
    let mut sim = Sim::new();
    // Without memories that no session may edit: a few of each round would fill the budget in three years.
    let mut lines = endless().filter(|line| !line.tags.iter().any(|tag| tag == "voice"));
    let (mut saved, mut sizes, mut new) =
        (Vec::<Vec<(Number, u64)>>::new(), Vec::new(), Vec::new());
    let mut total = 0;
    for week in 1..=WEEKS {
        sim.now = sim.now.plus_days(7);
        let mut of_week: Vec<Line> = Vec::new();
        while total < weekly * week as u64 {
            of_week.extend(lines.next());
            total += of_week.last().unwrap().tokens();
        }
        let numbers = sim.save(&of_week).into_iter();
        saved.push(numbers.zip(of_week.iter().map(Line::tokens)).collect());
        sim.refine(week);
        sizes.push(sim.agent.tally.core_tokens);
        if week > 2 * WEEKS / 3 {
            let (part, all) = sim.share(saved[week - NEW..].iter().flatten());
            new.push(1000 * part / all);
        }
    }
    let archived = sim
        .memories
        .iter()
        .filter(|memory| memory.is_active_archival());
    Outcome {
        weekly,
        sizes,
        new,
        first: sim.share(saved[..NEW].iter().flatten()),
        archived: archived.count(),
        edits: sim.edits,
        refused: sim.honest.refused,
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let mut table = String::from(
        "| new tokens a week | core size from week 12 on | in the prompt, of the last 12 weeks' words (third year) | at least | of the first 12 weeks' words, at the end | archived | edits | refusals |\n",
    );
    table.push_str(&"|---".repeat(8));
    table.push_str("|\n");
    for outcome in outcomes {
        let steady = &outcome.sizes[STEADY - 1..];
        let tenths = |thousandths: u64| format!("{}.{} %", thousandths / 10, thousandths % 10);
        writeln!(
            table,
            "| {} | {} to {} | {} | {} | {} | {} | {} | {} |",
            page::grouped(outcome.weekly),
            page::grouped(*steady.iter().min().unwrap()),
            page::grouped(*steady.iter().max().unwrap()),
            tenths(outcome.average_new()),
            tenths(*outcome.new.iter().min().unwrap()),
            page::percent(outcome.first.0, outcome.first.1),
            page::grouped(outcome.archived as u64),
            page::grouped(outcome.edits.into()),
            outcome.refused.values().sum::<u32>(),
        )
        .unwrap();
    }
    table
}

/// Three years of both agents, as a table. The bars are of SPEC 3.14: the budget at each session's end, and the least
/// share of the last weeks' words on average, in thousandths.
pub fn made() -> String {
    let (weekly, least) = ([460, 1_000], [150, 100]);
    let outcomes = std::thread::scope(|scope| {
        let runs = weekly.map(|weekly| scope.spawn(move || live(weekly)));
        runs.map(|run| run.join().unwrap())
    });
    let made = table(&outcomes);
    for (outcome, least) in outcomes.iter().zip(least) {
        let budget: u64 = BUDGET.parse().unwrap();
        let steady = &outcome.sizes[STEADY - 1..];
        assert!(
            steady.iter().all(|size| *size <= budget),
            "{steady:?}\n{made}"
        );
        assert!(outcome.average_new() >= least, "{:?}\n{made}", outcome.new);
    }
    made
}
