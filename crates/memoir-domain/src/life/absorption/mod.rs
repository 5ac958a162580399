//! Absorption: the agent reads a conversation and notes what it wants to remember (SPEC 2.6).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    agent::{Agent, fill_placeholders, has_placeholder},
    change::{
        draft::{Decision, Draft},
        manage::{self, Saved, Saving},
        replace::{NAMED_LIMIT, Replacing},
    },
    log::audit::{Action, Actor, Facts},
    memory::{
        Kind, Memory, NewMemory, Number,
        origin::{ActorKind, Origin, SavedBy},
        parse_content, tokens,
    },
    session::{
        ledger,
        prompt::{Prompt, identity},
        tools::read_numbers,
    },
    text::{
        answer::{self, Unreadable},
        private::PrivateText,
        quote::quote,
    },
    time::Timestamp,
};

const RULES: &str = include_str!("rules.md");
pub(crate) const DEFAULT_STYLE: &str = include_str!("style.md");
const CLOSING: &str = include_str!("closing.md");

/// The name of the response format.
pub const ANSWER: &str = "notes";
/// The tokens of a conversation that are read in one part, about (SPEC 2.6).
pub const CHUNK_TOKENS: u64 = 100_000;
/// Most entries of one response.
// They are saved in one transaction; a model that gives more copies instead of noting.
pub const NOTES_LIMIT: usize = 200;
/// A conversation is read once nothing was added to it for so many seconds (SPEC 2.6).
pub const IDLE_SECONDS: i64 = 6 * 60 * 60;
/// For so many days absorbed messages stay stored, sealed, so that a bad reading can be repeated (SPEC 2.6).
pub const KEPT_DAYS: i64 = 7;
/// The source of absorbed entries.
pub const SOURCE: &str = "conversation";

wire_names! {
    /// The state of a message.
    pub enum MessageState {
        Pending = "pending",
        /// It was read. Its text is kept for [`KEPT_DAYS`], within which it can be read once more by hand.
        Absorbed = "absorbed",
        /// It failed permanently after many attempts; it can be retried by hand.
        Failed = "failed",
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationMessage {
    /// When it was sent; `None` where the transcript does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The author.
    pub speaker: PrivateText,
    /// The text.
    pub text: PrivateText,
    /// The role of the client that delivered it.
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

    /// Its size in the prompt, in tokens.
    pub fn tokens(&self) -> u64 {
        tokens(&self.line())
    }
}

/// How many of the first messages are read together: as many as fit into `budget` tokens, and at least one, since a
/// message is never split.
pub fn chunk(sizes: impl IntoIterator<Item = u64>, budget: u64) -> usize {
    let mut used = 0_u64;
    let fits = |size: u64| {
        used = used.saturating_add(size);
        used <= budget
    };
    let fitting = sizes.into_iter().map(fits).take_while(|fits| *fits);
    fitting.count().max(1)
}

/// The agent's present memories, as the prompt shows them: its core memories, and its notes of the chunks before.
/// Within the given room; the latest notes come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The rows of its core memories.
    core: PrivateText,
    /// The section of its notes.
    notes: PrivateText,
}

impl Known {
    /// The active core memories among `memories`, and the notes of earlier chunks, within `budget` tokens.
    pub fn new<'a>(
        agent: &Agent,
        memories: impl IntoIterator<Item = &'a Memory>,
        noted: &[&Memory],
        budget: u64,
    ) -> Self {
        // At most a third for notes: a long conversation makes many, which must not displace the core memories. Core
        // gets the rest.
        let notes = notes(noted, budget / 3);
        let immutable = agent.settings.immutable_tag_set();
        let core = memories
            .into_iter()
            .filter(|memory| memory.is_active_core());
        let room = budget.saturating_sub(tokens(&notes));
        let core = ledger::build(core.collect(), &immutable, &Default::default(), None, room);
        Self {
            core: core.text,
            notes: notes.into(),
        }
    }

    /// Its size in the prompt, in tokens.
    pub fn tokens(&self) -> u64 {
        tokens(&self.core_section()) + tokens(self.notes.expose())
    }

    fn core_section(&self) -> String {
        if self.core.is_empty() {
            return String::new();
        }
        format!(
            "## Your core memories, oldest first\n\n{}\n\n{}\n",
            ledger::COLUMNS,
            self.core.expose()
        )
    }
}

