//! Whether a text carries a detail.
//!
//! Owns every way in which a text can say the same beyond an equal key: inflected names, more
//! precise dates and amounts, verbatim passages without their marks, negations in other words.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::dates::{covers, weekday_of};
use crate::fold::stem;
use crate::lexicon::ALL;
use crate::negations::Negated;
use crate::reading::{Amount, Date, Draft, Facts, Finding};
use crate::short::Short;
use crate::table::Index;
use crate::tokens::{self, Kind};
use crate::{Detail, DetailKind};

/// What one text states, read once: its details, and all that is needed to tell whether it carries
/// the details of another text.
pub struct Reading {
    text: Box<str>,
    details: Vec<Detail>,
    keys: Index,
    /// What later mentions of a detail say beyond its key.
    again: Vec<Facts>,
    /// Amounts the text carries by the way.
    implied: Vec<Amount>,
    negated: Vec<Arc<Negated>>,
    /// Only needed for a detail whose key the text has not.
    words: OnceLock<Words>,
}

impl fmt::Debug for Reading {
    /// Prints counts only, because memory text is never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("bytes", &self.text.len())
            .field("details", &self.details.len())
            .finish_non_exhaustive()
    }
}

/// A word, number or ideograph of a text, folded.
#[derive(Debug)]
struct Piece {
    word: Short,
    is_word: bool,
    /// Whether it is one of the words that have a key of their own, as they are in capitals.
    acronym: bool,
}

/// The words of a text, prepared for being looked up.
#[derive(Debug)]
struct Words {
    pieces: Vec<Piece>,
    known: Index,
    stems: OnceLock<(Vec<Short>, Index)>,
    families: OnceLock<Families>,
    running: OnceLock<String>,
    solid: OnceLock<String>,
}

/// Words by what all forms of a name share: the first of each family, and who is next.
#[derive(Debug)]
struct Families {
    first: Index,
    next: Vec<Option<usize>>,
}

impl Words {
    fn of(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let tokens = tokens::cut(text, &lower);
        let pieces: Vec<Piece> = tokens
            .iter()
            .filter(|t| t.kind != Kind::Symbol)
            .map(|token| Piece {
                word: token.fold.as_ref().into(),
                is_word: token.kind == Kind::Word,
                acronym: token.kind == Kind::Word && crate::names::is_acronym(token),
            })
            .collect();
        let mut known = Index::with_room(pieces.len());
        for (place, piece) in pieces.iter().enumerate() {
            known.insert(piece.word.as_bytes(), place, |n| pieces[n].word.as_bytes());
        }
        Words {
            pieces,
            known,
            stems: OnceLock::new(),
            families: OnceLock::new(),
            running: OnceLock::new(),
            solid: OnceLock::new(),
        }
    }

    fn has(&self, word: &str) -> bool {
        let at = |n: usize| self.pieces[n].word.as_bytes();
        self.known.contains(word.as_bytes(), at)
            || word
                .strip_suffix('^')
                .is_some_and(|bare| self.pieces.iter().any(|p| p.acronym && p.word == *bare))
    }

    fn has_stem(&self, stem: &Short) -> bool {
        let (stems, index) = self.stems.get_or_init(|| {
            let mut stems: Vec<Short> = Vec::with_capacity(self.pieces.len());
            let mut index = Index::with_room(self.pieces.len());
            for piece in &self.pieces {
                let stem = Short::from(crate::fold::stem(&piece.word));
                if index.insert(stem.as_bytes(), stems.len(), |n| stems[n].as_bytes()) {
                    stems.push(stem);
                }
            }
            (stems, index)
        });
        index.contains(stem.as_bytes(), |n| stems[n].as_bytes())
    }

    /// All words in order between single spaces, for passages.
    fn running(&self) -> &str {
        self.running.get_or_init(|| {
            let mut running = String::from(" ");
            for piece in &self.pieces {
                running.push_str(&piece.word);
                running.push(' ');
            }
            running
        })
    }

    /// All words without any space, for scripts without spaces.
    fn solid(&self) -> &str {
        self.solid
            .get_or_init(|| self.pieces.iter().map(|p| p.word.as_str()).collect())
    }

    fn families(&self) -> &Families {
        self.families.get_or_init(|| {
            let key = |n: usize| family(&self.pieces[n].word).as_bytes();
            let mut families = Families {
                first: Index::with_room(self.pieces.len()),
                next: vec![None; self.pieces.len()],
            };
            for place in 0..self.pieces.len() {
                if !families.first.insert(key(place), place, key)
                    && let Some(first) = families.first.find(key(place), key)
                {
                    families.next[place] = families.next[first];
                    families.next[first] = Some(place);
                }
            }
            families
        })
    }

