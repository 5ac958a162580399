//! The settings of an agent: what a form sends, what a page shows, and what it never shows (SPEC 2.2, 5.1).

use memoir_app::OwnAgent;
use memoir_domain::{agent::Field, audit::Actor};
use memoir_testkit::TestedText;
use serde_json::{Value, json};

use crate::{
    document::ReadDocument,
    installation::{Browser, CANARY, Installation, owner},
};

fn path(agent: &OwnAgent) -> String {
    format!("/agents/{}/settings", agent.scope().agent)
}

async fn value(agent: &OwnAgent, field: Field) -> Value {
    let view = agent.views().show().await.unwrap();
    if field == Field::Name {
        return view.name.into();
    }
    view.settings.expose()[field.as_str()].clone()
}

/// The settings that the last change touched, by their wire names.
async fn last_change(agent: &OwnAgent) -> Value {
    let configured = memoir_domain::audit::Action::AgentConfigured;
    let search = memoir_app::RecordFilter::of_actions([configured]);
    let records = agent
        .views()
        .search_records(&search, None, 1)
        .await
        .unwrap();
    records[0].counts.as_map()["fields"].clone()
}

/// Sends a form with a model of an unknown provider: the fault is at the model, and what was typed stays.
pub(crate) async fn refuses_the_model(browser: &Browser, page: &str, typed: &[(&str, &str)]) {
    let refused = browser.fill_in(page, page, typed).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let document = refused.document();
    let told = &document.by_id("model-fault").text;
    told.begins("It names a provider that there is not");
    for (name, typed) in typed {
        let sent = ((*name).to_owned(), (*typed).to_owned());
        assert!(document.filled_in(page).contains(&sent), "{name}");
    }
}

#[tokio::test]
async fn every_setting_is_changed_and_returned_to_its_default() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let page = path(&agent);
    browser.page(&page).await.check(&page);
    // Of a bound, which does leave memories out of the prompt.
    let text = browser.get(&page).await.text;
    assert!(!text.contains("Nothing is lost") && text.contains("left out of the context"));
    let changed = [
        ("name", "Lark", json!("Lark")),
        ("model", "ollama:qwen3:8b", json!("ollama:qwen3:8b")),
        ("system_prompt", "Words.", json!("Words.")),
        ("reflection_prompt", "Words.", json!("Words.")),
        ("memory_reflection_prompt", "Words.", json!("Words.")),
        ("refinement_prompt", "Words.", json!("Words.")),
        ("refinement_threshold", "0.85", json!(0.85)),
        ("core_token_budget", "4000", json!(4_000)),
        ("refinement_trigger_tokens", "4500", json!(4_500)),
        ("immutable_tags", "vow, voice", json!(["vow", "voice"])),
        ("duplicate_match", "ignore_case", json!("ignore_case")),
        ("loss_guard", "refuse", json!("refuse")),
        ("refinement_schedule", "Thu 03:30", json!("Thu 03:30")),
        ("refinement_mode", "dedup_only", json!("dedup_only")),
        ("context_journal_tokens", "4000", json!(4_000)),
        ("context_core_tokens", "3000", json!(3_000)),
        ("reasoning_effort", "low", json!("low")),
        ("answer_tokens", "2000", json!(2_000)),
        ("paused", "yes", json!(true)),
        ("active", "", json!(false)),
    ];
    for (name, typed, expected) in changed {
        let done = browser.fill_in(&page, &page, &[(name, typed)]).await;
        assert_eq!(done.leads_to(), format!("{page}?done=configured"), "{name}");
        let field: Field = name.parse().unwrap();
        assert_eq!(value(&agent, field).await, expected, "{name}");
        assert_eq!(last_change(&agent).await, json!([name]));
        let document = browser.page(&page).await;
        document.check(&page);
        if !field.is_text() {
            let shown = document.filled_in(&page);
            let shown = shown.iter().find(|(known, _)| known == name);
            let shown = shown.map_or("", |(_, value)| value);
            assert_eq!(shown, typed, "{name}");
        }
    }
    // No tag at all is another thing than the default ones.
    browser
        .fill_in(&page, &page, &[("immutable_tags", "[]")])
        .await
        .leads_to();
    assert_eq!(value(&agent, Field::ImmutableTags).await, json!([]));
    let same = browser.fill_in(&page, &page, &[]).await;
    assert_eq!(same.leads_to(), format!("{page}?done=unchanged"));
    let back = [
        ("model", ""),
        ("default_system_prompt", "yes"),
        ("default_reflection_prompt", "yes"),
        ("default_memory_reflection_prompt", "yes"),
        ("default_refinement_prompt", "yes"),
        ("refinement_threshold", ""),
        ("core_token_budget", " "),
        ("refinement_trigger_tokens", ""),
        ("immutable_tags", ""),
        ("duplicate_match", ""),
        ("loss_guard", ""),
        ("refinement_schedule", ""),
        ("refinement_mode", ""),
        ("context_journal_tokens", ""),
        ("context_core_tokens", ""),
        ("reasoning_effort", ""),
        ("answer_tokens", ""),
        ("paused", ""),
        ("active", "yes"),
    ];
    browser.fill_in(&page, &page, &back).await.leads_to();
    let view = agent.views().show().await.unwrap();
    let settings = view.settings.expose().as_object().unwrap();
    // The effective value is beside the set one.
    let set = settings
        .iter()
        .filter(|(name, _)| !name.starts_with("effective_"));
    for (name, set) in set {
        let expected = match name.as_str() {
            "paused" => json!(false),
            "active" => json!(true),
            _ => Value::Null,
        };
        assert_eq!(*set, expected, "{name}");
    }
    assert_eq!(view.name, "Lark");
}

