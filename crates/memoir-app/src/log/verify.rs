//! Checks that an agent's log is unchanged, and that the stored state matches the log (SPEC 4.2).
//!
//! Four things are compared: the chain of the records itself; the end of the chain with the agent's row; the state
//! according to the records with the stored rows; and the log over all heads with the chain. The third needs the
//! agent's key, and is left out for an erased agent.
//!
//! The log and the stored rows are read page by page. In memory are the state of `Replay` and a digest of each memory,
//! and nothing of a record. A process verifies few agents at a time, and later callers wait. After a write by another
//! process, the new records are followed too, and the stored rows are compared again.
//!
//! The state comprises memories, settings, counts and sessions (`replay.rs` of the domain), and the numbers of memories
//! by kind from the rows. The comparison proves that every original is in the prompt or in the archive, word for word
//! (SPEC 3.12). Messages that wait to be read are left out, since no record names a conversation before it is read.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem,
    sync::Arc,
};

use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp,
    access::AccessRequest,
    audit::{Action, Record},
    replay::{self, MemoryComparison, Originals, Replay, SessionComparison},
    summary::LogSummary,
};
use memoir_store::{
    AccessRow, AccountRow, AgentQuery, AuditRow, LeafRow, MemoryPage, MemoryRow, Selection,
    SessionRow, Snapshot, SummaryRow, TokenRow,
};
use memoir_vault::{
    AgentKey,
    chain::{self, BodyCommitment, ChainHead, Link, RecordHash},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{
        ATTEMPTS, AgentHandle, CONFLICT, Error, Memoir, Result, again, check_counts, check_due,
        check_messages, codec,
        load_room::HeldRoom,
        parallel::{self, run_beside},
    },
    log::{AgentLog, Limits, audit::RecordRows},
};

const NAMED: usize = 20;

/// Records, memories, sessions or requests that are read at a time; two pages are in memory. So few that the longest
/// texts take tens of megabytes.
pub(super) const PAGE: u32 = 128;

/// A log of up to so many records is verified at the priority of short requests, in some milliseconds.
const SHORT_LOG: u64 = 500;

/// Agents that a process verifies at a time.
pub(crate) const AT_ONCE: usize = 2;

/// The result of verifying an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The agent's name; `account NAME` for the log of an account.
    pub agent: String,
    /// Its identifier; that of the account for the log of one.
    pub agent_id: AgentId,
    /// Whether everything fits.
    pub valid: bool,
    /// Records in the log.
    pub records: u64,
    /// The hash of the last record that fits, in hexadecimal.
    pub head: String,
    /// The places of the originals; `None` where unknown, since the log has a mismatch or the agent was erased.
    pub originals: Option<Originals>,
    /// When the agent was erased: its state cannot be compared with its log.
    pub erased_at: Option<Timestamp>,
    /// The first record that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<Mismatch>,
    /// All that does not fit, the first one included, up to a number.
    #[serde(rename = "misfits", skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<Mismatch>,
}

/// A mismatch with the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Misfit)]
pub struct Mismatch {
    /// The record, or the last one about the row in question; null where there is none.
    #[schema(required)]
    pub seq: Option<u64>,
    /// The problem: names of tables, rows and fields.
    pub problem: String,
}

impl Verification {
    /// Whether all that does not fit is an erasure without a record, as after restoring a backup from before it.
    pub fn lacks_erasure(&self) -> bool {
        matches!(self.mismatches.as_slice(), [only] if only.problem == UNRECORDED_ERASURE)
    }
}

impl Mismatch {
    pub(crate) fn new(seq: impl Into<Option<u64>>, problem: impl ToString) -> Self {
        Self {
            seq: seq.into(),
            problem: problem.to_string(),
        }
    }
}

