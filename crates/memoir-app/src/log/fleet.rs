//! An account's agents as a list: their counts, where their originals are, and how far each is from its limits.
//! Content-blind.

use memoir_domain::{
    Timestamp,
    agent::{self, Agent},
    session::{FailureClass, Health, Session},
    tools::session_gauge,
};
use memoir_store::{FleetPage, FleetQuery, FleetRow, FleetSession};
use serde::Serialize;

use crate::{
    core::{Account, Memoir, Result, codec},
    shown::{AgentFacts, SessionFacts},
};

/// One page of a list of agents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetView {
    /// The number of agents of the whole list.
    pub total: u64,
    /// The number of agents of each health that have such a name, in the order of [`Health::ALL`].
    pub by_health: [u64; Health::ALL.len()],
    /// The agents of the page.
    pub agents: Vec<ListedAgent>,
}

/// An agent in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedAgent {
    /// The agent, without its prompts. Its `originals` have the counts `in_prompt` and `archived`.
    #[serde(flatten)]
    pub agent: AgentFacts,
    /// The session begun last; `None` where there was none.
    pub last_session: Option<SessionFacts>,
    /// How many tokens edits may remove before the breaker trips: in the running session, or in one that begins now.
    pub breaker_removable_tokens: u64,
    /// The core size after each session of the last [`CORE_SIZE_DAYS`], and now: each with its time, oldest first. Of
    /// many sessions, the last ones.
    pub core_sizes: Vec<(Timestamp, u64)>,
    /// Access requests that wait for a response or can be used.
    pub open_requests: u64,
}

/// The days over which a list shows core sizes.
pub const CORE_SIZE_DAYS: i64 = 90;

impl Account {
    /// One page of the account's agents, sorted and searched: by a part of their names in any case.
    ///
    /// # Errors
    /// The store fails.
    pub async fn fleet(&self, query: &FleetQuery) -> Result<FleetView> {
        let memoir = &self.memoir;
        let now = memoir.now();
        let page = FleetPage {
            query: FleetQuery {
                text: agent::fold_name(query.text.trim()),
                ..query.clone()
            },
            now,
            latest_slot: memoir.settings.weekly_slot.latest(now),
            sessions_since: now.plus_days(-CORE_SIZE_DAYS),
        };
        let slice = memoir.store.fleet_page(self.id, &page).await?;
        let agents = slice.agents.into_iter().map(|row| memoir.listed_agent(row));
        Ok(FleetView {
            total: slice.total,
            by_health: slice.by_health,
            agents: agents.collect::<Result<_>>()?,
        })
    }
}

impl ListedAgent {
    /// How it is, in words: `over budget, refused 12 times`.
    pub fn health_words(&self) -> String {
        let last = self.last_session.as_ref();
        let failure = last.and_then(|last| last.failure);
        let refused = last.map_or(0, |last| last.refused_calls);
        self.agent.health_words(failure, refused)
    }
}

impl AgentFacts {
    /// Its health in words, with why its last session failed and how many of that session's calls were refused.
    pub fn health_words(&self, failure: Option<FailureClass>, refused_calls: u32) -> String {
        let health = self.health;
        let mut words = match (health, failure) {
            (Health::Failed, Some(failure)) => failure.label(),
            (health, _) => health.label(),
        }
        .to_owned();
        let is_over = self.counts.core_tokens > self.effective_core_token_budget;
        if health == Health::Failed && is_over {
            words.push_str(", over budget");
        }
        match (health, refused_calls) {
            (Health::InOrder, _) | (_, 0) => {}
            (_, 1) => words.push_str(", refused once"),
            _ => words.push_str(&format!(", refused {refused_calls} times")),
        }
        words
    }
}

impl Memoir {
    fn listed_agent(&self, row: FleetRow) -> Result<ListedAgent> {
        let agent = codec::listed_agent(&row.agent)?;
        let last = row.last_session.as_ref();
        let last = last.map(codec::listed_session).transpose()?;
        // A rehearsal's counts are of a copy: the agent's core size does not follow them.
        let is_counted = |last: &&Session| last.state.is_running() && !last.rehearsal;
        let gauge = session_gauge(&agent, last.as_ref().filter(is_counted));
        let state = last.as_ref().map(|last| last.state);
        Ok(ListedAgent {
            core_sizes: self.core_sizes(&agent, &row.sessions)?,
            breaker_removable_tokens: gauge.allowance().tokens,
            agent: self.listed_facts(&agent, state),
            last_session: last.map(|last| SessionFacts::new(&agent.name, &last)),
            open_requests: row.open_requests,
        })
    }

    /// The core size after each of these sessions, and now.
    fn core_sizes(
        &self,
        agent: &Agent,
        sessions: &[FleetSession],
    ) -> Result<Vec<(Timestamp, u64)>> {
        let mut sizes = Vec::with_capacity(sessions.len() + 1);
        for session in sessions {
            let session = codec::listed_session(session)?;
            // A rehearsal is on a copy.
            if !session.rehearsal {
                sizes.extend(session.ended_at.zip(session.post_session_tokens));
            }
        }
        sizes.push((self.now(), agent.tally.core_tokens));
        Ok(sizes)
    }
}
