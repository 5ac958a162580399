//! An agent: its settings, with their limits and defaults, its counts, its schedule and its context (SPEC 2.2, 2.3,
//! 3.1). Changes of an agent are not here, but in `change`.

pub mod context;
pub mod schedule;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};

use crate::{
    agent::schedule::RefinementSchedule,
    ids::AgentId,
    memory::{Invalid, Kind, Memory, Number, Tags, Tally, is_single_line, parse_text},
    text::{
        fold,
        private::{PrivateJson, PrivateText},
        quote::is_invisible,
        thousands,
    },
    time::Timestamp,
};

pub use crate::text::DuplicateMatch;

/// Most characters of an agent's or an account's name.
pub const NAME_LIMIT: usize = 100;
/// Most characters of a system prompt.
pub const SYSTEM_PROMPT_LIMIT: usize = 100_000;
/// Most characters of each of the other prompts.
pub const PROMPT_LIMIT: usize = 10_000;
/// Most characters of a model's name.
pub const MODEL_LIMIT: usize = 200;
/// The budget for core memories where the agent sets none.
pub const DEFAULT_CORE_TOKEN_BUDGET: u64 = 5_000;
/// The smallest budget for core memories (SPEC 2.2).
const LEAST_CORE_TOKEN_BUDGET: u64 = 1_000;
/// The most tokens that the journal takes of a context where the agent sets nothing else (SPEC 2.2).
pub const DEFAULT_CONTEXT_JOURNAL_TOKENS: u64 = 8_000;
/// The most tokens that a setting can be, except for those of a response.
const MOST_TOKENS: u64 = 1_000_000_000;
/// Most immutable memories whose numbers are kept with the agent, which is written with every change.
pub const MOST_IMMUTABLE: usize = 1_000;
/// The range of tokens of one response of an agent's model, as for the same setting of an installation.
const ANSWER_TOKENS: RangeInclusive<u64> = 16..=1_000_000;
/// The tags that exclude a memory from merging, deleting and rewriting where the agent sets none.
// SPEC 2.2.
pub const DEFAULT_IMMUTABLE_TAGS: [&str; 3] = ["audio", "somatic", "voice"];

/// The share of the core size at a session's start that must be left: over 0, up to 1.
#[derive(
    Clone,
    Copy,
    PartialEq,
    PartialOrd,
    Serialize,
    Deserialize,
    derive_more::Display,
    derive_more::Debug,
)]
#[debug("{_0}")]
#[display("{_0}")]
#[serde(try_from = "f64")]
pub struct Threshold(f64);

impl Threshold {
    /// Where the agent sets none (SPEC 2.2).
    pub const DEFAULT: Self = Self(0.75);
    /// Everything must be left.
    pub const STRICTEST: Self = Self(1.0);

    /// # Errors
    /// Not over 0 or not up to 1.
    pub fn new(share: f64) -> Result<Self, Invalid> {
        // NaN is neither.
        if share > 0.0 && share <= 1.0 {
            Ok(Self(share))
        } else {
            Err(Invalid::new(
                "refinement_threshold",
                "must be a number over 0 and up to 1, such as 0.75",
            ))
        }
    }

    /// The share, over 0 and up to 1.
    pub fn share(self) -> f64 {
        self.0
    }

    /// The fewest tokens that are this share of `all` tokens: at one fewer, the quotient is below the share
    /// (SPEC 3.13).
    pub fn least_of(self, all: u64) -> u64 {
        // Sizes are far below 2^53, so that both are exact. Rounding of the product may be one off; the comparison
        // of the quotient decides.
        let is_below = |tokens: u64| all > 0 && tokens as f64 / (all as f64) < self.0;
        let estimate = (self.0 * all as f64).ceil() as u64;
        let from = estimate.saturating_sub(1);
        (from..=estimate)
            .find(|&tokens| !is_below(tokens))
            .unwrap_or(estimate.saturating_add(1))
    }

    /// The stricter of two: the one that leaves more.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        // Neither is NaN, which no threshold is.
        Self(self.0.max(other.0))
    }
}

impl TryFrom<f64> for Threshold {
    type Error = Invalid;

    fn try_from(share: f64) -> Result<Self, Invalid> {
        Self::new(share)
    }
}

wire_names! {
    /// Which tools the session has (SPEC 3.17).
    #[derive(Default)]
    pub enum Mode {
        #[default]
        Full = "full" => "all session tools",
        /// Search, delete, protect and complete only.
        DedupOnly = "dedup_only" => "duplicates only",
    }
}

