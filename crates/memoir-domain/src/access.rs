//! Asking an agent to be let in: to look at its words for a while, to be given a token of it, to have a memory
//! shredded, or to send its words to a server of embeddings (SPEC 5.2, 5.5, 4.4, 6.4).
//!
//! A request is what the records that name it tell: [`AccessRequest::begun_by`] and
//! [`AccessRequest::follow`] read it from them, and whoever decides something here writes the record and
//! then follows it. So what is stored cannot say anything else than the log.
//!
//! What a grant shows is decided by its [`AccessScope`]. `session` shows the records of that session, with
//! the memories before and after, archived texts included, and its report, reason and rehearsal; nothing else. `core`
//! shows the active core memories. `all` shows every memory, journal, archive and discarded ones included, every record
//! and session, and the prompts: these are in no other scope.
//!
//! Only the agent answers: its client, or its model, which is told who asks, for what, for how long and why.
//! A grant is for whoever asked (over REST, that token; in the console, that user, since the user was made)
//! and for nobody else. Requests stay behind where an agent moves in an archive.
//!
//! A grant is live only while two clocks agree: the time of day, which may stand neither before the grant nor
//! before any record written since, and a monotonic clock that each process starts when it first sees the
//! grant. The first one that says it is over ends it, on the record, and moving a clock again gives nothing
//! back. Two seconds are forgiven, since nodes differ by as much. What is not noticed: a machine whose clock
//! is set back while no Memoir runs, to a time after the last record.

use std::{cmp::max, fmt, str::FromStr};

use memoir_text::same_text_key_ignoring_case;
use serde::{Deserialize, Serialize};

use crate::{
    AccessRequestId, PrivateText, SessionId, Timestamp, TokenId,
    agent::Agent,
    audit::{Action, Actor, ActorKind, Facts, Record, RecordBody},
    draft::{Decision, Draft},
    manage::{self, ChangeRefusal},
    memory::{Invalid, Memory, NewMemory, Number, parse_text},
    quote,
    session::Usage,
};

/// Most characters of a purpose.
pub const PURPOSE_LIMIT: usize = 2_000;
/// Most characters of the reason that goes with an answer: an administrator reads it (SPEC 5.1).
pub const REASON_LIMIT: usize = 300;
/// Fewest characters of a sentence that a reason must not repeat.
// Shorter ones, such as "Yes, please.", say nothing of a memory.
const SENTENCE_CHARACTERS: usize = 16;
/// Most minutes for which an agent can be asked to let somebody look.
pub const MINUTES_LIMIT: u32 = 60;
/// How many requests of one agent can wait for its answer.
// Each may cost the agent a question to its model, and where many wait, the one that matters is
// overlooked.
pub const WAITING_LIMIT: usize = 20;
/// Days that a request waits after a no to one alike, which double with each further no.
const DAYS_AFTER_NO: i64 = 1;
/// How often the wait doubles at most; after that it is more than a year.
const MOST_DOUBLINGS: u32 = 9;
/// How long a request waits for its answer.
const DAYS_TO_ANSWER: i64 = 7;
/// For how many minutes a token that was granted can be fetched.
// A yes that lies about unused is a way in that its agent forgets: it ends by itself.
const MINUTES_TO_FETCH: u32 = 60;
/// For how many minutes stands what stands until it is taken back: a hundred years.
const STANDING_MINUTES: u32 = 100 * 366 * 24 * 60;
/// By how much clocks that agree may differ, in microseconds: several nodes write into one log, and none
/// of them is set back by a breath of the time service.
const SKEW: i64 = 2_000_000;

wire_names! {
    /// What an agent is asked for, without the details.
    pub enum AccessKindName {
        /// To look for a while.
        Read = "read",
        /// To make one more token of it.
        Token = "token",
        /// To connect a program.
        Connection = "connection",
        /// To have a memory shredded.
        Shred = "shred",
        /// To send its words to a server of embeddings.
        Embeddings = "embeddings",
    }
}

wire_names! {
    /// What may be seen, without the session.
    pub enum AccessScopeName {
        /// What one session changed, archived texts included.
        Session = "session",
        /// The active core memories.
        Core = "core",
        /// All memories, journal and archive included, all records, and the prompts.
        All = "all",
    }
}

/// What of an agent somebody asks to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessScope {
    /// What one session changed, archived texts included.
    Session(SessionId),
    /// The active core memories.
    Core,
    /// All memories, journal and archive included, all records, and the prompts.
    All,
}

impl AccessScope {
    /// Its name, without the session.
    pub fn name(self) -> AccessScopeName {
        match self {
            Self::Session(_) => AccessScopeName::Session,
            Self::Core => AccessScopeName::Core,
            Self::All => AccessScopeName::All,
        }
    }

    /// The session, where it is one session's changes.
    pub fn session(self) -> Option<SessionId> {
        match self {
            Self::Session(id) => Some(id),
            Self::Core | Self::All => None,
        }
    }

    /// Whether it shows the words of that memory.
    pub fn shows_memory(self, memory: &Memory) -> bool {
        match self {
            Self::Session(_) => false,
            Self::Core => memory.is_active_core(),
            Self::All => true,
        }
    }

