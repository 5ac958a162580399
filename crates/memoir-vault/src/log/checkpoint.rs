//! A checkpoint: the root of the log at one of its sizes, in the form of C2SP `tlog-checkpoint`.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{LogKey, LogVerifier, NoteError, Root};

/// What the log was at a time: three lines of text, as they are signed.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{origin}\n{}\n{}\n", root.size, STANDARD.encode(root.hash))]
pub struct Checkpoint {
    /// Which log; the name of its key.
    pub origin: String,
    /// Its length and root.
    pub root: Root,
}

/// Why a text is no checkpoint of the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum CheckpointError {
    /// It is no note that the log's key signed.
    #[error(transparent)]
    Note(#[from] NoteError),
    #[error("not a checkpoint: {0}")]
    Malformed(&'static str),
    #[error("a checkpoint of another log: `{found}`, not `{wanted}`")]
    OtherLog { found: String, wanted: String },
}

impl LogKey {
    /// A signed checkpoint, ready to be kept in a file.
    pub fn sign_checkpoint(&self, root: Root) -> String {
        let origin = self.name().to_owned();
        self.sign(&Checkpoint { origin, root }.to_string())
    }
}

impl LogVerifier {
    /// The checkpoint in a signed note, once the log's signature and name are found to be right. More
    /// signatures, as of witnesses, and extension lines are passed over.
    ///
    /// # Errors
    /// As said at [`CheckpointError`].
    pub fn open_checkpoint(&self, note: &[u8]) -> Result<Checkpoint, CheckpointError> {
        let checkpoint = Checkpoint::parse(self.open_note(note)?)?;
        if checkpoint.origin == self.name() {
            Ok(checkpoint)
        } else {
            Err(CheckpointError::OtherLog {
                found: checkpoint.origin,
                wanted: self.name().to_owned(),
            })
        }
    }
}

impl Checkpoint {
    /// Reads the text of a note, which the caller must have verified. Extension lines are passed over.
    ///
    /// # Errors
    /// [`CheckpointError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let malformed = CheckpointError::Malformed;
        let text = text
            .strip_suffix('\n')
            .ok_or(malformed("its last line is not ended"))?;
        let mut lines = text.split('\n');
        let mut line = || lines.next().filter(|line| !line.is_empty());
        let origin = line().ok_or(malformed("no origin"))?.to_owned();
        let size = line().and_then(read_size);
        let size = size.ok_or(malformed("its second line is no size"))?;
        let hash = line().and_then(|line| STANDARD.decode(line).ok()?.try_into().ok());
        let hash: [u8; 32] = hash.ok_or(malformed("its third line is no root"))?;
        if lines.any(str::is_empty) {
            return Err(malformed("an empty line"));
        }
        Ok(Self {
            origin,
            root: Root { size, hash },
        })
    }
}

fn read_size(line: &str) -> Option<u64> {
    let size: u64 = line.parse().ok()?;
    // Neither a sign nor leading zeros.
    (size.to_string() == line).then_some(size)
}
