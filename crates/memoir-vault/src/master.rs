//! The master key: what it is, and the file that it lies in.
//!
//! The file is one line of 64 hexadecimal digits, readable by its owner only. It appears under its name
//! in full or not at all, so a process that is killed while it makes one leaves nothing half-written.

use std::{
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
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
const LONGEST_FILE_BYTES: u64 = 1_024;

/// The key under which all other keys are wrapped. `Debug` prints its type's name only.
pub struct MasterKey(Secret);

/// A master key's fingerprint: says which key it is, and nothing about its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
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
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file(path, &error)),
        };
        check_owned(path, &file)?;
        let mut text = Zeroizing::new(String::with_capacity(LONGEST_FILE_BYTES as usize));
        match file.take(LONGEST_FILE_BYTES).read_to_string(&mut text) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(Error::file(path, &error));
            }
            // What is no UTF-8 leaves the text empty.
            _ => {}
        }
        Self::from_text(&text, &format!("`{}`", path.display())).map(Some)
    }

    /// The key in the file at `path`, which is made if there is none; the folder must exist. Where
    /// several processes do this at once, all get the same key. It is on the disk before this returns.
    ///
    /// # Errors
    /// As for [`MasterKey::load`]; [`Error::Random`].
    pub fn load_or_create(path: &Path) -> Result<Self> {
        if let Some(key) = Self::load(path)? {
            return Ok(key);
        }
        publish(path, &Self::generate()?)?;
        // Whoever came first has made the key.
        Self::load(path)?.ok_or_else(|| Error::file(path, &io::ErrorKind::NotFound.into()))
    }

    /// Its fingerprint.
    pub fn key_id(&self) -> KeyId {
        let mut id = [0; 8];
        self.0.derive_into(&[b"master/id"], &mut id);
        KeyId(id)
    }

    /// What wraps and unwraps the keys in the key store.
    pub(crate) fn wrapping(&self) -> Cipher {
        Cipher::new(&self.0.derive(&[b"master/wrap"]))
    }

    /// The next master key of the file at `path`: written beside it, and on the disk before this
    /// returns. One that was left there by a rotation that did not end is taken up again. The caller
    /// makes sure that no other process does this at the same time.
    pub(crate) fn stage(path: &Path) -> Result<Self> {
        Self::load_or_create(&staged_path(path))
    }

    /// The next master key, where a rotation has begun.
    pub(crate) fn staged(path: &Path) -> Result<Option<Self>> {
        Self::load(&staged_path(path))
    }

    /// Puts the staged key in the place of the key file. The caller makes sure that it is the right one
    /// and that no other process does this at the same time.
    pub(crate) fn promote(path: &Path) -> Result<()> {
        fs::rename(staged_path(path), path).map_err(|error| Error::file(path, &error))?;
        sync_folder(path)
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MasterKey")
    }
}

impl KeyId {
    /// From the bytes that [`KeyId::as_bytes`] gives.
    pub fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// Its eight bytes.
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

fn read_base64(text: &[u8], output: &mut [u8; 32]) -> bool {
    // The decoder asks for room in whole groups of three bytes.
    let mut bytes = Zeroizing::new([0; 33]);
    let read = text.len() == 44
        && matches!(STANDARD.decode_slice(text, bytes.as_mut_slice()), Ok(length) if length == output.len());
    if read {
        output.copy_from_slice(&bytes[..32]);
    }
    read
}

/// Refuses a file that others than its owner can read or write. Looks at the open file, so that it
/// cannot be exchanged in between.
pub(crate) fn check_owned(path: &Path, file: &File) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().map_err(|error| Error::file(path, &error))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(Error::Exposed {
                path: path.display().to_string(),
                mode,
            });
        }
    }
    #[cfg(not(unix))]
    let _ = (path, file);
    Ok(())
}

/// Makes sure that a file made or renamed beside `path` is still there after a power cut.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        let folder = folder_of(path);
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| Error::file(folder, &error))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Lets the file appear in full, unless there is one. Where a process is killed in the middle, a file
/// of another name with a key that nobody uses stays behind.
fn publish(path: &Path, key: &MasterKey) -> Result<()> {
    let draft = write_draft(folder_of(path), key).map_err(|error| Error::file(path, &error))?;
    match draft.persist_noclobber(path) {
        Ok(_) => sync_folder(path),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(Error::file(path, &failed.error)),
    }
}

/// Its owner's alone from the first moment on.
fn write_draft(folder: &Path, key: &MasterKey) -> io::Result<NamedTempFile> {
    let mut draft = tempfile::Builder::new()
        .prefix(".memoir-")
        .tempfile_in(folder)?;
    draft.write_all(hex(key.0.expose()).as_bytes())?;
    draft.write_all(b"\n")?;
    draft.as_file().sync_all()?;
    Ok(draft)
}

fn staged_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".next");
    PathBuf::from(name)
}
