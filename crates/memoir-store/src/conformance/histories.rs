//! Whatever happens to an agent, its rows are those that were written last.

use std::{collections::BTreeMap, sync::Arc};

use memoir_domain::memory::Kind;

use super::fixtures::*;
use crate::{AgentQuery, Commit, Error, MemoryRow, Selection, Store};

/// What the store should hold of one agent.
#[derive(Default)]
struct ExpectedAgent {
    memories: BTreeMap<u64, MemoryRow>,
}

impl ExpectedAgent {
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
        author.saving(altered.into_values().collect())
    }
}

pub(super) async fn rows_agree_after_any_history(store: Arc<dyn Store>) {
    for seed in 0..4 {
        let mut dice = Dice(seed);
        let mut author = Author::new(&store, 1, u128::from(seed)).await;
        let mut model = ExpectedAgent::default();
        for _ in 0..60 {
            let commit = model.decide(&author, &mut dice);
            if dice.one_in(2) {
                // A refusal in between changes nothing.
                let refused = Commit {
                    expected_version: Some(author.agent.document.version + 1),
                    ..commit.clone()
                };
                assert!(store.commit(refused).await.is_err());
            }
            author.write(commit).await.unwrap();
            assert_eq!(author.look(AgentQuery::default()).await.agent, author.agent);
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

pub(super) async fn spec_4_4_shredded_memories_are_kept_and_left_out(store: Arc<dyn Store>) {
    let mut author = Author::new(&store, 1, 1).await;
    let rows = vec![
        memory(1),
        journal(2),
        discarded(memory(3)),
        shredded(memory(4)),
        shredded(journal(5)),
    ];
    author.save(rows).await;
    let mut commit = author.commit();
    commit.memories = vec![shredded(memory(1))];
    author.write(commit).await.unwrap();

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
