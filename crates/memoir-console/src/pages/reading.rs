//! `/access/{request}/…`: the text that a grant covers, under a banner with visitor, scope and purpose (SPEC 5.2).
//!
//! Only these pages and the personal page (`own`) show an agent's text. It comes from an [`AgentLens`] under that one
//! grant, which records each read before it returns anything. A page whose grant ended meanwhile is not sent.
//!
//! In the open page its script (`assets/access.js`) removes the text at the end. It counts the remaining time from the
//! server since the page's request, by two clocks of the browser. It asks for the state every three seconds, and hides
//! the text after ten without a response. A page that is left keeps no text, and is loaded again on return. Without
//! scripts a `Refresh` header redirects the browser a second before the end.

use axum::extract::Path;
use maud::{Markup, html};
use memoir_app::{
    AgentLens, MemoryPage, RecordFilter, ShownAgent, ShownMemory, ShownRecord, ShownSession,
    Viewer, sessions::RehearsedMemory,
};
use memoir_domain::{
    access::AccessScopeName,
    agent::Field,
    memory::{Kind, Number},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    access_request::{ShownRequest, refreshing},
    audit::facts,
    memories,
    settings::{fields::label, setting, setting_value},
};
use crate::{
    answer::{EarlyResponse, EarlyResult, PageFailure, see_other},
    assets::PageScript,
    browser::Visitor,
    form::{self, PageQuery},
    parts::{self, ConsoleSection, FramedPage},
    words,
};

const AT_ONCE: u32 = 25;

/// A visitor with a live grant.
struct AuthorizedRead {
    shown_request: ShownRequest,
    viewer: Viewer,
}

/// The parts of the scope `all`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadingPart {
    Memories,
    Sessions,
    Records,
    Prompts,
}

impl ReadingPart {
    /// Whether a grant of that scope covers it.
    fn is_in(self, scope: AccessScopeName) -> bool {
        match self {
            Self::Memories => scope != AccessScopeName::Session,
            Self::Sessions | Self::Records | Self::Prompts => scope == AccessScopeName::All,
        }
    }
}

impl AuthorizedRead {
    /// Under that grant, where it is the visitor's and covers the page; else a redirect to the page with its state.
    async fn begin(
        visitor: Visitor,
        request: &str,
        covers: impl Fn(&ShownRequest) -> bool,
    ) -> Result<Self, EarlyResponse> {
        let shown_request = ShownRequest::find(visitor, request).await?;
        // For the redirect only: the lens refuses reads without a grant.
        if !(shown_request.is_own() && shown_request.is_granted() && covers(&shown_request)) {
            return Err(EarlyResponse(see_other(&shown_request.path())));
        }
        let viewer = shown_request.visitor.viewer();
        let viewer = viewer.under(shown_request.request.id);
        Ok(Self {
            shown_request,
            viewer,
        })
    }

    /// The agent, under that grant alone.
    fn lens(&self) -> AgentLens<'_> {
        let views = self.shown_request.agent.views();
        views.seen_by(self.viewer.clone())
    }

    async fn at(visitor: Visitor, request: &str, part: ReadingPart) -> Result<Self, EarlyResponse> {
        let covers = |shown_request: &ShownRequest| {
            let scope = shown_request.request.scope;
            scope.is_some_and(|scope| part.is_in(scope))
        };
        Self::begin(visitor, request, covers).await
    }

    /// The page with the text. None of it is sent where the grant ended meanwhile.
    async fn show(mut self, heading: &str, part: Option<ReadingPart>, read: Markup) -> EarlyResult {
        // Since the text was read, the agent may have revoked the grant.
        self.shown_request.look_again().await?;
        let path = self.shown_request.path();
        if !self.shown_request.is_granted() {
            return Ok(see_other(&path));
        }
        let left = self.shown_request.seconds_left();
        let content = html! {
            p.crumb { a href=(path) { "The request" } }
            h1 { (heading) }
            // `access.js` fills these in: why the page closed, that the service is not reachable, and the text for
            // screen readers.
            div #closed role="alert" tabindex="-1" {}
            p #out-of-reach .problem role="status" hidden {}
            p #left-aloud .hidden role="status" {}
            div #words data-left=(left) data-state={ (path) "/state" } data-back=(path) {
                @if self.shown_request.request.scope == Some(AccessScopeName::All) { (tabs(&path, part)) }
                (read)
            }
        };
        let shown = FramedPage::new(&self.shown_request.visitor, heading, ConsoleSection::Fleet)
            .scripts(&[PageScript::Access])
            .reading(&banner(&self.shown_request))
            .show(content);
        // A browser begins to count when it has read the page, a moment later.
        Ok(refreshing(shown, Some(left.saturating_sub(1)), &path))
    }
}