wire_names! {
    /// What may leave the prompt by an edit of a session (SPEC 3.14). Ordered by strictness.
    #[derive(PartialOrd, Ord, Default)]
    pub enum LossGuard {
        /// The core size alone decides: deleted and merged memories are discarded, and texts are rewritten in place.
        Off = "off" => "off",
        /// What leaves the prompt goes to the archive.
        #[default]
        Archive = "archive" => "to the archive, within limits",
        /// Nothing leaves but a duplicate up to case.
        Refuse = "refuse" => "duplicates only",
    }
}

wire_names! {
    /// How much a model is to think before it answers, as providers call it.
    pub enum ReasoningEffort {
        None = "none" => "none",
        Minimal = "minimal" => "minimal",
        Low = "low" => "low",
        Medium = "medium" => "medium",
        High = "high" => "high",
        Xhigh = "xhigh" => "very high",
    }
}

/// The settings of an agent as set; `None` means the default.
///
/// They are stored by name. A row that was written before a setting was added lacks it, which means the default. A
/// setting or a value that this version of Memoir does not know is in `unknown`, and the row stays readable (SPEC 5.3).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// `provider:name`; `None`: the installation's default.
    pub model: Option<String>,
    /// Who the agent is.
    pub system_prompt: Option<PrivateText>,
    /// What to extract from conversations.
    pub reflection_prompt: Option<PrivateText>,
    /// What to promote to core.
    pub memory_reflection_prompt: Option<PrivateText>,
    /// The agent's own style of refining.
    pub refinement_prompt: Option<PrivateText>,
    /// The breaker's threshold.
    pub refinement_threshold: Option<Threshold>,
    /// The room for core memories in the agent's runtime, in tokens.
    pub core_token_budget: Option<u64>,
    /// Core size in tokens at which a session is due; `None`: the budget.
    pub refinement_trigger_tokens: Option<u64>,
    /// Tags that exclude a memory from merging, deleting and rewriting.
    pub immutable_tags: Option<Vec<String>>,
    /// When two core memories are the same text.
    pub duplicate_match: Option<DuplicateMatch>,
    /// What may leave the prompt by an edit of a session.
    pub loss_guard: Option<LossGuard>,
    /// When the schedule begins its sessions.
    pub refinement_schedule: Option<RefinementSchedule>,
    /// Which tools a scheduled session has.
    pub refinement_mode: Option<Mode>,
    /// The most tokens that the journal takes of a context.
    pub context_journal_tokens: Option<u64>,
    /// The most tokens that core memories take of a context; `None` for all of them.
    pub context_core_tokens: Option<u64>,
    /// Whether a session's prompt lists near duplicates; `None`: yes.
    pub near_duplicates: Option<bool>,
    /// How much its model is to think; `None` for the provider's default.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// The most tokens of one response of its model; `None` for the installation's limit.
    pub answer_tokens: Option<u32>,
    /// Whether the schedule skips it; an administrator can still start a session.
    pub paused: bool,
    /// Whether it is out of service.
    pub inactive: bool,
    /// The prompts that the agent itself set to their present value, by wire name. No administrator reads them (SPEC
    /// 5.1).
    pub authored: BTreeSet<String>,
    /// What another version of Memoir set and this one does not know, by wire name. It is written back unchanged. Of a
    /// guard, it has the effect of the strictest value; of any other setting, that of the default.
    pub unknown: BTreeMap<String, PrivateJson>,
}

/// The name under which [`Field::Active`] is stored, inverted: a row without it is an agent in service.
const INACTIVE: &str = "inactive";
/// The name under which the authored prompts are stored.
const AUTHORED: &str = "authored";

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in Field::ALL {
            match field {
                // Stored with the agent.
                Field::Name => {}
                Field::Active => map.serialize_entry(INACTIVE, &self.inactive)?,
                _ => map.serialize_entry(field.as_str(), &field_value("", self, field))?,
            }
        }
        if !self.authored.is_empty() {
            map.serialize_entry(AUTHORED, &self.authored)?;
        }
        let later = |name: &&String| Field::from_name(name).is_none();
        for name in self.unknown.keys().filter(later) {
            map.serialize_entry(name, &self.unknown[name])?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut settings = Self::default();
        for (name, value) in BTreeMap::<String, PrivateJson>::deserialize(deserializer)? {
            match (name.as_str(), Field::from_name(&name)) {
                (INACTIVE, _) => settings.inactive = value.expose().as_bool().unwrap_or(true),
                // Unreadable, it hides all prompts: no administrator is to read one of the agent's own.
                (AUTHORED, _) => {
                    let texts = Field::ALL.into_iter().filter(|field| field.is_text());
                    settings.authored = Deserialize::deserialize(value.expose())
                        .unwrap_or_else(|_| texts.map(|field| field.to_string()).collect());
                }
                (_, Some(field)) if !matches!(field, Field::Name | Field::Active) => {
                    set_field_value(&mut String::new(), &mut settings, field, value.expose())
                        .map_err(de::Error::custom)?;
                }
                _ => {
                    settings.unknown.insert(name, value);
                }
            }
        }
        Ok(settings)
    }
}

