//! An agent imported from another installation, with all its data (SPEC 4.1, 4.2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    agent::{self, Agent, Field, MessageCounts, Settings},
    change::{
        draft::Decision,
        manage::{self, ChangeRefusal},
    },
    history::replay::{Replay, ReplayMismatch},
    ids::{AgentId, SessionId},
    log::audit::{Action, Actor, Change, Facts, Record},
    memory::{self, CONTENT_LIMIT, Invalid, Memory, SOURCE_LIMIT, Tags, parse_text},
    session::Session,
    time::Timestamp,
};

/// A whole agent that moves from one installation to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedAgent {
    /// The agent.
    pub agent: Agent,
    /// All its memories, the discarded ones too.
    pub memories: Vec<Memory>,
    /// All its sessions; none of them running.
    pub sessions: Vec<Session>,
    /// Its whole log, oldest first.
    pub records: Vec<Record>,
    /// The hash at the end of its log in the original installation.
    pub head: [u8; 32],
}

/// Why an agent cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdoptRefusal {
    /// It was erased, or a session of it runs.
    #[error(transparent)]
    Change(#[from] ChangeRefusal),
    /// Its log does not match its data.
    #[error("the agent's log does not fit: {}", .0.problem)]
    Mismatch(ReplayMismatch),
    /// Some of its data exceeds a limit, or the given name is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Whether the memory could have been saved (SPEC 2.1).
fn check_limits(memory: &Memory) -> Result<(), Invalid> {
    if memory.shredded_at.is_some() {
        return Ok(());
    }
    parse_text("content", memory.content.expose(), CONTENT_LIMIT)?;
    if let Some(source) = &memory.source {
        parse_text("source", source.expose(), SOURCE_LIMIT)?;
    }
    // A survivor of duplicates may carry more tags than can be saved.
    for tag in memory.tags.iter() {
        Tags::parse([tag])?;
    }
    Ok(())
}

impl ArchivedAgent {
    /// Checks that it is consistent: no session is running, and its log matches its data.
    ///
    /// # Errors
    /// See [`AdoptRefusal`].
    pub fn check(&self) -> Result<(), AdoptRefusal> {
        let mut sessions = self.sessions.iter();
        let running = sessions.find(|session| session.state.is_running());
        manage::check_idle(&self.agent, running.map(|session| session.id))?;
        // The log proves no limits: the author of the file wrote the log in it too.
        self.memories.iter().try_for_each(check_limits)?;
        self.check_settings()?;
        let replay = Replay::of(&self.records).map_err(AdoptRefusal::Mismatch)?;
        replay
            .check_agent(&self.agent)
            .and_then(|()| replay.check_memories(&self.memories))
            .and_then(|_| replay.check_sessions(&self.sessions))
            .map_err(AdoptRefusal::Mismatch)
    }

    /// Whether the settings could have been set.
    fn check_settings(&self) -> Result<(), AdoptRefusal> {
        let (mut name, mut settings) = (String::new(), Settings::default());
        for field in Field::ALL {
            // As text, as a user sets it: only then are limits checked.
            let text = agent::field_text(&self.agent.name, &self.agent.settings, field);
            agent::set_field(&mut name, &mut settings, field, text.as_deref())?;
        }
        Ok(())
    }

    /// Imports it as a new agent: with identifiers of this installation and its log, to which one record with the log's
    /// last hash is added. `sessions` maps each of its sessions to a new identifier.
    ///
    /// # Errors
    /// As for [`ArchivedAgent::check`]; an active journal entry is dated more than a day ahead and would expire too
    /// late; the name is invalid.
    pub fn adopt(
        self,
        id: AgentId,
        name: &str,
        sessions: &BTreeMap<SessionId, SessionId>,
        actor: &Actor,
        now: Timestamp,
    ) -> Result<Decision, AdoptRefusal> {
        self.check()?;
        // Discarded entries are in no context from which they could expire, so their dates do not matter.
        for memory in self.memories.iter().filter(|memory| memory.is_active()) {
            memory::check_date(memory.kind(), memory.created_at, now)?;
        }
        let renamed = |id: SessionId| sessions.get(&id).copied().unwrap_or(id);
        let mut records = self.records;
        for record in &mut records {
            record.session = record.session.map(renamed);
            record.facts = std::mem::take(&mut record.facts).with_session_renamed(renamed);
        }
        // At least 1: `check` has compared it with the log, which begins with 1.
        let last = self.agent.next_seq - 1;
        // Its conversations stay where they are.
        let messages = MessageCounts::default();
        let agent = Agent {
            id,
            messages,
            ..self.agent
        };
        let facts = Facts::default()
            .count("records", last)
            .commitments("head", [(last, self.head)]);
        let mut decision = Decision::of_record(agent, actor, Action::AgentImported, facts, now);
        // The new name is added as a change of settings, so that the log still has the previous name.
        // Where the archive has that name already, no change is requested.
        let name = (decision.agent.name != name).then_some([(Field::Name, Some(name))]);
        let named = name.map(|name| manage::configure(decision.agent.clone(), &name, actor, now));
        if let Some(named) = named.transpose()?.flatten() {
            decision = decision.then(named);
        }
        records.append(&mut decision.records);
        decision.records = records;
        // In their present state, not replayed: `check` has shown that the log leads there, and a store writes each row
        // once.
        decision.changes = self.memories.into_iter().map(Change::Created).collect();
        decision.sessions = self
            .sessions
            .into_iter()
            .map(|session| Session {
                id: renamed(session.id),
                ..session
            })
            .collect();
        Ok(decision)
    }
}
