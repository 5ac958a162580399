//! The second factor: setting it up, signing in with it, and its refusals (SPEC 5.5).

use std::{sync::Arc, time::Duration};

use data_encoding::BASE32_NOPAD;
use memoir_service::ServiceOptions;
use memoir_testkit::{HttpAnswer, TestedText};
use memoir_vault::second_factor::FactorSecret;
use serde_json::{Value, json};

use crate::{
    connect,
    document::{Document, ReadDocument},
    installation::{Browser, Installation, PASSWORD},
    log::Log,
};

const PATH: &str = "/account/second-factor";

/// A device that was set up, with its recovery codes.
pub struct Device {
    secret: FactorSecret,
    pub recovery: Vec<String>,
}

impl Device {
    /// What it shows so many seconds from now.
    fn code_in(&self, installation: &Installation, seconds: i64) -> String {
        code_in(installation, &self.secret, seconds)
    }

    /// What it shows once the code before is over.
    pub fn next_code(&self, installation: &Installation) -> String {
        installation.clock.advance(Duration::from_secs(30));
        self.code_in(installation, 0)
    }
}

fn code_in(installation: &Installation, secret: &FactorSecret, seconds: i64) -> String {
    let now = installation.memoir.now().microseconds() / 1_000_000;
    secret.code_at(now + seconds)
}

/// The secret that a page shows to be typed.
fn typed(page: &Document) -> FactorSecret {
    let mut codes = page.all("code");
    let shown = codes.find(|code| code.attribute("class") == Some("typed"));
    let text = shown.unwrap().text.replace(' ', "");
    let bytes = BASE32_NOPAD.decode(text.as_bytes()).unwrap();
    FactorSecret::from_bytes(&bytes).unwrap()
}

/// The cookie of that name which an answer sets.
pub fn cookie(answer: &HttpAnswer, name: &str) -> String {
    let set = answer.headers.get_all("set-cookie").into_iter();
    let mut pairs = set.filter_map(|value| value.to_str().unwrap().split(';').next());
    let begin = format!("{name}=");
    let own = pairs.find(|pair| pair.starts_with(&begin));
    own.unwrap_or_default().to_owned()
}

/// Sets a device up with a browser that is signed in by a password, and signs it in anew.
pub async fn set_up(installation: &Installation, browser: &mut Browser) -> Device {
    let page = browser.page(PATH).await;
    let secret = typed(&page);
    let code = code_in(installation, &secret, 0);
    let fields = [("fresh", code.as_str()), ("password", PASSWORD)];
    let answer = browser.send_filled_in(&page, PATH, &fields).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    browser.cookie = cookie(&answer, "memoir");
    let shown = answer.document();
    shown.check(PATH);
    let recovery = shown.all("pre").next().unwrap().text.lines();
    let recovery: Vec<String> = recovery.map(str::to_owned).collect();
    assert_eq!(recovery.len(), 10);
    Device { secret, recovery }
}

/// A browser that gave the password, and has not given the code.
async fn half(installation: &Installation) -> Browser {
    let mut browser = installation.browser();
    let fields = [("name", "Ada"), ("password", PASSWORD)];
    let answer = browser.post("/sign-in", &fields).await;
    assert_eq!(answer.leads_to(), "/sign-in/code");
    assert_eq!(cookie(&answer, "memoir"), "", "no user is signed in yet");
    browser.cookie = cookie(&answer, "memoir-code");
    browser
}

async fn give(browser: &Browser, code: &str) -> HttpAnswer {
    let path = "/sign-in/code";
    browser.fill_in(path, path, &[("code", code)]).await
}

async fn is_in(browser: &Browser) -> bool {
    browser.get("/").await.status == 200
}

async fn rest(installation: &Installation, body: &Value) -> (u16, Value) {
    let answer = installation.send("POST", "/v1/sign-in", "", body).await;
    (answer.status, answer.json())
}

