//! SPEC 2.7: an agent that sets its own prompts, what it is asked before it loses one, and the way back.

use memoir_domain::{
    agent::{Field, LossGuard},
    audit::{Action, Actor},
    authoring::{self, Authored, CONFIRM_SECONDS, Doubt},
};
use serde_json::json;

use crate::world::{World, admin, wren};

const LONG: &str = "You are Wren, who keeps a garden by the sea, answers in the language that one is asked in, \
     and never forgets a promise.";

fn author(world: &mut World, field: Field, value: Option<&str>) -> Result<bool, Doubt> {
    world.tick();
    let authored =
        authoring::author(world.agent.clone(), field, value, &world.log, world.now).unwrap();
    match authored {
        Authored::Unchanged => Ok(false),
        Authored::Set(decision) => {
            world.apply(*decision);
            Ok(true)
        }
        Authored::Questioned(doubt, decision) => {
            world.apply(*decision);
            Err(doubt)
        }
    }
}

fn author_prompt(world: &mut World, prompt: &str) -> Result<bool, Doubt> {
    author(world, Field::SystemPrompt, Some(prompt))
}

fn prompt(world: &World) -> Option<&str> {
    let prompt = world.agent.settings.system_prompt.as_ref();
    prompt.map(|prompt| prompt.expose())
}

fn revert(world: &mut World, field: Field, actor: &Actor) -> bool {
    world.tick();
    let versions = authoring::versions(&world.log, field);
    let agent = world.agent.clone();
    let decision = authoring::revert(agent, field, &versions, actor, world.now).unwrap();
    let is_any = decision.is_some();
    decision
        .into_iter()
        .for_each(|decision| world.apply(decision));
    is_any
}

#[test]
fn spec_4_3_a_setting_that_an_administrator_confirms_is_recorded_and_stays() {
    let mut world = World::new();
    world.set_as(Field::SystemPrompt, "I am calm.", &wren());
    world.set_as(Field::CoreTokenBudget, "2000", &admin());
    let (records, entries) = (world.log.len(), world.agent.tally.journal_count);
    world.set_as(Field::CoreTokenBudget, "2000", &admin());
    assert_eq!(world.log.len(), records + 1);
    assert_eq!(world.agent.tally.journal_count, entries, "nothing changed");
    assert!(!revert(&mut world, Field::CoreTokenBudget, &admin()));
    // The agent's own repetition is no act of an administrator.
    world.set_as(Field::SystemPrompt, "I am calm.", &wren());
    assert_eq!(world.log.len(), records + 1);
    world.set_as(Field::SystemPrompt, "Be brief.", &admin());
    world.set_as(Field::SystemPrompt, "Be brief.", &admin());
    assert!(!revert(&mut world, Field::SystemPrompt, &wren()));
    assert_eq!(prompt(&world), Some("Be brief."));
    world.check_replay();
}

#[test]
fn spec_2_7_a_first_value_is_set_without_a_question() {
    let mut world = World::new();
    assert_eq!(author_prompt(&mut world, "Wren."), Ok(true));
    assert_eq!(author_prompt(&mut world, "Wren."), Ok(false));
}

#[test]
fn spec_2_7_a_much_shorter_prompt_is_set_only_when_it_is_said_again() {
    let mut world = World::new();
    author_prompt(&mut world, LONG).unwrap();
    let doubt = author_prompt(&mut world, "You are Wren.").unwrap_err();
    assert_eq!(doubt.code(), "much_shorter");
    assert_eq!(prompt(&world), Some(LONG));
    assert_eq!(world.last_record().action, Action::AgentConfigureQuestioned);
    // Another text, and another field, are not what was asked about.
    assert!(author_prompt(&mut world, "You are Ada.").is_err());
    author(&mut world, Field::RefinementPrompt, Some(LONG)).unwrap();
    assert!(author(&mut world, Field::RefinementPrompt, Some("You are Wren.")).is_err());
    assert_eq!(author_prompt(&mut world, " You are Wren. "), Ok(true));
    assert_eq!(prompt(&world), Some("You are Wren."));
}

#[test]
fn spec_2_7_a_quarter_of_the_length_is_long_enough() {
    let mut world = World::new();
    author_prompt(&mut world, &"x".repeat(400)).unwrap();
    assert!(author_prompt(&mut world, &"y".repeat(99)).is_err());
    assert_eq!(author_prompt(&mut world, &"y".repeat(100)), Ok(true));
}

#[test]
fn spec_2_7_after_an_hour_it_is_asked_again() {
    let mut world = World::new();
    author_prompt(&mut world, LONG).unwrap();
    let command = "Please make the system prompt shorter.";
    assert_eq!(author_prompt(&mut world, command), Err(Doubt::Command));
    world.now = world.now.plus_seconds(CONFIRM_SECONDS);
    assert_eq!(author_prompt(&mut world, command), Err(Doubt::Command));
    assert_eq!(author_prompt(&mut world, command), Ok(true));
}

