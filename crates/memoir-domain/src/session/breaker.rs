//! The circuit breaker: the limit on the core size that stops a session (SPEC 3.13).

use crate::{agent::Threshold, session::EndReason, text::plural};

/// The breaker's input. All sizes in tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gauge {
    /// The core size when the session got its tools.
    pub pre_session_tokens: u64,
    /// The core size now.
    pub core_tokens: u64,
    /// The sum of the tokens that each of the session's edits removed.
    pub removed_tokens: u64,
    /// The stricter of the session's threshold and the agent's current one.
    pub threshold: Threshold,
}

impl Gauge {
    /// Which limit is crossed; `None` where the breaker holds. It never trips on a core size of 0.
    pub fn trip(&self) -> Option<EndReason> {
        let left = self.pre_session_tokens.saturating_sub(self.removed_tokens);
        // Two measures: memories saved meanwhile hide removals from the first, and the second does not count removals
        // by others.
        if self.is_below(self.core_tokens) {
            Some(EndReason::BreakerCoreSize)
        } else if self.is_below(left) {
            Some(EndReason::BreakerRemoved)
        } else {
            None
        }
    }

    /// How many more tokens may go before everything is undone, and the limit that binds: the smallest one. Prompt,
    /// command line and console all show it.
    pub fn allowance(&self) -> TokenAllowance {
        let least_tokens = self.least_allowed();
        let left = self.pre_session_tokens.saturating_sub(self.removed_tokens);
        let by_core_size = self.core_tokens.saturating_sub(least_tokens);
        // Saturating: where a limit is crossed already, nothing more may go.
        let by_removed = left.saturating_sub(least_tokens);
        let (tokens, limit) = match self.pre_session_tokens {
            // On a core size of 0 the breaker never trips.
            0 => (self.core_tokens, Limit::CoreSize),
            _ if by_removed < by_core_size => (by_removed, Limit::Removed),
            _ => (by_core_size, Limit::CoreSize),
        };
        TokenAllowance {
            tokens,
            limit,
            least_tokens,
            pre_session_tokens: self.pre_session_tokens,
        }
    }

    /// The tokens of [`Gauge::allowance`].
    pub fn removable_tokens(&self) -> u64 {
        self.allowance().tokens
    }

    /// The smallest core size at which the breaker holds.
    pub fn least_allowed(&self) -> u64 {
        self.threshold.least_of(self.pre_session_tokens)
    }

    fn is_below(&self, size: u64) -> bool {
        self.pre_session_tokens > 0
            // As SPEC 3.13 has it, a quotient: the product of the other side rounds otherwise.
            // Core sizes are far below 2^53, so that both are exact.
            && size as f64 / (self.pre_session_tokens as f64) < self.threshold.share()
    }
}

/// A limit at which a session is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The core size that must be left.
    CoreSize,
    /// The sum that the session's edits may remove, whatever was added meanwhile.
    Removed,
}

/// How many more tokens may go before everything is undone. The text states a consequence, since models treat an
/// allowance as a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenAllowance {
    /// The tokens that may still go.
    pub tokens: u64,
    /// The limit that binds.
    pub limit: Limit,
    /// The core size that must be left.
    pub least_tokens: u64,
    /// The core size before the session.
    pub pre_session_tokens: u64,
}

impl std::fmt::Display for TokenAllowance {
    /// As in `if more than 25 tokens go, everything is undone (75 of 100 tokens must be left)`.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "if more than {}, everything is undone ({} of {} tokens must be left",
            plural(self.tokens, "token goes", "tokens go"),
            self.least_tokens,
            self.pre_session_tokens
        )?;
        formatter.write_str(match self.limit {
            Limit::CoreSize => ")",
            Limit::Removed => ", counting all that the edits removed together)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gauge(pre: u64, now: u64, removed: u64, threshold: f64) -> Gauge {
        Gauge {
            pre_session_tokens: pre,
            core_tokens: now,
            removed_tokens: removed,
            threshold: Threshold::new(threshold).unwrap(),
        }
    }

    #[test]
    fn spec_3_13_the_breaker_trips_below_the_threshold_and_not_at_it() {
        for (pre, now, removed, threshold, expected) in [
            (100, 75, 25, 0.75, None),
            (100, 74, 26, 0.75, Some(EndReason::BreakerCoreSize)),
            (10, 7, 3, 0.7, None),
            (1_000, 999, 1, 1.0, Some(EndReason::BreakerCoreSize)),
            // Memories saved meanwhile do not mask what was removed.
            (100, 500, 26, 0.75, Some(EndReason::BreakerRemoved)),
            (0, 0, 0, 1.0, None),
            (0, 0, 50, 1.0, None),
        ] {
            assert_eq!(
                gauge(pre, now, removed, threshold).trip(),
                expected,
                "{pre} {now} {removed}"
            );
        }
    }

    #[test]
    fn spec_3_5_the_smallest_limit_that_binds_is_named_as_a_consequence() {
        for (reading, expected) in [
            (
                gauge(100, 100, 0, 0.75),
                "if more than 25 tokens go, everything is undone (75 of 100 tokens must be left)",
            ),
            (
                gauge(100, 300, 24, 0.75),
                "if more than 1 token goes, everything is undone (75 of 100 tokens must be left, \
                 counting all that the edits removed together)",
            ),
            (
                gauge(100, 80, 5, 0.75),
                "if more than 5 tokens go, everything is undone (75 of 100 tokens must be left)",
            ),
            (
                gauge(3, 3, 0, 1.0),
                "if more than 0 tokens go, everything is undone (3 of 3 tokens must be left)",
            ),
        ] {
            assert_eq!(reading.allowance().to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn spec_3_5_what_may_be_removed_is_exactly_what_the_breaker_allows(
            pre in 1u64..1_000_000, removed in 0u64..1_000_000, percent in 1u32..=100,
        ) {
            let removed = removed.min(pre);
            let now = gauge(pre, pre - removed, removed, f64::from(percent) / 100.0);
            prop_assume!(now.trip().is_none());
            let more = now.removable_tokens();
            let after = |by: u64| gauge(pre, now.core_tokens - by, removed + by, f64::from(percent) / 100.0);
            prop_assert_eq!(after(more).trip(), None);
            if more < now.core_tokens {
                prop_assert!(after(more + 1).trip().is_some());
            }
        }
    }
}
