//! `/memory/{agent}/archive`: summaries and other memories that took the place of others, with these folded under them.

use maud::{Markup, html};
use memoir_app::{MemoryPage, OwnAgent, ShownMemory};
use memoir_domain::memory::{Kind, Number};
use serde::Deserialize;

use super::{super::reading::memory_words, OwnTab, agent_page, agent_path};
use crate::{
    answer::{PageFailure, PageResult},
    browser::OwnAgentInPath,
    form::{self, PageQuery},
    parts, words,
};

/// Memories with others under them on a page.
const AT_ONCE: u32 = 25;
/// Memories that are shown under one; the rest is on its own page.
const SOURCES: usize = 20;

#[derive(Deserialize)]
pub(crate) struct OwnArchiveQuery {
    /// The number of the last memory of the page before.
    #[serde(default)]
    after: u64,
}

pub(crate) async fn show(
    PageQuery(query): PageQuery<OwnArchiveQuery>,
    agent: OwnAgentInPath,
) -> PageResult {
    let path = agent_path(agent.scope().agent);
    let archive = format!("{path}/archive");
    let page = MemoryPage {
        // Numbers are kept as signed ones, and an address may hold any.
        after: query.after.min(i64::MAX as u64),
        limit: AT_ONCE,
        kind: Some(Kind::Core),
        ..MemoryPage::default()
    };
    let lens = agent.lens();
    let above = lens.memory_page(&page, |memory| !memory.sources.is_empty());
    let (above, has_more) = above.await?;
    let next = above.last().filter(|_| has_more);
    let next = next.map(|last| form::address(&archive, &[("after", &form::after(last.number.0))]));
    let counts = agent.views().show().await?.counts;
    let all = form::address(&path, &[("kind", "archival")]);
    let mut shown = Vec::with_capacity(above.len());
    for memory in &above {
        shown.push(article(&agent, memory, &path).await?);
    }
    let content = html! {
        p.count { (words::counted(counts.archival_count, "archival memory", "archival memories")) ", "
            (words::counted(counts.archival_tokens, "token", "tokens"))
            @if counts.archival_count > 0 { " · " a href=(all) { "Show them all, the newest first" } } }
        section aria-labelledby="above" {
            h2 #above { "What took their place" }
            @if above.is_empty() {
                p.empty { "No memory in the prompt took the place of others." }
            }
            @for memory in &shown { (memory) }
            (parts::further((query.after > 0).then_some(archive.as_str()), next.as_deref()))
        }
    };
    Ok(agent_page(&agent, OwnTab::Archive, "The archive of {}").show(content))
}

/// A memory, with those under it.
async fn article(
    agent: &OwnAgent,
    memory: &ShownMemory,
    path: &str,
) -> Result<Markup, PageFailure> {
    let page = MemoryPage {
        limit: SOURCES as u32,
        under: Some(memory.number),
        ..MemoryPage::default()
    };
    let (sources, _) = agent.lens().memory_page(&page, |_| true).await?;
    let count = memory.sources.len() as u64;
    let Number(number) = memory.number;
    Ok(html! {
        article.memory aria-labelledby={ "memory-" (number) } {
            (memory_words(memory, "h3", Some(path)))
            details {
                summary { (words::counted(count, "memory", "memories")) " under it" }
                @for source in &sources { div.source { (memory_words(source, "h3", Some(path))) } }
                @if count > SOURCES as u64 {
                    p.of { "The others are linked above." }
                }
            }
        }
    })
}
