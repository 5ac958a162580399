//! The activity of all agents: one list without text, its filter, and the files (SPEC 4.1, 5.1).

use std::time::Duration;

use memoir_domain::{agent::Field, session::Mode};
use memoir_testkit::TestedText;
use serde_json::{Value, json};

use crate::{
    document::{Document, ReadDocument},
    installation::{Browser, CANARY, Installation, owner},
};

/// The agents and the actions of the rows, the newest first.
fn rows(page: &Document) -> Vec<(String, String)> {
    let cells = |label: &str| {
        let cells = page
            .all("td")
            .filter(|cell| cell.attribute("data-label") == Some(label));
        cells.map(|cell| cell.text.clone()).collect::<Vec<_>>()
    };
    cells("Agent").into_iter().zip(cells("What")).collect()
}

async fn installation() -> (Installation, Browser) {
    let installation = Installation::open().await;
    let account = &installation.account;
    let wren = installation.agent(account, "Wren", &["One", "one"]).await;
    installation.agent(account, "=Lark, \"co\"", &["Two"]).await;
    installation
        .agent(&installation.other().await, "Owl", &["Three"])
        .await;
    let (session, _) = wren.open_own(Mode::Full).await.unwrap();
    let arguments = json!({"id": 2});
    let called = wren.call_tool(session.id, "delete_memory", Some(&arguments));
    called.await.unwrap();
    let paused = [(Field::Paused, Some("true"))];
    wren.settings().configure(&paused, &owner()).await.unwrap();
    let browser = installation.ada().await;
    (installation, browser)
}

