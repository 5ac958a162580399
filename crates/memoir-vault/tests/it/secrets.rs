//! What must never be printed, and what must be wiped.

use std::fmt::Debug;

use memoir_vault::{MasterKey, MasterSource, log::LogKey, seal::Nonce};

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
    wiped::<zeroize::Zeroizing<Vec<u8>>>();
}
