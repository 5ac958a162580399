//! Traces: the spans of real sessions at a collector, and a collector that fails.
#![cfg(unix)]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use memoir_testkit::{ScriptedServer, ServerStep, TestedText};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value as Kind},
    trace::v1::Span,
};
use prost::Message;
use serde_json::{Value, json};

use crate::{
    installation::{Installation, Ran, script, wait_until},
    serving::{Running, token},
};

/// In all of an agent's texts, and in its name.
const CANARY: &str = "canary-7f3a";

/// A collector that accepts OTLP over HTTP, or responds with another status than 200.
struct Collector {
    address: String,
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            received: Arc::default(),
            asked: Arc::default(),
        };
        let (received, asked) = (collector.received.clone(), collector.asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some((head, body)) = read(&mut stream) else {
                    continue;
                };
                if status == 200 {
                    let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
                    received.lock().unwrap().push(request);
                }
                asked.lock().unwrap().push(head);
                // Answered once it is stored: the process may end, and be checked, before anything else.
                let answer = format!(
                    "HTTP/1.1 {status} Said\r\ncontent-type: application/x-protobuf\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        collector
    }

    fn requests(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        let resources = received.iter().flat_map(|request| &request.resource_spans);
        let scopes = resources.flat_map(|resource| &resource.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }

    fn resource(&self) -> BTreeMap<String, String> {
        let received = self.received.lock().unwrap();
        let resource = received[0].resource_spans[0].resource.clone().unwrap();
        attributes(&resource.attributes)
    }
}

/// Reads one request.
fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn attributes(found: &[KeyValue]) -> BTreeMap<String, String> {
    found
        .iter()
        .map(|attribute| (attribute.key.clone(), shown(attribute.value.as_ref())))
        .collect()
}

fn shown(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Kind::StringValue(text)) => text.clone(),
        Some(Kind::IntValue(number)) => number.to_string(),
        Some(Kind::BoolValue(flag)) => flag.to_string(),
        other => panic!("{other:?} is no kind that is sent"),
    }
}

/// Every attribute that a span may have, by the page about watching.
const ATTRIBUTES: &str = "
    error.type
    gen_ai.agent.id gen_ai.conversation.id gen_ai.operation.name gen_ai.provider.name
    gen_ai.request.max_tokens gen_ai.request.model gen_ai.tool.name gen_ai.tool.type
    gen_ai.usage.input_tokens gen_ai.usage.output_tokens
    http.request.method http.response.status_code http.route
    memoir.commit.records memoir.commit.result memoir.memories memoir.refusal memoir.rolled_back
    memoir.session.archived memoir.session.driver memoir.session.edits memoir.session.end
    memoir.session.end_reason memoir.session.mode memoir.session.rehearsal
    memoir.session.removed_tokens memoir.session.summaries
    service.name service.version";

fn of_name<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    let found: Vec<&Span> = spans.iter().filter(|span| span.name == name).collect();
    assert!(!found.is_empty(), "no `{name}` among {:?}", names(spans));
    found
}

fn names(spans: &[Span]) -> BTreeSet<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

/// The names of the spans around this one, the nearest first.
fn around<'a>(spans: &'a [Span], span: &Span) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut inner = span.parent_span_id.clone();
    while let Some(outer) = spans.iter().find(|other| other.span_id == inner) {
        assert_eq!(outer.trace_id, span.trace_id);
        names.push(outer.name.as_str());
        inner = outer.parent_span_id.clone();
    }
    names
}

/// A service with an agent that has memories, and a configured collector.
struct Scene {
    installation: Installation,
    service: Running,
    agent: String,
    token: String,
}

