//! SPEC 4.3 and 5.4: what an administrator does to single memories, and erasing an agent.

use memoir_domain::{
    SessionId,
    agent::Field,
    audit::{Action, Actor},
    lifecycle::{self, StartRefusal},
    manage::{self, ChangeRefusal},
    memory::{Kind, Memory, Number},
    session::Mode,
};

use crate::world::{World, admin, wren};

/// Tries a change of a memory as it is.
macro_rules! attempt {
    ($change:ident, $world:expr, $number:expr $(, $bare:expr)?) => {{
        let world: &World = &$world;
        let memory: &Memory = world.memory($number);
        manage::$change(world.agent.clone(), memory, $($bare,)? &admin(), world.now)
    }};
}

#[test]
fn spec_4_3_a_memory_is_discarded_and_restored_one_by_one() {
    let mut world = World::with(&["tea", "!a vow", "wool"]);
    let before = world.memory(1).clone();
    world.discard(1);
    assert_eq!(world.memory(1).discarded_at, Some(world.now));
    assert_eq!(world.last_record().action, Action::MemoryDiscarded);
    // An act of an administrator is a record even where it changes nothing.
    assert!(attempt!(discard, world, 1, None).unwrap().is_some());
    assert_eq!(
        attempt!(discard, world, 2, None),
        Err(ChangeRefusal::Constitutional(Number(2)))
    );
    assert!(attempt!(restore, world, 3).unwrap().is_some());
    let now = world.now;
    world.alter(2, Action::MemoryDiscarded, |memory| {
        memory.discarded_at = Some(now);
    });
    assert!(attempt!(discard, world, 2, None).unwrap().is_some());
    world.restore(1);
    assert_eq!(world.memory(1), &before);
    world.check_replay();
}

#[test]
fn spec_5_5_no_administrator_discards_a_report_to_the_agent() {
    let mut world = World::with(&["tea"]);
    world.set(Field::SystemPrompt, "You are wren.");
    let (number, _) = world.active(Kind::Journal)[0];
    let refused = attempt!(discard, world, number, None).unwrap_err();
    assert_eq!(refused.code(), "not_applicable");
    let told = "#2 is a report to the agent, which no administrator discards";
    assert_eq!(refused.to_string(), told);
    // The owner of an open installation may, as on the agent's side.
    let (agent, memory) = (world.agent.clone(), world.memory(number));
    let discarded = manage::discard(agent, memory, None, &Actor::owner(), world.now);
    assert!(discarded.unwrap().is_some());
}

#[test]
fn spec_2_4_an_administrator_sets_and_takes_the_flag() {
    let mut world = World::with(&["tea", "wool"]);
    world.tick();
    world.protect(1);
    let memory = world.memory(1);
    assert_eq!(memory.protected_seq, Some(world.log.len() as u64));
    assert_eq!(memory.updated_at, world.now);
    assert_eq!(world.last_record().action, Action::MemoryProtected);
    // An act of an administrator is a record even where it changes nothing (SPEC 4.3).
    world.protect(1);
    assert_eq!(world.memory(1).protected_seq, Some(world.log.len() as u64));
    assert_eq!(world.last_record().action, Action::MemoryProtected);
    world.unprotect(1);
    // It is reported to the agent.
    let [.., unprotected, reported] = &world.log[..] else {
        panic!("two records")
    };
    assert_eq!(
        (unprotected.action, reported.action),
        (Action::MemoryUnprotected, Action::MemorySaved)
    );
    assert_eq!(
        world.active(Kind::Journal),
        [(
            3,
            "An administrator removed the protection of my memory #1: sessions can delete, consolidate and archive it \
             now. I can protect it again in a session."
        )]
    );
    assert!(!world.memory(1).is_constitutional());
    assert!(attempt!(unprotect, world, 1).unwrap().is_some());
    world.discard(2);
    let discarded = ChangeRefusal::Discarded(Number(2));
    assert_eq!(attempt!(protect, world, 2), Err(discarded.clone()));
    assert_eq!(attempt!(unprotect, world, 2), Err(discarded));
    world.check_replay();
}

#[test]
fn spec_5_5_the_journal_states_the_role_the_owner_or_an_administrator() {
    let mut world = World::with(&["tea"]);
    world.protect(1);
    let memory = world.memory(1).clone();
    let (agent, owner) = (world.agent.clone(), Actor::owner());
    let unprotected = manage::unprotect(agent, &memory, &owner, world.now).unwrap();
    world.apply(unprotected.unwrap());
    let laxer = [(Field::RefinementThreshold, Some("0.5"))];
    let set = manage::configure(world.agent.clone(), &laxer, &owner, world.now).unwrap();
    world.apply(set.unwrap());
    let entries = world.active(Kind::Journal);
    assert!(
        entries
            .iter()
            .all(|(_, entry)| entry.starts_with("The owner of this machine ")),
        "{entries:?}"
    );
    assert_eq!(entries.len(), 2);
}

