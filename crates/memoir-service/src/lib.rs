//! The service: REST under `/v1`, tokens, limits, and the workers that run queued sessions.
//!
//! An interface like the command line: it parses, calls a use case, and shows what came of it. Who may see
//! words is decided in one place, `caller.rs`; what is shown, in `wire.rs`. Owns no rule of refining.
//!
//! A request under `/v1` passes `routes/guard.rs` (token, rate, time, idempotency key) and reaches an agent
//! through `Caller` alone. The console's pages are merged into the router at `/`; attempts to sign in are
//! counted together, whichever of the two they come through.

mod caller;
mod console;
mod errors;
mod extract;
mod first;
mod host;
mod limits;
mod logs;
mod matching;
mod oauth;
mod page;
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
    sync::Arc,
    time::Duration,
};

use memoir_app::{Connecting, Memoir, OAuthClient};
use memoir_vault::token::TokenSecret;

pub use logs::may_be_logged;
pub use problem::Problem;
pub use routes::openapi;
pub use server::serve;
pub use webhooks::{Webhook, WebhookProblem};

/// How the service is to run.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Sessions that run at once.
    pub concurrency: usize,
    /// How often it is looked which agents are due.
    pub schedule_every: Duration,
    /// How often it is looked for work that was left half-done, by whichever process.
    pub finish_every: Duration,
    /// Requests a second for each agent, by whichever of its tokens, and for each token of an administrator; twice as
    /// many at once.
    pub requests_per_second: u32,
    /// Most bytes of a request's body.
    pub body_bytes: usize,
    /// Most bytes of all bodies in flight that are longer than 64 KiB, at least `body_bytes`: further ones wait.
    pub bodies_bytes: usize,
    /// How long a client may take for the head of a request, and how long a connection may be idle.
    pub head_time: Duration,
    /// How long a request's body may take, and how long what is done with it.
    pub request_time: Duration,
    /// How long a stop waits for running requests and sessions.
    pub stop_time: Duration,
    /// Most open connections; further ones wait.
    pub connections: usize,
    /// Whether a proxy in front of the service speaks TLS to the outside.
    pub behind_proxy: bool,
    /// The names by which clients of the Model Context Protocol call the service, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Which programs can be connected by OAuth; `None` where none can.
    pub programs: Option<Programs>,
    /// After how long without an event a stream says that it is there.
    pub stream_beat: Duration,
    /// Whom to tell when a session ends.
    pub webhooks: Vec<Webhook>,
    /// The secret of the link by which the first administrator is made, at `/first/SECRET`; `None` where
    /// there is no such link.
    pub first_link: Option<Arc<TokenSecret>>,
    /// What is done before the first administrator is made by that link, which closes the installation; `None` for
    /// nothing.
    pub before_closing: Option<Arc<dyn BeforeClosing>>,
}

/// What a closing would take from programs on this machine, and what is done so that it does not (SPEC 5.5).
#[async_trait::async_trait]
pub trait BeforeClosing: std::fmt::Debug + Send + Sync {
    /// Gives the programs that are set up on this machine their tokens.
    ///
    /// # Errors
    /// What went wrong, as a sentence that holds no agent's words. The installation is not closed then.
    async fn prepare(&self) -> std::result::Result<(), String>;
}

/// Which programs can be connected to agents by OAuth.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The address by which clients know the service: `https`, or `http` on loopback, then host and port, and no slash
    /// at the end. `None` for that at which it listens, where only this machine reaches it; elsewhere no program can be
    /// connected without one.
    pub address: Option<String>,
    /// Clients that are known without having registered themselves.
    pub clients: Vec<OAuthClient>,
    /// Whether clients may register themselves.
    pub takes_registrations: bool,
}

