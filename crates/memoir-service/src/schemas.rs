//! Further forms of the wire format, for the description of the interface, beside those of shown data
//! (`memoir_app::schemas`).

#![expect(
    dead_code,
    reason = "these types describe what others serialize to, and are never made"
)]

pub(crate) use memoir_app::schemas::*;
use memoir_domain::Timestamp;
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use crate::errors;

/// A path with an agent in it.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct AgentPath {
    /// Its name or identifier
    #[param(example = "wren")]
    agent: String,
}

/// A path with a memory of an agent in it.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct MemoryPath {
    /// Its name or identifier
    #[param(example = "wren")]
    agent: String,
    /// The memory's number
    #[param(minimum = 1, example = 17)]
    number: u64,
}

/// A stable code.
pub(crate) struct Code;

impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        let pages = errors::PAGES.iter().filter(|page| page.status >= 400);
        names(
            pages.map(|page| page.code),
            "A stable code; `/docs/errors/CODE` is the page about it.",
        )
    }
}

impl ToSchema for Code {}

/// A later change that conflicts with an undo.
#[derive(ToSchema)]
pub(crate) struct Obstacle {
    /// The record's place in the agent's log.
    seq: u64,
    recorded_at: Timestamp,
    action: Action,
    #[schema(required, format = Uuid)]
    session_id: Option<String>,
    /// The memories in question.
    memories: Vec<u64>,
}

/// A value that a setting had.
#[derive(ToSchema)]
pub(crate) struct Version {
    /// The place in the agent's log of the record that set it.
    seq: u64,
    at: Timestamp,
    actor: Actor,
    /// Null for the default.
    value: TextOrNumber,
}

/// The outcome of a rewind, in numbers.
#[derive(ToSchema)]
pub(crate) struct Rewound {
    /// The time returned to.
    to: Timestamp,
    /// The last effective record; 0 where there was none yet.
    to_seq: u64,
    /// The record of the rewind; null where nothing changed.
    #[schema(required)]
    seq: Option<u64>,
    /// Memories that changed in any way.
    changed: u64,
    /// Discarded memories that are active again.
    returning: u64,
    /// Active memories that were discarded.
    discarded: u64,
    /// Active memories that got another text.
    reworded: u64,
    /// Core memories that became archival, with the same text.
    archived: u64,
    /// Archival memories that became core, with the same text.
    promoted: u64,
    /// The core size before, in tokens.
    core_tokens_before: u64,
    /// The core size afterwards, in tokens.
    core_tokens_after: u64,
}

