//! Why a call of a session tool changes nothing. Every refusal is an ordinary result for the model: what was refused,
//! which member or word, and a call that would pass (SPEC 3.8).

use crate::{
    memory::{Invalid, Number, origin::Origin},
    text::private::PrivateText,
};

/// The most numbers or words that one sentence lists.
const LISTED: usize = 10;

/// One variant for each rule, with the numbers at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Refusal {
    #[error("The refinement session is over; nothing can be changed any more. Stop calling tools.")]
    SessionOver,
    /// There is no such tool; with the tools of the session, by name.
    #[error("There is no tool of that name. The tools are {0}.")]
    UnknownTool(String),
    #[error("This session is for duplicates only and has no {tool}. Its tools are {allowed}.")]
    Mode { tool: &'static str, allowed: String },
    #[error(
        "This session is for duplicates only: an original whose text an earlier core memory has, up to case. {} cannot be deleted. Leave them as they are.",
        list(.0)
    )]
    NotDuplicates(Vec<Number>),
    /// As many edits were made as a session has.
    #[error("All {0} edits of this session are made. Call complete_refinement with a report now.")]
    EditCap(u32),
    /// An argument is missing, of the wrong form, or not allowed.
    #[error("{0}. Correct the call and try again.")]
    InvalidArgument(String),
    /// An argument is over its limit.
    #[error("{0}. Correct the call and try again.")]
    TooLong(Invalid),
    #[error(
        "Memories of origin external can be consolidated only with each other: {} are external, and {} are not. Consolidate each group by itself.",
        list(external),
        list(others)
    )]
    MixedOrigins {
        external: Vec<Number>,
        others: Vec<Number>,
    },
    #[error(
        "{0} is a summary, and only a memory that is none can be replaced_by. Leave replaced_by out, or name another."
    )]
    SummaryInPlace(Number),
    #[error(
        "There is no memory {}. Use numbers from the list or from search_memories.",
        list(.0)
    )]
    NotFound(Vec<Number>),
    /// It is a journal entry or an archival memory; each with the core memory that took its place.
    #[error("{} Only core memories can be refined.", not_core(.0))]
    NotCore(Vec<(Number, Option<Number>)>),
    #[error(
        "{} cannot be deleted, consolidated or archived: constitutional. Only the form of the text can change. Leave it as it is.",
        list(.0)
    )]
    Constitutional(Vec<Number>),
    #[error(
        "{number} is of origin {origin}. A session can make only texts of the agent or an administrator constitutional. Leave it as it is."
    )]
    WeakOrigin { number: Number, origin: Origin },
    #[error(
        "{0} is a summary, and no summary becomes constitutional. To protect an original, bring it back with promote_memory first."
    )]
    ConstitutionalSummary(Number),
    #[error(
        "With {number} the constitutional memories would take {tokens} tokens, and in a session at most {most} (half of the budget) can. Leave it as it is; an administrator can protect it."
    )]
    ConstitutionalShare {
        number: Number,
        /// What they would take, in tokens.
        tokens: u64,
        /// What they may take, in tokens.
        most: u64,
    },
    #[error(
        "{} has an immutable tag and is untouchable. Leave it as it is.",
        list(.0)
    )]
    Immutable(Vec<Number>),
    #[error(
        "Under the loss guard `refuse` only a memory whose text an earlier core memory has, up to case, can leave the prompt. {} cannot. Leave them as they are.",
        list(.0)
    )]
    Guard(Vec<Number>),
    #[error(
        "This session began within the budget, so summaries are neither made, changed nor archived. To join originals, give the text of one of them. Else leave them as they are."
    )]
    SummaryWithinBudget,
    #[error(
        "That would leave {tokens} tokens, and at least {least} (nine tenths of the budget) must stay in core: the budget is reached. Move fewer, or call complete_refinement."
    )]
    Floor {
        /// What would be left, in tokens.
        tokens: u64,
        /// What must be left, in tokens.
        least: u64,
    },
    /// The text brings in numbers, signs, quotations, negations, names or words of relative time that no source has.
    #[error(
        "The texts that this one would replace do not have what `added` lists. Write it without that, or leave the memories as they are."
    )]
    Unsupported(Vec<PrivateText>),
    #[error(
        "The text has {tokens} tokens, and at most {most} are allowed: {why}. Write it shorter, or leave the memories as they are."
    )]
    NotShorter {
        /// Its tokens.
        tokens: u64,
        /// The most that it may have.
        most: u64,
        /// The reason for the limit.
        why: TextLimit,
    },
    #[error(
        "All summaries together would take {tokens} tokens, and at most {most} (a third of the budget) can. Write this one shorter, or move the memories to the archive without a summary: delete_memory."
    )]
    SummaryLimit {
        /// What they would take, in tokens.
        tokens: u64,
        /// What they may take, in tokens.
        most: u64,
    },
    #[error(
        "Too little of what is as old as {} would stay in your prompt, earlier sessions included. Leave them as they are; {}.",
        list(numbers),
        match passing.is_empty() {
            true => "choose memories that the list does not mark `stays`".to_owned(),
            false => format!("delete_memory of {} passes", list(passing)),
        }
    )]
    AgeLimit {
        /// The members at fault.
        numbers: Vec<Number>,
        /// The other members of a `delete_memory`, where it would pass for them.
        passing: Vec<Number>,
    },
}

