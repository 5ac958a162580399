//! Archival memories of a session, and their return: rollback, undo, rewind, promotion (SPEC 3.9, 3.10, 3.12, 3.19, 4.3).

use std::time::Duration;

use memoir_app::{Error, Handling, Point};
use memoir_domain::{
    SessionId,
    agent::Field,
    audit::Actor,
    manage::ChangeRefusal,
    memory::Number,
    session::{Mode, State},
};
use memoir_testkit::{input, replacing};
use serde_json::{Value, json};

use crate::installation::{TestAgent, call, configure_by, handle_by, person, save_by};

/// The originals of [`archivist`]: #1 to #14.
const COUNT: u64 = 14;

/// The agent itself.
pub fn me() -> Actor {
    Actor::agent("wren")
}

/// A text of 120 tokens without names, numbers, signs or negations; no two are alike.
fn text(place: usize) -> String {
    const KINDS: [&str; 14] = [
        "bread", "river", "paper", "linen", "garden", "winter", "kettle", "orchard", "harbour",
        "market", "window", "ladder", "candle", "meadow",
    ];
    let kind = KINDS[place];
    let sentence = format!("we spoke about the {kind} and walked home along the old wall. ");
    let long: String = sentence.repeat(9);
    long.chars().take(479).chain(['x']).collect()
}

/// An agent that is over its budget of 1,000 tokens, under the guard `archive`: 14 originals of 120 tokens each, by the
/// agent itself. #4 has tags and a source.
pub async fn archivist() -> TestAgent {
    archivist_of(text).await
}

/// As [`archivist`], with texts of these places from 0 to 13.
pub async fn archivist_of(text: impl Fn(usize) -> String) -> TestAgent {
    let wren = TestAgent::new(&[]).await;
    for place in 0..14 {
        wren.clock.advance(Duration::from_secs(60));
        let mut memory = input(&text(place));
        if place == 3 {
            memory.tags = vec!["craft".into()];
            memory.source = Some("a letter of May".into());
        }
        wren.agent.memories().save(&[memory], &me()).await.unwrap();
    }
    let settings = [
        (Field::LossGuard, None),
        (Field::CoreTokenBudget, Some("1000")),
        (Field::RefinementThreshold, Some("0.5")),
    ];
    // By the agent itself, so that no journal entry reports it.
    configure_by(&wren.agent, &settings, &me()).await;
    wren.clock.advance(Duration::from_secs(60));
    wren
}

pub async fn open(wren: &TestAgent) -> SessionId {
    wren.agent.open_own(Mode::Full).await.unwrap().0.id
}

/// As [`call`], for an edit that is to succeed.
pub async fn edit(wren: &TestAgent, session: SessionId, tool: &str, arguments: Value) -> Value {
    let result = call(&wren.agent, session, tool, arguments).await;
    assert_ne!(result["type"], "error", "{tool}: {result}");
    result
}

pub async fn complete(wren: &TestAgent, session: SessionId) {
    let report = json!({"summary": "Less to carry."});
    let result = edit(wren, session, "complete_refinement", report).await;
    assert_eq!(result["type"], "refinement_complete");
}

/// Every original of [`archivist`] with all that is shown of it.
async fn originals(wren: &TestAgent) -> Vec<Value> {
    let memories = wren.seen().memories(true).await.unwrap();
    let mut memories: Vec<_> = memories
        .into_iter()
        .filter(|memory| memory.number.0 <= COUNT)
        .collect();
    memories.sort_by_key(|memory| memory.number);
    memories.iter().map(|memory| json!(memory)).collect()
}

/// The kind of a memory, the memory above it, and whether it is active.
async fn place(wren: &TestAgent, number: u64) -> (&'static str, Option<u64>, bool) {
    let memory = wren.facts(number).await;
    (
        memory.kind.as_str(),
        memory.under.map(|under| under.0),
        memory.discarded_at.is_none(),
    )
}

const CORE: (&str, Option<u64>, bool) = ("core", None, true);

fn archived(under: u64) -> (&'static str, Option<u64>, bool) {
    ("archival", Some(under), true)
}

/// Checks that counts and records agree with the rows, and that every original is kept.
async fn verify(wren: &TestAgent, in_prompt: u64, in_archive: u64) {
    let verified = wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.mismatches, []);
    let counted = verified.originals.unwrap();
    assert_eq!(
        (counted.in_prompt, counted.archived, counted.lost),
        (in_prompt, in_archive, 0)
    );
    assert_eq!(counted.total, in_prompt + in_archive);
    wren.check().await;
}

