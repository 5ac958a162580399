//! Requests to models, counted and traced: every model of a use case is wrapped here.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use memoir_domain::{PrivateText, Timestamp, session::Usage, wire_names};
use memoir_model::{
    ConnectError, Embedder, EmbedderPlace, Embeddings, Model, ModelError, ModelName, ModelRequest,
    Outage, Purpose, Reply,
};
use tracing::{Instrument, Span};

use super::Metrics;
use crate::core::{
    Memoir, Models,
    settings::{InstallationSettings, Price},
    spans,
};

/// Models with counted requests.
pub(crate) struct Watched {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Arc<InstallationSettings>,
}

impl Models for Watched {
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        let model = self.models.connect(name)?;
        let watched = self.counters(model.name());
        Ok(Arc::new(WatchedModel { model, watched }))
    }

    fn embedder(&self, name: &ModelName) -> Result<Arc<dyn Embedder>, ConnectError> {
        let embedder = self.models.embedder(name)?;
        let watched = self.counters(name);
        Ok(Arc::new(WatchedEmbedder { embedder, watched }))
    }

    fn concurrency(&self, provider: &str) -> Option<usize> {
        self.models.concurrency(provider)
    }

    fn providers(&self) -> Vec<String> {
        self.models.providers()
    }
}

impl Watched {
    fn counters(&self, name: &ModelName) -> Counters {
        Counters {
            name: name.clone(),
            price: self.settings.prices.get(name).copied(),
            metrics: self.metrics.clone(),
        }
    }
}

struct Counters {
    name: ModelName,
    metrics: Arc<Metrics>,
    price: Option<Price>,
}

struct WatchedEmbedder {
    embedder: Arc<dyn Embedder>,
    watched: Counters,
}

#[async_trait]
impl Embedder for WatchedEmbedder {
    fn name(&self) -> &ModelName {
        self.embedder.name()
    }

    fn place(&self) -> &EmbedderPlace {
        self.embedder.place()
    }

    async fn embed(
        &self,
        purpose: Purpose<'_>,
        texts: &[PrivateText],
    ) -> Result<Embeddings, ModelError> {
        let asking = self.embedder.embed(purpose, texts);
        let span = spans::embeddings(self.name());
        self.watched.watch(span, asking, |made| made.usage).await
    }
}

struct WatchedModel {
    model: Arc<dyn Model>,
    watched: Counters,
}

#[async_trait]
impl Model for WatchedModel {
    fn name(&self) -> &ModelName {
        self.model.name()
    }

    fn context_tokens(&self) -> Option<u32> {
        self.model.context_tokens()
    }

    async fn complete(&self, request: &ModelRequest) -> Result<Reply, ModelError> {
        let asking = self.model.complete(request);
        let span = spans::model_call(self.name(), request.max_output_tokens);
        self.watched.watch(span, asking, |reply| reply.usage).await
    }
}

impl Counters {
    /// Counts and traces one request to the model, whether interrupted or answered.
    async fn watch<T>(
        &self,
        span: Span,
        asking: impl Future<Output = Result<T, ModelError>>,
        usage: impl Fn(&T) -> memoir_model::TokenUsage,
    ) -> Result<T, ModelError> {
        let mut request = CountedRequest {
            of: self,
            span: span.clone(),
            begun: Instant::now(),
            result: ModelCallResult::BrokenOff,
        };
        let answer = asking.instrument(span.clone()).await;
        // Until here it counts as interrupted: a dropped future leaves no other trace.
        request.result = result(&answer);
        if let Ok(answer) = &answer {
            let usage = usage(answer);
            spans::answered(&span, usage);
            self.used(usage);
        }
        answer
    }

    fn used(&self, usage: memoir_model::TokenUsage) {
        let [input_tokens, output_tokens] =
            [usage.input_tokens, usage.output_tokens].map(|tokens| tokens.min(MOST));
        let [provider, model] = self.metrics.model_labels(&self.name);
        let tokens = |kind, count| {
            let counter = &self.metrics.table.model_tokens;
            counter
                .with_label_values(&[provider, model, kind])
                .inc_by(count);
        };
        tokens("input", input_tokens);
        tokens("output", output_tokens);
        if let Some(price) = self.price {
            let cost = price.cost(&Usage {
                calls: 1,
                input_tokens,
                output_tokens,
            });
            let costs = &self.metrics.table.model_cost;
            costs.with_label_values(&[provider, model]).inc_by(cost);
        }
    }
}

