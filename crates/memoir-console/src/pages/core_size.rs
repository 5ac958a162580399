//! The core size of an agent over time: the curve on its page, and `/agents/{agent}/mass` with a table beside it.

use axum::extract::State;
use maud::{Markup, html};
use memoir_app::{AgentHandle, CoreSizeHistory};
use memoir_domain::Timestamp;
use serde::Deserialize;

use super::{Tab, agent_page, agent_path};
use crate::{
    Console,
    answer::{PageFailure, PageResult},
    browser::{AgentInPath, Visitor},
    field::with_code,
    form::PageQuery,
    parts, plot, words,
};

/// The days of the curve on an agent's page, and its parts: about one for each dot of a wide screen.
const DAYS: u32 = 90;
const PARTS: usize = 720;
/// The choices: the days back from now, the label, and the rows of the table.
const RANGES: [(Option<u32>, &str, usize); 4] = [
    (Some(30), "30 days", 30),
    (Some(90), "90 days", 45),
    (Some(365), "A year", 52),
    (None, "All", 60),
];

#[derive(Deserialize)]
pub(crate) struct CoreSizeQuery {
    days: Option<u32>,
}

/// An agent's core size over the requested days.
struct CoreSizeCurve {
    history: CoreSizeHistory,
    budget: u64,
}

impl CoreSizeQuery {
    fn range(&self) -> Result<(Option<u32>, &'static str, usize), PageFailure> {
        let mut ranges = RANGES.into_iter();
        let unknown = || PageFailure::invalid("There is no such range.");
        ranges
            .find(|(days, ..)| *days == self.days)
            .ok_or_else(unknown)
    }
}

/// The core size over these days in so many parts, or in fewer that are not shorter than the minimum.
async fn core_size_changes(
    agent: &AgentHandle,
    now: Timestamp,
    days: Option<u32>,
    parts: usize,
    least_seconds: i64,
) -> Result<CoreSizeCurve, PageFailure> {
    let view = agent.views().show().await?;
    // Not before its creation.
    let since = days.map(|days| now.plus_days(-i64::from(days)).max(view.created_at));
    let seconds = now.seconds_since(since.unwrap_or(view.created_at));
    // An agent of an hour has fewer than 720 parts: shorter ones could not be drawn, or would be empty rows. Where the
    // clock was set back, the agent's creation may be after `now`: the difference is negative, and there are no parts.
    let parts = parts.min(usize::try_from(seconds / least_seconds).unwrap_or(0));
    Ok(CoreSizeCurve {
        history: agent.log().core_size_history(since, now, parts).await?,
        budget: view.effective_core_token_budget,
    })
}

impl CoreSizeCurve {
    /// Drawn, under the heading `mass`.
    fn figure(&self) -> Markup {
        let points = &self.history.points;
        let edges = [points.first(), points.last()];
        let edges =
            edges.map(|point| html! { @if let Some(point) = point { (parts::time(point.at)) } });
        plot::over_time(&self.history, self.budget).figure("mass", "budget", &plot::LEGEND, edges)
    }
}

pub(super) async fn section(agent: &AgentHandle, now: Timestamp) -> Markup {
    let path = agent_path(agent.scope().agent);
    // A part lasts a second at least, since the curve has no finer time.
    let curve = core_size_changes(agent, now, Some(DAYS), PARTS, 1).await;
    html! {
        section aria-labelledby="mass" {
            h2 #mass { "Core size over time" }
            @match curve {
                Ok(curve) => (curve.figure()),
                // The rest of the agent's page is shown all the same.
                Err(failure) => p.problem { (with_code(failure.message())) },
            }
            p { a href={ (path) "/mass?days=" (DAYS) } { "In figures" } }
        }
    }
}

pub(crate) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    PageQuery(query): PageQuery<CoreSizeQuery>,
    agent: AgentInPath,
) -> PageResult {
    let (days, _, rows) = query.range()?;
    let curve = core_size_changes(&agent, console.memoir().now(), days, rows, 3_600).await?;
    let path = format!("{}/mass", agent_path(agent.scope().agent));
    let content = html! {
        h2 #mass { "Core size over time" }
        nav.row aria-label="Range" {
            @for (own, text, _) in RANGES {
                @let own_path = match own { Some(days) => format!("{path}?days={days}"), None => path.clone() };
                a href=(own_path) aria-current=[(own == days).then_some("true")] { (text) }
            }
        }
        (curve.figure())
        (table(&curve))
    };
    Ok(agent_page(&visitor, &agent, Tab::Overview, "Core size of {}").show(content))
}

fn table(curve: &CoreSizeCurve) -> Markup {
    let happenings = plot::happenings(&curve.history);
    // Points are numbered before the order is reversed: `happenings` has the places of the points from the oldest on.
    let points = curve.history.points.iter().enumerate().rev();
    html! {
        (parts::table("Core size over time, the newest first",
            &["Until", "Core size", "Lowest", "Highest", "Of the budget", "What happened"], &[1, 2, 3], html! {
            @for (place, point) in points {
                tr role="row" {
                    th role="rowheader" scope="row" data-label="Until" { (parts::time(point.at)) }
                    td.figure role="cell" data-label="Core size" { (words::number(point.core_tokens)) }
                    td.figure role="cell" data-label="Lowest" { (words::number(point.lowest_core_tokens)) }
                    td.figure role="cell" data-label="Highest" { (words::number(point.highest_core_tokens)) }
                    td role="cell" data-label="Of the budget" {
                        span.gauge {
                            (parts::bar(point.core_tokens, curve.budget))
                            span { (words::percent(point.core_tokens, curve.budget)) "\u{a0}%" }
                        }
                    }
                    td role="cell" data-label="What happened" {
                        (happened(happenings.get(&place).map_or(&[], Vec::as_slice)))
                    }
                }
            }
        }))
    }
}

fn happened(all: &[plot::Happening]) -> Markup {
    html! {
        @if all.is_empty() { span.none { "–" } }
        @else {
            ul.lines {
                @for one in all {
                    li {
                        @match &one.path {
                            Some(path) => a href=(path) { (one.text) },
                            None => (one.text),
                        }
                    }
                }
            }
        }
    }
}
