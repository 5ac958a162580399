//! `memoir refine`: runs one session immediately, and shows its progress.

use memoir_app::{
    AgentHandle, AgentLens, ShownSession,
    sessions::{Progress, RefineOptions},
};
use memoir_domain::{
    audit::Actor,
    lifecycle::{NothingToRefine, StartRefusal},
    session::{EndReason, Mode, State},
};

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    interrupt::unless_interrupted,
    options::Global,
    output,
    show::{self, counted},
    terminal,
    watch::ProgressPrinter,
};

/// Run one refinement session now
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
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

/// A session's mode on the command line.
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
    // The model's name is checked before anything is opened, since a malformed one is a mistake of the user.
    let parse = |name: String| name.parse().map_err(memoir_app::Error::from);
    let model = arguments.model.map(parse).transpose()?;
    let (installation, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let options = RefineOptions {
        mode: match arguments.mode {
            ModeArgument::Full => Mode::Full,
            ModeArgument::DedupOnly => Mode::DedupOnly,
        },
        model,
        rehearsal: arguments.rehearse,
        started_by: Some(installation.owner_or_actor(&agent).await?),
        ..RefineOptions::default()
    };
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let mut watcher = ProgressPrinter::new(global.json);
    match drive(&lens, &options, &mut watcher, &installation.author()).await? {
        Ran::Driven(session) | Ran::Cancelled(session) => {
            report(global, &agent, &session, &installation.author()).await?;
            ending(&session)
        }
        Ran::NothingToRefine(reason) => {
            Err(memoir_app::Error::Start(StartRefusal::NothingToRefine(reason)).into())
        }
        // Only a session for the schedule checks whether the agent is due.
        Ran::NotDue => Ok(()),
    }
}

pub(crate) enum Ran {
    /// The session ended by itself, or another process cancelled it.
    Driven(Box<ShownSession>),
    /// The user pressed Ctrl-C while the session ran.
    Cancelled(Box<ShownSession>),
    /// No session began: another worker has run one since.
    NotDue,
    /// No session began, since nothing could be refined.
    NothingToRefine(NothingToRefine),
}

/// Runs a session. Ctrl-C cancels it; a second one leaves it open until its lease lapses.
/// `author` is the user who cancels it.
///
/// # Errors
/// The session failed; [`Failure::Interrupted`] where Ctrl-C was pressed before it began, or twice.
pub(crate) async fn drive(
    agent: &AgentLens<'_>,
    options: &RefineOptions,
    watcher: &mut ProgressPrinter,
    author: &Actor,
) -> Result<Ran, Failure> {
    let mut observer = |progress: &Progress| watcher.see(progress);
    let work = agent.refine(options, &mut observer);
    let driven = unless_interrupted(work).await;
    match driven {
        Some(Err(memoir_app::Error::NotDue)) => return Ok(Ran::NotDue),
        Some(Err(memoir_app::Error::Start(StartRefusal::NothingToRefine(reason)))) => {
            return Ok(Ran::NothingToRefine(reason));
        }
        Some(Err(error @ memoir_app::Error::NoModel)) => {
            return Err(Failure::from(error).hint(
                "set one with `memoir agent set NAME model PROVIDER:NAME`, or try `memoir refine NAME --model builtin:careful`, which needs no network",
            ));
        }
        Some(Err(error)) if error.code() == "busy" => {
            let running = watcher.running;
            let hint = running.map(|id| format!("`memoir session {id}` shows what it has done"));
            // The error itself says that nothing was changed.
            return Err(Failure::from(error).with_hint(hint));
        }
        Some(driven) => return Ok(Ran::Driven(Box::new(driven?))),
        None => {}
    }
    let Some(id) = watcher.running else {
        return Err(Failure::Interrupted);
    };
    terminal::note("cancelling the session; its edits stay");
    let cancelling = async {
        match agent.handle().sessions().cancel(id, author).await {
            // It had just ended by itself.
            Ok(_) | Err(memoir_app::Error::SessionLost(_)) => agent.session(id).await,
            Err(error) => Err(error),
        }
    };
    match unless_interrupted(cancelling).await {
        Some(session) => Ok(Ran::Cancelled(Box::new(session?))),
        None => Err(Failure::Interrupted),
    }
}

