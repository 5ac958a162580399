//! `memoir export`: an agent's kept memories, in a form that `memoir import` takes.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use memoir_app::import::Line;
use memoir_vault::archive::Passphrase;
use zeroize::Zeroizing;

use crate::{
    cli::Global,
    commands::passphrase,
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    show::counted,
    terminal::{self, safe},
};

/// Print an agent's memories as lines of JSON, or seal the whole agent into an archive
///
/// An archive holds memories, settings, sessions and the whole audit under a passphrase; `memoir import`
/// makes an agent of it, on another installation too. The passphrase is taken from
/// MEMOIR_ARCHIVE_PASSPHRASE or `--passphrase-file`; where there is none, one is made and shown once.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write to a file, which only you can read, instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A file whose text is the archive's passphrase; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// A form of memories in a file.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// One JSON object a line
    #[default]
    Jsonl,
    /// The whole agent, sealed with a passphrase
    Archive,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let path = arguments
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    match arguments.format {
        Format::Jsonl => lines(global, &arguments.agent, path).await,
        Format::Archive => {
            let passphrase_file = arguments.passphrase_file.as_deref();
            archive(global, &arguments.agent, path, passphrase_file).await
        }
    }
}

async fn lines(global: &Global, agent: &str, path: Option<&Path>) -> Outcome {
    let installation = Installation::open(global).await?;
    let lines = installation.agent(agent).await?.export().await?;
    let Some(path) = path else {
        terminal::json_lines(&lines)?;
        return Ok(Ending::Done);
    };
    write(path, |file| write_lines(&lines, file))
        .map_err(|error| Failure::file("write", path, &error))?;
    if global.json {
        terminal::json(&Written {
            file: path,
            memories: Some(lines.len()),
            passphrase: None,
        })?;
    } else {
        terminal::note(&format!(
            "wrote {} to `{}`",
            counted(lines.len() as u64, "memory", "memories"),
            path.display()
        ));
    }
    Ok(Ending::Done)
}

/// What was written to a file, for programs.
#[derive(serde::Serialize)]
struct Written<'a> {
    file: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<usize>,
    /// One that was made, and is kept nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    passphrase: Option<&'a str>,
}

async fn archive(
    global: &Global,
    agent: &str,
    path: Option<&Path>,
    passphrase_file: Option<&Path>,
) -> Outcome {
    if path.is_none() && terminal::stdout_is_watched() {
        return Err(Failure::new("an archive is not for a terminal")
            .hint("write it to a file with `--output FILE`"));
    }
    if path.is_none() && global.json {
        return Err(
            Failure::new("an archive is not JSON").hint("write it to a file with `--output FILE`")
        );
    }
    let given = passphrase::given(passphrase_file)?;
    let is_made = given.is_none();
    let passphrase = match given {
        Some(passphrase) => passphrase,
        None => Passphrase::generate().map_err(memoir_app::Error::from)?,
    };
    let made = is_made.then(|| Zeroizing::new(passphrase.expose().to_owned()));
    let made = made.as_deref().map(String::as_str);
    let installation = Installation::open_for_sessions(global).await?;
    let agent = installation.agent(agent).await?;
    let sealed = agent.archive(passphrase).await?;
    match path {
        None => terminal::data(&sealed)?,
        Some(path) => {
            write(path, |file| (&mut &*file).write_all(&sealed))
                .map_err(|error| Failure::file("write", path, &error))?;
            if global.json {
                return terminal::json(&Written {
                    file: path,
                    memories: None,
                    passphrase: made,
                })
                .map(|()| Ending::Done);
            }
            terminal::note(&format!(
                "wrote `{}` to `{}`",
                safe(agent.name()),
                path.display()
            ));
        }
    }
    if let Some(passphrase) = made {
        terminal::note(&format!(
            "its passphrase, shown once and kept nowhere; without it nobody can open the archive:\n{passphrase}"
        ));
    }
    Ok(Ending::Done)
}

/// Writes a new file and then puts it in place of the old one, so that there is never half a file.
fn write(path: &Path, fill: impl FnOnce(&fs::File) -> io::Result<()>) -> io::Result<()> {
    let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    if is_special {
        // A device or a pipe has nothing to be replaced; a folder is refused here.
        return fill(&fs::OpenOptions::new().write(true).open(path)?);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let file = tempfile::NamedTempFile::new_in(folder)?;
    fill(file.as_file())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn write_lines(lines: &[Line], file: impl Write) -> io::Result<()> {
    let mut file = io::BufWriter::new(file);
    for line in lines {
        serde_json::to_writer(&mut file, line)?;
        file.write_all(b"\n")?;
    }
    file.flush()
}
