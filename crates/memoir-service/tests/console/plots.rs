//! Curves of the core size: what is drawn, and the same in figures.

use std::time::Duration;

use memoir_app::OwnAgent;
use memoir_domain::{agent::Field, audit::Actor, session::Mode};
use memoir_testkit::TestedText;
use serde_json::{Value, json};

use crate::installation::{CANARY, Installation, owner, remember};

/// An agent that was refined once, then again and rolled back by the breaker, over some weeks.
async fn refined(installation: &Installation) -> OwnAgent {
    let mut memories: Vec<String> = (0..20)
        .map(|number| format!("Number {number} of what there is to keep"))
        .collect();
    // Up to case the text of the first one, so that its delete is free.
    memories[1] = memories[0].to_lowercase();
    let memories: Vec<&str> = memories.iter().map(String::as_str).collect();
    let agent = installation.wren(&memories).await;
    installation.clock.advance(Duration::from_secs(10 * 86_400));
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 2})),
        (
            "complete_refinement",
            json!({"summary": format!("Done, {CANARY}.")}),
        ),
    ] {
        let called = agent.call_tool(session.id, tool, Some(&arguments)).await;
        called.unwrap();
    }
    installation.clock.advance(Duration::from_secs(7 * 86_400));
    let strict = [(Field::RefinementThreshold, Some("0.99"))];
    let actor = Actor::agent("Wren");
    agent.settings().configure(&strict, &actor).await.unwrap();
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    let arguments = json!({"id": 20});
    let called = agent.call_tool(session.id, "delete_memory", Some(&arguments));
    called.await.unwrap();
    installation.clock.advance(Duration::from_secs(86_400));
    agent
}

fn numbers(curve: &Value, name: &str) -> Vec<u64> {
    let numbers = curve[name].as_array().unwrap().iter();
    numbers.map(|number| number.as_u64().unwrap()).collect()
}

