//! The session traces of the project, step by step over REST: every step with its expectation, and the final state.
//!
//! The traces are those that the domain plays by itself (`crates/memoir-domain/tests/it/traces.json`). A step has `do`
//! and `expect`; the latter names the fields to compare. `as` gives the number in the response a label, and `$label`
//! refers to that number. `characters` continues a text to this length. Lists are compared without order, `created_at`
//! by its beginning, `numbers` are those of `results`. A step without `status` must succeed. In `final` a memory
//! without `content` has the saved text.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};

use crate::installation::{Caller, HttpAnswer, Installation};

const TRACES: &str = include_str!("../../../memoir-domain/tests/it/traces.json");
const FILLER: &str = "the lamps were lit by the water and we sat there and ";
const PATH: &str = "/v1/agents/wren";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_every_session_trace_is_played_over_rest() {
    let traces: Vec<Value> = serde_json::from_str(TRACES).unwrap();
    let mut failures = Vec::new();
    for trace in &traces {
        let player = Player::new(trace).await;
        if let Err(failure) = player.play(trace).await {
            failures.push(format!("{} ({}): {failure}", trace["name"], trace["rule"]));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} traces fail:\n\n{}",
        failures.len(),
        traces.len(),
        failures.join("\n\n")
    );
}

/// `text`, continued to that many characters.
fn continued(text: &str, characters: Option<u64>) -> String {
    let Some(characters) = characters else {
        return text.to_owned();
    };
    let endless = text.chars().chain([' ']).chain(FILLER.chars().cycle());
    let mut text: String = endless
        .take(usize::try_from(characters).unwrap() - 1)
        .collect();
    if text.ends_with(' ') {
        text.pop();
        text.push('s');
    }
    text + "."
}

/// One agent of an installation of its own.
struct Player {
    admin: Caller,
    own: Caller,
    numbers: BTreeMap<String, u64>,
    /// The text that each label was saved with.
    texts: BTreeMap<String, String>,
    /// The session opened last.
    session: String,
}

impl Player {
    async fn new(trace: &Value) -> Self {
        let installation = Installation::open().await;
        // Some origin dates are later than the first time of the clock, and none may be in the future.
        installation
            .clock
            .advance(Duration::from_secs(365 * 86_400));
        let admin = installation.administrator().await;
        let mut settings = trace["agent"].clone();
        settings["name"] = json!("wren");
        admin.created("/v1/agents", settings).await;
        let token = admin.act(&format!("{PATH}/tokens")).await;
        Self {
            admin,
            own: installation.made(&token.expect(201)),
            numbers: BTreeMap::new(),
            texts: BTreeMap::new(),
            session: String::new(),
        }
    }

    async fn play(mut self, trace: &Value) -> Result<(), String> {
        for (at, step) in trace["steps"].as_array().unwrap().iter().enumerate() {
            let played = self.step(step).await;
            played.map_err(|failure| format!("step {at}: {step}\n    {failure}"))?;
        }
        self.check_final(&trace["final"]).await
    }

    async fn step(&mut self, step: &Value) -> Result<(), String> {
        let answer = self.carry_out(step).await;
        let result = read(&answer);
        if let Some(label) = step["as"].as_str() {
            let number = result["number"].as_u64();
            let number = number.ok_or_else(|| format!("no number: {}", answer.text))?;
            self.numbers.insert(label.to_owned(), number);
        }
        let mut expected = match &step["expect"] {
            Value::Null => json!({}),
            expected => self.fill(expected),
        };
        let status = expected["status"].as_u64();
        let is_status = match status {
            Some(status) => u64::from(answer.status) == status,
            None => (200..300).contains(&answer.status),
        };
        if !is_status {
            return Err(format!("status {}: {}", answer.status, answer.text));
        }
        expected.as_object_mut().unwrap().remove("status");
        compare(&expected, &result)
    }

    async fn carry_out(&mut self, step: &Value) -> HttpAnswer {
        let memory = |what: &str| {
            let number = self.fill(&step["memory"]);
            format!("{PATH}/memories/{number}{what}")
        };
        let admin = &self.admin;
        match step["do"].as_str().unwrap() {
            "save" => self.save(step).await,
            "open" => {
                let mut body = json!({"driver": "agent"});
                if let Some(mode) = step.get("mode") {
                    body["mode"] = mode.clone();
                }
                let path = format!("{PATH}/sessions");
                let opened = self.own.post(&path, body).await;
                if let Some(id) = opened.json()["id"].as_str() {
                    self.session = id.to_owned();
                }
                opened
            }
            "tool" => self.tool(step).await,
            "protect" => admin.put(&memory("/protection"), &Value::Null).await,
            "unprotect" => admin.delete(&memory("/protection")).await,
            act @ ("discard" | "promote") => admin.act(&memory(&format!("/{act}"))).await,
            "set" => admin.patch(PATH, &step["settings"]).await,
            "set_own" => {
                let path = format!("{PATH}/self/{}", step["field"].as_str().unwrap());
                let body = json!({"value": step["value"]});
                self.own.put(&path, &body).await
            }
            "rollback" => {
                let path = format!("/v1/sessions/{}/rollback", self.session);
                admin.act(&path).await
            }
            "look" => self.own.get(&memory("")).await,
            "agent" => self.own.get(PATH).await,
            other => panic!("there is no step {other}"),
        }
    }

