//! A text as it is compared: its words without case, accents and the punctuation around them, and how
//! these look where numbers, negations and endings are passed over.

use std::{borrow::Cow, collections::HashMap};

use unicode_normalization::UnicodeNormalization;

use crate::text::{fold, is_unspaced};

/// A word of a text. In scripts that put no spaces between words every character is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShapeWord<'t> {
    /// As it stands in the text.
    pub(super) surface: &'t str,
    /// The same for all ways of writing the word.
    pub(super) key: Cow<'t, str>,
}

/// The words of `text`, in their order. A text without a letter or a digit has its signs instead.
pub(super) fn words(text: &str) -> Vec<ShapeWord<'_>> {
    let mut words = Vec::with_capacity(text.len() / 6 + 1);
    for piece in text.split_whitespace() {
        let mut from = 0;
        for (at, character) in piece.char_indices() {
            if is_unspaced(character) {
                let after = at + character.len_utf8();
                push(&mut words, &piece[from..at]);
                push(&mut words, &piece[at..after]);
                from = after;
            }
        }
        push(&mut words, &piece[from..]);
    }
    if words.is_empty() {
        let signs = text.split("").filter(|sign| !sign.trim().is_empty());
        words.extend(signs.map(|sign| ShapeWord {
            surface: sign,
            key: Cow::Borrowed(sign),
        }));
    }
    words
}

fn push<'t>(words: &mut Vec<ShapeWord<'t>>, piece: &'t str) {
    let surface = piece.trim_matches(|character: char| !character.is_alphanumeric());
    if !surface.is_empty() {
        let key = key(surface);
        words.push(ShapeWord { surface, key });
    }
}

/// `word` without case, accents, and the forms of an apostrophe.
fn key(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        // Most words are ASCII and have none: they are borrowed from the text.
        let has_capitals = word.bytes().any(|byte| byte.is_ascii_uppercase());
        return match has_capitals {
            true => Cow::Owned(word.to_ascii_lowercase()),
            false => Cow::Borrowed(word),
        };
    }
    let is_accent = |character: &char| matches!(*character as u32, 0x300..=0x36F);
    let folded = fold(word);
    let bare = folded.nfd().filter(|character| !is_accent(character));
    let bare = bare.map(|character| match character {
        '\u{2019}' | '\u{2018}' | '\u{2BC}' => '\'',
        other => other,
    });
    Cow::Owned(bare.nfc().collect())
}

/// How a word looks from afar: numbers are alike, and so are a word with and without a final `s`. `None`
/// for a word that negates, or that only helps to.
pub(super) fn look(key: &str) -> Option<Cow<'_, str>> {
    const NEGATING: [&str; 20] = [
        "not", "no", "never", "cannot", "nor", "do", "does", "did", "nicht", "nie", "kein",
        "keine", "keinen", "ne", "pas", "jamais", "nunca", "non", "niet", "geen",
    ];
    let stem = match key.strip_suffix("n't") {
        // "can't" and "won't" lose a letter of their word.
        Some("ca") => "can",
        Some("wo") => "will",
        Some(helping) => helping,
        None => key.strip_suffix("'s").unwrap_or(key),
    };
    if NEGATING.contains(&stem) {
        return None;
    }
    let stem = match stem.strip_suffix('s') {
        // Short words and a double `s` ("is", "gas", "glass") are no plurals.
        Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem,
        _ => stem,
    };
    if !stem.contains(char::is_numeric) {
        return Some(Cow::Borrowed(stem));
    }
    let mut look = String::with_capacity(stem.len());
    let mut in_number = false;
    for character in stem.chars() {
        let is_digit = character.is_numeric();
        // `1,000` and `1.5` are one number, and look like any other.
        let goes_on = in_number && (is_digit || matches!(character, ',' | '.'));
        if !goes_on {
            look.push(if is_digit { '0' } else { character });
        }
        in_number = is_digit || goes_on;
    }
    Some(Cow::Owned(look))
}

/// One text among others, its words as numbers that mean the same in all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    /// How its words look, the rarest first; a look that comes again counts as another one.
    pub(super) look: Vec<u32>,
    /// Its words, ascending.
    pub(super) words: Vec<u32>,
}

impl Shape {
    /// The share of all words of both that both have.
    pub(super) fn similarity(&self, other: &Self) -> f64 {
        let shared = shared(&self.words, &other.words);
        let all = self.words.len() + other.words.len() - shared;
        if all == 0 {
            return 1.0;
        }
        shared as f64 / all as f64
    }
}

/// How many of two ascending lists' entries are in both.
pub(super) fn shared(one: &[u32], other: &[u32]) -> usize {
    let (mut at, mut in_other, mut shared) = (0, 0, 0);
    while at < one.len() && in_other < other.len() {
        let (left, right) = (one[at], other[in_other]);
        shared += usize::from(left == right);
        // Without a branch, which no processor could foresee: this runs for each pair.
        at += usize::from(left <= right);
        in_other += usize::from(right <= left);
    }
    shared
}

/// The shapes of texts, in their order.
pub(super) struct Shapes(pub(super) Vec<Shape>);

