//! Vectors of memories.

use memoir_domain::{AgentScope, memory::Number};
use memoir_store::{MemoryRow, VectorRow};
use rusqlite::{Connection, params};

use crate::{
    agent::{all, first},
    decode::{self, memory_columns, vector_columns},
    encode::{BoundText, count, number},
    error::Result,
    fault,
    reader::ReadTransaction,
    writer::WriteOutcome,
};

/// Whether the agent is the account's and lives.
macro_rules! lives {
    () => {
        "EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2 AND erased_at IS NULL)"
    };
}

/// Vectors of memories as they are.
macro_rules! as_they_are {
    () => {
        concat!(
            "SELECT ",
            vector_columns!(),
            " FROM memory_vectors JOIN memories USING (agent_id, number, version) \
             WHERE agent_id = ?1 AND model = ?3 AND discarded_at IS NULL AND ",
            lives!()
        )
    };
}

/// Those of one model.
pub(crate) fn of_model(
    connection: &Connection,
    scope: AgentScope,
    model: &str,
    of: Option<&[Number]>,
) -> Result<Vec<VectorRow>> {
    let _view = ReadTransaction::new(connection)?;
    let (agent, account) = (scope.agent.as_bytes(), scope.account.as_bytes());
    let Some(of) = of else {
        let values = params![agent, account, model];
        return all(connection, as_they_are!(), values, decode::vector);
    };
    let mut found = Vec::with_capacity(of.len());
    for one in of {
        // No memory has a number that SQLite cannot hold.
        let Ok(one) = number(*one, "memory_vectors") else {
            continue;
        };
        let sql = concat!(as_they_are!(), " AND number = ?4");
        found.extend(first(
            connection,
            sql,
            params![agent, account, model, one],
            decode::vector,
        )?);
    }
    Ok(found)
}

/// How many there are of each model.
pub(crate) fn models(connection: &Connection, scope: AgentScope) -> Result<Vec<(String, u64)>> {
    let sql = concat!(
        "SELECT model, count(*) FROM memory_vectors WHERE agent_id = ?1 AND ",
        lives!(),
        " GROUP BY model ORDER BY model"
    );
    let values = [scope.agent.as_bytes(), scope.account.as_bytes()];
    all(connection, sql, values, decode::vector_model)
}

/// Active memories that one model has made none of.
pub(crate) fn lacking(
    connection: &Connection,
    scope: AgentScope,
    model: &str,
    after: u64,
    limit: u32,
) -> Result<Vec<MemoryRow>> {
    let Ok(after) = count(after, "memories", "number") else {
        return Ok(Vec::new());
    };
    let sql = concat!(
        "SELECT ",
        memory_columns!(),
        " FROM memories WHERE agent_id = ?1 AND number > ?4 AND discarded_at IS NULL AND ",
        lives!(),
        " AND NOT EXISTS (SELECT 1 FROM memory_vectors AS made WHERE made.agent_id = memories.agent_id \
             AND made.number = memories.number AND made.model = ?3 AND made.version = memories.version) \
         ORDER BY number LIMIT ?5"
    );
    let (agent, account) = (scope.agent.as_bytes(), scope.account.as_bytes());
    let values = params![agent, account, model, after, limit];
    all(connection, sql, values, decode::memory)
}

/// Keeps those of memories as they are.
pub(crate) fn keep(
    connection: &Connection,
    scope: AgentScope,
    vectors: &[VectorRow],
) -> Result<WriteOutcome<u64>> {
    let sql = concat!(
        // To make a vector takes a server some time, in which the memory may have been edited or
        // shredded: it is kept only where the row is still of the version that it was made of.
        "INSERT INTO memory_vectors (agent_id, number, model, version, body) \
         SELECT ?1, ?3, ?4, ?5, ?6 FROM memories WHERE agent_id = ?1 AND number = ?3 \
             AND version = ?5 AND discarded_at IS NULL AND ",
        lives!(),
        " ON CONFLICT (agent_id, number, model) DO UPDATE \
         SET version = excluded.version, body = excluded.body"
    );
    let mut insert = connection.prepare_cached(sql)?;
    let mut kept = 0;
    for vector in vectors {
        kept += insert.execute(params![
            scope.agent.as_bytes(),
            scope.account.as_bytes(),
            number(vector.number, "memory_vectors")?,
            vector.model,
            count(vector.version, "memory_vectors", "version")?,
            BoundText(&vector.body),
        ])?;
    }
    fault::point("vectors.kept");
    Ok(WriteOutcome {
        is_written: kept > 0,
        value: kept as u64,
    })
}

/// Deletes those of all models but one.
pub(crate) fn forget_models(
    connection: &Connection,
    scope: AgentScope,
    except: Option<&str>,
) -> Result<WriteOutcome<()>> {
    let gone = connection
        .prepare_cached(
            "DELETE FROM memory_vectors WHERE agent_id = ?1 AND model IS NOT ?3 \
             AND EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2)",
        )?
        .execute(params![
            scope.agent.as_bytes(),
            scope.account.as_bytes(),
            except
        ])?;
    fault::point("vectors.forgotten");
    Ok(WriteOutcome {
        is_written: gone > 0,
        value: (),
    })
}

/// Deletes those of rewritten memories.
pub(crate) fn forget(
    connection: &Connection,
    agent: &[u8; 16],
    memories: &[MemoryRow],
) -> Result<()> {
    if memories.is_empty() {
        return Ok(());
    }
    // Most agents have none, and a deletion takes a table of its own for the rows that it finds.
    let has_any = connection
        .prepare_cached("SELECT 1 FROM memory_vectors WHERE agent_id = ?1")?
        .exists([agent])?;
    if !has_any {
        return Ok(());
    }
    let mut delete = connection
        .prepare_cached("DELETE FROM memory_vectors WHERE agent_id = ?1 AND number = ?2")?;
    for memory in memories {
        delete.execute(params![agent, number(memory.number, "memory_vectors")?])?;
    }
    Ok(())
}

/// Deletes all of an agent's.
pub(crate) fn forget_all(connection: &Connection, agent: &[u8; 16]) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM memory_vectors WHERE agent_id = ?1")?
        .execute([agent])?;
    Ok(())
}
