//! Memories as a list.

use std::fmt::Write;

use memoir_app::{Clock, ShownMemory, SystemClock};
use memoir_domain::{
    Timestamp,
    recall::{FoundAs, shown_dates},
};

use super::{TextTable, joined};
use crate::terminal::{self, safe, safe_lines};

/// Memories in the given order, one a row; on a terminal, texts keep their lines. Where texts may not be shown, rows have
/// numbers only.
pub(crate) fn list(memories: &[ShownMemory]) -> String {
    let dates = memories.iter().map(|memory| memory.created_at.date());
    rows(memories, &dates.collect::<Vec<_>>())
}

/// As [`list`], of memories that were found: their dates are to the minute where two of one day differ (SPEC 2.8).
pub(crate) fn found(memories: &[ShownMemory]) -> String {
    let times: Vec<Timestamp> = memories.iter().map(|memory| memory.created_at).collect();
    rows(memories, &shown_dates(&times))
}

/// The reason of each match: a line a memory.
pub(crate) fn explanations(memories: &[ShownMemory]) -> String {
    let mut text = String::new();
    for memory in memories {
        let Some(found) = memory.explanation() else {
            continue;
        };
        let terms = found.terms.iter().map(|term| {
            let (word, weight) = (safe(term.term.expose()), term.weight);
            match term.found {
                FoundAs::Word => format!("{word} {weight:.2}"),
                FoundAs::Meaning => format!("near in meaning {weight:.2}"),
                other => format!("{word} ({other}) {weight:.2}"),
            }
        });
        let (rank, score, terms) = (found.rank, found.score, joined(terms, ", "));
        let _ = write!(text, "{rank:>4}. {} {score:.2}: {terms}", memory.number);
        if let Some(corrected) = found.corrects {
            let _ = write!(text, " (seems to correct {corrected})");
        }
        text.push('\n');
    }
    text
}

fn rows(memories: &[ShownMemory], dates: &[String]) -> String {
    let now = SystemClock.now();
    let with_words = memories.iter().any(|memory| memory.words.is_some());
    let facts = ["number", "date", "kind", "tokens", "flags"];
    let words = with_words.then_some(["tags", "text"]);
    let headings = facts.into_iter().chain(words.into_iter().flatten());
    let text = match terminal::width() {
        Some(_) => safe_lines,
        None => safe,
    };
    let mut table = TextTable::new(headings).right([0, 3]);
    for (memory, date) in memories.iter().zip(dates) {
        let facts = [
            memory.number.to_string(),
            date.clone(),
            memory.kind.as_str().to_owned(),
            memory.tokens.to_string(),
            flags(memory, now),
        ];
        let words = with_words.then(|| [tags(memory), text(memory.content()).into_owned()]);
        table.row(facts.into_iter().chain(words.into_iter().flatten()));
    }
    table.to_string()
}

/// `constitutional`, `summary of 7`, `discarded`, `expired`, and an origin weaker than `agent` (SPEC 2.4). A discarded
/// memory is in no prompt, expired or not.
fn flags(memory: &ShownMemory, now: Timestamp) -> String {
    let is_discarded = memory.discarded_at.is_some();
    let has_expired = memory.fades_at.is_some_and(|at| at <= now);
    let mut flags = Vec::new();
    if memory.constitutional {
        flags.push("constitutional".to_owned());
    }
    if memory.is_summary {
        flags.push(match memory.sources.len() {
            0 => "summary".to_owned(),
            sources => format!("summary of {sources}"),
        });
    }
    if is_discarded {
        flags.push("discarded".to_owned());
    }
    if has_expired && !is_discarded {
        flags.push("expired".to_owned());
    }
    if memory.origin.weakness() > 0 {
        flags.push(memory.origin.as_str().to_owned());
    }
    match memory.replaced() {
        // Of a memory that was replaced, as recall found it (SPEC 2.8).
        Some(replaced) => flags.push(format!(
            "until {}, now {}",
            replaced.until.date(),
            replaced.now
        )),
        None => flags.extend(memory.under.map(|under| format!("under {under}"))),
    }
    flags.join(" ")
}

fn tags(memory: &ShownMemory) -> String {
    joined(memory.tags().map(safe), ", ")
}
