//! One request to a provider over HTTP, and the classification of the response.
//!
//! Knows nothing of any wire format beyond the shape that providers share for errors. A provider's message about a
//! failure is only used here, to choose a hint, and dropped.

use std::time::Duration;

use jiff::fmt::rfc2822;
use memoir_domain::{mend, session::FailureClass};
use reqwest::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde_json::{Value, json};

use crate::error::{CONTENT_FILTER, ErrorCode, ModelError, Outage};
use crate::provider::is_loopback;

/// No answer of a model is near this: 8 MiB of JSON are some two million tokens.
pub(crate) const LARGEST_BODY_BYTES: usize = 8 * 1024 * 1024;

/// Where requests of one model go, and what its errors are to name.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) client: Client,
    pub(crate) url: Url,
    /// The authorisation, marked sensitive, and whatever else the provider wants.
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
    /// The model's name as the provider knows it.
    pub(crate) model: String,
    /// Where the key is read, such as "the environment variable `OPENAI_API_KEY`".
    pub(crate) key_place: String,
}

/// Why there is no answer, with the provider's own words where it refused the form of a request.
struct Refusal {
    error: ModelError,
    /// In lower case; empty otherwise. Never kept: it may quote the prompt.
    complaint: String,
}

impl From<ModelError> for Refusal {
    fn from(error: ModelError) -> Self {
        Self {
            error,
            complaint: String::new(),
        }
    }
}

impl Endpoint {
    /// Sends `body` and returns the JSON object of the response.
    ///
    /// # Errors
    /// Everything else: no connection, a status other than 2xx, no JSON object, or an object that
    /// reports an error although its status is 200.
    pub(crate) async fn post(&self, body: &Value) -> Result<Value, ModelError> {
        self.send(body).await.map_err(|refusal| refusal.error)
    }

    /// As [`Endpoint::post`]. A request whose form the server refuses is sent once more in the form that `amended` makes
    /// of it, by the server's complaint in lower case.
    ///
    /// # Errors
    /// As for [`Endpoint::post`].
    pub(crate) async fn post_amended(
        &self,
        body: &Value,
        amended: impl Fn(&Value, &str) -> Option<Value>,
    ) -> Result<Value, ModelError> {
        let refusal = match self.send(body).await {
            Ok(answer) => return Ok(answer),
            Err(refusal) => refusal,
        };
        match amended(body, &refusal.complaint) {
            Some(body) => self.post(&body).await,
            None => Err(refusal.error),
        }
    }

    async fn send(&self, body: &Value) -> Result<Value, Refusal> {
        let mut response = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            // Over all of it, the body too: a server that sends a byte now and then must not block a session for ever.
            .timeout(self.timeout)
            .body(body.to_string())
            .send()
            .await
            .map_err(|error| unsent(&error, &self.url))?;

        let status = response.status().as_u16();
        let wait = retry_after(response.headers());
        let content_type = media_type(response.headers());
        // Before the body, which a redirect may have and which says nothing.
        if (300..400).contains(&status) {
            return Err(redirect(status).into());
        }
        let bytes = read(&mut response, status, wait).await?;
        // A single bad byte is not worth the whole response and its cost.
        let text = mend::json(&bytes);
        let text = text.trim();
        let json: Option<Value> = serde_json::from_str(text).ok();
        tracing::debug!(status, bytes = bytes.len(), "a model's provider answered");

        if !(200..300).contains(&status) {
            // Gateways send web pages with 502 and 503 too: those are outages, and no wrong address.
            let html = is_html(content_type, text) && !is_temporary(status);
            if html {
                return Err(web_page(status, content_type).into());
            }
            let error = json.as_ref().map(refused_with);
            let complaint = match status {
                400 | 422 | 501 => error.map(message).unwrap_or_default().to_lowercase(),
                _ => String::new(),
            };
            return Err(Refusal {
                error: self.failure(status, wait, error),
                complaint,
            });
        }
        let answer = match json {
            Some(answer @ Value::Object(_)) => match reported_error(&answer) {
                Some(error) => Err(self.embedded_failure(error, wait)),
                None => Ok(answer),
            },
            Some(_) => Err(retryable("JSON, but no object")),
            None if is_html(content_type, text) => Err(web_page(status, content_type)),
            // Another attempt would get the same response: it is the server's setting.
            None if content_type == "text/event-stream" => {
                let what = "a stream of events, though none was asked for";
                Err(unusable(what, None))
            }
            None if text.is_empty() => Err(retryable("an empty body")),
            None => Err(retryable("no valid JSON")),
        };
        Ok(answer?)
    }

