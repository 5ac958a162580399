//! Rows that another version of Memoir wrote are read, and are sealed as they lie (SPEC 5.3, 6.2).

use std::path::Path;

use memoir_app::{FleetQuery, Provision};
use memoir_domain::{
    AccessRequestId, AgentId, AgentScope, SessionId, TokenId, UserId,
    access::AccessScope,
    agent::{DuplicateMatch, Field, LossGuard},
    memory::Number,
    session::{Mode, Trigger},
};
use memoir_testkit::{InstallationFolder, intrude};
use memoir_vault::{
    AgentKey,
    password::Password,
    seal::{Nonce, SealContext, SealedRow},
};
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};

use crate::{
    installation::{
        OWNER, TestAgent, call, complete, delete, lens, new_folder, person, reading, request_by,
    },
    rehearsing::MEMORIES,
};

/// The tables that keep documents of their own beside their columns, but for answers to requests.
const TABLES: [&str; 5] = ["agents", "sessions", "access_requests", "tokens", "users"];

/// Everything that has a document.
async fn live(wren: &TestAgent) {
    for memory in ["The cat is grey.", "the cat is grey", "The river is high."] {
        wren.remember(memory).await;
    }
    wren.refine([delete(3), complete()]).await;
    let draft = reading(AccessScope::Core, 10);
    request_by(&wren.agent, &draft, &person()).await;
    wren.agent
        .grants()
        .create_token(Provision::Any, None, &person())
        .await
        .unwrap();
    let account = wren.memoir.account("default").await.unwrap();
    let password = Password::from_text("correct horse battery").unwrap();
    account.create_user("Ada", password, &OWNER).await.unwrap();
}

/// Reads all of it, and returns the views.
async fn look(folder: &InstallationFolder, path: &Path) -> Value {
    let memoir = folder.open_at(path).memoir;
    let verified = memoir.verify_all().await.unwrap();
    assert!(verified.iter().all(|one| one.valid), "{verified:?}");
    let account = memoir.account("default").await.unwrap();
    let agent = account.agent("wren").await.unwrap();
    let password = Password::from_text("correct horse battery").unwrap();
    assert!(
        account
            .with_password("Ada", password)
            .await
            .unwrap()
            .is_some()
    );
    let lens = lens(&agent);
    let requests = lens.access_requests(None, 9).await.unwrap();
    json!({
        "agent": agent.views().show().await.unwrap(),
        "memories": lens.memories(true).await.unwrap(),
        "sessions": lens.session_page(None, 9).await.unwrap(),
        "requests": requests,
        "tokens": agent.grants().tokens().await.unwrap(),
        "users": account.users().await.unwrap(),
        "listed": account.agents().await.unwrap(),
    })
}

/// Seals every document anew, with a changed open part, as another version might have.
fn rewrite(
    connection: &Connection,
    folder: &InstallationFolder,
    change: impl Fn(&str, &mut Map<String, Value>),
) {
    let scope_of = |agent: Vec<u8>| {
        let sql = "SELECT account_id FROM agents";
        let account: [u8; 16] = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        AgentScope {
            account: memoir_domain::AccountId::from_bytes(account),
            agent: AgentId::from_bytes(agent.try_into().unwrap()),
        }
    };
    for table in TABLES {
        let agent = match table {
            "agents" => "id",
            "users" => "zeroblob(16)",
            _ => "agent_id",
        };
        let mut statement = connection
            .prepare(&format!(
                "SELECT id, {agent}, version, open, sealed FROM {table}"
            ))
            .unwrap();
        type Read = ([u8; 16], Vec<u8>, u32, String, Vec<u8>);
        let rows: Vec<Read> = statement
            .query_map([], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                ))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(!rows.is_empty(), "{table}");
        for (id, agent, version, open, sealed) in rows {
            let key: AgentKey = folder.keys.key(scope_of(agent)).unwrap().unwrap();
            let place = SealContext {
                row: match table {
                    "agents" => SealedRow::Agent,
                    "sessions" => SealedRow::Session(SessionId::from_bytes(id)),
                    "tokens" => SealedRow::Token(TokenId::from_bytes(id)),
                    "users" => SealedRow::User(UserId::from_bytes(id)),
                    _ => SealedRow::AccessRequest(AccessRequestId::from_bytes(id)),
                },
                version: version.into(),
            };
            let words = key.open(&place, open.as_bytes(), &sealed).unwrap();
            let mut fields: Map<String, Value> = serde_json::from_str(&open).unwrap();
            change(table, &mut fields);
            // In other white space than any version writes.
            let open = serde_json::to_string_pretty(&fields).unwrap();
            let nonce = Nonce::from_random([7; 24]);
            let sealed = key.seal(&place, open.as_bytes(), &words, nonce);
            let sql = format!("UPDATE {table} SET open = ?2, sealed = ?3 WHERE id = ?1");
            connection.execute(&sql, params![id, open, sealed]).unwrap();
        }
    }
}

