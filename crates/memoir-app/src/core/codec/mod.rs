//! Converts between the domain's plain data and the store's rows. Only this module turns an agent's text into bytes and
//! back, seals and opens texts, and chains the log.
//!
//! Agents, sessions and access requests are documents. The open part is the domain's own type without its text. A field
//! that is added there is stored; it is optional where older rows lack it.
//!
//! Memories, messages and records are narrow: each open column is bound to the seal. Later fields go by name into the
//! sealed part, or into a record's facts. The open part of a record is bound to its text. Undo, rewind, shredding and
//! archives read the log without a gap up to the end in the agent's sealed row.
//!
//! A use case gets the agent's key once (`keys.rs`), with the rows. [`Base`] passes it from one decision to the next.

pub(crate) mod document;
mod sealed;
mod word_index;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use memoir_domain::{
    AgentScope, PrivateText, SessionId, Timestamp,
    absorption::{ConversationMessage, MessageState},
    access::AccessRequest,
    agent::{self, Agent, MessageCounts, Settings},
    audit::{Action, Actor, ActorKind, Change, Facts, REPLACED, Record, RecordBody},
    draft::Decision,
    memory::{Archived, Kind, Memory, Number, Place, Tags},
    origin::{SavedBy, Side},
    recall::Vector,
    schedule::{self, NextDue},
    session::Session,
    summary::LogSummary,
    text::Digester,
    tools::session_gauge,
    view,
};
use memoir_store::{
    AccessColumns, AccessRow, AgentColumns, AgentRow, AuditRow, BodyRow, Commit, FleetRanks,
    FleetSession, MemoryRow, MessageOutcome, MessageRow, Reviving, SessionColumns, SessionRow,
    StoredText, SummaryRow, TokenRow, VectorRow, Waiting,
};
use memoir_vault::{
    AgentKey,
    chain::{self, BodyCommitment, RecordHash},
    seal::{Opening, SealContext, SealedRow},
};
use serde::{Deserialize, Serialize};

use self::{
    document::NoWords,
    sealed::{SealedColumns, open},
};
pub(crate) use self::{
    sealed::Sealer,
    word_index::{IndexVersion, word_index, word_index_rows},
};
use crate::core::{Error, Result, clock::Random, parallel, rehearsal::Rehearsal};

view! {
    #[derive(Serialize, Deserialize)]
    struct MemoryBody from memory: Memory;
    content: PrivateText = memory.content,
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    tags: Tags = memory.tags,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<PrivateText> = memory.source,
    saved_by: SavedBy = memory.saved_by,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protected_seq: Option<u64> = memory.protected_seq,
}

/// The open columns of a memory, all bound to the seal. It is no document: there are a hundred to an agent's row, and
/// each is read with every context.
fn memory_columns(row: &MemoryRow) -> Result<SealedColumns> {
    SealedColumns::of(&(
        row.kind.as_str(),
        row.tokens,
        row.constitutional,
        row.created_at.microseconds(),
        row.updated_at.microseconds(),
        microseconds(row.discarded_at),
        microseconds(row.shredded_at),
        (
            row.under.map(|number| number.0),
            microseconds(row.archived_at),
            row.archived_by.map(|by| by.as_str()),
            row.is_summary,
            row.core_seq,
            row.recorded_at.microseconds(),
        ),
    ))
}

/// A memory's row under the agent's version `version`, which is the one that the commit writes.
pub(crate) fn memory_row(sealer: &Sealer<'_>, version: u64, memory: Memory) -> Result<MemoryRow> {
    let archived = memory.place.archived();
    let mut row = MemoryRow {
        number: memory.number,
        version,
        kind: memory.kind(),
        tokens: memory.tokens(),
        constitutional: memory.is_constitutional(),
        created_at: memory.created_at,
        updated_at: memory.updated_at,
        discarded_at: memory.discarded_at,
        shredded_at: memory.shredded_at,
        under: archived.and_then(|archived| archived.under),
        archived_at: archived.map(|archived| archived.at),
        archived_by: archived.map(|archived| archived.by),
        is_summary: memory.is_summary,
        core_seq: memory.core_seq,
        recorded_at: memory.recorded_at,
        body: StoredText::default(),
    };
    let body = MemoryBody::new(memory);
    // The seal is bound to the number and the version, so that no row opens in the place of another (SPEC 5.3).
    let place = SealedRow::Memory(row.number);
    row.body = sealer.seal(place, version, &memory_columns(&row)?, &body)?;
    Ok(row)
}

