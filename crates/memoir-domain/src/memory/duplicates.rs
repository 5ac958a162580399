//! The content-blind cleanup of duplicates before a session's ledger is built (SPEC 3.4).

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::BuildHasher,
};

use foldhash::fast::FixedState;
use memoir_text::has_relative_time;

use crate::{
    memory::{Memory, Number, Tags, origin::Side},
    text::{Digester, DuplicateMatch, duplicate_key},
};

/// An active core memory as the plan compares it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The memory, of which no text is read.
    pub memory: &'a Memory,
    /// Its duplicate digest under the agent's setting.
    pub digest: [u8; 32],
    /// Its digest under `exact`.
    pub exact: [u8; 32],
    /// Whether its text has a word of relative time.
    pub is_relative: bool,
}

/// Copies of one text, and their outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicates {
    /// The copy that stays in the prompt, as it is to be: of all copies it has the earliest dates, the first record
    /// that made one core, the tags, its own first, and the strongest origin with its source.
    pub survivor: Memory,
    /// The copies that are discarded.
    pub discarded: Vec<Number>,
    /// The copies that become archival under the survivor: their text differs in case.
    pub archived: Vec<Number>,
}

/// Those of `memories` whose text may be there more than once. Most are there once, and need no digest, which takes
/// several times as long as a hash.
pub fn candidates<'a>(
    memories: impl IntoIterator<Item = &'a Memory>,
    digester: &Digester,
    how: DuplicateMatch,
) -> Vec<Candidate<'a>> {
    // With a fixed key: two texts with one hash cost two digests, which distinguish them.
    let hasher = FixedState::default();
    let hash = |memory: &Memory| hasher.hash_one(duplicate_key(memory.content.expose(), how));
    // A summary is no original, and is merged with nothing.
    let memories = memories.into_iter().filter(|memory| !memory.is_summary);
    let mut hashed: Vec<(u64, &Memory)> = memories.map(|one| (hash(one), one)).collect();
    hashed.sort_unstable_by_key(|(hash, _)| *hash);
    let alike = hashed.chunk_by(|(one, _), (other, _)| one == other);
    let repeated = alike.filter(|same| same.len() > 1).flatten();
    let candidate = |(_, memory): &(u64, &'a Memory)| Candidate {
        memory,
        digest: digester.duplicate(memory.content.expose(), how),
        exact: digester.duplicate(memory.content.expose(), DuplicateMatch::Exact),
        is_relative: has_relative_time(memory.content.expose()),
    };
    repeated.map(candidate).collect()
}

/// The key of a group of copies: the digest, the side, and the day where a word of relative time refers to it.
type Group = ([u8; 32], Side, Option<i64>);

/// Which copies leave. All constitutional ones stay; else one with an immutable tag, else the one recorded first.
pub fn plan(candidates: &[Candidate<'_>], immutable_tags: &BTreeSet<String>) -> Vec<Duplicates> {
    let mut groups: BTreeMap<Group, Vec<&Candidate<'_>>> = BTreeMap::new();
    for candidate in candidates {
        let memory = candidate.memory;
        let day = candidate
            .is_relative
            .then(|| memory.created_at.day_number());
        let group = (candidate.digest, memory.side(), day);
        groups.entry(group).or_default().push(candidate);
    }
    let groups = groups.into_values().filter(|copies| copies.len() > 1);
    let plan = groups.filter_map(|copies| join(copies, immutable_tags));
    let mut plan: Vec<Duplicates> = plan.collect();
    // By number: the digests of the groups are keyed, and would order the records randomly.
    plan.sort_by_key(|duplicates| duplicates.survivor.number);
    plan
}

fn join(mut copies: Vec<&Candidate<'_>>, immutable_tags: &BTreeSet<String>) -> Option<Duplicates> {
    // In the order of their records: the origin date of the one that stays becomes the earliest in any case.
    copies.sort_by_key(|copy| (copy.memory.core_seq, copy.memory.number));
    let survivor = *copies
        .iter()
        // Before the immutable one: it stays in any case, and an immutable copy beside it would stay a duplicate.
        .find(|copy| copy.memory.is_constitutional())
        .or_else(|| {
            copies
                .iter()
                .find(|copy| copy.memory.tags.contains_any(immutable_tags))
        })
        .or_else(|| copies.first())?;
    // Other constitutional copies stay as they are, so they give nothing away.
    let leaving: Vec<&Candidate<'_>> = copies
        .iter()
        .copied()
        .filter(|copy| {
            copy.memory.number != survivor.memory.number && !copy.memory.is_constitutional()
        })
        .collect();
    if leaving.is_empty() {
        return None;
    }
    let (discarded, archived): (Vec<&Candidate<'_>>, Vec<&Candidate<'_>>) = leaving
        .iter()
        .partition(|copy| copy.exact == survivor.exact);
    let numbers =
        |copies: Vec<&Candidate<'_>>| copies.iter().map(|copy| copy.memory.number).collect();
    let all = || {
        std::iter::once(survivor)
            .chain(leaving.iter().copied())
            .map(|copy| copy.memory)
    };
    let strongest = all()
        .min_by_key(|memory| memory.origin().weakness())
        .filter(|memory| memory.origin().weakness() < survivor.memory.origin().weakness())
        .unwrap_or(survivor.memory);
    Some(Duplicates {
        survivor: Memory {
            created_at: all().map(|memory| memory.created_at).min()?,
            recorded_at: all().map(|memory| memory.recorded_at).min()?,
            core_seq: all().filter_map(|memory| memory.core_seq).min(),
            tags: Tags::union(all().map(|memory| &memory.tags)),
            saved_by: strongest.saved_by,
            source: strongest.source.clone(),
            ..survivor.memory.clone()
        },
        discarded: numbers(discarded),
        archived: numbers(archived),
    })
}
