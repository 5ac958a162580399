//! The console: pages for administrators, who run agents and may not read their text (SPEC 5.1). And the personal page,
//! for the owner of an open installation, who may (SPEC 6.6).
//!
//! An interface like the others: it parses, calls a use case, and shows the outcome, as pages that need no script. It
//! calls only the administrators' views, which open no agent's text. The pages of `pages/reading.rs` are the exception:
//! their text comes from an `AgentLens` under an access grant. All output is escaped. It owns no rule of refining or
//! signing in: the server limits sign-in attempts ([`Host`]).
//!
//! The personal page is in `pages/own`, with a router of its own, which has no page of the console. Its text comes from
//! the `OwnAgent` of an `OwnerSession`. `browser::admit_owner` admits it, and passes forms as for administrators.
//!
//! Pages are rendered here (`maud`), so that they work without scripts and a build step, and all text is escaped. The
//! list of agents is sorted and cut in the store, by identifiers alone, and only the agents of the page are read. The
//! link for the first administrator is a random secret in the memory of the process that printed it; the store creates
//! a first user only where there is none. A failure is a page in the frame of the signed-in user. So is an unknown
//! address, for a browser and outside of `/v1` and `/mcp` (`nothing.rs`); programs get a problem document.
//!
//! # Scripts
//!
//! They are plain files in `assets/`, without a framework and a build step, since they only add to complete pages:
//! `live.js` follows a session, `slider.js` moves along the history, `search.js` shows the result of a form while it is
//! filled in, `access.js` closes a page of text, `light.js` shows an agent's first call. They compute nothing. When a
//! session's stream reports an event, the page is loaded again and its new parts are inserted, so that the browser
//! builds no markup from texts. The stream is that of `/v1`, authenticated by the cookie: it ends at sign-out. Waiting
//! for it is no use of the cookie; loading the page is. Curves need no script: `plot.rs` draws them, and `picture.rs` the
//! file of `memoir stats --plot`.
//!
//! All files are in the binary; the policy of the pages allows scripts and connections of this host only, and nothing
//! inline.

mod answer;
mod assets;
mod browser;
mod field;
mod form;
mod host;
mod nothing;
mod pages;
mod parts;
mod picture;
mod plot;
mod qr;
mod words;

use std::sync::Arc;

use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{get, post},
};

pub use field::with_code;
pub use host::{Admission, Admitted, BROWSER_SECONDS, Host, SignInRefusal, TypedCredentials};
pub use nothing::{nothing, wants_page};
pub use picture::core_size_picture;

use crate::pages::{
    access, access_request, account, activity, agent, audit, code, connect, connect_agent,
    core_size, erase, first, fleet, memories, new_agent, password, reading, refine, rehearsal,
    second_factor, sessions, settings, sign_in, time, tokens, undo,
};

/// What every request reaches.
pub(crate) type Console = Arc<dyn Host>;

/// The pages, beginning at `/`: those of the console, or the personal page.
pub fn router(host: Arc<dyn Host>) -> Router {
    let pages = match host.owner_link() {
        Some(_) => personal_pages(&host),
        None => console_pages(&host),
    };
    pages
        // Around all pages, refusals of the layers above included. Files come after it, since browsers may cache them.
        .route_layer(from_fn_with_state(host.clone(), answer::guard_page))
        .route("/assets/{name}", get(assets::serve))
        .with_state(host)
}

/// A router of pages, each with what answers its address: `get` for the page, `post` for its form.
macro_rules! routes {
    ($($path:expr => $first:ident($handler:expr) $(, $then:ident($other:expr))?;)+) => {
        Router::new()$(.route($path, $first($handler)$(.$then($other))?))+
    };
}

fn console_pages(host: &Console) -> Router<Console> {
    let guarded = agent_pages()
        .merge(access_pages())
        .merge(session_pages())
        .merge(own_pages())
        // `route_layer` skips unknown addresses: those do not ask for a sign-in.
        .route_layer(from_fn_with_state(host.clone(), browser::admit));
    let asked_by_scripts = Router::new()
        .route("/access/{request}/state", get(access_request::state))
        .route("/agents/{agent}/connected", get(connect_agent::connected))
        .route_layer(from_fn_with_state(host.clone(), browser::admit_script));
    Router::new()
        .route("/sign-in", get(sign_in::show).post(sign_in::sign_in))
        .route("/sign-in/code", get(code::show).post(code::give))
        .route("/first/{secret}", get(first::show).post(first::create))
        .merge(guarded)
        .merge(asked_by_scripts)
}