#[tokio::test]
async fn it_is_on_once_the_device_has_shown_a_right_code_and_other_sign_ins_are_over() {
    let installation = Installation::open().await;
    let (mut browser, other) = (installation.ada().await, installation.ada().await);
    let overview = browser.page("/account").await;
    overview.check("/account");
    assert!(overview.links().contains(&PATH.to_owned()));
    let page = browser.page(PATH).await;
    page.check(PATH);
    let code = code_in(&installation, &typed(&page), 0);
    for (fresh, password, status) in [
        ("000000", PASSWORD, 400),
        (code.as_str(), "wrong horse battery", 401),
        ("", "", 400),
    ] {
        let fields = [("fresh", fresh), ("password", password)];
        let answer = browser.send_filled_in(&page, PATH, &fields).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        let again = answer.document();
        again.check(PATH);
        // The same secret, so that a device that was set up already still fits.
        assert_eq!(typed(&again).expose(), typed(&page).expose());
        assert!(!answer.text.contains("horse"));
        // Nothing takes a code yet.
        assert!(is_in(&installation.ada().await).await);
    }
    let device = set_up(&installation, &mut browser).await;
    assert!(is_in(&browser).await && !is_in(&other).await);
    let overview = browser.get("/account").await.text;
    overview.tells("10 of 10 recovery codes");
    // Nothing shows the secret or the codes again.
    for path in [
        "/account",
        PATH,
        "/account/recovery-codes",
        "/account/second-factor/off",
    ] {
        let answer = browser.get(path).await;
        answer.document().check(path);
        let text = answer.text.replace(' ', "");
        assert!(!text.contains(device.secret.base32().as_str()), "{path}");
        assert!(!device.recovery.iter().any(|code| text.contains(code)));
    }
}

#[tokio::test]
async fn a_picture_of_yesterday_is_not_taken() {
    let installation = Installation::open().await;
    let browser = installation.ada().await;
    let page = browser.page(PATH).await;
    installation.clock.advance(Duration::from_secs(16 * 60));
    let code = code_in(&installation, &typed(&page), 0);
    let fields = [("fresh", code.as_str()), ("password", PASSWORD)];
    let answer = browser.send_filled_in(&page, PATH, &fields).await;
    assert_eq!(answer.status, 400);
    assert_ne!(typed(&answer.document()).expose(), typed(&page).expose());
    assert!(is_in(&installation.ada().await).await);
}

#[tokio::test]
async fn the_code_is_asked_for_on_a_page_of_its_own_that_opens_nothing_else() {
    let installation = Installation::open().await;
    let mut browser = installation.ada().await;
    let device = set_up(&installation, &mut browser).await;
    let fields = [("name", "Ada"), ("password", PASSWORD), ("next", "/audit")];
    let answer = installation.browser().post("/sign-in", &fields).await;
    assert_eq!(answer.leads_to(), "/sign-in/code?next=%2Faudit");
    let set = answer.header("set-cookie").to_owned();
    assert!(
        set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=300"),
        "{set}"
    );
    let mut waiting = installation.browser();
    waiting.cookie = cookie(&answer, "memoir-code");
    let page = waiting.page("/sign-in/code?next=%2Faudit").await;
    page.check("/sign-in/code");
    let links = page.links();
    assert!(
        links.contains(&"/sign-in?next=%2Faudit".to_owned()),
        "{links:?}"
    );
    // What it holds is no sign-in, under its own name or another.
    assert!(!is_in(&waiting).await);
    let value = waiting.cookie.split_once('=').unwrap().1;
    let mut thief = installation.browser();
    thief.cookie = format!("memoir={value}");
    assert!(!is_in(&thief).await);
    let code = device.next_code(&installation);
    let fields = [("code", code.as_str())];
    let foreign = [("sec-fetch-site", "cross-site")];
    let refused = waiting.send("/sign-in/code", &fields, &foreign).await;
    assert_eq!(refused.status, 403);
    let path = "/sign-in/code";
    let answer = waiting.send_filled_in(&page, path, &fields).await;
    assert_eq!(answer.leads_to(), "/audit");
    assert_eq!(cookie(&answer, "memoir-code"), "memoir-code=");
    waiting.cookie = cookie(&answer, "memoir");
    assert!(is_in(&waiting).await);
}

