//! Conversations and reflection over HTTP (SPEC 2.5 to 2.7).

use std::{sync::Arc, time::Duration};

use memoir_app::InstallationSettings;
use memoir_testkit::{ModelScript, SetModel, TestedText, Turn};
use serde_json::{Value, json};

use crate::installation::Installation;

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

fn notes(journal: &[&str]) -> Turn {
    Turn::text(&json!({"journal": journal, "core": []}).to_string())
}

const TRANSCRIPTS: &str = "/v1/agents/wren/transcripts";

/// Until `pending` messages wait.
async fn waiting(installation: &Installation, token: &str, pending: u64) -> Value {
    for _ in 0..500 {
        let standing = installation.shown(TRANSCRIPTS, token).await;
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
    let administrator = installation.administrator().await;
    for (token, id, received, known) in [
        (&agent, "a", 1, 0),
        (&administrator, "b", 1, 0),
        (&administrator, "b", 0, 1),
        (&agent, "a", 0, 1),
    ] {
        let answer = installation
            .post(TRANSCRIPTS, token, json!({"messages": [message(id)]}))
            .await;
        answer.text.omits(CANARY);
        assert_eq!(
            answer.expect(202),
            json!({"received": received, "known": known})
        );
    }
    for token in [&agent, &administrator] {
        let standing = installation.shown(TRANSCRIPTS, token).await;
        assert_eq!(standing["pending"], 2);
        assert!(standing["due_at"].as_str().unwrap() > "2026-03-04T18:00");
    }
    assert!(script.requests().is_empty(), "six hours are not over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_6_the_service_reads_what_is_to_be_read_now_once() {
    let noted = format!("Ann heard the {CANARY}.");
    let (installation, script) = installation([notes(&[&noted])]).await;
    let (_, agent) = installation.agent("wren").await;
    let body = json!({"messages": [message("a"), message("b")], "now": true});
    installation
        .post(TRANSCRIPTS, &agent, body.clone())
        .await
        .expect(202);
    let standing = waiting(&installation, &agent, 0).await;
    assert_eq!(
        standing,
        json!({"pending": 0, "absorbed": 2, "failed": 0, "due_at": null})
    );
    let again = installation
        .post(TRANSCRIPTS, &agent, body)
        .await
        .expect(202);
    assert_eq!(again, json!({"received": 0, "known": 2}));
    let memories = installation
        .shown("/v1/agents/wren/memories?kind=journal", &agent)
        .await;
    let items = memories["items"].as_array().unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["content"], noted);
    assert_eq!(items[0]["created_at"], "2026-03-01T10:00:00Z");
    assert_eq!(items[0]["source"], "conversation");
    assert_eq!(script.requests().len(), 1);
    // What was said is nowhere in what an administrator sees.
    let administrator = installation.administrator().await;
    for path in [
        "/v1/agents/wren/audit?limit=200",
        "/v1/agents/wren/memories",
    ] {
        let seen = installation.get(path, &administrator).await;
        seen.expect(200);
        assert!(!seen.text.contains(CANARY), "{path}: {}", seen.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_6_a_conversation_is_read_once_nobody_spoke_for_six_hours() {
    let (installation, script) = installation([notes(&[])]).await;
    let (_, agent) = installation.agent("wren").await;
    let say = async |id| {
        let body = json!({"messages": [message(id)]});
        installation
            .post(TRANSCRIPTS, &agent, body)
            .await
            .expect(202);
    };
    say("a").await;
    installation.clock.advance(Duration::from_secs(5 * 3_600));
    say("b").await;
    installation.clock.advance(Duration::from_secs(5 * 3_600));
    assert_eq!(waiting(&installation, &agent, 2).await["absorbed"], 0);
    assert!(script.requests().is_empty());
    installation.clock.advance(Duration::from_secs(3_700));
    // Delivering a known message wakes the service, and changes nothing.
    say("b").await;
    assert_eq!(waiting(&installation, &agent, 0).await["absorbed"], 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_2_1_bad_messages_are_told_by_their_place_and_none_is_taken() {
    let (installation, _) = installation([]).await;
    let (_, agent) = installation.agent("wren").await;
    let with = |field: &str, value: Value| {
        let mut bad = message("bad");
        bad[field] = value;
        json!({"messages": [message("a"), bad]})
    };
    let invalid = "invalid_argument";
    for (body, code, told) in [
        (with("id", json!("")), invalid, "id: of message 2 is empty"),
        (
            with("speaker", json!("x".repeat(201))),
            "too_long",
            "speaker: of message 2",
        ),
        (
            with("text", json!("")),
            invalid,
            "text: of message 2 is empty",
        ),
        (with("at", json!("yesterday")), invalid, "messages"),
        (with("said", json!("x")), invalid, "said: is no field"),
        (json!({"messages": "all"}), invalid, "messages"),
        (json!({}), invalid, "messages"),
    ] {
        let answer = installation.post(TRANSCRIPTS, &agent, body).await;
        let problem = answer.refused(400, code);
        let detail = problem["detail"].as_str().unwrap();
        detail.tells(told);
        answer.text.omits(CANARY);
    }
    let small = |id: u32| json!({"id": id.to_string(), "at": null, "speaker": "A", "text": "x"});
    let many: Vec<Value> = (0..10_001).map(small).collect();
    let answer = installation
        .post(TRANSCRIPTS, &agent, json!({"messages": many}))
        .await;
    let problem = answer.refused(400, "invalid_argument");
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!(
        detail,
        "messages: has 10001, and the limit is 10000; send them in parts"
    );
    assert_eq!(waiting(&installation, &agent, 0).await["absorbed"], 0);
    let most = json!({"messages": many[1..]});
    let taken = installation
        .post(TRANSCRIPTS, &agent, most)
        .await
        .expect(202);
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
        installation.created(path, &agent, body).await;
    }
    let path = "/v1/agents/wren/reflections";
    let reflected = installation.acted(path, &agent).await;
    assert_eq!(
        reflected,
        json!({"considered": 2, "promoted": [2], "replaced": [], "not_replaced": 0, "failure": null})
    );
    let memory = installation.get("/v1/agents/wren/memories/2", &agent).await;
    assert_eq!(memory.expect(200)["kind"], "core");
    // An administrator may ask for one; what comes back holds no words.
    let administrator = installation.administrator().await;
    let answer = installation.post(path, &administrator, Value::Null).await;
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
    let put = async |value: &str| {
        installation
            .send("PUT", path, &agent, &json!({"value": value}))
            .await
    };
    put(&long).await.expect(200);
    let asked = put("Hm.").await;
    let problem = asked.refused(409, "confirmation_required");
    problem["detail"].as_str().unwrap().tells("quarter");
    asked.text.omits(CANARY);
    assert_eq!(installation.shown(path, &agent).await["value"], long);
    put("Hm.").await.expect(200);
    let history = installation.get(&format!("{path}/history"), &agent).await;
    let history = history.expect(200);
    assert_eq!(history["items"][0]["value"], "Hm.");
    assert_eq!(history["items"][1]["value"], long);
    let undo = format!("{path}/undo");
    installation.acted(&undo, &agent).await;
    assert_eq!(installation.shown(path, &agent).await["value"], long);
}
