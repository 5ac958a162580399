//! What must never be printed, and what must be wiped.

use std::fmt::Debug;

use memoir_vault::{
    MasterKey, MasterSource,
    log::LogKey,
    seal::Nonce,
    token::{
        ConnectionHandle, ConnectionPart, PresentedPart, TokenSecret, browser_digest_of, digest_of,
        fits_challenge, form_token,
    },
};

use crate::Vault;

#[test]
fn spec_5_3_debug_prints_no_secret() {
    let vault = Vault::new();
    let bytes = *b"0123456789abcdef01234567";
    let master = MasterKey::from_text(&"5a".repeat(32), "text").unwrap();
    let log = LogKey::from_seed("memoir.example/log", &[7; 32]).unwrap();
    let printed = |value: &dyn Debug| format!("{value:?} {value:#?}");
    assert_eq!(printed(&master), "MasterKey MasterKey");
    assert_eq!(printed(&vault.key(1, 2)), "AgentKey AgentKey");
    assert_eq!(printed(&Nonce::from_random(bytes)), "Nonce Nonce");
    assert_eq!(format!("{log:?}"), "LogKey(memoir.example/log)");
    assert_eq!(
        format!("{:?}", MasterSource::Given(master)),
        "Given(MasterKey)"
    );
    assert_eq!(
        format!("{:?}", vault.store),
        format!("KeyStore {{ path: {:?}, .. }}", vault.path())
    );
}

/// Does not compile where a feature of a dependency is lost.
#[test]
fn spec_5_3_keys_are_wiped_after_use() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() {}
    // Of archives, which are sealed piece by piece.
    wiped::<chacha20poly1305::XChaCha20Poly1305>();
    wiped::<ed25519_dalek::SigningKey>();
    wiped::<sha2::Sha256>();
    wiped::<blake2::Blake2bVarCore>();
    wiped::<zeroize::Zeroizing<Vec<argon2::Block>>>();
    wiped::<memoir_domain::text::wiped::Wiped<u8>>();
}

#[test]
fn spec_5_5_a_token_is_known_by_its_digest_alone() {
    let (one, other) = (
        TokenSecret::generate().unwrap(),
        TokenSecret::generate().unwrap(),
    );
    assert_eq!(digest_of(one.expose()), Some(one.digest()));
    assert_ne!(one.digest(), other.digest());
    assert_eq!(one.expose().len(), "memoir_".len() + 43);
    assert_eq!(format!("{one:?}"), "TokenSecret");
    assert_eq!(digest_of("Bearer"), None);
    assert_eq!(digest_of(&format!("memoir_{}", "a".repeat(200))), None);
}

#[test]
fn a_links_secret_is_itself_alone_and_no_token() {
    let link = TokenSecret::generate_for_link().unwrap();
    let secret = link.expose();
    assert_eq!(secret.len(), 43);
    assert!(link.is(secret));
    for other in ["", &secret[..42], &format!("{secret}A"), "memoir_"] {
        assert!(!link.is(other));
    }
    assert_eq!((digest_of(secret), browser_digest_of(secret)), (None, None));
}

#[test]
fn spec_5_5_a_secret_of_a_connection_is_of_one_part_and_no_token() {
    let handle = ConnectionHandle::generate().unwrap();
    let parts = [
        ConnectionPart::Code,
        ConnectionPart::Access,
        ConnectionPart::Refresh,
    ];
    for part in parts {
        let (one, other) = (handle.secret(part).unwrap(), handle.secret(part).unwrap());
        assert_ne!(one.digest(), other.digest());
        for wanted in parts {
            let read = PresentedPart::read(wanted, one.expose());
            assert_eq!(read.is_some(), wanted == part);
            if let Some(read) = read {
                assert_eq!(read.handle.digest(), handle.digest());
                assert_eq!(read.digest, one.digest());
            }
        }
        assert_eq!(digest_of(one.expose()), None);
        assert_eq!(browser_digest_of(one.expose()), None);
        let cut = &one.expose()[..one.expose().len() - 4];
        assert!(PresentedPart::read(part, cut).is_none());
    }
}

#[test]
fn a_verifier_fits_its_challenge_alone() {
    // The example of RFC 7636, appendix B.
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    assert!(fits_challenge(verifier, challenge));
    assert!(!fits_challenge(&verifier[1..], challenge));
    assert!(!fits_challenge(challenge, challenge));
    assert!(!fits_challenge(&format!("{verifier} "), challenge));
    assert!(!fits_challenge("", challenge));
}

#[test]
fn a_browsers_secret_is_no_token() {
    let token = TokenSecret::generate().unwrap();
    let browsers = TokenSecret::generate_for_browser().unwrap();
    assert_eq!(
        browser_digest_of(browsers.expose()),
        Some(browsers.digest())
    );
    assert_eq!(digest_of(browsers.expose()), None);
    assert_eq!(browser_digest_of(token.expose()), None);
    let form = form_token(browsers.expose());
    assert_eq!(form, form_token(browsers.expose()));
    assert_ne!(form, form_token(token.expose()));
    assert!(!browsers.expose().contains(&form));
}
