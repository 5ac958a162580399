//! Signing in and out: a name, a password and the code of a second factor for a token or a browser cookie. Signed-in
//! users manage their sign-ins here (SPEC 5.5).
//!
//! Each sign-in of a user carries the generation of the user's sign-ins. Signing out everywhere, a new password or a
//! new second factor begins the next generation with the same write. From then on every earlier sign-in is invalid,
//! complete or not.
//!
//! A sign-in is checked with the user's row, so one of an earlier generation is invalid whatever its own row says. A
//! sign-in in progress at that time is invalid, too. A code is checked and the user's row is written over the version
//! that was read. Of two that send the same code, through any processes, one succeeds. Until then, a browser holds a
//! sealed proof of the password, which opens nothing else and lasts five minutes.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use memoir_domain::{
    AccountId, PrivateText, Timestamp, TokenId, UserId,
    account::Note,
    audit::{Action, Actor, Facts},
    text::wiped::Wiped,
};
use memoir_store::TokenRow;
use memoir_vault::{
    AgentKey,
    password::Password,
    seal::{SealContext, SealedRow},
    second_factor::{FactorSecret, SecondFactor, Verdict},
    token::TokenSecret,
};
use serde::Serialize;
use zeroize::Zeroizing;

pub use memoir_vault::second_factor::RecoveryCodes;

use crate::{
    core::{Account, Error, Memoir, Result, accounts::DEFAULT_ACCOUNT, again},
    people::{
        access::{
            HeldToken, SignedInUser, TokenSignIn, TokenWithSecret, UnwrittenToken, time_bytes,
        },
        users::{self, User, UserAct},
    },
};

/// How long a user may take to enter the code after the password.
// Time to fetch a telephone, and short for a browser that was left alone.
const PASSAGE_SECONDS: i64 = 5 * 60;
/// How long a displayed secret is valid for setting up a device.
// Longer than for a code: an app may have to be installed first.
const OFFER_SECONDS: i64 = 15 * 60;

/// The secret that a sign-in gives.
#[derive(Debug, Clone, Copy)]
pub enum SignInSecret<'a> {
    /// A token of REST, with the code where one was sent.
    Token(Option<&'a PrivateText>),
    /// The cookie of a browser, which asks for the code on a page of its own. It is no token, and only
    /// [`Memoir::enter_with_browser`] takes it.
    Cookie,
}

/// The outcome of an attempt to sign in.
#[derive(Debug)]
pub enum SignIn {
    /// No user has that name and password, or the code was wrong.
    Refused,
    /// The password is right, and a code is needed too. A browser keeps this proof until then: it opens nothing.
    CodeNeeded(PasswordProof),
    /// The password is right, and the next code has to wait after too many wrong ones.
    Wait {
        /// For so long.
        seconds: u32,
    },
    /// The user is signed in.
    In(TokenWithSecret),
}

/// Proof, for five minutes, that a user entered the right password. Wiped when dropped; `Debug` prints its type alone.
#[derive(derive_more::Debug)]
#[debug("PasswordProof")]
pub struct PasswordProof(Zeroizing<String>);

