//! `memoir doctor`: examines the installation, and gives a hint for each finding.

use std::path::Path;

use memoir_app::{Account, Examination, Memoir, Severity};
use memoir_store_postgres::{DatabaseRole, PostgresStore};
use memoir_vault::{KeyStore, MasterSource, exposed_mode};

use super::config;
use crate::{
    config::Config,
    database, embeddings,
    failure::{Failure, Outcome},
    hook::project,
    installation, keys,
    options::{Global, account_option},
    output, setup,
    show::{List, examination},
    terminal::{self, safe},
    webhooks,
};

/// The hint for a role that could change the row policies.
pub(super) const SEPARATE_ROLE: &str = "give the service a role that owns nothing: docs/fleet.md has the SQL; commands that migrate keep the owner's";

/// Check the configuration, the database, the models, the schedule, the clock and the programs that are set up
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Corrects, on the record, the future times of agents and journal entries, which a wrong clock has caused
    #[arg(long)]
    mend: bool,
    /// Ask each model that agents use for one word; without it none is called
    #[arg(long)]
    call: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    // Mending comes before the examination, so that what was mended is no finding.
    if arguments.mend {
        let installation = installation::Installation::existing(global).await?;
        let account = &installation.account;
        let mended = account.correct_times(&installation.author()).await?;
        let agents = crate::show::counted(mended as u64, "agent", "agents");
        terminal::note(&format!("set the times of {agents} right"));
    }
    let found = examine(global, arguments.call).await;
    output::show(global.json, &List::whole(found.iter().collect()), || {
        found.iter().map(examination::line).collect()
    })?;
    let is_sound = found.iter().all(|one| one.severity != Severity::Problem);
    Failure::refused_unless(is_sound)
}

/// Failures that stop other commands are findings here, and the remaining checks still run.
async fn examine(global: &Global, call: bool) -> Vec<Examination> {
    let mut found = match Config::read(global.config.as_deref()) {
        Ok(config) => configured(global, config, call).await,
        // By the defaults, other keys, models and limits than those of this installation would be examined.
        Err(failure) => {
            let found = failure.into_finding("configuration");
            let advice = "correct it; the keys, the database and the models are examined then";
            vec![Examination {
                advice: Some(advice.to_owned()),
                ..found
            }]
        }
    };
    found.extend(findings("programs", setup::examine(global)));
    // What is wrong comes last, where a person looks first.
    found.sort_by_key(|finding| match finding.severity {
        Severity::Ok => 0,
        Severity::Warning => 1,
        Severity::Problem => 2,
    });
    found
}

/// What is found with a configuration that can be read.
async fn configured(global: &Global, config: Config, call: bool) -> Vec<Examination> {
    let mut found = Vec::new();
    let paths = config::installation_paths(global, &config).map(|paths| {
        paths
            .into_iter()
            .map(|(name, path)| Examination::fine("paths", format!("{name}: `{path}`")))
            .collect()
    });
    found.extend(findings("paths", paths));
    let finding = match (&config.path, crate::config::default_path()) {
        (Some(path), _) => format!("`{}` can be read", path.display()),
        (None, Some(path)) => format!("there is no `{}`; the defaults count", path.display()),
        (None, None) => "there is none; the defaults count".to_owned(),
    };
    found.push(Examination::fine("configuration", finding));
    found.extend(webhooks::examine(&config.webhooks));
    found.extend(findings("database", look(global, config, call).await));
    found
}

/// What was found in an area; where that failed, the failure.
fn findings(area: &'static str, found: Result<Vec<Examination>, Failure>) -> Vec<Examination> {
    found.unwrap_or_else(|failure| vec![failure.into_finding(area)])
}

async fn look(global: &Global, config: Config, call: bool) -> Result<Vec<Examination>, Failure> {
    let mut found = Vec::new();
    if !installation::is_there(global).await? {
        // The models and the schedule are examined all the same, and nothing is made.
        let (memoir, closed) = installation::in_memory(global)?;
        let path = database::path(global.database.as_deref())?;
        let path = path.display();
        let finding = format!("there is none yet; `{path}` is made on first use");
        found.push(Examination::fine("database", finding));
        found.push(access(closed));
        let examined = examine_memoir(&memoir, global, call).await;
        found.extend(findings("database", examined));
        return Ok(found);
    }
    database::prepare(global.database.as_deref())?;
    // An unreachable database is reported first, before its keys.
    database::is_in_use(global.database.as_deref()).await?;
    let keys = match keys::open(global, &config).await {
        Ok(keys) => keys,
        // All later checks need the keys.
        Err(failure) => return Ok(vec![failure.into_finding("key")]),
    };
    found.push(key(global, &config, &keys)?);
    let store = database::open(global.database.as_deref()).await?;
    match database::postgres(global.database.as_deref()) {
        Some(url) => {
            let connected = PostgresStore::at(url)?.role().await?;
            found.push(role(&connected));
            found.extend(limit(&connected));
        }
        None => found.push(file(&database::path(global.database.as_deref())?)),
    }
    let closed = config.closed;
    let by_words = by_words(&config);
    let providers = installation::providers(&config)?;
    let is_shared = database::is_shared(global);
    let memoir = installation::on(store, keys, &config, providers, is_shared);
    memoir.keep_time().await?;
    found.push(access(closed || memoir.is_closed().await?));
    let examined = examine_memoir(&memoir, global, call).await;
    found.extend(findings("database", examined));
    found.extend(by_words);
    Ok(found)
}

