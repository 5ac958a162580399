//! The dates of files in a repository of git: when each was first written.
//!
//! The repository may be a stranger's. Git is told not to run any program that the repository's own settings
//! name, and not to fetch anything; what it lists are names and times alone.

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
// A history without end, or one made to have none, would hold up the import, and each name is kept.
const LINES: usize = 2_000_000;

/// The files of the folder with the dates of their first commits; none where it is no repository, or git is
/// not there.
pub(crate) fn dates(root: &Path) -> BTreeMap<String, Timestamp> {
    // A `.git` that is a file or a link leads to a repository wherever it says.
    let is_folder = fs::symlink_metadata(root.join(".git")).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return BTreeMap::new();
    }
    log(root).unwrap_or_default()
}

fn log(root: &Path) -> Option<BTreeMap<String, Timestamp>> {
    // Given on the command line, they come before what the repository's own `config` says, which may name
    // programs to be run. `protocol.allow` keeps git from the network.
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
        // `%at` is a number: the author's name and the message, which are a stranger's words, never come here.
        // `-z` gives names as they are, with no quotes to undo.
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
        // In a partial clone even a look at the log may fetch what is missing; and nothing is to be written or
        // asked.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Its complaints may hold names of files.
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
                // The log goes backwards: the oldest is the last one that is seen.
                None => {
                    if let Some(at) = at {
                        found.insert(part.to_owned(), at);
                    }
                }
            }
        }
    }
    // Where the limit or an error ended the reading, git may have much of the log before it: nobody waits for
    // that.
    let _ = child.kill();
    let _ = child.wait();
    Some(found)
}
