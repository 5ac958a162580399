//! Sessions: their outcome, and the diff of a rehearsal.

use std::fmt::Write;

use anstyle::Style;
use memoir_app::{
    SessionFacts, ShownMemory, ShownSession,
    sessions::{RehearsalFacts, RehearsedMemory},
};
use memoir_domain::{
    agent::LossGuard,
    memory::Kind,
    session::{State, Stats},
};

use super::{TextTable, counted, diff::diff, joined, numbers, percent, thousands, when};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW, safe};

/// The outcome; its first line is the state alone.
pub(crate) fn outcome(session: &ShownSession) -> String {
    let style = state_style(session.state);
    let mut text = format!("{style}{}{style:#}\n", session.state.label());
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {DIM}{name:<9}{DIM:#} {value}");
    };
    line("session", &session.id.to_string());
    line("agent", &safe(&session.agent));
    line("mode", &mode(session));
    if session.loss_guard == Some(LossGuard::Off) {
        line("guard", "off: what it deleted or merged was discarded");
    }
    line("tokens", &tokens(session));
    line("edits", &edits(session));
    if session.archived > 0 || session.summaries > 0 {
        line("archived", &archived(session));
    }
    if session.refused_calls > 0 {
        let refused = counted(u64::from(session.refused_calls), "call", "calls");
        line("refused", &refused);
    }
    if session.usage.calls > 0 {
        let usage = session.usage;
        let calls = counted(usage.calls, "call", "calls");
        let [sent, received] = [usage.input_tokens, usage.output_tokens].map(thousands);
        let calls = format!("{calls}, {sent} tokens sent, {received} received");
        line("model", &calls);
    }
    let by = session.started_by.as_ref();
    let by = by.map(|actor| format!(" by {}", super::records::actor(actor)));
    let begun = when(session.started_at) + &by.unwrap_or_default();
    line("begun", &begun);
    if let Some(ended) = session.ended_at {
        line("ended", &when(ended));
    }
    if let Some(undone) = session.undone_at {
        line("undone", &when(undone));
    }
    if let Some(summary) = &session.words.summary {
        line("report", &safe(summary.expose()));
    }
    if let Some(failure) = session.failure {
        line("failure", failure.label());
    }
    if let Some(reason) = &session.words.reason {
        line("reason", &safe(reason.expose()));
    }
    text
}

fn mode(session: &SessionFacts) -> String {
    let mut words = vec![session.mode.label().to_owned()];
    if session.rehearsal {
        words.push("rehearsal".to_owned());
    }
    if let Some(model) = &session.model {
        words.push(safe(model).into_owned());
    }
    words.join(", ")
}

/// `2,311 → 2,190 (at least 75% must be left)`
fn tokens(session: &SessionFacts) -> String {
    let Some(before) = session.pre_session_tokens else {
        return "it was never opened".to_owned();
    };
    let mut text = thousands(before);
    if let Some(after) = session.post_session_tokens {
        let _ = write!(text, " → {}", thousands(after));
    }
    if let Some(threshold) = session.threshold {
        let _ = write!(text, " (at least {} must be left)", percent(threshold));
    }
    text
}

/// `31 memories under 2 summaries, 4 alone`
fn archived(session: &SessionFacts) -> String {
    let under = u64::from(session.archived_under_summaries);
    let alone = u64::from(session.archived).saturating_sub(under);
    let summaries = counted(u64::from(session.summaries), "summary", "summaries");
    let under_summaries = || format!("{} under {summaries}", counted(under, "memory", "memories"));
    match (under, alone) {
        (0, alone) => counted(alone, "memory", "memories"),
        (_, 0) => under_summaries(),
        (_, alone) => format!("{}, {} alone", under_summaries(), thousands(alone)),
    }
}

/// `3 (4 consolidated, 1 taken out of the prompt)`
fn edits(session: &SessionFacts) -> String {
    if session.stats == Stats::default() {
        return "none".to_owned();
    }
    format!("{} ({})", session.edits, session.stats)
}