#[tokio::test]
async fn spec_5_1_all_agents_are_in_one_list_without_a_word_of_theirs() {
    let (installation, browser) = installation().await;
    let answer = browser.get("/activity").await;
    answer.document().check("/activity");
    assert!(!answer.text.to_lowercase().contains(CANARY));
    answer.text.omits("Owl");
    // Others call the same models, and when is none of this account's business (SPEC 5.6).
    assert!(!answer.text.contains("Providers of models"));
    let all = rows(&answer.document());
    assert_eq!(all[0].0, "Wren");
    assert!(all.iter().any(|(agent, _)| agent == "=Lark, \"co\""));
    let narrowed = async |query: &str| {
        let path = format!("/activity?{query}");
        let page = browser.page(&path).await;
        page.check(&path);
        rows(&page)
    };
    let of_wren = narrowed("agent=wren").await;
    assert!(!of_wren.is_empty() && of_wren.len() < all.len());
    assert!(of_wren.iter().all(|(agent, _)| agent == "Wren"));
    let saved = narrowed("action=memory_saved").await;
    let expected = all.iter().filter(|(_, action)| *action == saved[0].1);
    assert_eq!(saved, expected.cloned().collect::<Vec<_>>());
    assert_eq!(saved.len(), 3);
    let by_owner = narrowed("actor=administrator&agent=Wren").await;
    assert!(!by_owner.is_empty() && by_owner.len() < of_wren.len());
    assert_eq!(narrowed("since=2999-01-01").await, []);
    assert_eq!(narrowed("until=1999-01-01").await, []);
    for (query, told) in [
        ("agent=nobody", "There is no agent of this name"),
        ("agent=Owl", "There is no agent of this name"),
        ("action=x", "There is no such action"),
        ("since=soon", "must be a time"),
    ] {
        let answer = browser.get(&format!("/activity?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text.contains(told), "{query}: {}", answer.text);
        answer.document().check(query);
    }
    assert_eq!(browser.get("/activity?before=x").await.status, 400);
    let stranger = installation.browser().get("/activity").await;
    assert!(stranger.leads_to().starts_with("/sign-in"));
}

#[tokio::test]
async fn a_long_list_has_pages_that_leave_nothing_out() {
    let (installation, browser) = installation().await;
    let wren = installation.account.agent("Wren").await.unwrap();
    for turn in 0..60 {
        let value = if turn % 2 == 0 { "false" } else { "true" };
        let paused = [(Field::Paused, Some(value))];
        wren.settings().configure(&paused, &owner()).await.unwrap();
    }
    for narrowed in ["", "agent=Wren"] {
        let (mut seen, mut path) = (0, format!("/activity?{narrowed}"));
        let places = |page: &Document| {
            let mut links = page.links().into_iter();
            links.rfind(|link| link.contains("before="))
        };
        loop {
            let page = browser.page(&path).await;
            page.check(&path);
            seen += rows(&page).len();
            match places(&page) {
                Some(next) => path = next,
                None => break,
            }
        }
        let file = browser.get(&format!("/activity/ndjson?{narrowed}")).await;
        assert_eq!(seen, file.text.lines().count(), "{narrowed}");
        assert!(seen > 60);
    }
    for wrong in ["1", "1.2.3", "x.y"] {
        let answer = browser.get(&format!("/activity?before={wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn spec_5_1_the_list_is_saved_as_a_file_without_a_word() {
    let (_installation, browser) = installation().await;
    let listed = rows(&browser.page("/activity").await);
    let objects = browser.get("/activity/ndjson").await;
    assert_eq!(objects.header("content-type"), "application/x-ndjson");
    assert_eq!(
        objects.header("content-disposition"),
        "attachment; filename=\"memoir-activity.ndjson\""
    );
    assert_eq!(objects.header("cache-control"), "no-store");
    let records: Vec<Value> = objects
        .text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let agents: Vec<_> = records.iter().map(|record| &record["agent"]).collect();
    let expected: Vec<_> = listed.iter().map(|(agent, _)| json!(agent)).collect();
    assert_eq!(agents, expected.iter().collect::<Vec<_>>());
    let table = browser.get("/activity/csv?action=agent_configured").await;
    assert_eq!(table.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<&str> = table.text.split_terminator("\r\n").collect();
    assert_eq!(
        lines[0],
        "recorded_at,agent,seq,action,role,actor,session_id,memory,data"
    );
    assert_eq!(lines.len(), 4, "{}", table.text);
    // No program for tables runs a name as a formula.
    let name = ",\"'=Lark, \"\"co\"\"\",\"1\",\"agent_configured\",";
    assert!(lines[2].contains(name), "{}", table.text);
    for file in [&objects, &table] {
        assert!(!file.text.to_lowercase().contains(CANARY) && !file.text.contains("Owl"));
    }
    assert_eq!(browser.get("/activity/xml").await.status, 404);
    assert_eq!(browser.get("/activity/csv?action=x").await.status, 400);
}

/// Begins to verify all agents, and waits for the end.
async fn verify(browser: &Browser) -> Document {
    let begun = browser.press("/activity", "/activity/verify", &[]).await;
    assert_eq!(begun.leads_to(), "/activity#verification");
    for _ in 0..3_000 {
        let page = browser.page("/activity").await;
        if page.by_id("main").text.contains("It ended") {
            page.check("/activity");
            return page;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the run does not end");
}

#[tokio::test]
async fn spec_4_2_all_agents_of_an_account_are_verified_and_damaged_ones_named() {
    let (installation, browser) = installation().await;
    let before = browser.page("/activity").await;
    assert!(!before.by_id("main").text.contains("verified, "));
    let intact = verify(&browser).await;
    // Two agents, and the log of the account.
    let told = &intact.by_id("main").text;
    told.tells("3 of 3 verified, 0 damaged");
    assert!(!told.to_lowercase().contains(CANARY) && !told.contains("Owl"));
    // The key of an agent is gone, and no record shows that it was erased.
    let lark = installation.account.agent("=Lark, \"co\"").await.unwrap();
    let now = installation.memoir.now();
    assert!(installation.keys.destroy(lark.scope(), now).unwrap());
    let damaged = verify(&browser).await;
    let told = &damaged.by_id("main").text;
    told.tells("3 of 3 verified, 1 damaged");
    told.tells("Damaged: =Lark, \"co\".");
    // Another process knows of no run, and a visitor without a sign-in begins none.
    let restarted = installation.another_process();
    let restarted = restarted.account("default").await;
    assert_eq!(restarted.verification(), None);
    let stranger = installation.browser().post("/activity/verify", &[]).await;
    assert!(stranger.leads_to().starts_with("/sign-in"));
}
