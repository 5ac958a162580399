//! `memoir move`: a whole installation into another database.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use memoir_domain::session::Driver;
use memoir_store::tables::{Cells, TABLES, Table, Tables};
use memoir_store_postgres::PostgresStore;
use memoir_store_sqlite::SqliteStore;
use memoir_vault::{Closing, KeyStore, MasterSource, sync_folder_of};
use serde_json::json;

use crate::{
    closing,
    config::Config,
    database,
    failure::{Failure, Outcome},
    installation, keys,
    options::Global,
    output, private_file,
    show::{counted, thousands},
    terminal::{self, safe},
};

const ROWS: u32 = 1_000;

/// Move the whole installation into another database, with its keys
///
/// From the embedded database into one of PostgreSQL, or back. The source is only read and stays unchanged. Stop the
/// service before: while any other program has the source open, nothing is moved, since what it wrote afterwards would
/// stay behind. Use the target afterwards. A repeated command resumes an interrupted move. At the end every row
/// of the source is compared with that of the target, and every log is verified there.
#[derive(derive_more::Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The target database, empty or missing: `postgres://USER@HOST/DATABASE`, `sqlite:PATH` or a path
    #[arg(long, value_name = "URL")]
    #[debug(skip)]
    to: String,
}

/// An open database of either kind.
enum Database {
    File(SqliteStore),
    Postgres(PostgresStore),
}

impl Database {
    fn tables(&self) -> &dyn Tables {
        match self {
            Self::File(store) => store,
            Self::Postgres(store) => store,
        }
    }
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let to = Global {
        database: Some(arguments.to),
        ..global.clone()
    };
    // The source is only read, while the target's folder may have to be created.
    let from_path = database::path(global.database.as_deref())?;
    let to_path = database::prepare(to.database.as_deref())?;
    let place = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if place(&from_path) == place(&to_path) {
        let problem = "the installation is in this database already";
        return Err(Failure::new(problem).hint("name another one"));
    }
    if !database::is_in_use(global.database.as_deref()).await? {
        let problem = "there is no installation yet that could be moved";
        return Err(Failure::new(problem).hint("name its database with `--database`"));
    }
    let config = Config::read(global.config.as_deref())?;
    let here = at_rest(global, &to).await?;
    let from = alone(global, &from_path).await?;
    let (there, earlier) = target(global, &to, &to_path, &config).await?;
    if earlier != Earlier::Nothing {
        same_installation(&from, &there).await?;
    }
    let mut moved = Vec::new();
    if earlier != Earlier::AllRows {
        if let Database::Postgres(store) = &there {
            // The database keeps this mark, so that another attempt knows that keys and rows come from an earlier one.
            store.note_move(true).await?;
        }
        // The keys are copied before the rows, so that the rows can be opened wherever the move stops.
        move_keys(global, &to, &config, here.closing).await?;
        for table in TABLES {
            fill(table, &from, &there).await?;
        }
    }
    // Comparing begins once all tables are filled, so that it finds concurrent writes to the source.
    for table in TABLES {
        moved.push((table.name, compare(table, &from, &there).await?));
    }
    match earlier {
        Earlier::AllRows => drop(there),
        Earlier::Nothing | Earlier::SomeRows => complete(there, &to_path).await?,
    }
    drop(from);
    report_moved(global, &to, &moved, here).await
}

/// Makes a database of the target, whose rows are all there.
async fn complete(there: Database, path: &Path) -> Result<(), Failure> {
    let mark = mark(path);
    private_file::write(&mark, b"").map_err(|error| Failure::file("write", &mark, &error))?;
    match there {
        Database::Postgres(store) => store.note_move(false).await.map_err(Failure::from),
        Database::File(store) => {
            // Closing the last connection moves the log into the file, or leaves it there, as on a full disk.
            drop(store);
            let draft = draft(path);
            // The file gets its own name only once it is complete.
            if keys::beside(&draft, "-wal").exists() {
                let message = format!("cannot complete `{}`", draft.display());
                return Err(Failure::new(message)
                    .hint("see whether its disk has room; the same command resumes the move"));
            }
            let failed = |error| Failure::file("move", &draft, &error);
            fs::rename(&draft, path).map_err(failed)?;
            sync_folder_of(path).map_err(failed)
        }
    }
}

