//! The service: REST under `/v1`, tokens, limits, and the workers that run queued sessions.
//!
//! An interface like the command line: it parses, calls a use case, and shows the outcome. Access to text is decided in
//! one place, `caller.rs`; the shown fields, in `wire.rs`. Owns no rule of refining.
//!
//! A request under `/v1` passes `routes/guard.rs` (token, rate, time, idempotency key) and reaches an agent through
//! `Caller` alone. The console's pages are merged into the router at `/`; sign-in attempts are counted together for
//! both.

mod caller;
mod console;
mod errors;
mod extract;
mod host;
mod limits;
mod logs;
mod matching;
mod oauth;
mod page;
mod priority;
mod problem;
mod replies;
mod requests;
mod routes;
mod schemas;
mod server;
mod streams;
mod webhooks;
mod wire;
mod workers;

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use memoir_app::{Connecting, Memoir, OAuthClient, OwnerLink};
use memoir_vault::token::TokenSecret;

pub use logs::may_be_logged;
pub use problem::Problem;
pub use routes::openapi;
pub use server::serve;
pub use webhooks::{Webhook, WebhookProblem, register_webhooks};

/// How the service is to run.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Concurrent sessions.
    pub concurrency: usize,
    /// The interval of checks for due agents.
    pub schedule_every: Duration,
    /// The interval of checks for work that any process left half-done.
    pub finish_every: Duration,
    /// Requests a second for each agent, by all of its tokens, and for each token of an administrator; twice as many in
    /// a burst.
    pub requests_per_second: u32,
    /// Most bytes of a request's body.
    pub body_bytes: usize,
    /// Most bytes of all bodies in flight that are longer than 64 KiB, at least `body_bytes`: further ones wait.
    pub bodies_bytes: usize,
    /// The time limit for the head of a request, and for an idle connection.
    pub head_time: Duration,
    /// The time limit of a request's body, and that of its execution.
    pub request_time: Duration,
    /// How long a stop waits for running requests and sessions.
    pub stop_time: Duration,
    /// Most open connections; further ones wait.
    pub connections: usize,
    /// Whether a proxy in front of the service speaks TLS to the outside.
    pub behind_proxy: bool,
    /// The service's host names for clients of the Model Context Protocol, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The programs that can be connected by OAuth; `None` where none can.
    pub programs: Option<Programs>,
    /// The interval of a stream's heartbeats without events.
    pub stream_beat: Duration,
    /// The receivers of notices when a session ends.
    pub webhooks: Vec<Webhook>,
    /// The secret of the link that creates the first administrator, at `/first/SECRET`; `None` without such a link.
    pub first_link: Option<Arc<TokenSecret>>,
    /// The link to the personal page, which is then shown in place of the console (SPEC 6.6), without sessions, schedule
    /// and the other background work; `None` for a service with all of these.
    pub owner_link: Option<Arc<OwnerLink>>,
    /// Runs before the first administrator is created by that link, which closes the installation; `None` for nothing.
    pub before_closing: Option<Arc<dyn BeforeClosing>>,
}

/// Prepares the programs on this machine for a closing, so that they keep their access (SPEC 5.5).
#[async_trait::async_trait]
pub trait BeforeClosing: std::fmt::Debug + Send + Sync {
    /// Gives the programs that are set up on this machine their tokens.
    ///
    /// # Errors
    /// The failure, as a sentence without an agent's text. The installation is not closed then.
    async fn prepare(&self) -> std::result::Result<(), String>;
}

/// The programs that can be connected to agents by OAuth.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The address of the service for clients: `https`, or `http` on loopback, then host and port, and no slash at the
    /// end. `None` for its listening address, where only this machine reaches it; elsewhere no program can be connected
    /// without one.
    pub address: Option<String>,
    /// Clients that are known without registration.
    pub clients: Vec<OAuthClient>,
    /// Whether clients may register themselves.
    pub takes_registrations: bool,
}

impl Programs {
    /// The settings where the service listens at `own`, and only this machine reaches it if `is_local`.
    fn at(self, own: SocketAddr, is_local: bool) -> Option<Connecting> {
        let own = is_local.then(|| format!("http://{own}"));
        let address = self.address.or(own)?;
        Some(Connecting {
            address,
            clients: self.clients,
            takes_registrations: self.takes_registrations,
        })
    }
}

