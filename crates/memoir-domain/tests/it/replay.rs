//! SPEC 4.2: a log that does not fit, and a state that the log does not contain.

use memoir_domain::{
    agent::{Agent, Field, Threshold},
    audit::{Action, Change, Record},
    draft::Draft,
    lifecycle::{self, SessionEnding},
    memory::{Memory, Number, Place},
    replay::{MemoryComparison, Replay, ReplayMismatch},
    session::{EndReason, Mode, Session, State},
};
use serde_json::json;

use crate::world::{BALLAST, World, admin, padding};

/// #1 is padding; two sessions, one of them undone; a change of a prompt; and a word that no message may have.
fn world() -> World {
    let world = World::of(&[(Field::CoreTokenBudget, Some("1000"))]);
    let mut world = world.saving(&[
        &padding(BALLAST),
        "secret tea at dawn",
        "secret wool",
        "linen",
        "a vow",
    ]);
    world.set(Field::SystemPrompt, "a secret prompt");
    world.open(Mode::Full);
    world.summarise(&[2], "secret tea");
    world.summarise(&[3, 4], "secret");
    world.call("protect_memory", json!({"id": 5}));
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    world.open(Mode::Full);
    world.delete(4);
    world.complete();
    world.check_replay();
    world
}

/// Where the log is found not to fit once it was tampered with.
fn mismatch(tamper: impl FnOnce(&mut Vec<Record>)) -> (u64, String) {
    let mut log = world().log;
    tamper(&mut log);
    let mismatch = Replay::of(&log).unwrap_err();
    assert!(!mismatch.to_string().contains("secret"), "{mismatch}");
    (mismatch.seq.unwrap(), mismatch.problem)
}

fn place_of(log: &[Record], action: Action) -> usize {
    log.iter()
        .position(|record| record.action == action)
        .unwrap()
}

#[test]
fn spec_4_2_the_first_record_that_does_not_fit_is_named() {
    let update = |log: &[Record]| place_of(log, Action::MemoryRefinementUpdate);
    let (seq, problem) = mismatch(|log| drop(log.remove(3)));
    assert_eq!((seq, &problem[..]), (5, "is where record 4 is expected"));

    let saved = |log: &[Record], number: u64| {
        let is_it = |record: &Record| {
            record.action == Action::MemorySaved && record.memory == Some(Number(number))
        };
        log.iter().position(is_it).unwrap()
    };
    let (seq, problem) = mismatch(|log| {
        let at = saved(log, 3);
        let Change::Created(memory) = &mut log[at].body.changes[0] else {
            panic!("a memory is saved");
        };
        memory.content = "secretly other".into();
    });
    let log = world().log;
    let consolidated = log[place_of(&log, Action::MemoryRefinementConsolidate)].seq;
    assert_eq!(
        (seq, &problem[..]),
        (
            consolidated,
            "changes memory #3 from a state that it was not in (content)"
        )
    );

    let (seq, problem) = mismatch(|log| {
        let at = update(log);
        log[at].body.changes.clear();
    });
    assert!(
        seq > log[update(&log)].seq && problem.contains("memory #"),
        "{seq} {problem}"
    );

    let (_, problem) = mismatch(|log| {
        let (first, second) = (saved(log, 2), saved(log, 3));
        log[second].body.changes = log[first].body.changes.clone();
    });
    assert_eq!(problem, "makes memory #2 where #3 is next");

    let (_, problem) = mismatch(|log| {
        let at = update(log);
        let Some(Change::Altered { before, .. }) = log[at].body.changes.last_mut() else {
            panic!("a memory is altered");
        };
        before.number = Number(40);
    });
    assert_eq!(problem, "changes memory #40, which was never made");

    let (_, problem) = mismatch(|log| {
        let at = log
            .iter()
            .rposition(|record| record.action == Action::AgentConfigured);
        log[at.unwrap()].body.settings[0].before = json!("another secret").into();
    });
    assert_eq!(
        problem,
        "changes the setting `system_prompt` from a value that it did not have"
    );

    let (_, problem) = mismatch(|log| log[0].body.settings[0].field = "secret".to_owned());
    assert_eq!(problem, "changes something that is no setting of an agent");

    let (_, problem) = mismatch(|log| log[0].body.settings[0].after = json!(["secret"]).into());
    assert!(problem.starts_with("name: has a value"), "{problem}");

    let (_, problem) = mismatch(|log| {
        let at = update(log);
        log[at].session = None;
    });
    assert_eq!(problem, "belongs to no session");

    let (seq, problem) = mismatch(|log| {
        let (session, last) = (log[update(log)].session, log.len() - 1);
        log[last].session = session;
    });
    assert_eq!(seq as usize, world().log.len());
    assert!(problem.ends_with("which was over before"), "{problem}");
}