wire_names! {
    /// Why a call changed nothing, by the stable code.
    pub enum RefusalCode {
        UnknownTool = "unknown_tool" => "there is no such tool",
        InvalidArgument = "invalid_argument" => "an argument is not what it may be",
        TooLong = "too_long" => "the text is too long",
        NotFound = "not_found" => "there is no active memory of that number",
        NotCore = "not_core" => "it is no core memory",
        Constitutional = "constitutional" => "it is constitutional, or cannot become it",
        Immutable = "immutable" => "it has an immutable tag",
        EditCap = "edit_cap" => "the session has made all its edits",
        Mode = "mode" => "the session's mode does not permit it",
        Unsupported = "unsupported" => "the text has what no source has",
        NotShorter = "not_shorter" => "the text is not short enough",
        Guard = "guard" => "the loss guard lets only duplicates leave",
        WithinBudget = "within_budget" => "the budget rule does not permit it",
        SummaryLimit = "summary_limit" => "all summaries together would take too much",
        AgeLimit = "age_limit" => "the age rule does not permit it",
        SessionOver = "session_over" => "the session is over",
    }
}

impl Refusal {
    /// The wire code.
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::SessionOver => RefusalCode::SessionOver,
            Self::UnknownTool(_) => RefusalCode::UnknownTool,
            Self::Mode { .. } | Self::NotDuplicates(_) => RefusalCode::Mode,
            Self::EditCap(_) => RefusalCode::EditCap,
            Self::InvalidArgument(_) | Self::MixedOrigins { .. } | Self::SummaryInPlace(_) => {
                RefusalCode::InvalidArgument
            }
            Self::TooLong(_) => RefusalCode::TooLong,
            Self::NotFound(_) => RefusalCode::NotFound,
            Self::NotCore(_) => RefusalCode::NotCore,
            Self::Constitutional(_)
            | Self::WeakOrigin { .. }
            | Self::ConstitutionalSummary(_)
            | Self::ConstitutionalShare { .. } => RefusalCode::Constitutional,
            Self::Immutable(_) => RefusalCode::Immutable,
            Self::Guard(_) => RefusalCode::Guard,
            Self::SummaryWithinBudget | Self::Floor { .. } => RefusalCode::WithinBudget,
            Self::Unsupported(_) => RefusalCode::Unsupported,
            Self::NotShorter { .. } => RefusalCode::NotShorter,
            Self::SummaryLimit { .. } => RefusalCode::SummaryLimit,
            Self::AgeLimit { .. } => RefusalCode::AgeLimit,
        }
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        // A code of its own, since splitting up helps there, and correcting does not.
        if invalid.too_long {
            Self::TooLong(invalid)
        } else {
            Self::InvalidArgument(invalid.to_string())
        }
    }
}

