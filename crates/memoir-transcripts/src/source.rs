//! The bytes of a file as a stream: lines, and the values of JSON, each up to a limit.

use std::io::{BufRead, BufReader, Chain, Cursor, ErrorKind, Read};

use crate::{
    Error, FilePosition,
    raw::{Scan, ScanStep, is_space},
};

/// The bytes of a file by which its format is recognised.
pub const HEAD_BYTES: u64 = 256 << 10;
/// A buffer that grew beyond this for one piece is released.
// Otherwise one large conversation would hold its memory until the end of the file.
const KEPT_BYTES: usize = 1 << 20;

/// Most bytes of a key that is kept.
// No reader wants a longer one.
const KEY_BYTES: usize = 1 << 10;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// A file being read.
#[derive(Debug)]
pub struct FileSource<R> {
    reader: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    byte: u64,
    line: u64,
    /// The piece that was read last.
    pub piece: Vec<u8>,
}

/// The result of reading a piece into [`FileSource::piece`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceRead {
    /// The piece is complete.
    Whole,
    /// It is larger than the limit, and was skipped.
    TooLarge,
    /// The file ends inside it.
    Truncated,
    /// There is none.
    Nothing,
}

impl<R: Read> FileSource<R> {
    /// Reads the first bytes of `reader` and returns them too. A byte order mark is skipped.
    ///
    /// # Errors
    /// Reading fails, or the file is UTF-16.
    pub fn open(mut reader: R) -> Result<(Self, Vec<u8>), Error> {
        let mut head = Vec::new();
        let read = reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        let mut source = Self {
            reader: BufReader::with_capacity(64 << 10, Cursor::new(Vec::new()).chain(reader)),
            byte: 0,
            line: 1,
            piece: Vec::new(),
        };
        read.map_err(|error| source.failed(error.kind()))?;
        if head.starts_with(&[0xFF, 0xFE]) || head.starts_with(&[0xFE, 0xFF]) {
            return Err(Error::Utf16);
        }
        // Before the format is recognised, so that the error for a packed export says to unpack it.
        if head.starts_with(b"PK\x03\x04") {
            return Err(Error::Packed);
        }
        if head.starts_with(MARK) {
            source.byte = MARK.len() as u64;
            head.drain(..MARK.len());
        }
        // Only now: an error above has the source's position, and `head` is returned to the caller too.
        *source.reader.get_mut().get_mut().0 = Cursor::new(head.clone());
        Ok((source, head))
    }

    /// The position of the next byte.
    pub fn place(&self) -> FilePosition {
        FilePosition {
            byte: self.byte,
            line: self.line,
            conversation: None,
            id: None,
        }
    }

    fn failed(&self, kind: ErrorKind) -> Error {
        Error::Read {
            kind,
            place: self.place(),
        }
    }

