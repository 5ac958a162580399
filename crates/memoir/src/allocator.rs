//! The allocator of this program, and its settings for a service.
//!
//! Those of glibc and musl make threads wait for each other: short requests would wait for long work, which is
//! interrupted while it holds a lock (`docs/decisions/10-libraries.md` has figures).

use std::{env, os::unix::process::CommandExt, process::Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the allocator, and that of glibc for SQLite, read from the environment as a process begins, for a service.
// By default glibc has an arena for nearly each thread, and the allocator keeps free pages for a second, those that other
// threads freed for longer: a service that builds indexes then takes more than twice the memory (`docs/recall.md`).
const SETTINGS: [(&str, &str); 4] = [
    ("MIMALLOC_PURGE_DELAY", "0"),
    ("MIMALLOC_PAGE_FULL_RETAIN", "0"),
    // After so many larger allocations a thread looks for what others have freed of its pages.
    ("MIMALLOC_GENERIC_COLLECT", "200"),
    ("MALLOC_ARENA_MAX", "2"),
];

/// Starts this program again in the same process with the allocator's settings that the environment does not have.
/// Returns where it has all of them, and where the program cannot be started: it then takes more memory.
// Setting them from within needs a call of C, which is `unsafe`.
pub(crate) fn set_for_service() {
    let unset = SETTINGS.into_iter();
    let unset: Vec<_> = unset
        .filter(|(name, _)| env::var_os(name).is_none())
        .collect();
    let (false, Ok(program)) = (unset.is_empty(), env::current_exe()) else {
        return;
    };
    let mut words = env::args_os();
    let name = words.next().unwrap_or_else(|| program.clone().into());
    let mut again = Command::new(program);
    let _failed = again.arg0(name).args(words).envs(unset).exec();
}
