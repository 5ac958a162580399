//! What the fleet is doing at the moment. Reads indexes and the running sessions, no agent and no text.

use memoir_domain::session::Driver;
use memoir_store::{FleetLoad, HeldSessions};
use rusqlite::Connection;

use crate::{
    agent::first,
    decode::{Columns, session_counts},
    error::Result,
    reader::ReadTransaction,
};

/// Without the accounts' own logs, which are counted by the accounts: there are few of these.
const AGENTS: &str = "SELECT count(*) - (SELECT count(*) FROM accounts \
         WHERE EXISTS (SELECT 1 FROM agents WHERE agents.id = accounts.id)) \
     FROM agents WHERE erased_at IS NULL";

const WAITING: &str = "SELECT count(*), min(started_at) FROM sessions \
     WHERE driver = 'model' AND lease_until IS NULL AND state IN ('queued', 'asking', 'open')";

/// Ended sessions have no lease, so that only the running ones are read.
const HELD: &str = "SELECT count(*), min(lease_until) FROM sessions \
     WHERE lease_until IS NOT NULL AND driver = ?1 AND state IN ('queued', 'asking', 'open')";

/// Counts of one instant.
pub(crate) fn load(connection: &Connection) -> Result<FleetLoad> {
    let _view = ReadTransaction::new(connection)?;
    let agents = first(connection, AGENTS, [], |row| {
        Columns::new(row, "agents").count()
    })?;
    let (waiting, waiting_since) =
        first(connection, WAITING, [], session_counts)?.unwrap_or_default();
    let mut held = Vec::new();
    for (driver, name) in [(Driver::Agent, "agent"), (Driver::Model, "model")] {
        let counted = first(connection, HELD, [name], session_counts)?;
        if let Some((sessions, Some(first_until))) = counted {
            held.push(HeldSessions {
                driver,
                sessions,
                first_until,
            });
        }
    }
    Ok(FleetLoad {
        agents: agents.unwrap_or_default(),
        waiting,
        waiting_since,
        held,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::plan;

    #[test]
    fn no_agent_is_read_and_no_session_that_has_ended() {
        let counted = "SEARCH agents USING COVERING INDEX agents_living (erased_at=?)";
        assert_eq!(plan(AGENTS)[0], counted);
        // Each of these holds running sessions only.
        let indexes = ["sessions_running", "sessions_waiting", "sessions_by_lease"];
        for sql in [WAITING, HELD] {
            let steps = plan(sql);
            let [step] = steps.as_slice() else {
                panic!("{sql}: {steps:?}");
            };
            let uses_one = |index: &&str| step.contains(&format!(" USING INDEX {index}"));
            assert!(indexes.iter().any(uses_one), "{step}");
        }
    }
}
