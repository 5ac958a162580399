//! What single words mean: one table, built once, of everything the word lists say.
//!
//! Owns the word lists and the look-up. It does not own any rule about words in context.

mod calendar;
mod english;
mod languages;
mod names;
mod negation;
mod numbers;

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::fold::fold;
use crate::table::Table;

/// A set of languages, one bit each.
pub(crate) type Langs = u16;

pub(crate) const EN: Langs = 1;
pub(crate) const DE: Langs = 1 << 1;
pub(crate) const FR: Langs = 1 << 2;
pub(crate) const ES: Langs = 1 << 3;
pub(crate) const IT: Langs = 1 << 4;
pub(crate) const PT: Langs = 1 << 5;
pub(crate) const NL: Langs = 1 << 6;
pub(crate) const RU: Langs = 1 << 7;
pub(crate) const PL: Langs = 1 << 8;
pub(crate) const SV: Langs = 1 << 9;
pub(crate) const TR: Langs = 1 << 10;
/// Every language, also those that have no bit.
pub(crate) const ALL: Langs = Langs::MAX;
/// How many languages have a bit.
pub(crate) const LANGS: usize = 11;

/// A property of a word.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(crate) enum Flag {
    /// An everyday word.
    Common = 1,
    /// An everyday word which is a name as well.
    AlsoName = 1 << 2,
    /// A known name.
    Given = 1 << 3,
    Title = 1 << 4,
    Abbreviation = 1 << 5,
    /// A verb form that begins a clause of its own.
    Verb = 1 << 6,
    Subject = 1 << 7,
    Aux = 1 << 8,
    Weak = 1 << 9,
    Measure = 1 << 12,
    Article = 1 << 13,
    Street = 1 << 14,
    Light = 1 << 15,
    Role = 1 << 16,
    One = 1 << 17,
    Ordinal = 1 << 18,
    /// Says how many times.
    Multiple = 1 << 19,
    /// Says a small number by the way.
    Carrier = 1 << 20,
    Noun = 1 << 21,
    CaselessTitle = 1 << 22,
    Denying = 1 << 23,
    /// First word of a phrase whose negation denies nothing.
    IdleHead = 1 << 24,
    /// First word of a phrase that is an amount, a date or a time.
    Trigger = 1 << 25,
    /// First word of a phrase of several words that is a day or a frequency.
    PhraseHead = 1 << 26,
    /// An amount, a date or a time can begin with it.
    Amount = 1 << 27,
    /// It negates, or begins a phrase that seems to.
    Negation = 1 << 28,
}

/// What the lists say about one word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    flags: u32,
    /// Languages the word speaks for.
    pub(crate) votes: Langs,
    /// Languages in which it is a closed-class word.
    pub(crate) functions: Langs,
    pub(crate) negates: Langs,
    /// Languages in which it turns against what came before.
    pub(crate) contrasts: Langs,
    /// Languages in which it joins parts of one statement.
    pub(crate) joins: Langs,
    pub(crate) number_langs: Langs,
    pub(crate) number: u32,
    pub(crate) scale: u8,
    pub(crate) scale_langs: Langs,
    /// 1 to 12.
    pub(crate) month: u8,
    pub(crate) month_langs: Langs,
    /// 1 is Monday.
    pub(crate) weekday: u8,
    pub(crate) weekday_langs: Langs,
    /// One more than the index of the unit.
    unit: u8,
    day: u8,
    day_langs: Langs,
    time: u8,
    time_langs: Langs,
    relative: u8,
    span: u8,
    /// For an ideograph or a kana: how many characters the longest listed word that begins with it
    /// has.
    pub(crate) reach: u8,
}

impl Entry {
    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.flags & flag as u32 != 0
    }

    /// Whether an amount, a date or a time can begin with the word, by all else that is known of it.
    fn begins_amount(&self) -> bool {
        let flags = Flag::One as u32 | Flag::Carrier as u32 | Flag::Trigger as u32;
        self.flags & flags != 0
            || self.number_langs
                | self.month_langs
                | self.weekday_langs
                | self.day_langs
                | self.time_langs
                != 0
            || self.scale > 0
            || self.span > 0
    }

    /// Whether the word may have to do with a negation.
    fn concerns_negation(&self) -> bool {
        let flags = Flag::Denying as u32 | Flag::Weak as u32 | Flag::IdleHead as u32;
        self.flags & flags != 0 || self.negates != 0
    }

    pub(crate) fn unit(&self) -> Option<Unit> {
        unit_at(self.unit)
    }

    /// The key of the season, holiday or named day.
    pub(crate) fn named_day(&self, lang: Langs) -> Option<&'static str> {
        let row = calendar::NAMED_DAYS.get(usize::from(self.day).checked_sub(1)?)?;
        (self.day_langs & lang != 0).then_some(row.0)
    }

    /// The key of the named time in `lang`.
    pub(crate) fn named_time(&self, lang: Langs) -> Option<&'static str> {
        let row = calendar::NAMED_TIMES.get(usize::from(self.time).checked_sub(1)?)?;
        (self.time_langs & lang != 0).then_some(row.0)
    }

    pub(crate) fn relative(&self) -> Option<&'static str> {
        let row = calendar::RELATIVES.get(usize::from(self.relative).checked_sub(1)?)?;
        Some(row.0)
    }

    pub(crate) fn span(&self) -> Option<&'static str> {
        let row = calendar::SPANS.get(usize::from(self.span).checked_sub(1)?)?;
        Some(row.0)
    }
}

