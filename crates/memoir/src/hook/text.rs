//! The notices to a model, and the file that Goose reads for its model.

use std::{collections::BTreeMap, fmt::Write};

use memoir_app::{Clock, SystemClock};
use memoir_domain::Timestamp;

use super::state::{self, AgentKey, LockedState};
use crate::{failure::Failure, private_file};

/// The notice at a session's start where the memory cannot be read because it was modified outside Memoir.
pub(super) const TAMPERED: &str = "Memoir: your long-term memory cannot be read. Its database was modified outside \
    Memoir, and memories may be missing. This is not an empty memory. Inform the person who runs you: `memoir audit \
    verify --all` names what does not fit, and a backup may have it.";

/// The notice to a session whose memory is closed or missing, or whose agent does not exist under its name.
pub(super) fn no_memory(problem: &str) -> String {
    format!("Memoir gives this session no memory: {problem}. Inform the user.\n")
}

/// The file that Goose reads for its model.
const HINTS: &str = "goose/.goosehints";
// These comments of Markdown, which are not rendered, mark the part that belongs to Memoir.
const BEGIN: &str = "<!-- memoir: begin -->";
const END: &str = "<!-- memoir: end -->";

/// Gives an agent's text to the session of Goose that begins: an empty one takes the last text away. While a session of
/// another agent may still read the file, it holds the memory of neither.
pub(super) fn write_hints(reader: &AgentKey, text: &str) -> Result<(), Failure> {
    /// For how many seconds a session may read the file after an event of its start: it does so at once.
    const READING_SECONDS: i64 = 10;
    let starts = state::file("goose.json").and_then(|path| LockedState::lock(&path));
    let mut starts: LockedState<BTreeMap<AgentKey, Timestamp>> =
        starts.or_else(|problem| replace_hints("").and(Err(problem)))?;
    let now = SystemClock.now();
    let is_reading = |at: &Timestamp| now.seconds_since(*at).abs() < READING_SECONDS;
    starts.kept.retain(|_, at| is_reading(at));
    starts.kept.insert(reader.clone(), now);
    if starts.kept.len() > 1 && !text.is_empty() {
        replace_hints(&no_memory(
            "a session of another agent began within the same ten seconds, and Goose reads one file for all of them; \
             a new session has it",
        ))?;
    } else {
        replace_hints(text)?;
    }
    starts.keep()
}

/// Writes the text into the file that Goose reads when a session begins, replacing the previous one; an empty text
/// removes it.
fn replace_hints(text: &str) -> Result<(), Failure> {
    let folder = crate::database::user_folder(etcetera::BaseStrategy::config_dir);
    let path = folder.map_err(Failure::new)?.join(HINTS);
    let problem = |error| Failure::file("write", &path, &error);
    let before = private_file::existing(std::fs::read_to_string(&path)).map_err(problem)?;
    let before = before.unwrap_or_default();
    let mut after = without_hints(&before);
    if !text.is_empty() {
        if !after.is_empty() && !after.ends_with('\n') {
            after.push('\n');
        }
        let _ = write!(after, "{BEGIN}\n{text}{END}\n");
    }
    if after == before {
        return Ok(());
    }
    private_file::write(&path, after.as_bytes()).map_err(problem)
}

pub(crate) fn without_hints(text: &str) -> String {
    let part = text.find(BEGIN).and_then(|begin| {
        // The last mark: a memory may contain such a mark, and the text after it would remain in the file.
        let end = begin + text[begin..].rfind(END)? + END.len();
        Some((begin, end))
    });
    match part {
        Some((begin, end)) => {
            let rest = &text[end..];
            let rest = rest.strip_prefix('\n').unwrap_or(rest);
            format!("{}{rest}", &text[..begin])
        }
        None => text.to_owned(),
    }
}
