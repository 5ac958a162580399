//! `/v1/agents/{agent}/sessions` and `/v1/sessions`

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, fault, items, rows};

const PATH: &str = "/v1/agents/wren/sessions";

#[tokio::test]
async fn spec_3_18_an_agent_opens_uses_takes_up_and_completes_its_own_session() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let open = json!({"driver": "agent"});
    let refused = own.post(PATH, open.clone()).await;
    refused.refused(409, "nothing_to_refine");
    for text in [
        "The kiln is fired on Thursdays.",
        "Ada keeps bees by the river.",
        "Bees.",
    ] {
        own.save("wren", text).await;
    }
    let opened = own.created(PATH, open.clone()).await;
    let id = opened["id"].as_str().unwrap();
    assert!(opened["prompt"].as_str().unwrap().contains("kiln"));
    assert_eq!(opened["tools"].as_array().unwrap().len(), 6);
    opened.has(json!({"state": "open", "driver": "agent", "edits": 0}));
    let second = own.post(PATH, open).await.refused(409, "session_open");
    assert_eq!(second["session_id"], id);
    let resume = json!({"driver": "agent", "resume": true});
    let resumed = own.post(PATH, resume).await.expect(200);
    resumed.has(json!({"id": opened["id"], "prompt": opened["prompt"]}));
    let refused = own.tool(id, "sharpen", json!({})).await;
    refused.has(json!({"type": "error", "code": "unknown_tool"}));
    let refused = own.tool(id, "delete_memory", json!([3])).await;
    assert_eq!(refused["code"], "invalid_argument");
    let deleted = own.tool(id, "delete_memory", json!({"id": "#3"}));
    assert_eq!(deleted.await["type"], "deleted");
    let done = own.complete(id, "One was superfluous.").await;
    done.has(json!({"stats": {"consolidated": 0, "updated": 0, "deleted": 1, "protected": 0}}));
    let over = own.tool(id, "delete_memory", json!({"id": 1}));
    assert_eq!(over.await["code"], "session_over");
    let cancel = own.act(&format!("/v1/sessions/{id}/cancel")).await;
    cancel.refused(409, "session_over");
}

#[tokio::test]
async fn spec_3_2_a_session_of_another_mode_than_the_given_one_is_not_resumed() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent_with("wren", &["The kiln."]).await;
    let opened = own.created(PATH, json!({"driver": "agent"})).await;
    for (mode, status) in [(json!("dedup_only"), 409), (json!("full"), 200)] {
        let resume = json!({"driver": "agent", "resume": true, "mode": mode});
        let resumed = own.post(PATH, resume).await.expect(status);
        let named = resumed.get("session_id").unwrap_or(&resumed["id"]);
        assert_eq!(*named, opened["id"], "{resumed}");
    }
}

#[tokio::test]
async fn spec_3_14_a_resumed_session_has_the_tools_of_a_guard_that_was_made_stricter() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let texts = ["The kiln is fired on Thursdays.", "Ada keeps bees."];
    let (_, own) = installation.agent_with("wren", &texts).await;
    for (guard, resume, status, stated) in [
        ("off", false, 201, "Discard one"),
        ("archive", true, 200, "Take one"),
    ] {
        let set = json!({"loss_guard": guard});
        let set = admin.patch("/v1/agents/wren", &set).await;
        set.expect(200);
        let open = json!({"driver": "agent", "resume": resume});
        let opened = own.post(PATH, open).await.expect(status);
        let mut tools = opened["tools"].as_array().unwrap().iter();
        let tool = tools.find(|tool| tool["name"] == "delete_memory").unwrap();
        let description = tool["description"].as_str().unwrap();
        assert!(description.starts_with(stated), "{description}");
    }
}

#[tokio::test]
async fn spec_4_3_what_conflicts_with_an_undo_is_listed() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let texts = ["The kiln is fired on Thursdays at the mill.", "Bees."];
    let (_, own) = installation.agent_with("wren", &texts).await;
    let session = own.open_session("wren").await;
    let content = json!({"id": 1, "content": "The kiln is fired Thursdays at the mill."});
    let updated = own.tool(&session, "update_memory", content);
    assert_eq!(updated.await["type"], "updated");
    own.complete(&session, "Done.").await;
    // What the session wrote in its place.
    let discard = "/v1/agents/wren/memories/3/discard";
    admin.acted(discard).await;
    let path = format!("/v1/sessions/{session}/rollback");
    let problem = admin.act(&path).await.refused(409, "in_the_way");
    assert_eq!(problem["session_id"], session);
    assert_eq!(problem["obstacles"][0]["action"], "memory_discarded");
    assert_eq!(problem["obstacles"][0]["memories"], json!([3]));
    // What an administrator did stays, whatever the agent asks for.
    let cascade = json!({"cascade": true});
    let refused = own.post(&path, cascade.clone()).await;
    let problem = refused.refused(409, "in_the_way");
    assert_eq!(problem["hint"], "an administrator can undo it");
    let undone = admin.post(&path, cascade).await.expect(200);
    assert!(!undone["undone_at"].is_null());
    admin.act(&path).await.refused(409, "not_undoable");
}

