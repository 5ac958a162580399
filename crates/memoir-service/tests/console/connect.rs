//! Programs connected by OAuth: a hosted client of the Model Context Protocol from the first 401 to its revocation, and
//! the refusals by each rule (SPEC 5.5).

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use memoir_app::{AgentHandle, Provision};
use memoir_domain::{Timestamp, agent::Field, audit::Actor};
use memoir_service::{Programs, ServiceOptions};
use memoir_testkit::{HttpAnswer, TestedObject, TestedText};
use reqwest::{Client, Method, redirect};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    document::ReadDocument,
    installation::{Browser, Installation, grant, owner},
};

const PATH: &str = "/oauth/authorize";
/// Where the hosted client is answered.
const CALLBACK: &str = "https://connector.example/callback?of=memoir";
const VERIFIER: &str = "a-verifier-that-is-long-enough-for-the-method-S256";
const STATE: &str = "what the client & nobody else knows";

pub fn with_programs() -> ServiceOptions {
    programs_at(None)
}

fn programs_at(address: Option<String>) -> ServiceOptions {
    ServiceOptions {
        programs: Some(Programs {
            address,
            clients: Vec::new(),
            takes_registrations: true,
        }),
        ..ServiceOptions::default()
    }
}

/// A hosted client, which knows the typed address and nothing else.
struct Connector {
    client: Client,
    /// The address of the service.
    address: String,
    id: String,
}

/// What a client is given.
#[derive(Clone)]
struct Pair {
    access: String,
    refresh: String,
}

async fn told(request: reqwest::RequestBuilder) -> HttpAnswer {
    HttpAnswer::of(request.send().await.unwrap()).await
}

fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

/// Parameters with other values for some of them.
fn with_others<'a, const COUNT: usize>(
    usual: [(&'a str, &'a str); COUNT],
    other: &[(&'a str, &'a str)],
) -> [(&'a str, &'a str); COUNT] {
    usual.map(|(name, value)| {
        let found = other.iter().find(|(known, _)| *known == name);
        (name, found.map_or(value, |(_, value)| *value))
    })
}

impl Connector {
    fn new(installation: &Installation) -> Self {
        let client = Client::builder().redirect(redirect::Policy::none());
        Self {
            client: client.build().unwrap(),
            address: installation.address.clone(),
            id: String::new(),
        }
    }

    /// As it registers itself.
    async fn registered(installation: &Installation) -> Self {
        Self::registered_as(installation, "Connector", &[CALLBACK]).await
    }

    async fn registered_as(installation: &Installation, name: &str, addresses: &[&str]) -> Self {
        let mut made = Self::new(installation);
        let said = json!({"client_name": name, "redirect_uris": addresses});
        let told = made.register(&said).await;
        told.expect(201);
        made.id = told.json()["client_id"].as_str().unwrap().to_owned();
        made
    }

    async fn get(&self, path: &str) -> HttpAnswer {
        told(self.client.get(format!("{}{path}", self.address))).await
    }

    async fn register(&self, said: &Value) -> HttpAnswer {
        let path = format!("{}/oauth/register", self.address);
        told(self.client.post(path).json(said)).await
    }

    fn resource(&self) -> String {
        format!("{}/mcp", self.address)
    }

