//! SPEC 3.2, 3.3, 3.15 and 3.16: how a session begins and the ways in which it ends.

use memoir_domain::{
    SessionId,
    agent::{Attempt, Field},
    audit::{Action, Actor},
    lifecycle::{self, Start, StartRefusal},
    memory::Kind,
    session::{Driver, EndReason, Lease, Mode, State, Stats, Trigger},
};
use serde_json::json;

use crate::world::{World, admin};

fn start(world: &World, rehearsal: bool) -> Start {
    Start {
        id: SessionId::from_bytes([3; 16]),
        mode: Mode::Full,
        driver: Driver::Agent,
        trigger: Trigger::Request,
        rehearsal,
        model: None,
        lease: Some(Lease {
            until: world.now,
            holder: 1,
        }),
        started_by: memoir_domain::audit::Actor::administrator("Petra"),
    }
}

#[test]
fn spec_3_2_a_start_is_refused_with_its_reason() {
    let running = SessionId::from_bytes([4; 16]);
    let mut world = World::with(&["tea"]);
    let begin = |world: &World, running| {
        lifecycle::begin(world.agent.clone(), running, start(world, false), world.now)
            .map(|decision| decision.sessions[0].state)
    };
    assert_eq!(begin(&world, None), Ok(State::Asking));
    assert_eq!(
        begin(&world, Some(running)),
        Err(StartRefusal::SessionOpen(running))
    );
    assert_eq!(
        begin(&World::with(&["~tea"]), None),
        Err(StartRefusal::NothingToRefine)
    );
    world.set(Field::Paused, "true");
    assert_eq!(begin(&world, None), Ok(State::Asking), "paused or not");
    world.set(Field::Active, "false");
    assert_eq!(begin(&world, None), Err(StartRefusal::Inactive));
}

