//! `memoir import`: memories from a file, all of them or none.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memoir_app::{AgentHandle, import};
use memoir_domain::audit::Actor;
use memoir_vault::archive::is_archive;
use serde_json::json;

use crate::{
    cli::Global,
    commands::{export::Format, parse, passphrase},
    failure::{Ending, Failure, Outcome, bad_lines},
    installation::{Installation, administrator},
    show::{counted, thousands},
    terminal::{self, safe},
};

/// A file is read in whole; a million memories are a tenth of this.
const MOST_BYTES: u64 = 1 << 30;

/// Import memories from a file, all of them or none, or make an agent from an archive
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent; from an archive, the name of the one that is made
    agent: String,
    /// The file; `-` reads stdin
    file: PathBuf,
    /// The format [default: an archive is recognised, anything else is lines of JSON]. A line is
    /// {"content", "kind"?, "tags"?, "source"?, "created_at"?, "constitutional"?}
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Import the rest of a file that has bad lines
    #[arg(long)]
    skip_bad: bool,
    /// A file whose text is the archive's passphrase; else MEMOIR_ARCHIVE_PASSPHRASE, or it is asked for
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let bytes = parse::file(&arguments.file, MOST_BYTES)?;
    let found = if is_archive(&bytes) {
        Format::Archive
    } else {
        Format::Jsonl
    };
    match arguments.format.unwrap_or(found) {
        Format::Jsonl => lines(global, arguments, &bytes).await,
        Format::Archive => archive(global, arguments, bytes).await,
    }
}

async fn archive(global: &Global, arguments: Arguments, sealed: Vec<u8>) -> Outcome {
    let passphrase = passphrase::asked(arguments.passphrase_file.as_deref())?;
    let installation = Installation::open(global).await?;
    let name = Some(arguments.agent.as_str());
    let account = &installation.account;
    let agent = account
        .adopt(sealed, passphrase, name, &administrator())
        .await?;
    if global.json {
        terminal::json(&agent)?;
    } else {
        terminal::print(&format!(
            "made the agent `{}` from the archive: {}, {} core tokens, and its whole log\n",
            safe(&agent.name),
            counted(agent.counts.core_count, "core memory", "core memories"),
            thousands(agent.counts.core_tokens)
        ))?;
    }
    Ok(Ending::Done)
}

async fn lines(global: &Global, arguments: Arguments, bytes: &[u8]) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let read = import::read(bytes, agent.now());
    let skipped = read.bad.len();
    if arguments.skip_bad && skipped > 0 {
        let lines = counted(skipped as u64, "line", "lines");
        terminal::note(&format!("skipped {lines}:\n\n{}", bad_lines(&read.bad)));
    }
    let imported = watched(&agent, installation.author(), read, arguments.skip_bad).await?;
    if global.json {
        terminal::json(&json!({"imported": imported, "skipped": skipped}))?;
    } else {
        let memories = counted(imported as u64, "memory", "memories");
        let lines = counted(skipped as u64, "line", "lines");
        terminal::print(&match skipped {
            0 => format!("imported {memories}"),
            _ => format!("imported {memories}, skipped {lines}"),
        })?;
    }
    Ok(Ending::Done)
}

/// Imports, and moves a bar along while that takes place.
async fn watched(
    agent: &AgentHandle,
    actor: Actor,
    read: import::Read,
    skip_bad: bool,
) -> Result<usize, Failure> {
    let written = Arc::new(AtomicU64::new(0));
    let bar = bar(read.len() as u64);
    let work = agent.import(read, skip_bad, &actor, written.clone());
    tokio::pin!(work);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let outcome = loop {
        tokio::select! {
            biased;
            done = &mut work => break done,
            _ = tick.tick() => bar.set_position(written.load(Ordering::Relaxed)),
        }
    };
    bar.finish_and_clear();
    Ok(outcome?)
}

/// A bar on stderr, which shows itself on a terminal only.
fn bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    if let Ok(style) =
        ProgressStyle::with_template("{bar:32} {human_pos} of {human_len}, {per_sec}")
    {
        bar.set_style(style);
    }
    bar
}
