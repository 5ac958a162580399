//! `/v1/agents`

use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::Installation;

#[tokio::test]
async fn spec_2_2_settings_are_of_their_types_and_a_refusal_names_the_field_and_the_limit() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let made = installation
        .post(
            "/v1/agents",
            &token,
            json!({"name": " wren ", "core_token_budget": 4000.0}),
        )
        .await;
    let made = made.expect(201);
    made.has(json!({"name": "wren", "core_token_budget": 4000}));
    made.has(json!({"model": null, "effective_refinement_threshold": 0.75}));
    for (body, told) in [
        (
            json!({"core_token_budget": "4000"}),
            "core_token_budget: must be a whole number of tokens from 1,000 to 1,000,000,000",
        ),
        (
            json!({"core_token_budget": 0}),
            "core_token_budget: must be a whole number",
        ),
        (
            json!({"core_token_budget": 1.5}),
            "core_token_budget: must be a whole number",
        ),
        (
            json!({"refinement_threshold": 1.01}),
            "refinement_threshold: must be a number over 0 and up to 1",
        ),
        (
            json!({"refinement_threshold": "0.5"}),
            "refinement_threshold: must be a number over 0 and up to 1",
        ),
        (
            json!({"system_prompt": 5}),
            "system_prompt: must be a text, or null",
        ),
        (json!({"system_prompt": " "}), "system_prompt: is empty"),
        (
            json!({"immutable_tags": "voice"}),
            "immutable_tags: must be a list of up to 16 tags",
        ),
        (
            json!({"immutable_tags": ["voice", ""]}),
            "immutable_tags: must be a list of up to 16 tags",
        ),
        (
            json!({"immutable_tags": [1]}),
            "immutable_tags: must be a list of up to 16 tags",
        ),
        (
            json!({"loss_guard": "loud"}),
            "loss_guard: must be `archive`, `refuse` or `off`",
        ),
        (json!({"paused": "true"}), "paused: must be true or false"),
        (json!({"name": null}), "name: has no default"),
        (
            json!({"colour": "blue"}),
            "colour: is no setting of an agent",
        ),
        (json!(["name"]), "the body: must be an object"),
    ] {
        let problem = installation
            .send("PATCH", "/v1/agents/wren", &token, &body)
            .await;
        let detail = problem.refused(400, "invalid_argument")["detail"].clone();
        detail.as_str().unwrap().begins(told);
    }
    let long = json!({"refinement_prompt": "x".repeat(10_001)});
    let detail = installation
        .send("PATCH", "/v1/agents/wren", &token, &long)
        .await
        .refused(400, "too_long");
    detail["detail"]
        .as_str()
        .unwrap()
        .tells("10001 characters long, and the limit is 10000");
    let set = json!({"immutable_tags": ["vow, made", "voice"], "paused": true, "refinement_threshold": 1});
    let shown = installation
        .send("PATCH", "/v1/agents/wren", &token, &set)
        .await
        .expect(200);
    assert_eq!(shown["immutable_tags"], json!(["vow, made", "voice"]));
    let unset = json!({"immutable_tags": null, "paused": null, "refinement_threshold": null});
    let shown = installation
        .send("PATCH", "/v1/agents/wren", &token, &unset)
        .await
        .expect(200);
    shown.has(json!({"immutable_tags": null, "paused": false}));
}

#[tokio::test]
async fn an_agent_is_found_by_its_name_however_it_is_written_and_by_its_identifier_first() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    for (name, path) in [
        ("a b/c", "A%20b%2Fc"),
        ("zaunkönig", "Zaunk%C3%B6nig"),
        ("100%", "100%25"),
    ] {
        let made = installation
            .created("/v1/agents", &token, json!({"name": name}))
            .await;
        let shown = installation
            .shown(&format!("/v1/agents/{path}"), &token)
            .await;
        assert_eq!(shown["id"], made["id"]);
    }
    let victim = installation
        .created("/v1/agents", &token, json!({"name": "victim"}))
        .await;
    let id = victim["id"].as_str().unwrap();
    let (_, thief) = installation.agent("thief").await;
    let renamed = installation
        .send(
            "PUT",
            "/v1/agents/thief/self/name",
            &thief,
            &json!({"value": id}),
        )
        .await;
    renamed.refused(400, "invalid_argument");
    let shown = installation
        .shown(&format!("/v1/agents/{id}"), &token)
        .await;
    assert_eq!(shown["name"], "victim");
}