pub(crate) fn memory(key: &AgentKey, row: &MemoryRow) -> Result<Memory> {
    let columns = memory_columns(row)?;
    let sealed_row = SealedRow::Memory(row.number);
    let body: MemoryBody = open(key, sealed_row, row.version, &columns, &row.body)?;
    let inconsistent = |problem: &str| {
        let problem = format!("table `memories`, row {}: {problem}", row.number);
        Err(Error::Inconsistent(problem))
    };
    let place = match (row.kind, row.archived_at.zip(row.archived_by)) {
        (Kind::Core, None) => Place::Core,
        (Kind::Journal, None) => Place::Journal,
        (Kind::Archival, Some((at, by))) => Place::Archival(Archived {
            under: row.under,
            at,
            by,
        }),
        _ => return inconsistent("kind and `archived_at` do not agree"),
    };
    let memory = Memory {
        number: row.number,
        place,
        content: body.content,
        tags: body.tags,
        source: body.source,
        saved_by: body.saved_by,
        is_summary: row.is_summary,
        protected_seq: body.protected_seq,
        core_seq: row.core_seq,
        recorded_at: row.recorded_at,
        created_at: row.created_at,
        updated_at: row.updated_at,
        discarded_at: row.discarded_at,
        shredded_at: row.shredded_at,
    };
    // The columns are covered by the seal, so only Memoir can have made them differ from the text. They are compared
    // all the same: they decide core size and protection.
    if memory.tokens() != row.tokens || memory.is_constitutional() != row.constitutional {
        return inconsistent("size or flag do not fit the text");
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

/// The open part of an agent, which is all of it but its prompts.
#[derive(Serialize, Deserialize)]
struct OpenAgent {
    /// Without its prompts.
    agent: Agent,
    /// Its name as compared.
    folded_name: String,
    /// The agent's version under which its prompts were last written.
    prompts_version: u64,
    /// The hash of the last record of its log.
    #[serde(with = "document::digest")]
    head: [u8; 32],
    prospect: NextDue,
    ranks: FleetRanks,
}

impl OpenAgent {
    fn columns(&self) -> AgentColumns {
        AgentColumns {
            name: self.agent.name.clone(),
            folded_name: self.folded_name.clone(),
            erased_at: self.agent.erased_at,
            next_seq: self.agent.next_seq,
            head: self.head,
            prospect: self.prospect,
            ranks: self.ranks,
        }
    }
}

fn microseconds(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::microseconds)
}

/// The agent's row to be written on `base`, with `next`'s end of the log.
fn agent_row(
    sealer: &Sealer<'_>,
    base: &Base,
    next: &Base,
    mut agent: Agent,
    time_zone: &TimeZone,
) -> Result<AgentRow> {
    let (prospect, ranks) = (schedule::prospect(&agent, time_zone), ranks(&agent));
    // The prompts removed here are not lost: they are either written beside this row (`changed_prompts`) or remain
    // stored unchanged under their own version.
    Prompts::taken_from(&mut agent.settings);
    let open = OpenAgent {
        folded_name: agent::fold_name(&agent.name),
        agent,
        prompts_version: next.prompts_version,
        head: next.head.0,
        prospect,
        ranks,
    };
    Ok(AgentRow {
        scope: base.scope,
        columns: open.columns(),
        // The sealed part is empty. Its seal protects the open part: a changed setting or head needs a seal that only
        // the key makes.
        document: sealer.document(SealedRow::Agent, base.next_version(), &open, &NoWords {})?,
    })
}

fn ranks(agent: &Agent) -> FleetRanks {
    FleetRanks {
        budget_share: budget_share(agent),
        removable_tokens: session_gauge(agent, None).removable_tokens(),
        archived_share: millionths(agent.tally.archival_count, agent.tally.originals()),
    }
}

/// The core size as a share of the budget, in millionths: over one million where it is over the budget at all.
pub(crate) fn budget_share(agent: &Agent) -> u64 {
    let budget = agent.settings.effective_core_token_budget();
    share_of_budget(agent.tally.core_tokens, budget)
}

fn share_of_budget(core_tokens: u64, budget: u64) -> u64 {
    // Of a budget over a million tokens, what is over by one token is less than a millionth.
    millionths(core_tokens, budget).saturating_add(u64::from(core_tokens > budget))
}

fn millionths(part: u64, whole: u64) -> u64 {
    // An agent without memories has 0 tokens, by which nothing can be divided.
    part.saturating_mul(1_000_000) / whole.max(1)
}

impl Prompts {
    fn taken_from(settings: &mut Settings) -> Self {
        Self {
            system_prompt: settings.system_prompt.take(),
            reflection_prompt: settings.reflection_prompt.take(),
            memory_reflection_prompt: settings.memory_reflection_prompt.take(),
            refinement_prompt: settings.refinement_prompt.take(),
        }
    }
}

/// An agent, and the base of its next decision. Without a request for its prompts, it is as if it had set none; the
/// decision then changes none, which [`commit`] checks.
pub(crate) fn agent(
    key: &AgentKey,
    row: &AgentRow,
    prompts: Option<&StoredText>,
) -> Result<(Agent, Base)> {
    // The sealed part is empty. It is opened to verify the open document and its version.
    document::open_private(key, SealedRow::Agent, &row.document)?;
    let (mut agent, mut base) = unopened_agent(key, row)?;
    if let Some(prompts) = prompts {
        // Prompts are sealed under a version of their own, since most commits do not write them. The agent's row says
        // which version is valid, and its seal covers that.
        let (place, columns) = (SealedRow::Prompts, &SealedColumns::NONE);
        let prompts: Prompts = open(key, place, base.prompts_version, columns, prompts)?;
        agent.settings = Settings {
            system_prompt: prompts.system_prompt,
            reflection_prompt: prompts.reflection_prompt,
            memory_reflection_prompt: prompts.memory_reflection_prompt,
            refinement_prompt: prompts.refinement_prompt,
            ..agent.settings
        };
        base.has_prompts = true;
    }
    Ok((agent, base))
}

/// As [`agent`], without its prompts, and with its seal unopened.
pub(crate) fn unopened_agent(key: &AgentKey, row: &AgentRow) -> Result<(Agent, Base)> {
    let opened = open_agent(row)?;
    let base = Base {
        has_prompts: false,
        scope: row.scope,
        version: Some(row.document.version),
        next_seq: opened.agent.next_seq,
        key: key.clone(),
        prompts_version: opened.prompts_version,
        head: RecordHash(opened.head),
    };
    Ok((opened.agent, base))
}

fn open_agent(row: &AgentRow) -> Result<OpenAgent> {
    let opened: OpenAgent = document::read(SealedRow::Agent, &row.document.open)?;
    let (place, columns) = (SealedRow::Agent, opened.columns());
    document::check_columns(place, row.document.version, &row.columns, &columns)?;
    Ok(opened)
}

/// An agent as in a list of agents: without prompts, and with its seal unopened.
pub(crate) fn listed_agent(row: &AgentRow) -> Result<Agent> {
    Ok(open_agent(row)?.agent)
}

#[derive(Default, Serialize, Deserialize)]
struct SealedSessionWords {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rehearsal: Option<Rehearsal>,
}

fn session_columns(session: &Session) -> SessionColumns {
    SessionColumns {
        state: session.state,
        driver: session.driver,
        model: session.model.clone(),
        started_at: session.started_at,
        ended_at: session.ended_at,
    }
}

fn session_row(
    sealer: &Sealer<'_>,
    base: &Base,
    mut session: Session,
    rehearsal: Option<Rehearsal>,
) -> Result<SessionRow> {
    let words = SealedSessionWords {
        summary: session.summary.take(),
        reason: session.reason.take(),
        rehearsal,
    };
    // A lease is renewed without the key, so it is not sealed.
    let lease = session.lease.take();
    let (row, version) = (SealedRow::Session(session.id), base.next_version());
    Ok(SessionRow {
        id: session.id,
        agent: base.scope.agent,
        columns: session_columns(&session),
        lease,
        document: sealer.document(row, version, &session, &words)?,
    })
}

/// A session, and the state of its rehearsal. Without the key: without text, and with its seal unopened.
pub(crate) fn session(
    key: Option<&AgentKey>,
    row: SessionRow,
) -> Result<(Session, Option<Rehearsal>)> {
    let place = SealedRow::Session(row.id);
    let (session, words): (Session, _) = match key {
        Some(key) => document::open(key, place, &row.document)?,
        None => (
            document::read(place, &row.document.open)?,
            SealedSessionWords::default(),
        ),
    };
    let columns = session_columns(&session);
    document::check_columns(place, row.document.version, &row.columns, &columns)?;
    let session = Session {
        summary: words.summary,
        reason: words.reason,
        lease: row.lease,
        ..session
    };
    Ok((session, words.rehearsal))
}

/// Sessions, in their order, and the states of the rehearsals among them; as for [`session`].
pub(crate) fn sessions(
    key: Option<&AgentKey>,
    rows: Vec<SessionRow>,
) -> Result<(Vec<Session>, Rehearsals)> {
    let mut sessions = Vec::with_capacity(rows.len());
    let mut rehearsals = Rehearsals::new();
    for row in rows {
        let (session, rehearsal) = session(key, row)?;
        rehearsals.extend(rehearsal.map(|rehearsal| (session.id, rehearsal)));
        sessions.push(session);
    }
    Ok((sessions, rehearsals))
}

pub(crate) fn listed_session(row: &FleetSession) -> Result<Session> {
    let place = SealedRow::Session(row.id);
    let session = document::read(place, &row.open)?;
    document::check_columns(place, row.version, &row.columns, &session_columns(&session))?;
    Ok(session)
}

/// The sealed part of an access request.
#[derive(Serialize, Deserialize)]
struct AccessWords {
    purpose: PrivateText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<PrivateText>,
}

fn access_columns(request: &AccessRequest) -> AccessColumns {
    AccessColumns {
        state: request.state,
        requested_at: request.requested_at,
        expires_at: request.expires_at,
    }
}

fn access_row(sealer: &Sealer<'_>, base: &Base, request: AccessRequest) -> Result<AccessRow> {
    let (row, version) = (SealedRow::AccessRequest(request.id), base.next_version());
    let words = AccessWords {
        purpose: request.purpose.clone(),
        reason: request.reason.clone(),
    };
    Ok(AccessRow {
        id: request.id,
        agent: base.scope.agent,
        columns: access_columns(&request),
        document: sealer.document(row, version, &request, &words)?,
    })
}

pub(crate) fn access_request(key: &AgentKey, row: &AccessRow) -> Result<AccessRequest> {
    let (_, words): (serde::de::IgnoredAny, AccessWords) =
        document::open(key, SealedRow::AccessRequest(row.id), &row.document)?;
    Ok(AccessRequest {
        purpose: words.purpose,
        reason: words.reason,
        // Opened before it is read: no open part is returned whose seal is invalid.
        ..listed_access_request(row)?
    })
}

/// An access request without its text, and with its seal unopened.
pub(crate) fn listed_access_request(row: &AccessRow) -> Result<AccessRequest> {
    let place = SealedRow::AccessRequest(row.id);
    let request: AccessRequest = document::read(place, &row.document.open)?;
    let columns = access_columns(&request);
    document::check_columns(place, row.document.version, &row.columns, &columns)?;
    Ok(request)
}

/// Without a hash: that is computed in the order of the log.
fn audit_row(sealer: &Sealer<'_>, record: Record) -> Result<AuditRow> {
    /// Of a body that was written with its record.
    const FIRST: u64 = 1;
    let facts = serde_json::to_string(&record.facts).map_err(|_| {
        Error::Inconsistent("a record's facts cannot be written as JSON".to_owned())
    })?;
    // The record is sealed before its hash is computed, since the hash covers the sealed part. Its open fields are
    // bound to the seal, since a wrong hash shows only when the whole chain is recomputed.
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
    let place = SealedRow::Record(row.seq);
    row.body = sealer.seal(place, FIRST, &record_columns(&row)?, &record.body)?;
    row.body_commitment = chain::body_commitment(&row.body.0).0;
    Ok(row)
}

/// The open columns of a record, for reading one record without recomputing the chain. As with memories, no columns
/// will be added: later fields are facts, by name.
fn record_columns(row: &AuditRow) -> Result<SealedColumns> {
    SealedColumns::of(&(
        row.recorded_at.microseconds(),
        (row.actor_kind.as_str(), &row.actor_name),
        row.action.as_str(),
        row.session,
        row.memory,
        &row.facts,
    ))
}

/// What the hash of a record covers.
pub(crate) fn chained(row: &AuditRow) -> chain::ChainRecord<'_> {
    chain::ChainRecord {
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

fn chain_records(scope: AgentScope, mut head: RecordHash, records: &mut [AuditRow]) -> RecordHash {
    for row in records {
        // A store fills this in as it reads; it is set here too, so that a record that was just written is equal.
        row.previous_hash = (row.seq > 1).then_some(head.0);
        head = chained(row).hash(scope, &head);
        row.hash = head.0;
    }
    head
}

/// A record; without the key, without its text.
pub(crate) fn record(key: Option<&AgentKey>, row: AuditRow) -> Result<Record> {
    let body = match key {
        Some(key) => {
            let (place, columns) = (SealedRow::Record(row.seq), record_columns(&row)?);
            open(key, place, row.body_version, &columns, &row.body)?
        }
        None => RecordBody::default(),
    };
    let record = bare_record(row)?;
    Ok(Record { body, ..record })
}

/// Records, in their order; as for [`record`].
pub(crate) fn records(key: Option<&AgentKey>, rows: Vec<AuditRow>) -> Result<Vec<Record>> {
    let opened = parallel::map(rows, |row| record(key, row));
    opened.into_iter().collect()
}

/// A record's text as it was sealed, byte for byte, with what shows that it is.
pub(crate) fn opening(key: &AgentKey, row: &AuditRow) -> Result<Opening> {
    let place = SealContext {
        row: SealedRow::Record(row.seq),
        version: row.body_version,
    };
    Ok(key.opening(&place, &record_columns(row)?.0, &row.body.0)?)
}

pub(crate) fn bare_record<Body>(row: AuditRow<Body>) -> Result<Record> {
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
        body: RecordBody::default(),
    })
}

