//! Who may come in: tokens of administrators and agents, and administrators with names and passwords
//! (SPEC 5.5).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use memoir_domain::{
    AccountId, AgentId, AgentScope, Timestamp, TokenId, UserId, agent,
    audit::{Action, Actor, ActorKind},
    manage,
};
use memoir_store::{RecordFilter, StoredText, TokenRow, UserRow, Wanted};
use memoir_vault::{
    AgentKey,
    password::Password,
    seal::{Nonce, Place, Row},
    token::{self, TokenSecret},
};
use serde::Serialize;

use crate::{Account, AgentHandle, Error, Loaded, Memoir, Result, codec::Beside};

/// Whoever holds a token that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Principal {
    /// The tenant.
    pub account: AccountId,
    /// The agent; `None` for an administrator of the account.
    pub agent: Option<AgentId>,
    /// By which token.
    pub token: TokenId,
}

/// In what role a token lets somebody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Administrator of an account: sees no content.
    Admin,
    /// One agent: sees its own content.
    Agent,
}

/// A token as it is shown: never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct TokenView {
    pub id: TokenId,
    pub role: Role,
    pub agent_id: Option<AgentId>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl From<TokenRow> for TokenView {
    fn from(row: TokenRow) -> Self {
        Self {
            id: row.id,
            role: role(row.agent),
            agent_id: row.agent,
            created_at: row.created_at,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            revoked_at: row.revoked_at,
        }
    }
}

fn role(agent: Option<AgentId>) -> Role {
    agent.map_or(Role::Admin, |_| Role::Agent)
}

/// A token that was just made, with its secret: the only time that it is shown.
#[derive(Debug)]
pub struct NewToken {
    /// What is kept of it.
    pub view: TokenView,
    /// What opens the door.
    pub secret: TokenSecret,
}

/// An administrator who signed in with a browser.
pub struct SignedIn {
    /// The account.
    pub account: Account,
    /// Who it is.
    pub user: UserView,
    /// What the browser's secret is known by.
    pub token: TokenId,
    /// From then on the secret opens nothing.
    pub ends_at: Option<Timestamp>,
    /// What the forms that are shown to this browser hold.
    pub form_token: String,
}

impl SignedIn {
    /// The administrator as an actor.
    pub fn actor(&self) -> Actor {
        Actor::administrator(format!("user {}", self.user.name))
    }

    /// Makes the browser's secret open nothing any more.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_out(&self) -> Result<()> {
        let actor = self.actor();
        self.account.revoke_token(self.token, &actor).await?;
        Ok(())
    }

    /// As [`SignedIn::sign_out`], for everything that this administrator ever signed in for: other browsers,
    /// and tokens too. How many that were.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_out_everywhere(&self) -> Result<usize> {
        let memoir = &self.account.memoir;
        let now = memoir.now();
        let rows = memoir.store.tokens(self.account.id).await?;
        let is_open = |row: &TokenRow| {
            row.user == Some(self.user.id)
                && row.revoked_at.is_none()
                && row.expires_at.is_none_or(|at| at > now)
        };
        let open: Vec<TokenRow> = rows.into_iter().filter(is_open).collect();
        let actor = self.actor();
        for row in &open {
            self.account.revoke_token(row.id, &actor).await?;
        }
        Ok(open.len())
    }
}

/// A user as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct UserView {
    pub id: UserId,
    pub name: String,
    pub created_at: Timestamp,
}

/// Whether an agent may be given a token without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provision {
    /// Only while it has no memories: by an administrator.
    First,
    /// At any time: by the agent itself, or by the owner of the machine.
    Any,
}

/// When tokens were last used, until it is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Uses(Arc<Mutex<HashMap<TokenId, Timestamp>>>);

impl Memoir {
    /// Whoever presents the secret of a token that is neither expired nor revoked; `None` for anybody
    /// else. Its use is noted, and written with the next [`Memoir::write_uses`].
    ///
    /// # Errors
    /// The store fails.
    pub async fn authenticate(&self, presented: &str) -> Result<Option<Principal>> {
        Ok(self.enter(presented).await?.map(|(principal, _)| principal))
    }

    /// As [`Memoir::authenticate`], with the agent where it is one: whoever comes in needs no further look
    /// to reach itself.
    ///
    /// # Errors
    /// The store fails.
    pub async fn enter(&self, presented: &str) -> Result<Option<(Principal, Option<AgentHandle>)>> {
        match token::digest_of(presented) {
            Some(digest) => self.enter_again(&digest).await,
            None => Ok(None),
        }
    }

