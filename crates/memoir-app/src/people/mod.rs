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
pub(crate) mod owner;
pub(crate) mod sign_in;
pub(crate) mod users;

use std::sync::Arc;

use crate::{
    core::{ModuleStates, agent_part},
    people::{
        access::LastUseBuffer, access_requests::GrantsInUse, account_log::Failures,
        asking::AskingWaits,
    },
};

pub(crate) fn enter(states: ModuleStates) -> ModuleStates {
    states
        .with(Arc::<LastUseBuffer>::default())
        .with(Arc::<Failures>::default())
        .with(Arc::<GrantsInUse>::default())
        .with(Arc::<AskingWaits>::default())
}

agent_part! {
    /// Who may do what with one agent: tokens, connections and access grants.
    Grants, grants
}

agent_part! {
    /// The settings of one agent.
    AgentSettings, settings
}