impl Settings {
    /// Whether another version of Memoir gave it a value that this one does not know.
    fn is_unknown(&self, field: Field) -> bool {
        self.unknown.contains_key(field.as_str())
    }

    /// The effective threshold of the breaker.
    pub fn effective_refinement_threshold(&self) -> Threshold {
        if self.is_unknown(Field::RefinementThreshold) {
            return Threshold::STRICTEST;
        }
        self.refinement_threshold.unwrap_or(Threshold::DEFAULT)
    }

    /// The effective budget, in tokens.
    pub fn effective_core_token_budget(&self) -> u64 {
        self.core_token_budget.unwrap_or(DEFAULT_CORE_TOKEN_BUDGET)
    }

    /// The core size over which a session is due, in tokens.
    pub fn effective_refinement_trigger_tokens(&self) -> u64 {
        self.refinement_trigger_tokens
            .unwrap_or_else(|| self.effective_core_token_budget())
    }

    /// The effective immutable tags, as set.
    pub fn effective_immutable_tags(&self) -> Vec<String> {
        let default = || DEFAULT_IMMUTABLE_TAGS.map(str::to_owned).into();
        self.immutable_tags.clone().unwrap_or_else(default)
    }

    /// The effective immutable tags, folded, for comparing.
    pub fn immutable_tag_set(&self) -> BTreeSet<String> {
        let tags = self.effective_immutable_tags();
        tags.iter().map(|tag| fold(tag)).collect()
    }

    /// The effective duplicate match.
    pub fn effective_duplicate_match(&self) -> DuplicateMatch {
        self.duplicate_match.unwrap_or_default()
    }

    /// The effective loss guard.
    pub fn effective_loss_guard(&self) -> LossGuard {
        // Unknown immutable tags may exclude any memory.
        if self.is_unknown(Field::LossGuard) || self.is_unknown(Field::ImmutableTags) {
            return LossGuard::Refuse;
        }
        self.loss_guard.unwrap_or_default()
    }

    /// When the schedule begins sessions.
    pub fn effective_refinement_schedule(&self) -> RefinementSchedule {
        self.refinement_schedule.unwrap_or_default()
    }

    /// Which tools a scheduled session has.
    pub fn effective_refinement_mode(&self) -> Mode {
        if self.is_unknown(Field::RefinementMode) {
            return Mode::DedupOnly;
        }
        self.refinement_mode.unwrap_or_default()
    }

    /// Whether a session's prompt lists near duplicates.
    pub fn effective_near_duplicates(&self) -> bool {
        self.near_duplicates.unwrap_or(true)
    }

    /// The most tokens that the journal takes of a context.
    pub fn effective_context_journal_tokens(&self) -> u64 {
        self.context_journal_tokens
            .unwrap_or(DEFAULT_CONTEXT_JOURNAL_TOKENS)
    }
}

/// A mark in the ledger's order: the row after which the next session's ledger begins (SPEC 3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LedgerPosition {
    /// Origin date of the last row listed.
    pub created_at: Timestamp,
    /// Its number.
    pub number: Number,
}

/// The last attempt to begin a session for the agent, whatever its outcome (SPEC 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it was begun.
    pub at: Timestamp,
    /// The core size when it ended, or when it was begun while it runs.
    pub core_tokens: u64,
    /// The number of consecutive scheduled sessions that failed without an edit, this one included: each but the first
    /// retried the previous one.
    #[serde(default)]
    pub failures: u32,
    /// When the schedule retries; `None` where it waits for its next reason.
    #[serde(default)]
    pub retry_at: Option<Timestamp>,
}

/// How a context was bounded, beside the agent's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextBound {
    /// When this was noted.
    pub at: Timestamp,
    /// Most tokens of the whole; `None` for no bound.
    pub max_tokens: Option<u64>,
    /// Whether constitutional memories are omitted too beyond it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_hard: bool,
}

