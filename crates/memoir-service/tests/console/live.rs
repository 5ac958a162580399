//! `/sessions/{session}/events`, and the page that follows it.

use std::time::Duration;

use memoir_app::{OwnAgent, Quota, sessions::RefineOptions};
use memoir_domain::{SessionId, agent::Field, session::Mode};
use memoir_testkit::TestedText;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    events::{Event, Events},
    installation::{Browser, CANARY, Installation, owner},
};

async fn events_of(browser: &Browser, session: SessionId) -> Events {
    let path = format!("/sessions/{session}/events");
    let own = [("sec-fetch-site", "same-origin")];
    let response = browser.open(&path, &own).await;
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    let mut events = Events::of(response);
    events.without = Some(CANARY);
    events
}

/// The next event about a record.
async fn record_of(events: &mut Events) -> Event {
    let mut seen = events.until(|event| event.kind == "record").await;
    seen.pop().unwrap()
}

/// Eight memories, of which some say the same.
const MEMORIES: [&str; 8] = [
    "The harbour lies to the west of the old town",
    "the harbour lies to the west of the old town",
    "Ivo taught me how to read the tide tables",
    "We promised each other to come back in spring",
    "Mira keeps the keys of the boat house",
    "The ferry leaves at seven on weekdays",
    "Bread is baked on Fridays behind the church",
    "The blue door is the one that sticks",
];

async fn call(agent: &OwnAgent, session: SessionId, tool: &str, arguments: Value) {
    let called = agent.call_tool(session, tool, Some(&arguments)).await;
    called.unwrap();
}

/// Writes a record of the session.
async fn protect(agent: &OwnAgent, session: SessionId, number: u64) {
    call(agent, session, "protect_memory", json!({"id": number})).await;
}

async fn opened(installation: &Installation) -> (OwnAgent, SessionId) {
    let agent = installation.wren(&MEMORIES).await;
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    (agent, session.id)
}

