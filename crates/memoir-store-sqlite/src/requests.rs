//! Access requests (SPEC 5.2).

use memoir_domain::AgentScope;
use memoir_store::{AccessRow, replacing, select, written};
use rusqlite::Connection;

use crate::{
    agent::{all, bytes},
    decode,
    encode::{self, of_agent},
    error::{Result, inconsistent},
};

const OPEN_OF: &str = select!(
    access_request,
    "FROM access_requests WHERE agent_id = ?1 AND state IN ('asked', 'granted') \
         AND EXISTS (SELECT 1 FROM agents WHERE agents.id = ?1 AND account_id = ?2)"
);

/// The agent's requests that are open, oldest first.
pub(crate) fn open_of(connection: &Connection, scope: AgentScope) -> Result<Vec<AccessRow>> {
    let mut rows = all(connection, OPEN_OF, bytes(scope), decode::access_request)?;
    // Sorted here: the index of open requests has no time, and an agent has a handful at most.
    rows.sort_by_key(|row| (row.columns.requested_at, row.id));
    Ok(rows)
}

/// Writes requests: new ones, and the outcomes of open ones.
pub(crate) fn write(
    connection: &Connection,
    agent: &[u8; 16],
    requests: &[AccessRow],
) -> Result<()> {
    if requests.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(concat!(
        "INSERT INTO access_requests (agent_id, ",
        written!(access_request),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        replacing!(access_request)
    ))?;
    for request in requests {
        if statement.execute(of_agent(agent, encode::access_request(request)?))? == 0 {
            // No conflict: the agent's version was right, and ending a request increments it. Only a process outside
            // Memoir can have ended the row under the same version.
            let problem = format!("{} is another request, or is over", request.id);
            return Err(inconsistent("access_requests", problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::plan;

    #[test]
    fn requests_are_found_by_an_index() {
        for (sql, expected) in [
            (
                memoir_store::ACCESS_PAGE,
                "SEARCH access_requests USING INDEX access_requests_by_time",
            ),
            (
                OPEN_OF,
                "SEARCH access_requests USING INDEX access_requests_open",
            ),
            (
                memoir_store::OPEN_ACCESS,
                "SCAN access_requests USING INDEX access_requests_ending",
            ),
        ] {
            let steps = plan(sql);
            let is_by_index = steps.iter().any(|step| step.starts_with(expected));
            let is_sorted = steps.iter().any(|step| step.contains("TEMP B-TREE"));
            assert!(is_by_index && !is_sorted, "{steps:?}");
        }
    }
}