impl Scene {
    fn new(collector: &Collector, script: Vec<ServerStep>) -> (Self, ScriptedServer) {
        let installation = Installation::new();
        let model = installation.scripted(script);
        let path = ".config/memoir/config.toml";
        let config = std::fs::read_to_string(installation.path(path)).unwrap();
        let telemetry = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.address);
        installation.write(path, format!("{telemetry}{config}"));
        let agent = format!("wren-{CANARY}");
        installation.create(&agent, &["--model", "lab:small", "--loss-guard", "off"]);
        let token = token(&installation, &["--role", "agent", "--agent", &agent]);
        let service = Running::start(&installation, &[]);
        let scene = Self {
            installation,
            service,
            agent,
            token,
        };
        for hour in ["dawn", "noon", "dusk", "late"] {
            let content = format!("The {CANARY} sings at {hour}, whoever listens.");
            let body = json!({"content": content, "tags": [CANARY], "source": CANARY});
            let path = format!("/v1/agents/{}/memories", scene.agent);
            assert_eq!(scene.post(&path, &body).0, 201);
        }
        (scene, model)
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let asked = self
            .service
            .ask("POST", path, &self.token, &body.to_string());
        asked.unwrap()
    }

    /// Runs a session with the agent's model to its end.
    fn driven(&self) -> Value {
        let path = format!("/v1/agents/{}/sessions", self.agent);
        let (status, begun) = self.post(&path, &json!({"driver": "model"}));
        assert_eq!(status, 202, "{begun}");
        let path = format!("/v1/sessions/{}", begun["id"].as_str().unwrap());
        let ended = || self.service.get(&path, &self.token).1;
        wait_until(|| !ended()["ended_at"].is_null());
        ended()
    }

    /// Runs a session of the agent's own until the breaker trips; its identifier.
    fn tripped(&self) -> String {
        let path = format!("/v1/agents/{}/sessions", self.agent);
        let (_, opened) = self.post(&path, &json!({"driver": "agent"}));
        let id = opened["id"].as_str().unwrap().to_owned();
        let mut last = Value::Null;
        for number in [99, 1, 2] {
            let path = format!("/v1/sessions/{id}/tools/delete_memory");
            last = self.post(&path, &json!({"id": number})).1;
        }
        assert_eq!(last["type"], "refinement_rolled_back", "{last}");
        id
    }
}

#[test]
fn spec_5_1_a_collector_receives_what_is_promised_and_no_word() {
    let collector = Collector::start(200);
    let words = format!("The {CANARY} sings at dawn and at noon.");
    let mut turns = script(&[("update_memory", json!({"id": 3, "content": words}))]);
    turns.push(ServerStep::status(400).with_body(format!("{{\"error\": \"{CANARY}\"}}")));
    turns.push(ServerStep::text(&format!("No, {CANARY} stays.")));
    let (mut scene, _model) = Scene::new(&collector, turns);
    let own = scene.tripped();
    let ends: Vec<Value> = (0..3).map(|_| scene.driven()).collect();
    let states: Vec<&Value> = ends.iter().map(|end| &end["state"]).collect();
    assert_eq!(states, ["completed", "failed", "declined"]);
    let found = format!("/v1/agents/{}/memories?q={CANARY}", scene.agent);
    assert_eq!(scene.service.get(&found, &scene.token).0, 200);
    scene.service.get(&format!("/{CANARY}"), &scene.token);
    // Pending spans are sent at the end.
    scene.service.stop();
    assert!(scene.service.ended().success());
    let verified = scene.installation.json(&["audit", "verify", &scene.agent]);
    assert_eq!(verified["valid"], true);

    let spans = collector.spans();
    for span in &spans {
        let said = attributes(&span.attributes);
        let shown = format!("{} {said:?} {:?}", span.name, span.status);
        shown.omits("canary");
        let is_known = |key: &String| ATTRIBUTES.split_whitespace().any(|known| known == key);
        assert!(said.keys().all(is_known), "{shown}");
        assert!(span.events.is_empty() && span.links.is_empty(), "{shown}");
    }
    let resource = collector.resource();
    assert_eq!(resource["service.name"], "memoir");
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));

    let sessions = of_name(&spans, "invoke_agent");
    for (end, state) in ends.iter().zip(["completed", "failed", "declined"]) {
        let session = sessions
            .iter()
            .map(|span| attributes(&span.attributes))
            .find(|said| said["gen_ai.conversation.id"] == end["id"].as_str().unwrap())
            .unwrap();
        assert_eq!(session["memoir.session.end"], state);
        assert_eq!(session["gen_ai.operation.name"], "invoke_agent");
        assert_eq!(session["gen_ai.provider.name"], "lab");
        assert_eq!(session["gen_ai.request.model"], "small");
        let used = end["usage"]["input_tokens"].to_string();
        assert_eq!(session["gen_ai.usage.input_tokens"], used);
    }
    let calls = of_name(&spans, "chat small");
    let failed: Vec<String> = calls
        .iter()
        .filter_map(|span| attributes(&span.attributes).remove("error.type"))
        .collect();
    assert_eq!((calls.len(), failed), (5, vec!["rejected".to_owned()]));
    for call in calls {
        let said = attributes(&call.attributes);
        assert_eq!(said["gen_ai.operation.name"], "chat");
        assert_eq!(around(&spans, call), ["invoke_agent"]);
        // A client's: the model is another server.
        assert_eq!(call.kind, 3);
        assert_eq!(
            said.contains_key("error.type"),
            call.status.as_ref().unwrap().code == 2
        );
        if !said.contains_key("error.type") {
            assert_eq!(said["gen_ai.usage.input_tokens"], "100");
            assert_eq!(said["gen_ai.usage.output_tokens"], "10");
        }
    }
    let route = "POST /v1/sessions/{id}/tools/{tool}";
    let tools: Vec<BTreeMap<String, String>> = of_name(&spans, "execute_tool delete_memory")
        .into_iter()
        .inspect(|span| assert_eq!(around(&spans, span)[0], route))
        .map(|span| attributes(&span.attributes))
        .inspect(|said| assert_eq!(said["gen_ai.conversation.id"], own))
        .collect();
    assert_eq!(tools.len(), 3);
    let refused = tools.iter().filter_map(|said| said.get("memoir.refusal"));
    assert_eq!(refused.collect::<Vec<_>>(), ["not_found"]);
    let tripped = tools
        .iter()
        .filter(|said| said.contains_key("memoir.rolled_back"));
    assert_eq!(tripped.count(), 1);
    for tool in ["update_memory", "complete_refinement"] {
        for span in of_name(&spans, &format!("execute_tool {tool}")) {
            assert_eq!(around(&spans, span), ["invoke_agent"]);
        }
    }
    for span in of_name(&spans, route) {
        let said = attributes(&span.attributes);
        assert_eq!(said["http.route"], "/v1/sessions/{id}/tools/{tool}");
        assert_eq!(said["http.response.status_code"], "200");
        assert_eq!(span.kind, 2);
    }
    of_name(&spans, "GET unmatched");
    let saving = of_name(&spans, "create_memory");
    assert_eq!(saving.len(), 4);
    assert_eq!(attributes(&saving[0].attributes)["memoir.memories"], "1");
    of_name(&spans, "search_memory");
    let commits = of_name(&spans, "commit");
    let within = commits
        .iter()
        .filter(|span| around(&spans, span).first() == Some(&"execute_tool delete_memory"));
    assert_eq!(within.count(), 2);
}

