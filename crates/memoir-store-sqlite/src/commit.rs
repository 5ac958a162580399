//! The statements of one decision, inside a transaction that the writer has begun.

use memoir_domain::{AgentScope, SessionId, Timestamp};
use memoir_store::{
    AccountRow, AgentRow, AuditRow, Commit, DetailRow, Error, MemoryRow, SessionRow,
};
use rusqlite::{CachedStatement, Connection, params};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    encode::{self, Text, count, number, optional_count},
    error::{Result, constraint, inconsistent},
    fault,
};

/// Detail rows from which on they are written in the order of the table, so that a large import fills
/// its pages one after the other.
const SORTED_DETAILS: usize = 64;

/// Writes one decision.
pub(crate) fn write(connection: &Connection, commit: &Commit) -> Result<()> {
    check(commit)?;
    fault::point("commit.begun");
    write_agent(connection, commit.expected_version, &commit.agent)?;
    fault::point("commit.agent");
    let agent = commit.agent.scope.agent.as_bytes();
    write_memories(
        connection,
        agent,
        &commit.memories,
        commit.progress.as_deref(),
    )?;
    fault::point("commit.memories");
    write_sessions(connection, agent, &commit.sessions)?;
    fault::point("commit.sessions");
    write_details(
        connection,
        agent,
        &commit.details_removed,
        &commit.details_added,
    )?;
    fault::point("commit.details");
    write_records(connection, agent, &commit.records)?;
    fault::point("commit.records");
    Ok(())
}

/// Holds the counters of the agent against the rows that go with it.
fn check(commit: &Commit) -> Result<()> {
    let agent = &commit.agent;
    let first = agent.next_seq.checked_sub(commit.records.len() as u64);
    let in_order = first.is_some_and(|first| {
        (first..)
            .zip(&commit.records)
            .all(|(seq, record)| record.seq == seq)
    });
    if first.is_none_or(|first| first == 0) || !in_order {
        return Err(inconsistent(
            "audit_records",
            "the records do not end where the agent's `next_seq` begins",
        ));
    }
    if let Some(memory) = commit
        .memories
        .iter()
        .find(|memory| memory.number >= agent.next_number || memory.number.0 == 0)
    {
        return Err(inconsistent(
            "memories",
            format!("{} is not below the agent's `next_number`", memory.number),
        ));
    }
    if let Some(session) = commit
        .sessions
        .iter()
        .find(|session| session.agent != agent.scope.agent)
    {
        return Err(inconsistent(
            "sessions",
            format!("{} belongs to another agent", session.id),
        ));
    }
    if agent.last_attempt_at.is_some() != agent.last_attempt_tokens.is_some()
        || agent.ledger_created_at.is_some() != agent.ledger_number.is_some()
    {
        return Err(inconsistent(
            "agents",
            "one half of an attempt or of a ledger's position is missing",
        ));
    }
    Ok(())
}

