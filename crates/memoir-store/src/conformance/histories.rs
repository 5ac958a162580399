//! Whatever happens to an agent, its rows are those that were written last.

use std::{collections::BTreeMap, sync::Arc};

use memoir_domain::memory::{Kind, Number};

use super::fixtures::*;
use crate::{AgentQuery, ArchiveLink, Commit, MemoryPage, MemoryRow, RowCounts, Selection, Store};

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
            *memory = of_kind(memory.clone(), Kind::ALL[dice.throw(3) as usize]);
            memory.body = text(&format!("{number} of {}", author.agent.columns.name));
            memory.under = dice.one_in(2).then(|| Number(1 + dice.throw(next)));
            memory.tokens = dice.throw(2_500);
            memory.constitutional = dice.one_in(4);
            memory.created_at = at(dice.throw(50) as i64);
            memory.discarded_at = dice.one_in(3).then(|| at(99));
            memory.shredded_at = memory.discarded_at.filter(|_| dice.one_in(3));
            altered.insert(number, memory.clone());
        }
        author.saving(altered.into_values().collect())
    }

    /// What its rows come to.
    fn row_counts(&self) -> RowCounts {
        let mut counts = RowCounts::default();
        for memory in self.memories.values() {
            let active = match (memory.shredded_at, memory.discarded_at, memory.kind) {
                (Some(_), ..) => {
                    counts.shredded += 1;
                    continue;
                }
                (None, Some(_), _) => {
                    counts.discarded += 1;
                    continue;
                }
                (.., Kind::Core) => &mut counts.core,
                (.., Kind::Journal) => &mut counts.journal,
                (.., Kind::Archival) => &mut counts.archival,
            };
            active.count += 1;
            active.tokens += memory.tokens;
        }
        counts
    }

    /// Some memories and those under them.
    fn links(&self, numbers: &[Number]) -> Vec<ArchiveLink> {
        let is_linked = |memory: &&MemoryRow| {
            let is_under = memory.under.is_some_and(|under| numbers.contains(&under));
            let is_active = memory.kind == Kind::Archival && memory.discarded_at.is_none();
            numbers.contains(&memory.number) || is_under && is_active
        };
        let linked = self.memories.values().filter(is_linked);
        linked
            .map(|memory| ArchiveLink {
                number: memory.number,
                under: memory.under,
                kind: memory.discarded_at.is_none().then_some(memory.kind),
            })
            .collect()
    }
}

pub(super) async fn rows_agree_after_any_history(store: Arc<dyn Store>) {
    let mut written = Vec::new();
    for seed in 0..4 {
        let mut dice = Dice(seed);
        let mut author = Author::new(&store, 1 + u128::from(seed % 2), u128::from(seed)).await;
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
            let found = author.look(AgentQuery::default()).await;
            assert_eq!(found.agent, author.agent);
            assert_eq!(found.row_counts, Some(model.row_counts()));
            let numbers = [1, 3, 8, 3].map(Number);
            let links = store.archive_links(author.scope(), &numbers).await;
            assert_eq!(links.unwrap(), model.links(&numbers));
        }
        written.push((author, model));
    }
    // Once all are written: equal numbers of two agents do not mix, whether of one account or of two.
    for (author, model) in written {
        let counts = model.row_counts();
        let assert_found = async |selection, expected: &[MemoryRow]| {
            let found = author.look(AgentQuery::of_memories(selection)).await;
            assert_eq!(found.memories, expected);
            // Of all rows, whichever are wanted.
            assert_eq!(found.row_counts, Some(counts));
        };
        assert_found(Selection::None, &[]).await;
        assert_found(Selection::Page(MemoryPage::default()), &[]).await;
        let mut expected: Vec<MemoryRow> = model.memories.into_values().collect();
        expected.sort_by_key(|memory| (memory.created_at, memory.number));
        assert_found(Selection::All, &expected).await;
        expected.retain(|memory| memory.discarded_at.is_none());
        assert_found(Selection::Active, &expected).await;
        expected.retain(|memory| memory.kind != Kind::Journal);
        assert_found(Selection::Searchable, &expected).await;
        let (core, archive): (Vec<_>, Vec<_>) = expected
            .into_iter()
            .partition(|memory| memory.kind == Kind::Core);
        assert_found(Selection::ActiveCore, &core).await;
        assert_found(Selection::Archive, &archive).await;
    }
    assert_sound(&store).await;
}
