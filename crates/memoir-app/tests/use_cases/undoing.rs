//! The way back: undoing sessions that have ended, and single memories (SPEC 4.3).

use std::sync::Arc;

use memoir_app::{Error, Handling, InstallationSettings, Point, Provision};
use memoir_domain::{
    access::AccessScope,
    agent::Field,
    audit::Actor,
    memory::Number,
    session::{Mode, State},
};
use memoir_store_sqlite::SqliteStore;
use memoir_testkit::{Turn, WatchedStore};
use serde_json::json;

use crate::{
    crashing::MEMORIES,
    installation::{CountedCalls, TestAgent, complete, delete, handle_by, person, reading},
};

fn merge(ids: [u64; 2]) -> Turn {
    let content = "The cat sleeps on the paper that was delivered in the morning.";
    Turn::call(
        "consolidate_memories",
        json!({"ids": ids, "content": content}),
    )
}

#[tokio::test]
async fn spec_3_19_an_undone_session_leaves_nothing_behind() {
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let before = wren.memories().await;
    let (driven, _) = wren.refine([merge([4, 5]), complete()]).await;
    assert_eq!(wren.kept().await, [1, 2, 3, 7, 6]);
    let size = async || wren.agent.views().show().await.unwrap().counts.core_tokens;
    let preview = wren
        .agent
        .sessions()
        .preview_roll_back(driven.id, &person())
        .await
        .unwrap();
    assert_eq!(preview.obstacles, []);
    let changes = preview.changes;
    assert_eq!(
        (changes.changed, changes.returning, changes.discarded),
        (3, 2, 1)
    );
    assert_eq!(changes.core_tokens_before, size().await);
    let undone = wren.roll_back(driven.id, false).await;
    assert!(undone.undone_at.is_some());
    assert_eq!(changes.core_tokens_after, size().await);
    assert_eq!(
        undone.state,
        memoir_domain::session::State::Completed,
        "an undone session keeps its end"
    );
    let mut after = wren.memories().await;
    after.retain(|memory| memory["number"] != 7);
    assert_eq!(after, before);
    let again = wren.try_roll_back(driven.id, true).await.unwrap_err();
    assert!(matches!(again, Error::NotUndoable { .. }));
    assert_eq!(wren.actions().await.last().unwrap(), "session_undone");
    assert!(
        wren.journal()
            .await
            .last()
            .unwrap()
            .contains("was undone (2 consolidated")
    );
    wren.check().await;
}

