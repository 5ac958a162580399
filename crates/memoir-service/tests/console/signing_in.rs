//! Signing in with a browser, and out (SPEC 5.5).

use std::time::Duration;

use memoir_service::ServiceOptions;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    document::ReadDocument,
    installation::{Browser, Installation, PASSWORD},
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Whether the browser is signed in.
async fn is_in(browser: &Browser) -> bool {
    let answer = browser.get("/").await;
    match answer.status {
        200 => true,
        303 if answer.header("location") == "/sign-in" => false,
        _ => panic!("{}", answer.text),
    }
}

#[tokio::test]
async fn the_right_password_gives_a_cookie_that_no_script_reads() {
    let installation = Installation::open().await;
    installation.administrator("Ada").await;
    let mut browser = installation.browser();
    assert!(!is_in(&browser).await);
    let answer = browser.sign_in("ada", PASSWORD).await;
    assert_eq!(answer.leads_to(), "/");
    let set = answer.header("set-cookie").to_owned();
    let (cookie, flags) = set.split_once("; ").unwrap();
    assert!(cookie.starts_with("memoir=signed-in_"), "{cookie}");
    assert_eq!(flags, "Path=/; HttpOnly; SameSite=Strict");
    assert!(is_in(&browser).await);
    // Who is in needs no form.
    assert_eq!(browser.get("/sign-in").await.leads_to(), "/");
}

#[tokio::test]
async fn a_sign_in_leads_to_the_requested_page_only() {
    let installation = Installation::open().await;
    installation.administrator("Ada").await;
    let mut browser = installation.browser();
    let answer = browser.get("/audit?agent=wren").await;
    let sign_in = answer.leads_to().to_owned();
    assert_eq!(sign_in, "/sign-in?next=%2Faudit%3Fagent%3Dwren");
    let page = browser.page(&sign_in).await;
    assert_eq!(page.hidden("next"), Some("/audit?agent=wren"));
    let answer = browser.post(
        "/sign-in",
        &[
            ("name", "Ada"),
            ("password", PASSWORD),
            ("next", "//evil.example/"),
        ],
    );
    assert_eq!(answer.await.leads_to(), "/");
    browser.sign_in("Ada", PASSWORD).await;
    assert!(is_in(&browser).await);
    let led_from = async |next: &str| {
        let query = serde_urlencoded::to_string([("next", next)]).unwrap();
        let answer = browser.get(&format!("/sign-in?{query}")).await;
        answer.leads_to().to_owned()
    };
    for path in [
        "/",
        "/agents/1?after=2",
        "/audit?agent=wren&since=2026-03-01",
    ] {
        assert_eq!(led_from(path).await, path);
    }
    for path in [
        "",
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "/a\nb",
        "/\t/evil.example",
        "javascript:alert(1)",
    ] {
        assert_eq!(led_from(path).await, "/", "{path}");
    }
}

#[tokio::test]
async fn a_wrong_password_tells_no_more_than_a_wrong_name() {
    let installation = Installation::open().await;
    installation.administrator("Ada").await;
    let mut browser = installation.browser();
    let mut told = Vec::new();
    for (name, password) in [
        ("Ada", "wrong horse battery"),
        ("Ada", "short"),
        ("Grace", PASSWORD),
    ] {
        let answer = browser.sign_in(name, password).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (401, ""));
        let document = answer.document();
        document.check("/sign-in");
        assert!(!answer.text.contains(password));
        told.push(answer.text.replace(name, ""));
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
}

#[tokio::test]
async fn attempts_are_counted_together_with_those_of_other_doors() {
    let installation = Installation::open().await;
    installation.administrator("Ada").await;
    let mut browser = installation.browser();
    for _ in 0..5 {
        assert_eq!(
            browser.sign_in("Ada", "wrong horse battery").await.status,
            401
        );
    }
    assert_eq!(browser.sign_in("Ada", PASSWORD).await.status, 429);
    let given = json!({"name": "Ada", "password": PASSWORD});
    installation
        .post("/v1/sign-in", "", given)
        .await
        .expect(429);
}

