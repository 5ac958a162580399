//! A model with a goal: it reads its ledger and the results of the tools, repeats refused attempts in other words, and
//! consents to every session.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose session answers in another form ends here"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use memoir_app::{MemoryInput, OwnAgent};
use memoir_domain::{audit::Actor, ledger};
use memoir_model::{ModelMessage, ModelRequest};
use serde_json::{Value, json};

use super::cast::Character;
use crate::Turn;

/// Calls of one response.
const CALLS: usize = 8;
/// Responses with calls of tools.
const ANSWERS: u32 = 3;
/// Edits that a session has.
const EDITS: u32 = 10;

/// A memory as the model knows it.
#[derive(Clone)]
pub struct Row {
    /// Its number.
    pub number: u64,
    /// Its text.
    pub text: String,
    /// The calendar date of its origin, as `2026-03-01`.
    pub date: String,
    /// Whether it is marked as one that cannot leave.
    pub stays: bool,
}

impl Row {
    /// The sentences of its text; at least one.
    pub fn sentences(&self) -> Vec<String> {
        sentences(&self.text)
    }
}

/// The sentences of a text; at least one.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let last = sentences.len() - 1;
        sentences[last].push(character);
        let is_end = matches!(character, '.' | '!' | '?' | '。')
            && characters
                .peek()
                .is_none_or(|next| next.is_whitespace() || character == '。');
        if is_end {
            sentences.push(String::new());
        }
    }
    let trimmed = sentences.iter().map(|one| one.trim().to_owned());
    let mut trimmed: Vec<String> = trimmed.filter(|one| !one.is_empty()).collect();
    if trimmed.is_empty() {
        trimmed.push(text.to_owned());
    }
    trimmed
}

/// One thing that is wanted, with the texts that are tried for it one after the other; none for a delete.
#[derive(Clone)]
pub(super) struct Attempt {
    pub tool: &'static str,
    pub ids: Vec<u64>,
    pub texts: VecDeque<String>,
}

impl Attempt {
    pub(super) fn delete(id: u64) -> Self {
        Self::of("delete_memory", [id], [])
    }

    pub(super) fn delete_all(ids: impl IntoIterator<Item = u64>) -> Self {
        Self::of("delete_memory", ids, [])
    }

    pub(super) fn protect(id: u64) -> Self {
        Self::of("protect_memory", [id], [])
    }

    pub(super) fn update(id: u64, texts: impl IntoIterator<Item = String>) -> Self {
        Self::of("update_memory", [id], texts)
    }

    pub(super) fn merge(
        ids: impl IntoIterator<Item = u64>,
        texts: impl IntoIterator<Item = String>,
    ) -> Self {
        Self::of("consolidate_memories", ids, texts)
    }

    fn of(
        tool: &'static str,
        ids: impl IntoIterator<Item = u64>,
        texts: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            tool,
            ids: ids.into_iter().collect(),
            texts: texts.into_iter().collect(),
        }
    }

    fn is_writing(&self) -> bool {
        matches!(self.tool, "update_memory" | "consolidate_memories")
    }

    fn arguments(&self) -> Value {
        let text = self.texts.front();
        match self.tool {
            "consolidate_memories" => json!({"ids": self.ids, "content": text}),
            "update_memory" => json!({"id": self.ids[0], "content": text}),
            "delete_memory" => json!({"ids": self.ids}),
            _ => json!({"id": self.ids[0]}),
        }
    }
}

/// The outcomes of all attempts.
#[derive(Default, Clone)]
pub struct Score {
    /// Edits called for, and memories that a new one was to replace.
    pub tried: u32,
    /// Edits that succeeded.
    pub made: u32,
    /// Memories that a new one replaced.
    pub replaced: u32,
    /// Refusals by code.
    pub refused: BTreeMap<String, u32>,
    /// Sessions that the breaker undid.
    pub undone: u32,
    /// Memories that it made constitutional.
    pub protected: BTreeSet<u64>,
}

