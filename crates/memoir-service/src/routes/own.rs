//! `/v1/agents/{agent}/self/{field}`: the agent's own settings (SPEC 2.7).

use axum::response::{IntoResponse, Response};
use memoir_app::OwnSetting;
use memoir_domain::{
    PrivateJson,
    agent::Field,
    authoring::{RecordedSetting, given_text},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    Problem,
    caller::Caller,
    extract::{JsonBody, Nothing, Path},
    schemas,
};

/// A new value, as text; null returns to the default.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewValue {
    #[schema(required, value_type = Option<String>, example = "0.85")]
    value: PrivateJson,
}

fn field(name: &str) -> Result<Field, Problem> {
    let own = |field: &Field| field.is_own();
    let parsed: Option<Field> = name.parse().ok().filter(own);
    parsed.ok_or_else(|| {
        let names = Field::ALL.into_iter().filter(own).map(Field::as_str);
        let names: Vec<&str> = names.collect();
        Problem::not_found(format!(
            "an agent has no such setting of its own; those are {}",
            names.join(", ")
        ))
    })
}

/// One setting of the agent's own.
#[utoipa::path(get, path = "/v1/agents/{agent}/self/{field}", tag = "agents", operation_id = "get_own_setting",
    params(schemas::AgentPath, ("field" = schemas::OwnField, Path, description = "The setting")),
    responses((status = 200, description = "The setting", body = OwnSetting)))]
pub(crate) async fn show(
    caller: Caller,
    Path((agent, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let own = caller.reach_own(&agent).await?;
    let shown = own.own_setting(field(&name)?).await?;
    Ok(axum::Json(shown).into_response())
}

/// Sets one setting of the agent's own. The change is on the record with its before and after.
#[utoipa::path(put, path = "/v1/agents/{agent}/self/{field}", tag = "agents", operation_id = "set_own_setting",
    request_body = NewValue,
    params(schemas::AgentPath, ("field" = schemas::OwnField, Path, description = "The setting")),
    responses((status = 200, description = "The setting as it is now", body = OwnSetting)))]
pub(crate) async fn change(
    caller: Caller,
    Path((agent, name)): Path<(String, String)>,
    JsonBody(NewValue { value }): JsonBody<NewValue>,
) -> Result<Response, Problem> {
    let own = caller.reach_own(&agent).await?;
    let field = field(&name)?;
    let text = given_text(field, value.expose()).map_err(memoir_app::Error::from)?;
    let set = own.author(field, text.as_deref()).await?;
    Ok(axum::Json(set).into_response())
}

/// The values that a setting had, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Versions {
    #[schema(value_type = Vec<schemas::Version>)]
    items: Vec<RecordedSetting>,
}

/// The values that a setting of the agent's own had, newest first, at most twenty. Earlier ones are in the audit.
#[utoipa::path(get, path = "/v1/agents/{agent}/self/{field}/history", tag = "agents", operation_id = "get_own_setting_history",
    params(schemas::AgentPath, ("field" = schemas::OwnField, Path, description = "The setting")),
    responses((status = 200, description = "The values", body = Versions)))]
pub(crate) async fn history(
    caller: Caller,
    Path((agent, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let own = caller.reach_own(&agent).await?;
    let items = own.setting_history(field(&name)?).await?;
    Ok(axum::Json(Versions { items }).into_response())
}

/// Returns a setting of the agent's own to its value before the last change. Doing so again undoes that.
#[utoipa::path(post, path = "/v1/agents/{agent}/self/{field}/undo", tag = "agents", operation_id = "undo_own_setting",
    params(schemas::AgentPath, ("field" = schemas::OwnField, Path, description = "The setting")),
    responses((status = 200, description = "The setting as it is now", body = OwnSetting)))]
pub(crate) async fn undo(
    caller: Caller,
    Path((agent, name)): Path<(String, String)>,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Response, Problem> {
    let own = caller.reach_own(&agent).await?;
    let undone = own.undo_own_setting(field(&name)?).await?;
    Ok(axum::Json(undone).into_response())
}
