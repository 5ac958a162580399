//! Reading a model's response: its text without the reasoning, and the JSON in it (SPEC 2.5, 2.6, 3.3).
//!
//! Models wrap a response into reasoning, fences and polite sentences. The one JSON object with the expected key
//! counts, however it is wrapped. Two different ones are a draft and a response that cannot be distinguished. Faults
//! are named without a word of the response.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::text::mend;

/// The usage of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Calls with a response.
    pub calls: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
}

impl Usage {
    /// Adds a response by its provider's counts, which may be any numbers.
    pub fn add_response(&mut self, input_tokens: u64, output_tokens: u64) {
        /// More than all responses of a session together; sums of it fit any store.
        const MOST: u64 = 1 << 40;
        let sum = |total: u64, used: u64| total.saturating_add(used.min(MOST));
        self.calls = self.calls.saturating_add(1);
        self.input_tokens = sum(self.input_tokens, input_tokens);
        self.output_tokens = sum(self.output_tokens, output_tokens);
    }
}

/// Why a response could not be used. It holds no text of it, so that it can be recorded in the open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unreadable {
    /// The kind of the fault, for counting and for records.
    pub code: &'static str,
    /// The fault and the expectation, for the model's second attempt.
    pub problem: String,
}

impl Unreadable {
    pub(crate) fn new(code: &'static str, problem: impl Into<String>) -> Self {
        Self {
            code,
            problem: problem.into(),
        }
    }

    pub(crate) fn check_count(what: &str, count: usize, limit: usize) -> Result<(), Self> {
        if count <= limit {
            return Ok(());
        }
        let problem = format!("there are {count} {what}, and the limit is {limit}");
        Err(Self::new("too_many", problem))
    }
}

/// The JSON object in `answer` that has one of `keys`, outside of reasoning. It may be repeated, be the text of a string, or have
/// comments, commas behind the last item and line breaks in its texts.
pub(crate) fn read<T: DeserializeOwned>(answer: &str, keys: &[&str]) -> Result<T, Unreadable> {
    let said = without_reasoning(answer);
    let said = mend::json(said.as_bytes());
    // Some models write the whole object as a text.
    let unquoted = serde_json::from_str::<String>(&said);
    let said = unquoted.as_deref().unwrap_or(&said);
    let object = said.find('{').map_or("", |start| &said[start..]);
    let mended = one_with(&mend::lenient(object), keys);
    let found = match (one_with(said, keys), mended) {
        // A draft may be whole beside a response that is read only mended.
        (Ok(found), Ok(other)) if found != other => return Err(two_answers(keys)),
        (Ok(_), Err(two)) if two.code == TWO_ANSWERS => return Err(two),
        (Err(fault), Ok(found)) if matches!(fault.code, "no_json" | "broken_off") => found,
        (found, _) => found?,
    };
    // The error of serde can quote the value.
    serde_json::from_value(found).map_err(|_| {
        Unreadable::new(
            "wrong_form",
            format!(
                "the JSON object with {} is not of the form asked for",
                any_of(keys)
            ),
        )
    })
}

fn any_of(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(" or ")
}

const TWO_ANSWERS: &str = "two_answers";

fn two_answers(keys: &[&str]) -> Unreadable {
    let objects = format!("two different JSON objects with {}", any_of(keys));
    Unreadable::new(TWO_ANSWERS, format!("there are {objects}; give one"))
}

/// The one JSON object in the text that has one of `keys`.
fn one_with(said: &str, keys: &[&str]) -> Result<Value, Unreadable> {
    let has_one = |value: &Value| keys.iter().any(|key| value.get(key).is_some());
    let mut found: Option<Value> = None;
    let mut rest = said;
    let mut broken_off: Option<&str> = None;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        match object(rest) {
            Ok((value, length)) if has_one(&value) => {
                if found.as_ref().is_some_and(|other| *other != value) {
                    return Err(two_answers(keys));
                }
                found = Some(value);
                rest = &rest[length..];
                // A brace before the object breaks off too.
                broken_off = None;
            }
            other => {
                let is_broken_off = other.is_err_and(|error| error.is_eof());
                broken_off = broken_off.or(is_broken_off.then_some(rest));
                rest = &rest[1..];
            }
        }
    }
    let names_one = |rest: &str| {
        let mut names = keys.iter().map(|key| format!("\"{key}\""));
        names.any(|name| rest.contains(&name))
    };
    let is_cut = |rest: &str| found.is_none() || names_one(rest);
    if broken_off.is_some_and(is_cut) {
        return Err(Unreadable::new(
            "broken_off",
            "the JSON object breaks off; give it whole",
        ));
    }
    found.ok_or_else(|| {
        Unreadable::new(
            "no_json",
            format!("there is no JSON object with {} in it", any_of(keys)),
        )
    })
}

