//! The master key and its file.
//!
//! The file is one line of 64 hexadecimal digits, readable by its owner only. It appears under its name
//! in full or not at all, so a process that is killed while it makes one leaves nothing half-written.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use crate::{
    Error, Result,
    cipher::Cipher,
    secret::Secret,
    text::{hex, read_hex},
};

/// A file that is longer than this is not read to its end.
// Room for a key in any of its forms with white space around it. A path that leads to a device or a
// large file must not fill the memory.
const LONGEST_FILE_BYTES: u64 = 1_024;
/// How the names of files begin that are written before they get their name.
const DRAFT_PREFIX: &str = ".memoir-";
/// The digits and the end of the line.
const DRAFT_BYTES: u64 = 65;
/// A draft lives for milliseconds: an older one is from a killed process.
const OLDEST_DRAFT: Duration = Duration::from_secs(3_600);

/// How long to wait for another process that rotates, and between two checks whether it has ended: as long as for one
/// that locks the key store.
const LONGEST_TURN: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// The key under which all other keys are wrapped. `Debug` prints its type's name only.
#[derive(derive_more::Debug)]
#[debug("MasterKey")]
pub struct MasterKey(Secret);

/// A master key's fingerprint: says which key it is, and nothing about its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, derive_more::Display, derive_more::Debug)]
#[debug("{self}")]
#[display("{}", hex(&self.0).as_str())]
pub struct KeyId([u8; 8]);

impl MasterKey {
    /// A new one.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn generate() -> Result<Self> {
        Secret::random().map(Self)
    }

    /// From 64 hexadecimal digits, or 32 bytes in base64; white space around them is passed over.
    /// `location` says in errors where the text comes from, such as `MEMOIR_MASTER_KEY`.
    ///
    /// # Errors
    /// [`Error::NotAMasterKey`].
    pub fn from_text(text: &str, location: &str) -> Result<Self> {
        let text = text.trim_ascii().as_bytes();
        let mut secret = Secret::zeroed();
        if read_hex(text, secret.expose_mut()) || read_base64(text, secret.expose_mut()) {
            Ok(Self(secret))
        } else {
            Err(Error::NotAMasterKey {
                location: location.to_owned(),
            })
        }
    }

    /// The key in the file at `path`; `None` where there is no file.
    ///
    /// # Errors
    /// [`Error::Exposed`], [`Error::NotAMasterKey`], [`Error::File`].
    pub fn load(path: &Path) -> Result<Option<Self>> {
        // Opened once: its owner is checked and its text read on the same descriptor, whatever is
        // put in its place meanwhile.
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file(path, &error)),
        };
        check_owned(path, &file)?;
        // As large as it can become, so that growing leaves no copy of the key behind.
        let mut text = Zeroizing::new(String::with_capacity(LONGEST_FILE_BYTES as usize));
        match file.take(LONGEST_FILE_BYTES).read_to_string(&mut text) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(Error::file(path, &error));
            }
            // Invalid UTF-8 leaves the text empty.
            _ => {}
        }
        Self::from_text(&text, &format!("`{}`", path.display())).map(Some)
    }

    /// The key in the file at `path`, which is made if there is none; the folder must exist. Concurrent processes all
    /// get the same key. It is on the disk before this returns.
    ///
    /// # Errors
    /// As for [`MasterKey::load`]; [`Error::Random`].
    pub fn load_or_create(path: &Path) -> Result<Self> {
        if let Some(key) = Self::load(path)? {
            return Ok(key);
        }
        // The generated key is dropped and the file read: of several processes only one has its draft under the name,
        // and all must use that one.
        publish(path, &Self::generate()?)?;
        // A faster process has made the key.
        Self::load(path)?.ok_or_else(|| Error::file(path, &io::ErrorKind::NotFound.into()))
    }

    /// Its fingerprint.
    pub fn key_id(&self) -> KeyId {
        let mut id = [0; 8];
        // Derived, so that it says nothing of the key itself. Eight bytes distinguish an administrator's keys; the
        // proof in the key store shows that the key is the right one, not this.
        self.0.derive_into(&[b"master/id"], &mut id);
        KeyId(id)
    }

    /// What wraps and unwraps the keys in the key store.
    pub(crate) fn wrapping(&self) -> Cipher {
        Cipher::new(self.0.derive(&[b"master/wrap"]))
    }

    /// The lock to stage and replace what is at `path`: no other process or thread has it until it is dropped. A
    /// process that ends releases it.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has it for too long; [`Error::File`].
    pub(crate) fn turn(path: &Path) -> Result<File> {
        let target = resolved(path);
        // The files themselves are replaced while it lasts; their folder is not.
        #[cfg(unix)]
        let opened = File::open(folder_of(&target));
        #[cfg(not(unix))]
        let opened = File::create(folder_of(&target).join(".memoir.lock"));
        let file = opened.map_err(|error| Error::file(path, &error))?;
        // Counted in sleeps and not by the clock, which may be moved while one waits.
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if waited >= LONGEST_TURN => return Err(Error::Busy),
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(BETWEEN_LOOKS);
                    waited += BETWEEN_LOOKS;
                }
                Err(TryLockError::Error(error)) => return Err(Error::file(path, &error)),
            }
        }
    }

    /// The next master key of the file at `path`: written beside it, and on the disk before this returns. Reuses one
    /// that an interrupted rotation left there. The caller has the [`MasterKey::turn`].
    pub(crate) fn stage(path: &Path) -> Result<Self> {
        Self::load_or_create(&staged_path(path))
    }

    /// The next master key, where a rotation has begun.
    pub(crate) fn staged(path: &Path) -> Result<Option<Self>> {
        Self::load(&staged_path(path))
    }

    /// Puts the staged key in the place of the key file. The caller makes sure that it is the right one,
    /// and has the [`MasterKey::turn`].
    pub(crate) fn promote(path: &Path) -> Result<()> {
        let target = resolved(path);
        // One step of the file system: at every moment the name leads to the old key or to the new one. A process that
        // is killed before it leaves both files, and the next start finds which one is needed.
        fs::rename(staged_path(path), &target)
            .map_err(|error| Error::irreplaceable(path, &error))?;
        sync_folder_of(&target).map_err(|error| Error::file(&target, &error))
    }

    /// Shows that the file at `path`, which holds this key, can be replaced: by itself. A mount point or a file in a
    /// read-only folder cannot, which must be known before anything needs another key. The caller has the
    /// [`MasterKey::turn`].
    pub(crate) fn try_replacing(&self, path: &Path) -> Result<()> {
        let target = resolved(path);
        let irreplaceable = |error| Error::irreplaceable(path, &error);
        let draft = write_draft(folder_of(&target), self).map_err(irreplaceable)?;
        sweep(&draft, self.key_id());
        draft
            .persist(&target)
            .map_err(|failed| irreplaceable(failed.error))?;
        sync_folder_of(&target).map_err(|error| Error::file(&target, &error))
    }
}

