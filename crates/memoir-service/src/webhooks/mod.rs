//! Webhooks: notifying other systems of the end of a session, without text.
//!
//! The application decides which notices are due, and when they are retried (`notices.rs`). This module sends them,
//! signed, and to no internal address unless the configuration allows it.

mod address;
mod secret;

use std::{error::Error, io, sync::Arc, time::Duration};

use memoir_app::{EndNotice, Memoir, ReceiverDigest, Retry};
use reqwest::{Client, StatusCode, Url, header, redirect::Policy};
use sha2::{Digest, Sha256};
use tokio::{sync::watch, task::JoinSet};

use self::{
    address::{Guarded, NotAllowed, Rule},
    secret::WebhookSecret,
};
use crate::{Service, wire};

/// Notices that are sent to one receiver concurrently.
// A lease lasts a minute and an attempt a quarter of one, so that all of them end within their leases.
const AT_ONCE: u32 = 8;
/// The interval of checks for due notices: sessions end in other processes too.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The interval of renewing the registration of the receivers.
// Long before an unused one is removed (`FORGOTTEN_AFTER_DAYS` in `notices.rs`).
const REGISTER_EVERY: Duration = Duration::from_secs(6 * 3_600);
/// The time limit for connecting to a receiver.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// The time limit of an attempt. Of the response only the head is read.
const ANSWER_TIME: Duration = Duration::from_secs(15);
/// How long a stop waits for running attempts; cancelled ones are repeated.
const STOP_TIME: Duration = Duration::from_secs(5);

/// A receiver of notices. `Debug` shows neither its secret nor its whole address, which may hold one too.
#[derive(Clone, derive_more::Debug)]
#[debug("Webhook {{ host: {:?}, .. }}", self.host())]
pub struct Webhook {
    url: Url,
    secret: WebhookSecret,
    accounts: Option<Vec<String>>,
    rule: Rule,
    digest: ReceiverDigest,
}

/// The fault of a webhook's settings, without their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum WebhookProblem {
    /// The address cannot be read, or has a name and a password or a fragment.
    #[display(
        "`url` must be an address such as `https://example.com/hook`, without a password and a fragment"
    )]
    Address,
    /// Its scheme is not allowed.
    #[display(
        "`url` must begin with `https://`; `http://` is for targets inside the network, with `allow_private = true`"
    )]
    Scheme,
    /// It leads to a forbidden address.
    #[display(
        "`url` names an address that is not of the public network; `allow_private = true` allows those of this machine and its own network, but for link-local and reserved ones"
    )]
    Inside,
    /// The secret is invalid.
    #[display(
        "the secret must be `whsec_` and 24 to 64 random bytes in base64, such as `echo whsec_$(openssl rand -base64 32)` prints"
    )]
    Secret,
}

impl Error for WebhookProblem {}

impl Webhook {
    /// To `url`, signed with `secret` (`whsec_` and 24 to 64 bytes in base64), for the sessions of those
    /// `accounts` (names; `None` for all). With `allow_private`, the target may be on this machine or in its
    /// own network, and `http` is allowed for such a one.
    ///
    /// # Errors
    /// Returns the fault.
    pub fn new(
        url: &str,
        secret: &str,
        accounts: Option<Vec<String>>,
        allow_private: bool,
    ) -> Result<Self, WebhookProblem> {
        let (url, rule) = target(url, allow_private)?;
        Ok(Self {
            secret: WebhookSecret::parse(secret).ok_or(WebhookProblem::Secret)?,
            // The store keeps this and not the address, which may hold a secret in its path.
            digest: Sha256::digest(url.as_str()).into(),
            url,
            accounts,
            rule,
        })
    }

    /// Checks the target by itself, before its name is resolved.
    ///
    /// # Errors
    /// Returns the fault.
    pub fn check_target(url: &str, allow_private: bool) -> Result<(), WebhookProblem> {
        target(url, allow_private).map(drop)
    }

    /// The host of the receiver.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The HTTP client: it connects directly, and to allowed addresses only.
    fn client(&self) -> reqwest::Result<Client> {
        // An error means that a cryptography provider is installed already, which suffices.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .user_agent(concat!("memoir/", env!("CARGO_PKG_VERSION")))
            // A receiver must not redirect the request to a forbidden address.
            .redirect(Policy::none())
            .referer(false)
            // A proxy would resolve names itself, without the rule.
            .no_proxy()
            .dns_resolver(Arc::new(Guarded(self.rule)))
            .connect_timeout(CONNECT_TIME)
            .timeout(ANSWER_TIME)
            .build()
    }
}

fn target(url: &str, allow_private: bool) -> Result<(Url, Rule), WebhookProblem> {
    let url: Url = url.trim().parse().map_err(|_| WebhookProblem::Address)?;
    let has_login = !url.username().is_empty() || url.password().is_some();
    if url.host_str().is_none() || has_login || url.fragment().is_some() {
        return Err(WebhookProblem::Address);
    }
    let rule = Rule::of(&url, allow_private).ok_or(WebhookProblem::Scheme)?;
    if !rule.allows_literal(&url) {
        return Err(WebhookProblem::Inside);
    }
    Ok((url, rule))
}

