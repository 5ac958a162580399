//! Gives the binary the commit of its build, where that is known.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A development build is not rebuilt for each commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if is_release {
        println!("cargo::rerun-if-changed=../../.git/HEAD");
    }
    let commit = is_release.then(last_commit).flatten();
    let commit = commit.map_or_else(String::new, |commit| format!(" ({commit})"));
    println!("cargo::rustc-env=MEMOIR_COMMIT={commit}");
}

/// The commit and its date; `None` outside of a repository.
fn last_commit() -> Option<String> {
    let output = Command::new("git")
        .args(["log", "-1", "--format=%h, %cs"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