    /// Classifies an error object that came with status 200, such as OpenRouter sends when the
    /// provider behind it failed.
    pub(crate) fn embedded_failure(&self, error: &Value, wait: Option<Duration>) -> ModelError {
        let number = ["code", "status"]
            .iter()
            .find_map(|field| match error.get(field)? {
                Value::Number(number) => number.as_u64(),
                Value::String(text) => text.parse().ok(),
                _ => None,
            });
        let status = number.and_then(|number| u16::try_from(number).ok());
        // Other numbers under this name are the provider's own and no status.
        let status = status.filter(|status| (400..600).contains(status));
        let by_name = || match error.get("type").or(error.get("code"))?.as_str()? {
            "rate_limit_error" | "rate_limit_exceeded" => Some(429),
            "overloaded_error" => Some(529),
            "api_error" | "server_error" | "internal_error" => Some(500),
            "timeout_error" => Some(504),
            "invalid_request_error" => Some(400),
            "authentication_error" => Some(401),
            "billing_error" => Some(402),
            "permission_error" => Some(403),
            "not_found_error" => Some(404),
            _ => None,
        };
        // The number first: names differ from provider to provider.
        match status.or_else(by_name) {
            Some(status) => self.failure(status, wait, Some(error)),
            // LM Studio, at an address without `/v1`.
            None if message(error).starts_with("Unexpected endpoint") => unusable(
                "a report that the server has no such address",
                Some("check the provider's `base_url`, which often ends with `/v1`"),
            ),
            None => retryable(&match code(error) {
                Some(code) => format!("a report of an error (`{code}`) in place of an answer"),
                None => "a report of an error in place of an answer".to_owned(),
            }),
        }
    }

    /// Classifies a status that is neither success nor redirect (SPEC 3.16).
    fn failure(&self, status: u16, wait: Option<Duration>, error: Option<&Value>) -> ModelError {
        let code = error.and_then(code);
        let named = |name: &str| code.as_ref().is_some_and(|code| code.as_str() == name);
        // OpenAI says 429 for an account without credit too, and no wait helps that.
        let unpaid = named("insufficient_quota") || named("billing_hard_limit_reached");
        if status == 429 && !unpaid {
            return ModelError::RateLimited { retry_after: wait };
        }
        if is_temporary(status) && !unpaid {
            return ModelError::Unavailable {
                outage: Outage::Status(status),
                retry_after: wait,
            };
        }
        // A filter before the model (OpenRouter's), with the status of a key.
        if error.is_some_and(|error| error.pointer("/metadata/flagged_input").is_some()) {
            return ModelError::withheld(status, CONTENT_FILTER);
        }
        let message = error.map(message).unwrap_or_default().to_lowercase();
        let meant = match status {
            400 if BAD_KEY.iter().any(|words| message.contains(words)) => 401,
            status => status,
        };
        // First, whatever the status: otherwise a wrong key or name would be suspected.
        let unpaid = unpaid || status == 402 || message.contains("credit balance");
        ModelError::Rejected {
            status,
            code,
            class: match meant {
                _ if unpaid => FailureClass::Quota,
                401 | 403 => FailureClass::KeyRefused,
                _ => FailureClass::ServerError,
            },
            hint: self.hint(meant, unpaid, &message),
        }
    }

    /// `message` is the provider's own, in lower case; only whether it speaks of certain things leaves this function.
    fn hint(&self, status: u16, unpaid: bool, message: &str) -> Option<String> {
        let Self {
            model, key_place, ..
        } = self;
        let too_long = [
            "context length",
            "context window",
            "context size",
            "prompt is too long",
            "maximum context",
        ];
        let is_about_output = OUTPUT_LIMITS.iter().any(|field| message.contains(field));
        Some(match status {
            _ if unpaid => "the account with the provider has no credit left".to_owned(),
            401 => format!("the provider does not accept the key; it is read from {key_place}"),
            403 => format!("the key read from {key_place} may not use the model `{model}`"),
            413 => "the conversation is too long; set `context_tokens` of the provider".to_owned(),
            400 | 422 if is_about_output && message.contains("context") => {
                "prompt and answer together are longer than the model's context; set `context_tokens` of \
                 the provider to the size that the server has, or lower `answer_tokens`"
                    .to_owned()
            }
            _ if too_long.iter().any(|words| message.contains(words)) => {
                "the conversation is longer than the model's context; set `context_tokens` of the \
                 provider"
                    .to_owned()
            }
            400 | 404 | 422 | 501 if message.contains("tool") => format!(
                "the server seems not to take tools for `{model}`; use a model that calls tools \
                 (vLLM wants `--enable-auto-tool-choice`, llama.cpp `--jinja`)"
            ),
            404 | 405 => format!(
                "check the name of the model `{model}`, and the provider's `base_url`, which often \
                 ends with `/v1`"
            ),
            400 | 422 if is_about_output => {
                "try the other `output_limit_field` of the provider".to_owned()
            }
            _ => return None,
        })
    }
}

