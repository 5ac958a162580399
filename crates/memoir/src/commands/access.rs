//! `memoir access`: access requests to an agent, and its answers (SPEC 5.2, 5.5).

use memoir_app::{AskOutcome, ShownAccessRequest, Viewer};
use memoir_domain::{
    PrivateText, Timestamp,
    access::{AccessDraft, AccessKind, AccessScope, AccessState},
    audit::Actor,
    memory::Number,
};

use crate::{
    failure::Outcome,
    installation::Installation,
    options::Global,
    output, parse,
    show::{self, moment},
    terminal,
};

const LISTED: u32 = 50;

/// Access requests: asking an agent to read its text for a limited time, and its answer
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Ask(AskArguments),
    /// List the access requests to an agent, newest first
    List {
        /// The agent
        agent: String,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = LISTED, value_parser = parse::whole_number::<u32>(1..))]
        limit: u32,
    },
    Answer(AnswerArguments),
    /// Revoke a request, answered or not: its grant ends immediately
    Revoke {
        /// The request, as `memoir access list` shows it
        request: String,
    },
}

/// Ask an agent for access to its text for a limited time
///
/// The agent's model is asked immediately, where it has one; otherwise the request waits up to seven days for the answer
/// of the agent's own client. What the agent grants is for the administrator who asked: the one of the token in
/// MEMOIR_TOKEN, or without one this command line. Every read is on the agent's record.
#[derive(Debug, clap::Args)]
pub(crate) struct AskArguments {
    /// The agent
    agent: String,
    /// Why, for the agent to judge
    #[arg(long, value_name = "TEXT", value_parser = parse::text())]
    purpose: PrivateText,
    /// `core` (the active core memories), `all` (all memories, records and prompts), or `session:ID` (what that
    /// session changed)
    #[arg(long, value_name = "SCOPE", default_value = "core", value_parser = scope)]
    scope: AccessScope,
    /// For how many minutes from the answer on, 1 to 60
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = parse::whole_number::<u32>(1..=60))]
    minutes: u32,
    /// Not to read: to create one more token of the agent, with `memoir token create` within an hour
    #[arg(long, conflicts_with_all = ["scope", "minutes"])]
    token: bool,
    /// When that token expires
    #[arg(long, value_name = "TIME", value_parser = parse::time, requires = "token")]
    expires_at: Option<Timestamp>,
    /// Not to read: to have the text of this memory removed from everywhere, permanently
    #[arg(long, value_name = "NUMBER", value_parser = parse::number, conflicts_with_all = ["scope", "minutes", "token"])]
    shred: Option<Number>,
    /// With `--shred`: also its copies, the summaries that were written over it, and the session reports that rest on
    /// it
    #[arg(long, requires = "shred")]
    derived: bool,
    /// Not to read: to send the agent's text to the server of embeddings of `[recall] embeddings`, until revoked
    #[arg(long, conflicts_with_all = ["scope", "minutes", "token", "shred"])]
    embeddings: bool,
}

/// Answer a request as the agent: in a closed installation with its token
#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArguments {
    /// The request, as `memoir access list` shows it
    request: String,
    /// Whether the agent grants it
    #[arg(value_enum)]
    answer: YesOrNo,
    /// The reason, for the administrator who asked
    #[arg(long, value_name = "TEXT", value_parser = parse::text())]
    reason: Option<PrivateText>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum YesOrNo {
    /// Granted
    Yes,
    /// Refused, without consequences
    No,
}

fn scope(text: &str) -> Result<AccessScope, String> {
    let scope = text.parse();
    scope.map_err(|_| "must be `core`, `all`, or `session:` and the id of a session".to_owned())
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    match command {
        Command::Ask(arguments) => ask(global, arguments).await,
        Command::List { agent, limit } => list(global, &agent, limit).await,
        Command::Answer(arguments) => answer(global, arguments).await,
        Command::Revoke { request } => revoke(global, &request).await,
    }
}

