//! Places at which a test can kill the process, to see that the database survives it (SPEC 6.2).
//!
//! With the feature `fault-points` and `MEMOIR_FAULT=NAME:N` in the environment, the process aborts at
//! the N-th time (from 1) that it passes the point of that name; `any` counts all points together.
//! Without the feature nothing of this is compiled.
//!
//! In the order in which they are passed: `migrate.begun`, `migrate.step`, `migrate.before_commit` and
//! `migrate.committed` when a file is made or migrated; `batch.begun`, then for each commit in the batch
//! `commit.begun`, `commit.agent`, `commit.prompts`, `commit.memories`, `commit.sessions`, `commit.bodies`,
//! `commit.tokens`, `commit.access`, `commit.messages` and `commit.records`, or `leaves.appended` for entries over all
//! logs, `token.written`, `token.uses`, `user.created`, `reply.forgotten`, `word_indexes.forgotten` and
//! `row.changed` for what all databases write by the same statements, then `batch.before_commit` and, before any caller
//! gets its result, `batch.committed` and, where a body was replaced, `scrub.rewritten`, `scrub.cut` and
//! `scrub.resolved`.

/// Aborts the process where the environment asks for it.
#[cfg(feature = "fault-points")]
pub(crate) fn point(name: &str) {
    use std::sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    };

    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    let wanted = WANTED.get_or_init(|| {
        let wanted = std::env::var("MEMOIR_FAULT").ok()?;
        let (name, count) = wanted.rsplit_once(':')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    if let Some((wanted, count)) = wanted
        && (wanted == name || wanted == "any")
        && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *count
    {
        std::process::abort();
    }
}

/// Nothing.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub(crate) fn point(_name: &str) {}
