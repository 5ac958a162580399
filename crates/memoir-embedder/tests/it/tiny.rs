//! A tiny model file: 64 numbers, two layers, windows of eight tokens, and a dozen pieces.

use std::{fs, path::PathBuf};

use memoir_embedder::KnownFile;
use sha2::{Digest, Sha256};

/// Numbers of a state, between the halves of a network, and tokens of a window.
pub(crate) const HIDDEN: usize = 64;
const INNER: usize = 96;
pub(crate) const POSITIONS: usize = 8;

/// Marks, then pieces with the logarithm of their probability.
const PIECES: [(&str, f32); 12] = [
    ("<s>", 0.0),
    ("<pad>", 0.0),
    ("</s>", 0.0),
    ("<unk>", 0.0),
    ("\u{2581}", -3.0),
    ("\u{2581}bee", -4.0),
    ("\u{2581}b", -4.5),
    ("ee", -3.5),
    ("s", -3.0),
    ("\u{2581}кот", -5.0),
    ("x", -6.0),
    ("\u{2581}honey", -6.0),
];

/// What is replaced before: full-width letters, and what has no width.
const REPLACED: [(char, &str); 3] = [('\t', " "), ('\u{200B}', ""), ('\u{FF42}', "b")];

/// The bytes of the file.
pub(crate) fn bytes() -> Vec<u8> {
    let mut file = b"E5S1".to_vec();
    let mut put = |numbers: &[u32]| {
        numbers
            .iter()
            .for_each(|number| file.extend(number.to_le_bytes()));
    };
    let pieces = PIECES.len() as u32;
    let (hidden, inner, positions) = (HIDDEN as u32, INNER as u32, POSITIONS as u32);
    put(&[1, hidden, 2, hidden / 32, inner, pieces + 4, positions, 1]);
    put(&[1e-12_f32.to_bits(), 32]);
    put(&[pieces, 0, 2, 1, 3]);
    let text: String = PIECES.iter().map(|(piece, _)| *piece).collect();
    put(&[text.len() as u32, 0, 0]);
    let mut end = 0;
    for (piece, _) in PIECES {
        end += piece.len() as u32;
        put(&[end]);
    }
    put(&PIECES.map(|(_, score)| score.to_bits()));
    file.extend(text.bytes());
    let mut replaced = Vec::new();
    for (from, to) in REPLACED {
        replaced.extend(u32::from(from).to_le_bytes());
        replaced.push(to.chars().count() as u8);
        to.chars()
            .for_each(|to| replaced.extend(u32::from(to).to_le_bytes()));
    }
    file.extend((REPLACED.len() as u32).to_le_bytes());
    file.extend((replaced.len() as u32).to_le_bytes());
    file.extend(replaced);

    let tensors = tensors();
    let directory: usize = tensors.iter().map(|(name, ..)| 2 + name.len() + 21).sum();
    let mut at = file.len() + 4 + directory;
    file.extend((tensors.len() as u32).to_le_bytes());
    for (name, kind, count, data) in &tensors {
        file.extend((name.len() as u16).to_le_bytes());
        file.extend(name.bytes());
        file.push(*kind);
        file.extend((*count as u32).to_le_bytes());
        file.extend((at as u64).to_le_bytes());
        file.extend((data.len() as u64).to_le_bytes());
        at += data.len();
    }
    tensors.iter().for_each(|(.., data)| file.extend(data));
    file
}

/// Name, kind (1: blocks of four bits), numbers, bytes.
fn tensors() -> Vec<(String, u8, usize, Vec<u8>)> {
    let mut seed = 1_u32;
    let mut drawn = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) as u8
    };
    let mut found = Vec::new();
    let mut packed = |name: String, count: usize| {
        let mut data = Vec::new();
        for _ in 0..count / 32 {
            // 0.0155 in 16 bits.
            data.extend(0x23F0_u16.to_le_bytes());
            data.extend((0..16).map(|_| drawn()));
        }
        (name, 1, count, data)
    };
    let floats = |name: String, count: usize, of: &dyn Fn(usize) -> f32| {
        let data = (0..count).flat_map(|at| of(at).to_le_bytes()).collect();
        (name, 0, count, data)
    };
    found.push(packed("emb.word".to_owned(), (PIECES.len() + 4) * HIDDEN));
    let wave = |at: usize| (at as f32 * 0.7).sin() / 9.0;
    found.push(floats("emb.pos".to_owned(), POSITIONS * HIDDEN, &wave));
    found.push(floats("emb.type".to_owned(), HIDDEN, &|_| 0.01));
    found.push(floats("emb.ln.w".to_owned(), HIDDEN, &|_| 1.0));
    found.push(floats("emb.ln.b".to_owned(), HIDDEN, &|_| 0.0));
    for layer in 0..2 {
        let parts = [
            ("q", HIDDEN, HIDDEN),
            ("k", HIDDEN, HIDDEN),
            ("v", HIDDEN, HIDDEN),
        ];
        let parts = parts.into_iter().chain([
            ("ao", HIDDEN, HIDDEN),
            ("fi", HIDDEN, INNER),
            ("fo", INNER, HIDDEN),
        ]);
        for (part, inputs, outputs) in parts {
            found.push(packed(format!("l{layer}.{part}.w"), inputs * outputs));
            found.push(floats(format!("l{layer}.{part}.b"), outputs, &wave));
        }
        for part in ["aln", "oln"] {
            found.push(floats(format!("l{layer}.{part}.w"), HIDDEN, &|_| 1.0));
            found.push(floats(format!("l{layer}.{part}.b"), HIDDEN, &|_| 0.0));
        }
    }
    found
}

/// What makes these bytes a known file.
pub(crate) fn known(bytes: &[u8]) -> KnownFile {
    KnownFile {
        file_name: "tiny-q4.bin",
        about: "a file of a test",
        licence: "none",
        bytes: bytes.len() as u64,
        sha256: Sha256::digest(bytes).into(),
    }
}

/// The tiny file in a folder of its own.
pub(crate) fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny-q4.bin");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}
