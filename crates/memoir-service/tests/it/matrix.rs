//! The permissions: every documented operation by every kind of caller, and which responses hold text.

use std::{collections::BTreeSet, fmt::Write, time::Duration};

use memoir_app::{Provision, sessions::RefineOptions};
use memoir_domain::{Timestamp, agent::Field, audit::Actor};
use memoir_vault::password::Password;
use serde_json::{Value, json};

use crate::installation::{HttpAnswer, Installation, administrator_token, agent_of, owner};

/// In everything that is an agent's words.
const CANARY: &str = "canary-7f3a";

/// Of the administrator Ada of the first account.
const PASSWORD: &str = "correct horse battery";

/// What must be there before the operation.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    OpenSession,
    Rehearsal,
    User,
}

struct Operation {
    id: String,
    method: String,
    path: String,
    body: Value,
    before: Before,
}

/// The operations: what must be there before, an identifier, a method, a path, and a body.
const OPERATIONS: &str = r#"
list_agents GET /v1/agents
create_agent POST /v1/agents {"name": "swift"}
get_agent GET /v1/agents/{agent}
update_agent PATCH /v1/agents/{agent} {"core_token_budget": 1900}
erase_agent DELETE /v1/agents/{agent}
create_token POST /v1/agents/{agent}/tokens
save_memory POST /v1/agents/{agent}/memories {"content": "WORDS", "kind": "core", "tags": ["CANARY"], "source": "CANARY"}
save_memories POST /v1/agents/{agent}/memories/batch {"memories": [{"content": "WORDS", "kind": "journal"}]}
list_memories GET /v1/agents/{agent}/memories?include=discarded
list_memories GET /v1/agents/{agent}/memories?q=canary
list_memories GET /v1/agents/{agent}/memories?tag=canary
get_memory GET /v1/agents/{agent}/memories/1
list_memories GET /v1/agents/{agent}/memories?kind=archival
protect_memory PUT /v1/agents/{agent}/memories/1/protection
unprotect_memory DELETE /v1/agents/{agent}/memories/3/protection
restore_memory POST /v1/agents/{agent}/memories/5/restore
promote_memory POST /v1/agents/{agent}/memories/4/promote
promote_memory POST /v1/agents/{agent}/memories/1/promote
discard_memory POST /v1/agents/{agent}/memories/1/discard
discard_memory POST /v1/agents/{agent}/memories/3/discard
shred_memory POST /v1/agents/{agent}/memories/1/shred {"reason": "a key was pasted"}
request_access POST /v1/agents/{agent}/access-requests {"purpose": "to look", "scope": "core", "minutes": 5}
list_access_requests GET /v1/agents/{agent}/access-requests
get_access_request GET /v1/access-requests/{request}
answer_access_request POST /v1/access-requests/{request}/answer {"granted": true, "reason": "CANARY"}
revoke_access_request POST /v1/access-requests/{request}/revoke
hand_over_transcript POST /v1/agents/{agent}/transcripts {"messages": [{"id": "m1", "at": "2026-03-04T12:00:00Z", "speaker": "CANARY", "text": "WORDS"}]}
get_transcripts GET /v1/agents/{agent}/transcripts
reflect POST /v1/agents/{agent}/reflections
get_context GET /v1/agents/{agent}/context
get_own_setting GET /v1/agents/{agent}/self/system_prompt
set_own_setting PUT /v1/agents/{agent}/self/system_prompt {"value": "WORDS"}
get_own_setting_history GET /v1/agents/{agent}/self/system_prompt/history
undo_own_setting POST /v1/agents/{agent}/self/system_prompt/undo
begin_session POST /v1/agents/{agent}/sessions {"driver": "agent"}
begin_session POST /v1/agents/{agent}/sessions {"driver": "model"}
list_sessions GET /v1/agents/{agent}/sessions
get_session GET /v1/sessions/{session}
watch_session GET /v1/sessions/{session}/events
roll_back_session POST /v1/sessions/{session}/rollback
open session: call_tool POST /v1/sessions/{session}/tools/search_memories {"query": "canary"}
open session: cancel_session POST /v1/sessions/{session}/cancel
open session: begin_session POST /v1/agents/{agent}/sessions {"driver": "agent", "resume": true}
rehearsal: apply_rehearsal POST /v1/sessions/{session}/apply
rehearsal: get_session GET /v1/sessions/{session}
rewind_agent POST /v1/agents/{agent}/rewind {"to": "2026-03-04T12:00:00Z"}
list_records GET /v1/agents/{agent}/audit?limit=200
verify_records GET /v1/agents/{agent}/audit/verify
list_account_records GET /v1/audit
take_checkpoint GET /v1/audit/checkpoint
user: sign_in POST /v1/sign-in {"name": "Ada", "password": "PASSWORD"}
get_openapi GET /openapi.json
get_health GET /healthz
get_readiness GET /readyz
get_metrics GET /metrics
get_docs GET /docs
get_error_docs GET /docs/errors/forbidden
"#;

