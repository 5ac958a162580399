//! The first administrator, by the link that the service prints (SPEC 5.5).

use std::sync::Arc;

use memoir_service::ServiceOptions;
use memoir_testkit::HttpAnswer;
use memoir_vault::{password::Password, token::TokenSecret};

use crate::{
    document::ReadDocument,
    installation::{Browser, Installation, PASSWORD},
    second_factor::cookie,
};

fn secret() -> Arc<TokenSecret> {
    Arc::new(TokenSecret::generate_for_link().unwrap())
}

/// An installation that has no administrator, and the path of its link.
async fn empty(options: ServiceOptions) -> (Installation, String) {
    let link = secret();
    let installation = Installation::with(ServiceOptions {
        first_link: Some(link.clone()),
        ..options
    })
    .await;
    (installation, format!("/first/{}", link.expose()))
}

async fn create(browser: &Browser, path: &str, name: &str) -> HttpAnswer {
    let fields = [("name", name), ("password", PASSWORD), ("again", PASSWORD)];
    browser.post(path, &fields).await
}

#[tokio::test]
async fn the_link_makes_one_administrator_who_is_signed_in_and_is_dead_then() {
    let (installation, path) = empty(ServiceOptions::default()).await;
    let mut browser = installation.browser();
    let page = browser.page(&path).await;
    page.check("/first/SECRET");
    assert_eq!(page.forms(), std::slice::from_ref(&path));
    for (name, password, again) in [
        ("", PASSWORD, PASSWORD),
        ("Ada", "short", "short"),
        ("Ada", PASSWORD, "correct horse batterx"),
        ("A\u{7}da", PASSWORD, PASSWORD),
    ] {
        let fields = [("name", name), ("password", password), ("again", again)];
        let answer = browser.post(&path, &fields).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        answer.document().check("/first/SECRET");
        assert!(!answer.text.contains(password));
    }
    let fields = [
        ("name", "Ada"),
        ("password", PASSWORD),
        ("again", PASSWORD),
        ("account", "nowhere"),
    ];
    assert_eq!(browser.post(&path, &fields).await.status, 404);
    assert!(!installation.memoir.has_users().await.unwrap());
    let answer = create(&browser, &path, "Ada").await;
    assert_eq!(answer.leads_to(), "/account?done=first");
    browser.cookie = cookie(&answer, "memoir");
    let account = browser.get("/account?done=first").await;
    assert!(account.text.contains("You are the first administrator"));
    let gone = installation.browser().get(&path).await;
    assert_eq!(gone.status, 404);
    gone.document().check("/first/SECRET");
    assert_eq!(
        create(&installation.browser(), &path, "Eve").await.status,
        404
    );
    assert_eq!(installation.account.users().await.unwrap().len(), 1);
    let signed_in = installation.browser().sign_in("Ada", PASSWORD).await;
    assert_eq!(signed_in.leads_to(), "/");
}

#[tokio::test]
async fn a_wrong_link_is_answered_as_a_used_one() {
    let (installation, path) = empty(ServiceOptions::default()).await;
    let browser = installation.browser();
    let wrong = format!("/first/{}", secret().expose());
    let (before, posted) = (
        browser.get(&wrong).await,
        create(&browser, &wrong, "Eve").await,
    );
    installation.administrator("Ada").await;
    let used = browser.get(&path).await;
    let used_posted = create(&browser, &path, "Eve").await;
    for answer in [&before, &posted, &used_posted] {
        assert_eq!((answer.status, &answer.text), (used.status, &used.text));
    }
    assert_eq!(used.status, 404);
    assert!(used.text.contains("memoir user add NAME"));
    assert_eq!(installation.account.users().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_administrator_who_was_made_otherwise_ends_the_link_for_good() {
    let (installation, path) = empty(ServiceOptions::default()).await;
    installation
        .memoir
        .create_account("lab", &memoir_domain::audit::Actor::owner())
        .await
        .unwrap();
    let lab = installation.memoir.account("lab").await.unwrap();
    let password = Password::from_text(PASSWORD).unwrap();
    assert_eq!(installation.browser().get(&path).await.status, 200);
    lab.create_user("Ada", password, &memoir_domain::audit::Actor::owner())
        .await
        .unwrap();
    assert_eq!(
        create(&installation.browser(), &path, "Eve").await.status,
        404
    );
    assert_eq!(installation.account.users().await.unwrap().len(), 0);
}

#[tokio::test]
async fn of_two_who_come_at_once_one_is_made() {
    let (installation, path) = empty(ServiceOptions::default()).await;
    let tasks: Vec<_> = ["Ada", "Grace", "Eve"]
        .into_iter()
        .map(|name| {
            let (browser, path) = (installation.browser(), path.clone());
            tokio::spawn(async move { create(&browser, &path, name).await.status })
        })
        .collect();
    let mut told = Vec::new();
    for task in tasks {
        told.push(task.await.unwrap());
    }
    told.sort_unstable();
    assert_eq!(told, [303, 404, 404]);
    assert_eq!(installation.account.users().await.unwrap().len(), 1);
}

#[tokio::test]
async fn links_come_by_a_safe_way_from_this_host_and_wrong_ones_block_no_user() {
    let (installation, path) = empty(ServiceOptions::default()).await;
    let browser = installation.browser();
    let fields = [("name", "Eve"), ("password", PASSWORD), ("again", PASSWORD)];
    let foreign = [("sec-fetch-site", "cross-site")];
    assert_eq!(browser.send(&path, &fields, &foreign).await.status, 403);
    // Any page that is open on this machine can make a browser ask for links.
    for _ in 0..40 {
        let wrong = format!("/first/{}", secret().expose());
        assert_eq!(browser.get(&wrong).await.status, 404);
    }
    assert_eq!(browser.get(&path).await.status, 200);
    installation.administrator("Ada").await;
    let signed_in = installation.browser().sign_in("Ada", PASSWORD).await;
    assert_eq!(signed_in.leads_to(), "/");

    let behind = ServiceOptions {
        behind_proxy: true,
        ..ServiceOptions::default()
    };
    let (installation, path) = empty(behind).await;
    let open = installation.browser().get(&path).await;
    assert_eq!(open.status, 403);
    assert!(
        open.document().forms().is_empty(),
        "no password is asked for"
    );
    assert_eq!(
        create(&installation.browser(), &path, "Eve").await.status,
        403
    );
    let sealed = [
        ("sec-fetch-site", "same-origin"),
        ("x-forwarded-proto", "https"),
    ];
    let answer = installation.browser().send(&path, &fields, &sealed).await;
    assert_eq!(answer.leads_to(), "/account?done=first");
    assert!(cookie(&answer, "__Host-memoir").len() > 40);
}

#[tokio::test]
async fn without_a_link_nothing_opens() {
    let installation = Installation::open().await;
    for path in ["/first/", "/first/x", "/first"] {
        assert_eq!(installation.browser().get(path).await.status, 404, "{path}");
    }
}
