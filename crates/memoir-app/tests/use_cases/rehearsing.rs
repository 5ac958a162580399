//! Rehearsals change nothing, and are applied in one step; edits that can no longer be applied are left out and named
//! (SPEC 3.17).

use memoir_app::{Error, MemoryInput, sessions::RefineOptions};
use memoir_domain::{agent::Field, memory::Number, session::State};
use memoir_testkit::{Turn, input};
use serde_json::json;

use crate::installation::{TestAgent, cancel_by, complete, delete, enqueue, person, rehearsal};

/// The fifth is a double of the fourth.
pub const MEMORIES: [&str; 6] = [
    "Marta prefers linen thread for the spine of every book.",
    "The workshop opens at nine, and Joaquín is always there first.",
    "The cat sleeps on the paper that was delivered in the morning.",
    "The cat sleeps on the paper which was delivered in the morning.",
    "The cat sleeps on the paper which was delivered in the morning.",
    "The old press came from Lisbon and needs oil every month.",
];

fn turns() -> Vec<Turn> {
    let merged = "The cat sleeps on the paper that was delivered in the morning.";
    vec![
        Turn::call(
            "consolidate_memories",
            json!({"ids": [3, 4], "content": merged}),
        ),
        Turn::call(
            "update_memory",
            json!({"id": 7, "content": "The cat sleeps on the paper delivered in the morning."}),
        ),
        complete(),
    ]
}

#[tokio::test]
async fn spec_3_17_a_rehearsal_changes_nothing_and_is_applied_in_one_step() {
    let wren = TestAgent::new(&MEMORIES).await;
    let (before, log) = (wren.memories().await, wren.actions().await);
    let (driven, _) = wren.refine_with(&rehearsal(), turns()).await;
    assert_eq!((driven.state, driven.rehearsal), (State::Completed, true));
    assert_eq!(wren.memories().await, before);
    // Only its end is recorded (SPEC 3.16).
    let mut expected = log;
    expected.push("memory_refinement_complete".to_owned());
    assert_eq!(wren.actions().await, expected);
    let changes = driven.words.changes.clone().unwrap();
    assert_eq!(
        changes
            .iter()
            .map(|change| change.number.0)
            .collect::<Vec<_>>(),
        [3, 4, 5, 7]
    );
    assert_eq!(
        changes[3].after.content(),
        "The cat sleeps on the paper delivered in the morning."
    );
    let shown = serde_json::to_value(&changes[0].before).unwrap();
    assert_eq!(
        shown, before[2],
        "a memory is shown as everywhere, with its tokens and flags"
    );

    // A memory saved meanwhile takes the number that the merged one had in the rehearsal.
    assert_eq!(
        wren.remember("Something new, with a text of its own.")
            .await,
        7
    );
    let applied = wren.apply(driven.id).await.session;
    assert_eq!(
        (applied.state, applied.edits, applied.rehearsal),
        (State::Completed, 2, false)
    );
    assert_eq!(wren.kept().await, [1, 2, 8, 6, 7]);
    let again = wren.try_apply(driven.id).await.unwrap_err();
    assert!(again.to_string().contains("it was applied as session"));
    wren.check().await;
}

