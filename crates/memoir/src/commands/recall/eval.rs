//! `memoir recall --eval`: of how many questions the answer is recalled, or stands in a prompt.
//!
//! Each place where a memory can reach a model is a row: among the first ones recalled, in a context of a size, and in
//! front of the model of a session of Claude Code, whose texts are those of its hooks.

use std::{collections::BTreeSet, fs, path::Path};

use memoir_app::{ContextRequest, OwnAgent};
use memoir_domain::{
    PrivateText,
    memory::tokens,
    recall::{RECALL_LIMIT, RecallQuery},
};
use serde::{Deserialize, Serialize};

use crate::{
    failure::{Failure, Outcome},
    hook::{
        Client,
        measured::{self, MeasuredStart},
    },
    options::Global,
    output, parse,
    show::{TextTable, counted, percent, thousands},
};

/// The sizes to measure.
#[derive(Debug, clap::Args)]
pub(super) struct EvalSizes {
    /// With `--eval`: among how many of the first memories recalled
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "eval", conflicts_with = "query", default_values_t = [1, 5, 10, 20, 50],
        value_parser = parse::whole_number::<u64>(1..=RECALL_LIMIT as u64))]
    first: Vec<u64>,
    /// With `--eval`: in contexts of at most how many tokens
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "eval", conflicts_with = "query", default_values_t = [500, 1_000, 2_000, 4_000, 8_000],
        value_parser = parse::whole_number::<u64>(..))]
    tokens: Vec<u64>,
}

/// One question of a file, and the numbers of the memories that answer it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelledQuestion {
    query: PrivateText,
    numbers: BTreeSet<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Recalled,
    Context,
    /// In the text of the start of a session of Claude Code.
    Start,
    /// In that text, or beside the session's first prompt.
    StartAndPrompt,
}

#[derive(Debug, PartialEq, Serialize)]
struct EvalRow {
    place: Place,
    /// Memories recalled, or most tokens of the context; null for a whole context, and where the program sets it.
    size: Option<u64>,
    /// The mean of the tokens in it: of memories recalled their own, of the others those of the text.
    tokens: u64,
    /// The share of the questions of which any memory is there.
    any: f64,
    /// The share of the questions of which each memory is there.
    all: f64,
}

/// The quality of recall and of prompts on questions whose answers are known.
#[derive(Debug, PartialEq, Serialize)]
struct Evaluation {
    questions: u64,
    sizes: Vec<EvalRow>,
}

struct Reached {
    tokens: u64,
    any: bool,
    all: bool,
}

impl Reached {
    fn new(expected: &BTreeSet<u64>, shown: &BTreeSet<u64>, tokens: u64) -> Self {
        Self {
            tokens,
            any: !expected.is_disjoint(shown),
            all: expected.is_subset(shown),
        }
    }
}

impl EvalRow {
    fn of(place: Place, size: Option<u64>, reached: &[Reached]) -> Self {
        // `max(1)` avoids a division by zero: without questions the shares are 0.
        let questions = reached.len().max(1) as f64;
        let share = |is_in: fn(&Reached) -> bool| {
            reached.iter().filter(|one| is_in(one)).count() as f64 / questions
        };
        let tokens: u64 = reached.iter().map(|one| one.tokens).sum();
        Self {
            place,
            size,
            tokens: tokens.div_ceil(questions as u64),
            any: share(|one| one.any),
            all: share(|one| one.all),
        }
    }

    fn name(&self) -> String {
        match (self.place, self.size) {
            (Place::Recalled, size) => format!("first {} recalled", size.unwrap_or_default()),
            (Place::Context, Some(size)) => format!("context of {} tokens", thousands(size)),
            (Place::Context, None) => "whole context".to_owned(),
            (Place::Start, _) => "Claude Code: start".to_owned(),
            (Place::StartAndPrompt, _) => "Claude Code: start and prompt".to_owned(),
        }
    }
}

impl Evaluation {
    fn in_words(&self) -> String {
        let headings = ["in front of the model", "tokens", "any", "all"];
        let mut table = TextTable::new(headings).right(1..=3);
        for row in &self.sizes {
            table.row([
                row.name(),
                thousands(row.tokens),
                percent(row.any),
                percent(row.all),
            ]);
        }
        let questions = counted(self.questions, "question", "questions");
        format!("{questions}\n\n{table}")
    }
}

/// Prints the table, or the same as JSON. The model reads nothing of it, and nothing of it is noted.
pub(super) async fn run(
    global: &Global,
    agent: &OwnAgent,
    narrowed: &RecallQuery,
    sizes: &EvalSizes,
    file: &Path,
) -> Outcome {
    let questions = questions(file)?;
    let mut rows = recalled(agent, narrowed, &questions, &sizes.first).await?;
    let bounds = sizes.tokens.iter().copied().map(Some).chain([None]);
    for max_tokens in bounds {
        rows.push(context(agent, &questions, max_tokens).await?);
    }
    rows.extend(in_front(agent, &questions).await?);
    let evaluation = Evaluation {
        questions: questions.len() as u64,
        sizes: rows,
    };
    output::show(global.json, &evaluation, || evaluation.in_words())
}

