//! `/activity`: the records of all agents in one list, without text, to be filtered and saved as a file; the
//! verification of all agents; and the last response of each model's provider.

use axum::{
    BoxError,
    body::Body,
    extract::{Path, State},
    http::{StatusCode, header},
    response::IntoResponse,
};
use futures_util::stream;
use maud::{Markup, html};
use memoir_app::{
    Account, AgentHandle, Error, ModelCallResult, NamedLog, ProviderResponse, RecordFacts,
    RecordFilter, RecordOrder, RecordPlace, ShownRecord,
};
use memoir_domain::Timestamp;

use super::{
    audit::{self, ListedRecord},
    audit_filter::AuditQuery,
};
use crate::{
    Console,
    answer::{PageFailure, PageResult, page_of, see_other},
    browser::Visitor,
    field::Faults,
    form::{self, PageQuery},
    parts::{self, ConsoleSection, FramedPage},
    words,
};

pub(super) const PATH: &str = "/activity";
/// Where all agents begin to be verified, and where the progress is.
const VERIFY: &str = "/activity/verify";
const VERIFICATION: &str = "/activity#verification";
/// Most logs that are named.
const LISTED: usize = 50;
const AT_ONCE: u32 = 50;
/// Records that are read at a time for a file.
const OF_FILE: u32 = 500;
/// The forms of a file, with their media types.
const FORMATS: [(&str, &str); 2] = [
    ("ndjson", "application/x-ndjson"),
    ("csv", "text/csv; charset=utf-8"),
];
/// The columns of a table as a file.
const COLUMNS: &str = "recorded_at,agent,seq,action,role,actor,session_id,memory,data\r\n";

pub(crate) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    PageQuery(query): PageQuery<AuditQuery>,
) -> PageResult {
    let (filter, mut faults) = query.read();
    let agent = agent(&visitor.account, &query, &mut faults).await?;
    // With faults in the form nothing is searched: the result would not match the form.
    let found = match faults.is_empty() {
        true => {
            let (account, one) = (&visitor.account, agent.as_ref());
            found(PATH, account, one, &query, &filter).await?
        }
        false => html! {},
    };
    // Of several accounts none is shown when the others call their models (SPEC 5.6).
    let responses = match console.memoir().accounts().await?.len() {
        1 => Some(console.memoir().provider_responses()),
        _ => None,
    };
    let now = console.memoir().now();
    let content = html! {
        h1 { "Activity" }
        p { "What happened to all agents, the newest first." }
        (faults.wrong())
        (query.form(PATH, &faults))
        (found)
        (verification(&visitor, now))
        @if let Some(responses) = responses { (providers(&responses, now)) }
    };
    let shown = FramedPage::new(&visitor, "Activity", ConsoleSection::Activity).show(content);
    Ok(match faults.is_empty() {
        true => shown,
        false => page_of(StatusCode::BAD_REQUEST, shown),
    })
}

