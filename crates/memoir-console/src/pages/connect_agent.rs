//! *Connect this agent*, on the page of an agent without memories: its first token, the ways in for its program, and
//! whether that has called.

use axum::{
    extract::State,
    http::{HeaderMap, header},
};
use maud::{Markup, html};
use memoir_app::{AgentFacts, AgentHandle, Error, MemoryCounts, TokenView};
use serde_json::{Value, json};

use super::{agent_path, tokens};
use crate::{
    Console,
    answer::{PageResult, page},
    browser::{AgentInPath, Visitor},
    parts,
};

/// In place of the token where that is not shown.
const TOKEN: &str = "TOKEN";

/// Whether the agent never had a memory.
pub(super) fn is_empty(counts: &MemoryCounts) -> bool {
    let active = counts.core_count + counts.journal_count + counts.archival_count;
    active + counts.discarded_count + counts.shredded_count == 0
}

/// The address of the service for programs: that of the configuration, or the one that this browser uses.
pub(super) fn address(console: &Console, headers: &HeaderMap) -> String {
    if let Some(connecting) = console.connecting() {
        return connecting.address.clone();
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    // It goes into commands that are copied: nothing but a name and a port.
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || ".-:[]".contains(sign);
    let host = host.filter(|host| host.chars().all(is_plain));
    let scheme = if console.is_sealed() { "https" } else { "http" };
    format!("{scheme}://{}", host.unwrap_or("127.0.0.1:8750"))
}

pub(super) async fn section(
    console: &Console,
    visitor: &Visitor,
    headers: &HeaderMap,
    (agent, view): (&AgentHandle, &AgentFacts),
) -> Result<Markup, Error> {
    let path = agent_path(view.id);
    let settings = format!("{path}/settings#{}", tokens::PLACE);
    let held = agent.grants().tokens().await?;
    let has_token = held.iter().any(|token| token.revoked_at.is_none());
    let grants = agent.grants();
    let needs_consent = grants.needs_consent_for_token(&visitor.actor()).await?;
    Ok(html! {
        section.connect aria-labelledby="connect" {
            h2 #connect { "Connect this agent" }
            @if has_token {
                p { "It has a token, which was shown once. If that is lost, revoke it in its "
                    a href=(settings) { "settings" } " and make another one." }
            } @else if needs_consent {
                p { "The agent is in use, so you cannot make a token: it allows one when you "
                    a href={ (path) "/access/token" } { "ask for one" } "." }
            } @else {
                p { "It has no memories yet. Its program needs a token, which is shown once." }
                (tokens::form(visitor, view))
            }
            (light(console, &path, &held))
            (ways(&address(console, headers), agent, None))
        }
    })
}

/// Whether a program has called with one of these tokens. Until then `light.js` asks for the state.
fn light(console: &Console, path: &str, held: &[TokenView]) -> Markup {
    let last_call = held.iter().filter_map(|token| token.last_used_at).max();
    let state = last_call.is_none().then(|| format!("{path}/connected"));
    html! {
        p #light role="status" data-state=[state] {
            @match last_call {
                Some(at) => {
                    span.badge.good { "connected" } " Its program called " (parts::relative(at, console.memoir().now()))
                    ", and has saved nothing yet."
                },
                None => {
                    span.badge.plain { "no call yet" } " This line says when its program has called. "
                    a href=(path) { "Look again" }
                },
            }
        }
    }
}

/// The state alone, for the script of the page.
pub(crate) async fn connected(State(console): State<Console>, agent: AgentInPath) -> PageResult {
    let held = agent.grants().tokens().await?;
    let path = agent_path(agent.scope().agent);
    Ok(page(light(&console, &path, &held)))
}

/// A text as one argument of a shell's command.
pub(super) fn in_shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What connects a program to the agent, each to be copied. `token` is shown in place of [`TOKEN`].
pub(super) fn ways(address: &str, agent: &AgentHandle, token: Option<&str>) -> Markup {
    let (name, id) = (agent.name(), agent.scope().agent);
    let token = token.unwrap_or(TOKEN);
    // Python and TypeScript read a text of JSON as it stands.
    let quoted = |text: &str| Value::from(text).to_string();
    let server = json!({"mcpServers": {"memoir": {
        "type": "http",
        "url": format!("{address}/mcp"),
        "headers": {"Authorization": format!("Bearer {token}")},
    }}});
    let (address_quoted, name_quoted, token_quoted) =
        (quoted(address), quoted(name), quoted(token));
    let ways = [
        (
            "A program on your machine, with memoir setup",
            format!(
                "export MEMOIR_TOKEN={token}\nmemoir setup claude-code --url {address} --agent {}",
                in_shell(name)
            ),
        ),
        // The alternate form has line breaks. This cannot fail: it is a tree of texts.
        ("A client of MCP", format!("{server:#}")),
        (
            "Python",
            format!(
                "from memoir_client import AgentMemory\n\n\
                 memory = AgentMemory({address_quoted}, {name_quoted}, {token_quoted})\n\
                 memory.remember(\"Marta prefers linen thread.\")\n\
                 prompt = memory.context().text"
            ),
        ),
        (
            "TypeScript",
            format!(
                "import {{ AgentMemory }} from \"memoir-client\";\n\n\
                 const memory = new AgentMemory({{ url: {address_quoted}, agent: {name_quoted}, \
                 token: {token_quoted} }});\n\
                 await memory.remember(\"Marta prefers linen thread.\");\n\
                 const prompt = (await memory.context()).text;"
            ),
        ),
        (
            "Anything else, by HTTP",
            format!(
                "curl {address}/v1/agents/{id}/memories \\\n  -H 'Authorization: Bearer {token}' \\\n  \
                 -H 'Content-Type: application/json' \\\n  -d '{{\"content\": \"Marta prefers linen thread.\"}}'"
            ),
        ),
    ];
    html! {
        @for (place, (title, text)) in ways.iter().enumerate() {
            details.way open[place == 0] {
                summary { (title) }
                pre tabindex="0" { (text) }
            }
        }
        @if token == TOKEN { p.hint { "Put the agent’s token in place of " code { (TOKEN) } "." } }
    }
}
