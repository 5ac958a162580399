//! SPEC 3.4: the duplicate cleanup before the ledger.

use memoir_domain::{
    agent::Field,
    audit::{Action, ActorKind},
    memory::{ArchivedBy, NewMemory, Tags},
    origin::{Origin, SavedBy},
    session::Mode,
};

use crate::world::{World, core, of_origin, padding, time};

fn constitutional(memory: NewMemory) -> NewMemory {
    NewMemory {
        constitutional: true,
        ..memory
    }
}

/// Opens a session over `memories`; which of them stay.
fn clean(memories: Vec<NewMemory>) -> (World, Vec<u64>) {
    let mut world = World::new();
    for memory in memories {
        world.save(memory);
    }
    world.open(Mode::Full);
    let stay = world.core_numbers();
    (world, stay)
}

#[track_caller]
fn check(memories: Vec<NewMemory>, stay: &[u64]) -> World {
    let (world, left) = clean(memories);
    assert_eq!(left, stay);
    world
}

#[test]
fn spec_3_4_the_copy_recorded_first_stays_with_the_best_of_all() {
    let mut world = World::new();
    let mut heard = of_origin(Origin::Conversation, core("tea", "2026-01-03", &["b"]));
    heard.source = Some("chat".into());
    world.save(heard);
    world.tick();
    let mut said = core("tea", "2026-01-01", &["a"]);
    said.source = Some("letter".into());
    world.save(said);
    world.save(core("tea", "2026-01-02", &[]));
    let first = world.memory(1).clone();
    world.open(Mode::Full);
    assert_eq!(world.core_numbers(), [1]);
    let stays = world.memory(1);
    assert_eq!(stays.created_at, time("2026-01-01"));
    assert_eq!(
        (stays.recorded_at, stays.core_seq),
        (first.recorded_at, first.core_seq)
    );
    assert_eq!(stays.tags, Tags::parse(["b", "a"]).unwrap());
    let source = stays.source.as_ref().map(|source| source.expose());
    assert_eq!((stays.origin(), source), (Origin::Agent, Some("letter")));
    assert_eq!(world.check_replay().total, 1);
}

#[test]
fn spec_3_4_a_copy_of_weaker_origin_lowers_that_of_no_vow() {
    let copy = |origin, is_vow| {
        let mut memory = of_origin(origin, core("I tell no lies.", "2026-01-01", &[]));
        memory.constitutional = is_vow;
        memory
    };
    for weak in [Origin::Conversation, Origin::Import, Origin::External] {
        for is_vow in [false, true] {
            let (own, quoted) = (copy(Origin::Agent, is_vow), copy(weak, false));
            for memories in [
                vec![own.clone(), quoted.clone()],
                vec![quoted.clone(), own.clone()],
                vec![quoted.clone(), own.clone(), quoted],
            ] {
                let (world, stay) = clean(memories);
                let [stays] = stay[..] else {
                    panic!("{stay:?}")
                };
                assert_eq!(world.memory(stays).origin(), Origin::Agent, "{weak}");
            }
        }
    }
}

#[test]
fn spec_3_4_a_merged_copy_of_weaker_origin_lowers_nothing_under_off_either() {
    let mut world = World::under("off").saving(&[&padding(100), "I tell no lies."]);
    // The cleanup joins no texts that differ in case.
    let quoted = core("I TELL no lies.", "2026-01-02", &[]);
    world.save(of_origin(Origin::External, quoted));
    world.open(Mode::Full);
    world.consolidate(&[2, 3], "I tell no lies.");
    assert_eq!(world.memory(4).origin(), Origin::Agent);
}

#[test]
fn spec_3_4_the_one_that_stays_counts_as_recorded_when_the_first_was() {
    let mut world = World::with(&["tea", "wool"]);
    world.tick();
    world.save(core("tea", "2026-01-05", &["voice"]));
    let first = world.memory(1).clone();
    world.open(Mode::Full);
    assert_eq!(world.core_numbers(), [2, 3]);
    let stays = world.memory(3);
    assert_eq!(
        (stays.recorded_at, stays.core_seq),
        (first.recorded_at, first.core_seq)
    );
}

#[test]
fn spec_3_4_each_side_is_deduplicated_by_itself() {
    let by = |kind: ActorKind| NewMemory {
        saved_by: SavedBy::of(kind),
        ..core("tea", "2026-01-01", &[])
    };
    let (administrator, owner) = (ActorKind::Administrator, ActorKind::Owner);
    let agent = ActorKind::Agent;
    check(
        [agent, administrator, owner, administrator].map(by).into(),
        &[1, 2],
    );
}

