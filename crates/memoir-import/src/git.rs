//! The dates of files in a repository of git: when each was first written.
//!
//! The repository may be untrusted, and its settings can name programs: helpers, filters, and the source of missing
//! objects. So git never reads them. It runs in an empty repository with settings of its own, which borrows the
//! objects; its output is names and times alone.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
};

use memoir_domain::Timestamp;

use crate::date;

/// Most pieces of the log that are read.
// An endless history would block the import, and each name is kept.
const PIECES: usize = 2_000_000;
/// Most bytes of a file that holds references.
const REFERENCE_BYTES: u64 = 16 << 20;
/// References that name other references.
const REFERENCES: usize = 5;

/// The files of the folder with the dates of their first commits; none where it is in no repository, or git is not
/// installed.
pub(crate) fn dates(root: &Path) -> BTreeMap<String, Timestamp> {
    let mut folders = root.ancestors();
    // The nearest one counts, also where it is a file or a link, which may lead to any other folder.
    let repository = folders.find(|folder| folder.join(".git").symlink_metadata().is_ok());
    repository
        .filter(|repository| is_folder(&repository.join(".git")))
        .and_then(|repository| log(repository, root.strip_prefix(repository).ok()?))
        .unwrap_or_default()
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn log(repository: &Path, folder: &Path) -> Option<BTreeMap<String, Timestamp>> {
    let relative = match folder.to_str()? {
        "" => "--relative".to_owned(),
        folder => format!("--relative={folder}/"),
    };
    let git = repository.join(".git");
    let head = head(&git)?;
    let borrowing = borrowing(&git, &head).ok()?;
    let mut command = Command::new("git");
    // Within a hook of git they name another repository, and others name programs.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    let mut child = command
        .arg("--git-dir")
        .arg(borrowing.path())
        // `%at` is a number: the author's name and the message, which are untrusted texts, are not printed. `-z` gives
        // names unquoted.
        .args(["--no-pager", "log", "--format=@%at", "--name-only", "-z"])
        .args(["--no-ext-diff", "--no-textconv", "--no-renames"])
        .args(["--diff-filter=A", &relative])
        .args([&head, "--"])
        .current_dir(borrowing.path())
        // The user's own settings hold for repositories that the user trusts.
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", borrowing.path())
        .env("XDG_CONFIG_HOME", borrowing.path())
        // Nothing is fetched, by whatever protocol.
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Its error messages may hold names of files.
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut found = BTreeMap::new();
    let mut at = None;
    let stdout = BufReader::new(child.stdout.take()?);
    for piece in stdout.split(0).take(PIECES) {
        let Ok(piece) = piece else { break };
        // A name that is not UTF-8 is not in the list of files either.
        let Ok(piece) = std::str::from_utf8(&piece) else {
            continue;
        };
        // A commit's time and the first of its files come as one piece, with a line break between them.
        for part in piece.split('\n').filter(|part| !part.is_empty()) {
            match part
                .strip_prefix('@')
                .and_then(|seconds| seconds.parse().ok())
            {
                Some(seconds) => at = date::of_number(seconds).at,
                // The log goes backwards: the oldest commit is the last one.
                None => {
                    if let Some(at) = at {
                        found.insert(part.to_owned(), at);
                    }
                }
            }
        }
    }
    // After the limit or an error, git may still have much of the log to print: it is killed.
    let _ = child.kill();
    let _ = child.wait();
    Some(found)
}

/// The commit that is checked out; `None` where there is none, or the repository keeps its references in another form.
fn head(git: &Path) -> Option<String> {
    let mut reference = "HEAD".to_owned();
    for _ in 0..REFERENCES {
        let text = read(&git.join(&reference)).or_else(|| packed(git, &reference))?;
        match text.trim().strip_prefix("ref:") {
            Some(name) => reference = name.trim().to_owned(),
            None => return Some(text.trim().to_owned()).filter(|text| is_hash(text)),
        }
        let is_inside = reference.starts_with("refs/") && !reference.contains("..");
        if !is_inside {
            return None;
        }
    }
    None
}

/// The reference in the list of all of them, which has a line `HASH NAME` for each.
fn packed(git: &Path, reference: &str) -> Option<String> {
    let list = read(&git.join("packed-refs"))?;
    let mut lines = list.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(_, name)| name.trim() == reference)
        .map(|(hash, _)| hash.to_owned())
}

/// SHA-1 or SHA-256, in hexadecimal.
fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read(path: &Path) -> Option<String> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let mut text = String::new();
    let file = is_file.then(|| fs::File::open(path).ok())??;
    file.take(REFERENCE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// An empty repository, with settings that name no program, which borrows the objects of `git`.
fn borrowing(git: &Path, head: &str) -> io::Result<tempfile::TempDir> {
    let objects = git.join("objects");
    if !is_folder(&objects) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    fs::create_dir_all(file("objects/info"))?;
    fs::create_dir(file("refs"))?;
    let format = match head.len() {
        64 => "repositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
        _ => "repositoryformatversion = 0\n",
    };
    // A commit may have a list of other names for its authors, which are not printed.
    let settings = format!("[log]\n\tmailmap = false\n[core]\n\tbare = true\n\t{format}");
    fs::write(file("config"), settings)?;
    fs::write(file("HEAD"), format!("{head}\n"))?;
    let objects = objects.canonicalize()?;
    // A line break would end the name.
    let objects = objects.to_str().filter(|name| !name.contains('\n'));
    let objects = objects.ok_or(io::ErrorKind::InvalidInput)?;
    fs::write(file("objects/info/alternates"), format!("{objects}\n"))?;
    // The commits whose parents are absent: without the list, reading the log would fail at them.
    if let Some(shallow) = read(&git.join("shallow")) {
        fs::write(file("shallow"), shallow)?;
    }
    Ok(folder)
}