    /// What it asks for, with other values for some parameters; a blank one is left out.
    fn question(&self, other: &[(&str, &str)]) -> String {
        let (resource, challenge) = (self.resource(), challenge_of(VERIFIER));
        let usual = [
            ("response_type", "code"),
            ("client_id", &self.id),
            ("redirect_uri", CALLBACK),
            ("state", STATE),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &resource),
            ("scope", "agent"),
        ];
        let mut given = with_others(usual, other).to_vec();
        given.retain(|(_, value)| !value.is_empty());
        format!("{PATH}?{}", serde_urlencoded::to_string(given).unwrap())
    }

    /// Sends a form to the endpoint of that name.
    async fn send(&self, endpoint: &str, given: &[(&str, &str)]) -> HttpAnswer {
        let body = serde_urlencoded::to_string(given).unwrap();
        let request = self
            .client
            .post(format!("{}/oauth/{endpoint}", self.address));
        let form = ("content-type", "application/x-www-form-urlencoded");
        told(request.header(form.0, form.1).body(body)).await
    }

    async fn redeem(&self, code: &str, other: &[(&str, &str)]) -> HttpAnswer {
        let resource = self.resource();
        let usual = [
            ("grant_type", "authorization_code"),
            ("client_id", &self.id),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
            ("resource", &resource),
        ];
        self.send("token", &with_others(usual, other)).await
    }

    async fn refresh(&self, token: &str) -> HttpAnswer {
        let given = [
            ("grant_type", "refresh_token"),
            ("client_id", &self.id),
            ("refresh_token", token),
            ("resource", &self.resource()),
        ];
        self.send("token", &given).await
    }

    async fn revoke(&self, token: &str) -> HttpAnswer {
        let given = [("client_id", self.id.as_str()), ("token", token)];
        self.send("revoke", &given).await
    }

    /// A request of the Model Context Protocol.
    async fn call(&self, token: &str, method: &str, params: Value) -> HttpAnswer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.client.post(self.resource());
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18");
        let request = match token {
            "" => request,
            token => request.bearer_auth(token),
        };
        told(request.json(&body)).await
    }

    /// The question to the user of the agent's own client about a request.
    async fn form_of_request(&self, token: &str, request: &str) -> String {
        let tool = "answer_access_request";
        let params = json!({
            "name": tool, "arguments": {"request_id": request},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            },
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = self.client.post(self.resource()).bearer_auth(token);
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool);
        let told = told(request.json(&body)).await.json();
        let form = &told["result"]["inputRequests"]["answer"]["params"]["message"];
        form.as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    /// The status of the response to the holder of that token.
    async fn enters(&self, token: &str) -> u16 {
        self.call(token, "tools/list", json!({})).await.status
    }

    /// Connected to that agent, by a browser that is signed in.
    async fn connected(&self, browser: &Browser, agent: &AgentHandle) -> Pair {
        let code = self.code(browser, agent).await;
        pair(&self.redeem(&code, &[]).await)
    }

    async fn code(&self, browser: &Browser, agent: &AgentHandle) -> String {
        let answer = self.agree(browser, agent, &[]).await;
        sent(&answer)["code"].as_str().unwrap().to_owned()
    }

    async fn agree(
        &self,
        browser: &Browser,
        agent: &AgentHandle,
        other: &[(&str, &str)],
    ) -> HttpAnswer {
        let id = agent.scope().agent.to_string();
        let fields = [("agent", id.as_str()), ("decision", "connect")];
        browser.fill_in(&self.question(other), PATH, &fields).await
    }
}

fn pair(told: &HttpAnswer) -> Pair {
    let given = told.expect(200);
    let text = |name: &str| given[name].as_str().unwrap().to_owned();
    given.has(json!({"token_type": "Bearer", "expires_in": 600}));
    Pair {
        access: text("access_token"),
        refresh: text("refresh_token"),
    }
}

/// What a client is sent with the browser.
#[track_caller]
fn sent(answer: &HttpAnswer) -> Value {
    let place = answer.leads_to();
    let (address, query) = place.split_once('?').unwrap();
    assert_eq!(address, "https://connector.example/callback");
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap();
    pairs
        .into_iter()
        .map(|(name, value)| (name, json!(value)))
        .collect()
}

/// An agent that is not in use.
async fn unused(installation: &Installation, name: &str) -> AgentHandle {
    let settings = [(Field::Model, Some("builtin:careful"))];
    memoir_testkit::agent(&installation.account, name, &settings).await
}

/// Everything that is presented to the endpoints of a connection, from a code to an exchanged token.
pub async fn all_that_is_presented(installation: &Installation, browser: &Browser) -> Vec<String> {
    let wren = unused(installation, "wren").await;
    let connector = Connector::registered(installation).await;
    let code = connector.code(browser, &wren).await;
    let first = pair(&connector.redeem(&code, &[]).await);
    assert_eq!(connector.enters(&first.access).await, 200);
    let second = pair(&connector.refresh(&first.refresh).await);
    assert_eq!(connector.enters(&first.access).await, 401);
    assert_eq!(connector.refresh(&first.refresh).await.status, 400);
    assert_eq!(connector.revoke(&second.refresh).await.status, 200);
    let pairs = [first.access, first.refresh, second.access, second.refresh];
    let others = [
        code,
        VERIFIER.to_owned(),
        challenge_of(VERIFIER),
        connector.id,
    ];
    pairs.into_iter().chain(others).collect()
}

