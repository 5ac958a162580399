//! Ten agents of three accounts, each with a word of its own, and ten thousand requests of all kinds, right and forged:
//! no word reaches another caller, in a response or in the log (SPEC 5.1, 5.6).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use memoir_app::MemoryInput;
use memoir_domain::{agent::Field, memory::Kind};
use memoir_testkit::{HttpAnswer, ModelScript, Turn};
use serde_json::json;

use crate::{
    client::Client,
    installation::{Installation, Tenant, owner},
    log::Log,
};

const SEED: u64 = 0x5eed_0005;
const REQUESTS: usize = 10_000;
const CLIENTS: usize = 8;
const ACCOUNTS: [&str; 3] = ["default", "north", "south"];
/// The same names in each account, so that only the account distinguishes them.
const NAMES: [&str; 4] = ["wren", "kite", "swift", "lark"];
/// What every agent's word begins with.
const WORD: &str = "kanari";

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap()
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.throw(all.len())]
    }
}

/// A caller.
#[derive(Clone)]
struct Asker {
    token: String,
    /// The one word that its responses may contain.
    word: Option<String>,
}

struct Everyone {
    askers: Vec<Asker>,
    /// Names and identifiers of all agents, and what is none.
    agents: Vec<String>,
    /// Identifiers of sessions, of agents and what is none.
    sessions: Mutex<Vec<String>>,
    requests: Vec<&'static str>,
}

fn word(at: usize) -> String {
    // No word is a part of another.
    format!("{WORD}{at:02}x")
}

async fn save_texts(tenant: &Tenant, word: &str) {
    let own = memoir_domain::audit::Actor::agent(tenant.agent.name());
    let memory = |content: String, kind| MemoryInput {
        content: content.into(),
        kind: Some(kind),
        tags: vec![format!("tag {word}").into()],
        source: Some(format!("from {word}").into()),
        ..MemoryInput::default()
    };
    let mut inputs: Vec<_> = (0..8)
        .map(|at| memory(format!("Note {at} of {word} about the garden."), Kind::Core))
        .collect();
    inputs.push(memory(format!("Today {word} sang."), Kind::Journal));
    tenant.agent.memories().save(&inputs, &own).await.unwrap();
    let prompt = format!("I am {word}.");
    let settings = [
        (Field::SystemPrompt, Some(prompt.as_str())),
        (Field::RefinementPrompt, Some(prompt.as_str())),
    ];
    let configured = tenant.agent.settings().configure(&settings, &own);
    configured.await.unwrap();
    let viewer = memoir_app::Viewer::Agent;
    let own = tenant.agent.views().seen_by(viewer).as_agent().unwrap();
    let (session, _) = own.open_own(Default::default()).await.unwrap();
    let summary = json!({"summary": format!("{word} did nothing.")});
    let completed = own.call_tool(session.id, "complete_refinement", Some(&summary));
    completed.await.unwrap();
}

