//! `/v1/agents`

use futures_util::future::join_all;
use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::installation::{Installation, fault, rows};

const WREN: &str = "/v1/agents/wren";

#[tokio::test]
async fn spec_2_2_settings_are_of_their_types_and_a_refusal_names_the_field_and_the_limit() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let body = json!({"name": " wren ", "core_token_budget": 4000.0});
    let made = admin.created("/v1/agents", body).await;
    made.has(json!({"name": "wren", "core_token_budget": 4000}));
    made.has(json!({"model": null, "effective_refinement_threshold": 0.75}));
    for (body, told) in rows(
        r#"
        {"core_token_budget": "4000"} | core_token_budget: must be a whole number of tokens from 1,000 to 1,000,000,000
        {"core_token_budget": 0} | core_token_budget: must be a whole number
        {"core_token_budget": 1.5} | core_token_budget: must be a whole number
        {"refinement_threshold": 1.01} | refinement_threshold: must be a number over 0 and up to 1
        {"refinement_threshold": "0.5"} | refinement_threshold: must be a number over 0 and up to 1
        {"system_prompt": 5} | system_prompt: must be a text, or null
        {"system_prompt": " "} | system_prompt: is empty
        {"immutable_tags": "voice"} | immutable_tags: must be a list of up to 16 tags
        {"immutable_tags": ["voice", ""]} | immutable_tags: must be a list of up to 16 tags
        {"immutable_tags": [1]} | immutable_tags: must be a list of up to 16 tags
        {"loss_guard": "loud"} | loss_guard: must be `archive`, `refuse` or `off`
        {"paused": "true"} | paused: must be true or false
        {"name": null} | name: has no default
        {"colour": "blue"} | colour: is no setting of an agent
        ["name"] | the body: must be an object
        "#,
    ) {
        fault(&admin.patch(WREN, &body).await).begins(told);
    }
    let long = json!({"refinement_prompt": "x".repeat(10_001)});
    let refused = admin.patch(WREN, &long).await;
    let told = "10001 characters long, and the limit is 10000";
    refused.text.tells(told);
    refused.refused(400, "too_long");
    let set = json!({"immutable_tags": ["vow, made", "voice"], "paused": true, "refinement_threshold": 1});
    let shown = admin.patch(WREN, &set).await.expect(200);
    assert_eq!(shown["immutable_tags"], json!(["vow, made", "voice"]));
    let unset = json!({"immutable_tags": null, "paused": null, "refinement_threshold": null});
    let shown = admin.patch(WREN, &unset).await.expect(200);
    shown.has(json!({"immutable_tags": null, "paused": false}));
}

#[tokio::test]
async fn an_agent_is_found_by_its_name_however_it_is_written_and_by_its_identifier_first() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    for (name, path) in [
        ("a b/c", "A%20b%2Fc"),
        ("zaunkönig", "Zaunk%C3%B6nig"),
        ("100%", "100%25"),
    ] {
        let made = admin.created("/v1/agents", json!({"name": name})).await;
        let shown = admin.shown(&format!("/v1/agents/{path}")).await;
        assert_eq!(shown["id"], made["id"]);
    }
    let victim = admin.created("/v1/agents", json!({"name": "victim"})).await;
    let id = victim["id"].as_str().unwrap();
    let (_, thief) = installation.agent("thief").await;
    let name = "/v1/agents/thief/self/name";
    let renamed = thief.put(name, &json!({"value": id})).await;
    renamed.refused(400, "invalid_argument");
    let shown = admin.shown(&format!("/v1/agents/{id}")).await;
    assert_eq!(shown["name"], "victim");
}

#[tokio::test]
async fn a_change_under_an_old_tag_is_refused() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let tag = admin.get(WREN).await.header("etag").to_owned();
    own.save("wren", "A memory is no setting.").await;
    let send = async |method: &str, tag: &str, body: Value| {
        let headers = [("if-match", tag)];
        admin.send_with(method, WREN, &body, &headers).await
    };
    let patch = async |tag: &str, budget: u64| {
        let body = json!({"core_token_budget": budget});
        send("PATCH", tag, body).await
    };
    let changed = patch(&tag, 1_700).await;
    changed.expect(200);
    patch(&tag, 1_800).await.refused(412, "precondition_failed");
    patch(changed.header("etag"), 1_900).await.expect(200);
    patch("*", 2_000).await.expect(200);
    let erased = send("DELETE", &tag, Value::Null).await;
    erased.refused(412, "precondition_failed");
}

