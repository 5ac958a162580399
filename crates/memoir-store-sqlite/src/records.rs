//! Records of logs, narrowed: those of one agent, and those of all agents of an account without their words.

use memoir_domain::{AccountId, AgentScope, Timestamp};
use memoir_store::{
    AuditRow, FleetRecord, RecordFilter, RecordOrder, RecordPlace, RecordQuery, select,
};
use rusqlite::{Connection, params, params_from_iter};

use crate::{
    agent::{all, first, numbered},
    decode::{self, DatabaseRow, RowReader},
    encode::{Bound, count},
    error::Result,
    reader::ReadTransaction,
};

/// Whether an actor's name holds a text.
const CONTAINS: &str = "instr(lower(audit_records.actor_name), lower(?)) > 0";

fn read_all<T>(
    connection: &Connection,
    query: RecordQuery<'_>,
    read: impl Fn(&dyn DatabaseRow) -> memoir_store::Result<T>,
) -> Result<Vec<T>> {
    let values = params_from_iter(query.values.into_iter().map(Bound));
    all(connection, &query.sql, values, read)
}

pub(crate) const RECORDS: &str = select!(record, "FROM audit_records");
pub(crate) const SIZES: &str = select!(record_size, "FROM audit_records");
/// Behind these, for the records of one memory. Without counts of its rows, SQLite takes a log for short.
pub(crate) const BY_MEMORY: &str = " INDEXED BY audit_records_by_memory";

/// Entries of the index of times that are read at most, of all agents together: that takes less than a millisecond.
const TIMES: u32 = 4_096;

/// Whether all entries since a time were read, and the agent's first place among them.
// By the index and not by halving the log: where a clock was set back, an earlier record may be dated later.
const FIRST_SINCE: &str = "SELECT count(*) < ?3, min(CASE WHEN agent_id = ?1 THEN seq END) FROM \
     (SELECT agent_id, seq FROM audit_records INDEXED BY audit_records_by_time WHERE recorded_at >= ?2 LIMIT ?3)";

/// A place before which the agent has no record since that time; 0 where too much was written since.
fn first_since(connection: &Connection, agent: &[u8; 16], since: Timestamp) -> Result<i64> {
    let values = params![agent, since.microseconds(), TIMES];
    let mut statement = connection.prepare_cached(FIRST_SINCE)?;
    let (are_all, first): (bool, Option<i64>) =
        statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let first = first.unwrap_or(i64::MAX);
    Ok(if are_all { first } else { 0 })
}

/// The records of an agent that is known to be the account's, as far as they match, oldest first.
pub(crate) fn of_agent<T>(
    connection: &Connection,
    scope: AgentScope,
    filter: &RecordFilter,
    select: &str,
    read: RowReader<T>,
) -> Result<Vec<T>> {
    // No record has a number that SQLite cannot hold.
    let Ok(mut from_seq) = count(filter.from_seq, "audit_records", "seq") else {
        return Ok(Vec::new());
    };
    // A session's and a memory's records have indexes of their own.
    if let (Some(since), None, None) = (filter.since, filter.session, filter.memory) {
        from_seq = from_seq.max(first_since(connection, scope.agent.as_bytes(), since)?);
    }
    let index = filter.memory.map_or("", |_| BY_MEMORY);
    let select = [select, index].concat();
    let query = RecordQuery::of_agent((&scope, true), filter, &select, from_seq, CONTAINS);
    let mut records = read_all(connection, query, read)?;
    if filter.last.is_some() {
        // The last ones are read from the end, which costs as many steps as are wanted however long
        // the log is, and given in the order of the log.
        records.reverse();
    }
    Ok(records)
}

/// The records of an account's agents that match, in that order, from after a place on.
pub(crate) fn of_account(
    connection: &Connection,
    account: AccountId,
    filter: &RecordFilter,
    (order, after, limit): (RecordOrder, Option<RecordPlace>, u32),
) -> Result<Vec<FleetRecord>> {
    let _view = ReadTransaction::new(connection)?;
    let order = (order, after.as_ref(), limit);
    // The index by time leads, and each record's agent is looked up: a sort of all records would not end.
    let query = RecordQuery::of_account(&account, filter, order, "CROSS JOIN", CONTAINS);
    read_all(connection, query, decode::fleet_record)
}

pub(crate) const RECORD_AT: &str = select!(
    record,
    "FROM audit_records WHERE agent_id = ?1 AND seq = ?2 \
         AND EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?3)"
);

/// The records at these places of the agent's log. Each is a search by itself, so that there may be more
/// of them than one statement takes values.
pub(crate) fn at(
    connection: &Connection,
    scope: AgentScope,
    seqs: &[u64],
) -> Result<Vec<AuditRow>> {
    let _view = ReadTransaction::over(connection, seqs.len())?;
    numbered(seqs.iter().copied(), |seq| {
        let values = params![scope.agent.as_bytes(), seq, scope.account.as_bytes()];
        first(connection, RECORD_AT, values, decode::record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_2_6_the_use_of_a_day_is_read_from_the_first_record_of_that_day_on() {
        let search =
            "SEARCH audit_records USING COVERING INDEX audit_records_by_time (recorded_at>?)";
        assert_eq!(crate::agent::searches(FIRST_SINCE)[0], search);
        let connection = crate::open::in_memory().unwrap();
        let write = |agent: u8, seq: u32, recorded_at: u32| {
            let sql = format!(
                "INSERT INTO audit_records VALUES (CAST(printf('%016d', {agent}) AS BLOB), {seq}, {recorded_at}, \
                     'agent', 'wren', 'memory_saved', NULL, NULL, 1, zeroblob(32), zeroblob(32), '{{}}', x'01')"
            );
            connection.execute_batch(&sql).unwrap();
        };
        connection
            .execute_batch("PRAGMA foreign_keys = OFF")
            .unwrap();
        let first = |since| {
            let since = Timestamp::from_microseconds(since).unwrap();
            first_since(&connection, b"0000000000000001", since).unwrap()
        };
        // At the third one the clock was set back.
        for (seq, recorded_at) in [(1, 10), (2, 40), (3, 20), (4, 30)] {
            write(1, seq, recorded_at);
        }
        write(2, 1, 50);
        for (since, expected) in [(10, 1), (11, 2), (40, 2), (41, i64::MAX)] {
            assert_eq!(first(since), expected, "{since}");
        }
        for seq in 2..=TIMES {
            write(2, seq, 60);
        }
        assert_eq!(first(40), 0, "too much was written since");
        assert_eq!(first(61), i64::MAX);
    }
}
