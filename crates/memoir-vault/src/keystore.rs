//! The key store: every key that is wrapped under the master key, in a SQLite file of its own.
//!
//! It lies beside the database and not in it, so that a backup of the database holds no keys (SPEC 5.4).
//! Several processes may use it at once. What is made is on the disk before it is handed out; what is
//! destroyed is overwritten, and forgotten by the other processes at their next look.
//!
//! Keys are kept in memory once they were used. Each look asks the file whether it was changed since,
//! which takes a microsecond; do not look once a row. Waiting for another process can take up to ten
//! seconds, so an async caller asks for what is [`KeyStore::cached`], and looks from a thread that may
//! block where that is nothing.
//!
//! Whether the installation is closed lies here too, bound to the master key: whoever can write to the database or
//! to the configuration cannot open what was closed (SPEC 5.5).
//!
//! It has a rollback journal and `secure_delete`. A destroyed key leaves a tombstone, and an agent never gets
//! a second one. Where another program gave the file a write-ahead log, in which the count of changes says
//! nothing and destroyed keys would stay, keys are read each time and nothing is destroyed until it is
//! closed; where another file was put in its place, nothing is read.

mod counter;
mod file;
mod schema;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
};

use memoir_domain::{AgentScope, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use counter::{Changes, Counter};

use crate::{
    AgentKey, Error, KeyId, MasterKey, Result,
    cipher::{Cipher, NONCE_BYTES},
    log::LogKey,
    master::staged_path,
    secret::Secret,
    text::hex,
};

/// How often a thread that must not wait looks whether another one has gone.
const LOOKS_AT_LOCK: u32 = 64;
/// What stands for the file's name where there is no file.
const NO_PATH: &str = "in memory";

/// The keys of all agents, and the one that signs the log. `Debug` prints the file's name only.
pub struct KeyStore {
    /// `None` for one in memory.
    path: Option<PathBuf>,
    /// Which file it was when it was opened.
    identity: Option<(u64, u64)>,
    /// Where the master key can be read again after another process rotated it; `None` where it was
    /// given.
    key_file: Option<PathBuf>,
    counter: Counter,
    state: Mutex<State>,
}

struct State {
    connection: Connection,
    /// The form of the file when it was last looked at.
    looked: schema::Looked,
    master: Master,
    keys: HashMap<AgentScope, Known>,
    /// How often the file had been changed when this process last looked under the lock, or changed it
    /// itself. As long as that holds, keys of the present generation are as in the file.
    changes: Changes,
    generation: u64,
}

/// What is held of the master key.
struct Master {
    id: KeyId,
    wrapping: Cipher,
}

/// A key in memory, and when it was last found in the file.
struct Known {
    key: AgentKey,
    generation: u64,
}

/// What a wrapped key is for: it opens for nothing else.
enum Purpose<'a> {
    Proof,
    Agent(AgentScope),
    Log(&'a str),
    Closing(Closing),
}

/// Whether the installation is closed, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// Whether agents' words are shown to the agents only.
    pub is_closed: bool,
    /// When it was last closed or opened.
    pub changed_at: Timestamp,
}

impl KeyStore {
    /// Opens the key store at `path`, or makes one for that master key. The folder must exist.
    ///
    /// # Errors
    /// [`Error::WrongMasterKey`], [`Error::Exposed`], [`Error::NotAKeyStore`], [`Error::Newer`] and
    /// [`Error::Inconsistent`] for a file that is not changed then; [`Error::File`] and those of the
    /// driver.
    pub fn open(path: &Path, master: &MasterKey) -> Result<Self> {
        file::create(path)?;
        let held = Master::of(master);
        let connection = file::open(path, true, |fresh| held.enter(fresh))?;
        Self::start(connection, Some(path), None, |_| Ok(held))
    }

    /// A new key store without a file, for tests and measurements: its keys are gone with it.
    ///
    /// # Errors
    /// [`Error::Random`]; those of the driver.
    pub fn in_memory(master: &MasterKey) -> Result<Self> {
        let held = Master::of(master);
        let connection = file::open_in_memory(|fresh| held.enter(fresh))?;
        Self::start(connection, None, None, |_| Ok(held))
    }

