//! Whether one sentence of a text says a sentence of a wording, and what it loses of it
//! (SPEC 3.12 "Says" and "Loses").

use std::borrow::Cow;

use crate::align::{NOWHERE, common, windows};
use crate::language::Language;
use crate::lexicon::{
    ATTACH, ByHash, CAPITAL, FOLLOWING, FreeWords, JOIN, NUMBER, POSSESSIVE, PRONOUN, QUESTION,
    QUOTED, TURN, WordClass,
};
use crate::reading::{Reading, bit};
use crate::scan::{CLOSE, COLON, COMMA, DASH, JOINED, OPEN, QUOTE, SLASH};
use crate::words::{Word, is_exchanged, is_exchanged_beside};

/// Marks and words between two parts of a sentence.
pub(crate) const PARTING: u8 = COMMA | COLON | DASH | OPEN | CLOSE | SLASH | JOINED;

/// A sentence that lacks such a word, or a name, says nothing.
pub(crate) const STRICT: WordClass = TURN | NUMBER | QUOTED;

/// How many sentences are asked whether they say a sentence. A text of more sentences with the same
/// words than that is hostile, and then says it less.
const ASKED: usize = 64;
/// How many sentences are asked how much of a sentence they keep: those that share most words.
const COMPARED: usize = 8;
/// From how many sentences on they are indexed by their words.
const INDEXED_FROM: usize = 48;

/// A text as read in a wording's language, and its sentences indexed.
pub(crate) struct ReadIn<'a> {
    pub(crate) reading: Cow<'a, Reading>,
    index: Option<SentenceIndex>,
}

struct SentenceIndex {
    by_same: ByHash<Vec<u32>>,
    by_word: ByHash<Vec<u32>>,
}

/// What becomes of one sentence of a wording in a text.
pub(crate) struct SentenceFate {
    /// The sentence that says it; `None` where none does, or where it is of free words alone, so that
    /// there is nothing to say.
    pub(crate) said_by: Option<usize>,
    /// Its inner marks are not those of the sentence.
    pub(crate) marks_differ: bool,
    /// For each word of the sentence, whether it is lost.
    pub(crate) lost: Vec<bool>,
    /// The sentence that has most of its words in their order.
    pub(crate) nearest: Option<usize>,
}

impl SentenceFate {
    /// Of a sentence of free words alone. It names no sentence: the text may have none.
    const NOTHING_TO_SAY: Self = SentenceFate {
        said_by: None,
        marks_differ: false,
        lost: Vec::new(),
        nearest: None,
    };

    fn said(n: usize, marks_differ: bool) -> Self {
        SentenceFate {
            said_by: Some(n),
            marks_differ,
            lost: Vec::new(),
            nearest: Some(n),
        }
    }

    pub(crate) fn is_lost(&self, word: usize) -> bool {
        self.lost.get(word).copied().unwrap_or(false)
    }

    pub(crate) fn gone(&self) -> usize {
        self.lost.iter().filter(|lost| **lost).count()
    }
}

impl<'a> ReadIn<'a> {
    pub(crate) fn new(reading: &'a Reading, language: Option<Language>) -> Self {
        let reading = if reading.language() == language {
            Cow::Borrowed(reading)
        } else {
            Cow::Owned(Reading::in_language(reading.text(), language))
        };
        let index = (reading.sentences() > INDEXED_FROM).then(|| SentenceIndex::new(&reading));
        ReadIn { reading, index }
    }

