//! The statements of one decision, inside a transaction that the writer has begun.

use memoir_domain::{SessionId, memory::ArchivedBy};
use memoir_store::{
    AgentColumns, AgentRow, AuditRow, BodyRow, Commit, Commits, Error, MemoryRow, SessionRow,
    StoredText, Waiting,
};
use rusqlite::{Connection, params};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    access,
    agent::execute,
    encode::{self, BoundText, count, number, one, optional_count},
    error::{Result, constraint, inconsistent},
    fault, requests, scrub, transcripts, vectors,
    writer::{BULK_ROWS, WriteOutcome},
};

pub(crate) fn rows(commit: &Commit) -> usize {
    commit.memories.len()
        + commit.sessions.len()
        + commit.bodies.len()
        + commit.tokens.len()
        + commit.messages.len()
        + match &commit.waiting {
            Some((Waiting::New(messages), _)) => messages.len(),
            Some((Waiting::Again { count, .. }, _)) => usize::try_from(*count).unwrap_or(BULK_ROWS),
            None => 0,
        }
        + commit.records.len()
}

pub(crate) fn write(connection: &Connection, commit: &Commit) -> Result<WriteOutcome> {
    fault::point("commit.begun");
    // The version first: what was decided on an earlier version of the agent need not fit the present one, and is a
    // conflict then, not an inconsistency.
    write_agent(connection, commit.expected_version, &commit.agent)?;
    commit.check()?;
    fault::point("commit.agent");
    let agent = commit.agent.scope.agent.as_bytes();
    // From here on the order is that of `Commit`'s fields, which the other store keeps too. Nothing between two of
    // these lines is visible outside: all of it is in the writer's transaction, and a process that dies at any of the
    // points leaves the state before. Rows that refer to the agent come after it: sessions and records by a foreign
    // key, and a new session by taking its account from the agent's row.
    write_prompts(connection, agent, commit.prompts.as_ref())?;
    fault::point("commit.prompts");
    let progress = commit.progress.as_deref();
    write_memories(connection, agent, &commit.memories, progress)?;
    // A vector is of one version of a memory's row, and the join that reads it would skip an older one. It is deleted
    // nevertheless: its text may just have been shredded.
    vectors::forget(connection, agent, &commit.memories)?;
    fault::point("commit.memories");
    write_sessions(connection, agent, &commit.sessions)?;
    fault::point("commit.sessions");
    write_bodies(connection, agent, &commit.bodies)?;
    fault::point("commit.bodies");
    access::write_tokens(connection, &commit.tokens)?;
    fault::point("commit.tokens");
    requests::write(connection, agent, &commit.access)?;
    fault::point("commit.access");
    transcripts::write_states(connection, agent, &commit.messages)?;
    if let Some((waiting, due_at)) = &commit.waiting {
        transcripts::write_waiting(connection, commit.agent.scope, waiting, *due_at)?;
    }
    for sql in commit.deletions() {
        execute(connection, sql, [agent])?;
    }
    // The stored responses to repeated requests can hold its text.
    if commit.agent.columns.erased_at.is_some() || !commit.bodies.is_empty() {
        access::forget_answers(connection, commit.agent.scope.account)?;
    }
    fault::point("commit.messages");
    // Last, so that a taken place in the log is reported once everything else is right. The order protects nothing: the
    // transaction does.
    write_records(connection, agent, &commit.records)?;
    fault::point("commit.records");
    if let Some(mark) = &commit.reply {
        access::mark_reply(connection, commit.agent.scope.account, mark)?;
    }
    fault::point("commit.reply");
    Ok(WriteOutcome::DONE)
}

/// Writes decisions one after the other, as they come.
pub(crate) fn write_all(connection: &Connection, commits: &Commits) -> Result<WriteOutcome> {
    // Each decision that is taken from the list is gone from it, so that this cannot be carried out twice. It is never
    // asked to: `BULK_ROWS` gives it a transaction of its own, and only changes that share one are written again.
    while let Some(next) = commits.next() {
        match next {
            Some(commit) => write(connection, &commit)?,
            None => return Ok(WriteOutcome::DONE),
        };
    }
    // The source of the decisions stopped early. An error rolls all of them back; success would keep half an import.
    Err(Error::Unfinished.into())
}

