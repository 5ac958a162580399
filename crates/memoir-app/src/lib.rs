//! The use cases of Memoir: load what a decision needs, let the domain decide, commit.
//!
//! Every interface calls these functions and nothing below them. No rule of refinement is decided here, no SQL is
//! written here, and no provider is named here.
//!
//! A use case writes a decision under the agent version that it was based on. If another process was faster, the store
//! returns `Conflict`, and the use case loads and decides again. This also fences sessions: closing a session increases
//! the agent's version. A worker without its lease then decides anew, finds the session closed, and changes nothing.
//!
//! Everything of one agent is reached through an [`AgentHandle`], none of whose methods names another agent. It comes
//! from an [`Account`], from a token of the agent, or with due work, and cannot be built outside of this crate.
//! Compile-fail tests check this (`tests/scoped.rs`).

mod core;
mod life;
mod log;
mod memory;
mod metrics;
mod people;
pub mod sessions;
mod shown;

use std::sync::Arc;

use memoir_store::Store;
use memoir_vault::KeyStore;

use crate::{
    core::{
        CommitListener, ModuleStates,
        clock::{SharedClock, SystemRandom},
        keys::InstallationKeys,
    },
    metrics::{Metrics, Watched},
};

pub use core::accounts::{AccountView, DEFAULT_ACCOUNT};
pub use core::clock::{Clock, Random, SystemClock};
pub use core::error::{Error, Result};
pub use core::fault::{FaultId, TARGET as FAULTS};
pub use core::parallel::{run_long, run_long_work_on};
pub use core::quotas::{Quota, QuotaReached, Quotas};
pub use core::replies::{KeptReply, ReplyKey, RequestAttempt, RequestOutcome};
pub use core::retry::PassedOver;
pub use core::settings::{InstallationSettings, Price, RecallSettings, SessionLimits};
pub use core::spans::TARGET as SPANS;
pub use core::{Account, AgentHandle, Memoir, Models, clock};
pub use life::Life;
pub use life::notices::{EndNotice, Retry};
pub use life::{
    Absorbed, HandedMessage, HandedOver, Job, JobOutcome, LifeSchedule, MESSAGES_LIMIT, NotedPart,
    Reflected, TranscriptView, UnreadPart, check_message_count,
};
pub use log::AgentLog;
pub use log::checkpoint::{CheckpointGrowth, CheckpointView};
pub use log::doctor::{Examination, Severity};
pub use log::erase::Erased;
pub use log::export::LogExport;
pub use log::finish::{Finished, Unfinished};
pub use log::fleet::{CORE_SIZE_DAYS, FleetView, ListedAgent};
pub use log::look_back::{CORE_SIZE_POINTS, CoreSizeAt, LogHistory, LookBack, SessionSpan};
pub use log::probe::{BeforeAndAfter, SessionProbe};
pub use log::rewind::{Point, Rewound};
pub use log::stats::{
    AgentStats, CoreSizeHistory, OriginalsView, QuarterOfOriginals, Return, SessionCounts,
};
pub use log::verify::{Mismatch, Verification};
pub use log::verify_run::{NamedLog, VerificationRun};
pub use memoir_model::EmbedderPlace;
pub use memoir_store::{
    Expiry, FleetOrder, FleetQuery, MemoryPage, ReceiverDigest, RecordFilter, RecordOrder,
    RecordPlace, WaitingSession, WorkMeter, note_low_priority, without_waiting,
};
pub use memory::context::{ContextRequest, ContextShare, ContextView, QuarterInContext};
pub use memory::memories::{Handling, MemoryInput, Saved, optional, optional_or_default};
pub use memory::recall::{RecallPage, ShownMatch};
pub use memory::shred::{ShredWish, Shredded, StoredTranscript};
pub use memory::stored_index::IndexStoring;
pub use memory::take_over::{ForeignMemory, ForeignPart, ImportRequest, ImportUndone, TakenOver};
pub use memory::vectors::{AgentEmbedding, VectorsMade};
pub use memory::{Memories, import};
pub use metrics::{Metric, ModelCallResult, ProviderResponse, entered as entered_metric};
pub use people::access::{Principal, Provision, Role, SignedInUser, TokenView, TokenWithSecret};
pub use people::agents::check_settings;
pub use people::asking::AskOutcome;
pub use people::authoring::OwnSetting;
pub use people::connections::{
    ACCESS_SECONDS, ADDRESSES_LIMIT, ClientAddress, CodeProof, Connecting, ConnectionView,
    ConnectionWish, GrantRefusal, Granted, NAME_LIMIT, OAuthClient, SCOPE,
};
pub use people::owner::{OwnerEntry, OwnerLink, OwnerSession};
pub use people::sign_in::{
    HalfSignedIn, PasswordProof, Proof, RecoveryCodes, SecondFactorOffer, SignIn, SignInSecret,
    SignInView, VerifiedUser,
};
pub use people::users::{UserView, new_password};
pub use people::{AgentSettings, Grants};
pub use sessions::Sessions;
pub use shown::Views;
pub use shown::views::{RefinementDue, ScheduleView};
pub use shown::{
    AccessRequestFacts, AccessRequestWords, AgentFacts, AgentLens, AgentWords, ArchiveLinks,
    MemoryCounts, MemoryFacts, MemoryWords, OriginalCounts, OwnAgent, RecordFacts, RecordWords,
    SessionFacts, SessionWords, Shown, ShownAccessRequest, ShownAgent, ShownMemory, ShownRecord,
    ShownSession, Viewer, schemas,
};

