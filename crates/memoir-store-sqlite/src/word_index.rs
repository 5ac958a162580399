//! Stored indexes of agents' words.

use memoir_domain::AgentScope;
use memoir_store::{Commit, WordIndexRow};
use rusqlite::{Connection, params};

use crate::{
    agent::{all, exists},
    decode::{self, word_index_columns},
    encode::{BoundText, count},
    error::Result,
    fault,
    reader::ReadTransaction,
    writer::WriteOutcome,
};

const PARTS: &str = concat!(
    "SELECT ",
    word_index_columns!(),
    " FROM word_indexes WHERE agent_id = ?1 ORDER BY part LIMIT ?2"
);

/// The first parts of an agent's index, in their order.
pub(crate) fn parts(
    connection: &Connection,
    scope: AgentScope,
    limit: Option<u32>,
) -> Result<Vec<WordIndexRow>> {
    let _view = ReadTransaction::new(connection)?;
    if !exists(connection, scope)? {
        return Ok(Vec::new());
    }
    // A negative limit is none.
    let limit = limit.map_or(-1, i64::from);
    let values = params![scope.agent.as_bytes(), limit];
    all(connection, PARTS, values, decode::word_index)
}

/// Keeps an index where the agent is of that version.
pub(crate) fn keep(
    connection: &Connection,
    scope: AgentScope,
    expected_version: u64,
    parts: &[WordIndexRow],
) -> Result<WriteOutcome<bool>> {
    let version = count(expected_version, "agents", "version")?;
    // An index with words that are being shredded must not be kept. Every shredding increments the agent's version, and
    // only one transaction writes at a time.
    let is_as_expected: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND account_id = ?2 AND version = ?3 \
                 AND erased_at IS NULL)",
        )?
        .query_row(
            params![scope.agent.as_bytes(), scope.account.as_bytes(), version],
            |row| row.get(0),
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
    for part in parts {
        insert.execute(params![
            scope.agent.as_bytes(),
            count(part.part, "word_indexes", "part")?,
            count(part.version, "word_indexes", "version")?,
            count(part.last_seq, "word_indexes", "last_seq")?,
            part.hash,
            BoundText(&part.body),
        ])?;
    }
    fault::point("word_index.kept");
    Ok(WriteOutcome::with(true))
}

/// Deletes the index of an agent whose words a decision removes.
pub(crate) fn follow(connection: &Connection, commit: &Commit) -> Result<()> {
    match commit.removes_words() {
        true => forget(connection, commit.agent.scope.agent.as_bytes()),
        false => Ok(()),
    }
}

fn forget(connection: &Connection, agent: &[u8; 16]) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM word_indexes WHERE agent_id = ?1")?
        .execute([agent])?;
    Ok(())
}

/// Deletes those of all agents.
pub(crate) fn forget_all(connection: &Connection) -> Result<WriteOutcome<()>> {
    connection
        .prepare_cached("DELETE FROM word_indexes")?
        .execute([])?;
    Ok(WriteOutcome::DONE)
}
