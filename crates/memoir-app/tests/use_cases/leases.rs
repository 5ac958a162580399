//! One session at a time, held by a lease that survives crashes (SPEC 3.2).

use std::{sync::Arc, time::Duration};

use memoir_app::{Clock, Error, Point, sessions::RefineOptions};
use memoir_domain::{
    lifecycle::StartRefusal,
    memory::Number,
    session::{Mode, State},
};
use memoir_store_postgres::PostgresStore;
use memoir_testkit::{Postgres, TestClock, Turn, input};
use serde_json::json;

use crate::installation::{
    MEMORIES, TestAgent, assert_ended, call, cancel_by, complete, delete, person, settings,
};

/// A session that is open and waits for its model, which has deleted the fourth memory.
async fn waiting(wren: &TestAgent) -> (memoir_domain::SessionId, tokio::task::JoinHandle<()>) {
    wren.script([Turn::text("yes"), delete(4), Turn::Never]);
    let agent = wren.agent.clone();
    let worker = tokio::spawn(async move {
        let driven = agent
            .lens()
            .refine(&RefineOptions::default(), &mut |_| {})
            .await;
        drop(driven);
    });
    for _ in 0..10_000 {
        let sessions = wren.seen().session_page(None, 1).await.unwrap();
        match sessions.first() {
            Some(session) if session.edits == 1 => return (session.id, worker),
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
    panic!("the session never made its first edit");
}

/// A session whose worker died.
async fn orphan(wren: &TestAgent) -> memoir_domain::SessionId {
    let (session, worker) = waiting(wren).await;
    worker.abort();
    // Gone it is once it can be waited for: until then another thread may renew the lease by a clock put forward.
    assert!(worker.await.unwrap_err().is_cancelled());
    session
}

/// A session that the agent drives itself, which has deleted the fourth memory.
async fn own_session(wren: &TestAgent) -> memoir_domain::SessionId {
    let (session, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    let arguments = json!({"id": 4});
    let deleted = call(&wren.agent, session.id, "delete_memory", arguments).await;
    assert_eq!(deleted["type"], "deleted", "{deleted}");
    session.id
}

#[tokio::test]
async fn spec_3_2_a_second_start_is_refused_with_the_running_session() {
    let wren = TestAgent::new(&MEMORIES).await;
    let running = orphan(&wren).await;
    match wren
        .seen()
        .refine(&RefineOptions::default(), &mut |_| {})
        .await
    {
        Err(Error::Start(StartRefusal::SessionOpen(id))) => assert_eq!(id, running),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn spec_3_2_a_session_left_behind_is_closed_by_the_next_start() {
    let wren = TestAgent::new(&MEMORIES).await;
    let orphan = orphan(&wren).await;
    assert_eq!(
        wren.memoir.close_lapsed_sessions().await.unwrap(),
        0,
        "its lease has not lapsed yet"
    );
    wren.clock.advance(Duration::from_secs(31));
    let (driven, _) = wren.refine([complete()]).await;
    assert_eq!(driven.state, State::Completed);
    let closed = wren.agent.views().session(orphan).await.unwrap();
    assert_ended(&closed, State::Abandoned, "lease_expired");
    assert!(!wren.kept().await.contains(&4), "edits stay");
    wren.check().await;
}

/// SPEC 3.2: what is refused while a session runs succeeds once its lease has lapsed; and nothing else closes it.
#[tokio::test]
async fn spec_3_2_a_session_left_behind_is_in_the_way_of_nothing() {
    for what in ["check", "edit", "replace", "undo", "preview", "rewind"] {
        let wren = TestAgent::new(&MEMORIES).await;
        let orphan = orphan(&wren).await;
        let agent = &wren.agent;
        let act = async || -> Result<(), Error> {
            let person = &person();
            match what {
                "check" => agent.memories().check_edit(Number(1)).await,
                "edit" => {
                    let (seen, text) = (MEMORIES[0].into(), "It came from Porto.".into());
                    let edited = agent.memories().edit(Number(1), &seen, &text, person);
                    edited.await.map(drop)
                }
                "replace" => {
                    let other = input("Lena brings the paper.");
                    let edits = vec![(Some(Number(2)), other)];
                    agent.memories().take_edits(edits, person).await.map(drop)
                }
                "undo" => match agent.memories().undo_import(person, false).await {
                    Err(Error::NoImport) => Ok(()),
                    done => done.map(drop),
                },
                "preview" => {
                    let now = Point::Time(agent.now());
                    agent.log().preview_rewind(now, person).await.map(drop)
                }
                _ => agent.log().rewind(agent.now(), person).await.map(drop),
            }
        };
        let state = async || agent.views().session(orphan).await.unwrap().state;
        let refused = act().await.unwrap_err();
        assert_eq!(refused.code(), "session_open", "{what}: {refused}");
        assert!(state().await.is_running(), "{what}");
        wren.clock.advance(Duration::from_secs(31));
        wren.remember("The binder's name is Ana.").await;
        assert!(state().await.is_running(), "saving is not refused");
        act()
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(state().await, State::Abandoned, "{what}");
        wren.check().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spec_3_2_of_several_that_meet_a_session_left_behind_none_is_refused() {
    // Several rounds, since in each of them one may come after the other by chance.
    for _ in 0..20 {
        let wren = TestAgent::new(&MEMORIES).await;
        let orphan = orphan(&wren).await;
        wren.clock.advance(Duration::from_secs(31));
        let checking = (0..8).map(|_| {
            let agent = wren.agent.clone();
            tokio::spawn(async move { agent.memories().check_edit(Number(1)).await })
        });
        for checked in checking.collect::<Vec<_>>() {
            checked.await.unwrap().unwrap();
        }
        let session = wren.agent.views().session(orphan).await.unwrap();
        assert_eq!(session.state, State::Abandoned);
    }
}

#[tokio::test]
async fn an_agent_that_lost_its_session_changes_nothing_any_more() {
    let wren = TestAgent::new(&MEMORIES).await;
    let session = own_session(&wren).await;
    cancel_by(&wren.agent, session, &person()).await;
    let before = wren.memories().await;
    for (tool, arguments) in [
        ("delete_memory", json!({"id": 1})),
        ("complete_refinement", json!({"summary": "x"})),
        ("no_such_tool", json!({})),
    ] {
        let answer = call(&wren.agent, session, tool, arguments).await;
        assert_eq!(answer["code"], "session_over");
    }
    assert_eq!(wren.memories().await, before);
}

#[tokio::test]
async fn concurrent_edits_of_one_session_are_each_measured() {
    let wren = Arc::new(TestAgent::with_notes(40).await);
    let session = own_session(&wren).await;
    let calls = (5..=24u64).map(|number| {
        let wren = wren.clone();
        tokio::spawn(async move {
            let arguments = json!({"id": number});
            let answer = call(&wren.agent, session, "delete_memory", arguments).await;
            answer["type"] == "deleted"
        })
    });
    let mut deleted = 0;
    for call in calls.collect::<Vec<_>>() {
        deleted += usize::from(call.await.unwrap());
    }
    // Ten edits of forty equal memories are a quarter at most: the cap is reached before the breaker.
    assert_eq!(deleted, 9);
    assert_eq!(wren.kept().await.len(), 30);
    wren.check().await;
}

#[tokio::test]
async fn spec_3_2_a_lease_of_a_clock_that_was_put_back_does_not_lock_the_agent_up() {
    let wren = TestAgent::new(&MEMORIES).await;
    let orphan = orphan(&wren).await;
    wren.clock.put_back(Duration::from_secs(86_400));
    let (driven, _) = wren.refine([complete()]).await;
    assert_eq!(driven.state, State::Completed);
    let closed = wren.agent.views().session(orphan).await.unwrap();
    assert_eq!(closed.end_reason, Some("lease_expired"));
    wren.check().await;
}

#[tokio::test]
async fn spec_6_2_a_session_left_behind_is_found_though_the_clock_was_put_back_by_hours() {
    let wren = TestAgent::new(&MEMORIES).await;
    let orphan = orphan(&wren).await;
    wren.clock.put_back(Duration::from_secs(3 * 3_600));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 1);
    let closed = wren.agent.views().session(orphan).await.unwrap();
    assert_ended(&closed, State::Abandoned, "lease_expired");
}

#[tokio::test]
async fn an_agent_that_cannot_be_read_keeps_no_other_from_its_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let store = Arc::new(memoir_store_sqlite::SqliteStore::open(&path).unwrap());
    let wren = TestAgent::on(store, &MEMORIES, settings()).await;
    orphan(&wren).await;
    let account = wren.account("default").await;
    let kite = TestAgent::named("kite", &wren.installation).await;
    for memory in MEMORIES {
        kite.remember(memory).await;
    }
    orphan(&kite).await;
    let id = wren.agent.scope().agent;
    let damage = rusqlite::Connection::open(&path).unwrap();
    damage
        .execute(
            "UPDATE agents SET open = 'damaged' WHERE id = ?1",
            [id.as_bytes()],
        )
        .unwrap();
    wren.clock.advance(Duration::from_secs(8 * 86_400));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 1);
    let due = account.due_agents().await.unwrap();
    let names: Vec<&str> = due.iter().map(|(agent, _)| agent.name()).collect();
    assert_eq!(names, ["kite"]);
}

#[tokio::test]
async fn what_one_process_knows_never_outlives_what_another_wrote() {
    let wren = TestAgent::new(&MEMORIES).await;
    let session = own_session(&wren).await;
    let other = TestAgent::again(wren.store.clone(), wren.keys.clone()).await;
    let edit = async |tool: &str, arguments| call(&wren.agent, session, tool, arguments).await;
    let rewrite =
        json!({"id": 2, "content": "Lena brings the paper on Fridays and stays for coffee."});
    assert_eq!(
        edit("update_memory", rewrite.clone()).await["type"],
        "updated"
    );
    // A stricter threshold of another process is effective immediately (SPEC 2.7), for an edit that the old one
    // allowed.
    let strict = [(
        memoir_domain::agent::Field::RefinementThreshold,
        Some("0.99"),
    )];
    other.configure(&strict).await;
    assert_eq!(
        edit("update_memory", rewrite.clone()).await["type"],
        "refinement_rolled_back"
    );
    assert_eq!(edit("update_memory", rewrite).await["code"], "session_over");
    wren.check().await;

    let wren = TestAgent::new(&MEMORIES).await;
    let session = own_session(&wren).await;
    let other = TestAgent::again(wren.store.clone(), wren.keys.clone()).await;
    cancel_by(&other.agent, session, &person()).await;
    let arguments = json!({"id": 3});
    let answer = call(&wren.agent, session, "delete_memory", arguments).await;
    assert_eq!(answer["code"], "session_over");
    assert!(wren.kept().await.contains(&3));
}

#[tokio::test]
async fn spec_3_2_a_lease_is_judged_by_the_databases_time_whatever_a_node_takes_the_time_for() {
    let Some(server) = Postgres::start("leases").unwrap() else {
        println!("skipped: PostgreSQL is not installed; `scripts/test` does that");
        return;
    };
    let url = server.database().unwrap();
    PostgresStore::at(&url).unwrap().migrate().await.unwrap();
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    let wren = TestAgent::on(store.clone(), &MEMORIES, settings()).await;
    wren.memoir.keep_time().await.unwrap();
    wren.agent.open_own(Mode::Full).await.unwrap();

    // A node of the same fleet, whose machine is a day ahead.
    let clock = TestClock::standing_at("2026-01-05T09:00:00Z").giving_way();
    let ahead = wren.memoir.now().seconds_since(clock.now()) + 86_400;
    clock.put_forward(Duration::from_secs(ahead.try_into().unwrap()));
    let node = wren.another_process().with_clock(clock).memoir;
    node.keep_time().await.unwrap();
    assert!(node.now().seconds_since(wren.memoir.now()).abs() < 3_600);
    assert_eq!(node.close_lapsed_sessions().await.unwrap(), 0);
}
