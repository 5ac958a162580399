//! Near duplicates: pairs of similar memories, and how they differ.
//!
//! These are proposals, on which no code acts: of the pairs with a word overlap of 0.7 and more in public data, all
//! were *different* facts (SPEC 3.4). This module decides which pairs are near duplicates, which a ledger lists, and
//! their limits; `differences` finds how they differ.
//!
//! Numbers count as equal and negations are ignored, so that the important pairs are found: texts that differ in
//! nothing else. Among thousands of near duplicates the search ends early and reports that.

mod differences;
mod join;
mod looks;

use std::{
    borrow::Cow,
    cell::OnceCell,
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use differences::Difference;

use crate::{
    memory::{Memory, Number},
    text::{self, DuplicateMatch, private::PrivateText, quote::quote},
};

/// Pairs in which one memory is listed: of many near duplicates, a few suffice.
const PAIRS_A_MEMORY: usize = 5;
/// Pairs that a ledger lists.
const LEDGER_PAIRS: usize = 10;
/// Steps of the search; common texts of a few hundred thousand memories need fewer.
const STEPS: u64 = 300_000_000;

#[derive(Debug, PartialEq)]
struct NearDuplicates {
    /// The listed pairs, the most similar first.
    items: Vec<NearDuplicate>,
    /// Pairs that were found beyond those listed.
    more: u64,
    /// Whether all pairs were searched; if not, there are more than `more`.
    is_complete: bool,
}

/// Two active core memories that are near duplicates.
#[derive(Debug, PartialEq)]
struct NearDuplicate {
    /// The one with the lower number.
    left: Number,
    right: Number,
    /// Whether the cleanup of a session merges them by itself (SPEC 3.4).
    exact: bool,
    /// The differences, in the order of the texts; none for exact duplicates, and where only the white space differs.
    differences: Vec<Difference>,
    /// Differences beyond those named.
    more_differences: usize,
}

struct ComparedText<'a> {
    memory: &'a Memory,
    how: DuplicateMatch,
    look: &'a [u32],
    exact_form: OnceCell<Cow<'a, str>>,
}

impl ComparedText<'_> {
    /// Equal for exact duplicates. Made when it is first needed: most texts are near no other.
    fn exact_form(&self) -> &str {
        let form = || text::duplicate_key(self.memory.content.expose(), self.how);
        self.exact_form.get_or_init(form)
    }
}

/// Searches for pairs among the active core memories of `memories`. At most `limit` are listed, and each memory in at
/// most [`PAIRS_A_MEMORY`] of them. The result depends on the memories only, not on their order.
fn near_duplicates<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    how: DuplicateMatch,
    limit: usize,
) -> NearDuplicates {
    let kept = memories.into_iter();
    let mut kept: Vec<&Memory> = kept.filter(|memory| memory.is_active_core()).collect();
    kept.sort_by_key(|memory| memory.number);
    let texts: Vec<&str> = kept.iter().map(|memory| memory.content.expose()).collect();
    let looks = looks::looks(&texts);
    let entries: Vec<ComparedText<'_>> = kept
        .into_iter()
        .zip(looks.iter())
        .map(|(memory, look)| ComparedText {
            memory,
            how,
            look,
            exact_form: OnceCell::new(),
        })
        .collect();
    let alike = Alike::among(&entries);
    list(&entries, alike, limit)
}

struct Alike {
    /// Those that may be listed, by place.
    pairs: Vec<(usize, usize)>,
    /// All that were found, including those omitted from `pairs`.
    found: u64,
    is_complete: bool,
}

