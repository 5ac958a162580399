//! Creating agents, their tokens, and erasing them.

use std::{collections::BTreeMap, time::Duration};

use memoir_app::{InstallationSettings, Provision, Quota, Verification};
use memoir_domain::{
    access::{AccessDraft, AccessKind},
    agent::Field,
    audit::Actor,
    session::Mode,
};
use memoir_service::ServiceOptions;
use memoir_testkit::{TestedObject, TestedText};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    document::ReadDocument,
    installation::{CANARY, Installation, grant, newest_records, owner, remember},
    settings::refuses_the_model,
};

#[tokio::test]
async fn an_agent_is_made_with_its_settings() {
    let installation = Installation::open().await;
    let browser = installation.ada().await;
    let fleet = browser.page("/").await;
    assert!(fleet.links().contains(&"/agents/new".to_owned()));
    let form = browser.page("/agents/new").await;
    form.check("/agents/new");
    for field in Field::ALL {
        let (name, mut labels) = (field.as_str(), form.all("label"));
        let is_offered = labels.any(|label| label.attribute("for") == Some(name));
        assert_eq!(is_offered, field != Field::Active, "{name}");
    }
    let prompt = format!("I am <b>Wren</b>,\r\n{CANARY}.");
    let fields = [
        ("name", " <i>Wren</i> & \"co\" "),
        ("model", "builtin:careful"),
        ("system_prompt", prompt.as_str()),
        ("core_token_budget", "4000"),
        ("refinement_threshold", "0.9"),
        ("loss_guard", "refuse"),
        ("near_duplicates", "false"),
        ("immutable_tags", "voice, vow"),
        ("paused", "yes"),
    ];
    let made = browser.fill_in("/agents/new", "/agents/new", &fields).await;
    let page = made.leads_to().strip_suffix("?done=created").unwrap();
    let shown = browser.get(made.leads_to()).await;
    shown.text.tells("&lt;i&gt;Wren&lt;/i&gt; &amp;");
    assert!(!shown.text.contains("<i>Wren") && !shown.text.contains(CANARY));
    shown.document().check(page);
    let name = "<i>Wren</i> & \"co\"";
    let agent = installation.account.agent(name).await.unwrap();
    assert!(page.ends_with(&agent.scope().agent.to_string()), "{page}");
    let view = agent.views().show().await.unwrap();
    let settings = view.settings.expose();
    settings.has(json!({
        "system_prompt": format!("I am <b>Wren</b>,\n{CANARY}."),
        "core_token_budget": 4_000, "refinement_threshold": 0.9, "loss_guard": "refuse",
        "near_duplicates": false, "immutable_tags": ["voice", "vow"], "paused": true, "active": true,
        "duplicate_match": null,
    }));
    let records = newest_records(&agent, 9).await;
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].actor, Actor::administrator("user Ada"));
}

#[tokio::test]
async fn what_was_typed_stays_where_no_agent_is_made() {
    let installation = Installation::open().await;
    installation.wren(&[]).await;
    let browser = installation.ada().await;
    let fields = [
        ("name", "Heron"),
        ("model", "careful"),
        ("system_prompt", "I am Heron & <co>."),
        ("core_token_budget", "many"),
        ("refinement_threshold", "2"),
    ];
    let refused = browser.fill_in("/agents/new", "/agents/new", &fields).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let document = refused.document();
    document.check("/agents/new");
    for (name, value) in &fields {
        let kept = document.filled_in("/agents/new");
        let sent = (name.to_string(), value.to_string());
        assert!(kept.contains(&sent), "{name}: {kept:?}");
    }
    for wrong in ["model", "core_token_budget", "refinement_threshold"] {
        let field = document.by_id(wrong);
        assert_eq!(field.attribute("aria-invalid"), Some("true"), "{wrong}");
        let fault = format!("{wrong}-fault");
        let told_by = field.attribute("aria-describedby").unwrap();
        assert!(told_by.split(' ').any(|id| id == fault), "{told_by}");
        assert!(!document.by_id(&fault).text.is_empty());
    }
    assert_eq!(document.by_id("name").attribute("aria-invalid"), None);
    let told = "It must be a whole number of tokens from 1,000 to 1,000,000,000.";
    assert_eq!(document.by_id("core_token_budget-fault").text, told);
    assert!(installation.account.agent("Heron").await.is_err());
    // A name is free or not whatever its case.
    let (path, taken) = ("/agents/new", [("name", "WREN")]);
    let refused = browser.fill_in(path, path, &taken).await;
    assert_eq!(refused.status, 409);
    let told = refused.document().by_id("name-fault").text.clone();
    assert_eq!(told, "Another agent of the account has this name already.");
    // Whether a provider exists, only the installation knows.
    let unknown = [
        ("name", "Heron"),
        ("model", "nowhere:small"),
        ("system_prompt", "I am Heron."),
    ];
    refuses_the_model(&browser, path, &unknown).await;
    let nameless = browser.fill_in("/agents/new", "/agents/new", &[]).await;
    assert_eq!(nameless.status, 409);
    assert_eq!(installation.account.agents().await.unwrap().len(), 1);
}