/// Reports the moved rows, once all of them are verified in the target.
async fn report_moved(from: &Global, to: &Global, moved: &[(&str, u64)], here: AtRest) -> Outcome {
    // The target is opened as every other command opens it, with the copied keys.
    let (memoir, _) = installation::opened(to).await?;
    let verified = memoir.verify_all().await?;
    if let Some(bad) = verified.iter().find(|one| !one.valid) {
        let message = format!("the log of `{}` does not fit", safe(&bad.agent));
        return Err(Failure::new(message).hint(
            "the source has the same mismatch: `memoir audit verify --all` names it here and there",
        ));
    }
    if here.closing.is_some() && memoir.is_closed().await? {
        terminal::note(
            "the installation stays closed, as it was where several machines could share its database: commands \
             show an agent's texts with its token in MEMOIR_TOKEN, and `memoir installation open` opens it",
        );
    }
    // What follows is reported after the move, which is complete.
    let followed = closing::follow_move(&memoir, from, to, here.is_closed).await;
    if followed.is_ok() {
        private_file::remove(&mark(&database::path(to.database.as_deref())?))?;
    }
    let programs: Vec<String> = followed.iter().flatten().cloned().collect();
    let rows: u64 = moved.iter().map(|(_, rows)| rows).sum();
    let memories = moved.iter().find(|(table, _)| *table == "memories");
    let memories = memories.map_or(0, |(_, rows)| *rows);
    let tables: serde_json::Map<_, _> = moved
        .iter()
        .map(|(table, rows)| ((*table).to_owned(), json!(rows)))
        .collect();
    let facts = json!({
        "rows": rows,
        "tables": tables,
        "verified": verified.len(),
        "programs": programs,
    });
    output::show(to.json, &facts, || {
        format!(
            "moved {}, {} rows in all; verified {}\n",
            counted(memories, "memory", "memories"),
            thousands(rows),
            counted(verified.len() as u64, "log", "logs")
        )
    })?;
    if !programs.is_empty() {
        terminal::note(&format!(
            "programs on this machine still open the old database: {}; `memoir setup` with the program's name, and with \
             the same `--database` before it, sets each up with the other one",
            programs.join(", ")
        ));
    }
    followed?;
    terminal::note(
        "use the other database from now on. The one here is as it was; once you need it no more, destroy it and its \
         keys: an agent that is erased there can be read here",
    );
    Ok(())
}