/// A unit of measure as a multiple of its base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    pub(crate) base: &'static str,
    pub(crate) factor: f64,
}

fn unit_at(one_more: u8) -> Option<Unit> {
    let row = numbers::UNITS.get(usize::from(one_more).checked_sub(1)?)?;
    Some(Unit {
        base: row.base,
        factor: row.factor,
    })
}

/// What the lists say about a folded word.
pub(crate) fn look_up(folded: &str) -> &'static Entry {
    TABLE.get(folded).unwrap_or(&NOTHING)
}

/// What the lists say about a word that is in none of them.
pub(crate) static NOTHING: Entry = Entry {
    flags: 0,
    votes: 0,
    functions: 0,
    negates: 0,
    contrasts: 0,
    joins: 0,
    number_langs: 0,
    number: 0,
    scale: 0,
    scale_langs: 0,
    month: 0,
    month_langs: 0,
    weekday: 0,
    weekday_langs: 0,
    unit: 0,
    day: 0,
    day_langs: 0,
    time: 0,
    time_langs: 0,
    relative: 0,
    span: 0,
    reach: 0,
};

/// The unit of that name.
pub(crate) fn unit(name: &str) -> Option<Unit> {
    look_up(name).unit()
}

/// Whether an English word is a form of an everyday word.
pub(crate) fn is_common_form(folded: &str) -> bool {
    const CUTS: [(&str, &str); 24] = [
        ("", ""),
        ("s", ""),
        ("es", ""),
        ("ies", "y"),
        ("ed", ""),
        ("d", ""),
        ("ied", "y"),
        ("ing", ""),
        ("ing", "e"),
        ("er", ""),
        ("r", ""),
        ("ers", ""),
        ("est", ""),
        ("ly", ""),
        ("ily", "y"),
        ("y", ""),
        ("y", "e"),
        ("ies", "ie"),
        ("ally", ""),
        ("ness", ""),
        ("iness", "y"),
        ("rs", ""),
        ("edly", ""),
        ("ingly", ""),
    ];
    let known = |word: &str| {
        let entry = look_up(word);
        word.len() >= 3
            && (entry.is(Flag::Common) || entry.functions & EN != 0 || entry.number_langs != 0)
    };
    let last = folded.as_bytes().last();
    if !matches!(last, Some(b's' | b'd' | b'g' | b'r' | b't' | b'y')) {
        return known(folded);
    }
    CUTS.iter().any(|(ending, put)| {
        folded.strip_suffix(ending).is_some_and(|rest| {
            let doubled = rest.len() > 3
                && ending.len() >= 2
                && rest.as_bytes()[rest.len() - 1] == rest.as_bytes()[rest.len() - 2];
            known(rest) && put.is_empty()
                || !put.is_empty() && known(&format!("{rest}{put}"))
                || doubled && rest.get(..rest.len() - 1).is_some_and(known)
        })
    })
}

/// The phrases for a day or a frequency that begin with `word`: their words and their keys.
pub(crate) fn day_phrases(word: &str) -> &'static [Phrase] {
    DAY_PHRASES.get(word).map_or(&[], Vec::as_slice)
}

/// The negation phrases that deny nothing and begin with `word`, each as its words.
pub(crate) fn idle_phrases(word: &str) -> &'static [Vec<String>] {
    IDLE.get(word).map_or(&[], Vec::as_slice)
}

/// Whether the character begins a common Chinese surname.
pub(crate) fn is_surname(c: char) -> bool {
    SURNAMES.contains(&c)
}

/// About how many words all lists together have.
const WORDS: usize = 8192;

static TABLE: LazyLock<Table<Entry>> = LazyLock::new(|| {
    let mut lists = Lists(Table::with_room(WORDS));
    lists.words();
    lists.names();
    lists.numbers();
    lists.calendar();
    lists.negations();
    lists.reaches();
    lists.summaries();
    lists.0
});

/// The words of a phrase, and its key.
type Phrase = (Vec<&'static str>, &'static str);

