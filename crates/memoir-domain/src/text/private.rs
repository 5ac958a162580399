//! Text that must never be printed by accident: memories, tags, prompts, summaries, transcripts (SPEC 5.1).
//!
//! `Debug` and `Display` of these types print lengths only, so that no log line, error chain, panic message or test
//! snapshot reveals the text. Reading it takes an explicit call of [`PrivateText::expose`] or [`PrivateJson::expose`].

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use crate::text::wiped::wipe;

/// Text that belongs to an agent. `Debug` and `Display` print the length in characters only.
#[derive(
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    derive_more::Debug,
    derive_more::Display,
    derive_more::From,
)]
#[display("[{} characters]", self.chars())]
#[debug("PrivateText({} characters)", self.chars())]
#[serde(transparent)]
pub struct PrivateText(String);

impl PrivateText {
    /// Takes ownership of `words`, unchanged.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// The text. The caller is responsible for its further use.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text, by value.
    pub fn into_exposed(self) -> String {
        self.0
    }

    /// Length in Unicode scalar values.
    pub fn chars(&self) -> usize {
        self.0.chars().count()
    }

    /// Whether there is no character at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Zeroize for PrivateText {
    /// Empties it, and overwrites its memory.
    fn zeroize(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        // Up to its room: a longer text may have been there before.
        bytes.resize(bytes.capacity(), 0);
        wipe(&mut bytes);
    }
}

impl From<&str> for PrivateText {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

/// JSON that may hold an agent's text, such as a model's message or a tool's arguments.
/// `Debug` prints the size of its compact form in bytes only.
#[derive(
    Clone, PartialEq, Eq, Default, Serialize, Deserialize, derive_more::Debug, derive_more::From,
)]
#[debug("PrivateJson({} bytes)", self.0.to_string().len())]
#[serde(transparent)]
pub struct PrivateJson(serde_json::Value);

impl PrivateJson {
    /// Takes ownership of `value`, unchanged.
    pub fn new(value: serde_json::Value) -> Self {
        Self(value)
    }

    /// The value. The caller is responsible for its further use.
    pub fn expose(&self) -> &serde_json::Value {
        &self.0
    }

    /// The value, by value.
    pub fn into_exposed(self) -> serde_json::Value {
        self.0
    }
}
