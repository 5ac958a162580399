//! `memoir mcp`: the tools of one agent, over standard input and output.

use crate::{
    cli::Global,
    failure::{Ending, Failure, Outcome},
    installation::Installation,
};

/// Serve one agent's tools to a client of the Model Context Protocol, over standard input and output
///
/// For clients that start their servers themselves. Standard output is the protocol's.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    #[arg(long, value_name = "NAME")]
    agent: String,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    installation.for_its_own_eyes(&agent).await?;
    memoir_mcp::serve_stdio(agent)
        .await
        .map_err(|error| Failure::new(format!("the connection ended: {error}")))?;
    Ok(Ending::Done)
}
