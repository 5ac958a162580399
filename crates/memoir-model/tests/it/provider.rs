//! The settings of providers: what is read of them, and what is refused.

use std::time::Duration;

use memoir_model::{
    KeySource, OutputLimitField, Provider, ProviderKind, ProviderSettings, is_loopback,
};
use memoir_testkit::rows;
use reqwest::Url;

/// The longest name of a variable.
const LONGEST_VARIABLE: usize = 100;

fn problem(name: &str, settings: ProviderSettings) -> String {
    Provider::new(name, &settings).unwrap_err().to_string()
}

fn with_url(url: &str) -> ProviderSettings {
    ProviderSettings {
        base_url: Some(url.to_owned()),
        ..ProviderSettings::default()
    }
}

#[test]
fn spec_6_3_settings_read_from_toml_and_unknown_fields_are_refused() {
    let settings: ProviderSettings = toml::from_str(
        "kind = 'openai'\nbase_url = 'https://llm.example/v1'\nkey_env = 'LLM_KEY'\n\
         context_tokens = 32768\nrequest_timeout_seconds = 300\nallow_insecure = true\n\
         output_limit_field = 'max_completion_tokens'\nconcurrency = 3",
    )
    .unwrap();
    let provider = Provider::new("lab", &settings).unwrap();
    assert_eq!(
        provider,
        Provider {
            name: "lab".to_owned(),
            kind: ProviderKind::OpenAi,
            base_url: Some(Url::parse("https://llm.example/v1").unwrap()),
            key: KeySource::Environment {
                variable: "LLM_KEY".to_owned(),
                required: true
            },
            context_tokens: Some(32768),
            request_timeout: Duration::from_secs(300),
            allow_insecure: true,
            output_limit_field: OutputLimitField::MaxCompletionTokens,
            concurrency: Some(3),
        }
    );
    let error = toml::from_str::<ProviderSettings>("api_key = 'sk-1'").unwrap_err();
    assert!(
        error.to_string().contains("unknown field `api_key`"),
        "{error}"
    );
}

#[test]
fn spec_6_3_a_base_url_with_a_secret_or_another_scheme_is_refused() {
    for [url, expected] in rows(
        "ftp://llm.example | must begin with `http://` or `https://`
        llm.example/v1 | `base_url` is no valid URL
        https://me:canary@llm.example/v1 | must not hold a user or password
        https://canary@llm.example/v1 | must not hold a user or password
        https://llm.example/v1?key=canary | must not hold a query or fragment
        https://llm.example/v1#canary | must not hold a query or fragment",
    ) {
        let message = problem("lab", with_url(url));
        assert!(
            message.starts_with("`[providers.lab]`: ") && message.contains(expected),
            "{message}"
        );
        assert!(!message.contains("canary"), "{message}");
    }
}

#[test]
fn spec_6_3_each_mistake_in_the_settings_has_its_message() {
    for [name, settings, expected] in rows(
        "Lab | allow_insecure = false | 1 to 50 of
        lab | allow_insecure = false | `base_url` is missing
        openai | key_env = 'A'; key_file = '/key' | both set
        ollama | context_tokens = 0 | `context_tokens` is 0; it must be at least 1
        ollama | concurrency = 0 | `concurrency` is 0; it must be 1 to 10000
        ollama | concurrency = 10001 | `concurrency` is 10001; it must be 1 to 10000
        ollama | request_timeout_seconds = 3601 | is 3601; it must be 1 to 3600",
    ) {
        let settings = toml::from_str(&settings.replace("; ", "\n")).unwrap();
        let message = problem(name, settings);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn spec_6_3_the_built_in_refiner_cannot_be_configured() {
    let expected = |name: &str| {
        format!("`[providers.{name}]`: `builtin` is built in and cannot be configured")
    };
    let of_kind = |settings: ProviderSettings| ProviderSettings {
        kind: Some(ProviderKind::Builtin),
        ..settings
    };
    let openai = ProviderSettings {
        kind: Some(ProviderKind::OpenAi),
        ..with_url("http://127.0.0.1")
    };
    for settings in [
        openai,
        with_url("http://127.0.0.1"),
        ProviderSettings::default(),
    ] {
        assert_eq!(problem("builtin", settings.clone()), expected("builtin"));
        assert_eq!(problem("lab", of_kind(settings)), expected("lab"));
    }
    let error = toml::from_str::<ProviderSettings>("kind = 'builtin'").unwrap_err();
    assert!(
        error
            .message()
            .ends_with("expected `openai` or `anthropic`"),
        "{error}"
    );
}

#[test]
fn spec_6_3_a_key_in_place_of_its_variable_is_refused_and_not_echoed() {
    let with_variable = |variable: &str| ProviderSettings {
        key_env: Some(variable.to_owned()),
        ..with_url("http://127.0.0.1:9/v1")
    };
    let longest = "K".repeat(LONGEST_VARIABLE);
    for name in ["LAB_KEY", "_key2", " LAB_KEY ", &longest] {
        assert_eq!(
            Provider::new("lab", &with_variable(name)).unwrap().key,
            KeySource::Environment {
                variable: name.trim().to_owned(),
                required: true
            }
        );
    }
    let too_long = "canary".repeat(LONGEST_VARIABLE);
    for key in [
        "sk-canary",
        "2canary",
        "canary key",
        "$canary",
        "canary=1",
        "cänary",
        "canary\n2",
        &too_long,
    ] {
        let error = Provider::new("lab", &with_variable(key)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`[providers.lab]`: `key_env` must be the name of an environment variable, not a \
             key: letters, digits and `_`, not beginning with a digit, at most 100"
        );
        assert!(!format!("{error:?}").contains(key), "{error:?}");
    }
}

#[test]
fn spec_6_3_an_empty_key_env_means_no_key() {
    let settings = ProviderSettings {
        key_env: Some(String::new()),
        ..with_url("http://127.0.0.1:9/v1")
    };
    assert_eq!(
        Provider::new("openai", &settings).unwrap().key,
        KeySource::None
    );
}

#[test]
fn spec_6_3_only_this_machine_is_loopback() {
    let loopback = |url: &str| is_loopback(&Url::parse(url).unwrap());
    for url in [
        "http://127.0.0.1/",
        "http://127.9.9.9:80/",
        "http://[::1]:8000/v1",
        "http://localhost:1/",
        "http://LOCALHOST/",
        "http://x.localhost/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
    ] {
        assert!(loopback(url), "{url}");
    }
    for url in [
        "http://10.0.0.1/",
        "http://llm.example/",
        "http://localhost.example/",
        "http://127.0.0.1.example/",
    ] {
        assert!(!loopback(url), "{url}");
    }
}
