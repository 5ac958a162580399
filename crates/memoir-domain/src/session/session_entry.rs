//! Journal entries about an agent's sessions. The context shows the first line (SPEC 2.3): the measures, and why a
//! session ended (SPEC 3.13, 3.15, 3.16).

use crate::{
    session::{EndReason, Session, Stats, breaker::Gauge},
    text::{counted, thousands},
};

/// The result of a session, as in `31 memories archived under 2 summaries, 4 alone; 8,012 → 6,120 tokens`.
fn measured(session: &Session, before: u64, after: u64) -> String {
    let (stats, under) = (session.stats, session.archived_under_summaries);
    let outcome = outcome(stats, session.archived, under, session.summaries);
    let (before, after) = (thousands(before), thousands(after));
    format!("{outcome}; {before} → {after} tokens")
}

/// The edits of a session, in terms of the archive where it archived memories.
pub fn outcome(stats: Stats, archived: u32, under: u32, summaries: u32) -> String {
    let alone = archived.saturating_sub(under);
    let memories = |count: u32| counted(u64::from(count), "memory", "memories");
    let summaries = counted(u64::from(summaries), "summary", "summaries");
    match (under, alone) {
        (0, 0) => stats.to_string(),
        (0, alone) => format!("{} archived", memories(alone)),
        (under, 0) => format!("{} archived under {summaries}", memories(under)),
        (under, alone) => format!(
            "{} archived under {summaries}, {} alone",
            memories(under),
            thousands(u64::from(alone))
        ),
    }
}

/// The entry about a completed session. Its first line ends at the first line break of the agent's report.
pub(crate) fn completed(session: &Session, gauge: &Gauge, report: &str) -> String {
    let measured = measured(session, gauge.pre_session_tokens, gauge.core_tokens);
    format!("Refinement session: {measured}: {report}")
}

/// The change in percent; `None` where there is none.
fn change(before: u64, after: u64) -> Option<String> {
    let (difference, word) = match before.cmp(&after) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => (before - after, "less"),
        std::cmp::Ordering::Less => (after - before, "more"),
    };
    // A core size of 0 has no share.
    let percent = difference
        .saturating_mul(100)
        // Half of the divisor, so that the quotient is rounded and not truncated.
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
        session,
        // A session that left edits behind was opened, so it always has this size.
        session.pre_session_tokens.unwrap_or(core_tokens),
        core_tokens,
    );
    Some(format!(
        "Refinement session ended without completing, because {} ({measured}). What it did stays; it can be undone.",
        because(why)
    ))
}

fn because(why: EndReason) -> &'static str {
    match why {
        EndReason::Refused => "you declined",
        EndReason::BreakerCoreSize | EndReason::BreakerRemoved => "the breaker tripped",
        EndReason::RolledBackOnRequest => "it was asked for while the session ran",
        EndReason::Stopped => "you stopped without calling complete_refinement",
        EndReason::CallsAsText => "your calls came as text, which is not carried out",
        EndReason::NoAnswer => "your answers were empty",
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

/// The entry about a session that was undone while it ran. `gauge` was measured before, `core_tokens` is the core size
/// afterwards.
pub(crate) fn undone(gauge: &Gauge, limit: EndReason, stats: Stats, core_tokens: u64) -> String {
    let pre = gauge.pre_session_tokens;
    let must_be_left = format!("at least {} of {pre} must be left", gauge.least_allowed());
    let yours = format!(
        "The limit is your `refinement_threshold`, {}; it is yours to set.",
        gauge.threshold
    );
    let (why, limit) = match limit {
        EndReason::BreakerCoreSize => {
            let size = gauge.core_tokens;
            (
                format!(
                    "your core memories went from {pre} to {size} tokens{}, and {must_be_left}",
                    change(pre, size).map_or_else(String::new, |change| format!(", {change}"))
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
    let over = "The session is over.";
    let last = match limit.is_empty() {
        true => over.to_owned(),
        false => format!("{limit} {over}"),
    };
    format!(
        "Refinement session undone, because {why}. {undone} {}\n{last}",
        now(pre, core_tokens)
    )
}

/// The state after all of a session's edits are undone. What is still missing was removed outside of it.
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
