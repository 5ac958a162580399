//! `GET /v1/sessions/{id}/events`

use std::time::Duration;

use memoir_app::{Provision, Quota, TokenWithSecret, sessions::RefineOptions};
use memoir_domain::Timestamp;
use memoir_service::ServiceOptions;
use memoir_testkit::{Served, TestedObject, TestedText, Turn};
use reqwest::Response;
use serde_json::{Value, json};

use crate::{
    events::{Event, Events},
    installation::{CANARY, Installation, Tenant, owner},
};

/// A stop waits longer than any test may take, so that whatever holds it up shows.
fn options() -> ServiceOptions {
    ServiceOptions {
        stop_time: Duration::from_secs(600),
        ..ServiceOptions::default()
    }
}

/// A service, and the agent Wren on it.
struct Watched {
    installation: Installation,
    wren: Tenant,
    service: Served,
    /// The session that is watched; blank before there is one.
    id: String,
}

impl Watched {
    async fn new() -> Self {
        Self::with(options()).await
    }

    async fn with(options: ServiceOptions) -> Self {
        let installation = Installation::new();
        Self {
            wren: installation.refiner("default", "wren").await,
            service: installation.serve(options).await,
            installation,
            id: String::new(),
        }
    }

    /// With a session that Wren drives itself.
    async fn open() -> Self {
        let mut watched = Self::new().await;
        watched.begin_open().await;
        watched
    }

    async fn begin_open(&mut self) {
        self.id = self.service.open_session("wren", &self.wren.token).await;
    }

    /// Begins another session, as `body` says.
    async fn begin(&mut self, body: Value) {
        let path = "/v1/agents/wren/sessions";
        let begun = self.service.post(path, &self.wren.token, body).await;
        self.id = begun.succeeded()["id"].as_str().unwrap().to_owned();
    }

    async fn tool(&self, tool: &str, arguments: Value) -> Value {
        let token = &self.wren.token;
        self.service.tool(&self.id, token, tool, arguments).await
    }

    async fn complete(&self, summary: &str) {
        let summary = json!({"summary": summary});
        self.tool("complete_refinement", summary).await;
    }

    /// Ends the session in another process.
    async fn cancel(&self) {
        let (sessions, id) = (self.wren.agent.sessions(), self.id.parse().unwrap());
        sessions.cancel(id, &owner()).await.unwrap();
    }

    async fn another_token(&self, expires_at: Option<Timestamp>) -> TokenWithSecret {
        let (grants, owner) = (self.wren.agent.grants(), owner());
        let made = grants.create_token(Provision::Any, expires_at, &owner);
        made.await.unwrap()
    }

    async fn revoke(&self, token: &TokenWithSecret) {
        let account = self.installation.account("default").await;
        let revoked = account.revoke_token(token.view.id, &owner()).await;
        revoked.unwrap();
    }

    /// What REST shows of the session to the holder of that token.
    async fn shown(&self, token: &str) -> Value {
        let path = format!("/v1/sessions/{}", self.id);
        self.service.shown(&path, token).await
    }

    /// The session's records, as REST shows them to the holder of that token.
    async fn kept(&self, token: &str) -> Value {
        let path = format!("/v1/agents/wren/audit?session={}", self.id);
        self.service.shown(&path, token).await["items"].take()
    }

    /// The response to the holder of that token, who has seen everything up to `last`.
    async fn answer(&self, token: &str, last: Option<&str>) -> Response {
        let path = format!("/v1/sessions/{}/events", self.id);
        let mut request = self.service.request("GET", &path, token);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        request.send().await.unwrap()
    }

    async fn status(&self, token: &str) -> u16 {
        self.answer(token, None).await.status().as_u16()
    }

    /// The events after `last`, as Wren sees them.
    async fn events_after(&self, last: &str) -> Events {
        Events::of(self.answer(&self.wren.token, Some(last)).await)
    }

    async fn events_for(&self, token: &str) -> Events {
        Events::of(self.answer(token, None).await)
    }

    async fn events(&self) -> Events {
        self.events_for(&self.wren.token).await
    }
}

/// Those of the records.
fn records(events: &[Event]) -> Vec<Event> {
    let records = events.iter().filter(|event| event.kind == "record");
    records.cloned().collect()
}

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

fn is_session(event: &Event) -> bool {
    event.kind == "session"
}

