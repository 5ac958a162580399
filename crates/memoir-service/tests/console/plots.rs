//! Curves of the core size: what is drawn, and the same in figures.

use std::time::Duration;

use memoir_app::OwnAgent;
use memoir_domain::{agent::Field, audit::Actor, session::Mode};
use serde_json::json;

use crate::{
    document::{Document, ReadDocument},
    installation::{CANARY, Installation, owner, remember},
};

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

/// A curve of a page, as it is drawn.
struct Drawn {
    /// From left to right and from top to bottom.
    points: Vec<(u64, u64)>,
    /// The height of its line.
    line: u64,
    marks: Vec<String>,
    /// What a pointer over each mark shows.
    titles: Vec<String>,
}

impl Drawn {
    fn on(page: &Document) -> Self {
        let outline = page.all("polyline").next().unwrap();
        let outline = outline.attribute("points").unwrap().split(' ');
        let place = |point: &str| {
            let (across, down) = point.split_once(',').unwrap();
            (across.parse().unwrap(), down.parse().unwrap())
        };
        let classed = |class: &str| {
            let paths = page.all("path");
            let paths = paths.filter(|path| {
                let own = path.attribute("class").unwrap_or_default();
                own.split(' ').next() == Some(class)
            });
            paths.collect::<Vec<_>>()
        };
        let line = classed("limit")[0].attribute("d").unwrap();
        let line = line.strip_prefix("M0 ").unwrap();
        let line = line.split('h').next().unwrap().parse().unwrap();
        let marks = classed("mark");
        let class = marks.iter().map(|mark| mark.attribute("class").unwrap());
        Self {
            points: outline.map(place).collect(),
            line,
            marks: class.map(str::to_owned).collect(),
            titles: marks.iter().map(|mark| mark.text.clone()).collect(),
        }
    }
}

#[tokio::test]
async fn spec_5_1_a_curve_is_numbers_and_dates_of_a_bounded_number() {
    let installation = Installation::open().await;
    let agent = refined(&installation).await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}", agent.scope().agent);
    for page in ["", "/mass", "/mass?days=30", "/mass?days=90"] {
        let answer = browser.get(&format!("{path}{page}")).await;
        assert!(!answer.text.to_lowercase().contains(CANARY));
        assert!(!answer.text.contains("of what there is"));
        let drawn = Drawn::on(&answer.document());
        let points = &drawn.points;
        assert!(points.len() <= 3 * 721, "{page}: {}", points.len());
        assert!(points.is_sorted_by_key(|(across, _)| across), "{page}");
        assert_eq!(drawn.marks, ["mark done", "mark back"], "{page}");
        for (title, event) in drawn
            .titles
            .iter()
            .zip(["Session completed", "Session rolled back"])
        {
            let (size, events) = title.split_once('\n').unwrap();
            assert!(size.ends_with(" tokens"), "{page}: {title}");
            assert!(events.starts_with(event), "{page}: {title}");
        }
        // The budget is far above.
        assert!(points.iter().all(|(_, down)| *down > drawn.line), "{page}");
        // The breaker undid what the second session did; the dip is kept.
        let is_dip = |three: &[(u64, u64)]| three[1].1 > three[0].1.max(three[2].1);
        assert!(points.windows(3).any(is_dip), "{page}");
    }
    for query in ["?days=31", "?days=0", "?days=-1", "?days=x"] {
        let answer = browser.get(&format!("{path}/mass{query}")).await;
        assert_eq!(answer.status, 400);
    }
}

#[tokio::test]
async fn spec_5_6_the_curve_of_anothers_agent_is_not_there() {
    let installation = Installation::open().await;
    let theirs = installation
        .agent(&installation.other().await, "Owl", &["One"])
        .await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/mass", theirs.scope().agent);
    for path in [path.as_str(), "/agents/Owl/mass"] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
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
        curves.push(Drawn::on(&page));
    }
    let [tripped, completed] = &curves[..] else {
        panic!("{}", curves.len());
    };
    let heights = |drawn: &Drawn| drawn.points.iter().map(|point| point.1).collect::<Vec<_>>();
    // Before, after the edit, and at the end.
    let down = heights(completed);
    assert_eq!(down.len(), 3);
    assert!(down[0] < down[1] && down[1] == down[2] && down[2] <= completed.line);
    let down = heights(tripped);
    assert_eq!(down.len(), 3);
    assert!(down[1] > tripped.line && down[2] == down[0]);
    assert_eq!(tripped.marks, ["mark done", "mark done", "mark back"]);
    let [start, edit, undone] = &tripped.titles[..] else {
        panic!("{:?}", tripped.titles);
    };
    assert!(start.starts_with("At the start: ") && start.ends_with(" tokens"));
    assert!(edit.contains(", taken out of the prompt: "), "{edit}");
    assert!(undone.contains(", session rolled back: "), "{undone}");
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
    let drawn = Drawn::on(&browser.page("/agents/Egg").await);
    assert!(drawn.points.iter().all(|(_, down)| *down == 400));
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
