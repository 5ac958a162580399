//! Records of the log as they are shown (SPEC 4.1).

use std::collections::BTreeSet;

use memoir_domain::{
    AgentScope, PrivateJson, SessionId, Timestamp,
    access::{AccessScope, ShownAmount},
    audit::{Action, Actor, Change, Facts, MEMBERS, Record, RecordBody},
    memory::{Memory, Number, tokens},
    view,
};
use memoir_store::{AgentQuery, AuditRow, RecordFilter, RecordOrder, RecordPlace};
use memoir_vault::{
    AgentKey,
    chain::{self, RecordHash},
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{AccessLevel, AgentLens, Shown, ShowsWords, schema, schemas, words};
use crate::{
    core::{Result, codec},
    shown::Views,
};

view! {
    /// A record without text.
    #[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
    pub struct RecordFacts from agent: &str, record: &Record, hashes: (RecordHash, RecordHash);
    /// Its place in the agent's log, from 1.
    pub seq: u64 = record.seq,
    /// When it was written.
    pub recorded_at: Timestamp = record.recorded_at,
    /// The agent's name.
    pub agent: String = agent.to_owned(),
    /// The actor.
    #[schema(value_type = schemas::Actor)]
    pub actor: Actor = record.actor.clone(),
    /// What was done.
    #[schema(value_type = schemas::Action)]
    pub action: Action = record.action,
    /// The session in which it was done; null outside of one.
    #[schema(required, value_type = Option<String>, format = Uuid)]
    pub session_id: Option<SessionId> = record.session,
    /// The memory that it is about; null where it is about none, or about several.
    #[schema(required, value_type = Option<u64>)]
    pub memory: Option<Number> = record.memory,
    /// Counts and codes; shown as `data`, with the text where available.
    #[serde(skip)]
    #[schema(ignore)]
    pub counts: Facts = record.facts.clone(),
    /// The hash of the record and of all before it, in hexadecimal.
    pub hash: String = hashes.0.to_string(),
    /// That of the record before it.
    pub previous_hash: String = hashes.1.to_string(),
}

/// The text of a record.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RecordWords {
    /// The memory, or the settings, before; left out where it was new.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::AnyObject>)]
    pub before: Option<PrivateJson>,
    /// The memory, or the settings, afterwards; left out where it was discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::AnyObject>)]
    pub after: Option<PrivateJson>,
    /// Counts and codes, and the further text of the record. Of a consolidation, `merged` lists the members.
    #[schema(value_type = schemas::AnyObject)]
    pub data: PrivateJson,
    #[serde(skip)]
    #[schema(ignore)]
    shown: ShownAmount,
}

/// A record. Its words are the counts and codes alone for a viewer that may not read text.
pub type ShownRecord = Shown<RecordFacts, RecordWords>;

schema::one_object!(
    ShownRecord,
    "Record",
    [RecordFacts, RecordWords],
    "An audit record. `before`, `after` and text in `data` are for the agent itself, and for an administrator\n\
     under an access grant."
);

impl From<RecordFacts> for ShownRecord {
    fn from(facts: RecordFacts) -> Self {
        let mut data = facts.counts.as_map().clone();
        if facts.action == Action::MemoryRefinementConsolidate {
            describe_merged(&mut data, &facts.counts, &RecordBody::default());
        }
        Self {
            facts,
            words: RecordWords {
                before: None,
                after: None,
                data: PrivateJson::new(Value::Object(data)),
                shown: ShownAmount::default(),
            },
        }
    }
}

impl ShowsWords for ShownRecord {
    fn words_shown(&self) -> ShownAmount {
        self.words.shown
    }
}

impl RecordFacts {
    /// The core size afterwards; `None` where the record does not measure it.
    pub fn core_size_after(&self) -> Option<u64> {
        let facts = ["post_session_tokens", "core_tokens_after"];
        facts.iter().find_map(|fact| self.counts.count_of(fact))
    }
}

impl ShownRecord {
    fn with_words(agent: &str, record: &Record, hashes: (RecordHash, RecordHash)) -> Self {
        let (before, after) = sides(&record.body, record.memory);
        let mut data = record.facts.as_map().clone();
        describe(&mut data, record);
        Self {
            facts: RecordFacts::new(agent, record, hashes),
            words: RecordWords {
                before: before.map(PrivateJson::new),
                after: after.map(PrivateJson::new),
                data: PrivateJson::new(Value::Object(data)),
                shown: shown(&record.body),
            },
        }
    }
}

