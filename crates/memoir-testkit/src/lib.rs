//! Shared by the tests of Memoir: an installation, on any store, with a clock that they move; a server for it, and a
//! client; agents with their tokens; memories and questions; scripted models, in process and behind HTTP, honest and
//! hostile; a store whose commits are watched and disturbed; and a PostgreSQL of their own.
//!
//! For tests only: every function here panics where it does not get what it needs. Records everything it is sent,
//! prompts included, so that a test can compare exactly what a model reads.
//!
//! `tests/architecture.rs` checks the direction of dependencies between the crates.

mod ages;
mod characters;
mod clock;
mod corpus;
mod dice;
mod disk;
mod honest;
mod inputs;
mod installation;
mod model;
mod models;
mod page;
#[cfg(unix)]
mod postgres;
mod served;
mod server;
mod step;
mod store;
mod tampering;
mod tenant;
mod text;
mod watched;

pub use ages::{Age, Ages, Floor, numbers};
pub use characters::{Character, Mind, Row, Score};
pub use clock::TestClock;
pub use corpus::Corpus;
pub use dice::{Dice, SeededRandom};
pub use disk::DiskFolder;
pub use honest::Honest;
pub use inputs::{archival, input, journal, message, query, replacing, tagged};
pub use installation::{
    InstallationFolder, SIX_MEMORIES, TestInstallation, keys_in_memory, settings,
};
pub use model::{ModelScript, Turn};
pub use models::SetModel;
pub use page::compare_with_page;
#[cfg(unix)]
pub use postgres::{Postgres, next_migrations};
pub use served::{HttpAnswer, Served, Serving};
pub use server::{ReceivedRequest, ScriptedServer};
pub use step::{ModelAnswer, ServerStep};
pub use store::empty_store;
#[cfg(unix)]
pub use store::{KeyDatabase, postgres_store};
pub use tampering::{intrude, tamper};
pub use tenant::{
    CAREFUL_AGENT, SCRIPTED_AGENT, Tenant, account, administrator, administrator_token, agent,
    customer, tenant,
};
pub use text::{TestedObject, TestedText, rows};
pub use watched::{StoreWatch, WatchedStore};

/// The allocator of the program, for [`program_allocator!`].
#[cfg(target_os = "linux")]
pub use mimalloc::MiMalloc;

/// Makes a benchmark allocate as the program does.
#[macro_export]
macro_rules! program_allocator {
    () => {
        #[cfg(target_os = "linux")]
        #[global_allocator]
        static ALLOCATOR: $crate::MiMalloc = $crate::MiMalloc;
    };
}