pub(crate) fn state_style(state: State) -> Style {
    match state {
        State::Completed => GREEN.bold(),
        State::Failed | State::RolledBack => RED,
        State::Declined | State::Abandoned => YELLOW.bold(),
        State::Queued | State::Asking | State::Open => BOLD,
    }
}

pub(crate) fn list(sessions: &[ShownSession]) -> String {
    let headings = "session, begun, state, mode, tokens, edits, archived, summaries, note";
    let mut table = TextTable::new(headings.split(", "));
    for session in sessions {
        let mut notes = Vec::new();
        if session.rehearsal {
            notes.push("rehearsal".to_owned());
        }
        if let Some(undone) = session.undone_at {
            notes.push(format!("undone {}", undone.date()));
        }
        notes.extend(session.why_ended().map(ToOwned::to_owned));
        let tokens = [session.pre_session_tokens, session.post_session_tokens];
        let tokens = tokens.into_iter().flatten().map(thousands);
        table.row([
            session.id.to_string(),
            when(session.started_at),
            session.state.label().to_owned(),
            session.mode.label().to_owned(),
            joined(tokens, " → "),
            session.edits.to_string(),
            session.archived.to_string(),
            session.summaries.to_string(),
            notes.join(", "),
        ]);
    }
    table.to_string()
}

/// `; 3 of its 4 edits can still be applied (delete_memory #5: age_limit)`
pub(crate) fn held(facts: &RehearsalFacts) -> String {
    if let Err(problem) = &facts.outcome {
        return format!("; it cannot be applied now: {problem}");
    }
    if facts.not_applied.is_empty() {
        return match facts.edits {
            1 => "; its edit can still be applied".to_owned(),
            edits => format!("; all {edits} of its edits can still be applied"),
        };
    }
    let left = facts.not_applied.iter();
    let left = left.map(|edit| format!("{} {}: {}", edit.tool, numbers(&edit.numbers), edit.code));
    format!(
        "; {} of its {} edits can still be applied ({})",
        thousands(facts.edits_holding()),
        thousands(facts.edits),
        joined(left, ", ")
    )
}

/// The diff of a rehearsal: the changes of each memory that it edited.
pub(crate) fn rehearsed(changes: &[RehearsedMemory]) -> String {
    let mut text = String::new();
    for change in changes {
        let before = change.before.as_ref();
        let before = before.filter(|memory| memory.discarded_at.is_none());
        let after = Some(&change.after).filter(|memory| memory.discarded_at.is_none());
        let is_archival = |memory: &ShownMemory| memory.kind == Kind::Archival;
        let what = match (before, after) {
            (None, Some(after)) if after.is_summary => "would be a new summary".to_owned(),
            (None, _) => "would be new".to_owned(),
            (Some(_), None) => "would be discarded".to_owned(),
            (Some(before), Some(after)) if is_archival(after) && !is_archival(before) => {
                match after.under {
                    Some(under) => format!("would move to the archive, under {under}"),
                    None => "would move to the archive".to_owned(),
                }
            }
            (Some(before), Some(after)) if before.under != after.under => match after.under {
                Some(under) => format!("would come under {under} in the archive"),
                None => "would be under no memory in the archive".to_owned(),
            },
            (Some(before), Some(after)) if before.content() != after.content() => {
                "would be rewritten".to_owned()
            }
            (Some(before), Some(after)) if before.constitutional != after.constitutional => {
                "would become constitutional".to_owned()
            }
            (Some(_), Some(_)) => "would change in its tags or dates".to_owned(),
        };
        let _ = writeln!(text, "{BOLD}{}{BOLD:#} {what}", change.number);
        // A memory that moves to the archive leaves the prompt; its text stays unchanged.
        let in_prompt = |memory: &&ShownMemory| !is_archival(memory);
        let before = before.filter(in_prompt).map(|memory| memory.content());
        let after = after.filter(in_prompt).map(|memory| memory.content());
        text.push_str(&diff(before, after));
        text.push('\n');
    }
    text
}
