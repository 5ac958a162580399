//! `/oauth/authorize`: an administrator agrees that a program is connected to an agent, or does not (SPEC 5.5).
//!
//! The program's question is in the address. Until the program's own address is verified, and for faults of the
//! question, only the administrator is informed. So no client that registers a program can redirect a browser by a link
//! to this page. The agent is asked where it is in use, and the browser returns to this page.

use axum::{
    extract::{RawQuery, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use maud::{Markup, html};
use memoir_app::{
    AccessRequestFacts, AgentHandle, ClientAddress, Connecting, ConnectionWish, Error, OAuthClient,
};
use memoir_domain::{PrivateText, access::AccessState};

use super::{access, agent_path};
use crate::{
    Console,
    answer::{EarlyResponse, EarlyResult, FormTarget, PageFailure, PageResult, page_of, see_other},
    browser::Visitor,
    field::LabelledField,
    form::{self, SentForm},
    parts::{self, ConsoleSection, FramedPage},
};

pub(crate) const PATH: &str = "/oauth/authorize";
/// The parameters of a program; others are ignored.
const PARAMETERS: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "scope",
];
const AGENT: (&str, &str) = ("agent", "Agent");
/// The reason that the agent is given.
const PURPOSE: (&str, &str) = ("purpose", "Why, for the agent");
/// Most agents that are listed; of more, one is typed.
const MOST_LISTED: u32 = 200;

struct ConnectionQuestion {
    /// As received, in the order of [`PARAMETERS`].
    given: Vec<(&'static str, String)>,
    wish: ConnectionWish,
    /// The issuer of responses, as the program knows it.
    issuer: String,
}

impl ConnectionQuestion {
    fn answer(&self, parameters: &[(&str, &str)]) -> String {
        let state = self.given("state");
        answer(&self.wish.address, state, &self.issuer, parameters)
    }

    fn given(&self, name: &str) -> Option<&str> {
        let mut given = self.given.iter();
        given.find_map(|(known, value)| (*known == name).then_some(value.as_str()))
    }

    /// The address of this page for the same question and this agent.
    fn path(&self, agent: &str) -> String {
        let given = self.given.iter();
        let mut parameters: Vec<_> = given.map(|(name, value)| (*name, value.as_str())).collect();
        parameters.push((AGENT.0, agent));
        form::address(PATH, &parameters)
    }
}

/// The address of the program for an answer (RFC 6749, 4.1.2; RFC 9207).
fn answer(
    address: &ClientAddress,
    state: Option<&str>,
    issuer: &str,
    parameters: &[(&str, &str)],
) -> String {
    // The program gets `state` back unchanged, since it recognises its request by it.
    let state = state.map(|state| ("state", state));
    let mut all = parameters.to_vec();
    all.extend(state);
    all.push(("iss", issuer));
    address.with(&all)
}

pub(crate) async fn show(
    State(console): State<Console>,
    visitor: Visitor,
    RawQuery(raw_query): RawQuery,
) -> EarlyResult {
    // The query is read as pairs, so that a parameter that is given twice is noticed.
    let pairs: Vec<(String, String)> =
        serde_urlencoded::from_str(&raw_query.unwrap_or_default())
            .map_err(|_| PageFailure::invalid("The address cannot be read."))?;
    let agent = pairs.iter().find(|(name, _)| name == AGENT.0);
    let agent = agent.map(|(_, value)| value.clone()).unwrap_or_default();
    let question = question(&console, &visitor, &pairs).await?;
    Ok(page(&visitor, &question, &agent, &SentForm::default()).await?)
}

pub(crate) async fn decide(
    State(console): State<Console>,
    visitor: Visitor,
    mut form: SentForm,
) -> EarlyResult {
    let question = question(&console, &visitor, form.all()).await?;
    // Refusing comes before the agent is looked up, since it needs no agent.
    if form.field("decision") == "refuse" {
        return Ok(see_other(&question.answer(&[("error", "access_denied")])));
    }
    let agent = match visitor.account.agent(form.field(AGENT.0)).await {
        Ok(agent) => agent,
        Err(Error::NoAgent(_)) => {
            form.faults.add(AGENT.0, AGENT.1, "There is no such agent");
            let shown = page(&visitor, &question, "", &form).await?;
            return Ok(page_of(StatusCode::BAD_REQUEST, shown));
        }
        Err(error) => return Err(error.into()),
    };
    // The identifier is passed on, since the agent's name may change between this page and the next one.
    let id = agent.scope().agent.to_string();
    match form.field("decision") {
        "connect" => match agent.grants().connect(&question.wish, &visitor).await {
            Ok(code) => Ok(see_other(&question.answer(&[("code", code.expose())]))),
            // The agent is in use and must be asked first, which the page then offers.
            Err(Error::ConsentNeeded(_)) => Ok(page(&visitor, &question, &id, &form).await?),
            Err(error) => Err(error.into()),
        },
        "ask" => {
            let purpose = PrivateText::from(form.field(PURPOSE.0));
            let client = question.wish.shown_client();
            let actor = visitor.actor();
            let requested = agent.grants().request_connection(&client, &purpose, &actor);
            let status = match requested.await {
                // The browser returns to this page, which reloads until the agent has answered.
                Ok(_) => return Ok(see_other(&question.path(&id))),
                Err(error) => form.faults.add_error(PURPOSE, "Not asked", error)?,
            };
            let shown = page(&visitor, &question, &id, &form).await?;
            Ok(page_of(status, shown))
        }
        // The page's buttons send no other value.
        _ => Err(PageFailure::invalid("The form cannot be read.").into()),
    }
}

/// The question of a program.
///
/// # Errors
/// Connecting is off, or the program or its address is unknown; the question has a fault.
async fn question(
    console: &Console,
    visitor: &Visitor,
    pairs: &[(String, String)],
) -> Result<ConnectionQuestion, EarlyResponse> {
    let connecting = console.connecting().ok_or_else(|| {
        PageFailure::new(
            StatusCode::NOT_FOUND,
            "Programs are not connected here: the service has no public address.",
        )
    })?;
    let mut given: Vec<(&'static str, String)> = Vec::new();
    // For a repeated parameter, two readers of the address could each take another value (RFC 6749, 3.1).
    for name in PARAMETERS {
        let mut values = pairs.iter().filter(|(known, _)| known == name);
        let value = values.next();
        if values.next().is_some() {
            let problem = format!("The program gives `{name}` more than once.");
            return Err(PageFailure::invalid(problem).into());
        }
        given.extend(value.map(|(_, value)| (name, value.clone())));
    }
    let of = |name: &str| {
        let mut given = given.iter();
        given.find_map(|(known, value)| (*known == name).then_some(value.as_str()))
    };
    // A missing identifier becomes an empty one, for which no program is registered.
    let client = of("client_id").unwrap_or_default();
    // The program and its address come first. Until both are known, nothing is sent to an address from the question.
    let client = console.memoir().client(connecting, client).await?;
    let client = match client {
        Some(client) if visitor.account.takes_client(&client).await? => client,
        _ => {
            return Err(PageFailure::invalid(
                "No such program is registered here, or its registration is over. Remove the connection where you began, and begin again.",
            )
            .into());
        }
    };
    let address = of("redirect_uri").and_then(|text| client.address(text));
    let Some(address) = address else {
        return Err(PageFailure::invalid(
            "The program wants to be answered at an address that it has not registered. Nothing was sent there.",
        )
        .into());
    };
    match check(connecting, &of) {
        Ok(challenge) => Ok(ConnectionQuestion {
            wish: ConnectionWish {
                challenge: challenge.to_owned(),
                resource: connecting.resource(),
                client,
                address,
            },
            issuer: connecting.address.clone(),
            given,
        }),
        Err((code, problem)) => {
            let parameters = [("error", code)];
            let back = answer(&address, of("state"), &connecting.address, &parameters);
            let page = refused(visitor, &client, (address.host(), &back), problem);
            Err(EarlyResponse(page))
        }
    }
}

/// The challenge of a valid question; otherwise the code of OAuth, and the fault.
fn check<'a>(
    connecting: &Connecting,
    of: &impl Fn(&str) -> Option<&'a str>,
) -> Result<&'a str, (&'static str, &'static str)> {
    /// More than any program needs.
    const LONGEST_STATE: usize = 4_000;
    if of("response_type") != Some("code") {
        let problem = "It must ask for a code: `response_type=code`.";
        return Err(("unsupported_response_type", problem));
    }
    let is_long = |state: &str| state.len() > LONGEST_STATE;
    if of("state").is_some_and(is_long) {
        let problem = "Its `state` is longer than 4,000 characters.";
        return Err(("invalid_request", problem));
    }
    // `plain` would show the secret to every reader of the address.
    if of("code_challenge_method") != Some("S256") {
        let problem =
            "It must prove that the code is its own (PKCE): `code_challenge_method=S256`.";
        return Err(("invalid_request", problem));
    }
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let challenge = of("code_challenge").unwrap_or_default();
    // 32 bytes in base64 without padding.
    if challenge.len() != 43 || !challenge.bytes().all(is_letter) {
        return Err(("invalid_request", "Its `code_challenge` is no SHA-256."));
    }
    // A token for another service must not be requested here, nor accepted as one of ours.
    if of("resource") != Some(connecting.resource().as_str()) {
        let problem = "It must name this service in `resource`, to the letter of the address under which it is known.";
        return Err(("invalid_target", problem));
    }
    Ok(challenge)
}

/// An invalid question. The administrator decides whether the program is informed, by a link to its host.
fn refused(
    visitor: &Visitor,
    client: &OAuthClient,
    (host, back): (&str, &str),
    problem: &str,
) -> Response {
    let content = html! {
        h1 { "Not connected" }
        p { "The program that calls itself " strong { (client.name) }
            " asks to be connected in a way that is not accepted here. " (crate::field::with_code(problem)) }
        // A redirect would let every registered program steer browsers; `noreferrer` hides which page they come from.
        p { a href=(back) rel="noreferrer" { "Go back to " (host) } }
    };
    let shown = FramedPage::new(visitor, "Not connected", ConsoleSection::Fleet).show(content);
    page_of(StatusCode::BAD_REQUEST, shown)
}

/// The page, with an agent chosen or none, and the form as it was sent.
async fn page(
    visitor: &Visitor,
    question: &ConnectionQuestion,
    agent: &str,
    form: &SentForm,
) -> PageResult {
    let chosen = match agent {
        "" => None,
        agent => Some(visitor.account.agent(agent).await?),
    };
    let mut open_request = None;
    if let Some(agent) = &chosen {
        let client = question.wish.shown_client();
        let actor = visitor.actor();
        let request = agent.grants().open_connection_request(&client, &actor);
        open_request = request.await?;
    }
    let client = &question.wish.client;
    let content = html! {
        h1 { "Connect a program" }
        (form.faults.summary())
        p { "A program that calls itself " strong { (client.name) } " asks to be connected to the memory of an agent. "
            "If you agree, your browser continues to " strong { (question.wish.address.host()) }
            ", and a user of the program there can do all that the agent can: read its memories, save others and "
            "refine them, until you revoke it." }
        // Programs without this time are in the configuration, where the operator has named them.
        @if client.registered_at.is_some() {
            p.notice { "It gave itself this name. Agree only if you have just begun this at "
                strong { (question.wish.address.host()) } " yourself." }
        }
        @match (&chosen, &open_request) {
            (Some(agent), Some(request)) => (waiting(visitor, question, agent, request)),
            (Some(agent), None) => (asking(visitor, question, agent, form)),
            (None, _) => (choosing(visitor, question, form).await?),
        }
    };
    let mut shown =
        FramedPage::new(visitor, "Connect a program", ConsoleSection::Fleet).show(content);
    // The answer to the form leads there.
    let target = question.wish.address.origin();
    shown.extensions_mut().insert(FormTarget(target));
    Ok(shown.into_response())
}

/// The form in which an agent is chosen.
async fn choosing(
    visitor: &Visitor,
    question: &ConnectionQuestion,
    form: &SentForm,
) -> Result<Markup, PageFailure> {
    // One more than is listed says that there are more.
    let agents = visitor.account.agent_page(None, MOST_LISTED + 1).await?;
    let is_listed = agents.len() <= MOST_LISTED as usize;
    let agents: Vec<_> = agents
        .into_iter()
        .map(|agent| (agent.id.to_string(), agent.name))
        .collect();
    let field = LabelledField::new(AGENT.0, AGENT.1).faults(&form.faults);
    Ok(html! {
        @if agents.is_empty() {
            p { "There is no agent yet. " a href="/agents/new" { "Make one" } ", and come back." }
        } @else {
            form.stack method="post" action=(PATH) {
                (hidden(visitor, question))
                @if is_listed { (field.choice("", &agents)) } @else { (field.text(form.field(AGENT.0))) }
                (buttons("connect", "Connect it"))
            }
        }
    })
}

/// The state of the request to the agent, and its answer.
fn waiting(
    visitor: &Visitor,
    question: &ConnectionQuestion,
    agent: &AgentHandle,
    request: &AccessRequestFacts,
) -> Markup {
    let id = agent.scope().agent.to_string();
    let is_granted = request.state == AccessState::Granted;
    html! {
        p role="status" { strong {
            @if is_granted { (agent.name()) " lets you connect it." }
            @else { (agent.name()) " is asked, and has not answered yet." }
        } }
        p { a href=(access::path_of(request.id)) { "The request to " (agent.name()) } }
        form.stack method="post" action=(PATH) {
            (hidden(visitor, question))
            input type="hidden" name=(AGENT.0) value=(id);
            @if is_granted { (buttons("connect", "Connect it")) }
            @else {
                p { a.button href=(question.path(&id)) { "Reload" } }
                div.buttons { (refusing()) }
            }
        }
    }
}

/// The form for the request to an agent in use.
fn asking(
    visitor: &Visitor,
    question: &ConnectionQuestion,
    agent: &AgentHandle,
    form: &SentForm,
) -> Markup {
    let id = agent.scope().agent;
    let hint = html! { "The agent reads which program this is, and what you write here." };
    html! {
        p { a href=(agent_path(id)) { (agent.name()) } " is in use: it decides about access itself. Ask it, and come "
            "back to this page once it has answered." }
        form.stack method="post" action=(PATH) {
            (hidden(visitor, question))
            input type="hidden" name=(AGENT.0) value=(id);
            (LabelledField::new(PURPOSE.0, PURPOSE.1).hint(hint).faults(&form.faults).area(form.field(PURPOSE.0), 3))
            (buttons("ask", "Ask it"))
        }
    }
}

/// The program's question, to be sent with the form.
fn hidden(visitor: &Visitor, question: &ConnectionQuestion) -> Markup {
    html! {
        (parts::form_token(visitor))
        @for (name, value) in &question.given { input type="hidden" name=(name) value=(value); }
    }
}

fn buttons(decision: &str, text: &str) -> Markup {
    html! {
        div.buttons {
            button.main type="submit" name="decision" value=(decision) { (text) }
            (refusing())
        }
    }
}

fn refusing() -> Markup {
    // `formnovalidate` allows refusing while required fields are empty.
    html! { button type="submit" name="decision" value="refuse" formnovalidate { "Do not connect it" } }
}
