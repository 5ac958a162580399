//! A whole session over the protocol, with the SDK's own client at the other end.
#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

mod house;

use house::{agent, call, connected_to};
use memoir_app::AgentHandle;
use rmcp::{RoleClient, service::RunningService};
use serde_json::json;

async fn connected(agent: AgentHandle) -> RunningService<RoleClient, ()> {
    connected_to(agent, ()).await
}

#[tokio::test]
async fn spec_3_18_an_agent_runs_a_whole_session() {
    let agent = agent().await;
    let client = connected(agent.clone()).await;
    for number in 1..=8 {
        let content = format!("Customer {number} ordered {} blue notebooks.", number * 7);
        let saved = call(
            &client,
            "save_memory",
            json!({"content": content, "kind": "core"}),
        )
        .await;
        assert_eq!(saved["number"], number);
    }
    let closed = call(&client, "delete_memory", json!({"id": 1})).await;
    assert_eq!(closed["code"], "session_over");
    let opened = call(&client, "open_refinement", json!({})).await;
    assert!(opened["prompt"].as_str().unwrap().contains("Customer 3"));
    let deleted = call(&client, "delete_memory", json!({"id": "#3"})).await;
    assert_eq!(
        (&deleted["type"], &deleted["number"]),
        (&json!("deleted"), &json!(3))
    );
    // A client that restarted gets the same session back.
    let client = connected(agent.clone()).await;
    let again = call(&client, "open_refinement", json!({"mode": "full"})).await;
    assert_eq!((&again["id"], &again["edits"]), (&opened["id"], &json!(1)));
    let refused = call(&client, "update_memory", json!({"id": 99, "content": "x"})).await;
    assert_eq!(refused["code"], "not_found");
    let complete = json!({"summary": "One order was cancelled."});
    let done = call(&client, "complete_refinement", complete).await;
    assert_eq!(done["type"], "refinement_complete");
    let context = call(&client, "get_context", json!({})).await;
    assert!(!context["text"].as_str().unwrap().contains("Customer 3 "));
}

#[tokio::test]
async fn spec_3_18_every_parameter_of_a_tool_has_one_plain_type() {
    let client = connected(agent().await).await;
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.len() > 10);
    for tool in tools {
        let schema = serde_json::Value::Object(tool.input_schema.as_ref().clone());
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        for (name, property) in properties {
            assert!(property["type"].is_string(), "{} {name}", tool.name);
        }
        for name in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(name.as_str().unwrap()));
        }
    }
}

#[tokio::test]
async fn spec_2_7_a_setting_returns_to_its_default() {
    let client = connected(agent().await).await;
    let set = async |arguments: serde_json::Value| call(&client, "update_config", arguments).await;
    let field = "refinement_threshold";
    let value = set(json!({"field": field, "value": "0.9"})).await;
    assert_eq!(
        (&value["value"], &value["is_default"]),
        (&json!(0.9), &json!(false))
    );
    let value = set(json!({"field": field, "default": true})).await;
    assert_eq!(value["is_default"], true);
    set(json!({"field": field, "value": "0.9"})).await;
    let value = set(json!({"field": field, "value": null})).await;
    assert_eq!(value["is_default"], true);
}

#[tokio::test]
async fn spec_3_13_the_breaker_trips_over_this_door_too() {
    let client = connected(agent().await).await;
    for number in 1..=4 {
        let content = format!("Promise number {number} was kept on 3 May.");
        call(
            &client,
            "save_memory",
            json!({"content": content, "kind": "core"}),
        )
        .await;
    }
    call(&client, "open_refinement", json!({})).await;
    call(&client, "delete_memory", json!({"id": 1})).await;
    let tripped = call(&client, "delete_memory", json!({"id": 2})).await;
    assert_eq!(tripped["type"], "refinement_rolled_back");
    let over = call(&client, "delete_memory", json!({"id": 3})).await;
    assert_eq!(over["code"], "session_over");
    let found = call(
        &client,
        "recall_memories",
        json!({"query": "promise", "kind": "core"}),
    )
    .await;
    assert_eq!(found["count"], 4);
}

