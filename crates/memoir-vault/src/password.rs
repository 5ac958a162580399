//! Passwords of administrators, kept as Argon2id hashes (PHC strings).

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use zeroize::Zeroizing;

use crate::{Error, Result};

/// Characters that a password must have.
pub const FEWEST_CHARACTERS: usize = 12;
/// Characters that a password may have.
pub(crate) const MOST_CHARACTERS: usize = 1_000;

/// Memory, passes and lanes of new hashes: the first recommendation of OWASP for Argon2id with some to
/// spare. Signing in takes some tens of milliseconds and 46 MiB.
const COST: (u32, u32, u32) = (47_104, 2, 1);

/// A password. Wiped when dropped; `Debug` prints its type's name only.
#[derive(derive_more::Debug)]
#[debug("Password")]
pub struct Password(Zeroizing<String>);

/// A text that cannot be a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a password must have {FEWEST_CHARACTERS} to {MOST_CHARACTERS} characters, this one has {0}"
)]
pub struct InvalidPassword(pub usize);

impl Password {
    /// From a text as it was typed, white space included.
    ///
    /// # Errors
    /// [`InvalidPassword`] where it is too short or too long.
    pub fn from_text(text: &str) -> Result<Self, InvalidPassword> {
        match text.chars().count() {
            FEWEST_CHARACTERS..=MOST_CHARACTERS => Ok(Self(Zeroizing::new(text.to_owned()))),
            length => Err(InvalidPassword(length)),
        }
    }

    /// Its hash, with parameters and a random salt, as a PHC string. Takes tens of milliseconds: not for
    /// a thread that must not block.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn hash(&self) -> Result<String> {
        let hashed = hasher().hash_password(self.0.as_bytes());
        Ok(hashed.map_err(|_| Error::Random)?.to_string())
    }

    /// Whether `hash` is one of this password. `None` is for a user that does not exist: it takes as long, so that the
    /// response time does not reveal names.
    pub fn fits(&self, hash: Option<&str>) -> bool {
        let Some(hash) = hash else {
            // The result is thrown away; without `black_box` the compiler could throw the work away with it.
            let _ = std::hint::black_box(hasher().hash_password(self.0.as_bytes()));
            return false;
        };
        PasswordHash::new(hash)
            // At the cost in the hash, so that older hashes remain valid when `COST` rises. The hash comes out of a
            // sealed row: only Memoir can set the cost of signing in.
            .is_ok_and(|parsed| hasher().verify_password(self.0.as_bytes(), &parsed).is_ok())
    }
}

fn hasher() -> Argon2<'static> {
    let (memory, passes, lanes) = COST;
    // Fails for values out of bounds only, and these are constant; the test below reads them in a hash.
    let params = Params::new(memory, passes, lanes, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_5_5_a_password_fits_its_own_hash_only() {
        let password = Password::from_text("correct horse battery").unwrap();
        let other = Password::from_text("correct horse battery.").unwrap();
        let hash = password.hash().unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=47104,t=2,p=1$"),
            "{hash}"
        );
        assert_ne!(hash, password.hash().unwrap());
        assert!(password.fits(Some(&hash)) && !other.fits(Some(&hash)));
        assert!(!password.fits(None) && !password.fits(Some("rubbish")));
        assert_eq!(
            Password::from_text("short").unwrap_err(),
            InvalidPassword(5)
        );
    }
}
