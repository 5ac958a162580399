//! Archives: what went in comes out, and nothing that was changed opens.

use std::io::{self, Read, Write};

use memoir_vault::archive::{self, ArchiveError, Cost, InvalidPassphrase, Passphrase, is_archive};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::{hex, unhex};

const PHRASE: &str = "correct horse battery staple";
/// A key in no time: few tests are about its cost.
const CHEAP: Cost = Cost {
    memory_kib: 8,
    passes: 1,
    lanes: 1,
};
const FRAME: usize = 64 << 10;
/// Where the check begins, and the first frame.
const HEADER: usize = 65;
const FRAMES: usize = HEADER + 16;
/// A frame's mark and tag.
const FRAME_OVERHEAD: usize = 4 + 16;

fn phrase(text: &str) -> Passphrase {
    Passphrase::from_text(text).unwrap()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place % 251) as u8).collect()
}

fn seal(plain: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    archive::seal_at(&phrase(PHRASE), CHEAP, &mut sealed, plain).unwrap();
    sealed
}

fn open(sealed: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    archive::open(&phrase(PHRASE), sealed).map(|plain| plain.to_vec())
}

fn refused(sealed: &[u8]) -> String {
    open(sealed).unwrap_err().to_string()
}

/// The frames of an archive.
fn frames(sealed: &[u8]) -> Vec<Vec<u8>> {
    let (whole, mut frames) = (FRAME + FRAME_OVERHEAD, Vec::new());
    for frame in sealed[FRAMES..].chunks(whole) {
        frames.push(frame.to_vec());
    }
    frames
}

fn joined<'a>(sealed: &[u8], frames: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut joined = sealed[..FRAMES].to_vec();
    joined.extend(frames.into_iter().flatten());
    joined
}

#[test]
fn archives_of_every_size_come_back() {
    for (length, frame_count) in [
        (0, 1),
        (1, 1),
        (FRAME - 1, 1),
        (FRAME, 1),
        (FRAME + 1, 2),
        (2 * FRAME, 2),
        ((1 << 20) + 7, 17),
    ] {
        let plain = pattern(length);
        let sealed = seal(&plain);
        assert!(is_archive(&sealed[..16]));
        assert_eq!(
            sealed.len(),
            FRAMES + length + frame_count * FRAME_OVERHEAD,
            "{length}"
        );
        assert!(open(&sealed).unwrap() == plain, "{length}");
        if length > 16 {
            assert!(!sealed.windows(16).any(|window| window == &plain[..16]));
        }
    }
}

#[test]
fn an_archive_is_sealed_at_the_full_cost_unless_told_otherwise() {
    let (phrase, mut sealed) = (Passphrase::generate().unwrap(), Vec::new());
    archive::seal(&phrase, &mut sealed, b"a vow").unwrap();
    // 256 MiB, three passes, four lanes.
    assert_eq!(hex(&sealed[18..30]), "000400000000000300000004");
    assert_eq!(
        *archive::open(&phrase, sealed.as_slice()).unwrap(),
        b"a vow"
    );
    // Nothing is the same in two archives of the same.
    let (first, second) = (seal(b"a vow"), seal(b"a vow"));
    assert_eq!(first[..30], second[..30]);
    for (start, end) in [(30, 46), (46, HEADER), (HEADER, FRAMES), (FRAMES + 4, 106)] {
        assert_ne!(first[start..end], second[start..end]);
    }
}

/// Fixed: archives lie around for years. Made apart from this code, by libsodium and the reference
/// implementation of Argon2 (PyNaCl and argon2-cffi).
#[test]
fn the_form_of_an_archive_stays_what_it_is() {
    assert_eq!(
        open(&unhex(SMALL)).unwrap(),
        b"the canary sings at four in the morning"
    );
    // Three frames; the beginning is that of the small one, up to the check.
    let plain = pattern(2 * FRAME + 5);
    assert_eq!(hex(&Sha256::digest(by_hand(&plain))), LARGE_SHA256);
    assert!(open(&by_hand(&plain)).unwrap() == plain);
}

