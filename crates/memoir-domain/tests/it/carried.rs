//! SPEC 2.4, 3.10, 3.12 and 3.14: what memories stand for, what edits may let go, and what is told of it.

use memoir_domain::{
    agent::{Agent, Field, LostByDay},
    audit::{Action, Actor, ActorKind},
    loss::LossLimits,
    manage,
    memory::{NewMemory, Number},
    session::Mode,
    wording::{Origin, SavedBy},
};
use serde_json::{Value, json};

use crate::world::{World, admin, core};

/// A long memory that nobody edits: the breaker keeps still, and the allowance is some twenty words.
fn ballast() -> String {
    let fact = |number: u64| {
        format!(
            "On shelf {number} of the northern cellar we keep {number} jars of honey from {number} hives."
        )
    };
    (1..=40).map(fact).collect::<Vec<_>>().join(" ")
}

/// A session under the default guard over `texts`, after the padding, which is #1.
fn session(texts: &[&str]) -> World {
    let ballast = ballast();
    let mut all = vec![ballast.as_str()];
    all.extend(texts);
    let mut world = World::under("limit").saving(&all);
    world.open(Mode::Full);
    world
}

const KILN: &str = "The kiln in the quiet yard behind the old mill is fired on Thursdays.";
const TEA: &str = "Ann likes green tea.";

fn code(result: &Value) -> &str {
    result["code"].as_str().unwrap_or("none")
}

#[test]
fn spec_3_12_a_memory_stands_for_its_text_and_a_merge_for_those_of_all() {
    let mut world = session(&[KILN, TEA]);
    let own = world.memory(2).wordings.clone();
    assert_eq!((own.len(), own[0].number), (1, Number(2)));
    let merged = world.consolidate(&[2, 3], &format!("{TEA} {KILN}"));
    assert_eq!(merged["type"], "consolidated", "{merged}");
    let numbers = |world: &World, number: u64| -> Vec<u64> {
        world
            .memory(number)
            .wordings
            .iter()
            .map(|one| one.number.0)
            .collect()
    };
    assert_eq!(numbers(&world, 4), [2, 3]);
    // However it is rewritten, it stands for them.
    let tightened = world.update(4, &format!("{TEA} {}", KILN.replace("The kiln", "Kiln")));
    assert_eq!(tightened["type"], "updated", "{tightened}");
    assert_eq!(numbers(&world, 4), [2, 3]);
    let carried = world.carried();
    assert_eq!(
        (carried.wordings, carried.carried, carried.let_go),
        (3, 3, 0)
    );
    // A rollback brings everything back to where it was.
    world.roll_back();
    assert_eq!(world.memory(2).wordings, own);
    world.check_replay();
}

#[test]
fn spec_3_12_update_and_merge_add_nothing() {
    let both = "Ann likes green tea. Carl hates black coffee.";
    let mut world = session(&[KILN, TEA, "Carl hates black coffee.", both]);
    for result in [
        world.update(2, &KILN.replace("Thursdays", "Fridays")),
        world.update(3, "Ann likes green tea and yellow cake."),
        // Every word was there, and nobody said it.
        world.consolidate(
            &[3, 4],
            "Ann likes green tea. Carl hates black coffee. Carl likes tea.",
        ),
        // Room won by a double makes no room for what nobody said.
        world.consolidate(
            &[3, 4, 5],
            "Ann likes green tea. Carl hates black coffee. Ann hates black tea.",
        ),
    ] {
        assert_eq!(code(&result), "words_added", "{result}");
        assert!(result["added"].is_array());
        assert!(
            result["error"]
                .as_str()
                .unwrap()
                .contains("does not reword")
        );
    }
    assert_eq!(world.session().edits, 0);
}

#[test]
fn spec_3_12_what_is_too_little_of_a_sentence_is_refused() {
    let mut world = session(&[KILN]);
    let result = world.update(2, "The kiln is fired.");
    assert_eq!(code(&result), "wording_gutted", "{result}");
    // A text that would pass is offered where it is another one than what stands there.
    let mut world = session(&[KILN, "Ann likes green tea with mint."]);
    let result = world.consolidate(&[2, 3], &format!("{KILN} Ann likes tea."));
    assert_eq!(code(&result), "wording_gutted", "{result}");
    let passes = result["passes"].as_str().unwrap().to_owned();
    assert_eq!(world.consolidate(&[2, 3], &passes)["type"], "consolidated");
}