#[tokio::test]
async fn spec_5_5_a_hosted_client_is_connected_from_a_401_to_its_revocation() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let wren = unused(&installation, "wren").await;
    let mut connector = Connector::new(&installation);

    // Discovery begins with a refusal.
    let refused = connector.call("", "initialize", json!({})).await;
    assert_eq!(refused.status, 401);
    let metadata = refused
        .header("www-authenticate")
        .strip_prefix("Bearer scope=\"agent\", resource_metadata=\"");
    let metadata = metadata.unwrap().strip_suffix('"').unwrap();
    let described = told(connector.client.get(metadata)).await.json();
    assert_eq!(described["resource"], connector.resource());
    let short = connector.get("/.well-known/oauth-protected-resource");
    assert_eq!(short.await.json(), described);
    let issuer = described["authorization_servers"][0].as_str().unwrap();
    assert_eq!(issuer, installation.address);
    let server = connector.get("/.well-known/oauth-authorization-server");
    let server = server.await.json();
    assert_eq!(server["issuer"], issuer);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    for (name, path) in [
        ("authorization_endpoint", "authorize"),
        ("token_endpoint", "token"),
        ("registration_endpoint", "register"),
        ("revocation_endpoint", "revoke"),
    ] {
        assert_eq!(server[name], format!("{issuer}/oauth/{path}"));
    }

    let said = json!({
        "client_name": "A hosted <client>", "redirect_uris": [CALLBACK],
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "client_secret_post", "logo_uri": "https://connector.example/a.png",
    });
    let registered = connector.register(&said).await;
    assert_eq!(registered.status, 201);
    assert_eq!(registered.json()["token_endpoint_auth_method"], "none");
    assert!(registered.json().get("client_secret").is_none());
    connector.id = registered.json()["client_id"].as_str().unwrap().to_owned();

    // The page names the program, where it is, and the agents.
    let shown = ada.get(&connector.question(&[])).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for part in ["A hosted &lt;client&gt;", "connector.example", "wren"] {
        shown.text.tells(part);
    }
    shown.document().check(PATH);
    let back = sent(&connector.agree(&ada, &wren, &[]).await);
    back.has(json!({"state": STATE, "iss": installation.address}));
    assert_eq!(back["of"], "memoir", "what stood in the address before");
    let code = back["code"].as_str().unwrap();
    let first = pair(&connector.redeem(code, &[]).await);

    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "connector", "version": "1"},
    });
    let begun = connector.call(&first.access, "initialize", params).await;
    begun.expect(200);
    let tools = connector.call(&first.access, "tools/list", json!({})).await;
    let tools = tools.json()["result"]["tools"].as_array().unwrap().clone();
    assert!(tools.iter().any(|tool| tool["name"] == "save_memory"));
    let saved =
        json!({"name": "save_memory", "arguments": {"content": "Ada keeps bees.", "kind": "core"}});
    let saved = connector.call(&first.access, "tools/call", saved).await;
    saved.expect(200);
    assert!(saved.json()["result"]["isError"] != true, "{}", saved.text);

    // The agent is notified, and the record names the administrator.
    let records = told_of(&wren).await;
    let made = |record: &&Value| record["action"] == "token_created";
    let made: Vec<&Value> = records.iter().filter(made).collect();
    assert_eq!(made.len(), 1);
    made[0].has(json!({"actor": {"kind": "administrator", "name": "user Ada"}}));
    let viewer = memoir_app::Viewer::Agent;
    let wren = wren.views().seen_by(viewer).as_agent().unwrap();
    let context = wren.context(None).await.unwrap();
    let context = serde_json::to_value(context).unwrap().to_string();
    context.tells("connected a program");

    let second = pair(&connector.refresh(&first.refresh).await);
    let status = connector.enters(&first.access).await;
    assert_eq!(status, 401, "one pair counts");
    assert_eq!(connector.enters(&second.access).await, 200);
    let reused = connector.refresh(&first.refresh).await;
    reused.expect(400).has(json!({"error": "invalid_grant"}));
    let status = connector.enters(&second.access).await;
    assert_eq!(status, 401, "the family is over");

    // The agent is in use now: it consents to the program again, and the client ends the connection.
    let leave = installation.account.agent("wren").await.unwrap();
    let third = again(&connector, &ada, &leave).await;
    assert_eq!(connector.enters(&third.access).await, 200);
    let settings = format!("/agents/{}/settings", wren.scope().agent);
    let listed = ada.get(&settings).await.text;
    listed.tells("A hosted &lt;client&gt; at connector.example, by Ada");
    assert_eq!(connector.revoke(&third.refresh).await.status, 200);
    let over = connector.call(&third.access, "tools/list", json!({})).await;
    assert_eq!(over.status, 401);
    over.header("www-authenticate")
        .tells("error=\"invalid_token\"");
    assert_eq!(connector.refresh(&third.refresh).await.status, 400);
    assert!(wren.log().verify().await.unwrap().valid);
}

/// The agent's log.
async fn told_of(agent: &AgentHandle) -> Vec<Value> {
    let lens = agent.views().seen_by(memoir_app::Viewer::Agent);
    let records = lens.records(&Default::default()).await.unwrap();
    let told = records
        .iter()
        .map(|record| serde_json::to_value(record).unwrap());
    told.collect()
}

