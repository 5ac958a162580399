//! Idempotency keys.

use std::{collections::BTreeSet, time::Duration};

use memoir_testkit::{HttpAnswer, TestedObject};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::{
    client::{Client, connect},
    installation::{Installation, Tenant, memories},
};

const CANARY: &str = "Kanarienvogel Zwitscher";
const PATH: &str = "/v1/agents/wren/memories";

/// A service with the agent `wren`, and a client of it.
async fn opened() -> (Installation, Tenant, Client) {
    let installation = Installation::open().await;
    let wren = installation.tenant("default", "wren").await;
    let client = installation.client();
    (installation, wren, client)
}

async fn keyed(
    client: &mut Client,
    tenant: &Tenant,
    key: &str,
    path: &str,
    body: &str,
) -> HttpAnswer {
    let headers = [("idempotency-key", key)];
    client
        .send("POST", path, &tenant.token, &headers, body.as_bytes())
        .await
}

/// Checks that it is no response that was stored.
#[track_caller]
fn is_new(answer: &HttpAnswer, status: u16) {
    let replayed = answer.header("idempotency-replayed");
    assert_eq!((answer.status, replayed), (status, ""));
}

#[tokio::test]
async fn a_request_with_the_same_key_is_carried_out_once_and_answered_alike() {
    let (_installation, wren, mut client) = opened().await;
    let body = json!({"content": CANARY}).to_string();
    let first = keyed(&mut client, &wren, "k1", PATH, &body).await;
    is_new(&first, 201);
    for _ in 0..3 {
        let again = keyed(&mut client, &wren, "k1", PATH, &body).await;
        assert_eq!((again.status, &again.text), (201, &first.text));
        assert_eq!(again.header("content-type"), first.header("content-type"));
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
    assert_eq!(memories(&wren).await, 1);
    keyed(&mut client, &wren, "k2", PATH, &body).await;
    assert_eq!(memories(&wren).await, 2, "another key is another request");
}

/// The stored requests, and the bytes of their responses.
fn stored(installation: &Installation) -> (i64, i64) {
    let connection = rusqlite::Connection::open(installation.folder.database()).unwrap();
    let sql = "SELECT count(*), coalesce(sum(length(sealed)), 0) FROM replies";
    let counted = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    counted.unwrap()
}

#[tokio::test]
async fn spec_5_3_the_length_of_a_stored_response_does_not_show_whether_a_text_was_known() {
    let (installation, wren, mut client) = opened().await;
    let mut beside = BTreeSet::new();
    for key in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let (_, before) = stored(&installation);
        let body = json!({"content": CANARY}).to_string();
        let answer = keyed(&mut client, &wren, key, PATH, &body).await;
        is_new(&answer, 201);
        let (_, after) = stored(&installation);
        beside.insert(after - before - answer.text.len() as i64);
        let again = keyed(&mut client, &wren, key, PATH, &body).await;
        assert_eq!((again.status, again.text), (201, answer.text));
    }
    assert!(
        beside.len() > 1,
        "a row is longer than its response by as much"
    );
}

