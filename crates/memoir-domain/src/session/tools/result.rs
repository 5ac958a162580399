//! The results of the session tools, the same over every interface.

use serde::Serialize;

use crate::{
    memory::{Kind, Memory, Number, Tags, origin::Origin},
    session::{
        Stats,
        tools::{Refusal, RefusalCode},
    },
    text::private::PrivateText,
    time::Timestamp,
};

view! {
    /// One memory found.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
    #[expect(missing_docs, reason = "the wire names of a memory")]
    pub struct SearchHit from memory: &Memory, read_under: Option<Number>;
    pub number: Number = memory.number,
    pub kind: Kind = memory.kind(),
    pub content: PrivateText = memory.content.clone(),
    pub created_at: Timestamp = memory.created_at,
    pub tokens: u64 = memory.tokens(),
    pub constitutional: bool = memory.is_constitutional(),
    pub tags: Tags = memory.tags.clone(),
    /// Where that is weaker than `agent`; it is outside of the text (SPEC 2.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin> = memory.weak_origin(),
    pub is_summary: bool = memory.is_summary,
    pub under: Option<Number> = read_under,
}

/// The remaining room of the session after an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AfterEdit {
    /// Edits that can still be made.
    pub edits_left: u32,
    /// Tokens that can still leave before the breaker trips or the floor of SPEC 3.14 is reached.
    pub removable_tokens: u64,
    /// The core size now.
    pub core_tokens: u64,
    /// The budget.
    pub budget: u64,
}

/// The lists that some refusals have beside their text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[expect(missing_docs, reason = "the wire names")]
pub struct RefusalDetails {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<PrivateText>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Number>,
}

impl RefusalDetails {
    fn of(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Unsupported(added) => Self {
                added: added.clone(),
                ..Self::default()
            },
            Refusal::AgeLimit { numbers, .. } => Self {
                members: numbers.clone(),
                ..Self::default()
            },
            // The others are about numbers and forms, which their sentence names in full.
            _ => Self::default(),
        }
    }
}

/// A tool's result in its wire form.
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
        /// The new memory, or the one that stays.
        number: Number,
        content: PrivateText,
        is_summary: bool,
        archived: Vec<Number>,
        #[serde(flatten)]
        after: AfterEdit,
    },
    Updated {
        /// The new memory where the words changed.
        number: Number,
        content: PrivateText,
        is_summary: bool,
        archived: Vec<Number>,
        #[serde(flatten)]
        after: AfterEdit,
    },
    Deleted {
        /// The first one.
        number: Number,
        /// The memory that the first one is under.
        under: Option<Number>,
        archived: Vec<Number>,
        #[serde(flatten)]
        after: AfterEdit,
    },
    Protected {
        number: Number,
    },
    RefinementComplete {
        summary: PrivateText,
        stats: Stats,
        archived: u32,
        summaries: u32,
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
        code: RefusalCode,
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

    /// The code of a refusal; `None` of other results.
    pub fn refusal(&self) -> Option<RefusalCode> {
        match self {
            Self::Error { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The text for a model: one line of JSON in which memories stay data (SPEC 3.6).
    pub fn for_model(&self) -> PrivateText {
        crate::text::quote::quote_json(self).into()
    }
}

impl From<Refusal> for ToolResult {
    fn from(refusal: Refusal) -> Self {
        Self::Error {
            code: refusal.code(),
            error: refusal.to_string().into(),
            more: Box::new(RefusalDetails::of(&refusal)),
        }
    }
}
