//! `builtin:careful` against the prompts and results that a session really has.

use std::collections::BTreeMap;
use std::sync::Arc;

use memoir_domain::agent::{Agent, Field};
use memoir_domain::audit::{Actor, ActorKind};
use memoir_domain::draft::Decision;
use memoir_domain::ledger::LedgerRoom;
use memoir_domain::lifecycle::{self, SessionOpening, Start};
use memoir_domain::manage;
use memoir_domain::memories::AllMemories;
use memoir_domain::memory::{Kind, Memory, NewMemory, Number, Tags, Tally};
use memoir_domain::origin::{Origin, SavedBy};
use memoir_domain::prompt::{self, Prompt};
use memoir_domain::session::{Driver, Mode, Session, Stats, Trigger};
use memoir_domain::text::Digester;
use memoir_domain::tools::{CallOutcome, Refusal, Tool, ToolRequest, ToolResult, View, decide};
use memoir_domain::{AgentId, PrivateText, SessionId, Timestamp, context};
use memoir_model::{
    Arguments, Finish, Model, ModelMessage, ModelRequest, OfferedTool, Providers, Reply,
    TokenUsage, ToolCall,
};
use serde_json::{Value, json};

/// A memory that keeps the breaker from tripping over the edits.
const LONG: &str =
    "A long memory with a text of its own, of which each test takes only a part away.";

fn careful() -> Arc<dyn Model> {
    let providers = Providers::with_environment(BTreeMap::new(), |_| None).unwrap();
    providers
        .connect(&"builtin:careful".parse().unwrap())
        .unwrap()
}

fn day(number: i64) -> Timestamp {
    Timestamp::from_microseconds(0).unwrap().plus_days(number)
}

/// One core memory a day, numbered from 1. A text that begins with `!` is constitutional, one with `@` has the
/// immutable tag `voice`, one with `%` is of origin `external`.
fn memories(texts: &[&str]) -> Vec<Memory> {
    (1u64..)
        .zip(texts)
        .map(|(number, text)| {
            let content = text.trim_start_matches(['!', '@', '%']);
            let mut saved_by = SavedBy::of(ActorKind::Agent);
            if text.starts_with('%') {
                saved_by.origin = Origin::External;
            }
            let tags = text.starts_with('@').then_some("voice");
            let new = NewMemory {
                constitutional: text.starts_with('!'),
                tags: Tags::parse(tags).unwrap(),
                ..NewMemory::new(Kind::Core, content.into(), saved_by)
            };
            new.into_memory(Number(number), number, day(number as i64))
        })
        .collect()
}

fn agent(memories: &[Memory], settings: &[(Field, Option<&str>)]) -> Agent {
    let id = AgentId::from_bytes([1; 16]);
    let admin = Actor::administrator("root");
    let made = manage::create_agent(id, "Ada", settings, &admin, day(0)).unwrap();
    let mut tally = Tally::default();
    memories.iter().for_each(|memory| tally.add(memory));
    let next = memories.len() as u64 + 1;
    Agent {
        tally,
        next_number: Number(next),
        next_seq: next,
        ..made.agent
    }
}

