//! Stored indexes of agents' words. Storing one locks the agent first, as a commit does: none is stored for an agent
//! whose words are being shredded.

use async_trait::async_trait;
use memoir_domain::AgentScope;
use memoir_store::{Result, WordIndexRow, WordIndexes, encode};

use crate::{PostgresStore, pool::Statement, value::columns};

#[async_trait]
impl WordIndexes for PostgresStore {
    async fn keep_word_index(
        &self,
        scope: AgentScope,
        expected_version: u64,
        parts: Vec<WordIndexRow>,
    ) -> Result<bool> {
        let forget = "DELETE FROM word_indexes WHERE agent_id = $1";
        let forget = Statement::new(forget, values![scope.agent.as_bytes()]);
        let keep = concat!(
            "INSERT INTO word_indexes (agent_id, ",
            memoir_store::columns!(word_index),
            ") SELECT $1, * FROM unnest($2, $3, $4, $5, $6)"
        );
        let mut statements = vec![forget];
        if !parts.is_empty() {
            let mut values = values![scope.agent.as_bytes()];
            values.extend(columns(&parts, encode::word_index)?);
            statements.push(Statement::new(keep, values));
        }
        self.write_at_version(scope, expected_version, true, statements)
            .await
    }

    async fn forget_word_indexes(&self) -> Result<()> {
        // A locked row is being deleted or replaced by the transaction that has the lock.
        let sql = "WITH old AS MATERIALIZED (SELECT agent_id, part FROM word_indexes WHERE $1 IS NULL LIMIT $2 \
                 FOR UPDATE SKIP LOCKED) \
             DELETE FROM word_indexes USING old \
             WHERE word_indexes.agent_id = old.agent_id AND word_indexes.part = old.part RETURNING 1";
        self.write_in_parts(sql, None).await
    }
}
