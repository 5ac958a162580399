//! Keys of providers: where they come from and how they are kept from being printed.

use reqwest::header::HeaderValue;
use zeroize::Zeroizing;

/// A provider's key. It has no `Display`, its `Debug` shows nothing, and its memory is cleared when it is dropped. It
/// leaves only as a request header marked sensitive.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("ApiKey(secret)")]
pub struct ApiKey(Zeroizing<String>);

/// Why a text cannot be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKey {
    /// There is nothing but white space.
    #[error("it is empty")]
    Empty,
    /// It has spaces, line breaks or characters beyond ASCII, which no header can carry.
    #[error("it must be printable ASCII without spaces, on one line")]
    Unprintable,
    /// It is over 4,096 characters.
    #[error("it has {0} characters, more than 4,096")]
    TooLong(usize),
}

impl ApiKey {
    /// Takes `text` without the white space around it.
    ///
    /// # Errors
    /// A [`BadKey`], which does not hold the text.
    pub fn new(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        if text.is_empty() {
            return Err(BadKey::Empty);
        }
        if text.len() > 4096 {
            return Err(BadKey::TooLong(text.chars().count()));
        }
        // Here and not where the header is made, so that it is reported as a mistake in the settings and not at the
        // first request.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadKey::Unprintable);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// The header value `prefix` + key, marked sensitive so that HTTP logs leave it out.
    /// `None` never happens for a key made by [`ApiKey::new`].
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        // The header itself keeps a copy that is not cleared: that is the client's, and lives as long as the
        // model does.
        let whole = Zeroizing::new(format!("{prefix}{}", self.0.as_str()));
        let mut value = HeaderValue::from_str(&whole).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_5_1_a_key_prints_nothing_of_itself() {
        let key = ApiKey::new(" sk-canary\n").unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey(secret)");
        let header = key.header("Bearer ").unwrap();
        assert_eq!(header.as_bytes(), b"Bearer sk-canary");
        assert_eq!(format!("{header:?}"), "Sensitive");
    }

    #[test]
    fn spec_6_3_a_key_that_no_header_can_carry_is_refused() {
        assert_eq!(ApiKey::new(" \n").unwrap_err(), BadKey::Empty);
        assert_eq!(ApiKey::new("sk-a\nsk-b").unwrap_err(), BadKey::Unprintable);
        assert_eq!(ApiKey::new("schlüssel").unwrap_err(), BadKey::Unprintable);
        assert_eq!(
            ApiKey::new(&"x".repeat(4097)).unwrap_err(),
            BadKey::TooLong(4097)
        );
    }
}
