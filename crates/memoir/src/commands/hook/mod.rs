//! `memoir hook`: what the programs in which agents live call at the turns of a session. It speaks each one's
//! dialect of the same JSON, on standard input and output.
//!
//! **It never breaks its host.** Whatever goes wrong, it ends with status 0 and prints nothing, and its own log
//! says why (`log.rs`). One fault is printed at a session's start: that the memory was modified outside Memoir. What is to be printed must be there within [`WAITING_MS`]; what is to be handed over is
//! left to a process of its own, which is started within [`HANDING_MS`] and outlives the host's wait (`hand_over.rs`). An event that comes twice, or
//! at the same time from two registrations, is answered once (`state.rs`).

pub(crate) mod calls;
mod dialect;
mod door;
mod hand_over;
mod log;
mod payload;
pub(crate) mod probe;
pub(crate) mod project;
mod state;
mod text;

use std::{
    io::{IsTerminal, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use memoir_app::{Clock, SystemClock};

pub(crate) use dialect::{Client, HookEvent};
use door::ReachedMemory;
use log::Log;
use payload::Payload;
use state::ShownMemories;
pub(crate) use state::folder as state_folder;
pub(crate) use text::without_hints;

use crate::{cli::Global, commands::parse, failure::Failure, remote::warning_of};

/// Until when a host is let go that waits for words.
const WAITING_MS: u64 = 300;
/// Until when one is let go that only tells of an event: to start the process that hands over takes a few milliseconds.
const HANDING_MS: u64 = 50;
/// Most bytes that are read of what a host tells.
const PAYLOAD_BYTES: u64 = 16 << 20;
/// Within which time the same event with the same outcome is one that two registrations told of.
const ONE_EVENT: i64 = 2;

/// Answer an event of the program in which an agent lives, as its hooks call it
///
/// Reads the event's JSON from stdin and prints what the program puts before its model. It always ends
/// with status 0, and prints nothing where Memoir is slow, closed or away; `hook.log` in your state directory
/// says why. `memoir setup CLIENT` installs it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// What happened
    event: HookEvent,
    /// The program that tells of it
    #[arg(long)]
    client: Client,
    #[command(flatten)]
    whose: AgentChoice,
    /// The service to ask in place of a database on this machine; the token is that of `MEMOIR_TOKEN`, or the one
    /// that `memoir setup` has stored
    #[arg(long, value_name = "URL", env = "MEMOIR_URL", hide_env_values = true)]
    url: Option<String>,
    /// The most tokens of context at a session's start [default: what the program takes]
    #[arg(long, value_name = "N", value_parser = parse::whole_number::<u64>(..))]
    max_tokens: Option<u64>,
    /// The time limit of the hook, in milliseconds [default: 300 for text, 50 to hand over]
    #[arg(long, value_name = "MS", value_parser = parse::whole_number::<u64>(..))]
    within: Option<u64>,
    /// Hand over now, and wait for it
    #[arg(long, hide = true)]
    hand_over: bool,
}

/// Whose memory it is.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AgentChoice {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    #[arg(long, value_name = "NAME", conflicts_with = "per_project")]
    pub(crate) agent: Option<String>,
    /// An agent for each project, made at its first session
    #[arg(long)]
    pub(crate) per_project: bool,
    /// What the names of the projects' agents begin with
    #[arg(long, value_name = "TEXT", requires = "per_project")]
    pub(crate) prefix: Option<String>,
}

impl Arguments {
    /// By which agent the sessions are told apart.
    fn agent(&self, payload: &Payload) -> String {
        self.whose.chosen(payload.folder.as_deref()).session_key()
    }
}

/// Answers, and ends with success whatever came of it.
pub(crate) fn run(global: Global, arguments: Arguments) -> ExitCode {
    let began = Instant::now();
    if probe::is_asked() {
        probe::run(&global, &arguments.whose, arguments.url.as_deref());
        return ExitCode::SUCCESS;
    }
    // The log is opened first, since it is the only place where a hook reports what goes wrong.
    let log = Log::open(&arguments);
    calls::note(&arguments.client.name(), calls::CallKind::Hook);
    if arguments.hand_over {
        if let Err(problem) = on_runtime(hand_over::run(&global, &arguments, &log)) {
            log.problem(&problem);
        }
        return ExitCode::SUCCESS;
    }
    let limit = match arguments.event.is_answered() {
        true => WAITING_MS,
        false => HANDING_MS,
    };
    let limit = Duration::from_millis(arguments.within.unwrap_or(limit));
    let is_settled = Arc::new(AtomicBool::new(false));
    let (settled, watching) = (is_settled.clone(), log.clone());
    // This one watches and the first one works, whose memory grows in larger pieces than any other's.
    thread::spawn(move || {
        thread::sleep(limit.saturating_sub(began.elapsed()));
        // The first of the two threads to set the flag decides: the answer is printed, or the process ends silently.
        if !settled.swap(true, Ordering::SeqCst) {
            watching.note(&format!("no answer within {} ms", limit.as_millis()));
            // What the work did to the database is whole or not at all.
            std::process::exit(0);
        }
    });
    let answer = caught(|| answer_event(&global, &arguments, &log));
    // `park` may return although nobody woke this thread.
    while is_settled.swap(true, Ordering::SeqCst) {
        // It came too late, and the process is being ended.
        thread::park();
    }
    match answer {
        Ok(Some(text)) => {
            let mut stdout = std::io::stdout().lock();
            // A host that does not listen any more has nothing to be told.
            let _ = stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush());
        }
        Ok(None) => {}
        Err(problem) => log.problem(&problem),
    }
    ExitCode::SUCCESS
}

