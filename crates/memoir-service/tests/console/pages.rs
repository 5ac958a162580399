//! What is true of every page: its form, its headers, and that no agent's word is on it (SPEC 5.1).

use std::collections::{BTreeSet, VecDeque};

use memoir_app::{MemoryInput, OwnAgent};
use memoir_domain::{
    access::{AccessDraft, AccessKind, AccessScope},
    agent::Field,
    audit::Actor,
    origin::Origin,
    session::Mode,
};
use memoir_testkit::{TestedText, input};
use serde_json::json;

use crate::{
    document::ReadDocument,
    installation::{Browser, CANARY, Installation, owner, save},
};

/// Everything that is reached by links from the fleet on, checked.
async fn walk(browser: &Browser) -> BTreeSet<String> {
    walk_but(browser, |_| false).await
}

/// As [`walk`], but for the pages with these paths.
pub async fn walk_but(browser: &Browser, is_left_out: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut seen = BTreeSet::from(["/".to_owned()]);
    let mut waiting = VecDeque::from(["/".to_owned()]);
    while let Some(path) = waiting.pop_front() {
        let answer = browser.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert!(
            !answer.text.to_lowercase().contains(CANARY),
            "{path}: {}",
            answer.text
        );
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        check_headers(&answer);
        let document = answer.document();
        document.check(&path);
        for link in document.links() {
            assert!(seen.len() < 500, "{seen:?}");
            // The description of the interface is no page of the console.
            if link != "/docs" && !is_left_out(&link) && seen.insert(link.clone()) {
                waiting.push_back(link);
            }
        }
    }
    seen
}

pub fn check_headers(answer: &memoir_testkit::HttpAnswer) {
    assert_eq!(
        answer.header("content-security-policy"),
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
         img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
}

/// An agent of whom something happened in every place that takes words.
pub async fn busy_agent(installation: &Installation) -> OwnAgent {
    let memories = [
        "One",
        "one",
        "Two and three",
        "The harbour lies to the west of the old town",
        "Ivo taught me how to read the tide tables",
        "We promised each other to come back in spring",
    ];
    let agent = installation.wren(&memories).await;
    let actor = Actor::agent("Wren");
    let authored = format!("{CANARY} once more, in words of my own");
    let own = [(Field::RefinementPrompt, Some(authored.as_str()))];
    agent.settings().configure(&own, &actor).await.unwrap();
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        (
            "update_memory",
            json!({"id": 1, "content": format!("One, says the {CANARY}!")}),
        ),
        ("delete_memory", json!({"id": 2})),
        (
            "complete_refinement",
            json!({"summary": format!("Done, {CANARY}.")}),
        ),
    ] {
        let called = agent.call_tool(session.id, tool, Some(&arguments)).await;
        called.unwrap();
    }
    let draft = |kind| AccessDraft {
        kind,
        // What an administrator writes is for the others, too; what the agent says to it is not.
        purpose: "to see <b>why</b>".into(),
    };
    let shred = draft(AccessKind::Shred {
        number: memoir_domain::memory::Number(1),
        derived: false,
    });
    let refused = agent
        .grants()
        .request_access(&shred, &owner())
        .await
        .unwrap();
    let reason = format!("No {CANARY} for you").into();
    let answered = agent
        .grants()
        .answer_access(refused.id, false, Some(reason), &actor);
    answered.await.unwrap();
    let read = draft(AccessKind::Read {
        scope: AccessScope::All,
        minutes: 10,
    });
    agent
        .grants()
        .request_access(&read, &owner())
        .await
        .unwrap();
    agent
}

#[tokio::test]
async fn spec_5_1_every_page_is_well_formed_and_holds_no_word_of_an_agent() {
    let installation = Installation::open().await;
    let agent = busy_agent(&installation).await;
    installation
        .agent(&installation.account, "<b>Lark</b> & \"co\"", &[])
        .await;
    let browser = installation.ada().await;
    let seen = walk(&browser).await;
    let id = agent.scope().agent;
    for path in [
        "/activity".to_owned(),
        "/audit".to_owned(),
        format!("/agents/{id}"),
        format!("/agents/{id}/memories"),
        format!("/agents/{id}/sessions"),
        format!("/audit?agent={id}"),
        "/agents/new".to_owned(),
        format!("/agents/{id}/settings"),
        format!("/agents/{id}/erase"),
        format!("/agents/{id}/access"),
        format!("/agents/{id}/access/token"),
        format!("/agents/{id}/access/embeddings"),
        format!("/agents/{id}/memories/1/shred"),
    ] {
        assert!(seen.contains(&path), "{path} of {seen:?}");
    }
    let requests = seen.iter().filter(|path| path.starts_with("/access/"));
    assert_eq!(
        requests.count(),
        2,
        "one that was refused, and one that waits"
    );
    let sessions = seen.iter().filter(|path| path.starts_with("/sessions/"));
    assert_eq!(
        sessions.count(),
        2,
        "a session, and what undoing it comes to"
    );
    // What a record says of them is in words, and leads there.
    let log = browser.get(&format!("/audit?agent={id}")).await.text;
    let request = seen.iter().find_map(|path| path.strip_prefix("/access/"));
    let (request, end) = (request.unwrap(), &request.unwrap()[28..]);
    let link = format!("<a href=\"/access/{request}\"><span title=\"{request}\">…{end}</span></a>");
    log.tells(&link);
    log.tells("<li>expires at <b>2026-03-11 ");
    let fleet = browser.get("/").await.text;
    assert!(fleet.contains("&lt;b&gt;Lark&lt;/b&gt;") && !fleet.contains("<b>Lark"));
    assert!(fleet.contains("1 open"));
}

