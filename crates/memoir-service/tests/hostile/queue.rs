//! The queue beside sessions that cannot be run.

use std::{sync::Arc, time::Duration};

use memoir_app::sessions::RefineOptions;
use memoir_domain::{agent::Field, session::State};
use memoir_service::ServiceOptions;
use memoir_testkit::{ModelScript, Turn, input};

use crate::installation::{Installation, new_folder, options, owner};

#[tokio::test]
async fn a_session_that_cannot_be_taken_up_keeps_no_other_waiting() {
    let folder = new_folder();
    let opened = folder.open();
    let account = opened.account("default").await;
    for name in ["broken", "wren"] {
        let model = [(Field::Model, Some("scripted:model"))];
        account.create_agent(name, &model, &owner()).await.unwrap();
        let agent = account.agent(name).await.unwrap();
        let memories = [input("One.")];
        agent.memories().save(&memories, &owner()).await.unwrap();
        let options = RefineOptions::default();
        agent.sessions().enqueue(&options).await.unwrap();
    }
    let broken = account.agent("broken").await.unwrap().scope().agent;
    drop((account, opened));
    rusqlite::Connection::open(folder.database())
        .unwrap()
        .execute(
            "UPDATE agents SET open = 'damaged' WHERE id = ?1",
            [broken.as_bytes()],
        )
        .unwrap();
    let one = ServiceOptions {
        concurrency: 1,
        ..options()
    };
    let installation = Installation::at(folder, one, "127.0.0.1:0").await;
    installation
        .model
        .set(Arc::new(ModelScript::always(Turn::text("No."))));
    let wren = installation
        .account("default")
        .await
        .agent("wren")
        .await
        .unwrap();
    for _ in 0..1_200 {
        let state = wren
            .views()
            .seen_by(memoir_app::Viewer::Agent)
            .session_page(None, 1)
            .await
            .unwrap()[0]
            .state;
        if state == State::Declined {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("its turn never came");
}
