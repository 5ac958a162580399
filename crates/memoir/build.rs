//! Gives the binary the commit of its build, where that is known, and the limits of its allocator.

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
    limit_allocator();
}

/// With glibc only. In C: `mallopt` is not called through any safe function of Rust.
fn limit_allocator() {
    let target = ["OS", "ENV"].map(|part| std::env::var(format!("CARGO_CFG_TARGET_{part}")));
    if !matches!(target, [Ok(os), Ok(env)] if os == "linux" && env == "gnu") {
        return;
    }
    cc::Build::new()
        .file("src/allocator.c")
        // No function of it is called, so that the linker would leave it out.
        .link_lib_modifier("+whole-archive")
        .compile("memoir_allocator");
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