/// SPEC 6.1: no quota counts what is stored of requests.
#[tokio::test]
async fn spec_6_1_nothing_is_stored_of_a_request_that_changed_nothing_and_no_prompt_of_a_session() {
    let (installation, wren, mut client) = opened().await;
    for part in ["a", "b"] {
        let body = json!({"content": format!("kiln {}", part.repeat(4_000))}).to_string();
        keyed(&mut client, &wren, part, PATH, &body).await;
    }
    let (rows, bytes) = stored(&installation);
    let open = json!({"driver": "agent", "mode": "full"}).to_string();
    let sessions = "/v1/agents/wren/sessions";
    let opened = keyed(&mut client, &wren, "open", sessions, &open).await;
    let session = opened.expect(201)["id"].as_str().unwrap().to_owned();
    let search = format!("/v1/sessions/{session}/tools/search_memories");
    for query in ["kiln", "nothing like it"] {
        let body = json!({"query": query}).to_string();
        let first = keyed(&mut client, &wren, query, &search, &body).await;
        let again = keyed(&mut client, &wren, query, &search, &body).await;
        assert_eq!((again.status, &again.text), (200, &first.text));
        is_new(&again, 200);
    }
    for key in ["one", "one", "other"] {
        let refused = keyed(&mut client, &wren, key, PATH, r#"{"content": ""}"#).await;
        is_new(&refused, 400);
    }
    assert_eq!(stored(&installation), (rows + 1, bytes));
    let again = keyed(&mut client, &wren, "open", sessions, &open).await;
    assert_eq!((again.status, again.json()), (201, opened.json()));
    assert_eq!(again.header("idempotency-replayed"), "true");
}

#[tokio::test]
async fn spec_6_2_the_opening_of_a_session_is_answered_from_it_until_it_is_over() {
    let (_installation, wren, mut client) = opened().await;
    let body = json!({"content": "The kiln is fired on Thursdays."});
    client.post(PATH, &wren.token, &body).await;
    let open = json!({"driver": "agent"}).to_string();
    let sessions = "/v1/agents/wren/sessions";
    let first = keyed(&mut client, &wren, "first", sessions, &open).await;
    let first = first.expect(201);
    let again = keyed(&mut client, &wren, "first", sessions, &open).await;
    assert_eq!(again.expect(201), first);
    let cancel = format!("/v1/sessions/{}/cancel", first["id"].as_str().unwrap());
    let cancelled = client.post(&cancel, &wren.token, &json!({})).await;
    cancelled.expect(200);
    for _ in 0..2 {
        let over = keyed(&mut client, &wren, "first", sessions, &open).await;
        let over = over.refused(409, "idempotency_done");
        assert_eq!(over["session_id"], first["id"]);
        // Another session is not the one that was opened.
        let other = keyed(&mut client, &wren, "other", sessions, &open).await;
        assert_ne!(other.expect(201)["id"], first["id"]);
    }
}

#[tokio::test]
async fn a_refusal_is_answered_alike_too() {
    let (_installation, wren, mut client) = opened().await;
    let first = keyed(&mut client, &wren, "k", PATH, r#"{"content": ""}"#).await;
    assert_eq!(first.status, 400);
    let again = keyed(&mut client, &wren, "k", PATH, r#"{"content": ""}"#).await;
    assert_eq!((again.status, &again.text), (400, &first.text));
    assert_eq!(again.header("content-type"), "application/problem+json");
    // It changed nothing, and so it is not the request of its key.
    is_new(&again, 400);
    let corrected = keyed(&mut client, &wren, "k", PATH, r#"{"content": "one"}"#).await;
    is_new(&corrected, 201);
}

#[tokio::test]
async fn all_of_an_answers_head_is_given_again() {
    let (installation, wren, mut client) = opened().await;
    let token = installation.administrator_token("default").await;
    let saved = json!({"content": "One."});
    client
        .post("/v1/agents/wren/memories", &wren.token, &saved)
        .await;
    let headers = [("idempotency-key", "k")];
    let path = "/v1/agents/wren/memories/1/protection";
    let first = client.send("PUT", path, &token, &headers, b"").await;
    let again = client.send("PUT", path, &token, &headers, b"").await;
    assert!(first.status == 200 && !first.header("etag").is_empty());
    assert_eq!(first.header("etag"), again.header("etag"));
    assert_eq!(first.text, again.text);
}

#[tokio::test]
async fn of_many_requests_at_once_with_one_key_one_is_carried_out() {
    let installation = Installation::open().await;
    let wren = installation.tenant("default", "wren").await;
    let requests: Vec<_> = (0..16)
        .map(|_| {
            let (mut client, token) = (installation.client(), wren.token.clone());
            tokio::spawn(async move {
                let headers = [("idempotency-key", "same")];
                let body = json!({"content": CANARY}).to_string();
                client
                    .send("POST", PATH, &token, &headers, body.as_bytes())
                    .await
            })
        })
        .collect();
    for request in requests {
        let answer = request.await.unwrap();
        match answer.status {
            201 => assert_eq!(answer.json()["number"], 1),
            409 => {
                assert_eq!(answer.code(), "idempotency_in_progress");
                assert!(!answer.header("retry-after").is_empty());
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(memories(&wren).await, 1);
    let mut client = installation.client();
    let body = json!({"content": CANARY}).to_string();
    assert_eq!(
        keyed(&mut client, &wren, "same", PATH, &body).await.status,
        201
    );
}

#[tokio::test]
async fn a_key_is_for_one_request() {
    let (_installation, wren, mut client) = opened().await;
    keyed(&mut client, &wren, "k", PATH, r#"{"content": "one"}"#).await;
    for (path, body) in [
        (PATH, r#"{"content": "two"}"#),
        ("/v1/agents/wren/memories/batch", r#"{"content": "one"}"#),
    ] {
        let other = keyed(&mut client, &wren, "k", path, body).await;
        other.refused(422, "idempotency_mismatch");
    }
    assert_eq!(memories(&wren).await, 1);
}

#[tokio::test]
async fn a_key_is_of_one_token() {
    let installation = Installation::open().await;
    let (wren, kite) = (
        installation.tenant("default", "wren").await,
        installation.tenant("default", "kite").await,
    );
    let mut client = installation.client();
    for tenant in [&wren, &kite] {
        let path = format!("/v1/agents/{}/memories", tenant.agent.name());
        let answer = keyed(&mut client, tenant, "k", &path, r#"{"content": "one"}"#).await;
        assert_eq!(answer.header("idempotency-replayed"), "");
    }
    assert_eq!((memories(&wren).await, memories(&kite).await), (1, 1));
}

#[tokio::test]
async fn spec_4_4_a_shredding_is_answered_alike_and_what_was_answered_before_it_is_not() {
    let (_installation, wren, mut client) = opened().await;
    let body = json!({"content": CANARY}).to_string();
    keyed(&mut client, &wren, "k1", PATH, &body).await;
    let (shred, reason) = (format!("{PATH}/1/shred"), r#"{"reason": "a slip"}"#);
    let shredded = keyed(&mut client, &wren, "k2", &shred, reason).await;
    let again = keyed(&mut client, &wren, "k2", &shred, reason).await;
    assert_eq!((shredded.status, again.status), (200, 200));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.text, shredded.text);
    let before = keyed(&mut client, &wren, "k1", PATH, &body).await;
    before.expect(201).has(json!({"number": 1}));
    assert!(!before.text.contains(CANARY), "it is as it is now");
}

#[tokio::test]
async fn a_key_that_is_none_is_told_and_reading_takes_no_heed_of_one() {
    let (_installation, wren, mut client) = opened().await;
    let long = "k".repeat(256);
    for key in ["", &long] {
        let answer = keyed(&mut client, &wren, key, PATH, r#"{"content": "one"}"#).await;
        answer.refused(400, "invalid_argument");
    }
    for _ in 0..2 {
        let headers = [("idempotency-key", "k")];
        let read = client.send("GET", PATH, &wren.token, &headers, b"").await;
        is_new(&read, 200);
    }
    let saved = keyed(&mut client, &wren, "k", PATH, r#"{"content": "one"}"#).await;
    assert_eq!(saved.status, 201);
}

/// Changes what is kept of all requests, as a process leaves it that is killed.
fn leave(installation: &Installation, sql: &str) {
    let connection = rusqlite::Connection::open(installation.folder.database()).unwrap();
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
}

/// Between the change and its response.
const DONE: &str = "UPDATE replies SET sealed = x''";
/// Before the change.
const BEGUN: &str = "UPDATE replies SET version = NULL, open = NULL, sealed = NULL";

#[tokio::test]
async fn spec_6_2_what_was_done_when_the_process_was_killed_is_found_done_under_its_key() {
    let (installation, wren, mut client) = opened().await;
    let body = r#"{"content": "one"}"#;
    let first = keyed(&mut client, &wren, "k", PATH, body).await;
    leave(&installation, DONE);
    for _ in 0..2 {
        let again = keyed(&mut client, &wren, "k", PATH, body).await;
        assert_eq!((again.status, again.json()), (201, first.json()));
        assert_eq!(again.header("idempotency-replayed"), "true");
    }
    assert_eq!(memories(&wren).await, 1);
    let other = keyed(&mut client, &wren, "k", PATH, r#"{"content": "two"}"#).await;
    assert_eq!(other.status, 422);
}

#[tokio::test]
async fn spec_6_2_what_was_only_begun_when_the_process_was_killed_is_executed() {
    let (installation, wren, mut client) = opened().await;
    let body = r#"{"content": "one"}"#;
    keyed(&mut client, &wren, "k", PATH, body).await;
    leave(&installation, BEGUN);
    let again = keyed(&mut client, &wren, "k", PATH, body).await;
    is_new(&again, 201);
    assert_eq!(memories(&wren).await, 2);
    let again = keyed(&mut client, &wren, "k", PATH, body).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
}

#[tokio::test]
async fn spec_6_2_each_request_whose_response_is_gone_is_resolved_under_its_key() {
    let (installation, wren, mut client) = opened().await;
    let administrator = installation.administrator_token("default").await;
    let of = |what: &str| format!("/v1/agents/wren/{what}");
    let batch = json!({"memories": [{"content": "two"}, {"content": "three"}]}).to_string();
    let one = r#"{"content": "Kanarienvogel"}"#;
    let sets = r#"{"value": "I am Wren."}"#;
    let both = [&administrator, &wren.token];
    let requests = [
        ("POST", of("memories"), both[1], one, 201),
        ("POST", of("memories"), both[0], one, 201),
        ("POST", of("memories/batch"), both[1], &*batch, 201),
        ("PUT", of("memories/1/protection"), both[0], "", 200),
        // As some clients write paths.
        ("DELETE", of("memories/%31/protection"), both[0], "", 200),
        ("POST", of("memories/1/discard"), both[0], "", 200),
        ("POST", of("memories/1/restore"), both[0], "", 200),
        ("PUT", of("self/system%5Fprompt"), both[1], sets, 200),
        (
            "PATCH",
            "/v1/agents/wren".to_owned(),
            both[0],
            r#"{"core_token_budget": 2000}"#,
            200,
        ),
        (
            "POST",
            "/v1/agents".to_owned(),
            both[0],
            r#"{"name": "kite"}"#,
            201,
        ),
        // Its response is a secret.
        ("POST", of("tokens"), both[1], "", 409),
        (
            "POST",
            of("sessions"),
            both[1],
            r#"{"driver": "agent"}"#,
            201,
        ),
    ];
    let audit = "/v1/agents/wren/audit?limit=200";
    let mut count = 0;
    for (at, (method, path, token, body, status)) in requests.into_iter().enumerate() {
        let key = format!("k{at}");
        let headers = [("idempotency-key", &*key)];
        let first = client
            .send(method, &path, token, &headers, body.as_bytes())
            .await;
        assert!(first.status < 300, "{method} {path}: {}", first.text);
        let connection = rusqlite::Connection::open(installation.folder.database()).unwrap();
        connection
            .execute(
                "UPDATE replies SET sealed = x'' WHERE sealed IS NOT NULL",
                [],
            )
            .unwrap();
        let records = client.get(audit, token).await.json();
        let again = client
            .send(method, &path, token, &headers, body.as_bytes())
            .await;
        assert_eq!(again.status, status, "{method} {path}: {}", again.text);
        match status {
            409 => assert_eq!(again.code(), "idempotency_done"),
            _ => assert_eq!(again.json(), first.json(), "{method} {path}"),
        }
        if token == both[0] {
            assert!(
                !again.text.contains("Kanarienvogel"),
                "an administrator is shown no text"
            );
        }
        let after = client.get(audit, token).await.json();
        assert_eq!(after, records, "{method} {path}: nothing is done twice");
        count += 1;
    }
    assert_eq!(count, 12);
}

#[tokio::test]
async fn a_client_that_goes_away_finds_its_answer_later() {
    let installation = Installation::open().await;
    let wren = installation.tenant("default", "wren").await;
    let memories_of: Vec<_> = (0..1_000)
        .map(|at| json!({"content": format!("Note {at}.")}))
        .collect();
    let body = json!({"memories": memories_of}).to_string();
    let path = "/v1/agents/wren/memories/batch";
    let mut stream = connect(installation.socket).await;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: m\r\nauthorization: Bearer {}\r\nidempotency-key: k\r\ncontent-length: {}\r\n\r\n",
        wren.token,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(stream);
    let mut client = installation.client();
    let mut answer = keyed(&mut client, &wren, "k", path, &body).await;
    for _ in 0..1_200 {
        if answer.code() != "idempotency_in_progress" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        answer = keyed(&mut client, &wren, "k", path, &body).await;
    }
    assert_eq!(answer.status, 201, "{:?}", answer.json()["code"]);
    assert_eq!(memories(&wren).await, 1_000);
}

#[tokio::test]
async fn a_large_answer_is_given_again_too() {
    let (_installation, wren, mut client) = opened().await;
    let long = "word ".repeat(1_900);
    let many: Vec<_> = (0..700)
        .map(|at| json!({"content": format!("{at} {long}")}))
        .collect();
    let body = json!({"memories": many}).to_string();
    let path = "/v1/agents/wren/memories/batch";
    let first = keyed(&mut client, &wren, "k", path, &body).await;
    assert!(first.status == 201 && first.text.len() > 4 << 20);
    let again = keyed(&mut client, &wren, "k", path, &body).await;
    assert!(again.text == first.text);
    assert_eq!(memories(&wren).await, 700);
}

#[tokio::test]
async fn spec_5_3_answers_are_kept_sealed_and_those_with_a_secret_not_at_all() {
    let (installation, wren, mut client) = opened().await;
    let body = json!({"content": CANARY}).to_string();
    keyed(&mut client, &wren, "k1", "/v1/agents/wren/memories", &body).await;
    let made = keyed(&mut client, &wren, "k2", "/v1/agents/wren/tokens", "").await;
    let again = keyed(&mut client, &wren, "k2", "/v1/agents/wren/tokens", "").await;
    is_new(&made, 201);
    let secret = made.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(again.status, 409, "{}", again.text);
    assert_eq!(again.code(), "idempotency_done");
    assert_eq!(client.get("/v1/agents/wren", &secret).await.status, 200);
    for needle in [CANARY, &secret["memoir_".len()..], "application/json"] {
        assert_eq!(
            installation.files_with(needle.as_bytes()),
            Vec::<std::path::PathBuf>::new()
        );
    }
}

#[tokio::test]
async fn spec_5_3_nothing_that_is_kept_of_a_request_lets_its_words_be_guessed() {
    use sha2::{Digest, Sha256};
    let (installation, wren, mut client) = opened().await;
    let body = json!({"content": CANARY}).to_string();
    keyed(&mut client, &wren, "k", PATH, &body).await;
    let mut plain = Sha256::new();
    for part in ["POST", PATH, "", &body] {
        plain.update((part.len() as u64).to_be_bytes());
        plain.update(part);
    }
    let plain: [u8; 32] = plain.finalize().into();
    let digits = data_encoding::HEXLOWER.encode(&plain);
    for needle in [&plain[..], digits.as_bytes()] {
        assert!(installation.files_with(needle).is_empty());
    }
}

#[tokio::test]
async fn spec_4_4_an_answer_that_was_taken_out_is_not_made_again() {
    let (_installation, wren, mut client) = opened().await;
    let body = json!({"content": CANARY}).to_string();
    keyed(&mut client, &wren, "k", PATH, &body).await;
    let reason = json!({"reason": "a key was in it"});
    let shredded = client
        .post("/v1/agents/wren/memories/1/shred", &wren.token, &reason)
        .await;
    assert_eq!(shredded.status, 200);
    let again = keyed(&mut client, &wren, "k", PATH, &body).await;
    again.expect(201).has(json!({"number": 1}));
    assert!(!again.text.contains(CANARY));
    assert_eq!(memories(&wren).await, 1);
}

#[tokio::test]
async fn old_answers_are_forgotten() {
    let (installation, wren, mut client) = opened().await;
    let body = r#"{"content": "one"}"#;
    keyed(&mut client, &wren, "old", PATH, body).await;
    let connection = rusqlite::Connection::open(installation.folder.database()).unwrap();
    let three_days = 3 * 86_400_000_000_i64;
    connection
        .execute(
            "UPDATE replies SET recorded_at = recorded_at - ?1",
            [three_days],
        )
        .unwrap();
    keyed(&mut client, &wren, "new", PATH, body).await;
    let folder = installation.close().await;
    let count: i64 = rusqlite::Connection::open(folder.database())
        .unwrap()
        .query_row("SELECT count(*) FROM replies", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
}

#[tokio::test]
async fn an_answer_outlives_the_process() {
    let (installation, wren, mut client) = opened().await;
    let first = keyed(&mut client, &wren, "k", PATH, r#"{"content": "one"}"#).await;
    let token = wren.token.clone();
    drop((wren, client));
    let folder = installation.close().await;
    let installation =
        Installation::at(folder, crate::installation::options(), "127.0.0.1:0").await;
    let headers = [("idempotency-key", "k")];
    let mut client = installation.client();
    let again = client
        .send("POST", PATH, &token, &headers, br#"{"content": "one"}"#)
        .await;
    assert_eq!((again.status, again.text), (201, first.text));
}

#[tokio::test]
async fn what_waits_for_another_process_is_told_to_come_again_with_the_same_key() {
    let (installation, wren, mut client) = opened().await;
    let body = json!({"content": CANARY}).to_string();
    let other = rusqlite::Connection::open(installation.folder.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = keyed(&mut client, &wren, "k1", PATH, &body).await;
    busy.refused(503, "busy");
    assert_eq!(busy.header("retry-after"), "1");
    // Reading goes on.
    assert_eq!(client.get(PATH, &wren.token).await.status, 200);
    other.execute_batch("ROLLBACK").unwrap();
    let done = keyed(&mut client, &wren, "k1", PATH, &body).await;
    is_new(&done, 201);
    assert_eq!(memories(&wren).await, 1);
}
