//! The log of an account: its administrators, their second factors, their valid tokens and their sign-ins (SPEC 5.5).
//!
//! It is kept beside the logs of the account's agents, under the account's own identifier. The same code chains, seals,
//! signs and verifies it. Each change of an administrator or of an administrator's token is written together with its
//! record. The first such change begins it.
//!
//! The seal of a row that was restored from an earlier state is valid; the log holds the later changes. Each user's row
//! holds the place of its latest record, which verification and sign-in compare. Changes of a row by codes (wrong ones,
//! used ones) are not recorded, except for recovery codes.
//!
//! Failed sign-ins, and wrong passwords of a signed-in user, are counted in memory by user. They are recorded with the
//! next success, and separately at the tenth, the hundredth and so on, so that guessing cannot fill the log.

use std::collections::{BTreeMap, HashMap};

use memoir_domain::{
    AccountId, AgentScope, UserId,
    account::{self, Note},
    agent,
    audit::{Action, Actor, Facts},
};
use memoir_store::{AccountRow, AgentQuery, AuditRow, Commit, RecordFilter, TokenRow};
use memoir_vault::{Closing, KeyStore};
use parking_lot::Mutex;

use crate::{
    core::{
        Account, AgentHandle, CONFLICT, Error, Loaded, Memoir, Result,
        accounts::DEFAULT_ACCOUNT,
        again,
        codec::{self, Writing},
        replies,
    },
    log::verify::Mismatch,
    people::{
        access::UnwrittenToken,
        users::{self, User},
    },
    shown::{ShownRecord, Viewer},
};

#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<UserId, u64>>);

impl Failures {
    /// Adds one. Returns the count where it is to be recorded.
    fn add(&self, user: UserId) -> Option<u64> {
        const FIRST_REPORTED: u64 = 10;
        let mut all = self.0.lock();
        let count = all.entry(user).or_default();
        *count = count.saturating_add(1);
        // `ilog10` panics at 0; the count is at least 1 here.
        let is_round = FIRST_REPORTED.pow(count.ilog10()) == *count;
        Some(*count).filter(|count| is_round && *count >= FIRST_REPORTED)
    }
}

impl Account {
    /// The account's own log, as that of an agent that cannot exist.
    fn log(&self) -> AgentHandle {
        AgentHandle {
            name: format!("account {}", self.name),
            ..self.memoir.handle(AgentScope::of_account(self.id))
        }
    }

    /// The records of the account's own log, oldest first. They hold no agent's text; the names in them are those of
    /// accounts and administrators.
    ///
    /// # Errors
    /// The store or the key store fails.
    pub async fn own_records(&self, query: &RecordFilter) -> Result<Vec<ShownRecord>> {
        let log = self.log();
        match log.views().seen_by(Viewer::Agent).records(query).await {
            // The first change begins it.
            Err(Error::NoAgent(_)) => Ok(Vec::new()),
            records => records,
        }
    }

    /// The end of the log, to be continued. It is begun where there is none.
    async fn load_log(&self) -> Result<Loaded> {
        let log = self.log();
        match log.load(&AgentQuery::default()).await {
            Err(Error::NoAgent(_)) => {
                self.begin_log(&Actor::system()).await?;
                log.load(&AgentQuery::default()).await
            }
            loaded => loaded,
        }
    }

    pub(crate) async fn begin_log(&self, actor: &Actor) -> Result<()> {
        let own = self.memoir.account_row(self.id).await?;
        let own = own.ok_or_else(|| Error::NoAccount(self.id.to_string()))?;
        let id = AgentScope::of_account(self.id).agent;
        let decision = account::begin(id, &own.name, actor, self.memoir.now());
        let begun = replies::for_no_request(self.make(decision));
        match begun.await {
            // Another process has begun the log in the meantime, and either beginning is valid.
            Err(Error::NameTaken(_) | Error::Store(memoir_store::Error::Conflict)) => Ok(()),
            made => made,
        }
    }

    pub(crate) async fn record(&self, note: &Note<'_>, tokens: &[TokenRow]) -> Result<()> {
        again(|| async {
            let loaded = self.load_log().await?;
            let decision = account::notify(loaded.agent, note, self.memoir.now());
            let writing = Writing {
                tokens: tokens.to_vec(),
                ..decision.into()
            };
            self.log().commit(&loaded.base, writing).await.map(drop)
        })
        .await
    }

