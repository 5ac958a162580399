//! Access requests: to read an agent's text for some minutes, to create a token, to connect a program, to shred a
//! memory, or to send text to an embeddings server (SPEC 5.2, 5.5, 4.4, 6.4).
//!
//! The group also has the log of an account. Tokens and their verification are not here, but in the application.
//!
//! The log alone defines a request: [`AccessRequest::begun_by`] and [`AccessRequest::follow`] derive it from its
//! records. Each decision here writes its record and then follows it, so that the row cannot contradict the log.
//!
//! What a grant shows is decided by its [`AccessScope`]. `session` shows the records of that session, with
//! the memories before and after, archived texts included, and its report, reason and rehearsal; nothing else. `core`
//! shows the active core memories. `all` shows every memory, journal, archive and discarded ones included, every record
//! and session, and the prompts: these are in no other scope.
//!
//! Only the agent answers: its client, or its model, which is shown requester, scope, duration and purpose. A grant is
//! for its requester only: over REST that token, in the console that user, since the user was created. Requests do not
//! move with an agent in an archive.
//!
//! A grant is live only while two clocks agree. The time of day must not precede the grant or a record written since.
//! Each process starts a monotonic clock when it first reads the grant. The first clock that passes the end ends the
//! grant on the record; later clock changes do not renew it. Nodes may differ by two seconds. Undetected: while no
//! Memoir runs, the clock is set back to a time after the last record.

pub mod account;

use std::{cmp::max, fmt, str::FromStr};

use memoir_text::same_text_key_ignoring_case;
use serde::{Deserialize, Serialize};

use crate::{
    agent::Agent,
    change::{
        draft::{Decision, Draft},
        manage::{self, ChangeRefusal},
    },
    ids::{AccessRequestId, SessionId, TokenId},
    log::audit::{Action, Actor, Facts, Record, RecordBody},
    memory::{Invalid, Memory, Number, ReportKind, origin::ActorKind, parse_text},
    text::{answer::Usage, is_unspaced, plural, private::PrivateText, quote, sentences},
    time::Timestamp,
};

/// Most characters of a purpose.
pub const PURPOSE_LIMIT: usize = 2_000;
/// Most characters of the reason of an answer: an administrator reads it (SPEC 5.1).
pub const REASON_LIMIT: usize = 300;
/// Fewest words of a sentence that a reason must not repeat.
// Shorter ones, such as "Yes, please.", are in many reasons that reveal nothing of a memory.
const SENTENCE_WORDS: usize = 3;
/// Characters of a word that count as one; longer words count for more, since few reasons have them by chance.
const WORD_CHARACTERS: usize = 6;
/// Characters that count as one word in scripts without spaces.
const UNSPACED_CHARACTERS: usize = 2;
/// Most minutes of read access that can be requested.
pub const MINUTES_LIMIT: u32 = 60;
/// How many requests of one agent can wait for its answer.
// Each may cost a model call, and among many the agent would overlook the important one.
pub const WAITING_LIMIT: usize = 20;
/// Days that a request must wait after a refusal of a similar one; twice as many after each further refusal.
const DAYS_AFTER_NO: i64 = 1;
/// The most doublings of that wait, which then exceeds a year.
const MOST_DOUBLINGS: u32 = 9;
/// How many days a request waits for its answer.
const DAYS_TO_ANSWER: i64 = 7;
/// For how many minutes a granted token can be fetched.
// The agent would forget an unused grant, so it ends by itself.
const MINUTES_TO_FETCH: u32 = 60;
/// The minutes of a grant that is valid until it is revoked: a hundred years.
const STANDING_MINUTES: u32 = 100 * 366 * 24 * 60;
/// The tolerated difference between clocks, in microseconds: several nodes write into one log, and time synchronization
/// moves their clocks a little.
const SKEW: i64 = 2_000_000;

wire_names! {
    /// The kind of an access request, without details.
    pub enum AccessKindName {
        /// Read access for some minutes.
        Read = "read" => "reading",
        Token = "token" => "one more token",
        Connection = "connection" => "connecting a program",
        Shred = "shred" => "shredding",
        /// The sending of text to an embeddings server.
        Embeddings = "embeddings" => "embeddings elsewhere",
    }
}

