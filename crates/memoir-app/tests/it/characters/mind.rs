//! A model that wants something: it reads its ledger and what the tools answer, tries again what was refused
//! in other words, and says yes to whatever it is asked.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use memoir_app::{MemoryInput, OwnAgent};
use memoir_details::Reading;
use memoir_domain::{audit::Actor, ledger};
use memoir_model::{ModelMessage, ModelRequest};
use memoir_testkit::Turn;
use serde_json::{Value, json};

use super::cast::Character;

/// Calls of one answer.
const CALLS: usize = 8;
/// Answers in which it calls tools; a session has forty.
const ANSWERS: u32 = 9;
/// Edits that a session has.
const EDITS: u32 = 10;

/// A memory as the model knows it.
#[derive(Clone)]
pub struct Row {
    pub number: u64,
    pub text: String,
}

impl Row {
    pub fn sentences(&self) -> Vec<String> {
        sentences(&self.text)
    }
}

/// The sentences of a text.
pub fn sentences(text: &str) -> Vec<String> {
    let reading = Reading::of(text);
    (0..reading.sentences())
        .map(|sentence| reading.sentence(sentence).to_owned())
        .collect()
}

/// One thing that is wanted, with the texts that are tried for it one after the other; none for a delete.
#[derive(Clone)]
pub struct Attempt {
    pub tool: &'static str,
    pub ids: Vec<u64>,
    pub texts: VecDeque<String>,
}

impl Attempt {
    pub fn delete(id: u64) -> Self {
        Self::of("delete_memory", [id], [])
    }

    pub fn protect(id: u64) -> Self {
        Self::of("protect_memory", [id], [])
    }

    pub fn update(id: u64, texts: impl IntoIterator<Item = String>) -> Self {
        Self::of("update_memory", [id], texts)
    }

    pub fn merge(
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
            _ => json!({"id": self.ids[0]}),
        }
    }
}

/// What became of all that was tried.
#[derive(Default, Clone)]
pub struct Score {
    /// Edits called for, confirmations included.
    pub tried: u32,
    pub made: u32,
    pub refused: BTreeMap<String, u32>,
    /// Sessions that the breaker undid.
    pub undone: u32,
    /// Every text that an edit wrote.
    pub written: BTreeSet<String>,
    /// Memories that it made constitutional.
    pub protected: BTreeSet<u64>,
}

/// What the model knows and wants.
pub struct Mind {
    pub character: Character,
    pub week: u64,
    pub rows: BTreeMap<u64, Row>,
    pub score: Score,
    agent: OwnAgent,
    queue: VecDeque<Attempt>,
    sent: Vec<(Attempt, Option<String>)>,
    /// Codes that say yes, given in this session and in those before.
    codes: Vec<(Attempt, String)>,
    answers: u32,
    made_now: u32,
    is_closing: bool,
    random: u64,
}

impl Mind {
    pub fn new(character: Character, agent: OwnAgent) -> Self {
        Self {
            character,
            week: 0,
            rows: BTreeMap::new(),
            score: Score::default(),
            agent,
            queue: VecDeque::new(),
            sent: Vec::new(),
            codes: Vec::new(),
            answers: 0,
            made_now: 0,
            is_closing: false,
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

    /// What the model answers.
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
                let sent = std::mem::take(&mut self.sent);
                for ((attempt, confirmed), result) in sent.into_iter().zip(results) {
                    self.learn(attempt, confirmed.is_some(), &result);
                }
            }
        }
        self.go_on()
    }

    fn begin(&mut self, prompt: &str) {
        self.rows = ledger::parse_rows(prompt)
            .into_iter()
            .map(|row| {
                let row = Row {
                    number: row.number.0,
                    text: row.content.into_exposed(),
                };
                (row.number, row)
            })
            .collect();
        (self.answers, self.made_now, self.is_closing) = (0, 0, false);
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
        // Codes of earlier sessions are tried once more.
        if character.repeats_old_codes() {
            let old = std::mem::take(&mut self.codes);
            let old = old.into_iter().rev().take(CALLS);
            self.sent = old.map(|(attempt, code)| (attempt, Some(code))).collect();
        }
        self.codes.clear();
    }

    fn learn(&mut self, mut attempt: Attempt, confirmed: bool, result: &Value) {
        let kind = result["type"].as_str().unwrap();
        if kind != "error" {
            return self.learn_success(&attempt, kind, result);
        }
        let code = result["code"].as_str().unwrap();
        *self.score.refused.entry(code.to_owned()).or_default() += 1;
        if let Some(confirm) = result["confirm"].as_str().filter(|_| !confirmed) {
            self.codes.push((attempt.clone(), confirm.to_owned()));
            self.sent.push((attempt, Some(confirm.to_owned())));
            return;
        }
        attempt.texts.pop_front();
        if attempt.texts.is_empty()
            && self.character.takes_what_passes()
            && let Some(passes) = result["passes"].as_str()
        {
            attempt.texts.push_back(passes.to_owned());
        }
        if attempt.is_writing() && !attempt.texts.is_empty() && code != "not_found" {
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
        for id in &attempt.ids {
            self.rows.remove(id);
        }
        if let (Some(number), Some(text)) = (number, result["content"].as_str()) {
            self.score.written.insert(text.to_owned());
            let row = Row {
                number,
                text: text.to_owned(),
            };
            self.rows.insert(number, row);
        }
    }

    fn go_on(&mut self) -> Turn {
        self.answers += 1;
        if self.answers == 3 {
            let character = self.character;
            let between = character.saves(self, true);
            self.save_at_once(between);
        }
        let is_over = self.answers > ANSWERS || self.made_now >= EDITS;
        while self.sent.len() < CALLS && !is_over {
            let Some(attempt) = self.queue.pop_front() else {
                break;
            };
            self.sent.push((attempt, None));
        }
        let mut calls: Vec<(&str, Value)> = Vec::new();
        if is_over {
            self.sent.clear();
        }
        for (attempt, code) in &self.sent {
            let mut arguments = attempt.arguments();
            if let Some(code) = code {
                arguments["confirm"] = json!(code);
            }
            calls.push((attempt.tool, arguments));
        }
        self.score.tried += calls
            .iter()
            .filter(|(tool, _)| *tool != "protect_memory")
            .count() as u32;
        if calls.is_empty() {
            calls.push(("complete_refinement", json!({"summary": "Tidied."})));
            if self.character.calls_on() {
                // In the same answer, behind the end.
                let ids: Vec<u64> = self.rows.keys().copied().take(4).collect();
                self.score.tried += ids.len() as u32;
                calls.extend(ids.iter().map(|id| ("delete_memory", json!({"id": id}))));
            }
        }
        Turn::calls(calls)
    }

    /// Saves while the session goes on.
    fn save_at_once(&self, inputs: Vec<MemoryInput>) {
        if inputs.is_empty() {
            return;
        }
        let agent = self.agent.clone();
        tokio::task::block_in_place(|| {
            let saving = async { agent.save(&inputs, &Actor::agent("wren")).await };
            tokio::runtime::Handle::current().block_on(saving)
        })
        .unwrap();
    }
}
