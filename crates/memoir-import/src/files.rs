//! The input as a list of files: one, those of a folder, or those of an archive.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use memoir_domain::{
    PrivateText, Timestamp,
    mend::{self, Encoding},
};
use memoir_transcripts::{ByteStream, source::HEAD_BYTES, unpacked};

use crate::{
    EntryPosition, Error, ImportLimits, Input, NoMemoryReason,
    copied::Undoubled,
    folder::{EntryKind, Folder},
    git,
    out::Out,
    outline::outline,
    recognise,
    zip::Archive,
};

/// The folders that hold a program's own files.
// Not counted and not named: a repository has thousands of its own files, and none is a page.
const PASSED_FOLDERS: [&str; 4] = [".git", ".obsidian", ".trash", "node_modules"];
/// The first bytes of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The files, in the order of their names.
#[derive(Debug)]
pub(crate) struct Files {
    names: Vec<ArchivedName>,
    store: FileSet,
    passed: Vec<(EntryPosition, NoMemoryReason)>,
    /// When the files of a repository were first committed, once it was asked for.
    committed: OnceCell<BTreeMap<String, Timestamp>>,
}

#[derive(Debug)]
struct ArchivedName {
    /// With `/` between folders, and none at the beginning.
    name: String,
    /// Its index in the archive.
    index: usize,
}

#[derive(derive_more::Debug)]
enum FileSet {
    #[debug("One")]
    One {
        head: Vec<u8>,
        rest: Option<ByteStream>,
        path: Option<PathBuf>,
        /// Keeps the temporary file of a spooled stream.
        _spool: Option<tempfile::NamedTempFile>,
    },
    #[debug("Folder")]
    Folder(Folder),
    #[debug("Archive")]
    Archive(Archive),
}

impl Files {
    pub(crate) fn open(input: Input, limits: &ImportLimits) -> Result<Self, Error> {
        match input {
            Input::Path(path) if fs::metadata(&path)?.is_dir() => Self::folder(&path, limits),
            Input::Path(path) => {
                let (is_compressed, text) = unpacked(Box::new(File::open(&path)?))?;
                if is_compressed {
                    return Self::open(Input::Stream(text), limits);
                }
                let mut file = File::open(&path)?;
                let mut head = Vec::new();
                file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
                if is_archive(&head) {
                    return Self::archive(file, limits);
                }
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = name.into_owned();
                Ok(Self::one(name, head, Box::new(file), Some(path), None))
            }
            Input::Stream(stream) => {
                let (_, mut stream) = unpacked(stream)?;
                let mut head = Vec::new();
                stream.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
                let is_archive = is_archive(&head);
                // Its names may be anywhere in it.
                let is_undecided = is_long_json(&head) && recognise::json(&head).is_none();
                // Other streams are not spooled, so that an input of any length needs no room on the disk.
                if !is_archive && !is_undecided && !head.starts_with(SQLITE) {
                    return Ok(Self::one(String::new(), head, stream, None, None));
                }
                // They need random access, which a stream does not have.
                let mut spool = tempfile::NamedTempFile::new()?;
                let mut whole = Cursor::new(&head).chain(stream);
                io::copy(&mut whole, spool.as_file_mut())?;
                if is_archive {
                    // The name is removed immediately, so that the file disappears when the archive is closed, also
                    // when the process dies.
                    return Self::archive(spool.into_file(), limits);
                }
                let mut file = File::open(spool.path())?;
                file.seek(SeekFrom::Start(head.len() as u64))?;
                let (file, path) = (Box::new(file), Some(spool.path().to_owned()));
                Ok(Self::one(String::new(), head, file, path, Some(spool)))
            }
        }
    }

    fn one(
        name: String,
        head: Vec<u8>,
        rest: ByteStream,
        path: Option<PathBuf>,
        spool: Option<tempfile::NamedTempFile>,
    ) -> Self {
        let store = FileSet::One {
            head,
            rest: Some(rest),
            path,
            _spool: spool,
        };
        let names = vec![ArchivedName { name, index: 0 }];
        Self::many(names, store, Vec::new())
    }