/// The active core memories with one of some tags.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImmutableMemories {
    /// The immutable tags, folded, for which they were found. They are not known for others.
    tags: BTreeSet<String>,
    numbers: BTreeSet<Number>,
}

/// An agent in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Its identifier.
    pub id: AgentId,
    /// Its name, unique in its account whatever the case.
    pub name: String,
    /// Its settings as set.
    pub settings: Settings,
    /// When it was created.
    pub created_at: Timestamp,
    /// The counts of its memories.
    pub tally: Tally,
    /// The counts of the messages that were handed to it.
    #[serde(default)]
    pub messages: MessageCounts,
    /// The active core memories with an immutable tag, so that a context knows them without opening any. `None` where
    /// that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub immutable: Option<ImmutableMemories>,
    /// Memoir's own reports in the journal, with their origin dates, as long as they are in a context.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reports: BTreeMap<Number, Timestamp>,
    /// The bound of the last context; `None` where none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_context: Option<ContextBound>,
    /// The next record's place when the agent was last found to have nothing to refine (SPEC 3.5). It is valid while no
    /// record has been added; `None` where it was never found so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nothing_to_refine_seq: Option<u64>,
    /// The number that the next memory gets.
    pub next_number: Number,
    /// The sequence number that the next audit record gets.
    pub next_seq: u64,
    /// The place of the record that last changed its settings; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_seq: Option<u64>,
    /// When a session last completed or was rolled back.
    pub last_refinement_at: Option<Timestamp>,
    /// The last attempt to begin a session.
    pub last_attempt: Option<Attempt>,
    /// When a reflection was last begun.
    pub last_reflection_at: Option<Timestamp>,
    /// When the first unreflected journal entry was saved; `None` where there is none. Entries by Memoir itself do not
    /// count.
    pub unreflected_since: Option<Timestamp>,
    /// Where the next session's ledger begins; `None` at the oldest row.
    pub ledger_position: Option<LedgerPosition>,
    /// When it was erased. Since then nothing of it can be read or changed (SPEC 5.4).
    pub erased_at: Option<Timestamp>,
}

/// Counts of an agent's messages by state, held with the agent: a message that was removed or changed outside Memoir is
/// noticed at reading (SPEC 3.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Messages that wait to be read.
    pub pending: u64,
    /// Their tokens.
    pub pending_tokens: u64,
    /// Messages that were read.
    pub absorbed: u64,
    /// Messages that failed permanently.
    pub failed: u64,
}

impl Agent {
    /// The tokens by which the core size is over the budget.
    pub fn over_budget(&self) -> u64 {
        let budget = self.settings.effective_core_token_budget();
        self.tally.core_tokens.saturating_sub(budget)
    }