    /// Whether it shows the words of a record or of the end of that session; `None` for what belongs to
    /// none.
    pub fn shows_session(self, session: Option<SessionId>) -> bool {
        match self {
            Self::Session(id) => session == Some(id),
            Self::Core => false,
            Self::All => true,
        }
    }

    /// Whether it shows the agent's prompts.
    pub fn shows_prompts(self) -> bool {
        self == Self::All
    }
}

impl fmt::Display for AccessScope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => write!(formatter, "session:{id}"),
            Self::Core | Self::All => formatter.write_str(self.name().as_str()),
        }
    }
}

impl FromStr for AccessScope {
    type Err = Invalid;

    /// `core`, `all`, or `session:` and its identifier.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let unknown = || {
            Invalid::new(
                "scope",
                "is none of `core`, `all` and `session:` with its id",
            )
        };
        match text.trim() {
            "core" => Ok(Self::Core),
            "all" => Ok(Self::All),
            other => {
                let id = other.strip_prefix("session:").ok_or_else(unknown)?;
                id.trim().parse().map(Self::Session).map_err(|_| unknown())
            }
        }
    }
}

/// What an agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// To let whoever asks look.
    Read {
        /// At what.
        scope: AccessScope,
        /// For how many minutes from the answer on, 1 to [`MINUTES_LIMIT`].
        minutes: u32,
    },
    /// To let whoever asks make one more token of the agent (SPEC 5.5).
    Token {
        /// From when on that token opens nothing; `None` for never.
        expires_at: Option<Timestamp>,
    },
    /// To let whoever asks connect a program, which gets a token of the agent (SPEC 5.5).
    Connection {
        /// Which one, as [`recipient`] tells it from others.
        client: u64,
    },
    /// To have the text of one memory removed for good (SPEC 4.4).
    Shred {
        /// The memory.
        number: Number,
        /// Whether the summaries and reports that rest on it go, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        derived: bool,
    },
    /// To send its words to a server of embeddings that is not on this machine, until that is taken back
    /// (SPEC 6.4).
    Embeddings {
        /// To which one, as [`recipient`] tells it from others.
        recipient: u64,
    },
}

/// What tells whoever gets an agent's words from any other, by name and address: a server of embeddings by its model, a
/// program by what it calls itself. An agent's yes to one is none to another. The first half of a digest of both, so
/// that it stands in a record as a count does.
pub fn recipient(name: &str, address: &str) -> u64 {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(format!("{name}\n{address}"));
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    // A database's numbers have a sign.
    u64::from_be_bytes(first) >> 1
}

impl AccessKindName {
    /// Whether a request of this kind has no end of its own in that state, and stands until it is taken back.
    pub fn is_standing(self, state: AccessState) -> bool {
        self == Self::Embeddings && state == AccessState::Granted
    }
}

impl AccessKind {
    /// Its name, without the details.
    pub fn name(self) -> AccessKindName {
        match self {
            Self::Read { .. } => AccessKindName::Read,
            Self::Token { .. } => AccessKindName::Token,
            Self::Connection { .. } => AccessKindName::Connection,
            Self::Shred { .. } => AccessKindName::Shred,
            Self::Embeddings { .. } => AccessKindName::Embeddings,
        }
    }

    /// What is asked to be seen; `None` where it is not to look.
    pub fn scope(self) -> Option<AccessScope> {
        match self {
            Self::Read { scope, .. } => Some(scope),
            Self::Token { .. }
            | Self::Connection { .. }
            | Self::Shred { .. }
            | Self::Embeddings { .. } => None,
        }
    }

    /// Whether asking for this is asking again for what was asked: the same, or more. Looking at one session's
    /// changes, at another's, at all core memories and at everything is each more than the one before, and a
    /// token, or a program that gets one, with which everything can be read and done, is more than all of them.
    pub fn asks_again_for(self, earlier: Self) -> bool {
        fn weight(kind: AccessKind) -> Option<u8> {
            match kind {
                AccessKind::Read { scope, .. } => Some(match scope {
                    AccessScope::Session(_) => 0,
                    AccessScope::Core => 1,
                    AccessScope::All => 2,
                }),
                AccessKind::Token { .. } | AccessKind::Connection { .. } => Some(3),
                AccessKind::Shred { .. } | AccessKind::Embeddings { .. } => None,
            }
        }
        if let (
            Self::Shred { number, derived },
            Self::Shred {
                number: other,
                derived: other_derived,
            },
        ) = (self, earlier)
        {
            return number == other && derived >= other_derived;
        }
        match (weight(self), weight(earlier)) {
            // More includes less: who was refused a session may not ask for everything at once, in the hope of
            // another answer.
            (Some(this), Some(that)) => this >= that,
            _ => self == earlier,
        }
    }

    /// For how many minutes a grant can be used; none for what is done with the answer.
    fn minutes(self) -> u32 {
        match self {
            Self::Read { minutes, .. } => minutes,
            Self::Token { .. } | Self::Connection { .. } => MINUTES_TO_FETCH,
            Self::Shred { .. } => 0,
            Self::Embeddings { .. } => STANDING_MINUTES,
        }
    }
}