#[tokio::test]
async fn spec_5_3_rows_of_other_versions_stay_readable() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    live(&wren).await;
    drop(wren);
    let before = look(&folder, &folder.database()).await;
    // A later version, with fields unknown to this one.
    let later = folder.path().join("later.db");
    folder.copy_to(&later);
    intrude(&later, |connection| {
        rewrite(connection, &folder, |_, fields| {
            fields.insert("a_later_field".to_owned(), json!({"of": ["any", "form"]}));
        });
    });
    assert_eq!(look(&folder, &later).await, before);
    // An earlier one, without the fields that are unset here.
    let earlier = folder.path().join("earlier.db");
    folder.copy_to(&earlier);
    intrude(&earlier, |connection| {
        rewrite(connection, &folder, |table, fields| {
            fields.retain(|_, value| !value.is_null());
            if table == "agents" {
                let agent = fields["agent"].as_object_mut().unwrap();
                agent.retain(|_, value| !value.is_null());
                let settings = agent["settings"].as_object_mut().unwrap();
                settings.retain(|_, value| !value.is_null() && *value != json!(false));
            }
        });
    });
    assert_eq!(look(&folder, &earlier).await, before);
}

/// SPEC 5.3, 3.14: what another version set makes no row unreadable, loosens no guard, and is not lost.
#[tokio::test]
async fn spec_5_3_a_value_of_another_version_is_the_strictest_and_is_written_back() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    live(&wren).await;
    drop(wren);
    let later = json!({
        "loss_guard": "ask_first",
        "refinement_threshold": "most",
        "duplicate_match": "by_sound",
        "a_later_setting": {"of": ["any", "form"]},
    });
    intrude(&folder.database(), |connection| {
        rewrite(connection, &folder, |table, fields| match table {
            "agents" => {
                let settings = fields["agent"]["settings"].as_object_mut().unwrap();
                settings.extend(later.as_object().unwrap().clone());
            }
            "sessions" => {
                for (field, value) in [
                    ("mode", json!("slow")),
                    ("trigger", json!("growth")),
                    ("threshold", json!(7)),
                    ("loss_guard", json!("ask_first")),
                    ("end_reason", json!("tired")),
                    ("started_by", json!({"kind": "robot", "name": "R"})),
                ] {
                    fields.insert(field.to_owned(), value);
                }
            }
            _ => {}
        });
    });
    let memoir = folder.open().memoir;
    let account = memoir.account("default").await.unwrap();
    let agent = account.agent("wren").await.unwrap();
    let shown = agent.views().show().await.unwrap();
    assert_eq!(shown.effective_loss_guard, LossGuard::Refuse);
    assert_eq!(shown.effective_refinement_threshold, 1.0);
    assert_eq!(shown.effective_duplicate_match, DuplicateMatch::Exact);
    assert_eq!(shown.settings.expose()["loss_guard"], "ask_first");
    let sessions = agent.views().session_page(None, 9).await.unwrap();
    let session = &sessions[0];
    assert_eq!(
        (session.mode, session.trigger, session.loss_guard),
        (Mode::DedupOnly, Trigger::Request, Some(LossGuard::Refuse))
    );
    assert_eq!((session.threshold, session.end_reason), (Some(1.0), None));
    assert_eq!(session.started_by, None);
    let settings = agent.settings();
    let budget = [(Field::CoreTokenBudget, Some("4000"))];
    settings.configure(&budget, &person()).await.unwrap();
    let stored = |folder: &InstallationFolder| {
        let connection = Connection::open(folder.database()).unwrap();
        let sql = "SELECT open FROM agents WHERE name = 'wren'";
        let open: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        let open: Value = serde_json::from_str(&open).unwrap();
        open["agent"]["settings"].clone()
    };
    let written = stored(&folder);
    assert_eq!(written["core_token_budget"], 4_000);
    for (name, value) in later.as_object().unwrap() {
        assert_eq!(&written[name], value, "{name}");
    }
    // Set here, it is as any other.
    let guard = [(Field::LossGuard, Some("archive"))];
    settings.configure(&guard, &person()).await.unwrap();
    let shown = agent.views().show().await.unwrap();
    assert_eq!(shown.effective_loss_guard, LossGuard::Archive);
    assert_eq!(stored(&folder)["loss_guard"], "archive");
}