    fn archive(file: File, limits: &ImportLimits) -> Result<Self, Error> {
        let archive = Archive::open(file, limits)?;
        let (mut names, mut passed) = (Vec::new(), Vec::new());
        for index in 0..archive.len() {
            let name = archive.name(index);
            if name.ends_with('/') {
                continue;
            }
            match archive.refusal(index) {
                Some(reason) => passed.push((in_file(name), reason)),
                None if name.split('/').any(is_passed) => {}
                None => names.push(ArchivedName {
                    name: name.to_owned(),
                    index,
                }),
            }
        }
        Ok(Self::many(names, FileSet::Archive(archive), passed))
    }

    fn folder(path: &Path, limits: &ImportLimits) -> Result<Self, Error> {
        let root = Folder::open(path)?;
        let (mut names, mut passed) = (Vec::new(), Vec::new());
        // A list and not recursion, so that folders within folders cost no stack.
        let mut folders = vec![(String::new(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            let entries = match root.list(&folder) {
                Ok(entries) => entries,
                // The named folder must be readable; an unreadable one within it is counted.
                Err(error) if folder.is_empty() => return Err(error.into()),
                Err(_) => {
                    passed.push((in_file(&folder), NoMemoryReason::Unreadable));
                    continue;
                }
            };
            for entry in entries {
                let (name, kind) = match entry {
                    Ok(entry) => entry,
                    Err(reason) => {
                        passed.push((in_file(&folder), reason));
                        continue;
                    }
                };
                if is_passed(&name) {
                    continue;
                }
                let name = format!("{folder}{name}");
                match kind {
                    // It may lead to a folder above this one, or out of the named one.
                    EntryKind::Link => passed.push((in_file(&name), NoMemoryReason::Link)),
                    EntryKind::Folder if depth < limits.depth => {
                        folders.push((format!("{name}/"), depth + 1));
                    }
                    EntryKind::File if names.len() < limits.files => {
                        names.push(ArchivedName { name, index: 0 });
                    }
                    EntryKind::File | EntryKind::Folder => {
                        passed.push((in_file(&name), NoMemoryReason::TooMany));
                    }
                    EntryKind::Other => passed.push((in_file(&name), NoMemoryReason::OtherFile)),
                }
            }
        }
        Ok(Self::many(names, FileSet::Folder(root), passed))
    }

    fn many(
        mut names: Vec<ArchivedName>,
        store: FileSet,
        passed: Vec<(EntryPosition, NoMemoryReason)>,
    ) -> Self {
        // `find` is a binary search, and the order of reading must not depend on the disk's order.
        names.sort_by(|one, other| one.name.cmp(&other.name));
        Self {
            names,
            store,
            passed,
            committed: OnceCell::new(),
        }
    }

    pub(crate) fn report_passed(&self, out: &mut Out<'_>) {
        for (place, reason) in &self.passed {
            out.report.pass(place.clone(), *reason);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether it is one file, and no folder or archive that may have one.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self.store, FileSet::One { .. })
    }

    /// Whether a file is read: the only one, or one of such a name. Any other is counted.
    pub(crate) fn takes(
        &self,
        index: usize,
        out: &mut Out<'_>,
        is_such: impl FnOnce(&str) -> bool,
    ) -> bool {
        let takes = self.is_one() || is_such(self.name(index));
        if !takes {
            out.pass(self.place(index), NoMemoryReason::OtherFile);
        }
        takes
    }

    /// The name of a file within the folder or archive; that of the one file; empty for a stream.
    pub(crate) fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", |name| &name.name)
    }

    /// The index of the file of that name; `None` where there is none.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let found = self
            .names
            .binary_search_by(|entry| entry.name.as_str().cmp(name));
        found.ok()
    }

    pub(crate) fn place(&self, index: usize) -> EntryPosition {
        if self.is_one() {
            EntryPosition::default()
        } else {
            in_file(self.name(index))
        }
    }

