//! Memories as a list.

use std::fmt::Write;

use memoir_app::{BlindMemoryView, MemoryView, SeenMemory};
use memoir_domain::{Timestamp, memory::Tags, wording::Origin};

use super::{
    Table,
    wrap::{cut, wrap},
};
use crate::terminal::{self, BOLD, CYAN, DIM, YELLOW, safe, safe_lines};

/// Memories in the order given. On a terminal each text stands under its numbers; for other programs
/// everything is in one row.
pub(crate) fn list(memories: &[MemoryView], now: Timestamp) -> String {
    match terminal::width() {
        Some(width) => paragraphs(memories, now, usize::from(width)),
        None => rows(memories, now),
    }
}

fn paragraphs(memories: &[MemoryView], now: Timestamp, width: usize) -> String {
    const INDENT: usize = 8;
    let mut text = String::new();
    for memory in memories {
        let number = memory.number.to_string();
        let flags = flags(
            memory.constitutional,
            memory.discarded_at.is_some(),
            memory.fades_at.is_some_and(|at| at <= now),
            memory.origin,
        );
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{BOLD}{number:>6}{BOLD:#}  {DIM}{}  {:<7}  {:>5} tokens{DIM:#}",
            memory.created_at.date(),
            memory.kind.as_str(),
            memory.tokens,
        );
        if !flags.is_empty() {
            let _ = write!(text, "  {YELLOW}{flags}{YELLOW:#}");
        }
        if !memory.tags.is_empty() {
            let _ = write!(text, "  {CYAN}[{}]{CYAN:#}", tags(&memory.tags));
        }
        text.push('\n');
        for line in wrap(
            &safe_lines(memory.content.expose()),
            width.saturating_sub(INDENT),
        ) {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
    }
    text
}

fn rows(memories: &[MemoryView], now: Timestamp) -> String {
    let mut table = Table::new(["number", "date", "kind", "tokens", "flags", "tags", "text"])
        .right(0)
        .right(3);
    for memory in memories {
        table.row([
            memory.number.to_string(),
            memory.created_at.date(),
            memory.kind.as_str().to_owned(),
            memory.tokens.to_string(),
            flags(
                memory.constitutional,
                memory.discarded_at.is_some(),
                memory.fades_at.is_some_and(|at| at <= now),
                memory.origin,
            ),
            tags(&memory.tags),
            safe(memory.content.expose()).into_owned(),
        ]);
    }
    table.to_string()
}

/// Memories as somebody else than the agent sees them: those with words, then those without.
pub(crate) fn seen(memories: &[SeenMemory], now: Timestamp) -> String {
    let (mut words, mut blind) = (Vec::new(), Vec::new());
    for memory in memories {
        match memory {
            SeenMemory::Words(memory) => words.push(memory.clone()),
            SeenMemory::Blind(memory) => blind.push(memory.clone()),
        }
    }
    match (words.is_empty(), blind.is_empty()) {
        (true, _) => without_words(&blind, now),
        (false, true) => list(&words, now),
        (false, false) => format!("{}\n{}", list(&words, now), without_words(&blind, now)),
    }
}

/// Memories as an administrator sees them, one a line.
fn without_words(memories: &[BlindMemoryView], now: Timestamp) -> String {
    let mut table = Table::new(["number", "date", "kind", "tokens", "flags"])
        .right(0)
        .right(3);
    for memory in memories {
        table.row([
            memory.number.to_string(),
            memory.created_at.date(),
            memory.kind.as_str().to_owned(),
            memory.tokens.to_string(),
            flags(
                memory.constitutional,
                memory.discarded_at.is_some(),
                memory.fades_at.is_some_and(|at| at <= now),
                memory.origin,
            ),
        ]);
    }
    table.to_string()
}

/// Memories one a line, their texts cut short.
pub(crate) fn brief(memories: &[&MemoryView]) -> String {
    /// What stands before the text.
    const NUMBERS: usize = 34;
    /// Where there is no terminal, lines are as on one of this width.
    const USUAL: u16 = 92;
    let columns = usize::from(terminal::width().unwrap_or(USUAL)).saturating_sub(NUMBERS);
    let mut table = Table::new(["number", "tokens", "flags", "text"])
        .right(0)
        .right(1);
    for memory in memories {
        table.row([
            memory.number.to_string(),
            memory.tokens.to_string(),
            flags(
                memory.constitutional,
                memory.discarded_at.is_some(),
                false,
                memory.origin,
            ),
            cut(&one_line(memory.content.expose()), columns.max(16)),
        ]);
    }
    table.to_string()
}

/// `constitutional`, `discarded` and `faded`, those that are, and an origin weaker than the agent's own word
/// (SPEC 2.4). What is discarded is in no prompt, faded or not.
fn flags(constitutional: bool, discarded: bool, faded: bool, origin: Origin) -> String {
    let flags = [
        (constitutional, "constitutional"),
        (discarded, "discarded"),
        (faded && !discarded, "faded"),
        (origin.weakness() > 0, origin.as_str()),
    ];
    let set: Vec<&str> = flags
        .into_iter()
        .filter_map(|(is_set, name)| is_set.then_some(name))
        .collect();
    set.join(" ")
}

fn tags(tags: &Tags) -> String {
    let tags: Vec<_> = tags.iter().map(safe).collect();
    tags.join(", ")
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    safe(&words.join(" ")).into_owned()
}
