//! Shredding: removing the text of one memory from everywhere, for good (SPEC 4.4).

use memoir_domain::{
    PrivateText, SessionId, Timestamp,
    access::{self, AccessRefusal, AccessRequest},
    audit::{Actor, Record},
    draft::Decision,
    memories::AllMemories,
    memory::{Number, parse_text},
    session::Session,
    shred::{self, ShredTargets},
};
use memoir_store::{AgentQuery, Selection, TranscriptRow};
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
    /// Summaries, active or discarded, that a session wrote over it, and copies that a cleanup joined with it, that
    /// still have their text.
    #[schema(value_type = Vec<u64>)]
    pub summaries: Vec<Number>,
    /// Summaries, copies and reports that were shredded with it, where that was requested.
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
    #[schema(required)]
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
    /// Whether its copies, the summaries that were written over it, and the session reports that may mention it are
    /// shredded too.
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
    /// rehearsals; on request with its copies, summaries and reports. All of it is one commit: after an interruption
    /// everything is done or nothing, and the same request can be repeated. The caller ensures that the agent requests
    /// it or consents.
    ///
    /// # Errors
    /// There is none of that number, it was shredded before, a session is running, the reason is over its limit, or one
    /// of the memories is constitutional and only the agent requests it; [`Error::Changed`]. Nothing is shredded then.
    pub async fn shred(self, wish: ShredWish<'_>, actor: &Actor) -> Result<Shredded> {
        let reason = parse_text("reason", wish.reason, REASON_LIMIT)?;
        let wish = ShredWish {
            reason: reason.expose(),
            ..wish
        };
        self.decide_again(|| async {
            let _room = self.log().room_for_past().await?;
            let query = AgentQuery::of_memories(Selection::All).with_transcript();
            let loaded = self.load(&query).await?;
            let now = self.memoir.now();
            self.attempt_shred(loaded, wish, actor, None, now).await
        })
        .await
    }

    pub(crate) async fn shred_as_asked(
        self,
        number: Number,
        derived: bool,
        consent: Consent,
    ) -> Result<(Shredded, AccessRequest)> {
        let query = AgentQuery::of_memories(Selection::All).with_transcript();
        self.decide_again(|| async {
            let _room = self.log().room_for_past().await?;
            let (loaded, request, now) = self.grants().load_access(consent.request, &query).await?;
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
            let answered = answer.access.first().cloned().unwrap_or(request.clone());
            let wish = ShredWish {
                number,
                reason: request.purpose.expose(),
                derived,
            };
            let actor = &request.asked_by;
            let shredded = self.attempt_shred(loaded, wish, actor, Some(answer), now);
            Ok((shredded.await?, answered))
        })
        .await
    }

    /// `answer` is the agent's response to an administrator, which is written with it.
    async fn attempt_shred(
        self,
        loaded: Loaded,
        wish: ShredWish<'_>,
        actor: &Actor,
        answer: Option<Decision>,
        now: Timestamp,
    ) -> Result<Shredded> {
        let number = wish.number;
        let mut memories = loaded.memories.iter();
        let found = memories.find(|memory| memory.number == number);
        let memory = found.ok_or(Error::NoMemory(number))?;
        // A person relies on the number of stored messages, for the text may be in them too.
        check_messages(&loaded.agent, &loaded.transcript)?;
        let transcript = StoredTranscript::of(loaded.transcript);
        let store = &self.memoir.store;
        // Every record, since the text may be in any: in the before of an edit, in the after of an undo.
        let rows = self.log().log_from(1, &loaded).await?;
        let read = rows.iter().map(|row| (row.seq, row.clone())).collect();
        let key = Some(loaded.base.key());
        let history = codec::records(key, rows)?;
        let all = AllMemories::new(loaded.memories.shared());
        let rest = rest_on(number, &all, &history, wish.derived).into_iter();
        let (derived, summaries): (Vec<_>, Vec<_>) = rest.partition(|_| wish.derived);
        // Rehearsals keep copies of memories in their sessions' rows; these texts are removed too.
        let rows = store.session_page(self.scope, None, u32::MAX).await?;
        let (sessions, mut rehearsals) = codec::sessions(key, rows)?;
        // The agent after the decision, since the decision and the shredding are written in one commit.
        let agent = match &answer {
            Some(answer) => answer.agent.clone(),
            None => loaded.agent,
        };
        let numbers = std::iter::once(number).chain(derived.iter().copied());
        let numbers: Vec<Number> = numbers.collect();
        // Only rehearsals that held a text of the memories have to be written again.
        rehearsals.retain(|_, rehearsal| {
            let mut is_touched = false;
            for number in &numbers {
                is_touched |= rehearsal.shred(*number);
            }
            is_touched
        });
        let targets = ShredTargets {
            numbers: &numbers,
            memories: all,
            rehearsals: &rehearsals.keys().copied().collect(),
        };
        let reason = PrivateText::from(wish.reason);
        let mut decision = shred::shred(agent, &sessions, targets, &history, &reason, actor, now)?;
        let written: Vec<SessionId> = decision.sessions.iter().map(|session| session.id).collect();
        let is_to_write = |session: &Session| {
            rehearsals.contains_key(&session.id) && !written.contains(&session.id)
        };
        decision
            .sessions
            .extend(sessions.into_iter().filter(is_to_write));
        let own_facts = decision.records.first().map(|record| &record.facts);
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
            redacted_records: own_facts
                .and_then(|facts| facts.count_of("redacted"))
                .unwrap_or_default(),
            summaries,
            derived,
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

/// The copies of a memory and the summaries that were ever written over its text, where they still have their text, by
/// number; on request with the reports of the sessions that edited it or one of them.
fn rest_on(
    number: Number,
    all: &AllMemories,
    history: &[Record],
    with_reports: bool,
) -> Vec<Number> {
    let mut derived = shred::derived_from(number, history);
    if with_reports {
        derived.summaries.append(&mut derived.reports);
    }
    // Shredded ones have no text.
    let found = derived.summaries.iter().filter_map(|one| all.get(*one));
    let found = found.filter(|memory| memory.shredded_at.is_none());
    found.map(|memory| memory.number).collect()
}
