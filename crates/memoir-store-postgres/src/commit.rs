//! The statements of one decision.

use std::{
    collections::BTreeSet,
    sync::{OnceLock, atomic::Ordering},
};

use memoir_domain::{AccountId, Timestamp};
use memoir_store::{
    AccessRow, AuditRow, BodyRow, Commit, Commits, Error, MemoryRow, MessageOutcome, Reach,
    ReplyMark, Result, SessionRow, StoredText, TokenRow, Waiting, encode, replacing,
    tables::places, written,
};

use crate::{
    access,
    error::StatementFault,
    pool::{Connections, PooledConnection, Statement, TransactionPurpose, met},
    value::{Value, columns, count},
};

/// Rows up to which one statement writes them.
// Bounds the memory of one message on both sides; an import of many thousand memories takes as many
// statements, in the same transaction.
const ROWS: usize = 1_000;

/// The subject of a decision's statement, which determines the meaning of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementSubject {
    /// Whatever the database names as the table that refused.
    Decision,
    Agent,
    Prompts,
    Memories,
    Sessions,
    Bodies,
    Tokens,
    Requests,
    Messages,
    Records,
    Reply,
}

pub(crate) struct Statements<'commit>(
    pub(crate) Vec<Statement<'commit>>,
    pub(crate) Vec<StatementSubject>,
);

impl StatementSubject {
    fn of_table(table: &str) -> Option<Self> {
        match table {
            "agents" => Some(Self::Agent),
            "memories" => Some(Self::Memories),
            "sessions" => Some(Self::Sessions),
            "audit_records" => Some(Self::Records),
            _ => None,
        }
    }
}

impl<'commit> Statements<'commit> {
    /// The one that compares the agent's version and writes the agent, and one row of each kind that most decisions
    /// write: whole decisions, except for those of several memories or of rarer rows.
    fn of_decision(
        commit: &'commit Commit,
        memory: Option<&'commit MemoryRow>,
        session: Option<&'commit SessionRow>,
        record: Option<&'commit AuditRow>,
    ) -> Result<Self> {
        let values = decision_values(commit, memory, session, record)?;
        let written = Statement::new(calls(values.len()).within.as_str(), values);
        Ok(Self(vec![written], vec![StatementSubject::Decision]))
    }

    fn add(&mut self, about: StatementSubject, statement: Statement<'commit>) {
        self.0.push(statement);
        self.1.push(about);
    }
}

/// Writes one decision in one round trip. If the response is lost, returns the decision.
///
/// # Errors
/// As for [`Store::commit`](memoir_store::Store::commit).
pub(crate) async fn write(mut connection: PooledConnection, commit: Commit) -> Result<()> {
    let answer = send(&mut connection, &commit, true, true).await;
    match answer {
        Ok(()) => {
            connection.restore();
            count_progress(&commit);
            Ok(())
        }
        // Returned whole, so that the caller can write the very same commit again. It moves the agent's version, so
        // that it is written at most once, and the second outcome shows that of the first. The connection is dropped
        // with the transaction, which may still be committing.
        Err(StatementFault::Lost(_)) => Err(Error::OutcomeUnknown(Box::new(commit))),
        Err(fault) => Err(fault.into()),
    }
}

/// Sends a decision's statements, what begins their transaction before them, and what ends it behind them.
async fn send(
    connection: &mut PooledConnection,
    commit: &Commit,
    begins: bool,
    ends: bool,
) -> Result<(), StatementFault> {
    // What was decided on an earlier version of the agent need not fit the present one. That is a conflict, not an
    // inconsistency, so the version is checked nevertheless. An inconsistent commit is found before anything is sent,
    // but reported only if the version was right.
    let problem = commit.check().err();
    let Statements(mut statements, abouts) = match &problem {
        None => statements(commit)?,
        Some(_) => Statements::of_decision(commit, None, None, None)?,
    };
    let is_alone = match &mut statements[..] {
        // One statement is a transaction by itself; that of an inconsistent decision is rolled back.
        [written] if begins && ends && problem.is_none() => {
            written.sql = calls(written.values.len()).alone.as_str().into();
            true
        }
        _ => false,
    };
    // In the reach of this agent: whatever a statement says, the policies of the tables keep the
    // memories and records of others out of the transaction.
    let reach = Reach::Agent(commit.agent.scope);
    let opening =
        (begins && !is_alone).then(|| connection.opening(reach, TransactionPurpose::Decide));
    let closing = match &problem {
        None => "COMMIT",
        // The version is compared with the row and released again.
        Some(_) => "ROLLBACK",
    };
    let closing = (ends && !is_alone).then_some(closing);
    let sent = connection
        .send(opening.as_deref(), &statements, closing)
        .await;
    sent.map_err(|fault| {
        if is_alone && matches!(fault, StatementFault::Refused(..)) {
            // Rolled back with its transaction: nothing is open on the connection.
            connection.restore();
        }
        meaning(fault, &abouts, commit)
    })?;
    problem.map_or(Ok(()), |problem| Err(problem.into()))
}

