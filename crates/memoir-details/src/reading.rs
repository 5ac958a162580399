//! Reading a text: every reader in turn, and what they find put together in order.
//!
//! Owns the order of the readers and which token belongs to which finding. It does not own any of
//! the rules by which a reader finds something.

use std::sync::Arc;

use crate::lexicon::{DE, Flag, IT, NL};
use crate::negations::Negated;
use crate::short::Short;
use crate::tokens::{Case, Doc, Kind};
use crate::{Detail, DetailKind};
use crate::{addresses, cjk, clock, dates, names, negations, numbers, quotes};

/// What a detail says beyond its key, so that a looser comparison is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Facts {
    Plain,
    Number(Amount),
    Date(Date),
    /// `loose`: the hour may be before or after noon.
    Time {
        minutes: u16,
        loose: bool,
    },
    Name,
    Quote,
    Negation(Arc<Negated>),
}

/// A number and the base unit it is given in; the unit is empty where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) value: Short,
    /// The value as written, before any conversion.
    pub(crate) raw: Short,
    pub(crate) unit: &'static str,
}

impl Amount {
    /// A number without a unit.
    pub(crate) fn bare(value: impl Into<Short>) -> Self {
        let value = value.into();
        Amount {
            raw: value.clone(),
            value,
            unit: "",
        }
    }
}

/// A date or a part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: Option<u16>,
    pub(crate) month: Option<u8>,
    pub(crate) day: Option<u8>,
    /// Whether day and month could stand the other way round.
    pub(crate) ambiguous: bool,
}

/// A detail and the tokens it stands on.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) from: usize,
    pub(crate) detail: Detail,
}

/// A text being read.
#[derive(Debug)]
pub(crate) struct Draft<'t> {
    pub(crate) doc: Doc<'t>,
    pub(crate) found: Vec<Finding>,
    /// Amounts the text carries by the way, without them being details of it.
    pub(crate) implied: Vec<Amount>,
    pub(crate) negated: Vec<Arc<Negated>>,
}

impl<'t> Draft<'t> {
    pub(crate) fn of(text: &'t str, lower: &'t str) -> Self {
        let doc = Doc::read(text, lower);
        let found = Vec::with_capacity(8 + doc.tokens.len() / 6);
        let mut reading = Draft {
            doc,
            found,
            implied: Vec::new(),
            negated: Vec::new(),
        };
        addresses::read(&mut reading);
        reading.sweep();
        quotes::read(&mut reading);
        names::read(&mut reading);
        if !text.is_ascii() {
            cjk::read(&mut reading);
        }
        negations::read(&mut reading);
        reading.found.sort_by_key(|f| f.from);
        reading
    }

    /// The readers of numbers and of the calendar, which compete for the same tokens.
    fn sweep(&mut self) {
        let mut at = 0;
        while at < self.doc.tokens.len() {
            let token = &self.doc.tokens[at];
            let end = if token.claimed {
                None
            } else if begins_amount(&self.doc, at) {
                clock::read(self, at)
                    .or_else(|| dates::read(self, at))
                    .or_else(|| numbers::read(self, at))
            } else if token.is(Flag::PhraseHead) {
                dates::read_phrase(self, at)
            } else {
                None
            };
            at = end.unwrap_or(0).max(at + 1);
        }
    }

    pub(crate) fn is_claimed(&self, token: usize) -> bool {
        self.doc.tokens.get(token).is_none_or(|t| t.claimed)
    }

    pub(crate) fn claim(&mut self, from: usize, to: usize) {
        let to = to.min(self.doc.tokens.len());
        for token in self.doc.tokens.get_mut(from..to).unwrap_or(&mut []) {
            token.claimed = true;
        }
    }

    /// Adds a finding on the tokens `from..to` and claims them.
    pub(crate) fn add(
        &mut self,
        from: usize,
        to: usize,
        kind: DetailKind,
        key: Short,
        facts: Facts,
    ) {
        self.claim(from, to);
        self.note(from, to, kind, key, facts);
    }

    /// Adds a finding without claiming its tokens.
    pub(crate) fn note(
        &mut self,
        from: usize,
        to: usize,
        kind: DetailKind,
        key: Short,
        facts: Facts,
    ) {
        let surface = self.doc.surface(from, to).into();
        self.found.push(Finding {
            from,
            detail: Detail {
                kind,
                surface,
                key,
                facts,
            },
        });
    }
}

/// Whether an amount or a date can begin with the token; most words are ruled out by one look.
fn begins_amount(doc: &Doc<'_>, at: usize) -> bool {
    let token = &doc.tokens[at];
    match token.kind {
        // A sign says something of the number after it, or is a fraction by itself.
        Kind::Symbol => {
            doc.get(at + 1).is_some_and(|t| t.kind == Kind::Number)
                || !token.fold.is_ascii()
                || token.is(Flag::Amount)
        }
        Kind::Word if token.case == Case::None => cjk::may_begin_amount(token),
        Kind::Word => {
            token.case == Case::Upper
                || token.is(Flag::Amount)
                || token.fold.len() >= 8
                    && !token.capital()
                    && (doc.speaks(DE | NL | IT) || token.fold.ends_with("ties"))
        }
        Kind::Han | Kind::Kana => token.entry.reach > 0 || cjk::may_begin_amount(token),
        Kind::Number => true,
    }
}
