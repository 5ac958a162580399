//! Users, tokens, connections, access requests and grants, and the log of an account.
//!
//! Owns who may do what. What is shown to whom is decided in `shown`, and what is recorded of an agent is in `log`.

pub(crate) mod access;
pub(crate) mod access_requests;
pub(crate) mod account_log;
pub(crate) mod agents;
pub(crate) mod asking;
pub(crate) mod authoring;
pub(crate) mod closing;
pub(crate) mod connections;
pub(crate) mod in_use;
pub(crate) mod sign_in;
pub(crate) mod users;

use std::ops::Deref;
use std::sync::Arc;

use crate::{
    core::{AgentHandle, ModuleStates},
    people::{
        access::LastUseBuffer, access_requests::GrantsInUse, account_log::Failures,
        asking::AskingWaits,
    },
};

/// Enters this module's state.
pub(crate) fn enter(states: ModuleStates) -> ModuleStates {
    states
        .with(Arc::<LastUseBuffer>::default())
        .with(Arc::<Failures>::default())
        .with(Arc::<GrantsInUse>::default())
        .with(Arc::<AskingWaits>::default())
}

/// Who may do what with one agent: tokens, connections and access grants.
#[derive(Clone, Copy)]
pub struct Grants<'a>(&'a AgentHandle);

impl Deref for Grants<'_> {
    type Target = AgentHandle;

    fn deref(&self) -> &AgentHandle {
        self.0
    }
}

impl AgentHandle {
    /// Who may do what with one agent: tokens, connections and access grants.
    pub fn grants(&self) -> Grants<'_> {
        Grants(self)
    }
}

/// The settings of one agent.
#[derive(Clone, Copy)]
pub struct AgentSettings<'a>(&'a AgentHandle);

impl Deref for AgentSettings<'_> {
    type Target = AgentHandle;

    fn deref(&self) -> &AgentHandle {
        self.0
    }
}

impl AgentHandle {
    /// The settings of one agent.
    pub fn settings(&self) -> AgentSettings<'_> {
        AgentSettings(self)
    }
}
