//! `memoir export`: an agent's kept memories, in a form that `memoir import` takes.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use memoir_app::import::Line;

use crate::{
    cli::Global,
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    show::counted,
    terminal,
};

/// Print an agent's kept memories, oldest first, one JSON object a line
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
}

/// A form of memories in a file.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum Format {
    /// One JSON object a line
    #[default]
    Jsonl,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let lines = installation.agent(&arguments.agent).await?.export().await?;
    let Format::Jsonl = arguments.format;
    match arguments
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"))
    {
        None => terminal::json_lines(&lines)?,
        Some(path) => {
            write(&lines, path).map_err(|error| Failure::file("write", path, &error))?;
            terminal::note(&format!(
                "wrote {} to `{}`",
                counted(lines.len() as u64, "memory", "memories"),
                path.display()
            ));
        }
    }
    Ok(Ending::Done)
}

/// Writes a new file and then puts it in place of the old one, so that there is never half a file.
fn write(lines: &[Line], path: &Path) -> io::Result<()> {
    let is_special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    if is_special {
        // A device or a pipe has nothing to be replaced; a folder is refused here.
        return write_lines(lines, fs::OpenOptions::new().write(true).open(path)?);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let file = tempfile::NamedTempFile::new_in(folder)?;
    write_lines(lines, file.as_file())?;
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