wire_names! {
    /// The kind of a scope, without the session.
    pub enum AccessScopeName {
        /// What one session changed, archived texts included.
        Session = "session" => "one session",
        Core = "core" => "core memories",
        /// All memories, journal and archive included, all records, and the prompts.
        All = "all" => "everything",
    }
}

/// The scope of read access.
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

    /// Whether it shows the text of that memory.
    pub fn shows_memory(self, memory: &Memory) -> bool {
        match self {
            Self::Session(_) => false,
            Self::Core => memory.is_active_core(),
            Self::All => true,
        }
    }

    /// Whether it shows the text of a record or of the end of that session; `None` for a record outside of sessions.
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
        let problem = "is none of `core`, `all` and `session:` with its id";
        let unknown = || Invalid::new("scope", problem);
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

/// The requested kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// Read access by the requester.
    Read {
        /// The requested scope.
        scope: AccessScope,
        /// Minutes from the answer on, 1 to [`MINUTES_LIMIT`].
        minutes: u32,
    },
    /// One more token of the agent, created by the requester (SPEC 5.5).
    Token {
        /// When the token expires; `None` for never.
        expires_at: Option<Timestamp>,
    },
    /// The connection of a program, which gets a token of the agent (SPEC 5.5).
    Connection {
        /// The program's [`recipient`] number.
        client: u64,
    },
    /// Permanent removal of the text of one memory (SPEC 4.4).
    Shred {
        /// The memory.
        number: Number,
        /// Whether the summaries and reports that rest on it are shredded too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        derived: bool,
    },
    /// Sending text to an embeddings server outside of this machine, until the grant is revoked (SPEC 6.4).
    Embeddings {
        /// The server's [`recipient`] number.
        recipient: u64,
    },
}

/// Identifies a recipient of an agent's text by name and address: an embeddings server by its model, a program by the
/// name that it gives. Consent to one recipient does not cover another. It is the first half of a digest, so that a
/// record can hold it as a count.
pub fn recipient(name: &str, address: &str) -> u64 {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(format!("{name}\n{address}"));
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    // A database's numbers have a sign.
    u64::from_be_bytes(first) >> 1
}

impl AccessKindName {
    /// Whether a request of this kind is, in that state, valid until it is revoked.
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

    /// The requested scope; `None` where it is not read access.
    pub fn scope(self) -> Option<AccessScope> {
        match self {
            Self::Read { scope, .. } => Some(scope),
            Self::Token { .. }
            | Self::Connection { .. }
            | Self::Shred { .. }
            | Self::Embeddings { .. } => None,
        }
    }

    /// Whether this repeats `earlier` or asks for more. In ascending order: one session's changes, another session's,
    /// all core memories, everything. A token or a connected program exceeds them all, since it can read and do
    /// everything.
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
            // More includes less: after a refusal for one session, a request for everything is a repetition.
            (Some(this), Some(that)) => this >= that,
            _ => self == earlier,
        }
    }

    /// For how many minutes a grant can be used; 0 where the answer itself carries it out.
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
    /// The state of a request.
    pub enum AccessState {
        Asked = "asked" => "waiting",
        /// The agent consented, and the grant can be used.
        Granted = "granted" => "granted",
        Refused = "refused" => "refused",
        /// The granted act was done: the token was created, the memory shredded.
        Done = "done" => "done",
        Revoked = "revoked" => "revoked",
        Expired = "expired" => "over",
    }
}

impl AccessState {
    /// Whether it waits for an answer or its grant can be used.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Asked | Self::Granted)
    }
}

/// An access request and its outcome. It is serialized without its texts, which are not open facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessRequest {
    /// Its identifier.
    pub id: AccessRequestId,
    /// The requested access.
    pub kind: AccessKind,
    /// The requester's purpose; 1 to [`PURPOSE_LIMIT`] characters.
    #[serde(skip)]
    pub purpose: PrivateText,
    /// The requester, who alone can use the grant.
    pub asked_by: Actor,
    /// The state.
    pub state: AccessState,
    /// When it was requested.
    pub requested_at: Timestamp,
    /// Until when it waits for its answer; once granted, until when it can be used.
    pub expires_at: Timestamp,
    /// When the agent answered.
    pub answered_at: Option<Timestamp>,
    /// The place in the log of the answer; set where `answered_at` is.
    pub answered_seq: Option<u64>,
    /// The agent's reason; up to [`REASON_LIMIT`] characters.
    #[serde(skip)]
    pub reason: Option<PrivateText>,
    /// When it ended in any way; for a refusal the time of the answer.
    pub ended_at: Option<Timestamp>,
    /// The number of reads under it.
    pub reads: u64,
    /// The sum of the memories shown in all reads.
    pub memories_read: u64,
    /// The sum of the tokens shown in all reads.
    pub tokens_read: u64,
    /// The lease on asking the agent's model; `None` before the first. It is on no record: it makes one process ask,
    /// and says nothing about the outcome.
    #[serde(default)]
    pub question: Option<QuestionClaim>,
}