#[test]
fn spec_3_1_a_start_is_an_attempt_and_a_rehearsal_is_none() {
    let world = World::with(&["teatime"]);
    let attempt = |rehearsal| {
        lifecycle::begin(
            world.agent.clone(),
            None,
            start(&world, rehearsal),
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
    let text = |letter: &str| letter.repeat(400);
    let texts = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(text);
    let mut world = World::in_session(&texts.each_ref().map(String::as_str));
    world.delete(1);
    world.update(2, &"b".repeat(280));
    let result = world.call(
        "complete_refinement",
        json!({"summary": " One double gone.\nOne tightened. "}),
    );
    let stats = json!({"consolidated": 0, "updated": 1, "deleted": 1, "protected": 0});
    assert_eq!(
        result,
        json!({
            "type": "refinement_complete", "summary": "One double gone.\nOne tightened.", "stats": stats,
            "pre_session_tokens": 900, "post_session_tokens": 770,
        })
    );
    assert_eq!(
        world.kept(Kind::Journal),
        [(
            10,
            "Refinement session (1 deleted, 1 updated; 900 → 770 tokens, 14% less; 2 words let go): One double gone.\nOne tightened."
        )]
    );
    let session = world.session();
    assert_eq!(
        (session.state, session.end_reason),
        (State::Completed, None)
    );
    assert_eq!(session.post_session_tokens, Some(770));
    assert_eq!(
        session.summary,
        Some("One double gone.\nOne tightened.".into())
    );
    assert_eq!((session.ended_at, session.lease), (Some(world.now), None));
    let record = world.last_record();
    assert_eq!(record.action, Action::MemoryRefinementComplete);
    assert_eq!(record.body.summary, session.summary);
    assert_eq!(record.facts.as_map()["stats"], stats);
    assert_eq!(record.facts.as_map()["tokens_removed"], 130);
    assert_eq!(world.agent.last_refinement_at, Some(world.now));
    assert_eq!(world.agent.last_attempt.unwrap().core_tokens, 770);
}

#[test]
fn spec_3_15_a_session_without_edits_completes_too() {
    let mut world = World::in_session(&["tea"]);
    world.complete();
    assert_eq!(
        world.kept(Kind::Journal)[0].1,
        "Refinement session (no edits; 1 → 1 tokens): Done."
    );
    assert_eq!(world.session().stats, Stats::default());
}

#[test]
fn spec_3_3_a_refusal_is_recorded_with_its_reason_and_is_an_attempt() {
    let mut world = World::with(&["tea"]);
    world.begin(Mode::Full);
    let decision = lifecycle::decline(
        world.agent.clone(),
        world.session().clone(),
        "NO, not today.".into(),
        &Actor::agent("wren"),
        world.now,
    );
    world.apply(decision);
    let session = world.session();
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
        let mut world = World::in_session(&["tea", "wool", &"x".repeat(400)]);
        world.delete(1);
        let (agent, session) = (world.agent.clone(), world.session().clone());
        let decision = match state {
            State::Failed => lifecycle::fail(agent, session, "HTTP 402".to_owned(), world.now),
            _ => lifecycle::abandon(agent, session, why, &admin(), world.now),
        };
        world.apply(decision);
        assert_eq!(world.kept_core(), [2, 3]);
        let session = world.session();
        assert_eq!((session.state, session.end_reason), (state, Some(why)));
        assert_eq!(
            (session.post_session_tokens, session.lease),
            (Some(101), None)
        );
        assert_eq!(world.last_record().action, action);
        assert_eq!(world.last_record().facts.as_map()["reason"], why.as_str());
        assert_eq!(world.last_record().facts.as_map()["edits"], 1);
        assert_eq!(world.delete(2)["code"], "session_over");
        let because = match why {
            EndReason::TurnLimit => "the limit of turns was reached",
            EndReason::Cancelled => "it was cancelled",
            _ => "your model could not be asked any more",
        };
        let entry = format!(
            "Refinement session ended without completing, because {because} (1 deleted; 102 → 101 tokens, 1% less; 1 word let go). \
             What it did stays; it can be undone."
        );
        assert_eq!(world.kept(Kind::Journal), [(4, &entry[..])]);
        assert_eq!(world.last_record().memory.unwrap().0, 4);
        world.check_replay();
    }
}

#[test]
fn spec_3_16_an_end_that_left_nothing_behind_writes_no_entry() {
    for (rehearsal, deletes) in [(false, false), (true, true)] {
        let mut world = World::in_session(&["tea", "wool", &"x".repeat(400)]);
        if deletes {
            world.delete(1);
        }
        let (agent, mut session) = (world.agent.clone(), world.session().clone());
        session.rehearsal = rehearsal;
        let why = EndReason::Stopped;
        let ended = lifecycle::abandon(agent, session, why, &Actor::system(), world.now);
        assert_eq!(ended.changes, []);
    }
}

#[test]
fn spec_3_16_every_end_has_its_wire_name() {
    for state in [
        State::Queued,
        State::Asking,
        State::Open,
        State::Completed,
        State::RolledBack,
        State::Declined,
        State::Abandoned,
        State::Failed,
    ] {
        assert_eq!(json!(state), state.as_str());
        let ended = !matches!(state, State::Queued | State::Asking | State::Open);
        assert_eq!(state.is_running(), !ended);
    }
}

/// SPEC 4.1: who began a session is an open fact of its first record, whichever that is, and of no other.
#[test]
fn spec_4_1_the_first_record_of_a_session_tells_who_began_it() {
    let told = |world: &World| -> Vec<Option<serde_json::Value>> {
        let id = Some(world.session().id);
        let own = world.log.iter().filter(|record| record.session == id);
        own.map(|record| record.facts.as_map().get("started_by").cloned())
            .collect()
    };
    let petra = || Some(json!({"kind": "administrator", "name": "Petra"}));
    let mut world = World::in_session(&["tea", "wool", &"calm ".repeat(400)]);
    world.update(1, "tea!");
    world.delete(2);
    world.call("complete_refinement", json!({"summary": "Done."}));
    assert_eq!(told(&world), [petra(), None, None]);
    world.check_replay();
    // A session without edits has the record of its end alone.
    let mut world = World::in_session(&["tea", &"calm ".repeat(400)]);
    world.call("complete_refinement", json!({"summary": "Nothing to do."}));
    assert_eq!(told(&world), [petra()]);
    // The clean-up of doubles is written as it is opened, and is then the first one.
    let mut world = World::in_session(&["tea", "tea", "wool", &"calm ".repeat(400)]);
    world.update(3, "wool!");
    world.call("complete_refinement", json!({"summary": "Done."}));
    assert_eq!(told(&world), [petra(), None, None]);
    world.check_replay();
    // Whoever changes the row is found by the record.
    let mut changed = world.session().clone();
    changed.started_by = Some(Actor::agent("wren"));
    let replay = memoir_domain::replay::Replay::of(&world.log).unwrap();
    let misfit = replay.check_sessions(&[changed]).unwrap_err();
    assert!(
        misfit.problem.ends_with("`started_by` is not as recorded"),
        "{misfit}"
    );
}
