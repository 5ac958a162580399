//! Vectors of texts by a multilingual E5 small of 4 bits, computed in this process from one file (SPEC 6.5).
//!
//! Owns the file's format, the tokenizer and the encoder. Does not own when vectors are made, which texts they are of,
//! and where they are kept. It reads the model's file, and reads, writes and removes its stamp, and nothing else: no
//! socket, no other program.
//!
//! A file is used only if its SHA-256 is one of [`KNOWN_FILES`], by its stamp or by reading all of it. Nevertheless every
//! length and index of it is checked, so that a file that is changed later gives wrong vectors or an error, and no panic.

mod encoder;
mod file;
mod install;
mod kernel;
mod math;
mod stamp;
mod tokenizer;

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

pub use file::{FileProblem, KNOWN_FILES, KnownFile, ModelFileError};
pub use install::{check, install, install_one_of};
pub use stamp::stamp_path;

use encoder::Encoder;
use file::{Shape, failed};
use tokenizer::Tokenizer;

/// A model that is open. The table of its words, three quarters of the file, stays there and is read by the row; the rest
/// takes some 20 MB of memory.
#[derive(Debug)]
pub struct E5 {
    file: File,
    /// For errors.
    path: PathBuf,
    shape: Shape,
    /// Where the table of words begins, in bytes.
    table_at: u64,
    tokenizer: Tokenizer,
    encoder: Encoder,
}

/// A text on its way to a vector, one window after the other: [`E5::advance`] computes one, so that a caller can give way
/// to more urgent texts between two of them.
#[derive(Debug)]
pub struct TextInProgress {
    tokens: Zeroizing<Vec<u32>>,
    /// How many of the tokens are computed.
    done: usize,
    /// The sum of the windows' means, each as often as it has tokens.
    sum: Zeroizing<Vec<f32>>,
}

impl E5 {
    /// Opens the file, whose SHA-256 must be that of one of the `known`: [`KNOWN_FILES`], but in tests. One that was
    /// checked and did not change since is not read for it.
    ///
    /// # Errors
    /// A [`ModelFileError`] that names the file: it cannot be read, is none of the known ones, or its form is wrong.
    pub fn open_one_of(known: &[KnownFile], path: &Path) -> Result<Self, ModelFileError> {
        let mut file = File::open(path).map_err(failed(path))?;
        if !stamp::fits(&file, known, path) {
            file::recognise(&mut file, known, path)?;
        }
        file::read(file, path)
    }

    /// Reads the tokens of a text, which begins with what distinguishes questions and memories (`query: `, `passage: `).
    pub fn start(&self, text: &str) -> TextInProgress {
        TextInProgress {
            tokens: self.tokenizer.tokens(text),
            done: 0,
            sum: Zeroizing::new(vec![0.0; self.shape.hidden]),
        }
    }

    /// Computes one window of at most 510 tokens; `true` where another one is left.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn advance(&self, text: &mut TextInProgress) -> Result<bool, ModelFileError> {
        let left = text.tokens.get(text.done..).unwrap_or_default();
        if left.is_empty() {
            return Ok(false);
        }
        let window = left.get(..self.shape.window()).unwrap_or(left);
        let mean = self.mean(window)?;
        // Each window counts by its share of the text, so that a short rest at the end does not count as much as the rest.
        let weight = window.len() as f32;
        for (sum, mean) in text.sum.iter_mut().zip(mean.iter()) {
            *sum += weight * mean;
        }
        text.done += window.len();
        Ok(text.done < text.tokens.len())
    }

    /// The vector of a text that [`E5::advance`] has computed, of length 1.
    pub fn finish(&self, text: TextInProgress) -> Zeroizing<Vec<f32>> {
        let mut vector = text.sum;
        let squares: f32 = vector.iter().map(|value| value * value).sum();
        let length = squares.sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|value| *value /= length);
        }
        vector
    }

    /// The mean of what the encoder makes of the tokens and the marks around them.
    fn mean(&self, window: &[u32]) -> Result<Zeroizing<Vec<f32>>, ModelFileError> {
        let marks = self.tokenizer.marks();
        let tokens = [marks.begin].into_iter().chain(window.iter().copied());
        let tokens = tokens.chain([marks.end]);
        let mut states = Zeroizing::new(Vec::with_capacity((window.len() + 2) * self.shape.hidden));
        let mut row = Zeroizing::new(vec![0; self.shape.row_bytes()]);
        for token in tokens {
            let at = self.table_at + u64::from(token) * row.len() as u64;
            let read = self.file.read_exact_at(&mut row, at);
            read.map_err(failed(&self.path))?;
            file::widen(&row, &mut states);
        }
        Ok(self.encoder.mean(&mut states))
    }
}

impl TextInProgress {
    /// The number of its tokens, without the marks around it.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }
}
