//! What differs between two texts that look alike.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use memoir_details::{DetailKind, Reading, lost_between};
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::shape::{Word, look, words};
use crate::{PrivateText, text::is_unspaced};

/// Characters of a value; the memories themselves say the rest.
pub const VALUE_LIMIT: usize = 200;
/// Differences that are named of one pair.
const NAMED: usize = 12;

/// In what two texts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// A number or an amount.
    Number,
    /// A date or a part of one.
    Date,
    /// A time of day.
    Time,
    /// A passage between quotation marks.
    Quote,
    /// A name.
    Name,
    /// An address.
    Address,
    /// A handle, or an identifier such as a ticket's.
    Handle,
    /// A negation, with what it negates.
    Negation,
    /// The places of words: the values are the words that changed places, as they follow each other.
    Order,
    /// Other words.
    Words,
    /// Only the writing: case, accents, punctuation, spaces, or the form of a number.
    Writing,
}

impl DifferenceKind {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Date => "date",
            Self::Time => "time",
            Self::Quote => "quote",
            Self::Name => "name",
            Self::Address => "address",
            Self::Handle => "handle",
            Self::Negation => "negation",
            Self::Order => "order",
            Self::Words => "words",
            Self::Writing => "writing",
        }
    }

    fn of(kind: DetailKind) -> Self {
        match kind {
            DetailKind::Number => Self::Number,
            DetailKind::Date => Self::Date,
            DetailKind::Time => Self::Time,
            DetailKind::Quote => Self::Quote,
            DetailKind::Name => Self::Name,
            DetailKind::Address => Self::Address,
            DetailKind::Handle => Self::Handle,
            DetailKind::Negation => Self::Negation,
            _ => Self::Words,
        }
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
    let mut differences = details_between(left, right);
    let stated = Stated::of(&differences);
    let words = [words(left), words(right)];
    let mut gaps = gaps(&words);
    differences.extend(changed_places(&words, &mut gaps));
    for gap in gaps {
        differences.extend(stated.unexplained(&words, gap));
    }
    if differences.is_empty() {
        differences.push(writing(left, right));
    }
    let unnamed = differences.len().saturating_sub(NAMED);
    differences.truncate(NAMED);
    (differences, unnamed)
}

/// The details that one of the texts states and the other does not, those of a kind against each other.
fn details_between(left: &str, right: &str) -> Vec<Difference> {
    let (left, right) = (Reading::of(left), Reading::of(right));
    let mut sides: BTreeMap<DifferenceKind, [Vec<String>; 2]> = BTreeMap::new();
    let lost = [
        lost_between(&[&left], &right),
        lost_between(&[&right], &left),
    ];
    for (side, lost) in lost.into_iter().enumerate() {
        for detail in lost {
            let kind = DifferenceKind::of(detail.kind());
            sides.entry(kind).or_default()[side].push(detail.surface().to_owned());
        }
    }
    let mut differences = Vec::new();
    for (kind, [left, right]) in sides {
        let count = left.len().max(right.len());
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        let pairs = (0..count).map(|_| Difference::new(kind, left.next(), right.next()));
        differences.extend(pairs);
    }
    differences
}

/// Where the texts go apart: the places of the words that only the left one and only the right one has
/// there.
type Gap = [Vec<usize>; 2];

fn gaps(words: &[Vec<Word<'_>>; 2]) -> Vec<Gap> {
    let [left, right] = words.each_ref().map(|words| {
        let keys = words.iter().map(|word| word.key.as_ref());
        keys.collect::<Vec<&str>>()
    });
    let gaps: Vec<Gap> = capture_diff_slices(Algorithm::Myers, &left, &right)
        .into_iter()
        .filter(|step| !matches!(step, DiffOp::Equal { .. }))
        .map(|step| [step.old_range().collect(), step.new_range().collect()])
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
fn changed_places(words: &[Vec<Word<'_>>; 2], gaps: &mut [Gap]) -> Option<Difference> {
    let mut times: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for gap in gaps.iter() {
        for side in [0, 1] {
            for place in &gap[side] {
                times.entry(&words[side][*place].key).or_default()[side] += 1;
            }
        }
    }
    let mut moved: [Vec<&Word<'_>>; 2] = Default::default();
    for side in [0, 1] {
        let mut left_to_move: BTreeMap<&str, usize> = times
            .iter()
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

/// The words of details that are told already.
struct Stated {
    sides: [HashSet<String>; 2],
    /// How those look that belong to a negation, which changes the form of what it negates.
    negated: BTreeSet<String>,
}

impl Stated {
    fn of(differences: &[Difference]) -> Self {
        let mut stated = Self {
            sides: Default::default(),
            negated: BTreeSet::new(),
        };
        for difference in differences {
            for (side, value) in [&difference.left, &difference.right]
                .into_iter()
                .enumerate()
            {
                let surface = value.as_ref().map_or("", PrivateText::expose);
                for word in words(surface) {
                    if difference.kind == DifferenceKind::Negation {
                        let look = look(&word.key).map(std::borrow::Cow::into_owned);
                        stated.negated.extend(look);
                    }
                    stated.sides[side].insert(word.key.into_owned());
                }
            }
        }
        stated
    }

    fn explains(&self, side: usize, key: &str) -> bool {
        let is_negated = match look(key) {
            Some(look) => self.negated.contains(look.as_ref()),
            None => !self.negated.is_empty(),
        };
        is_negated || self.sides[side].contains(key)
    }

    /// What a gap says beyond what is told.
    fn unexplained(&self, words: &[Vec<Word<'_>>; 2], gap: Gap) -> Option<Difference> {
        let [left, right] = [0, 1].map(|side| {
            let own = gap[side].iter().map(|place| &words[side][*place]);
            joined(
                own.filter(|word| !self.explains(side, &word.key))
                    .map(|word| word.surface),
            )
        });
        let kind = match (&left, &right) {
            (None, None) => return None,
            (Some(left), Some(right)) if state_the_same(left, right) => DifferenceKind::Writing,
            _ => DifferenceKind::Words,
        };
        Some(Difference::new(kind, left, right))
    }
}

/// Whether both state details, and the same ones: `1,000 g` and `1 kg`.
fn state_the_same(left: &str, right: &str) -> bool {
    let (left, right) = (Reading::of(left), Reading::of(right));
    let both = [&left, &right].map(|reading| !reading.details().is_empty());
    both == [true, true]
        && lost_between(&[&left], &right).is_empty()
        && lost_between(&[&right], &left).is_empty()
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
