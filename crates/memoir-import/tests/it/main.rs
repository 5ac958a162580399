//! Whole files and folders of every form, as a user brings them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod forms;
mod hostile;
mod pages;
mod parity;
mod properties;

use std::{
    fs,
    io::{Cursor, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use flate2::{Compression, Crc, write::DeflateEncoder};
use memoir_domain::Timestamp;
use memoir_import::{
    Error, Import, ImportFormat, ImportLimits, ImportOptions, ImportReport, ImportedMemory, Input,
};

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn options() -> ImportOptions {
    ImportOptions {
        now: time("2026-04-01T00:00:00Z"),
        instructions: false,
        limits: ImportLimits::default(),
    }
}

/// The result of a reading.
#[derive(Debug)]
struct Read {
    format: ImportFormat,
    by: String,
    memories: Vec<ImportedMemory>,
    report: ImportReport,
}

impl Read {
    fn texts(&self) -> Vec<&str> {
        let texts = self.memories.iter();
        texts.map(|memory| memory.content.expose()).collect()
    }

    fn of(&self, text: &str) -> &ImportedMemory {
        let mut memories = self.memories.iter();
        memories
            .find(|memory| memory.content.expose().contains(text))
            .unwrap_or_else(|| panic!("{text}: {:?}", self.texts()))
    }

    fn notices(&self) -> Vec<&str> {
        let notices = self.report.notices.iter();
        notices.map(|notice| notice.code).collect()
    }

    fn passed(&self) -> Vec<(&str, u64)> {
        let passed = self.report.passed.iter();
        passed
            .map(|(reason, count)| (reason.code(), *count))
            .collect()
    }
}

fn tags(memory: &ImportedMemory) -> Vec<&str> {
    memory.tags.iter().map(|tag| tag.expose()).collect()
}

fn try_read(
    input: Input,
    format: Option<ImportFormat>,
    options: &ImportOptions,
) -> Result<Read, Error> {
    let import = Import::open(input, format, &options.limits)?;
    let recognised = import.recognised().clone();
    let mut memories = Vec::new();
    let report = import.read(options, &mut |memory| {
        memories.push(memory);
        ControlFlow::Continue(())
    })?;
    assert_eq!(report.given, memories.len() as u64);
    for memory in &memories {
        assert!(memory.content.chars() <= options.limits.memory_characters);
        assert!(memory.source.chars() <= 200 && memory.tags.len() <= 16);
    }
    Ok(Read {
        format: recognised.format,
        by: recognised.by,
        memories,
        report,
    })
}

fn stream(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Input {
    Input::Stream(Box::new(Cursor::new(bytes.as_ref().to_vec())))
}

/// Reads a stream whose format is recognised by its content.
fn read(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Read {
    try_read(stream(bytes), None, &options()).unwrap()
}

/// Why a stream of no known format is not read.
fn refused(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Error {
    try_read(stream(bytes), None, &options()).unwrap_err()
}

fn read_as(format: ImportFormat, bytes: &(impl AsRef<[u8]> + ?Sized)) -> Read {
    try_read(stream(bytes), Some(format), &options()).unwrap()
}

fn read_path(path: &Path) -> Read {
    try_read(Input::Path(path.to_owned()), None, &options()).unwrap()
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("given");
    fs::create_dir(&root).unwrap();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (home, root)
}

/// An archive of these files; a content that begins with `->` is a link.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut list) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let (mode, content) = match content.strip_prefix(b"->") {
            Some(target) => (0o120_777_u32, target),
            None => (0o100_644, *content),
        };
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(content).unwrap();
        let packed = packed.finish().unwrap();
        let mut sum = Crc::new();
        sum.update(content);
        let at = u32::try_from(bytes.len()).unwrap();
        let mut common = Vec::new();
        for field in [20_u16, 0, 8, 0, 0] {
            common.extend(field.to_le_bytes());
        }
        for field in [sum.sum(), packed.len() as u32, content.len() as u32] {
            common.extend(field.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(&packed);
        list.extend(b"PK\x01\x02");
        list.extend((3_u16 << 8 | 20).to_le_bytes());
        list.extend(&common);
        for field in [0_u16, 0, 0] {
            list.extend(field.to_le_bytes());
        }
        list.extend((mode << 16).to_le_bytes());
        list.extend(at.to_le_bytes());
        list.extend(name.as_bytes());
    }
    let (at, count) = (bytes.len() as u32, files.len() as u16);
    bytes.extend(&list);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend((list.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend(0_u16.to_le_bytes());
    bytes
}