#[tokio::test]
async fn spec_4_3_later_changes_stand_in_the_way_unless_undone_too() {
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let before = wren.memories().await;
    let size = async || wren.agent.views().show().await.unwrap().counts.core_tokens;
    let whole = size().await;
    let (first, _) = wren.refine([merge([4, 5]), complete()]).await;
    let (second, _) = wren.refine([delete(7), complete()]).await;
    let preview = wren
        .agent
        .sessions()
        .preview_roll_back(first.id, &person())
        .await
        .unwrap();
    assert_eq!(preview.obstacles.len(), 1);
    assert_eq!(
        (
            preview.changes.core_tokens_before,
            preview.changes.core_tokens_after
        ),
        (size().await, whole),
        "with the later change undone too"
    );
    let refused = wren.try_roll_back(first.id, false).await.unwrap_err();
    let Error::InTheWay { obstacles, .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(obstacles.len(), 1);
    assert_eq!(obstacles[0].session_id, Some(second.id));
    assert_eq!(obstacles[0].memories, [Number(7)]);
    wren.roll_back(first.id, true).await;
    let mut after = wren.memories().await;
    after.retain(|memory| memory["number"] != 7);
    assert_eq!(after, before);
    let undone = wren.agent.views().session(second.id).await.unwrap();
    assert!(undone.undone_at.is_some());
    wren.check().await;
}

#[tokio::test]
async fn spec_4_3_one_memory_is_restored() {
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    wren.refine([delete(5), complete()]).await;
    let restored = wren.handle(Number(5), Handling::Restore).await;
    assert_eq!(restored.discarded_at, None);
    assert!(wren.kept().await.contains(&5));
    let me = Actor::agent("wren");
    let records = wren.actions().await.len();
    let again = handle_by(&wren.agent, Number(5), Handling::Restore, &me).await;
    assert_eq!(again.discarded_at, None);
    assert_eq!(
        wren.actions().await.len(),
        records,
        "no act of an administrator"
    );
    assert!(matches!(
        wren.agent
            .memories()
            .handle(Number(99), Handling::Restore, &person())
            .await,
        Err(Error::NoMemory(_))
    ));
    wren.check().await;
}

#[tokio::test]
async fn spec_4_3_a_discard_that_changes_nothing_is_recorded_and_outlasts_the_agents_undo() {
    let me = Actor::agent("wren");
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let (driven, _) = wren.refine([merge([4, 5]), complete()]).await;
    let records = wren.actions().await.len();
    // The session has removed it already.
    let discarded = handle_by(&wren.agent, Number(4), Handling::Discard, &person()).await;
    assert!(discarded.discarded_at.is_some());
    assert_eq!(wren.actions().await.len(), records + 1);
    for cascade in [false, true] {
        let refused = wren
            .agent
            .sessions()
            .roll_back(driven.id, cascade, &me)
            .await;
        assert!(matches!(
            refused,
            Err(Error::InTheWay { .. } | Error::BeyondAgent { .. })
        ));
    }
    assert!(!wren.kept().await.contains(&4));
    wren.check().await;
}

/// SPEC 4.3: each act is done twice by an administrator, and the second one changes nothing.
#[tokio::test]
async fn spec_4_3_every_act_of_an_administrator_is_on_the_record_where_it_changes_nothing() {
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let (memories, grants) = (wren.agent.memories(), wren.agent.grants());
    let made = grants
        .create_token(Provision::Any, None, &Actor::owner())
        .await;
    let token = made.unwrap().view.id;
    let draft = reading(AccessScope::Core, 5);
    let request = grants.request_access(&draft, &person()).await.unwrap().id;
    let text = MEMORIES[2].into();
    let handled = [
        (Handling::Discard, 1),
        (Handling::Restore, 1),
        (Handling::Protect, 2),
        (Handling::Unprotect, 2),
    ];
    for (handling, number) in handled {
        let act = async || {
            let (number, actor) = (Number(number), person());
            memories.handle(number, handling, &actor).await.unwrap();
        };
        recorded_twice(&wren, &format!("{handling:?}"), act).await;
    }
    recorded_twice(&wren, "edit", async || {
        let owner = Actor::owner();
        let edited = memories.edit(Number(3), &text, &text, &owner).await;
        assert_eq!(edited.unwrap(), None);
    })
    .await;
    recorded_twice(&wren, "revoke a token", async || {
        grants.revoke_token(token, &person()).await.unwrap();
    })
    .await;
    recorded_twice(&wren, "revoke a grant", async || {
        grants.revoke_access(request, &person()).await.unwrap();
    })
    .await;
    // Name, prompts, model, budget, threshold, guard, schedule, pausing, and every other setting.
    for field in Field::ALL {
        let value = (field == Field::Name).then_some("wren");
        recorded_twice(&wren, field.as_str(), async || {
            let (set, actor) = ([(field, value)], person());
            wren.agent.settings().configure(&set, &actor).await.unwrap();
        })
        .await;
    }
    recorded_twice(&wren, "rewind", async || {
        let now = wren.actions().await.len() as u64;
        let (to, actor) = (Point::Record(now), person());
        wren.agent.log().rewind(to, &actor).await.unwrap();
    })
    .await;
    // What is in the prompt cannot be promoted (SPEC 2.4): an error, and no act.
    let records = wren.actions().await;
    let refused = memories
        .handle(Number(2), Handling::Promote, &person())
        .await;
    assert_eq!(refused.unwrap_err().code(), "not_archival");
    assert_eq!(wren.actions().await, records);
    let verified = wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "{verified:?}");
    wren.check().await;
}

/// Does an act twice: the second adds one record, of the same action as the first.
async fn recorded_twice(wren: &TestAgent, what: &str, act: impl AsyncFn()) {
    let before = wren.actions().await.len();
    act().await;
    let first = wren.actions().await;
    act().await;
    let second = wren.actions().await;
    // A first act may also notify the agent.
    let expected = [&first[..], &first[before..=before]].concat();
    assert_eq!(second, expected, "{what}");
}

#[tokio::test]
async fn spec_4_3_a_running_session_is_rolled_back_to_what_an_administrator_confirmed() {
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let session = crate::archiving::open(&wren).await;
    let both = json!({"ids": [4, 5], "content": "The cat sleeps on the paper that was delivered, which was delivered in the morning."});
    let merged = crate::archiving::edit(&wren, session, "consolidate_memories", both).await;
    let merged = merged["number"].as_u64().unwrap();
    for (number, handling) in [(merged, Handling::Restore), (4, Handling::Discard)] {
        wren.handle(Number(number), handling).await;
    }
    wren.roll_back(session, false).await;
    let kept = wren.kept().await;
    assert!(kept.contains(&merged) && kept.contains(&5) && !kept.contains(&4));
    wren.check().await;
}

