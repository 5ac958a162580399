//! Absorption: conversations wait as sealed messages until the agent's model reads them, chunk by chunk (SPEC 2.6). A
//! chunk's notes and read marks are one commit, so that no message is read twice or lost after a crash.

use std::{collections::HashSet, time::Duration};

use memoir_domain::{
    PrivateText, Timestamp,
    absorption::{
        self, ANSWER, CHUNK_TOKENS, ConversationMessage, IDLE_SECONDS, KEPT_DAYS, Known,
        MessageState,
    },
    agent::Agent,
    answer::Unreadable,
    audit::{Action, ActorKind},
    draft::Decision,
    manage::Saving,
    memory::Invalid,
    replace::Replacing,
    view,
};
use memoir_model::{AnswerSchema, Model};
use memoir_store::{
    AgentQuery, MessageOutcome, MessageRow, RecordFilter, Reviving, Selection, TranscriptRow,
    Waiting,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    core::{
        Error, Loaded, Result, check_messages,
        codec::{self, Writing},
        model_question::{ModelFailure, ModelQuestion, NotAnswered, Stop},
        retry::doubled,
        tuned::RULES_ONLY,
    },
    life::{Life, own::check_in_service},
    memory::replacing::query_to_save,
    sessions::{RefineOptions, room},
};

/// Most messages per call, since all of them are written in one transaction.
pub const MESSAGES_LIMIT: usize = 10_000;
/// Most characters of a message's identifier, of which a digest is kept.
// Programs choose identifiers freely; only a digest is kept.
const ID_LIMIT: usize = 10_000;
/// Most characters of a speaker's name.
const SPEAKER_LIMIT: usize = 200;
/// Most characters of a message.
// A million tokens: a message too long for every context fails permanently later, with a record.
const TEXT_LIMIT: usize = 4_000_000;
/// Attempts after which a chunk fails permanently, so that it does not block later ones for ever.
const ATTEMPTS: u32 = 5;
/// After each failed attempt the chunk is this much smaller (as a power of two), so that one unanswerable message fails
/// permanently together with few others.
// To a 256th before the fifth and last attempt.
const SHRINKING: u32 = 2;
/// The agent's memories take at most this fraction of the room for memories and messages.
// Two thirds stay for the conversation, which the question is about.
const KNOWN_SHARE: u64 = 3;
/// Of the memories saved since a conversation came, the latest so many are read for the notes of earlier chunks.
const NOTES_READ: u32 = 1_000;
/// How much longer a lease lasts than a question may take; each chunk renews it.
const CLAIM_SECONDS: i64 = 5 * 60;
/// The wait after the first failed attempt; each further attempt waits twice as long.
// Each attempt is a call at the agent's cost, and an immediate retry mostly fails again.
const FIRST_WAIT: Duration = Duration::from_secs(15 * 60);
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// One message of a conversation.
// Also what hooks send to a service of another version: a new field is left out where it has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename = "Message")]
#[schema(as = Message)]
pub struct HandedMessage {
    /// Its identifier: the agent reads a message of the same identifier, author and text once.
    #[schema(value_type = String, min_length = 1, max_length = 10_000, example = "m-17")]
    pub id: PrivateText,
    /// When it was sent.
    #[serde(default, deserialize_with = "crate::optional")]
    pub at: Option<Timestamp>,
    /// Its author.
    #[schema(value_type = String, min_length = 1, max_length = 200, example = "Ann")]
    pub speaker: PrivateText,
    /// Its text.
    #[schema(value_type = String, min_length = 1, max_length = 4_000_000)]
    pub text: PrivateText,
}

/// The outcome for the messages.
// Also what hooks read from a service of another version: a new field has a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Received)]
pub struct HandedOver {
    /// New ones, which wait to be read.
    pub received: u64,
    /// Ones that the agent had before.
    pub known: u64,
}

view! {
    /// The state of an agent's conversations.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[schema(as = ConversationStatus)]
    pub struct TranscriptView from row: &TranscriptRow;
    /// Messages that wait to be read.
    pub pending: u64 = row.pending,
    /// Messages that were read.
    pub absorbed: u64 = row.absorbed,
    /// Messages that failed permanently after several attempts.
    pub failed: u64 = row.failed,
    /// From when on those that wait are read; null where none waits.
    #[schema(required)]
    // A reader has a lease until a moment after the last message.
    pub due_at: Option<Timestamp> = row.due_at.filter(|_| row.pending > 0),
}

