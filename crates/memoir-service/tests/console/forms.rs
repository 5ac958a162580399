//! Every form: what it does, and that no other site fills it in.

use std::time::Duration;

use memoir_app::{Handling, MemoryPage};
use memoir_domain::{agent::Field, audit::Actor, memory::Number};
use memoir_testkit::TestedText;

use crate::{
    document::ReadDocument,
    installation::{Browser, Installation, handle, newest_records, owner, remember},
};

/// Texts of which two are duplicates up to case.
const DUPLICATES: [&str; 6] = [
    "The lighthouse keeper is Mara",
    "the lighthouse keeper is Mara",
    "It rained on the second of May",
    "The harbour lies to the west of the old town",
    "Ivo taught me how to read the tide tables",
    "We promised each other to come back in spring",
];

/// Waits until the session's page shows its end.
async fn ended(browser: &Browser, path: &str) -> String {
    for _ in 0..3_000 {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, 200);
        if !answer.text.contains("badge running") {
            return answer.text;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path} does not end");
}

#[tokio::test]
async fn a_form_is_taken_from_a_page_of_this_browser_only() {
    let installation = Installation::open().await;
    let agent = installation.wren(&DUPLICATES).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}", agent.scope().agent);
    let path = format!("{page}/pause");
    let token = browser.form_token(&page).await;
    let other = installation.ada().await.form_token(&page).await;
    assert_ne!(token, other);
    let right = [("form_token", token.as_str())];
    let own = [("sec-fetch-site", "same-origin")];
    let of_site = |site| {
        [
            ("origin", installation.address.as_str()),
            ("sec-fetch-site", site),
        ]
    };
    let others = ["same-site", "cross-site", "none"].map(of_site);
    let port = other_port(&installation);
    for (fields, headers) in [
        (&right[..], &[][..]),
        (&right, &[("sec-fetch-site", "cross-site")]),
        (&right, &others[0]),
        (&right, &others[1]),
        (&right, &others[2]),
        (&right, &[("sec-fetch-site", "none")]),
        (&right, &[("origin", "http://evil.example")]),
        (&right, &[("origin", port.as_str())]),
        (&right, &[("origin", "null")]),
        (&[], &own),
        (&[("form_token", other.as_str())], &own),
        (&[("form_token", "")], &own),
    ] {
        let answer = browser.send(&path, fields, headers).await;
        assert_eq!(answer.status, 403, "{fields:?} {headers:?}");
        answer.document().check(&path);
    }
    let stranger = installation.browser().send(&path, &right, &own).await;
    // A form that comes too late is lost, and the page to sign in says so.
    let sign_in = stranger.leads_to();
    assert_eq!(sign_in, "/sign-in?done=start-over");
    let told = installation.browser().get(sign_in).await;
    told.text.tells("Nothing was done");
    let is_paused = async || {
        let view = agent.views().show().await.unwrap();
        view.settings.expose()["paused"] == true
    };
    assert!(!is_paused().await);
    assert_eq!(browser.send(&path, &right, &own).await.status, 303);
    assert!(is_paused().await);
    // A browser that sends no more than the origin.
    let origin = [("origin", installation.address.as_str())];
    let resume = format!("{page}/resume");
    let answer = browser.send(&resume, &right, &origin).await;
    assert_eq!(answer.leads_to(), format!("{page}?done=resumed"));
    assert!(!is_paused().await);
}

#[tokio::test]
async fn a_sign_in_is_taken_from_a_page_of_this_host_only() {
    let installation = Installation::open().await;
    installation.administrator("Ada").await;
    let fields = [("name", "Ada"), ("password", crate::installation::PASSWORD)];
    let port = other_port(&installation);
    for foreign in [("sec-fetch-site", "cross-site"), ("origin", port.as_str())] {
        let stranger = installation.browser();
        let answer = stranger.send("/sign-in", &fields, &[foreign]).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (403, ""));
    }
}

/// Another program of the same machine.
fn other_port(installation: &Installation) -> String {
    let (host, _) = installation.address.rsplit_once(':').unwrap();
    format!("{host}:1")
}

