//! Administrators with names and passwords.

use std::time::{Duration, Instant};

use memoir_service::ServiceOptions;
use memoir_testkit::{HttpAnswer, administrator_token};
use memoir_vault::password::Password;
use serde_json::{Value, json};

use crate::installation::{Installation, new_folder, options};

const PASSWORD: &str = "correct horse battery";

async fn with_ada(installation: Installation) -> Installation {
    let account = installation.account("default").await;
    let password = Password::from_text(PASSWORD).unwrap();
    account
        .create_user("Ada", password, &memoir_domain::audit::Actor::owner())
        .await
        .unwrap();
    installation
}

fn right() -> Value {
    json!({"name": "Ada", "password": PASSWORD})
}

async fn sign_in(
    installation: &Installation,
    body: &Value,
    headers: &[(&str, &str)],
) -> HttpAnswer {
    let body = body.to_string();
    let mut client = installation.client();
    client
        .send("POST", "/v1/sign-in", "", headers, body.as_bytes())
        .await
}

#[tokio::test]
async fn a_name_and_a_password_are_worth_a_token_for_twelve_hours() {
    let installation = with_ada(Installation::open().await).await;
    let answer = sign_in(
        &installation,
        &json!({"account": "Default", "name": " ada ", "password": PASSWORD}),
        &[],
    )
    .await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("cache-control"), "no-store");
    let token = answer.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(
        installation.client().get("/v1/agents", &token).await.status,
        200
    );
    let tokens = installation
        .account("default")
        .await
        .tokens()
        .await
        .unwrap();
    let lasts = tokens[0]
        .expires_at
        .unwrap()
        .seconds_since(tokens[0].created_at);
    assert!((12 * 3_600 - 5..=12 * 3_600).contains(&lasts), "{lasts}");
    // It sees no words.
    let wren = installation.tenant("default", "wren").await;
    let saved = json!({"content": "Kanarienvogel"});
    installation
        .client()
        .post("/v1/agents/wren/memories", &wren.token, &saved)
        .await;
    let listed = installation
        .client()
        .get("/v1/agents/wren/memories", &token)
        .await;
    assert!(listed.status == 200 && listed.json()["items"][0]["content"].is_null());
}

#[tokio::test]
async fn what_is_wrong_is_answered_alike_and_takes_as_long() {
    let installation = with_ada(Installation::open().await).await;
    installation.account("lab").await;
    let mut answers = Vec::new();
    for body in [
        json!({"name": "Ada", "password": "correct horse batterx"}),
        json!({"name": "Grace", "password": PASSWORD}),
        json!({"account": "lab", "name": "Ada", "password": PASSWORD}),
        json!({"account": "nowhere", "name": "Ada", "password": PASSWORD}),
    ] {
        let mut fastest = Duration::MAX;
        for _ in 0..3 {
            let begun = Instant::now();
            let answer = sign_in(&installation, &body, &[]).await;
            fastest = fastest.min(begun.elapsed());
            assert_eq!(answer.status, 401);
            answers.push(answer.text);
        }
        // Far longer than anything else that the request does.
        assert!(fastest > Duration::from_millis(10), "{fastest:?}");
    }
    let short = sign_in(
        &installation,
        &json!({"name": "Ada", "password": "short"}),
        &[],
    )
    .await;
    answers.push(short.text);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[tokio::test]
async fn attempts_are_limited_by_name() {
    let installation = with_ada(Installation::open().await).await;
    let wrong = json!({"name": "ADA", "password": "correct horse batterx"});
    for _ in 0..5 {
        assert_eq!(sign_in(&installation, &wrong, &[]).await.status, 401);
    }
    let limited = sign_in(&installation, &right(), &[("x-forwarded-for", "10.1.2.3")]).await;
    limited.refused(429, "rate_limited");
    assert_eq!(limited.header("retry-after"), "60");
    let other = json!({"name": "Grace", "password": PASSWORD});
    assert_eq!(sign_in(&installation, &other, &[]).await.status, 401);
}

#[tokio::test]
async fn an_address_is_limited_over_all_names_and_a_right_password_is_not_limited_by_name() {
    let installation = with_ada(Installation::open().await).await;
    for _ in 0..7 {
        assert_eq!(sign_in(&installation, &right(), &[]).await.status, 201);
    }
    let mut limited = 0;
    for number in 0..30 {
        let other = json!({"name": format!("name {number}"), "password": PASSWORD});
        let answer = sign_in(&installation, &other, &[]).await;
        limited += usize::from(answer.status == 429);
    }
    assert_eq!(limited, 7);
}

#[tokio::test]
async fn a_page_of_another_site_neither_signs_in_nor_blocks_a_user() {
    let installation = with_ada(Installation::open().await).await;
    let wrong = json!({"name": "Ada", "password": "correct horse batterx"});
    let foreign: [&[(&str, &str)]; 5] = [
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "http://evil.example")],
        &[("origin", "http://localhost:1")],
        &[("origin", "null")],
    ];
    for headers in foreign.into_iter().cycle().take(40) {
        for body in [&wrong, &right()] {
            let answer = sign_in(&installation, body, headers).await;
            answer.refused(403, "forbidden");
        }
    }
    let own: [&[(&str, &str)]; 3] = [
        &[],
        &[("sec-fetch-site", "same-origin")],
        &[("origin", "http://localhost")],
    ];
    for headers in own {
        assert_eq!(sign_in(&installation, &right(), headers).await.status, 201);
    }
}