/// `#17, #21 and 3 more`.
fn list(numbers: &[Number]) -> String {
    let shown = numbers.iter().take(LISTED).map(ToString::to_string);
    let shown: Vec<String> = shown.collect();
    let shown = shown.join(", ");
    match numbers.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn not_core(members: &[(Number, Option<Number>)]) -> String {
    let named = |(number, now): &(Number, Option<Number>)| match now {
        Some(now) => format!("{number} (now {now})"),
        None => number.to_string(),
    };
    match members {
        [(number, Some(now))] => format!("{number} is in the archive; {now} is in its place now."),
        [(number, None)] => format!("{number} is no core memory."),
        _ => {
            let named: Vec<String> = members.iter().map(named).collect();
            format!("{} are no core memories.", named.join(", "))
        }
    }
}

/// Why a text may have only so many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum TextLimit {
    /// A change in form: padding would make room for other memories to leave (SPEC 3.14).
    #[display("white space and marks make no text longer")]
    Form,
    /// A rewritten memory (SPEC 3.10).
    #[display("as many as the present text has")]
    Present,
    /// A summary (SPEC 3.9).
    #[display("three quarters of the originals together")]
    Sources,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most characters of a refusal's sentence, without lists (SPEC 3.8).
    const REFUSAL_LIMIT: usize = 300;

    fn every_refusal() -> Vec<Refusal> {
        let numbers = || vec![Number(123_456)];
        let names = "search_memories, consolidate_memories, update_memory, delete_memory, protect_memory, complete_refinement";
        vec![
            Refusal::SessionOver,
            Refusal::UnknownTool(names.to_owned()),
            Refusal::Mode {
                tool: "consolidate_memories",
                allowed: names.to_owned(),
            },
            Refusal::NotDuplicates(numbers()),
            Refusal::EditCap(10),
            Refusal::MixedOrigins {
                external: numbers(),
                others: numbers(),
            },
            Refusal::SummaryInPlace(Number(123_456)),
            Refusal::NotFound(numbers()),
            Refusal::NotCore(vec![(Number(123_456), Some(Number(123_457)))]),
            Refusal::Constitutional(numbers()),
            Refusal::WeakOrigin {
                number: Number(123_456),
                origin: Origin::Conversation,
            },
            Refusal::ConstitutionalSummary(Number(123_456)),
            Refusal::ConstitutionalShare {
                number: Number(123_456),
                tokens: 1_234_567,
                most: 1_234_567,
            },
            Refusal::Immutable(numbers()),
            Refusal::Guard(numbers()),
            Refusal::SummaryWithinBudget,
            Refusal::Floor {
                tokens: 1_234_567,
                least: 1_234_567,
            },
            Refusal::InvalidArgument("content is missing".to_owned()),
            Refusal::TooLong(Invalid::too_long("content", 10_001, 10_000)),
            Refusal::NotCore(vec![(Number(1), Some(Number(9))), (Number(2), None)]),
            Refusal::Unsupported(vec!["1,300".into(), "Olga".into()]),
            Refusal::NotShorter {
                tokens: 1_234_567,
                most: 1_234_567,
                why: TextLimit::Sources,
            },
            Refusal::NotShorter {
                tokens: 12,
                most: 10,
                why: TextLimit::Form,
            },
            Refusal::SummaryLimit {
                tokens: 1_234_567,
                most: 1_234_567,
            },
            Refusal::AgeLimit {
                numbers: numbers(),
                passing: Vec::new(),
            },
            Refusal::AgeLimit {
                numbers: vec![Number(1_234_567)],
                passing: numbers().into_iter().take(9).collect(),
            },
        ]
    }

    #[test]
    fn spec_3_8_no_refusal_is_longer_than_three_hundred_characters_besides_its_lists() {
        for refusal in every_refusal() {
            let length = refusal.to_string().chars().count();
            assert!(length <= REFUSAL_LIMIT, "{length}: {refusal}");
        }
    }

    #[test]
    fn spec_3_8_every_refusal_as_a_model_reads_it() {
        let refusals = every_refusal();
        let codes: std::collections::BTreeSet<&str> = refusals
            .iter()
            .map(|refusal| refusal.code().as_str())
            .collect();
        assert_eq!(codes, RefusalCode::ALL.map(RefusalCode::as_str).into());
        let lines = refusals
            .iter()
            .map(|refusal| format!("{}: {}", refusal.code(), refusal));
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    }
}
