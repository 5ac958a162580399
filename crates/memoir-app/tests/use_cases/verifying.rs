//! Verifying a log that is longer than a page (SPEC 4.2).

use memoir_app::{MemoryInput, Point, ShredWish};
use memoir_domain::{memory::Number, summary::SUMMARY_RECORDS};
use memoir_testkit::{Turn, input};
use rusqlite::Connection;
use serde_json::json;

use crate::installation::{TestAgent, complete, new_folder, person, shred_by};

/// More than a page.
const MANY: usize = 1_100;

async fn wren() -> TestAgent {
    let wren = TestAgent::new(&[
        "The paper is delivered in the morning. The cat sleeps on it.",
        "The paper is delivered in the morning.",
        "The press came from Lisbon.",
    ])
    .await;
    for inputs in inputs().chunks(500) {
        wren.save(inputs).await;
    }
    wren
}

fn inputs() -> Vec<MemoryInput> {
    (0..MANY)
        .map(|number| {
            input(&format!(
                "Customer {number} asked for {} sheets.",
                number + 7
            ))
        })
        .collect()
}

#[tokio::test]
async fn spec_4_2_a_log_of_many_pages_is_followed_to_its_end() {
    let wren = wren().await;
    let merge = json!({
        "ids": [1, 2],
        "content": "The paper is delivered in the morning. The cat sleeps on it.",
    });
    let merge = Turn::call("consolidate_memories", merge);
    let (session, _) = wren.refine([merge, complete()]).await;
    assert_eq!(session.stats.consolidated, 2);
    // It replaces texts of records that were followed long before.
    shred_by(&wren.agent, ShredWish::of(Number(3), "gone"), &person()).await;
    let verified = wren.agent.log().verify().await.unwrap();
    assert_eq!(verified.mismatches, []);
    assert!(verified.records > MANY as u64);
    // The two that were merged under `off` are not lost, and the new text is an original. The shredded one is not
    // counted.
    let originals = verified.originals.unwrap();
    let many = MANY as u64;
    assert_eq!(
        (originals.total, originals.in_prompt, originals.removed_off),
        (many + 3, many + 1, 2)
    );
    assert_eq!(originals.lost, 0);
}

/// The history keeps summaries of a long log: they agree with the records, and a change of any is found.
#[tokio::test]
async fn spec_4_3_what_is_kept_of_a_log_is_what_its_records_tell() {
    let folder = new_folder();
    let wren = TestAgent::of(&folder.open()).await;
    wren.remember("The press came from Lisbon.").await;
    folder.pass_a_minute();
    for inputs in inputs().chunks(500) {
        wren.save(inputs).await;
    }
    let first = wren.agent.log().look_back(None).await.unwrap();
    let kept = async || {
        let rows = wren.store.summaries(wren.agent.scope(), 0, 10).await;
        rows.unwrap().len()
    };
    assert_eq!((first.seq / SUMMARY_RECORDS, kept().await), (2, 2));
    assert_eq!(wren.agent.log().look_back(None).await.unwrap(), first);
    for seq in [0, 1, 511, 512, 513, 1_023, 1_024, 1_025, first.seq] {
        let point = Point::Record(seq);
        let seen = wren.agent.log().look_back(Some(point)).await.unwrap();
        let told = wren.agent.log().preview_rewind(point, &person()).await;
        let told = told.unwrap();
        assert_eq!((seen.seq, seen.foresight.changes), (seq, told.changes));
        let at = seen.record.map(|record| record.recorded_at);
        if let Some(at) = at {
            let seen = wren.agent.log().look_back(Some(Point::Time(at))).await;
            let seen = seen.unwrap();
            let told = wren
                .agent
                .log()
                .preview_rewind(Point::Time(at), &person())
                .await;
            assert_eq!(seen.seq, told.unwrap().to_seq);
        }
    }
    assert!(wren.agent.log().verify().await.unwrap().valid);
    // Text that was removed from the log is in no summary either.
    shred_by(&wren.agent, ShredWish::of(Number(1), "gone"), &person()).await;
    assert_eq!(kept().await, 0);
    wren.agent.log().look_back(None).await.unwrap();
    assert_eq!(kept().await, 2);
    assert!(wren.agent.log().verify().await.unwrap().valid);
    drop(wren);
    for tamper in [
        "UPDATE log_summaries SET last_seq = 511 WHERE last_seq = 512",
        "UPDATE log_summaries SET last_seq = 0 WHERE last_seq = 512",
        "UPDATE log_summaries SET last_seq = 9999 WHERE last_seq = 1024",
        "UPDATE log_summaries SET hash = zeroblob(32) WHERE last_seq = 1024",
        "UPDATE log_summaries SET body = zeroblob(100) WHERE last_seq = 512",
        "UPDATE log_summaries SET body = (SELECT body FROM log_summaries WHERE last_seq = 512)",
    ] {
        let copy = folder.path().join("copy");
        folder.copy_to(&copy);
        let connection = Connection::open(&copy).unwrap();
        assert!(connection.execute(tamper, []).unwrap() > 0, "{tamper}");
        drop(connection);
        let verified = folder.open_at(&copy).memoir.verify_all().await.unwrap();
        let problem = verified.iter().find_map(|one| one.first_bad.as_ref());
        let problem = problem.map(|mismatch| mismatch.problem.as_str());
        assert!(
            problem.is_some_and(|problem| problem.contains("log_summaries")),
            "{tamper}: {problem:?}"
        );
        std::fs::remove_file(&copy).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_4_2_what_is_written_meanwhile_is_no_mismatch() {
    let wren = wren().await;
    let writing = async {
        for number in 4..24 {
            wren.remember(&format!("And another thing, {number}."))
                .await;
            shred_by(
                &wren.agent,
                ShredWish::of(Number(number), "gone"),
                &person(),
            )
            .await;
        }
    };
    let verifying = async {
        for _ in 0..3 {
            let verified = wren.agent.log().verify().await.unwrap();
            assert_eq!(verified.mismatches, []);
        }
    };
    tokio::join!(writing, verifying);
    assert!(wren.agent.log().verify().await.unwrap().valid);
}