/// The lease of one process on asking an agent's model about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionClaim {
    /// When it expires. No process asks the agent anything else before.
    pub until: Timestamp,
    /// The number of times that the model was asked, this time included.
    pub times: u32,
    /// The usage of the earlier times, for the record of the answer or end.
    #[serde(default)]
    pub usage: Usage,
}

impl QuestionClaim {
    /// The length of a lease, in seconds: longer than any call of a model.
    pub const SECONDS: i64 = 300;
    /// The wait after a failed question, in seconds; twice as long after each further one.
    const FIRST_WAIT: i64 = 60;
    const LONGEST_WAIT: i64 = 3_600;

    /// From when on the same request may be asked about again.
    pub fn again_at(self) -> Timestamp {
        // Bounded before the shift, which would overflow; long before 16 the longest wait is reached.
        let wait = Self::FIRST_WAIT << self.times.saturating_sub(1).min(16);
        self.until.plus_seconds(wait.min(Self::LONGEST_WAIT))
    }

    /// The time, if it is ahead by no more than any wait; else the clock was set back since.
    fn ahead(time: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let seconds = time.seconds_since(now);
        let is_ahead = time > now && seconds <= Self::SECONDS + Self::LONGEST_WAIT;
        is_ahead.then_some(time)
    }
}

/// A request to an agent, before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessDraft {
    /// The requested access.
    pub kind: AccessKind,
    /// The purpose.
    pub purpose: PrivateText,
}

impl AccessDraft {
    /// Checks the limits and trims the purpose.
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
            purpose: parse_purpose(&self.purpose)?,
        })
    }
}

/// The purpose of a request, trimmed.
///
/// # Errors
/// It is empty, or longer than [`PURPOSE_LIMIT`] characters.
pub fn parse_purpose(purpose: &PrivateText) -> Result<PrivateText, Invalid> {
    parse_text("purpose", purpose.expose(), PURPOSE_LIMIT)
}

/// Why a request is not accepted, answered or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AccessRefusal {
    /// The agent was not found, or its state does not allow the requested act.
    #[error(transparent)]
    Change(#[from] ChangeRefusal),
    #[error("only an administrator asks an agent for access")]
    NotAnAdministrator,
    #[error("only the agent itself answers a request for access")]
    NotTheAgent,
    #[error("{WAITING_LIMIT} requests wait for the agent's answer; wait for it, or revoke one")]
    TooManyWaiting,
    /// The agent refused the same or less, and must not be asked again and again (SPEC 5.2).
    #[error(
        "the agent said no to this, or to less, and has not said yes to as much since (times: {times}); it is not asked again before {until}"
    )]
    RefusedBefore {
        /// The number of refusals.
        times: u32,
        /// From when on it can be requested again.
        until: Timestamp,
    },
    #[error("the request is {} and cannot be answered any more", .0.as_str())]
    NotWaiting(AccessState),
    #[error(
        "what was asked for is done; a token that was made can be revoked, a memory that was shredded stays so"
    )]
    Done,
}

impl AccessRefusal {
    /// The wire code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Change(refusal) => refusal.code(),
            Self::NotAnAdministrator | Self::NotTheAgent => "forbidden",
            Self::TooManyWaiting => "too_many_waiting",
            Self::RefusedBefore { .. } => "refused_before",
            Self::NotWaiting(_) | Self::Done => "access_over",
        }
    }
}

/// The clocks at the use of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time of day.
    pub now: Timestamp,
    /// The latest time in the agent's log since the grant, itself included; `None` where there is none yet.
    pub latest: Option<Timestamp>,
    /// Whether the monotonic clock has passed the end.
    pub has_run_out: bool,
}

