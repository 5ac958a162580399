//! Archival memories, what each is under, and the columns that go with a memory's kind.

use std::sync::Arc;

use memoir_domain::memory::{ArchivedBy, Kind, Number};

use super::fixtures::*;
use crate::{AgentQuery, Error, MemoryRow, RowCounts, Store};

/// Which memories they are of shows in `histories`.
pub(super) async fn links_are_of_numbers_that_are_there(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    author
        .save((1..=9).map(|number| under(archival(number), 77)).collect())
        .await;
    let links = async |numbers: &[u64]| {
        let numbers: Vec<Number> = numbers.iter().copied().map(Number).collect();
        let found = store.archive_links(author.scope(), &numbers).await.unwrap();
        assert!(found.is_sorted_by_key(|link| link.number));
        found.len()
    };
    let many: Vec<u64> = (1..=100).collect();
    // Under one that does not exist, too.
    for (numbers, expected) in [
        (&[][..], 0),
        (&[0, 66, u64::MAX], 0),
        (&[4, 4], 1),
        (&[77], 9),
        (&many[..], 9),
    ] {
        assert_eq!(links(numbers).await, expected, "{numbers:?}");
    }
    author.erase().await;
    let many: Vec<Number> = many.into_iter().map(Number).collect();
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
    assert_eq!(found.row_counts, Some(RowCounts::default()));
    author
        .save(vec![
            is_summary(memory(1)),
            is_summary(discarded(memory(2))),
            shredded(archival(3)),
        ])
        .await;
    assert_sound(&store).await;
}
