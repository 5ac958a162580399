//! The progress of a session for its watchers: numbers and codes, and only for a refusal the agent's own text.

use std::borrow::Cow;

use memoir_domain::{
    PrivateText, SessionId,
    memory::Number,
    tools::{RefusalCode, ToolRequest, ToolResult},
};
use serde::Serialize;

use super::ToolOutcome;
use crate::{sessions::OpenedSession, shown::SessionFacts};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Progress {
    /// The session was begun.
    Begun {
        /// Its identifier.
        session: SessionId,
        /// The agent's name.
        agent: String,
        /// The model that runs it.
        model: String,
        /// Whether it works on a copy.
        rehearsal: bool,
    },
    /// The agent was asked for its consent.
    Asked,
    /// It agreed.
    Agreed,
    /// It did not.
    Declined {
        /// Its response; empty for viewers without access to the agent's text.
        words: PrivateText,
    },
    /// Duplicates were merged, and the session tools were given.
    Opened {
        /// Duplicates discarded.
        duplicates_removed: usize,
        /// The core size now.
        pre_session_tokens: u64,
        /// The breaker's threshold.
        threshold: f64,
        /// If more tokens than these go, everything is undone.
        removable_tokens: u64,
        /// The same in words, with the limit that states it.
        limit: String,
        /// Rows of the ledger.
        listed: usize,
        /// Rows left out of it.
        left_out: usize,
    },
    /// A tool was called and changed something.
    Edited {
        /// The tool.
        tool: &'static str,
        /// The memories named; a new one is last.
        memories: Vec<Number>,
        /// How many of them moved to the archive.
        archived: usize,
        /// The core size and the distance to the breaker.
        #[serde(flatten)]
        measure: Measure,
    },
    /// A tool was called and returned without changing anything.
    Answered {
        /// The tool, or `unknown`.
        tool: &'static str,
        /// The code of a refusal.
        refused: Option<RefusalCode>,
    },
    /// The breaker tripped, and everything was rolled back.
    Tripped {
        /// The core size and the tokens that edits could still remove.
        #[serde(flatten)]
        measure: Measure,
    },
    /// The model stopped without completing and was reminded.
    Reminded,
    /// The model call failed and will be repeated.
    Waiting {
        /// How long until then.
        seconds: f64,
        /// Why.
        problem: String,
    },
    /// The session ended.
    Ended {
        /// Its current state.
        session: Box<SessionFacts>,
    },
}

/// The core size around a call, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// Before it.
    pub core_tokens_before: u64,
    /// After it.
    pub core_tokens_after: u64,
    /// If more tokens than these go, everything is undone.
    pub removable_tokens: u64,
}

impl Progress {
    /// A copy for viewers without access to the agent's text. The text of a refusal is read under a grant, and then
    /// recorded; watching reads without a grant.
    pub(crate) fn wordless(&self) -> Cow<'_, Self> {
        match self {
            Self::Declined { .. } => Cow::Owned(Self::Declined {
                words: PrivateText::default(),
            }),
            progress => Cow::Borrowed(progress),
        }
    }

    pub(super) fn opened(opened: &OpenedSession) -> Self {
        let allowance = opened.gauge.allowance();
        Self::Opened {
            duplicates_removed: opened.duplicates_removed,
            pre_session_tokens: opened.gauge.pre_session_tokens,
            threshold: opened.gauge.threshold.share(),
            removable_tokens: allowance.tokens,
            limit: allowance.to_string(),
            listed: opened.ledger.listed,
            left_out: opened.ledger.left_out.0 + opened.ledger.left_out.1,
        }
    }

    pub(super) fn called(request: &ToolRequest, called: &ToolOutcome) -> Self {
        let tool = request
            .tool
            .map_or("unknown", memoir_domain::tools::Tool::as_str);
        // A call in an ended session is not measured, so it has no gauges.
        let Some((before, after)) = called.gauges else {
            return Self::Answered {
                tool,
                refused: Some(RefusalCode::SessionOver),
            };
        };
        let measure = Measure {
            core_tokens_before: before.core_tokens,
            core_tokens_after: after.core_tokens,
            removable_tokens: after.allowance().tokens,
        };
        let mut memories = request.numbers().to_vec();
        let archived = match &called.result {
            ToolResult::Consolidated {
                number, archived, ..
            }
            | ToolResult::Updated {
                number, archived, ..
            } => {
                memories.extend(Some(*number).filter(|number| !memories.contains(number)));
                archived.len()
            }
            ToolResult::Deleted { archived, .. } => archived.len(),
            ToolResult::Protected { .. } => 0,
            ToolResult::RefinementRolledBack { .. } => return Self::Tripped { measure },
            ToolResult::SearchResults { .. }
            | ToolResult::RefinementComplete { .. }
            | ToolResult::Error { .. } => {
                let refused = called.result.refusal();
                return Self::Answered { tool, refused };
            }
        };
        Self::Edited {
            tool,
            memories,
            archived,
            measure,
        }
    }
}