const SMALL: &str = "6d656d6f69722d617263686976652d76310a000000400000000200000002000102030405060708090a0b\
    0c0d0e0f404142434445464748494a4b4c4d4e4f5051529fac3cf9a5628f693a9d9c4611715a6680000027828cc3c0b40a72\
    8d59f3946bc170e6c68185f3c9335d52fd16b476947f2e68bf83c91bd5cc39b6df17da6cd25a9c091169d7c89808dae8";
const LARGE_SHA256: &str = "eff722530f299927a0ec23e80ee08d249f0c4b3c94546babc6d4816b59be9887";

/// The form as it is described, with the header of `SMALL` and without `aead-stream`.
fn by_hand(plain: &[u8]) -> Vec<u8> {
    use argon2::{Algorithm, Argon2, Block, Params, Version};
    use chacha20poly1305::{
        KeyInit, XChaCha20Poly1305,
        aead::{Aead, Payload},
    };
    let header = &unhex(SMALL)[..HEADER];
    let mut key = [0; 32];
    Argon2::new(
        Algorithm::Argon2id,
        Version::V0x13,
        Params::new(64, 2, 2, None).unwrap(),
    )
    .hash_password_into_with_memory(
        PHRASE.as_bytes(),
        &header[30..46],
        &mut key,
        vec![Block::default(); 64],
    )
    .unwrap();
    let cipher = XChaCha20Poly1305::new(&key.into());
    let message = |place: u32, is_last: bool, msg: &[u8]| {
        let mut nonce = [0; 24];
        nonce[..19].copy_from_slice(&header[46..]);
        nonce[19..23].copy_from_slice(&place.to_be_bytes());
        nonce[23] = u8::from(is_last);
        let aad = header;
        cipher.encrypt(&nonce.into(), Payload { msg, aad }).unwrap()
    };
    let mut sealed = [header, &message(0, false, b"")].concat();
    let count = plain.chunks(FRAME).count();
    for (place, part) in plain.chunks(FRAME).enumerate() {
        let is_last = place + 1 == count;
        let mark = part.len() as u32 | u32::from(is_last) << 31;
        sealed.extend(mark.to_be_bytes());
        sealed.extend(message(place as u32 + 1, is_last, part));
    }
    sealed
}

#[test]
fn an_archive_cannot_be_changed_in_any_byte() {
    let sealed = seal(b"the canary sings");
    for position in 0..sealed.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut changed = sealed.clone();
            changed[position] ^= mask;
            let error = open(&changed).unwrap_err();
            let expected = match position {
                0..16 => matches!(error, ArchiveError::NotAnArchive),
                16..18 => matches!(error, ArchiveError::Newer),
                18..30 => matches!(error, ArchiveError::Cost(_) | ArchiveError::Passphrase),
                30..FRAMES => matches!(error, ArchiveError::Passphrase),
                // Where the mark says another length, the bytes end too early or too late.
                FRAMES..85 => matches!(error, ArchiveError::Changed | ArchiveError::CutOff),
                _ => matches!(error, ArchiveError::Changed),
            };
            assert!(expected, "byte {position} ^ {mask:02x}: {error}");
        }
    }
}

#[test]
fn an_archive_that_is_cut_off_is_refused() {
    let cut_off = "the archive is cut off: its end is missing";
    let sealed = seal(b"the canary sings");
    for length in 0..sealed.len() {
        let expected = match length {
            0..16 => "not an archive of Memoir",
            _ => cut_off,
        };
        assert_eq!(refused(&sealed[..length]), expected, "{length} bytes");
    }
    // Also where a frame ends, and where the frame before is said to be the last one.
    let sealed = seal(&pattern(2 * FRAME));
    let mut frames = frames(&sealed);
    assert_eq!(frames.len(), 2);
    assert_eq!(refused(&joined(&sealed, &frames[..1])), cut_off);
    frames[0][0] |= 0x80;
    let changed = "the archive was changed: a part of it is not what was sealed in that place";
    assert_eq!(refused(&joined(&sealed, &frames[..1])), changed);
    // An empty archive cannot be made of a full one.
    let empty = seal(b"");
    let mut mixed = sealed[..FRAMES].to_vec();
    mixed.extend_from_slice(&empty[FRAMES..]);
    assert_eq!(refused(&mixed), changed);
}