#[test]
fn spec_3_14_what_would_be_lost_is_named_and_done_when_it_is_confirmed() {
    let mut world = session(&[KILN]);
    let shorter = KILN.replace("quiet ", "");
    let asked = world.update(2, &shorter);
    assert_eq!(code(&asked), "words_lost", "{asked}");
    assert_eq!(
        asked["lost"],
        json!({"details": [KILN], "words": ["quiet"]})
    );
    assert_eq!(asked["would_say"], json!([shorter]));
    assert!(
        asked["allowance"].is_null(),
        "a limit that is shown becomes a target"
    );
    assert_eq!(world.session().edits, 0);
    // Another code, and the code for another text, say nothing.
    let confirm = asked["confirm"].as_str().unwrap().to_owned();
    for (content, code_given) in [
        (shorter.as_str(), "0000000000"),
        (&KILN.replace("old ", ""), &confirm),
    ] {
        let call = json!({"id": 2, "content": content, "confirm": code_given});
        assert_eq!(code(&world.call("update_memory", call)), "words_lost");
    }
    let call = json!({"id": 2, "content": shorter, "confirm": confirm});
    let done = world.call_whole("update_memory", call.clone());
    assert_eq!(done["type"], "updated", "{done}");
    assert_eq!(done["lost"]["words"], json!(["quiet"]));
    assert_eq!(done["edits_left"], 9);
    // It is on the record, on the wording, on the session and in the counts.
    let record = world.last_record();
    assert_eq!(record.facts.count_of("lost_words"), Some(1));
    assert_eq!(record.body.lost[0].words, ["quiet".into()]);
    let let_go = world.memory(2).wordings[0].let_go[0].clone();
    assert_eq!(
        (let_go.session, let_go.words, let_go.at),
        (world.session().id, 1, world.now)
    );
    assert_eq!(world.session().lost_words, 1);
    assert_eq!(
        (world.agent.tally.lost_words, world.agent.tally.let_go_count),
        (1, 1)
    );
    // The code counted once.
    assert!(!code(&world.call("update_memory", call)).is_empty());
    world.complete();
    let entry = world.kept(memoir_domain::memory::Kind::Journal);
    assert!(
        entry.last().unwrap().1.contains("1 word let go"),
        "{entry:?}"
    );
    let carried = world.carried();
    assert_eq!((carried.carried, carried.let_go), (1, 1));
    // Undone, it is said again.
    world.undo(0, false).unwrap();
    assert_eq!(
        (world.agent.tally.lost_words, world.agent.tally.let_go_count),
        (0, 0)
    );
    world.check_replay();
}

#[test]
fn spec_3_14_a_session_lets_go_of_two_percent_and_no_more() {
    let mut world = session(&[
        KILN,
        "The boat of my late uncle lies in the small harbour below the red lighthouse.",
    ]);
    world.limits = LossLimits::new(0.5, 1.0).unwrap();
    let mut drop = |number: u64, word: &str| {
        let text = world.text(number).replace(&format!("{word} "), "");
        let asked = world.update(number, &text);
        if code(&asked) != "words_lost" {
            return asked;
        }
        let call = json!({"id": number, "content": text, "confirm": asked["confirm"]});
        world.call("update_memory", call)
    };
    assert_eq!(drop(2, "quiet")["type"], "updated");
    assert_eq!(drop(3, "late")["type"], "updated");
    let refused = drop(3, "small");
    assert_eq!(code(&refused), "loss_limit", "{refused}");
    assert_eq!(refused["allowance"]["session_words"], 0);
}

#[test]
fn spec_3_14_junk_saved_today_makes_no_room_for_old_memories_to_go() {
    let mut world = World::under("limit").saving(&[KILN, TEA]);
    for number in 0..200 {
        let junk = format!(
            "Note {number}: the weather station on hill {number} reported {number} degrees at dawn."
        );
        world.save(core(&junk, "2026-01-01", &[]));
    }
    world.open(Mode::Full);
    // One sentence a year goes in any case, and then the old ones have no allowance of their own.
    let mut delete = |number: u64| {
        let asked = world.delete(number);
        let call = json!({"id": number, "confirm": asked["confirm"]});
        if code(&asked) == "words_lost" {
            world.call("delete_memory", call)
        } else {
            asked
        }
    };
    assert_eq!(delete(2)["type"], "deleted");
    assert_eq!(code(&delete(1)), "loss_limit");
}

