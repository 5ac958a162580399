//! Pending notifications of ended sessions, by receiver.

use async_trait::async_trait;
use memoir_domain::{AgentScope, SessionId, Timestamp};

use crate::Result;

/// The digest that a receiver is known by: the store never learns its address.
pub type ReceiverDigest = [u8; 32];

/// An attempt at telling a receiver that a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Whose session it was.
    pub scope: AgentScope,
    /// The session.
    pub session: SessionId,
    /// Which attempt it is, from 1.
    pub attempt: u32,
}

/// Pending notifications of ended sessions to external receivers: content-blind, of all accounts. Every commit that
/// ends a session enters the end for each receiver that is registered and open then. Sessions that come with a new
/// agent ended elsewhere, and are not entered.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Leases deliveries that are due at `now`, those longest due first, at most `limit` of them. Each counts as an
    /// attempt, and is due again at `until` unless it is resolved before. Those due later than `latest` count as due,
    /// since the clock must have been set back. Concurrent callers lease different ones.
    async fn claim_deliveries(
        &self,
        receiver: &ReceiverDigest,
        now: Timestamp,
        (until, latest): (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<DeliveryRow>>;
}
