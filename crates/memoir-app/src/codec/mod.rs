//! Between the domain's plain data and the store's rows. The one place where an agent's words become
//! bytes and bytes become words, where texts are sealed and opened, and where the log is chained.

mod sealed;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use memoir_domain::{
    AgentScope, PrivateText, SessionId, Timestamp,
    absorption::{self, MessageState},
    access::{AccessKind, AccessRequest, AccessScope},
    agent::{self, Agent, Attempt, LedgerPosition, LossGuard, Settings, Threshold},
    audit::{Action, Actor, Body, Change, Facts, REPLACED, Record},
    draft::Decision,
    memory::{Memory, Number, Tags},
    schedule,
    session::Session,
    text::Digester,
    wording::{Door, Wording},
};
use memoir_store::{
    AccessRow, AgentRow, AuditRow, BodyRow, Commit, MemoryRow, MessageRow, SessionRow, Snapshot,
    StoredText, TokenRow,
};
use memoir_vault::{
    AgentKey,
    chain::{self, BodyCommitment, RecordHash},
    seal::Row,
};
use serde::{Deserialize, Serialize};

use self::sealed::{Columns, Sealer, check, open};
use crate::{Error, Random, Result, sessions::Rehearsal};

#[derive(Serialize, Deserialize)]
struct MemoryBody {
    content: PrivateText,
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    tags: Tags,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<PrivateText>,
    door: Door,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    wordings: Vec<Wording>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protected_seq: Option<u64>,
}

fn memory_columns(row: &MemoryRow) -> Result<Columns> {
    Columns::of(&(
        row.kind.as_str(),
        row.tokens,
        row.constitutional,
        row.created_at.microseconds(),
        row.updated_at.microseconds(),
        microseconds(row.discarded_at),
        microseconds(row.shredded_at),
    ))
}

/// Under the agent's version `version`, which is the one that the commit writes.
fn memory_row(sealer: &Sealer<'_>, version: u64, memory: Memory) -> Result<MemoryRow> {
    let mut row = MemoryRow {
        number: memory.number,
        version,
        kind: memory.kind,
        tokens: memory.tokens(),
        constitutional: memory.is_constitutional(),
        created_at: memory.created_at,
        updated_at: memory.updated_at,
        discarded_at: memory.discarded_at,
        shredded_at: memory.shredded_at,
        body: StoredText::default(),
    };
    let body = MemoryBody {
        content: memory.content,
        tags: memory.tags,
        source: memory.source,
        door: memory.door,
        wordings: memory.wordings,
        protected_seq: memory.protected_seq,
    };
    let place = Row::Memory(row.number);
    row.body = sealer.seal(place, version, &memory_columns(&row)?, &body)?;
    Ok(row)
}

pub(crate) fn memory(key: &AgentKey, row: MemoryRow) -> Result<Memory> {
    let columns = memory_columns(&row)?;
    let place = Row::Memory(row.number);
    let body: MemoryBody = open(key, place, row.version, &columns, &row.body)?;
    let memory = Memory {
        number: row.number,
        kind: row.kind,
        content: body.content,
        tags: body.tags,
        source: body.source,
        door: body.door,
        wordings: body.wordings,
        protected_seq: body.protected_seq,
        created_at: row.created_at,
        updated_at: row.updated_at,
        discarded_at: row.discarded_at,
        shredded_at: row.shredded_at,
    };
    if memory.tokens() != row.tokens || memory.is_constitutional() != row.constitutional {
        let problem = format!(
            "table `memories`, row {}: size or flag do not fit the text",
            row.number
        );
        return Err(Error::Inconsistent(problem));
    }
    Ok(memory)
}

#[derive(Serialize, Deserialize)]
struct Prompts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_prompt: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reflection_prompt: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_reflection_prompt: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refinement_prompt: Option<PrivateText>,
}

