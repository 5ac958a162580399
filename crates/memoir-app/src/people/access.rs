//! Authentication: tokens of administrators and agents, and browsers that an administrator signed in with (SPEC 5.5).
//!
//! Tokens are 256 random bits. Their digests are kept in sealed documents, so write access to the database neither
//! makes nor changes one. An agent's tokens are sealed under its own key, those of administrators under a key of the
//! account. Each request looks its token up, so a revocation is effective immediately, in other processes too. The time
//! of the last use is written every few seconds. A whole token row that is put back from before its revocation does
//! open: `audit verify` names it, by the log of the agent or of the account (`account_log.rs`).

use std::collections::{HashMap, HashSet};

use memoir_domain::{
    AccountId, AgentId, AgentScope, Timestamp, TokenId, UserId, access,
    account::Note,
    audit::{Action, Actor, Facts},
    draft::Decision,
    manage,
    memory::Invalid,
};
use memoir_store::{AgentQuery, Document, TokenColumns, TokenRow};
use memoir_vault::{
    AgentKey,
    seal::SealedRow,
    token::{self, TokenSecret},
};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use crate::{
    core::{
        Account, AgentHandle, CONFLICT, Error, Memoir, Result,
        codec::{
            Base, Sealer, Writing,
            document::{self, NoWords, digest},
        },
        quotas::{DAY_SECONDS, Quota},
    },
    people::{
        Grants,
        connections::{ConnectionDocument, ConnectionView},
        users::UserView,
    },
};

/// The holder of a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Principal {
    /// The tenant.
    pub account: AccountId,
    /// The agent; `None` for an administrator of the account.
    pub agent: Option<AgentId>,
    /// The token that was presented.
    pub token: TokenId,
}

/// The role that a token gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Administrator of an account: reads no content.
    Admin,
    /// One agent: reads its own content.
    Agent,
}

/// A token without its secret.
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
    /// The program that it connects; `None` for a token of a user or an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionView>,
}

impl From<HeldToken> for TokenView {
    fn from(token: HeldToken) -> Self {
        Self {
            connection: token.open.connection.as_ref().map(ConnectionView::new),
            id: token.id,
            role: token.agent.map_or(Role::Admin, |_| Role::Agent),
            agent_id: token.agent,
            created_at: token.open.created_at,
            expires_at: token.open.expires_at,
            last_used_at: token.last_used_at,
            revoked_at: token.open.revoked_at,
        }
    }
}

#[derive(Clone)]
pub(crate) struct HeldToken {
    pub(crate) id: TokenId,
    pub(crate) account: AccountId,
    /// The agent; `None` for an administrator.
    pub(crate) agent: Option<AgentId>,
    /// Written in batches, and bound to nothing.
    last_used_at: Option<Timestamp>,
    pub(crate) version: u64,
    pub(crate) open: OpenToken,
}

/// The open part of a token's document, which is all of it. Account and agent follow from the key that seals it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct OpenToken {
    /// The SHA-256 of the secret.
    #[serde(with = "digest")]
    digest: [u8; 32],
    pub(crate) created_at: Timestamp,
    /// From when on it opens nothing; `None` for never.
    pub(crate) expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    /// The sign-in of an administrator that made it; `None` where it was made otherwise.
    pub(crate) sign_in: Option<TokenSignIn>,
    /// The connection of a program to the agent; the digest is then one by which the row is found, and not that of a
    /// token. `None` for every other token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connection: Option<ConnectionDocument>,
}

/// The user and the means of a sign-in.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct TokenSignIn {
    /// The administrator, one of the account.
    pub(crate) user: UserId,
    /// The generation of the administrator's sign-ins; earlier ones are invalid.
    pub(crate) generation: u64,
    /// Whether it is the cookie of a browser.
    pub(crate) by_browser: bool,
}

impl HeldToken {
    pub(crate) fn read(row: &TokenRow) -> Result<Self> {
        let place = SealedRow::Token(row.id);
        let open: OpenToken = document::read(place, &row.document.open)?;
        document::check_columns(place, row.document.version, &row.columns, &open.columns())?;
        Ok(Self {
            id: row.id,
            account: row.account,
            agent: row.agent,
            last_used_at: row.last_used_at,
            version: row.document.version,
            open,
        })
    }

