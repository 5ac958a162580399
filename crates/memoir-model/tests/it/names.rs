//! SPEC 6.3: names of models.

use memoir_model::ModelName;

#[test]
fn spec_6_3_only_the_first_colon_of_a_name_splits() {
    for (text, provider, model) in [
        (
            "openrouter:anthropic/claude-sonnet-4.5",
            "openrouter",
            "anthropic/claude-sonnet-4.5",
        ),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        (" builtin:careful\n", "builtin", "careful"),
        ("openai:ft:gpt-4o:org::id", "openai", "ft:gpt-4o:org::id"),
    ] {
        let name: ModelName = text.parse().unwrap();
        assert_eq!(
            (name.provider(), name.model(), name.as_str()),
            (provider, model, text.trim())
        );
    }
}

#[test]
fn spec_6_3_a_bad_name_says_what_is_wrong_and_what_is_known() {
    let message = |text: &str| text.parse::<ModelName>().unwrap_err().to_string();
    assert_eq!(
        message("anthropic/claude-sonnet-4.5"),
        "`anthropic/claude-sonnet-4.5` names no provider; write `provider:name`, such as \
         `openrouter:anthropic/claude-sonnet-4.5`; providers known without configuration: \
         `anthropic`, `openai`, `openrouter`, `ollama`, `vllm`, `llamacpp`, `builtin`"
    );
    assert!(message("").starts_with(
        "`` names no provider; write `provider:name`, such as `openrouter:vendor/model`"
    ));
    assert!(message("Open AI:gpt").starts_with("`Open AI` cannot name a provider: 1 to 50 of"));
    assert_eq!(
        message("openai:"),
        "`openai:` names no model; write the model's name after the colon"
    );
    assert!(message("openai:gpt 5").ends_with("without white space; it has 5"));
    assert!(message(&format!("openai:{}", "x".repeat(201))).ends_with("it has 201"));
}

#[test]
fn spec_6_3_a_name_is_a_string_in_json() {
    let name: ModelName = serde_json::from_str("\"ollama:qwen3:8b\"").unwrap();
    assert_eq!(serde_json::to_string(&name).unwrap(), "\"ollama:qwen3:8b\"");
    assert!(serde_json::from_str::<ModelName>("\"qwen3\"").is_err());
}