#[tokio::test]
async fn spec_5_1_a_browser_follows_a_session_edit_by_edit_and_without_words() {
    let installation = Installation::open().await;
    let (agent, session) = opened(&installation).await;
    let browser = installation.ada().await;
    let mut events = events_of(&browser, session).await;
    let begun = events.next().await.unwrap();
    assert_eq!(
        (begun.kind.as_str(), &begun.data["state"]),
        ("session", &json!("open"))
    );
    let line = begun.data["breaker_tokens"].as_u64().unwrap();
    call(&agent, session, "delete_memory", json!({"id": 2})).await;
    let first = record_of(&mut events).await;
    let content = format!("The blue door sticks, says the {CANARY}");
    let arguments = json!({"id": 8, "content": content});
    call(&agent, session, "update_memory", arguments).await;
    let summary = json!({"summary": format!("Done, {CANARY}.")});
    call(&agent, session, "complete_refinement", summary).await;
    let rest = events.rest().await;
    let all = || std::iter::once(&first).chain(&rest);
    let actions: Vec<&str> = all()
        .filter_map(|event| event.data["action"].as_str())
        .collect();
    assert_eq!(
        actions,
        [
            "memory_refinement_delete",
            "memory_refinement_update",
            "memory_refinement_complete"
        ]
    );
    let sizes = all().filter_map(|event| event.data["core_tokens"].as_u64());
    assert!(sizes.into_iter().all(|size| size >= line));
    let last = rest.last().unwrap();
    assert_eq!(
        (last.kind.as_str(), &last.data["state"]),
        ("ended", &json!("completed"))
    );
    // A reconnecting client has seen everything.
    let path = format!("/sessions/{session}/events");
    let again = browser.open(&path, &[("last-event-id", &last.id)]).await;
    assert_eq!(again.status(), StatusCode::NO_CONTENT);
    let wrong = browser.open(&path, &[("last-event-id", "yesterday")]).await;
    assert_eq!(wrong.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_refused_call_is_an_event_before_it_is_written() {
    let installation = Installation::open().await;
    let (agent, session) = opened(&installation).await;
    let browser = installation.ada().await;
    let mut events = events_of(&browser, session).await;
    assert_eq!(events.next().await.unwrap().data["refused_calls"], 0);
    for count in 1..=2 {
        call(&agent, session, "delete_memory", json!({"id": 99})).await;
        let event = events.next().await.unwrap();
        assert_eq!(event.kind, "session");
        assert_eq!(event.data["refused_calls"], count);
    }
    let path = format!("/sessions/{session}");
    let page = browser.get(&path).await.text;
    page.tells("<dt>Refused calls</dt><dd>2</dd>");
}

#[tokio::test]
async fn a_user_that_signed_out_sees_no_later_event() {
    let installation = Installation::open().await;
    let (agent, session) = opened(&installation).await;
    for path in ["/sign-out", "/sign-out-everywhere"] {
        let browser = installation.ada().await;
        let mut events = events_of(&browser, session).await;
        events.until(|event| event.kind == "session").await;
        let elsewhere = browser.clone();
        assert_eq!(elsewhere.press("/", path, &[]).await.status, 303);
        protect(&agent, session, 3).await;
        assert_eq!(events.rest().await.len(), 0, "{path}");
    }
}

#[tokio::test]
async fn waiting_for_events_extends_no_sign_in() {
    let installation = Installation::open().await;
    let (agent, session) = opened(&installation).await;
    let browser = installation.ada().await;
    let mut events = events_of(&browser, session).await;
    let twenty_five_minutes = Duration::from_secs(25 * 60);
    for number in [1, 3, 4, 5] {
        installation.clock.advance(twenty_five_minutes);
        protect(&agent, session, number).await;
        record_of(&mut events).await;
    }
    // Two hours after the last use, with events all the time.
    installation.clock.advance(twenty_five_minutes);
    protect(&agent, session, 6).await;
    let rest = events.rest().await;
    assert!(rest.iter().all(|event| event.kind != "record"));
    let path = format!("/sessions/{session}");
    assert_eq!(browser.get(&path).await.status, 303);
}

#[tokio::test]
async fn spec_5_6_what_is_anothers_is_not_followed() {
    let installation = Installation::open().await;
    let theirs = installation
        .agent(&installation.other().await, "Owl", &MEMORIES)
        .await;
    let (theirs, _) = theirs.open_own(Mode::Full).await.unwrap();
    let (_, ours) = opened(&installation).await;
    let browser = installation.ada().await;
    for session in [theirs.id.to_string(), "nothing".to_owned()] {
        let path = format!("/sessions/{session}/events");
        assert_eq!(browser.get(&path).await.status, 404, "{path}");
    }
    let path = format!("/sessions/{ours}/events");
    for site in ["cross-site", "same-site", "none"] {
        let answer = browser.open(&path, &[("sec-fetch-site", site)]).await;
        assert_eq!(answer.status(), 403, "{site}");
    }
    let stranger = installation.browser().open(&path, &[]).await;
    assert_eq!(stranger.status(), 303);
    assert!(
        stranger.headers()["location"]
            .to_str()
            .unwrap()
            .starts_with("/sign-in")
    );
}

#[tokio::test]
async fn a_browser_has_so_many_streams_and_no_more() {
    let installation = Installation::open().await;
    let (_, session) = opened(&installation).await;
    let browser = installation.ada().await;
    let mut streams = Vec::new();
    for _ in 0..Quota::AgentStreams.default().unwrap() {
        streams.push(events_of(&browser, session).await);
    }
    let path = format!("/sessions/{session}/events");
    assert_eq!(browser.open(&path, &[]).await.status(), 429);
}

#[tokio::test]
async fn a_page_follows_while_the_session_runs_and_says_how_it_stands() {
    let installation = Installation::open().await;
    let (agent, session) = opened(&installation).await;
    let browser = installation.ada().await;
    let path = format!("/sessions/{session}");
    let followed = async || {
        let page = browser.page(&path).await;
        page.check(&path);
        let mut boxes = page.all("div");
        let found = boxes.find(|found| found.attribute("id") == Some("session"));
        let found = found.unwrap();
        let address = found.attribute("data-events").map(str::to_owned);
        (address, found.text.clone())
    };
    let (address, text) = followed().await;
    assert_eq!(address, Some(format!("{path}/events")));
    text.tells("10 of 10 edits are left");
    text.tells("leave, everything is undone;");
    call(&agent, session, "delete_memory", json!({"id": 2})).await;
    let (_, text) = followed().await;
    assert!(text.contains("9 of 10 edits are left") && text.contains("taken out of the prompt"));
    let summary = json!({"summary": format!("Done, {CANARY}.")});
    call(&agent, session, "complete_refinement", summary).await;
    let (address, text) = followed().await;
    assert_eq!(address, None);
    assert!(text.contains("The session was completed after 1 edit") && text.contains("Roll back"));
    assert!(!text.to_lowercase().contains(CANARY));
}

#[tokio::test]
async fn spec_3_16_the_only_edit_of_a_cancelled_session_stays() {
    let installation = Installation::open().await;
    let (agent, session) = opened(&installation).await;
    call(&agent, session, "delete_memory", json!({"id": 2})).await;
    agent.sessions().cancel(session, &owner()).await.unwrap();
    let browser = installation.ada().await;
    let page = browser.get(&format!("/sessions/{session}")).await;
    page.text.tells("; 1 edit of it stays.");
}

#[tokio::test]
async fn queued_sessions_are_followed_too() {
    let installation = Installation::open().await;
    let agent = installation.wren(&MEMORIES).await;
    let options = RefineOptions::default();
    let session = agent.sessions().enqueue(&options).await.unwrap();
    let browser = installation.ada().await;
    let mut events = events_of(&browser, session.id).await;
    let last = events.rest().await.pop().unwrap();
    assert_eq!(last.kind, "ended");
    let path = format!("/sessions/{}", session.id);
    browser.page(&path).await.check(&path);
}

#[tokio::test]
async fn spec_3_13_a_session_that_the_breaker_stopped_says_so_first() {
    let installation = Installation::open().await;
    let agent = installation.wren(&MEMORIES).await;
    let free = [(Field::LossGuard, Some("off"))];
    agent.settings().configure(&free, &owner()).await.unwrap();
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    let browser = installation.ada().await;
    let path = format!("/sessions/{}", session.id);
    for number in 1..=8 {
        let page = browser.get(&path).await.text;
        page.omits("tripped");
        call(&agent, session.id, "delete_memory", json!({"id": number})).await;
        let state = agent.views().session(session.id).await.unwrap().state;
        if !state.is_running() {
            break;
        }
    }
    let page = browser.page(&path).await;
    page.check(&path);
    let removed = agent
        .views()
        .session(session.id)
        .await
        .unwrap()
        .removed_tokens;
    assert!(removed > 0);
    let told = page
        .all("p")
        .find(|told| told.attribute("data-now").is_some());
    let told = told.unwrap();
    assert_eq!(
        told.text,
        format!(
            "The session tried to remove {removed} tokens; it was stopped at the limit, and all is undone."
        )
    );
    assert_eq!(told.attribute("class"), Some("tripped"));
    let title = page.all("title").next().unwrap();
    assert_eq!(title.text, "Rolled back · Session of Wren · Memoir");
    let mut rows = page
        .all("tr")
        .filter(|row| row.attribute("data-seq").is_some());
    // The newest first: what undid it.
    assert_eq!(rows.next().unwrap().attribute("class"), Some("back"));
}

#[tokio::test]
async fn a_long_session_is_paged_and_says_so() {
    let installation = Installation::open().await;
    let texts: Vec<String> = (0..230).map(|number| format!("Thing {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let agent = installation.wren(&texts).await;
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    for number in 1..=230 {
        call(&agent, session.id, "protect_memory", json!({"id": number})).await;
    }
    let browser = installation.ada().await;
    let path = format!("/sessions/{}", session.id);
    let rows = async |path: &str| {
        let page = browser.page(path).await;
        page.check(path);
        let rows = page.all("tr").filter_map(|row| row.attribute("data-seq"));
        let rows: Vec<u64> = rows.map(|seq| seq.parse().unwrap()).collect();
        (rows, page.links(), browser.get(path).await.text)
    };
    let (latest, links, text) = rows(&path).await;
    assert_eq!(latest.len(), 200);
    // The newest first.
    assert!(
        latest.is_sorted_by(|one, next| one > next) && text.contains("Shown here: 200 records.")
    );
    let oldest = *latest.last().unwrap();
    let earlier = format!("{path}?before={oldest}");
    assert!(links.contains(&earlier), "{links:?}");
    let log = format!(
        "/audit?agent={}&session={}",
        agent.scope().agent,
        session.id
    );
    assert!(links.contains(&log), "{links:?}");
    let (first, links, text) = rows(&earlier).await;
    assert!(first.len() >= 30 && first.iter().all(|seq| *seq < oldest));
    assert!(links.contains(&path) && !text.contains("data-events"));
    let page = browser.page(&log).await;
    page.check(&log);
}
