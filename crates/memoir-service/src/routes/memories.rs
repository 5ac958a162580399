//! `/v1/agents/{agent}/memories`

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use memoir_app::{Eyes, MemoryInput, MemoryPage};
use memoir_domain::{
    PrivateText, Timestamp,
    memory::{Kind, Number},
    recall::Query as RecallQuery,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Problem,
    caller::{Caller, Reached},
    extract::{Body, Path, Query},
    page::{Page, Wanted},
    wire::{Memory, NewMemory, SavedMemory},
};

/// Most memories of a batch.
const MOST_IN_BATCH: usize = 1_000;

/// Saves one memory.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories", tag = "memories", request_body = NewMemory,
    params(("agent" = String, Path, description = "Its name or identifier")),
    responses((status = 201, body = SavedMemory), (status = "4XX", body = Problem)))]
pub(crate) async fn save(
    caller: Caller,
    Path(agent): Path<String>,
    Body(new): Body<NewMemory>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let saved = save_all(&reached, vec![new]).await?;
    let saved = saved.into_iter().next();
    let saved = saved.ok_or_else(|| Problem::invalid("there is nothing to save"))?;
    Ok((StatusCode::CREATED, axum::Json(saved)).into_response())
}

/// Memories to save together.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    /// 1 to 1,000.
    memories: Vec<NewMemory>,
}

/// Memories that were saved together.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SavedBatch {
    memories: Vec<SavedMemory>,
}

/// Saves up to 1,000 memories, all of them or none.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories/batch", tag = "memories", request_body = Batch,
    params(("agent" = String, Path, description = "Its name or identifier")),
    responses((status = 201, body = SavedBatch), (status = "4XX", body = Problem)))]
pub(crate) async fn save_batch(
    caller: Caller,
    Path(agent): Path<String>,
    Body(Batch { memories }): Body<Batch>,
) -> Result<Response, Problem> {
    let count = memories.len();
    if count == 0 || count > MOST_IN_BATCH {
        return Err(Problem::invalid(format!(
            "memories: has {count}; give 1 to {MOST_IN_BATCH}"
        )));
    }
    let reached = caller.reach(&agent).await?;
    let memories = save_all(&reached, memories).await?;
    Ok((StatusCode::CREATED, axum::Json(SavedBatch { memories })).into_response())
}

async fn save_all(reached: &Reached, new: Vec<NewMemory>) -> Result<Vec<SavedMemory>, Problem> {
    let sets_flag = new.iter().any(|memory| memory.constitutional == Some(true));
    if reached.eyes == Eyes::Agent && sets_flag {
        return Err(Problem::forbidden(
            "constitutional: only an administrator sets it when a memory is saved; in a session, `protect_memory` does",
        ));
    }
    let inputs: Vec<MemoryInput> = new.into_iter().map(MemoryInput::from).collect();
    let saved = reached.agent.save(&inputs, &reached.actor).await?;
    Ok(saved
        .into_iter()
        .map(SavedMemory::from)
        .map(|mut saved| {
            saved.memory = seen(saved.memory, reached.eyes);
            saved
        })
        .collect())
}

/// The memory as whoever asks may see it.
fn seen(memory: Memory, eyes: Eyes) -> Memory {
    match eyes {
        Eyes::Agent => memory,
        Eyes::Administrator => memory.blind(),
    }
}

/// Which memories.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// At most so many items, 1 to 200; 50 where it is left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Words and phrases: the best match first. For the agent itself.
    #[param(value_type = Option<String>)]
    q: Option<PrivateText>,
    /// `core` or `journal`.
    #[param(value_type = Option<String>, pattern = "^(core|journal)$")]
    kind: Option<Kind>,
    /// A tag, whatever the case. For the agent itself.
    #[param(value_type = Option<String>)]
    tag: Option<PrivateText>,
    /// Origin dates at this time or after.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Origin dates at this time or before.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// `discarded`: these too.
    #[param(pattern = "^discarded$")]
    include: Option<String>,
}

/// The kept memories by number, or those that match, best first.
#[utoipa::path(get, path = "/v1/agents/{agent}/memories", tag = "memories",
    params(("agent" = String, Path, description = "Its name or identifier"), Filter),
    responses((status = 200, body = Page<Memory>), (status = "4XX", body = Problem)))]
pub(crate) async fn list(
    caller: Caller,
    Path(agent): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let wanted = Wanted {
        limit: filter.limit,
        cursor: filter.cursor.clone(),
    };
    let limit = wanted.limit()?;
    let with_discarded = match filter.include.as_deref() {
        None => false,
        Some("discarded") => true,
        Some(_) => {
            return Err(Problem::invalid(
                "include: must be `discarded`, or be left out",
            ));
        }
    };
    let searches = filter.q.is_some() || filter.tag.is_some();
    if searches && reached.eyes == Eyes::Administrator {
        return Err(Problem::forbidden(
            "q and tag: to search by content is to read it; only the agent itself can",
        ));
    }
    let page = if searches {
        matches(&reached, &filter, &wanted, limit).await?
    } else {
        let page = MemoryPage {
            after: wanted.after()?.unwrap_or(0),
            limit: limit + 1,
            kind: filter.kind,
            since: filter.since,
            until: filter.until,
            with_discarded,
        };
        match reached.eyes {
            Eyes::Agent => {
                let memories = reached.agent.memory_page(&page).await?;
                Page::of(memories, limit, |memory| memory.number, Memory::from)
            }
            Eyes::Administrator => {
                let memories = reached.agent.blind_memory_page(&page).await?;
                Page::of(memories, limit, |memory| memory.number, Memory::from)
            }
        }
    };
    Ok(axum::Json(page).into_response())
}

