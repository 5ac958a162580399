//! `memoir export`: an agent's active memories, in a format that `memoir import` reads.

mod pages;

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use self::pages::PageLayout;
use memoir_app::{LogExport, MemoryInput, OwnAgent};
use memoir_vault::{archive::Passphrase, sync_folder_of};
use zeroize::Zeroizing;

use crate::{
    commands::passphrase,
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output,
    private_file::{self, folder_of},
    show::counted,
    terminal::{self, safe},
};

/// Print an agent's memories as lines of JSON, write them as a folder of pages, or seal the whole agent into
/// an archive
///
/// Pages are one file a memory, for people to read and to edit: `memoir import` of the folder shows the changes, and
/// imports them with `--apply`.
///
/// An archive holds memories, settings, sessions and the whole audit under a passphrase; `memoir import` creates an
/// agent from it, on another installation too. The passphrase is that of MEMOIR_ARCHIVE_PASSPHRASE or
/// `--passphrase-file`; without either, one is generated and shown once.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The format
    #[arg(long, value_enum, default_value_t)]
    format: ExportFormat,
    /// Write to a new file, which only you can read, instead of stdout; to a new or empty folder for pages
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file where it exists; a folder is never replaced
    #[arg(long, requires = "output")]
    force: bool,
    /// A file whose text is the archive's passphrase; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object a line
    #[default]
    Jsonl,
    /// The whole agent, sealed with a passphrase
    Archive,
    /// A folder of pages, one a memory
    Markdown,
    /// A folder of pages in the Open Knowledge Format
    Okf,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let path = arguments.output.as_deref();
    let path = path.filter(|path| *path != Path::new("-"));
    if let (Some(path), ExportFormat::Jsonl | ExportFormat::Archive) = (path, arguments.format) {
        check_is_new(path, arguments.force)?;
    }
    match arguments.format {
        ExportFormat::Jsonl => lines(global, &arguments.agent, path).await,
        ExportFormat::Markdown => folder(global, &arguments.agent, path, PageLayout::Folders).await,
        ExportFormat::Okf => folder(global, &arguments.agent, path, PageLayout::Okf).await,
        ExportFormat::Archive => {
            let passphrase_file = arguments.passphrase_file.as_deref();
            archive(global, &arguments.agent, path, passphrase_file).await
        }
    }
}

async fn folder(global: &Global, agent: &str, path: Option<&Path>, layout: PageLayout) -> Outcome {
    let path = path.ok_or_else(|| {
        Failure::new("pages are written to a folder").hint("name one with `--output FOLDER`")
    })?;
    let agent = opened(global, agent).await?;
    let count = pages::write(&agent, path, layout).await?;
    report(global, path, count)
}

async fn lines(global: &Global, agent: &str, path: Option<&Path>) -> Outcome {
    let agent = opened(global, agent).await?;
    let lines = agent.export().await?;
    let Some(path) = path else {
        output::json_lines(&lines)?;
        return Ok(());
    };
    write(path, |file| write_lines(&lines, file), || Ok(()))?;
    report(global, path, lines.len())
}

/// The agent, with a note on its discarded memories, which only an archive holds.
async fn opened(global: &Global, agent: &str) -> Result<OwnAgent, Failure> {
    let (installation, agent) = Installation::of_agent(global, Some(agent)).await?;
    let agent = installation.own(&agent).await?;
    let discarded = agent.views().show().await?.counts.discarded_count;
    if discarded > 0 {
        let left_out = counted(discarded, "discarded memory is", "discarded memories are");
        terminal::note(&format!(
            "{left_out} not in it; `--format archive` exports all"
        ));
    }
    Ok(agent)
}

fn report(global: &Global, path: &Path, count: usize) -> Outcome {
    if global.json {
        return output::json(&ExportOutput {
            file: path,
            memories: Some(count),
            passphrase: None,
        });
    }
    let memories = counted(count as u64, "memory", "memories");
    terminal::note(&format!("wrote {memories} to `{}`", path.display()));
    Ok(())
}

/// The written file, as JSON.
#[derive(serde::Serialize)]
struct ExportOutput<'a> {
    file: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<usize>,
    /// A generated passphrase, which is stored nowhere.
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
        let problem = "an archive is not JSON";
        return Err(Failure::new(problem).hint("write it to a file with `--output FILE`"));
    }
    let given = passphrase::given(passphrase_file)?;
    let is_made = given.is_none();
    let (stream, is_nowhere) = match global.json {
        true => ("stdout", goes_nowhere(&io::stdout())),
        false => ("stderr", goes_nowhere(&io::stderr())),
    };
    // The archive could never be opened.
    if is_made && is_nowhere {
        return Err(not_shown(&format!("{stream} is closed or discarded")));
    }
    let passphrase = match given {
        Some(passphrase) => passphrase,
        None => Passphrase::generate()?,
    };
    // The passphrase is copied, since sealing consumes it.
    let made = is_made.then(|| Zeroizing::new(passphrase.expose().to_owned()));
    let made = made.as_deref().map(String::as_str);
    let (installation, agent) = Installation::of_agent(global, Some(agent)).await?;
    let agent = installation.own(&agent).await?;
    let sealed = agent.archive(passphrase).await?;
    let Some(path) = path else {
        // The passphrase is shown before the archive is written, since the archive cannot be opened without it.
        made.map_or(Ok(()), show)?;
        output::data(&sealed)?;
        return Ok(());
    };
    let written = ExportOutput {
        file: path,
        memories: None,
        passphrase: made,
    };
    let fill = |file: &fs::File| (&mut &*file).write_all(&sealed);
    match made {
        Some(_) if global.json => write(path, fill, || show_as_json(&written))?,
        Some(passphrase) => write(path, fill, || show(passphrase))?,
        None => write(path, fill, || Ok(()))?,
    }
    if !global.json {
        let (name, path) = (safe(agent.name()), path.display());
        terminal::note(&format!("wrote `{name}` to `{path}`"));
    } else if made.is_none() {
        output::json(&written)?;
    }
    Ok(())
}

