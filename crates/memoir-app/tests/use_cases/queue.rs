//! Sessions that wait for a worker, and workers that stop or die (SPEC 3.2, 3.16, 3.18).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use memoir_app::{
    Error, InstallationSettings, SessionFacts, SessionLimits,
    sessions::{LeasedSession, Progress, RefineOptions},
};
use memoir_domain::{
    PrivateText, SessionId, agent::Field, lifecycle::StartRefusal, session::State,
};
use memoir_testkit::{ModelScript, StoreWatch, Turn, WatchedStore};
use serde_json::json;

use crate::installation::{
    MEMORIES, TestAgent, assert_ended, call, complete, delete, enqueue, person, rehearsal, settings,
};

async fn queued(wren: &TestAgent) -> SessionId {
    let session = enqueue(&wren.agent, &RefineOptions::default()).await;
    assert_eq!(session.state, State::Queued);
    session.id
}

async fn take(wren: &TestAgent) -> Option<LeasedSession> {
    let waiting = wren.memoir.waiting_sessions(10).await.unwrap();
    let session = waiting.first()?;
    let taken = wren.memoir.acquire(session.scope, session.id);
    taken.await.unwrap()
}

async fn drive(taken: &LeasedSession) -> SessionFacts {
    taken.drive(&mut |_| {}).await.unwrap()
}

async fn state_of(wren: &TestAgent, id: SessionId) -> State {
    wren.agent.views().session(id).await.unwrap().state
}

/// Drives a session whose model consents, makes those edits, and then does not respond.
async fn stalled(wren: &TestAgent, numbers: impl IntoIterator<Item = u64>) -> LeasedSession {
    let edits: Vec<Turn> = numbers.into_iter().map(delete).collect();
    let count = edits.len() as u32;
    let turns = [Turn::text("yes")].into_iter().chain(edits);
    wren.script(turns.chain([Turn::Never]));
    let taken = take(wren).await.unwrap();
    drive_until(wren, &taken, count).await;
    taken
}

/// Drives until so many edits were made, and then stops in the middle of a call of the model.
async fn drive_until(wren: &TestAgent, taken: &LeasedSession, edits: u32) {
    let watch = async {
        for _ in 0..10_000 {
            let sessions = wren.seen().session_page(None, 1).await.unwrap();
            if sessions[0].state == State::Open && sessions[0].edits == edits {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("the session never came so far");
    };
    let mut observer = |_: &Progress| {};
    tokio::select! {
        _ = taken.drive(&mut observer) => panic!("it ended"),
        () = watch => {}
    }
}

/// Drives until the model was asked so often, and then stops in the middle of that call.
async fn drive_until_asked(taken: &LeasedSession, script: &ModelScript, requests: usize) {
    let asked = async {
        while script.requests().len() < requests {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let mut observer = |_: &Progress| {};
    tokio::select! {
        _ = taken.drive(&mut observer) => panic!("it ended"),
        asked = tokio::time::timeout(Duration::from_secs(60), asked) => asked.unwrap(),
    }
}

#[tokio::test]
async fn spec_3_18_a_queued_session_is_taken_up_asked_and_driven_to_its_end() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let waiting = wren.memoir.waiting_sessions(10).await.unwrap();
    let waiting: Vec<_> = waiting.iter().map(|one| (one.scope, one.id)).collect();
    assert_eq!(waiting, [(wren.agent.scope(), id)]);
    let script = wren.script([Turn::text("YES"), delete(6), complete()]);
    let taken = take(&wren).await.unwrap();
    assert_eq!(taken.id(), id);
    assert_eq!(state_of(&wren, id).await, State::Asking);
    let driven = drive(&taken).await;
    assert_eq!((driven.state, driven.edits), (State::Completed, 1));
    assert_eq!(script.turns_left(), 0);
    assert!(take(&wren).await.is_none());
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

#[tokio::test]
async fn spec_3_2_a_queued_session_is_the_one_session_of_the_agent() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    assert!(matches!(
        wren.agent.sessions().enqueue(&RefineOptions::default()).await,
        Err(Error::Start(StartRefusal::SessionOpen(open))) if open == id
    ));
}

#[tokio::test]
async fn spec_3_2_of_many_workers_at_once_one_takes_a_session_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = memoir_store_sqlite::SqliteStore::open(&folder.path().join("m.db")).unwrap();
    let wren = TestAgent::on(Arc::new(store), &MEMORIES, settings()).await;
    let id = queued(&wren).await;
    let workers: Vec<_> = (0..16)
        .map(|_| {
            let (memoir, scope) = (wren.memoir.clone(), wren.agent.scope());
            tokio::spawn(async move { memoir.acquire(scope, id).await.unwrap().is_some() })
        })
        .collect();
    let mut taken = 0;
    for worker in workers {
        taken += usize::from(worker.await.unwrap());
    }
    assert_eq!(taken, 1);
}

#[tokio::test]
async fn spec_3_16_a_queued_session_can_be_cancelled() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let ended = wren.agent.sessions().cancel(id, &person()).await.unwrap();
    assert_ended(&ended, State::Abandoned, "cancelled");
    assert!(take(&wren).await.is_none());
}

#[tokio::test]
async fn spec_3_1_a_queued_session_of_an_agent_out_of_service_asks_no_model() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let script = wren.script([Turn::text("YES"), complete()]);
    wren.configure(&[(Field::Active, Some("false"))]).await;
    assert!(take(&wren).await.is_none());
    let ended = wren.agent.views().session(id).await.unwrap();
    assert_ended(&ended, State::Abandoned, "cancelled");
    assert_eq!(script.requests().len(), 0);
    wren.check().await;
}

