//! `/audit`: an agent's log without text, the outcome of verifying it, and checkpoints.

use std::borrow::Cow;

use axum::{http::StatusCode, response::Response};
use maud::{Markup, html};
use memoir_app::{AgentHandle, Error, RecordFacts, RecordFilter, Verification};
use memoir_domain::{AgentId, agent::LossGuard, labels};
use serde_json::{Map, Value};

use super::{Tab, activity, agent_page, agent_path, audit_filter::AuditQuery, settings::setting};
use crate::{
    answer::{PageResult, page_of},
    browser::{AgentInPath, Visitor},
    field::{Faults, LabelledField, with_code},
    form::PageQuery,
    parts::{self, ConsoleSection, FramedPage},
    words,
};

pub(super) const PATH: &str = "/audit";

/// A record in a list, with its agent.
pub(super) type ListedRecord = (AgentId, RecordFacts);

pub(crate) async fn show(visitor: Visitor, PageQuery(query): PageQuery<AuditQuery>) -> PageResult {
    let Some(name) = &query.agent else {
        return Ok(overview(&visitor, "", &Faults::default()));
    };
    let agent = match visitor.account.agent(name).await {
        Ok(agent) => agent,
        // The form keeps the name, so that a typing error can be corrected.
        Err(Error::NoAgent(_)) => return Ok(no_agent(&visitor, name)),
        Err(error) => return Err(error.into()),
    };
    let (search, faults) = query.read();
    // Apart from the search, whose newest record need not be the log's.
    let (views, all) = (agent.views(), RecordFilter::default());
    let newest = views.search_records(&all, None, 1).await?;
    // With faults in the form nothing is searched: the result would not match the form.
    let found = match faults.is_empty() {
        true => {
            let (account, one) = (&visitor.account, Some(&agent));
            activity::found(PATH, account, one, &query, &search).await?
        }
        false => html! {},
    };
    let content = html! {
        (chain(&visitor, &agent, newest.first()))
        section aria-labelledby="records" {
            h2 #records { "Records" }
            (faults.wrong())
            (query.form(PATH, &faults))
            (found)
        }
    };
    let shown = agent_page(&visitor, &agent, Tab::Audit, "Audit of {}").show(content);
    Ok(match faults.is_empty() {
        true => shown,
        false => page_of(StatusCode::BAD_REQUEST, shown),
    })
}

/// The end of the log, without reading the rest of it.
fn chain(visitor: &Visitor, agent: &AgentHandle, newest: Option<&RecordFacts>) -> Markup {
    let verify = format!("{}/verify", agent_path(agent.scope().agent));
    html! {
        section aria-labelledby="chain" {
            h2 #chain { "The chain" }
            @if let Some(newest) = newest {
                dl.facts {
                    (parts::pair("Records", html! { (words::number(newest.seq)) }))
                    (parts::pair("Newest record", html! {
                        (parts::time(newest.recorded_at)) span.of { " · " (newest.action.label()) }
                    }))
                    (parts::pair("Head of the chain", html! { code.hash { (newest.hash) } }))
                }
            }
            p { "Verifying recomputes it from the first record on, and compares what is stored with it." }
            div.buttons {
                (parts::button(visitor, &verify, "Verify the chain", "Verify the chain", "main"))
            }
        }
    }
}

/// Before an agent is chosen.
fn overview(visitor: &Visitor, name: &str, faults: &Faults) -> Response {
    let content = html! {
        h1 { "Audit" }
        (faults.wrong())
        section aria-labelledby="choose" {
            h2 #choose { "An agent’s log" }
            form.row method="get" action="/audit" {
                (LabelledField::new("agent", "Name of the agent").faults(faults).text(name))
                button.main type="submit" { "Show" }
            }
        }
        section aria-labelledby="checkpoint" {
            h2 #checkpoint { "Checkpoint" }
            p { "A signed note of the state of the logs of all agents. Keep it outside of this machine: it \
                 shows later that nothing was cut off or rewritten since." }
            (parts::button(visitor, "/audit/checkpoint", "Take a checkpoint", "Take a checkpoint", "main"))
        }
    };
    FramedPage::new(visitor, "Audit", ConsoleSection::Audit).show(content)
}

fn no_agent(visitor: &Visitor, name: &str) -> Response {
    let mut faults = Faults::default();
    let problem = "There is no agent of this name";
    faults.add("agent", "Name of the agent", problem);
    page_of(StatusCode::NOT_FOUND, overview(visitor, name, &faults))
}

/// Records as a table, with a column for their agents where they are of several.
pub(super) fn table(records: &[ListedRecord], is_of_several: bool) -> Markup {
    html! {
        table.cards role="table" {
            caption.hidden { "Records, the newest first" }
            @match is_of_several {
                true => (parts::headings(&["Record", "Agent", "When", "Who", "What", "Memory", "Session", "Details"], &[0, 5])),
                false => (parts::headings(&["Record", "When", "Who", "What", "Memory", "Session", "Details"], &[0, 4])),
            }
            tbody role="rowgroup" { @for record in records { (row(record, is_of_several)) } }
        }
    }
}