#[test]
fn spec_3_12_a_delete_is_a_merge_into_the_memory_that_says_it_all() {
    let mut world = session(&[TEA, &format!("{TEA} She grows mint.")]);
    let result = world.delete(2);
    assert_eq!(
        (&result["type"], &result["carried_by"]),
        (&json!("deleted"), &json!(3)),
        "{result}"
    );
    let stands_for: Vec<u64> = world
        .memory(3)
        .wordings
        .iter()
        .map(|one| one.number.0)
        .collect();
    assert_eq!(stands_for, [2, 3]);
    assert_eq!(world.memory(3).created_at, world.memory(2).created_at);
    // What carries it cannot drop it any more without being asked.
    assert_eq!(code(&world.update(3, "She grows mint.")), "words_lost");
    world.check_replay();
    // Discarded outside of a session, it gives back what it took over (SPEC 3.12).
    world.complete();
    world.discard(3);
    assert!(world.memory(2).is_kept());
    assert_eq!(world.memory(2).wordings.len(), 1);
    world.check_replay();
    world.restore(3);
    assert_eq!(world.agent.tally.wording_count, 3);
    world.check_replay();
}

#[test]
fn spec_3_14_what_is_deleted_and_said_nowhere_else_is_marked_and_can_be_restored() {
    let mut world = session(&[TEA]);
    let asked = world.delete(2);
    assert_eq!(code(&asked), "words_lost", "{asked}");
    assert!(
        asked["error"]
            .as_str()
            .unwrap()
            .contains("No other memory says any of it")
    );
    let call = json!({"id": 2, "confirm": asked["confirm"]});
    assert_eq!(world.call("delete_memory", call)["type"], "deleted");
    assert_eq!(world.agent.tally.let_go_count, 1);
    assert_eq!(
        world.agent.tally.wording_count, 2,
        "what was let go counts on"
    );
    world.complete();
    world.restore(2);
    assert_eq!(
        (world.agent.tally.let_go_count, world.agent.tally.lost_words),
        (0, 0)
    );
    world.check_replay();
}

/// Lets go of what `content` no longer says, as somebody who is asked and says yes.
fn let_go(world: &mut World, tool: &str, mut call: Value) {
    let asked = world.call(tool, call.clone());
    assert_eq!(code(&asked), "words_lost", "{asked}");
    call["confirm"] = asked["confirm"].clone();
    let done = world.call(tool, call);
    assert_ne!(done["type"], "error", "{done}");
}

#[test]
fn spec_4_3_a_wording_that_lost_words_is_said_again_under_its_number() {
    let mut world = session(&[KILN]);
    let shorter = KILN.replace("quiet ", "");
    let_go(
        &mut world,
        "update_memory",
        json!({"id": 2, "content": shorter}),
    );
    world.complete();
    world.tick();
    let before = (world.now, world.memory(2).clone());
    world.tick();
    world.protect(2);
    world.restore(2);
    assert_eq!(world.text(2), KILN);
    assert!(
        world.memory(2).is_constitutional(),
        "it stays what it was made"
    );
    assert_eq!(world.memory(2).wordings[0].let_go, []);
    assert_eq!(
        (world.agent.tally.lost_words, world.agent.tally.let_go_count),
        (0, 0)
    );
    assert_eq!(world.last_record().action, Action::MemoryRestored);
    let carried = world.carried();
    assert_eq!((carried.carried, carried.let_go), (2, 0));
    // There is no more of it to give back.
    let agent = world.agent.clone();
    let again =
        manage::restore_wording(agent, world.memory(2), &KILN.into(), &admin(), world.now).unwrap();
    assert_eq!(again, None);
    // It stands in the way of an undo like any later change, and can be taken back (SPEC 4.3).
    let obstacles = world.undo(0, false).unwrap_err();
    assert!(
        obstacles
            .iter()
            .any(|one| one.action == Action::MemoryRestored)
    );
    assert!(world.rewind(before.0));
    assert_eq!(*world.memory(2), before.1);
    assert_eq!(world.agent.tally.lost_words, 1);
    world.check_replay();
    world.undo(0, true).unwrap();
    assert_eq!(world.text(2), KILN);
    world.check_replay();
}

