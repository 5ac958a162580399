//! Why a call of a tool changes nothing. Every refusal is an ordinary result for the model.

use crate::{
    PrivateText,
    audit::LostWords,
    loss::WordAllowance,
    memory::{Invalid, Number},
    quote::quote,
    wording::Origin,
};

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
    /// It is constitutional, and the new text is more than a tightening.
    #[error(
        "{number} is constitutional: its text can at most be tightened, by leaving out free words such as articles."
    )]
    NotTightened {
        /// The memory.
        number: Number,
        /// What would be lost, in the author's own form.
        lost: Vec<PrivateText>,
        /// What nobody said.
        added: Vec<PrivateText>,
    },
    /// Its origin is too weak to make it constitutional in a session.
    #[error(
        "{number} is of origin {origin}. In a session only what you or an administrator said becomes constitutional. Leave it as it is."
    )]
    WeakOrigin {
        /// The memory.
        number: Number,
        /// Its origin.
        origin: Origin,
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
    /// These cannot be merged with the others.
    #[error("{} {why}. Leave them apart; that is fine.", list(numbers))]
    NotMerged {
        /// The numbers at fault.
        numbers: Vec<Number>,
        /// What is at fault, after the numbers.
        why: &'static str,
    },
    /// The new text says something that none of the old ones says.
    #[error("The new text says more than what it replaces.")]
    WordsAdded {
        /// The words that stand in no sentence of theirs in this way.
        added: Vec<PrivateText>,
        /// Words written and words that the texts replaced have together, where there are more.
        surplus: Option<(u32, u32)>,
        /// A text that would pass.
        passes: Option<PrivateText>,
        /// The memory that is better left as it is by now.
        leave: Option<Number>,
    },
    /// Too little of a sentence would stay.
    #[error("Too little of a sentence would stay: keep it as it is said, or leave it out whole.")]
    WordingGutted {
        /// What would go.
        lost: Vec<LostWords>,
        /// The sentences in question as they would stand.
        would_say: Vec<PrivateText>,
        /// A text that would pass.
        passes: Option<PrivateText>,
        /// The memory that is better left as it is by now.
        leave: Option<Number>,
    },
    /// More would be let go than may be.
    #[error("That would let go of more than may be let go.")]
    LossLimit {
        /// What would go.
        lost: Vec<LostWords>,
        /// What may still be let go.
        allowance: WordAllowance,
        /// The memory that is better left as it is by now.
        leave: Option<Number>,
    },
    /// Something would be let go, and is asked about first.
    #[error("That would let something go.")]
    WordsLost {
        /// What would go.
        lost: Vec<LostWords>,
        /// What helps to decide.
        second: Box<LossAdvice>,
        /// The code that says yes.
        confirm: String,
        /// The memory that is better left as it is by now.
        leave: Option<Number>,
    },
    /// A session for duplicates only, and no other memory says all of it.
    #[error(
        "This session is for duplicates only, and no other memory says all that {number} says."
    )]
    NotDoubled {
        /// The memory.
        number: Number,
        /// The one that says most of it.
        nearest: Option<NearestMemory>,
    },
}

/// What helps to decide whether something is to be let go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LossAdvice {
    /// The sentences in question as they would stand.
    pub would_say: Vec<PrivateText>,
    /// A text that would pass.
    pub passes: Option<PrivateText>,
    /// Sentences of which only inner marks would change.
    pub marks: Vec<PrivateText>,
    /// For a delete: the memory that says most of it.
    pub nearest: Option<NearestMemory>,
}

/// Another memory that says most of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NearestMemory {
    /// Its number; `None` where no other memory shares a word with it.
    pub number: Option<Number>,
    /// The first words that it does not say.
    pub lacks: Vec<PrivateText>,
    /// Whether it says anything of it.
    pub says_some: bool,
}

wire_names! {
    /// Why a tool's call changed nothing, by the stable code.
    pub enum RefusalCode {
        /// There is no such tool.
        UnknownTool = "unknown_tool",
        /// An argument is not what it may be.
        InvalidArgument = "invalid_argument",
        /// A memory is not there, or not kept.
        NotFound = "not_found",
        /// A memory is constitutional. Three refusals have this code: which of them it was, the sentence says.
        Constitutional = "constitutional",
        /// A memory has an immutable tag.
        Immutable = "immutable",
        /// A memory is a journal entry.
        NotCore = "not_core",
        /// The session has made all its edits.
        EditCap = "edit_cap",
        /// The session's mode does not have the tool.
        Mode = "mode",
        /// The text says something that its members do not.
        WordsAdded = "words_added",
        /// Too much of one wording would go.
        WordingGutted = "wording_gutted",
        /// Too much of an age would go.
        LossLimit = "loss_limit",
        /// Something would go, which is asked about first.
        WordsLost = "words_lost",
        /// A text is longer than it may be.
        TooLong = "too_long",
        /// The session is over.
        SessionOver = "session_over",
    }
}

