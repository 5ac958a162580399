//! `memoir hook`: the command that programs call on events of a session. It speaks each one's dialect of the same JSON,
//! on standard input and output.
//!
//! **It never breaks its host.** On any error it ends with status 0, prints nothing and writes its own log (`log.rs`).
//! One error is printed at a session's start: that the memory was modified outside Memoir. Text must be ready within
//! [`WAITING_MS`]. Transcripts are passed on by a process of its own, which is started within [`HANDING_MS`] and
//! outlives the host's wait (`hand_over.rs`). A repeated or duplicate event is answered once, and a start that was not
//! answered is answered at the next prompt (`session.rs`). Which memory is meant is in `written.rs`.

pub(crate) mod calls;
mod dialect;
mod hand_over;
mod index;
mod length;
mod log;
pub(crate) mod measured;
mod payload;
pub(crate) mod probe;
pub(crate) mod project;
mod prompt;
mod reached;
mod session;
mod start;
pub(crate) mod state;
mod text;
mod transcript;
pub(crate) mod written;

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

use dialect::Dialect;
pub(crate) use dialect::{Client, HookEvent};
use length::TextLimit;
use log::Log;
use payload::Payload;
use reached::{ReachedMemory, unreached_key};
use session::LockedSession;
use start::StartText;
use state::AgentKey;
pub(crate) use text::without_hints;
use written::ProgramMemory;

use crate::{
    config::Config,
    failure::{CLOSED, Failure, NO_DATABASE, Outcome, TAMPERED, UNAUTHORIZED},
    options::Global,
    parse,
    remote::warning_of,
};

/// The time limit of an event with a text response, after which the hook exits.
const WAITING_MS: u64 = 300;
/// The limit of other events: starting the process that passes messages on takes a few milliseconds.
const HANDING_MS: u64 = 50;
const PAYLOAD_BYTES: u64 = 16 << 20;
/// Answer an event of the program that runs an agent, as its hooks call it
///
/// Reads the event's JSON from stdin and prints the text for the program's model. It always ends with status 0, and
/// prints nothing where Memoir is slow, closed or down; `hook.log` in your state directory has the reason. `memoir
/// setup PROGRAM` installs it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The event
    event: HookEvent,
    /// The program that sends it
    #[arg(long)]
    client: Client,
    #[command(flatten)]
    whose: AgentChoice,
    /// The service to use in place of a database on this machine; the token is the one that `memoir setup` has stored,
    /// or else that of `MEMOIR_TOKEN`. For a program that is set up, the environment names no other memory
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
    /// Store the index of words, and wait for it
    #[arg(long, hide = true)]
    store_index: bool,
}

impl Arguments {
    fn limit(&self) -> Duration {
        let limit = match self.event.is_answered() {
            true => WAITING_MS,
            false => HANDING_MS,
        };
        Duration::from_millis(self.within.unwrap_or(limit))
    }
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

/// What a hook prints, and what is kept and logged once it is printed. A response that comes too late, or that the host
/// does not read, leaves no trace: the next event makes it again.
#[derive(Default)]
struct HookAnswer {
    /// `None` prints nothing.
    text: Option<String>,
    session: Option<LockedSession>,
    note: Option<String>,
}

/// As [`respond`], for the dispatch of commands. Not reached: `main` calls that one, before it makes a runtime.
pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    respond(global, &arguments);
    Ok(())
}

