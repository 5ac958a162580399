//! Reading an agent's log (SPEC 4.1).

use memoir_domain::{
    AgentScope, PrivateJson, SessionId, Timestamp,
    audit::{Action, Actor, ActorKind, Body, Change, Record},
    memory::{Memory, Number},
};
use memoir_store::{AgentQuery, AuditRow, FleetRecord, RecordFilter, RecordPlace};
use memoir_vault::chain::{self, RecordHash};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{AgentHandle, Error, Eyes, Loaded, Result, codec};

/// Which records are wanted. Every part narrows the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordQuery {
    /// One session's.
    pub session: Option<SessionId>,
    /// Those of one of these actions; of any where there is none.
    pub actions: Vec<Action>,
    /// Those about one memory.
    pub memory: Option<Number>,
    /// Those of one role.
    pub actor: Option<ActorKind>,
    /// Those of an actor whose name holds this text, letters from A to Z in either case.
    pub actor_name: Option<String>,
    /// Those written at or after.
    pub since: Option<Timestamp>,
    /// Those written at or before.
    pub until: Option<Timestamp>,
    /// The last ones of those that match; `None` for all.
    pub last: Option<u32>,
}

/// Which records an administrator looks for. Every part narrows the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordSearch {
    /// One session's.
    pub session: Option<SessionId>,
    /// Those of one of these actions; of any where there is none.
    pub actions: Vec<Action>,
    /// Those about one memory.
    pub memory: Option<Number>,
    /// Those of one role.
    pub actor: Option<ActorKind>,
    /// Those of an actor whose name holds this text, letters from A to Z in either case.
    pub actor_name: Option<String>,
    /// Those written at or after.
    pub since: Option<Timestamp>,
    /// Those written at or before.
    pub until: Option<Timestamp>,
}

/// A record as it is shown to whoever may read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct RecordView {
    pub seq: u64,
    pub recorded_at: Timestamp,
    pub agent: String,
    pub actor: Actor,
    pub action: Action,
    pub session_id: Option<SessionId>,
    pub memory: Option<Number>,
    /// The memory, or the settings, before; `None` where it was new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<PrivateJson>,
    /// The memory, or the settings, afterwards; `None` where it was discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<PrivateJson>,
    /// Counts and codes, and what else the record says.
    pub data: PrivateJson,
    /// The hash of the record and of all before it, in hexadecimal (SPEC 4.2).
    pub hash: String,
    /// That of the record before it.
    pub previous_hash: String,
}

