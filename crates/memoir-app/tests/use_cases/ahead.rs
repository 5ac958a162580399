//! Times noted by a clock that was far ahead and has been set back since have no effect.

use std::time::Duration;

use memoir_app::MemoryInput;
use memoir_domain::{
    Timestamp,
    agent::Field,
    memory::Kind,
    session::{Mode, State},
};

use memoir_testkit::Turn;

use crate::installation::{TestAgent, complete, person, sweep};

const DAY: Duration = Duration::from_secs(86_400);
const MEMORIES: [&str; 6] = [
    "The heron came at dawn.",
    "The kettle is blue.",
    "Ann sings on Sundays.",
    "Ben plays the fiddle.",
    "The bridge is closed.",
    "Tea is kept in the tin.",
];

fn years(count: u32) -> Duration {
    DAY * 365 * count
}

fn journal(content: &str, created_at: Option<Timestamp>) -> MemoryInput {
    MemoryInput {
        content: content.into(),
        kind: Some(Kind::Journal),
        created_at,
        ..MemoryInput::default()
    }
}

#[tokio::test]
async fn spec_3_1_a_session_of_a_clock_far_ahead_silences_no_schedule() {
    let wren = TestAgent::new(&MEMORIES).await;
    let account = wren.memoir.account("default").await.unwrap();
    for own_slot in [None, Some("Thu 03:30")] {
        let schedule = [(Field::RefinementSchedule, own_slot)];
        wren.configure(&schedule).await;
        wren.clock.put_forward(years(70));
        let (driven, _) = wren.refine([complete()]).await;
        assert_eq!(driven.state, State::Completed);
        wren.clock.put_back(years(70));
        wren.clock.advance(7 * DAY);
        wren.script([Turn::text("YES"), complete()]);
        assert_eq!(sweep(&account).await, 1, "{own_slot:?}");
        assert_eq!(sweep(&account).await, 0, "{own_slot:?}");
        wren.clock.advance(7 * DAY);
        wren.script([Turn::text("YES"), complete()]);
        assert_eq!(sweep(&account).await, 1, "{own_slot:?}");
    }
    wren.check().await;
}

#[tokio::test]
async fn spec_3_2_a_session_of_a_clock_far_ahead_is_closed_half_an_hour_later() {
    let wren = TestAgent::new(&MEMORIES).await;
    wren.clock.put_forward(years(70));
    let (opened, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    wren.clock.put_back(years(70));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 0);
    wren.clock.advance(Duration::from_secs(31 * 60));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 1);
    let closed = wren.agent.views().session(opened.id).await.unwrap();
    assert_eq!(closed.end_reason, Some("idle"));
}

#[tokio::test]
async fn spec_2_5_a_reflection_of_a_clock_far_ahead_keeps_none_back() {
    let wren = TestAgent::new(&MEMORIES).await;
    wren.clock.put_forward(years(70));
    let entry = journal("The market was closed.", None);
    wren.save(&[entry]).await;
    wren.clock.put_back(years(70));
    let entry = journal("The market is open.", None);
    wren.save(&[entry]).await;
    wren.clock.advance(DAY);
    let account = wren.memoir.account("default").await.unwrap();
    assert_eq!(account.due_jobs().await.unwrap().len(), 1);
    // A memory dated in the future is in no context, where it would never expire.
    let context = wren.agent.context(None).await.unwrap();
    let text = context.text.expose();
    assert!(
        text.contains("is open") && !text.contains("was closed"),
        "{text}"
    );
}

#[tokio::test]
async fn spec_2_1_a_journal_entry_dated_ahead_is_refused_at_every_door() {
    let wren = TestAgent::new(&MEMORIES).await;
    let now = wren.memoir.now();
    for (ahead, is_taken) in [(1, true), (2, false)] {
        let entry = journal("Tomorrow the heron comes.", Some(now.plus_days(ahead)));
        let saved = wren.agent.memories().save(&[entry], &person()).await;
        assert_eq!(saved.is_ok(), is_taken, "{ahead}");
        if let Err(error) = saved {
            let told = error.to_string();
            assert_eq!(error.code(), "invalid_argument");
            assert!(told.contains("more than a day ahead"), "{told}");
            assert!(told.contains(&now.plus_days(ahead).to_string()), "{told}");
        }
        let line = format!(
            r#"{{"content": "x", "kind": "journal", "created_at": "{}"}}"#,
            now.plus_days(ahead)
        );
        let read = memoir_app::import::read(line.as_bytes(), None, now);
        assert_eq!(read.bad.is_empty(), is_taken, "{ahead}");
    }
    // Permanent memories may be about any day.
    let plan = MemoryInput {
        kind: Some(Kind::Core),
        ..journal("In 2040 Ann retires.", Some(now.plus_days(5_000)))
    };
    wren.save(&[plan]).await;
}

#[tokio::test]
async fn spec_4_1_times_ahead_are_set_right_on_the_record() {
    let wren = TestAgent::new(&MEMORIES).await;
    let account = wren.memoir.account("default").await.unwrap();
    assert_eq!(account.correct_times(&person()).await.unwrap(), 0);
    wren.clock.put_forward(years(70));
    let entry = journal("The market was closed.", None);
    wren.save(&[entry]).await;
    wren.refine([complete()]).await;
    wren.clock.put_back(years(70));
    let problem = async || {
        let found = wren.memoir.examine(&account).await.unwrap();
        let clock = found.iter().find(|found| found.area == "clock").unwrap();
        clock.severity == memoir_app::Severity::Problem
    };
    assert!(problem().await);
    assert_eq!(account.correct_times(&person()).await.unwrap(), 1);
    assert!(!problem().await);
    assert_eq!(account.correct_times(&person()).await.unwrap(), 0);
    assert_eq!(wren.actions().await.last().unwrap(), "times_corrected");
    let now = wren.memoir.now();
    let shown = wren.agent.views().show().await.unwrap();
    assert_eq!(shown.last_refinement_at, Some(now));
    assert_eq!(sweep(&account).await, 0);
    let context = wren.agent.context(None).await.unwrap();
    assert!(context.text.expose().contains("was closed"));
    wren.check().await;
}
