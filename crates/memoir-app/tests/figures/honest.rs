//! The sessions that an honest model needs to bring an agent into its budget: a script that follows the prompt and
//! understands no text. It removes duplicates first, then moves single events and other memories, the oldest first,
//! some of them under a summary of their first words.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::{Arc, Mutex},
};

use memoir_app::ShownMemory;
use memoir_domain::{
    ledger::{self, ParsedRow},
    memory::{Kind, tokens},
    origin::Origin,
    session::State,
};
use memoir_model::{ModelMessage, ModelRequest};
use memoir_testkit::Turn;
use serde_json::{Value, json};

use crate::{
    agents::{Data, Figure, Line, WEEK},
    careful, page, years,
};

const BUDGET: u64 = 5_000;
/// The memories of one call.
const MEMBERS: usize = 10;
/// By how many days a single event counts as older.
const EVENT_DAYS: i64 = 84;
/// By how many days a summary counts as younger than its first source.
const SUMMARY_DAYS: i64 = 120;
/// Words of each memory in a summary.
const WORDS: usize = 5;

/// The state of the script in a session.
#[derive(Default)]
pub struct Honest {
    rows: Vec<ParsedRow>,
    size: u64,
    budget: u64,
    /// Tokens that may leave before everything is undone.
    removable: u64,
    summaries: u64,
    edits_left: u64,
    /// Numbers that may not leave, or have left.
    passed: BTreeSet<u64>,
    /// The last call.
    sent: Option<(Vec<u64>, Option<String>)>,
    /// A call to repeat without its refused parts.
    again: Option<(Vec<u64>, Option<String>)>,
    edits: u32,
    /// Refusals of all sessions, by code.
    pub refused: BTreeMap<String, u32>,
}

impl Honest {
    /// A turn of the script, which remembers in `this`.
    pub fn turn(this: &Arc<Mutex<Self>>) -> Turn {
        let this = this.clone();
        Turn::respond(move |request| this.lock().unwrap().answer(request))
    }

    fn answer(&mut self, request: &ModelRequest) -> Turn {
        match request.messages.last() {
            Some(ModelMessage::User(prompt)) => self.begin(prompt.expose()),
            Some(ModelMessage::ToolResult { content, .. }) => {
                self.learn(&serde_json::from_str(content.expose()).unwrap());
            }
            _ => {}
        }
        let (tool, arguments) = self.call();
        Turn::call(tool, arguments)
    }

    /// The next call.
    pub fn call(&mut self) -> (&'static str, Value) {
        match self.next() {
            Some((ids, content)) => {
                self.sent = Some((ids.clone(), content.clone()));
                match content {
                    Some(content) => (
                        "consolidate_memories",
                        json!({"ids": ids, "content": content}),
                    ),
                    None => ("delete_memory", json!({"ids": ids})),
                }
            }
            None => ("complete_refinement", json!({"summary": "Tidied."})),
        }
    }

    /// Reads the prompt of a session.
    pub fn begin(&mut self, prompt: &str) {
        let number = |before: &str| {
            let rest = prompt.split_once(before).map_or("", |(_, rest)| rest);
            let end = rest.find(|letter: char| !letter.is_ascii_digit());
            rest[..end.unwrap_or(rest.len())].parse().unwrap_or(0)
        };
        *self = Self {
            rows: ledger::parse_rows(prompt),
            size: number("- Core size: "),
            budget: number("- Budget: "),
            removable: number("- Limit: if more than "),
            summaries: number("; they take "),
            edits_left: 10,
            refused: std::mem::take(&mut self.refused),
            ..Self::default()
        };
    }

    /// Reads the result of the last call.
    pub fn learn(&mut self, result: &Value) {
        let Some((ids, content)) = self.sent.take() else {
            return;
        };
        if result["type"] == "error" {
            let code = result["code"].as_str().unwrap();
            *self.refused.entry(code.to_owned()).or_default() += 1;
            let members: BTreeSet<u64> = crate::ages::numbers(&result["members"]);
            if !members.is_empty() {
                // Each of them may leave alone, or it would be marked: the newer half of them may leave together.
                let older = members.len().div_ceil(2);
                let kept: Vec<u64> = members.iter().copied().skip(older).collect();
                self.passed
                    .extend(members.iter().filter(|id| !kept.contains(id)));
                let rest: Vec<u64> = ids
                    .into_iter()
                    .filter(|id| !members.contains(id) || kept.contains(id))
                    .collect();
                self.again = (!rest.is_empty()).then_some((rest, None));
            } else if code == "unsupported" {
                // Without words that are in no source; otherwise without a summary.
                let added = result["added"].as_array().into_iter().flatten();
                let shorter = content.map(|content| {
                    added.fold(content, |text, word| {
                        text.replace(word.as_str().unwrap(), "")
                    })
                });
                self.again = Some((ids, shorter));
            } else if content.is_some() {
                self.again = Some((ids, None));
            } else {
                self.passed.extend(ids);
            }
            return;
        }
        self.passed.extend(ids);
        self.edits += 1;
        let figure = |name: &str| result[name].as_u64().unwrap_or(0);
        (self.size, self.removable) = (figure("core_tokens"), figure("removable_tokens"));
        self.edits_left = figure("edits_left");
        if content.is_some() {
            self.summaries += tokens(result["content"].as_str().unwrap_or(""));
        }
    }