    /// Whether it is valid at `now`. A sign-in or a connection that is dated in the future, since the clock was set
    /// back, would expire too late and is invalid.
    pub(crate) fn counts(&self, now: Timestamp) -> bool {
        let lasts = self.open.sign_in.is_none() && self.open.connection.is_none();
        let is_believed = lasts || self.open.created_at.is_plausible_at(now);
        is_believed
            && self.open.revoked_at.is_none()
            && self.open.expires_at.is_none_or(|at| at > now)
    }

    pub(crate) fn row(&self, sealer: &Sealer<'_>) -> Result<TokenRow> {
        let place = SealedRow::Token(self.id);
        Ok(self.row_with(sealer.document(place, self.version, &self.open, &NoWords {})?))
    }

    fn row_with(&self, document: Document) -> TokenRow {
        TokenRow {
            id: self.id,
            account: self.account,
            agent: self.agent,
            last_used_at: self.last_used_at,
            columns: self.open.columns(),
            document,
        }
    }
}

impl OpenToken {
    fn columns(&self) -> TokenColumns {
        TokenColumns {
            digest: self.digest,
            created_at: self.created_at,
            revoked_at: self.revoked_at,
        }
    }
}

/// A new token with its secret, which is shown only this time.
#[derive(Debug)]
pub struct TokenWithSecret {
    /// The stored part.
    pub view: TokenView,
    /// The token itself.
    pub secret: TokenSecret,
}

/// A token of an account that is to be written with its record.
pub(crate) struct UnwrittenToken<'a> {
    pub(crate) made: TokenWithSecret,
    pub(crate) row: TokenRow,
    pub(crate) note: Note<'a>,
}

/// An administrator who signed in with a browser.
pub struct SignedInUser {
    /// The account.
    pub account: Account,
    /// Who it is.
    pub user: UserView,
    /// The identifier of the browser's secret.
    pub token: TokenId,
    /// From then on the secret opens nothing.
    pub ends_at: Option<Timestamp>,
    /// The token in the forms of this browser's pages.
    pub form_token: String,
    /// The generation of the user's sign-ins.
    pub(crate) generation: u64,
    /// Of the browser's secret.
    digest: [u8; 32],
    /// How long the secret is valid without being used.
    pub(crate) idle_seconds: i64,
}

impl SignedInUser {
    /// The administrator as an actor.
    pub fn actor(&self) -> Actor {
        self.user.actor()
    }

    /// Whether the browser's secret is still valid, for a user who signed in earlier. Does not count as a use.
    ///
    /// # Errors
    /// The store fails.
    pub async fn is_still_let_in(&self) -> Result<bool> {
        let memoir = &self.account.memoir;
        let found = memoir
            .browser_token(&self.digest, self.idle_seconds)
            .await?;
        Ok(match found {
            Some(found) => found.id == self.token && memoir.user_behind(&found).await?.is_some(),
            None => false,
        })
    }
}

/// Whether an agent may be given a token without its consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provision {
    /// Only the first one, by an administrator, while the agent is not in use (SPEC 5.5). One that was revoked or
    /// expired without having been used may be replaced meanwhile.
    First,
    /// At any time, by the agent itself with this token, which the new one does not outlast.
    Own(TokenId),
    /// At any time, by the owner of the machine.
    Any,
}

/// When tokens were last used, until it is written.
#[derive(Debug, Default)]
pub(crate) struct LastUseBuffer(Mutex<HashMap<TokenId, Timestamp>>);