/// Whether a decision is consistent, and is written by one statement.
pub(crate) fn is_one_statement(commit: &Commit) -> bool {
    checked(commit).is_ok_and(|Statements(statements, _)| statements.len() == 1)
}

/// Sends decisions, in one transaction.
///
/// # Errors
/// One of them is inconsistent or refused: nothing of any was written.
pub(crate) async fn send_all(
    connection: &mut PooledConnection,
    commits: &[&Commit],
) -> Result<(), StatementFault> {
    let mut all = Vec::with_capacity(commits.len());
    for commit in commits {
        all.extend(checked(commit)?.0);
    }
    let Some(first) = commits.first() else {
        return Ok(());
    };
    // Each decision gives itself the reach of its agent.
    let opening = connection.opening(Reach::Agent(first.agent.scope), TransactionPurpose::Decide);
    let sent = connection.send(Some(&opening), &all, Some("COMMIT"));
    sent.await.map(drop)
}

/// Writes decisions one after the other, as they come.
///
/// # Errors
/// As for [`Store::commit_all`](memoir_store::Store::commit_all).
pub(crate) async fn write_all(connections: &Connections, commits: Commits) -> Result<()> {
    // The source of the commits may block its thread.
    let (give, mut next) = tokio::sync::mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        while let Some(commit) = commits.next() {
            let is_last = commit.is_none();
            if give.blocking_send(commit).is_err() || is_last {
                break;
            }
        }
    });
    // After the task was begun that gives the decisions: where there is no connection, it ends by
    // its channel being closed.
    let mut connection = connections.take().await?;
    let mut last = None;
    while let Some(one) = next.recv().await {
        let Some(commit) = one else {
            if let Some(last) = last {
                match connection.send(None, &[], Some("COMMIT")).await {
                    // All of them may be written: the outcome of the last one decides.
                    Err(StatementFault::Lost(_)) => {
                        return Err(Error::OutcomeUnknown(Box::new(last)));
                    }
                    ended => ended?,
                };
            }
            connection.restore();
            return Ok(());
        };
        // An error drops the connection and with it the transaction, which has no end yet: also where the connection
        // broke, nothing was written.
        match send(&mut connection, &commit, last.is_none(), false).await {
            Err(StatementFault::Lost(problem)) => return Err(connections.unreachable(problem)),
            sent => sent?,
        }
        count_progress(&commit);
        last = Some(commit);
    }
    // The source stopped before the last decision. The connection is dropped without a `COMMIT`.
    Err(Error::Unfinished)
}

pub(crate) fn count_progress(commit: &Commit) {
    if let Some(progress) = &commit.progress {
        progress.fetch_add(commit.memories.len() as u64, Ordering::Relaxed);
    }
}

/// The error of a decision whose statement was refused.
pub(crate) fn meaning(
    fault: StatementFault,
    abouts: &[StatementSubject],
    commit: &Commit,
) -> StatementFault {
    let StatementFault::Refused(at, _) = fault else {
        return fault;
    };
    let is_unmet = fault.is_unmet(at);
    let about = match abouts.get(at) {
        Some(StatementSubject::Decision) => fault.table().and_then(StatementSubject::of_table),
        about => about.copied(),
    };
    let agent = commit.agent.scope.agent;
    let inconsistent = |table, problem: &str| {
        let problem = format!("a row of {agent} {problem}");
        Error::inconsistent(table, problem).into()
    };
    match about {
        // The index by name first: a key that is taken is otherwise a conflict, and this one is not to be tried again.
        Some(StatementSubject::Agent) if fault.broken() == Some("agents_by_name") => {
            Error::NameTaken.into()
        }
        // A database with stricter isolation by default reports a concurrent change of the version so.
        _ if fault.is_serialization() => Error::Conflict.into(),
        Some(StatementSubject::Agent | StatementSubject::Bodies | StatementSubject::Messages)
            if is_unmet || fault.is_taken() =>
        {
            Error::Conflict.into()
        }
        Some(StatementSubject::Records) if fault.is_taken() => Error::Conflict.into(),
        Some(StatementSubject::Reply) if is_unmet => Error::Repeated.into(),
        Some(StatementSubject::Sessions) if fault.broken() == Some("sessions_running") => {
            Error::SessionRunning.into()
        }
        Some(StatementSubject::Sessions) if is_unmet || fault.broken() == Some("sessions_pkey") => {
            inconsistent("sessions", "belongs to another agent")
        }
        Some(StatementSubject::Tokens) if fault.broken() == Some("tokens_by_digest") => {
            inconsistent("tokens", "has the digest of another token")
        }
        // Another process wrote a later version of one.
        Some(StatementSubject::Tokens) if is_unmet => Error::Conflict.into(),
        Some(StatementSubject::Requests) if is_unmet => {
            inconsistent("access_requests", "is another request, or is over")
        }
        Some(
            StatementSubject::Memories | StatementSubject::Prompts | StatementSubject::Records,
        ) if is_unmet => inconsistent("of a decision", "was not written"),
        _ => fault,
    }
}

