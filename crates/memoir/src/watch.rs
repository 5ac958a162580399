//! What a person watching a session sees while it runs; with `--json`, what a program reads.

use std::sync::{Arc, Mutex, PoisonError};

use memoir_app::sessions::{Progress, drive::Measure};
use memoir_domain::{SessionId, memory::Number, session::State};

use crate::{
    show::{self, counted, thousands},
    terminal::{self, BOLD, DIM, GREEN, RED, YELLOW, safe},
};

/// Cells of the bar that shows the distance to the breaker.
const BAR: u64 = 16;

/// Prints progress as it happens.
pub(crate) struct Watcher {
    json: bool,
    edits: u32,
    /// What could be removed at the beginning, in tokens.
    removable_tokens: u64,
    running: Running,
}

/// The session that runs now, for whoever must cancel it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Option<SessionId>>>);

impl Running {
    pub(crate) fn id(&self) -> Option<SessionId> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, id: Option<SessionId>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}

impl Watcher {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            edits: 0,
            removable_tokens: 0,
            running: Running::default(),
        }
    }

    /// The session that is under way.
    pub(crate) fn running(&self) -> Running {
        self.running.clone()
    }

    /// Takes note of `progress`.
    pub(crate) fn see(&mut self, progress: &Progress) {
        match progress {
            Progress::Begun { session, .. } => self.running.set(Some(*session)),
            Progress::Ended { .. } => self.running.set(None),
            _ => {}
        }
        if self.json {
            // The end is printed as the session itself. A reader that went away does not end a session.
            if !matches!(progress, Progress::Ended { .. }) {
                let _ = terminal::json(progress);
            }
        } else if let Some(line) = self.line(progress) {
            terminal::note(&line);
        }
    }

    fn line(&mut self, progress: &Progress) -> Option<String> {
        let (word, text) = match progress {
            Progress::Begun {
                session,
                agent,
                model,
                rehearsal,
            } => {
                self.edits = 0;
                let what = if *rehearsal { "rehearsal" } else { "session" };
                return Some(format!(
                    "{BOLD}{}{BOLD:#}: {what} {session} with {}",
                    safe(agent),
                    safe(model)
                ));
            }
            Progress::Asked => ("asked", "whether it wants to refine its memory".to_owned()),
            Progress::Agreed => ("agreed", String::new()),
            Progress::Declined { words } => {
                ("declined", format!("“{}”", safe(words.expose().trim())))
            }
            Progress::Opened { .. } => return Some(self.opened(progress)),
            Progress::Edited {
                tool,
                memories,
                lost_details,
                measure,
            } => {
                if *tool == "protect_memory" {
                    return Some(styled(GREEN, "flag", &done(tool, memories)));
                }
                let mut text = format!("{}: {}", done(tool, memories), self.measured(measure));
                if *lost_details > 0 {
                    let lost = counted(*lost_details as u64, "detail", "details");
                    text.push_str(&format!(" {YELLOW}({lost} lost){YELLOW:#}"));
                }
                self.edits += 1;
                return Some(styled(GREEN, &format!("edit {}", self.edits), &text));
            }
            // The end is told right after.
            Progress::Answered {
                refused: None,
                tool: "complete_refinement",
            } => return None,
            Progress::Answered { refused: None, .. } => ("searched", String::new()),
            Progress::Answered {
                refused: Some(code),
                tool,
            } => {
                return Some(styled(
                    YELLOW,
                    "refused",
                    &format!("{}: {code}", tool_name(tool)),
                ));
            }
            Progress::Tripped { measure } => {
                let text = format!(
                    "the breaker tripped at {} tokens; everything is taken back",
                    thousands(measure.core_tokens_after)
                );
                return Some(styled(RED, "tripped", &text));
            }
            Progress::Reminded => ("reminded", "it stopped without completing".to_owned()),
            Progress::Waiting { seconds, problem } => {
                let text = format!("{seconds:.1} s, then again: {}", safe(problem));
                return Some(styled(YELLOW, "waiting", &text));
            }
            // Told already, in the agent's words.
            Progress::Ended { session } if session.state == State::Declined => return None,
            Progress::Ended { session } => {
                let style = show::session::state_style(session.state);
                let text = match session.pre_session_tokens {
                    Some(_) => show::session::stats(session.stats),
                    // The knife was not handed over.
                    None => String::new(),
                };
                return Some(styled(style, session.state.as_str(), &text));
            }
        };
        Some(styled(DIM, word, &text))
    }

    fn opened(&mut self, progress: &Progress) -> String {
        let Progress::Opened {
            duplicates_removed,
            pre_session_tokens,
            threshold,
            removable_tokens,
            listed,
            left_out,
        } = progress
        else {
            return String::new();
        };
        self.removable_tokens = *removable_tokens;
        let doubles = counted(*duplicates_removed as u64, "double", "doubles");
        let mut rows = counted(*listed as u64, "memory", "memories");
        if *left_out > 0 {
            rows.push_str(&format!(
                " listed, {} left for later",
                thousands(*left_out as u64)
            ));
        }
        let opened = format!(
            "{rows}, {} tokens; at least {} must be left, so {} may go",
            thousands(*pre_session_tokens),
            show::percent(*threshold),
            thousands(*removable_tokens)
        );
        format!(
            "{}\n{}",
            styled(DIM, "cleaned", &doubles),
            styled(DIM, "opened", &opened)
        )
    }

    /// `412 → 398 tokens [████████░░░░] 89 to the breaker`
    fn measured(&self, measure: &Measure) -> String {
        let left = measure.removable_tokens;
        let cells = (left.min(self.removable_tokens) * BAR)
            .checked_div(self.removable_tokens)
            .unwrap_or(0);
        let bar: String = (0..BAR)
            .map(|cell| if cell < cells { '█' } else { '░' })
            .collect();
        format!(
            "{} → {} tokens  {bar} {} to the breaker",
            thousands(measure.core_tokens_before),
            thousands(measure.core_tokens_after),
            thousands(left)
        )
    }
}

fn styled(style: anstyle::Style, word: &str, text: &str) -> String {
    if text.is_empty() {
        return format!("  {style}{word}{style:#}");
    }
    format!("  {style}{word:<9}{style:#} {text}")
}

/// What was done to which memories.
fn done(tool: &str, memories: &[Number]) -> String {
    match (tool, memories) {
        ("consolidate_memories", [merged @ .., new]) => {
            format!("merged {} into {new}", show::numbers(merged))
        }
        ("update_memory", _) => format!("rewrote {}", show::numbers(memories)),
        ("delete_memory", _) => format!("deleted {}", show::numbers(memories)),
        ("protect_memory", _) => format!("protected {}", show::numbers(memories)),
        _ => format!("changed {}", show::numbers(memories)),
    }
}

fn tool_name(tool: &str) -> &str {
    match tool {
        "unknown" => "a tool that there is not",
        other => other,
    }
}
