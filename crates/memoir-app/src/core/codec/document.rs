//! Documents: the fields of a row by name, in an open and a sealed part (SPEC 5.3).
//!
//! The open part is a JSON object that is kept byte for byte. The sealed part is another one, bound to those bytes. So
//! a field is one line in one struct. Later fields are optional in reading, and unknown fields are ignored. Rows of
//! another version stay readable, because nothing is serialized again before the seal is checked.
//!
//! A store searches by columns beside the document. Their values follow from the document and are compared at a read.

use memoir_domain::text::wiped::Wiped;
use memoir_store::{Document, StoredText};
use memoir_vault::{
    AgentKey,
    seal::{OpenError, SealContext, SealedRow},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::sealed::{Sealer, plain_json};
use crate::core::{Error, Result};

/// The sealed part of a document that is entirely open.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct NoWords {}

impl Sealer<'_> {
    /// The document of a row, from its open and its private part.
    pub(crate) fn document(
        &self,
        row: SealedRow,
        version: u64,
        open: &impl Serialize,
        private: &impl Serialize,
    ) -> Result<Document> {
        let private = plain_json(private)?;
        self.document_of(row, version, open, &private)
    }

    /// As [`Sealer::document`], where the private part is no JSON.
    pub(crate) fn document_of(
        &self,
        row: SealedRow,
        version: u64,
        open: &impl Serialize,
        private: &[u8],
    ) -> Result<Document> {
        let open = open_json(open)?;
        let sealed = self.seal_bytes(row, version, open.as_bytes(), private)?;
        Ok(Document {
            version,
            open,
            sealed,
        })
    }
}

/// A document without a seal, since its key is gone.
pub(crate) fn unsealed(version: u64, open: &impl Serialize) -> Result<Document> {
    Ok(Document {
        version,
        open: open_json(open)?,
        // Empty, so it opens under no key: revoking the token of an erased agent cannot make it valid.
        sealed: StoredText::default(),
    })
}

pub(crate) fn open<Open: DeserializeOwned, Private: DeserializeOwned>(
    key: &AgentKey,
    row: SealedRow,
    document: &Document,
) -> Result<(Open, Private)> {
    let private = open_private(key, row, document)?;
    // The parser's own message may quote the contents.
    let private = serde_json::from_slice(&private).map_err(|_| unreadable(row))?;
    Ok((read(row, &document.open)?, private))
}

/// The private part of a document, as it was given.
pub(crate) fn open_private(
    key: &AgentKey,
    row: SealedRow,
    document: &Document,
) -> Result<Wiped<u8>> {
    let version = document.version;
    let place = SealContext { row, version };
    Ok(key.open(&place, document.open.as_bytes(), &document.sealed.0)?)
}

/// The open part of a document, unchecked, for callers without the key.
pub(crate) fn read<Open: DeserializeOwned>(row: SealedRow, open: &str) -> Result<Open> {
    serde_json::from_str(open).map_err(|_| unreadable(row))
}

/// Checks that the search columns of a row match its document.
pub(crate) fn check_columns<SealedColumns: PartialEq>(
    row: SealedRow,
    version: u64,
    found: &SealedColumns,
    expected: &SealedColumns,
) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(OpenError::NotAuthentic(SealContext { row, version }).into())
}

fn open_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|_| Error::Inconsistent("a document cannot be written as JSON".to_owned()))
}

fn unreadable(row: SealedRow) -> Error {
    Error::Inconsistent(format!("{row}: the document cannot be read"))
}

/// A digest in a document, as hexadecimal digits.
pub(crate) mod digest {
    use memoir_vault::chain::RecordHash;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        digest: &[u8; 32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&RecordHash(*digest))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u8; 32], D::Error> {
        let digits = String::deserialize(deserializer)?;
        let hash: RecordHash = digits.parse().map_err(D::Error::custom)?;
        Ok(hash.0)
    }
}