#[tokio::test]
async fn spec_5_1_what_applying_would_do_is_told_without_words() {
    let wren = TestAgent::new(&MEMORIES).await;
    let (driven, _) = wren.refine_with(&rehearsal(), turns()).await;
    let id = driven.id;
    let agent = &wren.agent;
    let look = async || {
        agent
            .sessions()
            .rehearsal_facts(id, &person())
            .await
            .unwrap()
            .unwrap()
    };
    let seen = look().await;
    let told: Vec<_> = seen
        .changes
        .iter()
        .map(|change| {
            (
                change.after.number.0,
                change.after.discarded_at.is_some(),
                change.is_reworded,
                change.under,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (3, true, false, None),
            (4, true, false, None),
            (5, true, false, None),
            (7, false, false, None)
        ]
    );
    assert_eq!(seen.changes[3].made_of, [Number(3), Number(4)]);
    assert!(seen.changes[3].before.is_none());
    let shown = format!("{:?}", seen.changes);
    assert!(
        !shown.contains("cat") && !shown.contains("paper"),
        "{shown}"
    );

    // The preview is applied exactly, or not at all.
    wren.remember("Something new, with a text of its own.")
        .await;
    let stale = agent
        .as_seen(seen.newest_seq)
        .sessions()
        .apply_rehearsal(id, &person())
        .await;
    assert!(matches!(stale, Err(Error::Changed)), "{stale:?}");
    let seen = look().await;
    let size = *seen.outcome.as_ref().unwrap();
    let now = async || agent.views().show().await.unwrap().counts.core_tokens;
    assert_eq!(size.core_tokens_before, now().await);
    let applied = agent
        .as_seen(seen.newest_seq)
        .sessions()
        .apply_rehearsal(id, &person())
        .await
        .unwrap();
    assert_eq!(size.core_tokens_after, now().await);
    let seen = look().await;
    assert_eq!(seen.applied_by, Some(applied.session.id));
    assert!(seen.outcome.is_err());
    assert!(
        agent
            .sessions()
            .rehearsal_facts(applied.session.id, &person())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn spec_5_1_what_stands_in_the_way_of_applying_is_told() {
    let wren = TestAgent::new(&MEMORIES).await;
    let (driven, _) = wren.refine_with(&rehearsal(), turns()).await;
    let look = async || {
        let seen = wren
            .agent
            .sessions()
            .rehearsal_facts(driven.id, &person())
            .await;
        seen.unwrap().unwrap()
    };
    let strict = [(Field::RefinementThreshold, Some("1"))];
    wren.configure(&strict).await;
    let seen = look().await;
    assert!(
        matches!(seen.outcome, Err(Error::NotApplicable { .. })),
        "{seen:?}"
    );
    assert!(seen.changes.iter().all(|change| !change.changed_since));
    let queued = enqueue(&wren.agent, &RefineOptions::default()).await;
    let running = look().await.outcome.unwrap_err();
    assert_eq!(running.code(), "session_open", "{running}");
    cancel_by(&wren.agent, queued.id, &person()).await;
    let lax = [(Field::RefinementThreshold, None)];
    wren.configure(&lax).await;
    wren.refine([delete(4), complete()]).await;
    let seen = look().await;
    let outdated = seen.changes.iter().filter(|change| change.changed_since);
    let outdated: Vec<u64> = outdated.map(|change| change.after.number.0).collect();
    assert_eq!(
        outdated,
        [4, 5],
        "one by the session, and one as a double before it"
    );
    assert!(
        matches!(seen.outcome, Err(Error::NotApplicable { .. })),
        "{seen:?}"
    );
}

#[tokio::test]
async fn spec_3_17_a_rehearsal_is_not_applied_to_what_changed_since() {
    let wren = TestAgent::new(&MEMORIES).await;
    let (driven, _) = wren.refine_with(&rehearsal(), turns()).await;
    wren.refine([delete(4), complete()]).await;
    let before = wren.memories().await;
    let refused = wren.try_apply(driven.id).await.unwrap_err();
    assert!(matches!(&refused, Error::NotApplicable { .. }), "{refused}");
    assert!(
        refused.to_string().contains("none of its edits holds"),
        "{refused}"
    );
    assert_eq!(wren.memories().await, before);
}

#[tokio::test]
async fn spec_3_17_applying_runs_the_breaker_again() {
    let wren = TestAgent::new(&MEMORIES).await;
    let (driven, _) = wren.refine_with(&rehearsal(), turns()).await;
    wren.configure(&[(Field::RefinementThreshold, Some("1"))])
        .await;
    let before = wren.memories().await;
    let refused = wren.try_apply(driven.id).await.unwrap_err();
    assert!(matches!(&refused, Error::NotApplicable { .. }), "{refused}");
    assert_eq!(wren.memories().await, before);
    wren.check().await;
}

#[tokio::test]
async fn a_rehearsal_that_the_breaker_stops_comes_to_nothing() {
    let wren = TestAgent::new(&MEMORIES).await;
    let (driven, _) = wren
        .refine_with(&rehearsal(), [delete(1), delete(2), delete(6), complete()])
        .await;
    assert_eq!(driven.state, State::RolledBack);
    let changed: Vec<u64> = driven
        .words
        .changes
        .clone()
        .unwrap()
        .iter()
        .map(|change| change.number.0)
        .collect();
    assert_eq!(changed, [5], "but for the duplicate that code joins");
    assert!(wren.try_apply(driven.id).await.is_err());
    assert_eq!(wren.kept().await.len(), 6);
}

/// What it may do was stated when the agent was asked.
#[tokio::test]
async fn spec_3_3_a_rehearsal_requested_within_the_budget_is_applied_within_it() {
    let texts = (1..=8).map(|shelf| format!("Shelf {shelf}: {}", "paper ".repeat(25)));
    let texts: Vec<String> = texts.collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let wren = TestAgent::new(&texts).await;
    let settings = [
        (Field::LossGuard, Some("archive")),
        (Field::CoreTokenBudget, Some("1000")),
        (Field::RefinementThreshold, Some("0.5")),
    ];
    wren.configure(&settings).await;
    let turns = [delete(8), delete(7), complete()];
    let (driven, _) = wren.refine_with(&rehearsal(), turns).await;
    assert_eq!((driven.state, driven.edits), (State::Completed, 2));
    // With these gone too, one of the two may leave within the budget, and both over it.
    let replacing = MemoryInput {
        replaces: vec![Number(5), Number(6)],
        ..input("The shelves by the window are empty.")
    };
    let long = input(&"The tide table of May. ".repeat(200));
    wren.save(&[replacing, long]).await;
    assert_eq!(wren.facts(6).await.kind.as_str(), "archival");
    let applied = wren.apply(driven.id).await;
    assert!(applied.session.pre_session_tokens > Some(1_000));
    let refused = applied.not_applied.iter().map(|one| one.code.to_string());
    assert_eq!(refused.collect::<Vec<_>>(), ["age_limit"]);
    assert_eq!(applied.session.archived, 1);
    wren.check().await;
}
