//! Shredding: removing the text of one memory from everywhere, for good (SPEC 4.4).

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    access::{self, AccessRefusal},
    audit::{Action, Actor},
    draft::Decision,
    memories::AllMemories,
    memory::{Number, parse_text},
    session::Session,
    shred::{self, Derived, ShredTarget},
};
use memoir_store::{AgentQuery, RecordFilter, Selection, TranscriptRow};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    core::{
        Error, Loaded, Result, check_messages,
        codec::{self, Writing},
    },
    memory::Memories,
    people::access_requests::Consent,
    shown::{ArchiveLinks, ShownMemory},
};

/// Most characters of a reason.
const REASON_LIMIT: usize = 1_000;

/// A memory that was shredded.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ShreddedMemory)]
pub struct Shredded {
    /// The rest of it.
    #[serde(flatten)]
    pub memory: ShownMemory,
    /// The time; shown with the memory.
    #[serde(skip)]
    pub shredded_at: Timestamp,
    /// Earlier records from which its text was removed.
    pub redacted_records: u64,
    /// Summaries, active or discarded, that a session wrote over it and that still have their text.
    #[schema(value_type = Vec<u64>)]
    pub summaries: Vec<Number>,
    /// Summaries and reports that were shredded with it, where that was requested.
    #[schema(value_type = Vec<u64>)]
    pub derived: Vec<Number>,
    /// Conversations with stored text, which may hold the shredded text (SPEC 2.6); `None` where there are none.
    #[schema(required)]
    pub transcript: Option<StoredTranscript>,
}

/// Messages of an agent's conversations with stored, sealed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoredTranscript {
    /// Messages that wait to be read, or could not be.
    pub waiting: u64,
    /// Absorbed messages.
    pub absorbed: u64,
    /// When the last stored text of absorbed ones expires; `None` where there is none.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    pub absorbed_until: Option<Timestamp>,
}

impl StoredTranscript {
    fn of(row: TranscriptRow) -> Option<Self> {
        let stored = Self {
            waiting: row.pending + row.failed,
            absorbed: row.kept,
            absorbed_until: row.kept_until,
        };
        (stored.waiting + stored.absorbed > 0).then_some(stored)
    }
}

/// A request to shred.
#[derive(Debug, Clone, Copy)]
pub struct ShredWish<'a> {
    /// The memory.
    pub number: Number,
    /// Why, for the record; not the text itself.
    pub reason: &'a str,
    /// Whether the summaries that were written over it, and the session reports that may mention it, are shredded too.
    pub derived: bool,
}

impl<'a> ShredWish<'a> {
    /// One memory alone.
    pub fn of(number: Number, reason: &'a str) -> Self {
        Self {
            number,
            reason,
            derived: false,
        }
    }
}

