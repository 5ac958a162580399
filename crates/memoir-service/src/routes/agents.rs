//! `/v1/agents`

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use memoir_app::{Erased, ShownAgent};
use memoir_domain::{
    Timestamp,
    agent::{Field, token_limits},
    manage,
};
use serde::Deserialize;
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use crate::{
    Problem,
    caller::Caller,
    extract::{JsonBody, Nothing, Path, UrlQuery, name},
    matching::IfMatch,
    page::{Page, PageParameters},
    replies, schemas,
    wire::agent_etag,
};

/// The agents of the account, by name; without their prompts.
#[utoipa::path(get, path = "/v1/agents", tag = "agents", operation_id = "list_agents", params(PageParameters),
    responses((status = 200, description = "One page", body = Page<ShownAgent>)))]
pub(crate) async fn list(
    caller: Caller,
    UrlQuery(parameters): UrlQuery<PageParameters>,
) -> Result<Response, Problem> {
    let (account, _) = caller.administrator()?;
    let limit = parameters.limit()?;
    let after: Option<String> = parameters.after()?;
    let agents = account.agent_page(after.as_deref(), limit + 1).await?;
    let page = Page::of(agents, limit, |agent| agent.name.clone());
    Ok(axum::Json(page.map(ShownAgent::from)).into_response())
}

/// Creates an agent: a name, and any settings.
#[utoipa::path(post, path = "/v1/agents", tag = "agents", operation_id = "create_agent",
    request_body = schemas::NewAgent,
    responses((status = 201, description = "The agent", body = ShownAgent, headers(("ETag" = String)))))]
pub(crate) async fn create(
    caller: Caller,
    JsonBody(mut settings): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let (account, actor) = caller.administrator()?;
    let name = match settings.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) => return Err(Problem::invalid("name: must be a text")),
        None => return Err(Problem::invalid("name: is missing")),
    };
    let values = assignments(&settings)?;
    let agent = account
        .create_agent(&name, &manage::borrowed(&values), &actor)
        .await?;
    Ok((StatusCode::CREATED, with_etag(agent)).into_response())
}

/// One agent.
#[utoipa::path(get, path = "/v1/agents/{agent}", tag = "agents", operation_id = "get_agent",
    params(schemas::AgentPath),
    responses((status = 200, description = "The agent", body = ShownAgent, headers(("ETag" = String)))))]
pub(crate) async fn show(caller: Caller, Path(agent): Path<String>) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    Ok(with_etag(reached.lens().show().await?))
}

fn with_etag(agent: ShownAgent) -> Response {
    let etag = [(header::ETAG, agent_etag(&agent))];
    (etag, axum::Json(agent)).into_response()
}

/// The response to a request that made or changed the agent before, without its prompts.
pub(super) async fn shown_before(caller: &Caller, agent: &str) -> Result<Response, Problem> {
    let reached = caller.reach_managed(agent).await?;
    let facts = reached.agent.views().show().await?;
    Ok(with_etag(ShownAgent::from(facts)))
}

/// Changes settings, all of them or none; null returns one to its default. With `If-Match`, only where they
/// are still those of that `ETag`.
#[utoipa::path(patch, path = "/v1/agents/{agent}", tag = "agents", operation_id = "update_agent",
    request_body = schemas::Settings, params(schemas::AgentPath, IfMatch),
    responses((status = 200, description = "The agent", body = ShownAgent, headers(("ETag" = String)))))]
pub(crate) async fn change(
    caller: Caller,
    Path(agent): Path<String>,
    headers: HeaderMap,
    JsonBody(settings): JsonBody<Map<String, Value>>,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    let values = assignments(&settings)?;
    let expected = IfMatch::of(&headers)?;
    let views = reached.agent.views();
    let agent = views.where_agent(move |now| expected.admits(|| agent_etag(now)));
    let changed = agent
        .settings()
        .configure(&manage::borrowed(&values), &reached.actor)
        .await?;
    Ok(with_etag(changed))
}

