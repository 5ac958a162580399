//! One log over the chains of all agents, and checkpoints of it that can be kept outside (SPEC 4.2).
//!
//! A leaf records the head of an agent's chain at a time. The leaves form the Merkle tree of RFC 6962 (by the crate
//! `ct-merkle`). A checkpoint is its size and root in the format of C2SP `tlog-checkpoint`, signed with ed25519 as a
//! C2SP `signed-note`. With a kept checkpoint, a reader can check later that the log only grew since.
//!
//! The signing key is random and stored wrapped in the key store ([`crate::KeyStore::log`]). It is not derived from the
//! master key, so that old checkpoints remain valid when that one is rotated.

mod checkpoint;
mod note;
mod tree;

pub use checkpoint::{Checkpoint, CheckpointError};
pub use note::{InvalidName, InvalidVerifier, LogKey, LogVerifier, NoteError};
pub use tree::{Leaf, NotGrown, Root, check_grew, root};
