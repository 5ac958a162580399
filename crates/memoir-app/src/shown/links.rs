//! Which memories are in the archive under which (SPEC 1). A memory itself does not hold this: the ones under it are
//! other memories, and the one above it may have been discarded.

use std::collections::{BTreeMap, BTreeSet};

use memoir_domain::memory::{Kind, Memory, Number};
use memoir_store::ArchiveLink;

use crate::{core::Result, shown::Views};

/// The links of some memories of an agent. Every memory that is shown is shown with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchiveLinks {
    known: BTreeMap<Number, ArchiveLink>,
    /// The active archival memories under each memory.
    sources: BTreeMap<Number, BTreeSet<Number>>,
}

impl ArchiveLinks {
    /// As the store returned them.
    pub(crate) fn of_rows(rows: Vec<ArchiveLink>) -> Self {
        let mut links = Self::default();
        rows.into_iter().for_each(|link| links.put(link));
        links
    }

    /// Of all memories of an agent, or at least all active ones: in memory, without the store.
    pub(crate) fn among<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> Self {
        let mut links = Self::default();
        memories.into_iter().for_each(|memory| links.follow(memory));
        links
    }

    /// The links of memories that a rehearsal changes. An unchanged memory with others under it is active core: a
    /// session puts memories under no other kind (SPEC 3.10).
    pub(crate) fn among_changed<'a>(memories: impl Iterator<Item = &'a Memory> + Clone) -> Self {
        let mut links = Self::among(memories.clone());
        for number in memories.filter_map(Memory::under) {
            links.known.entry(number).or_insert(ArchiveLink {
                number,
                under: None,
                kind: Some(Kind::Core),
            });
        }
        links
    }

    /// Updates the links with the current or future state of a memory.
    pub(crate) fn follow(&mut self, memory: &Memory) {
        self.put(ArchiveLink {
            number: memory.number,
            under: memory.under(),
            kind: memory.is_active().then(|| memory.kind()),
        });
    }

    fn put(&mut self, link: ArchiveLink) {
        let before = self.known.insert(link.number, link);
        if let Some(under) = before.and_then(|before| before.under)
            && let Some(sources) = self.sources.get_mut(&under)
        {
            sources.remove(&link.number);
        }
        if let Some(under) = link.under.filter(|_| link.kind == Some(Kind::Archival)) {
            self.sources.entry(under).or_default().insert(link.number);
        }
    }

    /// The active archival memories directly under that one, by number.
    pub fn sources(&self, number: Number) -> Vec<Number> {
        let sources = self.sources.get(&number).into_iter().flatten();
        sources.copied().collect()
    }

    /// The memory that took this one's place, as shown: none where that one is discarded or shredded.
    pub fn read_under(&self, memory: &Memory) -> Option<Number> {
        let under = memory.under()?;
        self.known.get(&under)?.kind.map(|_| under)
    }
}

impl Views<'_> {
    /// The links of these memories, as the store has them now.
    pub(crate) async fn links_of<'a>(
        self,
        memories: impl Iterator<Item = &'a Memory>,
    ) -> Result<ArchiveLinks> {
        let mut numbers = BTreeSet::new();
        for memory in memories {
            numbers.insert(memory.number);
            numbers.extend(memory.under());
        }
        self.links_around(numbers).await
    }

    /// As [`Views::links_of`], for memories and the ones above them, by their numbers.
    pub(crate) async fn links_around(self, numbers: BTreeSet<Number>) -> Result<ArchiveLinks> {
        let numbers: Vec<Number> = numbers.into_iter().collect();
        let store = &self.memoir.store;
        let links = store.archive_links(self.scope, &numbers).await?;
        Ok(ArchiveLinks::of_rows(links))
    }
}

#[cfg(test)]
mod tests {
    use memoir_domain::{
        audit::ActorKind,
        memory::{ArchivedBy, NewMemory},
        origin::SavedBy,
    };

    use super::*;

    fn memory(number: u64) -> Memory {
        let saved_by = SavedBy::of(ActorKind::Agent);
        NewMemory::new(Kind::Core, "tea".into(), saved_by).into_memory(
            Number(number),
            number,
            memoir_domain::Timestamp::MIN,
        )
    }

    fn under(number: u64, under: u64) -> Memory {
        let at = memoir_domain::Timestamp::MIN;
        memory(number).archived(Some(Number(under)), ArchivedBy::Session, at)
    }

    #[test]
    fn spec_1_under_reads_as_none_where_that_memory_is_discarded_and_its_sources_stay() {
        let at = memoir_domain::Timestamp::MIN;
        let (first, second) = (under(1, 3), under(2, 3));
        let mut links = ArchiveLinks::among([&first, &second, &memory(3)]);
        assert_eq!(links.sources(Number(3)), [Number(1), Number(2)]);
        assert_eq!(links.read_under(&first), Some(Number(3)));
        links.follow(&memory(3).discarded(at));
        assert_eq!(links.read_under(&first), None);
        assert_eq!(links.sources(Number(3)), [Number(1), Number(2)]);
        links.follow(&first.promoted(9));
        links.follow(&second.discarded(at));
        assert!(links.sources(Number(3)).is_empty());
    }
}
