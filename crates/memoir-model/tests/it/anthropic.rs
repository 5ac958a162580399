//! What Anthropic's API sends, and what it is sent.

use memoir_domain::{PrivateJson, PrivateText};
use memoir_model::{Arguments, Finish, ModelMessage, ProviderKind, Reply, TokenUsage, ToolCall};
use memoir_testkit::{ScriptedServer, ServerStep};
use serde_json::{Value, json};

use super::{KEY, ask, check_withheld, delete_tool, request, result, sent_with_schema, user};

async fn read(answer: Value) -> Reply {
    let server = ScriptedServer::start([ServerStep::Reply(answer)]);
    let request = request(vec![user("Begin.")], vec![delete_tool()]);
    ask(ProviderKind::Anthropic, &server, &request)
        .await
        .unwrap()
}

fn assistant(content: &Value) -> PrivateJson {
    PrivateJson::new(json!({"role": "assistant", "content": content}))
}

#[tokio::test]
async fn spec_6_3_a_whole_conversation_is_sent_with_results_joined_and_blocks_verbatim() {
    let blocks = json!([
        {"type": "thinking", "thinking": "Two duplicates.", "signature": "c2ln"},
        {"type": "text", "text": "I shall."},
        {"type": "tool_use", "id": "toolu_1", "name": "delete_memory", "input": {"id": 17}},
        {"type": "tool_use", "id": "toolu_2", "name": "delete_memory", "input": {"id": 18}},
    ]);
    let server = ScriptedServer::start([ServerStep::call("delete_memory", json!({"id": 19}))]);
    let request = request(
        vec![
            user("Begin."),
            ModelMessage::Assistant(assistant(&blocks)),
            result("toolu_1", "Deleted #17."),
            result("toolu_2", "Deleted #18."),
            user("Go on."),
        ],
        vec![delete_tool()],
    );
    let reply = ask(ProviderKind::Anthropic, &server, &request)
        .await
        .unwrap();
    let received = &server.received()[0];
    assert_eq!(
        (received.method.as_str(), received.path.as_str()),
        ("POST", "/v1/messages")
    );
    assert_eq!(received.header("x-api-key"), Some(KEY));
    assert_eq!(received.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(received.header("authorization"), None);
    let cached = json!({"type": "ephemeral"});
    assert_eq!(
        received.body,
        json!({
            "model": "small",
            "max_tokens": 500,
            "system": [{"type": "text", "text": "You are Ada.", "cache_control": cached}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Begin."}]},
                {"role": "assistant", "content": blocks},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Deleted #17."},
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "Deleted #18."},
                    {"type": "text", "text": "Go on.", "cache_control": cached},
                ]},
            ],
            "tools": [{
                "name": "delete_memory",
                "description": "Deletes one memory.",
                "input_schema": delete_tool().parameters,
            }],
            "tool_choice": {"type": "auto"},
        })
    );
    let block = json!({"type": "tool_use", "id": "toolu_1_0", "name": "delete_memory", "input": {"id": 19}});
    assert_eq!(
        reply,
        Reply {
            message: assistant(&json!([block])),
            text: PrivateText::default(),
            tool_calls: vec![ToolCall {
                id: "toolu_1_0".to_owned(),
                name: "delete_memory".to_owned(),
                arguments: Arguments::Json(PrivateJson::new(json!({"id": 19}))),
            }],
            usage: TokenUsage::counted(100, 10),
            finish: Finish::ToolCalls,
        }
    );
}

#[tokio::test]
async fn spec_6_3_without_tools_nothing_is_marked_for_the_cache_and_an_empty_turn_is_left_out() {
    let server = ScriptedServer::start([ServerStep::text("NO")]);
    let messages = vec![
        user("Do you consent?"),
        ModelMessage::Assistant(assistant(&json!([]))),
        user("Well?"),
    ];
    let request = request(messages, vec![]);
    ask(ProviderKind::Anthropic, &server, &request)
        .await
        .unwrap();
    assert_eq!(
        server.requests()[0],
        json!({
            "model": "small",
            "max_tokens": 500,
            "system": [{"type": "text", "text": "You are Ada."}],
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "Do you consent?"}, {"type": "text", "text": "Well?"},
            ]}],
        })
    );
}

