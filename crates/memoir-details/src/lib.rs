//! What a text says, sentence by sentence and word by word, and what an edit would lose of it or
//! add to it (SPEC 3.12).
//!
//! This crate owns reading a text into sentences and words, in every script, and the one judgement
//! on what a written text still says of the texts that it replaces. It compares words in their
//! sentences, never meaning, so that no model can talk its way around it. It knows nothing of
//! memories, sessions or limits, is pure and deterministic, and does no input or output.
//!
//! The engine (`scan`, `words`, `align`, `says`, `judge`) knows no language; each language is one
//! table of words in `languages`, with an example for every row.
//!
//! [`Reading`] takes a text apart once, by the language that was decided when it was saved: sentences, words
//! in their order by small tables of forms, free words, turning words, names, numbers, quotations.
//! [`judge()`] holds an edit's texts before and after against the wordings and gives what is lost, added or
//! gutted; `passing` makes a text that would pass.
//!
//! [`Cut`] is the same text cut up for finding it: words by their stems, scripts without spaces by their
//! characters. It widens what finds what, and nothing is ever judged by it.
//!
//! `cargo test -p memoir-details -- --nocapture` prints how it does on its labelled pairs, and `cargo bench
//! -p memoir-details` what it costs. `docs/kept.md` tells what eleven hostile characters leave of an agent in
//! twenty weeks; the test that plays them writes it.

mod align;
mod fold;
mod judge;
mod keys;
mod language;
mod languages;
mod lexicon;
mod passing;
mod reading;
mod says;
mod scan;
mod stem;
mod terms;
mod words;

pub use judge::{Judgement, Loss, MarkChange, Replaced, judge, padding, unsaid, unsaid_words};
pub use keys::{RequiredWords, SentenceKeys, TextKeys};
pub use language::Language;
pub use passing::{differing, passing};
pub use reading::Reading;
pub use terms::{
    Cut, Term, TermKind, corrects, has_compounds, is_function_pair, is_function_word, is_stemmed,
    key, stem_into, stem_key,
};
