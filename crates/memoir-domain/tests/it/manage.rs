//! SPEC 4.3 and 5.4: what an administrator does to single memories, and erasing an agent.

use std::collections::BTreeMap;

use memoir_domain::{
    SessionId,
    agent::Field,
    audit::{Action, Actor},
    draft::Decision,
    lifecycle::{self, Start, StartRefusal},
    manage::{self, ChangeRefusal},
    memory::{Kind, Memory, Number},
    session::{Driver, Lease, Mode, Trigger},
    wording::Origin,
};

use crate::world::{World, admin};

/// Tries a change of a memory as it stands.
macro_rules! attempt {
    ($change:ident, $world:expr, $number:expr) => {{
        let world: &World = &$world;
        let memory: &Memory = world.memory($number);
        manage::$change(world.agent.clone(), memory, &admin(), world.now)
    }};
    ($change:ident, $world:expr, $number:expr, $others:expr) => {{
        let world: &World = &$world;
        let memory: &Memory = world.memory($number);
        manage::$change(world.agent.clone(), memory, $others, &admin(), world.now)
    }};
}

#[test]
fn spec_4_3_a_memory_is_discarded_and_restored_one_by_one() {
    let mut world = World::with(&["tea", "!a vow", "wool"]);
    let before = world.memory(1).clone();
    world.discard(1);
    assert_eq!(world.memory(1).discarded_at, Some(world.now));
    assert_eq!(world.last_record().action, Action::MemoryDiscarded);
    assert_eq!(
        attempt!(discard, world, 1, &BTreeMap::new()),
        Ok(None),
        "it is already"
    );
    assert_eq!(
        attempt!(discard, world, 2, &BTreeMap::new()),
        Err(ChangeRefusal::Constitutional(Number(2)))
    );
    assert_eq!(attempt!(restore, world, 3, &[]), Ok(None), "it is kept");
    let now = world.now;
    world.alter(2, Action::MemoryDiscarded, |memory| {
        memory.discarded_at = Some(now);
    });
    assert_eq!(attempt!(discard, world, 2, &BTreeMap::new()), Ok(None));
    world.restore(1);
    assert_eq!(world.memory(1), &before);
    world.check_replay();
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
    // Their word is a record even where it changes nothing (SPEC 4.3).
    world.protect(1);
    assert_eq!(world.memory(1).protected_seq, Some(world.log.len() as u64));
    assert_eq!(world.last_record().action, Action::MemoryProtected);
    world.unprotect(1);
    // The agent is told.
    let [.., unprotected, told] = &world.log[..] else {
        panic!("two records")
    };
    assert_eq!(
        (unprotected.action, told.action),
        (Action::MemoryUnprotected, Action::MemorySaved)
    );
    assert_eq!(
        world.kept(Kind::Journal),
        [(
            3,
            "An administrator took the protection from my memory #1: sessions can delete and merge it now. \
             Protecting it again in a session is mine to do."
        )]
    );
    assert!(!world.memory(1).is_constitutional());
    assert_eq!(attempt!(unprotect, world, 1), Ok(None));
    world.discard(2);
    let discarded = ChangeRefusal::Discarded(Number(2));
    assert_eq!(attempt!(protect, world, 2), Err(discarded.clone()));
    assert_eq!(attempt!(unprotect, world, 2), Err(discarded));
    world.check_replay();
}

#[test]
fn spec_5_5_the_journal_says_who_did_it_the_owner_or_an_administrator() {
    let mut world = World::with(&["tea"]);
    world.protect(1);
    let memory = world.memory(1).clone();
    let (agent, owner) = (world.agent.clone(), Actor::owner());
    let unprotected = manage::unprotect(agent, &memory, &owner, world.now).unwrap();
    world.apply(unprotected.unwrap());
    let laxer = [(Field::RefinementThreshold, Some("0.5"))];
    let set = manage::configure(world.agent.clone(), &laxer, &owner, world.now).unwrap();
    world.apply(set.unwrap());
    let told = world.kept(Kind::Journal);
    assert!(
        told.iter()
            .all(|(_, entry)| entry.starts_with("The owner of this machine ")),
        "{told:?}"
    );
    assert_eq!(told.len(), 2);
}

/// The owner gives a memory another text.
fn edit(world: &World, number: u64, text: &str) -> Result<Option<Decision>, ChangeRefusal> {
    let others: BTreeMap<Number, Memory> = world.memories.clone();
    let (agent, memory) = (world.agent.clone(), world.memory(number));
    let (text, owner) = (text.into(), Actor::owner());
    manage::edit(agent, None, memory, &text, &others, &owner, world.now)
}

