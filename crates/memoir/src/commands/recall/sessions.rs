//! `memoir recall --eval --sessions`: what each session changed in what the agent's context and recall give back.

use std::fmt::Write;

use memoir_app::{BeforeAndAfter, OwnAgent, SessionProbe};
use memoir_domain::memory::Number;

use crate::{
    failure::Outcome,
    options::Global,
    output,
    show::{TextTable, moment, numbers},
};

/// Most memories of a session that are named; the others are counted.
const NAMED: usize = 20;

/// Prints the table, or the same as JSON. Nothing of it is noted.
pub(super) async fn run(global: &Global, agent: &OwnAgent, most: usize) -> Outcome {
    let probed = agent.probe_sessions(most).await?;
    let none = "no session that was opened has ended yet";
    output::list(global.json, probed, none, in_words)
}

fn in_words(probed: &[SessionProbe]) -> String {
    let headings = "session, ended, outcome, probes, in the context, first ten recalled";
    let mut table = TextTable::new(headings.split(", ")).right([3]);
    let change = |count: BeforeAndAfter| format!("{} → {}", count.before, count.after);
    for probe in probed {
        table.row([
            probe.session.to_string(),
            moment(probe.ended_at),
            probe.state.label().to_owned(),
            probe.probes.to_string(),
            change(probe.in_context),
            change(probe.recalled),
        ]);
    }
    let mut text = table.to_string();
    for probe in probed {
        let lost = [
            ("no longer in the context", &probe.left_context),
            ("no longer recalled", &probe.no_longer_recalled),
        ];
        for (what, memories) in lost
            .into_iter()
            .filter(|(_, memories)| !memories.is_empty())
        {
            let named: Vec<Number> = memories.iter().copied().take(NAMED).collect();
            let more = memories.len() - named.len();
            let _ = write!(text, "{}: {what}: {}", probe.session, numbers(&named));
            if more > 0 {
                let _ = write!(text, " and {more} more");
            }
            text.push('\n');
        }
    }
    text
}