pub(crate) fn checked(commit: &Commit) -> Result<Statements<'_>> {
    commit.check()?;
    statements(commit)
}

/// The statements of a decision: first its version, which makes other decisions on the agent wait.
fn statements(commit: &Commit) -> Result<Statements<'_>> {
    let (agent, account) = (&commit.agent.scope.agent, &commit.agent.scope.account);
    let agent = agent.as_bytes();
    let (memory, memories) = first(&commit.memories);
    let (session, sessions) = first(&commit.sessions);
    // Bodies take the place of those of records that were there before.
    let (record, records) = match commit.bodies.is_empty() {
        true => first(&commit.records),
        false => (None, &commit.records[..]),
    };
    let mut statements = Statements::of_decision(commit, memory, session, record)?;
    if let Some(StoredText(prompts)) = &commit.prompts {
        let sql = "INSERT INTO agent_prompts (agent_id, body) VALUES ($1, $2) \
             ON CONFLICT (agent_id) DO UPDATE SET body = excluded.body";
        statements.add(
            StatementSubject::Prompts,
            met(sql, 1, values![agent, &prompts[..]]),
        );
    }
    for memories in apart(memories, |row| row.number.0) {
        statements.add(StatementSubject::Memories, write_memories(agent, memories)?);
    }
    for sessions in apart(sessions, |row| *row.id.as_bytes()) {
        let written = write_sessions(agent, account.as_bytes(), sessions)?;
        statements.add(StatementSubject::Sessions, written);
    }
    for bodies in apart(&commit.bodies, |row| row.seq) {
        statements.add(StatementSubject::Bodies, write_bodies(agent, bodies)?);
    }
    for tokens in apart(&commit.tokens, |row| *row.id.as_bytes()) {
        statements.add(StatementSubject::Tokens, write_tokens(tokens)?);
    }
    for requests in apart(&commit.access, |row| *row.id.as_bytes()) {
        statements.add(StatementSubject::Requests, write_requests(agent, requests)?);
    }
    for messages in apart(&commit.messages, |row| row.seq) {
        statements.add(StatementSubject::Messages, write_states(agent, messages)?);
    }
    if let Some((waiting, due_at)) = &commit.waiting {
        for written in write_waiting(agent, account.as_bytes(), waiting, *due_at)? {
            statements.add(StatementSubject::Messages, written);
        }
    }
    if commit.agent.columns.erased_at.is_some() || !commit.bodies.is_empty() {
        // The stored responses to repeated requests can hold its text.
        let forget = Statement::new(access::FORGET_ANSWERS, values![account.as_bytes()]);
        statements.add(StatementSubject::Bodies, forget);
    }
    for sql in commit.deletions() {
        let deleted = Statement::new(sql, values![agent]);
        statements.add(StatementSubject::Messages, deleted);
    }
    for records in records.chunks(ROWS) {
        statements.add(StatementSubject::Records, write_records(agent, records)?);
    }
    if let Some(mark) = &commit.reply {
        // Behind what locks all rows of the account's requests: no transaction locks one of them first.
        statements.add(StatementSubject::Reply, mark_reply(account, mark)?);
    }
    Ok(statements)
}

