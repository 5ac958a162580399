//! What becomes of a decision whose answer the store loses (SPEC 6.2).

use std::{sync::Arc, time::Duration};

use memoir_app::{Error, MemoryInput};
use memoir_store_sqlite::{
    CommitFault::{self, Busy, LostUnwritten, LostWritten},
    SqliteStore,
};

use crate::world::{World, person, settings};

async fn world() -> (SqliteStore, World) {
    let store = SqliteStore::in_memory().unwrap();
    let world = World::on(
        Arc::new(store.clone()),
        &["The press came from Lisbon."],
        settings(),
    )
    .await;
    (store, world)
}

async fn save(world: &World) -> Result<(), Error> {
    world.clock.advance(Duration::from_secs(1));
    let input = MemoryInput {
        content: "Lena brings the paper on Fridays.".into(),
        ..MemoryInput::default()
    };
    world.agent.save(&[input], &person()).await.map(drop)
}

#[tokio::test]
async fn spec_6_2_a_change_whose_answer_is_lost_is_written_once() {
    for lost in [
        vec![LostWritten],
        vec![LostUnwritten],
        vec![LostUnwritten, LostWritten],
        vec![LostWritten, LostUnwritten],
        vec![LostWritten; 4],
        // That the second attempt wrote nothing says nothing of the first.
        vec![Busy, LostWritten],
        vec![Busy, LostUnwritten, LostWritten],
    ] {
        let (store, world) = world().await;
        let before = world.agent.verify().await.unwrap().records;
        store.disturb_commits(&lost);
        save(&world).await.unwrap();
        let after = world.agent.verify().await.unwrap();
        assert!(after.valid && after.records == before + 1, "{lost:?}");
        // What the process remembers of the agent is what was written.
        save(&world).await.unwrap();
        let again = world.agent.verify().await.unwrap();
        assert!(again.valid && again.records == before + 2, "{lost:?}");
    }
}

#[tokio::test]
async fn spec_6_2_an_answer_that_stays_lost_is_told_as_unknown() {
    // The first attempt may still be on its way where the second one finds the database locked.
    for lost in [vec![LostUnwritten; 5], vec![Busy, LostUnwritten]] {
        let (store, world) = world().await;
        store.disturb_commits(&lost);
        let error = save(&world).await.unwrap_err();
        assert_eq!(error.code(), "outcome_unknown", "{lost:?}");
        save(&world).await.unwrap();
    }
    let (store, world) = world().await;
    store.disturb_commits(&[CommitFault::Busy]);
    assert_eq!(save(&world).await.unwrap_err().code(), "busy");
}
