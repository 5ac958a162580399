//! `/oauth/authorize`: an administrator agrees that a program is connected to an agent, or does not (SPEC 5.5).
//!
//! What a program asks for stands in the address. As long as it is not known where the program may be reached, and of
//! what is wrong with its question, only whoever looks is told: nobody who can register a program sends a browser
//! elsewhere by a link to this page. Where an agent is in use, it is asked, and the page is come back to.

use axum::{
    Extension,
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
    answer::{FormTarget, PageFailure, PageResult, page_of, see_other},
    browser::Visitor,
    field::{Faults, LabelledField},
    form::{self, SentForm},
    parts::{self, ConsoleSection, SignedInPage},
};

/// Where it is.
pub(crate) const PATH: &str = "/oauth/authorize";
/// What a program says there; everything else is passed over.
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
/// Which agent it is to be connected to.
const AGENT: (&str, &str) = ("agent", "Agent");
/// What the agent is told of why.
const PURPOSE: (&str, &str) = ("purpose", "Why, for the agent");
/// Most agents that are listed; of more, one is typed.
const MOST_LISTED: u32 = 200;

/// What a program asks for.
struct ConnectionQuestion {
    /// As it was asked, in the order of [`PARAMETERS`].
    given: Vec<(&'static str, String)>,
    wish: ConnectionWish,
    /// Where answers are sent from, as the program knows it.
    issuer: String,
}

/// What is wrong with a question, where it is known from whom it is.
struct WrongQuestion {
    client: OAuthClient,
    address: ClientAddress,
    state: Option<String>,
    issuer: String,
    /// The code of OAuth.
    code: &'static str,
    problem: &'static str,
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

    /// The address of this page for the same question and that agent.
    fn path(&self, agent: &str) -> String {
        let given = self.given.iter();
        let mut parameters: Vec<_> = given.map(|(name, value)| (*name, value.as_str())).collect();
        parameters.push((AGENT.0, agent));
        form::address(PATH, &parameters)
    }
}

/// Where the browser is sent with an answer (RFC 6749, 4.1.2; RFC 9207).
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
    Extension(visitor): Extension<Visitor>,
    RawQuery(raw_query): RawQuery,
) -> PageResult {
    // The query is read as pairs, so that a parameter that is given twice is noticed.
    let pairs: Vec<(String, String)> =
        serde_urlencoded::from_str(&raw_query.unwrap_or_default())
            .map_err(|_| PageFailure::invalid("The address cannot be read."))?;
    let agent = pairs.iter().find(|(name, _)| name == AGENT.0);
    let agent = agent.map(|(_, value)| value.clone()).unwrap_or_default();
    match question(&console, &visitor, &pairs).await? {
        Err(wrong) => Ok(refused(&visitor, &wrong)),
        Ok(question) => page(&visitor, &question, &agent, &Faults::default()).await,
    }
}

pub(crate) async fn decide(
    State(console): State<Console>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<SentForm>,
) -> PageResult {
    let question = match question(&console, &visitor, form.all()).await? {
        Err(wrong) => return Ok(refused(&visitor, &wrong)),
        Ok(question) => question,
    };
    let decision = form.field("decision");
    // Refusing comes before the agent is looked up, since it needs no agent.
    if decision == "refuse" {
        let address = question.answer(&[("error", "access_denied")]);
        return Ok(see_other(&address));
    }
    let mut faults = Faults::default();
    let agent = match visitor.account.agent(form.field(AGENT.0)).await {
        Ok(agent) => agent,
        Err(Error::NoAgent(_)) => {
            faults.add(AGENT.0, AGENT.1, "There is no such agent");
            return page(&visitor, &question, "", &faults).await;
        }
        Err(error) => return Err(error.into()),
    };
    // The identifier is passed on, since the agent's name may change between this page and the next one.
    let id = agent.scope().agent.to_string();
    match decision {
        "connect" => match agent.connect(&question.wish, &visitor).await {
            Ok(code) => Ok(see_other(&question.answer(&[("code", code.expose())]))),
            // The agent is in use and must be asked first, which the page then offers.
            Err(Error::ConsentNeeded(_)) => page(&visitor, &question, &id, &faults).await,
            Err(error) => Err(error.into()),
        },
        "ask" => {
            let purpose = PrivateText::from(form.field(PURPOSE.0));
            let client = question.wish.shown_client();
            let actor = visitor.actor();
            let requested = agent.request_connection(&client, &purpose, &actor);
            match requested.await {
                // The browser returns to this page, which reloads until the agent has answered.
                Ok(_) => Ok(see_other(&question.path(&id))),
                Err(Error::Invalid(invalid)) => {
                    faults.add(PURPOSE.0, PURPOSE.1, &invalid.problem);
                    page(&visitor, &question, &id, &faults).await
                }
                Err(error) => Err(error.into()),
            }
        }
        // The page's buttons send no other value.
        _ => Err(PageFailure::invalid("The form cannot be read.")),
    }
}

