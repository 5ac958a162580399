//! Unknown addresses: a page of the console for browsers, a problem document for programs.

use memoir_testkit::{HttpAnswer, TestedText};
use reqwest::Method;

use crate::{document::ReadDocument, installation::Installation, pages::check_headers};

fn is_page(answer: &HttpAnswer) -> bool {
    answer.header("content-type") == "text/html; charset=utf-8"
}

#[tokio::test]
async fn a_browser_finds_its_way_from_where_nothing_is() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let refine = format!("/agents/{}/refine", agent.scope().agent);
    let accept = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    for (path, status) in [("/nowhere", 404), ("/agents/", 404), (refine.as_str(), 405)] {
        let answer = browser.request(Method::GET, path, &accept).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(is_page(&answer), "{path}: {}", answer.text);
        check_headers(&answer);
        let document = answer.document();
        document.check(path);
        // A signed-in user still has the navigation of the console.
        assert!(document.links().contains(&"/audit".to_owned()), "{path}");
        assert!(document.forms().contains(&"/sign-out".to_owned()), "{path}");

        let stranger = installation
            .browser()
            .request(Method::GET, path, &accept)
            .await;
        assert_eq!(stranger.status, status);
        assert!(is_page(&stranger), "{path}");
        check_headers(&stranger);
        stranger.document().check(path);
        assert!(!stranger.text.contains("Sign out"));

        // Other clients get the format of the other interfaces.
        for accept in ["*/*", "application/json", "text/plain"] {
            let answer = browser
                .request(Method::GET, path, &[("accept", accept)])
                .await;
            assert_eq!(answer.status, status);
            let kind = answer.header("content-type");
            assert_eq!(kind, "application/problem+json", "{path} {accept}");
        }
    }
    let wrong = browser.request(Method::GET, &refine, &accept).await;
    assert_eq!(wrong.header("allow"), "POST");
}

#[tokio::test]
async fn under_the_doors_of_programs_a_problem_stays_a_problem() {
    let installation = Installation::open().await;
    let browser = installation.ada().await;
    let accept = [("accept", "text/html")];
    for path in ["/v1/nowhere", "/v1", "/mcp/nowhere"] {
        let answer = browser.request(Method::GET, path, &accept).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    let answer = browser.request(Method::GET, "/v1nowhere", &accept).await;
    assert!(is_page(&answer));
}

#[tokio::test]
async fn a_failure_page_has_the_frame_of_the_signed_in_user() {
    let installation = Installation::open().await;
    let browser = installation.ada().await;
    for (path, status) in [
        ("/agents/nobody", 404),
        ("/sessions/nobody", 404),
        ("/?page=x", 400),
        ("/audit?agent=nobody", 404),
    ] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        check_headers(&answer);
        let document = answer.document();
        document.check(path);
        assert!(document.links().contains(&"/audit".to_owned()), "{path}");
    }
    // The unknown name stays in its field.
    let document = browser.get("/audit?agent=nobody").await.document();
    let field = document.by_id("agent");
    assert_eq!(field.attribute("value"), Some("nobody"));
    assert_eq!(field.attribute("aria-invalid"), Some("true"));
    // What cannot be done with an agent leads back to it.
    let agent = installation.wren(&[]).await;
    let page = format!("/agents/{}", agent.scope().agent);
    let token = [("form_token", "x")];
    let wrong = browser.post(&format!("{page}/pause"), &token).await;
    assert_eq!(wrong.status, 403);
    wrong.document().check(&page);
    assert!(wrong.document().links().contains(&page), "{}", wrong.text);
    let name = "<script>alert(1)</script>";
    let answer = browser.get(&format!("/agents/{name}")).await;
    assert_eq!(answer.status, 404);
    answer.text.omits("<script>alert");
}