#[test]
fn spec_4_3_a_wording_is_a_memory_of_its_own_again_where_its_memory_stands_for_others() {
    let mint = format!("{TEA} She grows mint beside the wall.");
    let mut world = session(&[TEA, &mint]);
    assert_eq!(world.delete(2)["carried_by"], 3);
    let_go(
        &mut world,
        "update_memory",
        json!({"id": 3, "content": TEA}),
    );
    world.complete();
    world.tick();
    let (then, count) = (world.now, world.memories.len());
    let lost = world.agent.tally.lost_words;
    assert!(lost > 0);
    world.tick();
    world.restore(3);
    let new = world.last_record().memory.unwrap();
    assert_eq!(new.0 as usize, count + 1);
    assert_eq!((world.text(new.0), world.text(3)), (mint.as_str(), TEA));
    let stands_for = |world: &World, number: u64| -> Vec<u64> {
        let wordings = &world.memory(number).wordings;
        wordings.iter().map(|one| one.number.0).collect()
    };
    assert_eq!(
        (stands_for(&world, 3), stands_for(&world, new.0)),
        (vec![2], vec![3])
    );
    assert_eq!(world.agent.tally.lost_words, 0);
    world.check_replay();
    // Discarded outside of a session, it does not come back in another shape.
    world.discard(3);
    assert_eq!(world.kept_core(), [1, new.0], "#2 was its exact double");
    world.discard(new.0);
    assert_eq!(world.kept_core(), [1], "#3 gave its wording up before");
    world.check_replay();
    world.rewind(then);
    assert_eq!(world.agent.tally.lost_words, lost);
    assert!(!world.memory(new.0).is_kept());
    world.check_replay();
}

#[test]
fn spec_4_3_restoring_a_merged_memory_takes_its_wording_from_a_deleted_one() {
    let mut world = session(&[KILN, TEA]);
    world.consolidate(&[2, 3], &format!("{KILN} {TEA}"));
    world.set(memoir_domain::agent::Field::LossGuard, "off");
    world.complete();
    world.open(Mode::Full);
    world.delete(4);
    world.complete();
    assert_eq!(world.agent.tally.let_go_count, 2);
    world.restore(3);
    assert_eq!(
        (
            world.agent.tally.let_go_count,
            world.agent.tally.wording_count
        ),
        (1, 3),
        "each wording counts once"
    );
    world.check_replay();
    world.restore(4);
    assert_eq!(world.agent.tally.let_go_count, 0);
    assert_eq!(world.agent.tally.wording_count, 3);
    world.check_replay();
}

#[test]
fn spec_3_14_refuse_lets_nothing_go_and_off_counts_it() {
    let mut world = World::under("refuse").saving(&[&ballast(), KILN]);
    world.open(Mode::Full);
    let refused = world.update(2, &KILN.replace("quiet ", ""));
    assert_eq!(code(&refused), "loss_limit");
    assert_eq!(
        world.update(2, &KILN.replace("The kiln", "Kiln"))["type"],
        "updated"
    );
    // Set laxer while it runs, it counts from the next session on.
    world.set(memoir_domain::agent::Field::LossGuard, "off");
    assert_eq!(code(&world.update(2, "Something else.")), "words_added");
    world.complete();
    world.open(Mode::Full);
    let done = world.call_whole(
        "update_memory",
        json!({"id": 2, "content": "Something else."}),
    );
    assert_eq!(done["type"], "updated");
    assert!(world.session().lost_words > 5);
    world.check_replay();
}

#[test]
fn spec_3_12_memories_of_different_days_are_not_merged_over_a_word_of_relative_time() {
    let mut world = session(&["Ann lost her job yesterday.", "Ann is well.", TEA]);
    let result = world.consolidate(&[2, 3], "Ann lost her job yesterday. Ann is well.");
    assert_eq!(code(&result), "invalid_argument", "{result}");
    assert!(result["error"].as_str().unwrap().contains("another day"));
    let fine = world.consolidate(&[3, 4], &format!("Ann is well. {TEA}"));
    assert_eq!(fine["type"], "consolidated", "{fine}");
}

#[test]
fn spec_3_12_what_forbids_a_merge_forbids_a_delete_that_hands_over() {
    let moved = "The loom was moved to the attic of the old mill yesterday.";
    let mut world = session(&[TEA, &format!("{TEA} {moved}")]);
    let carried = |world: &mut World| world.delete(2)["carried_by"].clone();
    assert_eq!(carried(&mut world), json!(null), "of another day");
    // The word may go from the present text: the wording has it for good.
    let without = format!("{TEA} {}", moved.replace(" yesterday", ""));
    let asked = world.update(3, &without);
    let call = json!({"id": 3, "content": without, "confirm": asked["confirm"]});
    assert_eq!(world.call("update_memory", call)["type"], "updated");
    assert_eq!(carried(&mut world), json!(null), "its wording has the word");
    let merged = world.consolidate(&[2, 3], &without);
    assert_eq!(code(&merged), "invalid_argument", "{merged}");
    // On one day they are one.
    let mut world = World::under("limit").saving(&[&ballast()]);
    for text in [TEA, &format!("{TEA} {moved}")] {
        world.save(core(text, "2026-01-02", &[]));
    }
    world.open(Mode::Full);
    assert_eq!(carried(&mut world), json!(3));
}