impl Memoir {
    /// Verifies every agent of every account, the erased ones too, and that no agent of the log over all heads is
    /// missing.
    ///
    /// # Errors
    /// The store fails.
    pub async fn verify_all(&self) -> Result<Vec<Verification>> {
        // The entries are read before the list of agents: otherwise an agent that is made and entered in between would
        // seem to be missing.
        let mut leaves = self.leaves_by_agent().await?;
        let scopes = self.store.scopes().await?;
        // Once for all their logs, and after these: an account has its row before its log, and the row never changes.
        let accounts = self.store.accounts().await?;
        let by_id = accounts.iter().map(|row| (row.id, row));
        let by_id: HashMap<AccountId, &AccountRow> = by_id.collect();
        let mut found = Vec::with_capacity(scopes.len());
        for &scope in &scopes {
            let own = leaves.remove(&scope.agent).unwrap_or_default();
            let account = by_id.get(&scope.account).copied();
            let handle = self.handle(scope);
            let verified = handle.log().verify_with(Some(own.as_slice()), account);
            found.push(verified.await?);
        }
        let with_log: HashSet<AgentScope> = scopes.into_iter().collect();
        found.extend(self.accounts_without_log(&accounts, &with_log).await?);
        // The agents that are left over are none of the database's.
        found.extend(leaves.into_keys().map(missing));
        Ok(found)
    }

    async fn accounts_without_log(
        &self,
        accounts: &[AccountRow],
        with_log: &HashSet<AgentScope>,
    ) -> Result<Vec<Verification>> {
        let mut found = Vec::new();
        for account in accounts {
            let scope = AgentScope::of_account(account.id);
            if with_log.contains(&scope) {
                continue;
            }
            let mismatches = self.account_mismatches(scope, Some(account)).await?;
            if !mismatches.is_empty() {
                let name = (format!("account {}", account.name), scope.agent);
                found.push(report(name, None, ChainHead::empty(scope), mismatches));
            }
        }
        Ok(found)
    }

    pub(crate) fn handle(&self, scope: AgentScope) -> AgentHandle {
        AgentHandle::new(self.clone(), scope, scope.agent.to_string())
    }

    pub(super) async fn leaves_by_agent(&self) -> Result<BTreeMap<AgentId, Vec<LeafRow>>> {
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
        "the log over all heads names this agent, and the database has none of that identifier";
    report(
        (agent.to_string(), agent),
        None,
        ChainHead {
            seq: 0,
            hash: RecordHash([0; 32]),
        },
        vec![Mismatch::new(None, problem)],
    )
}

fn report(
    (agent, agent_id): (String, AgentId),
    erased_at: Option<Timestamp>,
    head: ChainHead,
    mut mismatches: Vec<Mismatch>,
) -> Verification {
    // Stable: mismatches without a record keep the order in which they were found, after the others.
    mismatches.sort_by_key(|mismatch| mismatch.seq.unwrap_or(u64::MAX));
    // A faulty record shows in more than one way; one of them is enough.
    mismatches.dedup_by_key(|mismatch| {
        (
            mismatch.seq,
            mismatch.seq.is_none().then(|| mismatch.problem.clone()),
        )
    });
    // After sorting, so that the first mismatch is never among those left out.
    mismatches.truncate(NAMED);
    Verification {
        agent,
        agent_id,
        valid: mismatches.is_empty(),
        records: head.seq,
        head: head.hash.to_string(),
        originals: None,
        erased_at,
        first_bad: mismatches.first().cloned(),
        mismatches,
    }
}

impl AgentLog<'_> {
    /// Recomputes the agent's chain, replays it against the state, and names the mismatches.
    ///
    /// # Errors
    /// The store or the key store fails. A mismatch is no error.
    pub async fn verify(self) -> Result<Verification> {
        let handle = AgentHandle::clone(&self);
        // A row that cannot be read is one of the mismatches.
        let row = self.snapshot(&AgentQuery::default()).await;
        let is_short = row.is_ok_and(|row| row.agent.columns.next_seq <= SHORT_LOG)
            && self
                .is_short(&AgentQuery::of_memories(Selection::All))
                .await?;
        let verifying = async move { handle.log().verify_with(None, None).await };
        match is_short {
            true => verifying.await,
            // The whole log and all memories are read, whatever part of the agent's share it has left.
            false => parallel::run_long(verifying).await,
        }
    }