/// What of an agent's row its seal covers: all of it but the seal. The store writes the row under the
/// version that `version` names.
fn agent_columns(row: &AgentRow, version: u64) -> Result<Columns> {
    let tally = row.tally;
    Columns::of(&(
        (version, &row.name, &row.folded_name, &row.settings),
        (row.prompts_version, row.paused, row.inactive),
        row.created_at.microseconds(),
        (
            tally.core_tokens,
            tally.core_count,
            tally.journal_count,
            tally.constitutional_count,
            tally.discarded_count,
            tally.shredded_count,
            tally.journal_tokens,
        ),
        (
            tally.wording_count,
            tally.let_go_count,
            tally.words,
            tally.lost_words,
            &row.lost_by_day,
        ),
        (row.next_number, row.next_seq),
        (
            microseconds(row.last_refinement_at),
            microseconds(row.last_attempt_at),
            row.last_attempt_tokens,
            row.attempt_failures,
            microseconds(row.retry_at),
        ),
        (
            microseconds(row.weekly_after),
            microseconds(row.due_at),
            microseconds(row.last_reflection_at),
            microseconds(row.unreflected_since),
            microseconds(row.reflect_after),
        ),
        (microseconds(row.ledger_created_at), row.ledger_number),
        microseconds(row.erased_at),
        row.head,
    ))
}

fn microseconds(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::microseconds)
}

/// Seals the row for the version that it is written under.
fn seal_agent(sealer: &Sealer<'_>, row: &mut AgentRow) -> Result<()> {
    let columns = agent_columns(row, row.version)?;
    row.seal = sealer.seal_bytes(Row::Agent, row.version, &columns, &[])?;
    Ok(())
}

/// The agent's row as it is to be written under `base`'s next version, not yet sealed.
fn agent_row(base: &Base, agent: Agent, time_zone: &TimeZone) -> Result<AgentRow> {
    let prospect = schedule::prospect(&agent, time_zone);
    let lost_by_day = serde_json::to_string(&agent.lost_words)
        .map_err(|_| Error::Inconsistent("counts cannot be written as JSON".to_owned()))?;
    Ok(AgentRow {
        scope: base.scope,
        version: base.next_version(),
        folded_name: agent::fold_name(&agent.name),
        name: agent.name,
        settings: base.settings.clone(),
        prompts_version: base.prompts_version,
        paused: agent.settings.paused,
        inactive: agent.settings.inactive,
        created_at: agent.created_at,
        tally: agent.tally,
        lost_by_day,
        next_number: agent.next_number,
        next_seq: agent.next_seq,
        last_refinement_at: agent.last_refinement_at,
        last_attempt_at: agent.last_attempt.map(|attempt| attempt.at),
        last_attempt_tokens: agent.last_attempt.map(|attempt| attempt.core_tokens),
        attempt_failures: agent
            .last_attempt
            .map_or(0, |attempt| attempt.failures.into()),
        retry_at: agent.last_attempt.and_then(|attempt| attempt.retry_at),
        weekly_after: prospect.weekly_after,
        due_at: prospect.due_at,
        last_reflection_at: agent.last_reflection_at,
        unreflected_since: agent.unreflected_since,
        reflect_after: prospect.reflect_after,
        ledger_created_at: agent.ledger_position.map(|position| position.created_at),
        ledger_number: agent.ledger_position.map(|position| position.number),
        erased_at: agent.erased_at,
        head: base.head.0,
        seal: StoredText::default(),
    })
}

/// The settings that are no text, and the prompts.
fn settings_columns(settings: &Settings) -> Result<(String, Prompts)> {
    let mut settings = settings.clone();
    let prompts = Prompts {
        system_prompt: settings.system_prompt.take(),
        reflection_prompt: settings.reflection_prompt.take(),
        memory_reflection_prompt: settings.memory_reflection_prompt.take(),
        refinement_prompt: settings.refinement_prompt.take(),
    };
    let settings = serde_json::to_string(&settings)
        .map_err(|_| Error::Inconsistent("settings cannot be written as JSON".to_owned()))?;
    Ok((settings, prompts))
}

/// An agent with its prompts.
///
/// # Errors
/// The row or the prompts are not as they were written.
pub(crate) fn agent(key: &AgentKey, row: &AgentRow, prompts: &StoredText) -> Result<Agent> {
    let columns = agent_columns(row, row.version)?;
    check(key, Row::Agent, row.version, &columns, &row.seal)?;
    let version = row.prompts_version;
    let prompts: Prompts = open(key, Row::Prompts, version, &Columns::NONE, prompts)?;
    let mut agent = listed_agent(row)?;
    agent.settings = Settings {
        system_prompt: prompts.system_prompt,
        reflection_prompt: prompts.reflection_prompt,
        memory_reflection_prompt: prompts.memory_reflection_prompt,
        refinement_prompt: prompts.refinement_prompt,
        ..agent.settings
    };
    Ok(agent)
}

