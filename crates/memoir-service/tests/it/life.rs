//! Conversations and reflection over HTTP (SPEC 2.5 to 2.7).

use std::{sync::Arc, time::Duration};

use memoir_app::InstallationSettings;
use memoir_testkit::{ModelScript, SetModel, TestedObject, TestedText, Turn};
use serde_json::{Value, json};

use crate::installation::{Caller, Installation, fault, items};

/// In everything that is said.
const CANARY: &str = "canary-4d1c";

async fn installation(turns: impl IntoIterator<Item = Turn>) -> (Installation, Arc<ModelScript>) {
    let model = SetModel::default();
    let script = model.script(turns);
    let installation = Installation::with(Arc::new(model), InstallationSettings::default());
    (installation.await, script)
}

fn message(id: &str) -> Value {
    json!({
        "id": format!("{CANARY}-{id}"), "at": "2026-03-01T10:00:00Z", "speaker": format!("Ann {CANARY}"),
        "text": format!("I heard the {CANARY} sing."),
    })
}

/// Two messages, of which the second has another value in a field.
fn with(field: &str, value: impl Into<Value>) -> Value {
    let mut other = message("bad");
    other[field] = value.into();
    json!({"messages": [message("a"), other]})
}

fn notes(journal: &[&str]) -> Turn {
    Turn::text(&json!({"journal": journal, "core": []}).to_string())
}

const TRANSCRIPTS: &str = "/v1/agents/wren/transcripts";