    /// `leaves` are the agent's entries in the log over all heads, and `account` is the row of its account; `None` reads
    /// either where it is needed.
    pub(super) async fn verify_with(
        self,
        leaves: Option<&[LeafRow]>,
        account: Option<&AccountRow>,
    ) -> Result<Verification> {
        let limits = self.memoir.state::<Limits>();
        let _turn = limits.verifications.take(self.scope).await?;
        let read;
        let leaves = match leaves {
            Some(leaves) => leaves,
            None => {
                // Before the log: a later entry may be of a record that the log, as read, does not have yet.
                read = self.memoir.store.leaves_of(self.scope.agent).await?;
                read.as_slice()
            }
        };
        match again(|| self.attempt_verify(leaves, account)).await {
            // Memoir did not write a row that cannot even be read.
            Err(
                error @ (Error::Inconsistent(_)
                | Error::Tampered(_)
                | Error::Store(memoir_store::Error::Inconsistent { .. })),
            ) => {
                let name = (self.name.clone(), self.scope.agent);
                let head = ChainHead::empty(self.scope);
                Ok(report(name, None, head, vec![Mismatch::new(None, error)]))
            }
            done => done,
        }
    }

    async fn attempt_verify(
        self,
        leaves: &[LeafRow],
        account: Option<&AccountRow>,
    ) -> Result<Verification> {
        let began = self.row().await?.agent;
        let account = match account {
            None if self.scope.is_of_account() => {
                self.memoir.account_row(self.scope.account).await?
            }
            account => account.cloned(),
        };
        // Whatever the row contains about an erasure: it may have been changed.
        let key = self.memoir.keys.of(self.scope).await?;
        let destroyed_at = self.memoir.keys.destroyed_at(self.scope).await?;
        let mut mismatches: Vec<Mismatch> = (self.memoir.store.check_form().await?.into_iter())
            .map(|finding| Mismatch::new(None, finding.problem))
            .collect();
        if self.scope.is_of_account() {
            let found = self.memoir.account_mismatches(self.scope, account.as_ref());
            mismatches.extend(found.await?);
        }
        if key.is_none() && destroyed_at.is_none() {
            mismatches.push(Mismatch::new(None, Error::NoKey(self.name.clone())));
        }
        if key.is_some() && began.columns.erased_at.is_some() {
            let problem = "table `agents`: the agent is marked as erased, and its key is there: erasing was interrupted, or the row was changed; erasing it once more, by its identifier, shows which";
            mismatches.push(Mismatch::new(None, problem));
        }
        let mut judge = Judge::new(self.scope, key, leaves, mismatches);
        // Not by `again`, which would begin at the first record: followed records stay verified, and only later ones
        // are left to follow.
        for _ in 0..ATTEMPTS {
            judge = self.follow(judge).await?;
            let snapshot = self.row().await?;
            // The records from before the row was read.
            judge = self.follow(judge).await?;
            let version = snapshot.agent.document.version;
            let has_changed = version != began.document.version;
            // A body that was replaced after it was followed would be compared with the commitment of the new one, and
            // seem to be tampered with: then start over.
            if has_changed && judge.last_shredding >= Some(began.columns.next_seq) {
                // Texts of followed records may have been replaced.
                return Err(CONFLICT);
            }
            let (same, found) = self.compare(judge, &snapshot).await?;
            judge = same;
            // The rows were compared page by page. They are consistent only if the agent's version was the same before
            // the first and after the last page: every change of them increases it.
            if self.row().await?.agent.document.version == version {
                let verified = judge.end(&snapshot, destroyed_at, found);
                return Ok(self.of_account(verified, account));
            }
        }
        Err(Error::Contended)
    }

    /// The result for an account's own log is named after the account, and it has no memories.
    fn of_account(self, verified: Verification, account: Option<AccountRow>) -> Verification {
        if !self.scope.is_of_account() {
            return verified;
        }
        let name = account.map_or_else(|| self.scope.account.to_string(), |row| row.name);
        Verification {
            agent: format!("account {name}"),
            originals: None,
            ..verified
        }
    }

    /// The stored agent, with its prompts and without its memories.
    pub(super) async fn row(self) -> Result<Snapshot> {
        let nothing = AgentQuery::default().with_prompts().with_transcript();
        self.snapshot(&nothing).await
    }

