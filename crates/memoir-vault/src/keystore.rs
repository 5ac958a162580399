//! The key store: every key that is wrapped under the master key, in a place of its own ([`KeyRows`]).
//!
//! It is beside the database and not in it, so that a backup of the database holds no keys (SPEC 5.4). Several
//! processes may use it concurrently. A new key is on the disk before it is returned. Other processes use a destroyed
//! key for less than a second, and forget it when they next look up a key, of any agent. A destroyed key leaves a
//! tombstone, and an agent never gets a second one.
//!
//! Used keys are cached in memory. Each look-up checks the store for changes, which takes a microsecond; callers should
//! not look up a key for every row. Waiting for another process can take up to ten seconds, so an async caller first
//! tries [`KeyStore::cached`], and otherwise looks up the key on a thread that may block.
//!
//! Whether the installation is closed is stored here too, bound to the master key: with write access to the database or
//! to the configuration, a closed installation cannot be opened (SPEC 5.5).
//!
//! A change is written on the condition that the master key is the one that it was wrapped under. After a rotation by
//! another process, it loads the next master key from its file and retries.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod rows;
mod sqlite;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use memoir_domain::{AgentScope, Timestamp};
use parking_lot::Mutex;

use self::rows::{
    AgentKeyRow, Agents, Changes, ClosingRow, KeyRows, KeyStoreContents, LogRow, MasterRow,
};
pub use self::sqlite::SqliteKeys;
use crate::{
    AgentKey, Error, KeyId, MasterKey, Result,
    cipher::{Cipher, NONCE_BYTES},
    log::LogKey,
    master::staged_path,
    secret::{Secret, randomize},
    text::hex,
};

/// How often something is tried again that other processes overtook.
// Each loss means that another process got something done. A hundred in a row can only come from
// one that changes the key store without an end.
const ATTEMPTS: u32 = 100;
/// No agent: data of the key store itself are read each time.
const NO_AGENT: Agents<'_> = Agents::These(&[]);

/// The keys of all agents, and the one that signs the log. `Debug` prints where it is only.
#[derive(derive_more::Debug)]
#[debug("KeyStore {{ path: {:?}, .. }}", self.name())]
pub struct KeyStore {
    rows: Box<dyn KeyRows>,
    /// Where the master key can be read again after another process rotated it; `None` where it was given.
    key_file: Option<PathBuf>,
    /// Locked while a key is looked up that may be outdated, so that concurrent look-ups of the same one find it then.
    looking: Mutex<()>,
    held: Mutex<Held>,
}

struct Held {
    master: Arc<Master>,
    keys: HashMap<AgentScope, KnownKey>,
    /// The count of changes of the key store when this process last checked, or changed it itself. While it is the
    /// same, cached keys of the present generation are valid.
    changes: Changes,
    generation: u64,
}

/// The cached part of the master key.
struct Master {
    id: KeyId,
    wrapping: Cipher,
}

/// A key in memory, and when it was last found in the key store.
struct KnownKey {
    key: AgentKey,
    generation: u64,
}

/// The purpose of a wrapped key: it opens for no other.
enum WrappedKeyPurpose<'a> {
    Proof,
    Agent(AgentScope),
    Log(&'a str),
    Closing(Closing),
}

/// Whether the installation is closed, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// Whether only the agents may read their texts.
    pub is_closed: bool,
    /// When it was last closed or opened.
    pub changed_at: Timestamp,
}

