//! `memoir audit`: every change, its actor and its memory.

use std::path::{Path, PathBuf};

use memoir_app::{CheckpointGrowth, Memoir, RecordFilter, Verification};
use memoir_domain::{
    AgentId, Timestamp,
    audit::Action,
    memory::{Invalid, Number},
};
use memoir_vault::log::LogVerifier;

use crate::{
    commands::export::{check_is_new, write_log},
    failure::{Failure, Outcome},
    installation::Installation,
    options::{Global, account_option},
    output, parse,
    show::{self, counted, thousands},
    terminal::{self, safe, word},
};

/// A note with a hundred signatures is a tenth of this.
const MOST_NOTE_BYTES: u64 = 1 << 20;

/// The audit: every change, its actor and its memory
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    List(ListArguments),
    Verify(VerifyArguments),
    Export(ExportArguments),
    /// Sign the present state of all agents' logs
    ///
    /// Prints a signed note (C2SP tlog-checkpoint). Stored outside, it proves later, with `memoir audit verify
    /// --checkpoint FILE`, that no present record was removed or rewritten.
    Checkpoint,
}

/// Check that logs are unchanged, that the stored state matches them, and that no original is lost
///
/// Recomputes the chain of every record, replays it against memories, settings and sessions, and counts the originals:
/// in the prompt, in the archive, lost. Names the first record that does not match; the exit status is 1 then. A
/// checkpoint that was stored elsewhere shows too that nothing was cut off or rewritten since.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArguments {
    /// The agent; not needed where there is only one
    #[arg(conflicts_with = "all")]
    agent: Option<String>,
    /// Every agent of every account, the erased ones too
    #[arg(long)]
    all: bool,
    /// A note of `memoir audit checkpoint`; `-` reads stdin. Without an agent, all are checked
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// The public key that was printed with the note [default: this installation's own]
    #[arg(long, value_name = "KEY", requires = "checkpoint")]
    public_key: Option<LogVerifier>,
}

/// Write an agent's log as a file that a program without Memoir verifies
///
/// Lines of JSON: every record with what its hash covers, the texts before and after, every memory, and what connects
/// them to a checkpoint that was stored elsewhere. `scripts/verify-log` of the source code verifies the file with
/// Python alone; the format is described in docs/log-format.md. It holds the agent's text in the open.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
    /// Write to a new file, which only you can read, instead of stdout
    #[arg(long, short, value_name = "FILE", alias = "out")]
    output: Option<PathBuf>,
    /// Replace the file where it exists
    #[arg(long, requires = "output")]
    force: bool,
}

/// List the audit records of an agent or of an account, oldest first
///
/// An account's own log records who was made its administrator and by whom, when they signed in, and which tokens they
/// were given.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArguments {
    /// The agent
    #[arg(required_unless_present = "own")]
    agent: Option<String>,
    /// The account's own log: its administrators, their tokens and sign-ins
    #[arg(long, conflicts_with_all = ["agent", "session", "memory"])]
    own: bool,
    /// Those of one session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Those of one action, such as `memory_saved`, or as it is listed, `saved`; may be given several times
    #[arg(long, value_name = "ACTION", value_delimiter = ',', value_parser = parse::action)]
    action: Vec<Action>,
    /// Those about one memory
    #[arg(long, value_name = "NUMBER", value_parser = parse::number)]
    memory: Option<Number>,
    /// Those of an actor whose name holds this text
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Those written at this time or after
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    since: Option<Timestamp>,
    /// Those written at this time or before
    #[arg(long, value_name = "TIME", value_parser = parse::until)]
    until: Option<Timestamp>,
    /// The last N of them
    #[arg(long, value_name = "N", value_parser = parse::whole_number::<u32>(1..))]
    last: Option<u32>,
}

pub(crate) async fn run(global: &Global, command: Command) -> Outcome {
    match command {
        Command::List(arguments) => list(global, arguments).await,
        Command::Verify(arguments) => verify(global, arguments).await,
        Command::Export(arguments) => export(global, arguments).await,
        Command::Checkpoint => checkpoint(global).await,
    }
}