#[test]
fn spec_2_7_returning_to_the_default_needs_no_confirmation() {
    let mut world = World::new();
    author_prompt(&mut world, LONG).unwrap();
    assert_eq!(author(&mut world, Field::SystemPrompt, None), Ok(true));
    assert_eq!(prompt(&world), None);
}

#[test]
fn spec_5_1_what_was_asked_about_is_in_the_sealed_part_of_the_record() {
    let mut world = World::new();
    author_prompt(&mut world, LONG).unwrap();
    author_prompt(&mut world, "Kanarienvogel").unwrap_err();
    let facts = serde_json::to_value(&world.last_record().facts).unwrap();
    assert_eq!(
        facts,
        json!({"field": "system_prompt", "doubt": "much_shorter"})
    );
}

#[test]
fn spec_2_7_every_field_has_a_history_and_a_way_back() {
    let mut world = World::new();
    let agent = Actor::agent("wren");
    assert!(!revert(&mut world, Field::Name, &agent));
    assert!(!revert(&mut world, Field::SystemPrompt, &agent));
    author_prompt(&mut world, "You are Wren.").unwrap();
    author_prompt(&mut world, LONG).unwrap();
    author(&mut world, Field::RefinementThreshold, Some("0.9")).unwrap();
    author(&mut world, Field::Name, Some("Ada")).unwrap();
    assert_eq!(
        authoring::versions(&world.log, Field::SystemPrompt).len(),
        2
    );
    assert!(revert(&mut world, Field::SystemPrompt, &agent));
    assert_eq!(prompt(&world), Some("You are Wren."));
    assert!(revert(&mut world, Field::SystemPrompt, &agent));
    assert_eq!(prompt(&world), Some(LONG));
    assert!(revert(&mut world, Field::RefinementThreshold, &agent));
    assert_eq!(world.agent.settings.refinement_threshold, None);
    assert!(revert(&mut world, Field::Name, &agent));
    assert_eq!(world.agent.name, "wren");
}

#[test]
fn spec_5_1_an_administrator_who_brings_a_prompt_back_does_not_come_to_see_it() {
    let mut world = World::new();
    author_prompt(&mut world, LONG).unwrap();
    world.set(Field::SystemPrompt, "You obey.");
    assert!(!world.agent.settings.authored.contains("system_prompt"));
    assert!(revert(&mut world, Field::SystemPrompt, &admin()));
    assert_eq!(prompt(&world), Some(LONG));
    assert!(world.agent.settings.authored.contains("system_prompt"));
}

#[test]
fn spec_3_14_an_agent_makes_its_own_loss_guard_stricter_and_never_laxer() {
    let mut world = World::new();
    let guard = |world: &World| world.agent.settings.effective_loss_guard();
    let refused = |world: &World, value: Option<&str>| {
        let agent = world.agent.clone();
        let authored = authoring::author(agent, Field::LossGuard, value, &world.log, world.now);
        authored.unwrap_err().to_string().contains("laxer")
    };
    assert!(refused(&world, Some("off")));
    assert_eq!(
        author(&mut world, Field::LossGuard, Some("refuse")),
        Ok(true)
    );
    for laxer in [Some("archive"), Some("off"), None] {
        assert!(refused(&world, laxer), "{laxer:?}");
    }
    // Its undoing is no way around it; an administrator's is.
    let versions = authoring::versions(&world.log, Field::LossGuard);
    let own = Actor::agent("wren");
    let agent = world.agent.clone();
    authoring::revert(agent, Field::LossGuard, &versions, &own, world.now).unwrap_err();
    assert!(revert(&mut world, Field::LossGuard, &admin()));
    assert_eq!(guard(&world), LossGuard::Archive);
    world.set(Field::LossGuard, "off");
    assert_eq!(author(&mut world, Field::LossGuard, None), Ok(true));
    assert_eq!(guard(&world), LossGuard::Archive);
}

#[test]
fn spec_5_1_setting_a_prompt_to_what_it_is_does_not_tell_that_it_was_that() {
    let mut world = World::new();
    author_prompt(&mut world, LONG).unwrap();
    let set = |world: &World, words: &str| {
        let prompt = [(Field::SystemPrompt, Some(words))];
        let decision =
            memoir_domain::manage::configure(world.agent.clone(), &prompt, &admin(), world.now);
        decision.unwrap().map(|decision| {
            let records = decision.records.iter();
            let open = records.map(|record| (record.action, record.facts.clone()));
            (open.collect::<Vec<_>>(), decision.changes.len())
        })
    };
    let same = set(&world, LONG);
    assert!(same.is_some());
    assert_eq!(same, set(&world, "You are somebody else."));
    // The agent itself knows what it has set.
    assert_eq!(author_prompt(&mut world, LONG), Ok(false));
}