/// The source, which no other process has open: what that acknowledged after its row was copied would be lost. A file
/// stays locked until the move has come to its end.
async fn alone(global: &Global, path: &Path) -> Result<Database, Failure> {
    /// Checks for a connection that is just ending, such as one of this command's own.
    const CHECKS: u32 = 20;
    let in_use = || {
        Failure::new("another program has the database open").hint(
            "stop the service and all other programs that use this installation, and move then",
        )
    };
    // Databases are opened and not installations: rows are copied sealed.
    let Some(url) = database::postgres(global.database.as_deref()) else {
        return match SqliteStore::open_alone(path) {
            Ok(store) => Ok(Database::File(store)),
            Err(memoir_store::Error::Busy) => Err(in_use()),
            Err(error) => Err(error.into()),
        };
    };
    for _ in 0..CHECKS {
        // Opened anew, so that it has one connection.
        let store = PostgresStore::open(url).await?;
        if !store.is_used_by_others().await? {
            return Ok(Database::Postgres(store));
        }
        drop(store);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(in_use())
}

/// The source, in which no session is driven by a model.
#[derive(Clone, Copy)]
struct AtRest {
    is_closed: bool,
    /// What the key store of the copy must say so that it stays closed: nothing but `memoir installation open` opens an
    /// installation (SPEC 5.5). `None` where the copy is closed without it, or the source is open.
    closing: Option<Closing>,
}

/// Checks that no session is driven by a model here.
async fn at_rest(global: &Global, to: &Global) -> Result<AtRest, Failure> {
    let (memoir, is_configured_closed) = installation::opened(global).await?;
    let from = database::open(global.database.as_deref()).await?;
    let load = from.load().await?;
    let is_driven = load
        .held
        .iter()
        .any(|held| held.driver == Driver::Model && held.first_until > memoir.now());
    if is_driven {
        return Err(Failure::new("a session is running")
            .hint("stop the service, wait for the session's end, and move then"));
    }
    let is_closed = memoir.is_closed().await?;
    // Closed by its place alone, which the copy does not share.
    let is_by_place = is_closed && !memoir.ever_had_users().await? && !database::is_shared(to);
    Ok(AtRest {
        is_closed: is_configured_closed || is_closed,
        closing: is_by_place.then(|| Closing {
            is_closed: true,
            changed_at: memoir.now(),
        }),
    })
}

/// The work of an earlier attempt that did not come to its end.
#[derive(Clone, Copy, PartialEq)]
enum Earlier {
    Nothing,
    SomeRows,
    /// The target is complete, and this machine may not have followed it.
    AllRows,
}

/// The target database, and what an earlier attempt did there.
async fn target(
    from: &Global,
    to: &Global,
    path: &Path,
    config: &Config,
) -> Result<(Database, Earlier), Failure> {
    let (draft, key_store) = (draft(path), keys::store_path(path));
    let is_there = |end| keys::beside(path, end).exists();
    let url = database::postgres(to.database.as_deref());
    let postgres = url.map(PostgresStore::at).transpose()?;
    let (is_begun, is_taken) = match &postgres {
        Some(store) => {
            store.migrate().await?;
            let is_begun = store.is_being_filled().await?;
            (is_begun, !is_begun && !is_empty(store).await?)
        }
        // SQLite would apply a log of a file that is gone to the moved one, whose name it has.
        None => (
            draft.exists(),
            ["", "-wal", "-journal"].into_iter().any(is_there),
        ),
    };
    let is_complete = !is_begun && (postgres.is_some() || is_there(""));
    let is_moved = is_taken && is_complete && mark(path).exists();
    if is_taken && !is_moved {
        return Err(Failure::new("the database to move into is not empty")
            .hint("name an empty or missing one, without a file `-wal` or `-journal` beside it"));
    }
    let earlier = match (is_begun, is_moved) {
        (true, _) => Earlier::SomeRows,
        (false, true) => Earlier::AllRows,
        (false, false) => Earlier::Nothing,
    };
    // Before the move is begun: then a repeated command takes any key store there for one of its own.
    if earlier == Earlier::Nothing && keys::is_file(config)? {
        // A journal beside it too: SQLite would apply it to the copy, which has the name of its key store.
        let left = ["", "-journal", "-wal"].map(|end| keys::beside(&key_store, end));
        if let Some(left) = left.iter().find(|file| file.exists()) {
            let message = match left == &key_store {
                true => format!("there is a key store `{}` already", left.display()),
                false => format!("there is a journal `{}` of a key store", left.display()),
            };
            return Err(Failure::new(message)
                .hint("it belongs to another installation; name another database, or remove it"));
        }
    }
    if earlier != Earlier::AllRows {
        missing_master_key(from, to, config)?;
    }
    let database = match postgres {
        Some(store) => Database::Postgres(store),
        None if is_moved => Database::File(SqliteStore::open(path)?),
        None => Database::File(SqliteStore::open(&draft)?),
    };
    Ok((database, earlier))
}

async fn is_empty(tables: &dyn Tables) -> Result<bool, Failure> {
    for table in TABLES {
        if tables.last_key(table).await?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The temporary path of an incomplete file.
fn draft(path: &Path) -> PathBuf {
    keys::beside(path, ".moving")
}

/// The path of the file that exists from the target's completion until this machine has followed it.
fn mark(path: &Path) -> PathBuf {
    keys::beside(path, ".moved")
}

/// The tables that identify an installation: an independently continued copy of this one has the same accounts, and
/// another log over all heads.
const TELLING: [&str; 2] = ["accounts", "log_leaves"];

/// Checks that existing rows of the target came from here.
async fn same_installation(from: &Database, there: &Database) -> Result<(), Failure> {
    for table in TABLES.iter().filter(|table| TELLING.contains(&table.name)) {
        let mut after = None;
        loop {
            // Tables are filled in the order of their keys, so that the target's rows are the first ones of the source.
            let tables = there.tables();
            let found = tables.rows_after(table, after.clone(), ROWS).await?;
            let Some(last) = found.last() else { break };
            let mut own = from.tables().rows_after(table, after, ROWS).await?;
            own.truncate(found.len());
            if own != found {
                return Err(Failure::new(
                    "a move of another installation into this database has not come to its end",
                )
                .hint("name another database, or finish that move"));
            }
            after = Some(key(table, last));
        }
    }
    Ok(())
}

/// The path of a file, and what is to be in it.
type KeyFile = (PathBuf, zeroize::Zeroizing<Vec<u8>>);

/// The master key of a file, where the target needs it; `None` where it is in no file, or is there already.
fn missing_master_key(
    from: &Global,
    to: &Global,
    config: &Config,
) -> Result<Option<KeyFile>, Failure> {
    let MasterSource::File(file) = keys::source(from, config)? else {
        return Ok(None);
    };
    let place = keys::master_key_file(to, config)?;
    let read = |path: &Path| {
        let bytes = fs::read(path).map(zeroize::Zeroizing::new);
        bytes.map_err(|error| Failure::file("read", path, &error))
    };
    let master = read(&file)?;
    if !place.exists() {
        return Ok(Some((place, master)));
    }
    if *read(&place)? != *master {
        let message = format!("there is another master key in `{}`", place.display());
        return Err(Failure::new(message).hint("it belongs to another installation; remove it"));
    }
    Ok(None)
}

/// Copies the key store, and a master key in a file, to their paths beside the target, and writes `closing` there. A key
/// store in PostgreSQL is that of the target too, as the configuration names it: a copy would keep the keys that are
/// destroyed later (SPEC 5.4).
async fn move_keys(
    from: &Global,
    to: &Global,
    config: &Config,
    closing: Option<Closing>,
) -> Result<(), Failure> {
    let keys = keys::open(from, config).await?;
    if let Some((place, master)) = missing_master_key(from, to, config)? {
        private_file::write(&place, &master)
            .map_err(|error| Failure::file("write", &place, &error))?;
    }
    if keys::is_file(config)? {
        let place = keys::store_path(&database::path(to.database.as_deref())?);
        copy_keys(&keys, &place)?;
    }
    // Before the target is complete, so that it is open at no moment. The record of it is the next command's there
    // (`Memoir::finish`): a row of the target's own would differ from the source.
    if let Some(closing) = closing {
        keys::open(to, config).await?.set_closing(closing)?;
    }
    Ok(())
}

fn copy_keys(keys: &KeyStore, place: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::file("write", place, &error);
    // Each attempt copies the key store again, since keys may have been created or destroyed meanwhile. The copy of an
    // interrupted attempt is removed with its journals, and so are those of the key store that the new copy replaces:
    // they would be applied to the new one of the same name.
    let copy = draft(place);
    private_file::remove(&copy)?;
    for end in ["-journal", "-wal", "-shm"] {
        private_file::remove(&keys::beside(&copy, end))?;
        private_file::remove(&keys::beside(place, end))?;
    }
    let file = private_file::create_new(&copy).map_err(failed)?;
    keys.back_up(&copy)?;
    file.sync_all().map_err(failed)?;
    fs::rename(&copy, place).map_err(failed)?;
    sync_folder_of(place).map_err(failed)
}

/// Moves the missing rows of a table.
async fn fill(table: &'static Table, from: &Database, there: &Database) -> Result<(), Failure> {
    let mut after = there.tables().last_key(table).await?;
    terminal::progress(&format!("moving {}", table.name));
    loop {
        let rows = from.tables().rows_after(table, after, ROWS).await?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = Some(key(table, last));
        there.tables().put_rows(table, rows).await?;
    }
}

/// Compares all rows of a table in both databases. Returns their number.
async fn compare(table: &'static Table, from: &Database, there: &Database) -> Result<u64, Failure> {
    let mut after = None;
    let mut count = 0;
    terminal::progress(&format!("comparing {}", table.name));
    loop {
        let one = from.tables().rows_after(table, after.clone(), ROWS).await?;
        let other = there.tables().rows_after(table, after, ROWS).await?;
        if one != other {
            let equal = one.iter().zip(&other);
            let equal = equal.take_while(|(one, other)| one == other);
            let at = count + equal.count() as u64 + 1;
            let message = format!("table `{}` differs from row {at} on", table.name);
            return Err(Failure::new(message).hint(
                "a process wrote to one of them meanwhile: stop it; where that was the source, \
                 empty the target database and move again",
            ));
        }
        let Some(last) = one.last() else {
            return Ok(count);
        };
        count += one.len() as u64;
        after = Some(key(table, last));
    }
}

fn key(table: &Table, row: &Cells) -> Cells {
    row[..table.key].to_vec()
}
