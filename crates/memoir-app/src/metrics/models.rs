//! Requests to models, counted and traced wherever they are made from: every model that the use cases get
//! is wrapped here.

use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use memoir_domain::session::Usage;
use memoir_model::{ConnectError, Model, ModelError, ModelName, Outage, Reply, Request};
use tracing::{Instrument, Span};

use super::{Metrics, seconds};
use crate::{Models, Price, Settings, spans};

/// Models whose requests are counted.
pub(crate) struct Watched {
    pub(crate) models: Arc<dyn Models>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Arc<Settings>,
}

impl Models for Watched {
    fn connect(&self, name: &ModelName) -> Result<Arc<dyn Model>, ConnectError> {
        let model = self.models.connect(name)?;
        Ok(Arc::new(WatchedModel {
            price: self.settings.prices.get(model.name()).copied(),
            metrics: self.metrics.clone(),
            model,
        }))
    }

    fn concurrency(&self, provider: &str) -> Option<usize> {
        self.models.concurrency(provider)
    }

    fn providers(&self) -> Vec<String> {
        self.models.providers()
    }
}

struct WatchedModel {
    model: Arc<dyn Model>,
    metrics: Arc<Metrics>,
    price: Option<Price>,
}

#[async_trait]
impl Model for WatchedModel {
    fn name(&self) -> &ModelName {
        self.model.name()
    }

    fn context_tokens(&self) -> Option<u32> {
        self.model.context_tokens()
    }

    async fn complete(&self, request: &Request) -> Result<Reply, ModelError> {
        let span = spans::model_call(self.name(), request.max_output_tokens);
        let mut asked = ModelRequest {
            of: self,
            span: span.clone(),
            begun: Instant::now(),
            result: BROKEN_OFF,
        };
        let answer = self.model.complete(request).instrument(span.clone()).await;
        asked.result = result(&answer);
        if let Ok(reply) = &answer {
            spans::answered(&span, reply.usage);
            self.answered(reply);
        }
        answer
    }
}

impl WatchedModel {
    fn answered(&self, reply: &Reply) {
        let [input_tokens, output_tokens] =
            [reply.usage.input_tokens, reply.usage.output_tokens].map(|tokens| tokens.min(MOST));
        let [provider, model] = self.metrics.model_labels(self.name());
        let tokens = |kind, count| {
            self.metrics
                .model_tokens
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
            self.metrics
                .model_cost
                .with_label_values(&[provider, model])
                .inc_by(cost);
        }
    }
}

/// More tokens than an answer has, whatever a provider says: so that no sum of them begins at nothing again.
const MOST: u64 = 1 << 40;

/// What a request ends as whose caller waits no longer: the session's time was over, or it was lost.
const BROKEN_OFF: &str = "broken_off";

/// A request under way. It is counted when this is dropped, so that one that is broken off counts too.
struct ModelRequest<'a> {
    of: &'a WatchedModel,
    span: Span,
    begun: Instant,
    result: &'static str,
}

impl Drop for ModelRequest<'_> {
    fn drop(&mut self) {
        let metrics = &self.of.metrics;
        let [provider, model] = metrics.model_labels(self.of.name());
        metrics
            .model_seconds
            .with_label_values(&[provider, model])
            .observe(seconds(self.begun.elapsed()));
        metrics
            .model_calls
            .with_label_values(&[provider, model, self.result])
            .inc();
        if self.result != ANSWERED {
            spans::failed(&self.span, self.result);
        }
    }
}

const ANSWERED: &str = "answered";

fn result(answer: &Result<Reply, ModelError>) -> &'static str {
    match answer {
        Ok(_) => ANSWERED,
        Err(ModelError::RateLimited { .. }) => "rate_limited",
        Err(ModelError::Unavailable { outage, .. }) => match outage {
            Outage::Status(_) => "unavailable",
            Outage::Connect => "unreachable",
            Outage::Timeout => "timeout",
            Outage::Cut => "cut",
        },
        Err(ModelError::Rejected { .. }) => "rejected",
        Err(ModelError::BadAnswer { .. }) => "bad_answer",
    }
}
