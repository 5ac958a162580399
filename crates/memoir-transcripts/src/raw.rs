//! JSON that is scanned without being parsed first.
//!
//! A [`Raw`] is the bytes of one value. Its parts are found by counting brackets, without recursion, so that depth
//! costs nothing, and only requested parts are decoded: a broken field does not affect the fields beside it.
//!
//! A streaming deserializer would stop at the first wrong byte, and hold values of any size.

use memoir_domain::mend;

/// Scans one value, whole or in pieces.
#[derive(Debug, Default)]
pub struct Scan {
    depth: u64,
    in_string: bool,
    escaped: bool,
    in_scalar: bool,
}

/// The meaning of a byte for the value that a [`Scan`] follows.
#[derive(Debug, PartialEq, Eq)]
pub enum ScanStep {
    /// The value goes on.
    Inside,
    /// This byte is the value's last.
    Last,
    /// The value ended before this byte.
    Behind,
    /// No value begins with this byte.
    NoValue,
}

impl Scan {
    /// Scans `bytes`. Returns the byte at which the value ends and how; `None` where it goes on.
    pub fn run(&mut self, bytes: &[u8]) -> Option<(usize, ScanStep)> {
        let mut at = 0;
        while at < bytes.len() {
            // Most bytes of an export are within strings, and only these two have a meaning there.
            if self.in_string && !self.escaped {
                at += bytes[at..]
                    .iter()
                    .position(|byte| matches!(byte, b'"' | b'\\'))?;
            }
            let step = self.step(bytes[at]);
            if step != ScanStep::Inside {
                return Some((at, step));
            }
            at += 1;
        }
        None
    }

    fn step(&mut self, byte: u8) -> ScanStep {
        if self.in_string {
            return self.step_in_string(byte);
        }
        if self.in_scalar {
            // A number or a word ends before the next other byte, which belongs to the following part.
            let ends =
                matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b'[' | b'{') || is_space(byte);
            return if ends {
                ScanStep::Behind
            } else {
                ScanStep::Inside
            };
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            // The kind of the closing bracket is not checked, since that would take a stack. `Raw::open` checks that
            // the last bracket of a value matches its first.
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    return ScanStep::Last;
                }
            }
            // Commas, colons, and bytes that are no JSON: one wrong byte within a value must not end it.
            _ if self.depth > 0 => {}
            // Also words that are no JSON, such as `NaN`: they can be skipped as one value.
            b'-' | b'+' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => self.in_scalar = true,
            _ => return ScanStep::NoValue,
        }
        ScanStep::Inside
    }

    fn step_in_string(&mut self, byte: u8) -> ScanStep {
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
            if self.depth == 0 {
                return ScanStep::Last;
            }
        }
        ScanStep::Inside
    }

    /// Whether the value is complete if nothing follows.
    pub(crate) fn may_end(&self) -> bool {
        self.in_scalar
    }
}

/// Whether the byte is white space in JSON.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The bytes without the white space at their beginning.
pub fn skip_space(bytes: &[u8]) -> &[u8] {
    let spaces = bytes.iter().take_while(|byte| is_space(**byte)).count();
    bytes.get(spaces..).unwrap_or_default()
}

/// One value.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    bytes: &'a [u8],
    /// Its offset in the whole that it was taken from.
    pub at: usize,
}

/// The whole is no such value, or is truncated or becomes no JSON at this byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenJson(pub usize);

impl<'a> Raw<'a> {
    /// The one value that `bytes` are, without the white space around it.
    ///
    /// # Errors
    /// There is none, something follows it, or it ends with the bracket of another kind of value.
    pub fn whole(bytes: &'a [u8]) -> Result<Self, BrokenJson> {
        let mut cursor = Cursor { bytes, at: 0 };
        let value = cursor.value()?;
        match cursor.peek() {
            None => value.closed(),
            Some(_) => Err(BrokenJson(cursor.at)),
        }
    }