impl Memories<'_> {
    /// Checks that the memory exists, with a text that this actor may request to shred.
    ///
    /// # Errors
    /// There is none of that number, it was shredded before, or it is constitutional and only the agent requests it.
    pub async fn check_shred(self, number: Number, actor: &Actor) -> Result<()> {
        let query = AgentQuery::of_memories(Selection::Numbers(vec![number]));
        let loaded = self.load(&query).await?;
        let memory = loaded.memories.first().ok_or(Error::NoMemory(number))?;
        shred::check_wish(memory, actor)?;
        Ok(())
    }

    /// Removes the text of one memory from the memory, its history, the records before and after it, and the
    /// rehearsals; on request with its summaries and reports. The caller ensures that the agent requests it or
    /// consents. Each memory is shredded in a step of its own, the requested one last: after an interruption the same
    /// request does the rest.
    ///
    /// # Errors
    /// There is none of that number, it was shredded before, a session is running, or the reason is over
    /// its limit; [`Error::Changed`]. Nothing is shredded where it is constitutional and only the agent requests it.
    pub async fn shred(self, wish: ShredWish<'_>, actor: &Actor) -> Result<Shredded> {
        let reason = parse_text("reason", wish.reason, REASON_LIMIT)?;
        if !wish.derived {
            return self.shred_one(wish.number, &reason, actor).await;
        }
        self.check_shred(wish.number, actor).await?;
        let derived = self.shred_derived(wish.number, &reason, actor).await?;
        // An earlier step may have changed the memory, whose condition was met above.
        let agent = match derived.is_empty() {
            true => self.0.clone(),
            false => self.under(None),
        };
        let memories = agent.memories();
        let shredded = memories.shred_one(wish.number, &reason, actor).await?;
        Ok(Shredded {
            derived,
            ..shredded
        })
    }

    /// Shreds what depends on a memory: the summaries that were written over it, and the reports of the sessions that
    /// edited it or one of them. Returns them.
    async fn shred_derived(
        self,
        number: Number,
        reason: &PrivateText,
        actor: &Actor,
    ) -> Result<Vec<Number>> {
        let derived = self.derived_from(number).await?;
        let numbers = derived.summaries.into_iter().chain(derived.reports);
        let numbers = numbers.filter(|other| *other != number).collect();
        let query = AgentQuery::of_memories(Selection::Numbers(numbers));
        // Whether the memory requested is as expected is checked with that one.
        let agent = self.under(None);
        let mut to_shred = Vec::new();
        for memory in &agent.load(&query).await?.memories {
            if memory.shredded_at.is_none() {
                // All are checked before the first is shredded: a shredded text is lost even if a later one must stay.
                shred::check_wish(memory, actor)?;
                to_shred.push(memory.number);
            }
        }
        to_shred.sort_unstable();
        for number in &to_shred {
            agent.memories().shred_one(*number, reason, actor).await?;
        }
        Ok(to_shred)
    }

    /// All summaries and reports that were ever written over the text of a memory.
    async fn derived_from(self, number: Number) -> Result<Derived> {
        let filter = RecordFilter {
            actions: vec![
                Action::MemoryRefinementConsolidate,
                Action::MemoryRefinementUpdate,
                Action::MemoryRefinementDelete,
                Action::MemoryRefinementComplete,
            ],
            ..RecordFilter::default()
        };
        let rows = self.memoir.store.records(self.scope, &filter).await?;
        // The facts, which are not sealed, name the members, so no record has to be opened.
        let mut derived = shred::derived_from(number, &codec::records(None, rows)?);
        // The summary of an import, which no session wrote here.
        let read = async |number| self.load_memories(Selection::Numbers(vec![number])).await;
        let own = read(number).await?;
        if let Some(under) = own.memories.iter().find_map(|memory| memory.under()) {
            let over = read(under).await?;
            let summary = over.memories.iter().find(|memory| memory.is_summary);
            derived
                .summaries
                .extend(summary.map(|memory| memory.number));
        }
        Ok(derived)
    }

    async fn shred_one(
        self,
        number: Number,
        reason: &PrivateText,
        actor: &Actor,
    ) -> Result<Shredded> {
        self.decide_again(|| async {
            let query = AgentQuery::of_memories(Selection::All).with_transcript();
            let loaded = self.load(&query).await?;
            let now = self.memoir.now();
            self.attempt_shred(loaded, number, reason, actor, None, now)
                .await
        })
        .await
    }

    /// Carries out a request of an administrator, together with the agent's consent; then, where requested, shreds what
    /// depends on the memory.
    pub(crate) async fn shred_as_asked(
        self,
        number: Number,
        derived: bool,
        consent: Consent,
    ) -> Result<Shredded> {
        let query = AgentQuery::of_memories(Selection::All).with_transcript();
        let (shredded, reason, actor) = self
            .decide_again(|| async {
                let (loaded, request, now) =
                    self.grants().load_access(consent.request, &query).await?;
                let (agent, reason) = (loaded.agent.clone(), consent.reason.as_ref());
                let answer = access::answer(
                    agent,
                    &request,
                    access::AgentAnswer {
                        is_granted: true,
                        reason,
                        usage: consent.usage,
                    },
                    &consent.actor,
                    now,
                )?;
                // Another process wrote the same decision meanwhile.
                let answer = answer.ok_or(AccessRefusal::NotWaiting(request.state))?;
                let (reason, actor) = (&request.purpose, &request.asked_by);
                let shredded = self
                    .attempt_shred(loaded, number, reason, actor, Some(answer), now)
                    .await?;
                Ok((shredded, request.purpose, request.asked_by))
            })
            .await?;
        if !derived {
            return Ok(shredded);
        }
        // The consent is recorded by now. After an interruption the agent requests the rest itself.
        let derived = self.shred_derived(number, &reason, &actor).await?;
        let is_left = |summary: &Number| !derived.contains(summary);
        Ok(Shredded {
            summaries: shredded.summaries.into_iter().filter(is_left).collect(),
            derived,
            ..shredded
        })
    }

    /// `answer` is the agent's response to an administrator, which is written with it.
    async fn attempt_shred(
        self,
        loaded: Loaded,
        number: Number,
        reason: &PrivateText,
        actor: &Actor,
        answer: Option<Decision>,
        now: Timestamp,
    ) -> Result<Shredded> {
        let mut memories = loaded.memories.iter();
        let found = memories.find(|memory| memory.number == number);
        let memory = found.ok_or(Error::NoMemory(number))?;
        // A person relies on the number of stored messages, for the text may be in them too.
        check_messages(&loaded.agent, &loaded.transcript)?;
        let transcript = StoredTranscript::of(loaded.transcript);
        let store = &self.memoir.store;
        // Every record, since the text may be in any: in the before of an edit, in the after of an undo.
        let rows = self.log().whole_log(&loaded).await?;
        let read = rows.iter().map(|row| (row.seq, row.clone())).collect();
        let key = Some(loaded.base.key());
        let history = codec::records(key, rows)?;
        let all = AllMemories::new(loaded.memories.shared());
        // Shredded ones have no text.
        let imported = memory
            .under()
            .filter(|under| all.get(*under).is_some_and(|memory| memory.is_summary));
        let mut summaries = shred::derived_from(number, &history).summaries;
        summaries.extend(imported);
        let has_text = |summary: &Number| {
            let memory = all.get(*summary);
            memory.is_some_and(|memory| memory.shredded_at.is_none())
        };
        let summaries = summaries
            .into_iter()
            .filter(|summary| *summary != number && has_text(summary))
            .collect();
        // Rehearsals keep copies of memories in their sessions' rows; these texts are removed too.
        let rows = store.session_page(self.scope, None, u32::MAX).await?;
        let (sessions, mut rehearsals) = codec::sessions(key, rows)?;
        // The agent after the decision, since the decision and the shredding are written in one commit.
        let agent = match &answer {
            Some(answer) => answer.agent.clone(),
            None => loaded.agent,
        };
        let mut decision = shred::shred(
            agent,
            &sessions,
            &ShredTarget {
                memory,
                bare_summary: all.summary_left_bare(memory),
            },
            &history,
            reason.clone(),
            actor,
            now,
        )?;
        // Only rehearsals that held a text of the memory have to be written again.
        rehearsals.retain(|_, rehearsal| rehearsal.shred(number));
        let written: Vec<SessionId> = decision.sessions.iter().map(|session| session.id).collect();
        let is_to_write = |session: &Session| {
            rehearsals.contains_key(&session.id) && !written.contains(&session.id)
        };
        decision
            .sessions
            .extend(sessions.into_iter().filter(is_to_write));
        let shredded = Shredded {
            memory: {
                let mut links = ArchiveLinks::among(&loaded.memories);
                for change in &decision.changes {
                    links.follow(&change.after());
                }
                let left = decision.changes.first().map(|change| change.after());
                ShownMemory::answered(left.unwrap_or_else(|| memory.clone()), &links, actor)
            },
            shredded_at: now,
            redacted_records: decision.redactions.len() as u64,
            summaries,
            derived: Vec::new(),
            transcript,
        };
        // The decision comes first, so that the consent is recorded before the shredding.
        let decision = match answer {
            Some(answer) => answer.then(decision),
            None => decision,
        };
        let writing = Writing {
            rehearsals,
            read,
            ..decision.into()
        };
        self.commit(&loaded.base, writing).await?;
        Ok(shredded)
    }
}
