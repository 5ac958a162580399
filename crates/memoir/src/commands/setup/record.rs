//! What was written into a program's files, and what stood there before. It may hold the program's own secrets, and
//! is for its owner only.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use memoir_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    FileChange,
    clients::{KnownFile, Program, ProgramCall},
};
use crate::{commands::hook, failure::Failure, private_file};

/// What was set up for one program, as it is stored.
#[derive(Default, Serialize, Deserialize)]
struct WrittenSetup {
    /// What Memoir was last set up with; `None` before anything was written.
    call: Option<WrittenCall>,
    files: BTreeMap<PathBuf, WrittenFile>,
}

/// What Memoir is called with, and since when.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct WrittenCall {
    #[serde(flatten)]
    pub(super) call: ProgramCall,
    /// The installation (`Installation::place`), or the address of the service.
    pub(super) place: String,
    pub(super) set_up_at: Timestamp,
}

/// A file before and after.
#[derive(Serialize, Deserialize)]
struct WrittenFile {
    /// `None` where there was none.
    before: Option<String>,
    after: Option<String>,
    /// Those that were made for it, the innermost first.
    folders: Vec<PathBuf>,
    /// The commands of all hooks that were ever written into it.
    hooks: BTreeSet<String>,
}

/// The files of one program.
pub(super) struct ProgramRecord {
    path: PathBuf,
    written: WrittenSetup,
}

/// The folder of the records; `None` where none is known.
fn folder() -> Option<PathBuf> {
    Some(hook::state_folder()?.join("setup"))
}

/// All records that can be read.
fn all() -> impl Iterator<Item = WrittenSetup> {
    let records = folder().and_then(|folder| fs::read_dir(folder).ok());
    let records = records.into_iter().flatten().flatten();
    records
        .filter_map(|record| fs::read(record.path()).ok())
        .filter_map(|text| serde_json::from_slice(&text).ok())
}

/// What all programs are set up with.
pub(super) fn calls() -> Vec<WrittenCall> {
    all().filter_map(|written| written.call).collect()
}

impl ProgramRecord {
    /// # Errors
    /// There is no place for it, or it cannot be read.
    pub(super) fn read(program: Program) -> Result<Self, Failure> {
        let folder =
            folder().ok_or_else(|| Failure::new("the user's state directory is not known"))?;
        let path = folder.join(format!("{}.json", program.name()));
        let written = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => WrittenSetup::default(),
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
        Ok(Self { path, written })
    }

    /// What Memoir was last set up with; `None` where there is no record.
    pub(super) fn call(&self) -> Option<&WrittenCall> {
        self.written.call.as_ref()
    }

    /// What is known of a file.
    pub(super) fn known(&self, path: &Path) -> KnownFile<'_> {
        let written = self.written.files.get(path);
        KnownFile {
            before: written.map(|written| written.before.as_deref().unwrap_or_default()),
            hooks: written.map(|written| &written.hooks),
        }
    }

    /// Notes what is about to be written into a file. `cleaned` is what the file holds now without Memoir's parts: that
    /// is given back where another program has written into it since the last setup. Before the first setup, what is
    /// given back is the file as it is.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn note(
        &mut self,
        change: &FileChange,
        cleaned: Option<String>,
        new_hooks: impl Iterator<Item = String>,
    ) -> Result<(), Failure> {
        let earlier = self.written.files.remove(&change.path);
        let (before, folders, mut hooks) = match earlier {
            Some(earlier) if earlier.after == change.before => {
                (earlier.before, earlier.folders, earlier.hooks)
            }
            Some(earlier) => (cleaned, earlier.folders, earlier.hooks),
            None => (
                change.before.clone(),
                self.made_folders(&change.path),
                BTreeSet::new(),
            ),
        };
        hooks.extend(new_hooks);
        let written = WrittenFile {
            before,
            after: change.after.clone(),
            folders,
            hooks,
        };
        self.written.files.insert(change.path.clone(), written);
        self.write()
    }

    /// Notes with what Memoir is called from now on.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn note_call(&mut self, call: WrittenCall) -> Result<(), Failure> {
        self.written.call = Some(call);
        self.write()
    }

    fn write(&self) -> Result<(), Failure> {
        let text = serde_json::to_vec(&self.written)
            .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
        private_file::write(&self.path, &text)
            .map_err(|error| Failure::file("write", &self.path, &error))
    }

    /// The folders above the file that are not there yet, or that were made for another program: the last program that
    /// is removed leaves none.
    fn made_folders(&self, path: &Path) -> Vec<PathBuf> {
        // A record that cannot be read names no folder, so that a folder may stay which Memoir made.
        let made: BTreeSet<PathBuf> = all()
            .flat_map(|written| written.files.into_values())
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
        let written = self.written.files.get(path)?;
        (written.after.as_deref() == now).then(|| written.before.clone())
    }

    /// Removes the folders that were made, as far as they are empty.
    pub(super) fn remove_folders(&self) {
        let mut folders: Vec<&PathBuf> = self
            .written
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
        self.written
            .files
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