wire_names! {
    /// Where a request stands.
    pub enum AccessState {
        /// It waits for the agent's answer.
        Asked = "asked",
        /// The agent said yes, and it can be used.
        Granted = "granted",
        /// The agent said no.
        Refused = "refused",
        /// What the agent said yes to was done: the token was made, the memory shredded.
        Done = "done",
        /// It was taken back.
        Revoked = "revoked",
        /// Its time is over.
        Expired = "expired",
    }
}

impl AccessState {
    /// Whether something can still become of it.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Asked | Self::Granted)
    }
}

/// A request to be let in, and what became of it. Written without its words, which are no part of what stands
/// in the open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRequest {
    /// Its identifier.
    pub id: AccessRequestId,
    /// What is asked for.
    pub kind: AccessKind,
    /// Why, in the words of whoever asks; 1 to [`PURPOSE_LIMIT`] characters.
    #[serde(skip)]
    pub purpose: PrivateText,
    /// Who asks, and alone can use what is granted.
    pub asked_by: Actor,
    /// Where it stands.
    pub state: AccessState,
    /// When it was asked.
    pub requested_at: Timestamp,
    /// Until when it waits for its answer; once granted, until when it can be used.
    pub expires_at: Timestamp,
    /// When the agent answered.
    pub answered_at: Option<Timestamp>,
    /// The place in the log of the answer; set where `answered_at` is.
    pub answered_seq: Option<u64>,
    /// What the agent said to it; up to [`REASON_LIMIT`] characters.
    #[serde(skip)]
    pub reason: Option<PrivateText>,
    /// When it was over, however that came; for a refusal the time of the answer.
    pub ended_at: Option<Timestamp>,
    /// How often words were read under it.
    pub reads: u64,
    /// The sum of the memories shown in each.
    pub memories_read: u64,
    /// The sum of the tokens shown in each.
    pub tokens_read: u64,
    /// That the agent's model is asked about it, or was; `None` where it was not. It is on no record: it claims the
    /// question for one of several processes, and says nothing of what becomes of the request.
    #[serde(default)]
    pub question: Option<QuestionClaim>,
}

/// The claim on asking an agent's model about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionClaim {
    /// Until when whoever asks has for it. Nobody asks the agent anything else before.
    pub until: Timestamp,
    /// How often the model was asked, this time included.
    pub times: u32,
    /// What asking it has used so far, without this time: for the record of the answer.
    #[serde(default)]
    pub usage: Usage,
}

impl QuestionClaim {
    /// How long a claim lasts, in seconds: longer than asking a model may take in all.
    pub const SECONDS: i64 = 300;
    /// The wait after a question that came to nothing, in seconds; it doubles with each one.
    const FIRST_WAIT: i64 = 60;
    /// The longest such wait.
    const LONGEST_WAIT: i64 = 3_600;

    /// Until when the agent is asked nothing else.
    fn held_until(self, now: Timestamp) -> Option<Timestamp> {
        Self::ahead(self.until, now)
    }

    /// From when on the same may be asked again.
    pub fn again_at(self) -> Timestamp {
        // Bounded before the shift, which would overflow; long before 16 the longest wait is reached.
        let wait = Self::FIRST_WAIT << self.times.saturating_sub(1).min(16);
        self.until.plus_seconds(wait.min(Self::LONGEST_WAIT))
    }

    /// The time, where it lies ahead, and no further than any of these does: else the clock was put back since.
    fn ahead(time: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let seconds = time.seconds_since(now);
        let is_ahead = time > now && seconds <= Self::SECONDS + Self::LONGEST_WAIT;
        is_ahead.then_some(time)
    }
}

/// What is to be asked of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessDraft {
    /// What for.
    pub kind: AccessKind,
    /// Why.
    pub purpose: PrivateText,
}

impl AccessDraft {
    /// With its purpose trimmed, where it keeps the limits.
    ///
    /// # Errors
    /// Names the field at fault, the limit and what was given.
    pub fn check(&self) -> Result<Self, Invalid> {
        if let AccessKind::Read { minutes, .. } = self.kind
            && !(1..=MINUTES_LIMIT).contains(&minutes)
        {
            let problem = format!("is {minutes}; give 1 to {MINUTES_LIMIT}");
            return Err(Invalid::new("minutes", problem));
        }
        Ok(Self {
            kind: self.kind,
            purpose: parse_text("purpose", self.purpose.expose(), PURPOSE_LIMIT)?,
        })
    }
}

/// Why a request is not taken, answered or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessRefusal {
    /// The agent is not there, or what is asked for cannot be done to it.
    #[error(transparent)]
    Change(#[from] ChangeRefusal),
    /// Agents need not ask themselves.
    #[error("only an administrator asks an agent for access")]
    NotAnAdministrator,
    /// Nobody answers in an agent's place.
    #[error("only the agent itself answers a request for access")]
    NotTheAgent,
    /// Too many wait for an answer.
    #[error("{WAITING_LIMIT} requests wait for the agent's answer; wait for it, or take one back")]
    TooManyWaiting,
    /// The agent said no to the same or less, and is not to be worn out by asking (SPEC 5.2).
    #[error(
        "the agent said no to this, or to less, and has not said yes to as much since (times: {times}); it is not asked again before {until}"
    )]
    RefusedBefore {
        /// How often.
        times: u32,
        /// When it can be asked again.
        until: Timestamp,
    },
    /// The agent answered otherwise before, or it waits no longer.
    #[error("the request is {} and cannot be answered any more", .0.as_str())]
    NotWaiting(AccessState),
    /// What it was asked for has been done and cannot be taken back here.
    #[error(
        "what was asked for is done; a token that was made can be revoked, a memory that was shredded stays so"
    )]
    Done,
}

