//! Compares the schema (tables, indexes and triggers) with the one that the migrations make.
//!
//! With write access to the file, a process can remove a trigger that protects the log, add one that swallows a record,
//! or replace a table by a view. The schema is therefore checked when the file is opened and verified, and before each
//! transaction for which SQLite reports a change of it. The lock is held then, so that the schema cannot change before
//! the transaction ends. Additions by recorded migrations of another version are ignored.

use std::{collections::BTreeSet, sync::OnceLock};

use data_encoding::HEXLOWER;
use memoir_store::Finding;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::{
    error::{Result, inconsistent},
    migrate,
};

/// The [`fingerprint`] of the migrations' schema. Making the schema takes longer than all else before a process's first
/// row, so that it is only made to name differences.
const FINGERPRINT: &str = "0b528d33daa3f5af6acfbceae3eebae4da828d2205170a746ef723815b97fe35";
/// Differences that are named.
const NAMED: usize = 20;
const RESTORE: &str = "keep a copy of the file, and restore the last backup; remove deliberate additions \
     with `DROP`";

/// A table, index, trigger or view.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SchemaObject {
    /// The kind: `table`, `index`, `trigger` or `view`.
    kind: String,
    name: String,
    table: String,
    /// As it was made; `None` for an index that SQLite makes by itself.
    sql: Option<String>,
}

/// Which form a connection has last found to be right: SQLite's own number of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CheckedSchema(Option<i64>);

/// Checks that the schema is the one that the migrations make, unless it is unchanged since the last check. Inside a
/// transaction that writes, so that it cannot change.
pub(crate) fn check(connection: &Connection, looked: &mut CheckedSchema) -> Result<()> {
    let number = connection
        .prepare_cached("PRAGMA schema_version")?
        .query_row([], |row| row.get(0))?;
    // SQLite increments this number with every change of the schema, by any process. A change of the file's bytes can
    // keep the number; the complete check when the file is next opened or verified finds that.
    if looked.0 == Some(number) {
        return Ok(());
    }
    if let Some(problem) = problems(connection)?.into_iter().next() {
        return Err(inconsistent("sqlite_schema", problem));
    }
    *looked = CheckedSchema(Some(number));
    Ok(())
}

/// Differences from the migrations' schema.
pub(crate) fn findings(connection: &Connection) -> Result<Vec<Finding>> {
    let problems = problems(connection)?.into_iter().take(NAMED);
    let finding = |problem| {
        let about = "integrity check failed: the schema was modified outside Memoir";
        Finding::new(format!("{about}: {problem}"), RESTORE)
    };
    Ok(problems.map(finding).collect())
}

fn problems(connection: &Connection) -> Result<Vec<String>> {
    let found = objects(connection)?;
    if fingerprint(&found) == FINGERPRINT {
        return Ok(Vec::new());
    }
    // The version is a number in the file that any process with write access can raise. That only permits additional
    // objects of other names: Memoir's own objects must be unchanged, whatever the number is.
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

/// Hash over the kind, name, table and SQL of every object.
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
            // No text has the length that marks a missing part.
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
