//! What differs between two texts that look alike.

use std::collections::BTreeMap;

use serde::Serialize;

use super::shape::{ShapeWord, words};
use crate::{
    PrivateText,
    text::{self, is_unspaced},
};

/// Characters of a value; the memories themselves say the rest.
pub const VALUE_LIMIT: usize = 200;
/// Differences that are named of one pair.
// Texts with more differences look alike by chance, and the rest of them says nothing more.
const NAMED: usize = 12;

wire_names! {
    /// In what two texts differ.
    #[derive(PartialOrd, Ord)]
    pub enum DifferenceKind {
        /// The places of words: the values are the words that changed places, as they follow each other.
        Order = "order",
        /// Other words.
        Words = "words",
        /// Only the writing: case, accents, punctuation, spaces.
        Writing = "writing",
    }
}

/// One difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// In what they differ.
    pub kind: DifferenceKind,
    /// What the one with the lower number says, at most [`VALUE_LIMIT`] characters; `None` where it says
    /// nothing of the kind.
    pub left: Option<PrivateText>,
    /// What the other one says.
    pub right: Option<PrivateText>,
}

impl Difference {
    fn new(kind: DifferenceKind, left: Option<String>, right: Option<String>) -> Self {
        let value = |words: String| PrivateText::new(cut(&words, VALUE_LIMIT));
        Self {
            kind,
            left: left.map(value),
            right: right.map(value),
        }
    }
}

/// `text` cut to so many characters, with a mark that says so.
pub(super) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
            format!("{kept}…")
        }
    }
}

/// What differs between two texts that are not equal, and how many differences are not named.
pub(super) fn between(left: &str, right: &str) -> (Vec<Difference>, usize) {
    let mut differences = Vec::new();
    let words = [words(left), words(right)];
    let mut gaps = gaps(&words);
    differences.extend(changed_places(&words, &mut gaps));
    for gap in gaps {
        differences.extend(difference_in(&words, gap));
    }
    // The texts are not equal and their words are: what is left is how they are written.
    if differences.is_empty() {
        differences.push(writing(left, right));
    }
    let unnamed = differences.len().saturating_sub(NAMED);
    differences.truncate(NAMED);
    (differences, unnamed)
}

/// Where the texts go apart: the places of the words that only the left one and only the right one has
/// there.
type Gap = [Vec<usize>; 2];

fn gaps(words: &[Vec<ShapeWord<'_>>; 2]) -> Vec<Gap> {
    let [left, right] = words.each_ref().map(|words| {
        let keys = words.iter().map(|word| word.key.as_ref());
        keys.collect::<Vec<&str>>()
    });
    let gaps: Vec<Gap> = text::gaps(&left, &right)
        .into_iter()
        .map(|gap| gap.map(Iterator::collect))
        .collect();
    let taken: usize = gaps.iter().map(|[left, _]| left.len()).sum();
    // Of two words that changed places, place by place tells which; the shortest way to make one text
    // into the other may take what stands between them for what moved.
    match by_place(&left, &right) {
        Some(by_place) if by_place.iter().map(|[left, _]| left.len()).sum::<usize>() <= taken => {
            by_place
        }
        _ => gaps,
    }
}

/// The gaps between texts of as many words, place by place; `None` of others.
fn by_place(left: &[&str], right: &[&str]) -> Option<Vec<Gap>> {
    if left.len() != right.len() {
        return None;
    }
    let mut gaps: Vec<Gap> = Vec::new();
    let mut is_open = false;
    for (place, (one, other)) in left.iter().zip(right).enumerate() {
        let differs = one != other;
        match gaps.last_mut() {
            Some([left, right]) if differs && is_open => {
                left.push(place);
                right.push(place);
            }
            _ if differs => gaps.push([vec![place], vec![place]]),
            _ => {}
        }
        is_open = differs;
    }
    Some(gaps)
}

/// Words that both texts have, at other places; they are taken out of the gaps.
fn changed_places(words: &[Vec<ShapeWord<'_>>; 2], gaps: &mut [Gap]) -> Option<Difference> {
    let mut times: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for gap in gaps.iter() {
        for side in [0, 1] {
            for place in &gap[side] {
                times.entry(&words[side][*place].key).or_default()[side] += 1;
            }
        }
    }
    let mut moved: [Vec<&ShapeWord<'_>>; 2] = Default::default();
    for side in [0, 1] {
        let mut left_to_move: BTreeMap<&str, usize> = times
            .iter()
            // As often as both have it: what one text says more often was not moved but added.
            .map(|(key, [left, right])| (*key, *left.min(right)))
            .collect();
        for gap in gaps.iter_mut() {
            gap[side].retain(|place| {
                let word = &words[side][*place];
                match left_to_move.get_mut(word.key.as_ref()) {
                    Some(times) if *times > 0 => {
                        *times -= 1;
                        moved[side].push(word);
                        false
                    }
                    _ => true,
                }
            });
        }
    }
    let [left, right] = moved.map(|words| joined(words.into_iter().map(|word| word.surface)));
    left.is_some()
        .then(|| Difference::new(DifferenceKind::Order, left, right))
}

/// Words one after the other; `None` of none.
fn joined<'w>(words: impl Iterator<Item = &'w str>) -> Option<String> {
    let mut text = String::new();
    for word in words {
        let touches = text.ends_with(is_unspaced) && word.starts_with(is_unspaced);
        if !text.is_empty() && !touches {
            text.push(' ');
        }
        text.push_str(word);
    }
    (!text.is_empty()).then_some(text)
}

/// What a gap says.
fn difference_in(words: &[Vec<ShapeWord<'_>>; 2], gap: Gap) -> Option<Difference> {
    let [left, right] = [0, 1].map(|side| {
        let own = gap[side].iter().map(|place| &words[side][*place]);
        joined(own.map(|word| word.surface))
    });
    let is_empty = left.is_none() && right.is_none();
    (!is_empty).then(|| Difference::new(DifferenceKind::Words, left, right))
}

/// Where the same words are written in another way. No values where not even the pieces between spaces
/// are as many.
fn writing(left: &str, right: &str) -> Difference {
    let pieces: [Vec<&str>; 2] = [left, right].map(|text| text.split_whitespace().collect());
    if pieces[0].len() != pieces[1].len() {
        return Difference::new(DifferenceKind::Writing, None, None);
    }
    let both = pieces[0].iter().zip(&pieces[1]);
    let different: Vec<(&&str, &&str)> = both.filter(|(left, right)| left != right).collect();
    Difference::new(
        DifferenceKind::Writing,
        joined(different.iter().map(|(left, _)| **left)),
        joined(different.iter().map(|(_, right)| **right)),
    )
}
