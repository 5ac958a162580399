//! The sessions that an honest model needs to bring an agent into its budget: a script that follows the prompt and
//! understands no text. It removes duplicates first, then moves single events and other memories, the oldest first,
//! some of them under a summary of their first words.

use std::{
    collections::BTreeSet,
    fmt::Write,
    sync::{Arc, Mutex},
};

use memoir_app::ShownMemory;
use memoir_domain::{memory::Kind, session::State};
use memoir_testkit::Honest;

use crate::{
    agents::{Data, Figure, Line, WEEK},
    careful, page, years,
};

const BUDGET: u64 = 5_000;
/// By how many days the copies of a round are younger.
const ROUND_DAYS: i64 = 340;

/// A varied copy: other numbers, a mark of its own, and a later date.
pub fn varied(line: &Line, round: u64) -> Line {
    if round == 0 {
        return line.clone();
    }
    let mut content = String::new();
    let mut digits = String::new();
    for letter in line.content.chars().chain(['\0']) {
        if letter.is_ascii_digit() && digits.len() < 6 {
            digits.push(letter);
            continue;
        }
        if let Ok(number) = std::mem::take(&mut digits).parse::<u64>() {
            write!(content, "{}", number + round).unwrap();
        }
        content.push(letter);
    }
    let content = format!("Round {round}: {}", content.trim_end_matches('\0'));
    let days = ROUND_DAYS * round as i64;
    Line {
        content,
        created_at: line.created_at.map(|at| at.plus_days(days)),
        is_constitutional: false,
        ..line.clone()
    }
}

/// All three sets side by side in the order of their dates, then varied copies of them.
pub fn endless() -> impl Iterator<Item = Line> {
    let mut all: Vec<Line> = [Data::Companion, Data::Coder, Data::Steward]
        .iter()
        .flat_map(|data| data.lines())
        .collect();
    all.sort_by_key(|line| line.created_at);
    (0..).flat_map(move |round| {
        let lines = all.clone();
        lines.into_iter().map(move |line| varied(&line, round))
    })
}

/// The first of them that have so many tokens together.
pub fn of_tokens(lines: impl Iterator<Item = Line>, wanted: u64) -> Vec<Line> {
    let mut sum = 0;
    lines
        .take_while(|line| {
            sum += line.tokens();
            sum <= wanted
        })
        .collect()
}

/// The results of the sessions of one agent.
struct Outcome {
    name: String,
    sizes: Vec<u64>,
    edits: u32,
    refused: u32,
    archived: u64,
    under_summaries: u64,
    summary_tokens: u64,
    /// Of each quarter of the memories, by tokens: how many are in the prompt.
    quarters: [(u64, u64); 4],
}