    /// As [`Memoir::enter`], by the digest of the token's secret: for whoever came in a while ago.
    ///
    /// # Errors
    /// The store fails.
    pub async fn enter_again(
        &self,
        digest: &[u8; 32],
    ) -> Result<Option<(Principal, Option<AgentHandle>)>> {
        let Some((row, name)) = self.store.bearer(digest).await? else {
            return Ok(None);
        };
        let now = self.now();
        let is_over = row.revoked_at.is_some() || row.expires_at.is_some_and(|at| at <= now);
        if is_over {
            return Ok(None);
        }
        let Some(key) = self.key_behind(&row).await? else {
            return Ok(None);
        };
        let mut uses = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
        uses.insert(row.id, now);
        let principal = Principal {
            account: row.account,
            agent: row.agent,
            token: row.id,
        };
        let account = row.account;
        let agent = row.agent.zip(name).map(|(agent, name)| AgentHandle {
            memoir: self.clone(),
            scope: AgentScope { account, agent },
            name,
            key: Some(key),
        });
        Ok(Some((principal, agent)))
    }

    /// Writes when tokens were last used.
    ///
    /// # Errors
    /// The store fails; the uses are kept for the next time.
    pub async fn write_uses(&self) -> Result<()> {
        let uses: Vec<(TokenId, Timestamp)> = {
            let mut uses = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
            uses.drain().collect()
        };
        if uses.is_empty() {
            return Ok(());
        }
        let written = self.store.note_uses(&uses).await;
        if written.is_err() {
            let mut kept = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
            for (token, at) in uses {
                kept.entry(token).or_insert(at);
            }
        }
        Ok(written?)
    }

    /// The account that a token lets into, named by its identifier.
    pub fn account_of(&self, principal: &Principal) -> Account {
        Account {
            memoir: self.clone(),
            id: principal.account,
            name: principal.account.to_string(),
        }
    }

