//! The effects of the configuration file on commands.

use crate::installation::Installation;

#[test]
fn the_users_configuration_is_read_where_there_is_one() {
    let installation = Installation::new();
    installation.write(
        ".config/memoir/config.toml",
        "model = \"builtin:careful\"\n",
    );
    installation.ok(&["agent", "create", "wren"]);
    // Without core memories it is never asked.
    installation.ok(&["remember", "wren", "I like rain."]);
    assert_eq!(
        installation.json(&["agent", "show", "wren"])["effective_model"],
        "builtin:careful"
    );
    let other = installation.write("other.toml", "model = \"ollama:small\"\n[schedule]\nweekly = \"Sun 23:30\"\ntime_zone = \"Europe/Berlin\"\n");
    let agent = installation.json(&["agent", "show", "wren", "--config", &other]);
    assert_eq!(agent["effective_model"], "ollama:small");
    let next = agent["next_refinement_at"].as_str().unwrap();
    assert!(next.contains("T22:30") || next.contains("T21:30"), "{next}");
}

#[test]
fn an_error_names_file_key_and_limit() {
    let installation = Installation::new();
    for (text, told) in [
        ("modle = \"a:b\"", "line 1: unknown field `modle`"),
        ("model = \"careful\"", "names no provider"),
        ("[limits]\nturns = 0", "`limits.turns` is 0; it must be 1"),
        ("[loss]\nyear_percent = 21", "line 1: unknown field `loss`"),
        (
            "[keys]\nurl = \"mysql://wren:Zwitscher@127.0.0.1/keys\"",
            "`keys.url` must be the URL of a database of PostgreSQL",
        ),
        (
            "[providers.lab]\nkind = \"openai\"",
            "`[providers.lab]`: `base_url` is missing",
        ),
        (
            "[providers.builtin]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"",
            "`[providers.builtin]`: `builtin` is built in and cannot be configured",
        ),
        (
            "[providers.lab]\nbase_url = \"http://127.0.0.1:9/v1\"\nkey_env = \"sk-1\"",
            "`[providers.lab]`: `key_env` must be the name of an environment variable",
        ),
    ] {
        let path = installation.write("wrong.toml", text);
        let refused = installation.refused(&["agent", "list", "--config", &path]);
        assert!(
            refused.contains("wrong.toml`") && refused.contains(told),
            "{told}: {refused}"
        );
        assert!(!refused.contains("Zwitscher"), "{refused}");
        let doctor = installation.run(&["doctor", "--config", &path]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
    }
    let refused = installation.refused(&["agent", "list", "--config", "nowhere.toml"]);
    assert!(
        refused.contains("cannot read the configuration `nowhere.toml`"),
        "{refused}"
    );
}