    /// The names of the stored counts that differ from a recount over all its memories.
    pub fn miscounted<'a>(
        &self,
        memories: impl IntoIterator<Item = &'a Memory>,
    ) -> Vec<&'static str> {
        let mut tally = Tally::default();
        for memory in memories {
            tally.add(memory);
        }
        self.differing_counts(&tally)
    }

    /// The names of the stored counts that differ from these.
    pub(crate) fn differing_counts(&self, tally: &Tally) -> Vec<&'static str> {
        let stored = self.tally.counts().into_iter().zip(tally.counts());
        let differing = stored.filter(|(stored, counted)| stored != counted);
        differing.map(|((name, _), _)| name).collect()
    }

    /// The agent with the bound of a context that was made; `None` where that is noted already, or another one was noted
    /// less than ten minutes ago: contexts are read often, and some clients have bounds of their own. A client's limit is
    /// always noted: its contexts are made at the start of a session.
    #[must_use]
    pub fn noting_context(self, bound: ContextBound) -> Option<Self> {
        /// Seconds between two writes.
        const LEAST_SECONDS: i64 = 600;
        let is_noted = match self.last_context {
            // A context without a bound is what is assumed of an agent that had none.
            None => bound.max_tokens.is_none(),
            Some(last) => {
                let is_same = (last.max_tokens, last.is_hard) == (bound.max_tokens, bound.is_hard);
                let seconds = bound.at.seconds_since(last.at);
                is_same || !bound.is_hard && (0..LEAST_SECONDS).contains(&seconds)
            }
        };
        (!is_noted && self.erased_at.is_none()).then_some(Self {
            last_context: Some(bound),
            ..self
        })
    }

    /// The numbers of the active core memories with an immutable tag; `None` where they are not known: the immutable tags
    /// were changed since, or these are more than [`MOST_IMMUTABLE`].
    pub fn known_immutable(&self) -> Option<&BTreeSet<Number>> {
        let known = self.immutable.as_ref()?;
        (known.tags == self.settings.immutable_tag_set()).then_some(&known.numbers)
    }

    /// Follows a memory that was created or changed, for [`Agent::immutable`] and [`Agent::reports`]. The tally has it.
    pub(crate) fn note_memory(&mut self, memory: &Memory, now: Timestamp) {
        let tags = self.settings.immutable_tag_set();
        let is_immutable = memory.is_active_core() && memory.tags.contains_any(&tags);
        // Without another core memory, all that there are are known.
        if self.tally.core_count == u64::from(memory.is_active_core()) {
            self.immutable = Some(ImmutableMemories {
                tags,
                numbers: BTreeSet::new(),
            });
        } else {
            self.immutable = self.immutable.take().filter(|known| known.tags == tags);
        }
        if let Some(immutable) = &mut self.immutable {
            match is_immutable {
                true => immutable.numbers.insert(memory.number),
                false => immutable.numbers.remove(&memory.number),
            };
        }
        self.forget_many_immutable();
        if memory.is_written_by_memoir() {
            let since = context::journal_since(now);
            self.reports.retain(|_, created_at| *created_at > since);
            if memory.kind() == Kind::Journal && memory.is_active() {
                self.reports.insert(memory.number, memory.created_at);
            } else {
                self.reports.remove(&memory.number);
            }
        }
    }

    /// Finds the immutable ones among all of its memories, where they are not known.
    pub(crate) fn find_immutable<'a>(&mut self, memories: impl IntoIterator<Item = &'a Memory>) {
        if self.known_immutable().is_some() {
            return;
        }
        let tags = self.settings.immutable_tag_set();
        let immutable = memories
            .into_iter()
            .filter(|memory| memory.is_active_core() && memory.tags.contains_any(&tags));
        let numbers = immutable.map(|memory| memory.number).collect();
        self.immutable = Some(ImmutableMemories { tags, numbers });
        self.forget_many_immutable();
    }

    fn forget_many_immutable(&mut self) {
        let known = self.immutable.take();
        self.immutable = known.filter(|known| known.numbers.len() <= MOST_IMMUTABLE);
    }

    /// Whether the core size is over the trigger.
    pub fn needs_refinement(&self) -> bool {
        self.tally.core_tokens > self.settings.effective_refinement_trigger_tokens()
    }

    /// Records the core size at a session's end, from which growth is counted (SPEC 3.1).
    pub(crate) fn note_attempt_end(&mut self) {
        if let Some(attempt) = &mut self.last_attempt {
            attempt.core_tokens = self.tally.core_tokens;
        }
    }

    /// Records that a scheduled session failed without an edit, and when it is retried (SPEC 3.16).
    pub(crate) fn note_failure(&mut self, now: Timestamp) {
        if let Some(attempt) = &mut self.last_attempt {
            attempt.failures = attempt.failures.saturating_add(1);
            attempt.retry_at =
                schedule::retry_seconds(attempt.failures).map(|seconds| now.plus_seconds(seconds));
        }
    }
}

/// Checks the name of an agent, an account or a user.
///
/// # Errors
/// Empty, over [`NAME_LIMIT`] characters, more than a single line, or with invisible characters: people must be able to
/// distinguish names.
pub fn parse_name(raw: &str) -> Result<String, Invalid> {
    let name = parse_text("name", raw, NAME_LIMIT)?.into_exposed();
    if !is_single_line(&name) {
        return Err(Invalid::new("name", "must be a single line"));
    }
    let is_blank = |character| {
        matches!(
            character,
            '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            // Variation selectors and vowels without a shape, which make two names look the same. The joiners of
            // Persian and Hindi are allowed.
            | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
        )
    };
    let is_unseen = |character| is_invisible(character) || is_blank(character);
    if name.chars().any(is_unseen) {
        let problem = "must have no invisible characters, or such as turn the direction of writing; leave them out";
        return Err(Invalid::new("name", problem));
    }
    // An identifier is accepted in place of a name, so a name must not read as another agent's identifier (SPEC 2.2).
    // Separators between the digits are ignored.
    let digits = name.chars().filter(char::is_ascii_alphanumeric);
    let digits: String = digits.collect::<String>().to_ascii_lowercase();
    let digits = digits.trim_start_matches("urnuuid");
    if digits.parse::<AgentId>().is_ok() {
        let problem = "must not read as an identifier (32 hexadecimal digits); give another";
        return Err(Invalid::new("name", problem));
    }
    Ok(name)
}

/// A name in the form for comparison.
pub fn fold_name(name: &str) -> String {
    fold(name)
}

