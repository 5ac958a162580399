//! Administrators with names and passwords, and with a second factor where they have set one up (SPEC 5.5).
//!
//! Everything about a user is in one row, whose seal covers all columns and holds the second factor: one
//! that was changed, or put in another's place, is not believed, and then nobody signs in by it. Each change
//! is written over the version that it was decided on.

use memoir_domain::{PrivateText, Timestamp, UserId, agent, audit::Actor, memory::Invalid};
use memoir_store::{StoredText, UserRow};
use memoir_vault::{
    AgentKey,
    password::Password,
    seal::{OpenError, Place, Row},
    second_factor::{SecondFactor, Verdict},
};
use serde::Serialize;

use crate::{Account, Error, Memoir, Result, access::time_bytes};

/// A user as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the wire")]
pub struct UserView {
    pub id: UserId,
    pub name: String,
    pub created_at: Timestamp,
    /// Whether signing in takes a code too; `None` where the row is not as Memoir wrote it.
    pub second_factor: Option<bool>,
}

impl UserView {
    /// The user as an actor.
    pub fn actor(&self) -> Actor {
        Actor::administrator(format!("user {}", self.name))
    }
}

/// A user whose row is as Memoir wrote it.
pub(crate) struct User {
    pub(crate) row: UserRow,
    /// `None` where a password is enough.
    pub(crate) factor: Option<SecondFactor>,
}

impl User {
    pub(crate) fn view(&self) -> UserView {
        UserView {
            id: self.row.id,
            name: self.row.name.clone(),
            created_at: self.row.created_at,
            second_factor: Some(self.factor.is_some()),
        }
    }

    /// Makes all that the user signed in for so far, wholly or by half, count no more.
    pub(crate) fn end_sign_ins(&mut self) {
        self.row.generation += 1;
    }
}

/// That a text may be a password.
///
/// # Errors
/// It is too short or too long.
pub fn check_new_password(text: &PrivateText) -> Result<()> {
    new_password(text).map(drop)
}

pub(crate) fn new_password(text: &PrivateText) -> Result<Password> {
    let password = Password::from_text(text.expose());
    Ok(password.map_err(|error| Invalid::new("password", error.to_string()))?)
}

/// The hash of a password, which takes a while.
pub(crate) async fn hash_of(password: Password) -> Result<String> {
    let hash = tokio::task::spawn_blocking(move || password.hash());
    Ok(hash.await.map_err(|_| Error::Random)??)
}

/// Whether the password is that of the hash; `None` takes as long.
pub(crate) async fn fits(password: Password, hash: Option<String>) -> Result<bool> {
    let fits = tokio::task::spawn_blocking(move || password.fits(hash.as_deref()));
    fits.await.map_err(|_| Error::Random)
}

impl Memoir {
    /// Whether text on this machine is for agents alone: once there was an administrator with a name.
    ///
    /// # Errors
    /// The store fails.
    pub async fn has_users(&self) -> Result<bool> {
        Ok(self.store.has_users().await?)
    }

    /// Seals what the row's columns say, with the second factor.
    fn seal_user(&self, key: &AgentKey, user: &mut User) -> Result<()> {
        let bytes = user.factor.as_ref().map(SecondFactor::to_bytes);
        let plain = bytes.as_ref().map_or(&[][..], |bytes| bytes.as_slice());
        let row = &mut user.row;
        let sealed = key.seal(&place(row), &columns(row), plain, self.nonce()?);
        row.seal = StoredText(sealed);
        Ok(())
    }
}

/// The user of a row.
///
/// # Errors
/// The row is not as Memoir wrote it.
pub(crate) fn open(key: &AgentKey, row: UserRow) -> Result<User, OpenError> {
    let opened = key.open(&place(&row), &columns(&row), &row.seal.0)?;
    let factor = match opened.as_slice() {
        [] => None,
        bytes => {
            let factor = SecondFactor::from_bytes(bytes);
            Some(factor.ok_or(OpenError::Short(place(&row)))?)
        }
    };
    Ok(User { row, factor })
}

/// As [`open`]; `None` where the row is not as Memoir wrote it, which the log tells.
pub(crate) fn believed(key: &AgentKey, row: UserRow) -> Option<User> {
    open(key, row)
        .inspect_err(|error| tracing::error!(%error, "a user is not believed"))
        .ok()
}

