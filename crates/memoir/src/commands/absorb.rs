//! `memoir absorb`: the agent's model reads a conversation from a file.

use std::{
    fs::File,
    io::{IsTerminal, Read},
    path::{Path, PathBuf},
};

use memoir_app::{AbsorbProgress, Absorbed, AgentHandle, HandedMessage, HandedOver};
use memoir_domain::{PrivateText, audit::Actor};
use memoir_transcripts::{
    Item, TranscriptFormat, TranscriptMessage, TranscriptReader, TranscriptReport,
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    interrupt,
    options::Global,
    output,
    progress::ProgressLine,
    show::counted,
    terminal,
};

/// Messages per transaction.
const BATCH: usize = 500;
/// Most characters of a batch's texts, so that a file of any size needs little memory.
const BATCH_CHARACTERS: usize = 4_000_000;
/// Most characters of a speaker's name; longer ones are truncated, since exports may contain anything there.
const SPEAKER_LIMIT: usize = 200;
/// The speaker, where the file names none.
const UNKNOWN: &str = "unknown";

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
    /// Read the messages of the last seven days once more; the earlier memories stay
    #[arg(long, conflicts_with_all = ["file", "later"])]
    again: bool,
}

/// The receiver of messages.
pub(crate) trait MessageReceiver {
    /// Passes the messages on; those that were passed before are skipped.
    ///
    /// # Errors
    /// The receiver refuses them.
    async fn hand_over(&self, messages: Vec<HandedMessage>) -> Result<HandedOver, Failure>;
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

/// The messages of a file.
pub(crate) struct HandedFile {
    pub(crate) handed: HandedOver,
    report: TranscriptReport,
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

/// Reads a file of that name on a thread of its own, and passes its messages on batch by batch.
///
/// # Errors
/// It cannot be read to its end, or its messages are refused.
pub(crate) async fn take(
    reader: impl Read + Send + 'static,
    format: Option<TranscriptFormat>,
    name: &Path,
    to: &impl MessageReceiver,
) -> Result<HandedFile, Failure> {
    // At most two batches wait in memory.
    let (sender, mut batches) = mpsc::channel(2);
    let name = name.to_owned();
    let reading =
        tokio::task::spawn_blocking(move || stream(Box::new(reader), &name, format, &sender));
    let mut handed = HandedOver {
        received: 0,
        known: 0,
    };
    while let Some(batch) = batches.recv().await {
        // A failure drops the receiver, which ends the reading.
        let part = to.hand_over(batch).await?;
        handed.received += part.received;
        handed.known += part.known;
    }
    let report = reading
        .await
        // The task panicked; the panic itself is reported where it happens.
        .map_err(|_| Failure::new("the file was not read to its end"))??;
    Ok(HandedFile { handed, report })
}

fn stream(
    reader: Box<dyn Read>,
    path: &Path,
    format: Option<TranscriptFormat>,
    batches: &mpsc::Sender<Vec<HandedMessage>>,
) -> Result<TranscriptReport, Failure> {
    let problem = |error: memoir_transcripts::Error| {
        Failure::new(format!("the transcript `{}`: {error}", path.display()))
            .hint("the messages before that place were stored; the same command resumes there")
    };
    let transcript = TranscriptReader::open(reader, format).map_err(|error| {
        let failure = Failure::new(format!("the transcript `{}`: {error}", path.display()));
        match error {
            memoir_transcripts::Error::Unrecognised(_) => failure.hint(
                "name its format with `--format`; `memoir import AGENT FILE` imports memories of other programs",
            ),
            _ => failure,
        }
    })?;
    let mut report = TranscriptReport::default();
    let (mut batch, mut characters) = (Vec::new(), 0);
    let mut broken = None;
    for item in transcript {
        let item = match item {
            Ok(item) => item,
            Err(error) => {
                broken = Some(problem(error));
                break;
            }
        };
        report.note(&item);
        if let Item::Message(message) = item {
            characters += message.text.chars();
            batch.push(handed(message));
        }
        if batch.len() >= BATCH || characters >= BATCH_CHARACTERS {
            characters = 0;
            if batches.blocking_send(std::mem::take(&mut batch)).is_err() {
                // The receiver has failed, and reports the cause.
                return Ok(report);
            }
        }
    }
    // Where the file is cut off, the messages before that place are sent too.
    if !batch.is_empty() {
        // Sending fails only where the receiver is gone, which then reports its own failure.
        let _ = batches.blocking_send(batch);
    }
    broken.map_or(Ok(report), Err)
}

fn handed(message: TranscriptMessage) -> HandedMessage {
    let speaker: String = message
        .speaker
        .expose()
        .chars()
        .take(SPEAKER_LIMIT)
        .collect();
    let speaker = match speaker.trim() {
        "" => UNKNOWN,
        speaker => speaker,
    };
    HandedMessage {
        id: identifier(&message),
        at: message.at,
        speaker: speaker.into(),
        text: message.text,
    }
}

/// Exports have identifiers that are unique in their conversation.
fn identifier(message: &TranscriptMessage) -> PrivateText {
    match &message.conversation {
        Some(conversation) => format!("{}/{}", conversation.expose(), message.id.expose()).into(),
        None => message.id.clone(),
    }
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
