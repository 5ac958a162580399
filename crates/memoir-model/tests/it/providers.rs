//! From names and settings to models.

use std::collections::BTreeMap;

use memoir_model::{ModelName, ProviderKind, ProviderSettings, Providers};

use memoir_testkit::{ScriptedServer, ServerStep};

use super::{KEY, WORDS, providers, request, settings, user};

fn name(text: &str) -> ModelName {
    text.parse().unwrap()
}

fn refusal(providers: &Providers, model: &str) -> String {
    let Err(error) = providers.connect(&name(model)) else {
        panic!("{model} is refused")
    };
    let text = format!("{error:?} {error}");
    assert!(!text.contains(KEY), "{text}");
    error.to_string()
}

fn bare() -> Providers {
    Providers::with_environment(BTreeMap::new(), |_| None).unwrap()
}

#[test]
fn spec_6_3_an_unknown_provider_is_refused_with_those_there_are() {
    assert_eq!(
        refusal(&bare(), "qwen3:8b"),
        "`qwen3:8b`: there is no provider `qwen3`; known are `anthropic`, `builtin`, `llamacpp`, \
         `ollama`, `openai`, `openrouter`, `vllm`; the provider comes first, as in `ollama:qwen3:8b`"
    );
    assert_eq!(
        refusal(&bare(), "builtin:reckless"),
        "`builtin:reckless`: there is no such built-in model; there is only `builtin:careful`"
    );
}

#[test]
fn spec_6_3_a_missing_key_names_the_variable_and_the_setting() {
    assert_eq!(
        refusal(&bare(), "openrouter:anthropic/claude-sonnet-4.5"),
        "the provider `openrouter` needs a key: set the environment variable \
         `OPENROUTER_API_KEY`, or `key_file` in `[providers.openrouter]`"
    );
    let blank = Providers::with_environment(BTreeMap::new(), |_| Some(" ".to_owned())).unwrap();
    assert!(refusal(&blank, "anthropic:claude-x").contains("`ANTHROPIC_API_KEY`"));
    for model in [
        "ollama:qwen3:8b",
        "vllm:qwen",
        "llamacpp:any",
        "builtin:careful",
    ] {
        assert_eq!(bare().connect(&name(model)).unwrap().name(), &name(model));
    }
}

#[test]
fn spec_6_3_a_key_in_place_of_its_name_is_not_echoed() {
    // A key that could be the name of a variable as well.
    const KEY: &str = "hf_canaryKey";
    let base_url = || Some("https://llm.example/v1".to_owned());
    let in_variable = ProviderSettings {
        base_url: base_url(),
        key_env: Some(KEY.to_owned()),
        ..ProviderSettings::default()
    };
    let in_file = ProviderSettings {
        base_url: base_url(),
        key_file: Some(KEY.into()),
        ..ProviderSettings::default()
    };
    for (provider, settings, told) in [
        (
            "lab",
            in_variable.clone(),
            "the provider `lab` needs a key: the environment variable named by `key_env` in \
             `[providers.lab]` is unset or empty",
        ),
        (
            "openai",
            in_variable,
            "the provider `openai` needs a key: the environment variable named by `key_env` in \
             `[providers.openai]` is unset or empty",
        ),
        (
            "lab",
            in_file,
            "`key_file` of the provider `lab` names a file that cannot be read: entity not found",
        ),
    ] {
        let settings = BTreeMap::from([(provider.to_owned(), settings)]);
        let providers = Providers::with_environment(settings, |_| None).unwrap();
        let Err(error) = providers.connect(&name(&format!("{provider}:x"))) else {
            panic!("there is no key")
        };
        assert_eq!(error.to_string(), told);
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
    }
}

#[test]
fn spec_3_7_the_built_in_refiner_reads_without_limit() {
    let careful = bare().connect(&name("builtin:careful")).unwrap();
    assert_eq!(careful.context_tokens(), Some(u32::MAX));
}

#[test]
fn spec_6_3_a_key_file_is_read_and_its_faults_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let lab = || {
        providers(ProviderSettings {
            key_env: None,
            key_file: Some(path.clone()),
            ..settings(ProviderKind::OpenAi, "https://llm.example/v1".to_owned())
        })
    };
    let message = refusal(&lab(), "lab:x");
    assert!(
        message.contains("`key_file` of the provider `lab`")
            && message.contains("entity not found"),
        "{message}"
    );
    for (content, expected) in [
        ("\n", "it is empty"),
        ("sk-canary-key\nsk-other", "printable ASCII"),
    ] {
        std::fs::write(&path, content).unwrap();
        let message = refusal(&lab(), "lab:x");
        assert!(
            message.contains(expected) && message.contains("the file `"),
            "{message}"
        );
    }
    std::fs::write(&path, "sk-canary-key\n").unwrap();
    lab().connect(&name("lab:x")).unwrap();
}

