//! `memoir context`: the text that an agent's runtime puts after the system prompt.

use memoir_app::{ContextRequest, OwnAgent};

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse, show, terminal,
};

/// Print what goes into the agent's prompt: core memories, and the journal of the last week
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent [default: `MEMOIR_AGENT`, or the only one]
    agent: Option<String>,
    /// Leave out whole entries so that it fits, first those that alone take more than a fourth of it; constitutional
    /// memories always stay
    #[arg(long, value_name = "N", value_parser = parse::whole_number::<u64>(..))]
    max_tokens: Option<u64>,
    /// Show what each part costs, and what is left out and why, in place of the text
    #[arg(long)]
    explain: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (installation, agent) = Installation::of_agent(global, arguments.agent.as_deref()).await?;
    let agent = installation.own(&agent).await?;
    let request = ContextRequest {
        max_tokens: arguments.max_tokens,
        explain: arguments.explain,
        ..ContextRequest::default()
    };
    let context = match terminal::stdout_is_watched() {
        // A person reads it, so that it is not noted as the last one that the agent was shown.
        true => agent.measured_context(&request).await?,
        false => agent.requested_context(&request).await?,
    };
    if global.json {
        output::json(&context)?;
    } else if arguments.explain {
        let explained = context.explained.as_ref();
        output::print(&explained.map_or_else(String::new, show::context::explained))?;
    } else if terminal::stdout_is_watched() {
        output::print(&terminal::safe_lines(context.text.expose()))?;
    } else {
        // A program reads it, so the text is printed unchanged.
        output::data(context.text.expose().as_bytes())?;
    }
    let shown_tokens = context.core_tokens + context.journal_tokens;
    let is_read = !global.json && !arguments.explain;
    if is_read && shown_tokens == 0 && !context.left_out.is_empty() {
        note_reasons(&agent, arguments.max_tokens).await?;
    }
    if is_read && context.text.expose().is_empty() && context.left_out.is_empty() {
        let name = terminal::word(agent.name());
        terminal::note(&format!(
            "no memory is in the prompt; `memoir remember {name} TEXT` saves one"
        ));
    }
    Ok(())
}

/// Reports why nothing is shown, and by which bound all of it would be.
async fn note_reasons(agent: &OwnAgent, max_tokens: Option<u64>) -> Result<(), Failure> {
    let measured = async |max_tokens| {
        let request = ContextRequest {
            max_tokens,
            explain: true,
            ..ContextRequest::default()
        };
        agent.measured_context(&request).await
    };
    let explained = measured(max_tokens).await?.explained.unwrap_or_default();
    // Without a bound of the whole, those of the agent's settings may still leave some out.
    let is_all_shown = measured(None).await?.left_out.is_empty();
    let mut enough = max_tokens.filter(|_| is_all_shown);
    while let Some(bound) = enough
        && !measured(enough).await?.left_out.is_empty()
    {
        enough = Some(bound.max(1).saturating_mul(2));
    }
    terminal::note(&show::context::reasons(&explained, enough));
    Ok(())
}
