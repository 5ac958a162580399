//! `memoir edit`: the owner of an open installation replaces the text of a memory, in an editor.
//!
//! While the editor runs, the text is unsealed: in a private file in a private folder of its own. An editor's backup
//! files are removed with the folder. A typed text that could not be saved is kept in a private file.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

use memoir_domain::{PrivateText, audit::ActorKind, memory::Number};
use serde_json::json;

use crate::{
    failure::{Failure, Outcome},
    hook,
    installation::Installation,
    interrupt,
    options::Global,
    output, parse, private_file, show, terminal,
};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

/// Replace the text of one core memory, in your editor
///
/// For the owner of an open installation, outside of sessions. The text is a new original with a number of its own; the
/// old one moves to the archive, under it. The agent is notified. The editor is `$VISUAL`, or `$EDITOR`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "memoir edit [OPTIONS] [AGENT] <NUMBER>")]
pub(crate) struct Arguments {
    /// The agent; left out, it is `MEMOIR_AGENT`, or the only one
    #[arg(value_name = "AGENT")]
    first: String,
    /// The memory's number
    #[arg(value_parser = parse::number)]
    number: Option<Number>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let owner = installation.author();
    if owner.kind != ActorKind::Owner {
        return Err(installation.closed_to_edits("only the agent changes its text"));
    }
    let (agent, numbers) = installation
        .numbered(&arguments.first, arguments.number.as_slice())
        .await?;
    let agent = installation.own(&agent).await?;
    let [number] = numbers[..] else {
        return Err(Failure::new("one memory is edited at a time")
            .hint("`memoir edit AGENT NUMBER` edits one"));
    };
    let memory = agent.lens().memory(number).await?;
    // Before the user types in vain.
    agent.memories().check_edit(number).await?;
    let seen = PrivateText::from(memory.content());
    // Not in the system's folder of temporary files, which every user can open.
    let parent =
        hook::state::folder().ok_or_else(|| Failure::new("the state directory is not known"))?;
    let problem = |error| Failure::file("write", &parent, &error);
    let folder = folder_in(&parent).map_err(problem)?;
    let path = folder.path().join("memory.txt");
    let created = private_file::create_new(&path);
    // Editors expect a line break at the end; trimming removes it again.
    let written = created.and_then(|mut file| writeln!(file, "{}", seen.expose()));
    written.map_err(problem)?;
    let saving = async {
        Ok::<_, Failure>(match edited(&path, &seen).await? {
            // `seen` is sent along, so that a concurrent change of the text is not overwritten.
            Some(text) => agent.memories().edit(number, &seen, &text, &owner).await?,
            None => None,
        })
    };
    let saved = saving.await;
    let memory = saved.map_err(|failure| keep(&parent, &path, &seen, failure))?;
    // A failure is reported, since the memory's text is still on the disk then.
    let closed = folder.close();
    closed.map_err(|error| Failure::file("remove", &path, &error))?;
    if global.json {
        match memory {
            Some(memory) => output::json(&memory)?,
            None => output::json(&json!({"number": number, "unchanged": true}))?,
        }
        return Ok(());
    }
    match memory {
        Some(edited) => {
            output::print(&format!("edited {number}: it is {} now", edited.number))?;
            let old = match edited.sources.as_slice() {
                [] => String::new(),
                sources => format!("; in the archive under it: {}", show::numbers(sources)),
            };
            terminal::note(&format!("the agent is notified{old}"));
        }
        None => output::print("nothing was changed")?,
    }
    Ok(())
}

/// A folder for its owner only. It is removed when it is dropped, also after an error.
fn folder_in(parent: &Path) -> io::Result<tempfile::TempDir> {
    private_file::make_private_folder(parent)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix("edit-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(parent)
}

/// Adds to the failure of an edit where the typed text is kept. Nothing is kept where none was typed.
fn keep(parent: &Path, path: &Path, seen: &PrivateText, failure: Failure) -> Failure {
    let typed = fs::read(path).unwrap_or_default();
    let text = typed.trim_ascii();
    if text.is_empty() || text == seen.expose().as_bytes() {
        return failure;
    }
    let keep = || -> io::Result<PathBuf> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("unsaved-").suffix(".txt");
        // It is its owner's only from the beginning.
        let mut file = builder.tempfile_in(parent)?;
        file.write_all(&typed)?;
        Ok(file.keep()?.1)
    };
    failure.hint(match keep() {
        Ok(kept) => format!(
            "what you typed is kept in `{}`, unsealed and for you alone; remove it after use",
            kept.display()
        ),
        Err(error) => format!("what you typed could not be kept: {error}"),
    })
}

/// The edited text; `None` where it is unchanged.
async fn edited(path: &Path, text: &PrivateText) -> Result<Option<PrivateText>, Failure> {
    // Other programs read these variables in the same order.
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        let editor = std::env::var(name).ok()?;
        (!editor.trim().is_empty()).then_some(editor)
    });
    let editor = editor.ok_or_else(|| {
        Failure::new("no editor is named")
            .hint("name one in VISUAL or EDITOR: `EDITOR=nano memoir edit AGENT NUMBER`")
    })?;
    // Ctrl-C belongs to the editor; the file must still be removed.
    let interruption = interrupt::listening().await;
    // Closing the terminal signals both processes, and the editor ends; the file must still be removed.
    #[cfg(unix)]
    let leaving = [SignalKind::hangup(), SignalKind::quit()].map(signal);
    let mut command = command(&editor, path);
    let editing = tokio::task::spawn_blocking(move || command.status());
    let status = editing
        .await
        .map_err(|_| Failure::new("the editor was not waited for"))?
        .map_err(|error| Failure::new(format!("cannot start the editor `{editor}`: {error}")))?;
    drop(interruption);
    #[cfg(unix)]
    drop(leaving);
    if !status.success() {
        return Err(Failure::new("the editor failed, and nothing was changed"));
    }
    let after = parse::text_file(path, parse::MEMORY_BYTES)?;
    let after = after.trim();
    if after.is_empty() {
        return Err(Failure::new("the text is empty, and nothing was changed")
            .hint("`memoir discard AGENT NUMBER` removes a memory from the prompt"));
    }
    Ok((after != text.expose()).then(|| after.into()))
}

/// The editor's command may have arguments of its own.
#[cfg(unix)]
fn command(editor: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    // The path is an argument of the script and not part of it, so that the shell interprets nothing in it.
    command
        .args(["-c", &format!("{editor} \"$1\""), "memoir"])
        .arg(path);
    command
}

#[cfg(not(unix))]
fn command(editor: &str, path: &Path) -> Command {
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).arg(path);
    command
}
