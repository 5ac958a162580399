//! The service: REST under `/v1`, tokens, limits, and the workers that run queued sessions.
//!
//! A door like the command line: it parses, calls a use case, and shows what came of it. Who may see
//! words is decided in one place, `caller.rs`; what is shown, in `wire.rs`. Owns no rule of refining.

mod caller;
mod errors;
mod extract;
mod limits;
mod logs;
mod matching;
mod page;
mod problem;
mod replies;
mod routes;
mod schemas;
mod server;
mod wire;
mod workers;

use std::{sync::Arc, time::Duration};

use memoir_app::Memoir;

pub use logs::may_be_logged;
pub use problem::Problem;
pub use routes::openapi;
pub use server::serve;

/// How the service is to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sessions that run at once.
    pub concurrency: usize,
    /// Requests a second for each token; twice as many at once.
    pub requests_per_second: u32,
    /// Most bytes of a request's body.
    pub body_bytes: usize,
    /// How long a client may take for the head of a request, and how long a connection may be idle.
    pub head_time: Duration,
    /// How long a request's body may take, and how long what is done with it.
    pub request_time: Duration,
    /// How long a stop waits for running requests and sessions.
    pub stop_time: Duration,
    /// Most open connections; further ones wait.
    pub connections: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 4,
            requests_per_second: 5_000,
            body_bytes: 16 << 20,
            head_time: Duration::from_secs(60),
            request_time: Duration::from_secs(30),
            stop_time: Duration::from_secs(30),
            connections: 20_000,
        }
    }
}

/// What every request reaches.
#[derive(Clone)]
pub(crate) struct Service(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) memoir: Memoir,
    pub(crate) options: Options,
    pub(crate) limiter: limits::Limiter,
    pub(crate) in_flight: replies::InFlight,
    /// Woken when a session was queued.
    pub(crate) queued: Arc<tokio::sync::Notify>,
}

impl std::ops::Deref for Service {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Service {
    pub(crate) fn new(memoir: Memoir, options: Options) -> Self {
        Self(Arc::new(Inner {
            memoir,
            limiter: limits::Limiter::new(options.requests_per_second),
            options,
            in_flight: replies::InFlight::default(),
            queued: Arc::default(),
        }))
    }
}
