//! Refinement sessions: beginning, opening, the tools, the ends, undoing, rehearsing, and the loop that
//! drives a model through one (SPEC 3).

mod begin;
mod calls;
pub mod drive;
mod end;
mod listeners;
mod live;
mod own;
mod queue;
mod recent;
mod rehearse;
mod sweep;
mod turns;
mod undo;
mod unwritten;

use std::sync::Arc;

use memoir_domain::{PrivateText, agent::LossGuard, session::Mode, tools::Tool};
use memoir_model::OfferedTool;

use self::listeners::LapsedSessions;
use crate::core::{CommitListener, ModuleStates, agent_part};

pub use memoir_domain::lifecycle::OpenedSession;

pub use begin::RefineOptions;
pub(crate) use begin::room;
pub use drive::{Observer, Progress};
pub use live::{Live, LiveEvent, LiveRecord, LiveSession, SeenUpTo};
pub(crate) use own::own_lease_time;
pub use queue::LeasedSession;
pub(crate) use recent::Recent;
pub use rehearse::{
    AppliedCoreSize, AppliedRehearsal, NotApplied, NotAppliedReason, RehearsalFacts,
    RehearsedChangeFacts, RehearsedMemory,
};
pub use sweep::{Scheduled, Scheduler};
pub use turns::Turns;
pub use undo::RollBackPreview;
pub(crate) use unwritten::{Unwritten, UnwrittenCounts};

pub(crate) fn enter(
    states: ModuleStates,
    listeners: &mut Vec<Arc<dyn CommitListener>>,
) -> ModuleStates {
    let unwritten = Arc::<Unwritten>::default();
    let recent = Arc::<Recent>::default();
    listeners.push(unwritten.clone());
    listeners.push(recent.clone());
    listeners.push(Arc::new(LapsedSessions));
    states.with(unwritten).with(recent)
}

/// The tools of a session under that loss guard as they are offered to a model.
pub fn tool_definitions(mode: Mode, guard: Option<LossGuard>) -> Vec<OfferedTool> {
    let is_off = guard == Some(LossGuard::Off);
    Tool::ALL
        .into_iter()
        .filter(|tool| tool.is_in(mode))
        .map(|tool| OfferedTool {
            name: tool.as_str().to_owned(),
            description: tool.description(is_off).to_owned(),
            parameters: tool.parameters(is_off),
        })
        .collect()
}

/// A text of the agent, cut to `kept` characters where it has more than `most`, with a mark (SPEC 2.1: nothing is cut
/// silently).
pub(crate) fn bounded(words: PrivateText, most: usize, kept: usize) -> PrivateText {
    let length = words.chars();
    if length <= most {
        return words;
    }
    let begin: String = words.expose().chars().take(kept).collect();
    format!("{begin} […{} more characters]", length - kept).into()
}

agent_part! {
    /// The refinement sessions of one agent.
    Sessions, sessions
}