#[test]
fn spec_3_4_copies_of_different_days_with_a_word_of_relative_time_stay() {
    for (text, day, stay) in [
        ("The gate was painted yesterday.", "2026-01-02", &[1, 2][..]),
        ("The gate was painted yesterday.", "2026-01-01", &[1]),
        ("The gate was painted.", "2026-01-02", &[1]),
    ] {
        check(
            vec![core(text, "2026-01-01", &[]), core(text, day, &[])],
            stay,
        );
    }
}

#[test]
fn spec_3_4_what_is_under_a_copy_comes_under_the_one_that_stays() {
    let mut world = World::with(&[
        &padding(100),
        "The key is under the mat.",
        "The key is with Olga.",
    ]);
    let copy = world.save_replacing(core("The key is with Olga.", "2026-01-05", &[]), &[2]);
    world.open(Mode::Full);
    assert!(!world.memories[&copy.number].is_active());
    assert_eq!(world.archive(), [(2, Some(3))]);
    world.check_replay();
}

#[test]
fn spec_3_4_a_copy_that_only_ignore_case_joins_is_archived_under_the_one_that_stays() {
    let mut world = World::of(&[(Field::DuplicateMatch, Some("ignore_case"))]);
    for text in ["Tea", "tea", "Tea"] {
        world.save(core(text, "2026-01-01", &[]));
    }
    world.open(Mode::Full);
    assert_eq!(
        (world.core_numbers(), world.archive()),
        (vec![1], vec![(2, Some(1))])
    );
    assert_eq!(
        world.memory(2).place.archived().unwrap().by,
        ArchivedBy::Duplicate
    );
    assert!(
        !world.memory(2).has_left_prompt(),
        "a cleanup makes nothing gone"
    );
    assert!(!world.memory(3).is_active());
    assert_eq!(
        world.check_replay().to_string(),
        "2 originals: 1 in the prompt, 1 in the archive, 0 lost"
    );
}

/// SPEC 3.14: a list that was made laxer while the agent was asked counts from the next session on.
#[test]
fn spec_3_4_a_tag_that_was_immutable_when_the_agent_was_asked_comes_before_the_record() {
    let mut world = World::of(&[(Field::DuplicateMatch, Some("ignore_case"))]);
    world = world.saving(&["TEA", "@tea", "wool"]);
    world.begin(Mode::Full).unwrap();
    let asked = world.agent.clone();
    world.set(Field::ImmutableTags, "[]");
    world.open_agreed(Some(&asked));
    assert_eq!(
        (world.core_numbers(), world.archive()),
        (vec![2, 3], vec![(1, Some(2))])
    );
    world.check_replay();
}

#[test]
fn spec_3_4_an_immutable_tag_comes_before_the_record_and_the_constitution_before_both() {
    check(
        vec![
            core("tea", "2026-01-01", &[]),
            core("tea", "2026-01-02", &["Voice"]),
            core("tea", "2026-01-03", &["audio"]),
        ],
        &[2],
    );
    let world = check(
        vec![
            core("tea", "2026-01-01", &["voice"]),
            constitutional(core("tea", "2026-01-05", &["vow"])),
            core("tea", "2026-01-02", &[]),
        ],
        &[2],
    );
    let tags = Tags::parse(["vow", "voice"]).unwrap();
    assert_eq!(world.memory(2).tags, tags);
    assert_eq!(world.memory(2).created_at, time("2026-01-01"));
}

#[test]
fn spec_3_4_all_constitutional_copies_stay_and_one_takes_what_the_others_had() {
    let world = check(
        vec![
            constitutional(core("tea", "2026-01-03", &["b"])),
            constitutional(core("tea", "2026-01-02", &["a"])),
            core("tea", "2026-01-01", &["c"]),
        ],
        &[1, 2],
    );
    assert_eq!(world.memory(1).created_at, time("2026-01-01"));
    assert_eq!(world.memory(1).tags, Tags::parse(["b", "c"]).unwrap());
    assert_eq!(world.memory(2).created_at, time("2026-01-02"));
    assert_eq!(world.memory(2).tags, Tags::parse(["a"]).unwrap());
    // Nothing but constitutional copies: nothing to do, and nothing recorded.
    let world = check(
        vec![
            constitutional(core("tea", "2026-01-02", &["a"])),
            constitutional(core("tea", "2026-01-01", &["b"])),
            core("wool", "2026-01-01", &[]),
        ],
        &[1, 2, 3],
    );
    assert_eq!(world.last_record().action, Action::MemorySaved);
}