/// The account, its agents and their models.
async fn examine_memoir(
    memoir: &Memoir,
    global: &Global,
    call: bool,
) -> Result<Vec<Examination>, Failure> {
    let account = memoir.account(&global.account).await?;
    let mut found = memoir.examine(&account).await?;
    found.extend(findings("projects", projects(&account, global).await));
    if call {
        found.extend(memoir.call_models(&account).await?);
    }
    Ok(found)
}

/// The agents of projects whose folder is missing: their memory is not used until another folder takes it over.
async fn projects(account: &Account, global: &Global) -> Result<Vec<Examination>, Failure> {
    let (mut found, option) = (Vec::new(), account_option(account.name()));
    for entry in project::entries(&database::place(global)?)? {
        // An erased agent has no memory any more.
        if !entry.is_gone() || account.agent(&entry.name_or_id()).await.is_err() {
            continue;
        }
        let agent = terminal::word(&entry.agent);
        let finding = format!(
            "the folder of the agent `{}` is gone: `{}`",
            safe(&entry.agent),
            safe(&entry.folder.display().to_string())
        );
        let advice = format!(
            "`memoir project adopt {agent}{option}` in the project's new folder takes its memory over; \
             `memoir agent erase {agent}{option}` erases it"
        );
        let warning = Examination::advised(Severity::Warning, "projects", finding, advice);
        found.push(warning);
    }
    Ok(found)
}

/// That recall has no meaning, where nothing is configured; what is configured is examined with the rest.
fn by_words(config: &Config) -> Option<Examination> {
    let is_unset = config.recall.embeddings.is_none() && embeddings::lacks_file(config);
    let finding = "memories are found by words alone";
    is_unset
        .then(|| Examination::advised(Severity::Ok, "embeddings", finding, embeddings::SUGGESTION))
}

/// Which master key is in use, and its source.
fn key(global: &Global, config: &Config, keys: &KeyStore) -> Result<Examination, Failure> {
    let origin = match keys::source(global, config)? {
        MasterSource::Given(_) => keys::GIVEN.to_owned(),
        MasterSource::File(path) => format!("`{}`", path.display()),
    };
    let place = match keys::is_file(config)? {
        true => String::new(),
        false => format!(" in `{}`", keys.name()),
    };
    let finding = format!(
        "master key {} from {origin} opens the key store{place}; keep a copy of it apart from the database",
        keys.key_id()
    );
    Ok(Examination::fine("key", finding))
}

/// Who can read agents' texts on this machine.
fn access(is_closed: bool) -> Examination {
    match is_closed {
        true => Examination::advised(
            Severity::Ok,
            "access",
            "closed: commands show an agent's texts only with its token in MEMOIR_TOKEN",
            "`memoir installation open` opens it, for the owner of the machine",
        ),
        false => Examination::fine(
            "access",
            "open: every user of this database can read all agents' text; `closed = true` in the configuration changes that".to_owned(),
        ),
    }
}

/// Whether the connected role is unable to change the row policies that separate accounts.
fn role(role: &DatabaseRole) -> Examination {
    match role.danger() {
        Some(danger) => Examination::advised(Severity::Warning, "database", danger, SEPARATE_ROLE),
        None => Examination::fine(
            "database",
            format!(
                "the role `{}` owns nothing, and the row policies between accounts bind it",
                safe(&role.name)
            ),
        ),
    }
}

/// The problem where a statement of the role could run without end.
fn limit(role: &DatabaseRole) -> Option<Examination> {
    let name = safe(&role.name);
    let finding = format!("no `statement_timeout` limits a statement of the role `{name}`");
    let advice = format!("`ALTER ROLE {name} SET statement_timeout = '60s'`, and connect anew");
    (!role.limits_statements)
        .then(|| Examination::advised(Severity::Warning, "database", finding, advice))
}

/// The file, and whether only its owner can read it.
fn file(path: &Path) -> Examination {
    let metadata = std::fs::metadata(path);
    let is_open = metadata.is_ok_and(|found| exposed_mode(&found).is_some());
    let path = path.display();
    match is_open {
        true => Examination::advised(
            Severity::Warning,
            "database",
            format!("others on this machine may read `{path}`"),
            format!("`chmod 600 {path}`"),
        ),
        false => Examination::fine("database", format!("in `{path}`")),
    }
}
