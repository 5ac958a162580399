//! The store's check of itself. Findings name tables, numbers and identifiers, never words.

use memoir_domain::{AgentId, TokenId, text::counted};
use memoir_store::{Error, Finding};
use rusqlite::Connection;

use crate::{
    agent::all,
    decode::{Columns, READERS, SqliteRow},
    error::Result,
    reader::ReadTransaction,
    schema, scrub,
};

/// Findings of one kind that are named; a broken table would otherwise fill screens.
const NAMED: usize = 20;

pub(crate) fn check(connection: &Connection) -> Result<Vec<Finding>> {
    // One view for all parts: with a writer beside it, counts of different instants would disagree
    // where nothing is wrong.
    let _view = ReadTransaction::new(connection)?;
    let mut findings = Vec::new();
    let parts = [schema::findings, pages, references, rows].into_iter();
    let parts = parts.map(|part| part(connection));
    let rules = RULES.iter().map(|rule| breaches(connection, rule));
    for part in parts.chain(rules).chain([residues(connection)]) {
        match part {
            Ok(found) => findings.extend(found),
            // A part that cannot even be read is a finding too, and no reason to leave out the others.
            Err(fault) => findings.push(Finding::new(Error::from(fault).to_string(), RESTORE)),
        }
    }
    Ok(findings)
}

const RESTORE: &str = "stop Memoir, keep a copy of the database file, and restore the last backup";

fn pages(connection: &Connection) -> Result<Vec<Finding>> {
    let mut statement = connection.prepare("PRAGMA quick_check(20)")?;
    let mut rows = statement.query([])?;
    let mut findings = Vec::new();
    while let Some(row) = rows.next()? {
        let word: String = row.get(0)?;
        if word != "ok" {
            let problem = format!("the database file is damaged: {word}");
            findings.push(Finding::new(problem, RESTORE));
        }
    }
    Ok(findings)
}

fn references(connection: &Connection) -> Result<Vec<Finding>> {
    let mut statement = connection.prepare(
        "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2",
    )?;
    let mut rows = statement.query([])?;
    let mut findings = Vec::new();
    while let Some(row) = rows.next()? {
        let (table, parent, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let count = counted(count.unsigned_abs(), "row refers", "rows refer");
        let problem = format!("table `{table}`: {count} to rows of `{parent}` that do not exist");
        findings.push(Finding::new(problem, RESTORE));
    }
    Ok(findings)
}

/// Reads every row as ordinary queries would.
fn rows(connection: &Connection) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (table, columns, read) in READERS {
        let mut statement = connection.prepare(&format!("SELECT {columns} FROM {table}"))?;
        let mut rows = statement.query([])?;
        let mut named = 0;
        while let Some(row) = rows.next()? {
            if let Err(error) = read(&SqliteRow(row))
                && named < NAMED
            {
                named += 1;
                findings.push(Finding::new(error.to_string(), RESTORE));
            }
        }
    }
    Ok(findings)
}

/// A rule over rows: the statement that finds what breaks it, the table of its first column, and what is said of a row.
struct Rule {
    table: &'static str,
    sql: &'static str,
    problem: fn(&mut Columns<'_>) -> memoir_store::Result<String>,
    advice: &'static str,
}

const RULES: [Rule; 6] = [
    // Prompts of every agent.
    Rule {
        table: "agents",
        sql: "SELECT id FROM agents \
              WHERE NOT EXISTS (SELECT 1 FROM agent_prompts WHERE agent_id = id) LIMIT 20",
        problem: |columns| {
            let agent: AgentId = columns.id()?;
            Ok(format!("table `agent_prompts`: row {agent} is missing"))
        },
        advice: RESTORE,
    },
    // Each log from 1 without gaps, up to where the agent says that it ends.
    Rule {
        table: "agents",
        sql: "SELECT id, next_seq, entries, last, first FROM (SELECT id, next_seq, \
                  (SELECT count(*) FROM audit_records WHERE agent_id = id) AS entries, \
                  (SELECT coalesce(max(seq), 0) FROM audit_records WHERE agent_id = id) AS last, \
                  (SELECT coalesce(min(seq), 1) FROM audit_records WHERE agent_id = id) AS first \
                  FROM agents) \
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
        sql: "SELECT id, seq FROM agents \
              JOIN audit_records ON agent_id = id \
                  AND seq = (SELECT max(seq) FROM audit_records WHERE agent_id = id) \
              WHERE hash <> head LIMIT 20",
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
                  min(position) AS first, max(position) AS last FROM log_leaves) \
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
        sql: "SELECT position, log_leaves.agent_id, log_leaves.seq, agents.id IS NULL FROM log_leaves \
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
        sql: "SELECT tokens.id, agent_id FROM tokens \
              LEFT JOIN agents ON agents.id = agent_id AND agents.account_id = tokens.account_id \
              WHERE agent_id IS NOT NULL AND agents.id IS NULL LIMIT 20",
        problem: |columns| {
            let token: TokenId = columns.id()?;
            let agent: AgentId = columns.id()?;
            let problem = format!("row {token} is of {agent}, which its account has not");
            Ok(format!("table `tokens`: {problem}"))
        },
        advice: Finding::ALTERED,
    },
];

fn breaches(connection: &Connection, rule: &Rule) -> Result<Vec<Finding>> {
    all(connection, rule.sql, (), |row| {
        let problem = (rule.problem)(&mut Columns::new(row, rule.table))?;
        Ok(Finding::new(problem, rule.advice))
    })
}

/// Shredded text of a log that is still in the file.
fn residues(connection: &Connection) -> Result<Vec<Finding>> {
    Ok(match scrub::is_pending(connection)? {
        false => Vec::new(),
        true => vec![Finding::new(
            "table `residues`: shredded text of a log is still on the disk, since others read \
             meanwhile"
                .to_owned(),
            "end all other readers of the database file; then any command removes it, as `memoir sweep`, \
             and `memoir serve` does every minute",
        )],
    })
}