impl Field {
    /// Whether an agent can set it for itself (SPEC 2.7); its loss guard to a stricter one only (SPEC 3.14).
    pub fn is_own(self) -> bool {
        self.is_text()
            || matches!(
                self,
                Self::Name | Self::RefinementThreshold | Self::LossGuard
            )
    }

    /// Whether its value is an agent's text (SPEC 5.1).
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Self::SystemPrompt
                | Self::ReflectionPrompt
                | Self::MemoryReflectionPrompt
                | Self::RefinementPrompt
        )
    }

    /// Whether it is a number of tokens, within [`token_limits`].
    pub fn is_tokens(self) -> bool {
        matches!(
            self,
            Self::CoreTokenBudget
                | Self::RefinementTriggerTokens
                | Self::ContextJournalTokens
                | Self::ContextCoreTokens
                | Self::AnswerTokens
        )
    }
}

impl FromStr for Field {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::from_name(text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            let problem = format!("is no setting of an agent; the settings are {known}");
            Invalid::new("field", problem)
        })
    }
}

/// Defines the settings by the table of those that are stored under their own names: the place of each, its wire name,
/// and what reads it from text, with anything that this takes beside the field and the text.
macro_rules! settings {
    ($($place:ident: $field:ident = $wire:literal by $parse:ident $(($with:expr))?,)+) => {
        wire_names! {
            /// One setting, by its wire name.
            pub enum Field {
                Name = "name",
                $($field = $wire,)+
                Active = "active",
            }
        }

        /// The value of a setting, as JSON; `null` means the default.
        pub fn field_value(name: &str, settings: &Settings, field: Field) -> serde_json::Value {
            use serde_json::json;
            if let Some(stored) = settings.unknown.get(field.as_str()) {
                return stored.expose().clone();
            }
            match field {
                Field::Name => json!(name),
                // Inverted against the stored field: a row without it is an agent in service.
                Field::Active => json!(!settings.inactive),
                $(Field::$field => json!(settings.$place),)+
            }
        }

        fn set_known_value(
            name: &mut String,
            settings: &mut Settings,
            field: Field,
            value: &serde_json::Value,
        ) -> Result<(), Invalid> {
            match field {
                Field::Name => *name = read_value(field, value)?,
                Field::Active => settings.inactive = !read_value::<bool>(field, value)?,
                $(Field::$field => settings.$place = read_value(field, value)?,)+
            }
            Ok(())
        }

        /// Sets one setting from text, as by the command line and agents; `None` returns to the default.
        ///
        /// # Errors
        /// A value that does not have the setting's form or is over its limit; a blank one counts as such (SPEC 2.7).
        pub fn set_field(
            name: &mut String,
            settings: &mut Settings,
            field: Field,
            value: Option<&str>,
        ) -> Result<(), Invalid> {
            match field {
                Field::Name => {
                    let raw = value.ok_or_else(|| Invalid::new("name", "has no default; give a name"))?;
                    *name = parse_name(raw)?;
                }
                Field::Active => settings.inactive = !parse_flag(field, value)?.unwrap_or(true),
                $(Field::$field => settings.$place = $parse(field, value $(, $with)?)?,)+
            }
            settings.unknown.remove(field.as_str());
            Ok(())
        }
    };
}

settings! {
    model: Model = "model" by parse_model,
    system_prompt: SystemPrompt = "system_prompt" by parse_prompt(SYSTEM_PROMPT_LIMIT),
    reflection_prompt: ReflectionPrompt = "reflection_prompt" by parse_prompt(PROMPT_LIMIT),
    memory_reflection_prompt: MemoryReflectionPrompt = "memory_reflection_prompt" by parse_prompt(PROMPT_LIMIT),
    refinement_prompt: RefinementPrompt = "refinement_prompt" by parse_prompt(PROMPT_LIMIT),
    refinement_threshold: RefinementThreshold = "refinement_threshold" by parse_threshold,
    core_token_budget: CoreTokenBudget = "core_token_budget" by parse_tokens,
    refinement_trigger_tokens: RefinementTriggerTokens = "refinement_trigger_tokens" by parse_tokens,
    immutable_tags: ImmutableTags = "immutable_tags" by parse_immutable_tags,
    duplicate_match: DuplicateMatch = "duplicate_match" by parse_choice("`exact` or `ignore_case`"),
    loss_guard: LossGuard = "loss_guard" by parse_choice("`archive`, `refuse` or `off`"),
    refinement_schedule: RefinementSchedule = "refinement_schedule" by parse_schedule,
    refinement_mode: RefinementMode = "refinement_mode" by parse_choice("`full` or `dedup_only`"),
    context_journal_tokens: ContextJournalTokens = "context_journal_tokens" by parse_tokens,
    context_core_tokens: ContextCoreTokens = "context_core_tokens" by parse_tokens,
    near_duplicates: NearDuplicates = "near_duplicates" by parse_flag,
    reasoning_effort: ReasoningEffort = "reasoning_effort" by parse_choice(
        "`none`, `minimal`, `low`, `medium`, `high` or `xhigh`"
    ),
    answer_tokens: AnswerTokens = "answer_tokens" by parse_tokens,
    paused: Paused = "paused" by parse_paused,
}

