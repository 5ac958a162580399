//! `memoir remember`: saves one memory.

use memoir_app::{MemoryInput, Saved};
use memoir_domain::{
    PrivateText, Timestamp,
    audit::ActorKind,
    memory::{Kind, Number},
    origin::Origin,
    replace::NotReplaced,
};

use crate::{
    failure::{Failure, Outcome},
    installation::Installation,
    options::Global,
    output, parse,
    show::{self, when},
    terminal::{self, safe},
};

/// Save one memory and print its number
#[derive(Debug, clap::Args)]
#[command(override_usage = "memoir remember [OPTIONS] [AGENT] <TEXT>")]
pub(crate) struct Arguments {
    /// The agent; left out, it is `MEMOIR_AGENT`, or the only one
    // The text where it stands alone: an argument that may be missing before one that may begin with a hyphen cannot be
    // told to the parser.
    #[arg(value_name = "AGENT", value_parser = parse::text())]
    first: PrivateText,
    /// The text, 1 to 10,000 characters; `-` reads stdin
    #[arg(allow_hyphen_values = true, value_parser = parse::text())]
    text: Option<PrivateText>,
    /// `core` stays in the prompt, `journal` expires from it after a week, `archival` is found by recall alone
    #[arg(long, value_name = "KIND", default_value = "core", value_parser = parse::named::<Kind>)]
    kind: Kind,
    /// A tag; can be repeated
    #[arg(long = "tag", value_name = "TAG", value_parser = parse::text())]
    tags: Vec<PrivateText>,
    /// A core memory that the new one replaces; can be repeated. It moves to the archive, under the new one
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = parse::number)]
    replaces: Vec<Number>,
    /// A reference to the source of the text
    #[arg(long, value_name = "TEXT", value_parser = parse::text())]
    source: Option<PrivateText>,
    /// A weaker origin than your own, such as `external` for a quotation
    #[arg(long, value_name = "ORIGIN", value_parser = parse::named::<Origin>)]
    origin: Option<Origin>,
    /// The origin date of its content [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    at: Option<Timestamp>,
    /// Make it constitutional: no session can delete, merge or archive it
    #[arg(long)]
    constitutional: bool,
}

pub(crate) async fn run(global: &Global, arguments: Arguments) -> Outcome {
    let (agent, text) = match arguments.text {
        Some(text) => (Some(arguments.first), text),
        None => (None, arguments.first),
    };
    let is_alone = agent.is_none();
    let content = match text.expose() {
        "-" => parse::text_of_stdin(parse::MEMORY_BYTES)?.into(),
        _ => text,
    };
    let input = MemoryInput {
        content,
        kind: Some(arguments.kind),
        tags: arguments.tags,
        source: arguments.source,
        origin: arguments.origin,
        created_at: arguments.at,
        constitutional: arguments.constitutional,
        replaces: arguments.replaces,
        ..MemoryInput::default()
    };
    let installation = Installation::existing(global).await?;
    let name = agent.as_ref().map(PrivateText::expose);
    let agent = installation.agent_or_only(name).await?;
    if is_alone && agent.answers_to(input.content.expose()) {
        let name = agent.name();
        let problem = format!("`{name}` is the agent's name, and no text is given");
        return Err(Failure::new(problem).hint("`memoir remember AGENT TEXT` saves a text"));
    }
    // What is saved with the agent's token is the agent's own (SPEC 2.4).
    let author = installation.owner_or_actor(&agent).await?;
    if input.constitutional && author.kind == ActorKind::Agent {
        let problem = "`--constitutional` is for an administrator";
        return Err(Failure::new(problem)
            .code("forbidden")
            .hint("in a session, the agent protects a memory with `protect_memory`"));
    }
    let saved = agent.memories().save(&[input], &author).await?;
    // One memory was given, and a batch is saved whole or not at all (SPEC 2.4).
    let saved = saved
        .first()
        .ok_or_else(|| Failure::new("the memory was not saved"))?;
    if global.json {
        output::json(saved)?;
    } else {
        // Without the `#`, which begins a comment in a shell.
        output::print(&saved.memory.number.0.to_string())?;
        for note in notes(saved) {
            terminal::note(&note);
        }
    }
    // The memory is saved, whether the hint can be given or not.
    if saved.refinement_due.is_some()
        && let Ok(shown) = agent.views().show().await
    {
        let name = terminal::word(agent.name());
        let model = match shown.effective_model {
            Some(_) => format!("`memoir refine {name}` runs one"),
            None => {
                format!("it has no model; `memoir refine {name} --model PROVIDER:NAME` runs one")
            }
        };
        terminal::note(&format!(
            "hint: `{}` is due for a session: {model}",
            safe(agent.name())
        ));
    }
    Ok(())
}

fn notes(saved: &Saved) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(time) = saved.memory.fades_at {
        notes.push(format!("it expires from the prompt {}", when(time)));
    }
    if saved.memory.created_at > saved.memory.updated_at {
        let date = when(saved.memory.created_at);
        notes.push(format!("its origin date lies in the future: {date}"));
    }
    if let Some(number) = saved.same_as {
        notes.push(format!("{number} has the same text"));
    }
    notes.extend(saved.note.as_ref().map(|note| note.expose().to_owned()));
    if let Some(replaced) = saved.replaced.as_ref().filter(|all| !all.is_empty()) {
        let replaced = show::numbers(replaced);
        notes.push(format!("replaced, now in the archive: {replaced}"));
    }
    for one in saved.not_replaced.iter().flatten() {
        let (number, reason, why) = (one.number, one.reason, explanation(one.reason));
        notes.push(format!("not replaced: {number} ({reason}: {why})"));
    }
    notes
}

fn explanation(reason: NotReplaced) -> &'static str {
    match reason {
        NotReplaced::NotFound => "there is no active memory of that number",
        NotReplaced::NotCore => "only a core memory can be replaced, and only by a core memory",
        NotReplaced::Constitutional => "it is constitutional",
        NotReplaced::Immutable => "it has an immutable tag",
        NotReplaced::Origin => "its origin is stronger than that of the new memory",
        NotReplaced::Side => {
            "it is the agent's own text, and the new one came by an administrator's interface"
        }
        NotReplaced::WeekLimit => "ten memories were replaced in the last seven days",
        NotReplaced::AgeLimit => "too little of its age would stay in the prompt",
    }
}
