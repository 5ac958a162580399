//! `/v1/agents/{agent}/memories`

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use memoir_app::{
    Handling, MemoryFacts, MemoryInput, MemoryPage, Saved, ShownAccessRequest, ShownMemory,
    ShredWish, Shredded,
};
use memoir_domain::{
    PrivateText, Timestamp,
    access::{AccessDraft, AccessKind},
    memory::{Invalid, Kind, Number, parse_text},
    origin::{Origin, SavedBy},
    recall::{RecallQuery, SemanticStatus},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    Problem,
    caller::{Caller, Reached},
    extract::{Bounded, JsonBody, Nothing, Object, Path, UrlQuery, flag, number, number_of, read},
    matching::IfMatch,
    page::{Page, PageParameters},
    replies, schemas,
    wire::memory_etag,
};

/// The most memories of a batch.
// CONTRACT, REST.
const MOST_IN_BATCH: usize = 1_000;
/// The most characters of the reason for a shredding.
const MOST_OF_REASON: usize = 1_000;

/// Saves one memory.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories", tag = "memories", operation_id = "save_memory",
    request_body = MemoryInput, params(schemas::AgentPath),
    responses((status = 201, description = "The memory", body = Saved)))]
pub(crate) async fn save(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(new): JsonBody<MemoryInput>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let saved = save_all(&reached, vec![new]).await?;
    Ok((StatusCode::CREATED, axum::Json(saved.first())).into_response())
}

/// Memories to save together.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    /// 1 to 1,000.
    #[schema(value_type = Vec<MemoryInput>, min_items = 1, max_items = 1_000)]
    memories: Bounded<Object<MemoryInput>, MOST_IN_BATCH>,
}

/// Memories that were saved together.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SavedBatch {
    memories: Vec<Saved>,
}

/// Saves up to 1,000 memories, all of them or none, in their order.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories/batch", tag = "memories", operation_id = "save_memories",
    request_body = Batch, params(schemas::AgentPath),
    responses((status = 201, description = "The memories, in their order", body = SavedBatch)))]
pub(crate) async fn save_batch(
    caller: Caller,
    Path(agent): Path<String>,
    JsonBody(Batch { memories }): JsonBody<Batch>,
) -> Result<Response, Problem> {
    let count = memories.given;
    if count == 0 || count > MOST_IN_BATCH {
        return Err(Problem::invalid(format!(
            "memories: has {count}; give 1 to {MOST_IN_BATCH}"
        )));
    }
    let reached = caller.reach(&agent).await?;
    let memories = memories.items.into_iter();
    let memories = memories.map(|Object(new)| new).collect();
    let memories = save_all(&reached, memories).await?;
    Ok((StatusCode::CREATED, axum::Json(SavedBatch { memories })).into_response())
}

/// The response to a request that saved those memories before: as a batch, or one alone.
pub(super) async fn saved_before(
    caller: &Caller,
    agent: &str,
    saved: &[Number],
    is_batch: bool,
) -> Result<Response, Problem> {
    let Reached { agent, actor, .. } = &caller.reach(agent).await?;
    let memories = agent.memories().saved_before(saved, actor).await?;
    let response = match is_batch {
        true => axum::Json(SavedBatch { memories }).into_response(),
        false => axum::Json(memories.first()).into_response(),
    };
    Ok((StatusCode::CREATED, response).into_response())
}

/// The response to a request that acted on that memory before.
pub(super) async fn handled_before(
    caller: &Caller,
    agent: &str,
    number: Number,
) -> Result<Response, Problem> {
    let Reached { agent, actor, .. } = &caller.reach(agent).await?;
    let shown = agent.memories().answered(&[number], actor).await?.pop();
    // Not reached: one memory is asked for.
    let shown = shown.ok_or_else(|| Problem::not_found(format!("there is no memory {number}")))?;
    Ok(with_etag(shown))
}

async fn save_all(reached: &Reached, inputs: Vec<MemoryInput>) -> Result<Vec<Saved>, Problem> {
    let sets_flag = inputs.iter().any(|memory| memory.constitutional);
    // Here, where the caller is known: the use case accepts all settings of an administrator.
    if reached.is_own() && sets_flag {
        return Err(Problem::forbidden(
            "constitutional: only an administrator sets it when a memory is saved; in a session, `protect_memory` does",
        ));
    }
    // A single memory has no place to name.
    if let [_, _, ..] = inputs.as_slice() {
        let saved_by = SavedBy::of(reached.actor.kind);
        check_each(&inputs, saved_by, reached.agent.now())?;
    }
    let memories = reached.agent.memories();
    Ok(memories.save(&inputs, &reached.actor).await?)
}

