//! The statistics of a memory, as numbers in columns.

use std::fmt::Write;

use memoir_app::AgentStats;
use memoir_domain::{audit::Action, core_size::Cause, session::State};

use super::{joined, thousands};
use crate::terminal::{BOLD, DIM};

pub(crate) fn numbers(stats: &AgentStats, width: usize) -> String {
    let mut text = String::new();
    let history = &stats.history;
    let _ = writeln!(
        text,
        "{BOLD}Core size{BOLD:#} {DIM}{} to {}{DIM:#}",
        history.since.date(),
        history.until.date()
    );
    let label = if width < 60 { 22 } else { 34 };
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<label$}{value:>10}");
    };
    let first = history.points.first().map_or(0, |point| point.core_tokens);
    let last = history.points.last().map_or(0, |point| point.core_tokens);
    line("at the beginning", thousands(first));
    for (cause, flow) in &stats.causes {
        let name = cause.label();
        if flow.tokens_added > 0 || flow.tokens_removed == 0 {
            line(name, format!("+{}", thousands(flow.tokens_added)));
        }
        if flow.tokens_removed > 0 {
            line(name, format!("-{}", thousands(flow.tokens_removed)));
        }
    }
    line("at the end", thousands(last));
    line("budget", thousands(stats.effective_core_token_budget));
    let _ = writeln!(text, "\n{BOLD}Sessions{BOLD:#}");
    let mut line = |name: &str, value: u64| {
        let _ = writeln!(text, "  {name:<label$}{:>10}", thousands(value));
    };
    let sessions = &stats.sessions;
    for (end, count) in &sessions.ends {
        let end = State::from_name(end).map_or(*end, State::label);
        line(end, *count);
    }
    line("running", sessions.running);
    line("undone after their end", sessions.undone);
    line("rehearsals", sessions.rehearsals);
    line("edits in effect", sessions.edits);
    line("tokens they removed", sessions.removed_tokens);
    line("memories they archived", sessions.archived);
    line("summaries they wrote", sessions.summaries);
    if let Some(promoted) = stats.causes.get(&Cause::Promoted) {
        line("entries promoted", promoted.records);
    }
    let rewinds = history.returns.iter();
    let rewinds = rewinds.filter(|back| back.action == Action::AgentRewound);
    line("rewinds", rewinds.count() as u64);
    text + &originals(stats, width) + &context(stats, width)
}

/// The share of the core memories that the context shows, in total and by calendar quarter.
fn context(stats: &AgentStats, width: usize) -> String {
    let share = &stats.context;
    let bound = share.max_tokens.map_or_else(String::new, |tokens| {
        format!(" within {} tokens", thousands(tokens))
    });
    let of = |shown, all| format!("{} of {}", thousands(shown), thousands(all));
    let shown = of(share.shown, share.core_memories);
    let line = format!("shows {shown} core memories{bound}");
    let quarters = share.by_quarter.iter().map(|quarter| {
        let shown = of(quarter.shown, quarter.core_memories);
        format!("{}: {shown}", quarter.quarter)
    });
    section("Context", std::iter::once(line).chain(quarters), width)
}

/// The locations of the originals, in total and by calendar quarter.
fn originals(stats: &AgentStats, width: usize) -> String {
    let view = &stats.originals;
    let line = super::originals::line(view.originals);
    let quarters = view.originals_by_quarter.iter().map(|quarter| {
        format!(
            "{}: {} saved, {} in the prompt, {} in the archive",
            quarter.quarter,
            thousands(quarter.saved),
            thousands(quarter.in_prompt),
            thousands(quarter.archived)
        )
    });
    section("Originals", std::iter::once(line).chain(quarters), width)
}

fn section(title: &str, lines: impl Iterator<Item = String>, width: usize) -> String {
    let lines = lines.flat_map(|line| super::wrap::wrap(&line, width.saturating_sub(2)));
    let lines = joined(lines, "\n  ");
    format!("\n{BOLD}{title}{BOLD:#}\n  {lines}\n")
}
