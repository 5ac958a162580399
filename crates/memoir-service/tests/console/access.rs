//! Access requests: the request, the answer, reading under the banner, and the end (SPEC 5.2, 5.5, 4.4).

use std::{collections::BTreeSet, time::Duration};

use memoir_app::{MemoryInput, OwnAgent, RecordFilter, Viewer};
use memoir_domain::{
    AccessRequestId, PrivateText,
    access::{AccessDraft, AccessKind, AccessScope, AccessState},
    agent::Field,
    audit::{Action, Actor},
    memory::Number,
    session::Mode,
};
use memoir_testkit::{HttpAnswer, TestedObject, TestedText, input, journal};
use serde_json::{Value, json};

use crate::{
    document::{Document, ReadDocument},
    installation::{Browser, CANARY, Installation, PASSWORD, owner, save},
    pages::{busy_agent, walk_but},
};

const MINUTE: Duration = Duration::from_secs(60);

fn wren() -> Actor {
    Actor::agent("Wren")
}

fn ada() -> Actor {
    Actor::administrator("user Ada")
}

/// An installation with an agent with much text, and Ada's browser.
struct Story {
    installation: Installation,
    agent: OwnAgent,
    browser: Browser,
}

impl Story {
    async fn begin() -> Self {
        let installation = Installation::open().await;
        let agent = busy_agent(&installation).await;
        let browser = installation.ada().await;
        Self {
            installation,
            agent,
            browser,
        }
    }

    /// Where the agent is asked.
    fn tab(&self) -> String {
        self.page("/access")
    }

    /// Makes a request with the form; returns its path.
    async fn ask(&self, scope: &str, minutes: &str) -> String {
        let fields = [
            ("purpose", "to see <b>why</b>"),
            ("scope", scope),
            ("minutes", minutes),
        ];
        self.asked(&self.tab(), &fields).await
    }

    /// Sends the form of that page, by which the agent is asked; returns the path of the request.
    async fn asked(&self, form: &str, fields: &[(&str, &str)]) -> String {
        let asked = self.browser.pressed(form, form, fields).await;
        asked.strip_suffix("?done=asked").unwrap().to_owned()
    }

    /// The text of a page.
    async fn text(&self, path: &str) -> String {
        self.browser.get(path).await.text
    }

    /// A page of the agent.
    fn page(&self, rest: &str) -> String {
        format!("/agents/{}{rest}", self.agent.scope().agent)
    }

    async fn answer(&self, path: &str, yes: bool) {
        let reason = PrivateText::from(format!("for once, {CANARY}"));
        let (grants, own) = (self.agent.grants(), wren());
        let answered = grants.answer_access(id(path), yes, Some(reason), &own);
        answered.await.unwrap();
    }

    /// Makes a request, and the agent consents.
    async fn let_in(&self, scope: &str, minutes: &str) -> String {
        let path = self.ask(scope, minutes).await;
        self.answer(&path, true).await;
        path
    }

    /// The session that the agent had.
    async fn session(&self) -> String {
        let page = self.agent.views().session_page(None, 9).await;
        page.unwrap().last().unwrap().id.to_string()
    }

    /// Everything that can be read under a grant.
    async fn reading(&self, path: &str) -> [String; 5] {
        let session = self.session().await;
        [
            format!("{path}/memories"),
            format!("{path}/sessions"),
            format!("{path}/sessions/{session}"),
            format!("{path}/records"),
            format!("{path}/prompts"),
        ]
    }

    async fn reads(&self, path: &str) -> u64 {
        let lens = self.agent.views().seen_by(Viewer::administrator(ada()));
        let request = lens.access_request(id(path)).await;
        request.unwrap().reads
    }

    /// The number of recorded reads.
    async fn looks(&self) -> usize {
        let search = RecordFilter {
            actions: vec![Action::AccessUsed],
            ..Default::default()
        };
        let found = self.agent.views().search_records(&search, None, 99).await;
        found.unwrap().len()
    }

    /// The state for the script of an open page.
    async fn state(&self, path: &str) -> Value {
        let answer = self.browser.get(&format!("{path}/state")).await;
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(!has_words(&answer));
        serde_json::from_str(&answer.text).unwrap()
    }

