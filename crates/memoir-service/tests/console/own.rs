//! The personal page of the owner of an open installation (SPEC 6.6).

use std::sync::Arc;

use memoir_app::{MemoryInput, OwnAgent, OwnerLink};
use memoir_domain::audit::Actor;
use memoir_service::ServiceOptions;
use memoir_testkit::{HttpAnswer, TestedText, archival, input, journal, tagged};
use serde_json::json;

use crate::{
    document::{Document, ReadDocument},
    installation::{Browser, CANARY, Installation, save},
    pages::check_headers,
};

/// A service that shows the personal page, beside the usual one, and a browser that has not opened the link.
async fn personal_page(installation: &Installation) -> (Browser, String) {
    let link = OwnerLink::generate(&installation.memoir, "default").unwrap();
    let path = format!("/open/{}", link.secret());
    let options = ServiceOptions {
        owner_link: Some(Arc::new(link)),
        ..ServiceOptions::default()
    };
    let mut browser = installation.browser();
    browser.address = installation.serve_beside(options).await;
    (browser, path)
}

/// A browser that has opened the link.
pub async fn owner(installation: &Installation) -> Browser {
    let (mut browser, path) = personal_page(installation).await;
    let opened = browser.get(&path).await;
    assert_eq!(opened.status, 200, "{}", opened.text);
    let set = opened.header("set-cookie");
    assert!(
        set.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
        "{set}"
    );
    browser.cookie = set.split(';').next().unwrap().to_owned();
    assert_eq!(opened.header("refresh"), "0; url=/memory");
    browser
}

pub fn path_of(agent: &OwnAgent) -> String {
    format!("/memory/{}", agent.scope().agent)
}

/// The numbers of the listed memories, in their order.
fn listed(document: &Document) -> Vec<u64> {
    let headings = document.all("h3").chain(document.all("h2"));
    let numbers = headings.filter_map(|heading| heading.text.trim().strip_prefix('#'));
    numbers.map(|number| number.parse().unwrap()).collect()
}

#[track_caller]
fn shows_nothing(answer: &HttpAnswer, status: u16) {
    assert_eq!(answer.status, status, "{}", answer.text);
    answer.text.to_lowercase().omits(CANARY);
    answer.text.omits("Wren");
    answer.document().check("a refusal");
    check_headers(answer);
}

#[tokio::test]
async fn spec_6_6_the_link_shows_the_memories_and_without_it_nothing_is_seen() {
    let installation = Installation::open().await;
    let texts = ["The harbour lies to the west", "Ivo <b>taught</b> me"];
    let agent = installation.wren(&texts).await;
    let path = path_of(&agent);
    let (stranger, link) = personal_page(&installation).await;
    for hidden in ["/memory", &path, &format!("{path}/1"), "/memory/nobody"] {
        let answer = stranger.get(hidden).await;
        shows_nothing(&answer, 403);
        answer.text.tells("memoir ui");
    }
    let wrong = format!("{}x", &link[..link.len() - 1]);
    shows_nothing(&stranger.get(&wrong).await, 404);
    assert_eq!(stranger.get("/").await.leads_to(), "/memory");

    let browser = owner(&installation).await;
    assert_eq!(browser.get("/memory").await.leads_to(), path);
    let page = browser.get(&path).await;
    assert_eq!(page.status, 200, "{}", page.text);
    check_headers(&page);
    let document = page.document();
    document.check(&path);
    assert_eq!(listed(&document), [2, 1], "the newest first");
    page.text
        .tells("The harbour lies to the west, says the kanarienvogel");
    assert!(page.text.contains("Ivo &lt;b&gt;taught&lt;/b&gt; me"));
    // The cookie of another link, of the same name or not, opens nothing.
    let (mut other, _) = personal_page(&installation).await;
    other.cookie = browser.cookie.clone();
    shows_nothing(&other.get(&path).await, 403);
    let name = browser.cookie.split('=').next().unwrap();
    let mut guessed = browser.clone();
    guessed.cookie = format!("{name}=signed-in_AAAA");
    shows_nothing(&guessed.get(&path).await, 403);
}