fn row((agent, record): &ListedRecord, is_of_several: bool) -> Markup {
    html! {
        tr role="row" {
            th role="rowheader" scope="row" class="figure" data-label="Record" { (record.seq) }
            @if is_of_several {
                td role="cell" data-label="Agent" {
                    a.name.long[record.agent.len() > parts::UNBROKEN] href={ (PATH) "?agent=" (agent) } { (record.agent) }
                }
            }
            td role="cell" data-label="When" { (parts::second(record.recorded_at)) }
            td role="cell" data-label="Who" { span { (parts::named(&record.actor.name)) span.of { " · " (record.actor.kind.as_str()) } } }
            td.what role="cell" data-label="What" { (record.action.label()) }
            td.figure role="cell" data-label="Memory" {
                @match record.memory { Some(number) => { "#" (number.0) }, None => span.none { "–" } }
            }
            td role="cell" data-label="Session" {
                @match record.session_id {
                    Some(id) => a href={ "/sessions/" (id) } { "Show it" },
                    None => span.none { "–" },
                }
            }
            td role="cell" data-label="Details" { (facts(record.counts.as_map(), &["core_tokens_after"], "/sessions")) }
        }
    }
}

/// The numbers and codes of a record, except those shown beside it. `sessions` is the path below which the pages of
/// sessions are.
pub(super) fn facts(data: &Map<String, Value>, shown_beside: &[&str], sessions: &str) -> Markup {
    let others = data
        .iter()
        .filter(|(name, _)| !shown_beside.contains(&name.as_str()));
    let stated =
        others.filter_map(|(name, value)| Some((labels::fact(name), fact(name, value, sessions)?)));
    let stated: Vec<(Cow<'static, str>, Markup)> = stated.collect();
    html! {
        @if stated.is_empty() { span.none { "–" } }
        @else {
            ul.stated { @for (name, value) in &stated { li { (name) " " b { (value) } } } }
        }
    }
}

/// A fact in words; `None` of a zero, and of digests, which only programs compare.
fn fact(name: &str, value: &Value, sessions: &str) -> Option<Markup> {
    let text = match (name, value) {
        ("client" | "recipient", _) => return None,
        ("derived", Value::Number(_)) => "yes".to_owned(),
        ("edited" | "first_number" | "last_number" | "replaced_by", Value::Number(memory)) => {
            format!("#{memory}")
        }
        (_, Value::Number(number)) => match number.as_u64() {
            Some(0) => return None,
            Some(count) => words::number(count),
            None => words::share(number.as_f64()?),
        },
        (_, Value::String(code)) => return Some(coded(name, code, sessions)),
        // A list of what only the agent sees is empty here. A list of pairs has digests.
        (_, Value::Array(items)) if items.first().is_some_and(|first| !first.is_array()) => {
            listed(items)
        }
        _ => return None,
    };
    Some(html! { (text) })
}

/// The code, time or identifier of a fact in words: which of these it is depends on the name of the fact.
fn coded(name: &str, code: &str, sessions: &str) -> Markup {
    html! {
        @match name {
            // The fact of a rehearsal's record is no identifier.
            "session" if words::shortened(code) != code => a href={ (sessions) "/" (code) } { (parts::named(code)) },
            "request" => a href={ "/access/" (code) } { (parts::named(code)) },
            "token" | "user" => (parts::named(code)),
            "field" => (setting(code)),
            "guard" => (LossGuard::from_name(code).map(LossGuard::label).unwrap_or(code)),
            "model" => code { (code) },
            _ if name == "to" || name.ends_with("_at") => (code.parse().map_or_else(|_| code.to_owned(), words::second)),
            _ => (labels::fact_code(name, code).replace('_', " ")),
        }
    }
}

/// Settings by their labels, anything else by how many there are.
fn listed(items: &[Value]) -> String {
    let codes = items.iter().map(|item| item.as_str().map(setting));
    let codes: Option<Vec<String>> = codes.collect();
    codes.map_or_else(
        || words::number(items.len() as u64),
        |codes| codes.join(", "),
    )
}

pub(crate) async fn verify(visitor: Visitor, agent: AgentInPath) -> PageResult {
    // Verifying is a form and not a link, since it reads the whole log.
    let verified = agent.log().verify().await?;
    let content = html! {
        h2 { "The chain" }
        (verdict(&verified))
        p { a href={ "/audit?agent=" (agent.scope().agent) } { "Back to the log" } }
    };
    Ok(agent_page(&visitor, &agent, Tab::Audit, "The chain of {}").show(content))
}

fn verdict(verified: &Verification) -> Markup {
    html! {
        @if verified.valid {
            p.notice role="status" { "Everything matches: "
                (words::counted(verified.records, "record", "records")) ", and the stored state is that of the records." }
        } @else {
            p.problem role="alert" { "Integrity check failed: modified outside Memoir." }
            ul {
                @for mismatch in &verified.mismatches {
                    li { @if let Some(seq) = mismatch.seq { "Record " (seq) ": " } (with_code(&mismatch.problem)) }
                }
            }
        }
        @if let Some(originals) = &verified.originals { p { (with_code(&originals.to_string())) "." } }
        dl.facts {
            (parts::pair("Records", html! { (words::number(verified.records)) }))
            (parts::pair("Head of the chain", html! { code.hash { (verified.head) } }))
            @if let Some(at) = verified.erased_at { (parts::pair("Erased", parts::time(at))) }
        }
    }
}

pub(crate) async fn checkpoint(visitor: Visitor) -> PageResult {
    let signed = visitor.account.checkpoint().await?;
    let content = html! {
        p.crumb { a href="/audit" { "Audit" } }
        h1 { "Checkpoint" }
        p { "Keep both outside of this machine: the note as it stands, in a file of its own, and the key beside it. \
             Later they show whether the logs only grew:" }
        pre tabindex="0" { "memoir audit verify --checkpoint FILE --public-key KEY" }
        h2 { "The signed note" }
        pre tabindex="0" { (signed.checkpoint) }
        h2 { "The key that verifies it" }
        pre tabindex="0" { (signed.public_key) }
    };
    Ok(FramedPage::new(&visitor, "Checkpoint", ConsoleSection::Audit).show(content))
}
