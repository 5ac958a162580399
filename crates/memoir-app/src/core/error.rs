//! The errors of use cases: a code, and a sentence that is safe to show. Neither holds an agent's text. Each interface
//! adds what to do about it.

use memoir_domain::{
    SessionId, Timestamp,
    access::AccessRefusal,
    adopt::AdoptRefusal,
    lifecycle::{NothingToRefine, StartRefusal},
    manage::ChangeRefusal,
    memory::{Invalid, Number},
    rollback::Obstacle,
    text::counted,
};
use memoir_model::{ConnectError, ModelNameError};
use memoir_store as store;

use crate::core::quotas::QuotaReached;

/// A use case's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("there is no account `{0}`")]
    NoAccount(String),
    #[error("there is no agent `{0}`")]
    NoAgent(String),
    #[error("there is no session `{0}`")]
    NoSession(String),
    #[error("there is no token `{0}`")]
    NoToken(String),
    #[error("there is no administrator `{0}`")]
    NoUser(String),
    #[error("`{0}` is the last administrator: without any, no user could sign in")]
    LastUser(String),
    #[error("there is no access request `{0}`")]
    NoAccessRequest(String),
    #[error("no access grant of the agent `{0}` covers this")]
    NoAccess(String),
    #[error(
        "only the agent itself can do this: an administrator has no access to text and cannot decide for an agent"
    )]
    AgentOnly,
    #[error("an agent can undo its last session; an administrator can undo any")]
    NotLastSession,
    /// An access request is refused, or cannot be decided or used.
    #[error(transparent)]
    Access(AccessRefusal),
    /// An agent that is in use is given no token without its consent (SPEC 5.5).
    #[error(
        "the agent `{0}` is in use: it has memories or conversations, has acted, or has a token that is valid or was used; only it can make further tokens for itself"
    )]
    ConsentNeeded(String),
    #[error("there is no memory {0}")]
    NoMemory(Number),
    #[error("memory {0} is discarded")]
    Discarded(Number),
    /// An input breaks a limit.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The name is taken, in any case.
    #[error("the name `{0}` is taken")]
    NameTaken(String),
    /// A prompt of the agent's own would be lost, perhaps by mistake.
    #[error("{field}: {doubt}; nothing was changed")]
    Unconfirmed {
        /// The setting, by its wire name.
        field: &'static str,
        /// The reason for the confirmation.
        doubt: memoir_domain::authoring::Doubt,
    },
    /// No session can be begun.
    #[error(transparent)]
    Start(#[from] StartRefusal),
    /// The schedule began a session for an agent that is no longer due.
    #[error("the agent is not due for a session any more")]
    NotDue,
    #[error("no model is set for the agent, and the installation has no default")]
    NoModel,
    #[error("`{0}` is rule-based and understands no text: it cannot read a conversation")]
    RulesOnly(String),
    /// The model's name is none.
    #[error(transparent)]
    ModelName(#[from] ModelNameError),
    /// The model cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The agent or the memory cannot be changed in this way.
    #[error(transparent)]
    Change(#[from] ChangeRefusal),
    #[error("session {session} cannot be undone: {problem}")]
    NotUndoable {
        session: SessionId,
        problem: &'static str,
    },
    #[error("undoing session {session} conflicts with later changes of the same memories")]
    InTheWay {
        session: SessionId,
        obstacles: Vec<Obstacle>,
    },
    /// Changes that an administrator made conflict with an agent's undo (SPEC 4.3).
    #[error(
        "undoing session {session} conflicts with later changes by an administrator, and these stay"
    )]
    BeyondAgent {
        session: SessionId,
        /// All conflicting changes.
        obstacles: Vec<Obstacle>,
    },
    #[error("the session {session} cannot be applied: {problem}")]
    NotApplicable { session: SessionId, problem: String },
    /// A file to import has bad lines.
    #[error("nothing was imported: {} of {} cannot be read", bad.len(), counted(*total as u64, "line", "lines"))]
    BadLines {
        /// The lines' numbers, from 1, and the error of each.
        bad: Vec<(usize, String)>,
        total: usize,
    },
    #[error("the agent has no import that can be undone")]
    NoImport,
    #[error(
        "{0} cannot be replaced by its page: it is constitutional, a summary, in the archive or not active, or the page gives it another kind"
    )]
    NotReplaceable(Number),
    #[error(
        "undoing the import conflicts with later changes of {}: sessions consolidated them, or they were protected (the first: {})",
        counted(*count as u64, "memory", "memories"),
        list(numbers)
    )]
    ImportInTheWay {
        /// The number of changed memories.
        count: usize,
        /// The first of their numbers.
        numbers: Vec<Number>,
    },
    #[error("session {0} was closed by another process")]
    SessionLost(SessionId),
    #[error("it was changed since it was read")]
    Changed,
    /// The agent changed under every attempt to decide.
    #[error("too many simultaneous changes of the agent: try again")]
    Contended,
    #[error("too much is being loaded for other requests; nothing was changed")]
    NoRoom,
    /// A quota of the agent or of its account is used up.
    #[error("{0}")]
    Quota(QuotaReached),
    /// The agent has refused a session, and no caller may ask it again so soon (SPEC 3.3).
    #[error(
        "the agent refused a session at {at}; it is not asked again before {until}, by any caller, and may open a session itself at any time"
    )]
    RefusedLately {
        at: Timestamp,
        until: Timestamp,
        /// The seconds until then.
        seconds: u32,
    },
    #[error("the system's source of random numbers is not available")]
    Random,
    #[error("the agent `{name}` was erased on {}: nothing of it can be read again", at.date())]
    Erased { name: String, at: Timestamp },
    /// The erasure is recorded, and the agent's key still exists.
    #[error(
        "the agent `{name}` is erased on the record, and nothing shows it any more, but its key is not destroyed yet ({})",
        why.code()
    )]
    KeyRemains {
        name: String,
        /// Why the key was not destroyed.
        why: Box<Error>,
    },
    #[error(
        "the key store has no key for the agent `{0}`: it is not the one that goes with this database"
    )]
    NoKey(String),
    /// The keys cannot be used.
    #[error(transparent)]
    Keys(#[from] memoir_vault::Error),
    /// A row or a text that Memoir did not write, or that was moved.
    #[error("the database was changed outside Memoir: {0}")]
    Sealed(#[from] memoir_vault::seal::OpenError),
    /// A file that is no archive, or that the passphrase does not open.
    #[error(transparent)]
    Archive(#[from] memoir_vault::archive::ArchiveError),
    #[error("the archive has the unknown format {0}: a newer version of Memoir wrote it")]
    ArchiveVersion(u32),
    /// The agent in an archive cannot be imported.
    #[error(transparent)]
    Adopt(#[from] AdoptRefusal),
    #[error("the checkpoint cannot be used: {0}")]
    Checkpoint(memoir_vault::log::CheckpointError),
    /// Stored rows were modified outside Memoir: not each by itself, but together.
    #[error("integrity check failed: {0}")]
    Tampered(String),
    /// Stored text that no version of Memoir writes.
    #[error("the database is inconsistent: {0}")]
    Inconsistent(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Numbers of memories, with commas.
fn list(numbers: &[Number]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

impl Error {
    /// Whether the database or the key store cannot be reached: nothing was changed, and a retry may succeed.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Store(store::Error::Open { .. } | store::Error::Unreachable { .. })
                | Self::Keys(memoir_vault::Error::Unreachable { .. })
        )
    }

    /// Whether a retry may succeed: the database or the key store is busy, or cannot be reached.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_unreachable() || self.code() == "busy"
    }

    /// The error for a caller on another machine: without the database's location, and without internal details, which
    /// the log has.
    pub fn public_message(&self) -> String {
        let message = match self.code() {
            _ if self.is_unreachable() => "the database does not answer; nothing was changed",
            "internal" | "key_unavailable" | "tampered" => "the service could not carry this out",
            _ => return self.to_string(),
        };
        message.to_owned()
    }

    /// The seconds until a retry is useful; `None` where unknown.
    pub fn retry_after(&self) -> Option<u32> {
        match self {
            Self::Quota(reached) => reached.quota.retry_after(),
            Self::RefusedLately { seconds, .. } => Some(*seconds),
            _ => None,
        }
    }

    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoAccount(_)
            | Self::NoAgent(_)
            | Self::NoSession(_)
            | Self::NoToken(_)
            | Self::NoUser(_)
            | Self::NoAccessRequest(_)
            | Self::NoMemory(_)
            | Self::Discarded(_) => "not_found",
            Self::NoAccess(_) | Self::ConsentNeeded(_) => "consent_required",
            Self::AgentOnly | Self::NotLastSession => "forbidden",
            Self::Access(refusal) => refusal.code(),
            Self::Invalid(invalid) if invalid.too_long => "too_long",
            Self::Invalid(_) => "invalid_argument",
            Self::NameTaken(_) => "name_taken",
            Self::Unconfirmed { .. } => "confirmation_required",
            Self::Start(StartRefusal::SessionOpen(_)) => "session_open",
            Self::Start(StartRefusal::NothingToRefine(_)) => NothingToRefine::CODE,
            Self::Start(StartRefusal::Inactive) => "inactive",
            Self::LastUser(_) => "last_administrator",
            Self::NotDue => "not_due",
            Self::NoModel | Self::RulesOnly(_) | Self::ModelName(_) | Self::Connect(_) => {
                "model_unavailable"
            }
            Self::Change(refusal) | Self::Adopt(AdoptRefusal::Change(refusal)) => refusal.code(),
            Self::NotUndoable { .. } | Self::NoImport => "not_undoable",
            Self::NotReplaceable(_) | Self::Changed => "precondition_failed",
            Self::ImportInTheWay { .. } | Self::InTheWay { .. } | Self::BeyondAgent { .. } => {
                "in_the_way"
            }
            Self::NotApplicable { .. } => "not_applicable",
            Self::BadLines { .. } => "bad_lines",
            Self::SessionLost(_) => "session_over",
            Self::Contended => "contended",
            Self::Quota(reached) => reached.quota.code(),
            Self::RefusedLately { .. } => "refused_before",
            Self::NoRoom
            | Self::Store(store::Error::Busy | store::Error::Unreachable { .. })
            | Self::Keys(memoir_vault::Error::Busy | memoir_vault::Error::Unreachable { .. }) => {
                "busy"
            }
            Self::Store(store::Error::Full) | Self::Keys(memoir_vault::Error::Full) => "disk_full",
            Self::Store(store::Error::ReadOnly) | Self::Keys(memoir_vault::Error::ReadOnly) => {
                "read_only"
            }
            Self::Store(store::Error::OutcomeUnknown(_) | store::Error::Lost(_)) => {
                "outcome_unknown"
            }
            Self::Store(store::Error::Repeated) => "idempotency_in_progress",
            Self::Erased { .. } => "erased",
            Self::KeyRemains { .. } => "key_remains",
            Self::Keys(_) | Self::NoKey(_) => "key_unavailable",
            Self::Sealed(_) | Self::Tampered(_) | Self::Adopt(AdoptRefusal::Mismatch(_)) => {
                "tampered"
            }
            Self::Checkpoint(_) | Self::Archive(_) | Self::ArchiveVersion(_) => "invalid_argument",
            Self::Adopt(AdoptRefusal::Invalid(_)) => "invalid_argument",
            Self::Random | Self::Inconsistent(_) | Self::Store(_) => "internal",
        }
    }
}
