//! Where the database is.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use etcetera::BaseStrategy;
use memoir_store::Store;
use memoir_store_postgres::PostgresStore;
use memoir_store_sqlite::SqliteStore;

use crate::failure::Failure;

/// Opens the database that was named, or the user's own, which is made on first use.
///
/// # Errors
/// The name is of no kind that this build knows, the store cannot be opened, or it waits for migrations.
pub(crate) async fn open(url: Option<&str>) -> Result<Arc<dyn Store>, Failure> {
    Ok(match postgres(url) {
        Some(url) => Arc::new(PostgresStore::open(url).await?),
        None => Arc::new(open_file(url)?),
    })
}

/// Opens the database where it is a file.
///
/// # Errors
/// It is none, or cannot be opened.
pub(crate) fn open_file(url: Option<&str>) -> Result<SqliteStore, Failure> {
    Ok(SqliteStore::open(&file(url)?)?)
}

/// The file of an embedded database, as [`prepare`] finds it.
///
/// # Errors
/// The database is none.
pub(crate) fn file(url: Option<&str>) -> Result<PathBuf, Failure> {
    if postgres(url).is_some() {
        return Err(Failure::new(
            "this works on the file of an embedded database, and this one is PostgreSQL's",
        )
        .hint("`pg_dump` copies it; copy the key store after it"));
    }
    prepare(url)
}

/// The URL, where it names a database of PostgreSQL.
pub(crate) fn postgres(url: Option<&str>) -> Option<&str> {
    // PostgreSQL's own programs accept both forms.
    url.filter(|url| url.starts_with("postgres:") || url.starts_with("postgresql:"))
}

/// Whether several machines may share the database.
pub(crate) fn is_shared(global: &crate::cli::Global) -> bool {
    postgres(global.database.as_deref()).is_some()
}

/// Whether there is a database that holds something, whose keys must be there too.
///
/// # Errors
/// It cannot be reached.
pub(crate) async fn is_in_use(url: Option<&str>) -> Result<bool, Failure> {
    if postgres(url).is_some() {
        // A database without accounts holds nothing that is sealed.
        return Ok(!open(url).await?.accounts().await?.is_empty());
    }
    // An empty file is what SQLite leaves of a database in which nothing was ever written.
    Ok(fs::metadata(path(url)?).is_ok_and(|found| found.len() > 0))
}

/// The file, which can be a database's, in a folder that is there. What belongs to a database of PostgreSQL is
/// beside it, and there is no such file.
///
/// # Errors
/// It is something else than a database of Memoir, or the folder cannot be made.
pub(crate) fn prepare(url: Option<&str>) -> Result<PathBuf, Failure> {
    let path = path(url)?;
    if postgres(url).is_some() {
        let folder = folder_of(&path);
        make_private_folder(folder)
            .map_err(|error| Failure::file("make the folder", folder, &error))?;
        return Ok(path);
    }
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
    // What is somebody else's file is told before any key is looked for.
    if SqliteStore::is_foreign(&path) {
        return Err(memoir_store::Error::NotADatabase(path.display().to_string()).into());
    }
    let folder = folder_of(&path);
    if is_own(&path) {
        make_private_folder(folder)
            .map_err(|error| Failure::file("make the folder", folder, &error))?;
    } else if !folder.is_dir() {
        // It was mistyped; nothing is made in its place.
        return Err(memoir_store::Error::Open {
            location: path.display().to_string(),
            problem: format!("there is no folder `{}`", folder.display()),
        }
        .into());
    }
    Ok(path)
}

/// The file of the database that was named, or of the user's own; for one of PostgreSQL, a name in the user's data
/// directory, beside which its keys are.
///
/// # Errors
/// The name is of no kind that this build knows.
pub(crate) fn path(url: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(url) = postgres(url) {
        let location = PostgresStore::at(url)?.location().to_owned();
        // Every system allows these characters in a file name.
        let name = location.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
        return Ok(default_path()?.with_file_name(name));
    }
    url.map_or_else(default_path, path_of)
}

/// By what the installation is known on this machine: the database, whatever way it is named, and the account where it
/// is not the default one. It holds no password.
///
/// # Errors
/// The database's name is of no kind that this build knows.
pub(crate) fn place(global: &crate::cli::Global) -> Result<String, Failure> {
    let url = global.database.as_deref();
    let location = match postgres(url) {
        Some(url) => PostgresStore::at(url)?.location().to_owned(),
        None => {
            let path = path(url)?;
            canonical(&path).unwrap_or(path).display().to_string()
        }
    };
    Ok(match global.account == memoir_app::DEFAULT_ACCOUNT {
        true => location,
        false => format!("{location}, account {}", global.account),
    })
}

/// The path with its folder's links resolved. The file may not be there yet, and only what is there has a canonical
/// path.
fn canonical(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let (folder, name) = (path.parent()?, path.file_name()?);
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    Some(folder.join(name))
}

/// The file that a URL names: `sqlite:PATH`, `sqlite://PATH` or the path alone.
fn path_of(url: &str) -> Result<PathBuf, Failure> {
    const HINT: &str = "give `sqlite:PATH`, a path, or `postgres://USER@HOST/DATABASE`";
    let path = if let Some(rest) = url.strip_prefix("sqlite:") {
        rest.strip_prefix("//").unwrap_or(rest)
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
pub(crate) fn default_path() -> Result<PathBuf, Failure> {
    let directories = etcetera::choose_base_strategy().map_err(|error| {
        Failure::new(format!("the user's data directory is not known: {error}"))
            .hint("give a path with `--database sqlite:PATH`")
    })?;
    Ok(directories.data_dir().join("memoir").join("memoir.db"))
}

/// Whether this is the user's own database, however it is named.
pub(crate) fn is_own(path: &Path) -> bool {
    default_path().is_ok_and(|own| {
        own == path || canonical(&own).is_some_and(|own| Some(own) == canonical(path))
    })
}

/// The folder of a file, which may be named without one.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Makes the folder where there is none, for its owner only.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
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
        let failure = open_file(device.to_str()).err().unwrap();
        let Failure::ShownFailure(shown_failure) = failure else {
            panic!("it is told")
        };
        assert!(
            shown_failure.to_string().contains("it is not a file"),
            "{shown_failure}"
        );
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
        for wrong in ["", "sqlite:", "sqlite::memory:", "mysql://x"] {
            assert!(path_of(wrong).is_err(), "{wrong}");
        }
    }
}