/// A response for which another attempt may help.
pub(crate) fn retryable(what: &str) -> ModelError {
    ModelError::BadAnswer {
        what: what.to_owned(),
        retryable: true,
        hint: None,
    }
}

/// A response for which no other attempt helps.
fn unusable(what: impl Into<String>, hint: Option<&str>) -> ModelError {
    ModelError::BadAnswer {
        what: what.into(),
        retryable: false,
        hint: hint.map(str::to_owned),
    }
}

fn web_page(status: u16, content_type: &str) -> ModelError {
    let what = format!("a web page (status {status}, `{content_type}`)");
    let hint = "check the provider's `base_url`, and whether a proxy or a login page is in between";
    unusable(what, Some(hint))
}

fn redirect(status: u16) -> ModelError {
    let hint = "redirects are not followed, since they could carry the key and the prompt elsewhere; \
                set the provider's `base_url` to the final address";
    unusable(format!("a redirect (status {status})"), Some(hint))
}

fn is_temporary(status: u16) -> bool {
    // 408, 409, 429 and 5xx are what OpenAI's and Anthropic's own clients try again; 425 asks for it (RFC 8470). With 501
    // a server says that it does not have what was asked for, such as tools or a schema of the answer.
    matches!(status, 408 | 409 | 425 | 429 | 500 | 502..=599)
}

/// Reads the body up to [`LARGEST_BODY_BYTES`], counted after decompression.
async fn read(
    response: &mut reqwest::Response,
    status: u16,
    wait: Option<Duration>,
) -> Result<Vec<u8>, ModelError> {
    let mut bytes = Vec::new();
    let is_failure = !(200..300).contains(&status);
    loop {
        match response.chunk().await {
            // Before the chunk is kept: a body that inflates without end is cut at its limit.
            Ok(Some(chunk)) if bytes.len() + chunk.len() > LARGEST_BODY_BYTES => {
                if is_failure {
                    return Ok(bytes);
                }
                let what = format!("more than {LARGEST_BODY_BYTES} bytes");
                return Err(unusable(what, Some("check the provider's `base_url`")));
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes),
            // The status says more than the way in which its explanation broke off, or its length.
            Err(_) if is_failure => return Ok(bytes),
            Err(error) => {
                return Err(ModelError::Unavailable {
                    outage: match error.is_timeout() {
                        true => Outage::Timeout,
                        false => Outage::Cut,
                    },
                    retry_after: wait,
                });
            }
        }
    }
}

/// Classifies a request that got no status at all.
fn unsent(error: &reqwest::Error, url: &Url) -> ModelError {
    let outage = match error {
        _ if is_untrusted(error) => Outage::Certificate,
        _ if is_loopback(url) && is_refused(error) => {
            Outage::NotListening(url.port_or_known_default().unwrap_or_default())
        }
        // Before a timeout: a connection that was not made in time is both.
        _ if error.is_connect() => Outage::Connect,
        _ if error.is_timeout() => Outage::Timeout,
        _ => Outage::Cut,
    };
    ModelError::Unavailable {
        outage,
        retry_after: None,
    }
}

fn is_untrusted(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return matches!(tls, rustls::Error::InvalidCertificate(_));
    }
    // An input or output error does not name what it wraps as its source.
    let wrapped = error
        .downcast_ref::<std::io::Error>()
        .and_then(|error| error.get_ref());
    match wrapped {
        Some(inner) => is_untrusted(inner),
        None => error.source().is_some_and(is_untrusted),
    }
}

/// Whether the machine is there and refused the connection, so that no program listens.
fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    match io.map(std::io::Error::kind) {
        Some(kind) => kind == std::io::ErrorKind::ConnectionRefused,
        None => error.source().is_some_and(is_refused),
    }
}

/// How Google says, with status 400 and in lower case here, that it does not accept the key.
const BAD_KEY: [&str; 3] = [
    "api key not valid",
    "api key not found",
    "api key expired. please renew",
];

