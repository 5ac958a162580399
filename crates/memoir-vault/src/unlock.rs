//! From a source of the master key to an open key store, and through a rotation of the key file.
//!
//! A lost or wrong master key is one error here, before anything is written. A process that is killed in
//! the middle of a rotation leaves two key files, of which one fits; the next start finds it and ends the
//! rotation. Where the key file is a link, it is the file behind it that is replaced, in its own folder.

use std::path::{Path, PathBuf};

use crate::{Error, KeyRows, KeyStore, MasterKey, Result, SqliteKeys, keystore::MasterKeySource};

/// Where the master key comes from.
#[derive(Debug)]
pub enum MasterSource {
    /// A file, which is made on first use.
    File(PathBuf),
    /// The key itself, as from `MEMOIR_MASTER_KEY`.
    Given(MasterKey),
}

/// Opens the key store in the file at `path` with its master key. If neither exists, both are made, unless
/// `must_exist`: set it for a database that was sealed before.
///
/// # Errors
/// [`Error::MasterKeyLost`], [`Error::WrongMasterKey`], and [`Error::Missing`] where `must_exist`: nothing was changed
/// then. Else as for [`MasterKey::load_or_create`] and [`KeyStore::open`].
pub fn unlock(source: &MasterSource, path: &Path, must_exist: bool) -> Result<KeyStore> {
    // Not made at the first try: where a database was sealed before (`must_exist`), a key store
    // that is gone must be an error, not an empty one in which every agent seems to be erased.
    let rows = match SqliteKeys::open(path, false) {
        Err(Error::Missing(_)) if !must_exist => {
            // The master key first: a key store that cannot be opened must not be made.
            if let MasterSource::File(key_file) = source {
                MasterKey::load_or_create(key_file)?;
            }
            SqliteKeys::open(path, true)
        }
        opened => opened,
    }?;
    unlock_rows(source, Box::new(rows), must_exist)
}

/// As [`unlock`], with a key store in any place.
///
/// # Errors
/// As for [`unlock`]; those of the place.
pub fn unlock_rows(
    source: &MasterSource,
    rows: Box<dyn KeyRows>,
    must_exist: bool,
) -> Result<KeyStore> {
    let source = match source {
        MasterSource::File(path) => MasterKeySource::File(path),
        MasterSource::Given(master) => MasterKeySource::Given(master),
    };
    KeyStore::start(rows, source, must_exist)
}
