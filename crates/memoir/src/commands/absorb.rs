//! `memoir absorb`: the agent's model reads a conversation from a file.

use std::{
    fs::File,
    io::{IsTerminal, Read},
    path::{Path, PathBuf},
};

use memoir_app::{AbsorbProgress, Absorbed, AgentHandle, HandedMessage, HandedOver};
use memoir_domain::audit::Actor;
use memoir_transcripts::{TranscriptFormat, TranscriptReport};
use serde_json::json;

use crate::{
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    interrupt,
    options::Global,
    output,
    progress::ProgressLine,
    show::counted,
    terminal,
    transcripts::{HandedFile, MessageReceiver, take},
};

/// Let the agent's model read a conversation from a file and save memories of it
///
/// Every message is read once, however often the file is given, and an interrupted absorption is resumed. Without a
/// file, the pending messages are read.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The file; `-` reads stdin
    file: Option<PathBuf>,
    /// The format: messages, text, chatgpt, claude, claude-code, codex, copilot or gemini [default: it is recognised]
    #[arg(long)]
    format: Option<TranscriptFormat>,
    /// Only store the file's messages: the schedule reads them, once nothing was added for six hours
    #[arg(long, requires = "file")]
    later: bool,
    /// Read once more the messages that were read in the last seven days; the earlier memories stay
    #[arg(long, conflicts_with_all = ["file", "later"])]
    again: bool,
}

/// An agent of this installation, and the actor who passes the messages.
struct LocalAgent<'a>(&'a AgentHandle, &'a Actor);

impl MessageReceiver for LocalAgent<'_> {
    async fn hand_over(&self, messages: Vec<HandedMessage>) -> Result<HandedOver, Failure> {
        // They are read once all of them are saved; otherwise a concurrent service would begin in the middle.
        Ok(self
            .0
            .life()
            .hand_over(messages, false, self.1.kind)
            .await?)
    }
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let actor = installation.owner_or_actor(&agent).await?;
    let taken = match arguments.file {
        Some(path) => {
            let file = opened(&path)?;
            Some(take(file, arguments.format, &path, &LocalAgent(&agent, &actor)).await?)
        }
        None => None,
    };
    if let Some(taken) = taken.as_ref().filter(|_| !global.json) {
        report_taken(taken);
    }
    if arguments.again && agent.life().absorb_again().await? == 0 {
        return Err(Failure::new("there is no conversation to read once more")
            .hint("messages are stored for seven days after they were read"));
    }
    if arguments.later {
        if global.json {
            output::json(&json!({"file": taken.as_ref().map(handed_file_json)}))?;
        }
        return Ok(Ending::Done);
    }
    let absorbed = read(&agent).await?;
    let ending = match absorbed.failure {
        // An interruption comes first, since it is no failure, even where something failed as well.
        _ if absorbed.is_interrupted => Ending::Interrupted,
        Some(_) => Ending::Refused,
        None => Ending::Done,
    };
    if global.json {
        let taken = taken.as_ref().map(handed_file_json);
        output::json(&json!({"file": taken, "absorbed": absorbed}))?;
        return Ok(ending);
    }
    report_absorbed(&absorbed)?;
    Ok(ending)
}

fn handed_file_json(taken: &HandedFile) -> serde_json::Value {
    json!({
        "received": taken.handed.received,
        "known": taken.handed.known,
        "left_out": taken.report.skipped.values().sum::<u64>(),
        "lost": taken.report.lost(),
        "losses": losses(&taken.report),
    })
}

/// The places and reasons of lost messages.
fn losses(report: &TranscriptReport) -> Vec<serde_json::Value> {
    let losses = report.losses.iter();
    losses
        .map(|(place, reason)| json!({"place": place.to_string(), "reason": reason.to_string()}))
        .collect()
}

fn opened(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    if path.as_os_str() == "-" {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            terminal::note("the conversation (its end is Ctrl-D on a line of its own):");
        }
        return Ok(Box::new(stdin));
    }
    let file = File::open(path).map_err(|error| Failure::file("read", path, &error))?;
    Ok(Box::new(file))
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

/// Reads all pending messages, and updates a bar.
async fn read(agent: &AgentHandle) -> Result<Absorbed, Failure> {
    let waiting = agent.life().transcript().await?;
    let template = "{bar:32} {human_pos} of {human_len} messages, {msg} saved, {elapsed}";
    let progress = ProgressLine::start(Some(waiting.pending + waiting.failed), template);
    let bar = &progress.bar;
    bar.set_message(counted(0, "memory", "memories"));
    let mut observer = |progress: AbsorbProgress| {
        // Others may add messages or read some meanwhile, so the length is set each time.
        bar.set_length(progress.messages + progress.pending);
        bar.set_position(progress.messages);
        bar.set_message(counted(progress.saved, "memory", "memories"));
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