    /// A token for the administrator of that name and password, of the account named or else the default
    /// one; `None` where there is no such account, name or password, and that takes as long.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_in(
        &self,
        account: Option<&str>,
        name: &str,
        password: Password,
        expires_at: Timestamp,
    ) -> Result<Option<NewToken>> {
        let found = self.find_user(account, name, password).await?;
        let Some((account, user)) = found else {
            return Ok(None);
        };
        let made = account.write_token(Some(user.id), Some(expires_at), TokenSecret::generate()?);
        made.await.map(Some)
    }

    /// Whether text on this machine is for agents alone: once there is an administrator with a name.
    ///
    /// # Errors
    /// The store fails.
    pub async fn has_users(&self) -> Result<bool> {
        Ok(self.store.has_users().await?)
    }

    /// As [`Memoir::sign_in`], for the cookie of a browser: the secret is no token, and only
    /// [`Memoir::enter_with_browser`] takes it.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_in_with_browser(
        &self,
        account: Option<&str>,
        name: &str,
        password: Password,
        expires_at: Timestamp,
    ) -> Result<Option<NewToken>> {
        let found = self.find_user(account, name, password).await?;
        let Some((account, user)) = found else {
            return Ok(None);
        };
        let secret = TokenSecret::generate_for_browser()?;
        let made = account.write_token(Some(user.id), Some(expires_at), secret);
        made.await.map(Some)
    }

    /// The administrator whose browser presents that secret; `None` where it is not known, is over, or was
    /// not used for longer than `idle_seconds`. Its use is noted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn enter_with_browser(
        &self,
        presented: &str,
        idle_seconds: i64,
    ) -> Result<Option<SignedIn>> {
        let Some(digest) = token::browser_digest_of(presented) else {
            return Ok(None);
        };
        let Some((row, _)) = self.store.bearer(&digest).await? else {
            return Ok(None);
        };
        let now = self.now();
        let idle_since = self.last_use(&row).plus_seconds(idle_seconds);
        let is_over = row.revoked_at.is_some() || row.expires_at.is_some_and(|at| at <= now);
        if is_over || idle_since <= now || self.key_behind(&row).await?.is_none() {
            return Ok(None);
        }
        let Some(user) = self.user_behind(&row).await? else {
            return Ok(None);
        };
        let mut uses = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
        uses.insert(row.id, now);
        Ok(Some(SignedIn {
            account: Account {
                memoir: self.clone(),
                id: row.account,
                name: row.account.to_string(),
            },
            user: user_view(user),
            token: row.id,
            ends_at: row.expires_at,
            form_token: token::form_token(presented),
        }))
    }

    /// When the token was last used; when it was made, where it never was.
    fn last_use(&self, row: &TokenRow) -> Timestamp {
        let uses = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = uses.get(&row.id).copied();
        noted
            .max(row.last_used_at)
            .map_or(row.created_at, |used| used.max(row.created_at))
    }

    /// The administrator who signed in for a token.
    async fn user_behind(&self, row: &TokenRow) -> Result<Option<UserRow>> {
        let Some(id) = row.user else {
            return Ok(None);
        };
        let user = self.store.user(row.account, id).await?;
        let key = self.account_key(row.account).await?;
        Ok(user.filter(|user| is_believed(&key, user)))
    }

    /// The administrator of that name and password, and the account named or else the default one; `None`
    /// where there is no such account, name or password, and that takes as long.
    async fn find_user(
        &self,
        account: Option<&str>,
        name: &str,
        password: Password,
    ) -> Result<Option<(Account, UserRow)>> {
        let account = account.unwrap_or(crate::DEFAULT_ACCOUNT);
        let account = match self.account(account).await {
            Ok(account) => account,
            Err(Error::NoAccount(_)) => {
                let fits = tokio::task::spawn_blocking(move || password.fits(None));
                fits.await.map_err(|_| Error::Random)?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let user = account.find_user(name, password).await?;
        Ok(user.map(|user| (account, user)))
    }

    /// The key that the token's row is sealed with; `None` for a row that Memoir did not write: whoever can
    /// write to the database could put one there otherwise, or bring one back to life.
    async fn key_behind(&self, row: &TokenRow) -> Result<Option<AgentKey>> {
        let key = match row.agent {
            None => Some(self.account_key(row.account).await?),
            Some(agent) => {
                let account = row.account;
                self.keys.of(AgentScope { account, agent }).await?
            }
        };
        let Some(key) = key else {
            // Of an agent that was erased.
            return Ok(None);
        };
        match key.open(&token_place(row), &token_columns(row), &row.seal.0) {
            Ok(_) => Ok(Some(key)),
            Err(error) => {
                tracing::error!(token = %row.id, %error, "a token is not believed");
                Ok(None)
            }
        }
    }

    /// Seals what a row's open columns say.
    fn seal_columns(&self, key: &AgentKey, place: Place, columns: &[u8]) -> Result<StoredText> {
        let mut nonce = [0; 24];
        self.random.fill(&mut nonce)?;
        let nonce = Nonce::from_random(nonce);
        Ok(StoredText(key.seal(&place, columns, &[], nonce)))
    }

    fn seal_token(&self, key: &AgentKey, row: &TokenRow) -> Result<StoredText> {
        self.seal_columns(key, token_place(row), &token_columns(row))
    }

    fn token_row(
        &self,
        scope: (AccountId, Option<AgentId>),
        expires_at: Option<Timestamp>,
        secret: &TokenSecret,
    ) -> Result<TokenRow> {
        let now = self.now();
        if expires_at.is_some_and(|at| at <= now) {
            return Err(memoir_domain::memory::Invalid::new(
                "expires_at",
                "is in the past; give a later time, or none",
            )
            .into());
        }
        Ok(TokenRow {
            id: self.ids().token()?,
            account: scope.0,
            agent: scope.1,
            user: None,
            digest: secret.digest(),
            created_at: now,
            expires_at,
            last_used_at: None,
            revoked_at: None,
            seal: StoredText::default(),
        })
    }
}

impl Account {
    /// Makes a token for an administrator of the account.
    ///
    /// # Errors
    /// `expires_at` is in the past; the store fails.
    pub async fn create_token(&self, expires_at: Option<Timestamp>) -> Result<NewToken> {
        self.write_token(None, expires_at, TokenSecret::generate()?)
            .await
    }

    /// Writes a token of the account, for whoever signed in for it.
    async fn write_token(
        &self,
        user: Option<UserId>,
        expires_at: Option<Timestamp>,
        secret: TokenSecret,
    ) -> Result<NewToken> {
        let row = self
            .memoir
            .token_row((self.id, None), expires_at, &secret)?;
        let mut row = TokenRow { user, ..row };
        let key = self.memoir.account_key(self.id).await?;
        row.seal = self.memoir.seal_token(&key, &row)?;
        self.memoir.store.put_token(&row).await?;
        let view = row.into();
        Ok(NewToken { view, secret })
    }

    /// The account's tokens, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tokens(&self) -> Result<Vec<TokenView>> {
        let rows = self.memoir.store.tokens(self.id).await?;
        Ok(rows.into_iter().map(TokenView::from).collect())
    }

    /// Revokes a token: from now on it opens nothing. Repeating it is no error.
    ///
    /// # Errors
    /// The account has none of that identifier; the store fails.
    pub async fn revoke_token(&self, id: TokenId, actor: &Actor) -> Result<TokenView> {
        let rows = self.memoir.store.tokens(self.id).await?;
        let row = rows.into_iter().find(|row| row.id == id);
        let row = row.ok_or_else(|| Error::NoToken(id.to_string()))?;
        if row.revoked_at.is_some() {
            return Ok(row.into());
        }
        let mut row = TokenRow {
            revoked_at: Some(self.memoir.now()),
            ..row
        };
        match row.agent {
            None => {
                let key = self.memoir.account_key(self.id).await?;
                row.seal = self.memoir.seal_token(&key, &row)?;
                self.memoir.store.put_token(&row).await?;
            }
            Some(agent) => {
                let scope = AgentScope {
                    account: self.id,
                    agent,
                };
                let agent = self.memoir.handle(scope);
                match agent.note_token(&row, None, actor).await {
                    // Of an agent that is gone, nothing but the token is left to be closed.
                    Err(Error::Erased { .. }) => self.memoir.store.put_token(&row).await?,
                    done => drop(done?),
                }
            }
        }
        Ok(row.into())
    }

    /// Makes an administrator of the account with a name and a password.
    ///
    /// # Errors
    /// The name is not allowed, or is taken; the store fails.
    pub async fn create_user(&self, name: &str, password: Password) -> Result<UserView> {
        let name = agent::parse_name(name)?;
        let hash = tokio::task::spawn_blocking(move || password.hash());
        let password_hash = hash.await.map_err(|_| Error::Random)??;
        let mut row = UserRow {
            id: self.memoir.ids().user()?,
            account: self.id,
            folded_name: agent::fold_name(&name),
            name,
            password_hash,
            created_at: self.memoir.now(),
            seal: StoredText::default(),
        };
        let key = self.memoir.account_key(self.id).await?;
        row.seal = self
            .memoir
            .seal_columns(&key, user_place(&row), &user_columns(&row))?;
        match self.memoir.store.create_user(&row).await {
            Err(memoir_store::Error::NameTaken) => Err(Error::NameTaken(row.name)),
            other => Ok(other.map(|()| user_view(row))?),
        }
    }

    /// Whether the account has a user of that name and password. Takes as long where there is no such
    /// user.
    ///
    /// # Errors
    /// The store fails.
    pub async fn check_password(&self, name: &str, password: Password) -> Result<bool> {
        Ok(self.find_user(name, password).await?.is_some())
    }

    /// The user of that name and password; `None` where there is none, which takes as long.
    async fn find_user(&self, name: &str, password: Password) -> Result<Option<UserRow>> {
        let folded = agent::fold_name(name.trim());
        let user = self.memoir.store.user_named(self.id, &folded).await?;
        let key = self.memoir.account_key(self.id).await?;
        let user = user.filter(|user| is_believed(&key, user));
        let hash = user.as_ref().map(|user| user.password_hash.clone());
        let fits = tokio::task::spawn_blocking(move || password.fits(hash.as_deref()));
        let fits = fits.await.map_err(|_| Error::Random)?;
        Ok(user.filter(|_| fits))
    }
}

