//! Lists in JSON, element by element, at any place of the file.

use std::io::Read;

use memoir_transcripts::{
    Error as ScanError, FilePosition,
    raw::{BrokenJson, Raw, first_entries, first_keys, skip_space},
    source::{FileSource, PieceRead},
};

use crate::{
    EntryPosition, Error, Halt, NoMemoryReason, ReadResult, files::Files, listed, out::Out,
};

/// The depth of nested objects in which lists are searched.
// `object` and `field` call each other: a file made of one object within another must not use up the stack.
const DEPTH: usize = 4;
/// Most bytes of a value beside the lists that is kept.
const BESIDE_BYTES: usize = 1 << 16;

impl From<BrokenJson> for NoMemoryReason {
    fn from(_: BrokenJson) -> Self {
        Self::Malformed
    }
}

/// Binds variables to the fields of an object, each named as in the file. What follows is done where it is no object, or
/// truncated: `?` returns the error.
macro_rules! fields {
    ($raw:expr => { $($variable:ident: $name:literal),+ $(,)? }?) => {
        let [$($variable),+] = $raw.fields([$($name),+])?;
    };
    ($raw:expr => { $($variable:ident: $name:literal),+ $(,)? } else { $($otherwise:tt)+ }) => {
        let Ok([$($variable),+]) = $raw.fields([$($name),+]) else { $($otherwise)+ };
    };
}
pub(crate) use fields;

/// The names of a format's lists.
#[derive(Clone, Copy)]
pub(crate) struct Lists {
    /// Most bytes of an element; `None` for the limit of any other entry.
    pub(crate) element_bytes: Option<usize>,
    /// Fields whose arrays hold the elements.
    pub(crate) named: &'static [&'static str],
    /// Fields whose objects hold such fields.
    pub(crate) within: &'static [&'static str],
    /// Fields beside the lists that name a further page of them.
    pub(crate) next: &'static [&'static str],
    /// Whether the arrays of the file's object hold elements, and its objects are elements, whatever their names.
    pub(crate) is_any: bool,
}

impl Lists {
    /// The arrays of these fields.
    pub(crate) const fn named(named: &'static [&'static str]) -> Self {
        Self {
            element_bytes: None,
            named,
            within: &[],
            next: &[],
            is_any: false,
        }
    }
}

/// Walks through the elements of a file: a list, an object around lists, or consecutive values, on lines or not. Returns
/// whether it names a further page.
///
/// An object without one of the lists is an element itself. Broken or too large parts are counted, and the rest is read
/// where its boundaries are recognisable.
pub(crate) fn elements<'a>(
    files: &mut Files,
    index: usize,
    lists: &Lists,
    out: &mut Out<'a>,
    mut element: impl FnMut(Raw<'_>, EntryPosition, &mut Out<'a>) -> ReadResult,
) -> Result<bool, Halt> {
    let file = files.place(index);
    // Checked before the source is opened, which consumes the beginning of a stream.
    let head = files.head(index);
    let is_around = is_object_around(&head, lists)
        || is_object(&head) && is_object_around(&files.outline(index), lists);
    let Some(source) = source(files, index, out)? else {
        return Ok(false);
    };
    let mut walk = Walk {
        source,
        file: &file,
        lists,
        limit: lists
            .element_bytes
            .unwrap_or(out.options.limits.entry_bytes),
        has_more: false,
        out,
        take: &mut element,
    };
    let walked = if is_around {
        walk.objects()
    } else {
        walk.values()
    };
    match walked {
        Err(WalkStop::Halt(halt)) => return Err(halt),
        Err(WalkStop::Broken(position, reason)) => {
            walk.out.break_off(file.at(&position), reason);
        }
        Ok(()) => {}
    }
    Ok(walk.has_more)
}

