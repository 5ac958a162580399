//! What servers of chat completions send, and what they are sent.

use std::collections::BTreeMap;

use memoir_domain::{PrivateJson, PrivateText};
use memoir_model::{
    Arguments, Finish, ModelMessage, ModelRequest, OutputLimitField, ProviderKind,
    ProviderSettings, Providers, Reply, TokenUsage, ToolCall,
};
use memoir_testkit::{ScriptedServer, ServerStep};
use serde_json::{Value, json};

use super::{
    KEY, ask, check_withheld, delete_tool, model, providers, request, result, sent_with_schema,
    settings, user,
};

/// Lets a server send `message` and returns what is made of it.
async fn read(message: Value, finish_reason: Value) -> Reply {
    let reply = json!({
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    });
    answer(reply).await
}

async fn answer(reply: Value) -> Reply {
    let server = ScriptedServer::start([ServerStep::Reply(reply)]);
    let request = request(vec![user("Begin.")], vec![delete_tool()]);
    ask(ProviderKind::OpenAi, &server, &request).await.unwrap()
}

fn call(id: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "delete_memory".to_owned(),
        arguments: Arguments::Json(PrivateJson::new(arguments)),
    }
}

/// A raw call as servers send it.
fn raw(id: Value, arguments: Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "delete_memory", "arguments": arguments}})
}

/// A message that calls the tool, as servers send it.
fn calling() -> Value {
    let call = raw(json!("call_9"), json!("{\"id\":17}"));
    json!({"role": "assistant", "content": null, "tool_calls": [call]})
}

/// A conversation in which the model said that, and its call was answered.
fn conversation(said: Value) -> ModelRequest {
    let messages = vec![
        user("Begin."),
        ModelMessage::Assistant(PrivateJson::new(said)),
        result("call_9", "Deleted."),
    ];
    request(messages, vec![delete_tool()])
}

#[tokio::test]
async fn spec_6_3_claude_over_openrouter_gets_its_marks_for_the_cache_and_no_other_model_does() {
    let sent = async |provider: &str, name: &str, tools| {
        let server = ScriptedServer::start([ServerStep::text("Done.")]);
        let settings = settings(ProviderKind::OpenAi, server.base_url());
        let configured = BTreeMap::from([(provider.to_owned(), settings)]);
        let environment = |variable: &str| (variable == "LAB_KEY").then(|| KEY.to_owned());
        let providers = Providers::with_environment(configured, environment).unwrap();
        let name = format!("{provider}:{name}").parse().unwrap();
        let model = providers.connect(&name).unwrap();
        let messages = vec![user("Begin."), result("call_9", "Deleted.")];
        model.complete(&request(messages, tools)).await.unwrap();
        server.requests()[0]["messages"].clone()
    };
    let part = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    let answered = json!({"role": "tool", "tool_call_id": "call_9", "content": "Deleted."});
    let marked = json!([
        {"role": "system", "content": part("You are Ada.")},
        {"role": "user", "content": part("Begin.")},
        answered,
    ]);
    let plain = json!([
        {"role": "system", "content": "You are Ada."},
        {"role": "user", "content": "Begin."},
        answered,
    ]);
    let claude = "anthropic/claude-sonnet-4.5";
    let tools = vec![delete_tool()];
    for (provider, name, tools, expected) in [
        ("openrouter", claude, tools.clone(), &marked),
        ("openrouter", claude, vec![], &plain),
        ("openrouter", "openai/gpt-5", tools.clone(), &plain),
        ("lab", claude, tools, &plain),
    ] {
        assert_eq!(sent(provider, name, tools).await, *expected);
    }
}

