//! What the pages say of how agents and sessions stand: nothing false, and nothing silent.

use std::{collections::BTreeMap, time::Duration};

use jiff::tz::TimeZone;
use memoir_app::{InstallationSettings, OwnAgent, Viewer};
use memoir_domain::{
    agent::Field,
    schedule::WeeklySlot,
    session::{Health, Mode},
};
use memoir_model::ProviderSettings;
use memoir_service::ServiceOptions;
use memoir_testkit::{ScriptedServer, ServerStep, TestedText, settings};
use serde_json::json;

use crate::{
    document::ReadDocument,
    installation::{Browser, Installation, owner},
    pages::{busy_agent, walk_but},
};

/// Of which two are the same.
const MEMORIES: [&str; 3] = [
    "The harbour lies to the west of the old town",
    "the harbour lies to the west of the old town",
    "We promised each other to come back in spring",
];

fn page_of(agent: &OwnAgent) -> String {
    format!("/agents/{}", agent.scope().agent)
}

async fn set(agent: &OwnAgent, field: Field, value: Option<&str>) {
    let assignment = [(field, value)];
    let set = agent.settings().configure(&assignment, &owner()).await;
    set.unwrap();
}

/// A provider whose key that server refuses, named `refusing`, and settings that do not wait between two calls.
fn refusing(server: &ScriptedServer) -> (InstallationSettings, BTreeMap<String, ProviderSettings>) {
    let refusing = ProviderSettings {
        base_url: Some(server.base_url()),
        ..ProviderSettings::default()
    };
    let providers = BTreeMap::from([("refusing".to_owned(), refusing)]);
    (settings(), providers)
}

/// The text of a page that is well-formed.
async fn read(browser: &Browser, path: &str) -> String {
    let answer = browser.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.document().check(path);
    answer.text
}

#[tokio::test]
async fn spec_3_1_a_schedule_that_is_off_is_stated_on_the_fleet_and_on_the_agents_page() {
    let off = InstallationSettings {
        schedule: false,
        ..InstallationSettings::default()
    };
    let options = ServiceOptions::default();
    let installation = Installation::with_settings(options, off, BTreeMap::new()).await;
    let agent = installation.wren(&MEMORIES).await;
    // Due by its slot, which the clock has passed.
    installation.clock.advance(Duration::from_secs(8 * 86_400));
    let browser = installation.ada().await;
    for path in ["/".to_owned(), page_of(&agent)] {
        let text = read(&browser, &path).await;
        text.tells("The schedule is off in this installation");
        text.tells("never, since the schedule is off");
        text.omits("due (");
    }
    let text = read(&browser, &page_of(&agent)).await;
    text.omits("asks it when it is due");
}

#[tokio::test]
async fn spec_3_1_times_are_in_the_zone_of_the_schedule_and_every_page_names_it() {
    let settings = InstallationSettings {
        weekly_slot: WeeklySlot {
            time_zone: TimeZone::get("Europe/Berlin").unwrap(),
            ..WeeklySlot::default()
        },
        ..InstallationSettings::default()
    };
    let options = ServiceOptions::default();
    let installation = Installation::with_settings(options, settings, BTreeMap::new()).await;
    let agent = installation.wren(&MEMORIES).await;
    let browser = installation.ada().await;
    let (page, id) = (page_of(&agent), agent.scope().agent);
    for path in ["/", &page, "/activity", &format!("/audit?agent={id}")] {
        let text = read(&browser, path).await;
        text.tells("Times are in Europe/Berlin.");
        text.omits("UTC.");
    }
    let head = [("accept", "text/html")];
    let unknown = browser.request(reqwest::Method::GET, "/unknown", &head);
    unknown.await.text.tells("Times are in Europe/Berlin.");
    // The clock begins at noon in UTC.
    let text = read(&browser, &page).await;
    text.tells(">2026-03-04 13:00</time>");
    text.tells("title=\"2026-03-09 04:00 Europe/Berlin\"");
    // Fields hold, and are read in, the same zone.
    for (since, is_found) in [("2026-03-04T13:00", true), ("2026-03-04T13:01", false)] {
        let path = format!("/audit?agent={id}&since={since}");
        let document = browser.page(&path).await;
        let field = document.by_id("since");
        assert_eq!(field.attribute("value"), Some(since));
        assert_eq!(document.all("tbody").count() > 0, is_found, "{since}");
    }
}

