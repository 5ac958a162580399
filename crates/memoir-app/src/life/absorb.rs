//! Absorption: conversations wait as sealed messages until the agent's model reads them, chunk by chunk
//! (SPEC 2.6). A chunk's notes and the fact that it was read are one commit, so that no message is read
//! twice and none is lost, whenever the process dies.

use memoir_domain::{
    AgentScope, PrivateText, Timestamp,
    absorption::{self, ANSWER, CHUNK_TOKENS, IDLE_SECONDS, Message, MessageState},
    answer::Unreadable,
    draft::Decision,
    memory::{Invalid, NewMemory},
};
use memoir_model::{AnswerSchema, Model};
use memoir_store::{MessageRow, TranscriptRow, Wanted};
use serde::Serialize;

use super::{
    RULES_ONLY,
    question::{NotAnswered, Question},
};
use crate::{
    AgentHandle, Error, Result, codec,
    sessions::{RefineOptions, room},
};

/// Most characters of a message's identifier, of which a digest is kept.
const ID_LIMIT: usize = 10_000;
/// Most characters of a speaker's name.
const SPEAKER_LIMIT: usize = 200;
/// Most characters of a message.
const TEXT_LIMIT: usize = 4_000_000;
/// Attempts after which a chunk is given up, so that it does not keep later ones waiting for ever.
const ATTEMPTS: u32 = 5;
/// How long a claim lasts unless it is renewed; it is with each chunk.
const CLAIM_SECONDS: i64 = 20 * 60;
/// The wait after the first attempt that came to nothing; it doubles with each one.
const FIRST_WAIT_SECONDS: i64 = 15 * 60;
/// The longest such wait.
const LONGEST_WAIT_SECONDS: i64 = 24 * 60 * 60;

/// A message as it is handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedMessage {
    /// What it is known by; the same message is never read twice.
    pub id: PrivateText,
    /// When it was said; `None` where nobody knows.
    pub at: Option<Timestamp>,
    /// Who said it.
    pub speaker: PrivateText,
    /// What was said.
    pub text: PrivateText,
}

/// What became of messages that were handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HandedOver {
    /// New ones, which wait now.
    pub received: u64,
    /// Ones that the agent had before.
    pub known: u64,
}

/// How it stands with an agent's conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TranscriptView {
    /// Messages that wait to be read.
    pub pending: u64,
    /// Messages that were read.
    pub absorbed: u64,
    /// Messages that were given up after several attempts.
    pub failed: u64,
    /// From when on those that wait are read; `None` where none waits.
    pub due_at: Option<Timestamp>,
}

/// What absorbing came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Absorbed {
    /// Messages that were read.
    pub messages: u64,
    /// Memories that were saved.
    pub saved: u64,
    /// Chunks that were read.
    pub chunks: u64,
    /// Messages that still wait.
    pub pending: u64,
    /// Why it stopped before the end, or passed something over; never in the model's words.
    pub failure: Option<String>,
}

/// Where an absorption stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsorbProgress {
    /// Messages read so far.
    pub messages: u64,
    /// Memories saved so far.
    pub saved: u64,
    /// Messages that still wait.
    pub pending: u64,
}

impl HandedMessage {
    fn check(&self) -> Result<(), Invalid> {
        let long = |field, text: &PrivateText, limit| match text.chars() {
            0 => Err(Invalid::new(
                field,
                format!("is empty; give 1 to {limit} characters"),
            )),
            given if given > limit => Err(Invalid::too_long(field, given, limit)),
            _ => Ok(()),
        };
        long("id", &self.id, ID_LIMIT)?;
        long("speaker", &self.speaker, SPEAKER_LIMIT)?;
        long("text", &self.text, TEXT_LIMIT)
    }

    fn into_message(self) -> Message {
        Message {
            at: self.at,
            speaker: self.speaker,
            text: self.text,
        }
    }
}

/// A chunk as it was taken from the store.
struct Chunk {
    places: Vec<u64>,
    messages: Vec<Message>,
    /// When the last of them was said, as far as that is known.
    at: Option<Timestamp>,
}

/// What became of one chunk.
enum Read {
    Absorbed {
        saved: u64,
    },
    /// Somebody else read it meanwhile.
    Lost,
    Unreadable(Unreadable),
    ModelFailed(String),
}

