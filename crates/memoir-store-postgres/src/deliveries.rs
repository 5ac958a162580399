//! Pending notifications of ended sessions, by receiver. Triggers enter them in the transaction that ends the session.

use async_trait::async_trait;
use memoir_domain::Timestamp;
use memoir_store::{Deliveries, DeliveryRow, Reach, ReceiverDigest, Result, decode};

use crate::{PostgresStore, pool::Statement, value::all};

#[async_trait]
impl Deliveries for PostgresStore {
    async fn claim_deliveries(
        &self,
        receiver: &ReceiverDigest,
        now: Timestamp,
        (until, latest): (Timestamp, Timestamp),
        limit: u32,
    ) -> Result<Vec<DeliveryRow>> {
        let due = "receiver = $1 AND (due_at <= $2 OR due_at > $3)";
        // Called all the time, and mostly there is nothing to write.
        let is_any = format!("SELECT 1 FROM deliveries WHERE {due} LIMIT 1");
        let values = values![receiver, now, latest];
        let found = self.connections.rows(Reach::All, is_any, values);
        if found.await?.is_empty() {
            return Ok(Vec::new());
        }
        // `SKIP LOCKED`: several processes notify at the same time, and each leases what no other one leases.
        let claim = format!(
            "WITH claimed AS (UPDATE deliveries SET attempt = attempt + 1, due_at = $4 \
                 FROM (SELECT session_id AS id, due_at AS was_due FROM deliveries WHERE {due} \
                     ORDER BY due_at, session_id LIMIT $5 FOR UPDATE SKIP LOCKED) AS next \
                 WHERE receiver = $1 AND session_id = next.id \
                 RETURNING session_id, attempt, next.was_due) \
             SELECT claimed.session_id, agents.id, agents.account_id, claimed.attempt \
             FROM claimed JOIN sessions ON sessions.id = claimed.session_id JOIN agents ON agents.id = sessions.agent_id \
             ORDER BY claimed.was_due, claimed.session_id"
        );
        let values = values![receiver, now, latest, until, limit];
        let answers = self
            .connections
            .write(Reach::All, &[Statement::new(claim, values)])
            .await?;
        all(&answers.concat(), decode::claimed_delivery)
    }
}
