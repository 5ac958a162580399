//! What is sealed opens where it was sealed, and nowhere else.

use std::collections::HashSet;

use memoir_domain::{SessionId, memory::Number};
use memoir_vault::seal::{OVERHEAD_BYTES, OpenError, SealContext, SealedRow, VERSION};
use proptest::prelude::*;

use crate::{Vault, nonce};

const TEXT: &[u8] = b"the canary sings at four in the morning";

fn place(row: SealedRow, version: u64) -> SealContext {
    SealContext { row, version }
}

#[test]
fn spec_5_3_what_is_sealed_opens_at_its_place() {
    let key = Vault::new().key(1, 2);
    for row in [
        SealedRow::Agent,
        SealedRow::Prompts,
        SealedRow::Memory(Number(7)),
        SealedRow::Session(SessionId::from_bytes([9; 16])),
        SealedRow::Record(7),
    ] {
        for text in [TEXT, b"", &[0; 100_000]] {
            let sealed = key.seal(&place(row, 3), b"", text, nonce());
            assert_eq!(sealed.len(), text.len() + OVERHEAD_BYTES);
            assert_eq!(sealed[0], VERSION);
            assert_eq!(&*key.open(&place(row, 3), b"", &sealed).unwrap(), text);
        }
    }
}

#[test]
fn spec_5_3_a_sealed_text_shows_nothing_of_the_text() {
    let key = Vault::new().key(1, 2);
    let at = place(SealedRow::Memory(Number(1)), 1);
    let sealed = key.seal(&at, b"", TEXT, nonce());
    assert!(
        !sealed
            .windows(5)
            .any(|window| TEXT.windows(5).any(|part| part == window))
    );
    // Twice the same text is not twice the same bytes.
    assert_ne!(sealed[25..], key.seal(&at, b"", TEXT, nonce())[25..]);
}

#[test]
fn spec_5_3_a_sealed_row_cannot_be_changed_in_any_byte() {
    let key = Vault::new().key(1, 2);
    let at = place(SealedRow::Memory(Number(1)), 1);
    let sealed = key.seal(&at, b"", TEXT, nonce());
    for position in 0..sealed.len() {
        for bit in 0..8 {
            let mut changed = sealed.clone();
            changed[position] ^= 1 << bit;
            let expected = match position {
                0 => OpenError::UnknownForm {
                    place: at,
                    found: changed[0],
                },
                _ => OpenError::NotAuthentic(at),
            };
            assert_eq!(
                key.open(&at, b"", &changed).unwrap_err(),
                expected,
                "byte {position}"
            );
        }
    }
    for length in 0..sealed.len() {
        assert!(
            key.open(&at, b"", &sealed[..length]).is_err(),
            "{length} bytes"
        );
    }
    assert_eq!(
        key.open(&at, b"", &sealed[..40]).unwrap_err(),
        OpenError::Short(at)
    );
    assert!(
        key.open(&at, b"", &[sealed.as_slice(), &[0]].concat())
            .is_err()
    );
}

#[test]
fn spec_5_3_rows_cannot_be_swapped_or_replayed() {
    let vault = Vault::new();
    let session = |number: u64| {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        SealedRow::Session(SessionId::from_bytes(bytes))
    };
    let mut places = Vec::new();
    for version in [0, 1, 2, 1 << 56, u64::MAX] {
        places.push(place(SealedRow::Agent, version));
        places.push(place(SealedRow::Prompts, version));
        for number in [0, 1, 2, 1 << 56, u64::MAX] {
            // The same number in each of the tables, and a session whose bytes look like a number.
            places.push(place(SealedRow::Memory(Number(number)), version));
            places.push(place(SealedRow::Record(number), version));
            places.push(place(session(number), version));
        }
    }
    assert_eq!(places.iter().collect::<HashSet<_>>().len(), places.len());
    let key = vault.key(1, 2);
    let sealed: Vec<Vec<u8>> = places
        .iter()
        .map(|place| key.seal(place, b"", TEXT, nonce()))
        .collect();
    for (made_at, sealed) in places.iter().zip(&sealed) {
        for at in &places {
            let opens = key.open(at, b"", sealed).is_ok();
            assert_eq!(opens, made_at == at, "made at {made_at}, opened at {at}");
        }
    }
    // Another agent, another account.
    for other in [vault.key(1, 3), vault.key(2, 2), vault.key(2, 1)] {
        assert_eq!(
            other.open(&places[0], b"", &sealed[0]).unwrap_err(),
            OpenError::NotAuthentic(places[0])
        );
    }
}

#[test]
fn spec_5_3_digests_and_texts_have_keys_of_their_own_per_agent() {
    let vault = Vault::new();
    let keys = [vault.key(1, 2), vault.key(1, 3), vault.key(2, 2)];
    let digests: HashSet<[u8; 32]> = keys.iter().map(|key| *key.digest_key()).collect();
    assert_eq!(digests.len(), keys.len());
    let again = vault.again().key(keys[0].scope()).unwrap().unwrap();
    assert_eq!(again.digest_key(), keys[0].digest_key());
}