#[tokio::test]
async fn spec_3_2_a_session_that_waits_is_no_session_of_a_dead_worker() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    wren.clock.advance(Duration::from_secs(86_400));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 0);
    assert_eq!(state_of(&wren, id).await, State::Queued);
}

#[tokio::test]
async fn spec_3_2_a_session_handed_back_while_asking_is_asked_again() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let taken = take(&wren).await.unwrap();
    taken.release().await.unwrap();
    assert_eq!(state_of(&wren, id).await, State::Queued);
    let script = wren.script([Turn::text("No, not now.")]);
    let driven = drive(&take(&wren).await.unwrap()).await;
    assert_eq!(driven.state, State::Declined);
    assert_eq!(script.requests().len(), 1);
}

#[tokio::test]
async fn spec_5_1_the_driver_of_a_queued_session_gets_no_text_of_a_refusal() {
    let wren = TestAgent::new(&MEMORIES).await;
    queued(&wren).await;
    wren.script([Turn::text("No, not now.")]);
    let mut seen = Vec::new();
    let mut observer = |progress: &Progress| seen.push(progress.clone());
    let taken = take(&wren).await.unwrap();
    taken.drive(&mut observer).await.unwrap();
    let words = PrivateText::default();
    assert!(seen.contains(&Progress::Declined { words }), "{seen:?}");
}

#[tokio::test]
async fn spec_3_2_another_worker_goes_on_with_the_edits_and_the_measure_that_are_left() {
    let wren = TestAgent::with_notes(60).await;
    let id = queued(&wren).await;
    let taken = stalled(&wren, 1..=4).await;
    let before = wren.agent.views().session(id).await.unwrap();
    taken.release().await.unwrap();
    assert_eq!(state_of(&wren, id).await, State::Open);
    wren.clock.advance(Duration::from_secs(86_400));
    assert_eq!(
        wren.memoir.close_lapsed_sessions().await.unwrap(),
        0,
        "no worker died"
    );

    // Another process, without the first one's cache.
    let again = TestAgent::again(wren.store.clone(), wren.keys.clone()).await;
    let script = again.script((11..=20).map(delete).chain([complete()]));
    let taken = take(&again).await.unwrap();
    let driven = drive(&taken).await;
    assert_eq!((driven.id, driven.state), (id, State::Completed));
    assert_eq!(driven.edits, 10, "four and six: the cap is the session's");
    assert_eq!(driven.pre_session_tokens, before.pre_session_tokens);
    assert_eq!(driven.threshold, before.threshold);
    assert_eq!(again.kept().await.len(), 50);
    let first = &script.requests()[0];
    assert!(
        !first.tools.is_empty(),
        "the agent consented before and is not asked again"
    );
    assert!(
        driven.usage.calls > script.requests().len() as u64,
        "calls of both workers count"
    );
    assert!(again.agent.log().verify().await.unwrap().valid);
    again.check().await;
}