    /// Checks that no page can be read any more, and that each redirects to the one with the reason.
    async fn is_closed(&self, path: &str, told: &str) {
        let looks = self.looks().await;
        for page in self.reading(path).await {
            let answer = self.browser.get(&page).await;
            assert_eq!(answer.leads_to(), path, "{page}");
            assert!(!has_words(&answer), "{page}");
        }
        let answer = self.browser.get(path).await;
        assert!(answer.text.contains(told), "{told}: {}", answer.text);
        assert_eq!(answer.header("refresh"), "");
        let document = answer.document();
        assert!(!document.links().iter().any(|link| is_reading(link)));
        let state = self.state(path).await;
        state.has(json!({"seconds_left": 0, "stated": told}));
        assert_eq!(self.looks().await, looks);
    }
}

fn id(path: &str) -> AccessRequestId {
    path.strip_prefix("/access/").unwrap().parse().unwrap()
}

fn has_words(answer: &HttpAnswer) -> bool {
    answer.text.to_lowercase().contains(CANARY)
}

/// Whether the page at that path shows words.
fn is_reading(path: &str) -> bool {
    path.strip_prefix("/access/")
        .is_some_and(|rest| rest.contains('/'))
}

#[tokio::test]
async fn spec_5_1_before_the_agent_says_yes_no_answer_holds_a_word() {
    let story = Story::begin().await;
    let path = story.ask("all", "10").await;
    for page in story.reading(&path).await {
        let answer = story.browser.get(&page).await;
        assert_eq!(answer.leads_to(), path);
        assert!(!has_words(&answer));
    }
    let seen = walk_but(&story.browser, |_| false).await;
    assert!(seen.contains(&path), "{seen:?}");
    assert!(!seen.iter().any(|path| is_reading(path)), "{seen:?}");
    let request = story.browser.get(&path).await;
    request.text.tells("Wren has not answered yet.");
    assert!(request.text.contains("to see &lt;b&gt;why&lt;/b&gt;"));
    assert_eq!(request.header("refresh"), "");
    assert_eq!(story.looks().await, 0);

    story.answer(&path, false).await;
    let request = story.browser.get(&path).await;
    assert!(request.text.contains("Wren refused."));
    // The agent's reason is for the requester.
    assert!(has_words(&request));
    for page in story.reading(&path).await {
        assert_eq!(story.browser.get(&page).await.leads_to(), path);
    }
}

