//! No memory text, tag or prompt in anything that is formatted (SPEC 5.1).

use std::{sync::Arc, time::Duration};

use memoir_app::{
    ForeignMemory, ForeignPart, ImportRequest, MemoryInput, RecordFilter, sessions::RefineOptions,
};
use memoir_domain::{agent::Field, audit::Actor, memory::Kind};
use memoir_testkit::{Turn, input, query};
use serde_json::json;
use tokio::sync::mpsc;

use crate::installation::{MEMORIES, TestAgent, complete, delete, person};

const CANARY: &str = "Kanarienvogel";

#[tokio::test]
async fn spec_5_1_no_words_in_what_is_formatted() {
    let first = format!("{CANARY} sings in the workshop of Marta every morning at nine.");
    let second = format!("{CANARY} sings in the workshop of Marta every evening at nine.");
    let third = "A long and quiet memory of a day at the sea, with nothing in it to remove at all.";
    let wren = TestAgent::new(&[&first, &second, third, third]).await;
    let mut printed = String::new();
    let recalled = wren.seen().recall(&query(CANARY, 5)).await.unwrap();
    printed += &format!("{recalled:?}");
    let context = wren.agent.context(None).await.unwrap();
    assert!(context.text.expose().contains(CANARY));
    printed += &format!("{context:?}");
    let script = wren.script([
        Turn::text("yes"),
        Turn::call(
            "update_memory",
            json!({"id": 1, "content": format!("{CANARY} sings for Marta every morning at nine.")}),
        ),
        Turn::call("search_memories", json!({"query": CANARY})),
        Turn::call(
            "update_memory",
            json!({"id": 1, "content": format!("{CANARY}\u{0}")}),
        ),
        Turn::call(CANARY, json!({"id": 1})),
        delete(2),
        complete(),
    ]);
    let mut seen = Vec::new();
    let driven = wren
        .seen()
        .refine(&RefineOptions::default(), &mut |progress| {
            seen.push(progress.clone())
        })
        .await
        .unwrap();
    printed += &format!("{driven:?} {seen:?} {:?}", script.requests());
    printed += &serde_json::to_string(&seen).unwrap();
    let records = wren.seen().records(&RecordFilter::default()).await.unwrap();
    printed += &format!("{records:?}");
    let answer = wren
        .agent
        .call_tool(driven.id, CANARY, Some(&json!({CANARY: CANARY})))
        .await
        .unwrap();
    printed += &format!("{answer:?}");
    let set = [(
        memoir_domain::agent::Field::RefinementThreshold,
        Some(CANARY),
    )];
    let prompt = [(memoir_domain::agent::Field::SystemPrompt, Some(CANARY))];
    let shown = wren.configure(&prompt).await;
    printed += &format!("{shown:?}");
    let error = wren
        .agent
        .settings()
        .configure(&set, &person())
        .await
        .unwrap_err();
    printed += &format!("{error:?} {error}");
    let bad = memoir_app::import::read(
        format!("{{\"content\": \"{CANARY}\", \"{CANARY}\": 1}}\n{CANARY}").as_bytes(),
        None,
        wren.memoir.now(),
    );
    assert_eq!(bad.bad.len(), 2);
    printed += &format!("{bad:?}");
    assert!(!printed.contains(CANARY), "a canary was printed");
}

/// What an import of one memory of a file makes of it: `kept`, `known` and `changed`.
async fn imported(wren: &TestAgent, text: &str, by: &Actor, dry_run: bool) -> (u64, u64, u64) {
    let input = MemoryInput {
        source: Some("list:1".into()),
        ..input(text)
    };
    imported_as(wren, input, by, dry_run).await
}

async fn imported_as(
    wren: &TestAgent,
    input: MemoryInput,
    by: &Actor,
    dry_run: bool,
) -> (u64, u64, u64) {
    let memory = ForeignMemory {
        input: MemoryInput {
            kind: Some(Kind::Core),
            ..input
        },
        gone: None,
    };
    let (sender, parts) = mpsc::channel(2);
    for part in [ForeignPart::Memories(vec![memory]), ForeignPart::Last] {
        sender.try_send(part).unwrap();
    }
    drop(sender);
    let request = ImportRequest {
        format: "list",
        live_only: false,
        dry_run,
        actor: by.clone(),
        progress: Arc::default(),
    };
    let memories = wren.agent.memories();
    let taken = memories.take_over(parts, &request).await.unwrap();
    (taken.kept, taken.known, taken.changed)
}

