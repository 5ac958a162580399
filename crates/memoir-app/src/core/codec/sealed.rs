//! The stored form of an agent's text: JSON, sealed with the agent's key for one place, and bound to the open columns
//! of its row (SPEC 5.3).

use std::io::{self, Write};

use memoir_domain::text::wiped::wipe;
use memoir_store::StoredText;
use memoir_vault::{
    AgentKey,
    seal::{Nonce, SealContext, SealedRow},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::core::{Error, Result, clock::Random};

/// The open columns of a row, in the form that its seal covers.
pub(super) struct SealedColumns(pub(super) Vec<u8>);

impl SealedColumns {
    pub(super) const NONE: Self = Self(Vec::new());

    /// A tuple of numbers, flags and names; times as microseconds, shares as the bits of their number.
    pub(super) fn of(values: &impl Serialize) -> Result<Self> {
        serde_json::to_vec(values)
            .map(Self)
            .map_err(|_| Error::Inconsistent("a row cannot be written as JSON".to_owned()))
    }
}

pub(crate) struct Sealer<'a> {
    pub(crate) key: &'a AgentKey,
    pub(crate) random: &'a dyn Random,
}

impl Sealer<'_> {
    pub(super) fn seal(
        &self,
        row: SealedRow,
        version: u64,
        columns: &SealedColumns,
        value: &impl Serialize,
    ) -> Result<StoredText> {
        self.seal_bytes(row, version, &columns.0, &plain_json(value)?)
    }

    /// As [`Sealer::seal`], for bytes that are no JSON.
    pub(super) fn seal_bytes(
        &self,
        row: SealedRow,
        version: u64,
        columns: &[u8],
        plain: &[u8],
    ) -> Result<StoredText> {
        let place = SealContext { row, version };
        let sealed = self.key.seal(&place, columns, plain, self.nonce()?);
        Ok(StoredText(sealed))
    }

    pub(crate) fn nonce(&self) -> Result<Nonce> {
        // No nonce may be used twice under one key. With 192 random bits that does not happen, and processes need no
        // common counter.
        let mut nonce = [0; 24];
        self.random.fill(&mut nonce)?;
        Ok(Nonce::from_random(nonce))
    }
}

/// Plain text to be sealed. Wiped when dropped, and in the old place when it is moved to a larger one. The rest of its
/// room never held any: wiping that too would take longer than sealing a short text.
#[derive(derive_more::Deref)]
pub(super) struct Plain(#[deref(forward)] Vec<u8>);

impl Drop for Plain {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl Plain {
    /// Room for the text of most rows, in bytes.
    const ROOM: usize = 2_048;

    /// A `Vec` that grows would leave the text in its old place.
    #[cold]
    fn move_to_larger(&mut self, needed: usize) {
        // The new place is twice as large, so that a long text is moved only a few times while it is written.
        let mut larger = Self(Vec::with_capacity(2 * needed));
        larger.0.extend_from_slice(&self.0);
        *self = larger;
    }
}

impl Write for Plain {
    // Called for every mark of the JSON.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let needed = self.0.len() + bytes.len();
        if needed > self.0.capacity() {
            self.move_to_larger(needed);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// JSON to be sealed, wiped when dropped.
pub(super) fn plain_json(value: &impl Serialize) -> Result<Plain> {
    let mut plain = Plain(Vec::with_capacity(Plain::ROOM));
    serde_json::to_writer(&mut plain, value)
        .map_err(|_| Error::Inconsistent("a text cannot be written as JSON".to_owned()))?;
    Ok(plain)
}

/// Opens the result of [`Sealer::seal`].
pub(super) fn open<T: DeserializeOwned>(
    key: &AgentKey,
    row: SealedRow,
    version: u64,
    columns: &SealedColumns,
    sealed: &StoredText,
) -> Result<T> {
    let place = SealContext { row, version };
    let plain = key.open(&place, &columns.0, &sealed.0)?;
    // The parser's own message may quote the contents.
    serde_json::from_slice(&plain)
        .map_err(|_| Error::Inconsistent(format!("{place}: the text cannot be read")))
}