/// The personal page of the owner of an open installation (SPEC 6.6).
fn personal_pages(host: &Console) -> Router<Console> {
    use pages::own;
    let guarded = routes! {
        own::HOME.0 => get(own::home);
        "/memory/{agent}" => get(own::memories::show);
        "/memory/{agent}/prompt" => get(own::prompt::show);
        "/memory/{agent}/week" => get(own::week::show);
        "/memory/{agent}/archive" => get(own::archive::show);
        "/memory/{agent}/waiting" => get(own::waiting::show);
        "/memory/{agent}/waiting/access/{request}" => post(own::waiting::answer);
        "/memory/{agent}/waiting/rehearsals/{session}" => post(own::waiting::apply);
        "/memory/{agent}/session/{session}" => get(own::session::show);
        "/memory/{agent}/session/{session}/roll-back" => post(own::session::roll_back);
        "/memory/{agent}/{number}" => get(own::memory::show);
        "/memory/{agent}/{number}/edit" => post(own::memory::edit);
        "/memory/{agent}/{number}/shred" => get(own::memory::shredding), post(own::memory::shred);
        "/memory/{agent}/{number}/unedit" => post(own::memory::undo_edit);
        "/memory/{agent}/{number}/{handling}" => post(own::memory::handle);
    };
    let guarded = guarded.route_layer(from_fn_with_state(host.clone(), browser::admit_owner));
    Router::new()
        .route("/", get(own::root))
        .route("/open/{secret}", get(own::open))
        .merge(guarded)
}

fn agent_pages() -> Router<Console> {
    routes! {
        "/" => get(fleet::show);
        "/agents/new" => get(new_agent::show), post(new_agent::create);
        "/agents/{agent}" => get(agent::show);
        "/agents/{agent}/settings" => get(settings::show), post(settings::change);
        "/agents/{agent}/tokens" => post(tokens::make);
        "/agents/{agent}/tokens/{token}/revoke" => post(tokens::revoke);
        "/agents/{agent}/erase" => get(erase::show), post(erase::erase);
        "/agents/{agent}/refine" => post(refine::refine);
        "/agents/{agent}/pause" => post(agent::pause);
        "/agents/{agent}/resume" => post(agent::resume);
        "/agents/{agent}/mass" => get(core_size::show);
        "/agents/{agent}/memories" => get(memories::show), post(memories::handle_selected);
        "/agents/{agent}/memories/{number}/{handling}" => post(memories::handle);
        "/agents/{agent}/sessions" => get(sessions::list);
        "/agents/{agent}/time" => get(time::show), post(time::go_back);
        "/agents/{agent}/verify" => post(audit::verify);
    }
}

/// Access requests, and what an access grant shows.
fn access_pages() -> Router<Console> {
    routes! {
        "/agents/{agent}/memories/{number}/shred" => get(access::blank), post(access::ask);
        "/agents/{agent}/access" => get(access::show), post(access::ask);
        "/agents/{agent}/access/token" => get(access::blank), post(access::ask);
        "/agents/{agent}/access/embeddings" => get(access::blank), post(access::ask);
        "/access/{request}" => get(access_request::show);
        "/access/{request}/revoke" => post(access_request::revoke);
        "/access/{request}/memories" => get(reading::memories);
        "/access/{request}/sessions" => get(reading::sessions);
        "/access/{request}/sessions/{session}" => get(reading::session);
        "/access/{request}/records" => get(reading::records);
        "/access/{request}/prompts" => get(reading::prompts);
    }
}

fn session_pages() -> Router<Console> {
    routes! {
        "/sessions/{session}" => get(sessions::show);
        "/sessions/{session}/events" => get(sessions::events);
        "/sessions/{session}/cancel" => post(sessions::cancel);
        "/sessions/{session}/apply" => post(rehearsal::apply);
        "/sessions/{session}/roll-back" => get(undo::preview), post(undo::roll_back);
        "/activity" => get(activity::show);
        "/activity/verify" => post(activity::verify);
        "/activity/{format}" => get(activity::save);
        "/audit" => get(audit::show);
        "/audit/checkpoint" => post(audit::checkpoint);
    }
}

/// The pages about the signed-in user, and the connecting of programs.
fn own_pages() -> Router<Console> {
    routes! {
        connect::PATH => get(connect::show), post(connect::decide);
        "/account" => get(account::show);
        "/account/password" => get(password::show), post(password::change);
        "/account/second-factor" => get(second_factor::show), post(second_factor::turn_on);
        "/account/second-factor/off" => get(second_factor::show_off), post(second_factor::turn_off);
        "/account/recovery-codes" => get(second_factor::show_codes), post(second_factor::renew_codes);
        "/account/sign-ins/{sign_in}/end" => post(account::end_sign_in);
        "/sign-out" => post(sign_in::sign_out);
        "/sign-out-everywhere" => post(sign_in::sign_out_everywhere);
    }
}