#[tokio::test]
async fn an_agent_that_is_never_asked_shows_why() {
    let installation = Installation::open().await;
    let agent = installation.wren(&MEMORIES).await;
    set(&agent, Field::Model, None).await;
    // From here on it is due by its slot.
    installation.clock.advance(Duration::from_secs(8 * 86_400));
    let browser = installation.ada().await;
    let steps = [
        (Field::RefinementMode, Some("full"), "it has no model"),
        (
            Field::RefinementSchedule,
            Some("off"),
            "the schedule is off",
        ),
        (Field::Paused, Some("true"), "it is paused"),
        (Field::Active, Some("false"), "it is not active"),
    ];
    for (field, value, why) in steps {
        set(&agent, field, value).await;
        for path in ["/".to_owned(), page_of(&agent)] {
            let text = read(&browser, &path).await;
            text.tells(&format!("never, since {why}"));
            text.omits("due (");
            text.omits("is off in this installation");
        }
    }
}

#[tokio::test]
async fn spec_3_16_a_refused_key_is_named_and_the_session_can_be_tried_again() {
    let server = ScriptedServer::always(ServerStep::status(401));
    let (settings, providers) = refusing(&server);
    let options = ServiceOptions::default();
    let installation = Installation::with_settings(options, settings, providers).await;
    let agent = installation.wren(&MEMORIES).await;
    set(&agent, Field::Model, Some("refusing:small")).await;
    let browser = installation.ada().await;
    let (page, refine) = (page_of(&agent), format!("{}/refine", page_of(&agent)));
    let mode = [("mode", "dedup_only"), ("rehearsal", "yes")];
    let begun = browser.press(&page, &refine, &mode).await;
    let session = begun.leads_to().to_owned();
    let text = ended(&browser, &session).await;
    let why = "The session failed, since the key for its model is missing or refused";
    text.tells(why);
    text.tells("Try again");
    for path in ["/", "/?health=failed"] {
        let fleet = read(&browser, path).await;
        let why = "The key for its model is missing or refused";
        fleet.tells(why);
        fleet.tells("1 whose last session failed");
    }

    // Lists and the agent itself are of the same health.
    let listed = installation.account.agents().await.unwrap();
    let shown = agent.views().seen_by(Viewer::Agent).show().await.unwrap();
    assert_eq!(
        (listed[0].health, shown.health),
        (Health::Failed, Health::Failed)
    );

    // Once that is corrected, the same is begun again.
    set(&agent, Field::Model, Some("builtin:careful")).await;
    let again = browser.fill_in(&session, &refine, &[]).await;
    let text = ended(&browser, again.leads_to()).await;
    text.tells("rehearsal");
    text.tells("duplicates only");
    text.omits("Try again");
}