#[tokio::test]
async fn spec_3_17_another_worker_goes_on_with_a_rehearsal_on_its_copy() {
    let wren = TestAgent::new(&MEMORIES).await;
    let options = rehearsal();
    let id = wren.agent.sessions().enqueue(&options).await.unwrap().id;
    let taken = stalled(&wren, [1]).await;
    taken.release().await.unwrap();
    let again = TestAgent::again(wren.store.clone(), wren.keys.clone()).await;
    let script = again.script([delete(1), complete()]);
    let driven = drive(&take(&again).await.unwrap()).await;
    assert_eq!((driven.id, driven.state), (id, State::Completed));
    assert_eq!(driven.edits, 1, "it is missing on the copy");
    assert_eq!(script.requests().len(), 2, "it is not asked again");
    assert_eq!(again.kept().await, [1, 2, 3, 4, 5, 6]);
    again.apply(id).await;
    assert_eq!(again.kept().await, [2, 3, 4, 5, 6]);
    again.check().await;
}

#[tokio::test]
async fn spec_3_14_another_worker_offers_the_tools_of_a_guard_that_was_made_stricter() {
    let wren = TestAgent::new(&MEMORIES).await;
    queued(&wren).await;
    let taken = stalled(&wren, []).await;
    taken.release().await.unwrap();
    wren.configure(&[(Field::LossGuard, Some("archive"))]).await;
    let script = wren.script([complete()]);
    let driven = drive(&take(&wren).await.unwrap()).await;
    assert_eq!(driven.state, State::Completed);
    let requests = script.requests();
    let mut tools = requests[0].tools.iter();
    let tool = tools.find(|tool| tool.name == "delete_memory").unwrap();
    let description = &tool.description;
    assert!(description.starts_with("Take one"), "{description}");
}

#[tokio::test]
async fn spec_3_13_the_breaker_measures_from_before_the_first_worker() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let taken = stalled(&wren, [1]).await;
    taken.release().await.unwrap();
    wren.script([delete(2), complete()]);
    let driven = drive(&take(&wren).await.unwrap()).await;
    assert_eq!((driven.id, driven.state), (id, State::RolledBack));
    assert_eq!(
        wren.kept().await,
        [1, 2, 3, 4, 5, 6],
        "both workers' edits are rolled back"
    );
    wren.check().await;
}

#[tokio::test]
async fn spec_3_16_limits_count_what_earlier_workers_used() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let much = || Turn::call("protect_memory", json!({"id": 1})).with_usage(150_000, 0);
    let script = wren.script([Turn::text("yes"), much(), Turn::Never]);
    let taken = take(&wren).await.unwrap();
    drive_until_asked(&taken, &script, 3).await;
    taken.release().await.unwrap();
    wren.script([much(), complete()]);
    let driven = drive(&take(&wren).await.unwrap()).await;
    assert_eq!((driven.id, driven.end_reason), (id, Some("token_limit")));
    assert!(driven.usage.input_tokens >= 300_000);
}

#[tokio::test]
async fn spec_3_16_turns_of_earlier_workers_count() {
    let limits = SessionLimits {
        turns: 3,
        ..SessionLimits::default()
    };
    let settings = InstallationSettings {
        limits,
        ..settings()
    };
    let wren = TestAgent::with(&MEMORIES, settings).await;
    let id = queued(&wren).await;
    let search = || Turn::call("search_memories", json!({"query": "e"}));
    let script = wren.script([Turn::text("yes"), search(), search(), Turn::Never]);
    let taken = take(&wren).await.unwrap();
    drive_until_asked(&taken, &script, 4).await;
    taken.release().await.unwrap();
    let script = wren.script([search(), complete()]);
    let driven = drive(&take(&wren).await.unwrap()).await;
    assert_eq!((driven.id, driven.end_reason), (id, Some("turn_limit")));
    assert_eq!(script.requests().len(), 1, "two turns were taken before");
}

