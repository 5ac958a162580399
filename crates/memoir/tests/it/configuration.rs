//! The effects of the configuration file on commands.

use memoir_testkit::TestedText;
use serde_json::Value;

use crate::installation::{Installation, Ran, rows};

#[test]
fn the_users_configuration_is_read_where_there_is_one() {
    let installation = Installation::new();
    let careful = "model = \"builtin:careful\"\n";
    installation.write(".config/memoir/config.toml", careful);
    installation.ok("agent create wren");
    // Without core memories it is never asked.
    installation.ok(&["remember", "wren", "I like rain."]);
    let shown = installation.json("agent show wren");
    assert_eq!(shown["effective_model"], "builtin:careful");
    let other = installation.write("other.toml", "model = \"ollama:small\"\n[schedule]\nweekly = \"Sun 23:30\"\ntime_zone = \"Europe/Berlin\"\n");
    let agent = installation.json(&["agent", "show", "wren", "--config", &other]);
    assert_eq!(agent["effective_model"], "ollama:small");
    let next = agent["next_refinement_at"].as_str().unwrap();
    assert!(next.contains("T22:30") || next.contains("T21:30"), "{next}");
}

#[test]
fn an_error_names_file_key_and_limit() {
    let installation = Installation::new();
    for [text, told] in rows(
        r#"
        modle = "a:b" | line 1: unknown field `modle`
        model = "careful" | names no provider
        [limits]\nturns = 0 | `limits.turns` is 0; it must be 1
        [loss]\nyear_percent = 21 | line 1: unknown field `loss`
        [keys]\nurl = "mysql://wren:Zwitscher@127.0.0.1/keys" | `keys.url` must be the URL of a database of PostgreSQL
        [providers.lab]\nkind = "openai" | `[providers.lab]`: `base_url` is missing
        [providers.builtin]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1" | `[providers.builtin]`: `builtin` is built in and cannot be configured
        [providers.lab]\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "sk-1" | `[providers.lab]`: `key_env` must be the name of an environment variable"#,
    ) {
        let path = installation.write("wrong.toml", text.replace(r"\n", "\n"));
        let refused = installation.refused(&["agent", "list", "--config", &path]);
        refused.tells("wrong.toml`");
        refused.tells(told);
        refused.omits("Zwitscher");
        let doctor = installation.run(&["doctor", "--config", &path]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
    }
    let refused = installation.refused(&["agent", "list", "--config", "nowhere.toml"]);
    refused.tells("cannot read the configuration `nowhere.toml`");
}

/// The contract: `memoir doctor` says what to do about each finding. By the defaults it would report a lost master key,
/// and an open installation.
#[test]
fn spec_6_7_doctor_examines_nothing_by_the_defaults_of_a_wrong_configuration() {
    let installation = Installation::with_agent();
    let master = installation.path("elsewhere.key");
    std::fs::rename(installation.path(".config/memoir/master.key"), &master).unwrap();
    let configure = |lease_seconds: u64| {
        let file = format!(
            "closed = true\nmaster_key_file = {master:?}\nlease_seconds = {lease_seconds}\n"
        );
        installation.write(".config/memoir/config.toml", file);
    };
    configure(1);
    let doctor = installation.run(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    doctor.prints("`lease_seconds` is 1; it must be 5 to 3600");
    doctor.prints("hint: correct it");
    doctor.stdout.omits("the master key is lost");
    doctor.stdout.omits("open: every user");
    configure(5);
    let doctor = installation.ok(&["doctor"]);
    doctor.tells("elsewhere.key` opens the key store");
    doctor.tells("closed: commands show");
}

/// The contract: `memoir doctor` checks the database and the key, whatever else fails.
#[test]
fn doctor_examines_the_key_where_there_is_no_such_account() {
    let installation = Installation::with_agent();
    let doctor = installation.run(&["--account", "nowhere", "doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    doctor.prints("there is no account `nowhere`");
    doctor.prints("hint: `memoir account list`");
    doctor.prints("opens the key store");
}

#[test]
fn spec_6_7_config_shows_each_key_with_its_value_its_source_and_its_default() {
    let installation = Installation::new();
    let shown = |installation: &Installation| installation.json(&["config"]);
    let key = |shown: &Value, name: &str| {
        let keys = shown["keys"].as_array().unwrap();
        let found = keys.iter().find(|key| key["key"] == name);
        found.unwrap_or_else(|| panic!("{name}")).clone()
    };
    let none = shown(&installation);
    let turns = key(&none, "limits.turns");
    let of = |key: &Value| [&key["value"], &key["source"], &key["default"]].map(Value::to_string);
    assert_eq!(of(&turns), ["\"40\"", "\"default\"", "\"40\""]);
    assert_eq!(of(&key(&none, "model"))[0], "null");
    installation.write(
        ".config/memoir/config.toml",
        "[limits]\nturns = 7\n[providers.lab]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         [[webhooks]]\nurl = \"https://example.org/Zwitscher\"\nsecret_env = \"HOOK\"\n",
    );
    let set = shown(&installation);
    let turns = key(&set, "limits.turns");
    assert_eq!(of(&turns), ["\"7\"", "\"file\"", "\"40\""]);
    assert_eq!(key(&set, "providers.lab.base_url")["source"], "file");
    assert_eq!(key(&set, "webhooks[0].secret_env")["value"], "\"HOOK\"");
    let mut command = installation.command("config --json");
    let endpoint = "http://ada:Zwitscher@127.0.0.1:4318";
    let ran = Ran::of(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint));
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let endpoint = key(&told, "telemetry.otlp_endpoint");
    assert_eq!(endpoint["source"], "OTEL_EXPORTER_OTLP_ENDPOINT");
    assert!(!ran.stdout.contains("Zwitscher"));
    let text = installation.ok(&["config"]);
    text.tells("limits.turns");
    text.tells("(set; not shown)");
    // What may hold a secret is shown nowhere.
    assert!(!text.contains("Zwitscher") && !set.to_string().contains("Zwitscher"));
}

#[test]
fn spec_6_7_config_has_paths_a_check_and_an_example_that_is_a_file() {
    let installation = Installation::new();
    let paths = installation.json(&["config", "path"]);
    for [name, end] in rows(
        "
        database | memoir.db
        key_store | memoir.db.keys
        master_key | master.key
        configuration | config.toml",
    ) {
        assert!(paths[name].as_str().unwrap().ends_with(end), "{paths}");
    }
    let checked = installation.ok("config check");
    checked.tells("there is no file");
    let example = installation.ok(&["config", "example"]);
    let as_json = installation.json(&["config", "example"]);
    let as_json = as_json["example"].as_str().unwrap();
    assert_eq!(as_json.trim_end(), example.trim_end());
    let file = installation.write("example.toml", &example);
    let checked = installation.ok(&["--config", &file, "config", "check"]);
    checked.tells("is in order");
    let wrong = installation.write("wrong.toml", "[providers.lab]\nkind = \"openai\"\n");
    let refused = installation.refused(&["--config", &wrong, "config", "check"]);
    refused.tells("`base_url` is missing");
    // Nothing was made.
    assert!(!installation.path(".local/share/memoir/memoir.db").exists());
}

#[cfg(unix)]
#[test]
fn doctor_and_setup_name_another_program_that_is_first_on_the_path() {
    use std::os::unix::fs::PermissionsExt;
    let installation = Installation::with_agent();
    let other = installation.write("bin/memoir", "#!/bin/sh\ntouch \"$HOME/run\"\n");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_memoir"));
    let own = own.parent().unwrap().display();
    let folder = installation.path("bin").display().to_string();
    let told = |path: String, line: &str| {
        let mut command = installation.command(line);
        let ran = Ran::of(command.env("PATH", path));
        (ran.stdout + &ran.stderr).contains("comes first on the PATH")
    };
    for line in ["doctor", "setup", "setup claude-code --yes"] {
        assert!(told(format!("{folder}:{own}"), line), "{line}");
        assert!(!told(format!("{own}:{folder}"), line), "{line}");
    }
    // It is not run.
    assert!(!installation.path("run").exists());
}