/// Names the faulty one among several.
fn check_each(inputs: &[MemoryInput], saved_by: SavedBy, now: Timestamp) -> Result<(), Problem> {
    for (place, input) in inputs.iter().enumerate() {
        if let Err(mut invalid) = input.check(saved_by, now) {
            invalid.problem = format!("{} (memories[{place}])", invalid.problem);
            return Err(memoir_app::Error::from(invalid).into());
        }
    }
    Ok(())
}

/// Most characters of a question: in the head of a request each takes up to twelve bytes, and the head holds 64 KiB.
const LONGEST_QUESTION: usize = 5_000;

/// The filter of the memories.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct MemoriesFilter {
    /// Words or a whole question, in any script: the best match first. A phrase in double quotes must occur. For the agent itself, or under an access grant.
    #[param(value_type = Option<String>, max_length = 5_000)]
    q: Option<PrivateText>,
    /// `true`: each memory reports why it was found. Beside `q` or `tag`.
    #[param(value_type = Option<bool>)]
    explain: Option<String>,
    /// One kind; all active kinds where it is left out.
    #[param(inline, value_type = Option<schemas::Kind>)]
    kind: Option<String>,
    /// A tag, regardless of case. For the agent itself, or under an access grant.
    #[param(value_type = Option<String>)]
    tag: Option<PrivateText>,
    /// One origin; that of a summary is the weakest of its sources.
    #[param(inline, value_type = Option<schemas::Origin>)]
    origin: Option<String>,
    /// Origin dates at this time or after.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<String>,
    /// Origin dates at this time or before; a date alone means the whole of that day.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<String>,
    /// `true` for constitutional memories only, `false` for others only. Not beside `q` or `tag`.
    #[param(value_type = Option<bool>)]
    protected: Option<String>,
    /// `true` for journal entries only that have expired from the prompt, `false` for all others. Not beside `q` or
    /// `tag`.
    #[param(value_type = Option<bool>)]
    faded: Option<String>,
    /// The number of a memory: only archival memories directly under it. Not beside `q` or `tag`.
    #[param(value_type = Option<u64>, minimum = 1)]
    under: Option<String>,
    /// `discarded`: these too.
    #[param(inline, value_type = Option<schemas::Included>)]
    include: Option<String>,
}

struct Selected {
    query: RecallQuery,
    /// Whether memories are searched by their content, which counts as reading it.
    searches: bool,
    with_discarded: bool,
    faded: Option<bool>,
    under: Option<Number>,
    explain: bool,
}

impl MemoriesFilter {
    fn read(self) -> Result<Selected, Problem> {
        let under = number_of("under", self.under.as_deref())?;
        let included = |name: &str| match name {
            "discarded" => Ok(true),
            _ => Err("must be `discarded`, or be left out"),
        };
        let kind = |name: &str| name.parse::<Kind>().map_err(|invalid| invalid.problem);
        let origin = |name: &str| {
            let known = "must be `agent`, `administrator`, `conversation`, `import` or `external`";
            Origin::from_name(name).ok_or(known)
        };
        let searches = self.q.is_some() || self.tag.is_some();
        let mut query = RecallQuery {
            kind: read("kind", self.kind.as_deref(), kind)?,
            origin: read("origin", self.origin.as_deref(), origin)?,
            since: read("since", self.since.as_deref(), str::parse)?,
            until: read("until", self.until.as_deref(), Timestamp::parse_until)?,
            text: self.q.unwrap_or_default(),
            tag: self.tag,
            ..RecallQuery::default()
        };
        let with_discarded = read("include", self.include.as_deref(), included)?.unwrap_or(false);
        query.protected = flag("protected", self.protected.as_deref())?;
        let selected = Selected {
            query,
            searches,
            with_discarded,
            faded: flag("faded", self.faded.as_deref())?,
            under,
            explain: flag("explain", self.explain.as_deref())?.unwrap_or(false),
        };
        Invalid::check_range(selected.query.since, selected.query.until)
            .map_err(|invalid| Problem::invalid(invalid.to_string()))?;
        let length = selected.query.text.chars();
        if length > LONGEST_QUESTION {
            return Err(Problem::invalid(format!(
                "q: is {length} characters long, and the limit is {LONGEST_QUESTION}; shorten it"
            )));
        }
        let narrows = selected.query.protected.is_some() || selected.faded.is_some();
        if searches && (narrows || selected.under.is_some()) {
            return Err(Problem::invalid(
                "protected, faded, under: narrow the list by number; leave out `q` and `tag`, or these three",
            ));
        }
        if selected.explain && !searches {
            return Err(Problem::invalid(
                "explain: reports why a memory was found; give `q` or `tag`, or leave it out",
            ));
        }
        Ok(selected)
    }
}

