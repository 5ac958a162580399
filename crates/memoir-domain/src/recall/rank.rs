//! The order of the matches: by score, and the newest first among those within a tenth of the best of them.

use std::{cmp::Reverse, collections::HashSet};

use super::RecallPlace;
use crate::{memory::Number, time::Timestamp};

/// Matches within this share of a score count as equally good.
// At 1 the date would only order equal scores, which are rare; much lower, a newer memory would precede a better match.
const AS_GOOD: f32 = 0.9;

/// One match, before ordering.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundMemory {
    pub(super) score: f32,
    /// The score for ranking: its own, or the best one of the memories that follow it because it replaced them.
    pub(super) rank_score: f32,
    pub(super) created_at: Timestamp,
    pub(super) number: Number,
    pub(super) slot: u32,
    /// The memory that it corrects and is put before.
    pub(super) corrects: Option<Number>,
}

impl FoundMemory {
    fn age(&self) -> Reverse<(Timestamp, Number)> {
        Reverse((self.created_at, self.number))
    }
}

/// The first of the matches in their order: at least `needed` of them where there are as many.
pub(super) fn first(mut found: Vec<FoundMemory>, needed: usize) -> Vec<FoundMemory> {
    let by_score =
        |one: &FoundMemory, other: &FoundMemory| other.rank_score.total_cmp(&one.rank_score);
    if found.len() > needed && needed > 0 {
        let (_, last, _) = found.select_nth_unstable_by(needed - 1, by_score);
        // A match as good as the last of them may be newer.
        let least = last.rank_score * AS_GOOD;
        found.retain(|one| one.rank_score >= least);
        let scores = || found.iter().map(|one| one.rank_score);
        let best = scores().fold(0.0, f32::max);
        if found.len() > needed && scores().all(|score| score >= best * AS_GOOD) {
            // All are as good as the best, so that only the date orders them.
            found.select_nth_unstable_by_key(needed - 1, FoundMemory::age);
            found.truncate(needed);
        }
    }
    found.sort_unstable_by(|one, other| by_score(one, other).then(one.age().cmp(&other.age())));
    let mut from = 0;
    while from < found.len() {
        let least = found[from].rank_score * AS_GOOD;
        let length = found[from..].partition_point(|one| one.rank_score >= least);
        found[from..from + length].sort_unstable_by_key(FoundMemory::age);
        from += length;
    }
    found
}

/// The weight of later ranks when two orders are merged: the higher, the less the first ones stand out. So low that the
/// first five of either are among the first ten.
const RANKS: f32 = 5.0;

/// How many matches by words take part in merging; the rest follows in its order. Memories found by meaning alone
/// precede it.
pub(super) const MERGED: usize = 200;

/// Two orders merged by reciprocal rank: memories near the top of both come first. Only ranks are compared, so that
/// scores and angles need no common measure.
pub(super) fn merged(
    by_words: Vec<FoundMemory>,
    by_meaning: impl Iterator<Item = FoundMemory>,
) -> Vec<FoundMemory> {
    let worth = |at: usize| 1.0 / (RANKS + at as f32 + 1.0);
    let mut found: Vec<(f32, FoundMemory)> = by_words
        .iter()
        .take(MERGED)
        .copied()
        .enumerate()
        .map(|(at, one)| (worth(at), one))
        .collect();
    let mut near = HashSet::new();
    for (at, one) in by_meaning.enumerate() {
        near.insert(one.slot);
        match found.iter_mut().find(|(_, known)| known.slot == one.slot) {
            Some((known, _)) => *known += worth(at),
            None => found.push((worth(at), one)),
        }
    }
    found.sort_by(|(worth, one), (other_worth, other)| {
        let order = other_worth.total_cmp(worth);
        order.then(one.age().cmp(&other.age()))
    });
    let behind = by_words.into_iter().skip(MERGED);
    let behind = behind.filter(|one| !near.contains(&one.slot));
    let found = found.into_iter().map(|(_, one)| one);
    found.chain(behind).collect()
}

/// How many of the best are checked for corrections.
// Each is compared with all before it.
pub(super) const CORRECTED: usize = 20;

/// Puts each newer memory that corrects an older one right before it, among the best.
pub(super) fn corrections_first(
    found: &mut [FoundMemory],
    corrects: impl Fn(&FoundMemory, &FoundMemory) -> bool,
) {
    let best = found.len().min(CORRECTED);
    for at in 1..best {
        let new = found[at];
        let old = found[..at]
            .iter()
            .position(|old| new.age() < old.age() && corrects(&new, old));
        if let Some(old) = old {
            found[at].corrects = Some(found[old].number);
            found[old..=at].rotate_right(1);
        }
    }
}

/// How many places beyond a page are searched for the memory that ended the previous page.
// The order is computed for these too, so that a memory that moved back a little is still found.
pub(super) const MOVED: usize = 64;

/// Where a page begins among numbers in their order: after the last one seen that is still there.
pub(super) fn begin(
    numbers: impl Iterator<Item = Number> + Clone,
    after: Option<RecallPlace>,
) -> usize {
    let Some(after) = after else { return 0 };
    let place = |wanted: Number| numbers.clone().position(|number| number == wanted);
    let last = place(after.last).or_else(|| after.before.and_then(place));
    last.map_or(after.seen, |at| at + 1)
}
