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
                return serde_json::from_value(value).map_err(|_| {
                    Unreadable::new(
                        "wrong_form",
                        format!("the JSON object with `{key}` is not of the form asked for"),
                    )
                });
            }
            Some(Ok(_)) | None => {}
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

/// What follows a block of thinking; all of it where there is none.
fn without_thinking(answer: &str) -> &str {
    match answer.trim_start().strip_prefix("<think>") {
        Some(thinking) => thinking.split_once("</think>").map_or("", |(_, said)| said),
        None => answer,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wanted {
        promote: Vec<u64>,
    }

    fn promoted(answer: &str) -> Result<Vec<u64>, &'static str> {
        read::<Wanted>(answer, "promote")
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
