//! `memoir session --follow`, and webhooks in the configuration.

use crate::installation::{Installation, Ran};
use memoir_testkit::TestedText;

#[test]
fn a_session_is_followed_to_its_end() {
    let installation = Installation::with_agent();
    let kiln = "The kiln is fired on Thursdays, always.";
    installation.remember(&["Ada keeps bees.", "ada keeps bees", kiln]);
    installation.ok(&["agent", "set", "wren", "refinement_threshold", "0.1"]);
    installation.ok(&["refine", "wren"]);
    let id = installation.last_session();
    let text = installation.ok(&["session", &id, "--follow"]);
    text.tells("  taken out of the prompt  #2");
    text.tells("  session completed  ");
    text.tells("\ncompleted\n");
    let events = installation
        .run(&["session", &id, "--follow", "--json"])
        .lines();
    let (ended, records) = events.split_last().unwrap();
    assert_eq!(ended["event"], "ended");
    assert_eq!(ended["data"]["state"], "completed");
    assert!(records.iter().all(|event| event["event"] == "record"));
    let last = records.last().unwrap();
    assert_eq!(last["data"]["core_tokens"], ended["data"]["core_tokens"]);
}

const WEBHOOK: &str =
    "[[webhooks]]\nurl = \"https://example.com/a-token\"\nsecret_env = \"HOOK\"\n";

#[test]
fn doctor_names_a_webhook_without_a_secret_and_the_service_does_not_start() {
    let installation = Installation::with_agent();
    installation.write(".config/memoir/config.toml", WEBHOOK);
    let with = |secret: &str, line: &str| {
        let mut command = installation.command(line);
        if !secret.is_empty() {
            command.env("HOOK", secret);
        }
        Ran::of(&mut command)
    };
    for (secret, told) in [
        ("", "`HOOK` is not set in the environment"),
        ("canary", "`HOOK` holds no valid secret"),
    ] {
        for line in ["doctor", "serve --listen 127.0.0.1:0"] {
            let ran = with(secret, line);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(ran.code, Some(1), "{said}");
            said.tells(told);
            said.tells("hint: ");
            said.omits("a-token");
            said.omits("canary");
        }
    }
    let sound = with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "doctor");
    sound.prints("`example.com`");
    sound.stdout.omits("MfKQ9r8");
}
