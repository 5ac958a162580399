//! `memoir demo`: a whole session on a sample agent, in a temporary database.

mod report;
mod sample;
mod short;

use std::{path::Path, sync::Arc};

use memoir_app::{
    Account, RecordFilter, ShownMemory, ShownRecord, ShownSession, Verification, Viewer,
    sessions::RefineOptions,
};
use memoir_domain::{audit::Actor, session::State};
use memoir_store_sqlite::SqliteStore;
use memoir_vault::MasterSource;
use serde::Serialize;

use crate::{
    commands::refine::{Ran, drive},
    config::Config,
    failure::{Failure, Outcome},
    installation,
    interrupt::unless_interrupted,
    options::Global,
    output,
    watch::ProgressPrinter,
};

/// Show in a few lines what Memoir does, in a temporary database
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A whole session on a larger agent, step by step, with every record of it
    #[arg(long)]
    full: bool,
}

#[derive(Debug, Serialize)]
struct DemoOutput {
    agent: String,
    before: Vec<ShownMemory>,
    /// The discarded ones too.
    after: Vec<ShownMemory>,
    session: ShownSession,
    journal: Option<ShownMemory>,
    records: Vec<ShownRecord>,
    verification: Verification,
}

/// The result of a demonstration, once its folder is removed; `came_to` is `None` where it was interrupted.
///
/// # Errors
/// The demonstration failed or was interrupted, its folder could not be removed, or both.
fn removed<T>(
    folder: tempfile::TempDir,
    came_to: Option<Result<T, Failure>>,
) -> Result<T, Failure> {
    let path = folder.path().to_owned();
    let closed = folder.close();
    let closed = closed.map_err(|error| Failure::file("remove", &path, &error));
    match (came_to.unwrap_or(Err(Failure::Interrupted)), closed) {
        (Err(failure), Err(second)) => Err(failure.and(second)),
        (came_to, closed) => came_to.and_then(|shown| closed.map(|()| shown)),
    }
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let folder = tempfile::Builder::new()
        .prefix("memoir-demo-")
        .tempdir()
        .map_err(|error| Failure::new(format!("cannot make a temporary folder: {error}")))?;
    if !arguments.full && !global.json {
        let in_few_lines = async {
            let (_, account) = installation(folder.path()).await?;
            short::run(&account).await
        };
        let came_to = unless_interrupted(in_few_lines).await;
        return removed(folder, came_to);
    }
    // The store is closed when this returns, so the folder can be removed.
    let shown = unless_interrupted(in_folder(global, folder.path())).await;
    let shown = removed(folder, shown)?;
    output::show(global.json, &shown, || report::after(&shown))?;
    let is_completed = shown.session.state == State::Completed;
    Failure::refused_unless(shown.verification.valid && is_completed)
}

/// An installation in the folder. It does not use the user's own configuration and database.
async fn installation(folder: &Path) -> Result<(memoir_app::Memoir, Account), Failure> {
    let store = SqliteStore::open(&folder.join("memoir.db"))?;
    // Keys that are deleted with the folder.
    let source = MasterSource::File(folder.join("master.key"));
    let keys = memoir_vault::unlock(&source, &folder.join("memoir.db.keys"), false)?;
    let config = Config::default();
    let providers = installation::providers(&config)?;
    let memoir = installation::on(Arc::new(store), keys, &config, providers, false);
    let account = memoir.account(memoir_app::DEFAULT_ACCOUNT).await?;
    Ok((memoir, account))
}

/// The demonstration without its last lines.
async fn in_folder(global: &Global, folder: &Path) -> Result<DemoOutput, Failure> {
    let (memoir, account) = installation(folder).await?;
    let agent = sample::make(&memoir, &account).await?;
    let lens = agent.views().seen_by(Viewer::Agent);
    let before = lens.memories(false).await?;
    if !global.json {
        output::print(&report::before(agent.name(), &before))?;
    }
    // Progress goes to stderr as text even with `--json`, since stdout holds one document.
    let mut watcher = ProgressPrinter::new(false);
    let (options, owner) = (RefineOptions::default(), Actor::owner());
    let session = match drive(&lens, &options, &mut watcher, &owner).await? {
        Ran::Driven(session) | Ran::Cancelled(session) => *session,
        Ran::NotDue | Ran::NothingToRefine(_) => return Err(Failure::Interrupted),
    };
    let records = lens.records(&RecordFilter::of_session(session.id)).await?;
    let after = lens.memories(true).await?;
    Ok(DemoOutput {
        agent: agent.name().to_owned(),
        journal: journal(&after, &records),
        verification: agent.log().verify().await?,
        before,
        after,
        session,
        records,
    })
}

/// The journal entry about the session: the memory of the last record.
fn journal(memories: &[ShownMemory], records: &[ShownRecord]) -> Option<ShownMemory> {
    let number = records.iter().rev().find_map(|record| record.memory)?;
    let mut memories = memories.iter();
    memories.find(|memory| memory.number == number).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_removed_is_reported_beside_the_failure() {
        let removed_before = || {
            let folder = tempfile::tempdir().unwrap();
            std::fs::remove_dir(folder.path()).unwrap();
            folder
        };
        let failed = Some(Err(Failure::new("no model")));
        for (came_to, first) in [(failed, "no model; and "), (None, ""), (Some(Ok(())), "")] {
            let reported = format!("{:?}", removed(removed_before(), came_to).unwrap_err());
            assert!(
                reported.contains(&format!("\"{first}cannot remove `")),
                "{reported}"
            );
        }
    }
}