fn write_agent(
    connection: &Connection,
    expected_version: Option<u64>,
    agent: &AgentRow,
) -> Result<()> {
    let column = |value, name| count(value, "agents", name);
    let version = match expected_version {
        Some(version) => column(version, "version")?,
        None => return insert_agent(connection, agent),
    };
    // The name is in an index: written only where it changed, that page mostly stays as it is.
    let mut statement = connection.prepare_cached(
        "UPDATE agents SET version = version + 1, digest_key = ?4, paused = ?5, inactive = ?6, \
             created_at = ?7, core_tokens = ?8, core_count = ?9, journal_count = ?10, \
             constitutional_count = ?11, discarded_count = ?12, next_number = ?13, next_seq = ?14, \
             last_refinement_at = ?15, last_attempt_at = ?16, last_attempt_tokens = ?17, \
             ledger_created_at = ?18, ledger_number = ?19, settings = ?20, prompts = ?21 \
         WHERE id = ?1 AND account_id = ?2 AND version = ?3",
    )?;
    let changed = statement.execute(params![
        agent.scope.agent.as_bytes(),
        agent.scope.account.as_bytes(),
        version,
        agent.digest_key,
        agent.paused,
        agent.inactive,
        agent.created_at.microseconds(),
        column(agent.tally.core_tokens, "core_tokens")?,
        column(agent.tally.core_count, "core_count")?,
        column(agent.tally.journal_count, "journal_count")?,
        column(agent.tally.constitutional_count, "constitutional_count")?,
        column(agent.tally.discarded_count, "discarded_count")?,
        column(agent.next_number.0, "next_number")?,
        column(agent.next_seq, "next_seq")?,
        encode::time(agent.last_refinement_at),
        encode::time(agent.last_attempt_at),
        optional_count(agent.last_attempt_tokens, "agents", "last_attempt_tokens")?,
        encode::time(agent.ledger_created_at),
        agent
            .ledger_number
            .map(|value| number(value, "agents"))
            .transpose()?,
        agent.settings,
        Text(&agent.prompts),
    ])?;
    if changed == 0 {
        return Err(Error::Conflict.into());
    }
    let mut statement = connection.prepare_cached(
        "UPDATE agents SET name = ?2, folded_name = ?3 \
         WHERE id = ?1 AND (name <> ?2 OR folded_name <> ?3)",
    )?;
    statement
        .execute(params![
            agent.scope.agent.as_bytes(),
            agent.name,
            agent.folded_name
        ])
        .map_err(|error| constraint(error, "agents", Error::NameTaken, Error::Conflict))?;
    Ok(())
}

