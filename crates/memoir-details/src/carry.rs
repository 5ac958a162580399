//! Whether a text carries a detail.
//!
//! Owns every way in which a text can say the same beyond an equal key: inflected names, more
//! precise dates and amounts, verbatim passages without their marks, negations in other words.

use std::collections::{HashMap, HashSet};

use crate::dates::{covers, weekday_of};
use crate::fold::stem;
use crate::lexicon::ALL;
use crate::negations::Negated;
use crate::reading::{Amount, Date, Facts, Reading};
use crate::tokens::{Case, Kind};
use crate::{Detail, DetailKind};

/// A text prepared for being asked what it carries.
pub(crate) struct View<'t> {
    reading: Reading<'t>,
    keys: HashSet<String>,
    amounts: Vec<Amount>,
    dates: Vec<Date>,
    times: Vec<(u16, bool)>,
    words: HashSet<String>,
    stems: HashSet<String>,
    /// All words in order between single spaces, for passages.
    running: String,
    /// The same words, for identifiers divided in another way.
    pieces: Vec<String>,
    /// The words by their first three characters, for inflected names.
    families: HashMap<String, Vec<String>>,
    /// Which negations reach over a stem, and which over a word in a list.
    denied: HashMap<String, Vec<usize>>,
    /// All words without any space, for identifiers and for scripts without spaces.
    solid: String,
}

impl<'t> View<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        let reading = Reading::of(text);
        let keys = reading.found.iter().map(|f| f.detail.key.clone()).collect();
        let mut view = View {
            keys,
            amounts: reading.implied.clone(),
            dates: Vec::new(),
            times: Vec::new(),
            words: HashSet::new(),
            stems: HashSet::new(),
            running: String::from(" "),
            pieces: Vec::new(),
            families: HashMap::new(),
            denied: HashMap::new(),
            solid: String::new(),
            reading,
        };
        view.collect_facts();
        view.collect_words();
        view.collect_denied();
        view
    }

    fn collect_facts(&mut self) {
        for finding in &self.reading.found {
            match &finding.detail.facts {
                Facts::Number(amount) => self.amounts.push(amount.clone()),
                Facts::Date(date) => self.dates.push(*date),
                Facts::Time { minutes, loose } => self.times.push((*minutes, *loose)),
                _ => {}
            }
        }
    }

    fn collect_words(&mut self) {
        for token in &self.reading.doc.tokens {
            if token.kind == Kind::Symbol {
                continue;
            }
            self.running.push_str(&token.fold);
            self.running.push(' ');
            self.solid.push_str(&token.fold);
            if token.kind == Kind::Word
                && token.case == Case::Upper
                && token.fold.chars().count() <= 2
            {
                self.words.insert(format!("{}^", token.fold));
            }
            self.pieces.push(token.fold.clone().into_owned());
            self.stems.insert(stem(&token.fold).to_owned());
            if self.words.insert(token.fold.clone().into_owned()) && token.kind == Kind::Word {
                let family = self.families.entry(family(&token.fold)).or_default();
                family.push(token.fold.clone().into_owned());
            }
        }
    }

    fn collect_denied(&mut self) {
        for (index, negated) in self.reading.negated.iter().enumerate() {
            for word in negated.scope.iter().chain(&negated.listed) {
                let indices = self.denied.entry(word.clone()).or_default();
                if indices.last() != Some(&index) {
                    indices.push(index);
                }
            }
        }
    }

    /// Whether the text carries `detail`.
    pub(crate) fn carries(&self, detail: &Detail) -> bool {
        if self.keys.contains(&detail.key) {
            return true;
        }
        match &detail.facts {
            Facts::Number(amount) => self.carries_amount(amount),
            Facts::Date(date) => self.carries_date(*date),
            Facts::Time { minutes, loose } => self.carries_time(*minutes, *loose),
            Facts::Name => self.carries_name(&detail.key),
            Facts::Quote => self.running.contains(&format!(" {} ", detail.key)),
            Facts::Negation(negated) => self.carries_negation(negated),
            Facts::Plain => self.carries_plain(detail),
        }
    }

    fn carries_amount(&self, wanted: &Amount) -> bool {
        let same = |a: &Amount| {
            (a.value == wanted.value || wanted.unit.is_empty() && a.raw == wanted.value)
                && (wanted.unit.is_empty() || a.unit == wanted.unit || related(a.unit, wanted.unit))
        };
        self.amounts.iter().any(same) || wanted.unit.is_empty() && self.says_number(&wanted.value)
    }

    /// A bare number may have become an hour, a day of a date or a part of an identifier's name.
    fn says_number(&self, value: &str) -> bool {
        let Ok(number) = value.parse::<u16>() else {
            return false;
        };
        let hour = |(minutes, loose): &(u16, bool)| {
            minutes % 60 == 0 && (minutes / 60 == number || *loose && minutes / 60 + 12 == number)
        };
        let day = |d: &Date| d.day.is_some_and(|day| u16::from(day) == number) && number > 12;
        self.times.iter().any(hour) || self.dates.iter().any(day)
    }

    fn carries_date(&self, wanted: Date) -> bool {
        if self.dates.iter().any(|d| covers(*d, wanted)) {
            return true;
        }
        let Some(year) = wanted.year else {
            return false;
        };
        let year_said = self.amounts.iter().any(|a| a.value == year.to_string());
        let rest = Date {
            year: None,
            ..wanted
        };
        year_said
            && (wanted.month.is_none()
                || self
                    .dates
                    .iter()
                    .any(|d| d.year.is_none() && covers(*d, rest)))
    }

    fn carries_time(&self, wanted: u16, wanted_loose: bool) -> bool {
        self.times.iter().any(|(minutes, loose)| {
            *minutes == wanted
                || wanted_loose && *minutes == (wanted + 720) % 1440
                || *loose && wanted_loose && minutes % 720 == wanted % 720
        }) || wanted_loose
            && wanted.is_multiple_of(60)
            && self
                .amounts
                .iter()
                .any(|a| a.unit.is_empty() && a.value == (wanted / 60).to_string())
    }

    fn carries_name(&self, key: &str) -> bool {
        if self.words.contains(key) {
            return true;
        }
        if key.ends_with('^') {
            return false;
        }
        if is_unspaced(key) {
            return self.solid.contains(key);
        }
        let ended = |ending: &str| self.words.contains(&format!("{key}{ending}"));
        if ended("s")
            || ended("es")
            || key
                .strip_suffix('s')
                .is_some_and(|bare| bare.len() > 2 && self.words.contains(bare))
        {
            return true;
        }
        let inflected = |words: &Vec<String>| words.iter().any(|w| is_form_of(w, key));
        if key.chars().count() > 3 && self.families.get(&family(key)).is_some_and(inflected) {
            return true;
        }
        key.ends_with("str")
            && self
                .reading
                .doc
                .tokens
                .iter()
                .any(|t| crate::names::key(t) == key)
    }

    fn carries_plain(&self, detail: &Detail) -> bool {
        match detail.kind {
            DetailKind::Handle => {
                let bare = detail.key.trim_start_matches('@');
                self.words.contains(bare) || bare.len() >= 3 && self.solid_at_boundary(bare)
            }
            DetailKind::Number => self.solid_at_boundary(&detail.key),
            DetailKind::Address => {
                let text = self.reading.doc.text.to_lowercase();
                text.contains(detail.key.as_str())
            }
            DetailKind::Date => self.carries_day(&detail.key),
            _ => detail.key.len() > 2 && self.words.contains(&detail.key),
        }
    }

    /// A weekday is said by a full date on it, `summer` by `last summer`.
    fn carries_day(&self, key: &str) -> bool {
        const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let dated = DAYS
            .iter()
            .position(|d| key == *d || key.ends_with(d) && key.contains(' '))
            .is_some_and(|n| {
                self.dates
                    .iter()
                    .any(|d| weekday_of(*d) == Some(n as u8 + 1))
            });
        dated
            || self.keys.iter().any(|k| {
                k.strip_suffix(key)
                    .is_some_and(|r| r == "last " || r == "next ")
            })
    }

    /// Whether the words run together hold `part` without cutting a number or a word in two.
    fn solid_at_boundary(&self, part: &str) -> bool {
        let pieces = &self.pieces;
        (0..pieces.len()).any(|from| {
            let mut rest = part;
            for piece in &pieces[from..] {
                match rest.strip_prefix(piece.as_str()) {
                    Some("") => return true,
                    Some(after) => rest = after,
                    None => return false,
                }
            }
            false
        })
    }

    fn carries_negation(&self, wanted: &Negated) -> bool {
        let all = &self.reading.negated;
        if wanted.langs != ALL
            && !all.is_empty()
            && all
                .iter()
                .all(|n| n.langs != ALL && n.langs & wanted.langs == 0)
        {
            return all.iter().any(|n| !n.weak);
        }
        if wanted.companions > 0 && all.len() <= wanted.companions {
            return false;
        }
        let denied =
            |head: &String, form: &String| all.iter().any(|n| denies(n, wanted, head, form));
        let listed_lost = wanted.listed.iter().any(|form| {
            let head = stem(form).to_owned();
            self.stems.contains(&head) && !denied(&head, form)
        });
        if listed_lost {
            return false;
        }
        for index in decisive(wanted) {
            let Some((head, form)) = wanted.head.get(index).zip(wanted.forms.get(index)) else {
                continue;
            };
            if denied(head, form) {
                return true;
            }
            if self.stems.contains(head) {
                return false;
            }
        }
        false
    }
}

