//! What the pages load: from this host, under names that hold the hashes of what is in them, and little of it.

use std::collections::BTreeSet;

use crate::{
    document::{Document, ReadDocument},
    installation::{Browser, Installation},
};

/// What a page loads.
fn loaded(document: &Document) -> BTreeSet<String> {
    let styles = document
        .all("link")
        .filter(|link| link.attribute("rel") == Some("stylesheet"))
        .map(|link| link.attribute("href").unwrap().to_owned());
    let scripts = document
        .all("script")
        .map(|script| script.attribute("src").unwrap().to_owned());
    styles.chain(scripts).collect()
}

/// The bytes of a page and of all that it loads.
async fn weight(browser: &Browser, path: &str) -> usize {
    let page = browser.get(path).await;
    assert_eq!(page.status, 200, "{path}");
    let mut bytes = page.text.len();
    for file in loaded(&page.document()) {
        bytes += browser.get(&file).await.text.len();
    }
    bytes
}

#[tokio::test]
async fn the_first_page_is_small() {
    let installation = Installation::open().await;
    installation.make_agents(60).await;
    let browser = installation.ada().await;
    let bytes = weight(&browser, "/").await;
    assert!(bytes < 100_000, "{bytes}");
    let bytes = weight(&installation.browser(), "/sign-in").await;
    assert!(bytes < 50_000, "{bytes}");
}

#[tokio::test]
async fn what_pages_load_is_kept_for_good_and_comes_from_here() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One", "one"]).await;
    let (session, _) = agent
        .open_own(memoir_domain::session::Mode::Full)
        .await
        .unwrap();
    let browser = installation.ada().await;
    let mut files = BTreeSet::new();
    for path in [
        "/".to_owned(),
        format!("/agents/{}", agent.scope().agent),
        format!("/sessions/{}", session.id),
    ] {
        files.extend(loaded(&browser.page(&path).await));
    }
    for stem in ["console", "live"] {
        let start = format!("/assets/{stem}.");
        assert!(files.iter().any(|file| file.starts_with(&start)), "{stem}");
    }
    for file in files {
        let answer = browser.get(&file).await;
        assert_eq!(answer.status, 200, "{file}");
        let (_, hash_and_kind) = file.split_once('.').unwrap();
        let (hash, kind) = hash_and_kind.split_once('.').unwrap();
        assert!(
            hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{file}"
        );
        let expected = match kind {
            "css" => "text/css; charset=utf-8",
            _ => "text/javascript; charset=utf-8",
        };
        assert_eq!(answer.header("content-type"), expected, "{file}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(
            answer.header("cache-control"),
            "public, max-age=31536000, immutable"
        );
        // Nothing is fetched from elsewhere.
        let text = &answer.text;
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{file}"
        );
        let other = file.replacen(&hash[..4], "zzzz", 1);
        assert_eq!(browser.get(&other).await.status, 404, "{other}");
    }
    for unknown in [
        "/assets/console.css",
        "/assets/live.js",
        "/assets/..%2Fsrc%2Flib.rs",
        "/assets/",
    ] {
        assert_eq!(browser.get(unknown).await.status, 404, "{unknown}");
    }
}