impl AccessRefusal {
    /// The wire code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Change(ChangeRefusal::SessionRunning(_)) => "session_open",
            Self::Change(refusal) => refusal.code(),
            Self::NotAnAdministrator | Self::NotTheAgent => "forbidden",
            Self::TooManyWaiting => "too_many_waiting",
            Self::RefusedBefore { .. } => "refused_before",
            Self::NotWaiting(_) | Self::Done => "access_over",
        }
    }
}

/// What is known of the time when a grant is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time of day.
    pub now: Timestamp,
    /// The latest time that the agent's log tells of since the grant, itself included; `None` where there
    /// is none yet.
    pub latest: Option<Timestamp>,
    /// Whether a clock that is never set says that the time is over.
    pub has_run_out: bool,
}

wire_names! {
    /// Why an open request is over.
    pub enum RequestOver {
        /// Its time has come.
        Time = "time",
        /// The time of day was put back: nobody knows how much of its time is left.
        ClockWentBack = "clock_went_back",
        /// The time of day says otherwise than a clock that is never set, and that one is believed.
        RunOut = "run_out",
        /// The agent said no to the same, or to less, while it waited.
        Refused = "refused",
    }
}

/// What was shown in one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownAmount {
    /// Memories whose words were shown, as they are or as a record tells of them.
    pub memories: u64,
    /// The size of all words shown, in tokens.
    pub tokens: u64,
}

impl ShownAmount {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            memories: self.memories.saturating_add(other.memories),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}

impl AccessRequest {
    /// The claim on asking the agent's model about it at `now`, where `open` are the agent's open requests.
    ///
    /// # Errors
    /// The time before which the model is not asked: it is being asked about one of them, or was asked about this
    /// one not long ago.
    pub fn claim_question(
        &self,
        open: &[Self],
        now: Timestamp,
    ) -> Result<QuestionClaim, Timestamp> {
        let held = open
            .iter()
            .filter(|other| other.state == AccessState::Asked)
            .filter_map(|other| other.question?.held_until(now));
        let again_at = self.question.map(QuestionClaim::again_at);
        let again_at = again_at.and_then(|time| QuestionClaim::ahead(time, now));
        match held.chain(again_at).max() {
            Some(not_before) => Err(not_before),
            None => Ok(QuestionClaim {
                until: now.plus_seconds(QuestionClaim::SECONDS),
                times: self
                    .question
                    .map_or(0, |question| question.times)
                    .saturating_add(1),
                usage: self
                    .question
                    .map_or_else(Usage::default, |question| question.usage),
            }),
        }
    }

    /// Why it is over at that moment; `None` while it is not, or where its end is written already. The
    /// time of day and a clock that is never set must both leave it time, and neither may the time of day
    /// stand before what the log tells of.
    pub fn over(&self, moment: &Moment) -> Option<RequestOver> {
        if !self.state.is_open() || self.kind.name().is_standing(self.state) {
            return None;
        }
        let from = self
            .answered_at
            .filter(|_| self.state == AccessState::Granted);
        // `None` is less than any time.
        let latest = max(moment.latest, from);
        // The time of day is asked first, and the clock that is never set last: each of them can
        // only end a grant, none can lengthen it.
        if latest.is_some_and(|latest| moment.now.plus_microseconds(SKEW) < latest) {
            return Some(RequestOver::ClockWentBack);
        }
        // Within the skew, the later time counts.
        if max(Some(moment.now), latest) >= Some(self.expires_at) {
            return Some(RequestOver::Time);
        }
        moment.has_run_out.then_some(RequestOver::RunOut)
    }

    /// The request that this record tells of the beginning of; `None` for any other record.
    pub fn begun_by(record: &Record) -> Option<Self> {
        if record.action != Action::AccessRequested {
            return None;
        }
        Some(Self {
            // A fact that is missing or of another form makes this `None`: verifying then names the record.
            id: Self::named_by(record)?,
            kind: kind_of(record)?,
            purpose: record.body.reason.clone()?,
            asked_by: record.actor.clone(),
            state: AccessState::Asked,
            requested_at: record.recorded_at,
            expires_at: record.facts.time_of(EXPIRES_AT)?,
            answered_at: None,
            answered_seq: None,
            reason: None,
            ended_at: None,
            reads: 0,
            memories_read: 0,
            tokens_read: 0,
            question: None,
        })
    }

    /// The request that a record names; `None` where it names none.
    pub fn named_by(record: &Record) -> Option<AccessRequestId> {
        record.facts.code_of("request")?.parse().ok()
    }