impl Account {
    /// Makes an administrator of the account with a name and a password.
    ///
    /// # Errors
    /// The name is not allowed, or is taken; the store fails.
    pub async fn create_user(&self, name: &str, password: Password) -> Result<UserView> {
        let user = self.new_user(name, password).await?;
        match self.memoir.store.create_user(&user.row).await {
            Err(memoir_store::Error::NameTaken) => Err(Error::NameTaken(user.row.name)),
            other => Ok(other.map(|()| user.view())?),
        }
    }

    /// As [`Account::create_user`], where no account has an administrator yet; `None` where one has.
    ///
    /// # Errors
    /// The name is not allowed; the store fails.
    pub async fn create_first_user(
        &self,
        name: &str,
        password: Password,
    ) -> Result<Option<UserView>> {
        let user = self.new_user(name, password).await?;
        let is_made = self.memoir.store.create_first_user(&user.row).await?;
        Ok(is_made.then(|| user.view()))
    }

    async fn new_user(&self, name: &str, password: Password) -> Result<User> {
        let name = agent::parse_name(name)?;
        let row = UserRow {
            id: self.memoir.ids().user()?,
            account: self.id,
            folded_name: agent::fold_name(&name),
            name,
            version: 1,
            generation: 0,
            password_hash: hash_of(password).await?,
            created_at: self.memoir.now(),
            removed_at: None,
            seal: StoredText::default(),
        };
        let key = self.memoir.account_key(self.id).await?;
        let mut user = User { row, factor: None };
        self.memoir.seal_user(&key, &mut user)?;
        Ok(user)
    }

