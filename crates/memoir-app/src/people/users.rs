//! Administrators with names and passwords, and with a second factor where they have set one up (SPEC 5.5).
//!
//! Everything about a user is in one document, in which password and second factor are sealed. One that was changed, or
//! put in another's place, is rejected and signs no user in. Each change is written over the version that it was
//! decided on.
//!
//! The seal is under a key of the account. Each change is recorded in the account's log (`account_log.rs`), with the
//! same write. A user whose row was put back, with an old password, is not signed in, and verification names it.

use memoir_domain::{
    AccountId, PrivateText, Timestamp, UserId,
    account::Note,
    agent,
    audit::{Action, Actor},
    memory::Invalid,
};
use memoir_store::{UserColumns, UserRow};
use memoir_vault::{
    AgentKey, KeyStore,
    password::Password,
    seal::SealedRow,
    second_factor::{SecondFactor, Verdict},
};
use serde::{Deserialize, Serialize};

use crate::{
    core::{
        Account, CONFLICT, Error, Memoir, Result, again,
        codec::{Sealer, document},
        parallel::run_beside,
    },
    people::access::UnwrittenToken,
};

/// What precedes a user's name in the name of the actor.
const AS_ACTOR: &str = "user ";

/// A user without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct UserView {
    pub id: UserId,
    pub name: String,
    pub created_at: Timestamp,
    /// Whether signing in requires a code too; `None` for a row that Memoir did not write.
    pub second_factor: Option<bool>,
}

impl UserView {
    /// The user as an actor.
    pub fn actor(&self) -> Actor {
        Actor::administrator(format!("{AS_ACTOR}{}", self.name))
    }
}

#[derive(Clone, Copy)]
enum UserPlace {
    New,
    /// A new row, if no account has a user yet.
    First,
    /// In the place of this version.
    Over(u64),
}

/// The action that is recorded with a change of a user, its actor, and the user's sign-in that begins with it.
pub(crate) type UserAct<'a> = (Action, &'a Actor, Option<&'a UnwrittenToken<'a>>);

