//! What the owner of an open installation does on the personal page (SPEC 6.6).

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, atomic::Ordering},
};

use memoir_app::{ContextRequest, OwnAgent, RecordFilter, ShownMemory};
use memoir_domain::{
    SessionId,
    access::{AccessDraft, AccessKind, AccessScope, AccessState},
    audit::Actor,
    memory::{Kind, Number},
    session::Mode,
};
use memoir_testkit::{HttpAnswer, TestedText, archival, replacing};
use serde_json::json;

use crate::{
    document::ReadDocument,
    installation::{Browser, CANARY, FullDisk, Installation, owner as administrator, save},
    own::{owner, path_of},
    pages::{busy_agent, check_headers},
};

async fn memory(agent: &OwnAgent, number: u64) -> ShownMemory {
    agent.lens().memory(Number(number)).await.unwrap()
}

/// The newest record that is not an entry of Memoir's own: its action and actor.
async fn newest(agent: &OwnAgent) -> (String, String) {
    let records = agent
        .lens()
        .records(&RecordFilter::default())
        .await
        .unwrap();
    let mut newest = records.iter().rev();
    let record = newest
        .find(|record| record.actor != Actor::system())
        .unwrap();
    let actor = format!("{} {}", record.actor.kind.as_str(), record.actor.name);
    (record.action.as_str().to_owned(), actor)
}

/// A rehearsal that deletes a memory.
async fn rehearse(agent: &OwnAgent) -> SessionId {
    let (session, _) = agent.rehearse_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 3})),
        ("complete_refinement", json!({"summary": "Rehearsed"})),
    ] {
        let called = agent.call_tool(session.id, tool, Some(&arguments)).await;
        called.unwrap();
    }
    session.id
}

/// The newest record where the owner did that in a browser.
fn own(action: &str) -> (String, String) {
    (action.to_owned(), "owner browser".to_owned())
}

#[tokio::test]
async fn spec_3_12_an_edit_is_a_new_original_and_the_agent_is_notified_in_one_line() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let path = path_of(&agent);
    let browser = owner(&installation).await;
    let (one, edit) = (format!("{path}/1"), format!("{path}/1/edit"));
    let fields = [("content", "The harbour lies\r\nto the east <i>")];
    let edited = browser.fill_in(&one, &edit, &fields).await;
    assert_eq!(edited.leads_to(), format!("{path}/2?done=edited"));
    let page = browser.get(edited.leads_to()).await;
    page.text.tells("The harbour lies\nto the east &lt;i&gt;");
    assert!(page.text.contains("The agent is notified"));
    page.document().check("an edited memory");
    let (before, after) = (memory(&agent, 1).await, memory(&agent, 2).await);
    assert_eq!(
        (before.kind, before.under),
        (Kind::Archival, Some(Number(2)))
    );
    assert_eq!(after.content(), "The harbour lies\nto the east <i>");
    assert_eq!(newest(&agent).await, own("memory_edited"));
    let context = agent.context(None).await.unwrap().text;
    let told = context
        .expose()
        .lines()
        .filter(|line| line.contains("edited my memory #1"));
    assert_eq!(told.count(), 1, "{}", context.expose());
    assert_eq!(agent.views().show().await.unwrap().counts.journal_count, 1);

    // What cannot be saved stays in the form, and nothing is changed.
    let (two, edit) = (format!("{path}/2"), format!("{path}/2/edit"));
    for (content, problem) in [("  ", "is empty"), (&*"x".repeat(10_001), "10,001")] {
        let fields = [("content", content)];
        let refused = browser.fill_in(&two, &edit, &fields).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(
            refused.text.contains(problem) || refused.text.contains("10001"),
            "{problem}"
        );
        refused.document().check("a refused edit");
    }
    let shown = browser.page(&two).await;
    let elsewhere = Actor::owner();
    let (seen, text) = (after.content().into(), "Another text by now".into());
    let other = agent.memories().edit(Number(2), &seen, &text, &elsewhere);
    other.await.unwrap();
    let fields = [("content", "Typed in vain")];
    let stale = browser.send_filled_in(&shown, &edit, &fields).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    stale.text.tells("Typed in vain");
    assert_eq!(newest(&agent).await.1, "owner command line");
    let same = [("content", "Another text by now")];
    let (four, edit) = (format!("{path}/4"), format!("{path}/4/edit"));
    let unchanged = browser.fill_in(&four, &edit, &same).await;
    assert_eq!(unchanged.leads_to(), format!("{path}/4?done=unchanged"));
}

