//! Stored indexes of agents' words.

use async_trait::async_trait;
use memoir_domain::AgentScope;
use memoir_store::{Result, WordIndexRow, WordIndexes, columns};
use rusqlite::Connection;

use crate::{
    SqliteStore,
    agent::{execute, is_at_version},
    encode::{self, of_agent},
    error, fault,
    writer::{BULK_ROWS, WriteOutcome},
};

#[async_trait]
impl WordIndexes for SqliteStore {
    async fn keep_word_index(
        &self,
        scope: AgentScope,
        expected_version: u64,
        parts: Vec<WordIndexRow>,
    ) -> Result<bool> {
        let keep = move |connection: &Connection| {
            // An index with words that are being shredded must not be kept.
            if !is_at_version(connection, scope, expected_version, true)? {
                return Ok(WriteOutcome::unchanged(false));
            }
            forget(connection, scope.agent.as_bytes())?;
            fault::point("word_index.forgotten");
            let mut insert = connection.prepare_cached(concat!(
                "INSERT INTO word_indexes (agent_id, ",
                columns!(word_index),
                ") VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            ))?;
            for part in &parts {
                insert.execute(of_agent(scope.agent.as_bytes(), encode::word_index(part)?))?;
            }
            fault::point("word_index.kept");
            Ok(WriteOutcome::with(true))
        };
        // Its parts are large, so that it gets a transaction to itself.
        self.write(BULK_ROWS, keep).await
    }

    async fn forget_word_indexes(&self) -> Result<()> {
        let sql = "DELETE FROM word_indexes";
        let forgotten = self.execute(BULK_ROWS, sql, (), "word_indexes.forgotten");
        forgotten.await.map(drop)
    }
}

pub(crate) fn forget(connection: &Connection, agent: &[u8; 16]) -> error::Result<()> {
    let sql = "DELETE FROM word_indexes WHERE agent_id = ?1";
    execute(connection, sql, [agent]).map(drop)
}
