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

mod align;
mod fold;
mod judge;
mod language;
mod languages;
mod lexicon;
mod passing;
mod reading;
mod says;
mod scan;
mod words;

pub use judge::{Judgement, Loss, MarkChange, Replaced, judge, unsaid};
pub use language::Language;
pub use passing::{differing, passing};
pub use reading::Reading;
