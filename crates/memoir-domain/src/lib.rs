//! The rules of Memoir, as pure functions on plain data.
//!
//! No input or output, no clock, no randomness and no identifiers made inside: the caller brings the
//! time and the identifiers, and gets back a decision to carry out.

pub mod private;

pub use private::{PrivateJson, PrivateText};
