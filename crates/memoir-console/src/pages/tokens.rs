//! `/agents/{agent}/tokens`: an agent's tokens. A secret is shown once, in the response to the form that created it,
//! and is stored nowhere else.

use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::Response,
};
use maud::{Markup, html};
use memoir_app::{AgentFacts, AgentHandle, Error, Provision, TokenView, TokenWithSecret};
use memoir_domain::{Timestamp, TokenId};

use super::{Tab, agent_page, agent_path, connect_agent, settings};
use crate::{
    Console,
    answer::{PageFailure, PageResult, see_other},
    browser::{AgentInPath, Visitor},
    field::LabelledField,
    form::SentForm,
    parts, words,
};

/// The lifetimes of a token in days, with their texts; blank for no end.
const LIFETIMES: [(&str, &str); 4] = [
    ("", "It does not end"),
    ("30", "In 30 days"),
    ("90", "In 90 days"),
    ("365", "In a year"),
];

/// Its anchor on the page of the settings.
pub(super) const PLACE: &str = "tokens";
const ENDS: &str = "ends";

pub(super) fn section(
    visitor: &Visitor,
    view: &AgentFacts,
    (tokens, now): (&[TokenView], Timestamp),
    needs_consent: bool,
) -> Markup {
    let path = agent_path(view.id);
    html! {
        section id=(PLACE) aria-labelledby="tokens-head" {
            h2 #tokens-head { "Tokens" }
            p { "The agent’s program sends a token with each request. It is never shown again \
                 after it was made. A program that you connect from its own settings, by the address of this \
                 service with " code { "/mcp" } " behind it, is listed." }
            @if tokens.is_empty() { p.hint { "It has no token yet." } }
            @else { (table(visitor, view, (tokens, now))) }
            @if needs_consent {
                p { "The agent is in use, so you cannot make one: it makes them itself, or allows one when you "
                    a href={ (path) "/access/token" } { "ask for one" } "." }
            } @else {
                (form(visitor, view))
            }
        }
    }
}

pub(super) fn form(visitor: &Visitor, view: &AgentFacts) -> Markup {
    html! {
        form.row method="post" action={ (agent_path(view.id)) "/tokens" } {
            (parts::form_token(visitor))
            (LabelledField::new(ENDS, "When it ends").choice("", &LIFETIMES))
            button.main type="submit" { "Make a token" }
        }
    }
}

fn table(visitor: &Visitor, view: &AgentFacts, (tokens, now): (&[TokenView], Timestamp)) -> Markup {
    let names = ["Made", "Last used", "Ends", "Status", "Change"];
    // The store returns the oldest first, and the page shows the newest first.
    let rows = html! { @for token in tokens.iter().rev() { (row(visitor, view, token, now)) } };
    parts::table(
        "Tokens, the newest first, without their secrets",
        &names,
        &[],
        rows,
    )
}

fn row(visitor: &Visitor, view: &AgentFacts, token: &TokenView, now: Timestamp) -> Markup {
    html! {
        tr role="row" id={ "token-" (token.id) } class=[token.revoked_at.map(|_| "gone")] {
            th role="rowheader" scope="row" data-label="Made" {
                (parts::time(token.created_at))
                @if let Some(program) = &token.connection {
                    " for " (program.client) " at " (program.host) ", by " (program.connected_by)
                }
            }
            td role="cell" data-label="Last used" { (parts::time_or(token.last_used_at, "never")) }
            td role="cell" data-label="Ends" {
                (parts::time_or(token.expires_at, "never"))
                @if token.connection.is_some() { ", unless it is used" }
            }
            td role="cell" data-label="Status" { span { (status(token, now)) } }
            td role="cell" data-label="Change" {
                @if token.revoked_at.is_some() { span.none { "–" } }
                @else { (revoking(visitor, view, token)) }
            }
        }
    }
}

fn status(token: &TokenView, now: Timestamp) -> Markup {
    html! {
        // Being revoked comes first, since a revoked token may also have ended.
        @if let Some(at) = token.revoked_at { span.badge.bad { "revoked" } " " (parts::time(at)) }
        @else if token.expires_at.is_some_and(|at| at <= now) { span.badge.plain { "ended" } }
        @else { span.badge.good { "valid" } }
    }
}

/// The button behind a question, since nothing makes a revoked token valid again.
fn revoking(visitor: &Visitor, view: &AgentFacts, token: &TokenView) -> Markup {
    let made = words::minute(token.created_at);
    let path = format!("{}/tokens/{}/revoke", agent_path(view.id), token.id);
    html! {
        details.sure {
            summary aria-label={ "Revoke… the token of " (made) } { "Revoke…" }
            p { "It is not valid from then on, permanently." }
            form.inline method="post" action=(path) {
                (parts::form_token(visitor))
                button.danger type="submit" aria-label={ "Revoke it, the token of " (made) } { "Revoke it" }
            }
        }
    }
}

pub(crate) async fn make(
    State(console): State<Console>,
    visitor: Visitor,
    form: SentForm,
    headers: HeaderMap,
    agent: AgentInPath,
) -> PageResult {
    let days: Option<i64> = match form.field(ENDS) {
        "" => None,
        // Only the offered values, though the use case accepts any: any other form was not filled in here.
        days if LIFETIMES.iter().any(|(known, _)| *known == days) => days.parse().ok(),
        _ => {
            return Err(PageFailure::invalid(
                "A token cannot be made for that time.",
            ));
        }
    };
    let expires_at = days.map(|days| console.memoir().now().plus_days(days));
    let actor = visitor.actor();
    let grants = agent.grants();
    let made = grants.create_token(Provision::First, expires_at, &actor);
    match made.await {
        Ok(made) => {
            let address = connect_agent::address(&console, &headers);
            Ok(shown_once(&visitor, &agent, &made, &address))
        }
        // The agent has memories by now: the page says how to ask it, where an error would only refuse.
        Err(error @ Error::ConsentNeeded(_)) => {
            let failure = PageFailure::from(error);
            settings::with_refused_token(&console, &visitor, &agent, &failure).await
        }
        Err(error) => Err(error.into()),
    }
}

/// The only page that ever shows the secret. It is in no address, and browsers keep no copy of the page.
fn shown_once(
    visitor: &Visitor,
    agent: &AgentHandle,
    made: &TokenWithSecret,
    address: &str,
) -> Response {
    let page = agent_path(agent.scope().agent);
    let settings = format!("{}/settings#tokens", agent_path(agent.scope().agent));
    let content = html! {
        h2 { "A token of " (agent.name()) }
        p { "It is shown only once. A holder of the token can do all that the agent can." }
        pre tabindex="0" { (made.secret.expose()) }
        p { "It ends: " (parts::time_or(made.view.expires_at, "never")) ". The agent’s program sends it as "
            code { "Authorization: Bearer …" } ", or has it in " code { "MEMOIR_TOKEN" } "." }
        h3 { "Connect its program" }
        (connect_agent::ways(address, agent, Some(made.secret.expose())))
        p { "I have it: back to " a href=(page) { "the agent" } " or " a href=(settings) { "its settings" } }
    };
    agent_page(visitor, agent, Tab::Settings, "A token of {}").show(content)
}

pub(crate) async fn revoke(
    visitor: Visitor,
    Path((_, token)): Path<(String, String)>,
    agent: AgentInPath,
) -> PageResult {
    let id: TokenId = token.parse().map_err(|_| Error::NoToken(token))?;
    agent.grants().revoke_token(id, &visitor.actor()).await?;
    let path = agent_path(agent.scope().agent);
    Ok(see_other(&format!("{path}/settings?done=revoked#tokens")))
}