#[tokio::test]
async fn spec_5_1_a_curve_is_numbers_and_dates_of_a_bounded_number() {
    let installation = Installation::open().await;
    let agent = refined(&installation).await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/mass.json", agent.scope().agent);
    for query in ["", "?days=30", "?days=90", "?days=365"] {
        let answer = browser.get(&format!("{path}{query}")).await;
        assert_eq!(answer.status, 200, "{query}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(!answer.text.to_lowercase().contains(CANARY));
        assert!(!answer.text.contains("Number"));
        let curve: Value = serde_json::from_str(&answer.text).unwrap();
        let (at, size) = (numbers(&curve, "at"), numbers(&curve, "mass"));
        let (low, high) = (numbers(&curve, "low"), numbers(&curve, "high"));
        assert!(at.len() <= 2_000 && at.is_sorted(), "{}", at.len());
        assert!([size.len(), low.len(), high.len()] == [at.len(); 3]);
        assert!((0..at.len()).all(|place| low[place] <= size[place] && size[place] <= high[place]));
        let tally = agent.views().show().await.unwrap().counts;
        assert_eq!(size.last(), Some(&tally.core_tokens));
        let kinds: Vec<&str> = curve["marks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|mark| mark["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["done", "back"], "{query}");
        // The breaker undid what the second session did; the dip is kept.
        let back = curve["marks"][1]["place"].as_u64().unwrap() as usize;
        assert!(low[back] < size[back] && size[back] == size[back - 1]);
        assert_eq!(curve["line"], 5_000);
    }
    for query in ["?days=31", "?days=0", "?days=-1", "?days=x"] {
        assert_eq!(browser.get(&format!("{path}{query}")).await.status, 400);
    }
    assert_eq!(installation.browser().get(&path).await.status, 303);
}

#[tokio::test]
async fn spec_5_6_the_curve_of_anothers_agent_is_not_there() {
    let installation = Installation::open().await;
    let theirs = installation
        .agent(&installation.other().await, "Owl", &["One"])
        .await;
    let browser = installation.ada().await;
    let id = theirs.scope().agent;
    for path in [
        format!("/agents/{id}/mass.json"),
        format!("/agents/{id}/mass"),
        "/agents/Owl/mass.json".to_owned(),
    ] {
        assert_eq!(browser.get(&path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_same_is_told_in_figures() {
    let installation = Installation::open().await;
    let agent = refined(&installation).await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}", agent.scope().agent);
    let overview = browser.page(&path).await;
    let figures = format!("{path}/mass?days=90");
    assert!(overview.links().contains(&figures));
    let figure = overview.all("figure").next().unwrap();
    let source = format!("{path}/mass.json");
    assert_eq!(figure.attribute("data-source"), Some(source.as_str()));
    for query in ["", "?days=30", "?days=90", "?days=365"] {
        let path = format!("{path}/mass{query}");
        let page = browser.page(&path).await;
        page.check(&path);
        let rows = page.all("tr").count();
        assert!((30..=100).contains(&rows), "{path}: {rows}");
        let table = page.all("table").next().unwrap();
        for told in ["Session completed, ", "Session rolled back"] {
            assert_eq!(table.text.matches(told).count(), 1, "{path}: {told}");
        }
        let sessions = page.links();
        let sessions = sessions
            .iter()
            .filter(|link| link.starts_with("/sessions/"));
        assert_eq!(sessions.count(), 2, "{path}");
    }
}

#[tokio::test]
async fn a_sessions_curve_falls_towards_the_breaker_line() {
    let installation = Installation::open().await;
    let agent = refined(&installation).await;
    let sessions = agent.views().session_page(None, 2).await.unwrap();
    let browser = installation.ada().await;
    let mut curves = Vec::new();
    for session in sessions {
        let page = browser.page(&format!("/sessions/{}", session.id)).await;
        let figure = page.all("figure").next().unwrap();
        let curve: Value = serde_json::from_str(figure.attribute("data-curve").unwrap()).unwrap();
        let line = curve["line"].as_u64().unwrap();
        curves.push((numbers(&curve, "mass"), line, curve));
    }
    let [(tripped, tripped_line, told), (completed, line, _)] = &curves[..] else {
        panic!("{curves:?}");
    };
    // Before, after the edit, and at the end.
    assert_eq!(completed.len(), 3);
    assert!(completed[0] > completed[1] && completed[1] == completed[2] && completed[2] >= *line);
    assert_eq!(tripped.len(), 3);
    assert!(tripped[1] < *tripped_line && tripped[2] == tripped[0]);
    let marks = told["marks"].as_array().unwrap();
    assert_eq!(marks[2]["kind"], "back");
    let text = marks[1]["stated"][0].as_str().unwrap();
    text.tells("below the breaker line");
}

#[tokio::test]
async fn an_agent_without_a_past_has_a_page() {
    let installation = Installation::open().await;
    installation
        .account
        .create_agent("Egg", &[], &owner())
        .await
        .unwrap();
    let browser = installation.ada().await;
    for path in [
        "/agents/Egg",
        "/agents/Egg/mass",
        "/agents/Egg/mass?days=30",
    ] {
        browser.page(path).await.check(path);
    }
    for query in ["", "?days=365"] {
        let path = format!("/agents/Egg/mass.json{query}");
        let curve: Value = serde_json::from_str(&browser.get(&path).await.text).unwrap();
        let sizes = numbers(&curve, "mass");
        assert!(sizes.len() > 1 && sizes.iter().all(|size| *size == 0));
    }
}

#[tokio::test]
async fn spec_2_3_the_share_in_the_context_is_shown_by_the_quarter_of_recording() {
    let installation = Installation::open().await;
    let agent = installation
        .wren(&["The kiln is hot.", "The loom is old."])
        .await;
    // From the first quarter into the second.
    installation.clock.advance(Duration::from_secs(30 * 86_400));
    remember(&agent, "The bees swarmed.").await;
    let page = format!("/agents/{}", agent.scope().agent);
    let browser = installation.ada().await;
    let shown = browser.page(&page).await;
    shown.check(&page);
    let says = |name: &str, text: &str| shown.all(name).any(|one| one.text == text);
    assert!(says("p", "The context shows 3 of 3 core memories."));
    assert!(says("tr", "2026-Q122") && says("tr", "2026-Q211"));
    // As the last context was bounded.
    agent.context(Some(0)).await.unwrap();
    let shown = browser.page(&page).await;
    let says = |name: &str, text: &str| shown.all(name).any(|one| one.text == text);
    assert!(says(
        "p",
        "The context shows 0 of 3 core memories within 0 tokens."
    ));
    assert!(says("tr", "2026-Q120") && says("tr", "2026-Q210"));
}
