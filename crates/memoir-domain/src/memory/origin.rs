//! Where a text came from: its origin, the role that saved it, and the side that follows from the role (SPEC 2.4, 3.4).

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{memory::Invalid, wire_names::stored_name};

wire_names! {
    /// The role of an actor.
    pub enum ActorKind {
        /// A user who runs agents.
        Administrator = "administrator",
        Agent = "agent",
        System = "system",
        /// The owner of a personal machine, at its command line; not blind (SPEC 3.4).
        Owner = "owner",
    }
}

impl ActorKind {
    /// Whether it runs agents: an administrator, or the owner of a personal machine. Its acts on memories and settings
    /// are recorded even without a difference, and take precedence over every later undo of earlier changes (SPEC 4.3).
    pub fn is_in_charge(self) -> bool {
        matches!(self, Self::Administrator | Self::Owner)
    }

    /// The side of the texts that it adds (SPEC 3.4).
    pub fn side(self) -> Side {
        match self {
            Self::Administrator => Side::Administrator,
            Self::Agent | Self::Owner | Self::System => Side::Agent,
        }
    }
}

wire_names! {
    /// The interface through which a text came in. The interface assigns it, never the text (SPEC 2.4).
    #[derive(PartialOrd, Ord, Default)]
    pub enum Origin {
        /// The agent saved it.
        #[default]
        Agent = "agent",
        /// An administrator or the owner saved it.
        Administrator = "administrator",
        /// It was absorbed from a conversation.
        Conversation = "conversation",
        /// It was imported from another memory system.
        Import = "import",
        /// It quotes a page, a file, a tool's output or another person.
        External = "external",
    }
}

impl Origin {
    /// How weak it is, from 0 to 3. Agent and administrator are equally strong.
    pub fn weakness(self) -> u8 {
        match self {
            Self::Agent | Self::Administrator => 0,
            Self::Conversation => 1,
            Self::Import => 2,
            Self::External => 3,
        }
    }

    /// The origin of a text for which the client requests another origin; `None` requests none.
    ///
    /// # Errors
    /// The requested origin is not weaker.
    pub fn lowered_to(self, requested: Option<Self>) -> Result<Self, Invalid> {
        match requested {
            None => Ok(self),
            // Not "no stronger": agent and administrator are equally strong, and one must not pass for the other.
            Some(requested) if requested == self || requested.weakness() > self.weakness() => {
                Ok(requested)
            }
            Some(requested) => Err(Invalid::new(
                "origin",
                format!(
                    "cannot be `{requested}`: what is saved here is of origin `{self}`, which can be lowered and not raised; leave it out, or give a weaker one such as `external`"
                ),
            )),
        }
    }
}

impl FromStr for Origin {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::from_name(text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("origin", format!("is no origin; the origins are {known}"))
        })
    }
}

/// The role that saved a text, and the origin assigned to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedBy {
    /// The origin. One of another version of Memoir counts as the weakest.
    #[serde(deserialize_with = "stored_origin")]
    pub origin: Origin,
    /// The role of the actor that added it. One of another version counts as an administrator: its text is then merged
    /// with none of the agent's.
    #[serde(deserialize_with = "stored_role")]
    pub added_by: ActorKind,
}

fn stored_origin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Origin, D::Error> {
    let known = stored_name(Origin::from_name, deserializer)?;
    Ok(known.unwrap_or(Origin::External))
}

fn stored_role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ActorKind, D::Error> {
    let known = stored_name(ActorKind::from_name, deserializer)?;
    Ok(known.unwrap_or(ActorKind::Administrator))
}

impl SavedBy {
    /// What `kind` saves itself. Texts that Memoir writes are the agent's.
    pub fn of(kind: ActorKind) -> Self {
        let origin = match kind {
            ActorKind::Agent | ActorKind::System => Origin::Agent,
            ActorKind::Administrator | ActorKind::Owner => Origin::Administrator,
        };
        Self {
            origin,
            added_by: kind,
        }
    }

    /// The side of the text (SPEC 3.4).
    pub fn side(self) -> Side {
        self.added_by.side()
    }
}

/// Code never merges texts of different sides: the outcome would reveal whether a guess is right (SPEC 3.4, 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Texts of the agent, of the owner of an open installation, and of Memoir.
    Agent,
    /// Texts that came by an administrator's interface.
    Administrator,
}
