//! Identifiers. They are created outside (the domain has no randomness) and only compared here.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! identifiers {
    ($($(#[$meta:meta])* $name:ident,)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[derive(derive_more::Display, derive_more::Debug)]
        #[debug("{_0}")]
        #[display("{_0}")]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// From the 128 bits of a UUID.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The 128 bits, as stores keep them.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl From<[u8; 16]> for $name {
            fn from(bytes: [u8; 16]) -> Self {
                Self::from_bytes(bytes)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                text.parse().map(Self).map_err(|_| InvalidId)
            }
        }
    )+};
}

/// A text that is no identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not an identifier: expected 32 hexadecimal digits in the form 01890c5e-0000-7000-8000-000000000000"
)]
pub struct InvalidId;

identifiers! {
    /// A tenant.
    AccountId,
    /// The owner of a private memory.
    AgentId,
    /// One refinement session.
    SessionId,
    /// A token that gives access to an interface of the service.
    TokenId,
    /// A user with a name and a password.
    UserId,
    /// An access request to an agent (SPEC 5.2).
    AccessRequestId,
}

/// An agent of an account: every look-up of private data takes one (SPEC 5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AgentScope {
    /// The tenant that the agent belongs to.
    pub account: AccountId,
    /// The agent.
    pub agent: AgentId,
}

impl AgentScope {
    /// The place of an account's own log, which belongs to no agent: under the account's own identifier.
    pub fn of_account(account: AccountId) -> Self {
        Self {
            account,
            agent: AgentId::from_bytes(*account.as_bytes()),
        }
    }

    /// Whether it is that of an account's own log.
    pub fn is_of_account(self) -> bool {
        self == Self::of_account(self.account)
    }
}
