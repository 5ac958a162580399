//! Traces over OTLP to a configured collector; without one nothing is sent (SPEC 6.4).
//!
//! Owns the exporter and its HTTP client. Only the spans that the use cases and the service make for it are exported:
//! no log event, no span of another crate. A collector that does not respond does not block: spans wait in a queue of a
//! fixed length and are dropped where it is full.
//!
//! Only this file knows OpenTelemetry. Its layer accepts the spans of the target `memoir::trace` only. Their attributes
//! are a closed list, which a test compares with what a collector receives.
//!
//! It uses OTLP over HTTP with the one HTTP client, and not gRPC, which needs a second server stack. The exporter's
//! thread passes each batch to the process's runtime.

use std::{
    env,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use opentelemetry::{KeyValue, trace::TracerProvider};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use reqwest::{Client, redirect::Policy};
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

use crate::{config::Config, options::Global, terminal};

/// How long a request to the collector may take.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How long the end of the process waits for the export of the last spans.
const LAST_TIME: Duration = Duration::from_secs(5);

pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts the exporter; `None` without a configured collector. An error of it is logged, and stops nothing else.
    pub(crate) fn start(global: &Global, runtime: &Handle) -> Option<Self> {
        if is_switched_off() {
            return None;
        }
        // The command reads the file too, and reports an error of it.
        let configured = Config::read(global.config.as_deref()).ok();
        let configured = configured.and_then(|config| config.telemetry.otlp_endpoint);
        let has_endpoint = endpoint_variable().is_some();
        if configured.is_none() && !has_endpoint {
            return None;
        }
        // The environment takes precedence over the configuration.
        match provider(configured.filter(|_| !has_endpoint), runtime) {
            Ok(provider) => Some(Self(provider)),
            Err(problem) => {
                terminal::note(&format!("traces are not sent: {problem}"));
                None
            }
        }
    }

    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("memoir"))
            // Spans have a closed list of attributes; the layer would add threads, levels and places in the code.
            .with_location(false)
            .with_threads(false)
            .with_level(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|metadata| {
                metadata.is_span() && metadata.target() == memoir_app::SPANS
            }))
    }

    /// Sends the remaining spans, as far as that is possible in a few seconds.
    pub(crate) async fn finish(self) {
        // Another thread waits for the exporter, since this runtime must stay free to send the last spans.
        let last = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(LAST_TIME));
        if !matches!(last.await, Ok(Ok(()))) {
            tracing::warn!("the collector did not accept the last spans");
        }
    }
}

/// A variable of the environment; `None` where it is unset or empty.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The variable by which the environment names a collector, as every program with OTLP reads it.
pub(crate) fn endpoint_variable() -> Option<&'static str> {
    [
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_ENDPOINT,
        opentelemetry_otlp::OTEL_EXPORTER_OTLP_TRACES_ENDPOINT,
    ]
    .into_iter()
    .find(|name| variable(name).is_some())
}

fn is_switched_off() -> bool {
    let is =
        |name, word: &str| variable(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
    is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none")
}

/// `endpoint` is the collector's address from the configuration; `None` leaves it to the environment.
fn provider(endpoint: Option<String>, runtime: &Handle) -> Result<SdkTracerProvider, String> {
    let client = Collector::new(runtime)?;
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_http_client(client);
    if let Some(endpoint) = endpoint {
        exporter = exporter.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')));
    }
    let exporter = exporter.build().map_err(|error| error.to_string())?;
    let mut resource = Resource::builder();
    if variable("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("memoir");
    }
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.with_attribute(version).build())
        .build())
}

/// The client of the collector. The exporter has a thread of its own, which cannot drive it; the process's runtime
/// does.
#[derive(Debug)]
struct Collector {
    client: Client,
    runtime: Handle,
    /// Whether the last request failed: a failure is logged once, and not for every batch of spans.
    is_failing: AtomicBool,
}

impl Collector {
    fn new(runtime: &Handle) -> Result<Self, String> {
        // An error means that a provider of cryptography is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("memoir/", env!("CARGO_PKG_VERSION")))
            // A redirect could send spans to an address that is not configured.
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .timeout(REQUEST_TIME)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            client,
            runtime: runtime.clone(),
            is_failing: AtomicBool::new(false),
        })
    }

    fn note(&self, sent: &Result<Response<Bytes>, HttpError>) {
        let problem = match sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("it returns status {}", response.status().as_u16())),
            Err(_) => Some("it cannot be reached".to_owned()),
        };
        let was_failing = self.is_failing.swap(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(problem) if !was_failing => {
                tracing::warn!(problem, "the collector accepts no spans; they are dropped");
            }
            None if was_failing => tracing::info!("the collector accepts spans again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let sending = send(self.client.clone(), request);
        let sent = self.runtime.spawn(sending).await;
        // The task panicked or was dropped, and nothing was sent.
        let sent = sent.unwrap_or_else(|error| Err(error.into()));
        self.note(&sent);
        sent
    }
}

async fn send(client: Client, request: reqwest::Request) -> Result<Response<Bytes>, HttpError> {
    /// More than any collector's response.
    const MOST_BYTES: usize = 1 << 20;
    let mut answer = client.execute(request).await?;
    let mut response = Response::builder().status(answer.status());
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(answer.headers());
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST_BYTES {
            return Err(opentelemetry_http::ResponseBodyTooLarge::new().into());
        }
    }
    Ok(response.body(body.into())?)
}
