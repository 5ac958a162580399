//! Webhooks, sent to receivers on this machine.

use std::{collections::BTreeSet, time::Duration};

use memoir_service::{ServiceOptions, Webhook};
use memoir_testkit::{TestedObject, TestedText};
use serde_json::{Value, json};

use crate::{
    installation::{CANARY, Installation},
    receiver::{Receiver, SECRET},
};

const PAGE: &str = include_str!("../../../../docs/webhooks.md");

fn to(url: &str, allow_private: bool) -> Webhook {
    Webhook::new(url, SECRET, None, allow_private).unwrap()
}

fn options(webhooks: Vec<Webhook>) -> ServiceOptions {
    ServiceOptions {
        stop_time: Duration::from_secs(600),
        webhooks,
        ..ServiceOptions::default()
    }
}

/// A service that tells that receiver.
fn telling(receiver: &Receiver) -> ServiceOptions {
    options(vec![to(&receiver.url(), true)])
}

/// Until that is so; the clock is put forward by so many seconds at a time.
async fn until(installation: &Installation, seconds: u64, is_so: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if is_so() {
            return;
        }
        installation.clock.advance(Duration::from_secs(seconds));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (attempts, receivers) = (installation.attempts(), installation.receivers());
    panic!("{attempts:?} are still to be sent, to {receivers} receivers");
}

/// Puts the clock forward until so many requests came.
async fn in_time(installation: &Installation, receiver: &Receiver, count: usize) {
    until(installation, 3_600, || receiver.received().len() >= count).await;
}

/// Until no notice is pending.
async fn all_sent(installation: &Installation) {
    until(installation, 0, || installation.attempts().is_empty()).await;
}

