//! `search_memories`: core and archival memories by a piece of text and by date, oldest first (SPEC 3.8).

use crate::{
    change::memories::AllMemories,
    memory::{Memory, tokens},
    session::tools::{MemorySearch, SearchHit, ToolResult},
    text::{fold, quote::quote_json},
};

/// The most memories that one search returns.
pub const SEARCH_LIMIT: usize = 50;

/// Finds among `memories` the active core and archival ones that match all that is given. Both dates are included. Of
/// them the first that a model reads in `room` tokens are returned, and at least one.
pub fn search(memories: &AllMemories, search: &MemorySearch, mut room: u64) -> ToolResult {
    let MemorySearch {
        query,
        since,
        until,
    } = search;
    let folded = query.as_ref().map(|query| fold(query.expose()));
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
    let hits = found.iter().take(SEARCH_LIMIT).enumerate();
    let hits = hits.map_while(|(place, memory)| {
        let hit = SearchHit::new(memory, memories.read_under(memory));
        let left = room.checked_sub(tokens(&quote_json(&hit)));
        room = left.unwrap_or(0);
        // The first one in any case: no narrower search would make it shorter.
        (left.is_some() || place == 0).then_some(hit)
    });
    let results: Vec<SearchHit> = hits.collect();
    let (shown, count) = (results.len(), found.len());
    ToolResult::SearchResults {
        query: query.clone(),
        // All matches.
        count,
        results,
        note: (shown < count).then(|| {
            let left_out = count - shown;
            format!("Left out: the last {left_out} of {count}. Narrow the search by query, since or until to see them.")
        }),
    }
}
