//! The state of a host's session between events: the memories that it was shown, and the passed part of its transcript.
//! A small file for each session, for its owner only, that holds no texts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use etcetera::BaseStrategy;
use memoir_domain::{Timestamp, memory::JOURNAL_DAYS};
use serde::{Deserialize, Serialize};

use super::{payload::Payload, reached::HookMemory};
use crate::{failure::Failure, private_file};

/// The folder of the sessions' files.
const SESSIONS: &str = "sessions";
/// The folder of the marks of sessions with pending messages.
const WAITING: &str = "waiting";
/// How long a session without further events is kept.
const KEPT: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// The stored state of a session.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct KeptSession {
    /// The program's own identifier.
    session: Option<String>,
    start: u64,
    started_at: Option<Timestamp>,
    prompt: u64,
    prompted_at: Option<Timestamp>,
    context: Option<ShownContext>,
    shown: ShownMemories,
    transcript: Option<PathBuf>,
    handed_over: u64,
    last_handed_over: Option<u64>,
    is_waiting: bool,
}

/// The context that the session was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShownContext {
    pub(super) at: Timestamp,
    /// The memories that it omitted.
    pub(super) left_out: BTreeSet<u64>,
}

/// The memories shown since then, by number, with the time of their last change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ShownMemories(BTreeMap<u64, Timestamp>);

impl ShownMemories {
    pub(super) fn note(&mut self, memory: &HookMemory) {
        self.0.insert(memory.number, memory.updated_at);
    }
}

/// The path of a session's file, its length, and its empty mark of pending messages, which saves opening the other
/// files.
struct SessionFile {
    file: File,
    length: usize,
    mark: PathBuf,
    is_marked: bool,
}

/// A session's file, locked against other processes.
pub(super) struct LockedSession {
    file: Option<SessionFile>,
    session: Option<String>,
    /// A digest of the text of its start ([`super::reached::ReachedMemory::digest`]).
    pub(super) start: u64,
    pub(super) started_at: Timestamp,
    /// A digest of its last prompt, likewise.
    pub(super) prompt: u64,
    pub(super) prompted_at: Timestamp,
    pub(super) context: Option<ShownContext>,
    pub(super) shown: ShownMemories,
    pub(super) transcript: Option<PathBuf>,
    /// The length of the passed part of the transcript, in bytes.
    pub(super) handed_over: u64,
    /// A digest of the bytes before that offset, likewise; `None` where nothing was passed on.
    pub(super) last_handed_over: Option<u64>,
    /// Whether more messages may be pending.
    pub(super) is_waiting: bool,
}

impl LockedSession {
    /// Opens the session's file, once other processes have released it. A session without a name has no state.
    ///
    /// # Errors
    /// The file cannot be created or read.
    pub(super) fn lock(payload: &Payload, agent: &str) -> Result<Self, Failure> {
        let mut locked = match (&payload.session, folder()) {
            (Some(session), Some(folder)) => {
                let name = file_name(session, agent);
                Self::open(
                    &folder.join(SESSIONS).join(&name),
                    folder.join(WAITING).join(&name),
                )?
            }
            _ => Self::from_kept(None, KeptSession::default()),
        };
        locked.session.clone_from(&payload.session);
        Ok(locked)
    }

    fn open(path: &Path, mark: PathBuf) -> Result<Self, Failure> {
        let problem = |error| Failure::file("open", path, &error);
        if let Some(folder) = path.parent() {
            private_file::make_private_folder(folder).map_err(problem)?;
        }
        let mut options = OpenOptions::new();
        // The file is not truncated here, since it is read once it is locked.
        options.create(true).truncate(false).read(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(problem)?;
        // Without a limit: the watching thread ends a hook that waits too long.
        file.lock().map_err(problem)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(problem)?;
        // A truncated file starts the session anew: at worst a memory is shown twice.
        let kept: KeptSession = serde_json::from_str(&text).unwrap_or_default();
        let file = SessionFile {
            file,
            length: text.len(),
            mark,
            is_marked: kept.is_waiting,
        };
        Ok(Self::from_kept(Some(file), kept))
    }

    fn from_kept(file: Option<SessionFile>, kept: KeptSession) -> Self {
        Self {
            file,
            session: kept.session,
            start: kept.start,
            // The earliest time is longer ago than `ONE_EVENT`, so that the next event counts as a new one.
            started_at: kept.started_at.unwrap_or(Timestamp::MIN),
            prompt: kept.prompt,
            prompted_at: kept.prompted_at.unwrap_or(Timestamp::MIN),
            context: kept.context,
            shown: kept.shown,
            transcript: kept.transcript,
            handed_over: kept.handed_over,
            last_handed_over: kept.last_handed_over,
            is_waiting: kept.is_waiting,
        }
    }

    /// Writes the file, and releases it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep(self) -> Result<(), Failure> {
        let Some(mut file) = self.file else {
            return Ok(());
        };
        let kept = KeptSession {
            session: self.session,
            start: self.start,
            started_at: Some(self.started_at),
            prompt: self.prompt,
            prompted_at: Some(self.prompted_at),
            context: self.context,
            shown: self.shown,
            transcript: self.transcript,
            handed_over: self.handed_over,
            last_handed_over: self.last_handed_over,
            is_waiting: self.is_waiting,
        };
        let written = serde_json::to_vec(&kept)
            .map_err(std::io::Error::from)
            // Closing the file after this releases its lock.
            .and_then(|text| file.write(text, kept.is_waiting));
        written.map_err(|error| Failure::new(format!("cannot write the session's state: {error}")))
    }

