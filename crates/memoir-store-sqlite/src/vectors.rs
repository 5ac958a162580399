//! Vectors of memories.

use std::collections::BTreeSet;

use async_trait::async_trait;
use memoir_domain::{AgentScope, memory::Number};
use memoir_store::{
    Database, MemoryRow, Result, Value, VectorRow, Vectors, select, values, written,
};
use rusqlite::{Connection, params, params_from_iter};

use crate::{
    SqliteStore,
    agent::exists,
    decode,
    encode::{self, Bound, number},
    error, fault,
    writer::WriteOutcome,
};

/// Whether the agent is the account's and lives.
macro_rules! lives {
    () => {
        "EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2 AND erased_at IS NULL)"
    };
}

#[async_trait]
impl Vectors for SqliteStore {
    async fn vectors(
        &self,
        scope: AgentScope,
        model: &str,
        of: &[Number],
    ) -> Result<Vec<VectorRow>> {
        // `CROSS` keeps this order: SQLite takes an agent to have few memories, and would read all vectors of it.
        let sql = select!(
            vector,
            "FROM json_each(?4) AS asked CROSS JOIN memory_vectors ON memory_vectors.number = asked.value \
             CROSS JOIN memories USING (agent_id, number, version) \
             WHERE agent_id = ?1 AND model = ?3 AND discarded_at IS NULL AND ",
            lives!()
        );
        let of: BTreeSet<u64> = of.iter().map(|one| one.0).collect();
        let of = format!("{:?}", Vec::from_iter(of));
        let AgentScope { agent, account } = scope;
        let values = values![agent.as_bytes(), account.as_bytes(), model, &*of];
        self.rows(scope.into(), sql, &values, decode::vector).await
    }

    async fn keep_vectors(&self, scope: AgentScope, vectors: Vec<VectorRow>) -> Result<u64> {
        let rows = vectors.len();
        self.write(rows, move |connection| {
            let sql = concat!(
                // To make a vector takes a server some time, in which the memory may have been edited or
                // shredded: it is kept only where the row is still of the version that it was made of.
                "INSERT INTO memory_vectors (agent_id, ",
                written!(vector),
                ") SELECT ?1, ?3, ?4, ?5, ?6 FROM memories WHERE agent_id = ?1 AND number = ?3 \
             AND version = ?4 AND discarded_at IS NULL AND ",
                lives!(),
                " ON CONFLICT (agent_id, number, model) DO UPDATE \
         SET version = excluded.version, body = excluded.body"
            );
            let mut insert = connection.prepare_cached(sql)?;
            let mut kept = 0;
            for vector in &vectors {
                let values = [
                    Value::from(scope.agent.as_bytes()),
                    scope.account.as_bytes().into(),
                ];
                let values = values.into_iter().chain(encode::vector(vector)?).map(Bound);
                kept += insert.execute(params_from_iter(values))?;
            }
            fault::point("vectors.kept");
            Ok(WriteOutcome::when(kept > 0, kept as u64))
        })
        .await
    }
}

/// Deletes those of rewritten memories.
pub(crate) fn forget(
    connection: &Connection,
    agent: &[u8; 16],
    memories: &[MemoryRow],
) -> error::Result<()> {
    if memories.is_empty() {
        return Ok(());
    }
    // Most agents have none, and a deletion takes a table of its own for the rows that it finds.
    let any = "SELECT 1 FROM memory_vectors WHERE agent_id = ?1";
    if !exists(connection, any, [agent])? {
        return Ok(());
    }
    let mut delete = connection
        .prepare_cached("DELETE FROM memory_vectors WHERE agent_id = ?1 AND number = ?2")?;
    for memory in memories {
        delete.execute(params![agent, number(memory.number, "memory_vectors")?])?;
    }
    Ok(())
}