#[tokio::test]
async fn behind_a_proxy_with_tls_the_cookie_is_of_this_host_alone() {
    let options = ServiceOptions {
        behind_proxy: true,
        ..ServiceOptions::default()
    };
    let installation = Installation::with(options).await;
    installation.administrator("Ada").await;
    let browser = installation.browser();
    let fields = [("name", "Ada"), ("password", PASSWORD)];
    let open = browser.post("/sign-in", &fields).await;
    assert_eq!((open.status, open.header("set-cookie")), (403, ""));
    assert!(
        open.document().forms().is_empty(),
        "no password is asked for"
    );
    let sealed = [
        ("sec-fetch-site", "same-origin"),
        ("x-forwarded-proto", "https"),
    ];
    let answer = browser.send("/sign-in", &fields, &sealed).await;
    assert_eq!(answer.leads_to(), "/");
    let set = answer.header("set-cookie");
    assert!(set.starts_with("__Host-memoir=signed-in_"), "{set}");
    assert!(
        set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"),
        "{set}"
    );
}

#[tokio::test]
async fn spec_5_5_a_cookie_is_no_token_and_a_token_no_cookie() {
    let installation = Installation::open().await;
    let browser = installation.ada().await;
    let secret = browser.cookie.split_once('=').unwrap().1.to_owned();
    installation.get("/v1/agents", &secret).await.expect(401);
    let token = installation
        .account
        .create_token(None, &memoir_domain::audit::Actor::owner())
        .await
        .unwrap();
    let mut other = installation.browser();
    other.cookie = format!("memoir={}", token.secret.expose());
    assert!(!is_in(&other).await);
}

#[tokio::test]
async fn signing_out_ends_one_browser_or_all_of_them() {
    let installation = Installation::open().await;
    let (one, other) = (installation.ada().await, installation.ada().await);
    let grace = installation.another("Grace").await;
    let answer = one.press("/", "/sign-out", &[]).await;
    assert_eq!(answer.leads_to(), "/sign-in?done=signed-out");
    assert!(answer.header("set-cookie").starts_with("memoir=; "));
    assert!(answer.header("set-cookie").ends_with("; Max-Age=0"));
    assert!(!is_in(&one).await && is_in(&other).await);

    let third = installation.ada().await;
    let given = json!({"name": "Ada", "password": PASSWORD});
    let made = installation.created("/v1/sign-in", "", given).await;
    third.pressed("/", "/sign-out-everywhere", &[]).await;
    assert!(!is_in(&other).await && !is_in(&third).await);
    let token = made["token"].as_str().unwrap();
    installation.get("/v1/agents", token).await.expect(401);
    assert!(is_in(&grace).await, "another user stays signed in");
}

#[tokio::test]
async fn a_sign_in_ends_when_idle_and_after_twelve_hours() {
    let installation = Installation::open().await;
    let (idle, busy) = (installation.ada().await, installation.ada().await);
    for _ in 0..5 {
        installation.clock.advance(HOUR);
        assert!(is_in(&busy).await);
    }
    assert!(!is_in(&idle).await);
    for _ in 0..6 {
        installation.clock.advance(HOUR);
        assert!(is_in(&busy).await);
    }
    installation.clock.advance(HOUR);
    assert!(!is_in(&busy).await);
}

#[tokio::test]
async fn a_restart_ends_no_sign_in() {
    let mut installation = Installation::open().await;
    let mut browser = installation.ada().await;
    installation.serve_again().await;
    browser.address = installation.address.clone();
    assert!(is_in(&browser).await);
}

#[tokio::test]
async fn spec_5_5_a_form_whose_user_is_signed_out_while_it_comes_is_not_carried_out() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}", agent.scope().agent);
    let form = format!("form_token={}", browser.form_token(&page).await);
    let address = installation.address.strip_prefix("http://").unwrap();
    let head = format!(
        "POST {page}/pause HTTP/1.1\r\nhost: {address}\r\ncookie: {}\r\n\
         sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        browser.cookie,
        form.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    // The form is asked for once the user was admitted.
    let mut told = [0; 25];
    stream.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    browser.pressed("/", "/sign-out-everywhere", &[]).await;
    stream.write_all(form.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    assert!(
        answer.contains("location: /sign-in?done=start-over"),
        "{answer}"
    );
    let view = agent.views().show().await.unwrap();
    assert_ne!(view.settings.expose()["paused"], true);
}