/// The result of an absorption; to an observer, of its part so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Absorbed {
    /// Messages that were read.
    pub messages: u64,
    /// Memories that were saved.
    pub saved: u64,
    /// Core memories that they replaced.
    pub replaced: u64,
    /// Memories that the model named for replacement and that were not replaced.
    pub not_replaced: u64,
    /// Chunks that were read.
    pub chunks: u64,
    /// Messages that still wait.
    pub pending: u64,
    /// Why it stopped before the end, or skipped something; without the model's text.
    pub failure: Option<String>,
    /// Whether it was stopped before the end.
    pub is_interrupted: bool,
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

    fn into_message(self, handed_over_by: ActorKind) -> ConversationMessage {
        ConversationMessage {
            at: self.at,
            speaker: self.speaker,
            text: self.text,
            handed_over_by,
        }
    }
}

/// Checks the number of messages of one call against [`MESSAGES_LIMIT`], for interfaces that read no message beyond it.
///
/// # Errors
/// There are more.
pub fn check_message_count(given: usize) -> Result<()> {
    if given <= MESSAGES_LIMIT {
        return Ok(());
    }
    let problem = format!("has {given}, and the limit is {MESSAGES_LIMIT}; send them in parts");
    Err(Invalid::new("messages", problem).into())
}

/// Where a message is, and its size in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessagePlace {
    seq: u64,
    tokens: u64,
}

impl MessagePlace {
    pub(super) fn of(row: &MessageRow) -> Self {
        Self {
            seq: row.seq,
            tokens: row.tokens,
        }
    }
}

/// A chunk as read from the store.
struct Chunk {
    places: Vec<MessagePlace>,
    /// The memories that are shown beside them.
    known: Known,
    messages: Vec<ConversationMessage>,
    /// When the last of them was said, where known.
    at: Option<Timestamp>,
}

enum ChunkOutcome {
    Absorbed {
        saved: u64,
        replaced: u64,
        not_replaced: u64,
    },
    /// Another reader was faster.
    Lost,
    /// It holds one message, which is larger than the model's context.
    TooLarge {
        problem: String,
    },
    NotAnswered(NotAnswered),
}

struct AbsorptionUnderWay<'a> {
    model: &'a dyn Model,
    claim: u64,
    /// Failed attempts at the next chunk.
    failures: u32,
    /// How much smaller than usual chunks are, as a power of two: after one that was too large for the model, the next
    /// one probably is too.
    shrunk: u32,
    /// When the first message was handed over: since then the chunks before were read, in earlier attempts too.
    since: Option<Timestamp>,
    absorbed: Absorbed,
}

