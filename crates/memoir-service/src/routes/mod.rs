//! The requests, a file for each thing that they are about.

mod agents;
mod audit;
mod context;
mod guard;
mod memories;
mod meta;
mod own;
mod sessions;
mod tokens;

use axum::Router;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::Service;

/// The head of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Memoir",
        description = "Long-term memory for LLM agents that an agent can refine and cannot destroy. Administrators see no words."
    ),
    modifiers(&Bearer),
    security(("token" = []))
)]
struct Head;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Everything under `/v1`, with its description.
fn described() -> OpenApiRouter<Service> {
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
        .routes(routes!(memories::shred))
        .routes(routes!(context::show))
        .routes(routes!(own::show, own::change))
        .routes(routes!(sessions::list, sessions::begin))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::call_tool))
        .routes(routes!(sessions::apply))
        .routes(routes!(sessions::roll_back))
        .routes(routes!(sessions::cancel))
        .routes(routes!(agents::rewind))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
        .routes(routes!(audit::checkpoint))
}

/// The description of the interface: OpenAPI 3.1.
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().into_openapi()
}

/// All routes.
pub(crate) fn router(service: &Service) -> Router {
    let (api, document) = described().split_for_parts();
    let guard = axum::middleware::from_fn_with_state(service.clone(), guard::admit);
    let guarded = api.route_layer(guard);
    meta::routes(document)
        .merge(guarded)
        .fallback(meta::nothing)
        .method_not_allowed_fallback(meta::wrong_method)
        .layer(axum::extract::DefaultBodyLimit::max(
            service.options.body_bytes,
        ))
        .with_state(service.clone())
}