/// Visitor, scope, purpose and end.
fn banner(shown_request: &ShownRequest) -> Markup {
    let request = &shown_request.request;
    let what = match request.scope {
        Some(AccessScopeName::Core) => "the core memories",
        Some(AccessScopeName::Session) => "one session",
        Some(AccessScopeName::All) | None => "all memories, records and prompts",
    };
    html! {
        aside #banner .banner aria-label="Access" {
            div {
                p { "You, " strong { (shown_request.visitor.user.name) } ", are looking at " (what) " of "
                    strong { (shown_request.agent.name()) } "." }
                p.why { "Purpose: " span.said.cut dir="auto" { (request.purpose.expose()) } }
            }
            p.closing { "Closes at "
                time datetime=(request.expires_at) { (words::time_of_day(request.expires_at)) }
                span #left .clock role="timer" aria-label="Time left" {} }
            (parts::button(&shown_request.visitor, &format!("{}/revoke", shown_request.path()), "Stop looking", "Stop looking", ""))
        }
    }
}

fn tabs(path: &str, part: Option<ReadingPart>) -> Markup {
    let tabs = [
        (ReadingPart::Memories, "Memories", "memories"),
        (ReadingPart::Sessions, "Sessions", "sessions"),
        (ReadingPart::Records, "Records", "records"),
        (ReadingPart::Prompts, "Prompts", "prompts"),
    ];
    html! {
        nav.tabs aria-label="To read" {
            @for (own, text, place) in tabs {
                a href={ (path) "/" (place) } aria-current=[(Some(own) == part).then_some("page")] { (text) }
            }
        }
    }
}

/// Text of an agent, unchanged.
pub(super) fn said(text: &str) -> Markup {
    html! { div.said dir="auto" { (text) } }
}

#[derive(Deserialize)]
pub(crate) struct ReadingQuery {
    /// The number of the last memory of the page before, or the place of its last record.
    #[serde(default)]
    after: u64,
    kind: Option<String>,
    /// `yes` for discarded ones too.
    discarded: Option<String>,
    /// The last session of the page before: its time in microseconds and its identifier.
    at: Option<i64>,
    session: Option<String>,
}

impl ReadingQuery {
    /// The filter of the memories; a grant of the core memories has only one.
    fn page(&self, scope: Option<AccessScopeName>) -> Result<MemoryPage, PageFailure> {
        // A grant of the core covers only the core, whatever the address asks for.
        let all = scope == Some(AccessScopeName::All);
        let kind = match all {
            true => memories::kind(self.kind.as_deref())?,
            false => Some(Kind::Core),
        };
        Ok(MemoryPage {
            after: self.after,
            limit: AT_ONCE,
            kind,
            with_discarded: all && self.with_discarded(),
            ..MemoryPage::default()
        })
    }

    fn with_discarded(&self) -> bool {
        self.discarded.as_deref() == Some("yes")
    }

    fn address(&self, path: &str, after: u64) -> String {
        form::address(
            path,
            &[
                ("after", &form::after(after)),
                ("kind", self.kind.as_deref().unwrap_or_default()),
                ("discarded", self.discarded.as_deref().unwrap_or_default()),
            ],
        )
    }
}