/// What a program asks for; or what is wrong with that, where it can be told.
///
/// # Errors
/// Programs are not connected here, or it is not known which one asks or where it may be reached.
async fn question(
    console: &Console,
    visitor: &Visitor,
    pairs: &[(String, String)],
) -> Result<Result<ConnectionQuestion, WrongQuestion>, PageFailure> {
    let connecting = console.connecting().ok_or_else(|| {
        PageFailure::new(
            StatusCode::NOT_FOUND,
            "Programs are not connected here: the service has no public address.",
        )
    })?;
    let mut given: Vec<(&'static str, String)> = Vec::new();
    // Given twice, two readers of the same address could each take another one of them (RFC 6749, 3.1).
    for name in PARAMETERS {
        let mut values = pairs.iter().filter(|(known, _)| known == name);
        let value = values.next();
        if values.next().is_some() {
            let problem = format!("The program gives `{name}` more than once.");
            return Err(PageFailure::invalid(problem));
        }
        given.extend(value.map(|(_, value)| (name, value.clone())));
    }
    let of = |name: &str| {
        let mut given = given.iter();
        given.find_map(|(known, value)| (*known == name).then_some(value.as_str()))
    };
    // A missing identifier becomes an empty one, for which no program is registered.
    let client = of("client_id").unwrap_or_default();
    // Who asks and where it may be reached come first. Until both are known nothing is sent to an address that
    // the question names.
    let client = console.memoir().client(connecting, client).await?;
    let client = match client {
        Some(client) if visitor.account.takes_client(&client).await? => client,
        _ => {
            return Err(PageFailure::invalid(
                "No such program is registered here, or its registration is over. Remove the connection where you began, and begin again.",
            ));
        }
    };
    let address = of("redirect_uri").and_then(|text| client.address(text));
    let Some(address) = address else {
        return Err(PageFailure::invalid(
            "The program wants to be answered at an address that it has not registered. Nothing was sent there.",
        ));
    };
    let checked = check(connecting, &of);
    Ok(match checked {
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
        Err((code, problem)) => Err(WrongQuestion {
            state: of("state").map(str::to_owned),
            issuer: connecting.address.clone(),
            client,
            address,
            code,
            problem,
        }),
    })
}

/// The challenge of a question that is as it must be; otherwise the code of OAuth, and what is wrong.
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
        return Err((
            "invalid_request",
            "Its `state` is longer than 4,000 characters.",
        ));
    }
    // `plain` would show the secret to whoever sees the address.
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
    // A token that is meant for another service must not be asked for here, nor taken for one of ours.
    if of("resource") != Some(connecting.resource().as_str()) {
        let problem = "It must name this service in `resource`, to the letter of the address under which it is known.";
        return Err(("invalid_target", problem));
    }
    Ok(challenge)
}

/// A question that is not as it must be. Whoever looks decides whether the program is told.
fn refused(visitor: &Visitor, wrong: &WrongQuestion) -> Response {
    let parameters = [("error", wrong.code)];
    // A link and no redirect: whoever can register a program would have a way to send browsers on.
    let back = answer(
        &wrong.address,
        wrong.state.as_deref(),
        &wrong.issuer,
        &parameters,
    );
    let content = html! {
        h1 { "Not connected" }
        p { "The program that calls itself " strong { (wrong.client.name) }
            " asks to be connected in a way that is not taken here. " (crate::field::with_code(wrong.problem)) }
        // `noreferrer` keeps the program from learning which page the visitor comes from.
        p { a href=(back) rel="noreferrer" { "Go back to " (wrong.address.host()) } }
    };
    let shown = SignedInPage::new(visitor, "Not connected", ConsoleSection::Fleet).show(content);
    page_of(StatusCode::BAD_REQUEST, shown)
}

