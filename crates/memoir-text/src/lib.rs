//! The words of a text in fifteen languages, and what follows from them.
//!
//! Owns cutting a text into words in every script, the tables of the languages, and five answers: the terms by
//! which a text is found ([`Cut`]), whether it has a word of relative time ([`has_relative_time`]), whether it says
//! who it is about ([`unnamed_subject`]), whether two texts are the same text ([`is_same_text`], SPEC 1), and whether a
//! summary brings in what its sources lack ([`unsupported`], SPEC 3.9 a).
//!
//! It knows nothing of memories, sessions or limits, compares no meaning, is pure and deterministic, and does no
//! input or output.

mod dates;
mod fold;
mod language;
mod languages;
mod lexicon;
mod names;
mod numbers;
mod quotes;
mod reading;
mod relative;
mod same;
mod scan;
mod stem;
mod subject;
mod summary;
mod terms;

pub use language::Language;
pub use relative::has_relative_time;
pub use same::{is_same_text, lower, same_text_key, same_text_key_ignoring_case};
pub use stem::stem_into;
pub use subject::unnamed_subject;
pub use summary::{Allowed, SummarySource, unsupported};
pub use terms::{
    Cut, Term, TermKind, corrects, has_compounds, is_function_pair, is_function_word, is_stemmed,
    key, stem_key,
};