    /// Opens the key store at `path`, which must be there.
    ///
    /// # Errors
    /// [`Error::Missing`]; else as for [`KeyStore::open`].
    pub fn open_existing(path: &Path, master: &MasterKey) -> Result<Self> {
        let connection = file::open(path, false, |_| Ok(()))?;
        Self::start(connection, Some(path), None, |_| Ok(Master::of(master)))
    }

    /// Opens the key store at `path` with the key in a file, or with the one that a rotation has staged
    /// beside it. Makes what is missing where there is no key store yet, unless it `must_exist`.
    pub(crate) fn open_with_key_file(
        path: &Path,
        key_file: &Path,
        must_exist: bool,
    ) -> Result<Self> {
        let nothing_to_enter = |_: &Connection| Ok(());
        let connection = match file::open(path, false, nothing_to_enter) {
            Err(Error::Missing(_)) if !must_exist => {
                let master = Master::of(&MasterKey::load_or_create(key_file)?);
                file::create(path)?;
                file::open(path, true, |fresh| master.enter(fresh))
            }
            opened => opened,
        }?;
        let find = |wanted| {
            let found = find_in_file(key_file, wanted, || path.display().to_string())?;
            Ok(Master::of(&found))
        };
        let store = Self::start(connection, Some(path), Some(key_file), find)?;
        if let Ok(Some(_)) = MasterKey::staged(key_file) {
            // The right key is held wherever it lies: what keeps it from its place must not keep anybody
            // from the keys. The next start tries again.
            let _ = store.settle_key_file(key_file);
        }
        Ok(store)
    }

    /// `find` gives the master key of that fingerprint; it is called while no other process can rotate.
    fn start(
        mut connection: Connection,
        path: Option<&Path>,
        key_file: Option<&Path>,
        find: impl FnOnce(KeyId) -> Result<Master>,
    ) -> Result<Self> {
        let transaction = connection.transaction()?;
        let mut looked = schema::Looked::default();
        schema::check(&transaction, &mut looked)?;
        let wanted = stored_id(&transaction)?;
        let master = find(wanted)?;
        if master.id != wanted {
            return Err(Error::WrongMasterKey {
                store: name_of(path),
                wanted,
                held: master.id,
            });
        }
        master.check_proof(&transaction)?;
        drop(transaction);
        let counter = Counter::of(path)?;
        Ok(Self {
            path: path.map(Path::to_owned),
            identity: path.and_then(file::identity),
            key_file: key_file.map(Path::to_owned),
            state: Mutex::new(State {
                connection,
                looked,
                master,
                keys: HashMap::new(),
                changes: counter.read()?,
                generation: 0,
            }),
            counter,
        })
    }

