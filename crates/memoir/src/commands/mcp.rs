//! `memoir mcp`: the tools of one agent, over standard input and output.

use memoir_mcp::Received;
use serde_json::{Value, json};
use tokio::io::BufReader;

use crate::{
    failure::{Failure, Outcome},
    hook::{AgentChoice, calls, probe, written::ProgramMemory},
    installation::Installation,
    options::Global,
    output,
    remote::{self, Remote},
    terminal,
};

const INTERNAL_ERROR: i32 = -32603;

/// Serve one agent's tools to a client of the Model Context Protocol, over standard input and output
///
/// For clients that start their servers themselves. Standard output is the protocol's.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    whose: AgentChoice,
    /// The service to pass the tools on from, in place of a database on this machine; the token is the one that `memoir
    /// setup` has stored, or else that of `MEMOIR_TOKEN`
    #[arg(long, value_name = "URL", env = "MEMOIR_URL", hide_env_values = true)]
    url: Option<String>,
    /// The program that starts it, as `memoir setup` names it
    #[arg(long, hide = true)]
    client: Option<String>,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let client = arguments.client.as_deref().unwrap_or_default();
    let means = ProgramMemory::of(client, global, &arguments.whose, arguments.url.as_deref());
    if probe::is_asked() {
        probe::report(&means).await?;
        return Ok(());
    }
    calls::note(client, |calls| &mut calls.tools);
    // No folder is passed, so the project is the folder in which the program started this process.
    let chosen = means.whose.chosen(None);
    if let Some(service) = &means.service {
        if let Some(warning) = remote::warning_of(&service.url) {
            terminal::note(&warning);
        }
        let name = chosen.name_behind(&service.url)?;
        return pass_on(&Remote::open(service, name.as_deref())?).await;
    }
    let mut installation = Installation::of_program(&means.global, None).await?;
    let agent = installation.chosen(&chosen).await?;
    let agent = installation.own_for_program(&agent).await?;
    calls::note_agent(client, &installation.place, agent.name());
    let memoir = installation.memoir.clone();
    let serving = memoir_mcp::serve_lines(agent, tokio::io::stdin(), tokio::io::stdout());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = memoir.keep_up() => serving.await,
    };
    served.map_err(|error| Failure::new(format!("the connection ended: {error}")))?;
    Ok(())
}

/// Passes each message on to the service, one after the other, and prints the response. A request that gets none is
/// answered with an error, and the next one is still passed on.
async fn pass_on(remote: &Remote) -> Outcome {
    let mut input = BufReader::new(tokio::io::stdin());
    let mut has_ended = false;
    while !has_ended {
        let messages;
        let read = memoir_mcp::read_messages(&mut input).await;
        (messages, has_ended) =
            read.map_err(|error| Failure::new(format!("cannot read stdin: {error}")))?;
        for received in messages {
            let answer = match received {
                Received::Message(message) => pass_one(remote, message).await,
                Received::Refused(answer) => Some(answer.to_string()),
            };
            if let Some(answer) = answer {
                output::data(format!("{}\n", answer.trim_end()).as_bytes())?;
            }
        }
    }
    Ok(())
}

/// The response to one message; `None` to a notification.
async fn pass_one(remote: &Remote, message: String) -> Option<String> {
    let id = serde_json::from_str::<Value>(&message).ok();
    let id = id.and_then(|message| message.get("id").cloned());
    match remote.mcp(message).await {
        Ok(answer) => answer,
        // None happens: a request refuses no command, prints nothing to stdout, and handles no signal.
        Err(Failure::Refused | Failure::PipeClosed | Failure::Interrupted) => None,
        Err(Failure::Shown(failure)) => {
            let problem = failure.one_line();
            terminal::note(&problem);
            // A notification gets no response.
            id.map(|id| {
                let error = json!({"code": INTERNAL_ERROR, "message": problem});
                json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
            })
        }
    }
}