/// The value of a setting as text, as [`set_field`] takes it; `None` means the default.
pub(crate) fn field_text(name: &str, settings: &Settings, field: Field) -> Option<String> {
    match field_value(name, settings, field) {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

/// Sets one setting to a value from [`field_value`]: the exact inverse. A value that this version does not know, as
/// another one may have stored it, becomes one of [`Settings::unknown`].
///
/// # Errors
/// A name or a prompt that is no text. The message omits the value.
pub fn set_field_value(
    name: &mut String,
    settings: &mut Settings,
    field: Field,
    value: &serde_json::Value,
) -> Result<(), Invalid> {
    let set = set_known_value(name, settings, field, value);
    settings.unknown.remove(field.as_str());
    match field {
        // Kept among the settings, an agent's text would be in the open.
        _ if set.is_ok() || field == Field::Name || field.is_text() => return set,
        // Stored inverted, so that the value itself cannot be kept.
        Field::Active => {
            settings.inactive = true;
            return Ok(());
        }
        Field::Paused => settings.paused = true,
        _ => set_known_value(name, settings, field, &serde_json::Value::Null)?,
    }
    let stored = PrivateJson::new(value.clone());
    settings.unknown.insert(field.as_str().to_owned(), stored);
    Ok(())
}

fn read_value<T: serde::de::DeserializeOwned>(
    field: Field,
    value: &serde_json::Value,
) -> Result<T, Invalid> {
    // The error of serde can contain parts of the value.
    T::deserialize(value)
        .map_err(|_| Invalid::new(field.as_str(), "has a value that this setting cannot have"))
}

fn parse_prompt(
    field: Field,
    value: Option<&str>,
    limit: usize,
) -> Result<Option<PrivateText>, Invalid> {
    let parse = |raw| parse_text(field.as_str(), raw, limit);
    value.map(parse).transpose()
}

fn parse_model(field: Field, value: Option<&str>) -> Result<Option<String>, Invalid> {
    let name = parse_prompt(field, value, MODEL_LIMIT)?;
    Ok(name.map(PrivateText::into_exposed))
}

fn parse_threshold(_: Field, value: Option<&str>) -> Result<Option<Threshold>, Invalid> {
    // A non-number becomes NaN, which is no threshold; 0 would turn the breaker off (SPEC 2.7).
    let parse = |raw: &str| Threshold::new(raw.trim().parse().unwrap_or(f64::NAN));
    value.map(parse).transpose()
}

fn parse_schedule(_: Field, value: Option<&str>) -> Result<Option<RefinementSchedule>, Invalid> {
    value.map(str::parse).transpose()
}

/// The limits of a setting that is a number of tokens.
fn token_range(field: Field) -> RangeInclusive<u64> {
    match field {
        Field::CoreTokenBudget => LEAST_CORE_TOKEN_BUDGET..=MOST_TOKENS,
        Field::AnswerTokens => ANSWER_TOKENS,
        _ => 1..=MOST_TOKENS,
    }
}

/// The limits of a setting that is a number of tokens, in words: `1,000 to 1,000,000,000`.
pub fn token_limits(field: Field) -> String {
    let (least, most) = token_range(field).into_inner();
    format!("{} to {}", thousands(least), thousands(most))
}

fn parse_tokens<T: TryFrom<u64>>(field: Field, raw: Option<&str>) -> Result<Option<T>, Invalid> {
    let Some(raw) = raw else { return Ok(None) };
    let tokens = raw.trim().parse::<u64>().ok();
    let tokens = tokens.filter(|tokens| token_range(field).contains(tokens));
    let tokens = tokens.and_then(|tokens| T::try_from(tokens).ok());
    tokens.map(Some).ok_or_else(|| {
        let limits = token_limits(field);
        let problem = format!("must be a whole number of tokens from {limits}");
        Invalid::new(field.as_str(), problem)
    })
}

/// The placeholders that Memoir fills in a prompt that an agent sets: its system prompt, its core memories as a list, its
/// journal of the last week as a list, and the conversation to absorb.
fn placeholders_of(field: Field) -> &'static [&'static str] {
    match field {
        Field::RefinementPrompt => &["system_prompt", "core_memories"],
        Field::MemoryReflectionPrompt => &["system_prompt", "core_memories", "journal"],
        Field::ReflectionPrompt => &["system_prompt", "core_memories", "conversation"],
        _ => &[],
    }
}

/// Where a placeholder of a prompt is, such as `%{name}`, and its name.
fn placeholders(prompt: &str) -> impl Iterator<Item = (std::ops::Range<usize>, &str)> {
    /// Longer ones are no names, but text that happens to have the signs.
    const LONGEST: usize = 100;
    prompt.match_indices("%{").filter_map(|(start, _)| {
        let inside = &prompt[start + 2..];
        let mut bytes = inside.bytes().take(LONGEST + 1);
        let end = bytes.position(|byte| byte == b'}')?;
        // A placeholder contains no other: this one was not closed.
        let name = Some(&inside[..end]).filter(|name| !name.contains("%{"))?;
        Some((start..start + 2 + end + 1, name.trim()))
    })
}

/// The placeholders of a prompt that nothing fills in that field, such as `%{name}`, each once. The model receives them
/// unchanged.
pub fn unfilled_placeholders(field: Field, prompt: &str) -> BTreeSet<&str> {
    let filled = placeholders_of(field);
    let unknown = placeholders(prompt).filter(|(_, name)| !filled.contains(name));
    unknown.map(|(range, _)| &prompt[range]).collect()
}

/// A prompt with the first occurrence of each of these placeholders filled: repeated filling could grow without a
/// bound. Filled text is not searched for placeholders; others stay.
pub fn fill_placeholders(prompt: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(prompt.len());
    let mut end = 0;
    let mut seen = BTreeSet::new();
    for (range, name) in placeholders(prompt) {
        let value = values.iter().find(|(known, _)| *known == name);
        let value = value.filter(|_| range.start >= end && seen.insert(name));
        if let Some((_, value)) = value {
            filled.push_str(&prompt[end..range.start]);
            filled.push_str(value.trim());
            end = range.end;
        }
    }
    filled.push_str(&prompt[end..]);
    filled
}

pub(crate) fn has_placeholder(prompt: &str, name: &str) -> bool {
    placeholders(prompt).any(|(_, found)| found == name)
}

fn parse_immutable_tags(field: Field, value: Option<&str>) -> Result<Option<Vec<String>>, Invalid> {
    let Some(raw) = value else { return Ok(None) };
    let field = field.as_str();
    // A list in JSON may hold a comma in a tag, which the short form cannot.
    let is_json = raw.trim_start().starts_with('[');
    let list: Vec<String> = if is_json {
        let wrong = |_| Invalid::new(field, "must be a list of tags, such as `voice, audio`");
        serde_json::from_str(raw).map_err(wrong)?
    } else {
        // A comma at the end leaves an empty text, which is no tag.
        let given = raw.split(',').filter(|tag| !tag.trim().is_empty());
        given.map(str::to_owned).collect()
    };
    let tags = Tags::parse(list.iter().map(String::as_str));
    let tags = tags.map_err(|error| Invalid { field, ..error })?;
    if tags.is_empty() && !is_json {
        let empty = "is empty; give tags such as `voice, audio`, or `[]` for none";
        return Err(Invalid::new(field, empty));
    }
    Ok(Some(tags.iter().map(str::to_owned).collect()))
}

fn parse_flag(field: Field, value: Option<&str>) -> Result<Option<bool>, Invalid> {
    value
        .map(|raw| match raw.trim() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Invalid::new(field.as_str(), "must be `true` or `false`")),
        })
        .transpose()
}

fn parse_paused(field: Field, value: Option<&str>) -> Result<bool, Invalid> {
    Ok(parse_flag(field, value)?.unwrap_or(false))
}

fn parse_choice<T: serde::de::DeserializeOwned>(
    field: Field,
    value: Option<&str>,
    choices: &str,
) -> Result<Option<T>, Invalid> {
    value
        .map(|raw| {
            // The type's own serialised names, so that there is only one list of them.
            serde_json::from_value(serde_json::Value::String(raw.trim().to_owned()))
                .map_err(|_| Invalid::new(field.as_str(), format!("must be {choices}")))
        })
        .transpose()
}
