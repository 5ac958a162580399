//! The store's check of itself. Findings name tables, numbers and identifiers, never words.

use memoir_store::{Finding, Reach, Result, check::RULES, decode::READERS};

use crate::{
    migrate::MIGRATIONS,
    pool::{Connections, Statement, TransactionPurpose},
    value::{PostgresRow, all},
};

/// Findings of one kind that are named; a broken table would otherwise fill screens.
const NAMED: usize = 20;

/// Rows per fetch while a whole table is read.
const FETCHED: usize = 1_000;

/// Everything that is wrong with the database, as it is at one instant.
pub(crate) async fn check(connections: &Connections) -> Result<Vec<Finding>> {
    let mut findings = form(connections).await?;
    let mut connection = connections.take().await?;
    // Checking a large database is slow. One snapshot for all of it: writers continue beside it, and a cursor fetches
    // the rows in parts, so that neither side holds a table in memory.
    let opening = connection.opening(Reach::All, TransactionPurpose::Look);
    let mut opening = Some(opening + "; SET LOCAL statement_timeout = 0");
    connection.wait_without_limit();
    for (table, columns, read) in READERS {
        let declare = format!("DECLARE every NO SCROLL CURSOR FOR SELECT {columns} FROM {table}");
        connection
            .send(
                opening.take().as_deref(),
                &[Statement::new(declare, values![])],
                None,
            )
            .await?;
        let mut named = 0;
        loop {
            let fetch = Statement::new(format!("FETCH {FETCHED} FROM every"), values![]);
            let rows = connection.send(None, &[fetch], None).await?.concat();
            for row in &rows {
                if let Err(error) = read(&PostgresRow(row))
                    && named < NAMED
                {
                    named += 1;
                    findings.push(Finding::new(error.to_string(), Finding::RESTORE));
                }
            }
            if rows.len() < FETCHED {
                break;
            }
        }
        connection
            .send(None, &[Statement::new("CLOSE every", values![])], None)
            .await?;
    }
    let rules = RULES.iter().map(|rule| Statement::new(rule.sql, values![]));
    let rules: Vec<_> = rules.collect();
    let answers = connection.send(None, &rules, Some("COMMIT")).await?;
    connection.restore();
    for (rows, rule) in answers.iter().zip(RULES) {
        match all(rows, |row| rule.read(row)) {
            Ok(found) => findings.extend(found),
            Err(error) => findings.push(Finding::new(error.to_string(), Finding::RESTORE)),
        }
    }
    Ok(findings)
}

/// Names of the schema's effective objects: tables with row level security that also binds the owner, enabled triggers,
/// and functions with their parameters and bodies, if they run with the rights and settings of their caller.
const OBJECTS: &str = "SELECT 'table', relname::text, NULL FROM pg_class \
     WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relforcerowsecurity \
         AND relrowsecurity AND EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid) \
     UNION ALL SELECT 'index', relname::text, NULL FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid \
         WHERE relnamespace = current_schema()::regnamespace AND indisvalid AND NOT indisprimary \
     UNION ALL SELECT 'trigger', tgname::text, NULL FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid \
         WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal AND tgenabled IN ('O', 'A') \
     UNION ALL SELECT 'function', proname::text, pg_get_function_identity_arguments(oid) || prosrc FROM pg_proc \
         WHERE pronamespace = current_schema()::regnamespace AND NOT prosecdef AND proconfig IS NULL";

/// Other active objects: their table, kind and name.
const STRANGERS: &str = "SELECT tgrelid::regclass::text, 'trigger', tgname::text FROM pg_trigger \
         JOIN pg_class ON pg_class.oid = tgrelid \
         WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal \
     UNION ALL SELECT tablename::text, 'rule', rulename::text FROM pg_rules WHERE schemaname = current_schema()";

/// The kind and name of what the migrations make.
fn made() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = MIGRATIONS
        .iter()
        .flat_map(|migration| migration.sql.lines());
    lines.filter_map(|line| {
        let mut words = line.strip_prefix("CREATE ")?.split_whitespace();
        let kind = match words.next()? {
            "UNIQUE" => words.next()?,
            kind => kind,
        };
        let kinds = [
            ("TABLE", "table"),
            ("INDEX", "index"),
            ("TRIGGER", "trigger"),
            ("FUNCTION", "function"),
        ];
        let (_, kind) = kinds.into_iter().find(|(known, _)| *known == kind)?;
        // What a function is given follows its name.
        Some((kind, words.next()?.split('(').next()?))
    })
}

/// What a function is given and does that the migrations make.
fn body_of(function: &str) -> Option<String> {
    let head = format!("CREATE FUNCTION {function}(");
    let mut found = MIGRATIONS
        .iter()
        .filter_map(|one| one.sql.split_once(&head));
    let (_, made) = found.next()?;
    let given: Vec<&str> = made.split(')').next()?.split_whitespace().collect();
    Some(given.join(" ") + made.split("$$").nth(1)?)
}

/// What of the tables, and of what can act, is not as the migrations make it. Compares names, and of functions what
/// they do: one that refuses, or writes a decision, could be made to do nothing under the same name.
pub(crate) async fn form(connections: &Connections) -> Result<Vec<Finding>> {
    let statements = [OBJECTS, STRANGERS].map(|sql| Statement::new(sql, values![]));
    let [found, others] = connections.read_each(Reach::All, statements).await?;
    let text = |row: &tokio_postgres::Row, at| row.try_get::<_, String>(at).unwrap_or_default();
    let found: Vec<_> = found
        .iter()
        .filter(|row| match row.try_get(2) {
            Ok(Some(body)) => body_of(&text(row, 1)).as_deref() == Some(body),
            _ => true,
        })
        .map(|row| (text(row, 0), text(row, 1)))
        .collect();
    let is_there =
        |(kind, name): &(&str, &str)| found.iter().any(|one| one.0 == *kind && one.1 == *name);
    let missing = made().filter(|one| !is_there(one));
    let mut problems: Vec<_> = missing
        .map(|(kind, name)| {
            format!("{kind} `{name}` is missing, was changed, is turned off, or has no policy")
        })
        .collect();
    // Only on our tables: other applications may share the database, with triggers of their own.
    let is_ours = |table: &str| made().any(|made| made == ("table", table));
    for row in &others {
        let (table, kind, name) = (text(row, 0), text(row, 1), text(row, 2));
        let is_known = made().any(|made| made == (&*kind, &*name));
        if is_ours(&table) && !is_known {
            problems.push(format!("{kind} `{name}` is not Memoir's"));
        }
    }
    let findings = problems.into_iter().take(NAMED).map(|problem| {
        let problem =
            format!("integrity check failed: the schema was modified outside Memoir: {problem}");
        Finding::new(problem, Finding::RESTORE)
    });
    Ok(findings.collect())
}
