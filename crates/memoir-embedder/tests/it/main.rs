//! The model's file, its tokenizer and its vectors: on a tiny file that the tests write, and on the real one where
//! `MEMOIR_TEST_E5` names it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod real;
mod tiny;