/// The JSON value that the text begins with, and its length in bytes.
fn object(text: &str) -> Result<(Value, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(value) => Ok((value?, values.byte_offset())),
        None => Ok((Value::Null, 0)),
    }
}

/// The marks around a model's reasoning: opening and closing, in any case. The only table of them, for consent,
/// reflection and absorption.
const REASONING: [(&str, &str); 23] = [
    // DeepSeek-R1, Qwen, GLM, MiniMax, Phi, Nemotron and most others.
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    // EXAONE, Marco-o1.
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<analysis>", "</analysis>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<draft>", "</draft>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<antthinking>", "</antthinking>"),
    // Seed-OSS, LongCat, MiMo.
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<mm:think>", "</mm:think>"),
    // Magistral.
    ("[THINK]", "[/THINK]"),
    // Kimi.
    ("◁think▷", "◁/think▷"),
    // OpenThinker, Sky-T1.
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    // Command A.
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    // Apertus.
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    // MedGemma, and Gemma's channels.
    ("<unused94>", "<unused95>"),
    ("<|channel>", "<channel|>"),
    // Granite 3.2.
    ("Here is my thought process:", "Here is my response:"),
];
/// Marks around a response after the reasoning, and those of turns, which some servers leave in it; the text between
/// them counts.
const ANSWERING: [&str; 23] = [
    "<answer>",
    "</answer>",
    "<final>",
    "</final>",
    "<output>",
    "</output>",
    "<response>",
    "</response>",
    "<|begin_of_solution|>",
    "<|end_of_solution|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|return|>",
    // The longer ones first.
    "<|im_start|>assistant",
    "<|im_start|>",
    "<|im_end|>",
    "<|start|>assistant",
    "<start_of_turn>model",
    "<end_of_turn>",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|assistant|>",
    "<|eot_id|>",
    "<|endoftext|>",
];

/// A response without reasoning, wherever that is, and without the marks around the response. Empty where the reasoning
/// does not end. JSON objects stay unchanged, with all their texts.
pub(crate) fn without_reasoning(answer: &str) -> String {
    let mut rest = of_channel(answer.trim_start_matches('\u{feff}').trim());
    let mut said = String::with_capacity(rest.len());
    while let Some(character) = rest.chars().next() {
        let mut marks = REASONING.iter();
        if let Some(after) = without_mark(rest, FINAL_CHANNEL) {
            // The last one counts: earlier reasoning may quote the mark.
            said.clear();
            rest = after.split_once("<|message|>").map_or("", |(_, last)| last);
        } else if let Some((inside, close)) =
            marks.find_map(|(open, close)| Some((without_mark(rest, open)?, close)))
        {
            rest = find(inside, close).map_or("", |at| &inside[at + close.len()..]);
        } else if let Some(after) = REASONING
            .iter()
            .find_map(|(_, close)| without_mark(rest, close))
        {
            // Where the prompt contained the opening mark, the response has only the closing one.
            said.clear();
            rest = after;
        } else if let Some(after) = ANSWERING.iter().find_map(|mark| without_mark(rest, mark)) {
            rest = after;
        } else {
            let length = match character {
                '{' => object(rest).map_or(1, |(_, length)| length.max(1)),
                _ => character.len_utf8(),
            };
            let (taken, after) = rest.split_at(length);
            said.push_str(taken);
            rest = after;
        }
    }
    said.trim().to_owned()
}

/// The text after the mark that it begins with, in any case of ASCII letters; `None` where it does not.
fn without_mark<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let start = text.get(..mark.len())?;
    start
        .eq_ignore_ascii_case(mark)
        .then(|| &text[mark.len()..])
}

/// The place of the first mark in the text, in any case.
fn find(text: &str, mark: &str) -> Option<usize> {
    let mut starts = text.char_indices().map(|(at, _)| at);
    starts.find(|at| without_mark(&text[*at..], mark).is_some())
}

/// The begin of a response's last channel.
const FINAL_CHANNEL: &str = "<|channel|>final";

