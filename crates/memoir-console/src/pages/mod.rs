//! The pages, a file for each.

pub(crate) mod access;
pub(crate) mod access_request;
pub(crate) mod account;
pub(crate) mod activity;
pub(crate) mod agent;
pub(crate) mod audit;
mod audit_filter;
pub(crate) mod code;
pub(crate) mod connect;
pub(crate) mod connect_agent;
pub(crate) mod core_size;
pub(crate) mod erase;
pub(crate) mod first;
pub(crate) mod fleet;
pub(crate) mod memories;
pub(crate) mod new_agent;
pub(crate) mod own;
pub(crate) mod password;
pub(crate) mod reading;
pub(crate) mod refine;
pub(crate) mod rehearsal;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod time;
mod timeline;
pub(crate) mod tokens;
pub(crate) mod undo;

use maud::{Markup, html};
use memoir_app::AgentHandle;
use memoir_domain::AgentId;

use crate::{
    browser::Visitor,
    parts::{ConsoleSection, FramedPage},
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Overview,
    Memories,
    Sessions,
    Time,
    Access,
    Audit,
    Settings,
}

/// The path of an agent's page. By its identifier: the agent can change its name.
fn agent_path(id: AgentId) -> String {
    format!("/agents/{id}")
}

/// A page of an agent, which begins with its name and the way between its pages. In the title, `{}` is the name.
fn agent_page(visitor: &Visitor, agent: &AgentHandle, tab: Tab, title: &str) -> FramedPage {
    let place = match tab {
        Tab::Audit => ConsoleSection::Audit,
        _ => ConsoleSection::Fleet,
    };
    let title = title.replace("{}", agent.name());
    FramedPage::new(visitor, title, place).headed(agent_head(agent, tab))
}

fn agent_head(agent: &AgentHandle, tab: Tab) -> Markup {
    let id = agent.scope().agent;
    let path = agent_path(id);
    let tabs = [
        (Tab::Overview, "Overview", path.clone()),
        (Tab::Memories, "Memories", format!("{path}/memories")),
        (Tab::Sessions, "Sessions", format!("{path}/sessions")),
        (Tab::Time, "Time machine", format!("{path}/time")),
        (Tab::Access, "Access", format!("{path}/access")),
        (Tab::Audit, "Audit", format!("/audit?agent={id}")),
        (Tab::Settings, "Settings", format!("{path}/settings")),
    ];
    html! {
        p.crumb { a href="/" { "Fleet" } }
        @if tab == Tab::Overview {
            div.headline {
                h1 { (agent.name()) }
                div.stated-by {
                    a.button href={ (path) "#actions" } { "Refine…" }
                    a.button href={ (path) "/access" } { "Ask for access…" }
                }
            }
        } @else { h1 { (agent.name()) } }
        nav.tabs aria-label="Agent" {
            @for (own, text, path) in tabs {
                a href=(path) aria-current=[(own == tab).then_some("page")] { (text) }
            }
        }
    }
}
