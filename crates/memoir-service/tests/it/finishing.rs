//! What the service finishes that was left half-done.

use std::{sync::Arc, time::Duration};

use memoir_app::{InstallationSettings, Memoir};
use memoir_model::Providers;
use memoir_service::ServiceOptions;
use memoir_store_sqlite::SqliteStore;
use memoir_vault::{KeyStore, MasterKey};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::installation::{administrator_of, agent_of};

/// Often enough for the service to be done in time, and seldom enough for anything else to come between.
const LOOKS: usize = 3_000;

#[tokio::test]
async fn spec_5_4_an_erasing_whose_key_could_not_be_destroyed_is_told_truly_and_finished_by_the_service()
 {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("keys");
    let keys = KeyStore::open(&path, &MasterKey::generate().unwrap()).unwrap();
    let keys = Arc::new(keys);
    let memoir = Memoir::new(
        Arc::new(SqliteStore::in_memory().unwrap()),
        keys.clone(),
        Arc::new(Providers::new([].into()).unwrap()),
        InstallationSettings::default(),
    );
    let account = memoir.account("default").await.unwrap();
    let token = administrator_of(&account).await;
    let (agent, _) = agent_of(&account, "wren").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let options = ServiceOptions {
        finish_every: Duration::from_millis(10),
        ..ServiceOptions::default()
    };
    let service = memoir_service::serve(memoir, options, listener, std::future::pending());
    tokio::spawn(service);

    // Another program gives the key store a log, in which a destroyed key would stay.
    let program = Connection::open(&path).unwrap();
    for sql in [
        "PRAGMA journal_mode = WAL",
        "SELECT count(*) FROM agent_keys",
    ] {
        program.query_row(sql, [], |_| Ok(())).unwrap();
    }
    let client = reqwest::Client::new();
    let erase = || client.delete(format!("{address}/v1/agents/wren"));
    let answer = erase().bearer_auth(&token).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["code"], "key_remains");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("is erased on the record") && !detail.contains("nothing was changed"),
        "{detail}"
    );
    drop(program);
    for _ in 0..LOOKS {
        if keys.key(agent.scope()).unwrap().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(keys.key(agent.scope()).unwrap().is_none());
    let answer = erase().bearer_auth(&token).send().await.unwrap();
    assert_eq!(answer.status(), 410);
}
