//! `memoir key`: the master key, under which the agents' keys are wrapped.

use memoir_store_postgres::PostgresKeys;
use memoir_vault::{Error, KeyRows, MasterSource, unlock};
use serde_json::json;

use crate::{
    config::Config,
    database,
    failure::{Failure, Outcome},
    keys,
    options::Global,
    output,
    show::counted,
    terminal,
};

const NEW_KEY: &str =
    "`openssl rand -hex 32` prints a new one; keep it in a safe place before you rotate";

/// The master key, under which the agents' keys are wrapped
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Create a new master key, and wrap every agent's key under it
    ///
    /// Nothing that is sealed changes. A master key in a file is replaced there, and other processes on the
    /// same database go on. One that is given in MEMOIR_MASTER_KEY is replaced by the one in
    /// MEMOIR_NEW_MASTER_KEY; give that from then on. Other processes must be started again with it: until
    /// then they open only the agents that they have used already.
    Rotate,
    /// Copy the key store from its file into the database that `keys.url` or MEMOIR_KEYS_URL names
    ///
    /// It must be empty. End every process that uses the file first, and start them again with the URL. The file stays
    /// unchanged: destroy it then, and its copies, since they keep keys that are destroyed from now on.
    Move,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    let config = Config::read(global.config.as_deref())?;
    match command {
        Command::Rotate => rotate(global, config).await,
        Command::Move => move_to_database(global, config).await,
    }
}

async fn move_to_database(global: &Global, config: Config) -> Outcome {
    let Some(place) = keys::shared(global, &config, PostgresKeys::open).await? else {
        let problem = "no database is named that the keys could be moved to";
        return Err(Failure::new(problem)
            .hint("name it by `keys.url` in the configuration, or by MEMOIR_KEYS_URL"));
    };
    let path = keys::store_path(&database::prepare(global.database.as_deref())?);
    let source = keys::source(global, &config)?;
    // The file must exist, since a new key store would have no keys to move.
    let copied = unlock(&source, &path, true)?.copy_to(&place)?;
    let (from, to) = (path.display().to_string(), place.name());
    if global.json {
        output::json(&json!({ "from": from, "to": to, "keys": copied }))?;
    } else {
        let copied = counted(copied, "key was", "keys were");
        output::print(&format!("{copied} copied to `{to}`"))?;
        terminal::note(&format!(
            "start other processes again; then destroy `{from}` and its copies"
        ));
    }
    Ok(())
}

async fn rotate(global: &Global, config: Config) -> Outcome {
    let database = database::prepare(global.database.as_deref())?;
    let is_file = keys::is_file(&config)?;
    // Where neither file exists, opening the key store would create unneeded keys.
    if is_file && !keys::store_path(&database).exists() && !database.exists() {
        return Err(
            Failure::new(format!("there is no database `{}`", database.display())).hint(
                "there is no key to replace; a database elsewhere is named with `--database`",
            ),
        );
    }
    let store = keys::open(global, &config).await?;
    let old = store.key_id();
    // The stored indexes of words, which no rotation leaves (SPEC 5.3).
    let url = global.database.as_deref();
    if database.exists() || database::postgres(url).is_some() {
        database::open(url).await?.forget_word_indexes().await?;
    }
    let (new, wrapped, place) = match keys::source(global, &config)? {
        MasterSource::File(path) => {
            let (new, wrapped) = store.rotate_key_file(&path).map_err(not_rotated)?;
            let path = path.display();
            let place = format!("it is in `{path}`; keep a copy of it apart from the database");
            (new, wrapped, place)
        }
        MasterSource::Given(_) => {
            let next = keys::from_environment(keys::NEXT)?.ok_or_else(|| {
                let (given, next) = (keys::GIVEN, keys::NEXT);
                let problem = format!(
                    "the master key comes from {given}, and there is no next one in {next}"
                );
                Failure::new(problem).hint(NEW_KEY)
            })?;
            // With the same key, the requested rotation would change nothing.
            if next.key_id() == old {
                return Err(Failure::new(format!(
                    "{} is the master key {old}, which is in use already",
                    keys::NEXT
                ))
                .hint(NEW_KEY));
            }
            let wrapped = store.rotate(&next)?;
            let place = format!(
                "give what is in {} as {} from now on, and start other processes again with it",
                keys::NEXT,
                keys::GIVEN
            );
            (next.key_id(), wrapped, place)
        }
    };
    if global.json {
        output::json(&json!({
            "old_key": old.to_string(),
            "new_key": new.to_string(),
            "wrapped": wrapped,
        }))?;
    } else {
        output::print(&format!(
            "the master key is {new} now, under which {} wrapped anew",
            counted(wrapped, "key was", "keys were"),
        ))?;
        terminal::note(&format!(
            "{place}\nearlier copies of the key store open only with the one before, {old}: make a new backup now"
        ));
    }
    Ok(())
}

fn not_rotated(error: Error) -> Failure {
    let hint = matches!(error, Error::Irreplaceable { .. }).then(|| {
        format!(
            "give the key in {} and the next one in {}, or make the file one that can be replaced: no mount point, in a folder that you may write to",
            keys::GIVEN,
            keys::NEXT
        )
    });
    Failure::from(error).with_hint(hint)
}
