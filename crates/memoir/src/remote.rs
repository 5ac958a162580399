//! A remote service in place of a database on this machine.

use std::time::Duration;

use memoir_domain::text::Digester;
use reqwest::{Client, StatusCode, Url, header::HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    failure::{Failure, TAMPERED, UNAUTHORIZED},
    options::TOKEN,
    terminal, tokens,
};

/// The time limit of one request.
// Longer than the service's own limit (`ServiceOptions::answer_time`), after which it responds that it goes on. A
// client that ends earlier cannot distinguish that from a service that is down.
const TIME: Duration = Duration::from_secs(75);
/// The code of a service that goes on with a request.
const STILL_RUNNING: &str = "still_running";
const CONNECTING: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct ServiceAddress {
    pub(crate) url: String,
    /// Whether a command line or a setup has it. One of the environment may be a foreign folder's: `MEMOIR_TOKEN` does
    /// not go there, unless the service is on this machine (SPEC 5.5).
    pub(crate) is_typed: bool,
}

/// One agent behind a service. It holds a token, and is never formatted.
#[derive(Clone)]
pub(crate) struct Remote {
    client: Client,
    url: Url,
    pub(crate) given_url: String,
    pub(crate) agent: String,
    token: String,
}

impl Remote {
    /// Uses the stored token for this service and agent, or else that of the environment. An address of the environment
    /// that is not on this machine gets the stored one only.
    ///
    /// # Errors
    /// The address is invalid; no agent is named, or there is no token.
    pub(crate) fn open(service: &ServiceAddress, agent: Option<&str>) -> Result<Self, Failure> {
        let url = address(&service.url)?;
        let agent = agent.ok_or_else(|| {
            Failure::new("no agent is named").hint("name it with `--agent NAME` or in MEMOIR_AGENT")
        })?;
        let may_be_given = service.is_typed || memoir_model::is_loopback(&url);
        let token = token(&url, agent, may_be_given)?;
        Self::with_token(&service.url, agent, token)
    }

    pub(crate) fn with_token(given: &str, agent: &str, token: String) -> Result<Self, Failure> {
        let url = address(given)?;
        // An error means that a provider of cryptography is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("memoir/", env!("CARGO_PKG_VERSION")))
            // A redirect would send the token to an address that the user did not name.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECTING)
            .timeout(TIME);
        let builder = match url.scheme() {
            // Reading the system's certificates takes longer than the request. A proxy of the environment could read
            // the token and every text over HTTP; HTTPS is encrypted through a proxy.
            "http" => builder.tls_certs_only([]).no_proxy(),
            _ => builder,
        };
        let client = builder
            .build()
            .map_err(|error| Failure::new(format!("cannot make a client: {error}")))?;
        Ok(Self {
            client,
            url,
            given_url: given.to_owned(),
            agent: agent.to_owned(),
            token,
        })
    }

    /// Gets a resource of the agent; an empty path is the agent itself.
    ///
    /// # Errors
    /// The service is down or refuses.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        what: &str,
        query: &[(&str, &str)],
    ) -> Result<T, Failure> {
        let mut url = self.place(&["v1", "agents", &self.agent, what]);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.answer(self.client.get(url)).await
    }

    /// Posts to a resource of the agent.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        let url = self.place(&["v1", "agents", &self.agent, what]);
        self.answer(self.client.post(url).json(body)).await
    }

    /// Sends one message of the Model Context Protocol. `None` is an empty response.
    pub(crate) async fn mcp(&self, message: String) -> Result<Option<String>, Failure> {
        let mut request = self
            .client
            .post(self.place(&["mcp"]))
            .header("content-type", "application/json")
            // MCP requires that each client accepts both.
            .header("accept", "application/json, text/event-stream");
        let parsed: Value = serde_json::from_str(&message).unwrap_or_default();
        for (header, value) in repeated(&parsed) {
            request = request.header(header, value);
        }
        let text = self.text(request.body(message)).await?;
        Ok((!text.trim().is_empty()).then_some(text))
    }

    /// A digest of a text under the token, by which this client recognises the text again.
    pub(crate) fn digest(&self, text: &str) -> u64 {
        // A token is of any length, and a key of 32 bytes.
        let key = Digester::new(&[0; 32]).message(&self.token);
        Digester::new(&key).known_again(text)
    }

    fn place(&self, parts: &[&str]) -> Url {
        // As a path segment, a name with a slash stays one segment.
        let mut url = self.url.clone();
        // An address of `http` or `https` always has a path.
        if let Ok(mut path) = url.path_segments_mut() {
            // The address may end with a slash.
            path.pop_if_empty();
            path.extend(parts.iter().filter(|part| !part.is_empty()));
        }
        url
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<T, Failure> {
        let text = self.text(request).await?;
        serde_json::from_str(&text)
            // Not the parser's message, which may quote the response.
            .map_err(|_| Failure::new(format!("`{}` sent an unknown response", self.url)))
    }

    async fn text(&self, request: reqwest::RequestBuilder) -> Result<String, Failure> {
        let away = |error: reqwest::Error| {
            // The innermost error gives the cause; the outer ones only name the address again.
            let message = format!("no response from `{}`: {}", self.url, innermost(&error));
            let is_down = error.is_connect();
            Failure::new(message)
                .with_hint(is_down.then_some("is it running? `memoir serve` starts it"))
        };
        let request = request.bearer_auth(&self.token);
        let answer = request.send().await.map_err(away)?;
        let status = answer.status();
        let text = answer.text().await.map_err(away)?;
        if status.is_success() {
            return Ok(text);
        }
        // A proxy may respond with a page, which is no JSON and has no code.
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        let code = problem["code"].as_str().unwrap_or("no code");
        if code == STILL_RUNNING {
            let message = format!("`{}` is still processing it ({code})", self.url);
            let hint = "check the outcome before you repeat the request";
            return Err(Failure::new(message).hint(hint));
        }
        let message = format!("`{}` refused: {} ({code})", self.url, status.as_u16());
        Err(match status {
            StatusCode::UNAUTHORIZED => Failure::new(message).code(UNAUTHORIZED).hint(format!(
                "the token of `{}` may have ended or been revoked; a stored one is used before {TOKEN}, and \
                 `{TOKEN}=TOKEN memoir setup PROGRAM --url {} --agent {}` replaces it",
                self.agent,
                self.given_url,
                terminal::word(&self.agent)
            )),
            _ if code == TAMPERED => Failure::new(message).code(TAMPERED),
            _ if code == "not_found" => Failure::new(message).hint(format!(
                "the service has no agent `{}`, or the token is another agent's",
                self.agent
            )),
            _ => Failure::new(message),
        })
    }
}

