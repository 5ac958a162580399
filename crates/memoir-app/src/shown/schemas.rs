//! The forms of what the domain's types serialize to, for the description of the interface. The domain knows
//! nothing of it; the tests of the service hold both against each other.

#![expect(
    dead_code,
    reason = "these types describe what others serialize to, and are never made"
)]

use memoir_domain::{
    access::{AccessKindName, AccessScopeName},
    audit::Action as RecordedAction,
    knife::Tool,
    session::Trigger as SessionTrigger,
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// A text that is one of a few names.
pub fn names<'a>(names: impl IntoIterator<Item = &'a str>, about: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names))
        .description(Some(about))
        .into()
}

macro_rules! named {
    ($($name:ident: $names:expr, $about:literal;)*) => {$(
        #[doc = $about]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                names($names, $about)
            }
        }

        impl ToSchema for $name {}
    )*};
}

named! {
    AccessKind: AccessKindName::ALL.map(AccessKindName::as_str), "What an agent is asked for.";
    AccessScope: AccessScopeName::ALL.map(AccessScopeName::as_str), "What may be seen: what one session changed, the kept core memories, or everything.";
    AccessState: memoir_domain::access::AccessState::ALL.map(|one| one.as_str()),
        "Where a request for access stands. `done`: the token was made, or the memory shredded.";
    AskedKind: [AccessKindName::Read, AccessKindName::Token, AccessKindName::Embeddings].map(AccessKindName::as_str),
        "What an agent is asked for; a shredding is asked for where the memory is.";
    Action: RecordedAction::ALL.map(RecordedAction::as_str), "What was done.";
    ActorKind: memoir_domain::audit::ActorKind::ALL.map(|one| one.as_str()), "In what role somebody acts.";
    LossGuard: memoir_domain::agent::LossGuard::ALL.map(|one| one.as_str()), "What becomes of an edit that would let something go.";
    Driver: memoir_domain::session::Driver::ALL.map(|one| one.as_str()), "Who runs the loop of a session.";
    DuplicateMatch: memoir_domain::agent::DuplicateMatch::ALL.map(|one| one.as_str()), "When two core memories are the same text.";
    DueReason: [SessionTrigger::Weekly, SessionTrigger::Budget].map(SessionTrigger::as_str), "Why a session is due.";
    EndReason: memoir_domain::session::EndReason::ALL.map(|one| one.as_str()), "Why a session ended as it did.";
    Included: ["discarded"], "What a list has beside kept memories.";
    Kind: memoir_domain::memory::Kind::ALL.map(|one| one.as_str()), "`core` memories are always in the prompt; `journal` entries for a week.";
    FoundAs: memoir_domain::recall::FoundAs::ALL.map(|one| one.as_str()),
        "How something asked for is in a memory: a `word`, a `phrase` or name, a `part` of a longer word, a word that differs by one `slip`, as it stands (`literal`), or the whole question by its `meaning`, where embeddings are configured: the weight is then the cosine between the two.";
    Meaning: memoir_domain::recall::Meaning::ALL.map(|one| one.as_str()),
        "Whether memories were looked for by their meaning too: `merged`, by both; `partial`, as before, but not all memories have a vector yet, and the others are found by words alone; `unavailable`, by words alone, since the server of embeddings did not answer in time or as it should; `not_allowed`, by words alone, since the agent has not agreed that its words are sent there.";
    Origin: memoir_domain::wording::Origin::ALL.map(|one| one.as_str()),
        "Through which door a text came, the strongest first; agent and administrator are equally strong.";
    LeftAlone: memoir_domain::schedule::LeftAlone::ALL.map(|one| one.as_str()),
        "Why the schedule never asks an agent.";
    Mode: memoir_domain::session::Mode::ALL.map(|one| one.as_str()), "`dedup_only` has no consolidating and no rewriting.";
    OwnField: memoir_domain::agent::Field::ALL.into_iter().filter(|one| one.is_own()).map(|one| one.as_str()), "What an agent sets about itself; its loss guard to a stricter one only.";
    ReasoningEffort: memoir_domain::agent::ReasoningEffort::ALL.map(|one| one.as_str()),
        "How much a model is to think before it answers.";
    RefusalCode: memoir_domain::knife::RefusalCode::ALL.map(|one| one.as_str()), "Why a tool's call changed nothing.";
    State: memoir_domain::session::State::ALL.map(|one| one.as_str()), "Where a session stands, or how it ended.";
    ToolName: Tool::ALL.map(Tool::as_str), "A tool of a session.";
    Trigger: memoir_domain::session::Trigger::ALL.map(|one| one.as_str()), "Why a session was begun.";
}

/// What a session did. `consolidated` counts the memories that were merged.
#[derive(ToSchema)]
pub struct Stats {
    consolidated: u32,
    updated: u32,
    deleted: u32,
    protected: u32,
}

/// What a session's model calls used.
#[derive(ToSchema)]
pub struct Usage {
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
}

/// Who did it.
#[derive(ToSchema)]
pub struct Actor {
    #[schema(inline)]
    kind: ActorKind,
    /// A name to show.
    name: String,
}

/// The settings of an agent as set; null where the default is in force. A prompt that the agent itself has
/// set is left out for an administrator, but under an access to all that the agent has granted; and all prompts
/// are left out of lists.
#[derive(ToSchema)]
pub struct SettingsAsSet {
    #[schema(required)]
    model: Option<String>,
    system_prompt: Option<String>,
    reflection_prompt: Option<String>,
    memory_reflection_prompt: Option<String>,
    refinement_prompt: Option<String>,
    #[schema(required)]
    refinement_threshold: Option<f64>,
    #[schema(required)]
    core_token_budget: Option<u64>,
    #[schema(required)]
    refinement_trigger_tokens: Option<u64>,
    #[schema(required)]
    immutable_tags: Option<Vec<String>>,
    #[schema(required)]
    duplicate_match: Option<DuplicateMatch>,
    #[schema(required)]
    loss_guard: Option<LossGuard>,
    /// `weekly`, `off`, or a slot such as `Thu 03:30`.
    #[schema(required)]
    refinement_schedule: Option<String>,
    #[schema(required)]
    refinement_mode: Option<Mode>,
    #[schema(required)]
    context_journal_tokens: Option<u64>,
    #[schema(required)]
    context_core_tokens: Option<u64>,
    #[schema(required)]
    reasoning_effort: Option<ReasoningEffort>,
    #[schema(required)]
    answer_tokens: Option<u32>,
    /// The prompt as it is set, or the default's whole text. So are the three that follow.
    effective_system_prompt: Option<String>,
    effective_reflection_prompt: Option<String>,
    effective_memory_reflection_prompt: Option<String>,
    effective_refinement_prompt: Option<String>,
    /// Whether the schedule leaves it alone.
    paused: bool,
    /// Whether it is in service.
    active: bool,
}

/// How many wordings are still said.
#[derive(ToSchema)]
pub struct Carried {
    wordings: u64,
    carried: u64,
    let_go: u64,
}

/// An object whose fields depend on the case.
pub struct AnyObject;

impl PartialSchema for AnyObject {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("An object whose fields depend on the case."))
            .into()
    }
}

impl ToSchema for AnyObject {}
