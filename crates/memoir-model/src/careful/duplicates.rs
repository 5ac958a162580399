//! Which memories are duplicates, and which of them can leave: pure functions on plain data.

use std::collections::BTreeMap;

use memoir_domain::{ledger::ParsedRow, session::EDIT_CAP, tools::MEMBERS_LIMIT};
use memoir_text::{has_relative_time, same_text_key_ignoring_case};

/// The deletes of one session.
#[cfg_attr(test, derive(Debug))]
pub(super) struct Plan {
    /// The numbers of each delete: at most [`EDIT_CAP`] deletes of at most [`MEMBERS_LIMIT`] memories.
    pub(super) deletes: Vec<Vec<u64>>,
    /// How many more memories could leave, but for the cap and the breaker.
    pub(super) left: usize,
}

/// Plans the deletes for `rows`, listed oldest first, that remove no more than `removable_tokens` together even if all
/// of them succeed.
pub(super) fn plan(rows: &[ParsedRow], removable_tokens: u64) -> Plan {
    let mut numbers = Vec::new();
    let mut left = 0;
    let mut removed = 0;
    for row in removable(rows) {
        let has_room = numbers.len() < EDIT_CAP as usize * MEMBERS_LIMIT;
        if has_room && removed + row.tokens <= removable_tokens {
            removed += row.tokens;
            numbers.push(row.number.0);
        } else {
            // The others are tried nevertheless: a smaller one may still fit, and the report counts the rest.
            left += 1;
        }
    }
    // As few memories in one call as the cap permits: a refused call then leaves as few as possible in place.
    let size = numbers.len().div_ceil(EDIT_CAP as usize).max(1);
    Plan {
        deletes: numbers.chunks(size).map(<[u64]>::to_vec).collect(),
        left,
    }
}

/// The rows whose text, up to case, an earlier remaining one has, of no weaker origin: free edits (SPEC 3.14).
fn removable(rows: &[ParsedRow]) -> Vec<&ParsedRow> {
    let texts = rows
        .iter()
        .map(|row| (row.content.expose(), Some(row.date.as_str())));
    let weakness = |row: &ParsedRow| row.origin.unwrap_or_default().weakness();
    let mut removable = Vec::new();
    for group in groups(texts) {
        let mut copies: Vec<&ParsedRow> = group
            .into_iter()
            .map(|position| &rows[position])
            // A summary is no duplicate of anything (SPEC 3.14).
            .filter(|row| !row.summary)
            .collect();
        // Numbers are given in the order of recording; the list is in the order of the origin dates.
        copies.sort_by_key(|row| row.number);
        let mut staying: Vec<&ParsedRow> = Vec::new();
        for row in copies {
            let is_covered = staying.iter().any(|other| weakness(other) <= weakness(row));
            match is_covered && !row.is_bound() {
                true => removable.push(row),
                false => staying.push(row),
            }
        }
    }
    removable
}

/// The positions of texts that are the same up to case, two or more each, in the order of their first. A text with a
/// word of relative time is another text on another day (SPEC 3.4); `None` is an unknown day.
pub(super) fn groups<'a>(
    texts: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> Vec<Vec<usize>> {
    let mut by_key: BTreeMap<(String, Option<&str>), Vec<usize>> = BTreeMap::new();
    for (position, (text, day)) in texts.into_iter().enumerate() {
        let day = day.filter(|_| has_relative_time(text));
        // Nothing fuzzier: people whose names differ by one letter are different people (SPEC 3.4).
        let key = (same_text_key_ignoring_case(text), day);
        by_key.entry(key).or_default().push(position);
    }
    let groups = by_key.into_values().filter(|group| group.len() > 1);
    let mut groups: Vec<Vec<usize>> = groups.collect();
    // In the order of the ledger: where there is room for some only, the oldest duplicates leave.
    groups.sort();
    groups
}

#[cfg(test)]
mod tests {
    use memoir_domain::{ledger::parse_rows, memory::tokens};

    use super::*;

    /// A free row of the agent's own; tokens are those of its text.
    fn row(number: u64, content: &str) -> ParsedRow {
        let (tokens, quoted) = (tokens(content), serde_json::json!(content));
        let line = format!("#{number} | 2026-03-01 | {tokens} tokens | {quoted}");
        parse_rows(&line).remove(0)
    }

    /// `count` memories and a duplicate of each.
    fn pairs(count: u64) -> Vec<ParsedRow> {
        (0..2 * count)
            .map(|at| row(at + 1, &format!("memory {:04}", at % count)))
            .collect()
    }

    #[test]
    fn spec_3_11_several_leave_in_one_edit_where_there_are_more_than_edits() {
        let sizes = |count| {
            let plan = plan(&pairs(count), u64::MAX);
            let sizes: Vec<usize> = plan.deletes.iter().map(Vec::len).collect();
            (sizes, plan.left)
        };
        assert_eq!(sizes(10), (vec![1; 10], 0));
        assert_eq!(sizes(12), (vec![2; 6], 0));
        assert_eq!(sizes(120), (vec![10; 10], 20));
    }

    #[test]
    fn spec_6_3_it_stops_before_the_breaker() {
        // Three tokens each.
        let some = plan(&pairs(12), 8);
        assert_eq!((some.deletes, some.left), (vec![vec![13], vec![14]], 10));
        let none = plan(&pairs(12), 2);
        assert_eq!((none.deletes.len(), none.left), (0, 12));
        // A smaller one behind still fits.
        let mut rows = pairs(1);
        rows.extend([row(3, "tea"), row(4, "Tea.")]);
        assert_eq!(plan(&rows, 2).deletes, [[4]]);
    }
}
