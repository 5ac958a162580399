//! The counts of a file's items.

use std::{collections::BTreeMap, fmt};

use memoir_domain::text::counted;

use crate::{FilePosition, Item, NoMessageReason};

/// Most positions that a report names.
const PLACES: usize = 20;

/// The counts of a file. `Display` prints numbers only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TranscriptReport {
    /// Messages that were returned.
    pub messages: u64,
    /// Parts of these that were left out.
    pub left_out: u64,
    /// Skipped parts, by reason.
    pub skipped: BTreeMap<NoMessageReason, u64>,
    /// The first positions of parts whose loss may lose a spoken text.
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

    /// The number of lost parts.
    pub fn lost(&self) -> u64 {
        let lost = self.skipped.iter().filter(|(reason, _)| reason.is_loss());
        lost.map(|(_, count)| count).sum()
    }
}

impl fmt::Display for TranscriptReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&counted(self.messages, "message", "messages"))?;
        if self.left_out > 0 {
            let parts = counted(
                self.left_out,
                "picture, file or call",
                "pictures, files or calls",
            );
            write!(formatter, " ({parts} in them left out)")?;
        }
        for (reason, count) in &self.skipped {
            write!(formatter, "\n{count} passed over: {reason}")?;
        }
        for (place, reason) in &self.losses {
            write!(formatter, "\n{place}: {reason}")?;
        }
        // Cannot go below zero: each position is of a counted part.
        let more = self.lost() - self.losses.len() as u64;
        if more > 0 {
            write!(formatter, "\nand {more} more")?;
        }
        Ok(())
    }
}
