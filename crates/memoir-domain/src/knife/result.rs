//! What a tool answers, the same over every door.

use serde::Serialize;

use crate::{
    PrivateText, Timestamp,
    knife::Refusal,
    memory::{Number, Tags},
    session::Stats,
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
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lost_details: Vec<PrivateText>,
    },
    Updated {
        number: Number,
        content: PrivateText,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lost_details: Vec<PrivateText>,
    },
    Deleted {
        number: Number,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lost_details: Vec<PrivateText>,
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
        }
    }
}