    /// The fingerprint of the master key that the key store at `path` needs; `None` where there is none.
    ///
    /// # Errors
    /// As for [`KeyStore::open`].
    pub fn wanted(path: &Path) -> Result<Option<KeyId>> {
        match file::open(path, false, |_| Ok(())) {
            Ok(connection) => stored_id(&connection).map(Some),
            Err(Error::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The fingerprint of the master key that is held.
    pub fn key_id(&self) -> KeyId {
        self.lock().master.id
    }

    /// The agent's key; `None` where it has none, or none any more.
    ///
    /// # Errors
    /// [`Error::WrongMasterKey`] where the key is not in memory and another process rotated the master
    /// key; [`Error::Replaced`]; [`Error::Inconsistent`]; those of the driver.
    pub fn key(&self, scope: AgentScope) -> Result<Option<AgentKey>> {
        let state = &mut *self.lock();
        self.check_place()?;
        if let Some(key) = state.fresh(scope)
            && self.counter.read()?.is_as(state.changes)
        {
            return Ok(Some(key));
        }
        let transaction = state.connection.transaction()?;
        let Some(wrapped) = wrapped(&transaction, scope)?.flatten() else {
            state.keys.remove(&scope);
            return Ok(None);
        };
        // A key never changes, so that it need not be unwrapped again: perhaps it cannot be any more.
        let key = match state.keys.get(&scope) {
            Some(known) => known.key.clone(),
            None => {
                self.follow(&transaction, &mut state.master)?;
                state.master.unwrap_agent(scope, &wrapped)?
            }
        };
        // The transaction has read: nobody changes the file before it ends.
        let changes = self.counter.read()?;
        drop(transaction);
        state.notice(changes);
        state.keep(scope, &key);
        Ok(Some(key))
    }

    /// The agent's key where that can be said at once: it is in memory, and no other process has changed
    /// the file since. Waits for no other process, and for another thread only while that looks too. `None`
    /// says nothing about the key: look with [`KeyStore::key`], from a thread that may block.
    ///
    /// # Errors
    /// [`Error::Replaced`]; those of the driver.
    pub fn cached(&self, scope: AgentScope) -> Result<Option<AgentKey>> {
        let Some(guard) = self.lock_at_once() else {
            return Ok(None);
        };
        let Some(key) = guard.fresh(scope) else {
            return Ok(None);
        };
        let changes = guard.changes;
        drop(guard);
        self.check_place()?;
        Ok(self.counter.read()?.is_as(changes).then_some(key))
    }

    /// The agent's key, which is made at `now` if it has none. It is on the disk before this returns.
    /// Where several processes do this at once, all get the same key.
    ///
    /// # Errors
    /// [`Error::Destroyed`]: an agent whose key was destroyed gets no other one; else as for
    /// [`KeyStore::key`].
    pub fn create(&self, scope: AgentScope, now: Timestamp) -> Result<AgentKey> {
        if let Some(key) = self.key(scope)? {
            return Ok(key);
        }
        let state = &mut *self.lock();
        let transaction = self.change(&mut state.connection, &mut state.looked)?;
        self.follow(&transaction, &mut state.master)?;
        match wrapped(&transaction, scope)? {
            Some(Some(made)) => return state.master.unwrap_agent(scope, &made),
            Some(None) => return Err(Error::Destroyed),
            None => {}
        }
        let secret = Secret::random()?;
        let wrapped = state.master.wrap(&Purpose::Agent(scope), &secret)?;
        let made = transaction.execute(
            "INSERT INTO agent_keys (account_id, agent_id, created_at, wrapped) VALUES (?1, ?2, ?3, ?4)",
            params![
                scope.account.as_bytes(),
                scope.agent.as_bytes(),
                now.microseconds(),
                wrapped
            ],
        )?;
        one(made, "agent_keys")?;
        let changes = self.counter.read()?;
        transaction.commit()?;
        state.notice(changes);
        state.changes = self.counter.after(changes);
        let key = AgentKey::new(scope, &secret);
        state.keep(scope, &key);
        Ok(key)
    }

    /// Destroys the agent's key at `now`: nothing that was sealed with it can be read again, except by
    /// who holds it in memory already. Whether it was there. That it was is remembered.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn destroy(&self, scope: AgentScope, now: Timestamp) -> Result<bool> {
        let state = &mut *self.lock();
        state.keys.remove(&scope);
        let transaction = self.change(&mut state.connection, &mut state.looked)?;
        let destroyed = transaction.execute(
            "UPDATE agent_keys SET wrapped = NULL, destroyed_at = ?3 \
             WHERE account_id = ?1 AND agent_id = ?2 AND wrapped IS NOT NULL",
            params![
                scope.account.as_bytes(),
                scope.agent.as_bytes(),
                now.microseconds()
            ],
        )?;
        if self::wrapped(&transaction, scope)?.flatten().is_some() {
            let problem = format!("agent {}: the key was not taken away", scope.agent);
            return Err(inconsistent("agent_keys", problem));
        }
        transaction.commit()?;
        Ok(destroyed > 0)
    }

    /// Writes a copy of the key store, as it is at one instant, into the file at `to`, which must be empty or not
    /// there. Keys that were destroyed are not in it.
    ///
    /// # Errors
    /// [`Error::Replaced`]; [`Error::Full`]; [`Error::File`] for a name that is not UTF-8; those of the driver. A
    /// part of the copy may be at `to` then.
    pub fn back_up(&self, to: &Path) -> Result<()> {
        let state = &mut *self.lock();
        self.check_place()?;
        let absolute = std::path::absolute(to).map_err(|error| Error::file(to, &error))?;
        let not_text = || Error::file(to, &std::io::ErrorKind::InvalidFilename.into());
        let absolute = absolute.to_str().ok_or_else(not_text)?;
        state.connection.execute("VACUUM INTO ?1", [absolute])?;
        Ok(())
    }

    /// Makes sure that the file that is open is the one that stands in its place: what is sealed under a key of
    /// a file that was taken away can be read by nobody once this process has ended.
    ///
    /// # Errors
    /// [`Error::Replaced`].
    pub fn check_there(&self) -> Result<()> {
        match self.path.as_deref().and_then(file::identity) == self.identity {
            true => Ok(()),
            false => Err(Error::Replaced(self.name())),
        }
    }

    /// Those of the agents whose keys are there, in the order given.
    ///
    /// # Errors
    /// [`Error::Replaced`]; those of the driver.
    pub fn present(&self, scopes: &[AgentScope]) -> Result<Vec<AgentScope>> {
        let state = &mut *self.lock();
        self.check_place()?;
        let transaction = state.connection.transaction()?;
        let mut present = Vec::new();
        for &scope in scopes {
            if wrapped(&transaction, scope)?.flatten().is_some() {
                present.push(scope);
            }
        }
        Ok(present)
    }

    /// Puts a master key that was staged, and that the key store needs, in the place of the key file: what an
    /// interrupted rotation left to be done. Does nothing where the master key has no file.
    ///
    /// # Errors
    /// The key file cannot be replaced; else those of the driver.
    pub fn finish_rotation(&self) -> Result<()> {
        match &self.key_file {
            Some(key_file) if MasterKey::staged(key_file)?.is_some() => {
                self.settle_key_file(key_file)
            }
            _ => Ok(()),
        }
    }

    /// Whether a master key that the key store needs is staged, and not in the place of the key file yet.
    ///
    /// # Errors
    /// A file cannot be read; those of the driver.
    pub fn is_rotation_unfinished(&self) -> Result<bool> {
        let Some(key_file) = &self.key_file else {
            return Ok(false);
        };
        let staged = MasterKey::staged(key_file)?;
        let wanted = stored_id(&self.lock().connection)?;
        Ok(staged.is_some_and(|staged| staged.key_id() == wanted))
    }

    /// When the agent's key was destroyed; `None` where it is there, or never was.
    ///
    /// # Errors
    /// [`Error::Replaced`]; [`Error::Inconsistent`]; those of the driver.
    pub fn destroyed_at(&self, scope: AgentScope) -> Result<Option<Timestamp>> {
        self.check_place()?;
        let microseconds: Option<i64> = self
            .lock()
            .connection
            .prepare_cached(
                "SELECT destroyed_at FROM agent_keys WHERE account_id = ?1 AND agent_id = ?2",
            )?
            .query_row(
                params![scope.account.as_bytes(), scope.agent.as_bytes()],
                |row| row.get(0),
            )
            .optional()?
            .flatten();
        microseconds
            .map(|microseconds| {
                Timestamp::from_microseconds(microseconds).ok_or_else(|| {
                    inconsistent("agent_keys", format!("agent {}: no time", scope.agent))
                })
            })
            .transpose()
    }

    /// The key that signs the log of this installation, which is made at `now` under a random name if there
    /// is none. All processes get the same one, and rotating the master key leaves it as it is.
    ///
    /// # Errors
    /// As for [`KeyStore::create`], but [`Error::Destroyed`].
    pub fn log(&self, now: Timestamp) -> Result<LogKey> {
        let state = &mut *self.lock();
        let transaction = self.change(&mut state.connection, &mut state.looked)?;
        self.follow(&transaction, &mut state.master)?;
        if let Some((name, wrapped)) = wrapped_log(&transaction)? {
            let seed = state.master.unwrap(&Purpose::Log(&name), &wrapped)?;
            return log_key(&name, &seed);
        }
        let (name, seed) = (random_log_name()?, Secret::random()?);
        let made = transaction.execute(
            "INSERT INTO log_key (id, name, created_at, wrapped) VALUES (1, ?1, ?2, ?3)",
            params![
                name,
                now.microseconds(),
                state.master.wrap(&Purpose::Log(&name), &seed)?
            ],
        )?;
        one(made, "log_key")?;
        transaction.commit()?;
        log_key(&name, &seed)
    }

    /// Whether the installation is closed; `None` while nobody has said either.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] where it was written without the master key; else as for [`KeyStore::key`].
    pub fn closing(&self) -> Result<Option<Closing>> {
        let state = &mut *self.lock();
        self.check_place()?;
        let transaction = state.connection.transaction()?;
        let Some((closing, wrapped)) = stored_closing(&transaction)? else {
            return Ok(None);
        };
        self.follow(&transaction, &mut state.master)?;
        state.master.unwrap(&Purpose::Closing(closing), &wrapped)?;
        Ok(Some(closing))
    }

    /// Closes the installation, or opens it. It is on the disk when this returns.
    ///
    /// # Errors
    /// As for [`KeyStore::log`].
    pub fn set_closing(&self, closing: Closing) -> Result<()> {
        let state = &mut *self.lock();
        let transaction = self.change(&mut state.connection, &mut state.looked)?;
        self.follow(&transaction, &mut state.master)?;
        let wrapped = state
            .master
            .wrap(&Purpose::Closing(closing), &Secret::random()?)?;
        let written = transaction.execute(
            "INSERT INTO closing (id, is_closed, changed_at, wrapped) VALUES (1, ?1, ?2, ?3) \
             ON CONFLICT (id) DO UPDATE SET is_closed = excluded.is_closed, \
                 changed_at = excluded.changed_at, wrapped = excluded.wrapped",
            params![
                closing.is_closed,
                closing.changed_at.microseconds(),
                wrapped
            ],
        )?;
        one(written, "closing")?;
        Ok(transaction.commit()?)
    }

    /// Wraps every key anew under `new`, all or none, and goes on with it. How many keys these were; 0
    /// where `new` is the key store's master key already. Other processes go on with the keys that they
    /// have in memory; for others they need the new master key, which those that were opened by
    /// [`crate::unlock()`] with a key file fetch there.
    ///
    /// The caller must have `new` in a safe place before this. Where the master key has a file, use
    /// [`crate::rotate_key_file`].
    ///
    /// # Errors
    /// [`Error::WrongMasterKey`], [`Error::Inconsistent`] and those of the driver; nothing was changed
    /// then.
    pub fn rotate(&self, new: &MasterKey) -> Result<u64> {
        let state = &mut *self.lock();
        let new = Master::of(new);
        let transaction = self.change(&mut state.connection, &mut state.looked)?;
        if stored_id(&transaction)? == new.id {
            new.check_proof(&transaction)?;
            state.master = new;
            return Ok(0);
        }
        self.follow(&transaction, &mut state.master)?;
        let wrapped = rewrap(&transaction, &state.master, &new)?;
        transaction.commit()?;
        state.master = new;
        Ok(wrapped)
    }

    /// As [`KeyStore::rotate`], with a next key that is staged beside `key_file` and then takes its
    /// place.
    ///
    /// A staged key is made, used and moved only while the key store is locked for writing, and moved
    /// only once the key store needs it. So no two processes can cross each other, and at every moment
    /// one of the two files holds the key that is needed. Before anything needs the staged key, the key
    /// file is replaced by itself once: where that fails, the staged key could not take its place either.
    pub(crate) fn rotate_key_file(&self, key_file: &Path) -> Result<(KeyId, u64)> {
        let state = &mut *self.lock();
        let transaction = self.change(&mut state.connection, &mut state.looked)?;
        settle(&transaction, key_file)?;
        self.follow(&transaction, &mut state.master)?;
        find_in_file(key_file, state.master.id, || self.name())?.try_replacing(key_file)?;
        let new = Master::of(&MasterKey::stage(key_file)?);
        let wrapped = rewrap(&transaction, &state.master, &new)?;
        transaction.commit()?;
        let id = new.id;
        state.master = new;
        let settled = self
            .change(&mut state.connection, &mut state.looked)
            .and_then(|transaction| settle(&transaction, key_file));
        settled.map_err(|_| Error::Unsettled {
            path: key_file.display().to_string(),
            staged: staged_path(key_file).display().to_string(),
        })?;
        Ok((id, wrapped))
    }

    /// Ends a rotation that was interrupted after the keys had been wrapped anew.
    fn settle_key_file(&self, key_file: &Path) -> Result<()> {
        let state = &mut *self.lock();
        settle(
            &self.change(&mut state.connection, &mut state.looked)?,
            key_file,
        )
    }

    /// Goes on with the master key that another process rotated to.
    ///
    /// # Errors
    /// [`Error::WrongMasterKey`]; the one that was held stays then.
    pub fn adopt(&self, master: &MasterKey) -> Result<()> {
        let state = &mut *self.lock();
        let transaction = state.connection.transaction()?;
        let master = Master::of(master);
        let wanted = stored_id(&transaction)?;
        if wanted != master.id {
            return Err(self.wrong_master(wanted, master.id));
        }
        master.check_proof(&transaction)?;
        state.master = master;
        Ok(())
    }

    /// The lock where nobody has it, or somebody who gives it back in a moment: another thread that looks
    /// has it for a few microseconds, and waking a third one that may wait takes many times as long.
    fn lock_at_once(&self) -> Option<MutexGuard<'_, State>> {
        for _ in 0..LOOKS_AT_LOCK {
            match self.state.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves nothing half-done here: what SQLite has begun is rolled back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that the master key held is the one that the file needs now; fetches it from its file
    /// where another process has rotated it.
    fn follow(&self, connection: &Connection, master: &mut Master) -> Result<()> {
        let wanted = stored_id(connection)?;
        if wanted == master.id {
            return Ok(());
        }
        let found = match &self.key_file {
            Some(key_file) => fitting_file(key_file, wanted)?.ok(),
            None => None,
        };
        let found = Master::of(&found.ok_or_else(|| self.wrong_master(wanted, master.id))?);
        found.check_proof(connection)?;
        *master = found;
        Ok(())
    }

    fn wrong_master(&self, wanted: KeyId, held: KeyId) -> Error {
        Error::WrongMasterKey {
            store: self.name(),
            wanted,
            held,
        }
    }

    /// For people.
    fn name(&self) -> String {
        name_of(self.path.as_deref())
    }

    /// Another file that stands in the place of the one that is open is the one in which others destroy
    /// keys. Where there is none, nobody can.
    fn check_place(&self) -> Result<()> {
        match self.path.as_deref().and_then(file::identity) {
            Some(found) if Some(found) != self.identity => Err(Error::Replaced(self.name())),
            _ => Ok(()),
        }
    }

    /// A transaction that waits for its turn to write before it reads, so that what was read still holds.
    fn change<'a>(
        &self,
        connection: &'a mut Connection,
        looked: &mut schema::Looked,
    ) -> Result<Transaction<'a>> {
        if !self.counter.read()?.are_counted() {
            file::give_up_log(connection)?;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.check_there()?;
        // Nobody can give it a log before the transaction ends.
        if !self.counter.read()?.are_counted() {
            return Err(Error::Logged(self.name()));
        }
        schema::check(&transaction, looked)?;
        Ok(transaction)
    }
}

impl fmt::Debug for KeyStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyStore")
            .field("path", &self.name())
            .finish_non_exhaustive()
    }
}

