//! How much of a session's transcript was passed on: a file for each transcript and agent, apart from what the session
//! was shown, so that no prompt waits while messages are passed on.

use std::{
    fs,
    path::{Path, PathBuf},
};

use memoir_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    payload::Payload,
    state::{self, AgentKey, LockedState, file_name},
};
use crate::{failure::Failure, private_file};

const TRANSCRIPTS: &str = "transcripts";
/// The folder of the marks of transcripts with pending messages, which save opening the files of the others.
const WAITING: &str = "waiting";

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KeptTranscript {
    /// The program's own identifier of the session.
    session: Option<String>,
    pub(super) transcript: Option<PathBuf>,
    /// The length of the passed part, in bytes.
    pub(super) handed_over: u64,
    /// A digest of the bytes before that offset ([`super::reached::ReachedMemory::digest`]); `None` where nothing was
    /// passed on.
    pub(super) last_handed_over: Option<u64>,
}

/// The content of a mark: a session's transcript may have pending messages.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Mark {
    session: Option<String>,
    transcript: Option<PathBuf>,
    /// When its turn began; `None` where the turn is over.
    turn: Option<Timestamp>,
}

impl Mark {
    /// That of the file at `path`, for the transcript whose state is in `file`.
    fn read(path: &Path, file: &Path) -> Self {
        let found: Self = state::peek(path);
        match found.session.is_some() {
            true => found,
            // A turn's mark is not synced: a power failure may empty it. The transcript's file names the session too.
            false => state::peek(file),
        }
    }
}

/// The file of a mark, and what it held when it was read.
struct MarkFile {
    path: PathBuf,
    before: Option<Vec<u8>>,
}

impl MarkFile {
    /// Whether a turn had begun and was not over.
    fn is_open(&self) -> bool {
        let before = self.before.as_deref().unwrap_or_default();
        serde_json::from_slice(before).is_ok_and(|mark: Mark| mark.turn.is_some())
    }

    /// Whether it was written since, as a turn begins.
    fn is_new(&self) -> bool {
        fs::read(&self.path).is_ok_and(|now| self.before != Some(now))
    }
}

/// A transcript's file, locked against other processes.
#[derive(Default)]
pub(super) struct LockedTranscript {
    pub(super) state: LockedState<KeptTranscript>,
    /// Its marks, one for each key of the agent; none for a session without a name.
    marks: Vec<MarkFile>,
}

impl LockedTranscript {
    /// Opens the file of a session's transcript under the first key of its agent, once other processes have released it.
    pub(super) fn lock(payload: &Payload, agent: &[AgentKey]) -> Result<Self, Failure> {
        let (Some(session), Some(folder)) = (&payload.session, state::folder()) else {
            return Ok(Self::default());
        };
        let name = file_name(session, agent.first());
        let mut state: LockedState<KeptTranscript> =
            LockedState::lock(&folder.join(TRANSCRIPTS).join(&name))?;
        state.kept.session = Some(session.clone());
        state.kept.transcript.clone_from(&payload.transcript);
        let marks = agent.iter().map(|key| {
            let path = folder.join(WAITING).join(file_name(session, Some(key)));
            let before = fs::read(&path).ok();
            MarkFile { path, before }
        });
        Ok(Self {
            marks: marks.collect(),
            state,
        })
    }

    /// Writes the file, and releases it. Its mark remains where more messages may be pending, or a turn goes on.
    pub(super) fn keep(self, is_waiting: bool, is_turn_over: bool) -> Result<(), Failure> {
        let Self { state, marks } = self;
        let stays = |mark: &MarkFile| mark.is_open() && !is_turn_over || mark.is_new();
        // An extra mark is harmless; a missing one would lose pending messages.
        if let Some(mark) = marks.first()
            && is_waiting
            && !stays(mark)
        {
            let content = Mark {
                session: state.kept.session.clone(),
                transcript: state.kept.transcript.clone(),
                turn: None,
            };
            private_file::write_json(&mark.path, serde_json::to_vec(&content))?;
        }
        state.keep()?;
        for mark in marks.iter().skip(usize::from(is_waiting)) {
            if !stays(mark) {
                let _ = fs::remove_file(&mark.path);
            }
        }
        Ok(())
    }
}

/// Marks the transcript of a session whose turn begins: no further event comes where the program is ended in the turn.
pub(super) fn begin_turn(
    payload: &Payload,
    agent: &AgentKey,
    now: Timestamp,
) -> Result<(), Failure> {
    let (Some(session), Some(_), Some(folder)) =
        (&payload.session, &payload.transcript, state::folder())
    else {
        return Ok(());
    };
    let path = folder.join(WAITING).join(file_name(session, Some(agent)));
    let mark = Mark {
        session: Some(session.clone()),
        transcript: payload.transcript.clone(),
        turn: Some(now),
    };
    // The host waits, so that the file is not synced.
    let written = private_file::write_unsynced(&path, &mark);
    written.map_err(|error| Failure::file("write", &path, &error))
}

/// The sessions of an agent with possibly pending messages, and their transcripts, the least recently checked first.
pub(super) fn waiting(agent: &[AgentKey]) -> Vec<(String, PathBuf)> {
    let Some(folder) = state::folder() else {
        return Vec::new();
    };
    let Ok(marks) = fs::read_dir(folder.join(WAITING)) else {
        return Vec::new();
    };
    let mut waiting = Vec::new();
    for mark in marks.flatten() {
        let file = folder.join(TRANSCRIPTS).join(mark.file_name());
        let found = Mark::read(&mark.path(), &file);
        // A mark does not name its agent, but its file name depends on the agent.
        let is_theirs = |session: &str| {
            let mut names = agent.iter().map(|key| file_name(session, Some(key)));
            names.any(|name| *name == *mark.file_name())
        };
        if let (Some(session), Some(transcript)) = (found.session, found.transcript)
            && is_theirs(&session)
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

/// Deletes the state of old transcripts, except those with pending messages, and old marks of missing transcripts.
pub(super) fn forget_old(now: Timestamp) {
    let Some(folder) = state::folder() else {
        return;
    };
    let [transcripts, waiting] = [TRANSCRIPTS, WAITING].map(|name| folder.join(name));
    let is_pending = |mark: &Path| {
        let name = mark.file_name().unwrap_or_default();
        // A hook that was ended while it wrote a mark leaves a file with such a name.
        let is_draft = name.as_encoded_bytes().starts_with(b".");
        let found = Mark::read(mark, &transcripts.join(name)).transcript;
        !is_draft && found.is_some_and(|transcript| transcript.exists())
    };
    state::forget_old(&waiting, now, is_pending);
    let is_waiting = |file: &Path| waiting.join(file.file_name().unwrap_or_default()).exists();
    state::forget_old(&transcripts, now, is_waiting);
}