    /// Whether the session was shown the memory in its present version.
    pub(super) fn was_shown(&self, memory: &HookMemory) -> bool {
        // A memory that was changed since it was shown is shown again.
        if self.shown.0.get(&memory.number) == Some(&memory.updated_at) {
            return true;
        }
        self.context.as_ref().is_some_and(|context| {
            let was_there = memory.updated_at <= context.at
                // A journal entry that was older than this then was not in the context.
                && (memory.is_core() || memory.created_at > context.at.plus_days(-JOURNAL_DAYS));
            was_there && !context.left_out.contains(&memory.number)
        })
    }
}

impl SessionFile {
    fn write(&mut self, mut text: Vec<u8>, is_waiting: bool) -> std::io::Result<()> {
        // An extra mark is harmless; a missing one would lose pending messages.
        if is_waiting && !self.is_marked {
            crate::private_file::write(&self.mark, b"")?;
        }
        // Trailing spaces are valid in JSON; truncating a file waits for the disk on some systems.
        text.resize(text.len().max(self.length), b' ');
        self.file.rewind()?;
        self.file.write_all(&text)?;
        if self.is_marked && !is_waiting {
            let _ = fs::remove_file(&self.mark);
        }
        Ok(())
    }
}

/// The agent's sessions with possibly pending messages, and their transcripts, the least recently checked first.
pub(super) fn waiting(agent: &str) -> Vec<(String, PathBuf)> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let Ok(marks) = fs::read_dir(folder.join(WAITING)) else {
        return Vec::new();
    };
    let mut waiting = Vec::new();
    for mark in marks.flatten() {
        let file = folder.join(SESSIONS).join(mark.file_name());
        let kept = fs::read_to_string(&file)
            // A file that another process is just writing cannot be parsed; the next call reads it again.
            .ok()
            .and_then(|text| serde_json::from_str::<KeptSession>(&text).ok())
            .unwrap_or_default();
        if let (Some(session), Some(transcript)) = (kept.session, kept.transcript)
            && kept.is_waiting
            // A mark does not name its agent, but its file name depends on the agent.
            && *file_name(&session, agent) == *mark.file_name()
        {
            let written = fs::metadata(&file).and_then(|found| found.modified()).ok();
            waiting.push((written, session, transcript));
        }
    }
    waiting.sort();
    let waiting = waiting.into_iter();
    waiting
        .map(|(_, session, transcript)| (session, transcript))
        .collect()
}

/// Deletes the state of old sessions, except those with pending messages.
pub(super) fn forget_old(now: Timestamp) {
    let Some(folder) = folder() else {
        return;
    };
    // A file that cannot be read now is removed another time.
    for file in fs::read_dir(folder.join(SESSIONS))
        .into_iter()
        .flatten()
        .flatten()
    {
        let is_waiting = folder.join(WAITING).join(file.file_name()).exists();
        if !is_waiting && is_old(&file.path(), now) {
            let _ = fs::remove_file(file.path());
        }
    }
}

fn is_old(path: &Path, now: Timestamp) -> bool {
    let written = fs::metadata(path).and_then(|found| found.modified());
    written.is_ok_and(|written| {
        std::time::SystemTime::from(now.to_jiff())
            .duration_since(written)
            // A file from the future has no age.
            .is_ok_and(|age| age > KEPT)
    })
}

/// `memoir` in the user's state directory, or in the data directory where there is none.
pub(crate) fn folder() -> Option<PathBuf> {
    let directories = etcetera::choose_base_strategy().ok()?;
    let folder = directories
        .state_dir()
        .unwrap_or_else(|| directories.data_dir());
    Some(folder.join("memoir"))
}

/// A valid file name for any session's identifier and agent.
fn file_name(session: &str, agent: &str) -> String {
    // Another version of Rust may hash otherwise: the earlier sessions begin anew then.
    let mut hasher = DefaultHasher::new();
    (session, agent).hash(&mut hasher);
    // Every system allows these characters in a name; the hash distinguishes sessions that differ in others.
    let readable: String = session
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .take(40)
        .collect();
    format!("{readable}-{:016x}.json", hasher.finish())
}
