//! The schemas of the domain's serialized types, for the description of the interface. The domain does not know them;
//! the tests of the service compare both.

#![expect(
    dead_code,
    reason = "these types describe what others serialize to, and are never made"
)]

use memoir_domain::{
    Timestamp,
    access::{AccessKindName, AccessScopeName},
    audit::Action as RecordedAction,
    session::Trigger as SessionTrigger,
    tools::Tool,
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type, schema::SchemaType},
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
    NotReplacedReason: memoir_domain::replace::NotReplaced::ALL.map(|one| one.as_str()), "Why a memory was not replaced.";
    AccessKind: AccessKindName::ALL.map(AccessKindName::as_str), "What is requested of an agent.";
    AccessScope: AccessScopeName::ALL.map(AccessScopeName::as_str), "What may be seen: what one session changed, archived texts included; the active core memories; or everything.";
    AccessState: memoir_domain::access::AccessState::ALL.map(|one| one.as_str()),
        "The state of an access request. `done`: the token was created, or the memory shredded.";
    AskedKind: [AccessKindName::Read, AccessKindName::Token, AccessKindName::Embeddings].map(AccessKindName::as_str),
        "What is requested of an agent; a shredding is requested at the memory.";
    Action: RecordedAction::ALL.map(RecordedAction::as_str), "What was done.";
    ActorKind: memoir_domain::audit::ActorKind::ALL.map(|one| one.as_str()), "The role of an actor.";
    LossGuard: memoir_domain::agent::LossGuard::ALL.map(|one| one.as_str()), "What may leave the prompt by an edit of a session: `archive`, it goes to the archive; `refuse`, nothing but duplicates; `off`, the core size alone decides, and nothing is archived.";
    Driver: memoir_domain::session::Driver::ALL.map(|one| one.as_str()), "What calls the model in a session: Memoir (`model`), or the agent's own runtime (`agent`).";
    DuplicateMatch: memoir_domain::agent::DuplicateMatch::ALL.map(|one| one.as_str()), "When two core memories are the same text.";
    DueReason: [SessionTrigger::Weekly, SessionTrigger::Budget].map(SessionTrigger::as_str), "Why a session is due.";
    EndReason: memoir_domain::session::EndReason::ALL.map(|one| one.as_str()), "Why a session ended as it did.";
    FailureClass: memoir_domain::session::FailureClass::ALL.map(|one| one.as_str()),
        "Why a model gave no usable response, so that its session failed: `key_refused`, the key is missing or refused; `quota`, no credit is left, or the rate is limited.";
    Health: memoir_domain::session::Health::ALL.map(|one| one.as_str()),
        "How an agent is, the worst first: `failed`, its last session failed; `over_budget`, its core size is over its budget; `rolled_back`, its last session was rolled back; `in_order`, none of these.";
    Included: ["discarded"], "What a list has beside active memories.";
    Kind: memoir_domain::memory::Kind::ALL.map(|one| one.as_str()), "`core` memories are in the prompt, `journal` entries for a week, `archival` memories never; recall finds all of them.";
    FoundAs: memoir_domain::recall::FoundAs::ALL.map(|one| one.as_str()),
        "How a queried term is in a memory: a `word`, a `phrase` or name, a `part` of a longer word, a word that differs by one `slip`, as it stands (`literal`), or the whole question by its `meaning`, where embeddings are configured: the weight is then the cosine between the two.";
    Meaning: memoir_domain::recall::SemanticStatus::ALL.map(|one| one.as_str()),
        "Whether memories were searched by their meaning too: `merged`, by both; `partial`, as before, but not all memories have a vector yet, and the others are found by words alone; `unavailable`, by words alone, since the model of embeddings did not respond in time or correctly; `not_allowed`, by words alone, since the agent has not consented to its text being sent there.";
    Origin: memoir_domain::origin::Origin::ALL.map(|one| one.as_str()),
        "Where a text came from, the strongest first; agent and administrator are equally strong.";
    LeftAlone: memoir_domain::schedule::SkipReason::ALL.map(|one| one.as_str()),
        "Why the schedule never asks an agent: `schedule_off`, its own schedule or the installation's is off; `nothing_to_refine`, a session could do nothing.";
    Mode: memoir_domain::session::Mode::ALL.map(|one| one.as_str()), "The kind of a session: `dedup_only` has no consolidating and no rewriting.";
    OwnField: memoir_domain::agent::Field::ALL.into_iter().filter(|one| one.is_own()).map(|one| one.as_str()), "What an agent sets about itself; its loss guard to a stricter one only.";
    ReasoningEffort: memoir_domain::agent::ReasoningEffort::ALL.map(|one| one.as_str()),
        "How much a model is to think before it answers.";
    RefusalCode: memoir_domain::tools::RefusalCode::ALL.map(|one| one.as_str()), "Why a tool call was refused.";
    State: memoir_domain::session::State::ALL.map(|one| one.as_str()), "Where a session stands, or how it ended.";
    ToolName: Tool::ALL.map(Tool::as_str), "A tool of a session.";
    Trigger: memoir_domain::session::Trigger::ALL.map(|one| one.as_str()), "Why a session was begun.";
}

