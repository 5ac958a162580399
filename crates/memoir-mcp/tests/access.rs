//! Access requests: what the agent's tools list, its answer, and asking the person at its client.
#![expect(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "helpers of tests fail the test"
)]

mod client;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use client::{agent, call, connected_by, connected_to};
use memoir_app::{AccessRequestFacts, OwnAgent, Viewer};
use memoir_domain::{
    access::{AccessDraft, AccessKind, AccessScope, AccessState},
    audit::Actor,
    memory::Number,
};
use memoir_testkit::TestedObject;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ElicitationCapability, Implementation, ProtocolVersion,
    },
    service::{ClientLifecycleMode, RequestContext, RunningService},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

fn person() -> Actor {
    Actor::administrator("token of Ada")
}

async fn asked(agent: &OwnAgent, kind: AccessKind) -> AccessRequestFacts {
    let draft = AccessDraft {
        kind,
        purpose: "to see <why> the sessions end early".into(),
    };
    agent
        .grants()
        .request_access(&draft, &person())
        .await
        .unwrap()
}

fn reading() -> AccessKind {
    AccessKind::Read {
        scope: AccessScope::Core,
        minutes: 30,
    }
}

async fn state(agent: &OwnAgent, request: &AccessRequestFacts) -> AccessState {
    let lens = agent.views().seen_by(Viewer::Agent);
    let now = lens.access_request(request.id).await;
    now.unwrap().state
}

async fn save<H: ClientHandler>(client: &RunningService<RoleClient, H>, content: &str) -> Value {
    let core = json!({"content": content, "kind": "core"});
    call(client, "save_memory", core).await
}

/// A person with the same answer to each question.
#[derive(Clone)]
struct Person {
    version: ProtocolVersion,
    says: ElicitResult,
    heard: mpsc::UnboundedSender<String>,
    /// How long they think about it.
    thinks: Duration,
    /// How many forms are before the person now, and the maximum at the same time.
    forms: Arc<[AtomicUsize; 2]>,
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        let mut config = ClientConfig::new(capabilities, Implementation::new("test", "1"));
        config.protocol_version = self.version.clone();
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = request
        else {
            panic!("a form is asked for");
        };
        let schema = serde_json::to_value(&requested_schema).unwrap();
        assert_eq!(schema["required"], json!(["granted"]));
        assert_eq!(schema["properties"]["granted"]["type"], "boolean");
        let [now, most] = &*self.forms;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.heard.send(message).unwrap();
        tokio::time::sleep(self.thinks).await;
        now.fetch_sub(1, Ordering::SeqCst);
        Ok(self.says.clone())
    }
}

fn saying(action: ElicitationAction, content: Value) -> (Person, mpsc::UnboundedReceiver<String>) {
    let (heard, hears) = mpsc::unbounded_channel();
    let mut says = ElicitResult::new(action);
    if !content.is_null() {
        says = says.with_content(content);
    }
    (
        Person {
            version: ProtocolVersion::V_2025_11_25,
            says,
            heard,
            // As long as another form may take to come.
            thinks: Duration::from_millis(20),
            forms: Arc::default(),
        },
        hears,
    )
}

/// The person at a client of that protocol.
async fn with_person(agent: &OwnAgent, person: Person) -> RunningService<RoleClient, Person> {
    let version = person.version.clone();
    let mode = if version == ProtocolVersion::V_2026_07_28 {
        ClientLifecycleMode::Discover {
            preferred_versions: vec![version],
        }
    } else {
        ClientLifecycleMode::Initialize
    };
    connected_by(agent.clone(), person, mode).await
}

fn yes() -> Value {
    json!({"granted": true, "reason": "  Look all you like. "})
}