#[tokio::test]
async fn a_code_counts_once_and_a_clock_may_be_one_step_off() {
    let installation = Installation::open().await;
    let mut browser = installation.ada().await;
    let device = set_up(&installation, &mut browser).await;
    installation.clock.advance(Duration::from_secs(120));
    let waiting = half(&installation).await;
    for (seconds, status) in [
        (-60, 401),
        (-30, 303),
        (-30, 401),
        (0, 303),
        (-30, 401),
        (60, 401),
        (30, 303),
        (0, 401),
    ] {
        let code = device.code_in(&installation, seconds);
        let answer = give(&waiting, &code).await;
        assert_eq!(answer.status, status, "{seconds}: {}", answer.text);
        if status == 401 {
            answer.document().check("/sign-in/code");
            assert!(!answer.text.contains(&code));
            assert!(!is_in(&waiting).await);
        }
    }
}

#[tokio::test]
async fn each_recovery_code_lets_in_once() {
    let installation = Installation::open().await;
    let mut browser = installation.ada().await;
    let device = set_up(&installation, &mut browser).await;
    let code = &device.recovery[7];
    assert_eq!(give(&half(&installation).await, code).await.leads_to(), "/");
    assert_eq!(give(&half(&installation).await, code).await.status, 401);
    let typed = device.recovery[8].to_uppercase().replace('-', "");
    let answer = give(&half(&installation).await, &typed).await;
    assert_eq!(answer.leads_to(), "/");
    let overview = browser.get("/account").await.text;
    overview.tells("8 of 10 recovery codes");
    // New ones take the place of the old.
    let path = "/account/recovery-codes";
    let now = device.next_code(&installation);
    let fields = [("password", PASSWORD), ("code", "1")];
    assert_eq!(browser.fill_in(path, path, &fields).await.status, 401);
    let fields = [("password", PASSWORD), ("code", now.as_str())];
    let answer = browser.fill_in(path, path, &fields).await;
    assert_eq!(answer.status, 200);
    let shown = answer.document();
    shown.check(path);
    let codes = &shown.all("pre").next().unwrap().text;
    let fresh = codes.lines().next().unwrap();
    let waiting = half(&installation).await;
    give(&waiting, &device.recovery[0]).await.expect(401);
    let answer = give(&half(&installation).await, fresh).await;
    assert_eq!(answer.leads_to(), "/");
}

#[tokio::test]
async fn wrong_codes_are_counted_with_wrong_passwords() {
    let installation = Installation::open().await;
    let mut browser = installation.ada().await;
    let device = set_up(&installation, &mut browser).await;
    // The right password counts too, until the sign-in is complete.
    let waiting = half(&installation).await;
    for _ in 0..4 {
        assert_eq!(give(&waiting, "000000").await.status, 401);
    }
    let code = device.next_code(&installation);
    assert_eq!(give(&waiting, &code).await.status, 429);
    let body = json!({"name": "Ada", "password": PASSWORD, "code": code});
    let (status, told) = rest(&installation, &body).await;
    assert_eq!((status, told["code"].as_str()), (429, Some("rate_limited")));
    // Nor on the page of a signed-in user.
    let path = "/account/second-factor/off";
    let fields = [("password", PASSWORD), ("code", code.as_str())];
    assert_eq!(browser.fill_in(path, path, &fields).await.status, 429);
    let overview = browser.get("/account").await.text;
    overview.tells("4 wrong codes");
}