#[tokio::test]
async fn spec_5_6_an_object_of_another_account_is_not_found() {
    let installation = Installation::open().await;
    let theirs = installation
        .agent(&installation.other().await, "Owl", &["One"])
        .await;
    let (session, _) = theirs.open_own(Mode::Full).await.unwrap();
    let browser = installation.ada().await;
    let id = theirs.scope().agent;
    for path in [
        format!("/agents/{id}"),
        "/agents/Owl".to_owned(),
        format!("/agents/{id}/memories"),
        format!("/agents/{id}/sessions"),
        format!("/sessions/{}", session.id),
        format!("/sessions/{}/roll-back", session.id),
        format!("/audit?agent={id}"),
        "/agents/nobody".to_owned(),
        "/sessions/nothing".to_owned(),
    ] {
        let answer = browser.get(&path).await;
        assert_eq!(answer.status, 404, "{path}");
        answer.document().check(&path);
        check_headers(&answer);
    }
    let token = browser.form_token("/").await;
    let fields = [("form_token", token.as_str()), ("mode", "full")];
    for path in [
        format!("/agents/{id}/refine"),
        format!("/agents/{id}/pause"),
        format!("/agents/{id}/memories/1/protect"),
        format!("/agents/{id}/verify"),
        format!("/sessions/{}/cancel", session.id),
        format!("/sessions/{}/apply", session.id),
        format!("/sessions/{}/roll-back", session.id),
    ] {
        assert_eq!(browser.post(&path, &fields).await.status, 404, "{path}");
    }
    assert!(!browser.get("/").await.text.contains("Owl"));
}

#[tokio::test]
async fn the_fleet_is_sorted_searched_and_paged() {
    let installation = Installation::open().await;
    installation.make_agents(60).await;
    let long = "A word. ".repeat(600);
    let heavy = installation
        .agent(&installation.account, "zzz heavy", &[&long])
        .await;
    let over_budget = [
        (Field::CoreTokenBudget, Some("1000")),
        // No session of the service changes its health meanwhile.
        (Field::RefinementSchedule, Some("off")),
    ];
    heavy
        .settings()
        .configure(&over_budget, &owner())
        .await
        .unwrap();
    let browser = installation.ada().await;
    let names = async |path: &str| {
        let document = browser.page(path).await;
        let rows = document
            .all("th")
            .filter(|head| head.attribute("scope") == Some("row"));
        rows.map(|head| head.text.clone()).collect::<Vec<_>>()
    };
    let first = names("/").await;
    assert_eq!((first.len(), first[0].as_str()), (50, "zzz heavy"));
    assert_eq!(names("/?turn=yes").await[0], "agent 00");
    // Each health is counted above the table, and filters it.
    let fleet = browser.get("/").await.text;
    for told in [
        "<a href=\"/\" aria-current=\"true\">61 in all</a>",
        "<a href=\"/?health=over_budget\">1 over budget</a>",
        "<a href=\"/?health=in_order\">60 in order</a>",
        "Over budget</span>",
    ] {
        fleet.tells(told);
    }
    assert_eq!(names("/?health=over_budget").await, ["zzz heavy"]);
    assert_eq!(names("/?health=in_order&page=2").await.len(), 10);
    assert_eq!(names("/?health=failed").await.len(), 0);
    assert_eq!(names("/?page=2").await.len(), 11);
    assert_eq!(names("/?sort=name&turn=yes").await[0], "zzz heavy");
    assert_eq!(names("/?sort=mass").await[0], "zzz heavy");
    assert_eq!(names("/?sort=mass&turn=yes&page=2").await[10], "zzz heavy");
    assert_eq!(names("/?q=HEAVY").await, ["zzz heavy"]);
    assert_eq!(names("/?q=%25").await.len(), 0);
    for sort in ["health", "last", "next", "breaker", "floor", "access"] {
        let path = format!("/?sort={sort}");
        browser.page(&path).await.check(&path);
    }
    assert_eq!(browser.get("/?page=x").await.status, 400);
}

#[tokio::test]
async fn spec_2_4_an_origin_weaker_than_the_agents_own_word_is_shown() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let quoted = MemoryInput {
        origin: Some(Origin::External),
        ..input(&format!("A page says {CANARY}"))
    };
    save(&agent, &[quoted]).await;
    let browser = installation.ada().await;
    let path = format!("/agents/{}/memories", agent.scope().agent);
    let page = browser.get(&path).await;
    assert_eq!(page.text.matches("origin external").count(), 1);
    assert!(!page.text.contains(CANARY));
}