    async fn save(&mut self, step: &Value) -> HttpAnswer {
        let content = step["content"].as_str().unwrap();
        let content = continued(content, step["characters"].as_u64());
        if let Some(label) = step["as"].as_str() {
            self.texts.insert(label.to_owned(), content.clone());
        }
        let mut body = json!({"content": content});
        for name in ["kind", "tags", "source", "origin", "created_at", "replaces"] {
            if let Some(value) = step.get(name) {
                body[name] = self.fill(value);
            }
        }
        if let Some(date) = body["created_at"].as_str().filter(|date| date.len() == 10) {
            body["created_at"] = json!(format!("{date}T00:00:00Z"));
        }
        let caller = match step["by"].as_str() {
            Some("administrator") => &self.admin,
            _ => &self.own,
        };
        let path = format!("{PATH}/memories");
        caller.post(&path, body).await
    }

    async fn tool(&mut self, step: &Value) -> HttpAnswer {
        let mut arguments = self.fill(&step["arguments"]);
        if let Some(content) = arguments.get_mut("content") {
            let text = continued(content.as_str().unwrap(), step["characters"].as_u64());
            *content = json!(text);
            if let Some(label) = step["as"].as_str() {
                self.texts.insert(label.to_owned(), text);
            }
        }
        let tool = step["tool"].as_str().unwrap();
        let path = format!("/v1/sessions/{}/tools/{tool}", self.session);
        self.own.post(&path, arguments).await
    }

    async fn check_final(&self, expected: &Value) -> Result<(), String> {
        let get = async |path: &str| self.own.shown(path).await;
        let agent = get(PATH).await;
        let core_tokens = json!({"core_tokens": expected["core_tokens"]});
        compare(&core_tokens, &agent).map_err(|failure| format!("in the end: {failure}"))?;
        for (label, memory) in expected["memories"].as_object().unwrap() {
            let mut memory = self.fill(memory);
            if memory.get("content").is_none() {
                memory["content"] = json!(self.texts[label]);
            }
            if memory["kind"] == "core" {
                memory["archived_at"] = Value::Null;
            }
            let shown = get(&format!("{PATH}/memories/{}", self.numbers[label])).await;
            let shown = with_discarded(shown);
            compare(&memory, &shown).map_err(|failure| format!("in the end {label}: {failure}"))?;
        }
        let verified = get(&format!("{PATH}/audit/verify")).await;
        if verified["valid"] != true {
            return Err(format!("in the end: {verified}"));
        }
        let originals = &verified["originals"];
        let sum: u64 = ["in_prompt", "archived", "removed_off", "lost"]
            .iter()
            .map(|name| originals[name].as_u64().unwrap_or_default())
            .sum();
        if originals["total"] != sum {
            return Err(format!("in the end: {originals}"));
        }
        match expected.get("originals") {
            Some(expected) => compare(expected, originals)
                .map_err(|failure| format!("in the end, of the originals: {failure}")),
            None => Ok(()),
        }
    }

    /// `value` with the numbers in place of their labels.
    fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let label = text.strip_prefix('$');
                if let Some(number) = label.and_then(|label| self.numbers.get(label)) {
                    return json!(number);
                }
                // Longer labels first: `$m1` begins `$m10`.
                let mut labels: Vec<&String> = self.numbers.keys().collect();
                labels.sort_by_key(|label| std::cmp::Reverse(label.len()));
                let fill = |text: String, label: &&String| {
                    text.replace(&format!("${label}"), &self.numbers[*label].to_string())
                };
                json!(labels.iter().fold(text.clone(), fill))
            }
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                let filled = fields.map(|(name, value)| (name.clone(), self.fill(value)));
                filled.collect::<Map<_, _>>().into()
            }
            other => other.clone(),
        }
    }
}

fn read(answer: &HttpAnswer) -> Value {
    with_discarded(answer.json())
}

fn with_discarded(mut result: Value) -> Value {
    if let Some(discarded_at) = result.get("discarded_at") {
        result["discarded"] = json!(!discarded_at.is_null());
    }
    result
}

/// Compares the fields that are expected.
fn compare(expected: &Value, actual: &Value) -> Result<(), String> {
    for (name, expected) in expected.as_object().unwrap() {
        let found = match name.as_str() {
            "numbers" => {
                let results = actual["results"].as_array().into_iter().flatten();
                results.map(|hit| hit["number"].clone()).collect()
            }
            name => actual.get(name).cloned().unwrap_or(Value::Null),
        };
        let is_equal = match (name.as_str(), expected, &found) {
            ("created_at", Value::String(expected), Value::String(found)) => {
                found.starts_with(expected.as_str())
            }
            ("stats", Value::Object(expected), found) => expected
                .iter()
                .all(|(name, count)| found.get(name) == Some(count)),
            (_, Value::Array(expected), Value::Array(found)) => sorted(expected) == sorted(found),
            (_, expected, found) => expected == found,
        };
        if !is_equal {
            return Err(format!(
                "{name}: expected {expected}, got {found} in {actual}"
            ));
        }
    }
    Ok(())
}

fn sorted(values: &[Value]) -> Vec<String> {
    let mut values: Vec<String> = values.iter().map(Value::to_string).collect();
    values.sort();
    values
}
