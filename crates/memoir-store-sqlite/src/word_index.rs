//! Stored indexes of agents' words.

use async_trait::async_trait;
use memoir_domain::AgentScope;
use memoir_store::{Result, WordIndexRow, WordIndexes, select};
use rusqlite::{Connection, params};

use crate::{
    SqliteStore,
    agent::{all, execute, exists},
    decode,
    encode::{self, count, of_agent},
    error, fault,
    writer::{BULK_ROWS, WriteOutcome},
};

const PARTS: &str = select!(
    word_index,
    "FROM word_indexes WHERE agent_id = ?1 ORDER BY part LIMIT ?2"
);

#[async_trait]
impl WordIndexes for SqliteStore {
    async fn word_index(&self, scope: AgentScope, limit: Option<u32>) -> Result<Vec<WordIndexRow>> {
        self.scan_agent(scope, move |connection| {
            // A negative limit is none.
            let limit = limit.map_or(-1, i64::from);
            let values = params![scope.agent.as_bytes(), limit];
            all(connection, PARTS, values, decode::word_index)
        })
        .await
    }

    async fn keep_word_index(
        &self,
        scope: AgentScope,
        expected_version: u64,
        parts: Vec<WordIndexRow>,
    ) -> Result<bool> {
        let keep = move |connection: &Connection| {
            let version = count(expected_version, "agents", "version")?;
            // An index with words that are being shredded must not be kept. Every shredding increments the agent's
            // version, and only one transaction writes at a time.
            let is_as_expected = exists(
                connection,
                "SELECT 1 FROM agents \
                 WHERE id = ?1 AND account_id = ?2 AND version = ?3 AND erased_at IS NULL",
                params![scope.agent.as_bytes(), scope.account.as_bytes(), version],
            )?;
            if !is_as_expected {
                return Ok(WriteOutcome::unchanged(false));
            }
            forget(connection, scope.agent.as_bytes())?;
            fault::point("word_index.forgotten");
            let mut insert = connection.prepare_cached(
                "INSERT INTO word_indexes (agent_id, part, version, last_seq, hash, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
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