#[tokio::test]
async fn spec_5_1_an_administrators_import_knows_a_rewritten_memory_by_its_imported_text_alone() {
    let first = "The gate of the yard opens with the brass key, says the list.";
    let second = "The brass key opens the gate of the yard, says the list.";
    let third = "The brass key opens the yard's gate, says the list.";
    let wren = TestAgent::new(&MEMORIES).await;
    wren.configure(&[(Field::LossGuard, Some("off"))]).await;
    let administrator = Actor::administrator("ada");
    let kept = imported(&wren, first, &administrator, false).await;
    assert_eq!(kept, (1, 0, 0));
    let number = MEMORIES.len() + 1;
    let rewrite =
        |content: &str| Turn::call("update_memory", json!({"id": number, "content": content}));
    for text in [second, third] {
        wren.clock.advance(Duration::from_secs(3_600));
        let (session, _) = wren.refine([rewrite(text), complete()]).await;
        assert_eq!(session.edits, 1);
        let known = imported(&wren, first, &administrator, true).await;
        assert_eq!(
            known,
            (0, 1, 0),
            "a session made the administrator's own text unknown"
        );
        // As any other text of that source.
        for guess in [second, third] {
            let guessed = imported(&wren, guess, &administrator, true).await;
            assert_eq!(guessed, (1, 0, 1), "the answer names the agent's text");
        }
    }
    for text in [first, second, third] {
        assert_eq!(
            imported(&wren, text, &Actor::agent("wren"), true).await,
            (0, 1, 0)
        );
    }
}

#[tokio::test]
async fn spec_3_4_no_cleanup_joins_a_guess_with_what_a_session_made_of_an_administrators_text() {
    let rewritten = "The brass key opens the gate of the yard.";
    let wren = TestAgent::new(&MEMORIES).await;
    wren.configure(&[(Field::LossGuard, Some("off"))]).await;
    let administrator = Actor::administrator("ada");
    let first = "The gate of the yard opens with the brass key.";
    let kept = imported(&wren, first, &administrator, false).await;
    assert_eq!(kept, (1, 0, 0));
    let update = json!({"id": MEMORIES.len() + 1, "content": rewritten});
    wren.clock.advance(Duration::from_secs(3_600));
    let (session, _) = wren
        .refine([Turn::call("update_memory", update), complete()])
        .await;
    assert_eq!(session.edits, 1);
    let saved = wren.agent.memories();
    let saved = saved.save(&[input(rewritten)], &administrator).await;
    saved.unwrap();
    wren.clock.advance(Duration::from_secs(3_600));
    let before = wren.memories().await.len();
    wren.refine([complete()]).await;
    assert_eq!(wren.memories().await.len(), before, "the guess was right");
}

#[tokio::test]
async fn spec_2_4_an_administrators_import_knows_a_memory_that_was_joined_with_its_copy() {
    // On a disk: an import reads while it writes, and a store in memory has one connection for both.
    let folder = tempfile::tempdir().unwrap();
    let store = memoir_store_sqlite::SqliteStore::open(&folder.path().join("m.db")).unwrap();
    let wren = TestAgent::on(Arc::new(store), &MEMORIES, crate::installation::settings()).await;
    wren.configure(&[
        (Field::ImmutableTags, Some("vow")),
        (Field::DuplicateMatch, Some("ignore_case")),
    ])
    .await;
    let administrator = Actor::administrator("ada");
    let of_file = |text: &str, source: &str, tag: &str| MemoryInput {
        source: Some(source.into()),
        tags: vec![tag.into()],
        ..input(text)
    };
    let first = of_file("The harbour opens at five.", "list:1", "time");
    let second = of_file("the harbour opens at five.", "list:2", "vow");
    for memory in [&first, &second] {
        wren.clock.advance(Duration::from_secs(3_600));
        let kept = imported_as(&wren, memory.clone(), &administrator, false).await;
        assert_eq!(kept, (1, 0, 0));
    }
    wren.clock.advance(Duration::from_secs(3_600));
    let before = wren.memories().await.len();
    wren.refine([complete()]).await;
    assert_eq!(
        wren.memories().await.len(),
        before - 1,
        "no copy was joined"
    );
    for memory in [first, second] {
        let again = imported_as(&wren, memory, &administrator, true).await;
        assert_eq!(again, (0, 1, 0));
    }
}
