//! The dates that a text mentions and the origin dates of texts.
//!
//! Owns which figures mean a day, a month or a year, and whether a known date has them.

use std::sync::LazyLock;

use crate::language::Language;
use crate::lexicon::{self, ByHash, Languages};
use crate::numbers::{Figure, Run};
use crate::reading::Reading;
use crate::scan::TokenKind;

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KnownDate {
    /// Below 100 where it is written with two digits.
    pub(crate) year: Option<u16>,
    pub(crate) month: Option<u16>,
    pub(crate) day: Option<u16>,
}

impl KnownDate {
    /// The parts that are known, each in its place.
    fn parts(self) -> [Option<u16>; 3] {
        [self.year.map(|year| year % 100), self.month, self.day]
    }

    fn has_year(self, year: u16) -> bool {
        self.year
            .is_some_and(|own| own == year || (own < 100 || year < 100) && own % 100 == year % 100)
    }

    /// The day of the week, from 0 for Monday on.
    fn weekday(self) -> Option<u16> {
        let (year, month, day) = (
            i64::from(self.year?),
            i64::from(self.month?),
            i64::from(self.day?),
        );
        // Sakamoto's method: the days before each month, with January and February in the year before.
        let before = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4].get(usize::try_from(month - 1).ok()?)?;
        let year = if month < 3 { year - 1 } else { year };
        let since_sunday = year + year / 4 - year / 100 + year / 400 + before + day;
        u16::try_from((since_sunday + 6).rem_euclid(7)).ok()
    }
}

/// A month by its name, and the figures beside it.
pub(crate) struct Mention {
    month: u16,
    /// Figures that may be days, each with its runs.
    days: Vec<(usize, u16)>,
    years: Vec<(usize, u16)>,
}

/// The months that a text names, and the figures beside them.
pub(crate) fn mentions(
    reading: &Reading<'_>,
    figures: &[Figure],
    languages: Languages,
) -> Vec<Mention> {
    let months =
        (0..reading.tokens.len()).filter_map(|at| Some((at, month(reading, at, languages)?)));
    let mentions = months.map(|(at, month)| {
        let mut mention = Mention {
            month,
            days: Vec::new(),
            years: Vec::new(),
        };
        let tokens = &reading.tokens;
        for at in (at.saturating_sub(3)..at).rev() {
            // "3. März": the stop of an ordinal ends no sentence.
            let is_apart = tokens[at + 1].begins && tokens[at].kind != TokenKind::Number;
            if is_apart || !mention.takes(reading, figures, at) {
                break;
            }
        }
        for at in (at + 1..tokens.len()).take(4) {
            if tokens[at].begins || !mention.takes(reading, figures, at) {
                break;
            }
        }
        mention
    });
    mentions.collect()
}

impl Mention {
    /// Takes the figure at a token in; `false` where what stands there parts it from the month.
    fn takes(&mut self, reading: &Reading<'_>, figures: &[Figure], at: usize) -> bool {
        let token = &reading.tokens[at];
        let place = token.place();
        let first = figures.partition_point(|figure| figure.place.end <= place.start);
        let mut found = false;
        for (number, figure) in figures.iter().enumerate().skip(first) {
            if figure.place.start >= place.end {
                break;
            }
            // A decimal or a time is no part of a date, a range of days is.
            let is_range = |mark: &char| matches!(mark, '-' | '–' | '/');
            if !figure.marks.iter().all(is_range) {
                continue;
            }
            let before = &reading.text[..figure.place.start];
            for run in &figure.runs {
                match (run.digits, run.small()) {
                    (4, Some(year)) => self.years.push((number, year)),
                    // "March '26"
                    (2, Some(year)) if before.ends_with(['\'', '’']) => {
                        self.years.push((number, year))
                    }
                    (1 | 2, Some(day @ 1..=31)) => self.days.push((number, day)),
                    _ => continue,
                }
                found = true;
            }
        }
        // "the 14th of March": words that join.
        found || token.entry.is_some_and(|entry| entry.evidence != 0) || token.end - token.start < 3
    }

    /// The dates that it may mean.
    pub(crate) fn dates(&self) -> impl Iterator<Item = KnownDate> {
        let some = |values: &[(usize, u16)]| {
            let mut some: Vec<Option<u16>> = values.iter().map(|(_, value)| Some(*value)).collect();
            some.push(None);
            some
        };
        let (years, days) = (some(&self.years), some(&self.days));
        let month = Some(self.month);
        years.into_iter().flat_map(move |year| {
            let days = days.clone().into_iter();
            days.map(move |day| KnownDate { year, month, day })
        })
    }