#[tokio::test]
async fn memories_are_protected_discarded_and_given_back() {
    let installation = Installation::open().await;
    let agent = installation.wren(&DUPLICATES).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}/memories", agent.scope().agent);
    let look = async |number: u64| {
        let memory = agent.views().memory(Number(number)).await.unwrap();
        (memory.constitutional, memory.discarded_at.is_some())
    };
    let act = async |on: &str, act: &str, fields: &[(&str, &str)]| {
        let path = format!("{page}/{act}");
        browser.pressed(on, &path, fields).await
    };
    let kept = [("list", "?kind=core")];
    let done = act(&page, "1/protect", &kept).await;
    assert_eq!(done, format!("{page}?kind=core&done=protect#memory-1"));
    assert_eq!(look(1).await, (true, false));
    // One that no session can delete is not offered to be discarded.
    let forms = browser.page(&page).await.forms();
    assert!(!forms.contains(&format!("{page}/1/discard")));
    act(&page, "1/unprotect", &[]).await;
    assert_eq!(look(1).await, (false, false));
    act(&page, "2/discard", &[]).await;
    assert_eq!(look(2).await, (false, true));
    assert!(!browser.get(&page).await.text.contains("memory-2"));
    // Where its row disappears, the page opens at the one in its place.
    let discard = format!("{page}/6/discard");
    let answer = browser.fill_in(&page, &discard, &[]).await;
    assert_eq!(answer.leads_to(), format!("{page}?done=discard#memory-7"));
    let all = format!("{page}?discarded=yes");
    act(&all, "2/restore", &[("list", "?discarded=yes")]).await;
    assert_eq!(look(2).await, (false, false));
    let record = newest_records(&agent, 1).await;
    assert_eq!(record[0].actor, Actor::administrator("user Ada"));
    // A refused act is reported.
    let token = browser.form_token(&page).await;
    for (path, status) in [("99/protect", 404), ("x/protect", 404), ("3/burn", 400)] {
        let fields = [("form_token", token.as_str())];
        let answer = browser.post(&format!("{page}/{path}"), &fields).await;
        assert_eq!(answer.status, status, "{path}");
        answer.document().check(path);
    }
    let unknown = browser.get(&format!("{page}/x/shred")).await;
    assert_eq!(unknown.status, 404);
    unknown.document().check("x/shred");
}

#[tokio::test]
async fn a_session_is_asked_for_watched_and_rolled_back_past_what_stands_in_the_way() {
    let installation = Installation::open().await;
    let agent = installation.wren(&DUPLICATES).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}", agent.scope().agent);
    let (refine, fields) = (format!("{page}/refine"), [("mode", "full")]);
    // The page itself says how it stands, and no notice outlasts that.
    let session = browser.pressed(&page, &refine, &fields).await;
    let text = ended(&browser, &session).await;
    text.omits("queued");
    text.tells("completed");
    text.tells("session completed");
    text.tells("1 of 10");

    let undo = format!("{session}/roll-back");
    let preview = browser.get(&undo).await.text;
    preview.tells("No later change conflicts with it");
    // The memory that it archived, and no journal entry about the session or its undoing.
    for (name, count) in [
        ("Back in the prompt", "1 memory"),
        ("Active again", "0 memories"),
        ("Discarded", "0 memories"),
    ] {
        let told = format!("<dt>{name}</dt><dd>{count}</dd>");
        preview.tells(&told);
    }
    preview.omits("Changed otherwise");
    // What it archived is discarded since.
    let all = MemoryPage {
        limit: 9,
        with_discarded: true,
        ..MemoryPage::default()
    };
    let rows = agent.views().memory_page(&all).await.unwrap();
    let gone = rows.iter().find(|row| row.archived_at.is_some()).unwrap();
    handle(&agent, gone.number, Handling::Discard).await;
    let preview = browser.get(&undo).await;
    assert_eq!(preview.status, 200, "{}", preview.text);
    let told = "1 later change of the same memories conflicts with it";
    preview.text.tells(told);
    preview.document().check(&undo);
    let in_the_way = browser.press(&undo, &undo, &[]).await;
    assert_eq!(in_the_way.status, 409);
    in_the_way.document().check(&undo);
    // What is undone with it is what was shown, and no more.
    let cascade = ("cascade", "yes");
    let newest = preview.document().hidden("newest").unwrap().to_owned();
    handle(&agent, gone.number, Handling::Restore).await;
    for (fields, status) in [
        (vec![cascade], 400),
        (vec![cascade, ("newest", newest.as_str())], 409),
    ] {
        assert_eq!(browser.press(&undo, &undo, &fields).await.status, status);
    }
    let anew = browser.page(&undo).await;
    let newest = anew.hidden("newest").unwrap();
    let fields = [cascade, ("newest", newest)];
    let done = browser.pressed(&undo, &undo, &fields).await;
    assert_eq!(done, format!("{session}?done=rolled-back"));
    let text = browser.get(&session).await.text;
    text.tells("undone");
    text.omits("Roll back…");
    // What was undone is undone once.
    assert_eq!(browser.get(&undo).await.status, 409);
}