#[tokio::test]
async fn rest_is_no_way_around_it() {
    let installation = Installation::open().await;
    let mut browser = installation.ada().await;
    let device = set_up(&installation, &mut browser).await;
    let sign_in = async |password: &str, code: Value| {
        let body = json!({"name": "Ada", "password": password, "code": code});
        rest(&installation, &body).await
    };
    let (status, told) = sign_in(PASSWORD, Value::Null).await;
    assert_eq!(
        (status, told["code"].as_str()),
        (401, Some("second_factor_needed"))
    );
    // Only the right password gets this response, and a wrong code reveals nothing of the password.
    let code = device.next_code(&installation);
    let (_, refused) = sign_in("wrong horse battery", Value::Null).await;
    assert_eq!(refused["code"], "unauthorized");
    let wrong_password = sign_in("wrong horse battery", json!(code)).await;
    assert_eq!(sign_in(PASSWORD, json!("000000")).await, wrong_password);
    assert_eq!(wrong_password.0, 401);
    let (status, made) = sign_in(PASSWORD, json!(code)).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(sign_in(PASSWORD, json!(code)).await, wrong_password);
    let (status, _) = sign_in(PASSWORD, json!(device.recovery[0])).await;
    assert_eq!(status, 201);
    let token = made["token"].as_str().unwrap();
    let asked = async || installation.get("/v1/agents", token).await.status;
    assert_eq!(asked().await, 200);
    browser.pressed("/", "/sign-out-everywhere", &[]).await;
    assert_eq!(asked().await, 401);
}

#[tokio::test]
async fn half_a_sign_in_ends_after_five_minutes_or_when_everything_ends() {
    let installation = Installation::open().await;
    let mut browser = installation.ada().await;
    let device = set_up(&installation, &mut browser).await;
    let waiting = half(&installation).await;
    installation.clock.advance(Duration::from_secs(5 * 60));
    let late = waiting.get("/sign-in/code").await;
    assert_eq!(late.leads_to(), "/sign-in?done=start-over");
    let wanted = waiting.get("/sign-in/code?next=%2Faudit").await;
    let start_over = "/sign-in?next=%2Faudit&done=start-over";
    assert_eq!(wanted.leads_to(), start_over);
    let told = installation.browser().get(late.leads_to()).await;
    assert!(told.text.contains("took too long"));
    let waiting = half(&installation).await;
    browser.pressed("/", "/sign-out-everywhere", &[]).await;
    let code = device.next_code(&installation);
    let answer = waiting.post("/sign-in/code", &[("code", &code)]).await;
    assert_eq!(answer.leads_to(), "/sign-in?done=start-over");
    let stranger = installation.browser();
    let answer = stranger.post("/sign-in/code", &[("code", &code)]).await;
    assert_eq!(answer.leads_to(), "/sign-in?done=start-over");
}

#[tokio::test]
async fn turning_it_off_and_setting_it_up_anew_take_the_password_and_a_code() {
    let installation = Installation::open().await;
    let mut browser = installation.ada().await;
    let old = set_up(&installation, &mut browser).await;
    let page = browser.page(PATH).await;
    let secret = typed(&page);
    let fresh = || code_in(&installation, &secret, 0);
    let code = old.next_code(&installation);
    for (password, code, status) in [
        (PASSWORD, "", 401),
        (PASSWORD, "000000", 401),
        ("wrong horse battery", code.as_str(), 401),
        (PASSWORD, code.as_str(), 200),
    ] {
        let now = fresh();
        let fields = [
            ("fresh", now.as_str()),
            ("password", password),
            ("code", code),
        ];
        let answer = browser.send_filled_in(&page, PATH, &fields).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        if status == 200 {
            browser.cookie = cookie(&answer, "memoir");
        }
    }
    // The old device and its codes are of no use any more.
    let gone = old.next_code(&installation);
    let waiting = half(&installation).await;
    assert_eq!(give(&waiting, &gone).await.status, 401);
    assert_eq!(give(&waiting, &old.recovery[0]).await.status, 401);
    assert_eq!(give(&waiting, &fresh()).await.leads_to(), "/");
    let off = "/account/second-factor/off";
    let no_code = browser.fill_in(off, off, &[("password", PASSWORD)]).await;
    assert_eq!(no_code.status, 401);
    no_code.document().check(off);
    installation.clock.advance(Duration::from_secs(30));
    let now = fresh();
    let fields = [("password", PASSWORD), ("code", now.as_str())];
    let answer = browser.fill_in(off, off, &fields).await;
    assert_eq!(answer.leads_to(), "/account?done=factor-off");
    browser.cookie = cookie(&answer, "memoir");
    assert!(is_in(&browser).await && is_in(&installation.ada().await).await);
}

