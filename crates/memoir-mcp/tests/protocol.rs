//! What the protocol asks of any server: which answers are errors, what is refused as a call, and where the context
//! is to be had.
#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test, and not each suite needs all"
)]

mod client;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use client::{agent, call, connected_to};
use memoir_app::Viewer;
use memoir_domain::memory::tokens;
use memoir_testkit::{StoreWatch, TestInstallation, WatchedStore, empty_store};
use rmcp::{
    ServiceError,
    model::{
        CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams, ResourceContents,
    },
};
use serde_json::{Value, json};

const CONTENT: &str = "Ines keeps bees behind the greenhouse.";

fn asked(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

#[tokio::test]
async fn spec_3_18_an_idle_agent_pays_little_for_its_tools() {
    let client = connected_to(agent().await, ()).await;
    let info = client.peer_info().unwrap();
    let instructions = info.instructions.clone().unwrap();
    let tools = client.list_all_tools().await.unwrap();
    // What a client puts before its model of each.
    let sent: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
        })
        .collect();
    let cost = tokens(&instructions) + tokens(&serde_json::to_string(&sent).unwrap());
    assert!(cost < 1_500, "{cost} tokens");
}

#[tokio::test]
async fn spec_3_14_the_edits_are_listed_by_what_is_true_under_each_guard() {
    let client = connected_to(agent().await, ()).await;
    let tools = client.list_all_tools().await.unwrap();
    for name in ["consolidate_memories", "update_memory", "delete_memory"] {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        let description = tool.description.as_deref().unwrap();
        assert!(!description.contains("archive"), "{name}: {description}");
    }
}

#[tokio::test]
async fn spec_3_18_a_refusal_is_an_error_of_its_tool_and_an_unknown_tool_one_of_the_call() {
    let client = connected_to(agent().await, ()).await;
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 1})),
        ("save_memory", json!({"content": "", "kind": "core"})),
        ("save_memory", json!({"content": 7, "kind": "core"})),
        (
            "save_memory",
            json!({"content": "x", "kind": "core", "constitutional": true}),
        ),
        (
            "answer_access_request",
            json!({"request_id": "none", "granted": true}),
        ),
    ] {
        let result = client.call_tool(asked(tool, arguments)).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{tool}");
        assert_eq!(
            result.structured_content.unwrap()["type"],
            "error",
            "{tool}"
        );
    }
    let saved = json!({"content": CONTENT, "kind": "core"});
    let saved = client.call_tool(asked("save_memory", saved)).await.unwrap();
    assert_eq!(saved.is_error, Some(false));
    call(&client, "open_refinement", json!({})).await;
    let refused = client
        .call_tool(asked("delete_memory", json!({"id": 9})))
        .await
        .unwrap();
    assert_eq!(
        refused.is_error,
        Some(true),
        "a session tool's refusals too"
    );
    let unknown = client
        .call_tool(asked("forget_everything", json!({})))
        .await;
    let told = format!("{:?}", unknown.unwrap_err());
    assert!(told.contains("-32602"), "{told}");
}

#[tokio::test]
async fn spec_2_3_the_context_is_a_text_a_prompt_and_a_resource() {
    let client = connected_to(agent().await, ()).await;
    let asked_for = |name: &str| GetPromptRequestParams::new(name);
    let empty = client.get_prompt(asked_for("memory")).await.unwrap();
    assert!(format!("{empty:?}").contains("Nothing is remembered yet."));
    call(
        &client,
        "save_memory",
        json!({"content": CONTENT, "kind": "core"}),
    )
    .await;
    let result = client
        .call_tool(asked("get_context", json!({})))
        .await
        .unwrap();
    let text = result.content[0].as_text().unwrap().text.clone();
    assert_eq!(
        text,
        result.structured_content.unwrap()["text"].as_str().unwrap()
    );
    assert!(text.contains(&format!("\n#1 \"{CONTENT}\"\n")), "{text}");

    let prompts = client.list_all_prompts().await.unwrap();
    assert_eq!(prompts.len(), 1);
    let prompt = client
        .get_prompt(asked_for(&prompts[0].name))
        .await
        .unwrap();
    assert!(format!("{prompt:?}").contains(CONTENT));
    assert!(client.get_prompt(asked_for("other")).await.is_err());

    let resources = client.list_all_resources().await.unwrap();
    assert_eq!(resources.len(), 1);
    let read = ReadResourceRequestParams::new(&resources[0].uri);
    let read = client.read_resource(read).await.unwrap();
    let ResourceContents::TextResourceContents { text: resource, .. } = &read.contents[0] else {
        panic!("it is a text")
    };
    assert_eq!(*resource, text);
    let other = ReadResourceRequestParams::new("memoir://other");
    assert!(client.read_resource(other).await.is_err());
}

/// A database that does not answer once this is set.
#[derive(Default)]
struct Outage(AtomicBool);

impl StoreWatch for Outage {
    fn reach(&self) -> memoir_store::Result<()> {
        if !self.0.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(memoir_store::Error::Unreachable {
            location: "postgres://db.example/memoir".to_owned(),
            problem: "it does not answer".to_owned(),
        })
    }
}

#[tokio::test]
async fn spec_6_2_a_context_that_cannot_be_read_does_not_name_the_place_of_the_database() {
    let outage = Arc::new(Outage::default());
    let store = WatchedStore::new(empty_store().await, outage.clone());
    let installation = TestInstallation::on(Arc::new(store));
    let account = installation.account("default").await;
    let agent = memoir_testkit::agent(&account, "wren", &[]).await;
    let agent = agent.views().seen_by(Viewer::Agent).as_agent().unwrap();
    let client = connected_to(agent, ()).await;
    outage.0.store(true, Ordering::Relaxed);
    let prompt = client.get_prompt(GetPromptRequestParams::new("memory"));
    let prompt = prompt.await.map(drop);
    let resource = client.read_resource(ReadResourceRequestParams::new("memoir://context"));
    let resource = resource.await.map(drop);
    for refused in [prompt, resource] {
        let Err(ServiceError::McpError(error)) = refused else {
            panic!("the context cannot be read")
        };
        assert!(!error.message.contains("db.example"), "{}", error.message);
        let data = error.data.unwrap();
        assert_eq!(data["code"], "busy");
        assert!(data["instance"].is_string(), "the log has its place");
    }
}