impl Memoir {
    fn uses(&self) -> MutexGuard<'_, HashMap<TokenId, Timestamp>> {
        self.state::<LastUseBuffer>().0.lock()
    }

    /// The holder of a secret whose token is neither expired nor revoked; `None` otherwise. Its use is noted, and
    /// written with the next [`Memoir::write_uses`].
    ///
    /// # Errors
    /// The store fails.
    pub async fn authenticate(&self, presented: &str) -> Result<Option<Principal>> {
        Ok(self.enter(presented).await?.map(|(principal, _)| principal))
    }

    /// As [`Memoir::authenticate`], with the agent's handle if the holder is an agent, which saves a further read.
    ///
    /// # Errors
    /// The store fails.
    pub async fn enter(&self, presented: &str) -> Result<Option<(Principal, Option<AgentHandle>)>> {
        match token::digest_of(presented) {
            Some(digest) => self.enter_again(&digest).await,
            None => Ok(None),
        }
    }

    /// As [`Memoir::enter`], by the digest of the token's secret, for a caller that was authenticated earlier.
    ///
    /// # Errors
    /// The store fails.
    pub async fn enter_again(
        &self,
        digest: &[u8; 32],
    ) -> Result<Option<(Principal, Option<AgentHandle>)>> {
        // A look-up by the digest in an index, and no comparison in constant time: its duration reveals at most digits
        // of a hash of the secret, which do not help to find the secret itself.
        let Some((row, name)) = self.store.bearer(digest).await? else {
            return Ok(None);
        };
        let now = self.now();
        let Some((token, key)) = self.believed_token(&row).await? else {
            return Ok(None);
        };
        if token.open.connection.is_some() {
            // Its digest is of no token: a connected program uses another interface.
            return Ok(None);
        }
        let is_signed_in = token.open.sign_in.is_some();
        // The user's row is read with every request, so that signing out everywhere is effective immediately in every
        // process. The rows of the tokens may be marked later.
        if !token.counts(now) || is_signed_in && self.user_behind(&token).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(self.admit(&row, name, key, now)))
    }

    /// Notes the use of a valid token, and returns its holder.
    pub(crate) fn admit(
        &self,
        row: &TokenRow,
        name: Option<String>,
        key: AgentKey,
        now: Timestamp,
    ) -> (Principal, Option<AgentHandle>) {
        let mut uses = self.uses();
        // Kept in memory and written every few seconds: a write per request would cost more than most requests do. A
        // crash loses the uses of the last seconds.
        uses.insert(row.id, now);
        let principal = Principal {
            account: row.account,
            agent: row.agent,
            token: row.id,
        };
        let account = row.account;
        let agent = row.agent.zip(name).map(|(agent, name)| AgentHandle {
            key: Some(key),
            ..AgentHandle::new(self.clone(), AgentScope { account, agent }, name)
        });
        (principal, agent)
    }

    /// Writes when tokens were last used.
    ///
    /// # Errors
    /// The store fails; the uses are kept for the next time.
    pub async fn write_uses(&self) -> Result<()> {
        // Removed, and restored where writing fails: concurrent uses must not wait for the store.
        let uses: Vec<(TokenId, Timestamp)> = self.uses().drain().collect();
        if uses.is_empty() {
            return Ok(());
        }
        let written = self.store.note_uses(&uses).await;
        if written.is_err() {
            let mut kept = self.uses();
            for (token, at) in uses {
                // Concurrent uses come first: a later use must not be replaced by an earlier one.
                kept.entry(token).or_insert(at);
            }
        }
        Ok(written?)
    }

    /// The account of a token, named by its identifier.
    pub fn account_of(&self, principal: &Principal) -> Account {
        self.account_at(principal.account)
    }

    /// The administrator whose browser presents that secret; `None` where it is unknown, has expired, or was not used
    /// for longer than `idle_seconds`. Its use is noted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn enter_with_browser(
        &self,
        presented: &str,
        idle_seconds: i64,
    ) -> Result<Option<SignedInUser>> {
        let entered = self.recognize_browser(presented, idle_seconds).await?;
        if let Some(signed_in) = &entered {
            self.uses().insert(signed_in.token, self.now());
        }
        Ok(entered)
    }

    /// As [`Memoir::enter_with_browser`], for requests that an open page sends by itself. Does not count as a use of
    /// the secret.
    ///
    /// # Errors
    /// The store fails.
    pub async fn recognize_browser(
        &self,
        presented: &str,
        idle_seconds: i64,
    ) -> Result<Option<SignedInUser>> {
        let Some(digest) = token::browser_digest_of(presented) else {
            return Ok(None);
        };
        let Some(found) = self.browser_token(&digest, idle_seconds).await? else {
            return Ok(None);
        };
        let Some(user) = self.user_behind(&found).await? else {
            return Ok(None);
        };
        Ok(Some(SignedInUser {
            account: self.account_at(found.account),
            user: user.view(),
            generation: user.open.generation,
            token: found.id,
            ends_at: found.open.expires_at,
            form_token: token::form_token(presented),
            digest,
            idle_seconds,
        }))
    }

    /// The token of a browser's secret that is valid now.
    async fn browser_token(
        &self,
        digest: &[u8; 32],
        idle_seconds: i64,
    ) -> Result<Option<HeldToken>> {
        let Some((row, _)) = self.store.bearer(digest).await? else {
            return Ok(None);
        };
        let now = self.now();
        let found = self.believed_token(&row).await?;
        Ok(found.map(|(token, _)| token).filter(|token| {
            token.counts(now) && self.last_use(token).plus_seconds(idle_seconds) > now
        }))
    }

    /// When the token was last used; its creation where it never was.
    pub(crate) fn last_use(&self, token: &HeldToken) -> Timestamp {
        let noted = self.uses().get(&token.id).copied();
        let created_at = token.open.created_at;
        let used = noted.max(token.last_used_at);
        used.map_or(created_at, |used| used.max(created_at))
    }

    /// The tokens of these rows, with the uses that this process has not written yet.
    fn token_views(&self, mut rows: Vec<TokenRow>) -> Result<Vec<TokenView>> {
        let uses = self.uses();
        let views = rows.iter_mut().map(|row| {
            row.last_used_at = row.last_used_at.max(uses.get(&row.id).copied());
            Ok(HeldToken::read(row)?.into())
        });
        views.collect()
    }

    /// Whether the token was ever used, as far as that is written or was noted by this process.
    pub(crate) fn was_used(&self, token: &HeldToken) -> bool {
        token.last_used_at.is_some() || self.uses().contains_key(&token.id)
    }

    /// The token of a row, and the key that it is sealed with; `None` for a row that Memoir did not write. Otherwise,
    /// write access to the database could add or revive one.
    pub(crate) async fn believed_token(
        &self,
        row: &TokenRow,
    ) -> Result<Option<(HeldToken, AgentKey)>> {
        // The row names the agent whose key opens it, and the seal is bound to that: no other key opens it.
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
        let opened = document::open_private(&key, SealedRow::Token(row.id), &row.document);
        match opened.and_then(|_| HeldToken::read(row)) {
            Ok(token) => Ok(Some((token, key))),
            Err(error) => {
                tracing::error!(token = %row.id, %error, "a token row is invalid");
                Ok(None)
            }
        }
    }

    /// Revokes a token, unless it was revoked before.
    pub(crate) async fn revoke(&self, row: TokenRow, actor: &Actor) -> Result<TokenView> {
        let mut token = HeldToken::read(&row)?;
        if token.open.revoked_at.is_some() {
            return Ok(token.into());
        }
        let account = token.account;
        token.open.revoked_at = Some(self.now());
        token.version += 1;
        match token.agent {
            None => {
                let key = self.account_key(account).await?;
                let row = token.row(&self.sealer(&key))?;
                let note = Note {
                    facts: Facts::default().token(token.id),
                    ..Note::new(Action::TokenRevoked, actor)
                };
                self.account_at(account).record(&note, &[row]).await?;
            }
            Some(agent) => {
                let agent = self.handle(AgentScope { account, agent });
                match agent.grants().note_end(&row, actor).await {
                    // Of an erased agent, only the token is left to be closed; its seals went with its key.
                    Err(Error::Erased { .. }) => {
                        let left = document::unsealed(token.version, &token.open)?;
                        self.store.put_token(&token.row_with(left)).await?;
                    }
                    ended => return Ok(ended?.into()),
                }
            }
        }
        Ok(token.into())
    }

    /// As [`Memoir::revoke`], of the token of that identifier among the rows; where it was revoked before, an act of an
    /// administrator is on the record all the same (SPEC 4.3).
    async fn revoke_on_record(
        &self,
        rows: Vec<TokenRow>,
        id: TokenId,
        actor: &Actor,
    ) -> Result<TokenView> {
        let row = rows.into_iter().find(|row| row.id == id);
        let row = row.ok_or_else(|| Error::NoToken(id.to_string()))?;
        let token = HeldToken::read(&row)?;
        if token.open.revoked_at.is_none() || !actor.kind.is_in_charge() {
            return self.revoke(row, actor).await;
        }
        let account = token.account;
        match token.agent {
            None => {
                let note = Note {
                    facts: Facts::default().token(token.id),
                    ..Note::new(Action::TokenRevoked, actor)
                };
                self.account_at(account).record(&note, &[]).await?;
            }
            Some(agent) => {
                let agent = self.handle(AgentScope { account, agent });
                let ends_at = token.open.expires_at;
                let query = AgentQuery::default();
                let confirmed = agent.decide(&query, |loaded, now| {
                    let decision = manage::token(loaded.agent, false, id, ends_at, actor, now);
                    Ok((Some(decision), ()))
                });
                match confirmed.await {
                    // The log of an erased agent is at its end, and a damaged one cannot be continued: the token is
                    // revoked all the same.
                    Err(Error::Erased { .. } | Error::Tampered(_) | Error::NoKey(_)) => {}
                    done => done?,
                }
            }
        }
        Ok(token.into())
    }

    pub(crate) fn new_token(
        &self,
        (account, agent): (AccountId, Option<AgentId>),
        sign_in: Option<TokenSignIn>,
        expires_at: Option<Timestamp>,
        digest: [u8; 32],
    ) -> Result<HeldToken> {
        let now = self.now();
        if expires_at.is_some_and(|at| at <= now) {
            let problem = "is in the past; give a later time, or none";
            return Err(Invalid::new("expires_at", problem).into());
        }
        Ok(HeldToken {
            id: self.ids().draw(TokenId::from_bytes)?,
            account,
            agent,
            last_used_at: None,
            version: 1,
            open: OpenToken {
                digest,
                created_at: now,
                expires_at,
                revoked_at: None,
                sign_in,
                connection: None,
            },
        })
    }
}

