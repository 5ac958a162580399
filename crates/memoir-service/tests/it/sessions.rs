//! `/v1/agents/{agent}/sessions` and `/v1/sessions`

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::Installation;

const PATH: &str = "/v1/agents/wren/sessions";

#[tokio::test]
async fn spec_3_18_an_agent_opens_uses_takes_up_and_completes_its_own_session() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let open = json!({"driver": "agent"});
    installation
        .post(PATH, &own, open.clone())
        .await
        .refused(409, "nothing_to_refine");
    for text in [
        "The kiln is fired on Thursdays.",
        "Ada keeps bees by the river.",
        "Bees.",
    ] {
        installation.save("wren", &own, text).await;
    }
    let opened = installation.created(PATH, &own, open.clone()).await;
    let id = opened["id"].as_str().unwrap();
    assert!(opened["prompt"].as_str().unwrap().contains("kiln"));
    assert_eq!(opened["tools"].as_array().unwrap().len(), 6);
    opened.has(json!({"state": "open", "driver": "agent", "edits": 0}));
    let second = installation
        .post(PATH, &own, open)
        .await
        .refused(409, "session_open");
    assert_eq!(second["session_id"], id);
    let resumed = installation
        .post(PATH, &own, json!({"driver": "agent", "resume": true}))
        .await
        .expect(200);
    resumed.has(json!({"id": opened["id"], "prompt": opened["prompt"]}));
    let refused = installation.tool(id, &own, "sharpen", json!({})).await;
    refused.has(json!({"type": "error", "code": "unknown_tool"}));
    let refused = installation
        .tool(id, &own, "delete_memory", json!([3]))
        .await;
    assert_eq!(refused["code"], "invalid_argument");
    let deleted = installation.tool(id, &own, "delete_memory", json!({"id": "#3"}));
    assert_eq!(deleted.await["type"], "deleted");
    let summary = json!({"summary": "One was superfluous."});
    let done = installation
        .tool(id, &own, "complete_refinement", summary)
        .await;
    done.has(json!({"stats": {"consolidated": 0, "updated": 0, "deleted": 1, "protected": 0}}));
    let over = installation.tool(id, &own, "delete_memory", json!({"id": 1}));
    assert_eq!(over.await["code"], "session_over");
    installation
        .post(&format!("/v1/sessions/{id}/cancel"), &own, Value::Null)
        .await
        .refused(409, "session_over");
}

#[tokio::test]
async fn spec_4_3_what_conflicts_with_an_undo_is_listed() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let (_, own) = installation
        .agent_with(
            "wren",
            &["The kiln is fired on Thursdays at the mill.", "Bees."],
        )
        .await;
    let session = installation.open_session("wren", &own).await;
    let content = json!({"id": 1, "content": "The kiln is fired Thursdays at the mill."});
    let updated = installation.tool(&session, &own, "update_memory", content);
    assert_eq!(updated.await["type"], "updated");
    installation
        .tool(
            &session,
            &own,
            "complete_refinement",
            json!({"summary": "Done."}),
        )
        .await;
    // What the session wrote in its place.
    let discard = "/v1/agents/wren/memories/3/discard";
    installation.acted(discard, &administrator).await;
    let path = format!("/v1/sessions/{session}/rollback");
    let problem = installation
        .post(&path, &administrator, Value::Null)
        .await
        .refused(409, "in_the_way");
    assert_eq!(problem["session_id"], session);
    assert_eq!(problem["obstacles"][0]["action"], "memory_discarded");
    assert_eq!(problem["obstacles"][0]["memories"], json!([3]));
    // What an administrator did stays, whatever the agent asks for.
    let problem = installation
        .post(&path, &own, json!({"cascade": true}))
        .await
        .refused(409, "in_the_way");
    assert_eq!(problem["hint"], "an administrator can undo it");
    let undone = installation
        .post(&path, &administrator, json!({"cascade": true}))
        .await
        .expect(200);
    assert!(!undone["undone_at"].is_null());
    installation
        .post(&path, &administrator, Value::Null)
        .await
        .refused(409, "not_undoable");
}

#[tokio::test]
async fn spec_4_3_an_agent_undoes_its_last_session_and_no_earlier_one() {
    let installation = Installation::open().await;
    let (_, own) = installation
        .agent_with(
            "wren",
            &["The kiln is fired on Thursdays.", "Bees.", "bees."],
        )
        .await;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let session = installation.open_session("wren", &own).await;
        installation
            .tool(
                &session,
                &own,
                "complete_refinement",
                json!({"summary": "Nothing to do."}),
            )
            .await;
        sessions.push(session);
    }
    // A rehearsal changes nothing and stands in no way.
    let rehearse = json!({"driver": "model", "rehearsal": true});
    let rehearsal = installation.post(PATH, &own, rehearse).await.expect(202);
    installation
        .ended(rehearsal["id"].as_str().unwrap(), &own)
        .await;
    let path = |session: &str| format!("/v1/sessions/{session}/rollback");
    installation
        .post(&path(&sessions[0]), &own, Value::Null)
        .await
        .refused(403, "forbidden");
    installation.acted(&path(&sessions[1]), &own).await;
    installation
        .post(&path(&sessions[0]), &own, Value::Null)
        .await
        .refused(403, "forbidden");
}

