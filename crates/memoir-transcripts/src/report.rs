//! Counts what a file held, for whoever reads it in.

use std::{collections::BTreeMap, fmt};

use crate::{FilePosition, Item, NoMessageReason};

/// Most places that a report names.
const PLACES: usize = 20;

/// What a file held. `Display` prints numbers only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TranscriptReport {
    /// Messages that were given.
    pub messages: u64,
    /// Parts of these that were left out.
    pub left_out: u64,
    /// What was passed over, by reason.
    pub skipped: BTreeMap<NoMessageReason, u64>,
    /// The first places at which something was lost that may have been said.
    pub losses: Vec<(FilePosition, NoMessageReason)>,
}

impl TranscriptReport {
    /// Counts `item`.
    pub fn note(&mut self, item: &Item) {
        match item {
            Item::Message(message) => {
                self.messages += 1;
                self.left_out += u64::from(message.left_out);
            }
            Item::Skipped { place, reason } => {
                *self.skipped.entry(*reason).or_default() += 1;
                if reason.is_loss() && self.losses.len() < PLACES {
                    self.losses.push((place.clone(), *reason));
                }
            }
        }
    }

    /// How many were lost.
    pub fn lost(&self) -> u64 {
        let lost = self.skipped.iter().filter(|(reason, _)| reason.is_loss());
        lost.map(|(_, count)| count).sum()
    }
}

impl fmt::Display for TranscriptReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} messages", self.messages)?;
        if self.left_out > 0 {
            write!(
                formatter,
                " ({} pictures, files or calls in them left out)",
                self.left_out
            )?;
        }
        for (reason, count) in &self.skipped {
            write!(formatter, "\n{count} passed over: {reason}")?;
        }
        for (place, reason) in &self.losses {
            write!(formatter, "\n{place}: {reason}")?;
        }
        // Cannot go below zero: each place is of one that was counted.
        let more = self.lost() - self.losses.len() as u64;
        if more > 0 {
            write!(formatter, "\nand {more} more")?;
        }
        Ok(())
    }
}