    /// As it is after that record, which names it; `None` where it cannot follow.
    #[must_use]
    pub fn follow(mut self, record: &Record) -> Option<Self> {
        let at = record.recorded_at;
        let (asked, granted) = (AccessState::Asked, AccessState::Granted);
        let is_shred = matches!(self.kind, AccessKind::Shred { .. });
        match (record.action, self.state) {
            (Action::AccessGranted, state) if state == asked => {
                self.answer(record);
                // A shredding is written together with the answer, so the request is done at once.
                self.state = if is_shred { AccessState::Done } else { granted };
                self.ended_at = is_shred.then_some(at);
                self.expires_at = record.facts.time_of(EXPIRES_AT)?;
            }
            (Action::AccessRefused, state) if state == asked => {
                self.answer(record);
                self.state = AccessState::Refused;
                self.ended_at = Some(at);
            }
            (Action::AccessUsed, state) if state == granted => match self.kind {
                AccessKind::Read { .. } => {
                    let count = |name| record.facts.count_of(name);
                    self.reads = self.reads.saturating_add(1);
                    self.memories_read = self.memories_read.saturating_add(count("memories")?);
                    self.tokens_read = self.tokens_read.saturating_add(count("tokens")?);
                }
                AccessKind::Token { .. }
                | AccessKind::Connection { .. }
                | AccessKind::Shred { .. } => {
                    self.state = AccessState::Done;
                    self.ended_at = Some(at);
                }
                // Memoir records no use of this grant, so it did not write such a record.
                AccessKind::Embeddings { .. } => return None,
            },
            (Action::AccessRevoked | Action::AccessExpired, state) if state.is_open() => {
                self.state = match record.action {
                    Action::AccessRevoked => AccessState::Revoked,
                    _ => AccessState::Expired,
                };
                self.ended_at = Some(at);
            }
            _ => return None,
        }
        Some(self)
    }

    fn answer(&mut self, record: &Record) {
        self.answered_at = Some(record.recorded_at);
        self.answered_seq = Some(record.seq);
        self.reason = record.body.reason.clone();
    }

    /// The names of the fields in which two differ.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let fields = [
            // Not `question`: it is on no record, so that the log cannot tell what it is to be.
            ("kind", self.kind != other.kind),
            ("purpose", self.purpose != other.purpose),
            ("asked_by", self.asked_by != other.asked_by),
            ("state", self.state != other.state),
            ("requested_at", self.requested_at != other.requested_at),
            ("expires_at", self.expires_at != other.expires_at),
            ("answered_at", self.answered_at != other.answered_at),
            ("answered_seq", self.answered_seq != other.answered_seq),
            ("reason", self.reason != other.reason),
            ("ended_at", self.ended_at != other.ended_at),
            ("reads", self.reads != other.reads),
            ("memories_read", self.memories_read != other.memories_read),
            ("tokens_read", self.tokens_read != other.tokens_read),
        ];
        let different = fields.into_iter().filter(|(_, differs)| *differs);
        different.map(|(name, _)| name).collect()
    }
}

/// The fact that says until when a request waits, or can be used.
const EXPIRES_AT: &str = "expires_at";
/// The fact that says when a token that is asked for ends.
const TOKEN_EXPIRES_AT: &str = "token_expires_at";

/// The fact that is there where the summaries and reports that rest on a memory are to be shredded with it.
const DERIVED: &str = "derived";

fn kind_of(record: &Record) -> Option<AccessKind> {
    let facts = &record.facts;
    Some(match AccessKindName::from_name(facts.code_of("kind")?)? {
        AccessKindName::Read => AccessKind::Read {
            scope: match AccessScopeName::from_name(facts.code_of("scope")?)? {
                AccessScopeName::Core => AccessScope::Core,
                AccessScopeName::All => AccessScope::All,
                AccessScopeName::Session => {
                    AccessScope::Session(facts.code_of("session")?.parse().ok()?)
                }
            },
            minutes: facts.count_of("minutes")?.try_into().ok()?,
        },
        AccessKindName::Token => AccessKind::Token {
            expires_at: facts.time_of(TOKEN_EXPIRES_AT),
        },
        AccessKindName::Connection => AccessKind::Connection {
            client: facts.count_of("client")?,
        },
        AccessKindName::Shred => AccessKind::Shred {
            number: record.memory?,
            derived: facts.count_of(DERIVED).is_some(),
        },
        AccessKindName::Embeddings => AccessKind::Embeddings {
            recipient: facts.count_of("recipient")?,
        },
    })
}

fn facts_of(id: AccessRequestId, kind: AccessKind) -> Facts {
    let facts = Facts::default()
        .request(id)
        .code("kind", kind.name().as_str());
    match kind {
        AccessKind::Read { scope, minutes } => {
            let facts = facts
                .code("scope", scope.name().as_str())
                .count("minutes", minutes);
            match scope.session() {
                Some(session) => facts.session(session),
                None => facts,
            }
        }
        AccessKind::Token { expires_at } => match expires_at {
            Some(at) => facts.time(TOKEN_EXPIRES_AT, at),
            None => facts,
        },
        AccessKind::Connection { client } => facts.count("client", client),
        AccessKind::Shred { derived: true, .. } => facts.count(DERIVED, 1_u64),
        AccessKind::Shred { derived: false, .. } => facts,
        AccessKind::Embeddings { recipient } => facts.count("recipient", recipient),
    }
}

