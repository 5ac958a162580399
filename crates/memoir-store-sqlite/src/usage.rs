//! What an account and its agents use. Reads indexes and the lengths of records' bodies, no text.

use memoir_domain::{AccountId, AgentId, Timestamp};
use memoir_store::StoredUsage;
use rusqlite::{Connection, params};

use crate::{
    agent::{all, first},
    decode::{Columns, DatabaseRow, message_counts},
    error::Result,
    reader::ReadTransaction,
};

const AGENTS: &str =
    "SELECT id FROM agents WHERE account_id = ?1 AND (?2 IS NULL OR id = ?2) ORDER BY id";

// Each part by an index that holds nothing but what is counted.
const MEMORIES: &str = "SELECT \
     (SELECT count(*) FROM memories WHERE agent_id = ?1 AND kind = 'core' AND discarded_at IS NULL) + \
     (SELECT count(*) FROM memories WHERE agent_id = ?1 AND kind = 'journal' AND discarded_at IS NULL) + \
     (SELECT count(*) FROM memories WHERE agent_id = ?1 AND kind = 'archival' AND discarded_at IS NULL) + \
     (SELECT count(*) - count(shredded_at) FROM memories \
         WHERE agent_id = ?1 AND discarded_at IS NOT NULL)";

const DRIVEN: &str = "SELECT count(*) FROM sessions \
     WHERE agent_id = ?1 AND started_at > ?2 AND driver = 'model'";

const WAITING: &str = "SELECT count(*), coalesce(sum(tokens), 0) FROM transcript_messages \
     WHERE agent_id = ?1 AND state = 'pending'";

pub(crate) const WAITING_OF_ACCOUNT: &str = "SELECT count(*), coalesce(sum(transcript_messages.tokens), 0) FROM agents \
     CROSS JOIN transcript_messages INDEXED BY transcript_messages_pending \
     WHERE agents.account_id = ?1 AND agent_id = agents.id AND state = 'pending'";

const HANDED: &str = "SELECT coalesce(sum(counted_bytes), 0) FROM transcript_messages \
     WHERE agent_id = ?1 AND received_at > ?2 AND counted_bytes > 0";

const RECORDS: &str = "SELECT recorded_at, CASE actor_kind WHEN 'agent' THEN length(body) ELSE 0 END \
     FROM audit_records WHERE agent_id = ?1 ORDER BY seq DESC";

/// As of one instant.
pub(crate) fn usage(
    connection: &Connection,
    account: AccountId,
    agent: Option<AgentId>,
    since: Timestamp,
) -> Result<StoredUsage> {
    let _view = ReadTransaction::new(connection)?;
    let agent = agent.as_ref().map(|agent| &agent.as_bytes()[..]);
    let values = params![account.as_bytes(), agent];
    let id = |row: &dyn DatabaseRow| Columns::new(row, "agents").id();
    let agents: Vec<[u8; 16]> = all(connection, AGENTS, values, id)?;
    let mut usage = StoredUsage::default();
    for agent in &agents {
        let count = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Result<u64> {
            let found: i64 = connection
                .prepare_cached(sql)?
                .query_row(values, |row| row.get(0))?;
            // A count of rows is never negative.
            Ok(found.unsigned_abs())
        };
        usage.memories += count(MEMORIES, &[agent])?;
        usage.handed_bytes += count(HANDED, &[agent, &since.microseconds()])?;
        let waiting = first(connection, WAITING, [agent], message_counts)?;
        let waiting = [usage.waiting, waiting.unwrap_or_default()];
        usage.waiting = waiting.into_iter().sum();
        usage.driven_sessions += count(DRIVEN, &[agent, &since.microseconds()])?;
        let mut records = connection.prepare_cached(RECORDS)?;
        let mut records = records.query([agent])?;
        // From the newest on: of a long log no more is read than was written in the time.
        while let Some(row) = records.next()? {
            if row.get::<_, i64>(0)? <= since.microseconds() {
                break;
            }
            usage.log_bytes += row.get::<_, i64>(1)?.unsigned_abs();
        }
    }
    Ok(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_memory_is_read_to_count_them() {
        for (sql, index) in [
            (MEMORIES, "COVERING INDEX memories_"),
            (DRIVEN, "INDEX sessions_by_start"),
            (WAITING, "COVERING INDEX transcript_messages_sums"),
            (WAITING_OF_ACCOUNT, "COVERING INDEX "),
            (HANDED, "COVERING INDEX transcript_messages_counted"),
            (RECORDS, "SEARCH audit_records USING PRIMARY KEY"),
        ] {
            let steps = crate::agent::plan(sql);
            let reads = steps.iter().filter(|step| step.starts_with("SEARCH"));
            let mut reads = reads.peekable();
            assert!(reads.peek().is_some(), "{steps:?}");
            assert!(reads.all(|step| step.contains(index)), "{steps:?}");
        }
    }
}
