//! Stores the index of the agent's words for later hooks, in a process of its own: to build it takes longer than a
//! program waits for a hook.

use std::time::Duration;

use memoir_app::{Clock, IndexStoring, SystemClock};
use memoir_domain::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Arguments, WAITING_MS, hand_over, host_input,
    log::Log,
    payload::Payload,
    project::ChosenAgent,
    reached::ReachedMemory,
    session,
    state::{self, LockedState, file_name},
    written::ProgramMemory,
};
use crate::failure::Failure;

const OPTION: &str = "--store-index";
/// Seconds between two of these processes for one agent.
const BETWEEN_SECONDS: i64 = 60;
/// The same where the last one found the index too large to be stored: until the limit is raised, so are later ones.
const BETWEEN_VAIN_SECONDS: i64 = 3_600;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct LastStart {
    at: Option<Timestamp>,
    is_too_large: bool,
}

/// The state of the agent, locked; `None` where there is no folder for it.
fn last_start(memory: &ReachedMemory) -> Result<Option<LockedState<LastStart>>, Failure> {
    let name = file_name("index", Some(&memory.key()));
    let file = state::folder().map(|folder| folder.join("indexes").join(name));
    file.map(|file| LockedState::lock(&file)).transpose()
}

/// Begins to use the stored index. Starts the process where that is outdated, before this one builds its own.
pub(super) async fn prepare(memory: &ReachedMemory, chosen: &ChosenAgent, log: &Log) {
    if let Err(problem) = try_prepare(memory, chosen).await {
        log.problem(&problem);
    }
}

async fn try_prepare(memory: &ReachedMemory, chosen: &ChosenAgent) -> Result<(), Failure> {
    let ReachedMemory::Here { agent, .. } = memory else {
        return Ok(());
    };
    let is_outdated = agent.memories().is_stored_index_outdated().await;
    // The recall that follows reports any problem of the memory itself.
    if !is_outdated.unwrap_or(false) {
        return Ok(());
    }
    let Some(mut last) = last_start(memory)? else {
        return Ok(());
    };
    let between = match last.kept.is_too_large {
        true => BETWEEN_VAIN_SECONDS,
        false => BETWEEN_SECONDS,
    };
    let now = SystemClock.now();
    let age = last.kept.at.map(|at| now.seconds_since(at));
    // After a clock was set back, the last one counts as long ago.
    if age.is_some_and(|age| (0..between).contains(&age)) {
        return Ok(());
    }
    last.kept.at = Some(now);
    last.keep()?;
    let payload = Payload {
        project: chosen.root(),
        ..Payload::default()
    };
    hand_over::start(&payload, OPTION)
}

/// Stores the index, once the hook that started this process has ended.
pub(super) async fn run(
    means: &ProgramMemory,
    arguments: &Arguments,
    log: &Log,
) -> Result<(), Failure> {
    let payload = Payload::read(&host_input()?);
    tokio::time::sleep(Duration::from_millis(WAITING_MS)).await;
    let chosen = session::chosen(&means.whose, &payload)?;
    let memory = ReachedMemory::open(means, arguments, &chosen).await?;
    if let ReachedMemory::Here { agent, .. } = &memory {
        let outcome = agent.memories().store_index().await?;
        if outcome == IndexStoring::Stored {
            log.note("stored the index of words");
        }
        if let Some(mut last) = last_start(&memory)? {
            last.kept.is_too_large = outcome == IndexStoring::TooLarge;
            last.keep()?;
        }
    }
    Ok(())
}