#[tokio::test]
async fn behind_a_proxy_with_tls_what_waits_for_the_code_is_of_this_host_alone() {
    let installation = Installation::with(ServiceOptions {
        behind_proxy: true,
        ..ServiceOptions::default()
    })
    .await;
    installation.administrator("Ada").await;
    let sealed = [
        ("sec-fetch-site", "same-origin"),
        ("x-forwarded-proto", "https"),
    ];
    let mut browser = installation.browser();
    let fields = [("name", "Ada"), ("password", PASSWORD)];
    let answer = browser.send("/sign-in", &fields, &sealed).await;
    browser.cookie = cookie(&answer, "__Host-memoir");
    let page = browser.page(PATH).await;
    let code = code_in(&installation, &typed(&page), 0);
    let form_token = page.hidden("form_token").unwrap();
    let offered = page.hidden("offered").unwrap();
    let filled = [
        ("form_token", form_token),
        ("offered", offered),
        ("fresh", code.as_str()),
        ("password", PASSWORD),
    ];
    let open = browser.post(PATH, &filled).await;
    assert_eq!(open.status, 403, "no password in the open");
    assert_eq!(browser.send(PATH, &filled, &sealed).await.status, 200);
    let answer = browser.send("/sign-in", &fields, &sealed).await;
    assert_eq!(answer.leads_to(), "/sign-in/code");
    let set = answer.header("set-cookie");
    assert!(set.starts_with("__Host-memoir-code="), "{set}");
    assert!(
        set.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=300"),
        "{set}"
    );
}

#[tokio::test]
async fn no_log_and_no_metric_holds_a_password_a_code_a_token_or_a_secret() {
    let log = Log::begin();
    let link = Arc::new(memoir_vault::token::TokenSecret::generate_for_link().unwrap());
    let installation = Installation::with(ServiceOptions {
        first_link: Some(link.clone()),
        ..connect::with_programs()
    })
    .await;
    let path = format!("/first/{}", link.expose());
    let mut browser = installation.browser();
    browser.page(&path).await;
    browser.get("/first/a-wrong-link-of-somebody").await;
    let fields = [("name", "Ada"), ("password", PASSWORD), ("again", PASSWORD)];
    let answer = browser.post(&path, &fields).await;
    browser.cookie = cookie(&answer, "memoir");
    let device = set_up(&installation, &mut browser).await;
    let code = device.next_code(&installation);
    let waiting = half(&installation).await;
    give(&waiting, "123456").await;
    let entered = give(&waiting, &code).await;
    let body = json!({"name": "Ada", "password": PASSWORD, "code": device.recovery[0]});
    let (_, made) = rest(&installation, &body).await;
    browser.cookie = cookie(&entered, "memoir");
    let presented = connect::all_that_is_presented(&installation, &browser).await;
    let metrics = installation.get("/metrics", "").await.text;
    let logged = log.text();
    logged.tells("an administrator signed in");
    logged.tells("a connection ended");
    let entered = cookie(&entered, "memoir");
    let cookies = [&browser.cookie, &waiting.cookie, &entered];
    let cookies = cookies.map(|pair| pair.split_once('=').unwrap().1);
    let base32 = device.secret.base32().to_string();
    let mut secrets: Vec<&str> = vec![
        PASSWORD,
        "wrong-link",
        link.expose(),
        &base32,
        made["token"].as_str().unwrap(),
    ];
    secrets.extend(cookies);
    secrets.extend(presented.iter().map(String::as_str));
    secrets.extend(device.recovery.iter().map(String::as_str));
    for secret in secrets {
        assert!(secret.len() > 5);
        logged.omits(secret);
        metrics.omits(secret);
    }
    // Codes are short: they may stand in an identifier by chance, and so are looked for as words.
    let is_there = |text: &str| {
        let mut words = text.split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| word == code || word == "123456")
    };
    assert!(!is_there(&logged) && !is_there(&metrics));
}