#[tokio::test]
async fn spec_6_6_the_owners_acts_are_on_the_record() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One", "Two"]).await;
    save(&agent, &[archival("Old")]).await;
    let path = path_of(&agent);
    let browser = owner(&installation).await;
    for (number, act, action) in [
        (1, "protect", "memory_protected"),
        (1, "unprotect", "memory_unprotected"),
        (1, "discard", "memory_discarded"),
        (1, "restore", "memory_restored"),
        (3, "promote", "memory_promoted"),
    ] {
        let page = format!("{path}/{number}");
        let done = browser.press(&page, &format!("{page}/{act}"), &[]).await;
        assert_eq!(done.leads_to(), format!("{page}?done={act}"));
        let shown = browser.get(done.leads_to()).await;
        shown.text.tells("role=\"status\"");
        shown.document().check(act);
        assert_eq!(newest(&agent).await, own(action));
    }
    assert_eq!(memory(&agent, 3).await.kind, Kind::Core);
    // A constitutional memory cannot be discarded or edited, and neither is offered.
    browser
        .press(&format!("{path}/2"), &format!("{path}/2/protect"), &[])
        .await;
    let page = browser.page(&format!("{path}/2")).await;
    assert_eq!(page.forms(), [format!("{path}/2/unprotect")]);
    let token = page.hidden("form_token").unwrap().to_owned();
    let fields = [
        ("form_token", token.as_str()),
        ("content", "x"),
        ("seen", "x"),
    ];
    for act in ["discard", "edit"] {
        let refused = browser.post(&format!("{path}/2/{act}"), &fields).await;
        assert_eq!(refused.status, 409, "{act}: {}", refused.text);
        refused.document().check(act);
        refused.text.tells(&format!("href=\"{path}\""));
    }
    browser
        .post(&format!("{path}/2/burn"), &fields)
        .await
        .expect(400);
}