#[tokio::test]
async fn spec_2_7_an_agent_sets_its_own_and_nothing_else() {
    let client = connected(agent().await).await;
    let view = json!({"field": "refinement_threshold"});
    let default = call(&client, "view_config", view.clone()).await;
    assert_eq!(
        (&default["value"], &default["is_default"]),
        (&json!(0.75), &json!(true))
    );
    let set = json!({"field": "refinement_threshold", "value": "0.85"});
    assert_eq!(call(&client, "update_config", set).await["value"], 0.85);
    let blank = json!({"field": "refinement_threshold", "value": "high"});
    assert_eq!(
        call(&client, "update_config", blank).await["code"],
        "invalid_argument"
    );
    let model = json!({"field": "model", "value": "openai:other"});
    assert_eq!(
        call(&client, "update_config", model).await["code"],
        "invalid_argument"
    );
    assert_eq!(call(&client, "view_config", view).await["value"], 0.85);
    // Its guard is made stricter, and never laxer (SPEC 3.14).
    let guard = |value: &str| json!({"field": "loss_guard", "value": value});
    let stricter = call(&client, "update_config", guard("refuse")).await;
    assert_eq!(stricter["value"], "refuse");
    let laxer = call(&client, "update_config", guard("off")).await;
    assert_eq!(laxer["code"], "invalid_argument");
}

#[tokio::test]
async fn annotations_are_true_and_the_order_is_always_the_same() {
    let client = connected(agent().await).await;
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools, client.list_all_tools().await.unwrap());
    let reads: Vec<_> = tools
        .iter()
        .filter(|tool| tool.annotations.as_ref().unwrap().read_only_hint == Some(true))
        .map(|tool| tool.name.as_ref())
        .collect();
    assert_eq!(
        reads,
        [
            "recall_memories",
            "get_context",
            "view_config",
            "search_memories"
        ]
    );
    // Only what adds destroys nothing.
    let adds = ["save_memory", "protect_memory", "absorb_transcript"];
    for tool in &tools {
        let annotations = tool.annotations.as_ref().unwrap();
        let name = tool.name.as_ref();
        let harmless = reads.contains(&name) || adds.contains(&name);
        assert_eq!(annotations.destructive_hint, Some(!harmless), "{name}");
        assert_eq!(
            tool.input_schema["additionalProperties"], false,
            "{}",
            tool.name
        );
    }
}

#[tokio::test]
async fn spec_3_17_a_session_can_be_rehearsed() {
    let client = connected(agent().await).await;
    for number in 1..=8 {
        let content = format!("Customer {number} ordered {} blue notebooks.", number * 7);
        call(
            &client,
            "save_memory",
            json!({"content": content, "kind": "core"}),
        )
        .await;
    }
    let opened = call(&client, "open_refinement", json!({"rehearsal": true})).await;
    assert_eq!(opened["rehearsal"], true);
    let deleted = call(&client, "delete_memory", json!({"id": 3})).await;
    assert_eq!(deleted["type"], "deleted");
    let complete = json!({"summary": "One order was cancelled."});
    call(&client, "complete_refinement", complete).await;
    let found = call(&client, "recall_memories", json!({"kind": "core"})).await;
    assert_eq!(found["count"], 8, "nothing changed");
}

#[tokio::test]
async fn spec_2_6_a_conversation_is_handed_over_once() {
    let agent = agent().await;
    let client = connected(agent.clone()).await;
    let message = |id: &str| json!({"id": id, "speaker": "Ann", "text": "Hello.", "at": null});
    let messages = json!([message("a"), message("b")]);
    let handed = call(&client, "absorb_transcript", json!({"messages": messages})).await;
    assert_eq!(
        handed,
        json!({"type": "transcript_received", "received": 2, "known": 0})
    );
    let again = json!({"messages": messages, "now": true});
    assert_eq!(call(&client, "absorb_transcript", again).await["known"], 2);
    for bad in [
        json!({}),
        json!({"messages": "all"}),
        json!({"messages": [message("c"), {"id": "d", "secret": "canary"}]}),
        json!({"messages": [{"id": "", "speaker": "canary", "text": "canary"}]}),
        json!({"messages": [], "later": true}),
    ] {
        let refused = call(&client, "absorb_transcript", bad).await;
        assert_eq!(refused["code"], "invalid_argument", "{refused}");
        assert!(!refused.to_string().contains("canary"), "{refused}");
    }
    assert_eq!(agent.transcript().await.unwrap().pending, 2);
}

#[tokio::test]
async fn spec_2_5_without_a_model_nobody_reflects() {
    let client = connected(agent().await).await;
    let refused = call(&client, "reflect", json!({})).await;
    assert_eq!(refused["code"], "model_unavailable");
}
