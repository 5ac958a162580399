//! The location of the database.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use etcetera::BaseStrategy;
use memoir_store::Store;
use memoir_store_postgres::PostgresStore;
use memoir_store_sqlite::SqliteStore;

use crate::{
    failure::Failure,
    options::{Global, account_option},
    private_file::{folder_of, make_private_folder},
    terminal::word,
};

/// What separates the account from the database in the name of an installation.
const ACCOUNT: &str = ", account ";

/// Opens the named database, or the user's own, which is created on first use.
///
/// # Errors
/// This build does not know that kind of database, the store cannot be opened, or migrations are pending.
pub(crate) async fn open(url: Option<&str>) -> Result<Arc<dyn Store>, Failure> {
    Ok(match postgres(url) {
        Some(url) => Arc::new(PostgresStore::open(url).await?),
        None => Arc::new(open_file(url)?),
    })
}

pub(crate) fn open_file(url: Option<&str>) -> Result<SqliteStore, Failure> {
    Ok(SqliteStore::open(&file(url)?)?)
}

/// The file of an embedded database, as [`prepare`] finds it.
///
/// # Errors
/// The database is no file.
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
pub(crate) fn is_shared(global: &Global) -> bool {
    postgres(global.database.as_deref()).is_some()
}

/// Whether a database with data exists; then its keys must exist too.
pub(crate) async fn is_in_use(url: Option<&str>) -> Result<bool, Failure> {
    if postgres(url).is_some() {
        // A database without accounts holds no sealed data.
        return Ok(!open(url).await?.accounts().await?.is_empty());
    }
    // SQLite leaves an empty file of a database that was never written.
    Ok(fs::metadata(path(url)?).is_ok_and(|found| found.len() > 0))
}

/// The path of the database's file, in an existing folder. For a database of PostgreSQL no such file exists, but its
/// other files are beside that path.
///
/// # Errors
/// The file is no database of Memoir, or the folder cannot be created.
pub(crate) fn prepare(url: Option<&str>) -> Result<PathBuf, Failure> {
    let path = match postgres(url) {
        Some(_) => path(url)?,
        None => checked_path(url)?,
    };
    let folder = folder_of(&path);
    if postgres(url).is_some() || is_own(&path) {
        make_private_folder(folder)
            .map_err(|error| Failure::file("make the folder", folder, &error))?;
    }
    Ok(path)
}

/// The path of the database's file, which need not exist. Nothing is created.
///
/// # Errors
/// The file is no database of Memoir, or there is no folder for it.
pub(crate) fn checked_path(url: Option<&str>) -> Result<PathBuf, Failure> {
    let path = path(url)?;
    if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        // SQLite would use a device as a database, and write files of its own beside it.
        let problem = format!(
            "cannot open the database `{}`: it is not a file",
            path.display()
        );
        return Err(
            Failure::new(problem).hint("give the path of a file with `--database sqlite:PATH`")
        );
    }
    // A foreign file is reported before any key is searched for.
    if SqliteStore::is_foreign(&path) {
        return Err(memoir_store::Error::NotADatabase(path.display().to_string()).into());
    }
    let folder = folder_of(&path);
    if !is_own(&path) && !folder.is_dir() {
        // It was mistyped; nothing is created in its place.
        return Err(memoir_store::Error::Open {
            location: path.display().to_string(),
            problem: format!("there is no folder `{}`", folder.display()),
        }
        .into());
    }
    Ok(path)
}

/// The file of the named database, or of the user's own; for one of PostgreSQL, a name in the user's data directory,
/// beside which its keys are.
///
/// # Errors
/// This build does not know that kind of database.
pub(crate) fn path(url: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(url) = postgres(url) {
        let location = PostgresStore::at(url)?.location().to_owned();
        // Every system allows these characters in a file name.
        let name = location.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
        return Ok(default_path()?.with_file_name(name));
    }
    url.map_or_else(default_path, path_of)
}

/// The name of the installation on this machine: the resolved database, and the account where it is not the default one.
/// It holds no password.
pub(crate) fn place(global: &Global) -> Result<String, Failure> {
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
        false => format!("{location}{ACCOUNT}{}", global.account),
    })
}

/// The options that name the installation of that name, as a shell takes them.
pub(crate) fn options_of(place: &str) -> String {
    let default = (place, memoir_app::DEFAULT_ACCOUNT);
    let (path, account) = place.rsplit_once(ACCOUNT).unwrap_or(default);
    format!("--database {}{}", word(path), account_option(account))
}

/// The same of a service that has that address, else of the installation on this machine.
pub(crate) fn place_or(global: &Global, url: Option<&str>) -> Result<String, Failure> {
    url.map_or_else(|| place(global), |url| Ok(url.to_owned()))
}

/// The path with its folder's links resolved. The file need not exist; only existing paths have a canonical form.
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
            Err(Failure::new("a database in memory would end with this command").hint(HINT))
        }
        path => Ok(Path::new(path).to_owned()),
    }
}

/// `memoir/memoir.db` in the user's data directory.
pub(crate) fn default_path() -> Result<PathBuf, Failure> {
    let folder = user_folder(BaseStrategy::data_dir);
    let hint = "give a path with `--database sqlite:PATH`, or set HOME or XDG_DATA_HOME";
    let folder = folder.map_err(|problem| Failure::new(problem).hint(hint))?;
    Ok(folder.join("memoir").join("memoir.db"))
}

/// A folder of the user's own, by the environment.
///
/// # Errors
/// The home is not known, or the folder is in a home that is `/`, as in a container without a user: nothing is written
/// there. The message says which.
pub(crate) fn user_folder(
    folder: impl Fn(&etcetera::base_strategy::Xdg) -> PathBuf,
) -> Result<PathBuf, String> {
    let base = etcetera::base_strategy::Xdg::new();
    let base = base.map_err(|error| format!("the user's home is not known: {error}"))?;
    let (home, found) = (base.home_dir(), folder(&base));
    // One that a variable names may be anywhere else.
    let is_of_home = [".config", ".local", ".cache"].map(|name| home.join(name));
    let is_of_home = is_of_home.iter().any(|folder| found.starts_with(folder)) || found == home;
    match is_of_home && (home.parent().is_none() || home.is_relative()) {
        true => Err(format!(
            "the user's home is `{}`, which is no folder of a user",
            home.display()
        )),
        false => Ok(found),
    }
}

/// Whether this is the user's own database, however it is named.
pub(crate) fn is_own(path: &Path) -> bool {
    default_path().is_ok_and(|own| {
        own == path || canonical(&own).is_some_and(|own| Some(own) == canonical(path))
    })
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
        let Failure::Shown(shown_failure) = failure else {
            panic!("the failure is shown")
        };
        let text = shown_failure.to_string();
        assert!(text.contains("it is not a file"), "{text}");
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