/// Asked of the agent, granted, and connected.
async fn again(connector: &Connector, browser: &Browser, agent: &AgentHandle) -> Pair {
    let code = asked(connector, browser, agent).await;
    pair(&connector.redeem(&code, &[]).await)
}

/// The code that an agent in use agreed to.
async fn asked(connector: &Connector, browser: &Browser, agent: &AgentHandle) -> String {
    let id = agent.scope().agent.to_string();
    let refused = connector.agree(browser, agent, &[]).await;
    assert_eq!(refused.status, 200);
    refused.text.tells("is in use");
    refused.document().check(PATH);
    let fields = [("decision", "ask"), ("purpose", "To write from the road")];
    let form = refused.document();
    let answer = browser.send_filled_in(&form, PATH, &fields).await;
    let page = answer.leads_to().to_owned();
    assert!(page.starts_with(PATH) && page.contains(&id), "{page}");
    let waiting = browser.get(&page).await;
    waiting.text.tells("has not answered yet");
    waiting.document().check(PATH);
    let open = agent.grants().open_access().await.unwrap();
    let mut open = open.iter();
    let request = open.find(|request| request.kind.as_str() == "connection");
    let request = request.unwrap();
    let purpose = request.purpose.expose();
    purpose.tells("connector.example");
    purpose.tells("from the road");
    grant(agent, request.id).await;
    let connect = [("decision", "connect")];
    let answer = browser.fill_in(&page, PATH, &connect).await;
    sent(&answer)["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn spec_5_5_an_agent_in_use_is_connected_by_its_leave_for_that_program_alone() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let account = &installation.account;
    let wren = installation
        .agent(account, "wren", &["Ada keeps bees"])
        .await;
    let connector = Connector::registered(&installation).await;
    let code = asked(&connector, &ada, &wren).await;
    assert_eq!(connector.redeem(&code, &[]).await.status, 200);
    let records = told_of(&wren).await;
    let actions: Vec<&Value> = records.iter().map(|record| &record["action"]).collect();
    let last = ["access_used", "memory_saved", "token_created"];
    assert_eq!(actions[actions.len() - 3..], last);
    // The grant is used up.
    let again = connector.agree(&ada, &wren, &[]).await;
    assert!(again.text.contains("is in use"));

    // The agent's own client receives the request.
    let herself = Actor::agent("wren");
    let own = wren
        .grants()
        .create_token(Provision::Any, None, &herself)
        .await;
    let own = own.unwrap().secret.expose().to_owned();
    let shown = connector.agree(&ada, &wren, &[]).await;
    let fields = [("decision", "ask"), ("purpose", "Once more")];
    let form = shown.document();
    let sent = ada.send_filled_in(&form, PATH, &fields).await;
    sent.leads_to();
    let open = wren.grants().open_access().await.unwrap();
    let request = open[0].id.to_string();
    let form = connector.form_of_request(&own, &request).await;
    form.tells("to connect the program that the purpose names");
    form.tells("connector.example");
    form.tells("Once more");
    let revoked = wren.grants().revoke_access(open[0].id, &herself).await;
    revoked.unwrap();

    // A grant for one program is none for another, for another administrator, or for another token.
    let client = memoir_domain::access::ConnectedClient {
        name: "Connector",
        host: "connector.example",
    };
    let ada_herself = Actor::administrator("user Ada");
    let (grants, purpose) = (wren.grants(), "x".into());
    let request = grants.request_connection(&client, &purpose, &ada_herself);
    grant(&wren, request.await.unwrap().id).await;
    let elsewhere = "https://elsewhere.example/";
    for (name, address) in [("Another", CALLBACK), ("Connector", elsewhere)] {
        let other = Connector::registered_as(&installation, name, &[address]).await;
        let answer = other.agree(&ada, &wren, &[("redirect_uri", address)]).await;
        assert!(answer.text.contains("is in use"), "{name}");
    }
    let token = wren
        .grants()
        .create_token(Provision::First, None, &ada_herself)
        .await;
    assert_eq!(token.unwrap_err().code(), "consent_required");
    let grace = installation.another("Grace").await;
    let answer = connector.agree(&grace, &wren, &[]).await;
    assert!(answer.text.contains("is in use"));
    connector.connected(&ada, &wren).await;

    // And one for a token is none for a program.
    let draft = memoir_domain::access::AccessDraft {
        kind: memoir_domain::access::AccessKind::Token { expires_at: None },
        purpose: "x".into(),
    };
    let request = wren.grants().request_access(&draft, &ada_herself);
    grant(&wren, request.await.unwrap().id).await;
    let answer = connector.agree(&ada, &wren, &[]).await;
    assert!(answer.text.contains("is in use"));
    assert!(wren.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_5_2_a_purpose_that_is_not_accepted_stays_in_the_form() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let account = &installation.account;
    let wren = installation
        .agent(account, "wren", &["Ada keeps bees"])
        .await;
    let connector = Connector::registered(&installation).await;
    let form = connector.agree(&ada, &wren, &[]).await.document();
    let ask = async |purpose: &str| {
        let fields = [("decision", "ask"), ("purpose", purpose)];
        ada.send_filled_in(&form, PATH, &fields).await
    };
    // With the name of the program in front of it, it is too long.
    let long = "x".repeat(2_000);
    let again = ask(&long).await;
    assert_eq!(again.status, 400, "{}", again.text);
    let again = again.document();
    again.check(PATH);
    assert_eq!(again.by_id("purpose").text, long);
    // The agent refuses, and must not be asked again so soon.
    ask("To write").await.leads_to();
    let (grants, own) = (wren.grants(), Actor::agent("wren"));
    let open = grants.open_access().await.unwrap();
    let refused = grants.answer_access(open[0].id, false, None, &own);
    refused.await.unwrap();
    let again = ask("To write").await;
    assert_eq!(again.status, 409, "{}", again.text);
    again.text.tells("Not asked");
    assert_eq!(again.document().by_id("purpose").text, "To write");
}

#[tokio::test]
async fn the_name_of_no_agent_stays_in_the_form() {
    let installation = Installation::with(with_programs()).await;
    // More than are listed.
    installation.make_agents(201).await;
    let ada = installation.ada().await;
    let question = Connector::registered(&installation).await.question(&[]);
    let fields = [("agent", "agnet 7 <b>"), ("decision", "connect")];
    let again = ada.fill_in(&question, PATH, &fields).await;
    assert_eq!(again.status, 400, "{}", again.text);
    again.text.tells("There is no such agent");
    let document = again.document();
    document.check(PATH);
    let field = document.by_id("agent");
    assert_eq!(field.attribute("value"), Some("agnet 7 <b>"));
}

#[tokio::test]
async fn spec_5_5_no_redirect_goes_to_an_unregistered_address_or_without_consent() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    unused(&installation, "wren").await;
    let connector = Connector::registered(&installation).await;
    // A client that is not signed in is redirected to the sign-in only.
    let stranger = installation.browser().get(&connector.question(&[])).await;
    stranger
        .leads_to()
        .begins("/sign-in?next=%2Foauth%2Fauthorize");
    for (wrong, is_told) in [
        (("client_id", "memoir-client_x"), false),
        (("client_id", ""), false),
        (("redirect_uri", ""), false),
        (
            ("redirect_uri", "https://evil.example/callback?of=memoir"),
            false,
        ),
        (
            ("redirect_uri", "https://connector.example/callback"),
            false,
        ),
        (
            (
                "redirect_uri",
                "https://connector.example/callback?of=memoir&x=1",
            ),
            false,
        ),
        (
            (
                "redirect_uri",
                "https://connector.example@evil.example/callback?of=memoir",
            ),
            false,
        ),
        (("response_type", "token"), true),
        (("response_type", ""), true),
        (("code_challenge", ""), true),
        (("code_challenge", "too-short"), true),
        (("code_challenge_method", ""), true),
        (("code_challenge_method", "plain"), true),
        (("resource", ""), true),
        (("resource", "https://another.example/mcp"), true),
        (("resource", &installation.address), true),
    ] {
        let answer = ada.get(&connector.question(&[wrong])).await;
        assert_eq!(answer.status, 400, "{wrong:?}");
        assert_eq!(answer.header("location"), "", "{wrong:?}");
        answer.document().check(PATH);
        let has_way_back = answer
            .text
            .contains("https://connector.example/callback?of=memoir&amp;error=");
        assert_eq!(has_way_back, is_told, "{wrong:?}: {}", answer.text);
        assert!(!answer.text.contains("evil.example"), "{wrong:?}");
    }
    // The form is held against the same rules as the page.
    let page = ada.page(&connector.question(&[])).await;
    let evil = [
        ("redirect_uri", "https://evil.example/"),
        ("agent", "wren"),
        ("decision", "connect"),
    ];
    let answer = ada.send_filled_in(&page, PATH, &evil).await;
    assert_eq!((answer.status, answer.header("location")), (400, ""));
    // Twice the same parameter is none.
    let twice = format!("{}&client_id=a", connector.question(&[]));
    assert_eq!(ada.get(&twice).await.status, 400);
    // A refusal is sent to the program.
    let refuse = [("decision", "refuse")];
    let answer = ada.fill_in(&connector.question(&[]), PATH, &refuse).await;
    let back = sent(&answer);
    back.has(json!({"error": "access_denied", "state": STATE}));
    // A client that asks several servers knows who answers.
    assert_eq!(back["iss"], installation.address);
}

#[tokio::test]
async fn spec_5_5_no_other_site_consents_for_a_user_or_frames_the_page() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let wren = unused(&installation, "wren").await;
    let connector = Connector::registered(&installation).await;
    let question = connector.question(&[]);
    let shown = ada.get(&question).await;
    let policy = shown.header("content-security-policy");
    policy.tells("frame-ancestors 'none'");
    policy.tells("form-action 'self' https://connector.example;");
    assert_eq!(shown.header("x-frame-options"), "DENY");
    let elsewhere = ada.get("/account").await;
    let policy = elsewhere.header("content-security-policy");
    policy.tells("form-action 'self';");

    let page = shown.document();
    let id = wren.scope().agent.to_string();
    let mut fields: Vec<(&str, &str)> = page
        .filled_in(PATH)
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| *name != "agent")
        .collect();
    fields.extend([("agent", id.as_str()), ("decision", "connect")]);
    for site in ["cross-site", "same-site", "none"] {
        let answer = ada.send(PATH, &fields, &[("sec-fetch-site", site)]).await;
        assert_eq!(answer.status, 403, "{site}");
    }
    let without: Vec<_> = fields
        .iter()
        .copied()
        .filter(|(name, _)| *name != "form_token")
        .collect();
    assert_eq!(ada.post(PATH, &without).await.status, 403);
    // The form of another browser.
    let grace = installation.another("Grace").await;
    assert_eq!(grace.post(PATH, &fields).await.status, 403);
    assert_eq!(wren.grants().tokens().await.unwrap().len(), 0);
    // A read is no answer.
    let looked = format!("{question}&agent={id}&decision=connect");
    let looked = ada.get(&looked).await;
    assert_eq!(looked.status, 200);
    assert_eq!(wren.grants().tokens().await.unwrap().len(), 0);

    // Sent here by another site, a browser sends no cookie: it is redirected once, to this page only.
    let (stranger, foreign) = (installation.browser(), [("sec-fetch-site", "cross-site")]);
    let led = stranger.request(Method::GET, &question, &foreign).await;
    assert_eq!(led.status, 200);
    assert_eq!(led.header("refresh"), format!("0; url={question}"));
    led.document().check(PATH);
}

