//! Passes a transcript's new messages to the memory: the hook starts a process for that and returns immediately.
//!
//! That process locks the transcript's file while it reads, so that a later one continues after it. The next session's
//! start resumes failed work, also the last messages of a session without an end event, and of a turn in which the
//! program was ended. A program that keeps no file sends all its messages with each event.

use std::{
    fs::File,
    io::{Cursor, Read, Seek, SeekFrom, Write},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use memoir_app::{Clock, SystemClock};
use memoir_transcripts::{TranscriptFormat, TranscriptReport, form_of, raw, source::HEAD_BYTES};

use super::{
    Arguments, HookEvent, ReachedEvent, host_input,
    log::Log,
    payload::Payload,
    reached::{ReachedMemory, keys},
    session, state,
    transcript::{self, LockedTranscript},
    written::ProgramMemory,
};
use crate::{config::Config, failure::Failure, show::counted, transcripts};

const OPTION: &str = "--hand-over";
/// How many sessions a new session resumes, since it waits for the start of their processes. The next ones resume the
/// others.
const RESUMED: usize = 4;
/// A turn whose end no event reported counts as over once its transcript was not written for so long.
const LONGEST_TURN: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn begin(arguments: &Arguments, payload: &Payload) -> Result<(), Failure> {
    if payload.transcript.is_none() || arguments.client.dialect_of(payload).transcript.is_none() {
        return Ok(());
    }
    start(payload, OPTION)
}

/// Starts it again for sessions with possibly remaining messages, once a session of the agent begins.
pub(super) async fn resume(means: &ProgramMemory, event: &ReachedEvent<'_>) {
    if event.dialect.transcript.is_none() {
        return;
    }
    let program = event.arguments.client.name();
    let keys = keys(Some(event.memory), &program, means, &event.chosen).await;
    let waiting = transcript::waiting(&keys);
    for (session, transcript) in waiting.into_iter().take(RESUMED) {
        let session = Payload {
            session: Some(session),
            transcript: Some(transcript),
            folder: event.payload.folder.clone(),
            project: event.chosen.root(),
            ..Payload::default()
        };
        if let Err(problem) = start(&session, OPTION) {
            event.log.problem(&problem);
        }
    }
}

/// Starts a process of the same command line, with the option of its work.
pub(super) fn start(payload: &Payload, option: &str) -> Result<(), Failure> {
    let problem = |error| Failure::new(format!("cannot start `{option}`: {error}"));
    // The current binary is started, since the host's `PATH` may have another version of Memoir or none.
    let program = std::env::current_exe().map_err(problem)?;
    let mut command = Command::new(program);
    command
        .args(std::env::args_os().skip(1))
        .arg(option)
        // The process must not inherit the host's streams, which it would keep open for as long as it runs.
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A host ends the processes in its own group.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(problem)?;
    match child.stdin.take() {
        // It fits into the pipe's buffer, so that writing does not block.
        Some(mut stdin) => stdin
            .write_all(payload.to_hand_over().as_bytes())
            .map_err(problem),
        None => Ok(()),
    }
}

pub(super) async fn run(
    means: &ProgramMemory,
    arguments: &Arguments,
    log: &Log,
) -> Result<(), Failure> {
    let input = host_input()?;
    let payload = Payload::read(&input);
    transcript::forget_old(SystemClock.now());
    if payload.transcript.is_none() && !payload.has_messages {
        return Ok(());
    }
    // One that cannot be read decides nothing: the messages wait, and the failure is logged.
    let config = Config::read(means.global.config.as_deref());
    if matches!(&config, Ok(config) if config.hooks.conversations == Some(false)) {
        return Ok(());
    }
    let chosen = session::chosen(&means.whose, &payload)?;
    let memory = ReachedMemory::open(means, arguments, &chosen).await;
    let program = arguments.client.name();
    let keys = keys(memory.as_ref().ok(), &program, means, &chosen).await;
    let mut locked = LockedTranscript::lock(&payload, &keys)?;
    let kept = &mut locked.state.kept;
    let (handed_over, last_handed_over) = (kept.handed_over, kept.last_handed_over);
    let handed = async {
        config?;
        let memory = memory?;
        let hand_over = |messages| memory.hand_over(messages);
        let Some(path) = &payload.transcript else {
            let (input, format) = (Cursor::new(input), Some(TranscriptFormat::Messages));
            let taken = transcripts::take(input, format, Path::new("-"), hand_over).await?;
            return Ok::<_, Failure>((taken, 0..0, None));
        };
        let problem = |error| Failure::file("read", path, &error);
        let mut file = File::open(path).map_err(problem)?;
        let last = before(&mut file, handed_over).map_err(problem)?;
        // A rewritten file is read from the start: its known messages are recognised by their identifiers.
        let begin = match last_handed_over == Some(memory.digest(&last).await?) {
            true => handed_over,
            false => 0,
        };
        let end = last_line_end(&mut file, begin).map_err(problem)?;
        let last = before(&mut file, end).map_err(problem)?;
        let last = memory.digest(&last).await?;
        let own = arguments.client.dialect_of(&payload).transcript;
        let format = format_of(&mut file).map_err(problem)?.or(own);
        file.seek(SeekFrom::Start(begin)).map_err(problem)?;
        let taken = transcripts::take(file.take(end - begin), format, path, hand_over).await?;
        Ok((taken, begin..end, Some(last)))
    }
    .await;
    let (event, transcript) = (arguments.event, payload.transcript.as_deref());
    let is_waiting = match &handed {
        // Some programs write after the event, and not all send an end event.
        Ok(_) => matches!(event, HookEvent::Stop | HookEvent::PreCompact) && transcript.is_some(),
        // A transcript that is missing at the next session's start will not appear.
        Err(_) => transcript.is_some_and(|path| event != HookEvent::SessionStart || path.exists()),
    };
    let is_turn_over = match event {
        HookEvent::Stop | HookEvent::SessionEnd => true,
        HookEvent::PreCompact => false,
        // Another session begins, and this one may still be in the turn.
        HookEvent::SessionStart | HookEvent::UserPrompt => transcript.is_none_or(|path| {
            !path.exists() || state::is_older(path, SystemClock.now(), LONGEST_TURN)
        }),
    };
    if let Ok((_, part, last)) = &handed {
        kept.handed_over = part.end;
        kept.last_handed_over = *last;
    }
    // The state is kept even after a failure, so that the next session resumes the work.
    locked.keep(is_waiting, is_turn_over)?;
    let (taken, part, _) = handed?;
    log.note(&format!(
        "handed over {}; {} known before{}",
        counted(taken.handed.received, "message", "messages"),
        taken.handed.known,
        losses(&taken.report, part.start)
    ));
    Ok(())
}

/// The places in the file of what could not be read of the part from that offset on. No later event reads it again.
fn losses(report: &TranscriptReport, begin: u64) -> String {
    let places = report.losses.iter();
    let mut places: Vec<String> = places
        .map(|(place, reason)| format!("byte {}: {reason}", begin + place.byte))
        .collect();
    // Cannot go below zero: each place is of a counted part.
    let more = report.lost() - report.losses.len() as u64;
    if more > 0 {
        places.push(format!("and {more} more"));
    }
    match places.is_empty() {
        true => String::new(),
        false => format!("; not read: {}", places.join(", ")),
    }
}

/// The format of a program's own file: the next session of the agent may be another program's, and some programs run the
/// hooks of others. `None` where no line of its beginning has keys of one program alone.
fn format_of(file: &mut File) -> std::io::Result<Option<TranscriptFormat>> {
    file.rewind()?;
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    let found = head.split(|byte| *byte == b'\n').find_map(|line| {
        let keys = raw::first_keys(line);
        let has = |key: &str| keys.contains(&key.as_bytes());
        form_of(line).filter(|format| match format {
            TranscriptFormat::Codex | TranscriptFormat::Copilot | TranscriptFormat::Gemini => true,
            // Lines of other programs have one of its keys too.
            TranscriptFormat::ClaudeCode => has("parentUuid") || has("sessionId") && has("type"),
            _ => false,
        })
    });
    Ok(found)
}

/// The last bytes before that offset, which identify the file; fewer where it is shorter.
fn before(file: &mut File, end: u64) -> std::io::Result<String> {
    // More than what lines have in common: each has an identifier or a time of its own.
    const KNOWN: u64 = 4 << 10;
    let begin = end.saturating_sub(KNOWN);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(end - begin).read_to_end(&mut bytes)?;
    // The first bytes may be part of a character, but the text is only compared.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The offset after the last line break: the rest is still being written.
fn last_line_end(file: &mut File, begin: u64) -> std::io::Result<u64> {
    // Lines are mostly shorter than this, so that one piece is enough.
    const PIECE: u64 = 64 << 10;
    let mut end = file.metadata()?.len();
    let mut piece = Vec::new();
    while end > begin {
        let from = end.saturating_sub(PIECE).max(begin);
        file.seek(SeekFrom::Start(from))?;
        piece.clear();
        file.take(end - from).read_to_end(&mut piece)?;
        if let Some(place) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + place as u64 + 1);
        }
        end = from;
    }
    Ok(begin)
}
