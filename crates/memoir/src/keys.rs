//! The location of the keys. The master key is in a file of its own or in the environment. The key store with the
//! agents' keys is a file beside the database, or a database of PostgreSQL of its own (SPEC 5.3, 5.4).

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use memoir_store_postgres::{DatabaseIdentity, PostgresKeys, PostgresStore};
use memoir_vault::{KeyStore, MasterKey, MasterSource, unlock, unlock_rows};

use crate::{
    config::{Config, KeysUrl},
    database,
    failure::Failure,
    options::Global,
    parse, private_file,
};

/// Holds the master key itself.
pub(crate) const GIVEN: &str = "MEMOIR_MASTER_KEY";
/// Holds the next master key, for the rotation of one from the environment.
pub(crate) const NEXT: &str = "MEMOIR_NEW_MASTER_KEY";

/// Names the database of the key store, where that is no file.
pub(crate) const URL: &str = "MEMOIR_KEYS_URL";

/// Opens the key store of the database. Where neither exists, keys are created.
///
/// # Errors
/// The master key or the key store is lost, wrong, or readable by others; nothing was written then.
pub(crate) async fn open(global: &Global, config: &Config) -> Result<KeyStore, Failure> {
    let database = database::path(global.database.as_deref())?;
    // An existing database has keys: new ones could open nothing in it.
    let must_exist = database::is_in_use(global.database.as_deref()).await?;
    let source = source(global, config)?;
    // A missing folder of a named database was mistyped.
    if let (false, MasterSource::File(path)) = (must_exist, &source)
        && path.parent() != database.parent()
        && let Some(folder) = path.parent()
    {
        private_file::make_private_folder(folder)
            .map_err(|error| Failure::file("make the folder", folder, &error))?;
    }
    let opened = match shared(global, config, PostgresKeys::open).await? {
        Some(rows) => unlock_rows(&source, Box::new(rows), must_exist),
        None => unlock(&source, &store_path(&database), must_exist),
    };
    Ok(opened?)
}

/// The key store in PostgreSQL; `None` where it is a file.
///
/// # Errors
/// It cannot be reached, or is in the data's own database; the variable holds no URL.
pub(crate) async fn shared(
    global: &Global,
    config: &Config,
    open: impl FnOnce(&str, Option<&DatabaseIdentity>) -> memoir_vault::Result<PostgresKeys>,
) -> Result<Option<PostgresKeys>, Failure> {
    let Some(KeysUrl(url)) = url(config)? else {
        return Ok(None);
    };
    // This identity detects a key store in the data's own database: a thief of that database would have both.
    let data = match database::postgres(global.database.as_deref()) {
        Some(data) => Some(PostgresStore::at(data)?.identity().await?),
        None => None,
    };
    Ok(Some(open(&url, data.as_ref())?))
}

pub(crate) fn is_file(config: &Config) -> Result<bool, Failure> {
    Ok(url(config)?.is_none())
}

/// The URL of the key store: that of the environment, or of the configuration; `None` where it is a file.
fn url(config: &Config) -> Result<Option<KeysUrl>, Failure> {
    match std::env::var_os(URL).filter(|url| !url.is_empty()) {
        // A value that is not UTF-8 is refused as an empty URL, so that no message shows it.
        Some(url) => {
            let url = KeysUrl(url.into_string().unwrap_or_default());
            url.check(URL).map_err(Failure::new)?;
            Ok(Some(url))
        }
        None => Ok(config.keys.url.clone()),
    }
}

/// The source of the master key.
///
/// # Errors
/// The variable holds no master key.
pub(crate) fn source(global: &Global, config: &Config) -> Result<MasterSource, Failure> {
    if let Some(given) = from_environment(GIVEN)? {
        return Ok(MasterSource::Given(given));
    }
    master_key_file(global, config).map(MasterSource::File)
}

/// The master key in the variable of that name; `None` where it is not set or empty.
///
/// # Errors
/// It holds something else.
pub(crate) fn from_environment(name: &str) -> Result<Option<MasterKey>, Failure> {
    let Some(text) = parse::secret_variable(name) else {
        return Ok(None);
    };
    MasterKey::from_text(&text, name)
        .map(Some)
        .map_err(|error| Failure::from(error).hint(match name {
            NEXT => "`openssl rand -hex 32` prints one; keep it in a safe place first",
            _ => "give the key as it was printed or kept; where there is none yet, `openssl rand -hex 32` prints one",
        }))
}

/// The configured file of the master key. By default the user's own database has it in the configuration directory, so
/// that a copy of the data directory alone opens nothing. A named database has it beside itself, so that the two are
/// not separated by accident.
pub(crate) fn master_key_file(global: &Global, config: &Config) -> Result<PathBuf, Failure> {
    if let Some(path) = &config.master_key_file {
        return Ok(path.clone());
    }
    let database = database::path(global.database.as_deref())?;
    match crate::config::default_folder() {
        Some(folder) if database::is_own(&database) => Ok(folder.join("master.key")),
        _ => Ok(beside(&database, ".master-key")),
    }
}

pub(crate) fn store_path(database: &Path) -> PathBuf {
    beside(database, ".keys")
}

/// The path of a file beside the database, whose name has that ending more.
pub(crate) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(ending);
    PathBuf::from(name)
}
