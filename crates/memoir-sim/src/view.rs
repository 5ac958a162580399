//! What an agent sees of its memory after a step, and what must hold of it and between two such views.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Deref,
};

use memoir_app::{MemoryCounts, OwnAgent, ShownMemory};
use memoir_domain::{
    agent::LossGuard,
    memory::{Kind, tokens},
};
use memoir_text::{is_same_text, same_text_key_ignoring_case};

use crate::Violation;

/// Ends the step where a rule does not hold.
macro_rules! ensure {
    ($holds:expr, $rule:literal, $($detail:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err($crate::Violation::new($rule, format!($($detail)+)).into());
        }
    };
}
pub(crate) use ensure;

/// A memory as it is shown. The times of its changes are left out: in place of each is its origin date.
#[derive(Clone, PartialEq)]
pub(crate) struct Seen(ShownMemory);

impl Deref for Seen {
    type Target = ShownMemory;

    fn deref(&self) -> &ShownMemory {
        &self.0
    }
}

impl Seen {
    fn of(mut memory: ShownMemory) -> Self {
        let created_at = memory.created_at;
        let facts = &mut memory.facts;
        facts.updated_at = created_at;
        for changed_at in [
            &mut facts.archived_at,
            &mut facts.discarded_at,
            &mut facts.shredded_at,
        ] {
            *changed_at = changed_at.map(|_| created_at);
        }
        Self(memory)
    }

    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded_at.is_some()
    }

    pub(crate) fn is_shredded(&self) -> bool {
        self.shredded_at.is_some()
    }

    pub(crate) fn is_active(&self, kind: Kind) -> bool {
        self.kind == kind && !self.is_discarded()
    }

    fn has_immutable_tag(&self) -> bool {
        self.tags().any(|tag| tag == IMMUTABLE)
    }
}

/// A tag of those that exclude a memory from edits by default.
pub(crate) const IMMUTABLE: &str = "voice";

/// What may have happened between two views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// Nothing.
    Nothing,
    /// Texts were saved, and replaced others.
    Saving,
    /// A session, or some of its calls.
    Session {
        /// Whether it was undone: by the breaker, or by its end.
        undone: bool,
        /// Whether its guard was `off`: then it rewrites texts in place and discards memories (SPEC 3.14).
        is_off: bool,
    },
    /// Acts of administrators, or of the agent outside of sessions.
    Outside,
}

impl Between {
    /// Whether a session under the guard `off` acted.
    pub(crate) fn is_off(self) -> bool {
        matches!(self, Self::Session { is_off: true, .. })
    }

    /// Whether a text may have returned that a session under `off` had rewritten.
    fn may_return_texts(self) -> bool {
        matches!(self, Self::Outside | Self::Session { undone: true, .. })
    }
}

/// Whether one of `texts` is the same text.
pub(crate) fn is_among(texts: &[String], content: &str) -> bool {
    texts.iter().any(|text| is_same_text(text, content))
}

/// All memories of an agent, and their counts.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) memories: BTreeMap<u64, Seen>,
    pub(crate) counts: MemoryCounts,
    pub(crate) budget: u64,
    pub(crate) guard: LossGuard,
}

impl View {
    pub(crate) async fn of(agent: &OwnAgent) -> Result<Self, memoir_app::Error> {
        let memories = agent.lens().memories(true).await?;
        let facts = agent.views().show().await?;
        Ok(Self {
            memories: memories
                .into_iter()
                .map(|memory| (memory.number.0, Seen::of(memory)))
                .collect(),
            counts: facts.counts,
            budget: facts.effective_core_token_budget,
            guard: facts.effective_loss_guard,
        })
    }

    pub(crate) fn numbers(&self, is_wanted: impl Fn(&Seen) -> bool) -> Vec<u64> {
        let wanted = self.memories.iter().filter(|(_, seen)| is_wanted(seen));
        wanted.map(|(number, _)| *number).collect()
    }

    fn sum(&self, is_counted: impl Fn(&Seen) -> bool) -> (u64, u64) {
        let counted = self.memories.values().filter(|seen| is_counted(seen));
        counted.fold((0, 0), |(count, sum), seen| (count + 1, sum + seen.tokens))
    }

    /// Whether an active core memory, another one than `number`, has its text, up to case.
    pub(crate) fn has_copy(&self, number: u64, content: &str) -> bool {
        self.has_copy_in(number, content, &[Kind::Core])
    }