fn insert_agent(connection: &Connection, agent: &AgentRow) -> Result<()> {
    let column = |value, name| count(value, "agents", name);
    let mut statement = connection.prepare_cached(
        "INSERT INTO agents (id, account_id, version, name, folded_name, digest_key, paused, \
             inactive, created_at, core_tokens, core_count, journal_count, constitutional_count, \
             discarded_count, next_number, next_seq, last_refinement_at, last_attempt_at, \
             last_attempt_tokens, ledger_created_at, ledger_number, settings, prompts) \
         VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
             ?18, ?19, ?20, ?21, ?22)",
    )?;
    statement
        .execute(params![
            agent.scope.agent.as_bytes(),
            agent.scope.account.as_bytes(),
            agent.name,
            agent.folded_name,
            agent.digest_key,
            agent.paused,
            agent.inactive,
            agent.created_at.microseconds(),
            column(agent.tally.core_tokens, "core_tokens")?,
            column(agent.tally.core_count, "core_count")?,
            column(agent.tally.journal_count, "journal_count")?,
            column(agent.tally.constitutional_count, "constitutional_count")?,
            column(agent.tally.discarded_count, "discarded_count")?,
            column(agent.next_number.0, "next_number")?,
            column(agent.next_seq, "next_seq")?,
            encode::time(agent.last_refinement_at),
            encode::time(agent.last_attempt_at),
            optional_count(agent.last_attempt_tokens, "agents", "last_attempt_tokens")?,
            encode::time(agent.ledger_created_at),
            agent
                .ledger_number
                .map(|value| number(value, "agents"))
                .transpose()?,
            agent.settings,
            Text(&agent.prompts),
        ])
        .map_err(|error| constraint(error, "agents", Error::NameTaken, Error::Conflict))?;
    Ok(())
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
    // Columns that are in an index are written only where one of them changed: an edit of the words
    // leaves the pages of the index alone.
    let mut reword = connection.prepare_cached(
        "UPDATE memories SET tokens = ?4, constitutional = ?5, updated_at = ?7, body = ?9 \
         WHERE agent_id = ?1 AND number = ?2 AND kind = ?3 AND created_at = ?6 \
             AND discarded_at IS ?8",
    )?;
    let mut replace = connection.prepare_cached(
        "INSERT INTO memories (agent_id, number, kind, tokens, constitutional, created_at, \
             updated_at, discarded_at, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (agent_id, number) DO UPDATE SET kind = excluded.kind, \
             tokens = excluded.tokens, constitutional = excluded.constitutional, \
             created_at = excluded.created_at, updated_at = excluded.updated_at, \
             discarded_at = excluded.discarded_at, body = excluded.body",
    )?;
    for memory in memories {
        let number = number(memory.number, "memories")?;
        let tokens = count(memory.tokens, "memories", "tokens")?;
        let created_at = memory.created_at.microseconds();
        let updated_at = memory.updated_at.microseconds();
        let discarded_at = encode::time(memory.discarded_at);
        let row = params![
            agent,
            number,
            memory.kind.as_str(),
            tokens,
            memory.constitutional,
            created_at,
            updated_at,
            discarded_at,
            Text(&memory.body),
        ];
        if reword.execute(row)? == 0 {
            replace.execute(row)?;
        }
        if let Some(progress) = progress {
            progress.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn write_sessions(
    connection: &Connection,
    agent: &[u8; 16],
    sessions: &[SessionRow],
) -> Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    // As with memories: what is in an index is written only where it changed.
    let mut proceed = connection.prepare_cached(
        "UPDATE sessions SET mode = ?4, driver = ?5, trigger = ?6, rehearsal = ?7, model = ?8, \
             pre_session_tokens = ?9, post_session_tokens = ?10, threshold = ?11, edits = ?12, \
             removed_tokens = ?13, consolidated = ?14, updated = ?15, deleted = ?16, \
             protected = ?17, end_reason = ?18, ended_at = ?20, undone_at = ?21, calls = ?22, \
             input_tokens = ?23, output_tokens = ?24, lease_holder = ?26, body = ?27 \
         WHERE id = ?1 AND agent_id = ?2 AND state = ?3 AND started_at = ?19 \
             AND lease_until IS ?25",
    )?;
    let mut replace = connection.prepare_cached(
        "INSERT INTO sessions (id, agent_id, state, mode, driver, trigger, rehearsal, model, \
             pre_session_tokens, post_session_tokens, threshold, edits, removed_tokens, \
             consolidated, updated, deleted, protected, end_reason, started_at, ended_at, \
             undone_at, calls, input_tokens, output_tokens, lease_until, lease_holder, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
             ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27) \
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, mode = excluded.mode, \
             driver = excluded.driver, trigger = excluded.trigger, \
             rehearsal = excluded.rehearsal, model = excluded.model, \
             pre_session_tokens = excluded.pre_session_tokens, \
             post_session_tokens = excluded.post_session_tokens, \
             threshold = excluded.threshold, edits = excluded.edits, \
             removed_tokens = excluded.removed_tokens, consolidated = excluded.consolidated, \
             updated = excluded.updated, deleted = excluded.deleted, \
             protected = excluded.protected, end_reason = excluded.end_reason, \
             started_at = excluded.started_at, ended_at = excluded.ended_at, \
             undone_at = excluded.undone_at, calls = excluded.calls, \
             input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, \
             lease_until = excluded.lease_until, lease_holder = excluded.lease_holder, \
             body = excluded.body \
         WHERE agent_id = excluded.agent_id",
    )?;
    for session in sessions {
        let tokens = |value, name| optional_count(value, "sessions", name);
        let column = |value, name| count(value, "sessions", name);
        let pre_session_tokens = tokens(session.pre_session_tokens, "pre_session_tokens")?;
        let post_session_tokens = tokens(session.post_session_tokens, "post_session_tokens")?;
        let removed_tokens = column(session.removed_tokens, "removed_tokens")?;
        let calls = column(session.usage.calls, "calls")?;
        let input_tokens = column(session.usage.input_tokens, "input_tokens")?;
        let output_tokens = column(session.usage.output_tokens, "output_tokens")?;
        let row = params![
            session.id.as_bytes(),
            agent,
            session.state.as_str(),
            session.mode.as_str(),
            encode::driver(session.driver),
            encode::trigger(session.trigger),
            session.rehearsal,
            session.model,
            pre_session_tokens,
            post_session_tokens,
            session.threshold,
            session.edits,
            removed_tokens,
            session.stats.consolidated,
            session.stats.updated,
            session.stats.deleted,
            session.stats.protected,
            session.end_reason.map(|reason| reason.as_str()),
            session.started_at.microseconds(),
            encode::time(session.ended_at),
            encode::time(session.undone_at),
            calls,
            input_tokens,
            output_tokens,
            encode::time(session.lease.map(|lease| lease.until)),
            session.lease.map(|lease| lease.holder.cast_signed()),
            Text(&session.body),
        ];
        if proceed.execute(row)? > 0 {
            continue;
        }
        let written = replace.execute(row).map_err(|error| {
            constraint(error, "sessions", Error::SessionRunning, Error::Conflict)
        })?;
        if written == 0 {
            return Err(inconsistent(
                "sessions",
                format!("{} belongs to another agent", session.id),
            ));
        }
    }
    Ok(())
}

