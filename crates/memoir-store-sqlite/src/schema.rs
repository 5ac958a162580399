//! The form of the database: its tables, indexes and triggers, held against those that the migrations make.
//!
//! Whoever can write to the file can also take a trigger away that keeps the log as it is, add one that
//! swallows a record, or put a view in the place of a table. So the form is looked at whenever the file is
//! opened and verified, and before each transaction for which SQLite says that it was changed since: the lock
//! is held then, and what was looked at stays until the transaction has ended. What another version of Memoir
//! added by a migration that it recorded is passed over.

use std::{collections::BTreeSet, sync::OnceLock};

use data_encoding::HEXLOWER;
use memoir_store::Finding;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::{
    error::{Result, inconsistent},
    migrate,
};

/// What [`fingerprint`] gives for the form that the migrations make. Making it takes longer than all else that a
/// process does before its first row: that is left to where something is to be named.
const FINGERPRINT: &str = "bdf45541a69c0b80d5ce19033951b258175db544d4d1a442f74fb5e32051f480";
/// Differences that are named.
const NAMED: usize = 20;
const RESTORE: &str = "keep a copy of the file, and restore the last backup; what somebody added on purpose is \
     taken away with `DROP`";

/// A table, index, trigger or view.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SchemaObject {
    /// The kind: `table`, `index`, `trigger` or `view`.
    kind: String,
    name: String,
    /// The table that it belongs to.
    table: String,
    /// As it was made; `None` for an index that SQLite makes by itself.
    sql: Option<String>,
}

/// Which form a connection has last found to be right: SQLite's own number of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CheckedSchema(Option<i64>);

/// Makes sure that the form is the one that the migrations make, unless it is as it was when it was last found
/// to be. Inside a transaction that writes, so that it stays.
pub(crate) fn check(connection: &Connection, looked: &mut CheckedSchema) -> Result<()> {
    let number = connection
        .prepare_cached("PRAGMA schema_version")?
        .query_row([], |row| row.get(0))?;
    // SQLite counts this number up with every change of the form, by whichever process. Whoever
    // changes bytes of the file beside it can keep the number as it was: that is found when the
    // file is next opened or verified, where everything is looked at whatever the number says.
    if looked.0 == Some(number) {
        return Ok(());
    }
    if let Some(problem) = problems(connection)?.into_iter().next() {
        return Err(inconsistent("sqlite_schema", problem));
    }
    *looked = CheckedSchema(Some(number));
    Ok(())
}

/// What is not as the migrations make it.
pub(crate) fn findings(connection: &Connection) -> Result<Vec<Finding>> {
    let problems = problems(connection)?.into_iter().take(NAMED);
    let finding = |problem| Finding {
        problem: format!(
            "the form of the database was changed by somebody else than Memoir: {problem}"
        ),
        advice: RESTORE.to_owned(),
    };
    Ok(problems.map(finding).collect())
}

fn problems(connection: &Connection) -> Result<Vec<String>> {
    let found = objects(connection)?;
    if fingerprint(&found) == FINGERPRINT {
        return Ok(Vec::new());
    }
    // The version is a number in the file that anybody who writes to it can raise. That lets them
    // add objects of other names and nothing else: what Memoir made has to be there as it was made,
    // whatever the number says.
    let is_newer = matches!(migrate::format(connection)?, migrate::FileFormat::Newer(_));
    let expected = expected()?;
    let named = |object: &SchemaObject| format!("{} `{}`", object.kind, object.name);
    let same_name = |one: &SchemaObject, other: &SchemaObject| {
        (&one.kind, &one.name) == (&other.kind, &other.name)
    };
    let mut problems = Vec::new();
    for missing in expected.difference(&found) {
        let is_there = found.iter().any(|one| same_name(one, missing));
        problems.push(match is_there {
            true => format!("{} is another one than was made", named(missing)),
            false => format!("{} is missing", named(missing)),
        });
    }
    let added = found.difference(expected);
    let is_known = |object: &SchemaObject| expected.iter().any(|one| same_name(one, object));
    if !is_newer {
        let foreign = added.filter(|object| !is_known(object) && !is_of_analysis(object));
        problems.extend(foreign.map(|object| format!("{} is not Memoir's", named(object))));
    }
    Ok(problems)
}

/// Whether it is one of the tables that `ANALYZE` makes, which hold counts only.
fn is_of_analysis(object: &SchemaObject) -> bool {
    let own = [
        ("sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
        (
            "sqlite_stat4",
            "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
        ),
    ];
    own.contains(&(&*object.name, object.sql.as_deref().unwrap_or_default()))
}

fn objects(connection: &Connection) -> Result<BTreeSet<SchemaObject>> {
    let objects = connection
        .prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_schema")?
        .query_map([], |row| {
            Ok(SchemaObject {
                kind: row.get(0)?,
                name: row.get(1)?,
                table: row.get(2)?,
                sql: row.get(3)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(objects)
}

/// What the migrations make.
fn expected() -> Result<&'static BTreeSet<SchemaObject>> {
    static EXPECTED: OnceLock<BTreeSet<SchemaObject>> = OnceLock::new();
    if let Some(expected) = EXPECTED.get() {
        return Ok(expected);
    }
    let scratch = Connection::open_in_memory()?;
    migrate::make(&scratch)?;
    // Two threads may come this far at the same time; both make the same, and one of them is kept.
    let made = objects(&scratch)?;
    Ok(EXPECTED.get_or_init(|| made))
}

/// Tells one form from every other one.
fn fingerprint(objects: &BTreeSet<SchemaObject>) -> String {
    let mut hash = Sha256::new();
    for object in objects {
        let sql = object.sql.as_deref();
        for part in [
            Some(&*object.kind),
            Some(&object.name),
            Some(&object.table),
            sql,
        ] {
            // No text is as long as what stands for none.
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            // The length goes before each part, so that no letter can move from one part to the
            // next and leave the hash as it is.
            hash.update(length.to_le_bytes());
            hash.update(part.unwrap_or_default());
        }
    }
    HEXLOWER.encode(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_4_1_the_form_that_needs_no_second_look_is_the_one_that_the_migrations_make() {
        let made = expected().unwrap();
        assert_eq!(fingerprint(made), FINGERPRINT);
        for (at, object) in made.iter().enumerate() {
            let without: BTreeSet<SchemaObject> =
                made.iter().filter(|one| *one != object).cloned().collect();
            assert_ne!(fingerprint(&without), FINGERPRINT, "{at}");
            let other = SchemaObject {
                sql: Some("CREATE TABLE theirs (words)".to_owned()),
                ..object.clone()
            };
            let mut with = without;
            with.insert(other);
            assert_ne!(fingerprint(&with), FINGERPRINT, "{at}");
        }
    }
}
