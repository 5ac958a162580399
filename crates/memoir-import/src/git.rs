//! The dates of files in a repository of git: when each was first written.
//!
//! The repository may be untrusted. Git must not run any program that the repository's own settings name, and must not
//! fetch anything; its output is names and times alone.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use memoir_domain::Timestamp;

use crate::date;

/// Most lines of the log that are read.
// An endless history would block the import, and each name is kept.
const LINES: usize = 2_000_000;

/// The files of the folder with the dates of their first commits; none where it is no repository, or git is not
/// installed.
pub(crate) fn dates(root: &Path) -> BTreeMap<String, Timestamp> {
    // A `.git` that is a file or a link may lead to any repository.
    let is_folder = fs::symlink_metadata(root.join(".git")).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return BTreeMap::new();
    }
    log(root).unwrap_or_default()
}

fn log(root: &Path) -> Option<BTreeMap<String, Timestamp>> {
    // Options of the command line override the repository's own `config`, which may name programs to be run.
    // `protocol.allow` keeps git from the network.
    let settings = [
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "core.pager=cat",
        "core.quotePath=false",
        "core.sshCommand=false",
        "diff.external=",
        "gpg.program=false",
        "log.showSignature=false",
        "log.mailmap=false",
        "protocol.allow=never",
    ];
    let mut command = Command::new("git");
    for setting in settings {
        command.args(["-c", setting]);
    }
    let mut child = command
        .arg("-C")
        .arg(root)
        // `%at` is a number: the author's name and the message, which are untrusted texts, are not printed. `-z` gives
        // names unquoted.
        .args(["--no-pager", "log", "--format=@%at", "--name-only", "-z"])
        .args([
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--diff-filter=A",
            "--relative",
        ])
        // Within a hook of git these name another repository than that of the folder.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_COMMON_DIR")
        // In a partial clone even reading the log may fetch objects; git must not write or prompt.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
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
    for piece in stdout.split(0).take(LINES) {
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
                Some(seconds) => at = date::of_number(seconds),
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