#[test]
fn spec_6_3_a_key_goes_over_plain_http_to_this_machine_only() {
    let lab = |base_url: &str, allow_insecure: bool| {
        providers(ProviderSettings {
            allow_insecure,
            ..settings(ProviderKind::OpenAi, base_url.to_owned())
        })
    };
    assert_eq!(
        refusal(&lab("http://gpu.example:8000/v1", false), "lab:x"),
        "the provider `lab` would send its key unencrypted to `gpu.example`; use `https`, or set \
         `allow_insecure = true` in `[providers.lab]`"
    );
    for (base_url, allowed) in [
        ("http://gpu.example:8000/v1", true),
        ("http://localhost:8000/v1", false),
        ("http://[::1]/v1", false),
        ("https://gpu.example/v1", false),
    ] {
        lab(base_url, allowed).connect(&name("lab:x")).unwrap();
    }
    let keyless = ProviderSettings {
        base_url: Some("http://gpu.example/v1".to_owned()),
        ..ProviderSettings::default()
    };
    let providers =
        Providers::with_environment(BTreeMap::from([("lab".to_owned(), keyless)]), |_| None)
            .unwrap();
    providers.connect(&name("lab:x")).unwrap();
}

#[test]
fn spec_6_4_a_proxy_that_cannot_be_used_is_an_error_for_encrypted_providers_only() {
    let environment = |variable: &str| match variable {
        "OPENAI_API_KEY" => Some(KEY.to_owned()),
        "ALL_PROXY" => Some("socks5://me:sk-canary-key@proxy.example".to_owned()),
        _ => None,
    };
    let providers = Providers::with_environment(BTreeMap::new(), environment).unwrap();
    assert!(refusal(&providers, "openai:x").contains("no address of an HTTP proxy"));
    providers.connect(&name("ollama:x")).unwrap();
}

#[tokio::test]
async fn spec_6_4_only_encrypted_requests_go_through_a_proxy_and_the_proxy_sees_the_host_only() {
    let proxy = ScriptedServer::always(ServerStep::status(403));
    let server = ScriptedServer::always(ServerStep::text("YES"));
    let ask = async |base_url: String, except: &'static str| {
        let address = format!("http://{}", proxy.address());
        let environment = move |variable: &str| match variable {
            "LAB_KEY" => Some(KEY.to_owned()),
            "HTTPS_PROXY" | "HTTP_PROXY" => Some(address.clone()),
            "NO_PROXY" => Some(except.to_owned()),
            _ => None,
        };
        let settings =
            BTreeMap::from([("lab".to_owned(), settings(ProviderKind::OpenAi, base_url))]);
        let providers = Providers::with_environment(settings, environment).unwrap();
        let model = providers.connect(&name("lab:small")).unwrap();
        model.complete(&request(vec![user(WORDS)], vec![])).await
    };
    ask(server.base_url(), "").await.unwrap();
    assert_eq!((server.received().len(), proxy.received().len()), (1, 0));

    ask("https://llm.invalid/v1".to_owned(), "llm.invalid")
        .await
        .unwrap_err();
    assert_eq!(proxy.received().len(), 0);

    ask("https://llm.invalid/v1".to_owned(), "other.invalid")
        .await
        .unwrap_err();
    let seen = proxy.received();
    assert_eq!(
        (seen.len(), seen[0].method.as_str(), seen[0].path.as_str()),
        (1, "CONNECT", "llm.invalid:443")
    );
    let text = format!("{seen:?}");
    assert!(!text.contains(KEY) && !text.contains(WORDS), "{text}");
}

#[test]
fn spec_6_3_debug_of_the_providers_names_places_of_keys_only() {
    let providers = providers(settings(
        ProviderKind::OpenAi,
        "https://llm.example/v1".to_owned(),
    ));
    let text = format!("{providers:?}");
    assert!(text.contains("LAB_KEY") && !text.contains(KEY), "{text}");
    assert_eq!(providers.iter().count(), 8);
    assert_eq!(providers.get("lab").unwrap().context_tokens, Some(32_768));
}