    /// The value, where an object or array ends with the bracket of its own kind. Values beside the requested ones are
    /// not checked: a broken one must not affect others.
    fn closed(self) -> Result<Self, BrokenJson> {
        let is_closed = match self.first() {
            b'{' => self.bytes.ends_with(b"}"),
            b'[' => self.bytes.ends_with(b"]"),
            _ => true,
        };
        if is_closed {
            Ok(self)
        } else {
            Err(BrokenJson(self.at + self.bytes.len().saturating_sub(1)))
        }
    }

    fn first(self) -> u8 {
        self.bytes.first().copied().unwrap_or(b' ')
    }

    /// The bytes without the first and the last one.
    fn inside(self) -> &'a [u8] {
        self.bytes
            .get(1..self.bytes.len().saturating_sub(1))
            .unwrap_or_default()
    }

    /// The bytes of the value, unchanged.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it begins as an object does.
    pub fn is_object(self) -> bool {
        // By the first byte: a `Raw` is one value by its brackets and quotes, and may be no JSON within.
        self.first() == b'{'
    }

    /// Whether it begins as an array does.
    pub fn is_array(self) -> bool {
        self.first() == b'['
    }

    /// Whether it begins as a string does.
    pub fn is_string(self) -> bool {
        self.first() == b'"'
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.bytes == b"null"
    }

    /// Whether it is `true`.
    pub fn is_true(self) -> bool {
        self.bytes == b"true"
    }

    /// A number, rounded to a double; `None` for another value, and for a number beyond a double.
    pub fn number(self) -> Option<f64> {
        let number: f64 = serde_json::from_slice(self.bytes).ok()?;
        number.is_finite().then_some(number)
    }

    /// A string, whose invalid parts are replaced (SPEC 2.1); `Ok(None)` for any other value.
    ///
    /// # Errors
    /// It cannot be decoded.
    pub fn string(self) -> Result<Option<String>, BrokenJson> {
        if !self.is_string() {
            return Ok(None);
        }
        serde_json::from_str(&mend::json(self.bytes))
            .map(Some)
            .map_err(|_| BrokenJson(self.at))
    }

    /// A string that can be decoded, or the digits of a whole number.
    pub fn id(self) -> Option<String> {
        if let Ok(Some(text)) = self.string() {
            return Some(text);
        }
        // No identifier is a longer number: one of 128 bits has 39 digits.
        let is_number = self.first().is_ascii_digit() && self.bytes.len() <= 40;
        let digits = is_number && self.bytes.iter().all(u8::is_ascii_digit);
        digits.then(|| String::from_utf8_lossy(self.bytes).into_owned())
    }

    /// The values of the fields `names`, the last where one occurs twice.
    ///
    /// # Errors
    /// It is no object, or is truncated.
    pub fn fields<const N: usize>(
        self,
        names: [&str; N],
    ) -> Result<[Option<Raw<'a>>; N], BrokenJson> {
        let mut found = [None; N];
        for entry in self.entries()? {
            // Also after all requested fields were found: of two fields of one name the later one counts.
            let (key, value) = entry?;
            if let Some(at) = names
                .iter()
                // Compared undecoded: programs' field names need no escapes.
                .position(|name| name.as_bytes() == key.inside())
            {
                found[at] = Some(value);
            }
        }
        Ok(found)
    }

    /// The keys and values of an object, in their order.
    ///
    /// # Errors
    /// It is no object, or is truncated.
    pub fn entries(
        self,
    ) -> Result<impl Iterator<Item = Result<(Raw<'a>, Raw<'a>), BrokenJson>>, BrokenJson> {
        self.parts(self.is_object(), |cursor| {
            let key = cursor.value()?;
            if !key.is_string() || cursor.peek() != Some(b':') {
                return Err(BrokenJson(cursor.at));
            }
            cursor.advance(1);
            Ok((key, cursor.value()?))
        })
    }

    /// The elements of an array, in their order.
    ///
    /// # Errors
    /// It is no array, or is truncated.
    pub fn elements(self) -> Result<impl Iterator<Item = Result<Raw<'a>, BrokenJson>>, BrokenJson> {
        self.parts(self.is_array(), Cursor::value)
    }

    /// The parts, each as `read` takes it; a broken one is the last.
    fn parts<T>(
        self,
        is_such: bool,
        read: impl Fn(&mut Cursor<'a>) -> Result<T, BrokenJson>,
    ) -> Result<impl Iterator<Item = Result<T, BrokenJson>>, BrokenJson> {
        if !is_such {
            return Err(BrokenJson(self.at));
        }
        let closed = self.closed()?;
        let mut cursor = Cursor {
            bytes: closed.inside(),
            at: closed.at + 1,
        };
        let (mut is_first, mut is_over) = (true, false);
        Ok(std::iter::from_fn(move || {
            let next = cursor.peek().filter(|_| !is_over)?;
            let is_behind_comma = !std::mem::take(&mut is_first);
            let part = if is_behind_comma && next != b',' {
                Err(BrokenJson(cursor.at))
            } else {
                // Behind a comma there must be a part: a list that ends with one is broken.
                cursor.advance(usize::from(is_behind_comma));
                read(&mut cursor)
            };
            is_over = part.is_err();
            Some(part)
        }))
    }
}

