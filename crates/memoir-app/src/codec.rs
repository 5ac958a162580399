//! Between the domain's plain data and the store's rows. The one place where an agent's words become
//! bytes and bytes become words.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::{
    AgentScope, PrivateText,
    agent::{self, Agent, Attempt, LedgerPosition, Settings, Threshold},
    audit::{Action, Actor, Body, Change, Facts, Record},
    draft::{Decision, Stated},
    memory::{Memory, Number, Tags},
    session::Session,
    text::Digester,
};
use memoir_store::{
    AgentRow, AuditRow, Commit, DetailRow, MemoryRow, SessionRow, Snapshot, StoredText,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Error, Result, sessions::Rehearsal};

/// The first byte of a stored text: JSON in UTF-8 follows.
const PLAIN: u8 = 0;

fn store_text(value: &impl Serialize) -> Result<StoredText> {
    let mut bytes = vec![PLAIN];
    serde_json::to_writer(&mut bytes, value)
        .map_err(|_| Error::Inconsistent("a text cannot be written as JSON".to_owned()))?;
    Ok(StoredText(bytes))
}

/// `what` names table and row for the error, which says nothing of the content.
fn read_text<T: DeserializeOwned>(text: &StoredText, what: impl Fn() -> String) -> Result<T> {
    match text.0.split_first() {
        Some((&PLAIN, json)) => serde_json::from_slice(json).map_err(|_| {
            Error::Inconsistent(format!("{}: the stored text cannot be read", what()))
        }),
        Some((version, _)) => Err(Error::Inconsistent(format!(
            "{}: the stored text has the unknown version {version}",
            what()
        ))),
        None => Err(Error::Inconsistent(format!(
            "{}: the stored text is empty",
            what()
        ))),
    }
}

#[derive(Serialize, Deserialize)]
struct MemoryBody {
    content: PrivateText,
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    tags: Tags,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protected_wording: Option<PrivateText>,
}

fn memory_row(memory: Memory) -> Result<MemoryRow> {
    Ok(MemoryRow {
        number: memory.number,
        kind: memory.kind,
        tokens: memory.tokens(),
        constitutional: memory.is_constitutional(),
        created_at: memory.created_at,
        updated_at: memory.updated_at,
        discarded_at: memory.discarded_at,
        body: store_text(&MemoryBody {
            content: memory.content,
            tags: memory.tags,
            source: memory.source,
            protected_wording: memory.protected_wording,
        })?,
    })
}