/// Agents' settings, with a name that is required or optional.
macro_rules! settings {
    ($($(#[$meta:meta])* $struct:ident, name: $name:ty;)*) => {$(
        $(#[$meta])*
        #[derive(ToSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $struct {
            /// Unique in the account regardless of case.
            #[schema(min_length = 1, max_length = 100, example = "wren")]
            name: $name,
            /// `provider:name`; unset: the installation's default.
            #[schema(max_length = 200, example = "builtin:careful")]
            model: Option<String>,
            /// Who the agent is.
            #[schema(min_length = 1, max_length = 100_000)]
            system_prompt: Option<String>,
            /// What to extract from conversations.
            #[schema(min_length = 1, max_length = 10_000)]
            reflection_prompt: Option<String>,
            /// What to promote to core.
            #[schema(min_length = 1, max_length = 10_000)]
            memory_reflection_prompt: Option<String>,
            /// The agent's own style of refining.
            #[schema(min_length = 1, max_length = 10_000)]
            refinement_prompt: Option<String>,
            /// The share of the core size that a session must leave; 0.75 where unset.
            #[schema(exclusive_minimum = 0, maximum = 1, example = 0.85)]
            refinement_threshold: Option<f64>,
            /// The core size to stay within, in tokens; 5,000 where unset.
            #[schema(minimum = 1_000, maximum = 1_000_000_000_u64, example = 5000)]
            core_token_budget: Option<u64>,
            /// The core size over which a session is due; the budget where unset.
            #[schema(minimum = 1, maximum = 1_000_000_000_u64)]
            refinement_trigger_tokens: Option<u64>,
            /// Tags that exclude a memory from all edits; `audio`, `somatic`, `voice` where unset.
            #[schema(max_items = 16)]
            immutable_tags: Option<Vec<String>>,
            duplicate_match: Option<DuplicateMatch>,
            loss_guard: Option<LossGuard>,
            /// When the schedule begins its sessions: `weekly` (the installation's slot), `off`, or a slot of its own;
            /// `weekly` where unset.
            #[schema(example = "Thu 03:30")]
            refinement_schedule: Option<String>,
            /// Which tools a scheduled session has; `full` where unset.
            refinement_mode: Option<Mode>,
            /// The most tokens that the journal takes of a context; 8,000 where unset.
            #[schema(minimum = 1, maximum = 1_000_000_000_u64, example = 8000)]
            context_journal_tokens: Option<u64>,
            /// The most tokens that core memories take of a context; all of them where unset.
            #[schema(minimum = 1, maximum = 1_000_000_000_u64)]
            context_core_tokens: Option<u64>,
            /// Whether a session's prompt lists near duplicates; true where unset.
            near_duplicates: Option<bool>,
            /// How much its model is to think; left to the provider where unset.
            reasoning_effort: Option<ReasoningEffort>,
            /// The most tokens of one response of its model; the installation's limit where unset.
            #[schema(minimum = 16, maximum = 1_000_000)]
            answer_tokens: Option<u32>,
            /// Whether the schedule skips it: no session, no reflection, no absorption.
            paused: Option<bool>,
            /// Whether it is in service.
            active: Option<bool>,
        }
    )*};
}

settings! {
    /// Settings; null returns one to its default.
    Settings, name: Option<String>;
    /// An agent to create: a name, and any settings.
    NewAgent, name: String;
}

/// One memory found.
#[derive(ToSchema)]
pub(crate) struct SearchHit {
    number: u64,
    kind: Kind,
    content: String,
    created_at: Timestamp,
    tokens: u64,
    constitutional: bool,
    tags: Vec<String>,
    /// Where that is weaker than `agent`.
    origin: Option<Origin>,
    is_summary: bool,
    /// The memory that took its place; null where there is none.
    #[schema(required)]
    under: Option<u64>,
}

/// Defines results of tools. One that `edits` also has what it archived, and the limits of the session afterwards.
macro_rules! tool_results {
    ($(
        $(#[$meta:meta])* $name:ident = $tag:literal $(, edits $archived:ident)? {
            $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[derive(ToSchema)]
            pub(crate) struct $name {
                #[schema(rename = "type", pattern = $tag)]
                kind: String,
                $($(#[$field_meta])* $field: $type,)*
                $(
                    /// The memories that it moved to the archive.
                    $archived: Vec<u64>,
                    edits_left: u64,
                    /// Tokens that the session can still take away before everything is undone or the floor is reached.
                    removable_tokens: u64,
                    core_tokens: u64,
                    budget: u64,
                )?
            }
        )*
    };
}

tool_results! {
    /// What `search_memories` found.
    SearchResults = "^search_results$" {
        /// Null where only dates were given.
        #[schema(required)]
        query: Option<String>,
        /// All that match, also where only the first are in `results`.
        count: u64,
        results: Vec<SearchHit>,
        /// What to do where not all are in `results`.
        note: Option<String>,
    }
    /// Several memories became one.
    Consolidated = "^consolidated$", edits archived {
        /// The members.
        merged_count: u64,
        /// The new memory, or the one that stays.
        number: u64,
        content: String,
        is_summary: bool,
    }
    /// A memory was rewritten.
    Updated = "^updated$", edits archived {
        /// The new memory where its text changed.
        number: u64,
        content: String,
        is_summary: bool,
    }
    /// Memories were moved to the archive.
    Deleted = "^deleted$", edits archived {
        /// The first one.
        number: u64,
        /// The memory that it is under; null where there is none.
        #[schema(required)]
        under: Option<u64>,
    }
    /// A memory is constitutional.
    Protected = "^protected$" {
        number: u64,
    }
    /// The session is completed.
    RefinementComplete = "^refinement_complete$" {
        summary: String,
        stats: Stats,
        /// Memories that it moved to the archive.
        archived: u64,
        /// Summaries that it wrote.
        summaries: u64,
        pre_session_tokens: u64,
        post_session_tokens: u64,
    }
    /// The breaker tripped, and the session was rolled back.
    RefinementRolledBack = "^refinement_rolled_back$" {
        reason: String,
        stats: Stats,
        pre_session_tokens: u64,
        post_session_tokens: u64,
        summary: Option<String>,
    }
    /// The call changed nothing.
    Refused = "^error$" {
        code: RefusalCode,
        /// What to do instead.
        error: String,
        /// What the new text has and no source has.
        added: Option<Vec<String>>,
        /// The memories that the age rule keeps in the prompt.
        members: Option<Vec<u64>>,
    }
}

/// A tool's result; `type` names it. The same over every interface.
#[derive(ToSchema)]
#[schema(discriminator(property_name = "type", mapping(
    ("search_results" = "#/components/schemas/SearchResults"),
    ("consolidated" = "#/components/schemas/Consolidated"),
    ("updated" = "#/components/schemas/Updated"),
    ("deleted" = "#/components/schemas/Deleted"),
    ("protected" = "#/components/schemas/Protected"),
    ("refinement_complete" = "#/components/schemas/RefinementComplete"),
    ("refinement_rolled_back" = "#/components/schemas/RefinementRolledBack"),
    ("error" = "#/components/schemas/Refused"),
)))]
#[serde(untagged)]
pub(crate) enum ToolResult {
    SearchResults(SearchResults),
    Consolidated(Consolidated),
    Updated(Updated),
    Deleted(Deleted),
    Protected(Protected),
    RefinementComplete(RefinementComplete),
    RefinementRolledBack(RefinementRolledBack),
    Refused(Refused),
}

/// A tool of the session.
#[derive(ToSchema)]
pub(crate) struct ToolDefinition {
    name: String,
    description: String,
    /// The JSON schema of its arguments.
    parameters: AnyObject,
}

/// The arguments of a tool; its `parameters` in the opened session list them.
#[derive(ToSchema)]
pub(crate) struct ToolArguments {
    /// A piece of text to find.
    query: Option<String>,
    /// The earliest origin date.
    since: Option<String>,
    /// The latest origin date.
    until: Option<String>,
    /// Numbers of memories.
    ids: Option<Vec<u64>>,
    /// The number of a memory.
    id: Option<u64>,
    /// The whole new text.
    content: Option<String>,
    /// The number of the memory that has the same content or corrects it.
    replaced_by: Option<u64>,
    /// The report: what was done and why.
    summary: Option<String>,
}