/// Responds, and ends with success in any case. It has a thread and a limit of its own.
pub(crate) fn respond(global: &Global, arguments: &Arguments) -> ExitCode {
    let began = Instant::now();
    let name = arguments.client.name();
    let means = ProgramMemory::of(&name, global, &arguments.whose, arguments.url.as_deref());
    if probe::is_asked() {
        // Where it fails, the caller has closed the pipe, and no other reader exists.
        let _ = on_runtime(probe::report(&means));
        return ExitCode::SUCCESS;
    }
    // The log is opened first, since it is the only place where a hook reports errors.
    let log = Log::open(arguments);
    if arguments.hand_over || arguments.store_index {
        let done = match arguments.hand_over {
            true => on_runtime(hand_over::run(&means, arguments, &log)),
            false => on_runtime(index::run(&means, arguments, &log)),
        };
        if let Err(problem) = done {
            log.problem(&problem);
        }
        return ExitCode::SUCCESS;
    }
    let limit = arguments.limit();
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
    // Within the limit, since it may wait for another process.
    calls::note(&name, |calls| &mut calls.hooks);
    let answer = caught(|| answer_event(&means, arguments, &log, began));
    // `park` may return without a wake-up.
    while is_ended.swap(true, Ordering::SeqCst) {
        // It came too late, and the process is being ended.
        thread::park();
    }
    if let Err(problem) = answer.and_then(|answer| give(answer, &log)) {
        log.problem(&problem);
    }
    // Here, and not where messages are handed over, since some programs hand none over.
    if arguments.event == HookEvent::SessionStart {
        session::forget_old(SystemClock.now());
    }
    ExitCode::SUCCESS
}

/// Prints a response, and keeps that it was printed.
fn give(answer: HookAnswer, log: &Log) -> Result<(), Failure> {
    if let Some(text) = &answer.text {
        let mut stdout = std::io::stdout().lock();
        let printed = stdout.write_all(text.as_bytes());
        let printed = printed.and_then(|()| stdout.flush());
        // The host may have closed the pipe.
        printed.map_err(|error| Failure::new(format!("cannot print: {error}")))?;
    }
    if let Some(note) = &answer.note {
        log.note(note);
    }
    answer.session.map_or(Ok(()), LockedSession::keep)
}

/// The result of the work. A panic is converted to a failure, for it would end the process with another status.
fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Failure::new("internal error: this is a fault of Memoir's")))
}

fn answer_event(
    means: &ProgramMemory,
    arguments: &Arguments,
    log: &Log,
    began: Instant,
) -> Result<HookAnswer, Failure> {
    let payload = Payload::read(&host_input()?);
    if payload.is_invalid {
        log.note("the input is not JSON, so that nothing is known of the event");
    }
    if !arguments.event.is_answered() {
        hand_over::begin(arguments, &payload)?;
        return Ok(HookAnswer::default());
    }
    let dialect = arguments.client.dialect_of(&payload);
    if !dialect.takes(arguments.event) {
        return Ok(HookAnswer::default());
    }
    let is_start = arguments.event == HookEvent::SessionStart;
    let mut is_new = false;
    if is_start {
        // Before anything slow, so that the next prompt knows of a start that came too late.
        is_new = session::begin(&payload, SystemClock.now()).unwrap_or_else(|problem| {
            // A full disk, for instance: a memory that is shown twice is better than none.
            log.problem(&problem);
            true
        });
    }
    let chosen = session::chosen(&means.whose, &payload);
    // Without a choice no memory is shown.
    let reader = chosen.as_ref().map(|chosen| unreached_key(means, chosen));
    let reader = reader.unwrap_or_else(|_| AgentKey::of("", ""));
    // A file may hold the memory of another agent, which no session may see where this response comes too late.
    if is_new && dialect.is_kept(arguments.event) {
        dialect.answer(arguments.event, &payload, &reader, "")?;
    }
    let answer = on_runtime(async {
        let chosen = chosen?;
        let memory = ReachedMemory::open(means, arguments, &chosen).await;
        // A mark would outlast the setting, and hand over what was said under it.
        let is_stored = || {
            let config = Config::read(means.global.config.as_deref());
            config.map_or(true, |config| config.hooks.conversations != Some(false))
        };
        if !is_start && dialect.transcript.is_some() && is_stored() {
            let key = memory.as_ref().map(ReachedMemory::key);
            let key = key.unwrap_or_else(|_| reader.clone());
            let begun = transcript::begin_turn(&payload, &key, SystemClock.now());
            begun.unwrap_or_else(|problem| log.problem(&problem));
        }
        let memory = memory?;
        let event = ReachedEvent {
            arguments,
            memory: &memory,
            payload: &payload,
            dialect,
            log,
            began,
            chosen,
            reader: &reader,
        };
        if !is_start {
            return event.user_prompt().await;
        }
        let answer = event.session_start().await?;
        hand_over::resume(means, &event).await;
        // The warning belongs here, since a session starts once but has many prompts.
        let service = means.service.as_ref();
        if let Some(warning) = service.and_then(|service| warning_of(&service.url)) {
            log.note(&warning);
        }
        Ok(answer)
    });
    match answer {
        Err(problem) if is_start => {
            notice(&problem, dialect, (&payload, &reader), log)?.ok_or(problem)
        }
        answer => answer,
    }
}

