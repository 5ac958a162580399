//! Saving, finding, listing and restoring memories (SPEC 2.1, 2.4, 2.8, 4.3).

use memoir_domain::{
    PrivateText, Timestamp,
    audit::Actor,
    draft::Decision,
    manage::{self, ChangeRefusal},
    memory::{
        CONTENT_LIMIT, Invalid, Kind, NewMemory, Number, SOURCE_LIMIT, Tags, by_number, parse_text,
    },
    recall::{self, RecallQuery},
    wording::{Origin, SavedBy},
};
use memoir_store::{AgentQuery, Selection};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{AgentHandle, Error, RefinementDue, Result, ShownMemory, spans};

/// A memory as it is given from outside, unchecked.
#[derive(Debug, Clone, Default)]
pub struct MemoryInput {
    /// Its text.
    pub content: PrivateText,
    /// Its kind; `None` means core.
    pub kind: Option<Kind>,
    /// Its tags.
    pub tags: Vec<PrivateText>,
    /// Where it came from.
    pub source: Option<PrivateText>,
    /// A weaker origin than that of the door that it comes in by; `None` means that one.
    pub origin: Option<Origin>,
    /// The origin date; `None` means now.
    pub created_at: Option<Timestamp>,
    /// Whether to make it constitutional: for administrators only.
    pub constitutional: bool,
}

impl MemoryInput {
    /// Checks it against the limits, at `now`.
    ///
    /// # Errors
    /// Names the field at fault, the limit and the size given.
    pub fn check(&self, door: SavedBy, now: Timestamp) -> Result<NewMemory, Invalid> {
        let source = self.source.as_ref();
        let memory = NewMemory {
            kind: self.kind.unwrap_or(Kind::Core),
            content: parse_text("content", self.content.expose(), CONTENT_LIMIT)?,
            tags: Tags::parse(self.tags.iter().map(PrivateText::expose))?,
            source: source
                .map(|source| parse_text("source", source.expose(), SOURCE_LIMIT))
                .transpose()?,
            created_at: self.created_at,
            constitutional: self.constitutional,
            // The door gives the strongest origin that is possible here; whoever saves can only claim a weaker one
            // (SPEC 2.4).
            door: SavedBy {
                origin: door.origin.lowered_to(self.origin)?,
                ..door
            },
            wordings: None,
        };
        memory.check_date(now)?;
        Ok(memory)
    }
}

/// A memory that was saved.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = SavedMemory)]
pub struct Saved {
    /// The memory, as whoever saved it may see it.
    #[serde(flatten)]
    pub memory: ShownMemory,
    /// Whether a session is due now, and why.
    #[schema(required)]
    pub refinement_due: Option<RefinementDue>,
}

/// What is done with one memory outside of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// It is discarded, and kept for restoring.
    Discard,
    /// A kept one becomes constitutional. Repeating it is no error.
    Protect,
    /// The constitutional flag is taken from a kept one. Repeating it is no error.
    Unprotect,
    /// A discarded one is given back; of a kept one the wording that was given to it, where sessions let words of
    /// that go.
    Restore,
}

impl AgentHandle {
    /// Saves memories, all of them or none, in their order.
    ///
    /// # Errors
    /// One breaks a limit, or the store fails.
    pub async fn save(&self, inputs: &[MemoryInput], actor: &Actor) -> Result<Vec<Saved>> {
        let span = spans::memory(self.scope, "create_memory");
        spans::of_memories(span, self.save_all(inputs, actor)).await
    }

    async fn save_all(&self, inputs: &[MemoryInput], actor: &Actor) -> Result<Vec<Saved>> {
        let now = self.memoir.now();
        // All are checked before the agent is loaded: what breaks a limit costs the store nothing.
        let memories = inputs
            .iter()
            .map(|input| input.check(SavedBy::of(actor.kind), now))
            .collect::<Result<Vec<NewMemory>, Invalid>>()?;
        if memories.is_empty() {
            return Ok(Vec::new());
        }
        let (agent, changes) = self
            .decide(&AgentQuery::default(), |loaded, now| {
                let decision = manage::save(loaded.agent, memories.clone(), actor, now);
                let answer = (decision.agent.clone(), decision.changes.clone());
                Ok((Some(decision), answer))
            })
            .await?;
        let refinement_due = self.memoir.refinement_due(&agent);
        let saved = changes.iter().map(|change| {
            let memory = ShownMemory::answered(change.after(), actor);
            Saved {
                memory,
                refinement_due,
            }
        });
        Ok(saved.collect())
    }

