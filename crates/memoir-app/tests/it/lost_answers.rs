//! Decisions with a lost response of the store (SPEC 6.2).

use std::{sync::Arc, time::Duration};

use memoir_app::Error;
use memoir_store_sqlite::{
    CommitFault::{self, Busy, LostUnwritten, LostWritten},
    SqliteStore,
};

use crate::installation::{TestAgent, input, person, settings};

async fn wren() -> (SqliteStore, TestAgent) {
    let store = SqliteStore::in_memory().unwrap();
    let wren = TestAgent::on(
        Arc::new(store.clone()),
        &["The press came from Lisbon."],
        settings(),
    )
    .await;
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
