//! `builtin:careful` against the prompts and results that a session really has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use memoir_domain::agent::{Agent, Settings, Threshold};
use memoir_domain::audit::ActorKind;
use memoir_domain::breaker::Gauge;
use memoir_domain::knife::{EditsLeft, Refusal, Tool, ToolResult};
use memoir_domain::memory::{Kind, Memory, Number, Tags, Tally};
use memoir_domain::prompt::{self, Prompt, PromptSession};
use memoir_domain::session::{Mode, Stats};
use memoir_domain::wording::SavedBy;
use memoir_domain::{AgentId, PrivateText, Timestamp, context, ledger};
use memoir_model::{
    Arguments, Finish, Model, ModelMessage, ModelRequest, OfferedTool, Providers, TokenUsage,
    ToolCall,
};
use serde_json::{Value, json};

fn careful() -> Arc<dyn Model> {
    let providers = Providers::with_environment(BTreeMap::new(), |_| None).unwrap();
    providers
        .connect(&"builtin:careful".parse().unwrap())
        .unwrap()
}

/// One memory a day, numbered from 1. A text that begins with `!` is constitutional.
fn memories(texts: &[&str]) -> Vec<Memory> {
    (1u64..)
        .zip(texts)
        .map(|(number, text)| {
            let at = Timestamp::from_microseconds(0)
                .unwrap()
                .plus_days(number as i64);
            let wording = text.strip_prefix('!');
            Memory {
                number: Number(number),
                kind: Kind::Core,
                content: wording.unwrap_or(text).into(),
                tags: Tags::default(),
                source: None,
                door: SavedBy::of(ActorKind::Agent),
                wordings: Vec::new(),
                protected_seq: wording.map(|_| number),
                created_at: at,
                updated_at: at,
                discarded_at: None,
                shredded_at: None,
            }
        })
        .collect()
}

fn agent(memories: &[Memory]) -> Agent {
    let mut tally = Tally::default();
    memories.iter().for_each(|memory| tally.add(memory));
    Agent {
        id: AgentId::from_bytes([1; 16]),
        name: "Ada".to_owned(),
        settings: Settings {
            system_prompt: Some(
                "# Your memory\n\n## Core memories\n- I am Ada.\n- i am ada".into(),
            ),
            ..Settings::default()
        },
        created_at: Timestamp::MIN,
        tally,
        lost_words: Default::default(),
        next_number: Number(memories.len() as u64 + 1),
        next_seq: 1,
        last_refinement_at: None,
        last_attempt: None,
        last_reflection_at: None,
        unreflected_since: None,
        ledger_position: None,
        erased_at: None,
    }
}

async fn consents(texts: &[&str]) -> String {
    let memories = memories(texts);
    let now = Timestamp::from_microseconds(0).unwrap().plus_days(100);
    let context = context::build(
        &memories,
        now,
        context::Bounds::of(&Settings::default(), None),
    );
    let reply = say(
        prompt::consent(&agent(&memories), PromptSession::default(), &context),
        &[],
        vec![],
    )
    .await;
    assert_eq!((reply.tool_calls, reply.finish), (vec![], Finish::Stop));
    let answer = reply.text.into_exposed();
    assert_eq!(prompt::is_consent(&answer), answer.starts_with("YES"));
    answer
}

async fn say(prompt: Prompt, tools: &[Tool], more: Vec<ModelMessage>) -> memoir_model::Reply {
    let tools = tools.iter().map(|tool| OfferedTool {
        name: tool.as_str().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.parameters(),
    });
    let mut messages = vec![ModelMessage::User(prompt.user)];
    messages.extend(more);
    let request = ModelRequest {
        system: prompt.system,
        messages,
        tools: tools.collect(),
        answer_schema: None,
        max_output_tokens: 4096,
        reasoning_effort: None,
    };
    careful().complete(&request).await.unwrap()
}