wire_names! {
    /// Why an open request is over.
    pub enum RequestOver {
        Time = "time" => "its time has come",
        /// The time of day was set back, so the remaining time is unknown.
        ClockWentBack = "clock_went_back" => "the clock was put back",
        /// The monotonic clock passed the end before the time of day, and takes precedence.
        RunOut = "run_out" => "its time has run out",
        /// The agent refused the same or less while it waited.
        Refused = "refused" => "the agent refused the same",
    }
}

/// The amount shown in one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownAmount {
    /// Memories whose text was shown, directly or in a record.
    pub memories: u64,
    /// The size of all shown text, in tokens.
    pub tokens: u64,
}

impl ShownAmount {
    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            memories: self.memories.saturating_add(other.memories),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }
}

impl AccessRequest {
    /// Acquires the lease on asking the agent's model at `now`; `open` are the agent's open requests.
    ///
    /// # Errors
    /// The time before which the model is not asked: it is being asked about some request, or was asked about this one
    /// recently.
    pub fn claim_question(
        &self,
        open: &[Self],
        now: Timestamp,
    ) -> Result<QuestionClaim, Timestamp> {
        let held = open
            .iter()
            .filter(|other| other.state == AccessState::Asked)
            .filter_map(|other| QuestionClaim::ahead(other.question?.until, now));
        let again_at = self.question.map(QuestionClaim::again_at);
        let again_at = again_at.and_then(|time| QuestionClaim::ahead(time, now));
        match held.chain(again_at).max() {
            Some(not_before) => Err(not_before),
            None => Ok(QuestionClaim {
                until: now.plus_seconds(QuestionClaim::SECONDS),
                times: self.question.map_or(1, |last| last.times.saturating_add(1)),
                usage: self.question.map(|last| last.usage).unwrap_or_default(),
            }),
        }
    }

    /// The usage of the agent's model by questions without an answer. One that is under way at `now` counts as a call:
    /// its response comes too late.
    fn asked_usage(&self, now: Timestamp) -> Usage {
        let mut usage = self.question.map(|asked| asked.usage).unwrap_or_default();
        let until = self.question.map(|asked| asked.until);
        let under_way = until.and_then(|until| QuestionClaim::ahead(until, now));
        usage.calls = usage.calls.saturating_add(under_way.is_some().into());
        usage
    }

    /// Why it has ended at that moment; `None` while it is open, or where its end is recorded. Both the time of day and
    /// the monotonic clock must leave it time. The time of day must not precede the log.
    pub fn over(&self, moment: &Moment) -> Option<RequestOver> {
        if !self.state.is_open() || self.kind.name().is_standing(self.state) {
            return None;
        }
        let from = self
            .answered_at
            .filter(|_| self.state == AccessState::Granted);
        // `None` is less than any time.
        let latest = max(moment.latest, from);
        // The time of day is checked first, and the monotonic clock last: each can only end a grant.
        if latest.is_some_and(|latest| moment.now.plus_microseconds(SKEW) < latest) {
            return Some(RequestOver::ClockWentBack);
        }
        // Within the skew, the later time counts.
        if max(Some(moment.now), latest) >= Some(self.expires_at) {
            return Some(RequestOver::Time);
        }
        moment.has_run_out.then_some(RequestOver::RunOut)
    }

