//! What opens an archive.

use zeroize::Zeroizing;

use crate::{Result, secret::randomize};

/// The letters of Crockford's base 32: none of them can be taken for another one.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Random letters of a generated passphrase, of five bits each.
const GENERATED_LETTERS: usize = 32;
/// Letters between two hyphens.
const GROUP: usize = 4;
/// Characters that a passphrase must have.
const FEWEST_CHARACTERS: usize = 8;

/// A passphrase. Wiped when dropped; `Debug` prints its type's name only.
#[derive(derive_more::Debug)]
#[debug("Passphrase")]
pub struct Passphrase(Zeroizing<String>);

/// A passphrase that is easy to guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a passphrase must have at least {FEWEST_CHARACTERS} characters")]
pub struct InvalidPassphrase;

impl Passphrase {
    /// A new one of 160 random bits, in a form that can be typed: eight groups of four letters and digits.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn generate() -> Result<Self> {
        let mut random = Zeroizing::new([0; GENERATED_LETTERS]);
        randomize(random.as_mut_slice())?;
        // Room for all of it from the start, so that growing leaves no copy behind.
        let mut text = Zeroizing::new(String::with_capacity(GENERATED_LETTERS * 2));
        for (place, byte) in random.iter().enumerate() {
            if place > 0 && place.is_multiple_of(GROUP) {
                text.push('-');
            }
            // 256 is a multiple of 32, so that every letter is as likely as any other.
            text.push(char::from(LETTERS[usize::from(byte % 32)]));
        }
        Ok(Self(text))
    }

    /// From a text as typed or read from a file: a line end after it is not part of it.
    ///
    /// # Errors
    /// [`InvalidPassphrase`] where it has fewer than eight characters.
    pub fn from_text(text: &str) -> Result<Self, InvalidPassphrase> {
        let line = text.strip_suffix('\n');
        let text = line.map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
        let is_long_enough = text.chars().count() >= FEWEST_CHARACTERS;
        is_long_enough
            .then(|| Self(Zeroizing::new(text.to_owned())))
            .ok_or(InvalidPassphrase)
    }

    /// The passphrase itself, to be shown to its owner.
    pub fn expose(&self) -> &str {
        &self.0
    }
}