static DAY_PHRASES: LazyLock<Table<Vec<Phrase>>> = LazyLock::new(|| {
    let mut phrases: Table<Vec<Phrase>> = Table::with_room(32);
    for (phrase, key) in calendar::PHRASES {
        let words: Vec<&str> = phrase.split(' ').collect();
        if let Some(head) = words.first() {
            phrases.entry(head).push((words, *key));
        }
    }
    phrases
});

static IDLE: LazyLock<Table<Vec<Vec<String>>>> = LazyLock::new(|| {
    let mut phrases: Table<Vec<Vec<String>>> = Table::with_room(128);
    for phrase in negation::IDLE {
        let words: Vec<String> = phrase.split(' ').map(|w| fold(w).into_owned()).collect();
        if let Some(head) = words.first().cloned() {
            phrases.entry(&head).push(words);
        }
    }
    phrases
});

static SURNAMES: LazyLock<HashSet<char>> = LazyLock::new(|| names::HAN_SURNAMES.chars().collect());

struct Lists(Table<Entry>);

impl Lists {
    fn entry(&mut self, word: &str) -> &mut Entry {
        self.0.entry(&fold(word))
    }

    fn flag(&mut self, words: &str, flag: Flag) {
        for word in words.split_whitespace() {
            self.entry(word).flags |= flag as u32;
        }
    }

    fn pairs(words: &str) -> impl Iterator<Item = (&str, u32)> {
        let mut parts = words.split_whitespace();
        std::iter::from_fn(move || {
            let word = parts.next()?;
            Some((word, parts.next()?.parse().unwrap_or(0)))
        })
    }

    fn words(&mut self) {
        self.function(EN, english::FUNCTION);
        for (lang, words) in languages::FUNCTION {
            self.function(*lang, words);
        }
        for (lang, words) in languages::COMMON {
            self.flag(words, Flag::Common);
            for word in words.split_whitespace() {
                self.entry(word).votes |= if *lang == ALL { 0 } else { *lang };
            }
        }
        // These read as German, but are everyday English.
        for word in "die man hat war den bin art not no".split(' ') {
            self.entry(word).votes |= EN;
        }
        self.flag(english::COMMON, Flag::Common);
        self.flag(english::VERBS, Flag::Common);
        self.flag(english::FORMS, Flag::Common);
        self.flag(english::ALSO_NAMES, Flag::AlsoName);
        self.flag(english::SUBJECT, Flag::Subject);
        self.flag(english::AUX, Flag::Aux);
        self.flag(english::LIGHT, Flag::Light);
        self.verbs();
        self.flag(languages::VERBS, Flag::Verb);
        self.flag(languages::GERMAN_ARTICLES, Flag::Article);
        self.flag(languages::GERMAN_NOUNS, Flag::Noun);
        self.flag(languages::GERMAN_MEASURES, Flag::Measure);
    }

    fn function(&mut self, lang: Langs, words: &str) {
        for word in words.split_whitespace() {
            let entry = self.entry(word);
            entry.votes |= lang;
            entry.functions |= lang;
        }
    }

    /// The third person of every English verb shows a clause of its own.
    fn verbs(&mut self) {
        for verb in english::VERBS.split_whitespace() {
            let third = if verb.ends_with(['s', 'x', 'z', 'o'])
                || verb.ends_with("ch")
                || verb.ends_with("sh")
            {
                format!("{verb}es")
            } else if verb.ends_with('y')
                && !verb.ends_with(['a', 'e', 'o'])
                && !verb.ends_with("ay")
                && !verb.ends_with("oy")
                && !verb.ends_with("ey")
                && !verb.ends_with("uy")
            {
                format!("{}ies", verb.trim_end_matches('y'))
            } else {
                format!("{verb}s")
            };
            self.entry(&third).flags |= Flag::Verb as u32 | Flag::Common as u32;
        }
        for form in english::FORMS.split_whitespace() {
            self.entry(form).flags |= Flag::Verb as u32;
        }
    }

    /// Where no spaces divide words, the first character tells how far to look.
    fn reaches(&mut self) {
        let unspaced: Vec<(char, usize)> = self
            .0
            .words()
            .filter_map(|w| Some((w.chars().next()?, w.chars().count())))
            .filter(|(first, _)| *first >= '\u{2e80}')
            .collect();
        for (first, length) in unspaced {
            let entry = self.entry(first.encode_utf8(&mut [0; 4]));
            entry.reach = entry.reach.max(length.min(255) as u8);
        }
    }

    /// What the readers ask of every word, in one flag each.
    fn summaries(&mut self) {
        for entry in self.0.values_mut() {
            if entry.begins_amount() {
                entry.flags |= Flag::Amount as u32;
            }
            if entry.concerns_negation() {
                entry.flags |= Flag::Negation as u32;
            }
        }
    }

