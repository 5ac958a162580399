//! The text of a session's start: the context, as far as the program accepts it, and a line for each pending item.

use std::{collections::BTreeSet, fmt::Write, time::Instant};

use memoir_domain::context::REPORTS_HEADING;

use super::{
    length::TextLimit,
    project::ChosenAgent,
    reached::{HookContext, ReachedMemory, Waiting},
};
use crate::{failure::Failure, show::counted};

/// How many smaller contexts are requested at most, where a program counts more than one for many characters.
const TRIES: usize = 4;
/// The most that the line with the counts takes.
const COUNTS: usize = 80;
/// A bound in tokens within which the frame of a context leaves no room for memories.
const FRAME: u64 = 90;

#[derive(Debug)]
pub(super) struct StartText {
    /// Empty where there is nothing to show.
    pub(super) text: String,
    pub(super) shown: BTreeSet<u64>,
    pub(super) left_out: BTreeSet<u64>,
    /// Memoir's own reports whose first line it shows whole.
    pub(super) reports: BTreeSet<u64>,
}

impl StartText {
    /// Its counts, without any text.
    pub(super) fn counts(&self) -> String {
        let shown = self.shown.len();
        match self.left_out.len() {
            0 => format!("shown {shown}"),
            left_out => format!("shown {shown}, left out {left_out}, recall finds them"),
        }
    }
}

/// The text within the limit, with at most `max_tokens` of context where given. A service notes the context that is in it,
/// where it does so until that time.
pub(super) async fn start(
    memory: &ReachedMemory,
    chosen: &ChosenAgent,
    limit: TextLimit,
    max_tokens: Option<u64>,
    until: Instant,
) -> Result<StartText, Failure> {
    let waiting = memory.waiting(chosen).await?;
    let mut tries = Vec::new();
    let start = fitted(&waiting, limit, max_tokens, async |asked| {
        tries.push(asked);
        // The first one is mostly the last, and is noted at once.
        memory.tried_context(asked, tries.len() == 1).await
    });
    let start = start.await?;
    memory.note_context(&tries, until).await;
    Ok(start)
}

/// The text within the limit, of contexts by their sizes in tokens. The last requested one is in the text.
pub(super) async fn fitted(
    waiting: &Waiting,
    limit: TextLimit,
    max_tokens: Option<u64>,
    mut context_of: impl AsyncFnMut(u64) -> Result<HookContext, Failure>,
) -> Result<StartText, Failure> {
    let pending = pending(waiting, true);
    let limit = limit.beside(&pending);
    let room = limit.at_most(limit.most.saturating_sub(COUNTS));
    // A token is four characters, as memories are counted.
    let most = room.most as u64 / 4;
    let mut asked = max_tokens.map_or(most, |tokens| tokens.min(most));
    let mut context = context_of(asked).await?;
    for left in (0..TRIES).rev() {
        let text = context.text.expose();
        let length = room.length_of(text);
        if length <= room.most {
            break;
        }
        // The program counts more than one for some characters.
        let characters = text.chars().count() as u64;
        let in_room = characters * room.most as u64 / length as u64;
        asked = match left {
            // Of memories of many kinds of characters the longest may be the last to leave.
            0 if asked > FRAME => FRAME,
            0 => 0,
            _ => (in_room / 4).min(asked / 10 * 9),
        };
        context = context_of(asked).await?;
    }
    Ok(put(context, waiting))
}

/// Puts a context and the pending items together.
fn put(context: HookContext, waiting: &Waiting) -> StartText {
    let pending = pending(waiting, context.refinement_due.is_some());
    let text = context.text.expose().trim_end();
    let mut start = StartText {
        text: text.to_owned(),
        shown: entries(text.lines()),
        left_out: context.left_out,
        reports: entries(reports(text)),
    };
    if !text.is_empty() {
        start.text.push('\n');
    }
    if !start.left_out.is_empty() {
        let _ = writeln!(start.text, "({})", start.counts());
    }
    if !pending.is_empty() && !start.text.is_empty() {
        start.text.push('\n');
    }
    start.text.push_str(&pending);
    start
}

/// The numbers of the memories in a context: each line of one begins with its number, and no memory has two lines.
pub(super) fn entries<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeSet<u64> {
    let number = |line: &str| line.strip_prefix('#')?.split_once(' ')?.0.parse().ok();
    lines.filter_map(number).collect()
}

/// The lines of Memoir's own reports that are not cut.
fn reports(context: &str) -> impl Iterator<Item = &str> {
    let lines = context.lines().skip_while(|line| *line != REPORTS_HEADING);
    lines.filter(|line| !line.ends_with("…\""))
}

/// The lines about pending items, with their heading; empty where there is none.
fn pending(waiting: &Waiting, is_refinement_due: bool) -> String {
    let lines = pending_lines(waiting, is_refinement_due);
    if lines.is_empty() {
        return String::new();
    }
    let mut text = "## Waiting for you in Memoir\n".to_owned();
    for line in lines {
        let _ = write!(text, "\n- {line}");
    }
    text.push('\n');
    text
}

fn pending_lines(waiting: &Waiting, is_refinement_due: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if waiting.requests > 0 {
        let requests = counted(waiting.requests, "request", "requests");
        lines.push(format!(
            "{requests} for access to your memory: `view_config` or `get_context` shows who asks and why, and \
             `answer_access_request` answers. You are free to say no."
        ));
    }
    if is_refinement_due {
        lines.push(
            "A refinement session is due: `open_refinement` opens it, when there is time for it. Finishing with no \
             edits is a good outcome."
                .to_owned(),
        );
    }
    for agent in &waiting.offered {
        lines.push(format!(
            "This project is new here, and the folder of the agent `{agent}` is gone. If it is this one, moved or \
             renamed, `memoir project adopt {agent}` in this folder takes its memory over. Ask the user first."
        ));
    }
    if waiting.messages > 0 {
        let messages = counted(waiting.messages, "message waits", "messages wait");
        lines.push(format!(
            "{messages} of earlier sessions, and no model is configured that would read: `read_messages` shows them \
             to you, and takes what is worth keeping. Read them when there is time for it."
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use memoir_domain::PrivateText;

    use super::{
        super::{reached::HookMemory, session::ShownContext},
        *,
    };

    #[test]
    fn spec_2_3_a_report_counts_as_shown_where_all_of_it_stands_in_the_text() {
        let text = "# Your memory\n\n## Core memories\n### 2026-05-03\n#1 \"x\"\n\n## Reports by Memoir\n#3 2026-05-03 \
                    \"I let Ada read.\"\n#4 2026-05-03 \"I merged…\"\n#5 2026-05-03 \"The session ended.\"\n";
        let context = HookContext {
            text: PrivateText::from(text),
            left_out: BTreeSet::new(),
            refinement_due: None,
        };
        let at = "2026-05-03T12:00:00Z";
        let start = put(context, &Waiting::default());
        let shown = ShownContext::of(&start, serde_json::from_value(at.into()).unwrap());
        let report = |number: u64, content: &str| -> HookMemory {
            serde_json::from_value(serde_json::json!({
                "number": number, "kind": "journal", "origin": "agent", "source": "memoir: access",
                "content": PrivateText::from(content), "created_at": at, "updated_at": at,
            }))
            .unwrap()
        };
        for (number, content, is_shown) in [
            (2, "A superseded one.", false),
            (3, "I let Ada read.", true),
            (4, "I merged #1 and #2.", false),
            (5, "The session ended.\nIt took long.", false),
        ] {
            assert_eq!(shown.shows(&report(number, content)), is_shown, "{content}");
        }
    }
}