/// The active journal entries among `memories` that were noted of conversations, in their order.
pub fn notes_among<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> Vec<&'a Memory> {
    let is_note = |memory: &&Memory| {
        let is_entry = memory.kind() == Kind::Journal && memory.is_active();
        is_entry && memory.origin() == Origin::Conversation
    };
    let mut noted: Vec<&Memory> = memories.into_iter().filter(is_note).collect();
    noted.sort_by_key(|memory| memory.number);
    noted
}

/// The latest of the noted journal entries, in their order.
fn notes(noted: &[&Memory], budget: u64) -> String {
    let lines: Vec<String> = noted
        .iter()
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

/// The prompt about one chunk.
pub fn ask(agent: &Agent, known: &Known, messages: &[ConversationMessage]) -> Prompt {
    let lines: String = messages.iter().map(ConversationMessage::line).collect();
    // Text that the agent's own prompt contains is not repeated: the room is for one copy.
    let core = match has_own_placeholder(agent, "core_memories") {
        true => String::new(),
        false => known.core_section(),
    };
    Prompt {
        system: format!(
            "{}\n\n{}\n\n## What you look for\n\n{}",
            identity(agent),
            RULES.trim(),
            style(agent, known, &lines)
        )
        .into(),
        user: format!(
            "{core}{}{}{}",
            known.notes.expose(),
            conversation(agent, &lines),
            CLOSING.trim()
        )
        .into(),
    }
}

/// One part for an agent that reads it itself, on its own model. Its present memories are shown only where its own
/// prompt has a placeholder for them: its client has them in the agent's context.
pub fn show(agent: &Agent, known: &Known, messages: &[ConversationMessage]) -> PrivateText {
    let lines: String = messages.iter().map(ConversationMessage::line).collect();
    let text = format!(
        "{}\n\n## What you look for\n\n{}\n\n{}",
        RULES.trim(),
        style(agent, known, &lines),
        conversation(agent, &lines)
    );
    PrivateText::new(format!("{}\n", text.trim_end()))
}

/// The agent's instruction for absorption, with its placeholders filled where it wrote that itself.
fn style(agent: &Agent, known: &Known, lines: &str) -> String {
    let Some(own) = &agent.settings.reflection_prompt else {
        return DEFAULT_STYLE.trim().to_owned();
    };
    let identity = identity(agent);
    let values = [
        ("system_prompt", identity.as_str()),
        ("core_memories", known.core.expose()),
        ("conversation", lines),
    ];
    fill_placeholders(own.expose(), &values).trim().to_owned()
}

/// The section of the conversation; empty where the agent's own prompt contains it.
fn conversation(agent: &Agent, lines: &str) -> String {
    match has_own_placeholder(agent, "conversation") {
        true => String::new(),
        false => format!("## The conversation\n\ntime | speaker | text\n\n{lines}\n"),
    }
}

fn has_own_placeholder(agent: &Agent, name: &str) -> bool {
    let own = agent.settings.reflection_prompt.as_ref();
    own.is_some_and(|own| has_placeholder(own.expose(), name))
}

/// JSON schema of the response.
pub fn answer_schema() -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let entry = json!({
        "type": "object",
        "properties": {
            "content": {"type": "string"},
            "replaces": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["content", "replaces"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {"journal": texts, "core": {"type": "array", "items": entry}},
        "required": ["journal", "core"],
        "additionalProperties": false,
    })
}

/// An entry for core, as a text alone or with the core memories that it replaces.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum CoreNote {
    /// A text that replaces nothing.
    Text(PrivateText),
    /// A text and what it replaces.
    Replacing {
        /// The text.
        content: PrivateText,
        /// Numbers of core memories, in any form that models write (SPEC 3.8); null for none.
        #[serde(default)]
        replaces: Value,
    },
}

impl CoreNote {
    /// Whether it names a memory to replace.
    pub fn replaces_any(&self) -> bool {
        matches!(self, Self::Replacing { replaces, .. } if !replaces.is_null() && *replaces != json!([]))
    }
}

/// The adding role for notes of these messages: an administrator where one delivered any of them, who may have added
/// text for guessing (SPEC 3.4).
pub fn added_by(messages: &[ConversationMessage]) -> ActorKind {
    let by = |kind| {
        messages
            .iter()
            .any(|message| message.handed_over_by == kind)
    };
    // One message is enough: the notes do not say which message they are from.
    let strictest = [ActorKind::Administrator, ActorKind::Owner];
    let mut kinds = strictest.into_iter();
    kinds.find(|kind| by(*kind)).unwrap_or(ActorKind::Agent)
}

/// The entries of a response, as memories dated `at` and added by `added_by`.
///
/// # Errors
/// It cannot be read, has too many entries, names too many memories, or has an entry that is no memory's text. It is
/// saved whole or not at all.
pub fn read(answer: &str, at: Timestamp, added_by: ActorKind) -> Result<Vec<Saving>, Unreadable> {
    /// A text, alone or as entries for core are written.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum JournalNote {
        Text(PrivateText),
        Noted { content: PrivateText },
    }
    // One of both must be there, since the object is found by it. A model may leave the other out.
    #[derive(Deserialize)]
    struct NotedAnswer {
        #[serde(default)]
        journal: Vec<JournalNote>,
        #[serde(default)]
        core: Vec<CoreNote>,
    }
    let NotedAnswer { journal, core } = answer::read(answer, &["journal", "core"])?;
    let text = |note| match note {
        JournalNote::Text(text) | JournalNote::Noted { content: text } => text,
    };
    let journal: Vec<PrivateText> = journal.into_iter().map(text).collect();
    noted(&journal, &core, at, added_by)
}