    /// The path of a file on the disk; `None` in an archive and for a stream.
    pub(crate) fn path(&self, index: usize) -> Option<PathBuf> {
        match &self.store {
            FileSet::One { path, .. } => path.clone(),
            FileSet::Folder(root) => Some(root.path().join(self.name(index))),
            FileSet::Archive(_) => None,
        }
    }

    /// When a file of a folder was first committed to its repository of git; `None` elsewhere.
    pub(crate) fn committed_at(&self, index: usize) -> Option<Timestamp> {
        let FileSet::Folder(root) = &self.store else {
            return None;
        };
        let dates = self.committed.get_or_init(|| git::dates(root.path()));
        dates.get(self.name(index)).copied()
    }

    /// The time of a file itself: that of its first commit, else that of its last modification, which copying changes.
    pub(crate) fn time(&self, index: usize) -> Option<Timestamp> {
        let committed = self.committed_at(index);
        committed.or_else(|| self.written_at(index))
    }

    /// The modification time of a file of a folder; `None` elsewhere.
    fn written_at(&self, index: usize) -> Option<Timestamp> {
        let found = match &self.store {
            FileSet::One { path, .. } => fs::metadata(path.as_ref()?),
            FileSet::Folder(root) => root.file(self.name(index)).and_then(|file| file.metadata()),
            FileSet::Archive(_) => return None,
        };
        let written = found.ok()?.modified().ok()?;
        let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
        Timestamp::from_microseconds(i64::try_from(since.as_micros()).ok()?)
    }

    /// The beginning of a file, up to 256 KB.
    pub(crate) fn head(&mut self, index: usize) -> Vec<u8> {
        if let FileSet::One { head, .. } = &self.store {
            return head.clone();
        }
        let mut head = Vec::new();
        let read = self
            .reader(index)
            .and_then(|reader| reader.take(HEAD_BYTES).read_to_end(&mut head));
        // An unreadable file is reported when it is read in whole.
        let _ = read;
        head
    }

    /// What shows the format of a file: its beginning, or of a longer file of JSON its [`outline`].
    pub(crate) fn outline(&mut self, index: usize) -> Vec<u8> {
        let head = self.head(index);
        if !is_long_json(&head) {
            return head;
        }
        let found = match &self.store {
            FileSet::One { path, .. } => match path {
                Some(path) => File::open(path).and_then(outline),
                None => return head,
            },
            _ => self.reader(index).and_then(outline),
        };
        // An unreadable file is reported when it is read in whole.
        found.unwrap_or(head)
    }

