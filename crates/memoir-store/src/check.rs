//! Rules over the rows of a database. Findings name tables, numbers and identifiers, never words.

use memoir_domain::{AgentId, TokenId};

use crate::{
    Finding, Result,
    decode::{Columns, DatabaseRow},
};

/// A rule over rows: the statement that finds what breaks it, the table of its first column, and what is said of a row.
pub struct Rule {
    table: &'static str,
    /// The statement.
    pub sql: &'static str,
    problem: fn(&mut Columns<'_>) -> Result<String>,
    advice: &'static str,
}

impl Rule {
    /// Reads a row of the statement.
    ///
    /// # Errors
    /// [`Error::Inconsistent`](crate::Error::Inconsistent).
    pub fn read(&self, row: &dyn DatabaseRow) -> Result<Finding> {
        let problem = (self.problem)(&mut Columns::new(row, self.table))?;
        Ok(Finding::new(problem, self.advice))
    }
}

/// The rules that every store checks.
// Of two tables each column is named with its own: a column that a newer version adds to the other one would make the
// name ambiguous, or another column's.
pub const RULES: &[Rule] = &[
    // Prompts of every agent.
    Rule {
        table: "agents",
        sql: "SELECT agents.id FROM agents \
              WHERE NOT EXISTS (SELECT 1 FROM agent_prompts WHERE agent_prompts.agent_id = agents.id) LIMIT 20",
        problem: |columns| {
            let agent: AgentId = columns.id()?;
            Ok(format!("table `agent_prompts`: row {agent} is missing"))
        },
        advice: Finding::RESTORE,
    },
    // Each log from 1 without gaps, up to where the agent says that it ends.
    Rule {
        table: "agents",
        sql: "SELECT id, next_seq, entries, last, first FROM (SELECT agents.id AS id, agents.next_seq AS next_seq, \
                  (SELECT count(*) FROM audit_records AS record WHERE record.agent_id = agents.id) AS entries, \
                  (SELECT coalesce(max(record.seq), 0) FROM audit_records AS record \
                      WHERE record.agent_id = agents.id) AS last, \
                  (SELECT coalesce(min(record.seq), 1) FROM audit_records AS record \
                      WHERE record.agent_id = agents.id) AS first \
                  FROM agents) AS log \
              WHERE first <> 1 OR last <> entries OR next_seq <> last + 1 LIMIT 20",
        problem: |columns| {
            let agent: AgentId = columns.id()?;
            let next_seq = columns.count()?;
            let (count, last, first) = (columns.count()?, columns.count()?, columns.count()?);
            Ok(format!(
                "table `audit_records`: the log of {agent} has {count} records from {first} to {last}, and its next one would be {next_seq}"
            ))
        },
        advice: Finding::COMPARE,
    },
    // The head kept with each agent against the last record of its log.
    Rule {
        table: "agents",
        sql: "SELECT agents.id, record.seq FROM agents \
              JOIN audit_records AS record ON record.agent_id = agents.id AND record.seq = agents.next_seq - 1 \
              WHERE record.hash <> agents.head LIMIT 20",
        problem: |columns| {
            let agent: AgentId = columns.id()?;
            let last = columns.count()?;
            let problem = format!("the head of {agent} is not the hash of its record {last}");
            Ok(format!("table `agents`: {problem}"))
        },
        advice: Finding::ALTERED,
    },
    // The entries over all logs from 0 without gaps.
    Rule {
        table: "log_leaves",
        sql: "SELECT entries, first, last FROM (SELECT count(*) AS entries, \
                  min(position) AS first, max(position) AS last FROM log_leaves) AS log \
              WHERE entries > 0 AND (first <> 0 OR last <> entries - 1)",
        problem: |columns| {
            let (entries, first, last) = (columns.count()?, columns.count()?, columns.count()?);
            let problem = format!("it has {entries} entries, from {first} to {last}");
            Ok(format!("table `log_leaves`: {problem}"))
        },
        advice: Finding::COMPARE,
    },
    // Each entry over all logs against the log that it is about.
    Rule {
        table: "log_leaves",
        sql: "SELECT log_leaves.position, log_leaves.agent_id, log_leaves.seq, agents.id IS NULL FROM log_leaves \
              LEFT JOIN agents ON agents.id = log_leaves.agent_id \
              LEFT JOIN audit_records AS record \
                  ON record.agent_id = log_leaves.agent_id AND record.seq = log_leaves.seq \
              WHERE agents.id IS NULL OR record.hash <> log_leaves.head LIMIT 20",
        problem: |columns| {
            let position = columns.count()?;
            let agent: AgentId = columns.id()?;
            let seq = columns.count()?;
            let problem = match columns.flag()? {
                true => format!("is about {agent}, which does not exist"),
                false => format!("has another hash for record {seq} of {agent} than its log"),
            };
            Ok(format!("table `log_leaves`: row {position} {problem}"))
        },
        advice: Finding::ALTERED,
    },
    // Tokens only of agents that their account has.
    Rule {
        table: "tokens",
        sql: "SELECT tokens.id, tokens.agent_id FROM tokens \
              LEFT JOIN agents ON agents.id = tokens.agent_id AND agents.account_id = tokens.account_id \
              WHERE tokens.agent_id IS NOT NULL AND agents.id IS NULL LIMIT 20",
        problem: |columns| {
            let token: TokenId = columns.id()?;
            let agent: AgentId = columns.id()?;
            let problem = format!("row {token} is of {agent}, which its account has not");
            Ok(format!("table `tokens`: {problem}"))
        },
        advice: Finding::ALTERED,
    },
];
