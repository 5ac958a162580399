//! `GET /v1/sessions/{id}/events`

use std::time::Duration;

use memoir_app::{Provision, Quota, sessions::RefineOptions};
use memoir_service::ServiceOptions;
use memoir_testkit::{TestedObject, TestedText, Turn};
use serde_json::{Value, json};

use crate::{
    events::{as_rest, events_of, records, watch},
    installation::{CANARY, Installation, owner},
};

/// A stop waits longer than any test may take, so that whatever holds it up shows.
fn options() -> ServiceOptions {
    ServiceOptions {
        stop_time: Duration::from_secs(600),
        ..ServiceOptions::default()
    }
}

fn without_usage(mut session: Value) -> Value {
    session.as_object_mut().unwrap().remove("usage");
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_watched_while_its_model_edits() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let wait = Duration::from_millis(150);
    installation.model.script([
        Turn::text("YES").after(wait),
        Turn::call("delete_memory", json!({"id": 6})).after(wait),
        Turn::call("protect_memory", json!({"id": 1})).after(wait),
        Turn::call(
            "complete_refinement",
            json!({"summary": format!("{CANARY} rests.")}),
        )
        .after(wait),
    ]);
    let path = "/v1/agents/wren/sessions";
    let queued = service.post(path, &wren.token, json!({"driver": "model"}));
    let id = queued.await.succeeded()["id"].as_str().unwrap().to_owned();
    let mut stream = events_of(&service, (&id, &wren.token), None).await;
    let events = stream.rest().await;
    let (last, before) = events.split_last().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.data["state"]),
        ("ended", &json!("completed"))
    );
    assert!(before.iter().all(|event| event.kind != "ended"));
    assert!(before.iter().any(|event| event.kind == "session"));
    // Word for word what REST shows, to the agent.
    let shown = service
        .shown(&format!("/v1/sessions/{id}"), &wren.token)
        .await;
    assert_eq!(without_usage(as_rest(last)), without_usage(shown));
    let path = format!("/v1/agents/wren/audit?session={id}");
    let kept = service.shown(&path, &wren.token).await;
    let seen: Vec<Value> = records(&events).iter().map(as_rest).collect();
    assert_eq!(json!(seen), kept["items"]);
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
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_13_a_trip_of_the_breaker_is_watched_to_its_rollback() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let id = service.open_session("wren", &wren.token).await;
    let at = (id.as_str(), wren.token.as_str());
    let mut stream = events_of(&service, at, None).await;
    let opened = stream.next().await.unwrap();
    assert_eq!(
        (opened.kind.as_str(), &opened.data["state"]),
        ("session", &json!("open"))
    );
    let pre = opened.data["pre_session_tokens"].clone();
    assert_eq!(opened.data["core_tokens"], pre);
    service
        .tool(&id, &wren.token, "delete_memory", json!({"id": 6}))
        .await;
    let tripped = service
        .tool(&id, &wren.token, "delete_memory", json!({"id": 5}))
        .await;
    assert_eq!(tripped["type"], "refinement_rolled_back");
    let events = stream.rest().await;
    let actions: Vec<&Value> = events
        .iter()
        .filter(|event| event.kind == "record")
        .map(|event| &event.data["action"])
        .collect();
    assert_eq!(
        actions,
        [
            "memory_refinement_delete",
            "memory_refinement_delete",
            "memory_refinement_rollback"
        ]
    );
    let rolled_back = records(&events).pop().unwrap();
    assert_eq!(rolled_back.data["core_tokens"], pre);
    let last = events.last().unwrap();
    assert_eq!(last.kind, "ended");
    last.data.has(json!({
        "state": "rolled_back", "end_reason": "breaker_mass", "core_tokens": pre,
    }));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_back_goes_on_without_gaps_and_repeats() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let id = service.open_session("wren", &wren.token).await;
    let at = (id.as_str(), wren.token.as_str());
    let mut stream = events_of(&service, at, None).await;
    service
        .tool(&id, &wren.token, "delete_memory", json!({"id": 6}))
        .await;
    let before = stream.until(|event| event.data["edits"] == 1).await;
    drop(stream);
    let last = before.last().unwrap().id.clone();
    // Nothing that was seen comes again while nothing happens; what happens then comes.
    let mut stream = events_of(&service, at, Some(&last)).await;
    service
        .tool(&id, &wren.token, "protect_memory", json!({"id": 1}))
        .await;
    let next = stream.next().await.unwrap();
    assert_eq!(next.data["action"], "memory_refinement_protect");
    drop(stream);
    // Across a restart of the service, too.
    service.stop().await;
    let service = installation.serve(options()).await;
    let mut stream = events_of(&service, at, Some(&next.id)).await;
    let summary = json!({"summary": "Done."});
    service
        .tool(&id, &wren.token, "complete_refinement", summary)
        .await;
    stream.until(|event| event.kind == "ended").await;
    assert_eq!(stream.next().await, None);
    let all = events_of(&service, at, None).await.rest().await;
    for (number, seen) in all.iter().enumerate() {
        let response = watch(&service, at, Some(&seen.id)).await;
        if number + 1 == all.len() {
            assert_eq!(response.status(), 204);
            continue;
        }
        let rest = events_of(&service, at, Some(&seen.id)).await.rest().await;
        assert_eq!(rest, all[number + 1..], "after {}", seen.id);
    }
    let foreign = watch(&service, at, Some("of-another-stream")).await;
    assert_eq!(foreign.status(), 400);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_1_an_administrator_watches_without_words() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let gull = installation.refiner("other", "gull").await;
    let service = installation.serve(options()).await;
    let administrator = installation.administrator().await;
    let id = service.open_session("wren", &wren.token).await;
    let mut stream = events_of(&service, (&id, &administrator), None).await;
    let tightened = json!({"id": 6, "content": format!("{CANARY} 6 {}", "sings ".repeat(64))});
    service
        .tool(&id, &wren.token, "update_memory", tightened)
        .await;
    let summary = json!({"summary": format!("{CANARY} rests.")});
    service
        .tool(&id, &wren.token, "complete_refinement", summary)
        .await;
    let events = stream.rest().await;
    assert!(events.len() > 3, "{events:?}");
    for event in &events {
        event.text.omits(CANARY);
    }
    let shown = service
        .shown(&format!("/v1/sessions/{id}"), &administrator)
        .await;
    assert_eq!(as_rest(events.last().unwrap()), shown);
    let path = format!("/v1/agents/wren/audit?session={id}");
    let kept = service.shown(&path, &administrator).await;
    let seen: Vec<Value> = records(&events).iter().map(as_rest).collect();
    assert_eq!(json!(seen), kept["items"]);
    // Another agent's is not found.
    let foreign = service.open_session("gull", &gull.token).await;
    for token in [&administrator, &wren.token] {
        let response = watch(&service, (&foreign, token), None).await;
        assert_eq!(response.status(), 404);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_process_does_is_seen_too() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let id = service.open_session("wren", &wren.token).await;
    let mut stream = events_of(&service, (&id, &wren.token), None).await;
    stream.until(|event| event.kind == "session").await;
    // Not through the service.
    wren.agent
        .sessions()
        .cancel(id.parse().unwrap(), &owner())
        .await
        .unwrap();
    let events = stream.rest().await;
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["record", "ended"]);
    assert_eq!(events[1].data["state"], "abandoned");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_beside_the_session_moves_the_core_size_and_the_line() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let id = service.open_session("wren", &wren.token).await;
    let mut stream = events_of(&service, (&id, &wren.token), None).await;
    let first = stream.next().await.unwrap();
    let memory = json!({"content": "One more of twenty characters", "kind": "core"});
    service
        .post("/v1/agents/wren/memories", &wren.token, memory)
        .await
        .succeeded();
    let second = stream.next().await.unwrap();
    let core_tokens = |event: &crate::events::Event| event.data["core_tokens"].as_u64().unwrap();
    assert_eq!(core_tokens(&second), core_tokens(&first) + 8);
    let stricter = json!({"value": "1"});
    let path = "/v1/agents/wren/self/refinement_threshold";
    let answer = service.send("PUT", path, &wren.token, &stricter).await;
    answer.succeeded();
    let third = stream.next().await.unwrap();
    assert_eq!(
        third.data["breaker_tokens"],
        first.data["pre_session_tokens"]
    );
    // A journal entry changes nothing that is shown.
    let entry = json!({"content": "Today.", "kind": "journal"});
    service
        .post("/v1/agents/wren/memories", &wren.token, entry)
        .await
        .succeeded();
    service
        .post(&format!("/v1/sessions/{id}/cancel"), &wren.token, json!({}))
        .await
        .succeeded();
    let rest: Vec<String> = stream
        .rest()
        .await
        .into_iter()
        .map(|event| event.kind)
        .collect();
    assert_eq!(rest, ["record", "ended"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_counts_no_longer_ends_its_streams() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let id = service.open_session("wren", &wren.token).await;
    let revoked = wren
        .agent
        .grants()
        .create_token(Provision::Any, None, &owner())
        .await
        .unwrap();
    let soon = installation.memoir.now().plus_seconds(3_600);
    let expiring = wren
        .agent
        .grants()
        .create_token(Provision::Any, Some(soon), &owner())
        .await
        .unwrap();
    let mut first = events_of(&service, (&id, revoked.secret.expose()), None).await;
    let mut second = events_of(&service, (&id, expiring.secret.expose()), None).await;
    let mut third = events_of(&service, (&id, &wren.token), None).await;
    let account = installation.account("default").await;
    account
        .revoke_token(revoked.view.id, &owner())
        .await
        .unwrap();
    let rest = first.rest().await;
    assert!(rest.iter().all(|event| event.kind == "session"));
    installation.clock.advance(Duration::from_secs(3_600));
    let rest = second.rest().await;
    assert!(rest.iter().all(|event| event.kind == "session"));
    // The other goes on.
    wren.agent
        .sessions()
        .cancel(id.parse().unwrap(), &owner())
        .await
        .unwrap();
    third.until(|event| event.kind == "ended").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_tells_nothing_that_happens_after_its_token_was_revoked() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let id = service.open_session("wren", &wren.token).await;
    let person = owner();
    let made = wren
        .agent
        .grants()
        .create_token(Provision::Any, None, &person);
    let revoked = made.await.unwrap();
    let at = (id.as_str(), revoked.secret.expose());
    let mut stream = events_of(&service, at, None).await;
    stream.until(|event| event.kind == "session").await;
    let account = installation.account("default").await;
    let revoking = account.revoke_token(revoked.view.id, &person);
    revoking.await.unwrap();
    let done = service.tool(&id, &wren.token, "protect_memory", json!({"id": 1}));
    done.await;
    assert_eq!(records(&stream.rest().await), []);
    service.stop().await;
}

/// Here the clock goes on between any two looks, as clocks do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_4_2_a_rehearsal_ends_when_its_record_says() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let path = "/v1/agents/wren/sessions";
    let complete = json!({"summary": format!("{CANARY} rests.")});
    let own = json!({"driver": "agent", "rehearsal": true});
    let own = service.post(path, &wren.token, own).await.succeeded();
    let id = own["id"].as_str().unwrap().to_owned();
    service
        .tool(&id, &wren.token, "complete_refinement", complete.clone())
        .await;
    installation.model.script([
        Turn::text("YES"),
        Turn::call("complete_refinement", complete),
    ]);
    let driven = json!({"driver": "model", "rehearsal": true});
    let driven = service.post(path, &wren.token, driven).await.succeeded();
    let id = driven["id"].as_str().unwrap().to_owned();
    let mut stream = events_of(&service, (&id, &wren.token), None).await;
    stream.until(|event| event.kind == "ended").await;
    let verified = wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.first_bad, None);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_6_1_an_agent_has_so_many_streams_by_all_of_its_tokens_and_no_more() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    let id = service.open_session("wren", &wren.token).await;
    let made = service.post("/v1/agents/wren/tokens", &wren.token, json!({}));
    let second = made.await.succeeded()["token"].as_str().unwrap().to_owned();
    let at = (id.as_str(), wren.token.as_str());
    let mut one = events_of(&service, at, None).await;
    let two = events_of(&service, (&id, &second), None).await;
    let most = Quota::AgentStreams.default().unwrap();
    let mut others = Vec::new();
    for _ in 2..most {
        others.push(events_of(&service, at, None).await);
    }
    for token in [&wren.token, &second] {
        let refused = watch(&service, (&id, token), None).await;
        assert_eq!(refused.status(), 429);
    }
    let refused = watch(&service, at, None).await;
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    let problem: Value = refused.json().await.unwrap();
    assert_eq!(problem["code"], "rate_limited");
    let administrator = installation.administrator().await;
    events_of(&service, (&id, &administrator), None).await;
    drop(two);
    while watch(&service, at, None).await.status() == 429 {
        tokio::task::yield_now().await;
    }
    assert_eq!(one.next().await.unwrap().kind, "session");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_streams_at_once_and_a_silent_one_beats() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let beating = ServiceOptions {
        stream_beat: Duration::from_millis(1),
        ..options()
    };
    let service = installation.serve(beating).await;
    let id = service.open_session("wren", &wren.token).await;
    let mut stream = events_of(&service, (&id, &wren.token), None).await;
    assert_eq!(stream.next().await.unwrap().kind, "session");
    // Something comes although nothing happens.
    let wait = tokio::time::timeout(Duration::from_secs(3), stream.next()).await;
    assert!(wait.is_err(), "{wait:?}");
    assert!(stream.beats > 0);
    // A client that reads nothing blocks nothing either.
    let _unread = watch(&service, (&id, &wren.token), None).await;
    service.stop().await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rehearsal_and_a_refusal_are_watched_to_their_ends() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let service = installation.serve(options()).await;
    installation
        .model
        .script([Turn::text(&format!("No, {CANARY}."))]);
    let driven = wren
        .agent
        .views()
        .seen_by(memoir_app::Viewer::Agent)
        .refine(&RefineOptions::default(), &mut |_| {})
        .await
        .unwrap();
    let id = driven.id.to_string();
    let events = events_of(&service, (&id, &wren.token), None)
        .await
        .rest()
        .await;
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["record", "ended"]);
    // The session was never opened.
    let ended = &events[1].data;
    ended.has(json!({"state": "declined", "core_tokens": null, "breaker_tokens": null}));
    // Another agent: this one is not asked again today.
    let wren = installation.refiner("default", "robin").await;
    installation.model.script([
        Turn::text("YES"),
        Turn::call("delete_memory", json!({"id": 6})),
        Turn::call("complete_refinement", json!({"summary": "Done."})),
    ]);
    let rehearsed = RefineOptions {
        rehearsal: true,
        ..RefineOptions::default()
    };
    let driven = wren
        .agent
        .views()
        .seen_by(memoir_app::Viewer::Agent)
        .refine(&rehearsed, &mut |_| {})
        .await
        .unwrap();
    let id = driven.id.to_string();
    let events = events_of(&service, (&id, &wren.token), None)
        .await
        .rest()
        .await;
    let ended = &events.last().unwrap().data;
    ended.has(json!({"state": "completed", "rehearsal": true}));
    assert_eq!(ended["core_tokens"], ended["post_session_tokens"]);
    service.stop().await;
}