    /// A file's bytes as a stream. A stream can be read once.
    pub(crate) fn reader(&mut self, index: usize) -> io::Result<Box<dyn Read + '_>> {
        match &mut self.store {
            FileSet::One { head, rest, .. } => {
                // A second reading of a stream is empty, since its bytes are not kept.
                let rest = rest.take().unwrap_or_else(|| Box::new(io::empty()));
                Ok(Box::new(Cursor::new(std::mem::take(head)).chain(rest)))
            }
            FileSet::Folder(root) => {
                let name = self.names.get(index).ok_or(io::ErrorKind::NotFound)?;
                Ok(Box::new(root.file(&name.name)?))
            }
            FileSet::Archive(archive) => {
                let name = self.names.get(index).ok_or(io::ErrorKind::NotFound)?;
                Ok(Box::new(archive.reader(name.index)?))
            }
        }
    }

    /// Undoes the doubling of backslashes in the only file. Its beginning is not known any more.
    pub(crate) fn undouble(&mut self) {
        if let FileSet::One { head, rest, .. } = &mut self.store
            && let Some(given) = rest.take()
        {
            let whole = Cursor::new(std::mem::take(head)).chain(given);
            *rest = Some(Box::new(Undoubled::new(whole)));
        }
    }

    /// A whole file, of at most so many bytes.
    pub(crate) fn bytes(&mut self, index: usize, limit: usize) -> Result<Vec<u8>, NoMemoryReason> {
        let mut bytes = Vec::new();
        let reader = self.reader(index).map_err(|_| NoMemoryReason::Unreadable)?;
        // One byte over the limit detects a file that is too large.
        let read = reader.take(limit as u64 + 1).read_to_end(&mut bytes);
        match read {
            Ok(_) if bytes.len() > limit => Err(NoMemoryReason::TooLarge),
            Ok(_) => Ok(bytes),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::FileTooLarge => NoMemoryReason::TooLarge,
                io::ErrorKind::InvalidInput => NoMemoryReason::Malformed,
                _ => NoMemoryReason::Unreadable,
            }),
        }
    }

    /// A whole page as text; `None` where it cannot be read, which is counted.
    pub(crate) fn page(
        &mut self,
        index: usize,
        place: &EntryPosition,
        out: &mut Out<'_>,
    ) -> Option<String> {
        match self.text(index, out.options.limits.entry_bytes) {
            Ok((text, encoding)) => {
                if encoding != Encoding::Utf8 {
                    let name = self.name(index);
                    out.notice("encoding", format!("{name}: not UTF-8; read as {encoding}"));
                }
                Some(text)
            }
            Err(reason) => {
                out.pass_entry(place.clone(), reason);
                None
            }
        }
    }

    /// A whole file as text, whatever its encoding.
    pub(crate) fn text(
        &mut self,
        index: usize,
        limit: usize,
    ) -> Result<(String, Encoding), NoMemoryReason> {
        let bytes = self.bytes(index, limit)?;
        let (text, encoding) = mend::file(&bytes).ok_or(NoMemoryReason::NotText)?;
        Ok((text.into_owned(), encoding))
    }
}

/// Whether a file is JSON, and goes on behind these first bytes.
fn is_long_json(head: &[u8]) -> bool {
    head.len() as u64 == HEAD_BYTES && recognise::is_json(head)
}

fn is_passed(name: &str) -> bool {
    PASSED_FOLDERS.contains(&name) || matches!(name, ".DS_Store" | "__MACOSX" | "Thumbs.db")
}

/// Whether a file begins as a ZIP archive does.
pub fn is_archive(head: &[u8]) -> bool {
    // The second is an archive without files.
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// The files of conversations in the ZIP archive of an export, as temporary files without a name.
///
/// # Errors
/// The archive or one of them cannot be read, it inflates to more than the limits allow, or has none.
pub fn conversations(file: File, limits: &ImportLimits) -> Result<Vec<File>, Error> {
    let mut archive = Archive::open(file, limits)?;
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let name = archive.name(index);
        if !is_of_conversations(name) && !is_of_gemini(name) {
            continue;
        }
        match archive.refusal(index) {
            None => {}
            // Without one of its files, the export would pass for read.
            Some(NoMemoryReason::Unreadable) => {
                let problem = "a file in it is encrypted, or packed in another way";
                return Err(Error::Archive(problem));
            }
            Some(_) => continue,
        }
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut archive.reader(index)?, &mut copy)?;
        copy.rewind()?;
        files.push(copy);
    }
    match files.is_empty() {
        true => Err(Error::Unrecognised("a ZIP archive without conversations")),
        false => Ok(files),
    }
}

pub(crate) fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a file of that name holds conversations of an export: ChatGPT's or Claude's.
pub(crate) fn is_of_conversations(name: &str) -> bool {
    let file = file_name(name);
    file.starts_with("conversations") && file.ends_with(".json")
}

/// Whether a file of that name is Gemini's activity in an archive of Google Takeout, which has other products' too.
fn is_of_gemini(name: &str) -> bool {
    let is_activity = matches!(file_name(name), "My Activity.json" | "MyActivity.json");
    is_activity && name.contains("Gemini")
}

/// Whether a file begins as an SQLite database does.
pub(crate) fn is_database(head: &[u8]) -> bool {
    head.starts_with(SQLITE)
}

/// The position of a whole file of a folder or an archive.
pub(crate) fn in_file(name: &str) -> EntryPosition {
    EntryPosition {
        file: Some(PrivateText::from(name)),
        ..EntryPosition::default()
    }
}