    fn has_copy_in(&self, number: u64, content: &str, kinds: &[Kind]) -> bool {
        let key = same_text_key_ignoring_case(content);
        let mut others = self.memories.iter().filter(|(other, _)| **other != number);
        others.any(|(_, seen)| {
            !seen.is_discarded()
                && kinds.contains(&seen.kind)
                && same_text_key_ignoring_case(seen.content()) == key
        })
    }

    /// Whether a cleanup may join two core memories, or an edit be free.
    fn has_copies(&self) -> bool {
        let mut core = self
            .memories
            .values()
            .filter(|seen| seen.is_active(Kind::Core));
        let mut keys = BTreeSet::new();
        core.any(|seen| !keys.insert(same_text_key_ignoring_case(seen.content())))
    }

    /// The tokens of all constitutional memories.
    pub(crate) fn constitutional_tokens(&self) -> u64 {
        let (_, tokens) = self.sum(|seen| seen.is_active(Kind::Core) && seen.constitutional);
        tokens
    }

    /// Whether it has a summary in core that is newer than all of `before`.
    pub(crate) fn has_new_summary(&self, before: &Self) -> bool {
        let known = before.memories.len() as u64;
        let mut new = self.memories.range(known + 1..);
        new.any(|(_, seen)| seen.is_active(Kind::Core) && seen.is_summary)
    }

    /// That a rollback returned every memory to what it was in `opened`, but for those that are new (SPEC 3.13, 3.19).
    pub(crate) fn check_return(&self, opened: &Self) -> Result<(), Violation> {
        for (number, before) in &opened.memories {
            let is_same = self.memories.get(number) == Some(before);
            ensure!(is_same, "3.19", "#{number} is not as it was");
        }
        Ok(())
    }

    /// As [`View::check_return`], of a session that began after `before`. `false` where its cleanup may have joined
    /// copies, which a rollback leaves joined (SPEC 3.4).
    pub(crate) fn check_return_since(&self, before: &Self) -> Result<bool, Violation> {
        if before.has_copies() {
            return Ok(false);
        }
        self.check_return(before)?;
        Ok(true)
    }

    /// That numbers, counts and sizes add up (SPEC 1, 2.4, 3.12).
    pub(crate) fn check_counts(&self) -> Result<(), Violation> {
        let counts = &self.counts;
        let last = self.memories.keys().next_back().copied().unwrap_or(0);
        let all = self.memories.len() as u64;
        ensure!(last == all, "counts", "{all} memories, the last is #{last}");
        let stated = [
            counts.core_count,
            counts.journal_count,
            counts.archival_count,
            counts.discarded_count,
            counts.shredded_count,
        ];
        ensure!(
            stated.iter().sum::<u64>() == last,
            "counts",
            "core, journal, archival, discarded and shredded are {stated:?}, saved {last}"
        );
        let core = self.sum(|seen| seen.is_active(Kind::Core));
        ensure!(
            core == (counts.core_count, counts.core_tokens),
            "core size",
            "{core:?}, stated {} and {}",
            counts.core_count,
            counts.core_tokens
        );
        let summaries = self.sum(|seen| seen.is_active(Kind::Core) && seen.is_summary);
        let archive = self.sum(|seen| seen.is_active(Kind::Archival));
        let journal = self.sum(|seen| seen.is_active(Kind::Journal));
        let (flagged, _) = self.sum(|seen| seen.is_active(Kind::Core) && seen.constitutional);
        let counted = [summaries, archive, journal, (flagged, 0)];
        let stated = [
            (counts.summary_count, counts.summary_tokens),
            (counts.archival_count, counts.archival_tokens),
            (counts.journal_count, counts.journal_tokens),
            (counts.constitutional_count, 0),
        ];
        ensure!(
            counted == stated,
            "counts",
            "summaries, archive, journal and constitutional are {counted:?}, stated {stated:?}"
        );
        let originals = counts.originals;
        ensure!(
            originals.in_prompt == core.0 - summaries.0
                && originals.archived == archive.0
                && originals.total == originals.in_prompt + originals.archived,
            "originals",
            "{originals:?}"
        );
        for (number, seen) in &self.memories {
            let (takes, stated) = (tokens(seen.content()), seen.tokens);
            ensure!(
                seen.is_shredded() || stated == takes,
                "core size",
                "#{number} takes {takes} tokens, stated {stated}"
            );
            let is_bare = seen.is_active(Kind::Core) && seen.is_summary && seen.sources.is_empty();
            ensure!(!is_bare, "2.4", "the summary #{number} has no source");
        }
        Ok(())
    }