#[tokio::test]
async fn spec_5_5_a_code_counts_once_for_a_minute_and_for_its_own_client() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let connector = Connector::registered(&installation).await;
    let other = Connector::registered(&installation).await;
    let mut agents = 0;
    let mut fresh = async || {
        agents += 1;
        let agent = unused(&installation, &format!("agent {agents}")).await;
        let code = connector.code(&ada, &agent).await;
        (agent, code)
    };
    // The code alone is not enough to redeem it, and a failed attempt invalidates it.
    for wrong in [
        (
            "code_verifier",
            "another-verifier-that-is-long-enough-for-the-method",
        ),
        ("code_verifier", &challenge_of(VERIFIER)),
        ("redirect_uri", "https://connector.example/other"),
        ("client_id", other.id.as_str()),
    ] {
        let (agent, code) = fresh().await;
        let told = connector.redeem(&code, &[wrong]).await;
        assert_eq!(told.expect(400)["error"], "invalid_grant", "{wrong:?}");
        assert_eq!(connector.redeem(&code, &[]).await.status, 400, "{wrong:?}");
        let tokens = agent.grants().tokens().await.unwrap();
        assert!(tokens[0].revoked_at.is_some());
    }
    let (_, code) = fresh().await;
    let elsewhere = [("resource", "https://another.example/mcp")];
    let told = connector.redeem(&code, &elsewhere).await;
    told.expect(400).has(json!({"error": "invalid_target"}));
    let told = connector.redeem(&code, &[("grant_type", "password")]).await;
    assert_eq!(told.json()["error"], "unsupported_grant_type");
    let told = connector.redeem(&code, &[("code_verifier", "")]).await;
    assert_eq!(told.json()["error"], "invalid_request");
    let told = connector.redeem(&code, &[("client_id", "nobody")]).await;
    told.expect(401).has(json!({"error": "invalid_client"}));
    let first = pair(&connector.redeem(&code, &[]).await);
    assert_eq!(connector.enters(&first.access).await, 200);
    // A second time it ends what the first one gave.
    assert_eq!(connector.redeem(&code, &[]).await.status, 400);
    assert_eq!(connector.enters(&first.access).await, 401);
    assert_eq!(connector.refresh(&first.refresh).await.status, 400);

    let (agent, code) = fresh().await;
    installation.clock.advance(Duration::from_secs(60));
    assert_eq!(connector.redeem(&code, &[]).await.status, 400);
    // An unused one does not prevent a new beginning.
    connector.connected(&ada, &agent).await;
}

