//! Forged exports of an agent: what they hold must be what could have been (SPEC 4.1, 4.2).

use std::collections::BTreeMap;

use memoir_domain::{
    AgentId,
    adopt::{AdoptRefusal, ArchivedAgent},
    agent::Field,
    audit::Action,
};

use crate::world::{World, admin};

fn traveller(world: &World) -> ArchivedAgent {
    ArchivedAgent {
        agent: world.agent.clone(),
        memories: world.memories.values().cloned().collect(),
        sessions: world.sessions.clone(),
        records: world.log.clone(),
        head: [0; 32],
    }
}

/// Why it is not taken in.
fn refusal(world: &World, traveller: ArchivedAgent) -> String {
    let id = AgentId::from_bytes([7; 16]);
    let adopted = traveller.adopt(id, "robin", &BTreeMap::new(), &admin(), world.now);
    match adopted.unwrap_err() {
        AdoptRefusal::Mismatch(mismatch) => mismatch.problem,
        other => other.to_string(),
    }
}

#[test]
fn spec_4_2_an_export_that_is_not_forged_is_adopted() {
    let mut world = World::with(&["tea", "wool", "The press came from Lisbon."]);
    world.discard(2);
    let seq = world.agent.next_seq;
    world.alter(1, Action::MemoryProtected, |memory| {
        memory.protected_seq = Some(seq);
    });
    let id = AgentId::from_bytes([7; 16]);
    let adopted = traveller(&world).adopt(id, "robin", &BTreeMap::new(), &admin(), world.now);
    assert_eq!(adopted.unwrap().changes.len(), 3);
}

#[test]
fn spec_3_12_no_export_brings_an_original_that_lost_its_text() {
    let mut world = World::with(&["The press came from Lisbon.", "wool"]);
    world.alter(1, Action::MemoryRestored, |memory| {
        memory.content = "The press came.".into();
    });
    assert_eq!(
        refusal(&world, traveller(&world)),
        "changes the text of memory #1"
    );
}

#[test]
fn spec_2_1_no_export_brings_a_journal_entry_that_does_not_expire() {
    let mut world = World::with(&["~The press came from Lisbon.", "wool"]);
    world.alter(1, Action::MemoryRestored, |memory| {
        memory.created_at = memory.created_at.plus_days(2_000_000);
    });
    let problem = refusal(&world, traveller(&world));
    assert!(problem.contains("more than a day ahead"), "{problem}");
}

#[test]
fn spec_2_2_no_export_brings_a_setting_that_could_not_be_set() {
    let mut world = World::with(&["tea"]);
    let set = [
        (Field::Model, "ollama:qwen3:8b"),
        (Field::SystemPrompt, "I am Wren.\nI speak plainly."),
        (Field::RefinementThreshold, "0.8"),
        (Field::CoreTokenBudget, "4000"),
        (Field::ImmutableTags, "voice, audio"),
        (Field::DuplicateMatch, "ignore_case"),
        (Field::LossGuard, "refuse"),
        (Field::RefinementSchedule, "Thu 03:30"),
        (Field::RefinementMode, "dedup_only"),
        (Field::ReasoningEffort, "low"),
        (Field::AnswerTokens, "500"),
        (Field::Paused, "true"),
        (Field::Active, "false"),
    ];
    for (field, value) in set {
        world.set(field, value);
    }
    assert!(traveller(&world).check().is_ok());
    world.set(Field::ImmutableTags, "[]");
    assert!(traveller(&world).check().is_ok(), "no tags at all");

    let mut long = traveller(&world);
    long.agent.settings.system_prompt = Some("x".repeat(100_001).into());
    let problem = refusal(&world, long);
    assert!(problem.contains("100001 characters long"), "{problem}");
    let mut nothing = traveller(&world);
    nothing.agent.settings.core_token_budget = Some(0);
    let problem = refusal(&world, nothing);
    assert!(problem.starts_with("core_token_budget"), "{problem}");
}

#[test]
fn spec_4_2_no_export_brings_a_memory_twice() {
    let world = World::with(&["The press came from Lisbon."]);
    let mut traveller = traveller(&world);
    traveller.memories.push(traveller.memories[0].clone());
    let problem = refusal(&world, traveller);
    assert!(problem.ends_with("exists twice"), "{problem}");
}
