//! `memoir refine`: one session, now, watched while it runs.

use memoir_app::{
    AgentLens, ShownSession,
    sessions::{Progress, RefineOptions},
};
use memoir_domain::{
    lifecycle::{NothingCanGo, StartRefusal},
    session::{Mode, State},
};

use crate::{
    cli::Global,
    failure::{Ending, Failure, Outcome},
    installation::{Installation, administrator},
    interrupt::unless_interrupted,
    show::{self, counted},
    terminal,
    watch::ProgressPrinter,
};

/// Run one refinement session now
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one that there is]
    agent: Option<String>,
    /// Which tools the session has
    #[arg(long, value_enum, default_value_t)]
    mode: ModeArgument,
    /// A model for this session instead of the agent's own, such as `builtin:careful`
    #[arg(long, value_name = "PROVIDER:NAME")]
    model: Option<String>,
    /// Work on a copy and show what would change
    #[arg(long)]
    rehearse: bool,
}

/// A session's mode as it is typed.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum ModeArgument {
    /// All tools
    #[default]
    Full,
    /// Search, delete, protect and complete only
    #[value(alias = "dedup-only")]
    DedupOnly,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    // The model's name is checked before anything is opened, since a malformed one is a slip of the user.
    let model = arguments
        .model
        .map(|name| name.parse().map_err(memoir_app::Error::from))
        .transpose()?;
    let installation = Installation::open(global).await?;
    let agent = installation
        .agent_or_only(arguments.agent.as_deref())
        .await?;
    let options = RefineOptions {
        mode: match arguments.mode {
            ModeArgument::Full => Mode::Full,
            ModeArgument::DedupOnly => Mode::DedupOnly,
        },
        model,
        rehearsal: arguments.rehearse,
        trigger: None,
        started_by: Some(installation.owner_or_actor(&agent).await?),
    };
    let lens = agent.seen_by(installation.viewer(&agent).await?);
    let mut watcher = ProgressPrinter::new(global.json);
    match drive(&lens, &options, &mut watcher).await? {
        Ran::Driven(session) | Ran::Cancelled(session) => {
            tell(global, &session)?;
            ending(&session)
        }
        // Only a session for the schedule asks whether the agent is due, and whether it is to be asked.
        Ran::NotDue | Ran::NotAsked(_) => Ok(Ending::Done),
        Ran::Interrupted => Ok(Ending::Interrupted),
    }
}

/// What became of a session.
pub(crate) enum Ran {
    /// The session ended by itself, or somebody cancelled it elsewhere.
    Driven(Box<ShownSession>),
    /// Ctrl-C was pressed while the session ran.
    Cancelled(Box<ShownSession>),
    /// None was begun: another worker has run one since.
    NotDue,
    /// None was begun, since nothing could be taken away in it.
    NotAsked(NothingCanGo),
    /// Ctrl-C before it was begun, or twice.
    Interrupted,
}

/// Runs a session. Ctrl-C cancels it, and a second one leaves it to be closed when its lease lapses.
pub(crate) async fn drive(
    agent: &AgentLens<'_>,
    options: &RefineOptions,
    watcher: &mut ProgressPrinter,
) -> Result<Ran, Failure> {
    let running = watcher.running();
    let mut observer = |progress: &Progress| watcher.see(progress);
    let work = agent.refine(options, &mut observer);
    match unless_interrupted(work).await {
        Some(Err(memoir_app::Error::NotDue)) => return Ok(Ran::NotDue),
        Some(Err(memoir_app::Error::Start(StartRefusal::NothingCanGo(found)))) => {
            return Ok(Ran::NotAsked(found));
        }
        Some(driven) => return Ok(Ran::Driven(Box::new(driven?))),
        None => {}
    }
    let Some(id) = running.id() else {
        return Ok(Ran::Interrupted);
    };
    terminal::note("cancelling the session; its edits stay");
    let cancelling = async {
        match agent.handle().cancel(id, &administrator()).await {
            // It had just ended by itself.
            Ok(_) | Err(memoir_app::Error::SessionLost(_)) => agent.session(id).await,
            Err(error) => Err(error),
        }
    };
    match unless_interrupted(cancelling).await {
        Some(session) => Ok(Ran::Cancelled(Box::new(session?))),
        None => Ok(Ran::Interrupted),
    }
}

fn tell(global: &Global, session: &ShownSession) -> Result<(), Failure> {
    if global.json {
        return terminal::json(session);
    }
    let changes = &session.words.changes;
    if let Some(changes) = changes {
        terminal::print(&show::session::rehearsed(changes))?;
        if !changes.is_empty() {
            terminal::print("\n")?;
        }
    }
    terminal::print(&show::session::outcome(session))?;
    match changes {
        Some(changes) if !changes.is_empty() && session.state == State::Completed => {
            terminal::note(&format!(
                "\nnothing was changed; `memoir apply {}` changes {}",
                session.id,
                counted(changes.len() as u64, "memory", "memories")
            ));
        }
        Some(_) => terminal::note("\nnothing was changed, and there is nothing to apply"),
        None => {}
    }
    Ok(())
}

/// What to do after a session that was rolled back: of a memory of few tokens, whatever a session does is soon
/// more than the breaker lets go, which says nothing of the session.
fn rolled_back(session: &ShownSession) -> String {
    /// Below so many tokens, one memory of a usual size is more than a quarter of them.
    const TINY_TOKENS: u64 = 400;
    const NOTHING_LOST: &str = "nothing is lost; everything that it did was taken back";
    let is_tripped = session
        // Each limit of the breaker has its own reason, `breaker_mass` or `breaker_removed` (SPEC 3.13).
        .end_reason
        .is_some_and(|reason| reason.starts_with("breaker"));
    match (session.pre_session_tokens, session.threshold) {
        (Some(tokens), Some(threshold)) if is_tripped && tokens < TINY_TOKENS => format!(
            "{NOTHING_LOST}. This memory has {tokens} tokens only, and a session that leaves less than {} % of \
             what there was is undone: of so few memories almost any edit is too much. That is no fault of the \
             memories. Save more, and refine then; `memoir doubles {}` shows what is there twice, and `memoir \
             discard {} NUMBER` takes one out by hand",
            (threshold * 100.0).round(),
            terminal::safe(&session.agent),
            terminal::safe(&session.agent),
        ),
        _ => NOTHING_LOST.to_owned(),
    }
}

/// An agent that completes or declines did what it is free to do; any other end is told as a failure.
pub(crate) fn ending(session: &ShownSession) -> Outcome {
    if matches!(session.state, State::Completed | State::Declined) {
        return Ok(Ending::Done);
    }
    let reason = session
        .words
        .reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {}", reason.expose()));
    let failure = Failure::new(format!(
        "the session ended as `{}`{reason}",
        memoir_domain::labels::state(session.state)
    ));
    Err(match (session.state, session.edits) {
        (State::RolledBack, _) if !session.rehearsal => failure.hint(rolled_back(session)),
        (_, 0) => failure.hint("nothing was changed"),
        _ if session.rehearsal => failure.hint("it was a rehearsal; nothing was changed"),
        (_, _) => failure.hint(format!(
            "its edits stay; `memoir rollback {}` takes them back",
            session.id
        )),
    })
}
