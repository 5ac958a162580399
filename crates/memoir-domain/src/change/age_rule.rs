//! The age rule: how much of every age permanently stays in the prompt (SPEC 3.14).
//!
//! It is computed from the originals in the order of the records that first made them core, in whole numbers. It
//! stores no counter and reads no text. For an original x it compares two sums over the originals that are not later
//! than x and have no weaker origin: those that were in the prompt or are gone, and those that are in the prompt
//! after the edit, with x itself.

use crate::agent::Threshold;

/// Origins of this weakness are exempt: the rule is not checked at them, and no stronger origin counts them.
pub(crate) const EXEMPT: u8 = 3;
/// The origins that are checked, by weakness.
const LEVELS: usize = EXEMPT as usize;

/// The state of an original, or its outcome of the checked edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeState {
    /// It is in the prompt, and stays there.
    Stays,
    /// It is in the prompt, and the edit takes it out.
    Leaves,
    /// A session or a replacement took it out before.
    Gone,
}

/// An original as the rule counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgeRow {
    /// Its size in tokens.
    pub tokens: u64,
    /// The weakness of its origin, from 0 to 3.
    pub weakness: u8,
    /// Whether it stays, leaves, or is gone.
    pub state: AgeState,
}

/// How much must stay, by what takes an original out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AgeShare {
    /// A session within its budget: three quarters, and the share of the breaker's threshold.
    WithinBudget {
        /// The stricter threshold of the breaker.
        threshold: Threshold,
    },
    /// A session over its budget: a half, or a third of the budget.
    OverBudget {
        /// The larger budget, in tokens.
        budget: u64,
    },
    /// A new memory that replaces it: a sixth, or a ninth of the budget.
    Replacing {
        /// The budget, in tokens.
        budget: u64,
    },
}

impl AgeShare {
    /// The fewest tokens that must stay in where `all` were in or are gone.
    fn required(self, all: u64) -> u64 {
        match self {
            Self::WithinBudget { threshold } => (3 * all).div_ceil(4).max(threshold.least_of(all)),
            Self::OverBudget { budget } => all.div_ceil(2).min(budget.div_ceil(3)),
            Self::Replacing { budget } => all.div_ceil(6).min(budget.div_ceil(9)),
        }
    }
}

/// Running sums up to a row, by weakness: each counts the rows of no weaker origin.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    all: [u64; LEVELS],
    stays: [u64; LEVELS],
}

impl Sums {
    fn add(&mut self, row: &AgeRow) {
        for level in usize::from(row.weakness)..LEVELS {
            self.all[level] += row.tokens;
            if row.state == AgeState::Stays {
                self.stays[level] += row.tokens;
            }
        }
    }

    /// How many more tokens may leave from before `row` without breaking the rule at it; negative where it is
    /// broken. `row` is counted already, and counts as in.
    fn slack(&self, row: &AgeRow, share: AgeShare) -> i64 {
        let level = usize::from(row.weakness);
        let own = match row.state {
            AgeState::Stays => 0,
            AgeState::Leaves | AgeState::Gone => row.tokens,
        };
        let required = share.required(self.all[level]);
        (self.stays[level] + own) as i64 - required as i64
    }
}

/// Checks an edit. `rows` are the originals in the order of their ages.
///
/// # Errors
/// The places in `rows` of the leaving originals that break the rule, in their order.
pub fn check(rows: &[AgeRow], share: AgeShare) -> Result<(), Vec<usize>> {
    let mut sums = Sums::default();
    // The leaving originals so far, with the weakness of each.
    let mut leaving: Vec<usize> = Vec::new();
    let mut at_fault = std::collections::BTreeSet::new();
    for (place, row) in rows.iter().enumerate() {
        if row.weakness >= EXEMPT {
            continue;
        }
        sums.add(row);
        match row.state {
            AgeState::Stays => {}
            AgeState::Leaves => {
                leaving.push(place);
                if sums.slack(row, share) < 0 {
                    at_fault.insert(place);
                }
            }
            AgeState::Gone => {
                // Only where an earlier one of no weaker origin leaves: otherwise nothing changes at this row.
                let weakens = |place: &&usize| rows[**place].weakness <= row.weakness;
                let mut before = leaving.iter().filter(weakens).peekable();
                if before.peek().is_some() && sums.slack(row, share) < 0 {
                    at_fault.extend(before);
                }
            }
        }
    }
    match at_fault.is_empty() {
        true => Ok(()),
        false => Err(at_fault.into_iter().collect()),
    }
}

/// Which originals may leave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgeOutlook {
    /// The places in the rows of those that a single edit may not take out, in their order.
    pub stuck: Vec<usize>,
    /// How many may leave one after the other, tried from the newest.
    pub may_leave: usize,
}

/// Which of `rows` may leave. None of them leaves yet. `may_go` is whether another rule lets the row at a place go.
pub fn outlook(rows: &[AgeRow], share: AgeShare, may_go: impl Fn(usize) -> bool) -> AgeOutlook {
    let mut sums = Sums::default();
    let mut slacks = Vec::with_capacity(rows.len());
    for row in rows {
        if row.weakness < EXEMPT {
            sums.add(row);
            slacks.push(sums.slack(row, share));
        } else {
            slacks.push(i64::MAX);
        }
    }
    let mut outlook = AgeOutlook::default();
    // The least slack at a later row that is checked, by the weakness of that row: once for the rows that are gone
    // already, and once with those that were tried before.
    let (mut gone, mut tried) = ([i64::MAX; LEVELS], [i64::MAX; LEVELS]);
    let least = |slacks: &[i64; LEVELS], weakness: usize| {
        slacks[weakness..].iter().copied().min().unwrap_or(i64::MAX)
    };
    for (place, row) in rows.iter().enumerate().rev() {
        let is_exempt = row.weakness >= EXEMPT;
        let weakness = usize::from(row.weakness);
        match row.state {
            AgeState::Gone if !is_exempt => {
                gone[weakness] = gone[weakness].min(slacks[place]);
                tried[weakness] = tried[weakness].min(slacks[place]);
            }
            AgeState::Stays if is_exempt => outlook.may_leave += usize::from(may_go(place)),
            AgeState::Stays => {
                // It counts as in at its own row, so that its own slack is that of the row as it is.
                let tokens = row.tokens as i64;
                let own = slacks[place];
                if own < 0 || least(&gone, weakness) < tokens {
                    outlook.stuck.push(place);
                }
                if own >= 0 && least(&tried, weakness) >= tokens && may_go(place) {
                    outlook.may_leave += 1;
                    for slack in &mut tried[weakness..] {
                        if *slack != i64::MAX {
                            *slack -= tokens;
                        }
                    }
                    // It is checked itself from now on.
                    tried[weakness] = tried[weakness].min(own);
                }
            }
            AgeState::Gone | AgeState::Leaves => {}
        }
    }
    outlook.stuck.reverse();
    outlook
}