    /// The account's administrators, oldest first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn users(&self) -> Result<Vec<UserView>> {
        let key = self.memoir.account_key(self.id).await?;
        let rows = self.memoir.store.users(self.id).await?;
        let view = |row: UserRow| {
            let unbelieved = UserView {
                id: row.id,
                name: row.name.clone(),
                created_at: row.created_at,
                second_factor: None,
            };
            believed(&key, row).map_or(unbelieved, |user| user.view())
        };
        Ok(rows.into_iter().map(view).collect())
    }

    /// Gives an administrator another password, for the owner of the machine; ends all that was signed in
    /// for. The second factor stays.
    ///
    /// # Errors
    /// [`Error::NoUser`]; the row is not as Memoir wrote it; the store fails.
    pub async fn set_password(&self, name: &str, password: Password) -> Result<UserView> {
        let id = self.user_id(name).await?;
        let hash = hash_of(password).await?;
        let changed = self.change_user(id, |user| {
            user.row.password_hash.clone_from(&hash);
            user.end_sign_ins();
        });
        self.without_sign_ins(changed.await?).await
    }

    /// Takes an administrator's second factor away, for the owner of the machine: its device is lost. Ends
    /// all that was signed in for.
    ///
    /// # Errors
    /// As [`Account::set_password`].
    pub async fn reset_second_factor(&self, name: &str) -> Result<UserView> {
        let id = self.user_id(name).await?;
        let changed = self.change_user(id, |user| {
            user.factor = None;
            user.end_sign_ins();
        });
        self.without_sign_ins(changed.await?).await
    }

    /// Removes an administrator: what was signed in for is over, what agents let them see or were asked for is
    /// taken back, and the name is free.
    ///
    /// # Errors
    /// [`Error::LastUser`], so that an installation that is closed is not left with nobody who could sign in;
    /// [`Error::NoUser`]; the store fails.
    pub async fn remove_user(&self, name: &str) -> Result<UserView> {
        let id = self.user_id(name).await?;
        let now = self.memoir.now();
        // Also one whose row is not believed: there is no other way to be rid of it.
        let any = |key: &AgentKey, row: UserRow| {
            let found = believed(key, row.clone());
            Ok(found.unwrap_or(User { row, factor: None }))
        };
        let changed = self.change_read_user(id, any, |user| {
            user.row.removed_at = Some(now);
            user.row.password_hash.clear();
            user.factor = None;
            user.end_sign_ins();
        });
        let view = self.without_sign_ins(changed.await?).await?;
        self.end_access_of(&view.actor()).await?;
        Ok(view)
    }

    async fn without_sign_ins(&self, user: User) -> Result<UserView> {
        self.revoke_sign_ins(&user).await?;
        Ok(user.view())
    }

    async fn user_id(&self, name: &str) -> Result<UserId> {
        let folded = agent::fold_name(name.trim());
        let row = self.memoir.store.user_named(self.id, &folded).await?;
        let row = row.ok_or_else(|| Error::NoUser(name.to_owned()))?;
        Ok(row.id)
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
    pub(crate) async fn find_user(&self, name: &str, password: Password) -> Result<Option<User>> {
        let folded = agent::fold_name(name.trim());
        let row = self.memoir.store.user_named(self.id, &folded).await?;
        let key = self.memoir.account_key(self.id).await?;
        let user = row.and_then(|row| believed(&key, row));
        let hash = user.as_ref().map(|user| user.row.password_hash.clone());
        let fits = fits(password, hash).await?;
        Ok(user.filter(|_| fits))
    }

    /// The user of that identifier, while it may sign in and all of `generation` counts.
    pub(crate) async fn user_of(&self, id: UserId, generation: u64) -> Result<Option<User>> {
        let Some(row) = self.memoir.store.user(self.id, id).await? else {
            return Ok(None);
        };
        let key = self.memoir.account_key(self.id).await?;
        let counts =
            |user: &User| user.row.removed_at.is_none() && user.row.generation == generation;
        Ok(believed(&key, row).filter(counts))
    }

    /// Changes a user, again where somebody else was faster.
    async fn change_user(&self, id: UserId, change: impl Fn(&mut User)) -> Result<User> {
        self.change_read_user(id, open, change).await
    }

    /// As [`Account::change_user`], of a row that is read in a way of one's own.
    async fn change_read_user(
        &self,
        id: UserId,
        read: impl Fn(&AgentKey, UserRow) -> Result<User, OpenError>,
        change: impl Fn(&mut User),
    ) -> Result<User> {
        let key = self.memoir.account_key(self.id).await?;
        for _ in 0..crate::ATTEMPTS {
            let row = self.memoir.store.user(self.id, id).await?;
            let row = row.filter(|row| row.removed_at.is_none());
            let row = row.ok_or_else(|| Error::NoUser(id.to_string()))?;
            let mut user = read(&key, row)?;
            change(&mut user);
            if self.write_user(&mut user).await? {
                return Ok(user);
            }
        }
        Err(Error::Contended)
    }

    /// Writes a user over the version that it was read at; whether nobody else was faster.
    ///
    /// # Errors
    /// [`Error::LastUser`]; the store fails.
    pub(crate) async fn write_user(&self, user: &mut User) -> Result<bool> {
        let key = self.memoir.account_key(self.id).await?;
        user.row.version += 1;
        self.memoir.seal_user(&key, user)?;
        match self.memoir.store.put_user(&user.row).await {
            Ok(true) => Ok(true),
            Ok(false) => Err(Error::LastUser(user.row.name.clone())),
            Err(memoir_store::Error::Conflict) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a code counts for that user, who has a second factor; what it changes is written before, so
    /// that of two who send the same code one is let in. `None` for the user where all that was found out
    /// about it, the password say, counts no more.
    pub(crate) async fn check_code(
        &self,
        id: UserId,
        generation: u64,
        code: &PrivateText,
    ) -> Result<(Verdict, Option<User>)> {
        let seconds = self.memoir.now().microseconds().div_euclid(1_000_000);
        for _ in 0..crate::ATTEMPTS {
            let Some(mut user) = self.user_of(id, generation).await? else {
                return Ok((Verdict::Wrong, None));
            };
            let Some(factor) = &mut user.factor else {
                return Ok((Verdict::Wrong, None));
            };
            let verdict = factor.check(code.expose(), seconds);
            let is_settled = match verdict {
                Verdict::Wait { .. } => true,
                Verdict::Right | Verdict::Wrong => self.write_user(&mut user).await?,
            };
            if is_settled {
                return Ok((verdict, Some(user)));
            }
        }
        Err(Error::Contended)
    }
}

fn place(row: &UserRow) -> Place {
    Place {
        row: Row::User(row.id),
        version: row.version,
    }
}

/// All columns but the version, which the place has; the one of no fixed length comes last.
fn columns(row: &UserRow) -> Vec<u8> {
    [
        row.account.as_bytes().as_slice(),
        &time_bytes(row.created_at),
        &row.removed_at.map_or([0; 9], time_bytes),
        &row.generation.to_be_bytes(),
        &(row.name.len() as u64).to_be_bytes(),
        row.name.as_bytes(),
        &(row.folded_name.len() as u64).to_be_bytes(),
        row.folded_name.as_bytes(),
        row.password_hash.as_bytes(),
    ]
    .concat()
}