impl KeyId {
    /// From the bytes that [`KeyId::as_bytes`] gives.
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// Its eight bytes.
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

fn read_base64(text: &[u8], output: &mut [u8; 32]) -> bool {
    // The decoder asks for room in whole groups of three bytes.
    let mut bytes = Zeroizing::new([0; 33]);
    // The length first: a decoder that ignores surplus characters would take a longer text for the same key.
    let read = text.len() == 44
        && matches!(STANDARD.decode_slice(text, bytes.as_mut_slice()), Ok(length) if length == output.len());
    if read {
        output.copy_from_slice(&bytes[..32]);
    }
    read
}

/// Refuses a file that users other than its owner can read or write. Checks the open file, so that it cannot be
/// exchanged in between.
pub(crate) fn check_owned(path: &Path, file: &File) -> Result<()> {
    let metadata = file.metadata().map_err(|error| Error::file(path, &error))?;
    match exposed_mode(&metadata) {
        None => Ok(()),
        Some(mode) => Err(Error::Exposed {
            path: path.display().to_string(),
            mode,
        }),
    }
}

/// The mode of a file that users other than its owner can read or write; `None` of any other file.
///
/// Two groups are no other users. A file of root may be readable for root's group: systemd passes credentials so, with
/// an access list that shows as the group's. And in a pod of Kubernetes, whose `fsGroup` gives the files of a volume to
/// a group of the pod, that group is the pod itself.
#[cfg(unix)]
pub fn exposed_mode(metadata: &Metadata) -> Option<u32> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = metadata.permissions().mode() & 0o777;
    // Nothing else of root's group is let through: the mode of a file that a person made by `chmod 440` has that person
    // as its owner.
    let is_credential = mode == 0o440 && metadata.uid() == 0 && metadata.gid() == 0;
    // Kubernetes sets this variable in every container. The environment of this process chooses its key files, too.
    let is_in_pod = || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let is_of_pod = mode & 0o007 == 0 && is_in_pod() && is_own_group(metadata.gid());
    (mode & 0o077 != 0 && !is_credential && !is_of_pod).then_some(mode)
}