#[tokio::test]
async fn spec_5_5_the_first_token_is_shown_once_and_later_ones_need_leave() {
    let installation = Installation::open().await;
    let agent = memoir_testkit::agent(&installation.account, "Wren", &[]).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}/settings", agent.scope().agent);
    let path = format!("/agents/{}/tokens", agent.scope().agent);
    let fresh = browser.page(&page).await;
    let send = async |fields: &[(&str, &str)]| browser.send_filled_in(&fresh, &path, fields).await;
    assert_eq!(send(&[("ends", "31")]).await.status, 400);
    let is_offered = async || browser.page(&page).await.forms().contains(&path);
    assert!(is_offered().await);
    let made = send(&[("ends", "30")]).await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.header("cache-control"), "no-store");
    made.document().check(&path);
    let secret = made.document().all("pre").next().unwrap().text.clone();
    let entered = installation.memoir.authenticate(&secret).await.unwrap();
    assert_eq!(entered.unwrap().agent, Some(agent.scope().agent));
    let token = agent.grants().tokens().await.unwrap().remove(0);
    let lasts = token.expires_at.unwrap().microseconds() - token.created_at.microseconds();
    let days = Duration::from_micros(lasts.unsigned_abs()).as_secs_f64() / 86_400.0;
    assert!((days - 30.0).abs() < 0.001, "{days}");
    // Nothing shows it again.
    let settings = browser.get(&page).await;
    assert!(!settings.text.contains(&secret));
    settings.text.tells(">valid<");
    // Its holder is the agent, which decides about further ones: none is offered that would be refused (SPEC 5.5).
    assert!(!is_offered().await);

    remember(&agent, "One").await;
    let refused = send(&[]).await;
    assert_eq!(refused.status, 409);
    refused.document().check(&page);
    assert!(!refused.document().forms().contains(&path));
    let told = "The agent <code>Wren</code> is in use";
    refused.text.tells(told);
    let ask = format!("/agents/{}/access/token", agent.scope().agent);
    assert!(refused.document().links().contains(&ask));
    assert_eq!(agent.grants().tokens().await.unwrap().len(), 1);
    // With its consent, once.
    let draft = AccessDraft {
        kind: AccessKind::Token { expires_at: None },
        purpose: "its machine is new".into(),
    };
    let actor = Actor::administrator("user Ada");
    let asked = agent.grants().request_access(&draft, &actor).await.unwrap();
    grant(&agent, asked.id).await;
    assert!(is_offered().await);
    for status in [200, 409] {
        assert_eq!(send(&[]).await.status, status);
    }
    assert!(!is_offered().await);

    let revoke = format!("{path}/{}/revoke", token.id);
    let done = browser.fill_in(&page, &revoke, &[]).await;
    assert_eq!(done.leads_to(), format!("{page}?done=revoked#tokens"));
    let known = installation.memoir.authenticate(&secret).await;
    assert!(known.unwrap().is_none());
    let document = browser.page(&page).await;
    assert!(!document.forms().contains(&revoke));
    document.check(&page);
    let records = newest_records(&agent, 1).await;
    assert_eq!(records[0].action.as_str(), "token_revoked");
    assert_eq!(records[0].actor, actor);
}

