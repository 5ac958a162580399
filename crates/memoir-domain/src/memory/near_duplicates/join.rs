//! All pairs of sets that are alike, without comparing each with each.
//!
//! Two sets that share enough share one of their rarest entries, so that only those need to be looked up
//! that do (the prefix filter of Bayardo, Ma and Srikant 2007, with the positions of Xiao and others 2008).
//! Nothing is missed, but where a limit says so.

use super::looks;

/// The matches of one set after which its search ends.
// Far more than are listed of one memory (`PAIRS_A_MEMORY`); otherwise thousands of near duplicates would be compared
// pairwise.
const PARTNERS: usize = 64;

pub(super) struct Joined {
    /// The pairs, by place; the smaller set first.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Whether no limit cut the search short.
    pub(super) is_complete: bool,
}

/// How many entries two sets of these sizes must share to be alike: 7 of 10 of all that they have, or
/// all but one where that is three and more.
pub(super) fn required(one: usize, other: usize) -> usize {
    // Two sets of sizes a and b that share s entries have a + b - s in all. s is 7 in 10 of these where it is 7 in 17
    // of a + b.
    let by_share = (7 * (one + other)).div_ceil(17);
    let all_but_one = (one.max(other) - 1).max(3);
    by_share.min(all_but_one)
}

/// The size of the smallest set that one of this size can be alike with, of those that are not larger.
fn smallest(size: usize) -> usize {
    // The smaller set can share all of its entries at most.
    (7 * size).div_ceil(10).min((size - 1).max(3))
}

/// Joins `sets`, none empty, each ascending with the rarest entries first, the smaller sets before the
/// larger ones. About `steps` are spent; a set that needs few leaves its share to the next ones.
pub(super) fn join(sets: &[&[u32]], steps: u64) -> Joined {
    let entries = sets.iter().flat_map(|set| set.iter());
    let mut search = Search {
        sets,
        lists: vec![PrefixSets::default(); entries.max().map_or(0, |most| *most as usize + 1)],
        seen_for: vec![usize::MAX; sets.len()],
        steps_left: 0,
        joined: Joined {
            pairs: Vec::new(),
            is_complete: true,
        },
    };
    let share = steps / (sets.len() as u64).max(1);
    for place in 0..sets.len() {
        search.steps_left += share;
        if !search.partners(place) {
            search.joined.is_complete = false;
        }
        search.index(place);
    }
    search.joined
}

/// The sets that have one entry among their rarest.
#[derive(Clone, Default)]
struct PrefixSets {
    /// Each set's place, and that of the entry in it; ascending.
    sets: Vec<(u32, u32)>,
    /// How many of the first ones are too small by now.
    passed: usize,
}

struct Search<'s> {
    sets: &'s [&'s [u32]],
    lists: Vec<PrefixSets>,
    /// The set for which each one was last compared.
    seen_for: Vec<usize>,
    steps_left: u64,
    joined: Joined,
}

impl Search<'_> {
    /// Finds the earlier sets that are alike with this one. Whether all of them were found.
    fn partners(&mut self, place: usize) -> bool {
        let set = self.sets[place];
        let smallest = smallest(set.len());
        // Two sets that share so many entries of `set` cannot share only those after the first so many.
        let rarest = set.len() + 1 - required(set.len(), smallest);
        let mut found = 0;
        for (at, entry) in set.iter().enumerate().take(rarest) {
            let list = &mut self.lists[*entry as usize];
            let is_too_small =
                |(other, _): &(u32, u32)| self.sets[*other as usize].len() < smallest;
            while list.sets.get(list.passed).is_some_and(is_too_small) {
                list.passed += 1;
            }
            // The last ones are the nearest in size.
            for (other, at_other) in list.sets[list.passed..].iter().rev() {
                let (other, at_other) = (*other as usize, *at_other as usize);
                let Some(left) = self.steps_left.checked_sub(1) else {
                    return false;
                };
                self.steps_left = left;
                // Two sets may share several of their rarest entries; the first one found decides.
                if std::mem::replace(&mut self.seen_for[other], place) == place {
                    continue;
                }
                // Whatever both share is this entry or comes after it in both.
                let (rest, rest_of_other) = (&set[at..], &self.sets[other][at_other..]);
                let needed = required(set.len(), self.sets[other].len());
                if rest.len().min(rest_of_other.len()) < needed {
                    continue;
                }
                let steps = (rest.len() + rest_of_other.len()) as u64;
                self.steps_left = self.steps_left.saturating_sub(steps);
                if looks::shared(rest, rest_of_other) < needed {
                    continue;
                }
                if found == PARTNERS {
                    return false;
                }
                found += 1;
                self.joined.pairs.push((other, place));
            }
        }
        true
    }

    /// Lets later sets find this one.
    fn index(&mut self, place: usize) {
        let set = self.sets[place];
        // Fewer than for a search: later sets are at least as large, and then more must be shared.
        let rarest = set.len() + 1 - required(set.len(), set.len());
        for (at, entry) in set.iter().enumerate().take(rarest) {
            self.lists[*entry as usize]
                .sets
                .push((place as u32, at as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_may_differ_and_more_of_a_long_text() {
        for (one, other, expected) in [
            (1, 1, 1),
            (3, 3, 3),
            (4, 4, 3),
            (5, 5, 4),
            (20, 20, 17),
            (3, 4, 3),
        ] {
            assert_eq!(required(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn a_search_that_is_cut_short_says_so() {
        let sets: Vec<Vec<u32>> = (0..200)
            .map(|n| vec![n, 200, 201, 202, 203, 204, 205, 206])
            .collect();
        let sets: Vec<&[u32]> = sets.iter().map(Vec::as_slice).collect();
        let joined = join(&sets, u64::MAX);
        assert!(!joined.is_complete);
        assert!(joined.pairs.len() >= 100 * PARTNERS && joined.pairs.len() < 200 * PARTNERS);
        assert!(!join(&sets[..20], 100).is_complete);
    }
}
