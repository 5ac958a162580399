//! Stored summaries of stretches of logs.

use memoir_domain::AgentScope;
use memoir_store::SummaryRow;
use rusqlite::{Connection, params};

use crate::{
    agent::{all, exists},
    decode::{self, summary_columns},
    encode::{BoundText, count},
    error::Result,
    reader::ReadTransaction,
    writer::WriteOutcome,
};

const SUMMARIES: &str = concat!(
    "SELECT ",
    summary_columns!(),
    " FROM log_summaries WHERE agent_id = ?1 AND last_seq > ?2 ORDER BY last_seq LIMIT ?3"
);

/// Those that end after that record, in their order.
pub(crate) fn after(
    connection: &Connection,
    scope: AgentScope,
    seq: u64,
    limit: u32,
) -> Result<Vec<SummaryRow>> {
    let _view = ReadTransaction::new(connection)?;
    if !exists(connection, scope)? {
        return Ok(Vec::new());
    }
    // No record has a number that SQLite cannot hold.
    let Ok(seq) = count(seq, "log_summaries", "last_seq") else {
        return Ok(Vec::new());
    };
    // From the beginning on no row is passed over, and one of a place that no record has is found.
    let seq = if seq == 0 { i64::MIN } else { seq };
    let values = params![scope.agent.as_bytes(), seq, limit];
    all(connection, SUMMARIES, values, decode::summary)
}

/// Keeps them where the agent is of that version.
pub(crate) fn keep(
    connection: &Connection,
    scope: AgentScope,
    expected_version: u64,
    summaries: &[SummaryRow],
) -> Result<WriteOutcome<bool>> {
    let version = count(expected_version, "agents", "version")?;
    let is_as_expected: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2 AND version = ?3)",
        )?
        .query_row(
            params![scope.agent.as_bytes(), scope.account.as_bytes(), version],
            |row| row.get(0),
        )?;
    // A summary of text that is being shredded must not be kept. Every shredding increments the agent's version, and
    // only one transaction writes at a time.
    if !is_as_expected {
        return Ok(WriteOutcome::unchanged(false));
    }
    let mut insert = connection.prepare_cached(
        // Two concurrent processes make the same summary.
        "INSERT INTO log_summaries (agent_id, last_seq, hash, body) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (agent_id, last_seq) DO NOTHING",
    )?;
    for summary in summaries {
        insert.execute(params![
            scope.agent.as_bytes(),
            count(summary.last_seq, "log_summaries", "last_seq")?,
            summary.hash,
            BoundText(&summary.body),
        ])?;
    }
    Ok(WriteOutcome::with(true))
}

/// Deletes all of an agent's.
pub(crate) fn forget(connection: &Connection, agent: &[u8; 16]) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM log_summaries WHERE agent_id = ?1")?
        .execute([agent])?;
    Ok(())
}
