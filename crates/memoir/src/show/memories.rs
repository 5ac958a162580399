//! Memories as a list.

use memoir_app::MemoryView;
use memoir_domain::{PrivateText, memory::Tags};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Table;
use crate::terminal::{safe, safe_lines, stdout_is_watched};

/// Memories in the order given, one a row.
pub(crate) fn list(memories: &[MemoryView]) -> String {
    let mut table = Table::new(["number", "date", "kind", "tokens", "flags", "tags", "text"])
        .right(0)
        .right(3);
    for memory in memories {
        table.row([
            memory.number.to_string(),
            memory.created_at.date(),
            memory.kind.as_str().to_owned(),
            memory.tokens.to_string(),
            flags(memory.constitutional, memory.discarded_at.is_some()),
            tags(&memory.tags),
            text(&memory.content),
        ]);
    }
    table.to_string()
}

/// Memories one a line, their texts cut short.
pub(crate) fn brief(memories: &[&MemoryView]) -> String {
    /// So that a line fits a terminal of the usual width.
    const COLUMNS: usize = 58;
    let mut table = Table::new(["number", "tokens", "flags", "text"])
        .right(0)
        .right(1);
    for memory in memories {
        table.row([
            memory.number.to_string(),
            memory.tokens.to_string(),
            flags(memory.constitutional, memory.discarded_at.is_some()),
            shortened(memory.content.expose(), COLUMNS),
        ]);
    }
    table.to_string()
}

/// On one line and cut to so many columns.
fn shortened(text: &str, columns: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = safe(&line);
    if line.width() <= columns {
        return line.into_owned();
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += character.width().unwrap_or(0);
        used <= columns
    };
    let kept: String = line.chars().take_while(fits).collect();
    format!("{kept}…")
}

/// `constitutional`, `discarded`, or both.
pub(crate) fn flags(constitutional: bool, discarded: bool) -> String {
    let flags = [(constitutional, "constitutional"), (discarded, "discarded")];
    let set: Vec<&str> = flags
        .into_iter()
        .filter_map(|(is_set, name)| is_set.then_some(name))
        .collect();
    set.join(" ")
}

fn tags(tags: &Tags) -> String {
    let tags: Vec<_> = tags.iter().map(safe).collect();
    tags.join(", ")
}

fn text(content: &PrivateText) -> String {
    if stdout_is_watched() {
        safe_lines(content.expose()).into_owned()
    } else {
        safe(content.expose()).into_owned()
    }
}