impl AgentHandle {
    /// The agent's log, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn records(&self, query: &RecordQuery) -> Result<Vec<RecordView>> {
        self.records_seen_by(Eyes::Agent, query).await
    }

    /// As [`AgentHandle::records`], as whoever looks may see them.
    ///
    /// # Errors
    /// The store fails.
    pub async fn records_seen_by(
        &self,
        eyes: Eyes,
        query: &RecordQuery,
    ) -> Result<Vec<RecordView>> {
        let filter = RecordFilter {
            session: query.session,
            actions: query.actions.clone(),
            memory: query.memory,
            actor: query.actor,
            actor_name: query.actor_name.clone(),
            until: query.until,
            since: query.since,
            last: query.last,
            ..RecordFilter::default()
        };
        self.record_views(&filter, eyes).await
    }

    /// The newest records that are looked for, newest first, at most `limit` of those at places before
    /// `before_seq`; without words. Of an erased agent too.
    ///
    /// # Errors
    /// The store fails.
    pub async fn search_records(
        &self,
        search: &RecordSearch,
        before_seq: Option<u64>,
        limit: u32,
    ) -> Result<Vec<RecordView>> {
        let filter = RecordFilter {
            session: search.session,
            actions: search.actions.clone(),
            memory: search.memory,
            actor: search.actor,
            actor_name: search.actor_name.clone(),
            since: search.since,
            until: search.until,
            before_seq,
            last: Some(limit),
            ..RecordFilter::default()
        };
        let mut views = self.record_views(&filter, Eyes::Administrator).await?;
        views.reverse();
        Ok(views)
    }

    /// Records as they are shown; an administrator gets counts and codes only.
    pub(crate) async fn record_views(
        &self,
        filter: &RecordFilter,
        eyes: Eyes,
    ) -> Result<Vec<RecordView>> {
        let rows = self.memoir.store.records(self.scope, filter).await?;
        let key = match eyes {
            Eyes::Agent => self.key().await?,
            Eyes::Administrator => None,
        };
        let genesis = chain::genesis(self.scope);
        crate::parallel::map(rows, |row| {
            let hash = RecordHash(row.hash);
            let previous = row.previous_hash.map_or(genesis, RecordHash);
            let record = codec::record(key.as_ref(), row)?;
            Ok(view(&self.name, record, hash, previous))
        })
        .into_iter()
        .collect()
    }

    /// The agent's whole log, which must end where the agent's sealed row says: nothing that is decided
    /// by it may rest on a part.
    ///
    /// # Errors
    /// [`memoir_store::Error::Conflict`] where the agent changed since it was loaded;
    /// [`Error::Inconsistent`] where records are missing.
    pub(crate) async fn whole_log(&self, loaded: &Loaded) -> Result<Vec<AuditRow>> {
        self.log_from(1, loaded).await
    }

    /// As [`AgentHandle::whole_log`], opened.
    pub(crate) async fn read_whole_log(&self, loaded: &Loaded) -> Result<Vec<Record>> {
        let rows = self.whole_log(loaded).await?;
        let key = Some(loaded.base.key());
        crate::parallel::map(rows, |row| codec::record(key, row))
            .into_iter()
            .collect()
    }

    /// The agent's log from the record at `first` on, without a gap up to its end.
    ///
    /// # Errors
    /// As for [`AgentHandle::whole_log`].
    pub(crate) async fn log_from(&self, first: u64, loaded: &Loaded) -> Result<Vec<AuditRow>> {
        let filter = RecordFilter {
            from_seq: first,
            ..RecordFilter::default()
        };
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        let next = loaded.agent.next_seq;
        let seqs = rows.iter().map(|row| row.seq);
        let ends = rows.last().is_none_or(|row| row.hash == loaded.base.head());
        if seqs.eq(first..next) && ends {
            return Ok(rows);
        }
        let now = self.load(&AgentQuery::default()).await?;
        if now.base.version() != loaded.base.version() {
            return Err(memoir_store::Error::Conflict.into());
        }
        let missing = (first..next).find(|seq| !rows.iter().any(|row| row.seq == *seq));
        Err(Error::Inconsistent(match missing {
            Some(seq) => format!("table `audit_records`: record {seq} is missing"),
            None => {
                "table `audit_records`: the log does not end as the agent's row says".to_owned()
            }
        }))
    }

    pub(crate) async fn load_records(&self, filter: &RecordFilter) -> Result<Vec<Record>> {
        let rows = self.memoir.store.records(self.scope, filter).await?;
        let key = self.key().await?;
        crate::parallel::map(rows, |row| codec::record(key.as_ref(), row))
            .into_iter()
            .collect()
    }
}

impl crate::Account {
    /// Records of all the account's agents, erased ones included, without words: by time, those after
    /// `after`, at most `limit`, each with its place. The last ones cannot be asked for.
    ///
    /// # Errors
    /// The store fails.
    pub async fn record_page(
        &self,
        query: &RecordQuery,
        after: Option<RecordPlace>,
        limit: u32,
    ) -> Result<Vec<(RecordPlace, RecordView)>> {
        let filter = RecordFilter {
            session: query.session,
            actions: query.actions.clone(),
            memory: query.memory,
            actor: query.actor,
            actor_name: query.actor_name.clone(),
            since: query.since,
            until: query.until,
            ..RecordFilter::default()
        };
        let store = &self.memoir.store;
        let records = store.fleet_records(self.id, &filter, after, limit).await?;
        records
            .into_iter()
            .map(|record| Ok((record.place, self.fleet_view(record)?)))
            .collect()
    }