fn write_details(
    connection: &Connection,
    agent: &[u8; 16],
    removed: &[DetailRow],
    added: &[DetailRow],
) -> Result<()> {
    if let Some(mut statement) = prepared(
        connection,
        removed,
        "DELETE FROM memory_details WHERE agent_id = ?1 AND digest = ?2 AND number = ?3",
    )? {
        for detail in removed {
            let number = number(detail.number, "memory_details")?;
            statement.execute(params![agent, detail.digest, number])?;
        }
    }
    let Some(mut statement) = prepared(
        connection,
        added,
        "INSERT OR IGNORE INTO memory_details (agent_id, digest, number) VALUES (?1, ?2, ?3)",
    )?
    else {
        return Ok(());
    };
    let mut add = |detail: &DetailRow| -> Result<()> {
        let number = number(detail.number, "memory_details")?;
        statement.execute(params![agent, detail.digest, number])?;
        Ok(())
    };
    if added.len() < SORTED_DETAILS {
        added.iter().try_for_each(&mut add)
    } else {
        let mut sorted = added.to_vec();
        sorted.sort_unstable();
        sorted.iter().try_for_each(&mut add)
    }
}

fn write_records(connection: &Connection, agent: &[u8; 16], records: &[AuditRow]) -> Result<()> {
    let Some(mut statement) = prepared(
        connection,
        records,
        "INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, action, \
             session_id, memory, facts, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    else {
        return Ok(());
    };
    for record in records {
        let memory = record
            .memory
            .map(|memory| number(memory, "audit_records"))
            .transpose()?;
        statement
            .execute(params![
                agent,
                count(record.seq, "audit_records", "seq")?,
                record.recorded_at.microseconds(),
                encode::actor_kind(record.actor_kind),
                record.actor_name,
                record.action.as_str(),
                record.session.as_ref().map(SessionId::as_bytes),
                memory,
                record.facts,
                Text(&record.body),
            ])
            .map_err(|error| {
                constraint(error, "audit_records", Error::Conflict, Error::Conflict)
            })?;
    }
    Ok(())
}

/// The statement, where there are rows for it.
fn prepared<'connection, Row>(
    connection: &'connection Connection,
    rows: &[Row],
    sql: &str,
) -> Result<Option<CachedStatement<'connection>>> {
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(connection.prepare_cached(sql)?))
}

/// Writes a new account.
pub(crate) fn create_account(connection: &Connection, account: &AccountRow) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO accounts (id, name, folded_name, created_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            account.id.as_bytes(),
            account.name,
            account.folded_name,
            account.created_at.microseconds(),
        ])
        .map_err(|error| constraint(error, "accounts", Error::NameTaken, Error::Conflict))?;
    Ok(())
}

/// Prolongs a hold; `false` where the session has ended or somebody else holds it.
pub(crate) fn renew_lease(
    connection: &Connection,
    scope: AgentScope,
    session: SessionId,
    holder: u64,
    until: Timestamp,
) -> Result<bool> {
    let renewed = connection
        .prepare_cached(
            "UPDATE sessions SET lease_until = ?5 \
             WHERE id = ?1 AND agent_id = ?2 AND lease_holder = ?4 \
                 AND state IN ('queued', 'asking', 'open') \
                 AND EXISTS (SELECT 1 FROM agents WHERE id = ?2 AND account_id = ?3)",
        )?
        .execute(params![
            session.as_bytes(),
            scope.agent.as_bytes(),
            scope.account.as_bytes(),
            holder.cast_signed(),
            until.microseconds(),
        ])?;
    Ok(renewed > 0)
}
