//! Reverting after every one of twenty weeks: a rewind, an undo, an undo with later changes, and a rollback of a
//! running session restore every memory, byte for byte (SPEC 3.19, 4.3).

use memoir_app::{Error, Handling, Point, RecordFilter};
use memoir_domain::{
    audit::Actor,
    memory::{Kind, Number},
    session::{Mode, State},
};
use memoir_testkit::Character;
use serde_json::{Value, json};

use crate::{
    agents::{Data, Figure, WEEK},
    characters::Run,
    installation::person,
};

const WEEKS: u64 = 20;

/// The view of every core and archival memory, discarded ones too, without the time of the last change, which every act
/// moves forward.
async fn memories(figure: &Figure) -> Vec<Value> {
    let all = figure.all().await.into_iter();
    all.filter(|memory| memory.kind != Kind::Journal)
        .map(|memory| {
            let mut shown = serde_json::to_value(memory).unwrap();
            shown.as_object_mut().unwrap().remove("updated_at");
            shown
        })
        .collect()
}

/// That the memories are as they were: all that there were, discarded ones too, and beside them only discarded ones,
/// since a memory that was made stays.
async fn check(figure: &Figure, before: &[Value], what: &str) {
    let had = |one: &Value| before.iter().any(|old| old["number"] == one["number"]);
    let now = memories(figure).await.into_iter();
    let now: Vec<Value> = now
        .filter(|one| had(one) || one["discarded_at"].is_null())
        .collect();
    assert_eq!(now, before, "{what}");
}

async fn newest(figure: &Figure) -> Point {
    let filter = RecordFilter::default();
    let records = figure
        .wren
        .agent
        .views()
        .search_records(&filter, None, 1)
        .await;
    Point::Record(records.unwrap()[0].seq)
}

async fn rewind(figure: &Figure, to: Point) {
    figure.wren.agent.log().rewind(to, &person()).await.unwrap();
}

async fn go_back_every_week(guard: &'static str) {
    let mut run = Run::begin(Character::DoubleTalker, Data::Demo, guard).await;
    let (mut undone, mut cascades) = (0, 0);
    for week in 1..=WEEKS {
        run.figure.wren.clock.advance(WEEK);
        run.save(week).await;
        let (before, start) = (memories(&run.figure).await, newest(&run.figure).await);
        let Some(session) = run.refine().await else {
            continue;
        };
        let figure = &run.figure;
        let (after, end) = (memories(figure).await, newest(figure).await);
        assert_ne!(start, end);

        rewind(figure, start).await;
        check(figure, &before, &format!("{guard}, week {week}: rewound")).await;
        rewind(figure, end).await;
        check(
            figure,
            &after,
            &format!("{guard}, week {week}: forth again"),
        )
        .await;

        // The changes of the session itself. The cleanup before it, and memories saved meanwhile, stay.
        let (agent, person) = (&figure.wren.agent, person());
        let facts = agent.views().session(session).await.unwrap();
        if facts.state == State::Completed && facts.edits > 0 {
            agent
                .sessions()
                .roll_back(session, false, &person)
                .await
                .unwrap();
            let undone_once = memories(figure).await;
            check_originals_are_back(&run, &before, &undone_once);
            rewind(figure, end).await;
            check(
                figure,
                &after,
                &format!("{guard}, week {week}: the undo is undone"),
            )
            .await;
            undone += 1;

            // Another session changes the same memories.
            let changed = changed_by(&before, &after);
            if let Some(number) = changed {
                let discarding = agent.memories().handle(number, Handling::Discard, &person);
                discarding.await.unwrap();
                let refused = agent.sessions().roll_back(session, false, &person).await;
                assert!(
                    matches!(refused, Err(Error::InTheWay { .. })),
                    "{refused:?}"
                );
                agent
                    .sessions()
                    .roll_back(session, true, &person)
                    .await
                    .unwrap();
                check(
                    figure,
                    &undone_once,
                    &format!("{guard}, week {week}: cascade"),
                )
                .await;
                rewind(figure, end).await;
                cascades += 1;
            }
        }

        // A session that runs.
        if let Ok((opened, _)) = agent.open_own(Mode::Full).await {
            let cleaned = memories(figure).await;
            for memory in figure.core().await.iter().rev().take(12) {
                let arguments = json!({"ids": [memory.number.0]});
                let call = agent.call_tool(opened.id, "delete_memory", Some(&arguments));
                call.await.unwrap();
            }
            agent
                .sessions()
                .roll_back(opened.id, false, &Actor::agent("wren"))
                .await
                .unwrap();
            check(
                figure,
                &cleaned,
                &format!("{guard}, week {week}: rolled back"),
            )
            .await;
        }
    }
    let verified = run.figure.wren.agent.log().verify().await.unwrap();
    assert!(verified.valid, "{:?}", verified.first_bad);
    assert_eq!(verified.originals.unwrap().lost, 0);
    println!("{guard}: {undone} undone, {cascades} of them with later changes");
    assert!(undone > 0 && cascades > 0);
}

/// An existing memory that the session moved to the archive.
fn changed_by(before: &[Value], after: &[Value]) -> Option<Number> {
    let was_core = |number: &Value| {
        before
            .iter()
            .any(|one| one["number"] == *number && one["kind"] == "core")
    };
    let archived = after
        .iter()
        .find(|one| one["kind"] == "archival" && was_core(&one["number"]));
    archived.map(|one| Number(one["number"].as_u64().unwrap()))
}

/// After an undo every earlier memory is unchanged, except for copies that the cleanup joined.
fn check_originals_are_back(run: &Run, before: &[Value], now: &[Value]) {
    for old in before {
        let Some(back) = now.iter().find(|one| one["number"] == old["number"]) else {
            let is_copy = now.iter().any(|one| {
                let text = |value: &Value| value["content"].as_str().unwrap().trim().to_owned();
                text(one) == text(old)
            });
            assert!(is_copy, "{} is not back: {old}", run.name());
            continue;
        };
        // The cleanup joins tags and dates of copies.
        for field in [
            "content",
            "kind",
            "under",
            "archived_at",
            "constitutional",
            "is_summary",
        ] {
            assert_eq!(back[field], old[field], "{}: {field} of {old}", run.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spec_4_3_every_week_can_be_undone() {
    let runs = ["archive", "refuse"].map(|guard| tokio::spawn(go_back_every_week(guard)));
    for run in runs {
        run.await.unwrap();
    }
}