#[test]
fn frames_cannot_be_moved_left_out_doubled_or_exchanged() {
    let sealed = seal(&pattern(4 * FRAME));
    let all = frames(&sealed);
    let changed = "the archive was changed: a part of it is not what was sealed in that place";
    for order in [
        vec![1, 0, 2, 3],
        vec![0, 2, 1, 3],
        vec![0, 1, 3],
        vec![1, 2, 3],
        vec![0, 1, 1, 2, 3],
        vec![3],
    ] {
        let frames = order.iter().map(|&place| &all[place]);
        assert_eq!(refused(&joined(&sealed, frames)), changed, "{order:?}");
    }
    // A frame of the same place, of another archive under the same passphrase.
    let other = frames(&seal(&pattern(4 * FRAME)));
    let mixed = [&all[0], &other[1], &all[2], &all[3]];
    assert_eq!(refused(&joined(&sealed, mixed)), changed);
    assert!(open(&joined(&sealed, &all)).is_ok());
}

#[test]
fn nothing_may_stand_after_the_end() {
    let sealed = seal(&pattern(FRAME + 1));
    let trailing = "extra data follows the end of the archive";
    let again = sealed[FRAMES..].to_vec();
    for more in [b"\n".as_slice(), &[0; 4], &again, &sealed] {
        assert_eq!(refused(&[&sealed, more].concat()), trailing);
    }
}

#[test]
fn another_passphrase_does_not_open() {
    let sealed = seal(b"the canary sings");
    for other in [
        "correct horse battery staple ",
        "Correct horse battery staple",
    ] {
        let error = archive::open(&phrase(other), sealed.as_slice()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the passphrase does not open the archive, or the beginning of the archive was changed"
        );
    }
}

#[test]
fn a_header_that_asks_for_too_much_is_refused_before_anything_is_spent() {
    let sealed = seal(b"");
    let with = |memory: u32, passes: u32, lanes: u32| {
        // Only the header: an archive that is let through is cut off, and costs nothing.
        let mut header = sealed[..HEADER].to_vec();
        header[18..22].copy_from_slice(&memory.to_be_bytes());
        header[22..26].copy_from_slice(&passes.to_be_bytes());
        header[26..30].copy_from_slice(&lanes.to_be_bytes());
        open(&header).unwrap_err()
    };
    let most = u32::MAX;
    for (memory, passes, lanes) in [
        (most, most, most),
        (most, 1, 1),
        ((1 << 20) + 1, 1, 1),
        (8, most, 1),
        (8, 17, 1),
        (8, 0, 1),
        (0, 1, 1),
        (7, 1, 1),
        (15, 1, 2),
        (1 << 20, 1, 17),
        (1 << 20, 1, most),
        (8, 1, 0),
    ] {
        let error = with(memory, passes, lanes);
        assert!(
            matches!(error, ArchiveError::Cost(cost) if cost == Cost { memory_kib: memory, passes, lanes }),
            "{error}"
        );
    }
    for (memory, passes, lanes) in [(1 << 20, 16, 16), (8, 1, 1), (128, 1, 16)] {
        let error = with(memory, passes, lanes);
        assert!(matches!(error, ArchiveError::CutOff), "{error}");
    }
    assert_eq!(
        with(most, 1, 1).to_string(),
        "the archive's key must not cost 4294967295 KiB of memory, 1 passes and 1 lanes; \
         1048576 KiB of memory, 16 passes and 16 lanes are allowed"
    );
    // Nor are such archives made.
    let too_much = Cost {
        memory_kib: most,
        ..CHEAP
    };
    let made = archive::seal_at(&phrase(PHRASE), too_much, io::sink(), b"");
    assert!(matches!(made, Err(ArchiveError::Cost(cost)) if cost == too_much));
}