/// Whether the user's row is as Memoir wrote it.
fn is_believed(key: &AgentKey, user: &UserRow) -> bool {
    let opened = key.open(&user_place(user), &user_columns(user), &user.seal.0);
    opened
        .inspect_err(|error| tracing::error!(%error, "a user is not believed"))
        .is_ok()
}

fn user_view(row: UserRow) -> UserView {
    UserView {
        id: row.id,
        name: row.name,
        created_at: row.created_at,
    }
}

impl AgentHandle {
    /// Makes a token for the agent; it is on the record of the agent. Where only the first one may be made
    /// and the agent has memories, it takes the agent's leave, which is used up: then the token ends no
    /// later than the agent allowed.
    ///
    /// # Errors
    /// [`Error::ConsentNeeded`] without that leave;
    /// `expires_at` is in the past; the store fails.
    pub async fn create_token(
        &self,
        provision: Provision,
        expires_at: Option<Timestamp>,
        actor: &Actor,
    ) -> Result<NewToken> {
        let scope = (self.scope.account, Some(self.scope.agent));
        let secret = TokenSecret::generate()?;
        let row = self.memoir.token_row(scope, expires_at, &secret)?;
        let row = self.note_token(&row, Some(provision), actor).await?;
        let view = row.into();
        Ok(NewToken { view, secret })
    }