#[tokio::test]
async fn spec_6_3_a_whole_conversation_is_sent_in_the_wire_format() {
    let mut echoed = calling();
    echoed["reasoning_content"] = json!("hm");
    echoed["reasoning_details"] = json!([{"type": "reasoning.encrypted", "data": "c2ln"}]);
    let server = ScriptedServer::start([ServerStep::text("Done.")]);
    let request = conversation(echoed.clone());
    let reply = ask(ProviderKind::OpenAi, &server, &request).await.unwrap();
    assert_eq!(
        reply,
        Reply {
            message: PrivateJson::new(json!({"role": "assistant", "content": "Done."})),
            text: PrivateText::new("Done."),
            tool_calls: vec![],
            usage: TokenUsage::counted(100, 10),
            finish: Finish::Stop,
        }
    );
    let received = &server.received()[0];
    assert_eq!(
        (received.method.as_str(), received.path.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(
        received.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(
        received.body,
        json!({
            "model": "small",
            "stream": false,
            "max_tokens": 500,
            "messages": [
                {"role": "system", "content": "You are Ada."},
                {"role": "user", "content": "Begin."},
                echoed,
                {"role": "tool", "tool_call_id": "call_9", "content": "Deleted."},
            ],
            "tools": [{"type": "function", "function": {
                "name": "delete_memory",
                "description": "Deletes one memory.",
                "parameters": delete_tool().parameters,
            }}],
            "tool_choice": "auto",
        })
    );
}

#[tokio::test]
async fn spec_6_3_neighbours_of_a_user_are_sent_as_one_message() {
    let server = ScriptedServer::start([ServerStep::text("YES")]);
    let said = PrivateJson::new(json!({"role": "assistant", "content": "No."}));
    let messages = vec![
        user("Begin."),
        user("Answer once more."),
        ModelMessage::Assistant(said),
        user("Go on."),
    ];
    let request = request(messages, vec![]);
    ask(ProviderKind::OpenAi, &server, &request).await.unwrap();
    assert_eq!(
        server.requests()[0]["messages"],
        json!([
            {"role": "system", "content": "You are Ada."},
            {"role": "user", "content": "Begin.\n\nAnswer once more."},
            {"role": "assistant", "content": "No."},
            {"role": "user", "content": "Go on."},
        ])
    );
}

#[tokio::test]
async fn spec_6_3_a_server_that_wants_reasoning_with_each_call_gets_it() {
    let complaint = json!({"error": {"type": "invalid_request_error",
        "message": "Missing `reasoning_content` field in the assistant message at message index 2"}});
    let refusing = || ServerStep::status(400).with_body(complaint.to_string());
    let mut reasoned = calling();
    reasoned["reasoning_content"] = json!("hm");
    let server = ScriptedServer::start([refusing(), ServerStep::text("Done."), refusing()]);
    let model = model(ProviderKind::OpenAi, &server);
    let reply = model.complete(&conversation(calling())).await.unwrap();
    assert_eq!(reply.text.expose(), "Done.");
    let sent = server.requests();
    assert!(sent[0]["messages"][2].get("reasoning_content").is_none());
    assert_eq!(sent[1]["messages"][2]["reasoning_content"], "");
    // What it had is sent as it came, and a server that refuses that too is not asked again.
    model.complete(&conversation(reasoned)).await.unwrap_err();
    let sent = server.requests();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[2]["messages"][2]["reasoning_content"], "hm");
}

#[tokio::test]
async fn spec_6_3_what_a_server_does_not_take_back_is_sent_without_it() {
    let extra = |field: &str| json!({"detail": [{"loc": ["body", "messages", 2, field], "msg": "Extra inputs are not permitted"}]});
    let said = [
        (
            "reasoning",
            "'messages.2' : property 'reasoning' is unsupported",
        ),
        ("reasoning_details", "Unknown field: reasoning_details"),
        (
            "reasoning_content",
            "reasoning_content should not be in the messages",
        ),
    ];
    let said = said.map(|(field, words)| (400, field, json!({"error": {"message": words}})));
    let listed = ["refusal", "annotations"].map(|field| (422, field, extra(field)));
    for (status, field, complaint) in said.into_iter().chain(listed) {
        let mut raw = calling();
        raw[field] = "hm".into();
        let refused = ServerStep::status(status).with_body(complaint.to_string());
        let server = ScriptedServer::start([refused, ServerStep::text("Done.")]);
        let model = model(ProviderKind::OpenAi, &server);
        let reply = model.complete(&conversation(raw)).await.unwrap();
        assert_eq!(reply.text.expose(), "Done.", "{field}");
        let sent = server.requests();
        assert_eq!(sent[0]["messages"][2][field], "hm");
        let again = &sent[1]["messages"][2];
        assert_eq!(again.get(field), None);
        assert!(again["tool_calls"].is_array(), "{again}");
    }
}

#[tokio::test]
async fn spec_3_3_reasoning_in_a_part_of_the_content_is_no_answer() {
    for (content, said) in [
        (
            json!([{"type": "reasoning", "text": "YES would be easy, but "}, {"type": "text", "text": "NO"}]),
            "NO",
        ),
        (
            json!([{"type": "thinking", "thinking": [{"type": "text", "text": "YES"}]}, {"type": "text", "text": "NO"}]),
            "NO",
        ),
        (json!([{"type": "reasoning_text", "text": "YES"}]), ""),
        (json!([{"type": "output_text", "text": "NO"}]), "NO"),
        (json!([{"text": "N"}, "O"]), "NO"),
        (json!([{"type": null, "text": "NO"}]), "NO"),
    ] {
        let message = json!({"role": "assistant", "content": content});
        let reply = read(message, json!("stop")).await;
        assert_eq!(reply.text.expose(), said, "{content}");
    }
}

#[tokio::test]
async fn spec_6_3_without_system_tools_and_key_none_is_sent() {
    let server = ScriptedServer::start([ServerStep::text("YES")]);
    let settings = ProviderSettings {
        key_env: None,
        output_limit_field: Some(OutputLimitField::MaxCompletionTokens),
        ..settings(ProviderKind::OpenAi, server.base_url() + "/")
    };
    let model = providers(settings)
        .connect(&"lab:org/small:8b".parse().unwrap())
        .unwrap();
    assert_eq!(
        (model.name().as_str(), model.context_tokens()),
        ("lab:org/small:8b", Some(32_768))
    );
    let mut request = request(vec![user("Do you consent?")], vec![]);
    request.system = PrivateText::default();
    model.complete(&request).await.unwrap();
    let received = &server.received()[0];
    assert_eq!(received.path, "/v1/chat/completions");
    assert_eq!(received.header("authorization"), None);
    assert_eq!(
        received.body,
        json!({
            "model": "org/small:8b",
            "stream": false,
            "max_completion_tokens": 500,
            "messages": [{"role": "user", "content": "Do you consent?"}],
        })
    );
}

#[tokio::test]
async fn spec_6_3_content_may_be_text_nothing_or_parts() {
    for (content, expected) in [
        (json!("YES"), "YES"),
        (json!(null), ""),
        (json!(""), ""),
        (
            json!([{"type": "text", "text": "YES, "}, {"type": "image"}, "gladly"]),
            "YES, gladly",
        ),
        (json!([]), ""),
        (json!(17), ""),
    ] {
        let reply = read(
            json!({"role": "assistant", "content": content}),
            json!("stop"),
        )
        .await;
        assert_eq!(
            (reply.text.expose(), reply.finish),
            (expected, Finish::Stop),
            "{content}"
        );
    }
    let reply = read(json!({}), json!(null)).await;
    let echo = json!({"role": "assistant", "content": ""});
    assert_eq!(
        (reply.message.expose(), reply.finish),
        (&echo, Finish::Stop)
    );
}

#[tokio::test]
async fn spec_6_3_arguments_may_be_text_an_object_or_nothing_and_come_back_as_text() {
    for (sent, expected, echoed) in [
        (
            json!("{\"id\": 17}"),
            json!({"id": 17}),
            json!("{\"id\": 17}"),
        ),
        (json!({"id": 17}), json!({"id": 17}), json!("{\"id\":17}")),
        (
            json!("{\"id\":\"\\ud83d\"}"),
            json!({"id": "\u{fffd}"}),
            json!("{\"id\":\"\u{fffd}\"}"),
        ),
        (json!(""), json!({}), json!("{}")),
        (json!(null), json!({}), json!("{}")),
    ] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [raw(json!("a"), sent.clone())]});
        let reply = read(message, json!("tool_calls")).await;
        assert_eq!(reply.tool_calls, [call("a", expected)], "{sent}");
        let expected =
            json!({"role": "assistant", "content": null, "tool_calls": [raw(json!("a"), echoed)]});
        assert_eq!(reply.message.expose(), &expected, "{sent}");
    }
}

