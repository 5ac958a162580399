//! The text for the agent's runtime (SPEC 2.3).

use memoir_domain::{PrivateText, context};
use memoir_store::Selection;
use serde::Serialize;

use crate::{AgentHandle, RefinementDue, Result, memories::wanted};

/// The context as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct ContextView {
    /// Empty where there are no memories.
    pub text: PrivateText,
    pub core_tokens: u64,
    pub journal_tokens: u64,
    /// Whether a session is due now, and why.
    pub refinement_due: Option<RefinementDue>,
}

impl AgentHandle {
    /// The kept core memories and the last week's journal, in at most `max_tokens` where given.
    ///
    /// # Errors
    /// The store fails.
    pub async fn context(&self, max_tokens: Option<u64>) -> Result<ContextView> {
        let now = self.memoir.now();
        let selection = Selection::Context {
            journal_after: context::journal_since(now),
        };
        let loaded = self.load(&wanted(selection)).await?;
        let bounds = context::Bounds::of(&loaded.agent.settings, max_tokens);
        let context = context::build(&loaded.memories, now, bounds);
        Ok(ContextView {
            text: context.text,
            core_tokens: context.core_tokens,
            journal_tokens: context.journal_tokens,
            refinement_due: self.memoir.refinement_due(&loaded.agent),
        })
    }
}