impl State {
    /// A key that was in the file when it had been changed as often as [`State::changes`] says.
    fn fresh(&self, scope: AgentScope) -> Option<AgentKey> {
        let known = self.keys.get(&scope)?;
        (known.generation == self.generation).then(|| known.key.clone())
    }

    /// Takes down how often the file was changed; what is known from before that is to be looked for
    /// again.
    fn notice(&mut self, changes: Changes) {
        if !self.changes.is_as(changes) {
            self.changes = changes;
            self.generation += 1;
        }
    }

    fn keep(&mut self, scope: AgentScope, key: &AgentKey) {
        let known = Known {
            key: key.clone(),
            generation: self.generation,
        };
        self.keys.insert(scope, known);
    }
}

impl Master {
    fn of(key: &MasterKey) -> Self {
        Self {
            id: key.key_id(),
            wrapping: key.wrapping(),
        }
    }

    /// Says in a new key store whose it is.
    fn enter(&self, connection: &Connection) -> Result<()> {
        let entered = connection.execute(
            "INSERT INTO master (id, key_id, proof) VALUES (1, ?1, ?2)",
            params![
                self.id.as_bytes(),
                self.wrap(&Purpose::Proof, &Secret::random()?)?
            ],
        )?;
        one(entered, "master")
    }