    /// Whether the agent was ever given a memory, discarded since or not, other than the entries in which
    /// Memoir itself tells it what an administrator has set.
    async fn has_own_memories(&self, loaded: &Loaded) -> Result<bool> {
        /// More than an administrator sets before the agent is put to use.
        const MOST_TOLD: u64 = 100;
        let given = loaded.agent.next_number.0 - 1;
        if given == 0 || given > MOST_TOLD {
            return Ok(given > 0);
        }
        let saved = RecordFilter {
            action: Some(Action::MemorySaved),
            ..RecordFilter::default()
        };
        // Opened, so that nobody who can write to the database makes an agent's memories out to be others.
        let records = self.load_records(&saved).await?;
        let told = records
            .iter()
            .filter(|record| record.actor.kind == ActorKind::System)
            .count();
        Ok(told as u64 != given)
    }

    /// Writes a token of the agent with its record: a new one, where `new` says under which condition, or
    /// one that was revoked. Gives it as it was written.
    async fn note_token(
        &self,
        row: &TokenRow,
        new: Option<Provision>,
        actor: &Actor,
    ) -> Result<TokenRow> {
        for _ in 0..crate::ATTEMPTS {
            let loaded = self.load(&Wanted::default()).await?;
            let mut row = row.clone();
            let mut leave = None;
            if new == Some(Provision::First) && self.has_own_memories(&loaded).await? {
                let Some(found) = self.token_leave(&loaded, actor).await? else {
                    continue;
                };
                let given = found.ok_or_else(|| Error::ConsentNeeded(self.name.clone()))?;
                row.expires_at = earlier(row.expires_at, given.expires_at);
                leave = Some(given.decision);
            }
            let (now, created) = (self.memoir.now(), new.is_some());
            let agent = match &leave {
                Some(leave) => leave.agent.clone(),
                None => loaded.agent,
            };
            let mut decision = manage::token(agent, created, row.id, row.expires_at, actor, now);
            if let Some(leave) = leave {
                decision = leave.then(decision);
            }
            row.seal = self.memoir.seal_token(loaded.base.key(), &row)?;
            let beside = Beside {
                tokens: vec![row.clone()],
                ..Beside::default()
            };
            match self.commit(&loaded.base, decision, beside).await {
                Err(Error::Store(memoir_store::Error::Conflict)) => {}
                done => return done.map(|_| row),
            }
        }
        Err(Error::Contended)
    }
}

/// The one that ends first; one that never ends is later than any other.
fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

/// The version of a row whose columns say all that changes about it.
const ONLY_VERSION: u64 = 1;

fn token_place(row: &TokenRow) -> Place {
    Place {
        row: Row::Token(row.id),
        version: ONLY_VERSION,
    }
}

/// All columns but the last use, which is written without the key.
fn token_columns(row: &TokenRow) -> Vec<u8> {
    let time = |time: Option<Timestamp>| time.map_or([0; 9], time_bytes);
    [
        row.account.as_bytes().as_slice(),
        row.agent
            .as_ref()
            .map_or(&[0; 16], AgentId::as_bytes)
            .as_slice(),
        row.user
            .as_ref()
            .map_or(&[0; 16], UserId::as_bytes)
            .as_slice(),
        &row.digest,
        &time_bytes(row.created_at),
        &time(row.expires_at),
        &time(row.revoked_at),
    ]
    .concat()
}

fn user_place(row: &UserRow) -> Place {
    Place {
        row: Row::User(row.id),
        version: ONLY_VERSION,
    }
}

/// All columns; the one of no fixed length comes last.
fn user_columns(row: &UserRow) -> Vec<u8> {
    [
        row.account.as_bytes().as_slice(),
        &time_bytes(row.created_at),
        &(row.name.len() as u64).to_be_bytes(),
        row.name.as_bytes(),
        &(row.folded_name.len() as u64).to_be_bytes(),
        row.folded_name.as_bytes(),
        row.password_hash.as_bytes(),
    ]
    .concat()
}

/// A mark that there is a time, and its microseconds.
fn time_bytes(time: Timestamp) -> [u8; 9] {
    let mut bytes = [1; 9];
    bytes[1..].copy_from_slice(&time.microseconds().to_be_bytes());
    bytes
}
