//! Rows for the scenarios and for the tests of one database, and the author who writes them.

use std::{fmt::Debug, sync::Arc};

use memoir_domain::{
    AccessRequestId, AccountId, AgentId, AgentScope, SessionId, Timestamp, TokenId, UserId,
    access::AccessState,
    audit::{Action, ActorKind},
    memory::{ArchivedBy, Kind, Number},
    schedule::NextDue,
    session::{Driver, Lease, State},
};

use crate::{
    AccessColumns, AccessRow, AccountRow, AgentColumns, AgentQuery, AgentRow, AuditRow, BodyRow,
    Commit, Document, Error, FleetRanks, MemoryRow, RecordFilter, ReplyRow, Result, Selection,
    SessionColumns, SessionRow, Snapshot, Store, StoredText, TokenColumns, TokenRow, UserColumns,
    UserRow,
};

/// `seconds` after 1970.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_microseconds(seconds * 1_000_000).unwrap()
}

pub(super) fn account_id(number: u128) -> AccountId {
    // Each kind of identifier has its own first digit, here and below, so that none passes for one of another kind.
    AccountId::from_bytes((number | 0xA << 124).to_be_bytes())
}

pub(super) fn agent_id(number: u128) -> AgentId {
    AgentId::from_bytes((number | 0xB << 124).to_be_bytes())
}

pub(super) fn session_id(number: u128) -> SessionId {
    SessionId::from_bytes((number | 0xC << 124).to_be_bytes())
}

pub(super) fn token_id(number: u128) -> TokenId {
    TokenId::from_bytes((number | 0xD << 124).to_be_bytes())
}

/// A digest: that of no other number.
pub(super) fn digest(number: u128) -> [u8; 32] {
    let mut digest = [0xD0; 32];
    digest[8..24].copy_from_slice(&number.to_be_bytes());
    digest
}

pub(super) fn scope(account: u128, agent: u128) -> AgentScope {
    AgentScope {
        account: account_id(account),
        agent: agent_id(agent),
    }
}

/// Stored text.
pub fn text(words: &str) -> StoredText {
    // Every stored text begins with a byte that is its version.
    let mut bytes = vec![1];
    bytes.extend_from_slice(words.as_bytes());
    StoredText(bytes)
}

/// An account, made at second 0.
pub fn account(number: u128, name: &str) -> AccountRow {
    AccountRow {
        id: account_id(number),
        name: name.to_owned(),
        folded_name: name.to_lowercase(),
        created_at: at(0),
    }
}

/// An agent that was never written: without memories and without a log.
pub fn agent(account: u128, number: u128, name: &str) -> AgentRow {
    AgentRow {
        scope: scope(account, number),
        columns: AgentColumns {
            name: name.to_owned(),
            folded_name: name.to_lowercase(),
            erased_at: None,
            next_seq: 1,
            head: [0; 32],
            prospect: NextDue::default(),
            ranks: FleetRanks::default(),
        },
        document: document(0, name),
    }
}

/// The hash of that record in the scenarios: it differs from all others.
pub(super) fn hash(agent: AgentId, seq: u64) -> [u8; 32] {
    let mut hash = [0xF0; 32];
    hash[..16].copy_from_slice(agent.as_bytes());
    hash[16..24].copy_from_slice(&seq.to_be_bytes());
    hash
}

/// An active core memory of ten tokens; the first million of them are a second apart.
pub fn memory(number: u64) -> MemoryRow {
    let seconds = (number % 1_000_000) as i64;
    MemoryRow {
        number: Number(number),
        version: 1,
        kind: Kind::Core,
        body: text("words"),
        tokens: 10,
        constitutional: false,
        created_at: at(seconds),
        updated_at: at(seconds),
        discarded_at: None,
        shredded_at: None,
        under: None,
        archived_at: None,
        archived_by: None,
        is_summary: false,
        core_seq: None,
        recorded_at: at(seconds),
    }
}