    fn fleet_view(&self, record: FleetRecord) -> Result<RecordView> {
        let RecordPlace {
            recorded_at,
            agent,
            seq,
        } = record.place;
        let scope = AgentScope {
            account: self.id,
            agent,
        };
        let data: Value = serde_json::from_str(&record.facts).map_err(|_| {
            let problem = format!("table `audit_records`, {agent}, record {seq}: unreadable facts");
            Error::Inconsistent(problem)
        })?;
        let previous = record.previous_hash.map(RecordHash);
        Ok(RecordView {
            seq,
            recorded_at,
            agent: record.agent_name,
            actor: Actor {
                kind: record.actor_kind,
                name: record.actor_name,
            },
            action: record.action,
            session_id: record.session,
            memory: record.memory,
            before: None,
            after: None,
            data: PrivateJson::new(data),
            hash: RecordHash(record.hash).to_string(),
            previous_hash: previous
                .unwrap_or_else(|| chain::genesis(scope))
                .to_string(),
        })
    }
}

/// The hash of a record, and that of the one before it.
pub(crate) fn hashes(scope: AgentScope, row: &AuditRow) -> (RecordHash, RecordHash) {
    let genesis = || chain::genesis(scope);
    let previous = row.previous_hash.map_or_else(genesis, RecordHash);
    (RecordHash(row.hash), previous)
}

pub(crate) fn view(
    agent: &str,
    record: Record,
    hash: RecordHash,
    previous: RecordHash,
) -> RecordView {
    let (before, after) = sides(&record.body, record.memory);
    let mut data = record.facts.as_map().clone();
    describe(&mut data, &record);
    RecordView {
        seq: record.seq,
        recorded_at: record.recorded_at,
        agent: agent.to_owned(),
        actor: record.actor,
        action: record.action,
        session_id: record.session,
        memory: record.memory,
        before: before.map(PrivateJson::new),
        after: after.map(PrivateJson::new),
        data: PrivateJson::new(Value::Object(data)),
        hash: hash.to_string(),
        previous_hash: previous.to_string(),
    }
}

/// Before and after of the memory that the record is about, or of the settings.
fn sides(body: &Body, memory: Option<Number>) -> (Option<Value>, Option<Value>) {
    if !body.settings.is_empty() {
        let side = |value: fn(&memoir_domain::audit::SettingChange) -> &PrivateJson| {
            let fields: Map<String, Value> = body
                .settings
                .iter()
                .map(|change| (change.field.clone(), value(change).expose().clone()))
                .collect();
            Some(Value::Object(fields))
        };
        return (side(|change| &change.before), side(|change| &change.after));
    }
    let own = body
        .changes
        .iter()
        .find(|change| Some(change.number()) == memory);
    let kept = |memory: &Memory| memory.is_kept().then(|| memory_value(memory));
    (
        own.and_then(Change::before).and_then(kept),
        own.map(Change::after).as_ref().and_then(kept),
    )
}

fn memory_value(memory: &Memory) -> Value {
    json!({
        "content": memory.content,
        "kind": memory.kind,
        "tags": memory.tags,
        "constitutional": memory.is_constitutional(),
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    })
}

/// The record's words, and the memories that it touched beside its own.
fn describe(data: &mut Map<String, Value>, record: &Record) {
    let body = &record.body;
    if let Some(summary) = &body.summary {
        data.insert("summary".to_owned(), json!(summary));
    }
    if let Some(reason) = &body.reason {
        data.insert("reason_text".to_owned(), json!(reason));
    }
    if !body.lost.is_empty() {
        data.insert("lost".to_owned(), json!(body.lost));
    }
    let others: Vec<&Change> = body
        .changes
        .iter()
        .filter(|change| Some(change.number()) != record.memory)
        .collect();
    match record.action {
        Action::MemoryRefinementConsolidate => {
            let merged: Vec<Value> = others
                .iter()
                .filter_map(|change| change.before())
                .map(|memory| json!({"number": memory.number, "content": memory.content}))
                .collect();
            data.insert("merged".to_owned(), Value::from(merged));
        }
        _ if !others.is_empty() => {
            let memories: Vec<Number> = others.iter().map(|change| change.number()).collect();
            data.insert("memories".to_owned(), json!(memories));
        }
        _ => {}
    }
}