/// A response without the channels before its last one, where it begins with the marks of channels, or with their
/// remains where a server removes special tokens. Empty where it was cut off before its last channel.
fn of_channel(answer: &str) -> &str {
    if answer.starts_with("analysis")
        && let Some((_, said)) = answer.rsplit_once("assistantfinal")
    {
        return said;
    }
    match answer.starts_with("<|channel|>") {
        true => find(answer, FINAL_CHANNEL).map_or("", |at| &answer[at..]),
        false => answer,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Example {
        promote: Vec<u64>,
    }

    fn promoted(answer: &str) -> Result<Vec<u64>, &'static str> {
        read::<Example>(answer, &["promote"])
            .map(|wanted| wanted.promote)
            .map_err(|unreadable| unreadable.code)
    }

    #[test]
    fn spec_2_5_an_answer_is_read_however_it_is_wrapped() {
        for answer in [
            r#"{"promote": [3, 4]}"#,
            "```json\n{\"promote\": [3, 4]}\n```",
            "Gladly! {\"promote\":[3,4]} I hope that helps.",
            "<think>{\"promote\": [9]}</think>\n{\"promote\": [3, 4]}",
            "<Reasoning>{\"promote\": [9]}</REASONING>\n{\"promote\": [3, 4]}",
            "so {\"promote\": [9]}</think>{\"promote\": [3, 4]}",
            "<|channel|>analysis<|message|>{\"promote\": [9]}<|end|><|start|>assistant<|channel|>final<|message|>{\"promote\": [3, 4]}<|return|>",
            "<answer>{\"promote\": [3, 4]}</answer>",
            "{\"note\": {\"a\": 1}} {\"promote\": [3, 4], \"why\": \"…\"}",
            "{not json} {\"promote\": [3, 4]}",
            "{\"promote\": [3, 4]}\n\nOnce more: {\"promote\":[3,4]}",
            "{\"promote\": [3, 4], \"why\": \"<think> and </think>\"}",
            "{\"promote\": [3, 4], \"why\": \"<|channel|>final<|message|> ends it\"}",
            "<|channel|>analysis<|message|>In <|channel|>final, hm.<|end|><|channel|>final<|message|>{\"promote\": [3, 4], \"why\": \"<|channel|>final\"}",
            "{\"promote\": [3, 4], \"why\": \"half \\ud83d\"}",
            "{\"promote\": [3, 4]} <think>Was that right? {\"promote\": [9]}",
            "\u{feff}{\"promote\": [3, 4]}",
            "{\"promote\": [3, 4,],}",
            "{\"promote\": [3, // the third\n 4]}",
            "{/* two */ \"promote\": [3, 4]}",
            "{\"promote\": [3, 4], \"why\": \"one\nand // two, }\"}",
            r#""{\"promote\": [3, 4]}""#,
        ] {
            assert_eq!(promoted(answer), Ok(vec![3, 4]), "{answer}");
        }
    }

    #[test]
    fn spec_2_5_an_unreadable_answer_is_reported_by_kind() {
        for (answer, code) in [
            ("", "no_json"),
            ("I would promote the third one.", "no_json"),
            ("[3, 4]", "no_json"),
            ("{\"promoted\": [3]}", "no_json"),
            ("{\"promote\": [3, 4", "broken_off"),
            ("{\"promote\": \"3\"}", "wrong_form"),
            ("{\"promote\": [-3]}", "wrong_form"),
            ("<think>{\"promote\": [3]}", "no_json"),
            ("{promote: [3]}", "no_json"),
            (
                "Draft: {\"promote\": []}\nFinal: {\"promote\": [3]}",
                "two_answers",
            ),
            ("{\"promote\": []}\nFinal: {\"promote\": [3", "broken_off"),
            (
                "{\"promote\": \"none yet\"} {\"promote\": [3]}",
                "two_answers",
            ),
        ] {
            assert_eq!(promoted(answer), Err(code), "{answer}");
        }
        let deep = "{\"a\":".repeat(10_000);
        assert!(promoted(&deep).is_err());
    }

    #[test]
    fn spec_2_6_a_draft_in_the_reasoning_of_any_model_is_no_answer() {
        for (open, close) in REASONING {
            let drafts = [
                format!("{open}{{\"promote\": [9]}}{close}{{\"promote\": [3, 4]}}"),
                format!("{{\"promote\": [9]}}{close}{{\"promote\": [3, 4]}}"),
                format!(
                    "Gladly. {}hm {{\"promote\": [9]}}{} {{\"promote\": [3, 4]}}",
                    open.to_uppercase(),
                    close.to_lowercase()
                ),
                format!("{open}one{close}{open}{{\"promote\": [9]}}{close}{{\"promote\": [3, 4]}}"),
            ];
            for answer in drafts {
                assert_eq!(promoted(&answer), Ok(vec![3, 4]), "{answer}");
            }
            let endless = format!("{open}{{\"promote\": [9]}}");
            assert_eq!(promoted(&endless), Err("no_json"), "{endless}");
        }
        for mark in ANSWERING {
            let answer =
                format!("<think>{{\"promote\": [9]}}</think>{mark}{{\"promote\": [3, 4]}}");
            assert_eq!(promoted(&answer), Ok(vec![3, 4]), "{answer}");
        }
    }

    proptest! {
        #[test]
        fn spec_2_5_no_answer_is_too_odd(answer in any::<String>()) {
            let _ = promoted(&answer);
        }
    }
}
