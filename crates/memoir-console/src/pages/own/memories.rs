//! `/memory/{agent}`: all memories with their text, searched and filtered.

use axum::http::StatusCode;
use maud::{Markup, html};
use memoir_app::{OwnAgent, ShownMemory};
use memoir_domain::{
    Timestamp,
    memory::{Invalid, Number},
    origin::Origin,
    recall::{RecallPlace, RecallQuery},
};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        memories::kind,
        reading::{memory_badges, memory_links, numbers, tags},
    },
    OwnTab, agent_page, agent_path,
};
use crate::{
    answer::{PageFailure, PageResult, page_of},
    assets::PageScript,
    browser::OwnAgentInPath,
    field::{Faults, LabelledField},
    form::{self, PageQuery, typed},
    parts, words,
};

const AT_ONCE: usize = 50;
/// Characters of a memory in the list; the rest is on its own page, so that the list stays light.
const EXCERPT: usize = 600;

/// The search, as the address has it. A blank parameter counts as omitted.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct OwnMemoriesQuery {
    /// Words, or a whole question.
    q: Option<String>,
    kind: Option<String>,
    tag: Option<String>,
    origin: Option<String>,
    /// The first and the last day of the origin dates.
    since: Option<String>,
    until: Option<String>,
    /// `yes` for constitutional memories only, `no` for others only.
    protected: Option<String>,
    /// `yes` for discarded ones too.
    discarded: Option<String>,
    /// `newest`, or the best match first.
    order: Option<String>,
    /// The place of the page before: how many were seen, the last one, and the one before it.
    seen: Option<usize>,
    last: Option<u64>,
    before: Option<u64>,
}

impl OwnMemoriesQuery {
    /// The search; a wrong day is added to the faults.
    fn recall(&self, faults: &mut Faults) -> Result<RecallQuery, PageFailure> {
        let mut day = |id, label, day: &Option<String>, read: fn(&str) -> Option<Timestamp>| {
            let time = day.as_deref().map(read);
            if time == Some(None) {
                faults.add(id, label, "must be a day such as 2026-05-01");
            }
            time.flatten()
        };
        let since = day("since", "From", &self.since, words::read_time);
        let until = day("until", "Until", &self.until, words::read_until);
        if Invalid::check_range(since, until).is_err() {
            faults.add("until", "Until", "must not be before From");
        }
        let origin = self.origin.as_deref().map(|name| {
            Origin::from_name(name).ok_or_else(|| PageFailure::invalid("There is no such origin."))
        });
        Ok(RecallQuery {
            text: self.q.as_deref().unwrap_or_default().into(),
            since,
            until,
            kind: kind(self.kind.as_deref())?,
            tag: self.tag.as_deref().map(Into::into),
            origin: origin.transpose()?,
            protected: match self.protected.as_deref() {
                Some("yes") => Some(true),
                Some("no") => Some(false),
                _ => None,
            },
            newest_first: self.order.as_deref() == Some("newest"),
            limit: AT_ONCE + 1,
            ..RecallQuery::default()
        })
    }

    fn place(&self) -> Option<RecallPlace> {
        Some(RecallPlace {
            seen: self.seen?,
            last: Number(self.last?),
            before: self.before.map(Number),
        })
    }

    fn with_discarded(&self) -> bool {
        self.discarded.as_deref() == Some("yes")
    }

    /// Whether anything but the words narrows the list.
    fn is_filtered(&self) -> bool {
        let filter = Self {
            q: None,
            ..self.clone()
        };
        !filter.address("", None).is_empty()
    }

    /// The address of the same search, from a place on.
    fn address(&self, path: &str, place: Option<RecallPlace>) -> String {
        let page = Self {
            seen: place.map(|place| place.seen),
            last: place.map(|place| place.last.0),
            before: place.and_then(|place| place.before).map(|before| before.0),
            ..self.clone()
        };
        form::address_of(path, &page)
    }
}

pub(crate) async fn show(
    PageQuery(query): PageQuery<OwnMemoriesQuery>,
    agent: OwnAgentInPath,
) -> PageResult {
    let lens = agent.lens();
    let place = query.place();
    let mut faults = Faults::default();
    let recall = query.recall(&mut faults)?;
    let mut found = Vec::new();
    // With faults in the form nothing is searched: the result would not match the form.
    if faults.is_empty() {
        let page = lens.recall_page(&recall, place, query.with_discarded());
        found = page.await?.found;
    }
    let path = agent_path(agent.scope().agent);
    let next = form::cut(&mut found, AT_ONCE);
    let next = next.map(|(last, _)| query.address(&path, Some(last.place())));
    let first = query.address(&path, None);
    let memories: Vec<ShownMemory> = found.into_iter().map(|(_, memory)| memory).collect();
    let stated = match faults.is_empty() {
        true => stated(&query, memories.len(), place.map_or(0, |place| place.seen)),
        false => "Nothing was searched".to_owned(),
    };
    let content = html! {
        (counts(&agent).await?)
        (faults.wrong())
        (search(&query, &path, &faults))
        p.hidden #stated role="status" {}
        section #found aria-labelledby="found-heading" data-stated=(stated) {
            h2.hidden #found-heading { "Memories" }
            @if memories.is_empty() && faults.is_empty() { (nothing(&query, &path)) }
            @else { p.count { (stated) } }
            @for memory in &memories { (listed(memory, &path)) }
            (parts::further(place.map(|_| first.as_str()), next.as_deref()))
        }
    };
    let shown = agent_page(&agent, OwnTab::Memories, "What {} remembers")
        .scripts(&[PageScript::Search])
        .show(content);
    Ok(match faults.is_empty() {
        true => shown,
        false => page_of(StatusCode::BAD_REQUEST, shown),
    })
}