#[test]
fn spec_3_14_a_tag_that_stops_being_immutable_in_a_session_keeps_a_memory_from_carrying_there() {
    let carried = |set: &[&str]| {
        let mut world = World::under("limit").saving(&[&ballast()]);
        world.save(core(TEA, "2026-01-02", &[]));
        let says_it = format!("{TEA} The loom stands in the attic of the old mill.");
        world.save(core(&says_it, "2026-01-02", &["voice"]));
        world.open(Mode::Full);
        for value in set {
            world.set(Field::ImmutableTags, value);
        }
        world.delete(2)["carried_by"].clone()
    };
    assert_eq!(carried(&[]), json!(null), "as the session began");
    assert_eq!(carried(&[""]), json!(null), "taken from the list meanwhile");
}

#[test]
fn spec_3_12_a_merge_has_at_most_five_members() {
    let texts: Vec<String> = ["Ann", "Bob", "Cai", "Dov", "Eli", "Fay"]
        .map(|name| format!("{name} plays the cello."))
        .to_vec();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut world = session(&texts);
    let result = world.consolidate(&[2, 3, 4, 5, 6, 7], &texts.join(" "));
    assert_eq!(code(&result), "invalid_argument");
    assert!(
        result["error"].as_str().unwrap().contains("at most 5"),
        "{result}"
    );
}

#[test]
fn spec_3_10_a_constitutional_memory_can_only_be_tightened() {
    let vow = "I will always keep the promises that I made to you more than my comfort.";
    for (written, passes) in [
        (vow, true),
        (
            "I will always keep promises that I made to you more than my comfort.",
            true,
        ),
        (
            "I will always keep the promises that I made to you less than my comfort.",
            false,
        ),
        (
            "I will keep the promises that I made to you more than my comfort.",
            false,
        ),
        (
            "I will always keep the promises that you made to me more than my comfort.",
            false,
        ),
        (
            "I will always break the promises that I made to you more than my comfort.",
            false,
        ),
        (
            "I will always keep the promises that I made to you more than my comfort 💀",
            false,
        ),
    ] {
        let mut world = World::under("off").saving(&[&ballast(), &format!("!{vow}")]);
        world.open(Mode::Full);
        let result = world.update(2, written);
        assert_eq!(result["type"] == "updated", passes, "{result}");
        if !passes {
            assert_eq!(code(&result), "constitutional");
        }
    }
    // Repeated tightenings are measured against what was protected.
    let mut world = session(&[&format!("!{vow}")]);
    assert_eq!(world.update(2, &vow.replace("the ", ""))["type"], "updated");
    assert_eq!(
        code(&world.update(2, &vow.replace("always ", ""))),
        "constitutional"
    );
}

fn by(kind: ActorKind, origin: Origin, text: &str) -> NewMemory {
    NewMemory {
        door: SavedBy {
            origin,
            added_by: kind,
        },
        ..core(text, "2026-01-01", &[])
    }
}

#[test]
fn spec_2_4_a_merge_has_the_weakest_origin_and_all_sources() {
    let mut world = World::under("limit").saving(&[&ballast()]);
    for (origin, source, text) in [
        (Origin::Agent, "diary", "Ann plays the cello."),
        (Origin::Conversation, "chat", "Ann sings in a choir."),
        (Origin::External, "page", "Ann lives in Oslo."),
    ] {
        world.save(NewMemory {
            source: Some(source.into()),
            ..by(ActorKind::Agent, origin, text)
        });
    }
    world.open(Mode::Full);
    let mixed = world.consolidate(&[2, 4], "Ann plays the cello. Ann lives in Oslo.");
    assert_eq!(code(&mixed), "invalid_argument", "{mixed}");
    assert!(mixed["error"].as_str().unwrap().contains("external"));
    let merged = world.consolidate(&[2, 3], "Ann plays the cello. Ann sings in a choir.");
    assert_eq!(merged["type"], "consolidated", "{merged}");
    let memory = world.memory(5);
    assert_eq!(memory.origin(), Origin::Conversation);
    assert_eq!(memory.sources(), [&"diary".into(), &"chat".into()]);
    // Only the agent's and administrators' own texts become constitutional in a session.
    let refused = world.call("protect_memory", json!({"id": 5}));
    assert_eq!(code(&refused), "constitutional");
    assert!(Origin::Agent.lowered_to(Some(Origin::External)).is_ok());
    assert!(Origin::External.lowered_to(Some(Origin::Agent)).is_err());
}

