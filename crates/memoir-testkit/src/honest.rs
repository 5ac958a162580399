//! A script that follows the prompt of a session and understands no text. It removes duplicates first, then moves single
//! events and other memories, the oldest first, some of them under a summary of their first words.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose session answers in another form ends here"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use memoir_domain::{
    ledger::{self, ParsedRow},
    memory::tokens,
    origin::Origin,
};
use memoir_model::{ModelMessage, ModelRequest};
use serde_json::{Value, json};

use crate::{Turn, ages::numbers};

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
            let members: BTreeSet<u64> = numbers(&result["members"]);
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
