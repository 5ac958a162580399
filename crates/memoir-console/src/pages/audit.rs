//! `/audit`: an agent's log without words, what verifying it comes to, and checkpoints.

use axum::{
    Extension,
    extract::{Path, RawQuery, State},
};
use maud::{Markup, html};
use memoir_app::{AgentHandle, RecordSearch, RecordView, Verification};
use memoir_domain::{
    Timestamp,
    audit::{Action, ActorKind},
};
use serde::Deserialize;
use serde_json::Value;

use super::{Tab, agent_head, agent_path};
use crate::{
    Console,
    answer::{Answer, Failure},
    browser::Visitor,
    form,
    parts::{self, Place, Sheet},
    words,
};

/// Records on a page.
const AT_ONCE: u32 = 50;
/// Who can do something.
const ROLES: [ActorKind; 3] = [
    ActorKind::Administrator,
    ActorKind::Agent,
    ActorKind::System,
];

#[derive(Default, Deserialize)]
pub(crate) struct Wanted {
    agent: Option<String>,
    action: Option<String>,
    actor: Option<String>,
    session: Option<String>,
    since: Option<String>,
    until: Option<String>,
    /// The place of the last record of the page before.
    before: Option<u64>,
}

impl Wanted {
    fn search(&self) -> Result<RecordSearch, Failure> {
        let no_time =
            |_| Failure::invalid("A time is to be given as 2026-03-04 or 2026-03-04T12:00Z.");
        let action = |name: &str| {
            let unknown = || Failure::invalid("There is no such action.");
            Action::from_name(name).ok_or_else(unknown)
        };
        let role = |name: &str| {
            let found = ROLES.into_iter().find(|role| role.as_str() == name);
            found.ok_or_else(|| Failure::invalid("There is no such role."))
        };
        let session = |id: &str| {
            let unknown = |_| Failure::invalid("A session is to be given by its identifier.");
            id.trim().parse().map_err(unknown)
        };
        Ok(RecordSearch {
            session: self.session.as_deref().map(session).transpose()?,
            action: self.action.as_deref().map(action).transpose()?,
            actor: self.actor.as_deref().map(role).transpose()?,
            since: self
                .since
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(no_time)?,
            until: self
                .until
                .as_deref()
                .map(Timestamp::parse_until)
                .transpose()
                .map_err(no_time)?,
        })
    }

    fn address(&self, before: Option<u64>) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let before = before.map(|seq| seq.to_string()).unwrap_or_default();
        form::address(
            "/audit",
            &[
                ("agent", &text(&self.agent)),
                ("action", &text(&self.action)),
                ("actor", &text(&self.actor)),
                ("session", &text(&self.session)),
                ("since", &text(&self.since)),
                ("until", &text(&self.until)),
                ("before", &before),
            ],
        )
    }
}

pub(crate) async fn show(
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Answer {
    let wanted: Wanted = form::query(query.as_deref())?;
    let Some(name) = &wanted.agent else {
        return Ok(overview(&visitor));
    };
    let agent = visitor.account.agent(name).await?;
    let search = wanted.search()?;
    let mut records = agent
        .search_records(&search, wanted.before, AT_ONCE + 1)
        .await?;
    let is_more = records.len() > AT_ONCE as usize;
    records.truncate(AT_ONCE as usize);
    let next = records.last().filter(|_| is_more);
    let next = next.map(|last| wanted.address(Some(last.seq)));
    let newest = wanted.address(None);
    let content = html! {
        (agent_head(&agent, Tab::Audit))
        div.buttons {
            (parts::button(&visitor, &format!("{}/verify", agent_path(agent.scope().agent)),
                "Verify the chain", "Verify the chain", "main"))
        }
        (filter(&wanted))
        @if records.is_empty() { p.empty { "No records here." } } @else { (table(&records)) }
        (parts::pages(
            "Pages",
            wanted.before.is_some().then_some((newest.as_str(), "← Newest")),
            next.as_deref().map(|path| (path, "Older →")),
        ))
    };
    let title = format!("Audit of {}", agent.name());
    Ok(Sheet::new(&visitor, &title, Place::Audit).show(content))
}

/// Before an agent is chosen.
fn overview(visitor: &Visitor) -> axum::response::Response {
    let content = html! {
        h1 { "Audit" }
        section aria-labelledby="choose" {
            h2 #choose { "An agent’s log" }
            form.row method="get" action="/audit" {
                div.field {
                    label for="agent" { "Name of the agent" }
                    input #agent name="agent" type="text" required maxlength="100"
                        autocapitalize="none" spellcheck="false";
                }
                button.main type="submit" { "Show" }
            }
        }
        section aria-labelledby="checkpoint" {
            h2 #checkpoint { "Checkpoint" }
            p { "A signed note of what the logs of all agents come to now. Keep it outside of this machine: it \
                 shows later that nothing was cut off or rewritten since." }
            (parts::button(visitor, "/audit/checkpoint", "Take a checkpoint", "Take a checkpoint", "main"))
        }
    };
    Sheet::new(visitor, "Audit", Place::Audit).show(content)
}

fn filter(wanted: &Wanted) -> Markup {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let date = |name: &str, label: &str, value: &Option<String>| {
        html! {
            div.field {
                label for=(name) { (label) }
                input id=(name) name=(name) type="date" value=(text(value));
            }
        }
    };
    html! {
        form.row method="get" action="/audit" {
            input type="hidden" name="agent" value=(text(&wanted.agent));
            div.field {
                label for="action" { "Action" }
                select #action name="action" {
                    option value="" { "All" }
                    @for action in Action::ALL {
                        option value=(action.as_str()) selected[wanted.action.as_deref() == Some(action.as_str())] {
                            (words::spaced(action.as_str()))
                        }
                    }
                }
            }
            div.field {
                label for="actor" { "Who" }
                select #actor name="actor" {
                    option value="" { "All" }
                    @for role in ROLES {
                        option value=(role.as_str()) selected[wanted.actor.as_deref() == Some(role.as_str())] {
                            (role.as_str())
                        }
                    }
                }
            }
            div.field {
                label for="session" { "Session" }
                input #session name="session" type="text" placeholder="Identifier" maxlength="36"
                    spellcheck="false" value=(text(&wanted.session));
            }
            (date("since", "From", &wanted.since))
            (date("until", "Until", &wanted.until))
            button.quiet type="submit" { "Filter" }
        }
    }
}