    /// What becomes of sentence `s` of `wording` in this text.
    pub(crate) fn fate(&self, wording: &Reading, s: usize) -> SentenceFate {
        let words = wording.of_sentence(s);
        if words.is_empty() {
            return SentenceFate::NOTHING_TO_SAY;
        }
        if let Some(fate) = self.said(wording, s) {
            return fate;
        }
        // `best` and `nearest` may be different sentences: the one that shares most words may turn the meaning, and so
        // lose all of them.
        let mut best: Option<(usize, Vec<bool>)> = None;
        let mut nearest: Option<(usize, usize)> = None;
        for n in self.closest(wording, s) {
            let pair = Pair::new(wording, s, &self.reading, n);
            let places = common(pair.s, pair.n);
            let kept = places.iter().filter(|place| **place != NOWHERE).count();
            if kept > 0 && nearest.is_none_or(|(most, _)| kept > most) {
                nearest = Some((kept, n));
            }
            let lost = pair.lost(&places);
            let gone = lost.iter().filter(|lost| **lost).count();
            if best.as_ref().is_none_or(|(least, _)| gone < *least) {
                best = Some((gone, lost));
            }
        }
        SentenceFate {
            said_by: None,
            marks_differ: false,
            lost: best.map_or_else(|| vec![true; words.len()], |(_, lost)| lost),
            nearest: nearest.map(|(_, n)| n),
        }
    }

    /// The sentence that says sentence `s`, preferably with the same marks.
    fn said(&self, wording: &Reading, s: usize) -> Option<SentenceFate> {
        let mut otherwise_marked = None;
        for n in self.same(wording, s) {
            let whole: Vec<u32> = (0..wording.of_sentence(s).len() as u32).collect();
            if !Pair::new(wording, s, &self.reading, n).marks_differ(&whole) {
                return Some(SentenceFate::said(n, false));
            }
            otherwise_marked.get_or_insert(n);
        }
        // One bit a word: where a bit is missing, a word is. Bits that are all there prove nothing yet.
        let signature = wording.outline(s).signature;
        let length = wording.of_sentence(s).len();
        let may_say = |n: &usize| {
            self.reading.outline(*n).signature & signature == signature
                && self.reading.of_sentence(*n).len() >= length
        };
        for n in self.sharing(wording, s).filter(may_say).take(ASKED) {
            if let Some(differ) = Pair::new(wording, s, &self.reading, n).says() {
                if !differ {
                    return Some(SentenceFate::said(n, false));
                }
                otherwise_marked.get_or_insert(n);
            }
        }
        otherwise_marked.map(|n| SentenceFate::said(n, true))
    }