#[test]
fn spec_4_4_nothing_can_be_done_with_a_shredded_memory() {
    let mut world = World::with(&["tea", "wool"]);
    world.shred(1).unwrap();
    let refused = ChangeRefusal::Shredded(Number(1));
    assert_eq!(attempt!(restore, world, 1), Err(refused.clone()));
    assert_eq!(attempt!(discard, world, 1, None), Err(refused.clone()));
    assert_eq!(attempt!(protect, world, 1), Err(refused.clone()));
    assert_eq!(attempt!(unprotect, world, 1), Err(refused.clone()));
    assert_eq!(refused.code(), "shredded");
}

#[test]
fn spec_5_4_an_erased_agent_is_marked_and_takes_no_change() {
    let mut world = World::with(&["tea", "!a vow", "~day"]);
    world.discard(1);
    let running = SessionId::from_bytes([9; 16]);
    let erase =
        |world: &World, running| manage::erase(world.agent.clone(), running, &admin(), world.now);
    assert_eq!(
        erase(&world, Some(running)),
        Err(ChangeRefusal::SessionRunning(running))
    );
    let records = world.log.len() as u64;
    let before = world.memories.clone();
    let decision = erase(&world, None).unwrap();
    world.apply(decision);
    assert_eq!(world.agent.erased_at, Some(world.now));
    assert_eq!(world.memories, before);
    let record = world.last_record();
    assert_eq!(record.action, Action::AgentErased);
    assert_eq!(record.facts.count_of("records"), Some(records));
    assert_eq!(record.facts.count_of("constitutional_count"), Some(1));
    assert_eq!(record.facts.count_of("discarded_count"), Some(1));
    world.check_replay();
    assert_eq!(erase(&world, None), Err(ChangeRefusal::Erased));
    assert_eq!(attempt!(restore, world, 1), Err(ChangeRefusal::Erased));
    assert_eq!(
        attempt!(discard, world, 3, None),
        Err(ChangeRefusal::Erased)
    );
    assert_eq!(attempt!(protect, world, 3), Err(ChangeRefusal::Erased));
    assert_eq!(attempt!(unprotect, world, 2), Err(ChangeRefusal::Erased));
    assert_eq!(world.shred(2), Err(ChangeRefusal::Erased));
    let begun = lifecycle::begin(
        world.agent.clone(),
        None,
        world.start(Mode::Full),
        None,
        world.now,
    );
    assert_eq!(begun, Err(StartRefusal::Inactive));
}

#[test]
fn spec_3_14_a_change_of_what_guards_its_memory_is_reported_to_the_agent() {
    for (field, value, reported) in [
        (
            Field::RefinementThreshold,
            "0.5",
            "refinement_threshold (from the default to 0.5)",
        ),
        (
            Field::ImmutableTags,
            "[]",
            "immutable_tags (from the default to [])",
        ),
        (
            Field::DuplicateMatch,
            "ignore_case",
            "duplicate_match (from the default to \"ignore_case\")",
        ),
        (
            Field::LossGuard,
            "off",
            "loss_guard (from the default to \"off\")",
        ),
        (
            Field::CoreTokenBudget,
            "2000",
            "core_token_budget (from the default to 2000)",
        ),
        (Field::Model, "ollama:small", "model"),
    ] {
        let mut world = World::with(&["tea"]);
        world.set(field, value);
        let entry = format!("An administrator changed these settings of mine: {reported}.");
        assert_eq!(world.active(Kind::Journal), [(2, &entry[..])]);
    }
    // A setting that guards nothing is not reported, and neither is what the agent itself sets.
    let mut world = World::with(&["tea"]);
    world.set(Field::RefinementTriggerTokens, "1000");
    world.set_as(Field::RefinementThreshold, "0.9", &wren());
    assert!(world.active(Kind::Journal).is_empty());
}

#[test]
fn spec_3_10_administrators_protect_core_memories_that_are_no_summaries() {
    let mut world = World::over(&["~walk", "^seeds", "Ada keeps bees."]);
    let summary = world.summarise(&[4], "Ada: bees.");
    for number in [2, 3, 4] {
        let refused = ChangeRefusal::NotCore(Number(number));
        assert_eq!(attempt!(protect, world, number), Err(refused.clone()));
        assert_eq!(refused.code(), "not_core");
    }
    let refused = attempt!(protect, world, summary).unwrap_err();
    assert_eq!(refused.code(), "not_applicable");
}
