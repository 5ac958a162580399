//! The index of the words of an agent's memories, kept between processes (SPEC 5.3).

use crate::StoredText;

/// A part of the index of an agent's words. The first five fields but `part` are the same in all parts. Each agent has
/// one index at most, which can be made again from the memories, and does not change the agent's version.
/// [`Store::commit`](crate::Store::commit) deletes it where it shreds a memory, replaces bodies of records, or erases
/// the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordIndexRow {
    /// Its place, from 0 without gaps.
    pub part: u64,
    /// The agent's version that the index is of.
    pub version: u64,
    /// The place of the last record of the log at that version; 0 where there was none.
    pub last_seq: u64,
    /// That record's hash.
    pub hash: [u8; 32],
    /// The part.
    pub body: StoredText,
}
