//! Whether an agent's log is as it was written, and whether what is stored is what the log tells of
//! (SPEC 4.2).
//!
//! Four things are held against each other: the chain of the records by itself; the end of the chain
//! against the agent's row; the state that the records tell of against the rows that are there; and the
//! log over all heads against the chain. The third needs the agent's key, and is left out for an agent
//! that was erased.
//!
//! Comparing the state takes in memories, settings, counts and sessions (`replay.rs` of the domain tells it),
//! and proves that each memory says the wordings that it stands for, but for what was let go on the record.
//! Messages that wait to be read are left out, since no record tells of a conversation before it is read.

use std::collections::BTreeMap;

use memoir_domain::{
    AgentId, AgentScope, Timestamp,
    audit::{Action, Record},
    memory::Memory,
    replay::{self, Carried, Replay},
    session::Session,
};
use memoir_store::{
    AccessRow, AuditRow, LeafRow, RecordFilter, Selection, SessionRow, Snapshot, TokenRow,
};
use memoir_vault::{
    AgentKey,
    chain::{self, BodyCommitment, Head, Link, RecordHash},
};
use serde::Serialize;

use crate::{
    AgentHandle, CONFLICT, Error, Memoir, Result, again, codec, memories::wanted, parallel,
};

/// Most misfits that are named.
const NAMED: usize = 20;

/// What came of verifying an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The agent's name.
    pub agent: String,
    /// Its identifier.
    pub agent_id: AgentId,
    /// Whether everything fits.
    pub valid: bool,
    /// Records in the log.
    pub records: u64,
    /// The hash of the last record that fits, in hexadecimal.
    pub head: String,
    /// How much of what was ever said is still said; `None` where that cannot be told, since something does
    /// not fit or the agent was erased.
    pub carried: Option<Carried>,
    /// When the agent was erased: what it was told cannot be held against the state any more.
    pub erased_at: Option<Timestamp>,
    /// The first record that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<Misfit>,
    /// All that does not fit, the first one included, up to a number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misfits: Vec<Misfit>,
}

/// Something that is not as it was written. Names tables, rows and fields, never words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Misfit {
    /// The record, or the last one that tells of the row in question; `None` where no record does.
    pub seq: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl Misfit {
    fn new(seq: impl Into<Option<u64>>, problem: impl ToString) -> Self {
        Self {
            seq: seq.into(),
            problem: problem.to_string(),
        }
    }
}

/// Everything stored of one agent, as it was at one moment.
struct Evidence {
    snapshot: Snapshot,
    sessions: Vec<SessionRow>,
    records: Vec<AuditRow>,
    tokens: Vec<TokenRow>,
    access: Vec<AccessRow>,
}

impl Memoir {
    /// Verifies every agent of every account, the erased ones too, and that the log over all heads tells
    /// of none that is missing.
    ///
    /// # Errors
    /// The store fails.
    pub async fn verify_all(&self) -> Result<Vec<Verification>> {
        let leaves = self.leaves_by_agent().await?;
        let scopes = self.store.scopes().await?;
        let mut found = Vec::with_capacity(scopes.len());
        for &scope in &scopes {
            let own = leaves.get(&scope.agent).map_or(&[][..], Vec::as_slice);
            found.push(self.handle(scope).verify_with(own).await?);
        }
        let is_missing = |agent: &AgentId| !scopes.iter().any(|scope| scope.agent == *agent);
        found.extend(
            leaves
                .keys()
                .filter(|agent| is_missing(agent))
                .map(|agent| missing(*agent)),
        );
        Ok(found)
    }

    pub(crate) fn handle(&self, scope: AgentScope) -> AgentHandle {
        AgentHandle::new(self.clone(), scope, scope.agent.to_string())
    }

    async fn leaves_by_agent(&self) -> Result<BTreeMap<AgentId, Vec<LeafRow>>> {
        let mut by_agent: BTreeMap<AgentId, Vec<LeafRow>> = BTreeMap::new();
        for leaf in self.store.leaves(0).await? {
            by_agent.entry(leaf.agent).or_default().push(leaf);
        }
        Ok(by_agent)
    }
}

/// An agent that the log over all heads knows, and the database does not.
fn missing(agent: AgentId) -> Verification {
    let problem =
        "the log over all heads tells of this agent, and the database has none of that identifier";
    report(
        (agent.to_string(), agent),
        None,
        Head {
            seq: 0,
            hash: RecordHash([0; 32]),
        },
        vec![Misfit::new(None, problem)],
    )
}

