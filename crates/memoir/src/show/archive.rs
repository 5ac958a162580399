//! Archival memories as a list.

use memoir_app::ShownMemory;
use memoir_domain::memory::Number;
use serde::Serialize;

use super::{TextTable, or_dash};
use crate::terminal::safe;

/// An archival memory, and the core memory that took its place.
#[derive(Debug, Serialize)]
pub(crate) struct ArchivedMemory {
    #[serde(flatten)]
    pub(crate) memory: ShownMemory,
    /// The core memory at the end of the chain of `under`; null where there is none.
    pub(crate) now: Option<Number>,
}

/// One a row: number, date, the memory that took its place, the core memory at the end of that chain, and the text
/// where the viewer may read it.
pub(crate) fn list(archived: &[ArchivedMemory]) -> String {
    let facts = ["number", "date", "under", "now", "origin"];
    let with_words = archived.iter().any(|one| one.memory.words.is_some());
    let headings = facts.into_iter().chain(with_words.then_some("text"));
    let mut table = TextTable::new(headings).right([0, 2, 3]);
    for ArchivedMemory { memory, now } in archived {
        let facts = [
            memory.number.to_string(),
            memory.created_at.date(),
            or_dash(memory.under),
            or_dash(*now),
            memory.origin.as_str().to_owned(),
        ];
        let text = with_words.then(|| safe(memory.content()).into_owned());
        table.row(facts.into_iter().chain(text));
    }
    table.to_string()
}
