//! The outline of a JSON file: its names and the beginnings of its lists, whatever lies between them.
//!
//! A format is recognised by names that may lie behind megabytes of others. The outline is JSON of the same shape, with
//! long texts cut, long lists ended early and deep values emptied.

use std::io::{self, Read};

use memoir_transcripts::raw::is_space;

const BYTES: usize = 256 << 10;
/// Most bytes of a text, an escape as one.
const TEXT: usize = 60;
/// Most elements of a list, and most values of a file.
const ELEMENTS: u32 = 20;
/// The depth of values that are emptied.
const DEPTH: usize = 6;
const PIECE: usize = 64 << 10;

pub(crate) fn outline(mut reader: impl Read) -> io::Result<Vec<u8>> {
    let mut outline = Outline::default();
    let mut piece = vec![0; PIECE];
    loop {
        let read = match reader.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let bytes = piece.get(..read).unwrap_or_default();
        if bytes.is_empty() || !bytes.iter().all(|byte| outline.take(*byte)) {
            return Ok(outline.bytes);
        }
    }
}

#[derive(Default)]
struct Outline {
    bytes: Vec<u8>,
    depth: usize,
    /// The commas at each depth that is not emptied; whether the value there is a list.
    counts: [(u32, bool); DEPTH + 1],
    /// The depth from which on nothing is copied, up to the end of the value there.
    muted: Option<usize>,
    in_string: bool,
    escaped: bool,
    /// Bytes of the text so far, an escape as one.
    text: usize,
}

impl Outline {
    /// Takes a byte. Returns whether more of the file can change the outline.
    fn take(&mut self, byte: u8) -> bool {
        if self.in_string {
            self.take_in_string(byte);
            return self.bytes.len() < BYTES;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.text = 0;
                self.copy(byte);
            }
            b'{' | b'[' => {
                self.copy(byte);
                self.depth += 1;
                match self.counts.get_mut(self.depth) {
                    Some(count) => *count = (0, byte == b'['),
                    None => self.muted = self.muted.or(Some(self.depth)),
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.muted.is_some_and(|muted| muted > self.depth) {
                    self.muted = None;
                }
                self.copy(byte);
                // Values without a list around them.
                let count = &mut self.counts[0].0;
                *count += u32::from(self.depth == 0);
                return self.depth > 0 || *count < ELEMENTS;
            }
            b',' => {
                if let Some((count, is_list)) = self.counts.get_mut(self.depth) {
                    *count += 1;
                    if *is_list && *count >= ELEMENTS && self.muted.is_none() {
                        // Nothing behind the list of a whole file changes its outline.
                        if self.depth == 1 {
                            self.bytes.push(b']');
                            return false;
                        }
                        self.muted = Some(self.depth);
                    }
                }
                self.copy(byte);
            }
            byte if is_space(byte) => {}
            byte => self.copy(byte),
        }
        self.bytes.len() < BYTES
    }

    fn take_in_string(&mut self, byte: u8) {
        let ends = byte == b'"' && !self.escaped;
        // The two bytes of an escape are copied both or not at all.
        if !self.escaped {
            self.text += 1;
        }
        if ends || self.text <= TEXT {
            self.copy(byte);
        }
        self.escaped = !self.escaped && byte == b'\\';
        self.in_string = !ends;
    }

    fn copy(&mut self, byte: u8) {
        if self.muted.is_none() {
            self.bytes.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> String {
        String::from_utf8(outline(json.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn an_outline_has_all_names_and_the_beginnings_of_values() {
        let long = "a\\\"".repeat(1_000);
        let deep = "[".repeat(1_000) + &"]".repeat(1_000);
        let list = "7, ".repeat(1_000) + "7";
        let json = format!(
            r#"{{"text": "{long}", "deep": {deep}, "list": [{list}], "last": {{"a": 1}}}}"#
        );
        let found = of(&json);
        assert!(found.len() < 250, "{found}");
        assert!(found.starts_with(r#"{"text":"a\"a\""#), "{found}");
        let value: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert_eq!(value["list"].as_array().unwrap().len(), 20);
        assert_eq!(value["last"]["a"], 1);
    }

    #[test]
    fn nothing_is_read_behind_what_can_change_it() {
        /// Fails behind the list.
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::Other.into())
            }
        }
        let list = format!("[{}", r#"{"a": 1}, "#.repeat(30));
        let lines = "{\"a\": 1}\n".repeat(30);
        for (begin, count) in [(list, 20), (lines, 20)] {
            let found = outline(begin.as_bytes().chain(Failing)).unwrap();
            let found = String::from_utf8(found).unwrap();
            assert_eq!(found.matches("{\"a\":1}").count(), count, "{found}");
        }
    }
}