    /// The commit that records an event of a user and a sign-in that begins with it, to be written with the user's row,
    /// and the place of the event's record.
    pub(crate) async fn with_record(
        &self,
        note: &Note<'_>,
        sign_in: Option<&UnwrittenToken<'_>>,
    ) -> Result<(Commit, u64)> {
        let memoir = &self.memoir;
        let loaded = self.load_log().await?;
        let (seq, now) = (loaded.agent.next_seq, memoir.now());
        let mut writing = Writing::from(account::notify(loaded.agent, note, now));
        if let Some(new) = sign_in {
            let next = account::notify(writing.decision.agent.clone(), &new.note, now);
            writing.decision = writing.decision.then(next);
            writing.tokens.push(new.row.clone());
        }
        let (commit, _) = memoir.sealed_commit(&loaded.base, writing)?;
        Ok((commit, seq))
    }

    /// Counts a failed attempt to sign in, and records many. The attempt is refused whether or not they are recorded.
    pub(crate) async fn note_failure(&self, user: UserId) {
        let Some(count) = self.memoir.state::<Failures>().add(user) else {
            return;
        };
        let system = Actor::system();
        let note = Note {
            facts: Facts::default().user(user).count("failures", count),
            ..Note::new(Action::SignInFailed, &system)
        };
        if let Err(error) = self.record(&note, &[]).await {
            tracing::error!(%user, %error, "failed sign-ins are not recorded");
        }
    }

    pub(crate) fn take_failures(&self, user: UserId) -> u64 {
        let mut all = self.memoir.state::<Failures>().0.lock();
        all.remove(&user).unwrap_or_default()
    }

    /// Whether the log holds a change of the user later than the user's row: then the row was restored from an earlier
    /// state.
    pub(crate) async fn is_put_back(&self, user: &User) -> Result<bool> {
        let actions = Action::ALL.into_iter();
        let filter = RecordFilter {
            actions: actions.filter(|action| action.changes_user()).collect(),
            ..RecordFilter::from_record(user.open.seq + 1)
        };
        let scope = AgentScope::of_account(self.id);
        let rows = self.memoir.store.records(scope, &filter).await?;
        let id = user.id.to_string();
        let is_put_back = rows
            .iter()
            .any(|row| fact(row, "user").as_deref() == Some(&id));
        if is_put_back {
            tracing::error!(user = %user.id, "a user is rejected: its row was put back");
        }
        Ok(is_put_back)
    }

    /// Closes or opens the installation, with a record: whether only the agents read their text on this machine.
    ///
    /// # Errors
    /// The store or the key store fails.
    pub async fn set_closed(&self, is_closed: bool, actor: &Actor) -> Result<()> {
        let action = match is_closed {
            true => Action::InstallationClosed,
            false => Action::InstallationOpened,
        };
        let note = Note::new(action, actor);
        let closing = Closing {
            is_closed,
            changed_at: self.memoir.now(),
        };
        let set = move |keys: &KeyStore| keys.set_closing(closing);
        // Both orders leave it closed if only one step is done, and `Memoir::finish` adds the record. Nothing is opened
        // without a record.
        if is_closed {
            self.memoir.keys.ask(set).await?;
            return self.record(&note, &[]).await;
        }
        self.record(&note, &[]).await?;
        self.memoir.keys.ask(set).await
    }
}

