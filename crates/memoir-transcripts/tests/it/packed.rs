//! Files that are compressed as a whole.

use std::io::{self, Cursor, Read, Write};

use flate2::{Compression, write::GzEncoder};
use memoir_transcripts::unpacked;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    unpacked(Box::new(Cursor::new(bytes)))?
        .1
        .read_to_end(&mut text)?;
    Ok(text)
}

#[test]
fn a_compressed_stream_is_its_text_and_any_other_stream_itself() {
    let text = "Ann: I keep two hens.\n".repeat(1_000).into_bytes();
    let twice = text.repeat(2);
    assert_eq!(read(zstd(&text)).unwrap(), text);
    assert_eq!(read([zstd(&text), zstd(&text)].concat()).unwrap(), twice);
    assert_eq!(read(gzip(&text)).unwrap(), text);
    assert_eq!(read([gzip(&text), gzip(&text)].concat()).unwrap(), twice);
    for other in [&text[..], b"", b"PK", b"\x28\xB5"] {
        assert_eq!(read(other.to_vec()).unwrap(), other);
    }
}

#[test]
fn a_broken_stream_and_a_bomb_are_errors() {
    let text = "Ann: I keep two hens.\n".repeat(1_000).into_bytes();
    for packed in [zstd(&text), gzip(&text)] {
        assert!(read(packed[..packed.len() / 2].to_vec()).is_err());
    }
    let bomb = gzip(&vec![b' '; 80 << 20]);
    assert_eq!(read(bomb).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}