/// The columns of an agent that are in no index, but for its version.
macro_rules! agent_state {
    () => {
        "next_seq, head, budget_share, removable_tokens, archived_share, open, sealed"
    };
}

/// Those that are in one.
macro_rules! agent_indexed {
    () => {
        "name, folded_name, erased_at, weekly_after, due_at, reflect_after"
    };
}

fn write_agent(
    connection: &Connection,
    expected_version: Option<u64>,
    agent: &AgentRow,
) -> Result<()> {
    let column = |value, name| count(value, "agents", name);
    let AgentColumns {
        prospect, ranks, ..
    } = &agent.columns;
    let row = params![
        agent.scope.agent.as_bytes(),
        agent.scope.account.as_bytes(),
        // 0 is no version that a row can have. Both kinds of statements add one to this value, so
        // that a new agent begins with version 1.
        column(expected_version.unwrap_or(0), "version")?,
        column(agent.columns.next_seq, "next_seq")?,
        agent.columns.head,
        column(ranks.budget_share, "budget_share")?,
        column(ranks.removable_tokens, "removable_tokens")?,
        column(ranks.archived_share, "archived_share")?,
        agent.document.open,
        BoundText(&agent.document.sealed),
        agent.columns.name,
        agent.columns.folded_name,
        encode::time(agent.columns.erased_at),
        encode::time(prospect.weekly_after),
        encode::time(prospect.due_at),
        encode::time(prospect.reflect_after),
    ];
    let write = |sql| {
        let written = connection.prepare_cached(sql)?.execute(row);
        // An agent's identifier is random. A row with the same one is an account's own log, whose identifier is the
        // account's, and which another process began concurrently. The caller must retry; no name is taken.
        written.map_err(|error| constraint(error, "agents", Error::NameTaken))
    };
    if expected_version.is_none() {
        return one(write(INSERT_AGENT)?, "agents");
    }
    // The first statement leaves the indexed columns alone. It finds no row where one of them changed, where the
    // version differs, or where the agent belongs to another account. The second distinguishes the first case. The
    // statement that increments the version also compares it: no other lock on an agent is needed.
    if write(PROCEED_AGENT)? == 0 && write(REPLACE_AGENT)? == 0 {
        return Err(Error::Conflict.into());
    }
    Ok(())
}

const INSERT_AGENT: &str = concat!(
    "INSERT INTO agents (id, account_id, version, ",
    agent_state!(),
    ", ",
    agent_indexed!(),
    ") VALUES (?1, ?2, ?3 + 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
);

/// Indexed columns are written only if they changed: the pages of the index mostly remain unchanged.
const PROCEED_AGENT: &str = concat!(
    "UPDATE agents SET version = version + 1, (",
    agent_state!(),
    ") = (?4, ?5, ?6, ?7, ?8, ?9, ?10) WHERE id = ?1 AND account_id = ?2 AND version = ?3 AND (",
    agent_indexed!(),
    ") IS (?11, ?12, ?13, ?14, ?15, ?16)"
);

const REPLACE_AGENT: &str = concat!(
    "UPDATE agents SET version = version + 1, (",
    agent_state!(),
    ", ",
    agent_indexed!(),
    ") = (?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) \
     WHERE id = ?1 AND account_id = ?2 AND version = ?3"
);

fn write_prompts(
    connection: &Connection,
    agent: &[u8; 16],
    prompts: Option<&StoredText>,
) -> Result<()> {
    let Some(prompts) = prompts else {
        return Ok(());
    };
    let sql = "INSERT INTO agent_prompts (agent_id, body) VALUES (?1, ?2) \
         ON CONFLICT (agent_id) DO UPDATE SET body = excluded.body";
    let written = execute(connection, sql, params![agent, BoundText(prompts)])?;
    one(written, "agent_prompts")
}