wire_names! {
    /// The result of a request to a model, by its name in the metric `memoir_model_calls_total`.
    pub enum ModelCallResult {
        Answered = "answered" => "answered",
        /// The provider limits the rate, or the account has no credit.
        RateLimited = "rate_limited" => "too many requests, or no credit",
        /// The server reported an error of its own.
        Unavailable = "unavailable" => "error of the server",
        /// No connection was made.
        Unreachable = "unreachable" => "not reached",
        Timeout = "timeout" => "no response in time",
        /// The connection ended too early.
        Cut = "cut" => "the connection broke",
        Rejected = "rejected" => "request refused",
        /// The response cannot be read.
        BadAnswer = "bad_answer" => "unreadable response",
        ModelFile = "model_file" => "its file cannot be used",
        /// Interrupted: the session's time was over, or its lease lost.
        BrokenOff = "broken_off" => "broken off",
    }
}

/// The last response of a provider, as it is kept.
pub(super) struct LastResponse {
    model: String,
    result: ModelCallResult,
    took: Duration,
    ended: Instant,
}

/// The last response of a model's provider to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderResponse {
    /// The provider, by the name in the configuration; `other` for those beyond the models that metrics distinguish.
    pub provider: String,
    /// The model that was called.
    pub model: String,
    /// The result.
    pub result: ModelCallResult,
    /// How long it took.
    pub took: Duration,
    /// When it ended.
    pub at: Timestamp,
}

impl Memoir {
    /// The last response of each provider that this process called, by provider.
    pub fn provider_responses(&self) -> Vec<ProviderResponse> {
        let now = self.now();
        let metrics = self.state::<Metrics>();
        let responses = metrics.responses.lock();
        let response = |(provider, last): (&String, &LastResponse)| ProviderResponse {
            provider: provider.clone(),
            model: last.model.clone(),
            result: last.result,
            took: last.took,
            at: now.plus_seconds(-i64::try_from(last.ended.elapsed().as_secs()).unwrap_or(0)),
        };
        responses.iter().map(response).collect()
    }
}

/// More tokens than a response has, whatever a provider reports: so that no sum of them overflows.
const MOST: u64 = 1 << 40;

/// A request in progress. It is counted when this is dropped, so that an interrupted one counts too.
struct CountedRequest<'a> {
    of: &'a Counters,
    span: Span,
    begun: Instant,
    result: ModelCallResult,
}

impl Drop for CountedRequest<'_> {
    fn drop(&mut self) {
        let metrics = &self.of.metrics;
        let table = &metrics.table;
        let [provider, model] = metrics.model_labels(&self.of.name);
        let took = self.begun.elapsed();
        let seconds = table.model_seconds.with_label_values(&[provider, model]);
        seconds.observe(took.as_secs_f64());
        let response = LastResponse {
            model: model.to_owned(),
            result: self.result,
            took,
            ended: Instant::now(),
        };
        metrics
            .responses
            .lock()
            .insert(provider.to_owned(), response);
        table
            .model_calls
            .with_label_values(&[provider, model, self.result.as_str()])
            .inc();
        if self.result != ModelCallResult::Answered {
            spans::failed(&self.span, self.result.as_str());
        }
    }
}

fn result<T>(answer: &Result<T, ModelError>) -> ModelCallResult {
    match answer {
        Ok(_) => ModelCallResult::Answered,
        Err(ModelError::RateLimited { .. }) => ModelCallResult::RateLimited,
        Err(ModelError::Unavailable { outage, .. }) => match outage {
            Outage::Status(_) => ModelCallResult::Unavailable,
            Outage::Connect | Outage::NotListening(_) | Outage::Certificate => {
                ModelCallResult::Unreachable
            }
            Outage::Timeout => ModelCallResult::Timeout,
            Outage::Cut => ModelCallResult::Cut,
        },
        Err(ModelError::Rejected { .. }) => ModelCallResult::Rejected,
        Err(ModelError::BadAnswer { .. }) => ModelCallResult::BadAnswer,
        Err(ModelError::ModelFile { .. }) => ModelCallResult::ModelFile,
    }
}