    /// The sentences with exactly the same words.
    fn same<'b>(&'b self, wording: &'b Reading, s: usize) -> impl Iterator<Item = usize> + 'b {
        let candidates: Box<dyn Iterator<Item = usize> + 'b> = match &self.index {
            Some(index) => Box::new(of(&index.by_same, wording.outline(s).same).take(ASKED)),
            None => Box::new(0..self.reading.sentences()),
        };
        candidates.filter(move |n| wording.same(s, &self.reading, *n))
    }

    /// Sentences that may say sentence `s`: those with its rarest word.
    fn sharing<'b>(
        &'b self,
        wording: &'b Reading,
        s: usize,
    ) -> Box<dyn Iterator<Item = usize> + 'b> {
        match &self.index {
            Some(index) => {
                let rarest = wording
                    .of_sentence(s)
                    .iter()
                    .map(|word| word.key)
                    .min_by_key(|key| index.by_word.get(key).map_or(0, Vec::len));
                Box::new(rarest.into_iter().flat_map(|key| of(&index.by_word, key)))
            }
            None => Box::new(0..self.reading.sentences()),
        }
    }

    /// The sentences that share most words with sentence `s`, at least one.
    fn closest(&self, wording: &Reading, s: usize) -> Vec<usize> {
        let words = wording.of_sentence(s);
        let signature = wording.outline(s).signature;
        let mut near: Vec<usize> = match &self.index {
            Some(index) => {
                let mut keys: Vec<u64> = words.iter().map(|word| word.key).collect();
                keys.sort_unstable();
                keys.dedup();
                // The rarest first: words that stand everywhere say little of where a sentence is, and the
                // places are limited.
                keys.sort_by_key(|key| index.by_word.get(key).map_or(0, Vec::len));
                let mut near: Vec<usize> = keys
                    .into_iter()
                    .flat_map(|key| of(&index.by_word, key).take(ASKED))
                    .take(4 * ASKED)
                    .collect();
                near.sort_unstable();
                near.dedup();
                near
            }
            None => (0..self.reading.sentences())
                .filter(|n| self.reading.outline(*n).signature & signature != 0)
                .collect(),
        };
        // By the bits in common, which are nearly the words; then in the text's order again, of which the first
        // counts where two keep as much.
        if near.len() > COMPARED {
            near.sort_by_key(|n| {
                std::cmp::Reverse((self.reading.outline(*n).signature & signature).count_ones())
            });
            near.truncate(COMPARED);
            near.sort_unstable();
        }
        near
    }

    /// Whether some sentence that `counts` keeps a piece of sentence `s`: at least half of its words in
    /// their order, or nothing but words of it.
    pub(crate) fn keeps_piece(
        &self,
        wording: &Reading,
        s: usize,
        counts: impl Fn(usize) -> bool,
    ) -> bool {
        let length = wording.of_sentence(s).len();
        self.closest(wording, s)
            .into_iter()
            .filter(|n| counts(*n))
            .any(|n| {
                let own = self.reading.of_sentence(n);
                let places = common(wording.of_sentence(s), own);
                let kept = places.iter().filter(|place| **place != NOWHERE).count();
                2 * kept >= length || kept > 0 && kept == own.len()
            })
    }

    /// The words of sentence `n` that it has of sentence `s`, if it says all of that or, with
    /// `enough` of its words, part of it.
    pub(crate) fn words_of(
        &self,
        n: usize,
        source: &Reading,
        s: usize,
        partly: bool,
    ) -> Option<Vec<u32>> {
        let pair = Pair::new(source, s, &self.reading, n);
        if pair.s.is_empty() {
            return None;
        }
        if !partly {
            return pair.says_at();
        }
        let places = common(pair.s, pair.n);
        let gone = pair.lost(&places).iter().filter(|lost| **lost).count();
        (pair.s.len() - gone >= must_stay(pair.s.len())).then(|| {
            places
                .into_iter()
                .filter(|place| *place != NOWHERE)
                .collect()
        })
    }
}

/// How many words of a sentence must stay: of 1 to 3 all, of 4 to 7 all but one, else three quarters.
pub(crate) fn must_stay(words: usize) -> usize {
    match words {
        0..=3 => words,
        4..=7 => words - 1,
        _ => (3 * words).div_ceil(4),
    }
}

fn of(index: &ByHash<Vec<u32>>, key: u64) -> impl Iterator<Item = usize> + '_ {
    index
        .get(&key)
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|n| *n as usize)
}

impl SentenceIndex {
    fn new(reading: &Reading) -> Self {
        let mut index = SentenceIndex {
            by_same: ByHash::default(),
            by_word: ByHash::default(),
        };
        for (n, outline) in reading.outlines().iter().enumerate() {
            index
                .by_same
                .entry(outline.same)
                .or_default()
                .push(n as u32);
            for word in reading.of_sentence(n) {
                let sentences = index.by_word.entry(word.key).or_default();
                // They come in order, so that looking at the last one is enough to have each once.
                if sentences.last() != Some(&(n as u32)) {
                    sentences.push(n as u32);
                }
            }
        }
        index
    }
}

/// A sentence of a wording beside a sentence of a text.
struct Pair<'a> {
    wording: &'a Reading,
    text: &'a Reading,
    s: &'a [Word],
    n: &'a [Word],
    /// The free words behind the last counting word of each.
    tails: (FreeWords, FreeWords),
    capital_nouns: bool,
}

impl<'a> Pair<'a> {
    fn new(wording: &'a Reading, s: usize, text: &'a Reading, n: usize) -> Self {
        Pair {
            wording,
            text,
            s: wording.of_sentence(s),
            n: text.of_sentence(n),
            tails: (wording.outline(s).tail, text.outline(n).tail),
            capital_nouns: wording.language().is_some_and(|l| l.table().capital_nouns),
        }
    }