/// Until the service has registered its receivers.
async fn registered(installation: &Installation, receivers: usize) {
    until(installation, 0, || installation.receivers() == receivers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_is_told_signed_and_without_words() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    installation.run_session(&wren).await;
    let receiver = Receiver::start(&[]).await;
    let service = installation.serve(telling(&receiver)).await;
    registered(&installation, 1).await;
    let id = service.open_session("wren", &wren.token).await;
    service
        .tool(&id, &wren.token, "delete_memory", json!({"id": 6}))
        .await;
    let summary = json!({"summary": format!("{CANARY} rests.")});
    service
        .tool(&id, &wren.token, "complete_refinement", summary)
        .await;
    installation.clock.advance(Duration::from_secs(2));
    let received = receiver.wait_for(1).await;
    all_sent(&installation).await;
    // Nothing is sent about a session that ended before there was a webhook.
    assert_eq!(receiver.received().len(), 1);
    let told = &received[0];
    assert!(told.is_signed_with(SECRET));
    assert!(!told.is_signed_with("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
    assert_eq!(told.header("content-type"), "application/json");
    assert_eq!(told.header("webhook-id"), format!("session-ended-{id}"));
    let whole = format!("{}{}", told.head, String::from_utf8_lossy(&told.body));
    whole.omits(CANARY);
    let administrator = installation.administrator().await;
    let shown = service
        .shown(&format!("/v1/sessions/{id}"), &administrator)
        .await;
    let account = wren.agent.scope().account.to_string();
    let expected = json!({
        "id": format!("session-ended-{id}"),
        "type": "session.ended",
        "timestamp": shown["ended_at"],
        "data": {
            "account": "default",
            "account_id": account,
            "agent_id": wren.agent.scope().agent.to_string(),
            "session": shown,
        },
    });
    assert_eq!(told.json(), expected);
    // The page's headers and example; the session of the example has some of the fields.
    let sent = told.head.lines().filter_map(|line| line.split_once(": "));
    let sent = sent.map(|(header, _)| header);
    let own = |header: &&str| header.starts_with("webhook-");
    let stated: BTreeSet<&str> = PAGE.split('`').filter(own).collect();
    assert_eq!(sent.filter(own).collect::<BTreeSet<&str>>(), stated);
    let shown = PAGE.split("```json\n").nth(1).unwrap();
    let shown: Value = serde_json::from_str(shown.split("```").next().unwrap()).unwrap();
    assert_eq!(shown["type"], expected["type"]);
    let prefix = shown["id"].as_str().unwrap().get(..14);
    assert_eq!(prefix, Some("session-ended-"));
    let keys =
        |of: &Value| -> BTreeSet<String> { of.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&shown), keys(&expected));
    assert_eq!(keys(&shown["data"]), keys(&expected["data"]));
    let fields = keys(&expected["data"]["session"]);
    assert!(
        keys(&shown["data"]["session"]).is_subset(&fields),
        "{fields:?}"
    );
    // SPEC 3.14: how many memories were archived and summaries written, without their text.
    let session = &expected["data"]["session"];
    session.has(json!({"archived": 1, "summaries": 0}));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_arrive_is_sent_again_across_restarts_and_redirects_lead_nowhere() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let elsewhere = Receiver::start(&[]).await;
    let redirect = format!("307 Elsewhere\r\nlocation: {}", elsewhere.url());
    let receiver =
        Receiver::start(&["500 Broken", &redirect, "503 Later\r\nretry-after: 60"]).await;
    let service = installation.serve(telling(&receiver)).await;
    registered(&installation, 1).await;
    let first = installation.run_session(&wren).await;
    in_time(&installation, &receiver, 2).await;
    service.stop().await;
    // One ends while no service is there to report it.
    let second = installation.run_session(&wren).await;
    let service = installation.serve(telling(&receiver)).await;
    in_time(&installation, &receiver, 5).await;
    all_sent(&installation).await;
    let received = receiver.received();
    let ids: Vec<&str> = received
        .iter()
        .map(|told| told.header("webhook-id"))
        .collect();
    let of = |session: &str| ids.iter().filter(|id| id.ends_with(session)).count();
    // Three attempts came to nothing, two of them while there was only the first.
    assert_eq!((of(&first) + of(&second), ids.len()), (5, 5));
    assert!(of(&first) >= 3 && of(&second) >= 1, "{ids:?}");
    assert!(received.iter().all(|told| told.is_signed_with(SECRET)));
    assert!(elsewhere.received().is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_never_answers_well_is_given_up_after_a_day() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let receiver = Receiver::start(&["500 Broken"; 40]).await;
    let service = installation.serve(telling(&receiver)).await;
    registered(&installation, 1).await;
    installation.run_session(&wren).await;
    let began = installation.memoir.now();
    until(&installation, 600, || installation.attempts().is_empty()).await;
    assert_eq!(receiver.received().len(), 14);
    assert!(installation.memoir.now().seconds_since(began) > 20 * 3_600);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_gone_is_told_nothing_until_a_restart() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let receiver = Receiver::start(&["410 Gone"]).await;
    let service = installation.serve(telling(&receiver)).await;
    registered(&installation, 1).await;
    installation.run_session(&wren).await;
    in_time(&installation, &receiver, 1).await;
    all_sent(&installation).await;
    installation.run_session(&wren).await;
    assert_eq!(installation.attempts(), [0; 0]);
    service.stop().await;
    let service = installation.serve(telling(&receiver)).await;
    until(&installation, 0, || installation.closed_receivers() == 0).await;
    let third = installation.run_session(&wren).await;
    in_time(&installation, &receiver, 2).await;
    let received = receiver.received();
    assert_eq!((received.len(), received[1].session()), (2, third));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_for_an_account_is_told_of_that_account_only() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let gull = installation.refiner("Other", "gull").await;
    let [all, others] = [Receiver::start(&[]).await, Receiver::start(&[]).await];
    let of_other = Some(vec![" other".to_owned()]);
    let other = Webhook::new(&others.url(), SECRET, of_other, true).unwrap();
    let service = installation
        .serve(options(vec![to(&all.url(), true), other]))
        .await;
    registered(&installation, 2).await;
    installation.run_session(&wren).await;
    let id = installation.run_session(&gull).await;
    in_time(&installation, &all, 2).await;
    in_time(&installation, &others, 1).await;
    all_sent(&installation).await;
    let received = others.received();
    assert_eq!((received.len(), received[0].session()), (1, id));
    assert_eq!(received[0].json()["data"]["account"], "Other");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_services_on_one_database_tell_each_end_once() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let receiver = Receiver::start(&[]).await;
    let services = [
        installation.serve(telling(&receiver)).await,
        installation.serve(telling(&receiver)).await,
    ];
    registered(&installation, 1).await;
    let mut ended = BTreeSet::new();
    for _ in 0..20 {
        ended.insert(installation.run_session(&wren).await);
    }
    installation.clock.advance(Duration::from_secs(2));
    receiver.wait_for(20).await;
    all_sent(&installation).await;
    let received = receiver.received();
    let told: BTreeSet<String> = received
        .iter()
        .map(crate::receiver::Received::session)
        .collect();
    assert_eq!((received.len(), told), (20, ended));
    for service in services {
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_leads_inside_is_not_even_connected_to() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let receiver = Receiver::start(&[]).await;
    let service = installation
        .serve(options(vec![to(&receiver.named_url(), false)]))
        .await;
    registered(&installation, 1).await;
    installation.run_session(&wren).await;
    // Attempts are made, and put off.
    until(&installation, 600, || {
        installation.attempts().iter().any(|&attempt| attempt >= 3)
    })
    .await;
    assert!(receiver.received().is_empty());
    service.stop().await;
    // Where it is allowed, it is connected to.
    let service = installation
        .serve(options(vec![to(&receiver.named_url(), true)]))
        .await;
    in_time(&installation, &receiver, 1).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_cannot_be_read_keeps_no_other_waiting() {
    let installation = Installation::new();
    let wren = installation.refiner("default", "wren").await;
    let receiver = Receiver::start(&[]).await;
    let service = installation.serve(telling(&receiver)).await;
    registered(&installation, 1).await;
    installation.run_session(&wren).await;
    installation.execute("UPDATE sessions SET state = 'damaged'");
    let second = installation.run_session(&wren).await;
    in_time(&installation, &receiver, 1).await;
    assert_eq!(receiver.received()[0].session(), second);
    service.stop().await;
}

/// The first number of a constant in a source.
fn constant(source: &str, name: &str) -> u64 {
    let (_, rest) = source.split_once(&format!("const {name}: ")).unwrap();
    let (_, value) = rest.split_once(" = ").unwrap();
    let digits = value.chars().skip_while(|letter| !letter.is_ascii_digit());
    let digits: String = digits.take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn the_page_states_the_times_and_numbers_of_the_code() {
    let notices = include_str!("../../../memoir-app/src/life/notices.rs");
    let sending = include_str!("../../src/webhooks/mod.rs");
    let secret = include_str!("../../src/webhooks/secret.rs");
    for (source, name, value, stated) in [
        (notices, "ATTEMPTS", 14, "fourteen times in about a day"),
        (
            notices,
            "FIRST_WAIT",
            10,
            "after 10 seconds, 20, 40 and so on",
        ),
        (
            notices,
            "FORGOTTEN_AFTER_DAYS",
            30,
            "for 30 days are deleted",
        ),
        (notices, "NOTICE_DELAY_SECONDS", 1, "waits one second"),
        (sending, "ANSWER_TIME", 15, "within 15 seconds"),
        (secret, "BYTES", 24, "24 to 64 random bytes"),
    ] {
        assert_eq!(constant(source, name), value, "{name}");
        PAGE.tells(stated);
    }
    secret.tells("= 24..=64;");
}