fn write_memories(
    connection: &Connection,
    agent: &[u8; 16],
    memories: &[MemoryRow],
    progress: Option<&AtomicU64>,
) -> Result<()> {
    if memories.is_empty() {
        return Ok(());
    }
    // Columns that are in an index are written only where one of them changed: an edit that leaves the
    // size as it is leaves the pages of the indexes alone.
    let mut reword = connection.prepare_cached(
        "UPDATE memories SET updated_at = ?7, version = ?9, archived_at = ?12, archived_by = ?13, \
             core_seq = ?15, body = ?17 \
         WHERE agent_id = ?1 AND number = ?2 AND kind = ?3 AND tokens = ?4 AND constitutional = ?5 \
             AND created_at = ?6 AND discarded_at IS ?8 AND shredded_at IS ?10 AND under IS ?11 \
             AND is_summary = ?14 AND recorded_at = ?16",
    )?;
    let mut replace = connection.prepare_cached(
        "INSERT INTO memories (agent_id, number, kind, tokens, constitutional, created_at, \
             updated_at, discarded_at, version, shredded_at, under, archived_at, archived_by, \
             is_summary, core_seq, recorded_at, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) \
         ON CONFLICT (agent_id, number) DO UPDATE SET kind = excluded.kind, \
             tokens = excluded.tokens, constitutional = excluded.constitutional, \
             created_at = excluded.created_at, updated_at = excluded.updated_at, \
             discarded_at = excluded.discarded_at, version = excluded.version, \
             shredded_at = excluded.shredded_at, under = excluded.under, \
             archived_at = excluded.archived_at, archived_by = excluded.archived_by, \
             is_summary = excluded.is_summary, core_seq = excluded.core_seq, \
             recorded_at = excluded.recorded_at, body = excluded.body",
    )?;
    let column = |value, name| count(value, "memories", name);
    let optional = |value, name| optional_count(value, "memories", name);
    for memory in memories {
        let row = params![
            agent,
            number(memory.number, "memories")?,
            memory.kind.as_str(),
            column(memory.tokens, "tokens")?,
            memory.constitutional,
            memory.created_at.microseconds(),
            memory.updated_at.microseconds(),
            encode::time(memory.discarded_at),
            column(memory.version, "version")?,
            encode::time(memory.shredded_at),
            optional(memory.under.map(|under| under.0), "under")?,
            encode::time(memory.archived_at),
            memory.archived_by.map(ArchivedBy::as_str),
            memory.is_summary,
            optional(memory.core_seq, "core_seq")?,
            memory.recorded_at.microseconds(),
            BoundText(&memory.body),
        ];
        // One that is as it was saved is new, or gets another place: the first statement would not find it. An edit
        // that changes the size costs a second look-up by that. Any other edit saves the pages of `memories_active` and
        // what the write-ahead log would hold of them.
        let is_edited = memory.updated_at != memory.recorded_at;
        if !is_edited || reword.execute(row)? == 0 {
            one(replace.execute(row)?, "memories")?;
        }
        if let Some(progress) = progress {
            // Counted before the transaction ends, and kept if it fails: it only feeds a progress bar.
            progress.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// The columns of a session that are in no index.
macro_rules! session_state {
    () => {
        "lease_holder, version, open, sealed"
    };
}

/// Columns in an index or its condition, and the one whose change fires a trigger.
macro_rules! session_indexed {
    () => {
        "ended_at, state, driver, model, started_at, lease_until"
    };
}

/// As with agents: indexed columns are written only if they changed.
const PROCEED_SESSION: &str = concat!(
    "UPDATE sessions SET (",
    session_state!(),
    ") = (?3, ?4, ?5, ?6) WHERE id = ?1 AND agent_id = ?2 AND (",
    session_indexed!(),
    ") IS (?7, ?8, ?9, ?10, ?11, ?12)"
);

const REPLACE_SESSION: &str = concat!(
    "UPDATE sessions SET (",
    session_state!(),
    ", ",
    session_indexed!(),
    ") = (?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) WHERE id = ?1 AND agent_id = ?2"
);

const INSERT_SESSION: &str = concat!(
    "INSERT INTO sessions (id, agent_id, account_id, ",
    session_state!(),
    ", ",
    session_indexed!(),
    ") SELECT ?1, ?2, account_id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 \
     FROM agents WHERE id = ?2 ON CONFLICT (id) DO NOTHING"
);

fn write_sessions(
    connection: &Connection,
    agent: &[u8; 16],
    sessions: &[SessionRow],
) -> Result<()> {
    for session in sessions {
        let columns = &session.columns;
        let row = params![
            session.id.as_bytes(),
            agent,
            // 64 random bits, of which SQLite has no unsigned form: only ever compared for
            // equality, so that the sign means nothing.
            session.lease.map(|lease| lease.holder.cast_signed()),
            count(session.document.version, "sessions", "version")?,
            session.document.open,
            BoundText(&session.document.sealed),
            encode::time(columns.ended_at),
            columns.state.as_str(),
            columns.driver.as_str(),
            columns.model,
            columns.started_at.microseconds(),
            encode::time(session.lease.map(|lease| lease.until)),
        ];
        let write = |sql| {
            let written = connection.prepare_cached(sql)?.execute(row);
            written.map_err(|error| constraint(error, "sessions", Error::SessionRunning))
        };
        // Asked from the cheapest case on: the same state and lease, another state or lease, a new
        // session. The insertion does nothing where the identifier is there already, which at that
        // place can only be another agent's.
        if write(PROCEED_SESSION)? == 0
            && write(REPLACE_SESSION)? == 0
            && write(INSERT_SESSION)? == 0
        {
            return Err(inconsistent(
                "sessions",
                format!("{} belongs to another agent", session.id),
            ));
        }
    }
    Ok(())
}

/// Puts bodies in place of those of earlier records.
fn write_bodies(connection: &Connection, agent: &[u8; 16], bodies: &[BodyRow]) -> Result<()> {
    if bodies.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(
        // The version is compared so that of two concurrent shreddings the second one does not restore the text that
        // the first one has removed.
        "UPDATE audit_records SET body = ?3, body_version = ?4 \
         WHERE agent_id = ?1 AND seq = ?2 AND body_version = ?4 - 1",
    )?;
    for body in bodies {
        let replaced = statement.execute(params![
            agent,
            count(body.seq, "audit_records", "seq")?,
            BoundText(&body.body),
            count(body.body_version, "audit_records", "body_version")?,
        ])?;
        if replaced == 0 {
            return Err(Error::Conflict.into());
        }
    }
    // In the transaction that shreds: after a crash, `open` or the next check of the log finds it pending.
    scrub::mark_pending(connection)
}

fn write_records(connection: &Connection, agent: &[u8; 16], records: &[AuditRow]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(
        "INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, action, \
             session_id, memory, body_version, body_commitment, hash, facts, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for record in records {
        let memory = record.memory.map(|memory| memory.0);
        let written = statement
            .execute(params![
                agent,
                count(record.seq, "audit_records", "seq")?,
                record.recorded_at.microseconds(),
                record.actor_kind.as_str(),
                record.actor_name,
                record.action.as_str(),
                record.session.as_ref().map(SessionId::as_bytes),
                optional_count(memory, "audit_records", "number")?,
                count(record.body_version, "audit_records", "body_version")?,
                record.body_commitment,
                record.hash,
                record.facts,
                BoundText(&record.body),
            ])
            .map_err(|error| {
                // The version of the agent was right, so that only a row that was not written together with it can be
                // at this place. It remains: a record is never overwritten.
                constraint(error, "audit_records", Error::Conflict)
            })?;
        one(written, "audit_records")?;
    }
    Ok(())
}
