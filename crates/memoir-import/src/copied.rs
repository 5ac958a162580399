//! Lines of JSON as PostgreSQL's `COPY … TO` writes them: with each backslash doubled.

use std::io::{self, Read};

use memoir_transcripts::source::HEAD_BYTES;

/// A stream without the second one of each two backslashes. Bytes are counted without these.
pub(crate) struct Undoubled<R> {
    reader: R,
    is_behind_one: bool,
}

impl<R: Read> Undoubled<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            is_behind_one: false,
        }
    }
}

impl<R: Read> Read for Undoubled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.reader.read(buffer)?;
            let mut bytes = buffer[..read].to_vec();
            bytes.retain(|byte| {
                let is_second = self.is_behind_one && *byte == b'\\';
                self.is_behind_one = *byte == b'\\' && !is_second;
                !is_second
            });
            // A read of nothing would be the end.
            if read == 0 || !bytes.is_empty() {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                return Ok(bytes.len());
            }
        }
    }
}

/// Whether a file that begins like this has doubled backslashes: none is single, no line stops being JSON once that is
/// undone, and one becomes JSON by it. A line that is JSON both ways may have them in its text, as code does.
pub(crate) fn is_copied(head: &[u8]) -> bool {
    let is_json = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
    // The last line may be cut off.
    let end = match head.len() as u64 == HEAD_BYTES {
        true => head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0),
        false => head.len(),
    };
    let mut is_certain = false;
    let lines = head[..end].split(|byte| *byte == b'\n');
    for line in lines.filter(|line| line.contains(&b'\\')) {
        let mut runs = line.split(|byte| *byte != b'\\');
        let mut undone = Vec::new();
        // Reading from memory does not fail.
        let _ = Undoubled::new(line).read_to_end(&mut undone);
        let (before, after) = (is_json(line), is_json(&undone));
        if !runs.all(|run| run.len().is_multiple_of(2)) || before && !after {
            return false;
        }
        is_certain |= after && !before;
    }
    is_certain
}