#[tokio::test]
async fn spec_5_2_words_are_on_the_reading_pages_alone_and_each_look_is_on_the_record() {
    let story = Story::begin().await;
    let path = story.let_in("all", "10").await;
    // The reason is the agent's text, and for the requester.
    let own = path.clone();
    let seen = walk_but(&story.browser, |link| is_reading(link) || link == own).await;
    let session = story.session().await;
    assert!(seen.contains(&format!("{}?scope=session:{session}", story.tab())));
    assert_eq!(story.looks().await, 0);
    let [memories, sessions, session, records, prompts] = story.reading(&path).await;
    for (page, looks) in [
        (&memories, 1),
        // The list of sessions has no text; a session's page is read twice.
        (&sessions, 1),
        (&session, 3),
        (&records, 4),
        (&prompts, 5),
    ] {
        let answer = story.browser.get(page).await;
        assert_eq!(answer.status, 200, "{page}");
        assert_eq!(
            has_words(&answer),
            page != &sessions,
            "{page}: {}",
            answer.text
        );
        assert_eq!(story.looks().await, looks, "{page}");
        check_reading(&story, page, &answer);
    }
    let request = story.text(&path).await;
    request.tells("5 reads, ");
    for text in ["&lt;b&gt;why", "you", "Stop looking", "Closes"] {
        request.tells(text);
    }
    assert!(story.agent.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn settings_in_a_record_are_read_in_words() {
    let story = Story::begin().await;
    let set = [
        (Field::LossGuard, Some("refuse")),
        (Field::CoreTokenBudget, Some("7000")),
    ];
    let settings = story.agent.settings();
    settings.configure(&set, &ada()).await.unwrap();
    let path = story.let_in("all", "10").await;
    let records = format!("{path}/records?after=10");
    let text = story.browser.get(&records).await.text;
    for (name, value) in [
        ("loss guard", "duplicates only"),
        ("core token budget", "7,000"),
    ] {
        let said = format!("<h5>{name}</h5><div class=\"said\" dir=\"auto\">{value}</div>");
        text.tells(&said);
    }
}

/// What is true of every page with words.
fn check_reading(story: &Story, page: &str, answer: &HttpAnswer) {
    assert_eq!(answer.header("cache-control"), "no-store");
    let document = answer.document();
    document.check(page);
    let title = &document.all("title").next().unwrap().text;
    title.omits(CANARY);
    let banner = document.all("aside").next().unwrap();
    for text in [
        "You, Ada",
        "Wren",
        "to see <b>why</b>",
        "Closes at",
        "Stop looking",
    ] {
        assert!(banner.text.contains(text), "{text}: {}", banner.text);
    }
    let footer = &document.all("footer").next().unwrap().text;
    footer.omits("No word");
    // Text has its own direction, and is nowhere but in its elements.
    for said in with_class(&document, "said") {
        assert_eq!(said.attribute("dir"), Some("auto"), "{}", said.text);
    }
    let names = document.attributes();
    assert!(
        !names.iter().any(|(_, value)| value.contains(CANARY)),
        "{names:?}"
    );
    let left = document.by_id("words").attribute("data-left");
    let left: u64 = left.unwrap().parse().unwrap();
    assert!((590..600).contains(&left), "{left}");
    let (_, request) = page.rsplit_once("/access/").unwrap();
    let request = request.split('/').next().unwrap();
    let refresh = format!("{}; url=/access/{request}", left - 1);
    assert_eq!(answer.header("refresh"), refresh);
    assert!(story.agent.answers_to("Wren"));
}

fn with_class<'page>(
    document: &'page Document,
    class: &'static str,
) -> impl Iterator<Item = &'page crate::document::Element> {
    let all = ["div", "span"]
        .into_iter()
        .flat_map(|name| document.all(name));
    all.filter(move |element| {
        let classes = element.attribute("class").unwrap_or_default();
        classes.split(' ').any(|own| own == class)
    })
}

#[tokio::test]
async fn spec_5_2_it_closes_by_itself() {
    let story = Story::begin().await;
    let path = story.let_in("all", "1").await;
    let memories = format!("{path}/memories");
    let answer = story.browser.get(&memories).await;
    assert!(has_words(&answer));
    assert_eq!(answer.header("refresh"), format!("58; url={path}"));
    let state = story.state(&path).await;
    state.has(json!({"state": "granted", "seconds_left": 59}));
    let request = story.browser.get(&path).await;
    assert_eq!(request.header("refresh"), format!("60; url={path}"));
    let clock = &story.installation.clock;
    clock.advance(MINUTE - Duration::from_secs(2));
    let answer = story.browser.get(&memories).await;
    assert_eq!(answer.header("refresh"), format!("0; url={path}"));
    clock.advance(Duration::from_secs(2));
    story.is_closed(&path, "Its time is over.").await;
    walk_but(&story.browser, |link| link == path).await;
    assert_eq!(story.reads(&path).await, 2);
}

#[tokio::test]
async fn an_open_page_that_polls_extends_no_sign_in() {
    let story = Story::begin().await;
    let path = story.ask("core", "60").await;
    for _ in 0..3 {
        assert_eq!(story.state(&path).await["state"], "asked");
        story.installation.clock.advance(35 * MINUTE);
    }
    assert_eq!(story.state(&path).await["state"], "asked");
    story.installation.clock.advance(20 * MINUTE);
    let state = story.browser.get(&format!("{path}/state")).await;
    assert!(state.leads_to().starts_with("/sign-in"));
}

