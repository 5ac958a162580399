//! SPEC 3.2, 3.3, 3.15 and 3.16: how a session begins and the ways in which it ends.

use memoir_domain::{
    SessionId,
    agent::{Attempt, Field, Threshold},
    audit::{Action, Actor},
    lifecycle::{self, NothingToRefine, SessionEnding, Start, StartRefusal},
    memory::Kind,
    session::{EndReason, FailureClass, Mode, State},
};
use serde_json::json;

use crate::world::{World, admin};

fn start(world: &World, rehearsal: bool) -> Start {
    Start {
        rehearsal,
        ..world.start(Mode::Full)
    }
}

#[test]
fn spec_3_2_a_start_is_refused_with_its_reason() {
    let running = SessionId::from_bytes([4; 16]);
    let mut world = World::with(&["tea"]);
    let begin = |world: &World, running, nothing| {
        lifecycle::begin(
            world.agent.clone(),
            running,
            start(world, false),
            nothing,
            world.now,
        )
        .map(|decision| decision.sessions[0].state)
    };
    assert_eq!(begin(&world, None, None), Ok(State::Asking));
    let open = Err(StartRefusal::SessionOpen(running));
    assert_eq!(begin(&world, Some(running), None), open);
    let nothing = NothingToRefine::NoCoreMemories;
    let refused = Err(StartRefusal::NothingToRefine(nothing));
    assert_eq!(begin(&world, None, Some(nothing)), refused);
    world.set(Field::Paused, "true");
    assert_eq!(
        begin(&world, None, None),
        Ok(State::Asking),
        "paused or not"
    );
    world.set(Field::Active, "false");
    assert_eq!(begin(&world, None, None), Err(StartRefusal::Inactive));
}

#[test]
fn spec_3_5_a_session_in_which_nothing_can_be_done_is_not_started() {
    use NothingToRefine::{AllProtected, NoCoreMemories, NoDuplicates};
    let (full, dedup) = (Mode::Full, Mode::DedupOnly);
    for (guard, mode, texts, expected) in [
        ("archive", full, &["tea", "wool"][..], None),
        ("archive", full, &["~tea", "^wool"], Some(NoCoreMemories)),
        ("off", full, &[], Some(NoCoreMemories)),
        ("archive", full, &["!tea", "@wool"], Some(AllProtected)),
        ("archive", dedup, &["!tea", "!tea"], Some(AllProtected)),
        ("off", full, &["!tea", "@wool"], None),
        ("refuse", full, &["tea", "wool"], Some(NoDuplicates)),
        ("refuse", full, &["tea", "TEA"], None),
        ("refuse", full, &["tea", "tea"], None),
        ("archive", dedup, &["tea", "wool"], Some(NoDuplicates)),
        ("archive", dedup, &["tea", "TEA"], None),
        // The one that is free is out of reach.
        ("archive", dedup, &["tea", "@TEA"], Some(NoDuplicates)),
        ("off", dedup, &["tea", "wool"], Some(NoDuplicates)),
    ] {
        let mut world = World::under(guard).saving(texts);
        let expected = expected.map_or(Ok(()), |nothing| {
            Err(StartRefusal::NothingToRefine(nothing))
        });
        assert_eq!(world.begin(mode), expected, "{guard} {mode:?} {texts:?}");
    }
}

#[test]
fn spec_3_1_a_start_is_an_attempt_and_a_rehearsal_is_none() {
    let world = World::with(&["teatime"]);
    let attempt = |rehearsal| {
        lifecycle::begin(
            world.agent.clone(),
            None,
            start(&world, rehearsal),
            None,
            world.now,
        )
        .unwrap()
        .agent
        .last_attempt
    };
    let begun = Attempt {
        at: world.now,
        core_tokens: 2,
        failures: 0,
        retry_at: None,
    };
    assert_eq!(attempt(false), Some(begun));
    assert_eq!(attempt(true), None);
}