/// The counts of a session's changes, in memories.
#[derive(ToSchema)]
pub struct Stats {
    consolidated: u32,
    updated: u32,
    deleted: u32,
    protected: u32,
}

/// The usage of a session's model calls.
#[derive(ToSchema)]
pub struct Usage {
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
}

/// A memory that was not replaced.
#[derive(ToSchema)]
pub struct NotReplaced {
    /// The number that was named.
    number: u64,
    /// Why it was not replaced.
    reason: NotReplacedReason,
}

/// The note beside a found memory that was replaced: "until DATE, now #9" (SPEC 2.8).
#[derive(ToSchema)]
pub struct Replaced {
    /// The origin date of the memory that replaced it.
    until: Option<Timestamp>,
    /// The number of the core memory with the current state.
    now: Option<u64>,
}

/// A part of a query by which a memory was found.
#[derive(ToSchema)]
pub struct MatchedTerm {
    /// As the question has it, folded.
    term: String,
    /// How it is in the memory.
    found: FoundAs,
    /// Its share of the score.
    weight: f32,
}

/// The actor.
#[derive(ToSchema)]
pub struct Actor {
    #[schema(inline)]
    kind: ActorKind,
    /// A name to show.
    name: String,
}

/// The settings of an agent as set; null where the default is effective. A prompt that the agent itself has set is left
/// out for an administrator, except under an access grant of the scope `all`; and all prompts are left out of lists.
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
    near_duplicates: Option<bool>,
    #[schema(required)]
    reasoning_effort: Option<ReasoningEffort>,
    #[schema(required)]
    answer_tokens: Option<u32>,
    /// The prompt as it is set, or the default's whole text. So are the three that follow.
    effective_system_prompt: Option<String>,
    effective_reflection_prompt: Option<String>,
    effective_memory_reflection_prompt: Option<String>,
    effective_refinement_prompt: Option<String>,
    /// Whether the schedule skips it.
    paused: bool,
    /// Whether it is in service.
    active: bool,
}

/// The places of the originals, by the log and the stored memories. The total is the sum of the other four.
#[derive(ToSchema)]
pub struct Originals {
    /// All originals.
    total: u64,
    /// Active core memories that are no summaries.
    in_prompt: u64,
    /// Active archival memories.
    archived: u64,
    /// Those that sessions under the loss guard `off` discarded or rewrote.
    removed_off: u64,
    /// Those that are missing, or not word for word as recorded.
    lost: u64,
}

/// A text or a number.
pub struct TextOrNumber;

impl PartialSchema for TextOrNumber {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([
                Type::String,
                Type::Number,
                Type::Null,
            ]))
            .into()
    }
}

impl ToSchema for TextOrNumber {}

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

#[cfg(test)]
mod tests {
    use memoir_domain::{
        Timestamp,
        audit::Actor,
        authoring::RecordedSetting,
        memory::Number,
        recall::{FoundAs, MatchedTerm, ReplacedMark},
        replace::{NotReplaced, Unreplaced},
    };
    use serde::Serialize;

    fn names_of(value: impl Serialize) -> Vec<String> {
        let value = serde_json::to_value(value).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn domain_types_that_are_serialized_as_they_are_keep_the_names_of_their_fields() {
        let unreplaced = Unreplaced {
            number: Number(2),
            reason: NotReplaced::NotCore,
        };
        assert_eq!(names_of(unreplaced), ["number", "reason"]);
        let replaced = ReplacedMark {
            until: Timestamp::MIN,
            now: Number(9),
        };
        assert_eq!(names_of(replaced), ["now", "until"]);
        let term = MatchedTerm {
            term: "tea".into(),
            found: FoundAs::Word,
            weight: 1.0,
        };
        assert_eq!(names_of(term), ["found", "term", "weight"]);
        // Not with the value before.
        let setting = RecordedSetting {
            seq: 1,
            at: Timestamp::MIN,
            actor: Actor::system(),
            value: serde_json::json!(2).into(),
            before: serde_json::json!(1).into(),
        };
        assert_eq!(names_of(setting), ["actor", "at", "seq", "value"]);
    }
}
