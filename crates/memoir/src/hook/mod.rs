//! `memoir hook`: the command that programs call on events of a session. It speaks each one's dialect of the same JSON,
//! on standard input and output.
//!
//! **It never breaks its host.** On any error it ends with status 0, prints nothing and writes its own log (`log.rs`).
//! One error is printed at a session's start: that the memory was modified outside Memoir. Text must be ready within
//! [`WAITING_MS`]. Transcripts are passed on by a process of its own, which is started within [`HANDING_MS`] and
//! outlives the host's wait (`hand_over.rs`). A repeated or duplicate event is answered once (`state.rs`).

pub(crate) mod calls;
mod dialect;
mod hand_over;
mod log;
mod payload;
pub(crate) mod probe;
pub(crate) mod project;
mod reached;
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
use log::Log;
use payload::Payload;
use reached::ReachedMemory;
use state::ShownMemories;
pub(crate) use state::folder as state_folder;
pub(crate) use text::without_hints;

use crate::{failure::Failure, options::Global, parse, remote::warning_of};

/// The time limit of an event with a text response, after which the hook exits.
const WAITING_MS: u64 = 300;
/// The limit of other events: starting the process that passes messages on takes a few milliseconds.
const HANDING_MS: u64 = 50;
/// Most bytes of an event that are read.
const PAYLOAD_BYTES: u64 = 16 << 20;
/// Within this time the same event with the same outcome comes from a second registration.
const ONE_EVENT: i64 = 2;

/// Answer an event of the program that runs an agent, as its hooks call it
///
/// Reads the event's JSON from stdin and prints the text for the program's model. It always ends with status 0, and
/// prints nothing where Memoir is slow, closed or down; `hook.log` in your state directory has the reason. `memoir
/// setup CLIENT` installs it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The event
    event: HookEvent,
    /// The program that sends it
    #[arg(long)]
    client: Client,
    #[command(flatten)]
    whose: AgentChoice,
    /// The service to use in place of a database on this machine; the token is that of `MEMOIR_TOKEN`, or the one that
    /// `memoir setup` has stored
    #[arg(long, value_name = "URL", env = "MEMOIR_URL", hide_env_values = true)]
    url: Option<String>,
    /// The most tokens of context at a session's start [default: the program's limit]
    #[arg(long, value_name = "N", value_parser = parse::whole_number::<u64>(..))]
    max_tokens: Option<u64>,
    /// The time limit of the hook, in milliseconds [default: 300 for text, 50 for messages]
    #[arg(long, value_name = "MS", value_parser = parse::whole_number::<u64>(..))]
    within: Option<u64>,
    /// Hand over now, and wait for it
    #[arg(long, hide = true)]
    hand_over: bool,
}

/// The choice of the agent.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AgentChoice {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    #[arg(long, value_name = "NAME", conflicts_with = "per_project")]
    pub(crate) agent: Option<String>,
    /// An agent for each project, made at its first session
    #[arg(long)]
    pub(crate) per_project: bool,
    /// The prefix of the names of the projects' agents
    #[arg(long, value_name = "TEXT", requires = "per_project")]
    pub(crate) prefix: Option<String>,
}

impl Arguments {
    /// The agent part of a session's key.
    fn agent(&self, payload: &Payload) -> String {
        self.whose.chosen(payload.folder.as_deref()).session_key()
    }
}

/// Responds, and ends with success in any case.
pub(crate) fn run(global: Global, arguments: Arguments) -> ExitCode {
    let began = Instant::now();
    if probe::is_asked() {
        probe::run(&global, &arguments.whose, arguments.url.as_deref());
        return ExitCode::SUCCESS;
    }
    // The log is opened first, since it is the only place where a hook reports errors.
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
    let is_ended = Arc::new(AtomicBool::new(false));
    let (ended, watching) = (is_ended.clone(), log.clone());
    // This thread watches and the first one works, since its heap grows in larger pieces than any other's.
    thread::spawn(move || {
        thread::sleep(limit.saturating_sub(began.elapsed()));
        // The first of the two threads to set the flag decides: the response is printed, or the process ends silently.
        if !ended.swap(true, Ordering::SeqCst) {
            watching.note(&format!("no response within {} ms", limit.as_millis()));
            // Changes of the database are atomic.
            std::process::exit(0);
        }
    });
    let answer = caught(|| answer_event(&global, &arguments, &log));
    // `park` may return without a wake-up.
    while is_ended.swap(true, Ordering::SeqCst) {
        // It came too late, and the process is being ended.
        thread::park();
    }
    match answer {
        Ok(Some(text)) => {
            let mut stdout = std::io::stdout().lock();
            // The host may have closed the pipe.
            let _ = stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush());
        }
        Ok(None) => {}
        Err(problem) => log.problem(&problem),
    }
    ExitCode::SUCCESS
}

/// The result of the work. A panic is converted to a failure, for it would end the process with another status.
fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Failure::new("internal error: this is a fault of Memoir's")))
}

/// The text to print; `None` prints nothing.
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
        let memory = ReachedMemory::open(global, arguments, &payload).await?;
        let text = match arguments.event {
            HookEvent::SessionStart => session_start(arguments, &memory, &payload).await?,
            _ => user_prompt(arguments, &memory, &payload).await?,
        };
        if arguments.event == HookEvent::SessionStart {
            hand_over::resume(arguments, &payload, log);
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
        // A closed memory must be reported (SPEC 5.5).
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
    // The agent may be erased, or closed to readers of a file that the hooks write: the file's last text is removed
    // too.
    let text = dialect.answer(arguments.event, &payload, &notice)?;
    Ok(text.filter(|_| !notice.is_empty()))
}

/// The host's input; nothing where a person typed the command.
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

/// The context, and a line for each pending item.
async fn session_start(
    arguments: &Arguments,
    memory: &ReachedMemory,
    payload: &Payload,
) -> Result<Option<String>, Failure> {
    let now = SystemClock.now();
    let room = arguments
        .max_tokens
        .unwrap_or_else(|| arguments.client.context_tokens());
    // The slow requests come before the session's file is locked, so that they do not block another hook.
    let context = memory.context(room).await?;
    let chosen = arguments.whose.chosen(payload.folder.as_deref());
    let text = text::start(&context, &memory.waiting(&chosen).await?);
    let digest = memory.digest(&text).await?;
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
    // An empty text is written too, so that discarded texts do not remain in a file.
    let dialect = arguments.client.dialect_of(payload);
    let is_any = !text.is_empty() || dialect.is_kept(HookEvent::SessionStart);
    Ok((!is_repeated && is_any).then_some(text))
}

/// The best memories for the prompt that the session was not shown.
async fn user_prompt(
    arguments: &Arguments,
    memory: &ReachedMemory,
    payload: &Payload,
) -> Result<Option<String>, Failure> {
    let Some(prompt) = &payload.prompt else {
        return Ok(None);
    };
    let now = SystemClock.now();
    let found = memory.recall(prompt, text::CONSIDERED).await?;
    let digest = memory.digest(prompt.expose()).await?;
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
    // Before it is printed: where the hook times out in between, these count as shown.
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
            panic!("the failure is shown");
        };
        assert!(failure.one_line().contains("internal error"));
    }
}