#[tokio::test]
async fn spec_5_2_a_grant_is_ended_by_the_agent_a_reader_or_another_administrator() {
    let story = Story::begin().await;
    let bob = story.installation.another("Bob").await;

    let path = story.let_in("core", "10").await;
    assert!(has_words(
        &story.browser.get(&format!("{path}/memories")).await
    ));
    let revoked = story.agent.grants().revoke_access(id(&path), &wren()).await;
    revoked.unwrap();
    story.is_closed(&path, "Wren revoked it.").await;

    let path = story.let_in("core", "10").await;
    let memories = format!("{path}/memories");
    let revoke = format!("{path}/revoke");
    let done = story.browser.press(&memories, &revoke, &[]).await;
    assert_eq!(done.leads_to(), format!("{path}?done=taken-back"));
    story.is_closed(&path, "You revoked it.").await;

    let path = story.let_in("core", "10").await;
    bob.pressed(&path, &format!("{path}/revoke"), &[]).await;
    story.is_closed(&path, "user Bob revoked it.").await;

    // One that waits is withdrawn in the same way.
    let path = story.ask("core", "10").await;
    let revoke = format!("{path}/revoke");
    story.browser.pressed(&path, &revoke, &[]).await;
    let (grants, own) = (story.agent.grants(), wren());
    let late = grants.answer_access(id(&path), true, None, &own).await;
    assert_eq!(late.unwrap_err().code(), "access_over");
    story.is_closed(&path, "You revoked it.").await;
}

#[tokio::test]
async fn spec_5_2_a_grant_is_for_its_requester_only() {
    let mut story = Story::begin().await;
    let path = story.let_in("all", "10").await;
    let pages = story.reading(&path).await;
    let bob = story.installation.another("Bob").await;
    for page in &pages {
        let answer = bob.get(page).await;
        assert_eq!(answer.leads_to(), path);
        assert!(!has_words(&answer));
    }
    // Nor the agent's reason.
    let request = bob.get(&path).await;
    assert!(!has_words(&request));
    request
        .text
        .tells("That is for the administrator who asked.");
    assert!(request.text.contains("to see &lt;b&gt;why"));
    request.document().check(&path);
    walk_but(&bob, |_| false).await;

    // A token from signing in as Ada is another requester.
    let token = token_of_ada(&story.installation).await;
    let listed = format!("/v1/agents/{}/memories", story.agent.scope().agent);
    let bearer = [("authorization", token.as_str())];
    let answer = story.browser.open(&listed, &bearer).await;
    assert_eq!(answer.status(), 200);
    assert!(!answer.text().await.unwrap().contains(CANARY));

    // Signing out closes the pages; signing in again as Ada reopens them.
    assert!(has_words(&story.browser.get(&pages[0]).await));
    story.browser.pressed("/", "/sign-out", &[]).await;
    for page in &pages {
        let answer = story.browser.get(page).await;
        assert!(answer.leads_to().starts_with("/sign-in"), "{page}");
        assert!(!has_words(&answer));
    }
    let state = story.browser.get(&format!("{path}/state")).await;
    assert!(state.leads_to().starts_with("/sign-in"));
    story.browser.sign_in("Ada", PASSWORD).await;
    assert!(has_words(&story.browser.get(&pages[0]).await));
}

#[tokio::test]
async fn spec_5_2_the_next_user_of_a_name_is_another_user() {
    let mut story = Story::begin().await;
    story.installation.administrator("Bob").await;
    let path = story.let_in("all", "30").await;
    let pages = story.reading(&path).await;
    assert!(has_words(&story.browser.get(&pages[0]).await));
    let waiting = story.ask("core", "30").await;
    story
        .installation
        .account
        .remove_user("Ada", &memoir_domain::audit::Actor::owner())
        .await
        .unwrap();
    story.browser.get(&path).await.leads_to().begins("/sign-in");
    story.installation.administrator("Ada").await;
    story.browser.sign_in("Ada", PASSWORD).await;
    for page in &pages {
        assert_eq!(story.browser.get(page).await.leads_to(), path);
    }
    // Grants and requests are revoked, and the agent's reason is not for other users.
    let request = story.browser.get(&path).await;
    assert!(!has_words(&request), "{}", request.text);
    for text in [
        "memoir revoked it.",
        "That is for the administrator who asked.",
    ] {
        assert!(request.text.contains(text), "{text}: {}", request.text);
    }
    assert_eq!(story.state(&waiting).await["state"], "revoked");
    walk_but(&story.browser, |_| false).await;
    let own = story.let_in("core", "30").await;
    assert!(has_words(
        &story.browser.get(&format!("{own}/memories")).await
    ));
}

