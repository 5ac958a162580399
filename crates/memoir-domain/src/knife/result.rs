//! What a tool answers, the same over every door.

use serde::Serialize;

use crate::{
    PrivateText, Timestamp,
    audit::LostWords,
    knife::Refusal,
    loss::WordAllowance,
    memory::{Number, Tags},
    session::Stats,
    wording::Origin,
};

/// One memory found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the wire names of a memory")]
pub struct SearchHit {
    pub number: Number,
    pub content: PrivateText,
    pub created_at: Timestamp,
    pub tokens: u64,
    pub constitutional: bool,
    pub tags: Tags,
    /// Where that is weaker than the agent's own word, outside of the text, since no text may claim one (SPEC 2.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// What is let go, or would be: the sentences that say less, and the words that go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the wire names")]
pub struct Lost {
    pub details: Vec<PrivateText>,
    pub words: Vec<PrivateText>,
}

impl Lost {
    /// `None` where nothing is.
    pub fn of(lost: &[LostWords]) -> Option<Self> {
        let words = lost.iter().flat_map(|lost| lost.words.iter().cloned());
        (!lost.is_empty()).then(|| Self {
            details: lost.iter().map(|lost| lost.sentence.clone()).collect(),
            words: words.collect(),
        })
    }
}

/// What the session has left after an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EditsLeft {
    /// Edits that can still be made.
    pub edits_left: u32,
    /// Tokens that can still go before everything is undone.
    pub removable_tokens: u64,
}

/// What some refusals tell beside their text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[expect(missing_docs, reason = "the wire names")]
pub struct RefusalDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_say: Vec<PrivateText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<PrivateText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<WordAllowance>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<PrivateText>,
}

impl RefusalDetails {
    fn of(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::WordsAdded { added, passes, .. } => Self {
                added: added.clone(),
                passes: passes.clone(),
                ..Self::default()
            },
            // Without `lost`: of a constitutional text single words are named, which stand in the text, not
            // sentences with what they lose.
            Refusal::NotTightened { added, .. } => Self {
                added: added.clone(),
                ..Self::default()
            },
            Refusal::WordingGutted {
                lost,
                would_say,
                passes,
                ..
            } => Self {
                lost: Lost::of(lost),
                would_say: would_say.clone(),
                passes: passes.clone(),
                ..Self::default()
            },
            Refusal::LossLimit {
                lost, allowance, ..
            } => Self {
                lost: Lost::of(lost),
                allowance: Some(*allowance),
                ..Self::default()
            },
            Refusal::WordsLost {
                lost,
                second,
                confirm,
                ..
            } => Self {
                lost: Lost::of(lost),
                would_say: second.would_say.clone(),
                passes: second.passes.clone(),
                confirm: Some(confirm.clone()),
                ..Self::default()
            },
            // The others are about numbers and forms, which their sentence says in full.
            _ => Self::default(),
        }
    }
}

/// A tool's answer in its wire form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the wire names of the results")]
pub enum ToolResult {
    SearchResults {
        query: Option<PrivateText>,
        /// All that match, also where only the first are in `results`.
        count: usize,
        results: Vec<SearchHit>,
        /// What to do where not all are in `results`.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    Consolidated {
        merged_count: usize,
        number: Number,
        content: PrivateText,
        #[serde(skip_serializing_if = "Option::is_none")]
        lost: Option<Lost>,
        #[serde(flatten)]
        left: EditsLeft,
    },
    Updated {
        number: Number,
        content: PrivateText,
        #[serde(skip_serializing_if = "Option::is_none")]
        lost: Option<Lost>,
        #[serde(flatten)]
        left: EditsLeft,
    },
    Deleted {
        number: Number,
        /// The memory that says all of it, and stands for it from now on.
        #[serde(skip_serializing_if = "Option::is_none")]
        carried_by: Option<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        lost: Option<Lost>,
        #[serde(flatten)]
        left: EditsLeft,
    },
    Protected {
        number: Number,
    },
    RefinementComplete {
        summary: PrivateText,
        stats: Stats,
        pre_session_tokens: u64,
        post_session_tokens: u64,
    },
    RefinementRolledBack {
        reason: String,
        stats: Stats,
        pre_session_tokens: u64,
        post_session_tokens: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<PrivateText>,
    },
    Error {
        code: &'static str,
        error: PrivateText,
        #[serde(flatten)]
        more: Box<RefusalDetails>,
    },
}

impl ToolResult {
    /// Whether the session ended with it.
    pub fn ends_session(&self) -> bool {
        matches!(
            self,
            Self::RefinementComplete { .. } | Self::RefinementRolledBack { .. }
        )
    }

    /// The text that a model is sent: one line of JSON in which memories stay data (SPEC 3.6).
    pub fn for_model(&self) -> PrivateText {
        crate::quote::quote_json(self).into()
    }
}

impl From<Refusal> for ToolResult {
    fn from(refusal: Refusal) -> Self {
        Self::Error {
            code: refusal.code(),
            error: refusal.for_agent(),
            more: Box::new(RefusalDetails::of(&refusal)),
        }
    }
}