pub(crate) fn memory(row: MemoryRow) -> Result<Memory> {
    let body: MemoryBody = read_text(&row.body, || {
        format!("table `memories`, row {}", row.number)
    })?;
    let memory = Memory {
        number: row.number,
        kind: row.kind,
        content: body.content,
        tags: body.tags,
        source: body.source,
        protected_wording: body.protected_wording,
        created_at: row.created_at,
        updated_at: row.updated_at,
        discarded_at: row.discarded_at,
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

/// The agent's row, with the settings as they stand in `base` where the decision did not change them.
fn agent_row(base: &Base, agent: Agent, settings_changed: bool) -> Result<AgentRow> {
    let (settings, prompts) = if settings_changed {
        settings_columns(&agent.settings)?
    } else {
        (base.settings.clone(), base.prompts.clone())
    };
    Ok(AgentRow {
        scope: base.scope,
        version: 0,
        folded_name: agent::fold_name(&agent.name),
        name: agent.name,
        settings,
        prompts,
        digest_key: base.digest_key,
        paused: agent.settings.paused,
        inactive: agent.settings.inactive,
        created_at: agent.created_at,
        tally: agent.tally,
        next_number: agent.next_number,
        next_seq: agent.next_seq,
        last_refinement_at: agent.last_refinement_at,
        last_attempt_at: agent.last_attempt.map(|attempt| attempt.at),
        last_attempt_tokens: agent.last_attempt.map(|attempt| attempt.core_tokens),
        ledger_created_at: agent.ledger_position.map(|position| position.created_at),
        ledger_number: agent.ledger_position.map(|position| position.number),
    })
}

fn settings_columns(settings: &Settings) -> Result<(String, StoredText)> {
    let mut settings = settings.clone();
    let prompts = store_text(&Prompts {
        system_prompt: settings.system_prompt.take(),
        reflection_prompt: settings.reflection_prompt.take(),
        memory_reflection_prompt: settings.memory_reflection_prompt.take(),
        refinement_prompt: settings.refinement_prompt.take(),
    })?;
    let settings = serde_json::to_string(&settings)
        .map_err(|_| Error::Inconsistent("settings cannot be written as JSON".to_owned()))?;
    Ok((settings, prompts))
}

pub(crate) fn agent(row: &AgentRow) -> Result<Agent> {
    let what = || format!("table `agents`, row {}", row.scope.agent);
    let prompts: Prompts = read_text(&row.prompts, what)?;
    let settings: Settings = serde_json::from_str(&row.settings)
        .map_err(|_| Error::Inconsistent(format!("{}: the settings cannot be read", what())))?;
    Ok(Agent {
        id: row.scope.agent,
        name: row.name.clone(),
        settings: Settings {
            system_prompt: prompts.system_prompt,
            reflection_prompt: prompts.reflection_prompt,
            memory_reflection_prompt: prompts.memory_reflection_prompt,
            refinement_prompt: prompts.refinement_prompt,
            ..settings
        },
        created_at: row.created_at,
        tally: row.tally,
        next_number: row.next_number,
        next_seq: row.next_seq,
        last_refinement_at: row.last_refinement_at,
        last_attempt: row
            .last_attempt_at
            .zip(row.last_attempt_tokens)
            .map(|(at, core_tokens)| Attempt { at, core_tokens }),
        ledger_position: row
            .ledger_created_at
            .zip(row.ledger_number)
            .map(|(created_at, number)| LedgerPosition { created_at, number }),
    })
}

#[derive(Serialize, Deserialize)]
struct SessionBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<PrivateText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rehearsal: Option<Rehearsal>,
}

fn session_row(
    scope: AgentScope,
    session: Session,
    rehearsal: Option<Rehearsal>,
) -> Result<SessionRow> {
    Ok(SessionRow {
        id: session.id,
        agent: scope.agent,
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
        stats: session.stats,
        end_reason: session.end_reason,
        body: store_text(&SessionBody {
            summary: session.summary,
            reason: session.reason,
            rehearsal,
        })?,
        started_at: session.started_at,
        ended_at: session.ended_at,
        undone_at: session.undone_at,
        usage: session.usage,
        lease: session.lease,
    })
}

/// A session, and what it came to where it was a rehearsal.
pub(crate) fn session(row: SessionRow) -> Result<(Session, Option<Rehearsal>)> {
    let what = || format!("table `sessions`, row {}", row.id);
    let body: SessionBody = read_text(&row.body, what)?;
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
        threshold: threshold.map_err(|_| Error::Inconsistent(format!("{}: threshold", what())))?,
        edits: row.edits,
        removed_tokens: row.removed_tokens,
        stats: row.stats,
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

fn audit_row(record: Record) -> Result<AuditRow> {
    let facts = serde_json::to_string(&record.facts).map_err(|_| {
        Error::Inconsistent("a record's facts cannot be written as JSON".to_owned())
    })?;
    Ok(AuditRow {
        seq: record.seq,
        recorded_at: record.recorded_at,
        actor_kind: record.actor.kind,
        actor_name: record.actor.name,
        action: record.action,
        session: record.session,
        memory: record.memory,
        facts,
        body: store_text(&record.body)?,
    })
}

pub(crate) fn record(row: AuditRow) -> Result<Record> {
    let what = || format!("table `audit_records`, row {}", row.seq);
    let body: Body = read_text(&row.body, what)?;
    let facts: Facts = serde_json::from_str(&row.facts)
        .map_err(|_| Error::Inconsistent(format!("{}: the facts cannot be read", what())))?;
    Ok(Record {
        seq: row.seq,
        recorded_at: row.recorded_at,
        actor: Actor {
            kind: row.actor_kind,
            name: row.actor_name,
        },
        action: row.action,
        session: row.session,
        memory: row.memory,
        facts,
        body,
    })
}

/// The rows of a whole agent as they are, for an empty store.
pub(crate) fn copy(snapshot: Snapshot, sessions: Vec<SessionRow>) -> Result<Commit> {
    let digester = Digester::new(&snapshot.agent.digest_key);
    let mut details_added = Vec::new();
    for row in &snapshot.memories {
        let number = row.number;
        let digests = details_of(&digester, &memory(row.clone())?);
        details_added.extend(
            digests
                .into_iter()
                .map(|digest| DetailRow { digest, number }),
        );
    }
    Ok(Commit {
        expected_version: None,
        agent: snapshot.agent,
        memories: snapshot.memories,
        sessions,
        details_removed: Vec::new(),
        details_added,
        records: Vec::new(),
        progress: None,
    })
}

/// What an agent's row keeps from one decision to the next.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    scope: AgentScope,
    /// `None` where the agent is being made.
    version: Option<u64>,
    digest_key: [u8; 32],
    settings: String,
    prompts: StoredText,
}

impl Base {
    /// Of an agent that is being made.
    pub(crate) fn new(scope: AgentScope, digest_key: [u8; 32]) -> Self {
        Self {
            scope,
            version: None,
            digest_key,
            settings: String::new(),
            prompts: StoredText::default(),
        }
    }

    /// Of an agent as it was loaded.
    pub(crate) fn of(row: AgentRow) -> Self {
        Self {
            scope: row.scope,
            version: Some(row.version),
            digest_key: row.digest_key,
            settings: row.settings,
            prompts: row.prompts,
        }
    }

    /// After one commit on this one that did not change the settings.
    pub(crate) fn next(mut self) -> Self {
        self.version = self.version.map(|version| version + 1);
        self
    }

    pub(crate) fn digester(&self) -> Digester {
        Digester::new(&self.digest_key)
    }
}

/// The rows of a decision that was made on `base`.
pub(crate) fn commit(
    base: &Base,
    decision: Decision,
    rehearsal: Option<Rehearsal>,
) -> Result<Commit> {
    // Every change of a setting is a record (SPEC 4.1).
    let settings_changed = decision
        .records
        .iter()
        .any(|record| record.action == Action::AgentConfigured);
    let scope = base.scope;
    let digester = base.digester();
    let changed = last_states(decision.changes);
    let stated = &decision.stated;
    let prepared = crate::parallel::map(changed, |(before, after)| {
        let read = stated.iter().find(|stated| stated.number == after.number);
        prepare(&digester, before, after, read)
    });
    let mut commit = Commit {
        expected_version: base.version,
        agent: agent_row(base, decision.agent, settings_changed)?,
        memories: Vec::with_capacity(prepared.len()),
        sessions: Vec::with_capacity(decision.sessions.len()),
        details_removed: Vec::new(),
        details_added: Vec::new(),
        records: Vec::with_capacity(decision.records.len()),
        progress: None,
    };
    for prepared in prepared {
        let (row, removed, added) = prepared?;
        commit.memories.push(row);
        commit.details_removed.extend(removed);
        commit.details_added.extend(added);
    }
    let mut rehearsal = rehearsal;
    for session in decision.sessions {
        let rehearsed = if session.rehearsal {
            rehearsal.take()
        } else {
            None
        };
        commit
            .sessions
            .push(session_row(scope, session, rehearsed)?);
    }
    commit.records = crate::parallel::map(decision.records, audit_row)
        .into_iter()
        .collect::<Result<Vec<AuditRow>>>()?;
    Ok(commit)
}

/// A memory can be changed more than once in a decision: only where it began and where it ended up is
/// written. In the order of the numbers.
fn last_states(changes: Vec<Change>) -> Vec<(Option<Memory>, Memory)> {
    let mut states: BTreeMap<Number, (Option<Memory>, Memory)> = BTreeMap::new();
    for change in changes {
        let number = change.number();
        match states.get_mut(&number) {
            Some(state) => state.1 = change.after(),
            None => {
                let state = match change {
                    Change::Created(memory) => (None, memory),
                    Change::Altered { .. } => (change.before().cloned(), change.after()),
                };
                states.insert(number, state);
            }
        }
    }
    states.into_values().collect()
}

type Prepared = (MemoryRow, Vec<DetailRow>, Vec<DetailRow>);

/// `read` is what the memory states, where the decision has read it.
fn prepare(
    digester: &Digester,
    before: Option<Memory>,
    after: Memory,
    read: Option<&Stated>,
) -> Result<Prepared> {
    let number = after.number;
    let same_text = before.as_ref().is_some_and(|before| {
        before.content == after.content && before.is_kept_core() == after.is_kept_core()
    });
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    if !same_text {
        let digests = |keys: &[String]| keys.iter().map(|key| digester.detail(key)).collect();
        let (old, new): (BTreeSet<i64>, BTreeSet<i64>) = match read {
            Some(read) => (digests(&read.before), digests(&read.after)),
            None => {
                let old = before.as_ref().map(|memory| details_of(digester, memory));
                (old.unwrap_or_default(), details_of(digester, &after))
            }
        };
        let row = |&digest: &i64| DetailRow { digest, number };
        removed = old.difference(&new).map(row).collect();
        added = new.difference(&old).map(row).collect();
    }
    Ok((memory_row(after)?, removed, added))
}

/// The digests of what a kept core memory states; none for any other.
fn details_of(digester: &Digester, memory: &Memory) -> BTreeSet<i64> {
    if !memory.is_kept_core() {
        return BTreeSet::new();
    }
    let details = memoir_details::details(memory.content.expose());
    details
        .iter()
        .map(|detail| digester.detail(detail.key()))
        .collect()
}
