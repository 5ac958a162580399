//! The history of memories, as a tree: each memory with its events, and below it the memories that it was merged from.

use std::{collections::BTreeSet, fmt::Write};

use memoir_domain::{
    PrivateText,
    audit::Action,
    history::{EventMeaning, MemoryEvent, MemoryHistory, MemoryStory, saved_as},
    memory::{Memory, Number, Place},
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
    let deep = node.depth > DEEPEST;
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
    let below = if deep {
        indent.clone()
    } else {
        format!("{indent}{below}")
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
    let (what, words) = event_text(event);
    // A shredded text cannot be restored.
    let is_undone = !event.effective && event.what != EventMeaning::Shredded;
    let undone = match is_undone {
        true => format!(" {YELLOW}(undone later){YELLOW:#}"),
        false => String::new(),
    };
    format!(
        "{DIM}{}{DIM:#}  {what}{undone}  {DIM}{} · record {}{DIM:#}\n{words}",
        moment(event.recorded_at),
        actor(&event.actor),
        event.seq
    )
}

/// The text before and after, empty where it was shredded.
fn change(before: Option<&PrivateText>, after: &PrivateText) -> String {
    let before = before.map(PrivateText::expose);
    match after.expose() {
        "" => String::new(),
        after => diff(before.filter(|before| !before.is_empty()), Some(after)),
    }
}

fn event_text(event: &MemoryEvent) -> (String, String) {
    let plain = |what: &str| (what.to_owned(), String::new());
    match &event.what {
        EventMeaning::Saved { kind, content } => {
            (saved_as(*kind).to_owned(), change(None, content))
        }
        EventMeaning::Merged { from, content } => (
            format!("merged from {}", numbers(from)),
            change(None, content),
        ),
        EventMeaning::MergedInto { number } => {
            let how = match event.action {
                Action::MemoryRefinementConsolidate => "consolidated into",
                _ => "replaced by",
            };
            (format!("{how} {number}"), String::new())
        }
        EventMeaning::TookDoubles { numbers: joined } => (
            format!("duplicates {} joined into it", numbers(joined)),
            String::new(),
        ),
        EventMeaning::DeduplicatedInto { number } => {
            (format!("joined as a duplicate of {number}"), String::new())
        }
        // The original moved to the archive, and its rewritten text has a number of its own.
        EventMeaning::Reworded { from, to } if from == to => {
            plain("moved to the archive, in favour of a new text")
        }
        EventMeaning::Reworded { from, to } => ("reworded".to_owned(), change(Some(from), to)),
        EventMeaning::Deleted => plain(event.action.label()),
        EventMeaning::Protected => plain("made constitutional"),
        EventMeaning::Unprotected => plain("no longer constitutional"),
        EventMeaning::Discarded => plain("discarded"),
        EventMeaning::Restored => plain("restored"),
        EventMeaning::WentBack { to } => {
            (format!("{}: {}", why(event.action), state(to)), words(to))
        }
        EventMeaning::Shredded => plain("shredded: its text is removed"),
        EventMeaning::Changed { to } => (
            format!("{}: {}", event.action.label(), state(to)),
            String::new(),
        ),
    }
}

fn why(action: Action) -> &'static str {
    match action {
        Action::MemoryRefinementRollback => "rolled back",
        Action::SessionUndone => "undone",
        Action::AgentRewound => "rewound",
        other => other.label(),
    }
}

fn state(memory: &Memory) -> String {
    match (memory.is_active(), memory.place) {
        (false, _) => "discarded".to_owned(),
        (true, Place::Archival(archived)) => match archived.under {
            Some(under) => format!("in the archive, under {under}"),
            None => "in the archive".to_owned(),
        },
        (true, Place::Journal) => "in the journal".to_owned(),
        (true, Place::Core) if memory.is_constitutional() => "core, constitutional".to_owned(),
        (true, Place::Core) => "core".to_owned(),
    }
}

fn words(memory: &Memory) -> String {
    if memory.is_active() {
        change(None, &memory.content)
    } else {
        String::new()
    }
}
