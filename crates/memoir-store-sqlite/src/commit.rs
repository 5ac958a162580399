//! The statements of one decision, inside a transaction that the writer has begun.

use memoir_domain::{AgentScope, SessionId, Timestamp};
use memoir_store::{
    AccountRow, AgentRow, AuditRow, BodyRow, Commit, DeliveryRow, Error, MemoryRow, ReplyRow,
    SessionRow, StoredText,
};
use rusqlite::{CachedStatement, Connection, params};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    access,
    decode::Columns,
    encode::{self, Text, count, number, optional_count},
    error::{Result, constraint, inconsistent},
    fault, requests, scrub, transcripts,
};

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether anything is different afterwards.
    pub(crate) is_written: bool,
    /// How long the log over all heads is, where the change was to end it; 0 for any other.
    pub(crate) leaves: u64,
    /// How many rows were entered, where the change is one that tells; 0 for any other.
    pub(crate) rows: u64,
    /// What was there already, where the change was to enter a request.
    pub(crate) reply: Option<Box<ReplyRow>>,
    /// What was claimed, where the change was to claim deliveries.
    pub(crate) deliveries: Option<Vec<DeliveryRow>>,
}

impl Outcome {
    /// Something was written.
    pub(crate) const WRITTEN: Self = Self {
        is_written: true,
        leaves: 0,
        rows: 0,
        reply: None,
        deliveries: None,
    };

    /// Nothing was.
    pub(crate) const UNCHANGED: Self = Self {
        is_written: false,
        ..Self::WRITTEN
    };

    /// So many rows were written.
    pub(crate) fn written(rows: usize) -> Self {
        Self {
            is_written: rows > 0,
            ..Self::WRITTEN
        }
    }
}

/// Writes one decision.
pub(crate) fn write(connection: &Connection, commit: &Commit) -> Result<Outcome> {
    check(commit)?;
    fault::point("commit.begun");
    write_agent(connection, commit.expected_version, &commit.agent)?;
    fault::point("commit.agent");
    let agent = commit.agent.scope.agent.as_bytes();
    write_prompts(connection, agent, commit.prompts.as_ref())?;
    fault::point("commit.prompts");
    write_memories(
        connection,
        agent,
        &commit.memories,
        commit.progress.as_deref(),
    )?;
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
    if commit.agent.erased_at.is_some() {
        transcripts::forget(connection, agent)?;
    }
    fault::point("commit.messages");
    write_records(connection, agent, &commit.records)?;
    fault::point("commit.records");
    Ok(Outcome::WRITTEN)
}

/// Holds the agent against the rows that go with it.
fn check(commit: &Commit) -> Result<()> {
    check_agent(commit)?;
    check_records(commit)?;
    access::check_tokens(&commit.agent, &commit.tokens)?;
    requests::check(&commit.agent, &commit.access)?;
    commit
        .memories
        .iter()
        .try_for_each(|memory| check_memory(&commit.agent, memory))?;
    if let Some(session) = commit
        .sessions
        .iter()
        .find(|session| session.agent != commit.agent.scope.agent)
    {
        return Err(inconsistent(
            "sessions",
            format!("{} belongs to another agent", session.id),
        ));
    }
    Ok(())
}

fn check_agent(commit: &Commit) -> Result<()> {
    let agent = &commit.agent;
    if agent.last_attempt_at.is_some() != agent.last_attempt_tokens.is_some()
        || agent.ledger_created_at.is_some() != agent.ledger_number.is_some()
    {
        return Err(inconsistent(
            "agents",
            "one half of an attempt or of a ledger's position is missing",
        ));
    }
    if commit.expected_version.is_none() && commit.prompts.is_none() {
        return Err(inconsistent(
            "agent_prompts",
            format!("{} would be made without any", agent.scope.agent),
        ));
    }
    Ok(())
}

fn check_records(commit: &Commit) -> Result<()> {
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
    if let Some(last) = commit.records.last()
        && last.hash != agent.head
    {
        return Err(inconsistent(
            "agents",
            "`head` is not the hash of the last record",
        ));
    }
    Ok(())
}