/// SPEC 3.14: a rehearsal of a version that stored no guard follows no laxer one.
#[tokio::test]
async fn spec_3_14_a_rehearsal_without_a_guard_is_applied_under_archive() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    live(&wren).await;
    for memory in MEMORIES {
        wren.remember(memory).await;
    }
    wren.configure(&[(Field::LossGuard, Some("off"))]).await;
    let (session, _) = wren.agent.rehearse_own(Mode::Full).await.unwrap();
    for (tool, arguments) in [
        // The same as the first up to case.
        ("delete_memory", json!({"id": 2})),
        ("complete_refinement", json!({"summary": "Less cat."})),
    ] {
        let result = call(&wren.agent, session.id, tool, arguments).await;
        assert_ne!(result["type"], "error", "{result}");
    }
    drop(wren);
    intrude(&folder.database(), |connection| {
        rewrite(connection, &folder, |_, fields| {
            fields.remove("loss_guard");
        });
    });
    let memoir = folder.open().memoir;
    let account = memoir.account("default").await.unwrap();
    let agent = account.agent("wren").await.unwrap();
    let (sessions, actor) = (agent.sessions(), person());
    let applied = sessions.apply_rehearsal(session.id, &actor);
    applied.await.unwrap();
    let memory = agent.views().memory(Number(2)).await.unwrap();
    assert_eq!(
        (memory.kind.as_str(), memory.discarded_at),
        ("archival", None)
    );
}

/// SPEC 5.3: the columns by which a store finds rows hold nothing beyond the document.
#[tokio::test]
async fn spec_5_3_a_column_of_a_token_or_a_user_that_was_changed_is_found() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    live(&wren).await;
    let secret = {
        let account = wren.memoir.account("default").await.unwrap();
        account.create_token(None, &OWNER).await.unwrap().secret
    };
    drop(wren);
    for (change, is_of_token) in [
        ("UPDATE tokens SET created_at = created_at + 1", true),
        ("UPDATE tokens SET revoked_at = 5", true),
        ("UPDATE tokens SET version = version + 1", true),
        (
            "UPDATE tokens SET open = replace(open, 'null', 'NULL')",
            true,
        ),
        ("UPDATE users SET created_at = created_at + 1", false),
        ("UPDATE users SET version = version + 1", false),
        ("UPDATE users SET open = replace(open, ':', ': ')", false),
    ] {
        let copy = folder.path().join("copy.db");
        folder.copy_to(&copy);
        intrude(&copy, |connection| {
            assert!(connection.execute(change, []).unwrap() > 0, "{change}");
        });
        let memoir = folder.open_at(&copy).memoir;
        let entered = memoir.authenticate(secret.expose()).await.unwrap();
        assert_eq!(entered.is_none(), is_of_token, "{change}");
        let account = memoir.account("default").await.unwrap();
        let password = Password::from_text("correct horse battery").unwrap();
        let fits = account
            .with_password("Ada", password)
            .await
            .unwrap()
            .is_some();
        assert_eq!(fits, is_of_token, "{change}");
    }
}

/// SPEC 5.3: the columns by which agents are sorted in their list hold nothing beyond the session's document.
#[tokio::test]
async fn spec_5_3_a_column_of_a_session_that_was_changed_is_found_where_agents_are_listed() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    live(&wren).await;
    drop(wren);
    let mut changes = vec![("UPDATE sessions SET open = open", false)];
    changes.extend(
        [
            "UPDATE sessions SET state = 'abandoned'",
            "UPDATE sessions SET driver = 'agent'",
            "UPDATE sessions SET model = 'builtin:other'",
            "UPDATE sessions SET started_at = started_at + 1",
            "UPDATE sessions SET ended_at = NULL",
        ]
        .map(|change| (change, true)),
    );
    for (change, is_found) in changes {
        let copy = folder.path().join("copy.db");
        folder.copy_to(&copy);
        intrude(&copy, |connection| {
            assert!(connection.execute(change, []).unwrap() > 0, "{change}");
        });
        let account = folder.open_at(&copy).memoir.account("default").await;
        let account = account.unwrap();
        let all = FleetQuery {
            limit: 9,
            ..FleetQuery::default()
        };
        match account.fleet(&all).await {
            Ok(_) => assert!(!is_found, "{change}"),
            Err(error) => {
                assert!(is_found, "{change}: {error}");
                assert_eq!(error.code(), "tampered", "{change}");
                assert!(error.to_string().contains("table `sessions`"), "{error}");
            }
        }
    }
}