pub(crate) async fn memories(
    visitor: Visitor,
    Path(request): Path<String>,
    PageQuery(query): PageQuery<ReadingQuery>,
) -> EarlyResult {
    let look = AuthorizedRead::at(visitor, &request, ReadingPart::Memories).await?;
    let page = query.page(look.shown_request.request.scope)?;
    let (mut memories, has_more) = look.lens().memory_page(&page, |_| true).await?;
    let path = format!("{}/memories", look.shown_request.path());
    let last = memories.last().filter(|_| has_more);
    let next = last.map(|last| query.address(&path, last.number.0));
    // Memories outside of the grant come without text, and are not shown.
    memories.retain(|memory| memory.words.is_some());
    let first = query.address(&path, 0);
    let read = html! {
        @if look.shown_request.request.scope == Some(AccessScopeName::All) { (memories::filter(query.kind.as_deref(), None, query.with_discarded(), &path)) }
        @if memories.is_empty() { p.empty { "No memories here." } }
        @for memory in &memories {
            article.memory aria-labelledby={ "memory-" (memory.number.0) } { (memory_words(memory, "h2", None)) }
        }
        (parts::further((query.after > 0).then_some(first.as_str()), next.as_deref()))
    };
    let heading = format!("Memories of {}", look.shown_request.agent.name());
    look.show(&heading, Some(ReadingPart::Memories), read).await
}

/// A memory with its text. `path` is that of its agent's memories, for links to each; `None` where there are no pages of
/// theirs.
pub(super) fn memory_words(memory: &ShownMemory, heading: &str, path: Option<&str>) -> Markup {
    let id = format!("memory-{}", memory.number.0);
    let title = numbers(&[memory.number], path);
    html! {
        header {
            @if heading == "h2" { h2 id=(id) { (title) } } @else { h3 id=(id) { (title) } }
            (memory_badges(memory))
            span.of { (parts::time(memory.created_at)) ", " (words::counted(memory.tokens, "token", "tokens")) }
        }
        (said(memory.content()))
        (tags(memory.tags()))
        (memory_links(memory, path))
    }
}

/// The kind of a memory, and its flags.
pub(super) fn memory_badges(memory: &ShownMemory) -> Markup {
    html! {
        span.badge.plain { (memory.kind.as_str()) }
        @if memory.constitutional { span.badge.good { "constitutional" } }
        @if memory.shredded_at.is_some() { span.badge.bad { "shredded" } }
        @else if memory.discarded_at.is_some() { span.badge.plain { "discarded" } }
    }
}

/// Where a memory is in the archive, what is under it, and where its text came from.
pub(super) fn memory_links(memory: &ShownMemory, path: Option<&str>) -> Markup {
    html! {
        @if let Some(at) = memory.archived_at {
            p.of { "Archived " (parts::time(at))
                @if let Some(under) = memory.under { ", under " (numbers(&[under], path)) } }
        }
        @if !memory.sources.is_empty() {
            p.of { @if memory.is_summary { "Summary of " } @else { "Took the place of " } (numbers(&memory.sources, path)) }
        }
        @if memory.origin.weakness() > 0 { p.of { "Origin: " (memory.origin.as_str()) } }
        @if let Some(source) = memory.source() { p.of { "From: " bdi { (source.expose()) } } }
    }
}

/// Numbers of memories, with commas; links below `path`.
pub(super) fn numbers(numbers: &[Number], path: Option<&str>) -> Markup {
    html! {
        @for (place, number) in numbers.iter().enumerate() {
            @if place > 0 { ", " }
            @match path {
                Some(path) => a href={ (path) "/" (number.0) } { (number) },
                None => (number),
            }
        }
    }
}

pub(super) fn tags<'a>(tags: impl Iterator<Item = &'a str>) -> Markup {
    let tags: Vec<&str> = tags.collect();
    html! {
        @if !tags.is_empty() {
            ul.tags aria-label="Tags" { @for tag in tags { li { bdi { (tag) } } } }
        }
    }
}