    /// The figures of it, once for each run that known dates have in this month. `stands`: whether a source has a
    /// year by itself.
    pub(crate) fn supported<'m>(
        &'m self,
        known: &'m [KnownDate],
        stands: &'m impl Fn(u16) -> bool,
    ) -> impl Iterator<Item = usize> + 'm {
        let of_month = move || known.iter().filter(|date| date.month == Some(self.month));
        let has_year = move |year: u16| of_month().any(|date| date.has_year(year));
        let years = self.years.iter().filter(move |(_, year)| has_year(*year));
        let is_day = move |date: &KnownDate, day| {
            let mut years = self.years.iter();
            let is_of_year = self.years.is_empty()
                || date.year.is_none()
                || years.any(|(_, year)| date.has_year(*year) || stands(*year));
            date.day == Some(day) && is_of_year
        };
        let days = self.days.iter();
        let days = days.filter(move |(_, day)| of_month().any(|date| is_day(date, *day)));
        years.chain(days).map(|(figure, _)| *figure)
    }
}

/// The dates that a figure may mean by itself: "2026-03-14", "14.3.2026", "3/2026". `next`: what follows it.
pub(crate) fn numeric(figure: &Figure, next: Option<char>) -> Vec<KnownDate> {
    let date = |year: Option<&Run>, month: Option<&Run>, day: Option<&Run>| {
        let part = |run: Option<&Run>| run.map(|run| run.small().unwrap_or(u16::MAX));
        KnownDate {
            year: part(year),
            month: part(month),
            day: part(day),
        }
    };
    let of = |mark: char| figure.marks.iter().all(|own| *own == mark);
    let mut dates = match figure.runs.as_slice() {
        [only] => match next {
            Some('年' | '년') => vec![date(Some(only), None, None)],
            Some('月' | '월') => vec![date(None, Some(only), None)],
            Some('日' | '号' | '號' | '일') => vec![date(None, None, Some(only))],
            _ => vec![],
        },
        _ if !(of('-') || of('/') || of('.')) => vec![],
        [year, month, day] if year.digits == 4 => vec![date(Some(year), Some(month), Some(day))],
        [one, other, year] if matches!(year.digits, 2 | 4) => vec![
            date(Some(year), Some(one), Some(other)),
            date(Some(year), Some(other), Some(one)),
        ],
        [year, month] if year.digits == 4 => vec![date(Some(year), Some(month), None)],
        [month, year] if year.digits == 4 => vec![date(Some(year), Some(month), None)],
        [one, other] if of('/') || of('.') && next == Some('.') => vec![
            date(None, Some(one), Some(other)),
            date(None, Some(other), Some(one)),
        ],
        _ => vec![],
    };
    let fits = |part: Option<u16>, last: u16| part.is_none_or(|part| (1..=last).contains(&part));
    dates.retain(|date| fits(date.month, 12) && fits(date.day, 31));
    dates
}

/// Whether one of the known dates has most of a date, and the rest stands elsewhere.
pub(crate) fn is_known(date: KnownDate, known: &[KnownDate], stands: impl Fn(u16) -> bool) -> bool {
    let parts = date.parts();
    let least = parts.iter().flatten().count().min(2);
    known.iter().any(|known| {
        let own = known.parts();
        let equal: [bool; 3] =
            std::array::from_fn(|at| parts[at].is_some() && parts[at] == own[at]);
        let full_year = date
            .year
            .is_none_or(|year| known.has_year(year) || stands(year));
        let mut rest = parts.iter().zip(&equal).filter(|(_, is_equal)| !**is_equal);
        let stands = rest.all(|(part, _)| part.is_none_or(&stands));
        full_year && equal.iter().filter(|is_equal| **is_equal).count() >= least && stands
    })
}

/// The month whose name stands at a word, in these languages.
pub(crate) fn month(reading: &Reading<'_>, at: usize, languages: Languages) -> Option<u16> {
    named(&NAMES.0, reading, at, languages)
}

/// Whether the word at `at` names a month or a day of the week of a known date.
pub(crate) fn is_named(
    reading: &Reading<'_>,
    at: usize,
    known: &[KnownDate],
    languages: Languages,
) -> bool {
    let of = |names| named(names, reading, at, languages);
    let (month, weekday) = (of(&NAMES.0), of(&NAMES.1));
    known.iter().any(|date| {
        month.is_some() && date.month == month || weekday.is_some() && date.weekday() == weekday
    })
}

/// Of each name the languages that it is one in, and the number of what it names.
type Names = ByHash<Vec<(Languages, u16)>>;

fn named(names: &Names, reading: &Reading<'_>, at: usize, languages: Languages) -> Option<u16> {
    let named = reading.forms[at].iter();
    let mut named = named.filter_map(|form| names.get(form)).flatten();
    named
        .find(|(of, _)| of & languages != 0)
        .map(|(_, number)| *number)
}

/// The names of months, from 1 on, and of days of the week, from 0 on.
static NAMES: LazyLock<(Names, Names)> = LazyLock::new(|| {
    let (mut months, mut weekdays) = (Names::default(), Names::default());
    for language in Language::ALL {
        let table = language.table();
        for (row, from, names) in [
            (table.months, 1, &mut months),
            (table.weekdays, 0, &mut weekdays),
        ] {
            for (forms, number) in row.split_ascii_whitespace().zip(from..) {
                for form in forms.split('/') {
                    let names = names.entry(lexicon::hash_of(form)).or_default();
                    names.push((language.bit(), number));
                }
            }
        }
    }
    (months, weekdays)
});