impl PasswordProof {
    /// The text for the browser.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// A user who entered the password a moment ago and has to enter the code.
pub struct HalfSignedIn {
    account: Account,
    user: UserId,
    /// The user's name.
    pub name: String,
    generation: u64,
}

impl HalfSignedIn {
    /// The account that it was signed in to, by its name.
    pub fn account_name(&self) -> &str {
        self.account.name()
    }
}

/// The credentials that a signed-in user repeats: the password, and the code where there is a second factor.
pub enum Proof {
    /// The password or the code is wrong.
    Wrong,
    /// The password is right, and the next code has to wait after too many wrong ones.
    Wait {
        /// For so long.
        seconds: u32,
    },
    /// Both are right.
    Right(Box<VerifiedUser>),
}

/// A user who just gave the password and the code.
pub struct VerifiedUser(User);

/// A secret for setting up a device, in its displayed forms.
pub struct SecondFactorOffer {
    /// The form for typing.
    pub typed: Zeroizing<String>,
    /// As a device reads it from a picture.
    pub uri: Zeroizing<String>,
    /// The sealed form, which is returned with the code.
    pub sealed: String,
}

/// A sign-in of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "they say it themselves")]
pub struct SignInView {
    pub id: TokenId,
    /// A browser; otherwise a token of REST.
    pub by_browser: bool,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// Whether it is the caller's own sign-in.
    pub is_own: bool,
}

impl Memoir {
    /// A secret for the administrator of that name and password, of the named account or else the default one. Refused
    /// where there is no such account, name or password, after the same time.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_in(
        &self,
        account: Option<&str>,
        name: &str,
        password: Password,
        secret: SignInSecret<'_>,
        expires_at: Timestamp,
    ) -> Result<SignIn> {
        let account = match self.account(account.unwrap_or(DEFAULT_ACCOUNT)).await {
            Ok(account) => account,
            Err(Error::NoAccount(_)) => {
                // As much work as for an existing user, so that the response time shows no existing names.
                users::fits(password, None).await?;
                return Ok(SignIn::Refused);
            }
            Err(error) => return Err(error),
        };
        let Some(user) = account.find_user(name, password).await? else {
            return Ok(SignIn::Refused);
        };
        let (code, by_browser) = match secret {
            SignInSecret::Token(code) => (code, false),
            SignInSecret::Cookie => (None, true),
        };
        // A code is ignored where the user has no second factor, since the password is enough then.
        let Some(code) = code.filter(|_| user.sealed.second_factor.is_some()) else {
            return account.enter(user, by_browser, expires_at).await;
        };
        let (user, generation) = (user.id, user.open.generation);
        account
            .enter_with_code(user, generation, code, by_browser, expires_at)
            .await
    }

    /// The user who entered the password a moment ago and holds that proof; `None` where it has expired or is none.
    ///
    /// # Errors
    /// The store fails.
    pub async fn half_signed_in(&self, presented: &str) -> Result<Option<HalfSignedIn>> {
        // Account and user are in front of the sealed part: they name the key that may open it, and are bound to it, so
        // that exchanged ones open nothing.
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(presented) else {
            return Ok(None);
        };
        let Some((account, rest)) = bytes.split_first_chunk::<16>() else {
            return Ok(None);
        };
        let Some((user, sealed)) = rest.split_first_chunk::<16>() else {
            return Ok(None);
        };
        let (id, user) = (AccountId::from_bytes(*account), UserId::from_bytes(*user));
        // An unknown account is refused without further work.
        let Some(row) = self.store.user(id, user).await? else {
            return Ok(None);
        };
        let key = self.account_key(id).await?;
        let Some(found) = users::believed(&key, &row).filter(User::may_sign_in) else {
            return Ok(None);
        };
        let generation = found.open.generation;
        // The generation is the version of the seal: a password that was changed meanwhile makes it another one.
        let Some(opened) = self.open_passing(&key, Passing::Code, (user, generation), sealed)
        else {
            return Ok(None);
        };
        // Only `passage` makes a text that opens here, and it seals a name, so these bytes are UTF-8.
        let name = String::from_utf8_lossy(&opened).into_owned();
        let memoir = self.clone();
        Ok(Some(HalfSignedIn {
            account: Account { memoir, id, name },
            user,
            name: found.open.name,
            generation,
        }))
    }

    /// Signs in a browser that holds the proof of a password, with the code.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_in_with_code(
        &self,
        half: &HalfSignedIn,
        code: &PrivateText,
        expires_at: Timestamp,
    ) -> Result<SignIn> {
        half.account
            .enter_with_code(half.user, half.generation, code, true, expires_at)
            .await
    }

    /// The administrator who signed in for a token, while its generation is valid.
    pub(crate) async fn user_behind(&self, token: &HeldToken) -> Result<Option<User>> {
        let Some(sign_in) = token.open.sign_in else {
            return Ok(None);
        };
        let account = self.account_at(token.account);
        account.user_of(sign_in.user, sign_in.generation).await
    }

    /// The account of that identifier, named by it.
    pub(crate) fn account_at(&self, id: AccountId) -> Account {
        Account {
            memoir: self.clone(),
            id,
            name: id.to_string(),
        }
    }

    /// `plain`, closed for a while.
    fn seal_passing(
        &self,
        key: &AgentKey,
        passing: Passing,
        of: (UserId, u64),
        plain: &[u8],
    ) -> Result<Vec<u8>> {
        let ends_at = time_bytes(self.now().plus_seconds(passing.seconds()));
        let columns = passing.columns(&ends_at);
        let sealed = key.seal(&place(of), &columns, plain, self.sealer(key).nonce()?);
        Ok([ends_at.as_slice(), &sealed].concat())
    }

    /// The sealed contents, while valid.
    fn open_passing(
        &self,
        key: &AgentKey,
        passing: Passing,
        of: (UserId, u64),
        sealed: &[u8],
    ) -> Option<Wiped<u8>> {
        let (ends_at, sealed) = sealed.split_first_chunk::<9>()?;
        let opened = key.open(&place(of), &passing.columns(ends_at), sealed);
        let opened = opened.ok()?;
        // It opens, so these are a time's bytes.
        let microseconds = i64::from_be_bytes(*ends_at.last_chunk()?);
        (self.now().microseconds() < microseconds).then_some(opened)
    }
}

