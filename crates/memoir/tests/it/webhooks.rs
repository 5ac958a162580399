//! Webhooks in the configuration.

use crate::installation::{Installation, Ran};
use memoir_testkit::TestedText;

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
