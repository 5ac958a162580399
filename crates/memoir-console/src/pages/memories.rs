//! `/agents/{agent}/memories`: memories as rows without text, and the acts on each.

use std::collections::{BTreeMap, BTreeSet};

use axum::{extract::Path, http::StatusCode};
use maud::{Markup, html};
use memoir_app::{AgentHandle, Handling, MemoryFacts, MemoryPage};
use memoir_domain::memory::{Kind, Number};
use serde::{Deserialize, Serialize};

use super::{Tab, agent, agent_page, agent_path};
use crate::{
    answer::{PageFailure, PageResult, see_other},
    browser::{AgentInPath, Visitor},
    field::LabelledField,
    form::{self, PageQuery, SentForm},
    parts, words,
};

const AT_ONCE: u32 = 50;
/// The field of a form with the query of the list that it is on.
const LIST: &str = "list";
/// The form for the selected memories; their boxes are in the rows.
const SELECTED: &str = "selected";
/// Its acts, by the words of the addresses.
const ACTS: [(&str, &str, Handling); 5] = [
    ("protect", "Protect", Handling::Protect),
    ("unprotect", "Unprotect", Handling::Unprotect),
    ("promote", "Promote", Handling::Promote),
    ("discard", "Discard", Handling::Discard),
    ("restore", "Restore", Handling::Restore),
];

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct MemoryListQuery {
    /// The number of the last memory of the page before.
    after: Option<u64>,
    kind: Option<String>,
    /// `yes` for discarded ones too, which are in no prompt.
    discarded: Option<String>,
    /// `protected`, `faded` or `shown`.
    only: Option<String>,
    /// The number of a memory, for those that are under it.
    under: Option<u64>,
    done: Option<String>,
}

impl MemoryListQuery {
    fn with_discarded(&self) -> bool {
        self.discarded.as_deref() == Some("yes") && self.only.as_deref() != Some("shown")
    }

    /// Whether the list has the memory, on one of its pages.
    fn shows(&self, memory: &MemoryFacts) -> bool {
        let kind = self.kind.as_deref();
        (self.with_discarded() || memory.discarded_at.is_none())
            && kind.is_none_or(|kind| kind == memory.kind.as_str())
            && (self.only.as_deref() != Some("protected") || memory.constitutional)
            && self
                .under
                .is_none_or(|under| memory.under == Some(Number(under)))
    }

    /// The field that sends the list along with a form, so that the page afterwards shows the same one.
    fn field(&self) -> Markup {
        html! { input type="hidden" name=(LIST) value=(form::address_of("", self)); }
    }

    /// The list that a form was sent from.
    fn of(form: &SentForm) -> Result<Self, PageFailure> {
        form::query(form.field(LIST).strip_prefix('?'))
    }

    fn address(&self, path: &str, after: Option<u64>, done: &str) -> String {
        let page = Self {
            after,
            done: Some(done.to_owned()),
            ..self.clone()
        };
        form::address_of(path, &page)
    }
}

pub(crate) async fn show(
    visitor: Visitor,
    PageQuery(query): PageQuery<MemoryListQuery>,
    agent: AgentInPath,
) -> PageResult {
    let page_query = MemoryPage {
        after: query.after.unwrap_or(0),
        limit: AT_ONCE + 1,
        kind: kind(query.kind.as_deref())?,
        with_discarded: query.with_discarded(),
        protected: (query.only.as_deref() == Some("protected")).then_some(true),
        expired: match query.only.as_deref() {
            Some("faded") => Some(agent.views().expired(true)),
            Some("shown") => Some(agent.views().expired(false)),
            _ => None,
        },
        under: query.under.map(Number),
        ..MemoryPage::default()
    };
    let mut rows = match query.only.as_deref() {
        Some("shown") => in_prompt(&agent, page_query).await?,
        _ => agent.views().memory_page(&page_query).await?,
    };
    let path = format!("{}/memories", agent_path(agent.scope().agent));
    let next = form::cut(&mut rows, AT_ONCE as usize);
    let next = next.map(|last| query.address(&path, Some(last.number.0), ""));
    let now = NowByNumber::of(&agent, &rows).await?;
    let first = query.address(&path, None, "");
    let originals = match query.after.is_none() && query.under.is_none() {
        true => Some(agent.log().originals().await?),
        false => None,
    };
    let content = html! {
        @if let Some(under) = query.under {
            p { "Archival memories under #" (under) ". " a href=(path) { "Show all memories" } }
        }
        (filter(
            query.kind.as_deref(),
            Some(query.only.as_deref().unwrap_or_default()),
            query.with_discarded(),
            &path,
        ))
        @if rows.is_empty() { p.empty { "No memories here." } }
        @else { (table(&visitor, &query, &agent, (&rows, &now))) }
        (parts::further(query.after.map(|_| first.as_str()), next.as_deref()))
        @if let Some(originals) = &originals { (agent::originals(originals)) }
    };
    Ok(agent_page(&visitor, &agent, Tab::Memories, "Memories of {}").show(content))
}