    /// Whether the text has an inflected form of the name.
    fn has_form_of(&self, key: &str) -> bool {
        let families = self.families();
        let word = |n: usize| family(&self.pieces[n].word).as_bytes();
        let first = families.first.find(family(key).as_bytes(), word);
        std::iter::successors(first, |n| families.next[*n])
            .map(|n| &self.pieces[n])
            .any(|p| p.is_word && is_form_of(&p.word, key))
    }

    /// Whether the text has the name of the street in another spelling.
    fn has_street(&self, key: &str) -> bool {
        let mut words = self.pieces.iter().filter(|p| !p.acronym);
        words.any(|p| crate::names::key_of(&p.word) == *key)
    }

    /// Whether words run together are `part`, so that no number and no word is cut in two.
    fn has_divided(&self, part: &str) -> bool {
        (0..self.pieces.len()).any(|from| {
            let mut rest = part.as_bytes();
            for piece in &self.pieces[from..] {
                match rest.strip_prefix(piece.word.as_bytes()) {
                    Some([]) => return true,
                    Some(after) => rest = after,
                    None => return false,
                }
            }
            false
        })
    }
}

impl Reading {
    /// Reads `text`.
    pub fn of(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let draft = Draft::of(text, &lower);
        let mut keys = Index::with_room(draft.found.len());
        let mut details: Vec<Detail> = Vec::with_capacity(draft.found.len());
        let mut again = Vec::new();
        for Finding { detail, .. } in draft.found {
            let key = detail.key.as_bytes();
            if keys.insert(key, details.len(), |n| details[n].key.as_bytes()) {
                details.push(detail);
            } else {
                again.push(detail.facts);
            }
        }
        Reading {
            text: text.into(),
            details,
            keys,
            again,
            implied: draft.implied,
            negated: draft.negated,
            words: OnceLock::new(),
        }
    }

    /// Every detail of the text, in order of appearance, each key once.
    pub fn details(&self) -> &[Detail] {
        &self.details
    }

    pub(crate) fn into_details(self) -> Vec<Detail> {
        self.details
    }

    /// Whether the text carries `detail`. A text with an equal key always does; beyond that a text
    /// carries what it says in another form or more precisely.
    pub fn carries(&self, detail: &Detail) -> bool {
        self.has_key(&detail.key) || self.says(detail)
    }

    pub(crate) fn has_key(&self, key: &Short) -> bool {
        self.keys
            .contains(key.as_bytes(), |n| self.details[n].key.as_bytes())
    }

    fn words(&self) -> &Words {
        self.words.get_or_init(|| Words::of(&self.text))
    }

    fn facts(&self) -> impl Iterator<Item = &Facts> {
        self.details.iter().map(|d| &d.facts).chain(&self.again)
    }

    fn amounts(&self) -> impl Iterator<Item = &Amount> {
        let stated = self.facts().filter_map(|f| match f {
            Facts::Number(amount) => Some(amount),
            _ => None,
        });
        self.implied.iter().chain(stated)
    }

    fn dates(&self) -> impl Iterator<Item = &Date> {
        self.facts().filter_map(|f| match f {
            Facts::Date(date) => Some(date),
            _ => None,
        })
    }

    fn times(&self) -> impl Iterator<Item = (u16, bool)> {
        self.facts().filter_map(|f| match f {
            Facts::Time { minutes, loose } => Some((*minutes, *loose)),
            _ => None,
        })
    }

    /// Whether the text carries a detail whose key it has not.
    pub(crate) fn says(&self, detail: &Detail) -> bool {
        match &detail.facts {
            Facts::Number(amount) => self.carries_amount(amount),
            Facts::Date(date) => self.carries_date(*date),
            Facts::Time { minutes, loose } => self.carries_time(*minutes, *loose),
            Facts::Name => self.carries_name(&detail.key),
            Facts::Quote => self
                .words()
                .running()
                .contains(&format!(" {} ", detail.key)),
            Facts::Negation(negated) => self.carries_negation(negated),
            Facts::Plain => self.carries_plain(detail),
        }
    }