fn assignments(settings: &Map<String, Value>) -> Result<Vec<(Field, Option<String>)>, Problem> {
    settings
        .iter()
        .map(|(key, value)| {
            let known = || Field::ALL.map(Field::as_str).join(", ");
            let field: Field = key.parse().map_err(|_| {
                let key = name(key);
                Problem::invalid(format!(
                    "{key}: is no setting of an agent; there are {}",
                    known()
                ))
            })?;
            Ok((field, text_of(field, value)?))
        })
        .collect()
}

/// The text in which the application takes a value of the setting's type.
fn text_of(field: Field, value: &Value) -> Result<Option<String>, Problem> {
    let whole_tokens = format!("a whole number of tokens from {}", token_limits(field));
    let (text, must_be) = match field {
        Field::RefinementThreshold => (
            value.as_f64().map(|share| share.to_string()),
            "a number over 0 and up to 1, such as 0.75",
        ),
        _ if field.is_tokens() => (value.as_number().and_then(whole), whole_tokens.as_str()),
        Field::ImmutableTags => (
            list_of_tags(value),
            "a list of up to 16 tags, each of 1 to 50 characters",
        ),
        Field::Paused | Field::Active | Field::NearDuplicates => (
            value.as_bool().map(|flag| flag.to_string()),
            "true or false",
        ),
        _ => (value.as_str().map(str::to_owned), "a text"),
    };
    match text {
        // Before the text: null has none, and means the default.
        _ if value.is_null() => Ok(None),
        Some(text) => Ok(Some(text)),
        None => Err(Problem::invalid(format!(
            "{}: must be {must_be}, or null",
            field.as_str()
        ))),
    }
}

/// A whole number, also where it is written as `5000.0`.
fn whole(number: &Number) -> Option<String> {
    if let Some(number) = number.as_u64() {
        return Some(number.to_string());
    }
    // Up to there a double holds every whole number.
    let is_whole = |number: &f64| number.fract() == 0.0 && (1.0..=1e15).contains(number);
    let number = number.as_f64().filter(is_whole)?;
    Some((number as u64).to_string())
}

fn list_of_tags(value: &Value) -> Option<String> {
    let is_tag = |tag: &Value| tag.as_str().is_some_and(|tag| !tag.trim().is_empty());
    let are_tags = value.as_array()?.iter().all(is_tag);
    // As JSON, since a tag may hold the comma that parts a list in words.
    are_tags.then(|| value.to_string())
}

/// Destroys the agent's key: nothing of it can be read again. Its chain stays and still verifies.
#[utoipa::path(delete, path = "/v1/agents/{agent}", tag = "agents", operation_id = "erase_agent",
    params(schemas::AgentPath, IfMatch),
    responses((status = 200, description = "What is left of it", body = Erased)))]
pub(crate) async fn erase(
    caller: Caller,
    Path(agent): Path<String>,
    headers: HeaderMap,
    JsonBody(Nothing {}): JsonBody<Nothing>,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    let expected = IfMatch::of(&headers)?;
    let views = reached.agent.views();
    let agent = views.where_agent(move |now| expected.admits(|| agent_etag(now)));
    let erased = agent.log().erase(&reached.actor).await?;
    Ok(replies::wordless(axum::Json(erased).into_response()))
}

/// A point in time to return to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RewindTo {
    #[schema(example = "2026-03-04T12:00:00Z")]
    to: Timestamp,
}

/// Returns every memory to its state at a point in time. To undo it, rewind to before it.
#[utoipa::path(post, path = "/v1/agents/{agent}/rewind", tag = "time machine", operation_id = "rewind_agent",
    request_body = RewindTo, params(schemas::AgentPath),
    responses((status = 200, description = "What was undone, in numbers", body = schemas::Rewound)))]
pub(crate) async fn rewind(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(RewindTo { to }): JsonBody<RewindTo>,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    let rewound = reached.agent.log().rewind(to, &reached.actor).await?;
    Ok(axum::Json(rewound).into_response())
}