pub(crate) async fn sessions(
    visitor: Visitor,
    Path(request): Path<String>,
    PageQuery(query): PageQuery<ReadingQuery>,
) -> EarlyResult {
    let look = AuthorizedRead::at(visitor, &request, ReadingPart::Sessions).await?;
    let before = form::place(query.at, query.session.as_deref())?;
    // Without text, which is on the pages of the sessions.
    let agent = &look.shown_request.agent;
    let mut sessions = agent.views().session_page(before, AT_ONCE + 1).await?;
    let path = format!("{}/sessions", look.shown_request.path());
    let next = form::cut(&mut sessions, AT_ONCE as usize).map(|last| {
        let at = last.started_at.microseconds().to_string();
        form::address(&path, &[("at", &at), ("session", &last.id.to_string())])
    });
    let read = html! {
        @if sessions.is_empty() { p.empty { "There were no sessions yet." } }
        ul.plain {
            @for session in &sessions {
                li { a href={ (path) "/" (session.id) } { "Session of " (parts::time(session.started_at)) }
                    " " (parts::state(session)) }
            }
        }
        (parts::older(before.is_some().then_some(path.as_str()), next.as_deref()))
    };
    let heading = format!("Sessions of {}", look.shown_request.agent.name());
    look.show(&heading, Some(ReadingPart::Sessions), read).await
}

pub(crate) async fn session(
    visitor: Visitor,
    Path((request, session)): Path<(String, String)>,
    PageQuery(query): PageQuery<ReadingQuery>,
) -> EarlyResult {
    let covers = |shown_request: &ShownRequest| {
        // Identifiers are compared as texts, since the address may hold any text.
        let own = shown_request.request.session_id.map(|id| id.to_string());
        shown_request.request.scope == Some(AccessScopeName::All)
            || own.as_deref() == Some(session.as_str())
    };
    let look = AuthorizedRead::begin(visitor, &request, covers).await?;
    let agent = &look.shown_request.agent;
    // `own_session_id` fails where the session in the address is of another agent.
    let id = agent.settings().own_session_id(&session).await?;
    let session = match query.after {
        0 => look.lens().session(id).await?,
        _ => agent.views().session(id).await?.into(),
    };
    let filter = RecordFilter::of_session(id);
    let path = format!("{}/sessions/{id}", look.shown_request.path());
    let records = records_after(&look, &filter, &query, &path).await?;
    let read = html! {
        p { a href={ "/sessions/" (id) } { "The session without text" } }
        // Only the first page shows the session's own text; later pages continue the records.
        @if query.after == 0 { (session_words(&session)) }
        section aria-labelledby="records" {
            h2 #records { "What it changed" }
            (records)
        }
    };
    let heading = format!(
        "Session of {}, {}",
        look.shown_request.agent.name(),
        words::minute(session.started_at)
    );
    look.show(&heading, None, read).await
}

fn session_words(session: &ShownSession) -> Markup {
    let changes = session.words.changes.as_deref().unwrap_or_default();
    html! {
        p { (parts::state(session)) }
        @if let Some(summary) = &session.words.summary { h2 { "Report" } (said(summary.expose())) }
        @if let Some(reason) = &session.words.reason { h2 { "Reason" } (said(reason.expose())) }
        @if !changes.is_empty() {
            section aria-labelledby="rehearsed" {
                h2 #rehearsed { "What the rehearsal would change" }
                @for change in changes { article.record { (rehearsed(change)) } }
            }
        }
    }
}

pub(super) fn rehearsed(change: &RehearsedMemory) -> Markup {
    let side = |memory: &ShownMemory| {
        html! {
            @if memory.discarded_at.is_some() { span.none { "discarded" } }
            @else if memory.kind == Kind::Archival { span.none { "in the archive" } (said(memory.content())) }
            @else { (said(memory.content())) (tags(memory.tags())) }
        }
    };
    html! {
        header { h3 { "Memory #" (change.number.0) } }
        (sides(change.before.as_ref().map(side), Some(side(&change.after))))
    }
}

fn sides(before: Option<Markup>, after: Option<Markup>) -> Markup {
    let nothing = || html! { span.none { "nothing" } };
    html! {
        div.sides {
            div { h4 { "Before" } (before.unwrap_or_else(nothing)) }
            div { h4 { "After" } (after.unwrap_or_else(nothing)) }
        }
    }
}