#[tokio::test]
async fn a_rehearsal_is_applied_and_a_running_session_cancelled() {
    let installation = Installation::open().await;
    let agent = installation.wren(&DUPLICATES).await;
    let browser = installation.ada().await;
    let page = format!("/agents/{}", agent.scope().agent);
    let refine = format!("{page}/refine");
    let fields = [("mode", "dedup_only"), ("rehearsal", "yes")];
    let rehearsal = browser.pressed(&page, &refine, &fields).await;
    let text = ended(&browser, &rehearsal).await;
    text.tells("rehearsal");
    text.tells("duplicates only");
    let before = agent.views().show().await.unwrap().counts.core_count;
    let shown = browser.page(&rehearsal).await;
    let newest = [("newest", shown.hidden("newest").unwrap())];
    let apply = format!("{rehearsal}/apply");
    let applied = browser.pressed(&rehearsal, &apply, &newest).await;
    assert!(applied.ends_with("?done=applied"), "{applied}");
    assert_eq!(browser.get(&applied).await.status, 200);
    let after = agent.views().show().await.unwrap().counts.core_count;
    assert_eq!(after, before - 1);

    let (own, _) = agent.open_own(Default::default()).await.unwrap();
    let path = format!("/sessions/{}", own.id);
    // A second one is refused while it runs.
    let token = browser.form_token(&page).await;
    let fields = [("form_token", token.as_str()), ("mode", "full")];
    assert_eq!(browser.post(&refine, &fields).await.status, 409);
    browser.pressed(&path, &format!("{path}/cancel"), &[]).await;
    assert!(browser.get(&path).await.text.contains("it was cancelled"));
    let other = browser.press(&page, &refine, &[("mode", "other")]).await;
    other.expect(400);
}

#[tokio::test]
async fn an_act_on_selected_memories_is_done_for_each_that_permits_it() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One", "Two", "Three"]).await;
    handle(&agent, Number(2), Handling::Protect).await;
    let browser = installation.ada().await;
    let memories = format!("/agents/{}/memories", agent.scope().agent);
    let page = format!("{memories}?kind=core");
    browser.page(&page).await.check(&page);
    let list = [("list", "?kind=core"), ("act", "discard")];
    let none = browser.press(&page, &memories, &list).await;
    assert_eq!(none.leads_to(), format!("{page}&done=none-selected"));
    let fields = [&list[..], &[("memory", "2"), ("memory", "3")]].concat();
    let done = browser.press(&page, &memories, &fields).await;
    assert_eq!(done.leads_to(), format!("{page}&done=selected#memory-2"));
    for (number, is_discarded) in [(1, false), (2, false), (3, true)] {
        let memory = agent.views().memory(Number(number)).await.unwrap();
        assert_eq!(memory.discarded_at.is_some(), is_discarded, "{number}");
    }
    let unknown = [("act", "shred"), ("memory", "1")];
    assert_eq!(browser.press(&page, &memories, &unknown).await.status, 400);
}

#[tokio::test]
async fn spec_5_5_no_administrator_is_offered_to_discard_a_report_to_the_agent() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let model = [(Field::Model, None::<&str>)];
    agent.settings().configure(&model, &owner()).await.unwrap();
    let browser = installation.ada().await;
    let page = format!("/agents/{}/memories", agent.scope().agent);
    let forms = browser.page(&page).await.forms();
    assert!(forms.contains(&format!("{page}/1/discard")));
    assert!(!forms.contains(&format!("{page}/2/discard")));
    // Nor is it an obstacle where it is selected.
    let fields = [
        ("list", "?kind=core"),
        ("act", "discard"),
        ("memory", "2"),
        ("memory", "1"),
    ];
    browser.pressed(&page, &page, &fields).await;
    for (number, is_discarded) in [(1, true), (2, false)] {
        let memory = agent.views().memory(Number(number)).await.unwrap();
        assert_eq!(memory.discarded_at.is_some(), is_discarded, "{number}");
    }
}

