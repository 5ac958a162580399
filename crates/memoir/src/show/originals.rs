//! The locations of originals, in counts.

use memoir_app::{OriginalCounts, OriginalsView};

use super::{TextTable, counted, thousands};

/// `1,234 originals: 1,050 in the prompt, 184 in the archive`
pub(crate) fn line(counts: OriginalCounts) -> String {
    let originals = counted(counts.total, "original", "originals");
    format!("{originals}: {}", counts.places())
}

/// The line, and a row for each calendar quarter in which any were saved.
pub(crate) fn table(view: &OriginalsView) -> String {
    let line = line(view.originals);
    if view.originals_by_quarter.is_empty() {
        return format!("{line}\n");
    }
    let headings = ["saved in", "originals", "in the prompt", "in the archive"];
    let mut table = TextTable::new(headings).right(1..=3);
    for quarter in &view.originals_by_quarter {
        table.row([
            quarter.quarter.clone(),
            thousands(quarter.saved),
            thousands(quarter.in_prompt),
            thousands(quarter.archived),
        ]);
    }
    format!("{line}\n\n{table}")
}