#[test]
fn spec_3_12_a_record_by_which_an_original_is_lost_is_named() {
    let lost = |number: u64, action: Action, change: fn(&mut Memory)| {
        let mut world = World::with(&["secret tea", "secret wool", "^secret linen"]);
        world.open(Mode::Full);
        let session = world.last_session().clone();
        let draft = Draft::for_session(world.agent.clone(), session, world.now);
        world.alter_in(draft, number, action, change);
        Replay::of(&world.log)
            .err()
            .map(|mismatch| mismatch.problem)
    };
    let discard = |memory: &mut Memory| memory.discarded_at = Some(memory.created_at);
    let reword = |memory: &mut Memory| memory.content = "secret".into();
    let reform =
        |memory: &mut Memory| memory.content = format!("{}!", memory.content.expose()).into();
    let text = |number: u64| Some(format!("changes the text of memory #{number}"));
    let away = |number: u64| Some(format!("takes away memory #{number}"));
    for number in [1, 3] {
        assert_eq!(
            lost(number, Action::MemoryRefinementDelete, discard),
            away(number)
        );
        assert_eq!(lost(number, Action::MemoryReplaced, discard), away(number));
        assert_eq!(lost(number, Action::MemoryDiscarded, discard), None);
        for action in [
            Action::MemoryRefinementUpdate,
            Action::MemoryEdited,
            Action::AgentRewound,
        ] {
            assert_eq!(lost(number, action, reword), text(number), "{action}");
            assert_eq!(lost(number, action, reform), None, "{action}");
        }
    }
}

#[test]
fn spec_4_2_nothing_changes_after_shredding_and_erasing() {
    let mut world = World::with(&["tea"]);
    world.discard(1);
    world.shred(1).unwrap();
    let restored = Memory {
        discarded_at: None,
        ..world.memory(1).clone()
    };
    world.alter(1, Action::MemoryRestored, |memory| *memory = restored);
    let mismatch = Replay::of(&world.log).unwrap_err();
    assert_eq!(
        mismatch.to_string(),
        "record 5: changes memory #1, which was shredded before"
    );

    let mut world = World::with(&["tea"]);
    let decision =
        memoir_domain::manage::erase(world.agent.clone(), None, &admin(), world.now).unwrap();
    world.apply(decision);
    world.check_replay();
    world.alter(1, Action::MemoryDiscarded, |memory| {
        memory.discarded_at = Some(memory.created_at);
    });
    let mismatch = Replay::of(&world.log).unwrap_err();
    assert_eq!(
        mismatch.to_string(),
        "record 4: changes an agent that was erased before"
    );
}

#[test]
fn spec_3_12_a_text_rewritten_under_off_can_be_returned_to_and_left_again() {
    let mut world = World::off(&["secret tea"]);
    let before = world.now;
    let removed = |world: &World| world.check_replay().removed_off;
    world.update(2, "secret wool");
    world.complete();
    let after = world.now;
    assert_eq!(removed(&world), 1);
    assert!(world.rewind(before));
    assert_eq!((world.text(2), removed(&world)), ("secret tea", 0));
    assert!(world.rewind(after));
    assert_eq!((world.text(2), removed(&world)), ("secret wool", 1));
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(removed(&world), 0);
    world.open(Mode::Full);
    world.update(2, "secret linen");
    world.update(2, "secret ink");
    world.complete();
    assert_eq!(removed(&world), 2);
    assert!(world.rewind(after));
    assert_eq!((world.text(2), removed(&world)), ("secret wool", 1));
}

