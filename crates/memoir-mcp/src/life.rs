//! The tools for what happens between sessions: conversations to read, and the journal (SPEC 2.5, 2.6).

use memoir_app::{HandedMessage, OwnAgent, Result, UnreadPart};
use memoir_domain::{absorption::CoreNote, audit::ActorKind, memory::Invalid};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{arguments::Arguments, tools::shown};

/// The text below the messages that are shown.
const CLOSING: &str = include_str!("closing.md");

/// Notes for core: texts alone, or with the core memories that they replace.
fn core_notes(arguments: &Arguments<'_>) -> Result<Vec<CoreNote>, Invalid> {
    let what = "notes, each with `content`";
    let note = |item: &Value| match item {
        Value::String(text) => Ok(CoreNote::Text(text.as_str().into())),
        Value::Object(_) => {
            let note = Arguments::of(item, &["content", "replaces"])?;
            let numbers = note.numbers("replaces")?;
            Ok(CoreNote::Replacing {
                content: note.needed("content")?.into(),
                replaces: numbers.iter().map(|number| number.0).collect(),
            })
        }
        _ => Err(Invalid::new("core", format!("must be a list of {what}"))),
    };
    arguments.items("core", what)?.iter().map(note).collect()
}

/// Takes messages to be read.
pub(crate) async fn absorb(agent: &OwnAgent, given: &Arguments<'_>) -> Result<Value> {
    let now = given.flag("now")?;
    if !given.is_set("messages") {
        return Err(Invalid::new("messages", "is missing").into());
    }
    let items = given.items("messages", "messages")?;
    let messages = items.iter().enumerate().map(|(place, item)| {
        HandedMessage::deserialize(item).map_err(|_| {
            // Not the parser's message: it may quote the conversation.
            let problem = format!(
                "has one, number {}, that is not of the form of a message",
                place + 1
            );
            Invalid::new("messages", problem)
        })
    });
    let messages = messages.collect::<Result<Vec<_>, Invalid>>()?;
    let life = agent.life();
    let handed = life.hand_over(messages, now, ActorKind::Agent).await?;
    Ok(json!({"type": "transcript_received", "received": handed.received, "known": handed.known}))
}

/// Shows waiting messages to an agent that reads them itself; those that it has read are marked, and its notes are
/// saved.
pub(crate) async fn read(agent: &OwnAgent, given: &Arguments<'_>) -> Result<Value> {
    let (journal, core) = (given.texts("journal")?, core_notes(given)?);
    // The notes come first: the part that is shown below follows them.
    let noted = match given.text("part")? {
        Some(part) => Some(agent.note_part(part, &journal, &core).await?),
        None if journal.is_empty() && core.is_empty() => None,
        None => {
            let problem =
                "is missing; give the one that came with the messages that you noted this of";
            return Err(Invalid::new("part", problem).into());
        }
    };
    let next = match (agent.read_part().await, &noted) {
        // The notes are saved, and an error would say that they are not. Another call shows what waits.
        (Err(_), Some(noted)) => UnreadPart {
            waiting: noted.waiting,
            ..UnreadPart::default()
        },
        (next, _) => next?,
    };
    let mut answer = json!({"type": "messages", "waiting": next.waiting});
    if let Some(noted) = noted {
        (answer["read"], answer["saved"]) = (noted.messages.into(), noted.saved.into());
        if core.iter().any(CoreNote::replaces_any) {
            answer["replaced"] = shown(&noted.replaced)?;
            answer["not_replaced"] = shown(&noted.not_replaced)?;
        }
    }
    if next.too_large > 0 {
        answer["too_large"] = next.too_large.into();
    }
    if let Some(part) = next.part {
        answer["text"] = format!("{}\n{}", next.text.expose(), CLOSING.trim()).into();
        answer["part"] = part.into();
    }
    Ok(answer)
}

/// The agent's model names the journal entries to promote.
pub(crate) async fn reflect(agent: &OwnAgent, _: &Arguments<'_>) -> Result<Value> {
    let mut answer = shown(&agent.life().reflect().await?)?;
    answer["type"] = "reflected".into();
    Ok(answer)
}
