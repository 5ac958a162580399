//! The requests, a file for each subject.

mod access;
mod agents;
mod audit;
mod context;
mod description;
mod docs;
mod guard;
mod life;
pub(crate) mod live;
mod mcp;
mod memories;
mod meta;
mod metrics;
mod own;
pub(crate) mod repeated;
mod sessions;
pub(crate) mod sign_in;
mod tokens;

use axum::Router;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{Service, requests};

/// The head of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Memoir",
        description = "Long-term memory for LLM agents that an agent can refine and cannot destroy. \
            Administrators see no text, except under an access grant of the agent.\n\nErrors are problem documents (RFC 9457) with a stable `code`. Times are \
            RFC 3339 in UTC. Lists come in pages: `next_cursor` of one gives the next."
    ),
    modifiers(&Bearer),
    components(schemas(crate::Problem, memoir_app::sessions::LiveSession, memoir_app::sessions::LiveRecord, crate::schemas::OwnField, crate::schemas::ToolName)),
    security(("token" = []))
)]
struct Head;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "A token: an administrator's of the account, or an agent's.",
            ))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Everything under `/v1`, with its description.
fn guarded() -> OpenApiRouter<Service> {
    OpenApiRouter::with_openapi(Head::openapi())
        .routes(routes!(agents::list, agents::create))
        .routes(routes!(agents::show, agents::change, agents::erase))
        .routes(routes!(tokens::create))
        .routes(routes!(memories::list, memories::save))
        .routes(routes!(memories::save_batch))
        .routes(routes!(memories::show))
        .routes(routes!(memories::protect, memories::unprotect))
        .routes(routes!(memories::restore))
        .routes(routes!(memories::discard))
        .routes(routes!(memories::promote))
        .routes(routes!(memories::shred))
        .routes(routes!(context::show))
        .routes(routes!(life::hand_over, life::status))
        .routes(routes!(life::reflect))
        .routes(routes!(own::show, own::change))
        .routes(routes!(own::history))
        .routes(routes!(own::undo))
        .routes(routes!(sessions::list, sessions::begin))
        .routes(routes!(sessions::show))
        .routes(routes!(live::watch))
        .routes(routes!(sessions::call_tool))
        .routes(routes!(sessions::apply))
        .routes(routes!(sessions::roll_back))
        .routes(routes!(sessions::cancel))
        .routes(routes!(agents::rewind))
        .routes(routes!(access::list, access::ask))
        .routes(routes!(access::show))
        .routes(routes!(access::answer))
        .routes(routes!(access::revoke))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
        .routes(routes!(audit::list_all))
        .routes(routes!(audit::checkpoint))
}

fn open() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(meta::openapi))
        .routes(routes!(meta::healthy))
        .routes(routes!(meta::ready))
        .routes(routes!(metrics::show))
        .routes(routes!(docs::interface))
        .routes(routes!(docs::error))
        .routes(routes!(sign_in::sign_in))
}

fn described() -> utoipa::openapi::OpenApi {
    let mut document = guarded().into_openapi();
    document.merge(open().into_openapi());
    document
}

/// The description of the interface: OpenAPI 3.1.
pub fn openapi() -> &'static serde_json::Value {
    &description::DOCUMENT
}

pub(crate) fn router(service: &Service) -> Router {
    let guard = axum::middleware::from_fn_with_state(service.clone(), guard::admit);
    // On the routes alone: an unknown path is reported without a check of the token.
    let guarded = Router::from(guarded()).route_layer(guard);
    let of_programs = match service.options.owner_link {
        // The personal page is for a browser alone.
        Some(_) => Router::new(),
        None => Router::from(open())
            .merge(guarded)
            .merge(mcp::routes(service))
            .merge(crate::oauth::routes(service)),
    };
    of_programs
        .merge(crate::console::routes(service).with_state(()))
        .fallback(meta::nothing)
        .method_not_allowed_fallback(meta::wrong_method)
        // For what reads a body by itself; under `/v1` and `/mcp` the whole body was taken before.
        .layer(axum::extract::DefaultBodyLimit::max(
            service.options.body_bytes,
        ))
        // The outermost, so that refusals of the others are counted.
        .layer(axum::middleware::from_fn_with_state(
            service.clone(),
            requests::watch,
        ))
        .with_state(service.clone())
}