async fn refine(name: &str, lines: Vec<Line>) -> Outcome {
    let figure = Figure::begin(Data::Companion, lines, "archive", BUDGET).await;
    let honest = Arc::new(Mutex::new(Honest::default()));
    let (mut sizes, mut edits) = (vec![figure.core_tokens().await], 0);
    while *sizes.last().unwrap() > BUDGET && sizes.len() < 40 {
        figure.wren.clock.advance(WEEK);
        let session = figure.session(Honest::turn(&honest)).await.unwrap();
        assert_eq!(session.state, State::Completed, "{name}: {session:?}");
        edits += session.edits;
        sizes.push(figure.core_tokens().await);
    }
    let verified = figure.wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "{name}: {:?}", verified.first_bad);
    let originals = verified.originals.unwrap();
    assert_eq!(originals.lost, 0, "{name}");
    let all = figure.all().await;
    let active = || all.iter().filter(|memory| memory.discarded_at.is_none());
    let is_core = |memory: &&ShownMemory| memory.kind == Kind::Core;
    let summaries: BTreeSet<u64> = active()
        .filter(|memory| memory.is_summary)
        .map(|memory| memory.number.0)
        .collect();
    let is_under = |memory: &&ShownMemory| {
        memory
            .under
            .is_some_and(|under| summaries.contains(&under.0))
    };
    let core: BTreeSet<u64> = active().filter(is_core).map(|one| one.number.0).collect();
    let total: u64 = figure.first.iter().map(|(_, line)| line.tokens()).sum();
    let (mut quarters, mut sum) = ([(0, 0); 4], 0);
    for (number, line) in &figure.first {
        let quarter = &mut quarters[(4 * sum / total.max(1)).min(3) as usize];
        sum += line.tokens();
        quarter.1 += line.tokens();
        quarter.0 += if core.contains(number) {
            line.tokens()
        } else {
            0
        };
    }
    let refused = honest.lock().unwrap().refused.clone();
    println!("{name}: {sizes:?} {refused:?}");
    Outcome {
        name: name.to_owned(),
        sizes,
        edits,
        refused: refused.values().sum(),
        archived: originals.archived,
        under_summaries: active().filter(is_under).count() as u64,
        summary_tokens: active()
            .filter(|memory| memory.is_summary)
            .map(|memory| memory.tokens)
            .sum(),
        quarters,
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let mut table = String::from(
        "| agent | core size | sessions | edits | refusals | archived | under summaries | summaries | in the prompt, of the oldest quarter | second | third | newest |\n",
    );
    table.push_str(&"|---".repeat(12));
    table.push_str("|\n");
    for outcome in outcomes {
        let sizes = &outcome.sizes;
        let quarters = outcome.quarters.map(|(part, all)| page::percent(part, all));
        writeln!(
            table,
            "| {} | {} → {} | {} | {} | {} | {} | {} | {} tokens | {} |",
            outcome.name,
            page::grouped(sizes[0]),
            page::grouped(*sizes.last().unwrap()),
            sizes.len() - 1,
            outcome.edits,
            outcome.refused,
            outcome.archived,
            outcome.under_summaries,
            page::grouped(outcome.summary_tokens),
            quarters.join(" | "),
        )
        .unwrap();
    }
    table
}

/// The agents, and the most sessions that each may take.
fn agents() -> Vec<(&'static str, Vec<Line>, usize)> {
    let mut agents: Vec<_> = [Data::Companion, Data::Coder, Data::Steward]
        .into_iter()
        .map(|data| (data.as_str(), data.lines(), 3))
        .collect();
    for (name, tokens, sessions) in [
        ("all three, 12,000", 12_000, 5),
        ("varied, 33,000", 33_000, 15),
    ] {
        agents.push((name, of_tokens(endless(), tokens), sessions));
    }
    agents
}

const ABOUT: &str = "\
Each agent has a budget of 5,000 tokens. The three sets are those of `crates/memoir-app/tests/data`; the larger ones are \
all three side by side, with varied copies. The model is a script that understands no text: duplicates first, then the \
oldest memories, single events before others, some of them under a summary of their first words.
";

const YEARS: &str = "
An agent that begins without memories, saves so many tokens every week and has one session a week, for three years:
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_14_an_honest_model_keeps_an_agent_within_its_budget() {
    let years = tokio::task::spawn_blocking(years::made);
    let runs = agents().into_iter().map(|(name, lines, sessions)| {
        (
            tokio::spawn(async move { refine(name, lines).await }),
            sessions,
        )
    });
    let runs: Vec<_> = runs.collect();
    let mut outcomes = Vec::new();
    let mut most = Vec::new();
    for (run, sessions) in runs {
        outcomes.push(run.await.unwrap());
        most.push(sessions);
    }
    for (outcome, most) in outcomes.iter().zip(most) {
        assert!(
            outcome.sizes.len() - 1 <= most && *outcome.sizes.last().unwrap() <= BUDGET,
            "{}: {:?} (at most {most} sessions)",
            outcome.name,
            outcome.sizes
        );
    }
    let years = years.await.unwrap();
    let played = careful::played().await;
    let played = format!(
        "A careful model that had read only the prompts of the three agents made {} edits in {} sessions of these, with \
         {} refusals.\n",
        played.edits,
        played.sessions,
        played.refusals()
    );
    let made = format!("{ABOUT}\n{}\n{played}{YEARS}\n{years}", table(&outcomes));
    page::compare("honest", &made);
}
