//! The statements of one decision, inside a transaction that the writer has begun.

use memoir_store::{
    AuditRow, BodyRow, Commit, Commits, Error, MemoryRow, SessionRow, StoredText, Waiting,
    replacing, written,
};
use rusqlite::{Connection, params};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    access,
    agent::execute,
    encode::{self, Bound, of_agent, one},
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
    write_agent(connection, commit)?;
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

fn write_agent(connection: &Connection, commit: &Commit) -> Result<()> {
    let row = encode::agent(commit)?.map(Bound);
    let write = |sql| {
        let written = connection.prepare_cached(sql)?.execute(row);
        // An agent's identifier is random. A row with the same one is an account's own log, whose identifier is the
        // account's, and which another process began concurrently. The caller must retry; no name is taken.
        written.map_err(|error| constraint(error, "agents", Error::NameTaken))
    };
    if commit.expected_version.is_none() {
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
    ") VALUES (?1, ?2, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
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
    let written = execute(connection, sql, params![agent, prompts.0])?;
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
        "UPDATE memories SET updated_at = ?8, version = ?3, archived_at = ?12, archived_by = ?13, \
             core_seq = ?15, body = ?17 \
         WHERE agent_id = ?1 AND number = ?2 AND kind = ?5 AND tokens = ?4 AND constitutional = ?6 \
             AND created_at = ?7 AND discarded_at IS ?9 AND shredded_at IS ?10 AND under IS ?11 \
             AND is_summary = ?14 AND recorded_at = ?16",
    )?;
    let mut replace = connection.prepare_cached(concat!(
        "INSERT INTO memories (agent_id, ",
        written!(memory),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        replacing!(memory)
    ))?;
    for memory in memories {
        let row = of_agent(agent, encode::memory(Some(memory))?);
        // One that is as it was saved is new, or gets another place: the first statement would not find it. An edit
        // that changes the size costs a second look-up by that. Any other edit saves the pages of `memories_active` and
        // what the write-ahead log would hold of them.
        let is_edited = memory.updated_at != memory.recorded_at;
        if !is_edited || reword.execute(row.clone())? == 0 {
            one(replace.execute(row)?, "memories")?;
        }
        if let Some(progress) = progress {
            // Counted before the transaction ends, and kept if it fails: it only feeds a report of progress.
            progress.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Columns of a session in an index or its condition, and the one whose change fires a trigger.
macro_rules! session_indexed {
    () => {
        "ended_at, state, driver, model, started_at, lease_until"
    };
}

/// As with agents: indexed columns are written only if they changed.
const PROCEED_SESSION: &str = concat!(
    "UPDATE sessions SET version = ?3, lease_holder = ?5, open = ?6, sealed = ?7 \
     WHERE id = ?2 AND agent_id = ?1 AND (",
    session_indexed!(),
    ") IS (?4, ?8, ?9, ?10, ?11, ?12)"
);

const REPLACE_SESSION: &str = concat!(
    "UPDATE sessions SET version = ?3, lease_holder = ?5, open = ?6, sealed = ?7, (",
    session_indexed!(),
    ") = (?4, ?8, ?9, ?10, ?11, ?12) WHERE id = ?2 AND agent_id = ?1"
);

const INSERT_SESSION: &str = concat!(
    "INSERT INTO sessions (agent_id, account_id, ",
    written!(session),
    ") SELECT ?1, account_id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 \
     FROM agents WHERE id = ?1 ON CONFLICT (id) DO NOTHING"
);

fn write_sessions(
    connection: &Connection,
    agent: &[u8; 16],
    sessions: &[SessionRow],
) -> Result<()> {
    for session in sessions {
        let row = of_agent(agent, encode::session(Some(session))?);
        let write = |sql| {
            let written = connection.prepare_cached(sql)?.execute(row.clone());
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
        "UPDATE audit_records SET body = ?4, body_version = ?3 \
         WHERE agent_id = ?1 AND seq = ?2 AND body_version = ?3 - 1",
    )?;
    for body in bodies {
        if statement.execute(of_agent(agent, encode::body(body)?))? == 0 {
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
    let mut statement = connection.prepare_cached(concat!(
        "INSERT INTO audit_records (agent_id, ",
        written!(record),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    ))?;
    for record in records {
        let written = statement
            .execute(of_agent(agent, encode::record(Some(record))?))
            .map_err(|error| {
                // The version of the agent was right, so that only a row that was not written together with it can be
                // at this place. It remains: a record is never overwritten.
                constraint(error, "audit_records", Error::Conflict)
            })?;
        one(written, "audit_records")?;
    }
    Ok(())
}
