//! The vault, from outside: its rules, the vectors of the ciphers and formats, and several processes.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod archive;
mod chain;
mod conformance;
mod keystore;
mod log;
mod master;
mod processes;
mod seal;
mod second_factor;
mod secrets;
mod vectors;

use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp};
use memoir_vault::{AgentKey, KeyStore, MasterKey, seal::Nonce};
use tempfile::TempDir;

/// The agent of that number, in the account of that number.
fn scope(account: u8, agent: u8) -> AgentScope {
    AgentScope {
        account: AccountId::from_bytes([account; 16]),
        agent: AgentId::from_bytes([agent; 16]),
    }
}

fn now() -> Timestamp {
    "2026-11-05T12:00:00.000001Z".parse().unwrap()
}

fn nonce() -> Nonce {
    let mut random = [0; 24];
    getrandom::fill(&mut random).unwrap();
    Nonce::from_random(random)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// A folder with a key store of its own.
struct Vault {
    folder: TempDir,
    master: MasterKey,
    store: KeyStore,
}

impl Vault {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let master = MasterKey::generate().unwrap();
        let store = KeyStore::open(&folder.path().join("keys.db"), &master).unwrap();
        Self {
            folder,
            master,
            store,
        }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("keys.db")
    }

    fn key(&self, account: u8, agent: u8) -> AgentKey {
        self.store.create(scope(account, agent), now()).unwrap()
    }

    /// As another process opens it.
    fn again(&self) -> KeyStore {
        KeyStore::open(&self.path(), &self.master).unwrap()
    }
}
