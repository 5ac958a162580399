//! The log of an account: who may administer it, and what became of them (SPEC 5.5).
//!
//! It is an agent's log by its form, so that the same code chains, stores, signs and verifies it, and it is no
//! agent's: the agent in whose place it stands has no name, no memory and no setting, and nobody reaches it
//! ([`AgentScope::of_account`](crate::AgentScope::of_account)).

use crate::{
    AgentId, PrivateText, Timestamp, UserId,
    agent::Agent,
    audit::{Action, Actor, Facts, RecordBody},
    draft::{Decision, Draft},
    manage,
};

/// What happened, for the log of an account.
#[derive(Debug, Clone)]
pub struct Note<'a> {
    /// What it was.
    pub action: Action,
    /// Counts, codes and identifiers.
    pub facts: Facts,
    /// The name of what it is about, where that is new.
    pub name: Option<&'a str>,
    /// Who did it.
    pub actor: &'a Actor,
}

impl<'a> Note<'a> {
    /// Something that is about no user and no token.
    pub fn new(action: Action, actor: &'a Actor) -> Self {
        Self {
            action,
            facts: Facts::default(),
            name: None,
            actor,
        }
    }

    /// Something about a user, whose row is of that version with it.
    pub fn of_user(action: Action, user: UserId, version: u64, actor: &'a Actor) -> Self {
        Self {
            facts: Facts::default().user(user).count("version", version),
            ..Self::new(action, actor)
        }
    }
}

/// Begins the log of the account of that name: `id` is the account's own, as an agent's.
pub fn begin(id: AgentId, name: &str, actor: &Actor, now: Timestamp) -> Decision {
    let note = Note {
        name: Some(name),
        ..Note::new(Action::AccountCreated, actor)
    };
    tell(manage::blank(id, now), &note, now)
}

/// Puts on the record what happened.
pub fn tell(agent: Agent, note: &Note<'_>, now: Timestamp) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    let body = RecordBody {
        reason: note.name.map(PrivateText::from),
        ..RecordBody::default()
    };
    draft.record(
        note.actor.clone(),
        note.action,
        None,
        note.facts.clone(),
        body,
    );
    draft.finish()
}
