//! Absorption: the agent reads a conversation and notes what it wants to remember (SPEC 2.6).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    PrivateText, Timestamp,
    agent::Agent,
    answer::{self, Unreadable},
    audit::{Action, Actor, ActorKind, Facts, RecordBody},
    draft::{Decision, Draft},
    ledger,
    memory::{CONTENT_LIMIT, Kind, Memory, NewMemory, Tags, parse_text, tokens},
    prompt::{Prompt, identity},
    quote::quote,
    wording::{Origin, SavedBy},
};

const RULES: &str = include_str!("rules.md");
pub(crate) const DEFAULT_STYLE: &str = include_str!("style.md");
const CLOSING: &str = include_str!("closing.md");

/// The name of the answer's form.
pub const ANSWER: &str = "notes";
/// About so many tokens of a conversation are read at once (SPEC 2.6).
pub const CHUNK_TOKENS: u64 = 100_000;
/// Most entries that one answer may hold.
// They are saved in one transaction; an answer of more is a model that copies instead of noting.
pub const NOTES_LIMIT: usize = 200;
/// A conversation is read once nothing was added to it for so many seconds (SPEC 2.6).
pub const IDLE_SECONDS: i64 = 6 * 60 * 60;
/// The source of what was noted in this way.
pub const SOURCE: &str = "conversation";

wire_names! {
    /// What became of a message that was handed over.
    pub enum MessageState {
        /// It waits to be read.
        Pending = "pending",
        /// It was read, once and for all; its words are gone.
        Absorbed = "absorbed",
        /// It was given up after many attempts; it can be tried again by hand.
        Failed = "failed",
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationMessage {
    /// When it was said; `None` where the transcript does not tell.
    pub at: Option<Timestamp>,
    /// Who said it.
    pub speaker: PrivateText,
    /// What was said.
    pub text: PrivateText,
    /// In what role somebody handed it over.
    pub handed_over_by: ActorKind,
}

impl ConversationMessage {
    /// One line, in which no content can pass for another message.
    fn line(&self) -> String {
        let at = self.at.map_or("-".to_owned(), |at| at.to_string());
        format!(
            "{at} | {} | {}\n",
            quote(self.speaker.expose()),
            quote(self.text.expose())
        )
    }

    /// Its size in the question, in tokens.
    pub fn tokens(&self) -> u64 {
        tokens(&self.line())
    }
}

/// How many of the first messages are read at once: as many as fit into `budget` tokens, and at least one,
/// since a message is never split.
pub fn chunk(sizes: impl IntoIterator<Item = u64>, budget: u64) -> usize {
    let mut used = 0_u64;
    let fits = |size: u64| {
        used = used.saturating_add(size);
        used <= budget
    };
    sizes
        .into_iter()
        .map(fits)
        .take_while(|fits| *fits)
        .count()
        .max(1)
}

/// What the agent remembers already, as a question shows it: its core memories, and what it noted of the
/// chunks before. Within the room given; what was noted last is shown first of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known(PrivateText);

impl Known {
    /// The kept core memories among `memories`, and the notes of earlier chunks, within `budget` tokens.
    pub fn new<'a>(
        agent: &Agent,
        memories: impl IntoIterator<Item = &'a Memory>,
        noted: &[NewMemory],
        budget: u64,
    ) -> Self {
        // At most a third for notes: a long conversation makes many, and the core memories must not be
        // crowded out by them. What notes leave over is core's.
        let notes = notes(noted, budget / 3);
        let immutable = agent.settings.immutable_tag_set();
        let core = memories.into_iter().filter(|memory| memory.is_kept_core());
        let room = budget.saturating_sub(tokens(&notes));
        let core = ledger::build(core.collect(), &immutable, None, room);
        let mut text = String::new();
        if !core.text.is_empty() {
            text.push_str("## Your core memories, oldest first\n\n");
            text.push_str(ledger::COLUMNS);
            text.push_str("\n\n");
            text.push_str(core.text.expose());
            text.push('\n');
        }
        text.push_str(&notes);
        Self(text.into())
    }

    /// Its size in the question, in tokens.
    pub fn tokens(&self) -> u64 {
        tokens(self.0.expose())
    }
}

/// The last of the journal entries that were noted, in the order in which they were. Core memories are among
/// the others.
fn notes(noted: &[NewMemory], budget: u64) -> String {
    let entries = noted.iter().filter(|note| note.kind == Kind::Journal);
    let lines: Vec<String> = entries
        .map(|note| format!("{}\n", quote(note.content.expose())))
        .collect();
    // Where not all notes fit, the latest are shown, since the next part of the conversation goes on from them.
    let sizes = lines.iter().rev().map(|line| tokens(line));
    let shown = match lines.is_empty() {
        true => return String::new(),
        false => chunk(sizes, budget),
    };
    let left_out = match lines.len() - shown {
        0 => String::new(),
        1 => "(1 earlier note is not listed.)\n".to_owned(),
        more => format!("({more} earlier notes are not listed.)\n"),
    };
    let lines: String = lines.into_iter().rev().take(shown).rev().collect();
    format!("## What you noted in your journal of the parts before this one\n\n{left_out}{lines}\n")
}

/// What the agent is asked about one chunk.
pub fn ask(agent: &Agent, known: &Known, messages: &[ConversationMessage]) -> Prompt {
    let lines: String = messages.iter().map(ConversationMessage::line).collect();
    Prompt {
        system: format!(
            "{}\n\n{}\n\n## What you look for\n\n{}",
            identity(agent),
            RULES.trim(),
            style(agent)
        )
        .into(),
        user: format!(
            "{}## The conversation\n\ntime | speaker | text\n\n{lines}\n{}",
            known.0.expose(),
            CLOSING.trim()
        )
        .into(),
    }
}

/// One part as it is put before an agent that reads it itself, on whatever model it lives.
pub fn show(agent: &Agent, messages: &[ConversationMessage]) -> PrivateText {
    let lines: String = messages.iter().map(ConversationMessage::line).collect();
    format!(
        "{}\n\n## What you look for\n\n{}\n\n## The conversation\n\ntime | speaker | text\n\n{lines}",
        RULES.trim(),
        style(agent)
    )
    .into()
}

fn style(agent: &Agent) -> &str {
    let own = agent.settings.reflection_prompt.as_ref();
    own.map_or(DEFAULT_STYLE, PrivateText::expose).trim()
}

/// JSON schema of the answer.
pub fn answer_schema() -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {"journal": texts, "core": texts},
        "required": ["journal", "core"],
        "additionalProperties": false,
    })
}