#[test]
fn spec_3_15_completion_writes_what_was_measured() {
    let mut world = World::over(&["tea at dawn", "tea at noon", "wool in winter", "linen"]);
    world.summarise(&[2, 3], "tea all day");
    world.delete(4);
    let report = "Tea is one memory now.\nWool is in the archive.";
    let result = world.call(
        "complete_refinement",
        json!({"summary": format!(" {report} ")}),
    );
    let stats = json!({"consolidated": 2, "updated": 0, "deleted": 1, "protected": 0});
    assert_eq!(
        result,
        json!({
            "type": "refinement_complete", "summary": report, "stats": stats, "archived": 3, "summaries": 1,
            "pre_session_tokens": 1_212, "post_session_tokens": 1_205,
        })
    );
    assert_eq!(
        world.last_entry(),
        format!(
            "Refinement session: 2 memories archived under 1 summary, 1 alone; 1,212 → 1,205 tokens: {report}"
        )
    );
    let session = world.last_session();
    assert_eq!(
        (session.state, session.end_reason),
        (State::Completed, None)
    );
    assert_eq!(session.post_session_tokens, Some(1_205));
    assert_eq!(session.summary, Some(report.into()));
    assert_eq!((session.ended_at, session.lease), (Some(world.now), None));
    let record = world.last_record();
    assert_eq!(record.action, Action::MemoryRefinementComplete);
    assert_eq!(record.body.summary, session.summary);
    let facts = record.facts.as_map();
    assert_eq!(
        (&facts["stats"], &facts["tokens_removed"]),
        (&stats, &json!(7))
    );
    assert_eq!(
        (&facts["archived"], &facts["summaries"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(world.agent.last_refinement_at, Some(world.now));
    assert_eq!(world.agent.last_attempt.unwrap().core_tokens, 1_205);
}

#[test]
fn spec_3_15_the_first_line_states_what_was_archived() {
    type Edits = fn(&mut World);
    let cases: [(Edits, &str); 4] = [
        (|_| {}, "no edits; 1,206 → 1,206 tokens"),
        (
            |world| drop(world.delete(2)),
            "1 memory archived; 1,206 → 1,203 tokens",
        ),
        (
            |world| {
                world.summarise(&[2], "tea");
                world.summarise(&[3], "wool");
            },
            "2 memories archived under 2 summaries; 1,206 → 1,202 tokens",
        ),
        (
            |world| drop(world.call("protect_memory", json!({"id": 2}))),
            "1 protected; 1,206 → 1,206 tokens",
        ),
    ];
    for (edits, expected) in cases {
        let mut world = World::session(&["tea at dawn", "warm wool."]);
        edits(&mut world);
        world.complete();
        assert_eq!(
            world.last_entry(),
            format!("Refinement session: {expected}: Done.")
        );
    }
}

#[test]
fn spec_3_3_a_refusal_is_recorded_with_its_reason_and_is_an_attempt() {
    let mut world = World::with(&["tea"]);
    world.begin(Mode::Full).unwrap();
    let decision = lifecycle::end(
        world.agent.clone(),
        world.last_session().clone(),
        SessionEnding::Declined("NO, not today.".into()),
        &Actor::agent("wren"),
        world.now,
    );
    world.apply(decision);
    let session = world.last_session();
    assert_eq!(
        (session.state, session.end_reason),
        (State::Declined, Some(EndReason::Refused))
    );
    assert_eq!(session.reason, Some("NO, not today.".into()));
    assert_eq!(
        (session.pre_session_tokens, session.post_session_tokens),
        (None, None)
    );
    let record = world.last_record();
    assert_eq!(record.action, Action::MemoryRefinementDeclined);
    assert_eq!(record.body.reason, session.reason);
    assert_eq!(world.agent.last_refinement_at, None);
    assert!(world.agent.last_attempt.is_some());
}

#[test]
fn spec_3_16_an_abandoned_or_failed_session_keeps_its_edits_and_is_recorded() {
    let ends = [
        (
            EndReason::TurnLimit,
            State::Abandoned,
            Action::MemoryRefinementAbandoned,
        ),
        (
            EndReason::Cancelled,
            State::Abandoned,
            Action::MemoryRefinementAbandoned,
        ),
        (
            EndReason::Provider,
            State::Failed,
            Action::MemoryRefinementFailed,
        ),
    ];
    for (why, state, action) in ends {
        let mut world = World::session(&["tea", "wool"]);
        world.delete(2);
        let (agent, session) = (world.agent.clone(), world.last_session().clone());
        let (ending, actor) = match state {
            State::Failed => (
                SessionEnding::Failed(FailureClass::Quota, "HTTP 402".to_owned()),
                Actor::system(),
            ),
            _ => (SessionEnding::Abandoned(why), admin()),
        };
        let decision = lifecycle::end(agent, session, ending, &actor, world.now);
        world.apply(decision);
        assert_eq!(world.core_numbers(), [1, 3]);
        let session = world.last_session();
        assert_eq!((session.state, session.end_reason), (state, Some(why)));
        let failure = (state == State::Failed).then_some(FailureClass::Quota);
        assert_eq!(session.failure, failure);
        assert_eq!(
            (session.post_session_tokens, session.lease),
            (Some(1_201), None)
        );
        assert_eq!(world.last_record().action, action);
        assert_eq!(world.last_record().facts.as_map()["reason"], why.as_str());
        assert_eq!(
            world.last_record().facts.code_of("failure"),
            failure.map(FailureClass::as_str)
        );
        assert_eq!(world.last_record().facts.as_map()["edits"], 1);
        assert_eq!(world.delete(3)["code"], "session_over");
        let because = match why {
            EndReason::TurnLimit => "the limit of turns was reached",
            EndReason::Cancelled => "it was cancelled",
            _ => "your model could not be asked any more",
        };
        let entry = format!(
            "Refinement session ended without completing, because {because} (1 memory archived; 1,202 → 1,201 tokens). \
             What it did stays; it can be undone."
        );
        assert_eq!(world.active(Kind::Journal), [(4, &entry[..])]);
        assert_eq!(world.last_record().memory.unwrap().0, 4);
        world.check_replay();
    }
}

#[test]
fn spec_3_16_an_end_that_left_nothing_behind_writes_no_entry() {
    for (rehearsal, deletes) in [(false, false), (true, true)] {
        let mut world = World::session(&["tea", "wool"]);
        if deletes {
            world.delete(2);
        }
        let (agent, mut session) = (world.agent.clone(), world.last_session().clone());
        session.rehearsal = rehearsal;
        let ending = SessionEnding::Abandoned(EndReason::Stopped);
        let ended = lifecycle::end(agent, session, ending, &Actor::system(), world.now);
        assert_eq!(ended.changes, []);
    }
}

#[test]
fn spec_3_15_the_rollback_of_a_session_without_tools_yet_reports_no_change_of_the_core_size() {
    let mut world = World::with(&["tea at dawn", "wool"]);
    world.begin(Mode::Full).unwrap();
    world.roll_back();
    let entry = world.last_entry();
    assert!(
        entry.contains("Your core memories are at 4 tokens again, as before the session."),
        "{entry}"
    );
    let session = world.last_session();
    assert_eq!(session.state, State::RolledBack);
    assert_eq!(
        (session.pre_session_tokens, session.post_session_tokens),
        (None, None)
    );
    let facts = world.last_record().facts.as_map();
    assert_eq!(
        (&facts["pre_session_tokens"], &facts["post_session_tokens"]),
        (&json!(4), &json!(4))
    );
    world.check_replay();
}

#[test]
fn spec_3_13_an_ended_session_states_the_threshold_that_held() {
    type End = fn(&mut World);
    let ends: [End; 3] = [
        |world| drop(world.complete()),
        World::roll_back,
        |world| {
            let (agent, session) = (world.agent.clone(), world.last_session().clone());
            let ending = SessionEnding::Abandoned(EndReason::Cancelled);
            let decision = lifecycle::end(agent, session, ending, &admin(), world.now);
            world.apply(decision);
        },
    ];
    for end in ends {
        for (set, held) in [("0.9", 0.9), ("0.5", 0.75)] {
            let mut world = World::session(&["tea", "wool"]);
            world.set(Field::RefinementThreshold, set);
            end(&mut world);
            let held = Threshold::new(held).unwrap();
            assert_eq!(world.last_session().threshold, Some(held));
        }
    }
}

#[test]
fn spec_3_16_every_end_has_its_wire_name() {
    for state in State::ALL {
        assert_eq!(json!(state), state.as_str());
        let ended = !matches!(state, State::Queued | State::Asking | State::Open);
        assert_eq!(state.is_running(), !ended);
    }
}

#[test]
fn spec_4_1_the_first_record_of_a_session_states_which_actor_began_it() {
    let began = |world: &World| -> Vec<Option<serde_json::Value>> {
        let id = Some(world.last_session().id);
        let own = world.log.iter().filter(|record| record.session == id);
        own.map(|record| record.facts.as_map().get("started_by").cloned())
            .collect()
    };
    let petra = || Some(json!({"kind": "administrator", "name": "Petra"}));
    let mut world = World::session(&["tea", "wool"]);
    world.update(2, "tea!");
    world.delete(3);
    world.complete();
    assert_eq!(began(&world), [petra(), None, None]);
    world.check_replay();
    // A session without edits has the record of its end alone.
    let mut world = World::session(&["tea"]);
    world.complete();
    assert_eq!(began(&world), [petra()]);
    // The duplicate cleanup is recorded as the session is opened, and is the first one then.
    let mut world = World::session(&["tea", "tea", "wool"]);
    world.update(4, "wool!");
    world.complete();
    assert_eq!(began(&world), [petra(), None, None]);
    world.check_replay();
    let mut changed = world.last_session().clone();
    changed.started_by = Some(Actor::agent("wren"));
    let replay = memoir_domain::replay::Replay::of(&world.log).unwrap();
    let mismatch = replay.check_sessions(&[changed]).unwrap_err();
    assert!(
        mismatch
            .problem
            .ends_with("`started_by` is not as recorded"),
        "{mismatch}"
    );
}