/// A file as a source; `None` where one of several cannot be read, which breaks the reading off there.
pub(crate) fn source<'f>(
    files: &'f mut Files,
    index: usize,
    out: &mut Out<'_>,
) -> Result<Option<FileSource<Box<dyn Read + 'f>>>, Halt> {
    let (file, is_one) = (files.place(index), files.is_one());
    let opened = match files.reader(index) {
        Ok(reader) => FileSource::open(reader),
        Err(_) if !is_one => {
            out.break_off(file, NoMemoryReason::Unreadable);
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let reason = match opened {
        Ok((source, _)) => return Ok(Some(source)),
        // Reading the outline has reached the limit of an archive.
        Err(ScanError::Read {
            kind: std::io::ErrorKind::FileTooLarge,
            ..
        }) => NoMemoryReason::TooLarge,
        Err(error) if is_one => return Err(failure(error)),
        Err(ScanError::Read { .. }) => NoMemoryReason::Unreadable,
        Err(_) => NoMemoryReason::NotText,
    };
    out.break_off(file, reason);
    Ok(None)
}

fn failure(error: ScanError) -> Halt {
    Halt::Failed(match error {
        ScanError::Utf16 => Error::Utf16,
        ScanError::Read { kind, .. } => Error::Read(kind),
        _ => Error::Unrecognised("broken JSON"),
    })
}

#[derive(derive_more::From)]
enum WalkStop {
    #[from]
    Halt(Halt),
    Broken(FilePosition, NoMemoryReason),
}

impl From<ScanError> for WalkStop {
    fn from(error: ScanError) -> Self {
        match error {
            // An archive over its limit of inflation, or a broken one: its beginning was passed on.
            ScanError::Read { kind, place } => Self::Broken(
                place,
                if kind == std::io::ErrorKind::FileTooLarge {
                    NoMemoryReason::TooLarge
                } else {
                    NoMemoryReason::Unreadable
                },
            ),
            ScanError::Truncated(place) => Self::Broken(place, NoMemoryReason::Truncated),
            ScanError::Broken(place) => Self::Broken(place, NoMemoryReason::Malformed),
            error => Self::Halt(failure(error)),
        }
    }
}

type WalkResult = Result<(), WalkStop>;

struct Walk<'a, 'o, R> {
    source: FileSource<R>,
    file: &'a EntryPosition,
    lists: &'a Lists,
    limit: usize,
    /// Whether a further page was named.
    has_more: bool,
    out: &'a mut Out<'o>,
    take: &'a mut dyn FnMut(Raw<'_>, EntryPosition, &mut Out<'o>) -> ReadResult,
}

impl<R: Read> Walk<'_, '_, R> {
    /// Consecutive objects around lists, such as the pages of one list.
    fn objects(&mut self) -> WalkResult {
        while self.source.peek()? == Some(b'{') {
            self.object(0)?;
            if self.lists.is_any {
                // The next one may be an element itself, which is searched for lists as well.
                break;
            }
        }
        self.values()
    }

    fn values(&mut self) -> WalkResult {
        loop {
            match self.source.peek()? {
                None => return Ok(()),
                Some(b'[') => self.list()?,
                // Objects of a list that lost its brackets.
                Some(b',' | b']') => self.source.pass(),
                Some(_) => self.element()?,
            }
        }
    }

    fn list(&mut self) -> WalkResult {
        let mut first = true;
        // Without a comma it is unknown whether the next value is an element: the earlier elements were passed on, and
        // the rest is one loss with its position.
        while self.source.next_element(first)? {
            first = false;
            self.element()?;
        }
        Ok(())
    }

    /// One value, or the content of the lists of an object around them.
    fn element(&mut self) -> WalkResult {
        let position = self.source.place();
        let place = self.file.at(&position);
        match self.source.take_value(self.limit)? {
            PieceRead::Whole => {}
            PieceRead::TooLarge => {
                self.out.pass_entry(place, NoMemoryReason::TooLarge);
                return Ok(());
            }
            PieceRead::Truncated => {
                return Err(WalkStop::Broken(position, NoMemoryReason::Truncated));
            }
            PieceRead::Nothing => {
                return Err(WalkStop::Broken(position, NoMemoryReason::Malformed));
            }
        }
        // Taken out so that the value may borrow it while it is passed on, and put back so that its buffer is reused.
        let piece = std::mem::take(&mut self.source.piece);
        let given = match Raw::whole(&piece) {
            Ok(raw) => (self.take)(raw, place, self.out),
            Err(_) => {
                self.out.pass_entry(place, NoMemoryReason::Malformed);
                Ok(())
            }
        };
        self.source.piece = piece;
        given.map_err(WalkStop::from)
    }

    /// The fields of an object that holds the lists, the source being at its `{`.
    fn object(&mut self, depth: usize) -> WalkResult {
        let mut first = true;
        while self.source.next_field(first)? {
            first = false;
            self.field(depth)?;
        }
        Ok(())
    }

    /// A field, whose key was read.
    fn field(&mut self, depth: usize) -> WalkResult {
        // An undecodable key is none of the wanted ones; its value is skipped like any other.
        let key = text(Raw::whole(&self.source.piece).ok()).unwrap_or_default();
        match self.source.peek()? {
            Some(b'[') if self.lists.is_any || self.lists.named.contains(&key.as_str()) => {
                self.list()
            }
            Some(b'{') if self.lists.is_any => self.element(),
            Some(b'{') if self.lists.within.contains(&key.as_str()) && depth < DEPTH => {
                self.object(depth + 1)
            }
            _ => {
                // A larger value is no field of a format: vectors, or lists under another name.
                let is_kept = self.source.expect_value(BESIDE_BYTES)?;
                if is_kept && self.lists.next.contains(&key.as_str()) {
                    let value = Raw::whole(&self.source.piece);
                    self.has_more |= value.is_ok_and(|value| !value.is_null());
                }
                Ok(())
            }
        }
    }
}

/// Whether a file of that name is JSON, or lines of it.
pub(crate) fn is_name(name: &str) -> bool {
    name.ends_with(".json") || name.ends_with(".jsonl")
}

/// Whether a file begins with an object.
fn is_object(head: &[u8]) -> bool {
    text_of(head).starts_with(b"{")
}

/// The text of a file that begins like this, without a byte order mark and white space before it.
pub(crate) fn text_of(head: &[u8]) -> &[u8] {
    skip_space(head.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(head))
}

/// Whether a file begins with an object that has one of the lists, as far as its first bytes show.
pub(crate) fn is_object_around(head: &[u8], lists: &Lists) -> bool {
    if !is_object(head) {
        return false;
    }
    if lists.is_any {
        return !listed::has_text(&first_keys(text_of(head)));
    }
    // A text under such a name is an element's own.
    let mut entries = first_entries(text_of(head)).into_iter();
    entries.any(|(key, value)| {
        let mut names = lists.named.iter().chain(lists.within);
        names.any(|name| name.as_bytes() == key) && !value.starts_with(b"\"")
    })
}

/// Walks through the elements of a field of the entry at `place`; a missing field has none. After a broken element the
/// next one cannot be found: that is one loss, with its position.
pub(crate) fn each_element<'r, 'o>(
    list: (&'static str, Option<Raw<'r>>),
    place: &EntryPosition,
    out: &mut Out<'o>,
    take: impl FnMut(Raw<'r>, &mut Out<'o>) -> ReadResult,
) -> ReadResult {
    each(list, Raw::is_array, Raw::elements, place, out, take)
}

/// As [`each_element`], of an object's keys and values.
pub(crate) fn each_entry<'r, 'o>(
    object: (&'static str, Option<Raw<'r>>),
    place: &EntryPosition,
    out: &mut Out<'o>,
    take: impl FnMut((Raw<'r>, Raw<'r>), &mut Out<'o>) -> ReadResult,
) -> ReadResult {
    each(object, Raw::is_object, Raw::entries, place, out, take)
}

fn each<'r, 'o, T, P: Iterator<Item = Result<T, BrokenJson>>>(
    (name, whole): (&'static str, Option<Raw<'r>>),
    is_such: fn(Raw<'r>) -> bool,
    parts: fn(Raw<'r>) -> Result<P, BrokenJson>,
    place: &EntryPosition,
    out: &mut Out<'o>,
    mut take: impl FnMut(T, &mut Out<'o>) -> ReadResult,
) -> ReadResult {
    let Some(whole) = whole.filter(|whole| !whole.is_null()) else {
        return Ok(());
    };
    if !is_such(whole) {
        out.pass_entry(place.of_part(whole.at), NoMemoryReason::InvalidField(name));
        return Ok(());
    }
    let (parts, mut broken) = match parts(whole) {
        Ok(parts) => (Some(parts), None),
        Err(at) => (None, Some(at)),
    };
    for part in parts.into_iter().flatten() {
        match part {
            Ok(part) => take(part, out)?,
            Err(at) => broken = Some(at),
        }
    }
    if let Some(BrokenJson(at)) = broken {
        out.pass_entry(place.of_part(at), NoMemoryReason::Malformed);
    }
    Ok(())
}

/// The text of a field; `None` where it is missing, null, or no text that can be decoded.
pub(crate) fn text(value: Option<Raw<'_>>) -> Option<String> {
    value.and_then(|value| value.string().ok().flatten())
}

/// The first of these that is a text and not blank: an empty alias does not hide a filled one.
pub(crate) fn first_text<const N: usize>(values: [Option<Raw<'_>>; N]) -> Option<String> {
    let mut texts = values.into_iter().filter_map(text);
    texts.find(|text| !text.trim().is_empty())
}

/// The first of these that is a text and not blank.
///
/// # Errors
/// Why none is; `name` is the first one's.
pub(crate) fn content<const N: usize>(
    values: [Option<Raw<'_>>; N],
    name: &'static str,
) -> Result<String, NoMemoryReason> {
    first_text(values).ok_or_else(|| why_no_text(values, name))
}

/// Why none of these is a text with content; `name` is the first one's.
pub(crate) fn why_no_text<const N: usize>(
    values: [Option<Raw<'_>>; N],
    name: &'static str,
) -> NoMemoryReason {
    let mut there = values.into_iter().flatten().peekable();
    if there.peek().is_none() {
        return NoMemoryReason::MissingField(name);
    }
    let mut reason = NoMemoryReason::Empty;
    for value in there {
        match value.string() {
            Err(broken) => return broken.into(),
            // After an undecodable value, which is the nearer cause.
            Ok(None) if !value.is_null() => reason = NoMemoryReason::InvalidField(name),
            Ok(_) => {}
        }
    }
    reason
}

/// Whether one of these exists, whatever it holds.
pub(crate) fn any_of<const N: usize>(values: [Option<Raw<'_>>; N]) -> bool {
    values.into_iter().any(|value| value.is_some())
}
