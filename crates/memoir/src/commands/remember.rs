//! `memoir remember`: saves one memory.

use std::path::Path;

use memoir_app::MemoryInput;
use memoir_domain::{
    PrivateText, Timestamp,
    memory::{CONTENT_LIMIT, Kind},
    wording::Origin,
};

use crate::{
    cli::Global,
    commands::parse,
    failure::{Ending, Failure, Outcome},
    installation::Installation,
    show::when,
    terminal::{self, safe},
};

/// Save one memory and print its number
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The agent
    agent: String,
    /// The text, 1 to 10,000 characters; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    text: PrivateText,
    /// `core` stays in the prompt, `journal` fades from it after a week
    #[arg(long, value_name = "KIND", default_value = "core", value_parser = parse::kind)]
    kind: Kind,
    /// A tag; can be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<PrivateText>,
    /// Where it came from
    #[arg(long, value_name = "TEXT")]
    source: Option<PrivateText>,
    /// A weaker origin than your own, such as `external` for what you quote
    #[arg(long, value_name = "ORIGIN", value_parser = parse::origin)]
    origin: Option<Origin>,
    /// When what it tells happened [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    at: Option<Timestamp>,
    /// Put it beyond deleting and merging
    #[arg(long)]
    constitutional: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    /// Four for each character, and some for white space that is trimmed.
    const TEXT_BYTES: u64 = 16 * CONTENT_LIMIT as u64;
    let content = match arguments.text.expose() {
        "-" => parse::text_file(Path::new("-"), TEXT_BYTES)?.into(),
        _ => arguments.text,
    };
    let input = MemoryInput {
        content,
        kind: Some(arguments.kind),
        tags: arguments.tags,
        source: arguments.source,
        origin: arguments.origin,
        created_at: arguments.at,
        constitutional: arguments.constitutional,
    };
    let installation = Installation::open(global).await?;
    let agent = installation.agent(&arguments.agent).await?;
    let saved = agent.save(&[input], &installation.author()).await?;
    // One memory was given, and a batch is saved whole or not at all (SPEC 2.4).
    let saved = saved
        .first()
        .ok_or_else(|| Failure::new("the memory was not saved"))?;
    if global.json {
        terminal::json(saved)?;
    } else {
        // Without the `#`, which begins a comment in a shell.
        terminal::print(&saved.memory.number.0.to_string())?;
        if let Some(time) = saved.memory.fades_at {
            terminal::note(&format!("it fades from the prompt {}", when(time)));
        }
    }
    if saved.refinement_due.is_some() {
        let name = safe(agent.name());
        terminal::note(&format!(
            "hint: `{name}` is due for a session: `memoir refine {name}`"
        ));
    }
    Ok(Ending::Done)
}
