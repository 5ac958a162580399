//! The check that a summary adds nothing that its sources lack (SPEC 3.9 a).
//!
//! Owns what is checked in a summary and when a source supports it. It never compares meaning: what no rule names
//! passes. The modules of these names find numbers, quotations, names and dates.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use crate::dates::{self, KnownDate, Mention};
use crate::language::Language;
use crate::lexicon::{self, ByHash, Languages};
use crate::names::{NameWords, names};
use crate::numbers::{self, Figure, figures};
use crate::quotes::{has_quotation, quotable, quotations};
use crate::reading::{Reading, Tongues};
use crate::relative::relative_times;

/// One of the texts that a summary replaces.
#[derive(Clone, Copy)]
pub struct SummarySource<'a> {
    /// The text, whole.
    pub text: &'a str,
    /// Its origin date: year, month from 1, day from 1.
    pub date: (i32, u8, u8),
}

/// What a summary may have beside what its sources support.
#[derive(Clone, Copy, Default)]
pub struct Allowed<'a> {
    /// The agent's name.
    pub name: &'a str,
    /// The agent's system prompt, whose words with a capital may be names; empty where it has none.
    pub system_prompt: &'a str,
    /// In an update the original, whose own words of relative time may stay.
    pub relative_time_of: Option<&'a str>,
}