#[tokio::test]
async fn spec_3_16_the_time_of_earlier_workers_counts_and_a_wait_for_a_worker_does_not() {
    for (minutes, end_reason) in [(14, None), (15, Some("time_limit"))] {
        let wren = TestAgent::new(&MEMORIES).await;
        let id = queued(&wren).await;
        let script = wren.script([Turn::text("yes"), Turn::Never]);
        let taken = take(&wren).await.unwrap();
        drive_until_asked(&taken, &script, 2).await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(minutes * 60)).await;
        tokio::time::resume();
        taken.release().await.unwrap();
        // Neither a night in the queue nor a clock that was set is time of the session.
        wren.clock.advance(Duration::from_secs(86_400));
        wren.script([complete()]);
        let driven = drive(&take(&wren).await.unwrap()).await;
        assert_eq!((driven.id, driven.end_reason), (id, end_reason));
    }
}

#[tokio::test]
async fn spec_3_2_who_lost_a_session_hands_nothing_back() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let taken = take(&wren).await.unwrap();
    wren.agent.sessions().cancel(id, &person()).await.unwrap();
    taken.release().await.unwrap();
    assert_eq!(state_of(&wren, id).await, State::Abandoned);

    let id = queued(&wren).await;
    let first = take(&wren).await.unwrap();
    first.release().await.unwrap();
    let second = take(&wren).await.unwrap();
    first.release().await.unwrap();
    assert_eq!(
        state_of(&wren, id).await,
        State::Asking,
        "it is the second worker's"
    );
    drop(second);
}

#[tokio::test]
async fn spec_3_2_the_session_of_a_dead_worker_is_abandoned_when_its_lease_lapses() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let taken = stalled(&wren, [6]).await;
    drop(taken);
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 0);
    wren.clock.advance(Duration::from_secs(31));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 1);
    let ended = wren.agent.views().session(id).await.unwrap();
    assert_ended(&ended, State::Abandoned, "lease_expired");
    assert_eq!(wren.kept().await, [1, 2, 3, 4, 5]);
    assert!(take(&wren).await.is_none());
}

#[tokio::test]
async fn spec_3_18_a_session_that_memoir_drives_is_no_session_of_the_agents_own() {
    let wren = TestAgent::new(&MEMORIES).await;
    queued(&wren).await;
    let own = wren.agent.sessions().own_session().await.unwrap();
    assert_eq!(own, None, "it is queued");
    let leased = stalled(&wren, [6]).await;
    let own = wren.agent.sessions().own_session().await.unwrap();
    assert_eq!(own, None, "it is open");
    // REST names the session, so that a call reaches it all the same.
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 5})),
        ("protect_memory", json!({"id": 1})),
        ("search_memories", json!({"query": "e"})),
        ("complete_refinement", json!({"summary": "x"})),
        ("no_such_tool", json!({})),
    ] {
        let refused = call(&wren.agent, leased.id(), tool, arguments).await;
        assert_eq!(refused["code"], "session_over", "{tool}: {refused}");
    }
    let session = wren.agent.views().session(leased.id()).await.unwrap();
    assert_eq!((session.state, session.edits), (State::Open, 1));
    assert_eq!(wren.kept().await, [1, 2, 3, 4, 5]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_3_2_an_edit_after_a_long_answer_takes_no_renewal_back() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    // The model takes longer than a lease lasts.
    let clock = wren.clock.clone();
    let late = Turn::respond(move |_| {
        clock.advance(Duration::from_secs(50));
        Turn::call("protect_memory", json!({"id": 1}))
    });
    // After that call, and before the worker renews the lease while it waits for the model.
    let (memoir, runtime) = (wren.memoir.clone(), tokio::runtime::Handle::current());
    let (sent, closed) = std::sync::mpsc::channel();
    let checked = Turn::respond(move |_| {
        let (memoir, runtime) = (memoir.clone(), runtime.clone());
        let closing = std::thread::spawn(move || {
            runtime.block_on(async { memoir.close_lapsed_sessions().await.unwrap() })
        });
        sent.send(closing.join().unwrap()).unwrap();
        complete()
    });
    wren.script([Turn::text("yes"), late, checked]);
    let driven = drive(&take(&wren).await.unwrap()).await;
    assert_eq!((driven.id, driven.state), (id, State::Completed));
    assert_eq!(closed.recv().unwrap(), 0);
}

