//! The metrics beside the service's: the queue, leases, interrupted requests, and rehearsals.

use std::{collections::BTreeMap, time::Duration};

use memoir_app::{Memoir, sessions::RefineOptions};
use memoir_domain::session::State;
use memoir_testkit::Turn;
use serde_json::json;

use crate::installation::{TestAgent, enqueue, rehearsal, settings};

/// The samples by name and labels.
async fn counted(memoir: &Memoir) -> BTreeMap<String, f64> {
    let families = memoir.metrics().await;
    let text = prometheus::TextEncoder::new().encode_to_string(&families);
    let text = text.unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn the_queue_and_a_workers_lease_are_told() {
    let wren = TestAgent::new(&["The kiln is fired on Thursdays."]).await;
    enqueue(&wren.agent, &RefineOptions::default()).await;
    wren.clock.advance(Duration::from_secs(90));
    let found = counted(&wren.memoir).await;
    assert_eq!(found["memoir_queue_sessions"], 1.0);
    assert_eq!(found["memoir_queue_oldest_seconds"], 90.0);
    assert_eq!(found[r#"memoir_sessions_running{driver="model"}"#], 0.0);

    let waiting = wren.memoir.waiting_sessions(1).await.unwrap();
    let session = &waiting[0];
    let taken = wren.memoir.acquire(session.scope, session.id).await;
    assert!(taken.unwrap().is_some());
    // Longer than the lease lasts: the worker has died.
    wren.clock
        .advance(settings().lease + Duration::from_secs(15));
    let found = counted(&wren.memoir).await;
    assert_eq!(found["memoir_queue_sessions"], 0.0);
    assert_eq!(found["memoir_queue_oldest_seconds"], 0.0);
    assert_eq!(found[r#"memoir_sessions_running{driver="model"}"#], 1.0);
    let age = found[r#"memoir_lease_age_seconds{driver="model"}"#];
    assert_eq!(age, settings().lease.as_secs_f64() + 15.0);
    wren.memoir.close_lapsed_sessions().await.unwrap();
    let found = counted(&wren.memoir).await;
    assert_eq!(
        found[r#"memoir_session_end_reasons_total{reason="lease_expired"}"#],
        1.0
    );
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_request_is_counted() {
    let wren = TestAgent::new(&["The kiln is fired on Thursdays."]).await;
    wren.script([Turn::Never]);
    let driven = wren.drive().await;
    assert_eq!(driven.state, State::Abandoned);
    let found = counted(&wren.memoir).await;
    let labels = r#"{model="model",provider="scripted",result="broken_off"}"#;
    assert_eq!(found[&format!("memoir_model_calls_total{labels}")], 1.0);
    assert_eq!(
        found[r#"memoir_session_end_reasons_total{reason="time_limit"}"#],
        1.0
    );
}

#[tokio::test]
async fn a_rehearsal_counts_by_its_end_and_its_model_and_by_nothing_else() {
    let memories = [
        "Dawn is at six.",
        "Noon is at noon.",
        "Dusk is at eight.",
        "Late is late.",
    ];
    let wren = TestAgent::new(&memories).await;
    let before = counted(&wren.memoir).await;
    wren.script([
        Turn::text("YES"),
        Turn::call("delete_memory", json!({"id": 1})),
        Turn::call("delete_memory", json!({"id": 2})),
    ]);
    let options = rehearsal();
    let driven = wren.seen().refine(&options, &mut |_| {}).await.unwrap();
    assert_eq!(driven.state, State::RolledBack);
    let after = counted(&wren.memoir).await;
    let ended = r#"memoir_sessions_ended_total{driver="model",end="rolled_back",rehearsal="true"}"#;
    assert_eq!(after[ended], 1.0);
    for same in [
        r#"memoir_breaker_trips_total{limit="mass"}"#,
        r#"memoir_session_edits_total{tool="delete_memory"}"#,
        r#"memoir_session_removed_tokens_total{tool="delete_memory"}"#,
    ] {
        assert_eq!(after[same], before[same], "{same}");
    }
    let tools = after
        .keys()
        .filter(|name| name.starts_with("memoir_tool_calls_total"));
    assert_eq!(tools.count(), 0);
    let labels = r#"{model="model",provider="scripted",result="answered"}"#;
    assert_eq!(after[&format!("memoir_model_calls_total{labels}")], 3.0);
}

#[tokio::test]
async fn spec_3_14_what_sessions_archive_is_counted() {
    let wren = crate::archiving::archivist().await;
    let before = counted(&wren.memoir).await;
    let session = crate::archiving::open(&wren).await;
    for (tool, arguments) in [
        (
            "consolidate_memories",
            json!({"ids": [1, 2], "content": "we spoke about the bread and the river."}),
        ),
        ("delete_memory", json!({"ids": [14]})),
    ] {
        crate::archiving::edit(&wren, session, tool, arguments).await;
    }
    crate::archiving::complete(&wren, session).await;
    let after = counted(&wren.memoir).await;
    let grown = |name: &str| after[name] - before[name];
    assert_eq!(grown("memoir_session_archived_total"), 3.0);
    assert_eq!(grown("memoir_session_summaries_total"), 1.0);
}
