//! `/memory/{agent}/prompt`: the context as the agent's model gets it, within the bound of the last one or another that
//! can be chosen, and what is left out (SPEC 2.3).

use maud::{Markup, html};
use memoir_app::{AgentFacts, ContextRequest, ContextView, OwnAgent, ShownMemory};
use memoir_domain::memory::{Kind, Number, tokens};
use serde::Deserialize;

use super::{
    super::reading::{memory_badges, numbers, said},
    OwnTab, agent_page, agent_path,
};
use crate::{
    answer::{PageFailure, PageResult},
    assets::PageScript,
    browser::OwnAgentInPath,
    form::PageQuery,
    parts, words,
};

/// Memories that are shown of those left out.
const MOST_LEFT_OUT: usize = 50;
/// The least bound that can be chosen, in tokens.
const LEAST_BOUND: u64 = 100;

#[derive(Deserialize)]
pub(crate) struct PromptQuery {
    /// The bound of the whole text in tokens; that of the last context where it is left out.
    max: Option<u64>,
}

pub(crate) async fn show(
    PageQuery(query): PageQuery<PromptQuery>,
    agent: OwnAgentInPath,
) -> PageResult {
    // Explained, so that it is not noted as the context that a model read.
    let last = agent.last_context_request().await?;
    let whole = ContextRequest {
        max_tokens: None,
        is_hard: false,
        ..last
    };
    let whole_text = agent.requested_context(&whole).await?.text;
    let size = tokens(whole_text.expose());
    let request = query.max.map_or(last, |max| ContextRequest {
        max_tokens: Some(max).filter(|max| *max < size),
        ..whole
    });
    let bound = request.max_tokens;
    let context = agent.requested_context(&request).await?;
    let view = agent.views().show().await?;
    let path = agent_path(agent.scope().agent);
    let content = html! {
        p { "This text is placed in the prompt of the agent’s model, as it is." }
        (slider(&format!("{path}/prompt"), bound, size))
        p.hidden #stated role="status" {}
        section #found aria-labelledby="seen" data-stated=(stated(&context, bound)) {
            h2 #seen { @match bound {
                Some(bound) => { "Within " (words::counted(bound, "token", "tokens")) },
                None => "Without a bound of the whole",
            } }
            p.hint { @match (query.max, bound) {
                (Some(_), _) => a href={ (path) "/prompt" } { "Show it within the bound of the last context" },
                (None, Some(_)) => "This is the bound of the last context that was made for the agent.",
                (None, None) => "The last context had no bound of the whole, or none was made yet.",
            } }
            (sizes(&context))
            @if context.text.expose().is_empty() { p.empty { "There is nothing to see: no memory is in the prompt." } }
            @else { div.memory { (said(context.text.expose())) } }
            (left_out(&agent, &view, &context, &path).await?)
        }
    };
    Ok(agent_page(&agent, OwnTab::Prompt, "What {} sees now")
        .scripts(&[PageScript::Search])
        .show(content))
}

fn slider(path: &str, bound: Option<u64>, size: u64) -> Markup {
    html! {
        @if size > LEAST_BOUND {
            form method="get" action=(path) data-live="found" {
                label for="max" { "At most so many tokens" }
                input #max name="max" type="range" min=(LEAST_BOUND) max=(size) step="1"
                    value=(bound.map_or(size, |bound| bound.min(size))) aria-describedby="ends";
                p #ends .ends { span { (words::number(LEAST_BOUND)) }
                    span { "all " (words::counted(size, "token", "tokens")) } }
                button.quiet type="submit" { "Show" }
            }
        }
    }
}

/// What the page shows, for screen readers.
fn stated(context: &ContextView, bound: Option<u64>) -> String {
    let within = bound.map_or_else(String::new, |bound| {
        format!("within {}: ", words::counted(bound, "token", "tokens"))
    });
    words::capital(&format!(
        "{within}{} left out",
        words::counted(context.left_out.len() as u64, "memory", "memories")
    ))
}

fn sizes(context: &ContextView) -> Markup {
    let all = tokens(context.text.expose());
    let parts_of_it = context.core_tokens + context.journal_tokens;
    let tokens = |count: u64| html! { (words::counted(count, "token", "tokens")) };
    html! {
        dl.facts {
            (parts::pair("The whole text", tokens(all)))
            (parts::pair("Core memories", tokens(context.core_tokens)))
            (parts::pair("Journal of the last week", tokens(context.journal_tokens)))
            (parts::pair("Headings, dates and notes", tokens(all.saturating_sub(parts_of_it))))
            (parts::pair("Left out", html! {
                (words::counted(context.left_out.len() as u64, "memory", "memories"))
            }))
        }
    }
}

async fn left_out(
    agent: &OwnAgent,
    view: &AgentFacts,
    context: &ContextView,
    path: &str,
) -> Result<Markup, PageFailure> {
    if context.left_out.is_empty() {
        return Ok(html! {});
    }
    let mut memories = Vec::new();
    for &number in context.left_out.iter().take(MOST_LEFT_OUT) {
        memories.push(agent.lens().memory(number).await?);
    }
    let rest = context.left_out.iter().skip(MOST_LEFT_OUT);
    let rest: Vec<Number> = rest.copied().collect();
    let core = view.settings.expose().get("context_core_tokens");
    let core = core.and_then(serde_json::Value::as_u64);
    Ok(html! {
        h2 { "Left out" }
        p { "Whole memories are left out for want of room, journal entries before core memories; constitutional ones \
            stay, except beyond a client’s own limit. The journal has room for "
            (words::counted(view.effective_context_journal_tokens, "token", "tokens"))
            @if let Some(core) = core { ", core for " (words::counted(core, "token", "tokens")) }
            ", by the agent’s settings. Recall finds what is left out." }
        @for memory in &memories { (without_room(memory, path)) }
        @if !rest.is_empty() { p.of { "And " (numbers(&rest, Some(path))) } }
    })
}

fn without_room(memory: &ShownMemory, path: &str) -> Markup {
    let why = match memory.kind {
        Kind::Journal => "A journal entry: these are left out first.",
        _ => "A core memory that had no room left.",
    };
    html! {
        article.memory aria-labelledby={ "memory-" (memory.number.0) } {
            header {
                h3 id={ "memory-" (memory.number.0) } { (numbers(&[memory.number], Some(path))) }
                (memory_badges(memory))
                span.of { (parts::time(memory.created_at)) ", " (words::counted(memory.tokens, "token", "tokens")) }
            }
            (said(memory.content()))
            p.of { (why) }
        }
    }
}