#[tokio::test]
async fn spec_2_2_a_list_of_tags_is_saved_as_it_is_shown() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let page = path(&agent);
    for tags in [
        json!(["vow, made", "voice"]),
        json!(["[vow]", "voice"]),
        json!(["\"[\", he said", "voice"]),
        json!(["vow", "[voice]"]),
    ] {
        let text = tags.to_string();
        let set = [(Field::ImmutableTags, Some(text.as_str()))];
        agent.settings().configure(&set, &owner()).await.unwrap();
        let document = browser.page(&page).await;
        let mut fields = document.filled_in(&page).iter();
        let (_, shown) = fields.find(|(name, _)| name == "immutable_tags").unwrap();
        for (typed, expected) in [("song", json!(["song"])), (shown.as_str(), tags)] {
            let typed = [("immutable_tags", typed)];
            browser.fill_in(&page, &page, &typed).await.leads_to();
            assert_eq!(value(&agent, Field::ImmutableTags).await, expected);
        }
    }
}

#[tokio::test]
async fn all_that_is_wrong_is_told_at_once_and_what_was_typed_stays() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    installation.agent(&installation.account, "Owl", &[]).await;
    let browser = installation.ada().await;
    let page = path(&agent);
    let long = "x".repeat(10_001);
    let fields = [
        ("name", " "),
        ("model", "gpt-5"),
        ("core_token_budget", "0"),
        ("refinement_threshold", "high"),
        ("immutable_tags", "a, <b>"),
        ("reflection_prompt", long.as_str()),
        ("refinement_prompt", "Gently,\nand slowly."),
        ("paused", "yes"),
    ];
    let refused = browser.fill_in(&page, &page, &fields).await;
    assert_eq!(refused.status, 409);
    let document = refused.document();
    document.check(&page);
    let kept = document.filled_in(&page);
    for (name, typed) in fields {
        let sent = (name.to_owned(), typed.to_owned());
        assert!(kept.contains(&sent), "{name}");
    }
    for wrong in [
        "name",
        "model",
        "core_token_budget",
        "refinement_threshold",
        "reflection_prompt",
    ] {
        assert_eq!(
            document.by_id(wrong).attribute("aria-invalid"),
            Some("true"),
            "{wrong}"
        );
    }
    for right in [
        "immutable_tags",
        "refinement_prompt",
        "refinement_trigger_tokens",
    ] {
        assert_eq!(
            document.by_id(right).attribute("aria-invalid"),
            None,
            "{right}"
        );
    }
    let told = "It is 10001 characters long, and the limit is 10000; shorten it or split it up.";
    assert_eq!(document.by_id("reflection_prompt-fault").text, told);
    assert_eq!(value(&agent, Field::Paused).await, false);
    assert_eq!(value(&agent, Field::RefinementPrompt).await, Value::Null);
    // What is right of it all is saved with the rest once that is.
    let right = [
        ("name", "Wren"),
        ("model", ""),
        ("core_token_budget", "1000"),
        ("refinement_threshold", ""),
        ("reflection_prompt", ""),
    ];
    let done = browser.send_filled_in(&document, &page, &right).await;
    assert_eq!(done.leads_to(), format!("{page}?done=configured"));
    assert_eq!(
        value(&agent, Field::RefinementPrompt).await,
        "Gently,\nand slowly."
    );
    let taken = browser.fill_in(&page, &page, &[("name", "OWL")]).await;
    assert_eq!(taken.status, 409);
    let told = taken.document().by_id("name-fault").text.clone();
    assert_eq!(told, "Another agent of the account has this name already.");
    // Whether a provider exists, only the installation knows.
    let unknown = [
        ("model", "nowhere:small"),
        ("reflection_prompt", "Look for promises."),
    ];
    refuses_the_model(&browser, &page, &unknown).await;
    let both = [("system_prompt", "New."), ("default_system_prompt", "yes")];
    let both = browser.fill_in(&page, &page, &both).await;
    assert_eq!(both.status, 409);
    both.document().check(&page);
}

