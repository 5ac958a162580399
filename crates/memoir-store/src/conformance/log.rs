//! The log: append-only, found by its parts, chained, and shredded (SPEC 4.1, 4.2, 4.4).

use std::sync::Arc;

use memoir_domain::audit::{Action, ActorKind};

use super::fixtures::*;
use crate::{AuditRow, Commit, Error, RecordFilter, Store, SummaryRow};

/// The filter for all records, narrowed.
fn those(narrow: impl FnOnce(&mut RecordFilter)) -> RecordFilter {
    with(RecordFilter::default(), narrow)
}

pub(super) async fn records_are_narrowed_by_every_part_of_a_filter(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    let part = |action, session: Option<u128>, recorded_at: i64| AuditRow {
        session: session.map(session_id),
        recorded_at: at(recorded_at),
        body: text(&"é".repeat(usize::try_from(recorded_at).unwrap())),
        ..record(action)
    };
    let records = vec![
        part(Action::MemorySaved, None, 10),
        part(Action::MemoryRefinementUpdate, Some(1), 20),
        AuditRow {
            actor_kind: ActorKind::Administrator,
            actor_name: "user Ada_%".to_owned(),
            ..part(Action::MemoryRefinementDelete, Some(1), 30)
        },
        // The clock was set back.
        part(Action::MemoryRefinementUpdate, Some(2), 15),
        part(Action::MemoryRefinementUpdate, Some(1), 40),
        part(Action::MemorySaved, None, 50),
    ];
    other.log(records.clone()).await;
    let commit = author.recording(records);
    let log = commit.records.clone();
    author.write(commit).await.unwrap();
    let first = Some(session_id(1));
    let updates = || vec![Action::MemoryRefinementUpdate];
    for (filter, expected) in [
        (those(|_| {}), &[1, 2, 3, 4, 5, 6][..]),
        (those(|filter| filter.from_seq = 1), &[1, 2, 3, 4, 5, 6]),
        (those(|filter| filter.from_seq = 4), &[4, 5, 6]),
        (those(|filter| filter.from_seq = 7), &[]),
        (those(|filter| filter.from_seq = u64::MAX), &[]),
        (those(|filter| filter.session = first), &[2, 3, 5]),
        (those(|filter| filter.session = Some(session_id(9))), &[]),
        (those(|filter| filter.actions = updates()), &[2, 4, 5]),
        (those(|filter| filter.since = Some(at(20))), &[2, 3, 5, 6]),
        (those(|filter| filter.last = Some(0)), &[]),
        (those(|filter| filter.last = Some(2)), &[5, 6]),
        (
            those(|filter| filter.last = Some(u32::MAX)),
            &[1, 2, 3, 4, 5, 6],
        ),
        (
            those(|filter| (filter.session, filter.last) = (first, Some(2))),
            &[3, 5],
        ),
        (those(|filter| filter.first = Some(0)), &[]),
        (those(|filter| filter.first = Some(2)), &[1, 2]),
        (
            those(|filter| {
                (filter.from_seq, filter.first) = (3, Some(1));
                filter.actions = updates();
            }),
            &[4],
        ),
        (
            those(|filter| (filter.session, filter.first) = (first, Some(u32::MAX))),
            &[2, 3, 5],
        ),
        (
            those(|filter| (filter.session, filter.actions) = (first, updates())),
            &[2, 5],
        ),
        (
            RecordFilter {
                from_seq: 3,
                session: first,
                actions: updates(),
                since: Some(at(40)),
                until: Some(at(40)),
                actor: Some(ActorKind::System),
                actor_name: Some("MEMO".to_owned()),
                memory: None,
                before_seq: Some(6),
                last: Some(9),
                first: None,
            },
            &[5],
        ),
        (
            those(|filter| filter.actor = Some(ActorKind::Administrator)),
            &[3],
        ),
        (
            those(|filter| filter.actor_name = Some("ada_%".to_owned())),
            &[3],
        ),
        (
            those(|filter| {
                filter.actor_name = Some("%".to_owned());
                filter.actor = Some(ActorKind::System);
            }),
            &[],
        ),
        (those(|filter| filter.until = Some(at(20))), &[1, 2, 4]),
        (
            those(|filter| (filter.before_seq, filter.last) = (Some(5), Some(2))),
            &[3, 4],
        ),
        (
            those(|filter| (filter.before_seq, filter.last) = (Some(u64::MAX), Some(1))),
            &[6],
        ),
    ] {
        // Each with the hash of the one before it, whichever are wanted.
        let found = store.records(author.scope(), &filter).await.unwrap();
        let expected = expected.iter().map(|seq: &usize| log[seq - 1].clone());
        assert_eq!(found, expected.collect::<Vec<_>>(), "{filter:?}");
        let sizes = store.record_sizes(author.scope(), &filter).await.unwrap();
        let bodies = found.iter().map(|row| row.body.0.len() as u64);
        assert_eq!(sizes, bodies.collect::<Vec<_>>(), "{filter:?}");
    }
}

pub(super) async fn records_are_found_by_their_places(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    for author in [&mut author, &mut other] {
        let records = (1..=5_000).map(|number| AuditRow {
            body: text(&format!("{} {number}", author.agent.columns.name)),
            ..record(Action::MemorySaved)
        });
        let records = records.collect();
        author.log(records).await;
    }
    let log = author.everything().await.2;
    let found = async |seqs: &[u64]| store.records_at(author.scope(), seqs).await.unwrap();
    for (seqs, expected) in [
        (&[][..], &[][..]),
        (&[1], &[1]),
        (&[5_000], &[5_000]),
        (&[17, 2, 4_999, 2], &[2, 17, 4_999]),
        (&[0, 3, 5_001, u64::MAX], &[3]),
        (&[5_001], &[]),
    ] {
        let expected: Vec<AuditRow> = expected
            .iter()
            .map(|seq: &u64| log[*seq as usize - 1].clone())
            .collect();
        assert_eq!(found(seqs).await, expected, "{seqs:?}");
    }
    let backwards: Vec<u64> = (0..10_000).rev().collect();
    assert_eq!(found(&backwards).await, log);
}