impl Shapes {
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut words_seen = Numbering::default();
        let mut looks_seen = Numbering::default();
        // How each word looks, by its number; `None` in it for those that are passed over.
        let mut look_of: Vec<Option<u32>> = Vec::new();
        let mut shapes: Vec<Shape> = texts
            .into_iter()
            .map(|text| {
                let words = words(text);
                let mut firsts = Vec::with_capacity(words.len());
                for word in &words {
                    let number = words_seen.first(&word.key);
                    if number as usize >= look_of.len() {
                        look_of.resize(number as usize + 1, None);
                        let look = look(&word.key);
                        look_of[number as usize] = look.map(|look| looks_seen.first(&look));
                    }
                    firsts.push(number);
                }
                let looks = firsts.iter().filter_map(|number| look_of[*number as usize]);
                let mut looks: Vec<u32> = looks.collect();
                // A text of negations alone still looks like itself; a set to be joined must not be empty.
                if looks.is_empty() {
                    looks = words
                        .iter()
                        .map(|word| looks_seen.first(&word.key))
                        .collect();
                }
                Shape {
                    words: words_seen.as_set(firsts),
                    look: looks_seen.as_set(looks),
                }
            })
            .collect();
        rarest_first(&mut shapes);
        Self(shapes)
    }
}

/// Numbers the looks anew, so that the rarer ones come first.
fn rarest_first(shapes: &mut [Shape]) {
    let looks = || shapes.iter().flat_map(|shape| shape.look.iter());
    let mut counts = vec![0u32; looks().max().map_or(0, |most| *most as usize + 1)];
    looks().for_each(|look| counts[*look as usize] += 1);
    let mut order: Vec<u32> = (0..counts.len() as u32).collect();
    // By number among equally rare ones, so that all texts have one order: a join by prefixes rests on
    // that.
    order.sort_by_key(|look| (counts[*look as usize], *look));
    let mut ranks = vec![0u32; counts.len()];
    for (rank, look) in order.into_iter().enumerate() {
        ranks[look as usize] = rank as u32;
    }
    for shape in shapes {
        for look in &mut shape.look {
            *look = ranks[*look as usize];
        }
        shape.look.sort_unstable();
    }
}

/// Words by number, in the order in which they first came. A word that comes again in the same text is
/// another one, so that a text is a set.
#[derive(Default)]
struct Numbering {
    first: HashMap<String, u32>,
    again: HashMap<(u32, u32), u32>,
    next: u32,
}

impl Numbering {
    /// The numbers of one text's words, each given as it first came: ascending, each once.
    fn as_set(&mut self, mut numbers: Vec<u32>) -> Vec<u32> {
        numbers.sort_unstable();
        let mut previous = None;
        let mut times = 0;
        for number in &mut numbers {
            times = if previous == Some(*number) {
                times + 1
            } else {
                0
            };
            previous = Some(*number);
            if times > 0 {
                *number = self.again(*number, times);
            }
        }
        numbers.sort_unstable();
        numbers
    }

    fn first(&mut self, word: &str) -> u32 {
        if let Some(number) = self.first.get(word) {
            return *number;
        }
        let number = self.take();
        self.first.insert(word.to_owned(), number);
        number
    }

    fn again(&mut self, word: u32, times: u32) -> u32 {
        if let Some(number) = self.again.get(&(word, times)) {
            return *number;
        }
        let number = self.take();
        self.again.insert((word, times), number);
        number
    }

    fn take(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        let words = words(text).into_iter();
        words.map(|word| word.key.into_owned()).collect()
    }

    #[test]
    fn words_are_told_apart_in_every_script() {
        assert_eq!(keys("Évan’s  café, (Tea)."), ["evan's", "cafe", "tea"]);
        assert_eq!(
            keys("会议在3月5日"),
            ["会", "议", "在", "3", "月", "5", "日"]
        );
        assert_eq!(keys("! ?"), ["!", "?"]);
        assert_eq!(
            words("„Tea“, Ben").first().map(|word| word.surface),
            Some("Tea")
        );
    }

    #[test]
    fn numbers_negations_and_endings_are_passed_over_from_afar() {
        let looks = |text: &str| -> Vec<String> {
            let keys = keys(text);
            keys.iter()
                .filter_map(|key| look(key))
                .map(Cow::into_owned)
                .collect()
        };
        assert_eq!(looks("TKT-100 at 7:00"), ["tkt-0", "at", "0:0"]);
        assert_eq!(looks("1,000.5 g"), looks("7 g"));
        assert_eq!(looks("Sam doesn't like tea"), looks("Sam likes teas"));
        assert_eq!(looks("glass as is"), ["glass", "as", "is"]);
    }

    #[test]
    fn a_word_that_comes_again_counts_again() {
        let shapes = Shapes::of(["tea tea tea", "tea", "Tea TEA"]).0;
        assert_eq!(shapes[0].words.len(), 3);
        assert!((shapes[0].similarity(&shapes[1]) - 1.0 / 3.0).abs() < 1e-9);
        assert!((shapes[0].similarity(&shapes[2]) - 2.0 / 3.0).abs() < 1e-9);
    }
}