#[tokio::test]
async fn spec_3_8_malformed_arguments_are_kept_for_the_tool_and_do_not_come_back() {
    let message = json!({"role": "assistant", "content": "So be it.", "tool_calls": [
        raw(json!("a"), json!("{\"id\": 17")), raw(json!("b"), json!("{\"id\": 18}")),
    ]});
    let reply = read(message, json!("tool_calls")).await;
    let mut malformed = call("a", json!({}));
    malformed.arguments = Arguments::Malformed(PrivateText::new("{\"id\": 17"));
    assert_eq!(reply.tool_calls, [malformed, call("b", json!({"id": 18}))]);
    assert_eq!(reply.text.expose(), "So be it.");
    assert_eq!(
        reply.message.expose()["tool_calls"],
        json!([
            raw(json!("a"), json!("{}")),
            raw(json!("b"), json!("{\"id\": 18}"))
        ])
    );
}

#[tokio::test]
async fn spec_6_3_missing_and_repeated_call_ids_are_replaced_in_the_echo_too() {
    let arguments = json!("{}");
    let nameless = json!({"function": {"name": "delete_memory", "arguments": "{}"}});
    let message = json!({"role": "assistant", "tool_calls": [
        raw(json!("same"), arguments.clone()), raw(json!("same"), arguments.clone()),
        raw(json!(""), arguments.clone()), raw(json!(null), arguments.clone()), nameless, "no call",
    ]});
    let reply = read(message, json!("stop")).await;
    let ids = ["same", "call_1_1", "call_1_2", "call_1_3", "call_1_4"];
    let found = reply.tool_calls.iter().map(|call| call.id.as_str());
    assert_eq!(found.collect::<Vec<_>>(), ids);
    for (index, id) in ids.iter().enumerate() {
        let echoed = &reply.message.expose()["tool_calls"][index];
        assert_eq!(echoed, &raw(json!(id), json!("{}")));
    }
    assert_eq!(reply.finish, Finish::ToolCalls);
}

