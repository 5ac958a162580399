//! Archival memories as a list.

use memoir_app::ShownMemory;
use memoir_domain::memory::Number;
use serde::Serialize;

use super::TextTable;
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
    let mut table = match with_words {
        true => {
            let [number, date, under, now, origin] = facts;
            TextTable::new([number, date, under, now, origin, "text"])
        }
        false => TextTable::new(facts),
    };
    table = table.right(0).right(2).right(3);
    for ArchivedMemory { memory, now } in archived {
        let facts = [
            memory.number.to_string(),
            memory.created_at.date(),
            or_dash(memory.under),
            or_dash(*now),
            memory.origin.as_str().to_owned(),
        ];
        if with_words {
            let [number, date, under, now, origin] = facts;
            let text = safe(memory.content()).into_owned();
            table.row([number, date, under, now, origin, text]);
        } else {
            table.row(facts);
        }
    }
    table.to_string()
}

fn or_dash(number: Option<Number>) -> String {
    number.map_or_else(|| "–".to_owned(), |number| number.to_string())
}