/// An agent as anybody sees it who lists agents: without prompts, and taken from the row unchecked.
pub(crate) fn listed_agent(row: &AgentRow) -> Result<Agent> {
    let settings: Settings = serde_json::from_str(&row.settings).map_err(|_| {
        let agent = row.scope.agent;
        Error::Inconsistent(format!(
            "table `agents`, {agent}: the settings cannot be read"
        ))
    })?;
    let lost_words = serde_json::from_str(&row.lost_by_day).map_err(|_| {
        let agent = row.scope.agent;
        Error::Inconsistent(format!(
            "table `agents`, {agent}: the words let go cannot be read"
        ))
    })?;
    Ok(Agent {
        id: row.scope.agent,
        name: row.name.clone(),
        settings,
        created_at: row.created_at,
        tally: row.tally,
        lost_words,
        next_number: row.next_number,
        next_seq: row.next_seq,
        last_refinement_at: row.last_refinement_at,
        last_reflection_at: row.last_reflection_at,
        unreflected_since: row.unreflected_since,
        last_attempt: row
            .last_attempt_at
            .zip(row.last_attempt_tokens)
            .map(|(at, core_tokens)| Attempt {
                at,
                core_tokens,
                failures: u32::try_from(row.attempt_failures).unwrap_or(u32::MAX),
                retry_at: row.retry_at,
            }),
        ledger_position: row
            .ledger_created_at
            .zip(row.ledger_number)
            .map(|(created_at, number)| LedgerPosition { created_at, number }),
        erased_at: row.erased_at,
    })
}

#[derive(Default, Serialize, Deserialize)]
struct SessionBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rehearsal: Option<Rehearsal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_guard: Option<LossGuard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    immutable_tags: Option<Vec<String>>,
}

/// All open columns but the lease, which is renewed without the key.
fn session_columns(row: &SessionRow) -> Result<Columns> {
    Columns::of(&(
        (
            row.state.as_str(),
            row.mode.as_str(),
            row.driver,
            row.trigger,
        ),
        (row.rehearsal, &row.model),
        (row.pre_session_tokens, row.post_session_tokens),
        row.threshold.map(f64::to_bits),
        (
            row.edits,
            row.removed_tokens,
            row.lost_words,
            row.stats,
            row.refused_calls,
        ),
        row.end_reason.map(|reason| reason.as_str()),
        (
            row.started_at.microseconds(),
            microseconds(row.ended_at),
            microseconds(row.undone_at),
        ),
        row.usage,
    ))
}

fn session_row(
    sealer: &Sealer<'_>,
    base: &Base,
    session: Session,
    rehearsal: Option<Rehearsal>,
) -> Result<SessionRow> {
    let mut row = SessionRow {
        id: session.id,
        agent: base.scope.agent,
        version: base.next_version(),
        state: session.state,
        mode: session.mode,
        driver: session.driver,
        trigger: session.trigger,
        rehearsal: session.rehearsal,
        model: session.model,
        pre_session_tokens: session.pre_session_tokens,
        post_session_tokens: session.post_session_tokens,
        threshold: session.threshold.map(Threshold::share),
        edits: session.edits,
        removed_tokens: session.removed_tokens,
        lost_words: session.lost_words,
        stats: session.stats,
        refused_calls: session.refused_calls,
        end_reason: session.end_reason,
        body: StoredText::default(),
        started_at: session.started_at,
        ended_at: session.ended_at,
        undone_at: session.undone_at,
        usage: session.usage,
        lease: session.lease,
    };
    let body = SessionBody {
        summary: session.summary,
        reason: session.reason,
        rehearsal,
        loss_guard: session.loss_guard,
        immutable_tags: session.immutable_tags,
    };
    let columns = session_columns(&row)?;
    row.body = sealer.seal(Row::Session(row.id), row.version, &columns, &body)?;
    Ok(row)
}