    fn next(&mut self) -> Option<(Vec<u64>, Option<String>)> {
        if let Some(again) = self.again.take() {
            return Some(again);
        }
        if self.edits_left == 0 {
            return None;
        }
        let copies = self.copies();
        if !copies.is_empty() {
            return Some((copies, None));
        }
        if self.size <= self.budget * 92 / 100 || self.size <= self.budget && self.edits == 0 {
            return None;
        }
        let room = self.removable.min(self.size - self.budget * 9 / 10);
        self.movable(room)
    }

    /// Later copies of a text, ignoring case and the final punctuation.
    fn copies(&self) -> Vec<u64> {
        let key = |row: &ParsedRow| {
            let text = row.content.expose().to_lowercase();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            text.trim_end_matches(['.', '!']).to_owned()
        };
        let mut first: BTreeMap<String, u64> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| !row.summary) {
            let earliest = first.entry(key(row)).or_insert(row.number.0);
            *earliest = (*earliest).min(row.number.0);
        }
        let copies = self.open_rows().filter(|row| !row.summary && !row.stays);
        let copies = copies.filter(|row| first[&key(row)] != row.number.0);
        copies.map(|row| row.number.0).take(MEMBERS).collect()
    }

    /// Those that a session may move at all, and that were not tried yet.
    fn open_rows(&self) -> impl Iterator<Item = &ParsedRow> {
        self.rows.iter().filter(|row| {
            let is_bound = row.constitutional || row.immutable;
            !is_bound && !self.passed.contains(&row.number.0)
        })
    }

    /// The next ones to move, in at most `room` tokens: the oldest first, summaries too, and
    /// single events before others of their time.
    fn movable(&self, room: u64) -> Option<(Vec<u64>, Option<String>)> {
        let age = |row: &ParsedRow| {
            let date: jiff::civil::Date = row.date.parse().unwrap();
            let is_event = row.tags.iter().any(|tag| tag.expose() == "event");
            let later = match (row.summary, is_event) {
                (true, _) => SUMMARY_DAYS,
                (false, true) => -EVENT_DAYS,
                (false, false) => 0,
            };
            date.saturating_add(jiff::Span::new().days(later))
        };
        let mut rows: Vec<&ParsedRow> = self.open_rows().filter(|row| !row.stays).collect();
        // What is recorded before one that stays is close to the limit of its age: it goes only where nothing else can.
        let last = self
            .rows
            .iter()
            .filter(|row| row.stays)
            .map(|row| row.number)
            .max();
        let is_clear = |row: &&ParsedRow| row.summary || last.is_none_or(|last| row.number > last);
        if rows.iter().any(is_clear) {
            rows.retain(is_clear);
        }
        rows.sort_by_key(|row| (age(row), row.number));
        let (mut taken, mut left) = (Vec::new(), room);
        for row in rows {
            if taken.len() < MEMBERS && row.tokens <= left {
                left -= row.tokens;
                taken.push(row);
            }
        }
        if taken.is_empty() {
            return None;
        }
        // Every second call makes a summary, as far as there is room for it, of originals of one kind of origin.
        let external = taken
            .iter()
            .filter(|row| row.origin == Some(Origin::External));
        let is_of_one = [0, taken.len()].contains(&external.count());
        let is_summed_up = is_of_one && taken.len() > 1 && !taken.iter().any(|row| row.summary);
        let summary = (self.edits % 2 == 1 && is_summed_up).then(|| {
            let words = taken.iter().map(|row| first_words(row.content.expose()));
            words.collect::<Vec<_>>().join("; ")
        });
        let sum: u64 = taken.iter().map(|row| row.tokens).sum();
        let fits = |text: &String| {
            4 * tokens(text) <= 3 * sum && self.summaries + tokens(text) <= self.budget / 3
        };
        let ids = taken.iter().map(|row| row.number.0).collect();
        Some((ids, summary.filter(fits)))
    }
}

fn first_words(text: &str) -> String {
    let is_quote = |letter: &char| "'\"‘’“”«»„".contains(*letter);
    let words = text.split_whitespace().take(WORDS);
    let words = words.map(|word| word.trim_matches(|letter| is_quote(&letter)));
    words.collect::<Vec<_>>().join(" ")
}

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
