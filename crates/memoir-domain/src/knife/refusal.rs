//! Why a call of a tool changes nothing. Every refusal is an ordinary result for the model.

use crate::memory::{Invalid, Number};

/// One variant for each rule; the text tells the model what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session has ended, or none is open.
    #[error("The refinement session is over; nothing can be changed any more. Stop calling tools.")]
    SessionOver,
    /// There is no such tool.
    #[error("There is no tool of that name. The tools are {allowed}.")]
    UnknownTool {
        /// The tools of the session, by name.
        allowed: String,
    },
    /// The session's mode does not have the tool.
    #[error("This session is for duplicates only and has no {tool}. Its tools are {allowed}.")]
    Mode {
        /// The tool called.
        tool: &'static str,
        /// The tools of the session, by name.
        allowed: String,
    },
    /// Ten edits were made.
    #[error(
        "All {cap} edits of this session are made. Call complete_refinement with a summary now."
    )]
    EditCap {
        /// How many a session has.
        cap: u32,
    },
    /// An argument is missing, of the wrong form, or not allowed.
    #[error("{0}. Correct the call and try again.")]
    InvalidArgument(String),
    /// An argument is over its limit.
    #[error("{0}. Correct the call and try again.")]
    TooLong(Invalid),
    /// There is no kept memory of that number.
    #[error(
        "There is no kept memory {}. Use numbers from the list or from search_memories.",
        list(numbers)
    )]
    NotFound {
        /// The numbers at fault.
        numbers: Vec<Number>,
    },
    /// It is a journal entry.
    #[error(
        "{} is not a core memory, and only core memories can be refined. Leave it as it is.",
        list(numbers)
    )]
    NotCore {
        /// The numbers at fault.
        numbers: Vec<Number>,
    },
    /// It is constitutional.
    #[error(
        "{} is constitutional and cannot be deleted or merged. Leave it as it is.",
        list(numbers)
    )]
    Constitutional {
        /// The numbers at fault.
        numbers: Vec<Number>,
    },
    /// It is constitutional, and the new wording is more than a tightening.
    #[error(
        "{number} is constitutional: its wording can at most be tightened. {problem} Leave it as it is, or keep every detail and nearly all words in their order."
    )]
    NotTightened {
        /// The memory.
        number: Number,
        /// What is wrong, without the memory's words.
        problem: &'static str,
        /// What would be lost or added.
        details: Vec<crate::PrivateText>,
    },
    /// It has an immutable tag.
    #[error(
        "{} has an immutable tag and is untouchable. Leave it as it is.",
        list(numbers)
    )]
    Immutable {
        /// The numbers at fault.
        numbers: Vec<Number>,
    },
    /// The detail guard refuses.
    #[error("That would lose details. Keep them in the new text, or leave the memory as it is.")]
    DetailsLost {
        /// What would be lost.
        details: Vec<crate::PrivateText>,
    },
    /// Too much was removed over the last months.
    #[error(
        "Too much of this memory was removed over the last {days} days: {percent} % is left, and the floor is {floor_percent} %. Edits that remove text are refused until it has grown again. Protect, rewrite without shortening, or complete."
    )]
    ErosionFloor {
        /// The days looked back over.
        days: i64,
        /// What is left, in percent.
        percent: u32,
        /// What must be left, in percent.
        floor_percent: u32,
    },
}

impl Refusal {
    /// The wire code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SessionOver => "session_over",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::Mode { .. } => "mode",
            Self::EditCap { .. } => "edit_cap",
            Self::InvalidArgument(_) => "invalid_argument",
            Self::TooLong(_) => "too_long",
            Self::NotFound { .. } => "not_found",
            Self::NotCore { .. } => "not_core",
            Self::Constitutional { .. } | Self::NotTightened { .. } => "constitutional",
            Self::Immutable { .. } => "immutable",
            Self::DetailsLost { .. } => "details_lost",
            Self::ErosionFloor { .. } => "erosion_floor",
        }
    }

    /// The whole text for the model, with the words that it concerns quoted as data (SPEC 3.6).
    pub fn for_agent(&self) -> crate::PrivateText {
        match self {
            Self::NotTightened { number, problem, details } => format!(
                "{number} is constitutional: its wording can at most be tightened. {}{} Leave it as it is, or keep \
                 every detail and nearly all words in their order.",
                problem,
                quoted(details),
            ),
            Self::DetailsLost { details } => format!(
                "That would lose details:{} Keep them in the new text, or leave the memory as it is.",
                quoted(details)
            ),
            other => other.to_string(),
        }
        .into()
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        if invalid.too_long {
            Self::TooLong(invalid)
        } else {
            Self::InvalidArgument(invalid.to_string())
        }
    }
}

fn quoted(details: &[crate::PrivateText]) -> String {
    let texts: Vec<String> = details
        .iter()
        .map(|detail| crate::quote::quote(detail.expose()))
        .collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!(" {}.", texts.join(", "))
    }
}

fn list(numbers: &[Number]) -> String {
    numbers
        .iter()
        .map(Number::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