/// The version of a summary, which is written once: each place has a summary of its own.
const SUMMARY_VERSION: u64 = 1;

/// A summary, sealed for its last record, which has that hash.
pub(crate) fn summary_row(
    sealer: &Sealer<'_>,
    summary: &LogSummary,
    hash: [u8; 32],
) -> Result<SummaryRow> {
    let place = SealedRow::Summary(summary.last_seq());
    let plain = zeroize::Zeroizing::new(summary.to_bytes());
    Ok(SummaryRow {
        last_seq: summary.last_seq(),
        hash,
        // The seal is bound to the hash of the last record, so that a summary of other records does not open here.
        body: sealer.seal_bytes(place, SUMMARY_VERSION, &hash, &plain)?,
    })
}

pub(crate) fn summary(key: &AgentKey, row: &SummaryRow) -> Result<LogSummary> {
    let place = SealContext {
        row: SealedRow::Summary(row.last_seq),
        version: SUMMARY_VERSION,
    };
    let plain = key.open(&place, &row.hash, &row.body.0)?;
    let summary = LogSummary::from_bytes(&plain);
    let summary = summary.filter(|summary| summary.last_seq() == row.last_seq);
    summary.ok_or_else(|| Error::Inconsistent(format!("{place}: the summary cannot be read")))
}

