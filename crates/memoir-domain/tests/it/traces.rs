//! Sessions of one agent each, step by step, with the expected result of every step and the expected final state
//! (`traces.json`). A test plays the trace whose rule and name make its own name.
//!
//! A step has `do` and `expect`; the latter names the fields to compare. `as` gives the number in the response a label,
//! and `$label` refers to that number. `characters` continues a text to this length. Lists are compared without order,
//! `created_at` by its beginning, `numbers` are those of `results`. A `status` means a refusal: 404 for a discarded
//! memory, 409 for the others. In `final` a memory without `content` has the saved text.

use std::collections::BTreeMap;

use memoir_domain::{
    agent::Field,
    audit::ActorKind,
    manage::{self, ChangeRefusal},
    memory::{Kind, NewMemory, Number, Tags},
    origin::{Origin, SavedBy},
    session::Mode,
};
use serde_json::{Map, Value, json};

use crate::world::{World, admin, time, wren};

const TRACES: &str = include_str!("traces.json");
const FILLER: &str = "the lamps were lit by the water and we sat there and ";

macro_rules! traces {
    ($($name:ident)+) => {
        $(#[test] fn $name() { play(stringify!($name)); })+
        const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

traces! {
    spec_1_under_stays_with_a_memory_that_leaves_core_itself
    spec_2_4_replacing_names_every_memory_that_it_leaves_and_why
    spec_2_4_replacing_leaves_a_ninth_of_the_budget_of_every_age
    spec_2_4_the_sources_of_a_replaced_summary_come_under_what_replaces_it
    spec_2_4_what_was_replaced_twice_is_shown_with_the_memory_at_the_end
    spec_2_4_promoting_takes_an_archival_memory_back_into_core
    spec_2_4_a_summary_is_discarded_with_its_last_source
    spec_2_4_a_promotion_stays_where_the_breaker_trips
    spec_3_4_one_of_several_exact_copies_stays_with_the_best_of_all
    spec_3_4_of_several_copies_the_constitutional_one_stays
    spec_3_4_copies_of_an_administrator_and_of_the_agent_are_kept_apart
    spec_3_4_what_was_under_a_copy_comes_under_the_one_that_stays
    spec_3_4_copies_that_differ_in_case_are_archived_where_the_setting_joins_them
    spec_3_5_without_duplicates_a_session_that_only_removes_them_is_not_started
    spec_3_8_arguments_are_read_in_every_form_that_models_write
    spec_3_8_a_text_over_its_limit_is_refused_before_an_unknown_number
    spec_3_8_external_members_beside_others_are_refused_before_the_guard_is_checked
    spec_3_8_the_budget_is_checked_before_the_text
    spec_3_8_what_is_unsupported_is_named_before_the_length_the_share_and_the_ages
    spec_3_8_a_search_finds_core_and_archival_memories
    spec_3_9_the_text_of_a_member_keeps_that_member
    spec_3_9_the_same_text_in_another_form_keeps_the_member_too
    spec_3_9_a_text_that_differs_in_case_is_another_text
    spec_3_9_a_summary_takes_the_earliest_date_all_tags_and_the_weakest_origin
    spec_3_9_a_summary_has_at_most_three_quarters_of_its_sources_rounded_down
    spec_3_9_the_sources_of_a_summary_are_checked_in_its_stead_and_move
    spec_3_9_the_sources_of_a_summary_come_under_the_member_that_is_kept
    spec_3_9_a_summary_adds_no_number_sign_quotation_negation_or_name
    spec_3_9_a_number_that_is_written_as_a_word_is_a_word
    spec_3_9_an_origin_date_of_a_source_may_be_written_as_a_date
    spec_3_9_one_constitutional_member_refuses_the_whole_consolidation
    spec_3_9_no_session_and_no_administrator_makes_a_summary_constitutional
    spec_3_9_summaries_together_take_a_third_of_the_budget_at_most
    spec_3_9_summaries_beyond_their_third_can_only_become_smaller
    spec_3_10_an_update_gives_its_text_a_new_number_and_archives_the_original
    spec_3_10_an_update_has_no_more_tokens_than_the_original
    spec_3_10_an_update_of_a_summary_is_written_over_its_sources
    spec_3_10_within_the_budget_a_summary_can_change_its_form_alone
    spec_3_10_one_delete_takes_up_to_ten_memories_and_is_one_edit
    spec_3_10_nothing_but_core_can_be_protected
    spec_3_13_a_tripped_breaker_brings_the_whole_session_back
    spec_3_13_a_core_size_at_the_threshold_is_not_below_it
    spec_3_13_memories_saved_meanwhile_do_not_hide_what_was_removed
    spec_3_13_a_discard_from_outside_trips_the_breaker_at_completion
    spec_3_13_a_stricter_threshold_counts_from_the_next_call_on
    spec_3_13_the_breaker_counts_what_goes_to_the_archive_as_removed
    spec_3_14_within_the_budget_three_quarters_of_every_age_stay
    spec_3_14_the_first_memory_of_all_may_leave
    spec_3_14_the_share_of_the_threshold_binds_every_age_as_well
    spec_3_14_the_original_of_an_update_leaves_the_prompt_by_the_age_rule
    spec_3_14_over_the_budget_a_third_of_it_is_enough_of_an_age
    spec_3_14_a_copy_that_is_free_leaves_below_the_floor_too
    spec_3_14_how_a_session_began_decides_whether_it_is_over_its_budget
    spec_3_14_only_the_later_of_two_copies_is_free
    spec_3_14_of_two_copies_that_leave_together_none_is_free
    spec_3_14_a_copy_of_the_other_side_is_not_free
    spec_3_14_a_copy_that_left_free_does_not_count_as_gone
    spec_3_14_naming_a_replacement_does_not_make_a_delete_free
    spec_3_14_a_memory_that_was_brought_back_is_not_gone
    spec_3_14_later_memories_of_weaker_origin_make_no_room_for_older_ones
    spec_3_14_a_weaker_origin_is_not_bound_by_what_left_of_a_stronger_one
    spec_3_14_memories_of_external_origin_may_always_leave
    spec_3_14_a_raised_budget_raises_the_floor_and_not_the_share_of_summaries
    spec_3_14_a_lowered_budget_lowers_the_share_of_summaries_and_not_the_floor
    spec_3_14_under_refuse_only_free_copies_leave
    spec_3_14_a_guard_made_stricter_counts_from_the_next_call_on
    spec_3_14_the_third_of_a_budget_holds_where_half_of_an_age_is_gone_already
    spec_3_19_a_rollback_brings_back_all_that_a_session_moved_and_wrote
    spec_3_19_a_rollback_leaves_a_source_that_was_promoted_since
    spec_3_19_a_rollback_goes_back_through_a_summary_of_a_summary
    spec_3_19_a_rollback_leaves_a_protection_by_an_administrator
}

/// The name of the test that plays a trace.
fn test_name(trace: &Value) -> String {
    let rule = trace["rule"].as_str().unwrap();
    let section = rule.split(' ').next().unwrap().replace('.', "_");
    let name = trace["name"].as_str().unwrap().to_lowercase();
    let words: Vec<&str> = name
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    format!("spec_{section}_{}", words.join("_"))
}

fn traces() -> Vec<Value> {
    serde_json::from_str(TRACES).unwrap()
}

#[test]
fn every_trace_is_played() {
    let mut names: Vec<String> = traces().iter().map(test_name).collect();
    names.sort();
    let mut played = NAMES.to_vec();
    played.sort_unstable();
    assert_eq!(names, played);
}

fn play(name: &str) {
    let trace = traces()
        .into_iter()
        .find(|trace| test_name(trace) == name)
        .unwrap();
    let settings: Vec<(Field, String)> = settings(&trace["agent"]);
    let settings: Vec<(Field, Option<&str>)> = settings
        .iter()
        .map(|(field, value)| (*field, Some(value.as_str())))
        .collect();
    let mut player = Player {
        world: World::of(&settings),
        numbers: BTreeMap::new(),
        texts: BTreeMap::new(),
    };
    for (at, step) in trace["steps"].as_array().unwrap().iter().enumerate() {
        player.step(at, step);
    }
    player.check_final(&trace["final"]);
}

fn settings(values: &Value) -> Vec<(Field, String)> {
    let values = values.as_object().unwrap();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    values
        .iter()
        .map(|(field, value)| (field.parse().unwrap(), text(value)))
        .collect()
}

/// `text`, continued to that many characters.
fn continued(text: &str, characters: Option<&Value>) -> String {
    let Some(characters) = characters.and_then(Value::as_u64) else {
        return text.to_owned();
    };
    let endless = text.chars().chain([' ']).chain(FILLER.chars().cycle());
    let mut text: String = endless.take(characters as usize - 1).collect();
    if text.ends_with(' ') {
        text.pop();
        text.push('s');
    }
    text + "."
}

struct Player {
    world: World,
    numbers: BTreeMap<String, u64>,
    /// The text that each label was saved with.
    texts: BTreeMap<String, String>,
}

impl Player {
    /// `value` with the numbers in place of their labels.
    fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text
                .strip_prefix('$')
                .and_then(|label| self.numbers.get(label))
            {
                Some(number) => json!(number),
                None => {
                    // Longer labels first: `$m1` begins `$m10`.
                    let mut labels: Vec<&String> = self.numbers.keys().collect();
                    labels.sort_by_key(|label| std::cmp::Reverse(label.len()));
                    let fill = |text: String, label: &&String| {
                        text.replace(&format!("${label}"), &self.numbers[*label].to_string())
                    };
                    json!(labels.iter().fold(text.clone(), fill))
                }
            },
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), self.fill(value)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }

    fn step(&mut self, at: usize, step: &Value) {
        self.world.tick();
        let memory = || self.fill(&step["memory"]).as_u64().unwrap();
        let result = match step["do"].as_str().unwrap() {
            "save" => self.save(step),
            "open" => self.open(step),
            "tool" => self.tool(step),
            "protect" => self.change(memory(), manage::protect),
            "unprotect" => self.change(memory(), manage::unprotect),
            "discard" => {
                let number = memory();
                self.world.discard(number);
                self.view(number)
            }
            "promote" => {
                let number = memory();
                match self.world.promote(number) {
                    Ok(()) => self.view(number),
                    Err(refusal) => refused(refusal.code()),
                }
            }
            "set" => {
                for (field, value) in settings(&step["settings"]) {
                    self.world.set(field, &value);
                }
                json!({})
            }
            "set_own" => {
                let field = step["field"].as_str().unwrap().parse().unwrap();
                self.world
                    .set_as(field, step["value"].as_str().unwrap(), &wren());
                json!({})
            }
            "rollback" => {
                match self.world.last_session().state.is_running() {
                    true => self.world.roll_back(),
                    false => {
                        let last = self.world.sessions.len() - 1;
                        self.world.undo(last, false).unwrap();
                    }
                }
                json!({})
            }
            "look" => self.view(memory()),
            "agent" => json!({"core_tokens": self.world.agent.tally.core_tokens}),
            other => panic!("there is no step {other}"),
        };
        if let Some(label) = step["as"].as_str() {
            let number = result["number"].as_u64();
            let number = number.unwrap_or_else(|| panic!("step {at}: {result}"));
            self.numbers.insert(label.to_owned(), number);
        }
        let expected = match &step["expect"] {
            Value::Null => json!({}),
            expected => self.fill(expected),
        };
        let is_refused = result.get("status").is_some();
        assert_eq!(
            is_refused,
            expected.get("status").is_some(),
            "step {at}: {step}\n{result}"
        );
        compare(&format!("step {at}: {step}"), &expected, &result);
    }

    fn save(&mut self, step: &Value) -> Value {
        let text = |name: &str| step[name].as_str();
        let content = continued(text("content").unwrap(), step.get("characters"));
        if let Some(label) = text("as") {
            self.texts.insert(label.to_owned(), content.clone());
        }
        let saved_by = SavedBy::of(match text("by") {
            Some("administrator") => ActorKind::Administrator,
            _ => ActorKind::Agent,
        });
        let origin: Option<Origin> = text("origin").map(|origin| origin.parse().unwrap());
        let tags: Vec<&str> = step["tags"].as_array().map_or_else(Vec::new, |tags| {
            tags.iter().map(|tag| tag.as_str().unwrap()).collect()
        });
        let kind = text("kind").map_or(Kind::Core, |kind| kind.parse().unwrap());
        let memory = NewMemory {
            tags: Tags::parse(tags).unwrap(),
            source: text("source").map(Into::into),
            created_at: text("created_at").map(time),
            ..NewMemory::new(
                kind,
                content.as_str().into(),
                SavedBy {
                    origin: saved_by.origin.lowered_to(origin).unwrap(),
                    ..saved_by
                },
            )
        };
        let replaces = self.fill(&step["replaces"]);
        let replaces: Vec<u64> = replaces.as_array().map_or_else(Vec::new, |numbers| {
            numbers
                .iter()
                .map(|number| number.as_u64().unwrap())
                .collect()
        });
        let saved = self.world.save_replacing(memory, &replaces);
        json!({
            "number": saved.number,
            "tokens": self.world.memory(saved.number.0).tokens(),
            "replaced": saved.replacements.replaced,
            "not_replaced": saved.replacements.not_replaced,
        })
    }

    fn open(&mut self, step: &Value) -> Value {
        let mode = step["mode"]
            .as_str()
            .map_or(Mode::Full, |mode| Mode::from_name(mode).unwrap());
        match self.world.begin(mode) {
            Ok(()) => {
                self.world.open_begun();
                json!({"pre_session_tokens": self.world.last_session().pre_session_tokens})
            }
            Err(memoir_domain::lifecycle::StartRefusal::NothingToRefine(_)) => {
                refused(memoir_domain::lifecycle::NothingToRefine::CODE)
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn tool(&mut self, step: &Value) -> Value {
        let mut arguments = self.fill(&step["arguments"]);
        if let Some(content) = arguments.get_mut("content") {
            *content = json!(continued(content.as_str().unwrap(), step.get("characters")));
            if let Some(label) = step["as"].as_str() {
                self.texts
                    .insert(label.to_owned(), content.as_str().unwrap().to_owned());
            }
        }
        self.world.call(step["tool"].as_str().unwrap(), arguments)
    }

    fn change(&mut self, number: u64, act: Act) -> Value {
        let memory = self.world.memory(number).clone();
        match act(self.world.agent.clone(), &memory, &admin(), self.world.now) {
            Ok(decision) => {
                decision
                    .into_iter()
                    .for_each(|decision| self.world.apply(decision));
                self.view(number)
            }
            Err(refusal) => refused(refusal.code()),
        }
    }

    /// A memory as it is read.
    fn view(&self, number: u64) -> Value {
        let all = self.world.all();
        let memory = self.world.memory(number);
        let sources: Vec<Number> = all
            .sources(memory.number)
            .map(|source| source.number)
            .collect();
        json!({
            "number": number,
            "kind": memory.kind(),
            "under": all.read_under(memory),
            "archived_at": memory.place.archived().map(|archived| archived.at),
            "is_summary": memory.is_summary,
            "constitutional": memory.is_constitutional(),
            "discarded": !memory.is_active(),
            "content": memory.content,
            "created_at": memory.created_at,
            "tags": memory.tags,
            "origin": memory.origin(),
            "source": memory.source,
            "sources": sources,
        })
    }

    fn check_final(&self, expected: &Value) {
        let core_tokens = &expected["core_tokens"];
        assert_eq!(*core_tokens, json!(self.world.agent.tally.core_tokens));
        for (label, memory) in expected["memories"].as_object().unwrap() {
            let mut memory = self.fill(memory);
            if memory.get("content").is_none() {
                memory["content"] = json!(self.texts[label]);
            }
            if memory["kind"] == "core" {
                memory["archived_at"] = Value::Null;
            }
            compare(label, &memory, &self.view(self.numbers[label]));
        }
        let originals = json!(self.world.check_replay());
        if let Some(expected) = expected.get("originals") {
            compare("originals", expected, &originals);
        }
    }
}

type Act = fn(
    memoir_domain::agent::Agent,
    &memoir_domain::memory::Memory,
    &memoir_domain::audit::Actor,
    memoir_domain::Timestamp,
) -> Result<Option<memoir_domain::draft::Decision>, ChangeRefusal>;

fn refused(code: &str) -> Value {
    let status = if code == "discarded" { 404 } else { 409 };
    json!({"status": status, "code": code})
}

/// Compares the fields that are expected.
fn compare(what: &str, expected: &Value, actual: &Value) {
    for (name, expected) in expected.as_object().unwrap() {
        let numbers = || {
            let results = actual["results"].as_array().unwrap();
            results.iter().map(|hit| hit["number"].clone()).collect()
        };
        let actual = match name.as_str() {
            "numbers" => numbers(),
            name => actual.get(name).cloned().unwrap_or(Value::Null),
        };
        let is_equal = match (name.as_str(), expected, &actual) {
            ("created_at", Value::String(expected), Value::String(actual)) => {
                actual.starts_with(expected.as_str())
            }
            ("stats", expected, actual) => is_part(expected, actual),
            (_, Value::Array(expected), Value::Array(actual)) => sorted(expected) == sorted(actual),
            (_, expected, actual) => expected == actual,
        };
        assert!(
            is_equal,
            "{what}\n{name}: expected {expected}, got {actual}"
        );
    }
}

fn is_part(expected: &Value, actual: &Value) -> bool {
    expected
        .as_object()
        .unwrap()
        .iter()
        .all(|(name, value)| actual[name] == *value)
}

fn sorted(values: &[Value]) -> Vec<String> {
    let mut values: Vec<String> = values.iter().map(Value::to_string).collect();
    values.sort();
    values
}
