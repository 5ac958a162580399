//! The description of the interface and its pages, as they are served.

use serde_json::Value;

use crate::installation::Installation;

#[tokio::test]
async fn the_description_is_served_to_everybody() {
    let installation = Installation::open().await;
    let served = installation.get("/openapi.json", "").await;
    assert_eq!(served.header("content-type"), "application/json");
    let document = served.expect(200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(&document, memoir_service::openapi());
}

#[tokio::test]
async fn the_pages_need_nothing_but_themselves() {
    let installation = Installation::open().await;
    let page = installation.get("/docs", "").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert!(page.text.contains("/v1/agents/{agent}/memories"));
    let error = installation.get("/docs/errors/session_open", "").await;
    assert_eq!(error.status, 200);
    assert!(error.text.contains("<h1><code>session_open</code></h1>"));
    installation
        .get("/docs/errors/no_such", "")
        .await
        .refused(404, "not_found");
}

#[tokio::test]
async fn what_is_not_there_is_told_so() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    installation.get("/v2", "").await.refused(404, "not_found");
    let slash = installation
        .get("/v1/agents/", &administrator)
        .await
        .refused(404, "not_found");
    assert_eq!(slash["hint"], "paths here have no slash at the end");
    let wrong = installation
        .send("PATCH", "/v1/agents", &administrator, &Value::Null)
        .await;
    wrong.refused(405, "method_not_allowed");
    let allowed = wrong.header("allow").to_owned();
    assert!(
        allowed.contains("GET") && allowed.contains("POST"),
        "{allowed}"
    );
    let options = installation
        .send("OPTIONS", "/v1/agents", "", &Value::Null)
        .await;
    assert_eq!(
        (options.status, options.header("allow")),
        (204, allowed.as_str())
    );
    let head = installation
        .send("HEAD", "/v1/agents", &administrator, &Value::Null)
        .await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn what_is_private_is_kept_by_no_cache() {
    let installation = Installation::open().await;
    let administrator = installation.administrator().await;
    let shown = installation.get("/v1/agents", &administrator).await;
    assert_eq!(shown.header("cache-control"), "no-store");
}