fn table(records: &[RecordView]) -> Markup {
    html! {
        table.cards role="table" {
            caption.hidden { "Records, the newest first" }
            thead role="rowgroup" { tr role="row" {
                th role="columnheader" scope="col" class="figure" { "Record" }
                th role="columnheader" scope="col" { "When" }
                th role="columnheader" scope="col" { "Who" }
                th role="columnheader" scope="col" { "What" }
                th role="columnheader" scope="col" class="figure" { "Memory" }
                th role="columnheader" scope="col" { "Session" }
                th role="columnheader" scope="col" { "Counts" }
            } }
            tbody role="rowgroup" { @for record in records { (row(record)) } }
        }
    }
}

fn row(record: &RecordView) -> Markup {
    html! {
        tr role="row" {
            th role="rowheader" scope="row" class="figure" data-label="Record" { (record.seq) }
            td role="cell" data-label="When" {
                time datetime=(record.recorded_at) { (words::second(record.recorded_at)) }
            }
            td role="cell" data-label="Who" { span { (record.actor.name) span.of { " · " (record.actor.kind.as_str()) } } }
            td.what role="cell" data-label="What" { (words::spaced(record.action.as_str())) }
            td.figure role="cell" data-label="Memory" {
                @match record.memory { Some(number) => { "#" (number.0) }, None => span.none { "–" } }
            }
            td role="cell" data-label="Session" {
                @match record.session_id {
                    Some(id) => a href={ "/sessions/" (id) } { "Show it" },
                    None => span.none { "–" },
                }
            }
            td role="cell" data-label="Counts" { (facts(record, &["core_tokens_after"])) }
        }
    }
}

/// What a record says in the open, numbers and codes, but for what is told beside it.
pub(super) fn facts(record: &RecordView, told_beside: &[&str]) -> Markup {
    let data = record.data.expose().as_object();
    let told = data.into_iter().flatten().filter_map(|(name, value)| {
        if told_beside.contains(&name.as_str()) {
            return None;
        }
        let text = match value {
            Value::Number(number) => number
                .as_u64()
                .map_or_else(|| number.to_string(), words::number),
            Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
            Value::String(code) => code.clone(),
            // A list of what only the agent sees is empty here.
            Value::Array(items) if !items.is_empty() => words::number(items.len() as u64),
            _ => return None,
        };
        Some((words::spaced(name), text))
    });
    let told: Vec<(String, String)> = told.collect();
    html! {
        @if told.is_empty() { span.none { "–" } }
        @else {
            ul.told { @for (name, text) in &told { li { (name) " " b { (text) } } } }
        }
    }
}

pub(crate) async fn verify(
    Extension(visitor): Extension<Visitor>,
    Path(agent): Path<String>,
) -> Answer {
    let agent: AgentHandle = visitor.account.agent(&agent).await?;
    let verified = agent.verify().await?;
    let content = html! {
        (agent_head(&agent, Tab::Audit))
        h2 { "The chain" }
        (verdict(&verified))
        p { a href={ "/audit?agent=" (agent.scope().agent) } { "Back to the log" } }
    };
    let title = format!("The chain of {}", agent.name());
    Ok(Sheet::new(&visitor, &title, Place::Audit).show(content))
}

fn verdict(verified: &Verification) -> Markup {
    html! {
        @if verified.valid {
            p.notice role="status" { "Everything fits: "
                (words::counted(verified.records, "record", "records")) ", and what is stored is what they tell." }
        } @else {
            p.problem role="alert" { "Something is not as it was written." }
            ul {
                @for misfit in &verified.misfits {
                    li { @if let Some(seq) = misfit.seq { "Record " (seq) ": " } (misfit.problem) }
                }
            }
        }
        dl.facts {
            (parts::pair("Records", html! { (words::number(verified.records)) }))
            (parts::pair("Head of the chain", html! { code.hash { (verified.head) } }))
            @if let Some(at) = verified.erased_at { (parts::pair("Erased", parts::time(at))) }
        }
    }
}

pub(crate) async fn checkpoint(
    State(console): State<Console>,
    Extension(visitor): Extension<Visitor>,
) -> Answer {
    let signed = console.memoir().checkpoint().await?;
    let content = html! {
        p.crumb { a href="/audit" { "Audit" } }
        h1 { "Checkpoint" }
        p { "Keep both outside of this machine. The log has "
            (words::counted(signed.size, "entry", "entries")) "." }
        h2 { "The signed note" }
        pre tabindex="0" { (signed.checkpoint) }
        h2 { "The key that verifies it" }
        pre tabindex="0" { (signed.public_key) }
    };
    Ok(Sheet::new(&visitor, "Checkpoint", Place::Audit).show(content))
}
