//! Memoir's changes to a program's files, and the previous texts. The record may hold the program's own secrets, and is
//! for its owner only. The command line is recorded apart, since hooks read it (`hook/written.rs`).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    FileChange,
    clients::{KnownFile, Program},
};
use crate::{
    failure::Failure,
    hook::{
        state,
        written::{self, WrittenCall},
    },
    private_file,
};

/// The setup of one program, as it is stored.
#[derive(Default, Serialize, Deserialize)]
struct WrittenSetup {
    files: BTreeMap<PathBuf, WrittenFile>,
}

#[derive(Default, Serialize, Deserialize)]
struct WrittenFile {
    /// `None` where there was none.
    before: Option<String>,
    after: Option<String>,
    /// Folders that were created for it, the innermost first.
    folders: Vec<PathBuf>,
    /// The commands of all hooks that were ever written into it.
    hooks: BTreeSet<String>,
}

pub(super) struct ProgramRecord {
    program: String,
    path: PathBuf,
    written: WrittenSetup,
    /// The last written command line; `None` before the first setup.
    pub(super) call: Option<WrittenCall>,
}

const FOLDER: &str = "setup";

fn all() -> impl Iterator<Item = WrittenSetup> {
    state::files(FOLDER).map(|record| state::peek(&record))
}

impl ProgramRecord {
    pub(super) fn read(program: Program) -> Result<Self, Failure> {
        let program = program.name();
        let path = state::file(&format!("{FOLDER}/{program}.json"))?;
        Ok(Self {
            call: written::read(&program),
            program,
            written: private_file::read_json(
                &path,
                "is no record of a setup",
                "remove it; Memoir's parts are then removed from the present files",
            )?,
            path,
        })
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.written.files.keys()
    }

    pub(super) fn known(&self, path: &Path) -> KnownFile<'_> {
        let written = self.written.files.get(path);
        KnownFile {
            before: written.map(|written| written.before.as_deref().unwrap_or_default()),
            hooks: written.map(|written| &written.hooks),
        }
    }

    /// Records the text that is about to be written into a file. `cleaned` is the file's present text without Memoir's
    /// parts, which is restored later if another program has changed the file since the last setup. Before the first
    /// setup that is the whole file, unless an earlier record was lost.
    pub(super) fn note(
        &mut self,
        change: &FileChange,
        cleaned: Option<String>,
        new_hooks: impl Iterator<Item = String>,
    ) -> Result<(), Failure> {
        let earlier = self.written.files.remove(&change.path);
        let mut written = earlier.unwrap_or_else(|| WrittenFile {
            folders: self.made_folders(&change.path),
            ..WrittenFile::default()
        });
        if written.after != change.before {
            written.before = cleaned;
        }
        written.after.clone_from(&change.after);
        written.hooks.extend(new_hooks);
        self.written.files.insert(change.path.clone(), written);
        private_file::write_json(&self.path, serde_json::to_vec(&self.written))
    }

    /// Records the command line that the program calls from now on, in the place of an earlier one.
    pub(super) fn note_call(&mut self, call: WrittenCall) -> Result<(), Failure> {
        let call = call.after(self.call.as_ref());
        written::note(&self.program, &call)?;
        self.call = Some(call);
        Ok(())
    }

    /// The missing folders above the file, and those that were created for another program: the last removed program
    /// leaves none.
    fn made_folders(&self, path: &Path) -> Vec<PathBuf> {
        // An unreadable record names no folder, so that a folder of Memoir may remain.
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

    /// The file's previous text, if it still holds the written one.
    #[expect(clippy::option_option, reason = "there may have been no file")]
    pub(super) fn before(&self, path: &Path, now: Option<&str>) -> Option<Option<String>> {
        let written = self.written.files.get(path)?;
        (written.after.as_deref() == now).then(|| written.before.clone())
    }

    /// Removes the created folders that are empty.
    pub(super) fn remove_folders(&self) {
        let files = self.written.files.values();
        let mut folders: Vec<&PathBuf> = files.flat_map(|written| &written.folders).collect();
        // The deepest folders go first, since only an empty folder can be removed.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in folders {
            // A folder that another program uses stays.
            let _ = fs::remove_dir(folder);
        }
    }

    /// Whether there was no file.
    pub(super) fn has_made(&self, path: &Path) -> bool {
        let written = self.written.files.get(path);
        written.is_some_and(|written| written.before.is_none())
    }

    pub(super) fn forget(&self) -> Result<(), Failure> {
        written::forget(&self.program)?;
        private_file::remove(&self.path).map(drop)
    }
}
