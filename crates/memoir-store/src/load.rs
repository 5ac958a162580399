//! What a fleet is doing at the moment, in numbers.

use memoir_domain::{Timestamp, session::Driver};

/// Counts over all accounts, all of the same instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetLoad {
    /// Agents that are not erased.
    pub agents: u64,
    /// Sessions that Memoir drives and no process leases: those in the queue, and those released while they ran.
    pub waiting: u64,
    /// When the one of them that was begun first was begun; `None` where none waits.
    pub waiting_since: Option<Timestamp>,
    /// Leased running sessions, by driver; drivers without any are omitted.
    pub held: Vec<HeldSessions>,
}

/// Running sessions of one kind of driver that are held under a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldSessions {
    /// Who drives them.
    pub driver: Driver,
    /// How many there are, at least 1.
    pub sessions: u64,
    /// When the first of their leases lapses, or did.
    pub first_until: Timestamp,
}