impl ServiceOptions {
    /// The time limit of every response, if only with `still_running`.
    pub fn answer_time(&self) -> Duration {
        // A body may take as long as the execution.
        self.request_time * 2
    }
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            // A session mostly waits for its model; it holds a prompt and a conversation in memory.
            concurrency: 4,
            schedule_every: Duration::from_secs(5),
            finish_every: Duration::from_secs(60),
            // Far more than an agent makes; a runaway agent does not block all others.
            requests_per_second: 5_000,
            // A batch of the most and longest memories: 1,000 of 10,000 characters, if most of them are ASCII.
            body_bytes: 16 << 20,
            bodies_bytes: 64 << 20,
            head_time: Duration::from_secs(60),
            request_time: Duration::from_secs(30),
            // As long as the execution of a request may take (`request_time`).
            stop_time: Duration::from_secs(30),
            connections: 20_000,
            behind_proxy: false,
            hosts: Vec::new(),
            programs: None,
            // Most proxies close connections after a silent minute, some after half of one.
            stream_beat: Duration::from_secs(15),
            webhooks: Vec::new(),
            first_link: None,
            owner_link: None,
            before_closing: None,
        }
    }
}

#[derive(Clone, derive_more::Deref)]
pub(crate) struct Service(#[deref(forward)] Arc<ServiceParts>);

pub(crate) struct ServiceParts {
    pub(crate) memoir: Memoir,
    pub(crate) options: ServiceOptions,
    pub(crate) limiter: limits::Limiter,
    /// By address, for clients without a token.
    pub(crate) strangers: limits::Limiter<IpAddr>,
    pub(crate) bodies: limits::BodyRoom,
    /// The running requests of each agent.
    pub(crate) shares: limits::Shares,
    pub(crate) foreground: Arc<priority::Foreground>,
    pub(crate) requests: requests::Requests,
    pub(crate) in_flight: replies::InFlight,
    pub(crate) attempts: limits::Attempts,
    /// Whether an administrator exists, created in any way. The link that creates the first one is never valid then.
    pub(crate) is_first_link_dead: AtomicBool,
    /// Held while a password is checked.
    pub(crate) hashing: tokio::sync::Semaphore,
    /// Woken when a session was queued.
    pub(crate) queued: Arc<tokio::sync::Notify>,
    /// Woken when conversations were delivered.
    pub(crate) life: tokio::sync::Notify,
    /// Woken when a session ended or was released.
    pub(crate) ended: Arc<tokio::sync::Notify>,
    pub(crate) streams: streams::Streams,
    /// Whether only loopback reaches it.
    pub(crate) is_local: bool,
    /// The settings for connecting programs; `None` where none can be connected.
    pub(crate) connecting: Option<Connecting>,
}

impl Service {
    pub(crate) fn new(memoir: Memoir, mut options: ServiceOptions, address: SocketAddr) -> Self {
        let is_local = address.ip().is_loopback();
        // Behind a proxy loopback is the proxy's address, and says nothing about the client.
        let is_near = is_local && !options.behind_proxy;
        let programs = options.programs.take();
        let connecting = programs.and_then(|programs| programs.at(address, is_near));
        // It is called by this name too.
        let host = connecting.as_ref().and_then(|known| known.host());
        options.hosts.extend(host);
        Self(Arc::new(ServiceParts {
            memoir,
            limiter: limits::Limiter::new(options.requests_per_second),
            strangers: limits::Limiter::new(limits::STRANGERS_PER_SECOND),
            bodies: limits::BodyRoom::new(&options),
            shares: limits::Shares::default(),
            foreground: Arc::default(),
            requests: requests::Requests::default(),
            is_first_link_dead: AtomicBool::new(false),
            options,
            in_flight: replies::InFlight::default(),
            attempts: limits::Attempts::default(),
            // Each takes a processor and tens of megabytes for some time: many sign-ins must not exhaust the service.
            hashing: tokio::sync::Semaphore::new(2),
            queued: Arc::default(),
            life: tokio::sync::Notify::new(),
            ended: Arc::default(),
            streams: streams::Streams::default(),
            is_local,
            connecting,
        }))
    }
}
