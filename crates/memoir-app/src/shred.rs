//! Taking the words of one memory out of everything, for good (SPEC 4.4).

use std::collections::BTreeMap;

use memoir_details::{Reading, unsaid};
use memoir_domain::{
    PrivateText, Timestamp,
    access::{self, AccessRefusal},
    audit::Actor,
    draft::Decision,
    memory::{Memory, Number, parse_text},
    session::Session,
    shred::{self, ShredTarget},
};
use memoir_store::{Selection, SessionRow};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    AgentHandle, Error, Loaded, Result, ShownMemory,
    access_requests::Consent,
    codec::{self, Base, WrittenBeside},
    memories::memory_query,
    opened::MemoryList,
};

/// Most characters of a reason.
const REASON_LIMIT: usize = 1_000;

/// A memory that was shredded.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ShreddedMemory)]
pub struct Shredded {
    /// What is left of it.
    #[serde(flatten)]
    pub memory: ShownMemory,
    /// When; shown with the memory.
    #[serde(skip)]
    pub shredded_at: Timestamp,
    /// Earlier records from which its words were taken.
    pub redacted_records: u64,
    /// Kept memories that still say a sentence of it: for the agent alone to know.
    #[schema(value_type = Vec<u64>)]
    pub still_said_by: Vec<Number>,
    /// Those that said one and were shredded with it, where that was wished.
    #[schema(value_type = Vec<u64>)]
    pub derived: Vec<Number>,
}

/// What the agent wishes gone.
#[derive(Debug, Clone, Copy)]
pub struct ShredWish<'a> {
    /// The memory.
    pub number: Number,
    /// Why, for the record; not the words themselves.
    pub reason: &'a str,
    /// Whether the kept memories that say a sentence of it go, too.
    pub derived: bool,
}

impl<'a> ShredWish<'a> {
    /// One memory, without the others that say a sentence of it.
    pub fn of(number: Number, reason: &'a str) -> Self {
        Self {
            number,
            reason,
            derived: false,
        }
    }
}

/// A shredding that is to be.
struct ShredOrder<'a> {
    number: Number,
    reason: &'a PrivateText,
    actor: &'a Actor,
    /// The agent's answer to an administrator, which is written with it.
    answer: Option<Decision>,
    now: Timestamp,
}

impl AgentHandle {
    /// Whether there is that memory, with words that this actor may wish away.
    ///
    /// # Errors
    /// There is none of that number, it was shredded before, or it is constitutional and the agent alone wishes it.
    pub async fn check_shred(&self, number: Number, actor: &Actor) -> Result<()> {
        let query = memory_query(Selection::Numbers(vec![number]));
        let loaded = self.load(&query).await?;
        let memory = loaded.memories.first().ok_or(Error::NoMemory(number))?;
        shred::check_wish(memory, actor)?;
        Ok(())
    }

    /// Takes the words of one memory out of the memory, its history, the records before and after it, and
    /// what rehearsals kept of it; with what else says a sentence of it, where that is wished. At the agent's wish,
    /// or with its consent: whoever calls this makes sure of that. Each memory is shredded in a step of its own, the
    /// one asked for last: after an interruption the same wish does the rest.
    ///
    /// # Errors
    /// There is none of that number, it was shredded before, a session is running, or the reason is over
    /// its limit; [`Error::Changed`]. Nothing is shredded where one of them is constitutional and the agent alone
    /// wishes it.
    pub async fn shred(&self, wish: ShredWish<'_>, actor: &Actor) -> Result<Shredded> {
        let reason = parse_text("reason", wish.reason, REASON_LIMIT)?;
        if !wish.derived {
            return self.shred_one(wish.number, &reason, actor).await;
        }
        let memories = self.load(&memory_query(Selection::All)).await?.memories;
        let memory = memories.iter().find(|memory| memory.number == wish.number);
        let memory = memory.ok_or(Error::NoMemory(wish.number))?;
        let saying = saying(memory, &memories);
        let to_go = |one: &&Memory| one.number == wish.number || saying.contains(&one.number);
        // All of them before the first goes: what is shredded does not come back where a later one must stay.
        for one in memories.iter().filter(to_go) {
            shred::check_wish(one, actor)?;
        }
        // What these stood for may change what the memory stands for: whether it is as expected was looked at above.
        let agent = self.under(None);
        // The one that was asked for comes last: as long as it is there, the same wish finds the
        // rest again.
        for &number in &saying {
            agent.shred_one(number, &reason, actor).await?;
        }
        let shredded = agent.shred_one(wish.number, &reason, actor).await?;
        Ok(Shredded {
            derived: saying,
            ..shredded
        })
    }

    async fn shred_one(
        &self,
        number: Number,
        reason: &PrivateText,
        actor: &Actor,
    ) -> Result<Shredded> {
        self.decide_again(|| async {
            let loaded = self.load(&memory_query(Selection::All)).await?;
            let wish = ShredOrder {
                number,
                reason,
                actor,
                answer: None,
                now: self.memoir.now(),
            };
            self.attempt_shred(loaded, wish).await
        })
        .await
    }