async fn behind_proxy() -> Installation {
    let behind = ServiceOptions {
        behind_proxy: true,
        ..options()
    };
    Installation::with(behind).await
}

/// What a proxy puts before a request that came to it over HTTPS.
fn from(told: &str) -> [(&str, &str); 2] {
    [("x-forwarded-proto", "https"), ("x-forwarded-for", told)]
}

#[tokio::test]
async fn behind_a_proxy_the_address_is_what_the_proxy_says_last() {
    let installation = with_ada(behind_proxy().await).await;
    let wrong = json!({"name": "Ada", "password": "correct horse batterx"});
    for number in 0..5 {
        // All but the last is what the client says itself.
        let told = format!("10.0.0.{number}, 192.0.2.7");
        assert_eq!(
            sign_in(&installation, &wrong, &from(&told)).await.status,
            401
        );
    }
    let limited = sign_in(&installation, &right(), &from("10.0.0.9, 192.0.2.7")).await;
    assert_eq!(limited.status, 429);
    let elsewhere = sign_in(&installation, &right(), &from("192.0.2.7, 192.0.2.8")).await;
    assert_eq!(elsewhere.status, 201);
}

#[tokio::test]
async fn behind_a_proxy_that_writes_ports_each_client_has_attempts_of_its_own() {
    let installation = with_ada(behind_proxy().await).await;
    let wrong = json!({"name": "Ada", "password": "correct horse batterx"});
    for one_client in [
        // However the proxy writes its address and from whatever port it calls.
        [
            "192.0.2.7:4001",
            "192.0.2.7:4002",
            "192.0.2.7",
            "\"192.0.2.7:80\"",
            "::ffff:192.0.2.7",
            "[::ffff:192.0.2.7]:4003",
        ],
        // Another half of an address of version 6 is the same client's.
        [
            "2001:db8::1",
            "[2001:db8::2]:443",
            "[2001:db8::3]",
            "2001:db8::4",
            "[2001:db8::5]:1",
            "[2001:db8::6]:1",
        ],
    ] {
        for (number, told) in one_client.into_iter().enumerate() {
            let status = sign_in(&installation, &wrong, &from(told)).await.status;
            assert_eq!(status, if number < 5 { 401 } else { 429 }, "{told}");
        }
    }
    let elsewhere = sign_in(&installation, &right(), &from("192.0.2.8:4001")).await;
    assert_eq!(elsewhere.status, 201);
}

