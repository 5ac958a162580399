//! How an agent is, for lists that show first who needs attention.

use super::State;

wire_names! {
    /// How an agent is. The worst comes first.
    pub enum Health {
        /// Its last session failed: the model's provider gave no usable response.
        Failed = "failed" => "its last session failed",
        OverBudget = "over_budget" => "over budget",
        RolledBack = "rolled_back" => "its last session was rolled back",
        /// None of these.
        InOrder = "in_order" => "in order",
    }
}

impl Health {
    /// Decides it from an agent's row: the state of the session begun last, rehearsals included (`None` where there was
    /// none), and the core size as a share of the budget, in millionths. Stores sort and filter by the same rule.
    pub fn from_row(last: Option<State>, budget_share: u64) -> Self {
        match last {
            Some(State::Failed) => Self::Failed,
            _ if budget_share > 1_000_000 => Self::OverBudget,
            Some(State::RolledBack) => Self::RolledBack,
            Some(
                State::Queued
                | State::Asking
                | State::Open
                | State::Completed
                | State::Declined
                | State::Abandoned,
            )
            | None => Self::InOrder,
        }
    }

    /// Its place in [`Health::ALL`], by which lists are sorted.
    pub const fn rank(self) -> u32 {
        self as u32
    }
}
