//! `/v1/agents`

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use memoir_app::Eyes;
use memoir_domain::{PrivateJson, Timestamp, agent::Field};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    Problem, Service,
    caller::{Caller, Reached},
    extract::{Body, Path, Query},
    page::{Page, Wanted},
    wire::Agent,
};

/// An agent to make: a name, and any settings.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NewAgent {
    /// 1 to 100 characters, unique in the account whatever the case.
    name: String,
    /// Settings by their names, such as `model`, `system_prompt`, `core_token_budget`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    settings: Map<String, Value>,
}

/// Settings to change; null returns one to its default.
#[derive(Debug, Deserialize)]
pub(crate) struct Settings(Map<String, Value>);

/// The agents of the account, by name.
#[utoipa::path(get, path = "/v1/agents", tag = "agents", params(Wanted),
    responses((status = 200, body = Page<Agent>), (status = "4XX", body = Problem)))]
pub(crate) async fn list(
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let (account, _) = caller.administrator()?;
    let limit = wanted.limit()?;
    let after: Option<String> = wanted.after()?;
    let agents = account.agent_page(after.as_deref(), limit + 1).await?;
    let page = Page::of(agents, limit, |agent| agent.name.clone(), Agent::from);
    Ok(axum::Json(page).into_response())
}

/// Makes an agent.
#[utoipa::path(post, path = "/v1/agents", tag = "agents", request_body = NewAgent,
    responses((status = 201, body = Agent), (status = "4XX", body = Problem)))]
pub(crate) async fn create(caller: Caller, Body(new): Body<NewAgent>) -> Result<Response, Problem> {
    let (account, actor) = caller.administrator()?;
    let values = assignments(&new.settings)?;
    let settings: Vec<_> = values
        .iter()
        .map(|(field, value)| (*field, value.as_deref()))
        .collect();
    let agent = account.create_agent(&new.name, &settings, &actor).await?;
    Ok((StatusCode::CREATED, axum::Json(Agent::from(agent))).into_response())
}

/// One agent.
#[utoipa::path(get, path = "/v1/agents/{agent}", tag = "agents",
    params(("agent" = String, Path, description = "Its name or identifier")),
    responses((status = 200, body = Agent), (status = "4XX", body = Problem)))]
pub(crate) async fn show(caller: Caller, Path(agent): Path<String>) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    shown(&reached).await
}

async fn shown(reached: &Reached) -> Result<Response, Problem> {
    let view = match reached.eyes {
        Eyes::Agent => reached.agent.show().await?,
        Eyes::Administrator => reached.agent.show_to_administrator().await?,
    };
    let agent = Agent::from(view);
    let etag = etag(&agent);
    Ok(([(header::ETAG, etag)], axum::Json(agent)).into_response())
}

/// Changes with every change of the settings.
fn etag(agent: &Agent) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(agent.settings_text().as_bytes());
    let hex: String = digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("\"{hex}\"")
}

/// Changes settings, all of them or none. With `If-Match`, only where they are still those of that `ETag`.
#[utoipa::path(patch, path = "/v1/agents/{agent}", tag = "agents", request_body = Object,
    params(("agent" = String, Path, description = "Its name or identifier")),
    responses((status = 200, body = Agent), (status = "4XX", body = Problem)))]
pub(crate) async fn change(
    caller: Caller,
    Path(agent): Path<String>,
    headers: HeaderMap,
    Body(Settings(settings)): Body<Settings>,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    if let Some(wanted) = headers.get(header::IF_MATCH) {
        let now = Agent::from(reached.agent.show_to_administrator().await?);
        let matches = wanted
            .to_str()
            .is_ok_and(|wanted| wanted == "*" || wanted == etag(&now));
        if !matches {
            return Err(Problem::new(
                StatusCode::PRECONDITION_FAILED,
                "precondition_failed",
                "the agent was changed since; read it again",
            ));
        }
    }
    let values = assignments(&settings)?;
    let settings: Vec<_> = values
        .iter()
        .map(|(field, value)| (*field, value.as_deref()))
        .collect();
    reached.agent.configure(&settings, &reached.actor).await?;
    shown(&reached).await
}

/// Settings as text, by field.
fn assignments(settings: &Map<String, Value>) -> Result<Vec<(Field, Option<String>)>, Problem> {
    settings
        .iter()
        .map(|(name, value)| {
            let field: Field = name.parse().map_err(memoir_app::Error::from)?;
            let text = match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                Value::Array(items) => Some(list_text(name, items)?),
                Value::Object(_) => {
                    return Err(Problem::invalid(format!("{name}: must be no object")));
                }
                other => Some(other.to_string()),
            };
            Ok((field, text))
        })
        .collect()
}

/// A list in the form in which settings take it.
fn list_text(name: &str, items: &[Value]) -> Result<String, Problem> {
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    texts
        .map(|texts| texts.join(", "))
        .ok_or_else(|| Problem::invalid(format!("{name}: must be a list of texts")))
}

/// What is left of an agent that was erased.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErasedAgent {
    agent: String,
    #[schema(value_type = String, format = DateTime)]
    erased_at: Timestamp,
}

/// Destroys the agent's key: nothing of it can be read again. Its chain stays and still verifies.
#[utoipa::path(delete, path = "/v1/agents/{agent}", tag = "agents",
    params(("agent" = String, Path, description = "Its name or identifier")),
    responses((status = 200, body = ErasedAgent), (status = "4XX", body = Problem)))]
pub(crate) async fn erase(caller: Caller, Path(agent): Path<String>) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    let erased = reached.agent.erase(&reached.actor).await?;
    let body = ErasedAgent {
        agent: erased.agent,
        erased_at: erased.erased_at,
    };
    Ok(axum::Json(body).into_response())
}

/// A point in time to return to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RewindTo {
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
}

/// Returns every memory to what it was at a point in time. To undo it, rewind to before it.
#[utoipa::path(post, path = "/v1/agents/{agent}/rewind", tag = "time machine", request_body = RewindTo,
    params(("agent" = String, Path, description = "Its name or identifier")),
    responses((status = 200, description = "What was undone, in numbers", body = Object),
        (status = "4XX", body = Problem)))]
pub(crate) async fn rewind(
    State(_): State<Service>,
    caller: Caller,
    Path(agent): Path<String>,
    Body(RewindTo { to }): Body<RewindTo>,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    let rewound = reached.agent.rewind(to, &reached.actor).await?;
    Ok(axum::Json(rewound).into_response())
}

impl Agent {
    fn settings_text(&self) -> String {
        let settings: &PrivateJson = self.settings();
        settings.expose().to_string()
    }
}