/// Rows in order, as many as one statement writes. It writes none twice: a repeated one goes to the next statement.
fn apart<R, K: Ord>(rows: &[R], key: impl Fn(&R) -> K) -> impl Iterator<Item = &[R]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut keys = BTreeSet::new();
        // PostgreSQL refuses to touch one row twice by `ON CONFLICT DO UPDATE` of one statement,
        // and an `UPDATE` from a list would take either of two.
        let has_room = |row: &&R| keys.len() < ROWS && keys.insert(key(row));
        let (next, after) = rest.split_at(rest.iter().take_while(has_room).count());
        rest = after;
        (!next.is_empty()).then_some(next)
    })
}

fn first<R>(rows: &[R]) -> (Option<&R>, &[R]) {
    rows.split_first()
        .map_or((None, rows), |(first, rest)| (Some(first), rest))
}

struct Calls {
    /// As a transaction by itself.
    alone: String,
    /// Within one that was begun.
    within: String,
}

/// Both, with so many values; built once, since every decision is written by one of them.
fn calls(values: usize) -> &'static Calls {
    static CALLS: OnceLock<Calls> = OnceLock::new();
    CALLS.get_or_init(|| {
        let alone = format!("SELECT memoir_decide({})", places(values));
        // If the statement that begins the transaction is refused, each later one runs by itself. The others have no
        // reach then; the function sets its own, and would write a part of a decision.
        let within = format!("{alone} WHERE current_setting('memoir.account', true) <> ''");
        Calls { alone, within }
    })
}

fn decision_values<'row>(
    commit: &'row Commit,
    memory: Option<&'row MemoryRow>,
    session: Option<&'row SessionRow>,
    record: Option<&'row AuditRow>,
) -> Result<Vec<Value<'row>>> {
    let agent = encode::agent(commit)?.into_iter();
    let rows = agent.chain(encode::memory(memory)?);
    let rows = rows.chain(encode::session(session)?);
    let rows = rows.chain(encode::record(record)?);
    Ok(rows.map(Value::One).collect())
}

fn write_memories<'row>(agent: &'row [u8; 16], rows: &'row [MemoryRow]) -> Result<Statement<'row>> {
    let mut values = values![agent];
    values.extend(columns(rows, |row| encode::memory(Some(row)))?);
    let sql = concat!(
        "INSERT INTO memories (agent_id, ",
        written!(memory),
        ") SELECT $1, * FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        replacing!(memory)
    );
    // Vectors are of one version of a row. They go in the same statement: each one costs its own way to the database.
    let vectors = "DELETE FROM memory_vectors WHERE agent_id = $1 AND number = ANY ($2)";
    Ok(met(
        &format!("{sql} RETURNING 1), gone AS ({vectors}"),
        rows.len(),
        values,
    ))
}

fn write_sessions<'row>(
    agent: &'row [u8; 16],
    account: &'row [u8; 16],
    rows: &'row [SessionRow],
) -> Result<Statement<'row>> {
    let mut values = values![agent, account];
    values.extend(columns(rows, |row| encode::session(Some(row)))?);
    let sql = concat!(
        "INSERT INTO sessions (agent_id, account_id, ",
        written!(session),
        ") SELECT $1, $2, * FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
         ON CONFLICT (id) DO UPDATE SET version = excluded.version, ended_at = excluded.ended_at, \
             lease_holder = excluded.lease_holder, open = excluded.open, sealed = excluded.sealed, \
             state = excluded.state, driver = excluded.driver, model = excluded.model, \
             started_at = excluded.started_at, lease_until = excluded.lease_until \
         WHERE sessions.agent_id = excluded.agent_id"
    );
    Ok(met(sql, rows.len(), values))
}

/// Puts bodies in place of those of earlier records.
fn write_bodies<'row>(agent: &'row [u8; 16], rows: &'row [BodyRow]) -> Result<Statement<'row>> {
    let mut values = values![agent];
    values.extend(columns(rows, encode::body)?);
    let sql = "UPDATE audit_records SET body = given.body, body_version = given.version \
         FROM unnest($2, $3, $4) AS given (seq, version, body) \
         WHERE agent_id = $1 AND audit_records.seq = given.seq AND body_version = given.version - 1";
    Ok(met(sql, rows.len(), values))
}

/// Writes tokens, in the order in which uses of tokens lock them, so that the two cannot deadlock.
pub(crate) fn write_tokens(rows: &[TokenRow]) -> Result<Statement<'_>> {
    let values = columns(rows, encode::token)?;
    let sql = concat!(
        "INSERT INTO tokens (",
        written!(token),
        ") SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ORDER BY 2",
        replacing!(token)
    );
    Ok(met(sql, rows.len(), values.into()))
}

