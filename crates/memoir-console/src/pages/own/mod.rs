//! `/memory`: the personal page, for the owner of an open installation (SPEC 6.6).
//!
//! It opens by the link that `memoir ui` prints. Its pages show an agent's text as the command line does, from the
//! [`OwnAgent`] of an [`OwnerSession`](memoir_app::OwnerSession), and change it as the owner, on the record.

pub(crate) mod archive;
mod history;
pub(crate) mod memories;
pub(crate) mod memory;
pub(crate) mod prompt;
pub(crate) mod session;
pub(crate) mod waiting;
pub(crate) mod week;

use axum::{
    extract::{Path, State},
    http::{StatusCode, header, request::Parts},
    response::Response,
};
use maud::{Markup, html};
use memoir_app::{AgentFacts, OwnAgent};
use memoir_domain::{
    AgentId,
    audit::{Actor, ActorKind},
};

use crate::{
    Console,
    answer::{PageResult, page, page_of, see_other},
    browser::{self, Owner},
    parts::{self, FramedPage},
    words,
};

/// The first page, and the text of links to it.
pub(crate) const HOME: (&str, &str) = ("/memory", "Back to the agents");

const AGENTS: u32 = 200;

/// The page of the memories that the user most likely came from, and the text of a link to it.
pub(crate) fn way_back(path: &str) -> Option<(String, &'static str)> {
    let below = path.strip_prefix(HOME.0)?.strip_prefix('/')?;
    // Without a further part it is that page itself.
    let (agent, _) = below.split_once('/')?;
    Some((format!("{}/{agent}", HOME.0), "Back to the memories"))
}

/// The path of an agent's memories. By its identifier: the agent can change its name.
fn agent_path(id: AgentId) -> String {
    format!("{}/{id}", HOME.0)
}

pub(crate) async fn root() -> Response {
    see_other(HOME.0)
}

/// Exchanges the secret of the link for the cookie.
pub(crate) async fn open(
    State(console): State<Console>,
    Path(secret): Path<String>,
    head: Parts,
) -> PageResult {
    if console.check_transport(&head).is_err() {
        return Ok(page_of(StatusCode::FORBIDDEN, page(elsewhere())));
    }
    let link = console.owner_link().filter(|link| link.opens(&secret));
    let Some(link) = link else {
        return Ok(page_of(StatusCode::NOT_FOUND, page(without_link())));
    };
    let cookie = browser::set_owner_cookie(&console, link)?;
    // Not a redirect: the browser may come from a file, and would send no cookie to the next page then.
    let mut opened = browser::go_on("Your agents’ memory", HOME.0);
    opened.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(opened)
}

/// The agents; the memories of the only one.
pub(crate) async fn home(owner: Owner) -> PageResult {
    let agents = owner.account.agent_page(None, AGENTS).await?;
    if let [only] = agents.as_slice() {
        return Ok(see_other(&agent_path(only.id)));
    }
    let content = html! {
        h1 { "Your agents" }
        @if agents.is_empty() {
            p.empty { "There is no agent yet. " code { "memoir setup" } " gives the programs on this machine a memory." }
        }
        ul.plain { @for agent in &agents { li { (listed(agent)) } } }
        @if agents.len() == AGENTS as usize {
            p.hint { "These are the first " (words::number(u64::from(AGENTS))) " by name; "
                code { "memoir agent list" } " shows all." }
        }
    };
    Ok(own_page("Your agents").show(content))
}

fn listed(agent: &AgentFacts) -> Markup {
    let counts = &agent.counts;
    html! {
        a href=(agent_path(agent.id)) { (agent.name) }
        " " span.of { (words::counted(counts.core_count, "core memory", "core memories")) ", "
            (words::number(counts.archival_count)) " in the archive, "
            (words::counted(counts.journal_count, "journal entry", "journal entries")) }
    }
}

/// The actor of a record, in words.
fn who(actor: &Actor) -> String {
    let name = words::shortened(&actor.name);
    match actor.kind {
        ActorKind::Agent => "the agent".to_owned(),
        ActorKind::System => "Memoir".to_owned(),
        ActorKind::Owner => format!("owner ({name})"),
        ActorKind::Administrator => format!("administrator ({name})"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnTab {
    Memories,
    Prompt,
    Week,
    Archive,
    Waiting,
}

/// A page of an agent, which begins with its name and the way between its pages. In the title, `{}` is the name.
fn agent_page(agent: &OwnAgent, tab: OwnTab, title: &str) -> FramedPage {
    own_page(&title.replace("{}", agent.name())).headed(agent_head(agent, tab))
}

fn agent_head(agent: &OwnAgent, tab: OwnTab) -> Markup {
    let path = agent_path(agent.scope().agent);
    let tabs = [
        (OwnTab::Memories, "Memories", path.clone()),
        (OwnTab::Prompt, "What it sees now", format!("{path}/prompt")),
        (OwnTab::Week, "This week", format!("{path}/week")),
        (OwnTab::Archive, "Archive", format!("{path}/archive")),
        (OwnTab::Waiting, "Waiting", format!("{path}/waiting")),
    ];
    html! {
        p.crumb { a href=(HOME.0) { "Your agents" } }
        h1 { (agent.name()) }
        nav.tabs aria-label="Agent" {
            @for (own, text, path) in tabs {
                a href=(path) aria-current=[(own == tab).then_some("page")] { (text) }
            }
        }
    }
}

fn own_page(title: &str) -> FramedPage {
    let above = html! {
        header.top {
            span.brand { "Memoir" }
            nav aria-label="Personal page" { a href=(HOME.0) aria-current="true" { "Your agents" } }
        }
    };
    let below = html! {
        "This page is on this machine alone, for its owner. What you change is on the record. " br;
        "Help: " code { "memoir ui --help" } ", and " code { "docs/personal-page.md" } " of the documentation."
    };
    FramedPage::framed(title, above, below)
}

/// The page for a browser that did not open the link, and for a wrong link.
pub(crate) fn without_link() -> Markup {
    let content = html! {
        h1 { "This page opens by its link" }
        p { "It shows what agents remember, to the owner of this machine. Open the link that the command printed, or \
             run it again:" }
        pre tabindex="0" { "memoir ui" }
    };
    parts::bare("This page opens by its link", content)
}

/// The page for a request from another machine, or under a name that another site can let point to this machine.
pub(crate) fn elsewhere() -> Markup {
    let content = html! {
        h1 { "Shown on its machine only" }
        p { "The personal page is shown on this machine only, at 127.0.0.1 or localhost. Open the link as the command "
            code { "memoir ui" } " printed it." }
    };
    parts::bare("Shown on its machine only", content)
}

/// The page where the installation was closed (SPEC 5.5).
pub(crate) fn closed() -> Markup {
    let content = html! {
        h1 { "This installation is closed" }
        p { "An agent’s text is shown to that agent only. There are two ways out." }
        ul {
            li { "With the agent’s token in " code { "MEMOIR_TOKEN" } ", the commands show its text, such as "
                code { "memoir recall" } " and " code { "memoir ledger" } "." }
            li { "The owner of this machine opens the installation again with " code { "memoir installation open" }
                ". Then load this page again." }
        }
    };
    parts::bare("This installation is closed", content)
}