/// Other systems have no such modes.
#[cfg(not(unix))]
pub fn exposed_mode(_: &Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
fn is_own_group(group: u32) -> bool {
    use rustix::process::{getegid, getgroups};
    let groups = getgroups().unwrap_or_default();
    groups
        .into_iter()
        .chain([getegid()])
        .any(|own| own.as_raw() == group)
}

/// Makes sure that a file that was made or renamed at `path` is still there after a power cut.
///
/// # Errors
/// The folder cannot be opened or synced.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder_of(path))?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The folder of a file; the current one for a bare file name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Lets the file appear in full, unless there is one. If a process is killed meanwhile, a draft with an unused key
/// stays behind until a rotation removes it.
fn publish(path: &Path, key: &MasterKey) -> Result<()> {
    let draft = write_draft(folder_of(path), key).map_err(|error| Error::file(path, &error))?;
    // By a hard link or its like, which fails where the name is taken. A rename would put a second
    // key over one that may have wrapped something already.
    match draft.persist_noclobber(path) {
        Ok(_) => sync_folder_of(path).map_err(|error| Error::file(path, &error)),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(Error::file(path, &failed.error)),
    }
}

/// Its owner's alone from the first moment on.
fn write_draft(folder: &Path, key: &MasterKey) -> io::Result<NamedTempFile> {
    let mut draft = tempfile::Builder::new()
        .prefix(DRAFT_PREFIX)
        .tempfile_in(folder)?;
    draft.write_all(hex(key.0.expose()).as_bytes())?;
    draft.write_all(b"\n")?;
    // Before it gets its name: after a power cut an empty file must not have the name.
    draft.as_file().sync_all()?;
    Ok(draft)
}

/// Removes what killed processes have left beside `draft`: drafts that are too old to be in use, and copies of the key
/// `current`, which must not outlive it. A remaining draft is harmless, so failures are ignored; the next rotation
/// retries.
fn sweep(draft: &NamedTempFile, current: KeyId) {
    // The file system's own clock measures the age: the draft was written just now.
    let written = |metadata: fs::Metadata| metadata.modified();
    let Ok(now) = draft.as_file().metadata().and_then(written) else {
        return;
    };
    let Ok(entries) = fs::read_dir(folder_of(draft.path())) else {
        return;
    };
    for entry in entries.flatten() {
        let is_own = Some(entry.file_name().as_os_str()) == draft.path().file_name();
        if !is_own && is_left(&entry, now, current) {
            // Not wiped first: on file systems that copy on write, and on flash, writing over a
            // file does not reach the old bytes.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether this is an abandoned draft.
fn is_left(entry: &fs::DirEntry, now: SystemTime, current: KeyId) -> bool {
    let is_named = (entry.file_name().to_str()).is_some_and(|name| name.starts_with(DRAFT_PREFIX));
    let metadata = match entry.metadata() {
        Ok(metadata) if is_named && metadata.is_file() && metadata.len() <= DRAFT_BYTES => metadata,
        _ => return false,
    };
    let Ok(text) = fs::read_to_string(entry.path()).map(Zeroizing::new) else {
        return false;
    };
    // A foreign file may have such a name, but not hold the beginning of a key.
    if !text
        .trim_ascii_end()
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
    {
        return false;
    }
    let age = (metadata.modified().ok()).and_then(|written| now.duration_since(written).ok());
    let is_current =
        || MasterKey::from_text(&text, DRAFT_PREFIX).is_ok_and(|key| key.key_id() == current);
    // A copy of the present key is removed immediately, whatever its age: once the rotation is done, it would be the
    // old master key in an unexpected place.
    age.is_some_and(|age| age > OLDEST_DRAFT) || is_current()
}

/// Where the next key is staged: beside the file itself, so that it can be moved over it.
pub(crate) fn staged_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(resolved(path));
    name.push(".next");
    PathBuf::from(name)
}

/// The target of `path` if that is a link: replacing a link would keep the old key, and put the new one in an
/// unexpected place. A missing file is where it is named.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_cannot_be_replaced_is_reported_and_no_draft_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        // Nothing can be renamed over a folder that is not empty.
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "").unwrap();
        let key = MasterKey::generate().unwrap();
        let error = key.try_replacing(&path).unwrap_err();
        assert!(matches!(error, Error::Irreplaceable { .. }), "{error}");
        assert!(error.to_string().ends_with("; nothing was changed"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