/// The page, with an agent chosen or none.
async fn page(
    visitor: &Visitor,
    question: &ConnectionQuestion,
    agent: &str,
    faults: &Faults,
) -> PageResult {
    let chosen = match agent {
        "" => None,
        agent => Some(visitor.account.agent(agent).await?),
    };
    let mut open_request = None;
    if let Some(agent) = &chosen {
        let client = question.wish.shown_client();
        let actor = visitor.actor();
        let request = agent.open_connection_request(&client, &actor);
        open_request = request.await?;
    }
    let client = &question.wish.client;
    let content = html! {
        h1 { "Connect a program" }
        (faults.summary())
        p { "A program that calls itself " strong { (client.name) } " asks to be connected to the memory of an agent. "
            "If you agree, your browser goes on to " strong { (question.wish.address.host()) }
            ", and a user of the program there can do all that the agent can: read its memories, save others and "
            "refine them, until you revoke it." }
        // Programs without this time are in the configuration, where whoever runs the service has named them.
        @if client.registered_at.is_some() {
            p.notice { "It gave itself this name. Agree only if you have just begun this at "
                strong { (question.wish.address.host()) } " yourself." }
        }
        @match (&chosen, &open_request) {
            (Some(agent), Some(request)) => (waiting(visitor, question, agent, request)),
            (Some(agent), None) => (asking(visitor, question, agent, faults)),
            (None, _) => (choosing(visitor, question, faults).await?),
        }
    };
    let mut shown =
        SignedInPage::new(visitor, "Connect a program", ConsoleSection::Fleet).show(content);
    // The answer to the form leads there.
    let target = question.wish.address.origin();
    shown.extensions_mut().insert(FormTarget(target));
    Ok(shown.into_response())
}

/// The form in which an agent is chosen.
async fn choosing(
    visitor: &Visitor,
    question: &ConnectionQuestion,
    faults: &Faults,
) -> Result<Markup, PageFailure> {
    // One more than is listed tells that there are more.
    let agents = visitor.account.agent_page(None, MOST_LISTED + 1).await?;
    let is_listed = agents.len() <= MOST_LISTED as usize;
    let agents: Vec<_> = agents
        .into_iter()
        .map(|agent| (agent.id.to_string(), agent.name))
        .collect();
    let field = LabelledField::new(AGENT.0, AGENT.1).faults(faults);
    Ok(html! {
        @if agents.is_empty() {
            p { "There is no agent yet. " a href="/agents/new" { "Make one" } ", and come back." }
        } @else {
            form.stack method="post" action=(PATH) {
                (hidden(visitor, question))
                @if is_listed { (field.choice("", &agents)) } @else { (field.text("")) }
                (buttons("connect", "Connect it"))
            }
        }
    })
}

/// That the agent was asked, and what it said.
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
                p { a.button href=(question.path(&id)) { "Look again" } }
                div.buttons { (refusing()) }
            }
        }
    }
}

/// The form in which an agent is asked that is in use.
fn asking(
    visitor: &Visitor,
    question: &ConnectionQuestion,
    agent: &AgentHandle,
    faults: &Faults,
) -> Markup {
    let id = agent.scope().agent;
    let hint = html! { "It is told which program this is, and what you write here." };
    html! {
        p { a href=(agent_path(id)) { (agent.name()) } " is in use: it decides itself who is let in. Ask it, and come "
            "back to this page once it has answered." }
        form.stack method="post" action=(PATH) {
            (hidden(visitor, question))
            input type="hidden" name=(AGENT.0) value=(id);
            (LabelledField::new(PURPOSE.0, PURPOSE.1).hint(hint).faults(faults).area("", 3))
            (buttons("ask", "Ask it"))
        }
    }
}

/// What a program asks for, to be sent with the form.
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