/// A vector that a model made of one version of a memory's row, sealed for both.
pub(crate) fn vector_row(
    sealer: &Sealer<'_>,
    number: Number,
    version: u64,
    model: &str,
    vector: &Vector,
) -> Result<VectorRow> {
    let plain = zeroize::Zeroizing::new(vector.to_bytes());
    let place = SealedRow::Vector(number);
    Ok(VectorRow {
        number,
        version,
        model: model.to_owned(),
        // The seal is bound to the model's name, since vectors of two models cannot be compared.
        body: sealer.seal_bytes(place, version, model.as_bytes(), &plain)?,
    })
}

pub(crate) fn vector(key: &AgentKey, row: &VectorRow) -> Result<Vector> {
    let place = SealContext {
        row: SealedRow::Vector(row.number),
        version: row.version,
    };
    let plain = key.open(&place, row.model.as_bytes(), &row.body.0)?;
    Vector::from_bytes(&plain)
        .ok_or_else(|| Error::Inconsistent(format!("{place}: the vector cannot be read")))
}

pub(crate) fn facts<Body>(row: &AuditRow<Body>) -> Result<Facts> {
    serde_json::from_str(&row.facts).map_err(|_| {
        let seq = row.seq;
        Error::Inconsistent(format!(
            "table `audit_records`, record {seq}: the facts cannot be read"
        ))
    })
}

