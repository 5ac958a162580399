//! What an agent's journal tells it about its sessions, in the first words that it reads of them later: what
//! was measured, and why a session ended as it did (SPEC 3.13, 3.15, 3.16).

use crate::{
    breaker::Gauge,
    session::{EndReason, Session, Stats},
};

/// What a session came to, as in `2 deleted, 1 updated; 412 → 371 tokens, 10% less; 3 words let go`.
pub fn measured(stats: Stats, before: u64, after: u64, lost_words: u64) -> String {
    let change = change(before, after).map_or_else(String::new, |change| format!(", {change}"));
    let lost = match lost_words {
        0 => String::new(),
        1 => "; 1 word let go".to_owned(),
        words => format!("; {words} words let go"),
    };
    format!("{stats}; {before} → {after} tokens{change}{lost}")
}

/// The change in percent; `None` where there is none.
fn change(before: u64, after: u64) -> Option<String> {
    let (difference, word) = match before.cmp(&after) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => (before - after, "less"),
        std::cmp::Ordering::Less => (after - before, "more"),
    };
    // Of nothing there is no share.
    let percent = difference
        .saturating_mul(100)
        // Half of the divisor, so that the quotient is rounded and not cut.
        .saturating_add(before / 2)
        .checked_div(before)?;
    Some(match percent {
        0 => format!("under 1% {word}"),
        percent => format!("{percent}% {word}"),
    })
}

/// The entry about a session that ended without completing and left edits behind; `None` where it left none.
pub(crate) fn left_behind(session: &Session, why: EndReason, core_tokens: u64) -> Option<String> {
    if session.rehearsal || session.stats == Stats::default() {
        return None;
    }
    let measured = measured(
        session.stats,
        // A session that left edits behind was opened, so it always has this mass.
        session.pre_session_tokens.unwrap_or(core_tokens),
        core_tokens,
        session.lost_words,
    );
    Some(format!(
        "Refinement session ended without completing, because {} ({measured}). What it did stays; it can be undone.",
        because(why)
    ))
}

fn because(why: EndReason) -> &'static str {
    match why {
        EndReason::Refused => "you declined",
        EndReason::BreakerMass | EndReason::BreakerRemoved => "the breaker tripped",
        EndReason::RolledBackOnRequest => "it was asked for while the session ran",
        EndReason::Stopped => "you stopped without calling complete_refinement",
        EndReason::TurnLimit => "the limit of turns was reached",
        EndReason::TimeLimit => "the limit of time was reached",
        EndReason::TokenLimit => "the limit of tokens was reached",
        EndReason::CostLimit => "the limit of cost was reached",
        EndReason::Idle => "you made no call for too long",
        EndReason::LeaseExpired => "the process that ran it stopped",
        EndReason::Cancelled => "it was cancelled",
        EndReason::Provider => "your model could not be asked any more",
    }
}

/// The entry about a session that was undone while it ran. `gauge` is what was measured before it was,
/// `core_tokens` the mass afterwards.
pub(crate) fn undone(gauge: &Gauge, limit: EndReason, stats: Stats, core_tokens: u64) -> String {
    let pre = gauge.pre_session_tokens;
    let must_be_left = format!("at least {} of {pre} must be left", gauge.least_allowed());
    let yours = format!(
        " The limit is your `refinement_threshold`, {}; it is yours to set.",
        gauge.threshold
    );
    let (why, limit) = match limit {
        EndReason::BreakerMass => {
            let mass = gauge.core_tokens;
            (
                format!(
                    "your core memories went from {pre} to {mass} tokens{}, and {must_be_left}",
                    change(pre, mass).map_or_else(String::new, |change| format!(", {change}"))
                ),
                yours,
            )
        }
        EndReason::BreakerRemoved => (
            format!(
                "its edits together took away {} of {pre} tokens, whatever was added meanwhile, and {must_be_left}",
                gauge.removed_tokens
            ),
            yours,
        ),
        other => (because(other).to_owned(), String::new()),
    };
    let undone = match stats == Stats::default() {
        true => "It had changed nothing that was to be undone.".to_owned(),
        false => format!("All that it did is undone: {stats}."),
    };
    format!(
        "Refinement session undone, because {why}.{limit} {undone} {} The session is over.",
        now(pre, core_tokens)
    )
}

/// Where the memory stands once all that a session did is undone. What is missing then went outside of it.
fn now(pre_session_tokens: u64, core_tokens: u64) -> String {
    match pre_session_tokens.cmp(&core_tokens) {
        std::cmp::Ordering::Equal => {
            format!("Your core memories are at {core_tokens} tokens again, as before the session.")
        }
        std::cmp::Ordering::Less => format!(
            "Your core memories are at {core_tokens} tokens: {} more than before the session came from outside of it.",
            core_tokens - pre_session_tokens
        ),
        std::cmp::Ordering::Greater => format!(
            "Your core memories are at {core_tokens} tokens: the {} that are missing since the session began went \
             outside of it, and undoing it did not bring them back.",
            pre_session_tokens - core_tokens
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_3_15_the_percentage_is_told() {
        let deleted = Stats {
            deleted: 1,
            ..Stats::default()
        };
        for (before, after, expected) in [
            (412, 371, "1 deleted; 412 → 371 tokens, 10% less"),
            (1_000, 999, "1 deleted; 1000 → 999 tokens, under 1% less"),
            (100, 130, "1 deleted; 100 → 130 tokens, 30% more"),
            (0, 5, "1 deleted; 0 → 5 tokens"),
            (3, 0, "1 deleted; 3 → 0 tokens, 100% less"),
        ] {
            assert_eq!(measured(deleted, before, after, 0), expected);
        }
        assert_eq!(
            measured(Stats::default(), 9, 9, 3),
            "no edits; 9 → 9 tokens; 3 words let go"
        );
    }
}