fn is_end(event: &Event) -> bool {
    event.kind == "ended"
}

/// The data without the fields that REST does not show.
fn as_rest(event: &Event) -> Value {
    let mut data = event.data.clone();
    let object = data.as_object_mut().unwrap();
    for field in [
        "core_tokens",
        "breaker_tokens",
        "removable_tokens",
        "edits_left",
    ] {
        object.remove(field);
    }
    data
}

fn without_usage(mut session: Value) -> Value {
    session.as_object_mut().unwrap().remove("usage");
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_watched_while_its_model_edits() {
    let mut watched = Watched::new().await;
    let wait = Duration::from_millis(150);
    let summary = json!({"summary": format!("{CANARY} rests.")});
    watched.installation.model.script([
        // The stream is open before it ends, on a slow machine too.
        Turn::text("YES").after(20 * wait),
        Turn::call("delete_memory", json!({"id": 6})).after(wait),
        Turn::call("protect_memory", json!({"id": 1})).after(wait),
        Turn::call("complete_refinement", summary).after(wait),
    ]);
    watched.begin(json!({"driver": "model"})).await;
    let events = watched.events().await.rest().await;
    let (last, before) = events.split_last().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.data["state"]),
        ("ended", &json!("completed"))
    );
    assert!(!before.iter().any(is_end));
    assert!(before.iter().any(is_session));
    // Word for word what REST shows, to the agent.
    let shown = watched.shown(&watched.wren.token).await;
    assert_eq!(without_usage(as_rest(last)), without_usage(shown));
    let seen: Vec<Value> = records(&events).iter().map(as_rest).collect();
    assert_eq!(json!(seen), watched.kept(&watched.wren.token).await);
    assert!(last.text.contains(CANARY));
    // The core size falls by the removed tokens, and stays over the line.
    let sizes: Vec<Value> = records(&events)
        .iter()
        .map(|event| event.data["core_tokens"].clone())
        .collect();
    let pre = last.data["pre_session_tokens"].as_u64().unwrap();
    let removed = last.data["removed_tokens"].as_u64().unwrap();
    assert_eq!(
        sizes,
        [json!(pre - removed), Value::Null, json!(pre - removed)]
    );
    let line = last.data["breaker_tokens"].as_u64().unwrap();
    assert_eq!(line, (pre * 3).div_ceil(4));
    assert_eq!(last.data["edits_left"], 9);
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_13_a_trip_of_the_breaker_is_watched_to_its_rollback() {
    let watched = Watched::open().await;
    let mut stream = watched.events().await;
    let opened = stream.next().await.unwrap();
    assert_eq!(
        (opened.kind.as_str(), &opened.data["state"]),
        ("session", &json!("open"))
    );
    let pre = opened.data["pre_session_tokens"].clone();
    assert_eq!(opened.data["core_tokens"], pre);
    watched.tool("delete_memory", json!({"id": 6})).await;
    let tripped = watched.tool("delete_memory", json!({"id": 5})).await;
    assert_eq!(tripped["type"], "refinement_rolled_back");
    let events = stream.rest().await;
    let records = records(&events);
    let actions: Vec<&Value> = records.iter().map(|event| &event.data["action"]).collect();
    assert_eq!(
        actions,
        [
            "memory_refinement_delete",
            "memory_refinement_delete",
            "memory_refinement_rollback"
        ]
    );
    assert_eq!(records[2].data["core_tokens"], pre);
    let last = events.last().unwrap();
    assert_eq!(last.kind, "ended");
    last.data.has(json!({
        "state": "rolled_back", "end_reason": "breaker_mass", "core_tokens": pre,
    }));
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reconnects_sees_no_gap_and_no_repetition() {
    let mut watched = Watched::open().await;
    let mut stream = watched.events().await;
    watched.tool("delete_memory", json!({"id": 6})).await;
    let before = stream.until(|event| event.data["edits"] == 1).await;
    drop(stream);
    // Nothing that was seen comes again while nothing happens; what happens then comes.
    let mut stream = watched.events_after(&before.last().unwrap().id).await;
    watched.tool("protect_memory", json!({"id": 1})).await;
    let next = stream.next().await.unwrap();
    assert_eq!(next.data["action"], "memory_refinement_protect");
    drop(stream);
    // Across a restart of the service, too.
    watched.service.stop().await;
    watched.service = watched.installation.serve(options()).await;
    let mut stream = watched.events_after(&next.id).await;
    watched.complete("Done.").await;
    stream.until(is_end).await;
    assert_eq!(stream.next().await, None);
    let all = watched.events().await.rest().await;
    for (number, seen) in all.iter().enumerate() {
        if number + 1 == all.len() {
            let response = watched.answer(&watched.wren.token, Some(&seen.id)).await;
            assert_eq!(response.status(), 204);
            continue;
        }
        let rest = watched.events_after(&seen.id).await.rest().await;
        assert_eq!(rest, all[number + 1..], "after {}", seen.id);
    }
    let token = &watched.wren.token;
    let foreign = watched.answer(token, Some("of-another-stream")).await;
    assert_eq!(foreign.status(), 400);
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_1_an_administrator_watches_without_words() {
    let mut watched = Watched::open().await;
    let gull = watched.installation.refiner("other", "gull").await;
    let administrator = watched.installation.administrator().await;
    let mut stream = watched.events_for(&administrator).await;
    let tightened = json!({"id": 6, "content": format!("{CANARY} 6 {}", "sings ".repeat(64))});
    watched.tool("update_memory", tightened).await;
    watched.complete(&format!("{CANARY} rests.")).await;
    let events = stream.rest().await;
    assert!(events.len() > 3, "{events:?}");
    for event in &events {
        event.text.omits(CANARY);
    }
    let shown = watched.shown(&administrator).await;
    assert_eq!(as_rest(events.last().unwrap()), shown);
    let seen: Vec<Value> = records(&events).iter().map(as_rest).collect();
    assert_eq!(json!(seen), watched.kept(&administrator).await);
    // Another agent's is not found.
    watched.id = watched.service.open_session("gull", &gull.token).await;
    for token in [&administrator, &watched.wren.token] {
        assert_eq!(watched.status(token).await, 404);
    }
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_process_does_is_seen_too() {
    let watched = Watched::open().await;
    let mut stream = watched.events().await;
    stream.until(is_session).await;
    watched.cancel().await;
    let events = stream.rest().await;
    assert_eq!(kinds(&events), ["record", "ended"]);
    assert_eq!(events[1].data["state"], "abandoned");
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_beside_the_session_moves_the_core_size_and_the_line() {
    let watched = Watched::open().await;
    let mut stream = watched.events().await;
    let (service, token) = (&watched.service, &watched.wren.token);
    let first = stream.next().await.unwrap();
    let memories = "/v1/agents/wren/memories";
    let memory = json!({"content": "One more of twenty characters", "kind": "core"});
    service.post(memories, token, memory).await.succeeded();
    let second = stream.next().await.unwrap();
    let core_tokens = |event: &Event| event.data["core_tokens"].as_u64().unwrap();
    assert_eq!(core_tokens(&second), core_tokens(&first) + 8);
    let stricter = json!({"value": "1"});
    let path = "/v1/agents/wren/self/refinement_threshold";
    let answer = service.send("PUT", path, token, &stricter).await;
    answer.succeeded();
    let third = stream.next().await.unwrap();
    assert_eq!(
        third.data["breaker_tokens"],
        first.data["pre_session_tokens"]
    );
    // A journal entry changes nothing that is shown.
    let entry = json!({"content": "Today.", "kind": "journal"});
    service.post(memories, token, entry).await.succeeded();
    let cancel = format!("/v1/sessions/{}/cancel", watched.id);
    service.post(&cancel, token, json!({})).await.succeeded();
    assert_eq!(kinds(&stream.rest().await), ["record", "ended"]);
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_counts_no_longer_ends_its_streams() {
    let watched = Watched::open().await;
    let revoked = watched.another_token(None).await;
    let soon = watched.installation.memoir.now().plus_seconds(3_600);
    let expiring = watched.another_token(Some(soon)).await;
    let mut first = watched.events_for(revoked.secret.expose()).await;
    let mut second = watched.events_for(expiring.secret.expose()).await;
    let mut third = watched.events().await;
    watched.revoke(&revoked).await;
    assert!(first.rest().await.iter().all(is_session));
    let clock = &watched.installation.clock;
    clock.advance(Duration::from_secs(3_600));
    assert!(second.rest().await.iter().all(is_session));
    // The other goes on.
    watched.cancel().await;
    third.until(is_end).await;
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_tells_nothing_that_happens_after_its_token_was_revoked() {
    let watched = Watched::open().await;
    let revoked = watched.another_token(None).await;
    let mut stream = watched.events_for(revoked.secret.expose()).await;
    stream.until(is_session).await;
    watched.revoke(&revoked).await;
    watched.tool("protect_memory", json!({"id": 1})).await;
    assert_eq!(records(&stream.rest().await), []);
    watched.service.stop().await;
}

/// Here the clock goes on between any two looks, as clocks do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_4_2_a_rehearsal_ends_when_its_record_says() {
    let mut watched = Watched::new().await;
    let summary = format!("{CANARY} rests.");
    let own = json!({"driver": "agent", "rehearsal": true});
    watched.begin(own).await;
    watched.complete(&summary).await;
    watched.installation.model.script([
        Turn::text("YES"),
        Turn::call("complete_refinement", json!({"summary": summary})),
    ]);
    let driven = json!({"driver": "model", "rehearsal": true});
    watched.begin(driven).await;
    watched.events().await.until(is_end).await;
    let verified = watched.wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.first_bad, None);
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_an_agent_has_so_many_streams_by_all_of_its_tokens_and_no_more() {
    let watched = Watched::open().await;
    let token = &watched.wren.token;
    let made = watched
        .service
        .post("/v1/agents/wren/tokens", token, json!({}));
    let second = made.await.succeeded()["token"].as_str().unwrap().to_owned();
    let mut one = watched.events().await;
    let two = watched.events_for(&second).await;
    let most = Quota::AgentStreams.default().unwrap();
    let mut others = Vec::new();
    for _ in 2..most {
        others.push(watched.events().await);
    }
    assert_eq!(watched.status(&second).await, 429);
    let refused = watched.answer(token, None).await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "rate_limited");
    let administrator = watched.installation.administrator().await;
    watched.events_for(&administrator).await;
    drop(two);
    while watched.status(token).await == 429 {
        tokio::task::yield_now().await;
    }
    assert_eq!(one.next().await.unwrap().kind, "session");
    watched.service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_streams_at_once_and_a_silent_one_beats() {
    let beating = ServiceOptions {
        stream_beat: Duration::from_millis(1),
        ..options()
    };
    let mut watched = Watched::with(beating).await;
    watched.begin_open().await;
    let mut stream = watched.events().await;
    assert_eq!(stream.next().await.unwrap().kind, "session");
    // Something comes although nothing happens.
    let wait = tokio::time::timeout(Duration::from_secs(3), stream.next()).await;
    assert!(wait.is_err(), "{wait:?}");
    assert!(stream.beats > 0);
    // A client that reads nothing blocks nothing either.
    let _unread = watched.answer(&watched.wren.token, None).await;
    watched.service.stop().await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rehearsal_and_a_refusal_are_watched_to_their_ends() {
    let mut watched = Watched::new().await;
    let refine = async |wren: &Tenant, options: RefineOptions| {
        let own = wren.agent.views().seen_by(memoir_app::Viewer::Agent);
        let driven = own.refine(&options, &mut |_| {}).await;
        driven.unwrap().id.to_string()
    };
    let model = &watched.installation.model;
    model.script([Turn::text(&format!("No, {CANARY}."))]);
    watched.id = refine(&watched.wren, RefineOptions::default()).await;
    let events = watched.events().await.rest().await;
    assert_eq!(kinds(&events), ["record", "ended"]);
    // The session was never opened.
    let ended = &events[1].data;
    ended.has(json!({"state": "declined", "core_tokens": null, "breaker_tokens": null}));
    // Another agent: this one is not asked again today.
    watched.wren = watched.installation.refiner("default", "robin").await;
    watched.installation.model.script([
        Turn::text("YES"),
        Turn::call("delete_memory", json!({"id": 6})),
        Turn::call("complete_refinement", json!({"summary": "Done."})),
    ]);
    let rehearsed = RefineOptions {
        rehearsal: true,
        ..RefineOptions::default()
    };
    watched.id = refine(&watched.wren, rehearsed).await;
    let events = watched.events().await.rest().await;
    let ended = &events.last().unwrap().data;
    ended.has(json!({"state": "completed", "rehearsal": true}));
    assert_eq!(ended["core_tokens"], ended["post_session_tokens"]);
    watched.service.stop().await;
}