fn agent_mismatch(tamper: impl FnOnce(&mut Agent)) -> ReplayMismatch {
    let mut world = world();
    tamper(&mut world.agent);
    let replay = Replay::of(&world.log).unwrap();
    replay.check_agent(&world.agent).unwrap_err()
}

#[test]
fn spec_4_2_an_agent_that_is_not_as_recorded_is_found() {
    let last = world().log.len() as u64;
    let mismatch = agent_mismatch(|agent| agent.settings.system_prompt = Some("secret".into()));
    assert_eq!(
        mismatch.to_string(),
        "record 7: table `agents`: `system_prompt` is not as recorded"
    );
    let threshold = Some(Threshold::new(0.5).unwrap());
    let mismatch = agent_mismatch(|agent| agent.settings.refinement_threshold = threshold);
    assert_eq!(mismatch.seq, None);
    let mismatch = agent_mismatch(|agent| agent.name = "crow".to_owned());
    assert_eq!(mismatch.seq, Some(1));
    let mismatch = agent_mismatch(|agent| agent.tally.core_tokens += 1);
    assert_eq!(
        mismatch.to_string(),
        "table `agents`: core_tokens differ from a recount of the records"
    );
    let mismatch = agent_mismatch(|agent| agent.next_seq += 2);
    assert_eq!(mismatch.seq, Some(last + 1));
    assert!(mismatch.problem.starts_with("is missing"), "{mismatch}");
    let mismatch = agent_mismatch(|agent| agent.next_seq -= 1);
    assert_eq!(mismatch.seq, Some(last));
    let mismatch = agent_mismatch(|agent| agent.next_number.0 += 1);
    assert!(mismatch.problem.contains("next memory"), "{mismatch}");
    let mismatch = agent_mismatch(|agent| agent.erased_at = Some(agent.created_at));
    assert!(mismatch.problem.contains("erased_at"), "{mismatch}");
}

#[track_caller]
fn check_misfit(problem: &str, tamper: impl FnOnce(&mut Vec<Memory>)) -> ReplayMismatch {
    let world = world();
    let mut memories: Vec<Memory> = world.memories.into_values().collect();
    tamper(&mut memories);
    let replay = Replay::of(&world.log).unwrap();
    let mismatch = replay.check_memories(&memories).unwrap_err();
    assert!(!mismatch.to_string().contains("secret"), "{mismatch}");
    assert_eq!(mismatch.problem, format!("table `memories`, {problem}"));
    mismatch
}

#[test]
fn spec_4_2_memories_that_are_not_as_recorded_are_found() {
    let reworded = |memories: &mut Vec<Memory>| {
        memories[1].content = "a secret in the table".into();
        memories[1].source = Some("secret".into());
    };
    check_misfit("row #2: content, source not as recorded", reworded);
    check_misfit("row #1: protected_seq not as recorded", |memories| {
        reworded(memories);
        // The log comes to this one first.
        memories[0].protected_seq = Some(1);
    });
    check_misfit("row #4: place not as recorded", |memories| {
        memories[3].place = Place::Core;
    });
    check_misfit("row #4: is missing", |memories| drop(memories.remove(3)));
    check_misfit("row #1: exists twice", |memories| {
        memories.push(memories[0].clone());
    });
    let mismatch = check_misfit("row #99: is in no record", |memories| {
        let extra = Memory {
            number: Number(99),
            ..memories[0].clone()
        };
        memories.push(extra);
    });
    assert_eq!(mismatch.seq, None);
}