#[tokio::test]
async fn the_chain_is_verified_and_a_checkpoint_taken() {
    let installation = Installation::open().await;
    let agent = installation.wren(&DUPLICATES).await;
    let browser = installation.ada().await;
    let audit = format!("/audit?agent={}", agent.scope().agent);
    let verify = format!("/agents/{}/verify", agent.scope().agent);
    let verified = browser.press(&audit, &verify, &[]).await;
    assert_eq!(verified.status, 200);
    verified.text.tells("Everything matches: 7 records");
    let originals = "6 originals: 6 in the prompt, 0 in the archive, 0 lost.";
    verified.text.tells(originals);
    verified.document().check(&verify);
    let taken = browser.press("/audit", "/audit/checkpoint", &[]).await;
    assert_eq!(taken.status, 200);
    taken.document().check("/audit/checkpoint");
    let note = installation.memoir.checkpoint().await.unwrap();
    taken.text.tells(&note.public_key);
}

#[tokio::test]
async fn records_are_narrowed_by_every_field_of_the_filter() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    for _ in 0..60 {
        remember(&agent, "one more").await;
    }
    let browser = installation.ada().await;
    // The time of a place does not count in one agent's log.
    let before = format!("before=0.{}.", agent.scope().agent);
    for (rest, count) in [
        ("", 50),
        ("&before=12", 11),
        ("&action=agent_configured&actor=&session=&since=&until=", 1),
        ("&actor=administrator", 1),
        ("&actor=owner", 0),
        ("&since=2026-03-05", 0),
        ("&until=2026-03-03", 0),
        ("&until=2026-03-04&actor=agent&before=40", 38),
        ("&until=2026-03-04T12:00&since=2026-03-04T12:00", 50),
        ("&since=2026-03-04T12:01", 0),
        ("&name=WREN&before=12", 10),
        ("&name=test", 1),
        ("&name=%25", 0),
    ] {
        let rest = rest.replace("before=", &before);
        let document = browser.page(&format!("/audit?agent=wren{rest}")).await;
        let rows = document.all("tr").count().saturating_sub(1);
        assert_eq!(rows, count, "{rest}");
    }
    for wrong in [
        "action=x",
        "actor=x",
        "session=x",
        "since=x",
        "until=x",
        "since=2026-03-05&until=2026-03-04",
        "before=x",
    ] {
        let answer = browser.get(&format!("/audit?agent=wren&{wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn a_log_is_linked_by_any_name() {
    let installation = Installation::open().await;
    let account = &installation.account;
    installation.agent(account, "R&D #1 + co", &[]).await;
    let browser = installation.ada().await;
    let own = "/audit?agent=R%26D+%231+%2B+co";
    let document = browser.page(&format!("{own}&actor=agent")).await;
    document.check(own);
    let links = document.links();
    assert!(links.contains(&own.to_owned()), "{links:?}");
    browser.page(own).await.check(own);
}

#[tokio::test]
async fn a_filter_keeps_what_was_typed_and_tells_what_is_wrong_beside_it() {
    let installation = Installation::open().await;
    let agent = installation.wren(&["One"]).await;
    let browser = installation.ada().await;
    let path = format!(
        "/audit?agent={}&action=memory_saved&actor=agent&name=Wr%26n&session=%3Cb%3E&since=2026-03-04",
        agent.scope().agent
    );
    let answer = browser.get(&path).await;
    assert_eq!(answer.status, 400);
    let document = answer.document();
    document.check(&path);
    for (id, value) in [
        ("name", "Wr&n"),
        ("session", "<b>"),
        ("since", "2026-03-04T00:00"),
    ] {
        let field = document.by_id(id);
        assert_eq!(field.attribute("value"), Some(value), "{id}");
        let expected = (id == "session").then_some("true");
        assert_eq!(field.attribute("aria-invalid"), expected, "{id}");
    }
    let chosen: Vec<_> = document
        .all("option")
        .filter(|option| option.attribute("selected").is_some())
        .map(|option| option.attribute("value").unwrap())
        .collect();
    assert_eq!(chosen, ["memory_saved", "agent"]);
    let told = "It must be the identifier of a session.";
    assert_eq!(document.by_id("session-fault").text, told);
    // The log's end is shown without reading the rest.
    let newest = newest_records(&agent, 1).await;
    answer.text.tells(&newest[0].hash);
}
