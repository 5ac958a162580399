//! Stored indexes of agents' words. Storing one locks the agent first, as a commit does: none is stored for an agent
//! whose words are being shredded.

use async_trait::async_trait;
use memoir_domain::AgentScope;
use memoir_store::{Result, WordIndexRow, WordIndexes, decode, select};

use crate::{
    PostgresStore,
    pool::{Reach, Statement},
    value::{Value, count, counts},
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
        let values = scoped![scope, count(expected_version, "agents", "version")?];
        // Divides by nothing where the version is another one, as for summaries of the log.
        let hold = "SELECT 1 / count(*) FROM (SELECT 1 FROM agents WHERE id = $1 AND account_id = $2 \
             AND version = $3 AND erased_at IS NULL FOR NO KEY UPDATE) AS held";
        let forget = "DELETE FROM word_indexes WHERE agent_id = $1";
        let mut statements = vec![
            Statement::new(hold, values),
            Statement::new(forget, values![scope.agent.as_bytes()]),
        ];
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
        statements.push(Statement::new(keep, values));
        self.write_where_held(scope, &statements).await
    }

    async fn forget_word_indexes(&self) -> Result<()> {
        let forget = [Statement::new("DELETE FROM word_indexes", values![])];
        self.connections.write(Reach::Fleet, &forget).await?;
        Ok(())
    }
}