#[tokio::test]
async fn spec_4_4_a_memory_is_shredded_once_its_number_is_typed() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One", "Two"]).await;
    let path = path_of(&agent);
    let browser = owner(&installation).await;
    let shred = format!("{path}/1/shred");
    for typed in ["", "2", "one"] {
        let refused = browser.fill_in(&shred, &shred, &[("typed", typed)]).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        refused.document().check("a shredding");
    }
    let long = "x".repeat(1_001);
    let fields = [("typed", "1"), ("reason", long.as_str())];
    let refused = browser.fill_in(&shred, &shred, &fields).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let document = refused.document();
    document.check("a reason that is too long");
    let field = document.by_id("reason");
    assert_eq!(field.attribute("value"), Some(long.as_str()));
    assert!(memory(&agent, 1).await.shredded_at.is_none());
    let done = browser.fill_in(&shred, &shred, &[("typed", "#1")]).await;
    assert_eq!(done.leads_to(), format!("{path}/1?done=shredded"));
    let page = browser.get(done.leads_to()).await;
    page.text.omits("One, says");
    assert!(memory(&agent, 1).await.shredded_at.is_some());
    assert_eq!(newest(&agent).await, own("memory_shredded"));
    assert!(agent.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_6_6_what_was_typed_stays_where_an_act_fails() {
    let disk = Arc::new(FullDisk::default());
    let installation = Installation::on_disk(&disk).await;
    let agent = installation.wren(&["One", "Two"]).await;
    let waiting = format!("{}/waiting", path_of(&agent));
    let one = format!("{}/1", path_of(&agent));
    let (edit, shred) = (format!("{one}/edit"), format!("{one}/shred"));
    let draft = AccessDraft {
        kind: AccessKind::Shred {
            number: Number(2),
            derived: false,
        },
        purpose: "a pasted key".into(),
    };
    let administrator = administrator();
    let requested = agent.grants().request_access(&draft, &administrator);
    let asked = requested.await.unwrap().id;
    let answer = format!("{waiting}/access/{asked}");
    let reason = format!("reason-{asked}");
    let browser = owner(&installation).await;
    let fails = async |page: &str, form: &str, fields: &[(&str, &str)], status: u16| {
        let refused = browser.fill_in(page, form, fields).await;
        assert_eq!(refused.status, status, "{form}: {}", refused.text);
        refused.text.tells("Typed text");
        refused.document().check(form);
        refused.text
    };
    let edited = [("content", "Typed text")];
    let shredded = [("typed", "1"), ("reason", "Typed text")];
    let answered = [("answer", "yes"), (reason.as_str(), "Typed text")];
    disk.0.store(true, Ordering::Relaxed);
    let shown = fails(&one, &edit, &edited, 507).await;
    shown.tells("Not saved");
    let shown = fails(&shred, &shred, &shredded, 507).await;
    shown.tells("Not shredded");
    let shown = fails(&waiting, &answer, &answered, 507).await;
    shown.tells("Not answered");
    disk.0.store(false, Ordering::Relaxed);
    // Nothing is shredded during a session.
    agent.open_own(Mode::Full).await.unwrap();
    fails(&shred, &shred, &shredded, 409).await;
    fails(&waiting, &answer, &answered, 409).await;
    for number in [1, 2] {
        assert!(memory(&agent, number).await.shredded_at.is_none());
    }
}

#[tokio::test]
async fn spec_6_6_forms_are_taken_from_this_browsers_own_pages_only() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let path = path_of(&agent);
    let browser = owner(&installation).await;
    let page = browser.page(&format!("{path}/1")).await;
    let token = page.hidden("form_token").unwrap().to_owned();
    let protect = format!("{path}/1/protect");
    let own = [("form_token", token.as_str())];
    let refused = |answer: HttpAnswer| {
        assert_eq!(answer.status, 403, "{}", answer.text);
        assert!(!answer.text.contains(CANARY));
        check_headers(&answer);
    };
    for site in ["cross-site", "same-site", "none"] {
        refused(
            browser
                .send(&protect, &own, &[("sec-fetch-site", site)])
                .await,
        );
    }
    refused(browser.send(&protect, &own, &[]).await);
    let foreign = [("origin", "http://evil.example.com")];
    refused(browser.send(&protect, &own, &foreign).await);
    refused(browser.post(&protect, &[]).await);
    refused(browser.post(&protect, &[("form_token", "x")]).await);
    let mut stranger = browser.clone();
    stranger.cookie = String::new();
    refused(stranger.post(&protect, &own).await);
    assert!(!memory(&agent, 1).await.constitutional);
    assert_eq!(browser.post(&protect, &own).await.status, 303);
}

/// Everything that is reached by links from the agent's page on, checked; the texts of all pages.
async fn walk(browser: &Browser, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::from([from.to_owned()]);
    let mut waiting = VecDeque::from([from.to_owned()]);
    while let Some(path) = waiting.pop_front() {
        let answer = browser.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        check_headers(&answer);
        let document = answer.document();
        document.check(&path);
        for link in document
            .links()
            .into_iter()
            .filter(|link| link != "/memory")
        {
            assert!(seen.len() < 500, "{seen:?}");
            if seen.insert(link.clone()) {
                waiting.push_back(link);
            }
        }
    }
    seen
}

#[tokio::test]
async fn spec_6_6_every_page_of_the_owner_is_well_formed() {
    let installation = Installation::open().await;
    let agent = busy_agent(&installation).await;
    rehearse(&agent).await;
    let path = path_of(&agent);
    let browser = owner(&installation).await;
    let seen = walk(&browser, &path).await;
    for page in ["prompt", "week", "archive", "waiting", "1", "2/shred"] {
        assert!(
            seen.contains(&format!("{path}/{page}")),
            "{page} of {seen:?}"
        );
    }
    assert!(
        seen.iter().any(|page| page.contains("/session/")),
        "{seen:?}"
    );
    for page in ["", "/prompt", "/week", "/1"] {
        let shown = browser.get(&format!("{path}{page}")).await;
        assert!(shown.text.contains(CANARY), "{page}");
    }
}

