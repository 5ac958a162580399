//! The history of a memory as an administrator reads it (SPEC 5.1), on a story whose figures are counted by hand.

use std::time::Duration;

use memoir_app::{CoreSizeHistory, Handling, ShredWish};
use memoir_domain::{
    SessionId, Timestamp,
    audit::Action,
    core_size::{Cause, Flow},
    memory::Number,
    session::State,
};
use memoir_store::RecordFilter;
use memoir_testkit::{Turn, input};

use crate::installation::{TestAgent, complete, delete, person, shred_by};

/// Ten tokens each, and no two alike.
const TEXTS: [&str; 10] = [
    "the kettle in the kitchen hums at dawn.",
    "a blue scarf hangs beside an open door.",
    "old letters lie in the drawer of a desk",
    "rain falls on the roof of a garden shed",
    "someone plays slow music across a street",
    "bread is baked before anybody is awake..",
    "the bridge sways a little in heavy wind.",
    "chalk marks cover a wall of some school.",
    "two foxes cross a field under moonlight.",
    "every window faces toward quiet orchards",
];

fn day(wren: &TestAgent) -> Timestamp {
    wren.clock.advance(Duration::from_secs(24 * 60 * 60));
    memoir_app::Clock::now(wren.clock.as_ref())
}

async fn curve(
    wren: &TestAgent,
    since: Timestamp,
    until: Timestamp,
    points: usize,
) -> CoreSizeHistory {
    let history = wren
        .agent
        .log()
        .core_size_history(Some(since), until, points);
    history.await.unwrap()
}

async fn refine(wren: &TestAgent, turns: impl IntoIterator<Item = Turn>) -> (SessionId, State) {
    let (driven, _) = wren.refine(turns).await;
    (driven.id, driven.state)
}

/// Saves, a session, one that the breaker undoes, a discarding and restoring, a rewind, a session that is undone, a
/// refusal, a shredding, and duplicates. Returns its beginning and end, and how the days began.
async fn live(wren: &TestAgent) -> Vec<Timestamp> {
    let first = "2026-03-04T12:00:00Z".parse().unwrap();
    let mut days = vec![first, day(wren)];
    assert_eq!(
        refine(wren, [delete(1), complete()]).await.1,
        State::Completed
    );
    days.push(day(wren));
    let turns = [delete(2), delete(3), delete(4)];
    assert_eq!(refine(wren, turns).await.1, State::RolledBack);
    days.push(day(wren));
    wren.handle(Number(5), Handling::Discard).await;
    wren.handle(Number(5), Handling::Restore).await;
    let before = memoir_app::Clock::now(wren.clock.as_ref());
    days.push(day(wren));
    wren.remember("lanterns swing above a narrow fish shop.")
        .await;
    wren.remember("ink dries slowly on thick yellow papers.")
        .await;
    wren.agent.log().rewind(before, &person()).await.unwrap();
    days.push(day(wren));
    let (session, _) = refine(wren, [delete(6), complete()]).await;
    wren.roll_back(session, false).await;
    days.push(day(wren));
    wren.script([Turn::text("no")]);
    let options = memoir_app::sessions::RefineOptions::default();
    wren.seen().refine(&options, &mut |_| {}).await.unwrap();
    days.push(day(wren));
    shred_by(&wren.agent, ShredWish::of(Number(7), "pasted"), &person()).await;
    wren.remember(TEXTS[7]).await;
    assert_eq!(refine(wren, [complete()]).await.1, State::Completed);
    days
}

#[tokio::test]
async fn spec_5_1_the_figures_are_those_of_the_story() {
    let wren = TestAgent::new(&TEXTS).await;
    let days = live(&wren).await;
    let stats = wren.agent.log().stats(None, None, 100).await.unwrap();
    let flow = |records, tokens_added, tokens_removed| Flow {
        records,
        tokens_added,
        tokens_removed,
    };
    assert_eq!(
        stats.causes.into_iter().collect::<Vec<_>>(),
        [
            (Cause::Saved, flow(13, 130, 0)),
            (Cause::Refined, flow(5, 0, 50)),
            (Cause::Deduplicated, flow(1, 0, 10)),
            (Cause::Undone, flow(2, 40, 0)),
            (Cause::Rewound, flow(1, 0, 20)),
            (Cause::Discarded, flow(1, 0, 10)),
            (Cause::Restored, flow(1, 10, 0)),
            (Cause::Shredded, flow(1, 0, 10)),
        ]
    );
    assert_eq!(stats.tally.core_tokens, 80);
    let ends: Vec<(&str, u64)> = stats.sessions.ends.into_iter().collect();
    assert_eq!(
        ends,
        [
            ("abandoned", 0),
            ("completed", 3),
            ("declined", 1),
            ("failed", 0),
            ("rolled_back", 1)
        ]
    );
    let counts = (
        stats.sessions.undone,
        stats.sessions.edits,
        stats.sessions.removed_tokens,
    );
    assert_eq!(counts, (1, 1, 10));
    assert_eq!((stats.sessions.running, stats.sessions.rehearsals), (0, 0));
    // Deleted under `off` and shredded ones are neither in the prompt nor in the archive.
    let originals = stats.originals.originals;
    assert_eq!(
        (originals.total, originals.in_prompt, originals.archived),
        (8, 8, 0)
    );
    assert_eq!(stats.history.since, days[0]);
    let returns: Vec<(Action, i64)> = stats
        .history
        .returns
        .iter()
        .map(|back| (back.action, back.tokens))
        .collect();
    assert_eq!(
        returns,
        [
            (Action::MemoryRefinementRollback, 30),
            (Action::AgentRewound, -20),
            (Action::SessionUndone, 10),
        ]
    );
}