/// The names of the output limit in a request.
const OUTPUT_LIMITS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// The error that a response reports, in any of the shapes in use: an object, a bare text, or either inside a list of
/// one (Google); or the response itself, which says so (vLLM, Mistral). `null` and the like beside an answer are none.
fn reported_error(answer: &Value) -> Option<&Value> {
    let answer = answer.get(0).unwrap_or(answer);
    let empty = [Value::Null, false.into(), "".into(), json!({})];
    let error = answer.get("error").filter(|error| !empty.contains(error));
    let is_error = answer.get("object").is_some_and(|kind| kind == "error");
    error.or_else(|| is_error.then_some(answer))
}

/// The error in the body of a refusal: also under `detail`, as FastAPI sends it, or the whole body.
fn refused_with(body: &Value) -> &Value {
    let error = reported_error(body).or_else(|| body.get("detail"));
    error.unwrap_or(body)
}

/// The most specific machine-readable name in an error.
fn code(error: &Value) -> Option<ErrorCode> {
    ["code", "type", "status"].iter().find_map(|field| {
        let text = error.get(field)?.as_str()?;
        ErrorCode::new(text)
    })
}

/// The provider's message, and the places of a request that it names. Must not be kept: it may quote the prompt.
fn message(error: &Value) -> String {
    match error {
        Value::String(text) => text.clone(),
        // FastAPI reports each fault of a request by itself.
        Value::Array(items) => items.iter().map(message).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => ["message", "msg", "detail", "loc"]
            .iter()
            .filter_map(|name| fields.get(*name).map(message))
            .collect::<Vec<_>>()
            .join(" "),
        _ => String::new(),
    }
}

/// The media type without its parameters, if it is a known one; never other sent text.
fn media_type(headers: &HeaderMap) -> &'static str {
    const KNOWN: [&str; 9] = [
        "application/json",
        "application/problem+json",
        "application/xhtml+xml",
        "application/xml",
        "application/octet-stream",
        "text/event-stream",
        "text/html",
        "text/plain",
        "text/xml",
    ];
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return "no content type";
    };
    let text = value.to_str().unwrap_or_default();
    let text = text.split(';').next().unwrap_or_default().trim();
    let known = KNOWN
        .into_iter()
        .find(|known| text.eq_ignore_ascii_case(known));
    known.unwrap_or("another content type")
}

fn is_html(content_type: &str, body: &str) -> bool {
    // Enough for the longer of the two beginnings.
    let start: String = body.chars().take(15).collect::<String>().to_lowercase();
    matches!(content_type, "text/html" | "application/xhtml+xml")
        || start.starts_with("<!doctype html")
        || start.starts_with("<html")
}

/// How long the provider asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date, which is compared
/// with the response's own `date`, so that this machine's clock does not matter.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let milliseconds = text(&HeaderName::from_static("retry-after-ms"))
        .and_then(|text| text.trim().parse::<f64>().ok())
        .map(|milliseconds| milliseconds / 1000.0);
    let seconds = milliseconds.or_else(|| {
        let wait = text(&reqwest::header::RETRY_AFTER)?.trim();
        wait.parse::<f64>().ok().or_else(|| {
            let until = rfc2822::parse(wait).ok()?.timestamp();
            // Without the response's own date there is nothing reliable to compare with, and no wait is returned.
            let now = rfc2822::parse(text(&DATE)?).ok()?.timestamp();
            Some(until.duration_since(now).as_secs_f64().max(0.0))
        })
    })?;
    if seconds.is_nan() || seconds < 0.0 {
        return None;
    }
    let longest = ModelError::LONGEST_WAIT;
    Some(
        Duration::try_from_secs_f64(seconds)
            // More than a duration can hold, including infinity.
            .unwrap_or(longest)
            .min(longest),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        retry_after(&headers)
    }

    #[test]
    fn spec_3_16_retry_after_is_read_in_each_of_its_forms() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let later = ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
        let nine = ("retry-after", "9");
        let table = [
            (vec![("retry-after", "2")], Some(2000)),
            (vec![("retry-after", " 1.5 ")], Some(1500)),
            (vec![("retry-after", "0")], Some(0)),
            (vec![("retry-after-ms", "250"), nine], Some(250)),
            (vec![("retry-after-ms", "soon"), nine], Some(9000)),
            (vec![date, later], Some(30_000)),
            (vec![later], None),
            (vec![("date", later.1), ("retry-after", date.1)], Some(0)),
            (vec![("retry-after", "86400")], Some(3_600_000)),
            (vec![("retry-after", "1e300")], Some(3_600_000)),
            (vec![("retry-after", "inf")], Some(3_600_000)),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "nan")], None),
            (vec![("retry-after", "in a while")], None),
            (vec![], None),
        ];
        for (headers, expected) in table {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(wait(&headers), expected, "{headers:?}");
        }
    }
}
