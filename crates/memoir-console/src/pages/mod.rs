//! The pages, a file for each.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod fleet;
pub(crate) mod memories;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod undo;

use maud::{Markup, html};
use memoir_app::AgentHandle;
use memoir_domain::AgentId;

/// The parts of an agent's pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Overview,
    Memories,
    Sessions,
    Audit,
}

/// Where an agent's page is. By its identifier: a name may change, and is the agent's own to choose.
fn agent_path(id: AgentId) -> String {
    format!("/agents/{id}")
}

/// The name of an agent, and the way between its pages.
fn agent_head(agent: &AgentHandle, tab: Tab) -> Markup {
    let id = agent.scope().agent;
    let path = agent_path(id);
    let tabs = [
        (Tab::Overview, "Overview", path.clone()),
        (Tab::Memories, "Memories", format!("{path}/memories")),
        (Tab::Sessions, "Sessions", format!("{path}/sessions")),
        (Tab::Audit, "Audit", format!("/audit?agent={id}")),
    ];
    html! {
        p.crumb { a href="/" { "Fleet" } }
        h1 { (agent.name()) }
        nav.tabs aria-label="Agent" {
            @for (own, text, path) in tabs {
                a href=(path) aria-current=[(own == tab).then_some("page")] { (text) }
            }
        }
    }
}