#[tokio::test]
async fn spec_5_6_a_request_of_another_account_is_not_there() {
    let story = Story::begin().await;
    let theirs = story
        .installation
        .agent(&story.installation.other().await, "Owl", &["One"])
        .await;
    let draft = AccessDraft {
        kind: AccessKind::Read {
            scope: AccessScope::All,
            minutes: 10,
        },
        purpose: "to see why".into(),
    };
    // Even where it was an administrator of the same name.
    let request = theirs
        .grants()
        .request_access(&draft, &ada())
        .await
        .unwrap();
    let owl = Actor::agent("Owl");
    theirs
        .grants()
        .answer_access(request.id, true, None, &owl)
        .await
        .unwrap();
    let path = format!("/access/{}", request.id);
    let mut pages = story.reading(&path).await.to_vec();
    pages.extend([
        path.clone(),
        format!("{path}/state"),
        "/access/nothing".to_owned(),
        format!("/agents/{}/access", theirs.scope().agent),
        format!("/agents/{}/access/token", theirs.scope().agent),
        format!("/agents/{}/memories/1/shred", theirs.scope().agent),
    ]);
    for page in pages {
        let answer = story.browser.get(&page).await;
        assert_eq!(answer.status, 404, "{page}");
        assert!(!has_words(&answer));
    }
    let document = story.browser.page("/").await;
    let token = document.hidden("form_token").unwrap();
    let fields = [
        ("form_token", token),
        ("purpose", "why"),
        ("scope", "core"),
        ("minutes", "5"),
    ];
    for page in [
        format!("{path}/revoke"),
        format!("/agents/{}/access", theirs.scope().agent),
        format!("/agents/{}/access/token", theirs.scope().agent),
        format!("/agents/{}/memories/1/shred", theirs.scope().agent),
    ] {
        assert_eq!(
            story.browser.post(&page, &fields).await.status,
            404,
            "{page}"
        );
    }
    let lens = theirs.lens();
    let request = lens.access_request(request.id).await;
    assert_eq!(request.unwrap().state, AccessState::Granted);
}

#[tokio::test]
async fn spec_5_2_each_scope_shows_what_it_says_and_no_more() {
    let story = Story::begin().await;
    save(&story.agent, &[journal("a day of waiting")]).await;
    let session = story.session().await;

    let core = story.let_in("core", "10").await;
    let shown = story.text(&format!("{core}/memories")).await;
    shown.tells("The harbour lies");
    // Discarded in the session, and an entry of the journal.
    shown.omits(">#2<");
    shown.omits("a day of waiting");
    let wider = story
        .browser
        .get(&format!("{core}/memories?kind=journal&discarded=yes"))
        .await;
    assert!(!wider.text.contains(">#2<") && !wider.text.contains("a day of waiting"));
    for page in &story.reading(&core).await[1..] {
        assert_eq!(story.browser.get(page).await.leads_to(), core, "{page}");
    }

    let one = story.let_in(&format!("session:{session}"), "10").await;
    let page = format!("{one}/sessions/{session}");
    let shown = story.text(&page).await;
    for text in ["Before", "After", "rewritten", "Report", "Done, "] {
        shown.tells(text);
    }
    shown.omits("The harbour lies");
    let (other, _) = story.agent.open_own(Mode::Full).await.unwrap();
    for page in [
        format!("{one}/sessions/{}", other.id),
        format!("{one}/sessions"),
        format!("{one}/memories"),
        format!("{one}/records"),
        format!("{one}/prompts"),
    ] {
        assert_eq!(story.browser.get(&page).await.leads_to(), one, "{page}");
    }

    // Each page counts to its own grant, however wide another one is.
    let all = story.let_in("all", "10").await;
    let before = (story.reads(&core).await, story.reads(&all).await);
    story.browser.page(&format!("{core}/memories")).await;
    assert_eq!(story.reads(&core).await, before.0 + 1);
    assert_eq!(story.reads(&all).await, before.1);
    let shown = story.text(&format!("{all}/memories?discarded=yes")).await;
    shown.tells(">#2<");
    shown.tells("a day of waiting");
    let shown = story.text(&format!("{all}/prompts")).await;
    shown.tells("in words of my own");
    shown.tells("I am Wren");
}