#[tokio::test]
async fn spec_5_1_behind_a_proxy_the_numbers_need_a_token_whatever_the_proxy_sends() {
    let installation = behind_proxy().await;
    let administrator = administrator_token(&installation.account("default").await).await;
    let answer = installation.client().get("/metrics", "").await;
    answer.refused(401, "unauthorized");
    let answer = installation.client().get("/metrics", &administrator).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn spec_5_5_guesses_from_many_addresses_keep_no_administrator_out() {
    let installation = with_ada(behind_proxy().await).await;
    let wrong = json!({"name": "Ada", "password": "correct horse batterx"});
    for number in 0..14 {
        for _ in 0..5 {
            let told = format!("10.0.0.{number}");
            sign_in(&installation, &wrong, &from(&told)).await;
        }
    }
    let own = sign_in(&installation, &right(), &from("192.0.2.8")).await;
    assert_eq!(own.status, 201);
}

#[tokio::test]
async fn a_password_travels_over_this_machine_only_or_sealed() {
    let https = [("x-forwarded-proto", "https")];
    let http = [("x-forwarded-proto", "http")];
    // What a client says, and a proxy that adds to it.
    let both = [https[0], http[0]];
    let listed = [("x-forwarded-proto", "https, http")];
    let behind = ServiceOptions {
        behind_proxy: true,
        ..options()
    };
    for (address, options, headers, status) in [
        ("127.0.0.1:0", options(), &[][..], 201),
        ("127.0.0.1:0", options(), &http, 403),
        ("[::1]:0", options(), &[], 201),
        ("0.0.0.0:0", options(), &[], 403),
        ("0.0.0.0:0", options(), &https, 403),
        ("0.0.0.0:0", behind.clone(), &[], 403),
        ("0.0.0.0:0", behind.clone(), &http, 403),
        ("0.0.0.0:0", behind.clone(), &both, 403),
        ("0.0.0.0:0", behind.clone(), &listed, 403),
        ("0.0.0.0:0", behind.clone(), &https, 201),
        ("127.0.0.1:0", behind.clone(), &[], 403),
        ("127.0.0.1:0", behind, &https, 201),
    ] {
        let installation = Installation::at(new_folder(), options, address).await;
        let installation = with_ada(installation).await;
        let answer = sign_in(&installation, &right(), headers).await;
        assert_eq!(answer.status, status, "{address} {headers:?}");
        if status == 403 {
            assert_eq!(answer.code(), "insecure_transport");
        }
    }
}

#[tokio::test]
async fn a_name_that_another_site_lets_point_here_is_not_signed_in_under() {
    let installation = with_ada(Installation::open().await).await;
    for (name, status) in [("evil.example:8750", 403), ("localhost:8750", 201)] {
        let answer = sign_in(&installation, &right(), &[("host", name)]).await;
        assert_eq!(answer.status, status, "{name}");
        if status == 403 {
            assert_eq!(answer.code(), "forbidden");
        }
    }
}

#[tokio::test]
async fn what_is_no_sign_in_is_refused_and_says_nothing_of_the_password() {
    let installation = with_ada(Installation::open().await).await;
    for body in [
        json!({"name": "Ada"}),
        json!({"password": PASSWORD}),
        json!({"name": PASSWORD, "password": 7}),
        json!({"name": "Ada", "password": PASSWORD, "role": "agent"}),
        json!([PASSWORD]),
        json!(["default", "Ada", PASSWORD]),
    ] {
        let answer = sign_in(&installation, &body, &[]).await;
        answer.refused(400, "invalid_argument");
        assert!(!answer.text.contains(PASSWORD));
    }
    let huge = json!({"name": "a".repeat(100_000), "password": PASSWORD});
    assert_eq!(sign_in(&installation, &huge, &[]).await.status, 413);
    let body = right().to_string();
    let mut client = installation.client();
    let answer = client
        .send("POST", "/v1/sign-in?acount=lab", "", &[], body.as_bytes())
        .await;
    answer.refused(400, "invalid_argument");
}