impl AgentHandle {
    /// Takes messages for the agent to read: once nothing was added for six hours, or with `now` at once.
    /// Ones that it had before are passed over.
    ///
    /// # Errors
    /// A message is not allowed: then none is taken. The agent is gone; the store fails.
    pub async fn hand_over(&self, messages: Vec<HandedMessage>, now: bool) -> Result<HandedOver> {
        for (place, message) in messages.iter().enumerate() {
            message.check().map_err(|invalid| Invalid {
                problem: format!("of message {} {}", place + 1, invalid.problem),
                ..invalid
            })?;
        }
        let loaded = self.load(&Wanted::default()).await?;
        let received_at = self.memoir.now();
        let due_at = match now {
            true => received_at,
            false => received_at.plus_seconds(IDLE_SECONDS),
        };
        let given = messages.len() as u64;
        let random = self.memoir.random.as_ref();
        let rows: Vec<MessageRow> = messages
            .into_iter()
            .map(|message| {
                let id = message.id.clone();
                codec::message(
                    loaded.base.key(),
                    &id,
                    message.into_message(),
                    received_at,
                    random,
                )
            })
            .collect::<Result<_>>()?;
        let received = self
            .memoir
            .store
            .add_messages(self.scope, &rows, due_at, now)
            .await?;
        Ok(HandedOver {
            received,
            known: given.saturating_sub(received),
        })
    }

