//! `memoir recall`: finds memories by a query, narrowed by dates, kind, tag and origin; and measures recall and prompts
//! on questions whose answers are known (`eval`), or what sessions changed in both (`sessions`).

mod eval;
mod sessions;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    time::Duration,
};

use memoir_app::{AgentHandle, Error, RecallPage, ShownMemory};
use memoir_domain::{
    PrivateText, Timestamp,
    memory::Kind,
    origin::Origin,
    recall::{RECALL_LIMIT, RecallQuery, SemanticStatus},
};
use serde::Serialize;

use crate::{
    config::Config,
    embeddings,
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{self, List},
    terminal,
};

/// Find active memories of all kinds, best match first
///
/// Archival memories are found like others and marked. A memory that was replaced is listed directly after the one that
/// replaced it, with the day until which it held.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    #[arg(value_parser = parse::text())]
    agent: Option<PrivateText>,
    /// Words or a whole question; a phrase in double quotes must occur. Without it everything is found, newest first
    #[arg(allow_hyphen_values = true, value_parser = parse::text())]
    query: Option<PrivateText>,
    /// The earliest origin date
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    since: Option<Timestamp>,
    /// The latest origin date; a date alone means the whole day
    #[arg(long, value_name = "TIME", value_parser = parse::until)]
    until: Option<Timestamp>,
    /// `core`, `journal` or `archival`
    #[arg(long, value_name = "KIND", value_parser = parse::named::<Kind>)]
    kind: Option<Kind>,
    /// A tag, whatever the case
    #[arg(long, value_name = "TAG", value_parser = parse::text())]
    tag: Option<PrivateText>,
    /// `agent`, `administrator`, `conversation`, `import` or `external`
    #[arg(long, value_name = "ORIGIN", value_parser = parse::named::<Origin>)]
    origin: Option<Origin>,
    /// At most so many, 1 to 200
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = parse::whole_number::<u64>(1..=RECALL_LIMIT as u64))]
    limit: u64,
    /// Report why each was found: words, their weight, and its rank
    #[arg(long)]
    explain: bool,
    /// Measure recall and prompts on the questions of a file instead: JSON lines of `query`, and `numbers` of the
    /// memories that answer it
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["query", "explain", "limit"])]
    eval: Option<Option<PathBuf>>,
    /// With `--eval`, in place of a file: what each of the last N sessions changed in context and recall, by questions
    /// of the memories before it [default: 10]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10",
        value_parser = parse::whole_number::<usize>(1..=200), requires = "eval",
        conflicts_with_all = ["first", "tokens", "since", "until", "kind", "tag", "origin"])]
    sessions: Option<usize>,
    #[command(flatten)]
    sizes: eval::EvalSizes,
    /// Ask nothing: make the vectors that memories lack, where `[recall] embeddings` is configured and no service does
    #[arg(long, conflicts_with_all = ["query", "explain", "limit", "eval"])]
    index: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::existing(global).await?;
    if let (Some(file), Some(most)) = (&arguments.eval, arguments.sessions) {
        if file.is_some() {
            return Err(Failure::new("`--sessions` needs no file of questions")
                .hint("name the agent before `--eval`: `memoir recall AGENT --eval --sessions`"));
        }
        let name = arguments.agent.as_ref().map(PrivateText::expose);
        let agent = installation.agent_or_only(name).await?;
        return sessions::run(global, &installation.own(&agent).await?, most).await;
    }
    let (agent, text) = asked(&installation, arguments.agent, arguments.query).await?;
    let query = RecallQuery {
        text,
        since: arguments.since,
        until: arguments.until,
        kind: arguments.kind,
        tag: arguments.tag,
        origin: arguments.origin,
        // This cannot fail: the arguments accept 200 at most.
        limit: usize::try_from(arguments.limit).unwrap_or(RECALL_LIMIT),
        ..RecallQuery::default()
    };
    if arguments.index {
        return index(global, &agent).await;
    }
    if let Some(file) = &arguments.eval {
        let file = file.as_deref().ok_or_else(|| {
            Failure::new("`--eval` needs a file of questions, or `--sessions`").hint(
                "`memoir recall AGENT --eval FILE`, or `memoir recall AGENT --eval --sessions`",
            )
        })?;
        let agent = installation.own(&agent).await?;
        return eval::run(global, &agent, &query, &arguments.sizes, file).await;
    }
    let lens = agent.views().seen_by(installation.viewer(&agent).await?);
    let RecallPage { found, meaning } = match lens.recall_page(&query, None, false).await {
        // On the command line the agent's token gives access, and not an access request.
        Err(Error::NoAccess(_)) => return installation.refuse(&agent),
        answer => answer?,
    };
    let explain = arguments.explain;
    let found: Vec<ShownMemory> = found
        .into_iter()
        .map(|(found, memory)| memory.explained(found, explain))
        .collect();
    if global.json {
        return output::json(&RecallOutput {
            list: List::whole(found),
            meaning,
        });
    }
    match meaning {
        Some(meaning) => in_words(meaning).into_iter().for_each(terminal::note),
        None => suggest_meaning(global)?,
    }
    if found.is_empty() {
        let counts = agent.views().show().await?.counts;
        let all = counts.core_count + counts.journal_count + counts.archival_count;
        let name = terminal::word(agent.name());
        terminal::note(&match all {
            0 => format!("there is no memory yet; `memoir remember {name} TEXT` saves one"),
            _ => "nothing found".to_owned(),
        });
    } else {
        output::print(&show::memories::found(&found))?;
        if explain {
            output::print(&show::memories::explanations(&found))?;
        }
    }
    Ok(())
}

