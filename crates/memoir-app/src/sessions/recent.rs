//! What this process knows of open sessions from its own last call in each, so that the next one needs
//! fewer look-ups. Nothing is ever answered from here alone: a commit that rests on it fails where
//! anybody else wrote meanwhile, and whatever is not a commit is decided again on what the store says.
//!
//! So a call that names memories takes one look-up, of these, before its commit.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use memoir_domain::{
    AgentScope, SessionId, agent::Agent, memory::Number, session::Session, survey::Survey,
};

use crate::codec::Base;

/// Most sessions that are known at a time; each holds an agent without its memories and prompts.
const LIMIT: usize = 256;

/// An agent and its open session after a commit of this process.
pub(crate) struct Known {
    pub(crate) base: Base,
    pub(crate) agent: Agent,
    pub(crate) session: Session,
}

/// What this process learned in the course of an open session, refusals included.
#[derive(Default)]
pub(crate) struct Notes {
    /// A look at all memories, and the version of the agent that it is of.
    pub(crate) survey: Option<(u64, Survey)>,
    /// How often edits of a memory were refused.
    pub(crate) refusals: BTreeMap<Number, u32>,
}

/// Looks at all memories that are kept at a time: each holds its agent's core memories.
const NOTES_LIMIT: usize = 32;

/// The sessions known.
#[derive(Default)]
pub(crate) struct Recent {
    known: Mutex<HashMap<AgentScope, Known>>,
    notes: Mutex<HashMap<SessionId, Notes>>,
}

impl Recent {
    /// What is known of the session, which is then no longer known: of two calls at once only one may
    /// rest on it.
    pub(crate) fn take(&self, scope: AgentScope, session: SessionId) -> Option<Known> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .remove(&scope)
            .filter(|known| known.session.id == session)
    }

    pub(crate) fn put(&self, scope: AgentScope, session: Known) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= LIMIT {
            // Whoever is forgotten takes one longer look.
            known.clear();
        }
        known.insert(scope, session);
    }

    /// The notes of a session; of two calls at once the later one begins new ones.
    pub(crate) fn take_notes(&self, session: SessionId) -> Notes {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.remove(&session).unwrap_or_default()
    }

    pub(crate) fn put_notes(&self, session: SessionId, kept: Notes) {
        // Where nothing was learned, no other session's look gives way to it.
        if kept.survey.is_none() && kept.refusals.is_empty() {
            return;
        }
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() >= NOTES_LIMIT {
            // Whoever is forgotten takes another look.
            notes.clear();
        }
        notes.insert(session, kept);
    }

    /// Forgets what was learned in a session that is over.
    pub(crate) fn drop_notes(&self, session: SessionId) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.remove(&session);
    }
}
