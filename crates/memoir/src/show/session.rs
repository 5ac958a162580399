//! Sessions: their outcome, and what a rehearsal came to.

use std::fmt::Write;

use anstyle::Style;
use memoir_app::{
    SessionFacts, ShownSession,
    sessions::{LiveSession, RehearsedMemory},
};
use memoir_domain::{
    labels,
    session::{EndReason, State, Stats},
};

use super::{TextTable, counted, diff::diff, percent, thousands, when};
use crate::terminal::{BOLD, DIM, GREEN, RED, YELLOW, safe};

/// The outcome, beginning with a line that is the state alone.
pub(crate) fn outcome(session: &ShownSession) -> String {
    let style = state_style(session.state);
    let mut text = format!("{style}{}{style:#}\n", labels::state(session.state));
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {DIM}{name:<9}{DIM:#} {value}");
    };
    line("session", &session.id.to_string());
    line("agent", &safe(&session.agent));
    line("mode", &mode(session));
    line("tokens", &tokens(session));
    line("edits", &edits(session));
    if session.refused_calls > 0 {
        let refused = counted(u64::from(session.refused_calls), "call", "calls");
        line("refused", &refused);
    }
    if session.usage.calls > 0 {
        let usage = session.usage;
        line(
            "model",
            &format!(
                "{}, {} tokens sent, {} received",
                counted(usage.calls, "call", "calls"),
                thousands(usage.input_tokens),
                thousands(usage.output_tokens)
            ),
        );
    }
    let by = session.started_by.as_ref();
    let by = by.map(|actor| format!(" by {}", super::records::actor(actor)));
    line(
        "begun",
        &format!("{}{}", when(session.started_at), by.unwrap_or_default()),
    );
    if let Some(ended) = session.ended_at {
        line("ended", &when(ended));
    }
    if let Some(undone) = session.undone_at {
        line("undone", &when(undone));
    }
    if let Some(summary) = &session.words.summary {
        line("summary", &safe(summary.expose()));
    }
    if let Some(reason) = &session.words.reason {
        line("reason", &safe(reason.expose()));
    }
    text
}

/// How a session that runs stands now, in one line.
pub(crate) fn status_line(live: &LiveSession) -> String {
    let state = live.session.state;
    let style = state_style(state);
    let mut parts = vec![format!("{style}{}{style:#}", labels::state(state))];
    if let Some(mass) = live.core_tokens {
        parts.push(format!("{} tokens", thousands(mass)));
    }
    if let Some(line) = live.breaker_tokens {
        parts.push(format!("the breaker trips below {}", thousands(line)));
        parts.push(format!(
            "{} left",
            counted(u64::from(live.edits_left), "edit", "edits")
        ));
    }
    format!("{}\n", parts.join(", "))
}

fn mode(session: &SessionFacts) -> String {
    let mut words = vec![labels::mode(session.mode).to_owned()];
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
        return "the knife was not handed over".to_owned();
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

/// `3 (4 merged, 1 deleted)`
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

/// Sessions, one a row.
pub(crate) fn list(sessions: &[ShownSession]) -> String {
    let mut table = TextTable::new([
        "session", "begun", "state", "mode", "tokens", "edits", "note",
    ]);
    for session in sessions {
        let mut notes = Vec::new();
        if session.rehearsal {
            notes.push("rehearsal".to_owned());
        }
        if let Some(undone) = session.undone_at {
            notes.push(format!("undone {}", undone.date()));
        }
        let because = session.end_reason.and_then(EndReason::from_name);
        notes.extend(because.map(|reason| labels::end_reason(reason).to_owned()));
        let tokens: Vec<String> = [session.pre_session_tokens, session.post_session_tokens]
            .into_iter()
            .flatten()
            .map(thousands)
            .collect();
        table.row([
            session.id.to_string(),
            when(session.started_at),
            labels::state(session.state).to_owned(),
            labels::mode(session.mode).to_owned(),
            tokens.join(" → "),
            session.edits.to_string(),
            notes.join(", "),
        ]);
    }
    table.to_string()
}

/// What would become of each memory that a rehearsal touched.
pub(crate) fn rehearsed(changes: &[RehearsedMemory]) -> String {
    let mut text = String::new();
    for change in changes {
        let before = change
            .before
            .as_ref()
            .filter(|memory| memory.discarded_at.is_none());
        let after = Some(&change.after).filter(|memory| memory.discarded_at.is_none());
        let what = match (before, after) {
            (None, _) => "would be new",
            (Some(_), None) => "would be discarded",
            (Some(before), Some(after)) if before.content() != after.content() => {
                "would be rewritten"
            }
            (Some(before), Some(after)) if before.constitutional != after.constitutional => {
                "would become constitutional"
            }
            (Some(_), Some(_)) => "would change in its tags or dates",
        };
        let _ = writeln!(text, "{BOLD}{}{BOLD:#} {what}", change.number);
        text.push_str(&diff(
            before.map(|memory| memory.content()),
            after.map(|memory| memory.content()),
        ));
        text.push('\n');
    }
    text
}