#[tokio::test]
async fn spec_5_5_a_token_opens_its_own_door_for_its_own_time() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let wren = unused(&installation, "wren").await;
    let connector = Connector::registered(&installation).await;
    let code = connector.code(&ada, &wren).await;
    assert_eq!(connector.enters(&code).await, 401);
    let pair = pair(&connector.redeem(&code, &[]).await);
    assert_eq!(connector.enters(&pair.access).await, 200);
    assert_eq!(connector.enters(&pair.refresh).await, 401);
    assert_eq!(connector.enters(&code).await, 401);
    // Neither REST nor the console.
    for path in ["/v1/agents/wren", "/v1/agents/wren/memories", "/v1/agents"] {
        let answer = installation.get(path, &pair.access).await;
        assert_eq!(answer.status, 401, "{path}");
    }
    // Nor the same interface of a service with another address.
    let elsewhere = programs_at(Some("https://memory.example".to_owned()));
    let mut other = Connector::new(&installation);
    other.address = installation.serve_beside(elsewhere).await;
    assert_eq!(other.enters(&pair.access).await, 401);
    assert_eq!(connector.enters(&pair.access).await, 200);
    // Ten minutes, and thirty days.
    installation.clock.advance(Duration::from_secs(600));
    assert_eq!(connector.enters(&pair.access).await, 401);
    let next = self::pair(&connector.refresh(&pair.refresh).await);
    installation.clock.advance(Duration::from_secs(29 * 86_400));
    let next = self::pair(&connector.refresh(&next.refresh).await);
    installation.clock.advance(Duration::from_secs(30 * 86_400));
    let over = connector.refresh(&next.refresh).await;
    // The client's registration has expired: it learns that it must begin again.
    over.expect(401).has(json!({"error": "invalid_client"}));
}