async fn counts(agent: &OwnAgent) -> Result<Markup, PageFailure> {
    let view = agent.views().show().await?;
    let counts = &view.counts;
    Ok(html! {
        p.count {
            (words::counted(counts.core_count, "core memory", "core memories"))
            " (" (words::number(counts.core_tokens)) " of "
            (words::counted(view.effective_core_token_budget, "token", "tokens")) "), "
            (words::counted(counts.journal_count, "journal entry", "journal entries")) ", "
            (words::number(counts.archival_count)) " in the archive"
        }
    })
}

/// What the list shows, in words.
fn stated(query: &OwnMemoriesQuery, shown: usize, seen: usize) -> String {
    let newest = query.q.is_none() || query.order.as_deref() == Some("newest");
    let order = if newest { "newest" } else { "best" };
    match (shown, seen) {
        (0, _) => "No memory found".to_owned(),
        (1, 0) => "1 memory".to_owned(),
        (shown, 0) if shown < AT_ONCE => format!("{shown} memories, the {order} first"),
        (shown, seen) => format!(
            "Memories {} to {}, the {order} first",
            words::number(seen.saturating_add(1) as u64),
            words::number(seen.saturating_add(shown) as u64)
        ),
    }
}

fn nothing(query: &OwnMemoriesQuery, path: &str) -> Markup {
    html! {
        @if query.q.is_some() || query.is_filtered() || query.seen.is_some() {
            p.empty { "No memory found. " a href=(path) { "Show all memories" } }
        } @else {
            p.empty { "Nothing is remembered yet. What the agent saves appears here." }
        }
    }
}

fn search(query: &OwnMemoriesQuery, path: &str, faults: &Faults) -> Markup {
    let choice = |id, label, chosen, options: &[(&str, &str)]| {
        LabelledField::new(id, label).choice(typed(chosen), options)
    };
    html! {
        form role="search" method="get" action=(path) data-live="found" {
            div.search {
                label.hidden for="q" { "Words or a question" }
                input #q name="q" type="search" placeholder="Words or a question" maxlength="1000"
                    autocomplete="off" value=(typed(&query.q));
                button.quiet type="submit" { "Search" }
            }
            details open[query.is_filtered()] {
                summary { "Filters and order" }
                div.row {
                    (choice("kind", "Kind", &query.kind, &[("", "All kinds"), ("core", "Core"),
                        ("journal", "Journal"), ("archival", "In the archive")]))
                    (choice("protected", "Protection", &query.protected, &[("", "All"),
                        ("yes", "Constitutional"), ("no", "Others")]))
                    (choice("origin", "Origin", &query.origin, &[("", "All origins"), ("agent", "Agent"),
                        ("administrator", "Owner or administrator"), ("conversation", "Conversation"),
                        ("import", "Import"), ("external", "External")]))
                    (LabelledField::new("tag", "Tag").text(typed(&query.tag)))
                    (LabelledField::new("since", "From").faults(faults).day(typed(&query.since)))
                    (LabelledField::new("until", "Until").faults(faults).day(typed(&query.until)))
                    (choice("order", "Order", &query.order, &[("", "Best match first"), ("newest", "Newest first")]))
                    (parts::check("discarded", "Discarded ones too", query.with_discarded()))
                    button.quiet type="submit" { "Show" }
                }
            }
        }
    }
}

fn listed(memory: &ShownMemory, path: &str) -> Markup {
    let text = memory.content();
    let end = text.char_indices().nth(EXCERPT).map(|(end, _)| end);
    let number = memory.number.0;
    html! {
        article.memory aria-labelledby={ "memory-" (number) } {
            header {
                h3 id={ "memory-" (number) } { (numbers(&[memory.number], Some(path))) }
                (memory_badges(memory))
                @if memory.is_summary { span.badge.plain { "summary" } }
                span.of { (parts::time(memory.created_at)) }
            }
            div.said dir="auto" { (end.map_or(text, |end| &text[..end])) @if end.is_some() { "…" } }
            @if end.is_some() {
                p { a href={ (path) "/" (number) } aria-label={ "All of memory #" (number) } { "All of it" } }
            }
            @if memory.shredded_at.is_some() { p.none { "Its text was removed for good." } }
            (tags(memory.tags()))
            @match memory.replaced() {
                Some(replaced) => p.of { "Until " (parts::time(replaced.until)) ", now "
                    (numbers(&[replaced.now], Some(path))) },
                None => (memory_links(memory, Some(path))),
            }
        }
    }
}