/// Changes of a memory after which its columns do not agree, which no table takes; those of [`memory`] are right.
pub const DISAGREEING: [&str; 7] = [
    "kind = 'archival'",
    "archived_at = 1",
    "archived_at = 1, archived_by = 'saved'",
    "kind = 'archival', archived_at = 1",
    "kind = 'archival', archived_by = 'saved'",
    "is_summary = true, kind = 'journal'",
    "shredded_at = 1",
];
/// One after which they agree.
pub const AGREEING: &str = "kind = 'archival', archived_at = 1, archived_by = 'saved'";

pub(super) fn journal(number: u64) -> MemoryRow {
    MemoryRow {
        kind: Kind::Journal,
        ..memory(number)
    }
}

/// An active archival memory, which is under none.
pub(super) fn archival(number: u64) -> MemoryRow {
    of_kind(memory(number), Kind::Archival)
}

/// The same as one of that kind, with what goes with it.
pub(super) fn of_kind(memory: MemoryRow, kind: Kind) -> MemoryRow {
    let is_archival = kind == Kind::Archival;
    MemoryRow {
        kind,
        archived_at: is_archival.then(|| at(900)),
        archived_by: is_archival.then_some(ArchivedBy::Session),
        ..memory
    }
}

/// The same under that one.
pub(super) fn under(memory: MemoryRow, number: u64) -> MemoryRow {
    MemoryRow {
        under: Some(Number(number)),
        ..memory
    }
}

pub(super) fn discarded(memory: MemoryRow) -> MemoryRow {
    MemoryRow {
        discarded_at: Some(at(1_000)),
        ..memory
    }
}

pub(super) fn shredded(memory: MemoryRow) -> MemoryRow {
    MemoryRow {
        body: text(""),
        tokens: 0,
        shredded_at: Some(at(1_001)),
        ..discarded(memory)
    }
}

/// A lease until that second.
pub(super) fn lease(until: i64, holder: u64) -> Lease {
    let until = at(until);
    Lease { until, holder }
}

/// An open session of that agent, held by holder 1 until second 100.
pub fn session(number: u128, agent: AgentId) -> SessionRow {
    SessionRow {
        id: session_id(number),
        agent,
        columns: SessionColumns {
            state: State::Open,
            driver: Driver::Model,
            model: None,
            started_at: at(number as i64),
            ended_at: None,
        },
        lease: Some(lease(100, 1)),
        document: document(1, "session"),
    }
}

pub(super) fn ended(session: SessionRow, state: State) -> SessionRow {
    with(session, |row| {
        row.lease = None;
        row.columns.state = state;
        row.columns.ended_at = Some(at(2_000));
    })
}

/// A request that waits for its answer, made at second 1.
pub fn request(number: u128, agent: AgentId) -> AccessRow {
    AccessRow {
        id: AccessRequestId::from_bytes(number.to_be_bytes()),
        agent,
        columns: AccessColumns {
            state: AccessState::Asked,
            requested_at: at(1),
            expires_at: at(100),
        },
        document: document(2, "purpose"),
    }
}

pub(super) fn with<Row>(mut row: Row, change: impl FnOnce(&mut Row)) -> Row {
    change(&mut row);
    row
}

/// A record; its place and its hashes are set by [`Author::recording`].
pub fn record(action: Action) -> AuditRow {
    AuditRow {
        seq: 0,
        recorded_at: at(5),
        actor_kind: ActorKind::System,
        actor_name: "memoir".to_owned(),
        action,
        session: None,
        memory: None,
        facts: "{}".to_owned(),
        body: text(""),
        body_version: 1,
        body_commitment: [0xC0; 32],
        hash: [0; 32],
        previous_hash: None,
    }
}

/// A body that takes the place of that of record `seq`.
pub(super) fn body(seq: u64, body_version: u64) -> BodyRow {
    BodyRow {
        seq,
        body_version,
        body: text(&format!("body {body_version} of {seq}")),
    }
}

/// A document as a caller might write it: no store reads it, so that white space, the order of the fields and
/// how letters are written must come back as they were.
pub(super) fn document(version: u64, words: &str) -> Document {
    Document {
        version,
        open: format!("{{ \"b\":1, \"a\" : \"\\u00e9{words}\",\n\"b\":1.0}}"),
        sealed: text(words),
    }
}