/// Under what it is sealed for a user and the generation of the user's sign-ins.
fn place((user, generation): (UserId, u64)) -> SealContext {
    SealContext {
        row: SealedRow::PasswordProof(user),
        version: generation,
    }
}

/// What a browser keeps from one page to the next, sealed.
#[derive(Clone, Copy)]
enum Passing {
    /// That the password was right.
    Code,
    /// The secret that a device is being set up with.
    SecondFactorOffer,
}

impl Passing {
    fn seconds(self) -> i64 {
        match self {
            Self::Code => PASSAGE_SECONDS,
            Self::SecondFactorOffer => OFFER_SECONDS,
        }
    }

    /// The purpose and the expiry.
    fn columns(self, ends_at: &[u8; 9]) -> Vec<u8> {
        // The seal is bound to the purpose as well, since the proof of a password must not pass for the offer of a
        // second factor.
        [&[self as u8], ends_at.as_slice()].concat()
    }
}

impl Account {
    /// Signs a user in who knew the password, unless a code is needed.
    async fn enter(&self, user: User, by_browser: bool, expires_at: Timestamp) -> Result<SignIn> {
        if user.sealed.second_factor.is_some() {
            return self.passage(&user).await.map(SignIn::CodeNeeded);
        }
        let made = self.write_sign_in(&user, by_browser, Some(expires_at));
        made.await.map(SignIn::In)
    }

    async fn enter_with_code(
        &self,
        user: UserId,
        generation: u64,
        code: &PrivateText,
        by_browser: bool,
        expires_at: Timestamp,
    ) -> Result<SignIn> {
        match self.check_code(user, generation, code).await? {
            (Verdict::Right, Some(user)) => {
                let made = self.write_sign_in(&user, by_browser, Some(expires_at));
                made.await.map(SignIn::In)
            }
            (Verdict::Wait { seconds }, _) => Ok(SignIn::Wait { seconds }),
            // `Right` always has a user: if the sign-ins ended meanwhile, every code is wrong.
            (Verdict::Right | Verdict::Wrong, _) => Ok(SignIn::Refused),
        }
    }

    async fn passage(&self, user: &User) -> Result<PasswordProof> {
        let (memoir, of) = (&self.memoir, (user.id, user.open.generation));
        let key = memoir.account_key(self.id).await?;
        let sealed = memoir.seal_passing(&key, Passing::Code, of, self.name.as_bytes())?;
        let bytes = [self.id.as_bytes().as_slice(), user.id.as_bytes(), &sealed].concat();
        Ok(PasswordProof(Zeroizing::new(URL_SAFE_NO_PAD.encode(bytes))))
    }

    async fn write_sign_in(
        &self,
        user: &User,
        by_browser: bool,
        expires_at: Option<Timestamp>,
    ) -> Result<TokenWithSecret> {
        let actor = user.actor();
        let new = self.new_sign_in(user, &actor, by_browser, expires_at);
        self.write_token(new.await?).await
    }

