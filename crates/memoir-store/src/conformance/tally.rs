//! Whatever happens to an agent, its counts are those of its rows.

use std::{collections::BTreeMap, sync::Arc};

use memoir_domain::memory::{Kind, Tally};

use super::fixtures::*;
use crate::{Commit, Error, MemoryRow, Selection, Store, Wanted};

/// What the store should hold of one agent.
#[derive(Default)]
struct Model {
    memories: BTreeMap<u64, MemoryRow>,
}

impl Model {
    /// A decision that alters some memories and adds some, at random; half of the time it is then
    /// refused.
    fn decide(&mut self, author: &Author, dice: &mut Dice) -> Commit {
        let mut altered = BTreeMap::new();
        for _ in 0..1 + dice.throw(5) {
            let next = self.memories.len() as u64 + 1;
            let number = 1 + dice.throw(next);
            let memory = self
                .memories
                .entry(number)
                .or_insert_with(|| memory(number));
            memory.kind = match dice.throw(3) {
                0 => Kind::Journal,
                _ => Kind::Core,
            };
            memory.tokens = dice.throw(2_500);
            memory.constitutional = dice.one_in(4);
            memory.created_at = at(dice.throw(50) as i64);
            memory.discarded_at = dice.one_in(3).then(|| at(99));
            memory.shredded_at = memory.discarded_at.filter(|_| dice.one_in(3));
            altered.insert(number, memory.clone());
        }
        let mut commit = author.saving(altered.values().cloned().collect());
        // What is counted of wordings is the caller's word.
        commit.agent.tally = Tally {
            wording_count: 10 + dice.throw(100),
            let_go_count: dice.throw(10),
            words: 100 + dice.throw(100),
            lost_words: dice.throw(100),
            ..tally(self.memories.values())
        };
        commit
    }
}

pub(super) async fn counts_agree_after_any_history(store: Arc<dyn Store>) {
    for seed in 0..4 {
        let mut dice = Dice(seed);
        let mut author = Author::new(&store, 1, u128::from(seed)).await;
        let mut model = Model::default();
        for _ in 0..60 {
            let commit = model.decide(&author, &mut dice);
            if dice.one_in(2) {
                // A refusal in between changes nothing.
                let refused = Commit {
                    expected_version: Some(author.agent.version + 1),
                    ..commit.clone()
                };
                assert!(store.commit(refused).await.is_err());
            }
            author.write(commit).await.unwrap();
            let recount = store.recount(author.scope()).await.unwrap();
            assert_eq!(recount, tally(model.memories.values()));
            assert_eq!(author.look(Wanted::default()).await.agent, author.agent);
        }
        let mut expected: Vec<MemoryRow> = model.memories.into_values().collect();
        expected.sort_by_key(|memory| (memory.created_at, memory.number));
        assert_eq!(author.memories(Selection::All).await, expected);
        expected.retain(|memory| memory.discarded_at.is_none());
        assert_eq!(author.memories(Selection::Kept).await, expected);
        expected.retain(|memory| memory.kind == Kind::Core);
        assert_eq!(author.memories(Selection::KeptCore).await, expected);
    }
    assert_sound(&store).await;
}

pub(super) async fn spec_4_4_shredded_memories_are_counted_apart(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let mut rows = vec![
        memory(1),
        journal(2),
        discarded(memory(3)),
        shredded(memory(4)),
        shredded(journal(5)),
    ];
    author.save(rows.clone()).await;
    rows[0] = shredded(memory(1));
    let mut commit = author.commit();
    commit.memories = vec![rows[0].clone()];
    commit.agent.tally = tally(&rows);
    author.write(commit).await.unwrap();

    let counted = store.recount(author.scope()).await.unwrap();
    assert_eq!(counted, author.agent.tally);
    assert_eq!((counted.discarded_count, counted.shredded_count), (1, 3));
    assert_eq!(author.numbers(Selection::All).await, [1, 2, 3, 4, 5]);
    assert_eq!(author.numbers(Selection::Kept).await, [2]);
    assert_eq!(author.numbers(Selection::KeptCore).await, [0; 0]);
    assert_sound(&store).await;
}

pub(super) async fn spec_4_4_what_is_shredded_is_discarded(store: Arc<dyn Store>) {
    let author = Author::new(&store, 1, 1).await;
    let kept = MemoryRow {
        discarded_at: None,
        ..shredded(memory(1))
    };
    let answer = store.commit(author.saving(vec![kept])).await;
    assert!(
        matches!(answer, Err(Error::Inconsistent { .. })),
        "{answer:?}"
    );
    assert_eq!(author.numbers(Selection::All).await, [0; 0]);
    assert_sound(&store).await;
}