/// An administrator's token, made at the second of its number.
pub fn token(account: u128, number: u128) -> TokenRow {
    TokenRow {
        id: token_id(number),
        account: account_id(account),
        agent: None,
        last_used_at: None,
        columns: TokenColumns {
            digest: digest(number),
            created_at: at(number as i64),
            revoked_at: None,
        },
        document: document(1, "token"),
    }
}

/// A user, made at the second of its number.
pub fn user(account: u128, number: u128, name: &str) -> UserRow {
    UserRow {
        id: UserId::from_bytes((number | 0xE << 124).to_be_bytes()),
        account: account_id(account),
        columns: UserColumns {
            folded_name: name.to_lowercase(),
            created_at: at(number as i64),
            removed_at: None,
        },
        document: document(1, name),
    }
}

/// A request with an unknown outcome, which came at the second of its number.
pub fn reply(account: u128, number: u128) -> ReplyRow {
    ReplyRow {
        account: account_id(account),
        key_digest: digest(number),
        request_digest: digest(number + 1_000),
        recorded_at: at(number as i64),
        answer: None,
    }
}

/// Writes one agent, keeping up with its version and its counters.
pub(super) struct Author {
    pub(super) store: Arc<dyn Store>,
    pub(super) agent: AgentRow,
}

impl Author {
    /// Makes the account, unless it is there, and the agent `agent-NUMBER` in it.
    pub(super) async fn new(store: &Arc<dyn Store>, account: u128, number: u128) -> Self {
        let row = self::account(account, &format!("account-{account}"));
        let found = store.account_named(&row.folded_name).await.unwrap();
        if found.is_none() {
            store.create_account(&row).await.unwrap();
        }
        let mut author = Self::of_new(store, agent(account, number, &format!("agent-{number}")));
        author.write(author.making()).await.unwrap();
        author
    }

    /// Of an agent that is not made yet.
    pub(super) fn of_new(store: &Arc<dyn Store>, agent: AgentRow) -> Self {
        let store = Arc::clone(store);
        Self { store, agent }
    }

    /// Goes on from what is stored.
    pub(super) async fn follow(&mut self) {
        self.agent = self.stored().await;
    }

    pub(super) fn scope(&self) -> AgentScope {
        self.agent.scope
    }

    pub(super) fn id(&self) -> AgentId {
        self.agent.scope.agent
    }

    /// A decision that makes the agent.
    pub(super) fn making(&self) -> Commit {
        Commit {
            expected_version: None,
            prompts: Some(text("prompts")),
            ..self.commit()
        }
    }

    /// A decision that changes nothing but the version.
    pub(super) fn commit(&self) -> Commit {
        Commit::new(Some(self.agent.document.version), self.agent.clone())
    }

    /// A decision that adds new memories to those that are there, with a record for each.
    pub(super) fn saving(&self, memories: Vec<MemoryRow>) -> Commit {
        let records = memories.iter().map(|memory| AuditRow {
            memory: Some(memory.number),
            ..record(Action::MemorySaved)
        });
        let mut commit = self.recording(records.collect());
        commit.memories = memories;
        commit
    }

    /// A decision that writes records only, in their places.
    pub(super) fn recording(&self, records: Vec<AuditRow>) -> Commit {
        let mut commit = self.commit();
        for record in records {
            let seq = commit.agent.columns.next_seq;
            let hash = hash(self.id(), seq);
            commit.records.push(AuditRow {
                seq,
                hash,
                previous_hash: (seq > 1).then_some(commit.agent.columns.head),
                ..record
            });
            commit.agent.columns.next_seq += 1;
            commit.agent.columns.head = hash;
        }
        commit
    }

    /// A decision that writes sessions only.
    pub(super) fn refining(&self, sessions: Vec<SessionRow>) -> Commit {
        let commit = self.commit();
        Commit { sessions, ..commit }
    }

    /// Writes it, and goes on from there.
    pub(super) async fn write(&mut self, commit: Commit) -> Result<()> {
        let mut agent = commit.agent.clone();
        agent.document.version = commit.expected_version.unwrap_or(0) + 1;
        self.store.commit(commit).await?;
        self.agent = agent;
        Ok(())
    }

