//! Saving, replacing, promoting, discarding and restoring memories (SPEC 2.1, 2.4, 4.3).

use std::{collections::HashMap, fmt};

use memoir_domain::{
    PrivateJson, PrivateText, Timestamp,
    audit::{Actor, ActorKind, Change},
    draft::Decision,
    manage::{self, Saving},
    memories::AllMemories,
    memory::{
        Invalid, Kind, Memory, NewMemory, Number, SOURCE_LIMIT, Tags, parse_content, parse_text,
    },
    origin::{Origin, SavedBy},
    recall::{self, RecallQuery},
    replace::Unreplaced,
    tools::{read_number, read_numbers, read_words},
};
use memoir_store::{AgentQuery, Selection};
use memoir_text::{is_same_text, unnamed_subject};
use memoir_vault::AgentKey;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _, Expected, IgnoredAny, SeqAccess, Unexpected, Visitor},
};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    core::{CONFLICT, Error, Loaded, Result, codec, spans},
    memory::{
        Memories,
        replacing::query_to_save,
        same_text::{FoundTexts, ReadTexts, SameTexts},
    },
    shown::{ArchiveLinks, ShownMemory, schemas, views::RefinementDue},
};

/// A memory to save.
// Unchecked; every interface gives it in this form, and so does a line of a file of memories.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewMemory)]
pub struct MemoryInput {
    /// 1 to 10,000 characters after trimming.
    #[schema(value_type = String, min_length = 1, max_length = 10_000, example = "The kiln is fired on Thursdays.")]
    pub content: PrivateText,
    /// `core` where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "optional")]
    #[schema(value_type = Option<schemas::Kind>)]
    pub kind: Option<Kind>,
    /// Up to 16, each 1 to 50 characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "words")]
    #[schema(value_type = Option<Vec<String>>, max_items = 16, example = json!(["pottery"]))]
    pub tags: Vec<PrivateText>,
    /// Where it came from: up to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "optional")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 200, example = "conversation")]
    pub source: Option<PrivateText>,
    /// A weaker origin than that which the interface assigns, such as `external` for what is quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "optional")]
    #[schema(value_type = Option<schemas::Origin>)]
    pub origin: Option<Origin>,
    /// The origin date; now where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "optional")]
    #[schema(example = "2026-03-04T12:00:00Z")]
    pub created_at: Option<Timestamp>,
    /// Whether no session can delete, consolidate or archive it: for an administrator to set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(deserialize_with = "optional_or_default")]
    #[schema(value_type = Option<bool>)]
    pub constitutional: bool,
    /// In a file only: its number there, by which other lines refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "number")]
    #[schema(ignore)]
    pub number: Option<u64>,
    /// In a file only: whether a session wrote its text in place of others. Ignored unless another line is under it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(deserialize_with = "optional_or_default")]
    #[schema(ignore)]
    pub is_summary: bool,
    /// In a file only, for an archival memory: the line that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "number")]
    #[schema(ignore)]
    pub under: Option<u64>,
    /// In a file only, of an archival memory: when it became so; `None` means now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "optional")]
    #[schema(ignore)]
    pub archived_at: Option<Timestamp>,
    /// Numbers of core memories that it replaces, up to 1,000. They become archival under it; what cannot be replaced
    /// stays where it is, and `not_replaced` in the response says why.
    // In a file: the numbers of lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "numbers")]
    #[schema(value_type = Option<Vec<u64>>, example = json!([12]))]
    pub replaces: Vec<Number>,
}

/// An optional value of a request, which null and a blank text leave out, as in a tool's arguments.
///
/// # Errors
/// It is of another type.
pub fn optional<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    given: D,
) -> Result<Option<T>, D::Error> {
    let given = PrivateJson::deserialize(given)?;
    match given.expose() {
        value if is_left_out(value) => Ok(None),
        value => T::deserialize(value).map(Some).map_err(D::Error::custom),
    }
}

/// As [`optional`], with the type's default for a value that is left out.
///
/// # Errors
/// It is of another type.
pub fn optional_or_default<'de, T: DeserializeOwned + Default, D: Deserializer<'de>>(
    given: D,
) -> Result<T, D::Error> {
    optional(given).map(Option::unwrap_or_default)
}