    /// Follows the log from where `judge` stands to its end. The next page is read while one is followed.
    async fn follow(self, mut judge: Judge) -> Result<Judge> {
        let mut page = self.log_page(judge.next_seq).await?;
        loop {
            let (records, summaries) = page;
            let last = records.rows.last().filter(|_| records.has_more);
            let next_seq = last.map(|row| row.seq + 1);
            let following = run_beside(move || {
                judge.kept = summaries;
                judge.follow(records.rows);
                drop(records.room);
                judge
            });
            let Some(next_seq) = next_seq else {
                return following.await;
            };
            let (followed, next) = tokio::join!(following, self.log_page(next_seq));
            (judge, page) = (followed?, next?);
        }
    }

    /// The records from `from_seq` on, with the summaries that end among them.
    async fn log_page(self, from_seq: u64) -> Result<(RecordRows, Vec<SummaryRow>)> {
        let records = self.page_from(from_seq, PAGE).await?;
        let last_seq = records.rows.last().map_or(0, |row| row.seq);
        // A page of records ends at most one full stretch; one more would be where none belongs.
        let before = from_seq - 1;
        let mut summaries = self.memoir.store.summaries(self.scope, before, 2).await?;
        summaries.retain(|row| row.last_seq <= last_seq);
        Ok((records, summaries))
    }

    /// The stored memories of numbers over `after`, with their room.
    pub(super) async fn memory_rows(
        self,
        after: u64,
    ) -> Result<(Vec<MemoryRow>, Option<HeldRoom>)> {
        let page = MemoryPage {
            after,
            limit: PAGE,
            with_discarded: true,
            ..MemoryPage::default()
        };
        self.rows_with_room(&page).await
    }

    async fn compare(self, judge: Judge, snapshot: &Snapshot) -> Result<(Judge, Comparison)> {
        let store = &self.memoir.store;
        let judge = Arc::new(judge);
        let version = snapshot.agent.document.version;
        let mut comparison = Comparison {
            version,
            latest: version,
            ..Comparison::default()
        };
        comparison.tokens(&judge, &store.agent_tokens(self.scope).await?);
        if let Some(key) = &judge.key {
            let agent = codec::agent(key, &snapshot.agent, snapshot.prompts.as_ref());
            match agent {
                Ok((agent, _)) => {
                    if let Some(replay) = &judge.replay {
                        comparison.note_outcome(replay.check_agent(&agent));
                    }
                    // The rows by kind: missing ones are named below, if any record knows them.
                    if let Some(counts) = &snapshot.row_counts
                        && let Err(problem) = check_counts(&agent, counts)
                    {
                        comparison.note(None, problem);
                    }
                    let messages = snapshot.transcript.unwrap_or_default();
                    let checked = [check_messages(&agent, &messages), check_due(&messages)];
                    for problem in checked.into_iter().filter_map(Result::err) {
                        comparison.note(None, problem);
                    }
                }
                Err(problem) => comparison.note(None, problem),
            }
        }
        // A summary that ends behind the log was made of records that have since been cut off, or is forged.
        let ahead = store.summaries(self.scope, judge.next_seq - 1, 1).await?;
        if let Some(row) = ahead.first() {
            let problem = format!(
                "table `log_summaries`, up to record {}: there is no such record",
                row.last_seq
            );
            comparison.note(None, problem);
        }
        let mut page = self.memory_rows(0).await?;
        loop {
            let (rows, room) = page;
            let last = rows.last().map(|row| row.number.0);
            let after = last.filter(|_| rows.len() == PAGE as usize);
            let judge = Arc::clone(&judge);
            let comparing = run_beside(move || {
                comparison.memories(&judge, rows);
                drop(room);
                comparison
            });
            let Some(after) = after else {
                comparison = comparing.await?;
                break;
            };
            let (compared, next) = tokio::join!(comparing, self.memory_rows(after));
            (comparison, page) = (compared?, next?);
        }
        let mut before: Option<(Timestamp, SessionId)> = None;
        loop {
            let page = self.sessions_before(before, PAGE).await?;
            let has_more = page.has_more;
            before = page.last();
            let judge = Arc::clone(&judge);
            comparison = run_beside(move || {
                comparison.sessions(&judge, page.rows);
                drop(page.room);
                comparison
            })
            .await?;
            if !has_more {
                break;
            }
        }
        let mut before: Option<(Timestamp, AccessRequestId)> = None;
        loop {
            let rows = store.access_page(self.scope, before, PAGE).await?;
            let is_last = rows.len() < PAGE as usize;
            before = rows.last().map(|row| (row.columns.requested_at, row.id));
            comparison.access(&judge, &rows);
            if is_last {
                break;
            }
        }
        comparison.finish(&judge);
        // No task shares it at this point.
        let judge = Arc::into_inner(judge).ok_or(Error::Contended)?;
        Ok((judge, comparison))
    }
}

