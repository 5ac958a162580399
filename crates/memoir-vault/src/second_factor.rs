//! The second factor of administrators: codes that change every half minute (RFC 6238, with SHA-1 and six
//! digits, as every authenticator app knows them), and codes to be kept on paper for when the device that
//! shows the others is lost.
//!
//! It has no clock: times are given, in seconds since 1970. A second factor is stored as bytes, which the caller seals.
//!
//! Stored are the secret, the step of the clock whose code was used last, digests of the recovery codes, and the number
//! of consecutive wrong codes. After ten, the next code of the device must wait a quarter of an hour. Only a user who
//! knows the password can cause that, and a recovery code is accepted nevertheless.

use data_encoding::BASE32_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use totp_rs::{Builder, Secret, Totp};
use zeroize::Zeroizing;

use crate::{Result, secret::randomize};

/// All but letters, digits and what needs no escape anywhere in an address.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// How long a code counts, beside one such time before and after: devices' clocks differ.
const STEP_SECONDS: u64 = 30;
/// Steps of a day: by how much a step that was taken can lie ahead of the one given.
const STEPS_AHEAD: u64 = 24 * 60 * 60 / STEP_SECONDS;
/// Codes of a device have so many digits.
const DIGITS: u8 = 6;
/// Bytes of a secret: as many as HMAC-SHA-1 gives.
const SECRET_BYTES: usize = 20;
/// Codes for when the device is lost.
const RECOVERY_CODES: usize = 10;
/// Random bytes of each of them: none can be found from its digest.
// Eighty bits: sixteen letters of base 32 without padding. A plain SHA-256 will do for so many
// random bits, where a password needs Argon2.
const RECOVERY_BYTES: usize = 10;
/// Consecutive wrong codes that are checked without a wait.
// Ten, as a person mistypes or has a clock that is off; at three chances in a million each they are
// worth nothing to a thief.
const FREE_MISSES: u32 = 10;
/// How long the next one waits after those. At one guess per wait, and three codes of a million valid at a time, an
/// attacker with the password needs some years.
const WAIT_SECONDS: i64 = 15 * 60;
/// The format of the stored bytes.
const FORM: u8 = 1;

/// What a device and Memoir both know. Wiped when dropped; `Debug` prints its type's name only.
#[derive(derive_more::Debug)]
#[debug("FactorSecret")]
pub struct FactorSecret(Zeroizing<[u8; SECRET_BYTES]>);

impl FactorSecret {
    /// A new one of 160 random bits.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn generate() -> Result<Self> {
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        randomize(bytes.as_mut_slice())?;
        Ok(Self(bytes))
    }

    /// From its bytes; `None` where they are not as many.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; SECRET_BYTES] = bytes.try_into().ok()?;
        Some(Self(Zeroizing::new(bytes)))
    }

    /// Its bytes, to be sealed.
    pub fn expose(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// As a person types it into a device: 32 letters and digits.
    pub fn base32(&self) -> Zeroizing<String> {
        Zeroizing::new(BASE32_NOPAD.encode(self.0.as_slice()))
    }

    /// As a device reads it from a picture: the secret, and for whom it is.
    pub fn uri(&self, name: &str) -> Zeroizing<String> {
        let secret = self.base32();
        let name = utf8_percent_encode(name, ESCAPED);
        Zeroizing::new(format!(
            "otpauth://totp/Memoir:{name}?secret={}&issuer=Memoir&algorithm=SHA1&digits={DIGITS}&period={STEP_SECONDS}",
            secret.as_str()
        ))
    }

    /// The step of the clock that `code` is the code of; `None` where it is of none that counts at `seconds`.
    fn step_of(&self, code: &str, seconds: i64) -> Option<u64> {
        self.codes().check(code, u64::try_from(seconds).ok()?)
    }

    /// The code of that time, as a device shows it.
    pub fn code_at(&self, seconds: i64) -> String {
        let seconds = u64::try_from(seconds).unwrap_or_default();
        self.codes().generate(seconds).to_string()
    }

    fn codes(&self) -> Totp {
        // The size of the secret is right by its type: nothing is to be complained of.
        Builder::new()
            .with_secret(Secret::new_stack(*self.0))
            .with_digits(DIGITS)
            .with_step_duration(STEP_SECONDS)
            .with_skew(1)
            .build_noncompliant()
    }
}

/// Codes for when the device is lost, each of which counts once. Shown once; kept as digests. Wiped when
/// dropped; `Debug` prints its type's name only.
#[derive(derive_more::Debug)]
#[debug("RecoveryCodes")]
pub struct RecoveryCodes(Vec<Zeroizing<String>>);

impl RecoveryCodes {
    fn generate() -> Result<Self> {
        let code = |_| {
            let mut bytes = Zeroizing::new([0; RECOVERY_BYTES]);
            randomize(bytes.as_mut_slice())?;
            Ok(Zeroizing::new(BASE32_NOPAD.encode(bytes.as_slice())))
        };
        (0..RECOVERY_CODES)
            .map(code)
            .collect::<Result<_>>()
            .map(Self)
    }

    /// In groups of four, as they are to be written down: `abcd-efgh-ijkl-mnop`.
    pub fn expose(&self) -> impl Iterator<Item = Zeroizing<String>> {
        self.0.iter().map(|code| {
            let mut grouped = String::with_capacity(code.len() + code.len() / 4);
            for (place, letter) in code.char_indices() {
                if place > 0 && place.is_multiple_of(4) {
                    grouped.push('-');
                }
                grouped.push(letter.to_ascii_lowercase());
            }
            Zeroizing::new(grouped)
        })
    }
}

