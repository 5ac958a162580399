//! Whole installations in one process, by a seed: the use cases of `memoir-app`, two or three times as so many nodes
//! over one store, in memory, on a disk or on PostgreSQL. The seed gives the clock, identifiers, models and faults.
//! Agents live, administrators act, honest and hostile models refine, nodes are killed amid a session or cut off from the
//! store. After each step all that the specification promises is checked as far as it is cheap, by any node; at each
//! session's end the log is verified and replayed.
//!
//! Every step draws from numbers of its own, so that a run without some of its steps does the others as before: a
//! failing seed shrinks to few steps, and one line repeats it.

mod asking;
mod beside;
mod foreign;
mod interrupted;
mod lexicon;
mod plan;
mod player;
mod process;
mod resident;
mod session;
mod transcript;
mod view;
mod world;

use std::{collections::BTreeMap, collections::BTreeSet, fmt, path::PathBuf};

pub use lexicon::Lexicon;
pub use process::Falsification;

/// Where the rows of a run lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreKind {
    /// The embedded store, in memory.
    #[default]
    Memory,
    /// The embedded store, on a disk.
    Sqlite,
    /// A PostgreSQL of this process.
    Postgres,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What it is made of.
    pub seed: u64,
    /// How many steps it has.
    pub steps: u64,
    /// The steps that are done; `None` for all of them.
    pub only: Option<BTreeSet<u64>>,
    /// Where its rows lie.
    pub store: StoreKind,
    /// The words of its agents.
    pub lexicon: Lexicon,
    /// Whether it notes what administrators get.
    pub notes_administrators: bool,
    /// Where the logs of its agents are written at its end, a file each; `None` for nowhere.
    pub export: Option<PathBuf>,
    /// What its store does wrong; `None` for a store that is right.
    pub falsification: Option<Falsification>,
}

impl Options {
    /// That seed with so many steps, in memory.
    pub fn new(seed: u64, steps: u64) -> Self {
        Self {
            seed,
            steps,
            only: None,
            store: StoreKind::default(),
            lexicon: Lexicon::First,
            notes_administrators: false,
            export: None,
            falsification: None,
        }
    }
}

/// The line that repeats the run.
impl fmt::Display for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "memoir-sim --seed {} --steps {}",
            self.seed, self.steps
        )?;
        if let Some(only) = &self.only {
            let only: Vec<String> = only.iter().map(u64::to_string).collect();
            write!(formatter, " --only {}", only.join(","))?;
        }
        match self.store {
            StoreKind::Memory => Ok(()),
            StoreKind::Sqlite => formatter.write_str(" --store sqlite"),
            StoreKind::Postgres => formatter.write_str(" --store postgres"),
        }
    }
}

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The step at which it was noticed.
    pub step: u64,
    /// The section of the specification, or the name of the invariant.
    pub rule: &'static str,
    /// Numbers and codes, never text of an agent.
    pub detail: String,
}

impl Violation {
    pub(crate) fn new(rule: &'static str, detail: impl Into<String>) -> Self {
        Self {
            step: 0,
            rule,
            detail: detail.into(),
        }
    }
}

/// An error of reading, which nothing explains while the store is right.
impl From<memoir_app::Error> for Violation {
    fn from(error: memoir_app::Error) -> Self {
        Self::new("internal", format!("{}: {error}", error.code()))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "at step {}, {}: {}",
            self.step, self.rule, self.detail
        )
    }
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps.
    pub steps: u64,
    /// Sessions by their ends.
    pub sessions: BTreeMap<&'static str, u64>,
    /// Those of them that had the loss guard `off`.
    pub off: u64,
    /// Acts by their names.
    pub acts: BTreeMap<&'static str, u64>,
    /// Processes that were killed.
    pub kills: u64,
    /// Steps that one process did and another one read.
    pub read_elsewhere: u64,
    /// Agents that were erased.
    pub erased: u64,
    /// Edits of sessions that succeeded, where the agent drove the session.
    pub edits: u64,
    /// Refusals of acts, by code.
    pub refused: BTreeMap<&'static str, u64>,
    /// What administrators got at each session's end; empty unless it is noted.
    pub administrators: Vec<String>,
}

impl Report {
    /// All sessions.
    pub fn session_count(&self) -> u64 {
        self.sessions.values().sum()
    }

    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.kills += other.kills;
        self.off += other.off;
        self.erased += other.erased;
        self.read_elsewhere += other.read_elsewhere;
        self.edits += other.edits;
        for (all, more) in [
            (&mut self.sessions, &other.sessions),
            (&mut self.acts, &other.acts),
            (&mut self.refused, &other.refused),
        ] {
            for (name, count) in more {
                *all.entry(name).or_default() += count;
            }
        }
    }
}

/// Runs it to its end, or to the first rule that does not hold.
///
/// # Errors
/// The rule.
///
/// # Panics
/// The installation cannot be made.
pub async fn run(options: &Options) -> (Report, Result<(), Violation>) {
    let mut world = world::World::begin(options.clone()).await;
    let outcome = world.live().await;
    (world.report, outcome)
}

/// Runs a seed twice, in words of one shape that differ, and compares all that administrators get, byte for byte
/// (SPEC 5.1).
///
/// # Errors
/// A rule that does not hold in one of them, or the first place where they differ.
pub async fn run_twins(options: &Options) -> (Report, Result<(), Violation>) {
    let of = |lexicon| Options {
        lexicon,
        notes_administrators: true,
        ..options.clone()
    };
    let (mut report, outcome) = run(&of(Lexicon::First)).await;
    if outcome.is_err() {
        return (report, outcome);
    }
    let (other, outcome) = run(&of(Lexicon::Second)).await;
    let pairs = report.administrators.iter().zip(&other.administrators);
    let first = pairs.clone().position(|(one, other)| one != other);
    let outcome = outcome.and_then(|()| match first {
        Some(place) => Err(Violation {
            step: options.steps.saturating_sub(1),
            rule: "5.1",
            detail: transcript::difference(
                &report.administrators[place],
                &other.administrators[place],
            ),
        }),
        None if report.administrators.len() != other.administrators.len() => Err(Violation {
            step: options.steps.saturating_sub(1),
            rule: "5.1",
            detail: "another number of sessions".to_owned(),
        }),
        None => Ok(()),
    });
    report.add(&other);
    (report, outcome)
}

/// The fewest steps of a failing run that still break the same rule, found in at most so many runs.
///
/// # Panics
/// As [`run`].
pub async fn shrink(options: &Options, violation: &Violation, runs: usize) -> Options {
    let mut steps: Vec<u64> = match &options.only {
        Some(only) => only.iter().copied().collect(),
        None => (0..options.steps).collect(),
    };
    steps.retain(|step| *step <= violation.step);
    let smaller = |steps: &[u64]| Options {
        steps: violation.step + 1,
        only: Some(steps.iter().copied().collect()),
        ..options.clone()
    };
    let (mut left, mut size) = (runs, steps.len().div_ceil(2));
    while size > 0 && left > 0 {
        let mut place = 0;
        while place < steps.len() && left > 0 {
            let end = (place + size).min(steps.len());
            let fewer = [&steps[..place], &steps[end..]].concat();
            left -= 1;
            let (_, outcome) = run(&smaller(&fewer)).await;
            match outcome {
                Err(found) if found.rule == violation.rule => steps = fewer,
                _ => place = end,
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    smaller(&steps)
}
