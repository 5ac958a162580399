//! Ten agents of three accounts, each with a word of its own, and ten thousand requests of all kinds, right and forged:
//! no word reaches another caller, in a response or in the log (SPEC 5.1, 5.6).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use memoir_app::MemoryInput;
use memoir_domain::{agent::Field, memory::Kind};
use memoir_testkit::{HttpAnswer, ModelScript, Turn};
use serde_json::{Value, json};

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
    tenant
        .agent
        .settings()
        .configure(&settings, &own)
        .await
        .unwrap();
    let viewer = memoir_app::Viewer::Agent;
    let own = tenant.agent.views().seen_by(viewer).as_agent().unwrap();
    let (session, _) = own.open_own(Default::default()).await.unwrap();
    let summary = json!({"summary": format!("{word} did nothing.")});
    let tool = "complete_refinement";
    own.call_tool(session.id, tool, Some(&summary))
        .await
        .unwrap();
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
        let ended = tenant
            .agent
            .views()
            .seen_by(memoir_app::Viewer::Agent)
            .session_page(None, 10)
            .await
            .unwrap();
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
    let revoked = account
        .create_token(None, &memoir_domain::audit::Actor::owner())
        .await
        .unwrap();
    account
        .revoke_token(revoked.view.id, &owner())
        .await
        .unwrap();
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
    };
    (everyone, tenants)
}

/// One request, right or wrong.
fn request(
    dice: &mut Dice,
    everyone: &Everyone,
    asker: &Asker,
) -> (&'static str, String, &'static str, Value) {
    let agent = dice.of(&everyone.agents).clone();
    let session = dice.of(&everyone.sessions.lock().unwrap()).clone();
    let number = dice.throw(14);
    let said = asker
        .word
        .clone()
        .unwrap_or_else(|| "administration".to_owned());
    let text = format!("{said} said {}", dice.throw(1_000));
    let ids = json!([number, dice.throw(14)]);
    let (of, at) = (
        format!("/v1/agents/{agent}"),
        format!("/v1/sessions/{session}"),
    );
    let memory = format!("{of}/memories/{number}");
    let forged = dice.of(&["", "&agent=wren", "&account=north", "&scope=", "&limit=200"]);
    let get = |path, what| ("GET", path, what, Value::Null);
    let post = |path, what, body| ("POST", path, what, body);
    match dice.throw(44) {
        0 => get("/v1/agents".to_owned(), "list agents"),
        1 | 2 => get(of, "show agent"),
        3 => (
            "PATCH",
            of,
            "change agent",
            json!({"core_token_budget": 5_000 + number}),
        ),
        4 => post(
            "/v1/agents".to_owned(),
            "make agent",
            json!({"name": format!("new {number}")}),
        ),
        5 => post(format!("{of}/tokens"), "make token", json!({})),
        6..=8 => post(
            format!("{of}/memories"),
            "save",
            json!({"content": text, "kind": "core"}),
        ),
        9 => post(
            format!("{of}/memories"),
            "save forged",
            json!({"content": text, "agent": "wren", "account": "north"}),
        ),
        10 => post(
            format!("{of}/memories/batch"),
            "save batch",
            json!({"memories": [{"content": text, "kind": "journal"}]}),
        ),
        11..=13 => get(format!("{of}/memories?limit=50{forged}"), "list memories"),
        14 | 15 => get(format!("{of}/memories?q=garden{forged}"), "search"),
        16 => get(
            format!("{of}/memories?include=discarded{forged}"),
            "list discarded",
        ),
        17 | 18 => get(memory, "show memory"),
        19 => (
            "PUT",
            format!("{memory}/protection"),
            "protect",
            Value::Null,
        ),
        20 => (
            "DELETE",
            format!("{memory}/protection"),
            "unprotect",
            Value::Null,
        ),
        21 => post(format!("{memory}/restore"), "restore", Value::Null),
        22 => post(format!("{memory}/discard"), "discard", Value::Null),
        23 => post(format!("{memory}/shred"), "shred", json!({"reason": text})),
        24 | 25 => get(format!("{of}/context"), "context"),
        26 => get(format!("{of}/self/system_prompt"), "own setting"),
        27 => (
            "PUT",
            format!("{of}/self/reflection_prompt"),
            "set own",
            json!({"value": text}),
        ),
        28 | 29 => post(
            format!("{of}/sessions"),
            "open session",
            json!({"driver": "agent", "resume": number.is_multiple_of(2)}),
        ),
        30 => post(
            format!("{of}/sessions"),
            "queue session",
            json!({"driver": "model"}),
        ),
        31 => get(format!("{of}/sessions"), "list sessions"),
        32 | 33 => get(at, "show session"),
        34 => post(
            format!("{at}/tools/search_memories"),
            "session-tool search",
            json!({"query": "garden"}),
        ),
        35 => post(
            format!("{at}/tools/delete_memory"),
            "session-tool delete",
            json!({"id": number}),
        ),
        36 => post(
            format!("{at}/tools/consolidate_memories"),
            "session-tool merge",
            json!({"ids": ids, "content": text}),
        ),
        37 => post(
            format!("{at}/tools/complete_refinement"),
            "complete",
            json!({"summary": text}),
        ),
        38 => post(format!("{at}/cancel"), "cancel", Value::Null),
        39 => post(
            format!("{at}/rollback"),
            "roll back",
            json!({"cascade": true}),
        ),
        40 => get(format!("{of}/audit?limit=200"), "audit"),
        41 => get(format!("{of}/audit/verify"), "verify"),
        42 => post(format!("{at}/apply"), "apply", Value::Null),
        _ => post(
            "/mcp".to_owned(),
            "mcp",
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "recall_memories", "arguments": {"query": "garden"}}}),
        ),
    }
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
    let (method, path, what, body) = request(dice, everyone, &asker);
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
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
        .send(method, &path, &asker.token, &headers, body.as_bytes())
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