#[tokio::test]
async fn spec_6_3_a_missing_or_wrong_name_of_a_tool_is_passed_on() {
    let message = json!({"tool_calls": [
        {"id": "a", "function": {"arguments": "{}"}}, {"id": "b"}, {"id": "c", "function": {"name": "rm -rf"}},
    ]});
    let calls = read(message, json!(null)).await.tool_calls;
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["", "", "rm -rf"]);
}

#[tokio::test]
async fn spec_6_3_an_answer_that_is_withheld_is_named_and_is_no_empty_one() {
    let refused = [
        json!({"content": null, "refusal": "I cannot."}),
        json!({"content": [{"type": "refusal", "refusal": "No."}]}),
    ];
    let filtered = [
        json!({"refusal": "I cannot."}),
        json!({"content": ""}),
        json!({"content": " \n"}),
        json!({"content": [{"type": "reasoning", "text": "Hm."}]}),
    ];
    for (messages, reason, code) in [
        (&refused[..], "stop", "refusal"),
        (&filtered, "content_filter", "content_filter"),
        (&filtered, "content_filter: RECITATION", "content_filter"),
    ] {
        for message in messages {
            let sent = json!({"choices": [{"message": message, "finish_reason": reason}]});
            check_withheld(ProviderKind::OpenAi, sent, code).await;
        }
    }
    for (message, reason) in [
        (json!({"content": "YES", "refusal": ""}), "stop"),
        (json!({"content": "YES", "refusal": null}), "content_filter"),
        (json!({"content": "NO", "refusal": "I cannot."}), "stop"),
    ] {
        let said = message["content"].clone();
        assert_eq!(read(message, json!(reason)).await.text.expose(), said);
    }
    // Nothing is withheld of an empty answer.
    let empty = read(json!({"content": null}), json!("stop")).await;
    assert_eq!(empty.text.expose(), "");
}