#[test]
fn spec_3_12_the_owner_gives_a_memory_another_text_which_is_a_new_wording() {
    let mut world = World::with(&["Mira lives in Bremen.", "!a vow", "~day", "wool"]);
    assert_eq!(edit(&world, 1, "Mira lives in Bremen."), Ok(None));
    world.tick();
    let edited = edit(&world, 1, "Mira lives in Kiel.").unwrap();
    world.apply(edited.unwrap());
    let memory = world.memory(1).clone();
    assert_eq!(memory.content.expose(), "Mira lives in Kiel.");
    let [wording] = memory.wordings.as_slice() else {
        panic!("it says its own words alone")
    };
    assert_eq!(wording.origin, Origin::Administrator);
    let [.., edited, told] = &world.log[..] else {
        panic!("two records")
    };
    assert_eq!(wording.seq, edited.seq);
    assert_eq!(
        (edited.action, told.action),
        (Action::MemoryEdited, Action::MemorySaved)
    );
    let journal = world.kept(Kind::Journal);
    assert_eq!(
        journal.last().unwrap().1,
        "The owner of this machine gave my memory #1 another text."
    );
    world.check_replay();
    assert_eq!(
        edit(&world, 2, "no vow"),
        Err(ChangeRefusal::Constitutional(Number(2)))
    );
    assert_eq!(
        edit(&world, 3, "night"),
        Err(ChangeRefusal::NotCore(Number(3)))
    );
    world.discard(4);
    assert_eq!(
        edit(&world, 4, "silk"),
        Err(ChangeRefusal::Discarded(Number(4)))
    );
    let running = SessionId::from_bytes([9; 16]);
    let memory = world.memory(1);
    assert_eq!(
        manage::check_edit(&world.agent, Some(running), memory),
        Err(ChangeRefusal::SessionRunning(running))
    );
}

#[test]
fn spec_3_12_what_an_edited_memory_took_over_goes_back_to_those_that_it_came_from() {
    let mut world = World::with(&["Ann likes tea.", "Ann sings.", "wool"]);
    world.open(Mode::Full);
    let merged = world.consolidate(&[1, 2], "Ann likes tea. Ann sings.");
    let merged = merged["number"]
        .as_u64()
        .unwrap_or_else(|| panic!("{merged}"));
    world.complete();
    let edited = edit(&world, merged, "Ann has moved.").unwrap();
    world.apply(edited.unwrap());
    let kept: Vec<&str> = world
        .kept(Kind::Core)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(kept.len(), 4);
    for text in ["Ann likes tea.", "Ann sings.", "wool", "Ann has moved."] {
        assert!(kept.contains(&text), "{text}: {kept:?}");
    }
    world.check_replay();
}

#[test]
fn spec_2_4_an_edit_makes_no_origin_stronger() {
    let mut world = World::with(&["Ann likes tea."]);
    world.alter(1, Action::MemoryRestored, |memory| {
        memory.door.origin = Origin::External;
        memory.wordings[0].origin = Origin::External;
    });
    let edited = edit(&world, 1, "Ann likes milk.").unwrap();
    world.apply(edited.unwrap());
    assert_eq!(world.memory(1).wordings[0].origin, Origin::External);
}

#[test]
fn spec_4_4_nothing_can_be_done_with_a_shredded_memory() {
    let mut world = World::with(&["tea", "wool"]);
    world.shred(1).unwrap();
    let refused = ChangeRefusal::Shredded(Number(1));
    assert_eq!(attempt!(restore, world, 1, &[]), Err(refused.clone()));
    assert_eq!(
        attempt!(discard, world, 1, &BTreeMap::new()),
        Err(refused.clone())
    );
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
    assert_eq!(attempt!(restore, world, 1, &[]), Err(ChangeRefusal::Erased));
    assert_eq!(
        attempt!(discard, world, 3, &BTreeMap::new()),
        Err(ChangeRefusal::Erased)
    );
    assert_eq!(attempt!(protect, world, 3), Err(ChangeRefusal::Erased));
    assert_eq!(attempt!(unprotect, world, 2), Err(ChangeRefusal::Erased));
    assert_eq!(world.shred(2), Err(ChangeRefusal::Erased));
    let start = Start {
        id: running,
        mode: Mode::Full,
        driver: Driver::Agent,
        trigger: Trigger::Request,
        rehearsal: false,
        model: None,
        lease: Some(Lease {
            until: world.now,
            holder: 1,
        }),
        started_by: memoir_domain::audit::Actor::administrator("Petra"),
    };
    let begun = lifecycle::begin(world.agent.clone(), None, start, world.now);
    assert_eq!(begun, Err(StartRefusal::Inactive));
}

#[test]
fn spec_3_14_a_change_of_what_guards_its_memory_is_told_to_the_agent() {
    for (field, value, told) in [
        (
            Field::RefinementThreshold,
            "0.5",
            "refinement_threshold (from the default to 0.5)",
        ),
        (
            Field::ImmutableTags,
            "",
            "immutable_tags (from the default to [])",
        ),
        (
            Field::DuplicateMatch,
            "ignore_case",
            "duplicate_match (from the default to \"ignore_case\")",
        ),
        (Field::Model, "ollama:small", "model"),
    ] {
        let mut world = World::with(&["tea"]);
        world.set(field, value);
        let entry = format!("An administrator changed these settings of mine: {told}.");
        assert_eq!(world.kept(Kind::Journal), [(2, &entry[..])]);
    }
    // What guards nothing is not told, and neither is what the agent itself sets.
    let mut world = World::with(&["tea"]);
    world.set(Field::CoreTokenBudget, "100");
    let own = [(Field::RefinementThreshold, Some("0.9"))];
    let (agent, me) = (world.agent.clone(), Actor::agent("wren"));
    let set = manage::configure(agent, &own, &me, world.now).unwrap();
    world.apply(set.unwrap());
    assert!(world.kept(Kind::Journal).is_empty());
}