#[derive(Clone, Copy)]
pub(crate) enum MasterKeySource<'a> {
    File(&'a Path),
    Given(&'a MasterKey),
}

impl KeyStore {
    /// Opens the key store in the file at `path`, or makes one for that master key. The folder must exist.
    ///
    /// # Errors
    /// [`Error::WrongMasterKey`], [`Error::Exposed`], [`Error::NotAKeyStore`], [`Error::Newer`] and
    /// [`Error::Inconsistent`] for a file that is not changed then; [`Error::File`] and those of the driver.
    pub fn open(path: &Path, master: &MasterKey) -> Result<Self> {
        Self::start(
            Box::new(SqliteKeys::open(path, true)?),
            MasterKeySource::Given(master),
            false,
        )
    }

    /// A new key store without a file, for tests and measurements: its keys are gone with it.
    ///
    /// # Errors
    /// [`Error::Random`]; those of the driver.
    pub fn in_memory(master: &MasterKey) -> Result<Self> {
        let rows = Box::new(SqliteKeys::in_memory()?);
        Self::start(rows, MasterKeySource::Given(master), false)
    }

    /// Opens the content with the master key that it needs: in its file, also if a rotation has staged one beside it.
    /// An empty place becomes a key store, unless it `must_exist`.
    pub(crate) fn start(
        rows: Box<dyn KeyRows>,
        source: MasterKeySource<'_>,
        must_exist: bool,
    ) -> Result<Self> {
        if rows.read(NO_AGENT)?.master.is_none() {
            if must_exist {
                return Err(Error::Missing(rows.name()));
            }
            let master = match source {
                MasterKeySource::File(path) => Master::of(&MasterKey::load_or_create(path)?),
                MasterKeySource::Given(master) => Master::of(master),
            };
            rows.fill(&KeyStoreContents {
                master: Some(master.entry()?),
                ..KeyStoreContents::default()
            })?;
        }
        let (key_file, given) = match source {
            MasterKeySource::File(path) => (Some(path), None),
            MasterKeySource::Given(master) => (None, Some(Arc::new(Master::of(master)))),
        };
        let master = find_master(&*rows, key_file, given.as_ref())?;
        let store = Self {
            key_file: key_file.map(Path::to_owned),
            looking: Mutex::default(),
            held: Mutex::new(Held {
                master,
                keys: HashMap::new(),
                changes: None,
                generation: 0,
            }),
            rows,
        };
        // The right key works wherever it is stored: failing to move it must not block the use of the keys. The next
        // start retries.
        let _ = store.finish_rotation();
        Ok(store)
    }

    /// The fingerprint of the master key that is held.
    pub fn key_id(&self) -> KeyId {
        self.held.lock().master.id
    }

    /// Where it is, for people.
    pub fn name(&self) -> String {
        self.rows.name()
    }

    /// The agent's key; `None` where it has none, or none any more.
    ///
    /// # Errors
    /// [`Error::WrongMasterKey`] where the key is not in memory and another process rotated the master
    /// key; [`Error::Replaced`]; [`Error::Inconsistent`]; those of the driver.
    pub fn key(&self, scope: AgentScope) -> Result<Option<AgentKey>> {
        // Without it, many tasks that miss the same key at the same time would each read the key store, one behind the
        // other at its lock. It is always taken before `held`, which is never kept while anything is waited for.
        let _turn = self.looking.lock();
        if let Some(key) = self.cached(scope)? {
            return Ok(Some(key));
        }
        self.with_master(|master| {
            let contents = self.rows.read(Agents::These(&[scope]))?;
            let wrapped = contents.agent(scope).and_then(|row| row.key.as_ref().ok());
            let (known, outdated) = {
                let held = self.held.lock();
                let known = held.keys.get(&scope).map(|known| known.key.clone());
                (known, held.outdated(contents.changes, scope))
            };
            // A key never changes, so that it need not be unwrapped again: perhaps it cannot be any more.
            let key = match (wrapped, known) {
                (None, _) => None,
                (Some(_), Some(key)) => Some(key),
                (Some(wrapped), None) => Some(self.open_agent(&contents, master, scope, wrapped)?),
            };
            let others = match outdated.is_empty() {
                true => KeyStoreContents::default(),
                // This key was read: the others are forgotten where that fails, and read again when they are needed.
                false => self.rows.read(Agents::These(&outdated)).unwrap_or_default(),
            };
            let mut held = self.held.lock();
            // The number that was read together with the key and not a later one: a key that is
            // destroyed between this read and the next question shows by it.
            held.notice(contents.changes);
            held.confirm(outdated, &others.agents);
            match &key {
                Some(key) => held.keep(scope, key),
                None => drop(held.keys.remove(&scope)),
            }
            Ok(key)
        })
    }

    /// The cached agent's key, if no other process has changed the key store since. Waits for no other process. `None`
    /// says nothing about the key: use [`KeyStore::key`], on a thread that may block.
    ///
    /// # Errors
    /// [`Error::Replaced`]; those of the driver.
    pub fn cached(&self, scope: AgentScope) -> Result<Option<AgentKey>> {
        let (key, changes) = {
            let held = self.held.lock();
            match held.keys.get(&scope) {
                Some(known) if known.generation == held.generation => {
                    (known.key.clone(), held.changes)
                }
                _ => return Ok(None),
            }
        };
        // The number is read after the cached key: a key that was destroyed before is not returned.
        Ok(is_as(self.rows.changes()?, changes).then_some(key))
    }

    /// The agent's key, which is made at `now` if it has none. It is on the disk before this returns. Concurrent
    /// processes all get the same key.
    ///
    /// # Errors
    /// [`Error::Destroyed`]: an agent whose key was destroyed gets no other one; else as for [`KeyStore::key`].
    pub fn create(&self, scope: AgentScope, now: Timestamp) -> Result<AgentKey> {
        // Not under one lock with the rest: of two concurrent callers, `add_agent` lets one make the key, and the other
        // is overtaken and finds it.
        if let Some(key) = self.key(scope)? {
            return Ok(key);
        }
        // Made once, outside of the retried part: an unused key is wiped with the secret.
        let secret = Secret::random()?;
        self.with_master(|master| {
            let contents = self.rows.read(Agents::These(&[scope]))?;
            match contents.agent(scope).map(|row| &row.key) {
                Some(Ok(made)) => return self.open_agent(&contents, master, scope, made),
                Some(Err(_)) => return Err(Error::Destroyed),
                None => {}
            }
            let row = AgentKeyRow {
                scope,
                created_at: now,
                key: Ok(master.wrap(&WrappedKeyPurpose::Agent(scope), &secret)?),
            };
            // On the disk before the key is returned: nothing may be sealed with a key that a power cut could lose.
            let written = self.rows.add_agent(master.id, &row)?;
            let key = AgentKey::new(scope, &secret);
            let mut held = self.held.lock();
            // Earlier changes by other processes invalidate all cached keys; this change alone does not, since it
            // touched no other key.
            held.notice(written.before);
            held.changes = written.after;
            held.keep(scope, &key);
            Ok(key)
        })
    }

    /// Destroys the agent's key at `now`: nothing that was sealed with it can be read again, except by a process that
    /// has it in memory. Returns whether it existed. A tombstone remains.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn destroy(&self, scope: AgentScope, now: Timestamp) -> Result<bool> {
        self.held.lock().keys.remove(&scope);
        // From the cache first: if the place fails, the key is only read again. `changes` is not updated, so that the
        // next check finds another number and trusts no cached key.
        self.rows.destroy(scope, now)
    }

    /// Writes a copy of the key store, as it is at one instant, into the file at `to`, which must be empty or not
    /// there. Keys that were destroyed are not in it.
    ///
    /// # Errors
    /// [`Error::Replaced`]; [`Error::Full`]; [`Error::File`]; those of the driver. A part of the copy may be at `to`
    /// then.
    pub fn back_up(&self, to: &Path) -> Result<()> {
        SqliteKeys::open(to, true)?.fill(&self.rows.read(Agents::All)?)
    }

    /// Copies everything into an empty place; returns the number of agents' keys. They remain here too: a key destroyed
    /// in one place is not destroyed in the other.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the place is not empty, or another process changes this key store meanwhile; else as for
    /// [`KeyStore::key`], and those of the place.
    pub fn copy_to(&self, place: &dyn KeyRows) -> Result<u64> {
        let contents = self.rows.read(Agents::All)?;
        let was_empty = place.read(NO_AGENT)?.master.is_none();
        if was_empty {
            place.fill(&contents)?;
        }
        let problem = match () {
            // Another process may have filled it first, and then nothing was copied.
            () if !was_empty || place.read(NO_AGENT)?.master != contents.master => {
                "it holds keys already"
            }
            // A key that was made since is not in the copy, and one that was destroyed since is.
            () if self.rows.read(NO_AGENT)?.changes != contents.changes => {
                "keys were made or destroyed while it was filled: end every process, empty it, and copy once more"
            }
            () => return Ok(contents.agents.iter().filter(|row| row.key.is_ok()).count() as u64),
        };
        Err(Error::Unusable {
            store: place.name(),
            problem: problem.to_owned(),
        })
    }

    /// Checks that the open key store is the one that other processes use too. Data sealed under a key of a removed
    /// file cannot be read once this process has ended.
    ///
    /// # Errors
    /// [`Error::Replaced`].
    pub fn check_there(&self) -> Result<()> {
        self.rows.check_there()
    }

    /// Checks that the key store responds; sends nothing if it has just responded.
    ///
    /// # Errors
    /// Those of the place.
    pub fn check_answers(&self) -> Result<()> {
        match self.rows.changes()? {
            Some(_) => Ok(()),
            None => self.needed().map(drop),
        }
    }

    /// Those of the agents with keys, in the order given.
    ///
    /// # Errors
    /// [`Error::Replaced`]; those of the driver.
    pub fn present(&self, scopes: &[AgentScope]) -> Result<Vec<AgentScope>> {
        let rows = self.rows.read(Agents::These(scopes))?.agents.into_iter();
        let present = rows.filter(|row| row.key.is_ok());
        // A set: each command asks for every agent that was ever erased.
        let present: HashSet<AgentScope> = present.map(|row| row.scope).collect();
        let scopes = scopes.iter().copied();
        Ok(scopes.filter(|scope| present.contains(scope)).collect())
    }

    /// All agents with keys, in no order, and the accounts' own logs among them.
    ///
    /// # Errors
    /// [`Error::Replaced`]; those of the driver.
    pub fn agents(&self) -> Result<Vec<AgentScope>> {
        let rows = self.rows.read(Agents::All)?.agents.into_iter();
        let present = rows.filter(|row| row.key.is_ok());
        Ok(present.map(|row| row.scope).collect())
    }

    /// Finishes an interrupted rotation: puts a staged master key that the key store needs in the place of the key
    /// file. Does nothing if the master key has no file.
    ///
    /// # Errors
    /// The key file cannot be replaced; else those of the driver.
    pub fn finish_rotation(&self) -> Result<()> {
        match &self.key_file {
            Some(key_file) if MasterKey::staged(key_file)?.is_some() => {
                let _turn = MasterKey::turn(key_file)?;
                self.finish(key_file)
            }
            _ => Ok(()),
        }
    }

    /// Whether a master key that the key store needs is staged, and not in the place of the key file yet.
    ///
    /// # Errors
    /// A file cannot be read; those of the driver.
    pub fn is_rotation_unfinished(&self) -> Result<bool> {
        let staged = self.key_file.as_deref().map(MasterKey::staged);
        match staged.transpose()? {
            Some(Some(staged)) => Ok(staged.key_id() == self.needed()?),
            _ => Ok(false),
        }
    }

    /// When the agent's key was destroyed; `None` where it is there, or never was.
    ///
    /// # Errors
    /// [`Error::Replaced`]; [`Error::Inconsistent`]; those of the driver.
    pub fn destroyed_at(&self, scope: AgentScope) -> Result<Option<Timestamp>> {
        let contents = self.rows.read(Agents::These(&[scope]))?;
        let key = contents.agent(scope).map(|row| &row.key);
        Ok(key.and_then(|key| key.as_ref().err().copied()))
    }

    /// The key that signs the log of this installation, which is made at `now` under a random name if there
    /// is none. All processes get the same one, and rotating the master key leaves it as it is.
    ///
    /// # Errors
    /// As for [`KeyStore::create`], but [`Error::Destroyed`].
    pub fn log(&self, now: Timestamp) -> Result<LogKey> {
        self.with_master(|master| {
            let contents = self.rows.read(NO_AGENT)?;
            if let Some(row) = &contents.log {
                self.check_wrapped_under(&contents, master)?;
                let seed = master.unwrap(&WrappedKeyPurpose::Log(&row.name), &row.wrapped)?;
                return log_key(&row.name, &seed);
            }
            let (name, seed) = (random_log_name()?, Secret::random()?);
            let row = LogRow {
                wrapped: master.wrap(&WrappedKeyPurpose::Log(&name), &seed)?,
                name,
                created_at: now,
            };
            self.rows.add_log(master.id, &row)?;
            log_key(&row.name, &seed)
        })
    }

    /// Whether the installation is closed; `None` if this was never set.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] where it was written without the master key; else as for [`KeyStore::key`].
    pub fn closing(&self) -> Result<Option<Closing>> {
        self.with_master(|master| {
            let contents = self.rows.read(NO_AGENT)?;
            let Some(row) = &contents.closing else {
                return Ok(None);
            };
            self.check_wrapped_under(&contents, master)?;
            master.unwrap(&WrappedKeyPurpose::Closing(row.closing), &row.wrapped)?;
            Ok(Some(row.closing))
        })
    }

    /// Closes the installation, or opens it. It is on the disk when this returns.
    ///
    /// # Errors
    /// As for [`KeyStore::log`].
    pub fn set_closing(&self, closing: Closing) -> Result<()> {
        self.with_master(|master| {
            // The wrapped secret is unused; that it opens proves that both values were written with the master key.
            let wrapped = master.wrap(&WrappedKeyPurpose::Closing(closing), &Secret::random()?)?;
            self.rows
                .set_closing(master.id, &ClosingRow { closing, wrapped })
        })
    }

    /// Wraps every key anew under `new`, all or none, and uses it from then on. Returns the number of keys; 0 if `new`
    /// is the key store's master key already. Other processes continue with their cached keys; for others they need the
    /// new master key, which those that were opened by [`crate::unlock()`] with a key file read there.
    ///
    /// The caller must have `new` in a safe place before this. Where the master key has a file, use
    /// [`KeyStore::rotate_key_file`].
    ///
    /// # Errors
    /// [`Error::WrongMasterKey`], [`Error::Inconsistent`], [`Error::Busy`] where others change the key store all the
    /// time, and those of the driver; nothing was changed then.
    pub fn rotate(&self, new: &MasterKey) -> Result<u64> {
        let new = Arc::new(Master::of(new));
        let wrapped = self.with_master(|old| {
            let mut contents = self.rows.read(Agents::All)?;
            let needed = contents.needed(&*self.rows)?;
            if needed.key_id == new.id {
                new.check_proof(needed)?;
                return Ok(0);
            }
            // Read with its count of changes, wrapped anew in memory, and written only if the count is still the same:
            // a key that another process makes or destroys in between costs only this attempt.
            self.check_wrapped_under(&contents, old)?;
            let wrapped = rewrap(&mut contents, old, &new)?;
            self.rows.rewrap(&contents)?;
            Ok(wrapped)
        })?;
        // Only now: everything is wrapped under it. The agents' keys are the same: the cached ones remain valid.
        self.held.lock().master = new;
        Ok(wrapped)
    }

    /// Makes the next master key, wraps all keys anew under it, and puts it in the place of `key_file`. Returns the
    /// fingerprint of the new key, and how many keys were wrapped. Can be repeated after any failure: it resumes where
    /// it stopped. Other processes that were opened with `key_file` follow by themselves.
    ///
    /// One process at a time makes, uses and moves a staged key, under `MasterKey::turn`, and moves it only once
    /// the key store needs it. So no two processes can conflict, and at every moment one of the two files holds the
    /// needed key. Before anything needs the staged key, the key file is replaced by itself once: if that fails, the
    /// staged key could not take its place either.
    ///
    /// # Errors
    /// [`Error::Irreplaceable`], [`Error::MasterKeyLost`] and [`Error::WrongMasterKey`] where `key_file` cannot be
    /// replaced or does not hold the key that is to be replaced: nothing was changed then. [`Error::Unresolved`] if only
    /// the last step is missing. Else as for [`MasterKey::load_or_create`] and [`KeyStore::rotate`].
    pub fn rotate_key_file(&self, key_file: &Path) -> Result<(KeyId, u64)> {
        let _turn = MasterKey::turn(key_file)?;
        self.finish(key_file)?;
        // A rotation by another process may have ended between the last check and this turn.
        self.follow()?;
        match fitting_file(key_file, self.key_id())? {
            Ok(present) => present.try_replacing(key_file)?,
            Err(held) => return Err(not_found(&*self.rows, key_file, self.key_id(), held)),
        }
        // On the disk before anything is wrapped under it. From here on until `finish` the key store may need
        // either file, and both exist.
        let new = MasterKey::stage(key_file)?;
        let wrapped = self.rotate(&new)?;
        self.finish(key_file).map_err(|_| Error::Unresolved {
            path: key_file.display().to_string(),
            staged: staged_path(key_file).display().to_string(),
        })?;
        Ok((new.key_id(), wrapped))
    }

    /// Puts a staged key in the place of the key file if it is the one that the key store needs. The caller has the
    /// [`MasterKey::turn`].
    fn finish(&self, key_file: &Path) -> Result<()> {
        match MasterKey::staged(key_file)? {
            Some(staged) if staged.key_id() == self.needed()? => MasterKey::promote(key_file),
            _ => Ok(()),
        }
    }

    /// The fingerprint of the master key that is needed now.
    fn needed(&self) -> Result<KeyId> {
        Ok(self.rows.read(NO_AGENT)?.needed(&*self.rows)?.key_id)
    }

    /// Does `work`, again with the master key that is needed then where another process overtook it.
    fn with_master<T>(&self, work: impl Fn(&Master) -> Result<T>) -> Result<T> {
        for _ in 0..ATTEMPTS {
            // Cloned out, so that the lock is not held while `work` waits for other processes.
            let master = self.held.lock().master.clone();
            match work(&master) {
                Err(Error::Overtaken) => self.follow()?,
                done => return done,
            }
        }
        Err(Error::Busy)
    }

    /// Makes sure that the master key held is the one that is needed now; fetches it from its file
    /// where another process has rotated it.
    fn follow(&self) -> Result<()> {
        let held = self.held.lock().master.clone();
        let found = find_master(&*self.rows, self.key_file.as_deref(), Some(&held))?;
        self.held.lock().master = found;
        Ok(())
    }

    fn check_wrapped_under(&self, contents: &KeyStoreContents, master: &Master) -> Result<()> {
        match contents.needed(&*self.rows)?.key_id == master.id {
            true => Ok(()),
            false => Err(Error::Overtaken),
        }
    }

    fn open_agent(
        &self,
        contents: &KeyStoreContents,
        master: &Master,
        scope: AgentScope,
        wrapped: &[u8],
    ) -> Result<AgentKey> {
        self.check_wrapped_under(contents, master)?;
        let secret = master.unwrap(&WrappedKeyPurpose::Agent(scope), wrapped)?;
        Ok(AgentKey::new(scope, &secret))
    }
}