#[tokio::test]
async fn spec_3_17_a_rehearsal_shows_its_difference_to_the_agent_alone_and_is_applied() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let words = "The kiln is fired on Thursdays, and Ada keeps her bees by the river";
    let others =
        "Nothing of this is said twice: the mill, the ferry, and the road to the coast in spring.";
    let (_, own) = installation
        .agent_with(
            "wren",
            &[
                &format!("{words}."),
                &format!("{words}!"),
                others,
                &format!("{others} {others}"),
                &format!("So {others}"),
            ],
        )
        .await;
    let begun = installation
        .post(
            PATH,
            &administrator,
            json!({"driver": "model", "rehearsal": true}),
        )
        .await
        .expect(202);
    begun.has(json!({"state": "queued", "rehearsal": true}));
    let id = begun["id"].as_str().unwrap();
    let ended = installation.ended(id, &own).await;
    assert_eq!(ended["state"], "completed", "{ended}");
    assert!(
        ended["changes"]
            .as_array()
            .is_some_and(|changes| !changes.is_empty()),
        "{ended}"
    );
    let blind = installation
        .get(&format!("/v1/sessions/{id}"), &administrator)
        .await;
    assert!(blind.expect(200).get("changes").is_none() && !blind.text.contains("kiln"));
    let applied = installation
        .acted(&format!("/v1/sessions/{id}/apply"), &own)
        .await;
    applied.has(json!({"state": "completed", "rehearsal": false}));
    let again = installation
        .post(&format!("/v1/sessions/{id}/apply"), &own, Value::Null)
        .await;
    again.refused(409, "not_applicable");
}

#[tokio::test]
async fn spec_3_17_an_agent_rehearses_by_itself_and_applies_what_came_of_it() {
    let installation = Installation::open().await;
    let others = "Nothing of this is said twice: the mill, the ferry, and the road to the coast.";
    let texts = ["The kiln is fired.", "The kiln is fired!", others];
    let (_, own) = installation.agent_with("wren", &texts).await;
    let administrator = installation.administrator().await;
    let rehearse = json!({"driver": "agent", "rehearsal": true});
    let opened = installation.created(PATH, &own, rehearse).await;
    opened.has(json!({"state": "open", "rehearsal": true}));
    assert!(opened["prompt"].as_str().unwrap().contains("kiln"));
    let id = opened["id"].as_str().unwrap();
    let deleted = installation
        .tool(id, &own, "delete_memory", json!({"id": 2}))
        .await;
    assert_eq!(deleted["type"], "deleted");
    for (rehearsal, status) in [(json!(true), 200), (Value::Null, 200), (json!(false), 409)] {
        let resume = json!({"driver": "agent", "resume": true, "rehearsal": rehearsal});
        let resumed = installation.post(PATH, &own, resume).await;
        assert_eq!(resumed.status, status, "{}", resumed.text);
    }
    let path = format!("/v1/sessions/{id}");
    let shown = installation.shown(&path, &own).await;
    // It comes under the earlier one, which has the same text.
    assert_eq!(shown["changes"].as_array().unwrap().len(), 1, "{shown}");
    let change = &shown["changes"][0];
    assert_eq!(
        (&change["number"], &change["before"]["content"]),
        (&json!(2), &json!(texts[1]))
    );
    assert_eq!(change["after"]["kind"], "archival");
    let blind = installation.get(&path, &administrator).await;
    assert!(blind.expect(200)["changes"].is_null() && !blind.text.contains("kiln"));
    let summary = json!({"summary": "The kiln is said once."});
    let done = installation
        .tool(id, &own, "complete_refinement", summary)
        .await;
    assert_eq!(done["type"], "refinement_complete");
    let count = |list: &Value| list["items"].as_array().unwrap().len();
    let memories = "/v1/agents/wren/memories?kind=core";
    assert_eq!(count(&installation.shown(memories, &own).await), 3);
    let apply = format!("{path}/apply");
    let applied = installation.acted(&apply, &own).await;
    applied.has(json!({"state": "completed", "driver": "agent", "rehearsal": false}));
    applied.has(json!({"archived": 1, "not_applied": []}));
    assert_eq!(count(&installation.shown(memories, &own).await), 2);
    installation
        .post(&apply, &own, Value::Null)
        .await
        .refused(409, "not_applicable");
}

#[tokio::test]
async fn what_a_session_is_begun_with_is_checked() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent_with("wren", &["The kiln."]).await;
    for (body, told) in [
        (json!({}), "driver: is missing"),
        (
            json!({"driver": "nobody"}),
            "driver: must be `agent` or `model`",
        ),
        (
            json!({"driver": "agent", "mod": "full"}),
            "mod: is no field here; there are `mode`, `driver`",
        ),
        (
            json!({"driver": "agent", "mode": "fast"}),
            "mode: must be `full` or `dedup_only`",
        ),
        (
            json!({"driver": "agent", "model": "builtin:careful"}),
            "model: is for",
        ),
        (json!({"driver": "model", "model": "nameless"}), "model: "),
    ] {
        let problem = installation
            .post(PATH, &own, body.clone())
            .await
            .refused(400, "invalid_argument");
        problem["detail"].as_str().unwrap().begins(told);
    }
}
