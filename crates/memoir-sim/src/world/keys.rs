//! The places of a simulated installation's keys, and how they come from one into another (SPEC 5.4).

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use memoir_domain::AgentScope;
#[cfg(unix)]
use memoir_testkit::KeyDatabase;
#[cfg(unix)]
use memoir_vault::unlock_rows;
use memoir_vault::{Error, KeyRows, KeyStore, MasterSource, Result, SqliteKeys, unlock};

use crate::{Violation, view::ensure};

/// A place for keys.
pub(super) enum KeyPlace {
    /// A file.
    File(PathBuf),
    /// A database of PostgreSQL, apart from the rows.
    #[cfg(unix)]
    Database(KeyDatabase),
}

impl KeyPlace {
    /// The next place for its keys: another file, or from a file a database where the rows are in PostgreSQL.
    pub(super) fn next(&self, is_postgres: bool, file: PathBuf) -> Self {
        match (self, is_postgres) {
            #[cfg(unix)]
            (Self::File(_), true) => Self::Database(KeyDatabase::empty()),
            _ => Self::File(file),
        }
    }

    /// What moving keys there is called in the report.
    pub(super) fn act(&self) -> &'static str {
        match self {
            Self::File(_) => "move keys",
            #[cfg(unix)]
            Self::Database(_) => "move keys into PostgreSQL",
        }
    }

    /// Opens its keys.
    pub(super) fn unlock(&self, source: &MasterSource, must_exist: bool) -> Result<KeyStore> {
        match self {
            Self::File(path) => unlock(source, path, must_exist),
            #[cfg(unix)]
            Self::Database(database) => unlock_rows(source, database.open()?, must_exist),
        }
    }

    /// Opens it whether or not it has keys; a missing file is made.
    fn rows(&self) -> Result<Box<dyn KeyRows>> {
        match self {
            Self::File(path) => Ok(Box::new(SqliteKeys::open(path, true)?)),
            #[cfg(unix)]
            Self::Database(database) => database.open(),
        }
    }

    /// Copies its keys into another place. Another process did this before, and may have been killed before it wrote
    /// anything. A repetition writes nothing.
    pub(super) fn copy_to(
        &self,
        new: &Self,
        source: &MasterSource,
        is_killed: bool,
    ) -> std::result::Result<(), Violation> {
        if is_killed {
            new.rows().map_err(lost)?;
            let opened = new.unlock(source, true);
            let is_refused = matches!(opened, Err(Error::Missing(_)));
            ensure!(is_refused, "5.4", "an empty place opens as a key store");
        }
        let old = self.unlock(source, true).map_err(lost)?;
        let place = new.rows().map_err(lost)?;
        let copied = old.copy_to(&*place).map_err(lost)?;
        let again = old.copy_to(&*place);
        let is_refused = matches!(again, Err(Error::Unusable { .. }));
        ensure!(is_refused, "5.4", "keys are copied over others");
        let here = agents(&old)?;
        let there = agents(&new.unlock(source, true).map_err(lost)?)?;
        ensure!(
            here == there && copied == here.len() as u64,
            "5.4",
            "of {} keys {copied} were copied, and {} are in the new place",
            here.len(),
            there.len()
        );
        Ok(())
    }

    /// Destroys it: it opens no more.
    pub(super) fn destroy(&self, source: &MasterSource) -> std::result::Result<(), Violation> {
        match self {
            Self::File(path) => remove(path)?,
            #[cfg(unix)]
            Self::Database(database) => database.remove(),
        }
        let opened = self.unlock(source, true);
        let is_refused = match self {
            Self::File(_) => matches!(opened, Err(Error::Missing(_))),
            #[cfg(unix)]
            Self::Database(_) => matches!(opened, Err(Error::Unreachable { .. })),
        };
        ensure!(is_refused, "5.4", "the old place of the keys opens");
        Ok(())
    }

    /// The code that a process gets which goes on with it once it is destroyed. A database may only be down.
    pub(super) fn code_without(&self) -> &'static str {
        match self {
            Self::File(_) => "key_unavailable",
            #[cfg(unix)]
            Self::Database(_) => "busy",
        }
    }
}

fn agents(keys: &KeyStore) -> std::result::Result<HashSet<AgentScope>, Violation> {
    Ok(keys.agents().map_err(lost)?.into_iter().collect())
}

/// Removes the file of keys, beside which there must be no other one of it.
fn remove(file: &Path) -> std::result::Result<(), Violation> {
    let failed = |error: std::io::Error| Violation::new("5.4", error.to_string());
    fs::remove_file(file).map_err(failed)?;
    let (folder, name) = (file.parent(), file.file_name().unwrap_or_default());
    let name = name.to_string_lossy();
    for entry in fs::read_dir(folder.unwrap_or(file)).map_err(failed)? {
        let left = entry.map_err(failed)?.file_name();
        let is_of_old = left.to_string_lossy().starts_with(&*name);
        ensure!(!is_of_old, "5.4", "{left:?} is left of the keys");
    }
    Ok(())
}

fn lost(error: Error) -> Violation {
    Violation::new("5.4", error.to_string())
}