#[tokio::test]
async fn prompts_of_the_greatest_length_are_taken() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let page = path(&agent);
    let (system, other) = ("🪶".repeat(100_000), "🪶".repeat(10_000));
    let fields = [
        ("system_prompt", system.as_str()),
        ("reflection_prompt", &other),
        ("memory_reflection_prompt", &other),
        ("refinement_prompt", &other),
    ];
    let done = browser.fill_in(&page, &page, &fields).await;
    assert_eq!(done.leads_to(), format!("{page}?done=configured"));
    let shown = browser.get(&page).await.text;
    assert!(shown.contains("100,000 characters") && !shown.contains("🪶"));
}

#[tokio::test]
async fn spec_5_1_no_prompt_is_shown_of_any_writer() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let page = path(&agent);
    let mine = format!("Refine gently, {CANARY}.");
    agent
        .settings()
        .configure(
            &[(Field::RefinementPrompt, Some(mine.as_str()))],
            &Actor::agent("Wren"),
        )
        .await
        .unwrap();
    let shown = browser.get(&page).await;
    shown.text.omits(CANARY);
    shown.text.tells("written by the agent itself");
    shown.text.tells("the agent itself");
    // A page with faults shows its input, and no other prompt.
    let typed = [("reflection_prompt", "Look for promises."), ("name", "")];
    let refused = browser.fill_in(&page, &page, &typed).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("Look for promises."));
    refused.text.omits(CANARY);
    assert!(!browser.get(&page).await.text.contains("Look for promises."));
    // A replacement is reported to the agent.
    browser
        .fill_in(&page, &page, &[("refinement_prompt", "Do nothing.")])
        .await
        .leads_to();
    let journal = agent.lens().memories(false).await.unwrap();
    let told = journal.last().unwrap().content();
    assert_eq!(
        told,
        "An administrator changed these settings of mine: refinement_prompt."
    );
}

