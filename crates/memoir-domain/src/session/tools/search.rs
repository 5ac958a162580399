//! `search_memories`: core and archival memories by a piece of text and by date, oldest first (SPEC 3.8).

use crate::{
    change::memories::AllMemories,
    memory::Memory,
    session::tools::{SearchHit, ToolResult},
    text::{fold, private::PrivateText},
    time::Timestamp,
};

/// The most memories that one search returns.
pub const SEARCH_LIMIT: usize = 50;

/// Finds among `memories` the active core and archival ones that match all that is given. Both dates are included.
pub fn search(
    memories: &AllMemories,
    query: Option<&PrivateText>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> ToolResult {
    let folded = query.map(|query| fold(query.expose()));
    let mut found: Vec<&Memory> = memories
        .iter()
        .filter(|memory| memory.is_active_core() || memory.is_active_archival())
        .filter(|memory| since.is_none_or(|since| memory.created_at >= since))
        .filter(|memory| until.is_none_or(|until| memory.created_at <= until))
        .filter(|memory| {
            folded
                .as_ref()
                .is_none_or(|query| fold(memory.content.expose()).contains(query))
        })
        .collect();
    // By number too: many memories may have one date, and the limit must cut the same ones each time.
    found.sort_by_key(|memory| (memory.created_at, memory.number));
    let note = (found.len() > SEARCH_LIMIT).then(|| {
        format!("Only the first {SEARCH_LIMIT} are shown. Narrow the search by query, since or until to see others.")
    });
    ToolResult::SearchResults {
        query: query.cloned(),
        // All matches: the note alone would not say how many are missing.
        count: found.len(),
        results: found
            .into_iter()
            .take(SEARCH_LIMIT)
            .map(|memory| SearchHit::new(memory, memories.read_under(memory)))
            .collect(),
        note,
    }
}
