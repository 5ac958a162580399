//! Selections of memories, and who carries a detail.

use std::sync::Arc;

use memoir_domain::memory::Number;

use super::fixtures::*;
use crate::{Commit, DetailRow, MemoryRow, Selection, Store};

pub(super) async fn selections_bring_what_they_say_in_order(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    Author::new(&store, 1, 2)
        .await
        .save(vec![memory(1), journal(2)])
        .await;
    let dated = |memory: MemoryRow, date| MemoryRow {
        created_at: at(date),
        ..memory
    };
    author
        .save(vec![
            dated(memory(1), 50),
            dated(memory(2), 10),
            dated(memory(3), 30),
            // The same date: the numbers decide.
            dated(memory(4), 10),
            dated(journal(5), 20),
            dated(journal(6), 40),
            dated(journal(7), -5),
            dated(discarded(memory(8)), 1),
            dated(discarded(journal(9)), 45),
        ])
        .await;
    let numbers = |list: &[u64]| Selection::Numbers(list.iter().copied().map(Number).collect());
    for (selection, expected) in [
        (Selection::None, &[][..]),
        (Selection::KeptCore, &[2, 4, 3, 1]),
        (Selection::Kept, &[7, 2, 4, 5, 3, 6, 1]),
        (Selection::All, &[7, 8, 2, 4, 5, 3, 6, 9, 1]),
        (
            Selection::Context {
                journal_after: at(19),
            },
            &[2, 4, 5, 3, 6, 1],
        ),
        // The date itself is left out.
        (
            Selection::Context {
                journal_after: at(20),
            },
            &[2, 4, 3, 6, 1],
        ),
        (
            Selection::Context {
                journal_after: at(99),
            },
            &[2, 4, 3, 1],
        ),
        (numbers(&[]), &[]),
        (numbers(&[1, 9, 2, 2, 77, 0, u64::MAX]), &[2, 9, 1]),
    ] {
        let found = author.numbers(selection.clone()).await;
        assert_eq!(found, expected, "{selection:?}");
    }
    let wanted = [9, 1, 2, 2, 77, 0, u64::MAX].map(Number);
    let rows = store.memories(author.scope(), &wanted).await.unwrap();
    let found: Vec<u64> = rows.iter().map(|row| row.number.0).collect();
    assert_eq!(found, [1, 2, 9]);
}

pub(super) async fn carriers_are_those_of_the_rarest_detail(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let detail = |digest, number| DetailRow {
        digest,
        number: Number(number),
    };
    let mut details = vec![
        detail(i64::MIN, 1),
        detail(i64::MAX, 1),
        detail(i64::MAX, 2),
        detail(3, 3),
        detail(3, 5),
        detail(3, 4),
        detail(-1, 1),
        detail(-1, 6),
    ];
    details.extend((1..=200).map(|number| detail(0, number)));
    let commit = Commit {
        details_added: details,
        ..author.saving((1..=200).map(memory).collect())
    };
    author.write(commit).await.unwrap();
    for (digests, except, limit, expected) in [
        (&[][..], 1, 10, &[][..]),
        // Carried by nobody, or by nobody else.
        (&[12_345], 1, 10, &[]),
        (&[i64::MIN], 1, 10, &[]),
        (&[i64::MAX], 1, 10, &[2]),
        (&[i64::MAX], 2, 10, &[1]),
        // What nobody else carries is passed over for what somebody does.
        (&[i64::MIN, 3, 0], 1, 10, &[3, 4, 5]),
        (&[0, 3, i64::MAX], 1, 10, &[2]),
        (&[3, 3], 4, 10, &[3, 5]),
        (&[3], 9, 2, &[3, 4]),
        (&[0], 1, 4, &[2, 3, 4, 5]),
        (&[0, -1], 1, 4, &[6]),
        (&[3], 9, 0, &[]),
        (&[3], u64::MAX, 10, &[3, 4, 5]),
    ] {
        let carriers = store
            .carriers(author.scope(), digests, Number(except), limit)
            .await
            .unwrap();
        let expected: Vec<MemoryRow> = expected.iter().copied().map(memory).collect();
        assert_eq!(carriers, expected, "{digests:?} but not {except}");
    }
    assert_sound(&store).await;
}

pub(super) async fn details_are_removed_before_they_are_added(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let detail = |digest, number| DetailRow {
        digest,
        number: Number(number),
    };
    let carriers = async |author: &Author, digest| -> Vec<u64> {
        let found = store
            .carriers(author.scope(), &[digest], Number(99), 10)
            .await;
        found
            .unwrap()
            .iter()
            .map(|memory| memory.number.0)
            .collect()
    };
    let commit = Commit {
        // One that is not there is no error, and neither is one that is there already.
        details_removed: vec![detail(1, 1)],
        details_added: vec![detail(1, 1), detail(1, 1), detail(2, 1), detail(2, 2)],
        ..author.saving(vec![memory(1), memory(2)])
    };
    author.write(commit).await.unwrap();
    assert_eq!(carriers(&author, 1).await, [1]);
    assert_eq!(carriers(&author, 2).await, [1, 2]);

    let commit = Commit {
        details_removed: vec![detail(1, 1), detail(2, 1)],
        details_added: vec![detail(1, 1), detail(2, 2), detail(3, 2)],
        ..author.commit()
    };
    author.write(commit).await.unwrap();
    assert_eq!(carriers(&author, 1).await, [1]);
    assert_eq!(carriers(&author, 2).await, [2]);
    assert_eq!(carriers(&author, 3).await, [2]);

    let many: Vec<DetailRow> = (0..500)
        .rev()
        .map(|digest| detail(digest - 250, 1))
        .collect();
    let commit = Commit {
        details_added: many.clone(),
        ..author.commit()
    };
    author.write(commit).await.unwrap();
    assert_eq!(carriers(&author, -250).await, [1]);
    assert_eq!(carriers(&author, 249).await, [1]);
    let commit = Commit {
        details_removed: many,
        ..author.commit()
    };
    author.write(commit).await.unwrap();
    assert!(carriers(&author, -250).await.is_empty());
    assert_eq!(carriers(&author, 2).await, [2]);
    assert_sound(&store).await;
}

pub(super) async fn details_come_by_digest_and_number(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut details: Vec<DetailRow> = [
        (5, 2),
        (i64::MIN, 3),
        (5, 1),
        (i64::MAX, 1),
        (0, 2),
        (-1, 2),
    ]
    .map(|(digest, number)| DetailRow {
        digest,
        number: Number(number),
    })
    .into();
    let commit = Commit {
        details_added: details.clone(),
        ..author.saving((1..=3).map(memory).collect())
    };
    author.write(commit).await.unwrap();
    Author::new(&store, 1, 2).await;
    details.sort();
    assert_eq!(store.details(author.scope()).await.unwrap(), details);
    assert_eq!(store.details(scope(1, 2)).await.unwrap(), []);
    assert_sound(&store).await;
}