fn operation(line: &str) -> Operation {
    let marks = [
        ("open session: ", Before::OpenSession),
        ("rehearsal: ", Before::Rehearsal),
        ("user: ", Before::User),
    ];
    let marked = marks
        .iter()
        .find_map(|(mark, before)| Some((line.strip_prefix(*mark)?, *before)));
    let (line, before) = marked.unwrap_or((line, Before::Nothing));
    let mut parts = line.splitn(4, ' ');
    let mut part = || parts.next().unwrap_or("null").to_owned();
    Operation {
        id: part(),
        method: part(),
        path: part(),
        body: serde_json::from_str(&part()).unwrap(),
        before,
    }
}

fn operations() -> Vec<Operation> {
    let table = OPERATIONS
        .replace("WORDS", "CANARY is what was said")
        .replace("CANARY", CANARY)
        .replace("PASSWORD", PASSWORD);
    let all: Vec<Operation> = table.trim().lines().map(operation).collect();
    let driven: BTreeSet<String> = all.iter().map(|operation| operation.id.clone()).collect();
    assert_eq!(
        driven,
        documented_operations(),
        "the matrix drives what is documented, all of it"
    );
    all
}

fn documented_operations() -> BTreeSet<String> {
    let paths = memoir_service::openapi()["paths"].as_object().unwrap();
    paths
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap().to_owned())
        .collect()
}

/// Everybody who may ask, by name and token; the agent itself is `wren`.
const EVERYBODY: [&str; 11] = [
    "no token",
    "garbage",
    "expired",
    "revoked",
    "administrator",
    "administrator of another account",
    "agent",
    "another agent",
    "agent of another account",
    "whom the agent lets see all",
    "administrator beside whom it lets see all",
];
/// Those whose requests do something.
const ACTING: [usize; 4] = [4, 6, 9, 10];

struct Setup {
    installation: Installation,
    tokens: Vec<String>,
    session: String,
    /// That waits for an answer.
    request: String,
    foreign_session: String,
    foreign_request: String,
}

/// What a path can name.
#[derive(Clone, Copy)]
struct Named<'a> {
    agent: &'a str,
    session: &'a str,
    request: &'a str,
}