    /// A sign-in of the user, who is the actor.
    async fn new_sign_in<'a>(
        &self,
        user: &User,
        actor: &'a Actor,
        by_browser: bool,
        expires_at: Option<Timestamp>,
    ) -> Result<UnwrittenToken<'a>> {
        let sign_in = TokenSignIn {
            user: user.id,
            generation: user.open.generation,
            by_browser,
        };
        let secret = if by_browser {
            TokenSecret::generate_for_browser()
        } else {
            TokenSecret::generate()
        };
        // The count is taken before the write. A failing write loses it, which is harmless, since no decision uses it.
        let failures = self.take_failures(user.id);
        let mut facts = Facts::default().user(user.id);
        facts = facts.code("with", if by_browser { "browser" } else { "token" });
        if failures > 0 {
            facts = facts.count("failures", failures);
        }
        let note = Note {
            facts,
            ..Note::new(Action::SignedIn, actor)
        };
        self.new_token(Some(sign_in), expires_at, secret?, note)
            .await
    }

    /// Signs in an administrator who was just made, with a browser.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_in_new_user(
        &self,
        user: UserId,
        expires_at: Timestamp,
    ) -> Result<TokenWithSecret> {
        /// The generation of a user who was never signed out.
        const FIRST: u64 = 0;
        let found = self.user_of(user, FIRST).await?;
        let found = found.ok_or_else(|| Error::NoUser(user.to_string()))?;
        self.write_sign_in(&found, true, Some(expires_at)).await
    }

    /// Marks all sign-ins of earlier generations as ended in the list of tokens. They are invalid in any case: an error
    /// would say that the change that ended them was not made.
    pub(crate) async fn revoke_sign_ins(&self, user: &User, actor: &Actor) {
        let now = self.memoir.now();
        let is_open = |row: &TokenRow| {
            // One that cannot be read is invalid.
            let token = HeldToken::read(row).ok().filter(|token| token.counts(now));
            let sign_in = token.and_then(|token| token.open.sign_in);
            sign_in.is_some_and(|sign_in| {
                sign_in.user == user.id && sign_in.generation < user.open.generation
            })
        };
        let marking = async {
            let rows = self.memoir.store.tokens(self.id).await?;
            for row in rows.into_iter().filter(is_open) {
                self.memoir.revoke(row, actor).await?;
            }
            Ok::<_, Error>(())
        };
        if let Err(error) = marking.await {
            tracing::error!(user = %user.id, %error, "sign-ins are not marked as ended");
        }
    }
}

impl SignedInUser {
    /// The name of the account.
    ///
    /// # Errors
    /// The store fails.
    pub async fn account_name(&self) -> Result<String> {
        let own = self.account.memoir.account_row(self.account.id).await?;
        let own = own.ok_or_else(|| Error::NoAccount(self.account.id.to_string()))?;
        Ok(own.name)
    }

