//! `/memory/{agent}/week`: what happened in the last seven days, with the text, and one step back for each.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use memoir_app::{Error, MemoryFacts, OwnAgent, RecordFilter, ShownRecord};
use memoir_domain::{
    Timestamp,
    audit::{Action, MEMBERS},
    memory::Number,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{
        memories::offered,
        reading::{record_words, said},
    },
    OwnTab, agent_page, agent_path, who,
};
use crate::{
    answer::{PageFailure, PageResult},
    browser::{OwnAgentInPath, Owner},
    form::{self, PageQuery},
    parts, words,
};

const WEEK_SECONDS: i64 = 7 * 24 * 3_600;
const AT_ONCE: u32 = 25;
const SESSIONS: u32 = 20;

#[derive(Deserialize)]
pub(crate) struct WeekQuery {
    /// The place of the last record of the page before.
    before: Option<u64>,
}

pub(crate) async fn show(
    owner: Owner,
    PageQuery(query): PageQuery<WeekQuery>,
    agent: OwnAgentInPath,
) -> PageResult {
    let since = owner.now().plus_seconds(-WEEK_SECONDS);
    let filter = RecordFilter {
        since: Some(since),
        before_seq: query.before,
        ..RecordFilter::default()
    };
    let lens = agent.lens();
    let (mut records, has_more) = lens.newest_records(&filter, AT_ONCE).await?;
    records.reverse();
    let path = agent_path(agent.scope().agent);
    let week = format!("{path}/week");
    let next = records.last().filter(|_| has_more);
    let next = next.map(|last| form::address(&week, &[("before", &last.seq.to_string())]));
    let steps = steps_back(&agent, &records).await?;
    let content = html! {
        @if query.before.is_none() { (sessions(&agent, since, &path).await?) }
        section aria-labelledby="records" {
            h2 #records { "What happened, the newest first" }
            @if records.is_empty() { p.empty { "Nothing happened in the last seven days." } }
            @for (record, step) in records.iter().zip(&steps) {
                article.record {
                    (record_words(record, &format!("{path}/session")))
                    p.of { (words::capital(&who(&record.actor)))
                        @if let Some(session) = record.session_id {
                            ", in " a href={ (path) "/session/" (session) } { "a session" } } }
                    @if !step.is_empty() {
                        div.buttons { @for step in step { (step.button(&owner, &path)) } }
                    }
                }
            }
            (parts::older(query.before.map(|_| week.as_str()), next.as_deref()))
        }
    };
    Ok(agent_page(&agent, OwnTab::Week, "The last week of {}").show(content))
}

/// One step that undoes a part of a record, where the memory permits it now.
struct StepBack {
    /// The act, by its word in the address, and its name.
    act: (&'static str, &'static str),
    number: Number,
    /// For an edit by the owner: the memory that has the text before.
    edited: Option<Number>,
}

impl StepBack {
    fn button(&self, owner: &Owner, path: &str) -> Markup {
        let (word, text) = self.act;
        let text = format!("{text} {}", self.number);
        html! {
            form.inline method="post" action={ (path) "/" (self.number.0) "/" (word) } {
                (parts::form_token(owner))
                input type="hidden" name="back" value="week";
                @if let Some(edited) = self.edited { input type="hidden" name="edited" value=(edited.0); }
                button.quiet type="submit" { (text) }
            }
        }
    }
}

async fn steps_back(
    agent: &OwnAgent,
    records: &[ShownRecord],
) -> Result<Vec<Vec<StepBack>>, PageFailure> {
    let wished: Vec<Vec<StepBack>> = records.iter().map(wished).collect();
    let numbers: BTreeSet<Number> = wished.iter().flatten().map(|step| step.number).collect();
    let mut known: BTreeMap<Number, MemoryFacts> = BTreeMap::new();
    for number in numbers {
        match agent.views().memory(number).await {
            Err(Error::NoMemory(_)) => {}
            found => drop(known.insert(number, found?)),
        }
    }
    let is_permitted = |step: &StepBack| {
        // An edit is undone by discarding its new text.
        let needed = match step.edited {
            Some(_) => "discard",
            None => step.act.0,
        };
        let acts = known.get(&step.number).map(offered).unwrap_or_default();
        acts.iter().any(|(word, _)| *word == needed)
    };
    let permitted = |steps: Vec<StepBack>| steps.into_iter().filter(is_permitted).collect();
    Ok(wished.into_iter().map(permitted).collect())
}

/// The steps that would undo a record, whether or not the memories permit them now.
fn wished(record: &ShownRecord) -> Vec<StepBack> {
    let step = |act, number| StepBack {
        act,
        number,
        edited: None,
    };
    let own = |act| record.memory.map(|number| step(act, number));
    let data = record.words.data.expose();
    let own = match record.action {
        Action::MemorySaved | Action::MemoryRestored => own(("discard", "Discard")),
        Action::MemoryDiscarded => own(("restore", "Restore")),
        Action::MemoryProtected | Action::MemoryRefinementProtect => {
            own(("unprotect", "Unprotect"))
        }
        Action::MemoryUnprotected => own(("protect", "Protect")),
        Action::MemoryReplaced => own(("promote", "Promote")),
        Action::MemoryRefinementConsolidate
        | Action::MemoryRefinementUpdate
        | Action::MemoryRefinementDelete => {
            let members = data.get(MEMBERS).and_then(Value::as_array);
            let numbers = members.into_iter().flatten().filter_map(Value::as_u64);
            return numbers
                .map(|number| step(("promote", "Promote"), Number(number)))
                .collect();
        }
        Action::MemoryEdited => {
            let edited = data.get("edited").and_then(Value::as_u64);
            let both = record.memory.zip(edited);
            both.map(|(number, edited)| StepBack {
                edited: Some(Number(edited)),
                ..step(("unedit", "Undo the edit that made"), number)
            })
        }
        _ => None,
    };
    own.into_iter().collect()
}

async fn sessions(agent: &OwnAgent, since: Timestamp, path: &str) -> Result<Markup, PageFailure> {
    let mut sessions = agent.lens().session_page(None, SESSIONS).await?;
    sessions.retain(|session| session.started_at >= since);
    Ok(html! {
        section aria-labelledby="sessions" {
            h2 #sessions { "Sessions" }
            @if sessions.is_empty() { p.empty { "There was no session in the last seven days." } }
            @if sessions.len() == SESSIONS as usize { p.hint { "These are the " (SESSIONS) " latest." } }
            @for session in &sessions {
                article.record aria-labelledby={ "session-" (session.id) } {
                    header {
                        h3 id={ "session-" (session.id) } {
                            a href={ (path) "/session/" (session.id) } { "Session of " (parts::time(session.started_at)) }
                        }
                        (parts::state(session))
                        span.of { (session.stats) }
                    }
                    @for text in session.words.summary.iter().chain(&session.words.reason) { (said(text.expose())) }
                }
            }
        }
    })
}