pub(super) async fn counters_must_agree_with_the_rows(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    author.save(vec![memory(1)]).await;
    let good = author.saving(vec![memory(2), memory(3)]);
    let mut bad = Vec::new();
    // A record out of place, and a log that would end elsewhere.
    bad.push(good.clone());
    bad[0].records[1].seq += 1;
    bad.push(good.clone());
    bad[1].records.swap(0, 1);
    bad.push(good.clone());
    bad[2].agent.columns.next_seq += 1;
    // A head that is of another record.
    bad.push(good.clone());
    bad[3].agent.columns.head = author.agent.columns.head;
    for (number, commit) in bad.into_iter().enumerate() {
        let answer = store.commit(commit).await;
        assert!(
            matches!(answer, Err(Error::Inconsistent { .. })),
            "{number}: {answer:?}"
        );
        assert_eq!(author.stored().await, author.agent);
    }
    author.write(good).await.unwrap();
    assert_sound(&store).await;
}

pub(super) async fn spec_4_4_a_body_gives_way_to_the_next_one(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    for author in [&mut author, &mut other] {
        author.save(vec![memory(1), memory(2), memory(3)]).await;
    }
    let (_, _, mut expected) = author.everything().await;
    let untouched = other.everything().await;
    for version in 2..=4 {
        let commit = Commit {
            bodies: vec![body(3, version), body(1, version)],
            ..author.recording(vec![record(Action::MemoryShredded)])
        };
        for body in &commit.bodies {
            let row = &mut expected[body.seq as usize - 1];
            (row.body, row.body_version) = (body.body.clone(), body.body_version);
        }
        expected.extend(commit.records.clone());
        author.write(commit).await.unwrap();
        // Everything else of the records is as it was.
        assert_eq!(author.everything().await.2, expected);
    }
    // One after the other in one decision.
    author
        .change(|commit| commit.bodies = vec![body(2, 2), body(2, 3)])
        .await;
    assert_eq!(author.everything().await.2[1].body, body(2, 3).body);
    assert_eq!(other.everything().await, untouched);
    assert_sound(&store).await;
}

pub(super) async fn spec_4_4_a_body_of_another_version_is_a_conflict(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    Author::new(&store, 1, 2).await.save(vec![memory(1)]).await;
    author.save(vec![memory(1), memory(2)]).await;
    author
        .change(|commit| commit.bodies = vec![body(2, 2)])
        .await;
    let before = author.everything().await;
    for bodies in [
        vec![body(1, 0)],
        vec![body(1, 1)],
        vec![body(1, 3)],
        vec![body(2, 2)],
        // No such record, and one that only comes into being.
        vec![body(0, 2)],
        vec![body(3, 2)],
        // The first could be, the second cannot.
        vec![body(1, 2), body(2, 4)],
    ] {
        let commit = Commit {
            bodies: bodies.clone(),
            prompts: Some(text("other prompts")),
            ..author.saving(vec![memory(3)])
        };
        let answer = store.commit(commit).await;
        assert!(
            matches!(answer, Err(Error::Conflict)),
            "{bodies:?}: {answer:?}"
        );
        assert_eq!(author.everything().await, before);
    }
    assert_sound(&store).await;
}

pub(super) async fn spec_4_4_what_is_kept_of_a_log_goes_with_its_words(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    for author in [&mut author, &mut other] {
        author.log(vec![record(Action::MemorySaved); 9]).await;
    }
    let summary = |last_seq: u64| SummaryRow {
        last_seq,
        hash: hash(agent_id(1), last_seq),
        body: text("what is kept"),
    };
    let all = vec![summary(3), summary(6), summary(9)];
    let version = author.version().await;
    let keep = |version: u64, rows: &[SummaryRow]| {
        store.keep_summaries(author.scope(), version, rows.to_vec())
    };
    assert!(!keep(version - 1, &all).await.unwrap(), "another version");
    assert!(!keep(version + 1, &all).await.unwrap(), "another version");
    assert!(keep(version, &all[..2]).await.unwrap());
    // Those that are there stay.
    let again = SummaryRow {
        body: text("something else"),
        ..summary(6)
    };
    assert!(keep(version, &[again, summary(9)]).await.unwrap());
    let kept = async |author: &Author, after: u64, limit: u32| {
        let rows = store.summaries(author.scope(), after, limit).await;
        rows.unwrap()
    };
    assert_eq!(kept(&author, 0, 10).await, all);
    assert_eq!(kept(&author, 3, 1).await, all[1..2]);
    assert_eq!(kept(&other, 0, 10).await, []);
    let elsewhere = store.summaries(scope(2, 1), 0, 10).await.unwrap();
    assert_eq!(elsewhere, [], "another account reaches nothing");
    author
        .change(|commit| commit.bodies = vec![body(2, 2)])
        .await;
    assert_eq!(kept(&author, 0, 10).await, []);
    let scope = other.scope();
    let version = other.version().await;
    let keeping = store.keep_summaries(scope, version, vec![summary(3)]);
    assert!(keeping.await.unwrap());
    other.erase().await;
    assert_eq!(kept(&other, 0, 10).await, []);
}
