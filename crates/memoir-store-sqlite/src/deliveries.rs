//! Pending notifications of ended sessions, by receiver. Triggers enter them in the transaction that ends the session.

use async_trait::async_trait;
use memoir_domain::{SessionId, Timestamp};
use memoir_store::{Deliveries, DeliveryRow, ReceiverDigest, Result};
use rusqlite::{Connection, params};

use crate::{
    SqliteStore,
    agent::{all, execute, first},
    decode::{self, Columns},
    encode::one,
    error::{self, inconsistent},
    fault,
    writer::{BULK_ROWS, WriteOutcome},
};

#[async_trait]
impl Deliveries for SqliteStore {
    async fn register_receivers(
        &self,
        receivers: &[ReceiverDigest],
        now: Timestamp,
        forget_before: Timestamp,
        reopen: bool,
    ) -> Result<()> {
        let receivers = receivers.to_vec();
        let register = move |connection: &Connection| {
            let mut enter = connection.prepare_cached(
                "INSERT INTO receivers (digest, seen_at) VALUES (?1, ?2) \
         ON CONFLICT (digest) DO UPDATE SET seen_at = excluded.seen_at, \
             closed_at = CASE WHEN ?3 THEN NULL ELSE closed_at END",
            )?;
            for receiver in &receivers {
                let entered = enter.execute(params![receiver, now.microseconds(), reopen])?;
                one(entered, "receivers")?;
            }
            fault::point("receivers.registered");
            let before = forget_before.microseconds();
            // Deliveries before receivers, since they refer to them.
            let deliveries = "DELETE FROM deliveries \
                 WHERE receiver IN (SELECT digest FROM receivers WHERE seen_at < ?1)";
            execute(connection, deliveries, [before])?;
            let receivers = "DELETE FROM receivers WHERE seen_at < ?1";
            execute(connection, receivers, [before])?;
            fault::point("receivers.forgotten");
            Ok(WriteOutcome::DONE)
        };
        self.write(BULK_ROWS, register).await
    }

    async fn claim_deliveries(
        &self,
        receiver: &ReceiverDigest,
        now: Timestamp,
        (until, latest): (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<DeliveryRow>> {
        let receiver = *receiver;
        // Called all the time, and mostly there is nothing to write.
        let is_any_due = self
            .look(move |connection| Ok(!due(connection, &receiver, now, latest, 1)?.is_empty()))
            .await?;
        if !is_any_due {
            return Ok(Vec::new());
        }
        let claim = move |connection: &Connection| {
            let mut claim = connection.prepare_cached(
                // As with transcripts: the lease moves the due time, so that a delivery is due again if the process
                // dies. The count of attempts is the lease's number; resolving under an older one changes nothing.
                "UPDATE deliveries SET attempt = attempt + 1, due_at = ?3 \
         WHERE receiver = ?1 AND session_id = ?2",
            )?;
            let look = "SELECT session_id, agents.id, agents.account_id, deliveries.attempt \
                 FROM deliveries JOIN sessions ON sessions.id = deliveries.session_id \
                     JOIN agents ON agents.id = sessions.agent_id \
                 WHERE receiver = ?1 AND session_id = ?2";
            let mut deliveries = Vec::new();
            for session in due(connection, &receiver, now, latest, limit)? {
                let key = params![receiver, session.as_bytes()];
                let claimed = params![receiver, session.as_bytes(), until.microseconds()];
                one(claim.execute(claimed)?, "deliveries")?;
                let found = first(connection, look, key, decode::claimed_delivery)?;
                let missing = || inconsistent("deliveries", format!("{session} is no session"));
                deliveries.push(found.ok_or_else(missing)?);
            }
            fault::point("deliveries.claimed");
            Ok(WriteOutcome::with(deliveries))
        };
        self.write(limit as usize, claim).await
    }

    async fn close_receiver(&self, receiver: &ReceiverDigest, now: Timestamp) -> Result<()> {
        let receiver = *receiver;
        self.write(BULK_ROWS, move |connection| {
            let close = "UPDATE receivers SET closed_at = ?2 WHERE digest = ?1";
            execute(connection, close, params![receiver, now.microseconds()])?;
            let forget = "DELETE FROM deliveries WHERE receiver = ?1";
            execute(connection, forget, [receiver])?;
            fault::point("receiver.closed");
            Ok(WriteOutcome::DONE)
        })
        .await
    }
}

/// Two ranges of the index of what is due.
const DUE: &str = "SELECT session_id, due_at FROM deliveries WHERE receiver = ?1 AND due_at <= ?2 \
     UNION ALL \
     SELECT session_id, due_at FROM deliveries WHERE receiver = ?1 AND due_at > ?3 \
     ORDER BY due_at, session_id LIMIT ?4";

fn due(
    connection: &Connection,
    receiver: &ReceiverDigest,
    now: Timestamp,
    latest: Timestamp,
    limit: u32,
) -> error::Result<Vec<SessionId>> {
    let values = params![receiver, now.microseconds(), latest.microseconds(), limit];
    all(connection, DUE, values, |row| {
        Columns::new(row, "deliveries").id()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_found_by_the_index() {
        let plan = crate::agent::plan(DUE);
        let searches = plan.iter().filter(|step| step.contains("deliveries"));
        for step in searches {
            assert!(
                step.starts_with("SEARCH deliveries USING COVERING INDEX deliveries_due"),
                "{plan:?}"
            );
        }
    }
}