/// An agent of each account with words everywhere that words can be, and a session that completed.
async fn setup(before: Before) -> Setup {
    let installation = Installation::open().await;
    let (wren, agent) = agent_of(&installation.account, "wren").await;
    let (_, another) = agent_of(&installation.account, "finch").await;
    let (_, foreign) = agent_of(&installation.other, "gull").await;
    let soon: Timestamp = installation.memoir.now().plus_seconds(60);
    let owner = owner();
    let make = async |ends: Option<Timestamp>| {
        let made = wren.grants().create_token(Provision::Any, ends, &owner);
        made.await.unwrap()
    };
    let expired = make(Some(soon)).await;
    installation.clock.advance(Duration::from_secs(120));
    let revoked = make(None).await;
    let (account, id) = (&installation.account, revoked.view.id);
    account.revoke_token(id, &owner).await.unwrap();
    let tokens = vec![
        String::new(),
        "memoir_garbage".to_owned(),
        expired.secret.expose().to_owned(),
        revoked.secret.expose().to_owned(),
        installation.administrator().await.token,
        administrator_token(&installation.other).await,
        agent.clone(),
        another,
        foreign.clone(),
        installation.administrator().await.token,
        installation.administrator().await.token,
    ];
    let session = furnish(&installation, "wren", &agent, &tokens[4]).await;
    let prompt = format!("I am Wren and my secret is {CANARY}.");
    let prompts = [
        (Field::SystemPrompt, Some(prompt.as_str())),
        (Field::RefinementPrompt, Some(prompt.as_str())),
    ];
    let (settings, own) = (wren.settings(), Actor::agent("wren"));
    settings.configure(&prompts, &own).await.unwrap();
    let foreign_session = furnish(&installation, "gull", &foreign, &tokens[5]).await;
    let foreign_request = ask(&installation, "gull", &tokens[5], "all").await;
    let granted = ask(&installation, "wren", &tokens[9], "all").await;
    let answer = json!({"granted": true, "reason": format!("Look at the {CANARY}.")});
    let path = format!("/v1/access-requests/{granted}/answer");
    installation.post(&path, &agent, answer).await.expect(200);
    let request = ask(&installation, "wren", &tokens[9], "core").await;
    let session = match before {
        Before::Nothing => session,
        Before::User => {
            let password = Password::from_text(PASSWORD).unwrap();
            let actor = Actor::owner();
            let made = account.create_user("Ada", password, &actor).await;
            made.unwrap();
            session
        }
        Before::OpenSession => installation.open_session("wren", &agent).await,
        Before::Rehearsal => {
            let options = RefineOptions {
                rehearsal: true,
                ..RefineOptions::default()
            };
            let own = wren.views().seen_by(memoir_app::Viewer::Agent);
            let driven = own.refine(&options, &mut |_| {}).await;
            driven.unwrap().id.to_string()
        }
    };
    Setup {
        installation,
        tokens,
        session,
        request,
        foreign_session,
        foreign_request,
    }
}

/// Asks an agent to be let in.
async fn ask(installation: &Installation, agent: &str, administrator: &str, scope: &str) -> String {
    let path = format!("/v1/agents/{agent}/access-requests");
    let body = json!({"purpose": "to look", "scope": scope, "minutes": 60});
    let request = installation.created(&path, administrator, body).await;
    request["id"].as_str().unwrap().to_owned()
}

/// Memories 1 and 2 equal but for a mark, 3 constitutional, 4 archived by a completed session, 5 discarded.
async fn furnish(
    installation: &Installation,
    agent: &str,
    token: &str,
    administrator: &str,
) -> String {
    let own = installation.caller(token);
    let long = " and again and again".repeat(12);
    for ending in ["dawn", "dawn!", &long, "dusk", "noon"] {
        let body = json!({
            "content": format!("The {CANARY} sings at {ending}"),
            "kind": "core", "tags": ["canary", CANARY], "source": CANARY,
        });
        let path = format!("/v1/agents/{agent}/memories");
        own.created(&path, body).await;
    }
    let admin = installation.caller(administrator);
    let path = format!("/v1/agents/{agent}/memories/3/protection");
    admin.put(&path, &Value::Null).await.expect(200);
    let path = format!("/v1/agents/{agent}/memories/5/discard");
    admin.acted(&path).await;
    let session = own.open_session(agent).await;
    let deleted = own.tool(&session, "delete_memory", json!({"id": 4})).await;
    assert_eq!(deleted["type"], "deleted", "{deleted}");
    let summary = format!("I let the {CANARY} rest.");
    let completed = own.complete(&session, &summary).await;
    assert_eq!(completed["type"], "refinement_complete", "{completed}");
    session
}

impl Setup {
    async fn send(&self, operation: &Operation, who: usize, named: Named<'_>) -> HttpAnswer {
        let path = operation
            .path
            .replace("{agent}", named.agent)
            .replace("{session}", named.session)
            .replace("{request}", named.request);
        let token = &self.tokens[who];
        self.installation
            .send(&operation.method, &path, token, &operation.body)
            .await
    }
}

const UNKNOWN_ID: &str = "019a0000-0000-7000-8000-000000000000";
const NOTHING: Named<'_> = Named {
    agent: UNKNOWN_ID,
    session: UNKNOWN_ID,
    request: UNKNOWN_ID,
};

