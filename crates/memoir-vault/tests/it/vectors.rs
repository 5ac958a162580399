//! The published vectors of the ciphers, through the same crates and settings that the vault uses.

use argon2::{Algorithm, Argon2, AssociatedData, Block, ParamsBuilder, Version};
use chacha20poly1305::{
    XChaCha20Poly1305,
    aead::{AeadInOut, KeyInit},
};
use ed25519_dalek::{Signature, Signer, SigningKey};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};

use crate::{hex, unhex};

/// draft-irtf-cfrg-xchacha-03, appendix A.3.1.
#[test]
fn spec_5_3_xchacha20_poly1305_gives_the_bytes_of_its_draft() {
    let key = unhex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
    let nonce: [u8; 24] = unhex("404142434445464748494a4b4c4d4e4f5051525354555657")
        .try_into()
        .unwrap();
    let associated = unhex("50515253c0c1c2c3c4c5c6c7");
    let mut text = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.".to_vec();
    let cipher = XChaCha20Poly1305::new_from_slice(&key).unwrap();
    let tag = cipher
        .encrypt_inout_detached((&nonce).into(), &associated, text.as_mut_slice().into())
        .unwrap();
    assert_eq!(
        hex(&text),
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb\
         731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452\
         2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9\
         21f9664c97637da9768812f615c68b13b52e"
    );
    assert_eq!(hex(&tag), "c0875924c1c7987947deafd8780acf49");
}

/// FIPS 180-2, appendix B.
#[test]
fn spec_4_2_sha256_gives_the_digests_of_its_standard() {
    let million = "a".repeat(1_000_000);
    for (message, expected) in [
        (
            "abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (
            &million,
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        ),
    ] {
        assert_eq!(hex(&Sha256::digest(message)), expected);
    }
}

/// RFC 9106, section 5.3.
#[test]
fn argon2id_gives_the_tag_of_rfc_9106() {
    let params = ParamsBuilder::new()
        .m_cost(32)
        .t_cost(3)
        .p_cost(4)
        .data(AssociatedData::new(&[4; 12]).unwrap())
        .build()
        .unwrap();
    let mut tag = [0; 32];
    Argon2::new_with_secret(&[3; 8], Algorithm::Argon2id, Version::V0x13, params)
        .unwrap()
        .hash_password_into_with_memory(&[1; 32], &[2; 16], &mut tag, vec![Block::default(); 32])
        .unwrap();
    assert_eq!(
        hex(&tag),
        "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"
    );
}

/// RFC 5869, appendix A.1 to A.3.
#[test]
fn spec_5_3_hkdf_sha256_gives_the_bytes_of_rfc_5869() {
    let count = |range: std::ops::Range<u8>| range.map(|byte| format!("{byte:02x}")).collect();
    let long: [String; 3] = [count(0x00..0x50), count(0x60..0xb0), {
        (0xb0..=0xff_u8).map(|byte| format!("{byte:02x}")).collect()
    }];
    let repeated = "0b".repeat(22);
    for (key, salt, info, expected) in [
        (
            repeated.as_str(),
            "000102030405060708090a0b0c",
            "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            &long[0],
            &long[1],
            &long[2],
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c\
             59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71\
             cc30c58179ec3e87c14c01d5c1f3434f1d87",
        ),
        (
            &repeated,
            "",
            "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ] {
        let expected = unhex(expected);
        let mut output = vec![0; expected.len()];
        Hkdf::<Sha256>::new(Some(&unhex(salt)), &unhex(key))
            .expand(&unhex(info), &mut output)
            .unwrap();
        assert_eq!(hex(&output), hex(&expected));
    }
}

/// RFC 8032, section 7.1, tests 1 to 3.
#[test]
fn spec_4_2_ed25519_gives_the_signatures_of_rfc_8032() {
    for (seed, public, message, signature) in [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ] {
        let key = SigningKey::from_bytes(&unhex(seed).try_into().unwrap());
        let message = unhex(message);
        assert_eq!(hex(key.verifying_key().as_bytes()), public);
        let made = key.sign(&message);
        assert_eq!(hex(&made.to_bytes()), signature);
        key.verifying_key().verify_strict(&message, &made).unwrap();
        // The second form of the same signature, which RFC 8032, section 5.1.7, refuses.
        let mut second = made.to_bytes();
        add_order(&mut second[32..]);
        let second = Signature::from_bytes(&second);
        let refused = key.verifying_key().verify_strict(&message, &second);
        assert!(refused.is_err());
    }
}

/// Adds the order of the group, 2^252 + 27742317777372353535851937790883648493.
fn add_order(scalar: &mut [u8]) {
    let mut order = unhex("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed");
    order.reverse();
    let mut carry = 0;
    for (byte, add) in scalar.iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
}
