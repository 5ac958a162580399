//! The result of a verification.

use std::fmt::Write;

use memoir_app::{CheckpointGrowth, Mismatch, Verification};

use super::{counted, moment, thousands};
use crate::terminal::{DIM, GREEN, RED, safe};

/// A line for each agent with its mismatches below it, and one for the checkpoint.
pub(crate) fn verified_text(
    agents: &[Verification],
    checkpoint: Option<&CheckpointGrowth>,
) -> String {
    let lines = agents.iter().map(|one| agent(one, &name(one, agents)));
    let mut text: String = lines.collect();
    if agents.is_empty() {
        text.push_str("there is no agent yet\n");
    }
    if let Some(growth) = checkpoint {
        text.push_str(&grown(growth));
    }
    text
}

/// The agent's name, with its identifier where another one has the same name.
fn name(agent: &Verification, all: &[Verification]) -> String {
    let name = safe(&agent.agent);
    let of_name = all.iter().filter(|other| other.agent == agent.agent);
    match of_name.count() {
        0 | 1 => name.into_owned(),
        _ => format!("{name} {DIM}({}){DIM:#}", agent.agent_id),
    }
}

fn agent(agent: &Verification, name: &str) -> String {
    let records = counted(agent.records, "record", "records");
    let erased = agent.erased_at.map_or_else(String::new, |at| {
        let at = moment(at);
        format!("; erased {at}, so that only the chain can be checked")
    });
    if agent.valid {
        let head = &agent.head;
        return format!(
            "{GREEN}valid{GREEN:#}   {name}: {records}, head {DIM}{head}{DIM:#}{erased}\n{}",
            originals(agent)
        );
    }
    let mut text = format!("{RED}invalid{RED:#} {name}: the chain holds for {records}{erased}\n");
    for mismatch in &agent.mismatches {
        let _ = writeln!(text, "        {}", line(mismatch));
    }
    text + &originals(agent)
}

/// The locations of the originals (SPEC 3.12), and how many were discarded.
fn originals(agent: &Verification) -> String {
    let Some(originals) = &agent.originals else {
        return String::new();
    };
    let discarded = match originals.discarded {
        0 => String::new(),
        discarded => format!(", {} discarded (`memoir restore`)", thousands(discarded)),
    };
    format!("        {originals}{discarded}\n")
}

fn line(mismatch: &Mismatch) -> String {
    let problem = safe(&mismatch.problem);
    match mismatch.seq {
        Some(seq) => format!("record {seq}: {problem}"),
        None => problem.into_owned(),
    }
}

fn grown(growth: &CheckpointGrowth) -> String {
    let size = counted(growth.size, "entry", "entries");
    match &growth.problem {
        None => format!(
            "{GREEN}valid{GREEN:#}   the log over all heads ({size}) only grew since the checkpoint\n"
        ),
        Some(problem) => format!("{RED}invalid{RED:#} {}\n", safe(problem)),
    }
}
