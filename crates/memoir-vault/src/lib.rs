//! Seals an agent's words and protects its log (SPEC 4.2, 5.3, 5.4).
//!
//! It owns the master key and its file, the key store with the wrapped keys of the agents, the sealing of texts, the
//! hashes of the chain, the checkpoints of the log over all chains, and sealed archives. It knows nothing of the
//! database that holds the sealed texts, of memories, or of permissions; it has no clock.
//!
//! Three kinds of keys hang together:
//!
//! * the **master key**, in a file of its own or in the environment, opens nothing but
//! * the **agent keys** and the key that signs checkpoints: random, wrapped under the master key in the
//!   [`KeyStore`]. From an agent's key come, by HKDF, the key that
//!   seals its texts and the key of its digests.
//!
//! Rotating the master key therefore touches no sealed text, no digest, no chain and no checkpoint.
//! Destroying an agent's key closes everything that was sealed under it, in every copy of the database.
//!
//! The key of an [`archive`], which carries one agent to another installation, is separate: it comes from a passphrase.
//!
//! # What this does not protect from
//! The master key and the key store together allow reading everything. With write access to the database and an old
//! copy of a row, version included, the copy can be restored: the sealing cannot show that, only the chain and a
//! checkpoint kept outside can. An old copy of the key store together with the master key that it was wrapped under
//! restores a destroyed key; copies must be destroyed too, or the master key rotated and the old one destroyed. Bytes
//! of a wrapped key may stay in free blocks of the disk after it was destroyed; they are equivalent to such a copy. So
//! is an archive of an agent whose key was destroyed, together with its passphrase.

mod cipher;
mod error;
mod keystore;
mod master;
mod secret;
mod text;
mod unlock;

pub mod archive;
pub mod chain;
pub mod log;
pub mod password;
pub mod seal;
pub mod second_factor;
pub mod token;

pub use error::{Error, Result};
#[doc(inline)]
#[cfg(feature = "conformance")]
pub use keystore::conformance;
pub use keystore::{Closing, KeyStore, SqliteKeys, rows, rows::KeyRows};
pub use master::{KeyId, MasterKey, exposed_mode, folder_of, sync_folder_of};
pub use seal::AgentKey;
pub use unlock::{MasterSource, unlock, unlock_rows};
