//! `/`: every agent of the account, and its state.

use axum::extract::State;
use maud::{Markup, html};
use memoir_app::{CORE_SIZE_DAYS, FleetOrder, FleetQuery, FleetView, ListedAgent};
use memoir_domain::{Timestamp, session::Health};
use serde::{Deserialize, Serialize};

use crate::{
    Console,
    answer::PageResult,
    browser::Visitor,
    form::{self, PageQuery},
    pages::{agent::next, agent_path},
    parts::{self, ConsoleSection, FramedPage},
    plot, words,
};

const AT_ONCE: u32 = 50;

/// The column with where the originals are.
const ORIGINALS: &str = "In prompt / archived";

/// The columns: the order, its word in addresses, the heading, and whether the largest come first.
const COLUMNS: [(FleetOrder, &str, &str, bool); 8] = [
    (FleetOrder::Health, "health", "Health", false),
    (FleetOrder::Name, "name", "Agent", false),
    (FleetOrder::Share, "mass", "Core size of budget", true),
    (FleetOrder::Archived, "archived", ORIGINALS, true),
    (FleetOrder::LastSession, "last", "Last session", true),
    (FleetOrder::Next, "next", "Next session", false),
    (FleetOrder::Breaker, "breaker", "To the breaker", false),
    (FleetOrder::Access, "access", "Access", true),
];

#[derive(Deserialize, Serialize)]
pub(crate) struct FleetPageQuery {
    q: Option<String>,
    health: Option<String>,
    sort: Option<String>,
    turn: Option<String>,
    page: Option<u64>,
}

impl FleetPageQuery {
    fn column(&self) -> (FleetOrder, &'static str, &'static str, bool) {
        let sort = self.sort.as_deref();
        let found = COLUMNS.iter().find(|column| Some(column.1) == sort);
        // An unknown word in the address sorts by the first column.
        *found.unwrap_or(&COLUMNS[0])
    }

    /// The health to which the list is filtered. An unknown word in the address filters nothing.
    fn health(&self) -> Option<Health> {
        self.health.as_deref().and_then(Health::from_name)
    }

    fn is_turned(&self) -> bool {
        self.turn.as_deref() == Some("yes")
    }

    /// The number of the page, from 1.
    fn page(&self) -> u64 {
        self.page.unwrap_or(1).max(1)
    }

    fn fleet_query(&self) -> FleetQuery {
        let (order, _, _, greatest_first) = self.column();
        FleetQuery {
            text: self.q.clone().unwrap_or_default(),
            health: self.health(),
            order,
            descending: greatest_first != self.is_turned(),
            // The address may hold any page number.
            offset: (self.page() - 1).saturating_mul(u64::from(AT_ONCE)),
            limit: AT_ONCE,
        }
    }

    /// The address of another page, or another order, of the list of that health.
    fn address(&self, health: Option<Health>, sort: &str, is_turned: bool, page: u64) -> String {
        let page = Self {
            q: self.q.clone(),
            health: health.map(|health| health.as_str().to_owned()),
            sort: (sort != COLUMNS[0].1).then(|| sort.to_owned()),
            turn: is_turned.then(|| "yes".to_owned()),
            page: Some(page).filter(|page| *page > 1),
        };
        form::address_of("/", &page)
    }
}

pub(crate) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    PageQuery(query): PageQuery<FleetPageQuery>,
) -> PageResult {
    let fleet = visitor.account.fleet(&query.fleet_query()).await?;
    let content = html! {
        div.headline {
            h1 { "Fleet" }
            div.stated-by {
                (search(&query))
                a.button href="/agents/new" { "New agent" }
            }
        }
        p.count { (words::counted(fleet.total, "agent", "agents"))
            @if let Some(text) = &query.q { " with “" (text) "” in the name" }
        }
        @if !console.memoir().schedule().enabled {
            p.notice { "The schedule is off in this installation (" code { "enabled" } " in " code { "[schedule]" }
                " of its configuration): agents are asked only on request." }
        }
        (filters(&query, &fleet))
        @if fleet.agents.is_empty() {
            (no_agents(&query))
        } @else {
            (table(&query, &fleet, console.memoir().now()))
            (pager(&query, fleet.total))
        }
    };
    Ok(FramedPage::new(&visitor, "Fleet", ConsoleSection::Fleet).show(content))
}

fn search(query: &FleetPageQuery) -> Markup {
    html! {
        form.search role="search" method="get" action="/" {
            @if let Some(sort) = &query.sort { input type="hidden" name="sort" value=(sort); }
            @if let Some(health) = query.health() { input type="hidden" name="health" value=(health); }
            @if query.is_turned() { input type="hidden" name="turn" value="yes"; }
            label.hidden for="q" { "Name of an agent" }
            input #q name="q" type="search" placeholder="Name" maxlength="100"
                value=(query.q.as_deref().unwrap_or_default());
            button.quiet type="submit" { "Search" }
        }
    }
}

