//! Bytes that are no good request, or come too slowly, or are too many.

use std::time::Duration;

use memoir_app::Provision;
use memoir_service::ServiceOptions;
use memoir_testkit::{TestedObject, TestedText, input};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    client::{Client, connect, raw, read_answer},
    installation::{Installation, Tenant, options, owner},
};

const PATH: &str = "/v1/agents/wren/memories";
/// A time of clients that a test waits out, and in which a busy machine still sends a whole request.
const SHORT: Duration = Duration::from_secs(2);
/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service whose clients have little time.
async fn hasty() -> (Installation, Tenant) {
    let installation = Installation::with(ServiceOptions {
        head_time: SHORT,
        request_time: SHORT,
        ..options()
    })
    .await;
    let wren = installation.tenant("default", "wren").await;
    (installation, wren)
}

async fn usual() -> (Installation, Tenant) {
    let installation = Installation::open().await;
    let wren = installation.tenant("default", "wren").await;
    (installation, wren)
}

/// That it still serves, and that nothing came of what was sent.
async fn is_well(installation: &Installation, tenant: &Tenant, memories: usize) {
    let answer = installation
        .client()
        .get("/v1/agents/wren", &tenant.token)
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(crate::installation::memories(tenant).await, memories);
    assert!(tenant.agent.log().verify().await.unwrap().valid);
}

