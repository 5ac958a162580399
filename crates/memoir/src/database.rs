//! Where the database is.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;
use memoir_store_sqlite::SqliteStore;

use crate::failure::Failure;

/// Opens the database that was named, or the user's own, which is made on first use.
///
/// # Errors
/// The name is of no kind that this build knows, or the store cannot be opened.
pub(crate) fn open(url: Option<&str>) -> Result<SqliteStore, Failure> {
    let path = path(url)?;
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        // SQLite would take a device for a database, and put files of its own beside it.
        let problem = format!(
            "cannot open the database `{}`: it is not a file",
            path.display()
        );
        return Err(
            Failure::new(problem).hint("give the path of a file with `--database sqlite:PATH`")
        );
    }
    if let (None, Some(folder)) = (url, path.parent()) {
        make_private_folder(folder)
            .map_err(|error| Failure::file("make the folder", folder, &error))?;
    }
    Ok(SqliteStore::open(&path)?)
}

/// The file of the database that was named, or of the user's own.
///
/// # Errors
/// The name is of no kind that this build knows.
pub(crate) fn path(url: Option<&str>) -> Result<PathBuf, Failure> {
    url.map_or_else(default_path, path_of)
}

/// The file that a URL names: `sqlite:PATH`, `sqlite://PATH` or the path alone.
fn path_of(url: &str) -> Result<PathBuf, Failure> {
    const HINT: &str = "give `sqlite:PATH` or a path";
    let path = if let Some(rest) = url.strip_prefix("sqlite:") {
        rest.strip_prefix("//").unwrap_or(rest)
    } else if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        return Err(
            Failure::new("this build of Memoir keeps its database in SQLite only").hint(HINT),
        );
    } else if let Some((scheme, _)) = url.split_once("://") {
        return Err(Failure::new(format!("there is no kind of database `{scheme}`")).hint(HINT));
    } else {
        url
    };
    match path {
        "" => Err(Failure::new("the database has no path").hint(HINT)),
        ":memory:" => {
            Err(Failure::new("a database in memory would be gone with this command").hint(HINT))
        }
        path => Ok(Path::new(path).to_owned()),
    }
}

/// `memoir/memoir.db` in the user's data directory.
fn default_path() -> Result<PathBuf, Failure> {
    let directories = etcetera::choose_base_strategy().map_err(|error| {
        Failure::new(format!("the user's data directory is not known: {error}"))
            .hint("give a path with `--database sqlite:PATH`")
    })?;
    Ok(directories.data_dir().join("memoir").join("memoir.db"))
}

/// Makes the folder where there is none, for its owner only.
fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_no_database() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("device");
        std::os::unix::net::UnixListener::bind(&device).unwrap();
        let failure = open(device.to_str()).err().unwrap();
        let Failure::Told(told) = failure else {
            panic!("it is told")
        };
        assert!(told.to_string().contains("it is not a file"), "{told}");
        let beside = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(beside, 1, "nothing was put beside it");
    }

    #[test]
    fn a_database_is_named_by_url_or_path() {
        for (url, path) in [
            ("sqlite:/a/b.db", "/a/b.db"),
            ("sqlite:///a/b.db", "/a/b.db"),
            ("sqlite:b.db", "b.db"),
            ("b.db", "b.db"),
            ("/a b/c", "/a b/c"),
        ] {
            assert_eq!(path_of(url).unwrap(), Path::new(path));
        }
        for wrong in [
            "",
            "sqlite:",
            "sqlite::memory:",
            "postgres://localhost/m",
            "mysql://x",
        ] {
            assert!(path_of(wrong).is_err(), "{wrong}");
        }
    }
}