/// Whether the stream discards its output. That includes a stream that was closed when the program started: it is
/// opened on the null device then, and accepts everything without an error.
#[cfg(unix)]
fn goes_nowhere(stream: &impl std::os::fd::AsFd) -> bool {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    // The stream is duplicated, since `File` closes its descriptor when it is dropped.
    let of_stream = stream
        .as_fd()
        .try_clone_to_owned()
        .and_then(|stream| fs::File::from(stream).metadata());
    match (of_stream, fs::metadata("/dev/null")) {
        (Ok(stream), Ok(null)) => {
            stream.file_type().is_char_device() && stream.rdev() == null.rdev()
        }
        // Where there is no null device, the stream cannot have been opened on it.
        (Ok(_), Err(_)) => false,
        (Err(_), _) => true,
    }
}

#[cfg(not(unix))]
fn goes_nowhere<T>(_stream: &T) -> bool {
    false
}

/// Shows a generated passphrase. Unlike a note, an error of printing is returned.
fn show(passphrase: &str) -> Result<(), Failure> {
    let text = Zeroizing::new(format!(
        "the archive's passphrase, shown once and stored nowhere; without it the archive cannot be opened:\n{passphrase}\n"
    ));
    let mut stderr = io::stderr().lock();
    let shown = stderr.write_all(text.as_bytes());
    shown
        .and_then(|()| stderr.flush())
        .map_err(|error| not_shown(&format!("cannot write to stderr: {error}")))
}

/// As [`show`], for programs.
fn show_as_json(written: &ExportOutput<'_>) -> Result<(), Failure> {
    output::json(written).map_err(|failure| match failure {
        // A closed stdout is no failure elsewhere; here the passphrase would be lost.
        Failure::PipeClosed => not_shown("stdout is closed"),
        other => other,
    })
}

fn not_shown(problem: &str) -> Failure {
    Failure::new(format!(
        "the archive's passphrase cannot be shown, and nothing was written: {problem}"
    ))
    .hint("give a passphrase of your own in MEMOIR_ARCHIVE_PASSPHRASE or with `--passphrase-file`")
}

/// Refuses to replace a file, unless that was requested or it is empty. A device or a pipe is written to.
pub(super) fn check_is_new(path: &Path, is_forced: bool) -> Result<(), Failure> {
    if is_forced || !fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0) {
        return Ok(());
    }
    let problem = format!("`{}` is there already; nothing was written", path.display());
    Err(Failure::new(problem).hint("give the name of a new file, or `--force` to replace it"))
}

/// Writes a new file and then moves it over the old one, so that the file is never incomplete. `announce` runs before
/// that, and its error stops it.
fn write(
    path: &Path,
    fill: impl FnOnce(&fs::File) -> io::Result<()>,
    announce: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error| Failure::file("write", path, &error);
    match Target::open(path)? {
        // The passphrase is shown only once the file is open, since an archive that cannot be written needs none.
        Target::Special(file) => announce().and_then(|()| fill(&file).map_err(failed)),
        Target::Draft(draft, target) => {
            fill(draft.as_file()).map_err(failed)?;
            draft.as_file().sync_all().map_err(failed)?;
            announce()?;
            put(draft, &target).map_err(failed)
        }
    }
}

/// As [`write()`], piece by piece.
pub(super) async fn write_log(path: &Path, log: &mut LogExport) -> Result<(), Failure> {
    let failed = |error| Failure::file("write", path, &error);
    let target = Target::open(path)?;
    let mut file = match &target {
        Target::Special(file) => file,
        Target::Draft(draft, _) => draft.as_file(),
    };
    while let Some(piece) = log.next().await? {
        file.write_all(&piece).map_err(failed)?;
    }
    match target {
        Target::Special(_) => Ok(()),
        Target::Draft(draft, target) => {
            let synced = draft.as_file().sync_all();
            synced.and_then(|()| put(draft, &target)).map_err(failed)
        }
    }
}

enum Target {
    /// A device or a pipe, which cannot be replaced.
    Special(fs::File),
    /// A file under a temporary name, that only its owner can read, and the path of the file whose place it takes.
    Draft(tempfile::NamedTempFile, PathBuf),
}

impl Target {
    fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::file("write", path, &error);
        if path.is_symlink() && !path.exists() {
            // Another user may have made the link, and a new file would be where that user wants it.
            return Err(Failure::new(format!(
                "cannot write `{}`: it is a link to a missing file",
                path.display()
            ))
            .hint("name the file itself, or remove the link"));
        }
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            // A folder is refused here.
            let file = fs::OpenOptions::new().write(true).open(path);
            return file.map(Self::Special).map_err(failed);
        }
        let target = private_file::behind_links(path);
        let draft = tempfile::NamedTempFile::new_in(folder_of(&target)).map_err(failed)?;
        Ok(Self::Draft(draft, target))
    }
}

/// Moves a synced draft to its place.
fn put(draft: tempfile::NamedTempFile, target: &Path) -> io::Result<()> {
    draft.persist(target)?;
    sync_folder_of(target)
}

fn write_lines(lines: &[MemoryInput], file: impl Write) -> io::Result<()> {
    let mut file = io::BufWriter::new(file);
    for line in lines {
        serde_json::to_writer(&mut file, line)?;
        file.write_all(b"\n")?;
    }
    file.flush()
}