    /// The request that begins with this record; `None` for any other record.
    pub fn begun_by(record: &Record) -> Option<Self> {
        if record.action != Action::AccessRequested {
            return None;
        }
        Some(Self {
            // `None` for a missing or malformed fact: verifying then names the record.
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

    /// Its state after that record, which names it; `None` where the record cannot follow.
    #[must_use]
    pub fn follow(mut self, record: &Record) -> Option<Self> {
        let at = record.recorded_at;
        let (asked, granted) = (AccessState::Asked, AccessState::Granted);
        let is_shred = matches!(self.kind, AccessKind::Shred { .. });
        match (record.action, self.state) {
            (Action::AccessGranted, state) if state == asked => {
                self.answer(record);
                // A shredding is written together with the answer, so the request is done immediately.
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
            // On the record although it changes nothing.
            (Action::AccessRevoked, state)
                if state != AccessState::Done && record.actor.kind.is_in_charge() => {}
            _ => return None,
        }
        Some(self)
    }

    fn answer(&mut self, record: &Record) {
        self.answered_at = Some(record.recorded_at);
        self.answered_seq = Some(record.seq);
        self.reason = record.body.reason.clone();
    }

    /// The names of the fields in which two requests differ.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        // Not `question`: no record holds it.
        differing!(self, other; kind, purpose, asked_by, state, requested_at, expires_at, answered_at, answered_seq,
            reason, ended_at, reads, memories_read, tokens_read)
    }
}

/// The fact: how often the agent's model was called for a request, on the record of its answer or end.
pub const CALLS: &str = "calls";
/// The fact: until when a request waits, or can be used.
const EXPIRES_AT: &str = "expires_at";
/// The fact: when a requested token expires.
const TOKEN_EXPIRES_AT: &str = "token_expires_at";

/// The fact, where set: the summaries and reports that rest on a memory are to be shredded with it.
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
        AccessKind::Token {
            expires_at: Some(at),
        } => facts.time(TOKEN_EXPIRES_AT, at),
        AccessKind::Connection { client } => facts.count("client", client),
        AccessKind::Shred { derived: true, .. } => facts.count(DERIVED, 1_u64),
        AccessKind::Token { expires_at: None } | AccessKind::Shred { derived: false, .. } => facts,
        AccessKind::Embeddings { recipient } => facts.count("recipient", recipient),
    }
}

/// The number of refusals of `kind` or less without a later consent to as much, and from when on it can be requested
/// again. `None` where it can be now. `earlier` are requests to the same agent, in any order.
fn refused_before(
    kind: AccessKind,
    earlier: &[AccessRequest],
    now: Timestamp,
) -> Option<(u32, Timestamp)> {
    let is_refused = |request: &AccessRequest| request.state == AccessState::Refused;
    // A later consent to as much cancels a refusal. Answers are ordered by place in the log, not by time.
    let is_undone = |no: &AccessRequest| {
        earlier.iter().any(|other| {
            !is_refused(other)
                && other.answered_seq > no.answered_seq
                && other.kind.asks_again_for(no.kind)
        })
    };
    let noes = || {
        let alike = earlier.iter().filter(|request| is_refused(request));
        alike.filter(|request| kind.asks_again_for(request.kind) && !is_undone(request))
    };
    let times = u32::try_from(noes().count()).unwrap_or(u32::MAX);
    // A clock that has been set back since could have dated an answer far ahead.
    let said = noes().filter_map(|request| request.answered_at);
    let last = said.filter(|at| at.is_plausible_at(now)).max()?;
    let doublings = times.saturating_sub(1).min(MOST_DOUBLINGS);
    let until = last.plus_days(DAYS_AFTER_NO << doublings);
    (now < until).then_some((times, until))
}

/// Makes a request. `earlier` are the agent's previous requests: all open ones, and all that it answered.
///
/// # Errors
/// The requester is no administrator, too many requests wait, or the agent refused as much recently. The caller checks
/// the draft first.
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
    // Before the count of waiting requests, which could hide the refusal.
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
    let mut draft = Draft::for_agent(agent, now);
    let body = RecordBody::of_reason(Some(access_draft.purpose.clone()));
    draft.record(actor, Action::AccessRequested, memory, facts, body);
    // The row is derived from its record, as verifying does it, so that the row cannot contradict the log.
    let begun = draft.records().iter().filter_map(AccessRequest::begun_by);
    let begun = begun.collect();
    draft.put_access(begun);
    Ok(draft.finish())
}

/// The agent's answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentAnswer<'a> {
    /// Whether it consents.
    pub is_granted: bool,
    /// Its reason.
    pub reason: Option<&'a PrivateText>,
    /// The usage of its model; none where its own client answers. It is recorded, since the agent bears the cost.
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
        is_informative(&sentence) && reason.contains(&sentence)
    };
    memories
        .into_iter()
        .any(|memory| sentences(memory.content.expose()).any(is_repeated))
}

/// Whether a sentence is long enough to reveal something.
fn is_informative(sentence: &str) -> bool {
    let words = sentence.split_whitespace().map(|word| {
        let length = word.chars().filter(|one| one.is_alphanumeric()).count();
        let unspaced = word.chars().filter(|one| is_unspaced(*one)).count();
        length
            .div_ceil(WORD_CHARACTERS)
            .max(unspaced.div_ceil(UNSPACED_CHARACTERS))
    });
    words.sum::<usize>() >= SENTENCE_WORDS
}