/// The way out where an agent has renamed itself since its program was set up.
const RENAMED: &str = "; where it was renamed, `memoir setup PROGRAM --agent NAME` sets the program up with its present name";

/// The response to a start whose memory cannot be shown; `None` where the log alone reports that.
fn notice(
    problem: &Failure,
    dialect: Dialect,
    (payload, reader): (&Payload, &AgentKey),
    log: &Log,
) -> Result<Option<HookAnswer>, Failure> {
    let notice = match problem {
        // Otherwise each session would begin without memory, in silence (SPEC 5.5), until a person acts.
        Failure::Shown(failure) if problem.has_code(&[CLOSED, NO_DATABASE, UNAUTHORIZED]) => {
            text::no_memory(&failure.one_line())
        }
        Failure::Shown(failure) if problem.has_code(&["not_found"]) => {
            text::no_memory(&format!("{}{RENAMED}", failure.one_line()))
        }
        // Otherwise an agent whose memory was removed would begin as one that has none.
        _ if problem.has_code(&[TAMPERED]) => text::TAMPERED.to_owned(),
        _ => String::new(),
    };
    if notice.is_empty() && !dialect.is_kept(HookEvent::SessionStart) {
        return Ok(None);
    }
    log.problem(problem);
    let mut session = LockedSession::lock(payload);
    if !session.note_notice(SystemClock.now()) {
        return Ok(Some(HookAnswer::default()));
    }
    // The agent may be erased, or closed to readers of a file that the hooks write: its last text is removed too.
    let text = dialect.answer(HookEvent::SessionStart, payload, reader, &notice)?;
    Ok(Some(HookAnswer {
        text: text.filter(|_| !notice.is_empty()),
        session: Some(session),
        note: None,
    }))
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let result = runtime.block_on(work);
    // A vector that came too late may still be computed.
    runtime.shutdown_background();
    result
}

struct ReachedEvent<'a> {
    arguments: &'a Arguments,
    memory: &'a ReachedMemory,
    payload: &'a Payload,
    dialect: Dialect,
    log: &'a Log,
    began: Instant,
    chosen: project::ChosenAgent,
    /// The agent as it is known before it is reached.
    reader: &'a AgentKey,
}