async fn ask(global: &Global, arguments: AskArguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(&arguments.agent)).await?;
    let actor = installation.actor(&agent).await?;
    let kind = match arguments.shred {
        Some(number) => AccessKind::Shred {
            number,
            derived: arguments.derived,
        },
        None if arguments.token => AccessKind::Token {
            expires_at: arguments.expires_at,
        },
        None => AccessKind::Read {
            scope: arguments.scope,
            minutes: arguments.minutes,
        },
    };
    let draft = AccessDraft {
        kind,
        purpose: arguments.purpose,
    };
    let grants = agent.grants();
    // A request for embeddings has only one form, so the kind in `draft` is not used for it.
    let request = match arguments.embeddings {
        true => grants.request_embeddings(&draft.purpose, &actor).await?,
        false => grants.request_access(&draft, &actor).await?,
    };
    let id = request.id;
    match grants.ask_for_access(id).await {
        Ok(AskOutcome::Answered | AskOutcome::NotByModel) => {}
        Ok(AskOutcome::AskedAlready) => {
            terminal::note("the service is asking the agent's model already");
        }
        Ok(AskOutcome::Failed(problem)) => {
            // The request stays open, so that the agent's own client can answer it.
            terminal::note(&format!("the agent's model did not answer: {problem}"));
        }
        // The error itself may say that nothing was changed.
        Err(error) => {
            terminal::note(&format!(
                "whether the agent's model has decided is not known ({}); `memoir access list {}` shows it",
                error.code(),
                terminal::word(agent.name())
            ));
        }
    }
    // The request is read as its requester, since the agent's reason is for that administrator alone.
    let lens = agent.views().seen_by(Viewer::administrator(actor));
    let read = lens.access_request(id).await;
    print(global, &read.unwrap_or_else(|_| request.into()))
}

async fn list(global: &Global, agent: &str, limit: u32) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, Some(agent)).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let requests = lens.access_requests(None, limit).await?;
    let none = "there is no access request";
    output::list(global.json, requests, none, show::access::list)
}

async fn answer(global: &Global, arguments: AnswerArguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    let account = &installation.account;
    let (agent, id) = account.access_agent(&arguments.request).await?;
    if installation.viewer(&agent).await? != Viewer::Agent {
        return Err(installation.closed(&format!("only `{}` itself can answer", agent.name())));
    }
    // The owner of an open installation answers in the agent's name (SPEC 5.5).
    let me = Actor::agent(agent.name());
    let (is_granted, reason) = (arguments.answer == YesOrNo::Yes, arguments.reason);
    let answered = agent.grants().answer_access(id, is_granted, reason, &me);
    print(global, &answered.await?)
}

async fn revoke(global: &Global, request: &str) -> Outcome {
    let installation = Installation::existing(global).await?;
    let (agent, id) = installation.account.access_agent(request).await?;
    let actor = installation.actor(&agent).await?;
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    // Read before the change: once that is made, no failing read may say otherwise.
    let words = lens.access_request(id).await?.words;
    let facts = agent.grants().revoke_access(id, &actor).await?;
    print(global, &ShownAccessRequest { facts, words })
}

fn print(global: &Global, request: &ShownAccessRequest) -> Outcome {
    if global.json {
        return output::json(request);
    }
    output::print(&format!("{} {}\n", request.state.label(), request.id))?;
    let until = moment(request.expires_at);
    match request.state {
        AccessState::Asked => {
            terminal::note(&format!("it waits for the agent's answer until {until}"));
        }
        AccessState::Granted if request.is_standing() => {
            terminal::note("it remains valid until it is revoked");
        }
        AccessState::Granted => {
            terminal::note(&format!("it can be used until {until}"));
        }
        _ => {}
    }
    let summaries = request.words.summaries.iter().flatten().copied();
    let summaries: Vec<Number> = summaries.collect();
    if !summaries.is_empty() {
        let summaries = show::numbers(&summaries);
        terminal::note(&format!("summaries over the shredded memory: {summaries}"));
    }
    if let Some(stored) = &request.words.transcript {
        super::shred::name_transcript(stored);
    }
    if let Some(reason) = &request.words.reason {
        let reason = terminal::safe_lines(reason.expose());
        terminal::note(&format!("the agent's reason: {reason}"));
    }
    Ok(())
}