    fn names(&mut self) {
        self.flag(names::GIVEN, Flag::Given);
        self.flag(names::CASELESS, Flag::Given);
        self.flag(names::HAN_NAMES, Flag::Given);
        self.flag(names::TITLES, Flag::Title);
        self.flag(names::CASELESS_TITLES, Flag::CaselessTitle);
        self.flag(names::ABBREVIATIONS, Flag::Abbreviation);
        self.flag(names::STREETS, Flag::Street);
        self.flag(names::ROLES, Flag::Role);
        self.flag(names::HAN_ORDINARY, Flag::Common);
        self.flag(names::KATAKANA, Flag::Common);
    }

    fn numbers(&mut self) {
        self.valued(numbers::CARDINALS, 0);
        self.valued(numbers::ORDINALS, Flag::Ordinal as u32);
        self.valued(numbers::MULTIPLES, Flag::Multiple as u32);
        self.valued(&[(ALL, numbers::CARRIERS)], Flag::Carrier as u32);
        self.flag(numbers::ONES, Flag::One);
        self.flag(numbers::TRIGGERS, Flag::Trigger);
        for (langs, words) in numbers::SCALES {
            for (word, power) in Self::pairs(words) {
                let entry = self.entry(word);
                entry.scale = power as u8;
                entry.scale_langs |= langs;
            }
        }
        for (index, row) in numbers::UNITS.iter().enumerate() {
            for name in row.names.split_whitespace() {
                self.entry(name).unit = index as u8 + 1;
            }
        }
    }

    fn valued(&mut self, rows: &[(Langs, &str)], flag: u32) {
        for (langs, words) in rows {
            for (word, value) in Self::pairs(words) {
                let entry = self.entry(word);
                // A cardinal in one language wins over an ordinal or a carrier in another.
                if entry.number_langs != 0 && flag != 0 && entry.number != value {
                    continue;
                }
                entry.number = value;
                entry.number_langs |= langs;
                entry.flags |= flag;
            }
        }
    }

    fn calendar(&mut self) {
        for (phrase, _) in calendar::PHRASES {
            if let Some(head) = phrase.split(' ').next() {
                self.flag(head, Flag::PhraseHead);
            }
        }
        for (n, names) in (1..).zip(calendar::MONTHS) {
            for name in names.split_whitespace() {
                self.month(name, n, ALL);
            }
        }
        for (langs, name, n) in calendar::MONTHS_BY_LANGUAGE {
            self.month(name, *n, *langs);
        }
        for (n, names) in (1..).zip(calendar::WEEKDAYS) {
            for name in names.split_whitespace() {
                self.weekday(name, n, ALL);
            }
        }
        for (langs, name, n) in calendar::WEEKDAYS_BY_LANGUAGE {
            self.weekday(name, *n, *langs);
        }
        for (index, (_, langs, names)) in (1..).zip(calendar::NAMED_DAYS) {
            for name in names.split_whitespace() {
                let entry = self.entry(name);
                entry.day = index;
                entry.day_langs |= langs;
            }
        }
        for (index, (_, langs, names)) in (1..).zip(calendar::NAMED_TIMES) {
            for name in names.split_whitespace() {
                let entry = self.entry(name);
                entry.time = index;
                entry.time_langs |= langs;
            }
        }
        for (index, (_, names)) in (1..).zip(calendar::RELATIVES) {
            for name in names.split_whitespace() {
                self.entry(name).relative = index;
            }
        }
        for (index, (_, names)) in (1..).zip(calendar::SPANS) {
            for name in names.split_whitespace() {
                self.entry(name).span = index;
            }
        }
    }

    fn month(&mut self, name: &str, month: u8, langs: Langs) {
        let entry = self.entry(name);
        entry.month = month;
        entry.month_langs |= langs;
    }

    fn weekday(&mut self, name: &str, weekday: u8, langs: Langs) {
        let entry = self.entry(name);
        entry.weekday = weekday;
        entry.weekday_langs |= langs;
    }

    fn negations(&mut self) {
        for (langs, words) in negation::STRONG {
            for word in words.split_whitespace() {
                let entry = self.entry(word);
                entry.negates |= langs;
                entry.votes |= if *langs == ALL { 0 } else { *langs };
            }
        }
        self.flag(negation::DENYING, Flag::Denying);
        self.flag(negation::DENYING, Flag::Weak);
        self.flag(negation::WEAK, Flag::Weak);
        for (langs, words) in negation::CONTRAST {
            for word in words.split_whitespace() {
                self.entry(word).contrasts |= langs;
            }
        }
        for (langs, words) in negation::JOINS {
            for word in words.split_whitespace() {
                self.entry(word).joins |= langs;
            }
        }
        for phrase in negation::IDLE {
            if let Some(head) = phrase.split(' ').next() {
                self.entry(head).flags |= Flag::IdleHead as u32;
            }
        }
    }
}