#[tokio::test]
async fn a_change_under_an_old_tag_is_refused() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let tag = installation
        .get("/v1/agents/wren", &token)
        .await
        .header("etag")
        .to_owned();
    installation
        .save("wren", &own, "A memory is no setting.")
        .await;
    let with = |tag: String| vec![("if-match", tag)];
    let patch = async |tag: &str, budget: u64| {
        let headers = with(tag.to_owned());
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, tag)| (*name, tag.as_str()))
            .collect();
        let body = json!({"core_token_budget": budget});
        installation
            .send_with("PATCH", "/v1/agents/wren", &token, &body, &headers)
            .await
    };
    let changed = patch(&tag, 1_700).await;
    changed.expect(200);
    patch(&tag, 1_800).await.refused(412, "precondition_failed");
    patch(changed.header("etag"), 1_900).await.expect(200);
    patch("*", 2_000).await.expect(200);
    let erased = installation
        .send_with(
            "DELETE",
            "/v1/agents/wren",
            &token,
            &Value::Null,
            &[("if-match", &tag)],
        )
        .await;
    erased.refused(412, "precondition_failed");
}

#[tokio::test]
async fn of_many_who_change_under_the_same_tag_one_does() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    installation.agent("wren").await;
    let tag = installation
        .get("/v1/agents/wren", &token)
        .await
        .header("etag")
        .to_owned();
    let bodies: Vec<Value> = (1..=16)
        .map(|budget| json!({"core_token_budget": budget * 1_000}))
        .collect();
    let headers = [("if-match", tag.as_str())];
    let patches = bodies
        .iter()
        .map(|body| installation.send_with("PATCH", "/v1/agents/wren", &token, body, &headers));
    let mut statuses = Vec::new();
    let mut running = Vec::from_iter(patches.map(Box::pin));
    std::future::poll_fn(|context| {
        running.retain_mut(|patch| match patch.as_mut().poll(context) {
            std::task::Poll::Ready(answer) => {
                statuses.push(answer.status);
                false
            }
            std::task::Poll::Pending => true,
        });
        if running.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, [412; 15].as_slice()));
}

#[tokio::test]
async fn spec_5_4_of_an_erased_agent_only_the_audit_is_left() {
    let installation = Installation::open().await;
    let token = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["Erased soon."]).await;
    let session = installation.open_session("wren", &own).await;
    let refused = installation
        .send("DELETE", "/v1/agents/wren", &token, &Value::Null)
        .await;
    assert_eq!(refused.refused(409, "session_open")["session_id"], session);
    installation
        .post(
            &format!("/v1/sessions/{session}/cancel"),
            &token,
            Value::Null,
        )
        .await
        .expect(200);
    let erased = installation
        .send("DELETE", "/v1/agents/wren", &token, &Value::Null)
        .await
        .expect(200);
    erased.has(json!({"name": "wren", "core_count": 1}));
    let gone = |path: &str| format!("/v1/agents/{}{path}", erased["id"].as_str().unwrap());
    for path in ["", "/memories", "/memories/1", "/sessions"] {
        installation
            .get(&gone(path), &token)
            .await
            .refused(410, "erased");
    }
    installation
        .get(&format!("/v1/sessions/{session}"), &token)
        .await
        .refused(410, "erased");
    installation
        .post(&gone("/tokens"), &token, Value::Null)
        .await
        .refused(410, "erased");
    installation
        .post(&gone("/rewind"), &token, json!({"to": "2026-03-04"}))
        .await
        .refused(410, "erased");
    let body = json!({"content": "x", "kind": "core"});
    installation
        .post(&gone("/memories"), &token, body)
        .await
        .refused(410, "erased");
    assert_eq!(
        installation.shown(&gone("/audit/verify"), &token).await["valid"],
        true
    );
    installation.shown(&gone("/audit"), &token).await;
    installation
        .get("/v1/agents/wren/context", &own)
        .await
        .refused(401, "unauthorized");
}

#[tokio::test]
async fn spec_2_7_an_agent_sets_about_itself_what_is_its_own() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let path = |field: &str| format!("/v1/agents/wren/self/{field}");
    let shown = installation
        .shown(&path("refinement_threshold"), &own)
        .await;
    assert_eq!(
        shown,
        json!({"type": "config", "field": "refinement_threshold", "value": 0.75, "is_default": true, "agent": "wren"})
    );
    let put = async |field: &str, value: Value| {
        installation
            .send("PUT", &path(field), &own, &json!({"value": value}))
            .await
    };
    assert_eq!(
        put("refinement_threshold", json!("0.85")).await.expect(200)["value"],
        0.85
    );
    for wrong in [
        json!("high"),
        json!(" "),
        json!("0"),
        json!(true),
        json!([0.5]),
    ] {
        put("refinement_threshold", wrong)
            .await
            .refused(400, "invalid_argument");
    }
    put("system_prompt", json!(5))
        .await
        .refused(400, "invalid_argument");
    assert_eq!(
        put("refinement_threshold", Value::Null).await.expect(200)["is_default"],
        true
    );
    put("core_token_budget", json!("1"))
        .await
        .refused(404, "not_found");
    let empty = installation
        .send("PUT", &path("name"), &own, &json!({}))
        .await;
    assert_eq!(
        empty.refused(400, "invalid_argument")["detail"],
        "value: is missing"
    );
}