#[tokio::test]
async fn spec_4_3_an_agent_undoes_its_last_session_and_no_earlier_one() {
    let installation = Installation::open().await;
    let texts = ["The kiln is fired on Thursdays.", "Bees.", "bees."];
    let (_, own) = installation.agent_with("wren", &texts).await;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let session = own.open_session("wren").await;
        own.complete(&session, "Nothing to do.").await;
        sessions.push(session);
    }
    // A rehearsal changes nothing and stands in no way.
    let rehearse = json!({"driver": "model", "rehearsal": true});
    let rehearsal = own.post(PATH, rehearse).await.expect(202);
    own.ended(rehearsal["id"].as_str().unwrap()).await;
    let [first, last] = [0, 1].map(|at| format!("/v1/sessions/{}/rollback", sessions[at]));
    own.act(&first).await.refused(403, "forbidden");
    own.acted(&last).await;
    own.act(&first).await.refused(403, "forbidden");
}

#[tokio::test]
async fn spec_3_17_a_rehearsal_shows_its_difference_to_the_agent_alone_and_is_applied() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let words = "The kiln is fired on Thursdays, and Ada keeps her bees by the river";
    let own = installation.agent_with_duplicate("wren", words).await;
    let rehearse = json!({"driver": "model", "rehearsal": true});
    let begun = admin.post(PATH, rehearse).await.expect(202);
    begun.has(json!({"state": "queued", "rehearsal": true}));
    let id = begun["id"].as_str().unwrap();
    let ended = own.ended(id).await;
    assert_eq!(ended["state"], "completed", "{ended}");
    assert!(ended["changes"][0].is_object(), "{ended}");
    let blind = admin.get(&format!("/v1/sessions/{id}")).await;
    assert!(blind.expect(200).get("changes").is_none() && !blind.text.contains("kiln"));
    // How many edits hold now is a number, and each reader's.
    assert_eq!(ended["edits_holding"], ended["edits"], "{ended}");
    assert_eq!(blind.json()["edits_holding"], ended["edits"]);
    let listed = own.shown(PATH).await;
    assert!(items(&listed)[0]["edits_holding"].is_null(), "{listed}");
    let apply = format!("/v1/sessions/{id}/apply");
    let applied = own.acted(&apply).await;
    applied.has(json!({"state": "completed", "rehearsal": false}));
    let path = format!("/v1/sessions/{id}");
    assert!(own.shown(&path).await["edits_holding"].is_null());
    own.act(&apply).await.refused(409, "not_applicable");
}

#[tokio::test]
async fn spec_3_17_an_agent_rehearses_by_itself_and_applies_what_came_of_it() {
    let installation = Installation::open().await;
    let others = "Nothing of this is said twice: the mill, the ferry, and the road to the coast.";
    let texts = ["The kiln is fired.", "The kiln is fired!", others];
    let (_, own) = installation.agent_with("wren", &texts).await;
    let admin = installation.administrator().await;
    let rehearse = json!({"driver": "agent", "rehearsal": true});
    let opened = own.created(PATH, rehearse).await;
    opened.has(json!({"state": "open", "rehearsal": true}));
    assert!(opened["prompt"].as_str().unwrap().contains("kiln"));
    let id = opened["id"].as_str().unwrap();
    let deleted = own.tool(id, "delete_memory", json!({"id": 2})).await;
    assert_eq!(deleted["type"], "deleted");
    for (rehearsal, status) in [(json!(true), 200), (Value::Null, 200), (json!(false), 409)] {
        let resume = json!({"driver": "agent", "resume": true, "rehearsal": rehearsal});
        let resumed = own.post(PATH, resume).await;
        assert_eq!(resumed.status, status, "{}", resumed.text);
    }
    let path = format!("/v1/sessions/{id}");
    let shown = own.shown(&path).await;
    // It comes under the earlier one, which has the same text.
    assert_eq!(shown["changes"].as_array().unwrap().len(), 1, "{shown}");
    let change = &shown["changes"][0];
    assert_eq!(
        (&change["number"], &change["before"]["content"]),
        (&json!(2), &json!(texts[1]))
    );
    assert_eq!(change["after"]["kind"], "archival");
    let blind = admin.get(&path).await;
    assert!(blind.expect(200)["changes"].is_null() && !blind.text.contains("kiln"));
    assert!(shown["edits_holding"].is_null(), "it runs");
    let done = own.complete(id, "The kiln is said once.").await;
    assert_eq!(done["type"], "refinement_complete");
    assert_eq!(own.shown(&path).await["edits_holding"], 1);
    let protection = "/v1/agents/wren/memories/2/protection";
    admin.put(protection, &Value::Null).await.expect(200);
    assert_eq!(own.shown(&path).await["edits_holding"], 0);
    admin.delete(protection).await.expect(200);
    let memories = "/v1/agents/wren/memories?kind=core";
    assert_eq!(items(&own.shown(memories).await).len(), 3);
    let apply = format!("{path}/apply");
    let applied = own.acted(&apply).await;
    applied.has(json!({"state": "completed", "driver": "agent", "rehearsal": false}));
    applied.has(json!({"archived": 1, "not_applied": []}));
    assert_eq!(items(&own.shown(memories).await).len(), 2);
    own.act(&apply).await.refused(409, "not_applicable");
}

#[tokio::test]
async fn what_a_session_is_begun_with_is_checked() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent_with("wren", &["The kiln."]).await;
    for (body, told) in rows(
        r#"
        {} | driver: is missing
        {"driver": "nobody"} | driver: must be `agent` or `model`
        {"driver": "agent", "mod": "full"} | mod: is no field here; there are `mode`, `driver`
        {"driver": "agent", "mode": "fast"} | mode: must be `full` or `dedup_only`
        {"driver": "agent", "model": "builtin:careful"} | model: is for
        {"driver": "model", "model": "nameless"} | model:
        "#,
    ) {
        fault(&own.post(PATH, body).await).begins(told);
    }
}
