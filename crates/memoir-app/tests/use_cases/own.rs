//! Sessions that the agent drives itself: the same rules and the same code (SPEC 3.2, 3.16, 3.18).

use std::{sync::Arc, time::Duration};

use memoir_app::{Error, Handling, MemoryInput, OwnAgent, sessions::RefineOptions};
use memoir_domain::{
    SessionId,
    agent::Field,
    audit::Actor,
    lifecycle::{NothingToRefine, StartRefusal},
    memory::{Kind, Number},
    session::{Driver, Mode, State},
};
use memoir_testkit::input;
use serde_json::json;

use crate::installation::{
    MEMORIES, TestAgent, agent_of, assert_ended, call, check_cap, complete, enqueue, handle_by,
    new_folder, person, save_by,
};

async fn opened(wren: &TestAgent) -> SessionId {
    let (session, _) = wren.agent.open_own(Mode::Full).await.unwrap();
    session.id
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

#[tokio::test]
async fn spec_3_18_an_agent_opens_edits_and_completes_its_own_session() {
    let wren = TestAgent::new(&[&MEMORIES[..], &[MEMORIES[0]]].concat()).await;
    let (session, opened) = wren.agent.open_own(Mode::Full).await.unwrap();
    assert_eq!(
        (session.state, session.driver, session.model.as_deref()),
        (State::Open, Driver::Agent, None)
    );
    assert_eq!(opened.duplicates_removed, 1, "no duplicate is found");
    assert_eq!(
        session.pre_session_tokens,
        Some(opened.gauge.pre_session_tokens)
    );
    let prompt = opened.prompt.text();
    assert!(prompt.expose().contains(MEMORIES[5]));
    assert!(prompt.expose().contains("zero edits"));

    let deleted = call(&wren.agent, session.id, "delete_memory", json!({"id": 6})).await;
    assert_eq!(deleted["type"], "deleted");
    let summary = json!({"summary": "One memory less."});
    let done = call(&wren.agent, session.id, "complete_refinement", summary).await;
    assert_eq!(done["type"], "refinement_complete");
    assert_eq!(done["stats"]["deleted"], 1);

    let ended = wren.agent.views().session(session.id).await.unwrap();
    assert_eq!((ended.state, ended.edits), (State::Completed, 1));
    let actions = wren.actions().await;
    let of_session: Vec<_> = actions
        .iter()
        .filter(|action| action.contains("refinement"))
        .collect();
    assert_eq!(
        of_session,
        ["memory_refinement_delete", "memory_refinement_complete"]
    );
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

/// A process does not decide on its cached memories once another process changed them.
#[tokio::test]
async fn spec_3_14_a_delete_is_decided_on_what_the_store_has_whichever_process_wrote_it() {
    let folder = new_folder();
    let (here, robin) = (
        TestAgent::of(&folder.open()).await,
        TestAgent::named("robin", &folder.open()).await,
    );
    let elsewhere = agent_of(&folder.open().memoir, "wren").await;
    let own = Actor::agent("wren");
    let refuse = [(Field::LossGuard, Some("refuse"))];
    let ballast = "Every order of the bindery is in the ledger. ".repeat(20);
    for agent in [&here.agent, &robin.agent] {
        agent.settings().configure(&refuse, &own).await.unwrap();
        for text in [
            "Ann sings in the choir.",
            "ann sings in the choir",
            "Cy rows on the lake.",
            "CY ROWS ON THE LAKE!",
            ballast.trim(),
        ] {
            agent.memories().save(&[input(text)], &own).await.unwrap();
        }
    }
    // Under `refuse` only a memory with the text of an earlier one leaves, up to case.
    let delete = async |agent: &OwnAgent, session, number: u64| {
        let deleted = call(agent, session, "delete_memory", json!({"id": number})).await;
        match deleted["type"].as_str() {
            Some("deleted") => deleted["under"].as_u64().ok_or_else(String::new),
            _ => Err(deleted["code"].as_str().unwrap().to_owned()),
        }
    };
    let session = opened(&here).await;
    // All memories are read.
    assert_eq!(delete(&here.agent, session, 2).await, Ok(1));
    let discard = async |agent: &OwnAgent, number| {
        let discarded = agent
            .memories()
            .handle(Number(number), Handling::Discard, &own);
        discarded.await.unwrap();
    };
    discard(&elsewhere, 3).await;
    let refused = delete(&here.agent, session, 4).await;
    assert_eq!(refused, Err("guard".to_owned()));
    handle_by(&elsewhere, Number(3), Handling::Restore, &own).await;
    assert_eq!(delete(&here.agent, session, 4).await, Ok(3));
    let saved = save_by(&elsewhere, &["Dee paints.", "DEE PAINTS."].map(input), &own).await;
    let [first, copy] = [0, 1].map(|place| saved[place].memory.number.0);
    assert_eq!(delete(&here.agent, session, copy).await, Ok(first));
    // And nothing is ever another agent's.
    let session = opened(&robin).await;
    discard(&robin.agent, 1).await;
    let refused = delete(&robin.agent, session, 2).await;
    assert_eq!(refused, Err("guard".to_owned()));
    for wren in [&here, &robin] {
        assert!(wren.agent.log().verify().await.unwrap().valid);
    }
}

#[tokio::test]
async fn spec_3_16_an_agent_that_makes_no_call_for_half_an_hour_has_left_its_session() {
    let wren = TestAgent::new(&MEMORIES).await;
    let session = opened(&wren).await;
    call(&wren.agent, session, "delete_memory", json!({"id": 6})).await;
    wren.clock.advance(minutes(31));
    let late = call(&wren.agent, session, "delete_memory", json!({"id": 5})).await;
    assert_eq!(late["code"], "session_over");
    let ended = wren.agent.views().session(session).await.unwrap();
    assert_ended(&ended, State::Abandoned, "idle");
    assert_eq!(
        wren.kept().await,
        [1, 2, 3, 4, 5],
        "edits stay, and the late one is none"
    );
    assert_eq!(
        wren.actions().await.last().map(String::as_str),
        Some("memory_refinement_abandoned")
    );
    assert!(wren.agent.log().verify().await.unwrap().valid);
    wren.check().await;
}

/// An indexed lease is not written with each edit, and yet counts from the last one.
#[tokio::test]
async fn spec_3_16_an_edit_soon_after_another_leaves_the_hold_as_it_is() {
    let wren = TestAgent::new(&MEMORIES).await;
    let session = opened(&wren).await;
    let first_end = wren.agent.now().plus_microseconds(1_810_000_001);
    let ends_by = async |time| !wren.store.lapsed_sessions(time).await.unwrap().is_empty();
    for (seconds, is_as_it_was) in [(0, true), (9, true), (1, false)] {
        wren.clock.advance(Duration::from_secs(seconds));
        call(
            &wren.agent,
            session,
            "update_memory",
            json!({"id": 1, "content": MEMORIES[0]}),
        )
        .await;
        let shorter = "The old press came from Lisbon and needs oil each month.";
        let edited = json!({"id": 1, "content": shorter});
        call(&wren.agent, session, "update_memory", edited).await;
        assert_eq!(ends_by(first_end).await, is_as_it_was);
    }
}

#[tokio::test]
async fn spec_3_16_a_session_that_was_left_is_closed_without_any_call() {
    let wren = TestAgent::new(&MEMORIES).await;
    let session = opened(&wren).await;
    wren.clock.advance(minutes(29));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 0);
    wren.clock.advance(minutes(2));
    assert_eq!(wren.memoir.close_lapsed_sessions().await.unwrap(), 1);
    let ended = wren.agent.views().session(session).await.unwrap();
    assert_eq!(ended.end_reason, Some("idle"));
    opened(&wren).await;
}

#[tokio::test]
async fn spec_3_16_a_clock_that_was_put_back_by_hours_is_no_idleness() {
    for is_swept in [false, true] {
        let wren = TestAgent::new(&MEMORIES).await;
        let session = opened(&wren).await;
        let closed = async || wren.memoir.close_lapsed_sessions().await.unwrap();
        wren.clock.put_back(minutes(180));
        if is_swept {
            assert_eq!(closed().await, 0);
        }
        let deleted = call(&wren.agent, session, "delete_memory", json!({"id": 6})).await;
        assert_eq!(deleted["type"], "deleted", "{deleted}");
        // The half hour is counted by the present clock.
        wren.clock.advance(minutes(29));
        assert_eq!(closed().await, 0);
        wren.clock.advance(minutes(2));
        assert_eq!(closed().await, 1);
        let ended = wren.agent.views().session(session).await.unwrap();
        assert_ended(&ended, State::Abandoned, "idle");
    }
}

#[tokio::test]
async fn spec_3_16_every_call_counts_as_a_sign_of_life() {
    for (tool, arguments) in [
        ("search_memories", json!({"query": "paper"})),
        ("no_such_tool", json!({})),
        ("delete_memory", json!({"id": 99})),
        ("protect_memory", json!({"id": 1})),
        ("update_memory", json!({"id": 2, "content": MEMORIES[1]})),
    ] {
        let wren = TestAgent::new(&MEMORIES).await;
        let session = opened(&wren).await;
        for _ in 0..3 {
            // The last call decides, however shortly it came after another.
            wren.clock.advance(Duration::from_secs(9));
            call(&wren.agent, session, tool, arguments.clone()).await;
            wren.clock.advance(Duration::from_secs(29 * 60 + 55));
            assert_eq!(
                wren.memoir.close_lapsed_sessions().await.unwrap(),
                0,
                "{tool}"
            );
            let answer = call(&wren.agent, session, tool, arguments.clone()).await;
            assert_ne!(answer["code"], "session_over", "{tool}");
        }
    }
}

#[tokio::test]
async fn spec_3_2_a_second_start_names_the_session_that_the_agent_has_open() {
    let wren = TestAgent::new(&MEMORIES).await;
    let session = opened(&wren).await;
    let refused = |error: Option<Error>| {
        assert!(
            matches!(error, Some(Error::Start(StartRefusal::SessionOpen(id))) if id == session)
        );
    };
    refused(wren.agent.open_own(Mode::Full).await.err());
    refused(
        wren.agent
            .sessions()
            .enqueue(&RefineOptions::default())
            .await
            .err(),
    );
    let driven = wren
        .seen()
        .refine(&RefineOptions::default(), &mut |_| {})
        .await;
    refused(driven.err());
}

#[tokio::test]
async fn spec_3_2_of_many_starts_at_once_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let store = memoir_store_sqlite::SqliteStore::open(&folder.path().join("m.db")).unwrap();
    let wren = TestAgent::on(Arc::new(store), &MEMORIES, crate::installation::settings()).await;
    let starts: Vec<_> = (0..16)
        .map(|_| {
            let agent = wren.agent.clone();
            tokio::spawn(async move { agent.open_own(Mode::Full).await })
        })
        .collect();
    let (mut won, mut refused) = (Vec::new(), Vec::new());
    for start in starts {
        match start.await.unwrap() {
            Ok((session, _)) => won.push(session.id),
            Err(Error::Start(StartRefusal::SessionOpen(id))) => refused.push(id),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((won.len(), refused.len()), (1, 15));
    assert!(refused.iter().all(|id| *id == won[0]));
}

#[tokio::test]
async fn spec_3_2_an_agent_that_restarted_takes_its_session_up_again() {
    let wren = TestAgent::new(&MEMORIES).await;
    assert!(wren.agent.take_up_own().await.unwrap().is_none());
    let session = opened(&wren).await;
    let before = wren.agent.views().session(session).await.unwrap();
    call(&wren.agent, session, "delete_memory", json!({"id": 6})).await;
    wren.remember("A memory that came while the session was open.")
        .await;

    let again = TestAgent::again(wren.store.clone(), wren.keys.clone()).await;
    let (taken, opened) = again.agent.take_up_own().await.unwrap().unwrap();
    assert_eq!((taken.id, taken.edits), (session, 1));
    assert_eq!(taken.pre_session_tokens, before.pre_session_tokens);
    assert_eq!(taken.threshold, before.threshold);
    let prompt = opened.prompt.text();
    assert!(!prompt.expose().contains(MEMORIES[5]), "it was deleted");
    assert!(prompt.expose().contains("while the session was open"));
    let answer = call(&again.agent, session, "protect_memory", json!({"id": 5})).await;
    assert_eq!(answer["type"], "protected");
}

#[tokio::test]
async fn spec_3_2_taking_a_session_up_renews_it_and_one_that_lapsed_is_gone() {
    let wren = TestAgent::new(&MEMORIES).await;
    let session = opened(&wren).await;
    for _ in 0..3 {
        wren.clock.advance(minutes(29));
        let (taken, _) = wren.agent.take_up_own().await.unwrap().unwrap();
        assert_eq!(taken.id, session);
    }
    wren.clock.advance(minutes(31));
    assert!(wren.agent.take_up_own().await.unwrap().is_none());
    let ended = wren.agent.views().session(session).await.unwrap();
    assert_eq!(ended.end_reason, Some("idle"));
}

#[tokio::test]
async fn spec_3_2_the_agent_takes_up_no_session_that_memoir_drives() {
    let wren = TestAgent::new(&MEMORIES).await;
    enqueue(&wren.agent, &RefineOptions::default()).await;
    assert!(wren.agent.take_up_own().await.unwrap().is_none());
}

#[tokio::test]
async fn spec_3_2_a_session_that_is_cancelled_is_abandoned_and_its_edits_stay() {
    for actor in [person(), Actor::agent("wren")] {
        let wren = TestAgent::new(&MEMORIES).await;
        let session = opened(&wren).await;
        call(&wren.agent, session, "delete_memory", json!({"id": 6})).await;
        let ended = wren.agent.sessions().cancel(session, &actor).await.unwrap();
        assert_ended(&ended, State::Abandoned, "cancelled");
        let late = call(&wren.agent, session, "delete_memory", json!({"id": 5})).await;
        assert_eq!(late["code"], "session_over");
        assert_eq!(wren.kept().await, [1, 2, 3, 4, 5]);
        assert!(matches!(
            wren.agent.sessions().cancel(session, &actor).await,
            Err(Error::SessionLost(id)) if id == session
        ));
        wren.check().await;
    }
}

#[tokio::test]
async fn spec_3_18_the_breaker_takes_all_of_the_agents_own_session_back() {
    let wren = TestAgent::new(&MEMORIES).await;
    let before = wren.memories().await;
    let session = opened(&wren).await;
    let mut answers = Vec::new();
    for number in 1..=6 {
        let answer = call(&wren.agent, session, "delete_memory", json!({"id": number})).await;
        answers.push(answer);
    }
    let tripped = answers
        .iter()
        .position(|answer| answer["type"] == "refinement_rolled_back");
    let tripped = tripped.unwrap();
    assert!(
        answers[tripped + 1..]
            .iter()
            .all(|answer| answer["code"] == "session_over")
    );
    let kept: Vec<u64> = wren.kept().await;
    assert_eq!(kept, [1, 2, 3, 4, 5, 6]);
    assert_eq!(wren.memories().await.len(), before.len());
    let ended = wren.agent.views().session(session).await.unwrap();
    assert_eq!(ended.state, State::RolledBack);
    assert_eq!(wren.journal().await.len(), 1, "the agent is notified");
    assert!(wren.agent.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_3_18_the_cap_is_that_of_every_session() {
    let wren = TestAgent::with_notes(60).await;
    let off = [(Field::LossGuard, Some("off"))];
    wren.configure(&off).await;
    let own = opened(&wren).await;
    check_cap(&wren.agent, own).await;
    let summary = json!({"summary": "Ten."});
    call(&wren.agent, own, "complete_refinement", summary).await;

    let deletions = (21..=32).map(crate::installation::delete);
    let (driven, _) = wren.refine(deletions.chain([complete()])).await;
    assert_eq!((driven.edits, driven.state), (10, State::Completed));
    wren.check().await;
}

#[tokio::test]
async fn spec_3_18_the_mode_holds_for_the_agents_own_session() {
    let wren = TestAgent::new(&MEMORIES).await;
    // A duplicate, so that there is an edit to make.
    wren.remember(MEMORIES[0]).await;
    let (session, _) = wren.agent.open_own(Mode::DedupOnly).await.unwrap();
    let update = json!({"id": 1, "content": "The press needs oil."});
    let refused = call(&wren.agent, session.id, "update_memory", update).await;
    assert_eq!(refused["code"], "mode");
    // No other memory says the same, so it is no duplicate.
    let refused = call(&wren.agent, session.id, "delete_memory", json!({"id": 6})).await;
    assert_eq!(refused["code"], "mode");
}

#[tokio::test]
async fn spec_3_1_there_is_nothing_to_refine_without_core_memories() {
    let wren = TestAgent::new(&[]).await;
    assert!(matches!(
        wren.agent.open_own(Mode::Full).await,
        Err(Error::Start(StartRefusal::NothingToRefine(
            NothingToRefine::NoCoreMemories
        )))
    ));
}

#[tokio::test]
async fn spec_3_2_a_session_of_the_agent_goes_on_after_the_process_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let open = || Arc::new(memoir_store_sqlite::SqliteStore::open(&path).unwrap());
    let wren = TestAgent::on(open(), &MEMORIES, crate::installation::settings()).await;
    let session = opened(&wren).await;
    call(&wren.agent, session, "delete_memory", json!({"id": 6})).await;
    let keys = wren.keys.clone();
    drop(wren);
    let again = TestAgent::again(open(), keys).await;
    let answer = call(&again.agent, session, "protect_memory", json!({"id": 5})).await;
    assert_eq!(answer["type"], "protected");
    let ended = again.agent.views().session(session).await.unwrap();
    assert_eq!(
        (ended.edits, ended.stats.protected, ended.state),
        (1, 1, State::Open)
    );
}

#[tokio::test]
async fn spec_3_8_a_memory_saved_during_a_session_is_edited_in_it() {
    for tool in ["update_memory", "delete_memory", "protect_memory"] {
        let wren =
            TestAgent::new(&[&"Ballast keeps the mass high. ".repeat(40), "A first fact."]).await;
        let session = opened(&wren).await;
        let edited = call(
            &wren.agent,
            session,
            "update_memory",
            json!({"id": 2, "content": "First fact."}),
        )
        .await;
        assert_eq!(edited["type"], "updated", "{edited}");
        let input = MemoryInput {
            kind: Some(Kind::Core),
            ..input("A note taken during the session.")
        };
        save_by(&wren.agent, &[input], &Actor::agent("wren")).await;
        let mut arguments = json!({"id": 3});
        if tool == "update_memory" {
            arguments["content"] = "A note taken during session.".into();
        }
        let answer = call(&wren.agent, session, tool, arguments).await;
        assert_ne!(answer["type"], "error", "{tool}: {answer}");
    }
}
