//! The progress of a running session: lines for people, or with `--json` objects for programs.

use memoir_app::{
    SessionFacts,
    sessions::{Progress, drive::Measure},
};
use memoir_domain::{SessionId, memory::Number, session::State};

use crate::{
    output,
    show::{self, counted, thousands},
    terminal::{self, BOLD, DIM, GREEN, RED, YELLOW, safe},
};

pub(crate) struct ProgressPrinter {
    json: bool,
    edits: u32,
    /// The running session, for the code that must cancel it.
    pub(crate) running: Option<SessionId>,
}

impl ProgressPrinter {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            edits: 0,
            running: None,
        }
    }

    pub(crate) fn see(&mut self, progress: &Progress) {
        match progress {
            Progress::Begun { session, .. } => self.running = Some(*session),
            Progress::Ended { .. } => self.running = None,
            _ => {}
        }
        if self.json {
            // The end is printed as the session itself. A closed stdout does not end a session.
            if !matches!(progress, Progress::Ended { .. }) {
                let _ = output::json(progress);
            }
        } else if let Some(line) = self.line(progress) {
            terminal::note(&line);
        }
    }

    /// The line for `progress`; `None` where another line reports it already.
    fn line(&mut self, progress: &Progress) -> Option<String> {
        Some(match progress {
            Progress::Begun {
                session,
                agent,
                model,
                rehearsal,
            } => {
                self.edits = 0;
                let what = if *rehearsal { "rehearsal" } else { "session" };
                let (agent, model) = (safe(agent), safe(model));
                format!("{BOLD}{agent}{BOLD:#}: {what} {session} with {model}")
            }
            Progress::Asked => styled(DIM, "asked", "whether it wants to refine its memory"),
            Progress::Agreed => styled(DIM, "agreed", ""),
            Progress::Declined { words } => {
                let quoted = match words.expose().trim() {
                    "" => String::new(),
                    words => format!("“{}”", safe(words)),
                };
                styled(YELLOW, "declined", &quoted)
            }
            Progress::Opened {
                duplicates_removed,
                pre_session_tokens,
                limit,
                listed,
                left_out,
                ..
            } => {
                let duplicates = counted(*duplicates_removed as u64, "duplicate", "duplicates");
                let mut rows = counted(*listed as u64, "memory", "memories");
                if *left_out > 0 {
                    let left_out = thousands(*left_out as u64);
                    rows.push_str(&format!(" listed, {left_out} left for later"));
                }
                let opened = format!("{rows}, {} tokens", thousands(*pre_session_tokens));
                let lines = [
                    styled(DIM, "cleaned", &duplicates),
                    styled(DIM, "opened", &opened),
                    styled(DIM, "limit", limit),
                ];
                lines.join("\n")
            }
            // Protecting a memory is no edit (SPEC 3.11).
            Progress::Edited { tool, memories, .. } if *tool == "protect_memory" => {
                styled(GREEN, "flag", &done(tool, memories))
            }
            Progress::Edited {
                tool,
                memories,
                archived,
                measure,
            } => {
                let mut text = format!("{}: {}", done(tool, memories), measured(measure));
                if *archived > 0 {
                    let archived = thousands(*archived as u64);
                    text.push_str(&format!(" {DIM}({archived} archived){DIM:#}"));
                }
                self.edits += 1;
                styled(GREEN, &format!("edit {}", self.edits), &text)
            }
            Progress::Answered { tool, refused } => match (*tool, refused) {
                (tool, Some(code)) => {
                    let tool = if tool == "unknown" {
                        "an unknown tool"
                    } else {
                        tool
                    };
                    styled(YELLOW, "refused", &format!("{tool}: {}", code.as_str()))
                }
                // The end is reported right after.
                ("complete_refinement", None) => return None,
                (_, None) => styled(DIM, "searched", ""),
            },
            Progress::Tripped { measure } => {
                let left = thousands(measure.core_tokens_after);
                let text = format!("the breaker; everything was undone, back to {left} tokens");
                styled(RED, "tripped", &text)
            }
            Progress::Reminded => styled(DIM, "reminded", "it stopped without completing"),
            Progress::Waiting { seconds, problem } => {
                let text = format!("{seconds:.1} s, then again: {}", safe(problem));
                styled(YELLOW, "waiting", &text)
            }
            Progress::Ended { session } => ended(session)?,
        })
    }
}

/// `412 → 398 tokens, 89 to the breaker`
fn measured(measure: &Measure) -> String {
    format!(
        "{} → {} tokens, {} to the breaker",
        thousands(measure.core_tokens_before),
        thousands(measure.core_tokens_after),
        thousands(measure.removable_tokens)
    )
}

fn styled(style: anstyle::Style, word: &str, text: &str) -> String {
    if text.is_empty() {
        return format!("  {style}{word}{style:#}");
    }
    format!("  {style}{word:<9}{style:#} {text}")
}

fn ended(session: &SessionFacts) -> Option<String> {
    let text = match (session.state, session.pre_session_tokens) {
        // Reported already, with the agent's reason.
        (State::Declined, _) => return None,
        (_, Some(_)) => session.stats.to_string(),
        // It was never opened.
        (_, None) => String::new(),
    };
    let style = show::session::state_style(session.state);
    Some(styled(style, session.state.label(), &text))
}

fn done(tool: &str, memories: &[Number]) -> String {
    match (tool, memories) {
        ("consolidate_memories", _) => format!("consolidated {}", show::numbers(memories)),
        ("update_memory", [old, new]) => format!("rewrote {old} as {new}"),
        ("update_memory", _) => format!("rewrote {}", show::numbers(memories)),
        ("delete_memory", _) => format!("took {} out of the prompt", show::numbers(memories)),
        ("protect_memory", _) => format!("protected {}", show::numbers(memories)),
        _ => format!("changed {}", show::numbers(memories)),
    }
}