/// How often the agent said no to what `kind` asks for, or to less, without a later yes to as much, and until when
/// it is not to be asked again; `None` where it can be. `earlier` are requests that were made of it, in any
/// order.
fn refused_before(
    kind: AccessKind,
    earlier: &[AccessRequest],
    now: Timestamp,
) -> Option<(u32, Timestamp)> {
    let is_refused = |request: &AccessRequest| request.state == AccessState::Refused;
    // A later yes to as much takes a no back.
    // By the place in the log and not by time, as answers of one agent are in one order there.
    let is_taken_back = |no: &AccessRequest| {
        earlier.iter().any(|other| {
            !is_refused(other)
                && other.answered_seq > no.answered_seq
                && other.kind.asks_again_for(no.kind)
        })
    };
    let noes = || {
        let alike = earlier.iter().filter(|request| is_refused(request));
        alike.filter(|request| kind.asks_again_for(request.kind) && !is_taken_back(request))
    };
    let times = u32::try_from(noes().count()).unwrap_or(u32::MAX);
    // What a clock noted that has been put back since would keep everybody waiting until then.
    let said = noes().filter_map(|request| request.answered_at);
    let last = said.filter(|at| at.is_believed_at(now)).max()?;
    let doublings = times.saturating_sub(1).min(MOST_DOUBLINGS);
    let until = last.plus_days(DAYS_AFTER_NO << doublings);
    (now < until).then_some((times, until))
}

/// Asks the agent. `earlier` are the requests that were made of it before: all that are open, and those that it
/// answered.
///
/// # Errors
/// Somebody else than an administrator asks, too many wait, or it said no to as much not long ago. The draft is to
/// be checked before.
pub fn request(
    agent: Agent,
    id: AccessRequestId,
    access_draft: &AccessDraft,
    earlier: &[AccessRequest],
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, AccessRefusal> {
    manage::check_present(&agent)?;
    if actor.kind != ActorKind::Administrator {
        return Err(AccessRefusal::NotAnAdministrator);
    }
    // Before the count of those that wait, or requests for something else could hide that it said no.
    if let Some((times, until)) = refused_before(access_draft.kind, earlier, now) {
        return Err(AccessRefusal::RefusedBefore { times, until });
    }
    let is_waiting = |request: &&AccessRequest| request.state == AccessState::Asked;
    if earlier.iter().filter(is_waiting).count() >= WAITING_LIMIT {
        return Err(AccessRefusal::TooManyWaiting);
    }
    let facts = facts_of(id, access_draft.kind).time(EXPIRES_AT, now.plus_days(DAYS_TO_ANSWER));
    let memory = match access_draft.kind {
        AccessKind::Shred { number, .. } => Some(number),
        _ => None,
    };
    let mut draft = Draft::new(agent, None, now);
    let body = said(Some(&access_draft.purpose));
    draft.record(actor.clone(), Action::AccessRequested, memory, facts, body);
    // The row is made from its record, as verifying makes it, so that the row and the log cannot say different things.
    draft.access = draft
        .records()
        .iter()
        .filter_map(AccessRequest::begun_by)
        .collect();
    Ok(draft.finish())
}

/// What the agent answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentAnswer<'a> {
    /// Yes or no.
    pub is_granted: bool,
    /// What it says to it.
    pub reason: Option<&'a PrivateText>,
    /// What asking its model used; nothing where its own client answers. Stands on the record, for it is at the
    /// agent's cost.
    pub usage: Usage,
}

/// Whether a reason repeats a whole sentence of one of the agent's memories, up to case (SPEC 5.1).
pub fn repeats_a_sentence<'a>(
    reason: &PrivateText,
    memories: impl IntoIterator<Item = &'a Memory>,
) -> bool {
    let reason = same_text_key_ignoring_case(reason.expose());
    let is_repeated = |sentence: &str| {
        let sentence = same_text_key_ignoring_case(sentence);
        sentence.chars().count() >= SENTENCE_CHARACTERS && reason.contains(&sentence)
    };
    let ends = |character: char| ".!?\n。！？।؟".contains(character);
    memories
        .into_iter()
        .any(|memory| memory.content.expose().split(ends).any(is_repeated))
}

/// Writes the agent's answer; `None` where it gave the same one before. What a grant lets somebody do at
/// once, such as shredding, is decided by whoever calls this, on top of it.
///
/// # Errors
/// Somebody else than the agent answers, or it does not wait for an answer.
pub fn answer(
    agent: Agent,
    request: &AccessRequest,
    answer: AgentAnswer<'_>,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, AccessRefusal> {
    let AgentAnswer {
        is_granted,
        reason,
        usage,
    } = answer;
    manage::check_present(&agent)?;
    // Whoever has the host may act as the agent by its token; nobody does by being an
    // administrator.
    if actor.kind != ActorKind::Agent {
        return Err(AccessRefusal::NotTheAgent);
    }
    if request.state != AccessState::Asked {
        // By the answer and not by the state: a yes that was used, taken back or ran out since was one.
        let was_granted = request.answered_at.is_some() && request.state != AccessState::Refused;
        let was_answered = request.answered_at.is_some();
        // The same answer again is what a client sends whose first answer was lost on the way.
        return if was_answered && was_granted == is_granted {
            Ok(None)
        } else {
            Err(AccessRefusal::NotWaiting(request.state))
        };
    }
    let mut facts = Facts::default().request(request.id);
    if usage != Usage::default() {
        facts = facts
            .count("calls", usage.calls)
            .count("input_tokens", usage.input_tokens)
            .count("output_tokens", usage.output_tokens);
    }
    let (action, facts) = if is_granted {
        let until = now.plus_seconds(i64::from(request.kind.minutes()) * 60);
        (Action::AccessGranted, facts.time(EXPIRES_AT, until))
    } else {
        (Action::AccessRefused, facts)
    };
    let mut draft = Draft::new(agent, None, now);
    follow(&mut draft, request, actor, action, facts, said(reason));
    Ok(Some(draft.finish()))
}

