//! Records of logs, narrowed: those of one agent, and those of all agents of an account without their words.

use memoir_domain::{AccountId, AgentScope, SessionId, Timestamp, memory::Number};
use memoir_store::{
    AuditRow, FleetRecord, RecordFilter, RecordOrder, RecordPlace, columns, select,
};
use rusqlite::{Connection, ToSql, params, types::Value};

use crate::{
    agent::{all, first, numbered},
    decode::{self, DatabaseRow, RowReader},
    encode::count,
    error::Result,
    reader::ReadTransaction,
};

struct Conditions {
    sql: String,
    values: Vec<Value>,
}

impl Conditions {
    /// Adds a condition; its `?` placeholders take the values in order.
    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql += " AND ";
        let mut values = values.into_iter();
        for character in condition.chars() {
            self.sql.push(character);
            if character == '?' {
                self.values.extend(values.next());
                self.sql += &self.values.len().to_string();
            }
        }
    }

    /// The conditions of a filter, except for places.
    fn add_filter(&mut self, filter: &RecordFilter) -> Result<()> {
        let time = |at: Timestamp| [Value::Integer(at.microseconds())];
        let text = |text: &str| Value::Text(text.to_owned());
        if let Some(session) = &filter.session {
            self.add(
                "session_id = ?",
                [Value::Blob(SessionId::as_bytes(session).to_vec())],
            );
        }
        if !filter.actions.is_empty() {
            let places = vec!["?"; filter.actions.len()].join(", ");
            let names = filter.actions.iter().map(|action| text(action.as_str()));
            self.add(&format!("action IN ({places})"), names);
        }
        // Nothing that comes from outside is ever put into the text of the statement, numbers
        // included: the text has only the places.
        if let Some(Number(number)) = filter.memory {
            // No memory has a number that SQLite cannot hold.
            let number = count(number, "audit_records", "memory").unwrap_or(-1);
            self.add("memory = ?", [Value::Integer(number)]);
        }
        if let Some(since) = filter.since {
            self.add("recorded_at >= ?", time(since));
        }
        if let Some(until) = filter.until {
            self.add("recorded_at <= ?", time(until));
        }
        if let Some(kind) = filter.actor {
            self.add("actor_kind = ?", [text(kind.as_str())]);
        }
        if let Some(name) = &filter.actor_name {
            self.add("instr(lower(actor_name), lower(?)) > 0", [text(name)]);
        }
        Ok(())
    }

    fn all<T>(
        &self,
        connection: &Connection,
        sql: &str,
        read: impl Fn(&dyn DatabaseRow) -> memoir_store::Result<T>,
    ) -> Result<Vec<T>> {
        let values: Vec<&dyn ToSql> = self.values.iter().map(|value| value as _).collect();
        all(connection, sql, values.as_slice(), read)
    }
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
    let mut conditions = Conditions {
        sql: format!("{select}{index} WHERE agent_id = ?1 AND seq >= ?2"),
        values: vec![
            Value::Blob(scope.agent.as_bytes().to_vec()),
            Value::Integer(from_seq),
        ],
    };
    conditions.add_filter(filter)?;
    // Every number that SQLite can hold is before one that it cannot.
    let before = filter
        .before_seq
        .and_then(|seq| count(seq, "audit_records", "seq").ok());
    if let Some(before) = before {
        conditions.add("seq < ?", [Value::Integer(before)]);
    }
    // The two counts are `u32`, so that what is put into the text here can only be digits.
    let order = match (filter.last, filter.first) {
        (Some(last), _) => format!(" ORDER BY seq DESC LIMIT {last}"),
        (None, Some(first)) => format!(" ORDER BY seq LIMIT {first}"),
        (None, None) => " ORDER BY seq".to_owned(),
    };
    let sql = format!("{}{order}", conditions.sql);
    let mut records = conditions.all(connection, &sql, read)?;
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
    let (turn, follows) = match order {
        RecordOrder::OldestFirst => ("ASC", ">"),
        RecordOrder::NewestFirst => ("DESC", "<"),
    };
    let _view = ReadTransaction::new(connection)?;
    let mut conditions = Conditions {
        // The index by time leads, and each record's agent is looked up: a sort of all records would not end.
        sql: concat!(
            "SELECT audit_records.agent_id, agents.name, ",
            columns!(wordless_record),
            " FROM audit_records CROSS JOIN agents ON agents.id = audit_records.agent_id \
              WHERE agents.account_id = ?1 AND agents.id <> ?1"
        )
        .to_owned(),
        values: vec![Value::Blob(account.as_bytes().to_vec())],
    };
    conditions.add_filter(filter)?;
    if let Some(RecordPlace {
        recorded_at,
        agent,
        seq,
    }) = after
    {
        // A cursor comes from a client, and may hold anything.
        let seq = count(seq, "audit_records", "seq").unwrap_or(i64::MAX);
        conditions.add(
            // Time alone would leave out or repeat records of the same microsecond, of which an import has thousands.
            &format!("(recorded_at, audit_records.agent_id, seq) {follows} (?, ?, ?)"),
            [
                Value::Integer(recorded_at.microseconds()),
                Value::Blob(agent.as_bytes().to_vec()),
                Value::Integer(seq),
            ],
        );
    }
    let sql = format!(
        "{} ORDER BY recorded_at {turn}, audit_records.agent_id {turn}, seq {turn} LIMIT {limit}",
        conditions.sql
    );
    conditions.all(connection, &sql, decode::fleet_record)
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
    // One statement is a view by itself.
    let _view = match seqs {
        [_] => None,
        _ => Some(ReadTransaction::new(connection)?),
    };
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