    /// Carries out what an administrator asked the agent for, together with the agent's answer.
    pub(crate) async fn shred_as_asked(
        &self,
        number: Number,
        consent: Consent,
    ) -> Result<Shredded> {
        let query = memory_query(Selection::All);
        self.decide_again(|| async {
            let (loaded, request, now) = self.load_access(consent.request, &query).await?;
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
            // Somebody else gave the same answer meanwhile.
            let answer = answer.ok_or(AccessRefusal::NotWaiting(request.state))?;
            let wish = ShredOrder {
                number,
                reason: &request.purpose,
                actor: &request.asked_by,
                answer: Some(answer),
                now,
            };
            self.attempt_shred(loaded, wish).await
        })
        .await
    }

    async fn attempt_shred(&self, loaded: Loaded, wish: ShredOrder<'_>) -> Result<Shredded> {
        let ShredOrder {
            number,
            reason,
            actor,
            answer,
            now,
        } = wish;
        let found = loaded
            .memories
            .iter()
            .find(|memory| memory.number == number);
        let memory = found.ok_or(Error::NoMemory(number))?;
        let stands_for = |other: &&Memory| {
            other.number != number && other.wordings.iter().any(|one| one.number == number)
        };
        let standing_for_it: Vec<Memory> =
            loaded.memories.iter().filter(stands_for).cloned().collect();
        let still_said_by = saying(memory, &loaded.memories);
        let store = &self.memoir.store;
        // Every record, since the words may stand in any: in a merge's before, in an undo's after,
        // in a wording that another memory stands for.
        let rows = self.whole_log(&loaded).await?;
        let read = rows.iter().map(|row| (row.seq, row.clone())).collect();
        let key = Some(loaded.base.key());
        let history = crate::parallel::map(rows, |row| codec::record(key, row))
            .into_iter()
            .collect::<Result<Vec<_>>>()?;
        // Rehearsals keep copies of memories in their sessions' rows; their words go with the rest.
        let rows = store.session_page(self.scope, None, u32::MAX).await?;
        let (sessions, mut rehearsals) = sessions(&loaded.base, rows)?;
        // The agent is taken as the answer leaves it, since the answer and the shredding are written in one commit.
        let agent = match &answer {
            Some(answer) => answer.agent.clone(),
            None => loaded.agent,
        };
        let mut decision = shred::shred(
            agent,
            &sessions,
            &ShredTarget {
                memory,
                standing_for_it: &standing_for_it,
            },
            &history,
            reason.clone(),
            actor,
            now,
        )?;
        // Only rehearsals that held words of the memory have to be written again.
        rehearsals.retain(|_, rehearsal| rehearsal.shred(number));
        let rehearsed = |session: &Session| rehearsals.contains_key(&session.id);
        decision
            .sessions
            .extend(sessions.into_iter().filter(rehearsed));
        let shredded = Shredded {
            memory: {
                let left = decision.changes.first().map(|change| change.after());
                ShownMemory::answered(left.unwrap_or_else(|| memory.clone()), actor)
            },
            shredded_at: now,
            redacted_records: decision.redactions.len() as u64,
            still_said_by,
            derived: Vec::new(),
        };
        // The answer comes first, so that the consent stands on the record before what it allowed.
        let decision = match answer {
            Some(answer) => answer.then(decision),
            None => decision,
        };
        let beside = WrittenBeside {
            rehearsals,
            read,
            ..WrittenBeside::default()
        };
        self.commit(&loaded.base, decision, beside).await?;
        Ok(shredded)
    }
}

/// The other kept memories that say a sentence of what the memory says.
fn saying(memory: &Memory, memories: &MemoryList) -> Vec<Number> {
    let read = Reading::of(memory.content.expose());
    let others = memories
        .iter()
        .filter(|other| other.is_kept() && other.number != memory.number);
    let says = |other: &&Memory| {
        let unsaid = unsaid(&[&read], &Reading::of(other.content.expose()));
        let whole = unsaid
            .iter()
            .filter(|loss| loss.whole || loss.gone == loss.of);
        whole.count() < read.sentences()
    };
    others.filter(says).map(|other| other.number).collect()
}

type Rehearsals = BTreeMap<memoir_domain::SessionId, crate::sessions::Rehearsal>;

fn sessions(base: &Base, rows: Vec<SessionRow>) -> Result<(Vec<Session>, Rehearsals)> {
    let mut sessions = Vec::with_capacity(rows.len());
    let mut rehearsals = Rehearsals::new();
    for row in rows {
        let (session, rehearsal) = codec::session(Some(base.key()), row)?;
        rehearsals.extend(rehearsal.map(|rehearsal| (session.id, rehearsal)));
        sessions.push(session);
    }
    Ok((sessions, rehearsals))
}
