//! The webhooks of the configuration, with their secrets from the environment.

use memoir_app::{Examination, Severity};
use memoir_service::{Webhook, WebhookProblem};
use reqwest::Url;
use serde::Deserialize;

use crate::failure::Failure;

const MOST: usize = 32;

/// One of `[[webhooks]]`. Its address may hold a secret, so that no message repeats it.
#[derive(Clone, Deserialize, derive_more::Debug)]
#[debug("WebhookSection")]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookSection {
    url: String,
    secret_env: String,
    accounts: Option<Vec<String>>,
    #[serde(default)]
    allow_private: bool,
}

impl WebhookSection {
    /// # Errors
    /// What is wrong with its secret, and a hint.
    fn webhook(&self) -> Result<Webhook, (String, String)> {
        let variable = &self.secret_env;
        let secret = std::env::var(variable).ok();
        let Some(secret) = secret.filter(|secret| !secret.trim().is_empty()) else {
            return Err((
                format!("its secret is missing: `{variable}` is not set in the environment"),
                format!(
                    "set it, for instance to what `echo whsec_$(openssl rand -base64 32)` prints, for `memoir serve` too: {variable}=…"
                ),
            ));
        };
        let accounts = self.accounts.clone();
        // The address was checked when the file was read.
        let webhook = Webhook::new(&self.url, &secret, accounts, self.allow_private);
        webhook.map_err(|_| {
            let problem = format!("`{variable}` holds no valid secret");
            (problem, WebhookProblem::Secret.to_string())
        })
    }

    /// Its address as the database knows the receiver, however it is written.
    fn address(&self) -> Option<Url> {
        self.url.trim().parse().ok()
    }

    fn check(&self) -> Result<(), String> {
        Webhook::check_target(&self.url, self.allow_private)
            .map_err(|problem| problem.to_string())?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let variable = &self.secret_env;
        // A secret that was put there by mistake must not be repeated later.
        let is_secret = variable.starts_with("whsec_");
        if variable.is_empty() || !variable.chars().all(is_name) || is_secret {
            return Err(
                "`secret_env` must be the name of an environment variable, which holds the secret"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// Checks the sections against each other and the limits.
///
/// # Errors
/// Names the webhook by its place in the file, and the key.
pub(crate) fn check(sections: &[WebhookSection]) -> Result<(), String> {
    if sections.len() > MOST {
        let count = sections.len();
        return Err(format!("there are {count} `webhooks`; there may be {MOST}"));
    }
    for (place, section) in sections.iter().enumerate() {
        let name = |problem: String| format!("`webhooks` number {}: {problem}", place + 1);
        section.check().map_err(name)?;
        if sections[..place]
            .iter()
            .any(|other| other.address() == section.address())
        {
            return Err(name("`url` is that of another one".to_owned()));
        }
    }
    Ok(())
}

/// The configured webhooks, ready for delivery. `origin` names the configuration.
///
/// # Errors
/// A secret is missing or invalid.
pub(crate) fn opened(sections: &[WebhookSection], origin: &str) -> Result<Vec<Webhook>, Failure> {
    let places = sections.iter().enumerate();
    let opened = places.map(|(place, section)| {
        section.webhook().map_err(|(message, hint)| {
            let number = place + 1;
            Failure::new(format!("{origin}: `webhooks` number {number}: {message}")).hint(hint)
        })
    });
    opened.collect()
}

/// Whether every webhook can be signed; nothing is sent.
pub(crate) fn examine(sections: &[WebhookSection]) -> Vec<Examination> {
    let places = sections.iter().enumerate();
    places
        .map(|(place, section)| {
            let name = format!("`webhooks` number {}", place + 1);
            match section.webhook() {
                Ok(webhook) => {
                    let host = webhook.host();
                    let finding =
                        format!("{name} notifies `{host}` when sessions end (nothing was sent)");
                    Examination::fine("webhook", finding)
                }
                Err((message, advice)) => {
                    let finding = format!("{name}: {message}");
                    Examination::advised(Severity::Problem, "webhook", finding, advice)
                }
            }
        })
        .collect()
}
