//! `memoir config`: the keys of the configuration with their values, and the paths of an installation.

use std::fs;

use serde::Serialize;

use crate::{
    config::{
        self, Config,
        keys::{self, ConfigKey},
    },
    database,
    failure::{Failure, Outcome},
    installation, keys as key_files,
    options::Global,
    output,
    show::TextTable,
    telemetry,
    terminal::{self, safe},
};

/// What is shown in place of a value that may hold a secret.
const HIDDEN: &str = "(set; not shown)";

/// Print every key of the configuration with its value, where it comes from, and its default
///
/// The keys of providers, prices and webhooks are printed for those that the file has. A value that may hold a secret is
/// not printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the paths of the configuration, the database, the key store and the master key
    Path,
    /// Check the file, and print what is wrong with it
    Check,
    /// Print a file with every key, its default and its meaning
    Example,
}

/// A key with what holds.
#[derive(Serialize)]
struct Shown {
    key: String,
    /// In TOML; `None` where it is not set and has no default.
    value: Option<String>,
    /// `default`, `file`, or the variable of the environment.
    source: &'static str,
    /// In TOML; `None` where it has none.
    default: Option<&'static str>,
    help: &'static str,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    match arguments.command {
        None => list(global),
        Some(Command::Path) => paths(global),
        Some(Command::Check) => check(global),
        Some(Command::Example) => {
            let example = serde_json::json!({ "example": keys::REFERENCE });
            output::show(global.json, &example, || keys::REFERENCE.to_owned())
        }
    }
}

fn list(global: &Global) -> Outcome {
    let config = Config::read(global.config.as_deref())?;
    let shown = shown(&places(&config)?);
    if global.json {
        return output::json(&serde_json::json!({ "path": config.path, "keys": shown }));
    }
    let mut table = TextTable::new(["key", "value", "from", "default"]);
    for one in shown {
        table.row([
            safe(&one.key).to_string(),
            safe(one.value.as_deref().unwrap_or("-")).to_string(),
            one.source.to_owned(),
            one.default.unwrap_or("-").to_owned(),
        ]);
    }
    output::print(&table.to_string())?;
    terminal::note(&match &config.path {
        Some(path) => format!("file: `{}`", path.display()),
        None => match config::default_path() {
            Some(path) => format!("there is no file; it would be `{}`", path.display()),
            None => "there is no file".to_owned(),
        },
    });
    Ok(())
}

/// The keys that are set in the file, each with its place and its value in TOML.
fn places(config: &Config) -> Result<Vec<(String, String)>, Failure> {
    let Some(path) = &config.path else {
        return Ok(Vec::new());
    };
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::file("read the configuration", path, &error))?;
    let mut places = Vec::new();
    // It was read as a configuration before, so that it is TOML.
    let table = text.parse::<toml::Table>().unwrap_or_default();
    flatten("", &toml::Value::Table(table), &mut places);
    Ok(places)
}

fn flatten(place: &str, value: &toml::Value, places: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (name, value) in table {
                let dot = if place.is_empty() { "" } else { "." };
                flatten(&format!("{place}{dot}{name}"), value, places);
            }
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            for (at, item) in items.iter().enumerate() {
                flatten(&format!("{place}[{at}]"), item, places);
            }
        }
        value => {
            // In TOML texts, numbers and lists of them are written as in JSON.
            let value = serde_json::to_string(value).unwrap_or_default();
            places.push((place.to_owned(), value));
        }
    }
}

fn shown(places: &[(String, String)]) -> Vec<Shown> {
    let mut shown = Vec::new();
    for key in keys::KEYS.iter() {
        let default = key.default;
        let one = |place: &str, value: Option<&str>, source| Shown {
            key: place.to_owned(),
            value: match value {
                Some(_) if key.is_secret() => Some(HIDDEN.to_owned()),
                other => other.map(str::to_owned),
            },
            source,
            default,
            help: &key.help,
        };
        if let Some(variable) = variable(key) {
            shown.push(one(&key.name, Some(HIDDEN), variable));
            continue;
        }
        let set = places.iter().filter(|(place, _)| key.is_at(place));
        let before = shown.len();
        shown.extend(set.map(|(place, value)| one(place, Some(value), "file")));
        if shown.len() == before && !key.is_repeated() {
            // Of the two keys of one limit, the file has the other one.
            let is_replaced = key.name == "limits.minutes"
                && places.iter().any(|(place, _)| place == "limits.seconds");
            let value = default.filter(|_| !is_replaced);
            shown.push(one(&key.name, value, "default"));
        }
    }
    shown
}

/// The variable of the environment that is set, and takes the place of the key.
fn variable(key: &ConfigKey) -> Option<&'static str> {
    let variable = match key.name.as_str() {
        "keys.url" => key_files::URL,
        "master_key_file" => key_files::GIVEN,
        "telemetry.otlp_endpoint" => return telemetry::endpoint_variable(),
        _ => return None,
    };
    let value = std::env::var_os(variable)?;
    (!value.is_empty()).then_some(variable)
}

/// The places of an installation. Nothing is made.
pub(super) fn installation_paths(
    global: &Global,
    config: &Config,
) -> Result<[(&'static str, String); 4], Failure> {
    let url = global.database.as_deref();
    let own = config.path.clone().or_else(config::default_path);
    let store = match key_files::is_file(config)? {
        true => key_files::store_path(&database::path(url)?)
            .display()
            .to_string(),
        false => "a database of PostgreSQL".to_owned(),
    };
    let master = match std::env::var_os(key_files::GIVEN) {
        Some(key) if !key.is_empty() => format!("the variable {}", key_files::GIVEN),
        _ => key_files::master_key_file(global, config)?
            .display()
            .to_string(),
    };
    Ok([
        ("database", database::place(global)?),
        ("key store", store),
        ("master key", master),
        (
            "configuration",
            own.map_or_else(String::new, |path| path.display().to_string()),
        ),
    ])
}

fn paths(global: &Global) -> Outcome {
    let config = Config::read(global.config.as_deref())?;
    let paths = installation_paths(global, &config)?;
    if global.json {
        let paths = paths.map(|(name, path)| (name.replace(' ', "_"), path.into()));
        return output::json(&serde_json::Map::from_iter(paths));
    }
    let mut table = TextTable::new(["what", "path"]);
    for (name, path) in paths {
        table.row([name.to_owned(), path]);
    }
    output::print(&table.to_string())
}

fn check(global: &Global) -> Outcome {
    let config = Config::read(global.config.as_deref())?;
    // The providers are built from it as for every command.
    installation::in_memory(global)?;
    let checked = serde_json::json!({ "valid": true, "path": config.path });
    output::show(global.json, &checked, || match &config.path {
        Some(path) => format!("`{}` is in order", path.display()),
        None => "there is no file; the defaults count".to_owned(),
    })
}