#[tokio::test]
async fn long_lists_are_read_page_by_page_and_each_page_is_a_look() {
    let story = Story::begin().await;
    let inputs: Vec<MemoryInput> = (0..40)
        .map(|number| input(&format!("{CANARY} number {number}")))
        .collect();
    story.agent.memories().save(&inputs, &wren()).await.unwrap();
    let path = story.let_in("all", "10").await;
    for first in [format!("{path}/memories"), format!("{path}/records")] {
        let mut page = first.clone();
        let mut shown = BTreeSet::new();
        loop {
            let document = story.browser.page(&page).await;
            document.check(&page);
            let articles = document.all("article").map(|article| article.text.clone());
            shown.extend(articles);
            let next = document
                .all("a")
                .find(|link| link.text.starts_with("Next page"));
            let Some(next) = next else { break };
            page = next.attribute("href").unwrap().to_owned();
        }
        assert!(shown.len() >= 45, "{first}: {}", shown.len());
        assert!(
            shown.iter().any(|text| text.contains("number 39")),
            "{first}"
        );
    }
    let request = story.text(&path).await;
    assert_eq!(story.looks().await as u64, story.reads(&path).await);
    assert!(!request.contains("number 39"));
}

#[tokio::test]
async fn spec_5_2_what_a_page_does_not_show_does_not_count_as_read() {
    let story = Story::begin().await;
    let inputs: Vec<MemoryInput> = (0..40)
        .map(|number| input(&format!("{CANARY} number {number}")))
        .collect();
    story.agent.memories().save(&inputs, &wren()).await.unwrap();
    let path = story.let_in("core", "10").await;
    let (mut page, mut shown) = (Some(format!("{path}/memories")), 0);
    while let Some(next) = page {
        let document = story.browser.page(&next).await;
        shown += document.all("article").count() as u64;
        let mut links = document.all("a");
        let link = links.find(|link| link.text.starts_with("Next page"));
        page = link.map(|link| link.attribute("href").unwrap().to_owned());
    }
    assert!(shown > 40, "{shown}");
    let lens = story.agent.views().seen_by(Viewer::administrator(ada()));
    let request = lens.access_request(id(&path)).await.unwrap();
    assert_eq!(request.memories_read, shown);

    // The report of a session is on its first page only.
    let path = story.let_in("all", "10").await;
    let page = format!("{path}/sessions/{}", story.session().await);
    story.text(&page).await.tells(&format!("Done, {CANARY}."));
    let looks = story.looks().await;
    let later = story.text(&format!("{page}?after=1")).await;
    later.tells("What it changed");
    assert_eq!(story.looks().await, looks + 1);
}