/// The first keys of the object at the beginning of `bytes`, undecoded; `bytes` may end in the middle of it.
pub fn first_keys(bytes: &[u8]) -> Vec<&[u8]> {
    let entries = first_entries(bytes).into_iter();
    entries.map(|(key, _)| key).collect()
}

/// The same keys, each with the bytes from its value on.
pub fn first_entries(bytes: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut all = Vec::new();
    let mut cursor = Cursor {
        bytes: bytes.get(1..).unwrap_or_default(),
        at: 1,
    };
    loop {
        // The beginning of a file may end anywhere: the keys until there are enough.
        let Ok(key) = cursor.value() else { return all };
        if !key.is_string() || cursor.peek() != Some(b':') {
            return all;
        }
        cursor.advance(1);
        all.push((key.inside(), skip_space(cursor.bytes)));
        if cursor.value().is_err() || cursor.peek() != Some(b',') {
            return all;
        }
        cursor.advance(1);
    }
}

/// The same of all objects among the elements of the array at the beginning of `bytes`; `None` where there is none, or
/// no array.
pub fn first_keys_of_elements(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut keys = None;
    let mut cursor = Cursor {
        bytes: bytes.get(1..)?,
        at: 1,
    };
    loop {
        // Of all objects, since the first may have no known key.
        if cursor.peek() == Some(b'{') {
            keys.get_or_insert_with(Vec::new)
                .extend(first_keys(cursor.bytes));
        }
        if cursor.value().is_err() || cursor.peek() != Some(b',') {
            return keys;
        }
        cursor.advance(1);
    }
}

/// Walks through the inside of an object or array.
#[derive(Debug)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        self.advance(self.bytes.len() - skip_space(self.bytes).len());
        self.bytes.first().copied()
    }

    fn advance(&mut self, count: usize) {
        self.bytes = self.bytes.get(count..).unwrap_or_default();
        self.at += count;
    }

    fn value(&mut self) -> Result<Raw<'a>, BrokenJson> {
        self.peek();
        let mut scan = Scan::default();
        let length = match scan.run(self.bytes) {
            Some((at, ScanStep::Last)) => Some(at + 1),
            Some((at, ScanStep::Behind)) => Some(at),
            None if scan.may_end() => Some(self.bytes.len()),
            _ => None,
        };
        let length = length.ok_or(BrokenJson(self.at))?;
        let raw = Raw {
            bytes: &self.bytes[..length],
            at: self.at,
        };
        self.advance(length);
        Ok(raw)
    }
}
