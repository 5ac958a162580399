//! Which memories are doubles, and which edits leave one of each: pure functions on plain data.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::session::EDIT_CAP;

/// One memory of the ledger. Holds words, so it has no `Debug`.
#[derive(Clone)]
pub(super) struct LedgerRow {
    pub(super) number: u64,
    pub(super) tokens: u64,
    /// Constitutional, or with an immutable tag.
    pub(super) is_protected: bool,
    pub(super) tags: BTreeSet<String>,
    pub(super) content: String,
}

/// One edit.
#[derive(PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum PlannedEdit {
    /// Another memory says the same, is not younger, and has all its tags.
    Delete { number: u64 },
    /// At least two, and the wording of one of them.
    Consolidate { numbers: Vec<u64>, content: String },
}

/// The edits of one session.
#[cfg_attr(test, derive(Debug))]
pub(super) struct Plan {
    /// At most [`EDIT_CAP`].
    pub(super) steps: Vec<PlannedEdit>,
    /// How many more there would be, but for the cap and the breaker.
    pub(super) left: usize,
}

/// Plans the edits for `rows`, listed oldest first, that take away no more than `removable_tokens`
/// together even if all of them succeed.
pub(super) fn plan(rows: &[LedgerRow], removable_tokens: u64, may_consolidate: bool) -> Plan {
    let mut plan = Plan {
        steps: Vec::new(),
        left: 0,
    };
    let mut removed = 0;
    for group in groups(rows.iter().map(|row| row.content.as_str())) {
        for (step, takes) in settle(rows, &group, may_consolidate) {
            if plan.steps.len() == EDIT_CAP as usize || removed + takes > removable_tokens {
                // The others are looked at all the same: a smaller edit may still fit, and what is left is told.
                plan.left += 1;
            } else {
                removed += takes;
                plan.steps.push(step);
            }
        }
    }
    plan
}

/// The positions of texts that are equal once folded, two or more each, in the order of their first.
pub(super) fn groups<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Vec<usize>> {
    let mut by_form: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, text) in texts.into_iter().enumerate() {
        // Nothing that is fuzzier: people who differ by one word are different people (SPEC 3.4).
        by_form.entry(folded(text)).or_default().push(position);
    }
    // `?` and `!` are not the same text although nothing is left of either.
    by_form.remove("");
    let mut groups: Vec<Vec<usize>> = by_form
        .into_values()
        .filter(|group| group.len() > 1)
        .collect();
    // In the order of the ledger and not of the words: where there is room for some only, the oldest doubles
    // go.
    groups.sort();
    groups
}