#[tokio::test]
async fn spec_6_6_the_page_makes_no_administrator_and_closes_nothing() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let actor = Actor::agent("Wren");
    let token = agent
        .grants()
        .create_token(memoir_app::Provision::Any, None, &actor)
        .await
        .unwrap();
    let token = token.secret.expose().to_owned();
    // As a program of the agent does, at the service beside the page.
    let works = async |text: &str| {
        let saved = json!({"content": text});
        let memories = format!("/v1/agents/{}/memories", agent.scope().agent);
        installation.created(&memories, &token, saved).await;
        let params = json!({
            "name": "recall_memories", "arguments": {"query": text},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        });
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "recall_memories"),
        ];
        let answer = installation
            .send_with("POST", "/mcp", &token, &call, &headers)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.text.tells(text);
    };
    works("before the page").await;
    let browser = owner(&installation).await;
    assert_eq!(browser.get(&path_of(&agent)).await.status, 200);
    works("beside the page").await;
    browser
        .get(&path_of(&agent))
        .await
        .text
        .tells("beside the page");
    assert!(!installation.memoir.ever_had_users().await.unwrap());
    assert!(!installation.memoir.is_closed().await.unwrap());
    // Nothing else is served there: no programs, no signing in, no first administrator.
    for path in [
        "/v1/agents",
        "/mcp",
        "/sign-in",
        "/first/x",
        "/agents/new",
        "/metrics",
        "/account",
    ] {
        let headers = [("accept", "text/html")];
        let answer = browser.request(reqwest::Method::GET, path, &headers).await;
        assert_eq!(answer.status, 404, "{path}");
    }
    // And nothing of the page at the service.
    for path in ["/memory", &path_of(&agent), "/open/x"] {
        let mut elsewhere = browser.clone();
        elsewhere.address = installation.address.clone();
        assert_eq!(elsewhere.get(path).await.status, 404, "{path}");
    }
    works("after the page").await;
}

#[tokio::test]
async fn spec_5_5_a_closed_installation_shows_nothing_and_both_ways_out() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let browser = owner(&installation).await;
    assert_eq!(browser.get(&path_of(&agent)).await.status, 200);
    installation.administrator("Ada").await;
    for path in [
        "/memory",
        &path_of(&agent),
        &format!("{}/1", path_of(&agent)),
    ] {
        let answer = browser.get(path).await;
        shows_nothing(&answer, 403);
        answer.text.tells("MEMOIR_TOKEN");
        answer.text.tells("memoir installation open");
    }
    let account = &installation.account;
    account.set_closed(false, &Actor::owner()).await.unwrap();
    assert_eq!(browser.get(&path_of(&agent)).await.status, 200);
}

#[tokio::test]
async fn spec_6_6_a_name_that_another_site_lets_point_here_sees_nothing() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let (stranger, link) = personal_page(&installation).await;
    let browser = owner(&installation).await;
    let get = reqwest::Method::GET;
    for host in [
        "evil.example.com",
        "localhost.evil.example.com",
        "192.168.1.4:80",
    ] {
        let headers = [("host", host)];
        shows_nothing(
            &browser
                .request(get.clone(), &path_of(&agent), &headers)
                .await,
            403,
        );
        let opened = stranger.request(get.clone(), &link, &headers).await;
        shows_nothing(&opened, 403);
        assert_eq!(opened.header("set-cookie"), "");
    }
}