    /// Writes a decision that is [`Author::commit`] with something else in it.
    pub(super) async fn change(&mut self, change: impl FnOnce(&mut Commit)) {
        let mut commit = self.commit();
        change(&mut commit);
        self.write(commit).await.unwrap();
    }

    pub(super) async fn save(&mut self, memories: Vec<MemoryRow>) {
        self.write(self.saving(memories)).await.unwrap();
    }

    pub(super) async fn log(&mut self, records: Vec<AuditRow>) {
        self.write(self.recording(records)).await.unwrap();
    }

    pub(super) async fn refine(&mut self, sessions: Vec<SessionRow>) {
        self.write(self.refining(sessions)).await.unwrap();
    }

    /// Erases the agent at second 9, with a record of it.
    pub(super) async fn erase(&mut self) {
        let mut commit = self.recording(vec![record(Action::AgentErased)]);
        commit.agent.columns.erased_at = Some(at(9));
        self.write(commit).await.unwrap();
    }

    /// The agent with what is wanted.
    pub(super) async fn look(&self, wanted: AgentQuery) -> Snapshot {
        let found = self.store.snapshot(self.scope(), &wanted).await.unwrap();
        Snapshot {
            // It says something of the store, and nothing of the agent.
            counts_mark: None,
            ..found.expect("the agent is there")
        }
    }

    /// The agent as it is stored.
    pub(super) async fn stored(&self) -> AgentRow {
        self.look(AgentQuery::default()).await.agent
    }

    /// The agent's version as it is stored.
    pub(super) async fn version(&self) -> u64 {
        self.stored().await.document.version
    }

    /// Its newest sessions.
    pub(super) async fn sessions(&self) -> Vec<SessionRow> {
        let sessions = self.store.session_page(self.scope(), None, 1_000);
        sessions.await.unwrap()
    }

    pub(super) async fn records(&self) -> Vec<AuditRow> {
        let all = RecordFilter::default();
        self.store.records(self.scope(), &all).await.unwrap()
    }

    pub(super) async fn memories(&self, selection: Selection) -> Vec<MemoryRow> {
        let wanted = AgentQuery::of_memories(selection);
        self.look(wanted).await.memories
    }

    /// Numbers of the memories selected, in the order in which they came.
    pub(super) async fn numbers(&self, selection: Selection) -> Vec<u64> {
        let memories = self.memories(selection).await;
        memories.iter().map(|memory| memory.number.0).collect()
    }

    /// Everything that the store has of the agent.
    pub(super) async fn everything(&self) -> (Snapshot, Vec<SessionRow>, Vec<AuditRow>) {
        let found = self.look(AgentQuery::of_memories(Selection::All)).await;
        (found, self.sessions().await, self.records().await)
    }
}

/// Checks that a row of that table was refused as one that no version of Memoir writes.
#[track_caller]
pub(super) fn assert_inconsistent<T: Debug>(answer: &Result<T>, of: &str) {
    let is_so = matches!(answer, Err(Error::Inconsistent { table, .. }) if *table == of);
    assert!(is_so, "{answer:?}");
}

/// Checks that something else was written meanwhile.
#[track_caller]
pub(super) fn assert_conflict<T: Debug>(answer: &Result<T>) {
    assert!(matches!(answer, Err(Error::Conflict)), "{answer:?}");
}

/// The outcomes of tasks that run at the same time, in the order in which they were begun.
pub(super) async fn at_once<T: Send + 'static>(
    tasks: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
    let mut outcomes = Vec::with_capacity(tasks.len());
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

/// The store finds nothing wrong with itself.
pub(super) async fn assert_sound(store: &Arc<dyn Store>) {
    assert_eq!(store.check().await.unwrap(), []);
}

/// Numbers that look random and are the same every time (SplitMix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// From 0 up to, without, `sides`.
    pub(super) fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }

    pub(super) fn one_in(&mut self, sides: u64) -> bool {
        self.throw(sides) == 0
    }
}
