//! Reading a model's answer that is to be JSON (SPEC 2.5, 2.6).
//!
//! Models wrap what they are asked for into thinking, fences and polite sentences. What is looked for is
//! the answer's first JSON object that has the expected key; how it is wrapped does not matter. Whatever
//! is wrong with it is told without a word of it.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why an answer could not be used. Holds no words of it, so that it can be recorded in the open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unreadable {
    /// Names the fault in one of a few kinds, for counting and for records.
    pub code: &'static str,
    /// What is wrong, and what is expected, for the model that is asked once more.
    pub problem: String,
}

impl Unreadable {
    pub(crate) fn new(code: &'static str, problem: impl Into<String>) -> Self {
        Self {
            code,
            problem: problem.into(),
        }
    }
}

/// The first JSON object in `answer` that has `key`.
///
/// # Errors
/// There is none, it breaks off, or it is not of the form of `T`.
pub(crate) fn read<T: DeserializeOwned>(answer: &str, key: &str) -> Result<T, Unreadable> {
    let said = without_thinking(answer);
    let mut broken_off = false;
    for (start, _) in said.match_indices('{') {
        let mut values = serde_json::Deserializer::from_str(&said[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if value.get(key).is_some() => {
                // What serde says of a value can quote it.
                return serde_json::from_value(value).map_err(|_| {
                    Unreadable::new(
                        "wrong_form",
                        format!("the JSON object with `{key}` is not of the form asked for"),
                    )
                });
            }
            Some(Ok(_)) | None => {}
            // Told only where no later brace begins the object: a brace in the sentence before it breaks off
            // too.
            Some(Err(error)) => broken_off |= error.is_eof(),
        }
    }
    Err(if broken_off {
        Unreadable::new("broken_off", "the JSON object breaks off; give it whole")
    } else {
        Unreadable::new(
            "no_json",
            format!("there is no JSON object with `{key}` in it"),
        )
    })
}

/// Tags between which models think.
const THINKING: [&str; 8] = [
    "think",
    "thinking",
    "thought",
    "reasoning",
    "reason",
    "analysis",
    "reflection",
    "scratchpad",
];
/// Tags between which models put what they answer after that.
const ANSWERING: [&str; 4] = ["answer", "final", "output", "response"];

/// What an answer says: without the blocks of thinking and the marks of channels that stand before it, and
/// without a tag around it. Empty where the thinking does not end.
pub(crate) fn without_thinking(answer: &str) -> &str {
    let mut said = of_channel(answer.trim_start_matches('\u{feff}').trim());
    loop {
        said = said.trim_start();
        if let Some((name, inside)) = opened(said, &THINKING) {
            said = after_closing(inside, name).unwrap_or("");
        } else if let Some((_, inside)) = opened(said, &ANSWERING) {
            said = inside;
        } else {
            break;
        }
    }
    // Where the opening tag was part of what the model was sent, only the closing one is in its answer.
    THINKING
        .iter()
        .filter(|name| find(said, &format!("<{name}>")).is_none())
        .find_map(|name| after_closing(said, name))
        .unwrap_or(said)
        .trim_start()
}

/// The name of the tag that the text begins with, where it is one of `names`, and what follows it.
fn opened<'a>(text: &'a str, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
    names.iter().find_map(|name| {
        let tag = format!("<{name}>");
        let begins = text
            .get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(&tag));
        begins.then(|| (*name, &text[tag.len()..]))
    })
}

fn after_closing<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let tag = format!("</{name}>");
    find(text, &tag).map(|at| &text[at + tag.len()..])
}

/// Where `wanted`, which is ASCII, first stands in the text, whatever the case.
fn find(text: &str, wanted: &str) -> Option<usize> {
    // A byte below 128 is never part of a longer character, so that callers may cut the text there.
    text.as_bytes()
        .windows(wanted.len())
        .position(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// What is said in the last channel of an answer that still has the marks of channels in it.
fn of_channel(answer: &str) -> &str {
    const FINAL: &str = "<|channel|>final";
    const MESSAGE: &str = "<|message|>";
    // Marks as such, and what is left of them where a server takes special tokens out.
    // The last one: what was thought before it may quote the mark.
    if let Some(at) = answer.rfind(FINAL) {
        let after = &answer[at + FINAL.len()..];
        return after.split_once(MESSAGE).map_or("", |(_, said)| said);
    }
    if answer.starts_with("analysis")
        && let Some((_, said)) = answer.rsplit_once("assistantfinal")
    {
        return said;
    }
    // Nothing but thinking: the answer was cut off before its last channel.
    if answer.starts_with("<|channel|>") {
        return "";
    }
    if let Some(thought) = answer.strip_prefix("<|channel>") {
        return thought
            .split_once("<channel|>")
            .map_or("", |(_, said)| said);
    }
    answer
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Example {
        promote: Vec<u64>,
    }

    fn promoted(answer: &str) -> Result<Vec<u64>, &'static str> {
        read::<Example>(answer, "promote")
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
            "\u{feff}{\"promote\": [3, 4]}",
        ] {
            assert_eq!(promoted(answer), Ok(vec![3, 4]), "{answer}");
        }
    }

    #[test]
    fn spec_2_5_what_cannot_be_read_is_told_by_kind() {
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
        ] {
            assert_eq!(promoted(answer), Err(code), "{answer}");
        }
        let deep = "{\"a\":".repeat(10_000);
        assert!(promoted(&deep).is_err());
    }

    proptest! {
        #[test]
        fn spec_2_5_no_answer_is_too_odd(answer in any::<String>()) {
            let _ = promoted(&answer);
        }
    }
}