fn questions(file: &Path) -> Result<Vec<LabelledQuestion>, Failure> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::file("read the questions", file, &error))?;
    let lines = text.lines().zip(1..);
    let lines = lines.filter(|(line, _)| !line.trim().is_empty());
    let question = |(line, at): (&str, u64)| {
        // The parser's message may quote the line.
        let question = serde_json::from_str(line).ok();
        let question = question.filter(|question: &LabelledQuestion| !question.numbers.is_empty());
        question.ok_or_else(|| {
            Failure::new(format!(
                "`{}`, line {at}: is no object of `query`, a text, and `numbers`, a list of one number or more",
                file.display()
            ))
        })
    };
    lines.map(question).collect()
}

/// A row for each number of first memories recalled.
async fn recalled(
    agent: &OwnAgent,
    narrowed: &RecallQuery,
    questions: &[LabelledQuestion],
    sizes: &[u64],
) -> Result<Vec<EvalRow>, Failure> {
    let mut reached: Vec<Vec<Reached>> = sizes.iter().map(|_| Vec::new()).collect();
    for question in questions {
        let query = RecallQuery {
            text: question.query.clone(),
            limit: RECALL_LIMIT,
            ..narrowed.clone()
        };
        let found = agent.lens().recall_page(&query, None, false).await?.found;
        let numbers: Vec<(u64, u64)> = found
            .iter()
            .map(|(_, memory)| (memory.number.0, memory.tokens))
            .collect();
        for (size, reached) in sizes.iter().zip(&mut reached) {
            let first = numbers.iter().zip(0..*size);
            let (shown, tokens): (BTreeSet<u64>, Vec<u64>) = first.map(|(one, _)| *one).unzip();
            let tokens = tokens.iter().sum();
            reached.push(Reached::new(&question.numbers, &shown, tokens));
        }
    }
    let rows = sizes.iter().zip(&reached);
    let rows = rows.map(|(size, reached)| EvalRow::of(Place::Recalled, Some(*size), reached));
    Ok(rows.collect())
}

/// The row of a context of at most so many tokens, as [`OwnAgent::context`] gives it.
async fn context(
    agent: &OwnAgent,
    questions: &[LabelledQuestion],
    max_tokens: Option<u64>,
) -> Result<EvalRow, Failure> {
    let request = ContextRequest {
        max_tokens,
        explain: true,
        ..ContextRequest::default()
    };
    let context = agent.measured_context(&request).await?;
    let (shown, size) = (measured::shown(&context), tokens(context.text.expose()));
    let reached = questions
        .iter()
        .map(|question| Reached::new(&question.numbers, &shown, size));
    let reached: Vec<Reached> = reached.collect();
    Ok(EvalRow::of(Place::Context, max_tokens, &reached))
}

/// The rows of a session of Claude Code whose first prompt is the question.
async fn in_front(
    agent: &OwnAgent,
    questions: &[LabelledQuestion],
) -> Result<[EvalRow; 2], Failure> {
    let start = MeasuredStart::of(Client::ClaudeCode, agent).await?;
    let (mut at_start, mut with_prompt) = (Vec::new(), Vec::new());
    for LabelledQuestion { query, numbers } in questions {
        at_start.push(Reached::new(numbers, &start.shown, start.tokens));
        let (shown, tokens) = start.prompt(agent, query).await?;
        let shown = start.shown.union(&shown).copied().collect();
        with_prompt.push(Reached::new(numbers, &shown, start.tokens + tokens));
    }
    Ok([
        EvalRow::of(Place::Start, None, &at_start),
        EvalRow::of(Place::StartAndPrompt, None, &with_prompt),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_2_8_a_row_has_the_shares_of_the_questions_and_the_mean_of_the_tokens() {
        let set = |numbers: &[u64]| numbers.iter().copied().collect::<BTreeSet<u64>>();
        let shown = set(&[1, 2]);
        let reached: Vec<Reached> = [set(&[1]), set(&[2, 3]), set(&[3]), set(&[1, 2])]
            .iter()
            .zip([10, 20, 30, 41])
            .map(|(expected, tokens)| Reached::new(expected, &shown, tokens))
            .collect();
        let row = EvalRow::of(Place::Context, Some(2_000), &reached);
        assert_eq!((row.any, row.all, row.tokens), (0.75, 0.5, 26));
        let evaluation = Evaluation {
            questions: 4,
            sizes: vec![row],
        };
        assert_eq!(
            anstream::adapter::strip_str(&evaluation.in_words()).to_string(),
            "4 questions\n\n\
             in front of the model    tokens  any  all\n\
             context of 2,000 tokens      26  75%  50%\n"
        );
        let none = EvalRow::of(Place::Recalled, Some(1), &[]);
        assert_eq!((none.any, none.tokens), (0.0, 0));
    }
}