/// A session, and what it came to where it was a rehearsal. Without the key: without its words, and
/// taken from the row unchecked.
pub(crate) fn session(
    key: Option<&AgentKey>,
    row: SessionRow,
) -> Result<(Session, Option<Rehearsal>)> {
    let columns = session_columns(&row)?;
    let body = match key {
        Some(key) => open(key, Row::Session(row.id), row.version, &columns, &row.body)?,
        None => SessionBody::default(),
    };
    let threshold = row.threshold.map(Threshold::new).transpose();
    let session = Session {
        id: row.id,
        state: row.state,
        mode: row.mode,
        driver: row.driver,
        trigger: row.trigger,
        rehearsal: row.rehearsal,
        model: row.model,
        pre_session_tokens: row.pre_session_tokens,
        post_session_tokens: row.post_session_tokens,
        threshold: threshold.map_err(|_| {
            Error::Inconsistent(format!("table `sessions`, session {}: threshold", row.id))
        })?,
        edits: row.edits,
        removed_tokens: row.removed_tokens,
        lost_words: row.lost_words,
        loss_guard: body.loss_guard,
        immutable_tags: body.immutable_tags,
        stats: row.stats,
        refused_calls: row.refused_calls,
        summary: body.summary,
        end_reason: row.end_reason,
        reason: body.reason,
        started_at: row.started_at,
        ended_at: row.ended_at,
        undone_at: row.undone_at,
        usage: row.usage,
        lease: row.lease,
    };
    Ok((session, body.rehearsal))
}

#[derive(Serialize, Deserialize)]
struct AccessBody {
    purpose: PrivateText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<PrivateText>,
}

fn access_columns(row: &AccessRow) -> Result<Columns> {
    let scope = row.kind.scope();
    let (minutes, token_expires_at, memory) = match row.kind {
        AccessKind::Read { minutes, .. } => (Some(minutes), None, None),
        AccessKind::Token { expires_at } => (None, microseconds(expires_at), None),
        AccessKind::Shred { number } => (None, None, Some(number)),
    };
    Columns::of(&(
        (
            row.kind.as_str(),
            scope.map(AccessScope::as_str),
            scope.and_then(AccessScope::session),
            minutes,
            token_expires_at,
            memory,
        ),
        row.state.as_str(),
        (row.asked_by_kind.as_str(), &row.asked_by_name),
        (
            row.requested_at.microseconds(),
            row.expires_at.microseconds(),
            microseconds(row.answered_at),
            row.answered_seq,
            microseconds(row.ended_at),
        ),
        (row.reads, row.memories_read, row.tokens_read),
    ))
}

fn access_row(sealer: &Sealer<'_>, base: &Base, request: AccessRequest) -> Result<AccessRow> {
    let mut row = AccessRow {
        id: request.id,
        agent: base.scope.agent,
        version: base.next_version(),
        kind: request.kind,
        state: request.state,
        asked_by_kind: request.asked_by.kind,
        asked_by_name: request.asked_by.name,
        requested_at: request.requested_at,
        expires_at: request.expires_at,
        answered_at: request.answered_at,
        answered_seq: request.answered_seq,
        ended_at: request.ended_at,
        reads: request.reads,
        memories_read: request.memories_read,
        tokens_read: request.tokens_read,
        body: StoredText::default(),
    };
    let body = AccessBody {
        purpose: request.purpose,
        reason: request.reason,
    };
    let (place, columns) = (Row::AccessRequest(row.id), access_columns(&row)?);
    row.body = sealer.seal(place, row.version, &columns, &body)?;
    Ok(row)
}

/// A request for access.
///
/// # Errors
/// The row is not as it was written.
pub(crate) fn access_request(key: &AgentKey, row: AccessRow) -> Result<AccessRequest> {
    let (place, columns) = (Row::AccessRequest(row.id), access_columns(&row)?);
    let body: AccessBody = open(key, place, row.version, &columns, &row.body)?;
    Ok(AccessRequest {
        id: row.id,
        kind: row.kind,
        purpose: body.purpose,
        asked_by: Actor {
            kind: row.asked_by_kind,
            name: row.asked_by_name,
        },
        state: row.state,
        requested_at: row.requested_at,
        expires_at: row.expires_at,
        answered_at: row.answered_at,
        answered_seq: row.answered_seq,
        reason: body.reason,
        ended_at: row.ended_at,
        reads: row.reads,
        memories_read: row.memories_read,
        tokens_read: row.tokens_read,
    })
}

