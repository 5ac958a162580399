//! Vectors of memories. Storing some locks the agent first, as a commit does: none is stored for a memory that is being
//! rewritten.

use async_trait::async_trait;
use memoir_domain::{AgentScope, memory::Number};
use memoir_store::{
    Result, VectorRow, Vectors,
    decode::{self, Columns},
    encode, select, written,
};

use crate::{
    PostgresStore,
    value::{Value, columns, first},
};

#[async_trait]
impl Vectors for PostgresStore {
    async fn vectors(
        &self,
        scope: AgentScope,
        model: &str,
        of: &[Number],
    ) -> Result<Vec<VectorRow>> {
        // No memory has a number that the database cannot hold.
        let of = of.iter().filter_map(|one| i64::try_from(one.0).ok());
        let mut values = scoped![scope, model];
        values.push(Value::Integers(of.map(Some).collect()));
        let sql = select!(
            vector,
            "FROM memory_vectors JOIN memories USING (agent_id, number, version) \
             WHERE agent_id = $1 AND memory_vectors.model = $3 AND memories.discarded_at IS NULL AND ",
            lives!(),
            " AND number = ANY ($4)"
        );
        self.all(scope, sql, values, decode::vector).await
    }

    async fn keep_vectors(&self, scope: AgentScope, vectors: Vec<VectorRow>) -> Result<u64> {
        if vectors.is_empty() {
            return Ok(0);
        }
        let mut values = scoped![scope];
        values.extend(columns(&vectors, encode::vector)?);
        let sql = concat!(
            "WITH kept AS (INSERT INTO memory_vectors (agent_id, number, version, model, body) \
                 SELECT $1, given.number, given.version, given.model, given.body \
                 FROM unnest($3, $4, $5, $6) AS given (",
            written!(vector),
            ") \
                 JOIN memories ON memories.agent_id = $1 AND memories.number = given.number \
                     AND memories.version = given.version AND memories.discarded_at IS NULL \
                 WHERE ",
            lives!(),
            " ON CONFLICT (agent_id, number, model) DO UPDATE \
                 SET version = excluded.version, body = excluded.body RETURNING 1) \
             SELECT count(*) FROM kept"
        );
        // Without the lock, the row of a memory could be rewritten between the check of its version and the insertion.
        // The decision's own deletion would not find the uncommitted vector, and a shredded text would leave one behind.
        let kept = self.write_holding(scope, sql, values).await?;
        let kept = first(&kept, |row| Columns::new(row, "memory_vectors").count())?;
        Ok(kept.unwrap_or_default())
    }
}
