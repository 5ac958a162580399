//! The content-blind clean-up of doubles before a session's ledger is built (SPEC 3.4).

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::{
    Timestamp,
    agent::DuplicateMatch,
    audit::ActorKind,
    memory::{Memory, Number, Tags},
    text::{Digester, double_form},
    wording::Wording,
};

/// A kept core memory as the plan sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The memory, of which no text is read.
    pub memory: &'a Memory,
    /// Its duplicate digest under the agent's setting.
    pub digest: [u8; 32],
}

/// One text that stands more than once, and what becomes of its copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicates {
    /// The copy that takes the earliest date and all tags.
    pub survivor: Number,
    /// The copies that are discarded, at least one.
    pub discarded: Vec<Number>,
    /// The earliest origin date of all copies.
    pub created_at: Timestamp,
    /// The tags of all copies, the survivor's first.
    pub tags: Tags,
}

/// Those of `memories` whose text may stand there more than once. Most stand there once, and need no digest, which
/// takes several times as long as a hash.
pub fn candidates<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    digester: &Digester,
    how: DuplicateMatch,
) -> Vec<Candidate<'a>> {
    let hash = |memory: &Memory| {
        // With keys that are fixed: two texts with one hash cost two digests, which tell them apart.
        let mut hasher = DefaultHasher::new();
        double_form(memory.content.expose(), how).hash(&mut hasher);
        hasher.finish()
    };
    let memories = memories.into_iter();
    let mut hashed: Vec<(u64, &Memory)> = memories.map(|one| (hash(one), one)).collect();
    hashed.sort_unstable_by_key(|(hash, _)| *hash);
    let alike = hashed.chunk_by(|(one, _), (other, _)| one == other);
    let repeated = alike.filter(|same| same.len() > 1).flatten();
    let candidate = |(_, memory): &(u64, &'a Memory)| Candidate {
        memory,
        digest: digester.duplicate(memory.content.expose(), how),
    };
    repeated.map(candidate).collect()
}

/// Which copies go. All constitutional ones stay; else one with an immutable tag, else the earliest.
pub fn plan(candidates: &[Candidate<'_>], immutable_tags: &BTreeSet<String>) -> Vec<Duplicates> {
    // The copies of the agent and those of administrators are two groups, even where the digests are
    // equal.
    let mut groups: BTreeMap<([u8; 32], Planted), Vec<&Memory>> = BTreeMap::new();
    for candidate in candidates {
        groups
            .entry((candidate.digest, Planted::of(candidate.memory)))
            .or_default()
            .push(candidate.memory);
    }
    let mut plan: Vec<Duplicates> = groups
        .into_values()
        .filter(|copies| copies.len() > 1)
        .filter_map(|copies| settle(copies, immutable_tags))
        .collect();
    // By number: the digests that the groups are sorted by are keyed, and would put the records in
    // an order that means nothing.
    plan.sort_by_key(|duplicates| duplicates.survivor);
    plan
}

/// Texts that an administrator added are put together among themselves only: what becomes of a guess would
/// tell whether it is right (SPEC 3.4, 5.1).
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Planted {
    No,
    Yes,
    /// A merge, by the agent's own model, of what was added and what was not: compared with nothing.
    Partly(Number),
}

impl Planted {
    fn of(memory: &Memory) -> Self {
        let planted = |wording: &Wording| wording.added_by == ActorKind::Administrator;
        if !memory.wordings.iter().any(planted) {
            Self::No
        } else if memory.wordings.iter().all(planted) {
            Self::Yes
        } else {
            Self::Partly(memory.number)
        }
    }
}

fn settle(mut copies: Vec<&Memory>, immutable_tags: &BTreeSet<String>) -> Option<Duplicates> {
    // Equal dates are ordered by number, so that the survivor does not depend on the order in which the memories were
    // read.
    copies.sort_by_key(|memory| (memory.created_at, memory.number));
    let survivor = copies
        .iter()
        // Before the immutable one: it stays in any case, and an immutable copy beside it would be a double
        // for ever.
        .find(|memory| memory.is_constitutional())
        .or_else(|| {
            copies
                .iter()
                .find(|memory| memory.tags.contains_any(immutable_tags))
        })
        .or_else(|| copies.first())?;
    // Other constitutional copies stay as they are, so they give nothing away.
    let given_up: Vec<&Memory> = copies
        .iter()
        .copied()
        .filter(|memory| memory.number != survivor.number && !memory.is_constitutional())
        .collect();
    if given_up.is_empty() {
        return None;
    }
    let all = || std::iter::once(*survivor).chain(given_up.iter().copied());
    Some(Duplicates {
        survivor: survivor.number,
        created_at: all()
            .map(|memory| memory.created_at)
            .fold(survivor.created_at, Timestamp::min),
        tags: Tags::union(all().map(|memory| &memory.tags)),
        discarded: given_up.iter().map(|memory| memory.number).collect(),
    })
}