fn report(
    (agent, agent_id): (String, AgentId),
    erased_at: Option<Timestamp>,
    head: Head,
    mut misfits: Vec<Misfit>,
) -> Verification {
    // Stable: what names no record stays in the order in which it was found, after the others.
    misfits.sort_by_key(|misfit| misfit.seq.unwrap_or(u64::MAX));
    // What is wrong with a record shows in more than one way; one of them is enough.
    misfits.dedup_by_key(|misfit| {
        (
            misfit.seq,
            misfit.seq.is_none().then(|| misfit.problem.clone()),
        )
    });
    misfits.truncate(NAMED);
    Verification {
        agent,
        agent_id,
        valid: misfits.is_empty(),
        records: head.seq,
        head: head.hash.to_string(),
        carried: None,
        erased_at,
        first_bad: misfits.first().cloned(),
        misfits,
    }
}

impl AgentHandle {
    /// Recomputes the agent's chain, replays it against the state, and names what does not fit.
    ///
    /// # Errors
    /// The store or the key store fails. That something does not fit is no error.
    pub async fn verify(&self) -> Result<Verification> {
        let leaves = self.memoir.store.leaves(0).await?;
        let own: Vec<LeafRow> = leaves
            .into_iter()
            .filter(|leaf| leaf.agent == self.scope.agent)
            .collect();
        self.verify_with(&own).await
    }

    async fn verify_with(&self, leaves: &[LeafRow]) -> Result<Verification> {
        let evidence = match self.evidence().await {
            Ok(evidence) => evidence,
            // A row that cannot even be read is not as it was written.
            Err(
                error @ (Error::Inconsistent(_)
                | Error::Store(memoir_store::Error::Inconsistent { .. })),
            ) => {
                let name = (self.name.clone(), self.scope.agent);
                let head = Head::empty(self.scope);
                return Ok(report(name, None, head, vec![Misfit::new(None, error)]));
            }
            Err(error) => return Err(error),
        };
        // Whatever the row says of an erasing: it may have been changed.
        let key = self.memoir.keys.of(self.scope).await?;
        let destroyed_at = self.memoir.keys.destroyed_at(self.scope).await?;
        let form = self.memoir.store.check_form().await?.into_iter();
        let mut misfits: Vec<Misfit> = form
            .map(|finding| Misfit::new(None, finding.problem))
            .collect();
        if key.is_none() && destroyed_at.is_none() {
            misfits.push(Misfit::new(None, Error::NoKey(self.name.clone())));
        }
        let agent = &evidence.snapshot.agent;
        if key.is_some() && agent.columns.erased_at.is_some() {
            let problem = "table `agents`: the agent is marked as erased, and its key is there: erasing was interrupted, or the row was changed; `memoir agent erase` with its identifier tells";
            misfits.push(Misfit::new(None, problem));
        }
        let name = (agent.columns.name.clone(), agent.scope.agent);
        let erased_at = destroyed_at.or(agent.columns.erased_at);
        // Reading and unsealing a long log takes a while.
        let (scope, leaves) = (self.scope, leaves.to_vec());
        let judged = tokio::task::spawn_blocking(move || {
            let mut judge = Judge::new(scope, misfits);
            judge.chain(&evidence);
            judge.leaves(&evidence.records, &leaves);
            judge.tokens(&evidence);
            judge.versions(&evidence);
            match &key {
                Some(key) => judge.state(key, evidence),
                None if destroyed_at.is_some() => judge.erasure(&evidence),
                None => {}
            }
            (judge.head, judge.carried, judge.misfits)
        });
        match judged.await {
            Ok((head, carried, misfits)) => {
                let report = report(name, erased_at, head, misfits);
                let carried = carried.filter(|_| report.valid);
                Ok(Verification { carried, ..report })
            }
            Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
            Err(_) => Err(Error::Contended),
        }
    }

    /// Reads everything, again where somebody wrote meanwhile.
    async fn evidence(&self) -> Result<Evidence> {
        let store = &self.memoir.store;
        let gone = || Error::NoAgent(self.name.clone());
        again(|| async {
            let snapshot = store.snapshot(self.scope, &wanted(Selection::All)).await?;
            let snapshot = snapshot.ok_or_else(gone)?;
            let sessions = store.sessions(self.scope, u32::MAX).await?;
            let records = store.records(self.scope, &RecordFilter::default()).await?;
            let tokens = store.agent_tokens(self.scope).await?;
            let access = store.access_page(self.scope, None, u32::MAX).await?;
            let after = store.snapshot(self.scope, &wanted(Selection::None)).await?;
            let version = after.ok_or_else(gone)?.agent.document.version;
            if version != snapshot.agent.document.version {
                return Err(CONFLICT);
            }
            Ok(Evidence {
                snapshot,
                sessions,
                records,
                tokens,
                access,
            })
        })
        .await
    }
}

/// Holds the parts of the evidence against each other.
struct Judge {
    scope: AgentScope,
    head: Head,
    carried: Option<Carried>,
    misfits: Vec<Misfit>,
}