async fn export(global: &Global, arguments: ExportArguments) -> Outcome {
    let is_file = |path: &&PathBuf| *path != Path::new("-");
    let path = arguments.output.as_ref().filter(is_file);
    if let Some(path) = path {
        check_is_new(path, arguments.force)?;
    }
    let (installation, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let agent = installation.own(&agent).await?;
    let mut log = agent.export_log().await?;
    let Some(path) = path else {
        while let Some(piece) = log.next().await? {
            output::data(&piece)?;
        }
        return Ok(());
    };
    write_log(path, &mut log).await?;
    if global.json {
        output::json(&serde_json::json!({"file": path}))?;
    } else {
        let (name, path) = (safe(agent.name()), path.display());
        terminal::note(&format!("wrote the log of `{name}` to `{path}`"));
    }
    Ok(())
}

async fn checkpoint(global: &Global) -> Outcome {
    let installation = Installation::open(global).await?;
    let signed = installation.memoir.checkpoint().await?;
    if global.json {
        output::json(&signed)?;
    } else {
        // Only the note goes to stdout, byte for byte, since the later verification needs exactly this note.
        output::data(signed.checkpoint.as_bytes())?;
        terminal::note(&format!(
            "keep this note outside of this machine, and with it the public key that checks it:\n{}",
            signed.public_key
        ));
    }
    Ok(())
}

#[derive(serde::Serialize)]
struct VerifyOutput {
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<CheckpointGrowth>,
    agents: Vec<Verification>,
}

async fn verify(global: &Global, arguments: VerifyArguments) -> Outcome {
    let note = arguments.checkpoint.as_deref();
    let note = note.map(|path| parse::file(path, MOST_NOTE_BYTES));
    let note = note.transpose()?;
    let installation = Installation::existing(global).await?;
    let agents = match &arguments.agent {
        None if arguments.all || note.is_some() => installation.memoir.verify_all().await?,
        name => {
            let agent = installation.agent_or_only(name.as_deref()).await?;
            vec![agent.log().verify().await?]
        }
    };
    let checkpoint = match note {
        Some(note) => {
            let key = arguments.public_key.as_ref();
            Some(installation.memoir.check_growth(&note, key).await?)
        }
        None => None,
    };
    let verified = VerifyOutput {
        valid: agents.iter().all(|agent| agent.valid)
            && checkpoint.as_ref().is_none_or(|growth| growth.grew),
        checkpoint,
        agents,
    };
    let checkpoint = verified.checkpoint.as_ref();
    let is_alone = checkpoint.is_none() && !arguments.all;
    match verified.agents.as_slice() {
        [one] if global.json && is_alone => output::json(one)?,
        agents => output::show(global.json, &verified, || {
            show::verified::verified_text(agents, checkpoint)
        })?,
    }
    if verified.valid {
        return Ok(());
    }
    // A log with a mismatch is a failure, so that scripts detect it by the exit status.
    Err(mismatch(&verified, &installation.memoir).await?)
}

async fn mismatch(verified: &VerifyOutput, memoir: &Memoir) -> Result<Failure, Failure> {
    let checked = verified.agents.len() as u64;
    let bad: Vec<_> = (verified.agents.iter().filter(|agent| !agent.valid)).collect();
    let problem = match (bad.len() as u64, checked) {
        (0, _) => "the log is not the one of the checkpoint".to_owned(),
        (_, 1) => "the agent's log does not fit".to_owned(),
        (bad, checked) => {
            let (bad, all) = (thousands(bad), counted(checked, "agent", "agents"));
            format!("the logs of {bad} of {all} do not fit")
        }
    };
    let has_grown = (verified.checkpoint.as_ref()).is_none_or(|growth| growth.grew);
    let hint = match bad.first() {
        Some(first) if has_grown && bad.iter().all(|agent| agent.lacks_erasure()) => {
            let option = option_for(memoir, first.agent_id).await?;
            format!(
                "after restoring a backup from before the erasure, `memoir agent erase {}{option}` records it again",
                word(&first.agent)
            )
        }
        _ => "integrity check failed: modified outside Memoir; keep a copy of the database as it is, and compare it with a backup; docs/backup.md says how to return to one".to_owned(),
    };
    Ok(Failure::new(problem).hint(hint))
}

/// The option of the account that has the agent.
async fn option_for(memoir: &Memoir, agent: AgentId) -> Result<String, Failure> {
    for account in memoir.accounts().await? {
        let account = memoir.account(&account.name).await?;
        if account.agent(&agent.to_string()).await.is_ok() {
            return Ok(account_option(account.name()));
        }
    }
    Ok(String::new())
}

async fn list(global: &Global, arguments: ListArguments) -> Outcome {
    Invalid::check_range(arguments.since, arguments.until)?;
    let installation = Installation::existing(global).await?;
    let agent = match &arguments.agent {
        Some(name) => Some(installation.agent(name).await?),
        None => None,
    };
    let session = match &arguments.session {
        Some(text) => {
            let name = arguments.agent.as_deref();
            let (_, id) = installation.session(text, name).await?;
            // A session of another agent has no records here, and an error is clearer than an empty list.
            if let Some(agent) = &agent {
                agent.views().session(id).await?;
            }
            Some(id)
        }
        None => None,
    };
    let query = RecordFilter {
        session,
        actions: arguments.action,
        memory: arguments.memory,
        actor_name: arguments.actor,
        since: arguments.since,
        until: arguments.until,
        last: arguments.last,
        ..RecordFilter::default()
    };
    let records = match &agent {
        Some(agent) => {
            let lens = agent.views().seen_by(installation.viewer(agent).await?);
            lens.records(&query).await?
        }
        None => installation.account.own_records(&query).await?,
    };
    if global.json {
        output::json_lines(&records)?;
    } else if records.is_empty() {
        terminal::note("no records were found");
    } else {
        output::print(&show::records::list(&records))?;
    }
    Ok(())
}
