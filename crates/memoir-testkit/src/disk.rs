//! A folder for the databases of a benchmark.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement that does not get what it needs ends here"
)]

use std::path::PathBuf;

use tempfile::TempDir;

/// A temporary folder beside the build, on a real disk: a folder in memory would omit the cost of a commit.
pub struct DiskFolder(TempDir);

impl Default for DiskFolder {
    fn default() -> Self {
        let place = std::env::var_os("CARGO_TARGET_TMPDIR").unwrap_or_else(|| "target".into());
        std::fs::create_dir_all(&place).unwrap();
        Self(TempDir::new_in(place).unwrap())
    }
}

impl DiskFolder {
    /// The path of that file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