fn check_memory(agent: &AgentRow, memory: &MemoryRow) -> Result<()> {
    let problem = if memory.number >= agent.next_number || memory.number.0 == 0 {
        "is not below the agent's `next_number`"
    } else if memory.shredded_at.is_some() && memory.discarded_at.is_none() {
        "is shredded and not discarded"
    } else {
        return Ok(());
    };
    Err(inconsistent(
        "memories",
        format!("{} {problem}", memory.number),
    ))
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
    let mut statement = connection.prepare_cached(
        "UPDATE agents SET version = version + 1, prompts_version = ?4, paused = ?5, inactive = ?6, \
             created_at = ?7, core_tokens = ?8, core_count = ?9, journal_count = ?10, \
             constitutional_count = ?11, discarded_count = ?12, shredded_count = ?13, \
             next_number = ?14, next_seq = ?15, last_refinement_at = ?16, last_attempt_at = ?17, \
             last_attempt_tokens = ?18, ledger_created_at = ?19, ledger_number = ?20, head = ?21, \
             settings = ?22, seal = ?23, last_reflection_at = ?24, unreflected_since = ?25, \
             wording_count = ?26, let_go_count = ?27, words = ?28, lost_words = ?29, \
             lost_by_day = ?30, attempt_failures = ?31, retry_at = ?32, journal_tokens = ?33 \
         WHERE id = ?1 AND account_id = ?2 AND version = ?3",
    )?;
    let changed = statement.execute(params![
        agent.scope.agent.as_bytes(),
        agent.scope.account.as_bytes(),
        version,
        column(agent.prompts_version, "prompts_version")?,
        agent.paused,
        agent.inactive,
        agent.created_at.microseconds(),
        column(agent.tally.core_tokens, "core_tokens")?,
        column(agent.tally.core_count, "core_count")?,
        column(agent.tally.journal_count, "journal_count")?,
        column(agent.tally.constitutional_count, "constitutional_count")?,
        column(agent.tally.discarded_count, "discarded_count")?,
        column(agent.tally.shredded_count, "shredded_count")?,
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
        agent.head,
        agent.settings,
        Text(&agent.seal),
        encode::time(agent.last_reflection_at),
        encode::time(agent.unreflected_since),
        column(agent.tally.wording_count, "wording_count")?,
        column(agent.tally.let_go_count, "let_go_count")?,
        column(agent.tally.words, "words")?,
        column(agent.tally.lost_words, "lost_words")?,
        agent.lost_by_day,
        column(agent.attempt_failures, "attempt_failures")?,
        encode::time(agent.retry_at),
        column(agent.tally.journal_tokens, "journal_tokens")?,
    ])?;
    if changed == 0 {
        return Err(Error::Conflict.into());
    }
    name_agent(connection, agent)?;
    schedule_agent(connection, agent)
}

/// As [`name_agent`], for the indexes of the schedule.
fn schedule_agent(connection: &Connection, agent: &AgentRow) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "UPDATE agents SET weekly_after = ?2, due_at = ?3, reflect_after = ?4 \
         WHERE id = ?1 \
           AND (weekly_after IS NOT ?2 OR due_at IS NOT ?3 OR reflect_after IS NOT ?4)",
    )?;
    statement.execute(params![
        agent.scope.agent.as_bytes(),
        encode::time(agent.weekly_after),
        encode::time(agent.due_at),
        encode::time(agent.reflect_after),
    ])?;
    Ok(())
}

/// Writes what is in an index of agents, and only where it changed: the pages of the index mostly stay
/// as they are.
fn name_agent(connection: &Connection, agent: &AgentRow) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "UPDATE agents SET name = ?2, folded_name = ?3, erased_at = ?4 \
         WHERE id = ?1 AND (name <> ?2 OR folded_name <> ?3 OR erased_at IS NOT ?4)",
    )?;
    statement
        .execute(params![
            agent.scope.agent.as_bytes(),
            agent.name,
            agent.folded_name,
            encode::time(agent.erased_at),
        ])
        .map_err(|error| constraint(error, "agents", Error::NameTaken, Error::Conflict))?;
    Ok(())
}