/// The number of a memory in an address.
pub(super) fn number_of(text: &str) -> Result<Number, PageFailure> {
    let number = text.parse().ok().filter(|number| *number > 0);
    let none = || PageFailure::new(StatusCode::NOT_FOUND, "There is no memory of this number.");
    number.map(Number).ok_or_else(none)
}

/// The kind that an address names; `None` for all.
pub(super) fn kind(named: Option<&str>) -> Result<Option<Kind>, PageFailure> {
    let unknown = || PageFailure::invalid("There is no such kind of memories.");
    let kind = named.map(|name| Kind::from_name(name).ok_or_else(unknown));
    kind.transpose()
}

/// Chooses which memories are shown on the page at `path`; by their flags too, where `only` is given.
pub(super) fn filter(
    named: Option<&str>,
    only: Option<&str>,
    with_discarded: bool,
    path: &str,
) -> Markup {
    let flags = [
        ("", "All"),
        ("protected", "Constitutional"),
        ("shown", "In the prompt"),
        ("faded", "Expired from the prompt"),
    ];
    let kinds = [
        ("", "All kinds"),
        ("core", "Core"),
        ("journal", "Journal"),
        ("archival", "Archival"),
    ];
    html! {
        form.row method="get" action=(path) {
            (LabelledField::new("kind", "Kind").choice(named.unwrap_or_default(), &kinds))
            @if let Some(only) = only {
                (LabelledField::new("only", "Which").choice(only, &flags))
            }
            (parts::check("discarded", "Discarded ones too", with_discarded))
            button.quiet type="submit" { "Show" }
        }
    }
}

fn table(
    visitor: &Visitor,
    query: &MemoryListQuery,
    agent: &AgentHandle,
    (rows, now): (&[MemoryFacts], &NowByNumber),
) -> Markup {
    let longest = rows.iter().map(|row| row.tokens).max().unwrap_or(0);
    html! {
        (parts::table("Memories by number, without their text",
            &["Number", "Kind", "Archive", "Tokens", "Origin", "Flags", "Change"], &[0, 3], html! {
            @for (place, row) in rows.iter().enumerate() {
                // The row that takes its place where it disappears.
                @let beside = rows.get(place + 1).or_else(|| rows.get(place.checked_sub(1)?));
                @let acts = acts(visitor, query, agent, row, beside);
                (memory(agent, (row, now, longest), &acts))
            }
        }))
        form.row id=(SELECTED) method="post" action={ (agent_path(agent.scope().agent)) "/memories" } {
            (parts::form_token(visitor))
            (query.field())
            span { "Those selected:" }
            @for (word, text, _) in ACTS {
                button.quiet type="submit" name="act" value=(word) aria-label={ (text) " those selected" } { (text) }
            }
        }
    }
}

fn memory(
    agent: &AgentHandle,
    (row, now, longest): (&MemoryFacts, &NowByNumber, u64),
    acts: &Markup,
) -> Markup {
    let kind = row.kind.as_str();
    html! {
        tr role="row" id={ "memory-" (row.number.0) } class=[row.discarded_at.map(|_| "gone")] {
            th role="rowheader" scope="row" class="figure" data-label="Number" { "#" (row.number.0) }
            td role="cell" data-label="Kind" { (kind) }
            td role="cell" data-label="Archive" { span { (archive(agent, row, now)) } }
            td.figure role="cell" data-label="Tokens" {
                span.gauge { (parts::bar(row.tokens, longest)) span { (words::number(row.tokens)) } }
            }
            td role="cell" data-label="Origin" { (parts::time(row.created_at)) }
            td role="cell" data-label="Flags" { span { (flags(agent, row)) } }
            td role="cell" data-label="Change" { (acts) }
        }
    }
}