/// Records the agent's answer; `None` where it gave the same one before. The caller adds the act that a grant allows
/// immediately, such as shredding.
///
/// # Errors
/// The actor is not the agent, or the request does not wait for an answer.
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
    // The owner may act as the agent by its token; being an administrator does not suffice.
    if actor.kind != ActorKind::Agent {
        return Err(AccessRefusal::NotTheAgent);
    }
    if request.state != AccessState::Asked {
        // A grant that was used, revoked or expired since was a consent too.
        let was_granted = request.state != AccessState::Refused;
        // A client repeats its answer when the first response was lost.
        return match request.answered_at.is_some() && was_granted == is_granted {
            true => Ok(None),
            false => Err(AccessRefusal::NotWaiting(request.state)),
        };
    }
    let usage = match usage.calls {
        0 => request.asked_usage(now),
        _ => usage,
    };
    let facts = with_usage(Facts::default().request(request.id), usage);
    let (action, facts) = if is_granted {
        let until = now.plus_seconds(i64::from(request.kind.minutes()) * 60);
        (Action::AccessGranted, facts.time(EXPIRES_AT, until))
    } else {
        (Action::AccessRefused, facts)
    };
    let reason = reason.cloned();
    let draft = follow(agent, request, actor, action, facts, reason, now);
    Ok(Some(draft.finish()))
}

/// Records a read before the text is shown. The caller has checked that the grant is live.
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
    let action = Action::AccessUsed;
    Ok(follow(agent, request, actor, action, facts, None, now).finish())
}

/// Uses a single-use grant: a token, or a program's connection. The agent is notified.
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
    let action = Action::AccessUsed;
    let mut draft = follow(agent, request, actor, action, facts, None, now);
    notify(&mut draft, request, "");
    Ok(draft.finish())
}

fn check_use(agent: &Agent, request: &AccessRequest, actor: &Actor) -> Result<(), AccessRefusal> {
    manage::check_present(agent)?;
    // The whole actor, not the role: a grant to another administrator does not count.
    if request.asked_by != *actor {
        return Err(AccessRefusal::NotAnAdministrator);
    }
    if request.state != AccessState::Granted {
        return Err(AccessRefusal::NotWaiting(request.state));
    }
    Ok(())
}

/// A program that is connected to an agent, as shown to the agent.
#[derive(Debug, Clone, Copy)]
pub struct ConnectedClient<'a> {
    /// The name that it gives.
    pub name: &'a str,
    /// Its host.
    pub host: &'a str,
}

impl ConnectedClient<'_> {
    /// Its number in [`AccessKind::Connection`].
    pub fn recipient(&self) -> u64 {
        recipient(self.name, self.host)
    }

    /// Introduces it to the agent, before the purpose, so that no part of the purpose can imitate it.
    pub fn introduction(&self) -> String {
        let (name, host) = (quote::quote(self.name), quote::quote(self.host));
        format!("The program calls itself {name}, and is at {host}. ")
    }
}

/// Records that a program was connected by that token. Notifies the agent in its journal where it was not asked, since
/// it had no memories yet (SPEC 5.5).
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
    let mut draft = Draft::for_agent(agent, now);
    draft.record(actor, Action::TokenCreated, None, facts, Vec::new());
    if !was_asked {
        let (day, who) = (now.date(), quote::quote(&actor.name));
        let (name, host) = (quote::quote(client.name), quote::quote(client.host));
        let entry = format!(
            "On {day}, before I had any memories, the administrator {who} connected a program to my memory, which calls itself {name} and is at {host}. It can do all that I can until it is revoked."
        );
        manage::report(&mut draft, ReportKind::Access, entry);
    }
    draft.finish()
}

