//! The scripted models do what their scripts say, in the same words in process and over HTTP.

use std::collections::BTreeMap;
use std::time::Duration;

use memoir_domain::PrivateText;
use memoir_model::{
    Arguments, Finish, Model, ModelError, ModelMessage, ModelRequest, ProviderKind,
    ProviderSettings, Providers,
};
use memoir_testkit::{ModelScript, ScriptedServer, ServerStep, Turn};
use serde_json::json;

fn request(text: &str) -> ModelRequest {
    ModelRequest {
        system: PrivateText::default(),
        messages: vec![ModelMessage::User(PrivateText::new(text))],
        tools: vec![],
        answer_schema: None,
        max_output_tokens: 100,
        reasoning_effort: None,
    }
}

#[tokio::test]
async fn a_model_script_is_followed_recorded_and_ends_in_an_error() {
    let model = ModelScript::new([
        Turn::text("YES"),
        Turn::call("delete_memory", json!({"id": 1})),
        Turn::malformed_call("delete_memory", "#1"),
        Turn::Error(ModelError::RateLimited { retry_after: None }),
        Turn::respond(|request| Turn::text(&format!("{} messages", request.messages.len()))),
    ])
    .with_context_tokens(4096);
    assert_eq!(
        (model.name().as_str(), model.context_tokens()),
        ("scripted:model", Some(4096))
    );
    let ask = async |text: &str| model.complete(&request(text)).await;
    assert_eq!(ask("one").await.unwrap().text.expose(), "YES");
    let reply = ask("two").await.unwrap();
    assert_eq!(
        (reply.finish, reply.tool_calls[0].name.as_str()),
        (Finish::ToolCalls, "delete_memory")
    );
    let reply = ask("three").await.unwrap();
    assert_eq!(
        reply.tool_calls[0].arguments,
        Arguments::Malformed("#1".into())
    );
    assert!(ask("four").await.unwrap_err().is_retryable());
    assert_eq!(ask("five").await.unwrap().text.expose(), "1 messages");
    assert_eq!((model.turns_left(), model.requests().len()), (0, 5));
    let error = ask("six").await.unwrap_err();
    assert!(
        !error.is_retryable() && error.to_string().contains("script_exhausted"),
        "{error}"
    );
}

#[tokio::test]
async fn a_slow_turn_waits_first() {
    let model = ModelScript::always(Turn::text("late").after(Duration::from_secs(3600)));
    let request = request("x");
    let asked = tokio::time::timeout(Duration::from_millis(20), model.complete(&request));
    assert!(asked.await.is_err());
}

#[tokio::test]
async fn both_kinds_of_script_say_the_same() {
    let server = ScriptedServer::start([]);
    server.push(ServerStep::calls([
        ("a", json!({"id": 1})),
        ("b", json!({})),
    ]));
    server.push(ServerStep::respond(|received| {
        ServerStep::text(received.body["model"].as_str().unwrap_or("?"))
    }));
    let settings = ProviderSettings {
        base_url: Some(server.base_url()),
        ..ProviderSettings::default()
    };
    let scripted = ModelScript::new([Turn::calls([("a", json!({"id": 1})), ("b", json!({}))])]);
    let settings = BTreeMap::from([("lab".to_owned(), settings)]);
    let providers = Providers::with_environment(settings, |_| None).unwrap();
    assert_eq!(providers.get("lab").unwrap().kind, ProviderKind::OpenAi);
    let model = providers.connect(&"lab:small".parse().unwrap()).unwrap();
    let (one, other) = (
        model.complete(&request("x")).await.unwrap(),
        scripted.complete(&request("x")).await.unwrap(),
    );
    assert_eq!(
        (one.usage, one.finish, one.text),
        (other.usage, other.finish, other.text)
    );
    let calls = |reply: Vec<memoir_model::ToolCall>| -> Vec<(String, Arguments)> {
        reply
            .into_iter()
            .map(|call| (call.name, call.arguments))
            .collect()
    };
    assert_eq!(calls(one.tool_calls), calls(other.tool_calls));
    assert_eq!(
        model.complete(&request("x")).await.unwrap().text.expose(),
        "small"
    );
    assert_eq!(server.steps_left(), 0);
}
