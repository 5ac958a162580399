//! `/v1/agents/{agent}/access-requests`: an administrator asks, the agent answers, and what is shown meanwhile.

use std::{sync::Arc, time::Duration};

use memoir_app::InstallationSettings;
use memoir_domain::agent::Field;
use memoir_testkit::{ModelScript, SetModel, TestedObject, TestedText, Turn};
use serde_json::{Value, json};

use crate::installation::{Caller, HttpAnswer, Installation, items, owner};

/// In everything that is an agent's words.
const CANARY: &str = "canary-52aa";
const PURPOSE: &str = "to see why the session was rolled back";
const REQUESTS: &str = "/v1/agents/wren/access-requests";

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// An agent whose words are everywhere, and two administrators of its account.
struct Scene {
    installation: Installation,
    wren: Caller,
    ada: Caller,
    ben: Caller,
    session: String,
}

impl Scene {
    async fn new() -> Self {
        let installation = Installation::open().await;
        let (agent, wren) = installation.agent("wren").await;
        let prompt = format!("I am Wren and my secret is {CANARY}.");
        let me = memoir_domain::audit::Actor::agent("wren");
        let prompts = [(Field::SystemPrompt, Some(prompt.as_str()))];
        agent.settings().configure(&prompts, &me).await.unwrap();
        for ending in ["dawn, every day of the year that it can", "noon", "dusk"] {
            let body = json!({
                "content": format!("The {CANARY} sings at {ending}"),
                "kind": "core", "tags": [CANARY], "source": CANARY,
            });
            wren.created("/v1/agents/wren/memories", body).await;
        }
        let session = wren.open_session("wren").await;
        wren.tool(&session, "delete_memory", json!({"id": 2})).await;
        let summary = format!("I let the {CANARY} rest.");
        wren.complete(&session, &summary).await;
        Self {
            ada: installation.administrator().await,
            ben: installation.administrator().await,
            installation,
            wren,
            session,
        }
    }

    async fn ask(&self, who: &Caller, scope: &str, minutes: u64) -> String {
        let body = json!({"purpose": PURPOSE, "scope": scope, "minutes": minutes});
        let request = who.created(REQUESTS, body).await;
        request.has(json!({"state": "asked", "purpose": PURPOSE}));
        request["id"].as_str().unwrap().to_owned()
    }

    async fn answer(&self, request: &str, granted: bool) -> Value {
        let path = format!("/v1/access-requests/{request}/answer");
        let body = json!({"granted": granted, "reason": "so I decide"});
        self.wren.post(&path, body).await.expect(200)
    }

    async fn granted(&self, who: &Caller, scope: &str, minutes: u64) -> String {
        let request = self.ask(who, scope, minutes).await;
        assert_eq!(self.answer(&request, true).await["state"], "granted");
        request
    }

    async fn show(&self, request: &str, who: &Caller) -> Value {
        let path = format!("/v1/access-requests/{request}");
        who.shown(&path).await
    }

    /// Everything that can be looked at, by its path.
    async fn everything(&self, who: &Caller) -> Vec<(String, HttpAnswer)> {
        let session = &self.session;
        let mut answers = Vec::new();
        for path in [
            "/v1/agents/wren".to_owned(),
            "/v1/agents".to_owned(),
            "/v1/agents/wren/memories".to_owned(),
            "/v1/agents/wren/memories?include=discarded".to_owned(),
            "/v1/agents/wren/memories/1".to_owned(),
            "/v1/agents/wren/memories/2".to_owned(),
            "/v1/agents/wren/memories?q=sings".to_owned(),
            format!("/v1/agents/wren/memories?tag={CANARY}"),
            "/v1/agents/wren/sessions".to_owned(),
            format!("/v1/sessions/{session}"),
            format!("/v1/sessions/{session}/events"),
            "/v1/agents/wren/audit?limit=200".to_owned(),
            format!("/v1/agents/wren/audit?session={session}"),
            "/v1/agents/wren/audit/verify".to_owned(),
            REQUESTS.to_owned(),
        ] {
            let answer = who.get(&path).await;
            answers.push((path, answer));
        }
        answers
    }

    /// The paths whose answers hold the agent's words.
    async fn words(&self, who: &Caller) -> Vec<String> {
        let answers = self.everything(who).await;
        let telling = answers
            .into_iter()
            .filter(|(_, answer)| answer.text.contains(CANARY));
        telling.map(|(path, _)| path).collect()
    }

