//! The description of the interface and its pages, as they are served.

use memoir_testkit::TestedText;
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

/// Where a value points to, in it and in all that it holds.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_part_that_the_description_points_to_is_in_it() {
    let document = memoir_service::openapi();
    let mut found = Vec::new();
    references(document, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#');
        let part = pointer.and_then(|pointer| document.pointer(pointer));
        assert!(part.is_some(), "{reference} is nowhere");
    }
}

#[tokio::test]
async fn the_pages_need_nothing_but_themselves() {
    let installation = Installation::open().await;
    let page = installation.get("/docs", "").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    policy.begins("default-src 'none'; style-src 'sha256-");
    assert!(page.text.contains("/v1/agents/{agent}/memories"));
    let error = installation.get("/docs/errors/session_open", "").await;
    assert_eq!(error.status, 200);
    assert!(error.text.contains("<h1><code>session_open</code></h1>"));
    let unknown = installation.get("/docs/errors/no_such", "").await;
    unknown.refused(404, "not_found");
}

#[tokio::test]
async fn what_is_not_there_is_told_so() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    installation.get("/v2", "").await.refused(404, "not_found");
    let slash = admin.get("/v1/agents/").await;
    let slash = slash.refused(404, "not_found");
    assert_eq!(slash["hint"], "paths here have no slash at the end");
    let wrong = admin.patch("/v1/agents", &Value::Null).await;
    wrong.refused(405, "method_not_allowed");
    let allowed = wrong.header("allow").to_owned();
    allowed.tells("GET");
    allowed.tells("POST");
    let options = installation
        .send("OPTIONS", "/v1/agents", "", &Value::Null)
        .await;
    assert_eq!(
        (options.status, options.header("allow")),
        (204, allowed.as_str())
    );
    let head = admin.send("HEAD", "/v1/agents", &Value::Null).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn what_is_private_is_kept_by_no_cache() {
    let installation = Installation::open().await;
    let admin = installation.administrator().await;
    let shown = admin.get("/v1/agents").await;
    assert_eq!(shown.header("cache-control"), "no-store");
}

#[test]
fn the_refusals_of_signing_in_and_of_an_undone_setting_are_described() {
    let paths = &memoir_service::openapi()["paths"];
    for (path, codes) in [
        (
            "/v1/sign-in",
            &["forbidden", "second_factor_needed", "contended"][..],
        ),
        ("/v1/agents/{agent}/self/{field}/undo", &["daily_quota"][..]),
    ] {
        let responses = paths[path]["post"]["responses"].to_string();
        for code in codes {
            assert!(responses.contains(&format!("`{code}`")), "{path}: {code}");
        }
    }
}