#[tokio::test]
async fn an_agent_without_memories_shows_how_its_program_is_connected() {
    let installation = Installation::open().await;
    let name = "Wren's \"co\"";
    let agent = installation.agent(&installation.account, name, &[]).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}", agent.scope().agent);
    let path = format!("{page}/tokens");
    let shown = browser.page(&page).await;
    shown.check(&page);
    assert!(shown.by_id("main").text.contains("no call yet"));
    let texts: Vec<_> = shown.all("pre").map(|way| way.text.clone()).collect();
    assert_eq!(texts.len(), 5, "{texts:?}");
    let address = &installation.address;
    assert!(texts[0].contains(&format!(
        "memoir setup claude-code --url {address} --agent 'Wren'\\''s \"co\"'"
    )));
    let server: Value = serde_json::from_str(&texts[1]).unwrap();
    let server = &server["mcpServers"]["memoir"];
    assert_eq!(server["url"], format!("{address}/mcp"));
    assert_eq!(server["headers"]["Authorization"], "Bearer TOKEN");
    for text in &texts[2..4] {
        assert!(text.contains(r#""Wren's \"co\"""#), "{text}");
    }
    // Its token is shown once, in each of them.
    let made = browser.fill_in(&page, &path, &[]).await;
    assert_eq!(made.status, 200, "{}", made.text);
    made.document().check(&path);
    let document = made.document();
    let shown: Vec<_> = document.all("pre").map(|way| way.text.clone()).collect();
    let secret = shown[0].clone();
    let filled_in = texts
        .iter()
        .map(|text| text.replace("TOKEN=TOKEN", &format!("TOKEN={secret}")));
    let filled_in = filled_in.map(|text| text.replace("Bearer TOKEN", &format!("Bearer {secret}")));
    let filled_in = filled_in.map(|text| text.replace("\"TOKEN\"", &format!("\"{secret}\"")));
    assert_eq!(shown[1..], filled_in.collect::<Vec<_>>());
    let told = browser.get(&page).await;
    assert!(!told.text.contains(&secret) && told.text.contains("It has a token"));
    assert!(!told.document().forms().contains(&path));
    // What the page's script asks.
    let state = format!("{page}/connected");
    assert_eq!(
        told.document().by_id("light").attribute("data-state"),
        Some(state.as_str())
    );
    browser.get(&state).await.text.tells("no call yet");
    // The program calls.
    let context = format!("/v1/agents/{}/context", agent.scope().agent);
    let authorization = format!("Bearer {secret}");
    let program = installation.browser();
    let headers = [("authorization", authorization.as_str())];
    let called = program.request(Method::GET, &context, &headers).await;
    assert_eq!(called.status, 200, "{}", called.text);
    // Before the use is written.
    let told = browser.page(&page).await;
    told.check(&page);
    assert!(told.by_id("main").text.contains("Its program called now"));
    let light = browser.get(&state).await.document();
    assert_eq!(light.by_id("light").attribute("data-state"), None);
    assert!(light.by_id("light").text.contains("connected"));
    assert_eq!(installation.browser().get(&state).await.status, 303);
    remember(&agent, "One").await;
    let told = browser.get(&page).await.text;
    told.omits("Connect this agent");
}

#[tokio::test]
async fn a_token_of_another_agent_is_not_there() {
    let installation = Installation::open().await;
    let wren = installation.wren(&[]).await;
    let owl = installation.agent(&installation.account, "Owl", &[]).await;
    let owner = owner();
    let made = owl.grants().create_token(Provision::First, None, &owner);
    let made = made.await.unwrap();
    let browser = installation.ada().await;
    let page = format!("/agents/{}/settings", wren.scope().agent);
    let token = browser.form_token(&page).await;
    for id in [made.view.id.to_string(), "x".to_owned()] {
        let path = format!("/agents/{}/tokens/{id}/revoke", wren.scope().agent);
        let answer = browser.post(&path, &[("form_token", &token)]).await;
        assert_eq!(answer.status, 404, "{id}");
    }
    assert!(owl.grants().tokens().await.unwrap()[0].revoked_at.is_none());
}

#[tokio::test]
async fn spec_5_4_an_agent_is_erased_after_its_name_is_typed() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One", "Two"]).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}/erase", agent.scope().agent);
    browser.page(&page).await.check(&page);
    let refused = browser.fill_in(&page, &page, &[("name", "Heron")]).await;
    assert_eq!(refused.status, 409);
    let document = refused.document();
    document.check(&page);
    assert_eq!(document.by_id("name").attribute("value"), Some("Heron"));
    assert_eq!(
        document.by_id("name-fault").text,
        "It is not the name of this agent."
    );
    // Not while a session of it runs.
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    let refused = browser.fill_in(&page, &page, &[("name", "wren")]).await;
    assert_eq!(refused.status, 409);
    refused.text.tells("A session of the agent is running.");
    agent.sessions().cancel(session.id, &owner()).await.unwrap();

    let done = browser.fill_in(&page, &page, &[("name", " wren ")]).await;
    assert_eq!(done.leads_to(), "/?done=erased");
    let fleet = browser.get("/?done=erased").await;
    fleet.text.tells("Its key is destroyed");
    assert!(!fleet.text.contains("Wren"));
    let gone = browser.get(&page).await;
    assert_eq!(gone.status, 410);
    gone.document().check(&page);
    let Verification {
        valid, erased_at, ..
    } = agent.log().verify().await.unwrap();
    assert!(valid && erased_at.is_some());
}