#[tokio::test]
async fn what_was_typed_stays_in_a_form_that_was_not_taken() {
    let story = Story::begin().await;
    let tab = story.tab();
    let typed = "<i>why</i> \"so\"";
    let session = format!("session:{}", story.session().await);
    for (fields, problem) in [
        ([typed, &session, "61"], "It is 61; give 1 to 60."),
        ([typed, &session, "0"], "It is 0; give 1 to 60."),
        (
            [typed, &session, "x"],
            "It must be a whole number, 1 to 60.",
        ),
        (
            [typed, "some", "5"],
            "It is not among those to choose from.",
        ),
        (["", "core", "7"], "It is empty; give 1 to 2000 characters."),
    ] {
        let [purpose, scope, minutes] = fields;
        let sent = [("purpose", purpose), ("scope", scope), ("minutes", minutes)];
        let answer = story.browser.press(&tab, &tab, &sent).await;
        assert_eq!(answer.status, 400, "{problem}");
        assert!(answer.text.contains(problem), "{problem}: {}", answer.text);
        assert!(!has_words(&answer) && !answer.text.contains("<i>why"));
        let document = answer.document();
        document.check(problem);
        let kept = document.filled_in(&tab);
        // What is not among those to choose from is not kept.
        let scope = if scope == "some" { "core" } else { scope };
        for (name, value) in [("purpose", purpose), ("scope", scope), ("minutes", minutes)] {
            assert!(
                kept.contains(&(name.to_owned(), value.to_owned())),
                "{name}: {kept:?}"
            );
        }
    }
    let long = "x".repeat(2_001);
    for (path, field) in [
        (format!("{tab}/token"), "expires_at"),
        (shred(&story, 1), "purpose"),
    ] {
        let sent = [("purpose", long.as_str()), (field, "")];
        let sent = if field == "purpose" {
            &sent[..1]
        } else {
            &sent
        };
        let answer = story.browser.press(&path, &path, sent).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(
            answer.text.contains("2001") && answer.text.contains(&long),
            "{path}"
        );
        answer.document().check(&path);
    }
    let past = [("purpose", "why"), ("expires_at", "2026-03-01T12:00")];
    let path = format!("{tab}/token");
    let answer = story.browser.press(&path, &path, &past).await;
    answer.text.tells("It is in the past");
    let foreign = [
        ("purpose", "why"),
        ("scope", "session:01890000-0000-7000-8000-000000000000"),
        ("minutes", "5"),
    ];
    let answer = story.browser.press(&tab, &tab, &foreign).await;
    answer.text.tells("There is no such session of this agent.");
    // No request came of any of it: there are those of the beginning.
    let lens = story.agent.views().seen_by(Viewer::administrator(ada()));
    let requests = lens.access_requests(None, 99).await;
    assert_eq!(requests.unwrap().len(), 2);
    for _ in 0..19 {
        story.ask("core", "5").await;
    }
    let one_more = [("purpose", "why"), ("scope", "core"), ("minutes", "5")];
    let answer = story.browser.press(&tab, &tab, &one_more).await;
    answer.text.tells("20 requests wait for the agent");
    // They fill a page.
    let second = story.browser.page(&tab).await;
    second.check(&tab);
}

fn shred(story: &Story, number: u64) -> String {
    story.page(&format!("/memories/{number}/shred"))
}

#[tokio::test]
async fn spec_6_4_an_agent_is_asked_whether_its_words_may_be_sent_elsewhere() {
    let story = Story::begin().await;
    let off = "It is off until the agent consents";
    assert!(story.text(&story.tab()).await.contains(off));
    let form = format!("{}/embeddings", story.tab());
    let refused = story.browser.press(&form, &form, &[("purpose", " ")]).await;
    assert_eq!(refused.status, 400);
    refused.document().check(&form);
    // The text in front of it takes a part of its room.
    let long = "x".repeat(2_000);
    let sent = [("purpose", long.as_str())];
    let refused = story.browser.press(&form, &form, &sent).await;
    let told = "It is 2000 characters long, and the limit is 1953;";
    refused.text.tells(told);
    let sent = [("purpose", "so that more is found")];
    let path = &story.asked(&form, &sent).await;
    let told = story.text(path).await;
    told.tells("They go to `lab:small` at http://0.0.0.0:9/v1. so that more is found");
    assert!(story.text(&story.tab()).await.contains(off));
    story.answer(path, true).await;
    let told = story.text(&story.tab()).await;
    told.tells("It is on, with the agent’s consent");
    // The grant has no end of its own, so no page counts down to one.
    let agents_page = story.page("");
    for page in [path, &story.tab(), &agents_page] {
        let shown = story.browser.get(page).await;
        assert!(shown.text.contains("it is revoked"), "{page}");
        assert_eq!(shown.header("refresh"), "", "{page}");
    }
    let revoke = format!("{path}/revoke");
    story.browser.press(path, &revoke, &[]).await;
    assert!(story.text(&story.tab()).await.contains(off));
}