impl Account {
    /// Makes a token for an administrator of the account.
    ///
    /// # Errors
    /// `expires_at` is in the past; the store fails.
    pub async fn create_token(
        &self,
        expires_at: Option<Timestamp>,
        actor: &Actor,
    ) -> Result<TokenWithSecret> {
        let note = Note::new(Action::TokenCreated, actor);
        let new = self.new_token(None, expires_at, TokenSecret::generate()?, note);
        self.write_token(new.await?).await
    }

    pub(crate) async fn write_token(&self, new: UnwrittenToken<'_>) -> Result<TokenWithSecret> {
        self.record(&new.note, &[new.row]).await?;
        Ok(new.made)
    }

    /// A token of the account, for the user who signed in.
    pub(crate) async fn new_token<'a>(
        &self,
        sign_in: Option<TokenSignIn>,
        expires_at: Option<Timestamp>,
        secret: TokenSecret,
        note: Note<'a>,
    ) -> Result<UnwrittenToken<'a>> {
        let memoir = &self.memoir;
        let token = memoir.new_token((self.id, None), sign_in, expires_at, secret.digest())?;
        let key = memoir.account_key(self.id).await?;
        let mut facts = note.facts.token(token.id);
        if let Some(at) = expires_at {
            facts = facts.time("expires_at", at);
        }
        let row = token.row(&memoir.sealer(&key))?;
        let view = token.into();
        Ok(UnwrittenToken {
            made: TokenWithSecret { view, secret },
            row,
            note: Note { facts, ..note },
        })
    }

    /// The account's tokens, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tokens(&self) -> Result<Vec<TokenView>> {
        self.memoir
            .token_views(self.memoir.store.tokens(self.id).await?)
    }

    /// Revokes a token: from now on it opens nothing. Repeating it is no error.
    ///
    /// # Errors
    /// The account has none of that identifier; the store fails.
    pub async fn revoke_token(&self, id: TokenId, actor: &Actor) -> Result<TokenView> {
        // Only the account's own tokens are searched: the response must not reveal tokens of another account.
        let rows = self.memoir.store.tokens(self.id).await?;
        self.memoir.revoke_on_record(rows, id, actor).await
    }
}