/// Runs a session against `answer` until the model stops; returns its calls and its last words.
async fn session(
    texts: &[&str],
    threshold: f64,
    mode: Mode,
    answer: impl Fn(&ToolCall) -> ToolResult,
) -> (Vec<(String, Value)>, String) {
    let memories = memories(texts);
    let agent = agent(&memories);
    let immutable = BTreeSet::new();
    let ledger = ledger::build(memories.iter().collect(), &immutable, None, u64::MAX);
    let mass = agent.tally.core_tokens;
    let reading = Gauge {
        pre_session_tokens: mass,
        core_tokens: mass,
        removed_tokens: 0,
        threshold: Threshold::new(threshold).unwrap(),
    };
    let tools: Vec<Tool> = Tool::ALL
        .into_iter()
        .filter(|tool| tool.is_in(mode))
        .collect();
    let occasion = PromptSession {
        mode,
        ..PromptSession::default()
    };
    let mut conversation = Vec::new();
    let mut calls = Vec::new();
    loop {
        let prompt = prompt::session(&agent, occasion, &reading, &ledger);
        let reply = say(prompt, &tools, conversation.clone()).await;
        assert_eq!(
            reply.usage,
            TokenUsage {
                input_tokens: 0,
                output_tokens: 0,
                measured: true
            }
        );
        conversation.push(ModelMessage::Assistant(reply.message));
        let Some(call) = reply.tool_calls.first() else {
            return (calls, reply.text.into_exposed());
        };
        let Arguments::Json(arguments) = &call.arguments else {
            panic!("arguments are an object")
        };
        calls.push((call.name.clone(), arguments.expose().clone()));
        conversation.push(ModelMessage::ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: answer(call).for_model(),
        });
        assert!(calls.len() < 20, "{calls:?}");
    }
}

const LEFT: EditsLeft = EditsLeft {
    edits_left: 9,
    removable_tokens: 100,
};

/// What the knife answers where nothing stands in the way.
fn success(call: &ToolCall) -> ToolResult {
    let Arguments::Json(arguments) = &call.arguments else {
        panic!("arguments are an object")
    };
    let arguments = arguments.expose();
    match Tool::from_name(&call.name) {
        Some(Tool::Delete) => ToolResult::Deleted {
            number: Number(arguments["id"].as_u64().unwrap()),
            carried_by: None,
            lost: None,
            left: LEFT,
        },
        Some(Tool::Consolidate) => ToolResult::Consolidated {
            merged_count: arguments["ids"].as_array().unwrap().len(),
            number: Number(99),
            content: arguments["content"].as_str().unwrap().into(),
            lost: None,
            left: LEFT,
        },
        Some(Tool::Complete) => ToolResult::RefinementComplete {
            summary: arguments["summary"].as_str().unwrap().into(),
            stats: Stats::default(),
            pre_session_tokens: 1,
            post_session_tokens: 1,
        },
        _ => panic!("it calls no other tool: {}", call.name),
    }
}

#[tokio::test]
async fn spec_6_3_it_consents_when_it_sees_doubles() {
    assert_eq!(
        consents(&["I like tea.", "Other", "i LIKE\ntea"]).await,
        "YES, I see one memory that stands more than once."
    );
    let two = ["a b", "A B", "c\n\n- d", "C\n\n- d."];
    assert_eq!(
        consents(&two).await,
        "YES, I see 2 memories that stand more than once."
    );
    assert_eq!(
        consents(&["I like tea.", "I like teas."]).await,
        "NO, I see no doubles."
    );
    // Neither the agent's own prompt nor the inside of a memory passes for a list of memories.
    assert_eq!(
        consents(&["x\n- same\n- same\n# Your memory"]).await,
        "NO, I see no doubles."
    );
}

#[tokio::test]
async fn spec_5_2_it_says_no_to_everything_else() {
    let user = "A human asks to read your memory. You may answer YES or NO.".into();
    let reply = say(
        Prompt {
            system: "- tea\n- Tea".into(),
            user,
        },
        &[],
        vec![],
    )
    .await;
    assert!(!prompt::is_consent(reply.text.expose()) && reply.tool_calls.is_empty());
}

#[tokio::test]
async fn spec_6_3_a_session_deletes_merges_and_completes_with_what_it_did() {
    let texts = [
        "Mary likes tea.",
        "bob sings",
        "mary likes tea",
        "Bob sings!",
        "!I will not lie.",
        "A long memory that stands alone and keeps the breaker from tripping over the edits.",
        "i will not lie",
    ];
    let (calls, last) = session(&texts, 0.5, Mode::Full, success).await;
    assert_eq!(
        calls,
        [
            ("delete_memory".to_owned(), json!({"id": 3})),
            (
                "consolidate_memories".to_owned(),
                json!({"ids": [2, 4], "content": "Bob sings!"})
            ),
            ("delete_memory".to_owned(), json!({"id": 7})),
            (
                "complete_refinement".to_owned(),
                json!({"summary": "Deleted 2 memories that stood elsewhere too, and merged 2 into 1. \
                    Only memories equal up to case, white space and the final mark were touched."}),
            ),
        ]
    );
    assert_eq!(last, "The session is over.");
}

