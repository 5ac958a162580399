//! What tests save, hand over and ask: the parts that a test is about, and all others as they are where a caller leaves
//! them out.

use memoir_app::{HandedMessage, MemoryInput};
use memoir_domain::{
    memory::{Kind, Number},
    recall::RecallQuery,
};

/// A memory with nothing but a text.
pub fn input(content: &str) -> MemoryInput {
    MemoryInput {
        content: content.into(),
        ..MemoryInput::default()
    }
}

/// An entry of the journal.
pub fn journal(content: &str) -> MemoryInput {
    MemoryInput {
        kind: Some(Kind::Journal),
        ..input(content)
    }
}

/// A memory that is archival from the beginning.
pub fn archival(content: &str) -> MemoryInput {
    MemoryInput {
        kind: Some(Kind::Archival),
        ..input(content)
    }
}

/// A memory that replaces those with these numbers.
pub fn replacing(content: &str, replaced: &[u64]) -> MemoryInput {
    MemoryInput {
        replaces: replaced.iter().copied().map(Number).collect(),
        ..input(content)
    }
}

/// A memory with these tags.
pub fn tagged(content: &str, tags: &[&str]) -> MemoryInput {
    MemoryInput {
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
        ..input(content)
    }
}

/// A question without filters.
pub fn query(text: &str, limit: usize) -> RecallQuery {
    RecallQuery {
        text: text.into(),
        limit,
        ..RecallQuery::default()
    }
}

/// A message of Ann's in a conversation, without a time.
pub fn message(id: &str, text: &str) -> HandedMessage {
    HandedMessage {
        id: id.into(),
        at: None,
        speaker: "Ann".into(),
        text: text.into(),
    }
}
