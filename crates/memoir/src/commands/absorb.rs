//! `memoir absorb`: the agent's model reads conversations from files.

use std::{
    fs::File,
    io::{IsTerminal, Read, Seek},
    path::{Path, PathBuf},
};

use memoir_app::{Absorbed, AgentHandle, HandedMessage};
use memoir_import::ImportLimits;
use memoir_transcripts::{ByteStream, TranscriptFormat};
use serde_json::json;

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    interrupt,
    options::Global,
    output,
    show::counted,
    terminal,
    transcripts::{HandedFile, take},
};

/// Let the agent's model read conversations from files and save memories of them
///
/// Every message is read once, however often its file is given, and an interrupted absorption is resumed. Without a
/// file, the pending messages are read. Of a ZIP archive, as exports arrive, its conversations are read.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The files; `-` reads stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The format: messages, text, chatgpt, claude, claude-code, codex, copilot, gemini or gemini-takeout [default: it is
    /// recognised]
    #[arg(long, value_parser = format)]
    format: Option<TranscriptFormat>,
    /// Only store the files' messages: the schedule reads them, once nothing was added for six hours
    #[arg(long, requires = "files")]
    later: bool,
    /// Read once more the messages that were read in the last seven days; the earlier memories stay
    #[arg(long, conflicts_with_all = ["files", "later"])]
    again: bool,
}

fn format(name: &str) -> Result<TranscriptFormat, &'static str> {
    TranscriptFormat::from_name(name).ok_or(
        "not a format of transcripts: expected `messages`, `text`, `chatgpt`, `claude`, `claude-code`, `codex`, `copilot`, `gemini` or `gemini-takeout`",
    )
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    let actor = installation.owner_or_actor(&agent).await?;
    // They are read once all of them are saved; otherwise a concurrent service would begin in the middle.
    let hand_over = async |messages: Vec<HandedMessage>| {
        let life = agent.life();
        Ok::<_, Failure>(life.hand_over(messages, false, actor.kind).await?)
    };
    let mut taken = Vec::new();
    for path in &arguments.files {
        for file in opened(path)? {
            let read = take(file, arguments.format, path, &hand_over).await?;
            if !global.json {
                report_taken(&read);
            }
            taken.push(read);
        }
    }
    if arguments.again && agent.life().absorb_again().await? == 0 {
        return Err(Failure::new("there is no conversation to read once more")
            .hint("messages are stored for seven days after they were read"));
    }
    if arguments.later {
        if global.json {
            output::json(&json!({"file": handed_files_json(&taken)}))?;
        }
        return Ok(());
    }
    let absorbed = read(&agent).await?;
    if global.json {
        let taken = handed_files_json(&taken);
        output::json(&json!({"file": taken, "absorbed": absorbed}))?;
    } else {
        report_absorbed(&absorbed)?;
    }
    match absorbed.is_interrupted {
        // Even where something failed as well.
        true => Err(Failure::Interrupted),
        false => Failure::refused_unless(absorbed.failure.is_none()),
    }
}

/// The sums over the files; `None` without any.
fn handed_files_json(taken: &[HandedFile]) -> Option<serde_json::Value> {
    let sum = |of: fn(&HandedFile) -> u64| taken.iter().map(of).sum::<u64>();
    // The places and reasons of lost messages.
    let losses = taken.iter().flat_map(|file| &file.report.losses);
    let losses: Vec<serde_json::Value> = losses
        .map(|(place, reason)| json!({"place": place.to_string(), "reason": reason.to_string()}))
        .collect();
    let sums = json!({
        "received": sum(|file| file.handed.received),
        "known": sum(|file| file.handed.known),
        "left_out": sum(|file| file.report.skipped.values().sum()),
        "lost": sum(|file| file.report.lost()),
        "losses": losses,
    });
    (!taken.is_empty()).then_some(sums)
}

/// The conversations of a file: itself, or those of a ZIP archive.
fn opened(path: &Path) -> Result<Vec<ByteStream>, Failure> {
    if path.as_os_str() == "-" {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            terminal::note("the conversation (its end is Ctrl-D on a line of its own):");
        }
        return Ok(vec![Box::new(stdin)]);
    }
    let failed = |error| Failure::file("read", path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    let mut begin = file.by_ref().take(4);
    begin.read_to_end(&mut head).map_err(failed)?;
    file.rewind().map_err(failed)?;
    if !memoir_import::is_archive(&head) {
        return Ok(vec![Box::new(file)]);
    }
    let files = memoir_import::conversations(file, &ImportLimits::default());
    let files = files.map_err(|error| {
        Failure::new(format!("cannot read `{}`: {error}", path.display()))
            .hint("unpack it, and name the files of conversations")
    })?;
    let files = files.into_iter();
    Ok(files.map(|file| Box::new(file) as ByteStream).collect())
}

fn report_taken(taken: &HandedFile) {
    let handed = &taken.handed;
    let mut line = format!(
        "stored {} to be read",
        counted(handed.received, "new message", "new messages")
    );
    if handed.known > 0 {
        let known = counted(handed.known, "message", "messages");
        line.push_str(&format!("; {known} had been stored before"));
    }
    terminal::note(&line);
    let left_out: u64 = taken.report.skipped.values().sum();
    if left_out > 0 {
        terminal::note(&format!("{}", taken.report));
    }
}

/// Reads all pending messages, and shows the progress.
async fn read(agent: &AgentHandle) -> Result<Absorbed, Failure> {
    let mut observer = |progress: &Absorbed| {
        // Others may add messages or read some meanwhile, so the sum is made each time.
        let all = counted(progress.messages + progress.pending, "message", "messages");
        let saved = counted(progress.saved, "memory", "memories");
        terminal::progress(&format!("{} of {all}, {saved} saved", progress.messages));
    };
    let stop = interrupt::listening().await;
    Ok(agent.life().absorb(stop, &mut observer).await?)
}

fn report_absorbed(absorbed: &Absorbed) -> Result<(), Failure> {
    let messages = counted(absorbed.messages, "message", "messages");
    let saved = counted(absorbed.saved, "memory", "memories");
    output::print(&match absorbed.messages {
        0 if absorbed.failure.is_none() && !absorbed.is_interrupted => {
            "there is nothing new to read".to_owned()
        }
        _ => format!("read {messages}, saved {saved}"),
    })?;
    if absorbed.is_interrupted {
        terminal::note("interrupted: the read part is saved, and the same command resumes there");
    }
    if let Some(failure) = &absorbed.failure {
        let waiting = counted(absorbed.pending, "message", "messages");
        terminal::note(&format!(
            "not everything was read: {failure}; {waiting} still to be read, and the same command tries again"
        ));
    }
    Ok(())
}
