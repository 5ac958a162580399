//! The histories of memories (SPEC 4.1).

use memoir_domain::{
    history::{self, MemoryHistory},
    memory::Number,
};
use memoir_store::AgentQuery;

use crate::{
    core::{Error, Result},
    shown::OwnAgent,
};

impl OwnAgent {
    /// The histories of all memories, or of one with its relatives.
    ///
    /// # Errors
    /// There is no memory of that number; the store fails.
    pub async fn history(&self, only: Option<Number>) -> Result<MemoryHistory> {
        let _room = self.log().room_from(1).await?;
        let loaded = self.load(&AgentQuery::default()).await?;
        let log = self.log().read_whole_log(&loaded).await?;
        let history = history::history(&log, only);
        match only {
            Some(number) if !history.memories.contains_key(&number) => Err(Error::NoMemory(number)),
            _ => Ok(history),
        }
    }
}