/// Without a hash: that is worked out in the order of the log.
fn audit_row(sealer: &Sealer<'_>, record: Record) -> Result<AuditRow> {
    /// Of a body that was written with its record.
    const FIRST: u64 = 1;
    let facts = facts_text(&record.facts)?;
    let mut row = AuditRow {
        seq: record.seq,
        recorded_at: record.recorded_at,
        actor_kind: record.actor.kind,
        actor_name: record.actor.name,
        action: record.action,
        session: record.session,
        memory: record.memory,
        facts,
        body_version: FIRST,
        body_commitment: [0; 32],
        body: StoredText::default(),
        hash: [0; 32],
        previous_hash: None,
    };
    let place = Row::Record(row.seq);
    row.body = sealer.seal(place, FIRST, &record_columns(&row)?, &record.body)?;
    row.body_commitment = chain::body_commitment(&row.body.0).0;
    Ok(row)
}

/// What a record says in the open: whoever reads one record does not recompute the chain.
fn record_columns(row: &AuditRow) -> Result<Columns> {
    Columns::of(&(
        row.recorded_at.microseconds(),
        (row.actor_kind.as_str(), &row.actor_name),
        row.action.as_str(),
        row.session,
        row.memory,
        &row.facts,
    ))
}

fn facts_text(facts: &Facts) -> Result<String> {
    serde_json::to_string(facts)
        .map_err(|_| Error::Inconsistent("a record's facts cannot be written as JSON".to_owned()))
}

/// What the hash of a record covers.
pub(crate) fn chained(row: &AuditRow) -> chain::Record<'_> {
    chain::Record {
        seq: row.seq,
        recorded_at: row.recorded_at,
        actor_kind: row.actor_kind.as_str(),
        actor_name: &row.actor_name,
        action: row.action.as_str(),
        session: row.session,
        memory: row.memory,
        facts: row.facts.as_bytes(),
        body: BodyCommitment(row.body_commitment),
    }
}

/// Chains the records onto `head`, and gives the new head.
fn chain_records(scope: AgentScope, mut head: RecordHash, records: &mut [AuditRow]) -> RecordHash {
    for row in records {
        row.previous_hash = (row.seq > 1).then_some(head.0);
        head = chained(row).hash(scope, &head);
        row.hash = head.0;
    }
    head
}

/// A record; without the key, without its words.
pub(crate) fn record(key: Option<&AgentKey>, row: AuditRow) -> Result<Record> {
    let body: Body = match key {
        Some(key) => {
            let (place, columns) = (Row::Record(row.seq), record_columns(&row)?);
            open(key, place, row.body_version, &columns, &row.body)?
        }
        None => Body::default(),
    };
    Ok(Record {
        facts: facts(&row)?,
        seq: row.seq,
        recorded_at: row.recorded_at,
        actor: Actor {
            kind: row.actor_kind,
            name: row.actor_name,
        },
        action: row.action,
        session: row.session,
        memory: row.memory,
        body,
    })
}

/// The facts of a record.
pub(crate) fn facts(row: &AuditRow) -> Result<Facts> {
    serde_json::from_str(&row.facts).map_err(|_| {
        let seq = row.seq;
        Error::Inconsistent(format!(
            "table `audit_records`, record {seq}: the facts cannot be read"
        ))
    })
}

/// The rows of a whole agent as they are, for an empty store.
pub(crate) fn copy(
    key: &AgentKey,
    random: &dyn Random,
    snapshot: Snapshot,
    sessions: Vec<SessionRow>,
) -> Result<Commit> {
    // The copy's versions begin anew, and the seal holds the version.
    let mut agent = AgentRow {
        version: FIRST_VERSION,
        ..snapshot.agent
    };
    seal_agent(&Sealer { key, random }, &mut agent)?;
    Ok(Commit {
        expected_version: None,
        agent,
        prompts: Some(snapshot.prompts),
        memories: snapshot.memories,
        sessions,
        tokens: Vec::new(),
        messages: Vec::new(),
        access: Vec::new(),
        records: Vec::new(),
        bodies: Vec::new(),
        progress: None,
    })
}