/// The version of a new agent.
const FIRST_VERSION: u64 = 1;

/// The state of an agent's row between two decisions, and its key.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    scope: AgentScope,
    /// `None` where the agent is being made.
    version: Option<u64>,
    next_seq: u64,
    key: AgentKey,
    /// Whether the agent was read with its prompts. Without them none can be written: the existing ones would be lost.
    has_prompts: bool,
    prompts_version: u64,
    head: RecordHash,
}

impl Base {
    pub(crate) fn new(key: AgentKey) -> Self {
        Self {
            scope: key.scope(),
            version: None,
            next_seq: 0,
            has_prompts: true,
            prompts_version: FIRST_VERSION,
            // The first hash of each agent's chain is its own, so that the log of one agent never matches another.
            head: chain::genesis(key.scope()),
            key,
        }
    }

    fn next_version(&self) -> u64 {
        self.version.map_or(FIRST_VERSION, |version| version + 1)
    }

    /// The version of the row, which each commit increases. `None` where the agent is being made.
    pub(crate) fn version(&self) -> Option<u64> {
        self.version
    }

    /// The version of the agent's memories: each commit that changes one adds a record. A commit without records, such
    /// as that of a conversation that was handed over, leaves it as it is.
    pub(crate) fn memories_version(&self) -> Option<u64> {
        self.version.map(|_| self.next_seq)
    }

