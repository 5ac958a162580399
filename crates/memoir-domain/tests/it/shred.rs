//! SPEC 4.4: text that must not exist is taken out of a memory, its history and the audit.

use memoir_domain::{
    audit::{Action, Actor, Change},
    manage::ChangeRefusal,
    mark::WordsMark,
    memory::{Kind, NewMemory, Number, Tags},
    rollback::plan_undo,
    session::Mode,
    shred::{ShredTarget, check_wish, shred},
};
use serde_json::json;

use crate::world::{World, admin, core};

/// Everything that is stored of the world's words.
fn everything(world: &World) -> String {
    let bodies: Vec<_> = world.log.iter().map(|record| &record.body).collect();
    let memories: Vec<_> = world.memories.values().collect();
    let summaries: Vec<_> = world
        .sessions
        .iter()
        .map(|session| &session.summary)
        .collect();
    json!({"bodies": bodies, "memories": memories, "summaries": summaries}).to_string()
}

fn secret() -> NewMemory {
    NewMemory {
        source: Some("secret letter".into()),
        constitutional: true,
        ..core("the secret is 4711", "2026-01-01", &["secret-tag"])
    }
}

#[test]
fn spec_4_4_nothing_is_left_of_a_memory_but_when_and_why() {
    let mut world = World::with(&["tea", &"calm ".repeat(400)]);
    // A merged memory takes the tags, and keeps them: it is another memory.
    let number = world.save(NewMemory {
        tags: Tags::default(),
        ..secret()
    });
    let number = number.0;
    world.unprotect(number);
    world.open(Mode::Full);
    world.update(number, "secret 4711 again");
    world.update(number, "no more secrets");
    world.consolidate(&[1, number], "tea, all told");
    world.complete();
    let merged = world.memory(5).clone();
    // By its mark a guess at a text could be tried.
    let marks = [secret().content, "no more secrets".into()];
    let marks = marks.map(|text| json!(WordsMark::of_text(text.expose())));
    let has_mark = |told: &str| marks.iter().any(|mark| told.contains(&mark.to_string()));
    assert!(everything(&world).contains("4711") && has_mark(&everything(&world)));
    world.shred(number).unwrap();
    let told = everything(&world);
    assert!(!told.contains("secret") && !told.contains("4711"), "{told}");
    assert!(!has_mark(&told), "{told}");
    let memory = world.memory(number);
    assert_eq!(memory.shredded_at, Some(world.now));
    assert!(memory.source.is_none() && memory.tags.is_empty() && !memory.is_kept());
    assert_eq!(
        (&world.memory(5).content, &world.memory(5).tags),
        (&merged.content, &merged.tags)
    );
    assert_eq!(world.memory(5).wordings.len(), 1);
    let record = world.last_record();
    assert_eq!(record.action, Action::MemoryShredded);
    assert_eq!(record.memory, Some(Number(number)));
    let reason = record.body.reason.as_ref().map(|words| words.expose());
    assert_eq!(reason, Some("it should not be there"));
    assert_eq!(record.facts.count_of("redacted"), Some(5));
    assert_eq!(record.facts.count_of("tokens_before"), Some(4));
    assert_eq!(world.agent.tally.shredded_count, 1);
    assert_eq!(world.agent.tally.discarded_count, 1);
    world.check_replay();
}

#[test]
fn spec_4_4_the_change_begins_with_the_words_and_the_record_does_not() {
    let mut world = World::new();
    let number = world.save(secret());
    let decision = shred(
        world.agent.clone(),
        &[],
        &ShredTarget {
            memory: &world.memories[&number],
            standing_for_it: &[],
        },
        &world.log,
        "why".into(),
        &admin(),
        world.now,
    )
    .unwrap();
    let before = decision.changes[0].before();
    assert_eq!(before, Some(&world.memories[&number]));
    let after = decision.changes[0].after();
    assert_eq!(after, after.without_words());
    assert!(!after.is_constitutional());
    assert_eq!(
        decision.records[0].body.changes[0].before(),
        Some(&world.memories[&number].without_words())
    );
    assert!(!format!("{decision:?}").contains("4711"));
    assert_eq!(decision.redactions.len(), 1);
    let body = &decision.redactions[0].body;
    let Change::Created(created) = &body.changes[0] else {
        panic!("it stays what it was");
    };
    assert!(created.is_constitutional());
}

#[test]
fn spec_4_4_a_constitutional_and_a_discarded_memory_can_be_shredded_once() {
    let mut world = World::with(&["!a vow", "wool"]);
    world.discard(2);
    let discarded_at = world.memory(2).discarded_at;
    let alone = check_wish(world.memory(1), &Actor::agent("wren"));
    assert_eq!(alone, Err(ChangeRefusal::ConstitutionalWish(Number(1))));
    for number in [1, 2] {
        world.shred(number).unwrap();
        assert_eq!(
            world.shred(number),
            Err(ChangeRefusal::Shredded(Number(number)))
        );
    }
    assert_eq!(world.memory(2).discarded_at, discarded_at);
    assert_eq!(world.agent.tally.shredded_count, 2);
    world.check_replay();
}

#[test]
fn spec_4_4_tags_that_a_survivor_took_from_a_double_go_with_the_survivor() {
    let mut world = World::new();
    let survivor = world.save(core("ink", "2026-01-01", &["plain"]));
    let double = world.save(core("ink", "2026-01-02", &["secret-tag"]));
    world.open(Mode::Full);
    world.complete();
    assert_eq!(world.memories[&survivor].tags.iter().len(), 2);
    world.shred(double.0).unwrap();
    assert!(everything(&world).contains("secret"), "the survivor has it");
    world.shred(survivor.0).unwrap();
    assert!(!everything(&world).contains("secret"));
    world.check_replay();
}

#[test]
fn spec_4_4_not_while_a_session_runs() {
    let mut world = World::in_session(&["tea", "wool"]);
    let running = ChangeRefusal::SessionRunning(world.session().id);
    assert_eq!(running.code(), "session_open");
    assert_eq!(world.shred(1), Err(running));
}

#[test]
fn spec_4_4_an_undo_and_a_rewind_leave_a_shredded_memory_shredded() {
    let mut world = World::with(&["tea", "wool", &"calm ".repeat(400)]);
    let start = world.now;
    world.open(Mode::Full);
    world.consolidate(&[1, 2], "tea and wool");
    world.complete();
    let done = world.now;
    world.shred(1).unwrap();
    let shredded = world.memory(1).clone();
    let plan = plan_undo(world.session().id, &world.log);
    assert!(plan.obstacles.is_empty(), "shredding stands in no way");
    assert_eq!(world.undo(0, false), Ok(()));
    assert_eq!(world.memory(1), &shredded);
    assert!(world.memory(2).is_kept() && !world.memory(4).is_kept());
    for to in [done, start] {
        assert!(world.rewind(to));
        assert_eq!(world.memory(1), &shredded);
        world.check_replay();
    }
}

#[test]
fn spec_4_4_the_entry_of_a_completion_takes_the_summary_with_it() {
    let mut world = World::in_session(&["tea", "wool"]);
    world.call("complete_refinement", json!({"summary": "a secret slip"}));
    let (number, _) = world.kept(Kind::Journal)[0];
    assert!(world.session().summary.is_some());
    world.shred(number).unwrap();
    assert_eq!(world.session().summary, None);
    assert!(!everything(&world).contains("secret"));
    world.check_replay();
}
