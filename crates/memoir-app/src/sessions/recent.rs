//! What this process knows of open sessions from its own last call in each, so that the next one needs
//! fewer look-ups. Nothing is ever answered from here alone: a commit that rests on it fails where
//! anybody else wrote meanwhile, and whatever is not a commit is decided again on what the store says.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use memoir_domain::{AgentScope, SessionId, agent::Agent, session::Session};

use crate::codec::Base;

/// Most sessions that are known at a time; each holds its agent's prompts.
const LIMIT: usize = 256;

/// An agent and its open session after a commit of this process.
pub(crate) struct Known {
    pub(crate) base: Base,
    pub(crate) agent: Agent,
    pub(crate) session: Session,
    /// What refinement removed over the erosion floor's days, this session included.
    pub(crate) eroded_tokens: u64,
}

/// The sessions known.
#[derive(Default)]
pub(crate) struct Recent(Mutex<HashMap<AgentScope, Known>>);

impl Recent {
    /// What is known of the session, which is then no longer known: of two calls at once only one may
    /// rest on it.
    pub(crate) fn take(&self, scope: AgentScope, session: SessionId) -> Option<Known> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .remove(&scope)
            .filter(|known| known.session.id == session)
    }

    pub(crate) fn put(&self, scope: AgentScope, session: Known) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= LIMIT {
            // Whoever is forgotten takes one longer look.
            known.clear();
        }
        known.insert(scope, session);
    }
}
