//! Messages in the contract's format: `{"id"?, "at"?, "speaker", "text"}`.

use crate::{
    NoMessageReason,
    gather::{FoundMessage, string},
    raw::Raw,
};

/// Reads one message. Identifiers may be numbers.
pub(crate) fn read(raw: Raw<'_>) -> Result<FoundMessage, NoMessageReason> {
    let [id, at, speaker, text] = raw.fields(["id", "at", "speaker", "text"])?;
    // `null` is none; another value that is no identifier is a mistake, which is reported.
    let id = id.filter(|id| !id.is_null());
    let at = at.filter(|at| !at.is_null());
    Ok(FoundMessage {
        id: id
            .map(|id| id.id().ok_or(NoMessageReason::InvalidField("id")))
            .transpose()?,
        at: at
            .map(|_| {
                string(at, "at")?
                    .parse()
                    .map_err(|_| NoMessageReason::InvalidField("at"))
            })
            .transpose()?,
        speaker: string(speaker, "speaker")?,
        text: string(text, "text")?,
        left_out: 0,
    })
}

/// The identifier of a message that [`read`] refuses, for its position.
pub(crate) fn id(raw: Raw<'_>) -> Option<String> {
    let [id] = raw.fields(["id"]).ok()?;
    id?.id()
}
