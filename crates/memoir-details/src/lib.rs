//! What a text states that an edit must not lose: numbers, dates, times, quoted passages, names,
//! addresses, handles and negations.
//!
//! This crate owns the reading of a text into [`Detail`]s and the judgement whether another text
//! carries them. It does not own what happens to an edit that loses one, nor any storage: it is
//! pure, deterministic and does no input or output.

mod addresses;
mod carry;
mod cjk;
mod clock;
mod dates;
mod fold;
mod lexicon;
mod names;
mod negations;
mod numbers;
mod quotes;
mod reading;
mod short;
mod table;
mod tokens;

use std::collections::HashSet;
use std::fmt;

pub use carry::Reading;
use reading::Facts;
use short::Short;

/// What sort of thing a [`Detail`] is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DetailKind {
    /// An amount, with its unit where it has one.
    Number,
    /// A calendar date or a part of one, a weekday, a season, a holiday, a day named in words.
    Date,
    /// A time of day.
    Time,
    /// A passage between quotation marks.
    Quote,
    /// One word of a proper name.
    Name,
    /// An e-mail or web address, a file path or a street.
    Address,
    /// An `@handle`, a `#tag`, or an identifier such as a ticket number.
    Handle,
    /// A negation together with what it negates.
    Negation,
}

/// One thing a text states that must not be lost.
#[derive(Clone, PartialEq, Eq)]
pub struct Detail {
    kind: DetailKind,
    surface: Short,
    key: Short,
    facts: Facts,
}

impl Detail {
    /// What sort of thing it is.
    pub fn kind(&self) -> DetailKind {
        self.kind
    }

    /// The detail as it stands in the text, for showing it to whoever wrote the edit.
    pub fn surface(&self) -> &str {
        self.surface.as_str()
    }

    /// The canonical form: details with equal keys are the same detail, whatever their kind.
    pub fn key(&self) -> &str {
        self.key.as_str()
    }
}

impl fmt::Debug for Detail {
    /// Prints the kind and the length only, because memory text is never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detail")
            .field("kind", &self.kind)
            .field("bytes", &self.surface.as_bytes().len())
            .finish_non_exhaustive()
    }
}

/// The details of `replaced`, all texts taken together, that `written` does not carry, in order of
/// appearance, each key once. Empty means that nothing is lost.
pub fn lost_between(replaced: &[&Reading], written: &Reading) -> Vec<Detail> {
    let mut lost = Vec::new();
    let mut asked = HashSet::new();
    for detail in replaced.iter().flat_map(|r| r.details()) {
        if !written.has_key(&detail.key) && asked.insert(&detail.key) && !written.says(detail) {
            lost.push(detail.clone());
        }
    }
    lost
}

/// Every detail of `text`, in order of appearance, each key once.
pub fn details(text: &str) -> Vec<Detail> {
    Reading::of(text).into_details()
}

/// The details of `replaced` that `written` does not carry, as [`lost_between`] finds them.
pub fn lost(replaced: &[&str], written: &str) -> Vec<Detail> {
    let replaced: Vec<Reading> = replaced.iter().map(|text| Reading::of(text)).collect();
    let replaced: Vec<&Reading> = replaced.iter().collect();
    lost_between(&replaced, &Reading::of(written))
}

/// Whether `text` carries `detail`, in the same sense as [`lost`].
pub fn carries(text: &str, detail: &Detail) -> bool {
    Reading::of(text).carries(detail)
}