    /// That nothing changed from `before` which could not by what happened since. `texts` are those that each memory
    /// had so far.
    pub(crate) fn check_since(
        &self,
        before: &Self,
        between: Between,
        texts: &BTreeMap<u64, Vec<String>>,
    ) -> Result<(), Violation> {
        for (number, old) in &before.memories {
            let Some(new) = self.memories.get(number) else {
                return Err(Violation::new("3.12", format!("#{number} is gone")));
            };
            if between == Between::Nothing {
                ensure!(old == new, "others", "#{number} changed");
                continue;
            }
            let has_returned = || {
                let texts = texts.get(number).filter(|_| between.may_return_texts());
                texts.is_some_and(|texts| is_among(texts, new.content()))
            };
            ensure!(
                new.is_shredded()
                    || is_same_text(old.content(), new.content())
                    || old.is_summary
                    || between.is_off()
                    || has_returned(),
                "3.12",
                "the text of #{number} is another one"
            );
            ensure!(
                between == Between::Outside || old.is_shredded() == new.is_shredded(),
                "4.4",
                "#{number} was shredded"
            );
            // The copy that a cleanup left may have moved to the archive in the same session.
            let kinds = [Kind::Core, Kind::Archival];
            let is_copy = || self.has_copy_in(*number, old.content(), &kinds);
            let is_newly_discarded = !old.is_discarded() && new.is_discarded();
            ensure!(
                between == Between::Outside
                    || between.is_off()
                    || !is_newly_discarded
                    || old.is_summary
                    || is_copy(),
                "3.12",
                "#{number} was discarded"
            );
            if let Between::Session { undone, is_off } = between {
                self.check_session((*number, old, new), (undone, is_off), is_copy)?;
            }
            if between == Between::Saving {
                self.check_saving(*number, old, new)?;
            }
        }
        Ok(())
    }

    /// What no saving does to one memory, nor what it replaces (SPEC 2.4).
    fn check_saving(&self, number: u64, old: &Seen, new: &Seen) -> Result<(), Violation> {
        ensure!(
            old.constitutional == new.constitutional,
            "2.4",
            "saving changed the flag of #{number}"
        );
        if !old.is_active(Kind::Core) || new.is_active(Kind::Core) {
            return Ok(());
        }
        ensure!(
            !old.constitutional && !old.has_immutable_tag(),
            "2.4",
            "#{number} was replaced"
        );
        let by = new.under.and_then(|by| self.memories.get(&by.0));
        let is_stronger = by.is_some_and(|by| old.origin.weakness() < by.origin.weakness());
        ensure!(
            !is_stronger,
            "2.4",
            "#{number} was replaced by a text of a weaker origin"
        );
        Ok(())
    }

    /// What no session does to one memory (SPEC 2.4, 3.9, 3.10, 3.12).
    fn check_session(
        &self,
        (number, old, new): (u64, &Seen, &Seen),
        (undone, is_off): (bool, bool),
        is_copy: impl Fn() -> bool,
    ) -> Result<(), Violation> {
        if new.constitutional && !old.constitutional && !undone {
            ensure!(
                new.origin.weakness() == 0 && (is_off || !new.is_summary),
                "constitutional",
                "a session protected #{number}, which it may not"
            );
        }
        ensure!(
            old.kind == new.kind || old.kind == Kind::Core || undone,
            "3.8",
            "#{number} was {} and is {}",
            old.kind.as_str(),
            new.kind.as_str()
        );
        ensure!(
            !old.is_discarded() || new.is_discarded() || undone,
            "3.8",
            "#{number} was brought back by a session"
        );
        if old.constitutional && old.is_active(Kind::Core) && !undone {
            ensure!(
                new.constitutional
                    && new.is_active(Kind::Core)
                    && is_same_text(old.content(), new.content()),
                "constitutional",
                "#{number} was moved, rewritten or lost its flag"
            );
        }
        if old.has_immutable_tag() && old.is_active(Kind::Core) && !undone {
            ensure!(
                new.is_active(Kind::Core) && old.content() == new.content() || is_copy(),
                "immutable",
                "#{number} was moved or changed"
            );
        }
        Ok(())
    }
}

/// That no text holds the mark of another agent.
pub(crate) fn check_marks(
    texts: impl IntoIterator<Item = String>,
    others: &BTreeSet<String>,
) -> Result<(), Violation> {
    for text in texts {
        for mark in others {
            ensure!(!text.contains(mark), "5.6", "a text of another agent");
        }
    }
    Ok(())
}
