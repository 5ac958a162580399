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
    use memoir_domain::{
        ledger::parse_rows,
        memory::{Number, tokens},
        origin::Origin,
    };

    use super::*;

    /// A free row of the agent's own; tokens are those of its text.
    fn row(number: u64, content: &str) -> ParsedRow {
        let (tokens, quoted) = (tokens(content), serde_json::json!(content));
        let line = format!("#{number} | 2026-03-01 | {tokens} tokens | {quoted}");
        parse_rows(&line).remove(0)
    }

    fn bound(mut row: ParsedRow) -> ParsedRow {
        row.stays = true;
        row
    }

    fn deletes(rows: &[ParsedRow]) -> Vec<Vec<u64>> {
        plan(rows, u64::MAX).deletes
    }

    #[test]
    fn spec_6_3_only_the_same_text_up_to_case_is_a_duplicate() {
        let equal = |one: &str, other: &str| !groups([(one, None), (other, None)]).is_empty();
        for (one, other) in [
            ("I like tea.", "i  like\nTEA"),
            ("Tea!", "tea."),
            ("Tea .", "tea"),
            ("Éva Ω", "éva ω"),
            ("a", " a\t"),
            ("“tea”", "\"Tea\""),
        ] {
            assert!(equal(one, other), "{one:?} {other:?}");
        }
        for (one, other) in [
            ("Evan plans it with Sam", "Sam plans it with Evan"),
            ("I like tea", "I like teas"),
            ("I do not like tea", "I do like tea"),
            ("Tea, twice", "Tea twice"),
            ("Tea?", "Tea."),
            ("tea...", "tea."),
            ("3.5", "35"),
            ("\"tea\"", "tea"),
            ("tea;", "tea"),
        ] {
            assert!(!equal(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn spec_3_14_the_memory_that_was_recorded_first_stays() {
        let rows = [
            row(1, "Mary likes tea."),
            row(2, "unrelated"),
            row(3, "mary likes tea"),
            row(4, "Mary likes Tea"),
        ];
        assert_eq!(deletes(&rows), [vec![3], vec![4]]);
        // Whatever its origin date.
        assert_eq!(deletes(&[row(5, "Tea"), row(2, "tea.")]), [vec![5]]);
        assert!(deletes(&rows[..2]).is_empty());
    }

    #[test]
    fn spec_3_14_bound_memories_stay_and_cover_later_ones() {
        let [one, two, three] = [row(1, "tea"), row(2, "Tea."), row(3, "TEA!")];
        let both = [bound(one.clone()), bound(two.clone())];
        assert!(deletes(&both).is_empty());
        let rows = [bound(one.clone()), two.clone(), three.clone()];
        assert_eq!(deletes(&rows), [vec![2], vec![3]]);
        let rows = [one, bound(two), three];
        assert_eq!(deletes(&rows), [vec![3]]);
    }

    #[test]
    fn spec_3_14_a_weaker_origin_and_a_summary_cover_nothing() {
        let mut page = row(1, "tea");
        page.origin = Some(Origin::External);
        let said = row(2, "Tea.");
        assert!(deletes(&[page.clone(), said.clone()]).is_empty());
        // The agent's own word covers what comes after it, also of a page.
        let mut later = page.clone();
        later.number = Number(3);
        assert_eq!(deletes(&[page, said.clone(), later]), [vec![3]]);
        let mut summary = row(1, "tea");
        summary.summary = true;
        assert!(deletes(&[summary.clone(), said.clone()]).is_empty());
        summary.number = Number(3);
        assert!(deletes(&[said, summary]).is_empty());
    }

    #[test]
    fn spec_3_4_a_relative_day_makes_another_text_on_another_day() {
        let first = row(1, "Ana called yesterday.");
        let mut second = row(2, "ana called yesterday");
        assert_eq!(deletes(&[first.clone(), second.clone()]), [vec![2]]);
        second.date = "2026-03-02".to_owned();
        assert!(deletes(&[first, second]).is_empty());
        let first = row(1, "Ana called.");
        let mut second = row(2, "ana called");
        second.date = "2026-03-02".to_owned();
        assert_eq!(deletes(&[first, second]), [vec![2]]);
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
