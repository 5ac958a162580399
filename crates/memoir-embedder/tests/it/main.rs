//! The model's file, its tokenizer and its vectors: on a tiny file that the tests write, and on the real one where
//! `MEMOIR_TEST_E5` names it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod real;
mod tiny;

use memoir_embedder::{E5, ModelFileError};
use zeroize::Zeroizing;

/// The vector of a text, all windows one after the other.
fn embed(model: &E5, text: &str) -> Result<Zeroizing<Vec<f32>>, ModelFileError> {
    let mut text = model.start(text);
    while model.advance(&mut text)? {}
    Ok(model.finish(text))
}