/// Whether `negated` denies the word, and in a way that `wanted` denies it.
fn denies(negated: &Negated, wanted: &Negated, head: &String, form: &String) -> bool {
    let itself = negated.weak && wanted.head.contains(&negated.own);
    let nearest = wanted.head.first();
    let same_way =
        !wanted.without || negated.without || negated.weak || negated.head.first() == nearest;
    !itself && same_way && (negated.scope.contains(head) || negated.listed.contains(form))
}

/// In which order the negated words decide: the thing before the deed, as deeds are reworded.
fn decisive(wanted: &Negated) -> [usize; 4] {
    if wanted.head.len() == 1 {
        [0, 0, 0, 0]
    } else {
        [1, 2, 0, 3]
    }
}

fn related(a: &str, b: &str) -> bool {
    let degrees = |u: &str| matches!(u, "deg" | "degc" | "degf");
    a != b && (degrees(a) && b == "deg")
}

fn family(word: &str) -> String {
    word.chars().take(3).collect()
}

fn is_unspaced(key: &str) -> bool {
    key.chars().next().is_some_and(|c| matches!(c as u32, 0x0590..=0x06FF | 0x0900..=0x097F | 0x0E00..=0x0E7F | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7A3))
}

/// Whether two words are forms of one name in a language that inflects names.
fn is_form_of(word: &str, key: &str) -> bool {
    let (a, b) = (word.chars().count(), key.chars().count());
    if a.abs_diff(b) > 3 {
        return false;
    }
    let common = word
        .chars()
        .zip(key.chars())
        .take_while(|(x, y)| x == y)
        .count();
    let cyrillic = key.starts_with(|c| ('\u{370}'..='\u{52f}').contains(&c));
    let tail = (a - common).max(b - common);
    if cyrillic {
        common >= 3 && tail <= 3 && a - common + b - common <= 4
    } else {
        common >= 5 && common == a.min(b) && tail <= 2
    }
}
