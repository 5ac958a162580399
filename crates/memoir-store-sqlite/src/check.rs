//! The store's check of itself. Findings name tables, numbers and identifiers, never words.

use memoir_domain::text::counted;
use memoir_store::{
    Error, Finding,
    check::{RULES, Rule},
};
use rusqlite::Connection;

use crate::{
    agent::all,
    decode::{READERS, SqliteRow},
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
            Err(fault) => findings.push(Finding::new(
                Error::from(fault).to_string(),
                Finding::RESTORE,
            )),
        }
    }
    Ok(findings)
}

fn pages(connection: &Connection) -> Result<Vec<Finding>> {
    let mut statement = connection.prepare("PRAGMA quick_check(20)")?;
    let mut rows = statement.query([])?;
    let mut findings = Vec::new();
    while let Some(row) = rows.next()? {
        let word: String = row.get(0)?;
        if word != "ok" {
            let problem = format!("the database file is damaged: {word}");
            findings.push(Finding::new(problem, Finding::RESTORE));
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
        findings.push(Finding::new(problem, Finding::RESTORE));
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
                findings.push(Finding::new(error.to_string(), Finding::RESTORE));
            }
        }
    }
    Ok(findings)
}

fn breaches(connection: &Connection, rule: &Rule) -> Result<Vec<Finding>> {
    all(connection, rule.sql, (), |row| rule.read(row))
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