fn head(token: &str, length: &str) -> Vec<u8> {
    format!("POST {PATH} HTTP/1.1\r\nhost: m\r\nauthorization: Bearer {token}\r\n{length}\r\n\r\n")
        .into_bytes()
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_taken_and_a_larger_one_is_told_the_limit() {
    let (installation, wren) = usual().await;
    let mut client = installation.client();
    let padded = |size: usize| {
        let mut body = json!({"content": "One."}).to_string();
        body.push_str(&" ".repeat(size - body.len()));
        body
    };
    for (size, status) in [
        (10_000_000, 201),
        (16 << 20, 201),
        ((16 << 20) + 1, 413),
        (60_000_000, 413),
    ] {
        let body = padded(size);
        let answer = client
            .send("POST", PATH, &wren.token, &[], body.as_bytes())
            .await;
        assert_eq!(answer.status, status, "{size}");
        if status == 413 {
            assert_eq!(answer.code(), "body_too_large");
            answer.json()["detail"].as_str().unwrap().tells("16777216");
            client = installation.client();
        }
    }
    is_well(&installation, &wren, 2).await;
}

#[tokio::test]
async fn a_body_in_pieces_has_the_same_limit() {
    let (installation, wren) = usual().await;
    let mut stream = connect(installation.socket).await;
    let chunked = head(&wren.token, "transfer-encoding: chunked");
    stream.write_all(&chunked).await.unwrap();
    let piece = vec![b' '; 1 << 20];
    for _ in 0..20 {
        stream.write_all(b"100000\r\n").await.unwrap();
        stream.write_all(&piece).await.unwrap();
        stream.write_all(b"\r\n").await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let answer = read_answer(&mut stream, false).await.unwrap();
    answer.refused(413, "body_too_large");
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn spec_2_1_what_is_no_text_in_a_body_is_mended() {
    let (installation, wren) = usual().await;
    let token = &wren.token;
    let mut client = installation.client();
    let sent: [(&[u8], &str); 2] = [
        (b"Z\xfcrich", "Z\u{fffd}rich"),
        (br"half \ud83d", "half \u{fffd}"),
    ];
    for (content, read) in sent {
        let body = [&b"{\"content\": \""[..], content, b"\"}"].concat();
        let answer = client.send("POST", PATH, token, &[], &body).await;
        assert_eq!(answer.status, 201);
        assert_eq!(answer.json()["content"], read);
        // Over the Model Context Protocol too, where it is a message whose identifier is kept.
        let call = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"save_memory","arguments":{"content":""#;
        let body = [&call[..], content, br#""}}}"#].concat();
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        let answer = client.send("POST", "/mcp", token, &headers, &body).await;
        assert_eq!(answer.header("cache-control"), "no-store");
        let answer = answer.json();
        assert_eq!(answer["id"], 7, "{answer}");
        assert!(
            answer["result"]["structuredContent"]["number"].is_u64(),
            "{answer}"
        );
        // What cannot be read is answered with the identifier that can.
        let broken = &body[..body.len() - 1];
        let answer = client.send("POST", "/mcp", token, &headers, broken).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.header("cache-control"), "no-store");
        let answer = answer.json();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32700))
        );
    }
    is_well(&installation, &wren, 4).await;
}

#[tokio::test]
async fn spec_3_18_a_client_that_takes_json_is_answered_whatever_else_it_takes() {
    let (installation, wren) = usual().await;
    let mut client = installation.client();
    let call = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_context"}}"#;
    for (accept, status) in [
        (Some("application/json"), 200),
        (Some("application/json;q=0.9, text/plain"), 200),
        (Some("*/*"), 200),
        (Some("Application/*"), 200),
        (Some("text/event-stream, application/json"), 200),
        (Some("text/event-stream,application/json;q=0.1"), 200),
        (Some("APPLICATION/JSON; charset=utf-8"), 200),
        (Some("text/html, image/gif, *; q=.2, */*; q=.2"), 200),
        (Some("text/html, *; q=.2"), 200),
        (Some("application/xml;q=0.9, */*;q=0.8"), 200),
        (Some(""), 200),
        (Some(" , application/json"), 200),
        (None, 200),
        (Some("text/html"), 406),
        (Some("text/*"), 406),
        (Some("application/jsonl"), 406),
        (Some("application/json;q=0"), 406),
        (Some("*/*; q=0.000, text/html"), 406),
        (Some("text/event-stream"), 406),
    ] {
        let accepting = accept.map(|accept| ("accept", accept));
        let headers: Vec<(&str, &str)> = accepting
            .into_iter()
            .chain([
                ("content-type", "application/json"),
                ("mcp-protocol-version", "2025-06-18"),
            ])
            .collect();
        let answer = client
            .send("POST", "/mcp", &wren.token, &headers, call)
            .await;
        assert_eq!(answer.status, status, "{accept:?}");
        if status == 200 {
            assert_eq!(
                answer.header("content-type"),
                "application/json",
                "{accept:?}"
            );
            assert_eq!(answer.json()["id"], 7, "{accept:?}");
        }
    }
}

#[tokio::test]
async fn what_is_no_text_is_refused_in_an_address() {
    let (installation, wren) = usual().await;
    let token = &wren.token;
    let mut client = installation.client();
    for path in [
        "/v1/agents/%ff%fe",
        "/v1/agents/%00",
        "/v1/agents/wren%00",
        "/v1/sessions/%ff",
    ] {
        let status = client.get(path, token).await.status;
        assert!(matches!(status, 400 | 404), "{path} {status}");
    }
    for query in [
        "?q=%ff%fe",
        "?limit=%00",
        "?cursor=%ff",
        "?kind=%f0%28",
        "?since=\u{1f600}",
    ] {
        let status = client.get(&format!("{PATH}{query}"), token).await.status;
        assert!(matches!(status, 200 | 400), "{query} {status}");
        client = installation.client();
    }
    let mut stream = connect(installation.socket).await;
    let wrong = b"GET /v1/agents HTTP/1.1\r\nhost: m\r\nauthorization: Bearer \xff\xfe\r\n\r\n";
    stream.write_all(wrong).await.unwrap();
    assert_eq!(read_answer(&mut stream, false).await.unwrap().status, 401);
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn what_is_no_request_is_answered_or_cut_off() {
    let (installation, wren) = usual().await;
    let huge = format!(
        "GET / HTTP/1.1\r\nhost: m\r\nx: {}\r\n\r\n",
        "a".repeat(200_000)
    );
    let many = format!(
        "GET / HTTP/1.1\r\nhost: m\r\n{}\r\n",
        "x: y\r\n".repeat(5_000)
    );
    let long = format!("GET /{} HTTP/1.1\r\nhost: m\r\n\r\n", "a".repeat(100_000));
    let requests: [&[u8]; 12] = [
        b"\r\n\r\n\r\n",
        b"\0\0\0\0\0\0\0\0\r\n\r\n",
        b"GARBAGE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"G@T / HTTP/1.1\r\nhost: m\r\n\r\n",
        b"GET /v1/\0agents HTTP/1.1\r\nhost: m\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: m\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        huge.as_bytes(),
        many.as_bytes(),
        long.as_bytes(),
    ];
    for (at, request) in requests.iter().enumerate() {
        let mut stream = connect(installation.socket).await;
        let _ = stream.write_all(request).await;
        let _ = stream.shutdown().await;
        let answer = tokio::time::timeout(PATIENCE, read_answer(&mut stream, false));
        if let Some(answer) = answer.await.expect("an answer or an end") {
            assert!(
                (400..500).contains(&answer.status),
                "{at}: {}",
                answer.status
            );
        }
    }
    for method in ["BREW", "TRACE", "CONNECT", "DELETE"] {
        let mut client = installation.client();
        let answer = client.send(method, PATH, &wren.token, &[], b"").await;
        assert!(
            (400..500).contains(&answer.status),
            "{method}: {}",
            answer.status
        );
    }
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn lengths_that_lie_are_refused() {
    let (installation, wren) = hasty().await;
    let body = br#"{"content": "One."}"#;
    // (the length that is stated, the status; 0 where the connection is cut off)
    for (length, expected) in [
        ("content-length: 99", 408),
        ("content-length: -1", 400),
        ("content-length: x", 400),
        ("content-length: 5\r\ncontent-length: 19", 400),
        ("content-length: 99999999999999999999", 400),
        ("content-length: 999999999999", 413),
        ("content-length: 5", 400),
        ("transfer-encoding: chunked\r\ncontent-length: 5", 400),
        ("transfer-encoding: gzip", 400),
    ] {
        let request = [&head(&wren.token, length), body.as_slice()].concat();
        let status = raw(installation.socket, &request)
            .await
            .map(|answer| answer.status);
        assert_eq!(status, Some(expected), "{length}");
    }
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn spec_5_5_a_request_whose_token_is_revoked_while_its_body_comes_is_not_carried_out() {
    let (installation, wren) = usual().await;
    let grants = wren.agent.grants();
    let body = br#"{"content": "One."}"#;
    for (method, path) in [("POST", PATH), ("POST", "/mcp"), ("GET", PATH)] {
        let made = grants.create_token(Provision::Any, None, &owner()).await;
        let made = made.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\n\
             content-length: {}\r\nexpect: 100-continue\r\n\r\n",
            made.secret.expose(),
            body.len()
        );
        let mut stream = connect(installation.socket).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // The body is asked for once the token was admitted.
        let mut told = [0; 25];
        stream.read_exact(&mut told).await.unwrap();
        assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
        let revoked = grants.revoke_token(made.view.id, &owner()).await;
        revoked.unwrap();
        stream.write_all(body).await.unwrap();
        let answer = read_answer(&mut stream, false).await.unwrap();
        answer.refused(401, "unauthorized");
    }
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn half_a_request_comes_to_nothing() {
    let (installation, wren) = usual().await;
    let whole = [
        head(&wren.token, "content-length: 19"),
        br#"{"content": "One."}"#.to_vec(),
    ]
    .concat();
    for length in [1, 20, 60, whole.len() - 19, whole.len() - 1] {
        let mut stream = connect(installation.socket).await;
        stream.write_all(&whole[..length]).await.unwrap();
        drop(stream);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_has_its_time() {
    let (installation, wren) = hasty().await;
    let mut stream = connect(installation.socket).await;
    let start = format!("POST {PATH} HTTP/1.1\r\nhost: m\r\nx: ");
    // It has no end, so that only the service ends it.
    let dripping = async {
        for byte in start.bytes().chain(std::iter::repeat(b'x')) {
            if stream.write_all(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let dripped = tokio::time::timeout(PATIENCE, dripping).await;
    dripped.expect("the connection is closed");
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    assert!(!rest.starts_with(b"HTTP/1.1 2"));
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_has_its_time() {
    let (installation, wren) = hasty().await;
    let stream = connect(installation.socket).await;
    let (mut reading, mut writing) = stream.into_split();
    let start = head(&wren.token, "content-length: 10000");
    writing.write_all(&start).await.unwrap();
    let dripping = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, reading.read_to_end(&mut answer));
    let _ = read.await.expect("the response arrives");
    dripping.abort();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("application/problem+json"));
    answer.tells("\"body_too_slow\"");
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn a_form_that_never_ends_keeps_no_connection() {
    let (installation, wren) = hasty().await;
    for path in ["/sign-in", "/sign-in/code", "/first/x"] {
        let mut stream = connect(installation.socket).await;
        let half = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\n\
             content-length: 99\r\n\r\nname="
        );
        stream.write_all(half.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let end = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer));
        let _ = end.await.expect("it is closed");
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{path}");
    }
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn a_connection_that_is_idle_is_closed_in_time() {
    let (installation, wren) = hasty().await;
    let mut silent = connect(installation.socket).await;
    let mut client = connect(installation.socket).await;
    let get = format!(
        "GET /v1/agents/wren HTTP/1.1\r\nhost: m\r\nauthorization: Bearer {}\r\n\r\n",
        wren.token
    );
    client.write_all(get.as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut client, false).await.unwrap().status, 200);
    for stream in [&mut silent, &mut client] {
        let mut rest = Vec::new();
        let end = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest));
        let _ = end.await.expect("it is closed");
    }
}

#[tokio::test]
async fn a_client_that_takes_no_answers_is_given_up() {
    let installation = Installation::with(ServiceOptions {
        request_time: SHORT,
        connections: 1,
        ..options()
    })
    .await;
    let wren = installation.tenant("default", "wren").await;
    let memories = vec![input(&"word ".repeat(1_900)); 200];
    let own = crate::installation::owner();
    wren.agent.memories().save(&memories, &own).await.unwrap();
    let mut stalled = connect(installation.socket).await;
    let get = format!(
        "GET {PATH}?limit=200 HTTP/1.1\r\nhost: m\r\nauthorization: Bearer {}\r\n\r\n",
        wren.token
    );
    // More answers than all buffers on the way hold.
    stalled.write_all(get.repeat(20).as_bytes()).await.unwrap();
    let mut other = installation.client();
    let served = other.get("/v1/agents/wren", &wren.token);
    let served = tokio::time::timeout(PATIENCE, served).await;
    assert_eq!(served.expect("its turn comes").status, 200);
    drop(stalled);
    drop(other);
    is_well(&installation, &wren, 200).await;
}

#[tokio::test]
async fn requests_that_come_together_are_answered_in_their_order() {
    let (installation, wren) = usual().await;
    let mut stream = connect(installation.socket).await;
    let mut all = Vec::new();
    for at in 0..50 {
        let body = json!({"content": format!("Note {at}.")}).to_string();
        all.extend(head(
            &wren.token,
            &format!("content-length: {}", body.len()),
        ));
        all.extend(body.as_bytes());
    }
    stream.write_all(&all).await.unwrap();
    for at in 1..=50 {
        let answer = read_answer(&mut stream, false).await.unwrap();
        answer.expect(201).has(json!({"number": at}));
    }
    is_well(&installation, &wren, 50).await;
}

#[tokio::test]
async fn what_is_hidden_behind_a_body_is_no_request() {
    let (installation, wren) = usual().await;
    let hidden = format!(
        "POST {PATH} HTTP/1.1\r\nhost: m\r\nauthorization: Bearer {}\r\ncontent-length: 19\r\n\r\n{}",
        wren.token, r#"{"content": "One."}"#
    );
    // Two lengths, of which a proxy may believe the other one.
    let both = format!(
        "POST {PATH} HTTP/1.1\r\nhost: m\r\ncontent-length: {}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        hidden.len() + 5
    );
    let mut stream = connect(installation.socket).await;
    stream.write_all(both.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer));
    let _ = read.await.expect("the connection is closed");
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.matches("HTTP/1.1").count() <= 1, "{answer}");
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn no_other_form_of_the_token_is_accepted() {
    let (installation, wren) = usual().await;
    let token = &wren.token;
    let long = "a".repeat(50_000);
    for value in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {token}"),
        format!("Bearer {token}x"),
        format!("Bearer \"{token}\""),
        format!("Bearer {token},{token}"),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {long}"),
        token.clone(),
    ] {
        let request =
            format!("GET /v1/agents/wren HTTP/1.1\r\nhost: m\r\nauthorization: {value}\r\n\r\n");
        let answer = raw(installation.socket, request.as_bytes()).await.unwrap();
        answer.refused(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let path = format!("/v1/agents/wren?token={token}&access_token={token}");
    assert_eq!(installation.client().get(&path, "").await.status, 401);
    is_well(&installation, &wren, 0).await;
}

#[tokio::test]
async fn a_token_over_its_rate_is_told_when_to_come_back() {
    let installation = Installation::with(ServiceOptions {
        // So few that many are over it on a slow machine too.
        requests_per_second: 1,
        ..options()
    })
    .await;
    let (wren, kite) = (
        installation.tenant("default", "wren").await,
        installation.tenant("default", "kite").await,
    );
    let mut client = installation.client();
    let mut limited = 0;
    for _ in 0..100 {
        let answer = client.get("/v1/agents/wren", &wren.token).await;
        if answer.status == 429 {
            limited += 1;
            assert_eq!(answer.code(), "rate_limited");
            assert_eq!(answer.header("retry-after"), "1");
        }
    }
    assert!((30..=98).contains(&limited), "{limited}");
    assert_eq!(client.get("/v1/agents/kite", &kite.token).await.status, 200);
    let admin = installation.administrator_token("default").await;
    let elsewhere = [("x-forwarded-for", "10.1.2.3")];
    let mut scraped = 0;
    for _ in 0..100 {
        let answer = client.send("GET", "/metrics", &admin, &elsewhere, b"");
        scraped += usize::from(answer.await.status == 200);
    }
    assert!((1..=70).contains(&scraped), "{scraped}");
    assert!(ServiceOptions::default().requests_per_second >= 2_000);
}

#[tokio::test]
async fn connections_over_the_limit_wait_for_their_turn() {
    let installation = Installation::with(ServiceOptions {
        connections: 3,
        ..options()
    })
    .await;
    let wren = installation.tenant("default", "wren").await;
    let mut held: Vec<TcpStream> = Vec::new();
    for _ in 0..3 {
        held.push(connect(installation.socket).await);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut late = Client::new(installation.socket);
    let waiting = late.get("/v1/agents/wren", &wren.token);
    tokio::pin!(waiting);
    let early = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
    assert!(early.is_err());
    held.pop();
    let answer = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    assert_eq!(answer.status, 200);
}