/// The headers that repeat parts of a message which names its version of the protocol, as from 2026-07-28 on.
fn repeated(message: &Value) -> impl Iterator<Item = (&'static str, HeaderValue)> {
    let parameters = &message["params"];
    let version = &parameters["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let name = [&parameters["name"], &parameters["uri"]];
    let name = name.into_iter().find(|name| name.is_string());
    let parts = [
        ("mcp-protocol-version", Some(version)),
        ("mcp-method", Some(&message["method"])),
        ("mcp-name", name),
    ];
    // Without a version there is nothing to repeat; what no header can hold names nothing of Memoir's.
    let parts = parts.into_iter().filter(move |_| version.is_string());
    parts.filter_map(|(header, part)| {
        let value = HeaderValue::from_str(part?.as_str()?).ok()?;
        Some((header, value))
    })
}

fn token(url: &Url, agent: &str, may_be_given: bool) -> Result<String, Failure> {
    // First: a folder's environment may have the token of another account's agent of the same name.
    if let Some(stored) = tokens::stored(url.as_str(), agent)? {
        return Ok(stored);
    }
    // A value that is not UTF-8 is no token.
    let given = std::env::var(TOKEN).unwrap_or_default();
    if may_be_given && !given.is_empty() {
        return Ok(given);
    }
    let setup = format!(
        "`memoir setup PROGRAM --url {url} --agent {}` stores it for the hooks",
        terminal::word(agent)
    );
    Err(match given.is_empty() {
        true => Failure::new(format!("there is no token for the agent `{agent}`"))
            .hint(format!("give it in {TOKEN}; {setup}")),
        false => Failure::new(format!(
            "nothing was sent to `{url}`: that address is from the environment, and no token is stored for it"
        ))
        .hint(format!(
            "a folder's environment can send {TOKEN} anywhere; give the address with `--url`, or {setup}"
        )),
    })
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// A warning for an address to which the agent's token and texts go unencrypted; `None` where they do not leave this
/// machine. It is no reason to refuse: the network may be the user's own.
pub(crate) fn warning_of(url: &str) -> Option<String> {
    let url = address(url).ok()?;
    let is_open = url.scheme() == "http" && !memoir_model::is_loopback(&url);
    is_open.then(|| {
        format!(
            "`{url}` is not encrypted: others on the network can read the agent's token and texts; give an address of \
             `https`, or one on this machine at which a tunnel begins"
        )
    })
}

/// Stores the token of an agent behind a service, for the hooks and tools of programs.
pub(crate) fn store_token(url: &str, agent: &str, token: &str) -> Result<(), Failure> {
    tokens::store(address(url)?.as_str(), agent, token)
}

/// # Errors
/// It is no address of `http` or `https`, or holds a password, which would be shown.
fn address(url: &str) -> Result<Url, Failure> {
    let parsed = Url::parse(url).ok().filter(|url| {
        ["http", "https"].contains(&url.scheme())
            && url.username().is_empty()
            && url.password().is_none()
    });
    parsed.ok_or_else(|| {
        Failure::new("the address of the service must be one such as `https://memoir.example.org`, without a password")
            .hint(format!("the token goes into {TOKEN}"))
    })
}

#[cfg(test)]
mod tests {
    use memoir_service::ServiceOptions;

    use super::*;

    #[test]
    fn a_services_last_word_is_waited_for() {
        assert!(TIME > CONNECTING + ServiceOptions::default().answer_time());
    }
}