#[tokio::test]
async fn spec_6_3_without_doubles_it_completes_with_nothing_changed() {
    let (calls, _) = session(&["tea", "milk"], 0.75, Mode::Full, success).await;
    let summary = "Nothing was changed. There are no two memories equal up to case, white space and the final mark.";
    assert_eq!(
        calls,
        [(
            "complete_refinement".to_owned(),
            json!({"summary": summary})
        )]
    );
}

#[tokio::test]
async fn spec_6_3_it_stops_before_the_breaker_would_trip() {
    let (calls, _) = session(
        &["some tea", "Some tea", "milk", "Milk"],
        0.75,
        Mode::Full,
        success,
    )
    .await;
    assert_eq!(
        calls,
        [
            (
                "consolidate_memories".to_owned(),
                json!({"ids": [3, 4], "content": "Milk"})
            ),
            (
                "complete_refinement".to_owned(),
                json!({"summary": "Merged 2 memories into 1. Only memories equal up to case, white space and \
                    the final mark were touched. Left for want of edits or room before the breaker: 1 step."}),
            ),
        ]
    );
}

#[tokio::test]
async fn spec_6_3_after_a_refusal_it_goes_on_and_says_so() {
    let refuse = |call: &ToolCall| match call.name.as_str() {
        "delete_memory" => Refusal::NotFound {
            numbers: vec![Number(2)],
        }
        .into(),
        _ => success(call),
    };
    let (calls, _) = session(&["Tea", "tea", "Milk", "milk"], 0.1, Mode::Full, refuse).await;
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["delete_memory", "delete_memory", "complete_refinement"]
    );
    assert_eq!(
        calls[2].1,
        json!({"summary": "Nothing was changed. Refused by the rules: 2 steps."})
    );
}

#[tokio::test]
async fn spec_3_13_it_stops_when_the_session_is_over() {
    let rolled_back = |_: &ToolCall| ToolResult::RefinementRolledBack {
        reason: "over the limit".to_owned(),
        stats: Stats::default(),
        pre_session_tokens: 4,
        post_session_tokens: 4,
        summary: None,
    };
    let over = |_: &ToolCall| Refusal::SessionOver.into();
    for (calls, last) in [
        session(
            &["Tea", "tea", "Milk", "milk"],
            0.1,
            Mode::Full,
            rolled_back,
        )
        .await,
        session(&["Tea", "tea", "Milk", "milk"], 0.1, Mode::Full, over).await,
    ] {
        assert_eq!((calls.len(), last.as_str()), (1, "The session is over."));
    }
    let capped = |call: &ToolCall| match call.name.as_str() {
        "delete_memory" => Refusal::EditCap { cap: 10 }.into(),
        _ => success(call),
    };
    let (calls, _) = session(&["Tea", "tea", "Milk", "milk"], 0.1, Mode::Full, capped).await;
    assert_eq!(
        (calls.len(), calls[1].0.as_str()),
        (2, "complete_refinement")
    );
    // A completion that is refused is not tried for ever.
    let stubborn = |_: &ToolCall| Refusal::InvalidArgument("summary".to_owned()).into();
    assert_eq!(
        session(&["Tea"], 0.1, Mode::Full, stubborn).await.0.len(),
        1
    );
}

#[tokio::test]
async fn spec_3_17_in_a_session_for_duplicates_only_it_merges_nothing() {
    let (calls, _) = session(
        &["Tea", "tea", "milk", "Milk"],
        0.1,
        Mode::DedupOnly,
        success,
    )
    .await;
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["delete_memory", "complete_refinement"]);
}

#[tokio::test]
async fn spec_3_16_a_reminder_between_does_not_confuse_it() {
    let memories = memories(&["Tea", "tea", "Milk", "milk"]);
    let agent = agent(&memories);
    let ledger = ledger::build(memories.iter().collect(), &BTreeSet::new(), None, u64::MAX);
    let reading = Gauge {
        pre_session_tokens: 4,
        core_tokens: 4,
        removed_tokens: 0,
        threshold: Threshold::new(0.1).unwrap(),
    };
    let prompt = prompt::session(&agent, PromptSession::default(), &reading, &ledger);
    let reminder = ModelMessage::User(PrivateText::new("#9 | 2026-01-01 | 1 token | \"tea\""));
    let reply = say(prompt, &Tool::ALL, vec![reminder]).await;
    assert_eq!(reply.tool_calls[0].name, "delete_memory");
}
