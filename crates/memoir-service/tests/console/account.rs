//! A signed-in user's changes of the sign-in methods.

use serde_json::json;

use crate::{
    document::ReadDocument,
    installation::{Browser, Installation, PASSWORD},
    second_factor::cookie,
};

const NEW: &str = "another horse battery";

async fn is_in(browser: &Browser) -> bool {
    browser.get("/").await.status == 200
}

#[tokio::test]
async fn a_new_password_takes_the_old_one_and_signs_everything_else_out() {
    let installation = Installation::open().await;
    let (mut browser, other) = (installation.ada().await, installation.ada().await);
    let path = "/account/password";
    browser.page(path).await.check(path);
    for (password, new, again, status) in [
        (PASSWORD, "short", "short", 400),
        (PASSWORD, NEW, "another horse batterx", 400),
        ("wrong horse battery", NEW, NEW, 401),
        ("", NEW, NEW, 401),
    ] {
        let fields = [("password", password), ("new", new), ("again", again)];
        let answer = browser.fill_in(path, path, &fields).await;
        assert_eq!(answer.status, status, "{}", answer.text);
        answer.document().check(path);
        for typed in [password, new, again] {
            assert!(typed.is_empty() || !answer.text.contains(typed), "{typed}");
        }
    }
    let fields = [("password", PASSWORD), ("new", NEW), ("again", NEW)];
    let answer = browser.fill_in(path, path, &fields).await;
    assert_eq!(answer.leads_to(), "/account?done=password");
    let before = browser.clone();
    browser.cookie = cookie(&answer, "memoir");
    assert!(is_in(&browser).await && !is_in(&other).await && !is_in(&before).await);
    let mut stranger = installation.browser();
    assert_eq!(stranger.sign_in("Ada", PASSWORD).await.status, 401);
    assert_eq!(stranger.sign_in("Ada", NEW).await.leads_to(), "/");
}

#[tokio::test]
async fn wrong_passwords_in_an_open_browser_are_counted_too() {
    let installation = Installation::open().await;
    let browser = installation.ada().await;
    let path = "/account/password";
    let guess = [
        ("password", "wrong horse battery"),
        ("new", NEW),
        ("again", NEW),
    ];
    for _ in 0..5 {
        assert_eq!(browser.fill_in(path, path, &guess).await.status, 401);
    }
    let right = [("password", PASSWORD), ("new", NEW), ("again", NEW)];
    assert_eq!(browser.fill_in(path, path, &right).await.status, 429);
    assert_eq!(
        installation.browser().sign_in("Ada", PASSWORD).await.status,
        429
    );
}

#[tokio::test]
async fn the_list_shows_the_sign_ins_of_a_user_and_ends_them() {
    let installation = Installation::open().await;
    let (one, other) = (installation.ada().await, installation.ada().await);
    let grace = installation.another("Grace").await;
    let given = json!({"name": "Ada", "password": PASSWORD});
    installation.created("/v1/sign-in", "", given).await;
    let page = one.page("/account").await;
    page.check("/account");
    let rows: Vec<String> = page.all("tr").skip(1).map(|row| row.text.clone()).collect();
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert!(rows[0].contains("a token") && rows[1].contains("a browser"));
    let own: Vec<bool> = rows.iter().map(|row| row.contains("this one")).collect();
    assert_eq!(own, [false, false, true]);
    let ends: Vec<String> = page.forms();
    let ends: Vec<&String> = ends.iter().filter(|path| path.ends_with("/end")).collect();
    assert_eq!(ends.len(), 3);
    let answer = one.press("/account", ends[1], &[]).await;
    assert_eq!(answer.leads_to(), "/account?done=ended");
    assert!(is_in(&one).await && !is_in(&other).await);
    // Another user's is not found.
    let page = grace.page("/account").await;
    let token = page.hidden("form_token").unwrap();
    let answer = grace.post(ends[2], &[("form_token", token)]).await;
    assert_eq!(answer.status, 404);
    assert!(is_in(&one).await);
    let answer = one.press("/account", ends[2], &[]).await;
    assert_eq!(answer.leads_to(), "/account?done=ended");
    assert!(!is_in(&one).await && is_in(&grace).await);
}

#[tokio::test]
async fn no_page_of_it_is_shown_without_a_sign_in() {
    let installation = Installation::open().await;
    installation.administrator("Ada").await;
    let stranger = installation.browser();
    for path in [
        "/account",
        "/account/password",
        "/account/second-factor",
        "/account/second-factor/off",
        "/account/recovery-codes",
    ] {
        let answer = stranger.get(path).await;
        assert!(answer.leads_to().starts_with("/sign-in?next="), "{path}");
        if path != "/account" {
            let posted = stranger.post(path, &[("password", PASSWORD)]).await;
            let start_over = "/sign-in?done=start-over";
            assert_eq!(posted.leads_to(), start_over, "{path}");
        }
    }
}