    /// As if the agent had been read without its prompts.
    pub(crate) fn forget_prompts(&mut self, agent: &mut Agent) {
        drop(Prompts::taken_from(&mut agent.settings));
        self.has_prompts = false;
    }

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

pub(crate) type Rehearsals = BTreeMap<SessionId, Rehearsal>;

/// A decision, with what is written beside it and the domain does not know.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) decision: Decision,
    pub(crate) rehearsals: Rehearsals,
    /// The records that it redacts, as they are now.
    pub(crate) read: BTreeMap<u64, AuditRow>,
    /// The agent's tokens that it makes or changes.
    pub(crate) tokens: Vec<TokenRow>,
    pub(crate) messages: Vec<MessageOutcome>,
    /// Messages that wait from now on, and from when on they are to be read.
    pub(crate) waiting: Option<(Waiting, Timestamp)>,
}

impl From<Decision> for Writing {
    fn from(decision: Decision) -> Self {
        Self {
            decision,
            rehearsals: Rehearsals::new(),
            read: BTreeMap::new(),
            tokens: Vec::new(),
            messages: Vec::new(),
            waiting: None,
        }
    }
}

impl Writing {
    pub(crate) fn rehearsed(decision: Decision, session: SessionId, rehearsal: Rehearsal) -> Self {
        Self {
            rehearsals: BTreeMap::from([(session, rehearsal)]),
            ..decision.into()
        }
    }
}

/// The rows of a decision that was made on `base`, and the base of the next one once they are written.
pub(crate) fn commit(
    base: &Base,
    writing: Writing,
    random: &dyn Random,
    time_zone: &TimeZone,
) -> Result<(Commit, Base)> {
    let Writing {
        mut decision,
        mut rehearsals,
        read,
        tokens,
        messages,
        waiting,
    } = writing;
    let key = &base.key;
    let sealer = &Sealer { key, random };
    let version = base.next_version();
    let mut next = Base {
        // The store increments the version itself. The seals here are bound to the resulting number; if the store finds
        // another one, it is a conflict, and all of this is discarded.
        version: Some(version),
        ..base.clone()
    };
    // Before the agent's row, which holds the version under which the prompts were sealed.
    let prompts = changed_prompts(base, &mut next, sealer, &decision)?;
    // Before the records are sealed: the record of a shredding holds the hashes of the replacement texts, and its own
    // hash covers them.
    let bodies = redacted(sealer, &mut decision, &read)?;
    let mut records = parallel::map(decision.records, |record| audit_row(sealer, record))
        .into_iter()
        .collect::<Result<Vec<AuditRow>>>()?;
    next.head = chain_records(base.scope, base.head, &mut records);
    let waits = waiting.as_ref().map(|(waiting, _)| waiting);
    count_messages(&mut decision.agent.messages, &messages, waits);
    // After the chain: the agent's row holds the end of the chain, so that truncating the log must change that row.
    next.next_seq = decision.agent.next_seq;
    let agent = agent_row(sealer, base, &next, decision.agent, time_zone)?;
    let mut commit = Commit {
        prompts,
        tokens,
        messages,
        waiting,
        records,
        bodies,
        ..Commit::new(base.version, agent)
    };
    let prepared = parallel::map(last_states(decision.changes), |memory| {
        memory_row(sealer, version, memory)
    });
    commit.memories = prepared.into_iter().collect::<Result<_>>()?;
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

/// Changes the counts of the agent's messages to those after a decision.
fn count_messages(
    counts: &mut MessageCounts,
    resolved: &[MessageOutcome],
    waiting: Option<&Waiting>,
) {
    // Stored counts may have been modified outside Memoir, as those of memories.
    for message in resolved {
        counts.pending = counts.pending.saturating_sub(1);
        counts.pending_tokens = counts.pending_tokens.saturating_sub(message.tokens);
        match message.state {
            MessageState::Pending => {}
            MessageState::Absorbed => counts.absorbed += 1,
            MessageState::Failed => counts.failed += 1,
        }
    }
    let Some(waiting) = waiting else { return };
    let size = waiting.size();
    if let Waiting::Again { which, .. } = waiting {
        let from = match which {
            Reviving::Failed => &mut counts.failed,
            Reviving::Absorbed => &mut counts.absorbed,
        };
        *from = from.saturating_sub(size.count);
    }
    counts.pending += size.count;
    counts.pending_tokens += size.tokens;
}

/// The replacement bodies. The shredding's record holds the hash of each, so that the chain still verifies (SPEC 4.4).
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
        // Bound to the record's open fields as stored, which stay: only the text is replaced.
        let place = SealedRow::Record(seq);
        let body = sealer.seal(place, body_version, &record_columns(row)?, &redaction.body)?;
        bodies.push(BodyRow {
            seq,
            body_version,
            body,
        });
    }
    // Either a shredding, or the log of an imported agent: all its texts are sealed anew, and none replaces another.
    let shreddings = decision.records.iter_mut();
    let shreddings = shreddings.filter(|record| record.action == Action::MemoryShredded);
    let mut commitments: Vec<(u64, [u8; 32])> = bodies
        .iter()
        .map(|row| (row.seq, chain::body_commitment(&row.body.0).0))
        .collect();
    for record in shreddings {
        let facts = std::mem::take(&mut record.facts);
        // A text is replaced once, however many memories are shredded together: the first of their records has all.
        record.facts = facts.commitments(REPLACED, commitments.drain(..));
    }
    Ok(bodies)
}

