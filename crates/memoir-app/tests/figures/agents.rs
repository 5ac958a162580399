//! The agents of the figures: the one of `memoir demo`, and those of `tests/data`, in installations of their own with a
//! real store in memory.

use std::{sync::Arc, time::Duration};

use memoir_app::{
    Error, Handling, MemoryInput, RecordFilter, ShownMemory, ShownRecord, ShownSession,
    sessions::RefineOptions,
};
use memoir_domain::{
    Timestamp,
    agent::Field,
    audit::Actor,
    lifecycle::StartRefusal,
    memory::{Kind, Number, tokens},
    origin::Origin,
};
use memoir_testkit::{ModelScript, TestClock, TestInstallation, Turn};
use serde_json::{Value, json};

use crate::installation::{TestAgent, own, person, settings};

pub const WEEK: Duration = Duration::from_secs(7 * 86_400);
/// Behind all dates of the files.
const NOW: &str = "2026-11-04T12:00:00Z";
/// Most model responses of a session.
const ANSWERS: usize = 40;

/// One memory of a file.
#[derive(Clone)]
pub struct Line {
    pub content: String,
    pub tags: Vec<String>,
    pub created_at: Option<Timestamp>,
    pub origin: Option<Origin>,
    pub is_constitutional: bool,
}

impl Line {
    pub fn tokens(&self) -> u64 {
        tokens(self.content.trim())
    }

    pub fn input(&self) -> MemoryInput {
        MemoryInput {
            content: self.content.as_str().into(),
            tags: self.tags.iter().map(|tag| tag.as_str().into()).collect(),
            created_at: self.created_at,
            origin: self.origin,
            ..MemoryInput::default()
        }
    }

    fn of(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).unwrap();
        let tags = line["tags"].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let is_core = text(&line["kind"]).is_none_or(|kind| kind == "core");
        let days_ago = line["days_ago"].as_f64().map(|days| {
            let now: Timestamp = NOW.parse().unwrap();
            now.plus_seconds(-(days * 86_400.0) as i64)
        });
        is_core.then(|| Self {
            content: text(&line["content"]).unwrap(),
            tags: tags.map(|tag| text(tag).unwrap()).collect(),
            created_at: text(&line["created_at"])
                .map(|at| at.parse().unwrap())
                .or(days_ago),
            origin: text(&line["origin"]).map(|origin| Origin::from_name(&origin).unwrap()),
            is_constitutional: line["constitutional"] == json!(true),
        })
    }
}

/// A set of memories.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Data {
    /// The core memories of `memoir demo`: 2,100 tokens.
    Demo,
    Companion,
    Coder,
    Steward,
}

impl Data {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Companion => "companion",
            Self::Coder => "coder",
            Self::Steward => "steward",
        }
    }

    /// Its memories, in the order of the file.
    pub fn lines(self) -> Vec<Line> {
        let text = match self {
            Self::Demo => include_str!("../../../memoir/demo/memories.jsonl"),
            Self::Companion => include_str!("../data/companion.jsonl"),
            Self::Coder => include_str!("../data/coder.jsonl"),
            Self::Steward => include_str!("../data/steward.jsonl"),
        };
        text.lines().filter_map(Line::of).collect()
    }

    /// The first memory of each is its agent's description of itself.
    fn system_prompt(self) -> String {
        self.lines().swap_remove(0).content
    }
}

/// An agent in an installation of its own, whose first memories have the numbers from 1 on.
pub struct Figure {
    pub wren: TestAgent,
    /// Its initial texts, by number.
    pub first: Vec<(u64, Line)>,
    pub budget: u64,
}

impl Figure {
    /// With these memories, saved by itself in their order.
    pub async fn begin(data: Data, lines: Vec<Line>, guard: &str, budget: u64) -> Self {
        let clock = TestClock::standing_at(NOW);
        let installation = TestInstallation::in_memory()
            .with_clock(clock)
            .with_settings(settings());
        let account = installation.account("default").await;
        let (prompt, tokens) = (data.system_prompt(), budget.to_string());
        // All at the beginning: a later change would take a number for the entry that reports it.
        let assignments = [
            (Field::Model, Some("scripted:model")),
            (Field::LossGuard, Some(guard)),
            (Field::CoreTokenBudget, Some(tokens.as_str())),
            (Field::SystemPrompt, Some(prompt.as_str())),
            // No script reads the pairs of similar memories, and finding them takes longer than the rest of a session.
            (Field::NearDuplicates, Some("false")),
        ];
        let agent = memoir_testkit::agent(&account, data.as_str(), &assignments).await;
        let wren = TestAgent {
            agent: own(&agent),
            installation,
        };
        let mut figure = Self {
            wren,
            first: Vec::new(),
            budget,
        };
        let inputs: Vec<MemoryInput> = lines.iter().map(Line::input).collect();
        let numbers = figure.save(&inputs).await;
        figure.first = numbers.into_iter().zip(lines).collect();
        for (number, line) in &figure.first {
            if line.is_constitutional {
                let (agent, person) = (&figure.wren.agent, person());
                let protecting =
                    agent
                        .memories()
                        .handle(Number(*number), Handling::Protect, &person);
                protecting.await.unwrap();
            }
        }
        figure
    }

    /// Saves as the agent itself.
    pub async fn save(&self, inputs: &[MemoryInput]) -> Vec<u64> {
        let saved = self
            .wren
            .agent
            .memories()
            .save(inputs, &Actor::agent("wren"))
            .await;
        let saved = saved.unwrap().into_iter();
        saved.map(|one| one.memory.number.0).collect()
    }

    /// A session in which the model consents and then gives these responses; `None` where it would be empty.
    pub async fn session(&self, answer: Turn) -> Option<ShownSession> {
        let turns = vec![answer; ANSWERS];
        let script = ModelScript::new(std::iter::once(Turn::text("YES")).chain(turns));
        self.wren.model.set(Arc::new(script));
        let options = RefineOptions::default();
        let lens = self.wren.seen();
        match lens.refine(&options, &mut |_| {}).await {
            Ok(session) => Some(session),
            Err(Error::Start(StartRefusal::NothingToRefine(_))) => None,
            Err(other) => panic!("{other}"),
        }
    }

    pub async fn core_tokens(&self) -> u64 {
        self.wren
            .agent
            .views()
            .show()
            .await
            .unwrap()
            .counts
            .core_tokens
    }

    /// All memories, discarded ones too.
    pub async fn all(&self) -> Vec<ShownMemory> {
        self.wren.seen().memories(true).await.unwrap()
    }

    pub async fn core(&self) -> Vec<ShownMemory> {
        let mut memories = self.wren.seen().memories(false).await.unwrap();
        memories.retain(|memory| memory.kind == Kind::Core);
        memories
    }

    pub async fn records(&self) -> Vec<ShownRecord> {
        let lens = self.wren.seen();
        lens.records(&RecordFilter::default()).await.unwrap()
    }
}