#[tokio::test]
async fn spec_6_6_what_the_agent_sees_is_shown_within_a_bound() {
    let installation = Installation::open().await;
    let texts: Vec<String> = (0..20)
        .map(|at| format!("Letter {at} {}", "word ".repeat(30)))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let agent = installation.wren(&texts).await;
    let path = format!("{}/prompt", path_of(&agent));
    let browser = owner(&installation).await;
    let whole = browser.get(&path).await;
    let context = agent.context(None).await.unwrap();
    let first = context.text.expose().lines().next().unwrap();
    whole.text.tells(first);
    whole.text.omits("Left out</h2>");
    whole
        .text
        .tells("The last context had no bound of the whole");
    let bound = browser.get(&format!("{path}?max=400")).await;
    let left_out = agent.context(Some(400)).await.unwrap().left_out;
    assert!(!left_out.is_empty());
    let document = bound.document();
    document.check(&path);
    let articles = document.all("article").count();
    assert_eq!(articles, left_out.len(), "each with its text");
    assert!(bound.text.contains("Left out</h2>"));
    assert_eq!(browser.get(&format!("{path}?max=x")).await.status, 400);
    // By itself it has the bound of the last context, which the page did not change.
    let by_itself = browser.get(&path).await;
    by_itself
        .text
        .tells("This is the bound of the last context");
    by_itself.document().check(&path);
    let articles = by_itself.document().all("article").count();
    assert_eq!(articles, left_out.len());
    let hook = ContextRequest {
        max_tokens: Some(300),
        is_hard: true,
        ..ContextRequest::default()
    };
    agent.requested_context(&hook).await.unwrap();
    let by_itself = browser.get(&path).await;
    by_itself.text.tells("Within 300 tokens");
    assert_eq!(
        browser.get(&format!("{path}?max=99999999")).await.status,
        200
    );
}

#[tokio::test]
async fn spec_6_6_this_week_shows_the_words_and_one_step_back_for_each() {
    let installation = Installation::open().await;
    let agent = busy_agent(&installation).await;
    let path = path_of(&agent);
    let week = format!("{path}/week");
    let browser = owner(&installation).await;
    let page = browser.get(&week).await;
    page.text.tells("Ivo taught me how to read the tide tables");
    page.text.tells(&format!("Done, {CANARY}."));
    let done = browser
        .press(&week, &format!("{path}/5/discard"), &[("back", "week")])
        .await;
    assert_eq!(done.leads_to(), format!("{week}?done=discard"));
    let done = browser
        .press(&week, &format!("{path}/5/restore"), &[("back", "week")])
        .await;
    assert_eq!(done.leads_to(), format!("{week}?done=restore"));
    assert_eq!(newest(&agent).await, own("memory_restored"));
    // An edit, and its undo.
    let (five, edit) = (format!("{path}/5"), format!("{path}/5/edit"));
    let edited = browser
        .fill_in(&five, &edit, &[("content", "Ivo taught me nothing")])
        .await;
    let new = edited.leads_to().rsplit('/').next().unwrap();
    let new: u64 = new.split('?').next().unwrap().parse().unwrap();
    let undo = format!("{path}/{new}/unedit");
    let undone = browser.fill_in(&week, &undo, &[]).await;
    assert_eq!(undone.leads_to(), format!("{week}?done=unedited"));
    assert_eq!(memory(&agent, 5).await.kind, Kind::Core);
    assert!(memory(&agent, new).await.discarded_at.is_some());
    let again = [("edited", "5"), ("back", "week")];
    let token = browser.form_token(&week).await;
    let again = [again.as_slice(), &[("form_token", token.as_str())]].concat();
    assert_eq!(browser.post(&undo, &again).await.status, 409);
    // The session as a whole.
    let sessions = agent.lens().session_page(None, 1).await.unwrap();
    let session = format!("{path}/session/{}", sessions[0].id);
    let rolled_back = browser
        .fill_in(&session, &format!("{session}/roll-back"), &[])
        .await;
    assert_eq!(
        rolled_back.leads_to(),
        format!("{session}?done=rolled-back")
    );
    let after = agent.lens().session(sessions[0].id).await.unwrap();
    assert!(after.undone_at.is_some());
    browser.page(&session).await.check(&session);
    assert_eq!(
        browser.get(&format!("{path}/session/nothing")).await.status,
        404
    );
}

