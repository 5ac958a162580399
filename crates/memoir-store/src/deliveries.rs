//! Which ends of sessions are still to be told, and to whom.

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

/// The ends of sessions that are to be told to receivers outside: content-blind, of all accounts. Every
/// commit in which a session ends enters the end for each receiver that is registered and open then; the
/// sessions that come with a new agent ended elsewhere, and are not entered.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Registers receivers, or notes that they are still wanted at `now`. With `reopen`, those that were
    /// closed are opened again. Receivers that nobody noted since `forget_before` are forgotten, with what
    /// was to be told to them.
    async fn register_receivers(
        &self,
        receivers: &[ReceiverDigest],
        now: Timestamp,
        forget_before: Timestamp,
        reopen: bool,
    ) -> Result<()>;

    /// Claims deliveries that are due at `now`, those longest due first, at most `limit` of them: each is
    /// counted as an attempt, and is due again at `until` unless it is settled before. Those that are due
    /// so late that the clock must have been put back since are taken for due: later than `latest`. Of
    /// callers at the same time each claims others.
    async fn claim_deliveries(
        &self,
        receiver: &ReceiverDigest,
        now: Timestamp,
        (until, latest): (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<DeliveryRow>>;

    /// Ends a delivery (`None`), or makes it due again at that time. `false`, and nothing is written, where
    /// it was claimed again since, or is gone.
    async fn settle_delivery(
        &self,
        receiver: &ReceiverDigest,
        delivery: &DeliveryRow,
        again_at: Option<Timestamp>,
    ) -> Result<bool>;

    /// Closes a receiver: nothing more is told to it, nor entered for it, until it is registered anew with
    /// `reopen`.
    async fn close_receiver(&self, receiver: &ReceiverDigest, now: Timestamp) -> Result<()>;
}