/// The noted entries, as memories dated `at` and added by `added_by`.
///
/// # Errors
/// As for [`read`].
pub fn noted(
    journal: &[PrivateText],
    core: &[CoreNote],
    at: Timestamp,
    added_by: ActorKind,
) -> Result<Vec<Saving>, Unreadable> {
    Unreadable::check_count("entries", journal.len() + core.len(), NOTES_LIMIT)?;
    let note = |kind: Kind, text: &PrivateText, replaces: Vec<Number>| {
        let content = parse_content(text.expose()).map_err(|invalid| {
            Unreadable::new("bad_entry", format!("an entry {}", invalid.problem))
        })?;
        // A model's notes of a conversation are weaker than the agent's own saves.
        let saved_by = SavedBy {
            origin: Origin::Conversation,
            added_by,
        };
        Ok(Saving {
            memory: NewMemory {
                source: Some(SOURCE.into()),
                created_at: Some(at),
                ..NewMemory::new(kind, content, saved_by)
            },
            replaces,
        })
    };
    let journal = journal
        .iter()
        .map(|text| note(Kind::Journal, text, Vec::new()));
    let core = core.iter().map(|entry| match entry {
        CoreNote::Text(text) => note(Kind::Core, text, Vec::new()),
        CoreNote::Replacing { content, replaces } => {
            let numbers = read_numbers(replaces).ok_or_else(|| {
                Unreadable::new(
                    "bad_entry",
                    "`replaces` must be a list of numbers such as 17",
                )
            })?;
            note(Kind::Core, content, numbers)
        }
    });
    let notes = journal.chain(core).collect::<Result<Vec<Saving>, _>>()?;
    let named = notes.iter().map(|note| note.replaces.len()).sum();
    Unreadable::check_count("numbers in `replaces`", named, NAMED_LIMIT)?;
    Ok(notes)
}

/// Saves the entries noted of `messages` messages, replaces the memories that they name, and records it.
pub fn absorb(
    agent: Agent,
    notes: Vec<Saving>,
    replacing: &mut Replacing,
    messages: usize,
    now: Timestamp,
) -> (Decision, Vec<Saved>) {
    let actor = Actor::agent(agent.name.clone());
    let mut draft = Draft::for_agent(agent, now);
    let mut saved = Vec::new();
    for mut note in notes {
        // The client that delivered the conversation dated its messages.
        note.memory.created_at = note.memory.created_at.map(|at| at.min(now));
        saved.push(manage::save_replacing(&mut draft, note, replacing, &actor));
    }
    let all = || saved.iter().map(|one| &one.replacements);
    let replaced = all().flat_map(|done| &done.replaced).count();
    let not_replaced = all().flat_map(|done| &done.not_replaced);
    let facts = Facts::default()
        .count("messages", messages as u64)
        .count("saved", saved.len() as u64)
        .count("replaced", replaced as u64)
        .unreplaced(not_replaced.copied());
    draft.record(&actor, Action::TranscriptAbsorbed, None, facts, Vec::new());
    (draft.finish(), saved)
}

/// Records that nothing of `messages` messages was saved, and why. They are retried later.
pub fn fail(agent: Agent, messages: usize, why: &'static str, now: Timestamp) -> Decision {
    let facts = Facts::default()
        .count("messages", messages as u64)
        .code("why", why);
    let action = Action::TranscriptFailed;
    Decision::of_record(agent, &Actor::system(), action, facts, now)
}
