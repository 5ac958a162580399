//! Small files of JSON in the user's state directory: one for each session of a host, and one for each transcript. They
//! are for their owner only, and hold no texts. A process locks a file while it decides about it.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use etcetera::{BaseStrategy, base_strategy::Xdg};
use memoir_domain::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{database, failure::Failure, private_file};

/// How long the state of a session without further events is kept.
const KEPT: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// An agent, by which its part of a session's state is found: a digest of where its memory is and of its name. Every
/// command that reaches the same agent has the same one, whichever options name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct AgentKey(String);

impl AgentKey {
    /// Of an agent in that installation or behind that service. Names ignore case (SPEC 2.2).
    pub(super) fn of(place: &str, agent: &str) -> Self {
        let place = place.trim_end_matches('/');
        Self(format!("{:016x}", hash(&(place, agent.to_lowercase()))))
    }
}

/// A file's content, locked against other processes. Without a file, as by default, it is kept nowhere.
#[derive(Default)]
pub(super) struct LockedState<T> {
    file: Option<File>,
    length: usize,
    pub(super) kept: T,
}

impl<T: Default + Serialize + DeserializeOwned> LockedState<T> {
    /// Opens the file, once other processes have released it.
    pub(super) fn lock(path: &Path) -> Result<Self, Failure> {
        let problem = |error| Failure::file("open", path, &error);
        private_file::make_private_folder(private_file::folder_of(path)).map_err(problem)?;
        let mut options = private_file::new_for_owner();
        // The file is not truncated here, since it is read once it is locked.
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(path).map_err(problem)?;
        // Without a limit: the watching thread ends a hook that waits too long.
        file.lock().map_err(problem)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(problem)?;
        Ok(Self {
            file: Some(file),
            length: text.len(),
            // A truncated file starts the session anew: at worst a memory is shown twice.
            kept: serde_json::from_slice(&text).unwrap_or_default(),
        })
    }

    /// Writes the file, and releases it.
    pub(super) fn keep(mut self) -> Result<(), Failure> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let (kept, length) = (&self.kept, self.length);
        let mut write = || -> io::Result<()> {
            let mut text = serde_json::to_vec(kept)?;
            // Trailing spaces are valid in JSON; truncating a file waits for the disk on some systems.
            text.resize(text.len().max(length), b' ');
            file.rewind()?;
            file.write_all(&text)
        };
        write().map_err(|error| Failure::new(format!("cannot write the session's state: {error}")))
    }
}

/// Reads a file without its lock; the default where another process is just writing it, or where it is missing.
pub(crate) fn peek<T: Default + DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Deletes the old files of a folder, except those that are still needed.
pub(super) fn forget_old(folder: &Path, now: Timestamp, is_needed: impl Fn(&Path) -> bool) {
    // A file that cannot be read now is removed another time.
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = file.path();
        if is_older(&path, now, KEPT) && !is_needed(&path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether a file was last written longer ago than that; false for a missing one.
pub(super) fn is_older(path: &Path, now: Timestamp, than: Duration) -> bool {
    let written = fs::metadata(path).and_then(|found| found.modified());
    written.is_ok_and(|written| {
        std::time::SystemTime::from(now.to_jiff())
            .duration_since(written)
            // A file from the future has no age.
            .is_ok_and(|age| age > than)
    })
}

/// `memoir` in the user's state directory, or in the data directory where there is none.
pub(crate) fn folder() -> Option<PathBuf> {
    let of_base = |base: &Xdg| base.state_dir().unwrap_or_else(|| base.data_dir());
    Some(database::user_folder(of_base).ok()?.join("memoir"))
}

/// The path of a file in that folder.
///
/// # Errors
/// It is not known.
pub(crate) fn file(name: &str) -> Result<PathBuf, Failure> {
    let folder = folder().ok_or_else(|| Failure::new("the user's state directory is not known"))?;
    Ok(folder.join(name))
}

/// The files in a folder of it; none where that cannot be read.
pub(crate) fn files(name: &str) -> impl Iterator<Item = PathBuf> {
    let files = folder().and_then(|folder| fs::read_dir(folder.join(name)).ok());
    let files = files.into_iter().flatten().flatten();
    files.map(|file| file.path())
}

/// A valid file name for any session, and for what distinguishes its files.
pub(super) fn file_name(session: &str, of: Option<&AgentKey>) -> String {
    // Every system allows these characters in a name; the hash distinguishes sessions that differ in others.
    let readable: String = session
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .take(40)
        .collect();
    let hash = hash(&(session, of.map(|key| &key.0)));
    format!("{readable}-{hash:016x}.json")
}

/// Another version of Rust may hash otherwise: the earlier sessions begin anew then.
pub(super) fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