impl Grants<'_> {
    /// Makes a token for the agent, with a record. With [`Provision::First`] and for an agent in use, it uses up a
    /// grant of the agent. The token then expires no later than the grant allows. With [`Provision::Own`] it has the end
    /// of the token that makes it, where none is given.
    ///
    /// # Errors
    /// [`Error::ConsentNeeded`] without that grant; `expires_at` is in the past, or later than the end of the token that
    /// makes this one; the store fails.
    pub async fn create_token(
        self,
        provision: Provision,
        mut expires_at: Option<Timestamp>,
        actor: &Actor,
    ) -> Result<TokenWithSecret> {
        if let Provision::Own(maker) = provision {
            let mut tokens = self.tokens().await?.into_iter();
            let maker = tokens.find(|token| token.id == maker).ok_or(CONFLICT)?;
            if let (Some(wanted), Some(end)) = (expires_at, maker.expires_at)
                && wanted > end
            {
                let problem = format!(
                    "is later than {end}, the end of the token that makes this one; give that or an earlier time"
                );
                return Err(Invalid::new("expires_at", problem).into());
            }
            expires_at = expires_at.or(maker.expires_at);
        }
        let scope = (self.scope.account, Some(self.scope.agent));
        let secret = TokenSecret::generate()?;
        let digest = secret.digest();
        let token = self.memoir.new_token(scope, None, expires_at, digest)?;
        let token = self.note_token(token, provision, actor).await?;
        let view = token.into();
        Ok(TokenWithSecret { view, secret })
    }

    /// Whether [`Grants::create_token`] with [`Provision::First`] needs a grant of the agent that there is none of: the
    /// agent is in use, and decides itself about its tokens (SPEC 5.5).
    ///
    /// # Errors
    /// The agent is gone, or the store fails.
    pub async fn needs_consent_for_token(self, actor: &Actor) -> Result<bool> {
        let loaded = self.load(&AgentQuery::default()).await?;
        if !self.is_in_use(&loaded).await? {
            return Ok(false);
        }
        let found = self.token_leave(&loaded, None, actor).await?;
        // Another process changed the agent meanwhile: making the token judges anew.
        Ok(found.is_some_and(|leave| leave.is_none()))
    }

    /// The agent's tokens, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn tokens(self) -> Result<Vec<TokenView>> {
        let rows = self.memoir.store.agent_tokens(self.scope).await?;
        self.memoir.token_views(rows)
    }

    pub(crate) async fn check_new_token(self) -> Result<()> {
        let now = self.memoir.now();
        let quotas = &self.memoir.settings.quotas;
        quotas.check(Quota::AgentTokens, self.token_uses(now).await?, 1)?;
        let used = self.memoir.token_uses(self.scope.account, now).await?;
        quotas.check(Quota::AccountTokens, used, 1)
    }

    /// The tokens that count against the quota: those made within a day, and all that are valid.
    pub(crate) async fn token_uses(self, now: Timestamp) -> Result<u64> {
        let rows = self.memoir.store.agent_tokens(self.scope).await?;
        count_tokens(&rows, now)
    }

    /// Revokes one of the agent's tokens: from now on it opens nothing. Repeating it is no error.
    ///
    /// # Errors
    /// [`Error::NoToken`], for a token of another agent too; the store fails.
    pub async fn revoke_token(self, id: TokenId, actor: &Actor) -> Result<TokenView> {
        // Only the agent's own tokens are searched: the response must not reveal tokens of another agent.
        let rows = self.memoir.store.agent_tokens(self.scope).await?;
        self.memoir.revoke_on_record(rows, id, actor).await
    }

    /// Writes a new token of the agent with its record, under that condition. Returns it as written.
    pub(crate) async fn note_token(
        self,
        token: HeldToken,
        provision: Provision,
        actor: &Actor,
    ) -> Result<HeldToken> {
        self.check_new_token().await?;
        let token = &token;
        self.decide_reading(&AgentQuery::default(), |loaded, now| async move {
            let mut token = token.clone();
            let mut leave = None;
            let connection = token.open.connection.as_ref();
            let client = connection.map(ConnectionDocument::client);
            if provision == Provision::First && self.is_in_use(&loaded).await? {
                let recipient = client.map(|client| client.recipient());
                let found = self.token_leave(&loaded, recipient, actor);
                let found = found.await?.ok_or(CONFLICT)?;
                let given = found.ok_or_else(|| Error::ConsentNeeded(self.name.clone()))?;
                // A later request cannot extend the time that the agent granted.
                let expiries = [token.open.expires_at, given.expires_at];
                token.open.expires_at = expiries.into_iter().flatten().min();
                leave = Some(given.decision);
            }
            let agent = match &leave {
                Some(leave) => leave.agent.clone(),
                None => loaded.agent,
            };
            let ends_at = token.open.expires_at;
            let mut decision = match client {
                Some(client) => {
                    access::connect(agent, token.id, &client, leave.is_some(), actor, now)
                }
                None => manage::token(agent, true, token.id, ends_at, actor, now),
            };
            if let Some(leave) = leave {
                decision = leave.then(decision);
            }
            self.with_token(&loaded.base, decision, token)
        })
        .await
    }

    fn with_token(
        self,
        base: &Base,
        decision: Decision,
        token: HeldToken,
    ) -> Result<(Option<Writing>, HeldToken)> {
        let sealer = self.memoir.sealer(base.key());
        let writing = Writing {
            tokens: vec![token.row(&sealer)?],
            ..decision.into()
        };
        Ok((Some(writing), token))
    }

    /// Revokes a token of the agent with its record, unless it was revoked before. Returns it as written.
    async fn note_end(self, row: &TokenRow, actor: &Actor) -> Result<HeldToken> {
        self.decide_reading(&AgentQuery::default(), |loaded, now| async move {
            // After the agent: an exchange by a program meanwhile is a later version of the row.
            let row = self.memoir.store.token(&row.columns.digest).await?;
            // It was found a moment ago, and tokens are removed only with their agent: reading again shows which.
            let row = row.ok_or(CONFLICT)?;
            let mut token = HeldToken::read(&row)?;
            if token.open.revoked_at.is_some() {
                return Ok((None, token));
            }
            token.open.revoked_at = Some(now);
            token.version += 1;
            let ends_at = token.open.expires_at;
            let decision = manage::token(loaded.agent, false, token.id, ends_at, actor, now);
            self.with_token(&loaded.base, decision, token)
        })
        .await
    }
}