/// Writes what is about to be shown, before it is. Whoever calls this has made sure that the grant is not
/// over.
///
/// # Errors
/// It is not granted, or not to `actor`.
pub fn read(
    agent: Agent,
    request: &AccessRequest,
    shown: ShownAmount,
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, AccessRefusal> {
    check_use(&agent, request, actor)?;
    let facts = Facts::default()
        .request(request.id)
        .count("memories", shown.memories)
        .count("tokens", shown.tokens);
    let mut draft = Draft::new(agent, None, now);
    let body = RecordBody::default();
    follow(&mut draft, request, actor, Action::AccessUsed, facts, body);
    Ok(draft.finish())
}

/// Uses up what was granted once: a token, or a program's connection. The agent is told.
///
/// # Errors
/// As for [`read`].
pub fn use_up(
    agent: Agent,
    request: &AccessRequest,
    actor: &Actor,
    now: Timestamp,
) -> Result<Decision, AccessRefusal> {
    check_use(&agent, request, actor)?;
    let facts = Facts::default().request(request.id);
    let mut draft = Draft::new(agent, None, now);
    let body = RecordBody::default();
    follow(&mut draft, request, actor, Action::AccessUsed, facts, body);
    tell(&mut draft, request, "");
    Ok(draft.finish())
}

fn check_use(agent: &Agent, request: &AccessRequest, actor: &Actor) -> Result<(), AccessRefusal> {
    manage::check_present(agent)?;
    // The whole actor, not the role: another administrator's grant is none.
    if request.asked_by != *actor {
        return Err(AccessRefusal::NotAnAdministrator);
    }
    if request.state != AccessState::Granted {
        return Err(AccessRefusal::NotWaiting(request.state));
    }
    Ok(())
}

/// A program that is connected to an agent, as it is told.
#[derive(Debug, Clone, Copy)]
pub struct ConnectedClient<'a> {
    /// What it calls itself.
    pub name: &'a str,
    /// The host that it is reached at.
    pub host: &'a str,
}

impl ConnectedClient<'_> {
    /// What tells it from others ([`AccessKind::Connection`]).
    pub fn recipient(&self) -> u64 {
        recipient(self.name, self.host)
    }

    /// What an agent that is asked is told of it before the purpose, so that nothing of the purpose can pass for it.
    pub fn introduction(&self) -> String {
        let (name, host) = (quote::quote(self.name), quote::quote(self.host));
        format!("The program calls itself {name}, and is at {host}. ")
    }
}

/// Puts on the record that a program was connected by that token, and tells the agent in its journal where it was not
/// asked: it had no memories yet (SPEC 5.5).
pub fn connect(
    agent: Agent,
    token: TokenId,
    client: &ConnectedClient<'_>,
    was_asked: bool,
    actor: &Actor,
    now: Timestamp,
) -> Decision {
    let facts = Facts::default()
        .token(token)
        .count("client", client.recipient());
    let mut draft = Draft::new(agent, None, now);
    let body = RecordBody::default();
    draft.record(actor.clone(), Action::TokenCreated, None, facts, body);
    if !was_asked {
        let (day, who) = (now.date(), quote::quote(&actor.name));
        let (name, host) = (quote::quote(client.name), quote::quote(client.host));
        let entry = format!(
            "On {day}, before I had any memories, the administrator {who} connected a program to my memory, which calls itself {name} and is at {host}. It can do all that I can until it is revoked."
        );
        manage::save_one(&mut draft, NewMemory::journal(entry), &Actor::system());
    }
    draft.finish()
}

/// Takes a request back, answered or not; `None` where it is over already. If somebody could look, the
/// agent is told how much that was.
///
/// # Errors
/// What it was asked for has been done.
pub fn revoke(
    agent: Agent,
    request: &AccessRequest,
    actor: &Actor,
    now: Timestamp,
) -> Result<Option<Decision>, AccessRefusal> {
    manage::check_present(&agent)?;
    if request.state == AccessState::Done {
        return Err(AccessRefusal::Done);
    }
    if !request.state.is_open() {
        return Ok(None);
    }
    let facts = Facts::default().request(request.id);
    // Never an empty text, which `tell` takes to mean that what was granted was done.
    let how = match actor.kind {
        ActorKind::Agent => "I took it back".to_owned(),
        ActorKind::Administrator | ActorKind::Owner | ActorKind::System => {
            format!("{} took it back", quote::quote(&actor.name))
        }
    };
    let action = Action::AccessRevoked;
    Ok(Some(end(agent, request, actor, action, facts, &how, now)))
}