#[tokio::test]
async fn spec_6_3_text_around_calls_thinking_and_odd_blocks_are_read() {
    let reply = read(json!({
        "content": [
            {"type": "redacted_thinking", "data": "c2ln"},
            {"type": "text", "text": "First. "},
            {"type": "tool_use", "id": "a", "name": "delete_memory", "input": {"id": 1}},
            {"type": "text", "text": ""},
            {"type": "text", "text": "\n\n"},
            {"type": "tool_use", "id": "a", "name": "delete_memory", "input": "{\"id\": 2}"},
            {"type": "tool_use", "name": "delete_memory", "input": [3]},
            {"type": "text", "text": "Last."},
            {"type": "news of tomorrow", "payload": 1},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": 3000, "output_tokens": 40},
    }))
    .await;
    assert_eq!(reply.text.expose(), "First. \n\nLast.");
    let call = |id: &str, arguments| ToolCall {
        id: id.to_owned(),
        name: "delete_memory".to_owned(),
        arguments,
    };
    assert_eq!(
        reply.tool_calls,
        [
            call("a", Arguments::Json(PrivateJson::new(json!({"id": 1})))),
            call(
                "call_1_1",
                Arguments::Json(PrivateJson::new(json!({"id": 2})))
            ),
            call("call_1_2", Arguments::Malformed(PrivateText::new("[3]"))),
        ]
    );
    assert_eq!(reply.usage, TokenUsage::counted(3210, 40));
    assert_eq!(
        reply.message,
        assistant(&json!([
            {"type": "redacted_thinking", "data": "c2ln"},
            {"type": "text", "text": "First. "},
            {"type": "tool_use", "id": "a", "name": "delete_memory", "input": {"id": 1}},
            {"type": "tool_use", "id": "call_1_1", "name": "delete_memory", "input": {"id": 2}},
            {"type": "tool_use", "id": "call_1_2", "name": "delete_memory", "input": {}},
            {"type": "text", "text": "Last."},
            {"type": "news of tomorrow", "payload": 1},
        ]))
    );
}

#[tokio::test]
async fn spec_6_3_stop_reasons_and_absent_usage() {
    for (reason, expected) in [
        (json!("end_turn"), Finish::Stop),
        (json!("stop_sequence"), Finish::Stop),
        (json!(null), Finish::Stop),
        (json!("max_tokens"), Finish::Length),
        (json!("model_context_window_exceeded"), Finish::Length),
        (json!("refusal"), Finish::Other),
        (json!("pause_turn"), Finish::Other),
    ] {
        let reply =
            read(json!({"content": [{"type": "text", "text": "x"}], "stop_reason": reason})).await;
        assert_eq!(
            (reply.finish, reply.usage.measured),
            (expected, false),
            "{reason}"
        );
        assert!(reply.usage.input_tokens > 50);
    }
}

#[tokio::test]
async fn spec_6_3_an_answer_that_is_withheld_is_named_and_is_no_empty_one() {
    for content in [
        json!([]),
        json!([{"type": "text", "text": ""}]),
        json!([{"type": "text", "text": " \n"}]),
        json!([{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]),
    ] {
        let sent = json!({"content": content, "stop_reason": "refusal"});
        check_withheld(ProviderKind::Anthropic, sent, "refusal").await;
    }
    let none = read(json!({"content": [], "stop_reason": "end_turn"})).await;
    assert_eq!(none.text.expose(), "");
}

#[tokio::test]
async fn spec_2_5_the_form_of_an_answer_is_asked_of_the_provider() {
    let (sent, schema) = sent_with_schema(ProviderKind::Anthropic).await;
    assert_eq!(
        sent["output_config"],
        json!({"format": {"type": "json_schema", "schema": schema}})
    );
}