/// Follows the records, and compares them with each other and with the log over all heads.
struct Judge {
    scope: AgentScope,
    key: Option<AgentKey>,
    next_seq: u64,
    /// The last one whose hash matches.
    head: ChainHead,
    is_whole: bool,
    /// Of texts that were replaced: how often, and the hash of the present one.
    seen_bodies: BTreeMap<u64, (u64, BodyCommitment)>,
    /// The texts that shreddings replaced: how often, and the hash of the last replacement. The chain covers the facts
    /// that state this.
    replaced: BTreeMap<u64, (u64, BodyCommitment)>,
    last_shredding: Option<u64>,
    /// Entries of the log over all heads that were not compared yet.
    leaves: BTreeMap<u64, Vec<[u8; 32]>>,
    /// Whether each token was revoked, and the record of it.
    tokens: BTreeMap<String, (bool, u64)>,
    erased_at: Option<Timestamp>,
    /// The summary of the records since the last full stretch, and the stored one of the records followed last.
    summary: LogSummary,
    kept: Vec<SummaryRow>,
    /// The state according to the records; `None` where they contradict each other, or cannot be opened.
    replay: Option<Replay>,
    mismatches: Vec<Mismatch>,
}

impl Judge {
    fn new(
        scope: AgentScope,
        key: Option<AgentKey>,
        leaves: &[LeafRow],
        mismatches: Vec<Mismatch>,
    ) -> Self {
        let mut by_place: BTreeMap<u64, Vec<[u8; 32]>> = BTreeMap::new();
        for leaf in leaves {
            by_place.entry(leaf.seq).or_default().push(leaf.head);
        }
        Self {
            scope,
            next_seq: 1,
            head: ChainHead::empty(scope),
            is_whole: true,
            seen_bodies: BTreeMap::new(),
            replaced: BTreeMap::new(),
            last_shredding: None,
            leaves: by_place,
            tokens: BTreeMap::new(),
            erased_at: None,
            summary: LogSummary::after(None),
            kept: Vec::new(),
            replay: key.as_ref().map(|_| Replay::default()),
            key,
            mismatches,
        }
    }

    fn note(&mut self, seq: impl Into<Option<u64>>, problem: impl ToString) {
        note(&mut self.mismatches, seq, problem);
    }

    fn follow(&mut self, rows: Vec<AuditRow>) {
        for row in &rows {
            self.next_seq = row.seq + 1;
            self.hash(row);
            // After a mismatching hash, texts are not compared with the commitments of their records: that would report
            // one change a hundred times.
            if self.is_whole {
                self.body(row);
            }
            self.leaf(row.seq, row.hash);
            self.token(row);
            if row.action == Action::AgentErased {
                self.erased_at = Some(row.recorded_at);
            }
        }
        self.apply(rows);
    }

    fn hash(&mut self, row: &AuditRow) {
        if !self.is_whole {
            return;
        }
        let link = Link {
            record: codec::chained(row),
            hash: RecordHash(row.hash),
            body: chain::ChainBody::Unchecked,
        };
        match self.head.check(self.scope, &link) {
            Ok(head) => self.head = head,
            Err(bad) => {
                // The chain ends here: each later hash covers this one, and would be reported as another fault.
                self.is_whole = false;
                self.note(bad.seq, bad.problem);
            }
        }
    }

