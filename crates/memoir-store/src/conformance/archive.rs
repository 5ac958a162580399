//! Archival memories, what each is under, and the columns that go with a memory's kind.

use std::sync::Arc;

use memoir_domain::memory::{ArchivedBy, Kind, Number};

use super::fixtures::*;
use crate::{AgentQuery, ArchiveLink, Error, MemoryRow, RowCounts, Store};

pub(super) async fn links_are_of_those_named_and_of_what_lies_under_them(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut other = Author::new(&store, 1, 2).await;
    author
        .save(vec![
            memory(1),
            under(archival(2), 1),
            under(archival(3), 2),
            under(discarded(archival(4)), 1),
            discarded(memory(5)),
            under(archival(6), 5),
            // Core again: it is under none any more, whatever its row names.
            under(memory(7), 1),
            journal(8),
            under(archival(9), 77),
        ])
        .await;
    other
        .save((1..=9).map(|number| under(archival(number), 1)).collect())
        .await;
    let link = |number, under: Option<u64>, kind, is_discarded| ArchiveLink {
        number: Number(number),
        under: under.map(Number),
        kind,
        is_discarded,
    };
    let second = link(2, Some(1), Kind::Archival, false);
    let third = link(3, Some(2), Kind::Archival, false);
    for (numbers, expected) in [
        (&[][..], &[][..]),
        (&[0, 66, u64::MAX], &[]),
        (&[1], &[link(1, None, Kind::Core, false), second]),
        // Each once, by number, whether it is named or under one that is.
        (
            &[2, 1, 2],
            &[link(1, None, Kind::Core, false), second, third],
        ),
        (&[3, 8], &[third, link(8, None, Kind::Journal, false)]),
        (&[4], &[link(4, Some(1), Kind::Archival, true)]),
        (
            &[5],
            &[
                link(5, None, Kind::Core, true),
                link(6, Some(5), Kind::Archival, false),
            ],
        ),
        // Under one that does not exist.
        (&[77], &[link(9, Some(77), Kind::Archival, false)]),
    ] {
        let numbers: Vec<Number> = numbers.iter().copied().map(Number).collect();
        let found = store.archive_links(author.scope(), &numbers).await;
        assert_eq!(found.unwrap(), expected, "{numbers:?}");
    }
    let many: Vec<Number> = (1..=100).map(Number).collect();
    let found = store.archive_links(author.scope(), &many).await.unwrap();
    assert_eq!(found.len(), 9);
    assert!(found.is_sorted_by_key(|link| link.number));

    author.erase().await;
    let found = store.archive_links(author.scope(), &many).await.unwrap();
    assert_eq!(found, [], "none of who is erased");
    assert_sound(&store).await;
}

pub(super) async fn a_memory_whose_columns_do_not_agree_is_refused(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let is_summary = |memory: MemoryRow| MemoryRow {
        is_summary: true,
        ..memory
    };
    for wrong in [
        MemoryRow {
            archived_at: None,
            ..archival(1)
        },
        MemoryRow {
            archived_by: None,
            ..archival(1)
        },
        MemoryRow {
            kind: Kind::Archival,
            ..memory(1)
        },
        MemoryRow {
            archived_at: Some(at(1)),
            ..memory(1)
        },
        MemoryRow {
            archived_by: Some(ArchivedBy::Saved),
            ..journal(1)
        },
        MemoryRow {
            kind: Kind::Core,
            ..archival(1)
        },
        is_summary(journal(1)),
        is_summary(archival(1)),
        // What is shredded is discarded (SPEC 4.4).
        MemoryRow {
            discarded_at: None,
            ..shredded(memory(1))
        },
    ] {
        let answer = store.commit(author.saving(vec![wrong.clone()])).await;
        let Err(Error::Inconsistent { table, problem }) = answer else {
            panic!("{wrong:?}: {answer:?}");
        };
        assert!(table == "memories" && problem.contains("#1"), "{problem}");
    }
    let found = author.look(AgentQuery::default()).await;
    assert_eq!(found.row_counts, RowCounts::default());
    author
        .save(vec![
            is_summary(memory(1)),
            is_summary(discarded(memory(2))),
            shredded(archival(3)),
        ])
        .await;
    assert_sound(&store).await;
}
