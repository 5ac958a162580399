//! Decisions with a lost response of the store (SPEC 6.2).

use std::{sync::Arc, time::Duration};

use memoir_app::{Error, sessions::RefineOptions};
use memoir_domain::session::{Mode, State};
use memoir_store_sqlite::{
    CommitFault::{self, Busy, LostUnwritten, LostWritten},
    SqliteStore,
};
use memoir_testkit::{Turn, input};
use serde_json::json;

use crate::installation::{MEMORIES, TestAgent, call, complete, enqueue, person, settings};

async fn wren() -> (SqliteStore, TestAgent) {
    let store = SqliteStore::in_memory().unwrap();
    let wren = TestAgent::on(Arc::new(store.clone()), &MEMORIES, settings()).await;
    (store, wren)
}

async fn save(wren: &TestAgent) -> Result<(), Error> {
    wren.clock.advance(Duration::from_secs(1));
    let input = input("Lena brings the paper on Fridays.");
    wren.agent
        .memories()
        .save(&[input], &person())
        .await
        .map(drop)
}

#[tokio::test]
async fn spec_6_2_a_change_whose_answer_is_lost_is_written_once() {
    for lost in [
        vec![LostWritten],
        vec![LostUnwritten],
        vec![LostUnwritten, LostWritten],
        vec![LostWritten, LostUnwritten],
        vec![LostWritten; 4],
        // A second attempt that wrote nothing does not show whether the first one did.
        vec![Busy, LostWritten],
        vec![Busy, LostUnwritten, LostWritten],
    ] {
        let (store, wren) = wren().await;
        let before = wren.agent.log().verify().await.unwrap().records;
        store.disturb_commits(&lost);
        save(&wren).await.unwrap();
        let after = wren.agent.log().verify().await.unwrap();
        assert!(after.valid && after.records == before + 1, "{lost:?}");
        // The process's cache of the agent matches the written state.
        save(&wren).await.unwrap();
        let again = wren.agent.log().verify().await.unwrap();
        assert!(again.valid && again.records == before + 2, "{lost:?}");
    }
}

#[tokio::test]
async fn spec_6_2_an_answer_that_stays_lost_is_told_as_unknown() {
    // The first attempt may still be on its way where the second one finds the database locked.
    for lost in [vec![LostUnwritten; 5], vec![Busy, LostUnwritten]] {
        let (store, wren) = wren().await;
        store.disturb_commits(&lost);
        let error = save(&wren).await.unwrap_err();
        assert_eq!(error.code(), "outcome_unknown", "{lost:?}");
        save(&wren).await.unwrap();
    }
    let (store, wren) = wren().await;
    store.disturb_commits(&[CommitFault::Busy]);
    assert_eq!(save(&wren).await.unwrap_err().code(), "busy");
}

/// The lost attempts at one commit, the first one last. The attempt after them finds it written.
const LOST: [&[CommitFault]; 3] = [
    &[LostWritten],
    &[LostUnwritten, LostWritten],
    &[LostWritten, LostUnwritten],
];

#[tokio::test]
async fn spec_6_2_a_session_that_was_begun_or_acquired_with_a_lost_answer_is_driven() {
    for lost in LOST {
        let (store, wren) = wren().await;
        wren.script([Turn::text("YES"), complete()]);
        store.disturb_commits(lost);
        let id = enqueue(&wren.agent, &RefineOptions::default()).await.id;
        store.disturb_commits(lost);
        let acquired = wren.memoir.acquire(wren.agent.scope(), id).await.unwrap();
        let acquired = acquired.unwrap_or_else(|| panic!("it was not acquired: {lost:?}"));
        let driven = acquired.drive(&mut |_| {}).await.unwrap();
        assert_eq!(
            (driven.id, driven.state),
            (id, State::Completed),
            "{lost:?}: {:?}",
            driven.end_reason
        );
        assert!(wren.agent.log().verify().await.unwrap().valid);
    }
}

#[tokio::test]
async fn spec_6_2_a_rehearsal_with_lost_answers_makes_each_edit_once() {
    for lost in LOST {
        let (store, wren) = wren().await;
        store.disturb_commits(lost);
        let (session, _) = wren.agent.rehearse_own(Mode::Full).await.unwrap();
        store.disturb_commits(lost);
        let arguments = json!({"id": 6});
        let deleted = call(&wren.agent, session.id, "delete_memory", arguments).await;
        assert_eq!(deleted["type"], "deleted", "{lost:?}");
        let session = wren.agent.views().session(session.id).await.unwrap();
        assert_eq!((session.state, session.edits), (State::Open, 1));
    }
}