    /// Checks the text of a record with a matching hash: it is the original one, or the last replacement by a
    /// shredding, which is known in the end.
    fn body(&mut self, row: &AuditRow) {
        let (written, seen) = (
            BodyCommitment(row.body_commitment),
            chain::body_commitment(&row.body.0),
        );
        if row.body_version != 1 {
            self.seen_bodies.insert(row.seq, (row.body_version, seen));
        } else if seen != written {
            self.note(row.seq, chain::ChainProblem::Body);
        }
        if row.action != Action::MemoryShredded {
            return;
        }
        self.last_shredding = Some(row.seq);
        let Ok(facts) = codec::facts(row) else { return };
        for (seq, hash) in facts.replaced() {
            let times = self.replaced.get(&seq).map_or(0, |(times, _)| *times);
            self.replaced.insert(seq, (times + 1, BodyCommitment(hash)));
        }
    }

    fn leaf(&mut self, seq: u64, hash: [u8; 32]) {
        let leaves = self.leaves.remove(&seq).unwrap_or_default();
        // Compared with the hash of the row, whether or not the chain matches: a chain that was rehashed from some
        // record on is consistent in itself, and is detected here.
        if leaves.iter().any(|head| *head != hash) {
            self.note(seq, OTHER_LEAF);
        }
    }

    /// The making or revoking of a token: a row that was restored from before its revocation would
    /// grant access again (SPEC 5.5).
    fn token(&mut self, row: &AuditRow) {
        let is_revoked = match row.action {
            Action::TokenCreated => false,
            Action::TokenRevoked => true,
            _ => return,
        };
        let Ok(facts) = codec::facts(row) else { return };
        if let Some(id) = facts.code_of("token") {
            self.tokens.insert(id.to_owned(), (is_revoked, row.seq));
        }
    }

    fn apply(&mut self, rows: Vec<AuditRow>) {
        // The replay is restored only if all records match: after a contradiction the state is not known.
        let (Some(mut replay), Some(key)) = (self.replay.take(), self.key.as_ref()) else {
            return;
        };
        let key = key.clone();
        let opened = parallel::map(rows, |row| {
            (row.seq, row.hash, codec::record(Some(&key), row))
        });
        for (seq, hash, record) in opened {
            let record: Record = match record {
                Ok(record) => record,
                Err(problem) => return self.note(seq, problem),
            };
            if let Err(mismatch) = replay.apply(&record) {
                return self.note(mismatch.seq.or(Some(seq)), mismatch.problem);
            }
            self.sum_up(&key, &record, hash);
        }
        for row in mem::take(&mut self.kept) {
            let problem = format!(
                "table `log_summaries`, up to record {}: there is no stretch that ends there",
                row.last_seq
            );
            self.note(row.last_seq, problem);
        }
        self.replay = Some(replay);
    }

    /// Makes the summary anew, and compares the stored one of the stretch that the record ends.
    fn sum_up(&mut self, key: &AgentKey, record: &Record, hash: [u8; 32]) {
        self.summary.add(record);
        if !self.summary.is_full() {
            return;
        }
        let next = LogSummary::after(Some(&self.summary));
        let summary = mem::replace(&mut self.summary, next);
        let ends_here = |row: &SummaryRow| row.last_seq == record.seq;
        let Some(index) = self.kept.iter().position(ends_here) else {
            return;
        };
        let row = self.kept.remove(index);
        match codec::summary(key, &row) {
            Err(problem) => self.note(record.seq, problem),
            Ok(kept) if row.hash != hash || kept != summary => {
                let problem = format!(
                    "table `log_summaries`, up to record {}: it differs from the records",
                    record.seq
                );
                self.note(record.seq, problem);
            }
            Ok(_) => {}
        }
    }