/// What the work came to; a fault of Memoir's own in it is a failure as any other, for it would end the process with
/// another status.
fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Failure::new("internal error: this is a fault of Memoir's")))
}

/// What is to be printed; `None` for nothing.
fn answer_event(
    global: &Global,
    arguments: &Arguments,
    log: &Log,
) -> Result<Option<String>, Failure> {
    let payload = Payload::read(&host_input()?);
    if !arguments.event.is_answered() {
        hand_over::begin(arguments, &payload)?;
        return Ok(None);
    }
    let dialect = arguments.client.dialect_of(&payload);
    if !dialect.takes(arguments.event) {
        return Ok(None);
    }
    let answer = on_runtime(async {
        let door = ReachedMemory::open(global, arguments, &payload).await?;
        let text = match arguments.event {
            HookEvent::SessionStart => session_start(arguments, &door, &payload).await?,
            _ => user_prompt(arguments, &door, &payload).await?,
        };
        if arguments.event == HookEvent::SessionStart {
            hand_over::take_up(arguments, &payload, log);
            // The warning belongs here, since a session starts once but has many prompts.
            if let Some(warning) = arguments.url.as_deref().and_then(warning_of) {
                log.note(&warning);
            }
        }
        let Some(text) = text else {
            return Ok(None);
        };
        log.note(&format!("printed {} characters", text.chars().count()));
        dialect.answer(arguments.event, &payload, &text)
    });
    let Err(problem) = &answer else {
        return answer;
    };
    let notice = match problem {
        // A memory must not be gone in silence (SPEC 5.5).
        Failure::ShownFailure(failure)
            if problem.is_closing() && arguments.event == HookEvent::SessionStart =>
        {
            text::closed(&failure.one_line())
        }
        // Otherwise an agent whose memory was removed would begin as one that has none.
        _ if problem.is_tampered() && arguments.event == HookEvent::SessionStart => {
            text::TAMPERED.to_owned()
        }
        _ => String::new(),
    };
    if notice.is_empty() && !dialect.is_kept(arguments.event) {
        return answer;
    }
    log.problem(problem);
    // The agent may be erased, or closed to the reader of a file that the hooks write: not even what the file held last
    // stays in it.
    let told = dialect.answer(arguments.event, &payload, &notice)?;
    Ok(told.filter(|_| !notice.is_empty()))
}

/// What the host tells; nothing where a person typed the command.
fn host_input() -> Result<Vec<u8>, Failure> {
    let stdin = std::io::stdin();
    let mut input = Vec::new();
    if !stdin.is_terminal() {
        let read = stdin.lock().take(PAYLOAD_BYTES).read_to_end(&mut input);
        read.map_err(|error| Failure::new(format!("cannot read stdin: {error}")))?;
    }
    Ok(input)
}

fn on_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?
        .block_on(work)
}

/// The context, and a line for each thing that waits.
async fn session_start(
    arguments: &Arguments,
    door: &ReachedMemory,
    payload: &Payload,
) -> Result<Option<String>, Failure> {
    let now = SystemClock.now();
    let room = arguments
        .max_tokens
        .unwrap_or_else(|| arguments.client.context_tokens());
    // The slow requests come before the session's file is locked, so that they keep no other hook waiting.
    let context = door.context(room).await?;
    let chosen = arguments.whose.chosen(payload.folder.as_deref());
    let text = text::start(&context, &door.waiting(&chosen).await?);
    let digest = door.digest(&text).await?;
    let mut session = state::LockedSession::lock(payload, &arguments.agent(payload))?;
    let (is_again, since) = (
        session.start == digest,
        now.seconds_since(session.started_at),
    );
    session.start = digest;
    session.started_at = now;
    session.transcript.clone_from(&payload.transcript);
    session.context = Some(state::ShownContext {
        at: now,
        left_out: context.left_out,
    });
    // The host may have compacted the conversation, and with it the memories that were shown beside prompts.
    session.shown = ShownMemories::default();
    session.keep()?;
    let is_repeated = is_again && since < ONE_EVENT;
    // Nothing is to be told as well, where words that are discarded by now would else stay.
    let dialect = arguments.client.dialect_of(payload);
    let is_any = !text.is_empty() || dialect.is_kept(HookEvent::SessionStart);
    Ok((!is_repeated && is_any).then_some(text))
}

/// The best few memories for the prompt that the session was not shown.
async fn user_prompt(
    arguments: &Arguments,
    door: &ReachedMemory,
    payload: &Payload,
) -> Result<Option<String>, Failure> {
    let Some(prompt) = &payload.prompt else {
        return Ok(None);
    };
    let now = SystemClock.now();
    let found = door.recall(prompt, text::CONSIDERED).await?;
    let digest = door.digest(prompt.expose()).await?;
    let mut session = state::LockedSession::lock(payload, &arguments.agent(payload))?;
    if session.prompt == digest && now.seconds_since(session.prompted_at) < ONE_EVENT {
        return Ok(None);
    }
    session.prompt = digest;
    session.prompted_at = now;
    let new = found
        .into_iter()
        .filter(|memory| !session.was_shown(memory));
    let chosen = text::choose(new);
    for memory in &chosen {
        session.shown.note(memory);
    }
    // Before it is printed: where the host is let go in between, these count as shown.
    session.keep()?;
    Ok((!chosen.is_empty()).then(|| text::prompt(&chosen)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_6_2_a_fault_of_its_own_does_not_stop_the_host() {
        assert!(matches!(caught(|| Ok(1)), Ok(1)));
        let failed = caught::<()>(|| panic!("a fault"));
        let Err(Failure::ShownFailure(failure)) = failed else {
            panic!("it is told");
        };
        assert!(failure.one_line().contains("internal error"));
    }
}
