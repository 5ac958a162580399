//! SPEC 3.4: the clean-up of doubles before the ledger.

use memoir_domain::{
    agent::Field,
    audit::Action,
    memory::{NewMemory, Tags},
    session::Mode,
};

use crate::world::{World, core, time};

fn constitutional(memory: NewMemory) -> NewMemory {
    NewMemory {
        constitutional: true,
        ..memory
    }
}

/// Opens a session over `memories` and tells which stay.
fn clean(memories: Vec<NewMemory>) -> (World, Vec<u64>) {
    let mut world = World::new();
    for memory in memories {
        world.save(memory);
    }
    world.open(Mode::Full);
    let kept = world.kept_core();
    (world, kept)
}

#[track_caller]
fn check(memories: Vec<NewMemory>, kept: &[u64]) -> World {
    let (world, left) = clean(memories);
    assert_eq!(left, kept);
    world
}

#[test]
fn spec_3_4_the_earliest_copy_survives_without_any_other_claim() {
    check(
        vec![
            core("tea", "2026-01-03", &[]),
            core("tea", "2026-01-01", &[]),
            core("tea", "2026-01-02", &[]),
        ],
        &[2],
    );
    // Of the same date, the first saved.
    check(
        vec![
            core("tea", "2026-01-01", &[]),
            core("tea", "2026-01-01", &[]),
        ],
        &[1],
    );
}

#[test]
fn spec_3_4_an_immutable_tag_comes_before_the_date_and_the_constitution_before_both() {
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
fn spec_3_4_all_constitutional_copies_are_kept_and_only_one_takes_what_is_given_up() {
    let world = check(
        vec![
            constitutional(core("tea", "2026-01-03", &["b"])),
            constitutional(core("tea", "2026-01-02", &["a"])),
            core("tea", "2026-01-01", &["c"]),
        ],
        &[1, 2],
    );
    assert_eq!(world.memory(2).created_at, time("2026-01-01"));
    assert_eq!(world.memory(2).tags, Tags::parse(["a", "c"]).unwrap());
    assert_eq!(world.memory(1).created_at, time("2026-01-03"));
    assert_eq!(world.memory(1).tags, Tags::parse(["b"]).unwrap());
    // Nothing but constitutional copies: nothing to do, and nothing recorded.
    let world = check(
        vec![
            constitutional(core("tea", "2026-01-02", &["a"])),
            constitutional(core("tea", "2026-01-01", &["b"])),
        ],
        &[1, 2],
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
fn spec_3_4_the_clean_up_is_one_record_for_each_text() {
    let mut copies = vec![
        core("tea", "2026-01-02", &[]),
        core("wool", "2026-01-02", &[]),
    ];
    copies.extend(copies.clone());
    let (world, kept) = clean(copies);
    assert_eq!(kept, [1, 2]);
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
    let session = Some(world.session().id);
    assert_eq!(
        records,
        [
            (1, session, serde_json::json!([3])),
            (2, session, serde_json::json!([4]))
        ]
    );
    // The mass is fixed after the clean-up, which is no edit.
    assert_eq!(world.session().pre_session_tokens, Some(2));
    assert_eq!(
        (world.session().edits, world.session().removed_tokens),
        (0, 0)
    );
}

#[test]
fn spec_3_4_journal_entries_and_discarded_memories_are_no_copies() {
    let mut world = World::with(&["tea", "~tea", "tea"]);
    world.discard(1);
    world.open(Mode::Full);
    assert_eq!(world.kept_core(), [3]);
    assert!(world.memory(2).is_kept());
    assert!(world.memory(1).discarded_at < Some(world.now));
}

#[test]
fn spec_3_4_nothing_fuzzier_than_the_setting_counts_as_a_double() {
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
            let is_double = world.kept_core().len() == 1;
            assert_eq!(is_double, expected, "{one} | {other} | {setting}");
        }
    }
}

#[test]
fn spec_3_4_a_rollback_does_not_bring_doubles_back_but_they_can_be_restored() {
    let mut world = World::in_session(&["tea", "tea", "wool"]);
    world.delete(3);
    if world.session().state.is_running() {
        world.roll_back();
    }
    assert_eq!(world.kept_core(), [1, 3]);
    world.restore(2);
    assert_eq!(world.kept_core(), [1, 2, 3]);
    assert_eq!(world.last_record().action, Action::MemoryRestored);

    let mut world = World::in_session(&["tea", "tea", "wool"]);
    world.complete();
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.kept_core(), [1, 3]);
}