/// One page of memories.
#[derive(Serialize, ToSchema)]
#[schema(as = MemoryPage)]
pub(crate) struct FoundPage {
    #[serde(flatten)]
    page: Page<ShownMemory>,
    /// Whether memories were searched by meaning too; left out where no model of embeddings is configured, and where
    /// the query has no meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schemas::Meaning>)]
    meaning: Option<SemanticStatus>,
}

/// The active memories by number, or those that match, best first.
#[utoipa::path(get, path = "/v1/agents/{agent}/memories", tag = "memories", operation_id = "list_memories",
    params(schemas::AgentPath, PageParameters, MemoriesFilter),
    responses((status = 200, description = "One page", body = FoundPage)))]
pub(crate) async fn list(
    caller: Caller,
    Path(agent): Path<String>,
    UrlQuery(parameters): UrlQuery<PageParameters>,
    UrlQuery(filter): UrlQuery<MemoriesFilter>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let selected = filter.read()?;
    let page = if selected.searches {
        matches(&reached, &parameters, selected).await?
    } else {
        let page = by_number(&reached, &parameters, &selected).await?;
        FoundPage {
            page,
            meaning: None,
        }
    };
    Ok(axum::Json(page).into_response())
}

async fn by_number(
    reached: &Reached,
    parameters: &PageParameters,
    selected: &Selected,
) -> Result<Page<ShownMemory>, Problem> {
    let after: u64 = parameters.after()?.unwrap_or(0);
    let page = MemoryPage {
        // A cursor comes back from the client.
        after: after.min(i64::MAX as u64),
        limit: parameters.limit()?,
        kind: selected.query.kind,
        since: selected.query.since,
        until: selected.query.until,
        with_discarded: selected.with_discarded,
        protected: selected.query.protected,
        expired: selected
            .faded
            .map(|is_expired| reached.agent.views().expired(is_expired)),
        under: selected.under,
    };
    let origin = selected.query.origin;
    let is_wanted = |memory: &MemoryFacts| origin.is_none_or(|origin| memory.origin == origin);
    let (found, has_more) = reached.lens().memory_page(&page, is_wanted).await?;
    Ok(Page::cut(found, has_more, |memory| memory.number))
}

/// Matches by rank: a cursor holds the number of those seen, and the last of them.
async fn matches(
    reached: &Reached,
    parameters: &PageParameters,
    selected: Selected,
) -> Result<FoundPage, Problem> {
    let limit = parameters.limit()?;
    let query = RecallQuery {
        limit: limit as usize + 1,
        ..selected.query
    };
    let (after, with_discarded) = (parameters.after()?, selected.with_discarded);
    let lens = reached.lens();
    let answer = lens.recall_page(&query, after, with_discarded).await?;
    let page = Page::of(answer.found, limit, |(found, _)| found.place());
    Ok(FoundPage {
        page: page.map(|(found, memory)| memory.explained(found, selected.explain)),
        meaning: answer.meaning,
    })
}

/// One memory, discarded or not.
#[utoipa::path(get, path = "/v1/agents/{agent}/memories/{number}", tag = "memories", operation_id = "get_memory",
    params(schemas::MemoryPath),
    responses((status = 200, description = "The memory", body = ShownMemory, headers(("ETag" = String)))))]