/// Revokes a request, answered or not. Where it has ended already, an act of an administrator is a record all the same
/// (SPEC 4.3), and one of the agent `None`. After a read grant the agent is notified of the amount read.
///
/// # Errors
/// The granted act was done.
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
    let facts = Facts::default().request(request.id);
    if !request.state.is_open() {
        let is_recorded = actor.kind.is_in_charge();
        let revoked = || Decision::of_record(agent, actor, Action::AccessRevoked, facts, now);
        return Ok(is_recorded.then(revoked));
    }
    // Never an empty text, which `notify` takes to mean that the granted act was done.
    let how = match actor.kind {
        ActorKind::Agent => "I revoked it".to_owned(),
        ActorKind::Administrator | ActorKind::Owner | ActorKind::System => {
            format!("{} revoked it", quote::quote(&actor.name))
        }
    };
    let action = Action::AccessRevoked;
    Ok(Some(end(agent, request, actor, action, facts, &how, now)))
}

/// Ends an expired request; `None` where it has ended already. After a read grant the agent is notified of the amount
/// read.
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
    let facts = match request.kind {
        AccessKind::Read { .. } => facts
            .count("reads", request.reads)
            .count("memories", request.memories_read)
            .count("tokens", request.tokens_read),
        _ => facts,
    };
    // The answer has recorded what was used before it.
    let facts = match request.state {
        AccessState::Asked => with_usage(facts, request.asked_usage(now)),
        _ => facts,
    };
    let mut draft = follow(agent, request, actor, action, facts, None, now);
    // The state before the record: without a grant nothing was read, so there is nothing to notify of.
    if request.state == AccessState::Granted {
        notify(&mut draft, request, how);
    }
    draft.finish()
}

/// Adds the usage of the agent's model; nothing where it was not called.
fn with_usage(facts: Facts, usage: Usage) -> Facts {
    if usage == Usage::default() {
        return facts;
    }
    facts
        .count(CALLS, usage.calls)
        .count("input_tokens", usage.input_tokens)
        .count("output_tokens", usage.output_tokens)
}

/// Drafts a record of a request, and the request as it is afterwards.
fn follow(
    agent: Agent,
    request: &AccessRequest,
    actor: &Actor,
    action: Action,
    facts: Facts,
    reason: Option<PrivateText>,
    now: Timestamp,
) -> Draft {
    let mut draft = Draft::for_agent(agent, now);
    let body = RecordBody::of_reason(reason);
    draft.record(actor, action, None, facts, body);
    let record = draft.records().last();
    let after = record.and_then(|record| request.clone().follow(record));
    draft.put_access(after.into_iter().collect());
    draft
}

/// Notifies the agent of the outcome of a grant, in one journal entry (SPEC 5.2). Text by others is quoted, so that it
/// cannot pass for the agent's own (SPEC 3.6).
fn notify(draft: &mut Draft, request: &AccessRequest, how: &str) {
    let who = quote::quote(&request.asked_by.name);
    let purpose = quote::quote(request.purpose.expose());
    // Only for granted requests, so `answered_at` is set.
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
                    "They read {} in {} ({})",
                    plural(request.memories_read, "memory", "memories"),
                    plural(reads, "read", "reads"),
                    plural(request.tokens_read, "token", "tokens"),
                ),
            };
            format!(
                "On {day} I let the administrator {who} read {what} for {}. Their purpose: {purpose}. {much}. It ended because {how}.",
                plural(u64::from(minutes), "minute", "minutes")
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
    manage::report(draft, ReportKind::Access, entry);
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
        assert!(!repeats("Yes. Read what moved to Porto"));
        for (memory, reason, expected) in [
            ("Max has cancer.", "No: Max has cancer", true),
            ("It rains. max HAS  cancer", "no, Max has cancer!", true),
            ("我叫王小明。", "不，因为我叫王小明", true),
            (
                "わたしはケーキが好きです",
                "いいえ。わたしはケーキが好きです。",
                true,
            ),
            (
                "correct-horse-battery-staple",
                "It is correct-horse-battery-staple",
                true,
            ),
            (
                "He said “no, not yet”.",
                "NO. He said \"no, not yet\"",
                true,
            ),
            ("Yes, please.", "Yes, please. Read all of it.", false),
            ("No.", "No. I do not want that.", false),
            ("好的。", "好的，请看", false),
            ("Max has cancer.", "No: Max is ill", false),
            ("", "No", false),
        ] {
            let memories = [test_memory(1, memory)];
            let repeated = repeats_a_sentence(&reason.into(), &memories);
            assert_eq!(repeated, expected, "{memory}: {reason}");
        }
    }
}
