//! How both stores write rows: values whose types their databases do not have, and the values of each row, in the order
//! of `written!`, which has their columns.

use memoir_domain::{SessionId, Timestamp, memory::ArchivedBy};

use crate::{
    AccessRow, AuditRow, BodyRow, Commit, Document, Error, MemoryRow, MessageOutcome, MessageRow,
    Result, SessionRow, StoredText, SummaryRow, TokenRow, UserRow, Value, VectorRow, WordIndexRow,
    values,
};

/// The columns that the function of that name in [`crate::encode`] gives the values of: `written!(memory)`. What all
/// rows of a statement have in common, as the agent, comes before them.
#[macro_export]
macro_rules! written {
    (memory) => {
        "number, version, tokens, kind, constitutional, created_at, updated_at, discarded_at, shredded_at, under, \
         archived_at, archived_by, is_summary, core_seq, recorded_at, body"
    };
    (session) => {
        "id, version, ended_at, lease_holder, open, sealed, state, driver, model, started_at, lease_until"
    };
    (record) => {
        "seq, body_version, memory, recorded_at, actor_kind, actor_name, action, session_id, body_commitment, hash, \
         facts, body"
    };
    (token) => {
        "version, id, account_id, agent_id, digest, created_at, last_used_at, revoked_at, open, sealed"
    };
    (access_request) => {
        "version, id, state, requested_at, expires_at, open, sealed"
    };
    (vector) => {
        "number, version, model, body"
    };
}

/// What an insertion of such a row does where its key is there: `replacing!(memory)`.
#[macro_export]
macro_rules! replacing {
    (memory) => {
        " ON CONFLICT (agent_id, number) DO UPDATE SET version = excluded.version, \
             tokens = excluded.tokens, under = excluded.under, core_seq = excluded.core_seq, \
             kind = excluded.kind, constitutional = excluded.constitutional, \
             created_at = excluded.created_at, updated_at = excluded.updated_at, \
             discarded_at = excluded.discarded_at, shredded_at = excluded.shredded_at, \
             archived_at = excluded.archived_at, archived_by = excluded.archived_by, \
             is_summary = excluded.is_summary, recorded_at = excluded.recorded_at, body = excluded.body"
    };
    // A stale row must not undo a use or an end that was written meanwhile. The trigger `tokens_stay_revoked` refuses the
    // same once more. Here it is an ordinary conflict, which is decided again; there it would end in an error.
    (token) => {
        " ON CONFLICT (id) DO UPDATE SET last_used_at = CASE \
                 WHEN tokens.last_used_at IS NULL OR tokens.last_used_at < excluded.last_used_at \
                 THEN excluded.last_used_at ELSE tokens.last_used_at END, \
             revoked_at = excluded.revoked_at, version = excluded.version, open = excluded.open, \
             sealed = excluded.sealed \
         WHERE tokens.account_id = excluded.account_id \
             AND tokens.agent_id IS NOT DISTINCT FROM excluded.agent_id \
             AND tokens.digest = excluded.digest AND tokens.created_at = excluded.created_at \
             AND tokens.version < excluded.version \
             AND (tokens.revoked_at IS NULL OR excluded.revoked_at IS NOT NULL)"
    };
    (access_request) => {
        " ON CONFLICT (id) DO UPDATE SET state = excluded.state, expires_at = excluded.expires_at, \
             version = excluded.version, open = excluded.open, sealed = excluded.sealed \
         WHERE access_requests.state IN ('asked', 'granted') \
             AND access_requests.agent_id = excluded.agent_id \
             AND access_requests.requested_at = excluded.requested_at"
    };
}

/// A count, a size or a number: the integers of databases are signed.
///
/// # Errors
/// [`Error::Inconsistent`].
pub fn count(value: u64, table: &'static str, column: &str) -> Result<i64> {
    i64::try_from(value)
        .map_err(|_| Error::inconsistent(table, format!("`{column}` is over {}", i64::MAX)))
}

/// A count that need not be there.
///
/// # Errors
/// As for [`count`].
pub fn optional_count(
    value: Option<u64>,
    table: &'static str,
    column: &str,
) -> Result<Option<i64>> {
    value.map(|value| count(value, table, column)).transpose()
}

