//! The log of an account: its administrators and what happened to them (SPEC 5.5).
//!
//! It has the format of an agent's log, so that the same code chains, stores, signs and verifies it. The agent in its
//! place has no name, no memory and no setting, and no caller can reach it
//! ([`AgentScope::of_account`](crate::ids::AgentScope::of_account)).

use crate::{
    agent::Agent,
    change::{
        draft::{Decision, Draft},
        manage,
    },
    ids::{AgentId, UserId},
    log::audit::{Action, Actor, Facts, RecordBody},
    text::private::PrivateText,
    time::Timestamp,
};

/// An event for the log of an account.
#[derive(Debug, Clone)]
pub struct Note<'a> {
    /// The action.
    pub action: Action,
    /// Counts, codes and identifiers.
    pub facts: Facts,
    /// The name of its subject, where that is new.
    pub name: Option<&'a str>,
    /// Who did it.
    pub actor: &'a Actor,
}

impl<'a> Note<'a> {
    /// An event without a user or a token.
    pub fn new(action: Action, actor: &'a Actor) -> Self {
        Self {
            action,
            facts: Facts::default(),
            name: None,
            actor,
        }
    }

    /// An event of a user; the user's row has that version with it.
    pub fn of_user(action: Action, user: UserId, version: u64, actor: &'a Actor) -> Self {
        Self {
            facts: Facts::default().user(user).count("version", version),
            ..Self::new(action, actor)
        }
    }
}

/// Begins the log of the account of that name. `id` is the account's own, in the form of an agent's.
pub fn begin(id: AgentId, name: &str, actor: &Actor, now: Timestamp) -> Decision {
    let note = Note {
        name: Some(name),
        ..Note::new(Action::AccountCreated, actor)
    };
    notify(manage::blank(id, now), &note, now)
}

/// Records the event.
pub fn notify(agent: Agent, note: &Note<'_>, now: Timestamp) -> Decision {
    let mut draft = Draft::for_agent(agent, now);
    let body = RecordBody::of_reason(note.name.map(PrivateText::from));
    draft.record(note.actor, note.action, None, note.facts.clone(), body);
    draft.finish()
}
