//! Words and phrases of relative time, whose meaning depends on the day on which they were said.
//!
//! Owns where they stand in a text. The words are those of the tables in `languages`.

use std::ops::Range;
use std::sync::LazyLock;

use crate::lexicon::{self, ByHash, Languages};
use crate::reading::{Reading, Tongues};

/// Whether a text has a word or phrase of relative time, such as "yesterday" or "next week", in the language that
/// it is recognised to be in.
pub fn has_relative_time(text: &str) -> bool {
    let reading = Reading::of(text);
    let tongues = Tongues::of(&reading, None);
    !relative_times(&reading, tongues).is_empty()
}

/// The places of the words and phrases of relative time.
pub(crate) fn relative_times(reading: &Reading<'_>, tongues: Tongues) -> Vec<Range<usize>> {
    let mut places = reading.parts(tongues, |table| table.relative, |_| "");
    for at in 0..reading.tokens.len() {
        let start = reading.tokens[at].start as usize;
        if let Some(last) = last_of(reading, at, tongues) {
            let first = last.start.min(start);
            places.push(first..last.end);
        }
    }
    places
}

/// The place of the word that ends a phrase of relative time in which the word at `at` stands first, or behind
/// its span.
fn last_of(reading: &Reading<'_>, at: usize, tongues: Tongues) -> Option<Range<usize>> {
    let words = &*WORDS;
    let is = |at: usize, row: &ByHash<Languages>| reading.is(at, row, tongues.sure);
    let place = |at: usize| reading.place(at);
    if is(at, &words.relative)
        || reading.is_distinct(at) && reading.is(at, &words.relative, tongues.unsure)
    {
        return Some(place(at));
    }
    let phrase = |phrases: &ByHash<Vec<Phrase>>| {
        let of_word = reading.forms[at].iter();
        let of_word = of_word.filter_map(|form| phrases.get(form)).flatten();
        let mut fitting = of_word.filter(|phrase| phrase.languages & tongues.sure != 0);
        fitting.find_map(|phrase| {
            let behind = reading.forms.iter().skip(at + 1);
            let behind = phrase.rest.iter().zip(behind);
            let found = behind.filter(|(word, forms)| forms.contains(word)).count();
            (found == phrase.rest.len()).then_some(at + found)
        })
    };
    if let Some(last) = phrase(&words.phrases) {
        return Some(place(last));
    }
    if let Some((languages, but)) = reading.forms[at]
        .iter()
        .find_map(|form| words.unless.get(form))
        && languages & tongues.sure != 0
    {
        let before = at.checked_sub(1).map(|at| &reading.forms[at]);
        let is_other = before.is_some_and(|forms| forms.iter().any(|form| but.contains(form)));
        return (!is_other || reading.tokens[at].begins).then(|| place(at));
    }
    // A span behind at most three words of amount.
    let span = |from: usize| {
        let amounts = (from..from + 3).take_while(|at| is_amount(reading, *at, tongues));
        let end = from + amounts.count();
        // "an" is an amount in English and a year in French: the span may be the last of them.
        (from..=end).rev().find(|at| is(*at, &words.spans))
    };
    if is(at, &words.shifts)
        && let Some(last) = span(at + 1)
    {
        // "the last week of March" is no relative time.
        let follows = reading.forms.get(last + 1);
        let is_of = follows.is_some_and(|forms| forms.contains(&words.of));
        return (!is_of).then(|| place(last));
    }
    if let Some(last) = phrase(&words.ago_before)
        && is_amount(reading, last + 1, tongues)
        && let Some(last) = span(last + 2)
    {
        return Some(place(last));
    }
    let back = at.checked_sub(1).filter(|back| is(*back, &words.spans))?;
    if is(at, &words.shifts_behind) {
        return Some(place(back).start..place(at).end);
    }
    let has_amount = back > 0 && is_amount(reading, back - 1, tongues);
    (has_amount && is(at, &words.ago_behind)).then(|| place(back - 1).start..place(at).end)
}

fn is_amount(reading: &Reading<'_>, at: usize, tongues: Tongues) -> bool {
    let word = reading.text_of(at);
    word.starts_with(char::is_numeric) || reading.is(at, &WORDS.amounts, tongues.sure)
}

struct Phrase {
    languages: Languages,
    /// The words behind the first.
    rest: Vec<u64>,
}

/// The rows of the tables that have to do with time.
struct Words {
    relative: ByHash<Languages>,
    phrases: ByHash<Vec<Phrase>>,
    unless: ByHash<(Languages, Vec<u64>)>,
    shifts: ByHash<Languages>,
    shifts_behind: ByHash<Languages>,
    spans: ByHash<Languages>,
    ago_before: ByHash<Vec<Phrase>>,
    ago_behind: ByHash<Languages>,
    amounts: ByHash<Languages>,
    of: u64,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut spans = lexicon::listed(|table| table.spans);
    let mut amounts = lexicon::listed(|table| table.amounts);
    let mut unless = ByHash::default();
    for language in crate::Language::ALL {
        let table = language.table();
        for forms in [table.months, table.weekdays]
            .into_iter()
            .flat_map(|row| row.split(['/', ' ']))
        {
            *spans.entry(lexicon::hash_of(forms)).or_default() |= language.bit();
        }
        for word in lexicon::words(table.numbers) {
            *amounts.entry(word).or_default() |= language.bit();
        }
        for (word, but) in table
            .unless
            .split(' ')
            .filter_map(|row| row.split_once('='))
        {
            let but = but.split('_').map(lexicon::hash_of).collect();
            unless.insert(lexicon::hash_of(word), (language.bit(), but));
        }
    }
    Words {
        relative: lexicon::listed(|table| table.relative),
        phrases: phrases(|table| table.relative, 2),
        unless,
        shifts: lexicon::listed(|table| table.shifts),
        shifts_behind: lexicon::listed(|table| table.shifts_behind),
        spans,
        ago_before: phrases(|table| table.ago_before, 1),
        ago_behind: lexicon::listed(|table| table.ago_behind),
        amounts,
        of: lexicon::hash_of("of"),
    }
});

/// The phrases of a row that have so many words at least, by their first word.
fn phrases(
    row: impl Fn(&crate::languages::LanguageTable) -> &'static str,
    least: usize,
) -> ByHash<Vec<Phrase>> {
    let mut phrases = ByHash::<Vec<Phrase>>::default();
    for language in crate::Language::ALL {
        for phrase in row(language.table()).split_ascii_whitespace() {
            let words: Vec<u64> = phrase.split(['_', '-']).map(lexicon::hash_of).collect();
            if let [first, rest @ ..] = words.as_slice()
                && words.len() >= least
            {
                phrases.entry(*first).or_default().push(Phrase {
                    languages: language.bit(),
                    rest: rest.to_vec(),
                });
            }
        }
    }
    phrases
}