    fn end(
        mut self,
        snapshot: &Snapshot,
        destroyed_at: Option<Timestamp>,
        found: Comparison,
    ) -> Verification {
        // Only now: a shredding may be anywhere behind the record whose text it replaced.
        self.replaced_bodies();
        let agent = &snapshot.agent;
        let expected = ChainHead {
            seq: agent.columns.next_seq.saturating_sub(1),
            hash: RecordHash(agent.columns.head),
        };
        if self.is_whole
            && let Err(bad) = self.head.check_end(expected)
        {
            self.note(bad.seq, bad.problem);
        }
        for seq in mem::take(&mut self.leaves).into_keys() {
            self.note(seq, OTHER_LEAF);
        }
        if self.key.is_none() && destroyed_at.is_some() {
            self.erasure(agent.columns.erased_at);
        }
        // Of a log that does not fit nothing is proved. Rows that differ from a log that fits are counted.
        let originals = found.originals.filter(|_| self.mismatches.is_empty());
        for mismatch in found.mismatches {
            self.note(mismatch.seq, mismatch.problem);
        }
        let name = (agent.columns.name.clone(), agent.scope.agent);
        let erased_at = destroyed_at.or(agent.columns.erased_at);
        Verification {
            originals,
            ..report(name, erased_at, self.head, self.mismatches)
        }
    }

    /// Checks that each replaced text is the one from the last shredding.
    fn replaced_bodies(&mut self) {
        let seen = mem::take(&mut self.seen_bodies);
        for (&seq, &(version, commitment)) in &seen {
            let replacement = self.replaced.get(&seq).copied();
            let expected = replacement.map_or(1, |(times, _)| times + 1);
            if !self.is_whole && version > expected {
                // The statement of a faulty record, or of one after it, about this text is not known.
            } else if version != expected {
                self.note(seq, OTHER_VERSION);
            } else if replacement.is_some_and(|(_, hash)| hash != commitment) {
                self.note(seq, chain::ChainProblem::Body);
            }
        }
        let as_written = mem::take(&mut self.replaced).into_keys();
        for seq in as_written.filter(|seq| *seq <= self.head.seq && !seen.contains_key(seq)) {
            note(&mut self.mismatches, seq, OTHER_VERSION);
        }
    }

    /// For an agent whose state cannot be read: that its erasure is recorded, and that the row agrees.
    fn erasure(&mut self, erased_at: Option<Timestamp>) {
        if self.erased_at.is_none() {
            self.note(None, UNRECORDED_ERASURE);
        }
        if erased_at != self.erased_at {
            self.note(None, "table `agents`: `erased_at` is not as recorded");
        }
    }
}

pub(super) const UNRECORDED_ERASURE: &str = "the agent's key was destroyed, and no record shows it: the database is from before the erasure, or records were cut off";
const OTHER_LEAF: &str =
    "the log over all heads has another hash for this record, or the record is missing";
const OTHER_VERSION: &str = "its sealed text is not of the version in the log";

/// Keeps the [`NAMED`] mismatches that are first in the log, one per record, in whichever order they are found: the
/// first of all is always reported (SPEC 4.2).
fn note(mismatches: &mut Vec<Mismatch>, seq: impl Into<Option<u64>>, problem: impl ToString) {
    let seq = seq.into();
    if seq.is_some() && mismatches.iter().any(|mismatch| mismatch.seq == seq) {
        return;
    }
    if mismatches.len() < NAMED {
        mismatches.push(Mismatch::new(seq, problem));
        return;
    }
    // A mismatch without a record may be the gravest of all, such as that records were cut off. Half of the places are
    // kept for such mismatches.
    let others = mismatches.iter().filter(|mismatch| mismatch.seq.is_none());
    let others = others.count();
    let has_place = |last: &Mismatch| match seq {
        Some(seq) => Some(seq) < last.seq,
        None => others < NAMED / 2,
    };
    let of_records = mismatches
        .iter_mut()
        .filter(|mismatch| mismatch.seq.is_some());
    let last = of_records.max_by_key(|mismatch| mismatch.seq);
    if let Some(last) = last.filter(|last| has_place(last)) {
        *last = Mismatch::new(seq, problem);
    }
}

#[derive(Default)]
struct Comparison {
    /// The version of the agent's row, and the latest under which another row was written.
    version: u64,
    latest: u64,
    memories: MemoryComparison,
    sessions: SessionComparison,
    access: Vec<AccessRequest>,
    /// Whether a row of a kind could not be opened: unreadable ones would count as missing.
    has_unreadable: [bool; 3],
    originals: Option<Originals>,
    mismatches: Vec<Mismatch>,
}

