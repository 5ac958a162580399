//! Stores the index of the agent's words for later hooks, in a process of its own: to build it takes longer than a
//! program waits for a hook.

use std::time::Duration;

use memoir_app::{Clock, SystemClock};
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

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct LastStart {
    at: Option<Timestamp>,
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
    let Some(folder) = state::folder() else {
        return Ok(());
    };
    // The recall that follows reports any problem of the memory itself.
    if !agent
        .memories()
        .is_stored_index_outdated()
        .await
        .unwrap_or(false)
    {
        return Ok(());
    }
    let name = file_name("index", Some(&memory.key()));
    let mut last = LockedState::<LastStart>::lock(&folder.join("indexes").join(name))?;
    let now = SystemClock.now();
    let age = last.kept.at.map(|at| now.seconds_since(at));
    // After a clock was set back, the last one counts as long ago.
    if age.is_some_and(|age| (0..BETWEEN_SECONDS).contains(&age)) {
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
    if let ReachedMemory::Here { agent, .. } = &memory
        && agent.memories().store_index().await?
    {
        log.note("stored the index of words");
    }
    Ok(())
}