#[tokio::test]
async fn what_another_program_changed_meanwhile_is_kept_or_reported() {
    let installation = Installation::open().await;
    let agent = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let page = path(&agent);
    let set = async |field, value: &str| {
        let bob = Actor::administrator("user Bob");
        agent
            .settings()
            .configure(&[(field, Some(value))], &bob)
            .await
            .unwrap();
    };
    let before = browser.page(&page).await;
    set(Field::CoreTokenBudget, "7000").await;
    set(Field::LossGuard, "refuse").await;
    // An untouched field does not change it back.
    let done = browser
        .send_filled_in(&before, &page, &[("refinement_threshold", "0.9")])
        .await;
    assert_eq!(done.leads_to(), format!("{page}?done=configured"));
    assert_eq!(last_change(&agent).await, json!(["refinement_threshold"]));
    assert_eq!(value(&agent, Field::CoreTokenBudget).await, 7_000);
    // A touched one is reported first.
    let both = [("core_token_budget", "6000"), ("loss_guard", "refuse")];
    let told = browser.send_filled_in(&before, &page, &both).await;
    assert_eq!(told.status, 409);
    assert_eq!(value(&agent, Field::CoreTokenBudget).await, 7_000);
    let document = told.document();
    document.check(&page);
    let fault = &document.by_id("core_token_budget-fault").text;
    fault.begins("Changed to “7,000” by user Bob at 2026-03-04");
    // Equal values are no conflict.
    assert_eq!(document.by_id("loss_guard").attribute("aria-invalid"), None);
    let kept = ("core_token_budget".to_owned(), "6000".to_owned());
    assert!(document.filled_in(&page).contains(&kept));
    let done = browser.send_filled_in(&document, &page, &[]).await;
    assert_eq!(done.leads_to(), format!("{page}?done=configured"));
    assert_eq!(last_change(&agent).await, json!(["core_token_budget"]));
    assert_eq!(value(&agent, Field::CoreTokenBudget).await, 6_000);

    // Prompts too, without revealing their text.
    let before = browser.page(&page).await;
    let own = [(Field::SystemPrompt, Some("I am Wren, and I sing."))];
    agent
        .settings()
        .configure(&own, &Actor::agent("Wren"))
        .await
        .unwrap();
    let mine = [("system_prompt", "You are Wren.")];
    let told = browser.send_filled_in(&before, &page, &mine).await;
    assert_eq!(told.status, 409);
    let document = told.document();
    let fault = &document.by_id("system_prompt-fault").text;
    fault.begins("Changed by the agent itself at ");
    browser
        .send_filled_in(&document, &page, &[])
        .await
        .leads_to();
    assert_eq!(value(&agent, Field::SystemPrompt).await, "You are Wren.");

    // More changes than are read: this one may be among them.
    let before = browser.page(&page).await;
    for tokens in 8_000..8_025 {
        set(Field::RefinementTriggerTokens, &tokens.to_string()).await;
    }
    let mine = [("system_prompt", "You are a wren.")];
    let told = browser.send_filled_in(&before, &page, &mine).await;
    assert_eq!(told.status, 409);
    let document = told.document();
    let fault = &document.by_id("system_prompt-fault").text;
    fault.begins("Perhaps changed by another administrator");
}

#[tokio::test]
async fn spec_5_6_settings_of_another_account_are_not_there() {
    let installation = Installation::open().await;
    let theirs = installation
        .agent(&installation.other().await, "Owl", &[])
        .await;
    let own = installation.wren(&[]).await;
    let browser = installation.ada().await;
    let id = theirs.scope().agent;
    for path in ["settings", "erase", "tokens", "tokens/x/revoke"] {
        let path = format!("/agents/{id}/{path}");
        let token = browser.page(&self::path(&own)).await;
        let token = token.hidden("form_token").unwrap().to_owned();
        let fields = [("form_token", token.as_str()), ("name", "Owl")];
        assert_eq!(browser.post(&path, &fields).await.status, 404, "{path}");
    }
    for path in ["settings", "erase"] {
        let path = format!("/agents/{id}/{path}");
        assert_eq!(browser.get(&path).await.status, 404, "{path}");
    }
    assert_eq!(value(&theirs, Field::Name).await, "Owl");
}
