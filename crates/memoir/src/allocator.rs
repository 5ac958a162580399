//! The allocator of this program, and its settings for a service.
//!
//! Those of glibc and musl make threads wait for each other: short requests would wait for long work, which is
//! interrupted while it holds a lock (`docs/decisions/10-libraries.md` has figures).

use std::{env, os::unix::process::CommandExt, process::Command};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What the allocator reads from the environment as a process begins, for a service.
// By default it keeps free pages for a second, and those whose texts another thread has freed for longer: a service that
// builds indexes on many threads takes more than twice the memory then (`docs/figures.md`).
const SETTINGS: [(&str, &str); 3] = [
    // Milliseconds until a free page goes back to the system.
    ("MIMALLOC_PURGE_DELAY", "0"),
    ("MIMALLOC_PAGE_FULL_RETAIN", "0"),
    // After so many larger allocations a thread looks for what others have freed of its pages.
    ("MIMALLOC_GENERIC_COLLECT", "200"),
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
