//! Stored indexes of agents' words. Storing one locks the agent first, as a commit does: none is stored for an agent
//! whose words are being shredded.

use async_trait::async_trait;
use memoir_domain::AgentScope;
use memoir_store::{Result, WordIndexRow, WordIndexes, decode, select};

use crate::{
    PostgresStore,
    pool::Statement,
    value::{Value, counts},
};

#[async_trait]
impl WordIndexes for PostgresStore {
    async fn word_index(&self, scope: AgentScope, limit: Option<u32>) -> Result<Vec<WordIndexRow>> {
        let values = scoped![scope, limit.map_or(i64::MAX, i64::from)];
        let sql = select!(
            word_index,
            "FROM word_indexes WHERE agent_id = $1 AND",
            lives!(),
            "ORDER BY part LIMIT $3"
        );
        self.all(scope, sql, values, decode::word_index).await
    }

    async fn keep_word_index(
        &self,
        scope: AgentScope,
        expected_version: u64,
        parts: Vec<WordIndexRow>,
    ) -> Result<bool> {
        let forget = "DELETE FROM word_indexes WHERE agent_id = $1";
        let forget = Statement::new(forget, values![scope.agent.as_bytes()]);
        let table = "word_indexes";
        let values = values![
            scope.agent.as_bytes(),
            counts(&parts, table, "part", |row| row.part)?,
            counts(&parts, table, "version", |row| row.version)?,
            counts(&parts, table, "last_seq", |row| row.last_seq)?,
            Value::ByteLists(parts.iter().map(|row| Some(&row.hash[..])).collect()),
            Value::ByteLists(parts.iter().map(|row| Some(&row.body.0[..])).collect()),
        ];
        let keep = "INSERT INTO word_indexes (agent_id, part, version, last_seq, hash, body) \
             SELECT $1, given.part, given.version, given.last_seq, given.hash, given.body \
             FROM unnest($2, $3, $4, $5, $6) AS given (part, version, last_seq, hash, body)";
        let statements = vec![forget, Statement::new(keep, values)];
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