fn insert_agent(connection: &Connection, agent: &AgentRow) -> Result<()> {
    let column = |value, name| count(value, "agents", name);
    let mut statement = connection.prepare_cached(
        "INSERT INTO agents (id, account_id, version, name, folded_name, prompts_version, paused, \
             inactive, created_at, core_tokens, core_count, journal_count, constitutional_count, \
             discarded_count, shredded_count, next_number, next_seq, last_refinement_at, \
             last_attempt_at, last_attempt_tokens, ledger_created_at, ledger_number, erased_at, \
             head, settings, seal, weekly_after, due_at, last_reflection_at, unreflected_since, \
             reflect_after, wording_count, let_go_count, words, lost_words, lost_by_day, \
             attempt_failures, retry_at, journal_tokens) \
         VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
             ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, \
             ?33, ?34, ?35, ?36, ?37, ?38)",
    )?;
    statement
        .execute(params![
            agent.scope.agent.as_bytes(),
            agent.scope.account.as_bytes(),
            agent.name,
            agent.folded_name,
            column(agent.prompts_version, "prompts_version")?,
            agent.paused,
            agent.inactive,
            agent.created_at.microseconds(),
            column(agent.tally.core_tokens, "core_tokens")?,
            column(agent.tally.core_count, "core_count")?,
            column(agent.tally.journal_count, "journal_count")?,
            column(agent.tally.constitutional_count, "constitutional_count")?,
            column(agent.tally.discarded_count, "discarded_count")?,
            column(agent.tally.shredded_count, "shredded_count")?,
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
            encode::time(agent.erased_at),
            agent.head,
            agent.settings,
            Text(&agent.seal),
            encode::time(agent.weekly_after),
            encode::time(agent.due_at),
            encode::time(agent.last_reflection_at),
            encode::time(agent.unreflected_since),
            encode::time(agent.reflect_after),
            column(agent.tally.wording_count, "wording_count")?,
            column(agent.tally.let_go_count, "let_go_count")?,
            column(agent.tally.words, "words")?,
            column(agent.tally.lost_words, "lost_words")?,
            agent.lost_by_day,
            column(agent.attempt_failures, "attempt_failures")?,
            encode::time(agent.retry_at),
            column(agent.tally.journal_tokens, "journal_tokens")?,
        ])
        .map_err(|error| constraint(error, "agents", Error::NameTaken, Error::Conflict))?;
    Ok(())
}

