//! An agent with every kind of event, for tests of invariants.

use std::time::Duration;

use memoir_app::sessions::RefineOptions;
use memoir_app::{Handling, MemoryInput, ShredWish};
use memoir_domain::{
    SessionId, Timestamp,
    access::{AccessDraft, AccessKind, AccessScope},
    agent::Field,
    audit::Actor,
    memory::Number,
    session::State,
};
use memoir_model::ModelError;
use memoir_testkit::{InstallationFolder, Turn, archival, input, journal, replacing};
use serde_json::json;

use crate::installation::{
    TestAgent, complete, configure_by, delete, handle_by, person, rehearsal, request_by, save_by,
    shred_by,
};

/// The memory that is shredded in the end.
pub const SHREDDED: Number = Number(13);
/// The memory that is rewritten, so that it had another text before.
pub const REWRITTEN: Number = Number(2);

pub struct Story {
    /// Completed: two merged, one rewritten, one protected, one deleted.
    pub completed: SessionId,
    /// Undone after its end.
    pub undone: SessionId,
}

pub fn memories() -> Vec<MemoryInput> {
    let mut memories: Vec<_> = [
        "Marta prefers linen thread for the spine of every book.",
        "The workshop opens at nine, and Joaquín is always there first, before the baker.",
        "I promised Marta to keep the ledger of orders in order.",
        "The cat sleeps on the paper that was delivered in the morning.",
        "The cat sleeps on the paper which was delivered in the morning.",
        "The old press came from Lisbon and needs oil every month.",
        "The rain came early today, and the paper had to be carried in.",
        "Lena brings the paper on Fridays, and stays for coffee.",
        "The spring fair is in the second week of May, near the river.",
        "Evan carried the boxes up to the attic, and hurt his back a little.",
        "Ruth asked for a blue cover with silver letters on the spine.",
        "The roof above the press leaks when the wind comes from the west.",
        "The key of the back door lies under the blue pot, and its number is 4711.",
    ]
    .map(input)
    .into();
    memories[0].tags = vec!["craft".into(), "Marta".into()];
    memories[0].source = Some("a letter of May".into());
    memories[2].constitutional = true;
    memories[6] = journal("The rain came early today, and the paper had to be carried in.");
    memories[12].tags = vec!["house".into()];
    memories
}

/// The model's calls in the completed session.
pub fn edits() -> Vec<Turn> {
    vec![
        Turn::call(
            "consolidate_memories",
            json!({"ids": [4, 5], "content": "The cat sleeps on the paper delivered in the morning."}),
        ),
        Turn::call(
            "update_memory",
            json!({"id": 2, "content": "The workshop opens at nine; Joaquín is always there first."}),
        ),
        Turn::call("protect_memory", json!({"id": 6})),
        delete(9),
        complete(),
    ]
}

/// Up to the session that completed.
pub async fn first_part(folder: &InstallationFolder, wren: &TestAgent) -> SessionId {
    for memory in memories() {
        folder.pass_a_minute();
        wren.save(&[memory]).await;
    }
    let prompts = [
        (
            Field::SystemPrompt,
            "I am Wren, who lives with bookbinders.",
        ),
        (Field::ReflectionPrompt, "Keep what was promised."),
        (Field::MemoryReflectionPrompt, "Promote what lasts."),
        (Field::RefinementPrompt, "Tidy slowly, and change little."),
    ];
    let prompts = prompts.map(|(field, text)| (field, Some(text)));
    folder.pass_a_minute();
    wren.configure(&prompts).await;
    folder.pass_a_minute();
    let (driven, _) = wren.refine(edits()).await;
    assert_eq!(driven.state, State::Completed);
    assert_eq!(driven.edits, 3);
    driven.id
}

