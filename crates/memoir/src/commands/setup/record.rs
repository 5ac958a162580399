//! What was written into a program's files, and what stood there before. It may hold the program's own secrets, and
//! is for its owner only.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{FileChange, clients::Program};
use crate::{commands::hook, failure::Failure, private_file};

/// A file before and after.
#[derive(Serialize, Deserialize)]
struct WrittenFile {
    /// `None` where there was none.
    before: Option<String>,
    after: Option<String>,
    /// Those that were made for it, the innermost first.
    folders: Vec<PathBuf>,
}

/// The files of one program.
pub(super) struct ProgramRecord {
    path: PathBuf,
    files: BTreeMap<PathBuf, WrittenFile>,
}

impl ProgramRecord {
    /// # Errors
    /// There is no place for it, or it cannot be read.
    pub(super) fn read(program: Program) -> Result<Self, Failure> {
        let folder = hook::state_folder()
            .ok_or_else(|| Failure::new("the user's state directory is not known"))?;
        let path = folder
            .join("setup")
            .join(format!("{}.json", program.name()));
        let files = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            read => {
                let read = read.map_err(|error| Failure::file("read", &path, &error))?;
                // The parser's message is left out, since it may quote the file.
                serde_json::from_slice(&read).map_err(|_| {
                    Failure::new(format!("`{}` is no record of a setup", path.display())).hint(
                        "remove it; what is Memoir's is then taken out of the files as they are",
                    )
                })?
            }
        };
        Ok(Self { path, files })
    }

    /// Notes what is about to be written. What stood there before the first time is what is given back, as long as
    /// nobody else has written since.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn note(&mut self, change: &FileChange) -> Result<(), Failure> {
        let earlier = self.files.remove(&change.path);
        let (before, folders) = match earlier {
            Some(earlier) if earlier.after == change.before => (earlier.before, earlier.folders),
            _ => (change.before.clone(), self.made_folders(&change.path)),
        };
        let written = WrittenFile {
            before,
            after: change.after.clone(),
            folders,
        };
        self.files.insert(change.path.clone(), written);
        let text = serde_json::to_vec(&self.files)
            .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
        private_file::write(&self.path, &text)
            .map_err(|error| Failure::file("write", &self.path, &error))
    }

    /// The folders above the file that are not there yet, or that were made for another program: whoever is taken
    /// back last leaves none.
    fn made_folders(&self, path: &Path) -> Vec<PathBuf> {
        let records = self
            .path
            .parent()
            .and_then(|folder| fs::read_dir(folder).ok());
        let made: BTreeSet<PathBuf> = records
            .into_iter()
            .flatten()
            .flatten()
            // A record that cannot be read names no folder, so that a folder may stay which Memoir made.
            .filter_map(|record| fs::read(record.path()).ok())
            .filter_map(|text| serde_json::from_slice::<BTreeMap<PathBuf, WrittenFile>>(&text).ok())
            .flat_map(BTreeMap::into_values)
            .flat_map(|written| written.folders)
            .collect();
        let above = path.ancestors().skip(1);
        above
            .take_while(|folder| !folder.exists() || made.contains(*folder))
            .map(Path::to_owned)
            .collect()
    }

    /// What stood in the file before, where it holds now what was written then.
    #[expect(clippy::option_option, reason = "what stood there may be no file")]
    pub(super) fn before(&self, path: &Path, now: Option<&str>) -> Option<Option<String>> {
        let written = self.files.get(path)?;
        (written.after.as_deref() == now).then(|| written.before.clone())
    }

    /// What stood in the file, whoever wrote since; nothing where there was none; `None` where that is not known.
    pub(super) fn stood_before(&self, path: &Path) -> Option<&str> {
        let written = self.files.get(path)?;
        Some(written.before.as_deref().unwrap_or_default())
    }

    /// Removes the folders that were made, as far as they are empty.
    pub(super) fn remove_folders(&self) {
        let mut folders: Vec<&PathBuf> = self
            .files
            .values()
            .flat_map(|written| &written.folders)
            .collect();
        // The deepest folders go first, since only an empty folder can be removed.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in folders {
            // One that somebody else uses stays.
            let _ = fs::remove_dir(folder);
        }
    }

    /// Whether there was no file.
    pub(super) fn has_made(&self, path: &Path) -> bool {
        self.files
            .get(path)
            .is_some_and(|written| written.before.is_none())
    }

    /// # Errors
    /// It cannot be removed.
    pub(super) fn forget(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::file("remove", &self.path, &error))
            }
            _ => Ok(()),
        }
    }
}