/// The menu of a row. One is open at a time.
fn acts(
    visitor: &Visitor,
    query: &MemoryListQuery,
    agent: &AgentHandle,
    row: &MemoryFacts,
    beside: Option<&MemoryFacts>,
) -> Markup {
    let number = row.number;
    html! {
        @if row.shredded_at.is_some() { span.none { "–" } }
        @else {
            @let select = format!("select-{}", number.0);
            div.check {
                input id=(select) form=(SELECTED) name="memory" type="checkbox" value=(number.0);
                label.hidden for=(select) { "Select memory " (number.0) }
                details.acts name="acts" {
                    summary aria-label={ "Change memory " (number.0) } { "Change" }
                    div.menu {
                        @for (handling, text) in offered_here(row) {
                            (button(visitor, query, agent, (number, beside), (handling, text)))
                        }
                        a.button href={ (agent_path(agent.scope().agent)) "/memories/" (number.0) "/shred" }
                            aria-label={ "Shred memory " (number.0) "…" } { "Shred…" }
                    }
                }
            }
        }
    }
}

/// When an archival memory was archived, and the core memory that it is under now; the sources of any other one.
fn archive(agent: &AgentHandle, row: &MemoryFacts, now: &NowByNumber) -> Markup {
    let path = format!("{}/memories", agent_path(agent.scope().agent));
    let under = form::address(&path, &[("under", &row.number.0.to_string())]);
    let sources = row.sources.len();
    html! {
        @if let Some(at) = row.archived_at {
            "archived " (parts::time(at)) " "
            @match (now.0.get(&row.number).copied(), row.under) {
                (Some(Number(core)), _) => {
                    @let before = form::after(core.saturating_sub(1));
                    @let page = form::address(&path, &[("after", &before)]);
                    a href={ (page) "#memory-" (core) } { "now #" (core) }
                },
                (None, Some(Number(under))) => span.of { "under #" (under) },
                (None, None) => span.of { "under none" },
            }
            @if sources > 0 { " · " a href=(under) { (words::number(sources as u64)) " under it" } }
        } @else if row.is_summary {
            span.badge.plain { "summary" } " "
            a href=(under) { "of " (words::counted(sources as u64, "memory", "memories")) }
        } @else if sources > 0 {
            a href=(under) { "took the place of " (words::number(sources as u64)) }
        } @else { span.none { "–" } }
    }
}

/// The core memory at the end of the chain of each archival memory (SPEC 1).
#[derive(Default)]
struct NowByNumber(BTreeMap<Number, Number>);

/// Links of a chain that are followed at most. A longer chain shows the memory directly above alone.
const LONGEST_CHAIN: usize = 100;

impl NowByNumber {
    async fn of(agent: &AgentHandle, rows: &[MemoryFacts]) -> Result<Self, PageFailure> {
        let mut known: BTreeMap<Number, (Kind, Option<Number>)> = BTreeMap::new();
        known.extend(rows.iter().map(place));
        let mut now = Self::default();
        for row in rows.iter().filter(|row| row.archived_at.is_some()) {
            let (mut seen, mut next) = (BTreeSet::new(), row.under);
            while let Some(number) = next.filter(|_| seen.len() < LONGEST_CHAIN) {
                if !seen.insert(number) {
                    break;
                }
                let (kind, under) = match known.get(&number) {
                    Some(found) => *found,
                    None => {
                        let (number, found) = place(&agent.views().memory(number).await?);
                        known.insert(number, found);
                        found
                    }
                };
                if kind == Kind::Core {
                    now.0.insert(row.number, number);
                    break;
                }
                next = under;
            }
        }
        Ok(now)
    }
}

/// Where a memory is in a chain. A discarded one ends it, since `under` then reads as none.
fn place(memory: &MemoryFacts) -> (Number, (Kind, Option<Number>)) {
    (memory.number, (memory.kind, memory.under))
}

/// One page of the memories that are in the prompt: core, and journal entries that have not expired.
async fn in_prompt(
    agent: &AgentHandle,
    mut page: MemoryPage,
) -> Result<Vec<MemoryFacts>, PageFailure> {
    let mut found = Vec::new();
    let wanted = page.limit as usize;
    // Archival memories are never in the prompt, and there may be many in a row.
    page.limit = page.limit.max(500);
    loop {
        let rows = agent.views().memory_page(&page).await?;
        let is_last = rows.len() < page.limit as usize;
        page.after = rows.last().map_or(page.after, |last| last.number.0);
        found.extend(rows.into_iter().filter(|row| row.kind != Kind::Archival));
        if is_last || found.len() >= wanted {
            return Ok(found);
        }
    }
}

fn flags(agent: &AgentHandle, row: &MemoryFacts) -> Markup {
    // An origin weaker than `agent` is shown with the memory (SPEC 2.4).
    let weak = Some(row.origin).filter(|origin| origin.weakness() > 0);
    html! {
        @if let Some(origin) = weak { span.badge.plain { "origin " (origin) } " " }
        @if is_expired(agent, row) { span.badge.plain { "expired" } " " }
        @if row.constitutional { span.badge.good { "constitutional" } " " }
        @if row.shredded_at.is_some() { span.badge.bad { "shredded" } }
        @else if row.discarded_at.is_some() { span.badge.plain { "discarded" } }
        @else if !row.constitutional && !is_expired(agent, row) && weak.is_none() { span.none { "none" } }
    }
}