async fn everyone(installation: &Installation) -> (Everyone, Vec<Tenant>) {
    let (mut askers, mut tenants) = (Vec::new(), Vec::new());
    let mut agents = vec![
        String::new(),
        "nobody".to_owned(),
        "%00".to_owned(),
        "..%2fwren".to_owned(),
    ];
    let mut sessions = vec![
        "nothing".to_owned(),
        "00000000-0000-7000-8000-000000000000".to_owned(),
    ];
    for at in 0..10 {
        let (account, name) = (ACCOUNTS[at % 3], NAMES[at / 3]);
        let tenant = installation.tenant(account, name).await;
        save_texts(&tenant, &word(at)).await;
        agents.extend([name.to_owned(), tenant.agent.scope().agent.to_string()]);
        agents.push(tenant.agent.scope().account.to_string());
        let own = tenant.agent.views().seen_by(memoir_app::Viewer::Agent);
        let ended = own.session_page(None, 10).await.unwrap();
        sessions.extend(ended.iter().map(|session| session.id.to_string()));
        let asker = Asker {
            token: tenant.token.clone(),
            word: Some(word(at)),
        };
        askers.extend([asker.clone(), asker]);
        tenants.push(tenant);
    }
    for account in ACCOUNTS {
        let token = installation.administrator_token(account).await;
        let asker = Asker { token, word: None };
        askers.extend([asker.clone(), asker]);
    }
    let account = installation.account("default").await;
    let owner = owner();
    let revoked = account.create_token(None, &owner).await.unwrap();
    let id = revoked.view.id;
    account.revoke_token(id, &owner).await.unwrap();
    let wrong = [
        revoked.secret.expose(),
        "",
        "memoir_",
        "memoir_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ];
    askers.extend(wrong.map(|token| Asker {
        token: token.to_owned(),
        word: None,
    }));
    let everyone = Everyone {
        askers,
        agents,
        sessions: Mutex::new(sessions),
        requests: requests(),
    };
    (everyone, tenants)
}

/// The requests, right and wrong: how often, a name, a method, a path, and a body.
const EVERY_REQUEST: &str = r#"
1 list agents: GET /v1/agents
2 show agent: GET AGENT
1 change agent: PATCH AGENT {"core_token_budget": BUDGET}
1 make agent: POST /v1/agents {"name": "new NUMBER"}
1 make token: POST AGENT/tokens {}
3 save: POST AGENT/memories {"content": "TEXT", "kind": "core"}
1 save forged: POST AGENT/memories {"content": "TEXT", "agent": "wren", "account": "north"}
1 save batch: POST AGENT/memories/batch {"memories": [{"content": "TEXT", "kind": "journal"}]}
3 list memories: GET AGENT/memories?limit=50FORGED
2 search: GET AGENT/memories?q=gardenFORGED
1 list discarded: GET AGENT/memories?include=discardedFORGED
2 show memory: GET AGENT/memories/NUMBER
1 protect: PUT AGENT/memories/NUMBER/protection
1 unprotect: DELETE AGENT/memories/NUMBER/protection
1 restore: POST AGENT/memories/NUMBER/restore
1 discard: POST AGENT/memories/NUMBER/discard
1 shred: POST AGENT/memories/NUMBER/shred {"reason": "TEXT"}
2 context: GET AGENT/context
1 own setting: GET AGENT/self/system_prompt
1 set own: PUT AGENT/self/reflection_prompt {"value": "TEXT"}
2 open session: POST AGENT/sessions {"driver": "agent", "resume": EVEN}
1 queue session: POST AGENT/sessions {"driver": "model"}
1 list sessions: GET AGENT/sessions
2 show session: GET SESSION
1 session-tool search: POST SESSION/tools/search_memories {"query": "garden"}
1 session-tool delete: POST SESSION/tools/delete_memory {"id": NUMBER}
1 session-tool merge: POST SESSION/tools/consolidate_memories {"ids": [NUMBER, OTHER], "content": "TEXT"}
1 complete: POST SESSION/tools/complete_refinement {"summary": "TEXT"}
1 cancel: POST SESSION/cancel
1 roll back: POST SESSION/rollback {"cascade": true}
1 audit: GET AGENT/audit?limit=200
1 verify: GET AGENT/audit/verify
1 apply: POST SESSION/apply
1 mcp: POST /mcp {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall_memories", "arguments": {"query": "garden"}}}
"#;

/// Each request as often as it is to come.
fn requests() -> Vec<&'static str> {
    let lines = EVERY_REQUEST.trim().lines();
    let requests = lines.flat_map(|line| {
        let (times, request) = line.split_once(' ').unwrap();
        std::iter::repeat_n(request, times.parse().unwrap())
    });
    requests.collect()
}

/// The name of one request, and the request: a method, a path, and a body.
fn request(dice: &mut Dice, everyone: &Everyone, asker: &Asker) -> (&'static str, [String; 3]) {
    let agent = dice.of(&everyone.agents).clone();
    let session = dice.of(&everyone.sessions.lock().unwrap()).clone();
    let number = dice.throw(14);
    let said = asker.word.as_deref().unwrap_or("administration");
    let text = format!("{said} said {}", dice.throw(1_000));
    let other = dice.throw(14);
    let forged = dice.of(&["", "&agent=wren", "&account=north", "&scope=", "&limit=200"]);
    let filled = [
        ("AGENT", format!("/v1/agents/{agent}")),
        ("SESSION", format!("/v1/sessions/{session}")),
        ("FORGED", (*forged).to_owned()),
        ("NUMBER", number.to_string()),
        ("OTHER", other.to_string()),
        ("BUDGET", (5_000 + number).to_string()),
        ("EVEN", number.is_multiple_of(2).to_string()),
        ("TEXT", text),
    ];
    let line = *dice.of(&everyone.requests);
    let (what, request) = line.split_once(": ").unwrap();
    let fill = |text: String, (name, value): &(&str, String)| text.replace(name, value);
    let request = filled.iter().fold(request.to_owned(), fill);
    let mut parts = request.splitn(3, ' ');
    (
        what,
        [(); 3].map(|()| parts.next().unwrap_or_default().to_owned()),
    )
}

/// Finds a word that is not the caller's.
fn leak(asker: &Asker, answer: &HttpAnswer) -> Option<String> {
    let text = format!("{:?}{}", answer.headers, answer.text).to_lowercase();
    let own = asker.word.as_deref().unwrap_or("no such word");
    let others = text.replace(own, "");
    others
        .find(WORD)
        .map(|at| others[at..].chars().take(12).collect())
}

async fn ask(
    everyone: &Everyone,
    client: &mut Client,
    dice: &mut Dice,
) -> (Asker, &'static str, HttpAnswer) {
    let asker = dice.of(&everyone.askers).clone();
    let (what, [method, path, body]) = request(dice, everyone, &asker);
    let forged = dice.of(&[
        ("x-memoir-account", "north"),
        ("x-agent", "wren"),
        ("x-forwarded-user", "admin"),
        ("idempotency-key", "the same for all"),
    ]);
    let mut headers = vec![
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ];
    if dice.throw(4) == 0 {
        headers.push(*forged);
    }
    let answer = client
        .send(&method, &path, &asker.token, &headers, body.as_bytes())
        .await;
    if let (201 | 202, Some(id)) = (answer.status, answer.json()["id"].as_str())
        && answer.json()["driver"].is_string()
    {
        let mut sessions = everyone.sessions.lock().unwrap();
        if sessions.len() > 60 {
            sessions.remove(0);
        }
        sessions.push(id.to_owned());
    }
    (asker, what, answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_5_6_ten_thousand_requests_carry_no_word_across() {
    let log = Log::begin();
    let installation = Installation::open().await;
    let model = Arc::new(ModelScript::always(Turn::text("No, not today.")));
    installation.model.set(model.clone());
    let (everyone, tenants) = everyone(&installation).await;
    let everyone = Arc::new(everyone);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|at| {
            let (everyone, mut client) = (everyone.clone(), installation.client());
            let mut dice = Dice(SEED + at as u64);
            tokio::spawn(async move {
                let mut came = BTreeMap::<(&str, u16), usize>::new();
                let mut own = 0;
                for _ in 0..REQUESTS / CLIENTS {
                    let (asker, what, answer) = ask(&everyone, &mut client, &mut dice).await;
                    assert_eq!(leak(&asker, &answer), None, "{what}: {}", answer.status);
                    assert!(answer.status < 500, "{what}: {}", answer.status);
                    own += usize::from(asker.word.is_some_and(|word| answer.text.contains(&word)));
                    *came.entry((what, answer.status)).or_default() += 1;
                }
                (came, own)
            })
        })
        .collect();
    let (mut came, mut own) = (BTreeMap::<(&str, u16), usize>::new(), 0);
    for client in clients {
        let (counts, seen) = client.await.unwrap();
        own += seen;
        for (key, count) in counts {
            *came.entry(key).or_default() += count;
        }
    }
    // Not because nothing was ever answered.
    assert!(own > 200, "{own}");
    let statuses: Vec<u16> = came.keys().map(|(_, status)| *status).collect();
    for status in [200, 201, 202, 400, 401, 403, 404, 409] {
        assert!(statuses.contains(&status), "{status}: {came:?}");
    }
    let done: std::collections::BTreeSet<_> = came
        .keys()
        .filter(|(_, status)| (200..300).contains(status))
        .map(|(what, _)| *what)
        .collect();
    // Requests that depend on a rare state may be missing.
    assert!(done.len() > 28, "{done:?}");
    for what in [
        "list memories",
        "search",
        "context",
        "audit",
        "session-tool search",
        "mcp",
        "complete",
    ] {
        assert!(done.contains(what), "{what} was never done");
    }
    assert!(!log.text().to_lowercase().contains(WORD));
    for request in model.requests() {
        let told = format!(
            "{}{:?}",
            request.system.expose(),
            request.messages.iter().map(exposed).collect::<Vec<_>>()
        );
        let words: std::collections::BTreeSet<_> = told
            .match_indices(WORD)
            .map(|(at, _)| told[at..at + 9].to_owned())
            .collect();
        assert!(
            words.len() <= 1,
            "one agent's model gets the text of one agent only"
        );
    }
    for tenant in &tenants {
        assert!(tenant.agent.log().verify().await.unwrap().valid);
    }
}

fn exposed(message: &memoir_model::ModelMessage) -> String {
    match message {
        memoir_model::ModelMessage::User(text) => text.expose().to_owned(),
        _ => String::new(),
    }
}