#[tokio::test]
async fn spec_5_5_a_token_is_asked_for_and_made_once() {
    let story = Story::begin().await;
    let form = format!("{}/token", story.tab());
    let sent = [
        ("purpose", "it was lost"),
        ("expires_at", "2026-03-05T12:00"),
    ];
    let path = story.asked(&form, &sent).await;
    let tokens = story.page("/tokens");
    assert!(!story.browser.page(&path).await.forms().contains(&tokens));
    story.answer(&path, true).await;
    let bob = story.installation.another("Bob").await;
    assert!(!bob.page(&path).await.forms().contains(&tokens));
    let made = story.browser.press(&path, &tokens, &[]).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let document = made.document();
    document.check(&tokens);
    let secret = document.all("pre").next().unwrap().text.clone();
    let memoir = &story.installation.memoir;
    let entered = memoir.authenticate(&secret).await.unwrap();
    assert_eq!(entered.unwrap().agent, Some(story.agent.scope().agent));
    let request = story.browser.get(&path).await;
    assert!(request.text.contains("It is done.") && !request.text.contains(&secret));
    // It ends when the agent was told that it would.
    story.installation.clock.advance(24 * 60 * MINUTE);
    let known = memoir.authenticate(&secret).await;
    assert!(known.unwrap().is_none());
}

#[tokio::test]
async fn spec_4_4_a_memory_is_shredded_with_the_agents_yes_only() {
    let story = Story::begin().await;
    let form = shred(&story, 4);
    let sent = [("purpose", "a key was pasted")];
    let path = story.asked(&form, &sent).await;
    let is_shredded = async || {
        let memory = story.agent.views().memory(Number(4)).await.unwrap();
        memory.shredded_at.is_some()
    };
    assert!(!is_shredded().await);
    let request = story.text(&path).await;
    request.tells("shredding memory #4");
    story.answer(&path, true).await;
    assert!(is_shredded().await);
    assert!(story.text(&path).await.contains("It is done."));
    story.text(&form).await.tells("It is shredded already.");
    let memories = form.strip_suffix("/4/shred").unwrap();
    let links = story.browser.page(memories).await.links();
    assert!(links.contains(&shred(&story, 1)) && !links.contains(&form));
    // What is shredded cannot be asked for again, and nothing of another agent's.
    assert_eq!(story.browser.get(&shred(&story, 99)).await.status, 404);
}

#[tokio::test]
async fn who_is_let_in_stands_where_administrators_look() {
    let story = Story::begin().await;
    let session = story.session().await;
    let asking = format!("{}?scope=session:{session}", story.tab());
    let page = format!("/sessions/{session}");
    let links = story.browser.page(&page).await.links();
    assert!(links.contains(&asking), "{links:?}");
    let document = story.browser.page(&asking).await;
    let mut options = document.all("option");
    let chosen = options.find(|option| option.attribute("selected").is_some());
    let scope = format!("session:{session}");
    assert_eq!(chosen.unwrap().attribute("value"), Some(scope.as_str()));
    let text = story.text(&asking).await;
    text.tells("It has no model");

    let path = story.let_in("core", "10").await;
    let fleet = story.browser.page("/").await;
    assert!(fleet.links().contains(&story.tab()), "{:?}", fleet.links());
    let overview = story.tab().strip_suffix("/access").unwrap().to_owned();
    let overview = story.browser.get(&overview).await;
    assert!(overview.document().links().contains(&path));
    overview.text.tells("closes at");
    let tab = story.text(&story.tab()).await;
    assert!(tab.contains("granted") && tab.contains("9:5"), "{tab}");
    let draft = AccessDraft {
        kind: AccessKind::Token { expires_at: None },
        purpose: "x".into(),
    };
    let asked = story.agent.grants().request_access(&draft, &owner()).await;
    asked.unwrap();
    story.text(&story.tab()).await.tells("one more token");
}

/// For the other interfaces.
async fn token_of_ada(installation: &Installation) -> String {
    let given = json!({"name": "Ada", "password": PASSWORD});
    let made = installation.created("/v1/sign-in", "", given).await;
    format!("Bearer {}", made["token"].as_str().unwrap())
}