#[test]
fn spec_3_12_an_original_whose_row_differs_or_is_missing_is_lost() {
    let world = world();
    let replay = Replay::of(&world.log).unwrap();
    let count = |tamper: fn(&mut Vec<Memory>)| {
        let mut memories: Vec<Memory> = world.memories.values().cloned().collect();
        tamper(&mut memories);
        let mut comparison = MemoryComparison::default();
        memories
            .iter()
            .for_each(|memory| comparison.add(&replay, memory));
        comparison.finish(&replay).0.to_string()
    };
    assert_eq!(
        count(|_| {}),
        "5 originals: 4 in the prompt, 1 in the archive, 0 lost"
    );
    assert_eq!(
        count(|memories| memories[1].content = "other".into()),
        "5 originals: 3 in the prompt, 1 in the archive, 1 lost"
    );
    assert_eq!(
        count(|memories| drop(memories.remove(3))),
        "5 originals: 4 in the prompt, 0 in the archive, 1 lost"
    );
}

fn session_misfit(tamper: impl FnOnce(&mut Vec<Session>)) -> String {
    let mut world = world();
    tamper(&mut world.sessions);
    let replay = Replay::of(&world.log).unwrap();
    let mismatch = replay.check_sessions(&world.sessions).unwrap_err();
    mismatch.problem.rsplit(": ").next().unwrap().to_owned()
}

#[test]
fn spec_4_2_sessions_that_are_not_as_recorded_are_found() {
    type Tamper = fn(&mut Vec<Session>);
    let cases: [(Tamper, &str); 9] = [
        (|sessions| sessions[0].edits -= 1, "`edits`"),
        (
            |sessions| sessions[1].removed_tokens = 0,
            "`removed_tokens`",
        ),
        (
            |sessions| sessions[0].archived += 1,
            "`archived` or `summaries`",
        ),
        (
            |sessions| sessions[0].summaries = 0,
            "`archived` or `summaries`",
        ),
        (|sessions| sessions[0].undone_at = None, "`undone_at`"),
        (
            |sessions| sessions[1].undone_at = sessions[0].undone_at,
            "`undone_at`",
        ),
        (|sessions| sessions[1].state = State::Open, "`state`"),
        (|sessions| sessions[1].state = State::RolledBack, "`state`"),
        (|sessions| sessions[1].ended_at = None, "`ended_at`"),
    ];
    for (tamper, what) in cases {
        let expected = format!("{what} is not as recorded");
        assert_eq!(session_misfit(tamper), expected);
    }
    let missing = session_misfit(|sessions| drop(sessions.remove(0)));
    assert_eq!(missing, "is missing");
    let stats = session_misfit(|sessions| sessions[0].stats.protected = 0);
    assert_eq!(stats, "`stats` is not as recorded edit by edit");
    let rehearsal = session_misfit(|sessions| sessions[1].rehearsal = true);
    assert_eq!(rehearsal, "is a rehearsal, and its records change memories");
}

#[test]
fn spec_4_2_a_running_session_is_as_its_records_tell_so_far() {
    let mut world = World::session(&["tea", "wool"]);
    world.check_replay();
    world.update(2, "tea!");
    world.call("protect_memory", json!({"id": 2}));
    world.delete(3);
    world.check_replay();
    let replay = Replay::of(&world.log).unwrap();
    let records = replay.session(world.last_session().id).unwrap();
    assert_eq!((records.edits, records.end), (2, None));
    assert_eq!(records.stats, world.last_session().stats);
}

#[test]
fn spec_3_17_of_a_rehearsal_there_is_at_most_the_end() {
    let mut world = World::session(&["tea", "wool"]);
    world.sessions[0].rehearsal = true;
    let mut kept = world.last_session().clone();
    // What it came to on the copy is in no record.
    kept.edits = 3;
    kept.end(State::Completed, None, world.now);
    let replay = Replay::of(&world.log).unwrap();
    assert_eq!(replay.check_sessions(&[kept]), Ok(()));
    // Its worker died.
    let (agent, session) = (world.agent.clone(), world.last_session().clone());
    let ending = SessionEnding::Abandoned(EndReason::LeaseExpired);
    let decision = lifecycle::end(agent, session, ending, &admin(), world.now);
    world.apply(decision);
    world.check_replay();
    world.sessions[0].state = State::Failed;
    let replay = Replay::of(&world.log).unwrap();
    let mismatch = replay.check_sessions(&world.sessions).unwrap_err();
    assert!(mismatch.problem.ends_with("`state` is not as recorded"));
}