/// Ends a request whose time is over; `None` where it is over already. If somebody could look, the agent
/// is told how much that was.
pub fn expire(
    agent: Agent,
    request: &AccessRequest,
    why: RequestOver,
    now: Timestamp,
) -> Option<Decision> {
    if !request.state.is_open() {
        return None;
    }
    let facts = Facts::default()
        .request(request.id)
        .code("why", why.as_str());
    let how = match why {
        RequestOver::Time | RequestOver::RunOut => "its time was over",
        RequestOver::ClockWentBack => "the clock was put back",
        RequestOver::Refused => "I had said no to as much",
    };
    let (actor, action) = (Actor::system(), Action::AccessExpired);
    Some(end(agent, request, &actor, action, facts, how, now))
}

fn end(
    agent: Agent,
    request: &AccessRequest,
    actor: &Actor,
    action: Action,
    facts: Facts,
    how: &str,
    now: Timestamp,
) -> Decision {
    let mut draft = Draft::new(agent, None, now);
    let facts = match request.kind {
        AccessKind::Read { .. } => facts
            .count("reads", request.reads)
            .count("memories", request.memories_read)
            .count("tokens", request.tokens_read),
        _ => facts,
    };
    follow(
        &mut draft,
        request,
        actor,
        action,
        facts,
        RecordBody::default(),
    );
    // The state before the record: who was never let in has read nothing that the agent would have to
    // know of.
    if request.state == AccessState::Granted {
        tell(&mut draft, request, how);
    }
    draft.finish()
}

/// Writes a record of a request, and the request as it is after it.
fn follow(
    draft: &mut Draft,
    request: &AccessRequest,
    actor: &Actor,
    action: Action,
    facts: Facts,
    body: RecordBody,
) {
    draft.record(actor.clone(), action, None, facts, body);
    let after = draft.records().last();
    draft.access = after
        .and_then(|record| request.clone().follow(record))
        .into_iter()
        .collect();
}

fn said(words: Option<&PrivateText>) -> RecordBody {
    RecordBody {
        reason: words.cloned(),
        ..RecordBody::default()
    }
}

/// One journal entry that tells the agent what became of what it allowed (SPEC 5.2). What others wrote is
/// quoted, so that it cannot pass for the agent's own words (SPEC 3.6).
fn tell(draft: &mut Draft, request: &AccessRequest, how: &str) {
    let who = quote::quote(&request.asked_by.name);
    let purpose = quote::quote(request.purpose.expose());
    // Only granted requests are told of, so `answered_at` is set.
    let day = request.answered_at.unwrap_or(request.requested_at).date();
    let entry = match request.kind {
        AccessKind::Read { scope, minutes } => {
            let what = match scope {
                AccessScope::Session(_) => "what one refinement session of mine changed".to_owned(),
                AccessScope::Core => "my core memories".to_owned(),
                AccessScope::All => "all my memories, records and prompts".to_owned(),
            };
            let much = match request.reads {
                0 => "They read nothing".to_owned(),
                reads => format!(
                    "They read {} in {} ({} tokens)",
                    plural(request.memories_read, "memory", "memories"),
                    plural(reads, "read", "reads"),
                    request.tokens_read,
                ),
            };
            format!(
                "On {day} I let the administrator {who} look at {what} for {minutes} minutes. Their purpose: {purpose}. {much}. It ended because {how}."
            )
        }
        AccessKind::Token { .. } if how.is_empty() => format!(
            "On {day} I let the administrator {who} make one more token that opens my memory. Their purpose: {purpose}. It was made."
        ),
        AccessKind::Token { .. } => format!(
            "On {day} I let the administrator {who} make one more token that opens my memory. Their purpose: {purpose}. None was made: {how}."
        ),
        AccessKind::Connection { .. } if how.is_empty() => format!(
            "On {day} I let the administrator {who} connect a program to my memory, which can do all that I can until it is revoked. Their purpose: {purpose}. It was connected."
        ),
        AccessKind::Connection { .. } => format!(
            "On {day} I let the administrator {who} connect a program to my memory. Their purpose: {purpose}. None was connected: {how}."
        ),
        AccessKind::Embeddings { .. } => format!(
            "On {day} I let the administrator {who} have my words sent to a server of embeddings, so that what I ask for is found by its meaning too. Their purpose: {purpose}. It ended because {how}; nothing is sent there any more."
        ),
        AccessKind::Shred { .. } => return,
    };
    manage::save_one(draft, NewMemory::journal(entry), &Actor::system());
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::test_memory;

    #[test]
    fn spec_5_1_a_reason_repeats_no_sentence_of_a_memory() {
        let memories = [test_memory(
            1,
            "Yes. Rui moved to Porto in May! It rained; we had soup",
        )];
        let repeats = |reason: &str| repeats_a_sentence(&reason.into(), &memories);
        assert!(repeats("no, since rui  moved to Porto in May."));
        assert!(repeats("It rained; we had soup"));
        assert!(!repeats("Yes. Look at what moved to Porto"));
    }
}