    /// Makes the browser's secret invalid.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_out(&self) -> Result<()> {
        let actor = self.actor();
        self.account.revoke_token(self.token, &actor).await?;
        Ok(())
    }

    /// As [`SignedInUser::sign_out`], for all sign-ins of this administrator, complete or not: other browsers, and
    /// tokens too.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_out_everywhere(&self) -> Result<()> {
        let user = again(|| async {
            let mut user = self.user_now().await?;
            user.end_sign_ins();
            let actor = user.actor();
            let act = (Action::SignInsEnded, &actor, None);
            self.account.write_user(&mut user, Some(act)).await?;
            Ok(user)
        })
        .await?;
        let actor = user.actor();
        self.account.revoke_sign_ins(&user, &actor).await;
        Ok(())
    }

    /// The administrator's sign-ins, newest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sign_ins(&self) -> Result<Vec<SignInView>> {
        let memoir = &self.account.memoir;
        let now = memoir.now();
        let rows = memoir.store.tokens(self.account.id).await?;
        let view = |row: &TokenRow| {
            let token = HeldToken::read(row).ok()?;
            let sign_in = token.open.sign_in?;
            let last_used_at = memoir.last_use(&token);
            // Tokens of REST do not expire from disuse: a program may be idle for weeks.
            let is_idle = sign_in.by_browser && last_used_at.plus_seconds(self.idle_seconds) <= now;
            let counts = sign_in.user == self.user.id
                && sign_in.generation == self.generation
                && token.counts(now)
                && !is_idle;
            counts.then_some(SignInView {
                id: token.id,
                by_browser: sign_in.by_browser,
                created_at: token.open.created_at,
                last_used_at,
                expires_at: token.open.expires_at,
                is_own: token.id == self.token,
            })
        };
        Ok(rows.iter().rev().filter_map(view).collect())
    }

    /// Ends one of the sign-ins of this administrator.
    ///
    /// # Errors
    /// [`Error::NoToken`] for a sign-in of another user; the store fails.
    pub async fn end_sign_in(&self, id: TokenId) -> Result<()> {
        let memoir = &self.account.memoir;
        let rows = memoir.store.tokens(self.account.id).await?;
        let is_own = |row: &TokenRow| {
            let sign_in = HeldToken::read(row)
                .ok()
                .and_then(|token| token.open.sign_in);
            row.id == id && sign_in.is_some_and(|sign_in| sign_in.user == self.user.id)
        };
        let row = rows.into_iter().find(is_own);
        let row = row.ok_or_else(|| Error::NoToken(id.to_string()))?;
        memoir.revoke(row, &self.actor()).await?;
        Ok(())
    }

    /// The number of unused recovery codes, and of wrong codes since a right one; `None` without a second factor.
    ///
    /// # Errors
    /// The store fails.
    pub async fn second_factor(&self) -> Result<Option<(usize, u32)>> {
        let user = self.user_now().await?;
        let factor = user.sealed.second_factor.as_ref();
        Ok(factor.map(|factor| (factor.recovery_left(), factor.misses())))
    }

    /// Checks this administrator's password, and the code where there is a second factor. The code is used up. A wrong
    /// one counts as a failed sign-in.
    ///
    /// # Errors
    /// The store fails.
    pub async fn prove(&self, password: Password, code: &PrivateText) -> Result<Proof> {
        let user = self.user_now().await?;
        let hash = Some(user.sealed.password_hash.clone());
        if !users::fits(password, hash).await? {
            self.account.note_failure(user.id).await;
            return Ok(Proof::Wrong);
        }
        if user.sealed.second_factor.is_none() {
            return Ok(Proof::Right(Box::new(VerifiedUser(user))));
        }
        // The password was right. A wrong code is counted in the user's row, which makes guessing slow everywhere.
        let checked = self.account.check_code(user.id, self.generation, code);
        Ok(match checked.await? {
            (Verdict::Right, Some(user)) => Proof::Right(Box::new(VerifiedUser(user))),
            (Verdict::Wait { seconds }, _) => Proof::Wait { seconds },
            (Verdict::Right | Verdict::Wrong, _) => Proof::Wrong,
        })
    }

    /// Sets another password and ends all other sign-ins. The returned token continues this one.
    ///
    /// # Errors
    /// The password is too short or too long; another process changed the user meanwhile; the store fails.
    pub async fn change_password(
        &self,
        VerifiedUser(mut user): VerifiedUser,
        new: &PrivateText,
    ) -> Result<TokenWithSecret> {
        // The row that `prove` read is written over: after a change in between, the proof is outdated, and this fails.
        user.sealed.password_hash = users::hash_of(users::new_password(new)?).await?;
        self.begin_anew(user, Action::PasswordChanged).await
    }

    /// A secret for setting up a device.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub async fn offer_second_factor(&self) -> Result<SecondFactorOffer> {
        // Not stored until a device has shown that it has it: an abandoned set-up must lock no user out.
        let secret = FactorSecret::generate()?;
        let (memoir, of) = (&self.account.memoir, (self.user.id, self.generation));
        let key = memoir.account_key(self.account.id).await?;
        let sealed = memoir.seal_passing(&key, Passing::SecondFactorOffer, of, secret.expose())?;
        Ok(self.offer(&secret, URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// An earlier offer, to be shown again; `None` where it has expired.
    ///
    /// # Errors
    /// The keys cannot be used.
    pub async fn offered(&self, sealed: &str) -> Result<Option<SecondFactorOffer>> {
        let secret = self.offered_secret(sealed).await?;
        Ok(secret.map(|secret| self.offer(&secret, sealed.to_owned())))
    }

    /// Whether that code is now the code of a device that was set up with the offer.
    ///
    /// # Errors
    /// The keys cannot be used.
    pub async fn fits_offer(&self, sealed: &str, code: &PrivateText) -> Result<bool> {
        let Some(secret) = self.offered_secret(sealed).await? else {
            return Ok(false);
        };
        let made = SecondFactor::of_device(secret, code.expose(), self.seconds())?;
        Ok(made.is_some())
    }

    /// Makes signing in require a code of the device that was set up, and ends all other sign-ins: they had none.
    /// `None` where the code is not that of the device.
    ///
    /// # Errors
    /// Another process changed the user meanwhile; the store fails.
    pub async fn turn_on_second_factor(
        &self,
        VerifiedUser(mut user): VerifiedUser,
        sealed: &str,
        code: &PrivateText,
    ) -> Result<Option<(TokenWithSecret, RecoveryCodes)>> {
        let Some(secret) = self.offered_secret(sealed).await? else {
            return Ok(None);
        };
        let made = SecondFactor::of_device(secret, code.expose(), self.seconds())?;
        let Some((factor, codes)) = made else {
            return Ok(None);
        };
        user.sealed.second_factor = Some(factor);
        let made = self.begin_anew(user, Action::SecondFactorSet).await?;
        Ok(Some((made, codes)))
    }

    /// Turns the second factor off; ends all other sign-ins.
    ///
    /// # Errors
    /// Another process changed the user meanwhile; the store fails.
    pub async fn turn_off_second_factor(&self, proven: VerifiedUser) -> Result<TokenWithSecret> {
        let VerifiedUser(mut user) = proven;
        user.sealed.second_factor = None;
        self.begin_anew(user, Action::SecondFactorRemoved).await
    }

    /// Replaces the recovery codes; `None` where there is no second factor.
    ///
    /// # Errors
    /// Another process changed the user meanwhile; the store fails.
    pub async fn renew_recovery_codes(
        &self,
        VerifiedUser(mut user): VerifiedUser,
    ) -> Result<Option<RecoveryCodes>> {
        let Some(factor) = &mut user.sealed.second_factor else {
            return Ok(None);
        };
        let codes = factor.renew_recovery()?;
        let actor = user.actor();
        let act = (Action::RecoveryCodesRenewed, &actor, None);
        self.write(&mut user, act).await?;
        Ok(Some(codes))
    }

    /// The current user, while this browser is signed in.
    async fn user_now(&self) -> Result<User> {
        let user = self.account.user_of(self.user.id, self.generation).await?;
        user.ok_or(Error::Changed)
    }

    async fn write(&self, user: &mut User, act: UserAct<'_>) -> Result<()> {
        match self.account.write_user(user, Some(act)).await {
            Err(Error::Store(memoir_store::Error::Conflict)) => Err(Error::Changed),
            written => written,
        }
    }

    /// Writes the user, ends all sign-ins, and signs this browser in again with the same expiry.
    async fn begin_anew(&self, mut user: User, action: Action) -> Result<TokenWithSecret> {
        // In one write: from then on no earlier sign-in is valid, even if this process ends before their rows are
        // revoked. It fails if another process changed the user, before any secret is returned.
        user.end_sign_ins();
        let (account, actor) = (&self.account, user.actor());
        let next = account.new_sign_in(&user, &actor, true, self.ends_at);
        let next = next.await?;
        self.write(&mut user, (action, &actor, Some(&next))).await?;
        account.revoke_sign_ins(&user, &actor).await;
        Ok(next.made)
    }

    fn seconds(&self) -> i64 {
        let now = self.account.memoir.now();
        now.microseconds().div_euclid(1_000_000)
    }

    fn offer(&self, secret: &FactorSecret, sealed: String) -> SecondFactorOffer {
        SecondFactorOffer {
            typed: secret.base32(),
            uri: secret.uri(&self.user.name),
            sealed,
        }
    }

    async fn offered_secret(&self, sealed: &str) -> Result<Option<FactorSecret>> {
        let Ok(sealed) = URL_SAFE_NO_PAD.decode(sealed) else {
            return Ok(None);
        };
        let (memoir, of) = (&self.account.memoir, (self.user.id, self.generation));
        let key = memoir.account_key(self.account.id).await?;
        let opened = memoir.open_passing(&key, Passing::SecondFactorOffer, of, &sealed);
        Ok(opened.and_then(|bytes| FactorSecret::from_bytes(&bytes)))
    }
}