    /// Whether `n` says `s`, and then whether the marks differ.
    fn says(&self) -> Option<bool> {
        let mut differ = None;
        windows(self.s, self.n, |places| {
            if self.is_sound(places) {
                let marks = self.marks_differ(places);
                differ = Some(differ.unwrap_or(true) && marks);
            }
            differ == Some(false)
        });
        differ
    }

    /// The places of `s` in `n`, if `n` says it.
    fn says_at(&self) -> Option<Vec<u32>> {
        // Most candidates lack a word of the sentence. Comparing bits finds that faster than laying the sentences
        // beside each other.
        let signature = |words: &[Word]| words.iter().fold(0, |bits, word| bits | bit(word.key));
        let (s, n) = (signature(self.s), signature(self.n));
        if s & n != s {
            return None;
        }
        let mut at = None;
        windows(self.s, self.n, |places| {
            let sound = self.is_sound(places);
            if sound {
                at = Some(places.to_vec());
            }
            sound
        });
        at
    }

    /// For each word of `s`, whether `n` loses it.
    fn lost(&self, places: &[u32]) -> Vec<bool> {
        let strict = |word: &Word| word.is(STRICT) || self.wording.is_name(word, self.text);
        let broken = self
            .s
            .iter()
            .zip(places)
            .any(|(word, place)| *place == NOWHERE && strict(word));
        if broken || self.runs_on(places) || !self.is_sound(places) {
            return vec![true; self.s.len()];
        }
        places.iter().map(|place| *place == NOWHERE).collect()
    }

    /// Whether what `s` lacks at an end of it is made up for by what stands there in `n`: "I really love
    /// cats. Bob is ill." does not become "I really love Bob is ill."
    fn runs_on(&self, places: &[u32]) -> bool {
        let held = || places.iter().filter(|place| **place != NOWHERE);
        let is_apart = |j: usize| {
            self.n
                .get(j)
                .is_none_or(|word| word.marks & (PARTING & !JOINED) != 0)
        };
        let behind = |last: &u32| places.last() == Some(&NOWHERE) && !is_apart(*last as usize + 1);
        let before = |first: &u32| {
            places.first() == Some(&NOWHERE) && *first > 0 && !is_apart(*first as usize)
        };
        held().next_back().is_some_and(behind) || held().next().is_some_and(before)
    }

    /// Whether the marks before two words that follow each other in both differ.
    fn marks_differ(&self, places: &[u32]) -> bool {
        let pairs = places.windows(2).zip(&self.s[1..]);
        pairs.into_iter().any(|(two, word)| {
            // A joining word is no mark: it may come or go.
            two[1] == two[0] + 1 && (word.marks ^ self.n[two[1] as usize].marks) & !JOINED != 0
        })
    }

    /// Whether nothing foreign stands where it would change what `s` says: places of missing words
    /// are [`NOWHERE`].
    fn is_sound(&self, places: &[u32]) -> bool {
        let mut held = places
            .iter()
            .enumerate()
            .filter(|(_, place)| **place != NOWHERE);
        let Some((mut word, first)) = held.next().map(|(i, place)| (i, *place as usize)) else {
            return false;
        };
        // A free word exchanged for another, where nothing else stands between.
        let is_first_exchanged = word == 0
            && match first {
                0 => self.s[0].is_exchanged_first(&self.n[0]),
                // Behind another sentence: "the lamp is on, the cat sleeps".
                _ => is_exchanged_beside(self.s[0].lead, self.n[first].lead),
            };
        if !self.is_sound_before(first) || is_first_exchanged {
            return false;
        }
        let mut gaps = Gaps::default();
        let mut last = first;
        for (i, place) in held {
            let place = *place as usize;
            if place > last + 1 && !self.is_sound_gap(last, place, (word, i), &mut gaps) {
                return false;
            }
            let is_next = place == last + 1 && i == word + 1;
            if is_next && self.s[i].is_exchanged(&self.n[place]) {
                return false;
            }
            (word, last) = (i, place);
        }
        if word + 1 == self.s.len() && self.is_tail_exchanged(last) {
            return false;
        }
        let plain = gaps.words <= self.s.len() && !gaps.names;
        // "Ann likes tea and sings on Sundays" says "Ann sings on Sundays". A German gap is full of
        // capitalised nouns, so that none of them can be told for a name there.
        let shared =
            gaps.count == 1 && first == 0 && gaps.joined && (!gaps.names || self.capital_nouns);
        (plain || shared) && self.is_sound_after(last)
    }

