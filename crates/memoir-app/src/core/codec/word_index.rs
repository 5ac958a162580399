//! The index of an agent's words, sealed in parts of one size (SPEC 5.3).
//!
//! Each part is bound to the account, the agent, its place, the version of the agent, the head of its log and the number
//! of parts: a part of another index, a missing one or another order does not open. The last part is filled up, so that
//! the parts show the size of the index to one part.

use memoir_domain::text::wiped::Wiped;
use memoir_store::{StoredText, WordIndexRow};
use memoir_vault::{
    AgentKey,
    seal::{OpenError, SealContext, SealedRow},
};
use zeroize::Zeroizing;

use super::sealed::Sealer;
use crate::core::{Result, parallel};

// Tens of them can be in one transaction or message, and each costs a row and a seal. Sealed, one is below 64 KiB: the
// allocator keeps more memory beside larger ones.
const PART: usize = 60 << 10;
/// Parts from which on several threads open them: one takes tens of microseconds, as long as starting a thread.
const SEVERAL: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexVersion {
    pub(crate) version: u64,
    /// The place of the last record of its log.
    pub(crate) last_seq: u64,
    pub(crate) hash: [u8; 32],
}

impl IndexVersion {
    /// Of a part, as its columns say.
    pub(crate) fn of(row: &WordIndexRow) -> Self {
        Self {
            version: row.version,
            last_seq: row.last_seq,
            hash: row.hash,
        }
    }

    /// The form that the seal of each of so many parts covers.
    fn columns(&self, parts: usize) -> Vec<u8> {
        let parts = (parts as u64).to_be_bytes();
        [&self.last_seq.to_be_bytes(), &self.hash[..], &parts].concat()
    }
}

pub(crate) fn word_index_rows(
    sealer: &Sealer<'_>,
    of: IndexVersion,
    index: &[u8],
) -> Result<Vec<WordIndexRow>> {
    let columns = of.columns(index.len().div_ceil(PART));
    let mut filled = Zeroizing::new(vec![0; PART]);
    let parts = index.chunks(PART).zip(0..);
    let sealed = parts.map(|(plain, part)| {
        let plain = match plain.len() {
            PART => plain,
            length => {
                filled[..length].copy_from_slice(plain);
                filled[length..].fill(0);
                &filled
            }
        };
        let place = SealedRow::WordIndex(part);
        Ok(WordIndexRow {
            part,
            version: of.version,
            last_seq: of.last_seq,
            hash: of.hash,
            body: sealer.seal_bytes(place, of.version, &columns, plain)?,
        })
    });
    sealed.collect()
}

/// The index of these parts, and the zeros that fill up the last one. An error unless they were written together, in
/// this order.
pub(crate) fn word_index(key: &AgentKey, rows: Vec<WordIndexRow>) -> Result<Wiped<u8>> {
    let mut index = Wiped::of_zeros(rows.len() * PART);
    let Some(of) = rows.first().map(IndexVersion::of) else {
        return Ok(index);
    };
    let place = |part| SealContext {
        row: SealedRow::WordIndex(part),
        version: of.version,
    };
    let mut places = rows.iter().zip(0..);
    if let Some((_, part)) =
        places.find(|(row, part)| row.part != *part || IndexVersion::of(row) != of)
    {
        return Err(OpenError::NotAuthentic(place(part)).into());
    }
    let columns = of.columns(rows.len());
    // Each into its place at once, so that no second copy of the whole is in memory.
    let parts = rows.into_iter().zip(index.as_mut_slice().chunks_mut(PART));
    let opened = parallel::map_from(SEVERAL, parts.collect(), |(row, part)| {
        let (place, StoredText(sealed)) = (place(row.part), row.body);
        key.open_into(&place, &columns, &sealed, part)
    });
    opened.into_iter().collect::<Result<(), OpenError>>()?;
    Ok(index)
}