/// The counts of each health, as links that show only those agents.
fn filters(query: &FleetPageQuery, fleet: &FleetView) -> Markup {
    let all: u64 = fleet.by_health.iter().sum();
    let counted = Health::ALL.into_iter().zip(fleet.by_health);
    let shown = |(health, count): &(Health, u64)| *count > 0 || query.health() == Some(*health);
    let link = |health: Option<Health>, count: u64, text: &str| {
        let path = query.address(health, query.column().1, query.is_turned(), 1);
        let current = (query.health() == health).then_some("true");
        html! { a href=(path) aria-current=[current] { (words::number(count)) " " (text) } }
    };
    html! {
        @if all > 0 {
            nav.row aria-label="Health" {
                (link(None, all, "in all"))
                @for (health, count) in counted.filter(shown) {
                    // After the number of its agents: `2 whose last session failed`.
                    (link(Some(health), count, &health.label().replacen("its ", "whose ", 1)))
                }
            }
        }
    }
}

fn no_agents(query: &FleetPageQuery) -> Markup {
    html! {
        @if query.q.is_some() || query.health().is_some() || query.page() > 1 {
            p.empty { "No agents here. " a href="/" { "Show all agents" } }
        } @else {
            p.empty { "There are no agents yet. " a href="/agents/new" { "Make the first one" } "." }
        }
    }
}

fn table(query: &FleetPageQuery, fleet: &FleetView, now: Timestamp) -> Markup {
    html! {
        div.scroll {
            table.cards.fleet role="table" {
                caption.hidden { "Agents, sorted by " (query.column().2.to_lowercase()) }
                thead role="rowgroup" {
                    tr role="row" { @for column in COLUMNS { (heading(query, column)) } }
                }
                tbody role="rowgroup" {
                    @for listed in &fleet.agents { (row(listed, now)) }
                }
            }
        }
    }
}

fn heading(
    query: &FleetPageQuery,
    (order, word, text, greatest_first): (FleetOrder, &str, &str, bool),
) -> Markup {
    let is_sorted = query.column().0 == order;
    let is_turned = is_sorted && query.is_turned();
    let descending = greatest_first != is_turned;
    let sorted = if descending {
        "descending"
    } else {
        "ascending"
    };
    // Sorting again by the same column reverses the order.
    let path = query.address(query.health(), word, is_sorted && !is_turned, 1);
    let is_figure = !matches!(
        order,
        FleetOrder::Health | FleetOrder::Name | FleetOrder::LastSession | FleetOrder::Next
    );
    let class = match order {
        FleetOrder::Breaker => Some("figure breaker"),
        _ => is_figure.then_some("figure"),
    };
    html! {
        th role="columnheader" scope="col" class=[class]
            aria-sort=[is_sorted.then_some(sorted)] {
            a href=(path) { (text)
                @if is_sorted { span.turn aria-hidden="true" { (if descending { " ↓" } else { " ↑" }) } }
            }
        }
    }
}

fn row(listed: &ListedAgent, now: Timestamp) -> Markup {
    let agent = &listed.agent;
    let (size, budget) = (agent.counts.core_tokens, agent.effective_core_token_budget);
    let last = listed.last_session.as_ref();
    html! {
        tr role="row" {
            td.health role="cell" data-label="Health" {
                span.troubled[agent.health != Health::InOrder] { (words::capital(&listed.health_words())) }
            }
            th role="rowheader" scope="row" data-label="Agent" {
                a.name.long[agent.name.len() > parts::UNBROKEN] href=(agent_path(agent.id)) { (agent.name) }
            }
            td.figure.size role="cell" data-label="Core size of budget" {
                span.gauge { (parts::bar(size, budget))
                    span { (words::number(size)) span.of { " of " (words::number(budget)) } }
                }
                (plot::spark(&listed.core_sizes, budget, CORE_SIZE_DAYS))
            }
            td.figure role="cell" data-label=(ORIGINALS) {
                @let originals = &agent.counts.originals;
                span { (words::number(originals.in_prompt)) span.of { " / " (words::number(originals.archived)) } }
            }
            td.last role="cell" data-label="Last session" {
                @match last {
                    Some(last) => span {
                        (parts::state(last)) " "
                        a href={ "/sessions/" (last.id) } { (parts::relative(last.started_at, now)) }
                    },
                    None => span.none { "never" },
                }
            }
            td role="cell" data-label="Next session" { (next(agent, now)) }
            td.figure.breaker role="cell" data-label="To the breaker" { (words::number(listed.breaker_removable_tokens)) }
            td.figure.access role="cell" data-label="Access" {
                @if listed.open_requests == 0 { span.none { "0" } }
                @else {
                    a.badge.bad href={ (agent_path(agent.id)) "/access" } { (listed.open_requests) " open" }
                }
            }
        }
    }
}

fn pager(query: &FleetPageQuery, total: u64) -> Markup {
    let last = total.div_ceil(u64::from(AT_ONCE));
    let number = query.page();
    let (health, sort) = (query.health(), query.column().1);
    let path = |page| query.address(health, sort, query.is_turned(), page);
    let before = (number > 1).then(|| path(number - 1));
    let after = (number < last).then(|| path(number + 1));
    html! {
        @if last > 1 {
            p.count { "Page " (words::number(number)) " of " (words::number(last)) }
        }
        (parts::pages(
            "Pages",
            before.as_deref().map(|path| (path, "← Page before")),
            after.as_deref().map(|path| (path, "Next page →")),
        ))
    }
}