/// The prompts if they are to be written. Every change of a setting is a record (SPEC 4.1).
fn changed_prompts(
    base: &Base,
    next: &mut Base,
    sealer: &Sealer<'_>,
    decision: &Decision,
) -> Result<Option<StoredText>> {
    let is_change = |record: &Record| record.action == Action::AgentConfigured;
    let is_new = base.version.is_none();
    if !is_new && !decision.records.iter().any(is_change) {
        return Ok(None);
    }
    // A decision on settings without the prompts would write the four of them as unset.
    if !base.has_prompts {
        return Err(Error::Inconsistent(
            "settings were decided on an agent without its prompts".to_owned(),
        ));
    }
    let prompts = Prompts::taken_from(&mut decision.agent.settings.clone());
    next.prompts_version = next.version.unwrap_or(FIRST_VERSION);
    let version = next.prompts_version;
    let sealed = sealer.seal(SealedRow::Prompts, version, &SealedColumns::NONE, &prompts)?;
    Ok(Some(sealed))
}

/// The last state of each memory, which a decision may change more than once, in the order of the numbers.
fn last_states(changes: Vec<Change>) -> Vec<Memory> {
    let states = changes.iter();
    let states = states.map(|change| (change.number(), change.after()));
    let states: BTreeMap<Number, Memory> = states.collect();
    states.into_values().collect()
}

/// Messages are written once.
const MESSAGE_VERSION: u64 = 1;

fn message_place(digest: &[u8; 32]) -> SealedRow {
    let mut first = [0; 16];
    // Half of a keyed digest is enough for a name: the seal binds size and time, and rows are found by the whole.
    first.copy_from_slice(&digest[..16]);
    SealedRow::Message(first)
}

/// A message that waits to be read. It is known by its identifier and its content: another text under a used identifier
/// is another message. Each side has its own known messages, so that an administrator, who reads how many are known,
/// can neither guess the agent's nor keep one from being read (SPEC 2.6, 5.1).
pub(crate) fn message(
    key: &AgentKey,
    id: &PrivateText,
    message: &ConversationMessage,
    received_at: Timestamp,
    random: &dyn Random,
) -> Result<MessageRow> {
    let side = match message.handed_over_by.side() {
        Side::Agent => "agent",
        Side::Administrator => "administrator",
    };
    let digest = Digester::new(key.digest_key()).said([
        side,
        id.expose(),
        message.speaker.expose(),
        message.text.expose(),
    ]);
    let tokens = message.tokens();
    let counted_bytes = match message.handed_over_by {
        ActorKind::Agent => message.text.expose().len() as u64,
        _ => 0,
    };
    let columns = SealedColumns::of(&(tokens, received_at.microseconds()))?;
    let sealer = Sealer { key, random };
    Ok(MessageRow {
        // The store sets it when writing.
        seq: 0,
        digest,
        tokens,
        received_at,
        counted_bytes,
        state: MessageState::Pending,
        body: sealer.seal(message_place(&digest), MESSAGE_VERSION, &columns, message)?,
    })
}