impl Memoir {
    /// Whether the logs of the accounts show that there ever was an administrator with a name.
    pub(crate) async fn logs_tell_of_users(&self) -> Result<bool> {
        let filter = RecordFilter {
            first: Some(1),
            ..RecordFilter::of_actions([Action::UserCreated])
        };
        for account in self.store.accounts().await? {
            let scope = AgentScope::of_account(account.id);
            if !self.store.records(scope, &filter).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the records and the key store consistent, after a process died between the two steps of closing or
    /// opening. The key store decides: the contents of the database open nothing.
    pub(crate) async fn finish_closing(&self) -> Result<()> {
        /// Who closes or opens it now has done either by then.
        const SECONDS_BETWEEN: i64 = 60;
        let closing = match self.keys.ask(KeyStore::closing).await? {
            None => return self.close_where_unsaid().await,
            Some(closing) if !closing.is_closed => return Ok(()),
            Some(closing) => closing,
        };
        let filter = RecordFilter {
            last: Some(1),
            ..RecordFilter::of_actions([Action::InstallationClosed, Action::InstallationOpened])
        };
        let mut last: Option<AuditRow> = None;
        for account in self.store.accounts().await? {
            let scope = AgentScope::of_account(account.id);
            let rows = self.store.records(scope, &filter).await?;
            last = last
                .into_iter()
                // Administrators of any account can close and open the installation, so the newest record of all
                // accounts decides.
                .chain(rows)
                .max_by_key(|row| row.recorded_at);
        }
        let is_recorded = last
            .as_ref()
            .is_some_and(|row| row.action == Action::InstallationClosed);
        let recorded_at = last.map_or(closing.changed_at, |row| row.recorded_at);
        // The later time counts: opening is recorded before the key store is changed (`set_closed`), so a process that
        // opens the installation may be between the two steps now.
        let resolved_at = closing
            .changed_at
            .max(recorded_at)
            .plus_seconds(SECONDS_BETWEEN);
        if is_recorded || self.now() < resolved_at {
            return Ok(());
        }
        let account = self.account(DEFAULT_ACCOUNT).await?;
        let system = Actor::system();
        let note = Note::new(Action::InstallationClosed, &system);
        account.record(&note, &[]).await
    }

    /// Marks the installation as closed, where it ever had an administrator and is not marked yet.
    pub(crate) async fn close_where_unsaid(&self) -> Result<()> {
        if self.keys.ask(KeyStore::closing).await?.is_some() || !self.ever_had_users().await? {
            return Ok(());
        }
        let account = self.account(DEFAULT_ACCOUNT).await?;
        account.set_closed(true, &Actor::system()).await
    }

    /// The account's row, which never changes; `None` where there is none.
    pub(crate) async fn account_row(&self, id: AccountId) -> Result<Option<AccountRow>> {
        let accounts = self.store.accounts().await?;
        Ok(accounts.into_iter().find(|row| row.id == id))
    }

    /// The mismatches between the account's row, users and administrators' tokens and the account's log. The log itself
    /// is not verified. `row` is `None` where the account has none.
    pub(crate) async fn account_mismatches(
        &self,
        scope: AgentScope,
        row: Option<&AccountRow>,
    ) -> Result<Vec<Mismatch>> {
        let account = self.account_at(scope.account);
        let version = || async {
            let found = self.store.snapshot(scope, &AgentQuery::default()).await?;
            Ok::<_, Error>(found.map(|found| found.agent.document.version))
        };
        // The rows are read one after the other, and a change in between would look like a mismatch. The version shows
        // whether there was one.
        again(|| async {
            let before = version().await?;
            let mismatches = account.held_against_log(row).await?;
            match version().await? == before {
                true => Ok(mismatches),
                false => Err(CONFLICT),
            }
        })
        .await
    }
}

/// The state of one user or token according to the log.
#[derive(Default)]
struct LoggedState {
    seq: u64,
    /// The version of the row with that record.
    version: u64,
    is_over: bool,
    /// A record with a version not later than the one before.
    turned_back: Option<u64>,
}

impl Account {
    async fn held_against_log(&self, own: Option<&AccountRow>) -> Result<Vec<Mismatch>> {
        let scope = AgentScope::of_account(self.id);
        let filter = RecordFilter::default();
        let _room = self.log().room_for_records(&filter).await?;
        let rows = self.memoir.store.records(scope, &filter).await?;
        let mut mismatches = Vec::new();
        self.check_name(own, rows.first(), &mut mismatches).await?;
        self.check_users(&rows, &mut mismatches).await?;
        self.check_tokens(&rows, &mut mismatches).await?;
        Ok(mismatches)
    }

    /// Compares the account's name with its first record, since two accounts' names could be exchanged, and the folded
    /// name by which it is found: a wrong one would hide the account, or replace another.
    async fn check_name(
        &self,
        own: Option<&AccountRow>,
        first: Option<&AuditRow>,
        mismatches: &mut Vec<Mismatch>,
    ) -> Result<()> {
        let scope = AgentScope::of_account(self.id);
        if own.is_some_and(|own| own.folded_name != agent::fold_name(&own.name)) {
            let problem = "table `accounts`: it is found by another name than its own";
            mismatches.push(Mismatch::new(None, problem));
        }
        let (Some(first), Some(key)) = (first, self.memoir.keys.of(scope).await?) else {
            return Ok(());
        };
        // Verifying the log itself reports one that cannot be opened.
        let Ok(record) = codec::record(Some(&key), first.clone()) else {
            return Ok(());
        };
        let reason = record.body.reason.as_ref();
        let is_as_recorded =
            own.is_some_and(|own| reason.is_some_and(|reason| reason.expose() == own.name));
        if !is_as_recorded {
            let problem = "table `accounts`: the name is not as recorded";
            mismatches.push(Mismatch::new(first.seq, problem));
        }
        Ok(())
    }

    async fn check_users(&self, rows: &[AuditRow], mismatches: &mut Vec<Mismatch>) -> Result<()> {
        let mut logged: BTreeMap<String, LoggedState> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.action.changes_user()) {
            let facts = codec::facts(row)?;
            let (Some(id), Some(version)) = (fact(row, "user"), facts.count_of("version")) else {
                continue;
            };
            let state = logged.entry(id).or_default();
            if version <= state.version {
                state.turned_back.get_or_insert(row.seq);
            }
            (state.seq, state.version) = (row.seq, version);
        }
        let key = self.memoir.account_key(self.id).await?;
        let store = &self.memoir.store;
        let mut problem = |seq: Option<u64>, id: &str, what: &str| {
            mismatches.push(Mismatch::new(
                seq,
                format!("table `users`, user {id}: {what}"),
            ));
        };
        for (id, state) in &logged {
            if let Some(seq) = state.turned_back {
                let what = "this was decided on a row that had been put back";
                problem(Some(seq), id, what);
            }
            let row = match id.parse::<UserId>() {
                Ok(id) => store.user(self.id, id).await?,
                Err(_) => None,
            };
            let found = row.map(|row| users::open(&key, &row));
            match found {
                None => problem(Some(state.seq), id, "is missing"),
                Some(Err(error)) => problem(Some(state.seq), id, &error.to_string()),
                Some(Ok(user)) if user.open.seq != state.seq => {
                    let what = "does not match its latest record: the row was put back";
                    problem(Some(state.seq), id, what);
                }
                Some(Ok(_)) => {}
            }
        }
        for row in store.users(self.id).await? {
            let id = row.id.to_string();
            // One from before there was a log has no place in it.
            let is_placed = users::open(&key, &row).is_ok_and(|user| user.open.seq > 0);
            if is_placed && !logged.contains_key(&id) {
                problem(None, &id, "is in no record: the log was cut off");
            }
        }
        Ok(())
    }

    async fn check_tokens(&self, rows: &[AuditRow], mismatches: &mut Vec<Mismatch>) -> Result<()> {
        let mut logged: BTreeMap<String, LoggedState> = BTreeMap::new();
        for row in rows {
            let is_over = match row.action {
                Action::TokenCreated | Action::SignedIn => false,
                Action::TokenRevoked => true,
                _ => continue,
            };
            if let Some(id) = fact(row, "token") {
                let state = logged.entry(id).or_default();
                state.seq = row.seq;
                // A revoked token never becomes valid again.
                state.is_over |= is_over;
            }
        }
        for token in self.memoir.store.tokens(self.id).await? {
            let found = logged.remove(&token.id.to_string());
            let found = found.filter(|state| {
                token.agent.is_none() && state.is_over != token.columns.revoked_at.is_some()
            });
            if let Some(state) = found {
                let what = "whether it is revoked is not as recorded: the row was put back";
                let problem = format!("table `tokens`, token {}: {what}", token.id);
                mismatches.push(Mismatch::new(state.seq, problem));
            }
        }
        for (id, state) in logged {
            let problem = format!("table `tokens`, token {id}: is missing");
            mismatches.push(Mismatch::new(state.seq, problem));
        }
        Ok(())
    }
}

/// A fact that is a text; `None` where there is none of that name.
fn fact(row: &AuditRow, name: &str) -> Option<String> {
    let facts = codec::facts(row).ok()?;
    facts.code_of(name).map(str::to_owned)
}