#[tokio::test]
async fn spec_5_1_every_page_is_whole_without_a_schedule_a_key_and_an_erased_agent() {
    let server = ScriptedServer::always(ServerStep::status(401));
    let (mut settings, providers) = refusing(&server);
    settings.schedule = false;
    let options = ServiceOptions::default();
    let installation = Installation::with_settings(options, settings, providers).await;
    let agent = busy_agent(&installation).await;
    set(&agent, Field::Model, Some("refusing:small")).await;
    let account = &installation.account;
    let erased = installation.agent(account, "Lark", &["One"]).await;
    let browser = installation.ada().await;
    // By its first administrator.
    assert!(installation.memoir.is_closed().await.unwrap());
    let (page, refine) = (page_of(&agent), format!("{}/refine", page_of(&agent)));
    let mode = [("mode", "full"), ("rehearsal", "yes")];
    let begun = browser.press(&page, &refine, &mode).await;
    let session = begun.leads_to().to_owned();
    ended(&browser, &session).await.tells("Try again");
    let erase = format!("{}/erase", page_of(&erased));
    let done = browser.fill_in(&erase, &erase, &[("name", "Lark")]).await;
    assert_eq!(done.leads_to(), "/?done=erased");
    let id = erased.scope().agent.to_string();
    let seen = walk_but(&browser, |link| link.contains(&id)).await;
    assert!(seen.contains(&page) && seen.contains(&session), "{seen:?}");
    // The log stays, without its key.
    for path in [page_of(&erased), format!("/audit?agent={id}")] {
        let answer = browser.get(&path).await;
        assert!([200, 410].contains(&answer.status), "{path}");
        answer.document().check(&path);
    }
}

#[tokio::test]
async fn spec_3_16_usage_counts_while_the_session_runs() {
    let slow = ServerStep::text("Nothing to do.").after(Duration::from_secs(20));
    let server = ScriptedServer::start([ServerStep::text("YES"), slow]);
    let settings = ProviderSettings {
        base_url: Some(server.base_url()),
        ..ProviderSettings::default()
    };
    let providers = BTreeMap::from([("slow".to_owned(), settings)]);
    let (options, settings) = (ServiceOptions::default(), InstallationSettings::default());
    let installation = Installation::with_settings(options, settings, providers).await;
    let agent = installation.wren(&MEMORIES).await;
    set(&agent, Field::Model, Some("slow:small")).await;
    let browser = installation.ada().await;
    let activity = read(&browser, "/activity").await;
    activity.tells("No model was called");
    let (page, refine) = (page_of(&agent), format!("{}/refine", page_of(&agent)));
    let begun = browser.press(&page, &refine, &[("mode", "full")]).await;
    let session = begun.leads_to();
    let mut text = String::new();
    for _ in 0..3_000 {
        text = read(&browser, session).await;
        if text.contains("1 call, 100 tokens in, 10 out") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    text.tells("1 call, 100 tokens in, 10 out");
    text.tells("badge running");
    // The last response of its provider, and how fast it came.
    let activity = read(&browser, "/activity").await;
    let provider = "slow</th><td role=\"cell\" data-label=\"Model\"><code>small</code></td>";
    activity.tells(provider);
    assert!(activity.contains("answered") && activity.contains(" s</td>"));
}

#[tokio::test]
async fn spec_4_3_a_rollback_does_not_count_the_journal_entry_about_it() {
    let installation = Installation::open().await;
    // So many that a session may remove one.
    let more = [
        "The bread is baked on Tuesdays and on Fridays",
        "The stairs creak only on the way down",
        "Letters go out with the boat at noon",
    ];
    let memories = [&MEMORIES[..], &more].concat();
    let agent = installation.wren(&memories).await;
    let (session, _) = agent.open_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 2})),
        ("complete_refinement", json!({"summary": "Done."})),
    ] {
        let called = agent.call_tool(session.id, tool, Some(&arguments)).await;
        called.unwrap();
    }
    let browser = installation.ada().await;
    let text = read(&browser, &format!("/sessions/{}/roll-back", session.id)).await;
    for (name, count) in [
        ("Active again", "0 memories"),
        ("Discarded", "0 memories"),
        ("Another text", "0 memories"),
        ("Back in the prompt", "1 memory"),
    ] {
        let pair = format!("<dt>{name}</dt><dd>{count}</dd>");
        assert!(text.contains(&pair), "{name}: {text}");
    }
    text.omits("Changed otherwise");
}

/// The page of a session once it has ended.
async fn ended(browser: &Browser, path: &str) -> String {
    for _ in 0..3_000 {
        let text = read(browser, path).await;
        if !text.contains("badge running") {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{path} does not end");
}