/// Matches by rank: a cursor counts those that were seen.
async fn matches(
    reached: &Reached,
    filter: &Filter,
    wanted: &Wanted,
    limit: u32,
) -> Result<Page<Memory>, Problem> {
    let seen: usize = wanted.after()?.unwrap_or(0);
    let query = RecallQuery {
        text: filter.q.clone().unwrap_or_default(),
        since: filter.since,
        until: filter.until,
        kind: filter.kind,
        tag: filter.tag.clone(),
        limit: seen.saturating_add(limit as usize + 1),
    };
    let found = reached.agent.recall(&query).await?;
    let rest: Vec<_> = found.into_iter().skip(seen).collect();
    Ok(Page::of(
        rest,
        limit,
        |_| seen + limit as usize,
        Memory::from,
    ))
}

/// One memory, discarded or not.
#[utoipa::path(get, path = "/v1/agents/{agent}/memories/{number}", tag = "memories",
    params(("agent" = String, Path, description = "Its name or identifier"), ("number" = u64, Path)),
    responses((status = 200, body = Memory), (status = "4XX", body = Problem)))]
pub(crate) async fn show(
    caller: Caller,
    Path((agent, number)): Path<(String, u64)>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let number = Number(number);
    let memory = match reached.eyes {
        Eyes::Agent => Memory::from(reached.agent.memory(number).await?),
        Eyes::Administrator => Memory::from(reached.agent.blind_memory(number).await?),
    };
    Ok(with_etag(memory))
}

fn with_etag(memory: Memory) -> Response {
    ([(header::ETAG, memory.etag())], axum::Json(memory)).into_response()
}

/// Refuses where the memory is not any more what `If-Match` says.
async fn check_match(
    reached: &Reached,
    number: Number,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let Some(wanted) = headers.get(header::IF_MATCH) else {
        return Ok(());
    };
    let memory = Memory::from(reached.agent.blind_memory(number).await?);
    match wanted.to_str() {
        Ok(wanted) if wanted == "*" || wanted == memory.etag() => Ok(()),
        _ => Err(Problem::new(
            StatusCode::PRECONDITION_FAILED,
            "precondition_failed",
            "the memory was changed since; read it again",
        )),
    }
}

/// Makes a memory constitutional. Repeating it is no error.
#[utoipa::path(put, path = "/v1/agents/{agent}/memories/{number}/protection", tag = "memories",
    params(("agent" = String, Path, description = "Its name or identifier"), ("number" = u64, Path)),
    responses((status = 200, body = Memory), (status = "4XX", body = Problem)))]
pub(crate) async fn protect(
    caller: Caller,
    Path((agent, number)): Path<(String, u64)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    check_match(&reached, Number(number), &headers).await?;
    let memory = reached
        .agent
        .protect(Number(number), &reached.actor)
        .await?;
    Ok(with_etag(Memory::from(memory).blind()))
}

/// Takes the constitutional flag away. Repeating it is no error.
#[utoipa::path(delete, path = "/v1/agents/{agent}/memories/{number}/protection", tag = "memories",
    params(("agent" = String, Path, description = "Its name or identifier"), ("number" = u64, Path)),
    responses((status = 200, body = Memory), (status = "4XX", body = Problem)))]
pub(crate) async fn unprotect(
    caller: Caller,
    Path((agent, number)): Path<(String, u64)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    check_match(&reached, Number(number), &headers).await?;
    let memory = reached
        .agent
        .unprotect(Number(number), &reached.actor)
        .await?;
    Ok(with_etag(Memory::from(memory).blind()))
}

/// Gives one discarded memory back.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories/{number}/restore", tag = "time machine",
    params(("agent" = String, Path, description = "Its name or identifier"), ("number" = u64, Path)),
    responses((status = 200, body = Memory), (status = "4XX", body = Problem)))]
pub(crate) async fn restore(
    caller: Caller,
    Path((agent, number)): Path<(String, u64)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    check_match(&reached, Number(number), &headers).await?;
    let memory = reached
        .agent
        .restore(Number(number), &reached.actor)
        .await?;
    Ok(with_etag(Memory::from(memory).blind()))
}

/// Discards one memory; it is kept for restoring. A constitutional one is refused.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories/{number}/discard", tag = "memories",
    params(("agent" = String, Path, description = "Its name or identifier"), ("number" = u64, Path)),
    responses((status = 200, body = Memory), (status = "4XX", body = Problem)))]
pub(crate) async fn discard(
    caller: Caller,
    Path((agent, number)): Path<(String, u64)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let reached = caller.reach_managed(&agent).await?;
    check_match(&reached, Number(number), &headers).await?;
    let memory = reached
        .agent
        .discard(Number(number), &reached.actor)
        .await?;
    Ok(with_etag(Memory::from(memory).blind()))
}

/// Why words are taken out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shredding {
    /// 1 to 1,000 characters; not the words themselves.
    #[schema(value_type = String)]
    reason: PrivateText,
}

/// Takes the words of one memory out of everything, for good: at the agent's own wish.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories/{number}/shred", tag = "memories",
    request_body = Shredding,
    params(("agent" = String, Path, description = "Its name or identifier"), ("number" = u64, Path)),
    responses((status = 200, body = Memory), (status = "4XX", body = Problem)))]
pub(crate) async fn shred(
    caller: Caller,
    Path((agent, number)): Path<(String, u64)>,
    Body(Shredding { reason }): Body<Shredding>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    if reached.eyes == Eyes::Administrator {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "consent_required",
            "only the agent itself can have words taken out; an administrator needs its consent",
        ));
    }
    let shredded = reached
        .agent
        .shred(Number(number), reason.expose(), &reached.actor)
        .await?;
    Ok(with_etag(Memory::from(shredded.memory)))
}
