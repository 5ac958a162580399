//! Vectors of memories. Storing some locks the agent first, as a commit does: none is stored for a memory that is being
//! rewritten.

use async_trait::async_trait;
use memoir_domain::{AgentScope, memory::Number};
use memoir_store::{
    MemoryRow, Result, VectorRow, Vectors,
    decode::{self, Columns},
    select,
};

use crate::{
    PostgresStore,
    pool::{Reach, Statement},
    value::{Value, all, count, scoped},
};

/// Whether the agent is the account's and lives.
macro_rules! lives {
    () => {
        "EXISTS (SELECT 1 FROM agents WHERE agents.id = $1 AND agents.account_id = $2 AND erased_at IS NULL)"
    };
}

/// Locks the agent. The next statement's condition reports a wrong account.
// Without the lock, the row of a memory could be rewritten between the check of its version and the insertion. The
// decision's own deletion would not find the uncommitted vector, and a shredded text would leave one behind.
const HOLD: &str = "SELECT id FROM agents WHERE id = $1 AND account_id = $2 FOR NO KEY UPDATE";

#[async_trait]
impl Vectors for PostgresStore {
    async fn vectors(
        &self,
        scope: AgentScope,
        model: &str,
        of: Option<&[Number]>,
    ) -> Result<Vec<VectorRow>> {
        let mut values = scoped(&scope);
        values.push(Value::Text(Some(model)));
        let sql = select!(
            vector,
            "FROM memory_vectors JOIN memories USING (agent_id, number, version) \
             WHERE agent_id = $1 AND memory_vectors.model = $3 AND memories.discarded_at IS NULL AND ",
            lives!()
        );
        let sql = match of {
            None => sql.to_owned(),
            Some(of) => {
                // No memory has a number that the database cannot hold.
                let of = of.iter().filter_map(|one| i64::try_from(one.0).ok());
                values.push(Value::Integers(of.map(Some).collect()));
                format!("{sql} AND number = ANY ($4)")
            }
        };
        all(
            &self.rows(Reach::Agent(scope), sql, values).await?,
            decode::vector,
        )
    }

    async fn vector_models(&self, scope: AgentScope) -> Result<Vec<(String, u64)>> {
        let sql = concat!(
            "SELECT model, count(*) FROM memory_vectors WHERE agent_id = $1 AND ",
            lives!(),
            " GROUP BY model ORDER BY model"
        );
        let rows = self.rows(Reach::Agent(scope), sql, scoped(&scope)).await?;
        all(&rows, decode::vector_model)
    }

    async fn without_vector(
        &self,
        scope: AgentScope,
        model: &str,
        after: u64,
        limit: u32,
    ) -> Result<Vec<MemoryRow>> {
        let Ok(after) = count(after, "memories", "number") else {
            return Ok(Vec::new());
        };
        let mut values = scoped(&scope);
        values.push(Value::Text(Some(model)));
        values.extend(values![after, limit]);
        let sql = select!(
            memory,
            "FROM memories WHERE agent_id = $1 AND number > $4 AND discarded_at IS NULL AND ",
            lives!(),
            " AND NOT EXISTS (SELECT 1 FROM memory_vectors AS made WHERE made.agent_id = memories.agent_id \
                 AND made.number = memories.number AND made.model = $3 AND made.version = memories.version) \
             ORDER BY number LIMIT $5"
        );
        all(
            &self.rows(Reach::Agent(scope), sql, values).await?,
            decode::memory,
        )
    }

    async fn keep_vectors(&self, scope: AgentScope, vectors: Vec<VectorRow>) -> Result<u64> {
        let whole = |value: &dyn Fn(&VectorRow) -> u64, name: &str| -> Result<Value<'static>> {
            let values = vectors.iter().map(value);
            let values = values.map(|value| count(value, "memory_vectors", name).map(Some));
            Ok(Value::Integers(values.collect::<Result<_>>()?))
        };
        let mut values = scoped(&scope);
        values.extend([
            whole(&|row| row.number.0, "number")?,
            whole(&|row| row.version, "version")?,
            Value::Texts(vectors.iter().map(|row| Some(row.model.as_str())).collect()),
            Value::ByteLists(vectors.iter().map(|row| Some(&row.body.0[..])).collect()),
        ]);
        let sql = concat!(
            "WITH kept AS (INSERT INTO memory_vectors (agent_id, number, version, model, body) \
                 SELECT $1, given.number, given.version, given.model, given.body \
                 FROM unnest($3, $4, $5, $6) AS given (number, version, model, body) \
                 JOIN memories ON memories.agent_id = $1 AND memories.number = given.number \
                     AND memories.version = given.version AND memories.discarded_at IS NULL \
                 WHERE ",
            lives!(),
            " ON CONFLICT (agent_id, number, model) DO UPDATE \
                 SET version = excluded.version, body = excluded.body RETURNING 1) \
             SELECT count(*) FROM kept"
        );
        let statements = [
            Statement::new(HOLD, scoped(&scope)),
            Statement::new(sql, values),
        ];
        let answers = self.write(Reach::Agent(scope), &statements).await?;
        let kept = answers.last().map(Vec::as_slice).unwrap_or_default();
        let kept = all(kept, |row| Columns::new(row, "memory_vectors").count())?;
        Ok(kept.first().copied().unwrap_or_default())
    }

    async fn forget_vectors(&self, scope: AgentScope, except: Option<&str>) -> Result<()> {
        let mut values = scoped(&scope);
        values.push(Value::Text(except));
        // With the stored index, which holds vectors too.
        let sql = "WITH gone AS (DELETE FROM memory_vectors WHERE agent_id = $1 AND model IS DISTINCT FROM $3 \
             AND EXISTS (SELECT 1 FROM agents WHERE agents.id = $1 AND agents.account_id = $2) RETURNING 1) \
             DELETE FROM word_indexes WHERE agent_id = $1 AND EXISTS (SELECT 1 FROM gone)";
        let statements = [
            Statement::new(HOLD, scoped(&scope)),
            Statement::new(sql, values),
        ];
        self.write(Reach::Agent(scope), &statements).await?;
        Ok(())
    }
}
