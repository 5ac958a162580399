//! Two processes on one database and one key store (SPEC 5.4): each notices the other's changes of the keys at its next
//! call.

use std::sync::{Arc, Mutex};

use memoir_app::{Handling, RecordFilter};
use memoir_domain::{SessionId, memory::Number};
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{InstallationFolder, TestInstallation, Turn, input};
use memoir_vault::{KeyStore, MasterKey};
use serde_json::json;
use tempfile::TempDir;

use crate::installation::{
    TestAgent, agent_of, cancel_by, complete, delete, lens, new_folder, person, save_by,
};

async fn process(folder: &InstallationFolder) -> TestAgent {
    TestAgent::of(&folder.open_elsewhere()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_4_the_master_key_is_rotated_under_a_process_that_goes_on() {
    let folder = new_folder();
    let first = process(&folder).await;
    let second = process(&folder).await;
    first.save(&[input("Before.")]).await;
    let old = second.keys.key_id();
    let writer = first.agent.clone();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let (sent, mut told) = tokio::sync::watch::channel(0);
    let writing = tokio::spawn(async move {
        let mut saved = 0;
        // Bounded, in case the test does not stop it.
        while saved < 5_000 && stopped.try_recv().is_err() {
            save_by(&writer, &[input("Meanwhile.")], &person()).await;
            saved += 1;
            assert_eq!(writer.lens().memories(true).await.unwrap().len(), saved + 1);
            sent.send_replace(saved);
            tokio::task::yield_now().await;
        }
        saved
    });
    let mut ids = vec![old];
    for _ in 0..3 {
        let key_file = folder.master_key_file();
        let (id, wrapped) = second.keys.rotate_key_file(&key_file).unwrap();
        assert!(wrapped >= 1);
        ids.push(id);
        // It continues under each of them.
        let before = *told.borrow_and_update();
        told.wait_for(|saved| *saved > before + 1).await.unwrap();
    }
    stop.send(()).unwrap();
    let saved = writing.await.unwrap();
    ids.dedup();
    assert_eq!(ids.len(), 4, "each is another");

    // Actions that need the master key itself: a new agent, the key of the log, a restart.
    let magpie = agent_of(&first.memoir, "magpie").await;
    save_by(&magpie, &[input("After.")], &person()).await;
    let checkpoint = first.memoir.checkpoint().await.unwrap();
    assert_eq!(first.keys.key_id(), ids[3], "it followed");
    drop(first);
    let third = process(&folder).await;
    assert_eq!(third.seen().memories(true).await.unwrap().len(), saved + 1);
    let note = checkpoint.checkpoint.as_bytes();
    assert!(third.memoir.check_growth(note, None).await.unwrap().grew);
    let verified = third.memoir.verify_all().await.unwrap();
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");
    assert_eq!(third.keys.key_id(), ids[3]);
}

/// A master key from outside a file: a process with the old one continues with the agents that it knows, and reports
/// the error for the others.
#[tokio::test]
async fn spec_5_4_a_process_with_the_old_master_key_says_so() {
    let dir = TempDir::new().unwrap();
    let (old, new) = (
        MasterKey::generate().unwrap(),
        MasterKey::generate().unwrap(),
    );
    let (database, keys) = (dir.path().join("memoir.db"), dir.path().join("memoir.keys"));
    let open = |master: &MasterKey| Arc::new(KeyStore::open(&keys, master).unwrap());
    let process = |keys: &Arc<KeyStore>| {
        let store = Arc::new(SqliteStore::open(&database).unwrap());
        TestInstallation::under(store, keys.clone()).memoir
    };
    let first = process(&open(&old));
    let wren = agent_of(&first, "wren").await;
    let second = open(&old);
    let other = process(&second);
    let magpie = agent_of(&other, "magpie").await;
    save_by(&magpie, &[input("Mine.")], &person()).await;
    assert_eq!(second.rotate(&new).unwrap(), 2);

    save_by(&wren, &[input("I go on.")], &person()).await;
    assert_eq!(wren.lens().memories(true).await.unwrap().len(), 1);
    let account = first.account("default").await.unwrap();
    let unknown = account.agent("magpie").await.unwrap();
    let refused = lens(&unknown).memories(true).await.unwrap_err();
    assert_eq!(refused.code(), "key_unavailable", "{refused}");
    let refused = account
        .create_agent("rook", &[], &person())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "key_unavailable", "{refused}");
    assert!(account.agent("rook").await.is_err(), "nothing was written");
    assert_eq!(magpie.lens().memories(true).await.unwrap().len(), 1);
}

/// One process caches an agent's session; the other ends the session and erases the agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_4_an_agent_that_another_process_erased_is_written_no_more() {
    let folder = new_folder();
    let first = process(&folder).await;
    let second = Arc::new(process(&folder).await);
    for number in 0..8 {
        let text = format!("A long and quiet memory number {number} of a day at the sea.");
        first.save(&[input(&text)]).await;
    }
    let session: Arc<Mutex<Option<SessionId>>> = Arc::default();
    let runtime = tokio::runtime::Handle::current();
    let (other, noted) = (second.clone(), session.clone());
    let (told, erased) = std::sync::mpsc::channel();
    // Between two calls of the session, while the first process caches its state.
    let between = Turn::respond(move |_| {
        let (other, noted, told) = (other.clone(), noted.clone(), told.clone());
        let runtime = runtime.clone();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let running = other.seen().session_page(None, 1).await.unwrap()[0].id;
                *noted.lock().unwrap() = Some(running);
                cancel_by(&other.agent, running, &person()).await;
                other.agent.log().erase(&person()).await.unwrap();
                told.send(
                    other
                        .seen()
                        .records(&RecordFilter::default())
                        .await
                        .unwrap()
                        .len(),
                )
                .unwrap();
            });
        });
        thread.join().unwrap();
        delete(2)
    });
    first.script([Turn::text("YES"), delete(1), between, delete(3), complete()]);
    let options = memoir_app::sessions::RefineOptions::default();
    let ended = first.seen().refine(&options, &mut |_| {}).await;
    let ended = ended.unwrap_err();
    assert_eq!(ended.code(), "erased", "{ended}");
    let session = session.lock().unwrap().unwrap();
    let call = |tool: &'static str, arguments| {
        let agent = first.agent.clone();
        async move {
            let answer = agent.call_tool(session, tool, Some(&arguments)).await;
            answer.unwrap_err().code()
        }
    };
    assert_eq!(call("delete_memory", json!({"id": 4})).await, "erased");
    assert_eq!(
        call("search_memories", json!({"query": "sea"})).await,
        "erased"
    );
    assert_eq!(call("nonsense", json!({})).await, "erased");
    let saved = first
        .agent
        .memories()
        .save(&[input("Once more.")], &person())
        .await;
    assert_eq!(saved.unwrap_err().code(), "erased");
    let restored = first
        .agent
        .memories()
        .handle(Number(1), Handling::Restore, &person())
        .await;
    assert_eq!(restored.unwrap_err().code(), "erased");

    let records = second.seen().records(&RecordFilter::default()).await;
    let records = records.unwrap();
    assert_eq!(
        records.len(),
        erased.recv().unwrap(),
        "nothing was written since"
    );
    let actions: Vec<&str> = records
        .iter()
        .map(|record| record.action.as_str())
        .collect();
    assert_eq!(
        actions[actions.len() - 3..],
        [
            "memory_refinement_delete",
            "memory_refinement_abandoned",
            "agent_erased"
        ]
    );
    let verified = first.memoir.verify_all().await.unwrap();
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");
}