/// Until `pending` messages wait.
async fn waiting(caller: &Caller, pending: u64) -> Value {
    for _ in 0..3_000 {
        let standing = caller.shown(TRANSCRIPTS).await;
        if standing["pending"] == pending {
            return standing;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("there are never {pending} messages that wait");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_6_a_conversation_is_taken_from_both_and_only_counts_come_back() {
    let (installation, script) = installation([]).await;
    let (_, agent) = installation.agent("wren").await;
    let admin = installation.administrator().await;
    for (caller, id, received, known) in [
        (&agent, "a", 1, 0),
        (&admin, "b", 1, 0),
        (&admin, "b", 0, 1),
        (&agent, "a", 0, 1),
    ] {
        let body = json!({"messages": [message(id)]});
        let answer = caller.post(TRANSCRIPTS, body).await;
        answer.text.omits(CANARY);
        let counts = json!({"received": received, "known": known});
        assert_eq!(answer.expect(202), counts);
    }
    for caller in [&agent, &admin] {
        let standing = caller.shown(TRANSCRIPTS).await;
        assert_eq!(standing["pending"], 2);
        assert!(standing["due_at"].as_str().unwrap() > "2026-03-04T18:00");
    }
    assert!(script.requests().is_empty(), "six hours are not over");
}

/// SPEC 2.1: refused by their number, before any beyond the limit is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_1_a_conversation_with_too_many_messages_names_the_limit_and_their_number() {
    let (installation, _) = installation([]).await;
    let (_, agent) = installation.agent("wren").await;
    let mut messages: Vec<Value> = (0..10_000).map(|n| message(&n.to_string())).collect();
    messages.push(json!("no message"));
    let body = json!({"messages": messages});
    assert_eq!(
        fault(&agent.post(TRANSCRIPTS, body).await),
        "messages: has 10001, and the limit is 10000; send them in parts"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_6_the_service_reads_what_is_to_be_read_now_once() {
    let noted = format!("Ann heard the {CANARY}.");
    let (installation, script) = installation([notes(&[&noted])]).await;
    let (_, agent) = installation.agent("wren").await;
    let body = json!({"messages": [message("a"), message("b")], "now": true});
    agent.post(TRANSCRIPTS, body.clone()).await.expect(202);
    let standing = waiting(&agent, 0).await;
    assert_eq!(
        standing,
        json!({"pending": 0, "absorbed": 2, "failed": 0, "due_at": null})
    );
    let again = agent.post(TRANSCRIPTS, body).await.expect(202);
    assert_eq!(again, json!({"received": 0, "known": 2}));
    let memories = agent.shown("/v1/agents/wren/memories?kind=journal").await;
    let [entry] = items(&memories) else {
        panic!("{memories}");
    };
    entry.has(json!({"content": noted, "source": "conversation"}));
    assert_eq!(entry["created_at"], "2026-03-01T10:00:00Z");
    assert_eq!(script.requests().len(), 1);
    // What was said is nowhere in what an administrator sees.
    let admin = installation.administrator().await;
    for path in [
        "/v1/agents/wren/audit?limit=200",
        "/v1/agents/wren/memories",
    ] {
        admin.shown(path).await.to_string().omits(CANARY);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_6_a_conversation_is_read_after_six_silent_hours() {
    let (installation, script) = installation([notes(&[])]).await;
    let (_, agent) = installation.agent("wren").await;
    let say = async |id| {
        let body = json!({"messages": [message(id)]});
        agent.post(TRANSCRIPTS, body).await.expect(202);
    };
    say("a").await;
    installation.clock.advance(Duration::from_secs(5 * 3_600));
    say("b").await;
    installation.clock.advance(Duration::from_secs(5 * 3_600));
    assert_eq!(waiting(&agent, 2).await["absorbed"], 0);
    assert!(script.requests().is_empty());
    installation.clock.advance(Duration::from_secs(3_700));
    // Delivering a known message wakes the service, and changes nothing.
    say("b").await;
    assert_eq!(waiting(&agent, 0).await["absorbed"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_1_bad_messages_are_told_by_their_place_and_none_is_taken() {
    let (installation, _) = installation([]).await;
    let (_, agent) = installation.agent("wren").await;
    let (invalid, long) = ("invalid_argument", "x".repeat(201));
    for (body, code, told) in [
        (with("id", ""), invalid, "id: of message 2 is empty"),
        (with("speaker", long), "too_long", "speaker: of message 2"),
        (with("text", ""), invalid, "text: of message 2 is empty"),
        (with("at", "yesterday"), invalid, "messages"),
        (with("said", "x"), invalid, "said: is no field"),
        (json!({"messages": "all"}), invalid, "messages"),
        (json!({}), invalid, "messages"),
    ] {
        let answer = agent.post(TRANSCRIPTS, body).await;
        let problem = answer.refused(400, code);
        let detail = problem["detail"].as_str().unwrap();
        detail.tells(told);
        answer.text.omits(CANARY);
    }
    let small = |id: u32| json!({"id": id.to_string(), "at": null, "speaker": "A", "text": "x"});
    let many: Vec<Value> = (0..10_001).map(small).collect();
    let answer = agent.post(TRANSCRIPTS, json!({"messages": many})).await;
    let told = "messages: has 10001, and the limit is 10000; send them in parts";
    assert_eq!(fault(&answer), told);
    assert_eq!(waiting(&agent, 0).await["absorbed"], 0);
    let most = json!({"messages": many[1..]});
    let taken = agent.post(TRANSCRIPTS, most).await.expect(202);
    assert_eq!(taken["received"], 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_5_a_reflection_promotes_what_the_model_names() {
    let (installation, script) = installation([
        Turn::text(r#"{"promote": [2]}"#),
        Turn::text("None."),
        Turn::text("None, really."),
    ])
    .await;
    let (_, agent) = installation.agent_with("wren", &["I like rain."]).await;
    for text in ["Mira's daughter is called Ada.", "It rained."] {
        let body = json!({"content": text, "kind": "journal"});
        let path = "/v1/agents/wren/memories";
        agent.created(path, body).await;
    }
    let path = "/v1/agents/wren/reflections";
    let reflected = agent.acted(path).await;
    assert_eq!(
        reflected,
        json!({"considered": 2, "promoted": [2], "replaced": [], "not_replaced": 0, "failure": null})
    );
    let memory = agent.shown("/v1/agents/wren/memories/2").await;
    assert_eq!(memory["kind"], "core");
    // An administrator may ask for one; what comes back holds no words.
    let admin = installation.administrator().await;
    let answer = admin.act(path).await;
    let reflected = answer.expect(200);
    assert_eq!(reflected["promoted"], json!([]));
    assert!(reflected["failure"].as_str().unwrap().contains("JSON"));
    answer.text.omits("rain");
    assert_eq!(script.requests().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_7_a_prompt_that_would_be_lost_is_asked_about_and_comes_back() {
    let (installation, _) = installation([]).await;
    let (_, agent) = installation.agent("wren").await;
    let path = "/v1/agents/wren/self/system_prompt";
    let long = format!("I am Wren, and I keep the {CANARY} and a garden by the sea.");
    let put = async |value: &str| agent.put(path, &json!({"value": value})).await;
    put(&long).await.expect(200);
    let asked = put("Hm.").await;
    let problem = asked.refused(409, "confirmation_required");
    problem["detail"].as_str().unwrap().tells("quarter");
    asked.text.omits(CANARY);
    assert_eq!(agent.shown(path).await["value"], long);
    put("Hm.").await.expect(200);
    let history = agent.shown(&format!("{path}/history")).await;
    assert_eq!(history["items"][0]["value"], "Hm.");
    assert_eq!(history["items"][1]["value"], long);
    agent.acted(&format!("{path}/undo")).await;
    assert_eq!(agent.shown(path).await["value"], long);
}