/// One edit of each kind: #14 alone, #13 under #12, #11 under #10, a summary #15 over #1 and #2 that is written anew as
/// #16, and #17 in place of #4. In the prompt stay #3, #5 to #10, #12, #16 and #17.
async fn every_edit(wren: &TestAgent, session: SessionId) {
    let deleted = edit(wren, session, "delete_memory", json!({"ids": [14]})).await;
    assert_eq!(
        (&deleted["under"], &deleted["archived"]),
        (&Value::Null, &json!([14]))
    );
    let replaced = json!({"ids": [13], "replaced_by": 12});
    let deleted = edit(wren, session, "delete_memory", replaced).await;
    assert_eq!(deleted["under"], 12);
    let keep = json!({"ids": [10, 11], "content": text(9)});
    let kept = edit(wren, session, "consolidate_memories", keep).await;
    assert_eq!(
        (&kept["number"], &kept["archived"], &kept["is_summary"]),
        (&json!(10), &json!([11]), &json!(false))
    );
    let summary = json!({"ids": [1, 2], "content": "we spoke about the bread and the river, and walked home."});
    let made = edit(wren, session, "consolidate_memories", summary).await;
    assert_eq!(
        (&made["number"], &made["archived"], &made["is_summary"]),
        (&json!(15), &json!([1, 2]), &json!(true))
    );
    let anew = json!({"id": 15, "content": "we spoke about the bread and the river."});
    let made = edit(wren, session, "update_memory", anew).await;
    assert_eq!(
        (&made["number"], &made["archived"]),
        (&json!(16), &json!([])),
        "the sources move, and no original is archived anew"
    );
    let shorter = text(3).replacen("we spoke about the linen and ", "", 1);
    let updated = edit(
        wren,
        session,
        "update_memory",
        json!({"id": 4, "content": shorter}),
    )
    .await;
    assert_eq!(
        (
            &updated["number"],
            &updated["archived"],
            &updated["is_summary"]
        ),
        (&json!(17), &json!([4]), &json!(true))
    );
    for (number, expected) in [
        (14, ("archival", None, true)),
        (13, archived(12)),
        (11, archived(10)),
        (1, archived(16)),
        (2, archived(16)),
        (4, archived(17)),
        (15, ("core", None, false)),
        (16, CORE),
        (17, CORE),
    ] {
        assert_eq!(place(wren, number).await, expected, "#{number}");
    }
    let now = call(&wren.agent, session, "delete_memory", json!({"id": 4})).await;
    assert_eq!(now["code"], "not_core");
    assert!(now["error"].as_str().unwrap().contains("#17"), "{now}");
}

#[tokio::test]
async fn spec_3_19_a_rollback_returns_every_byte_of_what_was_archived() {
    let wren = archivist().await;
    let before = originals(&wren).await;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    let counts = wren.agent.views().show().await.unwrap().counts;
    assert_eq!((counts.summary_count, counts.archival_count), (2, 6));
    wren.roll_back(session, false).await;
    assert_eq!(originals(&wren).await, before);
    for summary in [15, 16, 17] {
        assert_eq!(place(&wren, summary).await, ("core", None, false));
    }
    verify(&wren, COUNT, 0).await;
}

#[tokio::test]
async fn spec_3_13_the_breaker_returns_every_byte_of_what_was_archived() {
    let wren = archivist().await;
    let before = originals(&wren).await;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    let strict = [(Field::RefinementThreshold, Some("1"))];
    wren.configure(&strict).await;
    let report = json!({"summary": "Less to carry."});
    let tripped = call(&wren.agent, session, "complete_refinement", report).await;
    assert_eq!(tripped["type"], "refinement_rolled_back");
    assert_eq!(originals(&wren).await, before);
    verify(&wren, COUNT, 0).await;
}

#[tokio::test]
async fn spec_4_3_an_undo_a_rewind_and_the_way_forward_again_return_every_byte() {
    let wren = archivist().await;
    let before = originals(&wren).await;
    let start = wren.agent.log().look_back(None).await.unwrap().seq;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    complete(&wren, session).await;
    let shown = wren.agent.views().session(session).await.unwrap();
    assert_eq!(
        (
            shown.archived,
            shown.archived_under_summaries,
            shown.summaries
        ),
        (6, 3, 3)
    );
    let journal = wren.journal().await;
    let entry = journal.last().unwrap();
    assert!(
        entry.starts_with(
            "Refinement session: 3 memories archived under 3 summaries, 3 alone; 1,680 → "
        ),
        "{entry}"
    );
    let after = originals(&wren).await;
    verify(&wren, 8, 6).await;
    let log = wren.agent.log().look_back(None).await.unwrap().seq;

    wren.clock.advance(Duration::from_secs(60));
    wren.roll_back(session, false).await;
    assert_eq!(originals(&wren).await, before);
    verify(&wren, COUNT, 0).await;

    // Back to before the undo, and to before the session.
    wren.clock.advance(Duration::from_secs(60));
    wren.agent
        .log()
        .rewind(Point::Record(log), &person())
        .await
        .unwrap();
    assert_eq!(originals(&wren).await, after);
    assert_eq!(place(&wren, 16).await, CORE);
    verify(&wren, 8, 6).await;
    wren.clock.advance(Duration::from_secs(60));
    wren.agent
        .log()
        .rewind(Point::Record(start), &person())
        .await
        .unwrap();
    assert_eq!(originals(&wren).await, before);
    verify(&wren, COUNT, 0).await;
}

