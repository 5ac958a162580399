//! Transcripts: reads the messages of a file, and passes them to a memory in batches.

use std::{io::Read, ops::ControlFlow, path::Path};

use memoir_app::{HandedMessage, HandedOver};
use memoir_transcripts::{
    ByteStream, Item, TranscriptFormat, TranscriptMessage, TranscriptReader, TranscriptReport,
    unpacked,
};
use tokio::sync::mpsc;

use crate::failure::Failure;

const BATCH: usize = 500;
/// Most characters of a batch's texts, so that a file of any size needs little memory.
const BATCH_CHARACTERS: usize = 4_000_000;
/// Most characters of a speaker's name; longer ones are truncated, since exports may contain anything there.
const SPEAKER_LIMIT: usize = 200;
/// The speaker, where the file names none.
const UNKNOWN: &str = "unknown";

pub(crate) struct HandedFile {
    pub(crate) handed: HandedOver,
    pub(crate) report: TranscriptReport,
}

/// Reads a file of that name on a thread of its own, and passes its messages on batch by batch. `hand_over` skips those
/// that were passed before.
pub(crate) async fn take(
    reader: impl Read + Send + 'static,
    format: Option<TranscriptFormat>,
    name: &Path,
    hand_over: impl AsyncFn(Vec<HandedMessage>) -> Result<HandedOver, Failure>,
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
        let part = hand_over(batch).await?;
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
    reader: ByteStream,
    path: &Path,
    format: Option<TranscriptFormat>,
    batches: &mpsc::Sender<Vec<HandedMessage>>,
) -> Result<TranscriptReport, Failure> {
    let problem = |error: &memoir_transcripts::Error| {
        Failure::new(format!("the transcript `{}`: {error}", path.display()))
    };
    let (_, reader) = unpacked(reader).map_err(|error| Failure::file("read", path, &error))?;
    let transcript = TranscriptReader::open(reader, format).map_err(|error| {
        let hint = "name its format with `--format`; `memoir import AGENT FILE` imports memories of other programs";
        let is_unknown = matches!(error, memoir_transcripts::Error::Unrecognised(_));
        problem(&error).with_hint(is_unknown.then_some(hint))
    })?;
    let mut report = TranscriptReport::default();
    let (mut batch, mut characters) = (Vec::new(), 0);
    let read = transcript.read(&mut |item| {
        report.note(&item);
        if let Item::Message(message) = item {
            characters += message.text.chars();
            batch.push(handed(message));
        }
        if batch.len() >= BATCH || characters >= BATCH_CHARACTERS {
            characters = 0;
            if batches.blocking_send(std::mem::take(&mut batch)).is_err() {
                // The receiver has failed, and reports the cause.
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    });
    // Where the file is cut off, the messages before that place are sent too.
    if !batch.is_empty() {
        // Sending fails only where the receiver is gone, which then reports its own failure.
        let _ = batches.blocking_send(batch);
    }
    let hint = "the messages before that place were stored; the same command resumes there";
    read.map_err(|error| problem(&error).hint(hint))?;
    Ok(report)
}

fn handed(message: TranscriptMessage) -> HandedMessage {
    let speaker = message.speaker.expose().chars().take(SPEAKER_LIMIT);
    let speaker: String = speaker.collect();
    let speaker = match speaker.trim() {
        "" => UNKNOWN,
        speaker => speaker,
    };
    HandedMessage {
        id: message.id,
        at: message.at,
        speaker: speaker.into(),
        text: message.text,
    }
}