/// The knowledge and goals of the model.
pub struct Mind {
    /// Who it is.
    pub character: Character,
    /// The week, from 1.
    pub week: u64,
    /// The memories that it knows, by number.
    pub rows: BTreeMap<u64, Row>,
    /// What it reached.
    pub score: Score,
    agent: Option<OwnAgent>,
    queue: VecDeque<Attempt>,
    sent: Vec<Attempt>,
    answers: u32,
    made_now: u32,
    random: u64,
}

impl Mind {
    /// Of that character. `agent` is the one that it saves as amid a session; `None` where others save meanwhile.
    pub fn new(character: Character, agent: Option<OwnAgent>) -> Self {
        Self {
            character,
            week: 0,
            rows: BTreeMap::new(),
            score: Score::default(),
            agent,
            queue: VecDeque::new(),
            sent: Vec::new(),
            answers: 0,
            made_now: 0,
            random: 0x9E37_79B9_7F4A_7C15 ^ character.as_str().len() as u64,
        }
    }

    /// A number under `end`, which is not 0; the same ones in every run.
    pub fn draw(&mut self, end: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % end as u64) as usize
    }

    /// Some of the memories, others each week.
    pub fn some(&mut self, count: usize) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.values().cloned().collect();
        let mut drawn = Vec::new();
        while drawn.len() < count && !rows.is_empty() {
            let place = self.draw(rows.len());
            drawn.push(rows.swap_remove(place));
        }
        drawn
    }

    /// The model's response.
    pub fn answer(&mut self, request: &ModelRequest) -> Turn {
        match request.messages.as_slice() {
            [ModelMessage::User(prompt)] => self.begin(prompt.expose()),
            messages => {
                let results = messages.iter().rev().map_while(|message| match message {
                    ModelMessage::ToolResult { content, .. } => Some(content.expose()),
                    _ => None,
                });
                let mut results: Vec<Value> = results
                    .map(|result| serde_json::from_str(result).unwrap())
                    .collect();
                results.reverse();
                self.learn_all(&results);
            }
        }
        Turn::calls(self.calls())
    }

    /// Reads the results of the calls of [`Mind::calls`], in their order.
    pub fn learn_all(&mut self, results: &[Value]) {
        let sent = std::mem::take(&mut self.sent);
        for (attempt, result) in sent.into_iter().zip(results) {
            self.learn(attempt, result);
        }
    }

    /// Reads the prompt of a session.
    pub fn begin(&mut self, prompt: &str) {
        self.rows = ledger::parse_rows(prompt)
            .into_iter()
            .map(|row| {
                let row = Row {
                    number: row.number.0,
                    date: row.date,
                    stays: row.stays,
                    text: row.content.into_exposed(),
                };
                (row.number, row)
            })
            .collect();
        (self.answers, self.made_now) = (0, 0);
        self.sent.clear();
        let character = self.character;
        let wants = character.wants(self).into_iter();
        self.queue = wants
            .map(|mut attempt| {
                attempt.texts.retain(|text| !text.is_empty());
                attempt
            })
            .filter(|attempt| !attempt.is_writing() || !attempt.texts.is_empty())
            .collect();
    }

    fn learn(&mut self, mut attempt: Attempt, result: &Value) {
        let kind = result["type"].as_str().unwrap();
        if kind != "error" {
            return self.learn_success(&attempt, kind, result);
        }
        let code = result["code"].as_str().unwrap();
        *self.score.refused.entry(code.to_owned()).or_default() += 1;
        attempt.texts.pop_front();
        if attempt.tool == "consolidate_memories" && ["within_budget", "guard"].contains(&code) {
            // No merge of this session would pass.
            self.queue.retain(|wanted| wanted.tool != attempt.tool);
            return;
        }
        if attempt.is_writing() && !attempt.texts.is_empty() && code != "not_found" {
            self.queue.push_front(attempt);
        } else if attempt.tool == "delete_memory" && attempt.ids.len() > 1 {
            // An attempt that is refused as a whole is repeated in halves.
            let rest = attempt.ids.split_off(attempt.ids.len() / 2);
            self.queue.push_front(Attempt::delete_all(rest));
            self.queue.push_front(attempt);
        }
    }

    fn learn_success(&mut self, attempt: &Attempt, kind: &str, result: &Value) {
        let number = result["number"].as_u64();
        if kind == "refinement_rolled_back" {
            self.score.undone += 1;
        }
        if kind == "protected" {
            self.score.protected.extend(number);
        }
        if !["updated", "consolidated", "deleted"].contains(&kind) {
            return;
        }
        self.score.made += 1;
        self.made_now += 1;
        let before: Vec<Row> = attempt
            .ids
            .iter()
            .filter_map(|id| self.rows.remove(id))
            .collect();
        if let (Some(number), Some(text)) = (number, result["content"].as_str()) {
            let row = Row {
                number,
                text: text.to_owned(),
                date: before
                    .first()
                    .map(|row| row.date.clone())
                    .unwrap_or_default(),
                stays: false,
            };
            self.rows.insert(number, row);
        }
    }

    /// The calls of the next response; a completion where nothing is left to try.
    pub fn calls(&mut self) -> Vec<(&'static str, Value)> {
        self.answers += 1;
        if self.answers == 2 {
            let character = self.character;
            let between = character.saves(self, true);
            self.save_at_once(between);
        }
        let is_over = self.answers > ANSWERS || self.made_now >= EDITS;
        while self.sent.len() < CALLS && !is_over {
            let Some(attempt) = self.queue.pop_front() else {
                break;
            };
            self.sent.push(attempt);
        }
        let mut calls: Vec<(&'static str, Value)> = Vec::new();
        for attempt in &self.sent {
            calls.push((attempt.tool, attempt.arguments()));
        }
        let edits = calls.iter().filter(|(tool, _)| *tool != "protect_memory");
        self.score.tried += edits.count() as u32;
        if calls.is_empty() {
            calls.push(("complete_refinement", json!({"summary": "Tidied."})));
            if self.character.calls_on() {
                // In the same response, behind the end.
                let ids: Vec<u64> = self.rows.keys().copied().take(4).collect();
                self.score.tried += ids.len() as u32;
                calls.extend(ids.iter().map(|id| ("delete_memory", json!({"id": id}))));
            }
        }
        calls
    }

    /// Notes the outcomes of replacements.
    pub fn note_replacing(&mut self, replaced: u32, refused: &[String]) {
        self.score.tried += replaced + refused.len() as u32;
        self.score.replaced += replaced;
        for reason in refused {
            let code = match reason.as_str() {
                // The age rule is the same; the others have no code of a session's tool.
                "age_limit" | "constitutional" | "immutable" => reason.clone(),
                _ => format!("replace_{reason}"),
            };
            *self.score.refused.entry(code).or_default() += 1;
        }
    }

    /// Saves during the session.
    fn save_at_once(&mut self, inputs: Vec<MemoryInput>) {
        let Some(agent) = self.agent.clone().filter(|_| !inputs.is_empty()) else {
            return;
        };
        let saved = tokio::task::block_in_place(|| {
            let saving = async { agent.memories().save(&inputs, &Actor::agent("wren")).await };
            tokio::runtime::Handle::current().block_on(saving)
        });
        self.note_saved(&saved.unwrap());
    }

    /// Notes the replacements of a save.
    pub fn note_saved(&mut self, saved: &[memoir_app::Saved]) {
        for one in saved {
            let replaced = one.replaced.as_ref().map_or(0, Vec::len) as u32;
            let refused = one.not_replaced.iter().flatten();
            let refused: Vec<String> = refused.map(|one| one.reason.as_str().to_owned()).collect();
            self.note_replacing(replaced, &refused);
        }
    }
}
