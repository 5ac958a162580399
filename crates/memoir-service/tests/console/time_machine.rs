//! The time machine: any point of an agent's history, and going back to it (SPEC 4.3), without scripts.

use memoir_domain::{audit::Actor, session::Mode};
use memoir_testkit::TestedText;
use serde_json::json;

use crate::{
    document::{Document, ReadDocument},
    installation::{Browser, CANARY, Installation, newest_records, remember},
};

const MEMORIES: [&str; 4] = [
    "The harbour lies to the west",
    "Ivo taught me the tide tables",
    "We promised to come back in spring",
    "Mara keeps the lighthouse",
];

/// So many that a session may remove one.
const MORE: [&str; 4] = [
    "The bread is baked on Tuesdays and on Fridays",
    "Nobody opens the third drawer",
    "The stairs creak only on the way down",
    "Letters go out with the boat at noon",
];

/// The value of a pair on a page, by its name.
fn told(document: &Document, name: &str) -> String {
    let pairs = document
        .all("div")
        .filter(|pair| pair.text.starts_with(name));
    let texts = pairs.map(|pair| pair.text[name.len()..].to_owned());
    texts
        .min_by_key(String::len)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// A row of the table of counts: then and now.
fn row(document: &Document, name: &str) -> String {
    let rows = document.all("tr").find(|row| row.text.starts_with(name));
    rows.unwrap_or_else(|| panic!("no {name}")).text[name.len()..].to_owned()
}

/// Presses the button that goes back, with what the page has bound to it.
async fn go_back(browser: &Browser, page: &str, path: &str) -> memoir_testkit::HttpAnswer {
    let document = browser.page(page).await;
    let [point, newest] = ["point", "newest"].map(|name| document.hidden(name).unwrap().to_owned());
    browser
        .press(page, path, &[("point", &point), ("newest", &newest)])
        .await
}

async fn kept(agent: &memoir_app::OwnAgent) -> Vec<u64> {
    let memories = agent.lens().memories(false).await.unwrap();
    let mut numbers: Vec<u64> = memories.iter().map(|memory| memory.number.0).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn spec_4_3_a_preview_of_a_rewind_is_what_it_does_and_can_be_undone() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[MEMORIES, MORE].concat()).await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/time", agent.scope().agent);
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 2})),
        (
            "update_memory",
            json!({"id": 8, "content": format!("Letters, {CANARY}")}),
        ),
        (
            "complete_refinement",
            json!({"summary": format!("Done, {CANARY}")}),
        ),
    ] {
        agent
            .call_tool(session.id, tool, Some(&arguments))
            .await
            .unwrap();
    }
    let newest = browser.page(&path).await;
    assert!(
        newest
            .all("h2")
            .any(|heading| heading.text.starts_with("Now, after record"))
    );
    assert!(
        newest
            .all("p")
            .any(|text| text.text.contains("Nothing would change"))
    );
    assert!(!newest.forms().contains(&path), "nothing to press");
    let last: u64 = newest.hidden("shown").unwrap().parse().unwrap();

    // The point before the session, by the link in the list of sessions.
    let link = newest
        .all("a")
        .find(|link| link.text == "Before it")
        .unwrap();
    let before = link.attribute("href").unwrap().to_owned();
    let by_session = browser.page(&format!("{path}?before={}", session.id)).await;
    let page = browser.page(&before).await;
    page.check(&before);
    assert_eq!(by_session.hidden("point"), page.hidden("point"));
    let size = agent.views().show().await.unwrap().counts.core_tokens;
    assert_eq!(row(&page, "Core memories"), "87", "8 then, 7 now");
    assert_eq!(row(&page, "Archival memories"), "02", "0 then, 2 now");
    assert_eq!(row(&page, "Summaries"), "01", "0 then, 1 now");
    // Both memories return to core from the archive.
    assert_eq!(told(&page, "Back in the prompt"), "2 memories");
    assert_eq!(told(&page, "Active again"), "0 memories");
    // The summary, and the journal entry about the session, which is newer.
    assert_eq!(told(&page, "Discarded"), "2 memories");
    assert_eq!(told(&page, "Sessions undone"), "1");
    let sizes = told(&page, "Core size");
    let (from, to) = sizes.split_once(" → ").unwrap();
    assert_eq!(from.parse::<u64>().unwrap(), size);
    let to: u64 = to.strip_suffix(" tokens").unwrap().parse().unwrap();

    let done = go_back(&browser, &before, &path).await;
    let back = done.leads_to().to_owned();
    assert_eq!(back, format!("{path}?record={}&done=rewound", last + 1));
    let tally = agent.views().show().await.unwrap().counts;
    assert_eq!((tally.core_tokens, tally.core_count), (to, 8));
    assert_eq!(kept(&agent).await, [1, 2, 3, 4, 5, 6, 7, 8]);
    let shown = agent.views().session(session.id).await.unwrap();
    assert!(shown.undone_at.is_some());
    let records = newest_records(&agent, 1).await;
    assert_eq!(records[0].actor, Actor::administrator("user Ada"));

    // The page that it leads to says how to take it back.
    let page = browser.page(&back).await;
    page.check(&back);
    assert!(page.all("p").any(|text| {
        text.text
            .starts_with("The agent’s memories are what they were")
    }));
    let link = page
        .all("a")
        .find(|link| link.text.starts_with("Going back to record"));
    let again = link.unwrap().attribute("href").unwrap().to_owned();
    assert_eq!(again, format!("{path}?record={last}"));
    go_back(&browser, &again, &path).await.leads_to();
    let tally = agent.views().show().await.unwrap().counts;
    assert_eq!((tally.core_tokens, tally.core_count), (size, 7));
    let shown = agent.views().session(session.id).await.unwrap();
    assert!(shown.undone_at.is_none());
    assert!(agent.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn what_is_written_after_it_was_shown_is_shown_before_anything_is_done() {
    let installation = Installation::open().await;
    let agent = installation.wren(&MEMORIES).await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/time", agent.scope().agent);
    let point = format!("{path}?record=3");
    let shown = browser.page(&point).await;
    assert_eq!(told(&shown, "Discarded"), "2 memories");
    let token = shown.hidden("form_token").unwrap();
    let newest = shown.hidden("newest").unwrap();
    let fields = [("form_token", token), ("point", "3"), ("newest", newest)];
    remember(&agent, "One more").await;

    let refused = browser.post(&path, &fields).await;
    assert_eq!(refused.status, 409);
    refused
        .text
        .tells("the agent changed since this page was shown");
    let anew = refused.document();
    anew.check(&path);
    assert_eq!(told(&anew, "Discarded"), "3 memories");
    assert_eq!(kept(&agent).await.len(), 5);
    // What is shown anew can be done.
    let fields = [
        ("form_token", token),
        ("point", "3"),
        ("newest", anew.hidden("newest").unwrap()),
    ];
    browser.post(&path, &fields).await.leads_to();
    assert_eq!(kept(&agent).await.len(), 2);
    // And not twice.
    assert_eq!(browser.post(&path, &fields).await.status, 409);
    for wrong in [
        &fields[..1],
        &[("form_token", token), ("point", "x"), ("newest", "1")],
    ] {
        assert_eq!(browser.post(&path, wrong).await.status, 400);
    }
}

#[tokio::test]
async fn spec_4_3_a_session_that_runs_stands_in_the_way() {
    let installation = Installation::open().await;
    let agent = installation.wren(&MEMORIES).await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/time", agent.scope().agent);
    let point = format!("{path}?record=2");
    let shown = browser.page(&point).await;
    let token = shown.hidden("form_token").unwrap();
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    let page = browser.page(&point).await;
    page.check(&point);
    assert!(!page.forms().contains(&path), "nothing to press");
    let problem = page
        .all("p")
        .find(|text| text.attribute("class") == Some("problem"));
    problem
        .unwrap()
        .text
        .begins("A session is running, which conflicts with it");
    assert!(page.links().contains(&format!("/sessions/{}", session.id)));
    assert_eq!(
        told(&page, "Discarded"),
        "3 memories",
        "and its effect is shown all the same"
    );
    let newest = agent.log().look_back(None).await.unwrap().seq.to_string();
    let fields = [
        ("form_token", token),
        ("point", "2"),
        ("newest", newest.as_str()),
    ];
    let refused = browser.post(&path, &fields).await;
    assert_eq!(refused.status, 409);
    refused.text.tells("A session is running");
    assert_eq!(kept(&agent).await.len(), 4);
}

#[tokio::test]
async fn a_point_is_found_by_slider_number_and_time_and_a_wrong_one_told() {
    let installation = Installation::open().await;
    let agent = installation.wren(&MEMORIES).await;
    installation
        .clock
        .advance(std::time::Duration::from_secs(3_600));
    remember(&agent, "One more").await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/time", agent.scope().agent);
    let newest = browser
        .page(&path)
        .await
        .hidden("shown")
        .unwrap()
        .to_owned();
    for (query, point) in [
        ("record=0", "0"),
        ("record=2", "2"),
        ("slide=3&record=6&shown=6&at=", "3"),
        ("slide=6&record=2&shown=6&at=", "2"),
        ("slide=4&record=4&shown=4&at=", "4"),
        ("slide=4", "4"),
        ("slide=6&record=2&shown=6&at=2026-03-04T12:30", "5"),
        ("at=2026-03-04T11:59", "0"),
        ("at=2026-03-04", "0"),
        ("at=2030-01-01T00:00", newest.as_str()),
    ] {
        let page = browser.page(&format!("{path}?{query}")).await;
        assert_eq!(page.hidden("shown"), Some(point), "{query}");
        page.check(query);
    }
    for (query, told) in [
        (
            "record=-1",
            "A record is to be given by its number, from 0 on.",
        ),
        (
            "record=x",
            "A record is to be given by its number, from 0 on.",
        ),
        (
            "record=999999",
            "There is no record 999,999: the newest is 6.",
        ),
        (
            "record=99999999999999999999",
            "A record is to be given by its number",
        ),
        ("at=yesterday", "A time is to be given as 2026-05-01T12:00."),
    ] {
        let answer = browser.get(&format!("{path}?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.text.contains(told), "{query}: {}", answer.text);
        answer.document().check(query);
    }
    assert_eq!(browser.get(&format!("{path}?before=x")).await.status, 404);
    let page = browser.page(&format!("{path}?record=0")).await;
    assert_eq!(row(&page, "Core size in tokens").chars().next(), Some('0'));
    assert_eq!(told(&page, "Discarded"), "5 memories");
    // An agent without memories has a history too.
    let empty = installation.agent(&installation.account, "Lark", &[]).await;
    let page = format!("/agents/{}/time", empty.scope().agent);
    browser.page(&page).await.check(&page);
}

#[tokio::test]
async fn spec_5_1_spec_5_6_a_history_holds_no_word_and_is_not_anothers() {
    let installation = Installation::open().await;
    let agent = installation.wren(&MEMORIES).await;
    let theirs = installation
        .agent(&installation.other().await, "Owl", &MEMORIES)
        .await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/time", agent.scope().agent);
    for seq in 0..=5 {
        let answer = browser.get(&format!("{path}?record={seq}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(
            !answer.text.to_lowercase().contains(CANARY),
            "{seq}: {}",
            answer.text
        );
    }
    let token = browser.form_token("/").await;
    let theirs_at = format!("/agents/{}/time", theirs.scope().agent);
    assert_eq!(browser.get(&theirs_at).await.status, 404);
    let fields = [
        ("form_token", token.as_str()),
        ("point", "0"),
        ("newest", "5"),
    ];
    assert_eq!(browser.post(&theirs_at, &fields).await.status, 404);
    assert_eq!(kept(&theirs).await.len(), 4);
}