    /// The fingerprint only says which master key is needed; this shows that the one held is it.
    fn check_proof(&self, connection: &Connection) -> Result<()> {
        let proof: Vec<u8> =
            connection.query_row("SELECT proof FROM master", [], |row| row.get(0))?;
        self.unwrap(&Purpose::Proof, &proof).map(drop)
    }

    fn wrap(&self, purpose: &Purpose<'_>, secret: &Secret) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| Error::Random)?;
        Ok(self
            .wrapping
            .seal(&nonce, &purpose.encode(), secret.expose()))
    }

    fn unwrap(&self, purpose: &Purpose<'_>, wrapped: &[u8]) -> Result<Secret> {
        self.wrapping
            .open(&purpose.encode(), wrapped)
            .ok()
            .and_then(|plain| Secret::copied(&plain))
            .ok_or_else(|| {
                let (table, row) = purpose.row();
                inconsistent(table, format!("{row}: not wrapped for this place"))
            })
    }

    fn unwrap_agent(&self, scope: AgentScope, wrapped: &[u8]) -> Result<AgentKey> {
        let secret = self.unwrap(&Purpose::Agent(scope), wrapped)?;
        Ok(AgentKey::new(scope, &secret))
    }
}

impl Purpose<'_> {
    /// The associated data. The first part says how the rest is to be read.
    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Proof => b"master/proof".to_vec(),
            Self::Agent(scope) => [
                b"agent/".as_slice(),
                scope.account.as_bytes(),
                scope.agent.as_bytes(),
            ]
            .concat(),
            Self::Log(name) => [b"log/".as_slice(), name.as_bytes()].concat(),
            Self::Closing(closing) => [
                b"closing/".as_slice(),
                &[u8::from(closing.is_closed)],
                &closing.changed_at.microseconds().to_be_bytes(),
            ]
            .concat(),
        }
    }

    /// For errors: table and row.
    fn row(&self) -> (&'static str, String) {
        match self {
            Self::Proof => ("master", "proof".to_owned()),
            Self::Agent(scope) => ("agent_keys", format!("agent {}", scope.agent)),
            Self::Log(name) => ("log_key", format!("log {name}")),
            Self::Closing(_) => ("closing", "its row".to_owned()),
        }
    }
}

