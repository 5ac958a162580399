//! Verifying a log that is longer than what is held of it at a time (SPEC 4.2).

use memoir_app::MemoryInput;
use memoir_domain::memory::Number;
use memoir_testkit::Turn;
use serde_json::json;

use crate::world::{World, complete, person};

/// More than are held at a time.
const MANY: usize = 1_100;

async fn world() -> World {
    let world = World::new(&[
        "The paper is delivered in the morning. The cat sleeps on it.",
        "The paper is delivered in the morning.",
        "The press came from Lisbon.",
    ])
    .await;
    let inputs: Vec<MemoryInput> = (0..MANY)
        .map(|number| MemoryInput {
            content: format!("Customer {number} asked for {} sheets.", number + 7).into(),
            ..MemoryInput::default()
        })
        .collect();
    for inputs in inputs.chunks(500) {
        world.agent.save(inputs, &person()).await.unwrap();
    }
    world
}

#[tokio::test]
async fn spec_4_2_a_log_of_many_pages_is_followed_to_its_end() {
    let world = world().await;
    let merge = json!({
        "ids": [1, 2],
        "content": "The paper is delivered in the morning. The cat sleeps on it.",
    });
    let merge = Turn::call("consolidate_memories", merge);
    let (session, _) = world.refine([merge, complete()]).await;
    assert_eq!(session.stats.consolidated, 2);
    // It puts texts in the place of others that were followed long before.
    let gone = world.agent.shred(Number(3), "gone", &person()).await;
    gone.unwrap();
    let verified = world.agent.verify().await.unwrap();
    assert_eq!(verified.misfits, []);
    assert!(verified.records > MANY as u64);
    let carried = verified.carried.unwrap();
    assert_eq!(
        (carried.wordings, carried.carried),
        (MANY as u64 + 2, MANY as u64 + 2)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_4_2_what_is_written_meanwhile_is_no_misfit() {
    let world = world().await;
    let writing = async {
        for number in 4..24 {
            world
                .remember(&format!("And another thing, {number}."))
                .await;
            let gone = world.agent.shred(Number(number), "gone", &person()).await;
            gone.unwrap();
        }
    };
    let verifying = async {
        for _ in 0..3 {
            let verified = world.agent.verify().await.unwrap();
            assert_eq!(verified.misfits, []);
        }
    };
    tokio::join!(writing, verifying);
    assert!(world.agent.verify().await.unwrap().valid);
}