impl Refusal {
    /// The wire code.
    pub fn code(&self) -> &'static str {
        let code = match self {
            Self::SessionOver => RefusalCode::SessionOver,
            Self::UnknownTool { .. } => RefusalCode::UnknownTool,
            Self::Mode { .. } | Self::NotDoubled { .. } => RefusalCode::Mode,
            Self::EditCap { .. } => RefusalCode::EditCap,
            // What is wrong with a merge is which memories are named together, and so an argument.
            Self::InvalidArgument(_) | Self::NotMerged { .. } => RefusalCode::InvalidArgument,
            Self::TooLong(_) => RefusalCode::TooLong,
            Self::NotFound { .. } => RefusalCode::NotFound,
            Self::NotCore { .. } => RefusalCode::NotCore,
            Self::Constitutional { .. } | Self::NotTightened { .. } | Self::WeakOrigin { .. } => {
                RefusalCode::Constitutional
            }
            Self::Immutable { .. } => RefusalCode::Immutable,
            Self::WordsAdded { .. } => RefusalCode::WordsAdded,
            Self::WordingGutted { .. } => RefusalCode::WordingGutted,
            Self::LossLimit { .. } => RefusalCode::LossLimit,
            Self::WordsLost { .. } => RefusalCode::WordsLost,
        };
        code.as_str()
    }

    /// The whole text for the model, with the words that it concerns quoted as data (SPEC 3.6).
    pub fn for_agent(&self) -> PrivateText {
        let mut message = self.to_string();
        let mut add = |sentence: String| {
            message.push(' ');
            message.push_str(&sentence);
        };
        let leave = match self {
            Self::NotTightened { lost, added, .. } => {
                if !lost.is_empty() {
                    add(format!("This would be lost: {}.", quoted(lost)));
                }
                if !added.is_empty() {
                    add(format!("This was not in it: {}.", quoted(added)));
                }
                add("Leave it as it is.".to_owned());
                &None
            }
            Self::WordsAdded {
                added,
                surplus,
                passes,
                leave,
            } => {
                if !added.is_empty() {
                    add(format!(
                        "Not said there in this way: {}. Use the sentences as they stand; refining removes and unites, it does not reword.",
                        quoted(added)
                    ));
                }
                if let Some((written, together)) = surplus {
                    add(format!(
                        "It has {written} words that count, and what it replaces has {together}; say nothing twice."
                    ));
                }
                add(would_pass(passes));
                leave
            }
            Self::WordingGutted {
                lost,
                would_say,
                passes,
                leave,
            } => {
                add(would_go(lost));
                add(would_stand(would_say));
                add(would_pass(passes));
                leave
            }
            Self::LossLimit {
                lost,
                allowance,
                leave,
            } => {
                add(would_go(lost));
                add(format!(
                    "Of what is as old as that, this session can still let go of {} words, and this year {}. Keep these words, or leave the memory as it is.",
                    allowance.session_words, allowance.year_words
                ));
                leave
            }
            Self::WordsLost {
                lost,
                second,
                confirm,
                leave,
            } => {
                if lost.is_empty() {
                    add(format!(
                        "Only marks inside of a sentence would change, which can change what it says: {}.",
                        quoted(&second.marks)
                    ));
                } else {
                    add(would_go(lost));
                }
                match &second.nearest {
                    Some(near) => add(near.sentence()),
                    None => add(would_stand(&second.would_say)),
                }
                if let Some(text) = &second.passes {
                    add(format!("This text would pass: {}.", quote(text.expose())));
                }
                add(format!(
                    "If it is really to go, make the same call again with confirm {confirm:?}. Leaving it as it is is fine."
                ));
                leave
            }
            Self::NotDoubled { nearest, .. } => {
                if let Some(near) = nearest {
                    add(near.sentence());
                }
                add("Leave it as it is; that is fine.".to_owned());
                &None
            }
            _ => &None,
        };
        if let Some(number) = leave {
            add(format!(
                "{number} was refused more than once: leave it as it is, and go on with another one or complete."
            ));
        }
        message.into()
    }
}

impl NearestMemory {
    fn sentence(&self) -> String {
        match self.number {
            Some(number) if self.says_some => {
                format!("{number} says all of it but {}.", quoted(&self.lacks))
            }
            _ => "No other memory says any of it in these words.".to_owned(),
        }
    }
}

/// Most sentences that an answer shows; what a whole long memory would lose is told by its beginning.
// The fields beside the text hold all sentences (`RefusalDetails`).
const SHOWN: usize = 6;

fn would_go(lost: &[LostWords]) -> String {
    let shown = lost.iter().take(SHOWN).map(|lost| {
        if lost.words.is_empty() {
            return quote(lost.sentence.expose());
        }
        format!(
            "{} of {}",
            quoted(&lost.words),
            quote(lost.sentence.expose())
        )
    });
    let shown: Vec<String> = shown.collect();
    let more = lost.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!("; and of {more} more sentences")
    } else {
        String::new()
    };
    format!("Would go: {}{more}.", shown.join("; "))
}

fn would_stand(would_say: &[PrivateText]) -> String {
    if would_say.is_empty() {
        return "Nothing of it would be said.".to_owned();
    }
    format!("It would then say: {}.", quoted(would_say))
}

fn would_pass(passes: &Option<PrivateText>) -> String {
    match passes {
        Some(text) => format!(
            "This text would pass: {}. Leaving it as it is is fine, too.",
            quote(text.expose())
        ),
        None => "Leave it as it is; that is fine.".to_owned(),
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

fn quoted(texts: &[PrivateText]) -> String {
    // Quoted, since they are memories' words in a sentence of Memoir's: none may read as a part of it.
    let texts: Vec<String> = texts.iter().map(|text| quote(text.expose())).collect();
    texts.join(", ")
}

fn list(numbers: &[Number]) -> String {
    numbers
        .iter()
        .map(Number::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