/// The answer without what was named in the request.
fn blank(answer: &HttpAnswer, named: Named<'_>) -> (u16, Vec<(String, String)>, String) {
    let mut text = answer.text.clone();
    for name in [named.agent, named.session, named.request] {
        text = text.replace(name, "NAME");
    }
    let ignored = ["date", "content-length"];
    let headers = answer
        .headers
        .iter()
        .filter(|(name, _)| !ignored.contains(&name.as_str()));
    let headers =
        headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    (answer.status, headers.collect(), text)
}

fn outcome(answer: &HttpAnswer) -> String {
    let words = match answer.text.contains(CANARY) {
        true => "WORDS",
        false => "",
    };
    let (status, code) = (answer.status.to_string(), answer.code());
    let parts = [status.as_str(), &code, words];
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    said.join(" ")
}

/// Documented with its status and, for a problem, its code; and without words for an administrator.
fn check(operation: &Operation, who: &str, answer: &HttpAnswer) {
    let is_blind = who.starts_with("administrator");
    assert!(
        !(is_blind && answer.text.contains(CANARY)),
        "{who}: {}",
        operation.id
    );
    let paths = memoir_service::openapi()["paths"].as_object().unwrap();
    let described = paths
        .values()
        .flat_map(|item| item.as_object().unwrap().values())
        .find(|described| described["operationId"] == operation.id)
        .unwrap();
    let status = answer.status.to_string();
    let response = &described["responses"][status.as_str()];
    assert!(
        !response.is_null(),
        "{}: {status} is not documented",
        operation.id
    );
    let code = answer.code();
    if !(200..300).contains(&answer.status) {
        let about = response["description"].as_str().unwrap();
        assert!(
            about.contains(&format!("`{code}`")),
            "{}: {status} {code}: {about}",
            operation.id
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_1_everybody_is_answered_as_the_table_says() {
    let mut table = String::new();
    let mut idle: Vec<(Before, Setup)> = Vec::new();
    for operation in operations() {
        if !idle.iter().any(|(before, _)| *before == operation.before) {
            idle.push((operation.before, setup(operation.before).await));
        }
        let _ = writeln!(
            table,
            "{} {} {}",
            operation.method,
            operation.path,
            compact(&operation.body)
        );
        for (who, name) in EVERYBODY.into_iter().enumerate() {
            let fresh = match ACTING.contains(&who) {
                true => Some(setup(operation.before).await),
                false => None,
            };
            let shared = idle.iter().find(|(before, _)| *before == operation.before);
            let setup = fresh.as_ref().unwrap_or(&shared.unwrap().1);
            if !operation.path.contains('{') {
                let answer = setup.send(&operation, who, NOTHING).await;
                check(&operation, name, &answer);
                let _ = writeln!(table, "    {name}: {}", outcome(&answer));
                continue;
            }
            // What answers for others must not change what answers for oneself, so that comes last.
            let missing = setup.send(&operation, who, NOTHING).await;
            let gull = Named {
                agent: "gull",
                session: &setup.foreign_session,
                request: &setup.foreign_request,
            };
            let wren = Named {
                agent: "wren",
                session: &setup.session,
                request: &setup.request,
            };
            let strangers = match who {
                5 | 8 => &[wren][..],
                7 => &[gull, wren],
                _ => &[gull],
            };
            for stranger in strangers {
                let answer = setup.send(&operation, who, *stranger).await;
                assert_eq!(
                    blank(&answer, *stranger),
                    blank(&missing, NOTHING),
                    "{name}: {} reveals what exists",
                    operation.id
                );
            }
            let own = setup.send(&operation, who, wren).await;
            check(&operation, name, &missing);
            check(&operation, name, &own);
            let _ = writeln!(
                table,
                "    {name}: {} | missing {}",
                outcome(&own),
                outcome(&missing)
            );
        }
    }
    insta::assert_snapshot!(table);
}

fn compact(body: &Value) -> String {
    match body {
        Value::Null => String::new(),
        body => body.to_string(),
    }
}
