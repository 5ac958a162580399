//! SPEC 2.2, 2.7: the settings of an agent, with their limits and defaults, and the placeholders of prompts.

use std::collections::BTreeSet;

use memoir_domain::{
    agent::{
        DuplicateMatch, Field, LossGuard, Mode, Settings, Threshold, field_value,
        fill_placeholders, fold_name, parse_name, set_field, set_field_value,
        unfilled_placeholders,
    },
    memory::Invalid,
    schedule::RefinementSchedule,
};

fn set(field: &str, value: Option<&str>) -> Result<Settings, Invalid> {
    let mut settings = Settings::default();
    let mut name = "wren".to_owned();
    set_field(&mut name, &mut settings, field.parse()?, value)?;
    Ok(settings)
}

fn refused(field: &str, value: &str) -> String {
    set(field, Some(value)).unwrap_err().to_string()
}

#[test]
fn spec_2_7_values_arrive_as_text_and_a_blank_is_an_error() {
    let settings = set("refinement_threshold", Some("0.85")).unwrap();
    assert_eq!(settings.effective_refinement_threshold().share(), 0.85);
    for wrong in ["high", "", " ", "0", "1.01", "-1", "NaN", "inf"] {
        let error = refused("refinement_threshold", wrong);
        let is_named = error.starts_with("refinement_threshold: must be");
        assert!(is_named, "{error}");
    }
    assert!(set("system_prompt", Some("  ")).is_err());
    for blank in ["", " ", ",", r#"[" "]"#, r#"["voice", ""]"#] {
        assert!(set("immutable_tags", Some(blank)).is_err(), "{blank}");
    }
    assert!(set("immutable_tags", Some("[]")).is_ok());
    assert!(set("core_token_budget", Some("0")).is_err());
    assert!(set("loss_guard", Some("loud")).is_err());
    assert!(refused("colour", "blue").contains("refinement_prompt"));
}

#[test]
fn spec_4_2_every_setting_is_read_back_from_its_value() {
    let texts = [
        "wren",
        "openai:gpt",
        "system words",
        "reflection words",
        "promotion words",
        "refinement words",
        "0.85",
        "4000",
        "9000",
        "voice, vow",
        "ignore_case",
        "refuse",
        "Thu 03:30",
        "dedup_only",
        "2000",
        "3000",
        "false",
        "high",
        "9000",
        "true",
        "false",
    ];
    let (mut name, mut settings) = ("blank".to_owned(), Settings::default());
    let (mut read_name, mut read) = (name.clone(), settings.clone());
    for (field, text) in Field::ALL.into_iter().zip(texts) {
        let before = field_value(&name, &settings, field);
        set_field(&mut name, &mut settings, field, Some(text)).unwrap();
        let after = field_value(&name, &settings, field);
        assert_ne!(before, after, "{}", field.as_str());
        set_field_value(&mut read_name, &mut read, field, &after).unwrap();
        assert_eq!((&read_name, &read), (&name, &settings));
        // Of another version: a name and a prompt are text in each of them.
        let unknown = serde_json::json!({"secret": 1});
        match set_field_value(&mut read_name, &mut read, field, &unknown) {
            Err(error) => {
                assert!(field.is_text() || field == Field::Name, "{error}");
                assert!(!error.to_string().contains("secret"), "{error}");
            }
            Ok(()) if field == Field::Active => assert!(read.inactive),
            Ok(()) => {
                assert_eq!(field_value(&read_name, &read, field), unknown);
                assert!(!format!("{read:?}").contains("secret"));
            }
        }
        set_field_value(&mut read_name, &mut read, field, &before).unwrap();
        assert_eq!(field_value(&read_name, &read, field), before);
        set_field_value(&mut read_name, &mut read, field, &after).unwrap();
    }
}

#[test]
fn spec_5_3_a_setting_of_another_version_is_the_strictest_and_is_written_back() {
    let stored = serde_json::json!({
        "core_token_budget": 4000,
        "duplicate_match": "by_sound",
        "loss_guard": "ask_first",
        "refinement_mode": "slow",
        "refinement_schedule": "monthly",
        "refinement_threshold": 2,
        "reasoning_effort": "all",
        "paused": "on_holidays",
        "a_later_setting": {"of": ["any", "form"]},
    });
    let read: Settings = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(read.effective_core_token_budget(), 4_000);
    assert_eq!(read.effective_loss_guard(), LossGuard::Refuse);
    assert_eq!(read.effective_refinement_threshold().share(), 1.0);
    assert_eq!(read.effective_refinement_mode(), Mode::DedupOnly);
    assert_eq!(read.effective_duplicate_match(), DuplicateMatch::Exact);
    assert_eq!(
        read.effective_refinement_schedule(),
        RefinementSchedule::Weekly
    );
    assert_eq!(read.reasoning_effort, None);
    assert!(read.paused);
    let written = serde_json::to_value(&read).unwrap();
    for (name, value) in stored.as_object().unwrap() {
        assert_eq!(&written[name], value, "{name}");
    }
    // Once it is set here, the value that was not known is gone.
    let (mut name, mut set) = (String::new(), read);
    set_field(&mut name, &mut set, Field::LossGuard, Some("archive")).unwrap();
    set_field(&mut name, &mut set, Field::RefinementThreshold, None).unwrap();
    assert_eq!(set.effective_loss_guard(), LossGuard::Archive);
    assert_eq!(set.effective_refinement_threshold(), Threshold::DEFAULT);
    let tags = serde_json::json!({"immutable_tags": {"all": true}});
    let tagged: Settings = serde_json::from_value(tags).unwrap();
    assert_eq!(tagged.effective_loss_guard(), LossGuard::Refuse);
    let authored = serde_json::json!({"authored": "all of them", "inactive": 1});
    let hidden: Settings = serde_json::from_value(authored).unwrap();
    assert!(hidden.authored.contains("system_prompt") && hidden.authored.len() == 4);
    assert!(hidden.inactive);
}

