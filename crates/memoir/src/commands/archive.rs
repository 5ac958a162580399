//! `memoir archive`: the archival memories, and the memories that took their place.

use std::collections::BTreeMap;

use memoir_app::ShownMemory;
use memoir_domain::memory::{Kind, Number, core_above};

use crate::{
    failure::Outcome,
    installation::Installation,
    options::Global,
    output,
    show::{self, List, archive::ArchivedMemory, counted, thousands},
    terminal,
};

/// List the archival memories, with the memories that took their place
///
/// They are in no prompt; recall finds them. `under` is the memory that took an archival memory's place, `now` the
/// core memory in the prompt at the end of that chain. `memoir promote` moves one back into the prompt.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let archived = archived(lens.memories(false).await?);
    if global.json {
        return output::json(&List::whole(archived));
    }
    if archived.is_empty() {
        terminal::note("the archive is empty");
        return Ok(());
    }
    output::print(&show::archive::list(&archived))?;
    let tokens: u64 = archived.iter().map(|one| one.memory.tokens).sum();
    let count = archived.len() as u64;
    let memories = counted(count, "archival memory", "archival memories");
    terminal::note(&format!("{memories}, {} tokens", thousands(tokens)));
    Ok(())
}

/// The archival ones of the active memories, each with the core memory at the end of its chain.
fn archived(active: Vec<ShownMemory>) -> Vec<ArchivedMemory> {
    let places: BTreeMap<Number, (Kind, Option<Number>)> = active
        .iter()
        .map(|memory| (memory.number, (memory.kind, memory.under)))
        .collect();
    let place = |number: Number| places.get(&number).copied();
    active
        .into_iter()
        .filter(|memory| memory.kind == Kind::Archival)
        .map(|memory| {
            let now = core_above(memory.under, places.len(), place);
            ArchivedMemory { memory, now }
        })
        .collect()
}
