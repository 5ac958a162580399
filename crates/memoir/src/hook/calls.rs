//! When each program first and last called Memoir, and for which agents: a small file for each program in the user's
//! state directory. It holds no agent's texts. `memoir setup` and `memoir doctor` report from it whether a program
//! calls at all, and the closing of the installation reads which agents' programs need a token (SPEC 5.5).

use std::{collections::BTreeSet, path::PathBuf};

use memoir_app::{Clock, SystemClock};
use memoir_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::state;
use crate::private_file;

const FOLDER: &str = "calls";
/// A time is written again after this many seconds, so that most calls only read the file.
const EXACT_TO_SECONDS: i64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallTimes {
    pub(crate) first: Timestamp,
    /// At most a minute before the last call.
    pub(crate) last: Timestamp,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ProgramCalls {
    /// `None` where no hook has called since the program was set up.
    pub(crate) hooks: Option<CallTimes>,
    /// `None` where no client of tools has called since then.
    pub(crate) tools: Option<CallTimes>,
    agents: BTreeSet<CalledAgent>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct CalledAgent {
    /// The installation on this machine (`database::place`).
    place: String,
    agent: String,
}

pub(crate) fn read(program: &str) -> ProgramCalls {
    path_of(program).map_or_else(ProgramCalls::default, |path| state::peek(&path))
}

/// Records that the program calls now; `times_of` is which of its times that changes.
pub(crate) fn note(program: &str, times_of: fn(&mut ProgramCalls) -> &mut Option<CallTimes>) {
    let now = SystemClock.now();
    change(program, |calls| {
        let times = times_of(calls);
        let first = times.map_or(now, |times| times.first);
        let is_new = times.is_none_or(|times| now.seconds_since(times.last) >= EXACT_TO_SECONDS);
        if is_new {
            *times = Some(CallTimes { first, last: now });
        }
        is_new
    });
}

/// Records for which agent of an installation on this machine the program calls.
pub(crate) fn note_agent(program: &str, place: &str, agent: &str) {
    change(program, |calls| {
        calls.agents.insert(CalledAgent {
            place: place.to_owned(),
            agent: agent.to_owned(),
        })
    });
}

/// Deletes the times of the program's calls, since it is set up anew.
pub(crate) fn forget(program: &str) {
    change(program, |calls| {
        let (hooks, tools) = (calls.hooks.take(), calls.tools.take());
        hooks.is_some() || tools.is_some()
    });
}

/// The agents of an installation for which programs have called on this machine.
pub(crate) fn agents(place: &str) -> BTreeSet<String> {
    state::files(FOLDER)
        .flat_map(|file| state::peek::<ProgramCalls>(&file).agents)
        .filter(|called| called.place == place)
        .map(|called| called.agent)
        .collect()
}

fn path_of(program: &str) -> Option<PathBuf> {
    let name: String = program
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .collect();
    let name = if name.is_empty() { "other" } else { &name };
    state::file(&format!("{FOLDER}/{name}.json")).ok()
}

/// Writes the file if `changed` returns true. A failure is ignored, so that no host is stopped by it: an unreadable file
/// counts as no calls, and the next call writes it anew.
fn change(program: &str, changed: impl Fn(&mut ProgramCalls) -> bool) {
    // Most calls change nothing, and wait for no other process.
    let Some(path) = path_of(program).filter(|path| changed(&mut state::peek(path))) else {
        return;
    };
    // Where no file can be locked, another process's change may be lost until its next call.
    let _lock = private_file::lock_beside(&path);
    let mut calls = state::peek(&path);
    if !changed(&mut calls) {
        return;
    }
    // The file is not synced: the host waits, and a lost time is written at the next call.
    let _ = private_file::write_unsynced(&path, &calls);
}
