//! The history of memories, as a tree: each memory with its events, and below it the memories that it was merged from.

use std::{collections::BTreeSet, fmt::Write};

use memoir_domain::{
    PrivateText,
    history::{EventMeaning, MemoryEvent, MemoryHistory, MemoryStory},
    memory::Number,
};

use super::{diff::diff, moment, numbers, records::actor};
use crate::terminal::{BOLD, DIM, YELLOW};

/// Deeper trees are drawn at this depth: their lines would be indentation only.
const DEEPEST: usize = 24;

struct DrawnMemory {
    number: Number,
    /// The prefix of each of its lines.
    indent: String,
    depth: usize,
    /// `None` at the top.
    is_last: Option<bool>,
}

/// The memory `only`, or every memory that was not merged into another one, each with its ancestors.
pub(crate) fn tree(history: &MemoryHistory, only: Option<Number>) -> String {
    let is_root = |number: Number, story: &MemoryStory| match only {
        Some(only) => number == only,
        None => story.went_into.is_empty(),
    };
    let mut waiting: Vec<DrawnMemory> = history
        .memories
        .iter()
        .filter(|(number, story)| is_root(**number, story))
        .map(|(number, _)| DrawnMemory {
            number: *number,
            indent: String::new(),
            depth: 0,
            is_last: None,
        })
        .collect();
    waiting.reverse();
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    // No recursion: a chain of merges can be as long as the log.
    while let Some(node) = waiting.pop() {
        let Some(story) = history.memories.get(&node.number) else {
            continue;
        };
        if node.is_last.is_none() && !text.is_empty() {
            text.push('\n');
        }
        let is_new = seen.insert(node.number);
        let below = draw(&mut text, &node, story, is_new);
        if is_new {
            waiting.extend(children(&node, story, &below));
        }
    }
    text
}

/// The memories that it was merged from, the first one on top of the stack.
fn children(node: &DrawnMemory, story: &MemoryStory, indent: &str) -> Vec<DrawnMemory> {
    let mut from: Vec<Number> = story.parents.clone();
    from.extend(&story.duplicates);
    let last = from.len().saturating_sub(1);
    let child = |(place, number)| DrawnMemory {
        number,
        indent: indent.to_owned(),
        depth: node.depth + 1,
        is_last: Some(place == last),
    };
    from.into_iter().enumerate().map(child).rev().collect()
}

/// Draws one memory, and returns the line prefix of those below it.
fn draw(text: &mut String, node: &DrawnMemory, story: &MemoryStory, is_new: bool) -> String {
    let (branch, below) = match node.is_last {
        None => ("", ""),
        Some(true) => ("└─ ", "   "),
        Some(false) => ("├─ ", "│  "),
    };
    let indent = &node.indent;
    let _ = write!(
        text,
        "{DIM}{indent}{branch}{DIM:#}{BOLD}{}{BOLD:#}",
        node.number
    );
    if !is_new {
        let _ = writeln!(text, " {DIM}as above{DIM:#}");
        return indent.clone();
    }
    text.push('\n');
    let below = match node.depth > DEEPEST {
        true => indent.clone(),
        false => format!("{indent}{below}"),
    };
    let has_children = !story.parents.is_empty() || !story.duplicates.is_empty();
    let bar = if has_children { "│ " } else { "  " };
    for event in &story.events {
        for line in lines(event).lines() {
            let _ = writeln!(text, "{DIM}{below}{bar}{DIM:#}{line}");
        }
    }
    below
}

/// One event: time, action, actor, and then the text.
fn lines(event: &MemoryEvent) -> String {
    let (mut what, of) = event.words();
    if !of.is_empty() {
        what = format!("{what} {}", numbers(&of));
    }
    // A shredded text cannot be restored.
    let is_undone = !event.effective && event.what != EventMeaning::Shredded;
    let undone = match is_undone {
        true => format!(" {YELLOW}(undone later){YELLOW:#}"),
        false => String::new(),
    };
    format!(
        "{DIM}{}{DIM:#}  {what}{undone}  {DIM}{} · record {}{DIM:#}\n{}",
        moment(event.recorded_at),
        actor(&event.actor),
        event.seq,
        change(event)
    )
}

/// The texts of an event: before and after, empty where they were shredded.
fn change(event: &MemoryEvent) -> String {
    let (before, after) = match event.texts() {
        Some((before, after)) => (before.map(PrivateText::expose), after.expose()),
        None => return String::new(),
    };
    match after {
        "" => String::new(),
        after => diff(before.filter(|before| !before.is_empty()), Some(after)),
    }
}