    fn carries_amount(&self, wanted: &Amount) -> bool {
        let same = |a: &Amount| {
            (a.value == wanted.value || wanted.unit.is_empty() && a.raw == wanted.value)
                && (wanted.unit.is_empty() || a.unit == wanted.unit || related(a.unit, wanted.unit))
        };
        self.amounts().any(same) || wanted.unit.is_empty() && self.says_number(&wanted.value)
    }

    /// A bare number may have become an hour, a day of a date or a part of an identifier's name.
    fn says_number(&self, value: &str) -> bool {
        let Ok(number) = value.parse::<u16>() else {
            return false;
        };
        let hour = |(minutes, loose): (u16, bool)| {
            minutes % 60 == 0 && (minutes / 60 == number || loose && minutes / 60 + 12 == number)
        };
        let day = |d: &Date| d.day.is_some_and(|day| u16::from(day) == number) && number > 12;
        self.times().any(hour) || self.dates().any(day)
    }

    fn carries_date(&self, wanted: Date) -> bool {
        if self.dates().any(|d| covers(*d, wanted)) {
            return true;
        }
        let Some(year) = wanted.year else {
            return false;
        };
        let year_said = self.amounts().any(|a| *a.value == *year.to_string());
        let rest = Date {
            year: None,
            ..wanted
        };
        year_said
            && (wanted.month.is_none()
                || self.dates().any(|d| d.year.is_none() && covers(*d, rest)))
    }

    fn carries_time(&self, wanted: u16, wanted_loose: bool) -> bool {
        self.times().any(|(minutes, loose)| {
            minutes == wanted
                || wanted_loose && minutes == (wanted + 720) % 1440
                || loose && wanted_loose && minutes % 720 == wanted % 720
        }) || wanted_loose
            && wanted.is_multiple_of(60)
            && self
                .amounts()
                .any(|a| a.unit.is_empty() && *a.value == *(wanted / 60).to_string())
    }

    fn carries_name(&self, key: &str) -> bool {
        if self.words().has(key) {
            return true;
        }
        if key.ends_with('^') {
            return false;
        }
        if is_unspaced(key) {
            return self.words().solid().contains(key);
        }
        let ended = |ending: &str| {
            self.words()
                .has(&Short::from(format_args!("{key}{ending}")))
        };
        if ended("s")
            || ended("es")
            || key
                .strip_suffix('s')
                .is_some_and(|bare| bare.len() > 2 && self.words().has(bare))
        {
            return true;
        }
        if key.chars().count() > 3 && self.words().has_form_of(key) {
            return true;
        }
        key.ends_with("str") && self.words().has_street(key)
    }

    fn carries_plain(&self, detail: &Detail) -> bool {
        match detail.kind {
            DetailKind::Handle => {
                let bare = detail.key.trim_start_matches('@');
                self.words().has(bare) || bare.len() >= 3 && self.words().has_divided(bare)
            }
            DetailKind::Number => self.words().has_divided(&detail.key),
            DetailKind::Address => {
                let text = self.text.to_lowercase();
                text.contains(detail.key.as_str())
            }
            DetailKind::Date => self.carries_day(&detail.key),
            _ => detail.key.len() > 2 && self.words().has(&detail.key),
        }
    }

    /// A weekday is said by a full date on it, `summer` by `last summer`.
    fn carries_day(&self, key: &str) -> bool {
        const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let dated = DAYS
            .iter()
            .position(|d| key == *d || key.ends_with(d) && key.contains(' '))
            .is_some_and(|n| self.dates().any(|d| weekday_of(*d) == Some(n as u8 + 1)));
        dated
            || self.details.iter().any(|d| {
                d.key
                    .strip_suffix(key)
                    .is_some_and(|r| r == "last " || r == "next ")
            })
    }

    fn carries_negation(&self, wanted: &Negated) -> bool {
        let all = &self.negated;
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
        let denied = |head: &Short, form: &Short| all.iter().any(|n| denies(n, wanted, head, form));
        let listed_lost = wanted.listed.iter().any(|form| {
            let head = stem(form).into();
            self.words().has_stem(&head) && !denied(&head, form)
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
            if self.words().has_stem(head) {
                return false;
            }
        }
        false
    }
}

/// Whether `negated` denies the word, and in a way that `wanted` denies it.
fn denies(negated: &Negated, wanted: &Negated, head: &Short, form: &Short) -> bool {
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

/// The characters that all forms of a name share.
fn family(word: &str) -> &str {
    let end = word.char_indices().nth(3).map_or(word.len(), |(n, _)| n);
    &word[..end]
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
