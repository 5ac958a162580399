//! An account's agents as a list that can be sorted and searched: what each of them comes to, never what it says.

use memoir_domain::{AgentId, SessionId, Timestamp, session::Health};
use serde::{Deserialize, Serialize};

use crate::{AgentRow, AuditRow, SessionColumns, SessionRow};

/// By what a list of agents is sorted; agents that are alike in it come by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FleetOrder {
    /// The folded name.
    #[default]
    Name,
    /// The core size as a share of the budget.
    Share,
    /// When its last session was begun; those without one come first.
    LastSession,
    /// How it is; the worst comes first.
    Health,
    /// When the schedule asks it: first those that are due, last those that it leaves alone.
    Next,
    /// How many tokens a session that begins now could remove.
    Breaker,
    /// Archived originals as a share of all originals; the least first. For an agent without originals it is 0.
    Archived,
    /// How many requests for access are open.
    Access,
}

/// Which of an account's agents are wanted, and in which order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetQuery {
    /// Those whose folded name holds this text, which a store is given folded; all where it is blank.
    pub text: String,
    /// Those of this health, by [`Health::from_row`]; `None` for all.
    pub health: Option<Health>,
    /// The sort key.
    pub order: FleetOrder,
    /// The reverse order; those of one rank come by name nevertheless.
    pub descending: bool,
    /// So many are passed over.
    pub offset: u64,
    /// At most so many.
    pub limit: u32,
}

/// One page of an account's agents at a time.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Deref)]
pub struct FleetPage {
    /// Which of them.
    #[deref]
    pub query: FleetQuery,
    /// Which of them are due is judged at this time.
    pub now: Timestamp,
    /// The latest weekly slot; `None` where there was none.
    pub latest_slot: Option<Timestamp>,
    /// Each agent comes with its sessions that were begun since.
    pub sessions_since: Timestamp,
}

/// The most sessions with which an agent of a page comes: the weekly ones of a quarter.
pub const SESSIONS_AT_ONCE: u32 = 13;

/// One page of a list of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSlice {
    /// How many agents the whole list has.
    pub total: u64,
    /// How many agents of each health have such a name, in the order of [`Health::ALL`].
    pub by_health: [u64; Health::ALL.len()],
    /// Those of the page.
    pub agents: Vec<FleetRow>,
}

impl FleetSlice {
    /// The slice of `page` with its counts by health.
    pub fn new(page: &FleetPage, counts: Vec<(u64, u64)>, agents: Vec<FleetRow>) -> Self {
        let mut by_health = [0; Health::ALL.len()];
        for (rank, count) in counts {
            let place = usize::try_from(rank).ok();
            if let Some(counted) = place.and_then(|place| by_health.get_mut(place)) {
                *counted = count;
            }
        }
        let total = match page.health {
            Some(health) => by_health[health as usize],
            None => by_health.iter().sum(),
        };
        Self {
            total,
            by_health,
            agents,
        }
    }
}

/// An agent in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetRow {
    /// The agent.
    pub agent: AgentRow,
    /// The session begun last, rehearsals included; `None` where there was none.
    pub last_session: Option<FleetSession>,
    /// Its sessions that were begun since [`FleetPage::sessions_since`], oldest first: the last [`SESSIONS_AT_ONCE`].
    pub sessions: Vec<FleetSession>,
    /// Access requests that wait for an answer or can be used.
    pub open_requests: u64,
}

/// The place of a record among those of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordPlace {
    /// When it was written.
    pub recorded_at: Timestamp,
    /// Whose it is.
    pub agent: AgentId,
    /// Its place in the agent's log.
    pub seq: u64,
}

/// In which order an account's records are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordOrder {
    /// By time, agent and place.
    #[default]
    OldestFirst,
    /// The other way round.
    NewestFirst,
}

/// A record of any agent, without its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetRecord {
    /// Whose it is.
    pub agent: AgentId,
    /// The agent's name.
    pub agent_name: String,
    /// The record.
    pub record: AuditRow<()>,
}

impl From<SessionRow> for FleetSession {
    /// Without its words.
    fn from(row: SessionRow) -> Self {
        Self {
            id: row.id,
            columns: row.columns,
            version: row.document.version,
            open: row.document.open,
        }
    }
}

/// A session in a list of agents: its unsealed part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSession {
    /// Its identifier.
    pub id: SessionId,
    /// The columns by which it is found and sorted.
    pub columns: SessionColumns,
    /// Its document's version.
    pub version: u64,
    /// The open part of its document.
    pub open: String,
}
