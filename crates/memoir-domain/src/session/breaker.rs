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
