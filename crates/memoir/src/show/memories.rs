//! Memories as a list.

use std::fmt::Write;

use anstyle::Style;
use memoir_app::ShownMemory;
use memoir_domain::{
    Timestamp,
    recall::{FoundAs, shown_dates},
};
use unicode_width::UnicodeWidthStr;

use super::{
    TextTable, joined,
    wrap::{cut, wrap},
};
use crate::terminal::{self, BOLD, CYAN, DIM, YELLOW, safe, safe_lines};

/// Memories in the given order. On a terminal each text is below its number; for other programs each memory is one row.
/// Where texts may not be shown, rows have numbers only.
pub(crate) fn list(memories: &[ShownMemory], now: Timestamp) -> String {
    let dates = memories.iter().map(|memory| memory.created_at.date());
    listed(memories, &dates.collect::<Vec<_>>(), now)
}

/// As [`list`], of memories that were found: their dates are to the minute where two of one day differ (SPEC 2.8).
pub(crate) fn found(memories: &[ShownMemory], now: Timestamp) -> String {
    let times: Vec<Timestamp> = memories.iter().map(|memory| memory.created_at).collect();
    listed(memories, &shown_dates(&times), now)
}

fn listed(memories: &[ShownMemory], dates: &[String], now: Timestamp) -> String {
    let with_words = memories.iter().any(|memory| memory.words.is_some());
    match terminal::width().filter(|_| with_words) {
        Some(width) => paragraphs(memories, dates, now, usize::from(width)),
        None => rows(memories, dates, now, with_words),
    }
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

fn paragraphs(memories: &[ShownMemory], dates: &[String], now: Timestamp, width: usize) -> String {
    // The indentation has room for `#`, a number of five digits and the gap of two.
    const INDENT: usize = 8;
    let mut text = String::new();
    for (memory, date) in memories.iter().zip(dates) {
        let number = memory.number.to_string();
        let facts = format!(
            "{date}  {:<8}  {:>5} tokens",
            memory.kind.as_str(),
            memory.tokens,
        );
        let _ = write!(text, "{BOLD}{number:>6}{BOLD:#}  {DIM}{facts}{DIM:#}");
        let tags = match tags(memory) {
            tags if tags.is_empty() => tags,
            tags => format!("[{tags}]"),
        };
        let marks = [(flags(memory, Some(now)), YELLOW), (tags, CYAN)];
        text.push_str(&beside(INDENT + facts.width(), &marks, INDENT, width));
        text.push('\n');
        for line in wrap(&safe_lines(memory.content()), width.saturating_sub(INDENT)) {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
    }
    text
}

/// The marks behind so many columns of a line, or on lines of their own where there is no room.
fn beside(mut taken: usize, marks: &[(String, Style)], indent: usize, width: usize) -> String {
    const GAP: usize = 2;
    let mut text = String::new();
    for (mark, style) in marks {
        for mark in wrap(mark, width.saturating_sub(indent)) {
            if mark.is_empty() {
                continue;
            }
            match taken + GAP + mark.width() <= width {
                true => taken += GAP,
                false => {
                    text.push('\n');
                    taken = indent;
                }
            }
            let gap = if taken == indent { indent } else { GAP };
            let _ = write!(text, "{:gap$}{style}{mark}{style:#}", "");
            taken += mark.width();
        }
    }
    text
}

fn rows(memories: &[ShownMemory], dates: &[String], now: Timestamp, with_words: bool) -> String {
    let facts = ["number", "date", "kind", "tokens", "flags"];
    let words = with_words.then_some(["tags", "text"]);
    let headings = facts.into_iter().chain(words.into_iter().flatten());
    let mut table = TextTable::new(headings).right([0, 3]);
    for (memory, date) in memories.iter().zip(dates) {
        let facts = [
            memory.number.to_string(),
            date.clone(),
            memory.kind.as_str().to_owned(),
            memory.tokens.to_string(),
            flags(memory, Some(now)),
        ];
        let words = with_words.then(|| [tags(memory), safe(memory.content()).into_owned()]);
        table.row(facts.into_iter().chain(words.into_iter().flatten()));
    }
    table.to_string()
}

/// Memories one a line, their texts truncated.
pub(crate) fn brief(memories: &[&ShownMemory]) -> String {
    /// The columns before the text.
    const NUMBERS: usize = 34;
    /// The width without a terminal.
    const USUAL: u16 = 92;
    let columns = usize::from(terminal::width().unwrap_or(USUAL)).saturating_sub(NUMBERS);
    let mut table = TextTable::new(["number", "tokens", "flags", "text"]).right([0, 1]);
    for memory in memories {
        table.row([
            memory.number.to_string(),
            memory.tokens.to_string(),
            flags(memory, None),
            // Even in a narrow terminal 16 columns of each text are shown.
            cut(&one_line(memory.content()), columns.max(16)),
        ]);
    }
    table.to_string()
}

/// `constitutional`, `summary of 7`, `discarded` and, at a time, `expired`, and an origin weaker than `agent` (SPEC
/// 2.4). A discarded memory is in no prompt, expired or not.
fn flags(memory: &ShownMemory, now: Option<Timestamp>) -> String {
    let is_discarded = memory.discarded_at.is_some();
    let has_expired = memory.fades_at.zip(now).is_some_and(|(at, now)| at <= now);
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

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    safe(&words.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_beside_the_numbers_stands_below() {
        let plain = Style::new();
        let marks = [
            ("constitutional import".to_owned(), plain),
            ("[bindery thread]".to_owned(), plain),
        ];
        let at = |width| beside(41, &marks, 8, width);
        assert_eq!(at(80), "  constitutional import\n        [bindery thread]");
        assert_eq!(at(90), "  constitutional import  [bindery thread]");
        assert_eq!(at(50), "\n        constitutional import  [bindery thread]");
        let below = "\n        constitutional import\n        [bindery thread]";
        assert_eq!(at(40), below);
        assert_eq!(beside(41, &[(String::new(), plain)], 8, 80), "");
    }
}
