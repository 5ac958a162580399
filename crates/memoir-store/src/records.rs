//! The statements for records of logs, narrowed: those of one agent, and those of all agents of an account.

use memoir_domain::{AccountId, AgentScope, SessionId};

use crate::{RecordFilter, RecordOrder, RecordPlace, Value, columns, encode::count, values};

/// A statement that is made for each filter, and its values.
// Nothing that comes from outside is ever put into the text, but for counts of 32 bits: the text has only the places.
pub struct RecordQuery<'filter> {
    /// The text.
    pub sql: String,
    /// The values of its places.
    pub values: Vec<Value<'filter>>,
}

impl<'filter> RecordQuery<'filter> {
    /// The records of an agent that match, in the order of the log, or from its end for [`RecordFilter::last`]. `select`
    /// is what is read of `audit_records`; `from_seq` is the first place; `contains` is the condition that `?` is in an
    /// actor's name. Asks for the account too, unless it `is_theirs` as the caller knows.
    pub fn of_agent(
        (scope, is_theirs): (&'filter AgentScope, bool),
        filter: &'filter RecordFilter,
        select: &str,
        from_seq: i64,
        contains: &str,
    ) -> Self {
        let mut query = Self {
            sql: format!("{select} WHERE audit_records.agent_id = $1 AND audit_records.seq >= $2"),
            values: values![scope.agent.as_bytes(), from_seq].into(),
        };
        if !is_theirs {
            let theirs =
                "EXISTS (SELECT 1 FROM agents WHERE agents.id = $1 AND agents.account_id = ?)";
            query.add(theirs, values![scope.account.as_bytes()]);
        }
        query.add_filter(filter, contains);
        // Every number that a column can hold is before one that it cannot.
        let before = filter.before_seq.map(i64::try_from);
        if let Some(Ok(before)) = before {
            query.add("audit_records.seq < ?", values![before]);
        }
        query.sql += &match (filter.last, filter.first) {
            (Some(last), _) => format!(" ORDER BY audit_records.seq DESC LIMIT {last}"),
            (None, Some(first)) => format!(" ORDER BY audit_records.seq LIMIT {first}"),
            (None, None) => " ORDER BY audit_records.seq".to_owned(),
        };
        query
    }

    /// The records of an account's agents that match, without words, in that order, from after a place on. `join`
    /// joins `audit_records` with the agents.
    pub fn of_account(
        account: &'filter AccountId,
        filter: &'filter RecordFilter,
        (order, after, limit): (RecordOrder, Option<&'filter RecordPlace>, u32),
        join: &str,
        contains: &str,
    ) -> Self {
        let (turn, follows) = match order {
            RecordOrder::OldestFirst => ("ASC", ">"),
            RecordOrder::NewestFirst => ("DESC", "<"),
        };
        const COLUMNS: &str = columns!(wordless_record);
        let mut query = Self {
            sql: format!(
                "SELECT audit_records.agent_id, agents.name, {COLUMNS} \
                 FROM audit_records {join} agents ON agents.id = audit_records.agent_id \
                 WHERE agents.account_id = $1 AND agents.id <> $1"
            ),
            values: values![account.as_bytes()].into(),
        };
        query.add_filter(filter, contains);
        if let Some(place) = after {
            // A cursor comes from a client, and may hold anything.
            let seq = i64::try_from(place.seq).unwrap_or(i64::MAX);
            query.add(
                // Time alone would leave out or repeat records of the same microsecond, of which an import has
                // thousands.
                &format!(
                    "(audit_records.recorded_at, audit_records.agent_id, audit_records.seq) {follows} (?, ?, ?)"
                ),
                values![place.recorded_at, place.agent.as_bytes(), seq],
            );
        }
        query.sql += &format!(
            " ORDER BY audit_records.recorded_at {turn}, audit_records.agent_id {turn}, audit_records.seq {turn} \
             LIMIT {limit}"
        );
        query
    }

    /// Adds a condition; its `?` placeholders take the values in order.
    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = Value<'filter>>) {
        self.sql += " AND ";
        let mut values = values.into_iter();
        for character in condition.chars() {
            if character == '?' {
                self.values.extend(values.next());
                self.sql += &format!("${}", self.values.len());
            } else {
                self.sql.push(character);
            }
        }
    }

    /// The conditions of a filter, except for places.
    fn add_filter(&mut self, filter: &'filter RecordFilter, contains: &str) {
        if let Some(session) = &filter.session {
            self.add(
                "audit_records.session_id = ?",
                values![SessionId::as_bytes(session)],
            );
        }
        if !filter.actions.is_empty() {
            let places = vec!["?"; filter.actions.len()].join(", ");
            let names = filter
                .actions
                .iter()
                .map(|action| Value::from(action.as_str()));
            self.add(&format!("audit_records.action IN ({places})"), names);
        }
        if let Some(number) = filter.memory {
            // No memory has a number that a column cannot hold.
            let number = count(number.0, "audit_records", "memory").unwrap_or(-1);
            self.add("audit_records.memory = ?", values![number]);
        }
        if let Some(since) = filter.since {
            self.add("audit_records.recorded_at >= ?", values![since]);
        }
        if let Some(until) = filter.until {
            self.add("audit_records.recorded_at <= ?", values![until]);
        }
        if let Some(kind) = filter.actor {
            self.add("audit_records.actor_kind = ?", values![kind.as_str()]);
        }
        if let Some(name) = &filter.actor_name {
            self.add(contains, values![name.as_str()]);
        }
    }
}