/// Where a page, the newest first, begins: rows before that time and identifier; without them, before the largest
/// number that a column can hold, which is no row's time.
pub fn before<Id>(
    place: Option<(Timestamp, Id)>,
    bytes: impl FnOnce(&Id) -> &[u8; 16],
) -> (i64, [u8; 16]) {
    // With the smallest identifier: beside the latest time that can be, none is before it.
    place.map_or((i64::MAX, [0; 16]), |(time, id)| {
        (time.microseconds(), *bytes(&id))
    })
}

/// The agent and its account, the version that the decision was made on, and the agent's columns.
///
/// # Errors
/// As for [`count`]; so for each of the rows below.
pub fn agent(commit: &Commit) -> Result<[Value<'_>; 16]> {
    let (row, columns) = (&commit.agent, &commit.agent.columns);
    let (prospect, ranks) = (&columns.prospect, &columns.ranks);
    let column = |value, name| count(value, "agents", name);
    let [open, sealed] = parts(Some(&row.document));
    Ok(values![
        row.scope.agent.as_bytes(),
        row.scope.account.as_bytes(),
        optional_count(commit.expected_version, "agents", "version")?,
        column(columns.next_seq, "next_seq")?,
        &columns.head,
        column(ranks.budget_share, "budget_share")?,
        column(ranks.removable_tokens, "removable_tokens")?,
        column(ranks.archived_share, "archived_share")?,
        open,
        sealed,
        &*columns.name,
        &*columns.folded_name,
        columns.erased_at,
        prospect.weekly_after,
        prospect.due_at,
        prospect.reflect_after,
    ])
}

/// A memory, or as many missing values.
pub fn memory(row: Option<&MemoryRow>) -> Result<[Value<'_>; 16]> {
    let column = |value, name| optional_count(value, "memories", name);
    Ok(values![
        column(row.map(|row| row.number.0), "number")?,
        column(row.map(|row| row.version), "version")?,
        column(row.map(|row| row.tokens), "tokens")?,
        row.map(|row| row.kind.as_str()),
        row.map(|row| row.constitutional),
        row.map(|row| row.created_at),
        row.map(|row| row.updated_at),
        row.and_then(|row| row.discarded_at),
        row.and_then(|row| row.shredded_at),
        column(row.and_then(|row| row.under).map(|one| one.0), "under")?,
        row.and_then(|row| row.archived_at),
        row.and_then(|row| row.archived_by).map(ArchivedBy::as_str),
        row.map(|row| row.is_summary),
        column(row.and_then(|row| row.core_seq), "core_seq")?,
        row.map(|row| row.recorded_at),
        row.map(|row| text(&row.body)),
    ])
}

/// A session, or as many missing values.
pub fn session(row: Option<&SessionRow>) -> Result<[Value<'_>; 11]> {
    let (document, columns) = (row.map(|row| &row.document), row.map(|row| &row.columns));
    let lease = row.and_then(|row| row.lease);
    let version = document.map(|document| document.version);
    let [open, sealed] = parts(document);
    Ok(values![
        row.map(|row| row.id.as_bytes()),
        optional_count(version, "sessions", "version")?,
        columns.and_then(|columns| columns.ended_at),
        // 64 random bits, for which databases have no unsigned type: only ever compared for equality, so that the sign
        // means nothing.
        lease.map(|lease| lease.holder.cast_signed()),
        open,
        sealed,
        columns.map(|columns| columns.state.as_str()),
        columns.map(|columns| columns.driver.as_str()),
        columns.and_then(|columns| columns.model.as_deref()),
        columns.map(|columns| columns.started_at),
        lease.map(|lease| lease.until),
    ])
}

/// A record, or as many missing values.
pub fn record(row: Option<&AuditRow>) -> Result<[Value<'_>; 12]> {
    let column = |value, name| optional_count(value, "audit_records", name);
    let memory = row.and_then(|row| row.memory).map(|memory| memory.0);
    let session = row.and_then(|row| row.session.as_ref());
    Ok(values![
        column(row.map(|row| row.seq), "seq")?,
        column(row.map(|row| row.body_version), "body_version")?,
        column(memory, "memory")?,
        row.map(|row| row.recorded_at),
        row.map(|row| row.actor_kind.as_str()),
        row.map(|row| &*row.actor_name),
        row.map(|row| row.action.as_str()),
        session.map(SessionId::as_bytes),
        row.map(|row| &row.body_commitment),
        row.map(|row| &row.hash),
        Value::Json(row.map(|row| &*row.facts)),
        row.map(|row| text(&row.body)),
    ])
}

