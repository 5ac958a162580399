//! The way back: undoing sessions that have ended, and single memories (SPEC 4.3).

use memoir_app::{Error, Handling};
use memoir_domain::{audit::Actor, memory::Number};
use memoir_testkit::Turn;
use serde_json::json;

use crate::world::{World, complete, delete, person};

const MEMORIES: [&str; 6] = [
    "Marta prefers linen thread for the spine of every book.",
    "The workshop opens at nine, and Joaquín is always there first.",
    "I promised Marta to keep the ledger of orders in order.",
    "The cat sleeps on the paper that was delivered in the morning.",
    "The cat sleeps on the paper which was delivered in the morning.",
    "The old press came from Lisbon and needs oil every month.",
];

fn merge(ids: [u64; 2]) -> Turn {
    let content = "The cat sleeps on the paper that was delivered in the morning.";
    Turn::call(
        "consolidate_memories",
        json!({"ids": ids, "content": content}),
    )
}

#[tokio::test]
async fn spec_3_19_an_undone_session_leaves_nothing_behind() {
    let world = World::new(&MEMORIES).await;
    let before = world.memories().await;
    let (driven, _) = world.refine([merge([4, 5]), complete()]).await;
    assert_eq!(world.kept().await, [1, 2, 3, 7, 6]);
    let mass = async || world.agent.show().await.unwrap().counts.core_tokens;
    let preview = world
        .agent
        .preview_roll_back(driven.id, &person())
        .await
        .unwrap();
    assert_eq!(preview.obstacles, []);
    let changes = preview.changes;
    assert_eq!(
        (changes.changed, changes.returning, changes.discarded),
        (3, 2, 1)
    );
    assert_eq!(changes.core_tokens_before, mass().await);
    let undone = world
        .agent
        .roll_back(driven.id, false, &person())
        .await
        .unwrap();
    assert!(undone.undone_at.is_some());
    assert_eq!(changes.core_tokens_after, mass().await);
    assert_eq!(
        undone.state,
        memoir_domain::session::State::Completed,
        "an undone session keeps its end"
    );
    let after = world.memories().await;
    assert_eq!(
        after
            .iter()
            .filter(|memory| memory["number"] != 7)
            .cloned()
            .collect::<Vec<_>>(),
        before
    );
    let again = world
        .agent
        .roll_back(driven.id, true, &person())
        .await
        .unwrap_err();
    assert!(matches!(again, Error::NotUndoable { .. }));
    assert_eq!(world.actions().await.last().unwrap(), "session_undone");
    assert!(
        world
            .journal()
            .await
            .last()
            .unwrap()
            .contains("was undone (2 merged")
    );
    world.check().await;
}

#[tokio::test]
async fn spec_4_3_later_changes_stand_in_the_way_unless_undone_too() {
    let world = World::new(&MEMORIES).await;
    let before = world.memories().await;
    let mass = async || world.agent.show().await.unwrap().counts.core_tokens;
    let whole = mass().await;
    let (first, _) = world.refine([merge([4, 5]), complete()]).await;
    let (second, _) = world.refine([delete(7), complete()]).await;
    let preview = world
        .agent
        .preview_roll_back(first.id, &person())
        .await
        .unwrap();
    assert_eq!(preview.obstacles.len(), 1);
    assert_eq!(
        (
            preview.changes.core_tokens_before,
            preview.changes.core_tokens_after
        ),
        (mass().await, whole),
        "with the later change undone too"
    );
    let refused = world
        .agent
        .roll_back(first.id, false, &person())
        .await
        .unwrap_err();
    let Error::InTheWay { obstacles, .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(obstacles.len(), 1);
    assert_eq!(obstacles[0].session_id, Some(second.id));
    assert_eq!(obstacles[0].memories, [Number(7)]);
    world
        .agent
        .roll_back(first.id, true, &person())
        .await
        .unwrap();
    let after = world.memories().await;
    assert_eq!(
        after
            .iter()
            .filter(|memory| memory["number"] != 7)
            .cloned()
            .collect::<Vec<_>>(),
        before
    );
    assert!(
        world
            .agent
            .session(second.id)
            .await
            .unwrap()
            .undone_at
            .is_some()
    );
    world.check().await;
}

#[tokio::test]
async fn spec_4_3_one_memory_is_restored() {
    let world = World::new(&MEMORIES).await;
    world.refine([delete(5), complete()]).await;
    let restored = world
        .agent
        .handle(Number(5), Handling::Restore, &person())
        .await
        .unwrap();
    assert_eq!(restored.discarded_at, None);
    assert!(world.kept().await.contains(&5));
    assert!(matches!(
        world
            .agent
            .handle(Number(5), Handling::Restore, &person())
            .await,
        Err(Error::NotDiscarded(_))
    ));
    assert!(matches!(
        world
            .agent
            .handle(Number(99), Handling::Restore, &person())
            .await,
        Err(Error::NoMemory(_))
    ));
    world.check().await;
}

#[tokio::test]
async fn spec_4_3_an_agent_takes_nothing_back_that_an_administrator_did() {
    let wren = Actor::agent("wren");
    // What an administrator did to a memory that the session changed, and whether it holds.
    for change in ["protect", "discard"] {
        let world = World::new(&MEMORIES).await;
        let (driven, _) = world.refine([merge([4, 5]), complete()]).await;
        let number = Number(7);
        match change {
            "protect" => world
                .agent
                .handle(number, Handling::Protect, &person())
                .await
                .unwrap(),
            _ => world
                .agent
                .handle(number, Handling::Discard, &person())
                .await
                .unwrap(),
        };
        let as_it_was = world.memories().await;
        for cascade in [false, true] {
            let id = driven.id;
            let refused = world.agent.roll_back(id, cascade, &wren).await;
            let obstacles = match refused.unwrap_err() {
                Error::InTheWay { obstacles, .. } if !cascade => obstacles,
                Error::BeyondAgent { obstacles, .. } if cascade => obstacles,
                other => panic!("{other:?}"),
            };
            assert_eq!(obstacles.len(), 1);
        }
        assert_eq!(world.memories().await, as_it_was, "{change}");
        // An administrator can.
        let id = driven.id;
        world.agent.roll_back(id, true, &person()).await.unwrap();
        let verified = world.agent.verify().await.unwrap();
        assert!(verified.valid);
    }
}

#[tokio::test]
async fn spec_4_3_an_administrators_word_stands_where_it_changes_nothing() {
    let wren = Actor::agent("wren");
    let world = World::new(&MEMORIES).await;
    let protect = Turn::call("protect_memory", json!({"id": 1}));
    let (driven, _) = world.refine([protect, complete()]).await;
    let protected = world
        .agent
        .handle(Number(1), Handling::Protect, &person())
        .await
        .unwrap();
    assert!(protected.constitutional);
    assert_eq!(world.actions().await.last().unwrap(), "memory_protected");
    let id = driven.id;
    let refused = world.agent.roll_back(id, true, &wren).await.unwrap_err();
    assert!(matches!(refused, Error::BeyondAgent { .. }));
    assert!(
        world.memories().await[0]["constitutional"]
            .as_bool()
            .unwrap()
    );
}
