//! The session tools: the six tools of a session, what they take, what they return, and when they refuse
//! (SPEC 3.8 to 3.14).

mod call;
mod edit;
mod refusal;
mod result;
mod search;

use serde_json::{Value, json};

pub use call::{
    MEMBERS_LIMIT, MemorySearch, ToolCall, ToolRequest, read_arguments, read_count, read_list,
    read_number, read_numbers, read_words,
};
pub(crate) use edit::session_guard;
pub use edit::{CallOutcome, SessionLimits, Trip, View, decide, session_gauge};
pub use refusal::{Refusal, RefusalCode, TextLimit};
pub use result::{AfterEdit, RefusalDetails, SearchHit, ToolResult};
pub use search::{SEARCH_LIMIT, search};

use crate::agent::Mode;

wire_names! {
    /// One of the six.
    pub enum Tool {
        Search = "search_memories" => "search",
        Consolidate = "consolidate_memories" => "consolidate",
        Update = "update_memory" => "rewrite",
        Delete = "delete_memory" => "archive",
        Protect = "protect_memory" => "protect",
        Complete = "complete_refinement" => "complete",
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

    /// Its description for the model; `is_off` under the guard `off`. The other's first sentence is true under each.
    pub fn description(self, is_off: bool) -> &'static str {
        match self {
            Self::Consolidate if is_off => "Merge two to ten core memories into one. One edit.",
            Self::Update if is_off => "Rewrite one core memory in place. One edit.",
            Self::Delete if is_off => "Discard one to ten core memories. One edit.",
            Self::Search => {
                "Find your core and archival memories by a piece of text, whatever the case, or by their origin \
                 date, oldest first. Give at least one of the three."
            }
            Self::Consolidate => {
                "Put two to ten core memories together. With the text of one of them as content, that one stays \
                 and the others move to the archive. With another text (over the budget only) a summary takes \
                 their place, and all of them move to the archive. One edit."
            }
            Self::Update => {
                "Tighten one core memory. The new text gets a new number, and the original moves to the archive. \
                 One edit."
            }
            Self::Delete => {
                "Take one to ten core memories out of the prompt. They move to the archive, word for word. \
                 One edit."
            }
            Self::Protect => {
                "Make one core memory constitutional: no session can delete, consolidate or archive it."
            }
            Self::Complete => "End the session with a short report. Zero edits is a good outcome.",
        }
    }

    /// The JSON schema of its arguments. Each has one plain type, since providers refuse lists of types; what may be
    /// left out is not required. `is_off` under the loss guard `off`, which has no rules of the archive.
    pub fn parameters(self, is_off: bool) -> Value {
        let number = |text: &str| json!({"type": "integer", "minimum": 1, "description": text});
        let numbers = |text: &str| json!({"type": "array", "items": {"type": "integer", "minimum": 1}, "description": text});
        let content = |text: &str| json!({"type": "string", "description": text});
        let either = |off: &str, other: &str| content(if is_off { off } else { other });
        let time = |which: &str| {
            json!({"type": "string",
                   "description": format!("{which} origin date, such as 2026-03-01 or 2026-03-01T04:00:00Z.")})
        };
        let one = "The memory's number, such as 17 for #17.";
        let several = "The numbers of one to ten memories, such as [17].";
        let (properties, required) = match self {
            Self::Search => (
                json!({
                    "query": {"type": "string", "description": "A piece of text as it stands in the memory."},
                    "since": time("The earliest"),
                    "until": time("The latest"),
                }),
                json!([]),
            ),
            Self::Consolidate => (
                json!({
                    "ids": numbers("The numbers of two to ten memories, such as [17, 21]."),
                    "content": either("The whole merged text.",
                        "The text of the one that stays, word for word; or the whole summary."),
                }),
                json!(["ids", "content"]),
            ),
            Self::Update => (
                json!({
                    "id": number(one),
                    "content": either("The whole new text.", "The whole new text, no longer than the present one."),
                }),
                json!(["id", "content"]),
            ),
            Self::Delete if is_off => (json!({"ids": numbers(several)}), json!(["ids"])),
            Self::Delete => (
                json!({
                    "ids": numbers(several),
                    "replaced_by": number("A core memory that says the same or corrects it; may be left out."),
                }),
                json!(["ids"]),
            ),
            Self::Protect => (json!({"id": number(one)}), json!(["id"])),
            Self::Complete => (
                json!({
                    "summary": content("The report: what you did and why, 1 to 2000 characters."),
                }),
                json!(["summary"]),
            ),
        };
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }
}
