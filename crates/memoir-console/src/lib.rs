//! The console: pages for the people who run agents and may not read them (SPEC 5.1).
//!
//! A door like the others: it parses, calls a use case, and shows what came of it, as pages that need no
//! script. It calls the administrators' views alone, which open no agent's words; everything that is shown
//! is escaped. Owns no rule of refining, and none of signing in: how often somebody may try is decided by
//! whoever serves it ([`Host`]).

mod answer;
mod assets;
mod browser;
mod form;
mod host;
mod pages;
mod parts;
mod words;

use std::sync::Arc;

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};

pub use host::{Credentials, Host, SignInRefusal};

/// What every request reaches.
pub(crate) type Console = Arc<dyn Host>;

/// The pages, beginning at `/`.
pub fn router(host: Arc<dyn Host>) -> Router {
    let guarded = Router::new()
        .route("/", get(pages::fleet::show))
        .route("/agents/{agent}", get(pages::agent::show))
        .route("/agents/{agent}/refine", post(pages::agent::refine))
        .route("/agents/{agent}/pause", post(pages::agent::pause))
        .route("/agents/{agent}/resume", post(pages::agent::resume))
        .route("/agents/{agent}/memories", get(pages::memories::show))
        .route(
            "/agents/{agent}/memories/{number}/{handling}",
            post(pages::memories::handle),
        )
        .route("/agents/{agent}/sessions", get(pages::sessions::list))
        .route("/agents/{agent}/verify", post(pages::audit::verify))
        .route("/sessions/{session}", get(pages::sessions::show))
        .route("/sessions/{session}/cancel", post(pages::sessions::cancel))
        .route("/sessions/{session}/apply", post(pages::sessions::apply))
        .route(
            "/sessions/{session}/roll-back",
            get(pages::undo::preview).post(pages::undo::roll_back),
        )
        .route("/audit", get(pages::audit::show))
        .route("/audit/checkpoint", post(pages::audit::checkpoint))
        .route("/sign-out", post(pages::sign_in::sign_out))
        .route(
            "/sign-out-everywhere",
            post(pages::sign_in::sign_out_everywhere),
        )
        .route_layer(from_fn_with_state(host.clone(), browser::admit));
    Router::new()
        .route(
            "/sign-in",
            get(pages::sign_in::show).post(pages::sign_in::sign_in),
        )
        .merge(guarded)
        .route_layer(from_fn(answer::guard_page))
        .route("/assets/{name}", get(assets::serve))
        .with_state(host)
}