/// From there on to a memory that was shredded.
pub async fn second_part(
    folder: &InstallationFolder,
    wren: &TestAgent,
    completed: SessionId,
) -> Story {
    let agent = &wren.agent;
    folder.pass_a_minute();
    let strict = [(Field::RefinementThreshold, Some("0.95"))];
    configure_by(agent, &strict, &person()).await;
    folder.pass_a_minute();
    let (tripped, _) = wren.refine([delete(10), delete(11), complete()]).await;
    assert_eq!(tripped.state, State::RolledBack);
    folder.pass_a_minute();
    let lax = [(Field::RefinementThreshold, Some("0.5"))];
    agent.settings().configure(&lax, &person()).await.unwrap();
    folder.pass_a_minute();
    let (undone, _) = wren.refine([delete(10), complete()]).await;
    folder.pass_a_minute();
    wren.roll_back(undone.id, false).await;
    folder.pass_a_minute();
    handle_by(agent, Number(9), Handling::Restore, &person()).await;
    let before = folder.now();
    folder.pass_a_minute();
    wren.save(&[input("A thing that will not have been.")])
        .await;
    folder.pass_a_minute();
    let rewound = agent.log().rewind(before, &person()).await.unwrap();
    assert_eq!(rewound.changes.discarded, 1);
    folder.pass_a_minute();
    wren.script([Turn::text("No, I am in the middle of something.")]);
    let declined = agent
        .lens()
        .refine(&RefineOptions::default(), &mut |_| {})
        .await
        .unwrap();
    assert_eq!(declined.state, State::Declined);
    // Until then the agent is not asked again.
    folder.clock.advance(Duration::from_secs(24 * 60 * 60));
    folder.pass_a_minute();
    let broken = ModelError::BadAnswer {
        what: "a web page".to_owned(),
        retryable: false,
        hint: None,
    };
    let (failed, _) = wren.refine([Turn::Error(broken)]).await;
    assert_eq!(failed.state, State::Failed);
    folder.pass_a_minute();
    let rehearsal = rehearsal();
    let (rehearsed, _) = wren.refine_with(&rehearsal, [delete(11), complete()]).await;
    assert_eq!(rehearsed.state, State::Completed);
    archive(folder, wren).await;
    folder.pass_a_minute();
    let wish = ShredWish::of(SHREDDED, "it tells where the key is");
    shred_by(agent, wish, &person()).await;
    folder.pass_a_minute();
    use_access(folder, wren, completed).await;
    Story {
        completed,
        undone: undone.id,
    }
}

/// Fills the archive, under the guard `archive`: #12 by an edit, #9 by replacing it, and one that is saved as archival.
async fn archive(folder: &InstallationFolder, wren: &TestAgent) {
    let agent = &wren.agent;
    folder.pass_a_minute();
    let guard = |guard| [(Field::LossGuard, guard)];
    let me = Actor::agent("wren");
    agent.settings().configure(&guard(None), &me).await.unwrap();
    let shorter =
        json!({"id": 12, "content": "The roof above the press leaks when the wind comes."});
    let (session, _) = wren
        .refine([Turn::call("update_memory", shorter), complete()])
        .await;
    assert_eq!((session.state, session.archived), (State::Completed, 1));
    folder.pass_a_minute();
    let archival = archival("The first press of the workshop was sold to a printer in Braga.");
    let newer = "The spring fair is in the third week of May, near the river.";
    let newer = replacing(newer, &[9]);
    let saved = save_by(agent, &[archival, newer], &person()).await;
    assert_eq!(saved[1].replaced, Some(vec![Number(9)]));
    folder.pass_a_minute();
    // Under `off`, edits may write any text.
    configure_by(agent, &guard(Some("off")), &person()).await;
}

/// Requests of every kind and in every state; a granted one is in use at the end.
async fn use_access(folder: &InstallationFolder, wren: &TestAgent, completed: SessionId) {
    let agent = &wren.agent;
    let read = |scope| AccessKind::Read { scope, minutes: 45 };
    let (core, all) = (AccessScope::Core, AccessScope::All);
    let leave = AccessKind::Token {
        expires_at: Some(Timestamp::MAX),
    };
    let shred = AccessKind::Shred {
        number: Number(11),
        derived: false,
    };
    let mut ids = Vec::new();
    for kind in [
        read(AccessScope::Session(completed)),
        read(core),
        read(all),
        leave,
        shred,
        read(all),
    ] {
        folder.pass_a_minute();
        let purpose = "to find out why the kettle sings".into();
        let draft = AccessDraft { kind, purpose };
        let request = request_by(agent, &draft, &person()).await;
        ids.push(request.id);
    }
    let me = Actor::agent("wren");
    for (id, yes) in [
        (ids[0], true),
        (ids[1], true),
        (ids[2], false),
        (ids[4], true),
    ] {
        folder.pass_a_minute();
        let reason = Some("because of the kettle".into());
        agent
            .grants()
            .answer_access(id, yes, reason, &me)
            .await
            .unwrap();
    }
    folder.pass_a_minute();
    let mechanic = agent
        .views()
        .seen_by(memoir_app::Viewer::administrator(person()));
    mechanic.memory(Number(1)).await.unwrap();
    mechanic.session(completed).await.unwrap();
    agent.grants().revoke_access(ids[0], &me).await.unwrap();
    folder.pass_a_minute();
}