#[tokio::test]
async fn spec_4_3_a_later_change_of_what_was_archived_is_a_conflict_and_undone_with_it() {
    let wren = archivist().await;
    let before = originals(&wren).await;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    complete(&wren, session).await;
    // #10 took the place of #11, and the summary that of #1 and #2.
    wren.clock.advance(Duration::from_secs(60));
    let newer = "The market is closed for good, and so is the mill by the river.";
    let newer = replacing(newer, &[10, 16]);
    let saved = save_by(&wren.agent, &[newer], &me()).await.remove(0);
    let new = saved.memory.number.0;
    assert_eq!(saved.replaced, Some(vec![Number(10), Number(16)]));
    for (number, expected) in [
        (10, archived(new)),
        (11, archived(10)),
        (1, archived(new)),
        (2, archived(new)),
        (16, ("core", None, false)),
    ] {
        assert_eq!(place(&wren, number).await, expected, "#{number}");
    }
    verify(&wren, 8, 7).await;
    let refused = wren.try_roll_back(session, false).await;
    let Err(Error::InTheWay { obstacles, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(obstacles.len(), 2);
    assert!(
        obstacles
            .iter()
            .all(|one| one.action.as_str() == "memory_replaced")
    );
    wren.roll_back(session, true).await;
    assert_eq!(originals(&wren).await, before);
    assert_eq!(
        place(&wren, new).await,
        CORE,
        "the new one stays (SPEC 2.4)"
    );
    assert_eq!(place(&wren, 16).await, ("core", None, false));
    verify(&wren, COUNT + 1, 0).await;
}

#[tokio::test]
async fn spec_3_19_what_was_promoted_meanwhile_stays_as_it_is() {
    for is_running in [true, false] {
        let wren = archivist().await;
        let before = originals(&wren).await;
        let session = open(&wren).await;
        every_edit(&wren, session).await;
        if !is_running {
            complete(&wren, session).await;
        }
        // Both sources of the summary #16, with which it is discarded; and one of no summary.
        for number in [1, 2, 13] {
            wren.clock.advance(Duration::from_secs(1));
            let promoted = handle_by(&wren.agent, Number(number), Handling::Promote, &me()).await;
            assert_eq!((promoted.archived_at, promoted.under), (None, None));
        }
        assert_eq!(place(&wren, 16).await, ("core", None, false));
        assert_eq!(
            wren.agent.views().session(session).await.unwrap().edits,
            6,
            "a promotion is no edit"
        );
        wren.roll_back(session, false).await;
        assert_eq!(originals(&wren).await, before, "{is_running}");
        for summary in [15, 16, 17] {
            assert_eq!(place(&wren, summary).await, ("core", None, false));
        }
        verify(&wren, COUNT, 0).await;
    }
}

#[tokio::test]
async fn spec_3_19_what_came_under_another_memory_meanwhile_stays_there() {
    let wren = archivist().await;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    let newer = replacing("The bread comes from the mill by the river.", &[16]);
    let saved = wren.agent.memories().save(&[newer], &me()).await.unwrap();
    let new = saved[0].memory.number.0;
    wren.roll_back(session, false).await;
    for (number, expected) in [
        (1, archived(new)),
        (2, archived(new)),
        (4, CORE),
        (11, CORE),
        (13, CORE),
        (14, CORE),
        (16, ("core", None, false)),
        (new, CORE),
    ] {
        assert_eq!(place(&wren, number).await, expected, "#{number}");
    }
    verify(&wren, COUNT - 1, 2).await;
}

#[tokio::test]
async fn spec_3_19_a_summary_that_would_return_without_a_source_stays_discarded() {
    for is_promoted in [true, false] {
        let wren = archivist().await;
        let first = open(&wren).await;
        let summary = json!({"ids": [1, 2], "content": "we spoke about the bread and the river."});
        edit(&wren, first, "consolidate_memories", summary).await;
        complete(&wren, first).await;
        wren.clock.advance(Duration::from_secs(60));
        let second = open(&wren).await;
        let deleted = edit(&wren, second, "delete_memory", json!({"id": 15})).await;
        assert_eq!(deleted["archived"], json!([]), "a summary is no original");
        complete(&wren, second).await;
        assert_eq!(place(&wren, 15).await, ("core", None, false));
        assert_eq!(place(&wren, 1).await, ("archival", None, true));
        if is_promoted {
            for number in [1, 2] {
                handle_by(&wren.agent, Number(number), Handling::Promote, &me()).await;
            }
        }
        wren.roll_back(second, false).await;
        let (summary, sources) = match is_promoted {
            true => (("core", None, false), CORE),
            false => (CORE, archived(15)),
        };
        assert_eq!(place(&wren, 15).await, summary);
        for number in [1, 2] {
            assert_eq!(place(&wren, number).await, sources);
        }
        match is_promoted {
            true => verify(&wren, COUNT, 0).await,
            false => verify(&wren, COUNT - 2, 2).await,
        }
    }
}

/// A discarded original returns to where it was; a discarded summary returns by an undo alone (SPEC 4.3).
#[tokio::test]
async fn spec_4_3_a_restored_memory_returns_to_the_archive_and_a_summary_is_not_restored() {
    let wren = archivist().await;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    complete(&wren, session).await;
    let before = originals(&wren).await;
    let handle = async |number, handling| {
        wren.agent
            .memories()
            .handle(Number(number), handling, &me())
            .await
    };
    let discarded = handle(13, Handling::Discard).await.unwrap();
    assert!(discarded.discarded_at.is_some());
    assert_eq!(place(&wren, 13).await, ("archival", Some(12), false));
    verify(&wren, 8, 5).await;
    let back = handle(13, Handling::Restore).await.unwrap();
    assert_eq!(
        (back.kind.as_str(), back.under, back.discarded_at),
        ("archival", Some(Number(12)), None)
    );
    assert_eq!(originals(&wren).await, before);
    for summary in [15, 16] {
        if summary == 16 {
            // With its last source it is discarded (SPEC 2.4).
            handle(1, Handling::Discard).await.unwrap();
            assert_eq!(place(&wren, 16).await, CORE);
            handle(2, Handling::Discard).await.unwrap();
        }
        assert_eq!(place(&wren, summary).await, ("core", None, false));
        let refused = handle(summary, Handling::Restore).await.unwrap_err();
        assert_eq!(refused.code(), "not_applicable");
        assert!(
            matches!(&refused, Error::Change(ChangeRefusal::NotApplicable(number, _)) if number.0 == summary),
            "{refused:?}"
        );
    }
    verify(&wren, 8, 4).await;
}

/// SPEC 3.9 (e), 3.10: neither a summary nor an archival memory becomes constitutional.
#[tokio::test]
async fn spec_4_3_a_rewind_that_takes_a_constitutional_memory_out_of_core_is_on_the_record() {
    let wren = archivist().await;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    let refused = call(&wren.agent, session, "protect_memory", json!({"id": 16})).await;
    assert_eq!(refused["code"], "constitutional");
    complete(&wren, session).await;
    let protect = async |number| {
        let actor = person();
        let protect = wren
            .agent
            .memories()
            .handle(Number(number), Handling::Protect, &actor);
        protect.await
    };
    let refused = protect(16).await.unwrap_err();
    assert_eq!(refused.code(), "not_applicable");
    let refused = protect(13).await.unwrap_err();
    assert_eq!(refused.code(), "not_core");
    // Once the undo has returned #13, it can be protected. The rewind archives it again.
    wren.clock.advance(Duration::from_secs(60));
    let seq = wren.agent.log().look_back(None).await.unwrap().seq;
    wren.roll_back(session, false).await;
    protect(13).await.unwrap();
    let rewound = wren.agent.log().rewind(Point::Record(seq), &person()).await;
    let rewound = rewound.unwrap();
    assert_eq!(place(&wren, 13).await, archived(12));
    let last = memoir_app::RecordFilter {
        last: Some(1),
        ..memoir_app::RecordFilter::default()
    };
    let record = wren.seen().records(&last).await.unwrap().remove(0);
    assert_eq!(Some(record.seq), rewound.seq);
    assert_eq!(
        record.words.data.expose()["unprotected"],
        1,
        "the record states it"
    );
    verify(&wren, 8, 6).await;
}

/// SPEC 3.16: an end without rollback leaves the archived memories in the archive.
#[tokio::test]
async fn spec_3_16_a_cancelled_session_leaves_its_archive_and_can_be_undone() {
    let wren = archivist().await;
    let before = originals(&wren).await;
    let session = open(&wren).await;
    every_edit(&wren, session).await;
    let ended = wren.agent.sessions().cancel(session, &me()).await.unwrap();
    assert_eq!((ended.state, ended.archived), (State::Abandoned, 6));
    verify(&wren, 8, 6).await;
    let entry = wren.journal().await.pop().unwrap();
    assert!(
        entry.contains("3 memories archived under 3 summaries, 3 alone"),
        "{entry}"
    );
    wren.agent
        .sessions()
        .roll_back_last(session, false, &me())
        .await
        .unwrap();
    assert_eq!(originals(&wren).await, before);
    verify(&wren, COUNT, 0).await;
}
