//! Requests counted and traced: by the pattern of their route, never by their path, which holds names.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::Response,
};
use memoir_app::{SPANS, entered_metric, metric_table};
use prometheus::{HistogramVec, IntCounterVec, IntGauge, Opts, Registry, proto::MetricFamily};
use tracing::{Instrument, Span, field::Empty, info_span};

use crate::Service;

/// Those of the OpenTelemetry conventions for `http.server.request.duration`, and a millisecond below.
const SECONDS: [f64; 15] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

/// The code of a problem document, beside the answer that holds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProblemCode(pub(crate) &'static str);

metric_table! {
    struct Table {
        requests: IntCounterVec = "memoir_http_requests_total",
            "Requests answered, by method, pattern of the route and class of the status."
                by ["method", "route", "status"];
        seconds: HistogramVec = "memoir_http_request_duration_seconds",
            "Time from the head of a request to the head of its answer." by ["method", "route"] in SECONDS;
        problems: IntCounterVec = "memoir_http_problems_total",
            "Requests answered with a problem document, by its code." by ["code"];
        in_flight: IntGauge = "memoir_http_requests_in_flight",
            "Requests in execution, this one included.";
    }
}

pub(crate) struct Requests {
    registry: Registry,
    table: Table,
}

impl Default for Requests {
    fn default() -> Self {
        let registry = Registry::new();
        let build = Opts::new("memoir_build_info", "The version that runs, always 1.")
            .const_label("version", env!("CARGO_PKG_VERSION"));
        entered_metric::<IntGauge>(&registry, build.into(), &[]).set(1);
        let table = Table::in_registry(&registry);
        Self { registry, table }
    }
}

impl Requests {
    pub(crate) fn families(&self) -> Vec<MetricFamily> {
        self.registry.gather()
    }
}

/// Counts a request and executes it inside of its span.
pub(crate) async fn watch(
    State(service): State<Service>,
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let method = known(request.method());
    // All paths without a route share one name, because a client can make up any path.
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let span = info_span!(
        target: SPANS,
        "request",
        otel.name = %format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        error.type = Empty,
    );
    service.requests.table.in_flight.inc();
    let mut running = RequestUnderWay {
        service: &service,
        labels: [method, route],
        span: &span,
        begun: Instant::now(),
        // The status where the future is dropped before there is a response.
        status: StatusCode::INTERNAL_SERVER_ERROR,
        code: None,
    };
    let response = next.run(request).instrument(span.clone()).await;
    running.status = response.status();
    running.code = response.extensions().get::<ProblemCode>().copied();
    response
}

/// A running request. It is counted when this is dropped, so that a broken one counts too.
struct RequestUnderWay<'a> {
    service: &'a Service,
    labels: [&'a str; 2],
    span: &'a Span,
    begun: Instant,
    status: StatusCode,
    code: Option<ProblemCode>,
}

impl Drop for RequestUnderWay<'_> {
    fn drop(&mut self) {
        // Here and not after the response, so that a request whose future is dropped counts too.
        let requests = &self.service.requests.table;
        let [method, route] = self.labels;
        requests.in_flight.dec();
        let seconds = requests.seconds.with_label_values(&self.labels);
        seconds.observe(self.begun.elapsed().as_secs_f64());
        requests
            .requests
            .with_label_values(&[method, route, class(self.status)])
            .inc();
        if let Some(ProblemCode(code)) = self.code {
            requests.problems.with_label_values(&[code]).inc();
        }
        self.span
            .record("http.response.status_code", i64::from(self.status.as_u16()));
        // A client's fault is no failure of the service.
        if self.status.is_server_error() {
            let code = self.code.map_or("internal", |ProblemCode(code)| code);
            self.span.record("otel.status_code", "ERROR");
            self.span.record("error.type", code);
        }
    }
}

/// The method, where it is one of HTTP's own: a client can send any word.
fn known(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    let found = known.into_iter().find(|name| *name == method.as_str());
    // OpenTelemetry has this name for unknown methods, which a client can make up.
    found.unwrap_or("_OTHER")
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}
