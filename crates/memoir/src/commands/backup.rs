//! `memoir backup`: copies of the database and of the key store, and their verification.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use memoir_app::{Memoir, Verification};
use memoir_store::{Fleet, MemoryPage};
use memoir_store_sqlite::SqliteStore;
use memoir_vault::{Error as KeysError, MasterKey, MasterSource, sync_folder_of, unlock};
use tempfile::NamedTempFile;

use crate::{
    config::Config,
    database,
    failure::{Failure, Outcome},
    installation::{self, Installation},
    interrupt::unless_interrupted,
    keys,
    options::Global,
    output, private_file,
    show::{self, counted, thousands},
    terminal::{self, safe},
};

/// Copy the database and the key store while Memoir runs
///
/// Each of the two files is of one instant. Sealed texts stay sealed: the copy of the database cannot be read by
/// itself, and the copy of the key store opens only under the master key, of which no copy is made. Keep the two apart
/// from each other. An agent that is erased later can be read again with an old copy of the key store and the master
/// key: destroy such copies then.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where the copy of the database is to be; nothing is overwritten
    #[arg(value_name = "FILE", required = true)]
    file: Option<PathBuf>,
    /// Where the copy of the key store is to be [default: FILE.keys]
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
}

/// Other operations on a copy.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Open a copy, check every chain in it, and open one memory of each agent; the copy stays as it is
    ///
    /// It needs the master key that was in use when the copy was made, from where commands take it.
    Verify {
        /// The copy of the database
        file: PathBuf,
        /// The copy of the key store [default: FILE.keys]
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
    },
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let of = |file: &Path, keys: Option<PathBuf>| keys.unwrap_or_else(|| keys::store_path(file));
    let work = async {
        match (arguments.command, arguments.file) {
            (Some(Command::Verify { file, keys }), _) => {
                verify(global, &file, &of(&file, keys)).await
            }
            (None, Some(file)) => write(global, &file, &of(&file, arguments.keys)).await,
            // The parser guarantees one of the two.
            (None, None) => Err(Failure::new("no file was given")),
        }
    };
    // An interruption removes temporary copies: one of the key store keeps keys that are destroyed later (SPEC 5.4).
    let ended = unless_interrupted(work).await;
    ended.unwrap_or(Err(Failure::Interrupted))
}

#[derive(serde::Serialize)]
struct BackupOutput<'a> {
    database: &'a Path,
    database_bytes: u64,
    keys: &'a Path,
    keys_bytes: u64,
}

async fn write(global: &Global, file: &Path, keys_file: &Path) -> Outcome {
    let database = database::file(global.database.as_deref())?;
    for path in [file, keys_file] {
        // `exists` would overlook a link to nothing, so the link itself is checked.
        if path.symlink_metadata().is_ok() {
            let problem = format!("`{}` is there already", path.display());
            return Err(Failure::new(problem).hint("give the name of a new file"));
        }
    }
    if file == keys_file {
        return Err(Failure::new("the two copies cannot be one file")
            .hint("give another name with `--keys FILE`"));
    }
    // Opening a missing database would create it.
    if !installation::is_there(global).await? {
        let problem = format!("there is no database `{}` to back up", database.display());
        return Err(Failure::new(problem).hint("name another one with `--database sqlite:PATH`"));
    }
    // Interrupted work is finished first.
    let installation = Installation::open(global).await?;
    let mut findings = Vec::new();
    open_one_of_each(&installation.memoir, &mut findings).await?;
    drop(installation);
    let config = Config::read(global.config.as_deref())?;
    let keys = keys::open(global, &config).await?;
    let store = database::open_file(global.database.as_deref())?;
    // The database first: then the copy of the key store has the key of every agent in it.
    let database_draft = draft(file)?;
    store.back_up(database_draft.path()).await?;
    let keys_draft = draft(keys_file)?;
    keys.back_up(keys_draft.path())?;
    let keys_bytes = place(keys_draft, keys_file)?;
    let database_bytes = place(database_draft, file).inspect_err(|_| {
        // Half a backup is none. If this removal fails, the file is still a whole key store.
        let _ = fs::remove_file(keys_file);
    })?;
    let written = BackupOutput {
        database: file,
        database_bytes,
        keys: keys_file,
        keys_bytes,
    };
    if global.json {
        output::json(&written)?;
        return sound(&findings);
    }
    let line = |what: &str, path: &Path, bytes: u64| {
        let (path, bytes) = (path.display().to_string(), thousands(bytes));
        format!("{what:<9} `{}` ({bytes} bytes)\n", safe(&path))
    };
    output::print(&format!(
        "{}{}",
        line("database", file, database_bytes),
        line("key store", keys_file, keys_bytes)
    ))?;
    terminal::note(&format!(
        "keep the two apart from each other, and both apart from the master key {}, of which there is no copy in them; \
         `memoir backup verify` checks whether they can be used",
        keys.key_id()
    ));
    sound(&findings)
}

/// A copy of a database that was modified outside Memoir is kept, since it may be the only one, but it is no success.
fn sound(findings: &[String]) -> Outcome {
    let Some(first) = findings.first() else {
        return Ok(());
    };
    Err(Failure::new(format!(
        "the copies are written, and have a mismatch: {first}"
    ))
    .hint(
        "keep earlier backups; `memoir audit verify --all` names the mismatches, and `memoir backup verify` finds \
         an earlier backup without them",
    ))
}