#[tokio::test]
async fn spec_6_6_memories_are_searched_filtered_and_paged() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let old = MemoryInput {
        created_at: Some("2020-05-01T12:00:00Z".parse().unwrap()),
        ..tagged("The harbour lies to the west; harbour, harbour", &["sea"])
    };
    let others = [
        old,
        journal("A walk along the harbour with Ivo and the children"),
        MemoryInput {
            origin: Some(memoir_domain::origin::Origin::External),
            ..archival("The bread is baked before dawn")
        },
    ];
    save(&agent, &others).await;
    let path = path_of(&agent);
    let browser = owner(&installation).await;
    let found = async |query: &str| {
        let document = browser.page(&format!("{path}?{query}")).await;
        document.check(query);
        listed(&document)
    };
    for (query, expected) in [
        ("", vec![3, 2, 1]),
        ("q=harbour", vec![1, 2]),
        ("q=harbour&order=newest", vec![2, 1]),
        ("q=baked+bread", vec![3]),
        ("kind=archival", vec![3]),
        ("kind=journal&q=", vec![2]),
        ("tag=SEA", vec![1]),
        ("origin=external", vec![3]),
        ("until=2020-05-01", vec![1]),
        ("since=2020-05-02", vec![3, 2]),
        ("protected=yes", vec![]),
        ("q=xylophone", vec![]),
    ] {
        assert_eq!(found(query).await, expected, "{query}");
    }
    let reversed = "since=2020-05-02&until=2020-05-01";
    for query in ["kind=x", "origin=x", "since=x", reversed, "seen=x"] {
        let answer = browser.get(&format!("{path}?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        answer.document().check(query);
        answer.text.omits("No memory found");
    }
    // The days stay in the form.
    let answer = browser.get(&format!("{path}?q=tea&{reversed}")).await;
    let document = answer.document();
    for (id, value) in [
        ("q", "tea"),
        ("since", "2020-05-02"),
        ("until", "2020-05-01"),
    ] {
        let field = document.by_id(id);
        assert_eq!(field.attribute("value"), Some(value), "{id}");
        let expected = (id == "until").then_some("true");
        assert_eq!(field.attribute("aria-invalid"), expected, "{id}");
    }
    let letter = |at: u32| tagged(&format!("Letter {at}"), &["a&b"]);
    let many: Vec<MemoryInput> = (0..60).map(letter).collect();
    save(&agent, &many).await;
    // The next page is of the same search.
    let search = "q=letter&kind=core&tag=a%26b&origin=agent&since=2020-05-02&until=2036-05-02\
        &protected=no&discarded=yes&order=newest";
    let document = browser.page(&format!("{path}?{search}")).await;
    let next = document.links().into_iter();
    let next = next.filter(|link| link.contains("seen=50"));
    let next: Vec<String> = next.collect();
    assert!(next[0].starts_with(&format!("{path}?{search}&seen=50&last=")));
    assert_eq!(listed(&browser.page(&next[0]).await).len(), 10);
    let first = browser.page(&path).await;
    assert_eq!(listed(&first).len(), 50);
    let next = first
        .links()
        .into_iter()
        .find(|link| link.contains("seen=50"));
    let second = browser.page(&next.unwrap()).await;
    assert_eq!(listed(&second), [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    // An address may hold any number.
    let far = format!("{path}?seen={}&last=14", usize::MAX);
    assert_eq!(listed(&browser.page(&far).await).len(), 13);
    let long = "word ".repeat(1_900);
    save(&agent, &[input(&long)]).await;
    let page = browser.get(&path).await.text;
    assert!(page.len() < 100_000, "the first page is light");
    assert!(page.contains("All of memory #64"));
    let one = browser.page(&format!("{path}/64")).await;
    assert!(one.all("div").any(|div| div.text.trim() == long.trim()));
    assert_eq!(browser.get(&format!("{path}/65")).await.status, 404);
    assert_eq!(browser.get(&format!("{path}/x")).await.status, 404);
}

#[tokio::test]
async fn spec_6_6_several_agents_are_listed_and_other_accounts_are_not() {
    let installation = Installation::open().await;
    let browser = owner(&installation).await;
    let none = browser.get("/memory").await;
    none.text.tells("memoir setup");
    none.document().check("/memory");
    let wren = installation.wren(&[]).await;
    let lark = installation
        .agent(&installation.account, "<i>Lark</i>", &["One"])
        .await;
    let owl = installation
        .agent(&installation.other().await, "Owl", &["One"])
        .await;
    let page = browser.get("/memory").await;
    assert!(page.text.contains("&lt;i&gt;Lark&lt;/i&gt;") && !page.text.contains("Owl"));
    let links = page.document().links();
    assert!(
        links.contains(&path_of(&wren)) && links.contains(&path_of(&lark)),
        "{links:?}"
    );
    assert_eq!(browser.get(&path_of(&owl)).await.status, 404);
    browser
        .get(&path_of(&wren))
        .await
        .text
        .tells("Nothing is remembered yet");
}