#[tokio::test]
async fn it_is_told_in_place_why_no_session_can_be_begun() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}", agent.scope().agent);
    let refine = format!("{page}/refine");
    let told = async |text: &str| {
        let answer = browser.get(&page).await;
        answer.document().check(&page);
        answer.text.tells(text);
        assert!(!answer.document().forms().contains(&refine));
    };
    told("the agent has no core memories").await;
    remember(&agent, "One").await;
    let set = async |field, value| {
        let (settings, set) = (agent.settings(), [(field, Some(value))]);
        settings.configure(&set, &owner()).await.unwrap();
    };
    set(Field::Active, "false").await;
    told("the agent is out of service").await;
    set(Field::Active, "true").await;
    let document = browser.page(&page).await;
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    told("one is running already").await;
    // A stale page shows that beside the choices.
    let fields = [("mode", "dedup_only"), ("rehearsal", "yes")];
    let refused = browser.send_filled_in(&document, &refine, &fields).await;
    assert_eq!(refused.status, 409);
    refused.text.tells("A session is running already");
    refused.document().check(&refine);
    agent.sessions().cancel(session.id, &owner()).await.unwrap();
    installation.clock.advance(Duration::from_secs(60));

    // A fault of a model for this session is shown beside it, and the rest stays as chosen.
    let fields = [
        ("mode", "dedup_only"),
        ("rehearsal", "yes"),
        ("model", "gpt"),
    ];
    let refused = browser.fill_in(&page, &refine, &fields).await;
    assert_eq!(refused.status, 409);
    let document = refused.document();
    document.check(&refine);
    for (name, value) in fields {
        let kept = (name.to_owned(), value.to_owned());
        assert!(document.filled_in(&refine).contains(&kept), "{name}");
    }
    document
        .by_id("model-fault")
        .text
        .tells("names no provider");
    let unknown = browser
        .fill_in(&page, &refine, &[("model", "nobody:x")])
        .await;
    assert_eq!(unknown.status, 409);
    unknown.text.tells("there is no provider");
    // Being paused does not prevent a requested session.
    set(Field::Paused, "true").await;
    let paused = browser.get(&page).await.text;
    paused.tells("You can start a session all the same");
    // A model of rules begins where there is a duplicate.
    remember(&agent, "one").await;
    let begun = browser
        .fill_in(
            &page,
            &refine,
            &[("mode", "full"), ("model", "builtin:careful")],
        )
        .await;
    assert!(begun.leads_to().starts_with("/sessions/"));
}

#[tokio::test]
async fn what_was_typed_stays_where_a_quota_prevents_a_session() {
    let mut settings = InstallationSettings::default();
    settings.quotas.set(Quota::AgentSessionsADay, Some(0));
    let options = ServiceOptions::default();
    let installation = Installation::with_settings(options, settings, BTreeMap::new()).await;
    let agent = installation.wren(&["One", "one"]).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}", agent.scope().agent);
    let refine = format!("{page}/refine");
    let fields = [("mode", "dedup_only"), ("model", "builtin:careful")];
    let refused = browser.fill_in(&page, &refine, &fields).await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    refused.text.tells("No session was begun");
    let document = refused.document();
    document.check(&refine);
    for (name, value) in fields {
        let kept = (name.to_owned(), value.to_owned());
        assert!(document.filled_in(&refine).contains(&kept), "{name}");
    }
}