/// Refuses to renew a lease, so many times.
struct Unrenewed {
    refused: u32,
    asked: AtomicU32,
}

impl StoreWatch for Unrenewed {
    fn renew(&self) -> memoir_store::Result<()> {
        match self.asked.fetch_add(1, Ordering::Relaxed) < self.refused {
            true => Err(memoir_store::Error::Busy),
            false => Ok(()),
        }
    }
}

#[tokio::test]
async fn spec_3_2_a_store_that_fails_for_less_than_a_lease_ends_no_session() {
    let driven = async |refused: u32, lease: Duration, turns: [Turn; 2]| {
        let inner = Arc::new(memoir_store_sqlite::SqliteStore::in_memory().unwrap());
        let watch = Unrenewed {
            refused,
            asked: AtomicU32::new(0),
        };
        let store = Arc::new(WatchedStore::new(inner, Arc::new(watch)));
        let settings = InstallationSettings {
            lease,
            ..settings()
        };
        let wren = TestAgent::on(store, &MEMORIES, settings).await;
        queued(&wren).await;
        wren.script(turns);
        let taken = take(&wren).await.unwrap();
        taken.drive(&mut |_| {}).await
    };
    // The first renewal is due as soon as the model lets the worker wait.
    let late = Turn::Slow(Duration::from_millis(10), Box::new(Turn::text("yes")));
    let lease = Duration::from_secs(30);
    let session = driven(1, lease, [late, complete()]).await.unwrap();
    assert_eq!(session.state, State::Completed);
    let lease = Duration::from_millis(60);
    let lapsed = driven(u32::MAX, lease, [Turn::Never, Turn::Never]).await;
    assert_eq!(lapsed.unwrap_err().code(), "busy");
}

#[tokio::test]
async fn spec_3_2_the_queue_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let open = || Arc::new(memoir_store_sqlite::SqliteStore::open(&path).unwrap());
    let wren = TestAgent::on(open(), &MEMORIES, settings()).await;
    let id = queued(&wren).await;
    let keys = wren.keys.clone();
    drop(wren);
    let again = TestAgent::again(open(), keys).await;
    again.script([Turn::text("yes"), complete()]);
    let driven = drive(&take(&again).await.unwrap()).await;
    assert_eq!((driven.id, driven.state), (id, State::Completed));
}

#[tokio::test]
async fn spec_3_17_a_queued_rehearsal_changes_nothing_and_is_active() {
    let wren = TestAgent::new(&MEMORIES).await;
    let before = wren.memories().await;
    let options = rehearsal();
    let id = wren.agent.sessions().enqueue(&options).await.unwrap().id;
    wren.script([Turn::text("yes"), delete(6), complete()]);
    let driven = drive(&take(&wren).await.unwrap()).await;
    assert_eq!(driven.state, State::Completed);
    assert_eq!(wren.memories().await, before);
    let rehearsed = wren.seen().session(id).await.unwrap();
    assert!(rehearsed.words.changes.is_some());
}

#[tokio::test]
async fn spec_3_16_a_model_that_cannot_be_used_ends_the_session_as_failed_on_the_record() {
    let wren = TestAgent::new(&MEMORIES).await;
    let id = queued(&wren).await;
    let none = memoir_model::Providers::new(std::collections::BTreeMap::new()).unwrap();
    let other = wren.another_process().with_models(Arc::new(none)).memoir;
    let taken = other.acquire(wren.agent.scope(), id).await.unwrap();
    assert!(taken.is_none());
    let ended = wren.agent.views().session(id).await.unwrap();
    assert_ended(&ended, State::Failed, "provider");
    assert_eq!(
        wren.actions().await.last().map(String::as_str),
        Some("memory_refinement_failed")
    );
    assert!(other.waiting_sessions(9).await.unwrap().is_empty());
}