    /// The available bytes; none at the end of the file.
    fn fill(&mut self) -> Result<&[u8], Error> {
        loop {
            match self.reader.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error.kind())),
                // Read again, since the result of `fill_buf` would borrow the reader through all of the loop.
                Ok(_) => return Ok(self.reader.buffer()),
            }
        }
    }

    fn consume(&mut self, count: usize) {
        let bytes = self.reader.buffer().get(..count).unwrap_or_default();
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.line += lines as u64;
        self.byte += count as u64;
        self.reader.consume(count);
    }

    /// The next byte that is no white space, which is not consumed; `None` at the end. A byte order mark counts as white
    /// space: files that were joined have one in their middle.
    ///
    /// # Errors
    /// Reading fails.
    pub fn peek(&mut self) -> Result<Option<u8>, Error> {
        loop {
            let bytes = self.fill()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let length = bytes.len();
            let spaces = bytes.iter().take_while(|byte| is_space(**byte)).count();
            let found = bytes.get(spaces).copied();
            if bytes
                .get(spaces..)
                .is_some_and(|rest| rest.starts_with(MARK))
            {
                self.consume(spaces + MARK.len());
                continue;
            }
            // White space of any length is skipped piece by piece and never kept.
            self.consume(spaces);
            if spaces < length {
                return Ok(found);
            }
        }
    }

    /// Consumes the byte that [`FileSource::peek`] returned.
    pub fn pass(&mut self) {
        self.consume(1);
    }

    fn start_piece(&mut self) {
        self.piece.clear();
        if self.piece.capacity() > KEPT_BYTES {
            self.piece = Vec::new();
        }
    }

    /// Takes the first `count` available bytes. Returns whether the piece is still within `limit`.
    fn take(&mut self, count: usize, limit: usize) -> bool {
        let fits = self.piece.len().saturating_add(count) <= limit;
        if fits {
            let bytes = self.reader.buffer().get(..count).unwrap_or_default();
            self.piece.extend_from_slice(bytes);
        } else {
            // Released immediately: a skipped piece may have gigabytes.
            self.start_piece();
        }
        self.consume(count);
        fits
    }

    /// Reads one value of JSON; white space before it must have been consumed.
    ///
    /// # Errors
    /// Reading fails.
    pub fn take_value(&mut self, mut limit: usize) -> Result<PieceRead, Error> {
        self.start_piece();
        let mut scan = Scan::default();
        let mut whole = PieceRead::Whole;
        loop {
            let bytes = self.fill()?;
            if bytes.is_empty() {
                // A number or a word has no last byte of its own; at the end of the file it is whole, any other value
                // is truncated.
                return Ok(if scan.may_end() {
                    whole
                } else {
                    PieceRead::Truncated
                });
            }
            let (count, last) = match scan.run(bytes) {
                Some((at, ScanStep::Last)) => (at + 1, ScanStep::Last),
                Some(end) => end,
                None => (bytes.len(), ScanStep::Inside),
            };
            if !self.take(count, limit) {
                // The rest of it is not kept.
                limit = 0;
                whole = PieceRead::TooLarge;
            }
            match last {
                ScanStep::Inside => {}
                ScanStep::Last | ScanStep::Behind => return Ok(whole),
                ScanStep::NoValue => return Ok(PieceRead::Nothing),
            }
        }
    }

    /// As [`FileSource::take_value`], of a value that must be here. Returns whether it is within `limit`; what it was is
    /// [`FileSource::piece`].
    ///
    /// # Errors
    /// Reading fails, the file ends inside the value, or there is none.
    pub fn expect_value(&mut self, limit: usize) -> Result<bool, Error> {
        match self.take_value(limit)? {
            PieceRead::Whole => Ok(true),
            PieceRead::TooLarge => Ok(false),
            PieceRead::Truncated => Err(Error::Truncated(self.place())),
            PieceRead::Nothing => Err(Error::Broken(self.place())),
        }
    }

    /// Goes to the next field of an object, and reads its key, with its quotes, and the colon behind it; where `first` is
    /// set, the object's `{` is next. Returns whether there is one; else the object's end was read.
    ///
    /// # Errors
    /// Reading fails, the file ends, or there is neither a field nor the end.
    pub fn next_field(&mut self, first: bool) -> Result<bool, Error> {
        match self.peek()? {
            None => return Err(Error::Truncated(self.place())),
            Some(b'{') if first => self.pass(),
            Some(b',') if !first => self.pass(),
            Some(b'}') if !first => {
                self.pass();
                return Ok(false);
            }
            Some(_) => return Err(Error::Broken(self.place())),
        }
        // Behind a comma there must be a field.
        if self.peek()? == Some(b'}') && first {
            self.pass();
            return Ok(false);
        }
        self.expect_value(KEY_BYTES)?;
        if self.peek()? != Some(b':') {
            return Err(Error::Broken(self.place()));
        }
        self.pass();
        Ok(true)
    }

    /// Goes to the next element of an array; where `first` is set, the array's `[` is next. Returns whether there is one;
    /// else the array's end was read.
    ///
    /// # Errors
    /// Reading fails, the file ends, or an element is not behind a comma.
    pub fn next_element(&mut self, first: bool) -> Result<bool, Error> {
        if first {
            self.peek()?;
            self.pass();
        }
        match self.peek()? {
            None => return Err(Error::Truncated(self.place())),
            Some(b']') => {
                self.pass();
                return Ok(false);
            }
            Some(b',') if !first => {
                self.pass();
                self.peek()?;
            }
            Some(_) if first => {}
            Some(_) => return Err(Error::Broken(self.place())),
        }
        Ok(true)
    }

    /// Reads one line, without its line break, and without a byte order mark, which the later ones of joined files have.
    ///
    /// # Errors
    /// Reading fails.
    pub fn take_line(&mut self, mut limit: usize) -> Result<PieceRead, Error> {
        self.start_piece();
        let mut taken = PieceRead::Nothing;
        loop {
            let bytes = self.fill()?;
            if bytes.is_empty() {
                break;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let count = end.unwrap_or(bytes.len());
            let fits = self.take(count, limit);
            if !fits {
                limit = 0;
            }
            // An empty rest fits even without room left: a line that was too large stays so.
            taken = if fits && taken != PieceRead::TooLarge {
                PieceRead::Whole
            } else {
                PieceRead::TooLarge
            };
            if end.is_some() {
                self.consume(1);
                break;
            }
        }
        if self.piece.starts_with(MARK) {
            self.piece.drain(..MARK.len());
        }
        Ok(taken)
    }
}