impl Judge {
    fn new(scope: AgentScope, misfits: Vec<Misfit>) -> Self {
        Self {
            scope,
            head: Head::empty(scope),
            carried: None,
            misfits,
        }
    }

    fn note(&mut self, seq: impl Into<Option<u64>>, problem: impl ToString) {
        if self.misfits.len() < NAMED {
            self.misfits.push(Misfit::new(seq, problem));
        }
    }

    /// Takes what was found where something was, and the value where nothing was.
    fn taken<T>(&mut self, seq: Option<u64>, result: Result<T, impl ToString>) -> Option<T> {
        result.map_err(|problem| self.note(seq, problem)).ok()
    }

    /// The records by themselves, and their end against the agent's row.
    fn chain(&mut self, evidence: &Evidence) {
        let records = &evidence.records;
        let is_whole = self.hashes(records);
        // Without gaps from 1 up to the last one that fits.
        let fitting = usize::try_from(self.head.seq).unwrap_or(usize::MAX);
        self.bodies(records.get(..fitting).unwrap_or(records), is_whole);
        if !is_whole {
            return;
        }
        let agent = &evidence.snapshot.agent;
        let expected = Head {
            seq: agent.columns.next_seq.saturating_sub(1),
            hash: RecordHash(agent.columns.head),
        };
        if let Err(bad) = self.head.check_end(expected) {
            self.note(bad.seq, bad.problem);
        }
    }

    /// The hashes of the records, the texts left out. Whether all fit.
    fn hashes(&mut self, records: &[AuditRow]) -> bool {
        for row in records {
            let link = Link {
                record: codec::chained(row),
                hash: RecordHash(row.hash),
                body: chain::Body::Unchecked,
            };
            match self.head.check(self.scope, &link) {
                Ok(head) => self.head = head,
                Err(bad) => {
                    self.note(bad.seq, bad.problem);
                    return false;
                }
            }
        }
        true
    }

    /// The texts of records whose hashes fit: each is the one that was written, or the last one that a
    /// shredding put in its place.
    fn bodies(&mut self, records: &[AuditRow], is_whole: bool) {
        let replaced = replaced_bodies(records);
        for row in records {
            let original = (0, BodyCommitment(row.body_commitment));
            let (times, commitment) = replaced.get(&row.seq).copied().unwrap_or(original);
            let version = times + 1;
            if !is_whole && row.body_version > version {
                // What a record that does not fit, or one after it, said of this text is not known.
            } else if row.body_version != version {
                let problem = "its sealed text is not of the version that the log tells of";
                self.note(row.seq, problem);
            } else if chain::body_commitment(&row.body.0) != commitment {
                self.note(row.seq, chain::Problem::Body);
            }
        }
    }

    /// That no row was written under a later version of the agent than the one that is there: this shows
    /// an agent's row that was put back where no record was written since.
    fn versions(&mut self, evidence: &Evidence) {
        let version = evidence.snapshot.agent.document.version;
        let memories = evidence.snapshot.memories.iter().map(|row| row.version);
        let sessions = evidence.sessions.iter().map(|row| row.document.version);
        let access = evidence.access.iter().map(|row| row.document.version);
        let rows = memories.chain(sessions).chain(access);
        let latest = rows.max().unwrap_or(version);
        if latest > version {
            let problem = format!(
                "table `agents`: the row is of version {version}, and another row was written under \
                 version {latest}: it was put back"
            );
            self.note(None, problem);
        }
    }

    /// Of an agent whose state cannot be looked at: that its end is told of, and the row says the same.
    fn erasure(&mut self, evidence: &Evidence) {
        let erasures = evidence.records.iter();
        let told = erasures
            .filter(|row| row.action == Action::AgentErased)
            .map(|row| row.recorded_at)
            .next_back();
        if told.is_none() {
            self.note(
                None,
                "the agent's key was destroyed, and no record tells of it: records were cut off",
            );
        }
        if evidence.snapshot.agent.columns.erased_at != told {
            self.note(None, "table `agents`: `erased_at` is not as recorded");
        }
    }

    /// The log over all heads against the chain.
    fn leaves(&mut self, records: &[AuditRow], leaves: &[LeafRow]) {
        for leaf in leaves {
            let index = usize::try_from(leaf.seq)
                .ok()
                .and_then(|seq| seq.checked_sub(1));
            let hash = index
                .and_then(|index| records.get(index))
                .map(|row| row.hash);
            if hash != Some(leaf.head) {
                let problem = "the log over all heads has another hash for this record, or the record is missing";
                self.note(leaf.seq, problem);
            }
        }
    }