/// Waits until the answer of a person who is asked beside the calls is written.
async fn until(agent: &OwnAgent, request: &AccessRequestFacts, wanted: AccessState) {
    for _ in 0..30_000 {
        if state(agent, request).await == wanted {
            return;
        }
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("the request is never {wanted:?}");
}

#[tokio::test]
async fn spec_5_2_results_tell_who_asks_and_the_agent_answers() {
    let agent = agent().await;
    let client = connected_to(agent.clone(), ()).await;
    let saved = save(&client, "Ada keeps bees.").await;
    assert!(saved.get("access_requests").is_none(), "{saved}");
    let request = asked(&agent, reading()).await;
    for (tool, arguments) in [
        ("get_context", json!({})),
        (
            "save_memory",
            json!({"content": "Ada keeps more bees.", "kind": "core"}),
        ),
        ("view_config", json!({"field": "refinement_threshold"})),
    ] {
        let result = call(&client, tool, arguments).await;
        let told = &result["access_requests"]["requests"];
        assert_eq!(
            told,
            &json!([{
                "id": request.id, "state": "asked", "kind": "read", "scope": "core", "minutes": 30,
                "asked_by": {"kind": "administrator", "name": "token of Ada"},
                "purpose": "to see <why> the sessions end early", "expires_at": request.expires_at,
            }]),
            "{tool}"
        );
    }
    let found = call(&client, "recall_memories", json!({})).await;
    assert!(found.get("access_requests").is_none(), "{found}");
    let yes = json!({"request_id": request.id, "granted": true, "reason": "Look."});
    let answered = call(&client, "answer_access_request", yes.clone()).await;
    answered.has(json!({"type": "access_request", "state": "granted", "reason": "Look."}));
    // The same once more changes nothing.
    let again = call(&client, "answer_access_request", yes).await;
    assert_eq!(again["expires_at"], answered["expires_at"]);
    let context = call(&client, "get_context", json!({})).await;
    context["access_requests"]["requests"][0].has(json!({"state": "granted"}));
    // A no after the yes takes it back.
    let no = json!({"request_id": request.id, "granted": false});
    let revoked = call(&client, "answer_access_request", no).await;
    assert_eq!(revoked["state"], "revoked");
    let context = call(&client, "get_context", json!({})).await;
    assert!(context.get("access_requests").is_none(), "{context}");
}

#[tokio::test]
async fn a_wrong_answer_changes_nothing() {
    let agent = agent().await;
    let client = connected_to(agent.clone(), ()).await;
    let request = asked(&agent, reading()).await;
    for (arguments, code) in [
        (json!({"granted": true}), "invalid_argument"),
        (json!({"request_id": request.id}), "invalid_argument"),
        (
            json!({"request_id": request.id, "granted": "yes"}),
            "invalid_argument",
        ),
        (
            json!({"request_id": request.id, "granted": null}),
            "invalid_argument",
        ),
        (
            json!({"request_id": request.id, "granted": true, "minutes": 90}),
            "invalid_argument",
        ),
        (json!({"request_id": "1", "granted": true}), "not_found"),
        (
            json!({"request_id": "019a0000-0000-7000-8000-000000000000", "granted": true}),
            "not_found",
        ),
    ] {
        let refused = call(&client, "answer_access_request", arguments.clone()).await;
        assert_eq!(refused["code"], code, "{arguments}");
    }
    assert_eq!(state(&agent, &request).await, AccessState::Asked);
}

#[tokio::test]
async fn spec_4_4_a_yes_to_a_shredding_shreds() {
    let agent = agent().await;
    let client = connected_to(agent.clone(), ()).await;
    save(&client, "The key is 4711.").await;
    let shredding = AccessKind::Shred {
        number: Number(1),
        derived: false,
    };
    let request = asked(&agent, shredding).await;
    let yes = json!({"request_id": request.id, "granted": true});
    let answered = call(&client, "answer_access_request", yes).await;
    assert_eq!(answered["state"], "done", "{answered}");
    let memory = agent.views().memory(Number(1)).await.unwrap();
    assert!(memory.shredded_at.is_some());
}

#[tokio::test]
async fn a_person_at_a_client_with_forms_is_asked_once_and_beside_the_call() {
    let agent = agent().await;
    let (person, mut hears) = saying(ElicitationAction::Accept, yes());
    let client = with_person(&agent, person).await;
    let request = asked(&agent, reading()).await;
    let saved = save(&client, "Ada keeps bees.").await;
    assert_eq!(saved["number"], 1);
    until(&agent, &request, AccessState::Granted).await;
    let question = hears.recv().await.unwrap();
    for part in [
        "\"token of Ada\"",
        "\"wren\"",
        "core memories",
        "30 minutes",
        "\\u003cwhy>",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let me = Actor::agent("wren");
    let lens = agent.views().seen_by(Viewer::Agent);
    let granted = lens.access_request(request.id).await;
    let reason = granted.unwrap().words.reason.unwrap();
    assert_eq!(reason.expose(), "Look all you like.");
    agent.grants().revoke_access(request.id, &me).await.unwrap();
    call(&client, "get_context", json!({})).await;
    assert!(hears.try_recv().is_err());
}

#[tokio::test]
async fn who_declines_to_say_leaves_the_request_waiting_and_is_not_asked_again() {
    for (action, content) in [
        (ElicitationAction::Decline, Value::Null),
        (ElicitationAction::Cancel, Value::Null),
        (ElicitationAction::Accept, json!({"reason": "no yes or no"})),
    ] {
        let agent = agent().await;
        let (person, mut hears) = saying(action, content);
        let client = with_person(&agent, person).await;
        let request = asked(&agent, reading()).await;
        call(&client, "get_context", json!({})).await;
        hears.recv().await.unwrap();
        // Wider than the first one, which a no to it does not end too (SPEC 5.2).
        let everything = AccessKind::Read {
            scope: AccessScope::All,
            minutes: 30,
        };
        let second = asked(&agent, everything).await;
        call(&client, "get_context", json!({})).await;
        // The one that is heard next is the second request.
        hears.recv().await.unwrap();
        call(&client, "get_context", json!({})).await;
        let no = json!({"request_id": second.id, "granted": false});
        call(&client, "answer_access_request", no).await;
        assert!(hears.try_recv().is_err());
        assert_eq!(state(&agent, &request).await, AccessState::Asked);
        assert_eq!(state(&agent, &second).await, AccessState::Refused);
    }
}

#[tokio::test]
async fn a_person_has_one_form_before_them_at_a_time() {
    let agent = agent().await;
    let (person, mut hears) = saying(ElicitationAction::Decline, Value::Null);
    let forms = person.forms.clone();
    let client = with_person(&agent, person).await;
    let request = asked(&agent, reading()).await;
    let everything = AccessKind::Read {
        scope: AccessScope::All,
        minutes: 30,
    };
    asked(&agent, everything).await;
    let context = || call(&client, "get_context", json!({}));
    let ask = json!({"request_id": request.id});
    let answered = tokio::join!(
        context(),
        context(),
        call(&client, "answer_access_request", ask)
    );
    assert_eq!(answered.2["state"], "asked");
    // Each once beside the calls, and one as the tool wants it.
    for _ in 0..3 {
        hears.recv().await.unwrap();
    }
    assert_eq!(forms[1].load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn other_calls_go_on_while_a_person_thinks() {
    let agent = agent().await;
    let (mut person, mut hears) = saying(ElicitationAction::Accept, yes());
    person.thinks = Duration::from_secs(3_600);
    let client = with_person(&agent, person).await;
    let request = asked(&agent, reading()).await;
    let ask = call(
        &client,
        "answer_access_request",
        json!({"request_id": request.id}),
    );
    let others = async {
        hears.recv().await.unwrap();
        assert_eq!(save(&client, "Ada keeps bees.").await["number"], 1);
        let context = call(&client, "get_context", json!({})).await;
        assert_eq!(context["access_requests"]["requests"][0]["state"], "asked");
        // The agent need not wait for the person either.
        let no = json!({"request_id": request.id, "granted": false});
        call(&client, "answer_access_request", no).await
    };
    let answered = tokio::select! {
        _ = ask => panic!("the person is still thinking"),
        answered = tokio::time::timeout(Duration::from_secs(60), others) => answered.unwrap(),
    };
    assert_eq!(answered["state"], "refused");
}

#[tokio::test]
async fn without_an_answer_the_tool_has_the_person_asked() {
    for version in [ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28] {
        let agent = agent().await;
        let (mut person, mut hears) = saying(ElicitationAction::Accept, yes());
        person.version = version.clone();
        let client = with_person(&agent, person).await;
        let request = asked(&agent, reading()).await;
        let ask = json!({"request_id": request.id});
        let answered = call(&client, "answer_access_request", ask).await;
        assert_eq!(answered["state"], "granted", "{version:?}: {answered}");
        assert!(hears.try_recv().unwrap().contains("30 minutes"));
    }
}

#[tokio::test]
async fn the_newest_protocol_asks_only_within_a_call() {
    let agent = agent().await;
    let (mut person, mut hears) = saying(ElicitationAction::Decline, Value::Null);
    person.version = ProtocolVersion::V_2026_07_28;
    let client = with_person(&agent, person).await;
    let request = asked(&agent, reading()).await;
    call(&client, "get_context", json!({})).await;
    let ask = json!({"request_id": request.id});
    let left = call(&client, "answer_access_request", ask).await;
    assert_eq!(left["state"], "asked");
    assert!(hears.try_recv().is_ok() && hears.try_recv().is_err());
}