impl Life<'_> {
    /// Takes messages to read: once nothing was added for six hours, or immediately with `now`. Earlier messages of the
    /// agent are skipped. Notes of them count as added in the role of the caller (SPEC 3.4).
    ///
    /// # Errors
    /// A message is not allowed, or there are more than 10,000: then none is taken. The agent is gone; the store fails.
    pub async fn hand_over(
        self,
        messages: Vec<HandedMessage>,
        now: bool,
        role: ActorKind,
    ) -> Result<HandedOver> {
        check_message_count(messages.len())?;
        for (place, message) in messages.iter().enumerate() {
            // All of them before any is taken, so that an error means that none was.
            message.check().map_err(|invalid| Invalid {
                problem: format!("of message {} {}", place + 1, invalid.problem),
                ..invalid
            })?;
        }
        let loaded = self.load(&AgentQuery::default()).await?;
        let texts = messages.iter().map(|message| message.text.expose().len());
        let bytes = texts.sum::<usize>();
        // As given, checked, sealed and written.
        let _room = self.memoir.room.take(self.scope, bytes * 4).await?;
        let received_at = self.memoir.now();
        let due_at = match now {
            true => received_at,
            false => received_at.plus_seconds(IDLE_SECONDS),
        };
        let given = messages.len() as u64;
        let random = self.memoir.random.as_ref();
        let key = loaded.base.key();
        let row = |message: HandedMessage| {
            let id = message.id.clone();
            codec::message(key, &id, &message.into_message(role), received_at, random)
        };
        let rows = messages.into_iter().map(row);
        let mut rows: Vec<MessageRow> = rows.collect::<Result<_>>()?;
        // Of a message that comes twice, the first one counts.
        let mut digests = HashSet::with_capacity(rows.len());
        rows.retain(|row| digests.insert(row.digest));
        // Without a running service, handing over is the most frequent call.
        self.memoir.forget_words().await?;
        let received = self.enter(&rows, due_at).await?;
        if received == 0 && now {
            self.memoir.store.hurry_messages(self.scope, due_at).await?;
        }
        Ok(HandedOver {
            received,
            known: given.saturating_sub(received),
        })
    }

    /// Enters those of the messages that the agent has not had, together with their counts in the agent's row. How many.
    async fn enter(self, rows: &[MessageRow], due_at: Timestamp) -> Result<u64> {
        let digests: &Vec<[u8; 32]> = &rows.iter().map(|row| row.digest).collect();
        let query = AgentQuery::default().with_transcript();
        self.decide_reading(&query, |loaded, now| async move {
            // After the agent: a message that is entered from now on makes this a conflict.
            let known = self.memoir.store.known_messages(self.scope, digests);
            let known: HashSet<[u8; 32]> = known.await?.into_iter().collect();
            let is_new = |row: &&MessageRow| !known.contains(&row.digest);
            let new: Vec<MessageRow> = rows.iter().filter(is_new).cloned().collect();
            let received = new.len() as u64;
            if new.is_empty() {
                return Ok((None, received));
            }
            self.check_waiting(&loaded.transcript, &new).await?;
            // What is due stays so: it was submitted explicitly, or idle for long enough.
            let row = &loaded.transcript;
            let is_due = |at: &Timestamp| row.pending > 0 && *at <= now;
            let due_at = row.due_at.filter(is_due).unwrap_or(due_at);
            let writing = waits(loaded.agent, Waiting::New(new), due_at);
            Ok((Some(writing), received))
        })
        .await
    }

    /// Lets earlier messages wait again, now. How many.
    async fn revive(self, which: Reviving) -> Result<u64> {
        let query = AgentQuery::default().with_transcript();
        self.decide(&query, |loaded, now| {
            check_messages(&loaded.agent, &loaded.transcript)?;
            let row = loaded.transcript;
            let (count, tokens) = match which {
                Reviving::Failed => (row.failed, row.failed_tokens),
                Reviving::Absorbed => (row.kept, row.kept_tokens),
            };
            let again = Waiting::Again {
                which,
                count,
                tokens,
            };
            let writing = (count > 0).then(|| waits(loaded.agent, again, now));
            Ok((writing, count))
        })
        .await
    }

    /// Lets the messages that wait be due now, where nothing says when they are read.
    async fn wait_anew(self) -> Result<()> {
        self.decide(&AgentQuery::default(), |loaded, now| {
            let writing = waits(loaded.agent, Waiting::New(Vec::new()), now);
            Ok((Some(writing), ()))
        })
        .await
    }

    /// The state of the agent's conversations. An error where it does not fit the agent's own counts.
    async fn transcript_row(self) -> Result<TranscriptRow> {
        let query = AgentQuery::default().with_transcript();
        let loaded = self.load(&query).await?;
        check_messages(&loaded.agent, &loaded.transcript)?;
        Ok(loaded.transcript)
    }

    /// The state of the agent's conversations.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn transcript(self) -> Result<TranscriptView> {
        // Not compared with the agent's counts, since a session's start asks for it: reading them and `verify` do that.
        let loaded = self.load(&AgentQuery::default().with_transcript()).await?;
        Ok(TranscriptView::new(&loaded.transcript))
    }

    /// Lets the agent's model read all that waits, now, until `stop`. Where nothing waits, permanently failed messages
    /// are tried again.
    ///
    /// # Errors
    /// The agent is not in service. No model can be used, or one that only follows rules; the store fails. An unusable
    /// response is no error: nothing of its chunk is saved, and that is recorded.
    pub async fn absorb(
        self,
        stop: impl Future<Output = ()> + Send,
        observer: &mut (dyn FnMut(&Absorbed) + Send),
    ) -> Result<Absorbed> {
        let loaded = self.load(&AgentQuery::default().with_transcript()).await?;
        check_in_service(&loaded)?;
        let model = self.reader().await?;
        let store = &self.memoir.store;
        check_messages(&loaded.agent, &loaded.transcript)?;
        let mut row = loaded.transcript;
        if row.pending == 0 && row.failed > 0 {
            // Only on request: the schedule would pay for the same failure again and again.
            self.revive(Reviving::Failed).await?;
            row = self.transcript_row().await?;
        }
        // A request waits neither for the due time, nor for another reader, which may have died. One that is alive
        // notices before its next chunk; what both read until then is saved once.
        if row.pending > 0 && row.due_at.is_none() {
            // By a change outside Memoir, which `verify` names: no lease would find them.
            self.wait_anew().await?;
        }
        let until = self.claimed_until();
        let Some(claim) = store.claim_transcript(self.scope, None, until).await? else {
            return Ok(Absorbed::default());
        };
        let mut stop: Stop<'_> = Box::pin(stop);
        self.absorb_claimed(model.as_ref(), claim, row, &mut stop, observer)
            .await
    }

    /// Lets the messages that were absorbed in the last [`KEPT_DAYS`] days wait again, for [`Life::absorb`].
    /// Their earlier notes stay. Returns their number.
    ///
    /// # Errors
    /// The agent is gone; the store fails.
    pub async fn absorb_again(self) -> Result<u64> {
        self.memoir.forget_words().await?;
        self.revive(Reviving::Absorbed).await
    }

    /// As [`Life::absorb`], for the schedule: where messages are due and not leased. `None` where they are not,
    /// or the agent is not to be asked.
    pub(super) async fn absorb_if_due(self, stop: &mut Stop<'_>) -> Result<Option<Absorbed>> {
        let settings = self.load(&AgentQuery::default()).await?.agent.settings;
        if settings.inactive || settings.paused {
            return Ok(None);
        }
        let store = &self.memoir.store;
        let (now, until) = (self.memoir.now(), self.claimed_until());
        let Some(claim) = store.claim_transcript(self.scope, Some(now), until).await? else {
            return Ok(None);
        };
        let row = match self.transcript_row().await {
            Ok(row) => row,
            Err(error) => {
                // Rows that do not match are checked again tomorrow; after any other error the lease runs out.
                if matches!(error, Error::Tampered(_) | Error::Inconsistent(_)) {
                    self.release(claim, now.plus(LONGEST_WAIT), 0).await?;
                }
                return Err(error);
            }
        };
        if row.pending == 0 {
            // The agent has read them itself.
            self.release(claim, now, row.failures).await?;
            return Ok(None);
        }
        let model = match self.reader().await {
            Ok(model) => model,
            Err(error) => {
                // Checked again tomorrow: no attempt was made.
                let later = now.plus(LONGEST_WAIT);
                self.release(claim, later, row.failures).await?;
                return Err(error);
            }
        };
        let (model, observer) = (model.as_ref(), &mut |_: &Absorbed| {});
        self.absorb_claimed(model, claim, row, stop, observer)
            .await
            .map(Some)
    }

    /// The agent's model, if it understands text.
    async fn reader(self) -> Result<std::sync::Arc<dyn Model>> {
        let model = self.sessions().model(&RefineOptions::default()).await?;
        if model.name().provider() == RULES_ONLY {
            return Err(Error::RulesOnly(model.name().to_string()));
        }
        Ok(model)
    }

    /// The expiry of a lease taken now: later than one chunk can take.
    fn claimed_until(self) -> Timestamp {
        let question = self.memoir.settings.limits.time;
        self.memoir.now().plus(question).plus_seconds(CLAIM_SECONDS)
    }

    /// Reads the waiting messages, and releases the lease in any case.
    async fn absorb_claimed(
        self,
        model: &dyn Model,
        claim: u64,
        row: TranscriptRow,
        stop: &mut Stop<'_>,
        observer: &mut (dyn FnMut(&Absorbed) + Send),
    ) -> Result<Absorbed> {
        let mut reading = AbsorptionUnderWay {
            model,
            claim,
            failures: row.failures,
            shrunk: row.failures,
            since: None,
            absorbed: Absorbed {
                pending: row.pending,
                ..Absorbed::default()
            },
        };
        let read = self.read_chunks(&mut reading, stop, observer).await;
        let again_at = match &read {
            Ok(again_at) => *again_at,
            Err(_) => self.after(reading.failures),
        };
        let released = self.release(claim, again_at, reading.failures).await;
        let mut absorbed = reading.absorbed;
        // The first error is the informative one.
        match read.and(released) {
            // Chunks were saved before, and this error would say that nothing was changed.
            Err(error) if absorbed.chunks > 0 && error.is_passing() => {
                let problem = "the store could not be reached; the rest waits, and is read later";
                absorbed.failure.get_or_insert_with(|| problem.to_owned());
            }
            read => read?,
        }
        absorbed.pending = match self.memoir.store.transcript(self.scope).await {
            Ok(row) => row.pending,
            Err(_) => absorbed.pending.saturating_sub(absorbed.messages),
        };
        Ok(absorbed)
    }

    /// Releases the lease on messages, which are read again from `again_at` on.
    async fn release(self, claim: u64, again_at: Timestamp, failures: u32) -> Result<()> {
        let store = &self.memoir.store;
        let released = store.resolve_transcript(self.scope, claim, again_at, failures);
        Ok(released.await?)
    }

    /// Reads chunk by chunk. Returns when the rest is to be tried again.
    async fn read_chunks(
        self,
        reading: &mut AbsorptionUnderWay<'_>,
        stop: &mut Stop<'_>,
        observer: &mut (dyn FnMut(&Absorbed) + Send),
    ) -> Result<Timestamp> {
        let store = &self.memoir.store;
        while let Some(chunk) = self.next_chunk(reading).await? {
            // The waiting messages stay, and are tried again like a failed chunk.
            self.check_model_use().await?;
            let count = chunk.places.len() as u64;
            let absorbed = &mut reading.absorbed;
            match self.read_chunk(reading.model, &chunk, stop).await? {
                ChunkOutcome::Absorbed {
                    saved,
                    replaced,
                    not_replaced,
                } => {
                    reading.failures = 0;
                    absorbed.messages += count;
                    absorbed.saved += saved;
                    absorbed.replaced += replaced;
                    absorbed.not_replaced += not_replaced;
                    absorbed.chunks += 1;
                }
                ChunkOutcome::Lost => {}
                ChunkOutcome::TooLarge { problem } => {
                    absorbed.failure = Some(problem);
                    self.give_up(&chunk.places, "too_large").await?;
                }
                ChunkOutcome::NotAnswered(why) => {
                    let (code, problem) = match why {
                        NotAnswered::Unreadable(Unreadable { code, problem }) => (code, problem),
                        // As an unusable response: another provider's filter may refuse one message, which smaller
                        // chunks isolate.
                        NotAnswered::Model(ModelFailure::Refused(problem)) => ("refused", problem),
                        // Not counted against the chunk: a provider that is down does not depend on its contents.
                        NotAnswered::Model(ModelFailure::Failed(problem)) => {
                            absorbed.failure = Some(problem);
                            return Ok(self.after(reading.failures));
                        }
                        // Nor is this, but until the configuration is another one each attempt ends the same way.
                        NotAnswered::Model(ModelFailure::Denied(problem)) => {
                            absorbed.failure = Some(problem);
                            self.note_failure(&chunk, "denied").await?;
                            return Ok(self.memoir.now().plus(LONGEST_WAIT));
                        }
                        NotAnswered::Stopped => {
                            absorbed.is_interrupted = true;
                            // Immediately: a reader after a restart need not wait.
                            return Ok(self.memoir.now());
                        }
                    };
                    absorbed.failure = Some(problem);
                    reading.failures += 1;
                    reading.shrunk = reading.shrunk.max(reading.failures);
                    if reading.failures < ATTEMPTS {
                        self.note_failure(&chunk, code).await?;
                        return Ok(self.after(reading.failures));
                    }
                    // Later chunks stay small: the next large one may be too much for the model, too.
                    self.give_up(&chunk.places, "given_up").await?;
                    reading.failures = 0;
                }
            }
            reading.absorbed.pending = store.transcript(self.scope).await?.pending;
            observer(&reading.absorbed);
            let until = self.claimed_until();
            // After each chunk and not by a clock: a lease outlasts one question (`claimed_until`), and a reader that
            // lost it has wasted one at most.
            if !store
                .extend_transcript(self.scope, reading.claim, until)
                .await?
            {
                reading.absorbed.failure = Some("another process reads on".to_owned());
                break;
            }
        }
        Ok(self.memoir.now())
    }

    /// The next attempt after so many failures of the same chunk.
    fn after(self, failures: u32) -> Timestamp {
        let wait = doubled(FIRST_WAIT, failures, LONGEST_WAIT);
        self.memoir.now().plus(wait)
    }

    /// The next messages to read; `None` where none waits.
    async fn next_chunk(self, reading: &mut AbsorptionUnderWay<'_>) -> Result<Option<Chunk>> {
        let store = &self.memoir.store;
        let first = store.pending_messages(self.scope, 0).await?;
        let Some(first) = first.first() else {
            return Ok(None);
        };
        let saved = RecordFilter {
            since: Some(*reading.since.get_or_insert(first.received_at)),
            last: Some(NOTES_READ),
            ..RecordFilter::of_actions([Action::MemorySaved])
        };
        let room_of_records = self.room_for_records(&saved).await?;
        let saved = codec::records(None, store.records(self.scope, &saved).await?)?;
        drop(room_of_records);
        let saved = saved.iter().filter_map(|record| record.memory).collect();
        let noted = self.load_memories(Selection::Numbers(saved)).await?;
        let query = AgentQuery::of_memories(Selection::ActiveCore).with_prompts();
        let loaded = self.load(&query).await?;
        let own = [
            &loaded.agent.settings.system_prompt,
            &loaded.agent.settings.reflection_prompt,
        ];
        let context_tokens = self.sessions().context_of(reading.model.context_tokens());
        let room = room(context_tokens, own);
        let (agent, core) = (&loaded.agent, &loaded.memories);
        let noted = absorption::notes_among(&noted.memories);
        let known = Known::new(agent, core, &noted, room / KNOWN_SHARE);
        let budget = room.saturating_sub(known.tokens()).min(CHUNK_TOKENS);
        let smaller = reading.shrunk.saturating_mul(SHRINKING);
        // At 0 the store returns one message, the least for a question.
        let budget = budget.checked_shr(smaller).unwrap_or(0);
        let rows = store.pending_messages(self.scope, budget).await?;
        let places = rows.iter().map(MessagePlace::of).collect();
        let messages = opened(&loaded, &rows)?;
        Ok((!messages.is_empty()).then(|| Chunk {
            places,
            known,
            at: self.last_said(&messages),
            messages,
        }))
    }

    /// When the last of them was said, where known. A conversation dated in the future counts as of today.
    pub(super) fn last_said(self, messages: &[ConversationMessage]) -> Option<Timestamp> {
        let last = messages.iter().filter_map(|message| message.at).next_back();
        last.map(|at| at.min(self.memoir.now()))
    }

    async fn read_chunk(
        self,
        model: &dyn Model,
        chunk: &Chunk,
        stop: &mut Stop<'_>,
    ) -> Result<ChunkOutcome> {
        if let Some(problem) = self.too_large(model, chunk) {
            return Ok(ChunkOutcome::TooLarge { problem });
        }
        let query = AgentQuery::default().with_prompts();
        let agent = self.load(&query).await?.agent;
        let question = ModelQuestion {
            prompt: absorption::ask(&agent, &chunk.known, &chunk.messages),
            schema: AnswerSchema {
                name: ANSWER,
                schema: absorption::answer_schema(),
            },
        };
        let at = chunk.at.unwrap_or(self.memoir.now());
        let added_by = absorption::added_by(&chunk.messages);
        let read = |answer: &str| absorption::read(answer, at, added_by);
        let answer = self.memoir.question(model, question, read, stop).await;
        let notes: Vec<Saving> = match answer {
            Ok(notes) => notes,
            Err(why) => return Ok(ChunkOutcome::NotAnswered(why)),
        };
        let count = chunk.messages.len();
        let absorb = |agent, replacing: &mut Replacing, now| {
            let (decision, saved) = absorption::absorb(agent, notes.clone(), replacing, count, now);
            let all = || saved.iter().map(|one| &one.replacements);
            let replaced: usize = all().map(|done| done.replaced.len()).sum();
            let not_replaced: usize = all().map(|done| done.not_replaced.len()).sum();
            (decision, (replaced as u64, not_replaced as u64))
        };
        let resolved = self
            .resolve(&chunk.places, MessageState::Absorbed, &notes, absorb)
            .await?;
        Ok(match resolved {
            Some((replaced, not_replaced)) => ChunkOutcome::Absorbed {
                saved: notes.len() as u64,
                replaced,
                not_replaced,
            },
            None => ChunkOutcome::Lost,
        })
    }

    /// Why a chunk of one message is not sent: some providers silently cut an input that is too long, and the rest
    /// would count as read. `None` where it is sent.
    fn too_large(self, model: &dyn Model, chunk: &Chunk) -> Option<String> {
        let context_tokens = self.sessions().context_of(model.context_tokens());
        let tokens: u64 = chunk.messages.iter().map(ConversationMessage::tokens).sum();
        (tokens > u64::from(context_tokens)).then(|| {
            format!(
                "a message of {tokens} tokens is larger than the model's context of {context_tokens}"
            )
        })
    }

    /// Records that the messages at these places failed permanently; they wait no longer.
    pub(super) async fn give_up(self, places: &[MessagePlace], why: &'static str) -> Result<()> {
        let count = places.len();
        let decide = |agent, _: &mut Replacing, now| (absorption::fail(agent, count, why, now), ());
        self.resolve(places, MessageState::Failed, &[], decide)
            .await
            .map(drop)
    }

    /// Records that a chunk's response was unusable.
    async fn note_failure(self, chunk: &Chunk, code: &'static str) -> Result<()> {
        let count = chunk.messages.len();
        self.decide(&AgentQuery::default(), |loaded, now| {
            Ok((Some(absorption::fail(loaded.agent, count, code, now)), ()))
        })
        .await
    }

    /// Writes a decision, which saves `notes`, together with the outcomes of the messages at these places; `None` where
    /// another reader was faster, and nothing was written.
    async fn resolve<T>(
        self,
        places: &[MessagePlace],
        state: MessageState,
        notes: &[Saving],
        decide: impl Fn(Agent, &mut Replacing, Timestamp) -> (Decision, T),
    ) -> Result<Option<T>> {
        let decide = &decide;
        self.decide_reading(&query_to_save(notes), |loaded, now| async move {
            // After the agent: a reader that resolves them from now on makes this a conflict.
            if !self.is_still_pending(places).await? {
                return Ok((None, None));
            }
            let memories = &loaded.memories;
            let mut replacing = self.memories().replacing_for(notes, memories).await?;
            let (decision, answer) = decide(loaded.agent, &mut replacing, now);
            let writing = Writing {
                messages: outcomes(places.iter().copied(), state, now),
                ..decision.into()
            };
            Ok((Some(writing), Some(answer)))
        })
        .await
    }

    async fn is_still_pending(self, places: &[MessagePlace]) -> Result<bool> {
        // The first is enough: readers begin with the oldest that waits.
        let first = self.memoir.store.pending_messages(self.scope, 0).await?;
        Ok(first.first().map(|row| row.seq) == places.first().map(|place| place.seq))
    }
}