#[tokio::test]
async fn spec_5_1_the_curve_tells_the_core_size_of_each_day_from_any_day_on() {
    let wren = TestAgent::new(&TEXTS).await;
    let days = live(&wren).await;
    let end = day(&wren);
    let history = curve(&wren, days[1], end, 7).await;
    let told: Vec<(u64, u64, u64)> = history
        .points
        .iter()
        .map(|point| {
            (
                point.core_tokens,
                point.lowest_core_tokens,
                point.highest_core_tokens,
            )
        })
        .collect();
    let expected = [
        (100, 100, 100),
        (90, 90, 90),
        (90, 60, 90),
        (90, 80, 90),
        (90, 90, 110),
        (90, 80, 90),
        (90, 90, 90),
        (80, 80, 90),
    ];
    assert_eq!(told, expected);
    assert_eq!(history.sessions.len(), 5);
    assert!(
        history
            .sessions
            .is_sorted_by_key(|session| session.started_at)
    );
    // The same days, whatever is cut off before and after them.
    let part = curve(&wren, days[3], days[6], 3).await;
    assert_eq!(part.points[1..], history.points[3..6]);
    assert_eq!(part.points[0].core_tokens, 90);
    assert_eq!((part.sessions.len(), part.returns.len()), (2, 2));
    let after = curve(&wren, end, end, 3).await;
    assert!(after.points.iter().all(|point| point.core_tokens == 80));
    assert_eq!((after.sessions, after.returns), (vec![], vec![]));
}

#[tokio::test]
async fn spec_4_4_what_the_core_size_was_stays_known_when_words_are_gone() {
    let wren = TestAgent::new(&TEXTS).await;
    let before = wren
        .agent
        .log()
        .stats(None, None, 50)
        .await
        .unwrap()
        .history;
    for number in 1..=10 {
        let (number, actor) = (Number(number), person());
        shred_by(&wren.agent, ShredWish::of(number, "all of it"), &actor).await;
    }
    let until = before.until;
    let stats = wren.agent.log().stats(None, Some(until), 50).await.unwrap();
    // Everything was shredded at its very end.
    let last = before.points.len() - 1;
    assert_eq!(stats.history.points[..last], before.points[..last]);
    assert_eq!(stats.history.points[last].core_tokens, 0);
}

#[tokio::test]
async fn spec_5_1_a_log_of_many_pages_is_read_whole() {
    let wren = TestAgent::new(&[]).await;
    let many: Vec<_> = (0..1_000).map(|n| input(&format!("{n:04}"))).collect();
    wren.save(&many).await;
    let middle = day(&wren);
    wren.save(&many).await;
    let everything = RecordFilter::default();
    let records = wren.store.records(wren.agent.scope(), &everything).await;
    assert!(records.unwrap().len() >= 2_000);
    let stats = wren.agent.log().stats(None, None, 10).await.unwrap();
    assert_eq!(
        stats.causes[&Cause::Saved],
        Flow {
            records: 2_000,
            tokens_added: 2_000,
            tokens_removed: 0
        }
    );
    assert_eq!(stats.history.points[10].core_tokens, 2_000);
    let part = curve(&wren, middle, middle.plus_days(1), 4).await;
    assert_eq!(part.points[0].core_tokens, 1_000);
    // The core size before a time is found behind records without one.
    let quiet = day(&wren);
    for minutes in 0..600 {
        let budget = (5_000 + minutes).to_string();
        let set = [(
            memoir_domain::agent::Field::CoreTokenBudget,
            Some(budget.as_str()),
        )];
        wren.configure(&set).await;
    }
    day(&wren);
    wren.remember("late").await;
    let late = memoir_app::Clock::now(wren.clock.as_ref());
    let part = curve(&wren, late, late.plus_days(1), 4).await;
    assert_eq!(
        (part.points[0].core_tokens, part.points[4].core_tokens),
        (2_000, 2_001)
    );
    let part = curve(&wren, quiet, late.plus_days(1), 1).await;
    assert_eq!(
        (part.points[0].core_tokens, part.points[1].core_tokens),
        (2_000, 2_001)
    );
}

#[tokio::test]
async fn spec_6_1_the_newest_records_are_read_page_by_page() {
    let wren = TestAgent::new(&TEXTS).await;
    let lens = wren.seen();
    let all = lens.records(&RecordFilter::default()).await.unwrap();
    let (mut seqs, mut before_seq) = (Vec::new(), None);
    loop {
        let query = RecordFilter {
            before_seq,
            ..RecordFilter::default()
        };
        let (page, has_older) = lens.newest_records(&query, 2).await.unwrap();
        seqs.extend(page.iter().rev().map(|record| record.seq));
        before_seq = page.first().map(|record| record.seq);
        if !has_older {
            break;
        }
        assert_eq!(page.len(), 2);
    }
    let newest_first = all.iter().rev().map(|record| record.seq);
    assert!(seqs.into_iter().eq(newest_first));
}
