//! Signing, as Standard Webhooks specify it.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

const PREFIX: &str = "whsec_";
/// How many bytes a secret may have.
// As the specification of Standard Webhooks has it.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The signing key of a webhook. `Debug` shows nothing of it.
#[derive(Clone, derive_more::Debug)]
#[debug("WebhookSecret")]
pub(super) struct WebhookSecret(Zeroizing<Vec<u8>>);

impl WebhookSecret {
    /// From `whsec_` and 24 to 64 bytes in base64; `None` for anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
        let bytes = Zeroizing::new(STANDARD.decode(encoded).ok()?);
        BYTES.contains(&bytes.len()).then_some(Self(bytes))
    }

    /// The value of `webhook-signature`.
    pub(super) fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        // A key of any length will do for HMAC, so that this cannot fail.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body.as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_is_signed_as_it_says() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = secret.sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(format!("{secret:?}"), "WebhookSecret");
    }

    #[test]
    fn a_secret_has_24_to_64_bytes_in_base64() {
        let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for bytes in [24, 32, 64] {
            assert!(WebhookSecret::parse(&of(bytes)).is_some());
            assert!(WebhookSecret::parse(&of(bytes)[PREFIX.len()..]).is_some());
        }
        for text in [&of(23), &of(65), "", "whsec_", "whsec_!", "hunter2"] {
            assert!(WebhookSecret::parse(text).is_none(), "{text}");
        }
    }
}