/// The numbers, signs, quotations, negations, names and words of relative time of `summary` that no source supports,
/// each once, in the order of the text and as they stand in it. None: the summary is supported (SPEC 3.9 a).
pub fn unsupported(
    summary: &str,
    sources: &[SummarySource<'_>],
    allowed: &Allowed<'_>,
) -> Vec<String> {
    let known = Sources::of(summary, sources);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut outside = summary.to_owned();
    for quotation in quotations(summary) {
        let words = quotable(&summary[quotation.inner.clone()]);
        let mut quotable = known.quotable.iter();
        // A part of a number is another number: "300" in "1,300".
        let figures = figures(&words, is_spaced(known.tongues));
        if !quotable.any(|text| has_quotation(text, &words))
            || !figures.iter().all(|figure| known.has_figure(figure))
        {
            found.push(quotation.whole.clone());
        }
        // What is quoted is not checked further. A word takes its place, and an end of a sentence where it has one.
        let ends = summary[quotation.inner.clone()]
            .trim_end()
            .ends_with(['.', '!', '?', '…']);
        let length = quotation.whole.len();
        let word = if length > 4 { " xx" } else { " x" };
        let end = if ends { ". " } else { " " };
        let width = length - word.len();
        outside.replace_range(quotation.whole, &format!("{word}{end:>width$}"));
    }
    let reading = Reading::of(&outside);
    found.extend(known.unsupported_figures(&reading));
    let signs = numbers::signs(&outside).into_iter();
    found.extend(
        signs
            .filter(|(_, sign)| !known.signs.contains(sign))
            .map(|(place, _)| place),
    );
    if !known.has_negation {
        found.extend(negations(&reading, known.tongues));
    }
    found.extend(known.unsupported_names(&reading, allowed));
    found.extend(refused_times(
        &reading,
        known.tongues,
        allowed.relative_time_of,
    ));

    found.sort_unstable_by_key(|place| (place.start, place.end));
    let mut seen = HashSet::new();
    let of = |place: Range<usize>| summary.get(place.clone()).unwrap_or(&outside[place]);
    let texts = found.into_iter().map(|place| of(place).to_owned());
    texts.filter(|text| seen.insert(text.clone())).collect()
}

/// The facts of a summary's sources, and the languages that it is read in.
struct Sources {
    tongues: Tongues,
    quotable: Vec<String>,
    values: HashSet<String>,
    /// Of each source the values of all runs of digits, in their order.
    runs: Vec<Vec<String>>,
    /// The same of figures of several runs, each by itself.
    joined: Vec<Vec<String>>,
    /// The origin dates, and the dates that the texts mention.
    dates: Vec<KnownDate>,
    signs: HashSet<char>,
    words: NameWords,
    has_negation: bool,
}

impl Sources {
    fn of(summary: &str, sources: &[SummarySource<'_>]) -> Self {
        let texts = sources.iter().map(|source| source.text);
        let together: Vec<_> = texts.clone().chain([summary]).collect();
        let together = together.join("\n");
        let together = Reading::of(&together);
        let mut known = Sources {
            tongues: Tongues::of(&Reading::of(summary), Some(&together)),
            quotable: texts.map(quotable).collect(),
            values: HashSet::new(),
            runs: Vec::new(),
            joined: Vec::new(),
            dates: Vec::new(),
            signs: HashSet::new(),
            words: NameWords::default(),
            has_negation: false,
        };
        for source in sources {
            let (year, month, day) = source.date;
            known.dates.push(KnownDate {
                year: year.try_into().ok(),
                month: Some(month.into()),
                day: Some(day.into()),
            });
            let reading = Reading::of(source.text);
            let tongues = Tongues::of(&reading, Some(&together));
            known.take_figures(&reading, tongues);
            known.signs.extend(
                numbers::signs(source.text)
                    .into_iter()
                    .map(|(_, sign)| sign),
            );
            known.words.add(&reading);
            known.has_negation |= !negations(&reading, tongues).is_empty()
                || !negations(&reading, known.tongues).is_empty();
        }
        // Sources may name one day many times, and each date of the summary is compared with all.
        known.dates.sort_unstable();
        known.dates.dedup();
        known
    }

    fn take_figures(&mut self, reading: &Reading<'_>, tongues: Tongues) {
        let figures = figures(reading.text, is_spaced(tongues));
        let languages = tongues.sure | tongues.unsure | self.tongues.sure;
        let mentions = dates::mentions(reading, &figures, languages);
        self.dates.extend(mentions.iter().flat_map(Mention::dates));
        let mut runs = Vec::new();
        for figure in &figures {
            self.dates
                .extend(dates::numeric(figure, next(reading.text, figure)));
            let own: Vec<String> = figure.runs.iter().map(|run| run.value.clone()).collect();
            self.values.extend(figure.values.iter().cloned());
            if figure.is_loose || figure.values.is_empty() {
                self.values.extend(own.iter().cloned());
            }
            runs.extend(own.iter().cloned());
            self.joined.push(own);
        }
        self.runs.push(runs);
    }

    fn stands(&self, number: u16) -> bool {
        self.values.contains(&number.to_string())
    }

    fn unsupported_figures(&self, reading: &Reading<'_>) -> Vec<Range<usize>> {
        let figures = figures(reading.text, is_spaced(self.tongues));
        let stands = |number| self.stands(number);
        let languages = self.tongues.sure | self.tongues.unsure;
        let of_months: Vec<usize> = dates::mentions(reading, &figures, languages)
            .iter()
            .flat_map(|mention| mention.supported(&self.dates, &stands).collect::<Vec<_>>())
            .collect();
        let is_of_month = |number, figure: &Figure| {
            of_months.iter().filter(|own| **own == number).count() >= figure.runs.len()
        };
        let is_supported = |(number, figure): (usize, &Figure)| {
            let next = next(reading.text, figure);
            let mut numeric = dates::numeric(figure, next).into_iter();
            self.has_figure(figure)
                || is_of_month(number, figure)
                || numeric.any(|date| dates::is_known(date, &self.dates, stands))
                || self.is_year(reading, figure)
        };
        let lacking = figures.iter().enumerate();
        let lacking = lacking.filter(|figure| !is_supported(*figure));
        lacking.map(|(_, figure)| figure.place.clone()).collect()
    }

    /// Whether a source has the figure: by its value, run by run, or as several numbers.
    fn has_figure(&self, figure: &Figure) -> bool {
        let runs: Vec<&str> = figure.runs.iter().map(|run| run.value.as_str()).collect();
        let in_turn = |of: &Vec<Vec<String>>| {
            let mut of = of.iter();
            of.any(|own| own.windows(runs.len()).any(|window| window == runs))
        };
        let has = |value: &str| self.values.contains(value);
        let values = &figure.values;
        let mut marks = figure.marks.iter();
        let is_decimal = marks.all(|mark| matches!(mark, '.' | ',' | '٫'));
        match (values.as_slice(), runs.as_slice()) {
            ([value], _) if runs.len() == 1 || !figure.is_loose => {
                // "7.30" is a time as well.
                has(value) || is_decimal && value.contains('.') && in_turn(&self.joined)
            }
            // "7:00" is "7".
            ([hour, minutes], _) if figure.marks == [':'] && minutes == "0" && has(hour) => true,
            _ => {
                in_turn(&self.runs)
                    || figure.is_loose
                        && (!values.is_empty() && values.iter().all(|value| has(value))
                            || runs.iter().all(|run| has(run)))
            }
        }
    }

    /// Whether a number of four digits is the year of an origin date and stands as a year: "in 2026".
    fn is_year(&self, reading: &Reading<'_>, figure: &Figure) -> bool {
        let [run] = figure.runs.as_slice() else {
            return false;
        };
        let is_known = self.dates.iter().any(|date| date.year == run.small());
        let Some(at) = reading
            .tokens
            .iter()
            .position(|token| token.start as usize == figure.place.start)
        else {
            return false;
        };
        let is_of_year = |at: usize| reading.is(at, &YEARS, self.tongues.sure);
        let stands_alone = reading.tokens.get(at + 1).is_none_or(|token| {
            let gap = reading.text.get(figure.place.end..token.start as usize);
            gap.unwrap_or("").trim() != ""
                || token.capital
                || token.entry.is_some_and(|entry| entry.evidence != 0)
        });
        let is_in_brackets = reading.text[..figure.place.start].ends_with('(')
            && reading.text[figure.place.end..].starts_with(')');
        run.digits == 4
            && is_known
            && (is_of_year(at + 1)
                || is_in_brackets
                || at > 0 && is_of_year(at - 1) && stands_alone)
    }

    fn unsupported_names(&self, reading: &Reading<'_>, allowed: &Allowed<'_>) -> Vec<Range<usize>> {
        let language = self.tongues.language;
        // Unknown languages are read as most that are written with capitals.
        if language.is_some_and(|language| !language.table().marks_names) {
            return Vec::new();
        }
        let mut others = NameWords::default();
        others.add(&Reading::of(allowed.name));
        others.add_capitalised(&Reading::of(allowed.system_prompt));
        let lacking = names(reading, language).filter(|(at, place)| {
            let name = &reading.text[place.clone()];
            !self.words.has(name, language)
                && !others.has(name, language)
                && !dates::is_named(reading, *at, &self.dates, self.tongues.sure)
                && !reading.is(*at, &NEGATIONS, self.tongues.sure)
        });
        lacking.map(|(_, place)| place).collect()
    }
}

/// The text right behind a figure.
fn next(text: &str, figure: &Figure) -> Option<char> {
    text[figure.place.end..].chars().next()
}

/// Whether a space parts thousands in the language.
fn is_spaced(tongues: Tongues) -> bool {
    use Language::{Arabic, Chinese, English, Japanese, Korean};
    !matches!(
        tongues.language,
        None | Some(English | Chinese | Japanese | Korean | Arabic)
    )
}

/// The unsupported words of relative time.
fn refused_times(
    reading: &Reading<'_>,
    tongues: Tongues,
    original: Option<&str>,
) -> Vec<Range<usize>> {
    let mut times = relative_times(reading, tongues);
    if let Some(original) = original {
        let original = Reading::of(original);
        let fold = |text: &str| quotable(text).to_lowercase();
        let own: HashSet<String> = relative_times(&original, tongues)
            .into_iter()
            .chain(relative_times(&original, Tongues::of(&original, None)))
            .map(|place| fold(&original.text[place]))
            .collect();
        times.retain(|place| !own.contains(&fold(&reading.text[place.clone()])));
    }
    times
}

static NEGATIONS: LazyLock<ByHash<Languages>> =
    LazyLock::new(|| lexicon::listed(|table| table.negations));

static YEARS: LazyLock<ByHash<Languages>> = LazyLock::new(|| lexicon::listed(|table| table.years));

/// The places of the negations of a text.
fn negations(reading: &Reading<'_>, tongues: Tongues) -> Vec<Range<usize>> {
    let mut places = reading.parts(
        tongues,
        |table| table.negation_parts,
        |table| table.not_negations,
    );
    let is_negation = |&at: &usize| {
        let word = reading.text_of(at);
        let is_listed = reading.is(at, &NEGATIONS, tongues.sure)
            || reading.is_distinct(at) && reading.is(at, &NEGATIONS, tongues.unsure);
        // "No. 5" is a number.
        let rest = &reading.text[reading.place(at).end..];
        let counts = word.eq_ignore_ascii_case("no")
            && rest
                .strip_prefix('.')
                .is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_numeric()));
        is_listed && !counts || tongues.language == Some(Language::Turkish) && is_negated(word)
    };
    places.extend(
        (0..reading.tokens.len())
            .filter(is_negation)
            .map(|at| reading.place(at)),
    );
    places
}

/// Whether a Turkish verb has a part that negates it.
fn is_negated(word: &str) -> bool {
    let (word, table) = (word.to_lowercase(), Language::Turkish.table());
    let stem = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
    let mut parts = table.negation_parts.split(' ');
    parts.any(|part| word[stem..].contains(part))
        || word.ends_with("maz") && word != "namaz"
        || word.ends_with("mez") && word != "pekmez"
}