impl Views<'_> {
    /// The newest records that match, newest first, at most `limit` of those at places before `before_seq`; without
    /// text. Of an erased agent too.
    ///
    /// # Errors
    /// The store fails.
    pub async fn search_records(
        self,
        query: &RecordFilter,
        before_seq: Option<u64>,
        limit: u32,
    ) -> Result<Vec<RecordFacts>> {
        let filter = RecordFilter {
            before_seq,
            first: None,
            last: Some(limit),
            ..query.clone()
        };
        let _room = self.room_for_records(&filter).await?;
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        let facts = |row| {
            let hashes = hashes(self.scope, &row);
            let record = codec::record(None, row)?;
            Ok(RecordFacts::new(&self.name, &record, hashes))
        };
        rows.into_iter().rev().map(facts).collect()
    }

    /// Records with the text within `access_level`; `key` is the agent's, where it has one.
    pub(crate) async fn shown_records(
        self,
        filter: &RecordFilter,
        access_level: AccessLevel,
        key: Option<&AgentKey>,
    ) -> Result<Vec<ShownRecord>> {
        let _room = self.room_for_records(filter).await?;
        let rows = self.memoir.store.records(self.scope, filter).await?;
        let seen = |row: AuditRow| {
            // Without a key the text of the record stays sealed: text that is then left out is not opened.
            let is_shown = access_level.covers(|scope| scope.shows_session(row.session));
            let hashes = hashes(self.scope, &row);
            let mut record = codec::record(key.filter(|_| is_shown), row)?;
            if !access_level.covers(AccessScope::shows_prompts) {
                record.body.settings.clear();
            }
            Ok(ShownRecord::with_words(&self.name, &record, hashes))
        };
        crate::core::parallel::map(rows, seen).into_iter().collect()
    }
}

impl AgentLens<'_> {
    /// The agent's log, oldest first. Of an erased agent too, without text.
    ///
    /// # Errors
    /// The store fails.
    pub async fn records(&self, filter: &RecordFilter) -> Result<Vec<ShownRecord>> {
        let covers = |scope: AccessScope| match filter.session {
            Some(_) => scope.shows_session(filter.session),
            None => scope == AccessScope::All || scope.session().is_some(),
        };
        self.look(&AgentQuery::default(), covers, |look| async move {
            let key = match look.access_level {
                AccessLevel::Words => look.agent.key().await?,
                AccessLevel::Under(_) => Some(look.key().await?),
                AccessLevel::NoWords => None,
            };
            let agent = look.agent;
            agent
                .views()
                .shown_records(filter, look.access_level, key.as_ref())
                .await
        })
        .await
    }

    /// One page of the log, oldest first: from the record at `from_seq` on, at most `limit` records, and fewer where
    /// they are long. Also whether others follow.
    ///
    /// # Errors
    /// The store fails.
    pub async fn record_page(
        &self,
        query: &RecordFilter,
        from_seq: u64,
        limit: u32,
    ) -> Result<(Vec<ShownRecord>, bool)> {
        let filter = RecordFilter {
            from_seq,
            last: None,
            ..query.clone()
        };
        self.page_of(filter, limit).await
    }

    /// The newest records that match, oldest first, at most `limit`, and fewer where they are long. Also whether there
    /// are older ones.
    ///
    /// # Errors
    /// The store fails.
    pub async fn newest_records(
        &self,
        query: &RecordFilter,
        limit: u32,
    ) -> Result<(Vec<ShownRecord>, bool)> {
        let newest = self.agent.snapshot(&AgentQuery::default()).await?;
        let filter = RecordFilter {
            last: Some(limit),
            // Those that are written between two reads would move the oldest off the page.
            before_seq: query.before_seq.or(Some(newest.agent.columns.next_seq)),
            ..query.clone()
        };
        self.page_of(filter, limit).await
    }

    async fn page_of(&self, filter: RecordFilter, limit: u32) -> Result<(Vec<ShownRecord>, bool)> {
        let page = self.agent.log().page_of(filter, limit).await?;
        Ok((self.records(&page.filter).await?, page.has_more))
    }
}