/// A user whose row Memoir wrote.
pub(crate) struct User {
    pub(crate) id: UserId,
    account: AccountId,
    version: u64,
    pub(crate) open: OpenUser,
    pub(crate) sealed: SealedUser,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct OpenUser {
    pub(crate) name: String,
    folded_name: String,
    /// The generation of the valid sign-ins.
    pub(crate) generation: u64,
    created_at: Timestamp,
    removed_at: Option<Timestamp>,
    /// The place of its latest record in the account's log; 0 where there is none.
    #[serde(default)]
    pub(crate) seq: u64,
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SealedUser {
    /// With its parameters and salt, as a PHC string; empty once the user is removed.
    pub(crate) password_hash: String,
    /// `None` where a password is enough.
    #[serde(default, with = "second_factor")]
    pub(crate) second_factor: Option<SecondFactor>,
}

mod second_factor {
    use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
    use memoir_vault::second_factor::SecondFactor;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use zeroize::Zeroizing;

    pub(super) fn serialize<S: Serializer>(
        factor: &Option<SecondFactor>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let letters = factor
            .as_ref()
            .map(|factor| Zeroizing::new(STANDARD_NO_PAD.encode(factor.to_bytes())));
        let letters = letters.as_ref().map(|letters| letters.as_str());
        letters.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SecondFactor>, D::Error> {
        let Some(letters) = Option::<String>::deserialize(deserializer)?.map(Zeroizing::new) else {
            return Ok(None);
        };
        let bytes = STANDARD_NO_PAD
            .decode(letters.as_bytes())
            .map(Zeroizing::new);
        let factor = bytes
            .ok()
            .and_then(|bytes| SecondFactor::from_bytes(&bytes));
        factor
            .map(Some)
            .ok_or_else(|| D::Error::custom("no second factor"))
    }
}

impl OpenUser {
    fn columns(&self) -> UserColumns {
        UserColumns {
            folded_name: self.folded_name.clone(),
            created_at: self.created_at,
            removed_at: self.removed_at,
        }
    }
}

impl User {
    pub(crate) fn view(&self) -> UserView {
        UserView {
            id: self.id,
            name: self.open.name.clone(),
            created_at: self.open.created_at,
            second_factor: Some(self.sealed.second_factor.is_some()),
        }
    }

    pub(crate) fn actor(&self) -> Actor {
        self.view().actor()
    }

    pub(crate) fn may_sign_in(&self) -> bool {
        self.open.removed_at.is_none()
    }

    /// Makes all earlier sign-ins of the user invalid, complete or not.
    pub(crate) fn end_sign_ins(&mut self) {
        self.open.generation += 1;
    }

    fn row(&self, sealer: &Sealer<'_>) -> Result<UserRow> {
        let row = SealedRow::User(self.id);
        Ok(UserRow {
            id: self.id,
            account: self.account,
            columns: self.open.columns(),
            document: sealer.document(row, self.version, &self.open, &self.sealed)?,
        })
    }
}

/// A text as a new password.
///
/// # Errors
/// It is too short or too long.
pub fn new_password(text: &PrivateText) -> Result<Password> {
    let password = Password::from_text(text.expose());
    Ok(password.map_err(|error| Invalid::new("password", error.to_string()))?)
}

/// The hash of a password, which is slow.
pub(crate) async fn hash_of(password: Password) -> Result<String> {
    Ok(run_beside(move || password.hash()).await??)
}

/// Whether the password matches the hash; `None` takes as long.
pub(crate) async fn fits(password: Password, hash: Option<String>) -> Result<bool> {
    run_beside(move || password.fits(hash.as_deref())).await
}

impl Memoir {
    /// When the user who is this actor was created: whatever was asked for before under that name was asked for by a
    /// removed user. The earliest time for an actor who is no user.
    pub(crate) async fn user_since(&self, account: AccountId, actor: &Actor) -> Result<Timestamp> {
        let Some(name) = actor.name.strip_prefix(AS_ACTOR) else {
            return Ok(Timestamp::MIN);
        };
        let folded = agent::fold_name(name);
        let row = self.store.user_named(account, &folded).await?;
        Ok(row.map_or(Timestamp::MIN, |row| row.columns.created_at))
    }

    /// Whether the database has an administrator with a name.
    ///
    /// # Errors
    /// The store fails.
    pub async fn has_users(&self) -> Result<bool> {
        Ok(self.store.has_users().await?)
    }

    /// Makes sure that requests can be carried out: that the database and the key store respond, and the former can be
    /// written.
    ///
    /// # Errors
    /// One of them does not respond, or the database cannot be written.
    pub async fn check_ready(&self) -> Result<()> {
        self.store.check_ready().await?;
        self.keys.ask(KeyStore::check_answers).await
    }

    async fn user_row(&self, user: &User) -> Result<UserRow> {
        // If the key store was replaced, data sealed now would be unreadable once this process has ended.
        self.keys.check_there()?;
        let key = self.account_key(user.account).await?;
        user.row(&self.sealer(&key))
    }
}

pub(crate) fn open(key: &AgentKey, row: &UserRow) -> Result<User> {
    let place = SealedRow::User(row.id);
    let (open, sealed): (OpenUser, SealedUser) = document::open(key, place, &row.document)?;
    document::check_columns(place, row.document.version, &row.columns, &open.columns())?;
    Ok(User {
        id: row.id,
        account: row.account,
        version: row.document.version,
        open,
        sealed,
    })
}

/// The user of a row that Memoir did not write, as the row describes it: it signs no user in.
fn unbelieved(row: &UserRow) -> User {
    let open: Option<OpenUser> = document::read(SealedRow::User(row.id), &row.document.open).ok();
    let columns = &row.columns;
    User {
        id: row.id,
        account: row.account,
        version: row.document.version,
        open: OpenUser {
            name: open.map_or_else(|| columns.folded_name.clone(), |open| open.name),
            folded_name: columns.folded_name.clone(),
            generation: 0,
            created_at: columns.created_at,
            removed_at: columns.removed_at,
            seq: 0,
        },
        sealed: SealedUser::default(),
    }
}

/// As [`open`]; `None` for a row that Memoir did not write, which is logged.
pub(crate) fn believed(key: &AgentKey, row: &UserRow) -> Option<User> {
    open(key, row)
        .inspect_err(|error| tracing::error!(%error, "a user row is invalid"))
        .ok()
}

impl Account {
    /// Makes an administrator of the account with a name and a password.
    ///
    /// # Errors
    /// The name is not allowed, or is taken; the store fails.
    pub async fn create_user(
        &self,
        name: &str,
        password: Password,
        actor: &Actor,
    ) -> Result<UserView> {
        let user = self.new_user(name, password).await?;
        let made = self.make_user(user, UserPlace::New, Some(actor)).await?;
        // Only one that is to be the first may be refused.
        made.ok_or(Error::Contended)
    }

    /// As [`Account::create_user`], where no account ever had an administrator; `None` where one had. It is its own
    /// actor.
    ///
    /// # Errors
    /// The name is not allowed; the store fails.
    pub async fn create_first_user(
        &self,
        name: &str,
        password: Password,
    ) -> Result<Option<UserView>> {
        // The store checks this again as it writes, so that of two simultaneous callers only one makes the first user.
        if self.memoir.ever_had_users().await? {
            return Ok(None);
        }
        let user = self.new_user(name, password).await?;
        self.make_user(user, UserPlace::First, None).await
    }

    /// Writes a new user, with its record, and closes the installation with the first one. `None` where it was to be
    /// the first one and is not.
    async fn make_user(
        &self,
        mut user: User,
        place: UserPlace,
        actor: Option<&Actor>,
    ) -> Result<Option<UserView>> {
        let (view, own) = (user.view(), user.actor());
        let actor = actor.unwrap_or(&own);
        let note = Note {
            name: Some(&view.name),
            ..Note::of_user(Action::UserCreated, user.id, user.version, actor)
        };
        let made = self.write_with_record(&mut user, place, &note, None).await;
        let is_made = made.map_err(|error| match error {
            Error::Store(memoir_store::Error::NameTaken) => Error::NameTaken(view.name.clone()),
            error => error,
        })?;
        // If this fails, `Memoir::finish` does it; until then the user's row has the same effect. An error would say that
        // the user was not made.
        if let Err(error) = self.memoir.close_where_unsaid().await {
            tracing::error!(%error, "the installation is not marked as closed");
        }
        Ok(is_made.then_some(view))
    }

    async fn new_user(&self, name: &str, password: Password) -> Result<User> {
        let name = agent::parse_name(name)?;
        Ok(User {
            id: self.memoir.ids().draw(UserId::from_bytes)?,
            account: self.id,
            version: 1,
            open: OpenUser {
                folded_name: agent::fold_name(&name),
                name,
                generation: 0,
                created_at: self.memoir.now(),
                removed_at: None,
                seq: 0,
            },
            sealed: SealedUser {
                password_hash: hash_of(password).await?,
                second_factor: None,
            },
        })
    }

    /// The account's administrators, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn users(&self) -> Result<Vec<UserView>> {
        let key = self.memoir.account_key(self.id).await?;
        let rows = self.memoir.store.users(self.id).await?;
        let view = |row: &UserRow| match believed(&key, row) {
            Some(user) => user.view(),
            None => UserView {
                second_factor: None,
                ..unbelieved(row).view()
            },
        };
        Ok(rows.iter().map(view).collect())
    }

    /// Sets another password of an administrator, for the machine's owner; ends all sign-ins. The second factor stays.
    ///
    /// # Errors
    /// [`Error::NoUser`]; Memoir did not write the row; the store fails.
    pub async fn set_password(
        &self,
        name: &str,
        password: Password,
        actor: &Actor,
    ) -> Result<UserView> {
        let id = self.user_id(name).await?;
        // Once, before the decision, which may be repeated: it is slow on purpose.
        let hash = hash_of(password).await?;
        let act = (Action::PasswordChanged, actor, None);
        let change = |user: &mut User| user.sealed.password_hash.clone_from(&hash);
        self.change_user(id, open, act, change).await
    }

    /// Removes an administrator's second factor whose device is lost, for the owner of the machine. Ends all sign-ins.
    ///
    /// # Errors
    /// As [`Account::set_password`].
    pub async fn reset_second_factor(&self, name: &str, actor: &Actor) -> Result<UserView> {
        let id = self.user_id(name).await?;
        let act = (Action::SecondFactorRemoved, actor, None);
        self.change_user(id, open, act, |user| user.sealed.second_factor = None)
            .await
    }

    /// Removes an administrator: ends the sign-ins, revokes access grants and requests, disconnects connected programs,
    /// and frees the name.
    ///
    /// # Errors
    /// [`Error::LastUser`], so that a closed installation always has a user who can sign in; [`Error::NoUser`]; the
    /// store fails. The user may be removed all the same, and all is ended that can be: what is left opens nothing.
    pub async fn remove_user(&self, name: &str, actor: &Actor) -> Result<UserView> {
        let id = self.user_id(name).await?;
        let now = self.memoir.now();
        // Also one whose row is rejected: there is no other way to remove it.
        let any = |key: &AgentKey, row: &UserRow| {
            Ok(believed(key, row).unwrap_or_else(|| unbelieved(row)))
        };
        let act = (Action::UserRemoved, actor, None);
        // The row first: from then on it signs no user in, and anything that a crash leaves opens nothing, since
        // sign-ins and connections check the user each time.
        let changed = self.change_user(id, any, act, |user| {
            user.open.removed_at = Some(now);
            // The hash goes with the user: it is useless, and it can be guessed at.
            user.sealed = SealedUser::default();
        });
        let view = changed.await?;
        let access = self.end_access_of(&view.actor()).await;
        let connections = self.end_connections_of(view.id, actor).await;
        match access.and(connections) {
            // This error would say that the user was not removed.
            Err(error) if error.is_passing() || matches!(error, Error::Contended) => {
                tracing::error!(user = %view.id, %error, "access of a removed user was not ended");
            }
            ended => ended?,
        }
        Ok(view)
    }

    async fn user_id(&self, name: &str) -> Result<UserId> {
        let folded = agent::fold_name(name.trim());
        let row = self.memoir.store.user_named(self.id, &folded).await?;
        let row = row.ok_or_else(|| Error::NoUser(name.to_owned()))?;
        Ok(row.id)
    }

    /// The administrator of that name and password; `None` where there is none, after the same time.
    ///
    /// # Errors
    /// The store fails.
    pub async fn with_password(&self, name: &str, password: Password) -> Result<Option<UserView>> {
        let found = self.find_user(name, password).await?;
        Ok(found.map(|user| user.view()))
    }

    /// The user of that name and password; `None` where there is none, after the same time.
    pub(crate) async fn find_user(&self, name: &str, password: Password) -> Result<Option<User>> {
        let folded = agent::fold_name(name.trim());
        let row = self.memoir.store.user_named(self.id, &folded).await?;
        let key = self.memoir.account_key(self.id).await?;
        let user = row.and_then(|row| believed(&key, &row));
        let hash = user.as_ref().map(|user| user.sealed.password_hash.clone());
        // The password is checked even where there is no such user, so that the response time does not show it.
        let fits = fits(password, hash).await?;
        let Some(user) = user else { return Ok(None) };
        if !fits {
            self.note_failure(user.id).await;
            return Ok(None);
        }
        // A row that changed during the check of the password was not put back.
        again(|| async {
            let row = self.memoir.store.user(self.id, user.id).await?;
            let row = row.filter(|row| row.columns.removed_at.is_none());
            let now = row.and_then(|row| believed(&key, &row));
            // By the hash, which has a salt: setting the same password again changes it.
            let is_judged = |now: &User| now.sealed.password_hash == user.sealed.password_hash;
            let Some(now) = now.filter(is_judged) else {
                return Ok(None);
            };
            if !self.is_put_back(&now).await? {
                return Ok(Some(now));
            }
            let row = self.memoir.store.user(self.id, user.id).await?;
            // The log was read after the row: if both were written in between, the row was older, and all is read anew.
            match row.is_some_and(|row| row.document.version == now.version) {
                true => Ok(None),
                false => Err(CONFLICT),
            }
        })
        .await
    }

    /// The user of that identifier, while it may sign in and `generation` is valid.
    pub(crate) async fn user_of(&self, id: UserId, generation: u64) -> Result<Option<User>> {
        let found = self.present_user(id).await?;
        Ok(found.filter(|user| user.open.generation == generation))
    }

    /// The user of that identifier, where it was made and not removed since.
    pub(crate) async fn present_user(&self, id: UserId) -> Result<Option<User>> {
        let Some(row) = self.memoir.store.user(self.id, id).await? else {
            return Ok(None);
        };
        let key = self.memoir.account_key(self.id).await?;
        Ok(believed(&key, &row).filter(User::may_sign_in))
    }

    /// Changes a user, as `read` reads it, and ends all sign-ins; retries where another process was faster.
    async fn change_user(
        &self,
        id: UserId,
        read: impl Fn(&AgentKey, &UserRow) -> Result<User>,
        act: UserAct<'_>,
        change: impl Fn(&mut User),
    ) -> Result<UserView> {
        let key = self.memoir.account_key(self.id).await?;
        let user = again(|| async {
            let row = self.memoir.store.user(self.id, id).await?;
            let row = row.filter(|row| row.columns.removed_at.is_none());
            let row = row.ok_or_else(|| Error::NoUser(id.to_string()))?;
            let mut user = read(&key, &row)?;
            change(&mut user);
            user.end_sign_ins();
            self.write_user(&mut user, Some(act)).await?;
            Ok(user)
        })
        .await?;
        self.revoke_sign_ins(&user, act.1).await;
        Ok(user.view())
    }

    /// Writes a user over the version that it was read at, with the act. It is a conflict where another process changed
    /// the user meanwhile, and [`Error::LastUser`] for the last one.
    pub(crate) async fn write_user(&self, user: &mut User, act: Option<UserAct<'_>>) -> Result<()> {
        let store = &self.memoir.store;
        let read_at = user.version;
        user.version += 1;
        let is_written = match act {
            None => {
                store
                    .put_user(&self.memoir.user_row(user).await?, None)
                    .await?
            }
            Some((action, actor, sign_in)) => {
                let note = Note::of_user(action, user.id, user.version, actor);
                let place = UserPlace::Over(read_at);
                let written = self.write_with_record(user, place, &note, sign_in);
                written.await?
            }
        };
        match is_written {
            true => Ok(()),
            false => Err(Error::LastUser(user.open.name.clone())),
        }
    }

    /// Writes a user's row, which names the place of its record, with that record and the sign-in, all or nothing.
    /// Retries after another write in the log, which is no change of the user. Returns whether it was written: not a
    /// first user where there is one, nor the removal of the last.
    ///
    /// # Errors
    /// A conflict, where another process changed the user meanwhile; the name is taken; the store fails.
    async fn write_with_record(
        &self,
        user: &mut User,
        place: UserPlace,
        note: &Note<'_>,
        sign_in: Option<&UnwrittenToken<'_>>,
    ) -> Result<bool> {
        let store = &self.memoir.store;
        let read_at = match place {
            UserPlace::New | UserPlace::First => None,
            UserPlace::Over(version) => Some(version),
        };
        // Not by `again`: a conflict is retried only where it came from the log. After a change of the user's row the
        // decision is outdated, and the caller must decide anew.
        for _ in 0..crate::core::ATTEMPTS {
            let (commit, seq) = self.with_record(note, sign_in).await?;
            user.open.seq = seq;
            let row = self.memoir.user_row(user).await?;
            let written = match place {
                UserPlace::First => store.create_user(&row, true, Some(commit)).await,
                UserPlace::New => store.create_user(&row, false, Some(commit)).await,
                UserPlace::Over(_) => store.put_user(&row, Some(commit)).await,
            };
            match written {
                Err(memoir_store::Error::Conflict) => {
                    let found = store.user(self.id, user.id).await?;
                    if found.map(|found| found.document.version) != read_at {
                        return Err(CONFLICT);
                    }
                }
                written => return Ok(written?),
            }
        }
        Err(Error::Contended)
    }

    /// Whether a code is valid for that user, who has a second factor. Its effects are written before, so that of two
    /// that send the same code one succeeds. `None` for the user where earlier checks, such as that of the password,
    /// are outdated.
    pub(crate) async fn check_code(
        &self,
        id: UserId,
        generation: u64,
        code: &PrivateText,
    ) -> Result<(Verdict, Option<User>)> {
        // The time of the code is read once, and stays the same if the write is repeated.
        let seconds = self.memoir.now().microseconds().div_euclid(1_000_000);
        again(|| async {
            let Some(mut user) = self.user_of(id, generation).await? else {
                return Ok((Verdict::Wrong, None));
            };
            let Some(factor) = &mut user.sealed.second_factor else {
                return Ok((Verdict::Wrong, None));
            };
            let recovery = factor.recovery_left();
            let verdict = factor.check(code.expose(), seconds);
            let is_recovery = factor.recovery_left() < recovery;
            // Nothing was checked, so nothing is counted or used up.
            if !matches!(verdict, Verdict::Wait { .. }) {
                let actor = user.actor();
                let act = is_recovery.then_some((Action::RecoveryCodeUsed, &actor, None));
                self.write_user(&mut user, act).await?;
            }
            if verdict == Verdict::Wrong {
                self.note_failure(id).await;
            }
            Ok((verdict, Some(user)))
        })
        .await
    }
}