/// What a code came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It counts, and counts no more from now on.
    Right,
    /// It is none, is over, or was used.
    Wrong,
    /// After too many wrong ones no code of a device is checked for that long.
    Wait {
        /// Until the next one is checked.
        seconds: u32,
    },
}

/// The second factor of one user. Every [`SecondFactor::check`] changes it: the new state must be written before the
/// verdict takes effect.
#[derive(derive_more::Debug)]
#[debug("SecondFactor")]
pub struct SecondFactor {
    secret: FactorSecret,
    /// The step of the clock whose code was used last; no older one is valid.
    last_step: u64,
    /// Wrong codes since the last right one, and when the last of them came.
    misses: u32,
    missed_at: i64,
    /// Of the recovery codes that were not used.
    recovery: Vec<[u8; 32]>,
}

impl SecondFactor {
    /// Of a device that shows the right code at `seconds`; that code is used up. `None` for a wrong one.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn of_device(
        secret: FactorSecret,
        code: &str,
        seconds: i64,
    ) -> Result<Option<(Self, RecoveryCodes)>> {
        let Some(last_step) = secret.step_of(&normalised(code), seconds) else {
            return Ok(None);
        };
        let mut made = Self {
            secret,
            last_step,
            misses: 0,
            missed_at: 0,
            recovery: Vec::new(),
        };
        let codes = made.renew_recovery()?;
        Ok(Some((made, codes)))
    }

    /// New recovery codes; the ones before count no more.
    ///
    /// # Errors
    /// [`Error::Random`](crate::Error::Random).
    pub fn renew_recovery(&mut self) -> Result<RecoveryCodes> {
        let codes = RecoveryCodes::generate()?;
        self.recovery = codes.0.iter().map(|code| digest(code)).collect();
        Ok(codes)
    }

    /// How many recovery codes were not used.
    pub fn recovery_left(&self) -> usize {
        self.recovery.len()
    }

    /// Wrong codes since the last right one. Their sender knew the password.
    pub fn misses(&self) -> u32 {
        self.misses
    }

    /// Whether `code`, of the device or a recovery code, is valid at `seconds`. White space and hyphens in it are
    /// ignored. A recovery code is checked despite earlier wrong ones: it cannot be guessed.
    pub fn check(&mut self, code: &str, seconds: i64) -> Verdict {
        // Before the wait, and so checked even while codes of the device are not: eighty bits cannot be guessed, and a
        // user who lost the device must be able to sign in whatever a thief does.
        let code = normalised(code);
        let digest = digest(&code);
        if let Some(place) = self
            .recovery
            .iter()
            .position(|known| known.ct_eq(&digest).into())
        {
            // Removed in the very object that the caller must write before it acts: of two requests with the same code,
            // the row's version lets one succeed.
            self.recovery.remove(place);
            self.misses = 0;
            return Verdict::Right;
        }
        if let Some(seconds) = self.wait(seconds) {
            return Verdict::Wait { seconds };
        }
        match self.secret.step_of(&code, seconds) {
            // A step far ahead was used before the clock was set back: it excludes no code.
            Some(step) if step > self.last_step || self.last_step > step + STEPS_AHEAD => {
                self.last_step = step;
                self.misses = 0;
                Verdict::Right
            }
            _ => {
                self.misses = self.misses.saturating_add(1);
                // A used code counts as wrong too: an observer of a code learns nothing from it.
                self.missed_at = seconds;
                Verdict::Wrong
            }
        }
    }

    /// How long the next code of the device must wait; `None` if it is checked.
    fn wait(&self, seconds: i64) -> Option<u32> {
        if self.misses < FREE_MISSES {
            return None;
        }
        // A clock that was set back makes no wait longer.
        let since = seconds.saturating_sub(self.missed_at).max(0);
        let left = WAIT_SECONDS.saturating_sub(since);
        u32::try_from(left).ok().filter(|left| *left > 0)
    }

    /// Its bytes for storage, to be sealed.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let length = 1 + SECRET_BYTES + 8 + 4 + 8 + self.recovery.len() * 32;
        // Room for all of it from the start, so that growing leaves no copy behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(length));
        bytes.push(FORM);
        bytes.extend_from_slice(self.secret.expose());
        bytes.extend_from_slice(&self.last_step.to_be_bytes());
        bytes.extend_from_slice(&self.misses.to_be_bytes());
        bytes.extend_from_slice(&self.missed_at.to_be_bytes());
        for digest in &self.recovery {
            bytes.extend_from_slice(digest);
        }
        bytes
    }

    /// From stored bytes; `None` for bytes that [`SecondFactor::to_bytes`] does not return.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&form, rest) = bytes.split_first()?;
        let (secret, rest) = rest.split_at_checked(SECRET_BYTES)?;
        let (last_step, rest) = rest.split_first_chunk::<8>()?;
        let (misses, rest) = rest.split_first_chunk::<4>()?;
        let (missed_at, rest) = rest.split_first_chunk::<8>()?;
        let (recovery, remainder) = rest.as_chunks::<32>();
        (form == FORM && remainder.is_empty()).then_some(())?;
        Some(Self {
            secret: FactorSecret::from_bytes(secret)?,
            last_step: u64::from_be_bytes(*last_step),
            misses: u32::from_be_bytes(*misses),
            missed_at: i64::from_be_bytes(*missed_at),
            recovery: recovery.to_vec(),
        })
    }
}

/// A code as it is compared, however it was typed.
fn normalised(code: &str) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(code.len()));
    let kept = code
        .chars()
        .filter(|letter| !letter.is_whitespace() && *letter != '-');
    text.extend(kept.map(|letter| letter.to_ascii_uppercase()));
    text
}

fn digest(code: &str) -> [u8; 32] {
    Sha256::digest(code.as_bytes()).into()
}
