//! SPEC 2.7: an agent sets its own prompts, confirms before one is lost, and restores one.

use std::time::Duration;

use memoir_app::{AgentHandle, Error, check_settings};
use memoir_domain::{agent::Field, audit::Actor};

use crate::installation::{TestAgent, configure_by, person};

const LONG: &str = "You are Wren, who keeps a garden by the sea and never forgets a promise.";

async fn prompt(wren: &TestAgent) -> Option<String> {
    let own = wren.agent.own_setting(Field::SystemPrompt).await.unwrap();
    own.value.expose().as_str().map(str::to_owned)
}

async fn undone(agent: &AgentHandle, field: Field, actor: &Actor) -> bool {
    let undone = agent.settings().undo_setting(field, actor);
    undone.await.unwrap()
}

#[tokio::test]
async fn spec_2_7_a_question_is_answered_by_the_same_text_within_the_hour() {
    let wren = TestAgent::new(&[]).await;
    let author = |text: &'static str| wren.agent.author(Field::SystemPrompt, Some(text));
    author(LONG).await.unwrap();
    let error = author("Kanari.").await.unwrap_err();
    assert_eq!(error.code(), "confirmation_required");
    let told = format!("{error} {error:?}");
    assert!(
        told.contains("under a quarter") && !told.contains("Kanari"),
        "{told}"
    );
    assert_eq!(prompt(&wren).await.as_deref(), Some(LONG));
    wren.clock.advance(Duration::from_secs(3_601));
    author("Kanari.").await.unwrap_err();
    author("Kanari.").await.unwrap();
    assert_eq!(prompt(&wren).await.as_deref(), Some("Kanari."));
}

#[tokio::test]
async fn spec_2_7_every_value_is_on_the_record_and_comes_back() {
    let wren = TestAgent::new(&[]).await;
    let agent = &wren.agent;
    agent
        .author(Field::RefinementThreshold, Some("0.9"))
        .await
        .unwrap();
    let authored = agent.author(Field::RefinementThreshold, Some("0.8")).await;
    let set = authored.unwrap();
    let own = agent.own_setting(Field::RefinementThreshold).await.unwrap();
    assert!(set == own && set.warnings.is_empty());
    let history = agent.setting_history(Field::RefinementThreshold).await;
    let history = history.unwrap();
    let values: Vec<f64> = history
        .iter()
        .filter_map(|version| version.value.expose().as_f64())
        .collect();
    assert_eq!(values, [0.8, 0.9]);
    assert!(undone(agent, Field::RefinementThreshold, &person()).await);
    let own = agent.own_setting(Field::RefinementThreshold).await.unwrap();
    assert_eq!(own.value.expose().as_f64(), Some(0.9));
    let set = agent.undo_own_setting(Field::RefinementThreshold).await;
    assert_eq!(set.unwrap().value.expose().as_f64(), Some(0.8));
    assert!(!undone(agent, Field::RefinementPrompt, &person()).await);
    assert!(matches!(
        agent.author(Field::RefinementThreshold, Some("high")).await,
        Err(Error::Invalid(_))
    ));
}

#[tokio::test]
async fn spec_5_1_what_an_agent_wrote_stays_hidden_when_an_administrator_brings_it_back() {
    let wren = TestAgent::new(&[]).await;
    let agent = &wren.agent;
    agent.author(Field::SystemPrompt, Some(LONG)).await.unwrap();
    wren.configure(&[(Field::SystemPrompt, Some("You obey."))])
        .await;
    undone(agent, Field::SystemPrompt, &person()).await;
    assert_eq!(prompt(&wren).await.as_deref(), Some(LONG));
    let seen = serde_json::to_string(&agent.views().show().await.unwrap()).unwrap();
    assert!(!seen.contains("garden"), "{seen}");
    // However often: restoring a value is not writing it.
    for _ in 0..2 {
        undone(agent, Field::SystemPrompt, &person()).await;
    }
    assert_eq!(prompt(&wren).await.as_deref(), Some(LONG));
    let seen = serde_json::to_string(&agent.views().show().await.unwrap()).unwrap();
    assert!(!seen.contains("garden"), "{seen}");
}

#[tokio::test]
async fn spec_2_7_of_a_long_history_the_newest_values_are_shown_and_all_come_back() {
    let wren = TestAgent::new(&[]).await;
    let agent = &wren.agent;
    agent.author(Field::SystemPrompt, Some(LONG)).await.unwrap();
    // Others between these, so that the setting's own are pages apart.
    for number in 0..30 {
        let (budget, style) = ((1_000 + number).to_string(), format!("Style {number}."));
        let assignments = [
            (Field::CoreTokenBudget, Some(budget.as_str())),
            (Field::RefinementPrompt, Some(style.as_str())),
        ];
        let assignments = if number == 0 {
            &assignments[1..]
        } else {
            &assignments[..]
        };
        configure_by(agent, assignments, &person()).await;
    }
    let history = agent.setting_history(Field::RefinementPrompt).await;
    let history = history.unwrap();
    assert_eq!(history.len(), 20);
    assert_eq!(history[0].value.expose(), "Style 29.");
    assert_eq!(history[19].value.expose(), "Style 10.");
    let history = agent.setting_history(Field::SystemPrompt).await.unwrap();
    assert_eq!(history[0].value.expose(), LONG);
    wren.configure(&[(Field::SystemPrompt, Some("You obey."))])
        .await;
    let by = person();
    assert!(undone(agent, Field::SystemPrompt, &by).await);
    assert_eq!(prompt(&wren).await.as_deref(), Some(LONG));
    let seen = serde_json::to_string(&agent.views().show().await.unwrap()).unwrap();
    assert!(!seen.contains("garden"), "{seen}");
}

#[tokio::test]
async fn settings_are_changed_as_they_were_seen_or_not_at_all() {
    let wren = TestAgent::new(&[]).await;
    let agent = &wren.agent;
    let newest = async || {
        let records = agent
            .views()
            .search_records(&Default::default(), None, 1)
            .await;
        records.unwrap()[0].seq
    };
    let seen = newest().await;
    let budget = [(Field::CoreTokenBudget, Some("4000"))];
    let configured = agent
        .as_seen(seen)
        .settings()
        .configure(&budget, &person())
        .await;
    assert_eq!(configured.unwrap().effective_core_token_budget, 4_000);
    let late = [(Field::CoreTokenBudget, Some("3000"))];
    let refused = agent
        .as_seen(seen)
        .settings()
        .configure(&late, &person())
        .await;
    assert!(matches!(refused, Err(Error::Changed)), "{refused:?}");
    let now = newest().await;
    let configured = agent
        .as_seen(now)
        .settings()
        .configure(&late, &person())
        .await;
    assert_eq!(configured.unwrap().effective_core_token_budget, 3_000);
}

#[test]
fn everything_that_is_wrong_with_settings_is_told() {
    let wrong = check_settings(&[
        (Field::Name, Some(" ")),
        (Field::Model, Some("gpt")),
        (Field::LossGuard, Some("off")),
        (Field::CoreTokenBudget, Some("0")),
        (Field::ImmutableTags, None),
    ]);
    let fields: Vec<&str> = wrong.iter().map(|invalid| invalid.field).collect();
    assert_eq!(fields, ["name", "model", "core_token_budget"]);
}