/// An empty temporary file beside the final path, readable by its owner only.
fn draft(path: &Path) -> Result<NamedTempFile, Failure> {
    let folder = private_file::folder_of(path);
    NamedTempFile::new_in(folder).map_err(|error| Failure::file("write", path, &error))
}

/// Moves the draft to its path, synced to the disk. Returns its length in bytes.
fn place(draft: NamedTempFile, path: &Path) -> Result<u64, Failure> {
    let failed = |error| Failure::file("write", path, &error);
    draft.as_file().sync_all().map_err(failed)?;
    let bytes = draft.as_file().metadata().map_err(failed)?.len();
    // A file that another process created meanwhile is not overwritten.
    draft
        .persist_noclobber(path)
        .map_err(|error| failed(error.error))?;
    sync_folder_of(path).map_err(failed)?;
    Ok(bytes)
}

/// The result of the verification of two copies.
#[derive(serde::Serialize)]
struct Checked {
    valid: bool,
    /// Agents of which a memory was opened.
    opened: u64,
    /// The problems besides the agents' logs.
    findings: Vec<String>,
    agents: Vec<Verification>,
}

async fn verify(global: &Global, file: &Path, keys_file: &Path) -> Outcome {
    let config = Config::read(global.config.as_deref())?;
    // Opening a file may change it, so that a copy of the copy is opened.
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::new(format!("cannot make a folder to work in: {error}")))?;
    let copy = folder.path().join("memoir.db");
    let keys_copy = keys::store_path(&copy);
    for (from, to) in [(file, &copy), (keys_file, &keys_copy)] {
        let failed = |error| Failure::file("read", from, &error);
        let mut to = private_file::create_new(to).map_err(failed)?;
        let mut from = fs::File::open(from).map_err(failed)?;
        std::io::copy(&mut from, &mut to).map_err(failed)?;
    }
    // SQLite opens an empty file as a new database without any error.
    let is_empty = fs::metadata(&copy).is_ok_and(|found| found.len() == 0);
    if is_empty || SqliteStore::is_foreign(&copy) {
        return Err(memoir_store::Error::NotADatabase(file.display().to_string()).into());
    }
    // The key and not its file: what a copy needs must not end a rotation of the key file here.
    let source = match keys::source(global, &config)? {
        MasterSource::File(path) => {
            MasterKey::load(&path)?.map_or(MasterSource::File(path), MasterSource::Given)
        }
        given => given,
    };
    let keys = unlock(&source, &keys_copy, true).map_err(|mut error| {
        if let KeysError::MasterKeyLost { store, .. }
        | KeysError::Missing(store)
        | KeysError::NotAKeyStore(store)
        | KeysError::WrongMasterKey { store, .. } = &mut error
        {
            // The copy of the copy is gone when the user reads this.
            *store = keys_file.display().to_string();
        }
        error
    })?;
    let store = SqliteStore::open(&copy)?;
    let findings = store.check().await?;
    let mut findings: Vec<String> = findings.into_iter().map(|one| one.problem).collect();
    let providers = installation::providers(&config)?;
    let memoir = installation::on(Arc::new(store), keys, &config, providers, false);
    let agents = memoir.verify_all().await?;
    let opened = open_one_of_each(&memoir, &mut findings).await?;
    let checked = Checked {
        valid: findings.is_empty() && agents.iter().all(|agent| agent.valid),
        opened,
        findings,
        agents,
    };
    if global.json {
        output::json(&checked)?;
    } else {
        let mut text = show::verified::verified_text(&checked.agents, None);
        for finding in &checked.findings {
            text.push_str(&format!("{}\n", safe(finding)));
        }
        let agents = counted(checked.opened, "agent", "agents");
        text.push_str(&format!("opened a memory of {agents}\n"));
        output::print(&text)?;
    }
    if checked.valid {
        return Ok(());
    }
    Err(Failure::new("the backup does not fit")
        .hint("make another one; if that has a mismatch too, run `memoir doctor`"))
}

/// Opens one memory of each agent that has any, without showing it. Returns the number of agents.
async fn open_one_of_each(memoir: &Memoir, findings: &mut Vec<String>) -> Result<u64, Failure> {
    let one = MemoryPage {
        limit: 1,
        // An agent may have discarded memories only.
        with_discarded: true,
        ..MemoryPage::default()
    };
    let mut opened = 0;
    for account in memoir.accounts().await? {
        let account = memoir.account(&account.name).await?;
        let agents = match account.agents().await {
            Ok(agents) => agents,
            // A failure in one account does not stop the check of the others.
            Err(error) => {
                let name = account.name();
                findings.push(format!("the agents of account `{name}`: {error}"));
                continue;
            }
        };
        for agent in agents {
            let looked = match account.agent(&agent.id.to_string()).await {
                // The facts are read from sealed rows, so this fails where one of them cannot be opened.
                Ok(handle) => handle.views().memory_page(&one).await,
                Err(error) => Err(error),
            };
            match looked {
                Ok(page) => opened += page.len() as u64,
                // Between the copy of the database and that of the key store.
                Err(memoir_app::Error::Erased { .. }) => {}
                Err(error) => findings.push(format!("agent `{}`: {error}", agent.name)),
            }
        }
    }
    Ok(opened)
}
