//! What the service finishes that was left half-done.

use std::time::Duration;

use memoir_service::ServiceOptions;
use memoir_testkit::{InstallationFolder, TestClock, TestedText};
use rusqlite::Connection;
use serde_json::Value;

use crate::{
    installation::{administrator_token, agent_of},
    service::service,
};

/// Often enough for the service to be done in time, and seldom enough for anything else to come between.
const LOOKS: usize = 3_000;

#[tokio::test]
async fn spec_5_4_an_erasing_whose_key_could_not_be_destroyed_is_told_truly_and_finished_by_the_service()
 {
    let folder = InstallationFolder::new().with_clock(TestClock::ticking());
    let installation = folder.open();
    let account = installation.account("default").await;
    let token = administrator_token(&account).await;
    let (agent, _) = agent_of(&account, "wren").await;
    let options = ServiceOptions {
        finish_every: Duration::from_millis(10),
        ..ServiceOptions::default()
    };
    let service = installation.serve(service(options)).await;
    let keys = &folder.keys;

    // Another program gives the key store a log, in which a destroyed key would stay.
    let program = Connection::open(folder.key_file()).unwrap();
    for sql in [
        "PRAGMA journal_mode = WAL",
        "SELECT count(*) FROM agent_keys",
    ] {
        program.query_row(sql, [], |_| Ok(())).unwrap();
    }
    let erase = || service.send("DELETE", "/v1/agents/wren", &token, &Value::Null);
    let answer = erase().await;
    assert!(!answer.header("retry-after").is_empty());
    let problem = answer.refused(503, "key_remains");
    let detail = problem["detail"].as_str().unwrap();
    detail.tells("is erased on the record");
    detail.omits("nothing was changed");
    drop(program);
    for _ in 0..LOOKS {
        if keys.key(agent.scope()).unwrap().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(keys.key(agent.scope()).unwrap().is_none());
    erase().await.expect(410);
}