impl Comparison {
    fn note(&mut self, seq: impl Into<Option<u64>>, problem: impl ToString) {
        note(&mut self.mismatches, seq, problem);
    }

    fn note_outcome(&mut self, checked: Result<(), replay::ReplayMismatch>) {
        if let Err(mismatch) = checked {
            self.note(mismatch.seq, mismatch.problem);
        }
    }

    /// The agent's tokens against the records of their making and revoking.
    fn tokens(&mut self, judge: &Judge, tokens: &[TokenRow]) {
        for token in tokens {
            let problem = match judge.tokens.get(&token.id.to_string()) {
                None => Some((None, "no record shows how it was made")),
                Some(&(is_revoked, seq)) if is_revoked != token.columns.revoked_at.is_some() => {
                    Some((Some(seq), "whether it is revoked is not as recorded"))
                }
                Some(_) => None,
            };
            if let Some((seq, problem)) = problem {
                let problem = format!("table `tokens`, token {}: {problem}", token.id);
                self.note(seq, problem);
            }
        }
    }

    fn memories(&mut self, judge: &Judge, rows: Vec<MemoryRow>) {
        self.latest = rows.iter().fold(self.latest, |at, row| at.max(row.version));
        let Some(key) = &judge.key else { return };
        for opened in parallel::map(rows, |row| codec::memory(key, &row)) {
            if let (Some(memory), Some(replay)) = (self.opened(0, opened), &judge.replay) {
                self.memories.add(replay, &memory);
            }
        }
    }

    /// A row of that kind, if it could be opened; notes why not.
    fn opened<T>(&mut self, kind: usize, row: Result<T>) -> Option<T> {
        row.inspect_err(|problem| {
            self.has_unreadable[kind] = true;
            self.note(None, problem);
        })
        .ok()
    }

    fn sessions(&mut self, judge: &Judge, rows: Vec<SessionRow>) {
        for row in rows {
            self.latest = self.latest.max(row.document.version);
            let Some(key) = &judge.key else { continue };
            let opened = self.opened(1, codec::session(Some(key), row));
            if let (Some((session, _)), Some(replay)) = (opened, &judge.replay) {
                self.sessions.add(replay, &session);
            }
        }
    }

    fn access(&mut self, judge: &Judge, rows: &[AccessRow]) {
        for row in rows {
            self.latest = self.latest.max(row.document.version);
            let Some(key) = &judge.key else { continue };
            let opened = self.opened(2, codec::access_request(key, row));
            self.access.extend(opened);
        }
    }

    fn finish(&mut self, judge: &Judge) {
        // No row was written under a later version than the agent's own row has: this detects an agent's row that was
        // put back where no record was written since.
        let (version, latest) = (self.version, self.latest);
        if latest > version {
            let problem = format!(
                "table `agents`: the row is of version {version}, and another row was written under \
                 version {latest}: it was put back"
            );
            self.note(None, problem);
        }
        let Some(replay) = &judge.replay else { return };
        let (originals, differing) = mem::take(&mut self.memories).finish(replay);
        // An original whose row cannot be opened counts as lost, and the problem of the row is named.
        self.originals = Some(originals);
        if let Some(mismatch) = differing.filter(|_| !self.has_unreadable[0]) {
            self.note(mismatch.seq, mismatch.problem);
        }
        let sessions = mem::take(&mut self.sessions).finish(replay);
        if !self.has_unreadable[1] {
            self.note_outcome(sessions);
        }
        if !self.has_unreadable[2] {
            let checked = replay.check_access(&self.access);
            self.note_outcome(checked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_4_2_of_many_mismatches_those_that_stand_first_in_the_log_are_named() {
        let mut mismatches = Vec::new();
        for seq in (100..140).rev().chain([7, 200, 7]) {
            note(&mut mismatches, seq, "a record");
        }
        note(&mut mismatches, None, "records were cut off");
        let mut seqs: Vec<Option<u64>> = mismatches.iter().map(|mismatch| mismatch.seq).collect();
        seqs.sort_unstable();
        let expected = [7].into_iter().chain(100..118).map(Some);
        assert_eq!(seqs, [None].into_iter().chain(expected).collect::<Vec<_>>());
    }
}
