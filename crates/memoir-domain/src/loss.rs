//! What sessions may let go, in words (SPEC 3.14).
//!
//! The limits hold for every age: of each wording, and of all that were recorded no later than it and are
//! of no weaker origin, at most a small share is let go in a session and in a year. So what was saved
//! yesterday makes no room for old memories to go, and the oldest are the safest.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    SessionId, Timestamp,
    agent::YEAR_DAYS,
    memory::Invalid,
    wording::{Origin, Wording, WordingId},
};

/// The share of what is said that one session may let go, where the installation sets none, in percent.
pub const DEFAULT_SESSION_PERCENT: f64 = 2.0;
/// The share that all sessions of a year may let go together.
pub const DEFAULT_YEAR_PERCENT: f64 = 5.0;
/// The most that an installation can set for a session (SPEC 3.14).
pub const MOST_SESSION_PERCENT: f64 = 5.0;
/// The most that an installation can set for a year (SPEC 3.14).
pub const MOST_YEAR_PERCENT: f64 = 20.0;

/// How much may be let go, in percent of what all wordings of an age and older still say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossLimits {
    session_percent: f64,
    year_percent: f64,
}

impl Default for LossLimits {
    fn default() -> Self {
        Self {
            session_percent: DEFAULT_SESSION_PERCENT,
            year_percent: DEFAULT_YEAR_PERCENT,
        }
    }
}

impl LossLimits {
    /// # Errors
    /// A share that is negative, or over [`MOST_SESSION_PERCENT`] or [`MOST_YEAR_PERCENT`].
    pub fn new(session_percent: f64, year_percent: f64) -> Result<Self, Invalid> {
        let check = |field, percent: f64, most: f64| {
            if (0.0..=most).contains(&percent) {
                return Ok(());
            }
            Err(Invalid::new(
                field,
                format!("must be a percentage from 0 to {most}"),
            ))
        };
        check("session_percent", session_percent, MOST_SESSION_PERCENT)?;
        check("year_percent", year_percent, MOST_YEAR_PERCENT)?;
        Ok(Self {
            session_percent,
            year_percent,
        })
    }

    fn of(self, said_words: u64) -> WordAllowance {
        // A word more or less by rounding would not hurt; that it is rounded down is the rule.
        // The small sum makes up for a share that comes out just below a whole number, as 4.6 percent of
        // 1,500 do.
        let share = |percent: f64| (said_words as f64 * percent / 100.0 + 1e-9).floor() as u64;
        WordAllowance {
            session_words: share(self.session_percent),
            year_words: share(self.year_percent),
        }
    }
}

/// How many words may still be let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WordAllowance {
    /// By the session.
    pub session_words: u64,
    /// By all sessions of 365 days.
    pub year_words: u64,
}

impl WordAllowance {
    /// Nothing.
    pub const NONE: Self = Self {
        session_words: 0,
        year_words: 0,
    };
}

/// What an edit would let go of one wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Losing {
    /// The wording.
    pub id: WordingId,
    /// Its origin; letting go of `external` costs nothing.
    pub origin: Origin,
    /// How many words.
    pub words: u64,
    /// Of how many sentences.
    pub sentences: u64,
}

/// Words that were or would be let go within the windows, and what is still said, of one age.
#[derive(Debug, Clone, Copy, Default)]
struct LossSums {
    said: u64,
    session: u64,
    year: u64,
    losing: u64,
}

/// Whether `losing` stays within the limits. `wordings` are all that count, in the order of their age.
///
/// # Errors
/// What may still be let go, where it does not.
pub fn check<'a>(
    wordings: impl Iterator<Item = &'a Wording> + Clone,
    losing: &[Losing],
    session: SessionId,
    limits: LossLimits,
    now: Timestamp,
) -> Result<(), WordAllowance> {
    let costs = |origin: Origin| origin != Origin::External;
    let losing: BTreeMap<WordingId, &Losing> = losing
        .iter()
        .filter(|lost| costs(lost.origin) && lost.words > 0)
        .map(|lost| (lost.id, lost))
        .collect();
    if losing.is_empty() {
        return Ok(());
    }
    let year = now.plus_days(-YEAR_DAYS);
    // In any case one sentence a year: a very small memory would have no allowance at all.
    let recent = wordings.clone().filter(|wording| costs(wording.origin));
    let recent = recent.flat_map(|wording| &wording.let_go);
    let sentences: u64 = recent
        .filter(|lost| lost.at > year)
        .map(|lost| lost.sentences)
        .chain(losing.values().map(|lost| lost.sentences))
        .sum();
    // Counted over everything that is about to go and all that went in the year: the one sentence
    // is a year's, not an edit's.
    if sentences <= 1 {
        return Ok(());
    }
    let mut least: Option<WordAllowance> = None;
    let mut is_over = false;
    // Each origin by itself: among stronger ones only, since what a page said must not make room
    // for what the agent said to go.
    let ranks: std::collections::BTreeSet<u8> =
        losing.values().map(|lost| lost.origin.weakness()).collect();
    for weakness in ranks {
        let of_rank = losing
            .values()
            .filter(|lost| lost.origin.weakness() == weakness);
        // Every losing wording bounds its own age and all later ones, so the oldest bounds them all.
        let Some(oldest) = of_rank.map(|lost| lost.id).min() else {
            continue;
        };
        let mut sums = LossSums::default();
        for wording in wordings.clone() {
            // What is weaker is neither counted as said nor as lost here.
            if wording.origin.weakness() > weakness {
                continue;
            }
            let lost_since = |is_counted: &dyn Fn(&crate::wording::LetGo) -> bool| -> u64 {
                let counted = wording.let_go.iter().filter(|lost| is_counted(lost));
                counted.map(|lost| lost.words).sum()
            };
            sums.said += wording.said_words();
            sums.session += lost_since(&|lost| lost.session == session);
            let lost_in_year = lost_since(&|lost| lost.at > year);
            sums.year += lost_in_year;
            let now_losing = losing.get(&wording.id()).map_or(0, |lost| lost.words);
            sums.losing += now_losing;
            // A bound can only be crossed at a wording of which something goes or went; at the
            // others the sums have the same losses and more that is said.
            if wording.id() < oldest || now_losing + lost_in_year == 0 {
                continue;
            }
            let allowed = limits.of(sums.said);
            let left = WordAllowance {
                session_words: allowed.session_words.saturating_sub(sums.session),
                year_words: allowed.year_words.saturating_sub(sums.year),
            };
            // Not ended at the first one that is over: the answer tells the least of all
            // allowances.
            is_over |= sums.losing > left.session_words || sums.losing > left.year_words;
            least = Some(least.map_or(left, |least| WordAllowance {
                session_words: least.session_words.min(left.session_words),
                year_words: least.year_words.min(left.year_words),
            }));
        }
    }
    match least {
        Some(left) if is_over => Err(left),
        _ => Ok(()),
    }
}