/// The text without differences of case and white space, and without one final `.`, `!` or `?`.
fn folded(text: &str) -> String {
    let text = text.trim();
    let text = text
        .strip_suffix(['.', '!', '?'])
        .unwrap_or(text)
        .to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The edits that leave one text of a group, each with what it takes away in tokens.
fn settle(rows: &[LedgerRow], group: &[usize], may_consolidate: bool) -> Vec<(PlannedEdit, u64)> {
    let delete = |position: &usize| {
        let row = &rows[*position];
        (PlannedEdit::Delete { number: row.number }, row.tokens)
    };
    let (protected, free): (Vec<usize>, Vec<usize>) = group
        .iter()
        .partition(|position| rows[**position].is_protected);
    // What a protected double covers can go without it being touched.
    let (covered, rest): (Vec<usize>, Vec<usize>) = free.into_iter().partition(|position| {
        let covers =
            // An older one only, which keeps the earlier date.
            |by: &usize| by < position && rows[*by].tags.is_superset(&rows[*position].tags);
        protected.iter().any(covers)
    });
    let mut steps: Vec<(PlannedEdit, u64)> = covered.iter().map(delete).collect();

    let Some(best) = richest(rows, &rest) else {
        return steps;
    };
    let others = rest.iter().filter(|position| **position != best);
    let has_all_tags = others
        .clone()
        .all(|other| rows[best].tags.is_superset(&rows[*other].tags));
    // Deleting the others keeps the best one as it is; where it is younger or lacks a tag, only merging
    // keeps the earliest date and all tags.
    if rest.first() == Some(&best) && has_all_tags {
        steps.extend(others.map(delete));
    } else if may_consolidate {
        let numbers = rest.iter().map(|position| rows[*position].number).collect();
        let takes = others.map(|position| rows[*position].tokens).sum();
        steps.push((
            PlannedEdit::Consolidate {
                numbers,
                // The words of one of them as they stand: it can make no text of its own.
                content: rows[best].content.clone(),
            },
            takes,
        ));
    }
    steps
}

/// The one whose wording carries most: capitals, which names have, unless they are shouted, then a final
/// mark, then age.
fn richest(rows: &[LedgerRow], positions: &[usize]) -> Option<usize> {
    positions.iter().copied().max_by_key(|position| {
        let text = rows[*position].content.trim();
        let capitals = text
            .chars()
            .filter(|character| character.is_uppercase())
            .count();
        (
            !is_shouted(text),
            capitals,
            text.ends_with(['.', '!', '?']),
            std::cmp::Reverse(*position),
        )
    })
}

/// Whether two words in a row are all capitals, as no single acronym is.
fn is_shouted(text: &str) -> bool {
    let in_capitals = |word: &&str| {
        let letters = || word.chars().filter(|character| character.is_alphabetic());
        letters().count() > 1 && letters().all(char::is_uppercase)
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| pair.iter().all(in_capitals))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_shouted_wording_is_not_the_one_that_is_kept() {
        assert!(is_shouted("WHEAT PASTE keeps four days"));
        assert!(!is_shouted("Wheat paste, says NASA, keeps"));
        assert!(!is_shouted("I A b"));
    }

    use super::*;

    /// A free row without tags; tokens are those of its text.
    fn row(number: u64, content: &str) -> LedgerRow {
        let tokens = (content.chars().count() as u64).div_ceil(4);
        let (is_protected, tags) = (false, BTreeSet::new());
        LedgerRow {
            number,
            tokens,
            is_protected,
            tags,
            content: content.to_owned(),
        }
    }

    fn tagged(mut row: LedgerRow, tags: &[&str]) -> LedgerRow {
        row.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        row
    }

    fn protected(mut row: LedgerRow) -> LedgerRow {
        row.is_protected = true;
        row
    }

    fn delete(number: u64) -> PlannedEdit {
        PlannedEdit::Delete { number }
    }

    fn merge(numbers: &[u64], content: &str) -> PlannedEdit {
        PlannedEdit::Consolidate {
            numbers: numbers.to_vec(),
            content: content.to_owned(),
        }
    }

    fn steps(rows: &[LedgerRow]) -> Vec<PlannedEdit> {
        plan(rows, u64::MAX, true).steps
    }

    #[test]
    fn spec_6_3_only_case_white_space_and_one_final_mark_are_looked_through() {
        let equal = |one: &str, other: &str| !groups([one, other]).is_empty();
        for (one, other) in [
            ("I like tea.", "i  like\nTEA"),
            ("Tea!", "tea?"),
            ("Tea .", "tea"),
            ("Éva Ω", "éva ω"),
            ("a", " a\t"),
        ] {
            assert!(equal(one, other), "{one:?} {other:?}");
        }
        for (one, other) in [
            ("Evan plans it with Sam", "Sam plans it with Evan"),
            ("I like tea", "I like teas"),
            ("I do not like tea", "I do like tea"),
            ("Tea, twice", "Tea twice"),
            ("tea...", "tea."),
            ("3.5", "35"),
            ("?", "!"),
            ("\"tea\"", "tea"),
            ("tea;", "tea"),
        ] {
            assert!(!equal(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn spec_6_3_the_oldest_best_wording_stays_and_the_others_are_deleted() {
        let rows = [
            row(1, "Mary likes tea."),
            row(2, "unrelated"),
            row(3, "mary likes tea"),
            row(4, "Mary likes Tea"),
        ];
        assert_eq!(steps(&rows[..3]), [delete(3)]);
        assert_eq!(steps(&rows), [merge(&[1, 3, 4], "Mary likes Tea")]);
        assert_eq!(
            steps(&[row(1, "Tea."), row(2, "Tea!"), row(3, "Tea?")]),
            [delete(2), delete(3)]
        );
        assert_eq!(
            steps(&[row(5, "Tea"), row(2, "Tea.")]),
            [merge(&[5, 2], "Tea.")]
        );
        assert_eq!(steps(&rows[..2]), []);
    }

    #[test]
    fn spec_6_3_no_tag_is_lost() {
        let [first, second] = [row(1, "Tea."), row(2, "tea")];
        let rows = [
            tagged(first.clone(), &["a"]),
            tagged(second.clone(), &["b"]),
        ];
        assert_eq!(steps(&rows), [merge(&[1, 2], "Tea.")]);
        let rows = [tagged(first, &["a", "b"]), tagged(second, &["b"])];
        assert_eq!(steps(&rows), [delete(2)]);
    }

    #[test]
    fn spec_6_3_protected_memories_are_never_touched() {
        let [one, two, three] = [row(1, "tea"), row(2, "Tea."), row(3, "TEA!")];
        assert_eq!(steps(&[protected(one.clone()), protected(two.clone())]), []);
        // A protected double lets a younger one go, and does not give up its date to an older one.
        assert_eq!(
            steps(&[protected(one.clone()), two.clone(), three.clone()]),
            [delete(2), delete(3)]
        );
        assert_eq!(
            steps(&[one.clone(), protected(two.clone()), three.clone()]),
            [delete(3)]
        );
        assert_eq!(steps(&[one.clone(), protected(two.clone())]), []);
        assert_eq!(
            steps(&[protected(one.clone()), tagged(two.clone(), &["a"])]),
            []
        );
        // What it does not cover is settled without it.
        assert_eq!(
            steps(&[one, two, protected(three)]),
            [merge(&[1, 2], "Tea.")]
        );
    }

    #[test]
    fn spec_6_3_it_stops_before_the_breaker_and_at_the_cap() {
        let rows: Vec<LedgerRow> = (1..=24)
            .map(|number| row(number, &format!("memory {}", number % 12)))
            .collect();
        let all = plan(&rows, u64::MAX, true);
        assert_eq!((all.steps.len(), all.left), (10, 2));
        // "memory 1" has two tokens, "memory 10" three.
        let some = plan(&rows, 5, true);
        assert_eq!((some.steps.len(), some.left), (2, 10));
        let none = plan(&rows, 1, true);
        assert_eq!((none.steps.len(), none.left), (0, 12));
        assert_eq!(
            plan(&[row(1, "tea"), row(2, "tea.")], 1, true).steps.len(),
            1
        );
    }

    #[test]
    fn spec_3_17_without_merging_only_what_is_covered_is_deleted() {
        let rows = [
            row(1, "tea"),
            row(2, "Tea."),
            row(3, "Milk."),
            row(4, "milk"),
        ];
        assert_eq!(plan(&rows, u64::MAX, false).steps, [delete(4)]);
    }
}