pub(crate) fn open_message(key: &AgentKey, row: &MessageRow) -> Result<ConversationMessage> {
    let columns = SealedColumns::of(&(row.tokens, row.received_at.microseconds()))?;
    let place = message_place(&row.digest);
    open(key, place, MESSAGE_VERSION, &columns, &row.body)
}

#[cfg(test)]
mod tests {
    use memoir_domain::{
        agent::Field,
        manage::{self, Assignment},
        memory::NewMemory,
        origin::{Origin, Side},
    };

    use super::*;
    use crate::{core::clock::SystemRandom, tests::key};

    const OWN: &str = "I am Wren.";

    #[test]
    fn spec_2_2_a_core_size_over_its_budget_by_one_token_is_over_it() {
        use memoir_domain::session::Health;
        for budget in [1_000, 5_000, 1_000_000, 3_000_001, 1_000_000_000] {
            let health = |core| Health::from_row(None, share_of_budget(core, budget));
            assert_eq!(health(budget), Health::InOrder, "{budget}");
            assert_eq!(health(budget + 1), Health::OverBudget, "{budget}");
        }
    }

    /// SPEC 5.3, 2.4, 3.4: what another version wrote makes no memory unreadable; the weakest origin and the other side
    /// allow least.
    #[test]
    fn spec_5_3_an_origin_of_another_version_reads_as_the_weakest() {
        let key = &key(2);
        let random = &SystemRandom;
        let sealer = Sealer { key, random };
        let new = NewMemory::new(Kind::Core, "Tea.".into(), SavedBy::of(ActorKind::Agent));
        let saved = new.into_memory(Number(1), 1, Timestamp::MAX);
        let mut row = memory_row(&sealer, 3, saved).unwrap();
        let later = serde_json::json!({
            "content": "Tea.",
            "saved_by": {"origin": "dream", "added_by": "robot"},
        });
        let columns = memory_columns(&row).unwrap();
        let sealed = sealer.seal(SealedRow::Memory(row.number), 3, &columns, &later);
        row.body = sealed.unwrap();
        let read = memory(key, &row).unwrap();
        assert_eq!(
            (read.origin(), read.side()),
            (Origin::External, Side::Administrator)
        );
    }

    /// SPEC 5.3: an agent that was read without its prompts holds no text of them, and its row overwrites none.
    #[test]
    fn spec_5_3_settings_are_not_decided_on_an_agent_without_its_prompts() {
        let key = key(2);
        let (actor, now) = (Actor::owner(), Timestamp::MAX);
        let commit = |base: &Base, decision: Decision| {
            commit(base, decision.into(), &SystemRandom, &TimeZone::UTC)
        };
        let own: [Assignment<'_>; 1] = [(Field::SystemPrompt, Some(OWN))];
        let made = manage::create_agent(key.scope().agent, "wren", &own, &actor, now).unwrap();
        let (made, _) = commit(&Base::new(key.clone()), made).unwrap();

        let change: [Assignment<'_>; 1] = [(Field::RefinementPrompt, Some("Cut less."))];
        let changed = |prompts: Option<&StoredText>| {
            let (found, base) = agent(&key, &made.agent, prompts).unwrap();
            let prompt = found.settings.system_prompt.clone();
            let decision = manage::configure(found, &change, &actor, now).unwrap();
            (prompt, commit(&base, decision.unwrap()))
        };
        let (without, refused) = changed(None);
        assert_eq!(without, None);
        assert!(
            matches!(refused, Err(Error::Inconsistent(_))),
            "{refused:?}"
        );
        let (with, written) = changed(made.prompts.as_ref());
        assert_eq!(with.as_ref().map(PrivateText::expose), Some(OWN));
        let (written, _) = written.unwrap();
        let (after, _) = agent(&key, &written.agent, written.prompts.as_ref()).unwrap();
        assert_eq!(after.settings.system_prompt, with);
    }
}