fn is_left_out(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// A list of words in each of its written forms (SPEC 3.8).
fn words<'de, D: Deserializer<'de>>(given: D) -> Result<Vec<PrivateText>, D::Error> {
    let expected = &"a list of texts such as [\"bees\", \"hives\"]";
    list(given, read_words, expected)
}

/// A list of memories' numbers in each of its written forms (SPEC 3.8).
fn numbers<'de, D: Deserializer<'de>>(given: D) -> Result<Vec<Number>, D::Error> {
    list(given, read_numbers, &"a list of numbers such as [17, 21]")
}

/// A memory's number in each of its written forms (SPEC 3.8).
fn number<'de, D: Deserializer<'de>>(given: D) -> Result<Option<u64>, D::Error> {
    let one = |value: &Value| Some(vec![read_number(value)?.0]);
    Ok(list(given, one, &"a memory's number such as 17")?.pop())
}

fn list<'de, D: Deserializer<'de>, T>(
    given: D,
    read: impl Fn(&Value) -> Option<Vec<T>>,
    expected: &dyn Expected,
) -> Result<Vec<T>, D::Error> {
    let given = PrivateJson::new(given.deserialize_any(ListVisitor(expected))?);
    if is_left_out(given.expose()) {
        return Ok(Vec::new());
    }
    let wrong = || D::Error::invalid_type(Unexpected::Other("another value"), expected);
    read(given.expose()).ok_or_else(wrong)
}

/// Most items of a list in a request, and most numbers in `replaces`. An item takes many times the room of the shortest
/// text that gives one, and of such texts a body holds very many.
const LIST_LIMIT: usize = 1_000;

/// A number, null, or a list of up to [`LIST_LIMIT`] items, also as text. Further items are counted and not kept.
struct ListVisitor<'a>(&'a dyn Expected);

impl<'de> Visitor<'de> for ListVisitor<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < LIST_LIMIT {
            match list.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
        let mut given = items.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            given += 1;
        }
        match given {
            LIST_LIMIT => Ok(Value::Array(items)),
            _ => Err(too_many(given)),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        // In each form, items are separated by commas, or begin with `#`.
        match text.split(',').count().max(text.matches('#').count()) {
            0..=LIST_LIMIT => Ok(text.into()),
            given => Err(too_many(given)),
        }
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

fn too_many<E: serde::de::Error>(given: usize) -> E {
    E::invalid_length(given, &format!("a list of at most {LIST_LIMIT}").as_str())
}

impl MemoryInput {
    /// Checks it against the limits, at `now`.
    ///
    /// # Errors
    /// Names the field at fault, the limit and the given size.
    pub fn check(&self, saved_by: SavedBy, now: Timestamp) -> Result<Saving, Invalid> {
        let source = self.source.as_ref();
        let kind = self.kind.unwrap_or(Kind::Core);
        for (field, is_given) in [
            ("number", self.number.is_some()),
            ("is_summary", self.is_summary),
            ("under", self.under.is_some()),
            ("archived_at", self.archived_at.is_some()),
        ] {
            if is_given {
                let problem = "is set in a file of memories only; leave it out";
                return Err(Invalid::new(field, problem));
            }
        }
        if self.constitutional && kind != Kind::Core {
            return Err(Invalid::new(
                "constitutional",
                "applies to core memories only; leave out `kind`, or leave it unprotected",
            ));
        }
        let given = self.replaces.len();
        if given > LIST_LIMIT {
            let problem = format!("has {given} numbers, and the limit is {LIST_LIMIT}");
            return Err(Invalid::new("replaces", problem));
        }
        let content = parse_content(self.content.expose())?;
        // The interface assigns the strongest origin that is possible here; a client can only lower it (SPEC 2.4).
        let saved_by = SavedBy {
            origin: saved_by.origin.lowered_to(self.origin)?,
            ..saved_by
        };
        let memory = NewMemory {
            tags: Tags::parse(self.tags.iter().map(PrivateText::expose))?,
            source: source
                .map(|source| parse_text("source", source.expose(), SOURCE_LIMIT))
                .transpose()?,
            created_at: self.created_at,
            constitutional: self.constitutional,
            ..NewMemory::new(kind, content, saved_by)
        };
        memory.check_date(now)?;
        Ok(Saving {
            memory,
            replaces: self.replaces.clone(),
        })
    }
}

/// A memory that was saved.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = SavedMemory)]
pub struct Saved {
    /// The memory, as the caller that saved it may see it.
    #[serde(flatten)]
    pub memory: ShownMemory,
    /// Whether a session is due now, and why.
    #[schema(required)]
    pub refinement_due: Option<RefinementDue>,
    /// An active memory that has the same text; only in the agent's own response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub same_as: Option<Number>,
    /// The memories that it replaced, where `replaces` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<u64>>)]
    pub replaced: Option<Vec<Number>>,
    /// Those that were not replaced, with the reason, where `replaces` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<schemas::NotReplaced>>)]
    pub not_replaced: Option<Vec<Unreplaced>>,
    /// One line on how to word the text better: it begins with a pronoun, and names no person. Only where that is sure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub note: Option<PrivateText>,
}

/// The note beside a saved text that does not say who it is about, so that its caller can word it better; `None` where
/// that is not sure.
fn note(text: &str) -> Option<PrivateText> {
    let pronoun = unnamed_subject(text)?;
    let note = format!(
        "the text does not say who \"{pronoun}\" is: worded with the name, it can be found and understood later"
    );
    Some(note.into())
}

/// Acts on one memory outside of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// It is discarded, and can be restored. Repeating it is no error.
    Discard,
    /// An active core memory becomes constitutional. Repeating it is no error.
    Protect,
    /// The constitutional flag is taken from an active core memory. Repeating it is no error.
    Unprotect,
    /// A discarded one is restored where it was. Repeating it is no error.
    Restore,
    /// An archival one returns to the prompt.
    Promote,
}