async fn report(
    global: &Global,
    agent: &AgentHandle,
    session: &ShownSession,
    actor: &Actor,
) -> Result<(), Failure> {
    if global.json {
        return output::json(session);
    }
    let changes = &session.words.changes;
    if let Some(changes) = changes {
        output::print(&show::session::rehearsed(changes))?;
        if !changes.is_empty() {
            output::print("\n")?;
        }
    }
    output::print(&show::session::outcome(session))?;
    match changes {
        Some(changes) if !changes.is_empty() && session.state == State::Completed => {
            let memories = counted(changes.len() as u64, "memory", "memories");
            let facts = agent.sessions().rehearsal_facts(session.id, actor).await?;
            terminal::note(&match facts {
                // Without edits only the duplicate cleanup changes memories, and applying repeats edits alone.
                Some(facts) if facts.edits == 0 => format!(
                    "\nnothing was changed, and there is nothing to apply, since the rehearsal has no edits; the \
                     duplicate cleanup of the next session changes {memories}"
                ),
                facts => format!(
                    "\nnothing was changed; `memoir apply {}` changes {memories}{}",
                    session.id,
                    facts.map_or_else(String::new, |facts| show::session::held(&facts))
                ),
            });
        }
        Some(_) => terminal::note("\nnothing was changed, and there is nothing to apply"),
        None => {}
    }
    Ok(())
}

/// The hint after a session that was rolled back. In a memory of few tokens almost any edit removes more than the
/// breaker permits.
fn rolled_back(session: &ShownSession) -> String {
    /// Below so many tokens, one memory of a usual size is more than a quarter of them.
    const TINY_TOKENS: u64 = 400;
    const NOTHING_LOST: &str = "nothing is lost; everything that it did was undone";
    let is_tripped = session
        // Each limit of the breaker has its own reason, `breaker_mass` or `breaker_removed` (SPEC 3.13).
        .end_reason
        .is_some_and(|reason| reason.starts_with("breaker"));
    match (session.pre_session_tokens, session.threshold) {
        (Some(tokens), Some(threshold)) if is_tripped && tokens < TINY_TOKENS => format!(
            "{NOTHING_LOST}. This memory has {tokens} tokens only, and a session that leaves less than {} % of \
             what there was is undone: of so few memories almost any edit is too much. Save more, and refine \
             then; `memoir discard {} NUMBER` removes one by hand",
            (threshold * 100.0).round(),
            terminal::word(&session.agent),
        ),
        _ => NOTHING_LOST.to_owned(),
    }
}

/// An agent is free to complete or to decline in words; any other end is reported as a failure.
pub(crate) fn ending(session: &ShownSession) -> Outcome {
    let why = session.end_reason.and_then(EndReason::from_name);
    match session.state {
        State::Completed => return Ok(()),
        State::Declined if why != Some(EndReason::NoAnswer) => return Ok(()),
        _ => {}
    }
    let reason = session.words.reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {}", reason.expose()));
    let state = session.state.label();
    let failure = Failure::new(format!("the session ended as `{state}`{reason}"));
    Err(match (session.state, session.edits) {
        (State::RolledBack, _) if !session.rehearsal => failure.hint(rolled_back(session)),
        (_, 0) => failure.hint(match why {
            Some(EndReason::CallsAsText) => {
                "nothing was changed; the model's server does not read its calls of tools: use a model that calls \
                 tools (vLLM wants `--enable-auto-tool-choice`, llama.cpp `--jinja`)"
            }
            Some(EndReason::NoAnswer) => {
                "nothing was changed; the model's answers were empty: try another model, or check its chat template"
            }
            _ => "nothing was changed",
        }),
        _ if session.rehearsal => failure.hint("it was a rehearsal; nothing was changed"),
        (_, _) => failure.hint(format!(
            "its edits stay; `memoir rollback {}` undoes them",
            session.id
        )),
    })
}