    /// Does something with one memory. The answer is what it is then; of one that is restored the memory that says
    /// it, under a new number where the old one stands for other wordings too.
    ///
    /// # Errors
    /// There is none of that number; [`Error::Changed`]. To discard: it is constitutional, or discarded already. To
    /// protect and to unprotect: it is discarded. To restore: it is kept, and nothing of its wording was let go.
    pub async fn handle(
        &self,
        number: Number,
        handling: Handling,
        actor: &Actor,
    ) -> Result<ShownMemory> {
        let selection = match handling {
            // Others gave it what it stands for.
            Handling::Discard => Selection::All,
            Handling::Protect | Handling::Unprotect => Selection::Numbers(vec![number]),
            Handling::Restore => return self.give_back(number, actor).await,
        };
        self.decide(&memory_query(selection), |loaded, now| {
            let mut memories = by_number(loaded.memories.copies());
            let memory = memories.remove(&number).ok_or(Error::NoMemory(number))?;
            let (agent, memory) = (loaded.agent, &memory);
            let decision = match handling {
                Handling::Discard => {
                    let discarded = manage::discard(agent, memory, &memories, actor, now)?;
                    Some(discarded.ok_or(ChangeRefusal::Discarded(number))?)
                }
                Handling::Protect => manage::protect(agent, memory, actor, now)?,
                Handling::Unprotect => manage::unprotect(agent, memory, actor, now)?,
                // Returned above.
                Handling::Restore => None,
            };
            let after = decision
                .as_ref()
                // The first change is that of the memory itself, before what it gives back.
                .and_then(|decision| decision.changes.first())
                .map_or_else(|| memory.clone(), |change| change.after());
            Ok((decision, ShownMemory::answered(after, actor)))
        })
        .await
    }

    /// Whether [`AgentHandle::edit`] would take another text of that memory now.
    ///
    /// # Errors
    /// As for it.
    pub async fn check_edit(&self, number: Number) -> Result<()> {
        self.decide(
            &memory_query(Selection::Numbers(vec![number])),
            |loaded, _| {
                let memory = loaded.memories.first().ok_or(Error::NoMemory(number))?;
                manage::check_edit(&loaded.agent, loaded.running_session, memory)?;
                Ok((None::<Decision>, ()))
            },
        )
        .await
    }

    /// Gives one kept core memory another text, where it still has the one that was `seen`. `None` where it is the
    /// same. For the owner of a personal installation, outside of sessions.
    ///
    /// # Errors
    /// There is none of that number; it is no core memory, constitutional, or discarded; a session is running; the
    /// text breaks a limit; [`Error::Changed`].
    pub async fn edit(
        &self,
        number: Number,
        seen: &PrivateText,
        content: &PrivateText,
        actor: &Actor,
    ) -> Result<Option<ShownMemory>> {
        let content = parse_text("content", content.expose(), CONTENT_LIMIT)?;
        // Others gave it what it stands for.
        self.decide(&memory_query(Selection::All), |loaded, now| {
            let mut memories = by_number(loaded.memories.copies());
            let memory = memories.remove(&number).ok_or(Error::NoMemory(number))?;
            // By the text and not by the version: others may have changed anything else of the agent meanwhile.
            if memory.content != *seen {
                return Err(Error::Changed);
            }
            let (agent, running) = (loaded.agent, loaded.running_session);
            let edited = manage::edit(agent, running, &memory, &content, &memories, actor, now)?;
            let after = edited.as_ref().and_then(|edited| edited.changes.first());
            let after = after.map(|change| ShownMemory::answered(change.after(), actor));
            Ok((edited, after))
        })
        .await
    }

    /// Restores a memory or a wording. Apart from the rest, since a wording's text is read from the log.
    async fn give_back(&self, number: Number, actor: &Actor) -> Result<ShownMemory> {
        // Others may have taken over what it stood for.
        self.decide_reading(&memory_query(Selection::All), |loaded, now| async move {
            let memories = loaded.memories;
            let memory = memories.iter().find(|memory| memory.number == number);
            let memory = memory.ok_or(Error::NoMemory(number))?.clone();
            let (base, agent) = (loaded.base, loaded.agent);
            let decision = if memory.is_kept() {
                let texts = self.texts(base.key(), std::iter::once(&memory)).await?;
                let mut own = texts.into_iter().filter(|(id, _)| id.number == number);
                // The oldest one is the wording; it may have been made constitutional later.
                let (_, text) = own.next().ok_or(Error::NotDiscarded(number))?;
                manage::restore_wording(agent, &memory, &text, actor, now)?
            } else {
                manage::restore(agent, &memory, &memories, actor, now)?
            };
            let decision = decision.ok_or(Error::NotDiscarded(number))?;
            let restored = decision.changes.first().map(|change| change.after());
            let restored = ShownMemory::answered(restored.unwrap_or(memory), actor);
            Ok((Some(decision), restored))
        })
        .await
    }
}

pub(crate) fn check_length(query: &RecallQuery) -> Result<(), Invalid> {
    let length = query.text.chars();
    if length > recall::QUESTION_LIMIT {
        return Err(Invalid::too_long("query", length, recall::QUESTION_LIMIT));
    }
    Ok(())
}

pub(crate) fn memory_query(memories: Selection) -> AgentQuery {
    AgentQuery {
        memories,
        ..AgentQuery::default()
    }
}