/// Registers the receivers: sessions that end from then on are notified. To be called before the address is announced,
/// since a session may end as soon as it is.
///
/// # Errors
/// The store fails.
pub async fn register_webhooks(memoir: &Memoir, webhooks: &[Webhook]) -> memoir_app::Result<()> {
    match webhooks {
        [] => Ok(()),
        webhooks => memoir.register_receivers(&digests(webhooks), true).await,
    }
}

fn digests(webhooks: &[Webhook]) -> Vec<ReceiverDigest> {
    webhooks.iter().map(|webhook| webhook.digest).collect()
}

/// Sends due notices to all receivers until stopped.
pub(crate) async fn run(service: Service, stop: watch::Receiver<bool>) {
    let webhooks = &service.options.webhooks;
    if webhooks.is_empty() {
        return;
    }
    let mut telling = JoinSet::new();
    telling.spawn(register(service.clone(), stop.clone()));
    for webhook in webhooks {
        telling.spawn(serve(service.clone(), webhook.clone(), stop.clone()));
    }
    while telling.join_next().await.is_some() {}
}

async fn register(service: Service, mut stop: watch::Receiver<bool>) {
    let receivers = digests(&service.options.webhooks);
    // Only the first time: a receiver that declines notices stays closed until the service restarts.
    let mut anew = true;
    loop {
        let wait = match service.memoir.register_receivers(&receivers, anew).await {
            Ok(()) => {
                anew = false;
                REGISTER_EVERY
            }
            Err(error) => {
                tracing::error!(%error, "webhooks were not registered");
                LOOK_EVERY
            }
        };
        tokio::select! {
            _ = stop.wait_for(|stopped| *stopped) => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn serve(service: Service, webhook: Webhook, mut stop: watch::Receiver<bool>) {
    let host = webhook.host();
    let client = match webhook.client() {
        Ok(client) => client,
        Err(error) => return tracing::error!(host, %error, "a webhook cannot be sent"),
    };
    loop {
        let due = service
            .memoir
            .due_notices(&webhook.digest, webhook.accounts.as_deref(), AT_ONCE)
            .await;
        // A failed query counts as no due notices: the next one follows soon.
        let notices = due.unwrap_or_else(|error| {
            tracing::error!(host, %error, "it cannot be read what is due to a webhook");
            Vec::new()
        });
        if notices.is_empty() {
            tokio::select! {
                _ = stop.wait_for(|stopped| *stopped) => return,
                () = tokio::time::sleep(LOOK_EVERY) => continue,
            }
        }
        let mut sending = JoinSet::new();
        for notice in notices {
            let (service, webhook) = (service.clone(), webhook.clone());
            let client = client.clone();
            sending.spawn(async move { deliver(&service, &webhook, &client, &notice).await });
        }
        let all = async { while sending.join_next().await.is_some() {} };
        let cut_off = async {
            let _ = stop.wait_for(|stopped| *stopped).await;
            tokio::time::sleep(STOP_TIME).await;
        };
        tokio::select! {
            () = all => {}
            // Cancelled notices are due again when their lease expires.
            () = cut_off => return,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Arrived,
    /// The receiver declines further notices.
    Gone,
    Failed {
        why: &'static str,
        /// 0 where there was no answer.
        status: u16,
        /// The delay that the receiver requests.
        retry_after: Option<Duration>,
    },
}

async fn deliver(service: &Service, webhook: &Webhook, client: &Client, notice: &EndNotice) {
    let (memoir, receiver) = (&service.memoir, &webhook.digest);
    let (host, session, attempt) = (webhook.host(), notice.session.id, notice.attempt());
    let noted = match send(service, webhook, client, notice).await {
        Sent::Arrived => memoir.notice_arrived(receiver, notice).await,
        Sent::Gone => {
            tracing::warn!(
                host,
                "a webhook asks for no more (410); no notices are sent until the service starts again"
            );
            memoir.close_receiver(receiver).await
        }
        Sent::Failed {
            why,
            status,
            retry_after,
        } => {
            tracing::warn!(host, %session, attempt, why, status, "a webhook was not delivered");
            let retry = memoir.notice_failed(receiver, notice, retry_after).await;
            retry.map(|retry| {
                if retry == Retry::GivenUp {
                    tracing::error!(host, %session, attempt, "a webhook notice failed permanently");
                }
            })
        }
    };
    if let Err(error) = noted {
        tracing::error!(host, %session, %error, "it was not noted what came of a webhook");
    }
}

async fn send(service: &Service, webhook: &Webhook, client: &Client, notice: &EndNotice) -> Sent {
    let event = wire::SessionEnded::from(notice.clone());
    let id = event.id.clone();
    let Ok(body) = serde_json::to_string(&event) else {
        return failed("cannot be written", 0);
    };
    // The time of the attempt, not of the event: receivers refuse old ones, which prevents replays.
    let timestamp = service.memoir.now().microseconds().div_euclid(1_000_000);
    let signature = webhook.secret.sign(&id, timestamp, &body);
    let answer = client
        .post(webhook.url.clone())
        .header(header::CONTENT_TYPE, "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", timestamp)
        .header("webhook-signature", signature)
        .body(body)
        .send()
        .await;
    match answer {
        Ok(answer) => judged(answer.status(), answer.headers()),
        Err(error) => failed(why(&error), 0),
    }
}

fn failed(why: &'static str, status: u16) -> Sent {
    Sent::Failed {
        why,
        status,
        retry_after: None,
    }
}

fn judged(status: StatusCode, headers: &header::HeaderMap) -> Sent {
    if status.is_success() {
        return Sent::Arrived;
    }
    if status == StatusCode::GONE {
        return Sent::Gone;
    }
    let why = if status.is_redirection() {
        "redirects are not followed"
    } else {
        "the receiver refused it"
    };
    let retry_after = headers
        .get(header::RETRY_AFTER)
        .and_then(|seconds| seconds.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    Sent::Failed {
        why,
        status: status.as_u16(),
        retry_after,
    }
}

/// Why there was no response: never the client's own text, which holds the whole address.
fn why(error: &reqwest::Error) -> &'static str {
    if has_cause(error, |cause| cause.is::<NotAllowed>()) {
        "its name leads to no address that is allowed"
    } else if error.is_timeout() {
        "it took too long"
    } else if has_cause(error, is_tls) {
        "the connection is not trusted"
    } else if error.is_connect() {
        "it cannot be connected to"
    } else {
        "the connection broke off"
    }
}

fn is_tls(cause: &(dyn Error + 'static)) -> bool {
    let inner = cause.downcast_ref::<io::Error>();
    inner
        .and_then(io::Error::get_ref)
        .is_some_and(|inner| inner.is::<rustls::Error>())
        || cause.is::<rustls::Error>()
}

fn has_cause(error: &reqwest::Error, is_it: impl Fn(&(dyn Error + 'static)) -> bool) -> bool {
    let mut cause = error.source();
    while let Some(found) = cause {
        if is_it(found) {
            return true;
        }
        cause = found.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn problem(url: &str, allow_private: bool) -> Option<WebhookProblem> {
        Webhook::new(url, SECRET, None, allow_private).err()
    }

    #[test]
    fn internal_targets_need_the_setting() {
        use WebhookProblem::{Address, Inside, Scheme};
        for (url, outside, inside) in [
            ("https://example.com/hook", None, None),
            ("https://example.com:8443/", None, None),
            ("https://127.0.0.1/", Some(Inside), None),
            ("https://169.254.169.254/", Some(Inside), Some(Inside)),
            ("http://127.0.0.1:9/", Some(Scheme), None),
            ("http://8.8.8.8/", Some(Scheme), Some(Inside)),
            // Judged when its name is resolved.
            ("http://example.com/", Some(Scheme), None),
            ("ftp://example.com/", Some(Scheme), Some(Scheme)),
            (
                "https://user:word@example.com/",
                Some(Address),
                Some(Address),
            ),
            ("https://example.com/#part", Some(Address), Some(Address)),
            ("example.com", Some(Address), Some(Address)),
            ("", Some(Address), Some(Address)),
        ] {
            assert_eq!(problem(url, false), outside, "{url}");
            assert_eq!(problem(url, true), inside, "{url}");
        }
        let short = Webhook::new("https://example.com/", "whsec_c2hvcnQ=", None, false);
        assert_eq!(short.err(), Some(WebhookProblem::Secret));
    }

    #[test]
    fn a_webhook_shows_neither_its_secret_nor_its_path() {
        let webhook = Webhook::new("https://example.com/a-token", SECRET, None, false).unwrap();
        let shown = r#"Webhook { host: "example.com", .. }"#;
        assert_eq!(format!("{webhook:?}"), shown);
    }

    #[test]
    fn an_answer_is_taken_for_what_it_is() {
        let judge = |status: u16, retry_after: &str| {
            let mut headers = header::HeaderMap::new();
            headers.insert(header::RETRY_AFTER, retry_after.parse().unwrap());
            judged(StatusCode::from_u16(status).unwrap(), &headers)
        };
        assert_eq!(judge(200, ""), Sent::Arrived);
        assert_eq!(judge(204, ""), Sent::Arrived);
        assert_eq!(judge(410, ""), Sent::Gone);
        for (status, retry_after, expected) in
            [(302, "", None), (404, "soon", None), (503, "7", Some(7))]
        {
            let Sent::Failed {
                status: found,
                retry_after: wait,
                ..
            } = judge(status, retry_after)
            else {
                panic!("{status}");
            };
            assert_eq!((found, wait), (status, expected.map(Duration::from_secs)));
        }
    }
}