    fn is_sound_before(&self, first: usize) -> bool {
        if self.n[..first].iter().any(|word| word.is(TURN)) {
            return false;
        }
        let Some(before) = first.checked_sub(1).map(|j| &self.n[j]) else {
            return true;
        };
        let head = &self.n[first];
        // "The father of Ann died" does not say "Ann died".
        let tied = before.is(ATTACH) && head.marks & PARTING == 0;
        // A number or its sign before a number makes it another one: "-5 degrees" does not say "5 degrees".
        !(tied || before.is(NUMBER) && head.is(NUMBER))
    }

    fn is_sound_gap(&self, from: usize, to: usize, words: (usize, usize), gaps: &mut Gaps) -> bool {
        let gap = &self.n[from + 1..to];
        if gap.iter().any(|word| word.is(TURN | PRONOUN | POSSESSIVE)) {
            return false;
        }
        let (head, tail) = (&self.n[from], &self.n[to]);
        if head.is(NUMBER) && gap[0].is(NUMBER) || tail.is(NUMBER) && gap[gap.len() - 1].is(NUMBER)
        {
            return false;
        }
        let within =
            words.1 == words.0 + 1 && self.s[words.0].is(QUOTED) && self.s[words.1].is(QUOTED);
        if within && self.s[words.1].marks & QUOTE == 0 {
            return false;
        }
        // What stands behind a joining word or mark in the gap belongs to the foreign part, unless
        // the sentence goes on right there: "the cat sleeps and the dog barks" does not say "the cat
        // barks".
        let joint = (from + 1..=to)
            .rev()
            .find(|j| self.n[*j].marks & PARTING != 0 || *j > from + 1 && self.n[*j - 1].is(JOIN));
        if joint.is_some_and(|joint| joint != to) {
            return false;
        }
        gaps.count += 1;
        gaps.words += gap.len();
        gaps.joined |= joint.is_some();
        gaps.names |= gap.iter().any(|word| {
            self.text.is_name(word, self.wording) || self.capital_nouns && word.is(CAPITAL)
        });
        true
    }

    /// Whether the free words behind `s` have given way to others behind `last`, its last word in `n`.
    fn is_tail_exchanged(&self, last: usize) -> bool {
        let (tail, end) = self.tails;
        match self.n.get(last + 1) {
            None => is_exchanged(tail, end),
            // Some of these may be of what follows.
            Some(next) => is_exchanged_beside(tail, next.lead),
        }
    }

    fn is_sound_after(&self, last: usize) -> bool {
        let rest = &self.n[last + 1..];
        let tied = rest.first().is_some_and(|next| {
            let beside = next.is(NUMBER) && self.n[last].is(NUMBER) && next.marks & PARTING == 0;
            next.is(POSSESSIVE) || beside
        });
        if tied {
            return false;
        }
        let clause = rest
            .iter()
            .take_while(|word| word.marks & PARTING == 0 && !word.is(JOIN));
        for word in clause {
            if word.is(FOLLOWING) {
                return false;
            }
        }
        !rest.iter().any(|word| word.is(QUESTION))
    }
}

/// What stands between the words of a sentence that belongs to none of them.
#[derive(Default)]
struct Gaps {
    count: usize,
    words: usize,
    names: bool,
    /// The sentence goes on right behind a joining word or mark.
    joined: bool,
}
