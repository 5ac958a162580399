//! `search_memories`: kept core memories by a piece of text and by date, oldest first (SPEC 3.8).

use crate::{
    PrivateText, Timestamp,
    knife::{SearchHit, ToolResult},
    memory::Memory,
    text::fold,
};

/// Most memories that one search answers with.
pub const SEARCH_LIMIT: usize = 50;

/// Finds among `memories`, in any order, the kept core ones that match all that is given. Both dates
/// are included.
pub fn search<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    query: Option<&PrivateText>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> ToolResult {
    let folded = query.map(|query| fold(query.expose()));
    let mut found: Vec<&Memory> = memories
        .into_iter()
        .filter(|memory| memory.is_kept_core())
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
        // All that were found: the note alone would not tell how many are missing.
        count: found.len(),
        results: found.into_iter().take(SEARCH_LIMIT).map(hit).collect(),
        note,
    }
}

fn hit(memory: &Memory) -> SearchHit {
    SearchHit {
        number: memory.number,
        content: memory.content.clone(),
        created_at: memory.created_at,
        tokens: memory.tokens(),
        constitutional: memory.is_constitutional(),
        tags: memory.tags.clone(),
        origin: memory.weak_origin(),
    }
}
