//! Decisions with a lost response of the store (SPEC 6.2).

use std::{sync::Arc, time::Duration};

use memoir_app::{Error, import, sessions::RefineOptions};
use memoir_domain::session::{Mode, State};
use memoir_store_sqlite::{
    CommitFault::{self, Busy, LostUnwritten, LostWritten},
    SqliteStore,
};
use memoir_testkit::{StoreWatch, Turn, WatchedStore, input};
use parking_lot::Mutex;
use serde_json::json;

use crate::installation::{
    MEMORIES, OWNER, TestAgent, call, complete, enqueue, new_folder, own, person, settings,
};

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

/// Loses the next answer to decisions that are written together: whether they are written.
#[derive(Default)]
struct LostTogether(Mutex<Option<bool>>);

impl StoreWatch for LostTogether {
    fn loses_together(&self) -> Option<bool> {
        self.0.lock().take()
    }
}

#[tokio::test]
async fn spec_6_2_an_import_and_its_undoing_with_a_lost_answer_are_made_once() {
    // On a file: undoing an import reads while it writes, and a store in memory has one connection.
    let folder = new_folder();
    let lost = Arc::new(LostTogether::default());
    let inner = Arc::new(SqliteStore::open(&folder.database()).unwrap());
    let store = WatchedStore::new(inner, lost.clone());
    let memoir = folder.open_store(Arc::new(store)).memoir;
    let account = memoir.account("default").await.unwrap();
    account.create_agent("wren", &[], &OWNER).await.unwrap();
    let agent = account.agent("wren").await.unwrap();
    let import = async |text: &str| {
        let line = json!({"content": text}).to_string();
        let read = import::read(line.as_bytes(), None, memoir.now());
        let memories = agent.memories();
        let imported = memories.import(read, false, &OWNER, Arc::default()).await;
        assert_eq!(imported.unwrap().imported, 1);
    };
    let undo = async || agent.memories().undo_import(&OWNER, false).await;
    let count = async || own(&agent).export().await.unwrap().len();
    import("Ines keeps bees").await;
    for is_written in [true, false] {
        *lost.0.lock() = Some(is_written);
        import("Rui studies law").await;
        assert_eq!(count().await, 2);
        *lost.0.lock() = Some(is_written);
        let undone = undo().await;
        match is_written {
            true => assert_eq!(undone.unwrap().discarded, 1),
            false => {
                // Nothing was written, nor will be: repeated, it undoes the same import.
                assert_eq!(undone.unwrap_err().code(), "contended");
                assert_eq!(count().await, 2);
                undo().await.unwrap();
            }
        }
        assert_eq!(count().await, 1, "the import before stays");
        assert!(agent.log().verify().await.unwrap().valid);
    }
}