/// Writes requests: new ones, and the outcomes of open ones.
fn write_requests<'row>(agent: &'row [u8; 16], rows: &'row [AccessRow]) -> Result<Statement<'row>> {
    let mut values = values![agent];
    values.extend(columns(rows, encode::access_request)?);
    let sql = concat!(
        "INSERT INTO access_requests (agent_id, ",
        written!(access_request),
        ") SELECT $1, * FROM unnest($2, $3, $4, $5, $6, $7, $8)",
        replacing!(access_request)
    );
    Ok(met(sql, rows.len(), values))
}

/// Writes the outcomes of waiting messages. The words of absorbed ones are deleted, or kept until a time.
fn write_states<'row>(
    agent: &'row [u8; 16],
    rows: &'row [MessageOutcome],
) -> Result<Statement<'row>> {
    let mut values = values![agent];
    values.extend(columns(rows, encode::outcome)?);
    let sql = "UPDATE transcript_messages SET state = given.state, words_until = given.words_until, \
             body = CASE WHEN given.state = 'absorbed' AND given.words_until IS NULL THEN '' ELSE body END \
         FROM unnest($2, $3, $4) AS given (seq, state, words_until) \
         WHERE agent_id = $1 AND transcript_messages.seq = given.seq \
             AND transcript_messages.state = 'pending'";
    Ok(met(sql, rows.len(), values))
}

/// Lets messages wait. A lease that is held continues with new ones.
fn write_waiting<'row>(
    agent: &'row [u8; 16],
    account: &'row [u8; 16],
    waiting: &'row Waiting,
    due_at: Timestamp,
) -> Result<Vec<Statement<'row>>> {
    let mut statements = Vec::new();
    match waiting {
        Waiting::New(messages) => {
            for rows in messages.chunks(ROWS) {
                let mut values = values![agent];
                values.extend(columns(rows, encode::message)?);
                let sql = "INSERT INTO transcript_messages \
                         (agent_id, seq, digest, tokens, received_at, counted_bytes, state, body) \
                     SELECT $1, place + coalesce( \
                             (SELECT max(seq) FROM transcript_messages WHERE agent_id = $1), 0), \
                         digest, tokens, received_at, counted_bytes, 'pending', body \
                     FROM unnest($2, $3, $4, $5, $6) WITH ORDINALITY \
                         AS given (tokens, counted_bytes, digest, received_at, body, place)";
                statements.push(met(sql, rows.len(), values));
            }
            let sql = "INSERT INTO transcripts (agent_id, account_id, due_at, claims, failures) \
                 VALUES ($1, $2, $3, 0, 0) \
                 ON CONFLICT (agent_id) DO UPDATE SET due_at = excluded.due_at, failures = 0 \
                 WHERE transcripts.claimed_until IS NULL OR transcripts.due_at IS NULL";
            statements.push(Statement::new(sql, values![agent, account, due_at]));
        }
        Waiting::Again { which, count, .. } => {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            statements.push(met(which.statement(), count, values![agent]));
            let sql = "UPDATE transcripts SET due_at = least(due_at, $2), failures = 0 \
                 WHERE agent_id = $1 AND claimed_until IS NULL";
            statements.push(Statement::new(sql, values![agent, due_at]));
        }
    }
    Ok(statements)
}

fn write_records<'row>(agent: &'row [u8; 16], rows: &'row [AuditRow]) -> Result<Statement<'row>> {
    let mut values = values![agent];
    values.extend(columns(rows, |row| encode::record(Some(row)))?);
    let sql = concat!(
        "INSERT INTO audit_records (agent_id, ",
        written!(record),
        ") SELECT $1, * FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    Ok(met(sql, rows.len(), values))
}

/// Enters that a request made the change that is written with it.
fn mark_reply<'row>(account: &'row AccountId, mark: &'row ReplyMark) -> Result<Statement<'row>> {
    let sql = "UPDATE replies SET version = $3, open = $4, sealed = $5 \
         WHERE account_id = $1 AND key_digest = $2 AND open IS NOT DISTINCT FROM $6";
    let values = values![
        account.as_bytes(),
        &mark.key_digest,
        count(mark.document.version, "replies", "version")?,
        mark.document.open.as_bytes(),
        &mark.document.sealed.0[..],
        mark.expected.as_deref().map(str::as_bytes),
    ];
    Ok(met(sql, 1, values))
}
