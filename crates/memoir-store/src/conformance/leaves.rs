//! The log over the heads of all agents' logs (SPEC 4.2).

use std::sync::Arc;

use memoir_domain::{AgentScope, audit::Action};

use super::fixtures::*;
use crate::{LeafRow, Reach, Store};

/// The entry that an author's log calls for.
fn leaf(author: &Author, seconds: i64) -> LeafRow {
    let seq = author.agent.columns.next_seq - 1;
    LeafRow {
        agent: author.id(),
        seq,
        head: hash(author.id(), seq),
        recorded_at: at(seconds),
    }
}

async fn grow(author: &mut Author, records: usize) {
    author.log(vec![record(Action::MemorySaved); records]).await;
}

/// Appends what all logs call for; the length afterwards.
async fn append(store: &Arc<dyn Store>, seconds: i64) -> u64 {
    let appended = store.append_leaves(at(seconds), Reach::All);
    appended.await.unwrap()
}

pub(super) async fn spec_4_2_every_log_that_has_grown_gets_a_leaf(store: Arc<dyn Store>) {
    // Two accounts; made in another order than that of the identifiers.
    let mut authors = [
        Author::new(&store, 1, 3).await,
        Author::new(&store, 2, 1).await,
        Author::new(&store, 1, 2).await,
    ];
    let mut expected = Vec::new();
    // None of them has a record.
    assert_eq!(append(&store, 1).await, 0);
    grow(&mut authors[0], 2).await;
    grow(&mut authors[1], 1).await;
    assert_eq!(append(&store, 2).await, 2);
    expected.extend([leaf(&authors[1], 2), leaf(&authors[0], 2)]);
    assert_eq!(store.leaves(0).await.unwrap(), expected);
    // Nothing has grown, though agents have changed.
    authors[0].change(|_| {}).await;
    assert_eq!(append(&store, 3).await, 2);

    grow(&mut authors[2], 5).await;
    authors[0].erase().await;
    assert_eq!(append(&store, 5).await, 4);
    expected.extend([leaf(&authors[2], 5), leaf(&authors[0], 5)]);
    // The clock was moved back: the order is that of the entries.
    for author in &mut authors[1..] {
        grow(author, 1).await;
    }
    assert_eq!(append(&store, -9).await, 6);
    expected.extend([leaf(&authors[1], -9), leaf(&authors[2], -9)]);

    for from in 0..=7 {
        let found = store.leaves(from).await.unwrap();
        assert_eq!(found, expected[expected.len().min(from as usize)..]);
    }
    assert_eq!(store.leaves(u64::MAX).await.unwrap(), []);
    for author in &authors {
        let own = expected.iter().filter(|leaf| leaf.agent == author.id());
        let own: Vec<LeafRow> = own.copied().collect();
        assert_eq!(store.leaves_of(author.id()).await.unwrap(), own);
    }
    assert_sound(&store).await;
}

pub(super) async fn spec_5_6_leaves_are_of_those_that_are_asked_for_only(store: Arc<dyn Store>) {
    let mut authors = [
        Author::new(&store, 1, 1).await,
        Author::new(&store, 1, 2).await,
        Author::new(&store, 2, 3).await,
    ];
    for author in &mut authors {
        grow(author, 1).await;
    }
    let [first, second, other] = &authors;
    let agent = Reach::Agent(second.scope());
    let account = Reach::Account(first.scope().account);
    // One that the account has not.
    let stranger = AgentScope {
        account: other.scope().account,
        ..first.scope()
    };
    let mut expected = Vec::new();
    for (of, own) in [
        (Reach::Agent(stranger), None),
        (agent, Some(second)),
        (account, Some(first)),
        (account, None),
        (Reach::All, Some(other)),
    ] {
        expected.extend(own.map(|author| leaf(author, 7)));
        let length = store.append_leaves(at(7), of).await.unwrap();
        assert_eq!(length, expected.len() as u64);
        assert_eq!(store.leaves(0).await.unwrap(), expected);
    }
    assert_sound(&store).await;
}

pub(super) async fn spec_4_2_leaves_of_several_writers_have_no_gaps(store: Arc<dyn Store>) {
    let mut tasks = Vec::new();
    for number in 0..6 {
        let mut author = Author::new(&store, 1, number).await;
        let store = Arc::clone(&store);
        tasks.push(async move {
            for round in 0..15 {
                grow(&mut author, 1).await;
                let length = append(&store, round).await;
                // This caller's own is among them, even if another one appended it.
                let leaves = store.leaves(0).await.unwrap();
                assert!(leaves.len() as u64 >= length);
                let last = leaves.iter().rfind(|leaf| leaf.agent == author.id());
                assert_eq!(last.unwrap().seq, author.agent.columns.next_seq - 1);
            }
        });
    }
    at_once(tasks).await;
    // Each growth is in it once, since each author waits for its own.
    let leaves = store.leaves(0).await.unwrap();
    assert_eq!(leaves.len(), 6 * 15);
    for leaf in &leaves {
        assert_eq!(leaf.head, hash(leaf.agent, leaf.seq));
    }
    assert_eq!(append(&store, 99).await, 6 * 15);
    assert_sound(&store).await;
}