#[tokio::test]
async fn spec_5_5_a_connection_ends_with_its_token_its_agent_and_its_administrator_everywhere() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let grace = installation.another("Grace").await;
    let connector = Connector::registered(&installation).await;
    let same = programs_at(Some(installation.address.clone()));
    let mut node = Connector::new(&installation);
    node.address = installation.serve_beside(same).await;
    let mut pairs = Vec::new();
    for name in ["wren", "crow", "jay"] {
        let agent = unused(&installation, name).await;
        let by = if name == "jay" { &grace } else { &ada };
        let pair = connector.connected(by, &agent).await;
        assert_eq!(node.enters(&pair.access).await, 200);
        pairs.push((agent, pair));
    }
    let [(wren, first), (crow, second), (jay, third)] = pairs.try_into().ok().unwrap();
    // Revoked in the console.
    let settings = format!("/agents/{}/settings", wren.scope().agent);
    let token = wren.grants().tokens().await.unwrap()[0].id;
    let path = format!("/agents/{}/tokens/{token}/revoke", wren.scope().agent);
    ada.press(&settings, &path, &[]).await;
    crow.log().erase(&owner()).await.unwrap();
    let removed = installation.account.remove_user("Grace", &owner()).await;
    removed.unwrap();
    for pair in [&first, &second, &third] {
        assert_eq!(node.enters(&pair.access).await, 401);
        assert_eq!(connector.enters(&pair.access).await, 401);
        assert_eq!(connector.refresh(&pair.refresh).await.status, 400);
    }
    assert!(jay.grants().tokens().await.unwrap()[0].revoked_at.is_some());
    assert!(jay.log().verify().await.unwrap().valid);
}

