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
use crate::failure::Failure;

/// The folder of the transcripts' files.
const TRANSCRIPTS: &str = "transcripts";
/// The folder of the marks of transcripts with pending messages: empty files, which save opening the others.
const WAITING: &str = "waiting";

/// The stored state of a transcript.
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
    /// Whether more messages may be pending.
    pub(super) is_waiting: bool,
}

/// A transcript's file, locked against other processes.
pub(super) struct LockedTranscript {
    state: LockedState<KeptTranscript>,
    /// Its mark; `None` for a session without a name.
    mark: Option<PathBuf>,
    was_waiting: bool,
}

impl LockedTranscript {
    /// Opens the file of a session's transcript, once other processes have released it.
    ///
    /// # Errors
    /// The file cannot be created or read.
    pub(super) fn lock(payload: &Payload, agent: &AgentKey) -> Result<Self, Failure> {
        let (Some(session), Some(folder)) = (&payload.session, state::folder()) else {
            return Ok(Self {
                state: LockedState::nowhere(),
                mark: None,
                was_waiting: false,
            });
        };
        let name = file_name(session, Some(agent));
        let mut state: LockedState<KeptTranscript> =
            LockedState::lock(&folder.join(TRANSCRIPTS).join(&name))?;
        state.kept.session = Some(session.clone());
        state.kept.transcript.clone_from(&payload.transcript);
        Ok(Self {
            was_waiting: state.kept.is_waiting,
            state,
            mark: Some(folder.join(WAITING).join(name)),
        })
    }

    pub(super) fn kept(&mut self) -> &mut KeptTranscript {
        &mut self.state.kept
    }

    /// Writes the file, and releases it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep(self) -> Result<(), Failure> {
        let is_waiting = self.state.kept.is_waiting;
        // An extra mark is harmless; a missing one would lose pending messages.
        if let Some(mark) = &self.mark
            && is_waiting
            && !self.was_waiting
        {
            crate::private_file::write(mark, b"")
                .map_err(|error| Failure::file("write", mark, &error))?;
        }
        self.state.keep()?;
        if let Some(mark) = &self.mark
            && self.was_waiting
            && !is_waiting
        {
            let _ = fs::remove_file(mark);
        }
        Ok(())
    }
}

/// The sessions of an agent with possibly pending messages, and their transcripts, the least recently checked first.
/// An agent has several keys where it could not be reached.
pub(super) fn waiting(agents: &[AgentKey]) -> Vec<(String, PathBuf)> {
    let Some(folder) = state::folder() else {
        return Vec::new();
    };
    let Ok(marks) = fs::read_dir(folder.join(WAITING)) else {
        return Vec::new();
    };
    let mut waiting = Vec::new();
    for mark in marks.flatten() {
        let file = folder.join(TRANSCRIPTS).join(mark.file_name());
        let kept: KeptTranscript = state::peek(&file);
        // A mark does not name its agent, but its file name depends on the agent.
        let is_theirs = |session: &str| {
            let mut names = agents.iter().map(|agent| file_name(session, Some(agent)));
            names.any(|name| *name == *mark.file_name())
        };
        if let (Some(session), Some(transcript)) = (kept.session, kept.transcript)
            && kept.is_waiting
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

/// Deletes the state of old transcripts, except those with pending messages.
pub(super) fn forget_old(now: Timestamp) {
    let Some(folder) = state::folder() else {
        return;
    };
    let is_waiting = |file: &Path| {
        let name = file.file_name().unwrap_or_default();
        folder.join(WAITING).join(name).exists()
    };
    state::forget_old(&folder.join(TRANSCRIPTS), now, is_waiting);
}
