//! Selections of memories.

use std::sync::Arc;

use memoir_domain::{Timestamp, context::ContextMark, memory::Number};

use super::fixtures::*;
use crate::{AgentQuery, Counting, MemoryRow, Selection, Store};

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
            dated(under(archival(10), 3), 35),
            dated(archival(11), 5),
            dated(discarded(archival(12)), 15),
        ])
        .await;
    let numbers = |list: &[u64]| Selection::Numbers(list.iter().copied().map(Number).collect());
    let context = |after| {
        let journal_after = at(after);
        Selection::Context { journal_after }
    };
    for (selection, expected) in [
        (Selection::None, &[][..]),
        (Selection::ActiveCore, &[2, 4, 3, 1]),
        (Selection::Core, &[8, 2, 4, 3, 1]),
        (Selection::Searchable, &[11, 2, 4, 3, 10, 1]),
        (Selection::Archive, &[11, 10]),
        (Selection::Active, &[7, 11, 2, 4, 5, 3, 10, 6, 1]),
        (Selection::All, &[7, 8, 11, 2, 4, 12, 5, 3, 10, 6, 9, 1]),
        (context(19), &[2, 4, 5, 3, 6, 1]),
        // The date itself is left out.
        (context(20), &[2, 4, 3, 6, 1]),
        (context(99), &[2, 4, 3, 1]),
        (numbers(&[]), &[]),
        (numbers(&[1, 9, 2, 2, 77, 0, u64::MAX]), &[2, 9, 1]),
        (numbers(&[12, 1, 10]), &[12, 10, 1]),
    ] {
        let found = author.numbers(selection.clone()).await;
        assert_eq!(found, expected, "{selection:?}");
    }
    // The same memories, in the same order.
    let whole = author.memories(context(19));
    let marks = author.look(AgentQuery {
        marks_after: Some(at(19)),
        ..AgentQuery::default()
    });
    let of_whole = whole.await.into_iter().map(|row| ContextMark {
        number: row.number,
        kind: row.kind,
        tokens: row.tokens,
        constitutional: row.constitutional,
        is_summary: row.is_summary,
        created_at: row.created_at,
        recorded_at: row.recorded_at,
    });
    assert_eq!(marks.await.marks, of_whole.collect::<Vec<_>>());
    // What is read is the same without counting.
    let uncounted = author.look(AgentQuery {
        memories: context(19),
        session: Some(session_id(9)),
        counting: Counting::Never,
        ..AgentQuery::default()
    });
    let uncounted = uncounted.await;
    assert_eq!(uncounted.row_counts, None);
    assert_eq!(uncounted.memories, author.memories(context(19)).await);
    // A shredded one takes no room (SPEC 4.4).
    author.save(vec![shredded(memory(13))]).await;
    let scope = author.scope();
    for (agent, memories) in [(Some(scope.agent), 12), (None, 14)] {
        let usage = store.usage(scope.account, agent, at(0)).await.unwrap();
        assert_eq!((usage.memories, usage.driven_sessions), (memories, 0));
        let later = store.usage(scope.account, agent, Timestamp::MAX).await;
        let later = later.unwrap();
        assert_eq!((later.memories, later.log_bytes), (memories, 0));
    }
    let wanted = [9, 1, 2, 2, 77, 0, u64::MAX].map(Number);
    let rows = store.memories(author.scope(), &wanted).await.unwrap();
    let found: Vec<u64> = rows.iter().map(|row| row.number.0).collect();
    assert_eq!(found, [1, 2, 9]);
}