#[test]
fn spec_3_4_the_survivor_takes_all_tags_beyond_the_limit_of_saving() {
    let tags =
        |from: u64| -> Vec<String> { (from..from + 16).map(|tag| tag.to_string()).collect() };
    let copies = [0, 10, 20].map(|from| {
        let tags = tags(from);
        core(
            "tea",
            "2026-01-01",
            &tags.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    });
    let world = check(copies.into(), &[1]);
    let expected: Vec<String> = (0..36).map(|tag| tag.to_string()).collect();
    assert!(
        world
            .memory(1)
            .tags
            .iter()
            .eq(expected.iter().map(String::as_str))
    );
}

#[test]
fn spec_3_4_the_cleanup_is_one_record_for_each_text() {
    let mut copies = vec![
        core("tea", "2026-01-02", &[]),
        core("wool", "2026-01-02", &[]),
    ];
    copies.extend(copies.clone());
    let (world, stay) = clean(copies);
    assert_eq!(stay, [1, 2]);
    let records: Vec<_> = world
        .log
        .iter()
        .filter(|record| record.action == Action::MemoryDeduplicated)
        .map(|record| {
            (
                record.memory.unwrap().0,
                record.session,
                record.facts.as_map()["discarded"].clone(),
            )
        })
        .collect();
    let session = Some(world.last_session().id);
    assert_eq!(
        records,
        [
            (1, session, serde_json::json!([3])),
            (2, session, serde_json::json!([4]))
        ]
    );
    // The core size is fixed after the cleanup, which is no edit.
    assert_eq!(world.last_session().pre_session_tokens, Some(2));
    assert_eq!(
        (
            world.last_session().edits,
            world.last_session().removed_tokens
        ),
        (0, 0)
    );
}

#[test]
fn spec_3_4_journal_entries_and_discarded_memories_are_no_copies() {
    let mut world = World::with(&["tea", "~tea", "tea"]);
    world.discard(1);
    world.open(Mode::Full);
    assert_eq!(world.core_numbers(), [3]);
    assert!(world.memory(2).is_active());
    assert!(world.memory(1).discarded_at < Some(world.now));
}

#[test]
fn spec_3_4_nothing_fuzzier_than_the_setting_is_a_duplicate() {
    for (one, other, exact, ignore_case) in [
        ("tea", "tea", true, true),
        ("caf\u{e9}", "cafe\u{301}", true, true),
        ("Tea", "tea", false, true),
        ("ΟΔΟΣ", "οδος", false, true),
        ("ÉCOLE", "e\u{301}cole", false, true),
        ("tea", "tea.", false, false),
        ("tea time", "tea  time", false, false),
        ("Er trinkt in Maßen", "Er trinkt in Massen", false, false),
        ("sıkıldım", "sikildim", false, false),
        ("tea", "te\u{200b}a", false, false),
        ("x²", "x2", false, false),
        // What SPEC 3.4 trims or normalises, and nothing within a text.
        (" tea\r\n", "\u{3000}tea\u{a0}", true, true),
        ("Å", "\u{212b}", true, true),
        ("가", "\u{1100}\u{1161}", true, true),
        ("tea\r\ntime", "tea\ntime", false, false),
        ("tea\n\ntime", "tea\ntime", false, false),
        ("tea\u{a0}time", "tea time", false, false),
        ("tea\ttime", "tea time", false, false),
        ("tea\u{feff}time", "teatime", false, false),
        ("tea\u{ad}time", "teatime", false, false),
        ("tea\u{2011}time", "tea-time", false, false),
        ("“tea”", "\"tea\"", false, false),
        ("ｔｅａ", "tea", false, false),
        ("ﬁgs", "figs", false, false),
        (
            "Evan plans a road trip to Jasper with Sam",
            "Sam plans a road trip to Jasper with Evan",
            false,
            false,
        ),
    ] {
        for (setting, expected) in [("exact", exact), ("ignore_case", ignore_case)] {
            let mut world = World::with(&[one, other]);
            world.set(Field::DuplicateMatch, setting);
            world.open(Mode::Full);
            let is_duplicate = world.core_numbers().len() == 1;
            assert_eq!(is_duplicate, expected, "{one} | {other} | {setting}");
        }
    }
}

#[test]
fn spec_3_4_a_summary_is_no_copy_and_has_none() {
    let mut world = World::over(&["Ada keeps bees at home.", "wool"]);
    let summary = world.summarise(&[2], "Ada keeps bees.");
    world.complete();
    let same = world.save(core("Ada keeps bees.", "2026-01-01", &[]));
    world.open(Mode::Full);
    assert!(world.memory(summary).is_active() && world.memories[&same].is_active());
}

#[test]
fn spec_3_4_a_rollback_does_not_bring_duplicates_back_but_they_can_be_restored() {
    for by_undo in [false, true] {
        let mut world = World::with(&["tea", "tea", "wool", &padding(40)]);
        world.open(Mode::Full);
        world.delete(3);
        match by_undo {
            false => world.roll_back(),
            true => {
                world.complete();
                assert_eq!(world.undo(0, false), Ok(()));
            }
        }
        assert_eq!(world.core_numbers(), [1, 3, 4]);
        world.restore(2);
        assert_eq!(world.core_numbers(), [1, 2, 3, 4]);
        assert_eq!(world.last_record().action, Action::MemoryRestored);
    }
}
