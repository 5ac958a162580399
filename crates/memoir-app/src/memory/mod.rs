//! An agent's memories: saving, reading, recalling, importing and shredding them, and its context.
//!
//! Owns the caches of texts, words and vectors, which follow each commit. What a session does with memories is in
//! `sessions`; what an interface may show of them is in `shown`.

pub(crate) mod context;
pub mod import;
pub(crate) mod indexes;
pub(crate) mod memories;
mod pages;
pub(crate) mod recall;
pub(crate) mod replacing;
pub(crate) mod same_text;
pub(crate) mod shred;
pub(crate) mod stored_index;
pub(crate) mod take_over;
pub(crate) mod vectors;

use std::sync::Arc;

use crate::{
    core::{CommitListener, ModuleStates, agent_part, settings::InstallationSettings},
    memory::{indexes::Indexes, same_text::SameTexts, vectors::VectorUpkeep},
    metrics::Metrics,
};

pub(crate) fn enter(
    states: ModuleStates,
    listeners: &mut Vec<Arc<dyn CommitListener>>,
    settings: &InstallationSettings,
    metrics: Arc<Metrics>,
) -> ModuleStates {
    let same_texts = Arc::<SameTexts>::default();
    let indexes = Arc::new(Indexes::new(settings.recall.index_bytes, metrics));
    let vectors = Arc::<VectorUpkeep>::default();
    listeners.push(same_texts.clone());
    listeners.push(indexes.clone());
    if settings.recall.embeddings.is_some() {
        listeners.push(vectors.clone());
    }
    states.with(same_texts).with(indexes).with(vectors)
}

agent_part! {
    /// The memories of one agent: saving, changing, importing and shredding them.
    Memories, memories
}
