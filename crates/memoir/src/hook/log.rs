//! The log of the hooks, since their hosts do not show a hook's errors. It holds no texts of an agent.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use memoir_app::{Clock, SystemClock};

use super::{Arguments, state};
use crate::{failure::Failure, private_file, terminal::safe};

/// A log over this many bytes is renamed, replacing the one before.
const LOG_BYTES: u64 = 1 << 20;

/// The path of the hooks' log; `None` where no folder for it is known.
pub(crate) fn place() -> Option<PathBuf> {
    Some(state::folder()?.join("hook.log"))
}

/// Writes lines; a failure to write is ignored.
#[derive(Clone)]
pub(super) struct Log {
    file: Option<Arc<File>>,
    about: String,
}

impl Log {
    pub(super) fn open(arguments: &Arguments) -> Self {
        let part = match (arguments.hand_over, arguments.store_index) {
            (true, _) => " (handing over)",
            (_, true) => " (storing the index)",
            _ => "",
        };
        let (client, event) = (arguments.client.name(), arguments.event.name());
        Self::of(format!("{client} {event}{part}"))
    }

    pub(super) fn of(about: String) -> Self {
        Self {
            file: place().and_then(|path| opened(&path)).map(Arc::new),
            about,
        }
    }

    pub(super) fn note(&self, text: &str) {
        let Some(file) = &self.file else { return };
        let line = format!("{} {}: {}\n", SystemClock.now(), self.about, safe(text));
        // One write, so that lines of two processes do not mix.
        let _ = (&**file).write_all(line.as_bytes());
    }

    pub(super) fn problem(&self, problem: &Failure) {
        if let Failure::Shown(failure) = problem {
            self.note(&failure.one_line());
        }
    }
}

fn opened(path: &Path) -> Option<File> {
    private_file::make_private_folder(path.parent()?).ok()?;
    let mut options = private_file::new_for_owner();
    options.create(true).append(true);
    let file = options.open(path).ok()?;
    let is_full = || fs::metadata(path).is_ok_and(|found| found.len() > LOG_BYTES);
    // One process renames it, under the lock of the full file: a second renaming would replace the old log by the new
    // one. Where renaming fails, or another process does it, this process continues with the existing file.
    if !is_full() || file.try_lock().is_err() || !is_full() {
        return Some(file);
    }
    let _ = fs::rename(path, path.with_extension("log.1"));
    options.open(path).ok()
}