/// The agent to which the list is narrowed; `None` for all of them.
async fn agent(
    account: &Account,
    query: &AuditQuery,
    faults: &mut Faults,
) -> Result<Option<AgentHandle>, Error> {
    let Some(name) = &query.agent else {
        return Ok(None);
    };
    match account.agent(name).await {
        Ok(agent) => Ok(Some(agent)),
        // The form keeps the name, so that a typing error can be corrected.
        Err(Error::NoAgent(_)) => {
            faults.add("agent", "Agent", "There is no agent of this name");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The newest records before a place.
async fn load(
    account: &Account,
    agent: Option<&AgentHandle>,
    (filter, before): (&RecordFilter, Option<RecordPlace>),
    limit: u32,
) -> Result<Vec<ListedRecord>, Error> {
    let Some(agent) = agent else {
        let order = RecordOrder::NewestFirst;
        let records = account.record_page(filter, order, before, limit).await?;
        let listed = |(place, record): (RecordPlace, RecordFacts)| (place.agent, record);
        return Ok(records.into_iter().map(listed).collect());
    };
    let before = before.map(|place| place.seq);
    let records = agent.views().search_records(filter, before, limit).await?;
    let id = agent.scope().agent;
    let listed = |record| (id, record);
    Ok(records.into_iter().map(listed).collect())
}

/// The records that match, on the page at `path`: that of one agent, or of all.
pub(super) async fn found(
    path: &str,
    account: &Account,
    agent: Option<&AgentHandle>,
    query: &AuditQuery,
    filter: &RecordFilter,
) -> Result<Markup, PageFailure> {
    let before = query.before.as_deref().map(read_place).transpose()?;
    let mut records = load(account, agent, (filter, before), AT_ONCE + 1).await?;
    let next = form::cut(&mut records, AT_ONCE as usize);
    let next = next.map(|last| query.address(path, &written(&place_of(last))));
    let newest = query.address(path, "");
    Ok(html! {
        @if records.is_empty() { p.empty { "No records here." } }
        @else { (audit::table(&records, path == PATH)) }
        (parts::older(before.map(|_| newest.as_str()), next.as_deref()))
        @if !records.is_empty() {
            p { "All of these as a file: "
                @for (place, (format, _)) in FORMATS.iter().enumerate() {
                    @if place > 0 { ", " }
                    a href=(query.address(&format!("{PATH}/{format}"), "")) download { (format.to_uppercase()) }
                }
            }
        }
    })
}

/// The verification of all agents: its progress, and the way to begin one.
fn verification(visitor: &Visitor, now: Timestamp) -> Markup {
    let run = visitor.account.verification();
    let is_running = run.as_ref().is_some_and(|run| run.ended_at.is_none());
    html! {
        section aria-labelledby="verification" {
            h2 #verification { "Verification" }
            p { "Each log is compared with itself and with the stored memories, one agent after the other." }
            @if let Some(run) = &run {
                p {
                    @if run.total == 0 { strong { "None verified yet" } }
                    @else { strong { (words::number(run.verified as u64)) " of " (words::number(run.total as u64))
                        " verified, " (words::number(run.damaged.len() as u64)) " damaged" } }
                    @match run.ended_at {
                        None => { ". It began " (parts::relative(run.started_at, now)) ". "
                            a href=(PATH) { "Look again" } },
                        // There is always the account's own log.
                        Some(at) if run.verified + run.unverified.len() < run.total.max(1) => {
                            ". It ended early, " (parts::relative(at, now)) "." },
                        Some(at) => { ". It ended " (parts::relative(at, now)) "." },
                    }
                }
                (parts::bar(run.verified as u64, run.total as u64))
                (logs("Damaged", &run.damaged))
                (logs("Not verified, since the database failed or they changed meanwhile", &run.unverified))
            }
            @if !is_running {
                (parts::button(visitor, VERIFY, "Verify all agents", "Verify all agents", "main"))
            }
        }
    }
}

/// Logs by their names, with links to those of agents.
fn logs(what: &str, logs: &[NamedLog]) -> Markup {
    html! {
        @if !logs.is_empty() {
            p.problem { (what) ": "
                @for (place, log) in logs.iter().take(LISTED).enumerate() {
                    @if place > 0 { ", " }
                    @match log.agent {
                        Some(agent) => a href={ "/audit?agent=" (agent) } { (log.name) },
                        None => (log.name),
                    }
                }
                @if logs.len() > LISTED { ", and " (words::number((logs.len() - LISTED) as u64)) " more" }
                "."
            }
        }
    }
}

/// Begins to verify all agents, unless that is under way.
pub(crate) async fn verify(visitor: Visitor) -> PageResult {
    let is_own = |account: &Account| {
        let run = account.verification();
        run.is_some_and(|run| run.ended_at.is_none())
    };
    match visitor.account.begin_verification().await? || is_own(&visitor.account) {
        true => Ok(see_other(VERIFICATION)),
        false => Err(PageFailure::new(
            StatusCode::CONFLICT,
            "This service verifies the agents of another account. Try again later.",
        )),
    }
}

/// The last response of each provider, and how fast it came.
fn providers(responses: &[ProviderResponse], now: Timestamp) -> Markup {
    html! {
        section aria-labelledby="providers" {
            h2 #providers { "Providers of models" }
            @if responses.is_empty() {
                p.empty { "No model was called since this service began." }
            } @else {
                (parts::table("The last response of each provider to this service",
                    &["Provider", "Model", "Last response", "When", "Took"], &[4], html! {
                    @for response in responses {
                        tr role="row" {
                            th role="rowheader" scope="row" data-label="Provider" { (response.provider) }
                            td role="cell" data-label="Model" { code { (response.model) } }
                            td role="cell" data-label="Last response" { (result(response.result)) }
                            td role="cell" data-label="When" { (parts::relative(response.at, now)) }
                            td.figure role="cell" data-label="Took" { (format!("{:.2} s", response.took.as_secs_f64())) }
                        }
                    }
                }))
            }
        }
    }
}

fn result(result: ModelCallResult) -> Markup {
    html! {
        @match result {
            ModelCallResult::Answered => span.badge.good { (result.label()) },
            _ => span.badge.bad { (result.label()) },
        }
    }
}

/// The place of a listed record among those of all agents.
fn place_of((agent, record): &ListedRecord) -> RecordPlace {
    RecordPlace {
        recorded_at: record.recorded_at,
        agent: *agent,
        seq: record.seq,
    }
}

/// A place as a part of an address.
fn written(place: &RecordPlace) -> String {
    let at = place.recorded_at.microseconds();
    format!("{at}.{}.{}", place.agent, place.seq)
}

fn read_place(text: &str) -> Result<RecordPlace, PageFailure> {
    let read = || {
        let mut parts = text.splitn(3, '.');
        Some(RecordPlace {
            recorded_at: Timestamp::from_microseconds(parts.next()?.parse().ok()?)?,
            agent: parts.next()?.parse().ok()?,
            seq: parts.next()?.parse().ok()?,
        })
    };
    read().ok_or_else(|| PageFailure::invalid("There is no such page."))
}

/// All records that match, as a file that is written while it is read.
pub(crate) async fn save(
    visitor: Visitor,
    Path(format): Path<String>,
    PageQuery(query): PageQuery<AuditQuery>,
) -> PageResult {
    let known = FORMATS.iter().find(|(name, _)| *name == format);
    let (name, media_type) = *known.ok_or_else(|| {
        PageFailure::new(StatusCode::NOT_FOUND, "There is no file of this format.")
    })?;
    let (filter, mut faults) = query.read();
    let agent = agent(&visitor.account, &query, &mut faults).await?;
    if !faults.is_empty() {
        return Err(PageFailure::invalid("The filter cannot be read."));
    }
    let file = RecordFile {
        visitor,
        agent,
        filter,
        is_table: name == "csv",
        before: None,
    };
    let parts = stream::try_unfold(Some(file), |file| async move {
        match file {
            Some(file) => file.part().await.map(Some),
            None => Ok(None),
        }
    });
    let saved_as = format!("attachment; filename=\"memoir-activity.{name}\"");
    let headers = [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (header::CONTENT_DISPOSITION, saved_as),
    ];
    Ok((headers, Body::from_stream(parts)).into_response())
}

struct RecordFile {
    visitor: Visitor,
    agent: Option<AgentHandle>,
    filter: RecordFilter,
    /// Whether it is a table, and not a list of objects.
    is_table: bool,
    /// The last record that was written.
    before: Option<RecordPlace>,
}

impl RecordFile {
    /// The next part, and the rest after it; `None` where it was the last one.
    ///
    /// # Errors
    /// The user signed out meanwhile, so that the file stays incomplete; the store fails.
    async fn part(mut self) -> Result<(String, Option<Self>), BoxError> {
        if !self.visitor.is_still_let_in().await? {
            return Err("the user signed out".into());
        }
        let wanted = (&self.filter, self.before);
        let records = load(&self.visitor.account, self.agent.as_ref(), wanted, OF_FILE).await?;
        let is_last = records.len() < OF_FILE as usize;
        let mut text = match (self.is_table, self.before) {
            (true, None) => COLUMNS.to_owned(),
            _ => String::new(),
        };
        self.before = records.last().map(place_of);
        for (_, record) in records {
            let record = ShownRecord::from(record);
            match self.is_table {
                true => text += &line(&record),
                // This cannot fail: a record consists of texts, numbers and codes.
                false => text += &serde_json::to_string(&record).unwrap_or_default(),
            }
            text.push('\n');
        }
        Ok((text, (!is_last).then_some(self)))
    }
}

/// A record as a line of a table (RFC 4180), without its line feed.
fn line(record: &ShownRecord) -> String {
    let facts = &record.facts;
    let or_blank = |text: Option<String>| text.unwrap_or_default();
    let fields = [
        facts.recorded_at.to_string(),
        facts.agent.clone(),
        facts.seq.to_string(),
        facts.action.as_str().to_owned(),
        facts.actor.kind.as_str().to_owned(),
        facts.actor.name.clone(),
        or_blank(facts.session_id.map(|id| id.to_string())),
        or_blank(facts.memory.map(|number| number.0.to_string())),
        record.words.data.expose().to_string(),
    ];
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    fields.join(",") + "\r"
}

/// A field of a table. Programs for tables run a text that begins like a formula: an apostrophe prevents it.
fn quoted(field: &str) -> String {
    let guard = match field.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => "'",
        false => "",
    };
    format!("\"{guard}{}\"", field.replace('"', "\"\""))
}