    /// How it stands with the agent's conversations.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn transcript(&self) -> Result<TranscriptView> {
        self.load(&Wanted::default()).await?;
        let row = self.memoir.store.transcript(self.scope).await?;
        Ok(TranscriptView {
            pending: row.pending,
            absorbed: row.absorbed,
            failed: row.failed,
            due_at: row.due_at,
        })
    }

    /// Lets the agent's model read all that waits, now, those that were given up before included.
    ///
    /// # Errors
    /// No model can be used, or one that only follows rules; the store fails. An answer that cannot be used
    /// is no error: nothing of its chunk is saved, and that is on the record.
    pub async fn absorb(
        &self,
        observer: &mut (dyn FnMut(AbsorbProgress) + Send),
    ) -> Result<Absorbed> {
        let model = self.reader().await?;
        let now = self.memoir.now();
        let store = &self.memoir.store;
        store.revive_messages(self.scope, now).await?;
        // Whoever asks for it does not wait for one that died. Should another one be alive, what both read
        // is saved once.
        store.settle_transcript(self.scope, now, 0).await?;
        self.claim_and_absorb(model.as_ref(), observer).await
    }

    /// As [`AgentHandle::absorb`], for the schedule: where messages are due, and nobody reads them.
    pub(super) async fn absorb_if_due(&self) -> Result<Absorbed> {
        let model = match self.reader().await {
            Ok(model) => model,
            Err(error) => {
                // Looked at again tomorrow: no attempt was made.
                let row = self.memoir.store.transcript(self.scope).await?;
                let later = self.memoir.now().plus_seconds(LONGEST_WAIT_SECONDS);
                let store = &self.memoir.store;
                store
                    .settle_transcript(self.scope, later, row.failures)
                    .await?;
                return Err(error);
            }
        };
        self.claim_and_absorb(model.as_ref(), &mut |_| {}).await
    }

    /// The agent's model, where it can read.
    async fn reader(&self) -> Result<std::sync::Arc<dyn Model>> {
        let model = self.model(&RefineOptions::default()).await?;
        if model.name().provider() == RULES_ONLY {
            return Err(Error::RulesOnly(model.name().to_string()));
        }
        Ok(model)
    }

    async fn claim_and_absorb(
        &self,
        model: &dyn Model,
        observer: &mut (dyn FnMut(AbsorbProgress) + Send),
    ) -> Result<Absorbed> {
        let now = self.memoir.now();
        let until = now.plus_seconds(CLAIM_SECONDS);
        let store = &self.memoir.store;
        let before: TranscriptRow = store.transcript(self.scope).await?;
        let mut absorbed = Absorbed {
            pending: before.pending,
            ..Absorbed::default()
        };
        if !store.claim_transcript(self.scope, now, until).await? {
            return Ok(absorbed);
        }
        let mut failures = before.failures;
        let again_at = loop {
            let Some(chunk) = self.next_chunk(model).await? else {
                break self.memoir.now();
            };
            let count = chunk.places.len() as u64;
            match self.read_chunk(model, &chunk).await? {
                Read::Absorbed { saved } => {
                    failures = 0;
                    absorbed.messages += count;
                    absorbed.saved += saved;
                    absorbed.chunks += 1;
                }
                Read::Lost => {}
                Read::Unreadable(unreadable) => {
                    failures += 1;
                    let is_given_up = failures >= ATTEMPTS;
                    self.note_unreadable(&chunk, unreadable.code, is_given_up)
                        .await?;
                    absorbed.failure = Some(unreadable.problem);
                    if !is_given_up {
                        break self.after(failures);
                    }
                    failures = 0;
                }
                Read::ModelFailed(problem) => {
                    absorbed.failure = Some(problem);
                    break self.after(failures.max(1));
                }
            }
            let row = store.transcript(self.scope).await?;
            absorbed.pending = row.pending;
            observer(AbsorbProgress {
                messages: absorbed.messages,
                saved: absorbed.saved,
                pending: row.pending,
            });
            let until = self.memoir.now().plus_seconds(CLAIM_SECONDS);
            store.extend_transcript(self.scope, until).await?;
        };
        store
            .settle_transcript(self.scope, again_at, failures)
            .await?;
        absorbed.pending = store.transcript(self.scope).await?.pending;
        Ok(absorbed)
    }

    /// When it is tried again after so many attempts that came to nothing.
    fn after(&self, failures: u32) -> Timestamp {
        let doublings = failures.saturating_sub(1).min(16);
        let wait = (FIRST_WAIT_SECONDS << doublings).min(LONGEST_WAIT_SECONDS);
        self.memoir.now().plus_seconds(wait)
    }

    /// The messages that are read next; `None` where none waits.
    async fn next_chunk(&self, model: &dyn Model) -> Result<Option<Chunk>> {
        let loaded = self.load(&Wanted::default()).await?;
        let own = [
            &loaded.agent.settings.system_prompt,
            &loaded.agent.settings.reflection_prompt,
        ];
        let budget = room(self.context_of(model.context_tokens()), own).min(CHUNK_TOKENS);
        let rows = self
            .memoir
            .store
            .pending_messages(self.scope, budget)
            .await?;
        let places = rows.iter().map(|row| row.seq).collect();
        let messages: Vec<Message> = rows
            .iter()
            .map(|row| codec::open_message(loaded.base.key(), row))
            .collect::<Result<_>>()?;
        Ok((!messages.is_empty()).then(|| Chunk {
            places,
            at: messages.iter().filter_map(|message| message.at).next_back(),
            messages,
        }))
    }

    async fn read_chunk(&self, model: &dyn Model, chunk: &Chunk) -> Result<Read> {
        let agent = self.load(&Wanted::default()).await?.agent;
        let question = Question {
            prompt: absorption::ask(&agent, &chunk.messages),
            schema: AnswerSchema {
                name: ANSWER,
                schema: absorption::answer_schema(),
            },
        };
        let at = chunk.at.unwrap_or(self.memoir.now());
        let read = |answer: &str| absorption::read(answer, at);
        let notes: Vec<NewMemory> = match self.memoir.question(model, question, read).await {
            Ok(notes) => notes,
            Err(NotAnswered::Unreadable(unreadable)) => return Ok(Read::Unreadable(unreadable)),
            Err(NotAnswered::Model(problem)) => return Ok(Read::ModelFailed(problem)),
        };
        let saved = notes.len() as u64;
        let decide =
            |agent, now| absorption::absorb(agent, notes.clone(), chunk.messages.len(), now);
        match self
            .settle_chunk(chunk, MessageState::Absorbed, decide)
            .await?
        {
            true => Ok(Read::Absorbed { saved }),
            false => Ok(Read::Lost),
        }
    }

    /// Puts on the record that a chunk's answer could not be used; one that is given up waits no longer.
    async fn note_unreadable(
        &self,
        chunk: &Chunk,
        code: &'static str,
        is_given_up: bool,
    ) -> Result<()> {
        let count = chunk.messages.len();
        if is_given_up {
            let decide = |agent, now| absorption::fail(agent, count, "given_up", now);
            self.settle_chunk(chunk, MessageState::Failed, decide)
                .await?;
            return Ok(());
        }
        self.decide(&Wanted::default(), |loaded, now| {
            Ok((Some(absorption::fail(loaded.agent, count, code, now)), ()))
        })
        .await
    }

    /// Writes a decision together with what became of a chunk's messages; `false` where somebody else read
    /// them meanwhile, and nothing was written.
    async fn settle_chunk(
        &self,
        chunk: &Chunk,
        state: MessageState,
        decide: impl Fn(memoir_domain::agent::Agent, Timestamp) -> Decision,
    ) -> Result<bool> {
        for _ in 0..crate::ATTEMPTS {
            let loaded = self.load(&Wanted::default()).await?;
            let decision = decide(loaded.agent, self.memoir.now());
            let beside = codec::Beside {
                messages: chunk.places.iter().map(|place| (*place, state)).collect(),
                ..codec::Beside::default()
            };
            match self.commit(&loaded.base, decision, beside).await {
                Err(Error::Store(memoir_store::Error::Conflict)) => {
                    if !self.is_still_pending(chunk).await? {
                        return Ok(false);
                    }
                }
                done => return done.map(|_| true),
            }
        }
        Err(Error::Contended)
    }

    async fn is_still_pending(&self, chunk: &Chunk) -> Result<bool> {
        let first = self.memoir.store.pending_messages(self.scope, 0).await?;
        Ok(first.first().map(|row| row.seq) == chunk.places.first().copied())
    }
}

impl crate::Memoir {
    /// The agents whose conversations are due.
    pub(super) async fn due_transcripts(&self, per_account: u32) -> Result<Vec<AgentScope>> {
        let now = self.now();
        Ok(self.store.due_transcripts(None, now, per_account).await?)
    }
}
