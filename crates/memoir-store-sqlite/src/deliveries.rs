//! Pending notifications of ended sessions, by receiver. Triggers enter them in the transaction that ends the session.

use async_trait::async_trait;
use memoir_domain::{SessionId, Timestamp};
use memoir_store::{Deliveries, DeliveryRow, ReceiverDigest, Result};
use rusqlite::{Connection, params};

use crate::{
    SqliteStore,
    agent::{all, first},
    decode::{self, Columns},
    encode::one,
    error::{self, inconsistent},
    fault,
    writer::WriteOutcome,
};

#[async_trait]
impl Deliveries for SqliteStore {
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