impl Memoir {
    /// As [`Grants::token_uses`], of all agents of an account.
    pub(crate) async fn token_uses(&self, account: AccountId, now: Timestamp) -> Result<u64> {
        let erased: HashSet<AgentScope> = self.store.erased().await?.into_iter().collect();
        let mut rows = self.store.tokens(account).await?;
        let is_gone = |agent| erased.contains(&AgentScope { account, agent });
        rows.retain(|row| row.agent.is_some_and(|agent| !is_gone(agent)));
        // One that cannot be read is invalid, and is a finding of its own agent.
        rows.retain(|row| HeldToken::read(row).is_ok());
        count_tokens(&rows, now)
    }
}

fn count_tokens(rows: &[TokenRow], now: Timestamp) -> Result<u64> {
    let day = now.plus_seconds(-DAY_SECONDS);
    let counts = |row: &TokenRow| {
        let open = HeldToken::read(row)?.open;
        let lasts = open.revoked_at.is_none() && open.expires_at.is_none_or(|at| at > now);
        Ok(u64::from(open.created_at > day || lasts))
    };
    rows.iter().map(counts).sum()
}

/// A byte that marks a time, and its microseconds.
pub(crate) fn time_bytes(time: Timestamp) -> [u8; 9] {
    let mut bytes = [1; 9];
    bytes[1..].copy_from_slice(&time.microseconds().to_be_bytes());
    bytes
}