#[test]
fn other_files_are_no_archives() {
    let other =
        b"SQLite format 3\0, and then a long text in which nothing is an archive of anything.";
    assert!(!is_archive(other));
    assert!(!is_archive(b""));
    assert!(!is_archive(b"memoir-archive"));
    assert_eq!(refused(other), "not an archive of Memoir");
    let mut newer = seal(b"");
    newer[16] = b'2';
    assert!(is_archive(&newer));
    assert_eq!(
        refused(&newer),
        "the archive was made by a newer version of Memoir"
    );
}

/// Fails after some bytes.
struct Failing<T>(T, usize);

impl<T> Failing<T> {
    fn take(&mut self, wanted: usize) -> io::Result<usize> {
        let taken = wanted.min(self.1);
        self.1 -= taken;
        if taken == 0 {
            return Err(io::Error::other("the stick was pulled out"));
        }
        Ok(taken)
    }
}

impl<T: Write> Write for Failing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.take(bytes.len())?;
        self.0.write(&bytes[..taken])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<T: Read> Read for Failing<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let taken = self.take(bytes.len())?;
        self.0.read(&mut bytes[..taken])
    }
}

#[test]
fn what_fails_below_is_told_and_never_taken_for_an_end() {
    let pulled = "cannot read or write the archive: the stick was pulled out";
    let plain = pattern(3 * FRAME);
    let sealed = seal(&plain);
    for length in [0, 40, 70, FRAMES + 2, FRAMES + 2 * FRAME] {
        let failing = Failing(io::sink(), length);
        let written = archive::seal_at(&phrase(PHRASE), CHEAP, failing, &plain);
        assert_eq!(written.unwrap_err().to_string(), pulled, "{length}");
        let read = archive::open(&phrase(PHRASE), Failing(sealed.as_slice(), length));
        assert_eq!(read.unwrap_err().to_string(), pulled, "{length}");
    }
}

#[test]
fn spec_5_3_archives_and_passphrases_print_nothing_of_themselves() {
    assert_eq!(format!("{:?}", phrase(PHRASE)), "Passphrase");
}

#[test]
fn a_generated_passphrase_can_be_typed_and_not_be_guessed() {
    let phrases: std::collections::HashSet<String> = (0..100)
        .map(|_| Passphrase::generate().unwrap().expose().to_owned())
        .collect();
    assert_eq!(phrases.len(), 100);
    let mut letters = std::collections::HashSet::new();
    for phrase in &phrases {
        let groups: Vec<&str> = phrase.split('-').collect();
        assert_eq!(groups.len(), 8);
        assert!(groups.iter().all(|group| group.len() == 4));
        letters.extend(phrase.bytes().filter(|&letter| letter != b'-'));
        assert_eq!(Passphrase::from_text(phrase).unwrap().expose(), phrase);
    }
    // Five bits each: 160 of them.
    assert_eq!(letters.len(), 32);
    assert!(!letters.iter().any(|letter| b"ilou".contains(letter)));
    assert!(letters.iter().all(|letter| !letter.is_ascii_uppercase()));
}

#[test]
fn a_passphrase_has_eight_characters_and_no_line_end() {
    for (text, expected) in [
        ("12345678", "12345678"),
        ("12345678\n", "12345678"),
        ("12345678\r\n", "12345678"),
        ("12345678\n\n", "12345678\n"),
        ("12345678\r", "12345678\r"),
        (" 2345678 ", " 2345678 "),
        ("äöüßäöüß", "äöüßäöüß"),
    ] {
        assert_eq!(phrase(text).expose(), expected);
    }
    for text in ["", "\n", "1234567", "1234567\n", "äöüß"] {
        assert_eq!(
            Passphrase::from_text(text).unwrap_err(),
            InvalidPassphrase,
            "{text:?}"
        );
    }
    assert_eq!(
        InvalidPassphrase.to_string(),
        "a passphrase must have at least 8 characters"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_bytes_make_the_reader_of_archives_panic(
        frames in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let sealed = seal(b"");
        let with_header = [&sealed[..FRAMES], &frames].concat();
        prop_assert!(open(&with_header).is_err());
        prop_assert!(open(&frames).is_err());
    }
}
