//! Replaced memories: the note beside them, and their rank (SPEC 2.8).
//!
//! A memory was replaced where it is archival under a memory that is no summary and has another text, and the chain of
//! `under` leads to a core memory. Where one of the memories of that chain is found too, the replaced one ranks
//! directly after it.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
};

use memoir_text::same_text_key;
use serde::Serialize;
use zeroize::Zeroize;

use crate::{
    memory::{Kind, Memory, Number, core_above},
    time::Timestamp,
};

/// The note beside a replaced memory: "until 2026-03-01, now #9".
// Serialized as it is: the names of the fields are part of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReplacedMark {
    /// The origin date of the memory under which it is.
    pub until: Timestamp,
    /// The core memory at the end of the chain.
    pub now: Number,
}

view! {
    /// What is known of a memory as a link of a chain of `under`.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct ChainLink from memory: &Memory;
    pub(super) created_at: Timestamp = memory.created_at,
    pub(super) kind: Kind = memory.kind(),
    pub(super) is_summary: bool = memory.is_summary,
    pub(super) under: Option<Number> = memory.under(),
    /// A key of its text ([`text_key`]).
    pub(super) text: u64 = text_key(memory.content.expose()),
}

/// Memories whose chains can be followed.
pub(super) trait ChainLinks {
    /// The active memory of that number; `None` where it is discarded or not known.
    fn link(&self, number: Number) -> Option<ChainLink>;

    fn count(&self) -> usize;
}

/// A key that is equal for the same text (SPEC 1). It is kept in memory alone.
fn text_key(text: &str) -> u64 {
    let mut form = same_text_key(text);
    let key = memoir_text::key(&form);
    if let Cow::Owned(copy) = &mut form {
        copy.zeroize();
    }
    key
}

impl ChainLinks for BTreeMap<Number, &Memory> {
    fn link(&self, number: Number) -> Option<ChainLink> {
        let memory = self.get(&number).filter(|memory| memory.is_active())?;
        Some(ChainLink::new(memory))
    }

    fn count(&self) -> usize {
        self.len()
    }
}

/// The mark of a memory; `None` where it was not replaced.
pub(super) fn mark(links: &impl ChainLinks, number: Number) -> Option<ReplacedMark> {
    let memory = links.link(number)?;
    let above = links.link(memory.under?)?;
    if above.is_summary || above.text == memory.text {
        return None;
    }
    let place = |number| links.link(number).map(|link| (link.kind, link.under));
    // A chain has no more links than there are memories.
    let now = core_above(memory.under, links.count(), place)?;
    let until = above.created_at;
    Some(ReplacedMark { until, now })
}

/// Which of the memories found were replaced by others of them.
#[derive(Debug, Default)]
pub(super) struct FoundHistories {
    /// The memory after which each of them ranks.
    after: HashMap<Number, Number>,
}

impl FoundHistories {
    /// Among the memories `found`, in any order. Those under another memory are `archived` too.
    pub(super) fn of(
        links: &impl ChainLinks,
        archived: impl Iterator<Item = Number>,
        found: impl Iterator<Item = Number>,
    ) -> Self {
        let replaced: Vec<Number> = archived
            .filter(|number| mark(links, *number).is_some())
            .collect();
        if replaced.is_empty() {
            return Self::default();
        }
        let found: HashSet<Number> = found.collect();
        let ranks_after = |number: &Number| {
            let mut next = links.link(*number)?.under;
            // It has a mark, so that its chain ends.
            while let Some(above) = next {
                if found.contains(&above) {
                    return Some((*number, above));
                }
                next = links.link(above)?.under;
            }
            None
        };
        Self {
            after: replaced.iter().filter_map(ranks_after).collect(),
        }
    }

    /// Whether no memory found was replaced by another one found.
    pub(super) fn is_empty(&self) -> bool {
        self.after.is_empty()
    }

    pub(super) fn ranks_after_another(&self, number: Number) -> bool {
        self.after.contains_key(&number)
    }

    /// The memory that a memory finally follows, directly or after others; itself where it follows none.
    pub(super) fn head(&self, number: Number) -> Number {
        let mut head = number;
        while let Some(above) = self.after.get(&head) {
            head = *above;
        }
        head
    }

    /// Places after each of `heads`, which are ordered, its followers: the newest first, and after each the ones that
    /// it replaced. `followers` are those that rank after another one.
    pub(super) fn unfold<T>(
        &self,
        heads: Vec<T>,
        mut followers: Vec<T>,
        number: impl Fn(&T) -> Number,
        created_at: impl Fn(&T) -> Timestamp,
    ) -> Vec<T> {
        if followers.is_empty() {
            return heads;
        }
        followers.sort_by_key(|one| Reverse((created_at(one), number(one))));
        let mut following: HashMap<Number, Vec<T>> = HashMap::new();
        for follower in followers {
            if let Some(above) = self.after.get(&number(&follower)) {
                following.entry(*above).or_default().push(follower);
            }
        }
        let mut unfolded = Vec::with_capacity(heads.len());
        for head in heads {
            let mut waiting = vec![head];
            while let Some(one) = waiting.pop() {
                let own = following.remove(&number(&one)).unwrap_or_default();
                // The newest is taken next.
                waiting.extend(own.into_iter().rev());
                unfolded.push(one);
            }
        }
        unfolded
    }
}