/// Whether an active journal entry has expired from the prompt.
fn is_expired(agent: &AgentHandle, row: &MemoryFacts) -> bool {
    let is_old = row.created_at <= agent.views().expired(true).until;
    row.kind == Kind::Journal && row.discarded_at.is_none() && is_old
}

/// As [`offered`], to an administrator, who discards no report to the agent.
fn offered_here(row: &MemoryFacts) -> Vec<(&'static str, &'static str)> {
    let mut acts = offered(row);
    acts.retain(|(word, _)| *word != "discard" || !row.is_report);
    acts
}

/// The acts on a memory, by the words of the addresses.
pub(super) fn offered(row: &MemoryFacts) -> Vec<(&'static str, &'static str)> {
    // A shredded memory cannot be brought back.
    if row.shredded_at.is_some() {
        Vec::new()
    } else if row.discarded_at.is_some() {
        match row.is_summary {
            // A discarded summary returns only where what discarded it is undone (SPEC 4.3).
            true => Vec::new(),
            false => vec![("restore", "Restore")],
        }
    } else if row.constitutional {
        vec![("unprotect", "Unprotect")]
    } else if row.kind == Kind::Archival {
        vec![("promote", "Promote"), ("discard", "Discard")]
    } else if row.kind == Kind::Core && !row.is_summary {
        vec![("protect", "Protect"), ("discard", "Discard")]
    } else {
        vec![("discard", "Discard")]
    }
}

fn button(
    visitor: &Visitor,
    query: &MemoryListQuery,
    agent: &AgentHandle,
    (number, beside): (Number, Option<&MemoryFacts>),
    (handling, text): (&str, &str),
) -> Markup {
    let path = agent_path(agent.scope().agent);
    html! {
        form.inline method="post" action={ (path) "/memories/" (number.0) "/" (handling) } {
            (parts::form_token(visitor))
            (query.field())
            @if let Some(beside) = beside { input type="hidden" name="beside" value=(beside.number.0); }
            button.quiet type="submit" aria-label={ (text) " memory " (number.0) } { (text) }
        }
    }
}

pub(super) fn handling(word: &str) -> Result<Handling, PageFailure> {
    let mut acts = ACTS.into_iter();
    let found = acts.find_map(|(known, _, handling)| (known == word).then_some(handling));
    // The pages' buttons lead to no other address.
    found.ok_or_else(|| PageFailure::invalid("There is no action of that name."))
}

pub(crate) async fn handle(
    visitor: Visitor,
    form: SentForm,
    Path((_, number, word)): Path<(String, String, String)>,
    agent: AgentInPath,
) -> PageResult {
    let (number, handling) = (number_of(&number)?, handling(&word)?);
    let (back, actor) = (MemoryListQuery::of(&form)?, visitor.actor());
    let memories = agent.memories();
    let handled = memories.handle(number, handling, &actor).await?;
    let path = format!("{}/memories", agent_path(agent.scope().agent));
    let address = back.address(&path, back.after, &word);
    // To the row that was handled, or the one in its place, so that a long page keeps its place.
    let beside = form.number("beside").filter(|_| !back.shows(&handled));
    let place = beside.unwrap_or(number.0);
    Ok(see_other(&format!("{address}#memory-{place}")))
}

/// Carries out an act on each selected memory that permits it.
pub(crate) async fn handle_selected(
    visitor: Visitor,
    form: SentForm,
    agent: AgentInPath,
) -> PageResult {
    let word = form.field("act");
    let (handling, actor) = (handling(word)?, visitor.actor());
    let back = MemoryListQuery::of(&form)?;
    let selected = form.all().iter().filter(|(name, _)| name == "memory");
    let numbers = selected.filter_map(|(_, number)| number.parse().ok());
    let numbers: Vec<u64> = numbers.take(AT_ONCE as usize).collect();
    for &number in &numbers {
        let row = agent.views().memory(Number(number)).await?;
        if offered_here(&row).iter().any(|(known, _)| *known == word) {
            let handled = agent.memories().handle(row.number, handling, &actor);
            handled.await?;
        }
    }
    let path = format!("{}/memories", agent_path(agent.scope().agent));
    let address = |done| back.address(&path, back.after, done);
    Ok(see_other(&match numbers.first() {
        // To its row, so that a long page keeps its place.
        Some(first) => format!("{}#memory-{first}", address("selected")),
        None => address("none-selected"),
    }))
}