/// The version of an agent that was just made.
const FIRST_VERSION: u64 = 1;

/// What an agent's row keeps from one decision to the next, and its key.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    scope: AgentScope,
    /// `None` where the agent is being made.
    version: Option<u64>,
    key: AgentKey,
    settings: String,
    prompts_version: u64,
    head: RecordHash,
}

impl Base {
    /// Of an agent that is being made.
    pub(crate) fn new(key: AgentKey) -> Self {
        Self {
            scope: key.scope(),
            version: None,
            settings: String::new(),
            prompts_version: FIRST_VERSION,
            head: chain::genesis(key.scope()),
            key,
        }
    }

    /// Of an agent as it was loaded.
    pub(crate) fn of(key: AgentKey, row: AgentRow) -> Self {
        Self {
            scope: row.scope,
            version: Some(row.version),
            key,
            settings: row.settings,
            prompts_version: row.prompts_version,
            head: RecordHash(row.head),
        }
    }

    /// The version that the next commit on this one writes.
    fn next_version(&self) -> u64 {
        self.version.map_or(FIRST_VERSION, |version| version + 1)
    }

    pub(crate) fn version(&self) -> Option<u64> {
        self.version
    }

    /// The hash that the agent's log ends with.
    pub(crate) fn head(&self) -> [u8; 32] {
        self.head.0
    }

    pub(crate) fn key(&self) -> &AgentKey {
        &self.key
    }

    pub(crate) fn digester(&self) -> Digester {
        Digester::new(self.key.digest_key())
    }
}

/// What goes with a decision that the domain does not know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Beside {
    /// What the rehearsals among its sessions came to.
    pub(crate) rehearsals: BTreeMap<SessionId, Rehearsal>,
    /// The records that it redacts, as they are now.
    pub(crate) read: BTreeMap<u64, AuditRow>,
    /// The agent's tokens that it makes or changes.
    pub(crate) tokens: Vec<TokenRow>,
    /// What became of messages of conversations, by their places.
    pub(crate) messages: Vec<(u64, MessageState)>,
}

impl Beside {
    /// What one rehearsal came to.
    pub(crate) fn rehearsed(session: SessionId, rehearsal: Rehearsal) -> Self {
        Self {
            rehearsals: BTreeMap::from([(session, rehearsal)]),
            ..Self::default()
        }
    }
}

/// The rows of a decision that was made on `base`, and the base of the next one once they are written.
pub(crate) fn commit(
    base: &Base,
    mut decision: Decision,
    beside: Beside,
    random: &dyn Random,
    time_zone: &TimeZone,
) -> Result<(Commit, Base)> {
    let key = &base.key;
    let sealer = &Sealer { key, random };
    let version = base.next_version();
    let mut next = Base {
        version: Some(version),
        ..base.clone()
    };
    let prompts = settings_of(&mut next, sealer, &decision)?;
    let bodies = redacted(sealer, &mut decision, &beside.read)?;
    let mut records = crate::parallel::map(decision.records, |record| audit_row(sealer, record))
        .into_iter()
        .collect::<Result<Vec<AuditRow>>>()?;
    next.head = chain_records(base.scope, base.head, &mut records);
    let mut agent = agent_row(base, decision.agent, time_zone)?;
    agent.settings.clone_from(&next.settings);
    agent.prompts_version = next.prompts_version;
    agent.head = next.head.0;
    seal_agent(sealer, &mut agent)?;
    let mut commit = Commit {
        expected_version: base.version,
        agent,
        prompts,
        memories: Vec::new(),
        sessions: Vec::with_capacity(decision.sessions.len()),
        tokens: beside.tokens,
        messages: beside.messages,
        access: Vec::with_capacity(decision.access.len()),
        records,
        bodies,
        progress: None,
    };
    let prepared = crate::parallel::map(last_states(decision.changes), |memory| {
        memory_row(sealer, version, memory)
    });
    commit.memories = prepared.into_iter().collect::<Result<_>>()?;
    let mut rehearsals = beside.rehearsals;
    for session in decision.sessions {
        let rehearsed = rehearsals.remove(&session.id);
        let row = session_row(sealer, base, session, rehearsed)?;
        commit.sessions.push(row);
    }
    for request in decision.access {
        commit.access.push(access_row(sealer, base, request)?);
    }
    Ok((commit, next))
}