fn write_prompts(
    connection: &Connection,
    agent: &[u8; 16],
    prompts: Option<&StoredText>,
) -> Result<()> {
    let Some(prompts) = prompts else {
        return Ok(());
    };
    connection
        .prepare_cached(
            "INSERT INTO agent_prompts (agent_id, body) VALUES (?1, ?2) \
             ON CONFLICT (agent_id) DO UPDATE SET body = excluded.body",
        )?
        .execute(params![agent, Text(prompts)])?;
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
        "UPDATE memories SET tokens = ?4, constitutional = ?5, updated_at = ?7, version = ?9, \
             shredded_at = ?10, body = ?11 \
         WHERE agent_id = ?1 AND number = ?2 AND kind = ?3 AND created_at = ?6 \
             AND discarded_at IS ?8",
    )?;
    let mut replace = connection.prepare_cached(
        "INSERT INTO memories (agent_id, number, kind, tokens, constitutional, created_at, \
             updated_at, discarded_at, version, shredded_at, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
         ON CONFLICT (agent_id, number) DO UPDATE SET kind = excluded.kind, \
             tokens = excluded.tokens, constitutional = excluded.constitutional, \
             created_at = excluded.created_at, updated_at = excluded.updated_at, \
             discarded_at = excluded.discarded_at, version = excluded.version, \
             shredded_at = excluded.shredded_at, body = excluded.body",
    )?;
    for memory in memories {
        let number = number(memory.number, "memories")?;
        let tokens = count(memory.tokens, "memories", "tokens")?;
        let created_at = memory.created_at.microseconds();
        let updated_at = memory.updated_at.microseconds();
        let discarded_at = encode::time(memory.discarded_at);
        let version = count(memory.version, "memories", "version")?;
        let row = params![
            agent,
            number,
            memory.kind.as_str(),
            tokens,
            memory.constitutional,
            created_at,
            updated_at,
            discarded_at,
            version,
            encode::time(memory.shredded_at),
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
        "UPDATE sessions SET mode = ?4, trigger = ?6, rehearsal = ?7, \
             pre_session_tokens = ?9, post_session_tokens = ?10, threshold = ?11, edits = ?12, \
             removed_tokens = ?13, consolidated = ?14, updated = ?15, deleted = ?16, \
             protected = ?17, end_reason = ?18, ended_at = ?20, undone_at = ?21, calls = ?22, \
             input_tokens = ?23, output_tokens = ?24, lease_holder = ?26, body = ?27, \
             version = ?28, lost_words = ?29, refused_calls = ?30 \
         WHERE id = ?1 AND agent_id = ?2 AND state = ?3 AND driver = ?5 AND started_at = ?19 \
             AND lease_until IS ?25 AND model IS ?8",
    )?;
    let mut replace = connection.prepare_cached(
        "INSERT INTO sessions (id, agent_id, state, mode, driver, trigger, rehearsal, model, \
             pre_session_tokens, post_session_tokens, threshold, edits, removed_tokens, \
             consolidated, updated, deleted, protected, end_reason, started_at, ended_at, \
             undone_at, calls, input_tokens, output_tokens, lease_until, lease_holder, body, \
             version, lost_words, refused_calls, account_id) \
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
             ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, account_id \
         FROM agents WHERE id = ?2 \
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
             body = excluded.body, version = excluded.version, \
             lost_words = excluded.lost_words, refused_calls = excluded.refused_calls \
         WHERE agent_id = excluded.agent_id",
    )?;
    for session in sessions {
        let tokens = |value, name| optional_count(value, "sessions", name);
        let column = |value, name| count(value, "sessions", name);
        let version = column(session.version, "version")?;
        let pre_session_tokens = tokens(session.pre_session_tokens, "pre_session_tokens")?;
        let post_session_tokens = tokens(session.post_session_tokens, "post_session_tokens")?;
        let removed_tokens = column(session.removed_tokens, "removed_tokens")?;
        let lost_words = column(session.lost_words, "lost_words")?;
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
            version,
            lost_words,
            session.refused_calls,
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

/// Puts bodies in place of those of earlier records.
fn write_bodies(connection: &Connection, agent: &[u8; 16], bodies: &[BodyRow]) -> Result<()> {
    let Some(mut statement) = prepared(
        connection,
        bodies,
        "UPDATE audit_records SET body = ?3, body_version = ?4 \
         WHERE agent_id = ?1 AND seq = ?2 AND body_version = ?4 - 1",
    )?
    else {
        return Ok(());
    };
    for body in bodies {
        let replaced = statement.execute(params![
            agent,
            count(body.seq, "audit_records", "seq")?,
            Text(&body.body),
            count(body.body_version, "audit_records", "body_version")?,
        ])?;
        if replaced == 0 {
            return Err(Error::Conflict.into());
        }
    }
    scrub::owe(connection)
}

fn write_records(connection: &Connection, agent: &[u8; 16], records: &[AuditRow]) -> Result<()> {
    let Some(mut statement) = prepared(
        connection,
        records,
        "INSERT INTO audit_records (agent_id, seq, recorded_at, actor_kind, actor_name, action, \
             session_id, memory, body_version, body_commitment, hash, facts, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
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
                record.actor_kind.as_str(),
                record.actor_name,
                record.action.as_str(),
                record.session.as_ref().map(SessionId::as_bytes),
                memory,
                count(record.body_version, "audit_records", "body_version")?,
                record.body_commitment,
                record.hash,
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
pub(crate) fn create_account(connection: &Connection, account: &AccountRow) -> Result<Outcome> {
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
    Ok(Outcome::WRITTEN)
}

/// Prolongs a hold; unchanged where the session has ended or somebody else holds it.
pub(crate) fn renew_lease(
    connection: &Connection,
    scope: AgentScope,
    session: SessionId,
    holder: u64,
    until: Timestamp,
) -> Result<Outcome> {
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
    Ok(Outcome::written(renewed))
}

/// Ends the log over all heads with an entry for every agent whose log is another than at its last
/// entry, in the order of their identifiers.
pub(crate) fn append_leaves(connection: &Connection, recorded_at: Timestamp) -> Result<Outcome> {
    let appended = connection
        .prepare_cached(
            "INSERT INTO log_leaves (position, agent_id, seq, head, recorded_at) \
             SELECT (SELECT coalesce(max(position), -1) FROM log_leaves) \
                     + row_number() OVER (ORDER BY id), \
                 id, next_seq - 1, head, ?1 \
             FROM agents \
             WHERE next_seq > 1 AND next_seq - 1 IS NOT (SELECT seq FROM log_leaves \
                 WHERE agent_id = agents.id ORDER BY position DESC LIMIT 1) \
                 AND head IS (SELECT hash FROM audit_records \
                     WHERE agent_id = agents.id AND seq = next_seq - 1)",
        )?
        .execute([recorded_at.microseconds()])?;
    fault::point("leaves.appended");
    let length = connection
        .prepare_cached("SELECT coalesce(max(position), -1) + 1 FROM log_leaves")?
        .query_row([], |row| Ok(Columns::new(row, "log_leaves").count()))??;
    Ok(Outcome {
        leaves: length,
        ..Outcome::written(appended)
    })
}
