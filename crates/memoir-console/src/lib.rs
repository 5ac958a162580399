//! The console: pages for the people who run agents and may not read them (SPEC 5.1).
//!
//! A door like the others: it parses, calls a use case, and shows what came of it, as pages that need no
//! script. It calls the administrators' views alone, which open no agent's words, but for the pages of
//! `pages/reading.rs`: their words come from an `AgentLens` under a grant of the agent's. Everything that is
//! shown is escaped. Owns no rule of refining, and none of signing in: how often somebody may try is decided by
//! whoever serves it ([`Host`]).
//!
//! Pages are rendered here (`maud`), so that they work without scripts, nothing has to be built, and whatever
//! is put into one is escaped. The list of agents is sorted and cut in the store, by identifiers alone, and
//! only the agents of the page are read. The link of the first administrator is a random secret in the memory
//! of the process that printed it; the store makes a first user only where there is none. A failure is a page
//! in the frame of whoever is signed in, and so is an address where nothing is, if it is a browser that asks
//! and the address is not under `/v1` or `/mcp` (`nothing.rs`); programs get a problem document.
//!
//! # Scripts
//!
//! They are plain files in `assets/`, without a framework and a build step, since they only add to pages that
//! are whole without them: `plot.js` draws curves with uPlot (unmodified, in `assets/vendor`, loaded by pages
//! with a curve alone), `live.js` follows a session, `slider.js` moves along the history, `access.js` ends a
//! page of words. They make up nothing: a curve is thinned in the domain and worded in `plot.rs`, where tests
//! are cheap, and where a session's stream says that something happened, the page is asked for again and what
//! is new on it is put in its place, so that no markup is put together from texts in the browser. The stream
//! is that of `/v1`, let in by the cookie: it ends where the browser is signed out, and waiting for it is no
//! use of the cookie, as looking at what came is. What a curve shows is on `/agents/{agent}/mass` as a table.
//!
//! All of it lies in the binary; the policy of the pages allows scripts and connections of this host only,
//! and nothing inline.

mod answer;
mod assets;
mod browser;
mod field;
mod form;
mod host;
mod nothing;
mod pages;
mod parts;
mod plot;
mod qr;
mod words;

use std::sync::Arc;

use axum::{
    Router,
    middleware::{from_fn, from_fn_with_state},
    routing::{get, post},
};

pub use host::{Admission, Host, SignInRefusal, TypedCredentials};
pub use nothing::{nothing, wants_page};

/// What every request reaches.
pub(crate) type Console = Arc<dyn Host>;

/// The pages, beginning at `/`.
pub fn router(host: Arc<dyn Host>) -> Router {
    let guarded = Router::new()
        .route("/", get(pages::fleet::show))
        .route(
            "/agents/new",
            get(pages::new_agent::show).post(pages::new_agent::create),
        )
        .route("/agents/{agent}", get(pages::agent::show))
        .route(
            "/agents/{agent}/settings",
            get(pages::settings::show).post(pages::settings::change),
        )
        .route("/agents/{agent}/tokens", post(pages::tokens::make))
        .route(
            "/agents/{agent}/tokens/{token}/revoke",
            post(pages::tokens::revoke),
        )
        .route(
            "/agents/{agent}/erase",
            get(pages::erase::show).post(pages::erase::erase),
        )
        .route("/agents/{agent}/refine", post(pages::refine::refine))
        .route("/agents/{agent}/pause", post(pages::agent::pause))
        .route("/agents/{agent}/resume", post(pages::agent::resume))
        .route("/agents/{agent}/mass", get(pages::mass::show))
        .route("/agents/{agent}/mass.json", get(pages::mass::curve))
        .route("/agents/{agent}/memories", get(pages::memories::show))
        .route(
            "/agents/{agent}/memories/{number}/{handling}",
            post(pages::memories::handle),
        )
        .route("/agents/{agent}/sessions", get(pages::sessions::list))
        .route(
            "/agents/{agent}/time",
            get(pages::time::show).post(pages::time::go_back),
        )
        .route("/agents/{agent}/verify", post(pages::audit::verify))
        .route(
            "/agents/{agent}/memories/{number}/shred",
            get(pages::access::shredding).post(pages::access::ask_to_shred),
        )
        .route(
            "/agents/{agent}/access",
            get(pages::access::show).post(pages::access::ask),
        )
        .route(
            "/agents/{agent}/access/token",
            get(pages::access::token).post(pages::access::ask_for_token),
        )
        .route(
            "/agents/{agent}/access/embeddings",
            get(pages::access::embeddings).post(pages::access::ask_for_embeddings),
        )
        .route("/access/{request}", get(pages::access_request::show))
        .route(
            "/access/{request}/revoke",
            post(pages::access_request::revoke),
        )
        .route("/access/{request}/memories", get(pages::reading::memories))
        .route("/access/{request}/sessions", get(pages::reading::sessions))
        .route(
            "/access/{request}/sessions/{session}",
            get(pages::reading::session),
        )
        .route("/access/{request}/records", get(pages::reading::records))
        .route("/access/{request}/prompts", get(pages::reading::prompts))
        .route("/sessions/{session}", get(pages::sessions::show))
        .route("/sessions/{session}/events", get(pages::sessions::events))
        .route("/sessions/{session}/cancel", post(pages::sessions::cancel))
        .route("/sessions/{session}/apply", post(pages::rehearsal::apply))
        .route(
            "/sessions/{session}/roll-back",
            get(pages::undo::preview).post(pages::undo::roll_back),
        )
        .route("/audit", get(pages::audit::show))
        .route("/audit/checkpoint", post(pages::audit::checkpoint))
        .route(
            pages::connect::PATH,
            get(pages::connect::show).post(pages::connect::decide),
        )
        .route("/account", get(pages::account::show))
        .route(
            "/account/password",
            get(pages::password::show).post(pages::password::change),
        )
        .route(
            "/account/second-factor",
            get(pages::second_factor::show).post(pages::second_factor::turn_on),
        )
        .route(
            "/account/second-factor/off",
            get(pages::second_factor::show_off).post(pages::second_factor::turn_off),
        )
        .route(
            "/account/recovery-codes",
            get(pages::second_factor::show_codes).post(pages::second_factor::renew_codes),
        )
        .route(
            "/account/sign-ins/{sign_in}/end",
            post(pages::account::end_sign_in),
        )
        .route("/sign-out", post(pages::sign_in::sign_out))
        .route(
            "/sign-out-everywhere",
            post(pages::sign_in::sign_out_everywhere),
        )
        // `route_layer` leaves unknown addresses alone: there nobody is asked to sign in.
        .route_layer(from_fn_with_state(host.clone(), browser::admit));
    let asked_by_scripts = Router::new()
        .route("/access/{request}/state", get(pages::access_request::state))
        .route_layer(from_fn_with_state(host.clone(), browser::admit_script));
    Router::new()
        .route(
            "/sign-in",
            get(pages::sign_in::show).post(pages::sign_in::sign_in),
        )
        .route(
            "/sign-in/code",
            get(pages::code::show).post(pages::code::give),
        )
        .route(
            "/first/{secret}",
            get(pages::first::show).post(pages::first::create),
        )
        .merge(guarded)
        .merge(asked_by_scripts)
        // Around all pages, the refusals of the layers above among them. Files come after it: they are to be
        // kept by browsers.
        .route_layer(from_fn(answer::guard_page))
        .route("/assets/{name}", get(assets::serve))
        .with_state(host)
}