/// The bodies that take the place of others. What each of them is stands in the record that tells of it,
/// so that the chain goes on verifying (SPEC 4.4).
fn redacted(
    sealer: &Sealer<'_>,
    decision: &mut Decision,
    read: &BTreeMap<u64, AuditRow>,
) -> Result<Vec<BodyRow>> {
    let mut bodies = Vec::with_capacity(decision.redactions.len());
    for redaction in std::mem::take(&mut decision.redactions) {
        let seq = redaction.seq;
        let row = read.get(&seq).ok_or_else(|| {
            Error::Inconsistent(format!("record {seq} is redacted without having been read"))
        })?;
        let body_version = row.body_version + 1;
        let place = Row::Record(seq);
        let body = sealer.seal(place, body_version, &record_columns(row)?, &redaction.body)?;
        bodies.push(BodyRow {
            seq,
            body_version,
            body,
        });
    }
    // One that shreds, or those of an agent that comes from elsewhere: its texts are all sealed anew, and
    // none stands in the place of another.
    let told = decision
        .records
        .iter_mut()
        .filter(|record| record.action == Action::MemoryShredded);
    for told in told {
        let commitments = bodies
            .iter()
            .map(|row| (row.seq, chain::body_commitment(&row.body.0).0));
        let facts = std::mem::take(&mut told.facts);
        told.facts = facts.commitments(REPLACED, commitments);
    }
    Ok(bodies)
}

/// The settings in `next`, and the prompts where they are to be written. Every change of a setting is a
/// record (SPEC 4.1).
fn settings_of(
    next: &mut Base,
    sealer: &Sealer<'_>,
    decision: &Decision,
) -> Result<Option<StoredText>> {
    let changed = decision
        .records
        .iter()
        .any(|record| record.action == Action::AgentConfigured);
    if !changed {
        return Ok(None);
    }
    let (settings, prompts) = settings_columns(&decision.agent.settings)?;
    next.settings = settings;
    next.prompts_version = next.version.unwrap_or(FIRST_VERSION);
    let version = next.prompts_version;
    let sealed = sealer.seal(Row::Prompts, version, &Columns::NONE, &prompts)?;
    Ok(Some(sealed))
}

/// A memory can be changed more than once in a decision: only where it ended up is written. In the order
/// of the numbers.
fn last_states(changes: Vec<Change>) -> Vec<Memory> {
    let states = changes
        .iter()
        .map(|change| (change.number(), change.after()));
    states
        .collect::<BTreeMap<Number, Memory>>()
        .into_values()
        .collect()
}

#[derive(Serialize, Deserialize)]
struct MessageBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    speaker: PrivateText,
    text: PrivateText,
}

/// Messages are written once.
const MESSAGE_VERSION: u64 = 1;

fn message_place(digest: &[u8; 32]) -> Row {
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    Row::Message(first)
}

/// A message that waits to be read.
pub(crate) fn message(
    key: &AgentKey,
    id: &PrivateText,
    message: absorption::Message,
    received_at: Timestamp,
    random: &dyn Random,
) -> Result<MessageRow> {
    let digest = Digester::new(key.digest_key()).message(id.expose());
    let tokens = message.tokens();
    let columns = Columns::of(&(tokens, received_at.microseconds()))?;
    let body = MessageBody {
        at: message.at,
        speaker: message.speaker,
        text: message.text,
    };
    let sealer = Sealer { key, random };
    Ok(MessageRow {
        seq: 0,
        digest,
        tokens,
        received_at,
        state: MessageState::Pending,
        body: sealer.seal(message_place(&digest), MESSAGE_VERSION, &columns, &body)?,
    })
}

/// A message as it was handed over.
///
/// # Errors
/// The row is not as it was written.
pub(crate) fn open_message(key: &AgentKey, row: &MessageRow) -> Result<absorption::Message> {
    let columns = Columns::of(&(row.tokens, row.received_at.microseconds()))?;
    let place = message_place(&row.digest);
    let body: MessageBody = open(key, place, MESSAGE_VERSION, &columns, &row.body)?;
    Ok(absorption::Message {
        at: body.at,
        speaker: body.speaker,
        text: body.text,
    })
}