/// The outcomes of the messages at these places. The text of absorbed ones is kept for some days.
pub(super) fn outcomes(
    places: impl Iterator<Item = MessagePlace>,
    state: MessageState,
    now: Timestamp,
) -> Vec<MessageOutcome> {
    let is_absorbed = state == MessageState::Absorbed;
    let words_until = is_absorbed.then(|| now.plus_days(KEPT_DAYS));
    let outcome = |place: MessagePlace| MessageOutcome {
        seq: place.seq,
        tokens: place.tokens,
        state,
        words_until,
    };
    places.map(outcome).collect()
}

/// That messages wait from now on, and from when on they are to be read.
fn waits(agent: Agent, waiting: Waiting, due_at: Timestamp) -> Writing {
    Writing {
        waiting: Some((waiting, due_at)),
        ..Decision::of_sessions(agent, Vec::new()).into()
    }
}

pub(super) fn opened(loaded: &Loaded, rows: &[MessageRow]) -> Result<Vec<ConversationMessage>> {
    let key = loaded.base.key();
    rows.iter()
        .map(|row| codec::open_message(key, row))
        .collect()
}

impl crate::core::Memoir {
    /// Removes the text of absorbed conversations after their days (SPEC 2.6).
    ///
    /// # Errors
    /// The store fails.
    pub async fn forget_words(&self) -> Result<()> {
        Ok(self.store.forget_words(self.now()).await?)
    }
}
