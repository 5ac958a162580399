//! Who may come in: tokens of administrators and agents, and browsers that an administrator signed in with
//! (SPEC 5.5).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use memoir_domain::{
    AccountId, AgentId, AgentScope, Timestamp, TokenId,
    audit::{Action, Actor, ActorKind},
    manage,
};
use memoir_store::{RecordFilter, SignInRow, StoredText, TokenRow, Wanted};
use memoir_vault::{
    AgentKey,
    seal::{Nonce, Place, Row},
    token::{self, TokenSecret},
};
use serde::Serialize;

use crate::{Account, AgentHandle, Error, Loaded, Memoir, Result, UserView, codec::Beside};

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
    /// Of which generation of the user's sign-ins this one is.
    pub(crate) generation: u64,
    /// Of the browser's secret.
    digest: [u8; 32],
    /// How long the secret counts without being used.
    pub(crate) idle_seconds: i64,
}

impl SignedIn {
    /// The administrator as an actor.
    pub fn actor(&self) -> Actor {
        self.user.actor()
    }

    /// Whether the browser's secret still counts: for whoever came in a while ago and has not left. No use
    /// of it.
    ///
    /// # Errors
    /// The store fails.
    pub async fn is_still_let_in(&self) -> Result<bool> {
        let memoir = &self.account.memoir;
        let row = memoir.browser_row(&self.digest, self.idle_seconds).await?;
        Ok(match row {
            Some(row) => row.id == self.token && memoir.user_behind(&row).await?.is_some(),
            None => false,
        })
    }
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
        if row.sign_in.is_some() && self.user_behind(&row).await?.is_none() {
            return Ok(None);
        }
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
        let entered = self.recognize_browser(presented, idle_seconds).await?;
        if let Some(signed_in) = &entered {
            let mut uses = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
            uses.insert(signed_in.token, self.now());
        }
        Ok(entered)
    }

    /// As [`Memoir::enter_with_browser`], where nobody looks: for what an open page asks by itself. No use of
    /// the secret.
    ///
    /// # Errors
    /// The store fails.
    pub async fn recognize_browser(
        &self,
        presented: &str,
        idle_seconds: i64,
    ) -> Result<Option<SignedIn>> {
        let Some(digest) = token::browser_digest_of(presented) else {
            return Ok(None);
        };
        let Some(row) = self.browser_row(&digest, idle_seconds).await? else {
            return Ok(None);
        };
        let Some(user) = self.user_behind(&row).await? else {
            return Ok(None);
        };
        Ok(Some(SignedIn {
            account: Account {
                memoir: self.clone(),
                id: row.account,
                name: row.account.to_string(),
            },
            user: user.view(),
            generation: user.row.generation,
            token: row.id,
            ends_at: row.expires_at,
            form_token: token::form_token(presented),
            digest,
            idle_seconds,
        }))
    }

    /// What is kept of a browser's secret that counts now.
    async fn browser_row(&self, digest: &[u8; 32], idle_seconds: i64) -> Result<Option<TokenRow>> {
        let Some((row, _)) = self.store.bearer(digest).await? else {
            return Ok(None);
        };
        let now = self.now();
        let idle_since = self.last_use(&row).plus_seconds(idle_seconds);
        let is_over = row.revoked_at.is_some() || row.expires_at.is_some_and(|at| at <= now);
        if is_over || idle_since <= now || self.key_behind(&row).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(row))
    }

    /// When the token was last used; when it was made, where it never was.
    pub(crate) fn last_use(&self, row: &TokenRow) -> Timestamp {
        let uses = self.uses.0.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = uses.get(&row.id).copied();
        noted
            .max(row.last_used_at)
            .map_or(row.created_at, |used| used.max(row.created_at))
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

    /// Revokes a token, if nobody did before.
    pub(crate) async fn revoke(&self, row: TokenRow, actor: &Actor) -> Result<TokenView> {
        if row.revoked_at.is_some() {
            return Ok(row.into());
        }
        let account = row.account;
        let mut row = TokenRow {
            revoked_at: Some(self.now()),
            ..row
        };
        match row.agent {
            None => {
                let key = self.account_key(account).await?;
                row.seal = self.seal_token(&key, &row)?;
                self.store.put_token(&row).await?;
            }
            Some(agent) => {
                let agent = self.handle(AgentScope { account, agent });
                match agent.note_token(&row, None, actor).await {
                    // Of an agent that is gone, nothing but the token is left to be closed.
                    Err(Error::Erased { .. }) => self.store.put_token(&row).await?,
                    done => drop(done?),
                }
            }
        }
        Ok(row.into())
    }

    fn seal_token(&self, key: &AgentKey, row: &TokenRow) -> Result<StoredText> {
        let nonce = self.nonce()?;
        let sealed = key.seal(&token_place(row), &token_columns(row), &[], nonce);
        Ok(StoredText(sealed))
    }

    /// What sealing something takes.
    pub(crate) fn nonce(&self) -> Result<Nonce> {
        let mut nonce = [0; 24];
        self.random.fill(&mut nonce)?;
        Ok(Nonce::from_random(nonce))
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
            sign_in: None,
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
    pub(crate) async fn write_token(
        &self,
        sign_in: Option<SignInRow>,
        expires_at: Option<Timestamp>,
        secret: TokenSecret,
    ) -> Result<NewToken> {
        let row = self
            .memoir
            .token_row((self.id, None), expires_at, &secret)?;
        let mut row = TokenRow { sign_in, ..row };
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
        self.memoir.revoke(row, actor).await
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

    /// The agent's tokens, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tokens(&self) -> Result<Vec<TokenView>> {
        let rows = self.memoir.store.agent_tokens(self.scope).await?;
        Ok(rows.into_iter().map(TokenView::from).collect())
    }

    /// Revokes one of the agent's tokens: from now on it opens nothing. Repeating it is no error.
    ///
    /// # Errors
    /// [`Error::NoToken`], for a token of another agent too; the store fails.
    pub async fn revoke_token(&self, id: TokenId, actor: &Actor) -> Result<TokenView> {
        let rows = self.memoir.store.agent_tokens(self.scope).await?;
        let row = rows.into_iter().find(|row| row.id == id);
        let row = row.ok_or_else(|| Error::NoToken(id.to_string()))?;
        self.memoir.revoke(row, actor).await
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
            actions: vec![Action::MemorySaved],
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
    let mut sign_in = [0; 9];
    if let Some(signed_in) = &row.sign_in {
        sign_in[0] = u8::from(signed_in.by_browser);
        sign_in[1..].copy_from_slice(&signed_in.generation.to_be_bytes());
    }
    [
        row.account.as_bytes().as_slice(),
        row.agent
            .as_ref()
            .map_or(&[0; 16], AgentId::as_bytes)
            .as_slice(),
        row.sign_in
            .as_ref()
            .map_or(&[0; 16], |sign_in| sign_in.user.as_bytes())
            .as_slice(),
        &sign_in,
        &row.digest,
        &time_bytes(row.created_at),
        &time(row.expires_at),
        &time(row.revoked_at),
    ]
    .concat()
}

/// A mark that there is a time, and its microseconds.
pub(crate) fn time_bytes(time: Timestamp) -> [u8; 9] {
    let mut bytes = [1; 9];
    bytes[1..].copy_from_slice(&time.microseconds().to_be_bytes());
    bytes
}
