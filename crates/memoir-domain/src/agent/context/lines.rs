//! The lines of a context, and reading them back. Every text is quoted by the same function as in the ledger
//! (`text/quote.rs`): one JSON string on one line, so that no content can pass for another line of Memoir's, for a tag of
//! a client, or hide what it says (SPEC 2.3, 3.6).

use std::{fmt::Write, sync::OnceLock};

use memoir_text::{has_relative_time, same_text_key};
use sha2::{Digest, Sha256};

use super::{CORE_HEADING, HEADING, omission::DAY_HEADING};
use crate::{
    memory::{
        Memory, Number,
        origin::{Origin, Side},
    },
    text::{private::PrivateText, quote::quote},
    time::Timestamp,
};

/// The mark before the number of a summary's sources.
const SUMMARY: &str = "(summary of ";
/// The line before memories of the agent's or an administrator's, after one of weaker origin.
const STRONG_ORIGIN: &str = "(origin agent or administrator from here on)";

/// One entry as it is shown.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) number: Number,
    pub(super) created_at: Timestamp,
    /// Its origin where that is weaker than `agent`.
    weak_origin: Option<Origin>,
    /// With the end of the line.
    pub(super) text: String,
    pub(super) characters: u64,
    /// Equal for the same text of the same side, and for nothing else (SPEC 1, 3.4).
    pub(super) copy_key: ([u8; 32], Side),
    /// Found where it is needed, once for all rounds of a plan: that takes a language's rules.
    is_relative: OnceLock<bool>,
}

/// The characters of an entry's line whose text is not at hand: as many as that of a text of that size without an
/// escape has at most.
pub(super) fn estimate(number: Number, tokens: u64, is_summary: bool) -> u64 {
    let frame = format!("{number} \"\"\n").len() as u64;
    let summary = if is_summary {
        "(summary of 10) ".len() as u64
    } else {
        0
    };
    frame + summary + tokens * 4
}

impl Line {
    /// The line of a memory; a summary states how many `sources` it has.
    pub(super) fn new(memory: &Memory, sources: usize) -> Self {
        let mut text = format!("{} ", memory.number);
        if memory.is_summary {
            // Writing to a string cannot fail.
            let _ = write!(text, "{SUMMARY}{sources}) ");
        }
        text.push_str(&quote(memory.content.expose()));
        text.push('\n');
        let key = Sha256::digest(same_text_key(memory.content.expose()).as_bytes());
        Self {
            number: memory.number,
            created_at: memory.created_at,
            weak_origin: memory.weak_origin(),
            characters: text.chars().count() as u64,
            text,
            copy_key: (key.into(), memory.side()),
            is_relative: OnceLock::new(),
        }
    }

    /// Whether its text has a word of relative time, which makes it another text on another day (SPEC 3.4).
    pub(super) fn is_relative(&self) -> bool {
        *self.is_relative.get_or_init(|| {
            let entry = parse_line(&self.text);
            let content = entry.map(|entry| entry.content).unwrap_or_default();
            has_relative_time(content.expose())
        })
    }
}

/// The line of one of Memoir's own entries, with its day: its first line, cut where it has more than `room` characters.
/// `None` where that would leave too little of it.
pub(super) fn report_line(memory: &Memory, room: usize) -> Option<String> {
    /// The fewest characters that say something.
    const LEAST: usize = 60;
    let (number, day) = (memory.number, memory.created_at.date());
    let content = memory.content.expose();
    let mut first = content.lines().next().unwrap_or_default().to_owned();
    let line = |text: &str| format!("{number} {day} {}\n", quote(text));
    let mut whole = line(&first);
    let mut is_cut = false;
    while whole.chars().count() > room {
        if first.chars().count() <= LEAST {
            return None;
        }
        if is_cut {
            first.pop();
        }
        is_cut = true;
        first.pop();
        first.push('…');
        whole = line(&first);
    }
    Some(whole)
}

/// What a list takes beside its entries, in characters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Beside {
    /// The headings of days.
    pub(super) days: u64,
    /// The lines that state an origin.
    pub(super) origins: u64,
}

impl Beside {
    pub(super) fn add(&mut self, other: Self) {
        self.days += other.days;
        self.origins += other.origins;
    }
}

/// Writes a list in order of time: a heading for each day, and the origin where it changes and is, or was, weaker than
/// `agent`. `origin` is the one stated last, also by the list before; a list that begins with a weak one states it again.
pub(super) fn write_list(
    text: &mut String,
    lines: &[&Line],
    origin: &mut Option<Origin>,
) -> Beside {
    let mut beside = Beside::default();
    let mut day = None;
    for line in lines {
        let is_again = day.is_none() && line.weak_origin.is_some();
        if day != Some(line.created_at.day_number()) {
            day = Some(line.created_at.day_number());
            let _ = writeln!(text, "### {}", line.created_at.date());
            beside.days += DAY_HEADING;
        }
        if is_again || line.weak_origin != *origin {
            *origin = line.weak_origin;
            let stated = match line.weak_origin {
                Some(origin) => format!("(origin {origin} from here on)"),
                None => STRONG_ORIGIN.to_owned(),
            };
            let _ = writeln!(text, "{stated}");
            beside.origins += stated.len() as u64 + 1;
        }
        text.push_str(&line.text);
    }
    beside
}

/// A core memory as a context shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedEntry {
    /// Its number.
    pub number: Number,
    /// Whether it is marked as a summary.
    pub is_summary: bool,
    /// Its text.
    pub content: PrivateText,
}

/// Reads the core memories back from a prompt that ends in a context.
pub fn parse_core(prompt: &str) -> Vec<ParsedEntry> {
    let lines: Vec<&str> = prompt.lines().collect();
    // The last one: the agent's own prompt comes before the context and may quote one, and no memory has a line.
    let Some(heading) = lines.iter().rposition(|line| *line == HEADING) else {
        return Vec::new();
    };
    let core = lines[heading..].iter();
    let core = core.skip_while(|line| **line != CORE_HEADING).skip(1);
    core.take_while(|line| !line.starts_with("## "))
        .filter_map(|line| parse_line(line))
        .collect()
}

fn parse_line(line: &str) -> Option<ParsedEntry> {
    let (number, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let summary = rest.strip_prefix(SUMMARY);
    let text = match summary {
        Some(rest) => rest.split_once(") ")?.1,
        None => rest,
    };
    Some(ParsedEntry {
        number: Number(number.parse().ok()?),
        is_summary: summary.is_some(),
        content: serde_json::from_str(text).ok()?,
    })
}