#[tokio::test]
async fn spec_4_3_an_agent_takes_nothing_back_that_an_administrator_did() {
    let me = Actor::agent("wren");
    // An administrator's act on a memory that the session changed, and whether it holds.
    for change in ["protect", "discard"] {
        let wren = TestAgent::new(&MEMORIES[..6]).await;
        let (driven, _) = wren.refine([merge([4, 5]), complete()]).await;
        let number = Number(7);
        match change {
            "protect" => handle_by(&wren.agent, number, Handling::Protect, &person()).await,
            _ => handle_by(&wren.agent, number, Handling::Discard, &person()).await,
        };
        let as_it_was = wren.memories().await;
        for cascade in [false, true] {
            let id = driven.id;
            let refused = wren.agent.sessions().roll_back(id, cascade, &me).await;
            let obstacles = match refused.unwrap_err() {
                Error::InTheWay { obstacles, .. } if !cascade => obstacles,
                Error::BeyondAgent { obstacles, .. } if cascade => obstacles,
                other => panic!("{other:?}"),
            };
            assert_eq!(obstacles.len(), 1);
        }
        assert_eq!(wren.memories().await, as_it_was, "{change}");
        // An administrator can.
        let id = driven.id;
        wren.roll_back(id, true).await;
        let verified = wren.agent.log().verify().await.unwrap();
        assert!(verified.valid);
    }
}

#[tokio::test]
async fn spec_4_3_an_administrators_word_stands_where_it_changes_nothing() {
    let me = Actor::agent("wren");
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let protect = Turn::call("protect_memory", json!({"id": 1}));
    let (driven, _) = wren.refine([protect, complete()]).await;
    let protected = wren.handle(Number(1), Handling::Protect).await;
    assert!(protected.constitutional);
    assert_eq!(wren.actions().await.last().unwrap(), "memory_protected");
    let id = driven.id;
    let refused = wren
        .agent
        .sessions()
        .roll_back(id, true, &me)
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::BeyondAgent { .. }));
    assert!(
        wren.memories().await[0]["constitutional"]
            .as_bool()
            .unwrap()
    );
}

#[tokio::test]
async fn spec_4_3_an_agent_undoes_its_last_session_and_no_earlier_one() {
    let me = Actor::agent("wren");
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let (first, _) = wren.refine([merge([4, 5]), complete()]).await;
    wren.clock.advance(std::time::Duration::from_secs(60));
    // The second session has session tools, but has written no record yet.
    let (second, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    let sessions = wren.agent.sessions();
    let refused = sessions.roll_back_last(first.id, false, &me).await;
    assert!(matches!(refused, Err(Error::NotLastSession)), "{refused:?}");
    assert_eq!(wren.kept().await, [1, 2, 3, 7, 6]);
    // The first session stays refused after the second one has ended, since the second one had session tools.
    wren.agent.sessions().cancel(second.id, &me).await.unwrap();
    let sessions = wren.agent.sessions();
    let refused = sessions.roll_back_last(first.id, false, &me).await;
    assert!(matches!(refused, Err(Error::NotLastSession)), "{refused:?}");
    wren.roll_back(first.id, false).await;
    assert_eq!(wren.kept().await.len(), 6);
}

#[tokio::test]
async fn spec_4_3_the_last_session_is_the_last_by_the_log_where_the_clock_was_set_back() {
    let me = Actor::agent("wren");
    let wren = TestAgent::new(&MEMORIES[..6]).await;
    let (first, _) = wren.refine([merge([4, 5]), complete()]).await;
    wren.clock.set_back(std::time::Duration::from_secs(3_600));
    let protect = Turn::call("protect_memory", json!({"id": 1}));
    let (second, _) = wren.refine([protect, complete()]).await;
    assert!(second.started_at < first.started_at);
    let sessions = wren.agent.sessions();
    let refused = sessions.roll_back_last(first.id, false, &me).await;
    assert!(matches!(refused, Err(Error::NotLastSession)), "{refused:?}");
    let undone = sessions.roll_back_last(second.id, false, &me).await;
    assert!(undone.unwrap().undone_at.is_some());
    assert!(!wren.facts(1).await.constitutional);
    assert_eq!(wren.kept().await, [1, 2, 3, 7, 6]);
}

#[tokio::test]
async fn spec_4_3_declined_sessions_behind_the_last_one_are_not_read_each() {
    let me = Actor::agent("wren");
    let mut used = Vec::new();
    for declined in [1, 5] {
        let calls = Arc::new(CountedCalls::default());
        let inner = Arc::new(SqliteStore::in_memory().unwrap());
        let store = Arc::new(WatchedStore::new(inner, calls.clone()));
        let wren = TestAgent::on(store, &MEMORIES[..6], InstallationSettings::default()).await;
        let (first, _) = wren.refine([merge([4, 5]), complete()]).await;
        for _ in 0..declined {
            // After a refusal a request waits for a day.
            wren.clock.advance(std::time::Duration::from_secs(172_800));
            wren.script([Turn::text("No.")]);
            assert_eq!(wren.drive().await.state, State::Declined);
        }
        calls.take();
        let sessions = wren.agent.sessions();
        let undone = sessions.roll_back_last(first.id, false, &me).await;
        assert!(undone.unwrap().undone_at.is_some());
        used.push(calls.take());
    }
    assert_eq!(used[0], used[1]);
}