    async fn records(&self, action: &str) -> Vec<Value> {
        let path = format!("/v1/agents/wren/audit?action={action}&limit=200");
        items(&self.wren.shown(&path).await).to_vec()
    }

    /// The journal entries about an access.
    async fn told(&self) -> Vec<String> {
        let path = "/v1/agents/wren/memories?kind=journal&limit=200";
        let page = self.wren.shown(path).await;
        let texts = items(&page)
            .iter()
            .map(|entry| entry["content"].as_str().unwrap().to_owned());
        texts.filter(|text| text.contains(PURPOSE)).collect()
    }
}

#[tokio::test]
async fn spec_5_2_a_consented_access_is_read_expires_and_is_read_no_more() {
    let scene = Scene::new().await;
    let none: Vec<String> = Vec::new();
    assert_eq!(scene.words(&scene.ada).await, none);
    let request = scene.ask(&scene.ada, "all", 30).await;
    assert_eq!(scene.words(&scene.ada).await, none, "no answer is no");
    let granted = scene.answer(&request, true).await;
    assert_eq!(granted["state"], "granted");

    let session = &scene.session;
    let shown = scene.words(&scene.ada).await;
    assert_eq!(
        shown,
        [
            "/v1/agents/wren",
            "/v1/agents/wren/memories",
            "/v1/agents/wren/memories?include=discarded",
            "/v1/agents/wren/memories/1",
            "/v1/agents/wren/memories/2",
            "/v1/agents/wren/memories?q=sings",
            &format!("/v1/agents/wren/memories?tag={CANARY}"),
            "/v1/agents/wren/sessions",
            &format!("/v1/sessions/{session}"),
            "/v1/agents/wren/audit?limit=200",
            &format!("/v1/agents/wren/audit?session={session}"),
        ]
    );
    assert_eq!(scene.words(&scene.ben).await, none, "it is Ada's alone");
    assert_eq!(scene.records("access_used").await.len(), shown.len());
    let seen = scene.show(&request, &scene.wren).await;
    assert_eq!(seen["reads"], shown.len());
    assert_eq!(scene.told().await.len(), 0);

    scene.installation.clock.advance(minutes(31));
    // Without any read, it ends by itself.
    for _ in 0..1_000 {
        if !scene.records("access_expired").await.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(scene.records("access_expired").await.len(), 1);
    for who in [&scene.ada, &scene.ben] {
        assert_eq!(scene.words(who).await, none);
    }
    for back in [minutes(5), minutes(31), minutes(600)] {
        scene.installation.clock.set_back(back);
        assert_eq!(scene.words(&scene.ada).await, none, "{back:?}");
    }
    scene.installation.clock.set_back(Duration::ZERO);
    let ended = scene.show(&request, &scene.wren).await;
    ended.has(json!({"state": "expired", "reads": shown.len()}));
    assert_eq!(scene.records("access_used").await.len(), shown.len());
    let told = scene.told().await;
    let [entry] = told.as_slice() else {
        panic!("{told:?}");
    };
    for part in [
        format!("{} reads", shown.len()),
        format!("{} memories", ended["memories_read"]),
        seen["asked_by"]["name"].as_str().unwrap().to_owned(),
    ] {
        entry.tells(&part);
    }
    let verified = scene.ada.shown("/v1/agents/wren/audit/verify").await;
    assert_eq!(verified["valid"], true);
}

#[tokio::test]
async fn spec_5_2_a_clock_that_is_set_back_extends_no_access() {
    let scene = Scene::new().await;
    let request = scene.granted(&scene.ada, "core", 10).await;
    scene.installation.clock.advance(minutes(9));
    scene.installation.clock.set_back(minutes(8));
    assert!(!scene.words(&scene.ada).await.is_empty());
    scene.installation.clock.advance(minutes(2));
    assert!(scene.words(&scene.ada).await.is_empty(), "eleven minutes");
    assert_eq!(scene.show(&request, &scene.ada).await["state"], "expired");
    assert_eq!(scene.told().await.len(), 1);

    // A time before the latest record ends it immediately and permanently.
    let request = scene.granted(&scene.ada, "core", 10).await;
    scene.installation.clock.set_back(minutes(30));
    assert!(scene.words(&scene.ada).await.is_empty());
    scene.installation.clock.set_back(Duration::ZERO);
    assert!(scene.words(&scene.ada).await.is_empty());
    assert_eq!(scene.show(&request, &scene.ada).await["state"], "expired");
}

#[tokio::test]
async fn spec_5_2_what_a_page_does_not_return_does_not_count_as_read() {
    let scene = Scene::new().await;
    let request = scene.granted(&scene.ada, "core", 10).await;
    let read = async || scene.show(&request, &scene.ada).await["memories_read"].clone();
    let path = "/v1/agents/wren/memories?kind=core&limit=1";
    let page = scene.ada.shown(path).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert!(page["next_cursor"].is_string(), "{page}");
    assert_eq!(read().await, 1);
    let none = scene.ada.shown(&format!("{path}&origin=import")).await;
    none.has(json!({"items": [], "next_cursor": null}));
    assert_eq!(read().await, 1);
}

#[tokio::test]
async fn spec_5_2_the_scope_is_what_is_shown() {
    let scene = Scene::new().await;
    scene.granted(&scene.ada, "core", 10).await;
    assert_eq!(
        scene.words(&scene.ada).await,
        [
            "/v1/agents/wren/memories",
            "/v1/agents/wren/memories?include=discarded",
            "/v1/agents/wren/memories/1",
            "/v1/agents/wren/memories?q=sings",
            &format!("/v1/agents/wren/memories?tag={CANARY}"),
        ]
    );
    let session = scene.session.clone();
    scene
        .granted(&scene.ben, &format!("session:{session}"), 10)
        .await;
    assert_eq!(
        scene.words(&scene.ben).await,
        [
            "/v1/agents/wren/sessions",
            &format!("/v1/sessions/{session}"),
            "/v1/agents/wren/audit?limit=200",
            &format!("/v1/agents/wren/audit?session={session}"),
        ]
    );
}

#[tokio::test]
async fn spec_5_2_agent_and_administrators_take_access_back_at_any_moment() {
    let scene = Scene::new().await;
    for who in [&scene.wren, &scene.ben, &scene.ada] {
        let request = scene.granted(&scene.ada, "all", 60).await;
        assert!(!scene.words(&scene.ada).await.is_empty());
        let path = format!("/v1/access-requests/{request}/revoke");
        let revoked = who.acted(&path).await;
        assert_eq!(revoked["state"], "revoked");
        assert!(scene.words(&scene.ada).await.is_empty());
        let answer = format!("/v1/access-requests/{request}/answer");
        let no = json!({"granted": false});
        let late = scene.wren.post(&answer, no).await;
        late.refused(409, "access_over");
    }
    assert_eq!(scene.told().await.len(), 3);
    let refused = scene.ask(&scene.ada, "all", 60).await;
    assert_eq!(scene.answer(&refused, false).await["state"], "refused");
    assert!(scene.words(&scene.ada).await.is_empty());
    // The agent's reason is for the requester.
    assert_eq!(
        scene.show(&refused, &scene.ada).await["reason"],
        "so I decide"
    );
    assert!(scene.show(&refused, &scene.ben).await["reason"].is_null());

    let seen = scene.ben.all(&format!("{REQUESTS}?limit=1")).await;
    let states: Vec<&str> = seen
        .iter()
        .map(|item| item["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["refused", "revoked", "revoked", "revoked"]);
}

#[tokio::test]
async fn spec_5_2_a_session_is_asked_for_as_a_request_shows_it_and_else_it_is_the_last_one() {
    let scene = Scene::new().await;
    let body = json!({"purpose": PURPOSE, "scope": "session", "minutes": 5});
    let mut named = body.clone();
    named["session_id"] = json!(scene.session);
    for body in [&body, &named] {
        let request = scene.ada.created(REQUESTS, body.clone()).await;
        request.has(json!({"scope": "session", "session_id": scene.session}));
    }
    // A rehearsal has nothing to be read.
    let rehearse = json!({"driver": "agent", "rehearsal": true});
    scene
        .wren
        .created("/v1/agents/wren/sessions", rehearse)
        .await;
    let request = scene.ada.created(REQUESTS, body.clone()).await;
    assert_eq!(request["session_id"], scene.session.as_str());
    let (mut other, mut unknown) = (named.clone(), named);
    other["scope"] = json!("core");
    unknown["session_id"] = json!("1");
    let token = json!({"kind": "token", "purpose": PURPOSE, "scope": "session"});
    for body in [other, unknown, token] {
        let answer = scene.ada.post(REQUESTS, body).await;
        answer.refused(400, "invalid_argument");
    }
    scene.installation.agent("robin").await;
    let path = "/v1/agents/robin/access-requests";
    let token = json!({"kind": "token", "purpose": PURPOSE, "scope": "session"});
    let answer = scene.ada.post(path, token).await;
    answer.refused(400, "invalid_argument");
    scene.ada.post(path, body).await.refused(404, "not_found");
}

#[tokio::test]
async fn spec_5_2_what_is_asked_for_keeps_the_limits() {
    let scene = Scene::new().await;
    let unknown = "019a0000-0000-7000-8000-000000000000";
    let read = |purpose: &str, scope: &str, minutes: u64| {
        let mut body = json!({"purpose": purpose, "scope": scope});
        body["minutes"] = minutes.into();
        body
    };
    let mut with_an_end = read("x", "core", 5);
    with_an_end["expires_at"] = json!("2027-01-01T00:00:00Z");
    for body in [
        json!({}),
        json!({"purpose": "x", "minutes": 5}),
        json!({"purpose": "x", "scope": "core"}),
        read("x", "core", 0),
        read("x", "core", 61),
        read("x", "journal", 5),
        read("x", "session:1", 5),
        read(" ", "core", 5),
        with_an_end,
        json!({"kind": "token", "purpose": "x", "minutes": 5}),
        json!({"kind": "token", "purpose": "x", "expires_at": "2020-01-01T00:00:00Z"}),
        json!({"kind": "shred", "purpose": "x"}),
    ] {
        let answer = scene.ada.post(REQUESTS, body).await;
        answer.refused(400, "invalid_argument");
    }
    let other = read("x", &format!("session:{unknown}"), 5);
    let other = scene.ada.post(REQUESTS, other).await;
    other.refused(404, "not_found");
    let long = read(&"x".repeat(2_001), "core", 5);
    let long = scene.ada.post(REQUESTS, long).await;
    long.refused(400, "too_long");
    assert!(scene.records("access_requested").await.is_empty());
    for _ in 0..20 {
        scene.ask(&scene.ada, "core", 5).await;
    }
    let body = json!({"purpose": PURPOSE, "scope": "core", "minutes": 5});
    let answer = scene.ben.post(REQUESTS, body).await;
    answer.refused(409, "too_many_waiting");
}

#[tokio::test]
async fn spec_5_5_a_token_that_the_agent_lets_an_administrator_have_is_made_once() {
    let scene = Scene::new().await;
    let tokens = "/v1/agents/wren/tokens";
    let body =
        json!({"kind": "token", "purpose": "a new machine", "expires_at": "2027-01-01T00:00:00Z"});
    let request = scene.ada.created(REQUESTS, body).await;
    request.has(json!({
        "kind": "token", "token_expires_at": "2027-01-01T00:00:00Z", "scope": null,
    }));
    let fetch = async |who: &Caller| who.post(tokens, Value::Null).await;
    let needed = "consent_required";
    fetch(&scene.ada).await.refused(403, needed);
    let id = request["id"].as_str().unwrap();
    scene.answer(id, true).await;
    assert!(
        scene.words(&scene.ada).await.is_empty(),
        "it is no leave to look"
    );
    fetch(&scene.ben).await.refused(403, needed);
    let made = fetch(&scene.ada).await.expect(201);
    assert_eq!(made["expires_at"], "2027-01-01T00:00:00Z");
    fetch(&scene.ada).await.refused(403, needed);
    assert_eq!(scene.show(id, &scene.wren).await["state"], "done");
    let another = scene.installation.made(&made);
    another.shown("/v1/agents/wren/context").await;
}

#[tokio::test]
async fn spec_4_4_an_administrators_shredding_waits_for_the_agents_yes() {
    let scene = Scene::new().await;
    let path = "/v1/agents/wren/memories/1/shred";
    let reason = json!({"reason": PURPOSE});
    let is_there = async || {
        let memory = scene.wren.get("/v1/agents/wren/memories/1").await;
        memory.expect(200)["content"].to_string().contains(CANARY)
    };
    let stale = [("if-match", "\"000000000000000000000000\"")];
    let changed = scene.ada.send_with("POST", path, &reason, &stale).await;
    changed.refused(412, "precondition_failed");
    let long = json!({"reason": "x".repeat(1_001)});
    scene.ada.post(path, long).await.refused(400, "too_long");
    let unknown = "/v1/agents/wren/memories/99/shred";
    let unknown = scene.ada.post(unknown, reason.clone()).await;
    unknown.refused(404, "not_found");
    for granted in [false, true] {
        let asked = scene.ada.post(path, reason.clone()).await.expect(202);
        asked.has(json!({"kind": "shred", "memory": 1, "state": "asked", "purpose": PURPOSE}));
        let id = asked["id"].as_str().unwrap();
        let answer = format!("/v1/access-requests/{id}/answer");
        let by_herself = scene.ada.post(&answer, json!({"granted": true})).await;
        by_herself.refused(403, "forbidden");
        assert!(is_there().await);
        let (state, code) = match granted {
            true => ("done", "shredded"),
            false => ("refused", "refused_before"),
        };
        assert_eq!(scene.answer(id, granted).await["state"], state);
        assert_eq!(is_there().await, !granted);
        // After a no it is not asked again for a day.
        let again = scene.ada.post(path, reason.clone()).await;
        again.refused(409, code);
        scene.installation.clock.advance(minutes(24 * 60));
    }
}

#[tokio::test]
async fn spec_5_2_the_service_asks_the_agents_model() {
    let script = Arc::new(ModelScript::always(Turn::text("YES. You may look.")));
    let model = SetModel::default();
    model.set(script.clone());
    let installation = Installation::with(Arc::new(model), InstallationSettings::default()).await;
    let (agent, wren) = installation.agent_with("wren", &["Ada keeps bees."]).await;
    let model = [(Field::Model, Some("lab:wren"))];
    agent.settings().configure(&model, &owner()).await.unwrap();
    let ada = installation.administrator().await;
    let body = json!({"purpose": PURPOSE, "scope": "core", "minutes": 5});
    let request = ada.created(REQUESTS, body).await;
    let path = format!("/v1/access-requests/{}", request["id"].as_str().unwrap());
    for _ in 0..1_000 {
        if wren.shown(&path).await["state"] != "asked" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answered = ada.shown(&path).await;
    answered.has(json!({"state": "granted", "reason": "You may look."}));
    let told = script.requests();
    assert_eq!(told.len(), 1);
    let Some(memoir_model::ModelMessage::User(question)) = told[0].messages.first() else {
        panic!("the model is asked");
    };
    assert!(question.expose().contains(PURPOSE));
    let memory = ada.shown("/v1/agents/wren/memories/1").await;
    assert_eq!(memory["content"], "Ada keeps bees.");
}

#[tokio::test]
async fn the_protocol_over_http_tells_who_asks_and_has_the_person_asked() {
    let scene = Scene::new().await;
    let request = scene.ask(&scene.ada, "core", 5).await;
    let call = async |tool: &str, arguments: Value, said: Value| {
        let mut params = json!({
            "name": tool, "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            },
        });
        if !said.is_null() {
            params["inputResponses"] = json!({"answer": said});
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
        ];
        let answer = scene.wren.send_with("POST", "/mcp", &body, &headers).await;
        answer.expect(200)["result"].clone()
    };
    let context = call("get_context", json!({}), Value::Null).await;
    let told = &context["structuredContent"]["access_requests"]["requests"][0];
    told.has(json!({"id": request, "purpose": PURPOSE}));
    let ask = json!({"request_id": request});
    let first = call("answer_access_request", ask.clone(), Value::Null).await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    let form = &first["inputRequests"]["answer"];
    assert_eq!(form["method"], "elicitation/create");
    form["params"]["message"].as_str().unwrap().tells(PURPOSE);
    assert_eq!(scene.show(&request, &scene.wren).await["state"], "asked");
    let cancel = json!({"action": "cancel"});
    let put_off = call("answer_access_request", ask.clone(), cancel).await;
    assert_eq!(put_off["structuredContent"]["state"], "asked");
    let yes = json!({"action": "accept", "content": {"granted": true, "reason": "look"}});
    let answered = call("answer_access_request", ask, yes).await;
    answered["structuredContent"].has(json!({"state": "granted"}));
}