impl Alike {
    fn among(entries: &[ComparedText<'_>]) -> Self {
        let classes = classes(entries);
        let sets: Vec<&[u32]> = classes
            .iter()
            // One member for all: a class has one coarse form, and is joined once.
            .filter_map(|members| Some(entries[*members.first()?].look))
            .collect();
        let joined = join::join(&sets, STEPS);
        let mut alike = Self {
            pairs: Vec::new(),
            found: 0,
            is_complete: joined.is_complete,
        };
        for members in &classes {
            let count = members.len() as u64;
            alike.found += count * (count - 1) / 2;
            for (place, one) in members.iter().enumerate() {
                // Neighbours only, since equal and nearly equal texts stand beside each other; all pairs of a
                // class would be its square.
                let next = members[place + 1..].iter().take(PAIRS_A_MEMORY);
                alike.pairs.extend(next.map(|other| (*one, *other)));
            }
        }
        for (one, other) in joined.pairs {
            let (one, other) = (&classes[one], &classes[other]);
            alike.found += one.len() as u64 * other.len() as u64;
            for (place, left) in one.iter().enumerate().take(PAIRS_A_MEMORY) {
                let right = other[place.min(other.len() - 1)..].iter();
                let right = right.take(PAIRS_A_MEMORY);
                alike.pairs.extend(right.map(|right| (*left, *right)));
            }
        }
        alike
    }
}

/// The places of the texts by their coarse form, one class each. Within a class, equal texts are adjacent.
fn classes(entries: &[ComparedText<'_>]) -> Vec<Vec<usize>> {
    let look = |place: &usize| entries[*place].look;
    let mut places: Vec<usize> = (0..entries.len()).collect();
    places.retain(|place| !look(place).is_empty());
    // The pairs that are listed are those of neighbours. Of equal texts the earlier one stays first.
    places.sort_by(|one, other| {
        let by_look = (look(one).len(), look(one)).cmp(&(look(other).len(), look(other)));
        by_look.then_with(|| entries[*one].exact_form().cmp(entries[*other].exact_form()))
    });
    let classes = places.chunk_by(|one, other| look(one) == look(other));
    classes.map(<[usize]>::to_vec).collect()
}

/// The listed pairs, the most similar first.
fn list(entries: &[ComparedText<'_>], alike: Alike, limit: usize) -> NearDuplicates {
    let found = alike.pairs.into_iter().map(|(one, other)| {
        let (left, right) = (one.min(other), one.max(other));
        let exact = entries[left].exact_form() == entries[right].exact_form();
        let similarity = similarity(entries[left].look, entries[right].look);
        // The bits of numbers from 0 to 1 are in the order of the numbers.
        (exact, similarity.to_bits(), Reverse((left, right)))
    });
    // Only the first of many pairs are wanted: the others are not put in order.
    let mut ranked: BinaryHeap<_> = found.collect();
    let mut listed: HashMap<usize, usize> = HashMap::new();
    let (mut pairs, mut last) = (Vec::new(), None);
    while pairs.len() < limit
        && let Some((exact, _, Reverse((left, right)))) = ranked.pop()
    {
        let times = |place: &usize| listed.get(place).copied().unwrap_or(0);
        // The order is total over the pair, so that the same pair twice comes one after the other.
        if last.replace((left, right)) == Some((left, right))
            || times(&left).max(times(&right)) >= PAIRS_A_MEMORY
        {
            continue;
        }
        *listed.entry(left).or_default() += 1;
        *listed.entry(right).or_default() += 1;
        let [left, right] = [left, right].map(|place| entries[place].memory);
        let (differences, more_differences) = match exact {
            true => (Vec::new(), 0),
            false => differences::between(left.content.expose(), right.content.expose()),
        };
        pairs.push(NearDuplicate {
            left: left.number,
            right: right.number,
            exact,
            differences,
            more_differences,
        });
    }
    NearDuplicates {
        more: alike.found.saturating_sub(pairs.len() as u64),
        items: pairs,
        is_complete: alike.is_complete,
    }
}

/// The share of common words among all words of both, ignoring case, accents, order, numbers and negations.
fn similarity(one: &[u32], other: &[u32]) -> f64 {
    if one == other {
        return 1.0;
    }
    let shared = looks::shared(one, other);
    let all = one.len() + other.len() - shared;
    shared as f64 / all as f64
}

/// The ledger's lines on near duplicates, one a pair, with values quoted as all memory text (SPEC 3.6); `None` where
/// there are none. The pairs are of active core memories, whatever the order of `memories`.
pub fn ledger_lines<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    how: DuplicateMatch,
) -> Option<PrivateText> {
    let found = near_duplicates(memories, how, LEDGER_PAIRS);
    if found.items.is_empty() {
        return None;
    }
    let mut lines: Vec<String> = found.items.iter().map(ledger_line).collect();
    if found.more > 0 || !found.is_complete {
        let least = if found.is_complete { "" } else { "at least " };
        lines.push(format!("({least}{} more are not listed.)", found.more));
    }
    Some(lines.join("\n").into())
}

/// A line that begins in another way than a ledger's row.
fn ledger_line(pair: &NearDuplicate) -> String {
    let value = |value: &Option<PrivateText>| match value {
        Some(words) => quote(words.expose()),
        None => "nothing".to_owned(),
    };
    let named = pair.differences.iter();
    let mut differences: Vec<String> = named
        .map(|difference| format!("{} / {}", value(&difference.left), value(&difference.right)))
        .collect();
    if pair.more_differences > 0 {
        differences.push(format!("{} more", pair.more_differences));
    }
    if differences.is_empty() {
        differences.push("nothing".to_owned());
    }
    format!(
        "- {} and {} differ in: {}",
        pair.left,
        pair.right,
        differences.join("; ")
    )
}

#[cfg(test)]
mod tests;