pub(crate) async fn show(
    caller: Caller,
    Path((agent, number)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let number = self::number(&number)?;
    Ok(with_etag(reached.lens().memory(number).await?))
}

fn with_etag(memory: ShownMemory) -> Response {
    let etag = [(header::ETAG, memory_etag(&memory))];
    (etag, axum::Json(memory)).into_response()
}

/// Acts on one memory where `If-Match` still holds.
async fn handle(
    reached: &Reached,
    number: &str,
    handling: Handling,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let number = self::number(number)?;
    let expected = IfMatch::of(headers)?;
    let views = reached.agent.views();
    let agent = views.where_memory(number, move |now| is_expected(&expected, now));
    let memories = agent.memories();
    let memory = memories.handle(number, handling, &reached.actor).await?;
    Ok(with_etag(memory))
}

fn is_expected(expected: &IfMatch, now: &MemoryFacts) -> bool {
    expected.admits(|| memory_etag(now))
}

macro_rules! handling_route {
    ($(#[$doc:meta])* $method:ident $path:literal, $tag:literal, $id:literal,
     $name:ident = $reach:ident, $handling:ident) => {
        $(#[$doc])*
        #[utoipa::path($method, path = $path, tag = $tag, operation_id = $id,
            params(schemas::MemoryPath, IfMatch),
            responses((status = 200, description = "The memory", body = ShownMemory, headers(("ETag" = String)))))]
        pub(crate) async fn $name(
            caller: Caller,
            Path((agent, number)): Path<(String, String)>,
            headers: HeaderMap,
            JsonBody(Nothing {}): JsonBody<Nothing>,
        ) -> Result<Response, Problem> {
            let reached = caller.$reach(&agent).await?;
            handle(&reached, &number, Handling::$handling, &headers).await
        }
    };
}

handling_route! {
    /// Makes a memory constitutional. Repeating it is no error, and on the record.
    put "/v1/agents/{agent}/memories/{number}/protection", "memories", "protect_memory",
    protect = reach_managed, Protect
}

handling_route! {
    /// Removes the constitutional flag. Repeating it is no error, and on the record.
    delete "/v1/agents/{agent}/memories/{number}/protection", "memories", "unprotect_memory",
    unprotect = reach_managed, Unprotect
}

handling_route! {
    /// Restores one discarded memory. A discarded summary returns only where what discarded it is undone. Repeating it is
    /// no error, and on the record.
    post "/v1/agents/{agent}/memories/{number}/restore", "time machine", "restore_memory",
    restore = reach_managed, Restore
}

handling_route! {
    /// Discards one memory; it can be restored. A constitutional one is refused. The memories that it replaced stay in the
    /// archive: `sources` lists them. Repeating it is no error, and on the record.
    post "/v1/agents/{agent}/memories/{number}/discard", "memories", "discard_memory",
    discard = reach_managed, Discard
}

handling_route! {
    /// Makes an archival memory core again. `under` and `archived_at` become null; origin, tags and date stay. A summary
    /// that loses its last source by it is discarded.
    post "/v1/agents/{agent}/memories/{number}/promote", "memories", "promote_memory",
    promote = reach, Promote
}

/// Why text is shredded.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shredding {
    /// 1 to 1,000 characters; not the text itself.
    #[schema(value_type = String, min_length = 1, max_length = 1_000, example = "a key was pasted")]
    reason: PrivateText,
    /// Whether its copies, the texts that sessions ever wrote over it, and the reports that mention them are shredded
    /// too. Only the agent learns which these are.
    #[serde(default, deserialize_with = "memoir_app::optional_or_default")]
    derived: bool,
}

/// Removes the text of one memory permanently from everywhere. A request of an administrator needs the agent's consent.
#[utoipa::path(post, path = "/v1/agents/{agent}/memories/{number}/shred", tag = "memories",
    operation_id = "shred_memory", request_body = Shredding,
    params(schemas::MemoryPath, IfMatch),
    responses(
        (status = 200, description = "What is left of it", body = Shredded, headers(("ETag" = String))),
        (status = 202, description = "Of an administrator: the agent is asked, and nothing is shredded without its consent", body = ShownAccessRequest)))]
pub(crate) async fn shred(
    caller: Caller,
    Path((agent, number)): Path<(String, String)>,
    headers: HeaderMap,
    JsonBody(Shredding { reason, derived }): JsonBody<Shredding>,
) -> Result<Response, Problem> {
    let reached = caller.reach(&agent).await?;
    let number = self::number(&number)?;
    let expected = IfMatch::of(&headers)?;
    if !reached.is_own() {
        return ask_to_shred(&reached, (number, derived), &expected, reason).await;
    }
    let wish = ShredWish {
        number,
        reason: reason.expose(),
        derived,
    };
    let views = reached.agent.views();
    let agent = views.where_memory(number, move |now| is_expected(&expected, now));
    let shredded = agent.memories().shred(wish, &reached.actor).await?;
    let etag = [(header::ETAG, memory_etag(&shredded.memory))];
    Ok(replies::wordless(
        (etag, axum::Json(shredded)).into_response(),
    ))
}

async fn ask_to_shred(
    reached: &Reached,
    (number, derived): (Number, bool),
    expected: &IfMatch,
    reason: PrivateText,
) -> Result<Response, Problem> {
    // Read before the decision, not in it: the request is written, and the agent decides on the memory's state then.
    let now = reached.agent.views().memory(number).await?;
    if !is_expected(expected, &now) {
        return Err(memoir_app::Error::Changed.into());
    }
    // The agent reads it as the purpose.
    let purpose = parse_text("reason", reason.expose(), MOST_OF_REASON);
    let draft = AccessDraft {
        kind: AccessKind::Shred { number, derived },
        purpose: purpose.map_err(memoir_app::Error::from)?,
    };
    let grants = reached.agent.grants();
    let request = grants.request_access(&draft, &reached.actor).await?;
    let shown = ShownAccessRequest::from(request);
    Ok((StatusCode::ACCEPTED, axum::Json(shown)).into_response())
}