/// A saved text is in memory about so many times: as given, checked, sealed as a row and as a record.
const SAVED_TIMES: usize = 5;

impl Memories<'_> {
    /// Saves memories, all of them or none, in their order.
    ///
    /// # Errors
    /// One breaks a limit, or the store fails.
    pub async fn save(self, inputs: &[MemoryInput], actor: &Actor) -> Result<Vec<Saved>> {
        let span = spans::memory(self.scope, "create_memory");
        spans::of_memories(span, self.save_all(inputs, actor)).await
    }

    async fn save_all(self, inputs: &[MemoryInput], actor: &Actor) -> Result<Vec<Saved>> {
        let now = self.memoir.now();
        // All are checked before the agent is loaded: an invalid input costs the store nothing.
        let savings = inputs
            .iter()
            .map(|input| input.check(SavedBy::of(actor.kind), now))
            .collect::<Result<Vec<Saving>, Invalid>>()?;
        if savings.is_empty() {
            return Ok(Vec::new());
        }
        let texts = inputs.iter().map(|input| input.content.expose().len());
        let bytes = texts.sum::<usize>() * SAVED_TIMES;
        let query = query_to_save(&savings);
        // First what is read: a task with room, such as that of the texts, waits for no more.
        let _loads = self.room_for(&query).await?;
        let _room = self.memoir.room.take(self.scope, bytes).await?;
        self.decide_reading(&query, |loaded, now| {
            let savings = savings.clone();
            async move { self.attempt_save(loaded, inputs, savings, actor, now).await }
        })
        .await
    }

    async fn attempt_save(
        self,
        loaded: Loaded,
        inputs: &[MemoryInput],
        savings: Vec<Saving>,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<(Option<Decision>, Vec<Saved>)> {
        let texts = savings.iter().map(|saving| saving.memory.content.expose());
        let bytes = texts.map(|text| text.len() as u64).sum();
        let growth = (savings.len() as u64, bytes);
        self.check_growth(&loaded.agent, growth, actor.kind).await?;
        // An administrator's response is the same whether the agent has the text or not (SPEC 5.1).
        let same = match actor.kind {
            ActorKind::Agent => self.same_as(&loaded, &savings).await?,
            _ => vec![None; savings.len()],
        };
        let mut replacing = self.replacing_for(&savings, &loaded.memories).await?;
        let (decision, saved) = manage::save(loaded.agent, savings, &mut replacing, actor, now);
        let links = ArchiveLinks::among(replacing.memories.iter());
        let refinement_due = self.memoir.refinement_due(&decision.agent);
        let mut answers = Vec::with_capacity(saved.len());
        for ((one, same_as), input) in saved.into_iter().zip(same).zip(inputs) {
            // As the whole batch leaves it: a later one of it may have replaced this one.
            let memory = replacing.memories.get(one.number).cloned();
            let memory = memory.ok_or(Error::NoMemory(one.number))?;
            let asked = !input.replaces.is_empty();
            answers.push(Saved {
                memory: ShownMemory::answered(memory, &links, actor),
                refinement_due,
                same_as,
                replaced: asked.then_some(one.replacements.replaced),
                not_replaced: asked.then_some(one.replacements.not_replaced),
                note: note(input.content.expose()),
            });
        }
        Ok((Some(decision), answers))
    }

    /// For each memory to save, an active one with its text.
    async fn same_as(self, loaded: &Loaded, savings: &[Saving]) -> Result<Vec<Option<Number>>> {
        let same_texts = &self.memoir.state::<SameTexts>();
        let version = loaded.base.memories_version().unwrap_or_default();
        let mut earlier: HashMap<u64, usize> = HashMap::new();
        let mut found = Vec::with_capacity(savings.len());
        for (place, saving) in savings.iter().enumerate() {
            let text = saving.memory.content.expose();
            let hash = same_texts.hash(text);
            let mut known = same_texts.find(self.scope, version, hash);
            if known == FoundTexts::Unknown {
                let _reading = same_texts.reading(self.scope).await?;
                // Another task may have read them meanwhile.
                known = same_texts.find(self.scope, version, hash);
                if known == FoundTexts::Unknown {
                    self.read_texts(loaded.base.key(), version).await?;
                    known = same_texts.find(self.scope, version, hash);
                }
            }
            // Otherwise the agent was changed since it was loaded.
            let FoundTexts::Numbers(numbers) = known else {
                return Err(CONFLICT);
            };
            let mut same = None;
            if !numbers.is_empty() {
                let rows = self.memoir.store.memories(self.scope, &numbers).await?;
                for row in rows {
                    let memory = codec::memory(loaded.base.key(), &row)?;
                    if memory.is_active() && is_same_text(memory.content.expose(), text) {
                        same.get_or_insert(memory.number);
                    }
                }
            }
            // Of a batch, an earlier one is active by then. They are numbered in their order.
            let before = earlier.get(&hash).filter(|before| {
                let other = savings[**before].memory.content.expose();
                is_same_text(other, text)
            });
            let before = before.map(|before| Number(loaded.agent.next_number.0 + *before as u64));
            earlier.entry(hash).or_insert(place);
            found.push(same.or(before));
        }
        Ok(found)
    }

    /// Reads all active memories into the cache of texts, page by page: in memory are one page and the hashes.
    ///
    /// # Errors
    /// [`CONFLICT`] where the agent is not at that version any more; [`Error::NoRoom`]; the store fails.
    async fn read_texts(self, key: &AgentKey, version: u64) -> Result<()> {
        let texts = self.memoir.state::<SameTexts>().none_read(version);
        let texts = self.fold_active(key, texts, ReadTexts::add).await?;
        // The pages are of one moment only where nothing was written meanwhile.
        let now = self.load(&AgentQuery::default()).await?;
        if now.base.memories_version() != Some(version) {
            return Err(CONFLICT);
        }
        self.memoir.state::<SameTexts>().put(self.scope, texts);
        Ok(())
    }

    /// Memories that `actor` saved in an earlier attempt of the same request, as they are now. Their former duplicates
    /// and replacements are unknown.
    ///
    /// # Errors
    /// As for [`Memories::answered`].
    pub async fn saved_before(self, numbers: &[Number], actor: &Actor) -> Result<Vec<Saved>> {
        let refinement_due = self.load(&AgentQuery::default()).await?;
        let refinement_due = self.memoir.refinement_due(&refinement_due.agent);
        let memories = self.answered(numbers, actor).await?;
        let saved = memories.into_iter().map(|memory| Saved {
            memory,
            refinement_due,
            same_as: None,
            replaced: None,
            not_replaced: None,
            note: None,
        });
        Ok(saved.collect())
    }

    /// Memories as they are now, as the response to a change shows them to its actor: to an administrator without text.
    ///
    /// # Errors
    /// One of the numbers does not exist; the store fails.
    pub async fn answered(self, numbers: &[Number], actor: &Actor) -> Result<Vec<ShownMemory>> {
        let query = AgentQuery::of_memories(Selection::Numbers(numbers.to_vec()));
        let found = self.load(&query).await?.memories;
        let links = self.views().links_of(found.iter()).await?;
        let shown = numbers.iter().map(|number| {
            let memory = found.iter().find(|memory| memory.number == *number);
            let memory = memory.ok_or(Error::NoMemory(*number))?.clone();
            Ok(ShownMemory::answered(memory, &links, actor))
        });
        shown.collect()
    }

    /// Acts on one memory. Returns the memory after it.
    ///
    /// # Errors
    /// There is none of that number; [`Error::Changed`]. To discard: it is constitutional. To
    /// protect and to unprotect: it is discarded or not core, or a summary. To restore: it is a summary. To promote: it
    /// is not archival. Repeating any other act is no error; an administrator's is a record even so (SPEC 4.3).
    pub async fn handle(
        self,
        number: Number,
        handling: Handling,
        actor: &Actor,
    ) -> Result<ShownMemory> {
        let query = AgentQuery::of_memories(Selection::Numbers(vec![number]));
        self.decide_reading(&query, |loaded, now| async move {
            let memory = loaded.memories.first().cloned();
            let memory = memory.ok_or(Error::NoMemory(number))?;
            let bare = match handling {
                Handling::Discard | Handling::Promote => self.bare_summary(&memory).await?,
                Handling::Protect | Handling::Unprotect | Handling::Restore => None,
            };
            let (agent, bare) = (loaded.agent, bare.as_ref());
            let decision = match handling {
                Handling::Discard => manage::discard(agent, &memory, bare, actor, now)?,
                Handling::Protect => manage::protect(agent, &memory, actor, now)?,
                Handling::Unprotect => manage::unprotect(agent, &memory, actor, now)?,
                Handling::Restore => manage::restore(agent, &memory, actor, now)?,
                Handling::Promote if !memory.is_active() => return Err(Error::Discarded(number)),
                Handling::Promote => Some(manage::promote(agent, &memory, bare, actor, now)?),
            };
            let after = decision
                .as_ref()
                // The first change is that of the memory itself.
                .and_then(|decision| decision.changes.first())
                .map_or_else(|| memory.clone(), |change| change.after());
            let mut links = self.views().links_of(std::iter::once(&after)).await?;
            // Their state after the decision is written.
            for change in decision.iter().flat_map(|decision| &decision.changes) {
                links.follow(&change.after());
            }
            Ok((decision, ShownMemory::answered(after, &links, actor)))
        })
        .await
    }

    /// The summary that loses its last source when the memory is moved from under it (SPEC 2.4).
    pub(crate) async fn bare_summary(self, memory: &Memory) -> Result<Option<Memory>> {
        let Some(under) = memory.under().filter(|_| memory.is_active_archival()) else {
            return Ok(None);
        };
        let family = AllMemories::of(self.sessions().with_sources(vec![under]).await?.values());
        Ok(family.summary_left_bare(memory).cloned())
    }

    /// Whether [`Memories::edit`] would accept another text of that memory now.
    ///
    /// # Errors
    /// As for it.
    pub async fn check_edit(self, number: Number) -> Result<()> {
        let query = AgentQuery::of_memories(Selection::Numbers(vec![number]));
        self.decide(&query, |loaded, _| {
            let memory = loaded.memories.first().ok_or(Error::NoMemory(number))?;
            manage::check_edit(&loaded.agent, loaded.running_session, memory)?;
            Ok((None::<Decision>, ()))
        })
        .await
    }

    /// Edits one core memory, if its text is still `seen`: a new original that replaces it (SPEC 3.12). Returns the new
    /// memory; `None` where the text is the same. For the owner of an open installation, outside of sessions.
    ///
    /// # Errors
    /// There is none of that number; it is no core memory, constitutional, or discarded; a session is running; the
    /// text breaks a limit; [`Error::Changed`].
    pub async fn edit(
        self,
        number: Number,
        seen: &PrivateText,
        content: &PrivateText,
        actor: &Actor,
    ) -> Result<Option<ShownMemory>> {
        let content = parse_content(content.expose())?;
        let content = &content;
        let query = AgentQuery::of_memories(Selection::Numbers(vec![number]));
        self.decide_reading(&query, |loaded, now| async move {
            let memory = loaded.memories.first().cloned();
            let memory = memory.ok_or(Error::NoMemory(number))?;
            // By the text and not by the version: other parts of the agent may have changed meanwhile.
            if memory.content != *seen {
                return Err(Error::Changed);
            }
            let sources: Vec<Memory> = match memory.is_summary {
                true => {
                    let family =
                        AllMemories::of(self.sessions().with_sources(vec![number]).await?.values());
                    family.sources(number).cloned().collect()
                }
                false => Vec::new(),
            };
            let (agent, running) = (loaded.agent, loaded.running_session);
            let edited = manage::edit(agent, running, &memory, content, &sources, actor, now)?;
            let changes = edited.as_ref().map(|edited| edited.changes.as_slice());
            let created = changes.and_then(|changes| changes.first());
            let after = created.map(|change| {
                let changed: Vec<Memory> =
                    changes.into_iter().flatten().map(Change::after).collect();
                let links = ArchiveLinks::among(&changed);
                ShownMemory::answered(change.after(), &links, actor)
            });
            Ok((edited, after))
        })
        .await
    }
}

pub(crate) fn check_query(query: &RecallQuery) -> Result<(), Invalid> {
    Invalid::check_range(query.since, query.until)?;
    let length = query.text.chars();
    if length > recall::QUESTION_LIMIT {
        return Err(Invalid::too_long("query", length, recall::QUESTION_LIMIT));
    }
    Ok(())
}