pub(crate) async fn records(
    visitor: Visitor,
    Path(request): Path<String>,
    PageQuery(query): PageQuery<ReadingQuery>,
) -> EarlyResult {
    let look = AuthorizedRead::at(visitor, &request, ReadingPart::Records).await?;
    let path = format!("{}/records", look.shown_request.path());
    let records = records_after(&look, &RecordFilter::default(), &query, &path).await?;
    let read = html! { h2.hidden { "Records, the oldest first" } (records) };
    let heading = format!("Records of {}", look.shown_request.agent.name());
    look.show(&heading, Some(ReadingPart::Records), read).await
}

/// One page of records with their text, oldest first.
async fn records_after(
    look: &AuthorizedRead,
    filter: &RecordFilter,
    query: &ReadingQuery,
    path: &str,
) -> Result<Markup, PageFailure> {
    // Places are kept as signed numbers, and an address may hold any.
    let from = query.after.saturating_add(1).min(i64::MAX as u64);
    let lens = look.lens();
    let (records, has_more) = lens.record_page(filter, from, AT_ONCE).await?;
    let next = records.last().filter(|_| has_more);
    let next = next.map(|last| form::address(path, &[("after", &last.seq.to_string())]));
    Ok(html! {
        @if records.is_empty() { p.empty { "Nothing is on the record." } }
        @for record in &records { article.record { (record_words(record, "/sessions")) } }
        (parts::further((query.after > 0).then_some(path), next.as_deref()))
    })
}

/// Not listed with the counts and codes of a record: its text, which is shown beside them, and what is of no use here.
const NOT_LISTED: [&str; 5] = [
    "summary",
    "reason_text",
    "merged",
    "request",
    "core_tokens_after",
];

/// A record with its text. `sessions` is the path below which the pages of sessions are.
pub(super) fn record_words(record: &ShownRecord, sessions: &str) -> Markup {
    let data = record.words.data.expose();
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    let list = |name: &str| data.get(name).and_then(Value::as_array);
    html! {
        header {
            h3 { (record.action.label()) }
            span.of { "record " (record.seq) ", "
                (parts::second(record.recorded_at))
                @if let Some(Number(number)) = record.memory { ", memory #" (number) } }
        }
        @if record.words.before.is_some() || record.words.after.is_some() {
            (sides(
                record.words.before.as_ref().map(|side| side_words(side.expose())),
                record.words.after.as_ref().map(|side| side_words(side.expose())),
            ))
        }
        @for (name, label) in [("summary", "Report"), ("reason_text", "Reason")] {
            @if let Some(text) = text(name) { h4 { (label) } (said(text)) }
        }
        @if let Some(merged) = list("merged") {
            h4 { "What was merged" }
            @for memory in merged {
                div.merged { span.of { "#" (memory.get("number").and_then(Value::as_u64).unwrap_or(0)) }
                    (said(memory.get("content").and_then(Value::as_str).unwrap_or_default())) }
            }
        }
        @if let Some(data) = data.as_object() { (facts(data, &NOT_LISTED, sessions)) }
    }
}

/// One side of a change: a memory, or settings by their names.
fn side_words(side: &Value) -> Markup {
    html! {
        // Only a memory has `content`: no setting has this name.
        @if let Some(content) = side.get("content").and_then(Value::as_str) {
            (said(content))
            (tags(side.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)))
        } @else {
            @for (name, value) in side.as_object().into_iter().flatten() {
                h5 { (setting(name)) }
                (said(&setting_value(name, value)))
            }
        }
    }
}

pub(crate) async fn prompts(visitor: Visitor, Path(request): Path<String>) -> EarlyResult {
    let look = AuthorizedRead::at(visitor, &request, ReadingPart::Prompts).await?;
    let view = look.lens().show().await?;
    let heading = format!("Prompts of {}", look.shown_request.agent.name());
    let read = prompt_words(&view);
    look.show(&heading, Some(ReadingPart::Prompts), read).await
}

fn prompt_words(agent: &ShownAgent) -> Markup {
    html! {
        @for field in Field::ALL.into_iter().filter(|field| field.is_text()) {
            h2 { (label(field)) }
            @match agent.setting(field).and_then(Value::as_str) {
                Some(text) => (said(text)),
                None => p.none { "The default." },
            }
        }
    }
}