#[test]
fn spec_3_4_an_administrators_guess_is_put_together_with_nothing_of_the_agents() {
    let mut world = World::under("limit").saving(&[&ballast()]);
    let pin = "The PIN is 4711.";
    world.save(by(ActorKind::Agent, Origin::Agent, pin));
    for _ in 0..2 {
        let guess = vec![by(ActorKind::Administrator, Origin::Administrator, pin)];
        let decision = manage::save(world.agent.clone(), guess, &admin(), world.now);
        world.apply(decision);
    }
    let opened = world.open(Mode::Full);
    assert_eq!(opened.duplicates_removed, 1, "the guesses among themselves");
    assert_eq!(world.kept_core(), [1, 2, 3]);
    // Deleting one counts as all lost, whoever says the same.
    let asked = world.delete(3);
    assert_eq!(code(&asked), "words_lost", "{asked}");
    assert!(
        asked["error"]
            .as_str()
            .unwrap()
            .contains("No other memory says any of it")
    );
    let asked = world.delete(2);
    assert_eq!(code(&asked), "words_lost", "{asked}");
    let _ = Actor::owner();
}

#[test]
fn spec_3_14_after_two_refusals_of_a_memory_the_answer_says_to_leave_it() {
    let mut world = session(&[KILN]);
    for time in 1..=3 {
        let result = world.update(2, "The kiln is a lie.");
        let says = result["error"]
            .as_str()
            .unwrap()
            .contains("leave it as it is, and go on");
        assert_eq!(says, time >= 2, "{result}");
    }
}

#[test]
fn spec_4_4_nobody_stands_for_a_shredded_wording() {
    let mut world = session(&[TEA, &format!("{TEA} She grows mint.")]);
    assert_eq!(world.delete(2)["carried_by"], 3);
    world.complete();
    world.shred(2).unwrap();
    let stands_for: Vec<u64> = world
        .memory(3)
        .wordings
        .iter()
        .map(|one| one.number.0)
        .collect();
    assert_eq!(stands_for, [3]);
    world.check_replay();
}

#[test]
fn spec_3_14_counts_of_words_are_compared_with_the_sum_over_all_wordings() {
    let mut world = World::in_session(&[&ballast(), "Bea keeps bees by the sea."]);
    world.delete(2);
    let mut agent = world.agent.clone();
    let miscounted = |agent: &Agent| agent.miscounted(world.memories.values());
    assert_eq!(miscounted(&agent), [] as [&str; 0]);
    assert!(agent.tally.lost_words > 0);
    agent.tally.words += 1;
    agent.tally.lost_words -= 1;
    assert_eq!(miscounted(&agent), ["words", "lost_words"]);
    agent = world.agent.clone();
    agent.lost_words = LostByDay::default();
    assert_eq!(miscounted(&agent), ["lost_words by day"]);
}

#[test]
fn spec_3_12_the_picture_in_the_readme_is_what_happens() {
    let steps = [
        "Ann is very fond of tea.",
        "Ann sings in the choir on Sundays.",
        "Ann is very fond of tea. Ann sings in the choir on Sundays.",
        "Ann is fond of tea and sings in the choir on Sundays.",
        "Ann is fond of tea and sings in the choir on Sundays. She has a cat.",
    ];
    let mut world = session(&[steps[0], steps[1], steps[4]]);
    assert_eq!(world.consolidate(&[2, 3], steps[2])["number"], 5);
    let tightened = world.update(5, steps[3]);
    assert_eq!(tightened["type"], "updated", "{tightened}");
    let unsaid = world.update(5, "Ann is fond of tea and hates the choir.");
    assert_eq!(code(&unsaid), "words_added");
    assert_eq!(code(&world.update(5, "Ann is fond of tea.")), "words_lost");
    assert_eq!(world.delete(5)["carried_by"], 4);
    assert_eq!(world.memory(4).wordings.len(), 3);
    let carried = world.carried();
    assert_eq!(
        (carried.wordings, carried.carried, carried.let_go),
        (4, 4, 0)
    );
    let readme = include_str!("../../../../README.md");
    for step in steps {
        assert!(readme.contains(step), "{step}");
    }
}