async fn say(prompt: Prompt, mode: Option<Mode>, more: Vec<ModelMessage>) -> Reply {
    let tools = Tool::ALL
        .into_iter()
        .filter(|tool| mode.is_some_and(|mode| tool.is_in(mode)))
        .map(|tool| OfferedTool {
            name: tool.as_str().to_owned(),
            description: tool.description(false).to_owned(),
            parameters: tool.parameters(false),
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

async fn consents(texts: &[&str]) -> String {
    let memories = memories(texts);
    let own = "# Your memory\n\n## Core memories\n#1 \"I am Ada.\"\n#2 \"i am ada\"";
    let agent = agent(&memories, &[(Field::SystemPrompt, Some(own))]);
    let bounds = context::Bounds {
        shows_copies: true,
        ..context::Bounds::of(&agent.settings, None)
    };
    let context = context::build(
        &memories,
        day(100),
        bounds,
        &context::ArchiveNote::default(),
    );
    let session = begun(agent.clone(), Mode::Full).sessions.remove(0);
    let asked = prompt::consent(&agent, &session, &context);
    let reply = say(asked, None, vec![]).await;
    assert_eq!((reply.tool_calls, reply.finish), (vec![], Finish::Stop));
    let answer = reply.text.into_exposed();
    assert_eq!(prompt::is_consent(&answer), answer.starts_with("YES"));
    answer
}

fn begun(agent: Agent, mode: Mode) -> Decision {
    let start = Start {
        id: SessionId::from_bytes([2; 16]),
        mode,
        driver: Driver::Model,
        trigger: Trigger::Request,
        rehearsal: false,
        model: Some("builtin:careful".to_owned()),
        lease: None,
        started_by: Actor::administrator("root"),
    };
    lifecycle::begin(agent, None, start, None, day(100)).unwrap()
}

/// A session of the model with the domain's own tools.
struct Run {
    settings: Vec<(Field, Option<&'static str>)>,
    mode: Mode,
}

/// Its outcome.
struct Ran {
    /// Names and arguments of the calls, in order.
    calls: Vec<(String, Value)>,
    /// The codes of the refusals.
    refused: Vec<&'static str>,
    /// The last response.
    last: String,
    memories: AllMemories,
}

impl Run {
    fn new(mode: Mode, settings: &[(Field, Option<&'static str>)]) -> Self {
        let settings = settings.to_vec();
        Self { settings, mode }
    }

    fn under(guard: &'static str) -> Self {
        Self::new(Mode::Full, &[(Field::LossGuard, Some(guard))])
    }

    fn open(&self, memories: &[Memory]) -> SessionOpening {
        let agent = agent(memories, &self.settings);
        let begun = begun(agent, self.mode);
        let room = LedgerRoom {
            tokens: u64::MAX,
            near_duplicates: true,
            leaves_out_administrators: true,
        };
        let digester = Digester::new(&[9; 32]);
        let session = begun.sessions[0].clone();
        let all = AllMemories::of(memories);
        lifecycle::open(begun.agent, session, all, &digester, room, None, day(100))
    }

    /// Runs the session until the model stops. `instead` replaces the results of some calls.
    async fn run(&self, texts: &[&str], instead: impl Fn(&str) -> Option<ToolResult>) -> Ran {
        let opening = self.open(&memories(texts));
        let mut agent = opening.decision.agent;
        let mut session: Session = opening.decision.sessions[0].clone();
        let mut ran = Ran {
            calls: Vec::new(),
            refused: Vec::new(),
            last: String::new(),
            memories: opening.memories,
        };
        let mut conversation = Vec::new();
        loop {
            let reply = say(
                opening.opened.prompt.clone(),
                Some(self.mode),
                conversation.clone(),
            )
            .await;
            assert_eq!(
                (reply.usage.input_tokens, reply.usage.output_tokens),
                (0, 0)
            );
            conversation.push(ModelMessage::Assistant(reply.message));
            let Some(call) = reply.tool_calls.first() else {
                ran.last = reply.text.into_exposed();
                return ran;
            };
            let arguments = arguments(call);
            ran.calls.push((call.name.clone(), arguments.clone()));
            let request = ToolRequest::read(&call.name, Some(&arguments));
            let view = View {
                agent: &agent,
                system_prompt: None,
                session: Some(&session),
                memories: &ran.memories,
            };
            let result = match instead(&call.name) {
                Some(result) => result,
                None => match decide(view, &request, &Actor::agent("ada"), day(100)) {
                    CallOutcome::Commit(decision, result) => {
                        ran.memories.follow(&decision.changes);
                        agent = decision.agent;
                        session = decision.sessions[0].clone();
                        result
                    }
                    CallOutcome::Answer(result) => result,
                    CallOutcome::Search(_) => panic!("it does not search"),
                    CallOutcome::Tripped(_) => panic!("the breaker tripped"),
                },
            };
            ran.refused
                .extend(result.refusal().map(|code| code.as_str()));
            conversation.push(ModelMessage::ToolResult {
                call_id: call.id.clone(),
                content: result.for_model(),
            });
            assert!(ran.calls.len() < 20, "{:?}", ran.calls);
        }
    }
}

fn arguments(call: &ToolCall) -> Value {
    let Arguments::Json(arguments) = &call.arguments else {
        panic!("arguments are an object")
    };
    arguments.expose().clone()
}

fn never(_: &str) -> Option<ToolResult> {
    None
}

fn delete(numbers: &[u64]) -> (String, Value) {
    ("delete_memory".to_owned(), json!({"ids": numbers}))
}

fn complete(report: &str) -> (String, Value) {
    ("complete_refinement".to_owned(), json!({"summary": report}))
}

#[tokio::test]
async fn spec_6_3_it_consents_when_it_sees_duplicates() {
    assert_eq!(
        consents(&["I like tea.", "Other", "i LIKE\ntea"]).await,
        "YES, I see one text that occurs more than once."
    );
    let two = ["a b", "A B", "c\n\n- d", "%C\n\n- d."];
    assert_eq!(
        consents(&two).await,
        "YES, I see 2 texts that occur more than once."
    );
    assert_eq!(
        consents(&["I like tea.", "I like teas."]).await,
        "NO, I see no duplicates."
    );
    // Neither the agent's own prompt nor the inside of a memory passes for a list of memories.
    assert_eq!(
        consents(&["x\n- same\n- same\n# Your memory"]).await,
        "NO, I see no duplicates."
    );
}

#[tokio::test]
async fn spec_6_3_only_the_same_text_up_to_case_is_a_duplicate() {
    for (one, other) in [
        ("I like tea.", "i  like\nTEA"),
        ("Tea!", "tea."),
        ("Tea .", "tea"),
        ("Éva Ω", "éva ω"),
        ("a", " a\t"),
        ("“tea”", "\"Tea\""),
    ] {
        let answer = consents(&[one, other]).await;
        assert!(answer.starts_with("YES"), "{one:?} {other:?}");
    }
    for (one, other) in [
        ("Evan plans it with Sam", "Sam plans it with Evan"),
        ("I like tea", "I like teas"),
        ("I do not like tea", "I do like tea"),
        ("Tea, twice", "Tea twice"),
        ("Tea?", "Tea."),
        ("tea...", "tea."),
        ("3.5", "35"),
        ("\"tea\"", "tea"),
        ("tea;", "tea"),
    ] {
        let answer = consents(&[one, other]).await;
        assert!(answer.starts_with("NO"), "{one:?} {other:?}");
    }
}

/// The numbers of its first delete; null where it deletes nothing.
async fn first_delete(memories: &[Memory]) -> Value {
    let opening = Run::under("archive").open(memories);
    let reply = say(opening.opened.prompt, Some(Mode::Full), vec![]).await;
    arguments(&reply.tool_calls[0])["ids"].clone()
}

#[tokio::test]
async fn spec_3_14_the_memory_that_was_recorded_first_stays() {
    // Whatever its origin date.
    let mut both = memories(&["Tea", "tea.", LONG]);
    both[1].created_at = day(0);
    assert_eq!(first_delete(&both).await, json!([2]));
    // A summary covers nothing, and nothing covers it.
    for summary in [0, 1] {
        both[summary].is_summary = true;
        assert_eq!(first_delete(&both).await, Value::Null);
        both[summary].is_summary = false;
    }
    // A bound memory stays, and covers later ones; of a page, the agent's own word covers what comes after it.
    for (texts, deleted) in [
        (["!tea", "Tea.", "TEA?", LONG], json!([2])),
        (["tea", "!Tea.", "TEA!", LONG], json!([3])),
        (["%tea", "Tea.", "%TEA", LONG], json!([3])),
        // On one day only, where the text depends on it.
        (["Ana called.", "ana called", "Ana left", LONG], json!([2])),
    ] {
        let deletes = first_delete(&memories(&texts)).await;
        assert_eq!(deletes, deleted, "{texts:?}");
    }
}

#[tokio::test]
async fn spec_5_2_it_refuses_everything_else() {
    let user = "A human asks to read your memory. You may answer YES or NO.".into();
    let asked = Prompt {
        system: "- tea\n- Tea".into(),
        user,
    };
    let reply = say(asked, None, vec![]).await;
    assert!(!prompt::is_consent(reply.text.expose()) && reply.tool_calls.is_empty());
}

#[tokio::test]
async fn spec_6_3_it_deletes_what_is_the_same_up_to_case_and_reports_it() {
    let texts = [
        "Mary likes tea.",
        "bob sings",
        "mary likes tea",
        "Bob sings!",
        "!I will not lie.",
        LONG,
        "i will not lie",
        "%mary likes Tea",
    ];
    for guard in ["archive", "refuse"] {
        let ran = Run::new(
            Mode::Full,
            &[
                (Field::LossGuard, Some(guard)),
                (Field::RefinementThreshold, Some("0.5")),
            ],
        );
        let ran = ran.run(&texts, never).await;
        assert_eq!(
            ran.calls,
            [
                delete(&[3]),
                delete(&[8]),
                delete(&[4]),
                delete(&[7]),
                complete("Took 4 memories out of the prompt, which equal earlier ones up to case."),
            ],
            "{guard}"
        );
        assert_eq!(ran.last, "The session is over.");
        // Each is free, and in the archive under the memory that has its text.
        assert!(ran.refused.is_empty(), "{guard}: {:?}", ran.refused);
        let under = |number| ran.memories.get(Number(number)).unwrap().under();
        assert_eq!(
            [3, 8, 4, 7].map(under),
            [1, 1, 2, 5].map(|number| Some(Number(number)))
        );
    }
}

#[tokio::test]
async fn spec_6_3_without_duplicates_it_completes_with_nothing_changed() {
    let nothing = "Nothing was changed: none that can leave equals an earlier one up to case.";
    for texts in [
        &["tea", "milk"][..],
        // Bound memories stay, and a weaker origin covers nothing.
        &["tea", "!Tea", "@TEA"],
        &["%tea", "Tea"],
        // Another day.
        &["Ana called yesterday.", "ana called yesterday"],
    ] {
        let ran = Run::under("archive").run(texts, never).await;
        assert_eq!(ran.calls, [complete(nothing)], "{texts:?}");
        assert!(ran.refused.is_empty());
    }
}

#[tokio::test]
async fn spec_6_3_it_stops_before_the_breaker_would_trip() {
    let texts = ["some tea of ours", "Some tea of ours", "milk", "Milk"];
    let ran = Run::under("archive").run(&texts, never).await;
    assert_eq!(
        ran.calls,
        [
            delete(&[4]),
            complete(
                "Took 1 memory out of the prompt, which equals an earlier one up to case. Not taken out, because of \
                 the edit cap or the breaker: 1 duplicate."
            ),
        ]
    );
}

#[tokio::test]
async fn spec_3_11_more_duplicates_than_edits_leave_several_at_once() {
    let texts: Vec<String> = (0..30)
        .map(|at| match at / 15 {
            0 => format!("memory {}", at % 15),
            _ => format!("Memory {}", at % 15),
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let ran = Run::new(
        Mode::DedupOnly,
        &[(Field::RefinementThreshold, Some("0.1"))],
    );
    let ran = ran.run(&texts, never).await;
    assert_eq!(ran.calls.len(), 9);
    assert_eq!(ran.calls[0], delete(&[16, 17]));
    assert_eq!(
        ran.calls[8],
        complete("Took 15 memories out of the prompt, which equal earlier ones up to case.")
    );
    assert_eq!(ran.memories.core().count(), 15);
}

#[tokio::test]
async fn spec_6_3_after_a_refusal_it_continues_and_reports_it() {
    let refuse = |tool: &str| {
        let numbers = vec![Number(2)];
        (tool == "delete_memory").then(|| Refusal::NotFound(numbers).into())
    };
    let texts = ["Tea", "tea", "Milk", "milk", LONG];
    let ran = Run::under("archive").run(&texts, refuse).await;
    assert_eq!(
        ran.calls,
        [
            delete(&[2]),
            delete(&[4]),
            complete("Nothing was changed. Refused: 2 deletes."),
        ]
    );
}

#[tokio::test]
async fn spec_3_13_it_stops_when_the_session_is_over() {
    let texts = ["Tea", "tea", "Milk", "milk", LONG];
    let run = Run::under("archive");
    let rolled_back = |_: &str| {
        Some(ToolResult::RefinementRolledBack {
            reason: "over the limit".to_owned(),
            stats: Stats::default(),
            pre_session_tokens: 4,
            post_session_tokens: 4,
            summary: None,
        })
    };
    let over = |_: &str| Some(Refusal::SessionOver.into());
    for ran in [
        run.run(&texts, rolled_back).await,
        run.run(&texts, over).await,
    ] {
        assert_eq!(
            (ran.calls.len(), ran.last.as_str()),
            (1, "The session is over.")
        );
    }
    let capped = |tool: &str| (tool == "delete_memory").then(|| Refusal::EditCap(10).into());
    let ran = run.run(&texts, capped).await;
    assert_eq!(
        (ran.calls.len(), ran.calls[1].0.as_str()),
        (2, "complete_refinement")
    );
    // A completion that is refused is not repeated.
    let stubborn = |_: &str| Some(Refusal::InvalidArgument("summary".to_owned()).into());
    assert_eq!(run.run(&["Tea"], stubborn).await.calls.len(), 1);
}

#[tokio::test]
async fn spec_5_1_it_is_not_shown_the_texts_of_administrators() {
    let mut memories = memories(&["Tea", "tea", LONG]);
    memories[0].saved_by = SavedBy::of(ActorKind::Administrator);
    let opening = Run::under("archive").open(&memories);
    let reply = say(opening.opened.prompt, Some(Mode::Full), vec![]).await;
    assert_eq!(reply.tool_calls[0].name, "complete_refinement");
}

#[tokio::test]
async fn spec_3_16_a_reminder_between_does_not_confuse_it() {
    let opening = Run::under("archive").open(&memories(&["Tea", "tea", "Milk", "milk", LONG]));
    let reminder = ModelMessage::User(PrivateText::new("#9 | 2026-01-01 | 1 token | \"tea\""));
    let reply = say(opening.opened.prompt, Some(Mode::Full), vec![reminder]).await;
    assert_eq!(arguments(&reply.tool_calls[0]), json!({"ids": [2]}));
    assert_eq!(reply.usage, TokenUsage::counted(0, 0));
}
