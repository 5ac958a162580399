//! `memoir migrate`: brings a database of PostgreSQL up to this version's format.

use memoir_store_postgres::{Migration, PostgresKeys, PostgresStore};
use serde_json::json;

use crate::{
    config::Config,
    database,
    failure::{Failure, Outcome},
    installation, keys,
    options::Global,
    output, terminal,
};

/// Migrate a database of PostgreSQL, and a key store there, to the format of this version
///
/// Each migration runs in a transaction of its own and only adds: services of the version before continue. Without a
/// pending one nothing is done. An embedded database is migrated when it is opened.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Change nothing: print the SQL that would be run
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    // An empty database beside keys is a lost one, and nothing is pending in it.
    installation::is_there(global).await?;
    if !arguments.dry_run {
        let run = bring_up(global).await?;
        if global.json {
            output::json(&json!({ "migrated": run }))?;
        }
        return Ok(());
    }
    let (data, keys) = places(global).await?;
    let mut pending: Vec<Migration> = Vec::new();
    if let Some(data) = data {
        pending.extend(data.pending().await?);
    }
    if let Some(keys) = keys {
        pending.extend(keys.pending()?);
    }
    if global.json {
        let pending = pending
            .iter()
            .map(|one| json!({ "name": one.name, "sql": one.sql }));
        return output::json(&json!({ "pending": pending.collect::<Vec<_>>() }));
    }
    for one in &pending {
        output::print(&format!("-- {}\n{}", one.name, one.sql))?;
    }
    terminal::note(&match pending.len() {
        0 => "nothing is pending".to_owned(),
        _ => "nothing was changed".to_owned(),
    });
    Ok(())
}

/// Runs and reports the pending migrations. Returns their names.
pub(crate) async fn bring_up(global: &Global) -> Result<Vec<&'static str>, Failure> {
    let (data, keys) = places(global).await?;
    let mut run = Vec::new();
    if let Some(data) = data {
        run.extend(data.migrate().await?);
    }
    if let Some(keys) = keys {
        run.extend(keys.migrate()?);
    }
    match run.as_slice() {
        [] => terminal::note("nothing is pending"),
        run => terminal::note(&format!("migrated: {}", run.join(", "))),
    }
    Ok(run)
}

/// The installation's stores in PostgreSQL. A key store in the data's own database is refused before it is created.
async fn places(global: &Global) -> Result<(Option<PostgresStore>, Option<PostgresKeys>), Failure> {
    let data = database::postgres(global.database.as_deref());
    let data = data.map(PostgresStore::at).transpose()?;
    let config = Config::read(global.config.as_deref())?;
    // `PostgresKeys::at` does not open the key store, which would fail while migrations are missing.
    Ok((data, keys::shared(global, &config, PostgresKeys::at).await?))
}