impl crate::core::Account {
    /// Records of all the account's agents, erased ones included, without text: by time in that order, those that follow
    /// `after`, at most `limit`, each with its place. `last` of the filter is ignored.
    ///
    /// # Errors
    /// The store fails.
    pub async fn record_page(
        &self,
        query: &RecordFilter,
        order: RecordOrder,
        after: Option<RecordPlace>,
        limit: u32,
    ) -> Result<Vec<(RecordPlace, RecordFacts)>> {
        let filter = RecordFilter {
            last: None,
            ..query.clone()
        };
        let store = &self.memoir.store;
        let records = store.fleet_records(self.id, &filter, order, after, limit);
        let records = records.await?;
        let facts = |listed: memoir_store::FleetRecord| {
            let row = listed.record;
            let place = RecordPlace {
                recorded_at: row.recorded_at,
                agent: listed.agent,
                seq: row.seq,
            };
            let scope = AgentScope {
                account: self.id,
                agent: listed.agent,
            };
            let hashes = hashes(scope, &row);
            let record = codec::bare_record(row)?;
            Ok((place, RecordFacts::new(&listed.agent_name, &record, hashes)))
        };
        records.into_iter().map(facts).collect()
    }
}

fn hashes<Body>(scope: AgentScope, row: &AuditRow<Body>) -> (RecordHash, RecordHash) {
    let genesis = || chain::genesis(scope);
    let previous = row.previous_hash.map_or_else(genesis, RecordHash);
    (RecordHash(row.hash), previous)
}

/// Before and after of the memory that the record is about, or of the settings.
fn sides(body: &RecordBody, memory: Option<Number>) -> (Option<Value>, Option<Value>) {
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
    let mut changes = body.changes.iter();
    let own = changes.find(|change| Some(change.number()) == memory);
    let kept = |memory: &Memory| memory.is_active().then(|| memory_value(memory));
    (
        own.and_then(Change::before).and_then(kept),
        own.map(Change::after).as_ref().and_then(kept),
    )
}

fn memory_value(memory: &Memory) -> Value {
    json!({
        "content": memory.content,
        "kind": memory.kind(),
        "tags": memory.tags,
        "source": memory.source,
        "origin": memory.origin(),
        "constitutional": memory.is_constitutional(),
        "is_summary": memory.is_summary,
        // As recorded: that memory may have been discarded since.
        "under": memory.under(),
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "archived_at": memory.place.archived().map(|archived| archived.at),
    })
}

/// The text of the record, and the memories that it changed beside its own.
fn describe(data: &mut Map<String, Value>, record: &Record) {
    let body = &record.body;
    if let Some(summary) = &body.summary {
        data.insert("summary".to_owned(), json!(summary));
    }
    if let Some(reason) = &body.reason {
        data.insert("reason_text".to_owned(), json!(reason));
    }
    let mut named: BTreeSet<Number> = record.memory.into_iter().collect();
    if record.action == Action::MemoryRefinementConsolidate {
        named.extend(describe_merged(data, &record.facts, body));
    }
    let changed = body.changes.iter().map(Change::number);
    let others: BTreeSet<Number> = changed.filter(|number| !named.contains(number)).collect();
    if !others.is_empty() {
        data.insert("memories".to_owned(), json!(others));
    }
}

/// Lists the members of a consolidation in `merged`, with their texts as far as the record holds them: of a member that
/// stays unchanged it holds none. Returns the members.
fn describe_merged(
    data: &mut Map<String, Value>,
    facts: &Facts,
    body: &RecordBody,
) -> BTreeSet<Number> {
    let member = |number: u64| {
        let changes = body.changes.iter().filter_map(Change::before);
        let before = changes.into_iter().find(|memory| memory.number.0 == number);
        match before {
            Some(memory) => json!({"number": number, "content": memory.content}),
            None => json!({"number": number}),
        }
    };
    let merged: Vec<Value> = facts.places_of(MEMBERS).map(member).collect();
    data.insert("merged".to_owned(), Value::from(merged));
    facts.places_of(MEMBERS).map(Number).collect()
}

fn shown(body: &RecordBody) -> ShownAmount {
    let memories: BTreeSet<Number> = body.changes.iter().map(Change::number).collect();
    let sides = body.changes.iter().map(|change| {
        let before = change.before().map_or(0, Memory::tokens);
        before + change.after().tokens()
    });
    let settings = body.settings.iter().flat_map(|change| {
        let sides = [&change.before, &change.after];
        sides.map(|value| value.expose().as_str().map_or(0, tokens))
    });
    let said = words(body.summary.iter().chain(&body.reason));
    ShownAmount {
        memories: memories.len() as u64,
        tokens: sides.chain(settings).chain([said.tokens]).sum(),
    }
}