#[tokio::test]
async fn spec_6_3_empty_call_lists_are_no_calls_and_do_not_come_back() {
    for none in [json!([]), json!(null)] {
        let message = json!({"role": "assistant", "content": "Done.", "tool_calls": none});
        let reply = read(message, json!("stop")).await;
        assert_eq!((reply.tool_calls.len(), reply.finish), (0, Finish::Stop));
        assert_eq!(reply.message.expose().get("tool_calls"), None);
    }
}

#[tokio::test]
async fn spec_6_3_finish_reasons() {
    for (reason, calls, expected) in [
        (json!("stop"), false, Finish::Stop),
        (json!("stop"), true, Finish::ToolCalls),
        (json!("tool_calls"), true, Finish::ToolCalls),
        (json!(null), true, Finish::ToolCalls),
        (json!(null), false, Finish::Stop),
        (json!("length"), false, Finish::Length),
        (json!("length"), true, Finish::Length),
        (json!("model_length"), false, Finish::Length),
        (json!("content_filter"), false, Finish::Other),
        (json!("tool_calls"), false, Finish::Other),
    ] {
        let mut message = json!({"role": "assistant", "content": "x"});
        if calls {
            message["tool_calls"] = json!([raw(json!("a"), json!("{}"))]);
        }
        assert_eq!(
            read(message, reason.clone()).await.finish,
            expected,
            "{reason} {calls}"
        );
    }
}

#[tokio::test]
async fn spec_3_16_usage_is_measured_or_estimated_and_says_which() {
    let choice = json!([{"message": {"content": "YES"}, "finish_reason": "stop"}]);
    let measured = json!({"choices": choice, "usage": {
        "prompt_tokens": 1200, "completion_tokens": 30, "total_tokens": 1230,
        "prompt_tokens_details": {"cached_tokens": 1000},
    }});
    let usage = answer(measured).await.usage;
    assert_eq!(usage, TokenUsage::counted(1200, 30));
    // Gemini and Grok count hidden reasoning in the sum alone.
    let reasoned = json!({"prompt_tokens": 1200, "completion_tokens": 30, "total_tokens": 1730});
    let reasoned = json!({"choices": choice, "usage": reasoned});
    let usage = answer(reasoned).await.usage;
    assert_eq!(usage, TokenUsage::counted(1200, 530));
    for absent in [
        json!(null),
        json!({}),
        json!({"prompt_tokens": 0, "completion_tokens": 0}),
        json!({"prompt_tokens": "many", "completion_tokens": -1}),
    ] {
        let usage = answer(json!({"choices": choice, "usage": absent}))
            .await
            .usage;
        assert!(
            !usage.measured && usage.input_tokens > 50 && usage.output_tokens > 5,
            "{usage:?}"
        );
    }
}

#[tokio::test]
async fn spec_6_3_bytes_that_are_no_utf_8_do_not_cost_the_answer() {
    let body = b"\xef\xbb\xbf\n{\"choices\":[{\"message\":{\"content\":\"YES \xff\"}}]}\n".to_vec();
    let server = ScriptedServer::start([ServerStep::status(200).with_body(body)]);
    let request = request(vec![user("Begin.")], vec![]);
    let reply = ask(ProviderKind::OpenAi, &server, &request).await.unwrap();
    assert_eq!(reply.text.expose(), "YES \u{fffd}");
}

#[tokio::test]
async fn spec_2_5_the_form_of_an_answer_is_asked_of_the_provider() {
    let (sent, schema) = sent_with_schema(ProviderKind::OpenAi).await;
    assert_eq!(
        sent["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "promotions", "strict": true, "schema": schema}})
    );
}