impl ReachedEvent<'_> {
    /// The text of a start that fits beside what the prompt gets.
    async fn start(&self, limit: TextLimit) -> Result<StartText, Failure> {
        let until = self.began + self.arguments.limit() / 2;
        let most = self.arguments.max_tokens;
        start::start(self.memory, &self.chosen, limit, most, until).await
    }

    /// The context, and a line for each pending item.
    async fn session_start(&self) -> Result<HookAnswer, Failure> {
        let now = SystemClock.now();
        // The slow requests come before the session's file is locked, so that they do not block another hook.
        let start = self.start(self.dialect.limit).await?;
        let agent = self.memory.key();
        let mut session = LockedSession::lock(self.payload);
        // By another registration of the hooks, or by a prompt that came before this response.
        if session.is_start_shown(&agent) {
            return Ok(HookAnswer::default());
        }
        session.note_start(&agent, now, &start);
        // An empty text is written too, so that discarded texts do not remain in a file.
        let is_any = !start.text.is_empty() || self.dialect.is_kept(HookEvent::SessionStart);
        self.answer(
            session,
            is_any.then_some(start.text.as_str()),
            start.counts(),
        )
    }

    /// The best memories for the prompt that the session was not shown; before them the session's start, where that was
    /// missed.
    async fn user_prompt(&self) -> Result<HookAnswer, Failure> {
        let Some(prompt) = &self.payload.prompt else {
            return Ok(HookAnswer::default());
        };
        let now = SystemClock.now();
        let agent = self.memory.key();
        let digest = self.memory.digest(prompt.expose()).await?;
        let mut session = LockedSession::lock(self.payload);
        if session.repeats_prompt(&agent, digest, now) {
            return self.answer(session, None, String::new());
        }
        let is_missed = session.is_start_missed(&agent, now);
        // Other hooks need not wait for this one's recall.
        drop(session);
        let limit = self.dialect.limit;
        let start = match is_missed {
            true => Some(
                self.start(limit.at_most(limit.most.saturating_sub(prompt::LENGTH)))
                    .await?,
            ),
            false => None,
        };
        let recall = async {
            let prepared = index::prepare(self.memory, &self.chosen, self.log);
            // At the same time: a vector of the prompt may take longer than reading the index.
            tokio::join!(prepared, self.memory.recall(prompt, prompt::CONSIDERED)).1
        };
        let found = match start {
            // The start is printed in time, also without memories for the prompt.
            Some(_) => {
                let late = self.began + self.arguments.limit() * 3 / 4;
                let found = tokio::time::timeout_at(late.into(), recall).await;
                found.unwrap_or_else(|_| {
                    self.log.note("recall was late: the missed start alone");
                    Ok(Vec::new())
                })?
            }
            None => recall.await?,
        };
        let mut session = LockedSession::lock(self.payload);
        if !session.note_prompt(&agent, digest, now) {
            return self.answer(session, None, String::new());
        }
        let mut text = String::new();
        let mut counts = Vec::new();
        // The start's own response may have come meanwhile.
        if let Some(start) = start.filter(|_| session.is_start_missed(&agent, now)) {
            session.note_start(&agent, now, &start);
            counts.push(format!("the missed start: {}", start.counts()));
            text = start.text;
        }
        let new = prompt::unseen(found, |memory| session.was_shown(&agent, memory));
        let limit = limit.beside(&text).beside("\n");
        if let Some((shown, beside)) = prompt::prompt(new, limit) {
            for memory in &shown {
                session.note_shown(&agent, memory);
            }
            counts.push(format!("shown {}", shown.len()));
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&beside);
        }
        let text = Some(text.as_str()).filter(|text| !text.is_empty());
        self.answer(session, text, counts.join("; "))
    }

    fn answer(
        &self,
        session: LockedSession,
        text: Option<&str>,
        counts: String,
    ) -> Result<HookAnswer, Failure> {
        let Some(text) = text else {
            return Ok(HookAnswer {
                session: Some(session),
                ..HookAnswer::default()
            });
        };
        let length = text.chars().count();
        Ok(HookAnswer {
            text: self
                .dialect
                .answer(self.arguments.event, self.payload, self.reader, text)?,
            session: Some(session),
            note: Some(format!("{counts}: printed {length} characters")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_6_2_a_fault_of_its_own_does_not_stop_the_host() {
        assert!(matches!(caught(|| Ok(1)), Ok(1)));
        let failed = caught::<()>(|| panic!("a fault"));
        let Err(Failure::Shown(failure)) = failed else {
            panic!("the failure is shown");
        };
        assert!(failure.one_line().contains("internal error"));
    }
}