#[tokio::test]
async fn spec_5_1_a_prompt_that_the_agent_sets_makes_an_earlier_tag_old() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let path = format!("{WREN}/self/refinement_prompt");
    let set = async |text: &str| {
        let set = own.put(&path, &json!({"value": text})).await;
        set.expect(200);
        let shown = admin.get(WREN).await;
        assert!(!shown.text.contains(text));
        shown.header("etag").to_owned()
    };
    let first = set("Of plovers first.").await;
    let second = set("Of plovers last.").await;
    let third = set("Of plovers first.").await;
    // Not even that a text is an earlier one is in a tag.
    assert!(first != second && second != third && third != first);
    let patch = async |tag: &str| {
        let headers = [("if-match", tag)];
        let body = json!({"refinement_prompt": "Briefly."});
        admin.send_with("PATCH", WREN, &body, &headers).await
    };
    for old in [&first, &second] {
        patch(old).await.refused(412, "precondition_failed");
    }
    patch(&third).await.expect(200);
}

#[tokio::test]
async fn of_many_who_change_under_the_same_tag_one_does() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    installation.agent("wren").await;
    let tag = admin.get(WREN).await.header("etag").to_owned();
    let bodies: Vec<Value> = (1..=16)
        .map(|budget| json!({"core_token_budget": budget * 1_000}))
        .collect();
    let headers = [("if-match", tag.as_str())];
    let patches = bodies
        .iter()
        .map(|body| admin.send_with("PATCH", WREN, body, &headers));
    let answers = join_all(patches).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, [412; 15].as_slice()));
}

#[tokio::test]
async fn spec_5_4_of_an_erased_agent_only_the_audit_is_left() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent_with("wren", &["Erased soon."]).await;
    let session = own.open_session("wren").await;
    let refused = admin.delete(WREN).await;
    assert_eq!(refused.refused(409, "session_open")["session_id"], session);
    let session = format!("/v1/sessions/{session}");
    admin.acted(&format!("{session}/cancel")).await;
    let erased = admin.delete(WREN).await.expect(200);
    erased.has(json!({"name": "wren", "core_count": 1}));
    let gone = |path: &str| format!("/v1/agents/{}{path}", erased["id"].as_str().unwrap());
    for path in ["", "/memories", "/memories/1", "/sessions"] {
        admin.get(&gone(path)).await.refused(410, "erased");
    }
    admin.get(&session).await.refused(410, "erased");
    for (path, body) in [
        ("/tokens", Value::Null),
        ("/rewind", json!({"to": "2026-03-04"})),
        ("/memories", json!({"content": "x", "kind": "core"})),
    ] {
        let refused = admin.post(&gone(path), body).await;
        refused.refused(410, "erased");
    }
    assert_eq!(admin.shown(&gone("/audit/verify")).await["valid"], true);
    admin.shown(&gone("/audit")).await;
    let context = own.get("/v1/agents/wren/context").await;
    context.refused(401, "unauthorized");
}

#[tokio::test]
async fn spec_2_7_an_agent_sets_about_itself_what_is_its_own() {
    let installation = Installation::open().await;
    let (_, own) = installation.agent("wren").await;
    let path = |field: &str| format!("/v1/agents/wren/self/{field}");
    let shown = own.shown(&path("refinement_threshold")).await;
    assert_eq!(
        shown,
        json!({"type": "config", "field": "refinement_threshold", "value": 0.75, "is_default": true, "agent": "wren"})
    );
    let put = async |field: &str, value: Value| {
        let body = json!({"value": value});
        own.put(&path(field), &body).await
    };
    let put_share = async |value: Value| put("refinement_threshold", value).await;
    let set = put_share(json!("0.85")).await;
    assert_eq!(set.expect(200)["value"], 0.85);
    for wrong in [
        json!("high"),
        json!(" "),
        json!("0"),
        json!(true),
        json!([0.5]),
    ] {
        put_share(wrong).await.refused(400, "invalid_argument");
    }
    let number = put("system_prompt", json!(5)).await;
    number.refused(400, "invalid_argument");
    let unset = put_share(Value::Null).await;
    assert_eq!(unset.expect(200)["is_default"], true);
    let foreign = put("core_token_budget", json!("1")).await;
    foreign.refused(404, "not_found");
    let empty = own.put(&path("name"), &json!({})).await;
    assert_eq!(fault(&empty), "value: is missing");
}

#[tokio::test]
async fn a_field_of_a_request_that_takes_none_is_refused_and_nothing_is_done() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let (_, own) = installation.agent("wren").await;
    let body = json!({"dry_run": true});
    for (caller, method, path) in [
        (&admin, "DELETE", ""),
        (&admin, "POST", "/reflections"),
        (&own, "POST", "/self/system_prompt/undo"),
    ] {
        let refused = caller.send(method, &format!("{WREN}{path}"), &body).await;
        fault(&refused).begins("dry_run: is no field here");
    }
    admin.get(WREN).await.expect(200);
}
