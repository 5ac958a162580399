//! The demonstration's output as text.

use std::{fmt::Write, slice};

use memoir_app::{ShownMemory, ShownRecord};
use memoir_domain::{audit::Action, memory::Kind};

use super::DemoOutput;
use crate::{
    show::{self, counted, thousands},
    terminal::{BOLD, DIM, safe_lines},
};

pub(super) fn before(agent: &str, memories: &[ShownMemory]) -> String {
    let mut text = heading(&format!("`{agent}` before its session"));
    text.push_str(&ledger(memories));
    text.push_str(&heading(
        "The session, with `builtin:careful`: rules instead of a model",
    ));
    text
}

pub(super) fn after(shown: &DemoOutput) -> String {
    let mut text = heading("What was edited, and why");
    if let Some(summary) = &shown.session.words.summary {
        let _ = writeln!(
            text,
            "{DIM}its report:{DIM:#} {}\n",
            safe_lines(summary.expose())
        );
    }
    let is_edit = |record: &&ShownRecord| record.action != Action::MemoryRefinementComplete;
    let edits: Vec<ShownRecord> = shown.records.iter().filter(is_edit).cloned().collect();
    text.push_str(&show::records::with_texts(&edits, &shown.after));
    text.push_str(&heading(&format!("`{}` after its session", shown.agent)));
    text.push_str(&ledger(&shown.after));
    text.push_str(&heading("The journal entry about it"));
    match &shown.journal {
        Some(entry) => {
            let _ = writeln!(text, "{} {}", entry.number, safe_lines(entry.content()));
        }
        None => text.push_str("there is none\n"),
    }
    text.push_str(&heading("The audit records of the session"));
    text.push_str(&show::records::timeline(&shown.records));
    text.push_str(&heading("Is the audit as it was written?"));
    let agents = slice::from_ref(&shown.verification);
    text.push_str(&show::verified::verified_text(agents, None));
    let _ = write!(text, "\n{}", shown.session.state.label());
    text
}

fn heading(text: &str) -> String {
    format!("\n{BOLD}{text}{BOLD:#}\n\n")
}

/// The core memories, and the number of the others.
fn ledger(memories: &[ShownMemory]) -> String {
    let active = |kind: Kind| {
        let memories = memories.iter();
        memories.filter(move |memory| memory.discarded_at.is_none() && memory.kind == kind)
    };
    let core: Vec<ShownMemory> = active(Kind::Core).cloned().collect();
    let journal = active(Kind::Journal).count() as u64;
    let archival = active(Kind::Archival).count();
    let tokens: u64 = core.iter().map(|memory| memory.tokens).sum();
    format!(
        "{}\n{DIM}{}, {} tokens; {}; {archival} in the archive{DIM:#}\n",
        show::memories::list(&core),
        counted(core.len() as u64, "core memory", "core memories"),
        thousands(tokens),
        counted(journal, "journal entry", "journal entries"),
    )
}