    /// The agent's tokens against the records of their making and revoking: a row that was put back from
    /// before its revocation would open the door again (SPEC 5.5).
    fn tokens(&mut self, evidence: &Evidence) {
        let mut told: BTreeMap<String, (bool, u64)> = BTreeMap::new();
        for row in &evidence.records {
            let is_revoked = match row.action {
                Action::TokenCreated => false,
                Action::TokenRevoked => true,
                _ => continue,
            };
            let facts = codec::facts(row).ok();
            let id = facts.as_ref().and_then(|facts| facts.as_map().get("token"));
            if let Some(id) = id.and_then(serde_json::Value::as_str) {
                told.insert(id.to_owned(), (is_revoked, row.seq));
            }
        }
        for token in &evidence.tokens {
            let problem = match told.get(&token.id.to_string()) {
                None => Some((None, "no record tells of its making")),
                Some(&(is_revoked, seq)) if is_revoked != token.columns.revoked_at.is_some() => {
                    Some((Some(seq), "whether it is revoked is not as recorded"))
                }
                Some(_) => None,
            };
            if let Some((seq, problem)) = problem {
                self.note(
                    seq,
                    format!("table `tokens`, token {}: {problem}", token.id),
                );
            }
        }
    }

    /// What the records tell of against the rows that are there.
    fn state(&mut self, key: &AgentKey, evidence: Evidence) {
        let Evidence {
            snapshot,
            sessions,
            records,
            access,
            ..
        } = evidence;
        let agent = codec::agent(key, &snapshot.agent, &snapshot.prompts);
        let agent = self.taken(None, agent.map(|(agent, _)| agent));
        let sessions = self.sessions(key, sessions);
        let memories = self.memories(key, snapshot);
        let access = access.iter();
        let access = self.all(access.map(|row| codec::access_request(key, row)).collect());
        let Some(replay) = self.replay(key, records) else {
            return;
        };
        if let Some(memories) = memories {
            self.told(replay.check_memories(&memories));
        }
        if let Some(agent) = &agent {
            self.told(replay.check_agent(agent));
        }
        match replay.carried() {
            Ok(carried) => self.carried = Some(carried),
            Err(misfit) => self.note(misfit.seq, misfit.problem),
        }
        if let Some(sessions) = sessions {
            self.told(replay.check_sessions(&sessions));
        }
        if let Some(access) = access {
            self.told(replay.check_access(&access));
        }
    }

    fn told(&mut self, checked: Result<(), replay::Misfit>) {
        if let Err(misfit) = checked {
            self.note(misfit.seq, misfit.problem);
        }
    }
}

impl Judge {
    fn memories(&mut self, key: &AgentKey, snapshot: Snapshot) -> Option<Vec<Memory>> {
        let opened = parallel::map(snapshot.memories, |row| codec::memory(key, row));
        self.all(opened)
    }

    fn sessions(&mut self, key: &AgentKey, rows: Vec<SessionRow>) -> Option<Vec<Session>> {
        let opened = rows
            .into_iter()
            .map(|row| codec::session(Some(key), row).map(|(session, _)| session))
            .collect();
        self.all(opened)
    }

    /// All of them; `None`, with a note of each that failed, where one did.
    fn all<T>(&mut self, opened: Vec<Result<T>>) -> Option<Vec<T>> {
        let count = opened.len();
        let values: Vec<T> = opened
            .into_iter()
            .filter_map(|opened| self.taken(None, opened))
            .collect();
        (values.len() == count).then_some(values)
    }

    /// The state that the records tell of; `None` where they contradict themselves.
    fn replay(&mut self, key: &AgentKey, rows: Vec<AuditRow>) -> Option<Replay> {
        let opened = parallel::map(rows, |row| (row.seq, codec::record(Some(key), row)));
        let mut replay = Replay::new();
        for (seq, record) in opened {
            let record: Record = self.taken(Some(seq), record)?;
            let applied = replay.apply(&record);
            if let Err(misfit) = applied {
                self.note(misfit.seq.or(Some(seq)), misfit.problem);
                return None;
            }
        }
        Some(replay)
    }
}

/// The hashes of the bodies that shredding put in the place of others, by record: the last one of each,
/// and how many there were. The facts that say so are covered by the chain.
fn replaced_bodies(records: &[AuditRow]) -> BTreeMap<u64, (u64, BodyCommitment)> {
    let shredded = records
        .iter()
        .filter(|row| row.action == Action::MemoryShredded);
    let mut replaced: BTreeMap<u64, (u64, BodyCommitment)> = BTreeMap::new();
    for facts in shredded.filter_map(|row| codec::facts(row).ok()) {
        for (seq, hash) in facts.replaced() {
            let times = replaced.get(&seq).map_or(0, |(times, _)| *times);
            replaced.insert(seq, (times + 1, BodyCommitment(hash)));
        }
    }
    replaced
}