/// A body's place, version and bytes.
pub fn body(row: &BodyRow) -> Result<[Value<'_>; 3]> {
    let column = |value, name| count(value, "audit_records", name);
    Ok(values![
        column(row.seq, "seq")?,
        column(row.body_version, "body_version")?,
        text(&row.body),
    ])
}

/// A token.
pub fn token(row: &TokenRow) -> Result<[Value<'_>; 10]> {
    let [open, sealed] = parts(Some(&row.document));
    Ok(values![
        count(row.document.version, "tokens", "version")?,
        row.id.as_bytes(),
        row.account.as_bytes(),
        row.agent.as_ref().map(|agent| agent.as_bytes()),
        &row.columns.digest,
        row.columns.created_at,
        row.last_used_at,
        row.columns.revoked_at,
        open,
        sealed,
    ])
}

/// A request for access.
pub fn access_request(row: &AccessRow) -> Result<[Value<'_>; 7]> {
    let [open, sealed] = parts(Some(&row.document));
    Ok(values![
        count(row.document.version, "access_requests", "version")?,
        row.id.as_bytes(),
        row.columns.state.as_str(),
        row.columns.requested_at,
        row.columns.expires_at,
        open,
        sealed,
    ])
}

/// A user, in the order of `columns!(user)`.
pub fn user(row: &UserRow) -> Result<[Value<'_>; 8]> {
    let [open, sealed] = parts(Some(&row.document));
    Ok(values![
        row.id.as_bytes(),
        row.account.as_bytes(),
        &*row.columns.folded_name,
        row.columns.created_at,
        row.columns.removed_at,
        count(row.document.version, "users", "version")?,
        open,
        sealed,
    ])
}

/// The outcome of a message: its place, its state, and until when its words are kept.
pub fn outcome(row: &MessageOutcome) -> Result<[Value<'_>; 3]> {
    Ok(values![
        count(row.seq, "transcript_messages", "seq")?,
        row.state.as_str(),
        row.words_until,
    ])
}

/// A new message without its place and its state: `tokens, counted_bytes, digest, received_at, body`.
pub fn message(row: &MessageRow) -> Result<[Value<'_>; 5]> {
    let column = |value, name| count(value, "transcript_messages", name);
    Ok(values![
        column(row.tokens, "tokens")?,
        column(row.counted_bytes, "counted_bytes")?,
        &row.digest,
        row.received_at,
        text(&row.body),
    ])
}

/// A summary, in the order of `columns!(summary)`.
pub fn summary(row: &SummaryRow) -> Result<[Value<'_>; 3]> {
    Ok(values![
        count(row.last_seq, "log_summaries", "last_seq")?,
        &row.hash,
        text(&row.body),
    ])
}

/// A part of an index, in the order of `columns!(word_index)`.
pub fn word_index(row: &WordIndexRow) -> Result<[Value<'_>; 5]> {
    let column = |value, name| count(value, "word_indexes", name);
    Ok(values![
        column(row.part, "part")?,
        column(row.version, "version")?,
        column(row.last_seq, "last_seq")?,
        &row.hash,
        text(&row.body),
    ])
}

/// A vector.
pub fn vector(row: &VectorRow) -> Result<[Value<'_>; 4]> {
    let column = |value, name| count(value, "memory_vectors", name);
    Ok(values![
        column(row.number.0, "number")?,
        column(row.version, "version")?,
        &*row.model,
        text(&row.body),
    ])
}

/// The open and the sealed part of a document, or two missing values.
pub fn parts(document: Option<&Document>) -> [Value<'_>; 2] {
    [
        Value::Json(document.map(|document| &*document.open)),
        document.map(|document| text(&document.sealed)).into(),
    ]
}

fn text(StoredText(bytes): &StoredText) -> &[u8] {
    bytes
}