impl Programs {
    /// What is known where the service listens at `own`, and whether only this machine reaches it there.
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
    /// Within what time every request is answered, if only with `still_running`.
    pub fn answer_time(&self) -> Duration {
        // A body may take as long as what is done with it.
        self.request_time * 2
    }
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            // Most of a session is waiting for its model; what it holds here is a prompt and a conversation.
            concurrency: 4,
            schedule_every: Duration::from_secs(5),
            finish_every: Duration::from_secs(60),
            // Far more than an agent makes; one that runs wild does not keep all others waiting.
            requests_per_second: 5_000,
            // A batch of the most and longest memories: 1,000 of 10,000 characters, if most of them are ASCII.
            body_bytes: 16 << 20,
            bodies_bytes: 64 << 20,
            head_time: Duration::from_secs(60),
            request_time: Duration::from_secs(30),
            // As long as what is done with a request may take (`request_time`).
            stop_time: Duration::from_secs(30),
            connections: 20_000,
            behind_proxy: false,
            hosts: Vec::new(),
            programs: None,
            // Proxies in between mostly close what was silent for a minute, some after half of one.
            stream_beat: Duration::from_secs(15),
            webhooks: Vec::new(),
            first_link: None,
            before_closing: None,
        }
    }
}

/// What every request reaches.
#[derive(Clone)]
pub(crate) struct Service(Arc<ServiceParts>);

pub(crate) struct ServiceParts {
    pub(crate) memoir: Memoir,
    pub(crate) options: ServiceOptions,
    pub(crate) limiter: limits::Limiter,
    /// Of the addresses of those who have no token.
    pub(crate) strangers: limits::Limiter<IpAddr>,
    pub(crate) bodies: limits::BodyRoom,
    /// What each agent has under way.
    pub(crate) shares: limits::Shares,
    pub(crate) requests: requests::Requests,
    pub(crate) in_flight: replies::InFlight,
    pub(crate) attempts: limits::Attempts,
    /// The link by which the first administrator is made.
    pub(crate) first: first::FirstLink,
    /// Held while a password is checked.
    pub(crate) hashing: tokio::sync::Semaphore,
    /// Woken when a session was queued.
    pub(crate) queued: Arc<tokio::sync::Notify>,
    /// Woken when conversations were handed over.
    pub(crate) life: tokio::sync::Notify,
    /// Woken when a session ended or was handed back.
    pub(crate) ended: Arc<tokio::sync::Notify>,
    /// The streams of events that are open.
    pub(crate) streams: streams::Streams,
    /// Whether only loopback reaches it.
    pub(crate) is_local: bool,
    /// Which programs can be connected, and under which address; `None` where none can.
    pub(crate) connecting: Option<Connecting>,
}

impl std::ops::Deref for Service {
    type Target = ServiceParts;

    fn deref(&self) -> &ServiceParts {
        &self.0
    }
}

impl Service {
    /// Of what listens at that address.
    pub(crate) fn new(memoir: Memoir, mut options: ServiceOptions, address: SocketAddr) -> Self {
        let is_local = address.ip().is_loopback();
        // Behind a proxy loopback is where the proxy is, and says nothing of who asks.
        let is_near = is_local && !options.behind_proxy;
        let programs = options.programs.take();
        let connecting = programs.and_then(|programs| programs.at(address, is_near));
        // By this name too it is called.
        let host = connecting.as_ref().and_then(|known| known.host());
        options.hosts.extend(host);
        Self(Arc::new(ServiceParts {
            memoir,
            limiter: limits::Limiter::new(options.requests_per_second),
            strangers: limits::Limiter::new(limits::STRANGERS_PER_SECOND),
            bodies: limits::BodyRoom::new(&options),
            shares: limits::Shares::default(),
            requests: requests::Requests::default(),
            first: first::FirstLink::new(options.first_link.clone()),
            options,
            in_flight: replies::InFlight::default(),
            attempts: limits::Attempts::default(),
            // Each takes a processor for a while and tens of megabytes: a crowd that signs in must not take the
            // service down.
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