#[tokio::test]
async fn spec_6_6_the_archive_folds_sources_under_what_took_their_place() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    save(&agent, &[replacing("Two", &[1])]).await;
    let archive = format!("{}/archive", path_of(&agent));
    let browser = owner(&installation).await;
    let page = browser.get(&archive).await;
    let document = page.document();
    document.check(&archive);
    let details = document.all("details").next().unwrap();
    assert!(details.text.contains("1 memory under it") && details.text.contains("One, says"));
    page.text.tells("1 archival memory");
}

#[tokio::test]
async fn spec_5_2_the_owner_answers_requests_in_the_agents_name_and_applies_rehearsals() {
    let installation = Installation::open().await;
    let agent = busy_agent(&installation).await;
    let waiting = format!("{}/waiting", path_of(&agent));
    let browser = owner(&installation).await;
    let asked = agent.lens().access_requests(None, 50).await.unwrap();
    let asked = asked
        .iter()
        .find(|request| request.state == AccessState::Asked)
        .unwrap()
        .id;
    let action = format!("{waiting}/access/{asked}");
    let reason = format!("reason-{asked}");
    let answer = [("answer", "yes"), (reason.as_str(), "go ahead")];
    let answered = browser.fill_in(&waiting, &action, &answer).await;
    assert_eq!(answered.leads_to(), format!("{waiting}?done=granted"));
    let request = agent.lens().access_request(asked).await.unwrap();
    assert_eq!(request.state, AccessState::Granted);
    let revoked = browser
        .fill_in(&waiting, &action, &[("answer", "revoke")])
        .await;
    assert_eq!(revoked.leads_to(), format!("{waiting}?done=taken-back"));
    assert_eq!(newest(&agent).await, own("access_revoked"));
    let draft = AccessDraft {
        kind: AccessKind::Read {
            scope: AccessScope::Core,
            minutes: 5,
        },
        purpose: "once more".into(),
    };
    let asked = agent
        .grants()
        .request_access(&draft, &administrator())
        .await
        .unwrap()
        .id;
    let action = format!("{waiting}/access/{asked}");
    // A reason that is not accepted stays in the form.
    let (reason, long) = (format!("reason-{asked}"), "x".repeat(301));
    let fields = [("answer", "no"), (reason.as_str(), long.as_str())];
    let again = browser.fill_in(&waiting, &action, &fields).await;
    assert_eq!(again.status, 400, "{}", again.text);
    let document = again.document();
    document.check("a reason that is too long");
    let field = document.by_id(&reason);
    // Of several lines: in a single one, Enter would press the first button and consent.
    let kept = (field.name.as_str(), field.text.as_str());
    assert_eq!(kept, ("textarea", long.as_str()));
    assert_eq!(field.attribute("aria-invalid"), Some("true"));
    let request = agent.lens().access_request(asked).await.unwrap();
    assert_eq!(request.state, AccessState::Asked);
    let refused = browser
        .fill_in(&waiting, &action, &[("answer", "no")])
        .await;
    assert_eq!(refused.leads_to(), format!("{waiting}?done=refused"));

    let rehearsal = rehearse(&agent).await;
    let page = browser.get(&waiting).await;
    page.text.tells("Two and three, says the");
    let apply = format!("{waiting}/rehearsals/{rehearsal}");
    let applied = browser.fill_in(&waiting, &apply, &[]).await;
    assert!(
        applied.leads_to().ends_with("?done=applied"),
        "{}",
        applied.text
    );
    assert_eq!(memory(&agent, 3).await.kind, Kind::Archival);
    let page = browser.get(&waiting).await;
    page.text.tells("No rehearsal waits");
}