#[test]
fn spec_2_2_unset_settings_have_the_documented_defaults() {
    let settings = set("refinement_threshold", None).unwrap();
    assert_eq!(settings, Settings::default());
    assert_eq!(settings.effective_refinement_threshold().share(), 0.75);
    assert_eq!(settings.effective_core_token_budget(), 5_000);
    assert_eq!(settings.effective_refinement_trigger_tokens(), 5_000);
    assert_eq!(
        settings.effective_immutable_tags(),
        ["audio", "somatic", "voice"]
    );
    assert_eq!(settings.effective_duplicate_match(), DuplicateMatch::Exact);
    assert_eq!(settings.effective_loss_guard(), LossGuard::Archive);
}

#[test]
fn spec_2_2_the_newer_settings_have_defaults_and_clear_errors() {
    let settings = Settings::default();
    assert_eq!(
        settings.effective_refinement_schedule().to_string(),
        "weekly"
    );
    assert_eq!(settings.effective_refinement_mode(), Mode::Full);
    assert_eq!(settings.effective_context_journal_tokens(), 8_000);
    assert_eq!(settings.context_core_tokens, None);
    for (field, wrong, expected) in [
        ("refinement_schedule", "never", "`Thu 03:30`"),
        ("refinement_schedule", "Thu 25:00", "`Thu 03:30`"),
        ("refinement_mode", "gentle", "`dedup_only`"),
        ("context_journal_tokens", "0", "1 to 1,000,000,000"),
        ("context_core_tokens", "many", "1 to 1,000,000,000"),
        ("reasoning_effort", "hard", "`minimal`"),
        ("core_token_budget", "999", "1,000 to 1,000,000,000"),
        ("answer_tokens", "15", "16 to 1,000,000"),
        ("answer_tokens", "", "16 to 1,000,000"),
    ] {
        let error = refused(field, wrong);
        assert!(
            error.starts_with(&format!("{field}: must be")) && error.contains(expected),
            "{error}"
        );
    }
}

#[test]
fn spec_2_2_placeholders_that_nothing_fills_are_found() {
    let found_in = |field, text| {
        let found = unfilled_placeholders(field, text);
        found.into_iter().collect::<Vec<_>>()
    };
    let found = |text| found_in(Field::RefinementPrompt, text);
    assert_eq!(
        found("You are %{name}, %{name}, of %{house}. 100%{ is no name"),
        ["%{house}", "%{name}"]
    );
    assert_eq!(found("é%{ä}%{ %{b}"), ["%{b}", "%{ä}"]);
    assert!(found("50% {of} it").is_empty());
    let all = "%{system_prompt} %{core_memories} %{journal} %{conversation}";
    for (field, unfilled) in [
        (Field::SystemPrompt, all),
        (Field::RefinementPrompt, "%{conversation} %{journal}"),
        (Field::MemoryReflectionPrompt, "%{conversation}"),
        (Field::ReflectionPrompt, "%{journal}"),
    ] {
        let expected: BTreeSet<&str> = unfilled.split(' ').collect();
        assert_eq!(unfilled_placeholders(field, all), expected, "{field}");
    }
}

#[test]
fn spec_2_2_a_placeholder_is_filled_once() {
    let filled = fill_placeholders(
        "%{journal}, %{name}, %{journal}",
        &[("journal", "tea %{name}")],
    );
    assert_eq!(filled, "tea %{name}, %{name}, %{journal}");
}

#[test]
fn spec_2_2_limits_are_named_with_the_size_given() {
    let long = "x".repeat(100_001);
    for (field, given, size, limit) in [
        ("system_prompt", long.as_str(), "100001", "100000"),
        ("refinement_prompt", &long[..10_001], "10001", "10000"),
    ] {
        let error = refused(field, given);
        assert!(error.contains(size) && error.contains(limit), "{error}");
    }
    assert!(parse_name(&"n".repeat(101)).unwrap_err().too_long);
    assert_eq!(fold_name("WREN"), fold_name("wren"));
    let id = "019a6f2e-4c1b-7d10-9b7a-2f4f3c5d6e7f";
    for name in [
        id,
        &id.to_uppercase(),
        &id.replace('-', ""),
        &format!("{{{id}}}"),
        &format!("urn:uuid:{id}"),
        &id.replace('-', " "),
        &id.replace('-', "\u{2011}"),
        "wren\u{34f}",
        "wren\u{fe0f}",
        "wren\u{e0041}",
    ] {
        assert!(parse_name(name).is_err(), "{name:?}");
    }
    assert!(parse_name("019a6f2e-4c1b").is_ok());
    let tagged = set("immutable_tags", Some("voice, vow")).unwrap();
    assert_eq!(tagged.effective_immutable_tags(), ["voice", "vow"]);
    let untagged = set("immutable_tags", Some("[]")).unwrap();
    assert!(untagged.immutable_tag_set().is_empty());
}