impl Held {
    /// Records the count of changes of the key store; data cached before that must be read again.
    fn notice(&mut self, changes: Changes) {
        if !is_as(self.changes, changes) {
            self.changes = changes;
            self.generation += 1;
        }
    }

    /// The other cached keys that may have been destroyed, after so many changes.
    fn outdated(&self, changes: Changes, looked_up: AgentScope) -> Vec<AgentScope> {
        let is_same = is_as(self.changes, changes);
        let is_valid = |known: &KnownKey| is_same && known.generation == self.generation;
        let outdated = self.keys.iter().filter(|(_, known)| !is_valid(known));
        let outdated = outdated.map(|(scope, _)| *scope);
        outdated.filter(|scope| *scope != looked_up).collect()
    }

    /// Forgets those of the outdated keys that are not among the found ones.
    fn confirm(&mut self, outdated: Vec<AgentScope>, found: &[AgentKeyRow]) {
        let present = found.iter().filter(|row| row.key.is_ok());
        let present: HashSet<AgentScope> = present.map(|row| row.scope).collect();
        for scope in outdated {
            if !present.contains(&scope) {
                self.keys.remove(&scope);
            } else if let Some(known) = self.keys.get_mut(&scope) {
                known.generation = self.generation;
            }
        }
    }

    fn keep(&mut self, scope: AgentScope, key: &AgentKey) {
        let known = KnownKey {
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

    /// The row that identifies the master key in a key store.
    fn entry(&self) -> Result<MasterRow> {
        Ok(MasterRow {
            key_id: self.id,
            proof: self.wrap(&WrappedKeyPurpose::Proof, &Secret::random()?)?,
        })
    }

    /// The fingerprint only says which master key is needed; this shows that the one held is it.
    fn check_proof(&self, row: &MasterRow) -> Result<()> {
        self.unwrap(&WrappedKeyPurpose::Proof, &row.proof).map(drop)
    }

    fn wrap(&self, purpose: &WrappedKeyPurpose<'_>, secret: &Secret) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        randomize(&mut nonce)?;
        Ok(self
            .wrapping
            .seal(&nonce, &purpose.encode(), secret.expose()))
    }

    fn unwrap(&self, purpose: &WrappedKeyPurpose<'_>, wrapped: &[u8]) -> Result<Secret> {
        self.wrapping
            .open(&purpose.encode(), wrapped)
            .ok()
            .and_then(|plain| Secret::copied(&plain))
            .ok_or_else(|| {
                let (table, row) = purpose.row();
                inconsistent(table, format!("{row}: not wrapped for this place"))
            })
    }
}

impl WrappedKeyPurpose<'_> {
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

/// Whether nothing was changed between the two.
fn is_as(one: Changes, other: Changes) -> bool {
    one.is_some() && one == other
}

/// The master key that is needed: the one held, or the one in its file, which a rotation may have staged beside it.
fn find_master(
    rows: &dyn KeyRows,
    key_file: Option<&Path>,
    held: Option<&Arc<Master>>,
) -> Result<Arc<Master>> {
    let mut missed = None;
    // Not by `KeyStore::with_master`, which works under a master key that this finds: the store may not be open yet.
    for _ in 0..ATTEMPTS {
        let contents = rows.read(NO_AGENT)?;
        let needed = contents.needed(rows)?;
        // Two reads that need the same key, and no file with it in between: then it is missing. One read alone may have
        // read the files while a rotation moved one over the other.
        if let Some(error) = missed.take_if(|(id, _)| *id == needed.key_id) {
            return Err(error.1);
        }
        let found = match (held, key_file) {
            (Some(held), _) if held.id == needed.key_id => Ok(held.clone()),
            (_, Some(key_file)) => fitting_file(key_file, needed.key_id)?
                .map(|found| Arc::new(Master::of(&found)))
                .map_err(|id| not_found(rows, key_file, needed.key_id, id)),
            (Some(held), None) => Err(wrong_master(rows, needed.key_id, held.id)),
            (None, None) => Err(Error::Missing(rows.name())),
        };
        match found {
            Ok(found) => {
                // The fingerprint is not secret, and with write access to the key store any can be put there. Without
                // the proof, this process could make keys in a foreign key store.
                found.check_proof(needed)?;
                return Ok(found);
            }
            // It may have been rotated again while the files were read.
            Err(error) => missed = Some((needed.key_id, error)),
        }
    }
    Err(Error::Busy)
}

/// The key of that fingerprint: the staged one, or the one in the file; else the fingerprint of the latter. If the key
/// store still needs the same one afterwards, one of them fits, in any state of a rotation: a staged key that the key
/// store needs is only ever moved to the file that is read second.
fn fitting_file(key_file: &Path, needed: KeyId) -> Result<Result<MasterKey, Option<KeyId>>> {
    if let Some(staged) = MasterKey::staged(key_file)?
        && staged.key_id() == needed
    {
        return Ok(Ok(staged));
    }
    Ok(match MasterKey::load(key_file)? {
        Some(master) if master.key_id() == needed => Ok(master),
        other => Err(other.map(|master| master.key_id())),
    })
}

fn not_found(rows: &dyn KeyRows, key_file: &Path, wanted: KeyId, held: Option<KeyId>) -> Error {
    match held {
        Some(held) => wrong_master(rows, wanted, held),
        None => Error::MasterKeyLost {
            path: key_file.display().to_string(),
            store: rows.name(),
            wanted,
        },
    }
}

fn wrong_master(rows: &dyn KeyRows, wanted: KeyId, held: KeyId) -> Error {
    Error::WrongMasterKey {
        store: rows.name(),
        wanted,
        held,
    }
}

/// Random, so that the checkpoints of two installations are never taken for each other's.
fn random_log_name() -> Result<String> {
    let mut digits = [0; 8];
    randomize(&mut digits)?;
    Ok(format!("memoir/{}", hex(&digits).as_str()))
}

fn log_key(name: &str, seed: &Secret) -> Result<LogKey> {
    LogKey::from_seed(name, seed.expose())
        .map_err(|problem| inconsistent("log_key", format!("log {name}: {problem}")))
}

/// Wraps everything anew. How many keys these were.
fn rewrap(contents: &mut KeyStoreContents, old: &Master, new: &Master) -> Result<u64> {
    let mut count = 0;
    let mut rewrap = |purpose: WrappedKeyPurpose<'_>, wrapped: &mut Vec<u8>| -> Result<()> {
        count += 1;
        *wrapped = new.wrap(&purpose, &old.unwrap(&purpose, wrapped)?)?;
        Ok(())
    };
    for row in &mut contents.agents {
        if let Ok(wrapped) = &mut row.key {
            rewrap(WrappedKeyPurpose::Agent(row.scope), wrapped)?;
        }
    }
    if let Some(row) = &mut contents.log {
        rewrap(WrappedKeyPurpose::Log(&row.name), &mut row.wrapped)?;
    }
    if let Some(row) = &mut contents.closing {
        rewrap(WrappedKeyPurpose::Closing(row.closing), &mut row.wrapped)?;
    }
    contents.master = Some(new.entry()?);
    Ok(count)
}

fn inconsistent(table: &'static str, problem: String) -> Error {
    Error::Inconsistent { table, problem }
}

#[cfg(test)]
mod tests {
    use memoir_domain::{AccountId, AgentId};

    use super::*;

    #[test]
    fn spec_5_4_a_key_that_another_process_destroyed_is_forgotten_at_the_next_look_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.keys");
        let master = MasterKey::generate().unwrap();
        let open = || KeyStore::open(&path, &master).unwrap();
        let (one, other) = (open(), open());
        let now = Timestamp::from_microseconds(1).unwrap();
        let [destroyed, kept, third] = [1, 2, 3].map(|agent| AgentScope {
            account: AccountId::from_bytes([9; 16]),
            agent: AgentId::from_bytes([agent; 16]),
        });
        for scope in [destroyed, kept, third] {
            one.create(scope, now).unwrap();
            other.key(scope).unwrap().unwrap();
        }
        assert!(one.destroy(destroyed, now).unwrap());
        other.key(kept).unwrap().unwrap();
        assert!(!other.held.lock().keys.contains_key(&destroyed));
        // The others were found again by the same look-up.
        assert!(other.cached(third).unwrap().is_some());
    }
}