/// The key of that fingerprint: the staged one, or the one in the file; else the fingerprint of the latter.
/// While the key store is locked for reading, one of them fits, in whatever state a rotation is: a staged
/// key that the key store needs is only ever moved to the file that is looked at second.
fn fitting_file(key_file: &Path, wanted: KeyId) -> Result<Result<MasterKey, Option<KeyId>>> {
    if let Some(staged) = MasterKey::staged(key_file)?
        && staged.key_id() == wanted
    {
        return Ok(Ok(staged));
    }
    Ok(match MasterKey::load(key_file)? {
        Some(master) if master.key_id() == wanted => Ok(master),
        other => Err(other.map(|master| master.key_id())),
    })
}

/// As [`fitting_file`], where none fits with an error. `store` names the key store.
fn find_in_file(key_file: &Path, wanted: KeyId, store: impl Fn() -> String) -> Result<MasterKey> {
    fitting_file(key_file, wanted)?.map_err(|held| match held {
        Some(held) => Error::WrongMasterKey {
            store: store(),
            wanted,
            held,
        },
        None => Error::MasterKeyLost {
            path: key_file.display().to_string(),
            store: store(),
            wanted,
        },
    })
}

/// Puts a staged key in the place of the key file if it is the one that the key store needs. The
/// transaction keeps other processes from doing so at the same time.
fn settle(transaction: &Transaction<'_>, key_file: &Path) -> Result<()> {
    match MasterKey::staged(key_file)? {
        Some(staged) if staged.key_id() == stored_id(transaction)? => MasterKey::promote(key_file),
        _ => Ok(()),
    }
}