#[tokio::test]
async fn spec_5_5_registering_fills_nothing_and_is_over_where_it_is_not_used() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    let wren = unused(&installation, "wren").await;
    let plain = Connector::new(&installation);
    let with = |field: &str, value: Value| {
        let mut said = json!({"redirect_uris": [CALLBACK]});
        said[field] = value;
        said
    };
    let addresses = [
        json!([]),
        json!(["http://connector.example/"]),
        json!(["custom:/callback"]),
        json!(["https://a.example/#x"]),
        json!(vec![CALLBACK; 6]),
    ];
    let addresses = addresses.map(|wrong| with("redirect_uris", wrong));
    let others = [
        with("client_name", json!("a".repeat(101))),
        with("client_name", json!("a\nb")),
        with("client_name", json!("a\u{202e}b")),
        with("grant_types", json!(["password"])),
        with("redirect_uris", json!(CALLBACK)),
        json!(["x"]),
    ];
    for (wrong, code) in [
        (&[json!({})][..], "invalid_redirect_uri"),
        (&addresses, "invalid_redirect_uri"),
        (&others, "invalid_client_metadata"),
    ] {
        for said in wrong {
            let told = plain.register(said).await.expect(400);
            assert_eq!(told["error"], code, "{said}");
        }
    }
    let used = Connector::registered(&installation).await;
    let unused = Connector::registered(&installation).await;
    used.connected(&ada, &wren).await;
    installation.clock.advance(Duration::from_secs(8 * 86_400));
    // The browser's own sign-in is over too.
    let ada = installation.ada().await;
    assert_eq!(ada.get(&used.question(&[])).await.status, 200);
    let over = ada.get(&unused.question(&[])).await;
    assert_eq!(over.status, 400);
    over.text.tells("its registration is over");
    // An identifier that was changed is none.
    let mut forged = Connector::registered(&installation).await;
    forged.id.insert(20, 'A');
    assert_eq!(ada.get(&forged.question(&[])).await.status, 400);
}

#[tokio::test]
async fn spec_5_5_without_an_address_no_program_is_connected() {
    let behind = ServiceOptions {
        behind_proxy: true,
        ..with_programs()
    };
    for options in [ServiceOptions::default(), behind] {
        let installation = Installation::with(options).await;
        let connector = Connector::new(&installation);
        for path in [
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
        ] {
            assert_eq!(connector.get(path).await.status, 404, "{path}");
        }
        let refused = connector.call("", "initialize", json!({})).await;
        assert_eq!(
            (refused.status, refused.header("www-authenticate")),
            (401, "Bearer")
        );
        assert_eq!(connector.register(&json!({})).await.status, 404);
    }
}

#[tokio::test]
async fn spec_5_5_clients_of_the_settings_need_not_register() {
    let address = memoir_app::ClientAddress::parse(CALLBACK).unwrap();
    let named = memoir_app::OAuthClient {
        id: "connector".to_owned(),
        name: "The one that we know".to_owned(),
        addresses: vec![address],
        registered_at: None::<Timestamp>,
    };
    let programs = Programs {
        address: None,
        clients: vec![named],
        takes_registrations: false,
    };
    let options = ServiceOptions {
        programs: Some(programs),
        ..ServiceOptions::default()
    };
    let installation = Installation::with(options).await;
    let ada = installation.ada().await;
    let wren = unused(&installation, "wren").await;
    let mut connector = Connector::new(&installation);
    let said = json!({"redirect_uris": [CALLBACK]});
    assert_eq!(connector.register(&said).await.status, 403);
    let server = connector.get("/.well-known/oauth-authorization-server");
    let server = server.await.json();
    assert!(server.get("registration_endpoint").is_none());
    connector.id = "connector".to_owned();
    let shown = ada.get(&connector.question(&[])).await;
    assert!(!shown.text.contains("gave itself this name"));
    let pair = connector.connected(&ada, &wren).await;
    assert_eq!(connector.enters(&pair.access).await, 200);
}

#[tokio::test]
async fn spec_5_6_an_agent_of_another_account_is_not_there_to_be_connected() {
    let installation = Installation::with(with_programs()).await;
    let ada = installation.ada().await;
    unused(&installation, "wren").await;
    let theirs = installation
        .agent(&installation.other().await, "Owl", &["One"])
        .await;
    let connector = Connector::registered(&installation).await;
    let page = ada.get(&connector.question(&[])).await;
    assert!(!page.text.contains("Owl"));
    for agent in [theirs.scope().agent.to_string(), "Owl".to_owned()] {
        for decision in ["connect", "ask"] {
            let fields = [
                ("agent", agent.as_str()),
                ("decision", decision),
                ("purpose", "x"),
            ];
            let answer = ada.send_filled_in(&page.document(), PATH, &fields).await;
            answer.text.tells("There is no such agent");
        }
        let path = connector.question(&[]) + "&agent=" + &agent;
        assert_eq!(ada.get(&path).await.status, 404);
    }
    assert_eq!(theirs.grants().tokens().await.unwrap().len(), 0);
    assert_eq!(theirs.grants().open_access().await.unwrap().len(), 0);
}