#[test]
fn spec_5_1_errors_name_the_place_and_no_text() {
    let key = Vault::new().key(1, 2);
    let at = place(SealedRow::Memory(Number(12)), 3);
    let error = key.open(&at, b"", &[1; 60]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "table `memories`, memory #12, version 3: the row is not authentic: its sealed text or an open column was changed, it was moved here, or sealed with another key"
    );
    let error = key
        .open(&place(SealedRow::Record(4), 1), b"", &[7; 60])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "table `audit_records`, record 4, version 1: the sealed text has the unknown form 7"
    );
    for (row, table) in [
        (SealedRow::Agent, "agents"),
        (SealedRow::Prompts, "agent_prompts"),
    ] {
        let error = key.open(&place(row, 1), b"", &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("table `{table}`, version 1: the sealed text is cut off")
        );
    }
}

/// Where a property changes something: one byte of the row, chosen by a number.
fn flip(bytes: &mut [u8], at: usize) -> bool {
    let length = bytes.len();
    if length > 0 {
        bytes[at % length] ^= 1 << (at % 8);
    }
    length > 0
}

#[test]
fn spec_5_3_open_columns_cannot_be_changed_beside_a_sealed_text() {
    let key = Vault::new().key(1, 2);
    let at = place(SealedRow::Memory(Number(1)), 1);
    let columns = b"core=1;due=2026-11-05";
    let sealed = key.seal(&at, columns, TEXT, nonce());
    // They are bound, not held.
    assert_eq!(sealed.len(), TEXT.len() + OVERHEAD_BYTES);
    assert_eq!(&*key.open(&at, columns, &sealed).unwrap(), TEXT);
    let refused = Err(OpenError::NotAuthentic(at));
    for position in 0..columns.len() {
        for bit in 0..8 {
            let mut changed = *columns;
            changed[position] ^= 1 << bit;
            assert_eq!(key.open(&at, &changed, &sealed).map(drop), refused);
        }
        let cut = &columns[..position];
        assert_eq!(key.open(&at, cut, &sealed).map(drop), refused);
    }
    let longer = [columns.as_slice(), &[0]].concat();
    assert_eq!(key.open(&at, &longer, &sealed).map(drop), refused);
}

#[test]
fn spec_5_3_whatever_byte_of_a_row_is_changed_it_does_not_open() {
    let vault = Vault::new();
    let (key, other) = (vault.key(1, 2), vault.key(1, 3));
    let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
    let row = prop_oneof![
        Just(SealedRow::Agent),
        Just(SealedRow::Prompts),
        any::<u64>().prop_map(|number| SealedRow::Memory(Number(number))),
        any::<[u8; 16]>().prop_map(|bytes| SealedRow::Session(SessionId::from_bytes(bytes))),
        any::<u64>().prop_map(SealedRow::Record),
        any::<u64>().prop_map(SealedRow::Summary),
    ];
    let rows = || row.clone();
    proptest!(|(
        row in rows(), elsewhere in rows(), version: u64, bit in 0..64,
        columns in bytes(), more in bytes(), text in bytes(), position: usize,
    )| {
        let at = place(row, version);
        let sealed = key.seal(&at, &columns, &text, nonce());
        prop_assert_eq!(&*key.open(&at, &columns, &sealed).unwrap(), &text);

        let mut changed = columns.clone();
        if flip(&mut changed, position) {
            prop_assert!(key.open(&at, &changed, &sealed).is_err());
        }
        prop_assert_eq!(key.open(&at, &more, &sealed).is_ok(), more == columns);
        let mut changed = sealed.clone();
        flip(&mut changed, position);
        prop_assert!(key.open(&at, &columns, &changed).is_err());
        let other_version = place(row, version ^ (1_u64 << bit));
        prop_assert!(key.open(&other_version, &columns, &sealed).is_err());
        let other_row = place(elsewhere, version);
        prop_assert_eq!(key.open(&other_row, &columns, &sealed).is_ok(), elsewhere == row);
        prop_assert!(other.open(&at, &columns, &sealed).is_err());
    });
}

#[test]
fn spec_5_3_any_bytes_come_back_and_no_other_bytes_open() {
    let key = Vault::new().key(1, 2);
    let bytes = || proptest::collection::vec(any::<u8>(), 0..600);
    proptest!(|(text in bytes(), noise in bytes(), number: u64, version: u64)| {
        let at = place(SealedRow::Memory(Number(number)), version);
        let sealed = key.seal(&at, b"", &text, nonce());
        prop_assert_eq!(&*key.open(&at, b"", &sealed).unwrap(), &text);
        prop_assert!(key.open(&at, b"", &noise).is_err());
    });
}