const KILN: [&str; 3] = [
    "The kiln is fired.",
    "The kiln is fired!",
    "Ada keeps bees by the river.",
];

#[test]
fn the_environment_names_the_collector_too_and_switches_traces_off() {
    let installation = Installation::with_agent();
    installation.remember(&KILN);
    let collector = Collector::start(200);
    let refine = |variables: &[(&str, &str)]| {
        let mut command = installation.command(&["refine", "wren"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address);
        let ran = Ran::of(command.envs(variables.iter().copied()));
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    refine(&[("OTEL_TRACES_EXPORTER", "none")]);
    refine(&[("OTEL_SDK_DISABLED", "true")]);
    assert_eq!(collector.requests(), 0);
    // Commands that run no session send nothing.
    let mut recall = installation.command(&["recall", "wren", "kiln"]);
    recall.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address);
    assert_eq!(Ran::of(&mut recall).code, Some(0));
    assert_eq!(collector.requests(), 0);
    refine(&[
        ("OTEL_SERVICE_NAME", "lab"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret"),
    ]);
    let head = collector.asked.lock().unwrap()[0].to_lowercase();
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    head.tells("content-type: application/x-protobuf\r\n");
    head.tells("x-key: secret\r\n");
    assert_eq!(collector.resource()["service.name"], "lab");
    of_name(&collector.spans(), "invoke_agent");
}

#[test]
fn a_failing_collector_disturbs_nothing_and_is_logged_once() {
    let refusing = Collector::start(503);
    // No process listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let gone = format!("http://{}", gone.unwrap());
    for address in [refusing.address.as_str(), &gone] {
        let installation = Installation::with_agent();
        installation.remember(&KILN);
        let mut command = installation.command(&["refine", "wren", "--json"]);
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", address)
            .env("MEMOIR_LOG", "info");
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let told = ran.stderr.matches("the collector accepts no spans").count();
        assert_eq!(told, 1, "{}", ran.stderr);
        let mut quiet = installation.command(&["refine", "wren", "--json"]);
        let ran = Ran::of(quiet.env("OTEL_EXPORTER_OTLP_ENDPOINT", address));
        ran.stderr.omits("collector");
    }
    assert!(refusing.requests() > 0);
    let installation = Installation::with_agent();
    installation.remember(&["The kiln is fired.", "The Kiln is fired."]);
    let mut command = installation.command(&["refine", "wren"]);
    let ran = Ran::of(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "no address"));
    ran.reports("traces are not sent: ");
    assert_eq!(installation.items(&["sessions", "wren"]).len(), 1);
}
