//! Signed notes, C2SP `signed-note` 1.0, with ed25519 and one key of our own.

use std::{fmt, str::FromStr};

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::text::{hex, read_hex};

/// The signature type ed25519 of the specification.
const ED25519: u8 = 1;
/// A signature line begins with an em dash and a space.
const LINE_START: &str = "\u{2014} ";
/// Longer notes are refused unread. Room for more than the sixteen signatures of 5 kB that the
/// specification asks to accept.
const LONGEST_NOTE_BYTES: usize = 1 << 20;
/// More signatures are refused unread, as in the implementation of Go.
const MOST_SIGNATURES: usize = 100;

/// The key that signs checkpoints. Wiped when dropped; `Debug` prints its name only.
#[derive(derive_more::Debug)]
#[debug("LogKey({})", self.name())]
pub struct LogKey {
    verifier: LogVerifier,
    /// On the heap, so that moving it leaves no copies behind.
    signing: Box<SigningKey>,
}

/// The public half of a [`LogKey`]. `Display` and `FromStr` use the form of the specification: `name+hash+key`.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("{self}")]
pub struct LogVerifier {
    name: String,
    key: VerifyingKey,
}

/// A name that a key cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a log's name must have a character, and neither white space, control characters nor `+`")]
pub struct InvalidName;

/// A text that is no public key of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a log's public key: expected `name+hash+key` of type ed25519")]
pub struct InvalidVerifier;

/// Why a note is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NoteError {
    #[error("not a signed note: {0}")]
    Malformed(&'static str),
    #[error("not signed by `{0}`")]
    Unsigned(String),
    #[error("the signature of `{0}` does not fit: the note was changed")]
    BadSignature(String),
}

impl LogKey {
    /// From a name, preferably a URL without its scheme, and the seed of RFC 8032.
    ///
    /// # Errors
    /// [`InvalidName`].
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, InvalidName> {
        let signing = Box::new(SigningKey::from_bytes(seed));
        let verifier = LogVerifier::new(name, signing.verifying_key())?;
        Ok(Self { verifier, signing })
    }

    /// The log's name.
    pub fn name(&self) -> &str {
        self.verifier.name()
    }

    /// What others verify with.
    pub fn verifier(&self) -> &LogVerifier {
        &self.verifier
    }

    /// `text`, which must be lines that are all ended, without control characters; an empty line; and the
    /// signature's line.
    pub fn sign(&self, text: &str) -> String {
        let mut signature = self.verifier.key_id().to_vec();
        signature.extend_from_slice(&self.signing.sign(text.as_bytes()).to_bytes());
        let (name, signature) = (self.name(), STANDARD.encode(signature));
        format!("{text}\n{LINE_START}{name} {signature}\n")
    }
}

/// The text and the signatures of a note, all of them read before any is believed.
fn split(note: &[u8]) -> Result<(&str, Vec<SignatureLine<'_>>), NoteError> {
    let malformed = NoteError::Malformed;
    if note.len() > LONGEST_NOTE_BYTES {
        return Err(malformed("too long"));
    }
    let note = str::from_utf8(note).map_err(|_| malformed("not UTF-8"))?;
    if note.bytes().any(|byte| byte < 0x20 && byte != b'\n') {
        return Err(malformed("a control character"));
    }
    // The last empty line, as the specification has it: the text itself may hold others, and signatures none.
    let cut = note.rfind("\n\n").ok_or(malformed("no empty line"))?;
    let (text, signatures) = (&note[..=cut], &note[cut + 2..]);
    let signatures = signatures
        .strip_suffix('\n')
        .ok_or(malformed("its last line is not ended"))?;
    if signatures.split('\n').count() > MOST_SIGNATURES {
        return Err(malformed("too many signatures"));
    }
    let lines: Option<Vec<_>> = signatures.split('\n').map(SignatureLine::parse).collect();
    Ok((text, lines.ok_or(malformed("a signature's line"))?))
}

struct SignatureLine<'a> {
    name: &'a str,
    key_id: [u8; 4],
    signature: Vec<u8>,
}

impl<'a> SignatureLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(LINE_START)?.split_once(' ')?;
        let bytes = STANDARD.decode(encoded).ok()?;
        let (&key_id, signature) = bytes.split_first_chunk()?;
        (is_name(name) && !signature.is_empty()).then(|| Self {
            name,
            key_id,
            signature: signature.to_vec(),
        })
    }
}

impl LogVerifier {
    /// From a name and an ed25519 public key.
    fn new(name: &str, key: VerifyingKey) -> Result<Self, InvalidName> {
        is_name(name)
            .then(|| Self {
                name: name.to_owned(),
                key,
            })
            .ok_or(InvalidName)
    }

    /// The log's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of a note, once the signatures of this key are found to be there and to be right.
    /// Signatures of other keys are passed over.
    ///
    /// # Errors
    /// As said at [`NoteError`].
    pub fn open_note<'a>(&self, note: &'a [u8]) -> Result<&'a str, NoteError> {
        let (text, lines) = split(note)?;
        let mut ours = lines
            .iter()
            .filter(|line| line.name == self.name && line.key_id == self.key_id())
            .peekable();
        if ours.peek().is_none() {
            return Err(NoteError::Unsigned(self.to_string()));
        }
        // All of them, since one that does not fit was forged, whatever another one says.
        if ours.all(|line| self.signed(text, &line.signature)) {
            Ok(text)
        } else {
            Err(NoteError::BadSignature(self.to_string()))
        }
    }

    /// Distinguishes the keys of one name in signature lines.
    fn key_id(&self) -> [u8; 4] {
        let hash = Sha256::new()
            .chain_update(&self.name)
            .chain_update([b'\n', ED25519])
            .chain_update(self.key.as_bytes())
            .finalize();
        [hash[0], hash[1], hash[2], hash[3]]
    }

    fn signed(&self, text: &str, signature: &[u8]) -> bool {
        // Strict: refuses the weak keys and the second forms of a signature that RFC 8032 leaves open.
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify_strict(text.as_bytes(), &signature).is_ok())
    }
}

impl fmt::Display for LogVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![ED25519];
        key.extend_from_slice(self.key.as_bytes());
        let (name, id) = (&self.name, hex(&self.key_id()));
        write!(formatter, "{name}+{}+{}", id.as_str(), STANDARD.encode(key))
    }
}

impl FromStr for LogVerifier {
    type Err = InvalidVerifier;

    fn from_str(text: &str) -> Result<Self, InvalidVerifier> {
        // The key may hold `+`, the name and the hash may not.
        let mut parts = text.trim_ascii().splitn(3, '+');
        let mut part = || parts.next().ok_or(InvalidVerifier);
        let (name, id, key) = (part()?, part()?, part()?);
        let bytes = STANDARD.decode(key).map_err(|_| InvalidVerifier)?;
        let [ED25519, key @ ..] = bytes.as_slice() else {
            return Err(InvalidVerifier);
        };
        let key = VerifyingKey::try_from(key).map_err(|_| InvalidVerifier)?;
        let verifier = Self::new(name, key).map_err(|_| InvalidVerifier)?;
        let mut wanted = [0; 4];
        let is_right = read_hex(id.as_bytes(), &mut wanted) && wanted == verifier.key_id();
        is_right.then_some(verifier).ok_or(InvalidVerifier)
    }
}

fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter != '+' && !letter.is_whitespace() && !letter.is_control();
    !name.is_empty() && name.chars().all(fits)
}