fn stored_id(connection: &Connection) -> Result<KeyId> {
    let id = connection
        .prepare_cached("SELECT key_id FROM master")?
        .query_row([], |row| row.get(0))
        .optional()?
        .ok_or_else(|| inconsistent("master", "no row".to_owned()))?;
    Ok(KeyId::from_bytes(id))
}

/// `None` where the agent never had a key, `Some(None)` where it was destroyed.
fn wrapped(connection: &Connection, scope: AgentScope) -> Result<Option<Option<Vec<u8>>>> {
    Ok(connection
        .prepare_cached("SELECT wrapped FROM agent_keys WHERE account_id = ?1 AND agent_id = ?2")?
        .query_row(
            params![scope.account.as_bytes(), scope.agent.as_bytes()],
            |row| row.get(0),
        )
        .optional()?)
}

/// The name and the wrapped key of the log; `None` where there is none yet.
fn wrapped_log(connection: &Connection) -> Result<Option<(String, Vec<u8>)>> {
    Ok(connection
        .query_row("SELECT name, wrapped FROM log_key", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?)
}

/// Whether the installation is closed, unchecked, and what shows it; `None` while nobody has said either.
fn stored_closing(connection: &Connection) -> Result<Option<(Closing, Vec<u8>)>> {
    let row: Option<(bool, i64, Vec<u8>)> = connection
        .query_row(
            "SELECT is_closed, changed_at, wrapped FROM closing",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    row.map(|(is_closed, changed_at, wrapped)| {
        let changed_at = Timestamp::from_microseconds(changed_at)
            .ok_or_else(|| inconsistent("closing", "its row: no time".to_owned()))?;
        let closing = Closing {
            is_closed,
            changed_at,
        };
        Ok((closing, wrapped))
    })
    .transpose()
}

/// Random, so that the checkpoints of two installations are never taken for each other's.
fn random_log_name() -> Result<String> {
    let mut digits = [0; 8];
    getrandom::fill(&mut digits).map_err(|_| Error::Random)?;
    Ok(format!("memoir/{}", hex(&digits).as_str()))
}

fn log_key(name: &str, seed: &Secret) -> Result<LogKey> {
    LogKey::from_seed(name, seed.expose())
        .map_err(|problem| inconsistent("log_key", format!("log {name}: {problem}")))
}

/// For people.
fn name_of(path: Option<&Path>) -> String {
    path.map_or_else(|| NO_PATH.to_owned(), |path| path.display().to_string())
}

fn rewrap(connection: &Connection, old: &Master, new: &Master) -> Result<u64> {
    let mut count = 0;
    let mut rewrapped = |purpose: Purpose<'_>, wrapped: &[u8]| {
        count += 1;
        new.wrap(&purpose, &old.unwrap(&purpose, wrapped)?)
    };
    // Gathered before anything is changed: a statement must not walk what it changes.
    let agents: Vec<([u8; 16], [u8; 16], Vec<u8>)> = connection
        .prepare("SELECT account_id, agent_id, wrapped FROM agent_keys WHERE wrapped IS NOT NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (account, agent, wrapped) in agents {
        let scope = AgentScope {
            account: memoir_domain::AccountId::from_bytes(account),
            agent: memoir_domain::AgentId::from_bytes(agent),
        };
        let written = connection
            .prepare_cached(
                "UPDATE agent_keys SET wrapped = ?3 WHERE account_id = ?1 AND agent_id = ?2",
            )?
            .execute(params![
                account,
                agent,
                rewrapped(Purpose::Agent(scope), &wrapped)?
            ])?;
        one(written, "agent_keys")?;
    }
    if let Some((name, wrapped)) = wrapped_log(connection)? {
        let written = connection.execute(
            "UPDATE log_key SET wrapped = ?1",
            [rewrapped(Purpose::Log(&name), &wrapped)?],
        )?;
        one(written, "log_key")?;
    }
    if let Some((closing, wrapped)) = stored_closing(connection)? {
        let written = connection.execute(
            "UPDATE closing SET wrapped = ?1",
            [rewrapped(Purpose::Closing(closing), &wrapped)?],
        )?;
        one(written, "closing")?;
    }
    connection.execute("DELETE FROM master", [])?;
    new.enter(connection)?;
    Ok(count)
}

/// Makes sure that a statement wrote the one row that it was to write.
fn one(written: usize, table: &'static str) -> Result<()> {
    if written == 1 {
        return Ok(());
    }
    Err(inconsistent(
        table,
        format!("{written} rows were written in place of one"),
    ))
}

fn inconsistent(table: &'static str, problem: String) -> Error {
    Error::Inconsistent { table, problem }
}
