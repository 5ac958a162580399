//! A string that is kept in place while it is short, as nearly all words and keys are.
//!
//! Owns the storage only: two of them are equal exactly if their text is.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// How many bytes are kept in place.
const ROOM: usize = 22;

/// A short string. A text that fits is always kept in place, so that equality needs no look at it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Short {
    Inline { len: u8, bytes: [u8; ROOM] },
    Heap(String),
}

impl Short {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Short::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(&[]),
            Short::Heap(text) => text.as_bytes(),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            // Only whole strings are copied in, so this always is UTF-8.
            Short::Inline { .. } => std::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Short::Heap(text) => text,
        }
    }

    pub(crate) fn push_str(&mut self, more: &str) {
        match self {
            Short::Heap(text) => text.push_str(more),
            Short::Inline { len, bytes } => {
                let from = usize::from(*len);
                let to = from + more.len();
                if let Some(place) = bytes.get_mut(from..to) {
                    place.copy_from_slice(more.as_bytes());
                    *len = to as u8;
                } else {
                    *self = Short::Heap([self.as_str(), more].concat());
                }
            }
        }
    }
}

impl Deref for Short {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

/// Hashes as the text does, so that a set of short strings can be asked for any text.
impl Hash for Short {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for Short {
    fn borrow(&self) -> &str {
        self
    }
}

impl Default for Short {
    fn default() -> Self {
        Short::Inline {
            len: 0,
            bytes: [0; ROOM],
        }
    }
}

impl From<&str> for Short {
    fn from(text: &str) -> Self {
        let mut short = Short::default();
        short.push_str(text);
        short
    }
}

impl From<String> for Short {
    fn from(text: String) -> Self {
        if text.len() > ROOM {
            Short::Heap(text)
        } else {
            Short::from(text.as_str())
        }
    }
}

impl From<Cow<'_, str>> for Short {
    fn from(text: Cow<'_, str>) -> Self {
        match text {
            Cow::Borrowed(text) => text.into(),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl From<fmt::Arguments<'_>> for Short {
    fn from(text: fmt::Arguments<'_>) -> Self {
        let mut short = Short::default();
        // Writing into a string does not fail.
        let _ = fmt::Write::write_fmt(&mut short, text);
        short
    }
}

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl PartialEq<str> for Short {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Short {
    /// Prints the length only, because memory text is never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.as_bytes().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_3_12_a_short_string_is_its_text_however_it_was_made() {
        let text = "a\u{e4}\u{4e0d}b".repeat(12);
        let ends = text.char_indices().map(|(n, _)| n).chain([text.len()]);
        for end in ends {
            let whole = &text[..end];
            let mut pieced = Short::default();
            for c in whole.chars() {
                pieced.push_str(c.encode_utf8(&mut [0; 4]));
            }
            for short in [
                Short::from(whole),
                Short::from(whole.to_owned()),
                Short::from(format_args!("{whole}")),
                pieced,
            ] {
                assert_eq!(short.as_str(), whole);
                assert!(short == *whole);
                assert_eq!(matches!(short, Short::Inline { .. }), end <= ROOM);
            }
        }
    }
}
