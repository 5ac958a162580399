//! Text as such: how it is compared, quoted, repaired, and never printed; and how a model's response is read.
//! No rule here depends on a memory, an agent or a session.

pub mod answer;
pub mod mend;
pub mod private;
pub mod quote;
pub mod wiped;

use std::{borrow::Cow, ops::Range};

use hmac::{Hmac, KeyInit, Mac};
use memoir_text::lower;
use sha2::Sha256;
use similar::algorithms::{Capture, Compact, Replace, myers};
use unicode_normalization::{UnicodeNormalization, is_nfc_quick};

wire_names! {
    /// When two core memories are the same text (SPEC 3.4), from strict to lax.
    #[derive(PartialOrd, Ord, Default)]
    pub enum DuplicateMatch {
        /// Equal once trimmed and NFC-normalised.
        #[default]
        Exact = "exact" => "exact",
        IgnoreCase = "ignore_case" => "upper and lower case alike",
    }
}

/// `text` in a form that ignores case, in every script that has it.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // By way of upper case `ß` becomes equal to `ss`, and both small sigmas to each other; by way of
    // lower case before it the capital `ẞ`, which is its own upper case, to `ß`. Decomposed, so that
    // a mark that upper case turns into a letter, as the Greek iota subscript, stands last.
    text.nfd()
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == unicode_normalization::IsNormalized::Yes {
        text.into()
    } else {
        text.nfc().collect::<String>().into()
    }
}

/// `text` in a form that is equal for duplicates under `how` (SPEC 3.4), and for nothing else.
pub(crate) fn duplicate_key(text: &str, how: DuplicateMatch) -> Cow<'_, str> {
    let text = nfc(text.trim());
    match how {
        DuplicateMatch::Exact => text,
        DuplicateMatch::IgnoreCase => lower(&text).into(),
    }
}

/// Makes digests with one agent's key. Equal texts of two agents cannot be matched, and without the key a digest
/// reveals nothing (SPEC 3.4, 5.3).
#[derive(Clone, derive_more::Debug)]
#[debug("Digester")]
pub struct Digester(Hmac<Sha256>);

impl Digester {
    /// Under an agent's digest key.
    pub fn new(key: &[u8; 32]) -> Self {
        let padded = hmac::digest::Key::<Hmac<Sha256>>::default();
        let mut block = padded;
        // A key that is shorter than a block is filled up with zeros, as HMAC has it (RFC 2104);
        // given as a block it cannot be of a wrong length.
        block[..32].copy_from_slice(key);
        Self(Hmac::new(&block))
    }

    fn digest(&self, domain: u8, text: &[u8]) -> [u8; 32] {
        // Cloned with the key processed already, which is half of the work for a short text.
        let mut mac = self.0.clone();
        // One byte in front, so that a text's duplicate digest and its identifier digest have nothing in common.
        mac.update(&[domain]);
        mac.update(text);
        mac.finalize().into_bytes().into()
    }

    /// Equal for two texts that are duplicates under `how`.
    pub fn duplicate(&self, text: &str, how: DuplicateMatch) -> [u8; 32] {
        let domain = match how {
            DuplicateMatch::Exact => 1,
            DuplicateMatch::IgnoreCase => 2,
        };
        self.digest(domain, duplicate_key(text, how).as_bytes())
    }

    /// The digest of a request: its plain digest would allow guessing its text.
    pub fn request(&self, plain: &[u8; 32]) -> [u8; 32] {
        self.digest(4, plain)
    }

    /// The digest of a text, for names of files and for keys.
    pub fn message(&self, text: &str) -> [u8; 32] {
        self.digest(5, text.as_bytes())
    }

    /// The digest by which a message of a conversation is known (SPEC 2.6), of the parts that identify it.
    pub fn said(&self, parts: [&str; 4]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(&[7]);
        for part in parts {
            // With its length, so that no end of one part passes for the beginning of the next.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }

    /// The digest by which a program beside the store recognizes a text; it is stored in the open.
    pub fn known_again(&self, text: &str) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.digest(6, text.as_bytes())[..8]);
        u64::from_le_bytes(first)
    }
}

/// The sentences of a text, cut at the marks that end one in several scripts, and between lines.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| ".!?\n。！？।؟".contains(character))
}

/// Thai, Lao, Khmer, kana, Han: written without spaces between words.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(character as u32,
        0x0E00..=0x0EFF | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
        && character.is_alphanumeric()
}

/// The words of a text, with every other character by itself; nothing is omitted.
pub fn pieces(text: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_alphanumeric() && !is_unspaced(character);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|next| !is_part(next)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// Where two sequences differ: the places of the parts that only the left or only the right one has, in their order. At
/// most one of the two is empty.
pub fn gaps(left: &[&str], right: &[&str]) -> Vec<[Range<usize>; 2]> {
    // Only this algorithm is compiled for this type: all of them, for each compared type, would take a megabyte of the
    // binary.
    let mut steps = Compact::new(Replace::new(Capture::new()), left, right);
    let Ok(()) = myers::diff(&mut steps, left, 0..left.len(), right, 0..right.len());
    let steps = steps.into_inner().into_inner().into_ops().into_iter();
    steps
        .map(|step| [step.old_range(), step.new_range()])
        .filter(|[old, new]| left.get(old.clone()) != right.get(new.clone()))
        .collect()
}

/// With a comma between thousands: `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 memory`, `2 memories`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    let what = if number == 1 { one } else { many };
    format!("{} {what}", thousands(number))
}

/// As [`counted`], with the digits of the number together.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_pieces_and_gaps_are_where_two_go_apart() {
        let text = "Ilse's 2 pens,\n紙と糊";
        let pieces_of = pieces(text);
        assert_eq!(pieces_of.concat(), text);
        assert_eq!(pieces_of[..4], ["Ilse", "'", "s", " "]);
        assert_eq!(pieces_of[pieces_of.len() - 3..], ["紙", "と", "糊"]);
        assert_eq!(
            gaps(&["a", "b", "c", "d"], &["a", "x", "c", "d", "e"]),
            [[1..2, 1..2], [4..4, 4..5]]
        );
        assert!(gaps(&["a"], &["a"]).is_empty() && gaps(&[], &[]).is_empty());
    }

    #[test]
    fn without_the_key_of_a_digest_no_text_can_be_tried() {
        let digest = |key| Digester::new(&[key; 32]).duplicate("tea", DuplicateMatch::Exact);
        assert_ne!(digest(7), digest(8));
    }
}
