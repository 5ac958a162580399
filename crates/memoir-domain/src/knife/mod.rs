//! The knife: the six tools of a session, what they take, what they answer, and when they refuse
//! (SPEC 3.8 to 3.12).

mod call;
mod edit;
mod measure;
mod refusal;
mod result;
mod search;

use serde_json::{Value, json};

pub(crate) use call::read_number;
pub use call::{KnifeCall, KnifeRequest};
pub use edit::{CallOutcome, Trip, View, decide, session_gauge};
pub use refusal::{LossAdvice, NearestMemory, Refusal, RefusalCode};
pub use result::{EditsLeft, Lost, RefusalDetails, SearchHit, ToolResult};
pub use search::{SEARCH_LIMIT, search};

use crate::session::Mode;

wire_names! {
    /// One of the six.
    pub enum Tool {
        /// `search_memories`
        Search = "search_memories",
        /// `consolidate_memories`
        Consolidate = "consolidate_memories",
        /// `update_memory`
        Update = "update_memory",
        /// `delete_memory`
        Delete = "delete_memory",
        /// `protect_memory`
        Protect = "protect_memory",
        /// `complete_refinement`
        Complete = "complete_refinement",
    }
}

impl Tool {
    /// Whether `mode` has it (SPEC 3.17).
    pub fn is_in(self, mode: Mode) -> bool {
        match mode {
            Mode::Full => true,
            Mode::DedupOnly => !matches!(self, Self::Consolidate | Self::Update),
        }
    }

    /// Whether a success of it is an edit, counted against the cap (SPEC 3.11).
    pub fn is_edit(self) -> bool {
        matches!(self, Self::Consolidate | Self::Update | Self::Delete)
    }

    /// What the model is told that it does.
    pub fn description(self) -> &'static str {
        match self {
            Self::Search => {
                "Find your kept core memories by a piece of text, whatever the case, or by their origin date, \
                 oldest first. Give at least one of the three."
            }
            Self::Consolidate => {
                "Unite two to five core memories that say the same into one with the text you give: their sentences, \
                 word for word, each once. It takes their earliest date and all their tags. Counts as one edit."
            }
            Self::Update => {
                "Tighten the wording of one core memory: its sentences stay as they are, but for words that say \
                 nothing by themselves. Nothing is added. Counts as one edit."
            }
            Self::Delete => {
                "Discard one core memory that another one makes superfluous. Rare: only for doubles. Counts as one edit."
            }
            Self::Protect => {
                "Make one core memory constitutional: no session can delete or merge it any more."
            }
            Self::Complete => {
                "End the session with a short summary of what you did and why. Zero edits is a good outcome."
            }
        }
    }

    /// The JSON schema of what it takes. What may be left out is not among the required, and everything has one
    /// plain type: providers refuse lists of types.
    pub fn parameters(self) -> Value {
        let number = json!({"type": "integer", "minimum": 1, "description": "The memory's number, such as 17 for #17."});
        let content =
            json!({"type": "string", "description": "The whole new text, 1 to 10000 characters."});
        let confirm = json!({"type": "string",
            "description": "The code of an earlier answer, to do what it asked about."});
        let time = |which: &str| {
            json!({"type": "string",
                   "description": format!("{which} origin date, such as 2026-03-01 or 2026-03-01T04:00:00Z.")})
        };
        let (properties, required) = match self {
            Self::Search => (
                json!({
                    "query": {"type": "string", "description": "A piece of text to find as it stands."},
                    "since": time("The earliest"),
                    "until": time("The latest"),
                }),
                json!([]),
            ),
            Self::Consolidate => (
                json!({
                    "ids": {"type": "array", "items": {"type": "integer", "minimum": 1},
                            "description": "The numbers of two or more memories, such as [17, 21]."},
                    "content": content,
                    "confirm": confirm,
                }),
                json!(["ids", "content"]),
            ),
            Self::Update => (
                json!({"id": number, "content": content, "confirm": confirm}),
                json!(["id", "content"]),
            ),
            Self::Delete => (json!({"id": number, "confirm": confirm}), json!(["id"])),
            Self::Protect => (json!({"id": number}), json!(["id"])),
            Self::Complete => (
                json!({
                    "summary": {"type": "string", "description": "What you did and why, 1 to 2000 characters."},
                }),
                json!(["summary"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}