impl Memoir {
    /// On `store`, with the agents' keys in `keys`, and with the machine's clock and random numbers.
    pub fn new(
        store: Arc<dyn Store>,
        keys: Arc<KeyStore>,
        models: Arc<dyn Models>,
        settings: InstallationSettings,
    ) -> Self {
        let (settings, metrics) = (Arc::new(settings), Arc::<Metrics>::default());
        let watched = Watched {
            models,
            metrics: metrics.clone(),
            settings: settings.clone(),
        };
        let mut states = ModuleStates::default().with(metrics.clone());
        let mut listeners: Vec<Arc<dyn CommitListener>> = vec![metrics.clone()];
        states = memory::enter(states, &mut listeners, &settings, metrics);
        states = people::enter(states);
        states = log::enter(states);
        // Last: a session's listeners find the caches up to date.
        states = sessions::enter(states, &mut listeners);
        Self {
            store,
            keys: InstallationKeys(keys),
            models: Arc::new(watched),
            clock: Arc::new(SharedClock::new(Arc::new(SystemClock))),
            random: Arc::new(SystemRandom),
            settings,
            opened: Arc::default(),
            room: Arc::default(),
            usages: Arc::default(),
            states,
            listeners: listeners.into(),
        }
    }

    /// The upkeep beside a process's requests, until dropped: makes vectors of memories, where a model of embeddings is
    /// configured, stores indexes of words, and wipes cached texts that are not used.
    pub async fn keep_up(&self) {
        tokio::join!(
            self.keep_making_vectors(),
            self.keep_indexes_stored(),
            self.forget_unused_texts()
        );
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use memoir_domain::{AccountId, AgentId, AgentScope, Timestamp};
    use memoir_model::Providers;
    use memoir_store_sqlite::SqliteStore;
    use memoir_vault::{AgentKey, MasterKey};

    use super::*;

    /// An installation in memory, without a provider.
    pub(crate) fn memoir() -> Memoir {
        let store = SqliteStore::in_memory().unwrap();
        memoir_on(store, InstallationSettings::default())
    }

    /// The same on that store, under those settings.
    pub(crate) fn memoir_on(store: SqliteStore, settings: InstallationSettings) -> Memoir {
        let keys = KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap();
        Memoir::new(
            Arc::new(store),
            Arc::new(keys),
            Arc::new(Providers::new(BTreeMap::new()).unwrap()),
            settings,
        )
    }

    /// An agent of the first account.
    pub(crate) fn scope(agent: u8) -> AgentScope {
        AgentScope {
            account: AccountId::from_bytes([1; 16]),
            agent: AgentId::from_bytes([agent; 16]),
        }
    }

    pub(crate) fn key(agent: u8) -> AgentKey {
        let keys = KeyStore::in_memory(&MasterKey::generate().unwrap()).unwrap();
        keys.create(scope(agent), Timestamp::MAX).unwrap()
    }

    #[test]
    fn every_modules_state_is_entered() {
        let memoir = memoir();
        let _ = memoir.state::<Metrics>();
        let _ = memoir.state::<memory::same_text::SameTexts>();
        let _ = memoir.state::<memory::indexes::Indexes>();
        let _ = memoir.state::<memory::vectors::VectorUpkeep>();
        let _ = memoir.state::<people::access::LastUseBuffer>();
        let _ = memoir.state::<people::account_log::Failures>();
        let _ = memoir.state::<people::access_requests::GrantsInUse>();
        let _ = memoir.state::<people::asking::AskingWaits>();
        let _ = memoir.state::<log::Limits>();
        let _ = memoir.state::<log::verify_run::VerificationRuns>();
        let _ = memoir.state::<sessions::Unwritten>();
        let _ = memoir.state::<sessions::Recent>();
    }
}