/// Who what is noted of these messages counts as added by: where an administrator handed one of them over, an
/// administrator, who may have put words in to guess with (SPEC 3.4).
pub fn added_by(messages: &[ConversationMessage]) -> ActorKind {
    let by = |kind| {
        messages
            .iter()
            .any(|message| message.handed_over_by == kind)
    };
    // One message is enough: the notes do not tell which of the messages they are from.
    let strictest = [ActorKind::Administrator, ActorKind::Owner];
    strictest
        .into_iter()
        .find(|kind| by(*kind))
        .unwrap_or(ActorKind::Agent)
}

/// What an answer notes, as memories dated `at` and added by `added_by`.
///
/// # Errors
/// It cannot be read, holds too many entries, or one that is no memory's text. Then nothing of it counts:
/// it is saved whole or not at all.
pub fn read(
    answer: &str,
    at: Timestamp,
    added_by: ActorKind,
) -> Result<Vec<NewMemory>, Unreadable> {
    #[derive(Deserialize)]
    struct NotedAnswer {
        journal: Vec<PrivateText>,
        // Only `journal` must be there, since the object is found by it. A model with nothing for core may
        // leave that out.
        #[serde(default)]
        core: Vec<PrivateText>,
    }
    let NotedAnswer { journal, core } = answer::read(answer, "journal")?;
    noted(&journal, &core, at, added_by)
}

/// What was noted, as memories dated `at` and added by `added_by`.
///
/// # Errors
/// As for [`read`].
pub fn noted(
    journal: &[PrivateText],
    core: &[PrivateText],
    at: Timestamp,
    added_by: ActorKind,
) -> Result<Vec<NewMemory>, Unreadable> {
    let count = journal.len() + core.len();
    if count > NOTES_LIMIT {
        return Err(Unreadable::new(
            "too_many",
            format!("there are {count} entries, and the limit is {NOTES_LIMIT}"),
        ));
    }
    let journal = journal.iter().map(|text| (Kind::Journal, text));
    let core = core.iter().map(|text| (Kind::Core, text));
    journal
        .chain(core)
        .map(|(kind, text)| {
            let content =
                parse_text("content", text.expose(), CONTENT_LIMIT).map_err(|invalid| {
                    Unreadable::new("bad_entry", format!("an entry {}", invalid.problem))
                })?;
            Ok(NewMemory {
                kind,
                content,
                tags: Tags::default(),
                source: Some(SOURCE.into()),
                created_at: Some(at),
                constitutional: false,
                // What a model noted of a conversation is weaker than what the agent saved itself.
                door: SavedBy {
                    origin: Origin::Conversation,
                    added_by,
                },
                wordings: None,
            })
        })
        .collect()
}

/// Saves what was noted of `messages` messages, and says so on the record.
pub fn absorb(agent: Agent, notes: Vec<NewMemory>, messages: usize, now: Timestamp) -> Decision {
    let actor = Actor::agent(agent.name.clone());
    let saved = notes.len() as u64;
    let mut draft = Draft::new(agent, None, now);
    for mut note in notes {
        // Whoever handed the conversation over dated its messages.
        note.created_at = note.created_at.map(|at| at.min(now));
        let (number, created) = draft.create(note);
        let body = RecordBody {
            changes: vec![created],
            ..RecordBody::default()
        };
        let facts = Facts::default();
        draft.record(
            actor.clone(),
            Action::MemorySaved,
            Some(number),
            facts,
            body,
        );
    }
    let facts = Facts::default()
        .count("messages", messages as u64)
        .count("saved", saved);
    draft.record(
        actor,
        Action::TranscriptAbsorbed,
        None,
        facts,
        RecordBody::default(),
    );
    draft.finish()
}

/// Puts on the record that nothing of `messages` messages was saved, and why. They are tried again later.
pub fn fail(agent: Agent, messages: usize, why: &'static str, now: Timestamp) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    let facts = Facts::default()
        .count("messages", messages as u64)
        .code("why", why);
    draft.record(
        Actor::system(),
        Action::TranscriptFailed,
        None,
        facts,
        RecordBody::default(),
    );
    draft.finish()
}