/// The agent and the query. One text alone is the agent's name where such an agent exists, else the query.
async fn asked(
    installation: &Installation,
    first: Option<PrivateText>,
    query: Option<PrivateText>,
) -> Result<(AgentHandle, PrivateText), Failure> {
    match (first, query) {
        (Some(agent), Some(query)) => Ok((installation.agent(agent.expose()).await?, query)),
        (Some(text), None) => match installation.account.agent(text.expose()).await {
            Ok(agent) => Ok((agent, PrivateText::default())),
            Err(Error::NoAgent(_)) => Ok((installation.agent_or_only(None).await?, text)),
            Err(error) => Err(error.into()),
        },
        (None, query) => Ok((
            installation.agent_or_only(None).await?,
            query.unwrap_or_default(),
        )),
    }
}

/// The result, as every interface returns it.
#[derive(Serialize)]
struct RecallOutput {
    #[serde(flatten)]
    list: List<ShownMemory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<SemanticStatus>,
}

/// Says once, at a terminal, how memories are found by meaning too.
fn suggest_meaning(global: &Global) -> Result<(), Failure> {
    if !io::stderr().is_terminal() || !io::stdout().is_terminal() {
        return Ok(());
    }
    let config = Config::read(global.config.as_deref())?;
    if config.recall.embeddings.is_none()
        && embeddings::lacks_file(&config)
        && embeddings::is_first_suggestion()
    {
        terminal::note(&format!("found by words; {}", embeddings::SUGGESTION));
    }
    Ok(())
}

/// A note on how memories were found; `None` where nothing is degraded.
fn in_words(meaning: SemanticStatus) -> Option<&'static str> {
    match meaning {
        SemanticStatus::Merged => None,
        SemanticStatus::Partial => Some(
            "some memories are found by words alone: they have no vector yet; `memoir serve` makes them, or \
             `memoir recall AGENT --index`",
        ),
        SemanticStatus::Unavailable => Some(
            "found by words alone: the model of embeddings did not answer in time, or not as it should; \
             see `memoir doctor`",
        ),
        SemanticStatus::NotAllowed => Some(
            "found by words alone: the agent has not agreed that its words are sent to the server of \
             embeddings; ask it with `memoir access ask AGENT --embeddings`",
        ),
    }
}

/// Creates the missing vectors, and prints their number.
async fn index(global: &Global, agent: &AgentHandle) -> Outcome {
    /// For how long a server may ask to wait in all.
    const PATIENCE: Duration = Duration::from_secs(300);
    let waiting = |wait: Duration| {
        let seconds = wait.as_secs().max(1);
        terminal::note(&format!(
            "the server of embeddings failed; trying again in {seconds} s"
        ));
    };
    let memories = agent.memories();
    let made = memories.make_vectors_within(PATIENCE, &waiting).await?;
    if global.json {
        output::json(&made)?;
    } else {
        let vectors = show::counted(made.made, "vector", "vectors");
        output::print(&format!("{vectors} made\n"))?;
        if made.refused > 0 {
            let texts = show::counted(made.refused, "memory", "memories");
            terminal::note(&format!(
                "{texts} the server does not take, shortened neither"
            ));
        }
    }
    match made.problem {
        None => Ok(()),
        Some(problem) => Err(Failure::new(format!("some have none: {problem}"))),
    }
}
